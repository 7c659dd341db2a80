//! The scheduled program: interleaves the jobs of the kernel, gives every instruction its place, waits and updates,
//! and ends every block with a fence. A sink receives the instructions in program order.
//!
//! The program depends on the configuration alone, so it can be run again for each part of the document.

use std::io;
use std::rc::Rc;

use super::kernel::{Body, DmaForm, Job, Kernel, Step, Transfer, Work};
use super::memory::{Columns, LocationId, Machine, Memory, Operand, Space, Target};
use super::rng::Rng;
use super::sync::{
    self, CellAccess, Cells, Clock, Conflict, DMA_STEP, ENGINES, Engine, Hazard, Name, Node,
    QUEUE_SEMAPHORES, QUEUES, SEMAPHORES,
};

/// What to generate.
#[derive(Clone, Copy)]
pub(super) struct Config {
    pub(super) instructions: u64,
    pub(super) seed: u64,
    pub(super) target: Target,
    /// Waits to leave out.
    pub(super) breaks: u64,
}

/// Fewer instructions than this have no room for a tile and the end of a block.
pub(super) const MIN_INSTRUCTIONS: u64 = 100;
/// Jobs that are interleaved.
const ACTIVE_JOBS: usize = 3;
/// Room that is kept for the end of a block: its waits (for stores, mostly), two to an instruction, and the fence.
const END: u64 = 28;
/// Room without which neither a loop nor another straight block is begun.
const LAST_BLOCK: u64 = 500;
/// Registers that loops count in, used in turn.
pub(super) const REGISTERS: u32 = 4;

/// A wait as the document shows it.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) from: Name,
    pub(super) semaphore: usize,
    pub(super) count: u32,
}

/// A wait that was left out, and the one pair that is unordered without it.
pub(super) struct Planted {
    pub(super) kind: Hazard,
    pub(super) first: Name,
    pub(super) second: Name,
    pub(super) wait: Wait,
}

/// A DMABlock of a trigger.
pub(super) struct DmaBlock {
    pub(super) name: Name,
    pub(super) transfer: Transfer,
    pub(super) semaphore: usize,
    pub(super) end: u64,
}

/// What an instruction is, beyond its header.
pub(super) enum Kind<'a> {
    Compute { body: Body, ins: &'a [Operand], out: Option<&'a Operand> },
    Direct { form: DmaForm, queue: usize, transfer: &'a Transfer },
    Trigger { queue: usize, blocks: &'a [DmaBlock] },
    Carrier,
    Barrier,
    Reset { semaphores: &'a [usize] },
    Drain,
    RegisterMove { register: u32 },
    Increment { register: u32 },
    Branch { target: u32 },
    Loop { register: u32, trips: u32, body: u32 },
    Return,
}

/// An instruction in its final place.
pub(super) struct Instruction<'a> {
    pub(super) name: Name,
    /// None: all engines.
    pub(super) engine: Option<Engine>,
    pub(super) kind: Kind<'a>,
    pub(super) line: u32,
    pub(super) op_name: &'static str,
    pub(super) dependencies: &'a [(Name, Hazard)],
    pub(super) waits: &'a [Wait],
    /// Semaphore and value.
    pub(super) update: Option<(usize, u32)>,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Receives a program in document order.
pub(super) trait Sink {
    fn begin_block(&mut self, block: u32);
    fn instruction(&mut self, memory: &Memory, instruction: &Instruction<'_>) -> io::Result<()>;
    fn end_block(&mut self, block: u32);
}

/// The state of a run.
pub(super) struct Program {
    pub(super) memory: Memory,
    kernel: Kernel,
    rng: Rng,
    config: Config,
    cells: Cells,
    /// What each engine knows complete, and completions so far, both since the last reset.
    known: [Clock; ENGINES],
    counts: Clock,
    /// The last DMA of each semaphore, and the next semaphore of each queue.
    last_dma: Vec<Option<Rc<Node>>>,
    next_dma: [usize; QUEUES],
    busy: [u64; ENGINES],
    emitted: u64,
    block: u32,
    in_loop: bool,
    planted: Vec<Planted>,
}

impl Program {
    pub(super) fn new(config: Config, machine: &Machine) -> Program {
        let mut memory = Memory::new(machine);
        let kernel = Kernel::new(machine, &mut memory);
        let cells = Cells::new(memory.cells);
        Program {
            memory,
            kernel,
            rng: Rng::new(config.seed),
            config,
            cells,
            known: [Clock::ZERO; ENGINES],
            counts: Clock::ZERO,
            last_dma: vec![None; SEMAPHORES],
            next_dma: [0; QUEUES],
            busy: [0; ENGINES],
            emitted: 0,
            block: 0,
            in_loop: false,
            planted: Vec::new(),
        }
    }

    /// Runs the program to its end and gives the waits that were left out.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> io::Result<Vec<Planted>> {
        let total = self.config.instructions;
        let scale = (total / 12).clamp(400, 24_000);
        loop {
            // Straight blocks and loops in turn; the first and the last block are straight.
            let size =
                if self.in_loop { 80 + self.rng.below(200) } else { scale / 2 + self.rng.below(scale) };
            let next = self.emitted + size;
            let last = !self.in_loop && next + LAST_BLOCK >= total;
            sink.begin_block(self.block);
            self.fill(sink, if last { total - END } else { next })?;
            if last {
                self.finish(sink)?;
                sink.end_block(self.block);
                return Ok(self.planted);
            }
            self.fence(sink)?;
            sink.end_block(self.block);
            self.block += 1;
        }
    }

    /// Starts jobs until `until` instructions are out, and completes them.
    fn fill(&mut self, sink: &mut dyn Sink, until: u64) -> io::Result<()> {
        let mut jobs: Vec<Job> = Vec::with_capacity(ACTIVE_JOBS);
        if self.block == 0 {
            // Every job may use what the prologue loads.
            let mut prologue = self.kernel.prologue(&self.memory);
            while let Some(step) = prologue.next() {
                self.step(sink, &step)?;
            }
        }
        loop {
            // Every step is one instruction and may need a carrier or two.
            let pending: usize = jobs.iter().map(Job::len).sum();
            let room = until.saturating_sub(self.emitted + 2 * pending as u64) as usize / 2;
            if jobs.len() < ACTIVE_JOBS && room > 0 {
                jobs.extend(self.kernel.start(&self.memory, &mut self.rng, room));
            }
            if jobs.is_empty() {
                if self.emitted + 20 >= until {
                    return Ok(());
                }
                continue;
            }
            let turn = self.rng.below(jobs.len() as u64) as usize;
            if let Some(step) = jobs[turn].next() {
                self.step(sink, &step)?;
            }
            if jobs[turn].is_done() {
                self.kernel.finish(jobs.swap_remove(turn));
            }
        }
    }

    fn step(&mut self, sink: &mut dyn Sink, step: &Step) -> io::Result<()> {
        match &step.work {
            Work::Compute { body, ins, out } => self.compute(sink, step, *body, ins, out.as_ref()),
            Work::Dma { form, queue, transfers } => self.dma(sink, step, *form, *queue, transfers),
        }
    }

    fn compute(
        &mut self,
        sink: &mut dyn Sink,
        step: &Step,
        body: Body,
        ins: &[Operand],
        out: Option<&Operand>,
    ) -> io::Result<()> {
        let engine = step.engine.index();
        // A matmul without the start bit adds to what is there.
        let accumulates = matches!(body, Body::Matmult { flag } if flag & 1 == 0);
        let accesses = self.accesses(ins, out, accumulates);
        let mut conflicts = Vec::new();
        self.cells.conflicts(&accesses, &mut conflicts);
        let on_psum = ins.iter().chain(out).any(|o| self.memory.get(o.location).space == Space::Psum);
        let (waits, name) = self.order(sink, step, &conflicts, &[], (!on_psum).then_some(&accesses[..]))?;

        let start = self.known[engine].clone();
        let (begin, end) =
            self.occupy(step.engine, &conflicts, 64 + u64::from(out.map_or(0, |o| o.width(&self.memory))));
        let count = self.counts.get(engine) + 1;
        self.counts.set(engine, count);
        self.known[engine].set(engine, count);
        let node = Rc::new(Node { semaphore: engine, count, name, clock: self.known[engine].clone(), end });
        self.cells.record(&accesses, &node, &start);
        self.emitted += 1;
        let dependencies: Vec<_> = conflicts.iter().map(|(kind, node)| (node.name, *kind)).collect();
        sink.instruction(
            &self.memory,
            &Instruction {
                name,
                engine: Some(step.engine),
                kind: Kind::Compute { body, ins, out },
                line: step.line,
                op_name: step.op_name,
                dependencies: &dependencies,
                waits: &waits,
                update: Some((engine, 1)),
                start: begin,
                end,
            },
        )
    }

    fn dma(
        &mut self,
        sink: &mut dyn Sink,
        step: &Step,
        form: DmaForm,
        queue: usize,
        transfers: &[Transfer],
    ) -> io::Result<()> {
        let engine = step.engine.index();
        let mut conflicts = Vec::new();
        let mut accesses = Vec::with_capacity(transfers.len());
        let mut semaphores = Vec::with_capacity(transfers.len());
        let mut previous = Vec::new();
        for transfer in transfers {
            let cells = self.accesses(&[transfer.source], Some(&transfer.destination), false);
            self.cells.conflicts(&cells, &mut conflicts);
            accesses.push(cells);
            let semaphore = ENGINES + queue * QUEUE_SEMAPHORES + self.next_dma[queue] % QUEUE_SEMAPHORES;
            self.next_dma[queue] += 1;
            semaphores.push(semaphore);
            previous.extend(self.last_dma[semaphore].clone());
        }
        // Which of several transfers a conflict belongs to is not recorded: only single ones are candidates.
        let single = (transfers.len() == 1).then(|| &accesses[0][..]);
        let (waits, name) = self.order(sink, step, &conflicts, &previous, single)?;

        let start = self.known[engine].clone();
        let (begin, end) = self.occupy(step.engine, &conflicts, 32);
        let mut blocks = Vec::with_capacity(transfers.len());
        for (i, ((transfer, cells), semaphore)) in transfers.iter().zip(&accesses).zip(semaphores).enumerate()
        {
            let count = self.counts.get(semaphore) + DMA_STEP;
            self.counts.set(semaphore, count);
            let mut clock = start.clone();
            clock.set(semaphore, count);
            let name = match (form, name) {
                (DmaForm::Trigger, Name::Instruction(number)) => Name::DmaBlock(number, i as u8),
                _ => name,
            };
            let end = end + 1800 + 200 * i as u64;
            let node = Rc::new(Node { semaphore, count, name, clock, end });
            self.cells.record(cells, &node, &start);
            self.last_dma[semaphore] = Some(node);
            blocks.push(DmaBlock { name, transfer: *transfer, semaphore, end });
        }
        self.emitted += 1;
        let mut dependencies: Vec<(Name, Hazard)> = Vec::with_capacity(conflicts.len());
        for (kind, node) in &conflicts {
            if !dependencies.contains(&(node.name, *kind)) {
                dependencies.push((node.name, *kind));
            }
        }
        let (kind, update) = match form {
            DmaForm::Trigger => (Kind::Trigger { queue, blocks: &blocks }, None),
            _ => {
                (Kind::Direct { form, queue, transfer: &transfers[0] }, Some((blocks[0].semaphore, DMA_STEP)))
            }
        };
        sink.instruction(
            &self.memory,
            &Instruction {
                name,
                engine: Some(step.engine),
                kind,
                line: step.line,
                op_name: step.op_name,
                dependencies: &dependencies,
                waits: &waits,
                update,
                start: begin,
                end,
            },
        )
    }

    /// Cells that an instruction reads and writes, each once.
    fn accesses(&self, ins: &[Operand], out: Option<&Operand>, accumulates: bool) -> Vec<CellAccess> {
        let mut accesses: Vec<CellAccess> = Vec::with_capacity(16);
        let mut add = |operand: &Operand, read: bool, write: bool| {
            for cell in operand.cells(&self.memory) {
                match accesses.iter_mut().find(|a| a.cell == cell) {
                    Some(access) => {
                        access.read |= read;
                        access.write |= write;
                    }
                    None => accesses.push(CellAccess { cell, read, write }),
                }
            }
        };
        for operand in ins {
            add(operand, true, false);
        }
        if let Some(operand) = out {
            add(operand, accumulates, true);
        }
        accesses
    }

    /// Makes the engine of `step` wait for every conflict and every node of `also`: writes the carriers, and gives the
    /// waits of the instruction itself and its name. With `candidate`, the accesses of the instruction, one wait may be
    /// left out as a planted race.
    fn order(
        &mut self,
        sink: &mut dyn Sink,
        step: &Step,
        conflicts: &[Conflict],
        also: &[Rc<Node>],
        candidate: Option<&[CellAccess]>,
    ) -> io::Result<(Vec<Wait>, Name)> {
        let engine = step.engine.index();
        let needed = conflicts.iter().map(|(_, node)| node).chain(also).cloned();
        let mut waits = sync::waits(&self.known[engine], needed);
        // The smallest id stays with the instruction, the others go before it from the largest down.
        waits.sort_by_key(|w| w.semaphore);
        let carriers = (waits.len().saturating_sub(1)).div_ceil(2) as u64;
        let omitted = candidate.and_then(|accesses| self.omit(&waits, conflicts, also, accesses, engine));
        let omitted = omitted.map(|(at, kind, first)| (waits.remove(at), kind, first));
        let carriers =
            if omitted.is_some() { (waits.len().saturating_sub(1)).div_ceil(2) as u64 } else { carriers };
        let number = (self.emitted + carriers) as u32;
        let name = Name::Instruction(number);
        if let Some((wait, kind, first)) = omitted {
            let triggered = matches!(step.work, Work::Dma { form: DmaForm::Trigger, .. });
            let second = if triggered { Name::DmaBlock(number, 0) } else { name };
            self.planted.push(Planted { kind, first, second, wait: shown(&wait) });
        }
        self.known[engine] = sync::after(&self.known[engine], &waits);
        let shown: Vec<Wait> = waits.iter().map(shown).collect();
        let (own, carried) = shown.split_at(shown.len().min(1));
        let carried: Vec<Wait> = carried.iter().rev().copied().collect();
        self.carriers(sink, step.engine, &carried, step.line, |k| Name::Carrier(number, k))?;
        Ok((own.to_vec(), name))
    }

    /// EventSemaphore instructions for `waits`, two to each.
    fn carriers(
        &mut self,
        sink: &mut dyn Sink,
        engine: Engine,
        waits: &[Wait],
        line: u32,
        name: impl Fn(u8) -> Name,
    ) -> io::Result<()> {
        for (k, pair) in waits.chunks(2).enumerate() {
            let (start, end) = self.occupy(engine, &[], 16);
            self.emitted += 1;
            let instruction = Instruction {
                name: name(k as u8),
                engine: Some(engine),
                kind: Kind::Carrier,
                line,
                op_name: "wait",
                dependencies: &[],
                waits: pair,
                update: None,
                start,
                end,
            };
            sink.instruction(&self.memory, &instruction)?;
        }
        Ok(())
    }

    /// Which wait can be left out so that exactly one pair is unordered, when the next race is due: its index, and
    /// the kind and first instruction of the pair. Loop bodies are left alone.
    fn omit(
        &self,
        waits: &[Rc<Node>],
        conflicts: &[Conflict],
        also: &[Rc<Node>],
        accesses: &[CellAccess],
        engine: usize,
    ) -> Option<(usize, Hazard, Name)> {
        let planted = self.planted.len() as u64;
        if planted >= self.config.breaks || self.in_loop {
            return None;
        }
        let due = (planted + 1) * self.config.instructions / (self.config.breaks + 1);
        if self.emitted + self.config.instructions / (2 * (self.config.breaks + 1)) < due {
            return None;
        }
        (0..waits.len()).find_map(|at| {
            let mut rest = waits.to_vec();
            rest.remove(at);
            let start = sync::after(&self.known[engine], &rest);
            let (kind, first) = sync::only_open(&start, conflicts)?;
            let clean = also.iter().all(|node| start.get(node.semaphore) >= node.count)
                && self.cells.dropped_known(accesses, &start);
            clean.then_some((at, *kind, first.name))
        })
    }

    /// Start and end cycle of an instruction of `length` cycles that starts after its conflicts.
    fn occupy(&mut self, engine: Engine, conflicts: &[Conflict], length: u64) -> (u64, u64) {
        let busy = &mut self.busy[engine.index()];
        let start = conflicts.iter().map(|(_, node)| node.end).fold(*busy, u64::max);
        *busy = start + length;
        (start, *busy)
    }

    /// Waits on Pool for every DMA that no engine knows complete.
    fn end_waits(&mut self) -> Vec<Wait> {
        let mut joined = Clock::ZERO;
        for known in &self.known {
            joined.join(known);
        }
        let pending = self.last_dma.iter().flatten().cloned();
        let waits = sync::waits(&joined, pending);
        waits.iter().rev().map(shown).collect()
    }

    /// The fence at the end of a block (spec: ordering 4): waits for what is outstanding, barrier, reset, barrier,
    /// drain, branch.
    fn fence(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let block = self.block;
        let waits = self.end_waits();
        self.carriers(sink, Engine::Pool, &waits, 130, |k| Name::EndWait(block, k))?;
        // A word clears a range, so what lies between is reset too, used or not (spec: isa-control-dma 3.2).
        let mut used = (0..SEMAPHORES).filter(|s| self.counts.get(*s) > 0);
        let used: Vec<usize> =
            used.next().map_or(vec![], |first| (first..=used.next_back().unwrap_or(first)).collect());
        let register = (block / 2) % REGISTERS;
        let trips = 2 + self.rng.below(15) as u32;
        let count = if self.in_loop { Kind::Increment { register } } else { Kind::RegisterMove { register } };
        let branch = if self.in_loop {
            Kind::Loop { register, trips, body: block }
        } else {
            Kind::Branch { target: block + 1 }
        };
        let parts = [
            (if self.in_loop { "increment" } else { "init" }, count),
            ("barrier1", Kind::Barrier),
            ("sema-reset", Kind::Reset { semaphores: &used }),
            ("barrier0", Kind::Barrier),
            ("drain", Kind::Drain),
            ("branch", branch),
        ];
        for (part, kind) in parts {
            self.everywhere(sink, part, kind)?;
        }
        self.known = [Clock::ZERO; ENGINES];
        self.counts = Clock::ZERO;
        self.last_dma.fill(None);
        self.next_dma = [0; QUEUES];
        self.cells.clear();
        self.in_loop = !self.in_loop;
        Ok(())
    }

    /// The end of the last block: fills up to the number of instructions, waits for what is outstanding, returns.
    fn finish(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let waits = self.end_waits();
        let tail = waits.len().div_ceil(2) as u64 + 1;
        assert!(self.emitted + tail <= self.config.instructions, "the last block is longer than planned");
        while self.emitted + tail < self.config.instructions {
            let engine = Engine::ALL[(self.emitted % ENGINES as u64) as usize];
            let (start, end) = self.occupy(engine, &[], 16);
            let name = Name::Instruction(self.emitted as u32);
            self.emitted += 1;
            let instruction = Instruction {
                name,
                engine: Some(engine),
                kind: Kind::Compute { body: Body::NoOp, ins: &[], out: None },
                line: 131,
                op_name: "fill",
                dependencies: &[],
                waits: &[],
                update: None,
                start,
                end,
            };
            sink.instruction(&self.memory, &instruction)?;
        }
        let block = self.block;
        self.carriers(sink, Engine::Pool, &waits, 130, |k| Name::EndWait(block, k))?;
        self.everywhere(sink, "return", Kind::Return)
    }

    /// An instruction of all engines.
    fn everywhere(&mut self, sink: &mut dyn Sink, part: &'static str, kind: Kind<'_>) -> io::Result<()> {
        let start = self.busy.iter().copied().max().unwrap_or(0);
        self.busy = [start + 64; ENGINES];
        self.emitted += 1;
        let instruction = Instruction {
            name: Name::Fence(self.block, part),
            engine: None,
            kind,
            line: 130,
            op_name: "fence",
            dependencies: &[],
            waits: &[],
            update: None,
            start,
            end: start + 64,
        };
        sink.instruction(&self.memory, &instruction)
    }
}

fn shown(node: &Rc<Node>) -> Wait {
    Wait { from: node.name, semaphore: node.semaphore, count: node.count }
}

/// A sink that writes nothing and notes which locations are named.
pub(super) struct Survey {
    pub(super) used: Vec<bool>,
    pub(super) loops: u32,
}

impl Survey {
    fn operand(&mut self, operand: &Operand) {
        let LocationId(index) = operand.location;
        self.used[usize::from(index)] = true;
        debug_assert!(operand.columns != Columns::Odd || operand.inner == 0);
    }
}

impl Sink for Survey {
    fn begin_block(&mut self, _block: u32) {}

    fn instruction(&mut self, _memory: &Memory, instruction: &Instruction<'_>) -> io::Result<()> {
        match &instruction.kind {
            Kind::Compute { ins, out, .. } => ins.iter().chain(*out).for_each(|o| self.operand(o)),
            Kind::Direct { transfer, .. } => {
                self.operand(&transfer.source);
                self.operand(&transfer.destination);
            }
            Kind::Trigger { blocks, .. } => {
                for block in *blocks {
                    self.operand(&block.transfer.source);
                    self.operand(&block.transfer.destination);
                }
            }
            Kind::Loop { .. } => self.loops += 1,
            _ => {}
        }
        Ok(())
    }

    fn end_block(&mut self, _block: u32) {}
}
