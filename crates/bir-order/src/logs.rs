//! What happens to each counter, in the order of the run: waits, updates, resets.

use crate::program::{Change, NONE, Need};
use crate::trace::{Run, Trace};

/// What happens to a counter, in the order of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) node: u32,
    /// Row of the completion; index of the wait for a wait.
    pub(crate) row: u32,
    pub(crate) value: i64,
    pub(crate) kind: EventKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// Adds `value`, positive.
    Add,
    /// Takes `value` away, positive.
    Sub,
    /// Sets to `value`: an epoch begins.
    Start,
    /// Waits for `value`.
    Wait,
    /// Waits for a count that is not known.
    WaitUnknown,
}

/// The events of every counter.
pub(crate) struct Logs {
    starts: Vec<u32>,
    events: Vec<PackedEvent>,
    /// Values that do not fit.
    large: Vec<i64>,
}

/// An event in half the bytes: there are two for each operation, and all are held.
#[derive(Clone, Copy)]
struct PackedEvent {
    node: u32,
    row: u32,
    /// Kind, whether the value is among the large ones, and the value or its place.
    value: u32,
}

const KIND_SHIFT: u32 = 29;
const LARGE: u32 = 1 << 28;

impl Logs {
    pub(crate) fn new(trace: &Trace<'_>, run: &Run) -> Logs {
        let counters = trace.program.counters as usize;
        let mut starts = vec![0u32; counters + 1];
        each_event(trace, run, |counter, _| starts[counter as usize + 1] += 1);
        for at in 0..counters {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let none = PackedEvent { node: NONE, row: NONE, value: 0 };
        let mut events = vec![none; starts[counters] as usize];
        let mut large = Vec::new();
        each_event(trace, run, |counter, event| {
            let value = match u32::try_from(event.value) {
                Ok(value) if value < LARGE => value,
                _ => {
                    large.push(event.value);
                    LARGE | (large.len() as u32 - 1)
                }
            };
            let value = value | (event.kind as u32) << KIND_SHIFT;
            events[next[counter as usize] as usize] = PackedEvent { node: event.node, row: event.row, value };
            next[counter as usize] += 1;
        });
        Logs { starts, events, large }
    }

    /// The events of a counter.
    pub(crate) fn of(&self, counter: usize) -> Vec<Event> {
        self.iter(counter).collect()
    }

    pub(crate) fn iter(&self, counter: usize) -> impl Iterator<Item = Event> {
        let events = &self.events[self.starts[counter] as usize..self.starts[counter + 1] as usize];
        events.iter().map(|event| {
            let low = event.value & (LARGE - 1);
            let value = if event.value & LARGE != 0 { self.large[low as usize] } else { i64::from(low) };
            let kinds =
                [EventKind::Add, EventKind::Sub, EventKind::Start, EventKind::Wait, EventKind::WaitUnknown];
            Event {
                node: event.node,
                row: event.row,
                value,
                kind: kinds[(event.value >> KIND_SHIFT) as usize],
            }
        })
    }

    /// The count of a counter at the end of the run.
    pub(crate) fn last(&self, counter: usize) -> i64 {
        self.iter(counter).fold(0, |count, event| match event.kind {
            EventKind::Add => count + event.value,
            EventKind::Sub => count - event.value,
            EventKind::Start => event.value,
            EventKind::Wait | EventKind::WaitUnknown => count,
        })
    }

    /// Whether the count of a counter may become smaller within an epoch, or leave what a semaphore holds.
    pub(crate) fn may_shrink(&self, counter: usize) -> bool {
        let mut sum = 0i64;
        self.iter(counter).any(|event| {
            if matches!(event.kind, EventKind::Add | EventKind::Start) {
                sum = sum.saturating_add(event.value.saturating_abs());
            }
            event.kind == EventKind::Sub || sum > i64::from(i32::MAX)
        })
    }

    /// Of each counter whether something is taken away from it within an epoch.
    pub(crate) fn shrinking(&self) -> Vec<bool> {
        let shrinks = |event: &Event| event.kind == EventKind::Sub;
        (0..self.counters()).map(|counter| self.iter(counter).any(|event| shrinks(&event))).collect()
    }

    /// Of each counter whether its count only grows.
    pub(crate) fn simple(&self) -> Vec<bool> {
        let grows = |event: &Event| !matches!(event.kind, EventKind::Sub | EventKind::Start);
        (0..self.counters()).map(|counter| self.iter(counter).all(|event| grows(&event))).collect()
    }

    pub(crate) fn counters(&self) -> usize {
        self.starts.len() - 1
    }
}

fn each_event(trace: &Trace<'_>, run: &Run, mut each: impl FnMut(u32, Event)) {
    let program = trace.program;
    for &node in &run.order {
        let op = trace.ops[node as usize];
        let mut takes = smallvec::SmallVec::<[u32; 2]>::new();
        for (at, wait) in program.waits_of(op).iter().enumerate() {
            let (kind, value) = match wait.need {
                Need::AtLeast(value) => (EventKind::Wait, value),
                Need::Each(value) => (EventKind::Wait, run.rounds.get(&node).copied().unwrap_or(value)),
                Need::Take => {
                    takes.push(wait.counter.0);
                    (EventKind::Wait, 1)
                }
                Need::Unknown => (EventKind::WaitUnknown, 0),
            };
            each(wait.counter.0, Event { node, row: at as u32, value, kind });
        }
        for counter in takes {
            each(counter, Event { node, row: node, value: 1, kind: EventKind::Sub });
        }
        for counter in program.resets_of(program.kind_of(op)) {
            each(counter.0, Event { node, row: node, value: 0, kind: EventKind::Start });
        }
        let mut change = |counter: u32, row: u32, change: Change| {
            let (kind, value) = match change {
                Change::Add(0) => return,
                Change::Add(value) if value > 0 => (EventKind::Add, value),
                Change::Add(value) => (EventKind::Sub, -value),
                Change::Write(value) => (EventKind::Start, value),
                Change::Set => (EventKind::Add, 1),
            };
            each(counter, Event { node, row, value, kind });
        };
        for update in program.updates_of(op).iter() {
            change(update.counter.0, node, update.change);
        }
        for transfer in trace.transfers_of(node) {
            let row = trace.len() as u32 + transfer;
            for update in program.transfer_updates_of(trace.transfers[transfer as usize].1 as usize).iter() {
                change(update.counter.0, row, update.change);
            }
        }
    }
}

/// The counts that updates have brought a counter to when they are made.
pub(crate) struct Counts {
    /// By row.
    list: Vec<(u32, i64)>,
}

impl Counts {
    pub(crate) fn new(logs: &Logs, counter: usize) -> Counts {
        let mut list = Vec::new();
        let mut count = 0;
        for event in logs.iter(counter) {
            match event.kind {
                EventKind::Add => count += event.value,
                EventKind::Sub => count -= event.value,
                EventKind::Start => count = event.value,
                _ => continue,
            }
            list.push((event.row, count));
        }
        list.sort_by_key(|(row, _)| *row);
        list.shrink_to_fit();
        Counts { list }
    }

    /// The count after the last update of a row.
    pub(crate) fn after(&self, row: u32) -> Option<i64> {
        let end = self.list.partition_point(|(of, _)| *of <= row);
        let (of, count) = self.list[..end].last()?;
        (*of == row).then_some(*count)
    }
}
