//! Time grows with the size of a document, whatever there is much of.
//!
//! These tests assert time, so they only run when asked for: `cargo test --release -p bir-json --test scale --
//! --ignored`. Each document has a hundred thousand of something (a tenth of that without optimisation) and must be read and
//! written within a second. What is quadratic takes minutes.
#![allow(missing_docs)]

mod common;

use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bir_json::{OddityKind, ReadOptions, WriteOptions};
use common::*;

const MANY: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// Reads and writes in time; gives the text that was written.
#[track_caller]
fn in_time_with(text: &str, options: &ReadOptions) -> String {
    // One at a time, so that the tests do not take the processors from each other.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut best = Duration::MAX;
    let mut written = String::new();
    for _ in 0..3 {
        let start = Instant::now();
        let loaded = load_with(text, options);
        written = bir_json::to_string(&loaded.module, &WriteOptions::default());
        best = best.min(start.elapsed());
        if best < Duration::from_secs(1) {
            return written;
        }
    }
    panic!("{best:?} for {} bytes, {} written", text.len(), written.len());
}

#[track_caller]
fn in_time(text: &str) -> String {
    in_time_with(text, &ReadOptions::default())
}

/// Joins what `item` makes of the numbers below [`MANY`].
fn many(mut item: impl FnMut(usize) -> String) -> String {
    (0..MANY).fold(String::new(), |mut all, i| {
        let _ = write!(all, "{}{}", if i == 0 { "" } else { "," }, item(i));
        all
    })
}

fn root(members: &str) -> String {
    format!(r#"{{"functions": [], {members}, "version": 2}}"#)
}

fn function(allocations: &str, instructions: &str) -> String {
    format!(
        r#"{{"functions": [{{"name": "f", "allocations": [{allocations}],
            "blocks": [{{"name": "b", "instructions": [{instructions}]}}]}}]}}"#
    )
}

fn noop(members: &str) -> String {
    function("", &format!(r#"{{"opcode": "NoOp", "name": "x", {members}}}"#))
}

#[test]
#[ignore = "asserts time"]
fn duplicates_of_one_key() {
    in_time(&root(&many(|i| format!(r#""artifact_path": "{i}""#))));
    in_time(&root(&many(|i| format!(r#""unknown": {i}"#))));
    in_time(&root(&many(|i| format!(r#""attributes": {{"a": {i}}}"#))));
    in_time(&noop(&many(|i| format!(r#""engine_id": {i}"#))));
    in_time(&noop(&many(|i| format!(r#""unknown": {i}"#))));
    in_time(&function(
        "",
        &format!(r#"{{"opcode": "Activation", {}}}"#, many(|i| format!(r#""scale": {i}"#))),
    ));
}

#[test]
#[ignore = "asserts time"]
fn duplicates_of_a_key_with_values_that_do_not_fit() {
    in_time(&root(&format!(r#"{}, "artifact_path": """#, many(|i| format!(r#""artifact_path": {i}"#)))));
    in_time(&noop(&format!(r#"{}, "engine_id": 0"#, many(|i| format!(r#""engine_id": "{i}""#)))));
}

#[test]
#[ignore = "asserts time"]
fn duplicate_dependency_lists_after_many_edges() {
    let targets = many(|i| format!(r#"{{"opcode": "NoOp", "name": "t{i}"}}"#));
    let edges = many(|i| format!(r#""t{i}""#));
    let lists = many(|i| format!(r#""dependencies": ["t{i}"]"#));
    let text = function(
        "",
        &format!(
            r#"{targets}, {{"opcode": "NoOp", "dependencies": [{edges}]}}, {{"opcode": "NoOp", "name": "d", {lists}}}"#
        ),
    );
    let written = in_time(&text);
    let last = parse(&written)["functions"][0]["blocks"][0]["instructions"][MANY + 1].clone();
    assert_eq!(last["dependencies"], serde_json::json!([[format!("t{}", MANY - 1), "Flow"]]));
}

#[test]
#[ignore = "asserts time"]
fn unknown_members_in_any_order() {
    for order in [|i: usize| i, |i: usize| MANY - i, |i: usize| i * 7919 % MANY] {
        let members = many(|i| format!(r#""u{:07}": {i}"#, order(i)));
        in_time(&root(&members));
        in_time(&noop(&members));
        in_time(&noop(&format!(r#""debug": {{{members}}}"#)));
        in_time(&noop(&format!(r#""order": [{{"kind": "ShardIDKind", "ub": 1, {members}}}]"#)));
        in_time(&root(&format!(r#""attributes": {{{members}}}"#)));
        in_time(&function("", &format!(r#"{{"opcode": "Shuffle", {members}}}"#)));
    }
}

#[test]
#[ignore = "asserts time"]
fn edges_of_one_instruction() {
    let targets = many(|i| format!(r#"{{"opcode": "NoOp", "name": "t{i}"}}"#));
    let plain = many(|i| format!(r#""t{i}", ["t{i}", "Anti"], ["t{i}", "Flow"]"#));
    let carried = many(|i| format!(r#"["t{i}", "Flow", {i}], ["t0", "Flow", {i}], ["t{i}", 4, {i}]"#));
    let text = function(
        "",
        &format!(
            r#"{targets}, {{"opcode": "NoOp", "name": "x", "dependencies": [{plain}],
            "loop_carried_dependencies": [{carried}]}}"#
        ),
    );
    let written = in_time(&text);
    let last = parse(&written)["functions"][0]["blocks"][0]["instructions"][MANY].clone();
    assert_eq!(last["dependencies"].as_array().unwrap().len(), 2 * MANY);
    assert_eq!(last["loop_carried_dependencies"].as_array().unwrap().len(), 2 * MANY - 1);
}

#[test]
#[ignore = "asserts time"]
fn aliases() {
    let location = |i: usize, alias: &str| {
        format!(r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1], "alias": [{alias}]}}"#)
    };
    // In one set, each location with the next; in sets of their own; one location with all.
    let chain = many(|i| location(i, &format!(r#"["s", "l{}", 1]"#, (i + 1) % MANY)));
    in_time(&function(&format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{chain}]}}"#), ""));
    let sets = many(|i| {
        let location = location(i, &format!(r#"["s{0}", "l{0}", 1]"#, (i + 1) % MANY));
        format!(r#"{{"name": "s{i}", "kind": "Internal", "memorylocations": [{location}]}}"#)
    });
    in_time(&function(&sets, ""));
    let all = many(|i| format!(r#"["s", "l{i}", 3]"#));
    let star = many(|i| if i == 0 { location(0, &all) } else { location(i, "") });
    in_time(&function(&format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{star}]}}"#), ""));
    let old = many(|i| {
        format!(
            r#"{{"name": "s{i}", "kind": "Internal", "memorylocations": [{}]}},
            {{"name": "l{i}", "Skind": "memory_location_set", "kind": "Internal", "alias": [["l{}", 3]]}}"#,
            location(i, ""),
            (i + 1) % MANY
        )
    });
    in_time(&function(&old, ""));
}

#[test]
#[ignore = "asserts time"]
fn terms_and_summands() {
    let order =
        |terms: String| noop(&format!(r#""order": [{{"kind": "AffExprKind", "c": 0, "terms": [{terms}]}}]"#));
    in_time(&order(many(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "AffIVKind", "axis": "i{i}"}}}}"#))));
    in_time(&order(many(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "AffIVKind", "axis": "i"}}}}"#))));
    in_time(&order(many(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "ShardIDKind", "ub": {i}}}}}"#))));
    in_time(&noop(&format!(
        r#""order": [{{"kind": "SumKind", "n_terms": {MANY}, "terms": [{}]}}]"#,
        many(|i| format!(r#"{{"kind": "ShardIDKind", "ub": {i}}}"#))
    )));
}

#[test]
#[ignore = "asserts time"]
fn repeated_names_with_edges() {
    let edge = r#"{"opcode": "NoOp", "name": "same", "dependencies": ["same"]}"#;
    let first = r#"{"opcode": "NoOp", "name": "same"}"#;
    in_time(&function("", &format!("{first}, {}", many(|_| edge.to_owned()))));
    let blocks = many(|i| format!(r#"{{"name": "b{i}", "instructions": [{edge}]}}"#));
    in_time(&format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{first}]}}, {blocks}]}}]}}"#
    ));
    let loops = many(|i| {
        format!(
            r#"{{"opcode": "Loop", "name": "l", "LoopAxis": {{"name": "i{i}", "lb": 0, "ub": 1, "stride": 1}},
            "blocks": [{{"name": "body", "instructions": [{edge}]}}]}}"#
        )
    });
    in_time(&function("", &format!("{first}, {loops}")));
}

#[test]
#[ignore = "asserts time"]
fn references_to_what_comes_later() {
    let sets = many(|i| {
        let next = (i + 1) % MANY;
        format!(
            r#"{{"name": "s{i}", "kind": "Pointer", "memorylocations": [{{"name": "l{i}", "type": "DRAM",
            "addr": 0, "dims": [1], "pointer_ref_memloc": "l{next}", "alloced_func": "f"}}]}}"#
        )
    });
    in_time(&function(&sets, ""));
    // Keys in descending order: the operands stand before the storage.
    let uses = many(|i| {
        format!(
            r#"{{"opcode": "NoOp", "name": "n", "ins": [{{"kind": "physical_ap", "ap": [[1, 1]], "offset": 0,
            "dtype": "float32", "memsetref": "s{i}", "memref": "l{i}"}}]}}"#
        )
    });
    in_time(&format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{uses}]}}],
        "allocations": [{sets}]}}]}}"#
    ));
}

#[test]
#[ignore = "asserts time"]
fn call_bindings() {
    let calls = many(|i| format!(r#"{{"opcode": "Call", "name": "c{i}", "target": "g"}}"#));
    let locations = many(|i| format!(r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1]}}"#));
    let functions = format!(
        r#"{{"name": "main", "blocks": [{{"name": "b", "instructions": [{calls}]}}]}},
        {{"name": "g", "blocks": [], "allocations":
        [{{"name": "s", "kind": "Internal", "memorylocations": [{locations}]}}]}}"#
    );
    let bindings = many(|i| format!(r#""c{i}": ["l{}"]"#, MANY - 1 - i));
    in_time(&format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": {{{bindings}}}}}"#));
    let one = many(|i| format!(r#""l{}""#, MANY - 1 - i));
    in_time(&format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": {{"c0": [{one}]}}}}"#));
    let repeated = many(|i| format!(r#"["c0", ["l{i}"]]"#));
    in_time(&format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": [{repeated}]}}"#));
}

#[test]
#[ignore = "asserts time"]
fn functions_and_queues() {
    let functions = many(|i| {
        format!(
            r#"{{"name": "f{i}", "blocks": [{{"name": "b", "instructions": [{{"opcode": "NoOp", "name": "n",
            "ins": [{{"kind": "register_access", "dtype": "int32", "regref": "r"}}]}}]}}],
            "allocations": [{{"name": "r", "Skind": "register"}}]}}"#
        )
    });
    in_time(&format!(r#"{{"functions": [{functions}]}}"#));
    let queues = many(|i| {
        format!(
            r#"{{"name": "q{i}", "blocks": [{{"name": "b", "instructions": [{{"opcode": "DMABlock",
            "name": "d{i}", "blocks": []}}]}}]}}"#
        )
    });
    let empty = many(|i| format!(r#"{{"name": "f{i}", "blocks": []}}"#));
    in_time(&format!(r#"{{"functions": [{empty}], "queues": [{queues}]}}"#));
    let triggers = many(|i| {
        format!(r#"{{"opcode": "DMATrigger", "name": "t{i}", "queue": "q{i}", "dma_blocks": ["d{i}"]}}"#)
    });
    in_time(&format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{triggers}]}}]}}],
        "queues": [{queues}]}}"#
    ));
}

#[test]
#[ignore = "asserts time"]
fn names_that_collide() {
    let twice = |item: &dyn Fn(usize) -> String| format!("{}, {}", many(item), many(item));
    let blocks = twice(&|i| format!(r#"{{"name": "b{i}", "instructions": []}}"#));
    in_time(&format!(r#"{{"functions": [{{"name": "f", "blocks": [{blocks}]}}]}}"#));
    in_time(&format!(r#"{{"functions": [{}]}}"#, twice(&|i| format!(r#"{{"name": "f{i}", "blocks": []}}"#))));
    in_time(&format!(
        r#"{{"functions": [], "queues": [{}]}}"#,
        twice(&|i| format!(r#"{{"name": "q{i}", "blocks": []}}"#))
    ));
    in_time(&function(&twice(&|i| format!(r#"{{"name": "r{i}", "Skind": "register"}}"#)), ""));
}

#[test]
#[ignore = "asserts time"]
fn unresolved_names_that_are_kept() {
    let keep = |text: &str, count: usize| {
        in_time_with(text, &KEEP);
        assert_eq!(load_with(text, &KEEP).oddities.count(OddityKind::Unresolved), count);
    };
    let locations = many(|i| {
        format!(
            r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1], "alloced_func": "ghost{i}",
            "pointer_ref_memloc": "phantom{i}", "alias": [["s", "spectre{i}", 1]]}}"#
        )
    });
    let set = format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{locations}]}}"#);
    keep(&function(&set, ""), 3 * MANY);
    let insts = many(|i| {
        format!(
            r#"{{"opcode": "Load", "name": "n{i}", "queue": "ghost{i}", "dependencies": ["phantom{i}"],
            "ins": [{{"kind": "physical_ap", "ap": [[1, 1]], "offset": 0, "dtype": "float32",
            "memref": "spectre{i}"}}]}}"#
        )
    });
    keep(&function("", &insts), 3 * MANY);
    let edges = many(|i| format!(r#""ghost{i}""#));
    keep(&noop(&format!(r#""dependencies": [{edges}]"#)), MANY);
    let bindings = many(|i| format!(r#""ghost{i}": []"#));
    keep(&root(&format!(r#""call_to_physical_memlocs": {{{bindings}}}"#)), MANY);
}
