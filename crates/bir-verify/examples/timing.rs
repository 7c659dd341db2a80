//! Times checking against reading, in processor time of one thread, the best of some rounds, which does not depend on what
//! else the machine does; and by the clock on all processors:
//! `cargo run --release -p bir-verify --example timing -- FILE [ROUNDS]`.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use bir_json::{ReadOptions, Unresolved};
use bir_verify::{Options, verify_loaded};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: timing FILE [ROUNDS]")?;
    let rounds: usize = arguments.get(1).map_or(Ok(3), |rounds| rounds.parse())?;
    let text = std::fs::read(path)?;
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let loaded = bir_json::read(&text, &options).map_err(|error| error.located(&text).to_string())?;
    let read = best(rounds, &processor_time, &mut || {
        black_box(bir_json::read(&text, &options).is_ok());
    })?;
    println!("{} instructions; read {read:.3} s", loaded.module.inst_ids().len());
    let check = |parallel| {
        let options = Options { parallel, ..Options::default() };
        black_box(verify_loaded(&loaded, &options).findings.len());
    };
    let alone = best(rounds, &processor_time, &mut || check(false))?;
    println!("one thread: check {alone:.3} s, {:.0} % of reading", 100.0 * alone / read);
    let start = Instant::now();
    let all = best(rounds, &|| Ok(start.elapsed().as_secs_f64()), &mut || check(true))?;
    println!("all processors: check {all:.3} s by the clock");
    Ok(())
}

/// The fastest of some rounds, in seconds.
fn best(
    rounds: usize,
    now: &dyn Fn() -> Result<f64, Box<dyn Error>>,
    run: &mut dyn FnMut(),
) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::MAX;
    for _ in 0..rounds.max(1) {
        let start = now()?;
        run();
        best = best.min(now()? - start);
    }
    Ok(best)
}

/// Time of this thread on the processor, from the kernel's scheduler statistics, in seconds.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("no time")?.parse::<f64>()? / 1e9)
}
