//! Values that an iteration hands to the next, and whether anything but the end of the iteration orders that
//! (spec: ordering 11.6, 14.6; ORD011).

use bir::diag::Severity;
use bir::geometry::lattice::Overlap;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{Checker, Known, Ordered, PairKey, plain};
use crate::clocks::Clocks;
use crate::conflicts::{Overlaps, Touch, access_of, touches_of};
use crate::finding::{Carried, Finding, Hazard, Tag};
use crate::loops::Visit;
use crate::program::BlockId;

pub(super) fn check(checker: &mut Checker<'_>, mut ordered: Ordered<'_>) {
    let deepest = checker.loops.iter().map(|l| l.depth).max().unwrap_or(0);
    let mut flows = flows(checker, &ordered);
    flows.retain(|flow| ordered.precedes(flow.writer.row, flow.reader.node));
    if flows.is_empty() {
        return;
    }
    for depth in 0..=deepest {
        let at_depth: Vec<&Flow> =
            flows.iter().filter(|flow| checker.loops[flow.in_loop as usize].depth == depth).collect();
        if at_depth.is_empty() {
            continue;
        }
        let gone = back_edges(checker, &ordered, depth);
        // One table at a time.
        ordered.order.clocks = Clocks::default();
        let clocks = Clocks::new(&ordered.trace, &ordered.run, &ordered.order.edges, None, Some(&gone));
        for flow in at_depth {
            let streams = ordered.trace.streams_of(flow.reader.node).0;
            let rank = ordered.run.rank[flow.reader.node as usize];
            if !clocks.precedes(flow.writer.row, streams, rank) {
                tell(checker, &ordered, flow);
            }
        }
    }
}

fn tell(checker: &mut Checker<'_>, ordered: &Ordered<'_>, flow: &Flow) {
    let block = BlockId(checker.loops[flow.in_loop as usize].blocks.start);
    let (first, second) = (ordered.touch(flow.writer), ordered.touch(flow.reader));
    let key = PairKey::new(Hazard::Raw, first, second, Some((block.0, 1)));
    if checker.pairs.contains_key(&key) {
        return;
    }
    let trace = &ordered.trace;
    let (a, b) = (access_of(trace, flow.writer).bytes, access_of(trace, flow.reader).bytes);
    let finding = Finding {
        kind: Some(Hazard::Raw),
        second: Some(second),
        overlap: Some(checker.common(a.index(), b.index())),
        carried: Some(Carried { block, distance: 1, tag: Tag::BackEdgeOnly }),
        ..plain("ORD011", Severity::Warning, first)
    };
    checker.pairs.insert(key, Known::told(checker.findings.len(), "ORD011"));
    checker.findings.push(finding);
}

/// A value that is written in one iteration and read in the next.
struct Flow {
    writer: Touch,
    reader: Touch,
    in_loop: u32,
}

/// Reaching writes by cell: of every read the writes of the iteration before that nothing has surely covered. A cell
/// is covered piece by piece, so several writes together cover too.
fn flows(checker: &Checker<'_>, ordered: &Ordered<'_>) -> Vec<Flow> {
    let trace = &ordered.trace;
    let mut overlaps = Overlaps::new(trace, checker.loops, false);
    // Whether a set of bytes that moves is in the same place.
    let is_same = |touch: Touch, id: usize, visit: &Visit| {
        access_of(trace, touch).bytes.index() == id && trace.visit(touch.node).iterations == visit.iterations
    };
    let moves = |id: usize| checker.program.bytes[id].moves.is_some();
    let mut reaching: Vec<SmallVec<[Touch; 1]>> = vec![SmallVec::new(); checker.cells.count];
    let mut found: HashMap<(u32, u32), Flow> = HashMap::new();
    for (at, visit) in trace.visits.iter().enumerate().filter(|(_, visit)| !visit.iterations.is_empty()) {
        for node in trace.nodes_of(at) {
            if ordered.run.rank[node as usize] == crate::program::NONE {
                continue;
            }
            let mut writes: SmallVec<[(Touch, u32, bool); 4]> = SmallVec::new();
            touches_of(trace, node, |touch, access| {
                let id = access.bytes.index();
                if access.effect.reads {
                    // What moves may be written and read in one iteration: then nothing else reaches the read.
                    let cells = checker.cells.of(id);
                    let first = cells.first().map_or(&[][..], |cell| &reaching[*cell as usize]);
                    let is_covered = moves(id) && first.iter().any(|writer| is_same(*writer, id, visit));
                    let cells = if is_covered { &[] } else { cells };
                    for writer in cells.iter().flat_map(|cell| &reaching[*cell as usize]) {
                        let from = trace.visit(writer.node);
                        let Some((block, 1)) = checker.carried(from, visit) else { continue };
                        // Once for each pair of operations.
                        let key = (trace.ops[writer.node as usize], trace.ops[node as usize]);
                        if found.contains_key(&key) {
                            continue;
                        }
                        if overlaps.of(trace, *writer, touch) != Overlap::Yes {
                            continue;
                        }
                        let in_loop = visit.iterations.iter().map(|(of, _)| *of);
                        let in_loop = in_loop
                            .filter(|of| checker.loops[*of as usize].blocks.start == block.0)
                            .find(|of| {
                                let iteration =
                                    |v: &Visit| v.iterations.iter().find(|(l, _)| l == of).map(|(_, i)| *i);
                                iteration(from) != iteration(visit)
                            });
                        let Some(in_loop) = in_loop else { continue };
                        found.insert(key, Flow { writer: *writer, reader: touch, in_loop });
                    }
                }
                if access.effect.writes {
                    writes.push((touch, id as u32, checker.cells.is_tight(id)));
                }
            });
            for (touch, id, tight) in writes {
                for cell in checker.cells.of(id as usize) {
                    let state = &mut reaching[*cell as usize];
                    if tight {
                        state.retain(|other| other.node == touch.node);
                    } else if moves(id as usize) {
                        state
                            .retain(|other| other.node == touch.node || !is_same(*other, id as usize, visit));
                    }
                    if state.len() >= 64 {
                        state.remove(0);
                    }
                    state.push(touch);
                }
            }
        }
    }
    let mut flows: Vec<Flow> = found.into_values().collect();
    flows.sort_by_key(|flow| (flow.writer.node, flow.reader.node));
    flows
}

/// The nodes that end the iterations of loops at a depth: the longest run of operations at the end of the body that
/// touch nothing.
fn back_edges(checker: &Checker<'_>, ordered: &Ordered<'_>, depth: u32) -> Vec<bool> {
    let trace = &ordered.trace;
    let mut gone = vec![false; trace.len()];
    let inside = |visit: usize, depth: u32| trace.visits[visit].iterations.get(depth as usize).copied();
    for at in 0..trace.visits.len() {
        let Some(here) = inside(at, depth) else { continue };
        let is_last = trace.visits.get(at + 1).is_none_or(|_| {
            inside(at + 1, depth) != Some(here)
                || trace.visits[at + 1].iterations[..depth as usize]
                    != trace.visits[at].iterations[..depth as usize]
        });
        if !is_last {
            continue;
        }
        // Backwards through the blocks of this iteration.
        let mut visit = at;
        'iteration: loop {
            for node in trace.nodes_of(visit).rev() {
                if checker.program.touches(trace.ops[node as usize]) {
                    break 'iteration;
                }
                gone[node as usize] = true;
            }
            let same = visit > 0
                && inside(visit - 1, depth) == Some(here)
                && trace.visits[visit - 1].iterations[..depth as usize]
                    == trace.visits[at].iterations[..depth as usize];
            if !same {
                break;
            }
            visit -= 1;
        }
    }
    gone
}
