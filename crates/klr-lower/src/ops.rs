//! The operators, by what they do. Each function turns the fields of a record into instructions (spec: klr 8).

mod collective;
mod compute;
mod control;
mod data;
mod matmul;
mod random;
mod select;

use bir::expr::MaybeAffine;
use klr::ir::{AccumCmd, Operator, TensorScalarReverseOps};

use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps;
use crate::lowerer::Lowerer;
use crate::operand::Result;

impl<'a> Lowerer<'a> {
    /// The instructions of an operator: one, or two.
    pub(crate) fn operator(&mut self, operator: &Operator<'a>) -> Result<Vec<Draft>> {
        let draft = match operator {
            Operator::NcActivate(op) | Operator::ActivationReduce(op) => self.activate(op),
            Operator::Activate2(op) => self.activate2(op),
            Operator::BatchNormAggregate(op) => self.batch_norm_aggregate(op),
            Operator::BatchNormStats(op) => self.batch_norm_stats(op),
            Operator::Dropout(op) => self.dropout(op),
            Operator::Exponential(op) => return self.exponential(op),
            Operator::NcScalarTensorTensor(op) => self.scalar_tensor_tensor(op),
            Operator::QuantizeMX(op) => self.quantize_mx(op),
            Operator::Reciprocal(op) => self.reciprocal(op),
            Operator::TensorPartitionReduce(op) => self.tensor_partition_reduce(op),
            Operator::TensorReduce(op) => self.tensor_reduce(op),
            Operator::TensorScalar(op) => self.tensor_scalar(op),
            Operator::TensorScalarCumulative(op) => self.tensor_scalar_cumulative(op),
            Operator::TensorScalarReduce(op) => self.tensor_scalar_reduce(op),
            Operator::TensorTensor(op) => self.tensor_tensor(op),
            Operator::TensorTensorScan(op) => self.tensor_tensor_scan(op),

            Operator::CopyPredicated(op) => self.copy_predicated(op),
            Operator::FindIndex8(op) => self.find_index8(op),
            Operator::Iota(op) => self.iota(op),
            Operator::MatchReplace8(op) => self.match_replace8(op),
            Operator::Max8(op) => self.max8(op),
            Operator::NcAffineSelect(op) => self.affine_select(op),
            Operator::NcRangeSelect(op) => self.range_select(op),
            Operator::NonzeroWithCount(op) => self.nonzero_with_count(op),
            Operator::SelectReduce(op) => self.select_reduce(op),
            Operator::SequenceBounds(op) => self.sequence_bounds(op),

            Operator::DmaCompute(op) => self.dma_compute(op),
            Operator::DmaTranspose(op) => self.dma_transpose(op),
            Operator::MemSet(op) => self.mem_set(op),
            Operator::NcCopy(op) => self.copy(op),
            Operator::NcDmaCopy(op) => self.dma_copy(op),
            Operator::NcLocalGather(op) => self.local_gather(op),
            Operator::NcNGather(op) => self.gather(op),
            Operator::Shuffle(op) => self.shuffle(op),
            Operator::Transpose(op) => self.transpose(op),

            Operator::NcMatMul(op) => self.matmul(op),
            Operator::NcMatMulMX(op) => self.matmul_mx(op),

            Operator::CmpBranch(op) => self.branch(op),
            Operator::CoreBarrier(op) => self.core_barrier(op),
            Operator::CurrentProcessingRankId(op) => self.current_rank(op),
            Operator::DevicePrint(op) => self.device_print(op),
            Operator::RankId(op) => self.rank(op),
            Operator::RegisterAluOp(op) => self.register_alu(op),
            Operator::RegisterMove(op) => self.register_move(op),
            Operator::TensorLoad(op) => self.tensor_load(op),
            Operator::TensorStore(op) => self.tensor_store(op),

            Operator::AllGather(op) => self.all_gather(op),
            Operator::AllReduce(op) => self.all_reduce(op),
            Operator::AllToAll(op) => self.all_to_all(op),
            Operator::CollectivePermute(op) => self.permute(op),
            Operator::CollectivePermuteImplicit(op) => self.permute_implicit(op),
            Operator::CollectivePermuteImplicitReduce(op) => self.permute_implicit_reduce(op),
            Operator::ReduceScatter(op) => self.reduce_scatter(op),
            Operator::SendRecv(op) => self.send_receive(op),

            Operator::Rand2(op) => self.rand2(op),
            Operator::RandGetState(op) => self.rand_get_state(op),
            Operator::RandSetState(op) => self.rand_set_state(op),
            Operator::Rng(op) => self.rng(op),
            Operator::SetRngSeed(op) => self.set_rng_seed(op),

            Operator::Activate(_)
            | Operator::AffineSelect(_)
            | Operator::Broadcast(_)
            | Operator::Copy(_)
            | Operator::DmaCopy(_)
            | Operator::ExtendedInst(_)
            | Operator::LoadMaskRegister(_)
            | Operator::LoadStationary(_)
            | Operator::LocalGather(_)
            | Operator::MatMul(_)
            | Operator::MatchValueLoad(_)
            | Operator::RangeSelect(_)
            | Operator::Recv(_)
            | Operator::ScalarTensorTensor(_)
            | Operator::Send(_)
            | Operator::SendRecvCompute(_) => Err(ProblemKind::Operator { kind: operator.kind() }),
        };
        Ok(vec![draft?])
    }
}

/// An accumulation command.
fn accumulate(command: AccumCmd) -> Result<bir::enums::EngineAccumulationType> {
    maps::accum_cmd(command).ok_or(ProblemKind::LoadAccumulate)
}

/// Whether the first and the second operator have their operands swapped.
fn reversed(reverse: TensorScalarReverseOps) -> [MaybeAffine<bool>; 2] {
    let (first, second) = match reverse {
        TensorScalarReverseOps::None => (false, false),
        TensorScalarReverseOps::First => (true, false),
        TensorScalarReverseOps::Second => (false, true),
        TensorScalarReverseOps::Both => (true, true),
    };
    [first.into(), second.into()]
}
