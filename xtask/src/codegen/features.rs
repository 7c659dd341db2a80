//! Generates the NEFF feature bits: those of module attributes, and those without one. `bir-view` says which a module
//! needs, `neff` which a package has.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Output, Spec, header};

#[derive(Deserialize)]
struct EnumTable {
    #[serde(rename = "enum")]
    enums: Vec<Enum>,
}

#[derive(Deserialize)]
struct Enum {
    name: String,
    #[serde(default)]
    value: Vec<EnumValue>,
}

#[derive(Deserialize)]
struct EnumValue {
    name: String,
    neff_bit: Option<u64>,
}

#[derive(Deserialize)]
struct FeatureTable {
    feature: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    bit: u64,
    name: String,
    arch_min: Option<u32>,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let enums: EnumTable = spec.table("enums.toml")?;
    let others: FeatureTable = spec.table("neff-features.toml")?;
    let attributes = enums.enums.iter().find(|e| e.name == "ModuleAttribute");
    let attributes = attributes.context("enums.toml has no ModuleAttribute")?;

    let mut rows: Vec<(u64, String, Option<String>, Option<u32>)> = Vec::new();
    for value in &attributes.value {
        if let Some(bit) = value.neff_bit {
            let name = value.name.strip_prefix("neff_feature_").or(value.name.strip_prefix("neff_"));
            rows.push((bit, name.unwrap_or(&value.name).to_owned(), Some(value.name.clone()), None));
        }
    }
    rows.extend(others.feature.into_iter().map(|f| (f.bit, f.name, None, f.arch_min)));
    rows.sort();

    let mut out = header("enums.toml and spec/neff-features.toml");
    out.push_str("//! Feature bits of a NEFF, in ascending order.\n\nuse crate::features::KnownFeature;\n\n");
    let _ = writeln!(out, "pub(crate) const FEATURES: [KnownFeature; {}] = [", rows.len());
    let mut names = header("enums.toml and spec/neff-features.toml");
    names.push_str("//! Names of the feature bits of a NEFF, in ascending order.\n\n");
    let _ = writeln!(names, "pub(crate) const FEATURES: [(u64, &str); {}] = [", rows.len());
    for (bit, name, ..) in &rows {
        let _ = writeln!(names, "({bit:#x}, {name:?}),");
    }
    names.push_str("];\n");
    for (bit, name, attribute, arch_min) in rows {
        let _ = writeln!(
            out,
            "KnownFeature {{ bit: {bit:#x}, name: {name:?}, attribute: {attribute:?}, arch_min: {arch_min:?} }},"
        );
    }
    out.push_str("];\n");
    Ok(vec![
        Output { path: PathBuf::from("crates/bir-view/src/generated/features.rs"), text: out },
        Output { path: PathBuf::from("crates/neff/src/generated/features.rs"), text: names },
    ])
}
