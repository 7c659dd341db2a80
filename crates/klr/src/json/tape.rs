//! A JSON text as a list of tokens, in one pass and without recursion.
//!
//! Record members may come in any order, so the text is not read value by value. Positions are kept for messages.

use std::borrow::Cow;

use super::Error;

/// Brackets may be nested this deep: the deepest value that CBOR reading takes has a few brackets for each level.
const DEPTH: usize = 20_000;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    /// With the quotes.
    String,
    /// Elements follow.
    Array,
    /// Members follow, each a string and a value.
    Object,
}

/// A token: where it stands, and for a bracket what is inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Index of the token after this value.
    pub(super) next: usize,
    /// Elements or members.
    pub(super) count: usize,
}

/// What is wrong, and at which byte.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn error(self, text: &str, path: String) -> Error {
        let before = text.as_bytes().get(..self.at).unwrap_or(text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        Error { message: self.message, line, column, path }
    }
}

/// The tokens of a text that is one JSON value.
#[derive(Debug)]
pub(super) struct Tape<'t> {
    text: &'t str,
    pub(super) tokens: Vec<Token>,
}

impl<'t> Tape<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, Problem> {
        let mut parser = Parser { text, at: 0, tokens: Vec::new() };
        parser.parse()?;
        Ok(Tape { text, tokens: parser.tokens })
    }

    /// The text of a number.
    pub(super) fn raw(&self, token: Token) -> &'t str {
        &self.text[token.start..token.end]
    }

    /// The content of a string.
    pub(super) fn string(&self, token: Token) -> Result<Cow<'t, str>, Problem> {
        let raw = &self.text[token.start + 1..token.end - 1];
        if raw.contains('\\') {
            unescape(raw, token.start + 1).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(raw))
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
}

impl Parser<'_> {
    fn problem<T>(&self, message: &str) -> Result<T, Problem> {
        Err(Problem { at: self.at, message: message.to_string() })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn parse(&mut self) -> Result<(), Problem> {
        if self.text.starts_with('\u{FEFF}') {
            self.at = 3;
        }
        // The brackets that are open, as indices of their tokens.
        let mut open: Vec<usize> = Vec::new();
        loop {
            self.blank();
            let closed_empty = match open.last() {
                Some(&bracket) if self.tokens[bracket].count == 0 => self.closes(bracket),
                _ => false,
            };
            if !closed_empty {
                if let Some(&bracket) = open.last() {
                    self.tokens[bracket].count += 1;
                    if self.tokens[bracket].kind == Kind::Object {
                        if self.byte() != Some(b'"') {
                            return self.problem("expected a member name");
                        }
                        self.scalar()?;
                        self.blank();
                        if self.byte() != Some(b':') {
                            return self.problem("expected ':'");
                        }
                        self.at += 1;
                        self.blank();
                    }
                }
                let kind = match self.byte() {
                    Some(b'[') => Some(Kind::Array),
                    Some(b'{') => Some(Kind::Object),
                    _ => None,
                };
                if let Some(kind) = kind {
                    if open.len() == DEPTH {
                        return self.problem("brackets are nested too deeply");
                    }
                    open.push(self.tokens.len());
                    self.tokens.push(Token { kind, start: self.at, end: 0, next: 0, count: 0 });
                    self.at += 1;
                    continue;
                }
                self.scalar()?;
            }
            // A value has ended: close brackets until one goes on.
            loop {
                let Some(&bracket) = open.last() else {
                    self.blank();
                    return if self.at == self.text.len() {
                        Ok(())
                    } else {
                        self.problem("text follows the value")
                    };
                };
                self.blank();
                if self.closes(bracket) {
                    self.at += 1;
                    let next = self.tokens.len();
                    let token = &mut self.tokens[bracket];
                    (token.end, token.next) = (self.at, next);
                    open.pop();
                } else if self.byte() == Some(b',') && self.tokens[bracket].count > 0 {
                    self.at += 1;
                    break;
                } else {
                    let end = if self.tokens[bracket].kind == Kind::Array { ']' } else { '}' };
                    return self.problem(&format!("expected ',' or '{end}'"));
                }
            }
        }
    }

    fn closes(&self, bracket: usize) -> bool {
        let end = if self.tokens[bracket].kind == Kind::Array { b']' } else { b'}' };
        self.byte() == Some(end)
    }

    fn scalar(&mut self) -> Result<(), Problem> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let kind = match self.byte() {
            Some(b'"') => {
                self.at += 1;
                loop {
                    match self.byte() {
                        Some(b'"') => break,
                        Some(b'\\') => self.at += 2,
                        Some(byte) if byte >= b' ' => self.at += 1,
                        Some(_) => return self.problem("a string holds a control character"),
                        None => return self.problem("the text ends inside a string"),
                    }
                }
                self.at += 1;
                Kind::String
            }
            Some(b'-' | b'0'..=b'9') => {
                while matches!(self.byte(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
                    self.at += 1;
                }
                Kind::Number
            }
            Some(_) => {
                let words = [("null", Kind::Null), ("true", Kind::True), ("false", Kind::False)];
                let word = words.into_iter().find(|(word, _)| bytes[start..].starts_with(word.as_bytes()));
                let Some((word, kind)) = word else { return self.problem("expected a value") };
                self.at += word.len();
                kind
            }
            None => return self.problem("the text ends where a value is expected"),
        };
        let next = self.tokens.len() + 1;
        self.tokens.push(Token { kind, start, end: self.at, next, count: 0 });
        Ok(())
    }
}

fn unescape(raw: &str, start: usize) -> Result<String, Problem> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    let problem = |rest: &str| Problem {
        at: start + raw.len() - rest.len(),
        message: "a string has a wrong escape".to_string(),
    };
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at..];
        let short = match escape.as_bytes().get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (c, length) = unicode(escape).ok_or_else(|| problem(escape))?;
                out.push(c);
                rest = &escape[length..];
                continue;
            }
            _ => return Err(problem(escape)),
        };
        out.push(short);
        rest = &escape[2..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of `\u` and its four digits, or of a surrogate pair, and the length of the escape.
fn unicode(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(2)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 6));
    }
    if escape.get(6..8)? != "\\u" || !(0xD800..0xDC00).contains(&first) {
        return None;
    }
    let second = unit(8).filter(|second| (0xDC00..0xE000).contains(second))?;
    let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?;
    Some((c, 12))
}
