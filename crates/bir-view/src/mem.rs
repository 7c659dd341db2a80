//! Who uses which bytes of SB, PSUM and DRAM, over the program.
//!
//! [`mem`] gathers where every location lies and from which instruction to which it is live, how much that amounts to
//! at the worst moment, and what does not fit. The result serialises with all that a plot needs; [`Mem::text`] prints
//! it with a map of each memory, [`svg`] draws it.
//!
//! A location is live from the first instruction that touches it to the last one. One that a loop finds filled, or
//! leaves filled, is live in all of the loop. Positions are those of instructions in document order; a transfer is
//! where its trigger stands.

mod live;
mod map;
mod svg;
mod sweep;
mod text;

use bir::Module;
use bir::ids::InstId;
use serde::Serialize;

use crate::program::At;

pub use svg::svg;

/// Use of the memories of a module.
#[derive(Clone, Debug, Serialize)]
pub struct Mem {
    /// `arch` as the document spells it.
    pub arch: Option<String>,
    /// The device whose sizes are taken.
    pub device: String,
    /// Positions of the program: instructions of functions, those of loop bodies included.
    pub positions: u32,
    /// SB, PSUM, and the part of DRAM where Internal tensors lie.
    pub spaces: Vec<SpaceUse>,
    /// Locations, in document order.
    pub locations: Vec<LocationUse>,
    /// DRAM outside of that part, by kind of tensor.
    pub external: Vec<ExternalUse>,
    /// Locations that share their bytes since they alias each other.
    pub aliases: Vec<Vec<String>>,
    /// The moment that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment: Option<Moment>,
}

/// A memory.
#[derive(Clone, Debug, Serialize)]
pub struct SpaceUse {
    /// `SB`, `PSUM` or `DRAM`.
    pub space: &'static str,
    /// Partitions; 1 for DRAM.
    pub partitions: u64,
    /// Bytes of each partition, as far as they may be used; `null` when not known.
    pub bytes: Option<u64>,
    /// Bytes of a bank of PSUM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_bytes: Option<u64>,
    /// Locations with a place in it.
    pub placed: usize,
    /// Locations that are to be in it and have no place.
    pub unplaced: usize,
    /// Locations that nothing touches: they take no part in what follows.
    pub untouched: usize,
    /// The fullest partition at its worst moment. Locations without a place count with their size.
    pub peak: Peak,
    /// Quadrants of SB, banks of PSUM; none of DRAM.
    pub regions: Vec<Region>,
    /// What does not fit, if something does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// Placed locations past the end of the memory.
    pub outside: Vec<String>,
    /// Pairs of locations that are live at the same time and share bytes without being aliases: the first
    /// [`MAX_SHARED`].
    pub shared: Vec<Shared>,
    /// Bytes in use in the fullest partition, at most [`BUCKETS`] numbers that cover the program evenly: the most of
    /// each stretch.
    pub timeline: Vec<u64>,
}

/// Most numbers of a timeline.
pub const BUCKETS: usize = 256;

/// Most pairs in [`SpaceUse::shared`].
pub const MAX_SHARED: usize = 100;

/// The worst moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Peak {
    /// Bytes in use in a partition.
    pub bytes: u64,
    /// The first position at which it is so.
    pub position: u32,
    /// The instruction there.
    pub at: Option<At>,
    /// The partitions with so much in use, half open; the first ones when they are apart.
    pub partitions: [u64; 2],
    /// Runs of bytes that nothing uses there, half open; in order.
    pub free: Vec<[u64; 2]>,
    /// Bytes of the longest of them.
    pub largest_free: u64,
}

/// A quadrant or a bank.
#[derive(Clone, Debug, Serialize)]
pub struct Region {
    /// `partitions 0..32` or `bank 3`.
    pub name: String,
    /// Partitions.
    pub partitions: [u64; 2],
    /// Bytes of each partition.
    pub bytes: [u64; 2],
    /// Most bytes in use in a partition of it.
    pub peak: u64,
    /// The first position at which it is so.
    pub position: u32,
    /// Name of the instruction there.
    pub instruction: Option<String>,
    /// Locations that have bytes in it.
    pub locations: usize,
}

/// More than there is.
#[derive(Clone, Debug, Serialize)]
pub struct Over {
    /// Bytes of a partition that are missing.
    pub by: u64,
    /// What is live then in the fullest partition, largest first.
    pub culprits: Vec<Culprit>,
}

/// A location that takes part in an excess.
#[derive(Clone, Debug, Serialize)]
pub struct Culprit {
    /// The location.
    pub location: String,
    /// Bytes of a partition.
    pub bytes: u64,
    /// Positions for which it is live.
    pub live: [u32; 2],
    /// The instruction that touches it first.
    pub first: Option<String>,
    /// The instruction that touches it last.
    pub last: Option<String>,
}

/// Two locations that are live at the same time in the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Shared {
    /// The one that is live first.
    pub first: String,
    /// The other.
    pub second: String,
    /// Partitions that both have; of DRAM 0 to 1.
    pub partitions: [u64; 2],
    /// Bytes that both have.
    pub bytes: [u64; 2],
    /// Positions at which both are live.
    pub live: [u32; 2],
}

/// A location.
#[derive(Clone, Debug, Serialize)]
pub struct LocationUse {
    /// Its name.
    pub name: String,
    /// The tensor.
    pub tensor: String,
    /// The function that owns it.
    pub function: String,
    /// The memory.
    pub space: String,
    /// Whether it has a place.
    pub placed: bool,
    /// Whether it takes part in the use of a memory in [`Mem::spaces`].
    pub counted: bool,
    /// Partitions, half open; of DRAM 0 to 1.
    pub partitions: [u64; 2],
    /// Bytes in each partition, half open, those of PSUM from the first bank on; from 0 without a place.
    pub bytes: [u64; 2],
    /// The first and the last position at which it is live; `null` when nothing touches it.
    pub live: Option<[u32; 2]>,
    /// The instruction that touches it first, in the order of the document.
    pub first: Option<String>,
    /// The instruction that touches it last.
    pub last: Option<String>,
    /// Reads of it.
    pub reads: u64,
    /// Writes of it.
    pub writes: u64,
}

/// DRAM locations of tensors that are not Internal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalUse {
    /// Kind of the tensors.
    pub kind: String,
    /// Locations.
    pub locations: u64,
    /// Sum of their bytes.
    pub bytes: u64,
}

/// What is live at one position.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// The position.
    pub position: u32,
    /// The instruction.
    pub at: At,
    /// Each memory then.
    pub spaces: Vec<MomentSpace>,
}

/// A memory at one position.
#[derive(Clone, Debug, Serialize)]
pub struct MomentSpace {
    /// The memory.
    pub space: &'static str,
    /// Bytes in use in the fullest partition.
    pub used: u64,
    /// That partition.
    pub partition: u64,
    /// Indexes into [`Mem::locations`] of what is live, by place.
    pub live: Vec<usize>,
    /// Runs of bytes that nothing uses in the fullest partition.
    pub free: Vec<[u64; 2]>,
}

/// Gathers the use of the memories of a module, and what is live at an instruction.
///
/// ```
/// let module = bir::sample::matmul_softmax(&Default::default());
/// let mem = bir_view::mem::mem(&module, None);
/// assert_eq!(mem.spaces[0].space, "SB");
/// assert!(mem.spaces[0].peak.bytes > 0 && mem.spaces[0].over.is_none());
/// ```
pub fn mem(module: &Module, at: Option<InstId>) -> Mem {
    live::Gatherer::new(module).finish(at)
}

/// Whether two ranges have something in common.
fn meet<T: PartialOrd>(a: [T; 2], b: [T; 2]) -> bool {
    let [a0, a1] = a;
    let [b0, b1] = b;
    a0 < b1 && b0 < a1
}
