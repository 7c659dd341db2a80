//! ENG, ARCH.

use bir::builder::{Builder, NewTensor};
use bir::enums::{AluOpType, ArchLevel, Dtype, EngineType, InstructionType};
use bir::ops::TensorTensor;

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
    Case {
        rule: "ARCH-02",
        arch: ArchLevel::Gen3,
        bad: |b| _ = b.plain_inst("e", EngineType::Pool, InstructionType::CustomOp).id(),
        good: |b| copy(b, EngineType::DVE),
    },
    Case {
        rule: "ARCH-03",
        arch: ArchLevel::Gen3,
        bad: |b| combine(b, AluOpType::AbsMax),
        good: |b| combine(b, AluOpType::Max),
    },
    Case {
        rule: "ENG-05",
        arch: ArchLevel::Gen3,
        bad: |b| barriers(b, [EngineType::ALL, EngineType::DVE]),
        good: |b| barriers(b, [EngineType::PE, EngineType::DVE]),
    },
];

fn combine(b: &mut Builder<'_>, op: AluOpType) {
    let x = b.tensor(NewTensor::sb("x", [128, 64], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [128, 64], Dtype::Float32).at(256));
    let keys = TensorTensor { op, ..TensorTensor::default() };
    b.inst("c", EngineType::DVE, keys).input(x).input(x).output(y);
}

fn barriers(b: &mut Builder<'_>, engines: [EngineType; 2]) {
    for (name, engine) in ["a", "b"].into_iter().zip(engines) {
        b.plain_inst(name, engine, InstructionType::AllEngineBarrier);
    }
}

fn copy(b: &mut Builder<'_>, engine: EngineType) {
    let x = b.tensor(NewTensor::sb("x", [128, 64], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [128, 64], Dtype::Float32).at(256));
    b.plain_inst("c", engine, InstructionType::TensorCopy).input(x).output(y);
}
