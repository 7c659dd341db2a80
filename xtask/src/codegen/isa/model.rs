//! The parts of `isa-layouts.toml` and `enums.toml` that the generator reads.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Tables {
    pub(super) word_bytes: u32,
    pub(super) immediate: Immediate,
    pub(super) stream: Stream,
    pub(super) preamble: BTreeMap<String, Preamble>,
    #[serde(rename = "struct")]
    pub(super) structs: Vec<Struct>,
    #[serde(rename = "union")]
    pub(super) unions: Vec<Union>,
    pub(super) map: Vec<Map>,
    pub(super) layout: Vec<Layout>,
    pub(super) opcode: Vec<Opcode>,
    pub(super) sequence: Vec<Sequence>,
}

#[derive(Deserialize)]
pub(super) struct Stream {
    pub(super) prologue: Vec<u8>,
}

#[derive(Deserialize)]
pub(super) struct Sequence {
    pub(super) inst: String,
    pub(super) when: String,
    pub(super) bundles: Vec<u8>,
}

#[derive(Deserialize)]
pub(super) struct Immediate {
    pub(super) int_opcodes: Vec<u8>,
}

#[derive(Deserialize)]
pub(super) struct Preamble {
    pub(super) description: String,
    pub(super) field: Vec<Field>,
}

#[derive(Deserialize)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) bytes: u32,
    pub(super) role: String,
    pub(super) note: Option<String>,
    pub(super) field: Vec<Field>,
}

#[derive(Deserialize)]
pub(super) struct Union {
    pub(super) name: String,
    pub(super) bytes: u32,
    pub(super) arms: Vec<String>,
    pub(super) select: String,
    pub(super) select_code: SelectCode,
}

#[derive(Deserialize)]
pub(super) struct SelectCode {
    pub(super) offset: u32,
    pub(super) mask: u32,
    pub(super) equals: u32,
    pub(super) then: u32,
    #[serde(rename = "else")]
    pub(super) otherwise: u32,
}

#[derive(Clone, Deserialize)]
pub(super) struct Field {
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) confidence: String,
    pub(super) source: Option<String>,
    pub(super) meaning: Option<String>,
    pub(super) value: Option<u32>,
    pub(super) when: Option<String>,
    pub(super) bits: Option<[u32; 2]>,
    pub(super) selector: Option<String>,
    #[serde(default)]
    pub(super) forms: BTreeMap<String, u8>,
    pub(super) inline: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Layout {
    pub(super) name: String,
    pub(super) shape: Option<String>,
    pub(super) preamble: String,
    pub(super) body: String,
    pub(super) spare_step: Option<i16>,
    pub(super) note: Option<String>,
    #[serde(default)]
    pub(super) unknown: Vec<[u32; 2]>,
    #[serde(default)]
    pub(super) field: Vec<Field>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Opcode {
    pub(super) opcode: u8,
    pub(super) name: String,
    pub(super) label: Option<String>,
    pub(super) class: String,
    pub(super) engines: Vec<String>,
    pub(super) emits: Vec<String>,
    pub(super) emit_gens: Vec<String>,
    pub(super) layout: BTreeMap<String, String>,
    pub(super) family: Option<String>,
    #[serde(default)]
    pub(super) fixed: BTreeMap<String, u32>,
    pub(super) follows: Option<u8>,
}

impl Opcode {
    /// A code of which only the name is known.
    pub(super) fn named(opcode: u8, name: &str) -> Opcode {
        let raw = || "RAW".to_owned();
        Opcode {
            opcode,
            name: name.to_owned(),
            label: None,
            class: "named".to_owned(),
            engines: Vec::new(),
            emits: Vec::new(),
            emit_gens: Vec::new(),
            layout: Generations::NAMES.iter().map(|g| ((*g).to_owned(), raw())).collect(),
            family: None,
            fixed: BTreeMap::new(),
            follows: None,
        }
    }

    /// What the documentation of the constant says behind its name.
    pub(super) fn about(&self) -> String {
        let generations = match self.class.as_str() {
            "named" => return "named by the instruction set; nothing more is known".to_owned(),
            _ => self.layout.keys().map(String::as_str).collect::<Vec<_>>().join(" "),
        };
        let engines = self.engines.join(", ");
        match self.emits.as_slice() {
            [] => format!("{generations}; engines: {engines}; not encoded from BIR"),
            emits => format!("{generations}; engines: {engines}; encodes {}", emits.join(", ")),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Map {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: Option<String>,
    #[serde(rename = "gen")]
    pub(super) generation: Option<String>,
    #[serde(default)]
    pub(super) values: Vec<i64>,
    #[serde(default)]
    pub(super) by_name: BTreeMap<String, u8>,
}

#[derive(Deserialize)]
pub(super) struct Enums {
    #[serde(rename = "enum")]
    enums: Vec<Enum>,
}

#[derive(Deserialize)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) used_by: Vec<String>,
    pub(super) notes: Option<String>,
    #[serde(default)]
    pub(super) value: Vec<Value>,
}

#[derive(Deserialize)]
pub(super) struct Value {
    #[serde(deserialize_with = "byte")]
    pub(super) ordinal: u8,
    pub(super) name: String,
    pub(super) gens: Option<Vec<u32>>,
    #[serde(default)]
    pub(super) wire: BTreeMap<String, u8>,
    pub(super) negated: Option<String>,
    pub(super) size_bytes: Option<u32>,
}

/// Ordinals of other namespaces may be large; only those of wire enums matter and they are bytes.
fn byte<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    i64::deserialize(deserializer).map(|value| value as u8)
}

impl Enums {
    /// The enums of a namespace, in order.
    pub(super) fn namespace<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Enum> + use<'a> {
        let namespace = namespace.to_owned();
        self.enums.iter().filter(move |e| e.namespace == namespace)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Result<&Enum> {
        self.namespace(namespace)
            .find(|e| e.name == name)
            .with_context(|| format!("no enum {namespace}.{name}"))
    }
}

/// The generations that layouts are listed for, oldest first.
pub(super) struct Generations;

impl Generations {
    pub(super) const NAMES: [&'static str; 4] = ["v2", "v3", "v4", "v5"];
}
