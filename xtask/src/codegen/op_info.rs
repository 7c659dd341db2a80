//! Generates the facts of every op beside its keys: class, engines, architectures, words, and the sets it is in.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::condition::Conditions;
use super::roles::conf;
use super::tables::{Op, Tables, camel, doc_comment, sentence, variant};
use super::{Output, Spec, header};

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let mut out = header("opcodes.toml");
    out.push_str(
        "//! Facts of every op beside its keys, and the sets of instructions that passes ask for.\n\n\
         use crate::condition::*;\nuse crate::conf::{Conf, Known};\nuse crate::generated::enums::*;\nuse crate::generated::ops::Op;\n\
         use crate::inst::Instruction;\nuse crate::op_info::*;\n\n",
    );
    words(&mut out, &tables, "Category", "What becomes of an op.", |op| &op.category);
    words(&mut out, &tables, "Family", "Ops of one kind.", |op| &op.family);
    let _ = write!(
        out,
        "/// By ordinal of the op.\npub(crate) static OPS: [OpInfo; {}] = [\n",
        tables.ops.op.len()
    );
    let mut conditions = Conditions::new(&tables);
    for (at, op) in tables.ops.op.iter().enumerate() {
        ensure!(op.ordinal as usize == at, "{} is out of place", op.name);
        let row = row(&tables, op, &mut conditions).with_context(|| format!("op {}", op.name))?;
        out.push_str(&row);
    }
    out.push_str("];\n\n");
    predicates(&mut out, &tables, &mut conditions)?;
    bitvec(&mut out, &tables)?;
    out.push_str(&conditions.text());
    Ok(vec![Output { path: PathBuf::from("crates/bir/src/generated/op_info.rs"), text: out }])
}

/// An enum of the words of one column.
fn words<'a>(
    out: &mut String,
    tables: &'a Tables,
    name: &str,
    doc: &str,
    column: impl Fn(&'a Op) -> &'a str,
) {
    let mut all: Vec<&str> = tables.ops.op.iter().map(column).collect();
    all.sort_unstable();
    all.dedup();
    let (mut variants, mut names) = (String::new(), String::new());
    for word in all {
        let _ = writeln!(variants, "/// `{word}`.\n{},", camel(word));
        let _ = writeln!(names, "{name}::{} => {word:?},", camel(word));
    }
    let _ = write!(
        out,
        "/// {doc} spec: opcodes 1
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum {name} {{
{variants}}}

impl {name} {{
/// The word of the table.
pub fn name(self) -> &'static str {{
match self {{ {names} }}
}}
}}\n\n"
    );
}

/// The ALU ops that work on bits.
fn bitvec(out: &mut String, tables: &Tables) -> Result<()> {
    let alu = tables.enums.iter().find(|e| e.name == "AluOpType").context("no AluOpType")?;
    let ops = alu.value.iter().filter(|v| v.op_class.as_deref() == Some("bitvec"));
    let ops: Vec<_> = ops.map(|v| format!("AluOpType::{}", variant(v.wire()))).collect();
    let _ = write!(
        out,
        "/// ALU ops that work on bits: `op_class` bitvec of enums.toml.
pub(crate) const BITVEC: &[AluOpType] = &[{}];\n\n",
        ops.join(", ")
    );
    Ok(())
}

/// The words of an op by condition. A generation in a condition becomes a column of its own.
fn select(op: &Op, conditions: &mut Conditions<'_>) -> Result<Option<String>> {
    let mut rows = String::new();
    for entry in &op.select_code {
        let is_generation = |term: &&str| term.starts_with("gen == v");
        let (generations, rest): (Vec<&str>, Vec<&str>) =
            entry.when.split(" and ").filter(|term| !term.is_empty()).partition(is_generation);
        let generation = match generations[..] {
            [] => "None".to_owned(),
            [term] => format!("Some({})", term.trim_start_matches("gen == v").parse::<u32>()?),
            _ => bail!("{}: two generations", entry.when),
        };
        let when = conditions.condition(op, &rest.join(" and "))?;
        let _ =
            writeln!(rows, "Select {{ when: {when}, generation: {generation}, words: &{:?} }},", entry.words);
    }
    Ok((!rows.is_empty()).then(|| format!("&[{rows}]")))
}

fn row(tables: &Tables, op: &Op, conditions: &mut Conditions<'_>) -> Result<String> {
    let parent = match op.parent.as_str() {
        "Instruction" => None,
        class => {
            let parent = tables.ops.op.iter().find(|other| other.class == class);
            let parent = parent.with_context(|| format!("no class {class}"))?;
            Some(format!("Some(InstructionType::{})", variant(&parent.name)))
        }
    };
    let engine = |name: &String| format!("EngineType::{}", variant(name));
    let default_engine = match (&op.default_engine, &op.default_engine_conf) {
        (Some(name), Some(letter)) => Some(known(&engine(name), letter)?),
        _ => None,
    };
    let engines = match (&op.verifier_engines, &op.verifier_engines_conf) {
        (Some(names), Some(letter)) => {
            let names: Vec<_> = names.iter().map(engine).collect();
            Some(known(&format!("&[{}]", names.join(", ")), letter)?)
        }
        _ => None,
    };
    let arch = |level: Option<u32>| -> Result<Option<String>> {
        let Some(level) = level else { return Ok(None) };
        let arch = tables.enums.iter().find(|e| e.name == "ArchLevel").context("no ArchLevel")?;
        let value =
            arch.value.iter().find(|v| v.ordinal == level).with_context(|| format!("no level {level}"))?;
        let letter = op.arch_conf.as_deref().context("no arch_conf")?;
        Ok(Some(known(&format!("ArchLevel::{}", variant(value.wire())), letter)?))
    };
    let flag = |value: bool| value.then(|| "true".to_owned());
    let text = |text: &Option<String>| text.as_ref().map(|text| format!("{text:?}"));
    let wire = [&op.wire_v2, &op.wire_v3, &op.wire_v4];
    let has_words = wire.iter().any(|bytes| !bytes.is_empty());
    let rare = [
        ("parent", parent),
        ("is_abstract", flag(op.is_abstract)),
        ("header_only", flag(op.header_only)),
        ("keyless", flag(op.keyless)),
        ("nested_body", flag(op.nested_body)),
        ("terminator", flag(op.terminator)),
        ("wire", has_words.then(|| format!("[&{:?}, &{:?}, &{:?}]", wire[0], wire[1], wire[2]))),
        ("wire_select", text(&op.wire_select)),
        ("select", select(op, conditions)?),
        ("default_engine", default_engine),
        ("engines", engines),
        ("arch_min", arch(op.arch_min)?),
        ("arch_max", arch(op.arch_max)?),
        ("note", text(&op.note)),
    ];
    let rare = rare.into_iter().filter_map(|(key, value)| Some(format!("{key}: {},\n", value?)));
    Ok(format!(
        "OpInfo {{ {}..OpInfo::plain(InstructionType::{}, {:?}, Family::{}, Category::{}, {}, {}) }},\n",
        rare.collect::<String>(),
        variant(&op.name),
        op.class,
        camel(&op.family),
        camel(&op.category),
        bundles(&op.bundles)?,
        conf(&op.conf)?,
    ))
}

fn known(value: &str, letter: &str) -> Result<String> {
    Ok(format!("Some(Known {{ value: {value}, conf: {} }})", conf(letter)?))
}

/// `1`, `1-2`, `>=2`, `any`, `1 per active engine`.
fn bundles(text: &str) -> Result<String> {
    let (text, per_engine) = match text.strip_suffix(" per active engine") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (min, max) = match (text.strip_prefix(">="), text.split_once('-')) {
        _ if text == "any" => (0, None),
        (Some(min), _) => (min.parse()?, None),
        (None, Some((min, max))) => (min.parse()?, Some(max.parse::<u32>()?)),
        (None, None) => match text.parse::<u32>() {
            Ok(n) => (n, Some(n)),
            Err(_) => bail!("{text} is no number of bundles"),
        },
    };
    Ok(format!("Bundles {{ min: {min}, max: {max:?}, per_engine: {per_engine} }}"))
}

fn predicates(out: &mut String, tables: &Tables, conditions: &mut Conditions<'_>) -> Result<()> {
    let (mut variants, mut names, mut members) = (String::new(), String::new(), String::new());
    for predicate in &tables.ops.predicate {
        let name = camel(&predicate.name);
        let mut doc = format!("{} Confidence {}.", sentence(&predicate.description), predicate.conf);
        if let Some(note) = &predicate.note {
            let _ = write!(doc, "\n\n{}", sentence(note));
        }
        let _ = writeln!(variants, "{}{name},", doc_comment("", &doc));
        let _ = writeln!(names, "Predicate::{name} => {:?},", predicate.name);
        let _ = writeln!(members, "Predicate::{name} => const {{ &[");
        for member in &predicate.members {
            let op = tables.ops.op.iter().find(|op| op.name == member.op);
            let op = op.with_context(|| format!("no op {}", member.op))?;
            let when = conditions.condition(op, &member.when)?;
            let _ = writeln!(members, "(InstructionType::{}, {when}),", variant(&op.name));
        }
        members.push_str("] },\n");
    }
    let all: Vec<_> = tables.ops.predicate.iter().map(|p| format!("Predicate::{}", camel(&p.name))).collect();
    let _ = write!(
        out,
        "/// A set of instructions that passes ask for. spec: opcodes 2
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Predicate {{
{variants}}}

impl Predicate {{
/// All predicates.
pub const ALL: &'static [Predicate] = &[{}];

/// The word of the table.
pub fn name(self) -> &'static str {{
match self {{ {names} }}
}}

/// The ops that can be in the set, and when their instructions are.
pub(crate) fn members(self) -> &'static [(InstructionType, Condition)] {{
match self {{ {members} }}
}}
}}\n\n",
        all.join(", ")
    );
    Ok(())
}
