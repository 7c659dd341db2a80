//! `bir klr`: the kernel IR. The options that its commands share, and how they read.

mod convert;
mod info;
mod lint;
mod lower;
mod print;

use std::str::FromStr;

use klr::{Arena, ErrorKind, File, Note, Options, Read, Schema, Tree};

use super::Status;
use crate::input::{Input, InputOpt, Kind};
use crate::report::{Context, Fault, Result};

/// Look at, check, convert and lower KLR files, the kernel IR
///
/// KLR is what the front end hands to the backend. A `.klr` file holds a kernel, as statements for each core or as the syntax tree of its source, or the name of another
/// file. Reading is strict: what the format does not allow is an error with its byte and its place in the value.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr info kernel.klr
  $ bir klr decode kernel.klr -o kernel.json
  $ bir klr encode kernel.json -o again.klr && cmp kernel.klr again.klr
  $ bir klr lint --deny warnings kernel.klr
  $ bir klr lower kernel.klr -o module.json")]
pub(crate) struct Opts {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Info(info::Opts),
    Print(print::Opts),
    Decode(convert::DecodeOpts),
    Encode(convert::EncodeOpts),
    Lower(lower::Opts),
    Lint(lint::Opts),
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        match &self.command {
            Command::Info(opts) => opts.run(context),
            Command::Print(opts) => opts.run(context),
            Command::Decode(opts) => opts.run(context),
            Command::Encode(opts) => opts.run(context),
            Command::Lower(opts) => opts.run(context),
            Command::Lint(opts) => opts.run(context),
        }
    }
}

/// The options of commands that read KLR.
#[derive(clap::Args)]
struct Reading {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    ty: TypeOpt,
    /// The schema of the records of Core kernels, 2.24 or head
    #[arg(long, value_name = "SCHEMA", default_value = "2.24", value_parser = Schema::from_str)]
    schema: Schema,
    /// Accept what the open readers accept, and say what was passed over
    ///
    /// Numbers that are not in their shortest form, long strings, strings that are not UTF-8, bytes after the value,
    /// proofs that take bytes, payloads of unknown builds. Each record may be of either schema.
    #[arg(long)]
    lenient: bool,
}

/// The option that names a type.
#[derive(clap::Args)]
struct TypeOpt {
    /// A bare value of this type stands in the place of a file, for example `Operator`
    ///
    /// Any type of the schema; types of front-end trees are named like `NKI.Stmt@0.0.12` or `Python.Expr@head`.
    #[arg(long = "type", value_name = "TYPE", value_parser = type_name)]
    ty: Option<String>,
}

impl TypeOpt {
    fn name(&self) -> &str {
        self.ty.as_deref().unwrap_or("File")
    }
}

fn type_name(name: &str) -> Result<String, String> {
    if klr::find_type(name).is_some() {
        return Ok(name.to_owned());
    }
    let core = klr::types().map(|entry| entry.info.name.to_owned());
    let trees = klr::frontend_types().map(|(schema, entry)| format!("{}@{schema}", entry.info.name));
    let near = core.chain(trees).find(|known| {
        known.eq_ignore_ascii_case(name) || known.split('@').next().is_some_and(|known| known == name)
    });
    Err(match near {
        Some(near) => format!("the schema has no such type; there is {near}"),
        None => "the schema has no such type".to_owned(),
    })
}

impl Reading {
    /// Opens the input; without a type it must look like a KLR file.
    fn open(&self, context: &Context) -> Result<Input> {
        let input = self.input.open(context)?;
        let kind = Kind::of(input.text());
        // What starts like a tagged value gets a better error from the reader, and so does an empty file.
        if self.ty.ty.is_none() && kind != Kind::Klr && !matches!(input.text().first(), None | Some(0xD9)) {
            return Err(input
                .unexpected(kind)
                .note("expected a KLR file, plain or compressed with gzip or zstd"));
        }
        Ok(input)
    }

    fn options(&self) -> Options {
        Options::new().schema(self.schema).lenient(self.lenient)
    }

    fn file<'a>(&self, input: &'a Input, arena: &'a Arena, context: &Context) -> Result<Read<File<'a>>> {
        let _progress = context.progress(format!("decoding {}", input.name));
        klr::read(input.text(), arena, &self.options()).map_err(|error| self.fault(input, &error))
    }

    fn tree<'a>(
        &self,
        input: &'a Input,
        arena: &'a Arena,
        context: &Context,
    ) -> Result<Read<&'a dyn Tree<'a>>> {
        let _progress = context.progress(format!("decoding {}", input.name));
        klr::read_type(self.ty.name(), input.text(), arena, &self.options())
            .map_err(|error| self.fault(input, &error))
    }

    fn fault(&self, input: &Input, error: &klr::Error) -> Box<Fault> {
        let bytes = input.text();
        let mut fault =
            Fault::in_bytes(&input.name, bytes, error.offset, &error.path, error.kind.to_string());
        if error.is_truncated() && self.ty.ty.is_none() {
            // Spec: klr 13.5.
            fault = fault.note(if bytes.len().is_multiple_of(4096) {
                "the file is truncated; at a multiple of 4096 bytes it is what a crash of the public tool's writer leaves, \
                 not a fault of transfer"
            } else {
                "the file is truncated"
            });
        }
        match &error.kind {
            ErrorKind::WrongType { found: (tag, ..), .. } if error.offset == 0 => {
                if let Some(entry) = klr::types().find(|entry| entry.info.tag == Some(*tag)) {
                    fault =
                        fault.note(format!("`--type {}` reads a bare value of that tag", entry.info.name));
                }
            }
            ErrorKind::WrongSchema { schema, .. } => {
                fault = fault.note(format!("`--schema {}` reads it", schema.other()));
            }
            _ if !self.lenient => {
                let lenient = self.options().lenient(true);
                if klr::read_type(self.ty.name(), bytes, &Arena::new(), &lenient).is_ok() {
                    fault = fault.note("`--lenient` passes over it");
                }
            }
            _ => {}
        }
        match &error.reference {
            Some(reference) => fault.note(format!("the open reader says: {reference}")),
            None => fault,
        }
    }
}

/// Notes that are said without `-v`.
const SAID: usize = 3;

/// Says what reading let pass.
fn say_notes<'n>(input: &Input, notes: impl IntoIterator<Item = &'n Note>, context: &Context) {
    let notes: Vec<&Note> = notes.into_iter().collect();
    let said = if context.is_verbose() { notes.len() } else { SAID };
    for note in notes.iter().take(said) {
        context.hint(&format!("{}: {note}", input.name));
    }
    if notes.len() > said {
        context.hint(&format!("{}: {} more like these; -v says all", input.name, notes.len() - said));
    }
}
