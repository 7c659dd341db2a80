//! Reads CBOR: one pass over the bytes, texts are borrowed from them.
//!
//! The fast paths are what a well-formed file takes; everything that is wrong or only lenient reading accepts goes
//! through a slow path that finds out what it is.

use super::{ABSENT, OPTION, PAIR, PRESENT, TAG};
use crate::arena::Arena;
use crate::checks::Checked;
use crate::container::{CONTENTS, CONTENTS_TAG, Peek, SELECT, Selected, Unknown};
use crate::error::{ErrorKind, NoteKind};
use crate::ir::{APPair, TensorName};
use crate::node::{Failed, Float, Length, Mark, Real, Source, TypeInfo};
use crate::{Options, Schema, SchemaUse};

/// Values that are kept for being met again, of each kind. A power of two.
const SEEN: usize = 1024;

/// Bytes that tell tensors apart in most cases: the tag, the name, and what follows a short one.
const TENSOR_KEY: usize = 36;

/// Bytes that tell patterns apart in most cases: the first two pairs.
const PATTERN_KEY: usize = 20;

const NAT: u8 = 0;
const NEGATIVE: u8 = 1;
const TEXT: u8 = 3;
const LIST: u8 = 4;

/// A source that reads CBOR from memory.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    arena: &'a Arena,
    schema: Option<Schema>,
    lenient: bool,
    depth_left: usize,
    /// Bytes that the lists being read still need for their later elements, at the least.
    reserved: usize,
    /// Proofs passed since the last record or union started.
    props: u8,
    /// A list announced more than the input has room for: an error must follow.
    doomed: bool,
    options: Options,
    uses: SchemaUse,
    /// The whole input.
    input: &'a [u8],
    tensors: Seen<'a, TensorName<'a>>,
    patterns: Seen<'a, [APPair]>,
    pub(crate) problem: Option<Problem>,
    pub(crate) notes: Vec<(NoteKind, usize)>,
    more_notes: usize,
}

/// What is wrong, without the path.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) kind: ErrorKind,
    pub(crate) offset: usize,
    pub(crate) reference: Option<String>,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`; lists and boxed values go into `arena`.
    #[must_use]
    pub fn new(bytes: &'a [u8], arena: &'a Arena, options: &Options) -> Self {
        Reader {
            rest: bytes,
            arena,
            schema: if options.lenient { None } else { options.schema },
            lenient: options.lenient,
            depth_left: options.limits.depth,
            reserved: 0,
            props: 0,
            doomed: false,
            options: options.clone(),
            uses: SchemaUse::Either,
            input: bytes,
            tensors: Seen::new(),
            patterns: Seen::new(),
            problem: None,
            notes: Vec::new(),
            more_notes: 0,
        }
    }

    /// Bytes read so far.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.input.len() - self.rest.len()
    }

    /// Which of the schemas 2.24 and head the records read so far need.
    #[must_use]
    pub fn schema_use(&self) -> SchemaUse {
        self.uses
    }

    /// Ends reading: nothing may follow.
    pub(crate) fn finish(&mut self) -> Result<(), Failed> {
        if self.doomed {
            return Err(self.truncated("value", None));
        }
        if !self.rest.is_empty() {
            let bytes = self.rest.len();
            if !self.lenient {
                return Err(self.fail(ErrorKind::Trailing { bytes }, None));
            }
            self.note(NoteKind::Trailing(bytes));
        }
        if self.uses == SchemaUse::Mixed {
            self.note_at(NoteKind::MixedSchemas, 0);
        }
        if self.more_notes > 0 {
            self.notes.push((NoteKind::More(self.more_notes), self.offset()));
        }
        Ok(())
    }

    #[cold]
    fn fail_at(&mut self, kind: ErrorKind, offset: usize, reference: Option<String>) -> Failed {
        self.problem.get_or_insert(Problem { kind, offset, reference });
        Failed
    }

    #[cold]
    fn fail(&mut self, kind: ErrorKind, reference: Option<String>) -> Failed {
        let offset = self.offset();
        self.fail_at(kind, offset, reference)
    }

    #[cold]
    fn truncated(&mut self, expected: &'static str, reference: Option<String>) -> Failed {
        let total = self.input.len();
        self.fail_at(ErrorKind::Truncated { expected }, total, reference)
    }

    /// The item at hand is not what is due.
    #[cold]
    fn unexpected(&mut self, expected: &'static str) -> Failed {
        let reference = Some(reference_expecting(expected));
        match self.rest.first() {
            None => self.truncated(expected, reference),
            Some(&found) => self.fail(ErrorKind::Unexpected { expected, found }, reference),
        }
    }

    #[cold]
    fn note_at(&mut self, kind: NoteKind, offset: usize) {
        if self.notes.len() < self.options.limits.notes {
            self.notes.push((kind, offset));
        } else {
            self.more_notes += 1;
        }
    }

    #[cold]
    fn note(&mut self, kind: NoteKind) {
        self.note_at(kind, self.offset());
    }

    /// Reads the head of an item of major type `major`, which is named `expected`.
    #[inline(always)]
    fn head(&mut self, major: u8, expected: &'static str) -> Result<u64, Failed> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte.wrapping_sub(major << 5) < 24 => {
                self.rest = rest;
                Ok(u64::from(byte & 31))
            }
            Some((&byte, &[number, ref rest @ ..])) if byte == major << 5 | 24 && number >= 24 => {
                self.rest = rest;
                Ok(u64::from(number))
            }
            _ => self.long_head(major, expected),
        }
    }

    #[inline(never)]
    fn long_head(&mut self, major: u8, expected: &'static str) -> Result<u64, Failed> {
        let Some((&byte, rest)) = self.rest.split_first() else {
            return Err(self.unexpected(expected));
        };
        if byte >> 5 != major || byte & 31 > 27 {
            return Err(self.unexpected(expected));
        }
        // The number, what it must exceed to need that many bytes, and what follows.
        let number = match byte & 3 {
            0 => rest.split_first_chunk::<1>().map(|(n, rest)| (u64::from(n[0]), 23, rest)),
            1 => rest.split_first_chunk().map(|(n, rest)| (u16::from_be_bytes(*n).into(), 0xFF, rest)),
            2 => rest.split_first_chunk().map(|(n, rest)| (u32::from_be_bytes(*n).into(), 0xFFFF, rest)),
            _ => rest.split_first_chunk().map(|(n, rest)| (u64::from_be_bytes(*n), 0xFFFF_FFFF, rest)),
        };
        let Some((number, exceed, rest)) = number else {
            return Err(self.truncated(expected, Some(reference_expecting(expected))));
        };
        if number <= exceed {
            if !self.lenient {
                return Err(self.fail(ErrorKind::NotShortest, None));
            }
            self.note(NoteKind::NotShortest);
        }
        self.rest = rest;
        Ok(number)
    }

    /// Tag, constructor byte and number of fields of the item at hand, for which the fast path gave up. `None` when
    /// there is no tagged array there; the problem is then recorded with the reference text `reference`.
    #[cold]
    fn slow_tag(&mut self, ty: &'static TypeInfo, reference: String) -> Result<(u8, u8, u8), Failed> {
        let rest = self.rest;
        let wrong = |found: u8| ErrorKind::NoTag { ty, found };
        match rest {
            [byte, ..] if *byte != TAG => Err(self.fail(wrong(*byte), Some(reference))),
            [_, tag, lo, arity, tail @ ..] if (0x80..=0x97).contains(arity) => {
                self.rest = tail;
                Ok((*tag, *lo, *arity & 31))
            }
            [_, tag, lo, 0x98, arity, tail @ ..] if *arity < 24 => {
                if !self.lenient {
                    return Err(self.fail(ErrorKind::NotShortest, None));
                }
                self.note(NoteKind::LongArity);
                self.rest = tail;
                Ok((*tag, *lo, *arity))
            }
            [_, _, _, 0x98] | [_, _, _] | [_, _] | [_] | [] => Err(self.truncated(ty.name, Some(reference))),
            [_, _, _, found, ..] => Err(self.fail(wrong(*found), Some(reference))),
        }
    }

    /// Whether a record of this schema is welcome; if so it is counted.
    #[inline]
    fn admits(&mut self, schema: Schema) -> bool {
        let admitted = self.schema.is_none_or(|wanted| wanted == schema);
        if admitted {
            self.uses = self.uses.and(schema);
        }
        admitted
    }

    #[cold]
    #[inline(never)]
    fn slow_record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed> {
        let (name, tag) = (ty.name, ty.tag.unwrap_or(0));
        let start = self.offset();
        let (found_tag, lo, arity) =
            self.slow_tag(ty, format!("Could not find tag, expecting {name}:{tag},{}", ty.lo))?;
        let ctor = &ty.ctors[0];
        let head_arity = ctor.arity + ctor.added.len() as u8;
        let expected = if self.schema == Some(Schema::Head) { head_arity } else { ctor.arity };
        let reference =
            Some(format!("Expecting {name}:({tag},{},{expected}) got:({found_tag},{lo},{arity})", ty.lo));
        if found_tag != tag || lo != ty.lo || (arity != ctor.arity && arity != head_arity) {
            let found = (found_tag, lo, arity);
            return Err(self.fail_at(ErrorKind::WrongType { ty, found }, start, reference));
        }
        if ctor.added.is_empty() {
            return Ok(false);
        }
        let (schema, head) = if arity == head_arity { (Schema::Head, true) } else { (Schema::V2_24, false) };
        if self.admits(schema) {
            return Ok(head);
        }
        Err(self.fail_at(ErrorKind::WrongSchema { ty, schema: schema.other(), arity }, start, reference))
    }

    #[cold]
    #[inline(never)]
    fn slow_ctor(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        let start = self.offset();
        let found = self.slow_tag(ty, "Could not read tag".to_string())?;
        let (tag, lo, arity) = found;
        let reference = if Some(tag) != ty.tag {
            "Unexpected type tag"
        } else {
            match ty.ctors.get(usize::from(lo)) {
                None => "Invalid value tag",
                Some(ctor) if ctor.arity != arity => "Wrong number of elements",
                // Only the array head was unusual.
                Some(_) => return Ok(usize::from(lo)),
            }
        };
        Err(self.fail_at(ErrorKind::WrongType { ty, found }, start, Some(reference.to_string())))
    }

    #[inline(always)]
    fn ctor(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        if let Some((&[first, tag, lo, arity], rest)) = self.rest.split_first_chunk::<4>()
            && first == TAG
            && Some(tag) == ty.tag
            && let Some(ctor) = ty.ctors.get(usize::from(lo))
            && arity == 0x80 | ctor.arity
        {
            self.rest = rest;
            return Ok(usize::from(lo));
        }
        self.slow_ctor(ty)
    }

    #[cold]
    #[inline(never)]
    fn slow_option(&mut self) -> Result<bool, Failed> {
        let malformed = |reader: &mut Self, reference: bool| {
            let reference = reference.then(|| reference_expecting("Option"));
            Err(reader.fail(ErrorKind::OptionFrame, reference))
        };
        let (lo, arity, rest) = match self.rest {
            [TAG, OPTION, lo, 0x98, arity, rest @ ..] if self.lenient => {
                self.note(NoteKind::LongArity);
                (*lo, 0x80 | arity, rest)
            }
            [TAG, OPTION, lo, arity, rest @ ..] => (*lo, *arity, rest),
            [] | [TAG] | [TAG, OPTION] | [TAG, OPTION, _] => {
                return Err(self.truncated("Option", Some(reference_expecting("Option"))));
            }
            _ => return Err(self.unexpected("Option")),
        };
        if arity != 0x80 && arity != 0x81 {
            return malformed(self, true);
        }
        if lo > 1 || !self.lenient {
            return malformed(self, false);
        }
        if arity != 0x80 | lo {
            self.note(NoteKind::OptionArity);
        }
        self.rest = rest;
        Ok(lo == 1)
    }

    #[cold]
    #[inline(never)]
    fn slow_boolean(&mut self) -> Result<bool, Failed> {
        if self.lenient
            && self.props == 2
            && let [0x80, 0x80, value @ (0xF4 | 0xF5), rest @ ..] = self.rest
        {
            self.note(NoteKind::PropArrays);
            self.rest = rest;
            return Ok(*value == 0xF5);
        }
        Err(self.unexpected("Bool"))
    }

    #[cold]
    #[inline(never)]
    fn not_utf8(&mut self, start: usize, bytes: &'a [u8]) -> Result<&'a str, Failed> {
        if !self.lenient {
            return Err(self.fail_at(ErrorKind::NotUtf8, start, None));
        }
        self.note_at(NoteKind::NotUtf8, start);
        Ok(self.arena.text(&String::from_utf8_lossy(bytes)))
    }

    #[cold]
    #[inline(never)]
    fn wide(&mut self, kind: NoteKind, bytes: usize) {
        self.note_at(kind, self.offset() - bytes);
    }

    /// What the open reader says of a payload that is not the one it wants.
    fn reference_contents(&self, lo: u8, payload: Option<(u8, u8, u8)>) -> String {
        let (name, tag, arity) = match lo {
            0..=2 => ("Kernel", 105, 4),
            3 => ("LncKernel", 108, 7),
            4 => return reference_expecting("String"),
            _ => return "Invalid value tag".to_string(),
        };
        match payload {
            Some((t, c, l)) => format!("Expecting {name}:({tag},0,{arity}) got:({t},{c},{l})"),
            None => format!("Could not find tag, expecting {name}:{tag},0"),
        }
    }
}

/// What the open reader says when a primitive, a list or an option is due and something else is there.
fn reference_expecting(expected: &str) -> String {
    // It says Bool of an option, too (spec: klr 5).
    format!("expecting {}", if expected == "Option" { "Bool" } else { head_name(expected) })
}

fn head_name(expected: &str) -> &str {
    match expected {
        "list" => "List",
        other => other,
    }
}

/// Values that were read, in the place that their first bytes give: a file repeats its tensors and access patterns
/// again and again, and the same bytes are the same value.
#[derive(Debug)]
struct Seen<'a, T: ?Sized> {
    /// Offset and length of the bytes, and the value.
    slots: Vec<Option<(usize, usize, &'a T)>>,
}

impl<'a, T: ?Sized> Seen<'a, T> {
    fn new() -> Self {
        Seen { slots: Vec::new() }
    }

    /// The place for the value at the start of `rest`; `None` when there are too few bytes to be worth it.
    #[inline]
    fn slot<const KEY: usize>(rest: &[u8]) -> Option<usize> {
        let key = rest.first_chunk::<KEY>()?;
        let mut hash = 0u64;
        for part in key.as_chunks::<4>().0 {
            hash = (hash.rotate_left(13) ^ u64::from(u32::from_le_bytes(*part)))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        Some((hash >> (64 - SEEN.trailing_zeros())) as usize)
    }

    /// The value at the start of `rest` and its length, if it was met before.
    #[inline]
    fn find<const KEY: usize>(&self, input: &[u8], rest: &[u8]) -> Option<(&'a T, usize)> {
        let (start, length, value) = (*self.slots.get(Self::slot::<KEY>(rest)?)?)?;
        rest.starts_with(&input[start..start + length]).then_some((value, length))
    }

    fn keep<const KEY: usize>(&mut self, input: &[u8], start: usize, end: usize, value: &'a T) {
        if let Some(slot) = Self::slot::<KEY>(&input[start..]) {
            if self.slots.is_empty() {
                self.slots = vec![None; SEEN];
            }
            self.slots[slot] = Some((start, end - start, value));
        }
    }
}

/// Whether a text holds a NUL.
#[inline]
fn has_nul(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    // A byte is 0 exactly when subtracting 1 from it borrows and it was below 128.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7) != 0;
    words.iter().any(|word| zero(u64::from_ne_bytes(*word))) || rest.contains(&0)
}

impl<'a> Source<'a> for Reader<'a> {
    #[inline(always)]
    fn arena(&self) -> &'a Arena {
        self.arena
    }

    #[inline(always)]
    fn record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed> {
        let Some(tag) = ty.tag else { return Ok(false) };
        self.props = 0;
        let ctor = &ty.ctors[0];
        if let Some((head, rest)) = self.rest.split_first_chunk::<4>() {
            if *head == [TAG, tag, ty.lo, 0x80 | ctor.arity]
                && (ctor.added.is_empty() || self.admits(Schema::V2_24))
            {
                self.rest = rest;
                return Ok(false);
            }
            let arity = ctor.arity + ctor.added.len() as u8;
            if !ctor.added.is_empty() && *head == [TAG, tag, ty.lo, 0x80 | arity] && self.admits(Schema::Head)
            {
                self.rest = rest;
                return Ok(true);
            }
        }
        self.slow_record(ty)
    }

    #[inline(always)]
    fn union(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        self.props = 0;
        self.ctor(ty)
    }

    #[inline(always)]
    fn enumeration(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        self.ctor(ty)
    }

    #[inline(always)]
    fn close(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    #[inline(always)]
    fn field(&mut self, _name: &'static str) -> Result<(), Failed> {
        Ok(())
    }

    #[inline(always)]
    fn nat(&mut self) -> Result<u64, Failed> {
        let value = self.head(NAT, "Nat")?;
        if value > u64::from(u32::MAX) {
            self.wide(NoteKind::WideNat(value), 9);
        }
        Ok(value)
    }

    #[inline(always)]
    fn int(&mut self) -> Result<i64, Failed> {
        let negative = matches!(self.rest.first(), Some(0x20..=0x3F));
        let number = self.head(if negative { NEGATIVE } else { NAT }, "Int")?;
        if number > i32::MAX as u64 {
            let bytes = if number > u64::from(u32::MAX) { 9 } else { 5 };
            let Ok(number) = i64::try_from(number) else {
                let start = self.offset() - bytes;
                let reference = negative.then(|| reference_expecting("Int"));
                return Err(self.fail_at(ErrorKind::IntegerRange, start, reference));
            };
            self.wide(NoteKind::WideInt(if negative { !number } else { number }), bytes);
        }
        let number = number as i64;
        Ok(if negative { !number } else { number })
    }

    #[inline(always)]
    fn float(&mut self) -> Result<Float, Failed> {
        match self.rest.split_first_chunk::<5>() {
            Some((&[0xFA, a, b, c, d], rest)) => {
                self.rest = rest;
                Ok(Float { bits: u32::from_be_bytes([a, b, c, d]) })
            }
            None if self.rest.first() == Some(&0xFA) => {
                Err(self.truncated("Float", Some(reference_expecting("Float"))))
            }
            _ => Err(self.unexpected("Float")),
        }
    }

    fn real(&mut self) -> Result<Real, Failed> {
        if self.rest.first() != Some(&0xFB) {
            return Ok(Real::F32(self.float()?));
        }
        let Some((&[_, bits @ ..], rest)) = self.rest.split_first_chunk::<9>() else {
            return Err(self.truncated("Float", None));
        };
        self.rest = rest;
        Ok(Real::F64(u64::from_be_bytes(bits)))
    }

    #[inline(always)]
    fn boolean(&mut self) -> Result<bool, Failed> {
        match self.rest.split_first() {
            Some((&byte @ (0xF4 | 0xF5), rest)) => {
                self.rest = rest;
                Ok(byte == 0xF5)
            }
            _ => self.slow_boolean(),
        }
    }

    #[inline]
    fn text(&mut self) -> Result<&'a str, Failed> {
        let start = self.offset();
        let length = self.head(TEXT, "String")?;
        let limit = self.options.limits.text;
        if length > limit as u64 {
            if !self.lenient {
                let reference = (length > 65536).then(|| reference_expecting("String"));
                return Err(self.fail_at(ErrorKind::TextTooLong { length, limit }, start, reference));
            }
            self.note_at(NoteKind::LongText(length), start);
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated("String", Some(reference_expecting("String"))));
        };
        self.rest = rest;
        if has_nul(bytes) {
            self.note_at(NoteKind::Nul, start);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => self.not_utf8(start, bytes),
        }
    }

    #[inline(always)]
    fn prop(&mut self) {
        self.props = self.props.saturating_add(1);
    }

    #[inline(always)]
    fn option(&mut self) -> Result<bool, Failed> {
        if let Some((head, rest)) = self.rest.split_first_chunk::<4>() {
            if *head == ABSENT {
                self.rest = rest;
                return Ok(false);
            }
            if *head == PRESENT {
                self.rest = rest;
                return Ok(true);
            }
        }
        self.slow_option()
    }

    #[inline(always)]
    fn list(&mut self, min: usize) -> Result<Length, Failed> {
        let count = self.head(LIST, "list")?;
        let room = self.rest.len().saturating_sub(self.reserved);
        match usize::try_from(count).ok().and_then(|count| count.checked_mul(min)) {
            Some(bytes) if bytes <= room => {
                self.reserved += bytes;
                Ok(Length::Fits(count as usize))
            }
            _ => {
                self.doomed = true;
                Ok(Length::TooMany(count))
            }
        }
    }

    fn pair(&mut self) -> Result<(), Failed> {
        if self.rest.first() != Some(&PAIR) {
            return Err(self.unexpected("pair"));
        }
        self.rest = &self.rest[1..];
        Ok(())
    }

    #[inline(always)]
    fn item(&mut self, _index: usize, min: usize) {
        self.reserved = self.reserved.saturating_sub(min);
    }

    #[inline(always)]
    fn end_list(&mut self) {}

    #[inline(always)]
    fn descend(&mut self) -> Result<(), Failed> {
        if self.depth_left == 0 {
            let limit = self.options.limits.depth;
            return Err(self.fail(ErrorKind::TooDeep { limit }, None));
        }
        self.depth_left -= 1;
        Ok(())
    }

    #[inline(always)]
    fn ascend(&mut self) {
        self.depth_left += 1;
    }

    fn select(&mut self) -> Result<Selected<'a>, Failed> {
        let start = self.offset();
        let found = self.slow_tag(&CONTENTS, "Could not read tag".to_string())?;
        let (tag, lo, arity) = found;
        if tag != CONTENTS_TAG || arity != 1 {
            let reference =
                if tag == CONTENTS_TAG { "Wrong number of elements" } else { "Unexpected type tag" };
            let kind = ErrorKind::WrongType { ty: &CONTENTS, found };
            return Err(self.fail_at(kind, start, Some(reference.to_string())));
        }
        let payload = self.rest;
        let rows = || SELECT.iter().filter(|row| row.lo == lo);
        let row = rows().find(|row| match row.peek {
            Peek::Bytes(bytes) => payload.starts_with(&bytes),
            Peek::Text => matches!(payload.first(), Some(0x60..=0x7B)),
        });
        if let Some(row) = row {
            if row.diagnose {
                self.note_at(NoteKind::OddContents(row), start);
            }
            return Ok(Selected::Row(row));
        }
        // The payload may be a known one that is cut within its head.
        let cut = rows().any(|row| matches!(row.peek, Peek::Bytes(bytes) if bytes.starts_with(payload)));
        if cut {
            let reference = self.reference_contents(lo, None);
            return Err(self.truncated("Contents", Some(reference)));
        }
        let head = match payload {
            [TAG, tag, lo, arity @ 0x80..=0x97, ..] => Some((*tag, *lo, *arity & 31)),
            _ => None,
        };
        if !self.lenient {
            let reference = self.reference_contents(lo, head);
            let payload = head.map(|(tag, _, arity)| (tag, arity));
            return Err(self.fail_at(ErrorKind::UnknownContents { lo, payload }, start, Some(reference)));
        }
        self.note_at(NoteKind::UnknownContents(lo), start);
        self.rest = &[];
        Ok(Selected::Unknown(Unknown { lo, payload }))
    }

    fn mark(&self) -> Mark {
        Mark { offset: self.offset(), notes: self.notes.len() + self.more_notes }
    }

    #[inline]
    fn recall_tensor(&mut self) -> Option<&'a TensorName<'a>> {
        let (tensor, length) = self.tensors.find::<TENSOR_KEY>(self.input, self.rest)?;
        self.rest = &self.rest[length..];
        Some(tensor)
    }

    fn remember_tensor(&mut self, mark: Mark, tensor: &'a TensorName<'a>) {
        // What was noted must be noted each time.
        if mark.notes == self.notes.len() + self.more_notes && !self.doomed {
            self.tensors.keep::<TENSOR_KEY>(self.input, mark.offset, self.offset(), tensor);
        }
    }

    #[inline]
    fn recall_pattern(&mut self) -> Option<&'a [APPair]> {
        let (pattern, length) = self.patterns.find::<PATTERN_KEY>(self.input, self.rest)?;
        self.rest = &self.rest[length..];
        Some(pattern)
    }

    fn remember_pattern(&mut self, mark: Mark, pattern: &'a [APPair]) {
        if mark.notes == self.notes.len() + self.more_notes && !self.doomed {
            self.patterns.keep::<PATTERN_KEY>(self.input, mark.offset, self.offset(), pattern);
        }
    }

    #[inline]
    fn checked(&mut self, value: Checked<'_>) {
        if !value.holds() {
            let offset = self.offset();
            value.broken(&mut |condition| self.note_at(NoteKind::Condition(condition), offset));
        }
    }
}
