//! The whole check: walks, order, conflicts, waits, and the findings that follow.

mod carried;
mod groups;
mod pairs;
mod repairs;
mod shrinking;
mod unknown;
mod waits;

use std::collections::BTreeMap;
use std::sync::Mutex;

use bir::diag::Severity;
use bir::geometry::lattice::Overlap;
use hashbrown::{HashMap, HashSet};

use crate::bind::{self, Mode, Order};
use crate::cells::Cells;
use crate::clocks::Clocks;
use crate::conflicts::{self, Touch, Unordered, access_of};
use crate::finding::{Carried, Common, Finding, Hazard, Party, Tag, WaitFact};
use crate::logs::Logs;
use crate::loops::{self, Loop, Visit};
use crate::program::{BlockId, CounterId, NONE, Need, OpId, OpKind, Program, TransferId};
use crate::schedules::{self, Schedules};
use crate::trace::{self, Run, Trace};
use pairs::{Known, PairKey};

/// What is checked, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Transfers of a queue run strictly one after the other.
    pub assume_queue_order: bool,
    /// Also report what only the order of one stream orders (ORD026).
    pub strict: bool,
    /// Count and class all conflicting pairs, ordered ones too.
    pub all: bool,
    /// Find waits that order nothing new.
    pub redundant: bool,
    /// Most unordered pairs that are looked at.
    pub max_pairs: usize,
    /// Most of them that become findings, those that stand first; the others are counted.
    pub max_told: usize,
    /// Most work on what waits mean because of other waits, in operations looked at again; past that it is undecided.
    pub max_rounds: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            assume_queue_order: false,
            strict: false,
            all: false,
            redundant: false,
            max_pairs: 1_000_000,
            max_told: usize::MAX,
            max_rounds: MAX_ROUNDS,
        }
    }
}

/// A million operations a hundred times; a program takes two or three.
pub(crate) const MAX_ROUNDS: u64 = 200_000_000;

/// The verdict. spec: ordering 15
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// No error, and everything was decided.
    #[default]
    Clean,
    /// There is an error.
    Findings,
    /// No error, but a pair or an edge could not be decided.
    Undecided,
}

impl Verdict {
    /// `CLEAN`, `FINDINGS` or `UNDECIDED`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "CLEAN",
            Verdict::Findings => "FINDINGS",
            Verdict::Undecided => "UNDECIDED",
        }
    }
}

/// A conflicting pair and its class, for [`Options::all`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassedPair {
    /// How it conflicts.
    pub kind: Hazard,
    /// Who stands first.
    pub first: Party,
    /// Who stands second.
    pub second: Party,
    /// `None` when that they meet is only possible.
    pub tag: Option<Tag>,
}

/// A wait that orders nothing that is not ordered without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedundantWait {
    /// The waiter.
    pub op: OpId,
    /// Index among its waits.
    pub wait: u32,
}

/// What the check has found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The findings, in the order of the program.
    pub findings: Vec<Finding>,
    /// All pairs by class, when asked for.
    pub pairs: Vec<ClassedPair>,
    /// Redundant waits, when asked for.
    pub redundant: Vec<RedundantWait>,
    /// How many pairs of each code are no findings because there are more than were asked for.
    pub untold: BTreeMap<&'static str, usize>,
    /// There are more unordered pairs than were looked at.
    pub cut_off: bool,
    /// There are more ways around branches than were walked.
    pub not_all_paths: bool,
}

impl Outcome {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        let has = |wanted: &dyn Fn(&Finding) -> bool| self.findings.iter().any(wanted);
        let untold = |wanted: &dyn Fn(&str) -> bool| self.untold.keys().any(|code| wanted(code));
        if has(&|finding| finding.severity == Severity::Error) || untold(&pairs::is_error) {
            Verdict::Findings
        } else if has(&|finding| matches!(finding.code, "ORD003" | "ORD021"))
            || untold(&|code| code == "ORD003")
        {
            Verdict::Undecided
        } else {
            Verdict::Clean
        }
    }
}

/// Checks a program.
pub fn check(program: &Program, options: &Options) -> Outcome {
    let loops = loops::loops(program);
    let cells = Cells::new(program, !loops.is_empty());
    let meeting = cells.meeting(program);
    let (walks, all_paths) = loops::straight(program, &loops);
    let meeting = meeting.as_ref().unwrap_or(&cells);
    let mut checker = Checker {
        program,
        options,
        loops: &loops,
        cells: &cells,
        meeting,
        pairs: HashMap::new(),
        findings: Vec::new(),
        said: HashSet::new(),
        outcome: Outcome { not_all_paths: !all_paths, ..Outcome::default() },
        unknown_resets: program.kinds().iter().any(|(_, kind)| *kind == OpKind::ResetUnknown),
        tried: false,
        repeats: loops::some_repeat(&loops),
        walk: 0,
        waits: HashMap::new(),
        kept: None,
        classes: HashMap::new(),
    };
    for walk in walks {
        if loops.is_empty() {
            checker.straight(walk);
            continue;
        }
        let path = walk.clone();
        let unrolled = loops::unrolled(program, &loops, &path, None);
        let stuck = ahead(
            SMALL.contains(&program.len()) || program.len() >= LARGE,
            || Walked::new(program, unrolled, meeting, &loops, options),
            || {
                checker.straight(walk);
                if checker.repeats && loops.iter().any(|of| of.trips.is_none()) {
                    checker.once(loops::once(program, &loops, &path));
                }
                &mut checker
            },
            |checker, walked| checker.unrolled(walked),
        );
        // Behind a loop that never ends the others are looked at on their own.
        let outer = (0..loops.len()).filter(|at| loops[*at].depth == 0);
        if stuck && outer.clone().count() > 1 {
            for only in outer.take(MAX_SINGLE_LOOPS) {
                let unrolled = loops::unrolled(program, &loops, &path, Some(only));
                checker.unrolled(Walked::new(program, unrolled, meeting, &loops, options));
            }
        }
    }
    checker.finish()
}

/// Operations of programs of which two walks are ordered at the same time. That takes an eighth more memory, which
/// those of tens of thousands have no room for in one and a half times their document; below that the program itself
/// counts for more.
const SMALL: std::ops::Range<usize> = 1 << 12..1 << 14;
const LARGE: usize = 1 << 17;

/// Goes on with two things, which are made at the same time if that is wanted.
fn ahead<A: Send, B, C>(
    wanted: bool,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
    then: impl FnOnce(B, A) -> C,
) -> C {
    if !wanted {
        let other = other();
        return then(other, one());
    }
    let waiting = Mutex::new(Some(one));
    let make = || waiting.lock().ok()?.take().map(|one| one());
    std::thread::scope(|scope| {
        // Where no thread is to be had, it is made here in the end.
        let started = std::thread::Builder::new().spawn_scoped(scope, make);
        let other = other();
        let made = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => make(),
        };
        then(other, made.expect("it is made once"))
    })
}

/// Most loops that are looked at on their own.
const MAX_SINGLE_LOOPS: usize = 16;

/// A walk with its order.
pub(crate) struct Ordered<'p> {
    pub(crate) trace: Trace<'p>,
    pub(crate) run: Run,
    pub(crate) logs: Logs,
    pub(crate) order: Order,
    max_rounds: u64,
}

impl<'p> Ordered<'p> {
    pub(crate) fn new(program: &'p Program, walk: Vec<Visit>, max_rounds: u64) -> Ordered<'p> {
        let trace = Trace::new(program, walk);
        let run = trace::run(&trace);
        let logs = Logs::new(&trace, &run);
        let order = bind::order(&trace, &run, &logs, Mode { queues: false, hopeful: false }, max_rounds);
        Ordered { trace, run, logs, order, max_rounds }
    }

    fn under(&self, mode: Mode) -> Order {
        bind::order(&self.trace, &self.run, &self.logs, mode, self.max_rounds)
    }

    pub(crate) fn precedes(&self, row: u32, node: u32) -> bool {
        self.order.clocks.precedes(row, self.trace.streams_of(node).0, self.run.rank[node as usize])
    }

    /// The node of a node or a transfer row.
    pub(crate) fn node_of(&self, row: u32) -> u32 {
        match (row as usize).checked_sub(self.trace.len()) {
            None => row,
            Some(transfer) => self.trace.transfers[transfer].0,
        }
    }

    /// The node of the operation that a wait is bound to; none when that is a transfer.
    fn node_of_edge(&self, row: u32) -> Option<u32> {
        let real = self.trace.len() + self.trace.transfers.len();
        let row = (row as usize).checked_sub(real).map_or(row, |at| self.order.edges.prefixes[at].row);
        (row < self.trace.len() as u32).then_some(row)
    }

    pub(crate) fn party(&self, row: u32) -> Party {
        let node = self.node_of(row);
        let op = OpId(self.trace.program.first_clone(self.trace.ops[node as usize]));
        let transfer =
            (row != node).then(|| TransferId(self.trace.transfers[(row as usize) - self.trace.len()].1));
        Party { op, transfer, access: None }
    }

    fn touch(&self, touch: Touch) -> Party {
        Party { access: Some(touch.at), ..self.party(touch.row) }
    }
}

/// A walk with its order and what is unordered in it: all that takes long and needs no look at other walks.
struct Walked<'p> {
    ordered: Ordered<'p>,
    unordered: Unordered,
}

impl<'p> Walked<'p> {
    fn new(
        program: &'p Program,
        walk: Vec<Visit>,
        cells: &Cells,
        loops: &[Loop],
        options: &Options,
    ) -> Walked<'p> {
        let ordered = Ordered::new(program, walk, options.max_rounds);
        let Ordered { trace, run, order, .. } = &ordered;
        let unordered = conflicts::unordered(trace, run, &order.clocks, cells, loops, options.max_pairs);
        Walked { ordered, unordered }
    }
}

struct Checker<'a> {
    program: &'a Program,
    options: &'a Options,
    loops: &'a [Loop],
    cells: &'a Cells,
    /// The same where only pairs are sought.
    meeting: &'a Cells,
    /// Pairs that were met, with what is said of them.
    pairs: HashMap<PairKey, Known>,
    findings: Vec<Finding>,
    said: HashSet<(&'static str, Party, Option<Party>, u32)>,
    outcome: Outcome,
    unknown_resets: bool,
    /// It is known already what comes of other orders.
    tried: bool,
    /// Loops are known to run more than once: no run takes every block once.
    repeats: bool,
    /// How many walks there were.
    walk: u32,
    /// What the first iteration says of each wait.
    waits: HashMap<(u32, u32), waits::WaitState>,
    /// Waits that were not redundant somewhere.
    kept: Option<HashSet<(u32, u32)>>,
    /// Pairs by class, when asked for.
    classes: HashMap<(Hazard, Party, Party), Option<Tag>>,
}

impl Checker<'_> {
    fn straight(&mut self, walk: Vec<Visit>) {
        let ordered = Ordered::new(self.program, walk, self.options.max_rounds);
        self.unknown();
        // What loops that run more than once leave unordered, and whether they come to an end, shows where they do.
        if !self.repeats {
            self.protocol(&ordered, false);
            let unordered = self.unordered(&ordered);
            self.pairs(&ordered, unordered, false);
            groups::check(self, &ordered);
        }
        waits::check(self, &ordered, false);
        if self.options.strict {
            self.program_order(&ordered);
        }
        if self.options.all && !self.repeats {
            self.all(&ordered);
        }
        if self.options.redundant {
            self.redundant(&ordered);
        }
    }

    /// Loops whose number of runs is not known may run once.
    fn once(&mut self, walk: Vec<Visit>) {
        let ordered = Ordered::new(self.program, walk, self.options.max_rounds);
        self.protocol(&ordered, true);
        let unordered = self.unordered(&ordered);
        self.pairs(&ordered, unordered, true);
        if self.options.all {
            self.all(&ordered);
        }
    }

    fn unordered(&self, ordered: &Ordered<'_>) -> Unordered {
        let Ordered { trace, run, order, .. } = ordered;
        let limit = self.options.max_pairs;
        conflicts::unordered(trace, run, &order.clocks, self.meeting, self.loops, limit)
    }

    /// Whether a loop never ends.
    fn unrolled(&mut self, walked: Walked<'_>) -> bool {
        let Walked { ordered, unordered } = walked;
        self.protocol(&ordered, true);
        waits::check(self, &ordered, true);
        self.pairs(&ordered, unordered, true);
        if self.repeats {
            groups::check(self, &ordered);
        }
        if self.options.all && self.repeats {
            self.all(&ordered);
        }
        if self.options.redundant {
            self.redundant(&ordered);
        }
        let stuck = !ordered.run.stuck.is_empty();
        if !stuck {
            shrinking::check(self, &ordered);
        }
        carried::check(self, ordered);
        stuck
    }

    fn finish(mut self) -> Outcome {
        waits::later(&mut self);
        self.count_untold();
        let position = |finding: &Finding| (finding.first.op, finding.first.transfer, finding.code);
        self.findings.sort_by(|a, b| position(a).cmp(&position(b)).then_with(|| a.second.cmp(&b.second)));
        let pairs = std::mem::take(&mut self.classes).into_iter();
        let pairs = pairs.map(|((kind, first, second), tag)| ClassedPair { kind, first, second, tag });
        self.outcome.pairs.extend(pairs);
        self.outcome.pairs.sort_unstable_by_key(|pair| (pair.first, pair.second, pair.kind));
        if let Some(kept) = self.kept.take() {
            let program = self.program;
            for op in (0..program.ops.len() as u32).filter(|op| program.first_clone(*op) == *op) {
                for (at, wait) in program.waits_of(op).iter().enumerate() {
                    let plain = matches!(wait.need, Need::AtLeast(_));
                    if plain && !kept.contains(&(op, at as u32)) {
                        self.outcome.redundant.push(RedundantWait { op: OpId(op), wait: at as u32 });
                    }
                }
            }
        }
        Outcome { findings: self.findings, ..self.outcome }
    }

    fn say(&mut self, finding: Finding) {
        let counter = finding.counter.map_or(NONE, |counter| counter.0);
        let detail = finding.wait.map_or(counter, |wait| wait.index);
        if self.said.insert((finding.code, finding.first, finding.second, detail)) {
            self.findings.push(finding);
        }
    }

    /// Deadlocks, events, resets, mixed transfers.
    fn protocol(&mut self, ordered: &Ordered<'_>, in_loops: bool) {
        let Ordered { trace, run, order, .. } = ordered;
        self.unsettled(ordered, order);
        self.outcome.cut_off |= order.more_races;
        let unknown_from = self.unknown_from(ordered).unwrap_or(NONE);
        let known = |row: u32| run.rank[ordered.node_of(row) as usize] < unknown_from;
        let unwalked = self.unwalked(ordered);
        if let Some((node, index, counter)) = unwalked {
            let mut finding = plain("ORD021", Severity::Note, ordered.party(node));
            finding.counter = Some(counter);
            let count = Some(ordered.logs.last(counter.index()));
            finding.wait = Some(WaitFact { index, count });
            finding.certain = false;
            self.say(finding);
        }
        // A deadlock outside of loops is told once; what is behind it is not reached.
        let deadlock = self.findings.iter().any(|f| f.code == "ORD014" && f.carried.is_none());
        if let (Some(first), None, false) = (run.stuck.first(), unwalked, deadlock) {
            let mut finding = plain("ORD014", Severity::Error, ordered.party(*first));
            finding.others = others(ordered, &run.stuck);
            finding.carried = in_loops
                .then(|| self.innermost(trace.visit(*first)))
                .flatten()
                .map(|(block, _)| Carried { block, distance: 0, tag: Tag::Unsync });
            self.say(finding);
        }
        for (node, counter) in &run.double_sets {
            let mut finding = plain("ORD017", Severity::Error, ordered.party(*node));
            finding.counter = Some(CounterId(*counter));
            self.say(finding);
        }
        let races = order.reset_races.iter().filter(|(row, _, _)| known(*row));
        for (row, reset, counter) in races {
            let mut finding = plain("ORD018", Severity::Error, ordered.party(*row));
            finding.second = Some(ordered.party(*reset));
            finding.counter = Some(CounterId(*counter));
            self.say(finding);
        }
        for (one, other, counter) in order.mixed.iter().filter(|(row, _, _)| known(*row)) {
            let mut finding = plain("ORD027", Severity::Warning, ordered.party(*one));
            finding.second = Some(ordered.party(*other));
            finding.counter = Some(CounterId(*counter));
            self.say(finding);
        }
        if run.stuck.is_empty() && order.reset_races.is_empty() && !self.unknown_resets && !self.tried {
            self.schedules(ordered, in_loops);
        }
    }

    /// Waits of which it was not found out what they mean.
    fn unsettled(&mut self, ordered: &Ordered<'_>, order: &Order) {
        if let Some(node) = order.unsettled {
            let mut finding = plain("ORD021", Severity::Note, ordered.party(node));
            finding.certain = false;
            self.say(finding);
        }
    }

    /// What is only known at run time.
    fn unknown(&mut self) {
        self.unknown_waits();
        if self.unknown_resets {
            for (op, _) in self.program.kinds().iter().filter(|(_, kind)| *kind == OpKind::ResetUnknown) {
                self.say(plain("ORD021", Severity::Note, Party::of(*op)));
            }
        }
    }

    /// A wait that is stuck, perhaps only because a loop that updates its counter is walked less often than it runs.
    fn unwalked(&self, ordered: &Ordered<'_>) -> Option<(u32, u32, CounterId)> {
        let (trace, program) = (&ordered.trace, self.program);
        if ordered.run.stuck.is_empty() || !self.repeats {
            return None;
        }
        let cut = loops::cut_short(self.loops, &trace.visits);
        let mut updated = vec![false; program.counters as usize];
        let blocks = self.loops.iter().zip(cut).filter(|(_, cut)| *cut).flat_map(|(of, _)| of.blocks.clone());
        for op in blocks.flat_map(|block| program.blocks[block as usize].ops.clone()) {
            let transfers = program.transfers_of(op).flat_map(|at| program.transfer_updates_of(at).iter());
            for update in program.updates_of(op).iter().chain(transfers) {
                updated[update.counter.index()] = true;
            }
        }
        ordered.run.stuck.iter().find_map(|node| {
            let mut waits = program.waits_of(trace.ops[*node as usize]).iter().enumerate();
            let wait = waits.find(|(_, wait)| updated[wait.counter.index()]);
            wait.map(|(at, wait)| (*node, at as u32, wait.counter))
        })
    }

    /// What comes of other orders than the one in which everything goes as fast as it can.
    fn schedules(&mut self, ordered: &Ordered<'_>, in_loops: bool) {
        let trace = &ordered.trace;
        let Schedules { hang, double_sets, open } = schedules::schedules(ordered);
        // One such order is enough.
        self.tried = hang.is_some() || open.is_some();
        if let Some((stuck, turns)) = hang {
            let mut finding = plain("ORD014", Severity::Error, ordered.party(stuck[0]));
            finding.others = others(ordered, &stuck);
            finding.turns = turns.into_iter().map(|row| ordered.party(row)).collect();
            finding.carried = in_loops
                .then(|| self.innermost(trace.visit(stuck[0])))
                .flatten()
                .map(|(block, _)| Carried { block, distance: 0, tag: Tag::Unsync });
            self.say(finding);
        }
        for (row, counter) in double_sets {
            let mut finding = plain("ORD017", Severity::Error, ordered.party(row).whole());
            finding.counter = Some(CounterId(counter));
            self.say(finding);
        }
        if let Some((node, counter)) = open {
            let party = if node == NONE { Party::of(0) } else { ordered.party(node) };
            let mut finding = plain("ORD021", Severity::Note, party);
            finding.counter = Some(CounterId(counter));
            finding.certain = false;
            self.say(finding);
        }
    }

    /// Waits for what is only known at run time may hold for ever.
    fn unknown_waits(&mut self) {
        let program = self.program;
        if !program.waits.iter().any(|wait| wait.need == Need::Unknown) {
            return;
        }
        for op in 0..program.ops.len() as u32 {
            for (at, wait) in program.waits_of(op).iter().enumerate() {
                if wait.need == Need::Unknown && program.first_clone(op) == op {
                    let mut finding = plain("ORD021", Severity::Note, Party::of(op));
                    finding.wait = Some(WaitFact { index: at as u32, count: None });
                    finding.counter = Some(wait.counter);
                    finding.certain = false;
                    self.say(finding);
                }
            }
        }
    }

    /// The innermost loop of a visit that is past its first iteration, or the innermost at all.
    fn innermost(&self, visit: &Visit) -> Option<(BlockId, u32)> {
        let past = visit.iterations.iter().rev().find(|(_, iteration)| *iteration > 0);
        let (at, iteration) = past.or(visit.iterations.last())?;
        Some((BlockId(self.loops[*at as usize].blocks.start), *iteration))
    }

    /// The rank from which on no count is known.
    fn unknown_from(&self, ordered: &Ordered<'_>) -> Option<u32> {
        if !self.unknown_resets {
            return None;
        }
        let is_reset =
            |node: &u32| self.program.kind_of(ordered.trace.ops[*node as usize]) == OpKind::ResetUnknown;
        ordered.run.order.iter().find(|node| is_reset(node)).map(|node| ordered.run.rank[*node as usize])
    }

    /// The loop that two visits are in at different iterations, and how far apart; or the innermost one around both.
    /// That may be its first iteration: an engine that runs ahead brings counts of later ones.
    fn carried(&self, a: &Visit, b: &Visit) -> Option<(BlockId, i64)> {
        let mut inner = None;
        for ((of_a, at_a), (of_b, at_b)) in a.iterations.iter().zip(&b.iterations) {
            if of_a != of_b {
                break;
            }
            let block = BlockId(self.loops[*of_a as usize].blocks.start);
            if at_a != at_b {
                return Some((block, i64::from(*at_b) - i64::from(*at_a)));
            }
            inner = Some((block, 0));
        }
        inner
    }

    /// Whether two operations are of different cores.
    fn on_two_cores(&self, a: Party, b: Party) -> bool {
        let core = |party: Party| {
            let streams = self.program.ops[party.op.index()].streams;
            streams.iter().next().map(|stream| self.program.streams[stream])
        };
        core(a).is_some() && core(b).is_some() && core(a) != core(b)
    }

    fn common(&self, a: usize, b: usize) -> Common {
        let (a, b) = (&self.program.bytes[a], &self.program.bytes[b]);
        let ((p, q), (s, t)) = ((a.partitions(), b.partitions()), (a.span(), b.span()));
        Common {
            space: a.space,
            partitions: p.start.max(q.start)..p.end.min(q.end),
            bytes: s.start.max(t.start)..s.end.min(t.end),
        }
    }

    /// Classes all pairs of a walk that lie in the same iteration, each as the worst of all walks that are classed: where
    /// no run takes every block once, those that go through loops as often as they run, else those that take them once.
    fn all(&mut self, ordered: &Ordered<'_>) {
        let by_queue = ordered.under(Mode { queues: true, hopeful: false });
        self.unsettled(ordered, &by_queue);
        let Ordered { trace, run, order, .. } = ordered;
        let unsettled = order.unsettled.or(by_queue.unsettled).is_some();
        let mut classes = std::mem::take(&mut self.classes);
        conflicts::all_pairs(trace, run, self.meeting, self.loops, |earlier, later, overlap| {
            let (streams, rank) = (trace.streams_of(later.node).0, run.rank[later.node as usize]);
            let tag = if order.clocks.precedes(earlier.row, streams, rank) {
                Tag::Ok
            } else if by_queue.clocks.precedes(earlier.row, streams, rank) {
                Tag::QueueOrderOnly
            } else {
                Tag::Unsync
            };
            let (mut one, mut other) = (earlier, later);
            if ordered.party(other.row) < ordered.party(one.row) {
                (one, other) = (other, one);
            }
            let (first, second) = (ordered.party(one.row), ordered.party(other.row));
            let carried = self.carried(trace.visit(earlier.node), trace.visit(later.node));
            if first == second || carried.is_some_and(|(_, distance)| distance != 0) {
                return;
            }
            let (a, b) = (access_of(trace, one), access_of(trace, other));
            let tag = (overlap == Overlap::Yes || tag == Tag::Ok).then_some(tag).filter(|_| !unsettled);
            let value = |party: Party| self.program.value_of(party.op.0);
            for kind in Hazard::between(a.effect, b.effect) {
                if tag != Some(Tag::Ok)
                    && value(first) != 0
                    && value(first) == value(second)
                    && a.bytes == b.bytes
                {
                    continue;
                }
                let class = classes.entry((kind, first, second)).or_insert(tag);
                *class = (*class).max(tag);
            }
        });
        self.classes = classes;
    }

    /// Notes the waits of which an edge is not implied by others.
    fn redundant(&mut self, ordered: &Ordered<'_>) {
        let Ordered { trace, run, order, logs, .. } = ordered;
        // With what is known of prefixes, which is not kept otherwise.
        let clocks = Clocks::whole(trace, run, &order.edges);
        let precedes =
            |row: u32, node: u32| clocks.precedes(row, trace.streams_of(node).0, run.rank[node as usize]);
        let mut strict: Option<Clocks> = None;
        let shrinking = logs.shrinking();
        let some_shrink = shrinking.contains(&true);
        let kept = self.kept.get_or_insert_default();
        let by_node = crate::clocks::ByNode::new(trace.len(), &order.edges.list);
        let mut bound: HashSet<(u32, u32)> = HashSet::new();
        for &node in &run.order {
            let edges = by_node.of(node);
            let streams = trace.streams_of(node);
            for edge in edges {
                if edge.wait == NONE {
                    continue;
                }
                bound.insert((node, edge.wait));
                // A wait for the own stream is what the compiler does not trust program order with.
                let rank = run.rank[node as usize];
                let own = ordered
                    .node_of_edge(edge.row)
                    .is_some_and(|of| trace.streams_of(of).0 & streams.0 != 0)
                    && {
                        // Unless an earlier operation has waited for it already.
                        let clocks = strict
                            .get_or_insert_with(|| Clocks::without_program_order(trace, run, &order.edges));
                        !streams.iter().any(|stream| clocks.first(edge.row, stream) < rank)
                    };
                let before = streams.iter().any(|stream| clocks.first(edge.row, stream) < rank);
                let other = edges.iter().any(|other| {
                    other.wait != edge.wait
                        && !order.leaning.contains(&(node, other.wait))
                        && (other.row as usize) < trace.len() + trace.transfers.len()
                        && other.row != edge.row
                        && precedes(edge.row, ordered.node_of(other.row))
                });
                if own || !(before || other) {
                    kept.insert((ordered.party(node).op.0, edge.wait));
                }
            }
            let op = trace.ops[node as usize];
            for (at, wait) in self.program.waits_of(op).iter().enumerate() {
                // What is not bound orders nothing by itself, but takes part in what its counter means. Where counts
                // shrink, what a wait is bound to may be less than what it waits for.
                let at = at as u32;
                let vague = order.unsettled.is_some()
                    || shrinking[wait.counter.index()]
                    || some_shrink && order.vague.contains(&(node, at));
                if !bound.remove(&(node, at)) || vague {
                    kept.insert((self.program.first_clone(op), at));
                }
            }
        }
        for op in run.stuck.iter().map(|node| ordered.party(*node).op.0) {
            for at in 0..self.program.waits_of(op).len() as u32 {
                kept.insert((op, at));
            }
        }
    }
}

/// The operations of nodes behind the first, each once.
fn others(ordered: &Ordered<'_>, nodes: &[u32]) -> Vec<OpId> {
    let mut ops: Vec<OpId> = nodes.iter().map(|node| ordered.party(*node).op).collect();
    let first = ops.remove(0);
    ops.dedup();
    ops.retain(|op| *op != first);
    ops
}

/// A finding about one operation.
fn plain(code: &'static str, severity: Severity, first: Party) -> Finding {
    Finding {
        code,
        severity,
        first,
        second: None,
        kind: None,
        overlap: None,
        certain: true,
        carried: None,
        wait: None,
        counter: None,
        repair: None,
        others: Vec::new(),
        turns: Vec::new(),
    }
}
