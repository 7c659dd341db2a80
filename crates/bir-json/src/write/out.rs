//! The text sink: indentation, separators, numbers and strings, in a buffer that is flushed as it fills.

use std::io;

use super::Style;
use crate::lexer::{is_plain8, plain_end};
use crate::number;

/// Bytes that are collected before they go to the sink.
const BUFFER: usize = 1 << 16;

/// Room that [`Out::reserve`] leaves for what is put without asking: separators, line starts, small numbers, keys.
const SLACK: usize = 256;

/// Longest line start that is copied in one piece. Copies of a constant size need no call, so pieces are copied
/// whole and then cut.
const PIECE: usize = 64;

/// A newline and blanks.
const LINE: [u8; PIECE] = {
    let mut bytes = [b' '; PIECE];
    bytes[0] = b'\n';
    bytes
};

/// A member name as it is written, `"name": `, in a form that is copied in one piece.
pub(crate) struct Key {
    bytes: [u8; 48],
    length: u8,
}

impl Key {
    /// The key of a name without characters that need an escape.
    pub(crate) const fn new(name: &str) -> Key {
        let name = name.as_bytes();
        let mut bytes = [0; 48];
        bytes[0] = b'"';
        let mut i = 0;
        while i < name.len() {
            bytes[i + 1] = name[i];
            i += 1;
        }
        bytes[i + 1] = b'"';
        bytes[i + 2] = b':';
        bytes[i + 3] = b' ';
        Key { bytes, length: i as u8 + 4 }
    }

    /// The name.
    pub(crate) fn name(&self) -> &[u8] {
        &self.bytes[1..usize::from(self.length) - 3]
    }
}

pub(crate) struct Out<'w> {
    buffer: Vec<u8>,
    /// Bytes of the buffer that are in use.
    at: usize,
    /// How often the buffer was handed over.
    flushes: u64,
    sink: &'w mut dyn io::Write,
    /// The first error of the sink; nothing is written after it.
    error: Option<io::Error>,
    /// Blanks at the start of a line.
    indent: usize,
    indented: bool,
}

impl<'w> Out<'w> {
    pub(crate) fn new(sink: &'w mut dyn io::Write, style: Style) -> Out<'w> {
        let indented = style == Style::Indented;
        Out { buffer: vec![0; BUFFER + SLACK], at: 0, flushes: 0, sink, error: None, indent: 0, indented }
    }

    /// The same, with blanks at the start of a line.
    pub(super) fn at_indent(mut self, indent: usize) -> Out<'w> {
        self.indent = indent;
        self
    }

    pub(super) fn style(&self) -> Style {
        if self.indented { Style::Indented } else { Style::Compact }
    }

    /// Hands over what is left. The first error of the sink comes out here.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => self.sink.flush(),
        }
    }

    #[cold]
    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.write_all(&self.buffer[..self.at]).err();
        }
        self.at = 0;
        self.flushes += 1;
    }

    /// Blanks at the start of a line.
    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    /// Begins to write what is inside an array or object.
    pub(super) fn indent_more(&mut self) {
        self.indent += 2;
    }

    /// Ends what [`Out::indent_more`] began.
    pub(super) fn indent_less(&mut self) {
        self.indent -= 2;
    }

    /// The place that is reached, for [`Out::since`].
    pub(super) fn mark(&self) -> (u64, usize) {
        (self.flushes, self.at)
    }

    /// What was put since a mark, when it is still here.
    pub(super) fn since(&self, (flushes, at): (u64, usize)) -> Option<&[u8]> {
        (flushes == self.flushes).then(|| &self.buffer[at..self.at])
    }

    /// Makes sure that [`SLACK`] bytes can be put.
    #[inline]
    fn reserve(&mut self) {
        if self.at > BUFFER {
            self.flush();
        }
    }

    /// Whether the sink has failed: there is no point in going on.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Puts a byte. The last [`Out::reserve`] has made room.
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.buffer.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }

    /// Puts a piece of constant size, of which the first bytes count. The last [`Out::reserve`] has made room.
    #[inline(always)]
    fn piece<const N: usize>(&mut self, piece: &[u8; N], length: usize) {
        if let Some(place) = self.buffer[self.at..].first_chunk_mut::<N>() {
            *place = *piece;
        }
        self.at += length;
    }

    /// Puts text of any length.
    #[inline]
    pub(crate) fn raw(&mut self, text: &[u8]) {
        self.reserve();
        match self.buffer[self.at..].get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text);
                self.at += text.len();
            }
            None => self.long(text),
        }
    }

    #[cold]
    fn long(&mut self, text: &[u8]) {
        self.flush();
        if self.error.is_none() {
            self.error = self.sink.write_all(text).err();
        }
    }

    #[inline]
    fn newline(&mut self) {
        if !self.indented {
            return;
        }
        match self.indent {
            short @ ..32 => {
                let piece: &[u8; 32] = LINE.first_chunk().expect("it is longer");
                self.piece(piece, short + 1);
            }
            long => self.deep_newline(long),
        }
    }

    fn deep_newline(&mut self, indent: usize) {
        let first = indent.min(PIECE - 1);
        self.piece(&LINE, first + 1);
        let mut left = indent - first;
        while left > 0 {
            self.reserve();
            let next = left.min(PIECE - 1);
            self.raw(&LINE[1..=next]);
            left -= next;
        }
        self.reserve();
    }

    /// Starts an array or object.
    #[inline]
    pub(crate) fn open(&mut self, bracket: u8) {
        self.reserve();
        self.byte(bracket);
        self.indent += 2;
    }

    /// Ends an array or object.
    #[inline]
    pub(crate) fn close(&mut self, bracket: u8, empty: bool) {
        self.indent -= 2;
        self.reserve();
        if !empty {
            self.newline();
        }
        self.byte(bracket);
    }

    /// Goes to the place of the next element or member.
    #[inline]
    pub(crate) fn separate(&mut self, first: bool) {
        self.reserve();
        if !first {
            self.byte(b',');
        }
        self.newline();
    }

    #[inline]
    pub(crate) fn colon(&mut self) {
        self.raw(if self.indented { b": " } else { b":" });
    }

    /// A member name known at compile time, with its colon.
    #[inline]
    pub(crate) fn key(&mut self, key: &'static Key) {
        self.reserve();
        self.piece(&key.bytes, usize::from(key.length) - usize::from(!self.indented));
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, value: u64) {
        self.reserve();
        if value < 10 {
            self.byte(b'0' + value as u8);
        } else if value < 100_000_000 {
            // Eight digits are made at once; those that count are put.
            let digits = number::text_of_eight_digits(value);
            let skip = (digits ^ number::ZEROS).trailing_zeros() / 8;
            self.piece(&(digits >> (8 * skip)).to_le_bytes(), 8 - skip as usize);
        } else {
            self.long_number(value);
        }
    }

    fn long_number(&mut self, value: u64) {
        let (digits, start) = number::digits(value);
        self.raw(&digits[start..]);
    }

    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        if value < 0 {
            self.reserve();
            self.byte(b'-');
        }
        self.unsigned(value.unsigned_abs());
    }

    /// A finite double; anything else prints as null, as the reference's JSON library does.
    pub(crate) fn float(&mut self, value: f64) {
        let mut text = Vec::with_capacity(32);
        number::write_f64(&mut text, value);
        self.raw(&text);
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.reserve();
        if !self.short_string(bytes) {
            self.long_string(bytes);
        }
    }

    /// Puts a string of 4 to 32 bytes without escapes, as most names are: in two halves that overlap, which need no
    /// loop. The last [`Out::reserve`] has made room. False, with nothing put, for other strings.
    #[inline]
    fn short_string(&mut self, text: &[u8]) -> bool {
        let length = text.len();
        let Some(place) = self.buffer[self.at..].first_chunk_mut::<34>() else { return false };
        let plain = match length {
            4..8 => halves(text, place, |first, last| {
                let word = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
                is_plain8(word(first) | (word(last) << 32))
            }),
            8..16 => halves(text, place, |first, last| {
                is_plain8(u64::from_le_bytes(*first)) && is_plain8(u64::from_le_bytes(*last))
            }),
            16..=32 => halves(text, place, |first, last| is_plain16(first) && is_plain16(last)),
            _ => false,
        };
        if plain {
            place[0] = b'"';
            place[length + 1] = b'"';
            self.at += length + 2;
        }
        plain
    }

    fn long_string(&mut self, bytes: &[u8]) {
        self.byte(b'"');
        let end = plain_end(bytes, 0);
        self.raw(&bytes[..end]);
        if end < bytes.len() {
            self.escaped(bytes, end);
        }
        self.reserve();
        self.byte(b'"');
    }

    /// A string that needs no escapes.
    #[inline]
    pub(crate) fn plain_string(&mut self, text: &'static str) {
        self.reserve();
        self.byte(b'"');
        self.raw(text.as_bytes());
        self.byte(b'"');
    }

    /// An access pattern: a list of pairs of step and num. Most lines of a module are these.
    pub(crate) fn pairs(&mut self, pairs: impl ExactSizeIterator<Item = (i64, i64)>) {
        let empty = pairs.len() == 0;
        self.open(b'[');
        for (i, (step, num)) in pairs.enumerate() {
            self.separate(i == 0);
            self.open(b'[');
            self.newline();
            self.signed(step);
            self.byte(b',');
            self.newline();
            self.signed(num);
            self.close(b']', false);
        }
        self.close(b']', empty);
    }

    /// A list of numbers.
    pub(crate) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) {
        let empty = numbers.len() == 0;
        self.open(b'[');
        for (i, number) in numbers.enumerate() {
            self.separate(i == 0);
            self.unsigned(number);
        }
        self.close(b']', empty);
    }

    fn escaped(&mut self, bytes: &[u8], mut at: usize) {
        while at < bytes.len() {
            match bytes[at] {
                b'"' => self.raw(b"\\\""),
                b'\\' => self.raw(b"\\\\"),
                8 => self.raw(b"\\b"),
                12 => self.raw(b"\\f"),
                b'\n' => self.raw(b"\\n"),
                b'\r' => self.raw(b"\\r"),
                b'\t' => self.raw(b"\\t"),
                control => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    let digits = [HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]];
                    self.raw(b"\\u00");
                    self.raw(&digits);
                }
            }
            at += 1;
            let end = plain_end(bytes, at);
            self.raw(&bytes[at..end]);
            at = end;
        }
    }

    pub(crate) fn array<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        let empty = items.len() == 0;
        self.open(b'[');
        for (i, value) in items.enumerate() {
            self.separate(i == 0);
            item(self, value);
        }
        self.close(b']', empty);
    }
}

/// Copies a text of `N` to `2 * N` bytes behind the first byte of a place, as its first and its last `N` bytes;
/// false when these are not plain.
#[inline(always)]
fn halves<const N: usize>(
    text: &[u8],
    place: &mut [u8; 34],
    are_plain: impl Fn(&[u8; N], &[u8; N]) -> bool,
) -> bool {
    let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) else { return false };
    if !are_plain(first, last) {
        return false;
    }
    if let Some(place) = place[1..].first_chunk_mut() {
        *place = *first;
    }
    if let Some(place) = place[..=text.len()].last_chunk_mut() {
        *place = *last;
    }
    true
}

#[inline(always)]
fn is_plain16(bytes: &[u8; 16]) -> bool {
    let word = u128::from_le_bytes(*bytes);
    is_plain8(word as u64) && is_plain8((word >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(write: impl Fn(&mut Out<'_>)) -> String {
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Style::Compact);
        write(&mut out);
        out.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_of_every_length() {
        let powers = (0..20).map(|power| 10u64.pow(power));
        for value in powers.flat_map(|power| [power - 1, power, power + 1, power.saturating_mul(7)]) {
            assert_eq!(put(|out| out.unsigned(value)), value.to_string());
        }
        assert_eq!(put(|out| out.unsigned(u64::MAX)), u64::MAX.to_string());
        assert_eq!(put(|out| out.signed(i64::MIN)), i64::MIN.to_string());
    }

    #[test]
    fn strings_of_every_length_with_escapes_at_every_place() {
        for length in 0..48 {
            let plain: String = ('a'..='z').cycle().take(length).collect();
            assert_eq!(put(|out| out.string(&plain)), format!("\"{plain}\""));
            for at in 0..length {
                for (special, escaped) in [("\"", "\\\""), ("\\", "\\\\"), ("\u{1f}", "\\u001f")] {
                    let with = |middle: &str| format!("{}{middle}{}", &plain[..at], &plain[at + 1..]);
                    assert_eq!(put(|out| out.string(&with(special))), format!("\"{}\"", with(escaped)));
                }
            }
        }
    }
}
