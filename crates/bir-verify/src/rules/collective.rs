//! Collectives: COL.

use bir::diag::Place;
use bir::enums::{AluOpType, CollectiveKind as Kind, Dtype, InstructionType as It};
use bir::ids::InstId;
use bir::ops::CollectiveCompute;
use bir::{Holder, Op, OpenEnum, OperandList};
use hashbrown::HashMap;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Site};

pub(super) const CHECKS: &[Check] = &[
    Check::operand(&[COL_01], reads_io),
    Check::operand(&[COL_02], writes_io),
    Check::inst(&[COL_03], known).for_ops(&[It::Collective]),
    Check::inst(&[COL_04], arch),
    Check::inst(&[COL_05, COL_07, COL_08, COL_18, COL_19], in_sb),
    Check::inst(&[COL_09, COL_10], ratios),
    Check::inst(&[COL_11, COL_12, COL_16], send_receive),
    Check::inst(&[COL_13, COL_14], all_to_all_v),
    Check::inst(&[COL_17], operator),
    Check::inst(&[COL_20], groups_or_pairs),
    Check::module(&[COL_21], streams),
];

/// COL-01.
fn reads_io(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list != OperandList::Outs
        && let Some(set) = operand.set.filter(|set| cx.is_io(*set))
    {
        let message = format!("collectives cannot read IO tensors, and {} is one", cx.name(set));
        out.report(COL_01, inst.at(operand), message)
            .vendor("", "Collective instruction cannot read IO tensors")
            .help("copy it to an internal tensor first");
    }
}

/// COL-02.
fn writes_io(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list == OperandList::Outs
        && let Some(set) = operand.set.filter(|set| cx.is_io(*set))
    {
        let message = format!("collectives cannot write IO tensors, and {} is one", cx.name(set));
        out.report(COL_02, inst.at(operand), message)
            .vendor("", "Collective instruction cannot write IO tensors")
            .help("write an internal tensor and copy that");
    }
}

/// COL-03: the base of the collectives is none itself.
fn known(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let message =
        "Collective is no op of its own; the ops are CollectiveCompute, CollectiveSend and CollectiveRecv";
    out.report(COL_03, inst.place(), message);
}

/// COL-04.
fn arch(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if cx.level <= 20 {
        let message =
            format!("CollectiveCompute needs arch 30 or newer, and the module is for arch {}", cx.level);
        out.report(COL_04, inst.place(), message);
    }
}

/// What the channel of a collective says.
struct Collective<'m> {
    op: &'m CollectiveCompute,
    kind: Kind,
    groups: &'m [Vec<u32>],
    operator: AluOpType,
}

impl<'m> Collective<'m> {
    fn of(op: &'m Op) -> Option<Collective<'m>> {
        let Op::CollectiveCompute(op) = op else { return None };
        let channel = op.cc_channel.as_deref()?;
        Some(Collective { op, kind: channel.kind, groups: &channel.replica_groups, operator: channel.op })
    }

    fn name<'c>(&self, cx: &'c Cx<'_>) -> &'c str {
        self.kind.text(&cx.module.names)
    }

    /// Ranks of each group, when all have as many.
    fn ranks(&self) -> Option<u64> {
        let first = self.groups.first()?.len();
        let same = first > 0 && self.groups.iter().all(|group| group.len() == first);
        same.then_some(first as u64)
    }
}

/// COL-05, COL-07, COL-08, COL-18, COL-19: collectives on SB.
fn in_sb(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !inst.operands.iter().any(|operand| operand.is_sb()) {
        return;
    }
    let outs: Vec<&Operand<'_>> = inst.outs().collect();
    match outs[..] {
        [_] => {}
        [_, scratch] if scratch.is_sb() => {}
        _ => {
            let message = format!(
                "{} outputs; a collective on SB has one, and may have a scratch pad in SB",
                outs.len()
            );
            out.report(COL_05, inst.place(), message);
        }
    }
    for operand in &inst.operands {
        if !operand.is_sb() && (operand.is_psum() || operand.is_dram()) {
            let message =
                format!("in {}; another operand is in SB, and then all are", operand.memory_text(cx));
            out.report(COL_08, inst.at(operand), message);
        }
        let first = operand.pairs().next().filter(|pair| operand.is_sb() && pair.num > 1);
        if let (Some(first), Some(pitch)) = (first, operand.pitch())
            && first.step != pitch
        {
            let message = format!(
                "the partition step is {} elements and the row {pitch}; a collective takes contiguous partitions",
                first.step
            );
            out.report(COL_07, inst.at(operand), message);
        }
    }
    let Some(collective) = Collective::of(inst.op()) else { return };
    if collective.groups.is_empty() && !matches!(collective.kind, Kind::SendRecv | Kind::SendRecvCCE) {
        let message = format!("{} on SB without replica_groups", collective.name(cx));
        out.report(COL_18, inst.place(), message);
    }
    if !matches!(collective.kind, Kind::AllReduce | Kind::PermuteReduce | Kind::PermuteReduceImplicit) {
        return;
    }
    let Some(output) = outs.first() else { return };
    // One that is elsewhere has no such shape.
    let shape = |operand: &Operand<'_>| {
        let operand = operand.is_sb().then_some(operand)?;
        Some((operand.partitions()?, operand.elements_per_partition()?))
    };
    for input in inst.ins() {
        if let (Some(reads), Some(writes)) = (shape(input), shape(output))
            && reads != writes
        {
            let message = format!(
                "{} partitions of {} elements for an output of {} and {}; {} keeps the shape",
                reads.0,
                reads.1,
                writes.0,
                writes.1,
                collective.name(cx)
            );
            out.report(COL_19, inst.at(input), message);
        }
    }
}

/// COL-09, COL-10: how much larger one side is.
fn ratios(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(collective) = Collective::of(inst.op()) else { return };
    let Some(ranks) = collective.ranks() else { return };
    let gathers = match collective.kind {
        Kind::AllGather => true,
        Kind::ReduceScatter => false,
        _ => return,
    };
    for (input, output) in inst.ins().zip(inst.outs()) {
        let (Some(reads), Some(writes)) = (input.elements(), output.elements()) else { continue };
        let (small, large) = if gathers { (reads, writes) } else { (writes, reads) };
        if small.checked_mul(ranks) == Some(large) {
            continue;
        }
        let rule = if gathers { COL_09 } else { COL_10 };
        let message = format!(
            "{} of {reads} elements to {writes} with {ranks} ranks in a group; the {} has {ranks} times as many",
            collective.name(cx),
            if gathers { "output" } else { "input" }
        );
        out.report(rule, inst.at(output), message)
            .vendor(rule.info().vendor_code(), format!("Illegal src/dst ratio for {}", collective.name(cx)));
    }
}

/// COL-11, COL-12, COL-16: send and receive.
fn send_receive(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(collective) = Collective::of(inst.op()).filter(|c| c.kind == Kind::SendRecv) else { return };
    let (inputs, ranks) = (inst.ins().count(), collective.op.recv_from_rank.len());
    if inputs != ranks {
        let message = format!("{inputs} inputs and {ranks} entries of recv_from_rank; there is one for each");
        out.report(COL_11, inst.place(), message);
    }
    for (input, output) in inst.ins().zip(inst.outs()) {
        if input.dtype.zip(output.dtype).is_some_and(|(from, to)| from != to) {
            let message = format!("sends {} and receives {}", input.dtype_text(cx), output.dtype_text(cx));
            out.report(COL_12, inst.at(output), message);
        }
    }
    if let Some(name) = dynamic_loop_around(cx, inst.id) {
        let message = format!("SendRecv in the dynamic loop {name}; its number of transfers must be known");
        out.report(COL_16, inst.place(), message);
    }
}

/// Name of the nearest loop around an instruction whose trip count is not known.
fn dynamic_loop_around<'m>(cx: &Cx<'m>, mut inst: InstId) -> Option<&'m str> {
    while let Holder::Inst(outer) = cx.module[cx.module[inst].block].holder {
        if matches!(cx.module[outer].opcode(), It::DynamicForLoop | It::DoWhile) {
            return Some(cx.name(outer));
        }
        inst = outer;
    }
    None
}

/// COL-13, COL-14: the one with counts in memory.
fn all_to_all_v(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if Collective::of(inst.op()).is_none_or(|collective| collective.kind != Kind::AllToAllV) {
        return;
    }
    let (ins, outs) = (inst.ins().count(), inst.outs().count());
    if ins != outs && ins != outs + 1 {
        let message = format!(
            "{ins} inputs and {outs} outputs; AllToAllV has one more input, the metadata, or as many with a channel buffer"
        );
        out.report(COL_13, inst.place(), message);
    }
    let metadata = inst.ins().filter(|input| input.dtype == Some(Dtype::Uint32)).count();
    if metadata == 0 && ins > 0 {
        out.report(COL_14, inst.place(), "no input is uint32; the metadata are");
    } else if ins < 2 {
        let message = format!("{ins} inputs; there are at least data and metadata");
        out.report(COL_14, inst.place(), message)
            .vendor("", "AllToAllV requires at least one data input and one metadata input");
    }
}

/// COL-17: operators of the kinds.
fn operator(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(collective) = Collective::of(inst.op()) else { return };
    let operator = collective.operator.text(&cx.module.names);
    match collective.kind {
        Kind::AllGather | Kind::AllToAll | Kind::Permute if collective.operator != AluOpType::Bypass => {
            let message =
                format!("{} with the operator {operator}; it computes nothing", collective.name(cx));
            out.report(COL_17, inst.place(), message)
                .vendor("BIR066", format!("CollectiveCompute does not support {operator}"));
        }
        Kind::AllReduce | Kind::ReduceScatter
            if collective.op.is_local == true && collective.operator != AluOpType::Add =>
        {
            let message = format!("a local {} with the operator {operator}; it adds", collective.name(cx));
            out.report(COL_17, inst.place(), message).vendor("LLC008", "currently only supports addition");
        }
        _ => {}
    }
}

/// COL-20.
fn groups_or_pairs(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(collective) = Collective::of(inst.op()) else { return };
    let (groups, pairs) = (collective.groups.len(), collective.op.src_target_pairs.len());
    if groups > 0 && pairs > 0 {
        let message =
            format!("{groups} replica groups and {pairs} src_target_pairs; there are groups or pairs");
        out.report(COL_20, inst.place(), message);
    }
}

/// COL-21: collectives of the same ranks share a stream.
fn streams(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut streams = HashMap::<(&[Vec<u32>], bool), (InstId, i32)>::new();
    for &id in cx.survey.notable() {
        let (ranks, are_pairs, stream) = match &cx.module[id].op {
            Op::CollectiveCompute(op) => {
                let groups =
                    op.cc_channel.as_deref().map(|channel| &channel.replica_groups[..]).unwrap_or_default();
                match groups.is_empty() {
                    false => (groups, false, op.stream_id),
                    true => (&op.src_target_pairs[..], true, op.stream_id),
                }
            }
            Op::GetCurProcessingRankID(op) => {
                (op.replica_groups.as_deref().unwrap_or_default(), false, op.stream_id)
            }
            _ => continue,
        };
        // A stream of 0 may be one that has not been given.
        let Some(stream) = stream.value().filter(|stream| *stream != 0 && !ranks.is_empty()) else {
            continue;
        };
        let (first, of_first) = *streams.entry((ranks, are_pairs)).or_insert((id, stream));
        if of_first != stream {
            let message = format!(
                "stream_id is {stream}, and {} with the same {} has {of_first}",
                cx.name(first),
                if are_pairs { "pairs" } else { "replica groups" }
            );
            out.report(COL_21, Place::of(id), message).related("the first one", Place::of(first));
        }
    }
}
