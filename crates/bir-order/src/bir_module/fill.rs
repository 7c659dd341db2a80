//! Filling a program: engines become streams, semaphores and events counters, DMABlocks transfers, and structured
//! loops and calls blocks that follow each other.

mod calls;
mod registers;
mod touches;

use bir::diag::Severity;
use bir::enums::{EngineType, InstructionType, SyncRefType, UpdateMode, WaitMode};
use bir::geometry::lattice::Overlap;
use bir::geometry::{Footprint, Footprints, Progression, transfers};
use bir::ids::{BlockId as BirBlock, FuncId, Id, InstId, QueueId as BirQueue, Ref, RegId, Target};
use bir::op_info::{Family, OpInfo};
use bir::ops::GroupResetSemaphores;
use bir::{Instruction, Module, NameOf, Op, OpenEnum, OperandList, Sym};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

pub(super) use calls::roots;
use registers::Constants;
use touches::{Around, MAX_ALL_PARTS, Place, SpaceKey, StaticOperand, common, is_stepped};

use super::{Bank, BirProgram, FillError, Local, MAX_CORES, each_access, flags_of, saved_register};
use crate::finding::Party;
use crate::program::{
    Access, BlockId, Change, CounterId, Exit, Kind, MAX_STREAMS, NameId, Need, NewOp, NewTransfer, OpId,
    Program, QueueId, SpaceId, StreamId, Streams, TransferId, Update, Wait,
};

/// The engines with streams of their own. spec: ordering 1.1
const ENGINES: [EngineType; 6] = [
    EngineType::Pool,
    EngineType::Activation,
    EngineType::PE,
    EngineType::DVE,
    EngineType::SP,
    EngineType::DMA,
];

/// Calls deeper than this are taken for a circle.
const MAX_CALLS: usize = 16;

/// Ops that run in pieces which read the inputs again after part of the output is written: confirmed, and the
/// cautious ones of public checkers. spec: ordering 12
const LIBRARY: [(&str, Severity); 8] = [
    ("Gather", Severity::Error),
    ("NonzeroWithCount", Severity::Error),
    ("IndirectCopy", Severity::Warning),
    ("RangeSelect", Severity::Warning),
    ("Max", Severity::Warning),
    ("MaxIndex", Severity::Warning),
    ("MatchReplace", Severity::Warning),
    ("MaxIndexAndMatchReplace", Severity::Warning),
];

/// The branches of the engines of a block, and where each goes.
type Branches = SmallVec<[(InstId, SmallVec<[BirBlock; 2]>); 5]>;

pub(super) fn fill<'m>(modules: &[&'m Module], root: Option<FuncId>) -> Result<BirProgram<'m>, FillError> {
    if modules.len() > MAX_CORES {
        return Err(FillError::TooManyCores);
    }
    calls::fit(modules, root)?;
    let accumulates = modules
        .iter()
        .any(|module| module.inst_ids().any(|inst| flags_of(&module[inst]).is_some_and(|flags| flags != 0)));
    let mut filled = BirProgram {
        program: Program::new(),
        modules: modules.to_vec(),
        footprints: Vec::new(),
        ops: Vec::new(),
        starts: Vec::new(),
        transfers: Vec::new(),
        spaces: Vec::new(),
        counters: Vec::new(),
        blocks: Vec::new(),
        local: Vec::new(),
        accumulates,
    };
    let mut shared = Shared {
        counters: HashMap::new(),
        spaces: HashMap::new(),
        starts: HashMap::new(),
        commons: HashSet::new(),
        common: common(modules),
        barriers: HashMap::new(),
    };
    for (core, module) in modules.iter().enumerate() {
        let core = core as u16;
        filled.starts.push(filled.ops.len() as u32);
        let instructions = module.inst_ids().len();
        filled.ops.reserve(instructions);
        filled.program.reserve(instructions);
        let streams = ENGINES.map(|_| filled.program.add_stream(core));
        let footprints = Footprints::new(module);
        let mut filler = Filler {
            first_name: filled.program.add_names(module.names.len() as u32),
            filled: &mut filled,
            shared: &mut shared,
            footprints: &footprints,
            module,
            core,
            streams,
            queues: HashMap::new(),
            met: HashMap::new(),
            values: HashMap::new(),
            root: root.or(module.main()),
            constants: None,
            pending: Vec::new(),
            around: Vec::new(),
            parts_left: MAX_ALL_PARTS,
            places: HashMap::new(),
            joint: Vec::new(),
            open: None,
            waits: Vec::new(),
            updates: Vec::new(),
            accesses: Vec::new(),
        };
        if let Some(root) = root.or(module.main()) {
            filler.function(root, 0, false)?;
        }
        filler.joint_counts();
        filled.footprints.push(footprints);
    }
    filled.program.finish();
    filled.ops.shrink_to_fit();
    filled.transfers.shrink_to_fit();
    Ok(filled)
}

/// What several cores have in common.
struct Shared {
    counters: HashMap<(u16, Bank, u32), CounterId>,
    spaces: HashMap<SpaceKey, SpaceId>,
    /// Where tensors that all cores see begin on the first core that has them.
    starts: HashMap<SpaceId, i64>,
    commons: HashSet<SpaceId>,
    /// Names of shared sets that several modules have.
    common: HashSet<String>,
    /// Counters of core barriers, by their number and place.
    barriers: HashMap<(u32, u32), CounterId>,
}

struct Filler<'a, 'm> {
    filled: &'a mut BirProgram<'m>,
    shared: &'a mut Shared,
    footprints: &'a Footprints<'m>,
    module: &'m Module,
    core: u16,
    streams: [StreamId; ENGINES.len()],
    /// The name of the module's first symbol.
    first_name: NameId,
    queues: HashMap<BirQueue, QueueId>,
    /// How many core barriers of each number there were.
    met: HashMap<u32, u32>,
    /// Registers whose value is saved.
    values: HashMap<usize, u32>,
    root: Option<FuncId>,
    /// Registers that hold one value, when asked for.
    constants: Option<Constants>,
    /// Blocks whose exits are not set yet.
    pending: Vec<(BlockId, Ends)>,
    /// The loops around, outermost first, as long as it is known how often each runs.
    around: Vec<Around>,
    parts_left: usize,
    /// What static operands touch.
    places: HashMap<StaticOperand<'m>, Place>,
    /// Counts of instructions of all engines.
    joint: Vec<(CounterId, OpId)>,
    open: Option<BlockId>,
    waits: Vec<Wait>,
    updates: Vec<Update>,
    accesses: Vec<Access>,
}

/// Where a block goes on.
#[derive(Default)]
struct Ends {
    targets: SmallVec<[BirBlock; 2]>,
    known: SmallVec<[BlockId; 2]>,
    falls_through: bool,
    /// Goes back to the caller, if there is one.
    returns: bool,
}

impl<'m> Filler<'_, 'm> {
    /// Adds the blocks of a function. `called`: the caller goes on after it.
    fn function(&mut self, func: FuncId, depth: usize, called: bool) -> Result<(), FillError> {
        if depth > MAX_CALLS {
            return Err(FillError::Recursion(func));
        }
        let module = self.module;
        let outer = std::mem::take(&mut self.pending);
        let mut starts: HashMap<BirBlock, BlockId> = HashMap::new();
        self.blocks(&module[func].blocks, depth, &mut starts)?;
        let pending = std::mem::replace(&mut self.pending, outer);
        let count = self.filled.program.blocks.len() as u32;
        for (block, ends) in pending {
            let mut next: SmallVec<[BlockId; 2]> = ends.known;
            next.extend(ends.targets.iter().filter_map(|target| starts.get(target).copied()));
            if ends.falls_through && (block.0 + 1 < count || called) {
                next.push(BlockId(block.0 + 1));
            }
            if ends.returns && called {
                next.push(BlockId(count));
            }
            next.sort_unstable();
            next.dedup();
            self.filled.program.set_exit(block, Exit { next });
        }
        Ok(())
    }

    fn blocks(
        &mut self,
        blocks: &[BirBlock],
        depth: usize,
        starts: &mut HashMap<BirBlock, BlockId>,
    ) -> Result<(), FillError> {
        let module = self.module;
        for &block in blocks {
            self.begin(block);
            starts.insert(block, self.open.expect("just begun"));
            let mut branches: Branches = SmallVec::new();
            let mut ends = Ends { falls_through: true, ..Ends::default() };
            for &inst in module[block].instructions.iter() {
                let of = &module[inst];
                if !of.body().is_empty() && !matches!(of.op, Op::DMABlock(_)) {
                    self.instruction(inst);
                    let runs = match &of.op {
                        Op::Loop(op) => op.loop_axis.as_deref().and_then(Progression::of_loop),
                        _ => None,
                    };
                    let runs = runs.map(|axis| axis.count);
                    if runs == Some(0) {
                        continue;
                    }
                    self.end(Ends { falls_through: true, ..Ends::default() });
                    let first = BlockId(self.filled.program.blocks.len() as u32);
                    let outer = self.enter(&of.op, first);
                    self.blocks(of.body(), depth, starts)?;
                    self.around = outer;
                    let last = BlockId(self.filled.program.blocks.len() as u32 - 1);
                    if let Some(runs) = runs.filter(|_| last >= first) {
                        self.filled.program.set_trips(first, last, runs);
                    }
                    // The body runs again after its last block, unless it is known to run once.
                    if let Some((_, last)) = self.pending.last_mut() {
                        if runs != Some(1) {
                            last.known.push(first);
                        }
                        last.falls_through = true;
                    }
                    self.begin(block);
                    continue;
                }
                if let Op::Call(call) = &of.op {
                    self.instruction(inst);
                    if let Some(callee) = call.target.and_then(Ref::id) {
                        self.end(Ends { falls_through: true, ..Ends::default() });
                        self.function(callee, depth + 1, true)?;
                        self.begin(block);
                    }
                    continue;
                }
                self.instruction(inst);
                self.branch(inst, &mut branches, &mut ends);
            }
            ends.targets.sort_unstable();
            ends.targets.dedup();
            self.end(ends);
        }
        Ok(())
    }

    fn begin(&mut self, block: BirBlock) {
        self.open = Some(self.filled.program.begin_block(self.core));
        self.filled.blocks.push((self.core, block));
    }

    fn end(&mut self, ends: Ends) {
        let block = self.open.take().expect("a block is open");
        self.filled.program.end_block(Exit::default());
        self.pending.push((block, ends));
    }

    /// Notes where a branch goes, and whether the engines agree.
    fn branch(&mut self, inst: InstId, branches: &mut Branches, ends: &mut Ends) {
        let of = &self.module[inst];
        let mut targets: SmallVec<[BirBlock; 2]> = SmallVec::new();
        let mut missing = false;
        let mut target = |block: Option<Ref<BirBlock>>| match block.map(|block| block.id()) {
            Some(Some(block)) => targets.push(block),
            Some(None) => missing = true,
            None => {}
        };
        match &of.op {
            Op::CompareAndBranch(op) => {
                target(op.on_true);
                target(op.on_false);
                if op.on_true.is_some() && op.on_false.is_some() {
                    ends.falls_through = false;
                }
            }
            Op::UnconditionalBranch(op) => {
                target(op.target);
                ends.falls_through &= op.target.is_none();
            }
            Op::Return => {
                ends.returns = true;
                ends.falls_through = false;
                return;
            }
            Op::Exit | Op::Halt => {
                ends.falls_through &= of.engine != EngineType::ALL;
                return;
            }
            _ => return,
        }
        let op = OpId(self.filled.program.first_clone(self.filled.ops.len() as u32 - 1));
        if missing {
            self.local(
                "ORD003",
                Severity::Warning,
                Party::of(op.0),
                None,
                "branches to a block that is not there".into(),
            );
        }
        if let Some((first, _)) = branches.iter().find(|(_, other)| *other != targets) {
            let name = self.name_text(*first);
            let detail = format!("branches to other blocks than {name} does");
            let first = self.filled.ops.iter().rposition(|inst| inst == first).map(|at| OpId(at as u32));
            self.local("ORD023", Severity::Error, Party::of(op.0), first, detail);
        }
        ends.targets.extend(targets.iter().copied());
        branches.push((inst, targets));
    }

    fn name_text(&self, inst: InstId) -> String {
        self.module.str(self.module.name_of(inst)).to_owned()
    }

    fn local(
        &mut self,
        code: &'static str,
        severity: Severity,
        party: Party,
        other: Option<OpId>,
        detail: String,
    ) {
        self.filled.local.push(Local { code, severity, party, other, detail });
    }

    fn engine(&self, engine: EngineType) -> Streams {
        match ENGINES.iter().position(|known| *known == engine) {
            Some(at) => Streams::one(self.streams[at]),
            // Every datapath engine; the DMA engine runs no instructions.
            None if engine == EngineType::ALL => {
                self.streams[..5].iter().fold(Streams::NONE, |all, stream| all.or(Streams::one(*stream)))
            }
            None => Streams::NONE,
        }
    }

    fn instruction(&mut self, inst: InstId) {
        let module = self.module;
        let of = &module[inst];
        let op = OpId(self.filled.ops.len() as u32);
        let mut streams = self.engine(of.engine);
        let is_transfer = is_async(of);
        self.waits.clear();
        self.updates.clear();
        self.accesses.clear();
        self.sync(inst, op);
        let name = Some(of.name).filter(|name| *name != Sym::EMPTY).map(|name| self.name(name));
        if streams == Streams::NONE
            && !self.waits.is_empty()
            && self.filled.program.streams.len() < MAX_STREAMS - 8
        {
            // On no engine, it waits all the same: a stream of its own, while there are some.
            streams = Streams::one(self.filled.program.add_stream(self.core));
        }
        self.local_checks(inst, op);
        let group: Vec<CounterId>;
        let kind = match &of.op {
            // An empty group resets nothing; a group that is not there, nobody knows what.
            Op::GroupResetSemaphores(reset)
                if reset.sema_group.is_empty() && !reset.present.has(GroupResetSemaphores::SEMA_GROUP) =>
            {
                Kind::ResetUnknown
            }
            Op::GroupResetSemaphores(reset) => {
                group = reset.sema_group.iter().map(|id| self.counter(self.core, false, *id)).collect();
                Kind::Reset(&group)
            }
            Op::SwitchQueueInstance(switch) => {
                // spec: ordering 3
                let queue = switch.queue.and_then(Ref::id);
                let ids = queue.map(|queue| module[queue].semaphores.clone()).unwrap_or_default();
                group = ids.iter().map(|id| self.counter(self.core, false, *id)).collect();
                if group.is_empty() { Kind::Plain } else { Kind::Reset(&group) }
            }
            Op::Drain(_) => Kind::Drain,
            _ => Kind::Plain,
        };
        if !is_transfer && !matches!(of.op, Op::DMATrigger(_)) {
            self.touch(inst);
        }
        if let Op::CoreBarrier(barrier) = &of.op
            && self.filled.modules.len() > 1
            && barrier.cores.contains(&u32::from(self.core))
        {
            self.rendezvous(inst, streams, name, barrier.id.value().unwrap_or(0), barrier.cores.len());
            return;
        }
        let each = of.engine == EngineType::ALL && self.runs_for_itself(inst, is_transfer, op);
        let accesses = std::mem::take(&mut self.accesses);
        let mut updates = std::mem::take(&mut self.updates);
        let own: Vec<Update> = if is_transfer { std::mem::take(&mut updates) } else { Vec::new() };
        let value = match saved_register(of) {
            Some(register) => {
                let next = self.values.len() as u32 + 1;
                *self.values.entry(register.index()).or_insert(next)
            }
            None => 0,
        };
        let new =
            NewOp { name, streams, kind, waits: &self.waits, updates: &updates, accesses: &accesses, value };
        let program = &mut self.filled.program;
        let added = if each { program.push_each(&new) } else { program.push(&new) };
        debug_assert_eq!(added, op);
        self.filled.ops.resize(self.filled.program.len(), inst);
        self.accesses = accesses;
        self.updates = updates;
        if is_transfer {
            self.accesses.clear();
            self.touch(inst);
            let queue = queue_of(of).map(|queue| self.queue(queue));
            let accesses = std::mem::take(&mut self.accesses);
            self.filled.program.push_transfer(&NewTransfer {
                name,
                queue,
                accesses: &accesses,
                updates: &own,
            });
            self.filled.transfers.push(inst);
            self.accesses = accesses;
        } else if let Op::DMATrigger(trigger) = &of.op {
            self.trigger(inst, trigger.queue.and_then(Ref::id), op);
        }
    }

    /// Whether each engine runs an instruction of all engines for itself. Fences are run together (spec: ordering 1.7, 3);
    /// what counts or starts transfers is taken as if it was, which is said where it matters.
    fn runs_for_itself(&mut self, inst: InstId, is_transfer: bool, op: OpId) -> bool {
        let of = &self.module[inst];
        let is_fence = matches!(
            of.op,
            Op::AllEngineBarrier | Op::GroupResetSemaphores(_) | Op::Drain(_) | Op::CoreBarrier(_) | Op::Exit
        );
        let takes = self.waits.iter().any(|wait| wait.need == Need::Take);
        if is_transfer || takes || matches!(of.op, Op::DMATrigger(_)) {
            let detail = "is of all engines, and is taken as one that they run together".to_owned();
            self.local("ORD021", Severity::Note, Party::of(op.0), None, detail);
            return false;
        }
        self.joint.extend(self.updates.iter().map(|update| (update.counter, op)));
        !is_fence && self.updates.is_empty()
    }

    /// Notes instructions of all engines whose count others wait for.
    fn joint_counts(&mut self) {
        let joint = std::mem::take(&mut self.joint);
        if joint.is_empty() {
            return;
        }
        let program = &self.filled.program;
        let waited: HashSet<CounterId> = program.waits.iter().map(|wait| wait.counter).collect();
        for (counter, op) in joint.into_iter().filter(|(counter, _)| waited.contains(counter)) {
            let name = self.filled.counter_name(counter);
            let detail =
                format!("counts {name} for all engines, which is taken as once and not once for each");
            self.local("ORD021", Severity::Note, Party::of(op.0), None, detail);
        }
    }

    /// All cores of a barrier arrive, then go on.
    fn rendezvous(&mut self, inst: InstId, streams: Streams, name: Option<NameId>, id: u32, cores: usize) {
        // Barriers of one number on one core meet those of the others in the order of the program.
        let met = self.met.entry(id).or_default();
        let nth = std::mem::replace(met, *met + 1);
        let program = &mut self.filled.program;
        let counter = *self.shared.barriers.entry((id, nth)).or_insert_with(|| program.add_counter());
        if self.filled.counters.len() < self.filled.program.counters as usize {
            self.filled.counters.push((self.core, Bank::Barrier, id));
            self.filled.program.set_waiters(counter, None);
        }
        let arrive = [Update { counter, change: Change::Add(1) }];
        let pass = [Wait { counter, need: Need::Each(cores as i64), from: None }];
        let plain = NewOp {
            name,
            streams,
            kind: Kind::Plain,
            waits: &self.waits,
            updates: &arrive,
            accesses: &[],
            value: 0,
        };
        self.filled.program.push(&plain);
        self.filled.ops.push(inst);
        self.filled.program.push(&NewOp { waits: &pass, updates: &self.updates, name: None, ..plain });
        self.filled.ops.push(inst);
    }

    fn trigger(&mut self, inst: InstId, queue: Option<BirQueue>, op: OpId) {
        let module = self.module;
        let Op::DMATrigger(trigger) = &module[inst].op else { return };
        let queue = queue.map(|queue| self.queue(queue));
        let mut done: SmallVec<[InstId; 4]> = SmallVec::new();
        for block in trigger.dma_blocks.iter() {
            let Some(block) = block.id() else {
                let detail = "starts a DMABlock that is not there".to_owned();
                self.local("ORD003", Severity::Warning, Party::of(op.0), None, detail);
                continue;
            };
            if done.contains(&block) {
                continue;
            }
            done.push(block);
            self.waits.clear();
            self.updates.clear();
            self.accesses.clear();
            self.sync(block, op);
            for (_, descriptor) in transfers(module, inst).filter(|(of, _)| *of == block) {
                self.touch(descriptor);
                let transfer = TransferId(self.filled.transfers.len() as u32);
                self.stepped(descriptor, op, Some(transfer));
                self.unresolved(descriptor, Party { transfer: Some(transfer), ..Party::of(op.0) });
            }
            let name =
                Some(module[block].name).filter(|name| *name != Sym::EMPTY).map(|name| self.name(name));
            let new = NewTransfer { name, queue, accesses: &self.accesses, updates: &self.updates };
            self.filled.program.push_transfer(&new);
            self.filled.transfers.push(block);
        }
    }

    fn number_exists(&mut self, id: u32, does: &str, op: OpId) {
        if id > 255 {
            let detail = format!("{does} number {id}; they end at 255");
            self.local("ORD017", Severity::Error, Party::of(op.0), None, detail);
        }
    }

    /// Waits and updates of an instruction or DMABlock.
    fn sync(&mut self, inst: InstId, op: OpId) {
        let module = self.module;
        let Some(info) = module[inst].sync_info.as_deref() else { return };
        for wait in &info.on_wait {
            let Some(id) = wait.id else { continue };
            self.number_exists(id, "waits for", op);
            let event = wait.sync_type == SyncRefType::Event || wait.wait_mode == WaitMode::EvtSetThenClear;
            let need = match wait.wait_mode {
                WaitMode::EvtSetThenClear => Need::Take,
                _ if event => Need::Take,
                WaitMode::SemGeReg => {
                    match wait.wait_reg.and_then(|register| self.constant(inst, register)) {
                        Some(value) => Need::AtLeast(value),
                        None => Need::Unknown,
                    }
                }
                WaitMode::Other(mode) => {
                    let detail = format!("waits in the mode {}, which is not known", module.str(mode));
                    self.local("ORD003", Severity::Warning, Party::of(op.0), None, detail);
                    Need::Unknown
                }
                // 32 bits with a sign. spec: ordering 1.4
                _ => Need::AtLeast(i64::from(wait.wait_value.unwrap_or(0) as i32)),
            };
            let from = wait.from.filter(|name| *name != Sym::EMPTY).map(|name| self.name(name));
            let counter = self.counter(self.core, event, id);
            self.waits.push(Wait { counter, need, from });
        }
        for update in &info.on_update {
            let Some(id) = update.id else { continue };
            self.number_exists(id, "updates", op);
            let event = update.sync_type == SyncRefType::Event || update.update_mode == UpdateMode::EvtSet;
            let value = i64::from(update.update_value.unwrap_or(0) as i32);
            let is_step = matches!(update.update_mode, UpdateMode::SemInc | UpdateMode::SemDec);
            if is_step && value != 1 {
                let detail = format!("counts semaphore {id} by {value}, where only 1 is possible");
                self.local("ORD017", Severity::Error, Party::of(op.0), None, detail);
            }
            if let UpdateMode::Other(mode) = update.update_mode {
                let detail = format!("updates in the mode {}, which is not known", module.str(mode));
                self.local("ORD003", Severity::Warning, Party::of(op.0), None, detail);
            }
            let change = match update.update_mode {
                _ if event => Change::Set,
                UpdateMode::SemSubImm => Change::Add(-value),
                UpdateMode::SemInc => Change::Add(1),
                UpdateMode::SemDec => Change::Add(-1),
                UpdateMode::SemWrImm => Change::Write(value),
                _ => Change::Add(value),
            };
            let core = update.target_core.and_then(|core| u16::try_from(core).ok()).unwrap_or(self.core);
            let counter = self.counter(core, event, id);
            self.updates.push(Update { counter, change });
        }
    }

    /// What a register is known to hold when an instruction starts.
    fn constant(&mut self, inst: InstId, register: Ref<RegId>) -> Option<i64> {
        let (module, root) = (self.module, self.root);
        let first = || root.and_then(|root| module[root].blocks.first().copied());
        let constants = self.constants.get_or_insert_with(|| Constants::new(module, first()));
        constants.at(module, register.id()?, inst)
    }

    /// What one instruction does to itself: library ops in place, DMAs over stepped partitions, unresolved names.
    fn local_checks(&mut self, inst: InstId, op: OpId) {
        let module = self.module;
        let of = &module[inst];
        let opcode = of.opcode().text(&module.names);
        if let Some((_, severity)) = LIBRARY.iter().find(|(name, _)| *name == opcode) {
            let mut seen: Vec<(OperandList, usize, Footprint)> = Vec::new();
            each_access(self.footprints, of, self.filled.accumulates, &mut |list, index, footprint, _| {
                seen.push((list, index, footprint));
            });
            let outs = seen.iter().enumerate().filter(|(_, (list, _, _))| *list == OperandList::Outs);
            let hit = outs.flat_map(|(at, (_, _, out))| {
                let ins = seen.iter().filter(|(list, _, _)| *list != OperandList::Outs);
                ins.filter(|(_, _, input)| input.overlap(out) == Overlap::Yes)
                    .map(move |input| (at, input.0, input.1))
            });
            if let Some((at, list, index)) = hit.into_iter().next() {
                let name = self.name_text(inst);
                let detail = format!(
                    "output of {name} lies over its {}[{index}]: {opcode} runs in pieces and reads inputs again after part of the output is written",
                    list.key()
                );
                let party = Party { access: Some(at as u32), ..Party::of(op.0) };
                self.local("ORD015", *severity, party, None, detail);
            }
        }
        self.unresolved(inst, Party::of(op.0));
        if opcode.contains("DMA") {
            let own = is_async(of).then_some(TransferId(self.filled.transfers.len() as u32));
            self.stepped(inst, op, own);
        }
    }

    /// Names that nothing has: what is touched, or which counts a queue has, is not known then. A dependency orders
    /// nothing by itself, so it is only told. spec: cli, Decided
    fn unresolved(&mut self, inst: InstId, party: Party) {
        fn missing<T: Id>(reference: Option<Ref<T>>) -> Option<Sym> {
            match reference?.target() {
                Target::Missing(name) => Some(name),
                Target::Found(_) => None,
            }
        }
        let module = self.module;
        let of = &module[inst];
        let queue = match &of.op {
            Op::DMATrigger(trigger) => trigger.queue,
            _ => queue_ref(of),
        };
        let text = |name: Sym| module.str(name);
        let mut details: SmallVec<[(&'static str, String); 1]> = SmallVec::new();
        for (list, index, argument) in of.operands() {
            let memory = missing(argument.location()).or_else(|| missing(argument.location_set()));
            let what = match (memory, missing(argument.register())) {
                (Some(name), _) => format!("memory location {}", text(name)),
                (None, Some(name)) => format!("register {}", text(name)),
                (None, None) => continue,
            };
            details.push(("ORD003", format!("{}[{index}] is of {what}, which is not there", list.key())));
        }
        if let Some(name) = missing(queue) {
            details.push(("ORD003", format!("runs on queue {}, which is not there", text(name))));
        }
        for edge in &of.rare().missing_edges {
            details.push(("ORD021", format!("depends on {}, which is not there", text(edge.name))));
        }
        for (code, detail) in details {
            let severity = if code == "ORD003" { Severity::Warning } else { Severity::Note };
            self.local(code, severity, party, None, detail);
        }
    }

    fn stepped(&mut self, inst: InstId, op: OpId, transfer: Option<TransferId>) {
        if !self.may_step(inst) {
            return;
        }
        let module = self.module;
        // Accesses of descriptors before this one are counted already, this one's included.
        let counted = self.accesses.len() as u32;
        let mut hits: SmallVec<[(u32, String); 1]> = SmallVec::new();
        let mut at = 0;
        each_access(self.footprints, &module[inst], false, &mut |list, index, footprint, _| {
            if is_stepped(&footprint) {
                let what = if list == OperandList::Outs { "writes" } else { "reads" };
                hits.push((at, format!("{what} stepped partitions: {}[{index}] is {footprint}", list.key())));
            }
            at += 1;
        });
        let base = counted.saturating_sub(at);
        for (access, detail) in hits {
            let detail = format!("{} {detail}", self.name_text(inst));
            let party = Party { op, transfer, access: Some(base + access) };
            self.local("ORD016", Severity::Warning, party, None, detail);
        }
    }

    fn counter(&mut self, core: u16, event: bool, id: u32) -> CounterId {
        let filled = &mut self.filled;
        let bank = if event { Bank::Event } else { Bank::Semaphore };
        *self.shared.counters.entry((core, bank, id)).or_insert_with(|| {
            let counter = filled.program.add_counter();
            filled.counters.push((core, bank, id));
            // Instructions wait for what their own core has.
            if filled.modules.len() > 1 {
                filled.program.set_waiters(counter, Some(core));
            }
            counter
        })
    }

    fn name(&self, name: Sym) -> NameId {
        NameId(self.first_name.0 + name.index() as u32)
    }

    fn queue(&mut self, queue: BirQueue) -> QueueId {
        let filled = &mut self.filled;
        *self.queues.entry(queue).or_insert_with(|| filled.program.add_queue())
    }
}

/// Whether an instruction only starts what it does: a DMA that is its own transfer, or a collective.
fn is_async(inst: &Instruction) -> bool {
    let family = OpInfo::of(inst.opcode()).map(|info| info.family);
    let transfers = matches!(family, Some(Family::Dma))
        || queue_of(inst).is_some()
        || matches!(
            inst.opcode(),
            InstructionType::CollectiveCompute
                | InstructionType::CollectiveSend
                | InstructionType::CollectiveRecv
        );
    transfers
        && !matches!(inst.op, Op::DMATrigger(_) | Op::SwitchQueueInstance(_) | Op::ResetQueueInstance(_))
}

/// The queue that an instruction names.
fn queue_of(inst: &Instruction) -> Option<BirQueue> {
    queue_ref(inst).and_then(Ref::id)
}

fn queue_ref(inst: &Instruction) -> Option<Ref<BirQueue>> {
    match &inst.op {
        Op::DMA(op) => op.queue,
        Op::DMACopy(op) => op.queue,
        Op::Load(op) => op.queue,
        Op::Save(op) => op.queue,
        Op::ReadVarAddr(op) => op.queue,
        Op::GenericIndirectLoad(op) => op.queue,
        Op::IndirectLoad(op) => op.queue,
        Op::GenericIndirectSave(op) => op.queue,
        Op::IndirectSave(op) => op.queue,
        Op::IndirectSaveAccumulate(op) => op.queue,
        Op::Collective(op) => op.queue,
        Op::CollectiveCompute(op) => op.queue,
        Op::CollectiveSend(op) => op.queue,
        Op::CollectiveRecv(op) => op.queue,
        _ => None,
    }
}
