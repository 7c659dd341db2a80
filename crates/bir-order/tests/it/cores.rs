//! Programs of several cores: what they share, and what makes them wait for each other.

use bir::diag::DisplayNames;
use bir_json::{ReadOptions, Unresolved};
use bir_order::bir_module::{Line, check_modules};
use bir_order::{Options, Verdict};
use serde_json::{Value, json};

/// A tensor in DRAM.
pub(crate) fn dram(name: &str, kind: &str, space: &str, addr: u64) -> Value {
    json!({"addr_space": space, "dtype": "float32", "kind": kind, "name": format!("{name}_set"), "tensor_shape": [64],
        "memorylocations": [{"addr": addr, "bank": 0, "base": 0, "dims": [256], "name": name, "type": "DRAM"}]})
}

/// One that all cores see.
fn shared(addr: u64) -> Value {
    dram("s", "Internal", "Shared", addr)
}

/// Sixteen elements from one on.
pub(crate) fn part(name: &str, from: u64) -> Value {
    json!({"ap": [[1, 16]], "dtype": "float32", "kind": "physical_ap", "memref": name, "offset": from})
}

pub(crate) fn inst(name: &str, engine: &str, opcode: &str) -> Value {
    json!({"engine": engine, "name": name, "opcode": opcode, "ins": [], "outs": []})
}

pub(crate) fn with(mut inst: Value, key: &str, value: Value) -> Value {
    inst[key] = value;
    inst
}

pub(crate) fn writes(name: &str, part: Value) -> Value {
    with(inst(name, "DVE", "TensorCopy"), "outs", json!([part]))
}

pub(crate) fn reads(name: &str, part: Value) -> Value {
    with(inst(name, "DVE", "TensorCopy"), "ins", json!([part]))
}

/// Updates a semaphore of a core when it is done.
pub(crate) fn counts(inst: Value, id: u32, core: u32) -> Value {
    let update = json!({"id": id, "sync_type": "semaphore", "target_core": core, "update_mode": "sem-add-imm",
        "update_value": 1});
    let mut sync = inst.get("sync_info").cloned().unwrap_or_else(|| json!({}));
    sync["on_update"] = json!([update]);
    with(inst, "sync_info", sync)
}

fn waits(inst: Value, id: u32) -> Value {
    let wait = json!({"id": id, "sync_type": "semaphore", "wait_mode": "sem-ge-imm", "wait_value": 1});
    with(inst, "sync_info", json!({ "on_wait": [wait] }))
}

fn barrier(name: &str) -> Value {
    with(with(inst(name, "ALL", "CoreBarrier"), "cores", json!([0, 1])), "id", json!(5))
}

pub(crate) fn check(cores: Vec<(Value, Vec<Value>)>) -> (Vec<Line>, Verdict) {
    let modules: Vec<bir::Module> = cores
        .into_iter()
        .enumerate()
        .map(|(core, (tensors, instructions))| {
            let text = json!({"arch": "gen3", "queues": [], "revision": "v1", "version": 2,
                "attributes": {"neuron_core_id": core, "pass_sequence_number": 121, "previous_pass": "lower_sync"},
                "functions": [{"allocations": tensors, "attributes": ["ready_for_codegen"], "name": "main",
                    "blocks": [{"instructions": instructions, "name": "block"}]}]});
            let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
            bir_json::read(text.to_string().as_bytes(), &options).unwrap().module
        })
        .collect();
    let names: Vec<DisplayNames> = modules.iter().map(DisplayNames::of).collect();
    let checked = check_modules(&modules.iter().collect::<Vec<_>>(), &Options::default()).unwrap();
    let lines = checked.iter().flat_map(|checked| checked.said(&names)).map(|said| said.line);
    (lines.collect(), checked[0].verdict())
}

fn codes(cores: Vec<(Value, Vec<Value>)>) -> Vec<&'static str> {
    check(cores).0.into_iter().map(|line| line.code).collect()
}

/// A writer on one core and a reader on the other, of two tensors.
fn two(one: Value, other: Value, of_one: &str, of_other: &str, from: [u64; 2]) -> Vec<&'static str> {
    let first = vec![writes("w", part(of_one, from[0]))];
    let second = vec![reads("r", part(of_other, from[1]))];
    codes(vec![(json!([one]), first), (json!([other]), second)])
}

#[test]
fn what_cores_share() {
    assert_eq!(two(shared(0), shared(0), "s", "s", [0, 0]), ["ORD020"]);
    assert_eq!(two(shared(0), shared(0), "s", "s", [0, 16]), [""; 0]);
    assert_eq!(two(shared(0), shared(0), "s", "s", [0, 15]), ["ORD020"]);
    // Each of its own.
    let own = || dram("s", "Internal", "Local", 0);
    assert_eq!(two(own(), own(), "s", "s", [0, 0]), [""; 0]);
    assert_eq!(two(shared(0), dram("t", "Internal", "Shared", 0), "s", "t", [0, 0]), [""; 0]);
    // What comes in and goes out has one name for all.
    let out = || dram("o", "ExternalOutput", "Local", 0);
    assert_eq!(two(out(), out(), "o", "o", [0, 0]), ["ORD020"]);
    assert_eq!(two(out(), out(), "o", "o", [0, 16]), [""; 0]);
    let three = |last: Value| {
        let reader = |name: &str| vec![reads(name, part("s", 0))];
        vec![
            (json!([shared(0)]), vec![writes("w", part("s", 0)), barrier("a")]),
            (json!([shared(0)]), [vec![barrier("b")], reader("r")].concat()),
            (json!([last]), reader("third")),
        ]
    };
    // A core that has no part in the barrier.
    assert_eq!(codes(three(shared(0))), ["ORD020"]);
    assert_eq!(codes(three(own())), [""; 0]);
}

/// It is one tensor wherever it lies in the memory of each core.
#[test]
fn shared_tensors_at_different_addresses() {
    assert_eq!(two(shared(0), shared(8192), "s", "s", [0, 0]), ["ORD020"]);
    assert_eq!(two(shared(8192), shared(0), "s", "s", [0, 0]), ["ORD020"]);
    assert_eq!(two(shared(0), shared(8192), "s", "s", [0, 16]), [""; 0]);
    // Other bytes of it, at one address.
    assert_eq!(two(shared(64), shared(0), "s", "s", [0, 16]), [""; 0]);
    let out = |addr| dram("o", "ExternalOutput", "Local", addr);
    assert_eq!(two(out(0), out(4096), "o", "o", [0, 0]), ["ORD020"]);
}

#[test]
fn semaphores_of_other_cores() {
    let program = |core, reader| {
        vec![
            (json!([shared(0)]), vec![counts(writes("w", part("s", 0)), 3, core)]),
            (json!([shared(0)]), vec![reader]),
        ]
    };
    let reader = || reads("r", part("s", 0));
    assert_eq!(codes(program(1, waits(reader(), 3))), [""; 0]);
    // The semaphore of that number is another one on each core.
    assert_eq!(codes(program(0, waits(reader(), 3))), ["ORD006", "ORD014"]);
    // Nobody can be made to wait for a semaphore of another core.
    let help = |core| {
        let program = program(core, reader());
        check(program).0.remove(0).help.unwrap()
    };
    assert!(help(1).contains("wait for semaphore 3 of core 1 >= 1"), "{}", help(1));
    assert!(help(0).contains("update a free semaphore"), "{}", help(0));
}

#[test]
fn cores_that_wait_for_each_other() {
    let one = |id, wait, core| counts(waits(inst("n", "DVE", "NoOp"), wait), id, core);
    let none = || json!([]);
    assert_eq!(codes(vec![(none(), vec![one(2, 1, 1)]), (none(), vec![one(1, 2, 0)])]), ["ORD014"]);
    let first = counts(inst("n", "DVE", "NoOp"), 2, 1);
    assert_eq!(codes(vec![(none(), vec![first]), (none(), vec![one(1, 2, 0)])]), [""; 0]);
}

#[test]
fn core_barriers() {
    let program = |first: Vec<Value>, second: Vec<Value>| {
        check(vec![(json!([shared(0)]), first), (json!([shared(0)]), second)])
    };
    let (write, read) = (|| writes("w", part("s", 0)), || reads("r", part("s", 0)));
    let found =
        |first, second| program(first, second).0.into_iter().map(|line| line.code).collect::<Vec<_>>();
    assert_eq!(found(vec![write(), barrier("a")], vec![barrier("b"), read()]), [""; 0]);
    assert_eq!(found(vec![write(), barrier("a")], vec![read(), barrier("b")]), ["ORD020"]);
    // The second one of the number.
    let between = vec![barrier("a"), write(), barrier("b")];
    assert_eq!(found(between.clone(), vec![barrier("c"), read(), barrier("d")]), ["ORD020"]);
    assert_eq!(found(between, vec![barrier("c"), barrier("d"), read()]), [""; 0]);
    // A barrier is nothing to wait for by itself, and one that a core does not come to is waited for in vain.
    let (lines, verdict) = program(vec![write(), barrier("a")], vec![read()]);
    assert_eq!(verdict, Verdict::Findings);
    let codes: Vec<&str> = lines.iter().map(|line| line.code).collect();
    assert_eq!(codes, ["ORD020", "ORD014"]);
    assert!(lines[0].help.as_deref().is_some_and(|help| help.contains("free semaphore")), "{lines:?}");
    assert!(lines[1].message.contains("for all cores at core barrier 5"), "{lines:?}");
}

/// Whatever is of one core alone is found there.
#[test]
fn findings_of_one_core() {
    let tile = json!({"dtype": "float32", "kind": "Internal", "name": "p_set", "tensor_shape": [4, 16],
        "memorylocations": [{"addr": 0, "bank": 0, "base": 0, "dims": [4, 64], "name": "p", "type": "PSUM"}]});
    let at = || json!({"ap": [[16, 4], [1, 16]], "dtype": "float32", "kind": "physical_ap", "memref": "p", "offset": 0});
    let matmul = |flag: u32| {
        with(with(inst("mm", "PE", "Matmult"), "outs", json!([at()])), "accumulation_flag", json!(flag))
    };
    let idle = || (json!([]), vec![inst("idle", "DVE", "NoOp")]);
    let on_second = |insts: Vec<Value>| codes(vec![idle(), (json!([tile.clone()]), insts)]);
    // A group that nobody has started, even where it is all that happens in PSUM.
    assert_eq!(on_second(vec![matmul(2)]), ["ORD022"]);
    assert_eq!(on_second(vec![matmul(3)]), [""; 0]);
    let race = vec![
        with(inst("one", "DVE", "TensorCopy"), "outs", json!([at()])),
        with(inst("other", "Pool", "TensorCopy"), "ins", json!([at()])),
    ];
    assert_eq!(on_second(race), ["ORD001"]);
}
