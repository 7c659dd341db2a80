//! What can be wrong with a KLR file, and what was let pass.

use std::fmt;

use crate::checks::Condition;
use crate::container::{Module, Select};
use crate::node::TypeInfo;

/// Reading failed.
///
/// ```
/// let arena = klr::Arena::new();
/// let cut = [0xD9, 0x70, 0x00, 0x82, 0x05];
/// let error = klr::read::<klr::ir::Shape>(&cut, &arena, &klr::Options::new()).unwrap_err();
/// assert_eq!(error.to_string(), "the input ends where a list is expected, at byte 5 in freeDims");
/// assert_eq!(error.reference.as_deref(), Some("expecting List"));
/// assert!(error.is_truncated());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Byte of the input at which the wrong item starts, or at which the input ends.
    pub offset: usize,
    /// Way from the outermost value to the wrong one; empty for the outermost.
    pub path: String,
    /// What the open C++ reader says; `None` where it accepts (spec: klr 5).
    pub reference: Option<String>,
}

impl Error {
    /// Whether the input ends too early. In a file of the public 0.0.12 tool that is a crash of its writer, not a
    /// fault of transfer (spec: klr 13.5).
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.kind, self.offset)?;
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        Ok(())
    }
}

/// What is wrong with the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends inside a value.
    Truncated {
        /// What was due: a type of the schema or a primitive.
        expected: &'static str,
    },
    /// The item is no tagged array with at most 23 fields.
    NoTag {
        /// The type that was due.
        ty: &'static TypeInfo,
        /// The first byte that does not fit.
        found: u8,
    },
    /// The item is a value of another type or form.
    WrongType {
        /// The type that was due.
        ty: &'static TypeInfo,
        /// Tag, constructor byte and number of fields found.
        found: (u8, u8, u8),
    },
    /// The item has fields that only the other schema gives its type.
    WrongSchema {
        /// The type.
        ty: &'static TypeInfo,
        /// The schema that was asked for.
        schema: crate::Schema,
        /// Number of fields found.
        arity: u8,
    },
    /// The item is no such primitive, list or option.
    Unexpected {
        /// What was due.
        expected: &'static str,
        /// The first byte that does not fit.
        found: u8,
    },
    /// A number or a length is not in its shortest form, or the head of an array takes two bytes.
    NotShortest,
    /// An integer does not fit 64 bits with sign.
    IntegerRange,
    /// A text is longer than the limit.
    TextTooLong {
        /// Its length in bytes.
        length: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A text is not UTF-8.
    NotUtf8,
    /// The frame of an option is not one of `D9 FF 00 80` and `D9 FF 01 81`.
    OptionFrame,
    /// Bytes follow the value.
    Trailing {
        /// Their number.
        bytes: usize,
    },
    /// Values are nested too deeply.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The contents of the file are of no known kind, or were written by an unknown build.
    UnknownContents {
        /// Constructor byte.
        lo: u8,
        /// Tag and number of fields of the payload, if it is tagged.
        payload: Option<(u8, u8)>,
    },
    /// There is no type of this name.
    NoSuchType(String),
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Truncated { expected } => {
                write!(f, "the input ends where {} is expected", with_article(expected))
            }
            ErrorKind::NoTag { ty, found } => {
                write!(f, "expected {} (tag {}), found byte {found:02X}", ty.name, ty.tag.unwrap_or(0))
            }
            ErrorKind::WrongType { ty, found: (tag, lo, arity) } => {
                let name = ty.name;
                let expected = ty.tag.unwrap_or(0);
                if *tag != expected {
                    write!(f, "expected {name} (tag {expected}), found tag {tag}")
                } else if let Some(ctor) = ty.ctors.get(usize::from(lo.wrapping_sub(ty.lo))) {
                    write!(f, "{} has {} fields, found {arity}", ctor_name(ty, ctor.name), ctor.arity)
                } else {
                    write!(f, "{name} has no constructor {lo}")
                }
            }
            ErrorKind::WrongSchema { ty, schema, arity } => {
                let other = schema.other();
                write!(f, "{} with {arity} fields is of schema {other}, not {schema}", ty.name)
            }
            ErrorKind::Unexpected { expected, found } => {
                write!(f, "expected {}, found byte {found:02X}", with_article(expected))
            }
            ErrorKind::NotShortest => f.write_str("a number or length is not in its shortest form"),
            ErrorKind::IntegerRange => f.write_str("an integer does not fit 64 bits"),
            ErrorKind::TextTooLong { length, limit } => {
                write!(f, "a string has {length} bytes, the limit is {limit}")
            }
            ErrorKind::NotUtf8 => f.write_str("a string is not UTF-8"),
            ErrorKind::OptionFrame => f.write_str("the frame of an option is malformed"),
            ErrorKind::Trailing { bytes } => write!(f, "{bytes} bytes follow the value"),
            ErrorKind::TooDeep { limit } => write!(f, "values are nested more than {limit} deep"),
            ErrorKind::UnknownContents { lo, payload: Some((tag, arity)) } => write!(
                f,
                "contents {lo} with a payload of tag {tag} and {arity} fields were written by an unknown build"
            ),
            ErrorKind::UnknownContents { lo, payload: None } => {
                write!(f, "contents {lo} with an untagged payload are unknown")
            }
            ErrorKind::NoSuchType(name) => write!(f, "the schema has no type {name:?}"),
        }
    }
}

fn ctor_name(ty: &TypeInfo, ctor: &str) -> String {
    if ty.name == ctor { ctor.to_string() } else { format!("{}.{ctor}", ty.name) }
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// Something the reader let pass and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is.
    pub kind: NoteKind,
    /// Byte of the input at which it stands.
    pub offset: usize,
    /// Way from the outermost value to it.
    pub path: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.kind, self.offset)?;
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        Ok(())
    }
}

/// What the reader let pass. The first group is reported by strict reading too (spec: klr 3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// A record breaks a condition that the producer's own reader checks.
    Condition(Condition),
    /// A natural number does not fit 32 bits: the 2.24 consumer keeps the low ones.
    WideNat(u64),
    /// An integer does not fit 32 bits with sign: the 2.24 consumer keeps the low ones.
    WideInt(i64),
    /// A text holds a NUL: the 2.24 consumer keeps only what is before it.
    Nul,
    /// The contents were numbered by a build of July or August 2025 (spec: klr 13.7), or a Core kernel is labelled as a
    /// front-end tree (spec: klr 4).
    OddContents(&'static Select),
    /// Both schemas 2.24 and head occur.
    MixedSchemas,

    /// Lenient: a number or length was not in its shortest form.
    NotShortest,
    /// Lenient: the head of an array of fields took two bytes.
    LongArity,
    /// Lenient: a text was longer than the limit.
    LongText(u64),
    /// Lenient: a text was not UTF-8; what is not was replaced.
    NotUtf8,
    /// Lenient: the frame of an option announced a wrong number of fields.
    OptionArity,
    /// Lenient: two empty arrays stood for the proofs of a tensor name, as the C++ writer puts them.
    PropArrays,
    /// Lenient: bytes follow the value.
    Trailing(usize),
    /// Lenient: the contents are of an unknown build and kept as bytes.
    UnknownContents(u8),
    /// There are more notes than the limit; this is how many are not listed.
    More(usize),
}

impl NoteKind {
    /// Whether strict reading would have refused it.
    #[must_use]
    pub fn is_lenient(&self) -> bool {
        matches!(
            self,
            NoteKind::NotShortest
                | NoteKind::LongArity
                | NoteKind::LongText(_)
                | NoteKind::NotUtf8
                | NoteKind::OptionArity
                | NoteKind::PropArrays
                | NoteKind::Trailing(_)
                | NoteKind::UnknownContents(_)
        )
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteKind::Condition(condition) => condition.fmt(f),
            NoteKind::WideNat(value) => write!(f, "{value} does not fit 32 bits"),
            NoteKind::WideInt(value) => write!(f, "{value} does not fit 32 bits"),
            NoteKind::Nul => f.write_str("a string holds a NUL"),
            NoteKind::OddContents(row) if row.module == Module::Hlo => {
                f.write_str("contents are numbered as in builds of July and August 2025")
            }
            NoteKind::OddContents(row) => write!(f, "contents {} hold a Core kernel", row.contents),
            NoteKind::MixedSchemas => f.write_str("records of schemas 2.24 and head are mixed"),
            NoteKind::NotShortest => f.write_str("a number or length is not in its shortest form"),
            NoteKind::LongArity => f.write_str("the number of fields takes two bytes"),
            NoteKind::LongText(length) => write!(f, "a string has {length} bytes"),
            NoteKind::NotUtf8 => f.write_str("a string is not UTF-8; the wrong bytes were replaced"),
            NoteKind::OptionArity => f.write_str("an option announces a wrong number of fields"),
            NoteKind::PropArrays => f.write_str("two empty arrays stand where proofs take no bytes"),
            NoteKind::Trailing(bytes) => write!(f, "{bytes} bytes follow the value"),
            NoteKind::UnknownContents(lo) => write!(f, "contents {lo} of an unknown build are kept as bytes"),
            NoteKind::More(count) => write!(f, "{count} more notes are not listed"),
        }
    }
}
