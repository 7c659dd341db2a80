//! `cargo xtask bench --what order`: the ordering check on modules of growing size, beside reading them alone.

use std::path::Path;

use anyhow::Result;

use super::{Input, LARGE, Program, Run, Work, cargo, mb, median, module, once};

/// Sizes of the modules unless others are asked for, in instructions. A million takes minutes.
const SIZES: [u64; 4] = [2_000, 10_000, 50_000, 200_000];

pub(super) fn run(root: &Path, folder: &Path, sizes: &[u64], runs: usize) -> Result<()> {
    cargo(root, &["-p", "bir-cli"])?;
    cargo(root, &["-p", "bir-json", "--example", "read_write"])?;
    let program = |name, path: &str, arguments: &[&'static str], prints_figures| Program {
        name,
        work: Work::Read,
        is_peer: false,
        prints_figures,
        one_processor: true,
        path: root.join(path),
        arguments: arguments.to_vec(),
    };
    let read = program("bir-json read", "target/release/examples/read_write", &["read"], true);
    let order = program("bir order", "target/release/bir", &["order"], false);
    println!(
        "{:>12} {:>9} {:>9} {:>9} {:>9} {:>10} {:>7} {:>9}",
        "instructions", "MB", "read s", "order s", "check s", "peak MB", "x file", "x before"
    );
    let mut before: Option<f64> = None;
    for &size in if sizes.is_empty() { &SIZES[..] } else { sizes } {
        let input = module(folder, size)?;
        let bytes = input.bytes()?;
        let runs = if bytes > LARGE { runs.min(3) } else { runs };
        let (read, order) = both(&read, &order, &input, runs)?;
        println!(
            "{:>12} {:>9.1} {:>9.3} {:>9.3} {:>9.3} {:>10.1} {:>7.2} {:>9}",
            size,
            mb(bytes),
            read.seconds,
            order.seconds,
            order.seconds - read.seconds,
            mb(order.peak_rss),
            order.peak_rss as f64 / bytes as f64,
            before.map_or_else(|| "-".to_owned(), |before| format!("{:.1}", order.seconds / before)),
        );
        before = Some(order.seconds);
    }
    println!(
        "medians of alternating runs, one processor; order is the whole program, check what it takes beyond reading"
    );
    Ok(())
}

/// The medians of two programs that run in turn.
fn both(read: &Program, order: &Program, input: &Input, runs: usize) -> Result<(Run, Run)> {
    let mut results = (Vec::new(), Vec::new());
    for _ in 0..runs {
        results.0.push(once(read, input, None)?);
        results.1.push(once(order, input, None)?);
    }
    Ok((median(&results.0), median(&results.1)))
}
