//! The overlap test of strided byte sets against plain enumeration (spec: ordering 14.4).

use std::collections::BTreeSet;

use bir::geometry::lattice::{ADDRESS_LIMIT, ByteLattice, DEFAULT_LIMIT, Overlap, common_byte, overlap};
use proptest::prelude::*;

/// A lattice as a caller gives it.
#[derive(Clone, Debug)]
struct Given {
    base: i64,
    dims: Vec<(i64, u64)>,
    width: u64,
}

impl Given {
    fn lattice(&self) -> ByteLattice {
        ByteLattice::new(self.base, self.dims.iter().copied(), self.width).expect("small numbers")
    }

    /// Calls `each` with the start of every run, straight from the definition.
    fn each_run(&self, mut each: impl FnMut(i64)) {
        fn nest(base: i64, dims: &[(i64, u64)], each: &mut impl FnMut(i64)) {
            match dims.split_first() {
                None => each(base),
                Some((&(stride, count), inner)) => {
                    for index in 0..count as i64 {
                        nest(base + index * stride, inner, each);
                    }
                }
            }
        }
        nest(self.base, &self.dims, &mut each);
    }

    fn bytes(&self) -> BTreeSet<i64> {
        let mut bytes = BTreeSet::new();
        self.each_run(|start| bytes.extend(start..start + self.width as i64));
        bytes
    }
}

struct XorShift(u64);

impl XorShift {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// Dense, strided, negative, zero-step and interleaved sets of up to five dimensions and few runs.
    fn given(&mut self, spread: u64, into: &mut Given) {
        into.base = self.below(spread) as i64;
        into.width = [1, 1, 2, 4, 3, 8][self.below(6) as usize];
        into.dims.clear();
        let mut runs = 1;
        for _ in 0..self.below(6) {
            let count = 1 + self.below(4);
            if runs * count > 36 {
                break;
            }
            runs *= count;
            let stride = match self.below(4) {
                0 => self.below(12) as i64 - 3,
                1 => 4 * self.below(12) as i64,
                2 => -(self.below(40) as i64),
                _ => self.below(64) as i64,
            };
            into.dims.push((stride, count));
        }
    }
}

#[test]
fn a_million_pairs_agree_with_enumeration() {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    // Runs start within -1100..1100; one stamp of the pair for each byte that the first set has.
    const ORIGIN: i64 = 2048;
    let mut stamps = vec![0u32; 2 * ORIGIN as usize];
    let mut a = Given { base: 0, dims: Vec::new(), width: 0 };
    let mut b = a.clone();
    let mut met = 0;
    for pair in 1..=1_000_000 {
        random.given(200, &mut a);
        random.given(200, &mut b);
        a.each_run(|start| {
            let at = (start + ORIGIN) as usize;
            stamps[at..at + a.width as usize].fill(pair);
        });
        let mut expected = false;
        b.each_run(|start| {
            let at = (start + ORIGIN) as usize;
            expected = expected || stamps[at..at + b.width as usize].contains(&pair);
        });
        let expected = if expected { Overlap::Yes } else { Overlap::No };
        assert_eq!(overlap(&a.lattice(), &b.lattice(), DEFAULT_LIMIT), expected, "{a:?} {b:?}");
        met += u32::from(expected == Overlap::Yes);
    }
    // Both answers must be common, or the test says little.
    assert!((200_000..800_000).contains(&met), "{met} pairs meet");
}

#[test]
fn wide_sparse_pairs_agree_with_enumeration() {
    let mut random = XorShift(0x0123_4567_89ab_cdef);
    let mut met = 0;
    for _ in 0..3_000 {
        let mut sets = [0, 1].map(|_| {
            let mut set =
                Given { base: random.below(3000) as i64, dims: Vec::new(), width: 1 + random.below(2) };
            for _ in 0..2 + random.below(2) {
                set.dims.push((random.below(5000) as i64 - 1000, 2 + random.below(8)));
            }
            set
        });
        // Half of the pairs are made to share a byte.
        if random.below(2) == 0 {
            let shared = |set: &Given| set.bytes().into_iter().nth(3).unwrap();
            sets[1].base += shared(&sets[0]) - shared(&sets[1]);
        }
        let [a, b] = &sets;
        let expected = a.bytes().intersection(&b.bytes()).next().is_some();
        let answer = overlap(&a.lattice(), &b.lattice(), DEFAULT_LIMIT);
        assert_eq!(answer, if expected { Overlap::Yes } else { Overlap::No }, "{a:?} {b:?}");
        met += u32::from(expected);
    }
    assert!((1_000..2_900).contains(&met), "{met} pairs meet");
}

#[test]
fn normal_forms() {
    let form = |base, dims: &[(i64, u64)], width| {
        let lattice = ByteLattice::new(base, dims.iter().copied(), width).unwrap();
        let dims: Vec<_> = lattice.dims().iter().map(|dim| (dim.stride, dim.count)).collect();
        (lattice.base(), dims, lattice.width())
    };
    // A full tile of [512, 128], [1, 512] 4-byte elements is one run.
    assert_eq!(form(64, &[(2048, 128), (4, 512)], 4), (64, vec![], 128 * 2048));
    // A column of it is a progression.
    assert_eq!(form(0, &[(2048, 128), (4, 1)], 4), (0, vec![(2048, 128)], 4));
    // Negative steps begin at the other end; zero steps and counts of one vanish.
    assert_eq!(form(100, &[(-8, 4), (0, 7), (999, 1)], 2), (76, vec![(8, 4)], 2));
    // (s, n) with (s*n, m) is (s, n*m), in any order of the pairs; so are overlapping positions.
    assert_eq!(form(0, &[(80, 5), (8, 10)], 4), (0, vec![(8, 50)], 4));
    assert_eq!(form(0, &[(8, 10), (16, 5)], 4), (0, vec![(8, 18)], 4));
    // Overlapping runs become one.
    assert_eq!(form(0, &[(3, 10)], 4), (0, vec![], 31));
    // Nothing of nothing.
    for (dims, width) in [(&[(8, 0)][..], 4), (&[], 0), (&[(i64::MAX, u64::MAX), (1, 0)], 1)] {
        assert!(ByteLattice::new(5, dims.iter().copied(), width).unwrap().is_empty());
    }
}

#[test]
fn addresses_beyond_the_limit_are_refused() {
    let limit = ADDRESS_LIMIT;
    assert!(ByteLattice::run(limit - 8, 8).is_some());
    assert!(ByteLattice::run(-limit, 2 * limit as u64).is_some());
    for (base, dims, width) in [
        (limit - 7, &[][..], 8),
        (-limit - 1, &[], 8),
        (0, &[], u64::MAX),
        (0, &[(i64::MAX, u64::MAX)], 1),
        (0, &[(i64::MIN, u64::MAX), (i64::MIN, u64::MAX), (i64::MAX, u64::MAX)], 1),
        (0, &[(limit, 2)], 1),
        (0, &[(-limit, 3)], 1),
    ] {
        assert_eq!(ByteLattice::new(base, dims.iter().copied(), width), None, "{base} {dims:?} {width}");
    }
}

#[test]
fn huge_lattices_are_decided_without_expansion() {
    // Every third against every fifth byte, of a quarter exbibyte each.
    let thirds = ByteLattice::new(0, [(3, 1 << 56)], 1).unwrap();
    let fifths = ByteLattice::new(1, [(5, 1 << 56)], 1).unwrap();
    assert_eq!(overlap(&thirds, &fifths, 2), Overlap::Yes);
    assert_eq!(common_byte(&thirds, &fifths, 2), Some(6));
    // Even and odd never meet.
    let even = ByteLattice::new(0, [(1 << 40, 1 << 10), (2, 1 << 30)], 1).unwrap();
    let odd = ByteLattice::new(-(1 << 59) + 1, [(6, 1 << 56), (1 << 20, 77)], 1).unwrap();
    assert_eq!(overlap(&even, &odd, 0), Overlap::No);
    // Two dimensions are solved like a linear congruence, however long. The first common byte is at the
    // inverse of the one stride modulo the other: index 81,269,451 of the first, and 295,618,797 of the
    // second, which is beyond its 2^28 positions.
    let others = ByteLattice::new(1, [(402_653_189, 1 << 29)], 1).unwrap();
    let reaching = ByteLattice::new(0, [(805_306_487, 1 << 28)], 1).unwrap();
    assert_eq!(common_byte(&reaching, &others, 1), Some(805_306_487 * 81_269_451));
    let short = ByteLattice::new(0, [(805_306_457, 1 << 28)], 1).unwrap();
    assert_eq!(overlap(&short, &others, 1), Overlap::No);
}

/// A subset-sum problem: strides without structure, one target.
fn hard(dims: u32) -> ByteLattice {
    let mut random = XorShift(77);
    let strides = (0..dims).map(|_| (1_000_000_007 + random.below(1 << 40) as i64, 2));
    ByteLattice::new(0, strides.collect::<Vec<_>>(), 1).unwrap()
}

#[test]
fn the_limit_gives_may_and_nothing_else_does() {
    let many = hard(40);
    let middle = many.span().start + (many.span().end - many.span().start) / 2;
    let target = ByteLattice::run(middle, 1).unwrap();
    assert_eq!(overlap(&many, &target, DEFAULT_LIMIT), Overlap::May);
    assert_eq!(overlap(&many, &many, 0), Overlap::May);
    assert_eq!(common_byte(&many, &target, 1000), None);
    // The same kind of problem is exact when small: 2^12 sums.
    let few = hard(12);
    let sums: BTreeSet<i64> = few.runs().map(|run| run.start).collect();
    assert_eq!(sums.len(), 4096);
    for &sum in sums.iter().step_by(97) {
        assert_eq!(few.contains(sum, DEFAULT_LIMIT), Overlap::Yes);
        let beside = ByteLattice::run(sum + 1, 1).unwrap();
        let expected = if sums.contains(&(sum + 1)) { Overlap::Yes } else { Overlap::No };
        assert_eq!(overlap(&few, &beside, DEFAULT_LIMIT), expected);
    }
    // Thousands of dimensions neither overflow the stack nor take long.
    let primes = (2..60_000i64).filter(|n| (2..245).all(|d| n % d != 0 || *n == d));
    let endless = ByteLattice::new(0, primes.map(|p| (1_000_000 * p, 2)), 1).unwrap();
    assert!(endless.dims().len() > 3_000);
    let target = ByteLattice::run(endless.span().end / 2_000_000 * 1_000_000, 1).unwrap();
    assert_eq!(overlap(&endless, &target, u32::MAX), Overlap::May);
}

fn given() -> impl Strategy<Value = Given> {
    let dim = (-40i64..100, 0u64..5);
    (-50i64..200, prop::collection::vec(dim, 0..6), 0u64..9).prop_map(|(base, dims, width)| Given {
        base,
        dims,
        width,
    })
}

/// Numbers of any size, often at the ends.
fn any_lattice() -> impl Strategy<Value = Option<ByteLattice>> {
    let signed = || prop_oneof![any::<i64>(), -9i64..9, (0u32..63).prop_map(|bits| 1i64 << bits)];
    let unsigned = || prop_oneof![any::<u64>(), 0u64..9, (0u32..64).prop_map(|bits| 1u64 << bits)];
    (signed(), prop::collection::vec((signed(), unsigned()), 0..6), unsigned())
        .prop_map(|(base, dims, width)| ByteLattice::new(base, dims, width))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn normalising_keeps_the_bytes(given in given()) {
        let lattice = given.lattice();
        let bytes = given.bytes();
        let runs: Vec<_> = lattice.runs().collect();
        prop_assert_eq!(runs.len() as u64, lattice.run_count());
        let expanded: BTreeSet<i64> = runs.iter().cloned().flatten().collect();
        prop_assert_eq!(&expanded, &bytes);

        prop_assert_eq!(lattice.is_empty(), bytes.is_empty());
        if let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) {
            prop_assert_eq!(lattice.base(), first);
            prop_assert_eq!(lattice.span(), first..last + 1);
            prop_assert_eq!(lattice.is_dense(), bytes.len() as i64 == last + 1 - first);
        }
        for dims in lattice.dims().windows(2) {
            prop_assert!(dims[0].stride > dims[1].stride);
        }
        for dim in lattice.dims() {
            prop_assert!(dim.stride > lattice.width() && dim.count >= 2);
        }
        if lattice.is_nested() {
            prop_assert!(runs.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
        for byte in lattice.span().start - 2..lattice.span().end + 2 {
            let expected = if bytes.contains(&byte) { Overlap::Yes } else { Overlap::No };
            prop_assert_eq!(lattice.contains(byte, DEFAULT_LIMIT), expected);
        }
    }

    #[test]
    fn a_common_byte_is_in_both(a in given(), b in given()) {
        let (bytes, others) = (a.bytes(), b.bytes());
        let lowest = bytes.intersection(&others).next().copied();
        let found = common_byte(&a.lattice(), &b.lattice(), DEFAULT_LIMIT);
        prop_assert_eq!(found.is_some(), lowest.is_some());
        if let Some(byte) = found {
            prop_assert!(bytes.contains(&byte) && others.contains(&byte));
            if a.lattice().is_nested() {
                prop_assert_eq!(found, lowest);
            }
        }
    }

    #[test]
    fn any_numbers_are_survived(a in any_lattice(), b in any_lattice(), byte in any::<i64>()) {
        let Some(a) = a else { return Ok(()) };
        if !a.is_empty() {
            prop_assert_eq!(a.contains(a.base(), DEFAULT_LIMIT), Overlap::Yes);
            prop_assert_eq!(a.contains(a.span().end - 1, DEFAULT_LIMIT), Overlap::Yes);
        }
        a.contains(byte, 1000);
        prop_assert_eq!(a.runs().take(100).count() as u64, a.run_count().min(100));
        let Some(b) = b else { return Ok(()) };
        let there = overlap(&a, &b, 1000);
        let back = overlap(&b, &a, 1000);
        prop_assert!(there == back || there == Overlap::May || back == Overlap::May);
        if let Some(byte) = common_byte(&a, &b, 1000) {
            prop_assert_eq!(a.contains(byte, DEFAULT_LIMIT), Overlap::Yes);
            prop_assert_eq!(b.contains(byte, DEFAULT_LIMIT), Overlap::Yes);
        }
    }
}
