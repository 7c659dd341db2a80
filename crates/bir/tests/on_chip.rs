//! On-chip access patterns as pieces, against the formula element by element (spec: bir-json 8.3).

use std::collections::BTreeSet;

use bir::geometry::lattice::{ByteLattice, DEFAULT_LIMIT, Overlap};
use bir::geometry::on_chip::{OnChip, PIECE_LIMIT, Partitions, Piece, on_chip_pieces};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Pattern {
    pitch: u64,
    size: u64,
    base: i64,
    addr: i64,
    offset: i64,
    pairs: Vec<(i64, u64)>,
}

impl Pattern {
    fn pieces(&self) -> OnChip {
        on_chip_pieces(self.pitch, self.size, self.base, self.addr, self.offset, &self.pairs)
    }

    /// The elements, sorted and without repetition.
    fn elements(&self) -> Vec<i64> {
        let mut elements = vec![self.offset];
        for &(step, count) in &self.pairs {
            elements = (0..count as i64)
                .flat_map(|index| elements.iter().map(move |element| element + index * step))
                .collect();
            elements.sort_unstable();
            elements.dedup();
        }
        elements
    }

    /// Partition and first byte of every element within the partitions, and whether any is outside.
    fn expected(&self) -> (Vec<(u32, i64)>, bool) {
        let pitch = self.pitch as i64;
        let mut outside = false;
        let mut cells = Vec::new();
        for element in self.elements() {
            let partition = self.base + element.div_euclid(pitch);
            let byte = self.addr + element.rem_euclid(pitch) * self.size as i64;
            match u32::try_from(partition) {
                Ok(partition @ 0..128) => cells.push((partition, byte)),
                _ => outside = true,
            }
            outside |= element < 0;
        }
        cells.sort_unstable();
        (cells, outside)
    }
}

/// Partition and first byte of every element that the pieces have.
fn cells(pieces: &[Piece], size: u64) -> Vec<(u32, i64)> {
    let mut cells = Vec::new();
    for piece in pieces {
        assert!(!piece.partitions.is_empty() && !piece.bytes.is_empty());
        for run in piece.bytes.runs() {
            for byte in run.step_by(size as usize) {
                cells.extend(piece.partitions.iter().map(|partition| (partition, byte)));
            }
        }
    }
    cells.sort_unstable();
    cells.dedup();
    cells
}

#[track_caller]
fn assert_exact(pattern: &Pattern) -> OnChip {
    let answer = pattern.pieces();
    let (expected, outside) = pattern.expected();
    assert!(answer.exact, "{pattern:?}");
    assert_eq!(answer.out_of_range, outside, "{pattern:?}");
    assert_eq!(cells(&answer.pieces, pattern.size), expected, "{pattern:?}");
    answer
}

struct XorShift(u64);

impl XorShift {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as i64
    }

    fn pattern(&mut self) -> Pattern {
        let pitch = 1 + self.below(24);
        let mut pairs = Vec::new();
        let mut elements = 1;
        for _ in 0..self.below(5) {
            let longest = [3, 6, 20][self.below(3) as usize];
            let count = 1 + self.below(longest) as u64;
            if elements * count > 60 {
                break;
            }
            elements *= count;
            let step = match self.below(8) {
                0..=2 => pitch * self.below(5),
                3 => 1,
                4 => -self.below(2 * pitch),
                5 => pitch + [-1, 1][self.below(2) as usize],
                _ => self.below(3 * pitch),
            };
            pairs.push((step, count));
        }
        let offsets = [1, pitch, 4 * pitch, 60][self.below(4) as usize];
        Pattern {
            pitch: pitch as u64,
            size: [1, 2, 4][self.below(3) as usize],
            base: [0, 32, 64, 96, 120, -3][self.below(6) as usize],
            addr: 64 * self.below(4),
            offset: self.below(offsets),
            pairs,
        }
    }
}

#[test]
fn random_patterns_agree_with_the_formula() {
    let mut random = XorShift(0x2545_f491_4f6c_dd1d);
    let (mut several, mut outside) = (0, 0);
    for _ in 0..200_000 {
        let answer = assert_exact(&random.pattern());
        several += u32::from(answer.pieces.len() > 1);
        outside += u32::from(answer.out_of_range);
    }
    assert!(several > 50_000, "{several} patterns of several pieces");
    assert!(outside > 20_000, "{outside} patterns out of range");
}

/// Number of pieces, after checking them.
#[track_caller]
fn count(pitch: u64, base: i64, offset: i64, pairs: &[(i64, u64)]) -> usize {
    let pattern = Pattern { pitch, size: 2, base, addr: 256, offset, pairs: pairs.to_vec() };
    assert_exact(&pattern).pieces.len()
}

#[test]
fn few_pieces_where_few_will_do() {
    // Ordinary tiles: whole, a corner, every second column, every third partition, reversed, transposed.
    assert_eq!(count(64, 0, 0, &[(64, 128), (1, 64)]), 1);
    assert_eq!(count(64, 32, 3 * 64 + 8, &[(64, 16), (1, 32)]), 1);
    assert_eq!(count(64, 0, 1, &[(64, 128), (2, 32)]), 1);
    assert_eq!(count(64, 0, 0, &[(192, 42), (16, 4), (1, 8)]), 1);
    assert_eq!(count(64, 0, 64 * 128 - 1, &[(-64, 128), (-1, 64)]), 1);
    assert_eq!(count(64, 0, 0, &[(1, 64), (64, 128)]), 1);
    // A run over whole rows is a rectangle; over part of the first or last row, a little more.
    assert_eq!(count(64, 0, 0, &[(1, 64 * 100)]), 1);
    assert_eq!(count(64, 0, 0, &[(1, 64 * 100 + 7)]), 2);
    assert!(count(64, 0, 5, &[(1, 64 * 100 + 7)]) <= 4);
    // Half rows, and a step of one and a half.
    assert_eq!(count(64, 0, 0, &[(32, 200), (1, 4)]), 1);
    assert_eq!(count(64, 0, 0, &[(96, 84), (1, 4)]), 2);
    // A diagonal has a row of its own for each partition.
    assert_eq!(count(64, 0, 0, &[(65, 64)]), 64);
    // An inner span over the end of every row: two parts, each the same on all partitions.
    assert_eq!(count(64, 0, 60, &[(64, 100), (1, 8)]), 2);
}

#[test]
fn what_is_out_of_range_is_left_out_and_said() {
    let pieces = |base, offset, pairs: &[(i64, u64)]| on_chip_pieces(64, 4, base, 0, offset, pairs);
    let tall = pieces(120, 0, &[(64, 16), (1, 64)]);
    assert!(tall.out_of_range && tall.exact);
    assert_eq!(tall.pieces[0].partitions, Partitions(0xff << 120));
    let gone = pieces(128, 0, &[(64, 16), (1, 64)]);
    assert!(gone.out_of_range && gone.exact && gone.pieces.is_empty());
    // Negative elements are out of range even where their row is a partition.
    let negative = pieces(5, -64, &[(1, 64)]);
    assert!(negative.out_of_range && negative.exact);
    assert_eq!(negative.pieces[0].partitions, Partitions(1 << 4));
    assert!(on_chip_pieces(0, 4, 0, 0, 0, &[(1, 4)]).out_of_range);

    // A step that leaves the partitions at once, with numbers whose product leaves 64 bits.
    let leap = on_chip_pieces(3, 1 << 50, 0, 0, 0, &[((1 << 40) + 1, 2)]);
    assert!(leap.out_of_range && leap.exact);
    assert_eq!(leap.pieces[0].bytes, ByteLattice::run(0, 1 << 50).unwrap());

    let none = pieces(0, 0, &[(64, 0), (1, 64)]);
    assert!(!none.out_of_range && none.exact && none.pieces.is_empty());
}

#[test]
fn too_much_work_gives_a_covering_box() {
    // Two dimensions that drift against the pitch, over ever new columns.
    let pattern = Pattern {
        pitch: 1009,
        size: 2,
        base: 0,
        addr: 512,
        offset: 3 * 1009,
        pairs: vec![(7, 120), (13, 110), (101, 120), (211, 90), (1, 2)],
    };
    let answer = pattern.pieces();
    assert!(!answer.exact && !answer.out_of_range);
    let [piece] = &answer.pieces[..] else { panic!("one box") };
    let (cells, _) = pattern.expected();
    assert_eq!(piece.bytes, ByteLattice::run(512, 2 * 1009).unwrap());
    assert_eq!(piece.partitions.first(), Some(cells[0].0));
    assert_eq!(piece.partitions.iter().last(), cells.last().map(|cell| cell.0));

    let far = on_chip_pieces(64, 4, 0, 4096, i64::MAX, &[(1, 64)]);
    assert!(!far.exact && far.out_of_range);
    assert_eq!(far.pieces[0].bytes, ByteLattice::run(4096, 256).unwrap());
}

#[test]
fn progressions_of_partitions() {
    let brute = |first: i64, step: i64, count: u64| {
        let all: BTreeSet<i64> = (0..count as i64).map(|index| first + index * step).collect();
        let inside = all.iter().filter(|partition| (0..128).contains(*partition));
        let mask = inside.clone().fold(0u128, |mask, partition| mask | 1 << partition);
        (Partitions(mask), inside.count() < all.len())
    };
    for first in (-300..300).step_by(7) {
        for step in -40..40 {
            for count in [0, 1, 2, 3, 5, 32, 128, 300] {
                let answer = Partitions::progression(first, step, count);
                assert_eq!(answer, brute(first, step, count), "{first} {step} {count}");
            }
        }
    }
    assert_eq!(Partitions::progression(i64::MIN, i64::MAX, u64::MAX), (Partitions(0), true));
    assert_eq!(Partitions::progression(i64::MAX, i64::MIN, u64::MAX), (Partitions(0), true));
    let (some, _) = Partitions::progression(3, 40, 4);
    assert_eq!(some.iter().collect::<Vec<_>>(), [3, 43, 83, 123]);
    assert!(some.contains(43) && !some.contains(44) && !some.contains(-1) && !some.contains(128));
    assert_eq!((some.count(), some.first(), Partitions(0).first()), (4, Some(3), None));
}

#[test]
fn pieces_meet_only_on_a_common_partition() {
    let tile = |base, offset| on_chip_pieces(64, 4, base, 0, offset, &[(64, 32), (2, 8)]).pieces.remove(0);
    assert_eq!(tile(0, 0).overlap(&tile(31, 0), DEFAULT_LIMIT), Overlap::Yes);
    assert_eq!(tile(0, 0).overlap(&tile(32, 0), DEFAULT_LIMIT), Overlap::No);
    assert_eq!(tile(0, 0).overlap(&tile(31, 1), DEFAULT_LIMIT), Overlap::No);
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    let signed = || prop_oneof![any::<i64>(), -9i64..99, (0u32..63).prop_map(|bits| 1i64 << bits)];
    let unsigned = || prop_oneof![any::<u64>(), 0u64..99, (0u32..64).prop_map(|bits| 1u64 << bits)];
    let pairs = prop::collection::vec((signed(), unsigned()), 0..6);
    (unsigned(), unsigned(), signed(), signed(), signed(), pairs).prop_map(
        |(pitch, size, base, addr, offset, pairs)| Pattern { pitch, size, base, addr, offset, pairs },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_are_survived(pattern in any_pattern()) {
        let answer = pattern.pieces();
        prop_assert!(answer.pieces.len() <= PIECE_LIMIT as usize);
        prop_assert!(answer.exact || answer.pieces.len() <= 1);
    }
}
