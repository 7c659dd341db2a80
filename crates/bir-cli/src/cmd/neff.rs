//! `bir neff`: look into packages, check them, take them apart and put them together.

mod check;
mod extract;
mod info;
mod ls;
mod pack;

use std::path::PathBuf;

use neff::{Container, Limits};

use super::Status;
use crate::input::{Input, Kind};
use crate::report::{Context, Fault, Result};

/// Look into a NEFF package, check it, take it apart or make one
///
/// A package is read as a stream: members are never held as a whole unless something in them is asked for. Links,
/// devices, names that lead out of a folder and lengths that are not true are errors, whatever the command.
#[derive(clap::Args)]
pub(crate) struct Opts {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Info(info::Opts),
    Ls(ls::Opts),
    Extract(extract::Opts),
    Check(check::Opts),
    Pack(pack::Opts),
}

impl Opts {
    /// Whether what it prints are findings, which SARIF is for.
    pub(crate) fn finds(&self) -> bool {
        matches!(self.command, Command::Check(_))
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        match &self.command {
            Command::Info(opts) => opts.run(context),
            Command::Ls(opts) => opts.run(context),
            Command::Extract(opts) => opts.run(context),
            Command::Check(opts) => opts.run(context),
            Command::Pack(opts) => opts.run(context),
        }
    }
}

/// The options of commands that read a package.
#[derive(clap::Args)]
struct PackageOpt {
    /// Package; none or `-` for standard input. A payload without its header is read as well
    #[arg(value_name = "NEFF")]
    input: Option<PathBuf>,
    /// Take a digest that does not match for an error
    #[arg(long)]
    strict: bool,
}

impl PackageOpt {
    fn open(&self, context: &Context) -> Result<Input> {
        Input::package(self.input.as_deref(), context)
    }

    /// Opens the container of an input, whatever its digest.
    fn any_container<'a>(&self, input: &'a Input) -> Result<Container<'a>> {
        let container = Container::open(input.text()).map_err(|error| match Kind::of(input.text()) {
            Kind::Neff | Kind::Tar | Kind::Binary => fault(&input.name, &error),
            other => input.unexpected(other).note("expected a NEFF package, or the payload of one"),
        })?;
        Ok(container)
    }

    /// Opens the container of an input, and compares the digest when that is asked for.
    fn container<'a>(&self, input: &'a Input) -> Result<Container<'a>> {
        let container = self.any_container(input)?;
        if let (true, Some(header)) = (self.strict, &container.header) {
            container.integrity().require(header).map_err(|error| fault(&input.name, &error))?;
        }
        Ok(container)
    }
}

/// A package that cannot be read.
pub(crate) fn fault(file: &str, error: &neff::Error) -> Box<Fault> {
    Fault::new(format!("{file}: {error}"))
}

fn limits() -> Limits {
    Limits::default()
}
