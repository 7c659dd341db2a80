//! Activation functions and their tables (spec: isa-bundle 11.2).

use bir::enums::EngineAccumulationType;
use bir::ops::{Activation, LoadActFuncSet};
use tpb_isa::{AccumCmd, ActivationFuncId, Field, ImmSrc, Opcode, Place, ReduceCmd};

use super::{Words, read_accumulator};
use crate::context::Inst;
use crate::draft::{Draft, Numbers, Scalar};
use crate::error::{On, Reason, Result, invalid};
use crate::operand::Operand;

pub(super) fn activation<'c>(inst: Inst<'c>, op: &Activation) -> Result<Words<'c>> {
    if inst.value(op.is_activate2, "is_activate2")? {
        return activate2(inst, op);
    }
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let bias = inst.input(1)?;
    let mut word = Draft::new(inst, Opcode::ACTIVATE)?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype_pair(Field::InBiasDtype, &data, &bias)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.scalar_n(Field::BiasSrcN, Field::Bias, bias_scalar(&bias)?)?;
    let scale = match inst.optional_input(2) {
        Some(scale) => scale.scalar(Numbers::Arith)?,
        None => Scalar::float(op.scale),
    };
    word.scalar(Field::ScaleSrc, Field::ScaleValue, scale)?;
    let function = ActivationFuncId::from_bir(inst.name(op.func)?, inst.generation())?;
    word.set(Field::ActivationFunc, function)?;
    match function.0 {
        // The only function whose word has its parameter.
        4 => {
            let alpha = match inst.optional_input(3) {
                Some(alpha) => alpha.scalar(Numbers::Arith)?,
                None => Scalar::float(op.alpha),
            };
            word.scalar(Field::ImmSrc, Field::Imm, alpha)?;
        }
        128 | 129 => {
            word.set(Field::ImmSrc, ImmSrc(1))?;
        }
        _ => {}
    }
    let command = match op.acc {
        EngineAccumulationType::Idle => AccumCmd(3),
        acc => AccumCmd::from_bir(inst.name(acc)?, inst.generation())?,
    };
    word.set(Field::AccumulatorCmd, command)?;
    let mut words = vec![word];
    if inst.inst.outs.len() == 2 {
        words.push(read_accumulator(inst, Opcode::ACTIVATION_READ_ACCUMULATOR, &inst.output(1)?, false)?);
    }
    Ok(words)
}

/// A bias of a type narrower than float32 is a pointer only.
fn bias_scalar(bias: &Operand<'_>) -> Result<Scalar> {
    if bias.is_tensor() { bias.scalar(Numbers::Bits(0)) } else { bias.scalar(Numbers::Arith) }
}

fn activate2<'c>(inst: Inst<'c>, op: &Activation) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::ACTIVATE2)?;
    let source = word.slot(Field::Src, &data)?;
    let geometry = word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    let fields = [
        (Field::Imm0Src, Field::Imm0),
        (Field::Imm1Src, Field::Imm1),
        (Field::ReluParamSrc, Field::ReluParam),
    ];
    let mut quadrant = match source.addr.place() {
        Place::Sbuf { partition, .. } => Some(partition / 32),
        _ => None,
    };
    for (at, (selector, field)) in fields.into_iter().enumerate() {
        let Some(operand) = inst.optional_input(at + 1) else { continue };
        let scalar = operand.scalar(Numbers::Arith)?;
        // Pointers lie in the quadrant of a source in SB; all in one when it is in PSUM.
        if let Scalar::Pointer(addr) = scalar
            && let Place::Sbuf { partition, .. } = addr.place()
            && *quadrant.get_or_insert(partition / 32) != partition / 32
        {
            return invalid(format!("{addr} lies in another quadrant than the source or the other scalars"))
                .on(operand.at());
        }
        // Of the types, the last that is written stays.
        word.scalar(selector, field, scalar)?.dtype(Field::ImmDtype, &operand)?;
    }
    word.alu(Field::Op0, op.op0)?.alu(Field::Op1, op.op1)?.alu(Field::ReduceOp, op.reduce_op)?;
    word.reverse(inst.value(op.reverse0, "reverse0")?, inst.value(op.reverse1, "reverse1")?)?;
    let command = AccumCmd::from_bir(inst.name(op.acc)?, inst.generation())?;
    word.set(Field::ReduceCmd, ReduceCmd(command.0))?;
    word.set(Field::ActivationFunc, ActivationFuncId::from_bir(inst.name(op.func)?, inst.generation())?)?;
    Ok(vec![word])
}

pub(super) fn load_functions<'c>(inst: Inst<'c>, op: &LoadActFuncSet) -> Result<Words<'c>> {
    let set = inst.value(op.act_func_set_id, "act_func_set_id")?;
    if !(0..=255).contains(&set) {
        return Err(Reason::Range { what: "act_func_set_id", value: set.into(), min: 0, max: 255 }.into());
    }
    let mut word = Draft::new(inst, Opcode::ACTIVATION_TABLE_LOAD)?;
    word.set(Field::ActTblSel, i64::from(set))?;
    Ok(vec![word])
}
