//! Every key of every op and record, from the tables: defaults, gates, nulls, and values that do not fit.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::table::{self, Key, Record};
use crate::common::*;
use bir_json::{OddityKind, ReadErrorKind};
use serde_json::{Map, Value, json};

/// A record with a document that has a place for it.
struct Subject {
    record: Record,
    document: Value,
    /// JSON pointer of the place.
    place: String,
    /// Members that the object has besides the keys of the record.
    base: Value,
}

impl Subject {
    fn op(op: Record) -> Subject {
        let mut base = inst(&op.name, "subject");
        if op.name == "Loop" {
            // Expressions in the body may name the axis.
            base["loopnest"] = json!(["i0"]);
        }
        Subject { record: op, document: world_with(&[json!({})]), place: INST.to_owned(), base }
    }

    /// All ops and records.
    fn all() -> Vec<Subject> {
        let records = table::records().into_values().filter(|record| record.name != "FunctionArgumentMap");
        table::ops().into_iter().map(Subject::op).chain(records.map(Subject::record)).collect()
    }

    fn record(record: Record) -> Subject {
        let mut document = world();
        let mut base = json!({});
        let place = match record.name.as_str() {
            "root" => {
                document = json!({});
                String::new()
            }
            "nki_functions" => "/nki_functions".to_owned(),
            "function" => append(&mut document, "/functions"),
            "block" => append(&mut document, "/functions/0/blocks"),
            "block_argument" => {
                document["functions"][0]["blocks"][1]["block_arguments"] = json!([{}]);
                "/functions/0/blocks/1/block_arguments/0".to_owned()
            }
            "memory_location_set" | "register" => append(&mut document, "/functions/0/allocations"),
            "memory_location" => append(&mut document, "/functions/0/allocations/0/memorylocations"),
            "queue" => append(&mut document, "/queues"),
            "header" => {
                document = world_with(&[json!({})]);
                INST.to_owned()
            }
            name => {
                let (opcode, path) = match name {
                    "sync_info" => ("NoOp", "/sync_info"),
                    "sync_wait" => ("NoOp", "/sync_info/on_wait/0"),
                    "sync_update" => ("NoOp", "/sync_info/on_update/0"),
                    "dynamic_ap_info" => ("NoOp", "/ins/0/dynamic_ap_info"),
                    "dynamic_ap_term" => ("NoOp", "/ins/0/dynamic_ap_info/aff_expr/0"),
                    "CcChannel" => ("CollectiveCompute", "/cc_channel"),
                    "LoopAxis" => ("Loop", "/LoopAxis"),
                    "DynamicForLoopAxis" => ("DynamicForLoop", "/DynamicForLoopAxis"),
                    argument if argument.starts_with("arg_") => ("NoOp", "/ins/0"),
                    other => panic!("no place for {other}"),
                };
                let op = table::op(opcode);
                let mut host = with(&inst(opcode, "host"), op.full());
                match path {
                    "/sync_info" => host["sync_info"] = json!({}),
                    "/sync_info/on_wait/0" => host["sync_info"] = json!({"on_update": [], "on_wait": [{}]}),
                    "/sync_info/on_update/0" => host["sync_info"] = json!({"on_update": [{}], "on_wait": []}),
                    "/ins/0" => host["ins"] = json!([{}]),
                    "/ins/0/dynamic_ap_info" => {
                        host["ins"] = json!([with(&operand(), json!({"dynamic_ap_info": {}}))]);
                    }
                    "/ins/0/dynamic_ap_info/aff_expr/0" => {
                        let info = json!({"actual_ap": [[1, 1]], "aff_expr": [{}]});
                        host["ins"] = json!([with(&operand(), json!({"dynamic_ap_info": info}))]);
                    }
                    _ => host[&path[1..]] = json!({}),
                }
                document = world_with(&[host]);
                format!("{INST}{path}")
            }
        };
        if record.name == "header" {
            base["opcode"] = json!("NoOp");
        }
        Subject { record, document, place, base }
    }

    /// The document with an object in the place.
    fn document(&self, object: &Value) -> Value {
        let mut document = self.document.clone();
        if self.place.is_empty() {
            return object.clone();
        }
        *document.pointer_mut(&self.place).expect("the place is there") = with(&self.base, object.clone());
        document
    }

    /// Reads and writes an object.
    #[track_caller]
    fn through(&self, object: &Value) -> Value {
        let written = round_trip(&self.document(object));
        written.pointer(&self.place).unwrap_or_else(|| panic!("{} is gone", self.place)).clone()
    }

    /// What the writer must give for an object whose members are all written.
    fn whole(&self, object: &Value) -> Value {
        with(&self.base, object.clone())
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.record.keys.iter()
    }

    /// Every key at a value that is not its default.
    fn full(&self) -> Value {
        let full = self.record.full();
        match self.record.name.as_str() {
            // A hint wants a location in PSUM, an alias one in DRAM. Tested apart.
            "memory_location" => without(&full, &["pack_id_hint", "alias"]),
            "header" => without(&full, &["opcode"]),
            _ => full,
        }
    }

    fn label(&self, key: &Key) -> String {
        format!("{}.{}", self.record.name, key.key)
    }
}

/// Puts an empty object at the end of a list; gives its place.
fn append(document: &mut Value, list: &str) -> String {
    let items = document.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
    items.push(json!({}));
    format!("{list}/{}", items.len() - 1)
}

/// Runs a check for every op and record, and shows all that fail.
fn each(check: impl Fn(Subject) + std::panic::RefUnwindSafe) {
    let failures: Vec<String> = Subject::all()
        .into_iter()
        .filter_map(|subject| {
            let name = subject.record.name.clone();
            let check = std::panic::AssertUnwindSafe(|| check(subject));
            let message = std::panic::catch_unwind(check).err()?;
            let text = message.downcast_ref::<String>().cloned().unwrap_or_default();
            Some(format!("{name}: {text}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} records fail:\n{}", failures.len(), failures.join("\n"));
}

fn object(members: impl Iterator<Item = (String, Value)>) -> Value {
    Value::Object(members.collect::<Map<_, _>>())
}

/// Whether the gate writes a key that stands in the input at its default.
fn keeps_default(key: &Key) -> bool {
    ["always", "if_present", "present_or_nondefault"].contains(&&*key.emit)
}

/// The value of an absent key. The kind of a sample set is not Internal. spec: bir-json 5.1
fn default_of(key: &Key) -> Option<Value> {
    (key.rule == "by_kind").then(|| json!("Tensor")).or_else(|| key.default.clone())
}

#[test]
fn the_tables_have_what_the_specification_counts() {
    let ops = table::ops();
    assert_eq!(ops.len(), 110);
    assert_eq!(ops.iter().filter(|op| op.header_only).count(), 28);
    assert_eq!(ops.iter().filter(|op| op.keys.is_empty()).count(), 32);
    assert_eq!(ops.iter().map(|op| op.keys.len()).sum::<usize>(), 317);
    assert_eq!(table::records().len(), 26);
}

/// Keys at their default go unless their gate writes them; a bare header stays a bare header.
#[test]
fn keys_at_their_default_elide() {
    each(|subject| {
        let default = |key: &Key| default_of(key).map(|value| (key.key.clone(), value));
        let defaults = object(subject.keys().filter_map(default));
        let least =
            without(&subject.record.least(), if subject.record.name == "header" { &["opcode"] } else { &[] });
        let input = with(&defaults, least.clone());
        let kept = subject.keys().filter(|key| keeps_default(key));
        let expected = subject.whole(&with(&object(kept.filter_map(default)), least));
        assert_eq!(subject.through(&input), expected, "{}", subject.record.name);
        if subject.record.header_only {
            assert_eq!(subject.through(&json!({})), subject.base, "{}", subject.record.name);
        }
    });
}

/// A record without the keys that have a default gets those that are always written, and no other.
#[test]
fn absent_keys_take_their_default() {
    each(|subject| {
        let least =
            without(&subject.record.least(), if subject.record.name == "header" { &["opcode"] } else { &[] });
        let always = |key: &Key| {
            let value = (key.emit == "always").then(|| default_of(key)).flatten();
            value.map(|value| (key.key.clone(), value))
        };
        let always = object(subject.keys().filter_map(always));
        let expected = match subject.record.name.as_str() {
            // An empty holder keeps its shape. spec: bir-json 3
            "nki_functions" => json!({}),
            _ => subject.whole(&with(&always, least.clone())),
        };
        assert_eq!(subject.through(&least), expected, "{}", subject.record.name);
    });
}

#[test]
fn keys_at_other_values_stay() {
    each(|subject| {
        let full = subject.full();
        assert_eq!(subject.through(&full), subject.whole(&full), "{}", subject.record.name);
    });
}

#[test]
fn a_hint_stays_on_a_location_in_psum() {
    let subject = Subject::record(table::record("memory_location"));
    let full = without(&with(&subject.full(), json!({"type": "PSUM", "pack_id_hint": 3})), &["alias"]);
    assert_eq!(subject.through(&full), full);
    let elsewhere = with(&full, json!({"type": "SB"}));
    let text = subject.document(&elsewhere).to_string();
    let error = refusal(&text);
    assert!(error.ends_with("sample: PackIdHint only applies to PSUM."), "{error}");
    // Whoever looks for faults reads on.
    assert!(canonical_with(&text, &KEEP).contains("\"pack_id_hint\": 3"));
}

/// Every key that may be an expression, as one.
#[test]
fn numbers_may_be_expressions() {
    let count = AtomicUsize::new(0);
    each(|subject| {
        let mut full = subject.full();
        for key in subject.keys() {
            if key.ty.contains("maybe_affine") {
                full[&key.key] = as_expressions(&key.ty);
                count.fetch_add(1, Relaxed);
            }
        }
        assert_eq!(subject.through(&full), subject.whole(&full), "{}", subject.record.name);
    });
    assert!(count.load(Relaxed) > 130, "{count:?}");
}

fn as_expressions(ty: &str) -> Value {
    match (table::inner(ty, "list"), table::inner(ty, "array2")) {
        (Some(inner), _) => json!([as_expressions(inner), as_expressions(inner)]),
        (_, Some(inner)) => json!([as_expressions(inner), as_expressions(inner)]),
        _ => expression(),
    }
}

/// Leaving out a key is the same as writing its default, up to the key itself where the gate keeps it.
#[test]
fn dropping_a_key_equals_setting_its_default() {
    each(|subject| {
        let full = subject.full();
        for key in subject.keys() {
            let Some(default) = &key.default else { continue };
            let root_functions = (&*subject.record.name, &*key.key) == ("root", "functions");
            if key.is_fixed() || root_functions || full.get(&key.key).is_none() {
                continue;
            }
            let dropped = subject.through(&without(&full, &[&key.key]));
            let set = subject.through(&with(&full, json!({&key.key: default})));
            let label = subject.label(key);
            match key.emit.as_str() {
                _ if subject.record.name == "nki_functions" => {
                    // An empty holder keeps its shape. spec: bir-json 3
                    assert_eq!((set, dropped), (json!({"functions": []}), json!({})));
                }
                "if_present" | "present_or_nondefault" => {
                    assert_eq!(set.get(&key.key), Some(default), "{label}");
                    assert_eq!(dropped.get(&key.key), None, "{label}");
                    assert_eq!(without(&set, &[&key.key]), dropped, "{label}");
                }
                "always" => {
                    assert_eq!(set, dropped, "{label}");
                    assert_eq!(set.get(&key.key), Some(default), "{label}");
                }
                _ => {
                    assert_eq!(set, dropped, "{label}");
                    assert_eq!(set.get(&key.key), None, "{label}");
                }
            }
        }
    });
}

/// null is an absent key. Where the key may not be null, that is reported once.
#[test]
fn null_is_an_absent_key() {
    each(|subject| {
        let full = subject.full();
        for key in subject.keys() {
            if key.is_fixed() || full.get(&key.key).is_none() {
                continue;
            }
            let label = subject.label(key);
            if (&*subject.record.name, &*key.key) == ("root", "functions") {
                continue;
            }
            if (&*subject.record.name, &*key.key) == ("arg_imm_array", "value_array") {
                // "missing key is an error". spec: bir-json 8.2
                let text = subject.document(&with(&full, json!({"value_array": null}))).to_string();
                assert_eq!(refuse(&text).kind, ReadErrorKind::MissingKey("value_array"));
                continue;
            }
            let absent = without(&full, &[&key.key]);
            let null = with(&full, json!({&key.key: null}));
            let loaded = load(&subject.document(&null).to_string());
            let reported = loaded.oddities.count(OddityKind::MisplacedNull);
            assert_eq!(reported, usize::from(!key.null_is_silent()), "{label}");

            let mut expected = subject.through(&absent);
            // A required key that may be null is written as null again. spec: opcodes 1.2
            if key.required && (key.nullable || key.ty.starts_with("name-ref:")) {
                expected[&key.key] = json!(null);
            }
            match (&*subject.record.name, &*key.key) {
                // Written back in the shape that was read. spec: bir-json 3
                (_, "nki_functions") => expected[&key.key] = json!(null),
                ("nki_functions", _) => expected = json!({"functions": []}),
                _ => {}
            }
            assert_eq!(subject.through(&null), expected, "{label}");
        }
    });
}

/// A value of the wrong type is an error at its place, or stays as an unknown member where the table says so.
#[test]
fn a_value_of_the_wrong_type_is_an_error_with_its_place() {
    let count = AtomicUsize::new(0);
    each(|subject| {
        let full = subject.full();
        for key in subject.keys() {
            if key.key == "Skind" || key.key == "kind" && key.ty == "string" {
                continue;
            }
            for value in table::misfits(key) {
                let label = format!("{} = {value}", subject.label(key));
                let wrong = with(&full, json!({&key.key: value}));
                let text = subject.document(&wrong).to_string();
                count.fetch_add(1, Relaxed);
                // The list of block arguments has a spelling of our own, so all of it is kept.
                if key.keeps_misfits || subject.record.name == "block_argument" {
                    let loaded = load(&text);
                    assert_eq!(loaded.oddities.count(OddityKind::Misfit), 1, "{label}");
                    assert_eq!(subject.through(&wrong).get(&key.key), Some(&value), "{label}");
                    continue;
                }
                let error = refuse(&text);
                let kind = &error.kind;
                assert!(
                    matches!(kind, ReadErrorKind::WrongType { .. } | ReadErrorKind::OutOfRange { .. }),
                    "{label}: {kind:?}"
                );
                let place = error.place(text.as_bytes());
                let path = place.path.rsplit_once('[').map_or(&*place.path, |(path, index)| match index {
                    // An element of the value, not a key behind a list.
                    index if !index.contains('.') => path.trim_end_matches("[0]"),
                    _ => &place.path,
                });
                assert!(path.ends_with(&key.key), "{label}: {place}");
            }
        }
    });
    assert!(count.load(Relaxed) > 2000, "{count:?}");
}

/// Every name of every enum under every key; a name that no enum has is carried and reported.
#[test]
fn enums_are_names_and_unknown_names_are_carried() {
    each(|subject| {
        let full = subject.full();
        for key in subject.keys() {
            let Some(name) = key.ty.strip_prefix("enum:") else { continue };
            if ["Skind", "opcode", "type"].contains(&&*key.key) {
                continue;
            }
            let names = table::enum_names(name);
            for value in names.iter().map(String::as_str).chain(["a name of the future"]) {
                if subject.record.name.contains("imm_") && key.key == "dtype" {
                    // What an immediate may be is another test.
                    continue;
                }
                let input = with(&full, json!({&key.key: value}));
                let written = subject.through(&input);
                let elided = !keeps_default(key) && key.default.as_ref() == Some(&json!(value));
                let expected = (!elided).then(|| json!(value));
                assert_eq!(written.get(&key.key).cloned(), expected, "{} = {value}", subject.label(key));
            }
            let unknown = with(&full, json!({&key.key: "a name of the future"}));
            let loaded = load(&subject.document(&unknown).to_string());
            assert_eq!(loaded.oddities.count(OddityKind::UnknownName), 1, "{}", subject.label(key));
        }
    });
}

/// Members that no table has, in every record: kept in their place, counted, dropped on demand, refused when strict.
#[test]
fn unknown_members_are_kept_in_every_record() {
    let unknown = json!({"zz unknown": [1, {"a": null}], "Aa": "x"});
    each(|subject| {
        let name = &subject.record.name;
        let input = with(&subject.full(), unknown.clone());
        let text = subject.document(&input).to_string();
        if name == "nki_functions" {
            // "must be empty or have exactly one key". spec: bir-json 11.1
            assert!(refusal(&text).contains("nki_functions may only have the key `functions`"));
            return;
        }
        let loaded = load(&text);
        assert_eq!(loaded.oddities.count(OddityKind::UnknownMember), 2, "{name}");
        assert_eq!(subject.through(&input), subject.whole(&input), "{name}");
        let options = bir_json::WriteOptions { drop_unknown: true, ..Default::default() };
        let dropped = parse(&bir_json::to_string(&loaded.module, &options));
        assert_eq!(dropped.pointer(&subject.place), Some(&subject.whole(&subject.full())), "{name}");
        let error = refuse_with(&text, &STRICT);
        assert!(matches!(error.kind, ReadErrorKind::Strict(_)), "{name}: {:?}", error.kind);
    });
}

/// A required key that is absent is reported, and refused when strict.
#[test]
fn missing_required_keys_are_reported() {
    each(|subject| {
        let full = subject.full();
        let whole = load(&subject.document(&full).to_string()).oddities.count(OddityKind::MissingKey);
        assert_eq!(whole, 0, "{}", subject.record.name);
        for key in subject.keys().filter(|key| key.required) {
            let label = subject.label(key);
            if ["kind", "value_array", "opcode", "functions"].contains(&&*key.key)
                && key.key != "functions"
                && (subject.record.name.starts_with("arg_") || subject.record.name == "header")
            {
                continue;
            }
            if subject.record.name == "root" && key.key == "functions" {
                // What tells a module from any other object.
                let error = refuse(&without(&full, &["functions"]).to_string());
                assert_eq!(error.kind, ReadErrorKind::MissingKey("functions"));
                continue;
            }
            let text = subject.document(&without(&full, &[&key.key])).to_string();
            let loaded = load(&text);
            assert_eq!(loaded.oddities.count(OddityKind::MissingKey), 1, "{label}");
            let oddity = loaded.oddities.iter().find(|oddity| oddity.kind == OddityKind::MissingKey).unwrap();
            assert_eq!(oddity.message, format!("missing key `{}`", key.key), "{label}");
            assert!(matches!(refuse_with(&text, &STRICT).kind, ReadErrorKind::Strict(_)), "{label}");
        }
    });
}
