//! Random numbers.

use bir::enums::{EngineType, MemsetMode};
use bir::ops::{Memset, Op, SetRandState};
use klr::ir;

use crate::draft::Draft;
use crate::generated::maps::engine;
use crate::lowerer::Lowerer;
use crate::operand::Result;

impl<'a> Lowerer<'a> {
    pub(super) fn rng(&mut self, op: &ir::Rng<'a>) -> Result<Draft> {
        let set = Memset { mode: MemsetMode::Random, ..Memset::default() };
        Ok(Draft::new(set).on(engine(op.engine)).output(self.tensor(&op.dst)?))
    }

    pub(super) fn rand2(&mut self, op: &ir::Rand2<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::Rand2)
            .input(self.operand(&op.min)?)
            .input(self.operand(&op.max)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn rand_get_state(&mut self, op: &ir::RandGetState<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::RandGetState).on(engine(op.engine)).output(self.tensor(&op.dst)?))
    }

    pub(super) fn rand_set_state(&mut self, op: &ir::RandSetState<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::RandSetState).on(engine(op.engine)).input(self.tensor(&op.src)?))
    }

    pub(super) fn set_rng_seed(&mut self, op: &ir::SetRngSeed<'a>) -> Result<Draft> {
        let set = SetRandState { rng_engine: Some(EngineType::Unassigned), ..SetRandState::default() };
        Ok(Draft::new(set).on(EngineType::Unassigned).input(self.tensor(&op.src)?))
    }
}
