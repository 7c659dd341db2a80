//! Changing which object belongs to which, so that both ends of every link agree; and a check that they do.

use std::fmt;

use hashbrown::HashSet;

use crate::argument::Argument;
use crate::edges::{Edge, EdgeKind};
use crate::enums::MemoryType;
use crate::ids::{BlockId, FuncId, InstId, LocId, QueueId, Ref, RegId, SetId};
use crate::inst::Instruction;
use crate::module::{Holder, Module, NameOf};
use crate::names::Sym;
use crate::ops::{self, Op};
use crate::records::{Block, Function, MemoryLocation, MemoryLocationSet, Queue, Register};
use crate::storage::{AliasEdge, Storage};

/// A link that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// An instruction cannot depend on itself. spec: bir-json 7.2
    SelfDependency,
    /// Only locations in DRAM can be aliases. spec: bir-json 5.4
    AliasOutsideDram,
    /// A location cannot be an alias of itself.
    SelfAlias,
    /// The instruction is no DMATrigger.
    NotATrigger,
    /// The instruction is no DMABlock.
    NotADmaBlock,
    /// The instruction has no nested body.
    NoBody,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkError::SelfDependency => "an instruction cannot depend on itself",
            LinkError::AliasOutsideDram => "aliasing is only permitted for DRAM locations",
            LinkError::SelfAlias => "a location cannot be an alias of itself",
            LinkError::NotATrigger => "the instruction is no DMATrigger",
            LinkError::NotADmaBlock => "the instruction is no DMABlock",
            LinkError::NoBody => "the instruction has no nested body",
        })
    }
}

impl std::error::Error for LinkError {}

/// Adding.
impl Module {
    /// Adds a function at the end of the ordinary ones.
    pub fn new_function(&mut self, name: &str) -> FuncId {
        let name = self.names.intern(name);
        let id = self.add_func(Function { name, ..Function::default() });
        self.root.functions.push(id);
        id
    }

    /// Adds a function to the NKI holder.
    pub fn new_nki_function(&mut self, name: &str) -> FuncId {
        let name = self.names.intern(name);
        let id = self.add_func(Function { name, nki: true, ..Function::default() });
        self.root.nki_functions.get_or_insert_default().functions.push(id);
        id
    }

    /// Adds a queue.
    pub fn new_queue(&mut self, name: &str) -> QueueId {
        let name = self.names.intern(name);
        let id = self.add_queue(Queue { name, ..Queue::default() });
        self.root.queues.push(id);
        id
    }

    /// Adds a block at the end of the blocks of a function, a queue or a nested body.
    ///
    /// # Panics
    /// When the holder is an instruction without a body.
    pub fn new_block(&mut self, holder: Holder, name: &str) -> BlockId {
        let name = self.names.intern(name);
        let id = self.add_block(Block { name, holder, ..Block::default() });
        self.blocks_of_mut(holder).expect("the instruction has a nested body").push(id);
        id
    }

    /// Adds a memory-location set to the storage of a function.
    pub fn new_set(&mut self, function: FuncId, set: MemoryLocationSet) -> SetId {
        let id = self.add_set(MemoryLocationSet { function, ..set });
        self[function].allocations.push(Storage::Set(id));
        id
    }

    /// Adds a placement to a set.
    pub fn new_location(&mut self, set: SetId, location: MemoryLocation) -> LocId {
        let id = self.add_loc(MemoryLocation { set, ..location });
        self[set].memorylocations.push(id);
        id
    }

    /// Adds a register to the storage of a function.
    pub fn new_register(&mut self, function: FuncId, register: Register) -> RegId {
        let id = self.add_reg(Register { function, ..register });
        self[function].allocations.push(Storage::Register(id));
        id
    }

    /// Puts an instruction at the end of a block. The blocks of its body, if it has any, become its own.
    pub fn push_inst(&mut self, block: BlockId, inst: Instruction) -> InstId {
        let at = self[block].instructions.len();
        self.insert_inst(block, at, inst)
    }

    /// Puts an instruction into a block, before the one with index `at`.
    ///
    /// # Panics
    /// When `at` is larger than the number of instructions.
    pub fn insert_inst(&mut self, block: BlockId, at: usize, mut inst: Instruction) -> InstId {
        inst.block = block;
        let id = self.add_inst(inst);
        self[block].instructions.insert(at, id);
        for body in self[id].body().to_vec() {
            self[body].holder = Holder::Inst(id);
        }
        id
    }

    fn blocks_of_mut(&mut self, holder: Holder) -> Result<&mut Vec<BlockId>, LinkError> {
        Ok(match holder {
            Holder::Function(id) => &mut self[id].blocks,
            Holder::Queue(id) => &mut self[id].blocks,
            Holder::Inst(id) => &mut **self[id].body_mut().ok_or(LinkError::NoBody)?,
        })
    }
}

/// Moving and removing.
impl Module {
    /// Place of an instruction in its block; `None` when it was removed.
    pub fn index_of(&self, inst: InstId) -> Option<usize> {
        self[self[inst].block].instructions.iter().position(|id| *id == inst)
    }

    /// Moves an instruction, with its body, before the one with index `at` of a block. The index counts without
    /// the instruction itself.
    ///
    /// # Panics
    /// When `at` is too large.
    pub fn move_inst(&mut self, inst: InstId, block: BlockId, at: usize) {
        let old = self[inst].block;
        self[old].instructions.retain(|id| *id != inst);
        self[block].instructions.insert(at, inst);
        self[inst].block = block;
    }

    /// Takes instructions out of the module, with their bodies and with everything that points to them:
    /// dependencies, the links of DMA triggers and DMA blocks, call bindings. Waits that name one of them keep
    /// the name. Walks the whole module once, however many there are.
    pub fn remove_insts(&mut self, insts: &[InstId]) {
        let mut gone: HashSet<InstId> = insts.iter().copied().collect();
        for inst in insts {
            gone.extend(self.insts_of(Holder::Inst(*inst)));
        }
        for inst in insts {
            let block = self[*inst].block;
            self[block].instructions.retain(|id| !gone.contains(id));
        }
        self.forget_insts(&gone);
    }

    /// Takes a block out of the module, with its instructions and everything that points to them. Branches to
    /// the block lose their target.
    pub fn remove_block(&mut self, block: BlockId) {
        let insts = self[block].instructions.clone();
        self.remove_insts(&insts);
        let holder = self[block].holder;
        if let Ok(blocks) = self.blocks_of_mut(holder) {
            blocks.retain(|id| *id != block);
        }
        let users: Vec<InstId> = self.insts().collect();
        for id in users {
            let clear = |r: &mut Option<Ref<BlockId>>| {
                if r.and_then(Ref::id) == Some(block) {
                    *r = None;
                }
            };
            match &mut self[id].op {
                Op::CompareAndBranch(op) => {
                    clear(&mut op.on_true);
                    clear(&mut op.on_false);
                }
                Op::UnconditionalBranch(op) => clear(&mut op.target),
                Op::SwitchQueueInstance(op) => clear(&mut op.instance),
                _ => {}
            }
        }
    }

    /// Moves a block, with its instructions, before the one with index `at` of a holder. The index counts without
    /// the block itself.
    ///
    /// # Errors
    /// [`LinkError::NoBody`] when the holder is an instruction without a body.
    ///
    /// # Panics
    /// When `at` is too large.
    pub fn move_block(&mut self, block: BlockId, holder: Holder, at: usize) -> Result<(), LinkError> {
        self.blocks_of_mut(holder)?;
        let old = self[block].holder;
        if let Ok(blocks) = self.blocks_of_mut(old) {
            blocks.retain(|id| *id != block);
        }
        self.blocks_of_mut(holder)?.insert(at, block);
        self[block].holder = holder;
        Ok(())
    }

    /// Drops every link to instructions that are no longer in the module.
    fn forget_insts(&mut self, gone: &HashSet<InstId>) {
        let is_gone = |r: Ref<InstId>| r.id().is_some_and(|id| gone.contains(&id));
        let insts: Vec<InstId> = self.insts().collect();
        for id in insts {
            let inst = &mut self[id];
            for set in [&mut inst.dependencies, &mut inst.loop_carried_dependencies] {
                let dead: Vec<Edge> = set.iter().filter(|edge| gone.contains(&edge.target())).collect();
                dead.into_iter().for_each(|edge| {
                    set.remove(edge);
                });
            }
            if !inst.rare().unroll_dependencies.is_empty() {
                inst.rare_mut().unroll_dependencies.retain(|edge| !is_gone(edge.target));
            }
            match &mut inst.op {
                Op::DMATrigger(op) => op.dma_blocks.retain(|block| !is_gone(*block)),
                Op::DMABlock(op) if op.dma_trigger.is_some_and(is_gone) => op.dma_trigger = None,
                _ => {}
            }
        }
        self.root.call_to_physical_memlocs.retain(|binding| !is_gone(binding.call));
    }
}

/// Linking.
impl Module {
    /// Makes an instruction depend on another one; false when it does already.
    ///
    /// # Errors
    /// [`LinkError::SelfDependency`].
    pub fn depend(&mut self, inst: InstId, on: InstId, kind: EdgeKind) -> Result<bool, LinkError> {
        if inst == on {
            return Err(LinkError::SelfDependency);
        }
        Ok(self[inst].dependencies.insert(Edge::new(on, kind)))
    }

    /// Makes an instruction depend on another one of an earlier iteration; false when it does already.
    ///
    /// # Errors
    /// [`LinkError::SelfDependency`].
    pub fn depend_carried(&mut self, inst: InstId, on: InstId, kind: EdgeKind) -> Result<bool, LinkError> {
        if inst == on {
            return Err(LinkError::SelfDependency);
        }
        Ok(self[inst].loop_carried_dependencies.insert(Edge::new(on, kind)))
    }

    /// Makes two DRAM locations aliases of each other, on both ends. `kind` is a 3-bit mask and is added to the
    /// one that is there. spec: bir-json 5.4
    ///
    /// # Errors
    /// [`LinkError::AliasOutsideDram`], [`LinkError::SelfAlias`].
    pub fn alias(&mut self, a: LocId, b: LocId, kind: u8) -> Result<(), LinkError> {
        if a == b {
            return Err(LinkError::SelfAlias);
        }
        if self[a].r#type != MemoryType::DRAM || self[b].r#type != MemoryType::DRAM {
            return Err(LinkError::AliasOutsideDram);
        }
        for (from, to) in [(a, b), (b, a)] {
            let aliases = &mut self[from].alias;
            match aliases.iter_mut().find(|edge| edge.to == to) {
                Some(edge) => edge.kind |= kind & 7,
                None => aliases.push(AliasEdge { to, kind: kind & 7 }),
            }
        }
        Ok(())
    }

    /// Takes an alias away on both ends.
    pub fn unalias(&mut self, a: LocId, b: LocId) {
        self[a].alias.retain(|edge| edge.to != b);
        self[b].alias.retain(|edge| edge.to != a);
    }

    /// Makes a DMATrigger start a DMABlock, which belongs to one trigger: another one loses it.
    /// spec: bir-json 6.3
    ///
    /// # Errors
    /// [`LinkError::NotATrigger`], [`LinkError::NotADmaBlock`].
    pub fn trigger(&mut self, trigger: InstId, block: InstId) -> Result<(), LinkError> {
        if !matches!(self[trigger].op, Op::DMATrigger(_)) {
            return Err(LinkError::NotATrigger);
        }
        let Op::DMABlock(op) = &mut self[block].op else { return Err(LinkError::NotADmaBlock) };
        let old = op.dma_trigger.replace(Ref::to(trigger)).and_then(Ref::id);
        if let Some(Op::DMATrigger(op)) = old.filter(|old| *old != trigger).map(|old| &mut self[old].op) {
            op.dma_blocks.retain(|r| r.id() != Some(block));
        }
        if let Op::DMATrigger(op) = &mut self[trigger].op
            && !op.dma_blocks.iter().any(|r| r.id() == Some(block))
        {
            op.dma_blocks.push(Ref::to(block));
        }
        Ok(())
    }

    /// Renames an instruction. References go by id and follow; waits hold names, and those that mean this
    /// instruction, because no other one is called so, follow too. Walks the whole module.
    pub fn rename_inst(&mut self, inst: InstId, name: &str) {
        let old = self[inst].name;
        let new = self.names.intern(name);
        let all: Vec<InstId> = self.insts().collect();
        let shared = all.iter().any(|id| *id != inst && self[*id].name == old);
        self[inst].name = new;
        if shared {
            return;
        }
        for id in all {
            let Some(sync) = &mut self[id].sync_info else { continue };
            for wait in sync.on_wait.iter_mut().filter(|wait| wait.from == Some(old)) {
                wait.from = Some(new);
            }
        }
    }

    /// Renames an object other than an instruction. References go by id and follow.
    pub fn rename<T>(&mut self, id: T, name: &str)
    where
        Module: Renamed<T>,
    {
        let name = self.names.intern(name);
        self.set_name(id, name);
    }
}

/// Objects whose name nothing but their own record holds.
pub trait Renamed<T>: NameOf<T> {
    /// Sets the name.
    fn set_name(&mut self, id: T, name: Sym);
}

macro_rules! renamed {
    ($($id:ty),*) => {$(
        impl Renamed<$id> for Module {
            fn set_name(&mut self, id: $id, name: Sym) {
                self[id].name = name;
            }
        }
    )*};
}
renamed!(FuncId, BlockId, SetId, LocId, RegId, QueueId);

/// A link whose two ends do not agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkFault(String);

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Module {
    /// Links whose ends do not agree: an object in two lists or in none that its owner names, dependencies and
    /// references on what is no longer in the module, aliases with one end, DMA blocks that their trigger does
    /// not name. Takes time linear in the module. The functions of this file make no such fault.
    pub fn check_links(&self) -> Vec<LinkFault> {
        let mut check = Check { module: self, owners: HashSet::new(), faults: Vec::new() };
        check.owners();
        check.storage();
        check.insts();
        check.faults
    }
}

/// An object of a module, for the check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Object {
    Func(FuncId),
    Queue(QueueId),
    Block(BlockId),
    Inst(InstId),
    Set(SetId),
    Loc(LocId),
    Reg(RegId),
}

struct Check<'m> {
    module: &'m Module,
    /// Every object that a list owns.
    owners: HashSet<Object>,
    faults: Vec<LinkFault>,
}

impl<'m> Check<'m> {
    fn fault(&mut self, text: String) {
        self.faults.push(LinkFault(text));
    }

    fn own(&mut self, object: Object, right: bool) {
        if !self.owners.insert(object) {
            self.fault(format!("{object:?} stands in two lists"));
        } else if !right {
            self.fault(format!("{object:?} does not name the owner of its list"));
        }
    }

    fn lives(&self, object: Object) -> bool {
        self.owners.contains(&object)
    }

    fn owners(&mut self) {
        let m = self.module;
        for id in m.functions() {
            let nki = !m.root.functions.contains(&id);
            self.own(Object::Func(id), m[id].nki == nki);
            for set in m.sets_of(id) {
                self.own(Object::Set(set), m[set].function == id);
                for loc in &m[set].memorylocations {
                    self.own(Object::Loc(loc), m[loc].set == set);
                }
            }
            for reg in m.registers_of(id) {
                self.own(Object::Reg(reg), m[reg].function == id);
            }
            self.blocks(Holder::Function(id));
        }
        for id in m.queues() {
            self.own(Object::Queue(id), true);
            self.blocks(Holder::Queue(id));
        }
    }

    fn blocks(&mut self, holder: Holder) {
        let m = self.module;
        let mut stack = vec![holder];
        while let Some(holder) = stack.pop() {
            for block in m.blocks_of(holder) {
                self.own(Object::Block(*block), m[*block].holder == holder);
                for inst in &m[*block].instructions {
                    self.own(Object::Inst(inst), m[inst].block == *block);
                    if !m[inst].body().is_empty() {
                        stack.push(Holder::Inst(inst));
                    }
                }
            }
        }
    }

    fn storage(&mut self) {
        let m = self.module;
        for id in m.functions().flat_map(|function| m.locations_of(function)).collect::<Vec<_>>() {
            for edge in &m[id].alias {
                let back = m[edge.to].alias.iter().filter(|back| back.to == id && back.kind == edge.kind);
                if back.count() != 1 {
                    self.fault(format!("the alias of {id:?} and {:?} has one end", edge.to));
                }
                if !self.lives(Object::Loc(edge.to)) {
                    self.fault(format!("{id:?} is an alias of {:?}, which is in no set", edge.to));
                }
            }
        }
    }

    fn insts(&mut self) {
        let m = self.module;
        for id in m.insts() {
            let inst = &m[id];
            for edge in inst.dependencies.iter().chain(inst.loop_carried_dependencies.iter()) {
                if edge.target() == id {
                    self.fault(format!("{id:?} depends on itself"));
                } else if !self.lives(Object::Inst(edge.target())) {
                    self.fault(format!("{id:?} depends on {:?}, which is in no block", edge.target()));
                }
            }
            for (_, _, operand) in inst.operands() {
                self.operand(id, operand);
            }
            match &inst.op {
                Op::DMATrigger(op) => self.trigger(id, op),
                Op::DMABlock(op) => self.dma_block(id, op),
                _ => {}
            }
        }
    }

    fn operand(&mut self, id: InstId, operand: &Argument) {
        let found = [
            operand.location().and_then(Ref::id).map(Object::Loc),
            operand.location_set().and_then(Ref::id).map(Object::Set),
            operand.register().and_then(Ref::id).map(Object::Reg),
        ];
        for object in found.into_iter().flatten().filter(|object| !self.lives(*object)).collect::<Vec<_>>() {
            self.fault(format!("an operand of {id:?} names {object:?}, which is in no function"));
        }
    }

    fn trigger(&mut self, id: InstId, op: &ops::DMATrigger) {
        for block in op.dma_blocks.iter().filter_map(|r| r.id()) {
            if !self.lives(Object::Inst(block)) {
                self.fault(format!("{id:?} triggers {block:?}, which is in no block"));
            }
            // Documents may leave the way back out; it must not name another trigger.
            let back = match &self.module[block].op {
                Op::DMABlock(op) => op.dma_trigger.and_then(Ref::id),
                _ => {
                    self.fault(format!("{id:?} triggers {block:?}, which is no DMABlock"));
                    None
                }
            };
            if back.is_some_and(|back| back != id) {
                self.fault(format!("{id:?} triggers {block:?}, which names another trigger"));
            }
        }
    }

    fn dma_block(&mut self, id: InstId, op: &ops::DMABlock) {
        let Some(trigger) = op.dma_trigger.and_then(Ref::id) else { return };
        let named = match &self.module[trigger].op {
            Op::DMATrigger(op) => op.dma_blocks.iter().any(|r| r.id() == Some(id)),
            _ => false,
        };
        if !named || !self.lives(Object::Inst(trigger)) {
            self.fault(format!("{id:?} names {trigger:?}, which does not trigger it"));
        }
    }
}
