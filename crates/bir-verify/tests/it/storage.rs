//! ALLOC, MEM-04 to MEM-07, MOD-09.

use bir::builder::{Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType, TensorKind};
use bir::records::MemoryLocation;

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case("ALLOC-01", |b| _ = sb(b, "t", 128, 16, 229376 - 32), |b| _ = sb(b, "t", 128, 16, 229376 - 64)),
    case(
        "ALLOC-01",
        |b| _ = b.tensor(NewTensor::sb("t", [64, 16], Dtype::Float32).at(0).base(96)),
        |b| {
            _ = b.tensor(NewTensor::sb("t", [64, 16], Dtype::Float32).at(0).base(64));
        },
    ),
    case("ALLOC-01", |b| _ = psum(b, "t", 512, 8, 0), |b| _ = psum(b, "t", 512, 7, 0)),
    // The reserve is worth a note only.
    case("ALLOC-02", |b| _ = sb(b, "t", 128, 16, 229376 - 64), |b| _ = sb(b, "t", 128, 16, 0)),
    case("ALLOC-03", |b| _ = psum(b, "t", 512, 0, 4), |b| _ = psum(b, "t", 512, 0, 0)),
    case(
        "ALLOC-03",
        |b| _ = b.tensor(NewTensor::psum("t", [128, 4608], Dtype::Float32)),
        |b| _ = b.tensor(NewTensor::psum("t", [128, 4096], Dtype::Float32)),
    ),
    case(
        "ALLOC-04",
        |b| _ = b.tensor(NewTensor::sb("t", [16, 16], Dtype::Float32).at(0).base(16)),
        |b| _ = b.tensor(NewTensor::sb("t", [16, 16], Dtype::Float32).at(0).base(32)),
    ),
    case("ALLOC-05", |b| add(b, 32), |b| add(b, 64)),
    case("ALLOC-06", |b| add_unplaced(b, 40000), |b| add_unplaced(b, 19000)),
    case(
        "ALLOC-07",
        |b| _ = b.tensor(NewTensor::dram("t", [1 << 32], Dtype::Uint8)),
        |b| _ = b.tensor(NewTensor::dram("t", [(1 << 32) - 1], Dtype::Uint8)),
    ),
    case("ALLOC-08", |b| forget_address(b, true), |b| forget_address(b, false)),
    case("MEM-04", |b| alias(b, true), |b| alias(b, false)),
    case("MEM-05", |b| hint(b, 3), |b| hint(b, -1)),
    case("MEM-06", |b| pointer(b, TensorKind::Internal), |b| pointer(b, TensorKind::Pointer)),
    case("MEM-07", |b| live(b, true), |b| live(b, false)),
    case("MOD-09", |b| empty(b, 0), |b| empty(b, 4)),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

/// A tile of float32.
fn sb(b: &mut Builder<'_>, name: &str, partitions: u64, columns: u64, addr: u64) -> Tensor {
    b.tensor(NewTensor::sb(name, [partitions, columns], Dtype::Float32).at(addr))
}

fn psum(b: &mut Builder<'_>, name: &str, columns: u64, bank: i64, addr: u64) -> Tensor {
    b.tensor(NewTensor::psum(name, [128, columns], Dtype::Float32).at(addr).bank(bank))
}

/// Adds two tiles of 64 bytes, the second `distance` after the first.
fn add(b: &mut Builder<'_>, distance: u64) {
    let x = sb(b, "x", 128, 16, 0);
    let y = sb(b, "y", 128, 16, distance);
    let z = sb(b, "z", 128, 16, 4096);
    b.plain_inst("add", EngineType::DVE, InstructionType::TensorTensor)
        .inputs([x.into(), y.into()])
        .output(z);
}

fn add_unplaced(b: &mut Builder<'_>, columns: u64) {
    let tile =
        |b: &mut Builder<'_>, name: &str| b.tensor(NewTensor::sb(name, [128, columns], Dtype::Float32));
    let (x, y) = (tile(b, "x"), tile(b, "y"));
    let z = b.tensor(NewTensor::sb("z", [128, columns], Dtype::Float32));
    b.plain_inst("add", EngineType::DVE, InstructionType::TensorTensor)
        .inputs([x.into(), y.into()])
        .output(z);
}

fn forget_address(b: &mut Builder<'_>, forget: bool) {
    let t = b.tensor(NewTensor::sb("t", [128, 16], Dtype::Float32).at(0));
    if forget {
        b.module()[t.location].present.clear(MemoryLocation::ADDR);
    }
}

fn alias(b: &mut Builder<'_>, on_chip: bool) {
    let x = b.tensor(NewTensor::dram("x", [16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::dram("y", [16], Dtype::Float32).at(0));
    b.module().alias(x.location, y.location, 1).unwrap();
    if on_chip {
        b.module()[x.location].r#type = bir::enums::MemoryType::SB;
        b.module()[x.location].dims = Some([1, 64].into());
    }
}

fn hint(b: &mut Builder<'_>, hint: i32) {
    let t = sb(b, "t", 128, 16, 0);
    b.module()[t.location].pack_id_hint = hint;
}

fn pointer(b: &mut Builder<'_>, kind: TensorKind) {
    let x = b.tensor(NewTensor::dram("x", [16], Dtype::Float32).at(0));
    let p = b.tensor(NewTensor::dram("p", [1], Dtype::Uint64).at(64).kind(kind));
    b.module()[p.location].pointer_ref_memloc = Some(x.location.into());
}

fn live(b: &mut Builder<'_>, before: bool) {
    let (x, y) = (sb(b, "x", 128, 16, 0), sb(b, "y", 128, 16, 64));
    let copy = |b: &mut Builder<'_>, name: &str, from: Tensor, to: Tensor| {
        b.plain_inst(name, EngineType::DVE, InstructionType::TensorCopy).input(from).output(to);
    };
    if before {
        copy(b, "first", x, y);
    }
    copy(b, "second", y, x);
}

fn empty(b: &mut Builder<'_>, columns: u64) {
    let t = b.tensor(NewTensor::sb("t", [128, 4], Dtype::Float32).at(0));
    b.module()[t.set].tensor_shape = [128, columns].into();
}
