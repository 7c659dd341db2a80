//! What would order an unordered pair.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::Ordered;
use crate::finding::{Party, Repair};
use crate::logs::EventKind;
use crate::program::{CounterId, NONE, Streams};

/// Steps along counters, at most: pairs behind that are told to update a free counter.
const WORK: usize = 50_000_000;

/// Operations behind the first of a pair that are looked at for one that updates a counter.
const MAX_NEXT: usize = 256;

/// Most of them that are tried: where some updates of a stream cannot be waited for, those behind seldom can.
const MAX_TRIED: usize = 16;

/// Finds the cheapest repairs of unordered pairs.
pub(super) struct Repairs<'a, 'p> {
    ordered: &'a Ordered<'p>,
    counters: HashMap<u32, Counter>,
    /// What is there for sure when a row is complete, itself not counted, by row and counter.
    sure: HashMap<(u32, u32), i64>,
    work: usize,
}

/// A counter from one beginning to the next.
struct Counter {
    epochs: Vec<Epoch>,
    /// The first addition of each row: its epoch, and what it adds. By row.
    adds: Vec<(u32, u32, i64)>,
}

struct Epoch {
    /// Row that begins it, and node that ends it; [`NONE`] where nothing does.
    start: u32,
    end: u32,
    /// Count at its beginning.
    first: i64,
    /// Something is taken away.
    shrinks: bool,
    lanes: Vec<Lane>,
}

/// Additions of operations on the same streams, or of what they start, in the order of the run.
struct Lane {
    streams: u32,
    /// Rank, row and value of each.
    adds: Vec<(u32, u32, i64)>,
    /// What the first so many add.
    sums: Vec<i64>,
}

impl<'a, 'p> Repairs<'a, 'p> {
    pub(super) fn new(ordered: &'a Ordered<'p>) -> Repairs<'a, 'p> {
        Repairs { ordered, counters: HashMap::new(), sure: HashMap::new(), work: WORK }
    }

    /// How the second of two accesses can wait for the first.
    pub(super) fn of(&mut self, first: u32, second: u32) -> Repair {
        let trace = &self.ordered.trace;
        let waiter = Party { transfer: None, ..self.ordered.party(second) };
        let from = self.ordered.party(first);
        let waiting = self.ordered.node_of(second);
        let node = self.ordered.node_of(first);
        let program = trace.program;
        let none = Repair::Update { waiter, from };
        if first != node {
            let transfer = trace.transfers[first as usize - trace.len()].1;
            let update = program.transfer_updates_of(transfer as usize).get(0).map(|update| update.counter);
            return self.wait(first, update, waiting, from).unwrap_or(none);
        }
        let Some(stream) = trace.streams_of(node).single() else { return none };
        let nodes = &trace.streams[stream];
        let at = nodes.partition_point(|other| *other < node);
        // What itself comes after the waiter cannot be waited for.
        let can_come_first = |next: u32| next != waiting && !self.ordered.precedes(waiting, next);
        let end = nodes.len().min(at + MAX_NEXT);
        let mut tried = 0;
        for next in nodes[at..end].iter().copied() {
            if !can_come_first(next) {
                break;
            }
            let op = trace.ops[next as usize];
            let Some(update) = program.updates_of(op).get(0).map(|update| update.counter) else { continue };
            if let Some(repair) = self.wait(next, Some(update), waiting, self.ordered.party(next)) {
                return repair;
            }
            tried += 1;
            if tried == MAX_TRIED {
                break;
            }
        }
        none
    }

    /// The wait of a node for what a row adds to a counter, when no other updates can bring the count there, and what
    /// comes before the row does bring it there with it.
    fn wait(&mut self, row: u32, counter: Option<CounterId>, waiting: u32, from: Party) -> Option<Repair> {
        let (counter, ordered) = (counter?, self.ordered);
        let stream = ordered.trace.streams_of(waiting).iter().next();
        if !ordered.trace.program.can_wait(counter, stream) {
            return None;
        }
        self.look(counter.0)?;
        let of = &self.counters[&counter.0];
        let place = of.adds.binary_search_by_key(&row, |(of, _, _)| *of).ok()?;
        let (_, epoch, value) = of.adds[place];
        let epoch = &of.epochs[epoch as usize];
        // The waiter must run while the count is not begun anew.
        let is_within = (epoch.start == NONE || ordered.precedes(epoch.start, waiting))
            && (epoch.end == NONE || ordered.precedes(waiting, epoch.end));
        if !is_within || epoch.shrinks {
            return None;
        }
        self.work = self.work.checked_sub(epoch.lanes.len())?;
        let without = epoch.without(ordered, row, waiting);
        let sure = match self.sure.entry((row, counter.0)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let adds = epoch.lanes.iter().map(|lane| lane.adds.len()).sum();
                self.work = self.work.checked_sub(adds)?;
                *place.insert(epoch.sure(ordered, ordered.node_of(row)))
            }
        };
        let waiter = Party { transfer: None, ..ordered.party(waiting) };
        (without <= sure).then_some(Repair::Wait { waiter, counter, value: without + value, from })
    }

    /// Looks at a counter, if that was not done and is not too much.
    fn look(&mut self, counter: u32) -> Option<()> {
        if let Entry::Vacant(place) = self.counters.entry(counter) {
            let events = self.ordered.logs.iter(counter as usize).count();
            self.work = self.work.checked_sub(events)?;
            place.insert(Counter::new(self.ordered, counter));
        }
        Some(())
    }
}

impl Counter {
    fn new(ordered: &Ordered<'_>, counter: u32) -> Counter {
        let begin =
            |start: u32, first: i64| Epoch { start, end: NONE, first, shrinks: false, lanes: Vec::new() };
        let mut epochs = vec![begin(NONE, 0)];
        let mut adds: Vec<(u32, u32, i64)> = Vec::new();
        for event in ordered.logs.iter(counter as usize) {
            let number = epochs.len() as u32 - 1;
            let epoch = epochs.last_mut().expect("there is a first");
            match event.kind {
                EventKind::Start => {
                    epoch.end = event.node;
                    epochs.push(begin(event.row, event.value));
                }
                EventKind::Sub => epoch.shrinks = true,
                EventKind::Add => {
                    adds.push((event.row, number, event.value));
                    let streams = ordered.trace.streams_of(event.node).0;
                    let rank = ordered.run.rank[event.node as usize];
                    epoch.add(streams, (rank, event.row, event.value));
                }
                EventKind::Wait | EventKind::WaitUnknown => {}
            }
        }
        // Of several of one row the first counts.
        adds.sort_by_key(|(row, _, _)| *row);
        adds.dedup_by_key(|(row, _, _)| *row);
        Counter { epochs, adds }
    }
}

impl Epoch {
    fn add(&mut self, streams: u32, add: (u32, u32, i64)) {
        let at = self.lanes.iter().position(|lane| lane.streams == streams).unwrap_or_else(|| {
            self.lanes.push(Lane { streams, adds: Vec::new(), sums: vec![0] });
            self.lanes.len() - 1
        });
        let lane = &mut self.lanes[at];
        lane.sums.push(lane.sums[lane.adds.len()] + add.2);
        lane.adds.push(add);
    }

    /// The most that there can be without a row and a waiter, and what comes after one of them.
    fn without(&self, ordered: &Ordered<'_>, row: u32, waiting: u32) -> i64 {
        let clocks = &ordered.order.clocks;
        let rank_of = |node: u32| ordered.run.rank[node as usize];
        let own = ordered.node_of(row);
        let streams_of = |node: u32| ordered.trace.streams_of(node).0;
        let mut sum = self.first;
        for lane in &self.lanes {
            // What runs on the same streams is after a completion from some place on.
            let after = |row: u32| Streams(lane.streams).iter().map(|stream| clocks.first(row, stream)).min();
            let after = after(row).into_iter().chain(after(waiting)).min().unwrap_or(NONE);
            let end = lane.adds.partition_point(|(rank, _, _)| *rank < after);
            sum += lane.sums[end];
            let of_node = |node: u32| {
                let start = lane.adds[..end].partition_point(|(rank, _, _)| *rank < rank_of(node));
                lane.adds[start..end].iter().take_while(move |(rank, _, _)| *rank == rank_of(node))
            };
            if streams_of(waiting) == lane.streams {
                sum -= of_node(waiting).map(|(_, _, value)| value).sum::<i64>();
            }
            if own != waiting && streams_of(own) == lane.streams {
                sum -= of_node(own).filter(|(_, of, _)| *of == row).map(|(_, _, value)| value).sum::<i64>();
            }
        }
        sum
    }

    /// What is there for sure when a node starts.
    fn sure(&self, ordered: &Ordered<'_>, node: u32) -> i64 {
        let rank = ordered.run.rank[node as usize];
        let mut sum = self.first;
        for lane in &self.lanes {
            let ran = lane.adds.partition_point(|(of, _, _)| *of < rank);
            let before = lane.adds[..ran].iter().filter(|(_, row, _)| ordered.precedes(*row, node));
            sum += before.map(|(_, _, value)| value).sum::<i64>();
        }
        sum
    }
}
