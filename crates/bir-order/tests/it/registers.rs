//! Waits for what is in a register: known where it is written once, a constant.

use bir_order::Verdict;
use serde_json::{Value, json};

use crate::cores::{check, counts, dram, inst, part, reads, with, writes};

fn set(name: &str, engine: &str, value: i64) -> Value {
    let register = json!({"dtype": "int32", "kind": "register_access", "regref": "r"});
    let number = json!({"dtype": "int32", "kind": "imm_value", "value": value});
    with(with(inst(name, engine, "RegisterMove"), "ins", json!([number])), "outs", json!([register]))
}

/// A reader on another engine that waits for as much as the register says, behind what else that engine does.
fn found(before: Vec<Value>, behind: Vec<Value>) -> (Vec<&'static str>, Verdict) {
    let wait = json!({"id": 3, "sync_type": "semaphore", "wait_mode": "sem-ge-reg", "wait_reg": "r", "wait_value": 0});
    let reader = with(reads("r", part("t", 0)), "engine", json!("Pool"));
    let reader = with(reader, "sync_info", json!({ "on_wait": [wait] }));
    let writer = counts(writes("w", part("t", 0)), 3, 0);
    let tensors = json!([dram("t", "Internal", "Local", 0), {"Skind": "register", "name": "r"}]);
    let (lines, verdict) = check(vec![(tensors, [before, vec![writer, reader], behind].concat())]);
    (lines.into_iter().map(|line| line.code).collect(), verdict)
}

#[test]
fn thresholds_that_are_written_once() {
    assert_eq!(found(vec![set("m", "Pool", 1)], vec![]), (vec![], Verdict::Clean));
    assert_eq!(found(vec![set("m", "ALL", 1)], vec![]), (vec![], Verdict::Clean));
    assert_eq!(found(vec![set("m", "Pool", 0)], vec![]), (vec!["ORD001"], Verdict::Findings));
    assert_eq!(found(vec![set("m", "Pool", 2)], vec![]), (vec!["ORD014"], Verdict::Findings));
}

#[test]
fn thresholds_that_are_not_known() {
    let open = (vec!["ORD003", "ORD021"], Verdict::Undecided);
    // By nobody, later, twice, or on another engine, which has registers of its own.
    assert_eq!(found(vec![], vec![]), open);
    assert_eq!(found(vec![], vec![set("m", "Pool", 1)]), open);
    assert_eq!(found(vec![set("m", "Pool", 1)], vec![set("n", "Pool", 2)]), open);
    assert_eq!(found(vec![set("m", "DVE", 1)], vec![]), open);
}
