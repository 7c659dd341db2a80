//! Generates the lists from which the property tests of `bir-json` make arbitrary records and ops.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;

use super::json::open_enums;
use super::model::all_records;
use super::tables::{Field, Tables, struct_name};
use super::{Output, Spec, header};

/// Types that own objects of the module, or are linked on two ends: the tests make those themselves.
const BY_HAND: &[&str] = &["OwnedList", "AliasEdge", "CallBinding", "NkiFunctions"];

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let mut out = header("enums.toml, spec/bir-json.records.toml and spec/opcodes.toml");
    out.push_str(
        "//! Fields of all records and ops, and all enums.\n\nuse bir::enums::*;\nuse bir::ops::*;\n",
    );
    out.push_str("use bir::records::*;\n\nuse super::arb::{fill, fill_enums, fill_ops};\n\n");
    let _ = write!(out, "fill_enums! {{ {} }}\n\nfill! {{\n", open_enums(&tables).join(" "));
    for (name, _, fields) in all_records(&tables) {
        row(&mut out, &tables, &struct_name(&name), &fields)?;
    }
    for op in tables.ops.op.iter().filter(|op| !op.field.is_empty()) {
        row(&mut out, &tables, &op.name, &op.field)?;
    }
    let keyed: Vec<_> =
        tables.ops.op.iter().filter(|op| !op.field.is_empty()).map(|op| op.name.as_str()).collect();
    let _ = write!(out, "}}\n\nfill_ops! {{ {} }}\n", keyed.join(" "));
    Ok(vec![Output { path: PathBuf::from("crates/bir-json/tests/it/arbitrary/fill.rs"), text: out }])
}

fn row(out: &mut String, tables: &Tables, name: &str, fields: &[Field]) -> Result<()> {
    let (mut names, mut bits) = (Vec::new(), Vec::new());
    for field in fields {
        let ty = field.rust_type(tables)?;
        if BY_HAND.iter().any(|special| ty.contains(special)) {
            continue;
        }
        let rust_name = field.rust_name();
        if field.presence_bit() {
            bits.push(rust_name.trim_start_matches("r#").to_ascii_uppercase());
        }
        names.push(rust_name);
    }
    let _ = writeln!(out, "    {name} {{ {} }} bits {{ {} }}", names.join(" "), bits.join(" "));
    Ok(())
}
