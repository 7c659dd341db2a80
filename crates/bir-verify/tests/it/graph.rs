//! MOD-04 to MOD-07, DEP.

use bir::builder::{Builder, NewTensor, Tensor};
use bir::edges::{Edge, EdgeKind};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType};
use bir::ids::InstId;

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case(
        "MOD-04",
        |b| {
            let name = b.name("Teleport");
            b.plain_inst("t", EngineType::DVE, InstructionType::Other(name));
        },
        |b| chain(b, &[]),
    ),
    case("MOD-05", |b| twins(b, "x"), |b| twins(b, "y")),
    case(
        "MOD-06",
        |b| {
            chain(b, &[]);
            let inst = last(b);
            b.module()[inst].dependencies.insert(Edge::new(inst, EdgeKind::FLOW));
        },
        |b| chain(b, &[(1, 0)]),
    ),
    case(
        "MOD-06",
        |b| {
            chain(b, &[]);
            let inst = last(b);
            let first = first(b);
            b.module()[inst].dependencies.insert(Edge::new(first, EdgeKind::INVALID));
        },
        |b| chain(b, &[(2, 1)]),
    ),
    case(
        "MOD-07",
        |b| {
            chain(b, &[]);
            let inst = last(b);
            b.edit(inst).schedule(20, 10);
        },
        |b| {
            chain(b, &[]);
            let inst = last(b);
            b.edit(inst).schedule(10, 20);
        },
    ),
    case("DOC-02", |b| moved(b, "j"), |b| moved(b, "i")),
    case("DEP-02", |b| chain(b, &[(1, 0), (2, 1), (0, 2)]), |b| chain(b, &[(1, 0), (2, 1), (2, 0)])),
    // An engine does not run what stands behind.
    case("DEP-02", |b| chain(b, &[(0, 2)]), |b| chain(b, &[(2, 0)])),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

fn first(b: &mut Builder<'_>) -> InstId {
    let block = b.block();
    b.module()[block].instructions[0]
}

fn last(b: &mut Builder<'_>) -> InstId {
    let block = b.block();
    *b.module()[block].instructions.last().expect("there are some")
}

fn tile(b: &mut Builder<'_>, name: &str, addr: u64) -> Tensor {
    b.tensor(NewTensor::sb(name, [128, 16], Dtype::Float32).at(addr))
}

/// A copy whose rows a loop moves.
fn moved(b: &mut Builder<'_>, axis: &str) {
    let (x, y) = (tile(b, "x", 0), tile(b, "y", 64));
    let axis = b.name(axis);
    b.for_loop("l", "i", 0..3, 1, |b, _| {
        let (row, zero) = (b.axis(axis, 32, 0), b.constant(0));
        b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy)
            .input(x.tile(0..32, ..))
            .output(y.tile(0..32, ..).symbolic([row, zero]));
    });
}

/// Three copies through one tile, with flow dependencies.
fn chain(b: &mut Builder<'_>, edges: &[(usize, usize)]) {
    let (x, y) = (tile(b, "x", 0), tile(b, "y", 64));
    let copies = [("a", x, y), ("b", y, x), ("c", x, y)];
    let ids = copies.map(|(name, from, to)| {
        b.plain_inst(name, EngineType::DVE, InstructionType::TensorCopy).input(from).output(to).id()
    });
    for (of, on) in edges {
        b.module().depend(ids[*of], ids[*on], EdgeKind::FLOW).unwrap();
    }
}

fn twins(b: &mut Builder<'_>, second: &str) {
    tile(b, "x", 0);
    let twin = tile(b, "other", 64);
    b.module().rename(twin.location, second);
}
