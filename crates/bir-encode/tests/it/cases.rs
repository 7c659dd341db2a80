//! One instruction for each form of each op, called `it`, with operands that differ in place, shape and type.

use bir::ImmNumber;
use bir::builder::{Builder, NewTensor, Operand, Tensor};
use bir::enums::{
    ActivationFunctionType, AluOpType, AxisListType, BranchCompareOp, Dtype, EngineAccumulationType,
    EngineType, InstructionType, MemsetMode, PoolFunctionType, TSCMode,
};
use bir::expr::Expr;
use bir::ops::*;
use bir::records::{DynamicApInfo, DynamicApTerm};
use tpb_isa::Generation::{self, V2, V3, V4};

use crate::common::{part, psum, sb};

/// A form of an op.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) op: InstructionType,
    /// Generations of the form; those of the op count as well.
    pub(crate) on: &'static [Generation],
    /// Whether its wait and update stand in preambles.
    pub(crate) synced: bool,
    pub(crate) build: fn(&mut Builder<'_>),
}

/// The wait and the update that cases have.
pub(crate) const SYNC: ((u32, u32), (u32, u32)) = ((9, 3), (4, 1));

const ALL: &[Generation] = &[V2, V3, V4];
use EngineType as E;
use InstructionType as T;

/// Adds the instruction, with wait and update.
fn it(
    b: &mut Builder<'_>,
    engine: EngineType,
    op: impl Into<Op>,
    ins: impl IntoIterator<Item = Operand>,
    outs: impl IntoIterator<Item = Operand>,
) {
    let op = op.into();
    let count = if matches!(op, Op::Load(_) | Op::Save(_) | Op::DMACopy(_)) { 16 } else { SYNC.1.1 };
    let inst = b.inst("it", engine, op).inputs(ins).waits(SYNC.0.0, SYNC.0.1).adds(SYNC.1.0, count);
    outs.into_iter().fold(inst, |inst, out| inst.output(out));
}

fn plain(
    b: &mut Builder<'_>,
    engine: EngineType,
    op: InstructionType,
    ins: Vec<Operand>,
    outs: Vec<Operand>,
) {
    it(b, engine, Op::new(op), ins, outs);
}

/// A tensor with four free dimensions, of `size` elements each.
fn cube(tensor: Tensor, sizes: [i64; 4]) -> Operand {
    let [a, b, c, d] = sizes;
    tensor.pattern(0, [(4096, 64), (b * c * d * 2, a), (c * d * 2, b), (d * 2, c), (1, d)]).into()
}

fn f32s(b: &mut Builder<'_>, name: &str, columns: u64, addr: u64) -> Operand {
    let tensor = sb(b, name, columns, Dtype::Float32, addr);
    part(tensor, 64, columns).into()
}

fn of(b: &mut Builder<'_>, name: &str, columns: u64, dtype: Dtype, addr: u64) -> Operand {
    let tensor = sb(b, name, columns, dtype, addr);
    part(tensor, 64, columns).into()
}

fn product(b: &mut Builder<'_>, dtype: Dtype, op: Matmult) {
    let (x, w) = (sb(b, "x", 512, dtype, 0x4000), sb(b, "w", 64, dtype, 0x8000));
    let out = b.tensor(NewTensor::psum("acc", [64, 512], Dtype::Float32).bank(2));
    it(b, E::PE, op, [x.all().into(), w.all().into()], [out.all().into()]);
}

fn scalar_ptr(b: &mut Builder<'_>, dtype: Dtype, op: TensorScalarPtr, ins: Vec<Operand>, second: bool) {
    let mut all = vec![of(b, "x", 64, dtype, 0x4000)];
    all.extend(ins);
    let mut outs = vec![of(b, "y", 64, Dtype::Float32, 0x6000)];
    if second {
        outs.push(f32s(b, "sum", 1, 0x7000));
    }
    it(b, E::DVE, op, all, outs);
}

fn dma(b: &mut Builder<'_>, op: impl Into<Op>, load: bool) {
    let hbm = b.tensor(NewTensor::dram("h", [512, 256], Dtype::Float32).input());
    let chip = sb(b, "s", 128, Dtype::Bfloat16, 0x4000);
    let (hbm, chip) = (hbm.tile(128..256, 64..192).into(), Operand::from(chip.all()));
    let (from, to) = if load { (hbm, chip) } else { (chip, hbm) };
    it(b, E::SP, op, [from], [to]);
}

fn registers(b: &mut Builder<'_>, dtype: Dtype) -> [Operand; 3] {
    [0, 1, 2].map(|i| {
        let register = b.register(&format!("r{i}"), E::SP);
        Operand::register(register, dtype)
    })
}

macro_rules! cases {
    ($($name:literal $op:ident $on:expr, $synced:literal, |$b:ident| $build:expr;)*) => {
        pub(crate) const CASES: &[Case] = &[$(
            Case { name: $name, op: T::$op, on: $on, synced: $synced, build: |$b: &mut Builder<'_>| { $build; } }
        ),*];
    };
}

cases! {
    // PE
    "Matmult" Matmult ALL, true, |b| product(b, Dtype::Bfloat16, Matmult { accumulation_flag: 1.into(), psum_zero_region: 2.into(), ..Default::default() });
    "Matmult, float32 in two passes" Matmult ALL, true, |b| product(b, Dtype::Float32, Matmult { accumulation_flag: 3.into(), ..Default::default() });
    "Matmult, float32r" Matmult ALL, true, |b| product(b, Dtype::Float32r, Matmult { accumulation_flag: 3.into(), ..Default::default() });
    "Matmult, transposing" Matmult ALL, true, |b| {
        let (x, w) = (sb(b, "x", 128, Dtype::Bfloat16, 0x4000), sb(b, "w", 128, Dtype::Bfloat16, 0x8000));
        let out = psum(b, "acc", 128, Dtype::Bfloat16, 2);
        let op = Matmult { accumulation_flag: 3.into(), is_transpose: true.into(), ..Default::default() };
        it(b, E::PE, op, [x.all().into(), w.all().into()], [out.all().into()])
    };
    "Matmult on a tile" Matmult ALL, true, |b| {
        let (x, w) = (b.tensor(NewTensor::sb("x", [32, 512], Dtype::Bfloat16).at(0x4000).base(64)), b.tensor(NewTensor::sb("w", [32, 32], Dtype::Bfloat16).at(0x8000).base(64)));
        let out = b.tensor(NewTensor::psum("acc", [32, 512], Dtype::Float32).bank(1).base(32));
        let op = Matmult { accumulation_flag: 4.into(), tile_position: [64.into(), 32.into()], tile_size: [32.into(), 32.into()], ..Default::default() };
        it(b, E::PE, op, [x.all().into(), w.all().into()], [out.all().into()])
    };
    "MatmultSparse" MatmultSparse ALL, true, |b| {
        let (w, x, tags) = (sb(b, "w", 32, Dtype::Bfloat16, 0x8000), sb(b, "x", 1024, Dtype::Bfloat16, 0x4000), sb(b, "t", 16, Dtype::Int16, 0x9000));
        let out = b.tensor(NewTensor::psum("acc", [32, 512], Dtype::Float32).bank(1));
        let moving = x.pattern(0, [(1024, 128), (512, 2), (128, 2), (2, 32), (1, 1)]);
        it(b, E::PE, MatmultSparse { accumulation_flag: 3.into(), ..Default::default() }, [w.all().into(), moving.into(), tags.all().into()], [out.all().into()])
    };
    "MatmultMx" MatmultMx ALL, true, |b| {
        let mx = Dtype::Float8E4m3fnX4;
        let (x, w) = (sb(b, "x", 512, mx, 0x4000), sb(b, "w", 128, mx, 0x8000));
        let (xs, ws) = (sb(b, "xs", 512, Dtype::Uint8, 0xA000), sb(b, "ws", 128, Dtype::Uint8, 0xB000));
        let out = psum(b, "acc", 512, Dtype::Float32, 3);
        it(b, E::PE, MatmultMx { accumulation_flag: 3.into(), ..Default::default() }, [x, w, xs, ws].map(|t| t.all().into()), [out.all().into()])
    };
    "QuantizeMx" QuantizeMx ALL, true, |b| {
        let x = sb(b, "x", 512, Dtype::Bfloat16, 0x4000);
        let (y, s) = (sb(b, "y", 128, Dtype::Float8E5m2X4, 0x8000), sb(b, "s", 16, Dtype::Uint8, 0x9000));
        plain(b, E::DVE, T::QuantizeMx, vec![x.all().into()], vec![y.all().into(), s.all().into()])
    };

    // Activation
    "Activation" Activation ALL, true, |b| {
        let ins = vec![f32s(b, "x", 64, 0x4000), of(b, "bias", 1, Dtype::Float32, 0x5000), f32s(b, "scale", 1, 0x5100), 0.5.into()];
        let outs = vec![of(b, "y", 64, Dtype::Bfloat16, 0x6000)];
        it(b, E::Activation, Activation { func: ActivationFunctionType::Gelu, ..Default::default() }, ins, outs)
    };
    "Activation with a sum" Activation ALL, true, |b| {
        let ins = vec![f32s(b, "x", 64, 0x4000), 0.25.into(), 2.0.into(), 0.0.into()];
        let outs = vec![of(b, "y", 64, Dtype::Bfloat16, 0x6000), f32s(b, "sum", 1, 0x7000)];
        it(b, E::Activation, Activation { func: ActivationFunctionType::Exp, acc: EngineAccumulationType::ZeroAccumulate, ..Default::default() }, ins, outs)
    };
    "Activation, second generation" Activation &[V4], true, |b| {
        let ins = vec![f32s(b, "x", 64, 0x4000), 0.25.into(), f32s(b, "scale", 1, 0x5100), 1.0.into()];
        let outs = vec![of(b, "y", 64, Dtype::Bfloat16, 0x6000)];
        let op = Activation { func: ActivationFunctionType::Exp, is_activate2: true.into(), op0: AluOpType::Mult, op1: AluOpType::Add, reverse1: true.into(), ..Default::default() };
        it(b, E::Activation, op, ins, outs)
    };
    "LoadActFuncSet" LoadActFuncSet ALL, true, |b| it(b, E::Activation, LoadActFuncSet { act_func_set_id: 7.into(), ..Default::default() }, [], []);
    "ReadActivationAccumulator" ReadActivationAccumulator ALL, true, |b| { let out = f32s(b, "y", 1, 0x6000); plain(b, E::Activation, T::ReadActivationAccumulator, vec![], vec![out]) };
    "ActivationReadAccumulator" ActivationReadAccumulator ALL, true, |b| { let out = f32s(b, "y", 1, 0x6000); plain(b, E::Activation, T::ActivationReadAccumulator, vec![], vec![out]) };
    "DveReadAccumulator" DveReadAccumulator ALL, true, |b| { let out = f32s(b, "y", 1, 0x6000); it(b, E::DVE, DveReadAccumulator { negated: true.into(), ..Default::default() }, [], [out]) };

    // Tensors
    "TensorCopy" TensorCopy ALL, true, |b| {
        let (x, y) = (sb(b, "x", 4096, Dtype::Float16, 0x4000), sb(b, "y", 4096, Dtype::Float16, 0x8000));
        it(b, E::DVE, TensorCopy::default(), [cube(x, [2, 3, 4, 5])], [cube(y, [2, 3, 4, 5])])
    };
    "TensorCopy that casts" TensorCopy ALL, true, |b| { let (x, y) = (of(b, "x", 64, Dtype::Int32, 0x4000), of(b, "y", 64, Dtype::Bfloat16, 0x6000)); it(b, E::Pool, TensorCopy::default(), [x], [y]) };
    "TensorCopy by an index tensor" TensorCopy &[V4], true, |b| {
        let (x, y, i) = (sb(b, "x", 512, Dtype::Float16, 0x4000), sb(b, "y", 16, Dtype::Float16, 0x8000), sb(b, "i", 16, Dtype::Uint16, 0x9000));
        let arg = b.expr(Expr::IndirectArg { arg_id: 0 });
        let info = DynamicApInfo {
            actual_ap: Some([(512, 64), (1, 16)].into()),
            aff_expr: vec![DynamicApTerm { offset_expr: Some(arg), coef: Some(1), ..Default::default() }],
            indirect_dim_max_index: 512,
            ..Default::default()
        };
        let source = x.pattern(0, [(512, 64), (1, 16)]).dynamic(info);
        it(b, E::DVE, TensorCopy::default(), [source.into()], [part(y, 64, 16).into()]);
        let id = b.module().insts().last().unwrap();
        b.edit(id).index(part(i, 64, 16))
    };
    "Reciprocal" Reciprocal ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000)); plain(b, E::DVE, T::Reciprocal, vec![x], vec![y]) };
    "TensorTensor" TensorTensor ALL, true, |b| {
        let ins = vec![of(b, "x", 64, Dtype::Bfloat16, 0x4000), f32s(b, "y", 64, 0x5000)];
        let out = f32s(b, "z", 64, 0x6000);
        it(b, E::Pool, TensorTensor { op: AluOpType::Subtract, ..Default::default() }, ins, [out])
    };
    "TensorTensor of bits" TensorTensor ALL, true, |b| {
        let ins = vec![of(b, "x", 64, Dtype::Uint8, 0x4001), of(b, "y", 64, Dtype::Uint8, 0x5003)];
        let out = of(b, "z", 64, Dtype::Uint8, 0x6005);
        it(b, E::DVE, TensorTensor { op: AluOpType::BitwiseXor, ..Default::default() }, ins, [out])
    };
    "TensorReduce" TensorReduce ALL, true, |b| {
        let (x, y) = (sb(b, "x", 4096, Dtype::Bfloat16, 0x4000), sb(b, "y", 6, Dtype::Float32, 0x8000));
        it(b, E::DVE, TensorReduce { op: AluOpType::Add, axis: AxisListType::XY, negate: true.into(), ..Default::default() }, [cube(x, [2, 3, 1, 5])], [part(y, 64, 6).into()])
    };
    "TensorReduce of bits" TensorReduce ALL, true, |b| { let (x, y) = (of(b, "x", 64, Dtype::Int32, 0x4000), of(b, "y", 1, Dtype::Int32, 0x8000)); it(b, E::DVE, TensorReduce { op: AluOpType::BitwiseOr, ..Default::default() }, [x], [y]) };
    "TensorReduce, transposed" TensorReduce ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 1, 0x8000)); it(b, E::DVE, TensorReduce { op: AluOpType::Max, apply_transpose: true.into(), ..Default::default() }, [x], [y]) };
    "TensorReduce over partitions" TensorReduce ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x8000)); it(b, E::Pool, TensorReduce { op: AluOpType::Average, axis: AxisListType::C, ..Default::default() }, [x], [y]) };
    "Pool" Pool ALL, true, |b| {
        let (x, y) = (sb(b, "x", 4096, Dtype::Bfloat16, 0x4000), sb(b, "y", 6, Dtype::Float32, 0x8000));
        let avg = PoolFunctionType::Avg;
        it(b, E::Pool, Pool { func: avg, ..Default::default() }, [cube(x, [2, 3, 2, 2])], [part(y, 64, 6).into()])
    };
    "Memset" Memset ALL, true, |b| { let y = f32s(b, "y", 64, 0x6000); it(b, E::DVE, Memset { constant: 0x3FC0_0000.into(), ..Default::default() }, [], [y]) };
    "Memset, random" Memset ALL, true, |b| { let y = f32s(b, "y", 64, 0x6000); it(b, E::DVE, Memset { mode: MemsetMode::Random, ..Default::default() }, [], [y]) };
    "Rng" Rng ALL, true, |b| { let y = f32s(b, "y", 64, 0x6000); plain(b, E::DVE, T::Rng, vec![], vec![y]) };
    "Iota" Iota ALL, true, |b| {
        let y = of(b, "y", 64, Dtype::Int32, 0x6000);
        it(b, E::Pool, Iota { base: (-5).into(), pattern: Some([(16, 4), (-1, 16)].into()), channel_multiplier: 64.into(), ..Default::default() }, [], [y])
    };
    "StreamShuffle" StreamShuffle ALL, true, |b| {
        let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000));
        let mask = (0..32u32).map(|lane| if lane < 4 { 255.into() } else { (31 - lane).into() }).collect();
        it(b, E::DVE, StreamShuffle { mask: Some(mask), ..Default::default() }, [x], [y])
    };
    "StreamTranspose" StreamTranspose ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000)); plain(b, E::DVE, T::StreamTranspose, vec![x], vec![y]) };
    "StreamTranspose of few partitions" StreamTranspose ALL, true, |b| {
        let (x, y) = (sb(b, "x", 16, Dtype::Float32, 0x4000), sb(b, "y", 16, Dtype::Float32, 0x6000));
        plain(b, E::DVE, T::StreamTranspose, vec![part(x, 16, 16).into()], vec![part(y, 16, 16).into()])
    };
    "Gather" Gather ALL, true, |b| {
        let ins = vec![f32s(b, "table", 1000, 0x4000), of(b, "i", 32, Dtype::Uint32, 0x8000)];
        let out = f32s(b, "y", 32, 0x9000);
        plain(b, E::Pool, T::Gather, ins, vec![out])
    };
    "IndirectCopy" IndirectCopy ALL, true, |b| {
        let ins = vec![f32s(b, "x", 512, 0x4000), of(b, "i", 16, Dtype::Uint16, 0x8000)];
        let out = f32s(b, "y", 32, 0x9000);
        it(b, E::Pool, IndirectCopy { num_valid_indices: 16.into(), ..Default::default() }, ins, [out])
    };

    // Scalars
    "TensorScalar" TensorScalar ALL, true, |b| {
        let (x, y) = (of(b, "x", 64, Dtype::Bfloat16, 0x4000), f32s(b, "y", 64, 0x6000));
        it(b, E::DVE, TensorScalar { op0: AluOpType::Mult, const0: Some(-1.5), op1: AluOpType::Max, const1: Some(0.25), reverse1: true.into(), ..Default::default() }, [x], [y])
    };
    "TensorScalar of bits" TensorScalar ALL, true, |b| {
        let (x, y) = (of(b, "x", 64, Dtype::Int32, 0x4000), of(b, "y", 64, Dtype::Int32, 0x6000));
        it(b, E::DVE, TensorScalar { op0: AluOpType::BitwiseAnd, const0: Some(255.0), const1: Some(0.0), ..Default::default() }, [x], [y])
    };
    "TensorScalar with a sum" TensorScalar ALL, true, |b| {
        let (x, y, s) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000), f32s(b, "s", 1, 0x7000));
        it(b, E::DVE, TensorScalar { op0: AluOpType::Add, const0: Some(1.0), const1: Some(0.0), ..Default::default() }, [x], [y, s])
    };
    "TensorScalarPtr" TensorScalarPtr ALL, true, |b| {
        let scalars = vec![f32s(b, "s", 1, 0x5000), 2.0.into()];
        scalar_ptr(b, Dtype::Bfloat16, TensorScalarPtr { op0: AluOpType::Subtract, op1: AluOpType::Mult, reverse0: true.into(), ..Default::default() }, scalars, false)
    };
    "TensorScalarPtr with a register" TensorScalarPtr ALL, true, |b| {
        let [_, _, register] = registers(b, Dtype::Float32);
        scalar_ptr(b, Dtype::Float32, TensorScalarPtr { op0: AluOpType::Add, ..Default::default() }, vec![register], false)
    };
    "TensorScalarPtr of bits" TensorScalarPtr ALL, true, |b| {
        let shift = Operand::imm(Dtype::Int32, ImmNumber::Signed(-1));
        scalar_ptr(b, Dtype::Int32, TensorScalarPtr { op0: AluOpType::BitwiseXor, ..Default::default() }, vec![shift], false)
    };
    "TensorScalarPtr, transposed" TensorScalarPtr ALL, true, |b| scalar_ptr(b, Dtype::Float32, TensorScalarPtr { op0: AluOpType::Add, apply_transpose: true.into(), ..Default::default() }, vec![1.0.into()], false);
    "TensorScalarPtr with a sum" TensorScalarPtr ALL, true, |b| scalar_ptr(b, Dtype::Float32, TensorScalarPtr { op0: AluOpType::Add, negate_second_output: true.into(), ..Default::default() }, vec![1.0.into()], true);
    "TensorScalarPtr, scalar-tensor-tensor" TensorScalarPtr ALL, true, |b| {
        let other = of(b, "z", 64, Dtype::Bfloat16, 0x5000);
        scalar_ptr(b, Dtype::Float32, TensorScalarPtr { op0: AluOpType::Mult, op1: AluOpType::Add, is_scalar_tensor_tensor: true.into(), ..Default::default() }, vec![0.5.into(), other], true)
    };
    "TensorScalarPtr, scan" TensorScalarPtr ALL, true, |b| {
        let other = f32s(b, "z", 64, 0x5000);
        scalar_ptr(b, Dtype::Float32, TensorScalarPtr { op0: AluOpType::Mult, op1: AluOpType::Add, is_tensor_tensor_scan: true.into(), ..Default::default() }, vec![0.0.into(), other], false)
    };
    "TensorScalarCache" TensorScalarCache ALL, true, |b| {
        let (x, y, s) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000), f32s(b, "s", 1, 0x7000));
        it(b, E::DVE, TensorScalarCache { op0: AluOpType::Mult, op1: AluOpType::Add, acc: EngineAccumulationType::LoadAccumulate, ..Default::default() }, [x, 2.0.into(), 1.0.into()], [y, s])
    };
    "TensorScalarCache, cumulative" TensorScalarCache ALL, true, |b| {
        let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000));
        it(b, E::DVE, TensorScalarCache { op0: AluOpType::Mult, op1: AluOpType::Add, mode: TSCMode::Cumulative, acc: EngineAccumulationType::ZeroAccumulate, ..Default::default() }, [x, 2.0.into()], [y])
    };
    "Exponential" Exponential ALL, true, |b| {
        let (x, m, y, s) = (f32s(b, "x", 64, 0x4000), f32s(b, "m", 1, 0x5000), f32s(b, "y", 64, 0x6000), f32s(b, "s", 1, 0x7000));
        it(b, E::DVE, Exponential { reduce_cmd: EngineAccumulationType::ZeroAccumulate, ..Default::default() }, [x, m, 0.0.into()], [y, s])
    };

    // Selections
    "CopyPredicated" CopyPredicated ALL, true, |b| {
        let (p, x, y) = (of(b, "p", 64, Dtype::Uint8, 0x4000), f32s(b, "x", 64, 0x5000), f32s(b, "y", 64, 0x6000));
        it(b, E::DVE, CopyPredicated::default(), [p, x], [y])
    };
    "CopyPredicated that casts" CopyPredicated ALL, true, |b| {
        let (p, x, y) = (of(b, "p", 64, Dtype::Uint8, 0x4000), of(b, "x", 64, Dtype::Bfloat16, 0x5000), f32s(b, "y", 64, 0x6000));
        it(b, E::DVE, CopyPredicated::default(), [p, x], [y])
    };
    "CopyPredicated of a number" CopyPredicated ALL, true, |b| {
        let (p, y) = (of(b, "p", 64, Dtype::Uint8, 0x4000), f32s(b, "y", 64, 0x6000));
        it(b, E::DVE, CopyPredicated { reverse_pred: true.into(), ..Default::default() }, [p, 3.0.into()], [y])
    };
    "CopyPredicated with a reduction" CopyPredicated ALL, true, |b| {
        let (p, x) = (of(b, "p", 64, Dtype::Uint8, 0x4000), f32s(b, "x", 64, 0x5000));
        let (y, s) = (f32s(b, "y", 64, 0x6000), f32s(b, "s", 1, 0x7000));
        let op = CopyPredicated { reduce_op: AluOpType::Max, accumulator_cmd: EngineAccumulationType::ZeroAccumulate, ..Default::default() };
        it(b, E::DVE, op, [p, x, (-1.0).into()], [y, s])
    };
    "RangeSelect" RangeSelect ALL, true, |b| {
        let (x, low, y, s) = (f32s(b, "x", 64, 0x4000), f32s(b, "low", 1, 0x5000), f32s(b, "y", 64, 0x6000), f32s(b, "s", 1, 0x7000));
        let op = RangeSelect { base: 128.into(), compare_op0: AluOpType::IsGe, compare_op1: AluOpType::IsLt, fill_value: Some(-f32::MAX), reduce_cmd: EngineAccumulationType::ZeroAccumulate, ..Default::default() };
        it(b, E::DVE, op, [x, low, 100.0.into()], [y, s])
    };
    "TensorScalarAffineSelect" TensorScalarAffineSelect ALL, true, |b| {
        let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000));
        let op = TensorScalarAffineSelect { base: 1.into(), pattern: Some([(-1, 64)].into()), channel_multiplier: 1.into(), compare_op: AluOpType::IsGe, ..Default::default() };
        it(b, E::Pool, op, [x], [y])
    };
    "Dropout" Dropout ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000)); it(b, E::DVE, Dropout { is_keep_threshold: true.into(), ..Default::default() }, [x, 0.9.into()], [y]) };
    "NonzeroWithCount" NonzeroWithCount ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), of(b, "y", 65, Dtype::Int32, 0x6000)); plain(b, E::Pool, T::NonzeroWithCount, vec![x, 0.into(), (-1).into()], vec![y]) };
    "GetSequenceBounds" GetSequenceBounds ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), of(b, "y", 128, Dtype::Int32, 0x6000)); plain(b, E::Pool, T::GetSequenceBounds, vec![x], vec![y]) };

    // Search, batch normalisation, random numbers
    "Max" Max ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 8, 0x6000)); plain(b, E::DVE, T::Max, vec![x], vec![y]) };
    "MaxIndex" MaxIndex ALL, true, |b| { let (v, x, y) = (f32s(b, "v", 8, 0x4000), f32s(b, "x", 64, 0x5000), of(b, "y", 8, Dtype::Uint16, 0x6000)); plain(b, E::DVE, T::MaxIndex, vec![v, x], vec![y]) };
    "MatchReplace" MatchReplace ALL, true, |b| { let (v, x, y) = (f32s(b, "v", 8, 0x4000), f32s(b, "x", 64, 0x5000), f32s(b, "y", 64, 0x6000)); it(b, E::DVE, MatchReplace { imm_value: Some(-9.5), ..Default::default() }, [v, x], [y]) };
    "MaxIndexAndMatchReplace" MaxIndexAndMatchReplace ALL, true, |b| {
        let (v, x, y, i) = (f32s(b, "v", 8, 0x4000), f32s(b, "x", 64, 0x5000), f32s(b, "y", 64, 0x6000), of(b, "i", 8, Dtype::Uint32, 0x7000));
        it(b, E::DVE, MaxIndexAndMatchReplace { imm_value: Some(-9.5), ..Default::default() }, [v, x], [y, i])
    };
    "BNStats" BNStats ALL, true, |b| { let (x, y) = (f32s(b, "x", 63, 0x4000), f32s(b, "y", 6, 0x6000)); it(b, E::DVE, BNStats::default(), [x], [y]) };
    "BNStats, transposed" BNStats ALL, true, |b| { let (x, y) = (f32s(b, "x", 63, 0x4000), f32s(b, "y", 6, 0x6000)); it(b, E::DVE, BNStats { apply_transpose: true.into(), ..Default::default() }, [x], [y]) };
    "BNStatsAggregate" BNStatsAggregate ALL, true, |b| { let (x, y) = (f32s(b, "x", 12, 0x4000), f32s(b, "y", 2, 0x6000)); plain(b, E::DVE, T::BNStatsAggregate, vec![x], vec![y]) };
    "BNGradients" BNGradients ALL, true, |b| {
        let ins = vec![f32s(b, "x", 64, 0x4000), f32s(b, "dy", 64, 0x5000), f32s(b, "mean", 1, 0x7000), f32s(b, "factor", 1, 0x7100)];
        let out = f32s(b, "y", 3, 0x6000);
        plain(b, E::DVE, T::BNGradients, ins, vec![out])
    };
    "BNBackprop" BNBackprop ALL, true, |b| {
        let ins = vec![f32s(b, "x", 64, 0x4000), f32s(b, "dy", 64, 0x5000), f32s(b, "c", 3, 0x7000), f32s(b, "mean", 1, 0x7100)];
        let out = f32s(b, "y", 64, 0x6000);
        it(b, E::DVE, BNBackprop { total_elements: Some(640.0), ..Default::default() }, ins, [out])
    };
    "GetRandState" GetRandState ALL, true, |b| { let y = of(b, "y", 24, Dtype::Uint32, 0x6000); plain(b, E::DVE, T::GetRandState, vec![], vec![y]) };
    "RandGetState" RandGetState ALL, true, |b| { let y = of(b, "y", 6, Dtype::Uint32, 0x6000); plain(b, E::Pool, T::RandGetState, vec![], vec![y]) };
    "SetRandState" SetRandState ALL, true, |b| { let x = of(b, "x", 24, Dtype::Uint32, 0x4000); it(b, E::DVE, SetRandState { rng_engine: Some(E::DVE), ..Default::default() }, [x], []) };
    "SetRandState on Pool" SetRandState ALL, true, |b| { let x = of(b, "x", 6, Dtype::Uint32, 0x4000); it(b, E::Pool, SetRandState { rng_engine: Some(E::Pool), ..Default::default() }, [x], []) };
    "RandSetState" RandSetState ALL, true, |b| { let x = of(b, "x", 6, Dtype::Uint32, 0x4000); plain(b, E::Pool, T::RandSetState, vec![x], vec![]) };
    "Rand2" Rand2 ALL, true, |b| { let (m, y) = (f32s(b, "m", 1, 0x4000), f32s(b, "y", 64, 0x6000)); plain(b, E::DVE, T::Rand2, vec![0.0.into(), m], vec![y]) };

    // Transfers
    "Load" Load ALL, true, |b| dma(b, Load::default(), true);
    "Save" Save ALL, true, |b| dma(b, Save::default(), false);
    "DMACopy" DMACopy ALL, true, |b| dma(b, DMACopy::default(), true);
    "DMACopy that adds" DMACopy ALL, true, |b| dma(b, DMACopy { cce_op: AluOpType::Add, ..Default::default() }, false);
    "DMACopy by an index tensor" DMACopy ALL, true, |b| {
        let (h, s, i) = (b.tensor(NewTensor::dram("h", [512, 256], Dtype::Float32)), sb(b, "s", 256, Dtype::Float32, 0x4000), sb(b, "i", 1, Dtype::Int32, 0x8000));
        let arg = b.expr(Expr::IndirectArg { arg_id: 0 });
        let info = DynamicApInfo {
            actual_ap: Some([(256, 128), (1, 256)].into()),
            aff_expr: vec![DynamicApTerm { offset_expr: Some(arg), coef: Some(256), ..Default::default() }],
            indirect_dim_max_index: 512,
            ..Default::default()
        };
        it(b, E::Pool, DMACopy::default(), [h.pattern(0, [(256, 128), (1, 256)]).dynamic(info).into()], [s.all().into()]);
        let id = b.module().insts().last().unwrap();
        b.edit(id).index(i.all())
    };
    "DMATrigger" DMATrigger ALL, false, |b| {
        let queue = b.queue("qSPIn", &[8]);
        let (h, s) = (b.tensor(NewTensor::dram("h", [128, 64], Dtype::Float32).input()), sb(b, "s", 64, Dtype::Float32, 0x4000));
        b.dma("it", E::SP, queue).copy(h.all(), s.all()).completes(8).done()
    };
    "IndirectLoad" IndirectLoad ALL, true, |b| { let (i, y) = (of(b, "i", 1, Dtype::Int32, 0x4000), f32s(b, "y", 64, 0x6000)); it(b, E::Pool, IndirectLoad { runtime_semaphore_wait_value: 0x1_0002.into(), ..Default::default() }, [i], [y]) };
    "IndirectSave" IndirectSave ALL, true, |b| {
        let (i, x) = (of(b, "i", 1, Dtype::Int32, 0x4000), f32s(b, "x", 64, 0x6000));
        let h = b.tensor(NewTensor::dram("h", [64, 64], Dtype::Float32));
        it(b, E::Pool, IndirectSave::default(), [i, x], [h.all().into()])
    };
    "GPSIMDSB2SB" GPSIMDSB2SB ALL, true, |b| { let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000)); plain(b, E::Pool, T::GPSIMDSB2SB, vec![x], vec![y]) };

    // Control
    "NoOp" NoOp ALL, true, |b| plain(b, E::SP, T::NoOp, vec![], vec![]);
    "Halt" Halt ALL, true, |b| plain(b, E::SP, T::Halt, vec![], vec![]);
    "Drain" Drain ALL, true, |b| it(b, E::SP, Drain::default(), [], []);
    "EventSemaphore" EventSemaphore ALL, false, |b| plain(b, E::SP, T::EventSemaphore, vec![], vec![]);
    "GroupResetSemaphores" GroupResetSemaphores ALL, true, |b| it(b, E::SP, GroupResetSemaphores { sema_group: vec![7, 6, 5], ..Default::default() }, [], []);
    "AllEngineBarrier" AllEngineBarrier ALL, true, |b| plain(b, E::SP, T::AllEngineBarrier, vec![], vec![]);
    "CoreBarrier" CoreBarrier ALL, true, |b| it(b, E::SP, CoreBarrier { id: 3.into(), runtime_semaphore: 17.into(), ..Default::default() }, [], []);
    "Return" Return ALL, true, |b| plain(b, E::SP, T::Return, vec![], vec![]);
    "Exit" Exit ALL, true, |b| plain(b, E::SP, T::Exit, vec![], vec![]);
    "Call" Call ALL, true, |b| {
        let name = b.name("callee");
        it(b, E::SP, Call { target: Some(bir::ids::Ref::named(name)), ..Default::default() }, [], [])
    };
    "UnconditionalBranch" UnconditionalBranch ALL, true, |b| { let here = b.block(); it(b, E::SP, UnconditionalBranch { target: Some(here.into()), ..Default::default() }, [], []) };
    "CompareAndBranch" CompareAndBranch ALL, true, |b| {
        let (here, next) = (b.block(), b.new_block("next"));
        b.go_to(here);
        let [_, left, right] = registers(b, Dtype::Int32);
        it(b, E::SP, CompareAndBranch { comp_op: BranchCompareOp::IsLtreg, on_true: Some(here.into()), on_false: Some(next.into()), ..Default::default() }, [left, right], [])
    };
    "RegisterMove" RegisterMove ALL, true, |b| { let [r, ..] = registers(b, Dtype::Int32); plain(b, E::SP, T::RegisterMove, vec![(-7).into()], vec![r]) };
    "RegisterMove between registers" RegisterMove ALL, true, |b| { let [_, x, y] = registers(b, Dtype::Float32); plain(b, E::SP, T::RegisterMove, vec![x], vec![y]) };
    "RegisterAlu" RegisterAlu ALL, true, |b| { let [_, x, y] = registers(b, Dtype::Int32); it(b, E::SP, RegisterAlu { op: AluOpType::Add, ..Default::default() }, [x, 12.into()], [y]) };
    "RegisterAlu of 64 bits" RegisterAlu ALL, true, |b| { let [x, y, z] = registers(b, Dtype::Uint64); it(b, E::SP, RegisterAlu { op: AluOpType::Subtract, is_64bit: true.into(), ..Default::default() }, [x, y], [z]) };
    "TensorLoad" TensorLoad ALL, true, |b| {
        let h = b.tensor(NewTensor::dram("h", [1, 64], Dtype::Int32));
        let [r, ..] = registers(b, Dtype::Int32);
        plain(b, E::SP, T::TensorLoad, vec![h.pattern(3, [(64, 1), (1, 1)]).into()], vec![r])
    };
    "TensorLoad through a register" TensorLoad ALL, true, |b| {
        let h = b.tensor(NewTensor::dram("h", [1, 64], Dtype::Int32));
        let at = b.register("at", E::SP);
        let [r, ..] = registers(b, Dtype::Int32);
        plain(b, E::SP, T::TensorLoad, vec![h.pattern(0, [(64, 1), (1, 1)]).at_register(at).into()], vec![r])
    };
    "TensorSave" TensorSave ALL, true, |b| {
        let h = b.tensor(NewTensor::dram("h", [1, 64], Dtype::Int32));
        let [r, ..] = registers(b, Dtype::Int32);
        plain(b, E::SP, T::TensorSave, vec![r], vec![h.pattern(3, [(64, 1), (1, 1)]).into()])
    };
    "SwitchQueueInstance" SwitchQueueInstance ALL, true, |b| { let name = b.name("second"); it(b, E::SP, SwitchQueueInstance { instance: Some(bir::ids::Ref::named(name)), no_rearm: true.into(), ..Default::default() }, [], []) };
    "ResetQueueInstance" ResetQueueInstance ALL, true, |b| {
        let name = b.name("second");
        b.inst("switch", E::DVE, SwitchQueueInstance { instance: Some(bir::ids::Ref::named(name)), no_rearm: true.into(), ..Default::default() });
        it(b, E::SP, ResetQueueInstance { instance: Some(bir::ids::Ref::named(name)), ..Default::default() }, [], [])
    };
    "GetCurProcessingRankID" GetCurProcessingRankID ALL, true, |b| {
        let [_, r, _] = registers(b, Dtype::Int32);
        it(b, E::SP, GetCurProcessingRankID { iter_id: 2.into(), channel_id: 3.into(), stream_id: 1.into(), replica_groups: Some(vec![vec![0, 1]]), ..Default::default() }, [], [r])
    };
    "GetGlobalRankId" GetGlobalRankId ALL, true, |b| { let [_, r, _] = registers(b, Dtype::Int32); it(b, E::SP, GetGlobalRankId::default(), [], [r]) };
    "TensorCompletion" TensorCompletion ALL, true, |b| { let h = b.tensor(NewTensor::dram("h", [1, 64], Dtype::Int32)); it(b, E::SP, TensorCompletion::default(), [h.all().into()], []) };
    "CustomOp" CustomOp ALL, true, |b| {
        let (x, y) = (f32s(b, "x", 64, 0x4000), f32s(b, "y", 64, 0x6000));
        let (name, lib) = (b.name("f"), b.name("lib.so"));
        it(b, E::Pool, CustomOp { op_function_name: Some(name), op_lib_file: Some(lib), ..Default::default() }, [x], [y])
    };
    "InlineASMBytes" InlineASMBytes ALL, false, |b| it(b, E::Pool, InlineASMBytes { asm_bytes: Some(tpb_isa::Word::from_hex("a410").unwrap().0.to_vec()), ..Default::default() }, [], []);
}
