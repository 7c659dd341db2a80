//! Generates the hardware targets: memory geometry and limits of each architecture, and the engines.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::roles::conf;
use super::tables::{Tables, sentence, variant};
use super::{Output, Spec, header};

#[derive(Deserialize)]
struct TargetTable {
    fact: Vec<Fact>,
    common: toml::Table,
    target: Vec<Target>,
    engine: Vec<Engine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    key: String,
    #[serde(rename = "type")]
    ty: String,
    unit: String,
    conf: String,
    spec: String,
    doc: String,
}

#[derive(Deserialize)]
struct Target {
    arch: String,
    runtime_name: String,
    device: String,
    core: String,
    #[serde(default)]
    stub: bool,
    #[serde(default)]
    unknown: Vec<String>,
    #[serde(flatten)]
    columns: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Engine {
    name: String,
    kernel_name: Option<String>,
    datapath: bool,
    wire: Option<u8>,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let table: TargetTable = spec.table("targets.toml")?;
    let mut out = header("targets.toml");
    out.push_str(
        "//! Memory geometry and limits of every target, and the engines.\n\n\
         use crate::conf::Conf;\nuse crate::generated::enums::{ArchLevel, EngineType};\nuse crate::target::*;\n\n",
    );
    structure(&mut out, &table)?;
    out.push_str(
        "/// Every target whose geometry is known, by level.\npub(crate) static TARGETS: &[Target] = &[\n",
    );
    for target in table.target.iter().filter(|target| !target.stub) {
        let row = row(&table, target).with_context(|| format!("target {}", target.arch))?;
        out.push_str(&row);
    }
    out.push_str("];\n\n");
    engines(&mut out, &tables, &table)?;
    Ok(vec![Output { path: PathBuf::from("crates/bir/src/generated/targets.rs"), text: out }])
}

fn structure(out: &mut String, table: &TargetTable) -> Result<()> {
    let (mut fields, mut facts) = (String::new(), String::new());
    for fact in &table.fact {
        let Fact { key, ty, unit, conf: letter, spec, doc } = fact;
        let ty = match ty.as_str() {
            "starts" => "&'static [Starts]",
            other => other,
        };
        let text = sentence(doc);
        let _ = writeln!(fields, "/// {text} Confidence {letter}, spec: {spec}.\npub {key}: {ty},");
        let _ = writeln!(
            facts,
            "Fact {{ name: {key:?}, unit: {unit:?}, conf: {}, spec: {spec:?}, doc: {doc:?} }},",
            conf(letter)?
        );
    }
    let _ = write!(
        out,
        "/// Memory geometry and limits of an architecture.
#[derive(Debug)]
pub struct Target {{
/// The architecture.
pub arch: ArchLevel,
/// Its name in the runtime.
pub runtime_name: &'static str,
/// Its device.
pub device: &'static str,
/// Its core.
pub core: &'static str,
/// Fields that are not known of this target; their values mean nothing.
pub unknown: &'static [&'static str],
{fields}}}

impl Target {{
/// What the fields of a target mean, how sure they are, and where they come from.
pub const FACTS: &'static [Fact] = &[{facts}];
}}\n\n"
    );
    Ok(())
}

fn row(table: &TargetTable, target: &Target) -> Result<String> {
    let mut values = String::new();
    for fact in &table.fact {
        let value = match (table.common.get(&fact.key), target.columns.get(&fact.key)) {
            (Some(value), None) | (None, Some(value)) => value,
            _ => bail!("{} must stand either in the target or in common", fact.key),
        };
        let value = match (&*fact.ty, value) {
            ("u64", toml::Value::Integer(value)) => value.to_string(),
            ("bool", toml::Value::Boolean(value)) => value.to_string(),
            ("starts", toml::Value::Array(rules)) => starts(rules)?,
            _ => bail!("{} is no {}", fact.key, fact.ty),
        };
        let _ = writeln!(values, "{}: {value},", fact.key);
    }
    for key in target.columns.keys().chain(&target.unknown) {
        ensure!(table.fact.iter().any(|fact| fact.key == *key), "no fact describes {key}");
    }
    Ok(format!(
        "Target {{ arch: ArchLevel::{}, runtime_name: {:?}, device: {:?}, core: {:?}, unknown: &{:?},\n{values} }},\n",
        variant(&target.arch),
        target.runtime_name,
        target.device,
        target.core,
        target.unknown
    ))
}

fn starts(rules: &[toml::Value]) -> Result<String> {
    let mut out = "&[".to_owned();
    for rule in rules {
        let partitions = rule.get("partitions").and_then(toml::Value::as_integer).context("no partitions")?;
        let starts = rule.get("starts").and_then(toml::Value::as_array).context("no starts")?;
        let starts: Vec<_> = starts.iter().map(ToString::to_string).collect();
        let _ = write!(out, "Starts {{ partitions: {partitions}, starts: &[{}] }},", starts.join(", "));
    }
    Ok(out + "]")
}

fn engines(out: &mut String, tables: &Tables, table: &TargetTable) -> Result<()> {
    let known = &tables.enums.iter().find(|e| e.name == "EngineType").context("no EngineType")?.value;
    ensure!(known.len() == table.engine.len(), "one row for every engine");
    let _ = write!(
        out,
        "/// By ordinal of the engine.\npub(crate) static ENGINES: [EngineInfo; {}] = [\n",
        known.len()
    );
    for (engine, value) in table.engine.iter().zip(known) {
        ensure!(engine.name == value.wire(), "{} stands where {} belongs", engine.name, value.wire());
        let profile = value.external_name.as_deref().context("no external name")?;
        let _ = writeln!(
            out,
            "EngineInfo {{ engine: EngineType::{}, profile_name: {profile:?}, kernel_name: {:?}, datapath: {}, wire: {:?} }},",
            variant(&engine.name),
            engine.kernel_name,
            engine.datapath,
            engine.wire
        );
    }
    out.push_str("];\n");
    Ok(())
}
