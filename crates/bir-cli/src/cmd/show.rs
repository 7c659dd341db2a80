//! `bir show`: everything about one thing.

use std::path::PathBuf;

use bir_json::{ReadOptions, Unresolved};
use bir_view::find::{self, Subject};
use bir_view::show::ShowOptions;

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::OutputOpt;
use crate::package::{self, Loaded};
use crate::report::{Context, Fault, Format, Result, not_found};

/// Show everything about an instruction, tensor, queue, semaphore or register
///
/// Of an instruction: where it comes from in the source, its fields with their meaning, each operand as partitions and
/// bytes with what touches the same bytes before and after, the waits with the producer that each needs by its count,
/// the instructions that wait for it, and its dependencies with the bytes for whose sake they are.
///
/// NAME is a name; `block#7`, the instruction with index 7 of a block; `name@2`, the second of equal names; a pattern
/// with * and ?; or `semaphore:8` and `event:3`.
///
/// Of a NEFF package: an instruction, or that of a word as in `sg00/PE#5`, with its words, what they touch, where it comes
/// from up to the line of the model, and its dependencies before and after reduction.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir show dump.json I-1234
  $ bir show dump.json 'load_x*' --limit 2
  $ bir show dump.json semaphore:8 --limit 0
  $ cat dump.json | bir show I-1234
  $ bir show dump.json Block1#12 --format json | jq '.waits'")]
pub(crate) struct Opts {
    /// Input file, none or `-` for standard input, and what to show
    #[arg(value_name = "[IN] NAME", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    output: OutputOpt,
    /// Entries of each list: accesses on each side, dependencies, waits; 0 for all
    #[arg(long, value_name = "N", default_value_t = 4)]
    limit: usize,
    /// Most things to show when a pattern fits many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    max: usize,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let (input, names) = self.input(context)?;
        if input.is_package() {
            return self.package(&input, names, context);
        }
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        context.oddities(&input.name, input.text(), &loaded.oddities, false);
        let module = &loaded.module;
        let mut subjects: Vec<Subject> = Vec::new();
        for name in names {
            let found = find::find(module, name);
            if found.is_empty() {
                return Err(not_found(&input.name, "object", module, name));
            }
            subjects.extend(found);
        }
        let most = if self.max == 0 { usize::MAX } else { self.max };
        let left = subjects.len().saturating_sub(most);
        subjects.truncate(most);
        let shown = bir_view::show::show(module, &subjects, &ShowOptions { limit: self.limit });
        let paint = self.output.paint(context);
        self.output.create()?.write_as(context, |sink| {
            for (i, each) in shown.iter().enumerate() {
                match context.format {
                    Format::Text => {
                        let gap = if i == 0 { "" } else { "\n" };
                        write!(sink, "{gap}{}", each.text(paint))?;
                    }
                    Format::Json => {
                        serde_json::to_writer(&mut *sink, each)?;
                        writeln!(sink)?;
                    }
                }
            }
            Ok(())
        })?;
        if left > 0 {
            context.hint(&format!("{left} more fit; --max 0 shows all"));
        }
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }

    /// Shows instructions of a package.
    fn package(&self, input: &Input, names: &[String], context: &Context) -> Result<Status> {
        let Loaded { package, program, generation } = package::load(input, context)?;
        let mut shown = Vec::new();
        for name in names {
            let found = neff_words::view::show(&package, &program, generation, name);
            if found.is_empty() {
                return Err(Fault::new(format!("{}: no instruction is called {name}", input.name)).note(
                    "`bir objdump` lists them; a word is called by its stream and number, as in sg00/PE#5",
                ));
            }
            shown.extend(found);
        }
        let most = if self.max == 0 { usize::MAX } else { self.max };
        let left = shown.len().saturating_sub(most);
        shown.truncate(most);
        self.output.create()?.write_as(context, |sink| {
            for (i, each) in shown.iter().enumerate() {
                match context.format {
                    Format::Text => write!(sink, "{}{each}", if i == 0 { "" } else { "\n" })?,
                    _ => {
                        serde_json::to_writer(&mut *sink, each)?;
                        writeln!(sink)?;
                    }
                }
            }
            Ok(())
        })?;
        if left > 0 {
            context.hint(&format!("{left} more fit; --max 0 shows all"));
        }
        Ok(Status::Clean)
    }

    /// The first word is the input when it is `-` or a file that is there; several words need one.
    fn input(&self, context: &Context) -> Result<(Input, &[String])> {
        let (first, rest) = self.words.split_first().ok_or_else(|| Fault::new("what shall be shown?"))?;
        let path = PathBuf::from(first);
        if first == "-" || path.exists() || !rest.is_empty() {
            if rest.is_empty() {
                return Err(Fault::new(format!("what shall be shown of {first}? Give a name behind it")));
            }
            return Ok((InputOpt::of(path).open(context)?, rest));
        }
        Ok((InputOpt::of(PathBuf::from("-")).open(context)?, &self.words))
    }
}
