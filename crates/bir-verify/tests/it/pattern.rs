//! AP, PART.

use bir::builder::{Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case("AP-01", |b| copy_of(b, 128 * 64, [(64, 1), (1, 64)]), |b| copy_of(b, 0, [(64, 1), (1, 64)])),
    case("AP-01", |b| dram(b, 65), |b| dram(b, 64)),
    case("AP-04", |b| copy_of(b, 0, [(64, 128), (1, 0)]), |b| copy_of(b, 0, [(64, 128), (1, 1)])),
    case("AP-05", |b| copy_of(b, 1, [(64, 127), (1, 64)]), |b| copy_of(b, 1, [(64, 127), (1, 63)])),
    case("AP-06", |b| wide(b, 32768), |b| wide(b, 32767)),
    case("AP-08", |b| copy_of(b, 0, [(64, 128)]), |b| copy_of(b, 0, [(64, 128), (1, 64)])),
    case(
        "AP-08",
        |b| copy_of(b, 0, [(64, 128), (1, 1), (1, 1), (1, 1), (1, 1), (1, 64)]),
        |b| copy_of(b, 0, [(64, 128), (1, 1), (1, 1), (1, 1), (1, 64)]),
    ),
    case("AP-09", |b| placed_at(b, 2), |b| placed_at(b, 8)),
    case("MEM-02", |b| on_pool(b, true), |b| on_pool(b, false)),
    case("PART-01", |b| over(b, [(64, 129), (1, 4)]), |b| over(b, [(64, 128), (1, 4)])),
    case("PART-04", |b| rows(b, 8, 8), |b| rows(b, 32, 8)),
    case("PART-04", |b| rows(b, 32, 33), |b| rows(b, 64, 33)),
    case("PART-04", |b| rows(b, 32, 65), |b| rows(b, 0, 65)),
    case("PART-05", |b| from_psum(b, 16), |b| from_psum(b, 96)),
    Case {
        rule: "PART-06",
        arch: ArchLevel::Inferentia,
        bad: |b| first_generation(b, 32),
        good: |b| b.module().root.arch = Some(ArchLevel::Gen3),
    },
    case("PART-08", |b| copy_of(b, 0, [(128, 32), (1, 4)]), |b| copy_of(b, 0, [(64, 32), (1, 4)])),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

/// A tile of 128 rows of 64 float32.
fn tile(b: &mut Builder<'_>, name: &str, addr: u64) -> Tensor {
    b.tensor(NewTensor::sb(name, [128, 64], Dtype::Float32).at(addr))
}

/// Copies a pattern of a tile to itself one tile further.
fn copy_of<const N: usize>(b: &mut Builder<'_>, offset: u64, pairs: [(i64, i64); N]) {
    let (x, y) = (tile(b, "x", 0), tile(b, "y", 256));
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
        .input(x.pattern(offset, pairs))
        .output(y.pattern(offset % 64, pairs));
}

fn dram(b: &mut Builder<'_>, count: i64) {
    let x = b.tensor(NewTensor::dram("x", [64], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [1, 128], Dtype::Float32).at(0));
    let queue = b.queue("q", &[]);
    b.dma("d", EngineType::SP, queue)
        .copy(x.pattern(0, [(1, count)]), y.pattern(0, [(128, 1), (1, count)]))
        .done();
}

/// Two elements so far apart.
fn wide(b: &mut Builder<'_>, step: i64) {
    let x = b.tensor(NewTensor::sb("x", [1, 50000], Dtype::Bfloat16).at(0));
    let y = b.tensor(NewTensor::sb("y", [1, 2], Dtype::Bfloat16).at(100000));
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
        .input(x.pattern(0, [(50000, 1), (step, 2)]))
        .output(y);
}

fn placed_at(b: &mut Builder<'_>, addr: u64) {
    let x = tile(b, "x", addr);
    let y = tile(b, "y", 512);
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy).input(x).output(y);
}

fn over(b: &mut Builder<'_>, pairs: [(i64, i64); 2]) {
    copy_of(b, 0, pairs);
}

/// Copies rows from partition 0 to others.
fn rows(b: &mut Builder<'_>, to: u64, count: u64) {
    let (x, y) = (tile(b, "x", 0), tile(b, "y", 256));
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
        .input(x.tile(0..count, ..))
        .output(y.tile(to..to + count, ..));
}

fn from_psum(b: &mut Builder<'_>, from: u64) {
    let x = b.tensor(NewTensor::psum("x", [128, 64], Dtype::Float32).at(0).bank(0));
    let y = tile(b, "y", 256);
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
        .input(x.tile(from..from + 8, ..))
        .output(y.tile(0..8, ..));
}

/// A copy on Pool, out of PSUM or not.
fn on_pool(b: &mut Builder<'_>, psum: bool) {
    let x = NewTensor::psum("x", [128, 64], Dtype::Float32).at(0).bank(0);
    let x = b.tensor(if psum { x } else { NewTensor::sb("x", [128, 64], Dtype::Float32).at(0) });
    let y = tile(b, "y", 256);
    b.plain_inst("c", EngineType::Pool, InstructionType::TensorCopy).input(x).output(y);
}

/// Nothing of this generation is clean: its ops have a higher minimum.
fn first_generation(b: &mut Builder<'_>, from: u64) {
    let x = b.tensor(NewTensor::psum("x", [64, 64], Dtype::Float32).at(0).bank(0));
    let y = tile(b, "y", 256);
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
        .input(x.tile(from..from + 8, ..))
        .output(y.tile(0..8, ..));
}

/// A tile that a loop moves over partitions starts at a legal one in every iteration.
#[test]
fn a_start_that_a_loop_moves_is_checked_in_every_iteration() {
    use bir_verify::{Options, verify};
    for (stride, legal) in [(32, true), (16, false)] {
        let mut module = bir::Module::new(ArchLevel::Gen3);
        let mut b = Builder::new(&mut module, "main");
        let (x, y) = (tile(&mut b, "x", 0), tile(&mut b, "y", 256));
        b.for_loop("l", "i", 0..3, 1, |b, i| {
            let (zero, row) = (b.constant(0), b.axis(i, stride, 0));
            b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
                .input(x.tile(0..8, ..))
                .output(y.tile(0..8, ..).symbolic([row, zero]));
        });
        let found = verify(&module, &Options::default()).findings;
        assert_eq!(found.iter().all(|finding| finding.code != "PART-04"), legal, "{found:?}");
    }
}
