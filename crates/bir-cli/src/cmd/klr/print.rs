//! `bir klr print`: a value as text.

use klr::Arena;
use klr::print::python::{self, Style, python};

use super::{Reading, Status, say_notes};
use crate::output::OutputOpt;
use crate::report::{Context, Result};

/// Print a file as text: a kernel as indented statements, a syntax tree as the Python that it came from
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr print kernel.klr | less
  $ bir klr print --positions file traced.klr
  $ bir klr print --type Operator --klr-compat operator.cbor")]
pub(super) struct Opts {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: OutputOpt,
    /// Print on one line as the open code's printer does, byte for byte, without a newline at the end
    #[arg(long, conflicts_with_all = ["tree", "sexp"])]
    klr_compat: bool,
    /// Print what a syntax tree is made of rather than Python
    #[arg(long, conflicts_with = "sexp")]
    tree: bool,
    /// Print as the public 0.0.12 tool dumps: an S-expression of the contents, without quotes
    #[arg(long)]
    sexp: bool,
    /// End the lines of Python in their positions: as stored, counted in the function, or as line of the file
    #[arg(long, value_enum, default_value = "off", value_name = "WHICH")]
    positions: Positions,
    /// Print the source text of functions as comments, where the file has it
    #[arg(long)]
    source: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Positions {
    Off,
    Stored,
    File,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.reading.open(context)?;
        let arena = Arena::new();
        let is_file = self.reading.ty.ty.is_none();
        if is_file && !self.klr_compat && !self.tree {
            let read = self.reading.file(&input, &arena, context)?;
            let contents = &read.value.contents;
            let text = if self.sexp {
                Some(klr::print::sexp(contents) + "\n")
            } else {
                python(contents, Style { positions: self.positions(), source: self.source })
            };
            if let Some(text) = text {
                say_notes(&input, &read.notes, context);
                self.output.create()?.write_with(|sink| sink.write_all(text.as_bytes()))?;
                std::mem::forget(arena);
                return Ok(Status::Clean);
            }
        }
        let read = self.reading.tree(&input, &arena, context)?;
        say_notes(&input, &read.notes, context);
        let _progress = context.progress("printing".into());
        if self.klr_compat {
            // Byte for byte what the reference prints.
            self.output.create()?.write_with(|sink| klr::print::write_compat(read.value, sink))?;
            std::mem::forget(arena);
            return Ok(Status::Clean);
        }
        self.output.create()?.write_as(context, |sink| match self.sexp {
            true => writeln!(sink, "{}", klr::print::sexp(read.value)),
            false => klr::print::write_readable(read.value, sink),
        })?;
        // The program ends here; giving the memory back would only take time.
        std::mem::forget(arena);
        Ok(Status::Clean)
    }

    fn positions(&self) -> python::Positions {
        match self.positions {
            Positions::Off => python::Positions::Off,
            Positions::Stored => python::Positions::Stored,
            Positions::File => python::Positions::File,
        }
    }
}
