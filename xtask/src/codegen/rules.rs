//! Generates the rules of the verifier and the engines, memories and architectures of every op.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::roles::conf;
use super::tables::{Tables, variant};
use super::{Output, Spec, header};

#[derive(Deserialize)]
struct RuleTable {
    op_group: Vec<Group>,
    rule: Vec<Rule>,
    op: Vec<OpRow>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    members: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    title: String,
    layer: String,
    ops: Vec<String>,
    check: String,
    severity: String,
    conf: String,
    checkable: String,
    #[serde(rename = "src")]
    source: String,
    #[serde(default)]
    diag: String,
    #[serde(default)]
    public: Vec<String>,
    #[serde(rename = "origin")]
    _origin: Option<String>,
    code: Option<u32>,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    note: String,
    arch_min: Option<u32>,
    #[serde(default)]
    codes: Vec<u32>,
    owner: Option<String>,
    order_code: Option<String>,
    superseded_by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpRow {
    name: String,
    it: usize,
    engines: Vec<String>,
    #[serde(default, rename = "wildcard")]
    _wildcard: bool,
    arch_min: u32,
    arch_max: Option<u32>,
    #[serde(default)]
    mem_in: Vec<String>,
    #[serde(default)]
    mem_out: Vec<String>,
    conf: String,
    #[serde(default, rename = "src")]
    _source: String,
    #[serde(default)]
    note: String,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let table: RuleTable = spec.table("verify-rules.toml")?;
    let groups: BTreeMap<&str, &[String]> =
        table.op_group.iter().map(|group| (&*group.name, &group.members[..])).collect();
    let mut out = header("verify-rules.toml");
    out.push_str(
        "//! The rules of the verifier, and the engines, memories and architectures of every op.\n\n\
         use bir::Conf;\nuse bir::diag::Severity;\nuse bir::enums::{EngineType, InstructionType as It};\n\
         use bir::operands::Memories;\n\nuse crate::rule::{Checkable, Layer, OpRow, OpSet, RuleId, RuleInfo};\n\n",
    );
    let _ = writeln!(
        out,
        "/// Every rule, in the order of the table.\npub(crate) static RULES: [RuleInfo; {}] = [",
        table.rule.len()
    );
    for rule in &table.rule {
        out.push_str(&row(rule, &groups).with_context(|| format!("rule {}", rule.id))?);
    }
    out.push_str("];\n\n/// A handle for each rule.\npub mod ids {\nuse super::RuleId;\n");
    for (at, rule) in table.rule.iter().enumerate() {
        let name = rule.id.replace('-', "_");
        let _ = writeln!(out, "/// {}.\npub const {name}: RuleId = RuleId({at});", title(&rule.title));
    }
    out.push_str("}\n\n");
    ops(&mut out, &tables, &table)?;
    Ok(vec![Output { path: PathBuf::from("crates/bir-verify/src/generated/rules.rs"), text: out }])
}

fn title(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase()).into_iter();
    first.chain(chars).collect::<String>().trim_end_matches('.').replace('[', "\\[").replace(']', "\\]")
}

fn row(rule: &Rule, groups: &BTreeMap<&str, &[String]>) -> Result<String> {
    let layer = match &*rule.layer {
        "L1" => "Module",
        "L2" => "Word",
        "LNC" => "Cores",
        "ISA" => "Documented",
        "OWN" => "Own",
        other => bail!("unknown layer {other}"),
    };
    let severity = match &*rule.severity {
        "error" => "Error",
        "warning" => "Warning",
        "note" => "Note",
        other => bail!("unknown severity {other}"),
    };
    let checkable = match &*rule.checkable {
        "full" => "Full",
        "partial" => "Partial",
        "no" => "No",
        other => bail!("unknown degree {other}"),
    };
    let code = rule
        .code
        .map(|code| code.to_string())
        .unwrap_or_else(|| rule.codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    // Alternatives stand side by side; `||` belongs to a text.
    let diag: Vec<&str> = rule.diag.split(" | ").filter(|text| !text.is_empty()).collect();
    let mut out = format!(
        "RuleInfo {{ title: {:?}, code: {code:?}, diag: &{:?}, public: &{:?}, needs: {:?}, note: {:?}, source: {:?}, checkable: Checkable::{checkable}, severity: Severity::{severity}, ",
        rule.title, diag, rule.public, rule.needs, rule.note, rule.source,
    );
    if let Some(level) = rule.arch_min {
        let _ = write!(out, "arch_min: {level}, ");
    }
    match (rule.owner.as_deref(), &rule.order_code) {
        (Some("order"), Some(code)) => _ = write!(out, "order_code: Some({code:?}), "),
        (None, None) => {}
        _ => bail!("an owner other than order, or one without a code"),
    }
    if let Some(other) = &rule.superseded_by {
        let _ = write!(out, "superseded_by: Some({other:?}), ");
    }
    let _ = writeln!(
        out,
        "..RuleInfo::plain({:?}, Layer::{layer}, {}, {:?}, {}) }},",
        rule.id,
        op_set(&rule.ops, groups)?,
        rule.check,
        conf(&rule.conf)?
    );
    Ok(out)
}

fn op_set(ops: &[String], groups: &BTreeMap<&str, &[String]>) -> Result<String> {
    let special = match ops.iter().map(|op| &**op).collect::<Vec<_>>()[..] {
        ["*"] => Some("Any"),
        ["@module"] => Some("Module"),
        ["@module_set"] => Some("Cores"),
        ["@in_place"] => Some("InPlace"),
        ["@indirect"] => Some("Indirect"),
        _ => None,
    };
    if let Some(special) = special {
        return Ok(format!("OpSet::{special}"));
    }
    let mut members = Vec::new();
    for op in ops {
        match groups.get(&**op) {
            Some(group) => members.extend(group.iter().cloned()),
            None => members.push(op.clone()),
        }
    }
    ensure!(!members.is_empty() && members.iter().all(|op| !op.starts_with('@')), "an unknown group");
    let members: Vec<_> = members.iter().map(|op| format!("It::{}", variant(op))).collect();
    Ok(format!("OpSet::Of(&[{}])", members.join(", ")))
}

fn ops(out: &mut String, tables: &Tables, table: &RuleTable) -> Result<()> {
    let mut rows: BTreeMap<usize, &OpRow> = BTreeMap::new();
    for row in &table.op {
        let op = tables.ops.op.get(row.it).context("an ordinal without an op")?;
        ensure!(op.name == row.name, "{} has the ordinal of {}", row.name, op.name);
        rows.insert(row.it, row);
    }
    let _ = writeln!(
        out,
        "/// By ordinal of the op.\npub(crate) static OPS: [Option<OpRow>; {}] = [",
        tables.ops.op.len()
    );
    for it in 0..tables.ops.op.len() {
        let Some(row) = rows.get(&it) else {
            out.push_str("None,\n");
            continue;
        };
        let engines: Vec<_> = row.engines.iter().map(|e| format!("EngineType::{}", variant(e))).collect();
        let memories = |list: &[String]| {
            list.iter().fold("Memories::NONE".to_owned(), |all, m| format!("{all}.or(Memories::{m})"))
        };
        let _ = writeln!(
            out,
            "Some(OpRow {{ op: It::{}, engines: &[{}], arch_min: {}, arch_max: {:?}, mem_in: {}, mem_out: {}, conf: {}, note: {:?} }}),",
            variant(&row.name),
            engines.join(", "),
            row.arch_min,
            row.arch_max,
            memories(&row.mem_in),
            memories(&row.mem_out),
            conf(&row.conf)?,
            row.note
        );
    }
    out.push_str("];\n");
    Ok(())
}
