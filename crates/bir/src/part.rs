//! Parts of a module that were made apart from it: their names and ids become those of the module that takes them.
//! This is how a document is read by several threads.

use hashbrown::HashMap;

use crate::argument::Argument;
use crate::edges::{Edge, EdgeSet};
use crate::ids::{BlockId, ExprId, Id, InstId, QueueId};
use crate::inst::{DebugInfo, Instruction, Rare};
use crate::module::{Holder, Module};
use crate::names::Sym;
use crate::record::FieldType;
use crate::records::{Block, ImmValue, PhysicalAp};
use crate::shared::Shared;

/// What names and ids of a part are in the module that takes it. Functions and storage are those of the module
/// already, and so are their ids in the part.
#[derive(Default)]
pub struct Renumbering {
    /// The name that a name of the part is, by index. Parts that use one table of names may use one renumbering.
    pub names: Vec<Sym>,
    /// The queues that the part names, by index.
    pub queues: Vec<QueueId>,
    /// Index of the block that the first block of the part is.
    block: usize,
    /// What comes before the other objects of the part in the module.
    blocks: usize,
    insts: usize,
    exprs: usize,
    accesses: Moved<PhysicalAp>,
    numbers: Moved<ImmValue>,
    sources: Moved<DebugInfo>,
}

impl Renumbering {
    /// The name that a name of the part is.
    #[inline]
    pub fn name(&self, name: Sym) -> Sym {
        self.names[name.index()]
    }

    /// The instruction that one of the part is, once the module has taken the part.
    #[inline]
    pub fn inst(&self, id: InstId) -> InstId {
        InstId::new(id.index() + self.insts)
    }

    pub(crate) fn block(&self, id: BlockId) -> BlockId {
        match id.index() {
            0 => BlockId::new(self.block),
            index => BlockId::new(index - 1 + self.blocks),
        }
    }

    pub(crate) fn queue(&self, id: QueueId) -> QueueId {
        self.queues[id.index()]
    }

    pub(crate) fn expr(&self, id: ExprId) -> ExprId {
        ExprId::new(id.index() + self.exprs)
    }

    /// For ids that are those of the module.
    pub(crate) fn as_it_is<T>(&self, id: T) -> T {
        id
    }

    fn holder(&self, holder: Holder) -> Holder {
        match holder {
            Holder::Inst(id) => Holder::Inst(self.inst(id)),
            Holder::Queue(id) => Holder::Queue(self.queue(id)),
            Holder::Function(_) => holder,
        }
    }
}

/// Instructions that have names or ids elsewhere than in name, block, dependencies and source record.
#[derive(Default, Debug)]
pub struct Marked {
    /// In the record of semaphores.
    pub syncs: Vec<InstId>,
    /// In op, operands, and the rest of the header.
    pub others: Vec<InstId>,
}

/// Values that many instructions share, by address: what they were, which keeps the address taken, and what they are
/// in the module when that is something else. They hold no ids of the part, so this holds for all parts that have
/// their names in common.
struct Moved<T>(HashMap<usize, (Shared<T>, Option<Shared<T>>)>);

impl<T> Default for Moved<T> {
    fn default() -> Self {
        Moved(HashMap::new())
    }
}

/// How many shared values are known. What is forgotten is shared by fewer instructions.
const MOST: usize = 1 << 14;

/// Renumbers a value that may be shared.
fn renumber_shared<T: Clone + PartialEq>(
    value: &mut Shared<T>,
    to: &mut Renumbering,
    moved: fn(&mut Renumbering) -> &mut Moved<T>,
    renumber: fn(&mut T, &mut Renumbering),
) {
    // The value itself is not looked at, which another thread may be busy sharing.
    if let Some((_, other)) = moved(to).0.get(&value.address()) {
        if let Some(other) = other {
            *value = other.clone();
        }
        return;
    }
    if !value.is_shared() {
        return renumber(value, to);
    }
    let mut other = T::clone(value);
    renumber(&mut other, to);
    let before = value.clone();
    let other = (other != **value).then(|| Shared::new(other));
    if let Some(other) = &other {
        *value = other.clone();
    }
    let moved = &mut moved(to).0;
    if moved.len() == MOST {
        moved.clear();
    }
    moved.insert(before.address(), (before, other));
}

impl Argument {
    fn renumber(&mut self, to: &mut Renumbering) {
        match self {
            Argument::PhysicalAp(access) => {
                renumber_shared(access, to, |to| &mut to.accesses, FieldType::renumber);
            }
            Argument::ImmValue(number) => {
                renumber_shared(number, to, |to| &mut to.numbers, FieldType::renumber);
            }
            Argument::SymbolicAp(operand) => operand.renumber(to),
            Argument::RegisterAp(operand) => operand.renumber(to),
            Argument::SymbolicImmValue(operand) => operand.renumber(to),
            Argument::ImmArray(operand) => operand.renumber(to),
            Argument::RegisterAccess(operand) => operand.renumber(to),
        }
    }
}

impl DebugInfo {
    fn renumber(&mut self, to: &mut Renumbering) {
        let DebugInfo { lineno: _, op_name, rest } = self;
        op_name.renumber(to);
        rest.renumber(to);
    }
}

impl EdgeSet {
    fn renumber(&mut self, to: &Renumbering) {
        self.map(|edge| Edge::new(to.inst(edge.target()), edge.kind()));
    }
}

impl Rare {
    fn renumber(&mut self, to: &mut Renumbering) {
        let Rare {
            indirection_ins,
            unroll_dependencies,
            loopnest,
            predicates,
            order,
            dma_trigger_debug_update_semaphore_id: _,
            missing_edges,
            extra: _,
        } = self;
        indirection_ins.iter_mut().for_each(|operand| operand.renumber(to));
        for edge in unroll_dependencies {
            edge.target.renumber(to);
            edge.exprs.renumber(to);
            edge.predicates.renumber(to);
        }
        loopnest.renumber(to);
        predicates.renumber(to);
        order.renumber(to);
        missing_edges.iter_mut().for_each(|edge| edge.name.renumber(to));
    }
}

impl Instruction {
    /// Gives what nearly every instruction has the values of the module that takes it.
    #[inline]
    fn renumber_common(&mut self, to: &mut Renumbering) {
        self.name.renumber(to);
        self.block = to.block(self.block);
        self.dependencies.renumber(to);
        self.loop_carried_dependencies.renumber(to);
        if let Some(debug) = &mut self.debug {
            renumber_shared(debug, to, |to| &mut to.sources, DebugInfo::renumber);
        }
    }

    fn renumber_sync(&mut self, to: &mut Renumbering) {
        if let Some(sync) = &mut self.sync_info {
            sync.renumber(to);
        }
    }

    fn renumber_others(&mut self, to: &mut Renumbering) {
        self.engine.renumber(to);
        self.origin.renumber(to);
        self.op.renumber(to);
        self.ins.iter_mut().chain(&mut self.outs).for_each(|operand| operand.renumber(to));
        self.optin_passes.iter_mut().flatten().for_each(|name| name.renumber(to));
        if self.has_rare() {
            self.rare_mut().renumber(to);
        }
    }
}

impl Module {
    /// Takes the blocks, instructions and expressions of a part. Its first block is not taken but stands for `block`:
    /// its instructions are given back, for the list of that block. Names and queues of the part are those of the
    /// renumbering, and its functions and storage must be those of the module. `others` are the instructions, in
    /// ascending order, that may have names or ids elsewhere than in name, block, dependencies and source record.
    ///
    /// ```
    /// use bir::ids::{BlockId, Id};
    /// use bir::{Instruction, Module, Op, Renumbering, Sym};
    ///
    /// let mut part = Module::default();
    /// let block = part.add_block(Default::default());
    /// let name = part.names.intern("I-7");
    /// let id = part.add_inst(Instruction::new(name, block, Op::NoOp));
    /// part[block].instructions.push(id);
    ///
    /// let mut module = Module::default();
    /// let block = module.add_block(Default::default());
    /// let mut to = Renumbering::default();
    /// to.names = part.names.iter().map(|name| module.names.intern(name)).collect();
    /// let taken = module.take_part(part, block, &Default::default(), &mut to);
    /// assert_eq!(module.str(module[taken[0]].name), "I-7");
    /// assert_eq!(module[taken[0]].block, block);
    /// ```
    pub fn take_part(
        &mut self,
        part: Module,
        block: BlockId,
        marked: &Marked,
        to: &mut Renumbering,
    ) -> Vec<InstId> {
        let (mut blocks, mut insts, exprs) = part.into_arenas();
        let (own_blocks, own_insts) = self.arenas_mut();
        to.block = block.index();
        (to.blocks, to.insts, to.exprs) = (own_blocks.len(), own_insts.len(), self.exprs.len());
        insts.iter_mut().for_each(|inst| inst.renumber_common(to));
        marked.syncs.iter().for_each(|id| insts[id.index()].renumber_sync(to));
        marked.others.iter().for_each(|id| insts[id.index()].renumber_others(to));
        blocks.iter_mut().for_each(|block| block.renumber(to));
        self.exprs.take_part(exprs, to);
        let (own_blocks, own_insts) = self.arenas_mut();
        own_insts.append(&mut insts);
        let mut blocks = blocks.into_iter();
        let taken = blocks.next().map(|block| block.instructions.0).unwrap_or_default();
        own_blocks.extend(blocks.map(|block| Block { holder: to.holder(block.holder), ..block }));
        taken
    }
}
