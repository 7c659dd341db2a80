//! Registers and the ops on them: REG.

use bir::OperandList;
use bir::diag::{Place, Severity};
use bir::enums::{AluOpType, TensorKind};
use bir::ids::{BlockId, FuncId, InstId, RegId};
use bir::{Argument, Holder, Op, OpenEnum};
use hashbrown::{HashMap, HashSet};

use super::flow::branch_targets;
use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::is_terminator;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[REG_01], memory_ops),
    Check::inst(&[REG_02], kind).needs(Needs::Operands),
    Check::inst(&[REG_03], widths),
    Check::inst(&[REG_05], register_ops),
    Check::function(&[REG_06], stays),
    Check::function(&[REG_06], unwritten),
];

fn is_register(operand: &Operand<'_>) -> bool {
    matches!(operand.argument, Argument::RegisterAccess(_))
}

fn memory_ops(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (ins, outs) = (inst.count(OperandList::Ins), inst.count(OperandList::Outs));
    if ins != 1 || outs != 1 {
        let message = format!("has {ins} inputs and {outs} outputs; it has one of each");
        out.report(REG_01, inst.place(), message);
        return;
    }
    if !matches!(inst.op(), Op::TensorLoad) {
        return;
    }
    if let Some(source) = inst.input(0).filter(|source| !matches!(source.argument, Argument::PhysicalAp(_))) {
        let message = format!("loads from a {}; it loads from a physical access", source.argument.kind());
        out.report(REG_01, inst.at(source), message);
    }
    if let Some(target) = inst.output(0).filter(|target| !is_register(target)) {
        let message = format!("loads into a {}; it loads into a register", target.argument.kind());
        out.report(REG_01, inst.at(target), message);
    }
}

fn kind(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    for operand in &inst.operands {
        let Some(set) = operand.set else { continue };
        let kind = cx.module[set].kind;
        if kind.is_some_and(|kind| {
            !matches!(kind, TensorKind::Const | TensorKind::Internal | TensorKind::Pointer)
        }) {
            let message = format!(
                "names {}, of kind {}; it goes with Const, Internal and Pointer",
                cx.name(set),
                kind.map_or("", |kind| kind.text(&cx.module.names))
            );
            out.report(REG_02, inst.at(operand), message).at_most(Severity::Warning);
        }
    }
}

/// Width of a register in 32-bit words.
fn width(cx: &Cx<'_>, operand: &Operand<'_>) -> Option<u32> {
    let reg = operand.argument.register()?.id()?;
    is_register(operand).then(|| cx.module[reg].register_width)
}

fn widths(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    match inst.op() {
        Op::RegisterAlu(_) | Op::RegisterMove => {
            let mut registers =
                inst.operands.iter().filter_map(|operand| Some((operand, width(cx, operand)?)));
            let Some((_, first)) = registers.next() else { return };
            for (operand, other) in registers.filter(|(_, other)| *other != first) {
                let message =
                    format!("the register has width {other} and another {first}; all have one width");
                out.report(REG_03, inst.at(operand), message);
            }
        }
        _ => {
            let element = inst.operands.iter().find(|operand| operand.is_access() && operand.size > 0);
            let register = inst.operands.iter().find_map(|operand| Some((operand, width(cx, operand)?)));
            if let (Some(element), Some((register, width))) = (element, register) {
                let bytes = u64::from(width) * 4;
                if element.size != bytes {
                    let message = format!(
                        "{} has {} bytes and the register {bytes}; a loaded or saved element fills its register",
                        element.dtype_text(cx),
                        element.size
                    );
                    out.report(REG_03, inst.at(register), message);
                }
            }
        }
    }
    if let Op::RegisterAlu(op) = inst.op()
        && op.is_64bit == true
        && !matches!(op.op, AluOpType::Add | AluOpType::Subtract | AluOpType::Mult)
    {
        let message = format!(
            "64 bits with {}; they are added, subtracted or multiplied",
            op.op.text(&cx.module.names)
        );
        out.report(REG_03, inst.place(), message);
    }
}

fn register_ops(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (ins, outs) = (inst.count(OperandList::Ins), inst.count(OperandList::Outs));
    let wanted = if matches!(inst.op(), Op::RegisterAlu(_)) { 2 } else { 1 };
    if ins != wanted || outs != 1 {
        let message = format!("has {ins} inputs and {outs} outputs; it has {wanted} and one");
        out.report(REG_05, inst.place(), message);
    }
    if let Some(target) = inst.outs().find(|target| !is_register(target)) {
        let message = format!("writes a {}; it writes a register", target.argument.kind());
        out.report(REG_05, inst.at(target), message);
    }
    let fits = |operand: &&Operand<'_>| is_register(operand) || operand.argument.is_immediate();
    if let Some(source) = inst.ins().find(|operand| !fits(operand)) {
        let message = format!("reads a {}; it reads registers and immediates", source.argument.kind());
        out.report(REG_05, inst.at(source), message);
    }
}

/// The instructions of a function among which all are that name registers.
fn users<'c>(cx: &'c Cx<'_>, function: FuncId) -> Box<dyn Iterator<Item = InstId> + 'c> {
    if cx.notes.has_other_registers.is_set() {
        Box::new(cx.module.insts_of(Holder::Function(function)))
    } else {
        Box::new(cx.survey.notable_of(function).iter().copied())
    }
}

/// The block of a function in which an instruction stands, whatever it is nested in.
fn block_of(cx: &Cx<'_>, id: InstId) -> BlockId {
    let mut block = cx.module[id].block;
    while let Holder::Inst(outer) = cx.module[block].holder {
        block = cx.module[outer].block;
    }
    block
}

/// The blocks of a function to which the program may get without going back.
fn ahead(cx: &Cx<'_>, function: FuncId) -> HashSet<BlockId> {
    let blocks = &cx.module[function].blocks;
    let mut ahead: HashSet<BlockId> = blocks.first().copied().into_iter().collect();
    let mut passed: HashSet<BlockId> = HashSet::new();
    for (at, block) in blocks.iter().copied().enumerate() {
        passed.insert(block);
        if !ahead.contains(&block) {
            continue;
        }
        let is_end = |id: &&InstId| is_terminator(cx.module[**id].opcode());
        let mut ends = cx.survey.notable_in(block).iter().filter(is_end).peekable();
        if ends.peek().is_none() {
            ahead.extend(blocks.get(at + 1).copied());
        }
        let targets = ends.flat_map(|id| branch_targets(&cx.module[*id].op)).flatten();
        ahead.extend(targets.filter_map(|target| target.id()).filter(|target| !passed.contains(target)));
    }
    ahead
}

/// REG-06: a register is written before it is read. Said where that is sure: nothing in the function writes it, or the
/// first block of the function reads it first.
fn unwritten(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if cx.module.reg_ids().len() == 0 {
        return;
    }
    let mut written: HashSet<RegId> = HashSet::new();
    let mut reads: Vec<(RegId, Place, InstId)> = Vec::new();
    let mut seen: HashSet<RegId> = HashSet::new();
    for id in users(cx, function) {
        let inst = &cx.module[id];
        let is_write = |list: OperandList, argument: &Argument| {
            list == OperandList::Outs && matches!(argument, Argument::RegisterAccess(_))
        };
        for (list, index, argument) in inst.operands() {
            let Some(reg) = argument.register().and_then(|reg| reg.id()) else { continue };
            if !is_write(list, argument) && !written.contains(&reg) && seen.insert(reg) {
                reads.push((reg, Place::operand(id, list, index), id));
            }
        }
        for (list, _, argument) in inst.operands() {
            if is_write(list, argument) {
                written.extend(argument.register().and_then(|reg| reg.id()));
            }
        }
    }
    if reads.is_empty() {
        return;
    }
    // What the program comes to from blocks before, all of which write nothing to it.
    let ahead = ahead(cx, function);
    for (reg, place, id) in reads {
        let name = cx.name(reg);
        let message = if !written.contains(&reg) {
            format!("reads register {name}, and nothing in the function writes it")
        } else if ahead.contains(&block_of(cx, id)) {
            format!("reads register {name} before anything has written it")
        } else {
            continue;
        };
        out.report(REG_06, place.about(reg), message).vendor("", "");
    }
}

/// REG-06, as a note: registers that live across blocks belong to another flow.
fn stays(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if !cx.notes.crosses_blocks.is_set() {
        return;
    }
    let mut homes: HashMap<RegId, BlockId> = HashMap::new();
    let mut crossing: Option<(RegId, Place)> = None;
    let mut count = 0u64;
    for id in users(cx, function) {
        let inst = &cx.module[id];
        for (_, _, argument) in inst.operands() {
            let Some(reg) = argument.register().and_then(|reg| reg.id()) else { continue };
            let home = *homes.entry(reg).or_insert(inst.block);
            if home != inst.block && crossing.as_ref().is_none_or(|(first, _)| *first != reg) {
                count += 1;
                crossing.get_or_insert((reg, Place::of(id)));
            }
        }
    }
    if let Some((reg, place)) = crossing {
        let message = format!("register {} is used in several blocks ({count} such uses)", cx.name(reg));
        out.report(REG_06, place.about(reg), message).at_most(Severity::Note);
    }
}
