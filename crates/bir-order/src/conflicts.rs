//! Which conflicting accesses are unordered, without a look at those that are ordered (spec: ordering 14.3).
//!
//! A cell remembers only accesses that no later conflicting one follows; an access that follows the newest of these
//! follows all before. Where one does not, the cell fails, and its accesses are gone through once more, pair by pair: for
//! each stream those are kept that may still run when the stream gets there, which are the pairs that are sought.

use bir::geometry::lattice::Overlap;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::cells::Cells;
use crate::clocks::Clocks;
use crate::loops::{Loop, Visit};
use crate::moves::Walk;
use crate::program::{Access, Program, Streams};
use crate::trace::{Run, Trace};

/// One access of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Touch {
    /// Node or transfer row.
    pub(crate) row: u32,
    pub(crate) node: u32,
    /// Index among the accesses of the operation or transfer.
    pub(crate) at: u32,
}

/// Conflicting accesses of which neither surely completes before the other starts.
#[derive(Default)]
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
    loops: &[Loop],
    limit: usize,
) -> Unordered {
    let failing = failing(trace, run, clocks, cells);
    if failing.is_empty() {
        return Unordered::default();
    }
    enumerate(trace, run, clocks, (cells, loops), &failing, limit)
}

#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    writes: bool,
}

/// The cells where some conflict is not ordered.
fn failing(trace: &Trace<'_>, run: &Run, clocks: &Clocks, cells: &Cells) -> HashSet<u32> {
    let mut states: Vec<SmallVec<[Entry; 2]>> = vec![SmallVec::new(); cells.count];
    let mut failing: HashSet<u32> = HashSet::new();
    each_touch(trace, run, |touch, access| {
        let streams = trace.streams_of(touch.node).0;
        let rank = run.rank[touch.node as usize];
        let writes = access.effect.writes;
        let known = |entry: &Entry| clocks.precedes(entry.row, streams, rank);
        for cell in cells.of(access.bytes.index()) {
            if !failing.is_empty() && failing.contains(cell) {
                continue;
            }
            let state = &mut states[*cell as usize];
            let mut fails = false;
            let mut stands = false;
            let mut kept = 0;
            let list = &mut state[..];
            for at in 0..list.len() {
                let entry = list[at];
                let stays = if entry.row == touch.row {
                    let covers = entry.writes || !writes;
                    stands |= covers;
                    covers
                } else {
                    let known = known(&entry);
                    fails |= (writes || entry.writes) && !known;
                    !known || !writes && entry.writes
                };
                list[kept] = entry;
                kept += usize::from(stays);
            }
            state.truncate(kept);
            if !stands {
                state.push(Entry { row: touch.row, writes });
            }
            if fails {
                failing.insert(*cell);
                *state = SmallVec::new();
            }
        }
    });
    failing
}

/// What a stream that touches a failing cell may find still running: what is complete once when the stream goes on
/// stays so, and is never looked at again.
struct Lane {
    /// The stream; what runs on none comes behind the streams.
    stream: usize,
    writes_too: bool,
    reads: Vec<u32>,
    writes: Vec<u32>,
}

/// The lanes of every failing cell.
fn lanes(trace: &Trace<'_>, run: &Run, cells: &Cells, failing: &HashSet<u32>) -> HashMap<u32, Vec<Lane>> {
    let mut lanes: HashMap<u32, Vec<Lane>> = HashMap::with_capacity(failing.len());
    each_touch(trace, run, |touch, access| {
        let stream = lane_of(trace, touch.node);
        for cell in cells.of(access.bytes.index()).iter().filter(|cell| failing.contains(*cell)) {
            let lanes = lanes.entry(*cell).or_default();
            match lanes.iter_mut().find(|lane| lane.stream == stream) {
                Some(lane) => lane.writes_too |= access.effect.writes,
                None => lanes.push(Lane {
                    stream,
                    writes_too: access.effect.writes,
                    reads: Vec::new(),
                    writes: Vec::new(),
                }),
            }
        }
    });
    lanes
}

fn lane_of(trace: &Trace<'_>, node: u32) -> usize {
    trace.streams_of(node).iter().next().unwrap_or(trace.streams.len())
}

fn enumerate(
    trace: &Trace<'_>,
    run: &Run,
    clocks: &Clocks,
    (cells, loops): (&Cells, &[Loop]),
    failing: &HashSet<u32>,
    limit: usize,
) -> Unordered {
    let mut lanes = lanes(trace, run, cells, failing);
    let mut found: HashSet<(Touch, Touch)> = HashSet::new();
    let mut overlaps = Overlaps::new(trace, loops, true);
    let mut result = Unordered::default();
    let mut touches: Vec<Touch> = Vec::new();
    each_touch(trace, run, |touch, access| {
        if result.cut_off {
            return;
        }
        let streams = trace.streams_of(touch.node);
        let own = lane_of(trace, touch.node);
        let rank = run.rank[touch.node as usize];
        let writes = access.effect.writes;
        let mut number = None;
        for cell in cells.of(access.bytes.index()).iter().filter(|cell| failing.contains(*cell)) {
            let Some(lanes) = lanes.get_mut(cell) else { continue };
            let mut pending = |other: &mut u32| {
                let other = touches[*other as usize];
                if streams != Streams::NONE && clocks.first(other.row, own) <= rank {
                    return false;
                }
                if other.row == touch.row
                    || streams.single().is_none() && clocks.precedes(other.row, streams.0, rank)
                    || found.contains(&(other, touch))
                {
                    return true;
                }
                let overlap = overlaps.of(trace, other, touch);
                if overlap != Overlap::No {
                    if result.pairs.len() >= limit {
                        result.cut_off = true;
                        return true;
                    }
                    found.insert((other, touch));
                    result.pairs.push((other, touch, overlap));
                }
                true
            };
            if let Some(lane) = lanes.iter_mut().find(|lane| lane.stream == own) {
                lane.writes.retain_mut(&mut pending);
                if writes {
                    lane.reads.retain_mut(&mut pending);
                }
            }
            let number = *number.get_or_insert_with(|| {
                touches.push(touch);
                touches.len() as u32 - 1
            });
            for lane in lanes {
                if writes {
                    lane.writes.push(number);
                } else if lane.writes_too {
                    lane.reads.push(number);
                }
            }
        }
    });
    result.pairs.sort_unstable_by_key(|(a, b, _)| (b.node, b.row, b.at, a.node, a.row, a.at));
    result
}

/// Exact overlap of sets of bytes, each two looked at once.
pub(crate) struct Overlaps<'a> {
    program: &'a Program,
    visits: &'a [Visit],
    walk: Walk<'a>,
    known: HashMap<(u32, u32), Overlap>,
    /// Where one moves: the sets and the visits.
    moving: HashMap<[(u32, u32); 2], Overlap>,
}

impl<'a> Overlaps<'a> {
    /// `seeks`: only what is unordered is sought.
    pub(crate) fn new(trace: &'a Trace<'_>, loops: &'a [Loop], seeks: bool) -> Overlaps<'a> {
        let walk = Walk::new(trace.program, loops, &trace.visits, seeks);
        let (program, visits) = (trace.program, &trace.visits[..]);
        Overlaps { program, visits, walk, known: HashMap::new(), moving: HashMap::new() }
    }

    /// Whether two accesses of the walk meet.
    pub(crate) fn of(&mut self, trace: &Trace<'_>, one: Touch, other: Touch) -> Overlap {
        let (a, b) = (access_of(trace, one).bytes, access_of(trace, other).bytes);
        let bytes = &self.program.bytes;
        if self.program.moves.is_empty()
            || bytes[a.index()].moves.is_none() && bytes[b.index()].moves.is_none()
        {
            let (a, b) = (a.0.min(b.0), a.0.max(b.0));
            let known = self.known.entry((a, b));
            return *known.or_insert_with(|| bytes[a as usize].overlap(&bytes[b as usize]));
        }
        let (first, second) = (trace.visit_at(one.node), trace.visit_at(other.node));
        let ((a, first), (b, second)) =
            if first <= second { ((a, first), (b, second)) } else { ((b, second), (a, first)) };
        let key = [(a.0, first as u32), (b.0, second as u32)];
        if let Some(known) = self.moving.get(&key) {
            return *known;
        }
        let answer = self.walk.overlap((a, &self.visits[first]), (b, &self.visits[second]));
        self.moving.insert(key, answer);
        answer
    }
}

/// Every conflicting pair of a walk, ordered or not: grows with the square of reuse.
pub(crate) fn all_pairs(
    trace: &Trace<'_>,
    run: &Run,
    cells: &Cells,
    loops: &[Loop],
    mut each: impl FnMut(Touch, Touch, Overlap),
) {
    let mut seen: Vec<Vec<(Touch, bool)>> = vec![Vec::new(); cells.count];
    let mut overlaps = Overlaps::new(trace, loops, false);
    let mut partners: HashSet<Touch> = HashSet::new();
    each_touch(trace, run, |touch, access| {
        partners.clear();
        for cell in cells.of(access.bytes.index()) {
            for (other, wrote) in &seen[*cell as usize] {
                if other.row != touch.row && (access.effect.writes || *wrote) && partners.insert(*other) {
                    let overlap = overlaps.of(trace, *other, touch);
                    if overlap != Overlap::No {
                        each(*other, touch, overlap);
                    }
                }
            }
            seen[*cell as usize].push((touch, access.effect.writes));
        }
    });
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
        each(Touch { row: node, node, at: at as u32 }, access);
    }
    for transfer in trace.transfers_of(node) {
        let row = trace.len() as u32 + transfer;
        let of = program.transfer_accesses_of(trace.transfers[transfer as usize].1 as usize);
        for (at, access) in of.iter().enumerate() {
            each(Touch { row, node, at: at as u32 }, access);
        }
    }
}

/// The access of a touch.
pub(crate) fn access_of(trace: &Trace<'_>, touch: Touch) -> Access {
    let program = trace.program;
    if touch.row == touch.node {
        program.accesses_of(trace.ops[touch.node as usize]).at(touch.at as usize)
    } else {
        let transfer = trace.transfers[(touch.row - trace.len() as u32) as usize].1;
        program.transfer_accesses_of(transfer as usize).at(touch.at as usize)
    }
}
