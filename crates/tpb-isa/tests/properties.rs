//! Whatever the bytes: words come apart and together, text gives them back, nothing panics.

mod common;

use common::{cases, files};
use proptest::prelude::*;
use proptest::sample::select;
use tpb_isa::text::{self, Options};
use tpb_isa::{
    Addr4, Generation, Kind, Layout, Opcode, Stream, StreamWord, WORD_BYTES, Word, bind, check, decode, json,
};

/// Everything that must hold for any word behind any other.
fn holds(word: Word, generation: Generation, previous: Option<Word>) -> Result<(), TestCaseError> {
    let decoded = decode(&word, generation, previous.as_ref());
    prop_assert_eq!(decoded.encode(), word);

    let bytes: Vec<u8> = previous.iter().flat_map(|word| word.0).chain(word.0).collect();
    comes_back(&bytes, generation)?;

    let place = StreamWord::new(word, 1, generation, previous.map(|word| word.opcode()));
    let mut fields = String::new();
    json::put_line(&mut fields, "PE", &place, Some("I-1"), None);
    let value: serde_json::Value = serde_json::from_str(&fields).expect("a JSON object");
    prop_assert_eq!(&value["bytes"], &serde_json::Value::from(word.to_string()));
    // What is left over is shown, and only then.
    let is_raw = value["fields"].get("raw").is_some();
    let notes = decoded.notes;
    prop_assert_eq!(
        is_raw,
        notes.contains(tpb_isa::Notes::RESERVED_SET) || notes.contains(tpb_isa::Notes::UNKNOWN_SET)
    );
    check::stream(&bytes, generation);
    Ok(())
}

/// `asm(objdump(x)) == x`, with and without offsets and bytes.
fn comes_back(bytes: &[u8], generation: Generation) -> Result<(), TestCaseError> {
    for options in [Options::default(), Options { offsets: false, raw: true, notes: false }] {
        let mut listing = Vec::new();
        text::put_header(&mut listing, generation, "", None);
        text::disassemble(bytes, &mut listing, generation, &options, |_, comment| {
            comment.push_str("I-1\n;\"")
        })
        .unwrap();
        let lines = listing.iter().filter(|&&byte| byte == b'\n').count();
        prop_assert_eq!(lines, 1 + bytes.len().div_ceil(WORD_BYTES));
        let mut again = Vec::new();
        let other = Generation::ALL[(generation as usize + 1) % 4];
        match text::assemble(&listing[..], &mut again, other) {
            Ok(words) => prop_assert_eq!(words as usize, bytes.len() / WORD_BYTES),
            Err(error) => prop_assert!(false, "{}\n{}", error, String::from_utf8_lossy(&listing)),
        }
        prop_assert_eq!(again, bytes, "{}", String::from_utf8_lossy(&listing));
    }
    Ok(())
}

fn generation() -> impl Strategy<Value = Generation> {
    select(&Generation::ALL[..])
}

fn any_word() -> impl Strategy<Value = Word> {
    any::<[u8; WORD_BYTES]>().prop_map(Word)
}

/// Words with few bits set: closer to real ones, where most fields are 0.
fn sparse_word() -> impl Strategy<Value = Word> {
    proptest::collection::vec((0..WORD_BYTES, any::<u8>()), 0..12).prop_map(|bytes| {
        let mut word = Word::ZERO;
        bytes.into_iter().for_each(|(at, byte)| word.0[at] = byte);
        word
    })
}

proptest! {
    #[test]
    fn random_words_hold(word in prop_oneof![any_word(), sparse_word()], generation in generation(), previous in any::<Option<u8>>()) {
        let previous = previous.map(|opcode| { let mut word = Word::ZERO; word.0[0] = opcode; word });
        holds(word, generation, previous)?;
    }

    #[test]
    fn random_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..5 * WORD_BYTES), generation in generation()) {
        comes_back(&bytes, generation)?;
        let stream = Stream::new(&bytes, generation);
        let tail = stream.tail().to_vec();
        let words: Vec<u8> = stream.flat_map(|word| word.decode().encode().0).collect();
        prop_assert_eq!([words, tail].concat(), bytes);
    }

    #[test]
    fn assembler_input_never_panics(text in ".{0,200}") {
        let mut out = Vec::new();
        let _ = text::assemble(text.as_bytes(), &mut out, Generation::V3);
    }

    #[test]
    fn damaged_lines_never_panic(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), with in "\\PC{0,3}") {
        let path = files();
        let cases = cases(&path[pick.index(path.len())]);
        let mut line: Vec<char> = cases[pick.index(cases.len())].text.chars().collect();
        let at = at.index(line.len());
        line.splice(at..at + 1, with.chars());
        let line: String = line.into_iter().collect();
        let mut out = Vec::new();
        if let Err(text::AsmError::Line { column, .. }) = text::assemble(line.as_bytes(), &mut out, cases[0].word.generation) {
            prop_assert!(column >= 1 && column <= line.len() + 1, "column {} of {:?}", column, line);
        }
    }
}

/// Every opcode on every generation, behind each opener of extensions, with random bodies.
#[test]
fn every_opcode_on_every_generation_holds() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4));
    for generation in Generation::ALL {
        for opcode in 0..=255 {
            let openers = [None, Some(Opcode::PSEUDO_DMA_DIRECT2D), Some(Opcode::PSEUDO_TRIGGER_COLLECTIVE2)];
            let openers = if opcode == 0xDA { &openers[..] } else { &openers[..1] };
            for opener in openers {
                let strategy = prop_oneof![any_word(), sparse_word()];
                let result = runner.run(&strategy, |mut word| {
                    word.0[0] = opcode;
                    let previous = opener.map(|opener| {
                        let mut word = Word::ZERO;
                        word.0[0] = opener.0;
                        word
                    });
                    holds(word, generation, previous)
                });
                result.unwrap_or_else(|error| panic!("opcode {opcode:#04x} on {generation}: {error}"));
            }
        }
    }
}

/// Every single-bit flip of the golden words.
#[test]
fn flipped_golden_words_hold() {
    for case in cases(&files()[0]) {
        for bit in 0..8 * WORD_BYTES {
            let mut word = case.word.word;
            word.0[bit / 8] ^= 1 << (bit % 8);
            holds(word, case.word.generation, None)
                .unwrap_or_else(|error| panic!("{}, bit {bit}: {error}", case.place));
        }
    }
}

/// The typed struct and the table see the same bits: a flip that the table calls a field changes the body, another changes
/// the rest.
#[test]
fn struct_and_table_agree_on_every_bit() {
    for layout in Layout::ALL.iter().filter(|layout| **layout != Layout::Opaque) {
        let row = (0..=255).find_map(|opcode| {
            let previous = [None, Some(0xD4), Some(0xD9)];
            previous.into_iter().zip([opcode; 3]).chain([(None, opcode)]).find_map(|(previous, opcode)| {
                let mut word = Word::ZERO;
                word.0[0] = opcode;
                let generations = Generation::ALL.into_iter();
                generations
                    .map(|g| (word, g, previous))
                    .find(|(word, g, p)| bind(word, *g, *p).layout == *layout)
            })
        });
        let (base, generation, previous) = row.unwrap_or_else(|| panic!("{}: no opcode", layout.info().name));
        let base = StreamWord::new(base, 0, generation, previous);
        let unions: Vec<_> =
            layout.info().fields.iter().filter(|field| matches!(field.kind, Kind::Union(_))).collect();
        for bit in 8..8 * WORD_BYTES {
            // The form of a slot depends on two bits of its own.
            if unions.iter().any(|slot| bit / 8 == slot.at as usize + 3) {
                continue;
            }
            let mut flipped = base;
            flipped.word.0[bit / 8] ^= 1 << (bit % 8);
            let (a, b) = (base.decode(), flipped.decode());
            let in_struct = a.body != b.body || a.preamble != b.preamble;
            assert_ne!(in_struct, a.rest != b.rest, "{}: bit {bit}", layout.info().name);
            let in_table = layout.info().covered[bit / 8] >> (bit % 8) & 1 != 0;
            let in_slot =
                unions.iter().any(|slot| (slot.at..slot.at + slot.bytes).contains(&(bit as u8 / 8)));
            assert!(in_slot || in_struct == in_table, "{}: bit {bit}", layout.info().name);
        }
    }
}

#[test]
fn places_and_addresses_are_inverse() {
    for generation in Generation::ALL {
        for partition in [0, 1, 32, 127] {
            for offset in [0, 8, generation.partition_bytes() - 1] {
                let addr = Addr4::sbuf(partition, offset, generation).expect("it exists");
                let place = tpb_isa::Place::Sbuf { partition: partition as u8, offset };
                assert_eq!(addr.place(), place);
            }
            assert!(Addr4::sbuf(partition, generation.partition_bytes(), generation).is_err());
            for bank in 0..8 {
                let addr = Addr4::psum(partition, bank, 0x7FF).expect("it exists");
                let place =
                    tpb_isa::Place::Psum { partition: partition as u8, bank: bank as u8, offset: 0x7FF };
                assert_eq!(addr.place(), place);
            }
        }
    }
}

/// Addresses in registers and beyond all memories, under each selector: only a place in memory reads as an address.
#[test]
fn scalars_of_every_form_come_back() {
    for high in [0u32, 0x4000_0000, 0x8000_0000, 0xc000_0000, 0xffff_0000] {
        for low in [0u32, 5, 300, 0xffff] {
            for selector in 0..5 {
                let mut word = [0; WORD_BYTES];
                // An activation, whose selector of the bias is byte 15 and whose bias is at 40.
                word[..2].copy_from_slice(&[0x21, 0x10]);
                word[15] = selector;
                word[40..44].copy_from_slice(&(high | low).to_le_bytes());
                for generation in Generation::ALL {
                    comes_back(&word, generation).unwrap();
                }
            }
        }
    }
}
