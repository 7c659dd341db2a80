//! A kernel for each operator that has a BIR form: the operator in all its forms, on tensors that the verifier takes.

use bir::enums::ArchLevel;
use klr::ir::*;
use klr::node::Added;

use crate::kit::{Kit, Tensor, float, int};

/// Bfloat16 and so on, as one reads them.
const BF16: Dtype = Dtype::Bfloat16;
const F32: Dtype = Dtype::Float32;
const I32: Dtype = Dtype::Int32;
const U32: Dtype = Dtype::Uint32;
const U16: Dtype = Dtype::Uint16;
const U8: Dtype = Dtype::Uint8;

/// The kernel of an operator, as its statements, and the architecture that has all of the instructions.
pub(crate) fn case<'a>(operator: &str, k: &Kit<'a>) -> (ArchLevel, Vec<Operator<'a>>) {
    let arch = match operator {
        "activate2" | "exponential" | "ncMatMulMX" | "quantizeMX" | "rand2" | "randGetState"
        | "randSetState" => ArchLevel::CoreV4,
        _ => ArchLevel::Gen3,
    };
    let list = match operator {
        "ncActivate" | "activationReduce" | "activate2" | "exponential" | "dropout" => {
            activation(operator, k)
        }
        "tensorScalar"
        | "tensorScalarReduce"
        | "tensorScalarCumulative"
        | "ncScalarTensorTensor"
        | "tensorTensor"
        | "tensorTensorScan" => arithmetic(operator, k),
        "batchNormAggregate" | "batchNormStats" | "reciprocal" | "tensorReduce" | "tensorPartitionReduce" => {
            reductions(operator, k)
        }
        "ncCopy" | "ncDmaCopy" | "dmaTranspose" | "dmaCompute" | "memSet" | "ncLocalGather" | "ncNGather"
        | "shuffle" | "transpose" => data(operator, k),
        "ncMatMul" | "ncMatMulMX" | "quantizeMX" => matmul(operator, k),
        "ncAffineSelect" | "iota" | "ncRangeSelect" | "copyPredicated" | "selectReduce" | "max8"
        | "findIndex8" | "matchReplace8" | "nonzeroWithCount" | "sequenceBounds" => select(operator, k),
        "tensorLoad"
        | "tensorStore"
        | "registerMove"
        | "registerAluOp"
        | "cmpBranch"
        | "rankId"
        | "currentProcessingRankId"
        | "coreBarrier"
        | "devicePrint" => control(operator, k),
        "rng" | "rand2" | "randGetState" | "randSetState" | "setRngSeed" => random(operator, k),
        _ => collective(operator, k),
    };
    (arch, list)
}

fn activation<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let x = k.sb("x", &[128, 512], F32);
    let y = k.sb("y", &[128, 512], BF16);
    let sums = k.sb("sums", &[128, 1], F32);
    let bias = k.sb("bias", &[128, 1], F32);
    let scale = k.sb("scale", &[128, 1], F32);
    let activate = NcActivate {
        dst: k.all(y),
        src: k.all(x),
        accumulator_cmd: AccumCmd::Idle,
        activation_func: ActivationFunc::Exp,
        scale: Operand::Imm(float(0.5)),
        bias: None,
        reduce_op: None,
        reduce_res: None,
        dtype: None,
    };
    match operator {
        "ncActivate" => vec![
            Operator::NcActivate(k.arena.alloc(activate)),
            Operator::NcActivate(k.arena.alloc(NcActivate {
                activation_func: ActivationFunc::Tanh,
                scale: k.tile(scale),
                bias: Some(k.all(bias)),
                ..activate
            })),
        ],
        "activationReduce" => vec![Operator::ActivationReduce(k.arena.alloc(NcActivate {
            accumulator_cmd: AccumCmd::ZeroAccumulate,
            bias: Some(k.all(bias)),
            reduce_op: Some(AluOp::Add),
            reduce_res: Some(k.all(sums)),
            ..activate
        }))],
        "activate2" => vec![Operator::Activate2(k.arena.alloc(Activate2 {
            dst: k.all(y),
            src: k.all(x),
            op0: AluOp::Mult,
            op1: AluOp::Add,
            imm0: k.tile(scale),
            imm1: k.tile(bias),
            activation_func: ActivationFunc::Relu,
            relu_param: Operand::Imm(float(0.0)),
            reduce_op: AluOp::Add,
            reduce_res: Some(k.all(sums)),
            reduce_cmd: AccumCmd::ZeroAccumulate,
            reverse0: false,
            reverse1: true,
            dtype: None,
        }))],
        "exponential" => {
            let exponential = Exponential {
                dst: k.all(y),
                src: k.all(x),
                max_value: k.tile(bias),
                reduce_res: None,
                reducecmd: AccumCmd::Idle,
                reduce_init: Operand::Imm(float(0.0)),
            };
            vec![
                Operator::Exponential(k.arena.alloc(exponential)),
                Operator::Exponential(k.arena.alloc(Exponential {
                    reduce_res: Some(k.all(sums)),
                    reducecmd: AccumCmd::ZeroAccumulate,
                    ..exponential
                })),
            ]
        }
        _ => vec![Operator::Dropout(k.arena.alloc(Dropout {
            dst: k.all(y),
            src: k.all(x),
            threshold_type: DropoutThresholdType::KeepRate,
            threshold: Operand::Imm(float(0.9)),
            dtype: None,
        }))],
    }
}

fn arithmetic<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let x = k.sb("x", &[128, 512], F32);
    let z = k.sb("z", &[128, 512], F32);
    let y = k.sb("y", &[128, 512], F32);
    let row = k.sb("row", &[128, 1], F32);
    let half = Operand::Imm(float(0.5));
    vec![match operator {
        "tensorScalar" => {
            let scalar = TensorScalar {
                dst: k.all(y),
                src: k.all(x),
                imm0: half,
                op0: AluOp::Mult,
                imm1: None,
                op1: None,
                reverse: TensorScalarReverseOps::None,
                engine: Engine::Unassigned,
                dtype: None,
            };
            return vec![
                Operator::TensorScalar(k.arena.alloc(scalar)),
                Operator::TensorScalar(k.arena.alloc(TensorScalar {
                    imm1: Some(k.tile(row)),
                    op1: Some(AluOp::Subtract),
                    reverse: TensorScalarReverseOps::Second,
                    engine: Engine::Act,
                    ..scalar
                })),
            ];
        }
        "tensorScalarReduce" => Operator::TensorScalarReduce(k.arena.alloc(TensorScalarReduce {
            dst: k.all(y),
            src: k.all(x),
            operand0: half,
            op0: AluOp::Mult,
            reverse0: false,
            dtype: None,
            reduce_op: Some(AluOp::Add),
            reduce_res: k.all(row),
            head: Added(None),
        })),
        "tensorScalarCumulative" => Operator::TensorScalarCumulative(k.arena.alloc(TensorScalarCumulative {
            dst: k.all(y),
            src: k.all(x),
            op0: AluOp::Mult,
            op1: AluOp::Add,
            imm0: half,
            imm1: None,
            reduce_cmd: AccumCmd::ZeroAccumulate,
            reverse: TensorScalarReverseOps::First,
            dtype: None,
        })),
        "ncScalarTensorTensor" => Operator::NcScalarTensorTensor(k.arena.alloc(NcScalarTensorTensor {
            dst: k.all(y),
            data: k.all(x),
            src0: k.tile(row),
            src1: k.tile(z),
            op0: AluOp::Mult,
            op1: AluOp::Add,
            reverse_operands: TensorScalarReverseOps::None,
            dtype: None,
        })),
        "tensorTensor" => Operator::TensorTensor(k.arena.alloc(TensorTensor {
            dst: k.all(y),
            src0: k.all(x),
            src1: k.all(z),
            op: AluOp::Max,
            dtype: None,
            engine: Engine::Dve,
        })),
        _ => Operator::TensorTensorScan(k.arena.alloc(TensorTensorScan {
            dst: k.all(y),
            src0: k.all(x),
            src1: k.all(z),
            op0: AluOp::Mult,
            op1: AluOp::Add,
            reverse_operands: TensorScalarReverseOps::Both,
            imm0: Operand::Imm(float(1.0)),
            accumulator_cmd: AccumCmd::Idle,
            dtype: None,
        })),
    }]
}

fn reductions<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let x = k.sb("x", &[128, 2, 256], F32);
    let dtype = None;
    vec![match operator {
        "batchNormStats" => {
            let dst = k.all(k.sb("stats", &[128, 6], F32));
            let src = k.pattern(x, 0, &[(512, 128), (1, 512)]);
            Operator::BatchNormStats(k.arena.alloc(BatchNormStats { dst, src, dtype }))
        }
        "batchNormAggregate" => {
            let dst = k.all(k.sb("mean_and_variance", &[128, 2], F32));
            let src = k.all(k.sb("stats", &[128, 12], F32));
            Operator::BatchNormAggregate(k.arena.alloc(BatchNormAggregate { dst, src, dtype }))
        }
        "reciprocal" => {
            let dst = k.all(k.sb("y", &[128, 2, 256], BF16));
            Operator::Reciprocal(k.arena.alloc(Reciprocal { dst, src: k.all(x), dtype }))
        }
        "tensorReduce" => {
            let reduce = TensorReduce {
                dst: k.all(k.sb("rows", &[128, 2], F32)),
                src: k.all(x),
                op: AluOp::Max,
                op_dim: TensorSubDim::X,
                negated: false,
                dtype,
                keepdims: false,
            };
            let dst = k.all(k.sb("all", &[128, 1], F32));
            let both =
                TensorReduce { dst, op: AluOp::Add, op_dim: TensorSubDim::XY, negated: true, ..reduce };
            return vec![
                Operator::TensorReduce(k.arena.alloc(reduce)),
                Operator::TensorReduce(k.arena.alloc(both)),
            ];
        }
        _ => {
            let dst = k.all(k.sb("y", &[1, 2, 256], F32));
            let reduce = TensorPartitionReduce { dst, op: AluOp::Add, data: k.all(x), dtype };
            Operator::TensorPartitionReduce(k.arena.alloc(reduce))
        }
    }]
}

fn data<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    match operator {
        "ncCopy" => copies(k),
        "ncDmaCopy" => dma_copies(k),
        "transpose" => {
            let x = k.sb("x", &[128, 32], F32);
            let y = k.sb("y", &[128, 32], F32);
            let a = k.sb("a", &[128, 64], BF16);
            let b = k.psum("b", &[64, 128], BF16);
            let transpose = |dst, src, engine| {
                Operator::Transpose(k.arena.alloc(Transpose {
                    dst: k.all(dst),
                    src: k.all(src),
                    dtype: None,
                    engine,
                }))
            };
            vec![transpose(y, x, Engine::Dve), transpose(b, a, Engine::Unassigned)]
        }
        "memSet" => {
            let y = k.sb("y", &[128, 512], F32);
            let n = k.sb("n", &[128, 512], I32);
            let set = |dst, value, dtype, engine| {
                Operator::MemSet(k.arena.alloc(MemSet { dst: k.all(dst), value, dtype, engine }))
            };
            vec![set(y, float(1.5), F32, Engine::Dve), set(n, int(-1), I32, Engine::Pool)]
        }
        "dmaTranspose" => {
            let dst = k.all(k.sb("y", &[32, 2, 2, 16], BF16));
            let src = k.all(k.hbm("x", &[16, 2, 2, 32], BF16));
            vec![Operator::DmaTranspose(k.arena.alloc(DmaTranspose {
                dst,
                src,
                axes: TransposeOps::XZYW,
                dtype: None,
                dge_mode: 1,
                oob_mode: DmaBounds::Error,
                head: Added(None),
            }))]
        }
        "dmaCompute" => {
            let srcs = [k.all(k.hbm("a", &[128, 512], F32)), k.all(k.hbm("b", &[128, 512], F32))];
            vec![Operator::DmaCompute(k.arena.alloc(DmaCompute {
                dst: k.all(k.sb("y", &[128, 512], F32)),
                srcs: k.arena.list(&srcs),
                scales: k.arena.list(&[float(1.0), float(-0.5)]),
                reduce_op: AluOp::Add,
            }))]
        }
        "ncLocalGather" => vec![Operator::NcLocalGather(k.arena.alloc(NcLocalGather {
            dst: k.all(k.sb("y", &[128, 64], BF16)),
            src: k.all(k.sb("x", &[128, 512], BF16)),
            index: k.all(k.sb("index", &[128, 4], U16)),
            num_elem_per_idx: int(1),
            num_valid_indicies: Some(int(64)),
        }))],
        "ncNGather" => vec![Operator::NcNGather(k.arena.alloc(NcNGather {
            dst: k.all(k.sb("y", &[128, 64], F32)),
            data: k.all(k.sb("x", &[128, 512], F32)),
            indices: k.all(k.sb("index", &[128, 64], U32)),
            dtype: None,
        }))],
        _ => {
            let mask: Vec<Immediate> = (0..32).map(|at| int((at + 1) % 32)).collect();
            vec![Operator::Shuffle(k.arena.alloc(Shuffle {
                dst: k.all(k.sb("y", &[32, 512], F32)),
                src: k.all(k.sb("x", &[32, 512], F32)),
                shuffle_mask: k.arena.list(&mask),
                dtype: None,
            }))]
        }
    }
}

/// Plain, and dynamic on either side.
fn copies<'a>(k: &Kit<'a>) -> Vec<Operator<'a>> {
    let x = k.sb("x", &[128, 8, 64], F32);
    let y = k.sb("y", &[128, 8, 64], F32);
    let row = k.sb("row", &[128, 64], F32);
    let dynamic = |tensor| {
        k.bir(BirAccessPattern {
            tensor,
            offset: 0,
            pattern: k.pairs(&[(512, 128), (1, 64)]),
            scalar_offset: Some(ScalarOffset::Reg("step")),
            vector_offset: None,
            indirect_dim: 1,
            dtype_override: None,
        })
    };
    let copy = |dst, src, engine| Operator::NcCopy(k.arena.alloc(NcCopy { dst, src, dtype: None, engine }));
    vec![
        Operator::RegisterMove(k.arena.alloc(RegisterMove { dst: "step", imm: 3 })),
        copy(k.all(y), k.all(x), Engine::Act),
        copy(k.all(row), dynamic(x), Engine::Dve),
        copy(dynamic(y), k.all(row), Engine::Dve),
    ]
}

/// Plain, on a queue with hardware generation, with a scalar offset in memory, with a vector offset, and added up.
fn dma_copies<'a>(k: &Kit<'a>) -> Vec<Operator<'a>> {
    let table = k.hbm("table", &[1024, 256], F32);
    let rows = k.sb("rows", &[32, 256], F32);
    let index = k.sb("index", &[32, 1], U32);
    let row = k.sb("row", &[1, 256], F32);
    let at = k.sb("at", &[1, 1], U32);
    let first = k.pattern(table, 0, &[(256, 32), (1, 256)]);
    let copy = NcDmaCopy {
        dst: k.all(rows),
        src: first,
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 3,
        unique_indices: true,
        head: Added(None),
        engine: Engine::Unassigned,
    };
    let access = |tensor: Tensor<'a>| match k.all(tensor) {
        TensorRef::Abstract(access) => access,
        _ => unreachable!("made so"),
    };
    let by_vector = k.offset(table, 32, (None, Some(access(index))));
    let by_scalar = k.offset(table, 1, (Some(ScalarOffset::Acc(access(at))), None));
    let list = [
        copy,
        NcDmaCopy { dge_mode: 2, oob_mode: DmaBounds::Skip, engine: Engine::Act, ..copy },
        NcDmaCopy { dst: k.all(row), src: by_scalar, dge_mode: 1, ..copy },
        NcDmaCopy { src: by_vector, dge_mode: 1, ..copy },
        NcDmaCopy {
            dst: by_vector,
            src: k.all(rows),
            compute_op: DgeComputeOp::Add,
            dge_mode: 1,
            unique_indices: false,
            ..copy
        },
    ];
    list.map(|copy| Operator::NcDmaCopy(k.arena.alloc(copy))).to_vec()
}

fn matmul<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    match operator {
        "ncMatMul" => {
            let x = k.sb("x", &[128, 128], BF16);
            let w = k.sb("w", &[128, 512], BF16);
            let y = k.psum("y", &[128, 512], F32);
            let out = k.sb("out", &[128, 512], F32);
            let product = NcMatMul {
                dst: k.all(y),
                stationary: k.all(x),
                moving: k.all(w),
                is_stationary_one_zero: false,
                is_moving_zero: false,
                is_transpose: false,
                tile_position: &[0, 0],
                tile_size: &[128, 128],
                perf_mode: MatmulPerfMode::None,
            };
            let product = Operator::NcMatMul(k.arena.alloc(product));
            let (dst, src) = (k.all(out), k.all(y));
            // Three are added up; the copy ends that, and the last stands alone.
            let copy = Operator::NcCopy(k.arena.alloc(NcCopy { dst, src, dtype: None, engine: Engine::Dve }));
            vec![product, product, product, copy, product]
        }
        "ncMatMulMX" => vec![Operator::NcMatMulMX(k.arena.alloc(MatMulMX {
            dst: k.all(k.psum("y", &[128, 512], F32)),
            stationary: k.all(k.sb("w", &[128, 128], Dtype::Float8E4m3fnX4)),
            moving: k.all(k.sb("x", &[128, 512], Dtype::Float8E4m3fnX4)),
            stationary_scale: k.pattern(k.sb("w_scale", &[128, 128], U8), 0, &[(128, 128), (1, 128)]),
            moving_scale: k.pattern(k.sb("x_scale", &[128, 512], U8), 0, &[(512, 128), (1, 512)]),
            tile_position: None,
            tile_size: None,
        }))],
        _ => vec![Operator::QuantizeMX(k.arena.alloc(QuantizeMX {
            dst: k.all(k.sb("y", &[128, 128], Dtype::Float8E4m3fnX4)),
            src: k.all(k.sb("x", &[128, 512], BF16)),
            dst_scale: k.all(k.sb("scale", &[128, 128], U8)),
        }))],
    }
}

fn select<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let dtype = None;
    let x = k.sb("x", &[128, 512], F32);
    let y = k.sb("y", &[128, 512], F32);
    let row = k.sb("row", &[128, 1], F32);
    let mask = k.sb("mask", &[128, 512], U8);
    let best = k.sb("best", &[128, 8], F32);
    let which = k.sb("which", &[128, 8], U32);
    let pattern = DataPattern { offset: 1, pattern: k.pairs(&[(1, 512)]), channel_multiplier: -1 };
    vec![match operator {
        "ncAffineSelect" => Operator::NcAffineSelect(k.arena.alloc(NcAffineSelect {
            dst: k.all(y),
            pred: pattern,
            on_true_tile: k.all(x),
            on_false_value: float(-1.0),
            dtype,
            cmp_op: AluOp::IsGe,
        })),
        "iota" => {
            let dst = k.all(k.sb("n", &[128, 512], I32));
            Operator::Iota(k.arena.alloc(Iota { dst, pattern, dtype }))
        }
        "ncRangeSelect" => {
            let high = k.sb("high", &[128, 1], F32);
            let select = NcRangeSelect {
                dst: k.all(y),
                reduce_command: AccumCmd::ZeroAccumulate,
                reduce_res: Some(k.all(k.sb("peak", &[128, 1], F32))),
                reduce_op: Some(AluOp::Max),
                comp_op0: AluOp::IsGe,
                comp_op1: AluOp::IsLt,
                bound0: k.all(row),
                bound1: k.all(high),
                range_start: float(0.0),
                on_true_tile: k.all(x),
                on_false_value: float(-1.0e30),
                dtype,
            };
            Operator::NcRangeSelect(k.arena.alloc(select))
        }
        "copyPredicated" => Operator::CopyPredicated(k.arena.alloc(CopyPredicated {
            dst: k.all(y),
            src: k.all(x),
            predicate: k.all(mask),
            dtype,
            reverse_pred: false,
        })),
        "selectReduce" => Operator::SelectReduce(k.arena.alloc(SelectReduce {
            dst: k.all(y),
            predicate: k.all(mask),
            on_true: k.all(x),
            on_false: Operand::Imm(float(0.0)),
            reduce_res: Some(k.all(row)),
            reduce_cmd: AccumCmd::ZeroAccumulate,
            reduce_op: AluOp::Max,
            reverse_pred: true,
            dtype,
        })),
        "max8" => Operator::Max8(k.arena.alloc(Max8 { dst: k.all(best), src: k.all(x), dtype })),
        "findIndex8" => {
            let find = FindIndex8 { dst: k.all(which), src: k.all(x), vals: k.all(best), dtype };
            Operator::FindIndex8(k.arena.alloc(find))
        }
        "matchReplace8" => {
            let replace = MatchReplace8 {
                dst: k.all(y),
                src: k.all(x),
                vals: k.all(best),
                replace_value: float(-1.0e30),
                dst_idx: None,
                dtype,
            };
            let both = MatchReplace8 { dst_idx: Some(k.all(which)), ..replace };
            return [replace, both].map(|op| Operator::MatchReplace8(k.arena.alloc(op))).to_vec();
        }
        "nonzeroWithCount" => Operator::NonzeroWithCount(k.arena.alloc(NonzeroWithCount {
            dst: k.all(k.sb("found", &[128, 513], I32)),
            src: k.all(x),
            index_offset: int(0),
            padding_val: int(-1),
        })),
        _ => Operator::SequenceBounds(k.arena.alloc(SequenceBounds {
            dst: k.all(k.sb("bounds", &[1, 512, 2], I32)),
            segment_ids: k.pattern(k.sb("ids", &[1, 512], I32), 0, &[(512, 1), (512, 1), (1, 512)]),
            dtype,
        })),
    }]
}

fn control<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let cell = k.hbm("cell", &[1, 1], I32);
    let move_to = |dst, imm| Operator::RegisterMove(k.arena.alloc(RegisterMove { dst, imm }));
    match operator {
        "registerMove" => vec![move_to("r", -7)],
        "registerAluOp" => vec![
            move_to("r", 0),
            Operator::RegisterAluOp(k.arena.alloc(RegisterAluOp {
                dst: "r",
                src: "r",
                imm: 1,
                op: AluOp::Add,
            })),
        ],
        "tensorLoad" => {
            vec![Operator::TensorLoad(k.arena.alloc(TensorLoad { dst: "r", src: k.all(cell) }))]
        }
        "tensorStore" => {
            vec![
                move_to("r", 1),
                Operator::TensorStore(k.arena.alloc(TensorStore { dst: k.all(cell), src: "r" })),
            ]
        }
        // In a block of its own: see the kernel with a loop for the other form.
        "cmpBranch" => vec![Operator::CmpBranch(k.arena.alloc(CmpBranch {
            reg1: "",
            reg2: "",
            imm: 0,
            op: BrCmpOp::Always,
            true_label: "entry",
            false_label: "",
        }))],
        "rankId" => vec![Operator::RankId(k.arena.alloc(RankId { dst: "rank" }))],
        "currentProcessingRankId" => {
            let group: &[&[i64]] = k.arena.list(&[k.arena.list(&[0i64, 1, 2, 3])]);
            let rank = CurrentProcessingRankId {
                dst: "rank",
                iteration_id: 1,
                channel_id: 2,
                num_channels: 4,
                replica_group: group,
            };
            vec![Operator::CurrentProcessingRankId(k.arena.alloc(rank))]
        }
        "coreBarrier" => {
            let data = k.tensor("data", &[128, 512], F32, Memory::SharedHbm, None);
            let barrier = CoreBarrier { data: k.all(data), cores: &[0, 1], engine: Engine::Pool };
            vec![Operator::CoreBarrier(k.arena.alloc(barrier)); 2]
        }
        _ => {
            let src = k.all(k.sb("x", &[128, 8], F32));
            let print = DevicePrint { src, print_prefix: "x = ", buffer: PrintOutputBuffer::Stderr };
            vec![Operator::DevicePrint(k.arena.alloc(print))]
        }
    }
}

fn random<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let y = k.sb("y", &[128, 512], F32);
    let state = k.sb("state", &[128, 6], U32);
    let engine = Engine::Pool;
    vec![match operator {
        "rng" => {
            let dst = k.all(k.sb("bits", &[128, 512], U32));
            Operator::Rng(k.arena.alloc(Rng { dst, engine: Engine::Dve }))
        }
        "rand2" => {
            let (min, max) = (Operand::Imm(float(0.0)), Operand::Imm(float(1.0)));
            Operator::Rand2(k.arena.alloc(Rand2 { dst: k.all(y), min, max }))
        }
        "randGetState" => Operator::RandGetState(k.arena.alloc(RandGetState { dst: k.all(state), engine })),
        "randSetState" => Operator::RandSetState(k.arena.alloc(RandSetState { src: k.all(state), engine })),
        _ => {
            let src = k.all(k.sb("seed", &[128, 1], U32));
            Operator::SetRngSeed(k.arena.alloc(SetRngSeed { src }))
        }
    }]
}

fn collective<'a>(operator: &str, k: &Kit<'a>) -> Vec<Operator<'a>> {
    let small = k.hbm("small", &[128, 512], F32);
    let other = k.hbm("other", &[128, 512], F32);
    let large = k.hbm("large", &[256, 512], F32);
    let list = |tensor: Tensor<'a>| k.arena.list(&[k.all(tensor)]);
    let ranks = |ranks: &[i64]| k.arena.list(ranks);
    let groups = ReplicaGroup::Literal(k.arena.list(&[ranks(&[0, 1]), ranks(&[2, 3])]));
    let op = CollectiveOp {
        dsts: list(other),
        srcs: list(small),
        op: None,
        replica_group: groups,
        concat_dim: None,
        source_target_pairs: None,
        channel_id: None,
        num_channels: None,
        head: Added(None),
    };
    let add = Some(AluOp::Add);
    vec![match operator {
        "allReduce" => Operator::AllReduce(k.arena.alloc(CollectiveOp { op: add, ..op })),
        "allGather" => {
            Operator::AllGather(k.arena.alloc(CollectiveOp { dsts: list(large), concat_dim: Some(0), ..op }))
        }
        "reduceScatter" => Operator::ReduceScatter(k.arena.alloc(CollectiveOp {
            srcs: list(large),
            op: add,
            concat_dim: Some(0),
            ..op
        })),
        "allToAll" => Operator::AllToAll(k.arena.alloc(op)),
        "collectivePermute" => {
            let pairs = k.arena.list(&[ranks(&[0, 1]), ranks(&[1, 0])]);
            Operator::CollectivePermute(k.arena.alloc(CollectiveOp {
                replica_group: ReplicaGroup::Unspecified,
                source_target_pairs: Some(pairs),
                ..op
            }))
        }
        "collectivePermuteImplicit" => {
            Operator::CollectivePermuteImplicit(k.arena.alloc(CollectiveOp { channel_id: Some(1), ..op }))
        }
        "collectivePermuteImplicitReduce" => {
            let third = k.hbm("third", &[128, 512], F32);
            let srcs = k.arena.list(&[k.all(small), k.all(third)]);
            let op = CollectiveOp { srcs, op: add, channel_id: Some(1), ..op };
            Operator::CollectivePermuteImplicitReduce(k.arena.alloc(op))
        }
        "sendRecv" => Operator::SendRecv(k.arena.alloc(SendRecv {
            dst: k.all(other),
            src: k.all(small),
            send_to_rank: int(1),
            recv_from_rank: int(1),
            pipe_id: int(0),
            use_gpsimd_dma: false,
        })),
        other => panic!("no kernel for {other}"),
    }]
}
