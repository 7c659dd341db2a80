//! Search, batch normalisation and random numbers (spec: isa-bundle 11.4).

use bir::enums::Dtype;
use bir::ops::{BNBackprop, MatchReplace, MaxIndexAndMatchReplace};
use tpb_isa::{Field, Opcode, RandGenerator};

use super::tensor::{fill, three_tensors};
use super::{Words, one_of};
use crate::context::Inst;
use crate::draft::{Draft, Numbers};
use crate::error::{On, Reason, Result, invalid};
use crate::operand::{Geometry, Operand};

/// Values that the search words work with at a time.
const VALUES: i64 = 8;

/// The eight values as the search words walk over them: the last one first.
fn eight<'c>(word: &mut Draft<'c>, field: Field, operand: &Operand<'c>) -> Result<Geometry> {
    let geometry = operand.geometry()?;
    operand.check_alignment(&geometry, operand.dtype(word.opcode())?)?;
    let Some((step, VALUES)) = geometry.progression().filter(|_| geometry.is_static()) else {
        return invalid(
            "eight elements of each partition in one progression, at a plain address, are expected",
        )
        .on(operand.at());
    };
    // The address is that of the last of them. Inferred, spec: isa-bundle 11.4
    word.dims(field, operand, geometry.addr_at((VALUES - 1) * step), &[(-step, VALUES), (0, 1)])?;
    Ok(geometry)
}

fn no_index(operand: &Operand<'_>) -> Result<()> {
    match operand.geometry()?.index {
        Some(_) => invalid("this op cannot use an index tensor").on(operand.at()),
        None => Ok(()),
    }
}

pub(super) fn max<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    no_index(&data)?;
    let mut word = Draft::new(inst, Opcode::MAX8)?;
    let geometry = word.slot(Field::Src, &data)?;
    let elements = geometry.elements();
    if !(8..=16384).contains(&elements) {
        let what = "number of elements in each partition";
        return Err(Reason::Range { what, value: elements.into(), min: 8, max: 16384 }).on(data.at());
    }
    eight(&mut word, Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok(vec![word])
}

pub(super) fn max_index<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (values, data, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    no_index(&data)?;
    one_of(&out, &[Dtype::Uint16, Dtype::Uint32])?;
    let mut load = Draft::new(inst, Opcode::MATCH_VALUE_LOAD)?;
    let loaded = eight(&mut load, Field::Src, &values)?;
    load.dtype(Field::Dtype, &values)?.channels(&loaded)?;
    let mut word = Draft::new(inst, Opcode::FIND_INDEX8)?;
    let geometry = word.slot(Field::Src, &data)?;
    let result = word.slot(Field::Dst, &out)?;
    if result.elements() != VALUES {
        return invalid(format!(
            "the output has {} elements a partition; it needs {VALUES}",
            result.elements()
        ))
        .on(out.at());
    }
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok(vec![load, word])
}

pub(super) fn match_replace<'c>(inst: Inst<'c>, op: &MatchReplace) -> Result<Words<'c>> {
    replace(inst, op.imm_value)
}

fn replace<'c>(inst: Inst<'c>, value: Option<f32>) -> Result<Words<'c>> {
    let (values, data, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let mut load = Draft::new(inst, Opcode::MATCH_VALUE_LOAD)?;
    let loaded = load.slot(Field::Src, &values)?;
    load.dtype(Field::Dtype, &values)?.channels(&loaded)?;
    let mut word = Draft::new(inst, Opcode::MATCH_REPLACE8)?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.set(Field::Immediate, value.ok_or(Reason::Unset("imm_value"))?)?;
    Ok(vec![load, word])
}

pub(super) fn match_replace_and_index<'c>(inst: Inst<'c>, op: &MaxIndexAndMatchReplace) -> Result<Words<'c>> {
    let mut words = replace(inst, op.imm_value)?;
    let indices = inst.output(1)?;
    one_of(&indices, &[Dtype::Uint16, Dtype::Uint32])?;
    let mut word = Draft::new(inst, Opcode::DVE_READ_INDICES)?;
    let geometry = word.slot(Field::Dst, &indices)?;
    if geometry.elements() != VALUES {
        return invalid(format!("{} indices a partition; it needs {VALUES}", geometry.elements()))
            .on(indices.at());
    }
    word.dtype(Field::Dtype, &indices)?.channels(&geometry)?;
    words.push(word);
    Ok(words)
}

pub(super) fn bn_stats<'c>(inst: Inst<'c>, opcode: Opcode) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    no_index(&data)?;
    let (mut word, geometry) = batch_norm(inst, opcode, &data, &out)?;
    let elements = geometry.elements();
    output_elements(&out, 6)?;
    word.set(Field::EvenCount, (elements - elements / 2) as f32)?;
    word.set(Field::OddCount, (elements / 2) as f32)?;
    Ok(vec![word])
}

pub(super) fn bn_aggregate<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let (word, geometry) = batch_norm(inst, Opcode::BATCH_NORM_AGGREGATE, &data, &out)?;
    if geometry.elements() % 3 != 0 {
        return invalid(format!("{} elements a partition are not a multiple of 3", geometry.elements()))
            .on(data.at());
    }
    output_elements(&out, 2)?;
    Ok(vec![word])
}

fn batch_norm<'c>(
    inst: Inst<'c>,
    opcode: Opcode,
    data: &Operand<'c>,
    out: &Operand<'c>,
) -> Result<(Draft<'c>, Geometry)> {
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src, data)?;
    word.slot(Field::Dst, out)?;
    word.dtype(Field::InDtype, data)?.dtype(Field::OutDtype, out)?.channels(&geometry)?;
    Ok((word, geometry))
}

fn output_elements(out: &Operand<'_>, wanted: i64) -> Result<()> {
    match out.geometry()?.elements() {
        found if found == wanted => Ok(()),
        found => {
            invalid(format!("the output has {found} elements a partition; it needs {wanted}")).on(out.at())
        }
    }
}

pub(super) fn bn_gradients<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (x, dy, mean, factor) = (inst.input(0)?, inst.input(1)?, inst.input(2)?, inst.input(3)?);
    let out = inst.output(0)?;
    let mut word = Draft::new(inst, Opcode::BATCH_NORM_GRAD_ACCUMULATE)?;
    let geometry = word.slot(Field::Src0, &x)?;
    word.slot(Field::Src1, &dy)?;
    word.slot(Field::Dst, &out)?;
    output_elements(&out, 3)?;
    for (operand, field) in [(&mean, Field::Mean), (&factor, Field::Varfactor)] {
        let pointer = operand.geometry()?;
        if pointer.index.is_some() || pointer.elements() != 1 {
            return invalid("one element of each partition at a plain address is expected").on(operand.at());
        }
        word.builder().set(field, pointer.addr).on(operand.at())?;
    }
    if mean.argument.dtype() != factor.argument.dtype() {
        return invalid("mean and variance factor have one element type").on(factor.at());
    }
    word.dtype_pair(Field::In0In1Dtype, &x, &dy)?.dtype(Field::ImmDtype, &mean)?;
    word.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok(vec![word])
}

pub(super) fn bn_backprop<'c>(inst: Inst<'c>, op: &BNBackprop) -> Result<Words<'c>> {
    let (x, dy, coefficients, mean) = (inst.input(0)?, inst.input(1)?, inst.input(2)?, inst.input(3)?);
    let mut load = Draft::new(inst, Opcode::BATCH_NORM_PARAM_LOAD)?;
    let geometry = load.slot(Field::Src, &coefficients)?;
    load.dtype(Field::Dtype, &coefficients)?.channels(&geometry)?;
    load.set(Field::Imm1, op.total_elements.ok_or(Reason::Unset("total_elements"))?)?;
    load.scalar(Field::Imm0Src, Field::Imm0, mean.scalar(Numbers::Arith)?)?;
    let word = three_tensors(inst, Opcode::BATCH_NORM_BACK_PROP, &x, &dy)?;
    Ok(vec![load, word])
}

pub(super) fn rng<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    Ok(vec![fill(inst, Opcode::RNG, &inst.output(0)?)?])
}

/// Words of random state in each partition.
fn state_elements(inst: Inst<'_>) -> i64 {
    match inst.inst.engine {
        bir::enums::EngineType::Pool => 6,
        _ => 24,
    }
}

pub(super) fn get_state<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let out = inst.output(0)?;
    one_of(&out, &[Dtype::Uint32])?;
    output_elements(&out, state_elements(inst))?;
    let mut word = Draft::new(inst, Opcode::RAND_GET_STATE)?;
    let geometry = word.slot(Field::Dst, &out)?;
    word.dtype(Field::Dtype, &out)?.channels(&geometry)?;
    Ok(vec![word])
}

/// One word, from a tensor: what the second would be is not known. spec: isa-bundle 15, G3 and G11
pub(super) fn set_state<'c>(inst: Inst<'c>, opcode: Opcode) -> Result<Words<'c>> {
    let state = inst.input(0)?;
    if !state.is_tensor() {
        return invalid("the state must be a tensor in SB: how immediate state is written is not known")
            .on(state.at());
    }
    one_of(&state, &[Dtype::Uint32])?;
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src, &state)?;
    word.dtype(Field::InDtype, &state)?.channels(&geometry)?;
    word.set(Field::RandGenerator, RandGenerator(1))?;
    Ok(vec![word])
}

pub(super) fn rand2<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (low, high, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::RAND2)?;
    let geometry = word.slot(Field::Dst, &out)?;
    word.dtype(Field::Dtype, &out)?.channels(&geometry)?;
    word.scalar(Field::MinSrc, Field::Min, low.scalar(Numbers::Arith)?)?;
    word.scalar(Field::MaxSrc, Field::Max, high.scalar(Numbers::Arith)?)?;
    Ok(vec![word])
}
