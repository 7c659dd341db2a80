//! The additions to a counter within an epoch, and which of them a wait can mean.
//!
//! They are cut into windows where everything before surely comes before everything after. In a window those whose
//! operations run on the same streams are a lane: what is complete before one of a lane starts is complete before all that
//! follow it there, so that searches by halves take the place of looking at each.

use std::ops::Range;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::Binder;
use crate::clocks::Prefix;
use crate::logs::Event;
use crate::program::NONE;

/// The additions of an epoch, and how they are ordered among each other.
pub(super) struct Epoch {
    pub(super) adds: Vec<Event>,
    /// Count before the first addition, and after each.
    pub(super) counts: Vec<i64>,
    /// All are of one stream: the last one implies the others.
    pub(super) chain: bool,
    /// Additions of different windows are ordered.
    windows: Vec<Range<u32>>,
    /// The window of each addition.
    window_of: Vec<u32>,
    /// By window, made when needed.
    lanes: HashMap<u32, Vec<Lane>>,
    /// Prefix row after each addition, made when needed.
    prefixes: Vec<u32>,
}

/// Additions of one value by what runs on the same streams, in order. Transfers are apart from operations, and where queues
/// are in order those of each queue.
pub(super) struct Lane {
    key: Key,
    /// Places among the additions of the epoch, and when each is made at the earliest.
    at: Vec<u32>,
    ranks: Vec<u32>,
    /// Prefix row after each, as far as they were needed.
    prefixes: Vec<u32>,
}

/// What additions of a lane have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    streams: u32,
    queue: u32,
    is_transfer: bool,
    value: i64,
}

impl Key {
    /// Whether each is complete before those that follow.
    fn is_chain(&self) -> bool {
        self.streams != 0 && (!self.is_transfer || self.queue != NONE)
    }
}

/// The additions of a window that do not come after a wait: of each lane the first so many.
pub(super) struct Members {
    window: u32,
    parts: SmallVec<[(u32, u32); 8]>,
    pub(super) count: usize,
    /// What they add in all.
    pub(super) sum: i64,
    /// The least that one of them adds.
    pub(super) least: i64,
}

impl Epoch {
    /// The most that the count can come to.
    pub(super) fn most(&self) -> i64 {
        *self.counts.last().expect("the first")
    }
}

impl Members {
    /// How many lanes they are of.
    pub(super) fn lanes(&self) -> usize {
        self.parts.len()
    }
}

/// What of its members a wait cannot do without.
pub(super) struct Needed {
    /// Of each part: places in the lane, in order.
    parts: SmallVec<[Lacking; 8]>,
    /// All members are.
    pub(super) all: bool,
    /// The first and the last transfer that are not.
    pub(super) spared: Option<(u32, u32)>,
}

enum Lacking {
    /// The first so many.
    First(usize),
    These(Vec<u32>),
}

/// What a wait needed in the round before: it only becomes less from round to round.
#[derive(Default)]
pub(super) struct Before {
    /// Where its window began.
    start: u32,
    /// Of lanes that needed a search: what was needed, or for a chain the first that was not.
    lanes: SmallVec<[(Key, Vec<u32>); 4]>,
    /// Of each stream how many nodes led to a completion that is common to what is needed, and the transfers that are.
    pub(super) streams: SmallVec<[u32; 6]>,
    pub(super) transfers: Option<Vec<u32>>,
}

impl Before {
    fn of(&self, key: &Key) -> Option<&[u32]> {
        self.lanes.iter().find(|(of, _)| of == key).map(|(_, places)| &places[..])
    }
}

/// Needed transfers of a lane that have edges of their own; more have one for all of them.
const MAX_SINGLE: usize = 3;

/// How many of a list are at its beginning until one is not; where that is near its end it is found at once.
pub(super) fn first_less(list: &[u32], mut is: impl FnMut(&u32) -> bool) -> usize {
    let mut step = 1;
    let mut end = list.len();
    while step <= end {
        if is(&list[end - step]) {
            let from = end - step + 1;
            return from + list[from..end].partition_point(is);
        }
        end -= step;
        step *= 2;
    }
    list[..end].partition_point(is)
}

impl Binder<'_, '_> {
    pub(super) fn epoch(&mut self, adds: Vec<Event>, first: i64) -> Epoch {
        let mut counts = Vec::with_capacity(adds.len() + 1);
        counts.push(first);
        for add in &adds {
            counts.push(counts.last().expect("the first") + add.value);
        }
        let nodes = self.trace.len() as u32;
        let stream = |add: &Event| {
            (add.row < nodes).then(|| self.trace.streams_of(add.node)).and_then(|streams| streams.single())
        };
        let chain = match adds.first().map(stream) {
            None => true,
            Some(one) => one.is_some() && adds.iter().all(|add| stream(add) == one),
        };
        let mut epoch = Epoch {
            prefixes: if chain { Vec::new() } else { vec![NONE; adds.len()] },
            windows: Vec::new(),
            window_of: Vec::new(),
            lanes: HashMap::new(),
            adds,
            counts,
            chain,
        };
        if !chain && self.clocks.is_some() {
            self.windows(&mut epoch);
        }
        epoch
    }

    /// Cuts the additions where everything before surely comes before everything after.
    fn windows(&mut self, epoch: &mut Epoch) {
        let count = epoch.adds.len();
        let lows = self.lows(&epoch.adds);
        epoch.window_of = vec![0; count];
        let mut end = count;
        let mut low = count;
        for at in (0..count).rev() {
            low = low.min(lows[at] as usize);
            if low == at {
                let window = epoch.windows.len() as u32;
                epoch.windows.push(at as u32..end as u32);
                epoch.window_of[at..end].iter_mut().for_each(|of| *of = window);
                end = at;
                low = at;
            }
        }
    }

    /// Of each addition the first one that is not surely complete before it is made: itself, when all before are.
    fn lows(&mut self, adds: &[Event]) -> Vec<u32> {
        // What once is complete for streams stays so: the first that is not only moves on.
        let mut firsts: HashMap<u32, u32> = HashMap::new();
        let mut by_queue: HashMap<(u32, u32), u32> = HashMap::new();
        let mut lows = Vec::with_capacity(adds.len());
        for (at, add) in adds.iter().enumerate() {
            let streams = self.trace.streams_of(add.node).0;
            let queue = self.queue_of(add.row);
            let before = firsts.entry(streams).or_default();
            let is_open = |first: u32| first < at as u32 && streams != 0;
            while is_open(*before) && {
                let row = adds[*before as usize].row;
                self.steps += 1;
                row == add.node || self.precedes(row, add.node)
            } {
                *before += 1;
            }
            let mut first = *before;
            if queue != NONE {
                let own = by_queue.entry((streams, queue)).or_default();
                *own = first.max(*own);
                while is_open(*own) && {
                    self.steps += 1;
                    self.linked(adds[*own as usize].row, *add)
                } {
                    *own += 1;
                }
                first = *own;
            }
            // All additions of one completion stand together.
            let is_same = adds.get(first as usize).is_some_and(|other| other.row == add.row);
            lows.push(if is_same { at as u32 } else { first });
        }
        lows
    }

    /// The row that is complete when the first additions, up to one, are.
    pub(super) fn prefix(&mut self, epoch: &mut Epoch, last: usize) -> u32 {
        if epoch.chain {
            return epoch.adds[last].row;
        }
        let mut from = last;
        while from > 0 && epoch.prefixes[from] == NONE {
            from -= 1;
        }
        for at in from..=last {
            if epoch.prefixes[at] == NONE {
                let rest = if at == 0 { NONE } else { epoch.prefixes[at - 1] };
                epoch.prefixes[at] = self.prefix_row(epoch.adds[at], rest);
            }
        }
        epoch.prefixes[last]
    }

    fn prefix_row(&mut self, add: Event, rest: u32) -> u32 {
        let row = (self.trace.len() + self.trace.transfers.len() + self.edges.prefixes.len()) as u32;
        self.edges.prefixes.push(Prefix { row: add.row, rest, node: add.node });
        row
    }

    /// The window of an addition.
    pub(super) fn window(&self, epoch: &Epoch, at: usize) -> (u32, Range<usize>) {
        let window = epoch.window_of[at];
        let Range { start, end } = epoch.windows[window as usize];
        (window, start as usize..end as usize)
    }

    /// The additions of a window that do not come after a wait.
    pub(super) fn members(&mut self, epoch: &mut Epoch, window: u32, wait: u32) -> Members {
        let Epoch { adds, windows, lanes, .. } = epoch;
        let range = windows[window as usize].clone();
        let mut members = Members { window, parts: SmallVec::new(), count: 0, sum: 0, least: i64::MAX };
        let lanes = lanes.entry(window).or_insert_with(|| self.lanes(adds, range));
        self.searched += lanes.len() as u64;
        for (of, lane) in lanes.iter().enumerate() {
            let follows = self.follows(wait, lane.key.streams);
            let end = lane.ranks.partition_point(|rank| *rank < follows);
            if end > 0 {
                members.parts.push((of as u32, end as u32));
                members.count += end;
                members.sum += end as i64 * lane.key.value;
                members.least = members.least.min(lane.key.value);
            }
        }
        members
    }

    fn lanes(&self, adds: &[Event], window: Range<u32>) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut places: HashMap<Key, usize> = HashMap::new();
        for at in window {
            let add = adds[at as usize];
            let streams = self.trace.streams_of(add.node).0;
            let (queue, is_transfer) = (self.queue_of(add.row), add.row >= self.trace.len() as u32);
            let key = Key { streams, queue, is_transfer, value: add.value };
            let lane = *places.entry(key).or_insert_with(|| {
                let (at, ranks, prefixes) = (Vec::new(), Vec::new(), Vec::new());
                lanes.push(Lane { key, at, ranks, prefixes });
                lanes.len() - 1
            });
            lanes[lane].at.push(at);
            lanes[lane].ranks.push(self.rank(add.node));
        }
        lanes
    }

    /// What members add that come after a completion, itself not counted unless it is an operation that runs on streams.
    pub(super) fn loss(&mut self, epoch: &Epoch, members: &Members, row: u32) -> i64 {
        let lanes = &epoch.lanes[&members.window];
        let mut loss = 0;
        self.searched += members.parts.len() as u64;
        for (of, end) in &members.parts {
            let (lane, end) = (&lanes[*of as usize], *end as usize);
            // What runs on no stream waits for nothing.
            if lane.key.streams == 0 {
                continue;
            }
            let mut follows = self.follows(row, lane.key.streams);
            if lane.key.queue != NONE {
                follows = follows.min(self.behind_on(lane.key.queue, row));
            }
            let mut first = lane.ranks[..end].partition_point(|rank| *rank < follows);
            if lane.key.queue != NONE && lane.key.queue == self.queue_of(row) {
                first =
                    lane.at[..first].partition_point(|at| !self.is_behind(row, epoch.adds[*at as usize].row));
            }
            loss += (end - first) as i64 * lane.key.value;
        }
        loss
    }

    /// The same with what it adds itself.
    fn whole_loss(&mut self, epoch: &Epoch, members: &Members, at: u32) -> i64 {
        let row = epoch.adds[at as usize].row;
        let loss = self.loss(epoch, members, row);
        let is_node = row < self.trace.len() as u32;
        if is_node && self.trace.streams_of(row).0 != 0 {
            return loss;
        }
        // Those of one completion stand together.
        let Range { start, end } = epoch.windows[members.window as usize];
        let back = (start..at).rev().take_while(|other| epoch.adds[*other as usize].row == row);
        let on = (at..end).take_while(|other| epoch.adds[*other as usize].row == row);
        loss + back.chain(on).map(|other| epoch.adds[other as usize].value).sum::<i64>()
    }

    /// Which members a wait needs that can do without so much of what they add. `direct`: only what is so by what it adds
    /// itself. `before`: what it needed in the round before.
    pub(super) fn needed(
        &mut self,
        epoch: &Epoch,
        members: &Members,
        spare: i64,
        direct: bool,
        before: &mut Before,
    ) -> Needed {
        let lanes = &epoch.lanes[&members.window];
        let mut needed = Needed { parts: SmallVec::new(), all: true, spared: None };
        let mut spare_one = |at: u32| {
            let (first, last) = needed.spared.get_or_insert((at, at));
            (*first, *last) = (at.min(*first), at.max(*last));
        };
        let mut now: SmallVec<[(Key, Vec<u32>); 4]> = SmallVec::new();
        for (of, end) in &members.parts {
            let lane = &lanes[*of as usize];
            let of_lane = &lane.at[..*end as usize];
            let mut lacks = |at: &u32| self.whole_loss(epoch, members, *at) > spare;
            let known = before.of(&lane.key);
            let lacking = match () {
                () if lane.key.value > spare => Lacking::First(of_lane.len()),
                () if direct => Lacking::First(0),
                () if lane.key.is_chain() => {
                    let end = known.and_then(|known| known.first());
                    let end = end.map_or(of_lane.len(), |end| of_lane.partition_point(|at| at < end));
                    let count = first_less(&of_lane[..end], lacks);
                    now.push((lane.key, of_lane.get(count).into_iter().copied().collect()));
                    Lacking::First(count)
                }
                () => {
                    let may_lack = |at: &u32| {
                        known.is_none_or(|known| *at < before.start || known.binary_search(at).is_ok())
                    };
                    let candidates = of_lane.iter().copied().filter(may_lack);
                    let these: Vec<u32> = candidates.filter(|at| lacks(at)).collect();
                    now.push((lane.key, these.clone()));
                    Lacking::These(these)
                }
            };
            match &lacking {
                Lacking::First(count) => {
                    needed.all &= *count == of_lane.len();
                    if let (true, [first, .., last] | [first @ last]) =
                        (lane.key.is_transfer, &of_lane[*count..])
                    {
                        spare_one(*first);
                        spare_one(*last);
                    }
                }
                Lacking::These(these) => {
                    needed.all &= these.len() == of_lane.len();
                    if lane.key.is_transfer {
                        let is_spared = |at: &&u32| these.binary_search(at).is_err();
                        of_lane.iter().find(is_spared).into_iter().for_each(|at| spare_one(*at));
                        of_lane.iter().rev().find(is_spared).into_iter().for_each(|at| spare_one(*at));
                    }
                }
            }
            needed.parts.push(lacking);
        }
        before.lanes = now;
        before.start = epoch.windows[members.window as usize].start;
        needed
    }

    /// Rows that are complete when all that is needed is, of what can run before a wait.
    pub(super) fn rows(
        &mut self,
        epoch: &mut Epoch,
        members: &Members,
        needed: Needed,
        wait: u32,
    ) -> Vec<u32> {
        let Epoch { adds, lanes, .. } = epoch;
        let lanes = lanes.get_mut(&members.window).expect("they were made for the members");
        let mut rows: Vec<(u32, u32)> = Vec::new();
        let own = self.rank(wait);
        for ((of, _), lacking) in members.parts.iter().zip(needed.parts) {
            let lane = &mut lanes[*of as usize];
            let chain = lane.key.is_chain();
            let first = match lacking {
                Lacking::First(count) => {
                    let count = lane.ranks[..count].partition_point(|rank| *rank < own);
                    match count.checked_sub(1) {
                        None => continue,
                        // The last one implies the others.
                        Some(last) if chain => last..last + 1,
                        Some(last) if last >= MAX_SINGLE => {
                            for at in lane.prefixes.len()..=last {
                                let rest = at.checked_sub(1).map_or(NONE, |before| lane.prefixes[before]);
                                let row = self.prefix_row(adds[lane.at[at] as usize], rest);
                                lane.prefixes.push(row);
                            }
                            rows.push((lane.at[last], lane.prefixes[last]));
                            continue;
                        }
                        Some(last) => 0..last + 1,
                    }
                }
                Lacking::These(these) => {
                    let these = these.iter().filter(|at| self.rank(adds[**at as usize].node) < own);
                    rows.extend(these.map(|at| (*at, adds[*at as usize].row)));
                    continue;
                }
            };
            rows.extend(lane.at[first].iter().map(|at| (*at, adds[*at as usize].row)));
        }
        rows.sort_unstable();
        rows.dedup_by_key(|(_, row)| *row);
        rows.into_iter().map(|(_, row)| row).collect()
    }
}
