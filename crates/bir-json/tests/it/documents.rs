//! Whole documents: the examples of the specification, first-party files, generated dumps, rebuilt field reports.
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::common::*;
use bir_json::OddityKind;
use serde_json::{Value, json};

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![workspace_data().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

/// Every document of the data, with a name.
fn documents() -> Vec<(String, String)> {
    let mut documents = Vec::new();
    for (path, text) in files("bir/real") {
        documents.push((path.display().to_string(), text));
    }
    for (path, text) in files("cases") {
        if path.extension().is_some_and(|e| e == "json") && !path.ends_with("expected.json") {
            documents.push((path.display().to_string(), text));
        }
    }
    for (path, text) in files("order") {
        if path.extension().is_some_and(|e| e == "jsonl") {
            for line in text.lines() {
                let case = parse(line);
                documents.push((format!("order {}", case["id"]), case["dump"].to_string()));
            }
        }
    }
    documents
}

#[test]
fn the_examples_of_the_specification_are_canonical() {
    for example in [
        include_str!("../data/spec/17-1-minimal.json"),
        include_str!("../data/spec/17-2-matmul.json"),
        include_str!("../data/spec/17-3-loops.json"),
    ] {
        let loaded = load(example);
        assert_no_oddities(&loaded);
        assert_eq!(text_of(&loaded) + "\n", example);
        assert_no_oddities(&load_with(example, &STRICT));
    }
}

#[test]
fn the_canonical_form_is_stable() {
    let documents = documents();
    assert!(documents.len() > 230, "{}", documents.len());
    for (name, text) in documents {
        let once = canonical(&text);
        assert_eq!(canonical(&once), once, "{name}");
        let wrapped = format!(r#"{{"module": {text}}}"#);
        if !name.ends_with("json") || !load(&text).wrapped {
            assert!(load(&wrapped).wrapped);
            assert_eq!(canonical(&wrapped), once, "{name}");
        }
    }
}

/// Nothing that a document says is lost: every member of the input is in the output, with the value it had, unless a
/// rule says what becomes of it.
#[test]
fn what_a_document_says_stays() {
    for (name, text) in documents() {
        let mut input = parse(&text);
        if let Some(module) = input.get("module") {
            input = module.clone();
        }
        let output = parse(&canonical(&text));
        compare(&input, &output, &mut format!("{name}: "));
    }
}

fn compare(input: &Value, output: &Value, path: &mut String) {
    let length = path.len();
    match (input, output) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                path.push_str(&format!(".{key}"));
                match after.get(key) {
                    Some(written) => compare(value, written, path),
                    // null is an absent key, and a default of some gates is not written.
                    None => assert!(value.is_null() || is_elided(key, value), "{path} is gone: {value}"),
                }
                path.truncate(length);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{path}");
            for (i, (before, after)) in before.iter().zip(after).enumerate() {
                path.push_str(&format!("[{i}]"));
                compare(before, after, path);
                path.truncate(length);
            }
        }
        // null where a value stands always: the default.
        (Value::Null, _) => {}
        // A bare name means a flow dependency.
        (Value::String(_), Value::Array(edge)) => {
            assert_eq!(edge[..], [input.clone(), json!("Flow")], "{path}");
        }
        // An integer stands for a float.
        (Value::Number(before), Value::Number(after)) => {
            assert_eq!(before.as_f64(), after.as_f64(), "{path}");
        }
        _ => assert_eq!(input, output, "{path}"),
    }
}

/// Whether a value is a default that some gate leaves out under this key.
fn is_elided(key: &str, value: &Value) -> bool {
    static KEYS: LazyLock<Vec<table::Key>> = LazyLock::new(|| {
        let records = table::records().into_values().chain(table::ops());
        records.flat_map(|record| record.keys).filter(|key| key.emit.starts_with("skip_if_")).collect()
    });
    KEYS.iter().any(|row| row.key == key && row.default.as_ref() == Some(value))
}

/// First-party documents of 2025 leave out header keys, repeat names and hold nulls: all of that is silent. What
/// their schema did not have to say and this one requires is reported, and nothing else. spec: bir-json 18
#[test]
fn first_party_documents_read_cleanly() {
    let files = files("bir/real");
    assert_eq!(files.len(), 5);
    for (path, text) in files {
        let loaded = load(&text);
        let kinds = oddities(&loaded);
        assert_eq!(kinds, [], "{}: {:?}", path.display(), loaded.oddities.iter().next());
        assert_no_oddities(&load_with(&text, &STRICT));
        let module = &loaded.module;
        assert_eq!(module.str(module[module.main().unwrap()].name), "sg0000");
        let names: std::collections::HashSet<_> = module.insts().map(|id| module[id].name).collect();
        assert_eq!(names.len(), 1, "every instruction has the same name");
        let written = parse(&text_of(&loaded));
        // Absent keys of the root stay absent. spec: bir-json 18.2
        let root: Vec<_> = written.as_object().unwrap().keys().collect();
        assert_eq!(root, ["arch", "attributes", "functions", "version"]);
        for inst in written.pointer("/functions/0/blocks/0/instructions").unwrap().as_array().unwrap() {
            for key in ["engine_id", "scheduled_start", "scheduled_end", "origin", "outs"] {
                assert!(inst.get(key).is_some(), "{key} is filled in");
            }
            for key in ["optin_passes", "queue", "duplicate", "can_read_uninit"] {
                assert!(inst.get(key).is_none(), "{key} is not written");
            }
            let none = inst["opcode"] == "Load" || inst["opcode"] == "Save";
            assert_eq!(inst.get("dge_type"), none.then_some(&json!("None")));
        }
        for set in written.pointer("/functions/0/allocations").unwrap().as_array().unwrap() {
            for key in ["addr_space", "partition_dim", "tensorId2MemLocSize"] {
                assert!(set.get(key).is_some(), "{key} is kept");
            }
            for location in set["memorylocations"].as_array().unwrap() {
                for key in ["allocated", "pinned", "bank", "base", "tensor_id", "addr"] {
                    assert!(location.get(key).is_some(), "{key} is kept");
                }
            }
        }
    }
}

/// What is odd about the generated dumps: keys that they leave out, and nothing else.
#[test]
fn generated_dumps_have_no_oddities_but_missing_keys() {
    for (name, text) in documents() {
        let loaded = load(&text);
        let other: Vec<_> =
            loaded.oddities.iter().filter(|oddity| oddity.kind != OddityKind::MissingKey).collect();
        let nulls = name.contains("doc-null") && name.ends_with("bad.json");
        assert_eq!(!other.is_empty(), nulls, "{name}: {other:?}");
    }
}

/// Rewrites expressions of version 2 to version 1, and the version of the document. Gives none when an expression
/// has no version 1 form.
fn version_1(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Array(list) => Value::Array(list.iter().map(version_1).collect::<Option<_>>()?),
        Value::Object(members) => match members.get("kind").and_then(Value::as_str) {
            Some("AffExprKind") => {
                let term = |term: &Value| {
                    let axis = term["idx"].get("axis")?;
                    Some(json!({"AxisLabel": axis, "coef": term["coeff"]}))
                };
                let terms: Option<Vec<Value>> = members["terms"].as_array()?.iter().map(term).collect();
                json!({"terms": terms?, "c": members["c"]})
            }
            Some(kind @ ("FloorDivKind" | "ModuloKind" | "CCDivKind")) => {
                let mut body = version_1(&members["numer"])?;
                body.get("op").is_none().then_some(())?;
                body["op"] = json!(match kind {
                    "FloorDivKind" => "Div",
                    "ModuloKind" => "Mod",
                    _ => "CCGetRank",
                });
                body["op_param"] = members["denom"].clone();
                body
            }
            Some("IndirectArgId") => {
                json!({"terms": [], "c": 0, "op": "IndirectArgId", "op_param": members["arg_id"]})
            }
            Some("SumKind" | "MultKind" | "CCGetRankKind") => return None,
            _ => {
                let member = |(key, value): (&String, &Value)| Some((key.clone(), version_1(value)?));
                let mut members: serde_json::Map<_, _> = members.iter().map(member).collect::<Option<_>>()?;
                if members.contains_key("functions") && members.contains_key("arch") {
                    members.insert("version".into(), json!(1));
                }
                Value::Object(members)
            }
        },
        other => other.clone(),
    })
}

/// A version 1 document is its version 2 twin after one pass. spec: bir-json 9.5
#[test]
fn a_version_1_document_becomes_its_twin() {
    let axis = |coeff: i64, c: i64| {
        let idx = json!({"axis": "i0", "kind": "AffIVKind"});
        json!({"c": c, "kind": "AffExprKind", "terms": [{"coeff": coeff, "idx": idx}]})
    };
    let order = json!([
        constant(7),
        axis(3, -1),
        {"denom": 4, "kind": "FloorDivKind", "numer": axis(1, 0)},
        {"denom": 2, "kind": "ModuloKind", "numer": axis(1, 2)},
        {"denom": 8, "kind": "CCDivKind", "numer": constant(5), "replica_groups_id": 0},
        {"arg_id": 3, "kind": "IndirectArgId"},
        {"kind": "ShardIDKind", "ub": 2},
    ]);
    let mut cases = vec![
        ("all forms".to_owned(), world_with(&[with(&inst("NoOp", "x"), json!({"order": order}))])),
        ("no expression".to_owned(), world()),
    ];
    let example = include_str!("../data/spec/17-3-loops.json");
    cases.push(("example".to_owned(), parse(example)));
    cases.extend(documents().into_iter().map(|(name, text)| (name, parse(&text))));
    let mut twins = 0;
    for (name, v2) in cases {
        let Some(v1) = version_1(&v2) else { continue };
        let Some(module) = v1.get("module").or(Some(&v1)) else { continue };
        if module == v2.get("module").unwrap_or(&v2) {
            continue;
        }
        twins += 1;
        let v1 = v1.to_string();
        let written = canonical(&v1);
        assert_eq!(written, canonical(&v2.to_string()), "{name}");
        assert_eq!(parse(&written)["version"], json!(2));
        assert_eq!(load(&v1).module.root.version, Some(1));
    }
    assert!(twins > 200, "{twins}");
}
