//! A cache of the text of values that instructions share. Buffers are reused all the time and one line of source
//! makes many instructions, so most operands and source records of a module have been written before, at the same
//! depth; their text is copied.

use bir::Shared;

use super::Writer;

/// Entries of the cache; each value has one place.
const PLACES: usize = 1 << 13;

/// Bytes of text that are kept before everything is forgotten.
const TEXT: usize = 1 << 22;

/// The texts of values, which stay where they are as long as the module is borrowed.
#[derive(Default)]
pub(super) struct Texts {
    places: Vec<Known>,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// 0 when there is none.
    address: usize,
    indent: u32,
    start: u32,
    end: u32,
}

impl<'a> Writer<'a, '_> {
    /// Writes a value that may be shared, as `write` does.
    #[inline]
    pub(super) fn shared_value<T>(&mut self, value: &'a Shared<T>, write: impl FnOnce(&mut Self, &'a T)) {
        if !value.is_shared() {
            return write(self, value);
        }
        let (address, indent) = (value.address(), self.out.indent() as u32);
        // Blocks of memory start at multiples of 16; the product mixes the rest into the upper bits.
        let place = ((address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % PLACES;
        if let Some(known) = self.texts.places.get(place)
            && (known.address, known.indent) == (address, indent)
        {
            return self.out.raw(&self.texts.text[known.start as usize..known.end as usize]);
        }
        let mark = self.out.mark();
        write(self, value);
        let Some(text) = self.out.since(mark) else { return };
        let texts = &mut self.texts;
        if texts.text.len() > TEXT {
            texts.places.clear();
            texts.text.clear();
        }
        if texts.places.is_empty() {
            texts.places.resize(PLACES, Known::default());
        }
        let start = texts.text.len() as u32;
        texts.text.extend_from_slice(text);
        texts.places[place] = Known { address, indent, start, end: texts.text.len() as u32 };
    }
}
