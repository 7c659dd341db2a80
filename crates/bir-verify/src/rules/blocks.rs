//! The graph of a function's blocks: CF-06, CF-18 to CF-21. Only of functions whose blocks all end with a
//! terminator: how others fall through is not known.

use bir::Op;
use bir::diag::{Place, Severity};
use bir::enums::InstructionType;
use bir::ids::{BlockId, FuncId};
use hashbrown::HashMap;

use super::Check;
use super::flow::branch_targets;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::is_terminator;

pub(super) const CHECKS: &[Check] = &[Check::function(&[CF_06, CF_18, CF_19, CF_20, CF_21], graph)];

/// Blocks by position, with where they may go.
struct Graph {
    blocks: Vec<BlockId>,
    next: Vec<Vec<usize>>,
}

impl Graph {
    fn of(cx: &Cx<'_>, function: FuncId) -> Option<Graph> {
        let blocks = cx.module[function].blocks.to_vec();
        if blocks.len() < 2 {
            return None;
        }
        let position: HashMap<BlockId, usize> =
            blocks.iter().enumerate().map(|(at, block)| (*block, at)).collect();
        let mut next = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let list = &cx.module[*block].instructions;
            if !list.last().is_some_and(|last| is_terminator(cx.module[*last].opcode())) {
                return None;
            }
            let mut targets: Vec<usize> = Vec::new();
            for inst in
                cx.survey.notable_in(*block).iter().filter(|inst| is_terminator(cx.module[**inst].opcode()))
            {
                let op = &cx.module[*inst].op;
                // Where a branch without a target goes is not known.
                let wanted = match op {
                    Op::CompareAndBranch(_) => 2,
                    Op::UnconditionalBranch(_) => 1,
                    _ => 0,
                };
                if branch_targets(op).into_iter().flatten().count() < wanted {
                    return None;
                }
                for target in branch_targets(op).into_iter().flatten() {
                    targets.push(*position.get(&target.id()?)?);
                }
            }
            targets.sort_unstable();
            targets.dedup();
            next.push(targets);
        }
        Some(Graph { blocks, next })
    }

    fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Positions that can be reached from the entry, in reverse post-order.
    fn order(&self) -> Vec<usize> {
        let (mut seen, mut order) = (vec![false; self.len()], Vec::new());
        let mut stack = vec![(0usize, 0usize)];
        seen[0] = true;
        while let Some((at, child)) = stack.last_mut() {
            match self.next[*at].get(*child) {
                Some(&next) => {
                    *child += 1;
                    if !seen[next] {
                        seen[next] = true;
                        stack.push((next, 0));
                    }
                }
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// The immediate dominator of each reachable block.
    fn dominators(&self, order: &[usize]) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let mut rank = vec![NONE; self.len()];
        order.iter().enumerate().for_each(|(at, block)| rank[*block] = at);
        let mut before = vec![Vec::new(); self.len()];
        for &block in order {
            self.next[block].iter().for_each(|next| before[*next].push(block));
        }
        let mut idom = vec![NONE; self.len()];
        idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order[1..] {
                let mut new = NONE;
                for &previous in before[block].iter().filter(|previous| idom[**previous] != NONE) {
                    new = if new == NONE { previous } else { meet(&idom, &rank, previous, new) };
                }
                if idom[block] != new {
                    idom[block] = new;
                    changed = true;
                }
            }
        }
        idom
    }
}

fn meet(idom: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = idom[a];
        }
        while rank[b] > rank[a] {
            b = idom[b];
        }
    }
    a
}

fn dominates(idom: &[usize], over: usize, mut block: usize) -> bool {
    loop {
        if block == over {
            return true;
        }
        if block == 0 || idom[block] == usize::MAX {
            return false;
        }
        block = idom[block];
    }
}

fn graph(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let Some(graph) = Graph::of(cx, function) else { return };
    let place = |at: usize| Place::of(graph.blocks[at]);
    let name = |at: usize| cx.name(graph.blocks[at]);
    let order = graph.order();
    let mut reached = vec![false; graph.len()];
    order.iter().for_each(|at| reached[*at] = true);
    for at in (0..graph.len()).filter(|at| !reached[*at]) {
        let message = format!("the block cannot be reached from the entry {}", name(0));
        out.report(CF_19, place(at), message);
    }
    ends(cx, function, &graph, &reached, out);
    let idom = graph.dominators(&order);
    let mut headers: HashMap<usize, Vec<usize>> = HashMap::new();
    for &from in &order {
        for &to in graph.next[from].iter().filter(|to| **to <= from) {
            if dominates(&idom, to, from) {
                headers.entry(to).or_default().push(from);
            } else {
                let message = format!(
                    "goes back to {}, and not every way here leads through that block: the blocks are in no topological order, \
                     or the loop has two entries",
                    name(to)
                );
                out.report(CF_20, place(from), message.clone());
                out.report(CF_06, place(from), message).at_most(Severity::Note);
            }
        }
        // In a reducible graph an edge forward never leads to a block that dominates.
        for &to in graph.next[from].iter().filter(|to| **to > from && dominates(&idom, **to, from)) {
            let message = format!("goes back to {}, which stands later in the function", name(to));
            out.report(CF_20, place(from), message);
        }
    }
    loops(cx, &graph, &headers, out);
}

/// CF-18: one way in and one way out.
fn ends(cx: &Cx<'_>, function: FuncId, graph: &Graph, reached: &[bool], out: &mut Findings<'_>) {
    let into_entry = (0..graph.len()).find(|from| graph.next[*from].contains(&0));
    if let Some(from) = into_entry {
        let message =
            format!("the entry block is in a cycle: {} goes back to it", cx.name(graph.blocks[from]));
        out.report(CF_18, Place::of(graph.blocks[0]), message);
    }
    let leaves =
        |at: &usize| graph.next[*at].is_empty() && reached[*at] && !is_dead_end(cx, graph.blocks[*at]);
    let exits: Vec<usize> = (0..graph.len()).filter(leaves).collect();
    match &exits[..] {
        [_] => {}
        [] => {
            let message = "no block leaves the function: every way goes round in a cycle";
            out.report(CF_18, Place::of(function), message);
        }
        [_, second, ..] => {
            let names: Vec<&str> = exits.iter().take(8).map(|at| cx.name(graph.blocks[*at])).collect();
            let message =
                format!("{} blocks leave the function: {}; one does", exits.len(), names.join(", "));
            out.report(CF_18, Place::of(graph.blocks[*second]), message);
        }
    }
}

/// Whether a block stops the program rather than leaving the function.
fn is_dead_end(cx: &Cx<'_>, block: BlockId) -> bool {
    let list = &cx.module[block].instructions;
    list.last().is_some_and(|last| cx.module[*last].opcode() == InstructionType::Break)
}

/// CF-21: loops are left at one place and have one back edge; that they are entered at one place is CF-20. Outside of
/// loops a block goes on to one block.
fn loops(cx: &Cx<'_>, graph: &Graph, headers: &HashMap<usize, Vec<usize>>, out: &mut Findings<'_>) {
    let name = |at: usize| cx.name(graph.blocks[at]);
    let mut before = vec![Vec::new(); graph.len()];
    for (from, targets) in graph.next.iter().enumerate() {
        targets.iter().for_each(|to| before[*to].push(from));
    }
    let mut in_loop = vec![false; graph.len()];
    let mut sorted: Vec<_> = headers.iter().collect();
    sorted.sort();
    for (&header, latches) in sorted {
        if latches.len() > 1 {
            let names: Vec<&str> = latches.iter().map(|latch| name(*latch)).collect();
            let message = format!(
                "{} blocks go back to it: {}; a loop has one back edge",
                latches.len(),
                names.join(", ")
            );
            out.report(CF_21, Place::of(graph.blocks[header]), message);
        }
        // The natural loop: what reaches a latch without passing the header.
        let mut body = vec![false; graph.len()];
        body[header] = true;
        let mut work = latches.clone();
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut body[at], true) {
                work.extend(before[at].iter().copied());
            }
        }
        let mut exits: Vec<(usize, usize)> = Vec::new();
        for from in (0..graph.len()).filter(|at| body[*at]) {
            in_loop[from] = true;
            exits.extend(graph.next[from].iter().filter(|to| !body[**to]).map(|to| (from, *to)));
        }
        if exits.len() > 1 {
            let ways: Vec<String> =
                exits.iter().take(8).map(|(from, to)| format!("{} to {}", name(*from), name(*to))).collect();
            let message =
                format!("the loop is left at {} places: {}; it is left at one", exits.len(), ways.join(", "));
            out.report(CF_21, Place::of(graph.blocks[header]), message);
        }
    }
    for at in (0..graph.len()).filter(|at| !in_loop[*at] && graph.next[*at].len() > 1) {
        let names: Vec<&str> = graph.next[at].iter().map(|to| name(*to)).collect();
        let message =
            format!("goes on to {}; outside of loops a block has one successor", names.join(" or "));
        // What a compiler makes of an `if` is not known: no more than a note.
        out.report(CF_21, Place::of(graph.blocks[at]), message).at_most(Severity::Note);
    }
}
