//! `bir objdump`: instruction words as text, or as JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bir_json::{ReadOptions, Unresolved};
use tpb_isa::text::{Options, Printer, put_header};
use tpb_isa::{Generation, WORD_BYTES, each_word, json};

use super::Status;
use crate::input::Input;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Format, Result};
use crate::streams::{self, FromModule, Stream, TargetOpt};

/// Disassemble instruction streams
///
/// One line for each 64-byte word: offset, mnemonic, what it waits for and updates, then the operands that are not as
/// encoders write them unasked. Behind `;` stand the instruction that the word belongs to, its source line, and what is
/// odd about it. `bir asm` turns the text into the same bytes again.
///
/// IN is a stream, a folder of streams as `bir encode` writes it, or of such folders, one for each core, or a NEFF package. `index.json` in a folder gives names;
/// a package gives names, source lines, and what the numbers in its words stand for. Streams of any length are read in
/// constant memory, compressed ones too; those of a package are held.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir objdump --target trn2 PE.bin
  $ bir objdump --bir dump.json streams | less
  $ bir objdump model.neff
  $ bir objdump --target trn2 --format json DVE.bin | jq -r .mnemonic | sort | uniq -c")]
pub(crate) struct Opts {
    /// Stream, folder of streams or package; none or `-` for standard input. A stream may be compressed with gzip or zstd
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOpt,
    #[command(flatten)]
    target: TargetOpt,
    /// Show the 64 bytes of each word
    #[arg(long)]
    raw: bool,
    /// Module that the words were made of: gives names, source lines, and the target
    ///
    /// Where no index says which instruction a word belongs to, the words are compared with those that the module gives.
    /// A word that has no counterpart there gets no name.
    #[arg(long, value_name = "FILE")]
    bir: Option<PathBuf>,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let mut streams = streams::open(self.input.as_deref(), self.target.target, context)?;
        if let Some(file) = &self.bir {
            self.add_names(&mut streams, file, context)?;
        }
        let generations: Result<Vec<Generation>> =
            streams.iter().map(|stream| self.generation(stream)).collect();
        let generations = generations?;
        let _progress = context.progress("disassembling".to_owned());
        let options = Options { raw: self.raw, ..Options::default() };
        let mut tails = Vec::new();
        // Cores of a package have streams of the same engines.
        let has_cores = streams.iter().enumerate().any(|(at, stream)| {
            stream.engine.is_some() && streams[..at].iter().any(|other| other.engine == stream.engine)
        });
        let written = self.output.create()?.write_as(context, |sink| {
            for (stream, generation) in streams.iter_mut().zip(generations) {
                let tail = match context.format {
                    Format::Text => put_text(sink, stream, generation, has_cores, &options)?,
                    Format::Json => put_json(sink, stream, generation)?,
                };
                if tail > 0 {
                    tails.push((stream.file.clone(), tail));
                }
            }
            Ok(())
        });
        if let Some(fault) = streams.iter().find_map(Stream::fault) {
            return Err(fault);
        }
        written?;
        for (file, tail) in tails {
            context.hint(&format!("{file} ends with {tail} bytes that are no whole word"));
        }
        Ok(Status::Clean)
    }

    /// Adds what the module says.
    fn add_names(&self, streams: &mut [Stream], file: &Path, context: &Context) -> Result<()> {
        let input = Input::file(file, context)?;
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let module = input.module(&options, context)?.module;
        let options =
            bir_encode::Options { generation: self.target.target, ..bir_encode::Options::default() };
        let program = bir_encode::encode(&module, &options)
            .map_err(|error| Fault::new(format!("{}: {error}", file.display())))?;
        let program = Rc::new(program);
        let by_name = Rc::new(streams::source_lines(&module));
        let module = Rc::new(module);
        for stream in streams {
            stream.generation = stream.generation.or(Some(program.generation));
            FromModule::add(stream, &module, &program, &by_name);
        }
        Ok(())
    }

    /// The generation of a stream: what was asked for, or what the input says.
    fn generation(&self, stream: &Stream) -> Result<Generation> {
        self.target.target.or(stream.generation).ok_or_else(|| {
            let message = format!("{} does not say what target its words are for", stream.file);
            Fault::new(message).note("give `--target trn1`, `trn2` or `trn3`, or the module: `--bir FILE`")
        })
    }
}

/// Bytes of output that are collected before they are written: few large pieces cost the system less.
const FLUSH: usize = 256 * 1024;

/// Writes a stream as text; returns the number of bytes behind its last word.
fn put_text(
    sink: &mut dyn Write,
    stream: &mut Stream,
    generation: Generation,
    has_cores: bool,
    options: &Options,
) -> io::Result<usize> {
    let mut header = Vec::new();
    let folder = stream.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    if stream.engine.is_some_and(|engine| engine.name() != stream.name) {
        let _ = writeln!(header, "; {}", stream.name);
    }
    put_header(&mut header, generation, if has_cores { folder } else { "" }, stream.engine);
    sink.write_all(&header)?;
    let mut printer = Printer::new(options.clone());
    let annotations = &mut stream.annotations;
    let mut comment = String::new();
    let end = each_word(&mut stream.bytes, generation, |word| {
        let known = annotations.of(word);
        comment.clear();
        for part in [known.instruction, known.source, known.note].into_iter().flatten() {
            if !comment.is_empty() {
                comment.push_str(", ");
            }
            comment.push_str(part);
        }
        printer.put(word, &comment);
        if printer.text().len() >= FLUSH {
            sink.write_all(printer.text())?;
            printer.clear();
        }
        Ok(())
    })?;
    if !end.tail.is_empty() {
        printer.put_tail(end.words * WORD_BYTES as u64, &end.tail);
    }
    sink.write_all(printer.text())?;
    Ok(end.tail.len())
}

/// Writes a stream as JSON, a line for each word; returns the number of bytes behind its last word.
fn put_json(sink: &mut dyn Write, stream: &mut Stream, generation: Generation) -> io::Result<usize> {
    let mut text = String::with_capacity(2 * FLUSH);
    let annotations = &mut stream.annotations;
    let name = &stream.name;
    let end = each_word(&mut stream.bytes, generation, |word| {
        let known = annotations.of(word);
        json::put_line(&mut text, name, word, known.instruction, known.source);
        text.push('\n');
        if text.len() >= FLUSH {
            sink.write_all(text.as_bytes())?;
            text.clear();
        }
        Ok(())
    })?;
    sink.write_all(text.as_bytes())?;
    Ok(end.tail.len())
}
