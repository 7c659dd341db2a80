//! Generates the vendor's diagnostic codes: what each number of the backend means.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Output, Spec, header};

#[derive(Deserialize)]
struct CodeTable {
    shared: Vec<String>,
    family: Vec<Family>,
    code: Vec<Code>,
}

#[derive(Deserialize)]
struct Family {
    id: String,
    #[serde(default)]
    meaning: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    id: String,
    family: String,
    #[serde(rename = "number")]
    _number: u32,
    meaning: String,
    phase: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    rule: String,
}

#[derive(Deserialize)]
struct PublicTable {
    public_error: Vec<PublicError>,
}

#[derive(Deserialize)]
struct PublicError {
    id: String,
    meaning: String,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let mut table: CodeTable = spec.table("diagnostic-codes.toml")?;
    let public: PublicTable = spec.table("verify-rules.toml")?;
    table.code.sort_by(|a, b| a.id.cmp(&b.id));
    table.family.sort_by(|a, b| a.id.cmp(&b.id));
    ensure!(table.code.windows(2).all(|pair| pair[0].id != pair[1].id), "a code stands twice");
    let mut out = header("diagnostic-codes.toml and spec/verify-rules.toml");
    out.push_str("//! What every diagnostic code of the backend means.\n\nuse crate::codes::VendorCode;\n\n");
    let _ = writeln!(
        out,
        "/// Sorted by id. Id, family, phase, meaning, fragment of the message, rule.\npub(crate) static CODES: [VendorCode; {}] = [",
        table.code.len()
    );
    for code in &table.code {
        let _ = writeln!(
            out,
            "VendorCode::new({:?}, {:?}, {:?}, {:?}, {:?}, {:?}),",
            code.id, code.family, code.phase, code.meaning, code.text, code.rule
        );
    }
    let _ = writeln!(
        out,
        "];\n\n/// What families are about, sorted by name.\npub(crate) static FAMILIES: [(&str, &str); {}] = [",
        table.family.len()
    );
    for family in &table.family {
        let _ = writeln!(out, "({:?}, {:?}),", family.id, family.meaning);
    }
    let _ = writeln!(
        out,
        "];\n\n/// Codes whose number another spelling has with another meaning.\npub(crate) static SHARED: [&str; {}] = {:?};\n",
        table.shared.len(),
        table.shared
    );
    let _ = writeln!(
        out,
        "/// What users met, with what is known of it.\npub(crate) static MET: [(&str, &str); {}] = [",
        public.public_error.len()
    );
    for error in &public.public_error {
        let _ = writeln!(out, "({:?}, {:?}),", error.id, error.meaning);
    }
    out.push_str("];\n");
    Ok(vec![Output { path: PathBuf::from("crates/bir-verify/src/generated/codes.rs"), text: out }])
}
