//! Happens-before by clocks as wide as there are streams (spec: ordering 14.2).
//!
//! For everything that completes (nodes, transfers, and prefixes of what a counter counts) the table holds, for each
//! stream, the first place in it that only starts afterwards. A stream is a chain, so the answer to "does this
//! complete before that starts" is one comparison.

use smallvec::SmallVec;

use crate::program::NONE;
use crate::trace::{Run, Trace};

/// A set of completions that a count implies: those of an earlier prefix and one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    pub(crate) row: u32,
    pub(crate) rest: u32,
    /// The node after which all of them can be complete.
    pub(crate) node: u32,
}

/// Something complete before a node starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) node: u32,
    /// Index of the wait in its operation; [`NONE`] for a drain.
    pub(crate) wait: u32,
    pub(crate) row: u32,
}

/// Edges by node, and the prefixes that they start from. Prefix `i` is row `nodes + transfers + i`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Edges {
    pub(crate) list: Vec<Edge>,
    pub(crate) prefixes: Vec<Prefix>,
}

/// Rows of prefixes for which there is room from the start; there are seldom more at a time.
const MAX_PASSING: usize = 1 << 12;

/// The table. Prefixes have rows only while it is filled, unless it is [`Clocks::whole`].
#[derive(Default)]
pub(crate) struct Clocks {
    width: usize,
    table: Vec<u32>,
}

/// Rows of prefixes: from the last one that waits for it to the first one before it, counted from the end.
struct Rows {
    /// Rows that stand for themselves come before this one.
    real: u32,
    of: Vec<u32>,
    free: Vec<u32>,
}

impl Rows {
    /// The row of a completion in the table.
    fn of(&mut self, row: u32, clocks: &mut Clocks) -> u32 {
        let Some(prefix) = row.checked_sub(self.real) else { return row };
        let of = &mut self.of[prefix as usize];
        if *of == NONE {
            *of = self.free.pop().unwrap_or_else(|| {
                let row = clocks.table.len() / clocks.width;
                clocks.table.resize(clocks.table.len() + clocks.width, NONE);
                row as u32
            });
        }
        *of
    }

    /// The row of a prefix that will not be asked for again, if anything waits for it.
    fn take(&mut self, prefix: u32) -> Option<u32> {
        Some(std::mem::replace(&mut self.of[prefix as usize], NONE)).filter(|row| *row != NONE)
    }
}

/// The order of the transfers of each queue.
pub(crate) struct QueueOrder {
    /// The transfer that comes before each one on its queue; [`NONE`] for the first.
    prev: Vec<u32>,
    /// By queue.
    issues: Vec<Issues>,
}

/// The streams that start transfers of a queue together, and when they do.
type Issues = SmallVec<[(u32, Vec<u32>); 1]>;

impl QueueOrder {
    pub(crate) fn new(trace: &Trace<'_>, run: &Run) -> QueueOrder {
        let queues = trace.program.queues as usize;
        let mut last = vec![NONE; queues];
        let mut order =
            QueueOrder { prev: vec![NONE; trace.transfers.len()], issues: vec![SmallVec::new(); queues] };
        for node in &run.order {
            for transfer in trace.transfers_of(*node) {
                let queue = trace.program.transfers[trace.transfers[transfer as usize].1 as usize].queue;
                if queue == NONE {
                    continue;
                }
                order.prev[transfer as usize] = std::mem::replace(&mut last[queue as usize], transfer);
                let (issues, streams) = (&mut order.issues[queue as usize], trace.streams_of(*node).0);
                let at = issues.iter().position(|(of, _)| *of == streams).unwrap_or_else(|| {
                    issues.push((streams, Vec::new()));
                    issues.len() - 1
                });
                issues[at].1.push(run.rank[*node as usize]);
            }
        }
        order
    }

    /// When the first transfer of a queue is started of those that streams start from some rank on.
    pub(crate) fn first(&self, queue: u32, mut from: impl FnMut(u32) -> u32) -> u32 {
        let firsts = self.issues[queue as usize].iter().filter_map(|(streams, ranks)| {
            let from = from(*streams);
            ranks.get(ranks.partition_point(|rank| *rank < from)).copied()
        });
        firsts.min().unwrap_or(NONE)
    }
}

impl Clocks {
    /// Fills the table. `gone`: nodes that order nothing; streams go on without them.
    pub(crate) fn new(
        trace: &Trace<'_>,
        run: &Run,
        edges: &Edges,
        queues: Option<&QueueOrder>,
        gone: Option<&[bool]>,
    ) -> Clocks {
        let real = (trace.len() + trace.transfers.len()) as u32;
        let rows = Rows { real, of: vec![NONE; edges.prefixes.len()], free: Vec::new() };
        Clocks::fill(trace, run, edges, queues, gone, Some(rows))
    }

    /// The same with rows for prefixes.
    pub(crate) fn whole(trace: &Trace<'_>, run: &Run, edges: &Edges) -> Clocks {
        Clocks::fill(trace, run, edges, None, None, None)
    }

    fn fill(
        trace: &Trace<'_>,
        run: &Run,
        edges: &Edges,
        queues: Option<&QueueOrder>,
        gone: Option<&[bool]>,
        mut passing: Option<Rows>,
    ) -> Clocks {
        let (nodes, transfers) = (trace.len(), trace.transfers.len());
        let width = trace.width();
        let rows = nodes + transfers + if passing.is_some() { 0 } else { edges.prefixes.len() };
        let mut table = Vec::with_capacity((rows + MAX_PASSING.min(edges.prefixes.len())) * width);
        table.resize(rows * width, NONE);
        let mut clocks = Clocks { width, table };
        let by_node = ByNode::new(nodes, &edges.list);
        let mut prefixes = PrefixesByNode::new(nodes, &edges.prefixes);
        let links = gone.map(|gone| Links::new(trace, gone));
        let is_gone = |node: u32| gone.is_some_and(|gone| gone[node as usize]);

        for &node in run.order.iter().rev() {
            while let Some(at) = prefixes.take(node) {
                let prefix = edges.prefixes[at as usize];
                let row = (nodes + transfers) as u32 + at;
                let Some(rows) = &mut passing else {
                    clocks.join(prefix.row, row);
                    if prefix.rest != NONE {
                        clocks.join(prefix.rest, row);
                    }
                    continue;
                };
                let Some(row) = rows.take(at) else { continue };
                clocks.join(prefix.row, row);
                if prefix.rest != NONE {
                    let rest = rows.of(prefix.rest, &mut clocks);
                    clocks.join(rest, row);
                }
                let start = row as usize * width;
                clocks.table[start..start + width].fill(NONE);
                rows.free.push(row);
            }
            for transfer in trace.transfers_of(node).rev() {
                let row = nodes as u32 + transfer;
                if let Some(prev) = queues.map(|q| q.prev[transfer as usize]).filter(|prev| *prev != NONE) {
                    clocks.join(nodes as u32 + prev, row);
                }
                clocks.join(node, row);
            }
            let streams = trace.streams_of(node);
            let rank = run.rank[node as usize];
            if is_gone(node) {
                continue;
            }
            match &links {
                None => trace.before(node, |before| clocks.precede(before, node, streams.0, rank)),
                Some(links) => {
                    for before in links.of(node) {
                        clocks.precede(*before, node, streams.0, rank);
                    }
                }
            }
            for edge in by_node.of(node) {
                let row = passing.as_mut().map_or(edge.row, |rows| rows.of(edge.row, &mut clocks));
                clocks.precede(row, node, streams.0, rank);
            }
        }
        clocks.table.truncate(rows * width);
        clocks
    }

    /// Fills a table that does not take it that an operation is complete before the next of its stream starts: only
    /// that completions of a stream are in order, and that barriers wait for them (spec: ordering 17, 18).
    pub(crate) fn without_program_order(trace: &Trace<'_>, run: &Run, edges: &Edges) -> Clocks {
        let (nodes, transfers) = (trace.len(), trace.transfers.len());
        let width = trace.width();
        let completions = nodes + transfers + edges.prefixes.len();
        let mut clocks = Clocks { width, table: vec![NONE; (completions + nodes) * width] };
        let start_of = |node: u32| completions as u32 + node;
        let by_node = ByNode::new(nodes, &edges.list);
        let mut prefixes = PrefixesByNode::new(nodes, &edges.prefixes);
        for &node in run.order.iter().rev() {
            while let Some(at) = prefixes.take(node) {
                let prefix = edges.prefixes[at as usize];
                let row = (nodes + transfers) as u32 + at;
                clocks.join(prefix.row, row);
                if prefix.rest != NONE {
                    clocks.join(prefix.rest, row);
                }
            }
            let start = start_of(node);
            for transfer in trace.transfers_of(node) {
                clocks.join(start, nodes as u32 + transfer);
            }
            clocks.join(start, node);
            let streams = trace.streams_of(node);
            let rank = run.rank[node as usize];
            let is_barrier = streams.single().is_none();
            trace.before(node, |before| {
                clocks.precede(start_of(before), start, streams.0, rank);
                clocks.join(before, node);
                if is_barrier {
                    clocks.precede(before, start, streams.0, rank);
                }
            });
            for edge in by_node.of(node) {
                clocks.precede(edge.row, start, streams.0, rank);
            }
        }
        clocks
    }

    /// All that comes after row `later` comes after row `row` too.
    fn join(&mut self, row: u32, later: u32) {
        let (row, later) = (row as usize * self.width, later as usize * self.width);
        for stream in 0..self.width {
            self.table[row + stream] = self.table[row + stream].min(self.table[later + stream]);
        }
    }

    /// Row `row` is complete before a node starts.
    fn precede(&mut self, row: u32, node: u32, streams: u32, rank: u32) {
        self.join(row, node);
        let row = row as usize * self.width;
        let mut rest = streams;
        while rest != 0 {
            let entry = &mut self.table[row + rest.trailing_zeros() as usize];
            *entry = (*entry).min(rank);
            rest &= rest - 1;
        }
    }

    /// Whether a row is complete before a node of these streams and that rank starts.
    pub(crate) fn precedes(&self, row: u32, streams: u32, rank: u32) -> bool {
        let row = row as usize * self.width;
        let mut rest = streams;
        while rest != 0 {
            if self.table[row + rest.trailing_zeros() as usize] <= rank {
                return true;
            }
            rest &= rest - 1;
        }
        false
    }

    /// The first rank on a stream that starts after a row; [`NONE`] when none does.
    pub(crate) fn first(&self, row: u32, stream: usize) -> u32 {
        if stream >= self.width {
            return NONE;
        }
        self.table[row as usize * self.width + stream]
    }
}

/// Edges sorted by node.
pub(crate) struct ByNode {
    starts: Vec<u32>,
    list: Vec<Edge>,
}

impl ByNode {
    pub(crate) fn new(nodes: usize, edges: &[Edge]) -> ByNode {
        let mut starts = vec![0u32; nodes + 1];
        edges.iter().for_each(|edge| starts[edge.node as usize] += 1);
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        // From the end of each node's part to its beginning. The edges themselves, not their places: who goes from node to
        // node then finds them side by side.
        let mut list = vec![Edge { node: NONE, wait: NONE, row: NONE }; edges.len()];
        for edge in edges.iter().rev() {
            let start = &mut starts[edge.node as usize];
            *start -= 1;
            list[*start as usize] = *edge;
        }
        ByNode { starts, list }
    }

    pub(crate) fn of(&self, node: u32) -> &[Edge] {
        &self.list[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// The prefixes of each node, the last one first.
struct PrefixesByNode {
    /// By node, and what follows each prefix.
    first: Vec<u32>,
    next: Vec<u32>,
}

impl PrefixesByNode {
    fn new(nodes: usize, prefixes: &[Prefix]) -> PrefixesByNode {
        let mut first = vec![NONE; if prefixes.is_empty() { 0 } else { nodes }];
        let next = prefixes.iter().enumerate();
        let next = next.map(|(at, prefix)| std::mem::replace(&mut first[prefix.node as usize], at as u32));
        let next = next.collect();
        PrefixesByNode { first, next }
    }

    fn take(&mut self, node: u32) -> Option<u32> {
        let first = self.first.get_mut(node as usize)?;
        let at = *first;
        *first = *self.next.get(at as usize)?;
        Some(at)
    }
}

/// What comes right before each node on its streams, without some nodes.
struct Links {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Links {
    fn new(trace: &Trace<'_>, gone: &[bool]) -> Links {
        let mut links = Links { starts: vec![0], list: Vec::new() };
        let mut last = vec![NONE; trace.streams.len()];
        for node in 0..trace.len() as u32 {
            if !gone[node as usize] {
                for stream in trace.streams_of(node).iter() {
                    if last[stream] != NONE {
                        links.list.push(last[stream]);
                    }
                    last[stream] = node;
                }
            }
            links.starts.push(links.list.len() as u32);
        }
        links
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.list[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}
