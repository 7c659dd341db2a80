//! The project's tables as the tests see them: read from spec/, not from what the generator made of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{constant, expression, operand};

/// One key of a record or an op.
#[derive(Clone, Debug)]
pub struct Key {
    pub key: String,
    pub ty: String,
    pub default: Option<Value>,
    pub rule: String,
    pub emit: String,
    pub required: bool,
    pub nullable: bool,
    pub keeps_misfits: bool,
    pub accepts: String,
}

/// A record or an op.
#[derive(Clone, Debug)]
pub struct Record {
    pub name: String,
    pub header_only: bool,
    pub keys: Vec<Key>,
}

impl Record {
    pub fn key(&self, name: &str) -> &Key {
        self.keys.iter().find(|key| key.key == name).unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }
}

fn file(name: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

static OPCODES: LazyLock<toml::Table> = LazyLock::new(|| file("opcodes.toml"));
static RECORDS: LazyLock<toml::Table> = LazyLock::new(|| file("bir-json.records.toml"));
static ENUMS: LazyLock<toml::Table> = LazyLock::new(|| file("enums.toml"));

fn tables<'a>(table: &'a toml::Table, list: &str) -> impl Iterator<Item = &'a toml::Table> {
    table.get(list).and_then(toml::Value::as_array).into_iter().flatten().map(|item| item.as_table().unwrap())
}

fn text(table: &toml::Table, key: &str) -> String {
    table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

fn key(table: &toml::Table) -> Key {
    let load = text(table, "load") + &text(table, "read");
    let flag = |key| table.get(key).and_then(toml::Value::as_bool);
    Key {
        key: text(table, "key"),
        ty: text(table, "type"),
        default: table.get("default").map(|value| serde_json::to_value(value).unwrap()),
        rule: text(table, "default_rule"),
        emit: text(table, "emit"),
        required: load == "required",
        nullable: flag("nullable") == Some(true),
        keeps_misfits: flag("vendor") == Some(false) || text(table, "misfit") == "keep",
        accepts: text(table, "accepts"),
    }
}

/// Every op, by ordinal.
pub fn ops() -> Vec<Record> {
    let op = |table: &toml::Table| Record {
        name: text(table, "name"),
        header_only: table["header_only"].as_bool().unwrap(),
        keys: tables(table, "field").map(key).collect(),
    };
    tables(&OPCODES, "op").map(op).collect()
}

pub fn op(name: &str) -> Record {
    ops().into_iter().find(|op| op.name == name).unwrap_or_else(|| panic!("no op {name}"))
}

/// Every record of the document and of the ops, by name. Facts whose key is unknown are left out.
pub fn records() -> BTreeMap<String, Record> {
    let mut records = BTreeMap::new();
    for (name, keys) in RECORDS["record"].as_table().unwrap() {
        let keys = keys.as_array().unwrap().iter().map(|row| key(row.as_table().unwrap()));
        records.insert(name.clone(), keys.filter(|key| !key.key.starts_with('(')).collect());
    }
    for table in tables(&OPCODES, "record") {
        records.insert(text(table, "name"), tables(table, "field").map(key).collect());
    }
    let named = |(name, keys): (String, Vec<Key>)| (name.clone(), Record { name, header_only: false, keys });
    records.into_iter().map(named).collect()
}

pub fn record(name: &str) -> Record {
    records().remove(name).unwrap_or_else(|| panic!("no record {name}"))
}

/// Names of ops that only older documents have.
pub fn legacy_ops() -> Vec<String> {
    tables(&OPCODES, "legacy_op").map(|table| text(table, "name")).collect()
}

/// The names that stand in documents for the values of an enum.
pub fn enum_names(name: &str) -> Vec<String> {
    let is_it = |table: &&toml::Table| text(table, "namespace") == "bir" && text(table, "name") == name;
    let table = tables(&ENUMS, "enum").find(is_it).unwrap_or_else(|| panic!("no enum {name}"));
    tables(table, "value").map(|value| text(value, "name")).collect()
}

/// Whether numbers are read for an enum.
pub fn reads_ordinals(name: &str) -> bool {
    let is_it = |table: &&toml::Table| text(table, "namespace") == "bir" && text(table, "name") == name;
    let table = tables(&ENUMS, "enum").find(is_it).unwrap_or_else(|| panic!("no enum {name}"));
    table.get("read_ordinal").and_then(toml::Value::as_bool) == Some(true)
}

/// `inner` of `outer<inner>`.
pub fn inner<'a>(ty: &'a str, outer: &str) -> Option<&'a str> {
    ty.strip_prefix(outer)?.strip_prefix('<')?.strip_suffix('>')
}

/// Enums whose names were not published: any string is one.
const OPEN: [&str; 2] = ["OptinPass", "FunctionAttribute"];

impl Key {
    /// Whether null silently means an absent key: where the first-party schema says so, and for every reference,
    /// record, list, map, opaque value and expression. spec: opcodes 1
    pub fn null_is_silent(&self) -> bool {
        let prefixes = ["name-ref:", "record:", "union:", "list<", "map<"];
        self.nullable
            || prefixes.iter().any(|prefix| self.ty.starts_with(prefix))
            || ["json", "quasi_affine_expr"].contains(&&*self.ty)
    }

    /// A value of the key's type that is not its default.
    pub fn sample(&self) -> Value {
        let value = match self.key.as_str() {
            "version" => json!(2),
            "kind" if self.ty == "string" => self.default.clone().unwrap(),
            "Skind" => self.default.clone().unwrap(),
            // Only a location in PSUM may have a hint, and only one in DRAM an alias.
            "type" => json!("DRAM"),
            "name" => json!("sample"),
            "dtype" => json!("float32"),
            // Call bindings: a call by name, and locations of the callee.
            "call_to_physical_memlocs" => json!({}),
            _ => sample(&self.ty, self.default.as_ref()),
        };
        assert!(self.is_fixed() || Some(&value) != self.default.as_ref(), "{self:?}");
        value
    }

    /// The key can have one value only.
    pub fn is_fixed(&self) -> bool {
        let fixed = ["version", "Skind", "call_to_physical_memlocs"];
        fixed.contains(&&*self.key) || self.key == "kind" && self.ty == "string"
    }
}

/// A value of a type, other than a given one.
pub fn sample(ty: &str, not: Option<&Value>) -> Value {
    if let Some(inner) = inner(ty, "maybe_affine") {
        return sample(inner, not);
    }
    if let Some(inner) = inner(ty, "array2") {
        return json!([sample(inner, None), sample(inner, None)]);
    }
    if let Some(inner) = inner(ty, "list") {
        return json!([sample(inner, None)]);
    }
    if let Some(inner) = ty.strip_prefix("map<string,").and_then(|ty| ty.strip_suffix('>')) {
        return json!({"a key": sample(inner, None), "another": sample(inner, None)});
    }
    if let Some(name) = ty.strip_prefix("enum:") {
        if OPEN.contains(&name) {
            return json!("a_name");
        }
        let names = enum_names(name);
        let other = names.iter().rev().find(|name| not.and_then(Value::as_str) != Some(name));
        return json!(other.expect("an enum has two names"));
    }
    if let Some(kind) = ty.strip_prefix("name-ref:") {
        return json!(match kind {
            "queue" => "q0",
            "block" => "Block2",
            "queue_instance" => "q0_inst",
            "instruction" => "other",
            "dma_block" => "db0",
            "function" => "callee",
            "nki_function" => "nki0",
            "memory_location" => "t",
            "memory_location_set" => "t_set",
            "register" => "r1",
            "axis" => "i0",
            other => panic!("no sample of name-ref:{other}"),
        });
    }
    if let Some(name) = ty.strip_prefix("record:") {
        return match name {
            "FunctionArgumentMap" => json!({"c_set": "t_set"}),
            // A hint wants a location in PSUM, an alias one in DRAM.
            "memory_location" => super::without(&record(name).full(), &["pack_id_hint", "alias"]),
            _ => record(name).full(),
        };
    }
    match ty {
        "bool" => json!(not != Some(&json!(true))),
        "u8" => json!(7),
        "u16" => json!(700),
        "u32" => json!(70_000),
        "u64" => json!(1u64 << 40),
        // -1 stands for no id; other negative numbers are no ids either.
        "i32" if not == Some(&json!(-1)) => json!(5),
        "i32" => json!(-70_000),
        "i64" => json!(-(1i64 << 40)),
        "f32" | "serializable_float" => json!(0.5),
        "string" => json!("text \"é\""),
        "json" => json!({"any": [1, null, 0.5, "x"], "thing": {}}),
        "quasi_affine_expr" => expression(),
        "ap_pair" => json!([-3, 4]),
        "union:argument" => operand(),
        "union:storage" => json!({"Skind": "register", "name": "a_register", "origin": "Internal"}),
        "instruction" => super::inst("NoOp", "a_noop"),
        "dependency" => json!(["other", "Anti"]),
        "unroll_dependency" => json!(["other", "Flow", [constant(3)], [{"opaque": true}]]),
        "alias_entry" => json!(["u_set", "u", 3]),
        "imm_number" => json!(0.25),
        "value_object" => json!({"value": 0.75}),
        other => panic!("no sample of {other}"),
    }
}

/// Values that a type refuses, each with why it is here.
pub fn misfits(key: &Key) -> Vec<Value> {
    let scalars = |but: &[&str]| -> Vec<Value> {
        let all = [
            ("bool", json!(true)),
            ("number", json!(1)),
            ("string", json!("a string")),
            ("list", json!([])),
            ("object", json!({})),
        ];
        all.into_iter().filter(|(name, _)| !but.contains(name)).map(|(_, value)| value).collect()
    };
    let range = |low: Value, high: Value| {
        let mut list = scalars(&["number"]);
        list.extend([json!(1.5), low, high]);
        list
    };
    // Bounds that no integer literal of the language holds are written as doubles.
    let mut list = match key.ty.as_str() {
        "bool" => scalars(&["bool"]),
        "maybe_affine<bool>" => scalars(&["bool", "object"]),
        "u8" | "maybe_affine<u8>" => range(json!(-1), json!(256)),
        "u16" | "maybe_affine<u16>" => range(json!(-1), json!(65_536)),
        "u32" | "maybe_affine<u32>" => range(json!(-1), json!(1u64 << 32)),
        "u64" | "maybe_affine<u64>" => range(json!(-1), json!(18_446_744_073_709_551_616.0)),
        "i32" | "maybe_affine<i32>" => range(json!(-(1i64 << 31) - 1), json!(1i64 << 31)),
        "i64" | "maybe_affine<i64>" => range(json!(-1e19), json!(u64::MAX)),
        "f32" | "serializable_float" | "imm_number" => scalars(&["number"]),
        "string" => scalars(&["string"]),
        "json" => Vec::new(),
        "quasi_affine_expr" => scalars(&["object"]),
        "record:FunctionArgumentMap" => scalars(&["object", "list"]),
        "record:nki_functions" => scalars(&["object", "list"]),
        // Older producers and documents of unknown shape have pairs where an object of names is written.
        "map<string,list<name-ref:memory_location>>" | "map<string,string>" => scalars(&["object", "list"]),
        ty if ty.starts_with("enum:") => match reads_ordinals(&ty[5..]) {
            true => scalars(&["string", "number"]),
            false => scalars(&["string"]),
        },
        ty if ty.starts_with("name-ref:") => scalars(&["string"]),
        "list<enum:FunctionAttribute>" => scalars(&["list", "object"]),
        ty if ty.starts_with("list<") => scalars(&["list"]),
        ty if ty.starts_with("map<") => scalars(&["object"]),
        ty if ty.starts_with("record:") => scalars(&["object"]),
        ty if ty.starts_with("array2<") => {
            let mut list = scalars(&[]);
            list.extend([json!([1]), json!([1, 2, 3])]);
            list
        }
        other => panic!("no misfits of {other}"),
    };
    match key.accepts.as_str() {
        "scalar" => list.retain(|value| !value.is_number() && !value.is_object()),
        "bool" => list.retain(|value| !value.is_boolean()),
        _ => {}
    }
    // An affine expression may leave out everything.
    if key.ty.starts_with("maybe_affine") || key.ty == "quasi_affine_expr" {
        list.retain(|value| !value.is_object());
    }
    list
}

impl Record {
    /// An object with every key at a value that is not its default.
    pub fn full(&self) -> Value {
        let members = self.keys.iter().filter(|key| !["*"].contains(&&*key.key));
        Value::Object(members.map(|key| (key.key.clone(), key.sample())).collect())
    }

    /// The keys that must be there for the record to mean something: those without a default.
    ///
    /// Some more cannot be left out: what tells an operand, a module and a set from other objects.
    pub fn least(&self) -> Value {
        let argument = self.name.starts_with("arg_");
        let needed = |key: &&Key| match key.key.as_str() {
            "kind" if argument => true,
            "functions" if self.name == "root" => true,
            // Without it and without locations a record of storage counts as a register. spec: bir-json 5
            "Skind" if self.name == "memory_location_set" => true,
            _ => key.rule == "none",
        };
        let members = self.keys.iter().filter(needed);
        Value::Object(members.map(|key| (key.key.clone(), key.sample())).collect())
    }
}
