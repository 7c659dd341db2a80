//! Waits bound to what they wait for, by the arithmetic of their counters (spec: ordering 14.5).
//!
//! A wait orders a completion `u` before its operation exactly when, with `u` held for ever, the count can never be
//! reached: what `u` and everything after it would have added is missing. What comes after `u` depends on the edges
//! that are sought, so they are assumed first (each counter counts one completion after the other), and what does not
//! hold is taken away until nothing changes: the largest set of edges that justify themselves. Every edge leads
//! forward in one order in which the program can run, so no circle justifies itself.

use std::cell::{OnceCell, RefCell};

use hashbrown::HashSet;

use crate::clocks::{ByNode, Clocks, Edge, Edges, Prefix, QueueOrder};
use crate::logs::{Event, EventKind, Logs};
use crate::program::{NONE, OpKind};
use crate::schedules;
use crate::trace::{Run, Trace};

/// Most rounds; a program takes two or three.
const MAX_ROUNDS: usize = 64;

/// Additions that may be out of order among each other and are still looked at one by one.
const MAX_WINDOW: usize = 256;

/// Work on transfers that no counter of the wait counts but that all its additions come after.
const MAX_COMMON_WORK: usize = 20_000_000;

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

/// What is taken away from a counter: by operations of one stream each, and by whatever else.
struct Takings {
    lanes: Vec<Lane>,
    others: Vec<Event>,
}

/// Takings of one stream, and how much the first so many of them are.
struct Lane {
    subs: Vec<Event>,
    sums: Vec<i64>,
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
        // A transfer is complete after the operation that starts it.
        if row == to.row || row == to.node || self.precedes(row, to.node) {
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
        let takings = self.takings(events);
        let wraps = schedules::wraps(events);
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
        let mut of_stream = vec![usize::MAX; self.trace.streams.len()];
        for sub in events.iter().filter(|event| event.kind == EventKind::Sub) {
            match self.trace.streams_of(sub.node).single().filter(|_| sub.row == sub.node) {
                Some(stream) => {
                    if of_stream[stream] == usize::MAX {
                        of_stream[stream] = takings.lanes.len();
                        takings.lanes.push(Lane { subs: Vec::new(), sums: vec![0] });
                    }
                    let lane = &mut takings.lanes[of_stream[stream]];
                    lane.subs.push(*sub);
                    lane.sums.push(lane.sums[lane.subs.len() - 1] + sub.value);
                }
                None => takings.others.push(*sub),
            }
        }
        takings
    }

    /// What is surely taken away between the start of the epoch and a wait.
    fn taken(&self, takings: &Takings, starts: &[Event], epoch: usize, wait: &Event) -> i64 {
        let from = if epoch == 0 { 0 } else { self.rank(starts[epoch - 1].node) };
        let rank = self.rank(wait.node);
        let in_epoch = |sub: &Event| epoch == 0 || self.precedes(starts[epoch - 1].row, sub.node);
        let others = takings.others.iter().filter(|sub| (from..rank).contains(&self.rank(sub.node)));
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
