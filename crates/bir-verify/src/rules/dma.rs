//! DMA and queues: DMA, IND-02, IND-03, MX-24. Transposing transfers are in `dma_transpose`.

use std::cell::OnceCell;

use bir::OpenEnum;
use bir::OperandList;
use bir::access::ApPair;
use bir::diag::{Place, Severity};
use bir::enums::{
    AluOpType, CopyMode, DGEType, DMAQoSClass, Dtype, EngineType, InstructionType, TensorKind, TransposeOps,
};
use bir::expr::Expr;
use bir::ids::{BlockId, ExprId, InstId, QueueId, Ref, Target as RefTarget};
use bir::{Argument, Holder, Op, Sym};
use hashbrown::HashMap;

use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::{Bits, Seen};
use crate::view::{Inst, Operand, Site, Unit};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[DMA_01], queue),
    Check::module(&[DMA_02], triggers),
    Check::inst(&[DMA_03], qos),
    Check::inst(&[DMA_04, DMA_17], generation),
    Check::inst(&[DMA_05, DMA_15], counts),
    Check::inst(&[DMA_07], accumulate),
    Check::operand(&[DMA_08], stepped),
    Check::inst(&[DMA_09, DMA_10], compute),
    Check::inst(&[DMA_11], in_dynamic_loop),
    Check::inst(&[DMA_12], vector_offset),
    Check::inst(&[DMA_16], dynamic_shape),
    Check::block(&[DMA_18], queue_instances),
    Check::operand(&[IND_02, IND_03], indirect_rows),
    // Index operands are named by expressions.
    Check::inst(&[OPR_01], index_operands).on(&[Unit::Dma]).when(|cx, _| !cx.module.exprs.is_empty()),
    Check::inst(&[MX_24], packed_types).for_ops(TRANSFERS).needs(Needs::Operands),
];

/// Ops that move data by DMA and name operands.
const TRANSFERS: &[InstructionType] = &[
    InstructionType::Load,
    InstructionType::Save,
    InstructionType::DMACopy,
    InstructionType::DMADescriptorCopy,
    InstructionType::DMADescriptorCCE,
    InstructionType::DMADescriptorTranspose,
    InstructionType::DMADescriptorReplicate,
];

/// Queue and way of generating descriptors, of ops that have them.
fn queue_of(op: &Op) -> Option<(Option<Ref<QueueId>>, DGEType)> {
    Some(match op {
        Op::DMACopy(op) => (op.queue, op.dge_type),
        Op::DMATrigger(op) => (op.queue, op.dge_type),
        Op::Load(op) => (op.queue, op.dge_type),
        Op::Save(op) => (op.queue, op.dge_type),
        Op::GenericIndirectLoad(op) => (op.queue, op.dge_type),
        Op::IndirectLoad(op) => (op.queue, op.dge_type),
        Op::GenericIndirectSave(op) => (op.queue, op.dge_type),
        Op::IndirectSave(op) => (op.queue, op.dge_type),
        Op::IndirectSaveAccumulate(op) => (op.queue, op.dge_type),
        Op::ReadVarAddr(op) => (op.queue, op.dge_type),
        _ => return None,
    })
}

fn queue(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if let Some((Some(queue), _)) = queue_of(inst.op())
        && let RefTarget::Missing(name) = queue.target()
    {
        let name = cx.module.str(name);
        let message = format!(
            "queue {name} does not exist; the module has {}",
            count(cx.module.queues().count(), "queue")
        );
        out.report(DMA_01, inst.place(), message).vendor("LNK022", format!("Queue {name} does not exist"));
    }
}

/// `1 queue`, `2 queues`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// DMA-02: triggers name blocks of their queue, a block has one trigger, and that is the one it names.
fn triggers(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut started = Bits::default();
    let (before, mut count, mut differs) = (out.reports(), 0, false);
    let named = Named::new();
    for &id in cx.survey.triggers() {
        let Op::DMATrigger(op) = &cx.module[id].op else { continue };
        let mut twice = None;
        for block in &op.dma_blocks {
            let Some(block) = block.id() else {
                // Without its queue there is nowhere to look for it.
                if op.queue.is_some_and(|queue| queue.id().is_none()) {
                    continue;
                }
                let name = cx.ref_name(*block);
                match (elsewhere(cx, &named, name), op.queue.and_then(|queue| queue.id())) {
                    (Some((queue, other)), Some(own)) => {
                        let message = format!(
                            "triggers on queue {} and starts {name} of queue {}",
                            cx.name(own),
                            cx.name(queue)
                        );
                        out.report(DMA_02, Place::of(id), message).related("the block", Place::of(other));
                    }
                    _ => {
                        let message = format!("starts {name}, which does not exist");
                        out.report(DMA_02, Place::of(id), message);
                    }
                }
                continue;
            };
            if cx.module[block].opcode() != InstructionType::DMABlock {
                let message = format!("starts {}, which is no DMABlock", cx.name(block));
                out.report(DMA_02, Place::of(id), message);
                continue;
            }
            if started.insert(block) {
                count += 1;
                differs |= trigger_of(cx, block).is_some_and(|trigger| trigger != id);
            } else if let Some(first) = first_trigger(cx, block).filter(|first| *first != id) {
                let message = format!("starts {}, which {} starts too", cx.name(block), cx.name(first));
                out.report(DMA_02, Place::of(id), message).related("the other trigger", Place::of(first));
            } else if twice != Some(block) {
                twice = Some(block);
                out.report(DMA_02, Place::of(id), format!("starts {} more than once", cx.name(block)));
            }
            let holder = match cx.module[cx.module[block].block].holder {
                Holder::Inst(_) => cx.module.outermost(block),
                holder => holder,
            };
            if let (Holder::Queue(of_block), Some(of_trigger)) =
                (holder, op.queue.and_then(|queue| queue.id()))
                && of_block != of_trigger
            {
                let message = format!(
                    "triggers on queue {} and starts {} of queue {}",
                    cx.name(of_trigger),
                    cx.name(block),
                    cx.name(of_block)
                );
                out.report(DMA_02, Place::of(id), message);
            }
        }
    }
    // What is wrong with a trigger is told once.
    let lists = || {
        let queued = cx.module.queues().flat_map(|queue| cx.module.blocks_of(Holder::Queue(queue)));
        queued.map(|block| &cx.module[*block].instructions)
    };
    if out.reports() != before || !differs && count == lists().map(|list| list.len()).sum::<usize>() {
        return;
    }
    for block in lists().flatten() {
        let Some(trigger) = trigger_of(cx, block) else { continue };
        let message = match &cx.module[trigger].op {
            // One that does not exist is told with the trigger, or with its queue.
            Op::DMATrigger(op)
                if op.dma_blocks.iter().any(|other| other.id().is_none_or(|id| id == block)) =>
            {
                continue;
            }
            Op::DMATrigger(_) => {
                format!("names {} as its trigger, which does not start it", cx.name(trigger))
            }
            other => format!(
                "names {} as its trigger, which is a {}",
                cx.name(trigger),
                other.opcode().text(&cx.module.names)
            ),
        };
        out.report(DMA_02, Place::of(block), message).related("the trigger", Place::of(trigger));
    }
}

/// DMABlocks by name, each with its queue.
type Named = OnceCell<HashMap<Sym, (QueueId, InstId)>>;

/// A block of that name in any queue: names are looked for in the queue of the trigger only.
fn elsewhere(cx: &Cx<'_>, named: &Named, name: &str) -> Option<(QueueId, InstId)> {
    let module = cx.module;
    let of_queue = |queue| {
        let lists = module.blocks_of(Holder::Queue(queue)).iter().map(|block| &module[*block].instructions);
        let blocks = lists.flatten().filter(|id| module[*id].opcode() == InstructionType::DMABlock);
        blocks.map(move |id| (module[id].name, (queue, id)))
    };
    let named = named.get_or_init(|| module.queues().flat_map(of_queue).collect());
    named.get(&module.names.get(name)?).copied()
}

/// The trigger that a block says it has.
fn trigger_of(cx: &Cx<'_>, block: InstId) -> Option<InstId> {
    match &cx.module[block].op {
        Op::DMABlock(op) => op.dma_trigger?.id(),
        _ => None,
    }
}

/// The first instruction that starts a block.
fn first_trigger(cx: &Cx<'_>, block: InstId) -> Option<InstId> {
    let starts = |id: &&InstId| match &cx.module[**id].op {
        Op::DMATrigger(op) => op.dma_blocks.iter().any(|other| other.id() == Some(block)),
        _ => false,
    };
    cx.survey.triggers().iter().find(starts).copied()
}

fn qos(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let class = match inst.op() {
        Op::DMACopy(op) => op.dma_qos,
        Op::Load(op) => op.dma_qos,
        Op::Save(op) => op.dma_qos,
        _ => return,
    };
    if matches!(class, DMAQoSClass::Unassigned) || cx.level >= 40 {
        return;
    }
    let message = format!(
        "specifies DMA QoS class {}, which exists from arch 40 on; the module is for arch {}",
        class.text(&cx.module.names),
        cx.level
    );
    out.report(DMA_03, inst.place(), message).help("leave dma_qos out");
}

/// Whether an index operand moves an access of the instruction.
fn is_indirect(inst: &Inst<'_>) -> bool {
    inst.count(OperandList::IndirectionIns) > 0
}

fn generation(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some((_, dge)) = queue_of(inst.op()) else { return };
    if dge == DGEType::HWDGE && cx.level < 30 {
        let message = format!(
            "descriptors by hardware (HWDGE) exist from arch 30 on; the module is for arch {}",
            cx.level
        );
        out.report(DMA_17, inst.place(), message).help("use SWDGE, or static descriptors");
    }
    let engine = inst.engine;
    let owns = matches!(engine, EngineType::SP | EngineType::Activation);
    if dge == DGEType::HWDGE && engine.is_datapath() && !owns {
        let message = format!(
            "HWDGE from engine {}; the hardware generates descriptors for queues of SP and Activation only",
            engine.text(&cx.module.names)
        );
        out.report(DMA_04, inst.place(), message).vendor("EDGE001", "Unexpected DGE mode");
    }
    if let Op::DMACopy(op) = inst.op() {
        let accumulates = op.mode == CopyMode::Copy && op.cce_op != AluOpType::Bypass;
        let what = match (is_indirect(inst), accumulates) {
            (true, _) => "a gather or scatter",
            (_, true) => "an accumulating copy",
            _ if op.mode == CopyMode::CCE && matches!(dge, DGEType::HWDGE | DGEType::SWDGE) => {
                let message =
                    format!("a computing DMA has static descriptors, not {}", dge.text(&cx.module.names));
                out.report(DMA_04, inst.place(), message);
                return;
            }
            _ => return,
        };
        // Where the indices lead is not known when static descriptors are made.
        if dge == DGEType::HWDGE || dge == DGEType::None && is_indirect(inst) {
            let message = format!(
                "{what} needs descriptors by software (SWDGE), not {}",
                if dge == DGEType::HWDGE { "HWDGE" } else { "static ones (None)" }
            );
            out.report(DMA_04, inst.place(), message).vendor("EDGE001", "Unsupported DGE Type");
        }
    }
}

/// Source and destination of a transfer with one of each.
fn ends<'i, 'm>(inst: &'i Inst<'m>) -> Option<(&'i Operand<'m>, &'i Operand<'m>)> {
    let (mut ins, mut outs) = (inst.ins(), inst.outs());
    let (source, destination) = (ins.next()?, outs.next()?);
    (ins.next().is_none() && outs.next().is_none()).then_some((source, destination))
}

fn counts(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DMACopy(op) = inst.op() else { return };
    let Some((source, destination)) = ends(inst) else { return };
    if source.argument.is_immediate()
        || op.mode != CopyMode::Copy
        || is_indirect(inst)
        || source.dynamic
        || destination.dynamic
    {
        return;
    }
    let (Some(reads), Some(writes)) = (source.elements(), destination.elements()) else { return };
    if reads != writes {
        let message = format!(
            "reads {reads} elements {} and writes {writes} {}; a copy moves as many as it reads",
            source.pattern_text(),
            destination.pattern_text()
        );
        out.report(DMA_05, inst.place(), message);
    } else if matches!(op.dge_type, DGEType::SWDGE | DGEType::HWDGE) {
        let dims = |operand: &Operand<'_>| operand.pairs().map(|pair| pair.num).collect::<Vec<_>>();
        let (from, to) = (dims(source), dims(destination));
        if from != to {
            let message = format!(
                "the dimensions of source and destination differ: {from:?} and {to:?} elements; generated descriptors need \
                 equal counts in each"
            );
            out.report(DMA_15, inst.place(), message).at_most(Severity::Warning);
        }
    }
    let _ = cx;
}

fn accumulate(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::IndirectSaveAccumulate(op) = inst.op() else { return };
    let name = op.op.text(&cx.module.names);
    match op.op {
        AluOpType::Bypass | AluOpType::Add => {}
        AluOpType::Min | AluOpType::Max => {
            let message = format!(
                "accumulates with {name}, which the verifier of the reference takes and its simulator does not"
            );
            out.report(DMA_07, inst.place(), message).at_most(Severity::Note);
        }
        _ => {
            let message =
                format!("IndirectSaveAccumulate does not support {name}; it has bypass, add, min and max");
            out.report(DMA_07, inst.place(), message)
                .vendor("SIM102", format!("IndirectSaveAccumulate does not support {name}"));
        }
    }
}

/// DMA-08: legal, but worth a look.
fn stepped(_: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if !operand.is_on_chip() {
        return;
    }
    let (Some(pitch), Some(first)) = (operand.pitch(), operand.pattern.and_then(|ap| ap.get(0))) else {
        return;
    };
    let rows = first.step / pitch;
    if first.num > 1 && rows > 1 && first.step % pitch == 0 {
        let message = format!(
            "moves every {rows}. partition, {} of them; such transfers are legal, and were found unordered in compiled code",
            first.num
        );
        out.report(DMA_08, inst.at(operand), message);
    }
}

fn compute(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (mode, op, constants, inputs) = match inst.op() {
        Op::DMACopy(op) => (op.mode, op.cce_op, &op.constants, inst.count(OperandList::Ins)),
        _ => return,
    };
    let name = op.text(&cx.module.names);
    if op != AluOpType::Bypass && mode != CopyMode::CCE && !is_indirect(inst) && op != AluOpType::Add {
        let message = format!(
            "cce_op {name} with mode {}; an operator needs mode CCE or an index operand",
            mode.text(&cx.module.names)
        );
        out.report(DMA_10, inst.place(), message);
    }
    if mode == CopyMode::CCE {
        if constants.len() != inputs {
            let message = format!(
                "has {} for {}; a computing DMA has one for each",
                count(constants.len(), "constant"),
                count(inputs, "input")
            );
            out.report(DMA_09, inst.place(), message);
        }
    } else if !matches!(op, AluOpType::Bypass | AluOpType::Add) {
        let message = format!("reduces into the destination with {name}; bypass and add are sure to work");
        out.report(DMA_09, inst.place(), message).at_most(Severity::Note);
    }
}

/// Whether a dynamic loop is around.
fn in_dynamic(cx: &Cx<'_>, inst: InstId) -> bool {
    let mut holder = cx.module[cx.module[inst].block].holder;
    while let Holder::Inst(outer) = holder {
        if matches!(cx.module[outer].op, Op::DynamicForLoop(_) | Op::DoWhile(_)) {
            return true;
        }
        holder = cx.module[cx.module[outer].block].holder;
    }
    false
}

fn in_dynamic_loop(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some((_, DGEType::None)) = queue_of(inst.op()) else { return };
    if !in_dynamic(cx, inst.id) {
        return;
    }
    for operand in &inst.operands {
        let Some(set) = operand.set else { continue };
        let kind = cx.module[set].kind;
        if kind.is_some_and(|kind| kind != TensorKind::Internal) {
            let message = format!(
                "a static DMA in a dynamic loop names {}, of kind {}; there it may name internal tensors only",
                cx.name(set),
                kind.map_or("", |kind| kind.text(&cx.module.names))
            );
            out.report(DMA_11, inst.at(operand), message)
                .help("generate the descriptors, or stage the tensor");
        }
    }
}

fn vector_offset(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DMACopy(op) = inst.op() else { return };
    if !is_indirect(inst) || op.mode == CopyMode::Transpose {
        return;
    }
    let moved = |operand: &&Operand<'_>| operand.dynamic;
    for operand in inst.ins().chain(inst.outs()) {
        let Some(memory) = operand.memory else { continue };
        let name = memory.text(&cx.module.names);
        if moved(&operand) && !operand.is_dram() {
            let message = format!("the operand that indices move is in {name}; it must be in DRAM");
            out.report(DMA_12, inst.at(operand), message);
        } else if !moved(&operand) && !operand.is_sb() && inst.operands.iter().any(|o| moved(&o)) {
            let message = format!("the operand that indices do not move is in {name}; it must be in SB");
            out.report(DMA_12, inst.at(operand), message);
        }
    }
    for indices in inst.list(bir::OperandList::IndirectionIns).iter().filter(|indices| !indices.is_sb()) {
        let Some(memory) = indices.memory else { continue };
        let message = format!("the indices are in {}; they must be in SB", memory.text(&cx.module.names));
        out.report(DMA_12, inst.at(indices), message);
    }
}

fn dynamic_shape(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DMACopy(op) = inst.op() else { return };
    let generated = matches!(op.dge_type, DGEType::SWDGE | DGEType::HWDGE);
    if !generated || !inst.operands.iter().any(|operand| operand.dynamic) || op.mode != CopyMode::Copy {
        return;
    }
    if let Some((source, destination)) = ends(inst)
        && let (Some(reads), Some(writes)) = (source.elements(), destination.elements())
        && reads != writes
        && !source.argument.is_immediate()
    {
        let message = format!(
            "reads {reads} elements {} and writes {writes} {}; a transfer with a dynamic offset moves as many as it reads",
            source.pattern_text(),
            destination.pattern_text()
        );
        out.report(DMA_16, inst.place(), message);
    }
    for operand in inst.ins().chain(inst.outs()).filter(|operand| operand.is_access()) {
        let Some(pattern) = operand.pattern else { continue };
        let most = if is_indirect(inst) { 2 } else { 3 };
        if pattern.len() < 2 || pattern.len() > most {
            let message = format!(
                "{} has {} pairs; a transfer with a dynamic offset has 2{}",
                operand.pattern_text(),
                pattern.len(),
                if most == 3 { " or 3" } else { "" }
            );
            out.report(DMA_16, inst.at(operand), message);
        }
        if let Some(last) =
            pattern.get(pattern.len().wrapping_sub(1)).filter(|last| last.num > 1 && last.step != 1)
        {
            let message =
                format!("the last step of {} is {}; it must be 1", operand.pattern_text(), last.step);
            out.report(DMA_16, inst.at(operand), message);
        }
    }
}

fn queue_instances(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let mut switched: HashMap<BlockId, InstId> = HashMap::new();
    for &id in cx.survey.notable_in(block) {
        let inst = &cx.module[id];
        let (queue, instance, switches) = match &inst.op {
            Op::SwitchQueueInstance(op) => (op.queue, op.instance, true),
            Op::ResetQueueInstance(op) => (op.queue, op.instance, false),
            _ => continue,
        };
        let place = Place::of(id);
        match queue.map(Ref::target) {
            None => _ = out.report(DMA_18, place, "names no queue"),
            Some(RefTarget::Missing(name)) => {
                out.report(DMA_18, place, format!("queue {} does not exist", cx.module.str(name)));
            }
            Some(RefTarget::Found(_)) => {}
        }
        let queue = queue.and_then(|queue| queue.id());
        match (queue, instance.map(Ref::target)) {
            (_, None) => _ = out.report(DMA_18, place, "names no queue instance"),
            (_, Some(RefTarget::Missing(name))) => {
                out.report(DMA_18, place, format!("queue instance {} does not exist", cx.module.str(name)));
            }
            (Some(queue), Some(RefTarget::Found(instance))) => {
                if cx.module[instance].holder != Holder::Queue(queue) {
                    let message = format!("{} is no instance of queue {}", cx.name(instance), cx.name(queue));
                    out.report(DMA_18, place, message);
                }
                if switches && let Some(first) = switched.insert(instance, id) {
                    let message = format!("{} is switched to twice in one block", cx.name(instance));
                    out.report(DMA_18, place, message).related("before by", Place::of(first));
                }
            }
            (None, Some(_)) => {}
        }
        if switches && inst.operands().next().is_some() {
            out.report(DMA_18, place, "has operands; it takes none");
        }
    }
}

/// Whether an index operand enters an expression.
pub(crate) fn has_index(cx: &Cx<'_>, expr: ExprId) -> bool {
    let node = cx.module.exprs.get(expr);
    matches!(node, Expr::IndirectArg { .. }) || node.children().any(|child| has_index(cx, child))
}

fn indirect_rows(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    let Argument::PhysicalAp(access) = operand.argument else { return };
    let Some(info) = access.dynamic_ap_info.as_deref() else { return };
    let mut terms =
        info.aff_expr.iter().filter(|term| term.offset_expr.is_some_and(|expr| has_index(cx, expr)));
    let Some(term) = terms.next() else { return };
    let rows = i64::from(info.indirect_dim_max_index);
    if rows <= 0 {
        let message = format!(
            "IndirectDimMaxIndex must be > 0 where an index operand moves the access, and it is {rows}: it is the number of rows"
        );
        out.report(IND_02, inst.at(operand), message)
            .vendor("NCC_IBIR030", "DynamicAPINFO::IndirectDimMaxIndex must be > 0");
        return;
    }
    let (Some(coef), None) = (term.coef, terms.next()) else { return };
    let elements = operand.loc.and_then(|loc| loc.dims.as_ref()?.product()?.checked_div(operand.size));
    let (Some(elements), Some(pattern)) = (elements.and_then(|n| i64::try_from(n).ok()), operand.pattern)
    else {
        return;
    };
    if !info.indirect_dim.is_known() {
        return;
    }
    // The axis of the rows does not add to them.
    let axis = info.indirect_dim.ordinal().map(|at| at as usize);
    let inner = |(at, pair): (usize, ApPair)| {
        if Some(at) == axis { Some(0) } else { pair.num.checked_sub(1)?.checked_mul(pair.step) }
    };
    let ends = |clip: fn(i64) -> i64| {
        pattern.iter().enumerate().map(inner).try_fold(0i64, |sum, last| sum.checked_add(clip(last?)))
    };
    let offset = i64::try_from(access.offset).unwrap_or(0);
    let base = if info.c == 0 { offset } else { info.c };
    let far = (rows - 1).checked_mul(coef);
    let (Some(far), Some(least), Some(most)) = (far, ends(|last| last.min(0)), ends(|last| last.max(0)))
    else {
        return;
    };
    let first = base.saturating_add(far.min(0)).saturating_add(least);
    let last = base.saturating_add(far.max(0)).saturating_add(most);
    let start = if base == 0 { String::new() } else { format!(" from element {base} on") };
    if last >= elements {
        let holds = elements / coef.max(1);
        let message = format!(
            "out of bounds: {rows} rows of {coef} elements{start} are declared, which reach element {last}, and the location has \
             {elements} ({holds} rows)"
        );
        let finding = out.report(IND_03, inst.at(operand), message);
        let fit = elements.saturating_sub(1).saturating_sub(base).saturating_sub(most);
        if coef > 0 && fit >= 0 {
            finding.help(format!("set indirect_dim_max_index to {} at most", fit / coef + 1));
        }
    } else if first < 0 {
        let message = format!(
            "out of bounds: {rows} rows of {coef} elements{start} are declared, which reach element {first}, before the start of \
             the location"
        );
        out.report(IND_03, inst.at(operand), message);
    }
}

/// OPR-01: index operands that dynamic offsets name are there.
fn index_operands(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    fn most(cx: &Cx<'_>, expr: ExprId) -> Option<i64> {
        let node = cx.module.exprs.get(expr);
        let own = if let Expr::IndirectArg { arg_id } = node { Some(*arg_id) } else { None };
        node.children().filter_map(|child| most(cx, child)).chain(own).max()
    }
    let count = inst.count(OperandList::IndirectionIns);
    for operand in &inst.operands {
        let Argument::PhysicalAp(access) = operand.argument else { continue };
        let Some(info) = access.dynamic_ap_info.as_deref() else { continue };
        let named = info.aff_expr.iter().filter_map(|term| most(cx, term.offset_expr?)).max();
        if let Some(named) = named.filter(|named| usize::try_from(*named).is_ok_and(|at| at >= count)) {
            let message = format!(
                "is moved by index operand {named}, counted from 0, and the instruction has {}",
                self::count(count, "index operand")
            );
            out.report(OPR_01, inst.at(operand), message);
        }
    }
}

fn is_packed(dtype: Option<Dtype>) -> bool {
    matches!(dtype, Some(Dtype::Float4E2m1fnX4 | Dtype::Float8E4m3fnX4 | Dtype::Float8E5m2X4))
}

fn packed_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !inst.operands.iter().any(|operand| is_packed(operand.dtype)) {
        return;
    }
    let (transposes, computes) = match inst.op() {
        Op::DMACopy(op) => (
            op.mode == CopyMode::Transpose || op.transpose_op != TransposeOps::None,
            op.mode == CopyMode::CCE || op.cce_op != AluOpType::Bypass,
        ),
        Op::DMADescriptorTranspose(_) => (true, false),
        Op::DMADescriptorCCE(op) => (false, op.op != AluOpType::Bypass),
        _ => (false, false),
    };
    if transposes {
        out.report(MX_24, inst.place(), "transposes elements of a type that packs four of them");
    }
    if computes {
        out.report(MX_24, inst.place(), "computes with elements of a type that packs four of them");
    }
    if let Some((source, destination)) = ends(inst)
        && source.dtype != destination.dtype
    {
        let message = format!(
            "converts {} to {}; types that pack four elements are moved as they are",
            source.dtype_text(cx),
            destination.dtype_text(cx)
        );
        out.report(MX_24, inst.place(), message);
    }
}
