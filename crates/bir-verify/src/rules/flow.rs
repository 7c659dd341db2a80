//! Control flow: CF. Loops and their bounds, branches and what stands around them; the graph of blocks is in
//! `blocks`.

use bir::OperandList;
use bir::diag::{Place, Severity};
use bir::enums::{Dtype, EngineType, InstructionType};
use bir::expr::Expr;
use bir::ids::{BlockId, ExprId, FuncId, InstId, Ref, Target as RefTarget};
use bir::{Argument, Holder, Op, OpenEnum, Sym};
use hashbrown::HashMap;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::{Seen, is_terminator};
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[CF_03, CF_04, CF_12], dynamic_bounds),
    Check::inst(&[CF_05], condition),
    Check::inst(&[CF_07], targets),
    Check::block(&[CF_08], terminator_last),
    Check::function(&[CF_09], dependents),
    Check::inst(&[CF_10], compare_code),
    Check::inst(&[CF_11, CF_15], compare_types),
    Check::block(&[CF_13], same_targets),
    Check::inst(&[CF_14], operands),
    Check::function(&[CF_16, CF_29], not_empty),
    Check::block(&[CF_17], ends_block),
    Check::block(&[CF_22], one_each),
    Check::inst(&[CF_23], next_block),
    Check::inst(&[CF_24, CF_27], nested_dynamic),
    Check::function(&[CF_25], alone),
    Check::block(&[CF_26], returns),
    Check::inst(&[CF_28], loop_condition),
];

/// Blocks that a branch may go to.
pub(super) fn branch_targets(op: &Op) -> [Option<Ref<BlockId>>; 2] {
    match op {
        Op::CompareAndBranch(op) => [op.on_true, op.on_false],
        Op::UnconditionalBranch(op) => [op.target, None],
        _ => [None, None],
    }
}

/// The register that an expression is, with factor 1 and nothing added; loops of either form of it.
fn as_register(cx: &Cx<'_>, expr: ExprId) -> bool {
    match cx.module.exprs.get(expr) {
        Expr::Register { .. } => true,
        Expr::Affine { terms, .. } => match &terms[..] {
            [term] => matches!(cx.module.exprs.get(term.idx), Expr::Register { .. }),
            _ => false,
        },
        Expr::Sum { terms } => matches!(&terms[..], [term] if as_register(cx, *term)),
        Expr::Mult { var, .. } => as_register(cx, *var),
        _ => false,
    }
}

fn dynamic_bounds(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DynamicForLoop(op) = inst.op() else { return };
    let Some(axis) = op.dynamic_for_loop_axis.as_deref() else {
        out.report(CF_04, inst.place(), "the loop has no axis");
        return;
    };
    for (bound, what) in [(axis.lb, "lower bound"), (axis.stride, "stride")] {
        if let Some(expr) = bound.filter(|expr| cx.module.exprs.as_constant(*expr).is_none()) {
            let _ = expr;
            let message = format!(
                "the {what} of the dynamic loop is no constant; only the upper bound may be a run-time value"
            );
            out.report(CF_03, inst.place(), message);
        }
    }
    if let Some(upper) = axis.ub.filter(|upper| !as_register(cx, *upper)) {
        let constant = cx.module.exprs.as_constant(upper);
        let found = constant
            .map_or("an expression of several terms".to_owned(), |value| format!("the constant {value}"));
        let message = format!("the upper bound of the dynamic loop is {found}; it is one register");
        let help = if constant.is_some() { "use a Loop" } else { "compute the bound in a register first" };
        out.report(CF_04, inst.place(), message.clone()).help(help);
        // The simulator says the same in its own words.
        out.report(CF_12, inst.place(), message).at_most(Severity::Note);
    }
}

fn condition(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DoWhile(op) = inst.op() else { return };
    match op.cond {
        None => {
            _ = out
                .report(CF_05, inst.place(), "the loop has no condition")
                .vendor("BIR070", "DoWhile instruction missing loop condition")
        }
        Some(cond) if !as_register(cx, cond) => {
            out.report(CF_05, inst.place(), "the condition is no register; it is a run-time integer")
                .vendor("BIR071", "condition must be an IntRuntimeValue");
        }
        Some(_) => {}
    }
}

fn targets(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let holder = cx.module[inst.inst.block].holder;
    let targets = branch_targets(inst.op());
    for target in targets.into_iter().flatten() {
        match target.target() {
            RefTarget::Missing(name) => {
                let message = format!("branches to {}, and no block has this name", cx.module.str(name));
                out.report(CF_07, inst.place(), message);
            }
            RefTarget::Found(block) if cx.module[block].holder != holder => {
                let message =
                    format!("branches to {}, which belongs to another function or body", cx.name(block));
                out.report(CF_07, inst.place(), message).related("the block", Place::of(block));
            }
            RefTarget::Found(_) => {}
        }
    }
    let missing = match inst.op() {
        Op::CompareAndBranch(op) => op.on_true.is_none() || op.on_false.is_none(),
        Op::UnconditionalBranch(op) => op.target.is_none(),
        _ => false,
    };
    if missing {
        out.report(CF_07, inst.place(), "the branch has no target");
    }
}

fn terminator_last(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let list = &cx.module[block].instructions;
    let is_end = |inst: &&InstId| is_terminator(cx.module[**inst].opcode());
    let Some(first) = cx.survey.notable_in(block).iter().find(is_end) else { return };
    // The ends of blocks are short.
    let Some(first) = list.iter().rposition(|inst| inst == first) else { return };
    let end = list[first];
    let mut ended: Vec<EngineType> = Vec::new();
    let mut behind = Vec::new();
    for &id in &list[first..] {
        let inst = &cx.module[id];
        if is_terminator(inst.opcode()) {
            ended.push(inst.engine);
            continue;
        }
        // Before a block has a copy of the branch for each engine, the others may still go on.
        if ended.iter().any(|engine| *engine == inst.engine || !engine.is_datapath()) {
            behind.push(id);
        }
    }
    // An end that stands too early is one fault.
    let shown = if behind.len() > LISTED { 1 } else { behind.len() };
    for id in &behind[..shown] {
        let more = match behind.len() - shown {
            0 => String::new(),
            more => format!("; so do {more} more"),
        };
        let message = format!("stands after {}, which ends the block{more}", cx.name(end));
        out.report(CF_08, Place::of(*id), message)
            .vendor("BIR080", format!("non-terminator Instruction {} is not allowed after", cx.name(*id)))
            .related("the end", Place::of(end));
    }
}

/// Instructions behind the end of a block that are told one by one.
const LISTED: usize = 3;

/// CF-09, once for each block that goes on behind its end.
fn dependents(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if !cx.notes.needs_behind_end.is_set() {
        return;
    }
    let mut found: Vec<(BlockId, InstId, InstId, u64)> = Vec::new();
    let mut places: HashMap<BlockId, usize> = HashMap::new();
    for id in cx.module.insts_of(Holder::Function(function)) {
        for edge in cx.module[id].dependencies.iter() {
            let on = edge.target();
            if !cx.survey.is_behind_end(on) {
                continue;
            }
            let block = cx.module[on].block;
            let at = *places.entry(block).or_insert(found.len());
            match found.get_mut(at) {
                Some((.., more)) => *more += 1,
                None => found.push((block, id, on, 0)),
            }
        }
    }
    for (_, id, on, more) in found {
        let more = if more == 0 { String::new() } else { format!("; {more} more such dependencies") };
        let message = format!("depends on {}, which stands after the end of its block{more}", cx.name(on));
        out.report(CF_09, Place::of(id), message).related("the other instruction", Place::of(on));
    }
}

fn compare_code(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::CompareAndBranch(op) = inst.op() else { return };
    if op.comp_op.ordinal().is_none_or(|code| code > 11) {
        let message = format!("compares with {}, which has no code", op.comp_op.text(&cx.module.names));
        out.report(CF_10, inst.place(), message);
    }
}

fn compare_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !matches!(inst.op(), Op::CompareAndBranch(_)) {
        return;
    }
    let inputs: Vec<_> = inst.ins().filter(|operand| operand.dtype.is_some()).collect();
    for operand in &inputs {
        let legal = matches!(operand.dtype, Some(Dtype::Float32 | Dtype::Int32 | Dtype::Uint32));
        if !legal {
            let message =
                format!("compares {}; a branch compares float32, int32 or uint32", operand.dtype_text(cx));
            out.report(CF_15, inst.at(operand), message);
            if operand.dtype.and_then(|dtype| dtype.ordinal()).is_some_and(|ordinal| ordinal > 16) {
                let message =
                    format!("the simulator of the reference does not support {}", operand.dtype_text(cx));
                out.report(CF_11, inst.at(operand), message).at_most(Severity::Note);
            }
        }
    }
    if let [first, second] = &inputs[..]
        && first.dtype != second.dtype
    {
        let message = format!(
            "compares {} with {}; both inputs have one type",
            first.dtype_text(cx),
            second.dtype_text(cx)
        );
        out.report(CF_15, inst.place(), message);
    }
}

fn same_targets(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let mut first: Option<(InstId, [Option<Ref<BlockId>>; 2])> = None;
    for id in cx.survey.notable_in(block).iter().copied() {
        let inst = &cx.module[id];
        let targets = branch_targets(&inst.op);
        if targets == [None, None] || !inst.engine.is_datapath() {
            continue;
        }
        match first {
            None => first = Some((id, targets)),
            Some((other, wanted)) if wanted != targets && cx.module[other].engine != inst.engine => {
                let message = format!("goes elsewhere than {} on another engine", cx.name(other));
                out.report(CF_13, Place::of(id), message).related("the other branch", Place::of(other));
            }
            Some(_) => {}
        }
    }
}

fn operands(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (ins, outs) = (inst.count(OperandList::Ins), inst.count(OperandList::Outs));
    match inst.op() {
        Op::CompareAndBranch(_) => {
            if ins != 2 || outs != 0 {
                let message = format!(
                    "has {ins} inputs and {outs} outputs; a conditional branch has 2 inputs and no output"
                );
                out.report(CF_14, inst.place(), message);
            }
            for operand in inst.ins().filter(|operand| matches!(operand.argument, Argument::ImmArray(_))) {
                out.report(
                    CF_14,
                    inst.at(operand),
                    "compares an array; it compares a register, an immediate or an access",
                );
            }
        }
        _ if ins + outs > 0 => {
            let message = format!("has {} operands; it takes none", ins + outs);
            out.report(CF_14, inst.place(), message);
        }
        _ => {}
    }
}

fn not_empty(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let blocks = &cx.module[function].blocks;
    if blocks.is_empty() {
        out.report(CF_16, Place::of(function), "the function has no block");
    }
    let mut names: HashMap<Sym, BlockId> = HashMap::new();
    for block in blocks {
        if cx.module[block].instructions.is_empty() {
            out.report(CF_16, Place::of(block), "the block has no instruction");
        }
        if let Some(first) = names.insert(cx.module[block].name, block) {
            let message = format!("two blocks are called {}; branches mean the first", cx.name(block));
            out.report(CF_29, Place::of(block), message).related("the other block", Place::of(first));
        }
    }
}

fn ends_block(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let Holder::Function(function) = cx.module[block].holder else { return };
    let last = cx.module[block].instructions.last();
    if let Some(last) = last.filter(|last| !is_terminator(cx.module[**last].opcode()))
        && cx.module[function].blocks.len() > 1
    {
        let message = format!("the block ends with {}, which is no terminator", cx.name(*last));
        out.report(CF_17, Place::of(block), message);
    }
}

fn one_each(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let ends: Vec<InstId> = cx
        .survey
        .notable_in(block)
        .iter()
        .copied()
        .filter(|inst| is_terminator(cx.module[*inst].opcode()))
        .collect();
    if ends.is_empty() {
        return;
    }
    let mut engines: HashMap<Option<u32>, InstId> = HashMap::new();
    let wide = ends.iter().copied().find(|end| !cx.module[*end].engine.is_datapath());
    for &end in &ends {
        let engine = cx.module[end].engine;
        if let Some(first) = engines.insert(engine.ordinal(), end) {
            let message = format!(
                "a second terminator on {}; a block has one for each engine",
                engine.text(&cx.module.names)
            );
            out.report(CF_22, Place::of(end), message).related("the first", Place::of(first));
        } else if let Some(wide) = wide.filter(|wide| *wide != end) {
            let message = format!("ends the block, and {} does so on every engine", cx.name(wide));
            out.report(CF_22, Place::of(end), message).related("the other", Place::of(wide));
        }
    }
    if wide.is_none() && engines.len() < DATAPATH.len() {
        let missing: Vec<&str> = DATAPATH
            .iter()
            .filter(|engine| !engines.contains_key(&engine.ordinal()))
            .filter_map(|engine| engine.name().ok())
            .collect();
        let message = format!("the block has no terminator on {}", missing.join(", "));
        out.report(CF_22, Place::of(block), message);
    }
}

const DATAPATH: [EngineType; 5] =
    [EngineType::Pool, EngineType::Activation, EngineType::PE, EngineType::DVE, EngineType::SP];

/// The block after the one that an instruction stands in.
fn following(cx: &Cx<'_>, block: BlockId) -> Option<BlockId> {
    let blocks = cx.module.blocks_of(cx.module[block].holder);
    let at = blocks.iter().position(|other| *other == block)?;
    blocks.get(at + 1).copied()
}

fn next_block(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let targets = branch_targets(inst.op());
    let blocks: Vec<BlockId> = targets.into_iter().flatten().filter_map(|target| target.id()).collect();
    if blocks.len() < 2 {
        return;
    }
    let next = following(cx, inst.inst.block);
    if next.is_none_or(|next| !blocks.contains(&next)) {
        let names: Vec<&str> = blocks.iter().map(|block| cx.name(*block)).collect();
        let next = next.map_or("there is none".to_owned(), |next| format!("that is {}", cx.name(next)));
        let message =
            format!("goes to {} or {}; one of them must be the next block, and {next}", names[0], names[1]);
        out.report(CF_23, inst.place(), message);
    }
}

fn nested_dynamic(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::DynamicForLoop(op) = inst.op() else { return };
    let axis = op.dynamic_for_loop_axis.as_deref().map(|axis| axis.name);
    let mut holder = cx.module[inst.inst.block].holder;
    let mut nested = false;
    while let Holder::Inst(outer) = holder {
        if !nested {
            let message =
                format!("stands in the loop {}; dynamic loops stand in blocks of functions", cx.name(outer));
            out.report(CF_24, inst.place(), message).at_most(Severity::Warning);
        }
        nested = true;
        if let Op::DynamicForLoop(other) = &cx.module[outer].op
            && let Some(name) = axis
                .filter(|axis| other.dynamic_for_loop_axis.as_deref().map(|axis| axis.name) == Some(*axis))
        {
            let message = format!(
                "its axis {} is also that of the loop {} around it",
                cx.module.str(name),
                cx.name(outer)
            );
            out.report(CF_27, inst.place(), message);
        }
        holder = cx.module[cx.module[outer].block].holder;
    }
}

/// CF-25: branches have no dependencies, and nothing depends on them.
fn alone(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    use InstructionType as It;
    if !cx.notes.needs_branch.is_set() {
        return;
    }
    let stands_alone = |inst: InstId| {
        matches!(cx.module[inst].opcode(), It::CompareAndBranch | It::UnconditionalBranch | It::Exit)
    };
    let ordered = |inst: InstId, kind: bir::edges::EdgeKind| {
        kind == bir::edges::EdgeKind::ORDERED && cx.module[inst].opcode() == It::CompareAndBranch
    };
    for id in cx.module.insts_of(Holder::Function(function)) {
        let edges = &cx.module[id].dependencies;
        if stands_alone(id) && edges.iter().any(|edge| !ordered(id, edge.kind())) {
            let message = format!("has {} dependencies; branches have none", edges.len());
            out.report(CF_25, Place::of(id), message);
        }
        for edge in
            edges.iter().filter(|edge| stands_alone(edge.target()) && !ordered(edge.target(), edge.kind()))
        {
            let message = format!("depends on the branch {}", cx.name(edge.target()));
            out.report(CF_25, Place::of(id), message);
        }
    }
}

fn returns(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    let block = seen.block;
    let mut seen: HashMap<Option<u32>, InstId> = HashMap::new();
    for &id in cx.survey.notable_in(block) {
        if cx.module[id].opcode() == InstructionType::Return
            && let Some(first) = seen.insert(cx.module[id].engine.ordinal(), id)
        {
            out.report(CF_26, Place::of(id), "a second return of this engine in the block")
                .related("the first", Place::of(first));
        }
    }
}

fn loop_condition(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let blocks = cx.module.blocks_of(cx.module[inst.inst.block].holder);
    let at = |block: BlockId| blocks.iter().position(|other| *other == block);
    let own = at(inst.inst.block);
    let back = branch_targets(inst.op()).into_iter().flatten().filter_map(|target| at(target.id()?));
    if own.is_none() || !back.into_iter().any(|target| Some(target) <= own) {
        return;
    }
    for operand in inst.ins().filter(|operand| operand.is_access()) {
        let bytes = operand.loc.and_then(|loc| loc.dims.as_ref()?.product());
        let elements = operand.set.and_then(|set| cx.module[set].tensor_shape.product());
        if bytes.is_some_and(|bytes| bytes > 4) || elements.is_some_and(|elements| elements != 1) {
            let message = format!(
                "the loop condition is a location of {} elements and {} bytes; it has one element of at most 4 bytes",
                elements.unwrap_or_default(),
                bytes.unwrap_or_default()
            );
            out.report(CF_28, inst.at(operand), message);
        }
    }
}
