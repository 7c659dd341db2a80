//! Writing by several threads gives the text that one thread gives.

use std::io;

use bir_json::{Style, WriteOptions};
use serde_json::{Value, json};

use crate::common::*;

/// `count` instructions, some with a body, with edges and operands.
fn instructions(prefix: &str, count: usize) -> Value {
    let each = |i: usize| {
        let edges = if i == 0 { json!([]) } else { json!([[format!("{prefix}{}", i - 1), "Flow"]]) };
        let members = json!({"dependencies": edges, "ins": [operand()], "engine_id": i});
        let name = format!("{prefix}{i}");
        if i % 10 == 3 {
            let body = (0..i % 4).map(|b| inst("NoOp", &format!("{name} {b}"))).collect::<Vec<_>>();
            let axis = json!({"lb": 0, "name": "i0", "stride": 1, "ub": 4});
            let own = json!({"LoopAxis": axis, "blocks": [block("body", json!(body))]});
            return with(&with(&inst("Loop", &name), members), own);
        }
        with(&inst("NoOp", &name), members)
    };
    (0..count).map(each).collect()
}

/// Documents whose blocks and instructions lie in all the ways that a list can be shared in.
fn documents() -> Vec<Value> {
    let with_blocks = |blocks: Vec<Value>| {
        let mut document = world();
        document["functions"][0]["blocks"].as_array_mut().unwrap().extend(blocks);
        document
    };
    let sized = |sizes: &[usize]| {
        let named =
            |(i, size): (usize, &usize)| block(&format!("n{i}"), instructions(&format!("{i}."), *size));
        with_blocks(sizes.iter().enumerate().map(named).collect())
    };
    let mut main_last = sized(&[700; 9]);
    main_last["functions"][0]["blocks"].as_array_mut().unwrap().push(block("main", json!([])));
    let axis = json!({"lb": 0, "name": "i1", "stride": 1, "ub": 4});
    let own = json!({"LoopAxis": axis, "blocks": [block("all", instructions("x", 5000))]});
    let nested = with_blocks(vec![block("outer", json!([with(&inst("Loop", "outer"), own)]))]);
    vec![sized(&[6000]), sized(&[3, 5000, 1, 0, 2500]), sized(&[100; 60]), main_last, nested]
}

#[test]
fn the_text_does_not_depend_on_the_threads() {
    for document in documents() {
        let loaded = load(&document.to_string());
        for style in [Style::Indented, Style::Compact] {
            let options = |threads| WriteOptions { style, threads, ..WriteOptions::default() };
            let alone = bir_json::to_string(&loaded.module, &options(1));
            for threads in [0, 2, 3, 7] {
                assert!(bir_json::to_string(&loaded.module, &options(threads)) == alone, "{threads} threads");
            }
        }
    }
}

/// Takes some bytes and then no more.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_all_threads() {
    let loaded = load(&documents()[0].to_string());
    for threads in [1, 4] {
        let options = WriteOptions { threads, ..WriteOptions::default() };
        for room in [0, 500_000, 1_500_000] {
            let error = bir_json::write(&loaded.module, &mut Full(room), &options).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
