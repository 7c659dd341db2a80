//! `bir stats`: what a module is made of.

use bir_json::{ReadOptions, Unresolved};

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::OutputOpt;
use crate::package::{self, Loaded};
use crate::report::{Context, Format, Result};

/// Count what a module is made of, how often it runs, and what it keeps where
///
/// Instructions by opcode and engine, by loop and by source line; operands; use of SB, PSUM and DRAM against the size of
/// the target; queues, semaphores and dependencies; the largest tensors; the NEFF features that the module needs.
///
/// Runs are counted for one call of a function: trip counts of the loops around an instruction, multiplied. Loops that
/// end by a run-time value, and lowered loops, have no known trip count.
///
/// Of a NEFF package: words by engine, opcode and source line, what transfers move, and the use of semaphores.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir stats dump.json
  $ bir stats --format json dump.json | jq '.memory.sb.partitions'")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Rows of each table, and number of tensors; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        if input.is_package() {
            return self.package(&input, context);
        }
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        context.oddities(&input.name, input.text(), &loaded.oddities, false);
        let tensors = if self.top == 0 { usize::MAX } else { self.top };
        let stats = bir_view::stats::stats(&loaded.module, tensors);
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => write!(sink, "{}", stats.text(self.top)),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *sink, &stats)?;
                writeln!(sink)
            }
        })?;
        // The program ends here: giving back a large module piece by piece would only take time.
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }

    /// Counts the words of a package.
    fn package(&self, input: &Input, context: &Context) -> Result<Status> {
        let Loaded { package, program, generation } = package::load(input, context)?;
        let stats = neff_words::view::stats(&package, &program, generation);
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => write!(sink, "{}", stats.text(self.top)),
            _ => {
                serde_json::to_writer_pretty(&mut *sink, &stats)?;
                writeln!(sink)
            }
        })?;
        Ok(Status::Clean)
    }
}
