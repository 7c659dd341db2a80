//! Findings as JSON lines.

use std::io::{self, Write};

use serde_json::Value;

use super::Shown;

/// Writes a line for each finding.
pub(crate) fn json_lines(sink: &mut dyn Write, shown: &[Shown]) -> io::Result<()> {
    for finding in shown {
        serde_json::to_writer(&mut *sink, &finding.report)?;
        sink.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes one line, such as the summary.
pub(crate) fn json_line(sink: &mut dyn Write, line: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *sink, line)?;
    sink.write_all(b"\n")
}
