//! Names, axes and dependencies: MOD-04 to MOD-07, DEP, DOC-02. What blocks and branches make is in `flow`.

use std::cell::OnceCell;

use bir::OpenEnum;
use bir::diag::{Place, Severity};
use bir::edges::{Edge, EdgeKind};
use bir::enums::EngineType;
use bir::expr::Expr;
use bir::geometry::{Footprint, Overlap};
use bir::ids::{ExprId, FuncId, Id, InstId};
use bir::operands::Access;
use bir::{Sym, Value};
use hashbrown::HashMap;

use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::generated::names::names_of;
use crate::ids::*;
use crate::starts::{AccessStart, Does, accesses, share};
use crate::survey::Seen;
use crate::twice::hint;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[MOD_04], known).when(|_, op| op.is_none()),
    Check::function(&[MOD_05], names),
    Check::inst(&[MOD_06], edges).needs(Needs::OddEdges),
    Check::inst(&[MOD_07], schedule),
    // Axes are named by expressions.
    Check::inst(&[DOC_02], axes).when(|cx, _| !cx.module.exprs.is_empty()),
    Check::inst(&[DEP_01], no_conflict),
    Check::block(&[DEP_02], cycles),
];

fn known(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !inst.opcode.is_known() {
        let name = inst.op_name(cx);
        let finding = out.report(MOD_04, inst.place(), format!("unknown instruction type {name}"));
        if let Some(hint) = hint(name, &names_of("InstructionType")) {
            finding.help(hint);
        }
    }
}

/// MOD-05: location names are unique in a function; a repeated instruction name is worth a note.
fn names(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let mut seen: HashMap<Sym, u32> = HashMap::new();
    for loc in cx.module.locations_of(function) {
        let name = cx.module[loc].name;
        let times = seen.entry(name).or_default();
        *times += 1;
        if *times == 2 {
            let message =
                format!("two locations are called {}; references mean the first", cx.module.str(name));
            // Its wordings are about names that are not found.
            out.report(MOD_05, Place::storage(loc), message).vendor("", "");
        }
    }
    if let Some((first, extra)) = cx.survey.repeats(function) {
        let message = format!(
            "the name {} stands before; {extra} instructions of the function repeat a name, which references cannot tell apart",
            cx.name(first)
        );
        out.report(MOD_05, Place::of(first), message).at_most(Severity::Note).vendor("", "");
    }
}

/// MOD-06: dependencies have a target that exists, another instruction, and a kind.
fn edges(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let all = inst.inst.dependencies.iter().chain(inst.inst.loop_carried_dependencies.iter());
    let carried_from = inst.inst.dependencies.len();
    for (at, edge) in all.enumerate() {
        let kind = edge.kind();
        if kind == EdgeKind::INVALID || kind.name().is_none() {
            let message = format!(
                "the dependency on {} has the kind {kind:?}; kinds are Ordered, Anti, Output and Flow",
                cx.name(edge.target())
            );
            out.report(MOD_06, inst.place(), message).vendor("", "");
        }
        if edge.target() == inst.id && at < carried_from {
            out.report(MOD_06, inst.place(), ITSELF).vendor("", "this != former");
        }
    }
    for missing in &inst.inst.rare().missing_edges {
        // The reader keeps an edge to its own instruction as one that leads nowhere.
        if missing.name == inst.inst.name {
            out.report(MOD_06, inst.place(), ITSELF).vendor("", "this != former");
            continue;
        }
        let message = format!("depends on {}, and no instruction has this name", cx.module.str(missing.name));
        out.report(MOD_06, inst.place(), message)
            .vendor("BIR014", format!("Instruction with name {} not found", cx.module.str(missing.name)));
    }
}

const ITSELF: &str = "depends on itself: an instruction waits for others only";

/// DOC-02: loop axes of expressions are those of loops around the instruction.
fn axes(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    // Descriptors in queues belong to the loops around their trigger, wherever that is.
    if cx.module.exprs.is_empty() || inst.function.is_none() {
        return;
    }
    let unknown = |expr: ExprId| unknown_axis(cx, inst, expr);
    let mut found: Option<(Sym, Place)> = None;
    for operand in &inst.operands {
        operand.argument.fields().visit_exprs(&mut |expr| {
            if let (None, Some(axis)) = (&found, unknown(expr)) {
                found = Some((axis, inst.at(operand)));
            }
        });
    }
    if found.is_none() {
        inst.inst.visit_exprs(&mut |expr| {
            if let (None, Some(axis)) = (&found, unknown(expr)) {
                found = Some((axis, inst.place()));
            }
        });
    }
    let Some((axis, place)) = found else { return };
    let message = format!(
        "No existing axis {} found in instruction {}'s parent list: no loop around it has that axis",
        cx.module.str(axis),
        cx.name(inst.id)
    );
    let mut finding = out.report(DOC_02, place, message);
    if let Some(debug) = inst.inst.debug.as_deref() {
        let line = debug.lineno.map(|line| format!("line {line}"));
        let op = debug.op_name.map(|op| format!("operation {}", cx.module.str(op)));
        let source: Vec<String> = line.into_iter().chain(op).collect();
        if !source.is_empty() {
            finding = finding.note(format!("from {} of the source", source.join(", ")));
        }
    }
    finding.help("move the instruction into the loop, or name an axis of a loop around it");
}

/// An axis in an expression that no loop around has.
fn unknown_axis(cx: &Cx<'_>, inst: &Inst<'_>, expr: ExprId) -> Option<Sym> {
    let node = cx.module.exprs.get(expr);
    match node {
        Expr::Axis { axis } => (!inst.axes.has(*axis)).then_some(*axis),
        _ => node.children().find_map(|child| unknown_axis(cx, inst, child)),
    }
}

fn schedule(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (start, end) = (inst.inst.scheduled_start, inst.inst.scheduled_end);
    if end < start {
        out.report(
            MOD_07,
            inst.place(),
            format!("is scheduled to end in cycle {end}, before it starts in {start}"),
        );
    }
}

/// The loop-carried distance of an edge: 1 unless it says otherwise.
fn distance(extras: &[Value]) -> Option<i64> {
    match extras {
        [] => Some(1),
        [one] => one.as_i64().or_else(|| one.as_list()?.first()?.as_i64()),
        _ => None,
    }
}

/// DEP-01: a dependency on data that the two instructions do not share costs a semaphore for nothing.
fn no_conflict(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let mut starts = inst.starts.borrow_mut();
    let (from, is_plain) = starts.add(inst);
    if !is_plain || inst.inst.dependencies.is_empty() && inst.inst.loop_carried_dependencies.is_empty() {
        return;
    }
    let after = starts.since(from);
    let touched = OnceCell::new();
    let mut look = |edge: Edge| {
        let data = matches!(edge.kind(), EdgeKind::FLOW | EdgeKind::ANTI | EdgeKind::OUTPUT);
        if data && edge.target().index() < cx.module.inst_ids().len() {
            match starts.get(edge.target()) {
                Some((before, true)) => needless(cx, inst, edge, (before, after), &touched, out),
                Some((_, false)) => {}
                None => {
                    let (before, is_plain) = accesses(cx.module, edge.target());
                    if is_plain {
                        needless(cx, inst, edge, (&before, after), &touched, out);
                    }
                }
            }
        }
    };
    inst.inst.dependencies.iter().for_each(&mut look);
    // Loop-carried ones need the places of another iteration; without loops around, those are the same.
    if inst.axes.is_empty() {
        for (edge, extras) in inst.inst.loop_carried_dependencies.iter_with() {
            if distance(extras).is_some() {
                look(edge);
            }
        }
    }
}

type Touched = Vec<(Access, Footprint)>;

/// What an instruction touches; `None` when that is not exactly known.
fn exact(cx: &Cx<'_>, id: InstId) -> Option<Touched> {
    let constant = |_: Sym| None::<i64>;
    let mut touched = Vec::new();
    for access in cx.footprints.accesses(&cx.module[id], &constant) {
        if !access.footprint.exact {
            return None;
        }
        touched.push((access.access, access.footprint));
    }
    Some(touched)
}

fn needless(
    cx: &Cx<'_>,
    inst: &Inst<'_>,
    edge: Edge,
    (before, after): (&[AccessStart], &[AccessStart]),
    touched: &OnceCell<Option<Touched>>,
    out: &mut Findings<'_>,
) {
    let (kind, former) = (edge.kind(), edge.target());
    let (first, second) = match kind {
        EdgeKind::FLOW => (Does::Writes, Does::MayRead),
        EdgeKind::ANTI => (Does::MayRead, Does::Writes),
        EdgeKind::OUTPUT => (Does::Writes, Does::Writes),
        _ => return,
    };
    if share((before, first), (after, second)) {
        return;
    }
    let Some(after) = touched.get_or_init(|| exact(cx, inst.id)) else { return };
    let Some(before) = exact(cx, former) else { return };
    if before.is_empty() || after.is_empty() {
        return;
    }
    for (_, footprint) in before.iter().filter(|(access, _)| first.has(*access)) {
        for (_, other) in after.iter().filter(|(access, _)| second.has(*access)) {
            if footprint.overlap_within(other, WORK) != Overlap::No {
                return;
            }
        }
    }
    let words = match kind {
        EdgeKind::FLOW => "nothing that it writes is read here",
        EdgeKind::ANTI => "nothing that it reads is written here",
        _ => "nothing that it writes is written here",
    };
    let message = format!("the {kind:?} dependency on {} orders no data: {words}", cx.name(former));
    out.report(DEP_01, inst.place(), message)
        .related("the other instruction", Place::of(former))
        .help("drop the dependency: it costs a semaphore wait")
        .at_most(Severity::Note);
}

/// Steps of work on the overlap of two footprints.
const WORK: u32 = 4096;

/// DEP-02: dependencies within a block are acyclic, the order of engines included, and on what stands before.
fn cycles(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    // Programs are in order nearly always: only an edge forward in the list can close a cycle.
    if !seen.forward {
        return;
    }
    let list = &cx.module[seen.block].instructions;
    let position: HashMap<InstId, usize> = list.iter().enumerate().map(|(at, inst)| (*inst, at)).collect();
    let at_of = |inst: InstId| position.get(&inst).copied();
    // Depth-first search with three states, without recursion.
    let mut state = vec![0u8; list.len()];
    for root in 0..list.len() {
        if state[root] != 0 {
            continue;
        }
        let targets = |at: usize| {
            let edges = cx.module[list[at]].dependencies.iter();
            edges.filter_map(|edge| at_of(edge.target())).filter(|to| *to != at).collect::<Vec<_>>()
        };
        let mut stack = vec![(root, targets(root))];
        state[root] = 1;
        while let Some((at, rest)) = stack.last_mut() {
            let at = *at;
            match rest.pop() {
                Some(next) if state[next] == 0 => {
                    state[next] = 1;
                    stack.push((next, targets(next)));
                }
                Some(next) if state[next] == 1 => {
                    let from = stack.iter().position(|(on, _)| *on == next).unwrap_or(0);
                    let path: Vec<&str> = stack[from..]
                        .iter()
                        .map(|(on, _)| cx.name(list[*on]))
                        .chain([cx.name(list[next])])
                        .collect();
                    let shown = if path.len() > 8 {
                        format!("{} ...", path[..8].join(" -> "))
                    } else {
                        path.join(" -> ")
                    };
                    let message = format!("dependencies form a cycle: {shown}");
                    out.report(DEP_02, Place::of(list[next]), message);
                    return;
                }
                Some(_) => {}
                None => {
                    state[at] = 2;
                    stack.pop();
                }
            }
        }
    }
    for (at, &id) in list.iter().enumerate() {
        for edge in cx.module[id].dependencies.iter() {
            if at_of(edge.target()).is_some_and(|to| to > at) {
                forward(cx, id, edge.target(), out);
            }
        }
    }
}

/// A dependency on what stands behind in the block. An engine runs its instructions in their order.
fn forward(cx: &Cx<'_>, id: InstId, on: InstId, out: &mut Findings<'_>) {
    let (inst, other) = (&cx.module[id], &cx.module[on]);
    let engine = inst.engine;
    let is_one = engine.is_known() && !matches!(engine, EngineType::Unassigned | EngineType::ALL);
    let runs_in_order = is_one && engine == other.engine && inst.engine_id == other.engine_id;
    let name = cx.name(on);
    let help = "move it before, or make the dependency loop-carried if it means the iteration before";
    if runs_in_order {
        let engine = engine.text(&cx.module.names);
        let message = format!(
            "dependencies form a cycle: waits for {name}, which stands behind it on {engine}, and {engine} runs in order"
        );
        out.report(DEP_02, Place::of(id), message).related("the other instruction", Place::of(on)).help(help);
    } else {
        let message = format!("depends on {name}, which stands behind it in the block");
        out.report(DEP_02, Place::of(id), message)
            .related("the other instruction", Place::of(on))
            .help(help)
            .vendor("", "")
            .at_most(Severity::Note);
    }
}
