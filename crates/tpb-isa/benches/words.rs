//! Speed of decoding, disassembling and assembling 64 MiB of mixed words on one thread.
#![allow(missing_docs)]

mod streams;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use tpb_isa::text::{self, Options};
use tpb_isa::{Generation, Stream, WORD_BYTES};

const BYTES: usize = 64 << 20;

fn main() {
    divan::main();
}

fn inputs() -> [(&'static str, Vec<u8>); 2] {
    [("mixed", streams::mixed(BYTES)), ("captured", streams::captured(BYTES))]
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
