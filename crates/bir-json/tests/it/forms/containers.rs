//! Containers: module, functions, blocks, queues.

use super::*;

/// "An empty holder is written back in the shape that was read."
#[test]
fn an_empty_nki_holder_keeps_its_shape() {
    for (shape, empty) in [
        (json!(null), EmptyHolder::Null),
        (json!([]), EmptyHolder::List),
        (json!({}), EmptyHolder::Object),
        (json!({"functions": []}), EmptyHolder::Functions),
    ] {
        let document = with(&world(), json!({"nki_functions": shape}));
        assert_eq!(round_trip(&document), document);
        let loaded = load(&document.to_string());
        assert_no_oddities(&loaded);
        assert_eq!(loaded.module.root.nki_functions.as_ref().unwrap().empty, empty);
    }
    let absent = without(&world(), &["nki_functions"]);
    assert_eq!(round_trip(&absent), absent);
    for wrong in [json!([{}]), json!({"functions": [], "x": 1}), json!({"x": []}), json!(7), json!("")] {
        let text = with(&world(), json!({"nki_functions": wrong})).to_string();
        assert!(refuse(&text).place(text.as_bytes()).path.starts_with("nki_functions"));
    }
}

/// "an object {need_unroll: bool} in February, from March an array: accept both"; "read both, write the array".
#[test]
fn attributes_of_a_function_are_a_list() {
    let mut document = world();
    document["functions"][0]["attributes"] =
        json!({"need_unroll": true, "need_dce": false, "no_spill": true});
    let loaded = load(&document.to_string());
    assert_eq!(oddities(&loaded), [(OddityKind::LegacyForm, 1)]);
    assert_eq!(parse(&text_of(&loaded))["functions"][0]["attributes"], json!(["need_unroll", "no_spill"]));
}

/// "accept an object and an array of pairs. Writer: the object form." spec: bir-json 3.3
#[test]
fn call_bindings_are_an_object() {
    let calls: Vec<Value> =
        ["y", "x"].iter().map(|name| with(&inst("Call", name), table::op("Call").full())).collect();
    let document = world_with(&calls);
    let object = with(&document, json!({"call_to_physical_memlocs": {"x": ["c"], "y": []}}));
    let pairs = with(&document, json!({"call_to_physical_memlocs": [["y", []], ["x", ["c"]]]}));
    assert_eq!(round_trip(&object), object);
    assert_eq!(round_trip(&pairs), object);
    // The last of two lists for one call counts, as with any repeated key.
    let twice = with(&document, json!({"call_to_physical_memlocs": [["x", []], ["y", []], ["x", ["c"]]]}));
    assert_eq!(round_trip(&twice), object);
    for wrong in
        [json!([["x"]]), json!([[]]), json!([["x", ["c"], 1]]), json!({"x": "c"}), json!([{"x": []}])]
    {
        let text = with(&document, json!({"call_to_physical_memlocs": wrong})).to_string();
        assert!(refuse(&text).place(text.as_bytes()).path.starts_with("call_to_physical_memlocs"));
    }
}

/// A call is meant by its name, whatever else has it, and whichever comes first where `main` is written first.
#[test]
fn call_bindings_mean_calls() {
    let call = with(&inst("Call", "x"), table::op("Call").full());
    let mut document = world_with(std::slice::from_ref(&call));
    let blocks = document["functions"][0]["blocks"].as_array_mut().unwrap();
    blocks.push(block("main", json!([inst("NoOp", "x")])));
    let document = with(&document, json!({"call_to_physical_memlocs": {"x": ["c"]}}));
    let again = round_trip(&document);
    assert_eq!(again["functions"][0]["blocks"][0]["name"], "main");
    assert_eq!(again["call_to_physical_memlocs"], document["call_to_physical_memlocs"]);
}

/// A queue, its instances and its DMA blocks are named from functions, wherever they stand in the document.
#[test]
fn queues_may_come_before_functions() {
    let trigger = json!({"queue": "q0", "dma_blocks": ["db1", "db0"]});
    let document = world_with(&[with(&inst("DMATrigger", "t"), trigger)]);
    let text = document.to_string();
    let queues = document["queues"].to_string();
    let moved = text.replacen('{', &format!("{{\"queues\":{queues},"), 1);
    let last = moved.rfind(&format!(",\"queues\":{queues}")).unwrap();
    let moved = moved[..last].to_owned() + &moved[last + queues.len() + 10..];
    assert_eq!(canonical(&moved), canonical(&text));
    let loaded = load(&moved);
    let module = &loaded.module;
    let trigger = module.insts().find(|id| matches!(module[*id].op, Op::DMATrigger(_))).unwrap();
    let Op::DMATrigger(op) = &module[trigger].op else { unreachable!() };
    assert!(op.queue.unwrap().id().is_some());
    assert!(op.dma_blocks.iter().all(|block| block.id().is_some()));
}

/// Members in descending order, as the first-party producer writes them: the same document.
#[test]
fn the_order_of_members_does_not_matter() {
    fn descending(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let member =
                    |(key, value): (&String, &Value)| format!("{}:{}", json!(key), descending(value));
                format!("{{{}}}", members.iter().rev().map(member).collect::<Vec<_>>().join(","))
            }
            Value::Array(list) => {
                format!("[{}]", list.iter().map(descending).collect::<Vec<_>>().join(","))
            }
            other => other.to_string(),
        }
    }
    let mut insts: Vec<Value> = Vec::new();
    for op in table::ops() {
        let full = with(&inst(&op.name, &op.name), op.full());
        insts.push(with(&full, without(&table::record("header").full(), &["name", "opcode"])));
    }
    for document in [
        world_with(&insts),
        parse(include_str!("../../data/spec/17-2-matmul.json")),
        parse(include_str!("../../data/spec/17-3-loops.json")),
    ] {
        assert_eq!(canonical(&descending(&document)), canonical(&document.to_string()));
    }
}

/// A wrapper has no place in what is written, so its other members are reported.
#[test]
fn members_beside_the_module_are_unknown() {
    let module = world();
    for text in [
        format!(r#"{{"a": 1, "module": {module}, "b": [2]}}"#),
        format!(r#"{{"module": {module}, "functions": [], "version": 2}}"#),
    ] {
        let loaded = load(&text);
        assert_eq!(oddities(&loaded), [(OddityKind::UnknownMember, 2)]);
        assert_eq!(text_of(&loaded), canonical(&module.to_string()));
        let error = refuse_with(&text, &STRICT);
        assert!(error.to_string().contains("beside `module`"), "{error}");
    }
    let twice = format!(r#"{{"module": {module}, "a": 1, "a": 2}}"#);
    assert_eq!(oddities(&load(&twice)), [(OddityKind::UnknownMember, 1), (OddityKind::DuplicateKey, 1)]);
    // Without a wrapper they are members of the module.
    let bare = with(&module, json!({"module": 1}));
    assert_eq!(round_trip(&bare)["module"], json!(1));
}
