//! What is where in a module: one walk over its instructions, for all checks that look for a few of them or for what
//! they have together.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use bir::edges::EdgeKind;
use bir::enums::InstructionType as It;
use bir::ids::{BlockId, FuncId, Id, InstId, SetId};
use bir::op_info::OpInfo;
use bir::{Argument, Holder, Module, OpenEnum, OperandList, Sym};

use crate::context::Cx;
use crate::rules::Groups;
use crate::view::Inst;

/// Ops besides calls and those that end a block for whose instructions checks look.
const NOTABLE: &[It] = &[
    It::AllEngineBarrier,
    It::CollectiveCompute,
    It::DoWhile,
    It::DynamicForLoop,
    It::GenericIndirectLoad,
    It::GenericIndirectSave,
    It::GetCurProcessingRankID,
    It::GroupResetSemaphores,
    It::Loop,
    It::RegisterAlu,
    It::RegisterMove,
    It::ResetQueueInstance,
    It::SwitchQueueInstance,
    It::TensorLoad,
];

/// Whether an instruction ends a block.
pub(crate) fn is_terminator(op: It) -> bool {
    OpInfo::of(op).is_some_and(|info| info.terminator)
}

/// What one walk over a module finds.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Whether there are instructions of an op, by ordinal.
    ops: Vec<bool>,
    /// Whether instructions of an op are notable, by ordinal.
    notable_ops: Vec<bool>,
    /// Instructions of [`NOTABLE`] ops, calls, and those that end a block, in document order.
    notable: Vec<InstId>,
    /// The triggers of transfers, which are many.
    triggers: Vec<InstId>,
    /// Where those of a function start and end, by its id.
    of_function: Vec<(usize, usize)>,
    /// The same by block: `by_block[of_block[block]..of_block[block + 1]]`, in the order of the list.
    by_block: Vec<InstId>,
    of_block: Vec<u32>,
    /// Whether an instruction of a block has a body, by block.
    nests: Vec<bool>,
    /// All blocks, each before those of the bodies in it.
    blocks: Vec<BlockId>,
    /// Functions, then queues, as none; where their blocks start and end.
    holders: Vec<(Option<FuncId>, usize, usize)>,
    /// By function, the first instruction whose name stands before in the function, and how many there are.
    repeats: Vec<Option<(InstId, u64)>>,
    /// Instructions behind the first of their block that ends it.
    behind_ends: Bits,
    /// Branches and exits.
    branches: Bits,
    /// Whether any instruction ends a block.
    has_ends: bool,
    /// Whether any instruction is a call.
    has_calls: bool,
}

impl Survey {
    pub(crate) fn of(module: &Module) -> Survey {
        let mut notable_ops = vec![false; OpInfo::all().len()];
        for info in OpInfo::all() {
            notable_ops[info.op.ordinal().map_or(0, |op| op as usize)] =
                NOTABLE.contains(&info.op) || info.op.is_a(It::Call) || is_terminator(info.op);
        }
        let mut survey = Survey {
            ops: vec![false; OpInfo::all().len()],
            notable_ops,
            notable: Vec::new(),
            triggers: Vec::new(),
            of_function: vec![(0, 0); module.func_ids().len()],
            by_block: Vec::new(),
            of_block: vec![0; module.block_ids().len() + 1],
            nests: vec![false; module.block_ids().len()],
            blocks: Vec::with_capacity(module.block_ids().len()),
            holders: Vec::new(),
            repeats: vec![None; module.func_ids().len()],
            behind_ends: Bits::default(),
            branches: Bits::default(),
            has_ends: false,
            has_calls: false,
        };
        let mut names = Names { seen: vec![0; module.names.len()], function: 0, repeats: None };
        for function in module.functions() {
            let from = (survey.notable.len(), survey.blocks.len());
            (names.function, names.repeats) = (names.function + 1, None);
            survey.walk(module, module.blocks_of(Holder::Function(function)), &mut Some(&mut names));
            survey.of_function[function.index()] = (from.0, survey.notable.len());
            survey.repeats[function.index()] = names.repeats;
            survey.holders.push((Some(function), from.1, survey.blocks.len()));
        }
        for queue in module.queues() {
            let from = survey.blocks.len();
            survey.walk(module, module.blocks_of(Holder::Queue(queue)), &mut None);
            survey.holders.push((None, from, survey.blocks.len()));
        }
        survey.sort_by_block(module);
        survey.find_ends(module);
        survey
    }

    /// Looks at the instructions of blocks and of the bodies in them.
    fn walk(&mut self, module: &Module, blocks: &[BlockId], names: &mut Option<&mut Names>) {
        for &block in blocks {
            self.blocks.push(block);
            for id in &module[block].instructions {
                let inst = &module[id];
                if inst.opcode() == It::DMATrigger {
                    self.triggers.push(id);
                }
                if let Some(op) = inst.opcode().ordinal().map(|op| op as usize)
                    && op < self.ops.len()
                {
                    self.ops[op] = true;
                    if self.notable_ops[op] {
                        self.notable.push(id);
                    }
                }
                if let Some(names) = names {
                    names.see(id, inst.name);
                }
                let body = inst.body();
                if !body.is_empty() {
                    self.nests[block.index()] = true;
                    self.walk(module, body, names);
                }
            }
        }
    }

    fn sort_by_block(&mut self, module: &Module) {
        for &id in &self.notable {
            self.of_block[module[id].block.index() + 1] += 1;
        }
        for at in 1..self.of_block.len() {
            self.of_block[at] += self.of_block[at - 1];
        }
        let mut next = self.of_block.clone();
        self.by_block = self.notable.clone();
        for &id in &self.notable {
            let at = &mut next[module[id].block.index()];
            self.by_block[*at as usize] = id;
            *at += 1;
        }
    }

    fn find_ends(&mut self, module: &Module) {
        let mut block_of_last = None;
        for &id in &self.by_block {
            let (op, block) = (module[id].opcode(), module[id].block);
            if matches!(op, It::CompareAndBranch | It::UnconditionalBranch | It::Exit) {
                self.branches.insert(id);
            }
            self.has_ends |= is_terminator(op);
            self.has_calls |= op.is_a(It::Call);
            if is_terminator(op) && block_of_last.replace(block) != Some(block) {
                let list = &module[block].instructions;
                // The ends of blocks are short.
                let at = list.iter().rposition(|inst| *inst == id).unwrap_or(list.len() - 1);
                for inst in &list[at + 1..] {
                    self.behind_ends.insert(*inst);
                }
            }
        }
    }

    /// Functions, then queues, as none; the blocks of each and of all bodies in it, in document order.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (Option<FuncId>, &[BlockId])> {
        self.holders.iter().map(|(function, from, to)| (*function, &self.blocks[*from..*to]))
    }

    /// Whether there are instructions of an op, by ordinal.
    pub(crate) fn ops(&self) -> &[bool] {
        &self.ops
    }

    /// Whether the instructions of an op are notable.
    fn is_notable(&self, op: It) -> bool {
        op.ordinal().is_some_and(|op| self.notable_ops.get(op as usize) == Some(&true))
    }

    /// Notable instructions of the module, in document order.
    pub(crate) fn notable(&self) -> &[InstId] {
        &self.notable
    }

    /// The triggers of transfers, in document order.
    pub(crate) fn triggers(&self) -> &[InstId] {
        &self.triggers
    }

    /// Notable instructions of a function, in document order.
    pub(crate) fn notable_of(&self, function: FuncId) -> &[InstId] {
        let (from, to) = self.of_function[function.index()];
        &self.notable[from..to]
    }

    /// Notable instructions of a block, not of the bodies in it.
    pub(crate) fn notable_in(&self, block: BlockId) -> &[InstId] {
        let (from, to) = (self.of_block[block.index()], self.of_block[block.index() + 1]);
        &self.by_block[from as usize..to as usize]
    }

    /// Whether an instruction of a block has a body.
    pub(crate) fn nests(&self, block: BlockId) -> bool {
        self.nests[block.index()]
    }

    /// The first instruction of a function whose name stands before, and how many repeat a name.
    pub(crate) fn repeats(&self, function: FuncId) -> Option<(InstId, u64)> {
        self.repeats[function.index()]
    }

    /// Whether an instruction is a branch or an exit.
    fn is_branch(&self, inst: InstId) -> bool {
        self.branches.has(inst)
    }

    /// Whether an instruction stands behind one that ends its block.
    pub(crate) fn is_behind_end(&self, inst: InstId) -> bool {
        self.behind_ends.has(inst)
    }
}

/// Which names the instructions of a function have.
struct Names {
    /// By name, the function in which it was seen last, counted from 1.
    seen: Vec<u32>,
    function: u32,
    /// The first instruction whose name stands before, and how many there are.
    repeats: Option<(InstId, u64)>,
}

impl Names {
    fn see(&mut self, id: InstId, name: Sym) {
        let before = std::mem::replace(&mut self.seen[name.index()], self.function);
        if before == self.function && name != Sym::EMPTY {
            self.repeats.get_or_insert((id, 0)).1 += 1;
        }
    }
}

/// A set of instructions, as bits.
#[derive(Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds an instruction; says whether it was missing.
    pub(crate) fn insert(&mut self, inst: InstId) -> bool {
        let (at, bit) = (inst.index() / 64, 1 << (inst.index() % 64));
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        let was_missing = self.0[at] & bit == 0;
        self.0[at] |= bit;
        was_missing
    }

    fn has(&self, inst: InstId) -> bool {
        self.0.get(inst.index() / 64).is_some_and(|bits| bits >> (inst.index() % 64) & 1 == 1)
    }
}

/// What the checks of blocks see on their way and those of functions and of the module ask for. Marks are only ever
/// set, so that the order of tasks does not matter.
#[derive(Debug)]
pub(crate) struct Notes {
    read: Vec<AtomicBool>,
    written: Vec<AtomicBool>,
    /// By register, the block that used it first, counted from 1.
    homes: Vec<AtomicU32>,
    /// Whether several blocks may use one register.
    pub(crate) crosses_blocks: Mark,
    /// Whether an instruction that is not notable uses a register.
    pub(crate) has_other_registers: Mark,
    /// Whether an operand is symbolic.
    pub(crate) is_symbolic: Mark,
    /// Whether an instruction depends on one behind the end of a block.
    pub(crate) needs_behind_end: Mark,
    /// Whether a branch depends on something, or something on a branch.
    pub(crate) needs_branch: Mark,
}

/// Set once, or never.
#[derive(Debug, Default)]
pub(crate) struct Mark(AtomicBool);

impl Mark {
    fn set(&self) {
        set(&self.0);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Writes only what changes, so that threads do not take the line from each other.
fn set(mark: &AtomicBool) {
    if !mark.load(Relaxed) {
        mark.store(true, Relaxed);
    }
}

impl Notes {
    pub(crate) fn new(module: &Module) -> Notes {
        let marks = || (0..module.set_ids().len()).map(|_| AtomicBool::new(false)).collect();
        Notes {
            read: marks(),
            written: marks(),
            homes: (0..module.reg_ids().len()).map(|_| AtomicU32::new(0)).collect(),
            crosses_blocks: Mark::default(),
            has_other_registers: Mark::default(),
            is_symbolic: Mark::default(),
            needs_behind_end: Mark::default(),
            needs_branch: Mark::default(),
        }
    }

    /// Looks at an instruction.
    pub(crate) fn see(&self, cx: &Cx<'_>, inst: &Inst<'_>) {
        for operand in &inst.operands {
            // Its marks are set.
            if operand.is_clean() {
                continue;
            }
            if let Some(set_id) = operand.set {
                if operand.list != OperandList::Outs || operand.access.may_read() {
                    set(&self.read[set_id.index()]);
                }
                if operand.access.writes() {
                    set(&self.written[set_id.index()]);
                }
            }
            match operand.argument {
                Argument::SymbolicAp(_) | Argument::SymbolicImmValue(_) => self.is_symbolic.set(),
                Argument::RegisterAp(_) | Argument::RegisterAccess(_) => {
                    self.register(cx, inst, operand.argument)
                }
                _ => {}
            }
        }
        // Every branch ends a block.
        if inst.function.is_some() && cx.survey.has_ends {
            self.edges(cx, inst);
        }
    }

    fn register(&self, cx: &Cx<'_>, inst: &Inst<'_>, argument: &Argument) {
        let Some(reg) = argument.register().and_then(|reg| reg.id()) else { return };
        if !cx.survey.is_notable(inst.opcode) {
            self.has_other_registers.set();
        }
        let block = inst.inst.block.index() as u32 + 1;
        match self.homes[reg.index()].compare_exchange(0, block, Relaxed, Relaxed) {
            Err(home) if home != block => self.crosses_blocks.set(),
            _ => {}
        }
    }

    fn edges(&self, cx: &Cx<'_>, inst: &Inst<'_>) {
        let is_branch = cx.survey.is_branch(inst.id);
        for edge in inst.inst.dependencies.iter() {
            let may_order = |branch: InstId| {
                edge.kind() == EdgeKind::ORDERED && cx.module[branch].opcode() == It::CompareAndBranch
            };
            if is_branch && !may_order(inst.id)
                || cx.survey.is_branch(edge.target()) && !may_order(edge.target())
            {
                self.needs_branch.set();
            }
            if cx.survey.is_behind_end(edge.target()) {
                self.needs_behind_end.set();
            }
        }
    }

    /// Whether something reads a set.
    pub(crate) fn is_read(&self, set: SetId) -> bool {
        self.read[set.index()].load(Relaxed)
    }

    /// Whether something writes a set.
    pub(crate) fn is_written(&self, set: SetId) -> bool {
        self.written[set.index()].load(Relaxed)
    }
}

/// What the instructions of a block have together: what its own checks look at, once all were looked at.
#[derive(Debug)]
pub(crate) struct Seen<'m> {
    pub(crate) block: BlockId,
    /// Whether an instruction may depend on one that stands behind it.
    pub(crate) forward: bool,
    /// What they do to PSUM.
    pub(crate) groups: Groups<'m>,
    /// The first instruction that has a body or is a call.
    end: Option<InstId>,
    is_behind: bool,
    /// The least id that the next instruction has if ids ascend.
    next: usize,
}

impl<'m> Seen<'m> {
    pub(crate) fn new(cx: &Cx<'_>, block: BlockId) -> Seen<'m> {
        let leaves = |inst: &InstId| {
            let inst = &cx.module[*inst];
            !inst.body().is_empty() || inst.opcode().is_a(It::Call)
        };
        let list = &cx.module[block].instructions;
        Seen {
            block,
            forward: false,
            groups: Groups::default(),
            end: match (cx.survey.nests(block), cx.survey.has_calls) {
                (true, _) => list.iter().find(|inst| leaves(inst)).copied(),
                // Calls are notable.
                (false, true) => cx.survey.notable_in(block).iter().find(|inst| leaves(inst)).copied(),
                (false, false) => None,
            },
            is_behind: false,
            next: 0,
        }
    }

    /// Looks at the next instruction.
    pub(crate) fn see(&mut self, cx: &Cx<'m>, inst: &Inst<'m>) {
        // Ids ascend in documents as they are read. Where they do not, nothing is known of positions.
        let at = inst.id.index();
        self.forward |= self.next > at;
        self.next = at + 1;
        let is_later = |target: InstId| target.index() > at && cx.module[target].block == self.block;
        self.forward |= inst.inst.dependencies.iter().any(|edge| is_later(edge.target()));
        self.is_behind |= self.end == Some(inst.id);
        self.groups.see(cx, inst, !self.is_behind);
    }
}
