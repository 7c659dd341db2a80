//! KLR, the serialized kernel IR that the front end hands to the backend (spec: klr).
//!
//! A `.klr` file holds a version, a metadata record and one payload: a Core kernel ([`ir`]), or the syntax tree of a
//! kernel before tracing ([`nki_0_0_12`], [`nki_head`], [`python_0_0_12`], [`python_head`]), or the name of another
//! file. [`read`] takes a whole file or a bare value of any type, [`encode`] writes the same bytes again, [`json`] is
//! a form to edit, [`print`](mod@print) has forms to look at, [`info`](mod@info) sums a file up and [`lint`](mod@lint)
//! finds what the backend will not take.
//!
//! ```
//! use klr::{Arena, Contents, File, Options};
//!
//! let bytes = klr::encode(&File::new(Contents::call_site("kernel.klr")));
//! let arena = Arena::new();
//! let file = klr::read::<File>(&bytes, &arena, &Options::new())?;
//! assert!(file.notes.is_empty());
//! assert_eq!(file.value.contents.name(), "hlo");
//! assert_eq!(klr::encode(&file.value), bytes);
//! # Ok::<(), klr::Error>(())
//! ```
//!
//! Values borrow: texts from the input, lists and boxed records from an [`Arena`]. They are `Copy`, and making one by
//! hand takes neither:
//!
//! ```
//! use klr::ir::{ExtendedInst, Operator};
//!
//! let record = ExtendedInst {
//!     opcode: 5, has_read: true, has_write: false, ports: 42, data0: &[1, 2], data1: &[3],
//! };
//! let operator = Operator::ExtendedInst(&record);
//! assert_eq!((operator.kind(), operator.wire()), (70, 69));
//! let bytes = klr::encode(&operator);
//! assert_eq!(bytes[..8], [0xD9, 0xDA, 0x45, 0x81, 0xD9, 0xD2, 0x00, 0x86]);
//! assert_eq!(bytes[8..], [0x05, 0xF5, 0xF4, 0x18, 0x2A, 0x82, 0x01, 0x02, 0x81, 0x03]);
//! ```

mod arena;
pub mod cbor;
pub mod checks;
mod container;
mod error;
mod generated;
pub mod info;
pub mod json;
pub mod lint;
mod macros;
pub mod made;
pub mod node;
mod path;
pub mod print;
pub mod sample;
mod text;

pub use arena::Arena;
pub use container::{Contents, File, Select, Selected, Unknown, find_type, frontend_types, types};
pub use error::{Error, ErrorKind, Note, NoteKind};
pub use generated::{ir, nki_0_0_12, nki_head, python_0_0_12, python_head};
pub use node::{Tree, TypeEntry};

use cbor::{Reader, Traced, Writer};
use node::{Failed, Node, Source};

/// A Core schema. They differ in five fields of four records (spec: klr 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// The schema of the studied release.
    V2_24,
    /// The schema of the open repository, 2026-03-25.
    Head,
}

impl Schema {
    /// The one of the two that this is not.
    #[must_use]
    pub fn other(self) -> Schema {
        match self {
            Schema::V2_24 => Schema::Head,
            Schema::Head => Schema::V2_24,
        }
    }
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Schema::V2_24 => "2.24",
            Schema::Head => "head",
        })
    }
}

impl std::str::FromStr for Schema {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "2.24" => Ok(Schema::V2_24),
            "head" => Ok(Schema::Head),
            other => Err(format!("no schema {other:?}; there are 2.24 and head")),
        }
    }
}

/// Which schemas the records of a value need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaUse {
    /// No record shows: both schemas have all of them.
    Either,
    /// One schema.
    Only(Schema),
    /// Some records are of 2.24 and some of head.
    Mixed,
}

impl SchemaUse {
    pub(crate) fn and(self, schema: Schema) -> Self {
        match self {
            SchemaUse::Either => SchemaUse::Only(schema),
            SchemaUse::Only(only) if only == schema => self,
            _ => SchemaUse::Mixed,
        }
    }
}

impl std::fmt::Display for SchemaUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SchemaUse::Either => f.write_str("2.24 or head"),
            SchemaUse::Only(schema) => schema.fmt(f),
            SchemaUse::Mixed => f.write_str("mixed"),
        }
    }
}

/// How to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The Core schema to insist on. `None`: the number of fields decides, for each record by itself.
    pub schema: Option<Schema>,
    /// Accept what the open readers accept, note it, and let the number of fields decide on the schema.
    pub lenient: bool,
    /// Limits.
    pub limits: Limits,
}

/// Limits of reading. They are generous; nothing real comes near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Nested values of types that can contain themselves. A level takes up to 2 KiB of stack in a debug build.
    pub depth: usize,
    /// Bytes of a text. Lenient reading only notes what is longer.
    pub text: usize,
    /// Notes that are kept.
    pub notes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { schema: None, lenient: false, limits: Limits { depth: 1000, text: 65536, notes: 1000 } }
    }
}

impl Options {
    /// Strict reading; the number of fields decides between 2.24 and head.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Insists on a Core schema.
    #[must_use]
    pub fn schema(self, schema: Schema) -> Self {
        Options { schema: Some(schema), ..self }
    }

    /// Accepts what the open readers accept.
    #[must_use]
    pub fn lenient(self, lenient: bool) -> Self {
        Options { lenient, ..self }
    }
}

/// A value that was read.
#[derive(Debug, Clone)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// What was let pass: conditions that do not hold and, when reading was lenient, malformed items.
    pub notes: Vec<Note>,
    /// Which of the Core schemas 2.24 and head the value needs.
    pub schema: SchemaUse,
}

/// Reads a value: a [`File`], or any type of a schema. All of `bytes` must be used.
///
/// # Errors
/// Where the bytes are not such a value, with offset and path.
pub fn read<'a, T: Node<'a>>(bytes: &'a [u8], arena: &'a Arena, options: &Options) -> Result<Read<T>, Error> {
    run(bytes, arena, options, |reader| T::read(reader), |source| T::read(source).map(drop))
}

/// Reads a value of the type that has this name (see [`find_type`]); `File` is a whole file.
///
/// ```
/// let arena = klr::Arena::new();
/// let bytes = [0xD9, 0x6F, 0x05, 0x80];
/// let value = klr::read_type("Dtype", &bytes, &arena, &klr::Options::new())?.value;
/// assert_eq!(klr::print::compat(value), "float32");
/// # Ok::<(), klr::Error>(())
/// ```
///
/// # Errors
/// When there is no such type, and as [`read`].
pub fn read_type<'a>(
    name: &str,
    bytes: &'a [u8],
    arena: &'a Arena,
    options: &Options,
) -> Result<Read<&'a dyn Tree<'a>>, Error> {
    let entry = find_type(name).ok_or_else(|| no_such_type(name))?;
    run(bytes, arena, options, entry.read_cbor, |source| (entry.read)(source).map(drop))
}

pub(crate) fn no_such_type(name: &str) -> Error {
    Error { kind: ErrorKind::NoSuchType(name.to_string()), offset: 0, path: String::new(), reference: None }
}

/// Writes a value as CBOR.
#[must_use]
pub fn encode<'a, T: Node<'a>>(value: &T) -> Vec<u8> {
    let mut writer = Writer::for_one_value(Vec::new());
    value.write(&mut writer);
    writer.into_bytes()
}

/// Writes a value as CBOR at the end of `bytes`. For many values, or a long one again and again, this saves the time
/// that fresh memory takes.
pub fn encode_into<'a, T: Node<'a>>(value: &T, bytes: &mut Vec<u8>) {
    let mut writer = Writer::for_one_value(std::mem::take(bytes));
    value.write(&mut writer);
    *bytes = writer.into_bytes();
}

/// Writes a value of a type known at run time as CBOR.
#[must_use]
pub fn encode_tree(value: &dyn Tree<'_>) -> Vec<u8> {
    let mut writer = Writer::for_one_value(Vec::new());
    value.encode(&mut writer);
    writer.into_bytes()
}

/// Reads fast, and again with paths if anything was noted or wrong.
fn run<'a, V: Copy>(
    bytes: &'a [u8],
    arena: &'a Arena,
    options: &Options,
    fast: impl FnOnce(&mut Reader<'a>) -> Result<V, Failed>,
    slow: impl FnOnce(&mut dyn Source<'a>) -> Result<(), Failed>,
) -> Result<Read<V>, Error> {
    let mut reader = Reader::new(bytes, arena, options);
    let value = fast(&mut reader).and_then(|value| reader.finish().map(|()| value));
    if let Ok(value) = value
        && reader.notes.is_empty()
    {
        return Ok(Read { value, notes: Vec::new(), schema: reader.schema_use() });
    }
    let mut traced = Traced::new(Reader::new(bytes, arena, options));
    let _ = slow(&mut traced).and_then(|()| traced.finish());
    let path = |at: usize| traced.note_paths.get(at).cloned().unwrap_or_default();
    let value = value.map_err(|Failed| {
        let problem = reader.problem.take().or_else(|| traced.reader.problem.take());
        // Reading never fails without a problem; the fallback is there so that nothing can panic.
        problem.map_or_else(
            || Error {
                kind: ErrorKind::Truncated { expected: "value" },
                offset: bytes.len(),
                path: String::new(),
                reference: None,
            },
            |problem| Error {
                kind: problem.kind,
                offset: problem.offset,
                path: traced.path.to_string(),
                reference: problem.reference,
            },
        )
    })?;
    let notes = reader.notes.drain(..).enumerate();
    let notes = notes.map(|(at, (kind, offset))| Note { kind, offset, path: path(at) }).collect();
    Ok(Read { value, notes, schema: reader.schema_use() })
}
