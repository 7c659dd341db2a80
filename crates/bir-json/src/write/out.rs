//! The text sink: indentation, separators, numbers and strings, in a buffer that is flushed as it fills.

use std::io;

use super::Style;
use crate::lexer::plain_end;
use crate::number;

/// Bytes that are collected before they go to the sink.
const BUFFER: usize = 1 << 18;

/// A newline and as many blanks as are ever copied in one piece.
const INDENT: [u8; 129] = {
    let mut bytes = [b' '; 129];
    bytes[0] = b'\n';
    bytes
};

pub(crate) struct Out<'w> {
    buffer: Vec<u8>,
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
        Out { buffer: Vec::with_capacity(BUFFER + BUFFER / 4), sink, error: None, indent: 0, indented }
    }

    /// Hands over what is left. The first error of the sink comes out here.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => self.sink.flush(),
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Whether the sink has failed: there is no point in going on.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
    }

    #[inline]
    pub(crate) fn raw(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
    }

    #[inline]
    fn newline(&mut self) {
        if self.indented {
            let mut blanks = self.indent;
            let first = blanks.min(INDENT.len() - 1);
            self.buffer.extend_from_slice(&INDENT[..=first]);
            blanks -= first;
            while blanks > 0 {
                let piece = blanks.min(INDENT.len() - 1);
                self.buffer.extend_from_slice(&INDENT[1..=piece]);
                blanks -= piece;
            }
        }
    }

    /// Starts an array or object.
    #[inline]
    pub(crate) fn open(&mut self, bracket: u8) {
        self.buffer.push(bracket);
        self.indent += 2;
    }

    /// Ends an array or object.
    #[inline]
    pub(crate) fn close(&mut self, bracket: u8, empty: bool) {
        self.indent -= 2;
        if !empty {
            self.newline();
        }
        self.buffer.push(bracket);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Goes to the place of the next element or member.
    #[inline]
    pub(crate) fn separate(&mut self, first: bool) {
        if !first {
            self.buffer.push(b',');
        }
        self.newline();
    }

    #[inline]
    pub(crate) fn colon(&mut self) {
        self.raw(if self.indented { b": " } else { b":" });
    }

    /// A member name known at compile time, given as `"name": `.
    #[inline]
    pub(crate) fn static_key(&mut self, quoted: &'static str) {
        let quoted = quoted.as_bytes();
        self.raw(if self.indented { quoted } else { &quoted[..quoted.len() - 1] });
    }

    pub(crate) fn unsigned(&mut self, value: u64) {
        number::write_u64(&mut self.buffer, value);
    }

    pub(crate) fn signed(&mut self, value: i64) {
        number::write_i64(&mut self.buffer, value);
    }

    /// A finite double; anything else prints as null, as the reference's JSON library does.
    pub(crate) fn float(&mut self, value: f64) {
        number::write_f64(&mut self.buffer, value);
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.buffer.push(b'"');
        let end = plain_end(bytes, 0);
        self.raw(&bytes[..end]);
        if end < bytes.len() {
            self.escaped(bytes, end);
        }
        self.buffer.push(b'"');
    }

    /// A string that needs no escapes.
    #[inline]
    pub(crate) fn plain_string(&mut self, text: &'static str) {
        self.buffer.push(b'"');
        self.raw(text.as_bytes());
        self.buffer.push(b'"');
    }

    /// Two numbers, such as step and num of an access pattern.
    #[inline]
    pub(crate) fn pair(&mut self, first: i64, second: i64) {
        self.open(b'[');
        self.separate(true);
        self.signed(first);
        self.separate(false);
        self.signed(second);
        self.close(b']', false);
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
