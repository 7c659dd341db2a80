//! From bytes to structs and back.

use std::fmt;

use crate::layout::{self, Kind, LAYOUT_OF, LayoutInfo, OpcodeInfo, PreambleKind, Presence};
use crate::value::Pack;
use crate::word::{Generation, WORD_BYTES, Word};
use crate::{Addr4, Body, Layout, Opcode, Preamble};

/// What is noteworthy about a word at first sight. A closer look is [`check::word`](crate::check::word).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Notes(u8);

impl Notes {
    /// Byte 0 is not an opcode.
    pub const UNKNOWN_OPCODE: Notes = Notes(1);
    /// The opcode does not exist on the generation; the layout is that of another one.
    pub const OTHER_GENERATION: Notes = Notes(2);
    /// An extension word that follows none of its openers.
    pub const STRAY_EXTENSION: Notes = Notes(4);
    /// A bit is set that belongs to no field and must be 0.
    pub const RESERVED_SET: Notes = Notes(8);
    /// A bit is set among bytes whose fields are not known.
    pub const UNKNOWN_SET: Notes = Notes(16);
    /// `inst_word_len` is not 16 (17 on a saturating QuantizeMx).
    pub const LENGTH: Notes = Notes(32);

    const NAMES: [(Notes, &'static str); 6] = [
        (Notes::UNKNOWN_OPCODE, "unknown opcode"),
        (Notes::OTHER_GENERATION, "not on this generation"),
        (Notes::STRAY_EXTENSION, "stray extension word"),
        (Notes::RESERVED_SET, "reserved bits set"),
        (Notes::UNKNOWN_SET, "unknown bytes set"),
        (Notes::LENGTH, "unusual length"),
    ];

    /// Whether there is nothing to note.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all notes of `other` are among these.
    #[inline]
    pub const fn contains(self, other: Notes) -> bool {
        self.0 & other.0 == other.0
    }

    /// The notes in words.
    pub fn texts(self) -> impl Iterator<Item = &'static str> {
        Notes::NAMES.into_iter().filter(move |(note, _)| self.contains(*note)).map(|(_, text)| text)
    }

    #[inline]
    fn add(&mut self, other: Notes) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.texts()).finish()
    }
}

/// Which layout reads a word. It depends on the opcode, the generation and, for the extension word, the word in front.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Generation as which the word is read.
    pub generation: Generation,
    /// The opcode's row; `None` when the byte has none.
    pub opcode: Option<&'static OpcodeInfo>,
    /// The layout.
    pub layout: Layout,
}

impl Binding {
    /// Mnemonic, or `.word`.
    pub fn mnemonic(&self) -> &'static str {
        self.opcode.map_or(".word", |opcode| opcode.name)
    }
}

/// Finds the layout of a word. `previous` is the opcode of the word in front of it in the stream.
#[inline]
pub fn bind(word: &Word, generation: Generation, previous: Option<u8>) -> Binding {
    let opcode = layout::opcode(word.opcode(), previous);
    let (layout, _) = place(word, generation, previous);
    Binding { generation, opcode, layout }
}

/// The layout of a word, and whether its opcode is at home.
#[inline]
fn place(word: &Word, generation: Generation, previous: Option<u8>) -> (Layout, Presence) {
    let (layout, presence) = LAYOUT_OF[generation as usize][word.opcode() as usize];
    if presence != Presence::Extension {
        return (layout, presence);
    }
    match layout::opcode(word.opcode(), previous) {
        Some(row) if row.layout(generation).is_some() => {
            (row.nearest_layout(generation as usize), Presence::Here)
        }
        Some(row) => (row.nearest_layout(generation as usize), Presence::Elsewhere),
        None => (Layout::Opaque, Presence::Extension),
    }
}

/// A word taken apart. [`Decoded::encode`] puts it together again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Generation as which it was read.
    pub generation: Generation,
    /// Byte 0.
    pub opcode: Opcode,
    /// Bytes 1..=11; `None` for extension words and unknown opcodes.
    pub preamble: Option<Preamble>,
    /// The fields behind the preamble.
    pub body: Body,
    /// The bits that belong to no field, at their places; all others are 0.
    pub rest: Word,
    /// What is noteworthy.
    pub notes: Notes,
}

impl Decoded {
    /// The word. It is the one that was decoded unless a field was changed.
    pub fn encode(&self) -> Word {
        let mut word = self.rest;
        word.0[0] = self.opcode.0;
        if let Some(preamble) = self.preamble {
            preamble.store(&mut word.0, 0);
        }
        self.body.store(&mut word.0);
        word
    }
}

/// Takes a word apart. `previous` is the word in front of it in the stream; only extension words look at it.
///
/// Never fails: what the tables do not know stays raw in [`Decoded::rest`] and is noted.
#[inline]
pub fn decode(word: &Word, generation: Generation, previous: Option<&Word>) -> Decoded {
    decode_after(word, generation, previous.map(Word::opcode))
}

#[inline]
fn decode_after(word: &Word, generation: Generation, previous: Option<u8>) -> Decoded {
    let (layout, presence) = place(word, generation, previous);
    let info = layout.info();
    let rest = uncovered(word, info);
    Decoded {
        generation,
        opcode: Opcode(word.opcode()),
        preamble: match info.preamble {
            PreambleKind::Std => Some(Preamble::load(&word.0, 0)),
            PreambleKind::None => None,
        },
        body: Body::load(layout, &word.0),
        rest,
        notes: notes(word, info, presence, &rest),
    }
}

/// The bits of a word that belong to no field of the layout; all others are 0.
#[inline]
fn uncovered(word: &Word, info: &LayoutInfo) -> Word {
    let mut rest = Word::ZERO;
    for i in 0..WORD_BYTES {
        rest.0[i] = word.0[i] & !info.covered[i];
    }
    for field in info.at(info.unions) {
        if let Kind::Union(union) = field.kind {
            let at = field.at as usize;
            let indirect = Addr4::load(&word.0, at).is_indirect();
            let arm = if indirect { union.indirect } else { union.direct };
            for i in 0..field.bytes as usize {
                rest.0[at + i] = word.0[at + i] & arm.gaps[i];
            }
        }
    }
    rest
}

/// The bits of a word that its layout does not explain: those of no field, and those of fields that are not defined.
pub(crate) fn unexplained(word: &Word, layout: Layout) -> Word {
    let info = layout.info();
    let mut rest = uncovered(word, info);
    add_undefined(word, info, &mut rest);
    rest
}

#[inline]
fn add_undefined(word: &Word, info: &LayoutInfo, rest: &mut Word) {
    for field in info.at(info.conditional).filter(|field| !field.is_defined(&word.0)) {
        let at = field.at as usize;
        rest.0[at..at + field.bytes as usize].copy_from_slice(&word.0[at..at + field.bytes as usize]);
    }
}

/// `rest` holds the bits that belong to no field.
#[inline]
fn notes(word: &Word, info: &LayoutInfo, presence: Presence, rest: &Word) -> Notes {
    if info.conditional != 0 {
        let mut rest = *rest;
        add_undefined(word, info, &mut rest);
        notes_of(word, info, presence, &rest)
    } else {
        notes_of(word, info, presence, rest)
    }
}

/// `rest` holds the bits that the layout does not explain.
#[inline]
fn notes_of(word: &Word, info: &LayoutInfo, presence: Presence, rest: &Word) -> Notes {
    let mut notes = match presence {
        Presence::Here => Notes(0),
        Presence::Elsewhere => Notes::OTHER_GENERATION,
        Presence::Unknown => Notes::UNKNOWN_OPCODE,
        Presence::Extension => Notes::STRAY_EXTENSION,
    };
    if info.preamble == PreambleKind::Std && !has_usual_length(word) {
        notes.add(Notes::LENGTH);
    }
    if !rest.is_zero() {
        let (mut reserved, mut unknown) = (0, 0);
        for i in 0..WORD_BYTES {
            unknown |= rest.0[i] & info.unknown[i];
            reserved |= rest.0[i] & !info.unknown[i];
        }
        if reserved != 0 {
            notes.add(Notes::RESERVED_SET);
        }
        if unknown != 0 {
            notes.add(Notes::UNKNOWN_SET);
        }
    }
    notes
}

/// What text needs to know about a word: its layout, the bits it does not explain if there are any, and the notes.
#[inline]
pub(crate) fn survey(word: &StreamWord) -> (Layout, Option<Word>, Notes) {
    let (layout, presence) = place(&word.word, word.generation, word.previous);
    let info = layout.info();
    let may_have_rest = info.unions | info.conditional != 0 || has_uncovered(&word.word, info);
    let rest = may_have_rest.then(|| unexplained(&word.word, layout)).filter(|rest| !rest.is_zero());
    (layout, rest, notes_of(&word.word, info, presence, rest.as_ref().unwrap_or(&Word::ZERO)))
}

/// Whether a bit is set that belongs to no field, unions taken as a whole.
#[inline]
fn has_uncovered(word: &Word, info: &LayoutInfo) -> bool {
    let mut set = 0;
    for i in 0..WORD_BYTES {
        set |= word.0[i] & !info.covered[i];
    }
    set != 0
}

/// Whether `inst_word_len` is what encoders write (spec: isa-bundle.md 1).
#[inline]
pub(crate) fn has_usual_length(word: &Word) -> bool {
    word.0[1] == 0x10 || word.0[1] == 0x11 && word.opcode() == Opcode::QUANTIZE_MX.0
}

/// The words of a stream, in order.
///
/// ```
/// use tpb_isa::{Generation, Stream};
///
/// let bytes = [[0xa4; 1].as_slice(), &[0; 63], &[1, 2, 3]].concat();
/// let stream = Stream::new(&bytes, Generation::V3);
/// assert_eq!(stream.tail(), [1, 2, 3]);
/// for word in stream {
///     assert_eq!((word.offset, word.binding().mnemonic()), (0, "NOP"));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    words: std::slice::ChunksExact<'a, u8>,
    generation: Generation,
    index: u64,
    previous: Option<u8>,
}

impl<'a> Stream<'a> {
    /// Walks the words of `bytes`. Bytes behind the last whole word are the [`tail`](Stream::tail).
    pub fn new(bytes: &'a [u8], generation: Generation) -> Stream<'a> {
        Stream { words: bytes.chunks_exact(WORD_BYTES), generation, index: 0, previous: None }
    }

    /// The bytes behind the last whole word; a well-formed stream has none.
    pub fn tail(&self) -> &'a [u8] {
        self.words.remainder()
    }
}

impl Iterator for Stream<'_> {
    type Item = StreamWord;

    #[inline]
    fn next(&mut self) -> Option<StreamWord> {
        let bytes: &[u8; WORD_BYTES] = self.words.next()?.try_into().ok()?;
        let word = StreamWord::new(Word(*bytes), self.index, self.generation, self.previous);
        self.index += 1;
        self.previous = Some(word.word.opcode());
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.words.size_hint()
    }
}

impl ExactSizeIterator for Stream<'_> {}

/// A word with its place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWord {
    /// The bytes.
    pub word: Word,
    /// Its number, the first is 0. Word-level debug entries have the same numbers.
    pub index: u64,
    /// Byte offset in the stream: 64 times the index.
    pub offset: u64,
    /// Generation of the stream.
    pub generation: Generation,
    /// Opcode of the word in front of it.
    pub previous: Option<u8>,
}

impl StreamWord {
    /// A word at a place of a stream whose preceding word has the opcode `previous`.
    pub fn new(word: Word, index: u64, generation: Generation, previous: Option<u8>) -> StreamWord {
        StreamWord { word, index, offset: index * WORD_BYTES as u64, generation, previous }
    }

    /// The layout of the word.
    #[inline]
    pub fn binding(&self) -> Binding {
        bind(&self.word, self.generation, self.previous)
    }

    /// The word taken apart.
    #[inline]
    pub fn decode(&self) -> Decoded {
        decode_after(&self.word, self.generation, self.previous)
    }

    /// What is noteworthy about the word.
    pub fn notes(&self) -> Notes {
        survey(self).2
    }
}
