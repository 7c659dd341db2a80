//! `bir asm`: assembly text to instruction words, the inverse of `bir objdump`.

use std::path::{Path, PathBuf};

use tpb_isa::text::{AsmError, Assembler, Line, Reason, each_line};
use tpb_isa::{Engine, Generation};

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::Output;
use crate::report::{Context, Fault, Result};
use crate::streams::TargetOpt;

/// Assemble instruction words: the inverse of objdump
///
/// What `bir objdump` prints gives back the same bytes. Operands that are left out are what encoders write unasked.
/// Offsets in front of a line and comments behind `;` are for the reader and mean nothing. Text with several streams
/// (`.stream` lines) is written into a folder, one file for each; those of several cores, which are called `sg00/PE`, into
/// a folder for each core.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir objdump --target trn2 PE.bin > PE.asm
  $ bir asm PE.asm -o PE.bin
  $ bir asm all.asm -o streams/")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    /// File for the words, or an existing folder for files called after the streams
    #[arg(short, long = "output", value_name = "OUT.bin")]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOpt,
}

/// A stream that is being assembled.
#[derive(Default)]
struct Assembled {
    /// Of its core, where there are several.
    folder: String,
    engine: Option<Engine>,
    bytes: Vec<u8>,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        let streams = self.assemble(&input)?;
        let is_folder = self.output.is_dir() || self.output.as_os_str().to_string_lossy().ends_with('/');
        if !is_folder {
            let [stream] = &streams[..] else {
                let message =
                    format!("{} holds {} streams, which do not fit one file", input.name, streams.len());
                return Err(Fault::new(message).note("give a folder: `-o DIR/`"));
            };
            write(&self.output, &stream.bytes)?;
            return Ok(Status::Clean);
        }
        for (i, stream) in streams.iter().enumerate() {
            let Some(engine) = stream.engine else {
                let message = format!("{} does not say which engine its words are for", input.name);
                return Err(Fault::new(message).note("begin with `.stream PE`, or give a file: `-o OUT.bin`"));
            };
            let is_same =
                |other: &Assembled| (&other.folder, other.engine) == (&stream.folder, stream.engine);
            if streams[..i].iter().any(is_same) {
                let fault = Fault::new(format!("{} has two streams of {engine}", input.name));
                return Err(fault.note("name a folder for each core: `.stream sg00/PE`, `.stream sg01/PE`"));
            }
        }
        for stream in &streams {
            let engine = stream.engine.expect("checked above");
            let folder = self.output.join(&stream.folder);
            let name = folder.display().to_string();
            std::fs::create_dir_all(&folder).map_err(|error| Fault::io("create", &name, &error))?;
            write(&folder.join(format!("{engine}.bin")), &stream.bytes)?;
        }
        Ok(Status::Clean)
    }

    /// The streams of a text, in order; there is always one.
    fn assemble(&self, input: &Input) -> Result<Vec<Assembled>> {
        // The words are read as those of a generation that is known by then.
        let mut generation = self.target.target;
        let mut assembler = Assembler::new(generation.unwrap_or(Generation::V3));
        let mut streams = vec![Assembled::default()];
        let mut untargeted = None;
        let assembled = each_line(input.text(), |number, text| {
            let at = |(column, reason)| AsmError::Line { line: number, column, reason };
            let line = match assembler.line(text) {
                // A word that cannot be read for want of a target is not what is wrong.
                Err(_) if generation.is_none() => Line::Bytes(Vec::new()),
                line => line.map_err(at)?,
            };
            let last = streams.last_mut().expect("there is always one");
            match line {
                Line::Nothing => {}
                Line::Target(target) => generation = Some(target),
                Line::Stream(folder, engine) => {
                    if last.engine.is_some() || !last.bytes.is_empty() {
                        streams.push(Assembled::default());
                    }
                    let stream = streams.last_mut().expect("there is always one");
                    (stream.folder, stream.engine) = (folder, Some(engine));
                }
                Line::Word(_) | Line::Bytes(_) if generation.is_none() => {
                    untargeted.get_or_insert((number, text.to_owned()));
                }
                Line::Word(word) => last.bytes.extend_from_slice(&word.0),
                Line::Bytes(bytes) => last.bytes.extend_from_slice(&bytes),
            }
            Ok(())
        });
        if let Some((line, text)) = untargeted {
            let fault = Fault::line(
                &input.name,
                line as usize,
                1,
                &text,
                "the target of this word is not known".into(),
            );
            return Err(fault.note("give `--target trn1`, `trn2` or `trn3`, or begin with `.target trn2`"));
        }
        match assembled {
            Ok(()) => Ok(streams),
            Err(AsmError::Line { line, column, reason }) => Err(fault(input, line, column, &reason)),
            Err(AsmError::Io(error)) => Err(Fault::io("read", &input.name, &error)),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Output::file(path)?.write_with(|sink| sink.write_all(bytes))
}

/// The fault of a line, which is looked up again. `column` counts bytes.
fn fault(input: &Input, line: u64, column: usize, reason: &Reason) -> Box<Fault> {
    let number = usize::try_from(line).unwrap_or(usize::MAX);
    let bytes = input.text().split(|&byte| byte == b'\n').nth(number - 1).unwrap_or_default();
    let before = String::from_utf8_lossy(&bytes[..bytes.len().min(column - 1)]).chars().count();
    Fault::line(&input.name, number, before + 1, &String::from_utf8_lossy(bytes), reason.to_string())
}
