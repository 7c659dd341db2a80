//! Generates the readers and writers of `bir-json`: which key belongs to which field, and when it is written.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::model::{Storage, TAGS, all_records, storage};
use super::tables::{Field, Op, Tables, camel, struct_name};
use super::{Output, Spec, header};

/// Keys with a form of their own: record, key, how it is read, how it is written.
const SPECIAL: &[(&str, &str, &str, &str)] = &[
    ("root", "version", "self.version = Some(r.version()?)", "o.put_with(KEY, |w| w.out.unsigned(2))"),
    (
        "root",
        "call_to_physical_memlocs",
        "self.call_to_physical_memlocs = r.call_bindings()?",
        "o.put_with(KEY, |w| w.call_bindings(&self.call_to_physical_memlocs))",
    ),
    ("function", "attributes", "self.attributes = r.function_attributes()?", "o.put(KEY, &self.attributes)"),
    ("memory_location", "alias", "r.aliases()?", "o.put_with(KEY, |w| w.aliases(&self.alias))"),
    (
        "arg_symbolic_imm_value",
        "value_list",
        "self.value_list = r.value_objects()?",
        "o.put_with(KEY, |w| w.value_objects(&self.value_list))",
    ),
    (
        "CollectiveCompute",
        "cc_channel",
        "self.cc_channel = Some(r.cc_channel()?)",
        "o.put_some(KEY, &self.cc_channel)",
    ),
];

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let file = |name: &str, text| Output {
        path: PathBuf::from(format!("crates/bir-json/src/generated/{name}.rs")),
        text,
    };
    Ok(vec![
        file("records", records(&tables)?),
        file("ops", ops(&tables)?),
        file("header", header_keys(&tables)?),
        file("lists", lists(&tables)),
    ])
}

/// Names of the enums that are Rust enums.
pub(super) fn open_enums(tables: &Tables) -> Vec<String> {
    let enums = tables
        .enums
        .iter()
        .filter(|e| !e.value.is_empty() && e.closed != Some(false) && e.name != "EdgeKind");
    enums.map(|e| e.name.clone()).collect()
}

fn lists(tables: &Tables) -> String {
    let mut out = header("enums.toml and spec/bir-json.records.toml");
    out.push_str(
        "//! Lists of the enums and records, for implementations that are the same for all of them.\n\n",
    );
    let enums = open_enums(tables);
    let records: Vec<_> = all_records(tables).iter().map(|(name, ..)| struct_name(name)).collect();
    for (name, list) in [("for_each_enum", enums), ("for_each_record", records)] {
        let _ = write!(
            out,
            "macro_rules! {name} {{ ($m:ident) => {{ $m! {{ {} }} }}; }}\npub(crate) use {name};\n\n",
            list.join(" ")
        );
    }
    // An older key of a base class belongs to all its children.
    let mut keys = Vec::new();
    for legacy in &tables.ops.legacy_key {
        let heirs = tables
            .ops
            .op
            .iter()
            .filter(|op| op.name == legacy.op || op.parent.strip_prefix("Inst") == Some(&legacy.op));
        keys.extend(heirs.map(|op| format!("({:?}, {:?})", op.name, legacy.key)));
    }
    let _ = write!(
        out,
        "/// Keys that only older documents have, with the op they belong to.
pub(crate) const LEGACY_KEYS: &[(&str, &str)] = &[{}];\n",
        keys.join(", ")
    );
    out
}

fn records(tables: &Tables) -> Result<String> {
    let mut out = header("bir-json.records.toml and spec/opcodes.toml");
    out.push_str("//! Keys of the records: reading into fields, and writing by gate.\n\n");
    out.push_str(IMPORTS);
    out.push_str("use bir::records::*;\n\n");
    for (name, _, fields) in all_records(tables) {
        let ty = struct_name(&name);
        let tag = TAGS.iter().find(|(record, _)| *record == name).map(|(_, key)| *key);
        reader(&mut out, &name, &ty, &fields, tag, true)?;
        let _ = write!(
            out,
            "impl WriteRecord for {ty} {{
fn extra(&self) -> &Extra {{ &self.extra }}
fn put_members<'a>(&'a self, o: &mut Object<'a, '_, '_>) {{\n"
        );
        let mut members: Vec<(String, String)> = Vec::new();
        for field in &fields {
            members.push((field.key.clone(), put(&name, field, "self")?));
        }
        if let Some(tag) = tag {
            let word = match name.as_str() {
                "arg_symbolic_ap" => "if self.pwap { \"symbolic_pwap\" } else { \"symbolic_ap\" }".to_owned(),
                name => format!("{:?}", name.strip_prefix("arg_").unwrap_or(name)),
            };
            members.push((tag.to_owned(), format!("o.put_word(key!({tag:?}), {word});")));
        }
        members.sort();
        members.iter().for_each(|(_, put)| out.push_str(&format!("{put}\n")));
        out.push_str("}\n}\n\n");
    }
    Ok(out)
}

const IMPORTS: &str = "use bir::{Extra, Sym};\nuse bir::enums::*;\nuse bir::record::{FieldSpec, Presence};\n\n\
     use crate::error::Result;\nuse crate::read::{ReadRecord, Reader};\nuse crate::write::{Object, WriteRecord, key};\n";

fn special(
    record: &str,
    key: &str,
) -> Option<&'static (&'static str, &'static str, &'static str, &'static str)> {
    SPECIAL.iter().find(|s| s.0 == record && s.1 == key)
}

/// The implementation of `ReadRecord`.
fn reader(
    out: &mut String,
    record: &str,
    ty: &str,
    fields: &[Field],
    tag: Option<&str>,
    extra: bool,
) -> Result<()> {
    let mut find = String::new();
    let mut read = String::new();
    let mut null = String::new();
    let mut misfit = 0u64;
    if let Some(tag) = tag {
        let _ = writeln!(find, "b{tag:?} => Self::TAG,");
    }
    for (i, field) in fields.iter().enumerate() {
        let _ = writeln!(find, "b{:?} => {i},", field.key);
        if field.keeps_misfit() {
            misfit |= 1 << i;
        }
        let name = field.rust_name();
        let mut arm = match (special(record, &field.key), field.accepts.as_deref()) {
            (Some(special), _) => special.2.to_owned(),
            (None, None) if field.optional() => format!("self.{name} = Some(r.get()?)"),
            (None, None) => format!("self.{name} = r.get()?"),
            (None, Some("scalar")) => format!("self.{name} = r.scalar_or_list()?"),
            (None, Some("nested")) => format!("self.{name} = r.nested_list()?"),
            (None, Some("bool")) => format!("self.{name} = r.number_or_bool()?"),
            (None, Some(other)) => anyhow::bail!("{record}.{}: accepts = {other:?}", field.key),
        };
        if field.presence_bit() {
            let bit = name.trim_start_matches("r#").to_ascii_uppercase();
            arm = format!("{{ {arm}; self.present.set(Self::{bit}); }}");
            if field.keeps_null() {
                let _ = writeln!(null, "{i} => self.present.set(Self::{bit}),");
            }
        }
        if (record, &*field.key) == ("root", "nki_functions") {
            // An empty holder is written back in the shape that was read. spec: bir-json 3
            let _ = writeln!(null, "{i} => self.{name} = Some(Box::new(bir::NkiFunctions::null())),");
        }
        let _ = writeln!(read, "{i} => {arm},");
    }
    let null = if null.is_empty() {
        String::new()
    } else {
        format!("fn read_null(&mut self, index: usize) {{ match index {{ {null} _ => {{}} }} }}\n")
    };
    let extra = if extra { "Some(&mut self.extra)" } else { "None" };
    let _ = write!(
        out,
        "impl ReadRecord for {ty} {{
const SPECS: &'static [FieldSpec] = Self::FIELDS;
const MISFIT: u64 = {misfit:#x};
fn find(key: &[u8]) -> Option<usize> {{
Some(match key {{ {find} _ => return None }})
}}
fn read_field(&mut self, index: usize, r: &mut Reader<'_>) -> Result<()> {{
match index {{ {read} _ => unreachable!(\"find gives indexes of fields\") }}
Ok(())
}}
{null}
fn presence(&mut self) -> &mut Presence {{ &mut self.present }}
fn extra_mut(&mut self) -> Option<&mut Extra> {{ {extra} }}
}}\n\n"
    );
    Ok(())
}

/// The statement that puts a field by its gate.
fn put(record: &str, field: &Field, place: &str) -> Result<String> {
    let key = format!("key!({:?})", field.key);
    let name = field.rust_name();
    let bit = format!(
        "{place}.present.has({}::{})",
        struct_name(record),
        name.trim_start_matches("r#").to_ascii_uppercase()
    );
    let value = format!("{place}.{name}");
    let plain = match special(record, &field.key) {
        Some(special) => special.3.replace("KEY", &key).replace("self", place) + ";",
        None if field.keeps_null() => return Ok(format!("o.put_or_null({key}, &{value}, {bit});")),
        None if field.optional() => return Ok(format!("o.put_some({key}, &{value});")),
        None => format!("o.put({key}, &{value});"),
    };
    let differs = || field.differs(&value).with_context(|| format!("{record}.{}", field.key));
    Ok(match field.emit.as_str() {
        "always" => plain,
        _ if field.optional() => plain,
        "skip_if_default" | "skip_if_empty" => format!("if {} {{ {plain} }}", differs()?),
        "present_or_nondefault" | "if_present" => format!("if {bit} || {} {{ {plain} }}", differs()?),
        other => anyhow::bail!("{record}.{}: unexpected gate {other} of a plain field", field.key),
    })
}

fn header_fields(tables: &Tables) -> Result<Vec<Field>> {
    let mut fields = tables.records.get("header").context("no record header")?.clone();
    fields.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(fields)
}

fn header_keys(tables: &Tables) -> Result<String> {
    let fields = header_fields(tables)?;
    let names: Vec<_> = fields.iter().map(|f| camel(&f.key)).collect();
    let mut out = header("bir-json.records.toml");
    out.push_str("//! Keys of the instruction header.\n\nuse crate::write::{Key, key};\n\n");
    let mut find = String::new();
    let mut quote = String::new();
    let mut null = Vec::new();
    for (field, name) in fields.iter().zip(&names) {
        let _ = writeln!(find, "b{:?} => HeaderKey::{name},", field.key);
        let _ = writeln!(quote, "HeaderKey::{name} => key!({:?}),", field.key);
        if field.null_is_silent() {
            null.push(format!("HeaderKey::{name}"));
        }
    }
    let list: Vec<_> = names.iter().map(|n| format!("HeaderKey::{n}")).collect();
    let _ = write!(
        out,
        "/// A key of the instruction header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeaderKey {{ {} }}

impl HeaderKey {{
/// All keys in the order in which they are written.
pub(crate) const SORTED: [HeaderKey; {}] = [{}];

/// The header key of a name.
pub(crate) fn find(key: &[u8]) -> Option<HeaderKey> {{
Some(match key {{ {find} _ => return None }})
}}

/// The key as the writer wants it.
pub(crate) fn key(self) -> &'static Key {{
match self {{ {quote} }}
}}

/// Whether null silently means that the key is absent.
pub(crate) fn null_ok(self) -> bool {{
matches!(self, {})
}}
}}\n",
        names.join(", "),
        names.len(),
        list.join(", "),
        null.join(" | ")
    );
    Ok(out)
}

fn ops(tables: &Tables) -> Result<String> {
    let headers: Vec<String> = header_fields(tables)?.into_iter().map(|f| f.key).collect();
    let mut out = header("opcodes.toml and spec/bir-json.records.toml");
    out.push_str(
        "//! Keys of the ops: reading into fields, and writing them between those of the header.\n\n",
    );
    out.push_str(&IMPORTS.replace("WriteRecord", "Write, Writer"));
    out.push_str("use bir::ops::*;\nuse bir::{Instruction, Op};\n\nuse crate::read::Member;\n\n");
    let (mut read, mut put_arms) = (String::new(), String::new());
    for op in &tables.ops.op {
        let name = &op.name;
        let place = match storage(op) {
            Storage::Unit => continue,
            Storage::Inline => "op",
            Storage::Boxed => "&mut **op",
        };
        let _ = writeln!(read, "Op::{name}(op) => r.op_members({place}, members, extra),");
        let _ = writeln!(put_arms, "Op::{name}(op) => put_{}(self, inst, op),", super::tables::snake(name));
    }
    let unit = "members.iter().try_for_each(|m| r.unknown_op_member(m, extra))";
    let _ = write!(
        out,
        "/// Reads members of an instruction that are not in the header into the op; what it has keeps its value otherwise.
pub(crate) fn read_op(op: &mut Op, r: &mut Reader<'_>, members: &[Member<'_>], extra: &mut Extra) -> Result<()> {{
match op {{ {read} _ => {unit}, }}
}}

impl<'a> Object<'a, '_, '_> {{
/// Puts all members of an instruction.
pub(crate) fn put_instruction(&mut self, inst: &'a Instruction) {{
match &inst.op {{ {put_arms} _ => self.header(inst, 0..{}), }}
}}
}}\n\n",
        headers.len()
    );
    code_value(&mut out, tables);
    for op in tables.ops.op.iter().filter(|op| !op.field.is_empty()) {
        reader(&mut out, &op.name, &op.name, &op.field, None, false)?;
        put_op(&mut out, op, &headers)?;
    }
    Ok(out)
}

/// The function that writes an instruction of one op: runs of header keys, and the keys of the op between them.
fn put_op(out: &mut String, op: &Op, headers: &[String]) -> Result<()> {
    let _ = writeln!(
        out,
        "fn put_{}<'a>(o: &mut Object<'a, '_, '_>, inst: &'a Instruction, op: &'a {}) {{",
        super::tables::snake(&op.name),
        op.name
    );
    let mut fields: Vec<&Field> = op.field.iter().collect();
    fields.sort_by(|a, b| a.key.cmp(&b.key));
    let mut done = 0;
    for field in fields {
        let upto = headers.partition_point(|key| *key < field.key);
        if upto > done {
            let _ = writeln!(out, "o.header(inst, {done}..{upto});");
            done = upto;
        }
        let mut put = put(&op.name, field, "op")?;
        if let Some(number) = op.field.iter().filter(|f| f.is_code()).position(|f| f.key == field.key) {
            for form in ["put", "put_some", "put_or_null"] {
                put = put.replace(&format!("o.{form}("), &format!("o.{form}_code({number}, "));
            }
        }
        let _ = writeln!(out, "{put}");
    }
    let _ = writeln!(out, "o.header(inst, {done}..{});\n}}\n", headers.len());
    Ok(())
}

/// The function that writes the value of a key about code, by its number among those of the op.
fn code_value(out: &mut String, tables: &Tables) {
    let mut arms = String::new();
    for op in &tables.ops.op {
        for (number, field) in op.field.iter().filter(|field| field.is_code()).enumerate() {
            let (name, field_name) = (&op.name, field.rust_name());
            let value =
                if field.optional() { ".iter().for_each(|value| value.write(self))" } else { ".write(self)" };
            let _ = writeln!(arms, "(Op::{name}(op), {number}) => op.{field_name}{value},");
        }
    }
    let _ = write!(
        out,
        "impl<'a> Writer<'a, '_> {{
/// Writes the value of a key that names code, or is a body, by its number among such keys of the op.
pub(crate) fn code_value(&mut self, op: &'a Op, number: u8) {{
match (op, number) {{ {arms} _ => unreachable!(\"numbers are of keys that were written\") }}
}}
}}\n\n"
    );
}
