//! Control flow: loops with nested bodies, branches, calls.

use super::{Builder, InstBuilder, Operand};
use crate::enums::{BranchCompareOp, EngineType};
use crate::ids::{BlockId, ExprId, FuncId, InstId, RegId};
use crate::module::Holder;
use crate::names::Sym;
use crate::ops::{Call, CompareAndBranch, DoWhile, DynamicForLoop, Loop, Op, UnconditionalBranch};
use crate::record::ArgumentMap;
use crate::records::{DynamicForLoopAxis, LoopAxis};

/// Where a builder stands, to come back to.
struct Place {
    block: BlockId,
    axes: usize,
}

impl Builder<'_> {
    /// Adds a static loop from `range.start` up to, without, `range.end`, and builds its body: one block called
    /// `<name>_body`. The body gets the axis, for [`Builder::axis`].
    ///
    /// ```
    /// use bir::builder::Builder;
    /// use bir::enums::{ArchLevel, EngineType};
    /// use bir::{Module, ops::Op};
    ///
    /// let mut module = Module::new(ArchLevel::Gen3);
    /// let mut b = Builder::new(&mut module, "main");
    /// let outer = b.for_loop("rows", "i", 0..4, 1, |b, i| {
    ///     b.for_loop("columns", "j", 0..8, 2, |b, _| {
    ///         let offset = b.axis(i, 128, 0);
    ///         b.inst("nop", EngineType::SP, Op::NoOp).with(|inst| inst.rare_mut().order.push(offset));
    ///     });
    /// });
    /// assert_eq!(module[outer].body().len(), 1);
    /// ```
    pub fn for_loop(
        &mut self,
        name: &str,
        axis: &str,
        range: std::ops::Range<i64>,
        stride: i64,
        body: impl FnOnce(&mut Self, Sym),
    ) -> InstId {
        let axis = self.module.names.intern(axis);
        let bounds = LoopAxis {
            name: axis,
            lb: range.start,
            ub: Some(range.end),
            stride: Some(stride),
            ..LoopAxis::default()
        };
        let op = Loop { loop_axis: Some(Box::new(bounds)), ..Loop::default() };
        let id = self.inst(name, EngineType::ALL, op).id();
        self.body(id, name, Some(axis), |b| body(b, axis));
        id
    }

    /// Adds a loop from 0 up to, without, the value of a register, and builds its body as [`Builder::for_loop`].
    pub fn dynamic_for_loop(
        &mut self,
        name: &str,
        axis: &str,
        end: RegId,
        body: impl FnOnce(&mut Self, Sym),
    ) -> InstId {
        let axis = self.module.names.intern(axis);
        let exprs = &mut self.module.exprs;
        let bounds = DynamicForLoopAxis {
            name: axis,
            lb: Some(exprs.constant(0)),
            ub: Some(exprs.register(end.into())),
            stride: Some(exprs.constant(1)),
            ..DynamicForLoopAxis::default()
        };
        let op =
            DynamicForLoop { dynamic_for_loop_axis: Some(Box::new(bounds)), ..DynamicForLoop::default() };
        let id = self.inst(name, EngineType::ALL, op).id();
        self.body(id, name, Some(axis), |b| body(b, axis));
        id
    }

    /// Adds a loop that runs at least once and repeats while an expression is not zero.
    pub fn do_while(&mut self, name: &str, cond: ExprId, body: impl FnOnce(&mut Self)) -> InstId {
        let op = DoWhile { cond: Some(cond), ..DoWhile::default() };
        let id = self.inst(name, EngineType::ALL, op).id();
        self.body(id, name, None, body);
        id
    }

    fn body(&mut self, inst: InstId, name: &str, axis: Option<Sym>, build: impl FnOnce(&mut Self)) {
        let outer = Place { block: self.block, axes: self.loopnest.len() };
        self.block = self.module.new_block(Holder::Inst(inst), &format!("{name}_body"));
        self.loopnest.extend(axis);
        build(self);
        self.block = outer.block;
        self.loopnest.truncate(outer.axes);
    }

    /// Adds a jump to a block.
    pub fn jump(&mut self, name: &str, engine: EngineType, target: BlockId) -> InstBuilder<'_> {
        self.inst(
            name,
            engine,
            UnconditionalBranch { target: Some(target.into()), ..UnconditionalBranch::default() },
        )
    }

    /// Adds a comparison of two operands that goes on at one of two blocks.
    pub fn branch(
        &mut self,
        name: &str,
        engine: EngineType,
        (left, compare, right): (impl Into<Operand>, BranchCompareOp, impl Into<Operand>),
        on_true: BlockId,
        on_false: BlockId,
    ) -> InstBuilder<'_> {
        let op = CompareAndBranch {
            comp_op: compare,
            on_true: Some(on_true.into()),
            on_false: Some(on_false.into()),
            ..CompareAndBranch::default()
        };
        self.inst(name, engine, op).input(left).input(right)
    }

    /// Adds a call. The pairs are names of tensors: of the callee, and of the caller.
    pub fn call(
        &mut self,
        name: &str,
        engine: EngineType,
        callee: FuncId,
        arguments: &[(&str, &str)],
    ) -> InstBuilder<'_> {
        let names = &mut self.module.names;
        let pairs = arguments.iter().map(|(to, from)| (names.intern(to), names.intern(from)));
        let arguments = ArgumentMap(pairs.collect());
        let op = Call { target: Some(callee.into()), arguments, ..Call::default() };
        self.inst(name, engine, Op::from(op))
    }
}
