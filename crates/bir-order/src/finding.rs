//! What the check has found, in terms of the abstract program.

use std::ops::Range;

use bir::diag::Severity;
use smallvec::SmallVec;

use crate::program::{BlockId, CounterId, OpId, SpaceId, TransferId};

/// A finding. spec: ordering 15
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// `ORD001` to `ORD027`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The first access, the waiter, or the operation that it is about.
    pub first: Party,
    /// The other one of a pair.
    pub second: Option<Party>,
    /// How a pair conflicts, seen from `first`.
    pub kind: Option<Hazard>,
    /// The common part of the boxes around two accesses.
    pub overlap: Option<Common>,
    /// False when that the two meet, or that nothing orders them, is only possible.
    pub certain: bool,
    /// In a loop: which, and how far apart.
    pub carried: Option<Carried>,
    /// A wait of `first`.
    pub wait: Option<WaitFact>,
    /// The counter that it is about.
    pub counter: Option<CounterId>,
    /// The cheapest repair.
    pub repair: Option<Repair>,
    /// Other operations that belong to it.
    pub others: Vec<OpId>,
    /// Of a deadlock that depends on who is faster: what is complete before, in an order that ends in it.
    pub turns: Vec<Party>,
}

/// Who takes part in a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Party {
    /// The operation, or the one that starts the transfer.
    pub op: OpId,
    /// The transfer.
    pub transfer: Option<TransferId>,
    /// Index of the access among those of the operation or transfer.
    pub access: Option<u32>,
}

impl Party {
    pub(crate) fn of(op: u32) -> Party {
        Party { op: OpId(op), transfer: None, access: None }
    }

    /// The same, without the access.
    pub fn whole(self) -> Party {
        Party { access: None, ..self }
    }
}

/// How two accesses conflict, seen from the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// The first writes what the second reads.
    Raw,
    /// The first reads what the second writes.
    War,
    /// Both write.
    Waw,
}

impl Hazard {
    /// `RAW`, `WAR` or `WAW`.
    pub fn name(self) -> &'static str {
        match self {
            Hazard::Raw => "RAW",
            Hazard::War => "WAR",
            Hazard::Waw => "WAW",
        }
    }

    /// The ways in which two effects conflict.
    pub(crate) fn between(
        first: crate::program::Effect,
        second: crate::program::Effect,
    ) -> SmallVec<[Hazard; 3]> {
        let all = [
            (first.writes && second.reads, Hazard::Raw),
            (first.reads && second.writes, Hazard::War),
            (first.writes && second.writes, Hazard::Waw),
        ];
        all.into_iter().filter(|(holds, _)| *holds).map(|(_, hazard)| hazard).collect()
    }
}

/// Bytes that two accesses may have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Common {
    /// The space.
    pub space: SpaceId,
    /// Partitions, half open; `0..1` in spaces without.
    pub partitions: Range<u32>,
    /// Bytes, half open.
    pub bytes: Range<i64>,
}

/// A place in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Carried {
    /// The first block of the loop.
    pub block: BlockId,
    /// Iterations from the first access to the second; 0 for a pair within one iteration after the first.
    pub distance: u32,
    /// How the pair is ordered.
    pub tag: Tag,
}

/// How a pair is ordered, or a class of `--all`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tag {
    /// Ordered.
    Ok,
    /// Ordered by what ends the iteration only.
    BackEdgeOnly,
    /// Ordered if transfers of a queue complete in the order of their issue.
    QueueOrderOnly,
    /// Not ordered.
    Unsync,
}

impl Tag {
    /// `OK`, `BACK-EDGE-ONLY`, `QUEUE-ORDER-ONLY` or `UNSYNC`.
    pub fn name(self) -> &'static str {
        match self {
            Tag::Ok => "OK",
            Tag::BackEdgeOnly => "BACK-EDGE-ONLY",
            Tag::QueueOrderOnly => "QUEUE-ORDER-ONLY",
            Tag::Unsync => "UNSYNC",
        }
    }
}

/// A wait that a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitFact {
    /// Index among the waits of the operation.
    pub index: u32,
    /// The count that its named producer brings, if it brings one.
    pub count: Option<i64>,
}

/// How a pair can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// The second waits for a count that is there already.
    Wait {
        /// Who waits.
        waiter: Party,
        /// The counter.
        counter: CounterId,
        /// The count.
        value: i64,
        /// Who brings it: the first, or a later operation of its stream.
        from: Party,
    },
    /// The first updates no counter, nor does what follows it in time.
    Update {
        /// Who waits.
        waiter: Party,
        /// Who must update a counter.
        from: Party,
    },
}
