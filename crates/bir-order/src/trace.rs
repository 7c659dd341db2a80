//! A walk through the program: one node for each time that an operation runs, and the order in which the nodes run
//! when everything goes as fast as it can (spec: ordering 14.2, 14.5).

use std::collections::VecDeque;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::loops::Visit;
use crate::program::{Change, NONE, Need, OpKind, Program, Streams};

/// The nodes of a walk.
pub(crate) struct Trace<'p> {
    pub(crate) program: &'p Program,
    pub(crate) visits: Vec<Visit>,
    /// First node of each visit, and the number of nodes.
    starts: Vec<u32>,
    /// The operation of each node.
    pub(crate) ops: Vec<u32>,
    /// The streams of each node: those of its operation, which are asked for far more often than anything else of it.
    node_streams: Vec<Streams>,
    /// First transfer of each node, and the number of transfers.
    pub(crate) first_transfer: Vec<u32>,
    /// Node and program transfer of each transfer.
    pub(crate) transfers: Vec<(u32, u32)>,
    /// The nodes of each stream.
    pub(crate) streams: Vec<Vec<u32>>,
    /// The node before each one on its stream; see `joins` for nodes of several.
    prev: Vec<u32>,
    joins: HashMap<u32, SmallVec<[u32; 8]>>,
}

impl<'p> Trace<'p> {
    pub(crate) fn new(program: &'p Program, visits: Vec<Visit>) -> Trace<'p> {
        let count: usize = visits.iter().map(|visit| program.blocks[visit.block as usize].ops.len()).sum();
        // The lists are long: they are made as long as they will be.
        let mut counts = vec![0; program.streams.len()];
        let mut transfers = 0;
        for op in visits.iter().flat_map(|visit| program.blocks[visit.block as usize].ops.clone()) {
            program.ops[op as usize].streams.iter().for_each(|stream| counts[stream] += 1);
            transfers += program.transfers_of(op).len();
        }
        let streams = counts.into_iter().map(Vec::with_capacity).collect();
        let mut trace = Trace {
            program,
            starts: Vec::with_capacity(visits.len() + 1),
            ops: Vec::with_capacity(count),
            node_streams: Vec::with_capacity(count),
            first_transfer: Vec::with_capacity(count + 1),
            transfers: Vec::with_capacity(transfers),
            streams,
            prev: Vec::with_capacity(count),
            joins: HashMap::new(),
            visits: Vec::new(),
        };
        let mut last = vec![NONE; program.streams.len()];
        for visit in &visits {
            trace.starts.push(trace.ops.len() as u32);
            for op in program.blocks[visit.block as usize].ops.clone() {
                let node = trace.ops.len() as u32;
                trace.ops.push(op);
                trace.first_transfer.push(trace.transfers.len() as u32);
                trace.transfers.extend(program.transfers_of(op).map(|transfer| (node, transfer as u32)));
                let streams = program.ops[op as usize].streams;
                trace.node_streams.push(streams);
                match streams.single() {
                    Some(stream) => trace.prev.push(last[stream]),
                    None => {
                        trace.prev.push(NONE);
                        let mut before: SmallVec<[u32; 8]> =
                            streams.iter().map(|stream| last[stream]).filter(|node| *node != NONE).collect();
                        before.sort_unstable();
                        before.dedup();
                        trace.joins.insert(node, before);
                    }
                }
                for stream in streams.iter() {
                    trace.streams[stream].push(node);
                    last[stream] = node;
                }
            }
        }
        trace.starts.push(trace.ops.len() as u32);
        trace.first_transfer.push(trace.transfers.len() as u32);
        trace.visits = visits;
        trace
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.ops.len()
    }

    /// The place among the visits of the one that a node belongs to.
    pub(crate) fn visit_at(&self, node: u32) -> usize {
        self.starts.partition_point(|start| *start <= node) - 1
    }

    /// The visit that a node belongs to.
    pub(crate) fn visit(&self, node: u32) -> &Visit {
        &self.visits[self.visit_at(node)]
    }

    /// Streams from the first to the last that has nodes, one at least.
    pub(crate) fn width(&self) -> usize {
        self.streams.iter().rposition(|nodes| !nodes.is_empty()).unwrap_or(0) + 1
    }

    /// The nodes of a visit.
    pub(crate) fn nodes_of(&self, visit: usize) -> std::ops::Range<u32> {
        self.starts[visit]..self.starts[visit + 1]
    }

    pub(crate) fn streams_of(&self, node: u32) -> Streams {
        self.node_streams[node as usize]
    }

    /// The transfers of a node.
    pub(crate) fn transfers_of(&self, node: u32) -> std::ops::Range<u32> {
        self.first_transfer[node as usize]..self.first_transfer[node as usize + 1]
    }

    /// Calls `each` with the nodes right before one on its streams.
    pub(crate) fn before(&self, node: u32, mut each: impl FnMut(u32)) {
        match self.prev[node as usize] {
            NONE => {
                if let Some(joined) = self.joins.get(&node) {
                    joined.iter().for_each(|before| each(*before));
                }
            }
            before => each(before),
        }
    }
}

/// The order in which the nodes of a walk can run.
pub(crate) struct Run {
    /// Place of each node in `order`; [`NONE`] for nodes that never run.
    pub(crate) rank: Vec<u32>,
    /// The nodes that run.
    pub(crate) order: Vec<u32>,
    /// Nodes that wait for ever.
    pub(crate) stuck: Vec<u32>,
    /// Takes of an event that was set twice before, and sets of a set event.
    pub(crate) double_sets: Vec<(u32, u32)>,
    /// Threshold of each [`Need::Each`], by node and index of the wait.
    pub(crate) rounds: HashMap<u32, i64>,
}

/// Runs a walk, every DMA completing at once.
pub(crate) fn run(trace: &Trace<'_>) -> Run {
    let program = trace.program;
    let mut state = State {
        trace,
        run: Run {
            rank: vec![NONE; trace.len()],
            order: Vec::with_capacity(trace.len()),
            stuck: Vec::new(),
            double_sets: Vec::new(),
            rounds: HashMap::new(),
        },
        counts: vec![0; program.counters as usize],
        blocked: vec![Streams::NONE; program.counters as usize],
        heads: vec![0; trace.streams.len()],
        ready: VecDeque::new(),
        queued: Streams::NONE,
        times: HashMap::new(),
        unknown: false,
    };
    for node in 0..trace.len() as u32 {
        if trace.streams_of(node).0 == 0 {
            state.execute(node);
        }
    }
    (0..trace.streams.len()).for_each(|stream| state.wake(stream));
    loop {
        while let Some(stream) = state.ready.pop_front() {
            state.queued.0 &= !(1 << stream);
            state.advance(stream);
        }
        if !state.release_unknown() {
            break;
        }
    }
    for stream in 0..trace.streams.len() {
        if let Some(node) = state.head(stream) {
            let arrived = trace.streams_of(node).iter().all(|other| state.head(other) == Some(node));
            if arrived {
                state.run.stuck.push(node);
            }
        }
    }
    state.run.stuck.sort_unstable();
    state.run.stuck.dedup();
    state.run
}

struct State<'t, 'p> {
    trace: &'t Trace<'p>,
    run: Run,
    counts: Vec<i64>,
    /// The streams that wait for each counter.
    blocked: Vec<Streams>,
    heads: Vec<usize>,
    /// Streams that may go on, each once.
    ready: VecDeque<usize>,
    queued: Streams,
    /// How often an operation with a rendezvous has run.
    times: HashMap<u32, i64>,
    /// Counters are not known any more: what waits in vain goes on.
    unknown: bool,
}

impl State<'_, '_> {
    fn head(&self, stream: usize) -> Option<u32> {
        self.trace.streams[stream].get(self.heads[stream]).copied()
    }

    fn wake(&mut self, stream: usize) {
        if self.queued.0 >> stream & 1 == 0 {
            self.queued.0 |= 1 << stream;
            self.ready.push_back(stream);
        }
    }

    fn advance(&mut self, stream: usize) {
        while let Some(node) = self.head(stream) {
            let streams = self.trace.streams_of(node);
            if streams.iter().any(|other| self.head(other) != Some(node)) {
                return;
            }
            if let Some(counter) = self.unmet(node) {
                self.blocked[counter as usize].0 |= streams.0;
                return;
            }
            self.pass(node);
        }
    }

    fn pass(&mut self, node: u32) {
        self.execute(node);
        let streams = self.trace.streams_of(node);
        streams.iter().for_each(|stream| self.heads[stream] += 1);
        if streams.single().is_none() {
            streams.iter().for_each(|stream| self.wake(stream));
        }
    }

    fn unmet(&mut self, node: u32) -> Option<u32> {
        let op = self.trace.ops[node as usize];
        for wait in self.trace.program.waits_of(op).iter() {
            let count = self.counts[wait.counter.index()];
            let holds = match wait.need {
                Need::AtLeast(need) => count >= need,
                Need::Each(each) => {
                    let times = self.times.get(&op).copied().unwrap_or(0) + 1;
                    self.run.rounds.insert(node, each * times);
                    count >= each * times
                }
                Need::Take => count >= 1,
                Need::Unknown => true,
            };
            if !holds {
                return Some(wait.counter.0);
            }
        }
        None
    }

    fn execute(&mut self, node: u32) {
        let program = self.trace.program;
        let op = self.trace.ops[node as usize];
        self.run.rank[node as usize] = self.run.order.len() as u32;
        self.run.order.push(node);
        for wait in program.waits_of(op).iter() {
            match wait.need {
                Need::Take => self.counts[wait.counter.index()] -= 1,
                Need::Each(_) => *self.times.entry(op).or_default() += 1,
                _ => {}
            }
        }
        let kind = program.kind_of(op);
        if kind == OpKind::ResetUnknown {
            self.unknown = true;
        }
        for counter in program.resets_of(kind) {
            self.set(counter.0, 0);
        }
        for update in program.updates_of(op).iter() {
            self.change(node, update.counter.0, update.change);
        }
        for transfer in program.transfers_of(op) {
            for update in program.transfer_updates_of(transfer).iter() {
                self.change(node, update.counter.0, update.change);
            }
        }
    }

    fn change(&mut self, node: u32, counter: u32, change: Change) {
        let count = self.counts[counter as usize];
        match change {
            Change::Add(value) => self.set(counter, count + value),
            Change::Write(value) => self.set(counter, value),
            Change::Set => {
                if count >= 1 {
                    self.run.double_sets.push((node, counter));
                }
                self.set(counter, count + 1);
            }
        }
    }

    fn set(&mut self, counter: u32, count: i64) {
        // A semaphore holds 32 bits with a sign, and goes around. spec: ordering 1.4
        let count = i64::from(count as i32);
        let grows = count > self.counts[counter as usize];
        self.counts[counter as usize] = count;
        if !grows {
            return;
        }
        let blocked = std::mem::take(&mut self.blocked[counter as usize]);
        blocked.iter().for_each(|stream| self.wake(stream));
    }

    /// After a reset without a group nobody knows the counts: lets what waits go on.
    fn release_unknown(&mut self) -> bool {
        if !self.unknown {
            return false;
        }
        let trace = self.trace;
        let stuck = (0..trace.streams.len())
            .filter_map(|stream| self.head(stream))
            .find(|node| trace.streams_of(*node).iter().all(|other| self.head(other) == Some(*node)));
        let Some(node) = stuck else { return false };
        self.blocked.fill(Streams::NONE);
        self.pass(node);
        (0..trace.streams.len()).for_each(|stream| self.wake(stream));
        true
    }
}
