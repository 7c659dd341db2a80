//! The bytes that an operand touches: a space, and pieces of partitions and byte lattices in it (spec: ordering
//! 14.3, 14.4).

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use super::lattice::{self, Overlap};
use super::on_chip::{Partitions, Piece};
use crate::ids::{LocId, RegId, SetId};
use crate::module::Module;
use crate::names::Sym;

/// Bytes that can meet. Footprints of different spaces never do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// State buffer: partitions of bytes.
    Sb,
    /// Partial-sum buffer: partitions of bytes, the banks one after the other.
    Psum,
    /// The part of device memory where placed Internal locations lie, by address.
    Dram,
    /// The bytes of one location that lie nowhere else: an external tensor in device memory, or a location
    /// without placement. Locations that alias each other share the space of the first of them.
    Location(LocId),
    /// The bytes of a set without locations.
    Set(SetId),
    /// One register; as a single byte.
    Register(RegId),
    /// What an unresolved name may mean.
    Missing(Sym),
}

impl Space {
    /// Whether the space has partitions.
    pub fn is_on_chip(self) -> bool {
        matches!(self, Space::Sb | Space::Psum)
    }
}

/// The bytes that an access touches. Small: no allocation for an ordinary tile.
///
/// ```
/// use bir::geometry::{Footprints, Overlap, Space, Unknown};
/// # use bir::{Argument, Module, Op, Storage, enums::*, ids::*, records::*};
/// # let mut module = Module::new(ArchLevel::Gen3);
/// # let name = module.names.intern("x");
/// # let set = module.add_set(MemoryLocationSet { kind: Some(TensorKind::Internal), ..Default::default() });
/// # let location = MemoryLocation { name, r#type: MemoryType::SB, addr: 4096, dims: Some([128, 2048].into()),
/// #     allocated: true, set, ..Default::default() };
/// # let x = module.add_loc(location);
/// # let tile = |offset| Argument::from(PhysicalAp { ap: Some([(512, 128), (1, 16)].into()), offset,
/// #     dtype: Some(Dtype::Float32), memref: Some(x.into()), ..Default::default() });
/// # let (left, right) = (tile(0), tile(16));
/// // Columns 0..16 and 16..32 of a tile of 128 partitions with 512 float32 each, at byte 4096.
/// let footprints = Footprints::new(&module);
/// let left = &footprints.operand(&left, &Unknown)[0];
/// let right = &footprints.operand(&right, &Unknown)[0];
/// assert_eq!(left.to_string(), "SB[0..128) x bytes [4096..4160)");
/// assert!(left.exact && left.space == Space::Sb);
/// assert_eq!(left.overlap(right), Overlap::No);
/// ```
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The core whose memory it is.
    pub core: u16,
    /// The space.
    pub space: Space,
    /// The location that the operand names, if it is one.
    pub location: Option<LocId>,
    /// The bytes: those of all pieces. In spaces without partitions all lie on partition 0.
    pub pieces: SmallVec<[Piece; 1]>,
    /// Whether every byte of the pieces is touched. If not, they cover what may be touched.
    pub exact: bool,
    /// Whether the access goes past the location it names. Never said when the place depends on a runtime value.
    pub outside_location: bool,
    /// Whether the access goes past the memory: a partition or a byte that the target does not have. The pieces
    /// have no such partition. Never said when the place depends on a runtime value.
    pub outside_memory: bool,
    /// Whether other locations of the space are aliases that are only possible.
    pub(super) may_alias: bool,
    /// Bytes of a PSUM bank.
    pub(super) bank_bytes: i64,
}

impl Footprint {
    /// Whether other locations of the space are only possible aliases of this one.
    pub fn may_alias(&self) -> bool {
        self.may_alias
    }

    /// Whether nothing is touched.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The partitions that are touched. Only partition 0 in spaces without partitions.
    pub fn partitions(&self) -> Partitions {
        Partitions(self.pieces.iter().fold(0, |mask, piece| mask | piece.partitions.0))
    }

    /// From the lowest partition to behind the highest; `None` in spaces without partitions, and when nothing is
    /// touched.
    pub fn partition_range(&self) -> Option<Range<u32>> {
        let mask = self.partitions().0;
        (self.space.is_on_chip() && mask != 0).then(|| mask.trailing_zeros()..128 - mask.leading_zeros())
    }

    /// From the lowest byte to behind the highest, in each partition; empty when nothing is touched. Bytes of PSUM
    /// count from the first bank.
    pub fn bytes(&self) -> Range<i64> {
        let spans = self.pieces.iter().map(|piece| piece.bytes.span());
        spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// The banks between the lowest byte and the highest; `None` in spaces other than PSUM.
    pub fn banks(&self) -> Option<Range<i64>> {
        let bytes = self.bytes();
        let banks = bytes.start.div_euclid(self.bank_bytes)..(bytes.end - 1).div_euclid(self.bank_bytes) + 1;
        (self.space == Space::Psum && !self.is_empty()).then_some(banks)
    }

    /// Whether every byte of a box of partitions and bytes is touched, as far as the pieces tell.
    pub fn is_box(&self) -> bool {
        matches!(&self.pieces[..], [piece] if self.exact && piece.bytes.is_dense() && is_run(piece.partitions))
    }

    /// Whether two accesses touch a common byte: [`Overlap::May`] when one of them is not exact, when the
    /// locations are only possible aliases, or when the test ran into the limit of its work.
    pub fn overlap(&self, other: &Footprint) -> Overlap {
        self.overlap_within(other, lattice::DEFAULT_LIMIT)
    }

    /// As [`overlap`](Self::overlap), visiting at most `limit` states for each pair of pieces.
    pub fn overlap_within(&self, other: &Footprint, limit: u32) -> Overlap {
        if self.core != other.core || self.space != other.space {
            return Overlap::No;
        }
        let mut answer = Overlap::No;
        'pieces: for piece in &self.pieces {
            for of_other in &other.pieces {
                match piece.overlap(of_other, limit) {
                    Overlap::No => {}
                    Overlap::May => answer = Overlap::May,
                    Overlap::Yes => {
                        answer = Overlap::Yes;
                        break 'pieces;
                    }
                }
            }
        }
        let open = !self.exact
            || !other.exact
            || self.location != other.location && (self.may_alias || other.may_alias);
        if answer == Overlap::Yes && open { Overlap::May } else { answer }
    }

    /// The common part of the boxes around two footprints that overlap, for a report: partitions and bytes.
    pub fn common_box(&self, other: &Footprint) -> (Range<u32>, Range<i64>) {
        let partitions = |footprint: &Footprint| footprint.partition_range().unwrap_or(0..1);
        let (a, b) = (partitions(self), partitions(other));
        let (c, d) = (self.bytes(), other.bytes());
        (a.start.max(b.start)..a.end.min(b.end), c.start.max(d.start)..c.end.min(d.end))
    }

    /// Whether this access surely touches every byte of another. False when that is not plain to see.
    pub fn covers(&self, other: &Footprint) -> bool {
        if !self.exact || self.core != other.core || self.space != other.space {
            return false;
        }
        if self.location != other.location && (self.may_alias || other.may_alias) {
            return false;
        }
        other.pieces.iter().all(|inner| self.pieces.iter().any(|outer| piece_covers(outer, inner)))
    }

    /// The footprint with the names of its module, such as `x bytes [0..4096)`.
    pub fn display<'a>(&'a self, module: &'a Module) -> impl fmt::Display + 'a {
        Text { footprint: self, module: Some(module) }
    }
}

fn piece_covers(outer: &Piece, inner: &Piece) -> bool {
    let bytes = || {
        let (within, span) = (outer.bytes.span(), inner.bytes.span());
        outer.bytes == inner.bytes
            || outer.bytes.is_dense() && within.start <= span.start && span.end <= within.end
    };
    inner.partitions.0 & !outer.partitions.0 == 0 && bytes()
}

fn is_run(partitions: Partitions) -> bool {
    let mask = partitions.0;
    mask != 0 && (mask >> mask.trailing_zeros()).trailing_ones() == mask.count_ones()
}

/// `SB[0..128) x bytes [1024..2048)`; see [`display`](Footprint::display) for one with names.
impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text { footprint: self, module: None }.fmt(f)
    }
}

struct Text<'a> {
    footprint: &'a Footprint,
    module: Option<&'a Module>,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let footprint = self.footprint;
        if !footprint.exact {
            f.write_str("within ")?;
        }
        self.space(f)?;
        if matches!(footprint.space, Space::Register(_)) {
            return Ok(());
        }
        let Range { mut start, mut end } = footprint.bytes();
        if let Some(banks) = footprint.banks() {
            start -= banks.start * footprint.bank_bytes;
            end -= banks.start * footprint.bank_bytes;
        }
        if footprint.is_empty() {
            return f.write_str(" nothing");
        }
        if footprint.space.is_on_chip() {
            partitions(f, footprint.partitions())?;
            f.write_str(" x")?;
        }
        if end >= lattice::ADDRESS_LIMIT {
            write!(f, " bytes from {start}")?;
        } else {
            write!(f, " bytes [{start}..{end})")?;
        }
        match &footprint.pieces[..] {
            [piece] if piece.bytes.is_dense() => Ok(()),
            [piece] => write!(f, " in runs of {}", piece.bytes.width()),
            pieces => write!(f, " in {} pieces", pieces.len()),
        }
    }
}

impl Text<'_> {
    fn space(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            |f: &mut fmt::Formatter<'_>, id: &dyn fmt::Debug, name: Option<Sym>| match (self.module, name) {
                (Some(module), Some(name)) => f.write_str(module.str(name)),
                _ => id.fmt(f),
            };
        let module = self.module;
        match self.footprint.space {
            Space::Sb => f.write_str("SB"),
            Space::Psum => match self.footprint.banks() {
                Some(Range { start, end }) if end - start == 1 => write!(f, "PSUM bank {start} "),
                Some(Range { start, end }) => write!(f, "PSUM banks {start} to {} ", end - 1),
                None => f.write_str("PSUM"),
            },
            Space::Dram => f.write_str("DRAM"),
            Space::Location(root) => {
                let loc = self.footprint.location.unwrap_or(root);
                name(f, &loc, module.map(|module| module[loc].name))
            }
            Space::Set(set) => name(f, &set, module.map(|module| module[set].name)),
            Space::Register(reg) => {
                f.write_str("register ")?;
                name(f, &reg, module.map(|module| module[reg].name))
            }
            Space::Missing(missing) => {
                f.write_str("unresolved ")?;
                name(f, &missing, Some(missing))
            }
        }
    }
}

/// `[0..128)`, `[0..127 step 2)`, or `[0..100) (7 of them)`.
fn partitions(f: &mut fmt::Formatter<'_>, partitions: Partitions) -> fmt::Result {
    let mask = partitions.0;
    let (first, end) = (mask.trailing_zeros(), 128 - mask.leading_zeros());
    let count = i64::from(partitions.count());
    let step = if count > 1 { i64::from(end - 1 - first) / (count - 1) } else { 1 };
    if is_run(partitions) {
        write!(f, "[{first}..{end})")
    } else if Partitions::progression(first.into(), step, count as u64).0 == partitions {
        write!(f, "[{first}..{end} step {step})")
    } else {
        write!(f, "[{first}..{end}) ({count} of them)")
    }
}
