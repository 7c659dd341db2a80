//! The tables of `spec/` as the BIR generators read them, and the mapping of their type words to Rust.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Spec;

#[derive(Deserialize)]
pub(super) struct EnumTable {
    #[serde(rename = "enum")]
    pub(super) enums: Vec<Enum>,
}

#[derive(Deserialize)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) closed: Option<bool>,
    #[serde(default)]
    pub(super) read_ordinal: bool,
    pub(super) notes: Option<String>,
    pub(super) confidence: String,
    #[serde(default)]
    pub(super) value: Vec<EnumValue>,
    #[serde(default)]
    pub(super) legacy_names: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct EnumValue {
    pub(super) ordinal: u32,
    name: String,
    json: Option<String>,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    pub(super) meaning: Option<String>,
    pub(super) role: Option<String>,
    pub(super) notes: Option<String>,
    pub(super) external_name: Option<String>,
    pub(super) size_bytes: Option<u32>,
    pub(super) imm_json: Option<bool>,
    pub(super) generation: Option<u32>,
    pub(super) op_class: Option<String>,
    pub(super) device_aliases: Option<Vec<String>>,
    pub(super) product: Option<Vec<String>>,
    #[serde(default)]
    pub(super) reserved: bool,
}

impl EnumValue {
    /// The spelling in JSON.
    pub(super) fn wire(&self) -> &str {
        self.json.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Deserialize)]
pub(super) struct OpTable {
    pub(super) op: Vec<Op>,
    pub(super) record: Vec<OpRecord>,
    pub(super) legacy_op: Vec<LegacyOp>,
    pub(super) legacy_key: Vec<LegacyKey>,
    pub(super) predicate: Vec<Predicate>,
}

/// A set of instructions that passes ask for.
#[derive(Deserialize)]
pub(super) struct Predicate {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) conf: String,
    pub(super) members: Vec<PredicateMember>,
    pub(super) note: Option<String>,
}

/// Instructions of one op; with `when`, those for which the condition holds.
#[derive(Deserialize)]
pub(super) struct PredicateMember {
    pub(super) op: String,
    #[serde(default)]
    pub(super) when: String,
}

/// A key that only older documents have.
#[derive(Deserialize)]
pub(super) struct LegacyKey {
    pub(super) op: String,
    pub(super) key: String,
}

#[derive(Deserialize)]
pub(super) struct LegacyOp {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct OpRecord {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) field: Vec<Field>,
}

#[derive(Deserialize)]
pub(super) struct Op {
    pub(super) ordinal: u32,
    pub(super) name: String,
    pub(super) class: String,
    pub(super) parent: String,
    pub(super) family: String,
    pub(super) category: String,
    #[serde(rename = "abstract")]
    pub(super) is_abstract: bool,
    pub(super) header_only: bool,
    pub(super) keyless: bool,
    pub(super) nested_body: bool,
    pub(super) terminator: bool,
    pub(super) wire_v2: Vec<u8>,
    pub(super) wire_v3: Vec<u8>,
    pub(super) wire_v4: Vec<u8>,
    pub(super) wire_select: Option<String>,
    #[serde(default)]
    pub(super) select_code: Vec<SelectWords>,
    pub(super) bundles: String,
    pub(super) default_engine: Option<String>,
    pub(super) default_engine_conf: Option<String>,
    pub(super) verifier_engines: Option<Vec<String>>,
    pub(super) verifier_engines_conf: Option<String>,
    pub(super) arch_min: Option<u32>,
    pub(super) arch_max: Option<u32>,
    pub(super) arch_conf: Option<String>,
    pub(super) conf: String,
    pub(super) note: Option<String>,
    #[serde(default)]
    pub(super) field: Vec<Field>,
}

/// The words of an instruction for which a condition holds.
#[derive(Deserialize)]
pub(super) struct SelectWords {
    pub(super) when: String,
    pub(super) words: Vec<u8>,
}

#[derive(Deserialize)]
pub(super) struct RecordTable {
    pub(super) record: BTreeMap<String, Vec<Field>>,
}

/// The name of an op in snake case. Runs of capitals are one word: `DMACopy` is `dma_copy`.
pub(super) fn op_snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let after_lower = i > 0 && !chars[i - 1].is_ascii_uppercase();
        let before_lower = i > 0 && chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && i > 0 && (after_lower && !chars[i - 1].is_ascii_digit() || before_lower)
        {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// One key of a record or an op.
#[derive(Deserialize, Clone)]
pub(super) struct Field {
    pub(super) key: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    pub(super) default: Option<toml::Value>,
    pub(super) default_rule: Option<String>,
    pub(super) emit: String,
    #[serde(alias = "read")]
    pub(super) load: String,
    #[serde(default)]
    pub(super) nullable: bool,
    pub(super) vendor: Option<bool>,
    /// `keep`: a value that does not fit the type is kept as it is, as an unknown member.
    pub(super) misfit: Option<String>,
    /// Another form that is read: `scalar`, `nested` or `bool`.
    pub(super) accepts: Option<String>,
    /// The model also says whether the key was present.
    #[serde(default)]
    pub(super) track: bool,
    pub(super) conf: String,
    pub(super) note: Option<String>,
}

/// All tables that the BIR generators use.
pub(super) struct Tables {
    pub(super) enums: Vec<Enum>,
    pub(super) ops: OpTable,
    pub(super) records: BTreeMap<String, Vec<Field>>,
}

impl Tables {
    pub(super) fn load(spec: &Spec) -> Result<Tables> {
        let enums: EnumTable = spec.table("enums.toml")?;
        let records: RecordTable = spec.table("bir-json.records.toml")?;
        Ok(Tables {
            enums: enums.enums.into_iter().filter(|e| e.namespace == "bir").collect(),
            ops: spec.table("opcodes.toml")?,
            records: records.record,
        })
    }

    fn find_enum(&self, name: &str) -> Result<&Enum> {
        self.enums.iter().find(|e| e.name == name).with_context(|| format!("no enum {name}"))
    }

    /// The Rust type of a type word of spec: opcodes 1.1. Names are qualified as the `bir` crate exports them.
    pub(super) fn rust_type(&self, ty: &str) -> Result<String> {
        Ok(match ty {
            "bool" | "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "f32" => ty.to_owned(),
            "serializable_float" => "f32".to_owned(),
            "string" => "Sym".to_owned(),
            "json" => "Value".to_owned(),
            "quasi_affine_expr" => "ExprId".to_owned(),
            "imm_number" | "value_object" => "ImmNumber".to_owned(),
            "alias_entry" => "AliasEdge".to_owned(),
            "list<ap_pair>" => "AccessPattern".to_owned(),
            "list<u64>" => "Shape".to_owned(),
            "list<instruction>" => "OwnedList<InstId>".to_owned(),
            "list<union:storage>" => "OwnedList<Storage>".to_owned(),
            // Nearly all have one.
            "list<record:sync_wait>" => "Few<SyncWait>".to_owned(),
            "list<record:sync_update>" => "Few<SyncUpdate>".to_owned(),
            "map<string,json>" => "Members".to_owned(),
            "map<string,list<name-ref:memory_location>>" => "Vec<CallBinding>".to_owned(),
            "map<string,string>" | "record:FunctionArgumentMap" => "ArgumentMap".to_owned(),
            _ => {
                if let Some(name) = ty.strip_prefix("enum:") {
                    // An enum whose names are not known is a plain string.
                    let open = self.find_enum(name)?.closed == Some(false);
                    return Ok(if open { "Sym".to_owned() } else { name.to_owned() });
                }
                if let Some(kind) = ty.strip_prefix("name-ref:") {
                    return name_ref(kind);
                }
                if let Some(record) = ty.strip_prefix("record:") {
                    return Ok(format!("Box<{}>", struct_name(record)));
                }
                let Some((outer, inner)) = ty.strip_suffix('>').and_then(|t| t.split_once('<')) else {
                    bail!("unknown type word {ty}");
                };
                if let ("list", Some(record)) = (outer, inner.strip_prefix("record:")) {
                    return Ok(match arena_id(record) {
                        Some(id) => format!("OwnedList<{id}>"),
                        None => format!("Vec<{}>", struct_name(record)),
                    });
                }
                let plain = self.rust_type(inner)?;
                match outer {
                    "list" => format!("Vec<{plain}>"),
                    "maybe_affine" => format!("MaybeAffine<{plain}>"),
                    "array2" => format!("[{plain}; 2]"),
                    _ => bail!("unknown type word {ty}"),
                }
            }
        })
    }
}

/// The id of records that live in an arena of the module.
fn arena_id(record: &str) -> Option<&'static str> {
    Some(match record {
        "function" => "FuncId",
        "queue" => "QueueId",
        "block" => "BlockId",
        "memory_location" => "LocId",
        _ => return None,
    })
}

/// Name of the Rust type of a record.
pub(super) fn struct_name(record: &str) -> String {
    match record {
        "root" => "Root".to_owned(),
        _ => camel(record.strip_prefix("arg_").unwrap_or(record)),
    }
}

fn name_ref(kind: &str) -> Result<String> {
    let id = match kind {
        "queue" => "QueueId",
        "block" | "queue_instance" => "BlockId",
        "instruction" | "dma_block" => "InstId",
        "function" | "nki_function" => "FuncId",
        "memory_location" => "LocId",
        "memory_location_set" => "SetId",
        "register" => "RegId",
        "axis" => return Ok("Sym".to_owned()),
        _ => bail!("unknown reference kind {kind}"),
    };
    Ok(format!("Ref<{id}>"))
}

impl Field {
    /// Whether the spelling is known; a key in parentheses stands for a fact whose key is not.
    pub(super) fn is_key(&self) -> bool {
        !self.key.starts_with('(') && self.key != "*"
    }

    pub(super) fn required(&self) -> bool {
        self.load == "required"
    }

    /// The value may be unset: there is no constant that stands for an absent key.
    pub(super) fn optional(&self) -> bool {
        if self.key == "name" {
            return false;
        }
        match self.default_rule.as_deref() {
            None | Some("by_kind") => false,
            Some(_) => true,
        }
    }

    /// Whether null is silently the same as an absent key. spec: opcodes 1
    pub(super) fn null_is_silent(&self) -> bool {
        let silent = ["name-ref:", "record:", "union:", "list<", "map<", "json", "quasi_affine_expr"];
        self.nullable || silent.iter().any(|prefix| self.ty.starts_with(prefix))
    }

    /// A required key that was read as null is written as null again.
    pub(super) fn keeps_null(&self) -> bool {
        self.required() && self.optional() && (self.nullable || self.ty.starts_with("name-ref:"))
    }

    /// Whether the key names blocks, instructions, functions or queues, or holds the blocks of a body: such a value
    /// is different in each instruction.
    pub(super) fn is_code(&self) -> bool {
        const KINDS: [&str; 6] =
            ["block", "instruction", "dma_block", "function", "nki_function", "queue_instance"];
        let inner = self.ty.strip_prefix("list<").and_then(|ty| ty.strip_suffix('>')).unwrap_or(&self.ty);
        inner == "record:block" || inner.strip_prefix("name-ref:").is_some_and(|kind| KINDS.contains(&kind))
    }

    /// Whether the model holds a presence bit for the key.
    pub(super) fn presence_bit(&self) -> bool {
        let gated = matches!(self.emit.as_str(), "present_or_nondefault" | "if_present");
        self.track || self.keeps_null() || gated && !self.optional()
    }

    /// What does not fit the type stays in the document as an unknown member.
    pub(super) fn keeps_misfit(&self) -> bool {
        self.vendor == Some(false) || self.misfit.as_deref() == Some("keep")
    }

    pub(super) fn rust_name(&self) -> String {
        let name = snake(&self.key);
        match name.as_str() {
            "type" | "virtual" => format!("r#{name}"),
            _ => name,
        }
    }

    /// The Rust type, `Option` included.
    pub(super) fn rust_type(&self, tables: &Tables) -> Result<String> {
        let plain = tables.rust_type(&self.ty).with_context(|| format!("key {}", self.key))?;
        Ok(if self.optional() { format!("Option<{plain}>") } else { plain })
    }

    /// The default as a Rust expression of the field's type.
    pub(super) fn default_expr(&self) -> Result<String> {
        if self.optional() {
            return Ok("None".to_owned());
        }
        if self.key == "name" {
            return Ok("Sym::EMPTY".to_owned());
        }
        if self.default_rule.as_deref() == Some("by_kind") {
            return Ok("TensorClass::NeuronSBTensor".to_owned());
        }
        let default = self.default.as_ref().with_context(|| format!("{} has no default", self.key))?;
        literal(&self.ty, default).with_context(|| format!("default of {}", self.key))
    }

    /// An expression that says whether the field differs from its default.
    pub(super) fn differs(&self, place: &str) -> Result<String> {
        let default = self.default.as_ref();
        Ok(match default {
            Some(toml::Value::Array(list)) if list.is_empty() => format!("!{place}.is_empty()"),
            Some(toml::Value::Table(_)) => format!("!{place}.is_empty()"),
            Some(toml::Value::Array(list)) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                format!("{place} != [{}]", list.join(", "))
            }
            Some(toml::Value::Boolean(true)) if !self.ty.starts_with("maybe") => format!("!{place}"),
            Some(toml::Value::Boolean(false)) if !self.ty.starts_with("maybe") => place.to_owned(),
            Some(toml::Value::String(text)) => match self.ty.strip_prefix("enum:") {
                Some(name) => format!("{place} != {name}::{}", variant(text)),
                None => format!("{place} != Sym::EMPTY"),
            },
            Some(value) => format!("{place} != {value}"),
            None => bail!("{} has no constant default", self.key),
        })
    }

    /// One line on type, default, gate and confidence, for the documentation.
    pub(super) fn doc(&self) -> String {
        let default = match (&self.default, &self.default_rule) {
            (Some(toml::Value::String(text)), _) => format!("default `{text:?}`"),
            (Some(value), _) => format!("default `{value}`"),
            (None, Some(rule)) => match rule.as_str() {
                "none" => "no default".to_owned(),
                "null" => "unset by default".to_owned(),
                "by_kind" => "default by kind".to_owned(),
                "len:memorylocations" => "default: number of memory locations".to_owned(),
                _ => "default unknown".to_owned(),
            },
            (None, None) => String::new(),
        };
        let mut text = format!(
            "`{}`: `{}`, {default}, {}, read {}, confidence {}.",
            self.key,
            self.ty,
            self.emit.replace('_', " "),
            self.load,
            self.conf
        );
        if let Some(note) = &self.note {
            text.push_str(&format!("\n\n{}", sentence(note)));
        }
        text
    }
}

fn literal(ty: &str, value: &toml::Value) -> Result<String> {
    if let Some(inner) = ty.strip_prefix("maybe_affine<").and_then(|t| t.strip_suffix('>')) {
        return Ok(format!("MaybeAffine::Value({})", literal(inner, value)?));
    }
    if let Some(inner) = ty.strip_prefix("array2<").and_then(|t| t.strip_suffix('>')) {
        let list = value.as_array().context("an array")?;
        let items: Result<Vec<_>> = list.iter().map(|v| literal(inner, v)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    Ok(match value {
        toml::Value::Boolean(v) => v.to_string(),
        toml::Value::Integer(v) => v.to_string(),
        toml::Value::Float(v) => format!("{v:?}"),
        toml::Value::String(text) => match ty.strip_prefix("enum:") {
            Some(name) => format!("{name}::{}", variant(text)),
            None if text.is_empty() => "Sym::EMPTY".to_owned(),
            None => bail!("a string default must be empty"),
        },
        toml::Value::Array(list) if list.is_empty() => "Default::default()".to_owned(),
        toml::Value::Array(list) => {
            let items: Vec<_> = list.iter().map(ToString::to_string).collect();
            format!("vec![{}]", items.join(", "))
        }
        toml::Value::Table(table) if table.is_empty() => "Default::default()".to_owned(),
        other => bail!("unexpected default {other}"),
    })
}

/// `float8_e4m3fn_x4` and `evt-set` as the name of a Rust variant.
pub(super) fn variant(name: &str) -> String {
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let shout = words.len() > 1 && name.chars().all(|c| !c.is_ascii_lowercase());
    let parts = words.iter().map(|word| {
        let (first, rest) = word.split_at(1);
        let rest = if shout { rest.to_ascii_lowercase() } else { rest.to_owned() };
        first.to_ascii_uppercase() + &rest
    });
    parts.collect()
}

/// `cc_channel` as `CcChannel`; what is in camel case stays.
pub(super) fn camel(name: &str) -> String {
    name.split('_').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// `opFunctionName`, `LoopAxis` and `Skind` in snake case.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut lower_before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower_before {
            out.push('_');
        }
        lower_before = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Text of the tables as a sentence of the documentation.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().replace('[', "\\[").replace(']', "\\]").replace('<', "\\<");
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', ')', '"']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

/// A documentation comment.
pub(super) fn doc_comment(indent: &str, text: &str) -> String {
    text.lines().map(|line| format!("{indent}/// {line}").trim_end().to_owned() + "\n").collect()
}
