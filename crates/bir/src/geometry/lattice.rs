//! Strided sets of bytes and the exact test whether two of them share a byte, without expanding either
//! (spec: ordering 14.4).

use std::ops::Range;

use hashbrown::HashSet;
use smallvec::SmallVec;

/// Bytes of a lattice lie in `-ADDRESS_LIMIT..ADDRESS_LIMIT` (one exbibyte either way), so that sums and
/// differences of two lattices fit 64 bits.
pub const ADDRESS_LIMIT: i64 = 1 << 60;

/// States that a test visits, unless told otherwise, before it answers [`Overlap::May`].
pub const DEFAULT_LIMIT: u32 = 65_536;

/// Answer of an overlap test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// No byte in common.
    No,
    /// At least one byte in common.
    Yes,
    /// Not decided within the limit of work. It is never the answer of a bounding box.
    May,
}

/// One dimension of a [`ByteLattice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Bytes from one run to the next; more than the width of the runs.
    pub stride: u64,
    /// Number of positions, at least 2.
    pub count: u64,
}

impl Dim {
    /// Bytes from the first position to the last.
    fn reach(self) -> u64 {
        self.stride * (self.count - 1)
    }
}

/// The bytes `base + k1*stride1 + k2*stride2 + ... + [0, width)` for all `k` below their counts.
///
/// Always normalised: base is the lowest byte, strides are positive and descend, and dimensions that only
/// repeat, continue or fill others are merged into them or into the width. Two lattices of the same bytes may
/// still differ.
///
/// ```
/// use bir::geometry::lattice::{ByteLattice, DEFAULT_LIMIT, Overlap, overlap};
/// // Even and odd 4-byte elements of one buffer interleave and never meet.
/// let even = ByteLattice::new(0, [(8, 512)], 4).unwrap();
/// let odd = ByteLattice::new(4, [(8, 512)], 4).unwrap();
/// assert_eq!(overlap(&even, &odd, DEFAULT_LIMIT), Overlap::No);
/// let tile = ByteLattice::new(0, [(256, 2), (4, 3)], 4).unwrap();
/// assert_eq!(overlap(&odd, &tile, DEFAULT_LIMIT), Overlap::Yes);
/// assert_eq!(tile.runs().collect::<Vec<_>>(), [0..12, 256..268]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByteLattice {
    base: i64,
    width: u64,
    dims: SmallVec<[Dim; 4]>,
}

impl ByteLattice {
    /// The lattice of `width`-byte runs at `base` plus all combinations of `dims`, each a stride in bytes (of
    /// any sign, or zero) and a count. A count or width of zero gives the empty set.
    ///
    /// `None` if a byte lies beyond [`ADDRESS_LIMIT`].
    pub fn new(base: i64, dims: impl IntoIterator<Item = (i64, u64)>, width: u64) -> Option<Self> {
        let mut low = i128::from(base);
        let mut high = low + i128::from(width);
        let mut in_range = true;
        let mut kept = SmallVec::<[Dim; 4]>::new();
        for (stride, count) in dims {
            if count == 0 {
                return Some(Self::empty());
            }
            if stride == 0 || count == 1 {
                continue;
            }
            let reach = i128::from(stride) * i128::from(count - 1);
            if reach.unsigned_abs() > 2 * u128::from(ADDRESS_LIMIT.unsigned_abs()) {
                in_range = false;
                continue;
            }
            low += reach.min(0);
            high += reach.max(0);
            kept.push(Dim { stride: stride.unsigned_abs(), count });
        }
        if width == 0 {
            return Some(Self::empty());
        }
        if !in_range || low < i128::from(-ADDRESS_LIMIT) || high > i128::from(ADDRESS_LIMIT) {
            return None;
        }
        let mut width = width;
        merge(&mut kept, &mut width);
        Some(Self { base: low as i64, width, dims: kept })
    }

    /// One run of bytes. `None` if a byte lies beyond [`ADDRESS_LIMIT`].
    pub fn run(base: i64, width: u64) -> Option<Self> {
        Self::new(base, [], width)
    }

    /// The set without a byte.
    pub fn empty() -> Self {
        Self { base: 0, width: 0, dims: SmallVec::new() }
    }

    /// Whether there is no byte in the set.
    pub fn is_empty(&self) -> bool {
        self.width == 0
    }

    /// The lowest byte; 0 of the empty set.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// Bytes of one run.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The dimensions over the runs, by descending stride.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// From the lowest byte to behind the highest.
    pub fn span(&self) -> Range<i64> {
        let reach: u64 = self.dims.iter().map(|dim| dim.reach()).sum();
        self.base..self.base + (reach + self.width) as i64
    }

    /// Whether the set is one run: exactly when it has every byte of its span.
    pub fn is_dense(&self) -> bool {
        // The smallest stride exceeds the width, so with a dimension the byte behind the first run is missing.
        self.dims.is_empty()
    }

    /// Whether every dimension steps over all that is within it, as in ordinary tiles. If so, [`runs`] are
    /// disjoint and ascend.
    ///
    /// [`runs`]: Self::runs
    pub fn is_nested(&self) -> bool {
        let mut inner = self.width;
        self.dims.iter().rev().all(|dim| {
            let fits = dim.stride >= inner;
            inner += dim.reach();
            fits
        })
    }

    /// Number of [`runs`](Self::runs), at most `u64::MAX`.
    pub fn run_count(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.dims.iter().fold(1, |product: u64, dim| product.saturating_mul(dim.count))
    }

    /// The runs of bytes, the innermost dimension fastest. See [`is_nested`](Self::is_nested) for their order.
    /// There may be very many; [`run_count`](Self::run_count) tells.
    pub fn runs(&self) -> Runs<'_> {
        Runs {
            lattice: self,
            indices: SmallVec::from_elem(0, self.dims.len()),
            next: (!self.is_empty()).then_some(self.base),
        }
    }

    /// Whether `byte` is in the set, visiting at most `limit` states.
    pub fn contains(&self, byte: i64, limit: u32) -> Overlap {
        if !self.span().contains(&byte) {
            return Overlap::No;
        }
        reaches(&self.dims, self.width, byte.abs_diff(self.base), limit)
    }

    /// The half of the set with the lower indices of a dimension (or the lower part of the runs), and the rest.
    fn halves(&self, dim: Option<usize>) -> (Self, Self) {
        let (mut low, mut high) = (self.clone(), self.clone());
        match dim {
            Some(at) => {
                let Dim { stride, count } = self.dims[at];
                let half = count / 2;
                high.base += (stride * half) as i64;
                for (part, count) in [(&mut low, half), (&mut high, count - half)] {
                    part.dims[at].count = count;
                    if count == 1 {
                        part.dims.remove(at);
                    }
                }
            }
            None => {
                low.width = self.width / 2;
                high.base += low.width as i64;
                high.width -= low.width;
            }
        }
        (low, high)
    }
}

/// Iterator over the runs of a [`ByteLattice`].
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    lattice: &'a ByteLattice,
    indices: SmallVec<[u64; 4]>,
    next: Option<i64>,
}

impl Iterator for Runs<'_> {
    type Item = Range<i64>;

    fn next(&mut self) -> Option<Range<i64>> {
        let start = self.next?;
        let mut following = start;
        self.next = None;
        for (index, dim) in self.indices.iter_mut().zip(&self.lattice.dims).rev() {
            if *index + 1 < dim.count {
                *index += 1;
                self.next = Some(following + dim.stride as i64);
                break;
            }
            *index = 0;
            following -= dim.reach() as i64;
        }
        Some(start..start + self.lattice.width as i64)
    }
}

/// Whether two lattices share a byte. Exact, unless more than `limit` states are visited (then
/// [`Overlap::May`]); ordinary tiles take a handful. See [`DEFAULT_LIMIT`].
pub fn overlap(a: &ByteLattice, b: &ByteLattice, limit: u32) -> Overlap {
    let (a_span, b_span) = (a.span(), b.span());
    if a.is_empty() || b.is_empty() || a_span.end <= b_span.start || b_span.end <= a_span.start {
        return Overlap::No;
    }
    if a.is_dense() && b.is_dense() {
        return Overlap::Yes;
    }
    // A byte is shared when (byte of a's run start) - (byte of b's run start) lies in (-width a, width b).
    // Counting b's indices from its far end makes all strides positive: the question becomes whether the
    // lattice of both sets of strides, with runs of width a + width b - 1, holds the byte at `target`.
    let mut width = a.width + b.width - 1;
    let target = b_span.end - 1 - a.base;
    let mut dims = SmallVec::<[Dim; 8]>::new();
    dims.extend_from_slice(&a.dims);
    dims.extend_from_slice(&b.dims);
    merge(&mut dims, &mut width);
    reaches(&dims, width, target.unsigned_abs(), limit)
}

/// A byte that both lattices have, for a report: the lowest one if `a` [is nested](ByteLattice::is_nested).
/// `None` if there is none, or none was found within `limit` states a step (some hundred steps at most).
pub fn common_byte(a: &ByteLattice, b: &ByteLattice, limit: u32) -> Option<i64> {
    if overlap(a, b, limit) != Overlap::Yes {
        return None;
    }
    let mut part = a.clone();
    loop {
        let dim = if part.dims.is_empty() { None } else { Some(0) };
        if dim.is_none() && part.width == 1 {
            return Some(part.base);
        }
        let (low, high) = part.halves(dim);
        part = match overlap(&low, b, limit) {
            Overlap::Yes => low,
            Overlap::No => high,
            Overlap::May if overlap(&high, b, limit) == Overlap::Yes => high,
            Overlap::May => return None,
        };
    }
}

/// Normalises dimensions over runs of `width` without changing the set, to descending strides: a stride within
/// the width lengthens the runs; one that is a multiple of a smaller stride and within what that covers (the
/// same, the next or an overlapping position) lengthens that dimension.
fn merge<const N: usize>(dims: &mut SmallVec<[Dim; N]>, width: &mut u64) {
    dims.sort_unstable_by_key(|dim| dim.stride);
    let mut kept = 0;
    for at in 0..dims.len() {
        let dim = dims[at];
        if dim.stride <= *width {
            *width += dim.reach();
            continue;
        }
        // Later dimensions have larger strides, so one pass finds all that can merge.
        let inner = dims[..kept.min(MAX_DIMS)].iter_mut().find(|inner| {
            dim.stride <= inner.stride * inner.count && dim.stride.is_multiple_of(inner.stride)
        });
        if let Some(inner) = inner {
            inner.count += dim.stride / inner.stride * (dim.count - 1);
        } else {
            dims[kept] = dim;
            kept += 1;
        }
    }
    dims.truncate(kept);
    dims.reverse();
}

/// More dimensions than this (after merging) are not searched. The format's patterns have five.
const MAX_DIMS: usize = 256;

/// Whether runs of `width` at all sums of the merged `dims`, from 0, hold the byte at `target`.
fn reaches(dims: &[Dim], width: u64, target: u64, limit: u32) -> Overlap {
    let mut tails = SmallVec::<[Tail; 9]>::from_elem(Tail { last: width - 1, gcd: 0 }, dims.len() + 1);
    for at in (0..dims.len()).rev() {
        let inner = tails[at + 1];
        tails[at] = Tail { last: inner.last + dims[at].reach(), gcd: gcd(dims[at].stride, inner.gcd) };
    }
    let all = tails[0];
    if target > all.last || all.gcd > 0 && target % all.gcd >= width {
        return Overlap::No;
    }
    if dims.len() > MAX_DIMS {
        return Overlap::May;
    }
    Search { dims, tails: &tails, width, budget: limit, refuted: HashSet::new() }.visit(0, target)
}

/// What the dimensions from one level on amount to.
#[derive(Clone, Copy)]
struct Tail {
    /// The highest byte they and the run reach.
    last: u64,
    /// Greatest common divisor of their strides; 0 without any.
    gcd: u64,
}

struct Search<'a> {
    dims: &'a [Dim],
    /// By level, and one more for the run alone.
    tails: &'a [Tail],
    width: u64,
    budget: u32,
    /// Levels and targets that were found out of reach.
    refuted: HashSet<(usize, u64)>,
}

impl Search<'_> {
    /// Whether the dimensions from `level` on reach `target`, which is known to be within their span and
    /// congruent to a byte of a run modulo their divisor.
    fn visit(&mut self, level: usize, target: u64) -> Overlap {
        // With one dimension left those two conditions suffice.
        if level + 1 >= self.dims.len() {
            return Overlap::Yes;
        }
        if self.budget == 0 {
            return Overlap::May;
        }
        self.budget -= 1;

        // Indices that leave the target within the span of the inner dimensions.
        let Dim { stride, count } = self.dims[level];
        let inner = self.tails[level + 1];
        let first = target.saturating_sub(inner.last).div_ceil(stride);
        let last = (target / stride).min(count - 1);
        if first > last {
            return Overlap::No;
        }
        let innermost_pair = level + 2 == self.dims.len();
        if !innermost_pair && last - first > 1 && !self.refuted.insert((level, target)) {
            return Overlap::No;
        }

        let mut index = first;
        while index <= last {
            // Of those, indices that leave a target congruent to a byte of a run.
            let rest = target - index * stride;
            let residue = rest % inner.gcd;
            if residue >= self.width {
                let wanted = residue - (self.width - 1)..=residue;
                match first_multiple_within(stride % inner.gcd, inner.gcd, wanted) {
                    Some(skip) => index += skip,
                    None => return Overlap::No,
                }
                continue;
            }
            match self.visit(level + 1, rest) {
                Overlap::No => index += 1,
                found => return found,
            }
        }
        Overlap::No
    }
}

/// The smallest `k` with `k * step mod modulus` in `wanted`, where `step < modulus` and
/// `0 < wanted.start <= wanted.end < modulus`. Runs like Euclid's algorithm.
fn first_multiple_within(step: u64, modulus: u64, wanted: std::ops::RangeInclusive<u64>) -> Option<u64> {
    if step == 0 {
        return None;
    }
    let (low, high) = wanted.into_inner();
    let k = low.div_ceil(step);
    if k * step <= high {
        return Some(k);
    }
    // No multiple of `step` lies in the range, so the modulus must be passed j times. Then k*step is the
    // multiple of `step` in j*modulus + wanted, which asks the same of j, modulo `step`.
    let negated = step - high % step..=step - low % step;
    let j = first_multiple_within(modulus % step, step, negated)?;
    let k = (u128::from(modulus) * u128::from(j) + u128::from(low)).div_ceil(u128::from(step));
    u64::try_from(k).ok()
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
