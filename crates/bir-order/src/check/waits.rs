//! What waits mean by arithmetic against what they say (spec: ordering 11.3, 11.4, 15).

use bir::diag::Severity;
use hashbrown::HashMap;

use super::{Checker, Ordered, plain};
use crate::clocks::ByNode;
use crate::finding::{Carried, Party, Tag, WaitFact};
use crate::logs::Counts;
use crate::program::{BlockId, Change, NONE, Need, OpKind, Wait};

/// Most instances of names that are looked at in a walk; past that a wait means the last one.
const MAX_INSTANCES: usize = 50_000_000;

/// What the first run of a wait says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitState {
    /// Its producer is complete when it passes.
    Bound,
    /// It can pass before.
    Early(WaitFact),
    /// Its producer only stands later.
    Later(WaitFact),
    /// Its producer only stands later, and the one of the iteration before is complete.
    Carried,
}

/// Where each name stands in a walk: rows in order, by name.
struct Places {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Places {
    fn new(ordered: &Ordered<'_>) -> Places {
        let names = ordered.trace.program.names as usize;
        let mut starts = vec![0u32; names + 1];
        each_place(ordered, |name, _| starts[name as usize + 1] += 1);
        for name in 0..names {
            starts[name + 1] += starts[name];
        }
        let mut next = starts.clone();
        let mut rows = vec![NONE; starts[names] as usize];
        each_place(ordered, |name, row| {
            rows[next[name as usize] as usize] = row;
            next[name as usize] += 1;
        });
        Places { starts, rows }
    }

    fn of(&self, name: u32) -> &[u32] {
        match self.starts.get(name as usize..name as usize + 2) {
            Some(ends) => &self.rows[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }
}

/// Calls `each` with the names of a walk and their rows, in order.
fn each_place(ordered: &Ordered<'_>, mut each: impl FnMut(u32, u32)) {
    let trace = &ordered.trace;
    let program = trace.program;
    let mut place = |name: u32, row: u32| {
        if name != NONE {
            each(name, row);
        }
    };
    let name_of = |transfer: u32| program.transfers[trace.transfers[transfer as usize].1 as usize].name;
    for node in 0..trace.len() as u32 {
        // An operation whose transfer has its name completes with the transfer.
        let name = program.ops[trace.ops[node as usize] as usize].name;
        if !trace.transfers_of(node).any(|transfer| name_of(transfer) == name) {
            place(name, node);
        }
        for transfer in trace.transfers_of(node) {
            place(name_of(transfer), trace.len() as u32 + transfer);
        }
    }
}

pub(super) fn check(checker: &mut Checker<'_>, ordered: &Ordered<'_>, in_loops: bool) {
    let Ordered { trace, run, order, logs, .. } = ordered;
    let program = trace.program;
    let places = Places::new(ordered);
    let by_node = ByNode::new(trace.len(), &order.edges.list);
    let mut counts: HashMap<u32, Counts> = HashMap::new();
    let mut left = MAX_INSTANCES;
    let unknown_from = checker.unknown_from(ordered).unwrap_or(NONE);
    let updated = if in_loops { Vec::new() } else { updated_counters(program) };
    for node in 0..trace.len() as u32 {
        let op = trace.ops[node as usize];
        for (at, wait) in program.waits_of(op).iter().enumerate() {
            let at = at as u32;
            let threshold = match wait.need {
                Need::AtLeast(value) => value,
                Need::Take => 1,
                Need::Each(_) | Need::Unknown => continue,
            };
            if !in_loops && !updated[wait.counter.index()] && threshold > 0 {
                let mut finding = plain("ORD006", Severity::Error, Party::of(program.first_clone(op)));
                finding.wait = Some(WaitFact { index: at, count: None });
                finding.counter = Some(wait.counter);
                checker.say(finding);
                continue;
            }
            let Some(from) = wait.from else { continue };
            // Not reached, or where no count is known.
            if run.rank[node as usize] >= unknown_from {
                continue;
            }
            // The row that it is bound to, when it is one.
            let bound = by_node.of(node).iter().find(|edge| edge.wait == at).map(|edge| edge.row);
            let ends =
                bound.map(|row| match (row as usize).checked_sub(trace.len() + trace.transfers.len()) {
                    Some(prefix) => order.edges.prefixes[prefix].row,
                    None => row,
                });
            let instances = places.of(from.0);
            let Some(&only) = instances.first() else {
                if !in_loops {
                    let mut finding = plain("ORD019", Severity::Warning, Party::of(program.first_clone(op)));
                    finding.wait = Some(WaitFact { index: at, count: None });
                    finding.counter = Some(wait.counter);
                    checker.say(finding);
                }
                continue;
            };
            let is_only = instances.len() == 1;
            if is_only && ends == Some(only) && ordered.node_of(only) < node {
                continue;
            }
            let mut count_of = |row: u32| {
                let counter = wait.counter.0;
                let of = counts.entry(counter).or_insert_with(|| Counts::new(logs, counter as usize));
                of.after(row)
            };
            let (row, later) = producer(ordered, &places, node, &wait, threshold, (&mut count_of, &mut left));
            let fact = WaitFact { index: at, count: count_of(row) };
            let complete = run.rank[ordered.node_of(row) as usize] != NONE && ordered.precedes(row, node);
            if !complete && order.open.contains(&wait.counter.0) {
                let mut finding = plain("ORD021", Severity::Note, Party::of(program.first_clone(op)));
                finding.counter = Some(wait.counter);
                finding.certain = false;
                checker.say(finding);
                continue;
            }
            note(
                checker,
                ordered,
                (node, at, &wait),
                (row, later, complete, ends),
                fact,
                in_loops,
                threshold,
            );
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn note(
    checker: &mut Checker<'_>,
    ordered: &Ordered<'_>,
    (node, at, wait): (u32, u32, &Wait),
    (row, later, complete, ends): (u32, bool, bool, Option<u32>),
    fact: WaitFact,
    in_loops: bool,
    threshold: i64,
) {
    let program = ordered.trace.program;
    let op = ordered.trace.ops[node as usize];
    let key = (op, at);
    if !in_loops {
        let state = match (complete, later) {
            (true, _) => WaitState::Bound,
            (false, true) => WaitState::Later(fact),
            (false, false) => WaitState::Early(fact),
        };
        // What is bound needs no entry.
        match state {
            WaitState::Bound => checker.waits.remove(&key),
            _ => checker.waits.insert(key, state),
        };
        if !complete || ends == Some(row) {
            return;
        }
        let code = match fact.count {
            None => "ORD019",
            Some(count) if count < threshold => "ORD005",
            Some(_) => return,
        };
        let mut finding = plain(code, Severity::Warning, Party::of(program.first_clone(op)));
        finding.second = Some(ordered.party(row));
        finding.wait = Some(fact);
        finding.counter = Some(wait.counter);
        checker.say(finding);
        return;
    }
    // Behind a loop the counts may differ from those after one iteration.
    let visit = ordered.trace.visit(node);
    let place = checker.innermost(visit);
    if place.is_some_and(|(_, iteration)| iteration == 0) {
        return;
    }
    match checker.waits.get(&key).copied() {
        Some(WaitState::Later(_)) if complete => {
            checker.waits.insert(key, WaitState::Carried);
        }
        // Behind a loop that runs more than once.
        None if !complete && place.is_none() && checker.repeats => {
            checker.waits.insert(key, WaitState::Early(fact));
        }
        None if !complete => {
            let grows = place.is_some_and(|(block, _)| !resets_in(checker, block, wait));
            let code = if grows { "ORD008" } else { "ORD009" };
            let mut finding = plain(code, Severity::Error, Party::of(program.first_clone(op)));
            finding.second = Some(ordered.party(row));
            finding.wait = Some(fact);
            finding.counter = Some(wait.counter);
            finding.carried = place.map(|(block, _)| Carried { block, distance: 0, tag: Tag::Unsync });
            checker.say(finding);
        }
        _ => {}
    }
}

/// Tells of the waits that pass early, now that the loops are known.
pub(super) fn later(checker: &mut Checker<'_>) {
    let mut waits: Vec<((u32, u32), WaitState)> = checker.waits.drain().collect();
    waits.sort_by_key(|(key, _)| *key);
    for ((op, at), state) in waits {
        let (code, fact) = match state {
            WaitState::Early(fact) => ("ORD004", fact),
            WaitState::Later(fact) => ("ORD007", fact),
            WaitState::Bound | WaitState::Carried => continue,
        };
        let program = checker.program;
        let wait = program.waits_of(op).at(at as usize);
        let mut finding = plain(code, Severity::Error, Party::of(program.first_clone(op)));
        finding.wait = Some(fact);
        finding.counter = Some(wait.counter);
        checker.say(finding);
    }
}

/// Which instance of the named producer a wait means (spec: ordering 11.3), and whether all stand later.
fn producer(
    ordered: &Ordered<'_>,
    places: &Places,
    node: u32,
    wait: &Wait,
    threshold: i64,
    (count_of, left): (&mut dyn FnMut(u32) -> Option<i64>, &mut usize),
) -> (u32, bool) {
    let trace = &ordered.trace;
    let name = wait.from.map_or(NONE, |from| from.0);
    let all = places.of(name);
    let before = |node: u32| all.partition_point(|row| ordered.node_of(*row) < node);
    let earlier = &all[..before(node)];
    let Some(last) = earlier.last() else {
        return (all[0], true);
    };
    // Those of the own run of the block, else of the nearest one before.
    let start_of = |visit: usize| before(trace.nodes_of(visit).start);
    let own = start_of(trace.visit_at(node));
    let first = if own < earlier.len() { own } else { start_of(trace.visit_at(ordered.node_of(*last))) };
    let nearest = &earlier[first..];
    let mut reaches = |row: u32| count_of(row).is_some_and(|count| count >= threshold);
    let at = nearest.iter().take(*left).position(|row| reaches(*row));
    *left -= at.map_or(nearest.len().min(*left), |at| at + 1);
    (at.map_or(*last, |at| nearest[at]), false)
}

/// Counters that anything updates.
fn updated_counters(program: &crate::program::Program) -> Vec<bool> {
    let mut updated = vec![false; program.counters as usize];
    for update in program.updates.iter().chain(program.transfer_updates.iter()) {
        updated[update.counter.index()] |= !matches!(update.change, Change::Add(value) if value <= 0);
    }
    updated
}

/// Whether anything in the loop of a block begins the counter anew.
fn resets_in(checker: &Checker<'_>, block: BlockId, wait: &Wait) -> bool {
    let program = checker.program;
    let within = checker.loops.iter().filter(|l| l.blocks.start == block.0).flat_map(|l| l.blocks.clone());
    let mut ops = within.flat_map(|block| program.blocks[block as usize].ops.clone());
    ops.any(|op| {
        let kind = program.kind_of(op);
        let resets = program.resets_of(kind).contains(&wait.counter);
        let writes = program
            .updates_of(op)
            .iter()
            .any(|update| update.counter == wait.counter && matches!(update.change, Change::Write(_)));
        resets || writes || kind == OpKind::ResetUnknown
    })
}
