//! Forms that documents have and what becomes of each, against the words of the specification.

mod containers;
mod dependencies;
mod duplicate_keys;
mod expressions;
mod first_party;
mod operands;
mod ops;
mod presence;
mod storage;

use crate::common::table;
use crate::common::*;
use bir::{EmptyHolder, Op};
use bir_json::{OddityKind, ReadErrorKind, WriteOptions};
use serde_json::{Value, json};

/// The op keys of an instruction that was written.
fn op_keys(written: &Value) -> Vec<String> {
    let header = inst("", "");
    written.as_object().unwrap().keys().filter(|key| header.get(key.as_str()).is_none()).cloned().collect()
}

/// The instruction of an input, and how many oddities of each kind its document has.
fn with_oddities(inst: &Value) -> (Value, Vec<(OddityKind, usize)>) {
    let text = world_with(std::slice::from_ref(inst)).to_string();
    (through(inst), oddities(&load(&text)))
}
