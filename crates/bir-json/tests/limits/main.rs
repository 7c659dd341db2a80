//! What reading and writing may take: memory by a factor that is known, and work in proportion to the document.
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../it/common/mod.rs"]
mod common;
mod scale;

use std::sync::{Mutex, MutexGuard};

use bir_json::{ReadOptions, WriteOptions};
use common::*;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// All tests of this file share one count of memory, so each runs alone, from its first allocation on.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Peak memory, in bytes, of reading a text and of writing what was read, above what stands before.
#[track_caller]
fn peaks(text: &str, options: &ReadOptions) -> [usize; 2] {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let outcome = bir_json::read(text.as_bytes(), options);
    let reading = MEMORY.peak_usage().saturating_sub(before);
    let mut writing = 0;
    if let Ok(loaded) = outcome {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let mut count = Count(0);
        bir_json::write(&loaded.module, &mut count, &WriteOptions::default()).unwrap();
        writing = MEMORY.peak_usage().saturating_sub(before);
        assert!(count.0 > 0);
    }
    [reading, writing]
}

/// A sink that only counts.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[track_caller]
fn within(text: &str, options: &ReadOptions, times: usize) {
    let [reading, writing] = peaks(text, options);
    assert!(reading <= times * text.len() + (1 << 20), "{reading} for {} bytes", text.len());
    // The writer has a buffer of fixed size, and nothing of the document twice.
    assert!(writing <= 2 << 20, "{writing} to write");
}

/// A free-form value is 32 bytes and the text has 5 bytes for each; a list has up to twice the room, and the counting
/// allocator has it twice while it moves.
#[test]
fn ten_million_nulls() {
    let _alone = alone();
    let nulls = "null,".repeat(10_000_000);
    within(&format!(r#"{{"functions": [], "x": [{nulls}null]}}"#), &ReadOptions::default(), 20);
}

#[test]
fn ten_million_of_the_shortest_values() {
    let _alone = alone();
    let values = "1,".repeat(10_000_000);
    within(&format!(r#"{{"functions": [], "x": [{values}1]}}"#), &ReadOptions::default(), 50);
    let lists = "[],".repeat(3_000_000);
    within(&format!(r#"{{"functions": [], "x": [{lists}[]]}}"#), &ReadOptions::default(), 30);
}

/// Where a list of something else belongs, nulls are an error at the first one.
#[test]
fn nulls_where_objects_belong() {
    let _alone = alone();
    let nulls = "null,".repeat(1_000_000);
    for key in ["functions", "queues"] {
        let text = format!(r#"{{"functions": [], "{key}": [{nulls}null]}}"#);
        let [reading, _] = peaks(&text, &ReadOptions::default());
        assert!(reading < 4 * text.len(), "{reading}");
        refuse(&text);
    }
}

/// The smallest instructions there are.
#[test]
fn many_small_instructions() {
    let _alone = alone();
    let insts = r#"{"opcode":"NoOp"},"#.repeat(300_000);
    let text = format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{insts}{{"opcode":"NoOp"}}]}}]}}]}}"#
    );
    within(&text, &ReadOptions::default(), 40);
}

/// Oddities are counted, but only the first of each kind are kept.
#[test]
fn many_oddities() {
    let _alone = alone();
    let insts = r#"{"opcode":"NoOp","engine":null,"a":1,"origin":"x","queue":"q"},"#.repeat(200_000);
    let text = format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{insts}{{"opcode":"NoOp"}}]}}]}}]}}"#
    );
    let loaded = load_with(&text, &KEEP);
    assert!(loaded.oddities.iter().count() < 10_000);
    within(&text, &KEEP, 20);
}

#[test]
fn one_long_name() {
    let _alone = alone();
    let name = "x".repeat(50 << 20);
    within(&format!(r#"{{"functions": [], "{name}": 1}}"#), &ReadOptions::default(), 4);
    let text = format!(r#"{{"functions": [{{"name": "{name}", "blocks": []}}]}}"#);
    let [reading, writing] = peaks(&text, &ReadOptions::default());
    assert!(reading <= 4 * text.len() && writing <= 2 * text.len(), "{reading} {writing}");
}

/// A document that needs another reading costs its text once more.
#[test]
fn duplicate_keys() {
    let _alone = alone();
    let insts = r#"{"opcode":"NoOp","opcode":"NoOp"},"#.repeat(200_000);
    let text = format!(
        r#"{{"functions": [{{"name": "f", "blocks": [{{"name": "b", "instructions": [{insts}{{"opcode":"NoOp"}}]}}]}}]}}"#
    );
    within(&text, &ReadOptions::default(), 25);
}
