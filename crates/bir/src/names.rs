//! Interned strings: every name, axis and path of a module is stored once and handled as a [`Sym`].

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU32;

use hashbrown::{DefaultHashBuilder, HashTable};

/// An interned string of one [`Names`] table, usually the table of a [`Module`](crate::Module).
///
/// Two symbols of one table are equal exactly when their strings are. Symbols of different modules must not
/// be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(NonZeroU32);

impl Sym {
    /// The empty string, present in every table.
    pub const EMPTY: Sym = Sym(NonZeroU32::MIN);

    /// Dense index of the symbol in its table, from 0.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The symbol with a dense index. Giving an index that the table does not hold makes later look-ups panic.
    pub fn from_index(index: usize) -> Sym {
        let raw = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Sym(raw.expect("fewer than 2^32 names"))
    }
}

impl fmt::Debug for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sym({})", self.index())
    }
}

/// A string interner. Strings are kept in one buffer; a symbol is an index.
#[derive(Clone)]
pub struct Names {
    text: String,
    /// End of each string in `text`; string `i` starts at the end of string `i - 1`.
    ends: Vec<usize>,
    table: HashTable<Entry>,
    hasher: DefaultHashBuilder,
}

/// A string in the table, with what is needed to compare it without looking elsewhere.
#[derive(Clone, Copy)]
struct Entry {
    index: u32,
    /// Low half of the hash: enough to place the entry again when the table grows.
    hash: u32,
    start: usize,
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Names {
    /// A table that holds only the empty string.
    pub fn new() -> Names {
        let mut names = Names {
            text: String::new(),
            ends: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        let empty = names.intern("");
        debug_assert_eq!(empty, Sym::EMPTY);
        names
    }

    /// The symbol of a string, which is added when it is new.
    ///
    /// # Panics
    /// When the table would hold more than 2^31 strings. Readers limit their input long before that.
    #[inline]
    pub fn intern(&mut self, text: &str) -> Sym {
        let hash = hash(&self.hasher, text);
        match self.find(hash, text) {
            Some(found) => found,
            None => self.add(hash, text),
        }
    }

    fn add(&mut self, hash: u32, text: &str) -> Sym {
        let index = self.ends.len();
        assert!(index < 1 << 31, "too many distinct names");
        let start = self.text.len();
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let entry = Entry { index: index as u32, hash, start };
        self.table.insert_unique(spread(hash), entry, |entry| spread(entry.hash));
        Sym::from_index(index)
    }

    #[inline]
    fn find(&self, hash: u32, text: &str) -> Option<Sym> {
        let all = self.text.as_bytes();
        // A stored string that starts with the text is the text when it also ends there.
        let same = |entry: &Entry| {
            entry.hash == hash
                && all.get(entry.start..entry.start + text.len()) == Some(text.as_bytes())
                && self.ends[entry.index as usize] == entry.start + text.len()
        };
        let found = self.table.find(spread(hash), same)?;
        Some(Sym::from_index(found.index as usize))
    }

    /// The symbol of a string that is already in the table.
    pub fn get(&self, text: &str) -> Option<Sym> {
        self.find(hash(&self.hasher, text), text)
    }

    /// The string of a symbol of this table.
    #[inline]
    pub fn str(&self, sym: Sym) -> &str {
        slice(&self.text, &self.ends, sym.index())
    }

    /// Number of distinct strings, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|i| slice(&self.text, &self.ends, i))
    }
}

#[inline(always)]
fn hash(hasher: &DefaultHashBuilder, text: &str) -> u32 {
    let mut state = hasher.build_hasher();
    state.write(text.as_bytes());
    state.finish() as u32
}

/// The table takes bits from both ends of a 64-bit hash.
#[inline(always)]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[inline(always)]
fn slice<'a>(text: &'a str, ends: &[usize], index: usize) -> &'a str {
    let start = if index == 0 { 0 } else { ends[index - 1] };
    &text[start..ends[index]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_a_symbol() {
        let mut names = Names::new();
        let a = names.intern("I-1");
        assert_eq!(names.intern("I-1"), a);
        assert_ne!(names.intern("I-2"), a);
        assert_eq!(names.str(a), "I-1");
        assert_eq!(names.get("I-3"), None);
        assert_eq!(names.str(Sym::EMPTY), "");
        assert_eq!(names.len(), 3);
    }
}
