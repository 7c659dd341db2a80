//! What words of the sample stand for, and what is found in changed ones.

use neff::pack::{Body, Options, Source, fit_header, to_bytes};
use neff::{Container, Header, Limits, Package, sample};
use neff_words::{Program, check, features, note};
use tpb_isa::{Engine, Generation};

fn pack(members: &[Source], features: u64) -> Vec<u8> {
    let header = Header { feature_bits: features, ..Header::default() };
    to_bytes(header, members, &Options::default()).unwrap()
}

/// The sample for one core, with the bytes of a member changed.
fn changed(member: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut members = sample::members(1);
    let found = members.iter_mut().find(|source| source.name == member).unwrap();
    let Body::Bytes(bytes) = &mut found.body else { panic!() };
    change(bytes);
    pack(&members, 0x209800)
}

fn load(file: &[u8]) -> (Package, Program) {
    let container = Container::open(file).unwrap();
    let limits = Limits::default();
    let package = Package::load(&container, &limits, true).unwrap();
    let program = Program::load(&container, &package, &limits, true).unwrap();
    (package, program)
}

fn findings(file: &[u8]) -> Vec<String> {
    let (package, program) = load(file);
    check::check(&package, &program, Generation::V3).iter().map(ToString::to_string).collect()
}

fn notes(file: &[u8], engine: Engine) -> Vec<String> {
    let (package, program) = load(file);
    let stream = program.cores[0].engine(engine).unwrap();
    let note = |word| {
        let mut text = String::new();
        note::put(&mut text, &word, &package.graphs[0], stream.key);
        text
    };
    stream.words(Generation::V3).map(note).collect()
}

#[test]
fn every_word_has_a_name_and_a_line() {
    let (_, program) = load(&sample::package(2));
    for core in &program.cores {
        let pe = core.engine(Engine::PE).unwrap();
        assert_eq!(pe.instruction(0), None);
        assert_eq!(pe.instruction(4), Some("transpose_x0"));
        assert_eq!(pe.source(4, &core.front_end), None);
        assert_eq!(pe.source(9, &core.front_end).as_deref(), Some("models/product.py:12"));
        assert_eq!(pe.len(), 12);
    }
}

#[test]
fn numbers_have_meanings() {
    let file = sample::package(2);
    assert_eq!(
        notes(&file, Engine::Pool)[2..6],
        [
            "x -> SB(p0,0x37c00), queue qPoolDynamic[0]",
            "y -> SB(p0,0x37f00), queue qPoolDynamic[1]",
            "y+0x8000 -> SB(p0,0x37e00), queue qPoolDynamic[2]",
            "SB(p0,0x4200) -> product, queue qPoolDynamic[3]",
        ]
    );
    assert_eq!(notes(&file, Engine::Activation)[2], "table exp_and_others");
    assert_eq!(notes(&file, Engine::SP)[2], "identity -> SB(p0,0x37b00), queue qSPDynamicHW[0]");
}

#[test]
fn the_sample_is_clean() {
    assert_eq!(findings(&sample::package(1)), [""; 0]);
    assert_eq!(findings(&sample::package(2)), [""; 0]);
}

#[test]
fn words_that_make_no_sense_are_found() {
    let opcode = changed("sg00/PE.bin", |bytes| bytes[3 * 64] = 0xFE);
    assert_eq!(findings(&opcode), ["error[NEFF-17] sg00/PE.bin word 3: .word: opcode 0xfe is not known"]);
    let reserved = changed("sg00/PE.bin", |bytes| (2..4).for_each(|word| bytes[word * 64 + 63] = 1));
    let found = findings(&reserved);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("warning[NEFF-17] sg00/PE.bin word 2"), "{found:?}");
}

#[test]
fn variables_that_are_not_there_are_found() {
    let entry = changed("sg00/Pool.bin", |bytes| bytes[2 * 64 + 20] = 9);
    assert_eq!(
        findings(&entry),
        ["error[NEFF-25] sg00/Pool.bin word 2: entry 9 of the address table, which it does not have"]
    );
    let id = changed("sg00/SP.bin", |bytes| bytes[2 * 64 + 20] = 77);
    assert_eq!(
        findings(&id),
        ["error[NEFF-25] sg00/SP.bin word 2: variable 77, which the definition does not have"]
    );
    assert_eq!(notes(&id, Engine::SP)[2], "unknown variable 77 -> SB(p0,0x37b00), queue qSPDynamicHW[0]");
}

#[test]
fn features_are_those_of_the_words() {
    let (package, program) = load(&sample::package(1));
    let needed = features::needed(&package, &program, Generation::V3);
    let names: Vec<_> = needed.iter().map(|need| (need.name, need.words)).collect();
    assert_eq!(names, [("DGE", 5), ("DGE_cast", 1), ("hardware_DGE", 1)]);
    let file = pack(&sample::members(1), 0x201800);
    assert_eq!(
        findings(&file),
        ["error[NEFF-21] 1 words need the feature DGE_cast (0x8000), which is not set"]
    );
    let mut header = Header { feature_bits: 0x209800, ..Header::default() };
    fit_header(&mut header, &file[1024..]);
    assert_eq!(header.neff_version_major, 2);
}

/// A trigger word and the descriptors that it fires.
#[test]
fn triggers_and_records_belong_together() {
    let record = br#""dma":[{"id":7,"queue":"qLoad","desc":[{"from":"x","to":"SB","from_steps":[1,512],"from_sizes":[512,128],"to_steps":[1,512],"to_sizes":[512,128]}]}]"#;
    let trigger = |block: u8| {
        let mut word = [0; 64];
        word[..2].copy_from_slice(&[0xC1, 0x10]);
        word[12..17].copy_from_slice(b"qLoad");
        word[48] = block;
        word
    };
    let with = |block: u8| {
        let mut members = sample::members(1);
        for source in &mut members {
            let Body::Bytes(bytes) = &mut source.body else { panic!() };
            match source.name.as_str() {
                "sg00/SP.json" => {
                    let text = String::from_utf8(bytes.clone()).unwrap();
                    *bytes = text.replace("\"dma\":[]", std::str::from_utf8(record).unwrap()).into_bytes();
                }
                "sg00/SP.bin" => bytes.extend(trigger(block)),
                _ => {}
            }
        }
        members.retain(|source| !source.name.contains("debug_info_asm_SP"));
        pack(&members, 0x209800)
    };
    assert_eq!(findings(&with(7)), [""; 0]);
    assert_eq!(notes(&with(7), Engine::SP)[3], "1 descriptors, x -> SB 65536 bytes");
    assert_eq!(
        findings(&with(8)),
        [
            "error[NEFF-20] sg00/SP.bin word 3: fires block 8 of queue qLoad, which has no record",
            "warning[NEFF-20] sg00/SP.json: no trigger fires block 7 of qLoad",
        ]
    );
}

#[test]
fn debug_entries_of_another_number_of_words_are_not_used() {
    let (_, program) = load(&changed("sg00/PE.bin", |bytes| bytes.truncate(64 * 11)));
    let pe = program.cores[0].engine(Engine::PE).unwrap();
    assert_eq!((pe.len(), pe.instruction(4)), (11, None));
}

#[test]
fn the_disassembly_of_the_producer_has_a_line_for_each_word() {
    let mut members = sample::members(1);
    members.push(Source { name: "sg00/PE.asm".into(), body: Body::Bytes(b"one\ntwo\n".to_vec()) });
    let file = pack(&members, 0x209800);
    assert_eq!(findings(&file), ["warning[NEFF-27] sg00/PE.bin: 2 lines of disassembly for 12 words"]);
    let (_, program) = load(&file);
    let lines = program.cores[0].engine(Engine::PE).unwrap().assembly.clone().unwrap();
    assert_eq!(lines, ["one", "two"]);
}
