//! Small programs for tests, their brute-force meaning, and how they become programs of the library.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bir::geometry::lattice::ByteLattice;
use bir::geometry::on_chip::{Partitions, Piece};
use bir_order::program::*;

/// Numbers that look random.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    pub(crate) mask: u8,
    pub(crate) base: i64,
    pub(crate) dims: Vec<(i64, u64)>,
    pub(crate) width: u64,
    /// How far it moves in each iteration, and after how many it is back.
    pub(crate) moves: Option<(i64, u32)>,
}

impl Tile {
    /// What is touched in an iteration.
    pub(crate) fn at(&self, iteration: u32) -> Tile {
        let moved = self.moves.map_or(0, |(step, round)| step * i64::from(iteration % round));
        Tile { base: self.base + moved, moves: None, ..self.clone() }
    }

    fn bytes(&self) -> BTreeSet<(u32, i64)> {
        let mut starts = vec![self.base];
        for (stride, count) in &self.dims {
            starts = starts.iter().flat_map(|s| (0..*count as i64).map(move |k| s + k * stride)).collect();
        }
        let bytes = starts.iter().flat_map(|s| (0..self.width as i64).map(move |b| s + b));
        let rows = (0..8u32).filter(|row| self.mask >> row & 1 == 1);
        rows.flat_map(|row| bytes.clone().map(move |byte| (row, byte))).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Do {
    Work,
    Dma,
    Barrier,
    Reset(u32),
    Drain,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Add(i64),
    Write(i64),
    Set,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpecOp {
    /// 0..streams, or all.
    pub(crate) stream: Option<usize>,
    pub(crate) what: Do,
    /// Counter and threshold; no threshold takes an event.
    pub(crate) waits: Vec<(u32, Option<i64>)>,
    pub(crate) updates: Vec<(u32, Step)>,
    pub(crate) accesses: Vec<(Tile, bool)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) streams: usize,
    pub(crate) counters: u32,
    pub(crate) ops: Vec<SpecOp>,
    /// Ops of the loop's body, if there is one.
    pub(crate) body: Option<(usize, usize)>,
    /// How often it runs, if that is known.
    pub(crate) trips: Option<u32>,
}

impl Spec {
    /// The program, with its loop.
    pub(crate) fn program(&self) -> Program {
        let mut program = Program::new();
        let streams: Vec<StreamId> = (0..self.streams).map(|_| program.add_stream(0)).collect();
        let space = program.add_space();
        let counters: Vec<CounterId> = (0..self.counters).map(|_| program.add_counter()).collect();
        let queues: Vec<QueueId> = streams.iter().map(|_| program.add_queue()).collect();
        let all = streams.iter().fold(Streams::NONE, |all, stream| all.or(Streams::one(*stream)));
        let (start, end) = self.body.unwrap_or((0, 0));
        let cuts = if self.body.is_some() {
            vec![0..start, start..end, end..self.ops.len()]
        } else {
            std::iter::once(0..self.ops.len()).collect()
        };
        let last = cuts.len() - 1;
        for (at, cut) in cuts.into_iter().enumerate() {
            let block = program.begin_block(0);
            for op in &self.ops[cut] {
                let accesses: Vec<Access> = op
                    .accesses
                    .iter()
                    .map(|(tile, writes)| {
                        let piece = |tile: &Tile| {
                            let bytes = ByteLattice::new(tile.base, tile.dims.iter().copied(), tile.width);
                            Piece { partitions: Partitions(tile.mask.into()), bytes: bytes.unwrap() }
                        };
                        let bytes = |pieces, exact, moves| Bytes { space, pieces, exact, alias: None, moves };
                        let trips = self.trips.filter(|_| at == 1 && tile.moves.is_some());
                        let bytes = match trips {
                            None => bytes([piece(tile)].into_iter().collect(), true, None),
                            Some(trips) => {
                                let parts = (0..trips).map(|i| [piece(&tile.at(i))].into_iter().collect());
                                let parts = parts.map(|pieces| bytes(pieces, true, None));
                                let moves = program.moves(&[(block, trips)], parts);
                                let sweep = (0..trips).map(|i| piece(&tile.at(i))).collect();
                                bytes(sweep, false, Some(moves))
                            }
                        };
                        let bytes = program.bytes(bytes);
                        Access { bytes, effect: if *writes { Effect::WRITE } else { Effect::READ } }
                    })
                    .collect();
                let waits: Vec<Wait> = op
                    .waits
                    .iter()
                    .map(|(counter, need)| Wait {
                        counter: counters[*counter as usize],
                        need: need.map_or(Need::Take, Need::AtLeast),
                        from: None,
                    })
                    .collect();
                let updates: Vec<Update> = op
                    .updates
                    .iter()
                    .map(|(counter, step)| Update {
                        counter: counters[*counter as usize],
                        change: match step {
                            Step::Add(value) => Change::Add(*value),
                            Step::Write(value) => Change::Write(*value),
                            Step::Set => Change::Set,
                        },
                    })
                    .collect();
                let reset;
                let kind = match op.what {
                    Do::Reset(counter) => {
                        reset = [counters[counter as usize]];
                        Kind::Reset(&reset)
                    }
                    Do::Drain => Kind::Drain,
                    _ => Kind::Plain,
                };
                let is_dma = op.what == Do::Dma;
                program.push(&NewOp {
                    name: None,
                    streams: op.stream.map_or(all, |stream| Streams::one(streams[stream])),
                    kind,
                    waits: &waits,
                    updates: if is_dma { &[] } else { &updates },
                    accesses: if is_dma { &[] } else { &accesses },
                    value: 0,
                });
                if is_dma {
                    let queue = op.stream.map(|stream| queues[stream]);
                    program.push_transfer(&NewTransfer {
                        name: None,
                        queue,
                        accesses: &accesses,
                        updates: &updates,
                    });
                }
            }
            let mut exit = Exit::default();
            if at < last {
                exit.next.push(BlockId(block.0 + 1));
            }
            if self.body.is_some() && at == 1 {
                exit.next.push(block);
            }
            program.end_block(exit);
            if let (Some(trips), true) = (self.trips, self.body.is_some() && at == 1) {
                program.set_trips(block, block, trips.into());
            }
        }
        program
    }

    /// The same with the body written out several times, and for each op where it comes from: op and iteration.
    pub(crate) fn unrolled(&self, times: usize) -> (Spec, Vec<(usize, usize)>) {
        let (start, end) = self.body.unwrap_or((0, 0));
        let body = (0..times).flat_map(|copy| (start..end).map(move |op| (op, copy)));
        let ops: Vec<(usize, usize)> =
            (0..start).map(|op| (op, 0)).chain(body).chain((end..self.ops.len()).map(|op| (op, 0))).collect();
        let at = |(op, iteration): &(usize, usize)| {
            let mut op = self.ops[*op].clone();
            op.accesses.iter_mut().for_each(|(tile, _)| *tile = tile.at(*iteration as u32));
            op
        };
        let spec = Spec { ops: ops.iter().map(at).collect(), body: None, trips: None, ..self.clone() };
        (spec, ops)
    }

    /// Whether counts only grow, but for resets that everything is on one side of.
    pub(crate) fn is_monotone(&self) -> bool {
        self.ops.iter().all(|op| {
            op.waits.iter().all(|(_, need)| need.is_some())
                && op.updates.iter().all(|(_, step)| matches!(step, Step::Add(value) if *value > 0))
                && (op.stream.is_none() || !matches!(op.what, Do::Reset(_)))
        })
    }

    /// Whether an update makes a count smaller.
    pub(crate) fn subtracts(&self) -> bool {
        let mut steps = self.ops.iter().flat_map(|op| &op.updates);
        steps.any(|(_, step)| matches!(step, Step::Add(value) if *value < 0))
    }

    /// Whether several streams take one count.
    pub(crate) fn is_contested(&self) -> bool {
        let takes = self.ops.iter().flat_map(|op| {
            op.waits.iter().filter(|(_, need)| need.is_none()).map(|(counter, _)| (*counter, op.stream))
        });
        let takers: BTreeSet<_> = takes.collect();
        let counters: BTreeSet<u32> = takers.iter().map(|(counter, _)| *counter).collect();
        counters.len() < takers.len()
    }

    /// Whether it depends on who is faster if all ops run.
    pub(crate) fn may_hang(&self) -> bool {
        let machine = Machine { spec: self, held: None, queues: false };
        if self.is_monotone() { machine.greedy().contains(&false) } else { machine.exhaustive().hangs }
    }

    /// What can become of it in all orders.
    pub(crate) fn every(&self) -> Every {
        Machine { spec: self, held: None, queues: false }.exhaustive()
    }

    /// The ops that can start when one op never completes (or none is held).
    pub(crate) fn reachable(&self, held: Option<usize>, queues: bool) -> Vec<bool> {
        let machine = Machine { spec: self, held, queues };
        if self.is_monotone() { machine.greedy() } else { machine.exhaustive().started }
    }

    /// For every two ops: whether the first must be complete before the second starts.
    pub(crate) fn before(&self, queues: bool) -> Vec<Vec<bool>> {
        (0..self.ops.len())
            .map(|held| self.reachable(Some(held), queues).into_iter().map(|reached| !reached).collect())
            .collect()
    }

    /// Conflicts by kind, ops in order.
    pub(crate) fn conflicts(&self) -> Vec<(&'static str, usize, usize)> {
        /// What an op touches, and whether it writes.
        type Touched = Vec<(BTreeSet<(u32, i64)>, bool)>;
        let bytes: Vec<Touched> = self
            .ops
            .iter()
            .map(|op| op.accesses.iter().map(|(tile, w)| (tile.bytes(), *w)).collect())
            .collect();
        let mut found = BTreeSet::new();
        for second in 0..self.ops.len() {
            for first in 0..second {
                for (a, a_writes) in &bytes[first] {
                    for (b, b_writes) in &bytes[second] {
                        let kind = match (a_writes, b_writes) {
                            (true, true) => "WAW",
                            (true, false) => "RAW",
                            (false, true) => "WAR",
                            (false, false) => continue,
                        };
                        if !a.is_disjoint(b) {
                            found.insert((kind, first, second));
                        }
                    }
                }
            }
        }
        found.into_iter().collect()
    }
}

/// The program as a machine: heads of streams, DMAs in flight, counts.
struct Machine<'a> {
    spec: &'a Spec,
    held: Option<usize>,
    queues: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    heads: Vec<usize>,
    /// Issued and not complete, in order of issue.
    flying: Vec<usize>,
    /// Started and not complete: of ops that wait and update, others may come between the two.
    running: Vec<usize>,
    counts: Vec<i64>,
}

impl Machine<'_> {
    fn streams(&self) -> Vec<Vec<usize>> {
        let ops = self.spec.ops.iter().enumerate();
        (0..self.spec.streams)
            .map(|stream| {
                let on = ops.clone().filter(|(_, op)| op.stream.is_none_or(|s| s == stream));
                on.map(|(at, _)| at).collect()
            })
            .collect()
    }

    fn first(&self) -> State {
        State {
            heads: vec![0; self.spec.streams],
            flying: Vec::new(),
            running: Vec::new(),
            counts: vec![0; self.spec.counters as usize],
        }
    }

    /// Whether an op can start.
    fn starts(&self, state: &State, streams: &[Vec<usize>], at: usize) -> bool {
        let op = &self.spec.ops[at];
        let on = |stream: usize| op.stream.is_none_or(|s| s == stream);
        let at_head =
            (0..streams.len()).filter(|s| on(*s)).all(|s| streams[s].get(state.heads[s]) == Some(&at));
        let held_here = self.held.is_some_and(|held| {
            // A held op of a stream stays its head.
            self.spec.ops[held].what != Do::Dma
                && (0..streams.len()).any(|s| on(s) && streams[s][..state.heads[s]].contains(&held))
        });
        let busy = state
            .running
            .iter()
            .any(|other| op.stream.is_none() || [None, op.stream].contains(&self.spec.ops[*other].stream));
        let waits =
            op.waits.iter().all(|(counter, need)| state.counts[*counter as usize] >= need.unwrap_or(1));
        let drained = op.what != Do::Drain
            || state.flying.iter().all(|dma| {
                let issuer = self.spec.ops[*dma].stream;
                op.stream.is_some() && issuer != op.stream
            });
        at_head && !held_here && !busy && waits && drained
    }

    fn start(&self, state: &mut State, streams: &[Vec<usize>], at: usize) {
        let op = &self.spec.ops[at];
        for (stream, _) in streams.iter().enumerate().filter(|(s, _)| op.stream.is_none_or(|of| of == *s)) {
            state.heads[stream] += 1;
        }
        for (counter, need) in &op.waits {
            if need.is_none() {
                state.counts[*counter as usize] -= 1;
            }
        }
        if op.what == Do::Dma {
            state.flying.push(at);
        } else if self.held != Some(at) {
            self.complete(state, at);
        }
    }

    /// The same where an op that waits and updates is complete only later.
    fn begin(&self, state: &mut State, streams: &[Vec<usize>], at: usize) -> bool {
        let op = &self.spec.ops[at];
        if op.what == Do::Dma || op.waits.is_empty() || op.updates.is_empty() || self.held == Some(at) {
            let twice = op.what != Do::Dma && self.held != Some(at) && self.sets_twice(state, at);
            self.start(state, streams, at);
            return twice;
        }
        Machine { held: Some(at), ..*self }.start(state, streams, at);
        state.running.push(at);
        state.running.sort_unstable();
        false
    }

    /// Whether an op that completes now sets an event that is set.
    fn sets_twice(&self, state: &State, at: usize) -> bool {
        let mut counts = state.counts.clone();
        let waits = &self.spec.ops[at].waits;
        // Started just now, not in between.
        if !state.running.contains(&at) {
            waits.iter().filter(|(_, need)| need.is_none()).for_each(|(c, _)| counts[*c as usize] -= 1);
        }
        self.spec.ops[at].updates.iter().any(|(counter, step)| {
            let count = &mut counts[*counter as usize];
            *count += i64::from(*step == Step::Set);
            *step == Step::Set && *count > 1
        })
    }

    fn complete(&self, state: &mut State, at: usize) {
        let op = &self.spec.ops[at];
        if let Do::Reset(counter) = op.what {
            state.counts[counter as usize] = 0;
        }
        for (counter, step) in &op.updates {
            let count = &mut state.counts[*counter as usize];
            match step {
                Step::Add(value) => *count += value,
                Step::Write(value) => *count = *value,
                Step::Set => *count += 1,
            }
        }
    }

    fn may_land(&self, state: &State, dma: usize) -> bool {
        let earlier = state.flying.iter().take_while(|other| **other != dma);
        let queue = |dma: usize| self.spec.ops[dma].stream;
        self.held != Some(dma)
            && (!self.queues || !earlier.into_iter().any(|other| queue(*other) == queue(dma)))
    }

    fn greedy(&self) -> Vec<bool> {
        let streams = self.streams();
        let mut state = self.first();
        let mut started = vec![false; self.spec.ops.len()];
        loop {
            let mut moved = false;
            while let Some(dma) = state.flying.iter().copied().find(|dma| self.may_land(&state, *dma)) {
                state.flying.retain(|other| *other != dma);
                self.complete(&mut state, dma);
                moved = true;
            }
            for stream in &streams {
                let next = stream.iter().copied().find(|at| !started[*at]);
                if let Some(at) = next.filter(|at| self.starts(&state, &streams, *at)) {
                    self.start(&mut state, &streams, at);
                    started[at] = true;
                    moved = true;
                }
            }
            if !moved {
                return started;
            }
        }
    }

    /// The ops that can start, whether there is a way to come to a stop before the end, and the events that can be set
    /// twice: what comes after that does not count.
    fn exhaustive(&self) -> Every {
        let streams = self.streams();
        let mut every =
            Every { started: vec![false; self.spec.ops.len()], hangs: false, twice: BTreeSet::new() };
        let mut open = vec![self.first()];
        let mut seen: HashSet<State> = HashSet::new();
        while let Some(state) = open.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            let mut moved = false;
            for dma in state.flying.clone() {
                if self.may_land(&state, dma) {
                    let mut next = state.clone();
                    next.flying.retain(|other| *other != dma);
                    moved = true;
                    // What it waited for was taken when it was issued.
                    next.running.push(dma);
                    let twice = self.sets_twice(&next, dma);
                    next.running.pop();
                    every.twice.extend(twice.then_some(dma));
                    self.complete(&mut next, dma);
                    if !(twice && self.held.is_none()) {
                        open.push(next);
                    }
                }
            }
            for at in state.running.clone() {
                let mut next = state.clone();
                moved = true;
                let twice = self.sets_twice(&next, at);
                every.twice.extend(twice.then_some(at));
                next.running.retain(|other| *other != at);
                self.complete(&mut next, at);
                if !(twice && self.held.is_none()) {
                    open.push(next);
                }
            }
            for (stream, ops) in streams.iter().enumerate() {
                let Some(&at) = ops.get(state.heads[stream]) else { continue };
                if self.starts(&state, &streams, at) {
                    every.started[at] = true;
                    moved = true;
                    let mut next = state.clone();
                    let twice = self.begin(&mut next, &streams, at);
                    every.twice.extend(twice.then_some(at));
                    if !(twice && self.held.is_none()) {
                        open.push(next);
                    }
                }
            }
            let ended = state.heads.iter().zip(&streams).all(|(head, ops)| *head == ops.len());
            every.hangs |= !moved && !ended;
        }
        every
    }
}

/// What can become of a program.
pub(crate) struct Every {
    pub(crate) started: Vec<bool>,
    pub(crate) hangs: bool,
    pub(crate) twice: BTreeSet<usize>,
}

/// What a random program may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flavour {
    /// Semaphores that grow, DMAs, barriers, resets, drains.
    Plain,
    /// Also subtraction, events, writes.
    Modes,
    /// A loop around the middle.
    Loop,
    /// Few operations that fight for events and counts.
    Fight,
}

/// A random program.
pub(crate) fn random(seed: u64, flavour: Flavour) -> Spec {
    let mut rng = Rng::new(seed);
    let streams = 2 + rng.below(3) as usize;
    let semaphores = 1 + rng.below(4) as u32;
    let events = if matches!(flavour, Flavour::Modes | Flavour::Fight) { 2 } else { 0 };
    let count = match flavour {
        Flavour::Fight => 3 + rng.below(5),
        Flavour::Modes => 4 + rng.below(6),
        _ => 4 + rng.below(14),
    };
    let mut spec = Spec { streams, counters: semaphores + events, ops: Vec::new(), body: None, trips: None };
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    let mut tiles: Vec<Tile> = Vec::new();
    for _ in 0..count {
        let mut op = SpecOp {
            stream: Some(rng.below(streams as u64) as usize),
            what: Do::Work,
            waits: Vec::new(),
            updates: Vec::new(),
            accesses: Vec::new(),
        };
        match rng.below(100) {
            0..=7 => (op.stream, op.what) = (None, Do::Barrier),
            8..=12 => {
                let counter = rng.below(u64::from(semaphores)) as u32;
                (op.stream, op.what) = (None, Do::Reset(counter));
                if flavour == Flavour::Modes && rng.chance(30) {
                    op.stream = Some(rng.below(streams as u64) as usize);
                }
                counts.insert(counter, 0);
            }
            13..=16 => {
                op.what = Do::Drain;
                if rng.chance(30) {
                    op.stream = None;
                }
            }
            17..=45 => op.what = Do::Dma,
            _ => {}
        }
        if matches!(op.what, Do::Work | Do::Dma) {
            for _ in 0..rng.below(3) {
                let tile = if !tiles.is_empty() && rng.chance(50) {
                    tiles[rng.below(tiles.len() as u64) as usize].clone()
                } else {
                    let mut dims = Vec::new();
                    if rng.chance(40) {
                        dims.push(([2, 3, 4, 6, 8][rng.below(5) as usize], 2 + rng.below(3)));
                    }
                    if rng.chance(20) {
                        dims.push((16, 2));
                    }
                    if rng.chance(5) {
                        // More runs than are cut out one by one.
                        dims = vec![(2 + rng.below(3) as i64, 70 + rng.below(4))];
                    }
                    let mask = [0x0f, 0xf0, 0xff, 0x33, 0x01][rng.below(5) as usize];
                    Tile { mask, base: rng.below(12) as i64, dims, width: 1 + rng.below(4), moves: None }
                };
                tiles.push(tile.clone());
                op.accesses.push((tile, rng.chance(50)));
            }
        }
        for _ in 0..if rng.chance(55) { 1 + rng.below(2) } else { 0 } {
            let counter = rng.below(u64::from(semaphores)) as u32;
            let have = counts.get(&counter).copied().unwrap_or(0);
            if have > 0 && !op.waits.iter().any(|(c, _)| *c == counter) {
                let need = if rng.chance(70) { have } else { 1 + rng.below(have as u64) as i64 };
                op.waits.push((counter, Some(need)));
            }
        }
        if rng.chance(60) && matches!(op.what, Do::Work | Do::Dma) {
            let counter = rng.below(u64::from(semaphores)) as u32;
            let value = if op.what == Do::Dma { 16 } else { 1 + rng.below(2) as i64 };
            let step = match (flavour, rng.below(100)) {
                (Flavour::Modes, 0..=15) if counts.get(&counter).copied().unwrap_or(0) > 0 => Step::Add(-1),
                (Flavour::Fight, 21..=45) => Step::Add(-1),
                (Flavour::Modes | Flavour::Fight, 16..=20) => Step::Write(rng.below(3) as i64),
                _ => Step::Add(value),
            };
            let count = counts.entry(counter).or_default();
            match step {
                Step::Add(value) => *count += value,
                Step::Write(value) => *count = value,
                Step::Set => {}
            }
            op.updates.push((counter, step));
        }
        if flavour == Flavour::Fight && rng.chance(60) {
            let counter = semaphores + rng.below(2) as u32;
            if rng.chance(60) {
                op.waits.push((counter, None));
            }
            if rng.chance(60) && matches!(op.what, Do::Work | Do::Dma) {
                op.updates.push((semaphores + rng.below(2) as u32, Step::Set));
            }
        } else if events > 0 && rng.chance(35) {
            let counter = semaphores + rng.below(2) as u32;
            let count = counts.entry(counter).or_default();
            if *count == 0 && matches!(op.what, Do::Work | Do::Dma) {
                *count = 1;
                op.updates.push((counter, Step::Set));
            } else if *count == 1 && !op.updates.iter().any(|(c, _)| *c == counter) {
                *count = 0;
                op.waits.push((counter, None));
            }
        }
        spec.ops.push(op);
    }
    if flavour == Flavour::Loop {
        let start = rng.below(spec.ops.len() as u64 / 2) as usize;
        let end = start + 1 + rng.below((spec.ops.len() - start) as u64) as usize;
        spec.body = Some((start, end));
        // Many bodies end as a compiler ends them.
        if rng.chance(70) {
            let fence =
                |what, stream| SpecOp { stream, what, waits: vec![], updates: vec![], accesses: vec![] };
            let mut tail = vec![fence(Do::Barrier, None)];
            tail.extend((0..semaphores).map(|counter| fence(Do::Reset(counter), None)));
            if rng.chance(50) {
                tail.insert(0, fence(Do::Drain, None));
            }
            let added = tail.len();
            spec.ops.splice(end..end, tail);
            spec.body = Some((start, end + added));
        }
    }
    spec
}

/// Smaller programs: one part less.
pub(crate) fn smaller(spec: &Spec) -> Vec<Spec> {
    let mut all = Vec::new();
    for at in 0..spec.ops.len() {
        let mut less = spec.clone();
        less.ops.remove(at);
        if let Some((start, end)) = less.body {
            let start = start - usize::from(at < start);
            let end = end - usize::from(at < end);
            if start >= end {
                continue;
            }
            less.body = Some((start, end));
        }
        all.push(less);
    }
    for at in 0..spec.ops.len() {
        let op = &spec.ops[at];
        for index in 0..op.waits.len() {
            let mut less = spec.clone();
            less.ops[at].waits.remove(index);
            all.push(less);
        }
        for index in 0..op.updates.len() {
            let mut less = spec.clone();
            less.ops[at].updates.remove(index);
            all.push(less);
        }
        for index in 0..op.accesses.len() {
            let mut less = spec.clone();
            less.ops[at].accesses.remove(index);
            all.push(less);
        }
    }
    all
}
