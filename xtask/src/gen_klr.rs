//! `cargo xtask gen-klr`: writes a long KLR file for measurements.
//!
//! The work is done by an example of the `klr` crate: this program must build while generated code does not.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

#[derive(clap::Args)]
pub(crate) struct Opts {
    /// The file to write.
    #[arg(short, long, default_value = "target/long.klr")]
    output: PathBuf,
    /// Statements; about 160 bytes each.
    #[arg(short, long, default_value_t = 200_000)]
    instructions: usize,
    /// The same seed makes the same file.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(opts: &Opts) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--package", "klr", "--example", "gen_klr", "--"])
        .arg(&opts.output)
        .arg(opts.instructions.to_string())
        .arg(opts.seed.to_string())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the generator failed");
    Ok(())
}
