//! The order of what ships: clean as it is, and every wait that is taken away is missed or was not needed.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use bir_order::{Options, Verdict};
use neff::{Container, Limits, Package, sample};
use neff_words::order::{Checked, Origin, check};
use neff_words::{Program, generation};

fn load(file: &[u8]) -> (Package, Program) {
    let container = Container::open(file).unwrap();
    let limits = Limits::default();
    let package = Package::load(&container, &limits, true).unwrap();
    let program = Program::load(&container, &package, &limits, true).unwrap();
    (package, program)
}

fn real() -> Option<Vec<u8>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("BIR_TEST_DATA").map_or_else(default, PathBuf::from);
    let path = folder.join("neff/matmul_small.neff");
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    bytes
}

const STRICT: Options = Options {
    assume_queue_order: false,
    strict: false,
    all: false,
    redundant: true,
    max_pairs: 1000,
    max_told: 1000,
    max_rounds: u64::MAX,
};

fn run<'a>(package: &'a Package, program: &'a Program) -> Checked<'a> {
    check(package, program, generation(package).unwrap(), &STRICT).unwrap()
}

fn messages(checked: &Checked<'_>) -> Vec<String> {
    checked.said().into_iter().map(|line| format!("{}: {}", line.code, line.message)).collect()
}

/// Every wait of every word, cleared one at a time: its findings, or a wait that orders nothing.
fn every_wait_matters(file: &[u8]) {
    let (package, program) = load(file);
    let whole = run(&package, &program);
    assert_eq!(messages(&whole), [""; 0]);
    assert_eq!(whole.verdict(), Verdict::Clean);
    let redundant: Vec<_> = whole.outcome.redundant.iter().map(|wait| whole.filled_origin(wait.op)).collect();
    let mut cleared = 0;
    for core in 0..program.cores.len() {
        for engine in 0..program.cores[core].engines.len() {
            for word in 0..program.cores[core].engines[engine].len() {
                // The wait of the preamble, and the second one of EVENT_SEMAPHORE.
                for (mode, from, to) in [(4, 4, 6), (32, 32, 34)] {
                    let mut changed = program.clone();
                    let bytes = &mut changed.cores[core].engines[engine].bytes[word * 64..][..64];
                    if bytes[mode] == 0 || mode == 32 && bytes[0] != 0xA0 {
                        continue;
                    }
                    bytes[from..to].fill(0);
                    cleared += 1;
                    let checked = run(&package, &changed);
                    let place = (core, engine, word);
                    let was_redundant = redundant.iter().any(|origin| {
                        matches!(origin, Origin::Word(spot) if (spot.core, spot.engine, spot.word) == place)
                    });
                    let found = checked.verdict() == Verdict::Findings;
                    assert!(found || was_redundant, "{place:?}: nothing is found without its wait");
                    assert!(!(found && was_redundant), "{place:?}: {:?}", messages(&checked));
                }
            }
        }
    }
    assert_eq!(cleared, 9 * program.cores.len());
}

trait FilledOrigin {
    fn filled_origin(&self, op: bir_order::program::OpId) -> Origin;
}

impl FilledOrigin for Checked<'_> {
    fn filled_origin(&self, op: bir_order::program::OpId) -> Origin {
        self.origin(bir_order::Party { op, transfer: None, access: None })
    }
}

#[test]
fn the_sample_is_clean_and_every_wait_matters() {
    every_wait_matters(&sample::package(1));
    every_wait_matters(&sample::package(2));
}

#[test]
fn the_package_of_the_compiler_is_clean_and_every_wait_matters() {
    if let Some(file) = real() {
        every_wait_matters(&file);
    }
}

#[test]
fn sizes_are_those_of_both_cores() {
    let (package, program) = load(&sample::package(2));
    let checked = run(&package, &program);
    let (operations, accesses) = checked.size();
    // A word each, and the end of each core, which reads the store of that core.
    assert_eq!(operations, 2 * (29 + 1));
    assert_eq!(accesses, 2 * (4 + 4 * 2 + 2 * 2 + 5 * 2 + 1));
}

fn engine(program: &mut Program, core: usize, name: &str) -> usize {
    program.cores[core].engines.iter().position(|stream| stream.engine.name() == name).unwrap()
}

#[test]
fn a_finding_names_words_bytes_and_the_repair() {
    let (package, mut program) = load(&sample::package(1));
    let pool = engine(&mut program, 0, "Pool");
    // The store no longer waits for the copy.
    program.cores[0].engines[pool].bytes[5 * 64 + 4..][..2].fill(0);
    let checked = run(&package, &program);
    let lines = checked.said();
    assert_eq!(lines.len(), 1, "{:?}", messages(&checked));
    let line = &lines[0];
    assert_eq!((line.code, line.kind), ("ORD001", Some("RAW")));
    assert_eq!(
        (line.space.as_deref(), line.partitions, line.bytes),
        (Some("SB"), Some([0, 128]), Some([0x4200, 0x4300]))
    );
    assert_eq!(line.first.instruction.as_deref(), Some("copy_product"));
    let second = line.second.as_ref().unwrap();
    assert_eq!((second.stream.as_deref(), second.index), (Some("sg00/Pool"), Some(5)));
    assert_eq!((second.file.as_deref(), second.line), (Some("models/product.py"), Some(13)));
    assert!(line.help.as_ref().unwrap().contains("wait for sem4 >= 2"), "{:?}", line.help);
}

#[test]
fn a_store_that_nobody_waits_for_is_found() {
    let (package, mut program) = load(&sample::package(1));
    let pool = engine(&mut program, 0, "Pool");
    program.cores[0].engines[pool].bytes[6 * 64 + 4..][..2].fill(0);
    let found = messages(&run(&package, &program));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("that the reader of the outputs, when it is done, reads"), "{found:?}");
}

/// The columns of the second core, stored where those of the first are.
#[test]
fn cores_that_write_the_same_output_are_found() {
    let (package, mut program) = load(&sample::package(2));
    let pool = engine(&mut program, 1, "Pool");
    let store = &mut program.cores[1].engines[pool].bytes[5 * 64..][..64];
    assert_eq!(store[40], 0x80);
    store[40] = 0;
    let checked = run(&package, &program);
    let found = messages(&checked);
    assert_eq!(checked.verdict(), Verdict::Findings);
    assert!(
        found
            .iter()
            .any(|text| text.contains("product bytes [0..32640)") && text.contains("sg01/Pool word 5")),
        "{found:?}"
    );
}

#[test]
fn a_wait_that_nothing_ends_is_a_deadlock() {
    let (package, mut program) = load(&sample::package(1));
    let pe = engine(&mut program, 0, "PE");
    program.cores[0].engines[pe].bytes[2 * 64 + 5] = 200;
    let codes: Vec<_> = run(&package, &program).said().iter().map(|line| line.code).collect();
    assert!(codes.contains(&"ORD006") && codes.contains(&"ORD014"), "{codes:?}");
}

#[test]
fn words_that_go_elsewhere_leave_it_undecided() {
    let (package, mut program) = load(&sample::package(1));
    let dve = engine(&mut program, 0, "DVE");
    let mut word = [0; 64];
    word[..2].copy_from_slice(&[0xA9, 0x10]);
    program.cores[0].engines[dve].bytes.extend(word);
    let checked = run(&package, &program);
    assert_eq!(checked.verdict(), Verdict::Undecided, "{:?}", messages(&checked));
    assert!(messages(&checked)[0].contains("may go elsewhere"), "{:?}", messages(&checked));
}

/// Reads count before the word is complete: who waits for them may overwrite what was read, but not read what is written.
#[test]
fn an_early_count_is_for_what_was_read() {
    let (package, mut program) = load(&sample::package(1));
    let act = engine(&mut program, 0, "Activation");
    // SEM_INC_COMPLETE becomes SEM_INC_READ on the copy that the matmul and the store wait for.
    let bytes = &mut program.cores[0].engines[act].bytes;
    for word in [3, 4] {
        assert_eq!(bytes[word * 64 + 6], 0x13);
        bytes[word * 64 + 6] = 0x03;
    }
    let checked = run(&package, &program);
    let kinds: Vec<_> = checked.said().iter().filter_map(|line| line.kind).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == "RAW"), "{:?}", messages(&checked));
}

/// Both cores meet, then the second overwrites what the first has written.
#[test]
fn core_barriers_order_cores() {
    let (package, mut program) = load(&sample::package(2));
    let (first, second) = (engine(&mut program, 0, "Pool"), engine(&mut program, 1, "Pool"));
    let mut barrier = [0; 64];
    barrier[..2].copy_from_slice(&[0xD8, 0x10]);
    barrier[12] = 1;
    let store = {
        let bytes = &program.cores[0].engines[first].bytes;
        let mut word: [u8; 64] = bytes[5 * 64..6 * 64].try_into().unwrap();
        word[13] = 28;
        word
    };
    program.cores[0].engines[first].bytes.extend(barrier);
    let bytes = &mut program.cores[1].engines[second].bytes;
    bytes.extend(barrier);
    bytes.extend(store);
    let mut nop: [u8; 64] = bytes[6 * 64..7 * 64].try_into().unwrap();
    nop[5] = 28;
    bytes.extend(nop);
    let checked = run(&package, &program);
    assert_eq!(
        checked.verdict(),
        Verdict::Findings,
        "the end of the first core reads what the second writes"
    );
    // But the two stores themselves are in order.
    let both_store = checked.said().iter().any(|line| {
        line.first.index == Some(5) && line.second.as_ref().is_some_and(|second| second.index == Some(8))
    });
    assert!(!both_store, "{:?}", messages(&checked));
}
