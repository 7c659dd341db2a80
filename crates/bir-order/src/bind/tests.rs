//! How the work of binding grows where additions are out of order among each other.

use super::{Limits, Mode, order_within};
use crate::logs::Logs;
use crate::loops;
use crate::program::{
    Change, CounterId, Exit, Kind, Need, NewOp, NewTransfer, Program, QueueId, StreamId, Streams, Update,
    Wait,
};
use crate::trace::{self, Trace};

/// What the operations of a test program are like.
#[derive(Clone, Copy)]
struct Shape {
    /// One of so many operations starts a transfer.
    transfers: usize,
    /// One of so many operations waits.
    waits: usize,
    /// How much less than what is there a wait is for.
    spare: i64,
    /// One of so many operations takes something away.
    takes: usize,
    /// One of so many operations of a stream of its own begins a count anew.
    resets: usize,
}

const PLAIN: Shape = Shape { transfers: 0, waits: 0, spare: 0, takes: 0, resets: 0 };

/// Operations of four streams, in turn, that update one counter of two.
fn program(count: usize, shape: Shape) -> Program {
    let mut program = Program::new();
    let streams: Vec<StreamId> = (0..5).map(|_| program.add_stream(0)).collect();
    let counters: Vec<CounterId> = (0..2).map(|_| program.add_counter()).collect();
    let queues: Vec<QueueId> = (0..4).map(|_| program.add_queue()).collect();
    let mut counts = [0i64; 2];
    let every = |of: usize, at: usize| of > 0 && at % of == of - 1;
    program.begin_block(0);
    for at in 0..count {
        let of = at % 4;
        let counter = at / 3 % 2;
        let is_transfer = every(shape.transfers, at);
        let is_reset = every(shape.resets, at);
        let mut wait = Vec::new();
        if every(shape.waits, at) && counts[1 - counter] > shape.spare {
            let need = Need::AtLeast(counts[1 - counter] - shape.spare);
            wait.push(Wait { counter: counters[1 - counter], need, from: None });
        }
        let by = if every(shape.takes, at) { -1 } else { 1 };
        counts[counter] += by;
        let update = [Update { counter: counters[counter], change: Change::Add(by) }];
        program.push(&NewOp {
            name: None,
            streams: Streams::one(streams[if is_reset { 4 } else { of }]),
            kind: if is_reset { Kind::Reset(&counters[..1]) } else { Kind::Plain },
            waits: &wait,
            updates: if is_transfer { &[] } else { &update },
            accesses: &[],
            value: 0,
        });
        if is_transfer {
            let queue = Some(queues[of]);
            program.push_transfer(&NewTransfer { name: None, queue, accesses: &[], updates: &update });
        }
    }
    program.end_block(Exit::default());
    program
}

/// Steps and edges of a program, and whether there was too much to look at.
fn work(count: usize, shape: Shape, queues: bool, max_search: u64) -> (u64, bool) {
    let program = program(count, shape);
    let walk = loops::straight(&program, &[]).0.remove(0);
    let trace = Trace::new(&program, walk);
    let run = trace::run(&trace);
    let logs = Logs::new(&trace, &run);
    let mode = Mode { queues, hopeful: false };
    let limits = Limits { search: max_search, rounds: u64::MAX };
    let (order, work) = order_within(&trace, &run, &logs, mode, limits);
    let made = order.edges.list.len() + order.edges.prefixes.len() + order.reset_races.len();
    (work + made as u64, !order.open.is_empty())
}

#[test]
fn work_grows_with_the_program() {
    let shapes = [
        Shape { waits: 100, ..PLAIN },
        Shape { waits: 2, ..PLAIN },
        Shape { waits: 2, spare: 3, ..PLAIN },
        Shape { waits: 50, spare: 40, ..PLAIN },
        Shape { waits: 3, takes: 5, ..PLAIN },
        Shape { waits: 3, resets: 7, ..PLAIN },
        Shape { waits: 3, resets: 7, transfers: 2, ..PLAIN },
    ];
    for (at, shape) in shapes.into_iter().enumerate() {
        for queues in [false, true] {
            let (small, _) = work(500, shape, queues, u64::MAX);
            let (large, _) = work(2000, shape, queues, u64::MAX);
            // Four times as much, and what is searched by halves, and one or two rounds more.
            assert!(small > 0 && large <= small * 8 + 1_000, "shape {at}: {small} and {large}");
        }
    }
}

#[test]
fn work_has_a_limit() {
    let shape = Shape { waits: 2, spare: 3, transfers: 1, ..PLAIN };
    let (all, is_open) = work(2000, shape, false, u64::MAX);
    assert!(all > 1_000_000 && !is_open, "{all}");
    let (some, is_open) = work(2000, shape, false, 10_000);
    assert!(some < 200_000 && is_open, "{some}");
}
