//! Accesses that move with loops: which part of what they sweep they touch depends on the iteration, exactly (spec: ordering
//! 13, 14.4, 14.6).
//!
//! A walk goes through a loop a few times. Its last iteration stands for all that follow, seen from what comes before, and
//! its first one for all before, seen from what comes behind.

use std::ops::Range;

use bir::geometry::lattice::Overlap;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::loops::{Loop, Visit};
use crate::program::{Bytes, BytesId, MovesId, Program};

/// Most iterations of all loops around two accesses that are looked at for one answer.
const MAX_ITERATIONS: u64 = 4096;
/// Most comparisons of two parts in all.
const MAX_WORK: usize = 4_000_000;
/// Most iterations that a buffer takes to come around, of those that are followed.
pub(crate) const MAX_REACH: u32 = 8;

/// Which iterations two visits stand for.
struct Relation {
    /// Iterations that are not known, each with the range that it is in.
    unknown: SmallVec<[Range<u32>; 4]>,
    /// By loop: the unknown, and how much more it is. For the first visit, and for the second.
    first: SmallVec<[(u32, usize, u32); 4]>,
    second: SmallVec<[(u32, usize, u32); 4]>,
}

/// What is known of loops in one walk.
pub(crate) struct Walk<'a> {
    program: &'a Program,
    loops: &'a [Loop],
    /// How often each loop is walked.
    copies: Vec<u32>,
    is_straight: bool,
    /// Only what is unordered is sought.
    seeks: bool,
    parts: HashMap<(u32, u32), Overlap>,
    work: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(program: &'a Program, loops: &'a [Loop], visits: &[Visit], seeks: bool) -> Walk<'a> {
        let mut copies = vec![1; loops.len()];
        let iterations = visits.iter().flat_map(|visit| &visit.iterations);
        iterations.for_each(|(of, at)| copies[*of as usize] = copies[*of as usize].max(at + 1));
        let is_straight = visits.iter().all(|visit| visit.iterations.is_empty());
        Walk { program, loops, copies, is_straight, seeks, parts: HashMap::new(), work: MAX_WORK }
    }

    /// Whether two sets meet, of which one moves, in iterations that two visits stand for; the first visit comes first.
    pub(crate) fn overlap(
        &mut self,
        (a, first): (BytesId, &Visit),
        (b, second): (BytesId, &Visit),
    ) -> Overlap {
        let program = self.program;
        let sweep = program.bytes[a.index()].overlap(&program.bytes[b.index()]);
        if sweep == Overlap::No {
            return sweep;
        }
        let moves = |id: BytesId| program.bytes[id.index()].moves;
        let relation = self.relation(first, second);
        let (one, other) = (self.axes(moves(a), &relation.first), self.axes(moves(b), &relation.second));
        let (Some(one), Some(other)) = (one, other) else { return Overlap::May };
        // A walk that takes loops once is none that happens: whether these are ordered shows where they are walked.
        if self.is_straight && self.seeks && !(one.is_empty() && other.is_empty()) {
            return Overlap::No;
        }
        // Only what moves one of them matters.
        let used = |at: usize| one.iter().chain(&other).any(|(unknown, _, _)| *unknown == at);
        let ranges: SmallVec<[Range<u32>; 4]> = relation
            .unknown
            .iter()
            .enumerate()
            .map(|(at, range)| if used(at) { range.clone() } else { 0..1 })
            .collect();
        if ranges.iter().any(|range| range.is_empty()) {
            return Overlap::No;
        }
        let count =
            ranges.iter().map(|range| u64::from(range.end - range.start)).fold(1u64, u64::saturating_mul);
        if count > MAX_ITERATIONS {
            return Overlap::May;
        }
        let mut at: SmallVec<[u32; 4]> = ranges.iter().map(|range| range.start).collect();
        let mut answer = Overlap::No;
        loop {
            let part = |axes: &Axes| {
                axes.iter().fold(0, |place, (unknown, more, trips)| place * trips + at[*unknown] + more)
            };
            match self.meet((a, part(&one)), (b, part(&other))) {
                Overlap::Yes => return Overlap::Yes,
                Overlap::May => answer = Overlap::May,
                Overlap::No => {}
            }
            let mut digit = 0;
            loop {
                if digit == at.len() {
                    return answer;
                }
                at[digit] += 1;
                if at[digit] < ranges[digit].end {
                    break;
                }
                at[digit] = ranges[digit].start;
                digit += 1;
            }
        }
    }

    /// The unknown, what is added to it, and the number of iterations of each loop that moves a set, outermost first.
    /// `None` when a loop is not one of those that are walked.
    fn axes(&self, moves: Option<MovesId>, known: &[(u32, usize, u32)]) -> Option<Axes> {
        let Some(moves) = moves else { return Some(Axes::new()) };
        let axes = self.program.moves[moves.index()].loops.iter().map(|(first, trips)| {
            let of = known.iter().find(|(of, _, _)| {
                let of = &self.loops[*of as usize];
                of.blocks.start == first.0 && of.trips == Some(u64::from(*trips))
            });
            of.map(|(_, unknown, more)| (*unknown, *more, *trips))
        });
        axes.collect()
    }

    fn meet(&mut self, a: (BytesId, u32), b: (BytesId, u32)) -> Overlap {
        let part = |(id, at): (BytesId, u32)| match self.program.bytes[id.index()].moves {
            Some(moves) => self.program.moves[moves.index()].parts[at as usize],
            None => id.0 | WHOLE,
        };
        let (a, b) = (part(a), part(b));
        let bytes = |part: u32| -> &Bytes {
            match part & WHOLE {
                0 => &self.program.parts[part as usize],
                _ => &self.program.bytes[(part & !WHOLE) as usize],
            }
        };
        let (x, y) = (bytes(a), bytes(b));
        let (s, t) = (x.span(), y.span());
        if s.end <= t.start || t.end <= s.start {
            return Overlap::No;
        }
        let Some(left) = self.work.checked_sub(1) else { return Overlap::May };
        self.work = left;
        *self.parts.entry((a.min(b), a.max(b))).or_insert_with(|| x.overlap(y))
    }

    /// The loops around a visit, outermost first, with the iteration.
    fn around(&self, visit: &Visit) -> SmallVec<[(u32, u32); 2]> {
        if !self.is_straight {
            return visit.iterations.clone();
        }
        let around =
            (0..self.loops.len() as u32).filter(|at| self.loops[*at as usize].blocks.contains(&visit.block));
        around.map(|at| (at, 0)).collect()
    }

    fn relation(&self, first: &Visit, second: &Visit) -> Relation {
        let (before, behind) = (self.around(first), self.around(second));
        let mut relation =
            Relation { unknown: SmallVec::new(), first: SmallVec::new(), second: SmallVec::new() };
        let trips =
            |of: u32| self.loops[of as usize].trips.map_or(u32::MAX, |trips| trips.min(1 << 31) as u32);
        let mut common = 0;
        for ((of, at), (of_other, at_other)) in before.iter().zip(&behind) {
            if of != of_other {
                break;
            }
            common += 1;
            let (copies, trips) = (self.copies[*of as usize], trips(*of));
            let (low, distance) = (*at.min(at_other), at.abs_diff(*at_other));
            let is_last = low + distance + 1 == copies;
            let end = if is_last || self.is_straight { trips.saturating_sub(distance) } else { low + 1 };
            let unknown = relation.unknown.len();
            relation.unknown.push(low..end);
            relation.first.push((*of, unknown, at - low));
            relation.second.push((*of, unknown, at_other - low));
            if distance > 0 {
                break;
            }
        }
        for (of, at) in &before[common..] {
            let (copies, trips) = (self.copies[*of as usize], trips(*of));
            let range = match () {
                () if self.is_straight => trips - 1..trips,
                () if *at == 0 => 0..(trips - copies.min(trips) + 1),
                () => trips - copies + at..trips - copies + at + 1,
            };
            relation.first.push((*of, relation.unknown.len(), 0));
            relation.unknown.push(range);
        }
        for (of, at) in &behind[common..] {
            let (copies, trips) = (self.copies[*of as usize], trips(*of));
            let is_last = at + 1 == copies && !self.is_straight;
            relation.second.push((*of, relation.unknown.len(), 0));
            relation.unknown.push(*at..if is_last { trips } else { at + 1 });
        }
        relation
    }
}

type Axes = SmallVec<[(usize, u32, u32); 4]>;

/// Marks a set that does not move among the parts of others.
const WHOLE: u32 = 1 << 31;

/// How many iterations after another one an access may touch what the other one did, by loop; at most [`MAX_REACH`].
pub(crate) fn reaches(program: &Program, loops: &[Loop]) -> Vec<u32> {
    let mut reaches = vec![0; loops.len()];
    let mut work = MAX_WORK;
    for (at, of) in loops.iter().enumerate() {
        let moving = program.moves.iter().filter_map(|moves| {
            let place = moves
                .loops
                .iter()
                .position(|(first, trips)| first.0 == of.blocks.start && of.trips == Some((*trips).into()))?;
            let step: u32 = moves.loops[place + 1..].iter().map(|(_, trips)| trips).product();
            Some((moves, step, moves.loops[place].1))
        });
        let moving: Vec<_> = moving.collect();
        for (a, step_a, trips) in &moving {
            for (b, step_b, _) in &moving {
                let far = MAX_REACH.min(trips - 1);
                for distance in (reaches[at] + 1..=far).rev() {
                    let meet = (0..trips - distance).any(|i| {
                        work = work.saturating_sub(1);
                        let (a, b) =
                            (a.parts[(i * step_a) as usize], b.parts[((i + distance) * step_b) as usize]);
                        let (a, b) = (&program.parts[a as usize], &program.parts[b as usize]);
                        a.overlap(b) != Overlap::No
                    });
                    if meet {
                        reaches[at] = distance;
                        break;
                    }
                    if work == 0 {
                        return reaches;
                    }
                }
            }
        }
    }
    reaches
}
