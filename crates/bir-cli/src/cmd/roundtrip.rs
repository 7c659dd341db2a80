//! `bir roundtrip`: load, write canonically.

use std::io::{self, Write};

use bir::Module;
use bir_json::{ReadOptions, WriteOptions};

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Result};

/// Read a module and write it in canonical form
///
/// Members that the format does not know are kept in place and counted on standard error. Whatever the input was, a
/// second round trip changes nothing.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir roundtrip dump.json -o canonical.json
  $ bir roundtrip --check canonical.json && echo canonical
  $ zstdcat dump.json.zst | bir roundtrip --wrap | less")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Print `{"module": ...}` around the module
    #[arg(long)]
    wrap: bool,
    /// Drop the members that the format does not know, as the reference does
    #[arg(long)]
    drop_unknown: bool,
    /// Refuse unknown members and enum names, duplicate keys, name collisions and misplaced nulls
    #[arg(long)]
    strict: bool,
    /// Print nothing; exit with 1 and the first line that differs when the input is not what this call would print
    #[arg(long, conflicts_with = "output")]
    check: bool,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        let options = ReadOptions { strict: self.strict, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        // A check is for scripts: what it would have said of an output that nobody sees is for `-v`.
        if !self.check || context.is_verbose() {
            context.oddities(&input.name, input.text(), &loaded.oddities, self.drop_unknown);
        }
        if self.check {
            return self.compare(&input, &loaded.module, context);
        }
        let output = self.output.create()?;
        let _progress = context.progress("writing".into());
        output.write_with(|sink| self.write(&loaded.module, sink))?;
        // The program ends here. Giving back a million instructions one by one is time that nobody has asked for.
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }

    fn write(&self, module: &Module, sink: &mut dyn Write) -> io::Result<()> {
        let options = WriteOptions {
            drop_unknown: self.drop_unknown,
            wrap: self.wrap,
            threads: crate::input::threads(),
            ..WriteOptions::default()
        };
        bir_json::write(module, sink, &options)?;
        sink.write_all(b"\n")
    }

    fn compare(&self, input: &Input, module: &Module, context: &Context) -> Result<Status> {
        let _progress = context.progress(format!("checking {}", input.name));
        let mut comparison = Comparison { text: input.text(), same: 0, ours: None };
        // The comparison stops the writer by an error of its own.
        let written = self.write(module, &mut comparison);
        if written.is_ok() && comparison.same == input.text().len() {
            return Ok(Status::Clean);
        }
        let at = comparison.same;
        let message = "the input is not in canonical form: this is the first line that differs";
        let start = input.text()[..at].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let mut expected = input.text()[start..at].to_vec();
        expected.extend(comparison.ours.unwrap_or_default());
        context.error(&Fault::differs(&input.name, input.text(), at, message, at - start, &expected));
        Ok(Status::Found)
    }
}

/// Takes what would be written, and stops where it is not the text.
struct Comparison<'a> {
    text: &'a [u8],
    /// Bytes that are the same.
    same: usize,
    /// What would be written from there on, to the end of the line or as far as is worth showing.
    ours: Option<Vec<u8>>,
}

/// Bytes of a differing line that are kept.
const SHOWN: usize = 400;

impl Write for Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rest = &self.text[self.same..];
        let mut differs = bytes;
        if self.ours.is_none() {
            let same = if rest.starts_with(bytes) {
                bytes.len()
            } else {
                bytes.iter().zip(rest).take_while(|(ours, theirs)| ours == theirs).count()
            };
            self.same += same;
            differs = &bytes[same..];
            if differs.is_empty() {
                return Ok(bytes.len());
            }
        }
        let ours = self.ours.get_or_insert_default();
        ours.extend(differs.iter().take(SHOWN));
        if ours.len() >= SHOWN || ours.contains(&b'\n') {
            return Err(io::Error::other("the texts differ"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_finds_the_first_difference_however_the_text_comes() {
        let ours = b"{\n  \"a\": 1,\n  \"b\": 22\n}\n";
        for chunk in [1, 2, 7, 100] {
            let compare = |text: &[u8]| {
                let mut comparison = Comparison { text, same: 0, ours: None };
                let written = ours.chunks(chunk).try_for_each(|bytes| comparison.write_all(bytes));
                (written.is_ok(), comparison.same, comparison.ours)
            };
            assert_eq!(compare(ours), (true, ours.len(), None));
            let (complete, same, rest) = compare(b"{\n  \"a\": 1,\n  \"b\": 23\n}\n");
            assert!(!complete && same == 20 && rest.unwrap().starts_with(b"2\n"), "chunk {chunk}");
            let (_, same, rest) = compare(b"{\n");
            assert_eq!((same, rest.unwrap().first()), (2, Some(&b' ')));
            let longer = [ours, &b"x"[..]].concat();
            assert_eq!(compare(&longer), (true, ours.len(), None));
        }
    }
}
