//! What the document has at a place: the object on one line, with the member that matters underlined. Looks at no
//! more text than that object, or the members before an operand.

use memchr::memmem;

/// Characters of an object that are shown.
const SHOWN: usize = 110;

/// Bytes that are looked through for a member.
const LOOKED_AT: usize = 1 << 20;

/// An object on one line.
pub(crate) struct Excerpt {
    /// The object without line breaks and indentation, cut where it is long.
    pub(crate) line: String,
    /// Columns to underline, from 0.
    pub(crate) mark: std::ops::Range<usize>,
}

/// The member of an operand or instruction that a rule is about.
pub(crate) fn key_of(code: &str, message: &str) -> &'static str {
    let lower = message.to_ascii_lowercase();
    match code.split('-').next().unwrap_or_default() {
        "ENG" => "engine",
        "ARCH" => "opcode",
        "SYNC" => "sync_info",
        "DEP" => "dependencies",
        "ALLOC" if lower.contains("bound") => "addr",
        "AP" | "PART" | "PSUM" | "IND" => "ap",
        _ if lower.contains("dtype") || lower.contains(" type ") => "dtype",
        _ if lower.contains("partition") || lower.contains("element") => "ap",
        _ => "name",
    }
}

impl Excerpt {
    /// The object at an offset, with a member of it underlined, or its beginning.
    pub(crate) fn of(text: &[u8], offset: usize, key: &str) -> Option<Excerpt> {
        let end = skip(text, offset)?;
        let object = &text[offset..end];
        let focus = member(text, offset, key).and_then(|value| {
            let after = skip(text, value)?;
            let name = memmem::rfind(&text[offset..value], format!("\"{key}\"").as_bytes())?;
            Some((name, after - offset))
        });
        let (line, map) = compact(object);
        let column = |byte: usize| map.partition_point(|at| *at < byte);
        let mark = focus.map_or(0..1, |(from, to)| column(from)..column(to));
        let chars: Vec<char> = line.chars().collect();
        // Show what is marked, with some context before it.
        let from = if mark.end > SHOWN { mark.start.saturating_sub(30).min(chars.len()) } else { 0 };
        let to = (from + SHOWN).min(chars.len());
        let (lead, tail) = (if from > 0 { "... " } else { "" }, if to < chars.len() { " ..." } else { "" });
        let shown: String = chars[from..to].iter().collect();
        let shift = |at: usize| at.clamp(from, to) - from + lead.len();
        let mark = shift(mark.start)..shift(mark.end).max(shift(mark.start) + 1);
        Some(Excerpt { line: format!("{lead}{shown}{tail}"), mark })
    }
}

/// The text without white space outside of strings, blanks after `:` and `,`; for each character the byte it comes
/// from.
fn compact(text: &[u8]) -> (String, Vec<usize>) {
    let (mut line, mut map) = (String::new(), Vec::new());
    let mut in_string = false;
    let lossy = String::from_utf8_lossy(text);
    let mut escaped = false;
    for (at, c) in lossy.char_indices().take(64 * SHOWN) {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        line.push(if c.is_control() { '\u{fffd}' } else { c });
        map.push(at);
        if !in_string && matches!(c, ':' | ',') {
            line.push(' ');
            map.push(at);
        }
    }
    (line, map)
}

fn white(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The end of the string that starts at `at`.
fn string(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        match text.get(end)? {
            b'"' => return Some(end + 1),
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
}

/// The end of the value that starts at `at`.
fn skip(text: &[u8], at: usize) -> Option<usize> {
    let mut at = white(text, at);
    let limit = at.saturating_add(LOOKED_AT);
    let mut depth = 0usize;
    loop {
        match *text.get(at).filter(|_| at < limit)? {
            b'"' => at = string(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' if depth == 0 => return Some(at),
            _ => at += 1,
        }
        let plain = |b: &u8| !b.is_ascii_whitespace() && !matches!(b, b',' | b'}' | b']' | b':');
        if depth == 0 && !text.get(at).is_some_and(plain) {
            return Some(at);
        }
    }
}

/// Offset of the value of a member of the object at `object`.
pub(crate) fn member(text: &[u8], object: usize, key: &str) -> Option<usize> {
    let mut at = white(text, object);
    let limit = at.saturating_add(LOOKED_AT);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = white(text, at);
        if text.get(at) != Some(&b'"') || at > limit {
            return None;
        }
        let end = string(text, at)?;
        let found = &text[at + 1..end - 1] == key.as_bytes();
        at = white(text, end);
        if text.get(at) != Some(&b':') {
            return None;
        }
        at = white(text, at + 1);
        if found {
            return Some(at);
        }
        at = white(text, skip(text, at)?);
        if text.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

/// Offset of an element of the array at `array`.
pub(crate) fn element(text: &[u8], array: usize, index: usize) -> Option<usize> {
    if text.get(array) != Some(&b'[') {
        return None;
    }
    let mut at = white(text, array + 1);
    for _ in 0..index {
        at = white(text, skip(text, at)?);
        if text.get(at) != Some(&b',') {
            return None;
        }
        at = white(text, at + 1);
    }
    (text.get(at) != Some(&b']')).then_some(at)
}

/// Offset of the first object that has the name: of the member, where the object is not easily found.
pub(crate) fn find_named(text: &[u8], name: &str) -> Option<usize> {
    let quoted = format!("\"{name}\"");
    for at in memmem::find_iter(text, quoted.as_bytes()) {
        let before = text[..at].trim_ascii_end();
        if before.strip_suffix(b":").is_some_and(|before| before.trim_ascii_end().ends_with(b"\"name\"")) {
            return Some(object_around(text, at).unwrap_or(at));
        }
    }
    None
}

/// Offset of the innermost object that holds the key before `at`; members before it must be short.
fn object_around(text: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(1 << 14);
    // A brace from which `name` is a direct member whose value is here.
    text[from..at]
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'{')
        .map(|(brace, _)| from + brace)
        .take(64)
        .find(|brace| member(text, *brace, "name") == Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = r#"{"a": {"name": "x\"y", "ins": [ {"ap": [[1, 2]]} , {"ap":
        [[3,  4]], "dtype": "float32", "name": "é"}], "n": 1}}"#
        .as_bytes();

    #[test]
    fn members_and_elements_are_found_without_a_tree() {
        let object = member(TEXT, 0, "a").unwrap();
        assert_eq!(member(TEXT, object, "ap"), None);
        let list = member(TEXT, object, "ins").unwrap();
        let second = element(TEXT, list, 1).unwrap();
        assert_eq!(element(TEXT, list, 2), None);
        let excerpt = Excerpt::of(TEXT, second, "ap").unwrap();
        assert_eq!(excerpt.line, r#"{"ap": [[3, 4]], "dtype": "float32", "name": "é"}"#);
        assert_eq!(&excerpt.line[excerpt.mark], r#""ap": [[3, 4]]"#);
        assert_eq!(find_named(TEXT, "é"), Some(second));
        assert_eq!(find_named(TEXT, "float32"), None);
    }

    #[test]
    fn text_that_ends_early_gives_nothing() {
        for end in 0..TEXT.len() {
            let text = &TEXT[..end];
            let object = member(text, 0, "a").unwrap_or(0);
            let list = member(text, object, "ins").unwrap_or(0);
            let _ = (element(text, list, 1), Excerpt::of(text, object, "ap"), find_named(text, "é"));
        }
    }

    #[test]
    fn a_long_object_is_cut_around_the_mark() {
        let text = format!(r#"{{"a": "{}", "ap": [[1, 2]], "z": "{}"}}"#, "q".repeat(300), "r".repeat(300));
        let excerpt = Excerpt::of(text.as_bytes(), 0, "ap").unwrap();
        assert!(excerpt.line.starts_with("... ") && excerpt.line.ends_with(" ..."));
        assert_eq!(&excerpt.line[excerpt.mark], r#""ap": [[1, 2]]"#);
    }
}
