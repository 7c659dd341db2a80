//! Searches and selections.

use bir::builder::{Access, Builder, NewTensor, Operand, Tensor};
use bir::enums::{AluOpType, ArchLevel, Dtype, EngineAccumulationType, EngineType, InstructionType};
use bir::expr::MaybeAffine::Value;
use bir::ops::{CopyPredicated, RangeSelect};

use crate::Case;

const GEN3: ArchLevel = ArchLevel::Gen3;
const F32: Dtype = Dtype::Float32;

fn sb(b: &mut Builder<'_>, at: u64, partitions: u64, columns: u64, dtype: Dtype) -> Tensor {
    b.tensor(NewTensor::sb(&format!("t{at}"), [partitions, columns], dtype).at(at * 16384))
}

fn max(b: &mut Builder<'_>, data: u64, result: impl FnOnce(Tensor) -> Access, partitions: u64) {
    let (input, output) = (sb(b, 0, 128, data, F32), sb(b, 1, partitions, 8, F32));
    b.plain_inst("max", EngineType::DVE, InstructionType::Max).input(input).output(result(output));
}

/// A predicated copy, good as it is.
struct Copy {
    predicate: (u64, u64, Dtype),
    source: Dtype,
    /// Columns of the source.
    columns: u64,
    scalar: Option<Operand>,
    fill: Option<Operand>,
    keys: CopyPredicated,
}

fn copy(b: &mut Builder<'_>, change: impl FnOnce(&mut Copy)) {
    let mut copy = Copy {
        predicate: (128, 64, Dtype::Uint8),
        source: F32,
        columns: 64,
        scalar: None,
        fill: None,
        keys: CopyPredicated::default(),
    };
    change(&mut copy);
    let (partitions, columns, dtype) = copy.predicate;
    let predicate = sb(b, 0, partitions, columns, dtype);
    let source = match copy.scalar {
        Some(scalar) => scalar,
        None => sb(b, 1, 128, copy.columns, copy.source).into(),
    };
    let output = sb(b, 2, 128, 64, F32);
    b.inst("copy", EngineType::DVE, copy.keys)
        .input(predicate)
        .input(source)
        .inputs(copy.fill)
        .output(output);
}

fn reducing(copy: &mut Copy) {
    copy.fill = Some((-1.0_f32).into());
    copy.keys.reduce_op = AluOpType::Max;
    copy.keys.accumulator_cmd = EngineAccumulationType::ZeroAccumulate;
}

/// A range selection, good as it is.
struct Range {
    input: Dtype,
    columns: u64,
    bound: Operand,
    keys: RangeSelect,
}

fn range(b: &mut Builder<'_>, change: impl FnOnce(&mut Range)) {
    let mut range = Range {
        input: F32,
        columns: 64,
        bound: 3.0_f32.into(),
        keys: RangeSelect {
            compare_op0: AluOpType::IsGe,
            compare_op1: AluOpType::IsLt,
            reduce_op: AluOpType::Max,
            ..RangeSelect::default()
        },
    };
    change(&mut range);
    let (input, output) = (sb(b, 0, 128, 64, range.input), sb(b, 1, 128, range.columns, F32));
    b.inst("range", EngineType::DVE, range.keys)
        .inputs([input.into(), range.bound, 9.0_f32.into()])
        .output(output);
}

macro_rules! case {
    ($rule:literal, $make:ident, $bad:expr) => {
        Case { rule: $rule, arch: GEN3, bad: |b| $make(b, $bad), good: |b| $make(b, |_| ()) }
    };
}

macro_rules! reducing {
    ($rule:literal, $bad:expr) => {
        Case {
            rule: $rule,
            arch: GEN3,
            bad: |b| {
                copy(b, |copy| {
                    reducing(copy);
                    let bad: fn(&mut Copy) = $bad;
                    bad(copy);
                });
            },
            good: |b| copy(b, reducing),
        }
    };
}

pub(crate) const CASES: &[Case] = &[
    Case {
        rule: "DVE-01",
        arch: GEN3,
        bad: |b| max(b, 4, Tensor::all, 128),
        good: |b| max(b, 64, Tensor::all, 128),
    },
    Case {
        rule: "DVE-20",
        arch: GEN3,
        bad: |b| max(b, 64, |t| t.pattern(0, [(8, 128), (4, 2), (1, 4)]), 128),
        good: |b| max(b, 64, |t| t.pattern(0, [(8, 128), (8, 1), (1, 8)]), 128),
    },
    Case {
        rule: "DVE-20",
        arch: GEN3,
        bad: |b| max(b, 64, Tensor::all, 64),
        good: |b| max(b, 64, Tensor::all, 128),
    },
    case!("DVE-06", copy, |copy| copy.predicate.2 = Dtype::Int8),
    case!("DVE-06", copy, |copy| copy.source = Dtype::Bfloat16),
    case!("DVE-10", copy, |copy| copy.keys.accumulator_cmd = EngineAccumulationType::ZeroAccumulate),
    reducing!("DVE-10", |copy| copy.keys.reduce_op = AluOpType::Add),
    reducing!("DVE-10", |copy| copy.keys.accumulator_cmd = EngineAccumulationType::LoadAccumulate),
    reducing!("DVE-10", |copy| copy.fill = None),
    case!("DVE-11", copy, |copy| copy.predicate.1 = 32),
    case!("DVE-11", copy, |copy| copy.columns = 32),
    reducing!("DVE-12", |copy| copy.source = Dtype::Int32),
    reducing!("DVE-12", |copy| copy.predicate.2 = Dtype::Uint32),
    Case {
        rule: "DVE-13",
        arch: GEN3,
        bad: |b| copy(b, |copy| copy.scalar = Some(1.into())),
        good: |b| {
            copy(b, |copy| {
                copy.scalar = Some(1.0_f32.into());
                copy.keys.reverse_pred = Value(true);
            });
        },
    },
    case!("DVE-13", copy, |copy| copy.keys.reverse_pred = Value(true)),
    case!("DVE-18", range, |range| range.keys.compare_op0 = AluOpType::NotEqual),
    case!("DVE-18", range, |range| range.keys.reduce_op = AluOpType::Add),
    case!("DVE-18", range, |range| range.bound = 3.into()),
    case!("DVE-18", range, |range| range.columns = 32),
    case!("DVE-18", range, |range| range.input = Dtype::Bfloat16),
];
