//! The abstract program that is checked: streams of operations with the bytes they touch, the counters they wait for
//! and update, DMA transfers between issue and completion, and the blocks that they stand in (spec: ordering 14.1).
//!
//! Whoever fills it knows a format; this crate's engine knows only this.

use std::ops::Range;

use bir::geometry::lattice::Overlap;
use bir::geometry::on_chip::Piece;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::packed::{Accesses, MAX_COUNTERS, Updates, View, Waits};

/// Most streams of a program: five engines on each of six cores, and two to spare.
pub const MAX_STREAMS: usize = 32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Dense index from 0.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A stream: the instructions of one engine of one core, which run one after the other.
    StreamId;
    /// A block of operations.
    BlockId;
    /// An operation, in program order.
    OpId;
    /// A DMA transfer, in program order of the operations that start them.
    TransferId;
    /// An access of an operation or a transfer.
    AccessId;
    /// A semaphore or an event.
    CounterId;
    /// A set of bytes.
    BytesId;
    /// A memory: bytes that can meet.
    SpaceId;
    /// A DMA queue.
    QueueId;
    /// A name of an operation or a transfer, as waits use it. Names may repeat.
    NameId;
    /// A way in which a set of bytes moves with loops.
    MovesId;
}

/// A set of streams.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Streams(pub u32);

impl Streams {
    /// No stream: the operation takes no part in any order.
    pub const NONE: Streams = Streams(0);

    /// One stream.
    pub fn one(stream: StreamId) -> Streams {
        Streams(1 << stream.0)
    }

    /// Both sets together.
    pub fn or(self, other: Streams) -> Streams {
        Streams(self.0 | other.0)
    }

    /// The streams.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            next
        })
    }

    /// The stream, when it is one.
    pub fn single(self) -> Option<usize> {
        (self.0.count_ones() == 1).then(|| self.0.trailing_zeros() as usize)
    }
}

/// A set of bytes in a space.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bytes {
    /// The space.
    pub space: SpaceId,
    /// The bytes: those of all pieces. In spaces without partitions all lie on partition 0.
    pub pieces: SmallVec<[Piece; 1]>,
    /// Whether every byte of the pieces is touched; if not, they cover what may be touched.
    pub exact: bool,
    /// Sets with different values are only possible aliases of each other.
    pub alias: Option<u32>,
    /// Which part of the set is touched in each iteration of the loops around: the set itself is all that is swept.
    pub moves: Option<MovesId>,
}

/// Parts of a set of bytes by iteration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Moves {
    /// The first block of each loop, outermost first, and how often it runs.
    pub(crate) loops: SmallVec<[(BlockId, u32); 2]>,
    /// The part in each iteration, those of the innermost loop together.
    pub(crate) parts: Vec<u32>,
}

impl Bytes {
    /// Whether two sets have a common byte.
    pub fn overlap(&self, other: &Bytes) -> Overlap {
        if self.space != other.space {
            return Overlap::No;
        }
        let mut answer = Overlap::No;
        for (a, b) in self.pieces.iter().flat_map(|a| other.pieces.iter().map(move |b| (a, b))) {
            match a.overlap(b, bir::geometry::lattice::DEFAULT_LIMIT) {
                Overlap::Yes => {
                    let open = !self.exact
                        || !other.exact
                        || self.alias != other.alias && (self.alias.is_some() || other.alias.is_some());
                    return if open { Overlap::May } else { Overlap::Yes };
                }
                Overlap::May => answer = Overlap::May,
                Overlap::No => {}
            }
        }
        answer
    }

    /// From the lowest partition to behind the highest.
    pub fn partitions(&self) -> Range<u32> {
        let mask = self.pieces.iter().fold(0, |mask, piece| mask | piece.partitions.0);
        if mask == 0 { 0..0 } else { mask.trailing_zeros()..128 - mask.leading_zeros() }
    }

    /// From the lowest byte to behind the highest.
    pub fn span(&self) -> Range<i64> {
        let spans = self.pieces.iter().map(|piece| piece.bytes.span());
        spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }
}

/// What happens to the bytes of an access, and how it takes part in an accumulation group (spec: ordering 7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Effect {
    /// Old contents matter.
    pub reads: bool,
    /// The bytes are written.
    pub writes: bool,
    /// A matmul's part in its accumulation group.
    pub group: Option<GroupPart>,
}

/// A matmul's part in an accumulation group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupPart {
    /// It starts the group: old contents do not matter.
    pub start: bool,
    /// It ends the group.
    pub stop: bool,
}

impl Effect {
    /// Reads.
    pub const READ: Effect = Effect { reads: true, writes: false, group: None };
    /// Overwrites.
    pub const WRITE: Effect = Effect { reads: false, writes: true, group: None };
    /// Reads and writes.
    pub const UPDATE: Effect = Effect { reads: true, writes: true, group: None };
}

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// The bytes.
    pub bytes: BytesId,
    /// What happens to them.
    pub effect: Effect,
}

/// What a wait asks of its counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Need {
    /// A count of at least this.
    AtLeast(i64),
    /// At least this many counts for each time that the operation has run: a rendezvous of streams.
    Each(i64),
    /// The event is set; the wait clears it.
    Take,
    /// A count that is not known before the program runs.
    Unknown,
}

/// A wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The counter.
    pub counter: CounterId,
    /// What it asks.
    pub need: Need,
    /// Who is said to bring the count, for a cross-check.
    pub from: Option<NameId>,
}

/// What an update does to its counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// Adds, or subtracts what is negative.
    Add(i64),
    /// Sets the count.
    Write(i64),
    /// Sets the event.
    Set,
}

/// An update, made when the operation or transfer is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// The counter.
    pub counter: CounterId,
    /// What it does.
    pub change: Change,
}

/// What an operation does beyond its accesses, waits and updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// Nothing.
    Plain,
    /// Zeroes counters.
    Reset(&'a [CounterId]),
    /// Zeroes counters that are not known.
    ResetUnknown,
    /// Waits for the transfers that its streams have started.
    Drain,
}

/// An operation to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewOp<'a> {
    /// Its name, as waits use it.
    pub name: Option<NameId>,
    /// Streams that run it together. With several it is a barrier: it starts when all have arrived.
    pub streams: Streams,
    /// What it does.
    pub kind: Kind<'a>,
    /// What must hold before it starts.
    pub waits: &'a [Wait],
    /// What it does to counters when it is complete.
    pub updates: &'a [Update],
    /// What it touches between start and completion.
    pub accesses: &'a [Access],
    /// Operations of the same non-zero value write the same value.
    pub value: u32,
}

/// A transfer to be added to the last operation.
#[derive(Clone, Copy, Debug)]
pub struct NewTransfer<'a> {
    /// Its name, as waits use it.
    pub name: Option<NameId>,
    /// The queue.
    pub queue: Option<QueueId>,
    /// What it touches between issue and completion.
    pub accesses: &'a [Access],
    /// What it does to counters when it is complete.
    pub updates: &'a [Update],
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exit {
    /// Blocks that may come next.
    pub next: SmallVec<[BlockId; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    Plain,
    Reset { first: u32, count: u32 },
    ResetUnknown,
    Drain,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) name: u32,
    pub(crate) streams: Streams,
    pub(crate) waits: u32,
    pub(crate) updates: u32,
    pub(crate) accesses: u32,
    pub(crate) transfers: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) name: u32,
    pub(crate) queue: u32,
    pub(crate) accesses: u32,
    pub(crate) updates: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) core: u16,
    pub(crate) ops: Range<u32>,
    pub(crate) exit: Exit,
}

pub(crate) const NONE: u32 = u32::MAX;

/// A program. Blocks are added in the order of the document, one after the other, with their operations.
///
/// ```
/// use bir::geometry::lattice::ByteLattice;
/// use bir::geometry::on_chip::{Partitions, Piece};
/// use bir_order::program::*;
/// use bir_order::{Options, Verdict, check};
/// let mut program = Program::new();
/// let (dve, pool) = (program.add_stream(0), program.add_stream(0));
/// let sb = program.add_space();
/// let bytes = ByteLattice::run(0, 64).unwrap();
/// let piece = Piece { partitions: Partitions(0xf), bytes };
/// let tile = program.bytes(Bytes { space: sb, pieces: [piece].into_iter().collect(), exact: true, alias: None, moves: None });
/// let block = program.begin_block(0);
/// for stream in [dve, pool] {
///     let access = Access { bytes: tile, effect: Effect::WRITE };
///     program.push(&NewOp {
///         name: None,
///         streams: Streams::one(stream),
///         kind: Kind::Plain,
///         waits: &[],
///         updates: &[],
///         accesses: &[access],
///         value: 0,
///     });
/// }
/// program.end_block(Exit::default());
/// let outcome = check(&program, &Options::default());
/// assert_eq!(outcome.verdict(), Verdict::Findings);
/// # let _ = block;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The core of each stream.
    pub(crate) streams: Vec<u16>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) ops: Vec<Op>,
    pub(crate) transfers: Vec<Transfer>,
    /// What is not plain, and values that operations have in common, in order.
    kinds: Vec<(u32, OpKind)>,
    values: Vec<(u32, u32)>,
    /// Operations that are one instruction on several streams: the first, and the one behind the last. In order.
    clones: Vec<(u32, u32)>,
    /// How often runs of blocks are known to run.
    pub(crate) trips: Vec<(Range<u32>, u64)>,
    pub(crate) waits: Waits,
    pub(crate) updates: Updates,
    pub(crate) transfer_updates: Updates,
    pub(crate) accesses: Accesses,
    pub(crate) transfer_accesses: Accesses,
    pub(crate) resets: Vec<CounterId>,
    pub(crate) bytes: Vec<Bytes>,
    bytes_of: HashMap<Bytes, BytesId>,
    pub(crate) moves: Vec<Moves>,
    moves_of: HashMap<Moves, MovesId>,
    /// What [`Moves`] has parts of.
    pub(crate) parts: Vec<Bytes>,
    parts_of: HashMap<Bytes, u32>,
    pub(crate) spaces: u32,
    pub(crate) counters: u32,
    /// Whose operations can wait for a counter, where not everybody's: none at all when no core is said.
    waiters: HashMap<CounterId, Option<u16>>,
    pub(crate) queues: u32,
    pub(crate) names: u32,
}

impl Program {
    /// An empty program.
    pub fn new() -> Program {
        Program::default()
    }

    /// Adds a stream of a core.
    ///
    /// # Panics
    /// Past [`MAX_STREAMS`].
    pub fn add_stream(&mut self, core: u16) -> StreamId {
        assert!(self.streams.len() < MAX_STREAMS, "too many streams");
        self.streams.push(core);
        StreamId(self.streams.len() as u32 - 1)
    }

    /// Adds a space.
    pub fn add_space(&mut self) -> SpaceId {
        self.spaces += 1;
        SpaceId(self.spaces - 1)
    }

    /// Adds a semaphore or an event.
    ///
    /// # Panics
    /// When there are 2^29.
    pub fn add_counter(&mut self) -> CounterId {
        assert!(self.counters < MAX_COUNTERS, "too many counters");
        self.counters += 1;
        CounterId(self.counters - 1)
    }

    /// Says that no other wait than those which stand there can be put on a counter but by operations of one core, or by
    /// none: repairs keep to that.
    pub fn set_waiters(&mut self, counter: CounterId, core: Option<u16>) {
        self.waiters.insert(counter, core);
    }

    /// Whether an operation on a stream can be made to wait for a counter.
    pub(crate) fn can_wait(&self, counter: CounterId, stream: Option<usize>) -> bool {
        let of = |stream: usize| self.streams.get(stream).copied();
        self.waiters.get(&counter).is_none_or(|core| core.is_some() && *core == stream.and_then(of))
    }

    /// Adds a queue.
    pub fn add_queue(&mut self) -> QueueId {
        self.queues += 1;
        QueueId(self.queues - 1)
    }

    /// Adds a name.
    pub fn add_name(&mut self) -> NameId {
        self.names += 1;
        NameId(self.names - 1)
    }

    /// Adds names that follow each other, and gives the first.
    pub fn add_names(&mut self, count: u32) -> NameId {
        self.names += count;
        NameId(self.names - count)
    }

    /// A set of bytes; the same id for the same bytes.
    pub fn bytes(&mut self, bytes: Bytes) -> BytesId {
        if let Some(id) = self.bytes_of.get(&bytes) {
            return *id;
        }
        let id = BytesId(self.bytes.len() as u32);
        self.bytes.push(bytes.clone());
        self.bytes_of.insert(bytes, id);
        id
    }

    /// A way to move through loops: the first block of each and how often it runs, outermost first, and the bytes in each
    /// iteration, those of the innermost loop together.
    ///
    /// # Panics
    /// When there is not one set for each iteration.
    pub fn moves(&mut self, loops: &[(BlockId, u32)], parts: impl IntoIterator<Item = Bytes>) -> MovesId {
        let parts: Vec<u32> = parts
            .into_iter()
            .map(|bytes| {
                *self.parts_of.entry(bytes).or_insert_with_key(|bytes| {
                    self.parts.push(bytes.clone());
                    self.parts.len() as u32 - 1
                })
            })
            .collect();
        let trips: u32 = loops.iter().map(|(_, trips)| trips).product();
        assert_eq!(parts.len(), trips as usize, "one set for each iteration");
        let moves = Moves { loops: loops.iter().copied().collect(), parts };
        *self.moves_of.entry(moves).or_insert_with_key(|moves| {
            self.moves.push(moves.clone());
            MovesId(self.moves.len() as u32 - 1)
        })
    }

    /// Begins a block of a core. Blocks of one core stand together.
    pub fn begin_block(&mut self, core: u16) -> BlockId {
        let at = self.ops.len() as u32;
        self.blocks.push(Block { core, ops: at..at, exit: Exit::default() });
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Ends the last block.
    ///
    /// # Panics
    /// When no block was begun.
    pub fn end_block(&mut self, exit: Exit) {
        let block = self.blocks.last_mut().expect("a block was begun");
        block.ops.end = self.ops.len() as u32;
        block.exit = exit;
    }

    /// Sets how a block ends.
    pub fn set_exit(&mut self, block: BlockId, exit: Exit) {
        self.blocks[block.index()].exit = exit;
    }

    /// Adds an operation to the last block.
    pub fn push(&mut self, op: &NewOp<'_>) -> OpId {
        let kind = match op.kind {
            Kind::Plain => OpKind::Plain,
            Kind::Drain => OpKind::Drain,
            Kind::ResetUnknown => OpKind::ResetUnknown,
            Kind::Reset(counters) => {
                let first = self.resets.len() as u32;
                self.resets.extend_from_slice(counters);
                OpKind::Reset { first, count: counters.len() as u32 }
            }
        };
        let at = self.ops.len() as u32;
        if kind != OpKind::Plain {
            self.kinds.push((at, kind));
        }
        if op.value != 0 {
            self.values.push((at, op.value));
        }
        self.ops.push(Op {
            name: op.name.map_or(NONE, |name| name.0),
            streams: op.streams,
            waits: self.waits.len() as u32,
            updates: self.updates.len() as u32,
            accesses: self.accesses.len() as u32,
            transfers: self.transfers.len() as u32,
        });
        op.waits.iter().for_each(|wait| self.waits.push(wait));
        op.updates.iter().for_each(|update| self.updates.push(update));
        op.accesses.iter().for_each(|access| self.accesses.push(access));
        OpId(at)
    }

    /// Adds an operation that several streams run, each for itself: none waits for the others. Gives the first.
    pub fn push_each(&mut self, op: &NewOp<'_>) -> OpId {
        let first = self.ops.len() as u32;
        for stream in op.streams.iter() {
            self.push(&NewOp { streams: Streams(1 << stream), ..*op });
        }
        if self.ops.len() as u32 > first + 1 {
            self.clones.push((first, self.ops.len() as u32));
        }
        OpId(first)
    }

    /// The operations that are one instruction with this one, itself among them.
    pub(crate) fn clones_of(&self, op: u32) -> Range<u32> {
        let after = self.clones.partition_point(|(first, _)| *first <= op);
        let of = after.checked_sub(1).map(|at| self.clones[at]).filter(|(_, end)| op < *end);
        of.map_or(op..op + 1, |(first, end)| first..end)
    }

    /// The first of the operations that are one instruction with this one.
    pub(crate) fn first_clone(&self, op: u32) -> u32 {
        if self.clones.is_empty() { op } else { self.clones_of(op).start }
    }

    /// Number of operations, those of [`Program::push_each`] counted once.
    pub fn instruction_count(&self) -> usize {
        let more: u32 = self.clones.iter().map(|(first, end)| end - first - 1).sum();
        self.ops.len() - more as usize
    }

    /// Says how often a loop runs: its blocks from the first to the last.
    pub fn set_trips(&mut self, first: BlockId, last: BlockId, trips: u64) {
        self.trips.push((first.0..last.0 + 1, trips));
    }

    /// Adds a transfer that the last operation starts.
    pub fn push_transfer(&mut self, transfer: &NewTransfer<'_>) -> TransferId {
        self.transfers.push(Transfer {
            name: transfer.name.map_or(NONE, |name| name.0),
            queue: transfer.queue.map_or(NONE, |queue| queue.0),
            accesses: self.transfer_accesses.len() as u32,
            updates: self.transfer_updates.len() as u32,
        });
        transfer.accesses.iter().for_each(|access| self.transfer_accesses.push(access));
        transfer.updates.iter().for_each(|update| self.transfer_updates.push(update));
        TransferId(self.transfers.len() as u32 - 1)
    }

    /// Makes room for about so many more operations, so that lists need not move while they grow.
    pub fn reserve(&mut self, operations: usize) {
        self.ops.reserve(operations);
        self.transfers.reserve(operations / 2);
        self.waits.reserve(operations);
        self.updates.reserve(operations);
        self.transfer_updates.reserve(operations / 2);
        self.accesses.reserve(operations * 2);
        self.transfer_accesses.reserve(operations * 2);
    }

    /// Gives back what only filling needs.
    pub fn finish(&mut self) {
        self.bytes_of = HashMap::new();
        self.moves_of = HashMap::new();
        self.parts_of = HashMap::new();
        self.ops.shrink_to_fit();
        self.transfers.shrink_to_fit();
        self.waits.shrink_to_fit();
        self.updates.shrink_to_fit();
        self.transfer_updates.shrink_to_fit();
        self.accesses.finish();
        self.transfer_accesses.finish();
    }

    /// Whether anything waits for or updates a semaphore or event.
    pub fn is_synchronised(&self) -> bool {
        self.waits.len() + self.updates.len() + self.transfer_updates.len() > 0
    }

    /// Whether several streams have operations of their own.
    pub fn is_parallel(&self) -> bool {
        let mut streams = self.ops.iter().filter_map(|op| op.streams.single());
        streams.next().is_some_and(|first| streams.any(|stream| stream != first))
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Number of accesses, those of transfers included.
    pub fn access_count(&self) -> usize {
        self.accesses.len() + self.transfer_accesses.len()
    }

    /// The transfers that an operation starts.
    pub fn transfers(&self, op: OpId) -> impl Iterator<Item = TransferId> {
        self.transfers_of(op.0).map(|transfer| TransferId(transfer as u32))
    }

    /// The waits of an operation.
    pub fn waits(&self, op: OpId) -> impl ExactSizeIterator<Item = Wait> {
        self.waits_of(op.0).iter()
    }

    pub(crate) fn waits_of(&self, op: u32) -> View<'_, Waits> {
        View::new(&self.waits, self.range(op, |op| op.waits, self.waits.len()))
    }

    pub(crate) fn updates_of(&self, op: u32) -> View<'_, Updates> {
        View::new(&self.updates, self.range(op, |op| op.updates, self.updates.len()))
    }

    pub(crate) fn accesses_of(&self, op: u32) -> View<'_, Accesses> {
        View::new(&self.accesses, self.range(op, |op| op.accesses, self.accesses.len()))
    }

    pub(crate) fn kind_of(&self, op: u32) -> OpKind {
        match self.kinds.binary_search_by_key(&op, |(of, _)| *of) {
            Ok(at) => self.kinds[at].1,
            Err(_) => OpKind::Plain,
        }
    }

    /// Operations that are not plain, in order.
    pub(crate) fn kinds(&self) -> &[(u32, OpKind)] {
        &self.kinds
    }

    /// The value that an operation has in common with others, or zero.
    pub(crate) fn value_of(&self, op: u32) -> u32 {
        self.values.binary_search_by_key(&op, |(of, _)| *of).map_or(0, |at| self.values[at].1)
    }

    pub(crate) fn transfers_of(&self, op: u32) -> Range<usize> {
        self.range(op, |op| op.transfers, self.transfers.len())
    }

    pub(crate) fn resets_of(&self, kind: OpKind) -> &[CounterId] {
        match kind {
            OpKind::Reset { first, count } => &self.resets[first as usize..(first + count) as usize],
            _ => &[],
        }
    }

    pub(crate) fn transfer_updates_of(&self, transfer: usize) -> View<'_, Updates> {
        let end =
            self.transfers.get(transfer + 1).map_or(self.transfer_updates.len(), |t| t.updates as usize);
        View::new(&self.transfer_updates, self.transfers[transfer].updates as usize..end)
    }

    pub(crate) fn transfer_accesses_of(&self, transfer: usize) -> View<'_, Accesses> {
        let end =
            self.transfers.get(transfer + 1).map_or(self.transfer_accesses.len(), |t| t.accesses as usize);
        View::new(&self.transfer_accesses, self.transfers[transfer].accesses as usize..end)
    }

    /// Whether the operation touches memory or starts a transfer.
    pub(crate) fn touches(&self, op: u32) -> bool {
        self.accesses_of(op).len() > 0 || !self.transfers_of(op).is_empty()
    }

    fn range(&self, op: u32, of: impl Fn(&Op) -> u32, all: usize) -> Range<usize> {
        let op = op as usize;
        of(&self.ops[op]) as usize..self.ops.get(op + 1).map_or(all, |next| of(next) as usize)
    }
}
