//! What a file holds, summed up.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::container::{Contents, File};
use crate::ir::{Block, Kernel, LncKernel, Operator, Stmt, TensorName};
use crate::node::Typed;
use crate::print::python;
use crate::{Read, SchemaUse};

/// The summary of a file. [`Display`](fmt::Display) gives a text, serializing it a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Info {
    /// Major, minor and patch number of the file format.
    pub version: [u64; 3],
    /// Format in the metadata.
    pub format: String,
    /// `python`, `nki`, `kernel`, `lnc`, `hlo` or `unknown`.
    pub contents: String,
    /// Schema of the payload: `2.24`, `head`, `2.24 or head`, `mixed` for Core kernels; `0.0.12`, `head` for front-end
    /// trees; for a call site that of its numbering.
    pub schema: String,
    /// What there is in a Core kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelInfo>,
    /// What there is in a front-end tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeInfo>,
    /// The file that a call site names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// The payload of an unknown build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownInfo>,
    /// What reading let pass.
    pub notes: Vec<String>,
}

/// A Core kernel, summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelInfo {
    /// Name.
    pub name: String,
    /// Bodies, one for each core.
    pub cores: usize,
    /// Blocks of all bodies.
    pub blocks: usize,
    /// Statements of all blocks.
    pub statements: usize,
    /// Statements by operator.
    pub operators: BTreeMap<&'static str, usize>,
    /// Inputs.
    pub inputs: Vec<TensorInfo>,
    /// Outputs.
    pub outputs: Vec<TensorInfo>,
    /// Shared constants, as name and file.
    pub shared_constants: Vec<[String; 2]>,
    /// Shared buffers.
    pub shared_buffers: Vec<TensorInfo>,
    /// Orderings, as pairs of statement names.
    pub edges: usize,
}

/// An input, output or shared buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TensorInfo {
    /// Name.
    pub name: String,
    /// Type of the elements.
    pub dtype: &'static str,
    /// Partitions, then the free dimensions, in elements.
    pub shape: Vec<u64>,
    /// Memory of the address.
    pub memory: &'static str,
}

/// A front-end tree, summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeInfo {
    /// Full name of the function that is the kernel.
    pub entry: String,
    /// Functions in the order of the file; the entry is usually last.
    pub functions: Vec<FunctionInfo>,
    /// Names of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Globals as name and Python text of the value.
    pub globals: Vec<[String; 2]>,
    /// Arguments of the entry as name (empty for a positional one) and Python text of the value.
    pub arguments: Vec<[String; 2]>,
}

/// A function of a front-end tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionInfo {
    /// Full name.
    pub name: String,
    /// File, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the file on which its source starts.
    pub line: u64,
    /// Names of its parameters, with stars.
    pub parameters: Vec<String>,
    /// Statements, inner ones included.
    pub statements: usize,
}

/// A payload that no known build writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownInfo {
    /// Constructor byte of the contents.
    pub lo: u8,
    /// Bytes of the payload.
    pub bytes: usize,
    /// Tag of its outermost value, if it is tagged.
    pub tag: Option<u8>,
    /// Fields of its outermost value.
    pub arity: Option<u8>,
}

/// Sums a file up.
///
/// ```
/// let bytes = klr::encode(&klr::File::new(klr::Contents::call_site("kernel.klr")));
/// let arena = klr::Arena::new();
/// let file = klr::read::<klr::File>(&bytes, &arena, &klr::Options::new())?;
/// let info = klr::info::info(&file);
/// assert_eq!(info.to_string(), "klr 0.0.12, format NKI\ncontents: hlo, schema head\nnames: kernel.klr\n");
/// # Ok::<(), klr::Error>(())
/// ```
#[must_use]
pub fn info(read: &Read<File<'_>>) -> Info {
    let file = &read.value;
    let contents = &file.contents;
    let mut info = Info {
        version: [file.header.major, file.header.minor, file.header.patch],
        format: file.metadata.format.to_string(),
        contents: contents.name().to_string(),
        schema: schema(contents, read.schema),
        kernel: None,
        tree: None,
        names: None,
        unknown: None,
        notes: read.notes.iter().map(ToString::to_string).collect(),
    };
    match contents {
        Contents::Kernel(kernel) | Contents::Mislabelled { kernel, .. } => {
            info.kernel = Some(kernel_info(kernel));
        }
        Contents::Lnc(kernel) => info.kernel = Some(lnc_info(kernel)),
        Contents::Hlo { name, .. } => info.names = Some((*name).to_string()),
        Contents::Unknown(unknown) => {
            let head = match unknown.payload {
                [0xD9, tag, _, arity @ 0x80..=0x97, ..] => Some((*tag, *arity & 31)),
                _ => None,
            };
            info.unknown = Some(UnknownInfo {
                lo: unknown.lo,
                bytes: unknown.payload.len(),
                tag: head.map(|(tag, _)| tag),
                arity: head.map(|(_, arity)| arity),
            });
        }
        Contents::Python0_0_12(_)
        | Contents::PythonHead(_)
        | Contents::Nki0_0_12(_)
        | Contents::NkiHead(_) => {
            info.tree = python::summary(contents);
        }
    }
    info
}

fn schema(contents: &Contents<'_>, used: SchemaUse) -> String {
    match contents.schema() {
        Some("core") => used.to_string(),
        Some(schema) => schema.to_string(),
        None => "unknown".to_string(),
    }
}

fn kernel_info(kernel: &Kernel<'_>) -> KernelInfo {
    let mut info = KernelInfo {
        name: kernel.name.to_string(),
        cores: 1,
        blocks: 0,
        statements: 0,
        operators: BTreeMap::new(),
        inputs: tensors(kernel.inputs),
        outputs: tensors(kernel.outputs),
        shared_constants: Vec::new(),
        shared_buffers: Vec::new(),
        edges: 0,
    };
    info.body(kernel.body);
    info
}

fn lnc_info(kernel: &LncKernel<'_>) -> KernelInfo {
    let mut info = KernelInfo {
        name: kernel.name.to_string(),
        cores: kernel.bodies.len(),
        blocks: 0,
        statements: 0,
        operators: BTreeMap::new(),
        inputs: tensors(kernel.inputs),
        outputs: tensors(kernel.outputs),
        shared_constants: kernel
            .shared_constants
            .iter()
            .map(|constant| [constant.name.to_string(), constant.file_name.to_string()])
            .collect(),
        shared_buffers: tensors(kernel.shared_buffers),
        edges: kernel.edges.iter().map(|edge| edge.to_edges.len()).sum(),
    };
    for body in kernel.bodies {
        info.body(body);
    }
    info
}

fn tensors(list: &[TensorName<'_>]) -> Vec<TensorInfo> {
    let tensor = |tensor: &TensorName<'_>| TensorInfo {
        name: tensor.name.to_string(),
        dtype: tensor.dtype.name(),
        shape: std::iter::once(&tensor.shape.par_dim).chain(tensor.shape.free_dims).copied().collect(),
        memory: tensor.address.memory.name(),
    };
    list.iter().map(tensor).collect()
}

impl KernelInfo {
    fn body(&mut self, blocks: &[Block<'_>]) {
        self.blocks += blocks.len();
        for block in blocks {
            self.statements += block.body.len();
            for Stmt::Oper { op, .. } in block.body {
                *self.operators.entry(operator_name(op)).or_default() += 1;
            }
        }
    }
}

/// The name of an operator in the schema, for example `ncMatMul`.
#[must_use]
pub fn operator_name(operator: &Operator<'_>) -> &'static str {
    Operator::INFO.ctors[usize::from(operator.wire())].name
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        writeln!(f, "klr {major}.{minor}.{patch}, format {}", self.format)?;
        writeln!(f, "contents: {}, schema {}", self.contents, self.schema)?;
        if let Some(kernel) = &self.kernel {
            kernel.fmt(f)?;
        }
        if let Some(tree) = &self.tree {
            tree.fmt(f)?;
        }
        if let Some(name) = &self.names {
            writeln!(f, "names: {name}")?;
        }
        if let Some(unknown) = &self.unknown {
            write!(f, "payload: {} bytes of an unknown build, constructor {}", unknown.bytes, unknown.lo)?;
            if let (Some(tag), Some(arity)) = (unknown.tag, unknown.arity) {
                write!(f, ", tag {tag} with {arity} fields")?;
            }
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

impl fmt::Display for KernelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel: {}", self.name)?;
        writeln!(f, "cores: {}, blocks: {}, statements: {}", self.cores, self.blocks, self.statements)?;
        for (what, list) in
            [("inputs", &self.inputs), ("outputs", &self.outputs), ("shared buffers", &self.shared_buffers)]
        {
            if !list.is_empty() {
                writeln!(f, "{what}:")?;
            }
            for tensor in list {
                writeln!(f, "  {} {}{:?} in {}", tensor.name, tensor.dtype, tensor.shape, tensor.memory)?;
            }
        }
        if !self.shared_constants.is_empty() {
            writeln!(f, "shared constants:")?;
        }
        for [name, file] in &self.shared_constants {
            writeln!(f, "  {name} in {file}")?;
        }
        if self.edges > 0 {
            writeln!(f, "edges: {}", self.edges)?;
        }
        if !self.operators.is_empty() {
            writeln!(f, "operators:")?;
        }
        for (operator, count) in &self.operators {
            writeln!(f, "  {operator} {count}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TreeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel: {}", self.entry)?;
        writeln!(f, "functions:")?;
        for function in &self.functions {
            let file = function.file.as_deref().unwrap_or("unknown");
            let (name, line, count) = (&function.name, function.line, function.statements);
            writeln!(f, "  {name}({}) at {file}:{line}, {count} statements", function.parameters.join(", "))?;
        }
        if !self.classes.is_empty() {
            writeln!(f, "classes: {}", self.classes.join(", "))?;
        }
        for (what, list) in [("globals", &self.globals), ("arguments", &self.arguments)] {
            if !list.is_empty() {
                writeln!(f, "{what}:")?;
            }
            for [name, value] in list {
                writeln!(f, "  {name} = {value}")?;
            }
        }
        Ok(())
    }
}
