//! What `show` and `mem` say, against a count of every byte of every partition.

use std::collections::BTreeMap;

use bir::builder::{Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype, EngineType, MemoryType};
use bir::ids::{Id, InstId, LocId};
use bir::operands::access_of;
use bir::ops::TensorCopy;
use bir::{Argument, Holder, Module, Op};
use bir_view::find::Subject;
use bir_view::mem::mem;
use bir_view::show::{ShowOptions, Shown, show};
use proptest::prelude::*;
use xtask::gen_module::Target;

use crate::parse;

/// Space (SB is 0, PSUM 1, a DRAM location its own), partition, first byte, and the byte behind the last.
type Run = (usize, u64, u64, u64);

/// Every byte that an operand touches, element by element, as ascending runs that do not touch.
fn bytes_of(module: &Module, argument: &Argument) -> Vec<Run> {
    let Argument::PhysicalAp(arg) = argument else { return Vec::new() };
    let loc = arg.memref.unwrap().id().unwrap();
    let location = &module[loc];
    let size = u64::from(arg.dtype.unwrap().size_bytes().unwrap());
    let mut elements = vec![arg.offset as i64];
    for pair in arg.ap.as_ref().unwrap().iter() {
        elements = elements.iter().flat_map(|e| (0..pair.num).map(move |k| e + k * pair.step)).collect();
    }
    let mut runs: Vec<Run> = Vec::new();
    for element in elements {
        let element = u64::try_from(element).unwrap();
        let (space, partition, first) = match location.r#type {
            MemoryType::SB | MemoryType::PSUM => {
                let pitch = location.dims.as_ref().unwrap().get(1).unwrap() / size;
                let start = location.addr + location.bank.unsigned_abs() * 2048;
                let space = usize::from(location.r#type == MemoryType::PSUM);
                (space, u64::from(location.base) + element / pitch, start + element % pitch * size)
            }
            _ => (2 + loc.index(), 0, element * size),
        };
        match runs.last_mut() {
            Some(last) if (last.0, last.1, last.3) == (space, partition, first) => last.3 += size,
            _ => runs.push((space, partition, first, first + size)),
        }
    }
    runs.sort_unstable();
    runs
}

fn is_disjoint(a: &[Run], b: &[Run]) -> bool {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        if (x.0, x.1) == (y.0, y.1) && x.2 < y.3 && y.2 < x.3 {
            return false;
        }
        if (x.0, x.1, x.3) < (y.0, y.1, y.3) {
            a.next()
        } else {
            b.next()
        };
    }
    true
}

/// Instructions of functions in order; each trigger is followed by its descriptors, which are called by their block.
fn touchers(module: &Module) -> Vec<(usize, InstId, InstId)> {
    let mut all = Vec::new();
    let functions: Vec<InstId> =
        module.functions().flat_map(|f| module.insts_of(Holder::Function(f))).collect();
    for (at, inst) in functions.into_iter().enumerate() {
        all.push((at, inst, inst));
        if let Op::DMATrigger(op) = &module[inst].op {
            for block in op.dma_blocks.iter().map(|block| block.id().unwrap()) {
                all.extend(module.insts_of(Holder::Inst(block)).map(|descriptor| (at, descriptor, block)));
            }
        }
    }
    all
}

/// For each instruction of the functions and each of its operands with bytes: which operands of others have one of
/// them, nearest first.
fn check_show(module: &Module) {
    let all = touchers(module);
    let mut bytes: Vec<(usize, InstId, InstId, String, Vec<Run>)> = Vec::new();
    for (at, inst, subject) in &all {
        for (list, index, argument) in module[*inst].operands() {
            let touched = bytes_of(module, argument);
            if !touched.is_empty() {
                bytes.push((*at, *inst, *subject, format!("{}[{index}]", list.key()), touched));
            }
        }
    }
    let subjects: Vec<InstId> =
        all.iter().filter(|(_, inst, subject)| inst == subject).map(|(_, i, _)| *i).collect();
    let shown = show(
        module,
        &subjects.iter().map(|inst| Subject::Inst(*inst)).collect::<Vec<_>>(),
        &ShowOptions { limit: 0 },
    );
    for (inst, shown) in subjects.iter().zip(&shown) {
        let Shown::Instruction(view) = shown else { panic!() };
        for operand in &view.operands {
            let name = format!("{}[{}]", operand.list, operand.index);
            let Some((at, .., own)) = bytes.iter().find(|(_, i, _, n, _)| i == inst && *n == name) else {
                assert_eq!(operand.before.total + operand.after.total, 0);
                continue;
            };
            let mut before = Vec::new();
            let mut after = Vec::new();
            for (other_at, other, subject, name, touched) in &bytes {
                if other == inst || is_disjoint(own, touched) {
                    continue;
                }
                let entry = (module.str(module[*subject].name).to_owned(), name.clone());
                if other_at < at { before.insert(0, entry) } else { after.push(entry) }
            }
            let said = |cut: &[bir_view::show::TouchView]| -> Vec<(String, String)> {
                cut.iter().map(|touch| (touch.at.instruction.clone(), touch.operand.clone())).collect()
            };
            assert_eq!(said(&operand.before.items), before, "before {name} of {}", view.at.instruction);
            assert_eq!(said(&operand.after.items), after, "after {name} of {}", view.at.instruction);
        }
    }
}

/// Peak of SB and PSUM by counting bytes of each partition at each position.
fn check_mem(module: &Module) {
    let mut lives: BTreeMap<LocId, (usize, usize)> = BTreeMap::new();
    let mut uses: BTreeMap<LocId, (u64, u64)> = BTreeMap::new();
    let all = touchers(module);
    for (at, inst, _) in &all {
        for (list, index, argument) in module[*inst].operands() {
            if let Some(loc) = argument.location().and_then(|loc| loc.id()) {
                let life = lives.entry(loc).or_insert((*at, *at));
                life.1 = *at;
                let access = access_of(&module[*inst], list, index);
                let count = uses.entry(loc).or_default();
                *count = (count.0 + u64::from(access.may_read()), count.1 + u64::from(access.writes()));
            }
        }
    }
    let found = mem(module, None);
    for (space, kind) in [(0, MemoryType::SB), (1, MemoryType::PSUM)] {
        let here = |loc: &&LocId| module[**loc].r#type == kind && module[**loc].is_placed();
        let locs: Vec<LocId> = lives.keys().filter(here).copied().collect();
        let (mut peak, mut quadrants, mut banks) = (0, [0; 4], [0; 8]);
        let positions = all.iter().map(|(at, ..)| at + 1).max().unwrap_or(0);
        let end = |loc: &LocId| module[*loc].addr + module[*loc].bytes().unwrap();
        let sb_end = locs.iter().map(end).max().unwrap_or(0).max(16_384) as usize;
        for at in 0..positions {
            // Where nothing begins or ends, partitions are alike.
            let edge = |partition: u64| {
                partition.is_multiple_of(32)
                    || locs.iter().any(|loc| {
                        let base = u64::from(module[*loc].base);
                        base == partition || base + module[*loc].partitions().unwrap() == partition
                    })
            };
            for partition in (0..128u64).filter(|partition| edge(*partition)) {
                let mut used = vec![false; if space == 0 { sb_end } else { 16_384 }];
                for loc in locs.iter().filter(|loc| (lives[loc].0..=lives[loc].1).contains(&at)) {
                    let location = &module[*loc];
                    let base = u64::from(location.base);
                    let dims = location.dims.as_ref().unwrap();
                    if (base..base + dims.get(0).unwrap()).contains(&partition) {
                        let start = location.addr + location.bank.unsigned_abs() * 2048;
                        used[start as usize..][..dims.get(1).unwrap() as usize].fill(true);
                    }
                }
                let count = |bytes: &[bool]| bytes.iter().filter(|used| **used).count();
                peak = peak.max(count(&used));
                let quadrant = &mut quadrants[partition as usize / 32];
                *quadrant = count(&used).max(*quadrant);
                for (bank, most) in banks.iter_mut().enumerate() {
                    let of = count(&used[bank * 2048..][..2048]);
                    *most = of.max(*most);
                }
            }
        }
        assert_eq!(found.spaces[space].peak.bytes, peak as u64, "{}", found.spaces[space].space);
        let regions: Vec<u64> = found.spaces[space].regions.iter().map(|region| region.peak).collect();
        let counted: Vec<u64> = match space {
            0 => quadrants.iter().map(|n| *n as u64).collect(),
            _ => banks.iter().map(|n| *n as u64).collect(),
        };
        assert_eq!(regions, counted);
        let most = found.spaces[space].timeline.iter().max().copied().unwrap_or(0);
        assert_eq!(most, peak as u64);
    }
    for (loc, (first, last)) in &lives {
        let name = module.str(module[*loc].name);
        let said = found.locations.iter().find(|location| location.name == name).unwrap();
        assert_eq!((said.reads, said.writes), uses[loc], "{name}");
        if matches!(module[*loc].r#type, MemoryType::SB | MemoryType::PSUM) {
            assert_eq!(said.live, Some([*first as u32, *last as u32]), "{name}");
        }
    }
}

#[test]
fn the_sample_is_as_it_is_counted() {
    let tiles = bir::sample::Tiles { rows: 2, depth: 2, columns: 2 };
    let module = bir::sample::matmul_softmax(&tiles);
    check_mem(&module);
}

/// Kernels as a compiler makes them, on all devices: SB, PSUM and DRAM, queues, loops of buffers.
#[test]
fn generated_kernels_are_as_they_are_counted() {
    for (target, instructions, seed) in
        [(Target::Trn1, 100, 1), (Target::Trn2, 130, 2), (Target::Trn3, 110, 3)]
    {
        let module = parse(&xtask::gen_module::module(instructions, seed, target));
        check_show(&module);
        check_mem(&module);
    }
}

/// Tensors of a few bytes, so that every byte can be counted.
#[derive(Clone, Debug)]
struct Kernel {
    /// Base, partitions, address, columns, and whether in PSUM.
    tensors: Vec<(u32, u64, u64, u64, bool)>,
    /// From, to, first column, step, count.
    copies: Vec<(usize, usize, u64, i64, u64)>,
}

fn kernel() -> impl Strategy<Value = Kernel> {
    let tensor = (0u32..4, 1u64..40, 0u64..32, 1u64..12, any::<bool>());
    let copy = (0usize..8, 0usize..8, 0u64..12, 1i64..4, 1u64..6);
    (prop::collection::vec(tensor, 1..8), prop::collection::vec(copy, 1..14))
        .prop_map(|(tensors, copies)| Kernel { tensors, copies })
}

fn build(kernel: &Kernel) -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let tensors: Vec<(Tensor, u64, u64)> = kernel
        .tensors
        .iter()
        .enumerate()
        .map(|(at, (base, rows, addr, columns, psum))| {
            let name = format!("t{at}");
            let shape = [*rows, *columns];
            let tensor = match psum {
                true => NewTensor::psum(&name, shape, Dtype::Uint8).bank((*base % 3).into()),
                false => NewTensor::sb(&name, shape, Dtype::Uint8).at(*addr),
            };
            let tensor = b.tensor(tensor);
            (tensor, *rows, *columns)
        })
        .collect();
    let bases: Vec<u32> = kernel.tensors.iter().map(|(base, ..)| base * 32).collect();
    for (at, (from, to, first, step, count)) in kernel.copies.iter().enumerate() {
        let access = |which: usize| {
            let (tensor, rows, columns) = tensors[which % tensors.len()];
            let first = first % columns;
            let room = ((columns - 1 - first) as i64 / step) as u64 + 1;
            tensor.pattern(first, [(columns as i64, rows as i64), (*step, (*count).min(room) as i64)])
        };
        let (source, target) = (access(*from), access(*to));
        b.inst(&format!("c{at}"), EngineType::DVE, TensorCopy::default()).input(source).output(target);
    }
    let locs: Vec<LocId> = module.loc_ids().collect();
    for (loc, base) in locs.into_iter().zip(bases) {
        if module[loc].r#type == MemoryType::SB {
            module[loc].base = base;
        }
    }
    module
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
    ))]

    #[test]
    fn every_byte_is_counted(kernel in kernel()) {
        let module = build(&kernel);
        check_show(&module);
        check_mem(&module);
    }
}
