//! `bir graph`: dependencies, blocks and engines for Graphviz.

use bir_json::{ReadOptions, Unresolved};
use bir_view::find;
use bir_view::graph::{GraphKind, Neighbourhood, graph};

use super::Status;
use crate::input::InputOpt;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Format, Result, not_found};

/// Draw dependencies, blocks or engines, in the language of Graphviz
///
/// `deps`: instructions by engine, with their dependencies by kind, and the waits that counting binds to a producer.
/// `blocks`: what runs after what, with branches and loop bodies. `engines`: how much the engines and queues wait for
/// each other.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir graph --kind engines dump.json | dot -Tsvg -o engines.svg
  $ bir graph --kind deps --around I-1234 --depth 2 dump.json | dot -Tpng -o near.png
  $ bir graph --kind blocks --format json dump.json")]
pub(crate) struct Opts {
    #[command(flatten)]
    input: InputOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// What to draw
    #[arg(long, value_enum, default_value = "deps")]
    kind: Kind,
    /// Only what is near an instruction: by name, block#index, or with * and ?
    #[arg(long, value_name = "NAME")]
    around: Option<String>,
    /// Edges away from it, in either direction
    #[arg(long, value_name = "N", default_value_t = 1, requires = "around")]
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Instructions and their dependencies.
    Deps,
    /// Blocks, branches and loop bodies.
    Blocks,
    /// Engines and queues.
    Engines,
}

/// Graphviz takes minutes for graphs of more nodes.
const MANY: usize = 2000;

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        if self.around.is_some() && self.kind != Kind::Deps {
            return Err(Fault::new("--around is for --kind deps: other graphs have no instructions in them"));
        }
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
                Some(Neighbourhood { insts, depth: self.depth })
            }
        };
        let kind = match self.kind {
            Kind::Deps => GraphKind::Deps,
            Kind::Blocks => GraphKind::Blocks,
            Kind::Engines => GraphKind::Engines,
        };
        let graph = graph(module, kind, around.as_ref());
        self.output.create()?.write_with(|sink| match context.format {
            Format::Text => sink.write_all(graph.dot().as_bytes()),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *sink, &graph)?;
                writeln!(sink)
            }
        })?;
        if graph.nodes.len() > MANY {
            context.hint(&format!(
                "{} nodes: Graphviz will take long; --around shows a part",
                graph.nodes.len()
            ));
        }
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }
}
