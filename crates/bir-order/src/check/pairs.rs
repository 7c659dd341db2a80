//! Unordered pairs: what each is, and which of them become findings.

use bir::diag::Severity;
use bir::geometry::lattice::Overlap;
use hashbrown::HashSet;

use super::repairs::Repairs;
use super::unknown::UnknownWaits;
use super::{Checker, Ordered, plain};
use crate::bind::Mode;
use crate::clocks::Clocks;
use crate::conflicts::{self, Touch, Unordered, access_of};
use crate::finding::{Carried, Finding, Hazard, Party, Tag};
use crate::program::{Access, NONE, Need};

/// What a pair can be said to be; what stands behind weighs more.
const CODES: [(&str, Severity); 10] = [
    ("ORD024", Severity::Note),
    ("ORD026", Severity::Note),
    ("ORD003", Severity::Warning),
    ("ORD002", Severity::Warning),
    ("ORD012", Severity::Warning),
    ("ORD011", Severity::Warning),
    ("ORD001", Severity::Error),
    ("ORD010", Severity::Error),
    ("ORD013", Severity::Error),
    ("ORD020", Severity::Error),
];

/// Whether a code of pairs is an error.
pub(super) fn is_error(code: &str) -> bool {
    CODES.iter().any(|(of, severity)| *of == code && *severity == Severity::Error)
}

/// A pair: how, who, who, and in which loop how far apart. There may be millions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PairKey {
    kind: Hazard,
    /// Operation and transfer.
    first: (u32, u32),
    second: (u32, u32),
    /// Block and distance.
    within: (u32, u32),
}

impl PairKey {
    pub(super) fn new(kind: Hazard, first: Party, second: Party, within: Option<(u32, u32)>) -> PairKey {
        let whole = |party: Party| (party.op.0, party.transfer.map_or(NONE, |transfer| transfer.0));
        PairKey {
            kind,
            first: whole(first),
            second: whole(second),
            within: within.unwrap_or((NONE, NONE - 1)),
        }
    }
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Its place in [`CODES`].
    code: u8,
    certain: bool,
    /// The walk that it was last made worse in.
    walk: u32,
    /// The place of the finding; [`NONE`] when it is only counted.
    at: u32,
}

impl Known {
    /// A finding of its own.
    pub(super) fn told(at: usize, code: &str) -> Known {
        let code = CODES.iter().position(|(of, _)| *of == code).unwrap_or(0) as u8;
        Known { code, certain: true, walk: 0, at: at as u32 }
    }

    /// Of several meetings of two operations the worst is told: a certain one before a possible one, one that nothing
    /// orders before one that a queue does.
    fn weight(self) -> (bool, Severity) {
        (self.certain, CODES[self.code as usize].1)
    }
}

/// One way in which two accesses conflict, seen from the one that is told first.
struct Met {
    key: PairKey,
    known: Known,
    one: Touch,
    other: Touch,
    carried: Option<Carried>,
}

impl Checker<'_> {
    /// The unordered pairs of a walk.
    pub(super) fn pairs(&mut self, ordered: &Ordered<'_>, unordered: Unordered, in_loops: bool) {
        let Ordered { trace, run, order, .. } = ordered;
        self.walk += 1;
        self.outcome.cut_off |= unordered.cut_off;
        if unordered.pairs.is_empty() {
            return;
        }
        let by_queue = ordered.under(Mode { queues: true, hopeful: false });
        self.unsettled(ordered, &by_queue);
        let has_unknown = self.program.waits.iter().any(|wait| wait.need == Need::Unknown);
        let is_open = has_unknown || !order.open.is_empty();
        let hopeful = is_open.then(|| ordered.under(Mode { queues: false, hopeful: true }));
        let unknown_from = self.unknown_from(ordered);
        // A wait that only holds in the first iteration leaves pairs behind the loop unordered too: that is told of
        // the wait.
        let bad_waits = in_loops && self.findings.iter().any(|f| matches!(f.code, "ORD008" | "ORD009"));
        let mut unknown = UnknownWaits::new(ordered);
        // Pairs by their place in the list: what is not told needs no more than that.
        let mut fresh: Vec<(PairKey, u32)> = Vec::new();
        let mut replaced = false;
        for (place, (earlier, later, overlap)) in unordered.pairs.iter().copied().enumerate() {
            let within = |touch: Touch| !trace.visit(touch.node).iterations.is_empty();
            if bad_waits && !(within(earlier) && within(later)) {
                continue;
            }
            let streams = trace.streams_of(later.node).0;
            let rank = run.rank[later.node as usize];
            let mut queue = by_queue.clocks.precedes(earlier.row, streams, rank);
            if self.options.assume_queue_order {
                queue |= self.same_queue(ordered, earlier.row, later.row);
                if queue {
                    continue;
                }
            }
            let hoped =
                hopeful.as_ref().is_some_and(|order| order.clocks.precedes(earlier.row, streams, rank))
                    || has_unknown
                        && (unknown.may_order(ordered, earlier.row, later.node)
                            || unknown.may_order(ordered, later.row, earlier.node));
            let undecided = hoped || unknown_from.is_some_and(|from| rank >= from);
            self.meetings(
                ordered,
                (earlier, later, overlap),
                (queue, undecided, in_loops),
                |checker, met| match checker.pairs.get_mut(&met.key) {
                    Some(known) if known.weight() < met.known.weight() => {
                        *known = Known { at: known.at, ..met.known };
                        fresh.push((met.key, place as u32));
                        replaced = true;
                    }
                    Some(_) => {}
                    None => {
                        checker.pairs.insert(met.key, met.known);
                        fresh.push((met.key, place as u32));
                    }
                },
            );
        }
        if replaced {
            let mut seen = HashSet::new();
            fresh.reverse();
            fresh.retain(|(key, _)| seen.insert(*key));
            fresh.reverse();
        }
        // The first ones in the order in which findings are told.
        if fresh.len() > self.options.max_told {
            let position = |key: &PairKey| {
                let code = CODES[self.pairs[key].code as usize].0;
                (key.first.0, key.first.1.wrapping_add(1), code, key.second, key.kind)
            };
            fresh.sort_unstable_by_key(|(key, place)| (position(key), *place));
            fresh.truncate(self.options.max_told);
            fresh.sort_unstable_by_key(|(_, place)| *place);
        }
        let mut repairs = Repairs::new(ordered);
        for (key, place) in fresh {
            let (earlier, later, overlap) = unordered.pairs[place as usize];
            let streams = trace.streams_of(later.node).0;
            let rank = run.rank[later.node as usize];
            let queue = by_queue.clocks.precedes(earlier.row, streams, rank);
            let undecided = !self.pairs[&key].certain;
            self.meetings(
                ordered,
                (earlier, later, overlap),
                (queue, undecided, in_loops),
                |checker, met| {
                    if met.key == key {
                        checker.tell(ordered, &met, &mut repairs);
                    }
                },
            );
        }
    }

    /// Counts the pairs that are no findings.
    pub(super) fn count_untold(&mut self) {
        for known in self.pairs.values().filter(|known| known.at == NONE) {
            *self.outcome.untold.entry(CODES[known.code as usize].0).or_default() += 1;
        }
    }

    fn same_queue(&self, ordered: &Ordered<'_>, a: u32, b: u32) -> bool {
        let queue = |row: u32| {
            let transfer = ordered.party(row).transfer?;
            Some(self.program.transfers[transfer.index()].queue).filter(|queue| *queue != NONE)
        };
        queue(a).is_some() && queue(a) == queue(b)
    }

    /// Calls `each` with every way in which two unordered accesses conflict that was not told of a walk without loops.
    fn meetings(
        &mut self,
        ordered: &Ordered<'_>,
        (earlier, later, overlap): (Touch, Touch, Overlap),
        (queue, undecided, in_loops): (bool, bool, bool),
        mut each: impl FnMut(&mut Self, Met),
    ) {
        let trace = &ordered.trace;
        let (mut one, mut other) = (earlier, later);
        let mut carried = None;
        if in_loops {
            let (a, b) = (trace.visit(earlier.node), trace.visit(later.node));
            carried = self.carried(a, b);
            if carried.is_some_and(|(_, distance)| distance < 0) {
                (one, other) = (other, one);
            }
        }
        let distance = carried.map(|(block, distance)| (block, distance.unsigned_abs() as u32));
        // Whether this was told without loops, should it have been unordered there.
        let in_first = in_loops
            && distance.is_none_or(|(_, distance)| distance == 0)
            && trace.visit(earlier.node).iterations.iter().all(|(_, iteration)| *iteration == 0);
        // Document order; in loops the order of iterations.
        if distance.is_none_or(|(_, distance)| distance == 0)
            && ordered.party(other.row) < ordered.party(one.row)
        {
            (one, other) = (other, one);
        }
        let (first, second) = (ordered.party(one.row), ordered.party(other.row));
        // An instruction of all engines does once what each of them does.
        if first == second && distance.is_none_or(|(_, distance)| distance == 0) {
            return;
        }
        let (a, b) = (access_of(trace, one), access_of(trace, other));
        // A loop may be followed further than its other accesses need.
        let moves = |access: Access| self.program.bytes[access.bytes.index()].moves.is_some();
        if distance.is_some_and(|(_, distance)| distance > 2) && !moves(a) && !moves(b) {
            return;
        }
        let same_value = self.is_same_value((first, a), (second, b));
        let certain = overlap == Overlap::Yes && !undecided;
        let spread = distance.is_some_and(|(_, distance)| distance > 0);
        for kind in Hazard::between(a.effect, b.effect) {
            let plain_key = PairKey::new(kind, first, second, None);
            // Of what moves, and of loops that run more than once, nothing is told without loops: then the first iteration
            // is told here.
            let distance = distance.filter(|_| !(in_first && (self.repeats || moves(a) || moves(b))));
            let key = PairKey::new(kind, first, second, distance.map(|(block, d)| (block.0, d)));
            let code = match () {
                () if same_value => "ORD024",
                () if !certain => "ORD003",
                () if queue && spread && kind == Hazard::Raw => "ORD012",
                () if queue => "ORD002",
                () if self.on_two_cores(first, second) => "ORD020",
                () if !spread => "ORD001",
                () if kind == Hazard::Raw => "ORD010",
                () => "ORD013",
            };
            let tag = if queue { Tag::QueueOrderOnly } else { Tag::Unsync };
            let carried = distance.map(|(block, distance)| Carried { block, distance, tag });
            let code = CODES.iter().position(|(of, _)| *of == code).expect("all are listed") as u8;
            let known = Known { code, certain, walk: self.walk, at: NONE };
            // More iterations may leave unordered what one leaves to the order of a queue.
            let could_be_told = in_first || in_loops && distance.is_none();
            if could_be_told && self.is_earlier(&plain_key, known) {
                continue;
            }
            each(self, Met { key, known, one, other, carried });
        }
    }

    /// Whether a pair was met in an earlier walk, and was no better there.
    fn is_earlier(&self, key: &PairKey, now: Known) -> bool {
        self.pairs.get(key).is_some_and(|known| known.walk < self.walk && known.weight() >= now.weight())
    }

    /// Whether two write one value to the same bytes.
    pub(super) fn is_same_value(&self, (first, a): (Party, Access), (second, b): (Party, Access)) -> bool {
        let value = |party: Party| self.program.value_of(party.op.0);
        value(first) != 0
            && value(first) == value(second)
            && a.bytes == b.bytes
            && !a.effect.reads
            && !b.effect.reads
    }

    fn tell(&mut self, ordered: &Ordered<'_>, met: &Met, repairs: &mut Repairs<'_, '_>) {
        let Met { key, known, one, other, carried } = met;
        let (code, severity) = CODES[known.code as usize];
        let (a, b) = (access_of(&ordered.trace, *one), access_of(&ordered.trace, *other));
        let finding = Finding {
            kind: Some(key.kind),
            second: Some(ordered.touch(*other)),
            overlap: Some(self.common(a.bytes.index(), b.bytes.index())),
            certain: known.certain,
            carried: *carried,
            repair: (code != "ORD024").then(|| repairs.of(one.row, other.row)),
            ..plain(code, severity, ordered.touch(*one))
        };
        let known = self.pairs.get_mut(key).expect("it was met");
        match self.findings.get_mut(known.at as usize) {
            Some(before) => *before = finding,
            None => {
                known.at = self.findings.len() as u32;
                self.findings.push(finding);
            }
        }
    }

    /// Pairs of one stream that nothing orders but their stream, other than accumulation (ORD026).
    pub(super) fn program_order(&mut self, ordered: &Ordered<'_>) {
        let Ordered { trace, run, order, .. } = ordered;
        let clocks = Clocks::without_program_order(trace, run, &order.edges);
        let limit = self.options.max_pairs;
        let unordered = conflicts::unordered(trace, run, &clocks, self.meeting, self.loops, limit);
        self.outcome.cut_off |= unordered.cut_off;
        for (one, other, overlap) in unordered.pairs {
            let (streams, rank) = (trace.streams_of(other.node), run.rank[other.node as usize]);
            let same = streams.single().is_some() && streams == trace.streams_of(one.node);
            let known = order.clocks.precedes(one.row, streams.0, rank);
            let (a, b) = (access_of(trace, one), access_of(trace, other));
            let accumulation = a.effect.group.is_some() && b.effect.group.is_some();
            if !same || !known || accumulation || overlap != Overlap::Yes {
                continue;
            }
            let (first, second) = (ordered.touch(one), ordered.touch(other));
            for kind in Hazard::between(a.effect, b.effect) {
                let key = PairKey::new(kind, first, second, Some((NONE, NONE)));
                if self.pairs.insert(key, Known::told(self.findings.len(), "ORD026")).is_none() {
                    self.findings.push(Finding {
                        kind: Some(kind),
                        second: Some(second),
                        overlap: Some(self.common(a.bytes.index(), b.bytes.index())),
                        ..plain("ORD026", Severity::Note, first)
                    });
                }
            }
        }
    }
}
