//! `cargo xtask bench --what design`: every speed that the project promises, each beside its goal.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{BIR, Input, Program, Run, Work, cargo, mb, median, module, once, programs};

/// What the public checkers take for 10,000 instructions, in seconds: measured elsewhere, the faster of the two.
const PUBLIC_CHECKER: f64 = 89.0;
/// What the open reader of KLR does, compiled with -O3, in MB/s: measured elsewhere.
const KLR_READER: f64 = 80.0;
/// What the open writer of KLR does.
const KLR_WRITER: f64 = 110.0;

/// A line of the table.
fn row(work: &str, measured: &str, goal: &str, met: bool) {
    println!("{work:<46} {measured:<34} {goal:<30} {}", if met { "met" } else { "missed" });
}

pub(super) fn run(root: &Path, folder: &Path, runs: usize) -> Result<()> {
    let peers = programs(root, folder, false)?;
    for package in [&["-p", "bir-verify", "--example", "timing"], &["-p", "klr", "--example", "time_klr"]] {
        cargo(root, package)?;
    }
    cargo(root, &["-p", "klr", "--example", "gen_klr"])?;
    cargo(root, &["-p", "tpb-isa", "--example", "stream"])?;
    println!("{:<46} {:<34} {:<30}", "work", "measured", "goal");
    json(&peers, &module(folder, 50_000)?, runs)?;
    order(root, folder, runs)?;
    klr(root, folder)?;
    words(root)?;
    let verify = printed(root, "timing", &[&path_text(&module(folder, 200_000)?.path)?, "3"])?;
    let percent = before(&verify, " % of reading")?;
    row(
        "verify, 200,000 instructions, one thread",
        &format!("{percent} % of reading"),
        "25 %",
        percent <= 25.0,
    );
    println!("medians of {runs} alternating runs, or the best of a program's own rounds; one processor");
    Ok(())
}

/// Reading and writing of BIR-JSON beside the peer.
fn json(all: &[Program], input: &Input, runs: usize) -> Result<()> {
    let find = |name: &str| {
        let mut found = all.iter().filter(|program| program.work == Work::Roundtrip);
        found.find(|program| program.name == name).with_context(|| format!("no program {name}"))
    };
    let programs = [find("nlohmann parse + dump(2)")?, find("bir-json read + write")?, find(BIR)?];
    let [peer, library, whole] = alternate(programs, input, runs)?;
    let speed = |run: Run| format!("{:.1}x, {:.0} MB/s", peer.seconds / run.seconds, rate(input, run));
    let met = |run: Run| peer.seconds / run.seconds >= 12.0;
    row("BIR-JSON, 50,000 instructions, the library", &speed(library), "12x nlohmann", met(library));
    row("BIR-JSON, the whole program", &speed(whole), "12x nlohmann", met(whole));
    let memory = peer.peak_rss as f64 / whole.peak_rss as f64;
    row("BIR-JSON, memory of the program", &format!("1/{memory:.1}"), "1/8 of nlohmann", memory >= 8.0);
    Ok(())
}

fn rate(input: &Input, run: Run) -> f64 {
    input.bytes().map_or(f64::NAN, |bytes| mb(bytes) / run.seconds)
}

/// The ordering check: at 10,000 instructions, beyond reading at 200,000, and how both grow.
fn order(root: &Path, folder: &Path, runs: usize) -> Result<()> {
    let program = |path: &str, argument, prints_figures| Program {
        name: "order",
        work: Work::Read,
        is_peer: false,
        prints_figures,
        one_processor: true,
        path: root.join(path),
        arguments: vec![argument],
    };
    let order = program("target/release/bir", "order", false);
    let read = program("target/release/examples/read_write", "read", true);
    let [ten] = alternate([&order], &module(folder, 10_000)?, runs)?;
    let times = PUBLIC_CHECKER / ten.seconds;
    row(
        "order, 10,000 instructions, the whole program",
        &format!("{:.2} s, {times:.0}x", ten.seconds),
        "1,000x the public checkers",
        times >= 1000.0,
    );
    let [small] = alternate([&order], &module(folder, 20_000)?, runs)?;
    let input = module(folder, 200_000)?;
    let [large, reading] = alternate([&order, &read], &input, runs.min(3))?;
    let beyond = large.seconds - reading.seconds;
    row("order, 200,000, beyond reading", &format!("{beyond:.2} s"), "about 1 s", beyond <= 1.2);
    let growth = large.seconds / small.seconds;
    row("order, 20,000 to 200,000", &format!("{growth:.1}x the time"), "12x", growth <= 12.0);
    let memory = large.peak_rss as f64 / input.bytes()? as f64;
    row("order, 200,000, memory", &format!("{memory:.2} of the file"), "1.5 of the file", memory < 1.5);
    Ok(())
}

fn klr(root: &Path, folder: &Path) -> Result<()> {
    let file = path_text(&folder.join("long.klr"))?;
    printed(root, "gen_klr", &[&file, "200000", "1"])?;
    let text = printed(root, "time_klr", &[&file, "50"])?;
    for (work, peer, goal) in [
        ("decode", KLR_READER, "5x the open reader"),
        ("encode", KLR_WRITER, "5x the open writer"),
        ("encode_into", KLR_WRITER, "5x the open writer"),
    ] {
        let figure = text.lines().find(|line| line.starts_with(&format!("{work} ")));
        let speed = before(figure.context("no figure of KLR")?, " MB/s")?;
        let times = speed / peer;
        row(&format!("KLR, {work}"), &format!("{speed} MB/s, {times:.1}x"), goal, times >= 5.0);
    }
    Ok(())
}

fn words(root: &Path) -> Result<()> {
    for kind in ["captured", "mixed"] {
        let text = printed(root, "stream", &["time", kind, "64"])?;
        let speed = before(&text, " GB/s")?;
        row(&format!("words into structs, {kind}"), &format!("{speed} GB/s"), "1 GB/s", speed >= 1.0);
    }
    Ok(())
}

/// Runs programs in turn; the medians of each.
fn alternate<const N: usize>(programs: [&Program; N], input: &Input, runs: usize) -> Result<[Run; N]> {
    let mut results = [const { Vec::new() }; N];
    for _ in 0..runs {
        for (program, results) in programs.iter().zip(&mut results) {
            results.push(once(program, input, None)?);
        }
    }
    Ok(results.map(|runs| median(&runs)))
}

/// What an example prints.
fn printed(root: &Path, example: &str, arguments: &[&str]) -> Result<String> {
    let path = root.join("target/release/examples").join(example);
    let output = Command::new(&path).args(arguments).output();
    let output = output.with_context(|| format!("cannot run {}", path.display()))?;
    ensure!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number that stands before some text.
fn before(text: &str, unit: &str) -> Result<f64> {
    let number = text.split_once(unit).and_then(|(start, _)| start.rsplit(' ').next());
    number
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("no number before `{unit}` in {text}"))
}

fn path_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).context("the path is no UTF-8")
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn numbers_stand_before_their_unit() {
        assert_eq!(before("decode 68ms, 460 MB/s", " MB/s").unwrap(), 460.0);
        assert!(before("decode fast MB/s", " MB/s").is_err());
        assert!(before("nothing", " GB/s").is_err());
    }
}
