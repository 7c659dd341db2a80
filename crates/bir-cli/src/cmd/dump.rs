//! `bir dump`: a module as text.

use bir::enums::EngineType;
use bir_json::{ReadOptions, Unresolved};
use bir_view::dump::{Around, DumpError, DumpOptions, Scope};
use bir_view::find;

use super::Status;
use crate::input::InputOpt;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Format, Result, not_found};

/// Print a module as text, one line for each instruction
///
/// `main` comes first, inside the module's lines; the other functions follow. Each line says the engine, the opcode,
/// operands with their place in memory, the keys of the op as they stand in the document, and synchronisation. The text
/// is for reading and searching: nothing reads it back, and it is not byte for byte what the vendor's own dump prints.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir dump dump.json | grep Matmult
  $ bir dump --engine PE --edges dump.json
  $ bir dump --around I-1234 --neighbours 3 dump.json
  $ bir dump --format json dump.json | jq -r 'select(.line == \"instruction\") | .text'")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Only instructions of an engine
    #[arg(long, value_name = "ENGINE", value_parser = find::option::<EngineType>)]
    engine: Option<EngineType>,
    /// Only blocks of that name; may have * and ?
    #[arg(long, value_name = "NAME")]
    block: Option<String>,
    /// Only an instruction and its neighbours: by name, block#index, or with * and ?
    #[arg(long, value_name = "NAME")]
    around: Option<String>,
    /// Neighbours on each side, with --around
    #[arg(long, value_name = "N", default_value_t = 5, requires = "around")]
    neighbours: usize,
    /// Also dependencies
    #[arg(long)]
    edges: bool,
    /// Also debug records
    #[arg(long)]
    debug: bool,
    /// Also the names of the loops around each instruction
    #[arg(long)]
    loops: bool,
    /// Also predicates
    #[arg(long)]
    predicates: bool,
    /// Also the DMA queues, after the functions
    #[arg(long)]
    queues: bool,
    /// Names of enums without quotes
    #[arg(long)]
    plain: bool,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.input.open(context)?;
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let loaded = input.module(&options, context)?;
        context.oddities(&input.name, input.text(), &loaded.oddities, false);
        let module = &loaded.module;
        let around = match &self.around {
            None => None,
            Some(name) => {
                let insts = find::find_insts(module, name);
                if insts.is_empty() {
                    return Err(not_found(&input.name, "instruction", module, name));
                }
                Some(Around { insts, neighbours: self.neighbours })
            }
        };
        if let Some(name) = &self.block
            && let Err(near) = find::find_blocks(module, name)
        {
            let fault = Fault::new(format!("{} has no block called `{name}`", input.name));
            return Err(if near.is_empty() {
                fault
            } else {
                fault.note(format!("near it: {}", near.join(", ")))
            });
        }
        let options = DumpOptions {
            edges: self.edges,
            debug: self.debug,
            loops: self.loops,
            predicates: self.predicates,
            plain: self.plain,
            queues: self.queues,
            scope: Scope { engine: self.engine, block: self.block.clone(), around },
            json: context.format == Format::Json,
        };
        let mut ended = Ok(Default::default());
        self.output.create()?.write_as(context, |sink| {
            ended = bir_view::dump::dump(module, sink, &options);
            match std::mem::replace(&mut ended, Ok(Default::default())) {
                Err(DumpError::Io(error)) => Err(error),
                other => {
                    ended = other;
                    Ok(())
                }
            }
        })?;
        let dumped = ended.map_err(|error| Fault::new(error.to_string()))?;
        if !dumped.unknown.is_empty() {
            let each = dumped.unknown.iter().map(|(op, count)| format!("{count} {op}"));
            let names: Vec<String> = each.take(8).collect();
            let more = if dumped.unknown.len() > 8 { ", ..." } else { "" };
            context.hint(&format!("opcodes that the table does not have: {}{more}", names.join(", ")));
        }
        if dumped.instructions == 0 && (self.engine.is_some() || self.block.is_some()) {
            context.hint("no instruction is of that engine and block");
        }
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }
}
