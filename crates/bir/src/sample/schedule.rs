//! Dependencies and semaphores of the scheduled sample, from what each instruction reads and writes.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::MATMUL_SOFTMAX_SOURCE;
use crate::builder::{Access, Builder, Dma, Operand, Tensor};
use crate::edges::EdgeKind;
use crate::enums::EngineType;
use crate::ids::{InstId, QueueId};
use crate::ops::{DMACopy, Op};

/// A part of a tensor that is written as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part(pub(super) Tensor, pub(super) u64);

/// An engine with a completion semaphore. spec: isa-bundle 17.3
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Pe,
    Activation,
    Dve,
}

impl Engine {
    fn semaphore(self) -> u32 {
        match self {
            Engine::Activation => 4,
            Engine::Pe => 5,
            Engine::Dve => 6,
        }
    }

    fn engine_type(self) -> EngineType {
        match self {
            Engine::Activation => EngineType::Activation,
            Engine::Pe => EngineType::PE,
            Engine::Dve => EngineType::DVE,
        }
    }
}

/// Counts of semaphores that are known to be reached.
type Clock = BTreeMap<u32, u32>;

/// A completion: the count that a semaphore reaches with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Done {
    /// The instruction, or the DMABlock of a triggered DMA.
    inst: InstId,
    semaphore: u32,
    count: u32,
}

#[derive(Default)]
struct PartState {
    written: Option<Done>,
    read: Vec<Done>,
}

/// Adds instructions in program order.
pub(super) struct Schedule<'m> {
    b: Builder<'m>,
    parts: HashMap<Part, PartState>,
    /// How far each semaphore has been counted, and what its counter knew at each count.
    counts: HashMap<u32, u32>,
    knew: HashMap<(u32, u32), Clock>,
    /// What each engine has waited for.
    known: HashMap<EngineType, Clock>,
    /// Transfers of each queue, in order.
    transfers: HashMap<QueueId, Vec<Done>>,
}

/// What an instruction touches.
#[derive(Default)]
struct Footprint {
    reads: Vec<Part>,
    writes: Vec<Part>,
    /// The write adds to what PE wrote before.
    accumulates: bool,
}

/// The dependencies of an instruction, and the completions it has to wait for.
#[derive(Default)]
struct Hazards {
    edges: Vec<(InstId, EdgeKind)>,
    waits: Vec<Done>,
}

impl<'m> Schedule<'m> {
    pub(super) fn new(b: Builder<'m>) -> Schedule<'m> {
        Schedule {
            b,
            parts: HashMap::new(),
            counts: HashMap::new(),
            knew: HashMap::new(),
            known: HashMap::new(),
            transfers: HashMap::new(),
        }
    }

    /// What follows comes from the line of the source that has this text.
    pub(super) fn line(&mut self, text: &str, op_name: &str) {
        let line = MATMUL_SOFTMAX_SOURCE.lines().position(|line| line.contains(text));
        self.b.line(line.expect("the source has the line") as i64 + 1, op_name);
    }

    /// An instruction of an engine.
    pub(super) fn engine(&mut self, name: &str, engine: Engine, op: impl Into<Op>) -> Step<'_, 'm> {
        Step {
            schedule: self,
            name: name.to_owned(),
            engine,
            op: op.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            footprint: Footprint::default(),
        }
    }

    /// A DMACopy.
    pub(super) fn copy(
        &mut self,
        name: &str,
        engine: EngineType,
        queue: QueueId,
        (from, to): (Access, Access),
        reads: &[Part],
        writes: &[Part],
    ) {
        let footprint = Footprint { reads: reads.into(), writes: writes.into(), accumulates: false };
        let hazards = self.hazards(&footprint);
        let (semaphore, count) = self.next_transfer(queue);
        let previous = self.previous_transfer(queue);
        let own = self.wait(name, engine, &hazards, previous);
        let op = DMACopy { queue: Some(queue.into()), ..DMACopy::default() };
        let id = self.b.inst(name, engine, op).input(from).output(to).id();
        self.link(id, &hazards, own);
        self.b.edit(id).adds(semaphore, Dma::COMPLETION);
        let done = self.complete(id, engine, semaphore, count);
        self.transfers.entry(queue).or_default().push(done);
        self.touch(&footprint, done);
    }

    /// A DMATrigger with one DMABlock.
    pub(super) fn trigger(
        &mut self,
        name: &str,
        engine: EngineType,
        queue: QueueId,
        copies: Vec<(Access, Access)>,
        writes: &[Part],
    ) {
        let footprint = Footprint { writes: writes.into(), ..Footprint::default() };
        let hazards = self.hazards(&footprint);
        let (semaphore, count) = self.next_transfer(queue);
        let previous = self.previous_transfer(queue);
        let own = self.wait(name, engine, &hazards, previous);
        let mut dma = self.b.dma(name, engine, queue).completes(semaphore);
        for (from, to) in copies {
            dma = dma.copy(from, to);
        }
        let dma = dma.done();
        self.link(dma.trigger, &hazards, own);
        let done = self.complete(dma.block, engine, semaphore, count);
        self.transfers.entry(queue).or_default().push(done);
        self.touch(&footprint, done);
    }

    /// Ends with an instruction that waits until every transfer is complete.
    pub(super) fn finish(mut self) {
        let mut last: BTreeMap<u32, Done> = BTreeMap::new();
        for done in self.transfers.values().flatten() {
            let newest = last.entry(done.semaphore).or_insert(*done);
            if newest.count < done.count {
                *newest = *done;
            }
        }
        let hazards = Hazards { edges: Vec::new(), waits: last.into_values().collect() };
        let own = self.wait("final", EngineType::Pool, &hazards, None);
        let id = self.b.inst("final", EngineType::Pool, Op::NoOp).id();
        self.link(id, &hazards, own);
    }

    /// Semaphore of the next transfer of a queue, and the count that it will reach.
    fn next_transfer(&mut self, queue: QueueId) -> (u32, u32) {
        let semaphores = &self.b.module()[queue].semaphores;
        let before = self.transfers.get(&queue).map_or(0, Vec::len);
        let semaphore = semaphores[before % semaphores.len()];
        (semaphore, Dma::COMPLETION * (before / semaphores.len() + 1) as u32)
    }

    /// The transfer that used the semaphore of the next one before: it must be complete, so that a count names
    /// one transfer. spec: ordering 5
    fn previous_transfer(&mut self, queue: QueueId) -> Option<Done> {
        let semaphores = self.b.module()[queue].semaphores.len();
        let transfers = self.transfers.get(&queue)?;
        transfers.len().checked_sub(semaphores).map(|at| transfers[at])
    }

    fn hazards(&self, footprint: &Footprint) -> Hazards {
        let mut hazards = Hazards::default();
        let mut add = |done: &Done, kind: EdgeKind, wait: bool| {
            if !hazards.edges.contains(&(done.inst, kind)) {
                hazards.edges.push((done.inst, kind));
            }
            if wait {
                hazards.waits.push(*done);
            }
        };
        let state = |part: &Part| self.parts.get(part);
        for state in footprint.reads.iter().filter_map(state) {
            state.written.iter().for_each(|done| add(done, EdgeKind::FLOW, true));
        }
        for state in footprint.writes.iter().filter_map(state) {
            if footprint.accumulates {
                // Members of a group rely on the program order of PE. spec: ordering 1.2
                state.written.iter().for_each(|done| add(done, EdgeKind::ORDERED, false));
                continue;
            }
            state.written.iter().for_each(|done| add(done, EdgeKind::OUTPUT, true));
            state.read.iter().for_each(|done| add(done, EdgeKind::ANTI, true));
        }
        hazards
    }

    /// Adds the instructions that carry all waits but one, and gives that one.
    fn wait(
        &mut self,
        name: &str,
        engine: EngineType,
        hazards: &Hazards,
        always: Option<Done>,
    ) -> Option<Done> {
        let known = self.known.entry(engine).or_default();
        let mut needed: BTreeMap<u32, Done> = BTreeMap::new();
        let unknown = |done: &&Done| known.get(&done.semaphore).is_none_or(|count| *count < done.count);
        for done in hazards.waits.iter().filter(unknown).chain(&always) {
            let newest = needed.entry(done.semaphore).or_insert(*done);
            if newest.count < done.count {
                *newest = *done;
            }
        }
        // A wait that another one implies is left out.
        let implied = |done: &Done| {
            needed.values().any(|other| {
                let knew = &self.knew[&(other.semaphore, other.count)];
                other != done && knew.get(&done.semaphore).is_some_and(|count| *count >= done.count)
            })
        };
        let keep: Vec<Done> =
            needed.values().filter(|done| Some(**done) == always || !implied(done)).copied().collect();
        for done in &keep {
            for (semaphore, count) in &self.knew[&(done.semaphore, done.count)] {
                let best = known.entry(*semaphore).or_default();
                *best = (*best).max(*count);
            }
        }
        // The smallest id stays; the others go in front by descending id, two on each. spec: isa-control-dma 1.4
        let (own, others) = keep.split_first()?;
        let others: Vec<Done> = others.iter().rev().copied().collect();
        for (k, pair) in others.chunks(2).enumerate() {
            let mut carrier = self.b.inst(&format!("{name}-wait-{k}"), engine, Op::EventSemaphore);
            for done in pair {
                carrier = carrier.waits_for(done.inst, done.semaphore, done.count);
            }
        }
        Some(*own)
    }

    fn link(&mut self, id: InstId, hazards: &Hazards, own: Option<Done>) {
        let mut inst = self.b.edit(id);
        for (on, kind) in &hazards.edges {
            inst = inst.after(*on, *kind);
        }
        if let Some(done) = own {
            inst.waits_for(done.inst, done.semaphore, done.count);
        }
    }

    /// Notes that an instruction brings a semaphore to a count.
    fn complete(&mut self, inst: InstId, engine: EngineType, semaphore: u32, count: u32) -> Done {
        let mut knew = self.known.entry(engine).or_default().clone();
        knew.insert(semaphore, count);
        self.knew.insert((semaphore, count), knew);
        Done { inst, semaphore, count }
    }

    fn touch(&mut self, footprint: &Footprint, done: Done) {
        for part in &footprint.writes {
            self.parts.insert(*part, PartState { written: Some(done), read: Vec::new() });
        }
        for part in &footprint.reads {
            self.parts.entry(*part).or_default().read.push(done);
        }
    }
}

/// An engine instruction that is being put together.
pub(super) struct Step<'s, 'm> {
    schedule: &'s mut Schedule<'m>,
    name: String,
    engine: Engine,
    op: Op,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    footprint: Footprint,
}

impl Step<'_, '_> {
    pub(super) fn reads(mut self, access: impl Into<Access>, parts: &[Part]) -> Self {
        self.inputs.push(access.into().into());
        self.footprint.reads.extend_from_slice(parts);
        self
    }

    pub(super) fn immediates(mut self, values: impl IntoIterator<Item = Operand>) -> Self {
        self.inputs.extend(values);
        self
    }

    pub(super) fn writes(mut self, access: impl Into<Access>, parts: &[Part]) -> Self {
        self.outputs.push(access.into().into());
        self.footprint.writes.extend_from_slice(parts);
        self
    }

    /// Whether the write adds to what PE wrote before.
    pub(super) fn accumulates(mut self, accumulates: bool) -> Self {
        self.footprint.accumulates = accumulates;
        self
    }

    pub(super) fn done(self) {
        let Step { schedule: s, name, engine, op, inputs, outputs, footprint } = self;
        let (engine_type, semaphore) = (engine.engine_type(), engine.semaphore());
        let hazards = s.hazards(&footprint);
        let own = s.wait(&name, engine_type, &hazards, None);
        let mut inst = s.b.inst(&name, engine_type, op).inputs(inputs).increments(semaphore);
        for output in outputs {
            inst = inst.output(output);
        }
        let id = inst.id();
        s.link(id, &hazards, own);
        let count = s.counts.entry(semaphore).or_default();
        *count += 1;
        let count = *count;
        let done = s.complete(id, engine_type, semaphore, count);
        s.touch(&footprint, done);
    }
}
