//! The JSON form: every value becomes JSON and comes back as the same bytes.
//!
//! | value | JSON |
//! |---|---|
//! | record | object, members named as in the schema; the members that schema head adds are there or not |
//! | union | `{"ctor": {fields}}`, without fields `"ctor"` |
//! | enum | `"name"` |
//! | Nat, Int, Bool, String, List, Pair | number, number, boolean, string, array, array of two |
//! | Option | value or null |
//! | Float | number; what JSON has not is `"inf"`, `"-inf"`, `"nan"` (7FC00000) or `"nan:BITS"` in hexadecimal |
//! | float of a front-end tree | `{"f32": ...}` or `{"f64": ...}`, by its width on the wire |
//! | Prop | not there |
//! | contents | `{"schema": "core", "lnc": {"kernel": ...}}`; the schema is that of the payload |
//! | contents of an unknown build | `{"unknown": {"lo": 2, "payload": "hexadecimal"}}` |
//! | file | `{"file": {...}, "metadata": {...}, "contents": {...}}` |
//!
//! ```
//! use klr::ir::{Operand, TensorRef};
//! let arena = klr::Arena::new();
//! let operand = Operand::Tile(TensorRef::Reg(3));
//! let json = klr::json::to_string(&operand);
//! assert_eq!(json, r#"{"tile":{"t":{"reg":{"reg":3}}}}"#);
//! assert_eq!(klr::json::from_str::<Operand>(&json, &arena)?, operand);
//! # Ok::<(), klr::json::Error>(())
//! ```

mod read;
mod tape;
mod write;

use std::fmt;
use std::io;

use crate::arena::Arena;
use crate::container::find_type;
use crate::node::{Failed, Node, Tree};
use crate::text::Text;
use read::Reader;
use write::Writer;

/// A text is not JSON, or not the JSON form of the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// Way from the outermost value to the wrong one.
    pub path: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at line {} column {}", self.message, self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        Ok(())
    }
}

/// The value on one line.
#[must_use]
pub fn to_string(value: &dyn Tree<'_>) -> String {
    let mut writer = Writer::new(Text::kept(), false);
    value.emit(&mut writer);
    writer.text.into_string()
}

/// The value indented by two blanks for each level.
#[must_use]
pub fn to_string_pretty(value: &dyn Tree<'_>) -> String {
    let mut writer = Writer::new(Text::kept(), true);
    value.emit(&mut writer);
    writer.text.into_string()
}

/// Writes the value to a stream, on one line or indented; no newline at the end.
///
/// # Errors
/// Those of the stream.
pub fn write(value: &dyn Tree<'_>, stream: &mut dyn io::Write, pretty: bool) -> io::Result<()> {
    let mut writer = Writer::new(Text::to(stream), pretty);
    value.emit(&mut writer);
    writer.text.finish()
}

/// Reads a value of a known type. Members may come in any order; absent ones are absent options.
///
/// # Errors
/// Where the text is not the JSON form of that type.
pub fn from_str<'a, T: Node<'a>>(text: &'a str, arena: &'a Arena) -> Result<T, Error> {
    run(text, arena, |reader| T::read(reader))
}

/// Reads a value of the type that has this name (see [`find_type`]); `File` is a whole file.
///
/// # Errors
/// When there is no such type, and as [`from_str`].
pub fn from_str_type<'a>(name: &str, text: &'a str, arena: &'a Arena) -> Result<&'a dyn Tree<'a>, Error> {
    let entry = find_type(name).ok_or_else(|| Error {
        message: crate::no_such_type(name).kind.to_string(),
        line: 1,
        column: 1,
        path: String::new(),
    })?;
    run(text, arena, |reader| (entry.read)(reader))
}

fn run<'a, V>(
    text: &'a str,
    arena: &'a Arena,
    read: impl FnOnce(&mut Reader<'a>) -> Result<V, Failed>,
) -> Result<V, Error> {
    let tape = tape::Tape::parse(text).map_err(|problem| problem.error(text, String::new()))?;
    let mut reader = Reader::new(tape, arena);
    read(&mut reader).map_err(|Failed| {
        let path = reader.path.to_string();
        let problem = reader.problem.take();
        // Reading never fails without a problem; the fallback is there so that nothing can panic.
        let problem = problem.unwrap_or(tape::Problem { at: 0, message: "not a value".to_string() });
        problem.error(text, path)
    })
}
