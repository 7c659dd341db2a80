//! Findings for people: one line each, then the part of the document, notes, and what to do.

use std::io::{self, Write};

use bir::diag::Severity;

use super::Shown;
use crate::report::{Context, Tone, clean};

/// Writes findings for people.
pub(crate) fn text(sink: &mut dyn Write, shown: &[Shown], context: &Context) -> io::Result<()> {
    for finding in shown {
        one(sink, finding, context)?;
    }
    Ok(())
}

fn one(sink: &mut dyn Write, shown: &Shown, context: &Context) -> io::Result<()> {
    let report = &shown.report;
    let tone = match report.severity {
        Severity::Error => Tone::Error,
        Severity::Warning => Tone::Warning,
        Severity::Note => Tone::Note,
    };
    let line = report.to_string();
    let (label, rest) = line.split_at(line.find(']').map_or(0, |at| at + 1));
    writeln!(sink, "{}{}", context.out(tone, label), clean(rest))?;
    let place = &report.place;
    let number = place.line.map_or_else(String::new, |line| line.to_string());
    let margin = " ".repeat(number.len());
    let frame = |text: &str| context.out(Tone::Frame, text);
    if let (Some(file), Some(line), Some(column)) = (&place.file, place.line, place.column) {
        writeln!(sink, "{margin} {} {}:{line}:{column}", frame("-->"), clean(file))?;
    }
    if let Some(excerpt) = &shown.excerpt {
        let mark = "^".repeat(excerpt.mark.len());
        writeln!(sink, "{number} {} {}", frame("|"), excerpt.line)?;
        writeln!(
            sink,
            "{margin} {} {}{}",
            frame("|"),
            " ".repeat(excerpt.mark.start),
            context.out(tone, &mark)
        )?;
    }
    let mut detail =
        |label: &str, text: &str| writeln!(sink, "{margin} {} {label}: {}", frame("="), clean(text));
    for related in &report.related {
        let line = related.place.line.map_or_else(String::new, |line| format!(" (line {line})"));
        detail(&related.label, &format!("{}{line}", related.place))?;
    }
    for note in &report.notes {
        detail("note", note)?;
    }
    if let Some(help) = &report.help {
        detail("help", help)?;
    }
    if let (_, Some(text)) = (&report.vendor_code, &report.vendor_text) {
        detail("vendor", text)?
    }
    writeln!(sink)
}
