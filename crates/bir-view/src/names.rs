//! Names as people type them: patterns, the nearest of some names, and what debug records say.

use bir::{DebugInfo, Members, Module, Value};

/// Whether a name fits a pattern: `*` stands for any characters, `?` for one, everything else for itself.
///
/// ```
/// use bir_view::names::glob;
/// assert!(glob("mm*_0", "mm1_2_0") && glob("mm?", "mm1") && !glob("mm?", "mm12"));
/// ```
pub fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it takes.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether a name is a pattern.
pub fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Those names that are nearest to another, nearest first: few edits away, case apart.
///
/// ```
/// let names = ["Pool", "Activation", "PE"];
/// assert_eq!(bir_view::names::nearest("pol", names, 1), ["Pool"]);
/// assert!(bir_view::names::nearest("xyz", names, 1).is_empty());
/// ```
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let lower: Vec<char> = wanted.to_lowercase().chars().collect();
    let limit = (lower.len() / 3).max(usize::from(lower.len() > 2));
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let bound = match found.last() {
            Some((worst, _)) if found.len() >= most => worst.saturating_sub(1),
            _ => limit,
        };
        let Some(edits) = edits(&lower, name, bound.min(limit)) else { continue };
        let at = found.partition_point(|(other, _)| *other <= edits);
        if found.iter().all(|(_, other)| *other != name) {
            found.insert(at, (edits, name));
            found.truncate(most);
        }
        if found.len() >= most && found.last().is_some_and(|(worst, _)| *worst == 0) {
            break;
        }
    }
    found.into_iter().map(|(_, name)| name).collect()
}

/// Edits from one text to another, when there are at most `limit`.
fn edits(from: &[char], to: &str, limit: usize) -> Option<usize> {
    // Names are mostly ASCII: bytes tell the length at once.
    if to.len() > from.len().saturating_mul(4) + limit || to.chars().count().abs_diff(from.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (i, c) in to.to_lowercase().chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, other) in from.iter().enumerate() {
            let replaced = corner + usize::from(c != *other);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
        if row.iter().min().is_some_and(|least| *least > limit) {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= limit)
}

/// A debug record as one value.
pub(crate) fn debug_value(module: &Module, debug: &DebugInfo) -> Value {
    let Value::Object(rest) = &debug.rest else { return debug.rest.clone() };
    let mut members: Members = rest.clone();
    if let Some(line) = debug.lineno {
        members.insert("lineno", line.into());
    }
    if let Some(name) = debug.op_name {
        members.insert("op_name", module.str(name).into());
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_take_any_part() {
        for (pattern, name, fits) in [
            ("", "", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**x", "x", true),
            ("?", "é", true),
            ("a", "ab", false),
            ("I-1*", "I-12", true),
        ] {
            assert_eq!(glob(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn the_nearest_name_comes_first() {
        let names = ["load_x0_1", "load_x0_2", "store0", "LOAD_X0_10"];
        assert_eq!(nearest("load_x0_11", names, 2), ["load_x0_1", "LOAD_X0_10"]);
        assert_eq!(nearest("zzzzzz", names, 2), Vec::<&str>::new());
    }
}
