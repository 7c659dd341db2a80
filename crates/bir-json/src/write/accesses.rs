//! A cache of the text of operands. Buffers are reused all the time, so most operands of a module have been written
//! before, at the same depth; their text is copied.

use std::hash::BuildHasher;

use bir::records::PhysicalAp;
use hashbrown::DefaultHashBuilder;

use super::Writer;

/// Entries of the cache; each operand has one place.
const PLACES: usize = 1 << 12;

/// Bytes of text that are kept before everything is forgotten.
const TEXT: usize = 1 << 22;

/// The texts of operands.
#[derive(Default)]
pub(super) struct Accesses {
    places: Vec<Option<Known>>,
    text: Vec<u8>,
    hasher: DefaultHashBuilder,
}

struct Known {
    access: PhysicalAp,
    indent: usize,
    start: usize,
    end: usize,
}

impl Accesses {
    fn place(&self, access: &PhysicalAp) -> usize {
        let key = (access.offset, access.memref, &access.ap, access.dtype);
        self.hasher.hash_one(key) as usize % PLACES
    }
}

impl<'a> Writer<'a, '_> {
    /// Writes a `physical_ap`.
    pub(super) fn access(&mut self, access: &'a PhysicalAp) {
        if access.dynamic_ap_info.is_some() || !access.extra.is_empty() {
            return self.object(access);
        }
        let indent = self.out.indent();
        let place = self.accesses.place(access);
        if let Some(Some(known)) = self.accesses.places.get(place)
            && known.indent == indent
            && known.access == *access
        {
            return self.out.raw(&self.accesses.text[known.start..known.end]);
        }
        let mark = self.out.mark();
        self.object(access);
        let Some(text) = self.out.since(mark) else { return };
        let known = &mut self.accesses;
        if known.text.len() > TEXT {
            known.places.clear();
            known.text.clear();
        }
        if known.places.is_empty() {
            known.places.resize_with(PLACES, || None);
        }
        let start = known.text.len();
        known.text.extend_from_slice(text);
        let end = known.text.len();
        known.places[place] = Some(Known { access: access.clone(), indent, start, end });
    }
}
