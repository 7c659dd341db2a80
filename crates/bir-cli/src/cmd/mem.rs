//! `bir mem`: who uses which bytes, and what does not fit.

use std::path::PathBuf;

use bir_json::{ReadOptions, Unresolved};
use bir_view::find;

use super::Status;
use crate::input::InputOpt;
use crate::output::{Output, OutputOpt};
use crate::report::{Context, Format, Result, not_found};

/// Say who uses which bytes of SB, PSUM and DRAM over the program, and what does not fit
///
/// For each memory: the fullest partition at its worst moment, with the holes that are left; the peak of each quadrant
/// or bank; what does not fit and by how much, with what is live then; locations that are live in the same bytes at
/// the same time; and a map of bytes by steps of the program, darker where more is in use.
///
/// A location is live from the first instruction that touches it to the last. What a loop finds filled, or leaves
/// filled, is live in all of the loop. Locations without a place count with their size.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir mem dump.json
  $ bir mem --at I-1234 dump.json
  $ bir mem --svg mem.svg dump.json
  $ bir mem --format json dump.json | jq '.spaces[0].peak'")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Only what is live at an instruction: a name, or block#index
    #[arg(long, value_name = "NAME")]
    at: Option<String>,
    /// Also draw a picture into FILE
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Entries of each list; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        context.oddities(&input.name, input.text(), &loaded.oddities, false);
        let module = &loaded.module;
        let at = match &self.at {
            None => None,
            Some(name) => match find::find_insts(module, name).first() {
                Some(inst) => Some(*inst),
                None => return Err(not_found(&input.name, "instruction", module, name)),
            },
        };
        let mem = bir_view::mem::mem(module, at);
        let paint = self.output.paint(context);
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => write!(sink, "{}", mem.text(self.top, paint)),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *sink, &mem)?;
                writeln!(sink)
            }
        })?;
        if let Some(path) = &self.svg {
            Output::file(path)?
                .write_as(context, |sink| sink.write_all(bir_view::mem::svg(&mem).as_bytes()))?;
            context.hint(&format!("the picture is in {}", path.display()));
        }
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }
}
