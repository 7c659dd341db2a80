//! The sample is checked from its own operands, waits and updates, not from how it was scheduled.

use std::collections::BTreeMap;

use super::*;
use crate::argument::Argument;
use crate::edges::EdgeKind;
use crate::enums::MemoryType;
use crate::geometry::lattice::{ByteLattice, Overlap, overlap};
use crate::geometry::on_chip::{OnChip, on_chip_pieces};
use crate::ids::{Id, InstId, LocId};
use crate::inst::OperandList;
use crate::op_info::OpInfo;
use crate::operands::Operands;

const SIZES: [Tiles; 6] = [
    Tiles { rows: 1, depth: 1, columns: 1 },
    Tiles { rows: 2, depth: 4, columns: 1 },
    Tiles { rows: 3, depth: 2, columns: 4 },
    Tiles { rows: 5, depth: 3, columns: 2 },
    Tiles { rows: 2, depth: 20, columns: 1 },
    Tiles { rows: 9, depth: 5, columns: 3 },
];

/// An access of an instruction, or of a triggered transfer.
struct Touch {
    location: LocId,
    place: Place,
    writes: bool,
}

enum Place {
    OnChip(OnChip),
    Dram(ByteLattice),
}

/// An instruction with what it touches, and where it starts and completes.
struct Node {
    id: InstId,
    touches: Vec<Touch>,
    engine: EngineType,
    is_dma: bool,
    waits: Vec<(u32, u32)>,
    updates: Vec<(u32, u32)>,
}

fn touches(m: &Module, id: InstId) -> Vec<Touch> {
    let inst = &m[id];
    let reads = inst.ins.iter().map(|arg| (arg, false));
    // A matmul without the start bit reads what it adds to.
    let adds = matches!(&inst.op, Op::Matmult(op) if op.accumulation_flag.value().unwrap() & 1 == 0);
    let reads_of_outs = inst.outs.iter().filter(|_| adds).map(|arg| (arg, false));
    let all = reads.chain(reads_of_outs).chain(inst.outs.iter().map(|arg| (arg, true)));
    all.filter_map(|(arg, writes)| {
        let Argument::PhysicalAp(ap) = arg else { return None };
        let location = ap.memref.unwrap().id().unwrap();
        let size = u64::from(ap.dtype.unwrap().size_bytes().unwrap());
        let pairs: Vec<(i64, u64)> =
            ap.ap.as_ref().unwrap().iter().map(|pair| (pair.step, pair.num as u64)).collect();
        let place = match m[location].r#type {
            MemoryType::DRAM => {
                let bytes = pairs.iter().map(|(step, num)| (step * size as i64, *num));
                let base = m[location].addr + ap.offset * size;
                Place::Dram(ByteLattice::new(base as i64, bytes, size).unwrap())
            }
            _ => {
                let pitch = m[location].bytes().unwrap() / size;
                let (base, addr) = (m[location].base.into(), m[location].addr as i64);
                let pieces = on_chip_pieces(pitch, size, base, addr, ap.offset as i64, &pairs);
                assert!(pieces.exact && !pieces.out_of_range, "{}", m.str(m[location].name));
                Place::OnChip(pieces)
            }
        };
        Some(Touch { location, place, writes })
    })
    .collect()
}

fn meet(m: &Module, a: &Touch, b: &Touch) -> bool {
    let space = |t: &Touch| (m[t.location].r#type, m[t.location].bank);
    if space(a) != space(b) {
        return false;
    }
    match (&a.place, &b.place) {
        (Place::Dram(x), Place::Dram(y)) => overlap(x, y, 10_000) != Overlap::No,
        (Place::OnChip(x), Place::OnChip(y)) => {
            x.pieces.iter().any(|p| y.pieces.iter().any(|q| p.overlap(q, 10_000) != Overlap::No))
        }
        _ => unreachable!("one space is one kind of memory"),
    }
}

fn nodes(m: &Module) -> Vec<Node> {
    let function = m.main().unwrap();
    let block = m[function].blocks[0];
    let node = |id: InstId| {
        let inst = &m[id];
        let (mut touches, mut completion) = (touches(m, id), id);
        if let Op::DMATrigger(op) = &inst.op {
            completion = op.dma_blocks[0].id().unwrap();
            let descriptors = m.insts_of(crate::Holder::Inst(completion));
            touches.extend(descriptors.flat_map(|id| self::touches(m, id)));
        }
        let waits = inst.sync_info.iter().flat_map(|sync| &sync.on_wait);
        let updates = m[completion].sync_info.iter().flat_map(|sync| &sync.on_update);
        Node {
            id,
            touches,
            engine: inst.engine,
            is_dma: matches!(inst.op, Op::DMATrigger(_) | Op::DMACopy(_)),
            waits: waits.map(|wait| (wait.id.unwrap(), wait.wait_value.unwrap())).collect(),
            updates: updates.map(|update| (update.id.unwrap(), update.update_value.unwrap())).collect(),
        }
    };
    m[block].instructions.into_iter().map(node).collect()
}

/// For each node, the nodes that are complete before it starts. An engine instruction is complete before the next
/// one of its engine starts only where `trust_order`; between PE instructions always.
fn before(nodes: &[Node], trust_order: bool) -> Vec<Vec<bool>> {
    // Which nodes bring each semaphore to each count.
    let mut counts: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        for (id, value) in &node.updates {
            let list = counts.entry(*id).or_default();
            let sum = list.last().map_or(0, |(sum, _)| *sum) + value;
            list.push((sum, i));
        }
    }
    let mut complete: Vec<Vec<bool>> = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let mut mine = vec![false; nodes.len()];
        let join = |mine: &mut Vec<bool>, other: &[bool]| {
            mine.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
        };
        // The stream: what was known at an earlier start on the engine is known.
        for (j, earlier) in nodes[..i].iter().enumerate().filter(|(_, n)| n.engine == node.engine) {
            join(&mut mine, &complete[j]);
            let in_order = trust_order || node.engine == EngineType::PE;
            mine[j] |= in_order && !earlier.is_dma;
        }
        for (id, value) in &node.waits {
            let list = &counts[id];
            let reached = list.iter().position(|(sum, _)| sum >= value).expect("the count is reached");
            for (_, producer) in &list[..=reached] {
                assert!(*producer < i, "a wait on what comes later");
                mine[*producer] = true;
                let known = complete[*producer].clone();
                join(&mut mine, &known);
            }
        }
        complete.push(mine);
    }
    complete
}

#[test]
fn every_conflict_is_ordered_by_waits() {
    for size in SIZES {
        let m = matmul_softmax(&size);
        let nodes = nodes(&m);
        let known = before(&nodes, false);
        let mut pairs = 0;
        for (i, later) in nodes.iter().enumerate() {
            for (j, earlier) in nodes[..i].iter().enumerate() {
                let conflict = later.touches.iter().any(|a| {
                    let mut others = earlier.touches.iter();
                    others.any(|b| (a.writes || b.writes) && meet(&m, a, b))
                });
                pairs += usize::from(conflict);
                let names = || (m.str(m[earlier.id].name), m.str(m[later.id].name));
                assert!(!conflict || known[i][j], "{size:?}: {:?} are not ordered", names());
            }
        }
        assert!(pairs > 10);
    }
}

/// Dependencies are exactly the conflicts with the last write and the reads since.
#[test]
fn every_dependency_is_a_conflict_and_every_flow_is_listed() {
    let m = matmul_softmax(&Tiles { rows: 3, depth: 2, columns: 2 });
    let nodes = nodes(&m);
    let at = |id: InstId| {
        let id = match &m[id].op {
            Op::DMABlock(op) => op.dma_trigger.unwrap().id().unwrap(),
            _ => id,
        };
        nodes.iter().position(|node| node.id == id).unwrap()
    };
    for (i, node) in nodes.iter().enumerate() {
        let edges: Vec<(usize, EdgeKind)> =
            m[node.id].dependencies.iter().map(|e| (at(e.target()), e.kind())).collect();
        for (j, kind) in &edges {
            let shares = |earlier: bool, later: bool| {
                let mut mine = node.touches.iter().filter(|t| t.writes == later);
                mine.any(|a| nodes[*j].touches.iter().any(|b| b.writes == earlier && meet(&m, a, b)))
            };
            let conflict = match *kind {
                EdgeKind::FLOW => shares(true, false),
                EdgeKind::ANTI => shares(false, true),
                _ => shares(true, true),
            };
            assert!(conflict, "{} on {}", m.str(m[node.id].name), m.str(m[nodes[*j].id].name));
        }
        // The last writer of each byte that is read.
        for read in node.touches.iter().filter(|t| !t.writes) {
            let mut writers = nodes[..i].iter().enumerate().rev();
            let last = writers
                .find(|(_, n)| n.touches.iter().any(|t| t.writes && meet(&m, t, read)))
                .map(|(j, _)| j);
            let listed = |j| edges.iter().any(|(on, kind)| *on == j && *kind != EdgeKind::ANTI);
            assert!(last.is_none_or(listed), "{} lacks a dependency", m.str(m[node.id].name));
        }
    }
}

/// Removing any one wait leaves a conflict unordered, or two transfers of one semaphore in flight.
#[test]
fn no_wait_is_superfluous() {
    let m = matmul_softmax(&Tiles { rows: 3, depth: 8, columns: 2 });
    let all = nodes(&m);
    let transfers_in_flight = |known: &[Vec<bool>]| {
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        all.iter().enumerate().filter(|(_, node)| node.is_dma).any(|(i, node)| {
            let before = last.insert(node.updates[0].0, i);
            before.is_some_and(|before| !known[i][before])
        })
    };
    let conflict = |known: &[Vec<bool>]| {
        (0..all.len()).any(|i| {
            (0..i).any(|j| {
                !known[i][j]
                    && all[i]
                        .touches
                        .iter()
                        .any(|a| all[j].touches.iter().any(|b| (a.writes || b.writes) && meet(&m, a, b)))
            })
        })
    };
    let known = before(&all, false);
    assert!(!conflict(&known) && !transfers_in_flight(&known));
    let mut checked = 0;
    for i in 0..all.len() - 1 {
        for wait in 0..all[i].waits.len() {
            let mut fewer = nodes(&m);
            // The end waits for every transfer; that is not about conflicts.
            if m.str(m[all[i].id].name).starts_with("final") {
                continue;
            }
            // Nor is the wait for the previous transfer of a semaphore, which is always written.
            let mut carried = all[i..].iter().filter(|node| node.engine == all[i].engine);
            let owner = carried.find(|node| !matches!(m[node.id].op, Op::EventSemaphore)).unwrap();
            if owner.updates.iter().any(|(id, _)| *id == all[i].waits[wait].0 && owner.is_dma) {
                continue;
            }
            fewer[i].waits.remove(wait);
            let known = before(&fewer, false);
            let name = m.str(m[all[i].id].name);
            assert!(conflict(&known) || transfers_in_flight(&known), "{name} needs no wait {wait}");
            checked += 1;
        }
    }
    assert!(checked > 20);
}

#[test]
fn locations_lie_in_memory_and_apart() {
    for size in SIZES {
        let m = matmul_softmax(&size);
        let function = m.main().unwrap();
        let all: Vec<LocId> = m.locations_of(function).collect();
        let mut banks = Vec::new();
        let mut ranges: BTreeMap<MemoryType, Vec<(u64, u64)>> = BTreeMap::new();
        for id in all {
            let location = &m[id];
            assert!(location.is_placed());
            if location.r#type == MemoryType::PSUM {
                assert_eq!((location.bytes(), location.addr), (Some(2048), 0));
                banks.push(location.bank);
                continue;
            }
            let end = location.addr + location.bytes().unwrap();
            assert!(location.r#type != MemoryType::SB || location.addr >= SB_START && end <= SB_END);
            ranges.entry(location.r#type).or_default().push((location.addr, end));
        }
        for ranges in ranges.values_mut() {
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
        banks.sort_unstable();
        assert!(
            banks.windows(2).all(|pair| pair[0] < pair[1]) && banks.iter().all(|bank| (0..8).contains(bank))
        );
    }
}

#[test]
fn accumulation_groups_start_and_stop_once() {
    let m = matmul_softmax(&Tiles { rows: 2, depth: 4, columns: 2 });
    let flags = m.insts().filter_map(|id| match &m[id].op {
        Op::Matmult(op) => op.accumulation_flag.value(),
        _ => None,
    });
    assert_eq!(flags.collect::<Vec<_>>(), [[1, 1, 0, 0, 0, 0, 2, 2]; 2].concat());
}

#[test]
fn debug_records_point_to_the_operation() {
    let m = matmul_softmax(&Tiles::default());
    let lines: Vec<&str> = MATMUL_SOFTMAX_SOURCE.lines().collect();
    for id in m.insts() {
        if let Op::DMADescriptorCopy(_) = m[id].op {
            continue;
        }
        let debug = m[id].debug.as_ref().unwrap();
        let line = lines[debug.lineno.unwrap() as usize - 1];
        assert!(line.contains(m.str(debug.op_name.unwrap())), "{line}");
    }
}

/// An instruction carries one wait and one update, EventSemaphore two and one. spec: verify, SYNC-05
#[test]
fn waits_fit_the_words() {
    for size in SIZES {
        let m = matmul_softmax(&size);
        for id in m.insts() {
            let Some(sync) = &m[id].sync_info else { continue };
            let most = if matches!(m[id].op, Op::EventSemaphore) { 2 } else { 1 };
            assert!(sync.on_wait.len() <= most && sync.on_update.len() <= 1);
            let semaphores = sync.on_wait.iter().map(|wait| wait.id.unwrap());
            assert!(
                semaphores
                    .chain(sync.on_update.iter().map(|u| u.id.unwrap()))
                    .all(|id| (3..256).contains(&id))
            );
            for wait in &sync.on_wait {
                let from = wait.from.unwrap();
                assert!(m.insts().any(|id| m[id].name == from));
            }
        }
    }
}

#[test]
fn ids_are_in_document_order() {
    let m = matmul_softmax(&Tiles::default());
    let main: Vec<usize> = m.insts_of(crate::Holder::Function(m.main().unwrap())).map(Id::index).collect();
    assert!(main.is_sorted());
}

/// Counts, kinds, memories, types and engines are those of the tables; what the encoder needs is there.
#[test]
fn operands_and_engines_are_legal() {
    let m = matmul_softmax(&Tiles { rows: 2, depth: 2, columns: 2 });
    for id in m.insts() {
        let (inst, name) = (&m[id], m.str(m[id].name));
        let operands = Operands::of(inst.opcode()).unwrap();
        let counts = [(OperandList::Ins, inst.ins.len()), (OperandList::Outs, inst.outs.len())];
        for (list, count) in counts {
            assert!(
                operands.count(list).is_some_and(|bounds| bounds.accepts(count)),
                "{name}: {count} {list:?}"
            );
        }
        assert!(operands.ins_encoder.is_none_or(|needed| inst.ins.len() >= needed as usize), "{name}");
        for (list, index, operand) in inst.operands() {
            let slot = operands.slot_of(inst, list, index).unwrap();
            assert!(slot.accepts_kind(operand), "{name}: {list:?} {index}");
            assert!(slot.accepts_dtype(operand.dtype().unwrap()), "{name}: {list:?} {index}");
            let Some(location) = operand.location().and_then(|r| r.id()) else { continue };
            assert!(slot.accepts_memory(m[location].r#type), "{name}: {list:?} {index}");
        }
        let engines = OpInfo::of(inst.opcode()).unwrap().engines;
        assert!(engines.is_none_or(|engines| engines.value.contains(&inst.engine)), "{name}");
    }
}
