//! Turns the conditions of the tables (spec: header of opcodes.toml) into Rust functions.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::tables::{Field, Op, Tables, snake, variant};

/// The functions that were asked for so far: one for every op and condition.
pub(super) struct Conditions<'a> {
    tables: &'a Tables,
    functions: BTreeMap<(u32, String), Function>,
}

struct Function {
    name: String,
    text: String,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(tables: &'a Tables) -> Self {
        Self { tables, functions: BTreeMap::new() }
    }

    /// An expression of type `Condition` for instructions of an op.
    pub(super) fn condition(&mut self, op: &Op, code: &str) -> Result<String> {
        if code.is_empty() {
            return Ok("Condition::ALWAYS".to_owned());
        }
        let at = (op.ordinal, code.to_owned());
        if !self.functions.contains_key(&at) {
            let body = body(self.tables, op, code).with_context(|| format!("{}: {code}", op.name))?;
            let nth = self.functions.keys().filter(|(ordinal, _)| *ordinal == op.ordinal).count();
            let name = format!("{}_{nth}", snake(&op.name));
            let text = format!("/// `{code}`\nfn {name}(inst: &Instruction) -> Option<bool> {{ {body} }}\n");
            self.functions.insert(at.clone(), Function { name, text });
        }
        Ok(format!("Condition::new({code:?}, {})", self.functions[&at].name))
    }

    /// The functions.
    pub(super) fn text(&self) -> String {
        self.functions.values().map(|function| format!("{}\n", function.text)).collect()
    }
}

fn body(tables: &Tables, op: &Op, code: &str) -> Result<String> {
    let mut terms = Vec::new();
    let mut reads_key = false;
    for term in code.split(" and ") {
        let (negated, term) = match term.strip_prefix("not ") {
            Some(term) => (true, term),
            None => (false, term),
        };
        let (text, of_key) = atom(tables, op, term.trim())?;
        reads_key |= of_key;
        terms.push(if negated { format!("not({text})") } else { text });
    }
    let all = match terms.as_slice() {
        [one] => one.clone(),
        _ => format!("all([{}])", terms.join(", ")),
    };
    Ok(if reads_key {
        format!("let Op::{}(op) = &inst.op else {{ return None }};\n{all}", op.name)
    } else {
        all
    })
}

/// An expression of type `Option<bool>`, and whether it reads a key of `op`.
fn atom(tables: &Tables, op: &Op, term: &str) -> Result<(String, bool)> {
    let words: Vec<&str> = term.split_whitespace().collect();
    Ok(match words.as_slice() {
        [list @ ("ins" | "outs"), "==", n] => (format!("Some(inst.{list}.len() == {})", number(n)?), false),
        [list @ ("ins" | "outs"), "<", n] => (format!("Some(inst.{list}.len() < {})", number(n)?), false),
        [place, "==", "out"] if place.starts_with("dtype(") => {
            let index = place.strip_prefix("dtype(").and_then(|p| p.strip_suffix(')')).context("dtype(I)")?;
            (format!("dtype_is_that_of_output(inst, {})", number(index)?), false)
        }
        [place, "==", name] if place.starts_with("dtype(") => {
            let index = place.strip_prefix("dtype(").and_then(|p| p.strip_suffix(')')).context("dtype(I)")?;
            let dtype = enum_value(tables, "Dtype", name)?;
            (format!("dtype_is(inst, {}, {dtype})", number(index)?), false)
        }
        ["partitions", "<", n] => (format!("partitions_below(inst, {})", number(n)?), false),
        ["bitvec"] => {
            let keys = ["op", "op0", "op1", "reduce_op"].into_iter().filter_map(|key| {
                let field = op.field.iter().find(|f| f.key == key && f.ty == "enum:AluOpType")?;
                Some(format!("is_one_of(Some(op.{}), BITVEC)", field.rust_name()))
            });
            (format!("any([{}])", keys.collect::<Vec<_>>().join(", ")), true)
        }
        [key] => {
            let (field, place) = key_of(tables, op, key)?;
            ensure!(matches!(&*field.ty, "bool" | "maybe_affine<bool>"), "{key} is no boolean");
            (format!("flag({place})"), true)
        }
        [key, "&", n] => {
            let (_, place) = key_of(tables, op, key)?;
            (format!("bit_of({place}, {})", number(n)?), true)
        }
        [key, "has", n] => {
            let (field, place) = key_of(tables, op, key)?;
            ensure!(field.ty.starts_with("list<maybe_affine<"), "{key} is no list of numbers");
            let place = if field.optional() {
                format!("{place}.as_deref()")
            } else {
                format!("Some({place}.as_slice())")
            };
            (format!("has_entry({place}, {})", number(n)?), true)
        }
        [key, "==" | "in", names] => {
            let (field, place) = key_of(tables, op, key)?;
            let name = field.ty.strip_prefix("enum:").with_context(|| format!("{key} is no enum"))?;
            let values: Result<Vec<_>> =
                names.split('|').map(|value| enum_value(tables, name, value)).collect();
            let place = if key.contains('.') || field.optional() { place } else { format!("Some({place})") };
            (format!("is_one_of({place}, &[{}])", values?.join(", ")), true)
        }
        _ => bail!("unknown term {term}"),
    })
}

fn number(text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("{text} is no number"))
}

fn enum_value(tables: &Tables, name: &str, value: &str) -> Result<String> {
    let e = tables.enums.iter().find(|e| e.name == name).with_context(|| format!("no enum {name}"))?;
    ensure!(e.value.iter().any(|v| v.wire() == value), "{name} has no value {value}");
    Ok(format!("{name}::{}", variant(value)))
}

/// The field of `KEY` or `RECORD.KEY` and the place of its value; of a key in a record, an `Option` of it.
fn key_of<'t>(tables: &'t Tables, op: &'t Op, key: &str) -> Result<(&'t Field, String)> {
    let find = |fields: &'t [Field], key: &str| {
        fields.iter().find(|f| f.key == key).with_context(|| format!("no key {key}"))
    };
    let Some((outer, inner)) = key.split_once('.') else {
        let field = find(&op.field, key)?;
        return Ok((field, format!("op.{}", field.rust_name())));
    };
    let outer = find(&op.field, outer)?;
    let record = outer.ty.strip_prefix("record:").with_context(|| format!("{} is no record", outer.key))?;
    ensure!(outer.optional(), "{} is always there", outer.key);
    let record = tables.ops.record.iter().find(|r| r.name == record).context("no such record")?;
    let field = find(&record.field, inner)?;
    ensure!(!field.optional(), "{key} may be unset");
    let place = format!("op.{}.as_ref().map(|record| record.{})", outer.rust_name(), field.rust_name());
    Ok((field, place))
}
