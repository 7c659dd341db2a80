//! The JSON lexer: a cursor over text that is known to be UTF-8.

use std::borrow::Cow;

use crate::error::{ReadErrorKind, Result};
use crate::number::{Number, NumberErrorKind, parse_number, short_digits};

/// Deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 256;

/// A cursor over JSON text. All methods that start a token skip white space first.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    pos: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        // A byte order mark is skipped. spec: cli, Decided
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Lexer { text, pos, depth: 0 }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Offset of the next byte to be read.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Goes back (or forward) to an offset at which a value starts.
    pub(crate) fn seek(&mut self, pos: usize) {
        self.pos = pos;
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    /// The first byte of the next token, which is not consumed. 0 at the end of the text.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> u8 {
        match self.text.as_bytes().get(self.pos) {
            Some(&byte) if byte > b' ' => byte,
            _ => self.peek_after_space(),
        }
    }

    fn peek_after_space(&mut self) -> u8 {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.skip_space(),
                Some(byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Skips a run of white space; long runs of blanks, as indented documents have them, in steps of eight.
    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        self.pos += 1;
        while let Some(chunk) = bytes.get(self.pos..self.pos + 8) {
            if chunk != b"        " {
                break;
            }
            self.pos += 8;
        }
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.pos) {
            self.pos += 1;
        }
    }

    pub(crate) fn syntax<T>(&self, what: &'static str) -> Result<T> {
        let what = if self.pos >= self.text.len() { "unexpected end of input" } else { what };
        Err(ReadErrorKind::Syntax(what).at(self.pos))
    }

    /// Consumes one structural byte.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.peek() == byte && self.pos < self.text.len() {
            self.pos += 1;
            Ok(())
        } else {
            self.syntax(what)
        }
    }

    /// Consumes a byte when it is next.
    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let next = self.peek() == byte;
        self.pos += usize::from(next);
        next
    }

    /// Enters an array or object, whose first byte is consumed.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.pos += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(
                ReadErrorKind::Limit { what: "nested arrays and objects", limit: MAX_DEPTH }.at(self.pos - 1)
            );
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The depth, to restore it after an attempt that failed inside.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Consumes `true`, `false` or `null` whose first byte was seen.
    pub(crate) fn literal(&mut self, word: &'static str) -> Result<()> {
        if self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            Ok(())
        } else {
            self.syntax("invalid literal: expected `true`, `false` or `null`")
        }
    }

    /// Reads a non-negative integer of up to 18 digits when that is what comes; else nothing is consumed.
    #[inline(always)]
    pub(crate) fn short_integer(&mut self) -> Option<u64> {
        let bytes = self.text.as_bytes();
        let chunk = bytes.get(self.pos..).and_then(|rest| rest.first_chunk());
        let (value, length) = match chunk.and_then(short_digits) {
            Some((value, length)) => (u64::from(value), length),
            None => self.digits()?,
        };
        let stop = bytes.get(self.pos + length);
        if length > 1 && bytes[self.pos] == b'0' || matches!(stop, Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.pos += length;
        Some(value)
    }

    /// The digits that come, as a number, and how many there are: 1 to 18.
    fn digits(&self) -> Option<(u64, usize)> {
        let rest = self.text.as_bytes().get(self.pos..)?;
        let digits = rest.iter().map(|byte| byte.wrapping_sub(b'0'));
        let (mut value, mut length) = (0u64, 0);
        for digit in digits.take_while(|digit| *digit <= 9) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            length += 1;
        }
        (1..=18).contains(&length).then_some((value, length))
    }

    /// Reads a number whose first byte was seen.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Number> {
        match self.short_integer() {
            Some(value) => Ok(Number::Unsigned(value)),
            None => self.any_number(),
        }
    }

    fn any_number(&mut self) -> Result<Number> {
        match parse_number(&self.text.as_bytes()[self.pos..]) {
            Ok((number, length)) => {
                self.pos += length;
                Ok(number)
            }
            Err(error) => {
                let kind = match error.kind {
                    NumberErrorKind::Overflow => ReadErrorKind::NumberOverflow,
                    _ => ReadErrorKind::Syntax("invalid number"),
                };
                Err(kind.at(self.pos + error.at))
            }
        }
    }

    /// Reads a string whose opening quote was seen.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        match self.plain_string() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => {
                let start = self.pos + 1;
                let end = plain_end(self.text.as_bytes(), start);
                self.escaped_string(start, end).map(Cow::Owned)
            }
        }
    }

    /// Reads a string that has no escapes; else nothing is consumed.
    #[inline(always)]
    pub(crate) fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.pos + 1;
        let bytes = self.text.as_bytes();
        let end = plain_end(bytes, start);
        if bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.pos = end + 1;
        Some(&self.text[start..end])
    }

    fn escaped_string(&mut self, start: usize, mut at: usize) -> Result<String> {
        let bytes = self.text.as_bytes();
        let mut out = String::from(&self.text[start..at]);
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    self.pos = at + 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.pos = at;
                    at = self.escape(at + 1, &mut out)?;
                }
                Some(_) => {
                    self.pos = at;
                    return self.syntax("control character in a string: it must be escaped");
                }
                None => {
                    self.pos = at;
                    return self.syntax("missing closing quote");
                }
            }
            let end = plain_end(bytes, at);
            out.push_str(&self.text[at..end]);
            at = end;
        }
    }

    /// Decodes the escape after a backslash; gives the offset behind it.
    fn escape(&mut self, at: usize, out: &mut String) -> Result<usize> {
        let plain = match self.text.as_bytes().get(at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(at + 1, out),
            _ => return self.syntax("invalid escape: forbidden character after backslash"),
        };
        out.push(plain);
        Ok(at + 1)
    }

    fn unicode_escape(&mut self, at: usize, out: &mut String) -> Result<usize> {
        let Some(first) = self.hex4(at) else {
            return self.syntax("invalid escape: `\\u` must be followed by 4 hex digits");
        };
        let (code, end) = if (0xD800..0xDC00).contains(&first) {
            let low = self.text.as_bytes()[at + 4..].starts_with(b"\\u").then(|| self.hex4(at + 6)).flatten();
            match low {
                Some(low) if (0xDC00..0xE000).contains(&low) => {
                    (0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00), at + 10)
                }
                _ => return self.syntax("surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF"),
            }
        } else {
            (first, at + 4)
        };
        let Some(c) = char::from_u32(code) else {
            return self.syntax("surrogate U+DC00..U+DFFF must follow U+D800..U+DBFF");
        };
        out.push(c);
        Ok(end)
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.text.as_bytes().get(at..at + 4)?;
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }

    /// What the next value is, for messages.
    pub(crate) fn found(&mut self) -> &'static str {
        match self.peek() {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a string",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            b'-' | b'0'..=b'9' => "a number",
            _ => "no value",
        }
    }

    /// An error for a value of the wrong type; a syntax error when no value starts here.
    pub(crate) fn wrong_type<T>(&mut self, expected: &'static str) -> Result<T> {
        let before = self.text.as_bytes()[..self.pos.min(self.text.len())].trim_ascii_end();
        match self.found() {
            // That is an array, as far as syntax is concerned.
            "no value" if self.peek() == b']' && before.ends_with(b"[") => {
                Err(ReadErrorKind::WrongType { expected, found: "the end of the array" }.at(self.pos))
            }
            "no value" => self.syntax("expected a value"),
            found => Err(ReadErrorKind::WrongType { expected, found }.at(self.pos)),
        }
    }

    /// Consumes a member name, given in quotes, and the colon, when they are next. `None` leaves the lexer anywhere.
    #[inline(always)]
    pub(crate) fn take_key<const N: usize>(&mut self, quoted: &[u8; N]) -> Option<()> {
        self.peek();
        let next = self.text.as_bytes().get(self.pos..)?.first_chunk::<N>()?;
        if next != quoted {
            return None;
        }
        self.pos += N;
        self.take(b':').then_some(())
    }

    /// Whether some text is next.
    #[inline(always)]
    pub(crate) fn looks_at<const N: usize>(&mut self, text: &[u8; N]) -> bool {
        self.peek();
        self.text.as_bytes()[self.pos.min(self.text.len())..].first_chunk::<N>() == Some(text)
    }

    /// Consumes a string without escapes when it is next. `None` leaves the lexer anywhere.
    #[inline(always)]
    pub(crate) fn take_string(&mut self) -> Option<&'a str> {
        if self.peek() == b'"' { self.plain_string() } else { None }
    }

    /// Skips a value. It is checked for syntax as strictly as one that is read.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        match self.peek() {
            b'{' => {
                self.enter()?;
                if !self.take(b'}') {
                    loop {
                        self.key()?;
                        self.skip_value()?;
                        if !self.next_member()? {
                            break;
                        }
                    }
                }
                self.leave();
                Ok(())
            }
            b'[' => {
                self.enter()?;
                if !self.take(b']') {
                    loop {
                        self.skip_value()?;
                        if !self.next_element()? {
                            break;
                        }
                    }
                }
                self.leave();
                Ok(())
            }
            b'"' => self.string().map(drop),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number().map(drop),
            _ => self.syntax("expected a value"),
        }
    }

    /// Reads the key of a member and the colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>> {
        if self.peek() != b'"' {
            return self.syntax("expected a member name in quotes");
        }
        let key = self.string()?;
        self.expect(b':', "expected `:` after the member name")?;
        Ok(key)
    }

    /// Reads the key of a member and the colon, when the key has no escapes; else nothing is consumed.
    #[inline(always)]
    pub(crate) fn plain_key(&mut self) -> Option<&'a str> {
        if self.peek() != b'"' {
            return None;
        }
        let start = self.pos;
        let key = self.plain_string()?;
        if self.peek() != b':' {
            self.pos = start;
            return None;
        }
        self.pos += 1;
        Some(key)
    }

    /// After a member: true when another one follows, false when the object ends here.
    #[inline(always)]
    pub(crate) fn next_member(&mut self) -> Result<bool> {
        match self.peek() {
            b',' => {
                self.pos += 1;
                Ok(true)
            }
            b'}' => {
                self.pos += 1;
                Ok(false)
            }
            _ => self.syntax("expected `,` or `}`"),
        }
    }

    /// After an element: true when another one follows, false when the array ends here.
    #[inline(always)]
    pub(crate) fn next_element(&mut self) -> Result<bool> {
        match self.peek() {
            b',' => {
                self.pos += 1;
                Ok(true)
            }
            b']' => {
                self.pos += 1;
                Ok(false)
            }
            _ => self.syntax("expected `,` or `]`"),
        }
    }

    /// Checks that nothing but white space follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.peek();
        if self.byte().is_some() { self.syntax("expected the end of the input") } else { Ok(()) }
    }
}

/// Offset of the first byte from `at` on that is a quote, a backslash or a control character.
#[inline(always)]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|s| s.first_chunk::<8>()) {
        let hit = special_bytes(u64::from_le_bytes(*chunk));
        if hit != 0 {
            return at + hit.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// Whether none of eight bytes is a quote, a backslash or a control character.
#[inline(always)]
pub(crate) fn is_plain8(word: u64) -> bool {
    special_bytes(word) == 0
}

/// The highest bit of each byte that is a quote, a backslash or a control character. Exact for the lowest byte that
/// matches, which is all that is asked for.
#[inline(always)]
fn special_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = (word ^ (LOW * b'"' as u64)).wrapping_sub(LOW) & !(word ^ (LOW * b'"' as u64));
    let slash = (word ^ (LOW * b'\\' as u64)).wrapping_sub(LOW) & !(word ^ (LOW * b'\\' as u64));
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    (quote | slash | control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length() {
        for length in 1..=20 {
            for digit in 1..=9 {
                let digits: String = (0..length).map(|i| char::from(b'0' + (digit + i) % 10)).collect();
                for after in ["", ",", "}", " ,\"next\"", "/", ":", "\u{b0}", ".5", "e3", "E3"] {
                    let text = format!("{digits}{after}");
                    let mut lexer = Lexer::new(&text);
                    let plain = length <= 18 && !digits.starts_with('0') && !after.contains(['.', 'e', 'E'])
                        || after.contains("next") && length <= 18 && !digits.starts_with('0');
                    let expected = plain.then(|| digits.parse().unwrap());
                    assert_eq!(lexer.short_integer(), expected, "{text}");
                    assert_eq!(lexer.pos(), if plain { digits.len() } else { 0 }, "{text}");
                }
            }
        }
        assert_eq!(Lexer::new("0,").short_integer(), Some(0));
        for text in ["", "-1", "x", "01", "00000000000"] {
            assert_eq!(Lexer::new(text).short_integer(), None, "{text}");
        }
    }

    #[test]
    fn special_bytes_are_found_at_any_offset() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for offset in 0..40 {
                let mut text = vec![b'x'; 40];
                text[offset] = special;
                assert_eq!(plain_end(&text, 0), offset);
            }
        }
        for plain in [0x20, 0x21, 0x23, 0x7f, 0x80, 0xff] {
            assert_eq!(plain_end(&[plain; 20], 0), 20);
        }
    }

    #[test]
    fn strings_are_borrowed_unless_escaped() {
        let mut lexer = Lexer::new(r#""plain" "a\n\u00e9\ud83d\ude00""#);
        lexer.peek();
        assert!(matches!(lexer.string().unwrap(), Cow::Borrowed("plain")));
        lexer.peek();
        assert_eq!(lexer.string().unwrap(), "a\né😀");
        for bad in [r#""\ud800""#, r#""\udc00""#, r#""\u12""#, r#""\x""#, "\"\n\"", "\"abc"] {
            assert!(Lexer::new(bad).string().is_err(), "{bad}");
        }
    }
}
