//! `bir man`: the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;

use super::Status;
use crate::output::{Output, OutputOpt};
use crate::report::{Fault, Result};

/// Print a manual page
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir man | man -l -
  $ bir man roundtrip | man -l -
  $ bir man --dir ~/.local/share/man/man1")]
pub(crate) struct Opts {
    /// The page of this command, such as `roundtrip` or `klr-info`; without it, the page of the program
    command: Option<String>,
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "output"])]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOpt,
}

impl Opts {
    pub(crate) fn run(&self) -> Result<Status> {
        let mut program = crate::Cli::command().disable_help_subcommand(true);
        program.build();
        if let Some(dir) = &self.dir {
            let name = dir.display().to_string();
            fs::create_dir_all(dir).map_err(|error| Fault::io("create", &name, &error))?;
            for page in pages(&program) {
                let file = dir.join(format!("{}.1", page_name(page)));
                Output::file(&file)?.write_with(|sink| Man::new(page.clone()).render(sink))?;
            }
            return Ok(Status::Clean);
        }
        let page = match &self.command {
            None => &program,
            Some(command) => pages(&program)
                .find(|page| page_name(page).strip_prefix("bir-") == Some(command.as_str()))
                .ok_or_else(|| Fault::new(format!("there is no command `{command}`")))?,
        };
        self.output.create()?.write_with(|sink| Man::new(page.clone()).render(sink))?;
        Ok(Status::Clean)
    }
}

/// The program, its commands, and theirs.
fn pages(program: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    let inner = program.get_subcommands().flat_map(clap::Command::get_subcommands);
    let inner = inner.filter(|command| command.get_name() != "help");
    [program].into_iter().chain(program.get_subcommands()).chain(inner)
}

/// `bir`, `bir-roundtrip` or `bir-klr-info`.
fn page_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}
