//! Speed of decoding, disassembling and assembling 64 MiB of mixed words on one thread.
#![allow(missing_docs)]

use std::path::Path;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use tpb_isa::text::{self, Options};
use tpb_isa::{Generation, Stream, WORD_BYTES, Word};

const BYTES: usize = 64 << 20;

fn main() {
    divan::main();
}

/// The words of the data files that are valid on v3, over and over. The golden words are most of a real stream.
fn mixed() -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> =
        std::fs::read_dir(data.join("layouts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut words = Vec::new();
    for path in paths {
        for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| line.starts_with("v3 |")) {
            words.push(Word::from_hex(line.split(" | ").nth(1).unwrap()).unwrap());
        }
    }
    repeated(&words)
}

/// The captured words among the golden ones, over and over: what compiled streams consist of.
fn captured() -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden.txt");
    let text = std::fs::read_to_string(golden).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("; R1 "));
    let words: Vec<_> = lines
        .filter(|line| line.starts_with("v3 |"))
        .map(|line| Word::from_hex(line.split(" | ").nth(1).unwrap()).unwrap())
        .collect();
    repeated(&words)
}

fn repeated(words: &[Word]) -> Vec<u8> {
    words.iter().cycle().take(BYTES / WORD_BYTES).flat_map(|word| word.0).collect()
}

fn inputs() -> [(&'static str, Vec<u8>); 2] {
    [("mixed", mixed()), ("captured", captured())]
}

#[divan::bench(args = ["mixed", "captured"], sample_count = 10)]
fn decode(bencher: Bencher, name: &str) {
    let [mixed, captured] = inputs();
    let bytes = if name == "mixed" { mixed.1 } else { captured.1 };
    bencher.counter(BytesCount::new(BYTES)).bench(|| {
        for word in Stream::new(black_box(&bytes), Generation::V3) {
            black_box(&word.decode());
        }
    });
}

#[divan::bench(args = ["mixed", "captured"], sample_count = 10)]
fn decode_and_encode(bencher: Bencher, name: &str) {
    let [mixed, captured] = inputs();
    let bytes = if name == "mixed" { mixed.1 } else { captured.1 };
    bencher.counter(BytesCount::new(BYTES)).bench(|| {
        for word in Stream::new(black_box(&bytes), Generation::V3) {
            black_box(black_box(word.decode()).encode());
        }
    });
}

#[divan::bench(args = ["mixed", "captured"], sample_count = 3)]
fn disassemble(bencher: Bencher, name: &str) {
    let [mixed, captured] = inputs();
    let bytes = if name == "mixed" { mixed.1 } else { captured.1 };
    bencher.counter(ItemsCount::new(BYTES / WORD_BYTES)).bench(|| {
        text::disassemble(
            black_box(&bytes[..]),
            std::io::sink(),
            Generation::V3,
            &Options::default(),
            |_, _| {},
        )
    });
}

#[divan::bench(args = ["mixed", "captured"], sample_count = 3)]
fn assemble(bencher: Bencher, name: &str) {
    let [mixed, captured] = inputs();
    let bytes = if name == "mixed" { mixed.1 } else { captured.1 };
    let bytes = &bytes[..BYTES / 16];
    let mut listing = Vec::new();
    text::disassemble(bytes, &mut listing, Generation::V3, &Options::default(), |_, _| {}).unwrap();
    bencher
        .counter(ItemsCount::new(bytes.len() / WORD_BYTES))
        .bench(|| text::assemble(black_box(&listing[..]), std::io::sink(), Generation::V3).unwrap());
}
