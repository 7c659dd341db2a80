//! The diagnostic codes of the vendor's backend, and how spellings of them are understood (spec: verify 2).

use crate::generated::codes::{CODES, FAMILIES, MET, SHARED};

/// A diagnostic code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VendorCode {
    /// Spelling of the list, such as `BIR297` or `EBVF030`.
    pub id: &'static str,
    /// Letters before the number.
    pub family: &'static str,
    /// Where in the compiler it comes from.
    pub phase: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Fragment of the message, `<x>` for a value; may be empty.
    pub text: &'static str,
    /// Rule for the same condition; may be empty.
    pub rule: &'static str,
}

impl VendorCode {
    pub(crate) const fn new(
        id: &'static str,
        family: &'static str,
        phase: &'static str,
        meaning: &'static str,
        text: &'static str,
        rule: &'static str,
    ) -> VendorCode {
        VendorCode { id, family, phase, meaning, text, rule }
    }

    /// Every code, sorted by id.
    pub fn all() -> &'static [VendorCode] {
        &CODES
    }

    fn exact(id: &str) -> Option<&'static VendorCode> {
        CODES.binary_search_by(|code| code.id.cmp(id)).ok().map(|at| &CODES[at])
    }

    /// The code of a spelling as logs have it: `NCC_IBIR297`, `IBIR297` and `BIR297` are one.
    ///
    /// ```
    /// use bir_verify::VendorCode;
    /// assert_eq!(VendorCode::find("NCC_IBIR297").unwrap().id, "BIR297");
    /// assert_eq!(VendorCode::find("bir243").unwrap().id, "IBIR243");
    /// ```
    pub fn find(spelling: &str) -> Option<&'static VendorCode> {
        let upper = spelling.trim().to_ascii_uppercase();
        let id = upper.strip_prefix("NCC_").unwrap_or(&upper);
        let bare = id.strip_prefix(['I', 'E']);
        let other = match id.chars().next() {
            Some('I') => bare.map(|bare| format!("E{bare}")),
            Some('E') => bare.map(|bare| format!("I{bare}")),
            _ => None,
        };
        Self::exact(id)
            .or_else(|| Self::exact(bare?))
            .or_else(|| Self::exact(&format!("I{id}")))
            .or_else(|| Self::exact(&format!("E{id}")))
            .or_else(|| Self::exact(&other?))
    }

    /// What the family is about; may be empty.
    pub fn family_meaning(&self) -> &'static str {
        let at = FAMILIES.binary_search_by(|(id, _)| (*id).cmp(self.family));
        at.map_or("", |at| FAMILIES[at].1)
    }

    /// The code that another spelling of the same number has, with another meaning.
    pub fn homonym(&self) -> Option<&'static VendorCode> {
        let other = match self.id.strip_prefix(['I', 'E']) {
            Some(bare) if SHARED.contains(&self.id) => Self::exact(bare),
            _ => ['I', 'E']
                .iter()
                .map(|letter| format!("{letter}{}", self.id))
                .find_map(|id| SHARED.contains(&&*id).then(|| Self::exact(&id)).flatten()),
        };
        other.filter(|other| other.meaning != self.meaning)
    }
}

/// What is known of a code that users met, also of those of the front end and the driver that the list does not have.
pub(crate) fn met(spelling: &str) -> Option<&'static str> {
    let upper = spelling.trim().to_ascii_uppercase();
    let id = upper.strip_prefix("NCC_").unwrap_or(&upper);
    MET.iter()
        .find(|(known, _)| known.strip_prefix("NCC_").unwrap_or(known) == id)
        .map(|(_, meaning)| *meaning)
}
