//! ENG, ARCH.

use bir::builder::{Builder, NewTensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        rule: "ENG-01",
        arch: ArchLevel::Gen3,
        bad: |b| copy(b, EngineType::PE),
        good: |b| copy(b, EngineType::DVE),
    },
    Case {
        rule: "ARCH-01",
        arch: ArchLevel::Sunda,
        bad: |b| _ = b.plain_inst("e", EngineType::DVE, InstructionType::MatmultMx).id(),
        good: |b| copy(b, EngineType::DVE),
    },
];

fn copy(b: &mut Builder<'_>, engine: EngineType) {
    let x = b.tensor(NewTensor::sb("x", [128, 64], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [128, 64], Dtype::Float32).at(256));
    b.plain_inst("c", engine, InstructionType::TensorCopy).input(x).output(y);
}
