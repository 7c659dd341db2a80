//! From an instruction to its words: which encoder makes them.

mod activation;
pub(crate) mod control;
pub(crate) mod dma;
mod pe;
mod scalar;
pub(crate) mod select;
mod tensor;
mod vector;

use bir::Op;
use bir::enums::Dtype;
use bir::ids::BlockId;
use bir::op_info::OpInfo;
use bir::records::SyncUpdate;
use tpb_isa::{Field, Opcode};

use crate::context::Inst;
use crate::draft::Draft;
use crate::error::{On, Reason, Result, invalid, never};
use crate::operand::Operand;

/// The words of an instruction, in stream order.
pub(crate) type Words<'c> = Vec<Draft<'c>>;

/// What an encoder must know beside the instruction.
pub(crate) struct Place<'p> {
    /// The block that follows in the function.
    pub(crate) next: Option<BlockId>,
    /// Names of queue instances.
    pub(crate) instances: &'p dma::Instances,
    /// Whether the stationary tensor of a Matmult must be loaded.
    pub(crate) load_weights: bool,
    /// Update of a transfer, which stands in its word.
    pub(crate) update: Option<&'p SyncUpdate>,
}

/// The words, and the block that the last of them branches to.
pub(crate) struct Encoded<'c> {
    pub(crate) words: Words<'c>,
    pub(crate) target: Option<BlockId>,
}

impl<'c> From<Words<'c>> for Encoded<'c> {
    fn from(words: Words<'c>) -> Self {
        Encoded { words, target: None }
    }
}

/// The opcodes of the words of an instruction. spec: isa-bundle 9.1
///
/// Where the tables have no rule, the op has one opcode, or the operands choose.
pub(crate) fn opcodes(inst: Inst<'_>, place: &Place<'_>) -> Result<Vec<u8>> {
    let op = inst.opcode();
    if let Some(reason) = never(op) {
        return Err(reason.into());
    }
    let generation = inst.generation();
    let number = generation as u32 + 2;
    let Some(info) = OpInfo::of(op) else { return Err(Reason::UnknownOp.into()) };
    let bytes = info.wire_bytes(number);
    if matches!(inst.inst.op, Op::InlineASMBytes(_)) {
        return Ok(Vec::new());
    }
    if bytes.is_empty() {
        return Err(Reason::NotOnGeneration(generation).into());
    }
    let words: Vec<u8> = if !info.select.is_empty() {
        let words = info.selected_words(inst.inst, number).ok_or(Reason::NoSelection(generation))?;
        if words.is_empty() {
            return invalid("this combination of keys has no words");
        }
        words.to_vec()
    } else {
        match &inst.inst.op {
            Op::CopyPredicated(op) => select::copy_predicated_words(inst, op)?.to_vec(),
            Op::TensorLoad | Op::TensorSave => vec![control::memory_opcode(inst)?.0],
            Op::IndirectLoad(_) if dma::is_bound_checked(inst, false) => vec![0xD6, 0xCC],
            Op::IndirectSave(_) if dma::is_bound_checked(inst, true) => vec![0xD6, 0xCC],
            Op::IndirectLoad(_) | Op::IndirectSave(_) => vec![0xC4],
            Op::UnconditionalBranch(op) if control::unconditional(op, place.next)?.target.is_none() => {
                Vec::new()
            }
            // How many words there are depends on the operands.
            Op::Load(_) | Op::Save(_) | Op::DMACopy(_) | Op::DMATrigger(_) | Op::CustomOp(_) | Op::Gather => {
                encode(inst, place)?.words.iter().map(|word| word.opcode().0).collect()
            }
            _ => vec![bytes[0]],
        }
    };
    match words.iter().find(|word| !bytes.contains(word)) {
        Some(_) => Err(Reason::NotOnGeneration(generation).into()),
        None => Ok(words),
    }
}

/// Makes the words of an instruction. InlineASMBytes has bytes of its own and EventSemaphore only a wait and an update:
/// they are made elsewhere.
pub(crate) fn encode<'c>(inst: Inst<'c>, place: &Place<'_>) -> Result<Encoded<'c>> {
    let instruction = inst.inst;
    let words = match &instruction.op {
        Op::Load(_) | Op::Save(_) | Op::DMACopy(_) => dma::transfer(inst, place.update)?,
        Op::DMATrigger(op) => dma::trigger(inst, op, place.instances)?,
        Op::CustomOp(op) => control::custom_op(inst, op)?,
        Op::Gather => tensor::gather(inst)?,
        Op::UnconditionalBranch(op) => {
            let Some(target) = control::unconditional(op, place.next)?.target else {
                return Ok(Words::new().into());
            };
            return Ok(Encoded { words: vec![control::branch_word(inst, None)?], target: Some(target) });
        }
        Op::CompareAndBranch(op) => {
            let branch = control::conditional(op, place.next)?;
            let word = control::branch_word(inst, Some((op, branch.negated)))?;
            return Ok(Encoded { words: vec![word], target: branch.target });
        }
        _ => chosen(inst, place)?,
    };
    Ok(words.into())
}

/// The ops whose first opcode is known before.
fn chosen<'c>(inst: Inst<'c>, place: &Place<'_>) -> Result<Words<'c>> {
    let opcodes = opcodes(inst, place)?;
    let Some(first) = opcodes.first().map(|byte| Opcode(*byte)) else { return Ok(Words::new()) };
    match &inst.inst.op {
        Op::Matmult(op) => pe::matmult(inst, op, place.load_weights),
        Op::MatmultSparse(op) => pe::matmult_sparse(inst, op),
        Op::MatmultMx(op) => pe::matmult_mx(inst, op),
        Op::QuantizeMx => pe::quantize_mx(inst),

        Op::Activation(op) => activation::activation(inst, op),
        Op::LoadActFuncSet(op) => activation::load_functions(inst, op),
        Op::ReadActivationAccumulator | Op::ActivationReadAccumulator => {
            Ok(vec![read_accumulator(inst, first, &inst.output(0)?, false)?])
        }
        Op::DveReadAccumulator(op) => {
            let negated = inst.value(op.negated, "negated")?;
            Ok(vec![read_accumulator(inst, first, &inst.output(0)?, negated)?])
        }

        Op::TensorCopy(_) | Op::Reciprocal => tensor::copy_like(inst, first),
        Op::TensorReduce(op) => tensor::tensor_reduce(inst, op, first),
        Op::TensorTensor(op) => tensor::tensor_tensor(inst, op, first),
        Op::Pool(op) => tensor::pool(inst, op),
        Op::Memset(op) => tensor::memset(inst, op),
        Op::Iota(op) => tensor::iota(inst, op),
        Op::IndirectCopy(op) => tensor::indirect_copy(inst, op),
        Op::StreamShuffle(op) => tensor::stream_shuffle(inst, op),
        Op::StreamTranspose => tensor::stream_transpose(inst, &opcodes),

        Op::TensorScalar(op) => scalar::tensor_scalar(inst, op, first),
        Op::TensorScalarPtr(op) => scalar::tensor_scalar_ptr(inst, op, first),
        Op::TensorScalarCache(op) => scalar::tensor_scalar_cache(inst, op, first),
        Op::Exponential(op) => scalar::exponential(inst, op),

        Op::CopyPredicated(op) => select::copy_predicated(inst, op, first),
        Op::RangeSelect(op) => select::range_select(inst, op),
        Op::TensorScalarAffineSelect(op) => select::affine_select(inst, op),
        Op::Dropout(op) => select::dropout(inst, op),
        Op::NonzeroWithCount => select::nonzero(inst),
        Op::GetSequenceBounds => select::sequence_bounds(inst),

        Op::Max => vector::max(inst),
        Op::MaxIndex => vector::max_index(inst),
        Op::MatchReplace(op) => vector::match_replace(inst, op),
        Op::MaxIndexAndMatchReplace(op) => vector::match_replace_and_index(inst, op),
        Op::BNStats(_) => vector::bn_stats(inst, first),
        Op::BNStatsAggregate => vector::bn_aggregate(inst),
        Op::BNGradients => vector::bn_gradients(inst),
        Op::BNBackprop(op) => vector::bn_backprop(inst, op),
        Op::Rng => vector::rng(inst),
        Op::GetRandState | Op::RandGetState => vector::get_state(inst),
        Op::SetRandState(_) | Op::RandSetState => vector::set_state(inst, first),
        Op::Rand2 => vector::rand2(inst),

        Op::IndirectLoad(op) => {
            let wait = inst.value(op.runtime_semaphore_wait_value, "runtime_semaphore_wait_value")?;
            dma::indirect(inst, false, wait)
        }
        Op::IndirectSave(op) => {
            let wait = inst.value(op.runtime_semaphore_wait_value, "runtime_semaphore_wait_value")?;
            dma::indirect(inst, true, wait)
        }
        Op::GPSIMDSB2SB => control::sb_to_sb(inst),

        Op::NoOp | Op::Halt | Op::AllEngineBarrier | Op::Return => control::plain(inst, first),
        Op::Drain(_) => control::drain(inst),
        Op::Exit => control::exit(inst),
        Op::GroupResetSemaphores(op) => control::reset_semaphores(inst, op),
        Op::CoreBarrier(op) => control::core_barrier(inst, op),
        Op::RegisterMove => control::register_move(inst),
        Op::RegisterAlu(op) => control::register_alu(inst, op),
        Op::TensorLoad | Op::TensorSave => control::memory(inst),
        Op::SwitchQueueInstance(op) => control::switch_queue(inst, op),
        Op::ResetQueueInstance(op) => control::reset_queue(inst, op),
        Op::GetCurProcessingRankID(op) => control::rank_id(inst, op),
        Op::GetGlobalRankId(_) => control::global_rank(inst),
        Op::Call(op) => control::call(inst, op),
        Op::TensorCompletion(_) => control::tensor_completion(inst),
        _ => Err(Reason::Unsupported("no encoder is known").into()),
    }
}

/// The word that takes one element of each partition from an accumulator.
fn read_accumulator<'c>(
    inst: Inst<'c>,
    opcode: Opcode,
    out: &Operand<'c>,
    negated: bool,
) -> Result<Draft<'c>> {
    let mut word = tensor::fill(inst, opcode, out)?;
    let geometry = out.geometry()?;
    if geometry.elements() != 1 || geometry.index.is_some() {
        return invalid(format!(
            "the accumulator gives one element of each partition to a plain address, not {}",
            geometry.elements()
        ))
        .on(out.at());
    }
    word.set(Field::Negated, negated)?;
    Ok(word)
}

/// Checks the element type of an operand that an op takes only some of.
fn one_of(operand: &Operand<'_>, dtypes: &[Dtype]) -> Result<()> {
    let dtype = operand.bir_dtype()?;
    if dtypes.contains(&dtype) {
        return Ok(());
    }
    let names: Result<Vec<&str>> = dtypes.iter().map(|dtype| operand.inst.name(*dtype)).collect();
    invalid(format!(
        "its element type is {}; {} can be encoded",
        operand.inst.name(dtype)?,
        names?.join(" or ")
    ))
    .on(operand.at())
}
