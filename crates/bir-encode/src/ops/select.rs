//! Selections by predicate, range and position; dropout; bounds (spec: isa-bundle 11.4).

use bir::enums::AluOpType;
use bir::ops::{CopyPredicated, Dropout, RangeSelect, TensorScalarAffineSelect};
use tpb_isa::{AccumCmd, AffineSelectCmp, AluOp, DropoutThresholdType, Field, Opcode, ReduceCmd, ReverseOps};

use super::scalar::two_tensors;
use super::tensor::three_tensors;
use super::{Words, one_of, read_accumulator};
use crate::context::Inst;
use crate::draft::{Draft, Numbers};
use crate::error::{On, Reason, Result, invalid};

pub(super) fn copy_predicated<'c>(inst: Inst<'c>, op: &CopyPredicated, opcode: Opcode) -> Result<Words<'c>> {
    let (predicate, data) = (inst.input(0)?, inst.input(1)?);
    let reverse = inst.value(op.reverse_pred, "reverse_pred")?;
    match opcode {
        Opcode::SELECT_REDUCE => {
            let mut word = two_tensors(inst, opcode, &predicate, &data, &inst.input(2)?)?;
            word.alu(Field::Op1, op.reduce_op)?.set(Field::ReverseOperands, ReverseOps(reverse.into()))?;
            word.accumulate(Field::AccumulatorCmd, op.accumulator_cmd)?;
            let mut words = vec![word];
            if inst.inst.outs.len() == 2 {
                words.push(read_accumulator(inst, Opcode::DVE_READ_ACCUMULATOR, &inst.output(1)?, false)?);
            }
            Ok(words)
        }
        Opcode::COPY_PREDICATED_SCALAR => {
            let out = inst.output(0)?;
            let mut word = Draft::new(inst, opcode)?;
            word.slot(Field::Pred, &predicate)?;
            let geometry = word.slot(Field::Dst, &out)?;
            word.dtype(Field::PredDtype, &predicate)?
                .dtype(Field::InDtype, &data)?
                .dtype(Field::OutDtype, &out)?;
            word.channels(&geometry)?.set(Field::ReversedPred, reverse)?;
            word.scalar(Field::Src0ImmSrc, Field::Src0Imm, data.scalar(Numbers::Bits(0))?)?;
            Ok(vec![word])
        }
        _ if reverse => invalid("reverse_pred exists for scalar data and with a reduction only"),
        _ => Ok(vec![three_tensors(inst, opcode, &predicate, &data)?]),
    }
}

/// The words of a CopyPredicated: there is no condition of the tables for it.
pub(crate) fn copy_predicated_words(inst: Inst<'_>, op: &CopyPredicated) -> Result<&'static [u8]> {
    let data = inst.input(1)?;
    let is_scalar =
        !data.is_tensor() || data.geometry()?.elements() == 1 && inst.output(0)?.geometry()?.elements() != 1;
    Ok(match (op.reduce_op != AluOpType::Bypass, is_scalar) {
        (true, _) if inst.inst.outs.len() == 2 => &[0xEA, 0x9B],
        (true, _) => &[0xEA],
        (false, true) => &[0xE8],
        (false, false) if data.argument.dtype() == inst.output(0)?.argument.dtype() => &[0x72],
        (false, false) => &[0x99],
    })
}

/// The only value that a RangeSelect fills with, and the largest base. spec: isa-bundle 11.4
const RANGE_FILL: f32 = -f32::MAX;
const RANGE_BASE: i32 = 1 << 24;

pub(super) fn range_select<'c>(inst: Inst<'c>, op: &RangeSelect) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::RANGE_SELECT)?;
    let geometry = word.slot(Field::Src, &data)?;
    let result = word.slot(Field::Dst, &out)?;
    if geometry.elements() != result.elements() {
        return invalid(format!(
            "source and destination differ in elements a partition: {} and {}",
            geometry.elements(),
            result.elements()
        ));
    }
    word.dtype_pair(Field::InOutDtype, &data, &out)?.channels(&geometry)?;
    let base = inst.value(op.base, "base")?;
    if !(0..=RANGE_BASE).contains(&base) {
        let range = Reason::Range { what: "base", value: base.into(), min: 0, max: RANGE_BASE.into() };
        return Err(range.into());
    }
    let fill = op.fill_value.ok_or(Reason::Unset("fill_value"))?;
    if fill != RANGE_FILL {
        return invalid(format!("fill_value is {fill:e}; the word fills with {RANGE_FILL:e} only"));
    }
    word.set(Field::Base, base as f32)?.set(Field::FillVal, RANGE_FILL)?;
    for (field, compare) in [(Field::CompOp0, op.compare_op0), (Field::CompOp1, op.compare_op1)] {
        use AluOpType as A;
        if !matches!(compare, A::IsEqual | A::IsGt | A::IsGe | A::IsLe | A::IsLt) {
            return invalid(format!("{} cannot compare with a bound", inst.name(compare)?));
        }
        word.alu(field, compare)?;
    }
    word.scalar(Field::Bound0Src, Field::Bound0, inst.input(1)?.scalar(Numbers::Arith)?)?;
    word.scalar(Field::Bound1Src, Field::Bound1, inst.input(2)?.scalar(Numbers::Arith)?)?;
    let command = AccumCmd::from_bir(inst.name(op.reduce_cmd)?, inst.generation())?;
    if command.0 > 3 {
        return invalid("reduce_cmd LoadAccumulate has no form in this word");
    }
    // The encoder writes max, whatever the key says.
    word.set(Field::ReduceCmd, ReduceCmd(command.0))?.set(Field::ReduceOp, AluOp::MAX)?;
    let mut words = vec![word];
    if inst.inst.outs.len() == 2 {
        words.push(read_accumulator(inst, Opcode::DVE_READ_ACCUMULATOR, &inst.output(1)?, false)?);
    }
    Ok(words)
}

pub(super) fn affine_select<'c>(inst: Inst<'c>, op: &TensorScalarAffineSelect) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    // spec: isa-bundle 15, G10
    let Some(register) = inst.context.options.fill_register else {
        return Err(Reason::Unsupported(
            "the register with the fill value is chosen by a rule that is not known; name one as the fill register",
        )
        .into());
    };
    let mut word = Draft::new(inst, Opcode::TENSOR_SCALAR_AFFINE_SELECT)?;
    word.generator(Field::MaskPattern, inst.value(op.base, "base")?, op.pattern.as_ref())?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype_pair(Field::InOutDtype, &data, &out)?.channels(&geometry)?;
    let compare = match op.compare_op {
        AluOpType::IsGt => 0,
        AluOpType::IsGe => 1,
        AluOpType::IsEqual => 2,
        AluOpType::NotEqual => 3,
        other => {
            let name = inst.name(other)?;
            return invalid(format!(
                "the mask cannot be compared by {name}: is_gt, is_ge, is_equal or not_equal"
            ));
        }
    };
    word.set(Field::FillMode, AffineSelectCmp(compare))?.set(Field::FillReg, register)?;
    word.set(Field::ChannelMultiplier, inst.value(op.channel_multiplier, "channel_multiplier")?)?;
    Ok(vec![word])
}

pub(super) fn dropout<'c>(inst: Inst<'c>, op: &Dropout) -> Result<Words<'c>> {
    let (data, threshold, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    if data.argument.dtype() != out.argument.dtype() {
        return invalid("Dropout gives the element type that it takes").on(out.at());
    }
    let mut word = Draft::new(inst, Opcode::DROPOUT)?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    let kind = 1 + u8::from(inst.value(op.is_keep_threshold, "is_keep_threshold")?);
    word.set(Field::ThresholdType, DropoutThresholdType(kind))?;
    word.scalar(Field::ThresholdSrc, Field::Threshold, threshold.scalar(Numbers::Bits(0))?)?;
    word.dtype(Field::ThresholdDtype, &threshold)?;
    Ok(vec![word])
}

pub(super) fn nonzero<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    use bir::enums::Dtype;
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    one_of(&data, &[Dtype::Float32, Dtype::Int32])?;
    one_of(&out, &[Dtype::Int32])?;
    let mut word = Draft::new(inst, Opcode::NONZERO_WITH_COUNT)?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    for (at, field) in [(1, Field::IndexOffset), (2, Field::PaddingVal)] {
        let operand = inst.input(at)?;
        one_of(&operand, &[Dtype::Int32])?;
        word.set(field, operand.immediate()? as i32)?;
    }
    Ok(vec![word])
}

pub(super) fn sequence_bounds<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::GET_SEQUENCE_BOUNDS)?;
    word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?;
    Ok(vec![word])
}
