//! Generates the operand roles: a static table with one row for each place of an operand list.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::condition::Conditions;
use super::tables::{Tables, camel, doc_comment, sentence, variant};
use super::{Output, Spec, header};

#[derive(Deserialize)]
struct OperandTable {
    kind_group: BTreeMap<String, Vec<String>>,
    role: toml::Table,
    op: Vec<OperandsOf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperandsOf {
    name: String,
    coverage: String,
    ins: Option<Vec<u32>>,
    indirection_ins: Option<Vec<u32>>,
    outs: Option<Vec<u32>>,
    ins_encoder: Option<u32>,
    count_conf: Option<String>,
    conf: String,
    source: String,
    note: Option<String>,
    #[serde(default)]
    operand: Vec<Slot>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slot {
    list: String,
    index: toml::Value,
    role: String,
    form: Option<String>,
    form_code: Option<String>,
    kinds: Vec<String>,
    #[serde(default)]
    mem: Vec<String>,
    #[serde(default)]
    dtypes: Vec<String>,
    #[serde(default)]
    optional: bool,
    access: Option<String>,
    access_when: Option<String>,
    access_code: Option<String>,
    #[serde(default)]
    wire: Vec<String>,
    conf: String,
    source: Option<String>,
    note: Option<String>,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let table: OperandTable = spec.table("operands.toml")?;
    let mut out = header("operands.toml");
    out.push_str(
        "//! Operand roles: what each place of `ins`, `indirection_ins` and `outs` is, for every op.\n\n\
         use crate::condition::*;\nuse crate::conf::Conf;\nuse crate::generated::enums::*;\nuse crate::generated::ops::Op;\n\
         use crate::inst::{Instruction, OperandList};\nuse crate::operands::*;\n\n",
    );
    roles(&mut out, &table);
    kind_groups(&mut out, &table);
    rows(&mut out, &tables, &table)?;
    Ok(vec![Output { path: PathBuf::from("crates/bir/src/generated/operands.rs"), text: out }])
}

fn roles(out: &mut String, table: &OperandTable) {
    let (mut variants, mut names, mut docs) = (String::new(), String::new(), String::new());
    for (name, description) in &table.role {
        let description = description.as_str().unwrap_or_default();
        let role = camel(name);
        let _ = writeln!(variants, "{}{role},", doc_comment("", &sentence(description)));
        let _ = writeln!(names, "Role::{role} => {name:?},");
        let _ = writeln!(docs, "Role::{role} => {description:?},");
    }
    let all: Vec<_> = table.role.keys().map(|name| format!("Role::{}", camel(name))).collect();
    let _ = write!(
        out,
        "/// What an operand is to its instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {{
{variants}}}

impl Role {{
/// All roles.
pub const ALL: &'static [Role] = &[{}];

/// The word of the tables, such as `moving`.
pub fn name(self) -> &'static str {{
match self {{ {names} }}
}}

/// The role in words.
pub fn description(self) -> &'static str {{
match self {{ {docs} }}
}}
}}\n\n",
        all.join(", ")
    );
}

fn kind_groups(out: &mut String, table: &OperandTable) {
    out.push_str("impl Kinds {\n");
    for (name, kinds) in &table.kind_group {
        let _ = writeln!(
            out,
            "/// Group `{name}`: {}.\npub const {}: Kinds = {};\n",
            kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", "),
            name.to_ascii_uppercase(),
            flags("Kinds", kinds)
        );
    }
    out.push_str("}\n\n");
}

/// A set of flags as a constant expression.
fn flags(ty: &str, names: &[String]) -> String {
    match names.split_first() {
        None => format!("{ty}::NONE"),
        Some((first, rest)) => {
            rest.iter().fold(format!("{ty}::{}", first.to_ascii_uppercase()), |set, name| {
                format!("{set}.or({ty}::{})", name.to_ascii_uppercase())
            })
        }
    }
}

pub(super) fn conf(letter: &str) -> Result<String> {
    let name = match letter {
        "C" => "Confirmed",
        "S" => "Strong",
        "I" => "Inferred",
        "U" => "Unknown",
        _ => anyhow::bail!("unknown confidence {letter}"),
    };
    Ok(format!("Conf::{name}"))
}

fn rows(out: &mut String, tables: &Tables, table: &OperandTable) -> Result<()> {
    ensure!(table.op.len() == tables.ops.op.len(), "one row for every op");
    let mut conditions = Conditions::new(tables);
    let mut text = format!(
        "/// By ordinal of the op.\npub(crate) static OPERANDS: [Operands; {}] = [\n",
        table.op.len()
    );
    for (row, op) in table.op.iter().zip(&tables.ops.op) {
        ensure!(row.name == op.name, "{} stands where {} belongs", row.name, op.name);
        let is_rest = |slot: &Slot| slot.index.as_str() == Some("rest");
        for (at, slot) in row.operand.iter().enumerate() {
            // `Operands::slots_at` takes the rows as they come.
            let rest_before = row.operand[..at].iter().any(|other| is_rest(other) && other.list == slot.list);
            ensure!(
                is_rest(slot) || !rest_before,
                "{}: a row of {} stands behind that of the rest of the list",
                op.name,
                slot.list
            );
        }
        let mut slots = String::new();
        for slot in &row.operand {
            let slot = one(slot, &mut conditions, op).with_context(|| format!("operand of {}", op.name))?;
            slots.push_str(&slot);
        }
        let conf_row = conf(&row.conf)?;
        let count_conf = match &row.count_conf {
            Some(letter) => conf(letter)?,
            None => conf_row.clone(),
        };
        let _ = writeln!(
            text,
            "Operands {{
op: InstructionType::{}, coverage: Coverage::{}, ins: {}, indirection_ins: {}, outs: {}, ins_encoder: {:?},
count_conf: {count_conf}, conf: {conf_row}, source: {:?}, note: {:?}, slots: &[{slots}],
}},",
            variant(&row.name),
            camel(&row.coverage),
            count(&row.ins)?,
            count(&row.indirection_ins)?,
            count(&row.outs)?,
            row.ins_encoder,
            row.source,
            row.note.as_deref().unwrap_or_default(),
        );
    }
    text.push_str("];\n\n");
    out.push_str(&text);
    out.push_str(&conditions.text());
    Ok(())
}

fn count(bounds: &Option<Vec<u32>>) -> Result<String> {
    Ok(match bounds.as_deref() {
        None => "None".to_owned(),
        Some([min]) => format!("Some(Count {{ min: {min}, max: None }})"),
        Some([min, max]) => format!("Some(Count {{ min: {min}, max: Some({max}) }})"),
        Some(other) => anyhow::bail!("{other:?} are no bounds"),
    })
}

fn one(slot: &Slot, conditions: &mut Conditions<'_>, op: &super::tables::Op) -> Result<String> {
    ensure!(slot.form.is_some() == slot.form_code.is_some(), "form and form_code come together");
    ensure!(
        slot.access_when.is_some() == slot.access_code.is_some(),
        "access_when and access_code come together"
    );
    let list = match slot.list.as_str() {
        "ins" => "Ins",
        "indirection_ins" => "IndirectionIns",
        "outs" => "Outs",
        other => anyhow::bail!("unknown list {other}"),
    };
    let index = match &slot.index {
        toml::Value::Integer(index) => format!("SlotIndex::At({index})"),
        toml::Value::String(rest) if rest == "rest" => "SlotIndex::Rest".to_owned(),
        other => anyhow::bail!("unknown index {other}"),
    };
    let form = match (&slot.form, &slot.form_code) {
        (Some(words), Some(code)) => {
            Some(format!("Some(Form {{ words: {words:?}, when: {} }})", conditions.condition(op, code)?))
        }
        _ => None,
    };
    let access = match (slot.access.as_deref(), list, &slot.access_code) {
        (None, _, None) => None,
        (Some("rmw"), "Outs", Some(code)) => Some(format!("Some({})", conditions.condition(op, code)?)),
        other => anyhow::bail!("unknown access {other:?}"),
    };
    let dtypes: Vec<_> = slot.dtypes.iter().map(|dtype| format!("Dtype::{}", variant(dtype))).collect();
    let text = |text: &Option<String>| text.as_ref().map(|text| format!("{text:?}"));
    let rare = [
        ("form", form),
        ("dtypes", (!dtypes.is_empty()).then(|| format!("&[{}]", dtypes.join(", ")))),
        ("optional", slot.optional.then(|| "true".to_owned())),
        ("also_read", access),
        ("access_when", text(&slot.access_when)),
        ("wire", (!slot.wire.is_empty()).then(|| format!("&{:?}", slot.wire))),
        ("source", text(&slot.source)),
        ("note", text(&slot.note)),
    ];
    let rare = rare.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}, ", value?)));
    Ok(format!(
        "Slot {{ {}..Slot::plain(OperandList::{list}, {index}, Role::{}, {}, {}, {}) }},\n",
        rare.collect::<String>(),
        camel(&slot.role),
        flags("Kinds", &slot.kinds),
        flags("Memories", &slot.mem),
        conf(&slot.conf)?,
    ))
}
