//! A cache of values by their text. Buffers are reused all the time and one line of source makes many instructions,
//! so most operands and source records of a module have been read before: comparing text is much cheaper than
//! reading it, and those that are equal share one value.

use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hasher};

use super::Reader;

/// Longest text that is kept.
const LONGEST: usize = 512;

/// Entries of the cache; each text has one place.
const PLACES: usize = 1 << 13;

/// Values of one scope: the same text means the same there.
pub(super) struct KnownTexts<T> {
    places: Vec<Option<Known<T>>>,
    /// Number of the scope: entries of other scopes do not count.
    scope: usize,
    hasher: DefaultHashBuilder,
}

impl<T> Default for KnownTexts<T> {
    fn default() -> Self {
        KnownTexts { places: Vec::new(), scope: 0, hasher: DefaultHashBuilder::default() }
    }
}

struct Known<T> {
    /// A copy: the text itself may lie in pages of a file that were let go of.
    text: Vec<u8>,
    scope: usize,
    value: T,
}

/// The text of an object that is about to be read, and its place in the cache.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl Text<'_> {
    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }
}

impl<T: Clone> KnownTexts<T> {
    /// The text of the object at the lexer, as far as its first closing brace; empty when that is far.
    #[inline]
    pub(super) fn text<'a>(&self, reader: &Reader<'a>) -> Text<'a> {
        let rest = &reader.lexer.text().as_bytes()[reader.lexer.pos()..];
        let length = memchr::memchr(b'}', &rest[..rest.len().min(LONGEST)]).map_or(0, |at| at + 1);
        let bytes = &rest[..length];
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes);
        Text { bytes, place: hasher.finish() as usize % PLACES }
    }

    /// The value of a text that was read before.
    #[inline]
    pub(super) fn get(&self, text: Text<'_>) -> Option<T> {
        match self.places.get(text.place) {
            Some(Some(known)) if known.scope == self.scope && known.text == text.bytes => {
                Some(known.value.clone())
            }
            _ => None,
        }
    }

    /// Keeps the value of a text.
    pub(super) fn insert(&mut self, text: Text<'_>, value: &T) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let mut copy = self.places[text.place].take().map(|known| known.text).unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(text.bytes);
        self.places[text.place] = Some(Known { text: copy, scope: self.scope, value: value.clone() });
    }

    /// Forgets everything: another scope begins.
    pub(super) fn clear(&mut self) {
        self.scope += 1;
    }
}
