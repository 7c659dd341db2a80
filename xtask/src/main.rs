//! Developer commands. `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod codegen;
mod gen_klr;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
    /// Write a long KLR file for measurements.
    GenKlr(gen_klr::Opts),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Codegen(opts) => codegen::run(&opts),
        Command::GenKlr(opts) => gen_klr::run(&opts),
    }
}
