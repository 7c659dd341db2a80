//! The last of equal keys counts, for every kind of key, and what the others say is as if it were not there.

use super::*;

#[track_caller]
fn same(double: &str, single: &str, duplicates: usize) {
    let loaded = load(double);
    assert_eq!(text_of(&loaded), canonical(single), "{double}");
    assert_eq!(loaded.oddities.count(OddityKind::DuplicateKey), duplicates);
    let others = oddities(&loaded).into_iter().filter(|(kind, _)| *kind != OddityKind::DuplicateKey);
    assert_eq!(others.collect::<Vec<_>>(), oddities(&load(single)), "{double}");
    assert!(matches!(refuse_with(double, &STRICT).kind, ReadErrorKind::Strict(_)));
}

fn function(members: &str) -> String {
    format!(r#"{{"functions": [{{"name": "f", {members}}}]}}"#)
}

fn instruction(members: &str) -> String {
    function(&format!(
        r#""blocks": [{{"name": "b", "instructions": [{{"opcode": "NoOp", "name": "n"}}, {{{members}}}]}}]"#
    ))
}

#[test]
fn containers() {
    let good = r#""blocks": [{"name": "b", "instructions": [{"opcode": "NoOp", "name": "n"}]}]"#;
    for bad in [
        r#"[{"name": "b", "instructions": [{"opcode": "NoOp", "dependencies": ["ghost"], "name": "n"}]}]"#,
        r#"[{"name": "b", "instructions": [{"opcode": 7}]}]"#,
        r#"[{"instructions": [{"opcode": "Loop", "blocks": [{"instructions": [{"opcode": 7}]}]}]}]"#,
        r#"[{"instructions": [{"opcode": "Load", "queue": "ghost"}, {"opcode": "Weird", "name": "n", "a": 1}]}]"#,
        r#"[{"instructions": [{"opcode": "NoOp", "loop_carried_dependencies": [["ghost", "Flow", 7]]}]}]"#,
        r#"[{"instructions": [{"opcode": "NoOp", "order": [{"terms": [], "op": "Div", "op_param": 1}]}]}]"#,
        r#"[{"instructions": [{"opcode": "NoOp", "ins": [{"kind": "symbolic_ap", "ap": [[]]}]}]}]"#,
        r#"[{"instructions": [{"opcode": "NoOp", "ins": [{"kind": "symbolic_ap", "ap": [[1, 2, 3]]}]}]}]"#,
        r#"[{"instructions": [{"opcode": "NoOp", "dependencies": [[]]}]}]"#,
        "7",
        "null",
    ] {
        same(&function(&format!(r#""blocks": {bad}, {good}"#)), &function(good), 1);
    }
    let functions = r#""functions": []"#;
    same(
        &format!(r#"{{"functions": [{{"name": "f", "blocks": []}}], {functions}}}"#),
        &format!("{{{functions}}}"),
        1,
    );
    same(
        &format!(r#"{{"queues": [{{"name": "q", "blocks": []}}], {functions}, "queues": []}}"#),
        &format!(r#"{{{functions}, "queues": []}}"#),
        1,
    );
    same(
        r#"{"module": {"functions": [7]}, "module": {"functions": []}}"#,
        r#"{"module": {"functions": []}}"#,
        1,
    );
    same(
        &format!(r#"{{"nki_functions": {{"functions": [{{"name": "f"}}], "functions": []}}, {functions}}}"#),
        &format!(r#"{{"nki_functions": {{"functions": []}}, {functions}}}"#),
        1,
    );
}

#[test]
fn storage() {
    let set = |members: &str| {
        format!(r#"{{"name": "s", "kind": "Internal", "dtype": null, "tensor_shape": [], {members}}}"#)
    };
    let location =
        |members: &str| format!(r#"{{"name": "l", "type": "DRAM", "addr": 0, "dims": [1], {members}}}"#);
    let one = format!(r#""memorylocations": [{}]"#, location(r#""alias": []"#));
    let other = format!(r#""memorylocations": [{}]"#, location(r#""alias": [["s", "ghost", 1]]"#));
    let document = |set: String| function(&format!(r#""allocations": [{set}], "blocks": []"#));
    same(&document(set(&format!("{other}, {one}"))), &document(set(&one)), 1);
    let double = format!(
        r#""memorylocations": [{}]"#,
        location(r#""alias": [["s", "ghost", 1]], "alias": [["s", "l", 1]]"#)
    );
    let single = format!(r#""memorylocations": [{}]"#, location(r#""alias": [["s", "l", 1]]"#));
    same(&document(set(&double)), &document(set(&single)), 1);
    same(
        &function(&format!(r#""allocations": [{}], "allocations": [], "blocks": []"#, set(&one))),
        &function(r#""allocations": [], "blocks": []"#),
        1,
    );
    same(
        &document(r#"{"Skind": "memory_location_set", "name": "r", "Skind": "register"}"#.into()),
        &document(r#"{"name": "r", "Skind": "register"}"#.into()),
        1,
    );
}

#[test]
fn instructions() {
    for (double, single, count) in [
        (r#""opcode": "Load", "opcode": "NoOp""#, r#""opcode": "NoOp""#, 1),
        (r#""opcode": "NoOp", "name": 7, "name": "x""#, r#""opcode": "NoOp", "name": "x""#, 1),
        (
            r#""opcode": "NoOp", "dependencies": [["n", "Flow", 1], ["ghost", "Flow", 2]], "dependencies": [["n", "Anti", 3]]"#,
            r#""opcode": "NoOp", "dependencies": [["n", "Anti", 3]]"#,
            1,
        ),
        (
            r#""opcode": "NoOp", "outs": [{"kind": "imm_value", "dtype": "int8", "value": 1}], "outs": [], "outs": []"#,
            r#""opcode": "NoOp", "outs": []"#,
            2,
        ),
        (r#""opcode": "NoOp", "zz": {"a": 1}, "zz": 2"#, r#""opcode": "NoOp", "zz": 2"#, 1),
        (r#""opcode": "NoOp", "zz": {"a": 1, "a": 2}"#, r#""opcode": "NoOp", "zz": {"a": 2}"#, 1),
        (r#""opcode": "NoOp", "engine": null, "engine": "SP""#, r#""opcode": "NoOp", "engine": "SP""#, 1),
        (r#""opcode": "NoOp", "engine": "SP", "engine": null"#, r#""opcode": "NoOp", "engine": null"#, 1),
        (
            r#""opcode": "NoOp", "debug": {"lineno": 1, "op_name": "a", "lineno": "x", "op_name": "b", "z": 1, "z": 2}"#,
            r#""opcode": "NoOp", "debug": {"lineno": "x", "op_name": "b", "z": 2}"#,
            3,
        ),
        (
            r#""opcode": "Loop", "LoopAxis": {"name": "i", "name": "j", "lb": 0, "ub": 1, "stride": 1}, "unroll": [], "unroll": 2,
            "blocks": [{"name": "b", "instructions": [{"opcode": 7}]}], "blocks": []"#,
            r#""opcode": "Loop", "LoopAxis": {"name": "j", "lb": 0, "ub": 1, "stride": 1}, "unroll": 2, "blocks": []"#,
            3,
        ),
        (
            r#""opcode": "NoOp", "order": [{"kind": "ShardIDKind", "ub": "x", "kind": "ShardIDKind", "ub": 3}]"#,
            r#""opcode": "NoOp", "order": [{"kind": "ShardIDKind", "ub": 3}]"#,
            2,
        ),
        (
            r#""opcode": "NoOp", "order": [{"c": 0, "terms": [{"idx": 7, "coeff": 1, "idx": {"kind": "ShardIDKind", "ub": 3}}], "kind": "AffExprKind"}]"#,
            r#""opcode": "NoOp", "order": [{"c": 0, "terms": [{"coeff": 1, "idx": {"kind": "ShardIDKind", "ub": 3}}], "kind": "AffExprKind"}]"#,
            1,
        ),
        (
            r#""opcode": "NoOp", "ins": [{"kind": "physical_ap", "dtype": "int8", "value": 1, "kind": "imm_value"}]"#,
            r#""opcode": "NoOp", "ins": [{"dtype": "int8", "value": 1, "kind": "imm_value"}]"#,
            1,
        ),
        (
            r#""opcode": "Iota", "pattern": [{"step": 1, "num": 2, "step": 3}]"#,
            r#""opcode": "Iota", "pattern": [{"num": 2, "step": 3}]"#,
            1,
        ),
        (
            r#""opcode": "NoOp", "sync_info": {"on_wait": [{"id": 1, "wait_value": 1, "id": 2}], "on_update": 7, "on_update": []}"#,
            r#""opcode": "NoOp", "sync_info": {"on_wait": [{"wait_value": 1, "id": 2}], "on_update": []}"#,
            2,
        ),
    ] {
        same(&instruction(double), &instruction(single), count);
    }
}

/// A key of a body where no body belongs is an unknown member like any other, and nothing in it is an object.
#[test]
fn blocks_where_no_body_belongs_are_an_unknown_member() {
    for blocks in [
        r#"[{"name": "b", "instructions": [{"opcode": "NoOp", "name": "inner", "dependencies": ["ghost"]}]}]"#,
        r#"[{"name": "b", "instructions": [{"opcode": 7}]}]"#,
        r#"[]"#,
        "7",
        "null",
        r#"[{"instructions": [{"opcode": "Load", "queue": "ghost", "order": [{"op": "Div"}]}]}]"#,
        r#"[{"instructions": [{"opcode": "Load", "ins": [{"kind": "symbolic_ap", "ap": [[], null]}]}]}]"#,
        r#"[{"instructions": [{"opcode": "Load", "ins": [{"kind": "symbolic_ap", "ap": [[1, 2, 3]]}]}]}]"#,
    ] {
        let text = instruction(&format!(r#""blocks": {blocks}, "opcode": "NoOp", "name": "x""#));
        let loaded = load(&text);
        assert_eq!(oddities(&loaded), [(OddityKind::UnknownMember, 1)], "{blocks}");
        let written = parse(&text_of(&loaded));
        let inst = &written["functions"][0]["blocks"][0]["instructions"][1];
        assert_eq!(inst["blocks"], parse(blocks));
        assert_eq!(loaded.module.inst_ids().len(), 2);
        assert_eq!(loaded.module.block_ids().len(), 1);
    }
    // Two of them do not bring the ids out of step.
    let weird = r#"{"blocks": [{"instructions": [{"opcode": 7}]}], "opcode": "NoOp", "name": "x"}"#;
    let text = function(&format!(
        r#""blocks": [{{"name": "b", "instructions": [{weird}, {{"opcode": "NoOp", "name": "y",
        "dependencies": ["x"]}}, {weird}]}}]"#
    ));
    let loaded = load(&text);
    assert_eq!(loaded.module.insts().count(), 3);
    for id in loaded.module.insts() {
        let at = loaded.positions.inst(id).unwrap();
        assert!(text[at..].starts_with('{'));
    }
}
