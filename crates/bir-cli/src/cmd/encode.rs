//! `bir encode`: a module as the instruction words of each engine.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bir::diag::{DisplayNames, Place, Severity};
use bir::ids::InstId;
use bir::{Holder, Module};
use bir_encode::{Collected, EncodeError, Options, Program};
use bir_json::{Loaded, ReadOptions, Unresolved};
use tpb_isa::{Engine, Generation};

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::Output;
use crate::report::{Context, Fault, Format, Result};
use crate::streams::{INDEX, IndexEntry};
use crate::target;

/// Encode a module into the instruction words of each engine
///
/// Writes PE.bin, Activation.bin, Pool.bin, DVE.bin and SP.bin, all five always, and index.json, which says of every word
/// which instruction it belongs to. The module must be ready for code generation: placed in memory, on engines, without
/// loops. When an instruction cannot be encoded, all such are listed with the operand and the limit, nothing is written,
/// and the exit status is 1.
///
/// Registers, and locations in device memory without an id, are numbered in document order.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir encode dump.json -o streams
  $ bir objdump --target trn2 streams
  $ bir encode --mode collect dump.json
  $ bir encode --mode check --target trn3 dump.json")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    /// Folder for the streams; it is made when it is not there
    #[arg(short, long = "output", value_name = "DIR", required_if_eq("mode", "generate"))]
    output: Option<PathBuf>,
    /// Target of the words: trn1, trn2, trn3, v2, v3, v4, or an arch name; that of the module unless given
    #[arg(long, value_name = "TARGET", value_parser = target::GENERATION, hide_possible_values = true)]
    target: Option<Generation>,
    /// Begin each stream with the two words that streams of packages begin with
    #[arg(long)]
    prologue: bool,
    /// Register that holds the fill value of TensorScalarAffineSelect; without one, the op cannot be encoded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..64))]
    fill_register: Option<u8>,
    /// What to do
    #[arg(long, value_enum, default_value = "generate")]
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// List the opcodes that the module needs.
    Collect,
    /// Write the words.
    Generate,
    /// Make the words and check them against their layouts.
    Check,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        context.oddities(&input.name, input.text(), &loaded.oddities, false);
        let options = Options {
            generation: self.target,
            prologue: self.prologue,
            fill_register: self.fill_register,
            ..Options::default()
        };
        let refused = |error: bir_encode::NoEncoder| {
            Fault::new(format!("{}: {error}", input.name)).note("`--target` names another target")
        };
        let _progress = context.progress(format!("encoding {}", input.name));
        match self.mode {
            Mode::Collect => {
                let collected = bir_encode::collect(&loaded.module, &options).map_err(refused)?;
                print(|sink| put_opcodes(sink, &collected, context.format))?;
                Ok(errors(&collected.errors, &loaded, &input, context))
            }
            Mode::Check => {
                let findings = bir_encode::check(&loaded.module, &options).map_err(refused)?;
                let names = DisplayNames::of(&loaded.module);
                let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
                let (errors, warnings, notes) =
                    (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
                print(|sink| {
                    for finding in &findings {
                        let report = finding.report(&loaded.module, &names);
                        match context.format {
                            Format::Text => writeln!(sink, "{report}")?,
                            Format::Json => {
                                serde_json::to_writer(&mut *sink, &report)?;
                                writeln!(sink)?;
                            }
                        }
                    }
                    match context.format {
                        Format::Text => writeln!(sink, "{errors} errors, {warnings} warnings, {notes} notes"),
                        Format::Json => {
                            let summary = serde_json::json!({
                                "summary": { "errors": errors, "warnings": warnings, "notes": notes }
                            });
                            writeln!(sink, "{summary}")
                        }
                    }
                })?;
                Ok(if errors == 0 { Status::Clean } else { Status::Found })
            }
            Mode::Generate => {
                let program = bir_encode::encode(&loaded.module, &options).map_err(refused)?;
                if errors(&program.errors, &loaded, &input, context) == Status::Found {
                    return Ok(Status::Found);
                }
                let Some(folder) = self.output.as_deref() else {
                    return Err(Fault::new("a folder for the streams is needed: `-o DIR`"));
                };
                write(folder, &loaded.module, &program)?;
                Ok(Status::Clean)
            }
        }
    }
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    Output::stdout().write_with(write)
}

/// Errors that are shown with their place.
const SHOWN: usize = 20;

/// Says what could not be encoded.
fn errors(errors: &[EncodeError], loaded: &Loaded, input: &Input, context: &Context) -> Status {
    if errors.is_empty() {
        return Status::Clean;
    }
    let names = DisplayNames::of(&loaded.module);
    for error in errors.iter().take(SHOWN) {
        let place = match error.operand {
            Some((list, index)) => Place::operand(error.inst, list, index),
            None => Place::of(error.inst),
        };
        let message = format!("{}: {}", place.named(&loaded.module, &names), error.reason);
        match loaded.positions.inst(error.inst) {
            Some(offset) => context.error(&Fault::in_text(&input.name, input.text(), offset, message)),
            None => context.error(&Fault::new(message)),
        }
    }
    if errors.len() > SHOWN {
        context.hint(&format!("{} more instructions cannot be encoded", errors.len() - SHOWN));
    }
    Status::Found
}

fn put_opcodes(sink: &mut dyn Write, collected: &Collected, format: Format) -> io::Result<()> {
    for (engine, opcodes) in Engine::ALL.into_iter().zip(&collected.opcodes) {
        for (opcode, words) in opcodes {
            let row = tpb_isa::opcode(*opcode, None).or_else(|| {
                // An extension word is known by the word in front; the name is the same.
                tpb_isa::opcode(*opcode, Some(tpb_isa::Opcode::PSEUDO_DMA_DIRECT2D.0))
            });
            let mnemonic = row.map_or(".word", |row| row.name);
            match format {
                Format::Text => {
                    writeln!(sink, "{:<10}  {opcode:#04x}  {mnemonic:<28} {words:>8}", engine.name())?
                }
                Format::Json => {
                    let row = serde_json::json!({
                        "stream": engine.name(), "opcode": opcode, "mnemonic": mnemonic, "words": words
                    });
                    writeln!(sink, "{row}")?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the streams and the index.
fn write(folder: &Path, module: &Module, program: &Program) -> Result<()> {
    let name = folder.display().to_string();
    fs::create_dir_all(folder).map_err(|error| Fault::io("create", &name, &error))?;
    for stream in &program.streams {
        let path = folder.join(format!("{}.bin", stream.engine));
        Output::file(&path)?
            .write_with(|sink| stream.words.iter().try_for_each(|word| sink.write_all(&word.0)))?;
    }
    Output::file(&folder.join(INDEX))?.write_with(|sink| put_index(sink, module, program))
}

/// A line for each word, in the order of the streams.
fn put_index(sink: &mut dyn Write, module: &Module, program: &Program) -> io::Result<()> {
    let names = DisplayNames::of(module);
    let mut separator = "[\n";
    for stream in &program.streams {
        for (index, owner) in stream.owners.iter().enumerate() {
            sink.write_all(separator.as_bytes())?;
            separator = ",\n";
            serde_json::to_writer(&mut *sink, &entry(module, &names, stream.engine, index as u64, *owner))?;
        }
    }
    sink.write_all(if separator == "[\n" { b"[]\n" } else { b"\n]\n" })
}

fn entry<'m>(
    module: &'m Module,
    names: &DisplayNames,
    engine: Engine,
    index: u64,
    owner: Option<InstId>,
) -> IndexEntry<'m> {
    let mut entry = IndexEntry { stream: engine.name().into(), index, ..IndexEntry::default() };
    if let Some(owner) = owner {
        let block = module[owner].block;
        entry.instruction = Some(names.name(module, owner).into());
        entry.block = Some(names.name(module, block).into());
        if let Holder::Function(function) = module[block].holder {
            entry.function = Some(names.name(module, function).into());
        }
        entry.position = names.index(owner).map(|position| position as u64);
    }
    entry
}
