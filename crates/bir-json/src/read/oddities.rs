//! What was odd about a document that was read all the same.

use std::fmt;

/// A kind of oddity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OddityKind {
    /// A member that the tables do not know. Kept and written back.
    UnknownMember,
    /// A value that does not fit the type of its key, where the tables say that it is kept as it is.
    Misfit,
    /// A name that an enum of the tables does not have. Carried as it is.
    UnknownName,
    /// null for a key that may not be null: the vendor's reader stops there (rule DOC-01). Read as absent.
    MisplacedNull,
    /// The same key twice in one object. The last one counts.
    DuplicateKey,
    /// Two objects of one name in one scope. References find the first one.
    NameCollision,
    /// A required key is absent. The value takes its default, or stays unset.
    MissingKey,
    /// A form of an older document, rewritten to the present one.
    LegacyForm,
    /// An immediate among the outputs or index tensors, moved to the end of the inputs.
    MovedImmediate,
    /// A reference to an object that does not exist. Kept by name.
    Unresolved,
    /// An expression names a loop axis that no enclosing loop has.
    UnknownAxis,
    /// An alias of a location that is not in DRAM.
    BadAlias,
}

impl OddityKind {
    /// All kinds.
    pub const ALL: [OddityKind; 12] = [
        OddityKind::UnknownMember,
        OddityKind::Misfit,
        OddityKind::UnknownName,
        OddityKind::MisplacedNull,
        OddityKind::DuplicateKey,
        OddityKind::NameCollision,
        OddityKind::MissingKey,
        OddityKind::LegacyForm,
        OddityKind::MovedImmediate,
        OddityKind::Unresolved,
        OddityKind::UnknownAxis,
        OddityKind::BadAlias,
    ];

    /// What there is some number of, in the plural.
    pub fn plural(self) -> &'static str {
        match self {
            OddityKind::UnknownMember => "unknown members",
            OddityKind::Misfit => "values that do not fit the type of their key",
            OddityKind::UnknownName => "unknown enum names",
            OddityKind::MisplacedNull => "misplaced nulls (DOC-01)",
            OddityKind::DuplicateKey => "duplicate keys",
            OddityKind::NameCollision => "name collisions",
            OddityKind::MissingKey => "missing required keys",
            OddityKind::LegacyForm => "older forms",
            OddityKind::MovedImmediate => "immediates moved to the inputs",
            OddityKind::Unresolved => "unresolved names",
            OddityKind::UnknownAxis => "unknown loop axes",
            OddityKind::BadAlias => "aliases outside DRAM",
        }
    }

    /// Whether strict reading refuses it. spec: cli, `--strict`
    pub fn is_strict_error(self) -> bool {
        !matches!(self, OddityKind::LegacyForm | OddityKind::MovedImmediate | OddityKind::UnknownAxis)
    }
}

/// One oddity.
#[derive(Clone, PartialEq, Debug)]
pub struct Oddity {
    /// What kind.
    pub kind: OddityKind,
    /// Where: byte offset in the text.
    pub offset: usize,
    /// About what, as a phrase: "unknown member `x`".
    pub message: String,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Everything odd about a document. Counts are exact; of each kind the first ones are kept.
#[derive(Clone, Default, Debug)]
pub struct Oddities {
    kept: Vec<Oddity>,
    counts: [usize; OddityKind::ALL.len()],
    /// Offset and message of the first one that strict reading refuses.
    strict: Option<usize>,
}

/// How many of a kind are kept.
const KEPT: usize = 1000;

impl Oddities {
    pub(crate) fn add(&mut self, kind: OddityKind, offset: usize, message: impl FnOnce() -> String) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= KEPT {
            if kind.is_strict_error() && self.strict.is_none() {
                self.strict = Some(self.kept.len());
            }
            self.kept.push(Oddity { kind, offset, message: message() });
        }
    }

    /// Adds those of text that comes later.
    pub(crate) fn append(&mut self, later: Oddities) {
        let mut rest = later.counts;
        for oddity in later.kept {
            rest[oddity.kind as usize] -= 1;
            self.add(oddity.kind, oddity.offset, || oddity.message);
        }
        self.counts.iter_mut().zip(rest).for_each(|(count, rest)| *count += rest);
    }

    /// How many of a kind there are.
    pub fn count(&self, kind: OddityKind) -> usize {
        self.counts[kind as usize]
    }

    /// How many there are of all kinds.
    pub(crate) fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The oddities in the order in which they were found; at most a thousand of each kind.
    pub fn iter(&self) -> impl Iterator<Item = &Oddity> {
        self.kept.iter()
    }

    /// The first one that strict reading refuses.
    pub fn first_strict(&self) -> Option<&Oddity> {
        self.strict.map(|at| &self.kept[at])
    }
}
