//! `bir klr lower`: a kernel as BIR.

use std::io::{self, Write};

use bir::enums::ArchLevel;
use bir_json::WriteOptions;
use klr::Arena;
use klr_lower::{Error, Note, NoteKind, Problem, mapping};
use serde_json::json;

use super::{Reading, Status, say_notes};
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Format, Result};
use crate::target;

/// Lower a kernel to BIR-JSON: each statement becomes an instruction, or two
///
/// 60 of the 76 operators have a BIR form. How fields become keys and operands is known from traces for most of them;
/// where it is not, this program chooses, and says so. `--mappings` lists what becomes of each operator.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr lower kernel.klr -o kernel.json
  $ bir klr lower --core 1 --target trn3 split.klr | bir stats
  $ bir klr lower --keep-going kernel.klr
  $ bir klr lower --mappings")]
pub(super) struct Opts {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: OutputOpt,
    /// The device that the module is for: inf1, trn1, trn2 or trn3, or the name of an architecture
    #[arg(long, value_name = "TARGET", default_value = "trn2", value_parser = target::ARCH, hide_possible_values = true)]
    target: ArchLevel,
    /// The core whose body is lowered; needed when the kernel has several
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Name all statements that cannot be lowered, not just the first
    #[arg(long)]
    keep_going: bool,
    /// List what the operators become, and how sure that is, instead
    #[arg(long)]
    mappings: bool,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if bir::target::Target::of(self.target).is_none() {
            return Err(Fault::new(
                "the memory of this target is not known, so nothing can be lowered for it",
            ));
        }
        if self.mappings {
            self.output.create()?.write_with(|sink| list_mappings(context.format, sink))?;
            return Ok(Status::Clean);
        }
        if self.reading.ty.ty.is_some() {
            return Err(Fault::new("only whole files are lowered, not bare values"));
        }
        let input = self.reading.open(context)?;
        let arena = Arena::new();
        let read = self.reading.file(&input, &arena, context)?;
        say_notes(&input, &read.notes, context);
        let options =
            klr_lower::Options { target: self.target, core: self.core, keep_going: self.keep_going };
        let progress = context.progress(format!("lowering {}", input.name));
        let lowered = klr_lower::lower(&read.value, &options);
        drop(progress);
        let lowered = lowered.map_err(|error| match error {
            Error::Problems(problems) => refuse(&input.name, &problems, context),
            Error::CoreNeeded { cores } => {
                let choices: Vec<String> = (0..cores.min(8)).map(|core| format!("`--core {core}`")).collect();
                let more = if cores > choices.len() { ", ..." } else { "" };
                Fault::new(format!("{}: {error}", input.name))
                    .note(format!("choose one: {}{more}", choices.join(", ")))
            }
            error => Fault::new(format!("{}: {error}", input.name)),
        })?;
        say_lowered(&input.name, &lowered.notes, context);
        let _progress = context.progress("writing".into());
        self.output.create()?.write_with(|sink| {
            bir_json::write(&lowered.module, sink, &WriteOptions::default())?;
            sink.write_all(b"\n")
        })?;
        std::mem::forget((lowered, arena));
        Ok(Status::Clean)
    }
}

/// Says what the module does not hold; what was chosen in the mappings is for `-v`.
fn say_lowered(file: &str, notes: &[Note], context: &Context) {
    let (choices, losses): (Vec<&Note>, Vec<&Note>) =
        notes.iter().partition(|note| note.kind == NoteKind::Choice);
    for note in losses {
        context.hint(&format!("{file}: {note}"));
    }
    if context.is_verbose() {
        for note in choices {
            context.hint(&format!("{file}: chosen by this program: {note}"));
        }
    } else if !choices.is_empty() {
        let names: Vec<&str> = choices.iter().filter_map(|note| note.message.split(':').next()).collect();
        let text = "are lowered in part by choice of this program; -v says what was chosen";
        context.hint(&format!("{file}: {} {text}", names.join(", ")));
    }
}

/// Names all problems but the last, which is the fault.
fn refuse(file: &str, problems: &[Problem], context: &Context) -> Box<Fault> {
    let fault = |problem: &Problem| {
        let fault = Fault::new(problem.to_string()).in_value(file, &problem.path);
        match problem.kind.vendor_text() {
            Some(text) => fault.note(format!("the 2.24 backend says: {text}")),
            None => fault,
        }
    };
    let Some((last, others)) = problems.split_last() else { return Fault::new("the kernel has no BIR form") };
    for problem in others {
        context.error(&fault(problem));
    }
    let last = fault(last);
    if others.is_empty() { last } else { last.note(format!("{} problems in all", problems.len())) }
}

fn list_mappings(format: Format, sink: &mut dyn Write) -> io::Result<()> {
    for mapping in mapping::MAPPINGS {
        let (operator, bir, known) = (mapping.operator, mapping.bir, mapping.known.name());
        match format {
            Format::Text => {
                writeln!(sink, "{operator} -> {bir} ({known})")?;
                if let Some(choice) = mapping.choice {
                    writeln!(sink, "    {choice}")?;
                }
            }
            Format::Json => {
                let line = json!({
                    "operator": operator, "bir": bir, "known": known, "choice": mapping.choice,
                });
                writeln!(sink, "{line}")?;
            }
        }
    }
    Ok(())
}
