//! The commands, one file each with its options and its `run`.

mod asm;
mod completions;
mod demo;
mod diff;
mod dump;
mod encode;
mod explain;
mod graph;
mod klr;
mod man;
mod mem;
pub(crate) mod neff;
mod objdump;
mod order;
mod order_package;
mod roundtrip;
mod show;
mod stats;
mod verify;

use crate::report::{Context, Fault, Form, Result};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Opts),
    Roundtrip(roundtrip::Opts),
    Dump(dump::Opts),
    Show(show::Opts),
    Stats(stats::Opts),
    Mem(mem::Opts),
    Diff(diff::Opts),
    Graph(graph::Opts),
    Verify(verify::Opts),
    Order(order::Opts),
    Explain(explain::Opts),
    Encode(encode::Opts),
    Objdump(objdump::Opts),
    Asm(asm::Opts),
    Klr(klr::Opts),
    Neff(neff::Opts),
    Completions(completions::Opts),
    Man(man::Opts),
}

/// How a command ended that was not stopped by a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Done, or nothing found.
    Clean,
    /// Errors or differences were found.
    Found,
    /// Nothing was found, but not everything could be decided.
    Undecided,
}

impl Status {
    /// The exit status of the program.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Found => 1,
            Status::Undecided => 3,
        }
    }
}

impl Command {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let finds = match self {
            Command::Verify(_) | Command::Order(_) => true,
            Command::Neff(opts) => opts.finds(),
            _ => false,
        };
        if context.form() == Form::Sarif && !finds {
            return Err(Fault::new("SARIF is a form for what checkers find; this command has text and json"));
        }
        match self {
            Command::Demo(opts) => opts.run(context),
            Command::Roundtrip(opts) => opts.run(context),
            Command::Dump(opts) => opts.run(context),
            Command::Show(opts) => opts.run(context),
            Command::Stats(opts) => opts.run(context),
            Command::Mem(opts) => opts.run(context),
            Command::Diff(opts) => opts.run(context),
            Command::Graph(opts) => opts.run(context),
            Command::Verify(opts) => opts.run(context),
            Command::Order(opts) => opts.run(context),
            Command::Explain(opts) => opts.run(context),
            Command::Encode(opts) => opts.run(context),
            Command::Objdump(opts) => opts.run(context),
            Command::Asm(opts) => opts.run(context),
            Command::Klr(opts) => opts.run(context),
            Command::Neff(opts) => opts.run(context),
            Command::Completions(opts) => opts.run(),
            Command::Man(opts) => opts.run(),
        }
    }
}
