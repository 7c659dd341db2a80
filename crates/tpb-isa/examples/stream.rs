//! Writes a long stream, to measure `bir objdump` with: `stream mixed|captured MIB FILE`; or times decoding one into
//! structs, the best of some rounds: `stream time mixed|captured MIB`.
#![allow(missing_docs)]
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../benches/streams/mod.rs"]
mod streams;

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use tpb_isa::{Generation, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, third] = &args[..] else {
        return Err("stream mixed|captured MIB FILE, or time mixed|captured MIB".into());
    };
    if first == "time" {
        let stream = bytes(second, third.parse::<usize>()? << 20)?;
        let best = (0..ROUNDS).map(|_| decode(&stream)).min().unwrap_or_default();
        println!("decode {:.2} GB/s", stream.len() as f64 / 1e9 / best.as_secs_f64());
        return Ok(());
    }
    let piece = bytes(first, 1 << 20)?;
    let mut file = File::create(third)?;
    for _ in 0..second.parse::<u32>()? {
        file.write_all(&piece)?;
    }
    Ok(())
}

/// How often a stream is decoded.
const ROUNDS: usize = 10;

fn bytes(kind: &str, length: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    match kind {
        "mixed" => Ok(streams::mixed(length)),
        "captured" => Ok(streams::captured(length)),
        other => Err(format!("{other} is neither mixed nor captured").into()),
    }
}

fn decode(stream: &[u8]) -> Duration {
    let start = Instant::now();
    for word in Stream::new(black_box(stream), Generation::V3) {
        black_box(&word.decode());
    }
    start.elapsed()
}
