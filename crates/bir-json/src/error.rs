//! Errors of reading, with the place they occurred at.

use std::fmt;

use thiserror::Error;

use crate::place::Place;

/// Why a document cannot be read.
#[derive(Debug, Error)]
#[error("{kind}")]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// Where: byte offset in the text.
    pub offset: usize,
}

pub(crate) type Result<T, E = Box<ReadError>> = std::result::Result<T, E>;

/// What is wrong with a document.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text is not JSON.
    #[error("{0}")]
    Syntax(&'static str),
    /// The text is not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// A number that a double cannot hold.
    #[error("number overflow: the value does not fit a double")]
    NumberOverflow,
    /// A value has another JSON type than its key wants.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What the key wants.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A number does not fit the type of its key.
    #[error("number out of range: expected {expected}")]
    OutOfRange {
        /// What the key wants.
        expected: &'static str,
    },
    /// A key without which the record has no meaning.
    #[error("missing key `{0}`")]
    MissingKey(&'static str),
    /// A name that stands for nothing that the reader knows, where no other name can be carried.
    #[error("{what}: `{name}`")]
    UnknownName {
        /// What kind of name, in the reference's words where it has some.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A reference to an object that does not exist.
    #[error("{vendor} (no {what} is called `{name}`)")]
    Unresolved {
        /// What kind of object.
        what: &'static str,
        /// The reference's words for it.
        vendor: &'static str,
        /// The name.
        name: String,
    },
    /// The version of the document does not say how an expression is encoded. spec: bir-json 12
    #[error("Check the version of bir json file - should be 1 (old) or 2 (new), found {0}")]
    Version(u32),
    /// A rule of the format is broken.
    #[error("{0}")]
    Invalid(String),
    /// A limit of the reader is exceeded.
    #[error("{what} exceed the limit of {limit}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
    /// In strict reading, something that is otherwise only reported.
    #[error("{0}")]
    Strict(String),
}

impl ReadErrorKind {
    pub(crate) fn at(self, offset: usize) -> Box<ReadError> {
        Box::new(ReadError { kind: self, offset })
    }

    /// Whether the text is not JSON at all, as opposed to JSON that is no module.
    pub fn is_syntax(&self) -> bool {
        matches!(self, ReadErrorKind::Syntax(_) | ReadErrorKind::Utf8 | ReadErrorKind::NumberOverflow)
    }
}

impl ReadError {
    /// Line, column and JSON path of the error in the text that was read.
    pub fn place(&self, text: &[u8]) -> Place {
        Place::of(text, self.offset)
    }

    /// The error with its place, as one line: `line 3, column 7, at functions[0].name: ...`.
    pub fn located(&self, text: &[u8]) -> impl fmt::Display + use<> {
        format!("{}: {}", self.place(text), self.kind)
    }
}
