//! Generated kernels with loops: they are encoded whole on every generation, and their words say what the document says.

use std::collections::{BTreeMap, BTreeSet};

use bir::ids::InstId;
use bir::records::SyncInfo;
use bir::{Argument, Instruction, Module, Op, OpenEnum, OperandList};
use bir_encode::{Options, check};
use tpb_isa::layout::Kind;
use tpb_isa::{Body, Decoded, Dtype, Engine, Generation, Opcode, Word, bind};
use xtask::gen_module::{Target, module};

use crate::common::{Places, decoded, program, touched};

#[test]
fn generated_kernels_with_loops_are_encoded_whole_and_decode_to_what_they_say() {
    for (target, generation) in
        [(Target::Trn1, Generation::V2), (Target::Trn2, Generation::V3), (Target::Trn3, Generation::V4)]
    {
        for seed in 1..=3 {
            let loaded = bir_json::read(&module(2000, seed, target), &Default::default()).unwrap();
            kernel(&loaded.module, generation, &format!("{generation}, seed {seed}"));
        }
    }
}

fn kernel(module: &Module, generation: Generation, at: &str) {
    let program = program(module, &Options::default());
    assert_eq!(program.generation, generation);
    assert_eq!(check(module, &Options::default()).unwrap(), [], "{at}");

    let mut made: BTreeMap<InstId, Vec<(Engine, Vec<Word>)>> = BTreeMap::new();
    let mut branches = BTreeMap::<InstId, usize>::new();
    for stream in &program.streams {
        assert_eq!(stream.owners.len(), stream.words.len(), "{at}");
        decoded(&stream.words, generation);
        for (word, owner) in stream.words.iter().zip(&stream.owners) {
            let owner = owner.expect("every word belongs to an instruction");
            if word.opcode() == Opcode::COMPARE_BRANCH.0 {
                *branches.entry(owner).or_default() += 1;
            }
            let copies = made.entry(owner).or_default();
            match copies.last_mut().filter(|(engine, _)| *engine == stream.engine) {
                Some((_, words)) => words.push(*word),
                None => copies.push((stream.engine, vec![*word])),
            }
        }
    }
    assert!(branches.len() >= 2 && branches.values().all(|copies| *copies == 5), "{at}: {branches:?}");

    for id in module.functions().flat_map(|f| module.insts_of(bir::Holder::Function(f))) {
        let inst = &module[id];
        let at = format!("{at}: {}", module.str(inst.name));
        let Some(copies) = made.get(&id) else {
            // What goes on to the next block needs no word.
            assert!(matches!(inst.op, Op::UnconditionalBranch(_)), "{at} has no word");
            continue;
        };
        let on_all = inst.engine == bir::enums::EngineType::ALL && !matches!(inst.op, Op::Return);
        assert!(copies.len() == 1 || copies.len() == 5 || !on_all, "{at}");
        for (_, words) in copies {
            operands(module, inst, words, generation, &at);
            sync(inst, &decoded(words, generation), &at);
        }
    }
}

/// Addresses, steps and counts of operands in SB and PSUM, and all dtypes.
fn operands(module: &Module, inst: &Instruction, words: &[Word], generation: Generation, at: &str) {
    // Its accesses are those of its descriptors, which the queue holds.
    if matches!(inst.op, Op::DMATrigger(_)) {
        return;
    }
    let places = Places::of(words, generation);
    let dtypes: BTreeSet<u8> = decoded(words, generation).iter().flat_map(dtypes).collect();
    for (list, index, argument) in inst.operands() {
        let at = format!("{at}: {}[{index}]", list.key());
        let Argument::PhysicalAp(access) = argument else { continue };
        let name = access.dtype.unwrap().name().unwrap();
        let wire = |word: &Word| Dtype::from_bir(name, Opcode(word.opcode()), generation).ok();
        // Products are float32 in PSUM, which the word need not say.
        if !(matches!(inst.op, Op::Matmult(_)) && list == OperandList::Outs) {
            assert!(words.iter().filter_map(wire).any(|wire| dtypes.contains(&wire.0)), "{at}: no {name}");
        }
        if let Some(elements) = touched(module, argument) {
            let size = access.dtype.unwrap().size_bytes().unwrap();
            assert!(places.have(&elements, size), "{at} is in no slot of {places:x?}");
        }
    }
    if let Body::PseudoDmaDirect2d(body) = decoded(words, generation).last().unwrap().body {
        let Argument::PhysicalAp(source) = &inst.ins[0] else { panic!("{at}") };
        let elements: i64 = source.ap.as_ref().unwrap().iter().map(|pair| pair.num).product();
        let bytes = elements as u64 * u64::from(source.dtype.unwrap().size_bytes().unwrap());
        let moved = |num0: u16, num1: u16, size: u16| u64::from(num0) * u64::from(num1) * u64::from(size);
        assert_eq!(moved(body.src_num_elem0, body.src_num_elem1, body.src_elem_size), bytes, "{at}");
        assert_eq!(moved(body.dst_num_elem0, body.dst_num_elem1, body.dst_elem_size), bytes, "{at}");
    }
}

/// The bytes of all dtype fields of a word.
fn dtypes(word: &Decoded) -> Vec<u8> {
    let bytes = word.encode();
    let layout = bind(&bytes, word.generation, None).layout;
    let mut found = Vec::new();
    for field in layout.info().fields {
        let byte = bytes.0[usize::from(field.at)];
        match field.kind {
            Kind::Enum(info) if info.name == Dtype::info().name => found.push(byte),
            Kind::Pair(info) if info.name == Dtype::info().name => found.extend([byte & 15, byte >> 4]),
            _ => {}
        }
    }
    found
}

/// Waits and updates, wherever words hold them.
fn sync(inst: &Instruction, words: &[Decoded], at: &str) {
    let (mut waits, mut updates) = (BTreeSet::new(), BTreeSet::new());
    for word in words {
        let preamble = word.preamble.unwrap();
        waits.extend(preamble.wait().map(|wait| (Some(wait.id), Some(wait.value))));
        // An increment has no value.
        let update = preamble.update();
        updates.extend(
            update.map(|update| (Some(update.id), Some(if update.uses_value() { update.value } else { 1 }))),
        );
        match &word.body {
            Body::CtrlEs(body) if body.events_extended.wait_mode.0 != 0 => {
                waits.insert((
                    Some(body.events_extended.wait_idx.0.into()),
                    Some(body.events_extended.sem_wait_value),
                ));
            }
            Body::PseudoDmaDirect2d(body) if body.sem_increment != 0 => {
                updates.insert((Some(body.semaphore.0.into()), Some(body.sem_increment.into())));
            }
            _ => {}
        }
    }
    let empty = SyncInfo::default();
    let said = inst.sync_info.as_deref().unwrap_or(&empty);
    assert_eq!(waits, said.on_wait.iter().map(|wait| (wait.id, wait.wait_value)).collect(), "{at}");
    assert_eq!(
        updates,
        said.on_update.iter().map(|update| (update.id, update.update_value)).collect(),
        "{at}"
    );
}
