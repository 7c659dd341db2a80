//! Making modules: a [`Builder`] stands at the end of a block and adds tensors, registers, queues and instructions.
//!
//! ```
//! use bir::builder::{Builder, NewTensor};
//! use bir::enums::{ActivationFunctionType, ArchLevel, Dtype, EngineType};
//! use bir::{Module, edges::EdgeKind, ops};
//!
//! let mut module = Module::new(ArchLevel::Gen3);
//! let mut b = Builder::new(&mut module, "main");
//! let x = b.tensor(NewTensor::dram("x", [128, 512], Dtype::Float32).input().at(0));
//! let tile = b.tensor(NewTensor::sb("x_sb", [128, 512], Dtype::Float32).at(0x4000));
//!
//! let queue = b.queue("qSPIO", &[8]);
//! let load = b.dma("load_x", EngineType::SP, queue).copy(x, tile).completes(8).done();
//! let exp = ops::Activation { func: ActivationFunctionType::Exp, scale: 1.0, ..Default::default() };
//! b.inst("exp_x", EngineType::Activation, exp)
//!     .inputs([tile.tile(.., 0..256).into(), 0.0.into(), 1.0.into(), 0.0.into()])
//!     .output(tile.tile(.., 256..512))
//!     .after(load.block, EdgeKind::FLOW)
//!     .waits_for(load.block, 8, 16)
//!     .increments(4);
//! assert!(module.check_links().is_empty());
//! ```

mod dma;
mod flow;
mod inst;
mod operand;
mod tensor;

pub use dma::{Dma, DmaBuilder};
pub use inst::InstBuilder;
pub use operand::{Access, Operand};
pub use tensor::{NewTensor, Tensor};

use crate::enums::{EngineType, InstructionType};
use crate::expr::Expr;
use crate::ids::{BlockId, ExprId, FuncId, InstId, QueueId, RegId};
use crate::inst::{DebugInfo, Instruction};
use crate::module::{Holder, Module};
use crate::names::Sym;
use crate::ops::Op;
use crate::records::Register;
use crate::shared::Shared;

/// Adds to a module, at the end of one block.
///
/// What is not said keeps its default, so that the document that a writer makes is the shortest one.
/// spec: opcodes 1.2
#[derive(Debug)]
pub struct Builder<'m> {
    module: &'m mut Module,
    function: FuncId,
    block: BlockId,
    /// Axes of the loops around the block, outermost first.
    loopnest: Vec<Sym>,
    /// Line and operation of the source for what is added next.
    line: Option<(i64, Sym)>,
}

impl<'m> Builder<'m> {
    /// Adds a function with an empty block called `Block1`, and stands there.
    pub fn new(module: &'m mut Module, function: &str) -> Builder<'m> {
        let function = module.new_function(function);
        let block = module.new_block(Holder::Function(function), "Block1");
        Builder { module, function, block, loopnest: Vec::new(), line: None }
    }

    /// Stands at the end of a block of a function, or of a body in one.
    ///
    /// # Panics
    /// When the block is in a queue: those are filled by [`Builder::dma`].
    pub fn at(module: &'m mut Module, block: BlockId) -> Builder<'m> {
        let mut holder = module[block].holder;
        let mut loopnest = Vec::new();
        while let Holder::Inst(inst) = holder {
            loopnest.extend(axis_of(&module[inst].op));
            holder = module[module[inst].block].holder;
        }
        loopnest.reverse();
        let Holder::Function(function) = holder else { panic!("the block is in a function") };
        Builder { module, function, block, loopnest, line: None }
    }

    /// The module.
    pub fn module(&mut self) -> &mut Module {
        self.module
    }

    /// The function in which it stands.
    pub fn function(&self) -> FuncId {
        self.function
    }

    /// The block at whose end it stands.
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// Adds a block after those of the function or body in which it stands. It does not go there.
    pub fn new_block(&mut self, name: &str) -> BlockId {
        let holder = self.module[self.block].holder;
        self.module.new_block(holder, name)
    }

    /// Goes to the end of another block of the same function or body.
    ///
    /// # Panics
    /// When the block belongs to another one.
    pub fn go_to(&mut self, block: BlockId) {
        let same = self.module[block].holder == self.module[self.block].holder;
        assert!(same, "the block belongs to another function or body");
        self.block = block;
    }

    /// Line and operation of the source for the instructions that are added from here on.
    pub fn line(&mut self, lineno: i64, op_name: &str) {
        self.line = Some((lineno, self.module.names.intern(op_name)));
    }

    /// The symbol of a name.
    pub fn name(&mut self, name: &str) -> Sym {
        self.module.names.intern(name)
    }

    /// Adds a register of an engine.
    pub fn register(&mut self, name: &str, engine: EngineType) -> RegId {
        let name = self.module.names.intern(name);
        let register = Register { name, register_engine: Some(engine), ..Register::default() };
        self.module.new_register(self.function, register)
    }

    /// Adds a queue with one instance, and the completion semaphores that its DMAs use in turn.
    pub fn queue(&mut self, name: &str, semaphores: &[u32]) -> QueueId {
        let queue = self.module.new_queue(name);
        self.module.new_block(Holder::Queue(queue), &format!("{name}_Instance0"));
        self.module[queue].semaphores = semaphores.to_vec();
        queue
    }

    /// Adds an instruction. The result changes it further.
    pub fn inst(&mut self, name: &str, engine: EngineType, op: impl Into<Op>) -> InstBuilder<'_> {
        let name = self.module.names.intern(name);
        let mut inst = Instruction::new(name, self.block, op.into());
        inst.engine = engine;
        if !self.loopnest.is_empty() {
            inst.rare_mut().loopnest.clone_from(&self.loopnest);
        }
        inst.debug = self.debug_info();
        let id = self.module.push_inst(self.block, inst);
        InstBuilder::new(self.module, id)
    }

    /// Adds an instruction of an InstructionType, with every key of its own at the default.
    pub fn plain_inst(&mut self, name: &str, engine: EngineType, opcode: InstructionType) -> InstBuilder<'_> {
        self.inst(name, engine, Op::new(opcode))
    }

    /// Changes an instruction that exists.
    pub fn edit(&mut self, inst: InstId) -> InstBuilder<'_> {
        InstBuilder::new(self.module, inst)
    }

    fn debug_info(&self) -> Option<Shared<DebugInfo>> {
        let (lineno, op_name) = self.line?;
        Some(DebugInfo::new(Some(lineno), Some(op_name)).into())
    }
}

/// Expressions.
impl Builder<'_> {
    /// A constant.
    pub fn constant(&mut self, c: i64) -> ExprId {
        self.module.exprs.constant(c)
    }

    /// `coeff * axis + c`, with the axis of a loop around the block.
    pub fn axis(&mut self, axis: Sym, coeff: i64, c: i64) -> ExprId {
        self.module.exprs.axis(axis, coeff, c)
    }

    /// The value of a register.
    pub fn register_value(&mut self, register: RegId) -> ExprId {
        self.module.exprs.register(register.into())
    }

    /// A node of any kind.
    pub fn expr(&mut self, expr: Expr) -> ExprId {
        self.module.exprs.add(expr)
    }
}

/// The axis that a loop gives to its body.
fn axis_of(op: &Op) -> Option<Sym> {
    match op {
        Op::Loop(op) => op.loop_axis.as_ref().map(|axis| axis.name),
        Op::DynamicForLoop(op) => op.dynamic_for_loop_axis.as_ref().map(|axis| axis.name),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
