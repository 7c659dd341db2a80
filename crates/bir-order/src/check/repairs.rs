//! What would order an unordered pair.

use super::Ordered;
use crate::finding::{Party, Repair};
use crate::logs::{Event, EventKind};
use crate::program::CounterId;

/// Events of counters that are looked at, at most: pairs behind that are told to update a free counter.
const WORK: usize = 50_000_000;

/// Finds the cheapest repairs of unordered pairs.
pub(super) struct Repairs<'a, 'p> {
    ordered: &'a Ordered<'p>,
    work: usize,
}

impl<'a, 'p> Repairs<'a, 'p> {
    pub(super) fn new(ordered: &'a Ordered<'p>) -> Repairs<'a, 'p> {
        Repairs { ordered, work: WORK }
    }

    /// How the second of two accesses can wait for the first.
    pub(super) fn of(&mut self, first: u32, second: u32) -> Repair {
        let trace = &self.ordered.trace;
        let waiter = Party { transfer: None, ..self.ordered.party(second) };
        let from = self.ordered.party(first);
        let waiting = self.ordered.node_of(second);
        let node = self.ordered.node_of(first);
        let program = trace.program;
        let none = Repair::Update { waiter, from };
        if first != node {
            let transfer = trace.transfers[first as usize - trace.len()].1;
            let update = program.transfer_updates_of(transfer as usize).get(0).map(|update| update.counter);
            return self.wait(first, update, waiting, from).unwrap_or(none);
        }
        let Some(stream) = trace.streams_of(node).single() else { return none };
        let nodes = &trace.streams[stream];
        let at = nodes.partition_point(|other| *other < node);
        // What itself comes after the waiter cannot be waited for.
        let can_come_first = |next: u32| next != waiting && !self.ordered.precedes(waiting, next);
        for next in nodes[at..].iter().take(256).take_while(|next| can_come_first(**next)) {
            let op = trace.ops[*next as usize];
            let update = program.updates_of(op).get(0).map(|update| update.counter);
            if let Some(repair) = self.wait(*next, update, waiting, self.ordered.party(*next)) {
                return repair;
            }
        }
        none
    }

    /// The wait of a node for what a row adds to a counter, when no other updates can bring the count there, and what
    /// comes before the row does bring it there with it.
    fn wait(&mut self, row: u32, counter: Option<CounterId>, waiting: u32, from: Party) -> Option<Repair> {
        let (counter, ordered) = (counter?, self.ordered);
        let events = ordered.logs.of(counter.index());
        self.work = self.work.checked_sub(events.len())?;
        let at = events.iter().position(|event| event.row == row && event.kind == EventKind::Add)?;
        // The waiter must run while the count is not begun anew.
        let is_start = |event: &Event| event.kind == EventKind::Start;
        let start = events[..at].iter().rposition(is_start);
        let end = events[at..].iter().position(is_start).map(|next| at + next);
        let is_within = start.is_none_or(|start| ordered.precedes(events[start].row, waiting))
            && end.is_none_or(|end| ordered.precedes(waiting, events[end].node));
        if !is_within {
            return None;
        }
        let before = start.map_or(0, |start| events[start].value);
        // The most that there can be without the row and the waiter, and what is there for sure before the row.
        let (mut without, mut sure) = (before, before);
        for event in &events[start.map_or(0, |start| start + 1)..end.unwrap_or(events.len())] {
            match event.kind {
                EventKind::Add => {}
                EventKind::Sub => return None,
                _ => continue,
            }
            let is_after = |row: u32| ordered.precedes(row, event.node);
            if event.row != row && event.node != waiting && !is_after(row) && !is_after(waiting) {
                without += event.value;
            }
            if ordered.precedes(event.row, events[at].node) {
                sure += event.value;
            }
        }
        let value = without + events[at].value;
        let waiter = Party { transfer: None, ..ordered.party(waiting) };
        (value <= sure + events[at].value).then_some(Repair::Wait { waiter, counter, value, from })
    }
}
