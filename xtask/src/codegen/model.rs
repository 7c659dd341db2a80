//! Generates the structs of the `bir` crate: one for each record of the document and one for each op.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;

use super::tables::{Field, Op, Tables, doc_comment, sentence, struct_name, variant};
use super::{Output, Spec, header};

/// Records whose Rust form is written by hand.
const BY_HAND: &[&str] = &["header", "nki_functions"];

/// Keys that the reader and the writer handle without a field: they only say which record this is.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("memory_location_set", "Skind"),
    ("memory_location", "Skind"),
    ("register", "Skind"),
    ("arg_physical_ap", "kind"),
    ("arg_symbolic_ap", "kind"),
    ("arg_register_ap", "kind"),
    ("arg_imm_value", "kind"),
    ("arg_symbolic_imm_value", "kind"),
    ("arg_imm_array", "kind"),
    ("arg_register_access", "kind"),
];

/// Fields of the model that no key holds: links to the owner, and the spelling that was read.
const LINKS: &[(&str, &str, &str, &str, &str)] = &[
    ("memory_location_set", "function", "FuncId", "FuncId::new(0)", "The function that owns the set."),
    ("memory_location", "set", "SetId", "SetId::new(0)", "The set that this is a placement of."),
    ("register", "function", "FuncId", "FuncId::new(0)", "The function that owns the register."),
    ("function", "nki", "bool", "false", "Whether the function is in the NKI holder."),
    ("block", "holder", "Holder", "Holder::Function(FuncId::new(0))", "What the block belongs to."),
    ("arg_symbolic_ap", "pwap", "bool", "false", "Whether the document spells it `symbolic_pwap`."),
];

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    Ok(vec![
        Output { path: PathBuf::from("crates/bir/src/generated/records.rs"), text: records(&tables)? },
        Output { path: PathBuf::from("crates/bir/src/generated/ops.rs"), text: ops(&tables)? },
    ])
}

const IMPORTS: &str = "use crate::access::*;\nuse crate::expr::MaybeAffine;\n\
     use crate::generated::enums::*;\nuse crate::ids::*;\nuse crate::names::Sym;\nuse crate::part::Renumbering;\nuse crate::record::*;\n";

/// Records of both tables with their keys, ops apart.
pub(super) fn all_records(tables: &Tables) -> Vec<(String, String, Vec<Field>)> {
    let mut all = Vec::new();
    for (name, fields) in &tables.records {
        if !BY_HAND.contains(&name.as_str()) {
            let doc = format!("Record `{name}` of spec: bir-json.");
            all.push((name.clone(), doc, keys_of(name, fields)));
        }
    }
    for record in &tables.ops.record {
        let fields = keys_of(&record.name, &record.field);
        if !fields.is_empty() {
            all.push((record.name.clone(), sentence(&record.description), fields));
        }
    }
    all
}

fn keys_of(record: &str, fields: &[Field]) -> Vec<Field> {
    let fields = fields.iter().filter(|f| f.is_key() && !TAGS.contains(&(record, &*f.key)));
    fields.cloned().collect()
}

fn records(tables: &Tables) -> Result<String> {
    let mut out = header("bir-json.records.toml and spec/opcodes.toml");
    out.push_str(
        "//! Records of the document. Every field names its key, type, default, gate and confidence.\n\n",
    );
    out.push_str(IMPORTS);
    out.push_str("use crate::argument::ImmNumber;\nuse crate::module::{CallBinding, Holder, NkiFunctions};\nuse crate::storage::{AliasEdge, Storage};\nuse crate::value::{Extra, Members, Value};\n\n");
    for (name, doc, fields) in all_records(tables) {
        let links: Vec<_> = LINKS.iter().filter(|link| link.0 == name).collect();
        let mut text = String::new();
        for (_, field, ty, default, doc) in links {
            let _ = write!(text, "\n        /// {doc}\n        {field}: {ty} = {default};\n    ");
        }
        one(&mut out, tables, &struct_name(&name), &doc, &fields, &text, true)?;
    }
    Ok(out)
}

fn one(
    out: &mut String,
    tables: &Tables,
    name: &str,
    doc: &str,
    fields: &[Field],
    links: &str,
    extra: bool,
) -> Result<()> {
    let _ = write!(out, "record! {{\n{}    {name} {{\n", doc_comment("    ", doc));
    let mut bits = 0;
    let mut starts = String::new();
    for field in fields {
        let bit = if field.presence_bit() {
            let upper = field.rust_name().trim_start_matches("r#").to_ascii_uppercase();
            if field.required() && field.emit == "present_or_nondefault" {
                // A strict reader must find required keys, so a builder starts with them. spec: opcodes 1.2
                let _ = write!(starts, "{upper} ");
            }
            let text = format!(" present {upper} {bits}");
            bits += 1;
            text
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "{}        {}: {} = {}, ({:?} {:?} {} {} {} '{}'){bit};",
            doc_comment("        ", &field.doc()),
            field.rust_name(),
            field.rust_type(tables)?,
            field.default_expr()?,
            field.key,
            field.ty,
            variant(&field.emit),
            field.required(),
            field.null_is_silent(),
            field.conf,
        );
    }
    assert!(bits <= 32, "{name} has more keys with a presence bit than Presence holds");
    let _ = write!(out, "    }}\n    links {{ {links}}}\n    starts_present {{ {starts}}}\n");
    if extra {
        out.push_str("    extra extra\n");
    }
    out.push_str("}\n\n");
    Ok(())
}

/// How an op is stored in the `Op` enum.
pub(super) enum Storage {
    Unit,
    Inline,
    Boxed,
}

pub(super) fn storage(op: &Op) -> Storage {
    if op.field.is_empty() {
        return Storage::Unit;
    }
    let bits = op.field.iter().any(Field::presence_bit);
    let size: u32 = 4 * u32::from(bits) + op.field.iter().map(size_of_field).sum::<u32>();
    if size <= 16 { Storage::Inline } else { Storage::Boxed }
}

/// Bytes of a field, roughly: it only decides what is boxed.
fn size_of_field(field: &Field) -> u32 {
    match field.ty.as_str() {
        "bool" | "u8" => 1,
        "u16" | "u32" | "i32" | "f32" | "string" => 4,
        "serializable_float" => 8,
        ty if ty.starts_with("name-ref:") => 4,
        "maybe_affine<u64>" | "maybe_affine<i64>" => 16,
        ty if ty.starts_with("maybe_affine<") || ty.starts_with("enum:") || ty.starts_with("record:") => 8,
        _ => 24,
    }
}

fn ops(tables: &Tables) -> Result<String> {
    let mut out = header("opcodes.toml");
    out.push_str(
        "//! One struct for each op that has keys of its own, and [`Op`], the enum over all ops.\n\n",
    );
    out.push_str(IMPORTS);
    out.push_str("use crate::generated::records::*;\nuse crate::value::Value;\n\n");
    op_enum(&mut out, tables);
    for op in tables.ops.op.iter().filter(|op| !op.field.is_empty()) {
        let doc = format!("Keys of the op `{}`.", op.name);
        one(&mut out, tables, &op.name, &doc, &op.field, "", false)?;
    }
    let named = |form: fn(&Storage) -> bool| -> String {
        let ops = tables.ops.op.iter().filter(|op| form(&storage(op)));
        ops.map(|op| op.name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let _ = write!(
        out,
        "op_from! {{\n    inline {{ {} }}\n    boxed {{ {} }}\n}}\n\n",
        named(|form| matches!(form, Storage::Inline)),
        named(|form| matches!(form, Storage::Boxed)),
    );
    let legacy: Vec<_> = tables.ops.legacy_op.iter().map(|op| format!("{:?}", op.name)).collect();
    let _ = write!(
        out,
        "/// Ops that only older documents have. They are read as [`Op::Other`].
pub const LEGACY_OPS: &[&str] = &[{}];\n",
        legacy.join(", ")
    );
    Ok(out)
}

fn op_enum(out: &mut String, tables: &Tables) {
    let (mut variants, mut opcodes, mut new, mut fields, mut visit, mut renumber, mut same) =
        Default::default();
    let add = |to: &mut String, text: String| to.push_str(&text);
    for op in &tables.ops.op {
        let name = &op.name;
        let mut doc = format!(
            "`{name}` ({}): {} op of family {}, confidence {}.",
            op.class, op.category, op.family, op.conf
        );
        if let Some(note) = &op.note {
            let _ = write!(doc, "\n\n{}", sentence(note));
        }
        add(&mut variants, doc_comment("", &doc));
        match storage(op) {
            Storage::Unit => {
                add(&mut variants, format!("{name},\n"));
                add(&mut opcodes, format!("Op::{name} => InstructionType::{name},\n"));
                add(&mut new, format!("InstructionType::{name} => Op::{name},\n"));
            }
            form => {
                let ty = if matches!(form, Storage::Boxed) { format!("Box<{name}>") } else { name.clone() };
                let fields_of = if matches!(form, Storage::Boxed) { "&**op" } else { "op" };
                add(&mut variants, format!("{name}({ty}),\n"));
                add(&mut opcodes, format!("Op::{name}(_) => InstructionType::{name},\n"));
                add(&mut new, format!("InstructionType::{name} => Op::{name}(Default::default()),\n"));
                add(&mut fields, format!("Op::{name}(op) => {fields_of},\n"));
                add(&mut visit, format!("Op::{name}(op) => op.visit_refs(visitor),\n"));
                add(&mut renumber, format!("Op::{name}(op) => op.renumber(to),\n"));
                add(&mut same, format!("(Op::{name}(a), Op::{name}(b)) => a.is_same(b),\n"));
            }
        }
    }
    let names = |field: &Field| field.is_code() && field.ty.contains("name-ref:");
    let names_code = tables.ops.op.iter().filter(|op| op.field.iter().any(names));
    let names_code: Vec<_> = names_code.map(|op| format!("Op::{}(_)", op.name)).collect();
    let names_code = names_code.join(" | ");
    let beside_code: String = tables.ops.op.iter().filter_map(same_beside_code).collect();
    let _ = write!(
        out,
        "/// What an instruction does. The InstructionType is the only dispatch key; large structs are boxed.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {{
{variants}
/// An opcode that the table does not have. Its keys are unknown members of the instruction.
Other(Sym),
}}

impl Op {{
/// The InstructionType.
pub fn opcode(&self) -> InstructionType {{
match self {{
{opcodes}
Op::Other(name) => InstructionType::Other(*name),
}}
}}

/// The op of an InstructionType with every key at its default.
pub fn new(opcode: InstructionType) -> Op {{
match opcode {{
{new}
InstructionType::Other(name) => Op::Other(name),
}}
}}

/// The keys of the op for reflection. Ops without keys of their own have none.
pub fn fields(&self) -> Option<&dyn Fields> {{
Some(match self {{
{fields}
_ => return None,
}})
}}

/// Whether the keys of the op may name blocks, instructions or functions.
pub fn names_code(&self) -> bool {{
matches!(self, {names_code})
}}

/// Whether the keys of the op are the same as those of another, presence and signs of zeros included, so that both
/// are written alike. False where that is not certain: it depends on more than the op.
pub fn is_same(&self, other: &Op) -> bool {{
match (self, other) {{
{same}
_ => self == other,
}}
}}

/// Like [`Op::is_same`], but of keys that name code, and of bodies, it only matters whether they are written.
pub fn is_same_beside_code(&self, other: &Op) -> bool {{
match (self, other) {{
{beside_code}
_ => self.is_same(other),
}}
}}

/// Visits the references in the keys of the op.
pub fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {{
match self {{
{visit}
_ => {{}}
}}
}}

/// Gives names and ids of a part the values that they have in the module that takes it.
pub(crate) fn renumber(&mut self, to: &mut Renumbering) {{
match self {{
{renumber}
Op::Other(name) => name.renumber(to),
_ => {{}}
}}
}}
}}\n\n"
    );
}

/// The arm that compares ops that have keys about code.
fn same_beside_code(op: &Op) -> Option<String> {
    let written = |field: &Field| {
        let name = field.rust_name();
        match (field.is_code(), field.optional(), field.ty.starts_with("list<")) {
            (false, ..) => format!("a.{name}.is_same(&b.{name})"),
            (true, true, _) => format!("a.{name}.is_some() == b.{name}.is_some()"),
            (true, false, true) => format!("a.{name}.is_empty() == b.{name}.is_empty()"),
            (true, false, false) => "true".to_owned(),
        }
    };
    op.field.iter().any(Field::is_code).then(|| {
        let fields: Vec<_> = op.field.iter().map(written).filter(|field| field != "true").collect();
        let present = op.field.iter().any(Field::presence_bit).then(|| "a.present == b.present".to_owned());
        let all: Vec<_> = present.into_iter().chain(fields).collect();
        format!("(Op::{name}(a), Op::{name}(b)) => {},\n", all.join(" && "), name = op.name)
    })
}
