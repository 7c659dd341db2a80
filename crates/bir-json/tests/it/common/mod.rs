//! What the test binaries share: loading, comparing as JSON, and a module that has one of everything.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod table;

use std::path::{Path, PathBuf};

use bir_json::{Loaded, OddityKind, ReadError, ReadOptions, Unresolved, WriteOptions};
use serde_json::{Value, json};

/// Reading that keeps unresolved names.
pub const KEEP: ReadOptions =
    ReadOptions { unresolved: Unresolved::Keep, strict: false, threads: 1, piece: 0 };
/// Reading that refuses oddities.
pub const STRICT: ReadOptions =
    ReadOptions { unresolved: Unresolved::Refuse, strict: true, threads: 1, piece: 0 };

/// A folder of data that several crates use.
pub fn workspace_data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

/// Reads with given options, and checks that several threads read the same: as one thread they take whatever another
/// has read of pieces that are far too small.
#[track_caller]
pub fn read_by_threads(text: &[u8], options: &ReadOptions) -> Result<Loaded, ReadError> {
    let alone = bir_json::read(text, options);
    for (threads, piece) in [(2, 15), (4, 150)] {
        let options = ReadOptions { threads, piece, ..*options };
        match (&alone, bir_json::read(text, &options)) {
            (Ok(alone), Ok(together)) => {
                if let Err(difference) = bir::same(&alone.module, &together.module) {
                    panic!("by {threads} threads: {difference}\n{}", String::from_utf8_lossy(text));
                }
                assert_eq!(text_of(alone), text_of(&together));
                assert_eq!(together.module.check_links(), alone.module.check_links());
                assert!(together.oddities.iter().eq(alone.oddities.iter()));
                for kind in OddityKind::ALL {
                    assert_eq!(together.oddities.count(kind), alone.oddities.count(kind));
                }
                let ids = || alone.module.insts().zip(together.module.insts());
                assert!(ids().all(|(a, b)| a == b && alone.positions.inst(a) == together.positions.inst(b)));
            }
            (Err(alone), Err(together)) => {
                assert_eq!(alone.located(text).to_string(), together.located(text).to_string());
            }
            (_, together) => {
                panic!("by {threads} threads: {:?}\n{}", together.err(), String::from_utf8_lossy(text))
            }
        }
    }
    alone
}

/// Reads with given options; a failure is shown with its place.
#[track_caller]
pub fn load_with(text: &str, options: &ReadOptions) -> Loaded {
    match read_by_threads(text.as_bytes(), options) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{}\n{}", error.located(text.as_bytes()), excerpt(text, error.offset)),
    }
}

#[track_caller]
pub fn load(text: &str) -> Loaded {
    load_with(text, &ReadOptions::default())
}

/// The text that the canonical writer gives, without the newline at the end.
pub fn text_of(loaded: &Loaded) -> String {
    bir_json::to_string(&loaded.module, &WriteOptions::default())
}

/// Reads and writes.
#[track_caller]
pub fn canonical(text: &str) -> String {
    text_of(&load(text))
}

#[track_caller]
pub fn canonical_with(text: &str, options: &ReadOptions) -> String {
    text_of(&load_with(text, options))
}

/// Reads and writes a document, and checks that doing it again changes nothing.
#[track_caller]
pub fn round_trip(document: &Value) -> Value {
    let once = canonical(&document.to_string());
    let twice = canonical(&once);
    assert_eq!(once, twice, "the canonical form is not stable");
    parse(&once)
}

/// The error of a document that must be refused.
#[track_caller]
pub fn refuse(text: &str) -> ReadError {
    refuse_with(text, &ReadOptions::default())
}

#[track_caller]
pub fn refuse_with(text: &str, options: &ReadOptions) -> ReadError {
    match read_by_threads(text.as_bytes(), options) {
        Ok(loaded) => panic!("accepted: {}\nas {}", excerpt(text, 0), excerpt(&text_of(&loaded), 0)),
        Err(error) => error,
    }
}

/// The error as a user sees it.
#[track_caller]
pub fn refusal(text: &str) -> String {
    refuse(text).located(text.as_bytes()).to_string()
}

/// Another JSON reader, so that the tests do not only compare this one with itself.
#[track_caller]
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {}", excerpt(text, 0)))
}

fn excerpt(text: &str, offset: usize) -> String {
    let start = (0..=offset.saturating_sub(60)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[start..].chars().take(400).collect()
}

/// How many oddities of each kind there are, those without any left out.
pub fn oddities(loaded: &Loaded) -> Vec<(OddityKind, usize)> {
    let count = |kind: OddityKind| (kind, loaded.oddities.count(kind));
    OddityKind::ALL.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

#[track_caller]
pub fn assert_no_oddities(loaded: &Loaded) {
    let list: Vec<_> = loaded.oddities.iter().map(ToString::to_string).collect();
    assert_eq!(list, Vec::<String>::new());
}

/// A module that has one of everything that a reference can mean. The instruction under test goes to the end of
/// the first block.
///
/// Names: function `main` with blocks `Block1` and `Block2`, sets `t_set` and `u_set` of the DRAM locations `t` and
/// `u`, registers `r0` and `r1`, instruction `other`; function `callee` with `c_set` and `c`; NKI function `nki0`;
/// queue `q0` with the instance `q0_inst`, whose DMA blocks are `db0` and `db1`.
pub fn world() -> Value {
    json!({
        "arch": "gen3",
        "attributes": {},
        "functions": [
            {
                "allocations": [
                    set("t_set", json!([location("t")])),
                    set("u_set", json!([location("u")])),
                    {"Skind": "register", "name": "r0", "origin": "Internal"},
                    {"Skind": "register", "name": "r1", "origin": "Internal"},
                ],
                "attributes": [],
                "blocks": [
                    block("Block1", json!([inst("NoOp", "other")])),
                    block("Block2", json!([])),
                ],
                "name": "main",
                "origin": "Internal",
            },
            {
                "allocations": [set("c_set", json!([location("c")]))],
                "attributes": [],
                "blocks": [],
                "name": "callee",
                "origin": "Internal",
            },
        ],
        "nki_functions": {
            "functions": [
                {"allocations": [], "attributes": [], "blocks": [], "name": "nki0", "origin": "Internal"},
            ],
        },
        "queues": [
            {
                "blocks": [block("q0_inst", json!([dma_block("db0"), dma_block("db1")]))],
                "name": "q0",
                "origin": "Internal",
            },
        ],
        "version": 2,
    })
}

/// [`world`] with instructions at the end of its first block.
pub fn world_with(insts: &[Value]) -> Value {
    let mut document = world();
    let list = document.pointer_mut("/functions/0/blocks/0/instructions").and_then(Value::as_array_mut);
    list.expect("the world has instructions").extend_from_slice(insts);
    document
}

/// Where [`world_with`] puts its first instruction.
pub const INST: &str = "/functions/0/blocks/0/instructions/1";

/// Reads and writes [`world_with`] one instruction, checks stability, and gives the instruction that was written.
#[track_caller]
pub fn through(inst: &Value) -> Value {
    let written = round_trip(&world_with(std::slice::from_ref(inst)));
    written.pointer(INST).expect("the instruction is still there").clone()
}

/// An instruction with the header keys that are always written.
pub fn inst(opcode: &str, name: &str) -> Value {
    json!({
        "engine": "Unassigned",
        "engine_id": 0,
        "ins": [],
        "name": name,
        "opcode": opcode,
        "origin": "Internal",
        "outs": [],
        "scheduled_end": 0,
        "scheduled_start": 0,
    })
}

/// An object with more members; later ones replace earlier ones.
pub fn with(object: &Value, members: Value) -> Value {
    let mut object = object.clone();
    let target = object.as_object_mut().expect("an object");
    target.extend(members.as_object().expect("members").clone());
    object
}

/// An object without some members.
pub fn without(object: &Value, keys: &[&str]) -> Value {
    let mut object = object.clone();
    for key in keys {
        object.as_object_mut().expect("an object").remove(*key);
    }
    object
}

pub fn block(name: &str, instructions: Value) -> Value {
    json!({"instructions": instructions, "name": name, "origin": "Internal"})
}

pub fn dma_block(name: &str) -> Value {
    with(&inst("DMABlock", name), json!({"blocks": []}))
}

pub fn set(name: &str, memorylocations: Value) -> Value {
    json!({
        "Skind": "memory_location_set",
        "dtype": "float32",
        "kind": "Internal",
        "memorylocations": memorylocations,
        "name": name,
        "origin": "Internal",
        "tensor_class": "NeuronSBTensor",
        "tensor_shape": [128, 4],
    })
}

pub fn location(name: &str) -> Value {
    json!({
        "Skind": "memory_location",
        "addr": 0,
        "dims": [2048],
        "name": name,
        "origin": "Internal",
        "type": "DRAM",
    })
}

/// A physical operand on the location `t`.
pub fn operand() -> Value {
    json!({
        "access_shape": [],
        "ap": [[4, 128], [1, 4]],
        "dtype": "float32",
        "kind": "physical_ap",
        "memref": "t",
        "memsetref": "t_set",
        "offset": 0,
    })
}

/// A constant expression.
pub fn constant(c: i64) -> Value {
    json!({"c": c, "kind": "AffExprKind", "terms": []})
}

/// An expression with a term of each kind of index.
pub fn expression() -> Value {
    json!({
        "c": 1,
        "kind": "AffExprKind",
        "terms": [
            {"coeff": 2, "idx": {"axis": "i0", "kind": "AffIVKind"}},
            {"coeff": -3, "idx": {"kind": "IntRuntimeValueKind", "regref": "r0"}},
            {"coeff": 4, "idx": {"kind": "ShardIDKind", "ub": 2}},
        ],
    })
}
