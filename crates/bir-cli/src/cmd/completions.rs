//! `bir completions`: scripts with which a shell completes the program's options.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Status;
use crate::output::OutputOpt;
use crate::report::Result;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  $ bir completions bash > ~/.local/share/bash-completion/completions/bir")]
pub(crate) struct Opts {
    /// The shell
    shell: Shell,
    #[command(flatten)]
    output: OutputOpt,
}

impl Opts {
    pub(crate) fn run(&self) -> Result<Status> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "bir", &mut script);
        self.output.create()?.write_with(|sink| sink.write_all(&script))?;
        Ok(Status::Clean)
    }
}
