//! Line, column and JSON path of a byte offset, found by a scan when a message needs them.

use std::fmt;
use std::ops::Range;

/// A place in a document, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Path of the innermost value that the place is in, for example `functions[0].blocks[2].name`. Empty for the
    /// root.
    pub path: String,
}

enum Step {
    Member(String),
    Element(usize),
}

impl Place {
    /// The place of a byte offset. Works on any bytes; in text that is no JSON the path is a guess.
    pub fn of(text: &[u8], offset: usize) -> Place {
        Places::new(text).of(offset)
    }
}

/// Finds the places of several offsets of one text. Offsets in ascending order cost one pass over the text
/// together.
pub struct Places<'a> {
    text: &'a [u8],
    /// Up to where lines are counted, how many there were, and where the last one starts.
    counted: usize,
    line: usize,
    line_start: usize,
    /// Up to where characters of the line are counted: from there on they do not depend on what is before.
    columns_to: usize,
    columns: usize,
    /// Up to where the structure is scanned; may lie past the offset, after a string.
    at: usize,
    /// One entry for each array or object that is open: the member or element that the scan is in.
    stack: Vec<Option<Step>>,
    last_string: Range<usize>,
}

impl<'a> Places<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Places<'a> {
        Places {
            text,
            counted: 0,
            line: 1,
            line_start: 0,
            columns_to: 0,
            columns: 0,
            at: 0,
            stack: Vec::new(),
            last_string: 0..0,
        }
    }

    /// The place of a byte offset; see [`Place::of`].
    pub fn of(&mut self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        if offset < self.counted {
            *self = Places::new(self.text);
        }
        let passed = &self.text[self.counted..offset];
        self.line += passed.iter().filter(|&&b| b == b'\n').count();
        if let Some(at) = passed.iter().rposition(|&b| b == b'\n') {
            self.line_start = self.counted + at + 1;
        }
        self.counted = offset;
        self.scan(offset);
        Place { line: self.line, column: self.column(offset), path: self.path() }
    }

    /// The column of an offset in the last line that was counted. What was counted of a long line is kept.
    fn column(&mut self, offset: usize) -> usize {
        if self.columns_to < self.line_start {
            (self.columns_to, self.columns) = (self.line_start, 0);
        }
        let characters = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().count();
        let new = &self.text[self.columns_to..offset];
        let (whole, rest) = new.split_at(new.iter().rposition(u8::is_ascii).map_or(0, |at| at + 1));
        self.columns += characters(whole);
        self.columns_to += whole.len();
        self.columns + characters(rest) + 1
    }

    fn scan(&mut self, offset: usize) {
        let text = self.text;
        while self.at < offset {
            match text[self.at] {
                b'"' => {
                    let start = self.at + 1;
                    self.at = start;
                    while self.at < text.len() && text[self.at] != b'"' {
                        self.at += if text[self.at] == b'\\' { 2 } else { 1 };
                    }
                    self.last_string = start..self.at.min(text.len());
                }
                b'{' => self.stack.push(None),
                b'[' => self.stack.push(Some(Step::Element(0))),
                b'}' | b']' => {
                    self.stack.pop();
                }
                b':' => {
                    if let Some(top) = self.stack.last_mut() {
                        let name = String::from_utf8_lossy(&text[self.last_string.clone()]);
                        *top = Some(Step::Member(name.into()));
                    }
                }
                b',' => match self.stack.last_mut() {
                    Some(Some(Step::Element(index))) => *index += 1,
                    Some(member) => *member = None,
                    None => {}
                },
                _ => {}
            }
            self.at += 1;
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.stack.iter().flatten() {
            match step {
                Step::Element(index) => path.push_str(&format!("[{index}]")),
                Step::Member(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
            }
        }
        path
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, ", at {}", self.path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_the_innermost_value() {
        let text = "{\n  \"functions\": [{}, {\"name\": \"é\", \"x\": 7}]\n}";
        let at = text.find('7').unwrap();
        let place = Place::of(text.as_bytes(), at);
        assert_eq!(place.to_string(), "line 2, column 40, at functions[1].x");
        assert_eq!(Place::of(b"", 0).to_string(), "line 1, column 1");
    }

    #[test]
    fn places_in_any_order_equal_places_one_by_one() {
        let text = "{\"a\": [1,\n {\"b\": \"x\\\"y\u{e9}\u{1f980}\u{1f980}\"},\n 3], \"c\": \"";
        let text = &[text.as_bytes(), b"\xf0\x9f\xf0\x9f\xa6", b"\xff\xa0\xa0\"}"].concat()[..];
        let mut ascending = Places::new(text);
        for offset in 0..=text.len() + 3 {
            let place = ascending.of(offset);
            assert_eq!(place, Place::of(text, offset), "offset {offset}");
            let line = &text[..offset.min(text.len())];
            let line = line.rsplit(|&byte| byte == b'\n').next().unwrap();
            assert_eq!(place.column, String::from_utf8_lossy(line).chars().count() + 1, "offset {offset}");
        }
        assert_eq!(ascending.of(3), Place::of(text, 3));
    }
}
