//! `bir klr lint`: what the backend refuses, misreads or cannot resolve.

use std::collections::BTreeMap;
use std::io::{self, Write};

use klr::lint::{Finding, RULES, Severity};
use klr::{Arena, Note};
use serde_json::json;

use super::{Reading, Status, say_notes};
use crate::findings::counted;
use crate::output::OutputOpt;
use crate::report::{Context, Format, Result};

/// Check a file for what the backend refuses, misreads or cannot resolve
///
/// Registers, labels and names that nothing has; operators, operands and immediates that have no BIR form; dynamic
/// accesses where there may be none; numbers that do not fit the 32 bits that the backend keeps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir klr lint kernel.klr
  $ bir klr lint --deny KLR017 --format json kernel.klr
  $ bir klr lint --rules")]
pub(super) struct Opts {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: OutputOpt,
    /// Make warnings errors: those of a code such as KLR017, or all with `warnings`
    #[arg(long, value_name = "CODE|warnings", value_parser = deny)]
    deny: Vec<String>,
    /// List the checks instead
    #[arg(long)]
    rules: bool,
}

fn deny(what: &str) -> Result<String, String> {
    if what == "warnings" || RULES.iter().any(|rule| rule.code == what) {
        return Ok(what.to_owned());
    }
    Err("no such check; `bir klr lint --rules` lists them".to_owned())
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if self.rules {
            self.output.create()?.write_as(context, |sink| list_rules(context.format, sink))?;
            return Ok(Status::Clean);
        }
        let input = self.reading.open(context)?;
        let arena = Arena::new();
        // The rest of the notes are findings.
        let lenient = |notes: &[Note]| {
            say_notes(&input, notes.iter().filter(|note| note.kind.is_lenient()), context);
        };
        let mut counts = Counts::default();
        if self.reading.ty.ty.is_none() {
            let read = self.reading.file(&input, &arena, context)?;
            lenient(&read.notes);
            self.output.create()?.write_as(context, |sink| {
                let mut written = Ok(());
                klr::lint::lint_with(&read.value, &mut |finding| {
                    if written.is_ok() {
                        written = self.show(&finding, &input.name, context, &mut counts, sink);
                    }
                });
                written?;
                counts.show(context.format, sink)
            })?;
        } else {
            let read = self.reading.tree(&input, &arena, context)?;
            lenient(&read.notes);
            self.output.create()?.write_as(context, |sink| {
                for finding in klr::lint::lint_value(read.value) {
                    self.show(&finding, &input.name, context, &mut counts, sink)?;
                }
                counts.show(context.format, sink)
            })?;
        }
        std::mem::forget(arena);
        Ok(if counts.errors > 0 { Status::Found } else { Status::Clean })
    }

    fn show(
        &self,
        finding: &Finding,
        file: &str,
        context: &Context,
        counts: &mut Counts,
        sink: &mut dyn Write,
    ) -> io::Result<()> {
        let code = finding.code();
        let denied = self.deny.iter().any(|what| what == "warnings" || what == code);
        let severity = if denied { Severity::Error } else { finding.severity() };
        counts.count(code, severity);
        let Finding { message, path, .. } = finding;
        let severity = severity.name();
        match context.format {
            Format::Text => {
                let dot = if path.is_empty() { "" } else { ", " };
                writeln!(sink, "{severity}[{code}]: {message}\n  --> {file}{dot}{path}")
            }
            Format::Json => {
                let line = json!({"code": code, "severity": severity, "message": message, "path": path});
                writeln!(sink, "{line}")
            }
        }
    }
}

#[derive(Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    by_code: BTreeMap<&'static str, usize>,
}

impl Counts {
    fn count(&mut self, code: &'static str, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        *self.by_code.entry(code).or_default() += 1;
    }

    fn show(&self, format: Format, sink: &mut dyn Write) -> io::Result<()> {
        let Counts { errors, warnings, by_code } = self;
        match format {
            Format::Text => {
                writeln!(sink, "{}, {}", counted(*errors, "error"), counted(*warnings, "warning"))
            }
            Format::Json => {
                let summary = json!({"errors": errors, "warnings": warnings, "by_code": by_code});
                writeln!(sink, "{}", json!({ "summary": summary }))
            }
        }
    }
}

fn list_rules(format: Format, sink: &mut dyn Write) -> io::Result<()> {
    for rule in RULES {
        let (code, severity, title) = (rule.code, rule.severity.name(), rule.title);
        match format {
            Format::Text => writeln!(sink, "{code} {severity:7} {title}")?,
            Format::Json => {
                writeln!(sink, "{}", json!({"code": code, "severity": severity, "title": title}))?;
            }
        }
    }
    Ok(())
}
