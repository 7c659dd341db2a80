//! The order of a program: positions of instructions, what they touch, and where they stand.

use std::cell::OnceCell;

use bir::diag::DisplayNames;
use bir::geometry::{Footprint, Footprints, LoopAxes, transfers};
use bir::ids::{BlockId, FuncId, Id, InstId};
use bir::operands::Access;
use bir::{Holder, Module, Op, OpenEnum, OperandList};
use serde::Serialize;

/// Where an instruction stands. Keys as in diagnostics.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct At {
    /// The function, or the queue.
    pub function: String,
    /// The block.
    pub block: String,
    /// Its name; of a transfer, the name of its DMABlock.
    pub instruction: String,
    /// Index in the block.
    pub index: usize,
    /// Its InstructionType.
    pub opcode: String,
    /// Its engine.
    pub engine: String,
    /// The DMATrigger that starts it, if it is a DMABlock: function, block and index are those of the trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
}

/// A module in program order: functions as they stand in the document, transfers of queues where their trigger is.
pub(crate) struct Program<'m> {
    pub(crate) module: &'m Module,
    pub(crate) footprints: Footprints<'m>,
    /// Instructions of functions in document order; then those of DMA blocks that no trigger names.
    pub(crate) order: Vec<InstId>,
    /// By id of the instruction; `u32::MAX` for those that stand nowhere.
    position: Vec<u32>,
    /// The DMA blocks that triggers name, with the trigger. Sorted.
    triggers: Vec<(InstId, InstId)>,
    names: OnceCell<DisplayNames>,
}

/// An access in program order.
#[derive(Clone, Copy)]
pub(crate) struct Toucher {
    /// Position of the instruction, or of the trigger.
    pub(crate) position: u32,
    /// The instruction that has the operands.
    pub(crate) inst: InstId,
    /// The instruction that it is reported as: the DMABlock of a descriptor.
    pub(crate) subject: InstId,
}

/// An operand's bytes.
#[derive(Clone)]
pub(crate) struct Touch {
    pub(crate) list: OperandList,
    pub(crate) index: usize,
    pub(crate) access: Access,
    pub(crate) footprint: Footprint,
}

impl<'m> Program<'m> {
    pub(crate) fn of(module: &'m Module) -> Program<'m> {
        let mut order: Vec<InstId> = Vec::with_capacity(module.inst_ids().len());
        for function in module.functions() {
            order.extend(module.insts_of(Holder::Function(function)));
        }
        let mut position = vec![u32::MAX; module.inst_ids().len()];
        let mut triggers = Vec::new();
        for (at, inst) in order.iter().enumerate() {
            position[inst.index()] = at as u32;
            if let Op::DMATrigger(op) = &module[*inst].op {
                triggers
                    .extend(op.dma_blocks.iter().filter_map(|block| block.id()).map(|block| (block, *inst)));
            }
        }
        for (block, trigger) in &triggers {
            let at = position[trigger.index()];
            let inner = module.insts_of(Holder::Inst(*block));
            for inst in [*block].into_iter().chain(inner) {
                if position[inst.index()] == u32::MAX {
                    position[inst.index()] = at;
                }
            }
        }
        for queue in module.queues() {
            for inst in module.insts_of(Holder::Queue(queue)) {
                if position[inst.index()] == u32::MAX {
                    position[inst.index()] = order.len() as u32;
                    order.push(inst);
                }
            }
        }
        triggers.sort_unstable();
        let footprints = Footprints::new(module);
        Program { module, footprints, order, position, triggers, names: OnceCell::new() }
    }

    /// Position of an instruction; of a transfer, that of the first trigger that starts it.
    pub(crate) fn position(&self, inst: InstId) -> Option<u32> {
        self.position.get(inst.index()).copied().filter(|at| *at != u32::MAX)
    }

    /// Names that tell objects apart.
    pub(crate) fn names(&self) -> &DisplayNames {
        self.names.get_or_init(|| DisplayNames::of(self.module))
    }

    /// The triggers that name a DMA block.
    pub(crate) fn triggers_of(&self, block: InstId) -> impl Iterator<Item = InstId> + '_ {
        let first = self.triggers.partition_point(|(other, _)| *other < block);
        self.triggers[first..]
            .iter()
            .take_while(move |(other, _)| *other == block)
            .map(|(_, trigger)| *trigger)
    }

    /// What touches memory, in program order. A transfer follows every trigger that names its block.
    pub(crate) fn touchers(&self) -> impl Iterator<Item = Toucher> + '_ {
        self.order.iter().enumerate().flat_map(move |(at, inst)| {
            let position = at as u32;
            let own = Toucher { position, inst: *inst, subject: self.subject(*inst) };
            let started = transfers(self.module, *inst);
            let started = started.map(move |(block, descriptor)| Toucher {
                position,
                inst: descriptor,
                subject: block,
            });
            [own].into_iter().chain(started)
        })
    }

    /// The DMABlock of a descriptor, else the instruction itself.
    fn subject(&self, inst: InstId) -> InstId {
        match self.module[self.module[inst].block].holder {
            Holder::Inst(owner) if matches!(self.module[owner].op, Op::DMABlock(_)) => owner,
            _ => inst,
        }
    }

    /// All that an instruction touches: its operands; the transfers that a trigger starts; the descriptors of a
    /// DMABlock.
    pub(crate) fn touches(&self, inst: InstId) -> Vec<Touch> {
        let mut touches = self.own_touches(inst);
        for (_, descriptor) in transfers(self.module, inst) {
            touches.extend(self.own_touches(descriptor));
        }
        if matches!(self.module[inst].op, Op::DMABlock(_)) {
            for descriptor in self.module.insts_of(Holder::Inst(inst)) {
                touches.extend(self.own_touches(descriptor));
            }
        }
        touches
    }

    /// What the operands of an instruction touch.
    pub(crate) fn own_touches(&self, inst: InstId) -> Vec<Touch> {
        let axes = LoopAxes::around(self.module, self.module[inst].block);
        let accesses = self.footprints.accesses(&self.module[inst], &axes);
        let touch = |a: bir::geometry::OperandAccess| Touch {
            list: a.list,
            index: a.index,
            access: a.access,
            footprint: a.footprint,
        };
        accesses.map(touch).collect()
    }

    /// Where an instruction stands.
    pub(crate) fn at(&self, inst: InstId) -> At {
        let (module, names) = (self.module, self.names());
        let instruction = &module[inst];
        let trigger = self.triggers_of(inst).next();
        let place = trigger.unwrap_or(inst);
        let block = module[place].block;
        At {
            function: self.holder(block),
            block: names.name(module, block),
            instruction: names.name(module, inst),
            index: names.index(place).unwrap_or(0),
            opcode: instruction.opcode().text(&module.names).to_owned(),
            engine: instruction.engine.text(&module.names).to_owned(),
            trigger: trigger.map(|trigger| names.name(module, trigger)),
        }
    }

    /// Name of the function or queue that a block belongs to.
    pub(crate) fn holder(&self, block: BlockId) -> String {
        let mut holder = self.module[block].holder;
        loop {
            match holder {
                Holder::Function(id) => return self.names().name(self.module, id),
                Holder::Queue(id) => return self.names().name(self.module, id),
                Holder::Inst(owner) => holder = self.module[self.module[owner].block].holder,
            }
        }
    }

    /// The function that a block belongs to; `None` in a queue.
    #[allow(dead_code)]
    pub(crate) fn function(&self, block: BlockId) -> Option<FuncId> {
        let mut holder = self.module[block].holder;
        loop {
            match holder {
                Holder::Function(id) => return Some(id),
                Holder::Queue(_) => return None,
                Holder::Inst(owner) => holder = self.module[self.module[owner].block].holder,
            }
        }
    }
}

/// `ins[0]`
pub(crate) fn operand_name(list: OperandList, index: usize) -> String {
    format!("{}[{index}]", list.key())
}

/// An access in a word.
pub(crate) fn access_word(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::ReadWrite => "reads and writes",
        Access::WriteMaybeRead => "writes, may read",
    }
}
