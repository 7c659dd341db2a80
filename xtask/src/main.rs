//! Developer commands. `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod codegen;
mod gen_klr;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::gen_module;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of bir-tools")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate Rust code from the tables in spec/.
    Codegen(codegen::Opts),
    /// Measure reading and writing of modules, side by side with the peer.
    Bench(bench::Opts),
    /// Write a realistic module of any size, for benchmarks and checks.
    GenModule(gen_module::Opts),
    /// Write a long KLR file for measurements.
    GenKlr(gen_klr::Opts),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Codegen(opts) => codegen::run(&opts),
        Command::Bench(opts) => bench::run(&opts),
        Command::GenModule(opts) => gen_module::run(&opts),
        Command::GenKlr(opts) => gen_klr::run(&opts),
    }
}
