//! `bir klr decode` and `bir klr encode`: CBOR to JSON and back to the same bytes.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use klr::{Arena, ErrorKind, Options, Schema};

use super::{Reading, Status, TypeOpt, say_notes};
use crate::input::{InputOpt, Kind};
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Result};

/// Turn KLR into JSON that holds all of it: numbers of 64 bits, floats by their bits, strings with NUL
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr decode kernel.klr -o kernel.json
  $ bir klr decode --type Operator operator.cbor | jq .")]
pub(super) struct DecodeOpts {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: OutputOpt,
    /// Print on one line
    #[arg(long)]
    compact: bool,
}

impl DecodeOpts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.reading.open(context)?;
        let arena = Arena::new();
        let read = self.reading.tree(&input, &arena, context)?;
        say_notes(&input, &read.notes, context);
        let _progress = context.progress("writing".into());
        self.output.create()?.write_with(|sink| {
            klr::json::write(read.value, sink, !self.compact)?;
            sink.write_all(b"\n")
        })?;
        std::mem::forget(arena);
        Ok(Status::Clean)
    }
}

/// Turn the JSON of `bir klr decode` into KLR, byte for byte what was decoded
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr encode kernel.json -o kernel.klr
  $ bir klr decode kernel.klr | sed 's/old/new/' | bir klr encode -o new.klr")]
pub(super) struct EncodeOpts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    #[command(flatten)]
    ty: TypeOpt,
    /// The schema to insist on, 2.24 or head; without it, each record is of the schema whose members it has
    #[arg(long, value_name = "SCHEMA", value_parser = Schema::from_str)]
    schema: Option<Schema>,
    /// Write what strict reading would refuse, such as strings that are too long
    #[arg(long)]
    lenient: bool,
}

impl EncodeOpts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if self.output.is_stdout() && io::stdout().is_terminal() {
            return Err(
                Fault::new("KLR is not for terminals").note("give `-o FILE`, or send it to a program")
            );
        }
        let input = self.input.open(context)?;
        let kind = Kind::of(input.text());
        if kind != Kind::Json {
            return Err(input.unexpected(kind).note("expected JSON as `bir klr decode` writes it"));
        }
        let text = std::str::from_utf8(input.text()).map_err(|error| {
            Fault::in_text(&input.name, input.text(), error.valid_up_to(), "the text is not UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let arena = Arena::new();
        let ty = self.ty.name();
        let progress = context.progress(format!("reading {}", input.name));
        let value = klr::json::from_str_type(ty, text, &arena).map_err(|error| {
            let offset = offset_of(text, error.line, error.column) + (input.text().len() - text.len());
            Fault::in_text(&input.name, input.text(), offset, error.message).at_path(&error.path)
        })?;
        let bytes = klr::encode_tree(value);
        drop(progress);
        if !self.lenient {
            self.check(&bytes)?;
        }
        self.output.create()?.write_with(|sink| sink.write_all(&bytes))?;
        std::mem::forget(arena);
        Ok(Status::Clean)
    }

    /// What is written can be read.
    fn check(&self, bytes: &[u8]) -> Result<()> {
        let options = self.schema.map_or_else(Options::new, |schema| Options::new().schema(schema));
        match klr::read_type(self.ty.name(), bytes, &Arena::new(), &options) {
            Ok(_) => Ok(()),
            Err(error) => {
                let place = if error.path.is_empty() { String::new() } else { format!(" in {}", error.path) };
                let fault = Fault::new(format!("strict reading would refuse this: {}{place}", error.kind));
                Err(match error.kind {
                    ErrorKind::WrongSchema { schema, .. } => {
                        fault.note(format!("`--schema {}` writes it", schema.other()))
                    }
                    _ => fault.note("`--lenient` writes it"),
                })
            }
        }
    }
}

/// Byte of a text at which a line and column in bytes, both from 1, are.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let mut ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    let start = if line <= 1 { 0 } else { ends.nth(line - 2).unwrap_or(text.len()) };
    (start + column.saturating_sub(1)).min(text.len())
}
