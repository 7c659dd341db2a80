//! The ordering check on what ships: words as operations, DMA words as transfers between issue and completion, the cores
//! of a package as one program (spec: ordering 14, 18).
//!
//! The engine is that of `bir-order`. What is read when a core has come to its end are the outputs that it has written: a
//! store that nothing waits for is found by that.

mod say;

use std::collections::HashMap;

use bir_order::program as ord;
use bir_order::{Options, Outcome, Party, Verdict};
use neff::Package;
use tpb_isa::Generation;

use crate::Program;
use crate::access::{Effect, Space, Touch};
use crate::flow::{Action, Change, Counter, Flow, Need, Spot, Step, flow};

pub use say::{Line, Place};

/// More cores than this have more streams than the engine takes.
pub const MAX_CORES: usize = ord::MAX_STREAMS / 5;

/// A package that has been checked.
pub struct Checked<'a> {
    package: &'a Package,
    program: &'a Program,
    generation: Generation,
    /// What was checked.
    pub filled: ord::Program,
    /// What was found.
    pub outcome: Outcome,
    /// What is not known about words, with the first of them.
    pub unknown: Vec<(Spot, String)>,
    /// The word of each operation; none for the end of a core.
    spots: Vec<Origin>,
    spaces: Vec<(usize, Space<'a>)>,
    counters: Vec<Counter>,
    /// Touches of operations and of transfers, as they were given.
    operands: Vec<Vec<(&'static str, Space<'a>)>>,
    transfer_operands: Vec<Vec<(&'static str, Space<'a>)>>,
    /// What each operation and transfer counts to.
    brings: [Vec<Option<(ord::CounterId, i64)>>; 2],
    accesses: usize,
}

/// Where an operation comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A word.
    Word(Spot),
    /// The end of a core, when its outputs are read.
    End(usize),
}

/// Checks all cores of a package together.
///
/// # Errors
/// When there are more cores than the engine takes.
pub fn check<'a>(
    package: &'a Package,
    program: &'a Program,
    generation: Generation,
    options: &Options,
) -> Result<Checked<'a>, TooManyCores> {
    if program.cores.len() > MAX_CORES {
        return Err(TooManyCores(program.cores.len()));
    }
    let mut fill = Fill::new(program.cores.len());
    let mut unknown = Vec::new();
    for core in 0..program.cores.len() {
        let Flow { steps, unknown: more } = flow(package, program, generation, core);
        unknown.extend(more);
        fill.core(core, program.cores[core].engines.len(), &steps);
    }
    fill.out.finish();
    let outcome = bir_order::check(&fill.out, options);
    Ok(Checked {
        package,
        program,
        generation,
        accesses: fill.out.access_count(),
        filled: fill.out,
        outcome,
        unknown,
        spots: fill.spots,
        spaces: fill.space_names,
        counters: fill.counter_names,
        operands: fill.operands,
        transfer_operands: fill.transfer_operands,
        brings: fill.brings,
    })
}

/// A package has more cores than the check takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyCores(pub usize);

impl std::fmt::Display for TooManyCores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cores; the ordering check takes {MAX_CORES} at most", self.0)
    }
}

impl std::error::Error for TooManyCores {}

impl Checked<'_> {
    /// The verdict; what is not known about words leaves it undecided.
    pub fn verdict(&self) -> Verdict {
        match self.outcome.verdict() {
            Verdict::Clean if !self.unknown.is_empty() => Verdict::Undecided,
            verdict => verdict,
        }
    }

    /// Operations, and accesses of them and of their transfers.
    pub fn size(&self) -> (usize, usize) {
        (self.filled.len(), self.accesses)
    }

    /// The transfer that an operation starts, if it starts one: what has to be complete for others to go on.
    pub fn transfer(&self, party: Party) -> Option<Party> {
        let first = self.filled.transfers(party.op).next()?;
        Some(Party { transfer: Some(first), ..party })
    }

    /// Where a party comes from.
    pub fn origin(&self, party: Party) -> Origin {
        self.spots[party.op.index()]
    }
}

/// Filling the abstract program.
struct Fill<'a> {
    cores: usize,
    out: ord::Program,
    spots: Vec<Origin>,
    streams: HashMap<(usize, usize), ord::StreamId>,
    spaces: HashMap<(usize, Space<'a>), ord::SpaceId>,
    space_names: Vec<(usize, Space<'a>)>,
    counters: HashMap<Counter, ord::CounterId>,
    counter_names: Vec<Counter>,
    queues: HashMap<(usize, String), ord::QueueId>,
    /// Barriers between cores, by number and by how often it has been passed.
    meetings: HashMap<(u32, u32), ord::CounterId>,
    passed: HashMap<(usize, u32), u32>,
    operands: Vec<Vec<(&'static str, Space<'a>)>>,
    transfer_operands: Vec<Vec<(&'static str, Space<'a>)>>,
    brings: [Vec<Option<(ord::CounterId, i64)>>; 2],
    /// Counts so far, in the order of the operations.
    counts: HashMap<ord::CounterId, i64>,
}

/// Core of counters that belong to none.
const NO_CORE: usize = usize::MAX;

impl<'a> Fill<'a> {
    fn new(cores: usize) -> Fill<'a> {
        Fill {
            cores,
            out: ord::Program::new(),
            spots: Vec::new(),
            streams: HashMap::new(),
            spaces: HashMap::new(),
            space_names: Vec::new(),
            counters: HashMap::new(),
            counter_names: Vec::new(),
            queues: HashMap::new(),
            meetings: HashMap::new(),
            passed: HashMap::new(),
            operands: Vec::new(),
            transfer_operands: Vec::new(),
            brings: [Vec::new(), Vec::new()],
            counts: HashMap::new(),
        }
    }

    fn core(&mut self, core: usize, engines: usize, steps: &[Step<'a>]) {
        let streams: Vec<ord::StreamId> = (0..engines).map(|_| self.out.add_stream(core as u16)).collect();
        for (engine, stream) in streams.iter().enumerate() {
            self.streams.insert((core, engine), *stream);
        }
        self.out.begin_block(core as u16);
        let mut outputs: Vec<ord::Access> = Vec::new();
        for step in steps {
            self.step(step);
            let written = step.transfers.iter().flat_map(|transfer| &transfer.touches).chain(&step.touches);
            for touch in
                written.filter(|touch| touch.effect.writes() && matches!(touch.space, Space::Shared(_)))
            {
                let bytes = self.access(core, touch).bytes;
                if outputs.iter().rev().take(64).all(|known| known.bytes != bytes) {
                    outputs.push(ord::Access { bytes, effect: ord::Effect::READ });
                }
            }
        }
        let all = streams.iter().fold(ord::Streams::NONE, |all, stream| all.or(ord::Streams::one(*stream)));
        let spaces = outputs.iter().map(|_| ("output", Space::Shared("")));
        self.operands.push(spaces.collect());
        self.out.push(&ord::NewOp {
            name: None,
            streams: all,
            kind: ord::Kind::Plain,
            waits: &[],
            updates: &[],
            accesses: &outputs,
            value: 0,
        });
        self.brings[0].push(None);
        self.spots.push(Origin::End(core));
        self.out.end_block(ord::Exit::default());
    }

    fn step(&mut self, step: &Step<'a>) {
        let Some(spot) = step.spots.first().copied() else { return };
        let streams = step.spots.iter().fold(ord::Streams::NONE, |all, spot| {
            all.or(ord::Streams::one(self.streams[&(spot.core, spot.engine)]))
        });
        let waits: Vec<ord::Wait> =
            step.waits.iter().map(|(counter, need)| self.wait(*counter, *need)).collect();
        let (updates, lost) = self.updates(&step.updates);
        let (early, lost_early) = self.updates(&step.early);
        let resets: Vec<ord::CounterId> = match &step.action {
            Action::Reset(counters) => counters.iter().map(|counter| self.counter(*counter)).collect(),
            _ => Vec::new(),
        };
        let kind = match &step.action {
            _ if lost || lost_early => ord::Kind::ResetUnknown,
            Action::Reset(_) => ord::Kind::Reset(&resets),
            Action::Drain => ord::Kind::Drain,
            Action::Plain | Action::Meet(_) => ord::Kind::Plain,
        };
        let core = spot.core;
        let new = ord::NewOp {
            name: None,
            streams,
            kind,
            waits: &waits,
            updates: &updates,
            accesses: &[],
            value: 0,
        };
        if let Action::Meet(number) = step.action
            && self.cores > 1
        {
            return self.meet(core, number, spot, &new);
        }
        // What counts as soon as it has read is complete before it writes.
        let (reads, writes): (Vec<&Touch<'a>>, Vec<&Touch<'a>>) =
            step.touches.iter().partition(|touch| !early.is_empty() && !touch.effect.writes());
        if !early.is_empty() {
            let accesses = self.accesses(core, &reads);
            self.push(
                Origin::Word(spot),
                &reads,
                &ord::NewOp { updates: &early, accesses: &accesses, ..new },
            );
            let accesses = self.accesses(core, &writes);
            self.push(Origin::Word(spot), &writes, &ord::NewOp { waits: &[], accesses: &accesses, ..new });
        } else {
            let accesses = self.accesses(core, &writes);
            self.push(Origin::Word(spot), &writes, &ord::NewOp { accesses: &accesses, ..new });
        }
        for transfer in &step.transfers {
            let touches: Vec<&Touch<'a>> = transfer.touches.iter().collect();
            let accesses = self.accesses(core, &touches);
            let (updates, _) = self.updates(&transfer.updates);
            let queue = transfer.queue.clone().map(|queue| {
                let out = &mut self.out;
                *self.queues.entry(queue).or_insert_with(|| out.add_queue())
            });
            let brings = self.count(&updates);
            self.brings[1].push(brings);
            self.transfer_operands.push(touches.iter().map(|touch| (touch.operand, touch.space)).collect());
            self.out.push_transfer(&ord::NewTransfer {
                name: None,
                queue,
                accesses: &accesses,
                updates: &updates,
            });
        }
    }

    fn push(&mut self, origin: Origin, touches: &[&Touch<'a>], new: &ord::NewOp<'_>) {
        self.operands.push(touches.iter().map(|touch| (touch.operand, touch.space)).collect());
        let brings = self.count(new.updates);
        self.brings[0].push(brings);
        self.out.push(new);
        self.spots.push(origin);
    }

    /// Counts on, and tells the count that an update brings.
    fn count(&mut self, updates: &[ord::Update]) -> Option<(ord::CounterId, i64)> {
        let mut brings = None;
        for update in updates {
            let count = self.counts.entry(update.counter).or_default();
            match update.change {
                ord::Change::Add(amount) => *count += amount,
                ord::Change::Write(value) => *count = value,
                ord::Change::Set => *count = 1,
            }
            brings = brings.or(Some((update.counter, *count)));
        }
        brings
    }

    /// A barrier between cores: arriving, and going on when all have.
    fn meet(&mut self, core: usize, number: u32, spot: Spot, new: &ord::NewOp<'_>) {
        let times = self.passed.entry((core, number)).or_default();
        let nth = *times;
        *times += 1;
        let counter = match self.meetings.get(&(number, nth)) {
            Some(counter) => *counter,
            None => {
                let counter = self.counter(Counter { core: NO_CORE, is_event: true, id: number ^ nth << 16 });
                self.meetings.insert((number, nth), counter);
                counter
            }
        };
        let arrive = [ord::Update { counter, change: ord::Change::Add(1) }];
        let pass = [ord::Wait { counter, need: ord::Need::Each(self.cores as i64), from: None }];
        self.push(Origin::Word(spot), &[], &ord::NewOp { updates: &arrive, ..*new });
        self.push(Origin::Word(spot), &[], &ord::NewOp { waits: &pass, ..*new });
    }

    fn wait(&mut self, counter: Counter, need: Need) -> ord::Wait {
        let need = match need {
            Need::AtLeast(least) => ord::Need::AtLeast(least),
            Need::Take => ord::Need::Take,
            Need::Unknown => ord::Need::Unknown,
        };
        ord::Wait { counter: self.counter(counter), need, from: None }
    }

    /// Updates, and whether one of them leaves a count unknown.
    fn updates(&mut self, updates: &[(Counter, Change)]) -> (Vec<ord::Update>, bool) {
        let mut lost = false;
        let mut known = Vec::new();
        for (counter, change) in updates {
            let change = match change {
                Change::Add(amount) => ord::Change::Add(*amount),
                Change::Write(value) => ord::Change::Write(*value),
                Change::Set => ord::Change::Set,
                Change::Unknown => {
                    lost = true;
                    continue;
                }
            };
            known.push(ord::Update { counter: self.counter(*counter), change });
        }
        (known, lost)
    }

    fn counter(&mut self, counter: Counter) -> ord::CounterId {
        if let Some(known) = self.counters.get(&counter) {
            return *known;
        }
        let id = self.out.add_counter();
        // Instructions wait for what their own core has, and meetings are nothing to wait for.
        self.out.set_waiters(id, (counter.core != NO_CORE).then_some(counter.core as u16));
        self.counters.insert(counter, id);
        self.counter_names.push(counter);
        id
    }

    fn accesses(&mut self, core: usize, touches: &[&Touch<'a>]) -> Vec<ord::Access> {
        touches.iter().map(|touch| self.access(core, touch)).collect()
    }

    fn access(&mut self, core: usize, touch: &Touch<'a>) -> ord::Access {
        let owner = if matches!(touch.space, Space::Shared(_)) { NO_CORE } else { core };
        let space = match self.spaces.get(&(owner, touch.space)) {
            Some(space) => *space,
            None => {
                let space = self.out.add_space();
                self.spaces.insert((owner, touch.space), space);
                self.space_names.push((owner, touch.space));
                space
            }
        };
        let pieces = touch.pieces.iter().cloned().collect();
        let bytes =
            self.out.bytes(ord::Bytes { space, pieces, exact: touch.exact, alias: None, moves: None });
        let effect = match touch.effect {
            Effect::Read => ord::Effect::READ,
            Effect::Write => ord::Effect::WRITE,
            Effect::Update => ord::Effect::UPDATE,
            Effect::Accumulate { start, stop } => {
                ord::Effect { reads: !start, writes: true, group: Some(ord::GroupPart { start, stop }) }
            }
        };
        ord::Access { bytes, effect }
    }
}
