//! The instruction: a header that all share, and the op. spec: bir-json 7

use crate::argument::{Argument, Arguments};
use crate::edges::{EdgeSet, MissingEdge, UnrollEdge};
use crate::generated::enums::{EngineType, InstructionType, NamedObjectOrigin};
use crate::generated::ops::Op;
use crate::generated::records::SyncInfo;
use crate::ids::{BlockId, ExprId};
use crate::names::Sym;
use crate::record::OwnedList;
use crate::shared::Shared;
use crate::value::{Extra, Members, Value};

/// An instruction.
///
/// Names are not unique in real dumps; an instruction is identified by its [`InstId`](crate::ids::InstId), or
/// in messages by function, block and index.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Name; may be empty, may repeat.
    pub name: Sym,
    /// The block it stands in.
    pub block: BlockId,
    /// Engine that runs it.
    pub engine: EngineType,
    /// Which of several equal engines.
    pub engine_id: u32,
    /// Who made it.
    pub origin: NamedObjectOrigin,
    /// First cycle of its place in the schedule; 0 before scheduling.
    pub scheduled_start: i64,
    /// Last cycle of its place in the schedule.
    pub scheduled_end: i64,
    /// What it does, with the keys of the op.
    pub op: Op,
    /// Inputs.
    pub ins: Arguments,
    /// Outputs.
    pub outs: Arguments,
    /// Instructions that come first in the same iteration.
    pub dependencies: EdgeSet,
    /// Instructions that come first in an earlier iteration of a loop.
    pub loop_carried_dependencies: EdgeSet,
    /// Semaphores it waits for and updates. An empty record may stand in a document.
    pub sync_info: Option<Box<SyncInfo>>,
    /// Where it comes from in the source.
    pub debug: Option<Shared<DebugInfo>>,
    /// Names of passes; `None` means the default of the backend, which is not an empty list.
    pub optin_passes: Option<Box<[Sym]>>,
    rare: Option<Box<Rare>>,
}

/// Parts of the header that few instructions have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rare {
    /// Index tensors of indirect accesses.
    pub indirection_ins: Arguments,
    /// Dependencies that hold for some iterations.
    pub unroll_dependencies: Vec<UnrollEdge>,
    /// Names of the axes of the enclosing loops, outermost first.
    pub loopnest: Vec<Sym>,
    /// Predicates, opaque. spec: bir-json 9.3
    pub predicates: Vec<Value>,
    /// Symbolic schedule position.
    pub order: Vec<ExprId>,
    /// Semaphore of the triggered DMA block; derived, kept as read.
    pub dma_trigger_debug_update_semaphore_id: Option<u32>,
    /// Dependencies on names that no instruction has.
    pub missing_edges: Vec<MissingEdge>,
    /// Members that the tables do not know, and all keys of an unknown op.
    pub extra: Extra,
}

static NO_RARE: Rare = Rare {
    indirection_ins: Arguments::new_const(),
    unroll_dependencies: Vec::new(),
    loopnest: Vec::new(),
    predicates: Vec::new(),
    order: Vec::new(),
    dma_trigger_debug_update_semaphore_id: None,
    missing_edges: Vec::new(),
    extra: Extra::NONE,
};

/// Source record of an instruction. The two members seen in documents are typed, everything else is kept as it
/// is. spec: bir-json 7.4
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebugInfo {
    /// Line of the source.
    pub lineno: Option<i64>,
    /// Name of the operation in the source.
    pub op_name: Option<Sym>,
    /// Other members; or the whole record when it is not an object.
    pub rest: Value,
}

impl DebugInfo {
    /// A record with a line and an operation.
    pub fn new(lineno: Option<i64>, op_name: Option<Sym>) -> DebugInfo {
        DebugInfo { lineno, op_name, rest: Value::Object(Members::new()) }
    }
}

impl Instruction {
    /// An instruction with every key of header and op at its default.
    pub fn new(name: Sym, block: BlockId, op: Op) -> Instruction {
        Instruction {
            name,
            block,
            engine: EngineType::Unassigned,
            engine_id: 0,
            origin: NamedObjectOrigin::Internal,
            scheduled_start: 0,
            scheduled_end: 0,
            op,
            ins: Arguments::new(),
            outs: Arguments::new(),
            dependencies: EdgeSet::default(),
            loop_carried_dependencies: EdgeSet::default(),
            sync_info: None,
            debug: None,
            optin_passes: None,
            rare: None,
        }
    }

    /// The InstructionType.
    pub fn opcode(&self) -> InstructionType {
        self.op.opcode()
    }

    /// The seldom used parts of the header.
    pub fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(&NO_RARE)
    }

    /// The seldom used parts of the header, to change them.
    pub fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether any of the seldom used parts may be set.
    pub fn has_rare(&self) -> bool {
        self.rare.is_some()
    }

    /// The blocks of a nested body (Loop, DynamicForLoop, DoWhile, DMABlock).
    pub fn body(&self) -> &[BlockId] {
        match &self.op {
            Op::Loop(op) => &op.blocks,
            Op::DynamicForLoop(op) => &op.blocks,
            Op::DoWhile(op) => &op.blocks,
            Op::DMABlock(op) => &op.blocks,
            _ => &[],
        }
    }

    /// The list of blocks of a nested body, to change it.
    pub fn body_mut(&mut self) -> Option<&mut OwnedList<BlockId>> {
        match &mut self.op {
            Op::Loop(op) => Some(&mut op.blocks),
            Op::DynamicForLoop(op) => Some(&mut op.blocks),
            Op::DoWhile(op) => Some(&mut op.blocks),
            Op::DMABlock(op) => Some(&mut op.blocks),
            _ => None,
        }
    }

    /// All operands with the list they stand in: inputs, index tensors, outputs.
    pub fn operands(&self) -> impl Iterator<Item = (OperandList, usize, &Argument)> {
        let ins = self.ins.iter().enumerate().map(|(i, a)| (OperandList::Ins, i, a));
        let indirection = &self.rare().indirection_ins;
        let indirection = indirection.iter().enumerate().map(|(i, a)| (OperandList::IndirectionIns, i, a));
        let outs = self.outs.iter().enumerate().map(|(i, a)| (OperandList::Outs, i, a));
        ins.chain(indirection).chain(outs)
    }

    /// Calls `visit` with the root of every expression: of the op, the operands, and the rest of the header.
    pub fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
        if let Some(op) = self.op.fields() {
            op.visit_exprs(visit);
        }
        self.operands().for_each(|(_, _, operand)| operand.fields().visit_exprs(visit));
        let rare = self.rare();
        rare.unroll_dependencies.iter().flat_map(|edge| &edge.exprs).for_each(|id| visit(*id));
        rare.order.iter().for_each(|id| visit(*id));
    }

    /// All operands, to change them.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Argument> {
        let indirection = self.rare.as_deref_mut().map(|rare| &mut rare.indirection_ins);
        self.ins.iter_mut().chain(indirection.into_iter().flatten()).chain(&mut self.outs)
    }
}

/// The three operand lists of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandList {
    /// `ins`
    Ins,
    /// `indirection_ins`
    IndirectionIns,
    /// `outs`
    Outs,
}

impl OperandList {
    /// The key of the list.
    pub fn key(self) -> &'static str {
        match self {
            OperandList::Ins => "ins",
            OperandList::IndirectionIns => "indirection_ins",
            OperandList::Outs => "outs",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million instructions must cost well under the size of their text.
    #[test]
    fn instructions_and_operands_are_small() {
        assert!(size_of::<Op>() <= 24, "Op: {}", size_of::<Op>());
        assert!(size_of::<Argument>() <= 16, "Argument: {}", size_of::<Argument>());
        assert!(size_of::<Instruction>() <= 256, "Instruction: {}", size_of::<Instruction>());
    }
}
