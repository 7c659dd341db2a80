//! Dependencies and the names in them.

use super::*;

fn edges(key: &str, list: Value) -> Value {
    let document =
        world_with(&[inst("NoOp", "a"), with(&inst("NoOp", "x"), json!({key: list})), inst("NoOp", "z")]);
    let written = round_trip(&document);
    written.pointer("/functions/0/blocks/0/instructions/2").unwrap()[key].clone()
}

/// spec: bir-json 7.2
#[test]
fn entries_become_pairs_of_name_and_kind() {
    for key in ["dependencies", "loop_carried_dependencies"] {
        assert_eq!(edges(key, json!(["a"])), json!([["a", "Flow"]]));
        for (number, name) in ["Invalid", "Ordered", "Anti", "Output", "Flow"].iter().enumerate() {
            assert_eq!(edges(key, json!([["a", number]])), json!([["a", name]]));
            assert_eq!(edges(key, json!([["a", name]])), json!([["a", name]]));
        }
        for number in 5..8 {
            assert_eq!(edges(key, json!([["a", number]])), json!([["a", number]]));
        }
        // Order stays, across names that come later and earlier.
        let list = json!([["z", "Anti"], ["other", "Flow"], ["z", "Flow"], ["a", "Output"], ["a", 6]]);
        assert_eq!(edges(key, list.clone()), list);
        // A set of (target, kind); extra elements belong to the identity.
        let repeated = json!([
            ["a", "Flow", 1], "a", ["a", 4], ["a", "Flow", 1], ["a", "Flow", [1]], ["z", "Flow", {"d": 2.5}], ["a"
            , "Flow", 1, null], "z"
        ]);
        let expected = json!([
            ["a", "Flow", 1], ["a", "Flow"], ["a", "Flow", [1]], ["z", "Flow", {"d": 2.5}],
            ["a", "Flow", 1, null], ["z", "Flow"]
        ]);
        assert_eq!(edges(key, repeated), expected);
    }
}

#[test]
fn entries_of_another_form_are_refused() {
    for key in ["dependencies", "loop_carried_dependencies"] {
        for wrong in [
            json!([["a", 8]]),
            json!([["a", -1]]),
            json!([["a", "flow"]]),
            json!([["a", null]]),
            json!([["a", true]]),
            json!([["a"]]),
            json!([[]]),
            json!([[4, "Flow"]]),
            json!([null]),
            json!([7]),
            json!([{"id": "a", "kind": "Flow"}]),
            json!("a"),
            json!({"a": "Flow"}),
        ] {
            let inst = with(&inst("NoOp", "x"), json!({key: wrong}));
            let text = world_with(&[super::inst("NoOp", "a"), inst]).to_string();
            let error = refuse(&text);
            assert!(!error.kind.is_syntax(), "{key} {wrong}: the text is JSON: {error}");
            let place = error.place(text.as_bytes());
            assert!(place.path.contains(key), "{key} {wrong}: {place}");
        }
        let inst = with(&inst("NoOp", "x"), json!({key: {}}));
        let message = refusal(&world_with(&[inst]).to_string());
        assert!(message.contains(&format!("'{key}' must be a JSON array")), "{message}");
    }
}

#[test]
fn an_instruction_cannot_depend_on_itself() {
    for key in ["dependencies", "loop_carried_dependencies"] {
        let error = refuse(&world_with(&[with(&inst("NoOp", "x"), json!({key: ["x"]}))]).to_string());
        assert!(error.to_string().contains("this != former"), "{error}");
    }
}

/// "prefer an earlier instance in the same block, else the instances of the nearest earlier block that holds the
/// name". spec: bir-json 2.4
#[test]
fn a_repeated_name_means_the_nearest_earlier_instance() {
    let plain = || inst("NoOp", "same");
    let user = |name: &str| with(&inst("NoOp", name), json!({"dependencies": ["same"]}));
    let mut document = world();
    document["functions"][0]["blocks"] = json!([
        block("b0", json!([user("before all"), plain()])),
        block("b1", json!([plain(), plain(), user("behind two"), plain()])),
        block("b2", json!([user("first of its block"), plain(), user("behind one")])),
        block("b3", json!([inst("NoOp", "nothing here")])),
        block("b4", json!([user("two blocks on"), with(&plain(), json!({"dependencies": ["same"]}))])),
    ]);
    let text = document.to_string();
    let loaded = load(&text);
    assert_no_oddities(&loaded);
    let module = &loaded.module;
    let ids: Vec<_> = module.insts().collect();
    let place = |id: bir::ids::InstId| {
        let block = module[id].block;
        let at = module[block].instructions.iter().position(|other| *other == id).unwrap();
        format!("{}#{at}", module.str(module[block].name))
    };
    let target = |name: &str| {
        let id = ids.iter().find(|id| module.str(module[**id].name) == name).unwrap();
        place(module[*id].dependencies.iter().next().unwrap().target())
    };
    assert_eq!(target("before all"), "b0#1");
    assert_eq!(target("behind two"), "b1#1");
    assert_eq!(target("first of its block"), "b1#3");
    assert_eq!(target("behind one"), "b2#1");
    assert_eq!(target("two blocks on"), "b2#1");
    // An instance that names its own name means another one.
    let last = *ids.iter().rfind(|id| module.str(module[**id].name) == "same").unwrap();
    assert_eq!(place(last), "b4#1");
    assert_eq!(place(module[last].dependencies.iter().next().unwrap().target()), "b2#1");
}

/// Unroll dependencies are looked up like other dependencies, whatever the op.
#[test]
fn unroll_dependencies_of_a_trigger_name_instructions() {
    let entry = json!([["other", "Anti", [constant(1)], [{"p": constant(2)}], "more"]]);
    for op in ["NoOp", "DMATrigger", "SwitchQueueInstance"] {
        let full = with(&with(&inst(op, "t"), table::op(op).full()), json!({"unroll_dependencies": entry}));
        assert_eq!(through(&full), full, "{op}");
    }
    let short = through(&with(&inst("NoOp", "x"), json!({"unroll_dependencies": [["other", 4]]})));
    assert_eq!(short["unroll_dependencies"], json!([["other", "Flow", [], []]]));
}
