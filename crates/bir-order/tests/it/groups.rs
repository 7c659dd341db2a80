//! Accumulation groups in parts of PSUM that move with loops.

use bir::geometry::lattice::ByteLattice;
use bir::geometry::on_chip::{Partitions, Piece};
use bir_order::program::*;
use bir_order::{Options, check};

const TRIPS: u32 = 4;

/// One loop after the other, each with one matmul on a part that moves: by how many parts it starts further on, and whether
/// it starts and stops the group.
fn found(loops: &[(i64, bool, bool)]) -> Vec<&'static str> {
    let mut program = Program::new();
    let (pe, dve) = (program.add_stream(0), program.add_stream(0));
    let psum = program.add_space();
    let piece = |from: i64, count: u64| {
        let bytes = ByteLattice::run(from * 64, count * 64).unwrap();
        Piece { partitions: Partitions(0xf), bytes }
    };
    let set = |piece, exact, moves| {
        let pieces = [piece].into_iter().collect();
        Bytes { space: psum, pieces, exact, alias: None, moves }
    };
    let done = program.add_counter();
    for (from, start, stop) in loops {
        let block = program.begin_block(0);
        let parts = (0..i64::from(TRIPS)).map(|at| set(piece(from + at, 1), true, None));
        let moves = program.moves(&[(block, TRIPS)], parts);
        let bytes = program.bytes(set(piece(*from, TRIPS.into()), false, Some(moves)));
        let group = Some(GroupPart { start: *start, stop: *stop });
        let effect = Effect { reads: !start, writes: true, group };
        program.push(&NewOp {
            name: None,
            streams: Streams::one(pe),
            kind: Kind::Plain,
            waits: &[],
            updates: &[Update { counter: done, change: Change::Add(1) }],
            accesses: &[Access { bytes, effect }],
            value: 0,
        });
        program.end_block(Exit { next: [block, BlockId(block.0 + 1)].into_iter().collect() });
        program.set_trips(block, block, TRIPS.into());
    }
    program.begin_block(0);
    let all = program.bytes(set(piece(0, TRIPS.into()), true, None));
    let need = Need::AtLeast(i64::from(TRIPS) * loops.len() as i64);
    program.push(&NewOp {
        name: None,
        streams: Streams::one(dve),
        kind: Kind::Plain,
        waits: &[Wait { counter: done, need, from: None }],
        updates: &[],
        accesses: &[Access { bytes: all, effect: Effect::READ }],
        value: 0,
    });
    program.end_block(Exit::default());
    let outcome = check(&program, &Options::default());
    outcome.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn each_part_has_a_group_of_its_own() {
    assert_eq!(found(&[(0, true, true)]), [""; 0]);
    assert_eq!(found(&[(0, true, false), (0, false, true)]), [""; 0]);
    // The last part was not started, and the first one is not stopped when it is read.
    assert_eq!(found(&[(0, true, false), (1, false, true)]), ["ORD022"; 2]);
    assert_eq!(found(&[(0, true, false)]), ["ORD022"]);
    assert_eq!(found(&[(0, false, true)]), ["ORD022"]);
}
