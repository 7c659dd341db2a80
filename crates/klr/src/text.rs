//! Where the printers and the JSON writer put their text: memory, or a stream that is fed in parts.

use std::fmt;
use std::io;

/// Text goes to the stream when this much has come together.
const PART: usize = 64 * 1024;

/// Text that is kept, or passed on to a stream.
#[derive(Default)]
pub(crate) struct Text<'w> {
    buffer: String,
    stream: Option<&'w mut dyn io::Write>,
    error: Option<io::Error>,
}

impl<'w> Text<'w> {
    /// Text that is kept.
    pub(crate) fn kept() -> Self {
        Self::default()
    }

    /// Text that goes to a stream.
    pub(crate) fn to(stream: &'w mut dyn io::Write) -> Self {
        Text { stream: Some(stream), ..Self::default() }
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        self.buffer.push_str(text);
        if self.buffer.len() >= PART {
            self.pass_on();
        }
    }

    pub(crate) fn format(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = fmt::Write::write_fmt(&mut self.buffer, text);
    }

    pub(crate) fn spaces(&mut self, count: usize) {
        self.buffer.extend(std::iter::repeat_n(' ', count));
    }

    fn pass_on(&mut self) {
        if let Some(stream) = &mut self.stream {
            if self.error.is_none() {
                self.error = stream.write_all(self.buffer.as_bytes()).err();
            }
            self.buffer.clear();
        }
    }

    /// Passes the rest on; fails if the stream failed.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.pass_on();
        self.error.map_or(Ok(()), Err)
    }

    /// The text that was kept.
    pub(crate) fn into_string(self) -> String {
        self.buffer
    }
}
