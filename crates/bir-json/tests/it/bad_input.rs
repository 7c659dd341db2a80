//! Input that is cut off, deep, huge, odd or wrong: a clear error with its place, or accepted as the rules say.
use crate::common::table;
use crate::common::*;
use bir_json::{MAX_DEPTH, OddityKind, ReadErrorKind, ReadOptions, WriteOptions};
use serde_json::{Value, json};

const MATMUL: &str = include_str!("../data/spec/17-2-matmul.json");
const LOOPS: &str = include_str!("../data/spec/17-3-loops.json");

/// A module with one of everything, in the layout that it is written in.
fn everything() -> String {
    let mut insts: Vec<Value> = table::ops()
        .into_iter()
        .map(|op| {
            let mut inst = with(&inst(&op.name, &format!("i {}", op.name)), op.full());
            let header = without(&table::record("header").full(), &["name", "opcode"]);
            inst = with(&inst, header);
            inst["ins"] = json!([operand()]);
            inst
        })
        .collect();
    let arguments = table::records().into_values().filter(|record| record.name.starts_with("arg_"));
    insts.push(with(
        &inst("NoOp", "operands"),
        json!({"ins": arguments.map(|r| r.full()).collect::<Vec<_>>()}),
    ));
    canonical(&world_with(&insts).to_string())
}

#[test]
fn a_small_document_cut_off_anywhere_is_refused() {
    for text in [include_str!("../data/spec/17-1-minimal.json"), MATMUL, LOOPS] {
        let text = text.trim_end();
        for end in 0..text.len() {
            let error = refuse(&text[..end]);
            assert!(error.kind.is_syntax(), "cut at {end}: {:?}", error.kind);
            assert!(error.offset <= end);
            error.place(&text.as_bytes()[..end]);
        }
    }
}

#[test]
fn a_larger_document_cut_off_anywhere_is_refused() {
    let text = everything();
    assert!(text.len() > 200_000, "{}", text.len());
    for end in (0..text.len() - 1).step_by(if cfg!(debug_assertions) { 997 } else { 97 }) {
        let bytes = &text.as_bytes()[..end];
        let error = bir_json::read(bytes, &ReadOptions::default()).unwrap_err();
        assert!(error.kind.is_syntax(), "cut at {end}: {:?}", error.kind);
        assert!(error.offset <= end);
    }
}

/// A text with one byte lost, doubled or changed: refused or accepted, but never more than that.
#[test]
fn a_document_with_a_damaged_byte_does_no_harm() {
    for text in [MATMUL, LOOPS] {
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            let all =
                [&b""[..], b"\0", b"\"", b"[", b"}", b",", b"-", b"e", b"\xff", b"null", b"\\", b" ", b"9"];
            // Four of them at each byte, half of those read with names kept; neighbours get others.
            for turn in 0..4 {
                let replacement = all[(at + turn * 5) % all.len()];
                let options = if (at / all.len() + turn) % 2 == 0 { ReadOptions::default() } else { KEEP };
                let damaged = [&bytes[..at], replacement, &bytes[at + 1..]].concat();
                {
                    match bir_json::read(&damaged, &options) {
                        Ok(loaded) => {
                            let once = bir_json::to_string(&loaded.module, &WriteOptions::default());
                            assert_eq!(canonical_with(&once, &options), once, "byte {at}: {replacement:?}");
                        }
                        Err(error) => assert!(error.offset <= damaged.len()),
                    }
                }
            }
        }
    }
}

#[test]
fn invalid_utf8_is_refused_at_its_place() {
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"] {
        let text = [b"{\"functions\": [], \"x\": \"", bad, b"\"}"].concat();
        let error = bir_json::read(&text, &ReadOptions::default()).unwrap_err();
        assert_eq!((error.kind.clone(), error.offset), (ReadErrorKind::Utf8, 24));
        assert_eq!(error.located(&text).to_string(), "line 1, column 25, at x: invalid UTF-8");
    }
}

#[test]
fn lone_surrogates_are_refused() {
    for bad in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\u0041", r"\udbff\ud800", r"\uD83D\n"] {
        let text = format!(r#"{{"functions": [{{"name": "{bad}", "blocks": []}}]}}"#);
        let error = refuse(&text);
        assert!(matches!(error.kind, ReadErrorKind::Syntax(_)), "{bad}: {:?}", error.kind);
        assert_eq!(error.place(text.as_bytes()).path, "functions[0].name");
    }
    let pair = r#"{"functions": [{"name": "\ud83d\ude00", "blocks": []}]}"#;
    assert!(canonical(pair).contains("\"😀\""));
}

/// spec: cli, Decided
#[test]
fn a_byte_order_mark_is_skipped() {
    let loaded = load(&format!("\u{feff}{MATMUL}"));
    assert_eq!(text_of(&loaded) + "\n", MATMUL);
    assert_no_oddities(&loaded);
    refuse(&format!("\u{feff}\u{feff}{MATMUL}"));
    refuse(&format!(" \u{feff}{MATMUL}"));
}

#[test]
fn what_is_no_module_is_refused() {
    for text in
        ["", " ", "\u{feff}", "null", "[]", "7", "\"x\"", "{}", "{\"module\": {}}", "{\"x\": 1}", "tru"]
    {
        let error = refuse(text);
        assert!(!error.kind.to_string().is_empty());
    }
    assert_eq!(refuse("{}").kind, ReadErrorKind::MissingKey("functions"));
    assert_eq!(refuse(r#"{"module": 7}"#).place(br#"{"module": 7}"#).path, "module");
    let behind = format!("{MATMUL}x");
    assert!(refuse(&behind).kind.is_syntax());
}

/// The version matters only where an expression is decoded. spec: bir-json 12
#[test]
fn odd_versions_matter_only_with_expressions() {
    let without = world();
    let with_one = world_with(&[with(&inst("NoOp", "x"), json!({"order": [constant(1)]}))]);
    for version in [json!(0), json!(3), json!(7), json!(u32::MAX)] {
        let text = with(&without, json!({"version": version})).to_string();
        assert_eq!(parse(&canonical(&text))["version"], json!(2));
        let text = with(&with_one, json!({"version": version})).to_string();
        let error = refuse(&text);
        assert_eq!(error.kind, ReadErrorKind::Version(version.as_u64().unwrap() as u32));
        let place = error.place(text.as_bytes());
        assert!(place.path.ends_with("order[0]"), "{place}");
        assert!(
            error.to_string().contains("Check the version of bir json file - should be 1 (old) or 2 (new)")
        );
    }
    // An expression that is only kept, as a part of an unknown member, is not decoded.
    let unknown = with(&without, json!({"version": 3, "unknown": {"order": [constant(1)]}}));
    canonical(&unknown.to_string());
    // Absent means 2, and so does null, which is reported.
    let absent = super_without_version(&with_one);
    assert_eq!(parse(&canonical(&absent.to_string()))["version"], json!(2));
    let null = with(&with_one, json!({"version": null})).to_string();
    assert_eq!(load(&null).oddities.count(OddityKind::MisplacedNull), 1);
    for wrong in [json!("2"), json!(-1), json!(1u64 << 32), json!(2.5), json!([2]), json!(true)] {
        let text = with(&without, json!({"version": wrong})).to_string();
        assert_eq!(refuse(&text).place(text.as_bytes()).path, "version");
    }
    let float = with(&with_one, json!({"version": 2.0})).to_string();
    assert_eq!(canonical(&float), canonical(&with_one.to_string()));
}

fn super_without_version(document: &Value) -> Value {
    without(document, &["version"])
}

/// `levels` nested bodies with something inside the innermost one.
fn nested_loops(levels: usize, inside: &str) -> String {
    let open = r#"{"opcode": "Loop", "LoopAxis": {"name": "i", "lb": 0, "ub": 1, "stride": 1}, "name": "l",
        "blocks": [{"name": "b", "instructions": ["#;
    format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{}{inside}{}]}}]}}]}}"#,
        open.repeat(levels),
        "]}]}".repeat(levels)
    )
}

fn nested_expression(levels: usize, inside: &str) -> String {
    format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{{"opcode": "NoOp",
        "order": [{}{inside}{}]}}]}}]}}]}}"#,
        r#"{"kind": "MultKind", "scale": 1, "var": "#.repeat(levels),
        "}".repeat(levels)
    )
}

/// A hundred thousand levels of anything: an error that names the limit.
#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    let member = |value: String| format!(r#"{{"functions": [], "x": {value}}}"#);
    let shard = r#"{"kind": "ShardIDKind", "ub": 1}"#;
    for text in [
        "[".repeat(deep),
        r#"{"x":"#.repeat(deep),
        "[".repeat(deep) + &"]".repeat(deep),
        member("[".repeat(deep)),
        member("[".repeat(deep) + &"]".repeat(deep)),
        member(r#"{"a":"#.repeat(deep) + "1" + &"}".repeat(deep)),
        member(r#"[{"a":"#.repeat(deep) + "1" + &"}]".repeat(deep)),
        nested_loops(deep, ""),
        nested_expression(deep, shard),
        format!(r#"{{"module": {}}}"#, nested_loops(deep, "")),
    ] {
        let error = refuse(&text);
        let limit = ReadErrorKind::Limit { what: "nested arrays and objects", limit: MAX_DEPTH };
        let shallow = matches!(error.kind, ReadErrorKind::WrongType { .. }) && text.starts_with('[');
        assert!(error.kind == limit || shallow, "{:?}", error.kind);
        assert!(error.place(text.as_bytes()).line >= 1);
    }
    // Cut off, and the value of a key that wants something else.
    for key in
        ["functions", "queues", "attributes", "nki_functions", "call_to_physical_memlocs", "artifact_info"]
    {
        refuse(&format!(r#"{{"{key}": {}"#, "[".repeat(deep)));
        refuse(&format!(r#"{{"{key}": {}"#, r#"{"functions":"#.repeat(deep)));
    }
    for key in
        ["sync_info", "ins", "debug", "dependencies", "unroll_dependencies", "predicates", "order", "zzz"]
    {
        for open in ["[", r#"{"a":"#, r#"[{"kind":"#, r#"[["x", "Flow", "#] {
            let inst = format!(r#"{{"opcode": "NoOp", "{key}": {}"#, open.repeat(deep));
            refuse(&format!(r#"{{"functions": [{{"name": "f", "blocks": [{{"instructions": [{inst}"#));
        }
    }
}

/// The deepest documents that are read fit the stack of a test thread without optimisation, when read, written,
/// compared and dropped.
#[test]
fn the_deepest_nesting_that_is_read_fits_the_stack() {
    // The root object and the member are two levels.
    let arrays = MAX_DEPTH - 1;
    let text = format!(r#"{{"functions": [], "x": {}{}}}"#, "[".repeat(arrays), "]".repeat(arrays));
    let written = canonical(&text);
    assert_eq!(canonical(&written), written);
    refuse(&format!(r#"{{"functions": [], "x": {}{}}}"#, "[".repeat(arrays + 1), "]".repeat(arrays + 1)));

    let most = |build: &dyn Fn(usize) -> String| {
        let fits =
            |levels: &usize| bir_json::read(build(*levels).as_bytes(), &ReadOptions::default()).is_ok();
        (1..MAX_DEPTH).rev().find(fits).expect("one level fits")
    };
    let loops = most(&|levels| nested_loops(levels, ""));
    assert!(loops > MAX_DEPTH / 5, "{loops}");
    let shard = r#"{"kind": "ShardIDKind", "ub": 1}"#;
    let expressions = most(&|levels| nested_expression(levels, shard));
    assert!(expressions > MAX_DEPTH / 4 * 3, "{expressions}");
    for text in [nested_loops(loops, ""), nested_expression(expressions, shard)] {
        let loaded = load(&text);
        let written = text_of(&loaded);
        assert_eq!(canonical(&written), written);
    }
}

/// An error deep inside is found once, not once more for every level.
#[test]
fn an_error_in_a_deep_body_is_found_in_time() {
    for wrong in ["7", r#"{"opcode": 7}"#, r#"{"name": "x"}"#, r#"{"opcode": "NoOp", "ins": 7}"#] {
        for order in [|t: String| t, |t: String| t.replace(r#""opcode": "Loop", "#, "")] {
            let mut text = order(nested_loops(100, wrong));
            if !text.contains("\"Loop\"") {
                // The opcode behind the body, as in canonical order.
                text = text.replace("]}]}", "]}], \"opcode\": \"Loop\"}").replacen(
                    "]}], \"opcode\": \"Loop\"}]}]}",
                    "]}]}]}",
                    0,
                );
            }
            refuse(&text);
        }
    }
}

#[test]
fn names_of_a_megabyte_are_names() {
    let name = "é\\n".repeat(1 << 18);
    let text = format!(
        r#"{{"functions": [{{"name": "{name}", "blocks": [{{"name": "{name}", "instructions":
        [{{"opcode": "NoOp", "name": "{name}"}}, {{"opcode": "{name}", "name": "x", "dependencies": ["{name}"]}}]}}]}}],
        "{name}": 1}}"#
    );
    let written = canonical(&text);
    assert_eq!(canonical(&written), written);
    assert_eq!(written.matches(&name).count(), 6);
    let unresolved = text.replace(r#""name": "x", "#, r#""name": "y", "queue": 1, "#);
    load(&unresolved);
    let ghost = text.replace("\"dependencies\": [\"", "\"dependencies\": [\"ghost ");
    assert!(refusal(&ghost).len() < 3 << 20);
}

/// Every reference that can name nothing, with the vendor's words where there are some.
fn unresolved() -> Vec<(&'static str, Value, &'static str)> {
    let access =
        |members| world_with(&[with(&inst("NoOp", "x"), json!({"ins": [with(&operand(), members)]}))]);
    let one = |opcode: &str, members: Value| {
        let full = with(&inst(opcode, "x"), table::op(opcode).full());
        world_with(&[with(&full, members)])
    };
    let header = |members: Value| world_with(&[with(&inst("NoOp", "x"), members)]);
    let location = |members: Value| {
        let mut document = world();
        let place = document.pointer_mut("/functions/0/allocations/0/memorylocations/0").unwrap();
        *place = with(place, members);
        document
    };
    let register_ap = |members: Value| {
        let argument = with(&table::record("arg_register_ap").full(), members);
        header(json!({"ins": [argument]}))
    };
    let symbolic = json!({"ap": [], "dtype": "float32", "kind": "symbolic_ap", "memsetref": "ghost", "addrs": [],
        "access_shape": []});
    let in_register = json!({"kind": "IntRuntimeValueKind", "regref": "ghost"});
    let mut in_queue = world();
    in_queue["queues"][0]["blocks"][0]["instructions"][0]["dependencies"] = json!([["ghost", "Flow"]]);
    let mut trigger = world();
    trigger["queues"][0]["blocks"][0]["instructions"][0]["dma_trigger"] = json!("ghost");
    vec![
        ("dependency", header(json!({"dependencies": [["ghost", "Flow"]]})), "Unknown dependency"),
        (
            "second",
            header(json!({"dependencies": [["other", "Flow"], ["ghost", "Anti"]]})),
            "Unknown dependency",
        ),
        (
            "first",
            header(json!({"dependencies": [["ghost", "Anti"], ["other", "Flow"]]})),
            "Unknown dependency",
        ),
        ("self", header(json!({"dependencies": [["x", "Flow"]]})), "this != former"),
        ("queue's", in_queue, "Unknown dependency"),
        (
            "carried",
            header(json!({"loop_carried_dependencies": [["ghost", "Flow", 2]]})),
            "Unknown loop-carried dependency",
        ),
        ("unroll", header(json!({"unroll_dependencies": [["ghost", "Flow", [], []]]})), "Unknown dependency"),
        ("queue", one("Load", json!({"queue": "ghost"})), "Queue does not exist!"),
        (
            "trigger's queue",
            one("DMATrigger", json!({"queue": "ghost", "dma_blocks": []})),
            "Queue does not exist!",
        ),
        ("switch's queue", one("SwitchQueueInstance", json!({"queue": "ghost"})), "Queue does not exist!"),
        ("DMA block", one("DMATrigger", json!({"dma_blocks": ["db0", "ghost"]})), "Block does not exist!"),
        ("trigger", trigger, ""),
        ("target", one("UnconditionalBranch", json!({"target": "ghost"})), "BasicBlock does not exist!"),
        ("on_true", one("CompareAndBranch", json!({"on_true": "ghost"})), "BasicBlock does not exist!"),
        ("on_false", one("CompareAndBranch", json!({"on_false": "ghost"})), "BasicBlock does not exist!"),
        ("callee", one("Call", json!({"target": "ghost"})), ""),
        ("hint", one("BranchHint", json!({"associate_branch": "ghost"})), ""),
        ("location", access(json!({"memref": "ghost"})), ""),
        ("set", access(json!({"memsetref": "ghost"})), ""),
        ("owner", access(json!({"memref_owner_func": "ghost"})), ""),
        ("symbolic set", header(json!({"ins": [symbolic]})), ""),
        ("register", register_ap(json!({"regref": "ghost"})), ""),
        ("offset register", register_ap(json!({"reg_ap_offset": "ghost"})), ""),
        ("tensor register", register_ap(json!({"reg_sub_tensor_id": "ghost"})), ""),
        (
            "accessed register",
            header(json!({"outs": [{"dtype": "int32", "kind": "register_access", "regref": "ghost"}]})),
            "",
        ),
        ("expression", header(json!({"order": [in_register]})), ""),
        (
            "waiting register",
            header(json!({"sync_info": {"on_update": [], "on_wait": [
                {"id": 1, "wait_mode": "sem-ge-reg", "wait_reg": "ghost", "wait_value": 0}]}})),
            "",
        ),
        ("pointer", location(json!({"pointer_ref_memloc": "ghost"})), ""),
        ("allocating function", location(json!({"alloced_func": "ghost"})), ""),
        ("writing function", location(json!({"remote_writer_func": "ghost"})), ""),
        ("alias", location(json!({"alias": [["u_set", "ghost", 1]]})), "Unknown alias destination"),
        ("alias set", location(json!({"alias": [["ghost", "u", 1]]})), "Unknown alias destination"),
        ("binding", with(&world(), json!({"call_to_physical_memlocs": {"ghost": []}})), "found"),
        (
            "no call",
            with(&world(), json!({"call_to_physical_memlocs": {"other": []}})),
            "cast<>() argument of incompatible type",
        ),
        (
            "bound location",
            with(
                &world_with(&[with(&inst("Call", "x"), table::op("Call").full())]),
                json!({"call_to_physical_memlocs": {"x": ["c", "ghost"]}}),
            ),
            "found",
        ),
    ]
}

#[test]
fn unresolved_names_are_refused_with_the_vendors_words() {
    for (what, document, vendor) in unresolved() {
        let text = document.to_string();
        let error = refuse(&text);
        let name = if what == "self" {
            "x"
        } else if what == "no call" {
            "other"
        } else {
            "ghost"
        };
        match &error.kind {
            ReadErrorKind::Unresolved { vendor: words, name: found, .. } => {
                assert!(words.contains(vendor), "{what}: {words}");
                // Of a set-keyed alias the location is named.
                assert!(found == name || what == "alias set" && found == "u", "{what}: {found}");
            }
            other => panic!("{what}: {other:?}"),
        }
        let named = &text[error.offset..];
        assert!(!named.is_empty(), "{what}: {}", error.located(text.as_bytes()));
        assert!(error.to_string().contains(&format!("`{name}`")) || what == "alias set", "{what}: {error}");
    }
}

#[test]
fn unresolved_names_are_kept_on_demand_and_written_back() {
    for (what, document, _) in unresolved() {
        let text = document.to_string();
        let loaded = load_with(&text, &KEEP);
        assert_eq!(loaded.oddities.count(OddityKind::Unresolved), 1, "{what}");
        assert_eq!(parse(&text_of(&loaded)), document, "{what}");
        let once = text_of(&loaded);
        assert_eq!(canonical_with(&once, &KEEP), once, "{what}");
    }
}

/// A queue that is only named, next to one that is there.
#[test]
fn an_unresolved_queue_does_not_become_one() {
    let load = with(&inst("Load", "x"), json!({"queue": "ghost"}));
    let loaded = load_with(&world_with(&[load]).to_string(), &KEEP);
    assert_eq!(loaded.module.queues().count(), 1);
}
