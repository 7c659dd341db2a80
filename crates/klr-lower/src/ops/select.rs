//! Selection and search: predicates, ranges, largest values, generated indices.

use bir::enums::AluOpType;
use bir::ops::{
    CopyPredicated, Iota, MatchReplace, MaxIndexAndMatchReplace, Op, RangeSelect, TensorScalarAffineSelect,
};
use klr::ir;

use super::accumulate;
use crate::draft::Draft;
use crate::generated::maps::alu_op;
use crate::lowerer::Lowerer;
use crate::operand::{Result, float, int32, integer, number, pairs};

impl<'a> Lowerer<'a> {
    pub(super) fn affine_select(&mut self, op: &ir::NcAffineSelect<'a>) -> Result<Draft> {
        let select = TensorScalarAffineSelect {
            base: number::<_, i32>("offset", op.pred.offset)?.into(),
            pattern: Some(pairs(op.pred.pattern)?),
            channel_multiplier: number::<_, i32>("channelMultiplier", op.pred.channel_multiplier)?.into(),
            compare_op: alu_op(op.cmp_op),
            fill_value: fill(&op.on_false_value)?,
            ..TensorScalarAffineSelect::default()
        };
        Ok(Draft::new(select).input(self.tensor(&op.on_true_tile)?).output(self.tensor(&op.dst)?))
    }

    pub(super) fn iota(&mut self, op: &ir::Iota<'a>) -> Result<Draft> {
        let iota = Iota {
            base: number::<_, i32>("offset", op.pattern.offset)?.into(),
            pattern: Some(pairs(op.pattern.pattern)?),
            channel_multiplier: number::<_, i32>("channelMultiplier", op.pattern.channel_multiplier)?.into(),
            ..Iota::default()
        };
        Ok(Draft::new(iota).output(self.tensor(&op.dst)?))
    }

    pub(super) fn range_select(&mut self, op: &ir::NcRangeSelect<'a>) -> Result<Draft> {
        let base = match &op.range_start {
            ir::Immediate::Float32(start) if start.value().fract() == 0.0 => start.value() as i64,
            start => integer("rangeStart", start)?,
        };
        let select = RangeSelect {
            base: number::<_, i32>("rangeStart", base)?.into(),
            compare_op0: alu_op(op.comp_op0),
            compare_op1: alu_op(op.comp_op1),
            reduce_op: op.reduce_op.map_or(AluOpType::Bypass, alu_op),
            reduce_cmd: accumulate(op.reduce_command)?,
            fill_value: Some(fill(&op.on_false_value)?),
            ..RangeSelect::default()
        };
        Ok(Draft::new(select)
            .input(self.tensor(&op.on_true_tile)?)
            .input(self.tensor(&op.bound0)?)
            .input(self.tensor(&op.bound1)?)
            .output(self.tensor(&op.dst)?)
            .outputs(self.optional(op.reduce_res.as_ref())?))
    }

    pub(super) fn copy_predicated(&mut self, op: &ir::CopyPredicated<'a>) -> Result<Draft> {
        if op.reverse_pred {
            self.note("reversePred of copyPredicated is not read by the 2.24 backend: the predicate is not reversed");
        }
        Ok(Draft::new(CopyPredicated::default())
            .input(self.tensor(&op.predicate)?)
            .input(self.tensor(&op.src)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn select_reduce(&mut self, op: &ir::SelectReduce<'a>) -> Result<Draft> {
        let select = CopyPredicated {
            reverse_pred: op.reverse_pred.into(),
            reduce_op: alu_op(op.reduce_op),
            accumulator_cmd: accumulate(op.reduce_cmd)?,
            ..CopyPredicated::default()
        };
        Ok(Draft::new(select)
            .input(self.tensor(&op.predicate)?)
            .input(self.tensor(&op.on_true)?)
            .input(self.operand(&op.on_false)?)
            .output(self.tensor(&op.dst)?)
            .outputs(self.optional(op.reduce_res.as_ref())?))
    }

    pub(super) fn max8(&mut self, op: &ir::Max8<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::Max).input(self.tensor(&op.src)?).output(self.tensor(&op.dst)?))
    }

    pub(super) fn find_index8(&mut self, op: &ir::FindIndex8<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::MaxIndex)
            .input(self.tensor(&op.vals)?)
            .input(self.tensor(&op.src)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn match_replace8(&mut self, op: &ir::MatchReplace8<'a>) -> Result<Draft> {
        let imm_value = Some(float("replaceValue", &op.replace_value)?);
        let draft = match op.dst_idx {
            None => Draft::new(MatchReplace { imm_value, ..MatchReplace::default() }),
            Some(_) => {
                Draft::new(MaxIndexAndMatchReplace { imm_value, ..MaxIndexAndMatchReplace::default() })
            }
        };
        Ok(draft
            .input(self.tensor(&op.vals)?)
            .input(self.tensor(&op.src)?)
            .output(self.tensor(&op.dst)?)
            .outputs(self.optional(op.dst_idx.as_ref())?))
    }

    pub(super) fn nonzero_with_count(&mut self, op: &ir::NonzeroWithCount<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::NonzeroWithCount)
            .input(self.tensor(&op.src)?)
            .input(int32("indexOffset", integer("indexOffset", &op.index_offset)?)?)
            .input(int32("paddingVal", integer("paddingVal", &op.padding_val)?)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn sequence_bounds(&mut self, op: &ir::SequenceBounds<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::GetSequenceBounds)
            .input(self.tensor(&op.segment_ids)?)
            .output(self.tensor(&op.dst)?))
    }
}

/// A value that fills, as float32. An integer must be one.
fn fill(value: &ir::Immediate) -> Result<f32> {
    match value {
        ir::Immediate::Int32(value) if (*value as f32) as i64 == *value => Ok(*value as f32),
        value => float("onFalseValue", value),
    }
}
