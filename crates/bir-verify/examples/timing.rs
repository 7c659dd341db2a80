//! Times checking against reading, on one thread and on all: `cargo run --release -p bir-verify --example timing -- FILE`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use bir_json::{ReadOptions, Unresolved};
use bir_verify::{Options, verify_loaded};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read(&file)?;
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let best = |run: &mut dyn FnMut() -> usize| {
        let times = (0..3).map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64()
        });
        times.fold(f64::MAX, f64::min)
    };
    let loaded = bir_json::read(&text, &options)?;
    let read =
        best(&mut || bir_json::read(&text, &options).map_or(0, |loaded| loaded.module.inst_ids().len()));
    for parallel in [false, true] {
        let options = Options { parallel, ..Options::default() };
        let check = best(&mut || verify_loaded(&loaded, &options).findings.len());
        println!(
            "{}: read {read:.3} s, check {check:.3} s ({:.0} %), {} instructions",
            if parallel { "all threads" } else { "one thread" },
            100.0 * check / read,
            loaded.module.inst_ids().len()
        );
    }
    Ok(())
}
