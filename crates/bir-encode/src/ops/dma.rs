//! Transfers: triggers of queues, transfers with generated descriptors, indirect transfers (spec: isa-control-dma 5 to 7).

use bir::access::ApPair;
use bir::enums::{AluOpType, CopyMode, DMAQoSClass, Dtype, MemoryType, UpdateMode};
use bir::ids::{QueueId, Ref};
use bir::ops::{DMACopy, DMATrigger};
use bir::records::SyncUpdate;
use bir::{Argument, Op};
use hashbrown::HashMap;
use tpb_isa::maps::dma_priority_class;
use tpb_isa::{Addr4, DgeComputeOp, DgeOp, Field, IndirectDim, IndirectMode, Opcode};

use super::Words;
use crate::context::Inst;
use crate::draft::{Draft, is_v2};
use crate::error::{On, Reason, Result, invalid};
use crate::operand::{Operand, merged};

/// Bytes from one partition to the next in the addresses of transfers.
const SB_PARTITION: i64 = 1 << 18;
const PSUM_PARTITION: i64 = 1 << 15;
/// Bytes of the longest run; it is stored as 0.
const LONGEST_RUN: i64 = 1 << 16;

/// Names of queue instances, as switched to so far.
pub(crate) type Instances = HashMap<QueueId, String>;

/// One word for each block that is triggered.
pub(super) fn trigger<'c>(inst: Inst<'c>, op: &DMATrigger, instances: &Instances) -> Result<Words<'c>> {
    let module = inst.context.module;
    let queue: Ref<QueueId> = op.queue.ok_or(Reason::Unset("queue"))?;
    let switched = queue.id().and_then(|queue| instances.get(&queue));
    let name = switched.map_or_else(|| module.str(module.ref_name(queue)), String::as_str);
    if op.dma_blocks.is_empty() {
        return invalid("it triggers no DMABlock");
    }
    let mut words = Words::new();
    for block in &op.dma_blocks {
        let found = block.id().map(|block| &module[block].op);
        let Some(Op::DMABlock(block)) = found else {
            return invalid(format!("{} is no DMABlock", module.str(module.ref_name(*block))));
        };
        let mut word = Draft::new(inst, Opcode::PSEUDO_DMATRIGGER)?;
        word.set(Field::QueueName, name)?.set(Field::BlockId, block.block_id)?;
        words.push(word);
    }
    Ok(words)
}

/// Where one side of a transfer starts.
#[derive(Clone, Copy)]
struct Start {
    /// Offset in bytes, or the register that holds it.
    offset: u32,
    /// Variable or table entry.
    id: u32,
    table: bool,
    register: bool,
    wide: bool,
}

/// One side of a transfer.
struct Side {
    start: Start,
    /// Index tensor: its address, the bytes of the table, and the axis.
    index: Option<(Addr4, i64, bir::enums::IndirectDim)>,
    /// Steps in bytes and counts, innermost first, behind the run.
    dims: Vec<(i64, i64)>,
    /// Elements of the contiguous run.
    run: i64,
    size: i64,
}

/// Variable and byte offset of a place in memory, as DMA words and loads of registers name it. spec: isa-control-dma 6.1
pub(super) fn variable_place(operand: &Operand<'_>) -> Result<(u32, u32)> {
    let inst = operand.inst;
    let loc = operand.location()?;
    if inst.context.module[loc].r#type != MemoryType::DRAM {
        return Ok((0, operand.geometry()?.addr.0));
    }
    let Argument::PhysicalAp(arg) = operand.argument else {
        return invalid("a physical pattern is expected").on(operand.at());
    };
    let bytes = i128::from(arg.offset) * i128::from(operand.size()?);
    Ok((inst.context.variable(loc).id, offset(bytes, operand)?))
}

fn offset(bytes: i128, operand: &Operand<'_>) -> Result<u32> {
    u32::try_from(bytes)
        .map_err(|_| Reason::Range {
            what: "its offset in bytes",
            value: bytes,
            min: 0,
            max: u32::MAX.into(),
        })
        .on(operand.at())
}

fn side(operand: &Operand<'_>) -> Result<Side> {
    side_inner(operand).on(operand.at())
}

fn side_inner(operand: &Operand<'_>) -> Result<Side> {
    let (inst, loc, size) = (operand.inst, operand.location()?, operand.size()? as i64);
    let module = inst.context.module;
    let pairs = |pattern: Option<&bir::access::AccessPattern>| -> Vec<ApPair> {
        pattern.into_iter().flat_map(|pattern| pattern.iter()).collect()
    };
    if module[loc].r#type != MemoryType::DRAM {
        let geometry = operand.geometry()?;
        if geometry.index.is_some() {
            return invalid("an index tensor chooses rows of device memory only");
        }
        let all = pairs(operand.argument.access_pattern());
        let first = all.first().copied().unwrap_or_default();
        let stride = if module[loc].r#type == MemoryType::SB { SB_PARTITION } else { PSUM_PARTITION };
        let (run, mut dims) = runs(&geometry.dims, size);
        dims.push((stride, first.num));
        let (offset, register) = match geometry.addr.0 & Addr4::REGISTER {
            0 => (geometry.addr.0, false),
            _ => (geometry.addr.0 & 0xFF, true),
        };
        let start = Start { offset, id: 0, table: false, register, wide: false };
        return Ok(Side { start, index: None, dims, run, size });
    }
    let variable = inst.context.variable(loc);
    let (id, table) = match variable.table_entry {
        Some(entry) => (entry, true),
        None => (variable.id, false),
    };
    match operand.argument {
        Argument::PhysicalAp(arg) => {
            let mut elements = i128::from(arg.offset);
            let mut pattern = arg.ap.as_ref();
            let mut index = None;
            if let Some(info) = arg.dynamic_ap_info.as_deref() {
                pattern = info.actual_ap.as_ref().or(pattern);
                if info.c != 0 {
                    elements = info.c.into();
                }
                for term in &info.aff_expr {
                    let expr = term.offset_expr.ok_or(Reason::Unset("offset_expr"))?;
                    let Some(arg_id) = operand.index_argument(expr) else {
                        return invalid("its offset depends on a loop or a register; use a register pattern");
                    };
                    let at = usize::try_from(arg_id).unwrap_or(usize::MAX);
                    let tensor = inst.operand(bir::OperandList::IndirectionIns, at)?;
                    let place = tensor.geometry()?;
                    if !place.is_static() {
                        return invalid("an index tensor must have a plain address").on(tensor.at());
                    }
                    // The rows that may be chosen, in bytes. Inferred, spec: isa-control-dma 6.2
                    let bound = i64::from(info.indirect_dim_max_index) * term.coef.unwrap_or(1) * size;
                    index = Some((place.addr, bound, info.indirect_dim));
                }
            }
            let start = Start {
                offset: offset(elements * i128::from(size), operand)?,
                id,
                table,
                register: false,
                wide: false,
            };
            let (run, dims) = runs(&pairs(pattern), size);
            Ok(Side { start, index, dims, run, size })
        }
        Argument::RegisterAp(arg) => {
            // spec: isa-control-dma 6.1: a table entry with the register that holds the offset.
            if !table {
                return invalid(
                    "an offset in a register needs a location with an entry in the address table",
                );
            }
            if arg.reg_ap_offset.is_some() {
                return invalid("a second register does not fit the word");
            }
            let reg = arg.regref.ok_or(Reason::Unset("regref"))?;
            let number = inst.context.register(reg)?;
            let wide = reg.id().is_some_and(|reg| module[reg].register_width > 1);
            let start = Start { offset: number, id, table, register: true, wide };
            let (run, dims) = runs(&pairs(arg.ap.as_ref()), size);
            Ok(Side { start, index: None, dims, run, size })
        }
        other => invalid(format!("a physical or a register pattern is expected, not {}", other.kind())),
    }
}

/// Splits a pattern into its contiguous run and the dimensions around it, innermost first, with steps in bytes.
fn runs(pairs: &[ApPair], size: i64) -> (i64, Vec<(i64, i64)>) {
    let mut inner: Vec<(i64, i64)> =
        pairs.iter().rev().map(|pair| (pair.step.saturating_mul(size), pair.num)).collect();
    match inner.first() {
        Some((step, count)) if *step == size || *count == 1 => {
            let run = inner.remove(0).1;
            (run, inner)
        }
        _ => (1, inner),
    }
}

impl Side {
    fn elements(&self) -> i128 {
        self.dims.iter().fold(self.run.into(), |product, (_, count)| product * i128::from(*count))
    }

    /// Makes the run shorter: the rest becomes a dimension.
    fn cut(&mut self, run: i64) {
        if self.run > run {
            self.dims.insert(0, (run * self.size, self.run / run));
            self.run = run;
        }
    }

    /// Brings the dimensions down to two, if they can be.
    fn reduce(&mut self) {
        if self.dims.len() > 2 {
            self.dims.retain(|(_, count)| *count != 1);
        }
        if self.dims.len() > 2 {
            self.dims = merged(&self.dims);
        }
    }
}

/// Load, Save and DMACopy.
pub(super) fn transfer<'c>(inst: Inst<'c>, update: Option<&SyncUpdate>) -> Result<Words<'c>> {
    let (source, out) = (inst.input(0)?, inst.output(0)?);
    let (qos, copy) = match &inst.inst.op {
        Op::Load(op) => (op.dma_qos, None),
        Op::Save(op) => (op.dma_qos, None),
        Op::DMACopy(op) => (op.dma_qos, Some(&**op)),
        _ => (DMAQoSClass::Unassigned, None),
    };
    let compute = copy.map_or(Ok(None), |op| compute(inst, op))?;
    if inst.inst.ins.len() > 1 {
        return invalid(format!("a transfer has one source, not {}", inst.inst.ins.len()));
    }
    let (mut from, mut to) = (side(&source)?, side(&out)?);
    if from.elements() != to.elements() {
        return invalid(format!(
            "the source has {} elements, the destination {}",
            from.elements(),
            to.elements()
        ));
    }
    let run = from.run.min(to.run);
    if from.run % run == 0 && to.run % run == 0 {
        from.cut(run);
        to.cut(run);
    } else {
        return invalid(format!(
            "the source is contiguous for {} elements, the destination for {}: neither divides the other",
            from.run, to.run
        ));
    }
    for (side, operand) in [(&mut from, &source), (&mut to, &out)] {
        side.reduce();
        if side.dims.len() > 2 {
            let dims = side.dims.len();
            return invalid(format!(
                "it has {dims} dimensions around its contiguous run; a transfer has two"
            ))
            .on(operand.at());
        }
        if side.run * side.size > LONGEST_RUN {
            let value = i128::from(side.run) * i128::from(side.size);
            let range =
                Reason::Range { what: "its contiguous run in bytes", value, min: 1, max: LONGEST_RUN.into() };
            return Err(range).on(operand.at());
        }
    }
    let mut word = Draft::new(inst, Opcode::PSEUDO_DMA_DIRECT2D)?;
    if !is_v2(inst) {
        let class = dma_priority_class(inst.name(qos)?, inst.generation())?;
        word.member(Field::DmaConfigs, "priority_class", class)?;
    }
    if let Some(update) = update {
        completion(&mut word, update)?;
    }
    put_side(&mut word, &source, &from, SOURCE)?;
    put_side(&mut word, &out, &to, DESTINATION)?;
    word.dtype(Field::InDtype, &source)?.dtype(Field::OutDtype, &out)?;
    if from.index.is_none() && to.index.is_none() && compute.is_none() {
        return Ok(vec![word]);
    }
    word.set(Field::DgeOp, DgeOp(1))?;
    let extension = extension(inst, copy, &from, &to, compute)?;
    Ok(vec![word, extension])
}

/// The reduction of a transfer, if it has one.
fn compute(inst: Inst<'_>, op: &DMACopy) -> Result<Option<DgeComputeOp>> {
    match op.mode {
        CopyMode::Copy => {}
        CopyMode::Transpose => {
            return Err(Reason::Unsupported(
                "the shapes that a transposing transfer moves first (0xb2) are not known",
            )
            .into());
        }
        _ => {}
    }
    Ok(match op.cce_op {
        AluOpType::Bypass => None,
        AluOpType::Add => Some(DgeComputeOp(1)),
        other => {
            let name = inst.name(other)?;
            return invalid(format!("a transfer can add to its destination, but not {name}"));
        }
    })
}

/// The update on completion stands outside the preamble. spec: isa-control-dma 6
fn completion(word: &mut Draft<'_>, update: &SyncUpdate) -> Result<()> {
    let value = match update.update_mode {
        UpdateMode::SemAddImm => update.update_value.unwrap_or(0),
        UpdateMode::SemInc => 1,
        _ => return invalid("the completion of a transfer adds to a semaphore; it can do nothing else"),
    };
    let id = update.id.ok_or(Reason::Unset("id"))?;
    word.set(Field::Semaphore, id)?.set(Field::SemIncrement, value)?;
    Ok(())
}

/// Fields of one side: address, steps, counts, run.
const SOURCE: [Field; 6] = [
    Field::SrcStartAddr,
    Field::SrcStepElem0,
    Field::SrcStepElem1,
    Field::SrcNumElem0,
    Field::SrcNumElem1,
    Field::SrcElemSize,
];
const DESTINATION: [Field; 6] = [
    Field::DstStartAddr,
    Field::DstStepElem0,
    Field::DstStepElem1,
    Field::DstNumElem0,
    Field::DstNumElem1,
    Field::DstElemSize,
];

fn put_side<'c>(word: &mut Draft<'c>, operand: &Operand<'c>, side: &Side, fields: [Field; 6]) -> Result<()> {
    put_side_inner(word, side, fields).on(operand.at())
}

fn put_side_inner(word: &mut Draft<'_>, side: &Side, fields: [Field; 6]) -> Result<()> {
    let [address, step0, step1, count0, count1, run] = fields;
    let Start { offset, id, table, register, wide } = side.start;
    word.member(address, "offset_or_reg", offset)?;
    word.member(address, "id_lo", id & 0xFFFF)?;
    if table && id > 0xFFFF {
        return Err(Reason::Range { what: "table entry", value: id.into(), min: 0, max: 0xFFFF }.into());
    }
    word.member(address, "var_id_hi", id >> 16)?;
    let marker = if table { "marker.addr_tbl" } else { "marker.var_id" };
    word.member(address, marker, true)?;
    if register {
        word.member(address, "marker.offset_reg", true)?;
    }
    if wide {
        word.member(address, "marker.offset_wide", true)?;
    }
    // A dimension that is missing has step 1 and count 1. spec: isa-control-dma 6
    let dim = |at: usize| side.dims.get(at).copied().unwrap_or((1, 1));
    for (at, (step, count)) in [(step0, count0), (step1, count1)].into_iter().enumerate() {
        word.set(step, dim(at).0)?.set(count, dim(at).1)?;
    }
    word.set(run, side.run * side.size % LONGEST_RUN)?;
    Ok(())
}

/// The word behind a transfer that uses index tensors or computes. spec: isa-control-dma 6.2
fn extension<'c>(
    inst: Inst<'c>,
    copy: Option<&DMACopy>,
    from: &Side,
    to: &Side,
    compute: Option<DgeComputeOp>,
) -> Result<Draft<'c>> {
    let mut word = Draft::extension(inst, Opcode::PSEUDO_DMA_DIRECT2D)?;
    let mode = match (from.index, to.index) {
        (Some(_), Some(_)) => 2,
        (None, Some(_)) => 1,
        _ => 0,
    };
    if from.index.is_some() || to.index.is_some() {
        word.member(Field::Flags, "indirect_mode", IndirectMode(mode))?;
        word.set(Field::IdxNumActiveChannels, 128)?;
    }
    let sides = [
        (from, Field::SrcIdxStartAddr, Field::SrcBoundSizeBytes, Field::SrcBoundSizeBytesUpper, "gather_dim"),
        (to, Field::DstIdxStartAddr, Field::DstBoundSizeBytes, Field::DstBoundSizeBytesUpper, "scatter_dim"),
    ];
    for (side, address, bound, upper, dim) in sides {
        let Some((addr, bytes, axis)) = side.index else { continue };
        word.set(address, addr)?;
        word.set(bound, bytes as u64 & 0xFFFF_FFFF)?.set(upper, bytes as u64 >> 32)?;
        word.member(Field::Flags, dim, IndirectDim::from_bir(inst.name(axis)?, inst.generation())?)?;
    }
    if let Some(op) = copy {
        word.member(Field::Flags, "idx_bound_is_err", inst.value(op.oob_is_err, "oob_is_err")?)?;
        word.member(Field::Flags, "non_unique_dst_idx", inst.value(op.duplicate, "duplicate")?)?;
    }
    if let Some(compute) = compute {
        word.set(Field::ComputeOp, compute)?;
    }
    Ok(word)
}

/// IndirectLoad and IndirectSave in their plain form. spec: isa-control-dma 7.1
pub(super) fn indirect<'c>(inst: Inst<'c>, save: bool, wait: u32) -> Result<Words<'c>> {
    let (indices, data) = (inst.input(0)?, if save { inst.input(1)? } else { inst.output(0)? });
    if is_bound_checked(inst, save) {
        return Err(Reason::Unsupported(
            "the pattern slots of the bound-checked word RANGE_CHECK (0xd6) are not known",
        )
        .into());
    }
    super::one_of(&indices, &[Dtype::Int32, Dtype::Uint64, Dtype::Int64])?;
    let (list, values) = (indices.geometry()?, data.geometry()?);
    for (operand, geometry) in [(&indices, &list), (&data, &values)] {
        if !geometry.is_static() {
            return invalid("a plain address is expected").on(operand.at());
        }
    }
    if list.elements() != 1 {
        return invalid(format!("it has {} addresses a partition; the word takes one", list.elements()))
            .on(indices.at());
    }
    let Some((1, run)) = values.progression().map(|(step, count)| (if count == 1 { 1 } else { step }, count))
    else {
        return invalid("each partition must be one contiguous run").on(data.at());
    };
    let bytes = run * values.size as i64;
    let mut word = Draft::new(inst, Opcode::PSEUDO_DMAMEMCPY_FULL_IND)?;
    word.set(Field::IndirectStartOffset, list.addr.0)?
        .set(Field::IndirectStepElems0, 1)?
        .set(Field::IndirectStepElems1, SB_PARTITION)?
        .set(Field::IndirectNumElems0, 1)?
        .set(Field::IndirectNumElems1, list.channels)?
        .set(Field::DirectStartOffset, values.addr.0)?
        .set(Field::DirectStepElems0, bytes)?
        .set(Field::DirectStepElems1, SB_PARTITION)?
        .set(Field::DirectNumElems0, 1)?
        .set(Field::DirectNumElems1, values.channels)?
        .set(Field::DirectElemSize, bytes)?
        .set(Field::SemaphoreWaitValue, wait & 0xFFFF)?
        .set(Field::SemaphoreWaitValueHi, wait >> 16)?
        .set(Field::IndirectionMode, IndirectMode(save.into()))?;
    Ok(vec![word])
}

/// The bound-checked form has three inputs and two outputs.
pub(crate) fn is_bound_checked(inst: Inst<'_>, save: bool) -> bool {
    let plain = if save { 2 } else { 1 };
    inst.inst.ins.len() > plain || inst.inst.outs.len() > 1
}
