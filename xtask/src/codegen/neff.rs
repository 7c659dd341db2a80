//! Generates the schema of the debug members of a NEFF package.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Deserialize;

use super::tables::sentence;
use super::{Output, Spec, header};

#[derive(Deserialize)]
struct Table {
    message: Vec<Message>,
    #[serde(rename = "enum")]
    enums: Vec<Enum>,
}

#[derive(Deserialize)]
struct Message {
    name: String,
    field: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    number: u32,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    repeated: bool,
    meaning: String,
}

#[derive(Deserialize)]
struct Enum {
    name: String,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    number: u64,
    name: String,
    #[serde(default)]
    bir: String,
}

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let table: Table = spec.table("neff-debug.toml")?;
    let mut out = header("neff-debug.toml");
    out.push_str(
        "//! Messages of debug members.\n\nuse crate::proto::{Messages, Packed, schema};\n\nschema! {\n",
    );
    for message in &table.message {
        let _ = writeln!(out, "    message {} {{", camel(&message.name));
        for field in &message.field {
            let _ = writeln!(
                out,
                "        #[doc = {:?}]\n        {} {}: {},",
                sentence(&field.meaning),
                field.number,
                field.name,
                rust_type(&table, field)?
            );
        }
        out.push_str("    }\n");
    }
    for found in &table.enums {
        let _ = writeln!(out, "    enum {} {{", camel(&found.name));
        for value in &found.values {
            let _ = writeln!(out, "        {} {:?} {:?},", value.number, value.name, value.bir);
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n");
    Ok(vec![Output { path: PathBuf::from("crates/neff/src/generated/debug.rs"), text: out }])
}

fn rust_type(table: &Table, field: &Field) -> Result<String> {
    let kind = field.kind.as_str();
    let is_message = table.message.iter().any(|message| message.name == kind);
    let is_enum = table.enums.iter().any(|found| found.name == kind);
    Ok(match (kind, field.repeated) {
        ("string", false) => "String".into(),
        ("string", true) => "Vec<String>".into(),
        ("uint64", false) => "u64".into(),
        ("uint64", true) => "Packed<u64>".into(),
        ("map<string,string>", _) => "Vec<(String, String)>".into(),
        (_, false) if is_message => format!("Option<Box<{}>>", camel(kind)),
        (_, true) if is_message => format!("Messages<{}>", camel(kind)),
        (_, false) if is_enum => camel(kind),
        (_, true) if is_enum => format!("Packed<{}>", camel(kind)),
        _ => bail!("field {} is of the unknown type {kind}", field.name),
    })
}

/// `engine_type_t` as `EngineType`.
fn camel(name: &str) -> String {
    let words = name.strip_suffix("_t").unwrap_or(name).split('_');
    words
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        })
        .collect()
}
