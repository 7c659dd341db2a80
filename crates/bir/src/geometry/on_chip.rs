//! Access patterns on SBUF and PSUM as partitions times bytes (spec: bir-json 8.3, ordering 14.4).

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use smallvec::SmallVec;

use super::lattice::{ADDRESS_LIMIT, ByteLattice, Overlap, overlap};

/// Partitions of an on-chip memory.
pub const PARTITIONS: i64 = u128::BITS as i64;

/// Steps of work, each about one piece, before [`on_chip_pieces`] answers with a covering box.
pub const PIECE_LIMIT: u32 = 4096;

/// A set of on-chip partitions, 0 to 127.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Partitions(pub u128);

impl Partitions {
    /// The partitions `first`, `first + step`, ... (`count` of them), and whether any of them lies outside
    /// 0..128 and is missing from the set.
    pub fn progression(first: i64, step: i64, count: u64) -> (Self, bool) {
        if count == 0 {
            return (Self(0), false);
        }
        let one_end = i128::from(first);
        let other_end = one_end + i128::from(step) * i128::from(count - 1);
        let (low, high) = (one_end.min(other_end), one_end.max(other_end));
        let stride = i128::from(step.unsigned_abs()).max(1);

        let mut mask = 0;
        let mut partition = if low < 0 { low.rem_euclid(stride) } else { low };
        while partition <= high.min(i128::from(PARTITIONS) - 1) {
            mask |= 1 << partition;
            partition += stride;
        }
        (Self(mask), low < 0 || high >= i128::from(PARTITIONS))
    }

    /// Whether there is no partition in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of partitions in the set.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether `partition` is in the set.
    pub fn contains(self, partition: i64) -> bool {
        (0..PARTITIONS).contains(&partition) && self.0 >> partition & 1 == 1
    }

    /// Whether the sets share a partition.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The lowest partition.
    pub fn first(self) -> Option<u32> {
        (self.0 != 0).then(|| self.0.trailing_zeros())
    }

    /// The partitions in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = Self(rest).first()?;
            rest &= rest - 1;
            Some(next)
        })
    }
}

/// The same bytes on each of some partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The partitions, at least one.
    pub partitions: Partitions,
    /// The bytes within a partition, at least one.
    pub bytes: ByteLattice,
}

impl Piece {
    /// Whether the pieces share a byte of a partition, visiting at most `limit` states.
    pub fn overlap(&self, other: &Self, limit: u32) -> Overlap {
        if self.partitions.intersects(other.partitions) {
            overlap(&self.bytes, &other.bytes, limit)
        } else {
            Overlap::No
        }
    }
}

/// What an on-chip access pattern touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChip {
    /// The touched bytes are those of all pieces; pieces may share some. One piece for an ordinary tile.
    pub pieces: SmallVec<[Piece; 1]>,
    /// An element is negative, a partition outside 0..128, a byte beyond the address limit, or the pitch
    /// zero. The pieces have what is on partitions 0..128 (a negative element lies on the rows before).
    pub out_of_range: bool,
    /// Whether the pieces have nothing but what is touched. If not (the work went past [`PIECE_LIMIT`], or
    /// numbers past the address limit), they are one box that covers all that is touched within range.
    pub exact: bool,
}

/// Splits an on-chip pattern into pieces. Element `e` of it (for `pairs` of step and count in elements:
/// `offset_elems` plus any multiples of the steps below the counts) is on partition
/// `base_partition + e div pitch_elems`, at byte `addr + (e mod pitch_elems) * elem_size`.
///
/// No pair has a special role, so patterns whose partition step is no multiple of the pitch, or whose rows run
/// over their end, come out as the row-flattened addressing has them. There are never more than
/// [`PIECE_LIMIT`] pieces; more than 64 pairs count as past it.
///
/// ```
/// use bir::geometry::on_chip::on_chip_pieces;
/// // 64 partitions of a tile with 512 float32 a row; every second of the first 256 elements.
/// let tile = on_chip_pieces(512, 4, 32, 0x1000, 0, &[(512, 64), (2, 128)]);
/// assert!(tile.exact && !tile.out_of_range);
/// let [piece] = &tile.pieces[..] else { panic!() };
/// assert_eq!((piece.partitions.first(), piece.partitions.count()), (Some(32), 64));
/// assert_eq!(piece.bytes.span(), 0x1000..0x1000 + 255 * 4);
/// ```
pub fn on_chip_pieces(
    pitch_elems: u64,
    elem_size: u64,
    base_partition: i64,
    addr: i64,
    offset_elems: i64,
    pairs: &[(i64, u64)],
) -> OnChip {
    if elem_size == 0 || pairs.iter().any(|&(_, count)| count == 0) {
        return OnChip { pieces: SmallVec::new(), out_of_range: false, exact: true };
    }
    if pitch_elems == 0 {
        return OnChip { pieces: SmallVec::new(), out_of_range: true, exact: true };
    }
    let Some(pattern) = Pattern::new(pitch_elems, elem_size, base_partition, addr, offset_elems, pairs)
    else {
        let end = row_end(addr, pitch_elems, elem_size);
        let all = Partitions(u128::MAX);
        return OnChip { pieces: covering_box(all, addr.into(), end), out_of_range: true, exact: false };
    };

    let mut split = Split { pattern: &pattern, pieces: SmallVec::new(), budget: PIECE_LIMIT };
    let done = if pairs.len() <= MAX_PAIRS {
        split.split(pattern.first, &pattern.rows, &pattern.dims)
    } else {
        Err(PastLimit)
    };
    let (pieces, exact) = match done {
        Ok(()) => (united(split.pieces), true),
        Err(PastLimit) => (pattern.covering_box(), false),
    };
    OnChip { pieces, out_of_range: pattern.is_out_of_range(), exact }
}

/// Bounds the depth of the recursion. The format's patterns have five.
const MAX_PAIRS: usize = 64;

/// A pattern whose numbers are small enough to calculate with, and whose strides are positive.
struct Pattern {
    /// Elements a row; positive.
    pitch: i64,
    /// Bytes an element; positive.
    size: i64,
    base_partition: i64,
    addr: i64,
    /// The lowest and the highest element.
    first: i64,
    last: i64,
    /// Dimensions that step by whole rows; strides in rows.
    rows: Dims,
    /// All others, by descending stride; strides in elements.
    dims: Dims,
}

type Dims = SmallVec<[Dim; 4]>;

impl Pattern {
    /// `None` if the elements, the rows or their bytes lie beyond [`ADDRESS_LIMIT`].
    fn new(
        pitch: u64,
        size: u64,
        base_partition: i64,
        addr: i64,
        offset: i64,
        pairs: &[(i64, u64)],
    ) -> Option<Self> {
        let limit = -i128::from(ADDRESS_LIMIT)..=i128::from(ADDRESS_LIMIT);
        let end = row_end(addr, pitch, size);
        if !(limit.contains(&addr.into()) && limit.contains(&end) && limit.contains(&base_partition.into())) {
            return None;
        }
        let (pitch, size) = (i64::try_from(pitch).ok()?, i64::try_from(size).ok()?);

        let mut first = i128::from(offset);
        let mut last = first;
        let (mut rows, mut dims) = (Dims::new(), Dims::new());
        for &(step, count) in pairs.iter().filter(|&&(step, count)| step != 0 && count > 1) {
            let reach = i128::from(step) * i128::from(count - 1);
            first += reach.min(0);
            last += reach.max(0);
            if !limit.contains(&first) || !limit.contains(&last) {
                return None;
            }
            let stride = step.abs();
            if stride % pitch == 0 {
                rows.push(Dim { stride: stride / pitch, count: count as i64 });
            } else {
                dims.push(Dim { stride, count: count as i64 });
            }
        }
        if !limit.contains(&first) || !limit.contains(&last) {
            return None;
        }
        dims.sort_by_key(|dim| std::cmp::Reverse(dim.stride));
        Some(Self { pitch, size, base_partition, addr, first: first as i64, last: last as i64, rows, dims })
    }

    fn partition(&self, element: i64) -> i64 {
        self.base_partition + element.div_euclid(self.pitch)
    }

    /// The lowest and the highest element are touched, so they tell exactly.
    fn is_out_of_range(&self) -> bool {
        self.first < 0 || self.partition(self.first) < 0 || self.partition(self.last) >= PARTITIONS
    }

    /// Whole rows from the first that is touched to the last.
    fn covering_box(&self) -> SmallVec<[Piece; 1]> {
        let (first, last) = (self.partition(self.first), self.partition(self.last));
        let (partitions, _) = Partitions::progression(first, 1, (last - first) as u64 + 1);
        covering_box(partitions, self.addr.into(), (self.addr + self.pitch * self.size).into())
    }
}

/// The byte behind a row.
fn row_end(addr: i64, pitch: u64, size: u64) -> i128 {
    i128::from(addr) + i128::from(pitch).saturating_mul(size.into()).min(i64::MAX.into())
}

/// The bytes `start..end`, as far as within the address limit, on some partitions.
fn covering_box(partitions: Partitions, start: i128, end: i128) -> SmallVec<[Piece; 1]> {
    let within = |byte: i128| byte.clamp(-i128::from(ADDRESS_LIMIT), i128::from(ADDRESS_LIMIT)) as i64;
    let (start, end) = (within(start), within(end));
    ByteLattice::run(start, (end - start) as u64)
        .filter(|bytes| !bytes.is_empty() && !partitions.is_empty())
        .map(|bytes| Piece { partitions, bytes })
        .into_iter()
        .collect()
}

/// One dimension over elements or rows, of positive stride and a count of at least 1.
#[derive(Clone, Copy, Debug)]
struct Dim {
    stride: i64,
    count: i64,
}

fn reach(dims: &[Dim]) -> i64 {
    dims.iter().map(|dim| dim.stride * (dim.count - 1)).sum()
}

struct PastLimit;

struct Split<'a> {
    pattern: &'a Pattern,
    pieces: SmallVec<[Piece; 1]>,
    budget: u32,
}

impl Split<'_> {
    /// Splits the elements at `first` plus all combinations of `dims`, repeated over `rows`.
    fn split(&mut self, first: i64, rows: &[Dim], dims: &[Dim]) -> Result<(), PastLimit> {
        let pitch = self.pattern.pitch;
        let Some((&outer, inner)) = dims.split_first() else { return self.emit(first, rows, dims) };
        if first.rem_euclid(pitch) + reach(dims) < pitch {
            return self.emit(first, rows, dims);
        }
        self.charge()?;

        // The pattern of columns repeats when the outer dimension has advanced by whole rows.
        let period = pitch / gcd(outer.stride, pitch);
        let (repeats, rest) = (outer.count / period, outer.count % period);
        if repeats > 1 {
            let advance = outer.stride * period;
            let mut repeated = Dims::from_slice(rows);
            repeated.push(Dim { stride: advance / pitch, count: repeats });
            self.split(first, &repeated, &with_count(outer, period, inner))?;
            if rest > 0 {
                self.split(first + advance * repeats, rows, &with_count(outer, rest, inner))?;
            }
            return Ok(());
        }

        // Otherwise go along it: as many positions at a time as stay in one row, and singly where what is
        // within a position runs over the end of its row.
        let inner_reach = reach(inner);
        let mut index = 0;
        while index < outer.count {
            let at = first + index * outer.stride;
            if self.pattern.partition(at) >= PARTITIONS {
                break;
            }
            let room = pitch - 1 - inner_reach - at.rem_euclid(pitch);
            if room < 0 {
                self.charge()?;
                self.split(at, rows, inner)?;
                index += 1;
            } else {
                let count = (room / outer.stride + 1).min(outer.count - index);
                self.emit(at, rows, &with_count(outer, count, inner))?;
                index += count;
            }
        }
        Ok(())
    }

    /// Adds the piece of `dims` that stay in the row of `first`, repeated over `rows`.
    fn emit(&mut self, first: i64, rows: &[Dim], dims: &[Dim]) -> Result<(), PastLimit> {
        self.charge()?;
        let Pattern { pitch, size, addr, .. } = *self.pattern;
        let partitions = self.row_sums(self.pattern.partition(first), rows)?;
        if partitions.is_empty() {
            return Ok(());
        }
        let base = addr + first.rem_euclid(pitch) * size;
        // What has several positions is shorter than a row, so the product is within the limit.
        let dims = dims.iter().filter(|dim| dim.count > 1);
        let dims = dims.map(|dim| (dim.stride * size, dim.count as u64));
        let bytes = ByteLattice::new(base, dims, size as u64).ok_or(PastLimit)?;
        self.pieces.push(Piece { partitions, bytes });
        Ok(())
    }

    /// The partitions at `first` plus all combinations of `rows`, as far as within range.
    fn row_sums(&mut self, first: i64, rows: &[Dim]) -> Result<Partitions, PastLimit> {
        let last = first + reach(rows);
        if last < 0 || first >= PARTITIONS {
            return Ok(Partitions(0));
        }
        if first >= 0 && last < PARTITIONS {
            return Ok(Partitions(rows.iter().fold(1 << first, |mask, &dim| repeated(mask, dim))));
        }
        if let [dim] = rows {
            return Ok(Partitions::progression(first, dim.stride, dim.count as u64).0);
        }
        // Partly out of range: ask for each partition whether the sums of the strides hold it.
        let rows = rows.iter().map(|dim| (dim.stride, dim.count as u64));
        let sums = ByteLattice::new(first, rows, 1).ok_or(PastLimit)?;
        let mut mask = 0;
        for partition in 0..PARTITIONS {
            self.charge()?;
            match sums.contains(partition, PIECE_LIMIT) {
                Overlap::Yes => mask |= 1 << partition,
                Overlap::No => {}
                Overlap::May => return Err(PastLimit),
            }
        }
        Ok(Partitions(mask))
    }

    fn charge(&mut self) -> Result<(), PastLimit> {
        self.budget = self.budget.checked_sub(1).ok_or(PastLimit)?;
        Ok(())
    }
}

/// The outer dimension with another count, before the inner ones.
fn with_count(outer: Dim, count: i64, inner: &[Dim]) -> Dims {
    let mut dims = Dims::new();
    dims.push(Dim { count, ..outer });
    dims.extend_from_slice(inner);
    dims
}

/// The union of the mask shifted by every position of `dim`; none may be shifted out.
fn repeated(mut mask: u128, dim: Dim) -> u128 {
    let mut done = 1;
    while done < dim.count {
        let more = done.min(dim.count - done);
        mask |= mask << (dim.stride * more);
        done += more;
    }
    mask
}

/// The pieces with those of the same bytes made one.
fn united(pieces: SmallVec<[Piece; 1]>) -> SmallVec<[Piece; 1]> {
    if pieces.len() < 2 {
        return pieces;
    }
    let mut places = HashMap::<ByteLattice, usize>::with_capacity(pieces.len());
    let mut united = SmallVec::<[Piece; 1]>::new();
    for Piece { partitions, bytes } in pieces {
        match places.entry(bytes) {
            Entry::Occupied(place) => united[*place.get()].partitions.0 |= partitions.0,
            Entry::Vacant(place) => {
                united.push(Piece { partitions, bytes: place.key().clone() });
                place.insert(united.len() - 1);
            }
        }
    }
    united
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
