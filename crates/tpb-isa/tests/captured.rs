//! Words of compiled packages: every one decodes to the fields that stand beside it, with no byte left over.
//!
//! The files lie outside the repository: `$BIR_TEST_DATA`, by default `../shared/data` beside the workspace.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use tpb_isa::text::{self, Options};
use tpb_isa::{Engine, Generation, Stream, Word, check, decode, json};

fn lines(name: &str) -> Vec<String> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("BIR_TEST_DATA").map_or_else(default, PathBuf::from).join("neff").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => text.lines().skip(1).map(str::to_owned).collect(),
        Err(_) => {
            println!("skipped: {} is not there", path.display());
            Vec::new()
        }
    }
}

/// `core, engine, index, hex, mnemonic, bir_name, fields`.
fn columns(line: &str) -> (&str, &str, Word, &str, &str) {
    let columns: Vec<_> = line.split('\t').collect();
    let word = Word::from_hex(columns[3]).expect("a word of 64 bytes");
    (columns[0], columns[1], word, columns[4], columns[6])
}

fn check_words(name: &str) {
    let mut previous = None;
    for (number, line) in lines(name).iter().enumerate() {
        let (_, _, word, mnemonic, fields) = columns(line);
        let place = format!("{name}:{}", number + 2);
        let decoded = decode(&word, Generation::V3, previous.as_ref());
        assert_eq!(decoded.encode(), word, "{place}");
        assert!(decoded.notes.is_empty(), "{place}: {:?}", decoded.notes);
        assert_eq!(decoded.rest, Word::ZERO, "{place}: bytes that no field explains");

        let word = tpb_isa::StreamWord::new(word, 0, Generation::V3, previous.map(|word| word.opcode()));
        assert_eq!(word.binding().mnemonic(), mnemonic, "{place}");
        let mut ours = String::new();
        json::put_fields(&mut ours, &word.word, word.binding().layout);
        assert_eq!(ours, fields, "{place}");

        let mut findings = Vec::new();
        check::word(&word, &mut findings);
        assert!(findings.is_empty(), "{place}: {}", findings[0]);
        previous = Some(word.word);
    }
}

#[test]
fn every_word_of_the_small_package_has_the_captured_fields() {
    check_words("words.tsv");
}

#[test]
fn the_sample_of_the_large_package_has_the_captured_fields() {
    check_words("words-large-sample.tsv");
}

#[test]
fn streams_of_the_small_package_are_clean_and_come_back_from_their_text() {
    let lines = lines("words.tsv");
    let mut streams: Vec<(String, Vec<u8>)> = Vec::new();
    for line in &lines {
        let (core, engine, word, ..) = columns(line);
        let name = format!("{core} {engine}");
        if streams.last().is_none_or(|(last, _)| *last != name) {
            streams.push((name, Vec::new()));
        }
        streams.last_mut().expect("there is one").1.extend(word.0);
    }
    for (name, bytes) in streams {
        assert_eq!(check::stream(&bytes, Generation::V3), [], "{name}");
        let engine = Engine::from_name(name.split(' ').nth(1).expect("core and engine"));
        let mut listing = Vec::new();
        text::put_header(&mut listing, Generation::V3, "", engine);
        let options = Options::default();
        text::disassemble(&bytes[..], &mut listing, Generation::V3, &options, |_, _| {})
            .expect("memory takes all");
        assert!(!String::from_utf8_lossy(&listing).contains(".word"), "{name}");
        let mut again = Vec::new();
        text::assemble(&listing[..], &mut again, Generation::V2).expect("our own text assembles");
        assert_eq!(again, bytes, "{name}");
        assert_eq!(Stream::new(&bytes, Generation::V3).len() * 64, bytes.len());
    }
}
