//! Compact JSON text, written as it is made: a buffer in front of a writer, and the few scalar forms a module needs.

use std::io::{self, Write};

/// Flush threshold in bytes; with the longest single record it bounds the memory of a run.
const BUFFER: usize = 1 << 20;

/// A sink for compact JSON text that counts what it has passed on.
pub(super) struct Text<'w> {
    buffer: Vec<u8>,
    writer: &'w mut dyn Write,
    flushed: u64,
}

impl<'w> Text<'w> {
    pub(super) fn new(writer: &'w mut dyn Write) -> Self {
        Text { buffer: Vec::with_capacity(BUFFER + (BUFFER >> 2)), writer, flushed: 0 }
    }

    /// Text as it is.
    pub(super) fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// A decimal number.
    pub(super) fn num(&mut self, mut value: u64) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.buffer.extend_from_slice(&digits[at..]);
    }

    /// A 32-bit float as the reference prints it: widened to double, shortest digits, with a point or an exponent of
    /// two digits. Rust's form differs in the exponent only, outside of 1e-5..1e-4, which no kernel constant is in.
    pub(super) fn float(&mut self, value: f32) {
        let text = format!("{:?}", f64::from(value));
        match text.split_once("e-") {
            Some((digits, exponent)) => self.raw(&format!("{digits}e-{exponent:0>2}")),
            None => self.raw(&text),
        }
    }

    /// A list of numbers.
    pub(super) fn nums(&mut self, values: impl IntoIterator<Item = u64>) {
        self.raw("[");
        self.list(values, Self::num);
        self.raw("]");
    }

    /// The items of a list with commas between them.
    pub(super) fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        for (i, value) in items.into_iter().enumerate() {
            if i > 0 {
                self.raw(",");
            }
            item(self, value);
        }
    }

    /// Passes full buffers on; called between records.
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Passes everything on and gives the number of bytes written so far.
    pub(super) fn finish(&mut self) -> io::Result<u64> {
        self.flush()?;
        self.writer.flush()?;
        Ok(self.flushed)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.buffer)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
