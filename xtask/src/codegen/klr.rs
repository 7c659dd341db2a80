//! Generates the types of the `klr` crate from klr.toml and klr-frontend.toml.
//!
//! One module for the Core schemas 2.24 and head, which differ in added fields only, one for each front-end tree and
//! version, where one tag means different types, and the table that says which payload a file holds.

pub(super) mod names;
mod schema;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::{Output, Spec, header};
use names::{camel, snake};
use schema::{Core, CtorRow, Field, Frontend, Kind, Schema, TypeRow};

/// Records with conditions of their own, besides those with Prop fields (spec: klr 3.1, 4).
const CHECKED: [&str; 2] = ["KLRFile", "KLRMetaData"];

/// Records that recur in a file and are held by reference, so that equal ones can be one.
const SHARED: [&str; 1] = ["TensorName"];

/// Records whose lists recur in a file.
const LISTED: [&str; 1] = ["APPair"];

const CORE: &str = "klr.toml";
const FRONTEND: &str = "klr-frontend.toml";

pub(super) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let core: Core = spec.table(CORE)?;
    let frontend: Frontend = spec.table(FRONTEND)?;
    let mut outputs = vec![output("ir", core_module(&core)?)];
    for version in ["0.0.12", "head"] {
        let schema = frontend.schema.iter().find(|schema| schema.version == version);
        let schema = schema.with_context(|| format!("{FRONTEND} has no schema {version}"))?;
        for tree in ["nki", "python"] {
            let name = format!("{tree}_{}", version.replace('.', "_"));
            outputs.push(output(&name, frontend_module(schema, tree)?));
        }
    }
    outputs.push(output("select", select_module(&core, &frontend)?));
    Ok(outputs)
}

fn output(module: &str, text: String) -> Output {
    Output { path: PathBuf::from(format!("crates/klr/src/generated/{module}.rs")), text }
}

/// Core: the types of schema head with the fields that 2.24 lacks as a group, and Contents left to the container.
fn core_module(core: &Core) -> Result<String> {
    let find = |version: &str| {
        let schema = core.schema.iter().find(|schema| schema.version == version);
        schema.with_context(|| format!("{CORE} has no schema {version}"))
    };
    let (base, head) = (find("2.24")?, find("head")?);
    let mut types = Vec::new();
    let mut groups = BTreeMap::new();
    for row in &base.types {
        let newer = head.types.iter().find(|newer| newer.name == row.name);
        let newer = newer.with_context(|| format!("{} is missing in schema head", row.name))?;
        let mut row = row.clone();
        if let Some(difference) = core.difference.iter().find(|difference| difference.name == row.name) {
            let at = difference.added.first().context("a difference adds fields")?.index;
            let added: Vec<Field> = newer.fields[at..at + difference.added.len()].to_vec();
            let mut rest = newer.fields.clone();
            rest.drain(at..at + added.len());
            ensure!(rest == row.fields, "{}: schema head is not 2.24 plus one group of fields", row.name);
            ensure!(
                difference.arity == [row.fields.len(), newer.fields.len()],
                "{}: arity of difference",
                row.name
            );
            let group = format!("{}Head", camel(&row.name));
            row.fields.insert(at, Field { name: String::new(), ty: format!("Added<{group}>") });
            groups.insert(row.name.clone(), (group, added));
        } else {
            ensure!(
                row.fields == newer.fields && row.ctors == newer.ctors,
                "{} differs between schemas",
                row.name
            );
        }
        if row.name != "Contents" {
            types.push(row);
        }
    }
    let mut text = header(CORE);
    text.push_str("//! The kernel IR: types of the Core schemas 2.24 and head (spec: klr 2).\n\n");
    let module = Module { types: &types, groups, lowering: &core.lowering };
    module.write(&mut text, "core")?;
    Ok(text)
}

fn frontend_module(schema: &Schema, tree: &str) -> Result<String> {
    // The container belongs to all versions: spec klr 13.2.
    const CONTAINER: [&str; 3] = ["KLRFile", "KLRMetaData", "Contents"];
    let types: Vec<TypeRow> = schema
        .types
        .iter()
        .filter(|row| row.tree == tree || row.tree == "common")
        .filter(|row| !CONTAINER.contains(&row.name.as_str()))
        .filter(|row| tree == "nki" || row.name != "Edges")
        .cloned()
        .collect();
    let mut text = header(FRONTEND);
    let title = if tree == "nki" { "NKI" } else { "Python" };
    writeln!(
        text,
        "//! Front-end tree of {title} kernels, schema {} ({}; spec: klr 13).\n",
        schema.version, schema.dates
    )?;
    let module = Module { types: &types, groups: BTreeMap::new(), lowering: &[] };
    module.write(&mut text, &format!("{tree} {}", schema.version))?;
    Ok(text)
}

fn select_module(core: &Core, frontend: &Frontend) -> Result<String> {
    let mut text = header(FRONTEND);
    text.push_str("use crate::container::{Module, Peek, Select};\n");
    text.push_str("use crate::node::{Ctor, Kind, TypeInfo};\n\n");
    let schema = core.schema.first().context("the table has a schema")?;
    writeln!(text, "/// The version that files of all schemas have.")?;
    writeln!(text, "pub(crate) const FILE_VERSION: [u64; 3] = {:?};\n", schema.file_version)?;
    let formats: Vec<&str> =
        frontend.schema.iter().filter_map(|schema| schema.metadata_format.as_deref()).collect();
    writeln!(text, "/// The formats that known writers put into the metadata.")?;
    writeln!(text, "pub(crate) const FORMATS: &[&str] = &{formats:?};\n")?;
    let contents = schema.types.iter().find(|row| row.name == "Contents").context("no type Contents")?;
    writeln!(text, "pub(crate) const CONTENTS_TAG: u8 = {};\n", contents.tag)?;
    writeln!(text, "/// `Contents` as schemas 2.24 and head number it.")?;
    writeln!(text, "pub(crate) static CONTENTS: TypeInfo = TypeInfo {{")?;
    writeln!(
        text,
        "name: {:?}, kind: Kind::Union, tag: Some(CONTENTS_TAG), lo: 0, ctors: &[",
        contents.name
    )?;
    for ctor in &contents.ctors {
        let print = ctor.print.as_ref().unwrap_or(&ctor.name);
        let (name, arity) = (&ctor.name, ctor.fields.len());
        writeln!(text, "Ctor {{ name: {name:?}, print: {print:?}, arity: {arity}, added: &[] }},")?;
    }
    writeln!(text, "] }};\n")?;
    text.push_str("/// Which payload the contents of a file have; the first row that matches counts (spec: klr 13.2).\n");
    text.push_str("pub(crate) static SELECT: &[Select] = &[\n");
    for row in &frontend.select {
        let peek = if row.peek == "text" {
            "Peek::Text".to_string()
        } else {
            let bytes = row.peek.split(' ').map(|byte| format!("0x{byte}")).collect::<Vec<_>>();
            ensure!(bytes.len() == 4, "peek of {} is not four bytes", row.contents);
            format!("Peek::Bytes([{}])", bytes.join(", "))
        };
        let module = match (row.module.as_str(), row.contents.as_str()) {
            ("core", "kernel" | "lnc") => camel(&row.contents),
            ("core", _) => "Mislabelled".to_string(),
            ("string", _) => "Hlo".to_string(),
            (module, _) => camel(module),
        };
        writeln!(
            text,
            "Select {{ lo: {}, peek: {peek}, contents: {:?}, schema: {:?}, module: Module::{module}, diagnose: {} }},",
            row.contents_lo, row.contents, row.version, row.diagnose
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}

/// The types of one generated module.
struct Module<'t> {
    types: &'t [TypeRow],
    /// Groups of added fields by type: name of the group and its fields.
    groups: BTreeMap<String, (String, Vec<Field>)>,
    lowering: &'t [schema::Lowering],
}

impl Module<'_> {
    fn write(&self, text: &mut String, title: &str) -> Result<()> {
        let uses = ["choice", "group", "record", "types", "union"];
        let groups = !self.groups.is_empty();
        let macros: Vec<&str> = uses.into_iter().filter(|name| groups || *name != "group").collect();
        writeln!(text, "use crate::macros::{{{}}};", macros.join(", "))?;
        let used = |word: &str| self.types.iter().any(|row| row.all_fields().any(|f| f.ty.contains(word)));
        let values = [("Added<", "Added"), ("Float", "Float"), ("Prop", "Prop"), ("Double", "Real")];
        let values: Vec<&str> =
            values.into_iter().filter(|(word, _)| used(word)).map(|(_, name)| name).collect();
        if !values.is_empty() {
            writeln!(text, "use crate::node::{{{}}};", values.join(", "))?;
        }
        for row in self.types {
            text.push('\n');
            self.write_type(text, row).with_context(|| format!("{title}: {}", row.name))?;
        }
        if !self.lowering.is_empty() {
            self.write_lowered(text)?;
        }
        writeln!(text, "\ntypes! {{")?;
        for row in self.types {
            let lifetime = if self.needs_lifetime(&row.name) { "<'_>" } else { "" };
            writeln!(text, "{}{lifetime},", rust_name(&row.name))?;
        }
        writeln!(text, "}}")?;
        Ok(())
    }

    fn write_type(&self, text: &mut String, row: &TypeRow) -> Result<()> {
        let name = rust_name(&row.name);
        let lifetime = if self.needs_lifetime(&row.name) { "<'a>" } else { "" };
        let min = self.min_bytes(&row.name);
        match row.kind {
            Kind::Struct => {
                let plus = self.groups.get(&row.name);
                if let Some((group, fields)) = plus {
                    writeln!(text, "group! {{")?;
                    writeln!(text, "    /// What schema head adds to `{}`.", row.name)?;
                    writeln!(text, "    {group} {{")?;
                    for field in fields {
                        self.write_field(text, "        ", field, false)?;
                    }
                    writeln!(text, "    }}\n}}\n")?;
                }
                ensure!(row.arity == Some(row.fields.len() - usize::from(plus.is_some())), "arity");
                writeln!(text, "record! {{")?;
                writeln!(text, "    /// `{}`: record, tag {}.", row.name, row.tag)?;
                write!(text, "    {name}{lifetime} = {:?}, ", row.name)?;
                write!(text, "tag Some({}), lo {}, arity {}", row.tag, row.lo, row.arity.unwrap_or(0))?;
                if let Some((_, fields)) = plus {
                    let names: Vec<String> = fields.iter().map(|field| format!("{:?}", field.name)).collect();
                    write!(text, " + [{}]", names.join(", "))?;
                }
                write!(text, ", min {min}")?;
                if row.fields.iter().any(|field| field.ty == "Prop") || CHECKED.contains(&row.name.as_str()) {
                    write!(text, ", check {name}")?;
                }
                if SHARED.contains(&row.name.as_str()) {
                    write!(text, ", shared {name}")?;
                }
                if LISTED.contains(&row.name.as_str()) {
                    write!(text, ", listed {name}")?;
                }
                writeln!(text, " {{")?;
                for field in &row.fields {
                    self.write_field(text, "        ", field, false)?;
                }
                writeln!(text, "    }}\n}}")?;
            }
            Kind::Union => {
                writeln!(text, "union! {{")?;
                writeln!(text, "    /// `{}`: union, tag {}.", row.name, row.tag)?;
                let deep = self.contains_itself(&row.name);
                writeln!(
                    text,
                    "    {name}{lifetime} = {:?}, tag {}, min {min}, deep {deep} {{",
                    row.name, row.tag
                )?;
                for (lo, ctor) in row.ctors.iter().enumerate() {
                    ensure!(ctor.lo == lo && ctor.mem == lo + 1, "constructors are not in wire order");
                    ensure!(ctor.arity == Some(ctor.fields.len()), "arity of {}", ctor.name);
                    self.write_ctor(text, row, ctor)?;
                }
                writeln!(text, "    }}\n}}")?;
            }
            Kind::Enum => {
                writeln!(text, "choice! {{")?;
                writeln!(text, "    /// `{}`: enum, tag {}.", row.name, row.tag)?;
                writeln!(text, "    {name} = {:?}, tag {} {{", row.name, row.tag)?;
                for (lo, ctor) in row.ctors.iter().enumerate() {
                    ensure!(ctor.lo == lo && ctor.mem == lo + 1, "constructors are not in wire order");
                    writeln!(text, "        {} = {:?},", camel(&ctor.name), ctor.name)?;
                }
                writeln!(text, "    }}\n}}")?;
            }
        }
        Ok(())
    }

    /// Which operators the 2.24 consumer takes.
    fn write_lowered(&self, text: &mut String) -> Result<()> {
        let refused: Vec<String> =
            self.lowering.iter().filter(|row| !row.lowered).map(|row| row.wire.to_string()).collect();
        writeln!(text, "\nimpl Operator<'_> {{")?;
        writeln!(text, "    /// Whether the operator has a BIR form (spec: klr 8).")?;
        writeln!(text, "    #[must_use]")?;
        writeln!(text, "    pub const fn is_lowered(&self) -> bool {{")?;
        writeln!(text, "        !matches!(self.wire(), {})", refused.join(" | "))?;
        writeln!(text, "    }}\n}}")?;
        Ok(())
    }

    fn write_ctor(&self, text: &mut String, row: &TypeRow, ctor: &CtorRow) -> Result<()> {
        if row.name == "Operator"
            && let Some(lowering) = self.lowering.iter().find(|lowering| lowering.wire == ctor.lo)
        {
            let target = match &lowering.bir[..] {
                [] => "not lowered to BIR".to_string(),
                list => {
                    let names: Vec<String> = list.iter().map(|target| format!("`{}`", target.inst)).collect();
                    format!("lowered to {}", names.join(" or "))
                }
            };
            writeln!(text, "        ///\n        /// Kind {}, {target}.", lowering.kind)?;
        }
        let print = ctor.print.clone().unwrap_or_else(|| ctor.name.clone());
        let variant = camel(&ctor.name);
        write!(text, "        {} {variant} = {:?}, {print:?}, {}", ctor.lo, ctor.name, ctor.fields.len())?;
        let boxed = row.ctors.len() > 1;
        match &ctor.fields[..] {
            [] => writeln!(text, ",")?,
            [field] => {
                let ty = self.rust_type(&field.ty, boxed)?;
                writeln!(text, " ({}: {ty} = {:?}),", snake(&field.name), field.name)?;
            }
            fields => {
                writeln!(text, " {{")?;
                for field in fields {
                    self.write_field(text, "            ", field, boxed)?;
                }
                writeln!(text, "        }},")?;
            }
        }
        Ok(())
    }

    fn write_field(&self, text: &mut String, indent: &str, field: &Field, boxed: bool) -> Result<()> {
        let ty = self.rust_type(&field.ty, boxed)?;
        let name = if field.name.is_empty() { "head".to_string() } else { snake(&field.name) };
        writeln!(text, "{indent}{name}: {ty} = {:?},", field.name)?;
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&TypeRow> {
        self.types.iter().find(|row| row.name == name)
    }

    /// The Rust type of a field. In a union with several constructors records are held by reference (`boxed`): that
    /// keeps the union small and makes types that contain themselves possible.
    fn rust_type(&self, ty: &str, boxed: bool) -> Result<String> {
        if let Some(inner) = generic(ty, "List") {
            let element = self.rust_type(inner, false)?;
            let plain = if SHARED.contains(&inner) { element.trim_start_matches("&'a ") } else { &element };
            return Ok(format!("&'a [{plain}]"));
        }
        if let Some(inner) = generic(ty, "Option") {
            return Ok(format!("Option<{}>", self.rust_type(inner, boxed)?));
        }
        if let Some(inner) = generic(ty, "Pair") {
            let (a, b) = inner.split_once(',').context("a pair has two types")?;
            return Ok(format!("({}, {})", self.rust_type(a, false)?, self.rust_type(b.trim(), false)?));
        }
        if ty.starts_with("Added<") {
            return Ok(ty.to_string());
        }
        if let Some((name, _)) = primitive(ty) {
            return Ok(name.to_string());
        }
        let row = self.find(ty).with_context(|| format!("unknown type {ty}"))?;
        let name = rust_name(&row.name);
        let reference = (boxed && row.kind == Kind::Struct) || SHARED.contains(&row.name.as_str());
        let lifetime = if self.needs_lifetime(ty) { "<'a>" } else { "" };
        Ok(format!("{}{name}{lifetime}", if reference { "&'a " } else { "" }))
    }

    /// Whether the type borrows from the input or the arena.
    fn needs_lifetime(&self, name: &str) -> bool {
        let boxes = |row: &TypeRow| {
            row.kind == Kind::Union
                && row.ctors.len() > 1
                && row.all_fields().any(|field| {
                    base(&field.ty)
                        .iter()
                        .any(|ty| self.find(ty).is_some_and(|other| other.kind == Kind::Struct))
                })
        };
        self.reachable(name).iter().any(|name| {
            self.find(name).is_some_and(|row| {
                boxes(row)
                    || row.all_fields().any(|field| field.ty.contains("List<") || field.ty.contains("String"))
            })
        })
    }

    /// The type and all types below it.
    fn reachable(&self, name: &str) -> Vec<String> {
        let mut seen = vec![name.to_string()];
        let mut next = 0;
        while next < seen.len() {
            if let Some(row) = self.find(&seen[next]) {
                for ty in row.all_fields().flat_map(|field| base(&field.ty)) {
                    if self.find(ty).is_some() && !seen.iter().any(|name| name == ty) {
                        seen.push(ty.to_string());
                    }
                }
            }
            next += 1;
        }
        seen
    }

    fn contains_itself(&self, name: &str) -> bool {
        let row = self.find(name).expect("the type is in the module");
        row.all_fields()
            .flat_map(|field| base(&field.ty))
            .any(|ty| self.find(ty).is_some() && self.reachable(ty).iter().any(|below| below == name))
    }

    /// The fewest bytes a value takes on the wire: the least fixed point over the types.
    fn min_bytes(&self, name: &str) -> usize {
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        loop {
            let mut changed = false;
            for row in self.types {
                let sum = |fields: &[Field]| -> Option<usize> {
                    fields.iter().map(|field| field_min(&field.ty, &known)).sum::<Option<usize>>()
                };
                let min = match row.kind {
                    Kind::Enum => Some(4),
                    Kind::Struct => sum(&row.fields).map(|sum| sum + 4),
                    Kind::Union => {
                        row.ctors.iter().filter_map(|ctor| sum(&ctor.fields)).min().map(|sum| sum + 4)
                    }
                };
                if let Some(min) = min
                    && known.get(row.name.as_str()) != Some(&min)
                {
                    known.insert(&row.name, min);
                    changed = true;
                }
            }
            if !changed {
                return known[name];
            }
        }
    }
}

fn field_min(ty: &str, known: &BTreeMap<&str, usize>) -> Option<usize> {
    if ty.starts_with("List<") {
        Some(1)
    } else if ty.starts_with("Option<") {
        Some(4)
    } else if ty.starts_with("Added<") {
        Some(0)
    } else if let Some(inner) = generic(ty, "Pair") {
        let (a, b) = inner.split_once(',')?;
        Some(1 + field_min(a, known)? + field_min(b.trim(), known)?)
    } else if let Some((_, min)) = primitive(ty) {
        Some(min)
    } else {
        known.get(ty).copied()
    }
}

/// Rust name and fewest bytes of a primitive.
fn primitive(ty: &str) -> Option<(&'static str, usize)> {
    Some(match ty {
        "Bool" => ("bool", 1),
        "Nat" => ("u64", 1),
        "Int" => ("i64", 1),
        "Float" => ("Float", 5),
        "Double" => ("Real", 5),
        "String" => ("&'a str", 1),
        "Prop" => ("Prop", 0),
        _ => return None,
    })
}

/// The argument of `Word<...>`.
fn generic<'t>(ty: &'t str, word: &str) -> Option<&'t str> {
    ty.strip_prefix(word)?.strip_prefix('<')?.strip_suffix('>')
}

/// The schema types named in a field type.
fn base(ty: &str) -> Vec<&str> {
    ty.split(['<', '>', ',', ' ']).filter(|word| !word.is_empty()).collect()
}

/// `NKI.Expr_` is `ExprKind`: the trailing underscore stands for the prime of the Lean name.
fn rust_name(name: &str) -> String {
    let name = name.rsplit('.').next().expect("split gives one part");
    match name.strip_suffix('_') {
        Some(name) => format!("{}Kind", camel(name)),
        None => camel(name),
    }
}
