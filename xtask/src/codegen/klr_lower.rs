//! Generates the enum maps of `klr-lower` from klr.toml: which value of a BIR enum a KLR value becomes.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::klr::names::{camel, snake};
use super::tables::{Tables, variant};
use super::{Output, Spec, header};

#[derive(Deserialize)]
struct Table {
    enum_map: Vec<Map>,
    value_map: Vec<ValueMap>,
}

#[derive(Deserialize)]
struct Map {
    klr: String,
    bir: String,
    map: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    klr: String,
    bir: Target,
}

/// A number of the BIR enum, or what happens instead.
#[derive(Deserialize)]
#[serde(untagged)]
enum Target {
    Number(u32),
    Text(String),
}

#[derive(Deserialize)]
struct ValueMap {
    field: String,
    bir: String,
    map: Vec<ValueRow>,
}

#[derive(Deserialize)]
struct ValueRow {
    klr: u64,
    bir: u32,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let table: Table = spec.table("klr.toml")?;
    let tables = Tables::load(spec)?;
    let mut out = header("klr.toml");
    out.push_str("//! What values of KLR enums become in BIR (spec: klr 7).\n\nuse bir::enums as b;\nuse klr::ir as k;\n");
    for map in &table.enum_map {
        // What becomes another instruction is no value: the caller knows.
        let partial = map.map.iter().any(|row| matches!(row.bir, Target::Text(_)));
        let (open, close) = if partial { ("Some(", ")") } else { ("", "") };
        let result = if partial { format!("Option<b::{}>", map.bir) } else { format!("b::{}", map.bir) };
        let name = function(&map.klr);
        writeln!(
            out,
            "\n/// `{}` as `{}`{}.",
            map.klr,
            map.bir,
            if partial { ", where it is one" } else { "" }
        )?;
        writeln!(out, "pub(crate) fn {name}(value: k::{}) -> {result} {{\n    match value {{", map.klr)?;
        for row in &map.map {
            let from = camel(&row.klr);
            match &row.bir {
                Target::Number(number) => {
                    let to = value(&tables, &map.bir, *number)?;
                    writeln!(out, "k::{}::{from} => {open}b::{}::{to}{close},", map.klr, map.bir)?;
                }
                Target::Text(text) => {
                    ensure!(text.starts_with("error: ") || text == "unconditional branch", "{text}");
                    writeln!(out, "// {text}\nk::{}::{from} => None,", map.klr)?;
                }
            }
        }
        out.push_str("    }\n}\n");
    }
    for map in &table.value_map {
        writeln!(out, "\n/// The number `{}` as `{}`, where it is one.", map.field, map.bir)?;
        let name = function(&map.bir);
        writeln!(out, "pub(crate) fn {name}(value: u64) -> Option<b::{}> {{", map.bir)?;
        out.push_str("    Some(match value {\n");
        for row in &map.map {
            writeln!(out, "{} => b::{}::{},", row.klr, map.bir, value(&tables, &map.bir, row.bir)?)?;
        }
        out.push_str("_ => return None,\n})\n}\n");
    }
    Ok(vec![Output { path: PathBuf::from("crates/klr-lower/src/generated/maps.rs"), text: out }])
}

/// `TensorSubDim` -> `tensor_sub_dim`, `DGEType` -> `dge_type`.
fn function(name: &str) -> String {
    snake(&name.replace("DGE", "Dge"))
}

/// The Rust name of a value by its number.
fn value(tables: &Tables, name: &str, number: u32) -> Result<String> {
    let found = tables.enums.iter().find(|e| e.name == name);
    let found = found.with_context(|| format!("enums.toml has no {name}"))?;
    match found.value.iter().find(|value| value.ordinal == number) {
        Some(value) => Ok(variant(value.wire())),
        None => bail!("{name} has no number {number}"),
    }
}
