//! ACT.

use bir::ImmNumber;
use bir::builder::{Builder, NewTensor, Operand};
use bir::enums::{ActivationFunctionType, AluOpType, ArchLevel, Dtype, EngineAccumulationType, EngineType};
use bir::expr::MaybeAffine::Value;
use bir::ops::Activation;

use crate::Case;

const GEN3: ArchLevel = ArchLevel::Gen3;
const V4: ArchLevel = ArchLevel::CoreV4;

/// An activation with a bias vector, good as it is.
struct Act {
    engine: EngineType,
    /// Partitions, columns, type and first partition of the bias.
    bias: (u64, u64, Dtype, u32),
    /// Instead of the vector.
    immediate: Option<Operand>,
    scale: Operand,
    keys: Activation,
}

fn act(b: &mut Builder<'_>, change: impl FnOnce(&mut Act)) {
    let mut act = Act {
        engine: EngineType::Activation,
        bias: (32, 1, Dtype::Float32, 0),
        immediate: None,
        scale: 1.0_f32.into(),
        keys: Activation { func: ActivationFunctionType::Exp, ..Activation::default() },
    };
    change(&mut act);
    let (partitions, columns, dtype, base) = act.bias;
    let data = b.tensor(NewTensor::sb("data", [32, 64], Dtype::Float32).at(0));
    let output = b.tensor(NewTensor::sb("output", [32, 64], Dtype::Float32).at(1024));
    let bias = match act.immediate {
        Some(immediate) => immediate,
        None => b.tensor(NewTensor::sb("bias", [partitions, columns], dtype).at(4096).base(base)).into(),
    };
    b.inst("act", act.engine, act.keys).inputs([data.into(), bias, act.scale, 0.0_f32.into()]).output(output);
}

fn second(act: &mut Act) {
    act.keys.is_activate2 = Value(true);
    act.keys.op0 = AluOpType::Mult;
    act.keys.op1 = AluOpType::Add;
}

fn half() -> Operand {
    Operand::imm(Dtype::Bfloat16, ImmNumber::Unsigned(0x3f80))
}

macro_rules! case {
    ($rule:literal, $arch:expr, $bad:expr) => {
        Case { rule: $rule, arch: $arch, bad: |b| act(b, $bad), good: |b| act(b, |_| ()) }
    };
}

macro_rules! second {
    ($bad:expr) => {
        Case {
            rule: "ACT-05",
            arch: V4,
            bad: |b| {
                act(b, |act| {
                    second(act);
                    let bad: fn(&mut Act) = $bad;
                    bad(act);
                });
            },
            good: |b| act(b, second),
        }
    };
}

pub(crate) const CASES: &[Case] = &[
    case!("ACT-01", GEN3, |act| act.engine = EngineType::DVE),
    case!("ACT-02", ArchLevel::Sunda, |act| act.immediate = Some(1.0_f32.into())),
    case!("ACT-03", GEN3, |act| act.scale = half()),
    Case {
        rule: "ACT-04",
        arch: GEN3,
        bad: |b| act(b, |act| act.keys.func = ActivationFunctionType::Copy),
        good: |b| {
            act(b, |act| {
                act.keys.func = ActivationFunctionType::Copy;
                act.immediate = Some(0.0_f32.into());
            });
        },
    },
    case!("ACT-05", GEN3, second),
    second!(|act| act.keys.op1 = AluOpType::Mult),
    second!(|act| act.keys.acc = EngineAccumulationType::LoadAccumulate),
    second!(|act| act.scale = half()),
    second!(|act| act.bias.3 = 32),
    case!("ACT-06", GEN3, |act| act.bias.2 = Dtype::Bfloat16),
    case!("ACT-06", GEN3, |act| act.bias.1 = 2),
    case!("ACT-06", GEN3, |act| act.bias.0 = 16),
];
