//! How much is in use at each moment: a sweep over the positions of the program for every group of partitions that
//! are used alike, with a tree over the bytes that counts how many locations cover each.

use super::{BUCKETS, Culprit, LocationUse, MAX_SHARED, Peak, Shared, meet};

/// A location's partitions, bytes and positions. One without a place takes its size, wherever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rect {
    /// Index of the location.
    pub(super) index: usize,
    pub(super) partitions: [u64; 2],
    pub(super) bytes: [u64; 2],
    /// First and last position.
    pub(super) live: [u32; 2],
    pub(super) placed: bool,
}

impl Rect {
    /// The part of it within some bytes.
    pub(super) fn within(&self, bytes: [u64; 2]) -> Option<Rect> {
        let part = [self.bytes[0].max(bytes[0]), self.bytes[1].min(bytes[1])];
        (part[0] < part[1]).then_some(Rect { bytes: part, ..*self })
    }

    fn size(&self) -> u64 {
        self.bytes[1].saturating_sub(self.bytes[0])
    }
}

/// Partitions that the same locations use.
struct Class {
    partitions: [u64; 2],
    peak: u64,
    position: u32,
}

pub(super) struct Swept {
    classes: Vec<Class>,
    rects: Vec<Rect>,
    pub(super) timeline: Vec<u64>,
}

pub(super) fn sweep(rects: &[Rect], partitions: u64, positions: u32) -> Swept {
    let mut cuts: Vec<u64> =
        rects.iter().flat_map(|rect| rect.partitions).map(|at| at.min(partitions)).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let buckets = (positions as usize).min(BUCKETS);
    let mut swept = Swept { classes: Vec::new(), rects: rects.to_vec(), timeline: vec![0; buckets] };
    for cut in cuts.windows(2) {
        let own = [cut[0], cut[1]];
        let members: Vec<&Rect> =
            rects.iter().filter(|rect| meet(rect.partitions, own) && rect.size() > 0).collect();
        if !members.is_empty() {
            let (peak, position) = sweep_class(&members, positions, &mut swept.timeline);
            swept.classes.push(Class { partitions: own, peak, position });
        }
    }
    swept
}

/// The most bytes in use, and the first position at which that is so.
fn sweep_class(members: &[&Rect], positions: u32, timeline: &mut [u64]) -> (u64, u32) {
    let mut edges: Vec<u64> = members.iter().filter(|rect| rect.placed).flat_map(|rect| rect.bytes).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut tree = Cover::new(&edges);
    // What ends comes before what begins at the same position.
    let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * members.len());
    for (at, rect) in members.iter().enumerate() {
        events.push((rect.live[0].into(), true, at));
        events.push((u64::from(rect.live[1]) + 1, false, at));
    }
    events.sort_unstable();
    let (mut peak, mut position, mut loose) = (0, 0, 0u64);
    let mut next = 0;
    while let Some(&(now, ..)) = events.get(next) {
        while let Some(&(when, begins, at)) = events.get(next).filter(|event| event.0 == now) {
            debug_assert_eq!(when, now);
            next += 1;
            let rect = members[at];
            match (rect.placed, begins) {
                (true, _) => {
                    let place = |byte: u64| edges.binary_search(&byte).unwrap_or(0);
                    tree.change(place(rect.bytes[0]), place(rect.bytes[1]), begins);
                }
                (false, true) => loose = loose.saturating_add(rect.size()),
                (false, false) => loose = loose.saturating_sub(rect.size()),
            }
        }
        let used = tree.covered().saturating_add(loose);
        if used > peak {
            (peak, position) = (used, now as u32);
        }
        let until = events.get(next).map_or(u64::from(positions), |event| event.0).min(positions.into());
        let bucket = |at: u64| (at as usize * timeline.len()) / (positions as usize).max(1);
        if now < until {
            let (first, last) = (bucket(now), bucket(until - 1));
            timeline[first..=last].iter_mut().for_each(|most| *most = (*most).max(used));
        }
    }
    (peak, position)
}

/// How many bytes are covered by at least one range, under insertion and removal.
struct Cover<'a> {
    edges: &'a [u64],
    leaves: usize,
    /// Ranges that cover all of a node and not all of its parent.
    count: Vec<u32>,
    /// Bytes below a node that are covered.
    covered: Vec<u64>,
}

impl<'a> Cover<'a> {
    fn new(edges: &'a [u64]) -> Cover<'a> {
        let leaves = edges.len().saturating_sub(1).next_power_of_two();
        Cover { edges, leaves, count: vec![0; 2 * leaves], covered: vec![0; 2 * leaves] }
    }

    fn covered(&self) -> u64 {
        self.covered.get(1).copied().unwrap_or(0)
    }

    /// Adds or takes away the range between two edges.
    fn change(&mut self, from: usize, to: usize, add: bool) {
        if from < to {
            self.update(1, [0, self.leaves], [from, to], add);
        }
    }

    fn update(&mut self, node: usize, own: [usize; 2], range: [usize; 2], add: bool) {
        if range[1] <= own[0] || own[1] <= range[0] {
            return;
        }
        if range[0] <= own[0] && own[1] <= range[1] {
            self.count[node] = if add { self.count[node] + 1 } else { self.count[node].saturating_sub(1) };
        } else {
            let middle = (own[0] + own[1]) / 2;
            self.update(2 * node, [own[0], middle], range, add);
            self.update(2 * node + 1, [middle, own[1]], range, add);
        }
        let edge = |at: usize| self.edges.get(at).or(self.edges.last()).copied().unwrap_or(0);
        self.covered[node] = if self.count[node] > 0 {
            edge(own[1]) - edge(own[0])
        } else if own[1] - own[0] > 1 {
            self.covered[2 * node] + self.covered[2 * node + 1]
        } else {
            0
        };
    }
}

impl Swept {
    /// The worst moment of all partitions, with the bytes that are free then up to the end of what can be used.
    pub(super) fn peak(&self, usable: Option<u64>) -> Peak {
        let worst = self.classes.iter().min_by_key(|class| (std::cmp::Reverse(class.peak), class.partitions));
        let Some(worst) = worst.filter(|class| class.peak > 0) else {
            let free: Vec<[u64; 2]> = usable.map(|usable| [0, usable]).into_iter().collect();
            return Peak { largest_free: usable.unwrap_or(0), free, ..Peak::default() };
        };
        let mut partitions = worst.partitions;
        for class in &self.classes {
            let alike = class.peak == worst.peak && class.position == worst.position;
            if alike && class.partitions[0] == partitions[1] {
                partitions[1] = class.partitions[1];
            }
        }
        let mut used: Vec<[u64; 2]> = self
            .live(worst.position, worst.partitions)
            .filter(|rect| rect.placed)
            .map(|rect| rect.bytes)
            .collect();
        used.sort_unstable();
        let mut free = Vec::new();
        let mut end = 0;
        for bytes in used {
            let start = usable.map_or(bytes[0], |usable| bytes[0].min(usable));
            if start > end {
                free.push([end, start]);
            }
            end = end.max(bytes[1]);
        }
        if let Some(usable) = usable.filter(|usable| *usable > end) {
            free.push([end, usable]);
        }
        let largest_free = free.iter().map(|[a, b]| b - a).max().unwrap_or(0);
        Peak { bytes: worst.peak, position: worst.position, at: None, partitions, free, largest_free }
    }

    fn live(&self, position: u32, partitions: [u64; 2]) -> impl Iterator<Item = &Rect> {
        self.rects.iter().filter(move |rect| {
            rect.live[0] <= position && position <= rect.live[1] && meet(rect.partitions, partitions)
        })
    }

    /// The worst moment of some partitions.
    pub(super) fn peak_of(&self, partitions: [u64; 2]) -> (u64, u32) {
        let here = self.classes.iter().filter(|class| meet(class.partitions, partitions));
        let worst = here.min_by_key(|class| (std::cmp::Reverse(class.peak), class.position));
        worst.map_or((0, 0), |class| (class.peak, class.position))
    }

    /// What is live at the worst moment in the fullest partition, largest first.
    pub(super) fn culprits(&self, peak: &Peak, locations: &[LocationUse]) -> Vec<Culprit> {
        /// More names do not help.
        const MOST: usize = 20;
        let first = [peak.partitions[0], peak.partitions[0] + 1];
        let mut live: Vec<&Rect> = self.live(peak.position, first).collect();
        live.sort_by_key(|rect| (std::cmp::Reverse(rect.size()), rect.index));
        let culprit = |rect: &&Rect| {
            let location = &locations[rect.index];
            Culprit {
                location: location.name.clone(),
                bytes: rect.size(),
                live: rect.live,
                first: location.first.clone(),
                last: location.last.clone(),
            }
        };
        live.iter().take(MOST).map(culprit).collect()
    }
}

/// Pairs of placed locations that are live at the same time in the same bytes. Where one ends at the instruction at
/// which the other begins, the instruction works in place.
pub(super) fn shared(rects: &[Rect], locations: &[LocationUse], class: &[Option<usize>]) -> Vec<Shared> {
    /// Locations are looked up by the stretches of bytes that they are in.
    const STRETCHES: u64 = 1024;
    let end = rects.iter().filter(|rect| rect.placed).map(|rect| rect.bytes[1]).max().unwrap_or(0);
    let width = end.div_ceil(STRETCHES).max(1);
    let mut order: Vec<&Rect> = rects.iter().filter(|rect| rect.placed && rect.size() > 0).collect();
    order.sort_by_key(|rect| (rect.live, rect.index));
    let mut stretches: Vec<Vec<&Rect>> = vec![Vec::new(); STRETCHES as usize + 1];
    let mut found: Vec<Shared> = Vec::new();
    for rect in order {
        for stretch in rect.bytes[0] / width..=(rect.bytes[1] - 1) / width {
            let active = &mut stretches[stretch as usize];
            active.retain(|other| other.live[1] > rect.live[0]);
            for other in active.iter() {
                let bytes = [other.bytes[0].max(rect.bytes[0]), other.bytes[1].min(rect.bytes[1])];
                // Each pair is found where its first common byte is.
                if bytes[0] >= bytes[1]
                    || bytes[0] / width != stretch
                    || !meet(other.partitions, rect.partitions)
                {
                    continue;
                }
                if class[other.index].is_some() && class[other.index] == class[rect.index] {
                    continue;
                }
                let partitions = [
                    other.partitions[0].max(rect.partitions[0]),
                    other.partitions[1].min(rect.partitions[1]),
                ];
                let live = [rect.live[0], other.live[1].min(rect.live[1])];
                let name = |rect: &Rect| locations[rect.index].name.clone();
                found.push(Shared { first: name(other), second: name(rect), partitions, bytes, live });
                if found.len() == MAX_SHARED {
                    return found;
                }
            }
            active.push(rect);
        }
    }
    found
}
