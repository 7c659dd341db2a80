//! Registers, branches, semaphores, barriers, queues, ranks, calls and custom code (spec: isa-control-dma 3, 4, 7, 8).

use bir::access::ApPair;
use bir::enums::{BranchCompareOp, Dtype, EventSemaphoreClearMode, MemoryType};
use bir::ids::{BlockId, Ref};
use bir::ops::{
    Call, CompareAndBranch, CoreBarrier, CustomOp, GetCurProcessingRankID, GroupResetSemaphores, RegisterAlu,
    ResetQueueInstance, SwitchQueueInstance, UnconditionalBranch,
};
use bir::{Argument, OpenEnum};
use tpb_isa::{
    AluOp, Bitset256, BranchCompareOp as Compare, BranchTargetMode, DataSrc, Dtype as Wire, Field,
    Generation, Opcode, PseudoOpcode,
};

use super::Words;
use crate::context::Inst;
use crate::draft::{Draft, is_v2};
use crate::error::{On, Reason, Result, invalid};
use crate::operand::Operand;

/// Words with nothing but their wait and update.
pub(super) fn plain<'c>(inst: Inst<'c>, opcode: Opcode) -> Result<Words<'c>> {
    Ok(vec![Draft::new(inst, opcode)?])
}

pub(super) fn drain<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::DRAIN)?;
    // What fences use. spec: isa-control-dma 3.2
    word.set(Field::DrainCount, 1)?;
    Ok(vec![word])
}

pub(super) fn exit<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::PSEUDO_INST)?;
    word.set(Field::PseudoOpcode, PseudoOpcode(1))?;
    Ok(vec![word])
}

pub(super) fn reset_semaphores<'c>(inst: Inst<'c>, op: &GroupResetSemaphores) -> Result<Words<'c>> {
    let mut set = Bitset256([0; 32]);
    for id in &op.sema_group {
        let Ok(id) = u8::try_from(*id) else {
            let range = Reason::Range { what: "semaphore", value: (*id).into(), min: 0, max: 255 };
            return Err(range.into());
        };
        if set.contains(id) {
            return invalid(format!("semaphore {id} is in the group twice"));
        }
        set.insert(id);
    }
    let (Some(first), Some(last)) = (set.ids().next(), set.ids().last()) else {
        return invalid("the group of semaphores is empty");
    };
    let mut word = Draft::new(inst, Opcode::EVENT_SEMAPHORE_RANGE_CLEAR)?;
    let mode = tpb_isa::EventSemaphoreClearMode::from_bir(inst.name(op.mode)?, inst.generation())?;
    word.set(Field::ClearMode, mode)?;
    if op.mode == EventSemaphoreClearMode::SemaphoreZero {
        if let Some(hole) = (first..=last).find(|id| !set.contains(*id)) {
            return invalid(format!(
                "the word clears semaphores {first} to {last}, but {hole} is not in the group; use SemaphoreZeroBitmask"
            ));
        }
        word.set(Field::RangeFirst, first)?.set(Field::RangeLast, last)?;
    } else {
        word.set(Field::Bitmask, &set.0[..])?;
    }
    Ok(vec![word])
}

pub(super) fn core_barrier<'c>(inst: Inst<'c>, op: &CoreBarrier) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::PSEUDO_CORE_BARRIER)?;
    word.set(Field::Id, inst.value(op.id, "id")?)?;
    word.set(Field::Semaphore, inst.value(op.runtime_semaphore, "runtime_semaphore")?)?;
    Ok(vec![word])
}

/// Low and high half of a register; the second is 0 for one that is not wide.
fn halves(operand: &Operand<'_>) -> Result<[u8; 2]> {
    let (number, wide) = operand.register()?;
    Ok([number, if wide { number + 1 } else { 0 }])
}

fn is_64bit(operand: &Operand<'_>) -> bool {
    matches!(operand.argument.dtype(), Some(Dtype::Int64 | Dtype::Uint64))
}

pub(super) fn register_move<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (source, out) = (inst.input(0)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::MOVE)?;
    let [low, high] = halves(&out)?;
    let wide = is_64bit(&out) || high != 0;
    if wide {
        word.set(Field::NumMov, 2)?
            .set(Field::Dtype, Wire::INT32)?
            .set(Field::DstRegisters, &[low, high][..])?;
        if !source.argument.is_immediate() {
            return invalid("64 bits move from an immediate only").on(source.at());
        }
        word.set(Field::MoveSource, DataSrc(1))?;
        word.set(Field::Immediate, &source.immediate()?.to_le_bytes()[..])?;
        return Ok(vec![word]);
    }
    let dtype = match out.bir_dtype()? {
        Dtype::Float32 => Wire::FP32,
        Dtype::Uint32 => Wire::UINT32,
        Dtype::Int32 => Wire::INT32,
        other => {
            return invalid(format!("a register holds float32, uint32 or int32, not {}", inst.name(other)?))
                .on(out.at());
        }
    };
    word.set(Field::NumMov, 1)?.set(Field::Dtype, dtype)?.set(Field::DstRegisters, &[low][..])?;
    if source.argument.is_immediate() {
        word.set(Field::MoveSource, DataSrc(1))?;
        word.set(Field::Immediate, &low_32(&source)?.to_le_bytes()[..])?;
    } else {
        let (register, _) = source.register()?;
        if register == low {
            return invalid("source and destination are the same register");
        }
        word.set(Field::MoveSource, DataSrc(0))?.set(Field::SrcRegisters, &[register][..])?;
    }
    Ok(vec![word])
}

/// The low half of an immediate, which must be all of it.
fn low_32(operand: &Operand<'_>) -> Result<u32> {
    let bits = operand.immediate()?;
    let fits = bits <= u32::MAX.into() || bits >= i32::MIN as i64 as u64;
    match fits {
        true => Ok(bits as u32),
        false => {
            let (min, max) = (i32::MIN.into(), u32::MAX.into());
            let range = Reason::Range { what: "the immediate", value: (bits as i64).into(), min, max };
            Err(range).on(operand.at())
        }
    }
}

pub(super) fn register_alu<'c>(inst: Inst<'c>, op: &RegisterAlu) -> Result<Words<'c>> {
    let (left, right, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let mut word = Draft::new(inst, Opcode::ALU_OP)?;
    // Registers use the bytes of v2 on every generation.
    word.set(Field::Op, AluOp::from_bir(inst.name(op.op)?, Generation::V2)?)?;
    let wide = inst.value(op.is_64bit, "is_64bit")?;
    let types: &[Dtype] = if wide { &[Dtype::Uint64, Dtype::Int64] } else { &[Dtype::Uint32, Dtype::Int32] };
    super::one_of(&left, types)?;
    if wide {
        // spec: isa-control-dma 13, row 10
        word.set(Field::Dtype, Wire::UINT64)?;
    } else {
        word.dtype(Field::Dtype, &left)?.dtype(Field::DstDtype, &out)?;
    }
    let mut pair = |operand: &Operand<'c>, low: Field, high: Field| -> Result<()> {
        let [number, upper] = halves(operand)?;
        word.set(low, number)?;
        if wide {
            word.set(high, upper)?;
        }
        Ok(())
    };
    pair(&left, Field::Src0Lo, Field::Src0Hi)?;
    pair(&out, Field::DstLo, Field::DstHi)?;
    if right.argument.is_immediate() {
        let bits = if wide { right.immediate()? } else { low_32(&right)?.into() };
        word.set(Field::Src1Datasrc, DataSrc(1))?.set(Field::Immediate, bits)?;
    } else {
        pair(&right, Field::Src1Lo, Field::Src1Hi)?;
        word.set(Field::Src1Datasrc, DataSrc(0))?;
    }
    Ok(vec![word])
}

/// How a branch leaves its block.
pub(crate) struct Branch {
    /// Where it goes to; `None` when the next block follows anyway.
    pub(crate) target: Option<BlockId>,
    /// Whether the condition is turned round.
    pub(crate) negated: bool,
}

pub(crate) fn unconditional(op: &UnconditionalBranch, next: Option<BlockId>) -> Result<Branch> {
    let target = block(op.target, "target")?;
    Ok(Branch { target: (Some(target) != next).then_some(target), negated: false })
}

/// One edge is encoded; the other must lead to the next block. spec: isa-control-dma 4.4
pub(super) fn conditional(op: &CompareAndBranch, next: Option<BlockId>) -> Result<Branch> {
    let (on_true, on_false) = (block(op.on_true, "on_true")?, block(op.on_false, "on_false")?);
    if Some(on_false) == next {
        return Ok(Branch { target: Some(on_true), negated: false });
    }
    if Some(on_true) == next {
        return Ok(Branch { target: Some(on_false), negated: true });
    }
    invalid("one edge of a conditional branch must lead to the next block of the function")
}

fn block(target: Option<Ref<BlockId>>, key: &'static str) -> Result<BlockId> {
    let target = target.ok_or(Reason::Unset(key))?;
    target.id().ok_or_else(|| Reason::Invalid(format!("{key} names no block")).into())
}

pub(super) fn branch_word<'c>(
    inst: Inst<'c>,
    condition: Option<(&CompareAndBranch, bool)>,
) -> Result<Draft<'c>> {
    let mut word = Draft::new(inst, Opcode::COMPARE_BRANCH)?;
    word.set(Field::BrTargetMode, BranchTargetMode(3))?;
    let Some((op, negated)) = condition else { return Ok(word) };
    let (left, right) = (inst.input(0)?, inst.input(1)?);
    let name = inst.name(op.comp_op)?;
    let name = match negated {
        false => name,
        true => tpb_isa::maps::negated_branch(name).ok_or_else(|| {
            Reason::Invalid(format!("{name} has no opposite, which the order of blocks needs"))
        })?,
    };
    word.set(Field::CmpOp, Compare::from_bir(name, inst.generation())?)?.dtype(Field::Dtype, &left)?;
    word.set(Field::CmpReg0, left.register()?.0)?;
    let takes_register = op.comp_op.ordinal() >= BranchCompareOp::IsLtreg.ordinal();
    if right.argument.is_immediate() == takes_register {
        let (wanted, name) = (if takes_register { "a register" } else { "a number" }, inst.name(op.comp_op)?);
        return invalid(format!("{name} compares with {wanted}")).on(right.at());
    }
    if takes_register {
        word.set(Field::CmpReg1, right.register()?.0)?;
    } else {
        word.set(Field::CmpImmediate, low_32(&right)?)?;
    }
    Ok(word)
}

/// TensorLoad and TensorSave. The memory operand says which words.
pub(crate) fn memory_opcode(inst: Inst<'_>) -> Result<Opcode> {
    let save = matches!(inst.inst.op, bir::Op::TensorSave);
    let memory = if save { inst.output(0)? } else { inst.input(0)? };
    Ok(match (memory.argument, save) {
        (Argument::PhysicalAp(_), false) => Opcode::PSEUDO_TENSOR_LOAD,
        (Argument::PhysicalAp(_), true) => Opcode::PSEUDO_TENSOR_STORE,
        (Argument::RegisterAp(_), false) => Opcode::TENSOR_LOAD,
        (Argument::RegisterAp(_), true) => Opcode::TENSOR_STORE,
        (other, _) => {
            return invalid(format!("a physical or a register pattern is expected, not {}", other.kind()))
                .on(memory.at());
        }
    })
}

pub(super) fn memory<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let opcode = memory_opcode(inst)?;
    let save = matches!(inst.inst.op, bir::Op::TensorSave);
    let (memory, register) = match save {
        true => (inst.output(0)?, inst.input(0)?),
        false => (inst.input(0)?, inst.output(0)?),
    };
    let kind = memory.memory();
    if save && kind == Some(MemoryType::PSUM) {
        return invalid("TensorSave cannot write PSUM").on(memory.at());
    }
    if save && kind == Some(MemoryType::SB) && is_v2(inst) {
        return invalid("TensorSave cannot write SB on this generation").on(memory.at());
    }
    let mut word = Draft::new(inst, opcode)?;
    let mut times = 1;
    if memory.is(Dtype::Int64) {
        times = 2;
        word.set(Field::Dtype, Wire::INT32)?;
    } else {
        word.dtype(Field::Dtype, &memory)?;
    }
    let pairs: Vec<ApPair> = memory.argument.access_pattern().into_iter().flat_map(|ap| ap.iter()).collect();
    let mut dims: Vec<ApPair> = pairs.into_iter().rev().filter(|pair| pair.num != 1).collect();
    if dims.len() > 2 {
        return invalid(format!("it has {} dimensions; the word has two", dims.len())).on(memory.at());
    }
    dims.resize(2, ApPair { step: 1, num: 1 });
    word.builder().set(Field::NumElem0, dims[0].num * times).on(memory.at())?;
    word.builder().set(Field::NumElem1, dims[1].num).on(memory.at())?;
    word.builder().set(Field::StepElem0, dims[0].step).on(memory.at())?;
    word.builder().set(Field::StepElem1, dims[1].step).on(memory.at())?;
    match memory.argument {
        Argument::RegisterAp(arg) => {
            let reg = arg.regref.ok_or(Reason::Unset("regref"))?;
            let number = inst.context.register(reg).on(memory.at())?;
            let wide = reg.id().is_some_and(|reg| inst.context.module[reg].register_width > 1);
            word.set(Field::AddrRegLo, number)?.set(Field::AddrRegHi, if wide { number + 1 } else { 0 })?;
        }
        _ => {
            let (id, offset) = super::dma::variable_place(&memory)?;
            word.set(Field::VarId, id)?.set(Field::VarOffset, offset)?;
        }
    }
    let [low, high] = halves(&register)?;
    word.set(Field::DataRegLo, low)?.set(Field::DataRegHi, high)?;
    Ok(vec![word])
}

/// The current instance of a queue, by name.
pub(super) fn switch_queue<'c>(inst: Inst<'c>, op: &SwitchQueueInstance) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::PSEUDO_DMASWAP_QUEUE_SET)?;
    word.set(Field::InstanceName, instance(inst, op.instance)?)?;
    word.set(Field::NoRearm, inst.value(op.no_rearm, "no_rearm")?)?;
    Ok(vec![word])
}

pub(super) fn reset_queue<'c>(inst: Inst<'c>, op: &ResetQueueInstance) -> Result<Words<'c>> {
    if !inst.context.no_rearm {
        return invalid("a queue is armed again only in a module that switches one with no_rearm");
    }
    let mut word = Draft::new(inst, Opcode::PSEUDO_DMAREARM)?;
    word.set(Field::QueueName, instance(inst, op.instance)?)?;
    Ok(vec![word])
}

fn instance(inst: Inst<'_>, instance: Option<Ref<BlockId>>) -> Result<&str> {
    let module = inst.context.module;
    let instance = instance.ok_or(Reason::Unset("instance"))?;
    Ok(module.str(module.ref_name(instance)))
}

pub(super) fn rank_id<'c>(inst: Inst<'c>, op: &GetCurProcessingRankID) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::PSEUDO_CUR_PROCESSING_RANK_ID)?;
    let group = inst.context.group(op.replica_groups.as_deref().unwrap_or_default());
    word.set(Field::GroupId, group)?;
    word.set(Field::ChannelId, inst.value(op.channel_id, "channel_id")?)?;
    word.set(Field::IterationId, inst.value(op.iter_id, "iter_id")?)?;
    word.set(Field::StreamId, i64::from(inst.value(op.stream_id, "stream_id")?))?;
    word.set(Field::DstReg, inst.output(0)?.register()?.0)?;
    Ok(vec![word])
}

pub(super) fn global_rank<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let mut word = Draft::new(inst, Opcode::PSEUDO_GID_LOAD)?;
    word.set(Field::DstReg, inst.output(0)?.register()?.0)?;
    Ok(vec![word])
}

pub(super) fn call<'c>(inst: Inst<'c>, op: &Call) -> Result<Words<'c>> {
    let module = inst.context.module;
    let target = op.target.ok_or(Reason::Unset("target"))?;
    let mut word = Draft::new(inst, Opcode::PSEUDO_FUNCTION_CALL)?;
    word.set(Field::FunctionName, module.str(module.ref_name(target)))?;
    Ok(vec![word])
}

pub(super) fn tensor_completion<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (id, _) = super::dma::variable_place(&inst.input(0)?)?;
    let mut word = Draft::new(inst, Opcode::PSEUDO_TENSOR_COMPLETION)?;
    word.set(Field::TensorId, id)?;
    Ok(vec![word])
}

/// Most distinct functions of a module. spec: isa-control-dma 8
const CUSTOM_FUNCTIONS: usize = 254;

/// A header, the output, and the inputs in order.
pub(super) fn custom_op<'c>(inst: Inst<'c>, op: &CustomOp) -> Result<Words<'c>> {
    let (ins, outs) = (inst.inst.ins.len(), inst.inst.outs.len());
    if outs > 1 {
        return invalid(format!("a custom op has one output at most, not {outs}"));
    }
    let id = inst.context.custom_op(op.op_function_name, op.op_lib_file);
    if id >= CUSTOM_FUNCTIONS {
        return invalid(format!("this is function {id} of the module; there are {CUSTOM_FUNCTIONS} at most"));
    }
    let mut header = Draft::new(inst, Opcode::CUSTOM_OP_HEADER)?;
    header.set(Field::NumPayloads, if ins == 0 { 1 } else { ins + 2 })?;
    header.set(Field::FunctionId, id)?.set(Field::NumArguments, ins)?;
    let mut words = vec![header];
    let operands = (0..outs).map(|at| inst.output(at)).chain((0..ins).map(|at| inst.input(at)));
    for operand in operands {
        words.push(payload(inst, &operand?)?);
    }
    if outs == 0 {
        words.insert(1, Draft::new(inst, Opcode::CUSTOM_OP_PAYLOAD)?);
    }
    Ok(words)
}

/// A payload is a four-dimensional pattern at the start of its field.
fn payload<'c>(inst: Inst<'c>, operand: &Operand<'c>) -> Result<Draft<'c>> {
    let geometry = operand.geometry()?;
    if geometry.index.is_some() {
        return invalid("a custom op cannot use an index tensor").on(operand.at());
    }
    let dims = geometry.kept(4);
    let mut bytes = geometry.addr.0.to_le_bytes().to_vec();
    let unused = std::iter::repeat((1, 1));
    let dims: Vec<(i64, i64)> = dims.into_iter().chain(unused).take(4).collect();
    for (step, _) in &dims {
        let Ok(step) = i16::try_from(*step) else {
            let (min, max) = (i16::MIN.into(), i16::MAX.into());
            return Err(Reason::Range { what: "a step of its pattern", value: (*step).into(), min, max })
                .on(operand.at());
        };
        bytes.extend(step.to_le_bytes());
    }
    dims.iter().for_each(|(_, count)| bytes.extend((*count as u16).to_le_bytes()));
    let mut word = Draft::new(inst, Opcode::CUSTOM_OP_PAYLOAD)?;
    word.set(Field::AccessPattern, &bytes[..])?;
    Ok(word)
}

pub(super) fn sb_to_sb<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (data, out) = (inst.input(0)?, inst.output(0)?);
    if data.argument.dtype() != out.argument.dtype() {
        return invalid("source and destination have one element type").on(out.at());
    }
    let mut word = Draft::new(inst, Opcode::SB2SB_COLLECTIVE)?;
    let geometry = word.slot(Field::SrcMemPattern, &data)?;
    word.slot(Field::DstMemPattern, &out)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    // A pair of cores.
    word.set(Field::LncSizeFmt, 1)?;
    Ok(vec![word])
}
