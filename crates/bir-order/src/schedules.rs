//! Whether it depends on who is faster if every operation runs, and if an event is set twice (spec: ordering 1.5, 14.5).
//!
//! Where all that takes from a count has a fixed place among the waits for it, counts are as good as growing, and one run
//! stands for all. What is left are counts that somebody may take first: for these every order is tried, with a limit.
//! Operations that have no part in such counts only ever help others, so they run as soon as they can in each.

use hashbrown::{HashMap, HashSet};

use crate::check::Ordered;
use crate::logs::{Event, EventKind};
use crate::program::{Change, NONE, Need, OpKind, Program, Streams};
use crate::trace::Trace;

/// Most states of a program that are looked at.
const MAX_STATES: usize = 100_000;
/// Most bytes for them.
const MAX_BYTES: usize = 64 << 20;
/// Most operations that are run, and most pairs of events that are compared.
const MAX_WORK: usize = 20_000_000;

/// What some order of running comes to.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    /// Nodes that wait for ever in some order, and the completions that came in that order, as far as it matters.
    pub(crate) hang: Option<(Vec<u32>, Vec<u32>)>,
    /// Rows that set an event which can be set, with the event.
    pub(crate) double_sets: Vec<(u32, u32)>,
    /// A node that waits, and what it waits for, when there were too many orders to try.
    pub(crate) open: Option<(u32, u32)>,
}

/// Tries the orders in which a walk can run. It must come to its end when everything goes as fast as it can.
pub(crate) fn schedules(ordered: &Ordered<'_>) -> Schedules {
    let contested = contested(ordered);
    if contested.is_empty() {
        return Schedules::default();
    }
    Search::new(ordered, &contested).run(&contested)
}

/// Whether the count of a counter may leave what a semaphore holds.
pub(crate) fn wraps(events: &[Event]) -> bool {
    let values =
        events.iter().filter(|event| !matches!(event.kind, EventKind::Wait | EventKind::WaitUnknown));
    let sum = values.fold(0i64, |sum, event| sum.saturating_add(event.value.saturating_abs()));
    sum > i64::from(i32::MAX)
}

/// Counters for which the order of events is not fixed as far as it matters, with a node that waits for each, if one
/// does.
fn contested(ordered: &Ordered<'_>) -> Vec<(u32, u32)> {
    let Ordered { trace, run, logs, .. } = ordered;
    let is_event = events_of(trace.program);
    let mut work = MAX_WORK;
    let mut found = Vec::new();
    let mut list = Vec::new();
    for (counter, is_event) in is_event.into_iter().enumerate() {
        if !is_event && !logs.may_shrink(counter) {
            continue;
        }
        list.clear();
        list.extend(logs.iter(counter));
        if wraps(&list) || !is_fixed(ordered, &list, &mut work) || is_event && !alternates(ordered, &list) {
            let waits = list.iter().filter(|event| event.kind == EventKind::Wait);
            let waiter = waits.map(|event| event.node).min_by_key(|node| run.rank[*node as usize]);
            found.push((counter as u32, waiter.unwrap_or(NONE)));
        }
    }
    found
}

/// Counters that are events.
fn events_of(program: &Program) -> Vec<bool> {
    let mut events = vec![false; program.counters as usize];
    for wait in program.waits.iter().filter(|wait| wait.need == Need::Take) {
        events[wait.counter.index()] = true;
    }
    for update in program.updates.iter().chain(program.transfer_updates.iter()) {
        events[update.counter.index()] |= update.change == Change::Set;
    }
    events
}

/// Whether everything that takes from a count has a fixed place among its waits and resets.
fn is_fixed(ordered: &Ordered<'_>, events: &[Event], work: &mut usize) -> bool {
    let trace = &ordered.trace;
    let rank = |node: u32| ordered.run.rank[node as usize];
    // Those of one stream follow each other: only the last one before and the first one behind need a look.
    let mut lanes: HashMap<usize, Vec<Event>> = HashMap::new();
    for sub in events.iter().filter(|event| event.kind == EventKind::Sub) {
        let stream = trace.streams_of(sub.node).single().filter(|_| sub.row == sub.node);
        // The others have lanes of their own.
        let lane = stream.unwrap_or(trace.streams.len() + sub.row as usize);
        lanes.entry(lane).or_default().push(*sub);
    }
    for event in events {
        let row = match event.kind {
            EventKind::Wait | EventKind::WaitUnknown => event.node,
            EventKind::Start => event.row,
            _ => continue,
        };
        match work.checked_sub(lanes.len()) {
            Some(left) => *work = left,
            None => return false,
        }
        let place = rank(event.node);
        for lane in lanes.values() {
            let end = lane.partition_point(|sub| rank(sub.node) < place);
            if end > 0 && !ordered.precedes(lane[end - 1].row, event.node) {
                return false;
            }
            let next = lane[end..].iter().find(|sub| sub.node != event.node);
            if next.is_some_and(|next| !ordered.precedes(row, next.node)) {
                return false;
            }
        }
    }
    true
}

/// Whether an event is surely taken between any two times that it is set.
fn alternates(ordered: &Ordered<'_>, events: &[Event]) -> bool {
    let (mut set, mut take): (Option<Event>, Option<Event>) = (None, None);
    for event in events {
        match event.kind {
            EventKind::Sub => take = Some(*event),
            EventKind::Add => {
                if let Some(set) = set {
                    let between = take.is_some_and(|take| {
                        ordered.precedes(set.row, take.node)
                            && (take.node == event.node || ordered.precedes(take.node, event.node))
                    });
                    if !between {
                        return false;
                    }
                }
                (set, take) = (Some(*event), None);
            }
            _ => {}
        }
    }
    true
}

/// How far every stream has come.
#[derive(Clone)]
struct State {
    heads: Vec<u32>,
    /// Nodes that have started and are not complete, as far as it matters when they are.
    running: Vec<u32>,
    /// Transfers that are in flight, as far as it matters when they are complete.
    flying: Vec<u32>,
    counts: Vec<i32>,
}

#[derive(Clone, Copy)]
enum Action {
    Start(u32),
    Complete(u32),
    Land(u32),
}

/// What an operation has to do with contested counters.
#[derive(Clone, Copy, Default)]
struct Part {
    waits: bool,
    updates: bool,
}

struct Search<'a, 'p> {
    trace: &'a Trace<'p>,
    /// By operation.
    parts: Vec<Part>,
    /// By transfer of the program.
    lands: Vec<bool>,
    contested: Vec<u32>,
    /// Thresholds of [`Need::Each`] by node: how often its operation has run with it.
    rounds: HashMap<u32, i64>,
    double_sets: Vec<(u32, u32)>,
    work: usize,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(ordered: &'a Ordered<'p>, contested: &[(u32, u32)]) -> Search<'a, 'p> {
        let trace = &ordered.trace;
        let program = trace.program;
        let mut is_contested = vec![false; program.counters as usize];
        contested.iter().for_each(|(counter, _)| is_contested[*counter as usize] = true);
        let parts = (0..program.ops.len() as u32).map(|op| Part {
            waits: program.waits_of(op).iter().any(|wait| is_contested[wait.counter.index()]),
            updates: program.updates_of(op).iter().any(|update| is_contested[update.counter.index()])
                || program.resets_of(program.kind_of(op)).iter().any(|counter| is_contested[counter.index()]),
        });
        let lands = (0..program.transfers.len()).map(|transfer| {
            program.transfer_updates_of(transfer).iter().any(|update| is_contested[update.counter.index()])
        });
        let mut rounds = HashMap::new();
        let mut times: HashMap<u32, i64> = HashMap::new();
        if program.waits.iter().any(|wait| matches!(wait.need, Need::Each(_))) {
            for (node, op) in trace.ops.iter().enumerate() {
                if program.waits_of(*op).iter().any(|wait| matches!(wait.need, Need::Each(_))) {
                    let times = times.entry(*op).or_default();
                    *times += 1;
                    rounds.insert(node as u32, *times);
                }
            }
        }
        Search {
            trace,
            parts: parts.collect(),
            lands: lands.collect(),
            contested: contested.iter().map(|(counter, _)| *counter).collect(),
            rounds,
            double_sets: Vec::new(),
            work: 0,
        }
    }

    fn run(mut self, contested: &[(u32, u32)]) -> Schedules {
        let trace = self.trace;
        let first = State {
            heads: vec![0; trace.streams.len()],
            running: Vec::new(),
            flying: Vec::new(),
            counts: vec![0; trace.program.counters as usize],
        };
        let size = 4 * (first.heads.len() + first.counts.len()) + size_of::<State>() + 64;
        let most = MAX_STATES.min(MAX_BYTES / size);
        let mut result = Schedules::default();
        let mut seen: HashSet<Box<[u32]>> = HashSet::new();
        // States to go on from, with the number of completions before each and the one that led to it.
        let mut open: Vec<(State, usize, Option<Action>)> = vec![(first, 0, None)];
        let mut path: Vec<u32> = Vec::new();
        let mut is_first = true;
        while let Some((mut state, depth, action)) = open.pop() {
            path.truncate(depth);
            if std::mem::take(&mut is_first) {
                for node in (0..trace.len() as u32).filter(|node| trace.streams_of(*node) == Streams::NONE) {
                    self.complete(&mut state, node);
                }
            }
            if let Some(action) = action {
                if !self.act(&mut state, action) {
                    continue;
                }
                path.push(self.row_of(action));
            }
            if !self.settle(&mut state) || !seen.insert(self.key(&state)) {
                continue;
            }
            if seen.len() + open.len() > most || self.work > MAX_WORK {
                let waits = contested.iter().filter(|(_, node)| *node != NONE);
                let first = waits.min_by_key(|(_, node)| *node).or(contested.first());
                result.open = first.map(|(counter, node)| (*node, *counter));
                break;
            }
            let before = open.len();
            let depth = path.len();
            for action in self.actions(&state) {
                open.push((state.clone(), depth, Some(action)));
            }
            if open.len() == before && result.hang.is_none() {
                let stuck = self.stuck(&state);
                if !stuck.is_empty() {
                    result.hang = Some((stuck, path.clone()));
                    break;
                }
            }
        }
        self.double_sets.sort_unstable();
        self.double_sets.dedup();
        result.double_sets = self.double_sets;
        result
    }

    fn row_of(&self, action: Action) -> u32 {
        match action {
            Action::Start(node) | Action::Complete(node) => node,
            Action::Land(transfer) => self.trace.len() as u32 + transfer,
        }
    }

    /// What tells states apart: all other counts follow from it.
    fn key(&self, state: &State) -> Box<[u32]> {
        let counts = self.contested.iter().map(|counter| state.counts[*counter as usize] as u32);
        let lists = [&state.running, &state.flying].map(|list| list.len() as u32);
        let key = state.heads.iter().copied().chain(lists).chain(counts);
        key.chain(state.running.iter().chain(&state.flying).copied()).collect()
    }

    fn head(&self, state: &State, stream: usize) -> Option<u32> {
        self.trace.streams[stream].get(state.heads[stream] as usize).copied()
    }

    /// The node at the head of a stream, when all its streams have come to it, none of them is busy, and what it waits
    /// for holds.
    fn enabled(&self, state: &State, stream: usize) -> Option<u32> {
        let node = self.head(state, stream)?;
        let streams = self.trace.streams_of(node);
        let mut others = streams.iter();
        if others.next() != Some(stream) || others.any(|other| self.head(state, other) != Some(node)) {
            return None;
        }
        let busy = |other: &u32| self.trace.streams_of(*other).0 & streams.0 != 0;
        if state.running.iter().any(busy) {
            return None;
        }
        let op = self.trace.ops[node as usize];
        let program = self.trace.program;
        let holds = program.waits_of(op).iter().all(|wait| {
            let count = i64::from(state.counts[wait.counter.index()]);
            match wait.need {
                Need::AtLeast(need) => count >= need,
                Need::Each(each) => count >= each * self.rounds.get(&node).copied().unwrap_or(1),
                Need::Take => count >= 1,
                Need::Unknown => true,
            }
        });
        let drained = program.kind_of(op) != OpKind::Drain
            || !state.flying.iter().any(|transfer| busy(&self.trace.transfers[*transfer as usize].0));
        (holds && drained).then_some(node)
    }

    /// Runs all that has no part in contested counts. False when an event was set twice.
    fn settle(&mut self, state: &mut State) -> bool {
        loop {
            let mut moved = false;
            for stream in 0..state.heads.len() {
                while let Some(node) = self.enabled(state, stream) {
                    let part = self.parts[self.trace.ops[node as usize] as usize];
                    if part.waits || part.updates {
                        break;
                    }
                    self.start(state, node);
                    if !self.complete(state, node) {
                        return false;
                    }
                    moved = true;
                }
            }
            if !moved {
                return true;
            }
        }
    }

    fn actions(&self, state: &State) -> Vec<Action> {
        let mut actions: Vec<Action> = Vec::new();
        actions.extend(state.flying.iter().map(|transfer| Action::Land(*transfer)));
        actions.extend(state.running.iter().map(|node| Action::Complete(*node)));
        actions.extend((0..state.heads.len()).filter_map(|at| self.enabled(state, at)).map(Action::Start));
        actions
    }

    /// False when an event is set twice: what follows does not matter any more.
    fn act(&mut self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Start(node) => {
                self.start(state, node);
                let part = self.parts[self.trace.ops[node as usize] as usize];
                if part.waits && part.updates {
                    let at = state.running.partition_point(|other| *other < node);
                    state.running.insert(at, node);
                    return true;
                }
                self.complete(state, node)
            }
            Action::Complete(node) => {
                state.running.retain(|other| *other != node);
                self.complete(state, node)
            }
            Action::Land(transfer) => {
                state.flying.retain(|other| *other != transfer);
                self.land(state, transfer)
            }
        }
    }

    fn start(&mut self, state: &mut State, node: u32) {
        self.work += 1;
        self.trace.streams_of(node).iter().for_each(|stream| state.heads[stream] += 1);
        for wait in self.trace.program.waits_of(self.trace.ops[node as usize]).iter() {
            if wait.need == Need::Take {
                let count = &mut state.counts[wait.counter.index()];
                *count = count.wrapping_sub(1);
            }
        }
    }

    fn complete(&mut self, state: &mut State, node: u32) -> bool {
        let program = self.trace.program;
        let op = self.trace.ops[node as usize];
        for counter in program.resets_of(program.kind_of(op)) {
            state.counts[counter.index()] = 0;
        }
        for update in program.updates_of(op).iter() {
            if !self.change(state, node, update.counter.0, update.change) {
                return false;
            }
        }
        for transfer in self.trace.transfers_of(node) {
            if self.lands[self.trace.transfers[transfer as usize].1 as usize] {
                let at = state.flying.partition_point(|other| *other < transfer);
                state.flying.insert(at, transfer);
            } else if !self.land(state, transfer) {
                return false;
            }
        }
        true
    }

    fn land(&mut self, state: &mut State, transfer: u32) -> bool {
        let of = self.trace.transfers[transfer as usize].1 as usize;
        let row = self.trace.len() as u32 + transfer;
        let updates = self.trace.program.transfer_updates_of(of);
        updates.iter().all(|update| self.change(state, row, update.counter.0, update.change))
    }

    fn change(&mut self, state: &mut State, row: u32, counter: u32, change: Change) -> bool {
        let count = &mut state.counts[counter as usize];
        match change {
            Change::Add(value) => *count = count.wrapping_add(value as i32),
            Change::Write(value) => *count = value as i32,
            Change::Set if *count >= 1 => {
                self.double_sets.push((row, counter));
                return false;
            }
            Change::Set => *count += 1,
        }
        true
    }

    /// The heads that are left, those that only wait for others of their streams aside.
    fn stuck(&self, state: &State) -> Vec<u32> {
        let heads = (0..state.heads.len()).filter_map(|stream| self.head(state, stream));
        let mut stuck: Vec<u32> = heads
            .filter(|node| {
                self.trace.streams_of(*node).iter().all(|other| self.head(state, other) == Some(*node))
            })
            .collect();
        stuck.sort_unstable();
        stuck.dedup();
        stuck
    }
}
