//! Operands that instructions share are judged once, and no finding is lost by that: a module says the same as one in
//! which every operand is a value of its own.

use bir::diag::DisplayNames;
use bir::enums::EngineType;
use bir::ids::InstId;
use bir::sample::{Tiles, matmul_softmax};
use bir::{Argument, Module, Shared};
use bir_json::{ReadOptions, Unresolved};
use bir_verify::{Options, verify};
use xtask::gen_module::{Target, module};

use crate::faults::{FAULTS, Fault};

/// What is said of a module, as text.
fn said(module: &Module, parallel: bool) -> Vec<String> {
    let options = Options { parallel, strict: true, is_verbose: true, ..Options::default() };
    let names = DisplayNames::of(module);
    let found = verify(module, &options).findings;
    let text = |finding: &bir::diag::Diagnostic| {
        format!("{} {} {:?}", finding.count, finding.report(module, &names), finding.place)
    };
    found.iter().map(text).collect()
}

/// The same module, in which no two operands are one value.
fn unshared(module: &Module) -> Module {
    let mut module = module.clone();
    for id in module.inst_ids() {
        for argument in module[id].operands_mut() {
            match argument {
                Argument::PhysicalAp(access) => *access = Shared::new((**access).clone()),
                Argument::ImmValue(value) => *value = Shared::new((**value).clone()),
                _ => {}
            }
        }
    }
    module
}

#[track_caller]
fn assert_same(module: &Module, what: &dyn std::fmt::Display) -> usize {
    let alone = said(&unshared(module), false);
    assert_eq!(said(module, false), alone, "{what}");
    assert_eq!(said(module, true), alone, "{what}, by several threads");
    alone.len()
}

/// Puts copies of the instructions of a module beside them, which share their operands: some as they are, some on another
/// engine, with operands that change places, or with the keys of another instruction of the op. What was said of one
/// stands between what has to be said of the others.
fn multiply(module: &mut Module) {
    let originals: Vec<InstId> = module.insts().filter(|inst| module[*inst].body().is_empty()).collect();
    let mut before = None::<InstId>;
    for id in originals {
        let inst = module[id].clone();
        let mut copies = vec![inst.clone()];
        for engine in [EngineType::Pool, EngineType::PE] {
            copies.push(inst.clone());
            copies.last_mut().unwrap().engine = engine;
        }
        let mut swapped = inst.clone();
        swapped.ins.reverse();
        copies.push(swapped);
        let mut turned = inst.clone();
        if turned.ins.first().is_some_and(|first| !first.is_immediate()) && !turned.outs.is_empty() {
            std::mem::swap(&mut turned.ins[0], &mut turned.outs[0]);
            copies.push(turned);
        }
        if let Some(other) = before.filter(|other| module[*other].opcode() == inst.opcode()) {
            let mut copy = inst.clone();
            copy.op = module[other].op.clone();
            copies.push(copy);
            let mut copy = inst.clone();
            copy.outs = module[other].outs.clone();
            copies.push(copy);
        }
        // Another op that takes operands alike.
        if let Some(other) = before.filter(|other| module[*other].ins.len() == inst.ins.len()) {
            let mut copy = inst.clone();
            copy.op = module[other].op.clone();
            copies.push(copy);
        }
        copies.push(inst);
        for (at, mut copy) in copies.into_iter().enumerate() {
            // Names with letters of their own keep repeats apart.
            let name = format!("copy{}of{}", (b'a' + at as u8) as char, module.str(copy.name));
            copy.name = module.names.intern(&name);
            let block = copy.block;
            let place =
                if at % 2 == 0 { module.index_of(id).unwrap_or(0) } else { module[block].instructions.len() };
            module.insert_inst(block, place, copy);
        }
        before = Some(id);
    }
}

/// A module as it is after writing and reading, with operands that are shared.
fn read_again(module: &Module) -> Option<Module> {
    let text = bir_json::to_string(module, &Default::default());
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    Some(bir_json::read(text.as_bytes(), &options).ok()?.module)
}

#[test]
fn cases_say_the_same() {
    let mut findings = 0;
    for case in crate::rules::cases() {
        for fill in [case.bad, case.good] {
            let mut module = case.module(fill);
            multiply(&mut module);
            findings += assert_same(&module, &case.rule);
        }
        if let Some(module) = read_again(&case.module(case.bad)) {
            assert_same(&module, &format_args!("{}, read", case.rule));
        }
    }
    assert!(findings > 1000, "{findings}");
}

#[test]
fn faults_say_the_same() {
    for Fault(what, _, make) in FAULTS {
        let mut module = matmul_softmax(&Tiles::default());
        make(&mut module);
        multiply(&mut module);
        assert_same(&module, what);
    }
}

/// Generated kernels with operands that are changed here and there, each fault in several instructions.
#[test]
fn changed_kernels_say_the_same() {
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below.max(1)
    };
    let mut loud = 0;
    for (target, seed) in [(Target::Trn1, 11), (Target::Trn2, 12), (Target::Trn3, 13), (Target::Trn2, 14)] {
        let text = module(600, seed, target);
        let kernel = bir_json::read(&text, &Default::default()).unwrap().module;
        assert_same(&kernel, &"generated");
        for round in 0..6 {
            let mut kernel = kernel.clone();
            let insts: Vec<InstId> = kernel.insts().filter(|inst| !kernel[*inst].ins.is_empty()).collect();
            for _ in 0..12 {
                let from = insts[next(insts.len())];
                let Some(Argument::PhysicalAp(access)) = kernel[from].ins.first().cloned() else { continue };
                let mut changed = access.clone();
                match next(6) {
                    0 => changed.offset += 1 + next(4096) as u64,
                    1 => changed.offset += 1 << 22,
                    2 => changed.dtype = kernel[insts[next(insts.len())]].ins[0].dtype(),
                    3 => changed.memref = kernel[insts[next(insts.len())]].ins[0].location(),
                    4 => changed.ap = kernel[insts[next(insts.len())]].ins[0].access_pattern().cloned(),
                    _ => changed.ap = None,
                }
                // All who have the value get the changed one, or every second one.
                let step = 1 + next(2);
                let address = access.address();
                let mut seen = 0;
                for id in &insts {
                    for argument in kernel[*id].operands_mut() {
                        if matches!(argument, Argument::PhysicalAp(other) if other.address() == address) {
                            seen += 1;
                            if seen % step == 0 {
                                *argument = Argument::PhysicalAp(changed.clone());
                            }
                        }
                    }
                }
                let engine = kernel[insts[next(insts.len())]].engine;
                kernel[insts[next(insts.len())]].engine = engine;
            }
            loud += assert_same(&kernel, &format_args!("{target:?} {seed}, round {round}"));
        }
    }
    assert!(loud > 200, "{loud}");
}
