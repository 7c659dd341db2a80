//! `cargo xtask gen-module`: writes a realistic, legal and correctly synchronised module of any size.
//!
//! The module looks like a compiler dump after the last pass that changes synchronisation: a tiled kernel whose
//! buffers rotate, on all five engines and five DMA queues. It is written as it is made, in constant memory; the same
//! options give the same bytes. With `--break K` exactly K waits are missing, each the only order of one pair.

mod document;
mod kernel;
mod memory;
mod rng;
mod schedule;
mod sync;
#[cfg(test)]
mod tests;
mod text;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

pub use memory::Target;
use schedule::{Config, Planted};

/// Options of the command.
#[derive(clap::Args, Clone, Debug)]
pub struct Opts {
    /// Instructions in the function, exactly; descriptors of DMA queues come on top.
    #[arg(long, value_name = "N")]
    pub instructions: u64,
    /// The same seed gives the same module.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Device whose memory sizes and dtypes are used.
    #[arg(long, value_enum, default_value = "trn2")]
    pub target: Target,
    /// Leave out this many waits; each leaves exactly one pair of instructions unordered.
    #[arg(long = "break", value_name = "K", default_value_t = 0)]
    pub breaks: u64,
    /// Where the unordered pairs are written, one JSON object a line [default: standard error].
    #[arg(long, value_name = "FILE")]
    pub planted: Option<PathBuf>,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Writes a module to a file or to standard output, and the pairs that were left unordered.
///
/// # Errors
/// When an option is out of its range, or something cannot be written.
pub fn run(opts: &Opts) -> Result<()> {
    ensure!(
        opts.instructions >= schedule::MIN_INSTRUCTIONS,
        "--instructions must be at least {}",
        schedule::MIN_INSTRUCTIONS
    );
    ensure!(opts.instructions <= u64::from(u32::MAX), "--instructions must be below 2^32");
    let config =
        Config { instructions: opts.instructions, seed: opts.seed, target: opts.target, breaks: opts.breaks };
    let planted = match &opts.output {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
            generate(config, &mut { file }).with_context(|| format!("cannot write {}", path.display()))?
        }
        None => generate(config, &mut io::stdout().lock()).context("cannot write to standard output")?,
    };
    if planted.len() as u64 != opts.breaks {
        bail!(
            "only {} of {} waits could be left out with exactly one unordered pair each; take more instructions",
            planted.len(),
            opts.breaks
        );
    }
    let lines: String = planted.iter().map(|p| planted_line(p) + "\n").collect();
    match &opts.planted {
        Some(path) => std::fs::write(path, lines).with_context(|| format!("cannot write {}", path.display())),
        None => io::stderr().write_all(lines.as_bytes()).context("cannot write to standard error"),
    }
}

/// The text of a module without faults; at least 100 instructions.
pub fn module(instructions: u64, seed: u64, target: Target) -> Vec<u8> {
    let mut text = Vec::new();
    let config = Config { instructions, seed, target, breaks: 0 };
    generate(config, &mut text).expect("memory takes everything");
    text
}

fn generate(config: Config, writer: &mut dyn Write) -> io::Result<Vec<Planted>> {
    let mut text = text::Text::new(writer);
    let planted = document::write(config, &mut text)?;
    text.finish()?;
    Ok(planted)
}

/// A planted pair as JSON, named as the ordering check names it.
fn planted_line(planted: &Planted) -> String {
    let name = document::name_text;
    format!(
        r#"{{"kind":"{}","first":"{}","second":"{}","wait":{{"from":"{}","id":{},"value":{}}}}}"#,
        planted.kind.name(),
        name(planted.first),
        name(planted.second),
        name(planted.wait.from),
        sync::semaphore_id(planted.wait.semaphore),
        planted.wait.count
    )
}
