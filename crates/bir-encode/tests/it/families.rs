//! Every op that has words, on every generation: encoded, taken apart, and compared with its operands; and as text
//! (`BLESS=1` writes `tests/data/ops.*.asm` anew).

use std::fs;
use std::path::Path;

use bir::enums::InstructionType;
use bir::op_info::OpInfo;
use bir::{Module, Op, OpenEnum};
use bir_encode::{Options, collect, encode};
use tpb_isa::text::{Options as TextOptions, put_header, put_line};
use tpb_isa::{Generation, Opcode, Stream, Word};

use crate::cases::{CASES, Case, SYNC};
use crate::common::{Places, decoded, module, touched};

const OPTIONS: Options = Options {
    generation: None,
    prologue: false,
    reuse_weights: false,
    saturate_mx: true,
    fill_register: Some(9),
};

/// The module of a case, if the op has words on the generation.
fn build(case: &Case, generation: Generation) -> Option<Module> {
    let info = OpInfo::of(case.op).unwrap();
    let has_words =
        !info.wire_bytes(generation as u32 + 2).is_empty() || case.op == InstructionType::InlineASMBytes;
    (has_words && case.on.contains(&generation)).then(|| module(generation, case.build))
}

/// The words of the instruction that a case is about.
fn words(case: &Case, module: &Module) -> Vec<Word> {
    let program = encode(module, &OPTIONS).unwrap();
    let errors: Vec<_> = program.errors.iter().map(|error| error.describe(module)).collect();
    assert_eq!(errors, [""; 0], "{}", case.name);
    let wanted = wanted(module);
    let stream = program.streams.iter().find(|stream| stream.owners.contains(&Some(wanted))).unwrap();
    let owned = stream.words.iter().zip(&stream.owners).filter(|(_, owner)| **owner == Some(wanted));
    owned.map(|(word, _)| *word).collect()
}

fn wanted(module: &Module) -> bir::ids::InstId {
    let named = module.insts().find(|inst| module.str(module[*inst].name) == "it");
    named.expect("a case has an instruction of that name")
}

#[test]
fn every_op_with_a_known_layout_is_encoded() {
    let mut missing = Vec::new();
    for info in OpInfo::all() {
        for generation in Generation::ENCODABLE {
            let has_words = !info.wire_bytes(generation as u32 + 2).is_empty();
            let covered = CASES.iter().any(|case| case.op == info.op && build(case, generation).is_some());
            // Words whose bodies are not known. spec: isa-bundle 15, isa-control-dma 13
            use InstructionType as T;
            let unknown = matches!(
                info.op,
                T::BranchHint
                    | T::BNBackprop2
                    | T::CollectiveCompute
                    | T::CollectiveSend
                    | T::CollectiveRecv
                    | T::IndirectSaveAccumulate
            );
            if has_words && !covered && !unknown {
                missing.push(format!("{} on {generation}", info.op.name().unwrap()));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn words_are_those_of_the_tables_and_carry_wait_and_update() {
    for case in CASES {
        for generation in Generation::ENCODABLE {
            let Some(module) = build(case, generation) else { continue };
            let words = words(case, &module);
            let at = format!("{} on {generation}", case.name);
            let info = OpInfo::of(case.op).unwrap();
            let decoded = decoded(&words, generation);
            if case.op == InstructionType::InlineASMBytes {
                continue;
            }
            let bytes: Vec<u8> = words.iter().map(Word::opcode).collect();
            let allowed = info.wire_bytes(generation as u32 + 2);
            assert!(bytes.iter().all(|byte| allowed.contains(byte)), "{at}: {bytes:x?}");
            // Collecting opcodes gives the same.
            let collected = collect(&module, &OPTIONS).unwrap();
            let counted: u64 = collected.opcodes.iter().flat_map(|opcodes| opcodes.values()).sum();
            let made: usize = encode(&module, &OPTIONS).unwrap().streams.iter().map(|s| s.words.len()).sum();
            assert_eq!((collected.errors, counted), (Vec::new(), made as u64), "{at}");
            if !case.synced {
                continue;
            }
            let (wait, update) = (decoded[0].preamble.unwrap().wait(), decoded.last().unwrap());
            let ((sem, count), (done, _)) = SYNC;
            assert_eq!(wait.map(|wait| (wait.id, wait.value)), Some((sem, count)), "{at}");
            if words[0].opcode() == Opcode::PSEUDO_DMA_DIRECT2D.0 {
                assert_eq!(words[0].0[13..15], [done as u8, 16], "{at}");
            } else {
                assert_eq!(update.preamble.unwrap().update().map(|update| update.id), Some(done), "{at}");
            }
        }
    }
}

/// Every operand in SB or PSUM is in the words, element for element: as a slot, or as a plain address.
#[test]
fn slots_walk_over_the_elements_of_the_operands() {
    for case in CASES {
        for generation in Generation::ENCODABLE {
            let Some(module) = build(case, generation) else { continue };
            let words = words(case, &module);
            let places = Places::of(&words, generation);
            let inst = &module[wanted(&module)];
            for (list, index, argument) in inst.operands() {
                let Some(elements) = touched(&module, argument) else { continue };
                let size = argument.dtype().and_then(|dtype| dtype.size_bytes()).unwrap();
                let is_chunked = matches!(inst.op, Op::Gather | Op::CustomOp(_));
                assert!(
                    places.have(&elements, size) || is_chunked,
                    "{} on {generation}: {}[{index}] at {:#x} is in no slot of {places:x?}",
                    case.name,
                    list.key(),
                    elements.first().unwrap()
                );
            }
        }
    }
}

/// The words as text, to be read.
#[test]
fn words_as_text() {
    for generation in Generation::ENCODABLE {
        let mut text = Vec::new();
        put_header(&mut text, generation, "", None);
        for case in CASES {
            let Some(module) = build(case, generation) else { continue };
            text.extend(format!("; {}\n", case.name).bytes());
            let bytes: Vec<u8> = words(case, &module).iter().flat_map(|word| word.0).collect();
            for word in Stream::new(&bytes, generation) {
                put_line(&mut text, &word, &TextOptions { offsets: false, raw: false, notes: true }, "");
            }
        }
        let name = format!("tests/data/ops.{generation}.asm");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let text = String::from_utf8(text).unwrap();
        let differs = text.lines().zip(expected.lines()).find(|(now, before)| now != before);
        assert!(text == expected, "{name} differs: {differs:?}");
    }
}
