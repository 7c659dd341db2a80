//! MOD-10 to MOD-13, ARCH-04.

use bir::builder::{Builder, NewTensor};
use bir::enums::{ArchLevel, ArchRevision, Dtype, EngineType, InstructionType};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case(
        "ARCH-04",
        |b| b.module().root.revision = Some(ArchRevision::V2),
        |b| b.module().root.revision = Some(ArchRevision::V1),
    ),
    case("MOD-10", |b| unrolled(b, true), |b| unrolled(b, false)),
    case("MOD-11", |b| stages(b, false), |b| stages(b, true)),
    case("MOD-12", |b| written(b, false), |b| written(b, true)),
    case("MOD-13", |b| print(b, true), |b| print(b, false)),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

fn mark(b: &mut Builder<'_>, function: bir::ids::FuncId) {
    let mark = b.name("stage_unroll_completed");
    b.module()[function].attributes.push(mark);
}

fn nop(b: &mut Builder<'_>) {
    b.plain_inst("n", EngineType::SP, InstructionType::NoOp);
}

fn unrolled(b: &mut Builder<'_>, with_loop: bool) {
    let function = b.function();
    mark(b, function);
    if with_loop {
        b.for_loop("l", "i", 0..2, 1, |b, _| nop(b));
    } else {
        nop(b);
    }
}

fn stages(b: &mut Builder<'_>, both: bool) {
    nop(b);
    let first = b.function();
    mark(b, first);
    let second = b.module().new_function("second");
    let block = b.module().new_block(bir::Holder::Function(second), "Block1");
    nop(&mut Builder::at(b.module(), block));
    if both {
        mark(b, second);
    }
}

fn written(b: &mut Builder<'_>, read: bool) {
    let tile = |b: &mut Builder<'_>, name: &str, addr: u64| {
        b.tensor(NewTensor::sb(name, [128, 16], Dtype::Float32).at(addr))
    };
    let (x, y) = (tile(b, "x", 0), tile(b, "y", 64));
    b.plain_inst("a", EngineType::DVE, InstructionType::TensorCopy).input(x).output(y);
    if read {
        b.plain_inst("b", EngineType::DVE, InstructionType::TensorCopy).input(y).output(x);
    }
}

fn print(b: &mut Builder<'_>, two: bool) {
    let t = b.tensor(NewTensor::dram("t", [16], Dtype::Float32).at(0));
    let inst = b.plain_inst("p", EngineType::Unassigned, InstructionType::DevicePrint).input(t);
    if two {
        inst.input(t);
    }
}
