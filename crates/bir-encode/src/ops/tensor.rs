//! Copies, reductions, fills and moves of whole tensors (spec: isa-bundle 11.3, 11.4).

use bir::enums::{AxisListType, MemsetMode, PoolFunctionType};
use bir::ops::{IndirectCopy, Iota, Memset, Pool, StreamShuffle, TensorReduce, TensorTensor};
use tpb_isa::build::Slot;
use tpb_isa::{CrossLaneReduceOp, Field, Opcode, PoolType, TensorSubDim};

use super::{Words, one_of};
use crate::context::Inst;
use crate::draft::Draft;
use crate::error::{On, Reason, Result, invalid};
use crate::operand::{Geometry, Operand};

/// Source, destination and types of a word with one input and one output.
fn copy<'c>(inst: Inst<'c>, opcode: Opcode) -> Result<(Draft<'c>, Geometry)> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src, &data)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok((word, geometry))
}

pub(super) fn copy_like<'c>(inst: Inst<'c>, opcode: Opcode) -> Result<Words<'c>> {
    let (word, _) = copy(inst, opcode)?;
    Ok(vec![word])
}

/// The number of partitions, rounded up to whole quadrants.
fn quadrants(channels: i64) -> i64 {
    (channels + 31) / 32 * 32
}

pub(super) fn stream_shuffle<'c>(inst: Inst<'c>, op: &StreamShuffle) -> Result<Words<'c>> {
    let (mut word, geometry) = copy(inst, Opcode::STREAM_SHUFFLE)?;
    let channels = geometry.channels.min(inst.output(0)?.geometry()?.channels);
    word.set(Field::NumActiveChannels, quadrants(channels))?;
    let entries = op.mask.as_ref().ok_or(Reason::Unset("mask"))?;
    let mut mask = [0u8; LANES];
    if entries.len() != LANES {
        return invalid(format!("the mask has {} entries; it needs {LANES}", entries.len()));
    }
    for (lane, entry) in mask.iter_mut().zip(entries) {
        *lane = match inst.value(*entry, "mask")? {
            255 => pass_through(channels),
            source @ 0..32 => source as u8,
            value => {
                let what = "an entry of the mask (or 255)";
                return Err(Reason::Range { what, value: value.into(), min: 0, max: 31 }.into());
            }
        };
    }
    Ok(vec![load_mask(inst, &mask)?, word])
}

const LANES: usize = 32;

/// The byte of a lane that keeps what it has.
fn pass_through(channels: i64) -> u8 {
    channels as u8 | 0x20
}

fn load_mask<'c>(inst: Inst<'c>, mask: &[u8; LANES]) -> Result<Draft<'c>> {
    let mut word = Draft::new(inst, Opcode::LOAD_MASK_SELECT)?;
    word.set(Field::Mask, &mask[..])?;
    Ok(word)
}

pub(super) fn stream_transpose<'c>(inst: Inst<'c>, opcodes: &[u8]) -> Result<Words<'c>> {
    let data = inst.input(0)?;
    let geometry = data.geometry()?;
    if geometry.index.is_some() {
        return invalid("the source of a transpose cannot use an index tensor").on(data.at());
    }
    if geometry.kept(4).len() > 3 {
        return invalid("the source of a transpose has at most three free dimensions").on(data.at());
    }
    let (mut word, _) = copy(inst, Opcode::STREAM_TRANSPOSE)?;
    let channels = inst.output(0)?.geometry()?.channels;
    word.set(Field::NumActiveChannels, quadrants(channels))?;
    let mut words = Words::new();
    if opcodes.first() == Some(&Opcode::LOAD_MASK_SELECT.0) {
        // Every lane from itself. Inferred, spec: isa-bundle 15, G3
        let mask = std::array::from_fn(|lane| lane as u8);
        words.push(load_mask(inst, &mask)?);
    }
    words.push(word);
    Ok(words)
}

pub(super) fn tensor_tensor<'c>(inst: Inst<'c>, op: &TensorTensor, opcode: Opcode) -> Result<Words<'c>> {
    if op.acc != bir::enums::EngineAccumulationType::Idle {
        return invalid("acc has no place in the word");
    }
    let mut word = three_tensors(inst, opcode, &inst.input(0)?, &inst.input(1)?)?;
    word.alu(Field::Op, op.op)?;
    Ok(vec![word])
}

/// The word with two sources. spec: isa-bundle 14, row 1
pub(super) fn three_tensors<'c>(
    inst: Inst<'c>,
    opcode: Opcode,
    first: &Operand<'c>,
    second: &Operand<'c>,
) -> Result<Draft<'c>> {
    let out = inst.output(0)?;
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Src0, first)?;
    word.slot(Field::Src1, second)?;
    word.slot(Field::Dst, &out)?;
    word.dtype_pair(Field::In0In1Dtype, first, second)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    Ok(word)
}

pub(super) fn tensor_reduce<'c>(inst: Inst<'c>, op: &TensorReduce, opcode: Opcode) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let negate = inst.value(op.negate, "negate")?;
    if matches!(op.axis, AxisListType::C | AxisListType::XYZWC) {
        return cross_lane(inst, op, opcode, negate);
    }
    let axis = inst.name(op.axis)?;
    let mut word = Draft::new(inst, opcode)?;
    // A reduced dimension of one element is one all the same: without it the next would be reduced.
    let geometry = word.slot_with_inner(Field::Src, &data, axis.len())?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.alu(Field::Op, op.op)?.set(Field::Negated, negate)?;
    word.set(Field::OpDim, TensorSubDim::from_bir(axis, inst.generation())?)?;
    Ok(vec![word])
}

/// A reduction over partitions. spec: isa-bundle 11.3
fn cross_lane<'c>(inst: Inst<'c>, op: &TensorReduce, opcode: Opcode, negate: bool) -> Result<Words<'c>> {
    if negate {
        return invalid("a reduction over partitions cannot negate");
    }
    let name = inst.name(op.op)?;
    let Some(reduce) = CrossLaneReduceOp::from_bir(name) else {
        return invalid(format!(
            "a reduction over partitions cannot {name}; it has add, average, max, bitwise_or, bitwise_and and bitwise_xor"
        ));
    };
    let (mut word, geometry) = copy(inst, opcode)?;
    if geometry.index.is_some() {
        return invalid("a reduction over partitions cannot use an index tensor").on(inst.input(0)?.at());
    }
    word.set(Field::ReduceOp, reduce)?.set(Field::ReduceAxis, op.axis == AxisListType::C)?;
    if name == "average" {
        let elements = match op.axis {
            AxisListType::C => geometry.channels,
            _ => geometry.channels * geometry.elements(),
        };
        word.set(Field::Scale, 1.0 / elements as f32)?;
    }
    Ok(vec![word])
}

pub(super) fn pool<'c>(inst: Inst<'c>, op: &Pool) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::POOL)?;
    // All dimensions count: the two inner ones are the window.
    let geometry = word.slot_with_inner(Field::Src, &data, 4)?;
    word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.set(Field::PoolFunc, PoolType::from_bir(inst.name(op.func)?, inst.generation())?)?;
    let scale = match (op.func, &geometry.dims[..]) {
        (PoolFunctionType::Max, _) => 1.0,
        (_, [_, _, rows, columns]) if geometry.index.is_none() => 1.0 / (rows.num * columns.num) as f32,
        _ => {
            return invalid(
                "the average needs an input of five dimensions without an index tensor, the window inside",
            )
            .on(data.at());
        }
    };
    word.set(Field::PoolScale, scale)?;
    Ok(vec![word])
}

/// A word that only writes. Elements of each partition stand in it.
pub(super) fn fill<'c>(inst: Inst<'c>, opcode: Opcode, out: &Operand<'c>) -> Result<Draft<'c>> {
    let mut word = Draft::new(inst, opcode)?;
    let geometry = word.slot(Field::Dst, out)?;
    word.dtype(Field::Dtype, out)?.channels(&geometry)?;
    word.set(Field::DstElementCount, geometry.elements())?;
    Ok(word)
}

pub(super) fn memset<'c>(inst: Inst<'c>, op: &Memset) -> Result<Words<'c>> {
    let opcode = match op.mode {
        MemsetMode::Random => Opcode::RNG,
        _ => Opcode::MEMSET,
    };
    let mut word = fill(inst, opcode, &inst.output(0)?)?;
    if opcode == Opcode::MEMSET {
        word.set(Field::SetValue, inst.value(op.constant, "constant")?)?;
    }
    Ok(vec![word])
}

pub(super) fn iota<'c>(inst: Inst<'c>, op: &Iota) -> Result<Words<'c>> {
    let out = inst.output(0)?;
    let mut word = Draft::new(inst, Opcode::IOTA)?;
    word.generator(Field::Pattern, inst.value(op.base, "base")?, op.pattern.as_ref())?;
    let geometry = word.slot(Field::Dst, &out)?;
    let made = op.pattern.as_ref().and_then(|pattern| pattern.elements());
    if made.map(i128::from) != Some(geometry.elements().into()) {
        let made = made.unwrap_or(0);
        return invalid(format!(
            "the pattern makes {made} elements, but the output has {} in each partition",
            geometry.elements()
        ));
    }
    word.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.set(Field::ChannelMultiplier, inst.value(op.channel_multiplier, "channel_multiplier")?)?;
    Ok(vec![word])
}

/// Table elements that one pair of words takes. spec: isa-bundle 11.3
const GATHER_CHUNK: i64 = 512;

pub(super) fn gather<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (table, indices, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let geometry = table.geometry()?;
    let Some((step, elements)) = geometry.progression().filter(|_| geometry.is_static()) else {
        return invalid("the table must be one progression of elements at a plain address").on(table.at());
    };
    let mut words = Words::new();
    for (nth, start) in (0..elements).step_by(GATHER_CHUNK as usize).enumerate() {
        let count = GATHER_CHUNK.min(elements - start);
        let mut load = Draft::new(inst, Opcode::POOL_BUFFER_LOAD)?;
        load.dims(Field::Src, &table, geometry.addr_at(start * step), &[(step, count)])?;
        load.dtype(Field::InDtype, &table)?.channels(&geometry)?.set(Field::ElementCount, count)?;
        words.push(load);
        // Which operand each word reads is strong, not confirmed. spec: isa-bundle 15, G9
        let mut word = Draft::new(inst, Opcode::GATHER)?;
        let source = word.slot(Field::Src, &indices)?;
        word.slot(Field::Dst, &out)?;
        word.dtype(Field::InDtype, &indices)?.dtype(Field::OutDtype, &out)?.channels(&source)?;
        word.set(Field::Continuation, nth > 0)?;
        words.push(word);
    }
    Ok(words)
}

pub(super) fn indirect_copy<'c>(inst: Inst<'c>, op: &IndirectCopy) -> Result<Words<'c>> {
    let (data, indices, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let (values, places) = (data.geometry()?, indices.geometry()?);
    for (operand, geometry) in [(&data, &values), (&indices, &places)] {
        if !geometry.is_static() {
            return invalid("IndirectCopy takes plain patterns").on(operand.at());
        }
    }
    one_of(&indices, &[bir::enums::Dtype::Uint16])?;
    let mut word = Draft::new(inst, Opcode::INDIRECT_COPY)?;
    let valid = match inst.value(op.num_valid_indices, "num_valid_indices")? {
        0 => places.elements(),
        valid => valid.into(),
    };
    let slot = Slot::Indirect { index: places.addr, data: values.addr, count: valid };
    word.builder().slot(Field::Src, &slot).on(data.at())?;
    let result = word.slot(Field::Dst, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&values)?;
    if valid == 0 || result.elements() % valid != 0 {
        return invalid(format!(
            "{} output elements are not a multiple of {valid} indices",
            result.elements()
        ));
    }
    word.set(Field::SrcNumElemPerIdx, result.elements() / valid)?;
    word.set(Field::SrcBufferSize, values.elements())?;
    Ok(vec![word])
}
