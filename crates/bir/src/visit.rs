//! Walking a module: a [`Visitor`] has one method for each op, which falls to the method of its base class.

use std::ops::{ControlFlow, Deref};

use crate::ids::InstId;
use crate::inst::Instruction;
use crate::module::Module;
use crate::ops::Op;

/// An instruction with the module it is in. Dereferences to the [`Instruction`].
#[derive(Clone, Copy, Debug)]
pub struct InstRef<'m> {
    /// The module.
    pub module: &'m Module,
    /// The instruction.
    pub id: InstId,
}

impl<'m> InstRef<'m> {
    /// The instruction, for as long as the module lives.
    pub fn get(self) -> &'m Instruction {
        &self.module[self.id]
    }

    /// Its name.
    pub fn name(self) -> &'m str {
        self.module.str(self.get().name)
    }
}

impl Deref for InstRef<'_> {
    type Target = Instruction;
    fn deref(&self) -> &Instruction {
        self.get()
    }
}

/// Whether a walk goes on, or ends with an answer.
pub type Step<B> = ControlFlow<B>;

/// Defines the visitor and its dispatch from one row for each op.
macro_rules! visitor {
    (
        plain { $($(#[$pdoc:meta])* $pmethod:ident: $pop:ident -> $pbase:ident;)* }
        keyed { $($(#[$kdoc:meta])* $kmethod:ident: $kop:ident -> $kbase:ident;)* }
    ) => {
        /// Visits the parts of a module in document order: functions with their storage and blocks, NKI functions,
        /// queues. The blocks of a nested body follow the operands of the instruction that owns them.
        ///
        /// Every method does nothing by default, except that the method of an op calls the method of its base
        /// class, and those of the root classes call [`Visitor::visit_inst`]: a visitor that only overrides
        /// `visit_inst` sees every instruction, one that overrides `visit_dma` sees every DMA op.
        /// spec: opcodes 2
        ///
        /// A method that gives [`Step::Break`] ends the walk; set [`Visitor::Break`] to
        /// [`std::convert::Infallible`] when none does.
        ///
        /// ```
        /// use bir::visit::{InstRef, Step, Visitor};
        /// use bir::ops::Matmult;
        ///
        /// #[derive(Default)]
        /// struct Count { matmuls: usize, others: usize }
        ///
        /// impl Visitor for Count {
        ///     type Break = std::convert::Infallible;
        ///     fn visit_matmult(&mut self, _: InstRef<'_>, op: &Matmult) -> Step<Self::Break> {
        ///         self.matmuls += usize::from(op.is_transpose == false);
        ///         Step::Continue(())
        ///     }
        ///     fn visit_inst(&mut self, _: InstRef<'_>) -> Step<Self::Break> {
        ///         self.others += 1;
        ///         Step::Continue(())
        ///     }
        /// }
        ///
        /// let module = bir::sample::matmul_softmax(&Default::default());
        /// let mut count = Count::default();
        /// let _ = count.walk(&module);
        /// assert_eq!(count.matmuls, 8);
        /// assert_eq!(count.matmuls + count.others, module.insts().count());
        /// ```
        pub trait Visitor {
            /// Answer of a walk that ends early.
            type Break;

            /// Any instruction; the end of every chain of base classes.
            fn visit_inst(&mut self, _inst: InstRef<'_>) -> Step<Self::Break> {
                Step::Continue(())
            }

            $(
                $(#[$pdoc])*
                fn $pmethod(&mut self, inst: InstRef<'_>) -> Step<Self::Break> {
                    self.$pbase(inst)
                }
            )*
            $(
                $(#[$kdoc])*
                fn $kmethod(&mut self, inst: InstRef<'_>, _op: &crate::ops::$kop) -> Step<Self::Break> {
                    self.$kbase(inst)
                }
            )*

            /// An opcode that the table does not have.
            fn visit_other(&mut self, inst: InstRef<'_>) -> Step<Self::Break> {
                self.visit_inst(inst)
            }

            /// A function, before its storage and blocks.
            fn enter_function(&mut self, _module: &Module, _id: FuncId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A function, after its blocks.
            fn leave_function(&mut self, _module: &Module, _id: FuncId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A queue, before its blocks.
            fn enter_queue(&mut self, _module: &Module, _id: QueueId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A queue, after its blocks.
            fn leave_queue(&mut self, _module: &Module, _id: QueueId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A block, before its instructions.
            fn enter_block(&mut self, _module: &Module, _id: BlockId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A block, after its instructions.
            fn leave_block(&mut self, _module: &Module, _id: BlockId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// An instruction with a nested body, after the blocks of the body.
            fn leave_body(&mut self, _inst: InstRef<'_>) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A memory-location set, before its locations.
            fn visit_set(&mut self, _module: &Module, _id: SetId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A memory location.
            fn visit_location(&mut self, _module: &Module, _id: LocId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A register.
            fn visit_register(&mut self, _module: &Module, _id: RegId) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// An operand: an input, an index tensor or an output, with its place in its list.
            fn visit_operand(
                &mut self,
                _inst: InstRef<'_>,
                _list: OperandList,
                _index: usize,
                _operand: &Argument,
            ) -> Step<Self::Break> {
                Step::Continue(())
            }
            /// A node of an expression of an instruction, parents before children.
            fn visit_expr(&mut self, _inst: InstRef<'_>, _id: ExprId, _expr: &Expr) -> Step<Self::Break> {
                Step::Continue(())
            }

            /// Calls the method of the op of an instruction; goes neither into operands nor into bodies.
            fn dispatch(&mut self, inst: InstRef<'_>) -> Step<Self::Break> {
                match &inst.get().op {
                    $(Op::$pop { .. } => self.$pmethod(inst),)*
                    $(Op::$kop(op) => self.$kmethod(inst, op),)*
                    Op::Other(_) => self.visit_other(inst),
                }
            }

            /// Walks a module.
            fn walk(&mut self, module: &Module) -> Step<Self::Break> {
                module.functions().try_for_each(|id| self.walk_function(module, id))?;
                module.queues().try_for_each(|id| self.walk_queue(module, id))
            }

            /// Walks a function.
            fn walk_function(&mut self, module: &Module, id: FuncId) -> Step<Self::Break> {
                self.enter_function(module, id)?;
                for storage in &module[id].allocations {
                    match storage {
                        Storage::Register(id) => self.visit_register(module, id)?,
                        Storage::Set(id) => {
                            self.visit_set(module, id)?;
                            let mut locations = module[id].memorylocations.iter();
                            locations.try_for_each(|id| self.visit_location(module, *id))?;
                        }
                    }
                }
                self.walk_blocks(module, Holder::Function(id))?;
                self.leave_function(module, id)
            }

            /// Walks a queue.
            fn walk_queue(&mut self, module: &Module, id: QueueId) -> Step<Self::Break> {
                self.enter_queue(module, id)?;
                self.walk_blocks(module, Holder::Queue(id))?;
                self.leave_queue(module, id)
            }

            /// Walks the blocks of a function, a queue or a nested body. Nesting takes no stack.
            fn walk_blocks(&mut self, module: &Module, holder: Holder) -> Step<Self::Break> {
                let mut stack = vec![(None, module.blocks_of(holder), 0, 0)];
                while let Some((owner, blocks, block_at, inst_at)) = stack.last_mut() {
                    let Some(block) = blocks.get(*block_at).copied() else {
                        if let Some(id) = *owner {
                            self.leave_body(InstRef { module, id })?;
                        }
                        stack.pop();
                        continue;
                    };
                    if *inst_at == 0 {
                        self.enter_block(module, block)?;
                    }
                    let Some(id) = module[block].instructions.get(*inst_at).copied() else {
                        self.leave_block(module, block)?;
                        (*block_at, *inst_at) = (*block_at + 1, 0);
                        continue;
                    };
                    *inst_at += 1;
                    self.walk_inst(InstRef { module, id })?;
                    if crate::visit::has_body(&module[id].op) {
                        stack.push((Some(id), module[id].body(), 0, 0));
                    }
                }
                Step::Continue(())
            }

            /// Visits an instruction, its operands and its expressions; not the blocks of a nested body.
            fn walk_inst(&mut self, inst: InstRef<'_>) -> Step<Self::Break> {
                self.dispatch(inst)?;
                for (list, index, operand) in inst.get().operands() {
                    self.visit_operand(inst, list, index, operand)?;
                }
                let mut roots: smallvec::SmallVec<[ExprId; 4]> = smallvec::SmallVec::new();
                inst.visit_exprs(&mut |id| roots.push(id));
                roots.reverse();
                while let Some(id) = roots.pop() {
                    let expr = inst.module.exprs.get(id);
                    self.visit_expr(inst, id, expr)?;
                    let children = roots.len();
                    roots.extend(expr.children());
                    roots[children..].reverse();
                }
                Step::Continue(())
            }
        }
    };
}
pub(crate) use visitor;

pub use crate::generated::visit::Visitor;

/// Whether the op has a nested body.
pub(crate) fn has_body(op: &Op) -> bool {
    matches!(op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_) | Op::DMABlock(_))
}
