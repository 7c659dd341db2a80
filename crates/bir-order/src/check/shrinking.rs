//! Counts that a loop makes smaller each time, while it waits for them: some iteration waits for ever, if there are as many.

use bir::diag::Severity;
use hashbrown::HashMap;

use super::{Checker, Ordered, plain};
use crate::finding::{Carried, Tag, WaitFact};
use crate::program::{BlockId, Change, CounterId, Need};

pub(super) fn check(checker: &mut Checker<'_>, ordered: &Ordered<'_>) {
    let trace = &ordered.trace;
    let program = trace.program;
    if !ordered.logs.shrinking().contains(&true) {
        return;
    }
    let loops = checker.loops;
    for (at, of) in loops.iter().enumerate() {
        let iteration = |visit: usize| {
            let iterations = &trace.visits[visit].iterations;
            iterations.iter().find(|(of, _)| *of == at as u32).map(|(_, iteration)| *iteration)
        };
        let Some(last) = (0..trace.visits.len()).rev().find_map(iteration) else { continue };
        if of.trips == Some(u64::from(last) + 1) {
            continue;
        }
        // The last iteration that is walked: what it changes, and who waits.
        let visits = (0..trace.visits.len()).rev().skip_while(|visit| iteration(*visit).is_none());
        let visits = visits.take_while(|visit| iteration(*visit) == Some(last));
        let mut changes: HashMap<CounterId, Option<i64>> = HashMap::new();
        let mut waits: HashMap<CounterId, (u32, u32)> = HashMap::new();
        for node in visits.flat_map(|visit| trace.nodes_of(visit)) {
            let op = trace.ops[node as usize];
            let mut change = |counter: CounterId, by: Option<i64>| {
                let sum = changes.entry(counter).or_insert(Some(0));
                *sum = sum.zip(by).map(|(sum, by)| sum + by);
            };
            for (index, wait) in program.waits_of(op).iter().enumerate() {
                if wait.need == Need::Take {
                    change(wait.counter, Some(-1));
                }
                if matches!(wait.need, Need::Take | Need::AtLeast(_)) {
                    waits.insert(wait.counter, (node, index as u32));
                }
            }
            program.resets_of(program.kind_of(op)).iter().for_each(|counter| change(*counter, None));
            let transfers = program.transfers_of(op).flat_map(|at| program.transfer_updates_of(at).iter());
            for update in program.updates_of(op).iter().chain(transfers) {
                change(
                    update.counter,
                    match update.change {
                        Change::Add(by) => Some(by),
                        Change::Set => Some(1),
                        Change::Write(_) => None,
                    },
                );
            }
        }
        let mut shrinking: Vec<CounterId> = changes
            .iter()
            .filter(|(_, by)| by.is_some_and(|by| by < 0))
            .map(|(counter, _)| *counter)
            .collect();
        shrinking.sort_unstable();
        for counter in shrinking {
            let Some((node, index)) = waits.get(&counter).copied() else { continue };
            let mut finding = plain("ORD021", Severity::Note, ordered.party(node));
            finding.counter = Some(counter);
            finding.wait = Some(WaitFact { index, count: None });
            finding.certain = false;
            finding.carried =
                Some(Carried { block: BlockId(of.blocks.start), distance: 0, tag: Tag::Unsync });
            checker.say(finding);
        }
    }
}
