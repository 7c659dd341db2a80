//! KRN, MEM-03.

use bir::builder::{Builder, NewTensor};
use bir::enums::{AddressRotationScope, ArchLevel, Dtype, EngineType, InstructionType, MemoryType};
use bir::ops::NKIKernel;
use bir::{Holder, OpenEnum};

use crate::Case;

const GEN3: ArchLevel = ArchLevel::Gen3;

/// A kernel, good as it is: a tensor, scratch in SB and in PSUM.
struct Kernel {
    has_function: bool,
    outputs: usize,
    keys: NKIKernel,
}

fn kernel(b: &mut Builder<'_>, change: impl FnOnce(&mut Kernel)) {
    let mut kernel = Kernel {
        has_function: true,
        outputs: 3,
        keys: NKIKernel {
            sb_buf_shape: vec![128, 1024],
            psum_buf_shape: vec![2, 128, 2048],
            ..NKIKernel::default()
        },
    };
    change(&mut kernel);
    let function = b.module().new_function("body");
    let block = b.module().new_block(Holder::Function(function), "Block1");
    Builder::at(b.module(), block).plain_inst("nop", EngineType::SP, InstructionType::NoOp);
    kernel.keys.func = kernel.has_function.then(|| function.into());
    let outputs: Vec<_> = (0..kernel.outputs as u64)
        .map(|at| b.tensor(NewTensor::sb(&format!("o{at}"), [128, 64], Dtype::Float32).at(at * 4096)))
        .collect();
    let inst = b.inst("kernel", EngineType::Unassigned, kernel.keys);
    outputs.into_iter().fold(inst, |inst, output| inst.output(output));
}

fn bir_kernel(b: &mut Builder<'_>, base: u32) {
    let x = b.tensor(NewTensor::sb("x", [32, 64], Dtype::Float32).at(0).base(base));
    b.plain_inst("kernel", EngineType::Unassigned, InstructionType::BIRKernel).output(x);
}

fn custom(b: &mut Builder<'_>, memory: MemoryType) {
    let x = NewTensor::of(memory, "x", [32, 64].into(), Dtype::Float32);
    let x = b.tensor(x.at(0));
    b.plain_inst("custom", EngineType::Pool, InstructionType::CustomOp).output(x);
}

macro_rules! case {
    ($rule:literal, $bad:expr) => {
        Case { rule: $rule, arch: GEN3, bad: |b| kernel(b, $bad), good: |b| kernel(b, |_| ()) }
    };
}

pub(crate) const CASES: &[Case] = &[
    Case { rule: "KRN-01", arch: GEN3, bad: |b| bir_kernel(b, 32), good: |b| bir_kernel(b, 0) },
    case!("KRN-02", |kernel| kernel.has_function = false),
    case!("KRN-03", |kernel| kernel.keys.sb_buf_shape = vec![128, 0]),
    case!("KRN-04", |kernel| kernel.keys.psum_buf_shape[0] = 9),
    case!("KRN-05", |kernel| kernel.keys.psum_buf_shape[1] = 129),
    case!("KRN-06", |kernel| kernel.outputs = 1),
    Case { rule: "KRN-07", arch: GEN3, bad: |b| custom(b, MemoryType::SB), good: |b| bir_kernel(b, 0) },
    case!("KRN-08", |kernel| kernel.keys.sb_buf_shape = vec![64, 1024]),
    Case {
        rule: "KRN-09",
        arch: GEN3,
        bad: |b| {
            let other = b.name("Sideways");
            kernel(b, |kernel| {
                kernel.keys.address_rotation_scope_val = AddressRotationScope::other(other);
            });
        },
        good: |b| kernel(b, |kernel| kernel.keys.address_rotation_scope_val = AddressRotationScope::Global),
    },
    Case {
        rule: "MEM-03",
        arch: ArchLevel::Sunda,
        bad: |b| custom(b, MemoryType::PSUM),
        good: |b| custom(b, MemoryType::SB),
    },
];
