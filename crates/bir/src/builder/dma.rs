//! DMA by descriptors: a DMATrigger in a function, and a DMABlock with descriptors in a queue. spec: bir-json 6

use super::{Access, Builder, InstBuilder};
use crate::enums::{EngineType, InstructionType};
use crate::ids::{BlockId, InstId, QueueId};
use crate::inst::Instruction;
use crate::module::{Holder, Module};
use crate::ops::{DMABlock, DMADescriptorCopy, DMATrigger, Op};
use crate::records::{SyncInfo, SyncUpdate};

/// A transfer that was built: its two instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dma {
    /// The DMATrigger: the issue of the transfer.
    pub trigger: InstId,
    /// The DMABlock: its completion, which waits and dependencies name.
    pub block: InstId,
}

impl Dma {
    /// What the completion of a DMA adds to its semaphore: sixteen rings count one each. spec: ordering 5
    pub const COMPLETION: u32 = 16;
}

/// Adds descriptors to a transfer.
#[derive(Debug)]
pub struct DmaBuilder<'b> {
    module: &'b mut Module,
    dma: Dma,
    /// The block of descriptors.
    body: BlockId,
}

impl Builder<'_> {
    /// Adds a transfer on a queue: a DMATrigger called `name` here, and at the end of the last instance of the queue
    /// a DMABlock called `<name>_dma`, each linked to the other.
    ///
    /// # Panics
    /// When the queue has no instance.
    pub fn dma(&mut self, name: &str, engine: EngineType, queue: QueueId) -> DmaBuilder<'_> {
        let op = DMATrigger { queue: Some(queue.into()), ..DMATrigger::default() };
        let trigger = self.inst(name, engine, op).id();
        let debug = self.debug_info();
        let module = &mut *self.module;
        let instance = *module[queue].blocks.last().expect("the queue has an instance");
        let block_name = format!("{name}_dma");
        let op = DMABlock { block_id: module[instance].instructions.len() as u32, ..DMABlock::default() };
        let mut block = Instruction::new(module.names.intern(&block_name), instance, op.into());
        block.engine = EngineType::DMA;
        block.debug = debug;
        let block = module.push_inst(instance, block);
        let body = module.new_block(Holder::Inst(block), &format!("{block_name}_Block0"));
        module.trigger(trigger, block).expect("both were made for it");
        DmaBuilder { module, dma: Dma { trigger, block }, body }
    }
}

impl<'b> DmaBuilder<'b> {
    /// Adds a descriptor that copies.
    pub fn copy(self, source: impl Into<Access>, destination: impl Into<Access>) -> Self {
        self.descriptor(DMADescriptorCopy::default(), source, destination)
    }

    /// Adds a descriptor of any op.
    pub fn descriptor(
        self,
        op: impl Into<Op>,
        source: impl Into<Access>,
        destination: impl Into<Access>,
    ) -> Self {
        let index = self.module[self.body].instructions.len();
        let name = format!("{}_{index}", self.module.str(self.module[self.dma.block].name));
        let mut inst = Instruction::new(self.module.names.intern(&name), self.body, op.into());
        inst.engine = EngineType::DMA;
        let id = self.module.push_inst(self.body, inst);
        InstBuilder::new(self.module, id).input(source.into()).output(destination.into());
        self
    }

    /// Adds 16 to a semaphore when the transfer is complete.
    pub fn completes(self, semaphore: u32) -> Self {
        let update =
            SyncUpdate { id: Some(semaphore), update_value: Some(Dma::COMPLETION), ..SyncUpdate::default() };
        let sync: &mut SyncInfo = self.module[self.dma.block].sync_info.get_or_insert_default();
        sync.on_update.push(update);
        self
    }

    /// The transfer.
    pub fn done(self) -> Dma {
        debug_assert_eq!(self.module[self.dma.block].opcode(), InstructionType::DMABlock);
        self.dma
    }
}
