//! DVE, but for searches and selections.

use bir::builder::{Builder, NewTensor, Operand, Tensor};
use bir::enums::{
    AluOpType, ArchLevel, AxisListType, Dtype, EngineAccumulationType, EngineType, InstructionType,
    MemoryType, TSCMode,
};
use bir::expr::MaybeAffine::Value;
use bir::ops::{StreamShuffle, TensorReduce, TensorScalarCache, TensorScalarPtr, TensorTensor};

use crate::Case;

const GEN3: ArchLevel = ArchLevel::Gen3;
const SUNDA: ArchLevel = ArchLevel::Sunda;
const F32: Dtype = Dtype::Float32;

/// A tensor in SB, 16 KiB from the others.
fn sb(b: &mut Builder<'_>, at: u64, partitions: u64, columns: u64, dtype: Dtype) -> Tensor {
    b.tensor(NewTensor::sb(&format!("t{at}"), [partitions, columns], dtype).at(at * 16384))
}

fn psum(b: &mut Builder<'_>, at: u64, partitions: u64, columns: u64, dtype: Dtype) -> Tensor {
    b.tensor(NewTensor::psum(&format!("p{at}"), [partitions, columns], dtype).at(at * 2048).bank(at as i64))
}

struct Tt {
    engine: EngineType,
    memories: [MemoryType; 2],
    dtype: Dtype,
    keys: TensorTensor,
}

fn tensor_tensor(b: &mut Builder<'_>, change: impl FnOnce(&mut Tt)) {
    let mut tt = Tt {
        engine: EngineType::DVE,
        memories: [MemoryType::PSUM, MemoryType::SB],
        dtype: F32,
        keys: TensorTensor { op: AluOpType::Add, ..TensorTensor::default() },
    };
    change(&mut tt);
    let inputs = [0, 1].map(|at| match tt.memories[at] {
        MemoryType::PSUM => psum(b, at as u64, 128, 64, tt.dtype),
        _ => sb(b, at as u64, 128, 64, tt.dtype),
    });
    let output = sb(b, 2, 128, 64, tt.dtype);
    b.inst("tt", tt.engine, tt.keys).input(inputs[0]).input(inputs[1]).output(output);
}

fn one(b: &mut Builder<'_>, op: InstructionType, reads: u64, writes: u64) {
    let (input, output) = (sb(b, 0, 128, reads, F32), sb(b, 1, 128, writes, F32));
    b.plain_inst("one", EngineType::DVE, op).input(input).output(output);
}

fn shuffle(b: &mut Builder<'_>, entries: usize, partitions: u64, to: Dtype) {
    let (input, output) = (sb(b, 0, partitions, 64, F32), sb(b, 1, partitions, 64, to));
    let keys =
        StreamShuffle { mask: Some((0..entries as u32).map(Value).collect()), ..StreamShuffle::default() };
    b.inst("shuffle", EngineType::DVE, keys).input(input).output(output);
}

fn reduce(b: &mut Builder<'_>, axis: AxisListType, writes: u64) {
    let (input, output) = (sb(b, 0, 128, 64, F32), sb(b, 1, 128, writes, F32));
    let keys = TensorReduce { op: AluOpType::Add, axis, ..TensorReduce::default() };
    b.inst("reduce", EngineType::DVE, keys)
        .input(input.pattern(0, [(64, 128), (8, 8), (1, 8)]))
        .output(output);
}

/// A tensor-scalar instruction on integers or floats.
struct Ts {
    engine: EngineType,
    dtype: Dtype,
    scalars: Vec<Operand>,
    keys: TensorScalarPtr,
    /// Dimensions of the patterns past the first one.
    deep: bool,
}

fn tensor_scalar(b: &mut Builder<'_>, change: impl FnOnce(&mut Ts)) {
    let mut ts = Ts {
        engine: EngineType::DVE,
        dtype: F32,
        scalars: vec![2.0_f32.into()],
        keys: TensorScalarPtr { op0: AluOpType::Mult, ..TensorScalarPtr::default() },
        deep: false,
    };
    change(&mut ts);
    let (input, output) = (sb(b, 0, 128, 64, ts.dtype), sb(b, 1, 128, 64, ts.dtype));
    let access = |tensor: Tensor| match ts.deep {
        true => tensor.pattern(0, [(64, 128), (16, 4), (4, 4), (1, 4)]),
        false => tensor.all(),
    };
    b.inst("ts", ts.engine, ts.keys).input(access(input)).inputs(ts.scalars).output(access(output));
}

/// The scalar-tensor-tensor form.
fn scalar_tensor_tensor(b: &mut Builder<'_>, deep: bool) {
    let second = sb(b, 2, 128, 64, F32);
    tensor_scalar(b, |ts| {
        ts.keys.is_scalar_tensor_tensor = Value(true);
        ts.keys.op1 = AluOpType::Add;
        ts.scalars.push(match deep {
            true => second.pattern(0, [(64, 128), (16, 4), (4, 4), (1, 4)]).into(),
            false => second.into(),
        });
        ts.deep = deep;
    });
}

struct Cached {
    scalars: Vec<Operand>,
    result: Option<(u64, u64, Dtype)>,
    keys: TensorScalarCache,
}

fn cached(b: &mut Builder<'_>, change: impl FnOnce(&mut Cached)) {
    let mut cached = Cached {
        scalars: vec![2.0_f32.into()],
        result: Some((128, 1, F32)),
        keys: TensorScalarCache {
            op0: AluOpType::Mult,
            op1: AluOpType::Add,
            acc: EngineAccumulationType::ZeroAccumulate,
            ..TensorScalarCache::default()
        },
    };
    change(&mut cached);
    let (input, output) = (sb(b, 0, 128, 64, F32), sb(b, 1, 128, 64, F32));
    let result = cached.result.map(|(partitions, columns, dtype)| sb(b, 2, partitions, columns, dtype));
    let inst = b.inst("tsc", EngineType::DVE, cached.keys).input(input).inputs(cached.scalars).output(output);
    result.into_iter().fold(inst, |inst, result| inst.output(result));
}

fn scan(cached: &mut Cached) {
    cached.keys.mode = TSCMode::TensorScan;
    cached.keys.op0 = AluOpType::Bypass;
    cached.scalars = vec![0.0_f32.into()];
}

fn gradients(b: &mut Builder<'_>, variance: Dtype) {
    let (x, dy) = (sb(b, 0, 128, 64, F32), sb(b, 1, 128, 64, F32));
    let (mean, variance) = (sb(b, 2, 128, 1, F32), sb(b, 3, 128, 1, variance));
    let output = sb(b, 4, 128, 3, F32);
    b.plain_inst("bn", EngineType::DVE, InstructionType::BNGradients)
        .input(x)
        .input(dy)
        .input(mean)
        .input(variance)
        .output(output);
}

fn read_out(b: &mut Builder<'_>, dtype: Dtype) {
    let output = sb(b, 0, 128, 1, dtype);
    b.plain_inst("read", EngineType::DVE, InstructionType::DveReadAccumulator).output(output);
}

macro_rules! case {
    ($rule:literal, $arch:expr, $make:ident, $bad:expr) => {
        Case { rule: $rule, arch: $arch, bad: |b| $make(b, $bad), good: |b| $make(b, |_| ()) }
    };
}

pub(crate) const CASES: &[Case] = &[
    case!("DVE-02", GEN3, tensor_tensor, |tt| tt.memories[1] = MemoryType::PSUM),
    Case {
        rule: "DVE-03",
        arch: GEN3,
        bad: |b| one(b, InstructionType::BNStats, 513, 6),
        good: |b| one(b, InstructionType::BNStats, 512, 6),
    },
    Case {
        rule: "DVE-03",
        arch: GEN3,
        bad: |b| one(b, InstructionType::BNStatsAggregate, 13, 2),
        good: |b| one(b, InstructionType::BNStatsAggregate, 12, 2),
    },
    Case { rule: "DVE-04", arch: GEN3, bad: |b| shuffle(b, 32, 48, F32), good: |b| shuffle(b, 32, 96, F32) },
    Case {
        rule: "DVE-04",
        arch: GEN3,
        bad: |b| shuffle(b, 32, 32, Dtype::Int32),
        good: |b| shuffle(b, 32, 32, F32),
    },
    Case {
        rule: "DVE-05",
        arch: GEN3,
        bad: |b| reduce(b, AxisListType::X, 1),
        good: |b| reduce(b, AxisListType::X, 8),
    },
    Case {
        rule: "DVE-05",
        arch: GEN3,
        bad: |b| reduce(b, AxisListType::C, 64),
        good: |b| reduce(b, AxisListType::XY, 1),
    },
    Case {
        rule: "DVE-07",
        arch: GEN3,
        bad: |b| tensor_tensor(b, |tt| (tt.keys.op, tt.dtype) = (AluOpType::BitwiseAnd, F32)),
        good: |b| tensor_tensor(b, |tt| (tt.keys.op, tt.dtype) = (AluOpType::BitwiseAnd, Dtype::Int32)),
    },
    Case {
        rule: "DVE-07",
        arch: GEN3,
        bad: |b| {
            tensor_scalar(b, |ts| {
                (ts.dtype, ts.scalars) = (Dtype::Int32, vec![2.into(), 2.into()]);
                (ts.keys.op0, ts.keys.op1) = (AluOpType::BitwiseAnd, AluOpType::Add);
            });
        },
        good: |b| {
            tensor_scalar(b, |ts| {
                (ts.dtype, ts.scalars) = (Dtype::Int32, vec![2.into(), 2.into()]);
                (ts.keys.op0, ts.keys.op1) = (AluOpType::BitwiseAnd, AluOpType::LogicalShiftLeft);
            });
        },
    },
    case!("DVE-08", GEN3, tensor_scalar, |ts| ts.scalars = vec![2.into()]),
    Case {
        rule: "DVE-09",
        arch: GEN3,
        bad: |b| scalar_tensor_tensor(b, true),
        good: |b| scalar_tensor_tensor(b, false),
    },
    case!("DVE-14", GEN3, tensor_tensor, |tt| tt.keys.acc = EngineAccumulationType::Zero),
    case!("DVE-14", GEN3, tensor_scalar, |ts| ts.keys.acc = EngineAccumulationType::LoadAccumulate),
    case!("DVE-15", GEN3, cached, |cached| cached.scalars.push(0.0_f32.into())),
    case!("DVE-15", GEN3, cached, |cached| cached.scalars = vec![2.into()]),
    case!("DVE-15", GEN3, cached, |cached| cached.result = Some((128, 2, F32))),
    case!("DVE-15", GEN3, cached, |cached| cached.result = Some((64, 1, F32))),
    case!("DVE-15", GEN3, cached, |cached| cached.result = Some((128, 1, Dtype::Int32))),
    case!("DVE-16", GEN3, cached, |cached| cached.keys.acc = EngineAccumulationType::Idle),
    case!("DVE-16", GEN3, cached, |cached| cached.keys.op0 = AluOpType::Rsqrt),
    case!("DVE-16", GEN3, cached, |cached| cached.keys.op1 = AluOpType::Divide),
    case!("DVE-16", SUNDA, cached, |cached| cached.keys.reverse0 = Value(true)),
    Case {
        rule: "DVE-16",
        arch: GEN3,
        bad: |b| {
            cached(b, |cached| {
                scan(cached);
                cached.scalars = vec![1.0_f32.into()];
            });
        },
        good: |b| cached(b, scan),
    },
    Case {
        rule: "DVE-17",
        arch: GEN3,
        bad: |b| one(b, InstructionType::BNStatsAggregate, 12, 4),
        good: |b| one(b, InstructionType::BNStatsAggregate, 12, 2),
    },
    case!("DVE-19", GEN3, tensor_scalar, |ts| ts.scalars.clear()),
    Case { rule: "DVE-21", arch: GEN3, bad: |b| shuffle(b, 16, 32, F32), good: |b| shuffle(b, 32, 32, F32) },
    Case { rule: "DVE-22", arch: GEN3, bad: |b| gradients(b, Dtype::Bfloat16), good: |b| gradients(b, F32) },
    Case {
        rule: "DVE-23",
        arch: GEN3,
        bad: |b| read_out(b, Dtype::Int32),
        good: |b| read_out(b, Dtype::Bfloat16),
    },
    case!("DVE-24", GEN3, tensor_tensor, |tt| tt.dtype = Dtype::Int32),
];
