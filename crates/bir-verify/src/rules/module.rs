//! The module as a whole: MOD-03, MOD-08, MOD-10 to MOD-13, ARCH-04.

use bir::diag::{Place, Severity};
use bir::enums::{ArchLevel, ArchRevision, InstructionType, MemoryType, TensorKind};
use bir::geometry::Progression;
use bir::ids::{BlockId, FuncId, Id, InstId, LocId, SetId};
use bir::operands::access_of;
use bir::{Argument, Holder, Module, Op, OperandList};
use hashbrown::HashSet;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::Survey;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::module(&[ARCH_04], revision),
    Check::function(&[MOD_08], count),
    Check::function(&[MOD_10], unrolled),
    Check::module(&[MOD_11], one_stage),
    Check::module(&[MOD_12], never_read),
    Check::module(&[MOD_03], uninitialised),
    Check::function(&[MEM_07], live_on_entry),
    Check::inst(&[MOD_13], device_print),
];

fn revision(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if cx.module.root.revision == Some(ArchRevision::V2) && cx.module.root.arch != Some(ArchLevel::CoreV4) {
        let message =
            format!("revision v2 exists of arch 40 (core_v4) only; the module is for arch {}", cx.level);
        out.report(ARCH_04, Place::module(), message);
    }
}

/// How often a static loop runs; dynamic loops count as once.
fn trips(op: &Op) -> u64 {
    match op {
        Op::Loop(op) => {
            op.loop_axis.as_ref().and_then(|axis| Progression::of_loop(axis)).map_or(1, |axis| axis.count)
        }
        _ => 1,
    }
}

/// Instructions of blocks after unrolling: those that hold no body.
fn unrolled_count(module: &Module, survey: &Survey, blocks: &[BlockId]) -> u64 {
    let mut total = 0u64;
    let mut stack: Vec<(&[BlockId], u64)> = vec![(blocks, 1)];
    while let Some((blocks, times)) = stack.pop() {
        for block in blocks {
            // Nothing of a block without bodies needs a look.
            if !survey.nests(*block) {
                let count = module[*block].instructions.len() as u64;
                total = total.saturating_add(times.saturating_mul(count));
                continue;
            }
            for inst in &module[*block].instructions {
                let op = &module[inst].op;
                let body = module[inst].body();
                if matches!(op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_)) {
                    stack.push((body, times.saturating_mul(trips(op))));
                } else {
                    total = total.saturating_add(times);
                    stack.push((body, times));
                }
            }
        }
    }
    total
}

fn count(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let total = unrolled_count(cx.module, &cx.survey, &cx.module[function].blocks);
    let limit = cx.options.instruction_limit;
    if total > limit {
        let message = format!(
            "number of instructions ({total}) is over the threshold ({limit}), once loops are unrolled"
        );
        out.report(MOD_08, Place::of(function), message)
            .vendor("EBVF030", format!("Number of instructions ({total}) is over the threshold ({limit})"))
            .help("keep loops as dynamic loops, or split the kernel; --instruction-limit sets another limit")
            // The limit is of one release.
            .at_most(Severity::Warning);
    }
}

/// Name of the attribute that marks a function as unrolled.
const UNROLLED: &str = "stage_unroll_completed";

fn is_unrolled(cx: &Cx<'_>, function: FuncId) -> bool {
    cx.module[function].attributes.iter().any(|attribute| cx.module.str(*attribute) == UNROLLED)
}

fn unrolled(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if !is_unrolled(cx, function) {
        return;
    }
    let mut notable = cx.survey.notable_of(function).iter().copied();
    let mut all = cx.notes.is_symbolic.is_set().then(|| cx.module.insts_of(Holder::Function(function)));
    let insts: &mut dyn Iterator<Item = InstId> = match &mut all {
        Some(all) => all,
        None => &mut notable,
    };
    for inst in insts {
        use InstructionType as It;
        let op = cx.module[inst].opcode();
        let symbolic = cx.module[inst].operands().any(|(_, _, operand)| {
            matches!(operand, Argument::SymbolicAp(_) | Argument::SymbolicImmValue(_))
        });
        let message = match op {
            It::Loop
            | It::DynamicForLoop
            | It::DoWhile
            | It::GenericIndirectLoad
            | It::GenericIndirectSave => "is not allowed in a function that is marked as unrolled",
            _ if symbolic => "has a symbolic operand in a function that is marked as unrolled",
            _ => continue,
        };
        out.report(MOD_10, Place::of(inst), message);
    }
}

fn one_stage(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut functions = cx.module.functions();
    let Some(first) = functions.next() else { return };
    let of_first = is_unrolled(cx, first);
    for function in functions.filter(|function| is_unrolled(cx, *function) != of_first) {
        let (marked, plain) = if of_first { (first, function) } else { (function, first) };
        let message = format!("{} is marked as unrolled and {} is not", cx.name(marked), cx.name(plain));
        out.report(MOD_11, Place::of(function), message);
    }
}

/// Whether something outside of the module fills or empties a set.
fn is_shared(module: &Module, set: SetId) -> bool {
    let record = &module[set];
    let inside = matches!(record.kind, Some(TensorKind::Internal) | None);
    !inside
        || record.memorylocations.iter().any(|loc| {
            let loc = &module[*loc];
            !loc.alias.is_empty()
                || loc.written_by_another_core
                || loc.remote_local_target.is_some()
                || loc.is_shared_post_dram_alloc
                || matches!(loc.r#type, MemoryType::Input | MemoryType::Output)
        })
}

fn never_read(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if cx.has_any(&[InstructionType::Call]) {
        return;
    }
    for function in cx.module.functions() {
        for set in cx.module.sets_of(function) {
            if cx.notes.is_written(set) && !cx.notes.is_read(set) && !is_shared(cx.module, set) {
                let message = format!("{} is written and never read", cx.name(set));
                out.report(MOD_12, Place::storage(set), message);
            }
        }
    }
}

/// MOD-03: on request, reads of storage that nothing writes.
fn uninitialised(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if !cx.options.uninitialised_reads {
        return;
    }
    for function in cx.module.functions() {
        read_too_early(cx, function, out);
    }
    for id in cx.module.insts() {
        let inst = &cx.module[id];
        for (list, index, argument) in inst.operands() {
            if !access_of(inst, list, index).may_read() {
                continue;
            }
            let loc = argument.location().and_then(|loc| loc.id());
            let set = loc.map(|loc| cx.module[loc].set).or_else(|| argument.location_set()?.id());
            let Some(set) = set else { continue };
            if cx.notes.is_written(set) || is_shared(cx.module, set) || may_read_nothing(&inst.op) {
                continue;
            }
            // Of an output that is read as well, only a first read counts; nothing else writes it.
            if list == OperandList::Outs {
                continue;
            }
            let name = loc.map_or_else(|| cx.name(set).to_owned(), |loc| cx.name(loc).to_owned());
            let message =
                format!("uninitialized read of {name}: reads un-initialized memory, nothing writes it");
            out.report(MOD_03, bir::diag::Place::operand(id, list, index), message)
                .vendor("", "Instruction reads un-initialized memory locations");
        }
    }
}

/// MOD-03 in a function without loops and branches: reads that come before the first write, in the order of the text.
fn read_too_early(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let straight = cx.module.insts_of(Holder::Function(function)).all(|inst| {
        let op = &cx.module[inst].op;
        cx.module[inst].body().is_empty()
            && !matches!(
                op,
                Op::Call(_) | Op::CompareAndBranch(_) | Op::UnconditionalBranch(_) | Op::DMATrigger(_)
            )
    });
    if !straight {
        return;
    }
    let mut written: HashSet<SetId> = HashSet::new();
    let mut reads: Vec<(SetId, Place)> = Vec::new();
    let mut seen: HashSet<SetId> = HashSet::new();
    let set_of = |argument: &Argument| {
        let named = argument.location().and_then(|loc| loc.id()).map(|loc| cx.module[loc].set);
        named.or_else(|| argument.location_set()?.id())
    };
    for id in cx.module.insts_of(Holder::Function(function)) {
        let inst = &cx.module[id];
        for (list, index, argument) in inst.operands().filter(|(list, ..)| *list != OperandList::Outs) {
            let Some(set) = set_of(argument).filter(|set| !written.contains(set)) else { continue };
            if !is_shared(cx.module, set) && !may_read_nothing(&inst.op) && seen.insert(set) {
                reads.push((set, Place::operand(id, list, index)));
            }
        }
        for (list, index, argument) in inst.operands() {
            if access_of(inst, list, index).writes() {
                written.extend(set_of(argument));
            }
        }
    }
    for (set, place) in reads.into_iter().filter(|(set, _)| written.contains(set)) {
        let message = format!(
            "uninitialized read of {}: reads un-initialized memory, the first write comes later",
            cx.name(set)
        );
        out.report(MOD_03, place, message).vendor("", "Instruction reads un-initialized memory locations");
    }
}

/// Whether the instruction says that it may read what nothing wrote.
fn may_read_nothing(op: &Op) -> bool {
    matches!(op, Op::Activation(op) if op.can_read_uninit == true)
}

/// MEM-07 in the straight part of main: what is read first and written later lives on entry.
fn live_on_entry(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if cx.module.main() != Some(function) {
        return;
    }
    let [entry, ..] = cx.module[function].blocks[..] else { return };
    // By location.
    let mut is_written = vec![false; cx.module.loc_ids().len()];
    let mut is_read = is_written.clone();
    let mut read: Vec<(LocId, InstId, OperandList, usize)> = Vec::new();
    for id in &cx.module[entry].instructions {
        let inst = &cx.module[id];
        if !inst.body().is_empty() || matches!(inst.op, Op::Call(_)) {
            return;
        }
        for (list, index, argument) in inst.operands() {
            let Some(loc) = argument.location().and_then(|loc| loc.id()) else { continue };
            let on_chip = matches!(cx.module[loc].r#type, MemoryType::SB | MemoryType::PSUM);
            if !on_chip || list == OperandList::Outs {
                continue;
            }
            if !is_written[loc.index()] && !is_read[loc.index()] && read.len() < 256 {
                is_read[loc.index()] = true;
                read.push((loc, id, list, index));
            }
        }
        for (list, _, argument) in inst.operands() {
            let Some(loc) = argument.location().and_then(|loc| loc.id()) else { continue };
            // Outputs are always written.
            if list != OperandList::Outs
                || std::mem::replace(&mut is_written[loc.index()], true)
                || !is_read[loc.index()]
            {
                continue;
            }
            if let Some((_, reader, list, index)) = read.iter().find(|(seen, ..)| *seen == loc)
                && *reader != id
            {
                let message = format!(
                    "reads {} before anything writes it, so it lives on entry; such a location is in DRAM",
                    cx.location_text(loc)
                );
                // Modules that are known to be good read leftovers: no more than a note.
                out.report(MEM_07, Place::operand(*reader, *list, *index), message).at_most(Severity::Note);
            }
        }
        debug_assert!(id.index() < cx.module.inst_ids().len());
    }
}

fn device_print(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let accesses: Vec<_> = inst.operands.iter().filter(|operand| operand.is_access()).collect();
    match &accesses[..] {
        [one] if !matches!(one.argument, Argument::PhysicalAp(_)) => {
            out.report(
                MOD_13,
                inst.at(one),
                format!("prints a {}; it prints a physical access", one.argument.kind()),
            );
        }
        [one] if !(one.is_dram() || one.is_sb()) => {
            out.report(MOD_13, inst.at(one), "prints what is neither in DRAM nor in SB");
        }
        [_] => {}
        several => {
            let message = format!("prints {} accesses; it prints one", several.len());
            out.report(MOD_13, inst.place(), message);
        }
    }
}
