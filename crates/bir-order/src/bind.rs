//! Waits bound to what they wait for, by the arithmetic of their counters (spec: ordering 14.5).
//!
//! A wait orders a completion `u` before its operation exactly when, with `u` held for ever, the count can never be
//! reached: what `u` and everything after it would have added is missing. What comes after `u` depends on the edges
//! that are sought, so they are assumed first (each counter counts one completion after the other), and what does not
//! hold is taken away until nothing changes: the largest set of edges that justify themselves. Every edge leads
//! forward in one order in which the program can run, so no circle justifies itself.

mod additions;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell, RefCell};

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::clocks::{ByNode, Clocks, Edge, Edges, QueueOrder};
use crate::logs::{Event, EventKind, Logs};
use crate::program::{NONE, OpKind, Streams};
use crate::schedules;
use crate::trace::{Run, Trace};
use additions::{Before, Epoch, Members, first_less};

/// Most steps of searches among additions that are out of order among each other. Past that a wait is only taken to mean what
/// it needs by what each addition adds, and past twice as many it is not looked at.
const MAX_SEARCH: u64 = 20_000_000;

/// Work on transfers that no counter of the wait counts but that all its additions come after, in each round.
const MAX_COMMON_WORK: usize = 10_000_000;

/// Most steps along prefixes that other waits mean, in each round.
const MAX_LEANING: u32 = 20_000_000;

/// Most takings that no lane has and that are looked at, in each round.
const MAX_TAKEN_WORK: usize = 50_000_000;

/// Most races with resets that are noted in each round, of all counters.
const MAX_RACES: usize = 100_000;

/// Wait or update, reset, counter: which comes first is not fixed.
pub(crate) type Race = (u32, u32, u32);

/// What came out.
pub(crate) struct Order {
    pub(crate) edges: Edges,
    pub(crate) clocks: Clocks,
    pub(crate) reset_races: Vec<Race>,
    /// Two transfers of one counter that can be in flight together where a wait means one of them.
    pub(crate) mixed: Vec<(u32, u32, u32)>,
    /// Waits, by node and index, that mean some of several additions without it being known which.
    pub(crate) vague: HashSet<(u32, u32)>,
    /// Waits, by node and index, that mean what they do because of other waits of their operation.
    pub(crate) leaning: HashSet<(u32, u32)>,
    /// Counters of which waits may order more than was found: there was too much to look at.
    pub(crate) open: HashSet<u32>,
    /// A node with waits of which it was not seen that all edges hold: there was too much to look at. Edges may then order
    /// what nothing orders.
    pub(crate) unsettled: Option<u32>,
    /// There are more races with resets.
    pub(crate) more_races: bool,
}

/// How much work may be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most steps of searches.
    search: u64,
    /// Most rounds, times nodes and edges. A program takes two or three rounds.
    rounds: u64,
}

impl Limits {
    /// So much for rounds.
    pub(crate) fn of(rounds: u64) -> Limits {
        Limits { search: MAX_SEARCH, rounds }
    }
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
pub(crate) fn order(trace: &Trace<'_>, run: &Run, logs: &Logs, mode: Mode, rounds: u64) -> Order {
    order_within(trace, run, logs, mode, Limits::of(rounds)).0
}

/// The same, and the number of steps that it took.
fn order_within(trace: &Trace<'_>, run: &Run, logs: &Logs, mode: Mode, limits: Limits) -> (Order, u64) {
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
        known: HashMap::new(),
        open: HashSet::new(),
        steps: 0,
        searched: 0,
        limits,
        more_races: false,
        common_work: 0,
        lean_work: Cell::new(0),
        taken_work: 0,
    };
    let drains = drains(trace, run);
    let unsettled = binder.settle(logs, &drains);
    let mut reset_races = binder.reset_races;
    reset_races.sort_unstable();
    reset_races.dedup();
    let work = binder.steps
        + binder.searched
        + binder.common_work as u64
        + binder.taken_work as u64
        + u64::from(binder.lean_work.get());
    let order = Order {
        edges: binder.edges,
        clocks: binder.clocks.expect("there was a round"),
        reset_races,
        mixed: binder.mixed,
        vague: binder.vague,
        leaning: binder.leaning.into_inner(),
        open: binder.open,
        unsettled,
        more_races: binder.more_races,
    };
    (order, work)
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
    reset_races: Vec<Race>,
    mixed: Vec<(u32, u32, u32)>,
    vague: HashSet<(u32, u32)>,
    leaning: RefCell<HashSet<(u32, u32)>>,
    /// What waits needed in the round before, by node and index.
    known: HashMap<(u32, u32), Before>,
    open: HashSet<u32>,
    /// Steps that grow with the program, and steps of searches, in all rounds.
    steps: u64,
    searched: u64,
    limits: Limits,
    more_races: bool,
    /// In this round.
    common_work: usize,
    lean_work: Cell<u32>,
    taken_work: usize,
}

/// What is taken away from a counter: by operations on the same streams, and by whatever else.
struct Takings {
    lanes: Vec<Lane>,
    others: Vec<Event>,
}

/// Takings on the same streams, and how much the first so many of them are.
struct Lane {
    subs: Vec<Event>,
    sums: Vec<i64>,
}

impl Binder<'_, '_> {
    /// Assumes all edges and takes away what does not hold. Gives a node where it was not seen that the rest holds.
    fn settle(&mut self, logs: &Logs, drains: &[Edge]) -> Option<u32> {
        self.round(logs, drains);
        let mut work = 0;
        loop {
            // One table at a time: they are most of the memory.
            self.clocks = None;
            self.clocks = Some(Clocks::new(self.trace, self.run, &self.edges, self.queues, None));
            self.reset_races.clear();
            self.more_races = false;
            self.mixed.clear();
            self.vague.clear();
            self.leaning.borrow_mut().clear();
            self.common_work = 0;
            self.lean_work.set(0);
            self.taken_work = 0;
            let edges = std::mem::take(&mut self.edges);
            self.before = Some((edges, OnceCell::new()));
            self.round(logs, drains);
            let (before, _) = self.before.take().expect("just set");
            if before == self.edges {
                return None;
            }
            work += (self.trace.len() + self.edges.list.len() + self.edges.prefixes.len()) as u64;
            if work > self.limits.rounds {
                let same = before.list.iter().zip(&self.edges.list).take_while(|(a, b)| a == b).count();
                return before.list.get(same).or(self.edges.list.last()).map(|edge| edge.node).or(Some(0));
            }
        }
    }

    fn round(&mut self, logs: &Logs, drains: &[Edge]) {
        // Rounds differ little.
        let (edges, prefixes) =
            self.before.as_ref().map_or((0, 0), |(before, _)| (before.list.len(), before.prefixes.len()));
        self.edges.list.reserve_exact(edges);
        self.edges.prefixes.reserve_exact(prefixes);
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
        let leans = by_node.of(wait.node).iter().any(|edge| {
            let is_other = match waits.get(edge.wait as usize) {
                Some(other) => edge.wait < wait.row || self.simple[other.counter.index()],
                None => true,
            };
            let mut next = edge.row;
            while is_other && edge.wait != wait.row && next != NONE && self.lean_work.get() < MAX_LEANING {
                self.lean_work.set(self.lean_work.get() + 1);
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
        // A transfer is complete after the operation that starts it.
        if row == to.row || row == to.node || self.precedes(row, to.node) {
            return true;
        }
        let queue = self.queue_of(to.row);
        queue != NONE && (self.rank(to.node) >= self.behind_on(queue, row) || self.is_behind(row, to.row))
    }

    /// The rank from which on what is started on a queue is surely complete after a completion, whether or not that is on
    /// the queue.
    fn behind_on(&self, queue: u32, row: u32) -> u32 {
        self.queues.map_or(NONE, |queues| queues.first(queue, |streams| self.follows(row, streams)))
    }

    /// Whether a completion is one of a queue that a transfer comes after there.
    fn is_behind(&self, row: u32, transfer: u32) -> bool {
        let queue = self.queue_of(row);
        let place = |row: u32| (self.rank(self.trace.transfers[row as usize - self.trace.len()].0), row);
        queue != NONE && queue == self.queue_of(transfer) && place(row) < place(transfer)
    }

    /// The rank from which on what runs on streams surely starts after a completion; what the completed operation itself
    /// starts and adds is among it.
    fn follows(&self, row: u32, streams: u32) -> u32 {
        if streams != 0 && row < self.trace.len() as u32 && self.trace.streams_of(row).0 == streams {
            return self.rank(row);
        }
        let Some(clocks) = &self.clocks else { return 0 };
        Streams(streams).iter().map(|stream| clocks.first(row, stream)).min().unwrap_or(NONE)
    }

    /// The queue of a transfer, where queues are in order.
    fn queue_of(&self, row: u32) -> u32 {
        match row.checked_sub(self.trace.len() as u32).filter(|_| self.queues.is_some()) {
            Some(transfer) => {
                let (_, of) = self.trace.transfers[transfer as usize];
                self.trace.program.transfers[of as usize].queue
            }
            None => NONE,
        }
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
                    let later = starts[landing..].iter();
                    let later = later.take_while(|later| !self.precedes(event.row, later.node));
                    let later = later.map(|later| (event.row, later.node, counter));
                    self.more_races |= self.note(&mut races, later);
                    let earlier = starts[..landing].iter().rev();
                    let earlier = earlier.take_while(|earlier| !self.precedes(earlier.row, event.node));
                    let earlier = earlier.map(|earlier| (event.row, earlier.node, counter));
                    self.more_races |= self.note(&mut races, earlier);
                }
                _ => {}
            }
        }
        if self.clocks.is_some() {
            let turns = starts
                .windows(2)
                .filter(|turn| turn[0].row != turn[1].node && !self.precedes(turn[0].row, turn[1].node));
            let turns = turns.map(|turn| (turn[0].row, turn[1].node, counter));
            self.more_races |= self.note(&mut races, turns);
        }
        self.reset_races.extend(races);
        epochs
    }

    /// Adds races, up to as many as are noted. An operation makes its own updates one after the other. Whether there are
    /// more.
    fn note(&self, races: &mut Vec<Race>, more: impl Iterator<Item = Race>) -> bool {
        let nodes = self.trace.len() as u32;
        let node_of = |row: u32| row.checked_sub(nodes).map_or(row, |at| self.trace.transfers[at as usize].0);
        let room = MAX_RACES.saturating_sub(self.reset_races.len() + races.len());
        let mut more = more.filter(|(row, reset, _)| node_of(*row) != *reset);
        races.extend(more.by_ref().take(room));
        more.next().is_some()
    }

    fn counter(&mut self, counter: u32, events: &[Event]) {
        let starts: Vec<Event> = events.iter().copied().filter(|e| e.kind == EventKind::Start).collect();
        let takings = self.takings(events);
        let wraps = schedules::wraps(events);
        let mut epochs: Vec<Epoch> = Vec::with_capacity(starts.len() + 1);
        for (at, adds) in self.epochs(counter, events, &starts).into_iter().enumerate() {
            let first = if at == 0 { 0 } else { starts[at - 1].value };
            epochs.push(self.epoch(adds, first));
        }
        let mut epoch = 0;
        // The most that the epochs before this one came to.
        let mut reached = i64::MIN;
        for event in events {
            match event.kind {
                EventKind::Start => {
                    reached = reached.max(epochs[epoch].most());
                    epoch += 1;
                }
                EventKind::Wait | EventKind::WaitUnknown => {
                    // What no count before reaches is only there when the epoch has begun.
                    let begins =
                        epoch > 0 && event.kind == EventKind::Wait && event.value > reached && !wraps;
                    if begins {
                        self.edge(*event, starts[epoch - 1].row);
                    }
                    if self.clocks.is_some() {
                        let races_before =
                            epoch > 0 && !begins && !self.surely_precedes(starts[epoch - 1].row, event);
                        let races_after = starts.get(epoch).is_some_and(|next| {
                            next.node != event.node && !self.precedes(event.node, next.node)
                        });
                        let mut races = Vec::new();
                        if races_before {
                            races.push((event.node, starts[epoch - 1].node, counter));
                        }
                        if races_after {
                            races.push((event.node, starts[epoch].node, counter));
                        }
                        if !races.is_empty() {
                            let mut noted = std::mem::take(&mut self.reset_races);
                            self.more_races |= self.note(&mut noted, races.into_iter());
                            self.reset_races = noted;
                        }
                        if (races_before || races_after) && !self.mode.hopeful {
                            continue;
                        }
                    }
                    // Where the count may go around, nobody knows how often it has.
                    if wraps && !self.mode.hopeful {
                        continue;
                    }
                    let taken: i64 = self.taken(&takings, &starts, epoch, event);
                    let unknown = event.kind == EventKind::WaitUnknown;
                    self.bind(counter, &mut epochs[epoch], *event, event.value + taken, unknown);
                }
                _ => {}
            }
        }
    }

    fn takings(&self, events: &[Event]) -> Takings {
        let mut takings = Takings { lanes: Vec::new(), others: Vec::new() };
        let mut of_streams: HashMap<u32, usize> = HashMap::new();
        for sub in events.iter().filter(|event| event.kind == EventKind::Sub) {
            let streams = self.trace.streams_of(sub.node).0;
            if streams == 0 || sub.row != sub.node {
                takings.others.push(*sub);
                continue;
            }
            let lane = *of_streams.entry(streams).or_insert_with(|| {
                takings.lanes.push(Lane { subs: Vec::new(), sums: vec![0] });
                takings.lanes.len() - 1
            });
            let lane = &mut takings.lanes[lane];
            lane.subs.push(*sub);
            lane.sums.push(lane.sums[lane.subs.len() - 1] + sub.value);
        }
        takings
    }

    /// What is surely taken away between the start of the epoch and a wait.
    fn taken(&mut self, takings: &Takings, starts: &[Event], epoch: usize, wait: &Event) -> i64 {
        let from = if epoch == 0 { 0 } else { self.rank(starts[epoch - 1].node) };
        let rank = self.rank(wait.node);
        let others = takings.others.partition_point(|sub| self.rank(sub.node) < from)
            ..takings.others.partition_point(|sub| self.rank(sub.node) < rank);
        self.taken_work += others.len();
        // What is not looked at counts as there: then the wait is taken to mean less.
        let others = if self.taken_work <= MAX_TAKEN_WORK { &takings.others[others] } else { &[] };
        let in_epoch = |sub: &Event| epoch == 0 || self.precedes(starts[epoch - 1].row, sub.node);
        let others = others.iter();
        let others = others.filter(|sub| self.surely_precedes(sub.row, wait) && in_epoch(sub));
        let mut taken = others.map(|sub| sub.value).sum();
        for Lane { subs, sums } in &takings.lanes {
            // What comes before one of a stream comes before all that follow, and the other way around.
            let first = subs.partition_point(|sub| self.rank(sub.node) < from || !in_epoch(sub));
            let ran = subs.partition_point(|sub| self.rank(sub.node) < rank);
            let end = subs[..ran].partition_point(|sub| self.surely_precedes(sub.row, wait));
            taken += sums[end.max(first)] - sums[first];
        }
        taken
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

    /// Binds a wait for so much of an epoch.
    fn bind(&mut self, counter: u32, epoch: &mut Epoch, wait: Event, need: i64, unknown: bool) {
        if unknown {
            self.hope(epoch, wait);
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
        let (window, range) = self.window(epoch, last);
        let (first, end) = (range.start, range.end);
        if end == first + 1 {
            // The usual case: one transfer at a time.
            let add = epoch.adds[first];
            if !self.after(wait.node, add) && self.rank(add.node) < self.rank(wait.node) {
                let row = self.prefix(epoch, first);
                self.edge(wait, row);
            } else {
                self.vague.insert((wait.node, wait.row));
                self.behind(epoch, first, wait);
            }
            return;
        }
        let direct = self.searched > self.limits.search;
        if direct && self.mode.hopeful {
            self.hope(epoch, wait);
            return;
        }
        if self.searched > self.limits.search.saturating_mul(2) {
            self.open.insert(counter);
            self.vague.insert((wait.node, wait.row));
            self.behind(epoch, first, wait);
            return;
        }
        let members = self.members(epoch, window, wait.node);
        let is_whole = members.count == end - first;
        let rest = epoch.counts[first] + members.sum;
        // One addition, or all of them.
        let is_simple = members.count <= 1 || rest < need;
        if direct && !is_simple {
            self.open.insert(counter);
        }
        let mut before = self.known.remove(&(wait.node, wait.row)).unwrap_or_default();
        let needed = self.needed(epoch, &members, rest - need, is_simple || direct, &mut before);
        let is_last_before = || self.rank(epoch.adds[end - 1].node) < self.rank(wait.node);
        if is_whole && (needed.all || is_simple) && (!is_simple || is_last_before()) {
            let row = self.prefix(epoch, end - 1);
            self.edge(wait, row);
            return;
        }
        self.vague.insert((wait.node, wait.row));
        if !is_simple && let Some((one, other)) = needed.spared.filter(|(one, other)| one != other) {
            self.mixed.push((epoch.adds[one as usize].row, epoch.adds[other as usize].row, counter));
        }
        for row in self.rows(epoch, &members, needed, wait.node) {
            self.edge(wait, row);
        }
        self.behind(epoch, first, wait);
        if !is_simple && !direct {
            self.common(epoch, &members, wait, rest - need, &mut before);
            self.known.insert((wait.node, wait.row), before);
        }
    }

    /// Hopefully a wait is for all that was made before it.
    fn hope(&mut self, epoch: &mut Epoch, wait: Event) {
        let before = epoch.adds.partition_point(|add| self.rank(add.node) < self.rank(wait.node));
        if self.mode.hopeful && before > 0 {
            let row = self.prefix(epoch, before - 1);
            self.edge(wait, row);
        }
    }

    /// What is before the window of a wait is complete.
    fn behind(&mut self, epoch: &mut Epoch, first: usize, wait: Event) {
        if first > 0 {
            let row = self.prefix(epoch, first - 1);
            self.edge(wait, row);
        }
    }

    /// Edges from what so many additions come after that without it too few are left, though it is none of them.
    fn common(&mut self, epoch: &Epoch, members: &Members, wait: Event, spare: i64, before: &mut Before) {
        let trace = self.trace;
        let rank = self.rank(wait.node);
        let mut found = Vec::new();
        let mut counts = SmallVec::new();
        for (stream, nodes) in trace.streams.iter().enumerate() {
            // The later on a stream, the less comes after it.
            let ran = match before.streams.get(stream) {
                Some(count) => *count as usize,
                None => nodes.partition_point(|node| self.rank(*node) < rank),
            };
            let after = first_less(&nodes[..ran], |node| self.loss(epoch, members, *node) > spare);
            counts.push(after as u32);
            if after > 0 {
                found.push(nodes[after - 1]);
            }
        }
        before.streams = counts;
        let nodes = trace.len() as u32;
        let transfers = before.transfers.take().unwrap_or_else(|| {
            self.common_work += trace.transfers.len() * members.lanes();
            let all = 0..trace.transfers.len() as u32;
            if self.common_work > MAX_COMMON_WORK { Vec::new() } else { all.collect() }
        });
        let is_common = |at: &u32| {
            let (node, _) = trace.transfers[*at as usize];
            self.rank(node) < rank && self.loss(epoch, members, nodes + at) > spare
        };
        let transfers: Vec<u32> = transfers.into_iter().filter(is_common).collect();
        found.extend(transfers.iter().map(|at| nodes + at));
        before.transfers = Some(transfers);
        found.into_iter().for_each(|row| self.edge(wait, row));
    }
}
