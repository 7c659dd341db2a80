//! `bir klr info`: what a file holds.

use klr::Arena;
use serde_json::json;

use super::{Reading, Status, say_notes};
use crate::output::OutputOpt;
use crate::report::{Context, Format, Result};

/// Sum up a file: its schema, kernel, functions, globals, arguments, tensors and operators
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr info kernel.klr
  $ bir klr info --format json kernel.klr | jq .kernel.operators")]
pub(super) struct Opts {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: OutputOpt,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.reading.open(context)?;
        let arena = Arena::new();
        let (text, json) = if self.reading.ty.ty.is_none() {
            let read = self.reading.file(&input, &arena, context)?;
            let info = klr::info::info(&read);
            (info.to_string(), serde_json::to_string_pretty(&info))
        } else {
            let read = self.reading.tree(&input, &arena, context)?;
            say_notes(&input, &read.notes, context);
            let (name, schema, bytes) = (read.value.info().name, read.schema.to_string(), input.text().len());
            let text = format!("bare value of type {name}, {bytes} bytes\nschema {schema}\n");
            let json = json!({"type": name, "bytes": bytes, "schema": schema});
            (text, serde_json::to_string_pretty(&json))
        };
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => sink.write_all(text.as_bytes()),
            Format::Json => writeln!(sink, "{}", json?),
        })?;
        std::mem::forget(arena);
        Ok(Status::Clean)
    }
}
