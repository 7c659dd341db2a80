//! `bir diff`: what changed between two modules.

use std::path::{Path, PathBuf};

use bir_json::{Loaded, ReadOptions, Unresolved};
use bir_view::diff::DiffOptions;
use neff_words::view::Change;

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::OutputOpt;
use crate::package;
use crate::report::{Context, Fault, Format, Result};

/// Say what changed between two modules
///
/// Functions, tensors, queues and blocks are matched by name; instructions by name and opcode, then by shape and place,
/// so that a new compile that counts its names anew is compared as well. What was added, removed, moved or changed is
/// listed in program order, with the exact fields; dependencies are compared as sets. The directory of artefacts is
/// never compared.
///
/// Of two NEFF packages: versions and features, variables, queues, members, and instructions with their words.
///
/// Exit status: 0 without differences, 1 with some.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir diff before.json after.json
  $ bir diff --stat --ignore-schedule before.json after.json
  $ bir diff --format json before.json after.json | jq 'select(.change == \"changed\") | .fields[]'")]
pub(crate) struct Opts {
    /// The module or package before; may be compressed, or `-` for standard input
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
        let open = |path: &Path| InputOpt::of(path.to_path_buf()).open(context);
        let (before, after) = (open(&self.before)?, open(&self.after)?);
        match (before.is_package(), after.is_package()) {
            (true, true) => return self.packages(&before, &after, context),
            (false, false) => {}
            _ => return Err(Fault::new("a package is compared with a package, a module with a module")),
        }
        let (left, right) = (load(&before, context)?, load(&after, context)?);
        let options = DiffOptions { ignore_schedule: self.ignore_schedule };
        let diff = bir_view::diff::diff(&left.module, &right.module, &options);
        let paint = self.output.paint(context);
        self.output.create()?.write_as(context, |sink| match context.format {
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

    /// Compares two packages.
    fn packages(&self, before: &Input, after: &Input, context: &Context) -> Result<Status> {
        let (before, after) = (package::load(before, context)?, package::load(after, context)?);
        let changes = neff_words::view::diff(before.side(), after.side());
        let count = |change: &str| changes.iter().filter(|found| found.change == change).count();
        let [added, removed, changed] = ["added", "removed", "changed"].map(count);
        self.output.create()?.write_as(context, |sink| {
            let shown = changes.iter().filter(|_| !self.stat);
            if context.format == Format::Json {
                for change in shown {
                    serde_json::to_writer(&mut *sink, change)?;
                    writeln!(sink)?;
                }
                let summary = serde_json::json!({ "added": added, "removed": removed, "changed": changed });
                return writeln!(sink, "{}", serde_json::json!({ "summary": summary }));
            }
            for Change { what, change, name, before, after } in shown {
                write!(sink, "{change} {what} {name}")?;
                match (before, after) {
                    (Some(before), Some(after)) => writeln!(sink, ": {before} -> {after}")?,
                    (Some(one), None) | (None, Some(one)) => writeln!(sink, ": {one}")?,
                    (None, None) => writeln!(sink)?,
                }
            }
            writeln!(sink, "{added} added, {removed} removed, {changed} changed")
        })?;
        Ok(if changes.is_empty() { Status::Clean } else { Status::Found })
    }
}

fn load(input: &Input, context: &Context) -> Result<Loaded> {
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let loaded = input.module(&options, context)?;
    context.oddities(&input.name, input.text(), &loaded.oddities, false);
    Ok(loaded)
}
