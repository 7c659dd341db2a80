//! Our own form: indented, with names, quotes and brackets, a statement to a line where it fits.
//!
//! Kernels and blocks are laid out as an outline; statements and everything in them are one text each, so that memory
//! does not grow with the file.

use std::collections::HashMap;
use std::io;

use super::doc::{Doc, Group};
use super::quoted;
use crate::checks::Checked;
use crate::container::{Select, Unknown};
use crate::ir::TensorName;
use crate::node::{Float, Real, Sink, Tree, TypeInfo};
use crate::text::Text;

/// A value in our own form, for reading by people. It shows everything but absent options and is not for reading
/// back.
///
/// A tensor is `"name" dtype[partitions; free dimensions] in memory "address"[partitions x bytes]`, with
/// `+(partition, byte)` when it has an offset, at its first use; later uses show the name. A pair of an access pattern
/// is `[step, num]`, with `+offset` unless that is 0. A position is `@line:column-line:column`.
///
/// ```
/// use klr::ir::{AluOp, Engine, Immediate, Operand, TensorRef, TensorScalar, TensorScalarReverseOps};
/// let record = TensorScalar {
///     dst: TensorRef::Reg(1),
///     src: TensorRef::Reg(2),
///     imm0: Operand::Imm(Immediate::Float32(0.5.into())),
///     op0: AluOp::Mult,
///     imm1: None,
///     op1: None,
///     reverse: TensorScalarReverseOps::None,
///     engine: Engine::Dve,
///     dtype: None,
/// };
/// assert_eq!(
///     klr::print::readable(&klr::ir::Operator::TensorScalar(&record)),
///     "tensorScalar(dst = reg(1), src = reg(2), imm0 = imm.float32(0.5), op0 = mult, reverse = none, engine = dve)\n"
/// );
/// ```
#[must_use]
pub fn readable(value: &dyn Tree<'_>) -> String {
    let mut printer = Printer::new(Text::kept());
    value.emit(&mut printer);
    printer.text.into_string()
}

/// Writes a value to a stream in our own form.
///
/// # Errors
/// Those of the stream.
pub fn write_readable(value: &dyn Tree<'_>, stream: &mut dyn io::Write) -> io::Result<()> {
    let mut printer = Printer::new(Text::to(stream));
    value.emit(&mut printer);
    printer.text.finish()
}

/// Records that are laid out as an outline, one line for each field.
const OUTLINE: [&str; 10] = [
    "File",
    "Kernel",
    "LncKernel",
    "Block",
    "NKI.Kernel",
    "NKI.Fun",
    "NKI.Class",
    "Python.Kernel",
    "Python.Fun",
    "Python.Class",
];

/// A value that is open.
enum Frame {
    /// Its parts are lines.
    Outline { label: Option<String>, indent: usize },
    /// Its parts are items of a text.
    Group { kind: GroupKind, field: Option<&'static str>, group: Group },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Record(&'static TypeInfo),
    Union(&'static TypeInfo, usize),
    List,
}

struct Printer<'w> {
    text: Text<'w>,
    frames: Vec<Frame>,
    /// How the tensor of each name was shown.
    tensors: HashMap<String, String>,
}

impl<'w> Printer<'w> {
    fn new(text: Text<'w>) -> Self {
        Printer { text, frames: Vec::new(), tensors: HashMap::new() }
    }

    /// A line of the outline starts: its indentation and label. Returns the indentation.
    fn line(&mut self, separator: &str) -> usize {
        let Some(Frame::Outline { label, indent }) = self.frames.last_mut() else { return 0 };
        let indent = *indent;
        let label = label.take();
        self.text.spaces(indent);
        if let Some(label) = label {
            self.text.push(&label);
            self.text.push(separator);
        }
        indent
    }

    fn in_group(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Group { .. }))
    }

    fn value(&mut self, doc: Doc) {
        if let Some(Frame::Group { field, group, .. }) = self.frames.last_mut() {
            group.items.push((field.take(), doc));
            return;
        }
        let column = match self.frames.last() {
            Some(Frame::Outline { label, indent }) => indent + label.as_ref().map_or(0, |l| l.len() + 2),
            _ => 0,
        };
        let indent = self.line(": ");
        let mut out = String::new();
        doc.render(&mut out, indent, column);
        out.push('\n');
        self.text.push(&out);
    }

    fn word(&mut self, text: String) {
        self.value(Doc::Text(text));
    }

    fn outline(&mut self, title: &str) {
        let indent = self.line(if title.is_empty() { ":" } else { ": " });
        self.text.push(title);
        self.text.push("\n");
        self.frames.push(Frame::Outline { label: None, indent: indent + 2 });
    }

    fn group(&mut self, kind: GroupKind, open: String, close: &str) {
        let group = Group { open, items: Vec::new(), close: close.to_string() };
        self.frames.push(Frame::Group { kind, field: None, group });
    }
}

/// The items of a group as texts, if they are texts.
fn words<const N: usize>(group: &Group) -> Option<[&str; N]> {
    let words: Vec<&str> = group
        .items
        .iter()
        .filter_map(|(_, doc)| match doc {
            Doc::Text(text) => Some(text.as_str()),
            Doc::Group(_) => None,
        })
        .collect();
    words.try_into().ok()
}

/// `12:4-12:19 "file"` from the fields that are there.
fn position(group: &Group) -> String {
    let field = |name: &str| {
        group.items.iter().find_map(|(field, doc)| match doc {
            Doc::Text(text) if *field == Some(name) => Some(text.as_str()),
            _ => None,
        })
    };
    let mut out = format!("@{}:{}", field("line").unwrap_or("?"), field("column").unwrap_or("?"));
    if field("lineEnd").is_some() || field("columnEnd").is_some() {
        let (line, column) = (field("lineEnd").unwrap_or("?"), field("columnEnd").unwrap_or("?"));
        out.push_str(&format!("-{line}:{column}"));
    }
    if let Some(file) = field("filename") {
        out.push_str(&format!(" in {file}"));
    }
    out
}

/// A statement is its operator, followed by its name and position.
fn statement(mut group: Group) -> Doc {
    let mut tail = String::new();
    for (_, doc) in group.items.drain(1..) {
        if let Doc::Text(text) = doc {
            tail.push_str("  ");
            tail.push_str(&text);
        }
    }
    match group.items.pop() {
        Some((_, Doc::Group(mut operator))) => {
            operator.close.push_str(&tail);
            Doc::Group(operator)
        }
        Some((_, Doc::Text(operator))) => Doc::Text(operator + &tail),
        None => Doc::Text(tail),
    }
}

fn finished(kind: GroupKind, group: Group) -> Doc {
    match kind {
        GroupKind::Record(ty) if ty.name == "APPair" => {
            if let Some([step, num, offset]) = words(&group) {
                let offset = if offset == "0" { String::new() } else { format!("+{offset}") };
                return Doc::Text(format!("[{step}, {num}]{offset}"));
            }
        }
        GroupKind::Record(ty) if ty.name == "Pos" => return Doc::Text(position(&group)),
        GroupKind::Union(ty, _) if ty.name == "Stmt" => return statement(group),
        GroupKind::Union(ty, ctor) => return union(ty, ctor, group),
        _ => {}
    }
    Doc::Group(group)
}

/// `ctor(payload)`; the fields of a payload that is a record stand in its place, and of a payload that is a union both
/// constructors are joined: `abstract.birPattern(...)`.
fn union(ty: &'static TypeInfo, ctor: usize, mut group: Group) -> Doc {
    let arity = ty.ctors[ctor].arity;
    if arity == 0 {
        return Doc::Text(ty.ctors[ctor].name.to_string());
    }
    if arity == 1
        && let Some((_, payload)) = group.items.pop()
    {
        match payload {
            Doc::Group(inner) if inner.close == ")" && inner.open.len() > 1 => {
                if inner.open.starts_with(char::is_lowercase) {
                    group.open = format!("{}.{}", ty.ctors[ctor].name, inner.open);
                }
                group.items = inner.items;
            }
            payload => group.items.push((None, payload)),
        }
    }
    Doc::Group(group)
}

/// How a tensor is shown at its first use.
fn tensor_text(tensor: &TensorName<'_>) -> String {
    let (shape, address) = (&tensor.shape, &tensor.address);
    let dims: Vec<String> = shape.free_dims.iter().map(u64::to_string).collect();
    let mut out = format!(
        "{} {}[{}; {}] in {} {}[{} x {}]",
        quoted(tensor.name),
        tensor.dtype,
        shape.par_dim,
        dims.join(", "),
        address.memory,
        quoted(address.name),
        address.par_size,
        address.free_size
    );
    if address.par_offset.is_some() || address.free_offset.is_some() {
        let offset = |value: Option<u64>| value.map_or("?".to_string(), |value| value.to_string());
        out.push_str(&format!("+({}, {})", offset(address.par_offset), offset(address.free_offset)));
    }
    if address.is_shared {
        out.push_str(" shared");
    }
    if tensor.address_rotation {
        out.push_str(" rotating");
    }
    if shape.free_dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
        != Some(tensor.free_elements)
    {
        out.push_str(&format!(" freeElements {}", tensor.free_elements));
    }
    out
}

impl Sink for Printer<'_> {
    fn record(&mut self, ty: &'static TypeInfo, _head: bool) {
        if !self.in_group() && OUTLINE.contains(&ty.name) {
            self.outline(ty.name);
        } else {
            self.group(GroupKind::Record(ty), format!("{}(", ty.name), ")");
        }
    }

    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.group(GroupKind::Union(ty, ctor), format!("{}(", ty.ctors[ctor].name), ")");
    }

    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.word(ty.ctors[ctor].name.to_string());
    }

    fn close(&mut self) {
        if let Some(Frame::Group { kind, group, .. }) = self.frames.pop() {
            self.value(finished(kind, group));
        }
    }

    fn field(&mut self, name: &'static str) {
        match self.frames.last_mut() {
            Some(Frame::Outline { label, .. }) => *label = Some(name.to_string()),
            Some(Frame::Group { field, .. }) => *field = Some(name),
            None => {}
        }
    }

    fn nat(&mut self, value: u64) {
        self.word(value.to_string());
    }

    fn int(&mut self, value: i64) {
        self.word(value.to_string());
    }

    fn float(&mut self, value: Float) {
        let number = value.value();
        let plain = !number.is_nan() || value.bits == f32::NAN.to_bits();
        self.word(if plain { format!("{number:?}") } else { format!("NaN:{:08X}", value.bits) });
    }

    fn real(&mut self, value: Real) {
        match value {
            Real::F32(value) => self.float(value),
            Real::F64(bits) => {
                let number = f64::from_bits(bits);
                let plain = !number.is_nan() || bits == f64::NAN.to_bits();
                self.word(if plain { format!("{number:?}d") } else { format!("NaN:{bits:016X}") });
            }
        }
    }

    fn boolean(&mut self, value: bool) {
        self.word(value.to_string());
    }

    fn text(&mut self, value: &str) {
        self.word(quoted(value));
    }

    fn prop(&mut self) {}

    fn none(&mut self) {}

    fn some(&mut self) {}

    fn list(&mut self, len: usize) {
        if len > 0 && matches!(self.frames.last(), Some(Frame::Outline { .. })) {
            self.outline("");
        } else {
            self.group(GroupKind::List, "[".to_string(), "]");
        }
    }

    fn pair(&mut self) {
        self.group(GroupKind::List, "(".to_string(), ")");
    }

    fn item(&mut self, index: usize) {
        match self.frames.last_mut() {
            Some(Frame::Outline { label, .. }) => *label = Some(format!("[{index}]")),
            Some(Frame::Group { field, .. }) => *field = None,
            None => {}
        }
    }

    fn end_list(&mut self) {
        self.close();
    }

    fn select(&mut self, row: &'static Select) {
        self.outline(&format!("{} ({})", row.contents, row.schema));
    }

    fn unknown(&mut self, value: &Unknown<'_>) {
        self.word(format!(
            "unknown contents {}: {}",
            value.lo,
            crate::cbor::diagnostic(value.payload).trim_end()
        ));
    }

    fn checked(&mut self, value: Checked<'_>) -> bool {
        let Checked::TensorName(tensor) = value else { return false };
        let full = tensor_text(tensor);
        if self.tensors.get(tensor.name) == Some(&full) {
            self.word(quoted(tensor.name));
        } else {
            self.word(full.clone());
            self.tensors.insert(tensor.name.to_string(), full);
        }
        true
    }
}
