//! `cargo xtask bench`: reading and writing of modules, side by side with the peer in `bench/peer`.
//!
//! Every program is a process of its own, held on one processor but for one row; runs alternate between the programs, so that a change of the
//! machine's load meets all of them, and the median counts. Output goes to the null device: a disk is not measured.

mod design;
mod order;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use wait4::Wait4;

use xtask::gen_module;

#[derive(clap::Args)]
pub(crate) struct Opts {
    /// What is measured.
    #[arg(long, value_enum, default_value = "roundtrip")]
    what: What,
    /// Sizes of the modules, in instructions [default: 50000,1000000; for order from 2000 to 200000].
    #[arg(long, value_delimiter = ',')]
    instructions: Vec<u64>,
    /// Runs of every program; the median counts. Inputs above 400 MB are run at most three times.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Run the peer only, for example before the program exists.
    #[arg(long)]
    peer_only: bool,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Reading and writing, beside the peer.
    Roundtrip,
    /// The ordering check.
    Order,
    /// Every speed that the project promises, beside its goal.
    Design,
}

/// Memory that the peer needs for a round trip, in multiples of its input (13.4 were measured).
const PEER_MEMORY: u64 = 16;
/// Sizes of the modules unless others are asked for, in instructions.
const SIZES: [u64; 2] = [50_000, 1_000_000];
/// Inputs above this are run less often.
const LARGE: u64 = 400 << 20;

/// The program itself: it prints the document.
const BIR: &str = "bir roundtrip";
/// The same, with all processors.
const BIR_ALL: &str = "bir roundtrip, all cores";

/// What is timed. Rows with the same work are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Read,
    Write,
    Roundtrip,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Read => "read",
            Work::Write => "write",
            Work::Roundtrip => "roundtrip",
        }
    }
}

/// A program with the arguments that make it do one kind of work on a file.
struct Program {
    name: &'static str,
    work: Work,
    is_peer: bool,
    /// Whether it prints its own figures, and nothing else.
    prints_figures: bool,
    /// Whether it is held on one processor.
    one_processor: bool,
    path: PathBuf,
    arguments: Vec<&'static str>,
}

/// One run: seconds and peak resident bytes.
#[derive(Clone, Copy)]
struct Run {
    seconds: f64,
    peak_rss: u64,
}

pub(crate) fn run(opts: &Opts) -> Result<()> {
    ensure!(opts.runs > 0, "--runs must be at least 1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    if opts.what == What::Order {
        return order::run(root, &folder, &opts.instructions, opts.runs);
    }
    if opts.what == What::Design {
        return design::run(root, &folder, opts.runs);
    }
    let programs = programs(root, &folder, opts.peer_only)?;
    let mut compared = false;
    let sizes = if opts.instructions.is_empty() { &SIZES[..] } else { &opts.instructions };
    for &instructions in sizes {
        let input = module(&folder, instructions)?;
        let bytes = input.bytes()?;
        println!(
            "\n{instructions} instructions, {:.1} MB, {:.0} bytes an instruction",
            mb(bytes),
            bytes as f64 / instructions as f64
        );
        let fits = available_memory()? / PEER_MEMORY >= bytes;
        measure(&programs, &input, bytes, opts.runs, fits)?;
        if !fits {
            // The largest multiple of 50,000 that the peer can hold.
            let each = PEER_MEMORY * bytes / instructions;
            let smaller = available_memory()? / each / 50_000 * 50_000;
            ensure!(smaller > 0, "the peer has no memory for 50,000 instructions");
            println!("\nthe peer has no memory for that file; the largest that fits: {smaller} instructions");
            let input = module(&folder, smaller)?;
            measure(&programs, &input, input.bytes()?, opts.runs, true)?;
        }
        if !compared && fits {
            compare_output(&programs, &input, &folder)?;
            compared = true;
        }
    }
    Ok(())
}

/// Builds everything and lists the programs. What is missing is said, and its rows are left out.
fn programs(root: &Path, folder: &Path, peer_only: bool) -> Result<Vec<Program>> {
    let peer = folder.join("nlohmann");
    let made = Command::new("make")
        .arg("-s")
        .arg("-C")
        .arg(root.join("bench/peer"))
        .arg(format!("OUT={}", peer.display()))
        .status()
        .context("cannot run make; the peer needs make, g++ and nlohmann-json3-dev")?;
    ensure!(made.success(), "the peer was not built (bench/peer/Makefile)");
    let row = |name, work, is_peer, path: &Path, arguments: &[&'static str]| Program {
        name,
        work,
        is_peer,
        prints_figures: ![BIR, BIR_ALL].contains(&name),
        one_processor: name != BIR_ALL,
        path: path.to_owned(),
        arguments: arguments.to_vec(),
    };
    let mut programs = vec![
        row("nlohmann parse", Work::Read, true, &peer, &["parse"]),
        row("nlohmann dump(2)", Work::Write, true, &peer, &["dump"]),
        row("nlohmann parse + dump(2)", Work::Roundtrip, true, &peer, &["roundtrip"]),
    ];
    if peer_only {
        return Ok(programs);
    }

    // The library alone, through an example that prints the line of `measured_line`.
    if root.join("crates/bir-json/examples/read_write.rs").exists() {
        cargo(root, &["-p", "bir-json", "--example", "read_write"])?;
        let example = root.join("target/release/examples/read_write");
        programs.push(row("bir-json read", Work::Read, false, &example, &["read"]));
        programs.push(row("bir-json write", Work::Write, false, &example, &["write"]));
        programs.push(row("bir-json read + write", Work::Roundtrip, false, &example, &["roundtrip"]));
    } else {
        println!("crates/bir-json/examples/read_write.rs is missing: no rows for the library alone");
    }
    cargo(root, &["-p", "bir-cli"])?;
    let bir = root.join("target/release/bir");
    programs.push(row(BIR, Work::Roundtrip, false, &bir, &["roundtrip"]));
    programs.push(row(BIR_ALL, Work::Roundtrip, false, &bir, &["roundtrip"]));
    Ok(programs)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "--quiet", "--release"])
        .args(arguments)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo build {} failed", arguments.join(" "));
    Ok(())
}

/// A module of that size, made anew: an old one may be another generator's.
fn module(folder: &Path, instructions: u64) -> Result<Input> {
    let path = folder.join(format!("module-{instructions}.json"));
    gen_module::run(&gen_module::Opts {
        instructions,
        seed: 1,
        target: gen_module::Target::Trn2,
        breaks: 0,
        planted: None,
        output: Some(path.clone()),
    })?;
    Ok(Input { path })
}

struct Input {
    path: PathBuf,
}

impl Input {
    fn bytes(&self) -> Result<u64> {
        let metadata =
            fs::metadata(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(metadata.len())
    }
}

/// Runs all programs on a file in turn and prints the table.
fn measure(programs: &[Program], input: &Input, bytes: u64, runs: usize, with_peer: bool) -> Result<()> {
    let runs = if bytes > LARGE { runs.min(3) } else { runs };
    let programs: Vec<&Program> = programs.iter().filter(|p| with_peer || !p.is_peer).collect();
    let mut results: Vec<Vec<Run>> = vec![Vec::new(); programs.len()];
    for _ in 0..runs {
        for (program, results) in programs.iter().zip(&mut results) {
            results.push(once(program, input, None)?);
        }
    }
    let medians: Vec<Run> = results.iter().map(|runs| median(runs)).collect();
    println!(
        "{:<26} {:<10} {:>10} {:>10} {:>10} {:>8} {:>9} {:>9}",
        "program", "work", "median s", "MB/s", "peak MB", "x file", "speed", "memory"
    );
    for (program, result) in programs.iter().zip(&medians) {
        // Ratios to the peer doing the same work: how many times faster, and which part of its memory.
        let peer = programs.iter().zip(&medians).find(|(p, _)| p.is_peer && p.work == program.work);
        let (speed, memory) = match peer {
            Some((_, peer)) if !program.is_peer => (
                format!("{:.1}x", peer.seconds / result.seconds),
                format!("1/{:.1}", peer.peak_rss as f64 / result.peak_rss as f64),
            ),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        println!(
            "{:<26} {:<10} {:>10.3} {:>10.1} {:>10.1} {:>8.2} {:>9} {:>9}",
            program.name,
            program.work.name(),
            result.seconds,
            mb(bytes) / result.seconds,
            mb(result.peak_rss),
            result.peak_rss as f64 / bytes as f64,
            speed,
            memory
        );
    }
    println!(
        "{runs} alternating runs, one processor unless the row says otherwise, MB = 10^6 bytes of input"
    );
    Ok(())
}

/// One run of a program. A line `seconds=S peak_rss=BYTES` that it prints goes before what is seen from outside.
fn once(program: &Program, input: &Input, output: Option<File>) -> Result<Run> {
    let (mut printed, pipe) = std::io::pipe().context("cannot make a pipe")?;
    let stdout = match output {
        Some(file) => Stdio::from(file),
        None if program.prints_figures => Stdio::from(pipe.try_clone().context("cannot copy a pipe")?),
        None => Stdio::null(),
    };
    let start = Instant::now();
    let mut command = if program.one_processor {
        let mut held = Command::new("taskset");
        held.args(["-c", "0"]).arg(&program.path);
        held
    } else {
        Command::new(&program.path)
    };
    command.args(&program.arguments).arg(&input.path).stdout(stdout).stderr(pipe);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.path.display()))?;
    // The command holds the writing ends of the pipe, which must close before its end can be read.
    drop(command);
    let mut text = String::new();
    printed.read_to_string(&mut text).context("cannot read what a program printed")?;
    let ended = child.wait4().context("cannot wait for a program")?;
    let seconds = start.elapsed().as_secs_f64();
    if !ended.status.success() {
        bail!("{} failed on {}: {}", program.name, input.path.display(), text.trim());
    }
    Ok(measured_line(&text).unwrap_or(Run { seconds, peak_rss: ended.rusage.maxrss }))
}

/// The figures of a line `seconds=… peak_rss=… bytes=…`.
fn measured_line(text: &str) -> Option<Run> {
    let line = text.lines().rev().find(|line| line.starts_with("seconds="))?;
    let value = |key: &str| line.split(' ').find_map(|part| part.strip_prefix(key));
    Some(Run { seconds: value("seconds=")?.parse().ok()?, peak_rss: value("peak_rss=")?.parse().ok()? })
}

fn median(runs: &[Run]) -> Run {
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let mut peaks: Vec<u64> = runs.iter().map(|run| run.peak_rss).collect();
    peaks.sort_unstable();
    Run { seconds: seconds[seconds.len() / 2], peak_rss: peaks[peaks.len() / 2] }
}

/// A generated module is canonical but for its layout, so both programs must print the same bytes.
fn compare_output(programs: &[Program], input: &Input, folder: &Path) -> Result<()> {
    let Some(bir) = programs.iter().find(|p| p.name == BIR) else { return Ok(()) };
    let ours = folder.join("out-bir.json");
    let theirs = folder.join("out-peer.json");
    once(bir, input, Some(File::create(&ours)?))?;
    let status = Command::new(folder.join("nlohmann"))
        .arg("roundtrip")
        .arg(&input.path)
        .arg(&theirs)
        .stderr(Stdio::null())
        .status()
        .context("cannot run the peer")?;
    ensure!(status.success(), "the peer failed");
    let same = fs::read(&ours)? == fs::read(&theirs)?;
    println!(
        "output of bir roundtrip and of the peer: {}",
        if same { "same bytes" } else { "DIFFERENT bytes" }
    );
    ensure!(same, "compare {} with {}", ours.display(), theirs.display());
    Ok(())
}

/// Bytes that can be used without swapping.
fn available_memory() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse().ok())
        .context("/proc/meminfo has no MemAvailable")?;
    Ok(kib * 1024)
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_from_the_line_of_a_program() {
        let run = measured_line("note: warm\nseconds=1.250000 peak_rss=4096 bytes=10\n").unwrap();
        assert_eq!((run.seconds, run.peak_rss), (1.25, 4096));
        assert!(measured_line("12 unknown members kept\n").is_none());
        assert!(measured_line("seconds=fast peak_rss=4096\n").is_none());
    }

    #[test]
    fn one_slow_run_does_not_count() {
        let runs = [3.0, 1.0, 1.1].map(|seconds| Run { seconds, peak_rss: 7 });
        assert_eq!(median(&runs).seconds, 1.1);
    }
}
