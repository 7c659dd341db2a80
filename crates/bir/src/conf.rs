//! How sure a fact of the tables is.

/// Confidence of a fact. Facts that are [inferred](Conf::Inferred) or [unknown](Conf::Unknown) give warnings, not
/// errors, and never cost data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Conf {
    /// U: a default of ours.
    Unknown,
    /// I: follows from other facts.
    Inferred,
    /// S: strong evidence.
    Strong,
    /// C: seen in the source of the fact.
    Confirmed,
}

impl Conf {
    /// The letter of the tables.
    pub fn letter(self) -> char {
        match self {
            Conf::Confirmed => 'C',
            Conf::Strong => 'S',
            Conf::Inferred => 'I',
            Conf::Unknown => 'U',
        }
    }

    /// The confidence of a letter of the tables.
    pub fn from_letter(letter: char) -> Option<Conf> {
        [Conf::Confirmed, Conf::Strong, Conf::Inferred, Conf::Unknown]
            .into_iter()
            .find(|c| c.letter() == letter)
    }

    /// Whether a violation is an error rather than a warning.
    pub fn is_firm(self) -> bool {
        self >= Conf::Strong
    }
}

/// A fact with its confidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known<T> {
    /// The fact.
    pub value: T,
    /// How sure it is.
    pub conf: Conf,
}
