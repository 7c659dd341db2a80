//! The file: version, metadata and contents, and which payload the contents have (spec: klr 4, 13.2).

pub(crate) use crate::generated::select::{CONTENTS, CONTENTS_TAG, FILE_VERSION, FORMATS, SELECT};
use crate::ir::{KLRFile, KLRMetaData, Kernel, LncKernel};
use crate::macros::record;
use crate::node::{Failed, Node, Sink, Source, TypeEntry, TypeInfo, Typed, read_tree};
use crate::{ir, nki_0_0_12, nki_head, python_0_0_12, python_head};

record! {
    /// A whole `.klr` file: three values in a row.
    File<'a> = "File", tag None, lo 0, arity 3, min 17 {
        header: KLRFile = "file",
        metadata: KLRMetaData<'a> = "metadata",
        contents: Contents<'a> = "contents",
    }
}

impl<'a> File<'a> {
    /// A file as the Lean writer makes it: version 0.0.12, format `NKI`.
    #[must_use]
    pub fn new(contents: Contents<'a>) -> Self {
        let [major, minor, patch] = FILE_VERSION;
        File { header: KLRFile { major, minor, patch }, metadata: KLRMetaData { format: "NKI" }, contents }
    }
}

/// The contents of a file. Core kernels are those of [`ir`]; front-end trees have one module for each version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents<'a> {
    /// A Core kernel for one core.
    Kernel(&'a Kernel<'a>),
    /// A Core kernel with a body for each core.
    Lnc(&'a LncKernel<'a>),
    /// The functions as parsed, schema 0.0.12.
    Python0_0_12(&'a python_0_0_12::Kernel<'a>),
    /// The functions as parsed, schema head.
    PythonHead(&'a python_head::Kernel<'a>),
    /// The simplified functions, schema 0.0.12.
    Nki0_0_12(&'a nki_0_0_12::Kernel<'a>),
    /// The simplified functions, schema head.
    NkiHead(&'a nki_head::Kernel<'a>),
    /// A call site: the name of the `.klr` file.
    Hlo {
        /// The name.
        name: &'a str,
        /// The row for the build that wrote it: the constructor byte differs.
        row: &'static Select,
    },
    /// A Core kernel for one core under the name of a front-end tree, as the open C++ writer labels it.
    Mislabelled {
        /// The kernel.
        kernel: &'a Kernel<'a>,
        /// The row for the label.
        row: &'static Select,
    },
    /// Written by an unknown build.
    Unknown(Unknown<'a>),
}

impl Contents<'_> {
    /// `python`, `nki`, `kernel`, `lnc`, `hlo` or `unknown`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row().map_or("unknown", |row| row.contents)
    }

    /// The schema of the payload: `core`, `0.0.12`, `head`, or for an old call site `2025-07-22`.
    #[must_use]
    pub fn schema(&self) -> Option<&'static str> {
        self.row().map(|row| row.schema)
    }

    /// The row of the table that goes with the payload.
    #[must_use]
    pub fn row(&self) -> Option<&'static Select> {
        let module = match self {
            Contents::Kernel(_) => Module::Kernel,
            Contents::Lnc(_) => Module::Lnc,
            Contents::Python0_0_12(_) => Module::Python0_0_12,
            Contents::PythonHead(_) => Module::PythonHead,
            Contents::Nki0_0_12(_) => Module::Nki0_0_12,
            Contents::NkiHead(_) => Module::NkiHead,
            Contents::Hlo { row, .. } | Contents::Mislabelled { row, .. } => return Some(row),
            Contents::Unknown(_) => return None,
        };
        SELECT.iter().find(|row| row.module == module)
    }

    /// A call site as schema head and 2.24 number it.
    #[must_use]
    pub fn call_site(name: &str) -> Contents<'_> {
        let row = SELECT.iter().rfind(|row| row.module == Module::Hlo);
        Contents::Hlo { name, row: row.expect("the table has call sites") }
    }
}

/// Contents that no row of the table matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown<'a> {
    /// Constructor byte.
    pub lo: u8,
    /// The rest of the file.
    pub payload: &'a [u8],
}

/// How the contents of a file are recognised: constructor byte and first bytes of the payload.
#[derive(Debug, PartialEq, Eq)]
pub struct Select {
    /// Constructor byte of `Contents`.
    pub lo: u8,
    pub(crate) peek: Peek,
    /// Constructor name.
    pub contents: &'static str,
    /// Schema of the payload.
    pub schema: &'static str,
    pub(crate) module: Module,
    /// Worth a note: written by a build of July or August 2025, or labelled wrongly.
    pub diagnose: bool,
}

/// First bytes of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peek {
    Bytes([u8; 4]),
    Text,
}

/// What decodes a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    Kernel,
    Lnc,
    Hlo,
    Python0_0_12,
    PythonHead,
    Nki0_0_12,
    NkiHead,
    Mislabelled,
}

/// What a source found in the place of the contents.
#[derive(Debug)]
pub enum Selected<'a> {
    /// A payload of a known kind; it comes next.
    Row(&'static Select),
    /// Another payload, whole.
    Unknown(Unknown<'a>),
}

impl<'a> Node<'a> for Contents<'a> {
    const MIN: usize = 5;

    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        let row = match source.select()? {
            Selected::Row(row) => row,
            Selected::Unknown(unknown) => {
                source.close()?;
                return Ok(Contents::Unknown(unknown));
            }
        };
        source.field(if row.module == Module::Hlo { "name" } else { "kernel" })?;
        let contents = match row.module {
            Module::Kernel => Contents::Kernel(Node::read(source)?),
            Module::Lnc => Contents::Lnc(Node::read(source)?),
            Module::Hlo => Contents::Hlo { name: source.text()?, row },
            Module::Python0_0_12 => Contents::Python0_0_12(Node::read(source)?),
            Module::PythonHead => Contents::PythonHead(Node::read(source)?),
            Module::Nki0_0_12 => Contents::Nki0_0_12(Node::read(source)?),
            Module::NkiHead => Contents::NkiHead(Node::read(source)?),
            Module::Mislabelled => Contents::Mislabelled { kernel: Node::read(source)?, row },
        };
        source.close()?;
        Ok(contents)
    }

    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        let Some(row) = self.row() else {
            if let Contents::Unknown(unknown) = self {
                sink.unknown(unknown);
            }
            return;
        };
        sink.select(row);
        sink.field(if row.module == Module::Hlo { "name" } else { "kernel" });
        match self {
            Contents::Kernel(kernel) => kernel.write(sink),
            Contents::Lnc(kernel) => kernel.write(sink),
            Contents::Python0_0_12(kernel) => kernel.write(sink),
            Contents::PythonHead(kernel) => kernel.write(sink),
            Contents::Nki0_0_12(kernel) => kernel.write(sink),
            Contents::NkiHead(kernel) => kernel.write(sink),
            Contents::Mislabelled { kernel, .. } => kernel.write(sink),
            Contents::Hlo { name, .. } => sink.text(name),
            Contents::Unknown(_) => {}
        }
        sink.close();
    }
}

impl<'a> Typed<'a> for Contents<'a> {
    const INFO: &'static TypeInfo = &CONTENTS;
}

/// Types that no generated module has.
static CONTAINER_TYPES: &[TypeEntry] = &[
    TypeEntry {
        info: Contents::INFO,
        read_cbor: |source| read_tree::<Contents<'_>, _>(source),
        read: |source| read_tree::<Contents<'_>, _>(source),
    },
    TypeEntry {
        info: File::INFO,
        read_cbor: |source| read_tree::<File<'_>, _>(source),
        read: |source| read_tree::<File<'_>, _>(source),
    },
];

/// All types that can be read by name: those of the Core schema, `Contents`, and `File` for a whole file.
pub fn types() -> impl Iterator<Item = &'static TypeEntry> {
    ir::TYPES.iter().chain(CONTAINER_TYPES)
}

/// The types of all front-end trees with the name of their schema, `0.0.12` or `head`.
pub fn frontend_types() -> impl Iterator<Item = (&'static str, &'static TypeEntry)> {
    let old = nki_0_0_12::TYPES.iter().chain(python_0_0_12::TYPES).map(|entry| ("0.0.12", entry));
    let head = nki_head::TYPES.iter().chain(python_head::TYPES).map(|entry| ("head", entry));
    old.chain(head)
}

/// Finds a type by its name: `Operator`, or for a front-end tree `NKI.Stmt@0.0.12` or `Python.Expr@head`. The letter
/// case counts.
#[must_use]
pub fn find_type(name: &str) -> Option<&'static TypeEntry> {
    match name.split_once('@') {
        None => types().find(|entry| entry.info.name == name),
        Some((name, schema)) => frontend_types()
            .find(|(found, entry)| *found == schema && entry.info.name == name)
            .map(|(_, entry)| entry),
    }
}
