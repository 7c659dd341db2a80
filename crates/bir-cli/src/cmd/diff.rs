//! `bir diff`: what changed between two modules.

use std::path::PathBuf;

use bir_json::{Loaded, ReadOptions, Unresolved};
use bir_view::diff::DiffOptions;

use super::Status;
use crate::input::InputOpt;
use crate::output::OutputOpt;
use crate::report::{Context, Format, Result};

/// Say what changed between two modules
///
/// Functions, tensors, queues and blocks are matched by name; instructions by name and opcode, then by shape and place,
/// so that a new compile that counts its names anew is compared as well. What was added, removed, moved or changed is
/// listed in program order, with the exact fields; dependencies are compared as sets. The directory of artefacts is
/// never compared.
///
/// Exit status: 0 without differences, 1 with some.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir diff before.json after.json
  $ bir diff --stat --ignore-schedule before.json after.json
  $ bir diff --format json before.json after.json | jq 'select(.change == \"changed\") | .fields[]'")]
pub(crate) struct Opts {
    /// The module before; may be compressed, or `-` for standard input
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The module after
    #[arg(value_name = "B")]
    after: PathBuf,
    #[command(flatten)]
    output: OutputOpt,
    /// Only the numbers of differences
    #[arg(long)]
    stat: bool,
    /// Leave out the cycles of the schedule
    #[arg(long)]
    ignore_schedule: bool,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let (left, right) = (load(&self.before, context)?, load(&self.after, context)?);
        let options = DiffOptions { ignore_schedule: self.ignore_schedule };
        let diff = bir_view::diff::diff(&left.module, &right.module, &options);
        let paint = self.output.paint(context);
        self.output.create()?.write_with(|sink| match context.format {
            Format::Text => write!(sink, "{}", diff.text(self.stat, paint)),
            Format::Json => {
                for change in diff.changes.iter().filter(|_| !self.stat) {
                    serde_json::to_writer(&mut *sink, change)?;
                    writeln!(sink)?;
                }
                serde_json::to_writer(&mut *sink, &serde_json::json!({ "summary": diff.summary }))?;
                writeln!(sink)
            }
        })?;
        let status = if diff.is_empty() { Status::Clean } else { Status::Found };
        std::mem::forget((left, right));
        Ok(status)
    }
}

fn load(path: &std::path::Path, context: &Context) -> Result<Loaded> {
    let input = InputOpt::of(path.to_path_buf()).open(context)?;
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let loaded = input.module(&options, context)?;
    context.oddities(&input.name, input.text(), &loaded.oddities, false);
    Ok(loaded)
}
