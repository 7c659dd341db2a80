//! Loops of the block graph, and the walks through it that are checked (spec: ordering 4, 14.6).
//!
//! A loop is the run of blocks from the target of a backward edge to its source. Loops nest; two that cross are made
//! one, which is sound because all their blocks may then follow each other.

use std::ops::Range;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::moves;
use crate::program::Program;

/// A loop: blocks that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) blocks: Range<u32>,
    /// How many loops are around it.
    pub(crate) depth: u32,
    /// How often it runs, when that is known.
    pub(crate) trips: Option<u64>,
    /// How many iterations later an access that moves may touch the same bytes.
    pub(crate) reach: u32,
}

/// One time that a block is run.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) block: u32,
    /// The loops around it, outermost first, with the iteration.
    pub(crate) iterations: SmallVec<[(u32, u32); 2]>,
}

/// Most operations of a walk that goes through loops several times, in relation to the program.
const MAX_GROWTH: u64 = 64;

/// Most operations of the loops that are walked as often as they run, in relation to the program.
const MAX_WHOLE: u64 = 4;

/// Most different ways around branches that are walked.
const MAX_PATHS: usize = 32;

/// The loops of a program, outer ones before inner ones.
pub(crate) fn loops(program: &Program) -> Vec<Loop> {
    let mut regions: Vec<Range<u32>> = Vec::new();
    for (at, block) in program.blocks.iter().enumerate() {
        let at = at as u32;
        for to in block.exit.next.iter().map(|next| next.0).filter(|to| *to <= at) {
            regions.push(to..at + 1);
        }
    }
    // Regions that cross become one.
    loop {
        regions.sort_by_key(|region| (region.start, std::cmp::Reverse(region.end)));
        regions.dedup();
        let crossing = (1..regions.len()).find_map(|i| {
            (0..i)
                .find(|j| regions[*j].end > regions[i].start && regions[*j].end < regions[i].end)
                .map(|j| (j, i))
        });
        let Some((j, i)) = crossing else { break };
        regions[j].end = regions[i].end;
        regions.remove(i);
    }
    let depth = |at: usize| {
        let inner = &regions[at];
        regions[..at].iter().filter(|outer| outer.start <= inner.start && inner.end <= outer.end).count()
    };
    let known: HashMap<&Range<u32>, u64> = program.trips.iter().map(|(of, trips)| (of, *trips)).collect();
    let found = regions.iter().enumerate().map(|(at, blocks)| Loop {
        blocks: blocks.clone(),
        depth: depth(at) as u32,
        trips: known.get(blocks).copied(),
        reach: 0,
    });
    let mut found: Vec<Loop> = found.collect();
    if !program.moves.is_empty() {
        let reaches = moves::reaches(program, &found);
        found.iter_mut().zip(reaches).for_each(|(of, reach)| of.reach = reach);
    }
    found
}

/// The walks that go through every block once, in document order: several when branches skip blocks.
pub(crate) fn straight(program: &Program, loops: &[Loop]) -> (Vec<Vec<Visit>>, bool) {
    let (paths, all) = paths(program, loops);
    let walks = paths.into_iter().map(|path| {
        let visits = path.into_iter();
        visits.map(|block| Visit { block, iterations: SmallVec::new() }).collect()
    });
    (walks.collect(), all)
}

/// Whether loops are known to run more than once: then no run takes every block once.
pub(crate) fn some_repeat(loops: &[Loop]) -> bool {
    loops.iter().any(|of| of.trips.is_some_and(|trips| trips > 1))
}

/// A walk that goes through loops once, but for those that are known to run more often.
pub(crate) fn once(program: &Program, loops: &[Loop], path: &[Visit]) -> Vec<Visit> {
    walk(program, loops, path, &|of| of.trips.is_some())
}

/// A walk that goes through every loop several times; fewer times when that would make the walk too long.
/// `only`: the others but those around and inside of it are walked once.
pub(crate) fn unrolled(program: &Program, loops: &[Loop], path: &[Visit], only: Option<usize>) -> Vec<Visit> {
    let only = only.map(|only| loops[only].blocks.clone());
    let around =
        |of: &Loop| only.as_ref().is_none_or(|only| only.start < of.blocks.end && of.blocks.start < only.end);
    walk(program, loops, path, &around)
}

/// Of each loop that a walk takes less often than it is known to run.
pub(crate) fn cut_short(loops: &[Loop], visits: &[Visit]) -> Vec<bool> {
    let mut walked = vec![0u64; loops.len()];
    for (of, iteration) in visits.iter().flat_map(|visit| &visit.iterations) {
        walked[*of as usize] = walked[*of as usize].max(u64::from(*iteration) + 1);
    }
    let cut = loops.iter().zip(walked).map(|(of, walked)| of.trips.is_some_and(|trips| walked < trips));
    cut.collect()
}

/// A walk that goes several times through the loops that are meant, and once through others.
fn walk(program: &Program, loops: &[Loop], path: &[Visit], wanted: &dyn Fn(&Loop) -> bool) -> Vec<Visit> {
    let taken: Vec<u32> = path.iter().map(|visit| visit.block).collect();
    let size = |block: u32| {
        u64::from(program.blocks[block as usize].ops.end - program.blocks[block as usize].ops.start)
    };
    let all: u64 = (0..program.blocks.len() as u32).map(size).sum::<u64>().max(1024);
    let mut copies = SmallVec::<[u32; 4]>::new();
    let depth = loops.iter().map(|l| l.depth + 1).max().unwrap_or(0);
    let mut growth = 1u64;
    for level in (0..depth).rev() {
        // The innermost loops are walked three times, to see pairs two iterations apart.
        let wanted = if level + 1 == depth || growth * 3 * all <= MAX_GROWTH * 1024 { 3 } else { 2 };
        growth = growth.saturating_mul(u64::from(wanted));
        copies.push(if growth <= MAX_GROWTH { wanted } else { 1 });
    }
    copies.reverse();
    let mut visits = Vec::new();
    let whole = whole(program, loops, &copies, all);
    let context = Unroll { program, loops, copies: &copies, whole: &whole, taken: &taken, wanted, all };
    context.walk(0, 0..program.blocks.len() as u32, &mut SmallVec::new(), &mut visits);
    visits
}

/// The loops that are walked as often as they run, because that is known and not too much.
fn whole(program: &Program, loops: &[Loop], copies: &[u32], all: u64) -> Vec<bool> {
    let mut whole = vec![false; loops.len()];
    let mut left = all.saturating_mul(MAX_WHOLE);
    for (at, of) in loops.iter().enumerate() {
        let Some(trips) = of.trips else { continue };
        let contains = |outer: &Loop, inner: &Range<u32>| {
            outer.blocks.start <= inner.start && inner.end <= outer.blocks.end
        };
        let outer = (0..at).filter(|outer| contains(&loops[*outer], &of.blocks));
        let mut times = trips;
        let mut is_counted = false;
        for outer in outer {
            is_counted |= whole[outer];
            let walked = u64::from(copies[loops[outer].depth as usize]);
            times = times.saturating_mul(loops[outer].trips.filter(|_| whole[outer]).unwrap_or(walked));
        }
        let size = of.blocks.clone().map(|block| {
            let inner = loops[at + 1..].iter().filter(|inner| {
                contains(of, &inner.blocks) && inner.blocks.contains(&block) && inner.blocks != of.blocks
            });
            let inner = inner.map(|inner| inner.trips.unwrap_or(copies[inner.depth as usize].into()));
            let block = &program.blocks[block as usize].ops;
            inner.fold(u64::from(block.end - block.start), u64::saturating_mul)
        });
        let size = size.fold(0, u64::saturating_add).saturating_mul(times);
        if is_counted || size <= left {
            whole[at] = true;
            left -= if is_counted { 0 } else { size };
        }
    }
    whole
}

struct Unroll<'a> {
    program: &'a Program,
    loops: &'a [Loop],
    copies: &'a [u32],
    whole: &'a [bool],
    taken: &'a [u32],
    wanted: &'a dyn Fn(&Loop) -> bool,
    /// Operations of the program, and some more of a small one.
    all: u64,
}

impl Unroll<'_> {
    /// Whether a loop can be walked as often as its accesses need.
    fn fits(&self, of: &Loop) -> bool {
        let blocks = &self.program.blocks[of.blocks.start as usize..of.blocks.end as usize];
        let size: u64 = blocks.iter().map(|block| u64::from(block.ops.end - block.ops.start)).sum();
        let around = 3u64.saturating_pow(of.depth);
        size.saturating_mul(around).saturating_mul(u64::from(of.reach) + 1) <= MAX_GROWTH * self.all
    }

    fn walk(
        &self,
        from: usize,
        blocks: Range<u32>,
        iterations: &mut SmallVec<[(u32, u32); 2]>,
        visits: &mut Vec<Visit>,
    ) {
        let mut at = blocks.start;
        let mut next = from;
        while at < blocks.end {
            while next < self.loops.len() && self.loops[next].blocks.start < at {
                next += 1;
            }
            match self
                .loops
                .get(next)
                .filter(|inner| inner.blocks.start == at && inner.blocks.end <= blocks.end)
            {
                Some(inner) => {
                    let wanted = (self.wanted)(inner);
                    let copies = if wanted { self.copies[inner.depth as usize] } else { 1 };
                    // As far as what moves comes around, as long as that is not too much.
                    let further =
                        if wanted && self.fits(inner) { copies.max(inner.reach + 1) } else { copies };
                    let copies = match inner.trips {
                        Some(trips) if wanted && self.whole[next] => trips as u32,
                        trips => trips.map_or(copies, |trips| trips.min(further.into()) as u32),
                    };
                    for iteration in 0..copies {
                        iterations.push((next as u32, iteration));
                        self.walk(next + 1, inner.blocks.clone(), iterations, visits);
                        iterations.pop();
                    }
                    at = inner.blocks.end;
                }
                None => {
                    if self.taken.binary_search(&at).is_ok() {
                        visits.push(Visit { block: at, iterations: iterations.clone() });
                    }
                    at += 1;
                }
            }
        }
    }
}

/// Ways through the blocks in document order, without the backward edges. All blocks when no forward branch skips
/// one. The second value is false when there are more ways than are walked: then all blocks count as run.
fn paths(program: &Program, loops: &[Loop]) -> (Vec<Vec<u32>>, bool) {
    let count = program.blocks.len() as u32;
    let whole = || vec![(0..count).collect::<Vec<u32>>()];
    // Where a block may go on, forward: from the end of a loop, also where its other blocks leave it.
    let forward = |at: u32| -> SmallVec<[u32; 2]> {
        let block = &program.blocks[at as usize];
        let mut next: SmallVec<[u32; 2]> =
            block.exit.next.iter().map(|to| to.0).filter(|to| *to > at).collect();
        let ends_loop = loops.iter().any(|l| l.blocks.end == at + 1);
        if next.is_empty() && ends_loop {
            let leaves =
                loops.iter().filter(|l| l.blocks.end == at + 1).flat_map(|l| l.blocks.clone()).flat_map(
                    |b| {
                        program.blocks[b as usize]
                            .exit
                            .next
                            .iter()
                            .map(|to| to.0)
                            .filter(|to| *to > at)
                            .collect::<Vec<_>>()
                    },
                );
            next = leaves.collect();
        }
        // A loop is left from inside: walk to its end first.
        if let Some(end) = loops.iter().filter(|l| l.blocks.contains(&at)).map(|l| l.blocks.end).min()
            && at + 1 < end
        {
            next.iter_mut().for_each(|to| *to = if *to >= end { at + 1 } else { *to });
        }
        // The blocks of another core follow.
        if at + 1 < count && program.blocks[at as usize + 1].core != block.core {
            next = [at + 1].into_iter().collect();
        }
        next.sort_unstable();
        next.dedup();
        next
    };
    if (0..count).all(|at| at + 1 == count || forward(at)[..] == [at + 1]) {
        return (whole(), true);
    }
    let mut done = Vec::new();
    let mut open: Vec<Vec<u32>> = if count > 0 { vec![vec![0]] } else { Vec::new() };
    while let Some(mut path) = open.pop() {
        loop {
            let next = forward(*path.last().expect("a path has a block"));
            let Some((first, others)) = next.split_first() else { break };
            for other in others {
                let mut branch = path.clone();
                branch.push(*other);
                open.push(branch);
            }
            if done.len() + open.len() >= MAX_PATHS {
                return (whole(), false);
            }
            path.push(*first);
        }
        done.push(path);
    }
    done.sort();
    done.dedup();
    // Blocks that nothing leads to are checked all the same.
    let mut seen = vec![false; count as usize];
    done.iter().flatten().for_each(|block| seen[*block as usize] = true);
    if seen.contains(&false) {
        return (whole(), true);
    }
    (done, true)
}
