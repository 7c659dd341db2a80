//! Arithmetic: activations, tensor-scalar and tensor-tensor forms, reductions.

use bir::Argument;
use bir::enums::{AluOpType, AxisListType, Dtype, EngineAccumulationType, EngineType, TSCMode};
use bir::ops::{
    Activation, BNStats, Dropout, DveReadAccumulator, Exponential, Op, TensorReduce, TensorScalarCache,
    TensorScalarPtr, TensorTensor,
};
use klr::ir;

use super::{accumulate, reversed};
use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps::{activation_func, alu_op, engine, tensor_sub_dim};
use crate::lowerer::Lowerer;
use crate::operand::{Result, float, float32};

impl<'a> Lowerer<'a> {
    /// One input, one output.
    fn unary(
        &mut self,
        op: impl Into<Op>,
        src: &ir::TensorRef<'a>,
        dst: &ir::TensorRef<'a>,
    ) -> Result<Draft> {
        Ok(Draft::new(op).input(self.tensor(src)?).output(self.tensor(dst)?))
    }

    /// Inputs: data, bias, scale, alpha.
    pub(super) fn activate(&mut self, op: &ir::NcActivate<'a>) -> Result<Draft> {
        if let Some(reduce) = op.reduce_op
            && reduce != ir::AluOp::Add
        {
            return Err(ProblemKind::ActivationReduce { op: reduce.name() });
        }
        let data = self.tensor(&op.src)?;
        let dst = self.tensor(&op.dst)?;
        let bias = match &op.bias {
            Some(bias) => self.tensor(bias)?,
            None => {
                let rows =
                    data.access_pattern().and_then(|pattern| pattern.get(0)).map_or(1, |pair| pair.num);
                self.zero_bias(rows)
            }
        };
        let (scale, scale_key) = match &op.scale {
            ir::Operand::Imm(scale) => {
                let scale = float("scale", scale)?;
                (float32(scale), scale)
            }
            ir::Operand::Tile(scale) => (self.tensor(scale)?, 1.0),
        };
        let activation = Activation {
            func: activation_func(op.activation_func),
            acc: accumulate(op.accumulator_cmd)?,
            scale: scale_key,
            ..Activation::default()
        };
        Ok(Draft::new(activation)
            .inputs([data, bias, scale, float32(0.0)])
            .output(dst)
            .outputs(self.optional(op.reduce_res.as_ref())?))
    }

    pub(super) fn activate2(&mut self, op: &ir::Activate2<'a>) -> Result<Draft> {
        let activation = Activation {
            func: activation_func(op.activation_func),
            acc: accumulate(op.reduce_cmd)?,
            is_activate2: true.into(),
            op0: alu_op(op.op0),
            op1: alu_op(op.op1),
            reverse0: op.reverse0.into(),
            reverse1: op.reverse1.into(),
            reduce_op: alu_op(op.reduce_op),
            ..Activation::default()
        };
        Ok(Draft::new(activation)
            .input(self.tensor(&op.src)?)
            .input(self.operand(&op.imm0)?)
            .input(self.operand(&op.imm1)?)
            .input(self.operand(&op.relu_param)?)
            .output(self.tensor(&op.dst)?)
            .outputs(self.optional(op.reduce_res.as_ref())?))
    }

    pub(super) fn batch_norm_aggregate(&mut self, op: &ir::BatchNormAggregate<'a>) -> Result<Draft> {
        self.unary(Op::BNStatsAggregate, &op.src, &op.dst)
    }

    pub(super) fn batch_norm_stats(&mut self, op: &ir::BatchNormStats<'a>) -> Result<Draft> {
        self.unary(BNStats::default(), &op.src, &op.dst)
    }

    pub(super) fn reciprocal(&mut self, op: &ir::Reciprocal<'a>) -> Result<Draft> {
        self.unary(Op::Reciprocal, &op.src, &op.dst)
    }

    pub(super) fn dropout(&mut self, op: &ir::Dropout<'a>) -> Result<Draft> {
        let keep = op.threshold_type == ir::DropoutThresholdType::KeepRate;
        let dropout = Dropout { is_keep_threshold: keep.into(), ..Dropout::default() };
        Ok(Draft::new(dropout)
            .input(self.tensor(&op.src)?)
            .input(self.operand(&op.threshold)?)
            .output(self.tensor(&op.dst)?))
    }

    /// The reduction is read by a second instruction.
    pub(super) fn exponential(&mut self, op: &ir::Exponential<'a>) -> Result<Vec<Draft>> {
        let exponential = Exponential { reduce_cmd: accumulate(op.reducecmd)?, ..Exponential::default() };
        let mut drafts = vec![
            Draft::new(exponential)
                .on(EngineType::DVE)
                .input(self.tensor(&op.src)?)
                .input(self.operand(&op.max_value)?)
                .input(self.operand(&op.reduce_init)?)
                .output(self.tensor(&op.dst)?),
        ];
        if let Some(result) = self.optional(op.reduce_res.as_ref())? {
            drafts.push(Draft::new(DveReadAccumulator::default()).on(EngineType::DVE).output(result));
        }
        Ok(drafts)
    }

    pub(super) fn quantize_mx(&mut self, op: &ir::QuantizeMX<'a>) -> Result<Draft> {
        let draft = self.unary(Op::QuantizeMx, &op.src, &op.dst)?.on(EngineType::DVE);
        Ok(draft.output(self.tensor(&op.dst_scale)?))
    }

    pub(super) fn tensor_reduce(&mut self, op: &ir::TensorReduce<'a>) -> Result<Draft> {
        let reduce = TensorReduce {
            op: alu_op(op.op),
            axis: tensor_sub_dim(op.op_dim),
            negate: op.negated.into(),
            ..TensorReduce::default()
        };
        self.unary(reduce, &op.src, &op.dst)
    }

    pub(super) fn tensor_partition_reduce(&mut self, op: &ir::TensorPartitionReduce<'a>) -> Result<Draft> {
        let reduce = TensorReduce { op: alu_op(op.op), axis: AxisListType::C, ..TensorReduce::default() };
        self.unary(reduce, &op.data, &op.dst)
    }

    pub(super) fn tensor_scalar(&mut self, op: &ir::TensorScalar<'a>) -> Result<Draft> {
        let dst = self.tensor(&op.dst)?;
        let is_address = matches!(dst.dtype(), Some(Dtype::Int64 | Dtype::Uint64));
        let [reverse0, reverse1] = reversed(op.reverse);
        let scalar = TensorScalarPtr {
            op0: alu_op(op.op0),
            op1: op.op1.map_or(AluOpType::Bypass, alu_op),
            reverse0,
            reverse1,
            is_tensor_scalar_addr: is_address.into(),
            ..TensorScalarPtr::default()
        };
        Ok(Draft::new(scalar)
            .on(engine(op.engine))
            .input(self.tensor(&op.src)?)
            .input(self.operand(&op.imm0)?)
            .inputs(self.optional_operand(op.imm1.as_ref())?)
            .output(dst))
    }

    pub(super) fn tensor_scalar_reduce(&mut self, op: &ir::TensorScalarReduce<'a>) -> Result<Draft> {
        let acc = match op.head.0 {
            // Schema head says the command; what it starts from has no place.
            Some(head) => {
                if head.reduce_init.is_some() {
                    self.note("reduceInit of tensorScalarReduce has no place in BIR");
                }
                accumulate(head.reduce_cmd)?
            }
            None => EngineAccumulationType::ZeroAccumulate,
        };
        let scalar = TensorScalarPtr {
            op0: alu_op(op.op0),
            op1: op.reduce_op.map_or(AluOpType::Bypass, alu_op),
            reverse0: op.reverse0.into(),
            acc,
            ..TensorScalarPtr::default()
        };
        Ok(Draft::new(scalar)
            .input(self.tensor(&op.src)?)
            .input(self.operand(&op.operand0)?)
            .output(self.tensor(&op.dst)?)
            .output(self.tensor(&op.reduce_res)?))
    }

    pub(super) fn tensor_scalar_cumulative(&mut self, op: &ir::TensorScalarCumulative<'a>) -> Result<Draft> {
        let [reverse0, reverse1] = reversed(op.reverse);
        let cache = TensorScalarCache {
            mode: TSCMode::Cumulative,
            acc: accumulate(op.reduce_cmd)?,
            op0: alu_op(op.op0),
            op1: alu_op(op.op1),
            reverse0,
            reverse1,
            ..TensorScalarCache::default()
        };
        Ok(Draft::new(cache)
            .on(EngineType::DVE)
            .input(self.tensor(&op.src)?)
            .input(self.operand(&op.imm0)?)
            .inputs(self.optional_operand(op.imm1.as_ref())?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn tensor_tensor(&mut self, op: &ir::TensorTensor<'a>) -> Result<Draft> {
        let tensor = TensorTensor { op: alu_op(op.op), ..TensorTensor::default() };
        Ok(Draft::new(tensor)
            .on(engine(op.engine))
            .input(self.tensor(&op.src0)?)
            .input(self.tensor(&op.src1)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn scalar_tensor_tensor(&mut self, op: &ir::NcScalarTensorTensor<'a>) -> Result<Draft> {
        let [reverse0, reverse1] = reversed(op.reverse_operands);
        let scalar = TensorScalarPtr {
            op0: alu_op(op.op0),
            op1: alu_op(op.op1),
            reverse0,
            reverse1,
            is_scalar_tensor_tensor: true.into(),
            ..TensorScalarPtr::default()
        };
        Ok(Draft::new(scalar)
            .input(self.tensor(&op.data)?)
            .input(self.operand(&op.src0)?)
            .input(self.operand(&op.src1)?)
            .output(self.tensor(&op.dst)?))
    }

    /// The start value stands between the two tensors.
    pub(super) fn tensor_tensor_scan(&mut self, op: &ir::TensorTensorScan<'a>) -> Result<Draft> {
        let [reverse0, reverse1] = reversed(op.reverse_operands);
        let scan = TensorScalarPtr {
            op0: alu_op(op.op0),
            op1: alu_op(op.op1),
            reverse0,
            reverse1,
            acc: accumulate(op.accumulator_cmd)?,
            is_tensor_tensor_scan: true.into(),
            is_scalar_tensor_tensor: true.into(),
            ..TensorScalarPtr::default()
        };
        let inputs: [Argument; 3] = [self.tensor(&op.src0)?, self.operand(&op.imm0)?, self.tensor(&op.src1)?];
        Ok(Draft::new(scan).inputs(inputs).output(self.tensor(&op.dst)?))
    }
}
