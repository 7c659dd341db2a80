//! Which conflicting accesses are unordered, without a look at those that are ordered (spec: ordering 14.3).
//!
//! Each space is cut into cells on whose bytes all accesses agree. A cell remembers only accesses that no later
//! conflicting one follows; an access that follows the newest of these follows all before. Only where one does not,
//! the whole history of its cells is looked at.

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use bir::geometry::lattice::Overlap;

use crate::clocks::Clocks;
use crate::program::{Access, Bytes, Program};
use crate::trace::{Run, Trace};

/// A lattice of more runs than this counts as its span when cells are cut. Overlap is exact all the same.
const MAX_RUNS: u64 = 64;

/// Most cells of one set of bytes; a space that would need more is cut more coarsely.
const MAX_CELLS: usize = 1 << 12;

/// One access of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Touch {
    /// Node or transfer row.
    pub(crate) row: u32,
    pub(crate) node: u32,
    /// Index among the accesses of the operation or transfer.
    pub(crate) at: u32,
}

/// The cells of every set of bytes.
pub(crate) struct Cells {
    starts: Vec<u32>,
    list: Vec<u32>,
    pub(crate) count: usize,
    /// Whether the set is all of its cells.
    pub(crate) tight: Vec<bool>,
}

impl Cells {
    pub(crate) fn new(program: &Program, in_loops: bool) -> Cells {
        let spaces = program.spaces as usize;
        let mut touched = vec![(0u8, 0u32); spaces];
        for access in program.accesses.iter().chain(&program.transfer_accesses) {
            let (writes, count) = &mut touched[program.bytes[access.bytes.index()].space.index()];
            *writes |= u8::from(access.effect.writes);
            *count += 1;
        }
        let mut of_space: Vec<Vec<u32>> = vec![Vec::new(); spaces];
        for (id, bytes) in program.bytes.iter().enumerate() {
            // What is only read needs no cells, nor does what is touched once, outside of loops.
            let (writes, count) = touched[bytes.space.index()];
            if writes != 0 && (count > 1 || in_loops) {
                of_space[bytes.space.index()].push(id as u32);
            }
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); program.bytes.len()];
        let mut tight = vec![true; program.bytes.len()];
        let mut count = 0;
        for ids in &of_space {
            count = cut(program, ids, count, &mut lists, &mut tight);
        }
        let mut cells = Cells { starts: vec![0], list: Vec::new(), count, tight };
        for list in lists {
            cells.list.extend(list);
            cells.starts.push(cells.list.len() as u32);
        }
        cells
    }

    pub(crate) fn of(&self, bytes: usize) -> &[u32] {
        &self.list[self.starts[bytes] as usize..self.starts[bytes + 1] as usize]
    }
}

/// Cuts one space. Returns the number of cells so far.
fn cut(program: &Program, ids: &[u32], first: usize, lists: &mut [Vec<u32>], tight: &mut [bool]) -> usize {
    if ids.is_empty() {
        return first;
    }
    // Partitions that no mask tells apart are one class.
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
    let mut bounds: Vec<i64> = Vec::new();
    let runs = |bytes: &Bytes, at: usize| -> (SmallVec<[std::ops::Range<i64>; 4]>, bool) {
        let lattice = &bytes.pieces[at].bytes;
        if lattice.run_count() <= MAX_RUNS && lattice.is_nested() {
            (lattice.runs().collect(), true)
        } else {
            ([lattice.span()].into_iter().collect(), false)
        }
    };
    for id in ids {
        let bytes = &program.bytes[*id as usize];
        for at in 0..bytes.pieces.len() {
            bounds.extend(runs(bytes, at).0.iter().flat_map(|run| [run.start, run.end]));
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    // Coarser where a set would have too many cells: neighbouring stretches are taken together.
    let widest = ids.iter().flat_map(|id| {
        let span = program.bytes[*id as usize].span();
        let ends = [span.start, span.end].map(|end| bounds.partition_point(|bound| *bound < end));
        Some(ends[1] - ends[0])
    });
    let shift = match widest.max().unwrap_or(0) / MAX_CELLS {
        0 => 0,
        over => usize::BITS - over.leading_zeros(),
    };
    let per_class = (bounds.len() >> shift) + 1;
    for id in ids {
        let bytes = &program.bytes[*id as usize];
        let mut list = Vec::new();
        tight[*id as usize] = shift == 0 && bytes.exact;
        for (at, piece) in bytes.pieces.iter().enumerate() {
            let (runs, exact) = runs(bytes, at);
            tight[*id as usize] &= exact;
            for run in runs {
                let from = bounds.partition_point(|bound| *bound < run.start) >> shift;
                let to = (bounds.partition_point(|bound| *bound < run.end) - 1) >> shift;
                for (class, mask) in classes.iter().enumerate() {
                    if mask & piece.partitions.0 != 0 {
                        list.extend((from..=to).map(|cell| (first + class * per_class + cell) as u32));
                    }
                }
            }
        }
        list.sort_unstable();
        list.dedup();
        lists[*id as usize] = list;
    }
    first + classes.len() * per_class
}

/// Calls `each` with every access of a walk, in the order of the run.
fn each_touch(trace: &Trace<'_>, run: &Run, mut each: impl FnMut(Touch, Access)) {
    for &node in &run.order {
        touches_of(trace, node, &mut each);
    }
}

/// Calls `each` with every access of a node and its transfers.
pub(crate) fn touches_of(trace: &Trace<'_>, node: u32, mut each: impl FnMut(Touch, Access)) {
    let program = trace.program;
    for (at, access) in program.accesses_of(trace.ops[node as usize]).iter().enumerate() {
        each(Touch { row: node, node, at: at as u32 }, *access);
    }
    for transfer in trace.transfers_of(node) {
        let row = trace.len() as u32 + transfer;
        let of = program.transfer_accesses_of(trace.transfers[transfer as usize].1 as usize);
        for (at, access) in of.iter().enumerate() {
            each(Touch { row, node, at: at as u32 }, *access);
        }
    }
}

/// The access of a touch.
pub(crate) fn access_of(trace: &Trace<'_>, touch: Touch) -> Access {
    let program = trace.program;
    if touch.row == touch.node {
        program.accesses_of(trace.ops[touch.node as usize])[touch.at as usize]
    } else {
        let transfer = trace.transfers[(touch.row - trace.len() as u32) as usize].1;
        program.transfer_accesses_of(transfer as usize)[touch.at as usize]
    }
}

#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    writes: bool,
}

/// Conflicting accesses of which neither surely completes before the other starts.
pub(crate) struct Unordered {
    /// The pairs, in the order of the run, with what is known of their overlap.
    pub(crate) pairs: Vec<(Touch, Touch, Overlap)>,
    /// There are more.
    pub(crate) cut_off: bool,
}

/// Finds them. At most `limit` pairs.
pub(crate) fn unordered(
    trace: &Trace<'_>,
    run: &Run,
    clocks: &Clocks,
    cells: &Cells,
    limit: usize,
) -> Unordered {
    let mut nothing = Unordered { pairs: Vec::new(), cut_off: false };
    let mut states: Vec<SmallVec<[Entry; 2]>> = vec![SmallVec::new(); cells.count];
    let mut failing: HashSet<u32> = HashSet::new();
    each_touch(trace, run, |touch, access| {
        let streams = trace.streams_of(touch.node).0;
        let rank = run.rank[touch.node as usize];
        let writes = access.effect.writes;
        let known = |entry: &Entry| clocks.precedes(entry.row, streams, rank);
        for cell in cells.of(access.bytes.index()) {
            let state = &mut states[*cell as usize];
            let mut fails = false;
            let mut stands = false;
            state.retain(|entry| {
                if entry.row == touch.row {
                    stands |= entry.writes || !writes;
                    return entry.writes || !writes;
                }
                if !writes && entry.writes {
                    fails |= !known(entry);
                    return true;
                }
                let known = known(entry);
                fails |= (writes || entry.writes) && !known;
                !known
            });
            if !stands {
                state.push(Entry { row: touch.row, writes });
            }
            if fails {
                failing.insert(*cell);
            }
        }
    });
    drop(states);
    if !failing.is_empty() {
        nothing = enumerate(trace, run, clocks, cells, &failing, limit);
    }
    nothing
}

/// What a failing cell has seen: of each stream, reads and writes apart, in order; and the transfers.
#[derive(Default)]
struct History {
    streams: HashMap<(usize, bool), Vec<Touch>>,
    others: Vec<(Touch, bool)>,
}

fn enumerate(
    trace: &Trace<'_>,
    run: &Run,
    clocks: &Clocks,
    cells: &Cells,
    failing: &HashSet<u32>,
    limit: usize,
) -> Unordered {
    let mut histories: HashMap<u32, History> = HashMap::new();
    let mut found: HashSet<(Touch, Touch)> = HashSet::new();
    let mut overlaps: HashMap<(u32, u32), Overlap> = HashMap::new();
    let mut result = Unordered { pairs: Vec::new(), cut_off: false };
    let program = trace.program;
    each_touch(trace, run, |touch, access| {
        let streams = trace.streams_of(touch.node).0;
        let rank = run.rank[touch.node as usize];
        let writes = access.effect.writes;
        for cell in cells.of(access.bytes.index()).iter().filter(|cell| failing.contains(*cell)) {
            let history = histories.entry(*cell).or_default();
            let mut pair = |other: Touch| {
                if other.row == touch.row || found.contains(&(other, touch)) {
                    return;
                }
                if result.pairs.len() >= limit {
                    result.cut_off = true;
                    return;
                }
                let (a, b) = (access_of(trace, other).bytes.0, access.bytes.0);
                let overlap = *overlaps
                    .entry((a.min(b), a.max(b)))
                    .or_insert_with(|| program.bytes[a as usize].overlap(&program.bytes[b as usize]));
                if overlap != Overlap::No {
                    found.insert((other, touch));
                    result.pairs.push((other, touch, overlap));
                }
            };
            for ((_, wrote), list) in &history.streams {
                if !writes && !wrote {
                    continue;
                }
                // On a stream the older ones are complete earlier.
                for other in list.iter().rev() {
                    if clocks.precedes(other.row, streams, rank) {
                        break;
                    }
                    pair(*other);
                }
            }
            for (other, wrote) in &history.others {
                if (writes || *wrote) && !clocks.precedes(other.row, streams, rank) {
                    pair(*other);
                }
            }
            match trace.streams_of(touch.node).single().filter(|_| touch.row == touch.node) {
                Some(stream) => history.streams.entry((stream, writes)).or_default().push(touch),
                None => history.others.push((touch, writes)),
            }
        }
    });
    result.pairs.sort_unstable_by_key(|(a, b, _)| (b.node, b.row, b.at, a.node, a.row, a.at));
    result
}

/// Every conflicting pair of a walk, ordered or not: grows with the square of reuse.
pub(crate) fn all_pairs(
    trace: &Trace<'_>,
    run: &Run,
    cells: &Cells,
    mut each: impl FnMut(Touch, Touch, Overlap),
) {
    let program = trace.program;
    let mut seen: Vec<Vec<(Touch, bool)>> = vec![Vec::new(); cells.count];
    let mut overlaps: HashMap<(u32, u32), Overlap> = HashMap::new();
    let mut partners: HashSet<Touch> = HashSet::new();
    each_touch(trace, run, |touch, access| {
        partners.clear();
        for cell in cells.of(access.bytes.index()) {
            for (other, wrote) in &seen[*cell as usize] {
                if other.row != touch.row && (access.effect.writes || *wrote) && partners.insert(*other) {
                    let (a, b) = (access_of(trace, *other).bytes.0, access.bytes.0);
                    let overlap = *overlaps
                        .entry((a.min(b), a.max(b)))
                        .or_insert_with(|| program.bytes[a as usize].overlap(&program.bytes[b as usize]));
                    if overlap != Overlap::No {
                        each(*other, touch, overlap);
                    }
                }
            }
            seen[*cell as usize].push((touch, access.effect.writes));
        }
    });
}
