//! Keys that stand twice in one object: the last one counts, as in the reference's JSON library. spec: bir-json 14
//!
//! An object that does not count may hold functions, blocks and edges, so it must not be read at all. Duplicates are
//! rare: a document that has some is read once more, from a text in which the members that do not count are blank.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Result;
use crate::lexer::Lexer;

/// The duplicate keys of a text.
#[derive(Default)]
pub(super) struct Duplicates<'a> {
    /// Members that a later one of the same object replaces, with the comma after them.
    replaced: Vec<Range<usize>>,
    /// Keys that the object has already, with their offset.
    repeated: Vec<(usize, Cow<'a, str>)>,
}

/// An array (without members) or object that is open.
struct Open<'a> {
    is_object: bool,
    members: Vec<(Cow<'a, str>, usize)>,
}

impl<'a> Duplicates<'a> {
    /// Finds all of them.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub(super) fn find(text: &'a str) -> Result<Duplicates<'a>> {
        let mut found = Duplicates::default();
        let mut lexer = Lexer::new(text);
        let mut stack: Vec<Open<'a>> = Vec::new();
        loop {
            // A value starts here.
            let bracket = lexer.peek();
            let is_object = bracket == b'{';
            let is_empty = if is_object || bracket == b'[' {
                lexer.enter()?;
                stack.push(Open { is_object, members: Vec::new() });
                lexer.take(if is_object { b'}' } else { b']' })
            } else {
                lexer.skip_value()?;
                false
            };
            // After a value, or in what was just opened: close what ends here, up to the next value.
            let mut closed = is_empty;
            let mut opened = (is_object || bracket == b'[') && !is_empty;
            loop {
                if closed {
                    lexer.leave();
                    found.check(stack.pop().expect("it was opened").members);
                }
                let Some(top) = stack.last_mut() else { return lexer.end().map(|()| found) };
                if !opened {
                    let more = if top.is_object { lexer.next_member()? } else { lexer.next_element()? };
                    if !more {
                        closed = true;
                        continue;
                    }
                }
                if top.is_object {
                    lexer.peek();
                    let at = lexer.pos();
                    top.members.push((lexer.key()?, at));
                }
                opened = false;
                break;
            }
            debug_assert!(!opened);
        }
    }

    /// Looks for keys that are equal among the members of an object.
    fn check(&mut self, mut members: Vec<(Cow<'a, str>, usize)>) {
        if members.len() < 2 {
            return;
        }
        let ends: Vec<usize> = members.iter().skip(1).map(|(_, at)| *at).collect();
        let mut order: Vec<usize> = (0..members.len()).collect();
        // Stable, so equal keys stay in document order.
        order.sort_by(|a, b| members[*a].0.cmp(&members[*b].0));
        for pair in order.windows(2) {
            if members[pair[0]].0 == members[pair[1]].0 {
                self.replaced.push(members[pair[0]].1..ends[pair[0]]);
                let at = members[pair[1]].1;
                self.repeated.push((at, std::mem::take(&mut members[pair[0]].0)));
                members[pair[0]].0 = self.repeated.last().expect("it was pushed").1.clone();
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replaced.is_empty()
    }

    /// The text with blanks where a member stands that does not count; all other offsets stay.
    pub(super) fn blank<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        // Members lie in each other, never across.
        let mut replaced: Vec<&Range<usize>> = self.replaced.iter().collect();
        replaced.sort_by_key(|range| range.start);
        let mut blanked = String::with_capacity(text.len());
        for range in replaced {
            if range.start >= blanked.len() {
                blanked.push_str(&text[blanked.len()..range.start]);
                blanked.extend(std::iter::repeat_n(' ', range.len()));
            }
        }
        blanked.push_str(&text[blanked.len()..]);
        Cow::Owned(blanked)
    }

    /// The keys that stand again, in document order.
    pub(super) fn repeated(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut repeated: Vec<_> = self.repeated.iter().map(|(at, key)| (*at, &**key)).collect();
        repeated.sort_by_key(|(at, _)| *at);
        repeated.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_stays() {
        let text = r#"{"a": 1, "b": [{"x": 1, "x": {"x": 2}}, {}, []], "a": 3, "\u0061" : 4}"#;
        let found = Duplicates::find(text).unwrap();
        let blanked = found.blank(text);
        assert_eq!(blanked.len(), text.len());
        let dense: String = blanked.chars().filter(|c| *c != ' ').collect();
        assert_eq!(dense, r#"{"b":[{"x":{"x":2}},{},[]],"\u0061":4}"#);
        let keys: Vec<_> = found.repeated().collect();
        assert_eq!(keys, [(24, "x"), (49, "a"), (57, "a")]);
    }

    #[test]
    fn a_text_without_duplicates_stays() {
        for text in ["7", "[]", "{}", r#"[{"a": {"a": [1, {}]}}, 2]"#, r#" {"": "", " ": []} "#] {
            let found = Duplicates::find(text).unwrap();
            assert!(found.is_empty() && matches!(found.blank(text), Cow::Borrowed(_)), "{text}");
        }
        for text in ["", "[", "[1", "{", "{}}", "[1 2]", "{\"a\" 1}", "{\"a\": 1 \"b\"}"] {
            assert!(Duplicates::find(text).is_err(), "{text}");
        }
    }
}
