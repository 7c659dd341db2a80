//! The tensor-scalar words and their relatives (spec: isa-bundle 11.4).

use bir::enums::{AluOpType, EngineAccumulationType, TSCMode};
use bir::ops::{Exponential, TensorScalar, TensorScalarCache, TensorScalarPtr};
use tpb_isa::{Field, Opcode};

use super::{Words, read_accumulator};
use crate::context::Inst;
use crate::draft::{Draft, Numbers, Scalar};
use crate::error::{On, Reason, Result, invalid};
use crate::operand::Operand;

/// Whether scalars of a word are integers as wide as the data.
fn numbers(opcode: Opcode, data: &Operand<'_>) -> Result<Numbers> {
    match tpb_isa::INTEGER_IMMEDIATE_OPCODES.contains(&opcode.0)
        || opcode == Opcode::SCALAR_TENSOR_TENSOR_BITVEC
    {
        true => Ok(Numbers::Bits(data.size()?)),
        false => Ok(Numbers::Arith),
    }
}

/// Source, destination, types and ops of a word with up to two scalars.
fn start<'c>(inst: Inst<'c>, opcode: Opcode, data: &Operand<'c>) -> Result<Draft<'c>> {
    let out = inst.output(0)?;
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src, data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok(word)
}

/// The accumulator command of the word: two results need one. spec: isa-bundle 11.4
fn command(inst: Inst<'_>, acc: EngineAccumulationType) -> EngineAccumulationType {
    match acc {
        EngineAccumulationType::Idle if inst.inst.outs.len() == 2 => EngineAccumulationType::ZeroAccumulate,
        acc => acc,
    }
}

/// The words behind a first one: the accumulator's, when there is a second output.
fn with_result<'c>(inst: Inst<'c>, word: Draft<'c>, negate: bool) -> Result<Words<'c>> {
    let mut words = vec![word];
    if inst.inst.outs.len() == 2 {
        words.push(read_accumulator(inst, Opcode::DVE_READ_ACCUMULATOR, &inst.output(1)?, negate)?);
    }
    Ok(words)
}

pub(super) fn tensor_scalar<'c>(inst: Inst<'c>, op: &TensorScalar, opcode: Opcode) -> Result<Words<'c>> {
    let data = inst.input(0)?;
    let mut word = start(inst, opcode, &data)?;
    let numbers = numbers(opcode, &data)?;
    let constants = [
        (op.const0, "const0", Field::Imm0Src, Field::Imm0),
        (op.const1, "const1", Field::Imm1Src, Field::Imm1),
    ];
    for (at, (constant, key, selector, field)) in constants.into_iter().enumerate() {
        // Scalars may also be operands. spec: opcodes 11.1, row 8
        let scalar = match (inst.optional_input(at + 1), constant) {
            (Some(operand), _) => operand.scalar(numbers)?,
            (None, Some(value)) if numbers == Numbers::Arith => Scalar::float(value),
            (None, Some(value)) => Scalar::Inline(whole(value, key, data.size()?)?),
            (None, None) => Scalar::Inline(0),
        };
        word.scalar(selector, field, scalar)?;
    }
    word.alu(Field::Op0, op.op0)?.alu(Field::Op1, op.op1)?;
    word.reverse(inst.value(op.reverse0, "reverse0")?, inst.value(op.reverse1, "reverse1")?)?;
    if opcode == Opcode::TENSOR_SCALAR_CACHE_REDUCE {
        word.accumulate(Field::AccumulatorCmd, EngineAccumulationType::ZeroAccumulate)?;
    }
    with_result(inst, word, false)
}

/// A constant of a bit-vector op as bits.
fn whole(value: f32, key: &'static str, size: u64) -> Result<u32> {
    if value.fract() != 0.0 || !value.is_finite() {
        return invalid(format!("{key} is {value}; a bit-vector op takes an integer"));
    }
    let bits = 8 * size.min(4) as u32;
    let (min, max) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
    let value = value as i128;
    if !(min..=max).contains(&value) {
        return Err(Reason::Range { what: key, value, min, max }.into());
    }
    Ok((value & ((1i128 << bits) - 1)) as u32)
}

pub(super) fn tensor_scalar_ptr<'c>(
    inst: Inst<'c>,
    op: &TensorScalarPtr,
    opcode: Opcode,
) -> Result<Words<'c>> {
    if opcode == Opcode::TENSOR_SCALAR_ADDR {
        // spec: isa-bundle 15, G2
        return Err(Reason::Unsupported("the slots of TensorScalarAddr (0x74) lie at unknown offsets").into());
    }
    let negate = inst.value(op.negate_second_output, "negate_second_output")?;
    let reverse = [inst.value(op.reverse0, "reverse0")?, inst.value(op.reverse1, "reverse1")?];
    if matches!(
        opcode,
        Opcode::SCALAR_TENSOR_TENSOR_ARITH
            | Opcode::SCALAR_TENSOR_TENSOR_BITVEC
            | Opcode::TENSOR_TENSOR_SCAN_ARITH
    ) {
        let mut word = two_tensors(inst, opcode, &inst.input(0)?, &inst.input(2)?, &inst.input(1)?)?;
        word.alu(Field::Op0, op.op0)?.alu(Field::Op1, op.op1)?.reverse(reverse[0], reverse[1])?;
        if opcode != Opcode::TENSOR_TENSOR_SCAN_ARITH {
            word.accumulate(Field::AccumulatorCmd, command(inst, op.acc))?;
        } else if op.acc != EngineAccumulationType::Idle || inst.inst.outs.len() == 2 {
            return invalid("a scan does not use the accumulator");
        }
        return with_result(inst, word, negate);
    }
    let data = inst.input(0)?;
    let numbers = numbers(opcode, &data)?;
    let mut word = start(inst, opcode, &data)?;
    word.scalar(Field::Imm0Src, Field::Imm0, inst.input(1)?.scalar(numbers)?)?;
    let op1 = match inst.optional_input(2) {
        Some(scalar) => {
            word.scalar(Field::Imm1Src, Field::Imm1, scalar.scalar(numbers)?)?;
            op.op1
        }
        None => AluOpType::Bypass,
    };
    word.alu(Field::Op0, op.op0)?.alu(Field::Op1, op1)?.reverse(reverse[0], reverse[1])?;
    if opcode == Opcode::TENSOR_SCALAR_CACHE_REDUCE {
        word.accumulate(Field::AccumulatorCmd, command(inst, op.acc))?;
    }
    with_result(inst, word, negate)
}

/// A word with two sources and a scalar, of two dimensions each.
pub(super) fn two_tensors<'c>(
    inst: Inst<'c>,
    opcode: Opcode,
    first: &Operand<'c>,
    second: &Operand<'c>,
    scalar: &Operand<'c>,
) -> Result<Draft<'c>> {
    let out = inst.output(0)?;
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src0, first)?;
    word.slot(Field::Src1, second)?;
    word.slot(Field::Dst, &out)?;
    word.dtype_pair(Field::In0In1Dtype, first, second)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    let value = scalar.scalar(numbers(opcode, first)?)?;
    word.scalar(Field::Imm0Src, Field::Imm0, value)?.dtype(Field::Imm0Dtype, scalar)?;
    Ok(word)
}

pub(super) fn tensor_scalar_cache<'c>(
    inst: Inst<'c>,
    op: &TensorScalarCache,
    opcode: Opcode,
) -> Result<Words<'c>> {
    let mut word = start(inst, opcode, &inst.input(0)?)?;
    word.scalar(Field::Imm0Src, Field::Imm0, inst.input(1)?.scalar(Numbers::Arith)?)?;
    if let Some(initial) = initial(inst, op.acc, matches!(op.mode, TSCMode::TensorScan))? {
        word.scalar(Field::Imm1Src, Field::Imm1, initial)?;
    }
    word.alu(Field::Op0, op.op0)?.alu(Field::Op1, op.op1)?;
    word.reverse(inst.value(op.reverse0, "reverse0")?, inst.value(op.reverse1, "reverse1")?)?;
    word.accumulate(Field::AccumulatorCmd, command(inst, op.acc))?;
    with_result(inst, word, false)
}

/// The value that the accumulator is loaded with. Without LoadAccumulate nothing looks at it: then it is absent or 0.
fn initial(inst: Inst<'_>, acc: EngineAccumulationType, may_load: bool) -> Result<Option<Scalar>> {
    let Some(operand) = inst.optional_input(2) else { return Ok(None) };
    let scalar = operand.scalar(Numbers::Arith)?;
    let is_zero = matches!(scalar, Scalar::Inline(bits) if bits << 1 == 0);
    if acc != EngineAccumulationType::LoadAccumulate && !is_zero && !may_load {
        return invalid("the accumulator is loaded only with acc LoadAccumulate; otherwise this is 0")
            .on(operand.at());
    }
    Ok(Some(scalar))
}

pub(super) fn exponential<'c>(inst: Inst<'c>, op: &Exponential) -> Result<Words<'c>> {
    let mut word = start(inst, Opcode::EXPONENTIAL, &inst.input(0)?)?;
    word.scalar(Field::Imm0Src, Field::Imm0, inst.input(1)?.scalar(Numbers::Arith)?)?;
    if let Some(initial) = initial(inst, op.reduce_cmd, false)? {
        word.scalar(Field::Imm1Src, Field::Imm1, initial)?;
    }
    word.accumulate(Field::AccumulatorCmd, command(inst, op.reduce_cmd))?;
    with_result(inst, word, false)
}
