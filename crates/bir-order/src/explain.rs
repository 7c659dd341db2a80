//! Why one operation comes before another, or why not: the path of edges, found by a search on demand.

use std::collections::VecDeque;

use crate::check::{Options, Ordered};
use crate::clocks::ByNode;
use crate::finding::Party;
use crate::loops;
use crate::program::{CounterId, NONE, Program};

/// One step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next operation of a stream that both are in.
    Stream,
    /// The start of a transfer, and its completion some time later.
    Transfer,
    /// A wait for a counter that completes the one before.
    Wait(CounterId),
    /// A drain.
    Drain,
}

impl Step {
    /// In words that stand between two operations. `counter`: what a counter is called.
    pub fn how(self, counter: impl FnOnce(CounterId) -> String) -> String {
        match self {
            Step::Stream => "is followed on its engine by".to_owned(),
            Step::Transfer => "starts".to_owned(),
            Step::Wait(of) => format!("brings {}, for which waits", counter(of)),
            Step::Drain => "is waited for by the drain".to_owned(),
        }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explanation {
    /// The first comes before the second: from one party to the next, beginning with the first.
    Before(Vec<(Step, Party)>),
    /// Nothing orders them that way.
    Not {
        /// The last operation of the second's stream before the second that the first does not come before, if any:
        /// what a wait must be put on.
        waiter: Party,
        /// Where on the second's streams the first is known complete at last.
        known_at: Option<Party>,
    },
    /// One of them never runs.
    NeverRuns(Party),
}

/// Why `first` is complete before `second` starts, or why not, in a walk that goes through loops once, but for those that
/// are known to run more often: of these the last iteration before `second` counts, or the first.
pub fn explain(program: &Program, options: &Options, first: Party, second: Party) -> Explanation {
    let loops = loops::loops(program);
    let (walks, _) = loops::straight(program, &loops);
    let walk = walks
        .into_iter()
        .find(|walk| {
            let has = |party: Party| {
                walk.iter().any(|visit| program.blocks[visit.block as usize].ops.contains(&party.op.0))
            };
            has(first) && has(second)
        })
        .unwrap_or_default();
    let walk = if loops::some_repeat(&loops) { loops::once(program, &loops, &walk) } else { walk };
    let ordered = Ordered::new(program, walk, options.max_rounds);
    let trace = &ordered.trace;
    let node = |party: Party| trace.ops.iter().position(|op| *op == party.op.0).map(|node| node as u32);
    let (Some(from), Some(to)) = (node(first), node(second)) else { return Explanation::NeverRuns(second) };
    let from = trace.ops[..to as usize].iter().rposition(|op| *op == first.op.0).map_or(from, |at| at as u32);
    for (node, party) in [(from, first), (to, second)] {
        if ordered.run.rank[node as usize] == NONE {
            return Explanation::NeverRuns(party);
        }
    }
    let row = match first.transfer {
        Some(transfer) => {
            let found = trace.transfers_of(from).find(|at| trace.transfers[*at as usize].1 == transfer.0);
            found.map_or(from, |at| trace.len() as u32 + at)
        }
        None => from,
    };
    // Of an instruction of all engines, what each of them runs.
    let nodes = |party: Party, node: u32| {
        let clones = program.clones_of(party.op.0);
        let first = clones.start;
        clones.map(move |op| node + (op - first))
    };
    let mut ways = nodes(first, from).flat_map(|from| nodes(second, to).map(move |to| (from, to)));
    let missing = ways.find(|(one, to)| !ordered.precedes(if row == from { *one } else { row }, *to));
    if let Some((one, to)) = missing {
        let row = if row == from { one } else { row };
        let known_at =
            trace.streams_of(to).iter().map(|stream| ordered.order.clocks.first(row, stream)).min();
        let known_at = known_at.filter(|rank| *rank != NONE).map(|rank| ordered.run.order[rank as usize]);
        return Explanation::Not { waiter: second, known_at: known_at.map(|node| ordered.party(node)) };
    }
    Explanation::Before(path(&ordered, row, to))
}

/// The shortest path backwards from a start to a completion.
fn path(ordered: &Ordered<'_>, row: u32, to: u32) -> Vec<(Step, Party)> {
    let trace = &ordered.trace;
    let edges = &ordered.order.edges;
    let by_node = ByNode::new(trace.len(), &edges.list);
    let rows = trace.len() + trace.transfers.len() + edges.prefixes.len();
    // The step to the next one on the way to the end.
    let mut next: Vec<Option<(u32, Step)>> = vec![None; rows];
    let mut open = VecDeque::from([to]);
    while let Some(at) = open.pop_front() {
        if at == row {
            break;
        }
        let mut found: Vec<(u32, Step)> = Vec::new();
        let index = at as usize;
        if index < trace.len() {
            trace.before(at, |before| found.push((before, Step::Stream)));
            let waits = trace.program.waits_of(trace.ops[index]);
            for edge in by_node.of(at) {
                let step = waits.get(edge.wait as usize).map_or(Step::Drain, |wait| Step::Wait(wait.counter));
                found.push((edge.row, step));
            }
        } else if let Some(prefix) = index.checked_sub(trace.len() + trace.transfers.len()) {
            let prefix = edges.prefixes[prefix];
            let step = next[index].map_or(Step::Drain, |(_, step)| step);
            found.push((prefix.row, step));
            if prefix.rest != NONE {
                found.push((prefix.rest, step));
            }
        } else {
            found.push((trace.transfers[index - trace.len()].0, Step::Transfer));
        }
        for (before, step) in found {
            if before != to && next[before as usize].is_none() {
                next[before as usize] = Some((at, step));
                open.push_back(before);
            }
        }
    }
    let mut steps = Vec::new();
    let mut at = row;
    while let Some((after, step)) = next[at as usize] {
        // Prefixes are no places of their own.
        if (after as usize) < trace.len() + trace.transfers.len() {
            steps.push((step, ordered.party(after)));
        }
        at = after;
    }
    steps
}
