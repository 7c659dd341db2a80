//! A cache of operands by their text. Buffers are reused all the time, so most operands of a module have been read
//! before, and comparing text is much cheaper than reading it.

use bir::records::PhysicalAp;
use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hasher};

/// Longest text of an operand that is kept.
pub(super) const LONGEST: usize = 512;

/// Entries of the cache; each text has one place.
const PLACES: usize = 1 << 12;

/// Operands of one scope: the same text means the same location there.
#[derive(Default)]
pub(super) struct Accesses {
    places: Vec<Option<Known>>,
    /// Number of the scope: entries of other scopes do not count.
    scope: usize,
    hasher: DefaultHashBuilder,
}

struct Known {
    /// A copy: the text itself may lie in pages of a file that were let go of.
    text: Vec<u8>,
    scope: usize,
    access: PhysicalAp,
}

impl Accesses {
    /// The operand of a text that was read before.
    #[inline]
    pub(super) fn get(&self, text: &[u8]) -> Option<&PhysicalAp> {
        match self.places.get(self.place(text)) {
            Some(Some(known)) if known.scope == self.scope && known.text == text => Some(&known.access),
            _ => None,
        }
    }

    /// Keeps the operand of a text.
    pub(super) fn insert(&mut self, text: &[u8], access: &PhysicalAp) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let place = self.place(text);
        let mut copy = self.places[place].take().map(|known| known.text).unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(text);
        self.places[place] = Some(Known { text: copy, scope: self.scope, access: access.clone() });
    }

    /// Forgets everything: another scope begins.
    pub(super) fn clear(&mut self) {
        self.scope += 1;
    }

    #[inline]
    fn place(&self, text: &[u8]) -> usize {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        hasher.finish() as usize % PLACES
    }
}
