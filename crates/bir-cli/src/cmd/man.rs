//! `bir man`: the manual pages.

use std::fs;
use std::io::{self, Write};
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
  $ bir man klr info | man -l -
  $ bir man --dir ~/.local/share/man/man1")]
pub(crate) struct Opts {
    /// The page of this command, such as `roundtrip` or `klr info`; without it, the page of the program
    command: Vec<String>,
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
                Output::file(&file)?.write_with(|sink| put(page, sink))?;
            }
            return Ok(Status::Clean);
        }
        let name = self.command.join("-");
        let page = match name.as_str() {
            "" => &program,
            name => pages(&program)
                .find(|page| page_name(page).strip_prefix("bir-") == Some(name))
                .ok_or_else(|| Fault::new(format!("there is no command `{}`", self.command.join(" "))))?,
        };
        self.output.create()?.write_with(|sink| put(page, sink))?;
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

/// Writes a page. What stands after the help of a command are examples.
fn put(command: &clap::Command, sink: &mut dyn Write) -> io::Result<()> {
    let page = Man::new(command.clone());
    page.render_title(sink)?;
    page.render_name_section(sink)?;
    page.render_synopsis_section(sink)?;
    page.render_description_section(sink)?;
    page.render_options_section(sink)?;
    if command.has_subcommands() {
        page.render_subcommands_section(sink)?;
    }
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let (title, text) = match after.split_once(":\n") {
            Some(("Examples", text)) => ("EXAMPLES", text),
            _ => ("NOTES", &*after),
        };
        put_section(title, text, sink)?;
    }
    put_section("EXIT STATUS", EXIT_STATUS, sink)?;
    if command.get_version().is_some() {
        page.render_version_section(sink)?;
    }
    Ok(())
}

const EXIT_STATUS: &str = "  0  done, or nothing found; warnings and notes alone are nothing
  1  errors or differences were found
  2  wrong usage, or input that is unreadable, malformed or not supported
  3  undecided: nothing was found, but not everything could be decided (order alone)";

/// A section whose lines are printed as they are.
fn put_section(title: &str, text: &str, sink: &mut dyn Write) -> io::Result<()> {
    writeln!(sink, ".SH \"{title}\"\n.nf")?;
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A dot or a quote at the start of a line would be a request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(sink, "{guard}{line}")?;
    }
    writeln!(sink, ".fi")
}
