//! Work grows with the size of a document, whatever there is much of.
//!
//! Each kind of document has some number of one thing. Ten times as many may take ten times the memory and ten
//! times the machine instructions; what is quadratic takes a hundred times as many. Instructions are
//! counted by valgrind, for whoever has it:
//! `cargo test --release -p bir-json --test limits -- --ignored --nocapture instructions`.

use std::fmt::Write;
use std::process::Command;

use bir_json::{ReadOptions, Unresolved, WriteOptions};

use super::{alone, peaks};
use crate::common::{KEEP, load_with};

const PLAIN: ReadOptions =
    ReadOptions { unresolved: Unresolved::Refuse, strict: false, threads: 1, piece: 0 };

/// How many there are of something.
#[derive(Clone, Copy)]
struct Many(usize);

/// Takes a document.
type Add<'a> = &'a mut dyn FnMut(String);

/// A kind of documents: its name, what makes them, and how they are read.
type Kind = (&'static str, fn(Many, Add), ReadOptions);

const KINDS: &[Kind] = &[
    ("duplicates_of_one_key", duplicates_of_one_key, PLAIN),
    (
        "duplicates_of_a_key_with_values_that_do_not_fit",
        duplicates_of_a_key_with_values_that_do_not_fit,
        PLAIN,
    ),
    ("duplicate_dependency_lists_after_many_edges", duplicate_dependency_lists_after_many_edges, PLAIN),
    ("unknown_members_in_any_order", unknown_members_in_any_order, PLAIN),
    ("edges_of_one_instruction", edges_of_one_instruction, PLAIN),
    ("aliases", aliases, PLAIN),
    ("terms_and_summands", terms_and_summands, PLAIN),
    ("repeated_names_with_edges", repeated_names_with_edges, PLAIN),
    ("references_to_what_comes_later", references_to_what_comes_later, PLAIN),
    ("call_bindings", call_bindings, PLAIN),
    ("functions_and_queues", functions_and_queues, PLAIN),
    ("names_that_collide", names_that_collide, PLAIN),
    ("unresolved_names_that_are_kept", unresolved_names_that_are_kept, KEEP),
];

fn documents(kind: &Kind, many: usize) -> Vec<String> {
    let mut list = Vec::new();
    kind.1(Many(many), &mut |text| list.push(text));
    list
}

fn read_and_write(text: &str, options: &ReadOptions) {
    let loaded = load_with(text, options);
    assert!(!bir_json::to_string(&loaded.module, &WriteOptions::default()).is_empty());
}

#[test]
fn memory_grows_with_the_document() {
    let _alone = alone();
    for kind in KINDS {
        let few = documents(kind, 300);
        for (at, (few, many)) in few.iter().zip(documents(kind, 3000)).enumerate() {
            load_with(&many, &kind.2);
            let ([few, _], [many, writing]) = (peaks(few, &kind.2), peaks(&many, &kind.2));
            // Buffers of fixed size and the steps in which lists grow are no growth with the document.
            assert!(many < 16 * few + (1 << 20), "{} {at}: {few} bytes, then {many}", kind.0);
            // The writer keeps texts of operands, up to a fixed size.
            assert!(writing < 8 << 20, "{} {at}: {writing} bytes to write", kind.0);
        }
    }
}

/// What says which document to read in a process of its own: name of the kind, number of the document, how many.
const CHOICE: &str = "BIR_SCALE";

#[test]
#[ignore = "needs valgrind and minutes"]
fn instructions_grow_with_the_document() {
    let mut failures = Vec::new();
    for kind in KINDS {
        for at in 0..documents(kind, 1).len() {
            let [nothing, few, many] = [1, 1000, 10_000].map(|many| instructions(kind.0, at, many));
            let times = (many - nothing) as f64 / (few - nothing) as f64;
            println!("{:60} {times:.1}", format!("{} {at}", kind.0));
            if times > 20.0 {
                failures.push(format!("{} {at}: {times:.1} times the instructions", kind.0));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Machine instructions of a process that reads and writes one document.
fn instructions(kind: &str, at: usize, many: usize) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "scale::the_chosen_document"])
        .env(CHOICE, format!("{kind} {at} {many}"))
        .output()
        .expect("valgrind runs");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let count = log.lines().find_map(|line| line.split_once("Collected :")).expect("callgrind says it").1;
    count.trim().parse().unwrap()
}

#[test]
#[ignore = "a part of another test"]
fn the_chosen_document() {
    let Ok(choice) = std::env::var(CHOICE) else { return };
    let [kind, at, many] = choice.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let kind = KINDS.iter().find(|(name, ..)| *name == kind).unwrap();
    read_and_write(&documents(kind, many.parse().unwrap())[at.parse::<usize>().unwrap()], &kind.2);
}

impl Many {
    /// Joins what `item` makes of the numbers below.
    fn of(self, mut item: impl FnMut(usize) -> String) -> String {
        (0..self.0).fold(String::new(), |mut all, i| {
            let _ = write!(all, "{}{}", if i == 0 { "" } else { "," }, item(i));
            all
        })
    }
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

fn duplicates_of_one_key(many: Many, add: Add) {
    add(root(&many.of(|i| format!(r#""artifact_path": "{i}""#))));
    add(root(&many.of(|i| format!(r#""unknown": {i}"#))));
    add(root(&many.of(|i| format!(r#""attributes": {{"a": {i}}}"#))));
    add(noop(&many.of(|i| format!(r#""engine_id": {i}"#))));
    add(noop(&many.of(|i| format!(r#""unknown": {i}"#))));
    add(function("", &format!(r#"{{"opcode": "Activation", {}}}"#, many.of(|i| format!(r#""scale": {i}"#)))));
}

fn duplicates_of_a_key_with_values_that_do_not_fit(many: Many, add: Add) {
    add(root(&format!(r#"{}, "artifact_path": """#, many.of(|i| format!(r#""artifact_path": {i}"#)))));
    add(noop(&format!(r#"{}, "engine_id": 0"#, many.of(|i| format!(r#""engine_id": "{i}""#)))));
}

fn duplicate_dependency_lists_after_many_edges(many: Many, add: Add) {
    let targets = many.of(|i| format!(r#"{{"opcode": "NoOp", "name": "t{i}"}}"#));
    let edges = many.of(|i| format!(r#""t{i}""#));
    let lists = many.of(|i| format!(r#""dependencies": ["t{i}"]"#));
    let text = function(
        "",
        &format!(
            r#"{targets}, {{"opcode": "NoOp", "dependencies": [{edges}]}}, {{"opcode": "NoOp", "name": "d", {lists}}}"#
        ),
    );
    add(text);
}

fn unknown_members_in_any_order(many: Many, add: Add) {
    for order in
        [&|i: usize| i, &|i: usize| many.0 - i, &|i: usize| i * 7919 % many.0] as [&dyn Fn(usize) -> usize; 3]
    {
        let members = many.of(|i| format!(r#""u{:07}": {i}"#, order(i)));
        add(root(&members));
        add(noop(&members));
        add(noop(&format!(r#""debug": {{{members}}}"#)));
        add(noop(&format!(r#""order": [{{"kind": "ShardIDKind", "ub": 1, {members}}}]"#)));
        add(root(&format!(r#""attributes": {{{members}}}"#)));
        add(function("", &format!(r#"{{"opcode": "Shuffle", {members}}}"#)));
    }
}

fn edges_of_one_instruction(many: Many, add: Add) {
    let targets = many.of(|i| format!(r#"{{"opcode": "NoOp", "name": "t{i}"}}"#));
    let plain = many.of(|i| format!(r#""t{i}", ["t{i}", "Anti"], ["t{i}", "Flow"]"#));
    let carried = many.of(|i| format!(r#"["t{i}", "Flow", {i}], ["t0", "Flow", {i}], ["t{i}", 4, {i}]"#));
    let text = function(
        "",
        &format!(
            r#"{targets}, {{"opcode": "NoOp", "name": "x", "dependencies": [{plain}],
            "loop_carried_dependencies": [{carried}]}}"#
        ),
    );
    add(text);
}

fn aliases(many: Many, add: Add) {
    let location = |i: usize, alias: &str| {
        format!(r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1], "alias": [{alias}]}}"#)
    };
    // In one set, each location with the next; in sets of their own; one location with all.
    let chain = many.of(|i| location(i, &format!(r#"["s", "l{}", 1]"#, (i + 1) % many.0)));
    add(function(&format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{chain}]}}"#), ""));
    let sets = many.of(|i| {
        let location = location(i, &format!(r#"["s{0}", "l{0}", 1]"#, (i + 1) % many.0));
        format!(r#"{{"name": "s{i}", "kind": "Internal", "memorylocations": [{location}]}}"#)
    });
    add(function(&sets, ""));
    let all = many.of(|i| format!(r#"["s", "l{i}", 3]"#));
    let star = many.of(|i| if i == 0 { location(0, &all) } else { location(i, "") });
    add(function(&format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{star}]}}"#), ""));
    let old = many.of(|i| {
        format!(
            r#"{{"name": "s{i}", "kind": "Internal", "memorylocations": [{}]}},
            {{"name": "l{i}", "Skind": "memory_location_set", "kind": "Internal", "alias": [["l{}", 3]]}}"#,
            location(i, ""),
            (i + 1) % many.0
        )
    });
    add(function(&old, ""));
}

fn terms_and_summands(many: Many, add: Add) {
    let order =
        |terms: String| noop(&format!(r#""order": [{{"kind": "AffExprKind", "c": 0, "terms": [{terms}]}}]"#));
    add(order(many.of(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "AffIVKind", "axis": "i{i}"}}}}"#))));
    add(order(many.of(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "AffIVKind", "axis": "i"}}}}"#))));
    add(order(many.of(|i| format!(r#"{{"coeff": {i}, "idx": {{"kind": "ShardIDKind", "ub": {i}}}}}"#))));
    add(noop(&format!(
        r#""order": [{{"kind": "SumKind", "n_terms": {}, "terms": [{}]}}]"#,
        many.0,
        many.of(|i| format!(r#"{{"kind": "ShardIDKind", "ub": {i}}}"#))
    )));
}

fn repeated_names_with_edges(many: Many, add: Add) {
    let edge = r#"{"opcode": "NoOp", "name": "same", "dependencies": ["same"]}"#;
    let first = r#"{"opcode": "NoOp", "name": "same"}"#;
    add(function("", &format!("{first}, {}", many.of(|_| edge.to_owned()))));
    let blocks = many.of(|i| format!(r#"{{"name": "b{i}", "instructions": [{edge}]}}"#));
    add(format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{first}]}}, {blocks}]}}]}}"#
    ));
    let loops = many.of(|i| {
        format!(
            r#"{{"opcode": "Loop", "name": "l", "LoopAxis": {{"name": "i{i}", "lb": 0, "ub": 1, "stride": 1}},
            "blocks": [{{"name": "body", "instructions": [{edge}]}}]}}"#
        )
    });
    add(function("", &format!("{first}, {loops}")));
}

fn references_to_what_comes_later(many: Many, add: Add) {
    let sets = many.of(|i| {
        let next = (i + 1) % many.0;
        format!(
            r#"{{"name": "s{i}", "kind": "Pointer", "memorylocations": [{{"name": "l{i}", "type": "DRAM",
            "addr": 0, "dims": [1], "pointer_ref_memloc": "l{next}", "alloced_func": "f"}}]}}"#
        )
    });
    add(function(&sets, ""));
    // Keys in descending order: the operands stand before the storage.
    let uses = many.of(|i| {
        format!(
            r#"{{"opcode": "NoOp", "name": "n", "ins": [{{"kind": "physical_ap", "ap": [[1, 1]], "offset": 0,
            "dtype": "float32", "memsetref": "s{i}", "memref": "l{i}"}}]}}"#
        )
    });
    add(format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{uses}]}}],
        "allocations": [{sets}]}}]}}"#
    ));
}

fn call_bindings(many: Many, add: Add) {
    let calls = many.of(|i| format!(r#"{{"opcode": "Call", "name": "c{i}", "target": "g"}}"#));
    let locations = many.of(|i| format!(r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1]}}"#));
    let functions = format!(
        r#"{{"name": "main", "blocks": [{{"name": "b", "instructions": [{calls}]}}]}},
        {{"name": "g", "blocks": [], "allocations":
        [{{"name": "s", "kind": "Internal", "memorylocations": [{locations}]}}]}}"#
    );
    let bindings = many.of(|i| format!(r#""c{i}": ["l{}"]"#, many.0 - 1 - i));
    add(format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": {{{bindings}}}}}"#));
    let one = many.of(|i| format!(r#""l{}""#, many.0 - 1 - i));
    add(format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": {{"c0": [{one}]}}}}"#));
    let repeated = many.of(|i| format!(r#"["c0", ["l{i}"]]"#));
    add(format!(r#"{{"functions": [{functions}], "call_to_physical_memlocs": [{repeated}]}}"#));
}

fn functions_and_queues(many: Many, add: Add) {
    let functions = many.of(|i| {
        format!(
            r#"{{"name": "f{i}", "blocks": [{{"name": "b", "instructions": [{{"opcode": "NoOp", "name": "n",
            "ins": [{{"kind": "register_access", "dtype": "int32", "regref": "r"}}]}}]}}],
            "allocations": [{{"name": "r", "Skind": "register"}}]}}"#
        )
    });
    add(format!(r#"{{"functions": [{functions}]}}"#));
    let queues = many.of(|i| {
        format!(
            r#"{{"name": "q{i}", "blocks": [{{"name": "b", "instructions": [{{"opcode": "DMABlock",
            "name": "d{i}", "blocks": []}}]}}]}}"#
        )
    });
    let empty = many.of(|i| format!(r#"{{"name": "f{i}", "blocks": []}}"#));
    add(format!(r#"{{"functions": [{empty}], "queues": [{queues}]}}"#));
    let triggers = many.of(|i| {
        format!(r#"{{"opcode": "DMATrigger", "name": "t{i}", "queue": "q{i}", "dma_blocks": ["d{i}"]}}"#)
    });
    add(format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{triggers}]}}]}}],
        "queues": [{queues}]}}"#
    ));
}

fn names_that_collide(many: Many, add: Add) {
    let twice = |item: &dyn Fn(usize) -> String| format!("{}, {}", many.of(item), many.of(item));
    let blocks = twice(&|i| format!(r#"{{"name": "b{i}", "instructions": []}}"#));
    add(format!(r#"{{"functions": [{{"name": "f", "blocks": [{blocks}]}}]}}"#));
    add(format!(r#"{{"functions": [{}]}}"#, twice(&|i| format!(r#"{{"name": "f{i}", "blocks": []}}"#))));
    add(format!(
        r#"{{"functions": [], "queues": [{}]}}"#,
        twice(&|i| format!(r#"{{"name": "q{i}", "blocks": []}}"#))
    ));
    add(function(&twice(&|i| format!(r#"{{"name": "r{i}", "Skind": "register"}}"#)), ""));
}

fn unresolved_names_that_are_kept(many: Many, add: Add) {
    let locations = many.of(|i| {
        format!(
            r#"{{"name": "l{i}", "type": "DRAM", "addr": 0, "dims": [1], "alloced_func": "ghost{i}",
            "pointer_ref_memloc": "phantom{i}", "alias": [["s", "spectre{i}", 1]]}}"#
        )
    });
    let set = format!(r#"{{"name": "s", "kind": "Internal", "memorylocations": [{locations}]}}"#);
    add(function(&set, ""));
    let insts = many.of(|i| {
        format!(
            r#"{{"opcode": "Load", "name": "n{i}", "queue": "ghost{i}", "dependencies": ["phantom{i}"],
            "ins": [{{"kind": "physical_ap", "ap": [[1, 1]], "offset": 0, "dtype": "float32",
            "memref": "spectre{i}"}}]}}"#
        )
    });
    add(function("", &insts));
    let edges = many.of(|i| format!(r#""ghost{i}""#));
    add(noop(&format!(r#""dependencies": [{edges}]"#)));
    let bindings = many.of(|i| format!(r#""ghost{i}": []"#));
    add(root(&format!(r#""call_to_physical_memlocs": {{{bindings}}}"#)));
}
