//! Times reading a module and each view of it, in processor time of one thread, the best of some rounds, which does not
//! depend on what else the machine does: `cargo run --release -p bir-view --example time_views -- FILE [ROUNDS]`.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write};

use bir_view::find::Subject;
use bir_view::{dump, mem, show, stats};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: time_views FILE [ROUNDS]")?;
    let rounds: usize = arguments.get(1).map_or(Ok(3), |rounds| rounds.parse())?;
    let text = std::fs::read(path)?;
    let loaded =
        bir_json::read(&text, &Default::default()).map_err(|error| error.located(&text).to_string())?;
    let module = &loaded.module;
    let read = best(rounds, &mut || {
        black_box(bir_json::read(&text, &Default::default()).is_ok());
    })?;
    println!(
        "{} instructions, {:.1} MB; read {read:.3} s, {:.0} MB/s",
        module.inst_ids().len(),
        megabytes(text.len()),
        megabytes(text.len()) / read
    );
    let mut dumped = Count(0);
    let seconds = best(rounds, &mut || {
        dumped = Count(0);
        let made = dump::dump(module, &mut dumped, &Default::default());
        black_box(made.is_ok());
    })?;
    println!(
        "dump  {seconds:.3} s, {:.0} % of reading, {:.1} MB of text, {:.0} MB/s",
        100.0 * seconds / read,
        megabytes(dumped.0),
        megabytes(dumped.0) / seconds
    );
    let insts: Vec<_> = module.insts().collect();
    let middle = insts.get(insts.len() / 2).map(|inst| Subject::Inst(*inst));
    let subjects: Vec<Subject> = middle.into_iter().collect();
    let views: [(&str, &mut dyn FnMut()); 3] = [
        ("show ", &mut || _ = black_box(show::show(module, &subjects, &Default::default()).len())),
        ("mem  ", &mut || _ = black_box(mem::mem(module, None).locations.len())),
        ("stats", &mut || _ = black_box(stats::stats(module, 10).module.instructions)),
    ];
    for (name, view) in views {
        let seconds = best(rounds, view)?;
        println!("{name} {seconds:.3} s, {:.0} % of reading", 100.0 * seconds / read);
    }
    Ok(())
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Counts what is written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Processor time of the fastest of some rounds, in seconds.
fn best(rounds: usize, run: &mut dyn FnMut()) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::MAX;
    for _ in 0..rounds.max(1) {
        let start = processor_time()?;
        run();
        best = best.min(processor_time()? - start);
    }
    Ok(best)
}

/// Time of this thread on the processor, from the kernel's scheduler statistics, in seconds.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("no time")?.parse::<f64>()? / 1e9)
}
