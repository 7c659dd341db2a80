//! Waits bound to what they wait for, by the arithmetic of their counters (spec: ordering 14.5).
//!
//! A wait orders a completion `u` before its operation exactly when, with `u` held for ever, the count can never be
//! reached: what `u` and everything after it would have added is missing. What comes after `u` depends on the edges
//! that are sought, so they are assumed first (each counter counts one completion after the other), and what does not
//! hold is taken away until nothing changes: the largest set of edges that justify themselves. Every edge leads
//! forward in one order in which the program can run, so no circle justifies itself.

use std::cell::{OnceCell, RefCell};

use hashbrown::{HashMap, HashSet};

use crate::clocks::{ByNode, Clocks, Edge, Edges, Prefix, QueueOrder};
use crate::program::{Change, NONE, Need, OpKind};
use crate::trace::{Run, Trace};

/// Most rounds; a program takes two or three.
const MAX_ROUNDS: usize = 64;

/// Additions that may be out of order among each other and are still looked at one by one.
const MAX_WINDOW: usize = 256;

/// Work on transfers that no counter of the wait counts but that all its additions come after.
const MAX_COMMON_WORK: usize = 20_000_000;

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

    fn iter(&self, counter: usize) -> impl Iterator<Item = Event> {
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

    /// Of each counter whether something is taken away from it within an epoch.
    pub(crate) fn shrinking(&self) -> Vec<bool> {
        let shrinks = |event: &Event| event.kind == EventKind::Sub;
        (0..self.counters()).map(|counter| self.iter(counter).any(|event| shrinks(&event))).collect()
    }

    /// Of each counter whether its count only grows.
    fn simple(&self) -> Vec<bool> {
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

/// What came out.
pub(crate) struct Order {
    pub(crate) edges: Edges,
    pub(crate) clocks: Clocks,
    /// Wait or update, reset, counter: which comes first is not fixed.
    pub(crate) reset_races: Vec<(u32, u32, u32)>,
    /// Two transfers of one counter that can be in flight together where a wait means one of them.
    pub(crate) mixed: Vec<(u32, u32, u32)>,
    /// Waits, by node and index, that mean some of several additions without it being known which.
    pub(crate) vague: HashSet<(u32, u32)>,
    /// Waits, by node and index, that mean what they do because of other waits of their operation.
    pub(crate) leaning: HashSet<(u32, u32)>,
}

/// Which assumptions are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    /// Transfers of a queue complete in the order of their issue.
    pub(crate) queues: bool,
    /// What is not known before the program runs is as good as can be.
    pub(crate) hopeful: bool,
}

/// Binds all waits.
pub(crate) fn order(trace: &Trace<'_>, run: &Run, logs: &Logs, mode: Mode) -> Order {
    let queues = mode.queues.then(|| QueueOrder::new(trace, run));
    let mut binder = Binder {
        trace,
        run,
        mode,
        queues: queues.as_ref(),
        clocks: None,
        before: None,
        simple: logs.simple(),
        edges: Edges::default(),
        reset_races: Vec::new(),
        mixed: Vec::new(),
        vague: HashSet::new(),
        leaning: RefCell::default(),
        common_work: 0,
    };
    let drains = drains(trace, run);
    binder.settle(logs, &drains);
    let mut reset_races = binder.reset_races;
    reset_races.sort_unstable();
    reset_races.dedup();
    Order {
        edges: binder.edges,
        clocks: binder.clocks.expect("there was a round"),
        reset_races,
        mixed: binder.mixed,
        vague: binder.vague,
        leaning: binder.leaning.into_inner(),
    }
}

/// Drains: transfers that the streams of a drain started since the drain before (spec: ordering 17).
fn drains(trace: &Trace<'_>, run: &Run) -> Vec<Edge> {
    let program = trace.program;
    let mut edges = Vec::new();
    if !program.kinds().iter().any(|(_, kind)| *kind == OpKind::Drain) {
        return edges;
    }
    let mut open: Vec<Vec<u32>> = vec![Vec::new(); trace.streams.len()];
    for &node in &run.order {
        let streams = trace.streams_of(node);
        if program.kind_of(trace.ops[node as usize]) == OpKind::Drain {
            for stream in streams.iter() {
                let rows = open[stream].drain(..);
                edges.extend(rows.map(|row| Edge { node, wait: NONE, row }));
            }
        }
        for stream in streams.iter() {
            open[stream].extend(trace.transfers_of(node).map(|transfer| trace.len() as u32 + transfer));
        }
    }
    edges
}

struct Binder<'a, 'p> {
    trace: &'a Trace<'p>,
    run: &'a Run,
    mode: Mode,
    queues: Option<&'a QueueOrder>,
    /// None in the first round: all is assumed.
    clocks: Option<Clocks>,
    /// The edges of the round before, where they are asked for.
    before: Option<(Edges, OnceCell<ByNode>)>,
    /// Counters that nothing makes smaller.
    simple: Vec<bool>,
    edges: Edges,
    reset_races: Vec<(u32, u32, u32)>,
    mixed: Vec<(u32, u32, u32)>,
    vague: HashSet<(u32, u32)>,
    leaning: RefCell<HashSet<(u32, u32)>>,
    common_work: usize,
}

/// The additions of an epoch, and how they are ordered among each other.
struct Epoch {
    adds: Vec<Event>,
    /// Count before the first addition, and after each.
    counts: Vec<i64>,
    /// For each addition the window it is in: additions of different windows are ordered.
    windows: Vec<std::ops::Range<u32>>,
    window_of: Vec<u32>,
    /// All are of one stream: the last one implies the others.
    chain: bool,
    /// Prefix row after each addition, made when needed.
    prefixes: Vec<u32>,
}

impl Binder<'_, '_> {
    /// Assumes all edges and takes away what does not hold.
    fn settle(&mut self, logs: &Logs, drains: &[Edge]) {
        self.round(logs, drains);
        for _ in 0..MAX_ROUNDS {
            // One table at a time: they are most of the memory.
            self.clocks = None;
            self.clocks = Some(Clocks::new(self.trace, self.run, &self.edges, self.queues, None));
            self.reset_races.clear();
            self.mixed.clear();
            self.vague.clear();
            self.leaning.borrow_mut().clear();
            self.common_work = 0;
            let edges = std::mem::take(&mut self.edges);
            self.before = Some((edges, OnceCell::new()));
            self.round(logs, drains);
            if self.before.take().is_some_and(|(before, _)| before == self.edges) {
                break;
            }
        }
    }

    fn round(&mut self, logs: &Logs, drains: &[Edge]) {
        self.edges.list.extend_from_slice(drains);
        for counter in 0..logs.counters() {
            let events = logs.of(counter);
            if events.iter().any(|e| matches!(e.kind, EventKind::Wait | EventKind::WaitUnknown)) {
                self.counter(counter as u32, &events);
            } else if events.iter().any(|e| e.kind == EventKind::Start) {
                let starts: Vec<Event> =
                    events.iter().copied().filter(|e| e.kind == EventKind::Start).collect();
                self.epochs(counter as u32, &events, &starts);
            }
        }
    }

    fn rank(&self, node: u32) -> u32 {
        self.run.rank[node as usize]
    }

    /// Whether a completion surely comes before a node starts.
    fn precedes(&self, row: u32, node: u32) -> bool {
        match &self.clocks {
            None => true,
            Some(clocks) => clocks.precedes(row, self.trace.streams_of(node).0, self.rank(node)),
        }
    }

    /// Whether a completion comes before a wait's operation even if this wait orders nothing. What a wait means may
    /// only depend on what is sure without it: two that take from one counter would justify each other's turn. So
    /// what counts is what comes before an earlier operation of the stream, and other waits, as long as these do not
    /// depend on this one in turn: those of counters that only grow, and those that stand before it.
    fn surely_precedes(&self, row: u32, wait: &Event) -> bool {
        let Some(clocks) = &self.clocks else { return true };
        let (streams, rank) = (self.trace.streams_of(wait.node), self.rank(wait.node));
        let on_stream = (row as usize) < self.trace.len()
            && self.trace.streams_of(row).0 & streams.0 != 0
            && self.rank(row) < rank;
        if on_stream || streams.iter().any(|stream| clocks.first(row, stream) < rank) {
            return true;
        }
        let waits = self.trace.program.waits_of(self.trace.ops[wait.node as usize]);
        let Some((edges, by_node)) = self.before.as_ref().filter(|_| waits.len() > 1) else { return false };
        let by_node = by_node.get_or_init(|| ByNode::new(self.trace.len(), &edges.list));
        let real = self.trace.len() + self.trace.transfers.len();
        let leans = by_node.of(wait.node, &edges.list).any(|edge| {
            let is_other = match waits.get(edge.wait as usize) {
                Some(other) => edge.wait < wait.row || self.simple[other.counter.index()],
                None => true,
            };
            let mut next = edge.row;
            while is_other && edge.wait != wait.row && next != NONE {
                let (last, rest) = match (next as usize).checked_sub(real) {
                    Some(prefix) => (edges.prefixes[prefix].row, edges.prefixes[prefix].rest),
                    None => (next, NONE),
                };
                let node = match (last as usize).checked_sub(self.trace.len()) {
                    Some(transfer) => self.trace.transfers[transfer].0,
                    None => last,
                };
                if row == last || row == node || self.precedes(row, node) {
                    return true;
                }
                next = rest;
            }
            false
        });
        if leans {
            self.leaning.borrow_mut().insert((wait.node, wait.row));
        }
        leans
    }

    /// Whether a completion surely comes before another one.
    fn linked(&self, row: u32, to: Event) -> bool {
        if row == to.row || self.precedes(row, to.node) {
            return true;
        }
        let (Some(queues), true) = (self.queues, to.row >= self.trace.len() as u32) else { return false };
        let nodes = self.trace.len() as u32;
        let mut at = to.row - nodes;
        // Along the queue: past what another stream issued, until the same stream has issued one before.
        for _ in 0..64 {
            at = queues.prev[at as usize];
            if at == NONE {
                return false;
            }
            if at + nodes == row || self.precedes(row, self.trace.transfers[at as usize].0) {
                return true;
            }
        }
        // A long queue: where both are on it, their places tell.
        row >= nodes
            && self.same_queue(row - nodes, to.row - nodes)
            && self.earlier(row - nodes, to.row - nodes)
    }

    fn same_queue(&self, a: u32, b: u32) -> bool {
        let queue = |t: u32| self.trace.program.transfers[self.trace.transfers[t as usize].1 as usize].queue;
        queue(a) == queue(b)
    }

    fn earlier(&self, a: u32, b: u32) -> bool {
        let place = |t: u32| (self.rank(self.trace.transfers[t as usize].0), t);
        place(a) < place(b)
    }

    /// Whether a wait's operation surely comes before an addition starts to be made.
    fn after(&self, wait: u32, add: Event) -> bool {
        if wait == add.node {
            return true;
        }
        if self.rank(wait) > self.rank(add.node) {
            return false;
        }
        self.clocks.is_some() && self.precedes(wait, add.node)
    }

    /// The additions of each epoch; the first epoch begins before any of `starts`.
    fn epochs(&mut self, counter: u32, events: &[Event], starts: &[Event]) -> Vec<Vec<Event>> {
        let mut epochs: Vec<Vec<Event>> = vec![Vec::new(); starts.len() + 1];
        let mut races = Vec::new();
        let mut landing = 0;
        for event in events {
            match event.kind {
                EventKind::Start => landing += 1,
                EventKind::Add => {
                    epochs[landing].push(*event);
                    if self.clocks.is_none() {
                        continue;
                    }
                    // An update that may fall on either side of a reset is an error of its own; waits are bound as
                    // if it came when it can first come.
                    for later in &starts[landing..] {
                        if self.precedes(event.row, later.node) {
                            break;
                        }
                        races.push((event.row, later.node, counter));
                    }
                    for earlier in starts[..landing].iter().rev() {
                        if self.precedes(earlier.row, event.node) {
                            break;
                        }
                        races.push((event.row, earlier.node, counter));
                    }
                }
                _ => {}
            }
        }
        if self.clocks.is_some() {
            let turns = starts
                .windows(2)
                .filter(|turn| turn[0].row != turn[1].node && !self.precedes(turn[0].row, turn[1].node));
            races.extend(turns.map(|turn| (turn[0].row, turn[1].node, counter)));
        }
        self.reset_races.extend(races);
        epochs
    }

    fn counter(&mut self, counter: u32, events: &[Event]) {
        let starts: Vec<Event> = events.iter().copied().filter(|e| e.kind == EventKind::Start).collect();
        let subs: Vec<Event> = events.iter().copied().filter(|e| e.kind == EventKind::Sub).collect();
        let mut epochs: Vec<Epoch> = Vec::with_capacity(starts.len() + 1);
        for (at, adds) in self.epochs(counter, events, &starts).into_iter().enumerate() {
            let first = if at == 0 { 0 } else { starts[at - 1].value };
            epochs.push(self.epoch(adds, first));
        }
        let mut epoch = 0;
        for event in events {
            match event.kind {
                EventKind::Start => epoch += 1,
                EventKind::Wait | EventKind::WaitUnknown => {
                    if self.clocks.is_some() {
                        let races_before = epoch > 0 && !self.surely_precedes(starts[epoch - 1].row, event);
                        let races_after = starts.get(epoch).is_some_and(|next| {
                            next.node != event.node && !self.precedes(event.node, next.node)
                        });
                        if races_before {
                            self.reset_races.push((event.node, starts[epoch - 1].node, counter));
                        }
                        if races_after {
                            self.reset_races.push((event.node, starts[epoch].node, counter));
                        }
                        if (races_before || races_after) && !self.mode.hopeful {
                            continue;
                        }
                    }
                    let taken: i64 = self.taken(&subs, &starts, epoch, event);
                    let unknown = event.kind == EventKind::WaitUnknown;
                    self.bind(counter, &mut epochs[epoch], *event, event.value + taken, unknown);
                }
                _ => {}
            }
        }
    }

    /// What is surely taken away between the start of the epoch and a wait.
    fn taken(&self, subs: &[Event], starts: &[Event], epoch: usize, wait: &Event) -> i64 {
        let from = if epoch == 0 { 0 } else { self.rank(starts[epoch - 1].node) };
        let rank = self.rank(wait.node);
        let first = subs.partition_point(|sub| self.rank(sub.node) < from);
        let within = subs[first..].iter().take_while(|sub| self.rank(sub.node) < rank);
        let sure = within.filter(|sub| {
            sub.node != wait.node
                && self.surely_precedes(sub.row, wait)
                && (epoch == 0 || self.precedes(starts[epoch - 1].row, sub.node))
        });
        sure.map(|sub| sub.value).sum()
    }

    fn epoch(&self, adds: Vec<Event>, first: i64) -> Epoch {
        let mut counts = Vec::with_capacity(adds.len() + 1);
        counts.push(first);
        for add in &adds {
            counts.push(counts.last().expect("the first") + add.value);
        }
        let nodes = self.trace.len() as u32;
        let stream = |add: &Event| {
            (add.row < nodes).then(|| self.trace.streams_of(add.node)).and_then(|streams| streams.single())
        };
        let chain = match adds.first().map(stream) {
            None => true,
            Some(one) => one.is_some() && adds.iter().all(|add| stream(add) == one),
        };
        let mut epoch = Epoch {
            prefixes: if chain { Vec::new() } else { vec![NONE; adds.len()] },
            windows: Vec::new(),
            window_of: Vec::new(),
            adds,
            counts,
            chain,
        };
        if !chain && self.clocks.is_some() {
            self.windows(&mut epoch);
        }
        epoch
    }

    /// Cuts the additions where everything before surely comes before everything after.
    fn windows(&self, epoch: &mut Epoch) {
        let count = epoch.adds.len();
        // All earlier additions come before this one.
        let mut follows_all = vec![false; count];
        let mut lows = vec![0u32; count];
        for at in 0..count {
            let mut low = at;
            let mut back = at;
            loop {
                if back == 0 {
                    break;
                }
                back -= 1;
                if self.linked(epoch.adds[back].row, epoch.adds[at]) {
                    if follows_all[back] {
                        break;
                    }
                } else {
                    low = back;
                }
            }
            follows_all[at] = low == at;
            lows[at] = low as u32;
        }
        epoch.window_of = vec![0; count];
        let mut end = count;
        let mut low = count;
        for at in (0..count).rev() {
            low = low.min(lows[at] as usize);
            if low == at {
                let window = epoch.windows.len() as u32;
                epoch.windows.push(at as u32..end as u32);
                epoch.window_of[at..end].iter_mut().for_each(|of| *of = window);
                end = at;
                low = at;
            }
        }
    }

    /// The row that is complete when the first additions, up to one, are.
    fn prefix(&mut self, epoch: &mut Epoch, last: usize) -> u32 {
        if epoch.chain {
            return epoch.adds[last].row;
        }
        let mut from = last;
        while from > 0 && epoch.prefixes[from] == NONE {
            from -= 1;
        }
        let base = (self.trace.len() + self.trace.transfers.len()) as u32;
        for at in from..=last {
            if epoch.prefixes[at] == NONE {
                let rest = if at == 0 { NONE } else { epoch.prefixes[at - 1] };
                let add = epoch.adds[at];
                epoch.prefixes[at] = base + self.edges.prefixes.len() as u32;
                self.edges.prefixes.push(Prefix { row: add.row, rest, node: add.node });
            }
        }
        epoch.prefixes[last]
    }

    fn edge(&mut self, wait: Event, row: u32) {
        // What ran later cannot have been needed; it would only be so in a relation that is about to shrink.
        let (nodes, transfers) = (self.trace.len(), self.trace.transfers.len());
        let at = row as usize;
        let node = match at.checked_sub(nodes) {
            None => row,
            Some(transfer) if transfer < transfers => self.trace.transfers[transfer].0,
            Some(prefix) => self.edges.prefixes[prefix - transfers].node,
        };
        if self.rank(node) >= self.rank(wait.node) {
            return;
        }
        self.edges.list.push(Edge { node: wait.node, wait: wait.row, row });
    }

    fn bind(&mut self, counter: u32, epoch: &mut Epoch, wait: Event, need: i64, unknown: bool) {
        if unknown {
            // Hopefully for all that was made before it.
            let before = epoch.adds.partition_point(|add| self.rank(add.node) < self.rank(wait.node));
            if self.mode.hopeful && before > 0 {
                let row = self.prefix(epoch, before - 1);
                self.edge(wait, row);
            }
            return;
        }
        let last = epoch.counts.partition_point(|count| *count < need);
        if last == 0 || epoch.adds.is_empty() {
            return;
        }
        let reached = last <= epoch.adds.len();
        let last = last.min(epoch.adds.len()) - 1;
        if epoch.chain || self.clocks.is_none() {
            if reached && self.rank(epoch.adds[last].node) < self.rank(wait.node) {
                let row = self.prefix(epoch, last);
                self.edge(wait, row);
            }
            return;
        }
        let window = epoch.windows[epoch.window_of[last] as usize].clone();
        let (first, end) = (window.start as usize, window.end as usize);
        let base = epoch.counts[first];
        let members: Vec<Event> =
            epoch.adds[first..end].iter().copied().filter(|add| !self.after(wait.node, *add)).collect();
        let rest: i64 = members.iter().map(|add| add.value).sum::<i64>() + base;
        if members.len() <= 1 || members.len() > MAX_WINDOW || rest < need {
            // One addition, or all of them.
            let before = |add: &Event| self.rank(add.node) < self.rank(wait.node);
            let sure =
                members.len() <= 1 || rest - members.iter().map(|add| add.value).min().unwrap_or(0) < need;
            if sure && members.len() == end - first && members.iter().all(before) {
                let row = self.prefix(epoch, end - 1);
                self.edge(wait, row);
            } else {
                let needed: Vec<Event> =
                    members.iter().copied().filter(|add| rest - add.value < need && before(add)).collect();
                self.vague.insert((wait.node, wait.row));
                needed.iter().for_each(|add| self.edge(wait, add.row));
                if first > 0 {
                    let row = self.prefix(epoch, first - 1);
                    self.edge(wait, row);
                }
            }
            return;
        }
        let loss = |row: u32| -> i64 {
            members.iter().filter(|add| self.linked(row, **add)).map(|add| add.value).sum()
        };
        let needed: Vec<bool> = members.iter().map(|add| rest - loss(add.row) < need).collect();
        if needed.iter().all(|needed| *needed) && members.len() == end - first {
            let row = self.prefix(epoch, end - 1);
            self.edge(wait, row);
            return;
        }
        self.vague.insert((wait.node, wait.row));
        for (add, _) in members.iter().zip(&needed).filter(|(_, needed)| **needed) {
            self.edge(wait, add.row);
        }
        if first > 0 {
            let row = self.prefix(epoch, first - 1);
            self.edge(wait, row);
        }
        let ambiguous = members
            .iter()
            .zip(&needed)
            .filter(|(add, needed)| !**needed && add.row >= self.trace.len() as u32);
        let ambiguous: Vec<u32> = ambiguous.map(|(add, _)| add.row).collect();
        if let [one, .., other] = ambiguous[..] {
            self.mixed.push((one, other, counter));
        }
        self.common(&members, wait, rest - need);
    }

    /// Edges from what so many additions come after that without it too few are left, though it is none of them.
    fn common(&mut self, members: &[Event], wait: Event, spare: i64) {
        let loss = |binder: &Self, row: u32| -> i64 {
            members.iter().filter(|add| binder.linked(row, **add)).map(|add| add.value).sum()
        };
        let rank = self.rank(wait.node);
        let mut found = Vec::new();
        for nodes in &self.trace.streams {
            // The later on a stream, the less comes after it.
            let ran = nodes.partition_point(|node| self.rank(*node) < rank);
            let after = nodes[..ran].partition_point(|node| loss(self, *node) > spare);
            if after > 0 {
                found.push(nodes[after - 1]);
            }
        }
        let (nodes, transfers) = (self.trace.len() as u32, self.trace.transfers.len());
        self.common_work += transfers * members.len();
        if self.common_work <= MAX_COMMON_WORK {
            for (at, (node, _)) in self.trace.transfers.iter().enumerate() {
                let row = nodes + at as u32;
                let is_member = members.iter().any(|add| add.row == row);
                if self.rank(*node) < rank && !is_member && loss(self, row) > spare {
                    found.push(row);
                }
            }
        }
        found.into_iter().for_each(|row| self.edge(wait, row));
    }
}

/// The counts that a node's own updates have brought a counter to when it is complete: by node and counter.
pub(crate) fn counts_of(logs: &Logs, counters: impl Iterator<Item = usize>) -> HashMap<(u32, u32), i64> {
    let mut counts = HashMap::new();
    for counter in counters {
        let mut count = 0;
        for event in logs.of(counter) {
            match event.kind {
                EventKind::Add => count += event.value,
                EventKind::Sub => count -= event.value,
                EventKind::Start => count = event.value,
                _ => continue,
            }
            counts.insert((event.row, counter as u32), count);
        }
    }
    counts
}
