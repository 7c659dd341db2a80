//! The words of a package as steps in an order in which they can run: what each waits for, touches, starts and counts.
//!
//! Streams have no common order, so one is found by running them: each goes on as long as its waits hold, transfers are
//! complete at once. Where debug information says what an instruction depends on, that comes first, so that a reader
//! stands behind its writer even when the wait between them is missing. Words that can never run come last.

use std::collections::{HashMap, HashSet};

use neff::debug::EngineDebug;
use neff::{EngineKey, Graph, Package};
use tpb_isa::layout::OpcodeClass;
use tpb_isa::{Body, Generation, Layout, Opcode, StreamWord, Update, UpdateMode, Wait, WaitMode};

use crate::Program;
use crate::access::{self, Effect, Space, Touch};
use crate::note::{queue, records};

/// A word of a package.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Spot {
    /// The core, an index of [`Program::cores`].
    pub core: usize,
    /// The engine, an index of [`Core::engines`](crate::Core::engines).
    pub engine: usize,
    /// Index of the word in the stream.
    pub word: usize,
}

/// A semaphore or an event of a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Counter {
    /// The core.
    pub core: usize,
    /// It is an event.
    pub is_event: bool,
    /// Its number.
    pub id: u32,
}

/// What a wait asks of its counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// At least this count.
    AtLeast(i64),
    /// The event is set; it is cleared.
    Take,
    /// Something that is known when it runs, or a mode that no compiler writes.
    Unknown,
}

/// What an update does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Adds.
    Add(i64),
    /// Sets the count.
    Write(i64),
    /// Sets the event.
    Set,
    /// Something that is known when it runs.
    Unknown,
}

/// What a step is beyond what it touches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Plain,
    /// Zeroes semaphores.
    Reset(Vec<Counter>),
    /// Waits for the transfers of its stream.
    Drain,
    /// Meets the other cores at the barrier of this number.
    Meet(u32),
}

/// A transfer that a word starts.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer<'a> {
    /// Core and name of its queue.
    pub queue: Option<(usize, String)>,
    /// What it touches between start and completion.
    pub touches: Vec<Touch<'a>>,
    /// What it counts when it is complete.
    pub updates: Vec<(Counter, Change)>,
}

/// A word, or the words of a barrier.
#[derive(Clone, PartialEq, Debug)]
pub struct Step<'a> {
    /// The words; several for a barrier, of one stream each.
    pub spots: Vec<Spot>,
    /// What it does.
    pub action: Action,
    /// What must hold before it starts.
    pub waits: Vec<(Counter, Need)>,
    /// What it counts when it is complete.
    pub updates: Vec<(Counter, Change)>,
    /// What it counts as soon as it has read.
    pub early: Vec<(Counter, Change)>,
    /// What it touches.
    pub touches: Vec<Touch<'a>>,
    /// Transfers that it starts.
    pub transfers: Vec<Transfer<'a>>,
}

/// All steps.
#[derive(Clone, Debug, Default)]
pub struct Flow<'a> {
    /// In an order in which they can run.
    pub steps: Vec<Step<'a>>,
    /// What is not known about words, each with the first of them.
    pub unknown: Vec<(Spot, String)>,
}

/// Every transfer counts this when it is complete, one for each ring. spec: ordering 5
const COUNT: i64 = 16;

/// The steps of a core of a package. Other cores are not waited for.
pub fn flow<'a>(package: &'a Package, program: &'a Program, generation: Generation, core: usize) -> Flow<'a> {
    let mut run = Run {
        package,
        heads: Vec::new(),
        counts: HashMap::new(),
        done: HashSet::new(),
        flow: Flow::default(),
    };
    for (engine, stream) in program.cores[core].engines.iter().enumerate() {
        let words: Vec<StreamWord> = stream.words(generation).collect();
        run.heads.push(Head { core, engine, key: stream.key, words, debug: &stream.debug, next: 0 });
    }
    run.all();
    run.flow
}

/// A stream and how far it has come.
struct Head<'a> {
    core: usize,
    engine: usize,
    key: EngineKey,
    words: Vec<StreamWord>,
    debug: &'a EngineDebug,
    next: usize,
}

struct Run<'a> {
    package: &'a Package,
    heads: Vec<Head<'a>>,
    counts: HashMap<Counter, i64>,
    /// Instructions whose last word has run.
    done: HashSet<u64>,
    flow: Flow<'a>,
}

impl<'a> Run<'a> {
    fn all(&mut self) {
        loop {
            let mut moved = false;
            for head in 0..self.heads.len() {
                while self.can_run(head) && self.depends_on_nothing(head) {
                    self.take(&[head]);
                    moved = true;
                }
            }
            if moved || self.barrier(false) {
                continue;
            }
            // A wait is missing, or the debug information is of something else.
            if let Some(head) = (0..self.heads.len()).find(|head| self.can_run(*head)) {
                self.take(&[head]);
                continue;
            }
            // Nothing can run: what is left is told in the order of its streams.
            let Some(head) = self.heads.iter().position(|head| head.next < head.words.len()) else { break };
            if !self.barrier(true) {
                self.take(&[head]);
            }
        }
    }

    fn word(&self, head: usize) -> Option<&StreamWord> {
        let head = &self.heads[head];
        head.words.get(head.next)
    }

    fn can_run(&self, head: usize) -> bool {
        let Some(word) = self.word(head) else { return false };
        if is_barrier(word) {
            return false;
        }
        let (waits, ..) = sync(word, self.heads[head].core);
        waits.iter().all(|(counter, need)| self.holds(*counter, *need))
    }

    /// Whether all that debug information says the next word depends on has run.
    fn depends_on_nothing(&self, head: usize) -> bool {
        let head = &self.heads[head];
        let Some(at) = head.debug.instruction(head.next) else { return true };
        let mut before = at.entry.dataflow().chain(at.entry.scheduling());
        before.all(|(id, _)| id == at.entry.id || self.done.contains(&id) || !self.is_known(id))
    }

    fn is_known(&self, id: u64) -> bool {
        self.heads.iter().any(|head| head.debug.backend.entry(id).is_some())
    }

    fn holds(&self, counter: Counter, need: Need) -> bool {
        let count = self.counts.get(&counter).copied().unwrap_or(0);
        match need {
            Need::AtLeast(least) => count >= least,
            Need::Take => count > 0,
            Need::Unknown => true,
        }
    }

    /// Lets the streams of the core meet at a barrier. With `forced` those that are there need not wait for the others.
    fn barrier(&mut self, forced: bool) -> bool {
        let at_barrier = |head: &usize| self.word(*head).is_some_and(is_barrier);
        let there: Vec<usize> = (0..self.heads.len()).filter(at_barrier).collect();
        let meets = !there.is_empty() && (forced || there.len() == self.heads.len());
        if meets {
            self.take(&there);
        }
        meets
    }

    /// Runs the next word of some streams as one step.
    fn take(&mut self, heads: &[usize]) {
        let mut step = Step {
            spots: Vec::new(),
            action: Action::Plain,
            waits: Vec::new(),
            updates: Vec::new(),
            early: Vec::new(),
            touches: Vec::new(),
            transfers: Vec::new(),
        };
        for &at in heads {
            let head = &self.heads[at];
            let (word, key) = (head.words[head.next], head.key);
            let next = head.words.get(head.next + 1).copied();
            let spot = Spot { core: head.core, engine: head.engine, word: head.next };
            let ids = &head.debug.words;
            if let Some(Some(id)) = ids.get(head.next)
                && ids.get(head.next + 1) != Some(&Some(*id))
            {
                self.done.insert(*id);
            }
            self.heads[at].next += 1;
            let (waits, updates, early) = sync(&word, spot.core);
            step.spots.push(spot);
            step.waits.extend(waits);
            step.updates.extend(updates);
            step.early.extend(early);
            self.fill(&mut step, &word, next.as_ref(), key, spot);
        }
        for (counter, need) in &step.waits {
            if *need == Need::Take {
                self.counts.insert(*counter, 0);
            }
        }
        let transferred = step.transfers.iter().flat_map(|transfer| &transfer.updates);
        for (counter, change) in step.early.iter().chain(&step.updates).chain(transferred) {
            let count = self.counts.entry(*counter).or_default();
            match change {
                Change::Add(amount) => *count = count.wrapping_add(*amount),
                Change::Write(value) => *count = *value,
                Change::Set => *count = 1,
                Change::Unknown => {}
            }
        }
        if let Action::Reset(counters) = &step.action {
            for counter in counters {
                self.counts.insert(*counter, 0);
            }
        }
        self.flow.steps.push(step);
    }

    fn fill(
        &mut self,
        step: &mut Step<'a>,
        word: &StreamWord,
        next: Option<&StreamWord>,
        key: EngineKey,
        spot: Spot,
    ) {
        let package = self.package;
        let graph: &'a Graph = &package.graphs[spot.core];
        let definition = &graph.definition;
        let core = spot.core;
        let binding = word.binding();
        let body = word.decode().body;
        match &body {
            Body::CtrlEr(clear) => step.action = Action::Reset(cleared(clear, core)),
            Body::CtrlNoDrain(_) => step.action = Action::Drain,
            Body::PseudoCoreBarrier(barrier) => step.action = Action::Meet(barrier.id),
            Body::PseudoDmaDirect2d(dma) => {
                let extension = next.map(StreamWord::decode).map(|next| next.body);
                let extension = extension.filter(|next| matches!(next, Body::PseudoDmaExt(_)));
                let semaphore = Counter { core, is_event: false, id: dma.semaphore.0.into() };
                step.transfers.push(Transfer {
                    queue: queue(definition, key, dma.semaphore.0).map(|(name, _)| (core, name.to_owned())),
                    touches: access::moves(dma, extension.as_ref(), definition),
                    updates: vec![(semaphore, Change::Add(dma.sem_increment.into()))],
                });
            }
            Body::PseudoDmaTrigger(trigger) => {
                let name = String::from_utf8_lossy(trigger.queue_name.bytes()).into_owned();
                for record in records(graph, key, &name, trigger.block_id) {
                    let id = record.semaphore_id().and_then(|id| u32::try_from(id).ok());
                    let counter = id.map(|id| Counter { core, is_event: false, id });
                    let touches = record.desc.iter().flat_map(|desc| access::describes(desc, definition));
                    step.transfers.push(Transfer {
                        queue: Some((core, name.clone())),
                        touches: touches.collect(),
                        updates: counter.map(|counter| (counter, Change::Add(COUNT))).into_iter().collect(),
                    });
                }
                if step.transfers.is_empty() {
                    self.unknown(
                        spot,
                        format!("no record says what block {} of {name} moves", trigger.block_id),
                    );
                }
                // What the trigger counts comes with its transfers.
                if let [only] = &mut step.transfers[..] {
                    only.updates.append(&mut step.updates);
                }
            }
            Body::PseudoTriggerCollective(_)
            | Body::PseudoTriggerAllReduce(_)
            | Body::PseudoTriggerCollective2(_) => {
                let touches = access::collective(&body, definition);
                if touches.is_empty() {
                    self.unknown(spot, format!("what {} moves is not known", binding.mnemonic()));
                }
                let updates = std::mem::take(&mut step.updates);
                step.transfers.push(Transfer { queue: None, touches, updates });
            }
            _ => match access::touches(&word.word, &binding) {
                Ok(touches) => {
                    if touches
                        .iter()
                        .any(|touch| !touch.exact && touch.space == Space::Sb && is_anywhere(touch))
                    {
                        self.unknown(
                            spot,
                            format!("{} takes an address from a register", binding.mnemonic()),
                        );
                    }
                    step.touches.extend(touches);
                }
                Err(reason) => self.unknown(spot, reason),
            },
        }
        if is_jump(&body) {
            let reason = format!(
                "{} may go elsewhere; words are taken in the order of the stream",
                binding.mnemonic()
            );
            self.unknown(spot, reason);
        }
        if binding.opcode.is_some_and(|row| row.class == OpcodeClass::Named) {
            self.unknown(spot, format!("what {} does is not known", binding.mnemonic()));
        }
    }

    fn unknown(&mut self, spot: Spot, reason: String) {
        if !self.flow.unknown.iter().any(|(_, known)| *known == reason) {
            self.flow.unknown.push((spot, reason));
        }
    }
}

fn is_anywhere(touch: &Touch<'_>) -> bool {
    touch.pieces.iter().any(|piece| piece.partitions.0 == u128::MAX && piece.bytes.span().start == 0)
        && touch.effect != Effect::Update
}

/// Whether all engines of the core wait for each other here.
fn is_barrier(word: &StreamWord) -> bool {
    Opcode(word.word.opcode()) == Opcode::PSEUDO_SYNC_BARRIER
}

fn is_jump(body: &Body) -> bool {
    matches!(body, Body::CtrlBr(_) | Body::PseudoFunctionCall(_) | Body::PseudoFunctionReturn(_))
}

fn cleared(clear: &tpb_isa::CtrlEr, core: usize) -> Vec<Counter> {
    let ids: Vec<u32> = match clear.clear_mode.0 {
        2 => clear.bitmask.ids().map(u32::from).collect(),
        _ => (clear.range_first.0.into()..=clear.range_last.0.into()).collect(),
    };
    ids.into_iter().map(|id| Counter { core, is_event: false, id }).collect()
}

type Sync = (Vec<(Counter, Need)>, Vec<(Counter, Change)>, Vec<(Counter, Change)>);

/// What a word waits for, what it counts when it is complete, and what as soon as it has read.
fn sync(word: &StreamWord, core: usize) -> Sync {
    let decoded = word.decode();
    let (mut waits, mut late, mut early) = (Vec::new(), Vec::new(), Vec::new());
    let mut add_wait = |wait: Wait| {
        let need = match wait.mode {
            WaitMode::SEM_GE_IMM | WaitMode::SEM_EQ_IMM => Need::AtLeast((wait.value as i32).into()),
            WaitMode::SEM_GT_IMM => Need::AtLeast(i64::from(wait.value as i32) + 1),
            WaitMode::EVT_SET_THEN_CLEAR => Need::Take,
            _ => Need::Unknown,
        };
        let is_event = matches!(wait.mode.0, 6 | 7 | 14 | 15);
        waits.push((Counter { core, is_event, id: wait.id }, need));
    };
    let mut add_update = |update: Update| {
        let value = i64::from(update.value as i32);
        let change = match (update.mode.0 & 0x80, update.mode.0 & 0x6F) {
            (0, 1) => Change::Set,
            (0, 2) => Change::Write(0),
            (0, 3) => Change::Add(1),
            (0, 4) => Change::Add(-1),
            (0, 5) => Change::Add(value),
            (0, 7) => Change::Add(-value),
            (0, 9) => Change::Write(value),
            _ => Change::Unknown,
        };
        let counter = Counter { core, is_event: matches!(update.mode.0 & 0x6F, 1 | 2), id: update.id };
        if update.mode.0 & 0x10 != 0 { late.push((counter, change)) } else { early.push((counter, change)) }
    };
    if let Some(preamble) = &decoded.preamble {
        preamble.wait().into_iter().for_each(&mut add_wait);
        preamble.update().into_iter().for_each(&mut add_update);
    }
    if let Body::CtrlEs(both) = &decoded.body {
        let more = &both.events_extended;
        if more.wait_mode != WaitMode::NONE {
            add_wait(Wait { mode: more.wait_mode, id: more.wait_idx.0.into(), value: more.sem_wait_value });
        }
        if more.update_mode != UpdateMode::NONE {
            let (id, value) = (more.update_idx.0.into(), more.sem_update_value);
            add_update(Update { mode: more.update_mode, id, value });
        }
    }
    debug_assert!(decoded.preamble.is_some() || word.binding().layout != Layout::CtrlEs);
    (waits, late, early)
}
