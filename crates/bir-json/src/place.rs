//! Line, column and JSON path of a byte offset, found by a scan when a message needs them.

use std::fmt;

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
        let offset = offset.min(text.len());
        let before = &text[..offset];
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Place { line, column, path: path(text, offset) }
    }
}

fn path(text: &[u8], offset: usize) -> String {
    // One entry for each array or object that is open: the member or element that the scan is in.
    let mut stack: Vec<Option<Step>> = Vec::new();
    let mut last_string = 0..0;
    let mut at = 0;
    while at < offset {
        match text[at] {
            b'"' => {
                let start = at + 1;
                at = start;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                last_string = start..at.min(text.len());
            }
            b'{' => stack.push(None),
            b'[' => stack.push(Some(Step::Element(0))),
            b'}' | b']' => {
                stack.pop();
            }
            b':' => {
                if let Some(top) = stack.last_mut() {
                    *top = Some(Step::Member(String::from_utf8_lossy(&text[last_string.clone()]).into()));
                }
            }
            b',' => match stack.last_mut() {
                Some(Some(Step::Element(index))) => *index += 1,
                Some(member) => *member = None,
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for step in stack.iter().flatten() {
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
}
