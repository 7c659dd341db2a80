//! Access patterns and shapes: short lists of numbers that every operand carries, stored inline.

use std::fmt;

use smallvec::SmallVec;

/// One dimension of an access pattern. spec: bir-json 8.2
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct ApPair {
    /// Distance of two neighbours, in elements of the operand's dtype.
    pub step: i64,
    /// Number of elements along the dimension.
    pub num: i64,
}

/// The dimensions of an access, outermost (the partition dimension) first.
///
/// Up to four pairs of 32-bit numbers are stored inline, anything else on the heap.
#[derive(Clone, PartialEq, Eq, Default, Hash)]
pub struct AccessPattern(ApRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum ApRepr {
    Small { len: u8, pairs: [[i32; 2]; 4] },
    Large(Box<[ApPair]>),
}

impl Default for ApRepr {
    fn default() -> Self {
        ApRepr::Small { len: 0, pairs: [[0; 2]; 4] }
    }
}

impl AccessPattern {
    /// A pattern of pairs, outermost first.
    pub fn new(pairs: &[ApPair]) -> AccessPattern {
        AccessPattern(Self::small(pairs).unwrap_or_else(|| ApRepr::Large(pairs.into())))
    }

    fn small(from: &[ApPair]) -> Option<ApRepr> {
        let mut pairs = [[0; 2]; 4];
        if from.len() > pairs.len() {
            return None;
        }
        for (to, pair) in pairs.iter_mut().zip(from) {
            *to = [i32::try_from(pair.step).ok()?, i32::try_from(pair.num).ok()?];
        }
        Some(ApRepr::Small { len: from.len() as u8, pairs })
    }

    /// Number of dimensions.
    pub fn len(&self) -> usize {
        match &self.0 {
            ApRepr::Small { len, .. } => usize::from(*len),
            ApRepr::Large(pairs) => pairs.len(),
        }
    }

    /// Whether there is no dimension.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One dimension, counted from the outermost.
    pub fn get(&self, index: usize) -> Option<ApPair> {
        match &self.0 {
            ApRepr::Small { len, pairs } => (index < usize::from(*len)).then(|| unpack(pairs[index])),
            ApRepr::Large(pairs) => pairs.get(index).copied(),
        }
    }

    /// The dimensions, outermost first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ApPair> + ExactSizeIterator + '_ {
        (0..self.len()).map(|i| self.get(i).expect("in range"))
    }

    /// Product of the counts: elements of the access. `None` past 64 bits or when a count is negative.
    pub fn elements(&self) -> Option<u64> {
        self.iter().try_fold(1u64, |product, pair| product.checked_mul(u64::try_from(pair.num).ok()?))
    }
}

fn unpack([step, num]: [i32; 2]) -> ApPair {
    ApPair { step: step.into(), num: num.into() }
}

impl FromIterator<ApPair> for AccessPattern {
    fn from_iter<I: IntoIterator<Item = ApPair>>(pairs: I) -> Self {
        let pairs: SmallVec<[ApPair; 8]> = pairs.into_iter().collect();
        AccessPattern::new(&pairs)
    }
}

impl<const N: usize> From<[(i64, i64); N]> for AccessPattern {
    /// Pairs of (step, num).
    fn from(pairs: [(i64, i64); N]) -> Self {
        pairs.into_iter().map(|(step, num)| ApPair { step, num }).collect()
    }
}

impl fmt::Debug for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|pair| [pair.step, pair.num])).finish()
    }
}

/// A list of sizes, such as a tensor shape in elements. Up to four 32-bit entries are stored inline.
#[derive(Clone, PartialEq, Eq, Default, Hash)]
pub struct Shape(ShapeRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum ShapeRepr {
    Small { len: u8, dims: [u32; 4] },
    Large(Box<[u64]>),
}

impl Default for ShapeRepr {
    fn default() -> Self {
        ShapeRepr::Small { len: 0, dims: [0; 4] }
    }
}

impl Shape {
    /// A shape, outermost dimension first.
    pub fn new(dims: &[u64]) -> Shape {
        let mut small = [0; 4];
        if dims.len() > small.len() || dims.iter().any(|&d| d > u64::from(u32::MAX)) {
            return Shape(ShapeRepr::Large(dims.into()));
        }
        for (to, from) in small.iter_mut().zip(dims) {
            *to = *from as u32;
        }
        Shape(ShapeRepr::Small { len: dims.len() as u8, dims: small })
    }

    /// Number of dimensions.
    pub fn len(&self) -> usize {
        match &self.0 {
            ShapeRepr::Small { len, .. } => usize::from(*len),
            ShapeRepr::Large(dims) => dims.len(),
        }
    }

    /// Whether there is no dimension.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of one dimension.
    pub fn get(&self, index: usize) -> Option<u64> {
        match &self.0 {
            ShapeRepr::Small { len, dims } => (index < usize::from(*len)).then(|| dims[index].into()),
            ShapeRepr::Large(dims) => dims.get(index).copied(),
        }
    }

    /// The sizes, outermost first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
        (0..self.len()).map(|i| self.get(i).expect("in range"))
    }

    /// Product of the sizes; `None` past 64 bits.
    pub fn product(&self) -> Option<u64> {
        self.iter().try_fold(1u64, u64::checked_mul)
    }
}

impl FromIterator<u64> for Shape {
    fn from_iter<I: IntoIterator<Item = u64>>(dims: I) -> Self {
        let dims: SmallVec<[u64; 8]> = dims.into_iter().collect();
        Shape::new(&dims)
    }
}

impl<const N: usize> From<[u64; N]> for Shape {
    fn from(dims: [u64; N]) -> Self {
        Shape::new(&dims)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_wide_lists_are_kept_whole() {
        let wide = AccessPattern::from([(1 << 40, 1), (-1, i64::MIN)]);
        assert_eq!(wide.get(0), Some(ApPair { step: 1 << 40, num: 1 }));
        assert_eq!(wide.iter().len(), 2);
        let long: Shape = (1..=9).collect();
        assert_eq!(long.product(), Some(362_880));
        assert_eq!(Shape::from([4, u64::MAX]).product(), None);
        assert_eq!(AccessPattern::from([(512, 128), (1, 512)]).elements(), Some(65_536));
        assert!(size_of::<AccessPattern>() <= 40 && size_of::<Shape>() <= 24);
    }
}
