//! The maps from names in BIR documents to bytes, per generation.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

use super::model::{Enum, Enums, Map, Tables};
use super::names::screaming;

/// The BIR enums that have bytes, with the wire enum and what the map is for.
const MAPS: &[(&str, &str, &str)] = &[
    ("Dtype", "Dtype", "element type"),
    ("AluOpType", "AluOp", "ALU operation"),
    ("ActivationFunctionType", "ActivationFuncId", "activation function"),
    ("PoolFunctionType", "PoolType", "pool function"),
    ("EngineAccumulationType", "AccumCmd", "accumulate command"),
    ("MatmultPerfMode", "PerfOpt", "matmul performance mode"),
    ("AxisListType", "TensorSubDim", "reduction axis"),
    ("IndirectDim", "IndirectDim", "gather or scatter dimension"),
    ("DMAQoSClass", "", "DMA priority class"),
    ("EventSemaphoreClearMode", "EventSemaphoreClearMode", "clear mode"),
    ("BranchCompareOp", "BranchCompareOp", "branch comparison"),
    ("WaitMode", "WaitMode", "wait mode"),
    ("UpdateMode", "UpdateMode", "update mode"),
    ("CollectiveKind", "CollectiveType", "collective"),
    ("RandomAlgorithmKind", "RandAlgorithm", "random algorithm"),
];

pub(super) fn module(tables: &Tables, enums: &Enums) -> Result<String> {
    let mut out = String::from(
        "//! Bytes of BIR names on v2, v3 and v4; `None` where the encoder of the generation has none.\n\n\
         use crate::maps::{BirMap, Row};\n\n",
    );
    for (name, wire, what) in MAPS {
        let e = enums.get("bir", name)?;
        check(tables, e)?;
        writeln!(out, "/// BIR `{name}` to {what}.")?;
        writeln!(out, "pub(crate) static {}: BirMap = BirMap {{", screaming(name))?;
        writeln!(out, "    name: {name:?}, wire: {wire:?}, what: {what:?}, rows: &[")?;
        for value in &e.value {
            let bytes: Vec<_> =
                ["v2", "v3", "v4"].iter().map(|g| format!("{:?}", value.wire.get(*g).copied())).collect();
            writeln!(out, "        Row {{ name: {:?}, bytes: [{}] }},", value.name, bytes.join(", "))?;
        }
        writeln!(out, "    ],\n}};\n")?;
    }
    by_name(
        &mut out,
        tables,
        "cross_lane_op_by_alu",
        "CROSS_LANE_REDUCE_OP",
        "Cross-lane reduction of an ALU operation.",
    )?;
    by_name(&mut out, tables, "alu_int_wire", "INTEGER_ALU_OP", "Integer form of an ALU operation.")?;
    let branch = enums.get("bir", "BranchCompareOp")?;
    out.push_str("/// The comparison that holds when the other does not.\npub(crate) static NEGATED_BRANCH: &[(&str, &str)] = &[\n");
    for value in &branch.value {
        if let Some(negated) = &value.negated {
            writeln!(out, "    ({:?}, {negated:?}),", value.name)?;
        }
    }
    out.push_str("];\n\n/// Container bytes of a BIR element type.\npub(crate) static DTYPE_BYTES: &[(&str, u8)] = &[\n");
    for value in &enums.get("bir", "Dtype")?.value {
        let bytes = value.size_bytes.with_context(|| format!("bir.Dtype {} has no size", value.name))?;
        writeln!(out, "    ({:?}, {bytes}),", value.name)?;
    }
    out.push_str("];\n");
    Ok(out)
}

fn map<'a>(tables: &'a Tables, name: &str) -> Result<&'a Map> {
    tables.map.iter().find(|m| m.name == name).with_context(|| format!("no map {name}"))
}

fn by_name(out: &mut String, tables: &Tables, name: &str, constant: &str, doc: &str) -> Result<()> {
    writeln!(out, "/// {doc}\npub(crate) static {constant}: &[(&str, u8)] = &[")?;
    for (key, byte) in &map(tables, name)?.by_name {
        writeln!(out, "    ({key:?}, {byte}),")?;
    }
    out.push_str("];\n\n");
    Ok(())
}

/// The numbers of `[[map]]` must be those of `value.wire`.
fn check(tables: &Tables, e: &Enum) -> Result<()> {
    let from = format!("bir.{}", e.name);
    let maps = tables.map.iter().filter(|m| m.from == from && m.by_name.is_empty());
    for m in maps.filter(|m| m.to.as_deref().is_some_and(|to| to.starts_with("isa."))) {
        ensure!(
            m.values.len() == e.value.len(),
            "{}: {} values for {}",
            m.name,
            m.values.len(),
            e.value.len()
        );
        for (value, &byte) in e.value.iter().zip(&m.values) {
            for generation in ["v2", "v3", "v4"] {
                if m.generation.as_deref().is_some_and(|only| only != generation) {
                    continue;
                }
                let wire = value.wire.get(generation).map_or(-1, |byte| i64::from(*byte));
                if wire != byte {
                    bail!("{}: {} is {byte}, but enums.toml says {wire} on {generation}", m.name, value.name);
                }
            }
        }
    }
    Ok(())
}
