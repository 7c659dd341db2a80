//! Collectives: all become one instruction, told apart by the kind of its channel.

use bir::enums::{CollectiveDimension, CollectiveKind};
use bir::ops::CollectiveCompute;
use bir::records::CcChannel;
use klr::ir::{CollectiveOp, ReplicaGroup, SendRecv};

use super::control::ranks;
use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps::alu_op;
use crate::lowerer::Lowerer;
use crate::operand::{Result, integer, number};

impl<'a> Lowerer<'a> {
    pub(super) fn all_reduce(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        paired(op)?;
        let channel = channel(CollectiveKind::AllReduce, op)?.grouped(op)?.operated(op)?;
        self.collective(op, channel.into())
    }

    pub(super) fn all_gather(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        paired(op)?;
        let cc_dim = concat_dim(op)?;
        let channel = channel(CollectiveKind::AllGather, op)?.grouped(op)?;
        self.collective(op, CollectiveCompute { cc_dim, ..channel.into() })
    }

    pub(super) fn reduce_scatter(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        paired(op)?;
        let cc_dim = concat_dim(op)?;
        let channel = channel(CollectiveKind::ReduceScatter, op)?.grouped(op)?.operated(op)?;
        self.collective(op, CollectiveCompute { cc_dim, ..channel.into() })
    }

    pub(super) fn all_to_all(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        paired(op)?;
        let channel = channel(CollectiveKind::AllToAll, op)?.grouped(op)?;
        self.collective(op, channel.into())
    }

    /// Named pairs stand in the place of groups.
    pub(super) fn permute(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        counts(op, 1)?;
        let pairs = op.source_target_pairs.ok_or(ProblemKind::Missing { what: "sourceTargetPairs" })?;
        if let Some(pair) = pairs.iter().find(|pair| pair.len() != 2) {
            return Err(ProblemKind::NotTwo { what: "a pair of sourceTargetPairs", len: pair.len() });
        }
        let src_target_pairs = ranks("sourceTargetPairs", pairs)?;
        let channel = channel(CollectiveKind::Permute, op)?;
        self.collective(op, CollectiveCompute { src_target_pairs, ..channel.into() })
    }

    pub(super) fn permute_implicit(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        counts(op, 1)?;
        needs_channel(op)?;
        let channel = channel(CollectiveKind::PermuteImplicit, op)?.grouped(op)?;
        self.collective(op, channel.into())
    }

    pub(super) fn permute_implicit_reduce(&mut self, op: &CollectiveOp<'a>) -> Result<Draft> {
        counts(op, 2)?;
        needs_channel(op)?;
        let channel = channel(CollectiveKind::PermuteReduceImplicit, op)?.grouped(op)?.operated(op)?;
        self.collective(op, channel.into())
    }

    fn collective(&mut self, op: &CollectiveOp<'a>, compute: CollectiveCompute) -> Result<Draft> {
        if op.num_channels.is_some() {
            self.note("num_channels of a collective has no place in BIR");
        }
        if op.head.0.is_some_and(|head| head.priority.is_some()) {
            self.note("priority of a collective has no place in BIR");
        }
        let mut draft = Draft::new(compute);
        draft.named = false;
        Ok(draft.inputs(self.tensors(op.srcs)?).outputs(self.tensors(op.dsts)?))
    }

    pub(super) fn send_receive(&mut self, op: &SendRecv<'a>) -> Result<Draft> {
        let to = integer("sendToRank", &op.send_to_rank)?;
        let from = integer("recvFromRank", &op.recv_from_rank)?;
        let pipe = integer("pipeId", &op.pipe_id)?;
        if let Some(core) = self.core().map(|core| core as i64) {
            for (rank, what) in [(to, "receiver"), (from, "sender")] {
                if rank == core {
                    return Err(ProblemKind::SelfTransfer { core, what });
                }
            }
        }
        if op.use_gpsimd_dma {
            self.note("useGpsimdDma of sendRecv is not read by the 2.24 backend");
        }
        let channel = CcChannel { kind: CollectiveKind::SendRecv, ..CcChannel::default() };
        let compute = CollectiveCompute {
            send_to_rank: Some(to.into()),
            recv_from_rank: vec![from.into()],
            pipe_id: number::<_, u32>("pipeId", pipe)?.into(),
            is_local: true.into(),
            stream_id: (-1).into(),
            ..Channel(channel).into()
        };
        let mut draft = Draft::new(compute);
        draft.named = false;
        Ok(draft.input(self.tensor(&op.src)?).output(self.tensor(&op.dst)?))
    }
}

/// The channel of a collective, being filled in.
struct Channel(CcChannel);

fn channel(kind: CollectiveKind, op: &CollectiveOp<'_>) -> Result<Channel> {
    let mut channel = CcChannel { kind, ..CcChannel::default() };
    if let Some(id) = op.channel_id {
        channel.channel_id = number::<_, u32>("channel_id", id)?.into();
        channel.present.set(CcChannel::CHANNEL_ID);
    }
    Ok(Channel(channel))
}

impl Channel {
    fn grouped(mut self, op: &CollectiveOp<'_>) -> Result<Self> {
        let ReplicaGroup::Literal(groups) = op.replica_group else { return Err(ProblemKind::ReplicaGroup) };
        self.0.replica_groups = ranks("replicaGroup", groups)?;
        Ok(self)
    }

    fn operated(mut self, op: &CollectiveOp<'_>) -> Result<Self> {
        self.0.op = alu_op(op.op.ok_or(ProblemKind::Missing { what: "op" })?);
        Ok(self)
    }
}

impl From<Channel> for CollectiveCompute {
    fn from(channel: Channel) -> CollectiveCompute {
        CollectiveCompute { cc_channel: Some(Box::new(channel.0)), ..CollectiveCompute::default() }
    }
}

/// As many destinations as sources, and at least one.
fn paired(op: &CollectiveOp<'_>) -> Result<()> {
    let (left, right) = (op.srcs.len(), op.dsts.len());
    if left != right {
        return Err(ProblemKind::Counts { left, lefts: "srcs", right, rights: "dsts" });
    }
    if left == 0 { Err(ProblemKind::Empty { what: "srcs" }) } else { Ok(()) }
}

/// One destination, and so many sources.
fn counts(op: &CollectiveOp<'_>, sources: usize) -> Result<()> {
    let (left, right) = (op.srcs.len(), op.dsts.len());
    if (left, right) == (sources, 1) {
        return Ok(());
    }
    let rights = if sources == 1 { "dsts, not 1 and 1" } else { "dsts, not 2 and 1" };
    Err(ProblemKind::Counts { left, lefts: "srcs", right, rights })
}

fn needs_channel(op: &CollectiveOp<'_>) -> Result<()> {
    op.channel_id.map(drop).ok_or(ProblemKind::Missing { what: "channel_id" })
}

/// The first dimension is that of partitions.
fn concat_dim(op: &CollectiveOp<'_>) -> Result<CollectiveDimension> {
    match op.concat_dim {
        Some(0) => Ok(CollectiveDimension::Partition),
        Some(1..) => Ok(CollectiveDimension::Free),
        Some(dim) => Err(ProblemKind::Range { what: "concatDim", value: dim.into() }),
        None => Err(ProblemKind::Missing { what: "concatDim" }),
    }
}
