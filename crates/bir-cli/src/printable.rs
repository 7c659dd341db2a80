//! A way to a terminal that documents cannot abuse: names in them may hold anything, control characters too.

use std::io::{self, Write};

/// A writer of text that escapes control characters, as `\u{1b}`; line breaks and tabs pass, and colours where the
/// program uses them itself.
pub(crate) struct Printable<'w> {
    out: &'w mut dyn Write,
    colors: bool,
    /// The last piece ended with this first byte of a character.
    pending: bool,
}

/// First byte of the control characters U+0080 to U+009F.
const C1_LEAD: u8 = 0xc2;

impl<'w> Printable<'w> {
    pub(crate) fn new(out: &'w mut dyn Write, colors: bool) -> Printable<'w> {
        Printable { out, colors, pending: false }
    }

    /// Writes a piece in which something may have to be escaped.
    fn write_careful(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (code, length) = match rest {
                [second @ 0x80..=0x9f, ..] if std::mem::take(&mut self.pending) => (u32::from(*second), 1),
                [first, ..] if self.pending => {
                    self.pending = false;
                    self.out.write_all(&[C1_LEAD, *first])?;
                    at += 1;
                    done = at;
                    continue;
                }
                [C1_LEAD] => {
                    self.out.write_all(&bytes[done..at])?;
                    self.pending = true;
                    return Ok(());
                }
                [C1_LEAD, second @ 0x80..=0x9f, ..] => (u32::from(*second), 2),
                [0x1b, ..] if self.colors && color_length(rest) > 0 => {
                    at += color_length(rest);
                    continue;
                }
                [byte, ..] if is_control(*byte) => (u32::from(*byte), 1),
                _ => {
                    at += 1;
                    continue;
                }
            };
            self.out.write_all(&bytes[done..at])?;
            write!(self.out, "\\u{{{code:x}}}")?;
            at += length;
            done = at;
        }
        self.out.write_all(&bytes[done..])
    }
}

impl Write for Printable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is neither printable ASCII nor a line break needs a closer look. Without an early end, so that it runs
        // over many bytes at once.
        let is_odd = |byte: u8| (byte.wrapping_sub(b' ') >= 0x5f) & (byte != b'\n');
        let odd = bytes.iter().fold(0, |odd, byte| odd | u8::from(is_odd(*byte)));
        if odd != 0 || self.pending {
            self.write_careful(bytes)?;
        } else {
            self.out.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') | (byte == 0x7f)
}

/// Length of the sequence that sets colours at the start of a text; 0 when there is none.
fn color_length(bytes: &[u8]) -> usize {
    let Some(rest) = bytes.strip_prefix(b"\x1b[") else { return 0 };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    if rest.get(length) == Some(&b'm') { length + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pieces: &[&[u8]], colors: bool) -> String {
        let mut out = Vec::new();
        let mut printable = Printable::new(&mut out, colors);
        for piece in pieces {
            printable.write_all(piece).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn control_characters_are_escaped_wherever_pieces_end() {
        let text = "a\tb\n\u{1b}]0;x\u{7} é µ \u{9b}1m\u{7f}\r.";
        let expected = "a\tb\n\\u{1b}]0;x\\u{7} é µ \\u{9b}1m\\u{7f}\\u{d}.";
        for cut in 0..=text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(printed(&[a, b], false), expected, "{cut}");
            assert_eq!(printed(&[a, b], true), expected, "{cut}");
        }
    }

    #[test]
    fn colours_pass_where_there_are_colours() {
        let text = "\u{1b}[1;31merror\u{1b}[0m \u{1b}[2J";
        assert_eq!(printed(&[text.as_bytes()], true), "\u{1b}[1;31merror\u{1b}[0m \\u{1b}[2J");
        assert_eq!(printed(&[text.as_bytes()], false), "\\u{1b}[1;31merror\\u{1b}[0m \\u{1b}[2J");
    }
}
