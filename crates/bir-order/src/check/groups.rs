//! Accumulation groups in PSUM (spec: ordering 7; ORD022).

use bir::diag::Severity;
use bir::geometry::lattice::Overlap;
use hashbrown::{HashMap, HashSet};

use super::{Checker, Ordered, plain};
use crate::conflicts::{Touch, touches_of};
use crate::finding::Party;
use crate::loops::{Loop, Visit};
use crate::program::{Access, Bytes, GroupPart, Program, SpaceId};

/// Most comparisons of two sets of which one moves.
const MAX_WORK: usize = 4_000_000;

/// Who wrote last: the group part of a matmul, or none of another write.
type Last = (Touch, Option<GroupPart>);

pub(super) fn check(checker: &mut Checker<'_>, ordered: &Ordered<'_>) {
    let program = checker.program;
    if !program.accesses.kinds().iter().any(|access| access.effect.group.is_some()) {
        return;
    }
    let trace = &ordered.trace;
    let mut last: Vec<Option<Last>> = vec![None; checker.cells.count];
    let mut moving = Moving::new(checker);
    let mut at = 0;
    for &node in &ordered.run.order {
        if !trace.nodes_of(at).contains(&node) {
            at = trace.visit_at(node);
        }
        touches_of(trace, node, |touch, access| {
            let mut say = |other: Option<Touch>| {
                let mut finding = plain("ORD022", Severity::Error, ordered.touch(touch));
                finding.second = other.map(|other| ordered.party(other.row));
                checker_findings(&mut checker.findings, &mut checker.said, finding);
            };
            let after = |before: Option<Last>| match access.effect.group {
                Some(part) => Some((touch, Some(part))),
                None if access.effect.writes => Some((touch, None)),
                None => before,
            };
            if moving.spaces.contains(&program.bytes[access.bytes.index()].space) {
                let Some(set) = moving.set(access, &trace.visits[at]) else { return };
                let Some(found) = moving.meeting(set) else { return };
                for before in found.iter().copied().map(Some).chain(found.is_empty().then_some(None)) {
                    fault(access, before).into_iter().for_each(&mut say);
                }
                if let Some(now) = after(None) {
                    moving.write(set, now);
                }
                return;
            }
            for cell in checker.cells.of(access.bytes.index()) {
                let cell = &mut last[*cell as usize];
                fault(access, *cell).into_iter().for_each(&mut say);
                *cell = after(*cell);
            }
        });
    }
}

/// Whether an access finds the group of the last write in the wrong state, and who that was.
fn fault(access: Access, before: Option<Last>) -> Option<Option<Touch>> {
    match (access.effect.group, before) {
        (Some(part), _) => {
            let is_open = before.is_some_and(|(_, group)| group.is_some_and(|group| !group.stop));
            (!part.start && !is_open).then(|| before.map(|(touch, _)| touch))
        }
        (None, Some((writer, Some(group)))) if access.effect.reads && !group.stop => Some(Some(writer)),
        (None, _) => None,
    }
}

/// Spaces where something moves: what was written there, set by set.
struct Moving<'a> {
    program: &'a Program,
    loops: &'a [Loop],
    spaces: HashSet<SpaceId>,
    /// By space, the newest last; sets as [`Moving::set`] numbers them.
    written: HashMap<SpaceId, Vec<(u32, Last)>>,
    known: HashMap<(u32, u32), bool>,
    work: usize,
}

/// Marks a set that does not move among the parts of others.
const WHOLE: u32 = 1 << 31;

impl<'a> Moving<'a> {
    fn new(checker: &Checker<'a>) -> Moving<'a> {
        let program = checker.program;
        let kinds = program.accesses.kinds().iter().chain(program.transfer_accesses.kinds());
        let grouped: HashSet<SpaceId> = (program.accesses.kinds().iter())
            .filter(|access| access.effect.group.is_some())
            .map(|access| program.bytes[access.bytes.index()].space)
            .collect();
        let moving = kinds.map(|access| &program.bytes[access.bytes.index()]);
        let moving = moving.filter(|bytes| bytes.moves.is_some() && grouped.contains(&bytes.space));
        Moving {
            program,
            loops: checker.loops,
            spaces: moving.map(|bytes| bytes.space).collect(),
            written: HashMap::new(),
            known: HashMap::new(),
            work: MAX_WORK,
        }
    }

    /// The set that an access touches in the iterations of a visit.
    fn set(&self, access: Access, visit: &Visit) -> Option<u32> {
        let (program, loops) = (self.program, self.loops);
        let Some(moves) = program.bytes[access.bytes.index()].moves else {
            return Some(access.bytes.0 | WHOLE);
        };
        let moves = &program.moves[moves.index()];
        let mut place = 0;
        for (first, trips) in &moves.loops {
            let of = visit.iterations.iter().find(|(of, _)| {
                let of = &loops[*of as usize];
                of.blocks.start == first.0 && of.trips == Some(u64::from(*trips))
            });
            place = place * trips + of?.1;
        }
        Some(moves.parts[place as usize])
    }

    fn of(&self, set: u32) -> &'a Bytes {
        match set & WHOLE {
            0 => &self.program.parts[set as usize],
            _ => &self.program.bytes[(set & !WHOLE) as usize],
        }
    }

    fn meet(&mut self, a: u32, b: u32) -> bool {
        let (x, y) = (self.of(a), self.of(b));
        *self.known.entry((a.min(b), a.max(b))).or_insert_with(|| x.overlap(y) == Overlap::Yes)
    }

    /// The last writes of what meets a set, as far as nothing newer lies over them; none when that takes too long to see.
    fn meeting(&mut self, set: u32) -> Option<Vec<Last>> {
        let space = self.of(set).space;
        let mut found: Vec<(u32, Last)> = Vec::new();
        for at in (0..self.written.get(&space).map_or(0, Vec::len)).rev() {
            let (other, last) = self.written[&space][at];
            self.work = self.work.checked_sub(1 + found.len())?;
            if self.meet(other, set) && !found.iter().any(|(newer, _)| self.meet(*newer, other)) {
                found.push((other, last));
            }
            if other == set {
                break;
            }
        }
        Some(found.into_iter().map(|(_, last)| last).collect())
    }

    fn write(&mut self, set: u32, now: Last) {
        let written = self.written.entry(self.of(set).space).or_default();
        written.retain(|(other, _)| *other != set);
        written.push((set, now));
    }
}

type Said = HashSet<(&'static str, Party, Option<Party>, u32)>;

fn checker_findings(
    findings: &mut Vec<crate::finding::Finding>,
    said: &mut Said,
    finding: crate::finding::Finding,
) {
    if said.insert((finding.code, finding.first.whole(), finding.second, 0)) {
        findings.push(finding);
    }
}
