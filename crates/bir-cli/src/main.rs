//! The `bir` program: options that all commands share, and what becomes of a command's result.

mod cmd;
mod findings;
mod input;
mod map;
mod output;
mod package;
mod printable;
mod progress;
mod report;
mod streams;
mod target;

use std::process::ExitCode;

use clap::Parser;

use report::{Context, GlobalOpts};

/// Read, check, explain and rewrite what the Neuron compiler backend makes.
///
/// Where a command takes an input, no input or `-` means standard input; gzip and zstd are seen by content. `-o FILE`
/// writes to a file instead of standard output.
///
/// Exit status: 0 done or clean, 1 errors or differences found, 2 bad usage or unreadable input, 3 undecided.
#[derive(Parser)]
#[command(name = "bir", version = env!("BIR_VERSION"), max_term_width = 100, after_help = "New here? Run `bir demo`.")]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalOpts,
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let context = Context::new(&cli.global);
    match cli.command.run(&context) {
        Ok(status) => ExitCode::from(status.code()),
        Err(fault) if fault.is_closed_pipe() => ExitCode::SUCCESS,
        Err(fault) => {
            context.error(&fault);
            ExitCode::from(2)
        }
    }
}
