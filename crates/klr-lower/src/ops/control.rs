//! Control flow, registers, ranks, barriers, printing.

use bir::enums::{DebugDeviceBuffer, Dtype, EngineType};
use bir::ids::BlockId;
use bir::ops::{
    CompareAndBranch, CoreBarrier, DevicePrint, GetCurProcessingRankID, GetGlobalRankId, Op, RegisterAlu,
    UnconditionalBranch,
};
use klr::ir;

use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps::{alu_op, br_cmp_op, engine};
use crate::lowerer::Lowerer;
use crate::operand::{Result, int32, number};

/// Type of the registers of a kernel.
const REGISTER: Dtype = Dtype::Int32;

impl<'a> Lowerer<'a> {
    fn label(&self, label: &str) -> Result<BlockId> {
        let found = self.labels.get(label).copied();
        found.ok_or_else(|| ProblemKind::Label { label: label.to_string() })
    }

    pub(super) fn branch(&mut self, op: &ir::CmpBranch<'a>) -> Result<Draft> {
        let on_true = self.label(op.true_label)?;
        let Some(comp_op) = br_cmp_op(op.op) else {
            let branch =
                UnconditionalBranch { target: Some(on_true.into()), ..UnconditionalBranch::default() };
            return Ok(Draft::new(branch).on(EngineType::ALL));
        };
        let on_false = self.label(op.false_label)?;
        let right = if op.op >= ir::BrCmpOp::LtReg {
            self.register_operand(op.reg2, REGISTER)?
        } else {
            int32("imm", op.imm)?
        };
        let branch = CompareAndBranch {
            comp_op,
            on_true: Some(on_true.into()),
            on_false: Some(on_false.into()),
            ..CompareAndBranch::default()
        };
        let left = self.register_operand(op.reg1, REGISTER)?;
        Ok(Draft::new(branch).on(EngineType::ALL).inputs([left, right]))
    }

    pub(super) fn register_move(&mut self, op: &ir::RegisterMove<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::RegisterMove)
            .on(EngineType::ALL)
            .input(int32("imm", op.imm)?)
            .output(self.register_operand(op.dst, REGISTER)?))
    }

    pub(super) fn register_alu(&mut self, op: &ir::RegisterAluOp<'a>) -> Result<Draft> {
        let alu = RegisterAlu { op: alu_op(op.op), ..RegisterAlu::default() };
        Ok(Draft::new(alu)
            .on(EngineType::ALL)
            .input(self.register_operand(op.src, REGISTER)?)
            .input(int32("imm", op.imm)?)
            .output(self.register_operand(op.dst, REGISTER)?))
    }

    pub(super) fn tensor_load(&mut self, op: &ir::TensorLoad<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::TensorLoad)
            .on(EngineType::ALL)
            .input(self.tensor(&op.src)?)
            .output(self.register_operand(op.dst, REGISTER)?))
    }

    pub(super) fn tensor_store(&mut self, op: &ir::TensorStore<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::TensorSave)
            .on(EngineType::ALL)
            .input(self.register_operand(op.src, REGISTER)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn rank(&mut self, op: &ir::RankId<'a>) -> Result<Draft> {
        Ok(Draft::new(GetGlobalRankId::default())
            .on(EngineType::ALL)
            .output(self.register_operand(op.dst, Dtype::Uint32)?))
    }

    pub(super) fn current_rank(&mut self, op: &ir::CurrentProcessingRankId<'a>) -> Result<Draft> {
        let rank = GetCurProcessingRankID {
            iter_id: number::<_, u32>("iterationId", op.iteration_id)?.into(),
            channel_id: number::<_, u32>("channelId", op.channel_id)?.into(),
            replica_groups: Some(ranks("replicaGroup", op.replica_group)?),
            ..GetCurProcessingRankID::default()
        };
        Ok(Draft::new(rank).on(EngineType::ALL).output(self.register_operand(op.dst, Dtype::Uint32)?))
    }

    /// Of all cores; the data is in order before and after it.
    pub(super) fn core_barrier(&mut self, op: &ir::CoreBarrier<'a>) -> Result<Draft> {
        let cores = op.cores.iter().map(|core| number("cores", *core)).collect::<Result<_>>()?;
        let data = self.tensor(&op.data)?;
        let barrier = CoreBarrier { id: self.barriers.into(), cores, ..CoreBarrier::default() };
        self.barriers += 1;
        Ok(Draft::new(barrier).on(engine(op.engine)).input(data.clone()).output(data))
    }

    pub(super) fn device_print(&mut self, op: &ir::DevicePrint<'a>) -> Result<Draft> {
        let print = DevicePrint {
            prefix: self.module.names.intern(op.print_prefix),
            output_buffer: match op.buffer {
                ir::PrintOutputBuffer::Stdout => DebugDeviceBuffer::Stdout,
                ir::PrintOutputBuffer::Stderr => DebugDeviceBuffer::Stderr,
            },
            ..DevicePrint::default()
        };
        Ok(Draft::new(print).input(self.tensor(&op.src)?))
    }
}

/// Lists of ranks.
pub(super) fn ranks(what: &'static str, lists: &[&[i64]]) -> Result<Vec<Vec<u32>>> {
    let list = |list: &&[i64]| list.iter().map(|rank| number(what, *rank)).collect::<Result<_>>();
    lists.iter().map(list).collect()
}
