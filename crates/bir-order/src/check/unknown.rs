//! Waits for counts that are only known at run time: what they may order is undecided rather than unordered.

use super::Ordered;
use crate::logs::EventKind;

/// Steps of looking, at most; what is not looked at is undecided.
const WORK: usize = 20_000_000;

pub(super) struct UnknownWaits {
    /// Those that are waited for so.
    counters: Vec<Counter>,
    work: usize,
}

struct Counter {
    /// The nodes that wait.
    waits: Vec<u32>,
    /// Row and node of each update.
    updates: Vec<(u32, u32)>,
}

impl UnknownWaits {
    pub(super) fn new(ordered: &Ordered<'_>) -> UnknownWaits {
        let mut counters = Vec::new();
        for counter in 0..ordered.logs.counters() {
            let events = ordered.logs.of(counter);
            let of =
                |kinds: &'static [EventKind]| events.iter().filter(move |event| kinds.contains(&event.kind));
            let waits: Vec<u32> = of(&[EventKind::WaitUnknown]).map(|event| event.node).collect();
            if !waits.is_empty() {
                let updates = of(&[EventKind::Add, EventKind::Start]).map(|event| (event.row, event.node));
                counters.push(Counter { waits, updates: updates.collect() });
            }
        }
        UnknownWaits { counters, work: WORK }
    }

    /// Whether a wait may make a node start after a row is complete.
    pub(super) fn may_order(&mut self, ordered: &Ordered<'_>, row: u32, node: u32) -> bool {
        for Counter { waits, updates } in &self.counters {
            let Some(left) = self.work.checked_sub(waits.len() + updates.len()) else { return true };
            self.work = left;
            let waits = waits.iter().any(|wait| *wait == node || ordered.precedes(*wait, node));
            if waits && updates.iter().any(|(update, at)| *update == row || ordered.precedes(row, *at)) {
                return true;
            }
        }
        false
    }
}
