//! Each space cut into cells, so that accesses can only meet in a cell that both touch (spec: ordering 14.3).
//!
//! The bounds of all sets cut a space into boxes. Boxes that the same sets touch are one cell, and what nothing writes is
//! none. A set whose runs are too many to be cut out counts as its span; [`Cells::meeting`] then takes apart the cells of
//! sets that do not meet.

use std::ops::Range;

use bir::geometry::lattice::Overlap;
use hashbrown::HashSet;
use smallvec::SmallVec;

use crate::program::{Bytes, Program};

/// A lattice of more runs than this counts as its span when cells are cut. Overlap is exact all the same.
const MAX_RUNS: u64 = 64;

/// Most cells of one set of bytes; a space that would need more is cut more coarsely.
const MAX_CELLS: usize = 1 << 12;

/// The cells of every set of bytes.
#[derive(Clone)]
pub(crate) struct Cells {
    /// Where the list of each set begins and ends.
    ranges: Vec<(u32, u32)>,
    list: Vec<u32>,
    pub(crate) count: usize,
    /// Whether the set is all of its cells.
    tight: Vec<bool>,
}

impl Cells {
    pub(crate) fn new(program: &Program, in_loops: bool) -> Cells {
        let spaces = program.spaces as usize;
        let mut touched = vec![(false, 0u32); spaces];
        let mut written = vec![false; program.bytes.len()];
        for access in program.accesses.iter().chain(program.transfer_accesses.iter()) {
            let (writes, count) = &mut touched[program.bytes[access.bytes.index()].space.index()];
            *writes |= access.effect.writes;
            // A group can be in the wrong state all by itself.
            *count += 1 + u32::from(access.effect.group.is_some());
            written[access.bytes.index()] |= access.effect.writes;
        }
        // What is only read needs no cells, nor does what is touched once, outside of loops.
        let mut ids: Vec<u32> = (0..program.bytes.len() as u32).collect();
        let space_of = |id: u32| program.bytes[id as usize].space.index();
        ids.retain(|id| {
            let (writes, count) = touched[space_of(*id)];
            writes && (count > 1 || in_loops)
        });
        ids.sort_by_key(|id| space_of(*id));
        let mut cells = Cells {
            ranges: vec![(0, 0); program.bytes.len()],
            list: Vec::new(),
            count: 0,
            tight: vec![true; program.bytes.len()],
        };
        for ids in ids.chunk_by(|a, b| space_of(*a) == space_of(*b)) {
            cells.cut(program, ids, &written);
        }
        cells.list.shrink_to_fit();
        cells
    }

    pub(crate) fn of(&self, bytes: usize) -> &[u32] {
        let (start, end) = self.ranges[bytes];
        &self.list[start as usize..end as usize]
    }

    /// Whether a set is all of its cells, so that writing it covers them.
    pub(crate) fn is_tight(&self, bytes: usize) -> bool {
        self.tight[bytes]
    }

    /// Cuts one space.
    fn cut(&mut self, program: &Program, ids: &[u32], written: &[bool]) {
        let classes = classes(program, ids);
        let (bounds, shift) = bounds(program, ids);
        let per_class = (bounds.len() >> shift) + 1;
        let start = self.list.len();
        let mut found: Vec<u32> = Vec::new();
        for id in ids {
            let bytes = &program.bytes[*id as usize];
            let tight = &mut self.tight[*id as usize];
            *tight = shift == 0 && bytes.exact;
            found.clear();
            for (at, piece) in bytes.pieces.iter().enumerate() {
                let (runs, exact) = runs(bytes, at);
                *tight &= exact;
                let stretches: SmallVec<[(usize, usize); 4]> = runs
                    .iter()
                    .map(|run| {
                        let from = bounds.partition_point(|bound| *bound < run.start) >> shift;
                        (from, (bounds.partition_point(|bound| *bound < run.end) - 1) >> shift)
                    })
                    .collect();
                for (class, mask) in classes.iter().enumerate() {
                    if mask & piece.partitions.0 != 0 {
                        let cells = stretches.iter().flat_map(|(from, to)| *from..=*to);
                        found.extend(cells.map(|cell| (class * per_class + cell) as u32));
                    }
                }
            }
            // In order already where runs are.
            found.sort_unstable();
            found.dedup();
            let first = self.list.len() as u32;
            self.list.extend_from_slice(&found);
            self.ranges[*id as usize] = (first, self.list.len() as u32);
        }
        self.merge(ids, start, classes.len() * per_class, written);
    }

    /// Takes boxes that the same sets touch together, and drops those that nothing writes. `start`: where the lists of
    /// these sets begin.
    fn merge(&mut self, ids: &[u32], start: usize, boxes: usize, written: &[bool]) {
        // Boxes are told apart set by set: those of a group that a set touches leave it for a new one.
        let mut group_of = vec![0u32; boxes];
        let mut groups: Vec<Group> = vec![Group { seen: u32::MAX, next: 0, written: false }];
        for id in ids {
            let (from, to) = self.ranges[*id as usize];
            for cell in &self.list[from as usize..to as usize] {
                let of = &mut group_of[*cell as usize];
                let fresh = groups.len() as u32;
                let group = &mut groups[*of as usize];
                if group.seen != *id {
                    (group.seen, group.next) = (*id, fresh);
                    let is_written = group.written || written[*id as usize];
                    groups.push(Group { seen: u32::MAX, next: 0, written: is_written });
                }
                *of = groups[*of as usize].next;
            }
        }
        // Numbers for what is left, in the order in which the sets touch it.
        let mut numbers = vec![u32::MAX; groups.len()];
        groups.iter_mut().for_each(|group| group.seen = u32::MAX);
        let mut kept = start;
        let mut found: Vec<u32> = Vec::new();
        for id in ids {
            let (from, to) = self.ranges[*id as usize];
            found.clear();
            for cell in &self.list[from as usize..to as usize] {
                let group = group_of[*cell as usize] as usize;
                // A set has many boxes of few groups.
                let is_seen = std::mem::replace(&mut groups[group].seen, *id) == *id;
                if is_seen || !groups[group].written {
                    continue;
                }
                if numbers[group] == u32::MAX {
                    numbers[group] = self.count as u32;
                    self.count += 1;
                }
                found.push(numbers[group]);
            }
            found.sort_unstable();
            self.list[kept..kept + found.len()].copy_from_slice(&found);
            self.ranges[*id as usize] = (kept as u32, (kept + found.len()) as u32);
            kept += found.len();
        }
        self.list.truncate(kept);
    }

    /// Cells in which all sets meet each other, as far as that is known; `None` when these are such.
    pub(crate) fn meeting(&self, program: &Program) -> Option<Cells> {
        if self.tight.iter().all(|tight| *tight) {
            return None;
        }
        let mut sets: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); self.count];
        for id in 0..self.ranges.len() {
            self.of(id).iter().for_each(|cell| sets[*cell as usize].push(id as u32));
        }
        // New cells come behind the old ones; a cell that was taken apart stays unused.
        let mut count = self.count;
        let mut moved: Vec<(u32, u32, u32)> = Vec::new();
        for (cell, sets) in sets.iter().enumerate() {
            for clique in self.cliques(program, sets) {
                moved.extend(clique.iter().map(|id| (*id, cell as u32, count as u32)));
                count += 1;
            }
        }
        if moved.is_empty() {
            return None;
        }
        moved.sort_unstable();
        let mut cells = Cells { ranges: Vec::new(), list: Vec::new(), count, tight: self.tight.clone() };
        let mut moved = &moved[..];
        for id in 0..self.ranges.len() {
            let first = cells.list.len() as u32;
            for cell in self.of(id) {
                let of = moved.partition_point(|(i, c, _)| (*i, *c) <= (id as u32, *cell));
                match &moved[..of] {
                    [] => cells.list.push(*cell),
                    own => cells.list.extend(own.iter().map(|(_, _, to)| *to)),
                }
                moved = &moved[of..];
            }
            cells.ranges.push((first, cells.list.len() as u32));
        }
        Some(cells)
    }

    /// Groups of sets that all meet each other, such that any two that meet are in a group together. None when that
    /// is one group, or when there are too many sets to tell.
    fn cliques(&self, program: &Program, sets: &[u32]) -> Vec<SmallVec<[u32; 4]>> {
        let is_tight = |id: u32| self.tight[id as usize];
        if sets.len() > u64::BITS as usize || sets.iter().all(|id| is_tight(*id)) {
            return Vec::new();
        }
        let bytes = |id: u32| &program.bytes[id as usize];
        let mut meets = vec![0u64; sets.len()];
        for (at, a) in sets.iter().enumerate() {
            meets[at] |= 1 << at;
            for (other, b) in sets[..at].iter().enumerate() {
                if is_tight(*a) && is_tight(*b) || bytes(*a).overlap(bytes(*b)) != Overlap::No {
                    meets[at] |= 1 << other;
                    meets[other] |= 1 << at;
                }
            }
        }
        let all = u64::MAX >> (u64::BITS as usize - sets.len());
        if meets.iter().all(|meets| *meets == all) {
            return Vec::new();
        }
        let mut open = meets.clone();
        let mut cliques = Vec::new();
        for first in 0..sets.len() {
            while open[first] != 0 {
                // From a meeting that no group has yet: whoever meets all members joins.
                let second = open[first].trailing_zeros() as usize;
                let mut members = 1u64 << first | 1 << second;
                let mut common = meets[first] & meets[second];
                for (other, meets) in meets.iter().enumerate() {
                    if common >> other & 1 != 0 {
                        members |= 1 << other;
                        common &= meets;
                    }
                }
                let of = |members: u64| (0..sets.len()).filter(move |at| members >> at & 1 != 0);
                of(members).for_each(|at| open[at] &= !members);
                cliques.push(of(members).map(|at| sets[at]).collect());
            }
        }
        cliques
    }
}

/// Boxes that the same sets touch, as far as they were looked at.
#[derive(Clone, Copy)]
struct Group {
    /// The last set that touches some of them, and the group of those that it touches.
    seen: u32,
    next: u32,
    written: bool,
}

/// Partitions that no set of a space tells apart.
fn classes(program: &Program, ids: &[u32]) -> Vec<u128> {
    let mut classes: Vec<u128> = vec![u128::MAX];
    let mut masks: HashSet<u128> = HashSet::new();
    for id in ids {
        for piece in &program.bytes[*id as usize].pieces {
            if masks.insert(piece.partitions.0) {
                let split = classes.iter().flat_map(|class| {
                    [class & piece.partitions.0, class & !piece.partitions.0]
                        .into_iter()
                        .filter(|part| *part != 0)
                });
                classes = split.collect();
            }
        }
    }
    classes
}

/// Where runs of a space begin and end, and how many of the stretches between are taken together (as a power of two).
fn bounds(program: &Program, ids: &[u32]) -> (Vec<i64>, usize) {
    let mut bounds: Vec<i64> = Vec::new();
    for id in ids {
        let bytes = &program.bytes[*id as usize];
        for at in 0..bytes.pieces.len() {
            bounds.extend(runs(bytes, at).0.iter().flat_map(|run| [run.start, run.end]));
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    // Coarser where a set would have too many cells: neighbouring stretches are taken together.
    let widest = ids.iter().map(|id| {
        let span = program.bytes[*id as usize].span();
        let ends = [span.start, span.end].map(|end| bounds.partition_point(|bound| *bound < end));
        ends[1] - ends[0]
    });
    let shift = match widest.max().unwrap_or(0) / MAX_CELLS {
        0 => 0,
        over => (usize::BITS - over.leading_zeros()) as usize,
    };
    (bounds, shift)
}

/// The runs of a piece, or its span when they are too many; and whether these are its bytes.
fn runs(bytes: &Bytes, piece: usize) -> (SmallVec<[Range<i64>; 4]>, bool) {
    let lattice = &bytes.pieces[piece].bytes;
    if lattice.run_count() <= MAX_RUNS && lattice.is_nested() {
        (lattice.runs().collect(), true)
    } else {
        ([lattice.span()].into_iter().collect(), false)
    }
}
