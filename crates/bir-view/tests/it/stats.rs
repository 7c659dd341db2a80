//! Statistics of small documents whose figures can be counted by hand.

use std::fs;
use std::path::Path;

use bir_view::stats::{LoopKind, Runs, Stats, stats};

/// Loops of all kinds, a queue, memory that is shared.
const PROGRAM: &str = "tests/data/program.json";
/// A module that a user of an older runtime could not load.
const CASE: &str = "../../tests/data/cases/neff-feature-sdk820";

fn read(name: &str) -> Stats {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let text = fs::read(&path).unwrap();
    let loaded =
        bir_json::read(&text, &Default::default()).unwrap_or_else(|e| panic!("{}", e.located(&text)));
    stats(&loaded.module, 3)
}

fn runs(count: u64, runs: u64, uncounted: u64) -> Runs {
    Runs { count, runs, uncounted }
}

/// spec: bir-json 10. The outer loop counts down from 7 past -1: 8 trips; the inner one goes to 10 in threes: 4.
#[test]
fn trip_counts_multiply() {
    let stats = read(PROGRAM);
    let row = |opcode: &str| stats.instructions.iter().find(|row| row.opcode == opcode).unwrap().runs;
    assert_eq!(row("Matmult"), runs(1, 32, 0));
    assert_eq!(row("DMATrigger"), runs(1, 8, 0));
    assert_eq!(row("Loop"), runs(2, 1 + 8, 0));
    assert_eq!(stats.loop_depth, 2);
    let loops: Vec<_> = stats.loops.iter().map(|row| (row.kind, &*row.name, row.depth, row.trips)).collect();
    let expected = [
        (LoopKind::Loop, "i", 1, Some(8)),
        (LoopKind::Loop, "j", 2, Some(4)),
        (LoopKind::DynamicForLoop, "d", 1, None),
        (LoopKind::DoWhile, "again", 1, None),
        (LoopKind::Blocks, "Spin", 1, None),
    ];
    assert_eq!(loops, expected);
    assert_eq!(stats.loops[0].runs, runs(4, 8 + 8 + 32 + 32, 0));
    assert_eq!((stats.loops[1].iterations, stats.loops[1].runs), (Some(32), runs(2, 64, 0)));
}

/// A run-time bound, a condition, and a block that branches to itself say nothing of how often they run.
#[test]
fn what_cannot_be_counted_is_unknown() {
    let stats = read(PROGRAM);
    let row = |opcode: &str| stats.instructions.iter().find(|row| row.opcode == opcode).unwrap().runs;
    assert_eq!(row("TensorScalar"), runs(1, 0, 1), "in a loop whose bound is a register");
    assert_eq!(row("CompareAndBranch"), runs(1, 0, 1), "in a block that branches to itself");
    assert_eq!(row("NoOp"), runs(3, 1, 2), "one in a DoWhile, one in the lowered loop, one after it");
    assert!(stats.loops[2..].iter().all(|row| row.iterations.is_none() && row.runs.runs == 0));
}

/// A DMA block and its descriptors run as often as the trigger that names the block.
#[test]
fn queues_run_when_they_are_triggered() {
    let stats = read(PROGRAM);
    let row = |opcode: &str| stats.instructions.iter().find(|row| row.opcode == opcode).unwrap().runs;
    assert_eq!(row("DMABlock"), runs(1, 8, 0));
    assert_eq!(row("DMADescriptorCopy"), runs(2, 16, 0));
    let queue = &stats.queues[0];
    assert_eq!((queue.dma_blocks, queue.descriptors, queue.uses), (1, 2, 1));
    assert_eq!(queue.bytes, 2 * 128 * 512 * 2);
    assert_eq!(stats.module.queue_instructions, 3);
}

#[test]
fn memory_that_locations_share_counts_once() {
    let memory = read(PROGRAM).memory;
    let sb: Vec<_> = memory.sb.partitions.iter().map(|part| (part.partitions, part.used)).collect();
    // Bytes 0..3072 everywhere; bytes 2560..4608 on partitions 32 to 63 as well.
    assert_eq!(sb, [([0, 32], 3072), ([32, 64], 4608), ([64, 128], 3072)]);
    assert_eq!(memory.sb.partition_bytes, Some(192 * 1024));
    // 3072 bytes from the start of bank 2 reach into bank 3, whose other half is taken on 64 partitions.
    let banks: Vec<_> = memory.psum.banks.iter().map(|bank| (bank.bank, bank.locations, bank.used)).collect();
    assert_eq!(banks, [(2, 1, 2048), (3, 2, 2048)]);
    let unplaced: Vec<_> = memory.unplaced.iter().map(|row| (&*row.space, row.locations)).collect();
    assert_eq!(unplaced, [("SB", 1)], "allocated: false takes no place, whatever the address");
}

#[test]
fn dependencies_and_semaphores_are_counted_by_kind() {
    let stats = read(PROGRAM);
    let edges: Vec<_> =
        stats.edges.iter().map(|row| (&*row.kind, row.normal, row.loop_carried, row.unroll)).collect();
    assert_eq!(edges, [("Ordered", 0, 0, 1), ("Anti", 1, 0, 0), ("Output", 0, 1, 0), ("Flow", 2, 0, 0)]);
    let semaphores: Vec<_> = stats.semaphores.iter().map(|row| (row.id, row.waits, row.updates)).collect();
    assert_eq!(semaphores, [(Some(5), 1, 1), (Some(7), 1, 1)]);
}

#[test]
fn the_largest_tensors_come_first() {
    let stats = read(PROGRAM);
    let tensors: Vec<_> = stats.tensors.iter().map(|row| (&*row.name, row.bytes)).collect();
    assert_eq!(tensors, [("y_set", 2 << 20), ("x_set", 1 << 20), ("acc_set", 128 * 3072)]);
}

/// A loader that lacks the feature refuses the file with this number in its message.
#[test]
fn neff_features_have_number_and_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CASE);
    let expected: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("expected.json")).unwrap()).unwrap();
    let strings = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let bad = read(&format!("{CASE}/bad.json")).text(0).to_string();
    let good = read(&format!("{CASE}/good.json")).text(0).to_string();
    let contained = strings(&expected["expect"][0]["output_contains"]);
    assert_eq!(contained.len(), 2);
    assert!(contained.iter().all(|text| bad.contains(text)), "{bad}");
    assert!(strings(&expected["good_output_lacks"]).iter().all(|text| !good.contains(text)), "{good}");
}

#[test]
fn every_table_is_cut_off_where_it_is_asked_to_be() {
    let stats = read(PROGRAM);
    let (short, long) = (stats.text(1).to_string(), stats.text(0).to_string());
    assert!(short.contains("... and 11 more") && !long.contains("..."));
}

/// spec: neff 9: descriptors that the device generates need DGE, and DGE_cast where they convert.
#[test]
fn generated_descriptors_need_features() {
    let bits = |dtype: &str| {
        let operand = |dtype| format!(r#"{{"kind": "imm_value", "dtype": "{dtype}", "value": 0}}"#);
        let text = format!(
            r#"{{"version": 2, "arch": "sunda", "functions": [{{"name": "main", "blocks": [{{"name": "b",
                "instructions": [{{"name": "i", "opcode": "DMACopy", "engine": "SP", "mode": "Copy",
                "ins": [{}], "outs": [{{"kind": "register_access", "dtype": "{dtype}", "regref": "r"}}]}}]}}],
                "allocations": [{{"Skind": "register", "name": "r"}}]}}]}}"#,
            operand("float32")
        );
        let loaded = bir_json::read(text.as_bytes(), &Default::default()).unwrap();
        stats(&loaded.module, 0).feature_bits
    };
    assert_eq!(bits("float32"), "0x1000");
    assert_eq!(bits("float16"), "0x9000");
}
