//! Free-form values: reading into a [`Value`] tree, and writing.

use bir::{Members, Value};

use crate::error::{ReadError, Result};
use crate::lexer::Lexer;
use crate::number::Number;
use crate::read::Reader;
use crate::write::{Out, Style};

/// Reads one JSON value as the reference's JSON library does: the last of equal keys stays, integers are
/// unsigned or signed 64-bit, larger ones become doubles. spec: bir-json 14
///
/// # Errors
/// Anything that is not exactly one JSON text, and nesting past [`MAX_DEPTH`](crate::MAX_DEPTH).
///
/// ```
/// let value = bir_json::parse_value(br#"{"b": 1, "a": [0.1, 1e400], "b": 2}"#);
/// assert!(value.is_err(), "a number that overflows is refused");
/// let value = bir_json::parse_value(br#"{"b": 1, "a": [0.1], "b": 2}"#).unwrap();
/// assert_eq!(bir_json::value_to_string(&value), r#"{"a":[0.1],"b":2}"#);
/// ```
pub fn parse_value(text: &[u8]) -> Result<Value, ReadError> {
    let parse = || {
        let mut lexer = Lexer::new(crate::read::utf8(text)?);
        let value = read_value(&mut lexer, &mut false)?;
        lexer.end()?;
        Ok(value)
    };
    parse().map_err(|error: Box<ReadError>| *error)
}

/// Writes a value without white space.
pub fn value_to_string(value: &Value) -> String {
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Style::Compact);
    write_value(&mut out, value);
    out.finish().expect("writing to memory does not fail");
    String::from_utf8(text).expect("the writer gives UTF-8")
}

/// Reads a value; `duplicate` is set when an object has a key twice.
pub(crate) fn read_value(lexer: &mut Lexer<'_>, duplicate: &mut bool) -> Result<Value> {
    Ok(match lexer.peek() {
        b'{' => {
            lexer.enter()?;
            let mut members = Members::new();
            if !lexer.take(b'}') {
                loop {
                    let key = lexer.key()?;
                    let value = read_value(lexer, duplicate)?;
                    members.push(&key, value);
                    if !lexer.next_member()? {
                        break;
                    }
                }
            }
            lexer.leave();
            *duplicate |= members.sort();
            Value::Object(members)
        }
        b'[' => {
            lexer.enter()?;
            let mut list = Vec::new();
            if !lexer.take(b']') {
                loop {
                    list.push(read_value(lexer, duplicate)?);
                    if !lexer.next_element()? {
                        break;
                    }
                }
            }
            lexer.leave();
            list.shrink_to_fit();
            Value::List(list)
        }
        b'"' => Value::Str(lexer.string()?.into()),
        b't' => lexer.literal("true").map(|()| Value::Bool(true))?,
        b'f' => lexer.literal("false").map(|()| Value::Bool(false))?,
        b'n' => lexer.literal("null").map(|()| Value::Null)?,
        b'-' | b'0'..=b'9' => match lexer.number()? {
            Number::Unsigned(v) => Value::Uint(v),
            Number::Signed(v) => Value::Int(v),
            Number::Float(v) => Value::Float(v),
        },
        _ => return lexer.syntax("expected a value"),
    })
}

impl Reader<'_> {
    /// Reads a free-form value.
    pub(crate) fn value(&mut self) -> Result<Value> {
        let Reader { lexer, again, .. } = self;
        read_value(lexer, again)
    }
}

pub(crate) fn write_value(out: &mut Out<'_>, value: &Value) {
    match value {
        Value::Null => out.raw(b"null"),
        Value::Bool(true) => out.raw(b"true"),
        Value::Bool(false) => out.raw(b"false"),
        Value::Uint(v) => out.unsigned(*v),
        Value::Int(v) => out.signed(*v),
        Value::Float(v) => out.float(*v),
        Value::Str(text) => out.string(text),
        Value::List(list) => out.array(list.iter(), write_value),
        Value::Object(members) => {
            out.open(b'{');
            for (i, (key, value)) in members.iter().enumerate() {
                out.separate(i == 0);
                out.string(key);
                out.colon();
                write_value(out, value);
            }
            out.close(b'}', members.is_empty());
        }
    }
}
