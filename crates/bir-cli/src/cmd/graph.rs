//! `bir graph`: dependencies, blocks and engines for Graphviz.

use bir_json::{ReadOptions, Unresolved};
use bir_view::find;
use bir_view::graph::{Graph, GraphKind, Neighbourhood, graph};
use neff_words::graph::Around;

use super::Status;
use crate::input::{Input, InputOpt};
use crate::output::OutputOpt;
use crate::package::{self, Loaded};
use crate::report::{Context, Fault, Format, Result, not_found};

/// Draw dependencies, blocks or engines, in the language of Graphviz
///
/// `deps`: instructions by engine, with their dependencies by kind, and the waits that counting binds to a producer.
/// `blocks`: what runs after what, with branches and loop bodies. `engines`: how much the engines and queues wait for
/// each other.
///
/// Of a NEFF package there are the `deps`: those of its debug members, and the waits of its words.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir graph --kind engines dump.json | dot -Tsvg -o engines.svg
  $ bir graph --kind deps --around I-1234 --depth 2 dump.json | dot -Tpng -o near.png
  $ bir graph --kind blocks --format json dump.json
  $ bir graph --around I-72-0 model.neff | dot -Tsvg -o near.svg")]
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
        if input.is_package() {
            let graph = self.package(&input, context)?;
            self.put(&graph, context)?;
            return Ok(Status::Clean);
        }
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
        self.put(&graph, context)?;
        std::mem::forget(loaded);
        Ok(Status::Clean)
    }

    /// The dependencies of a package.
    fn package(&self, input: &Input, context: &Context) -> Result<Graph> {
        if self.kind != Kind::Deps {
            let message = format!("{}: of a package there are only the dependencies", input.name);
            return Err(Fault::new(message).note("`--kind deps` draws them"));
        }
        let Loaded { package, program, generation } = package::load(input, context)?;
        let around = self.around.as_deref().map(|name| Around { name, depth: self.depth });
        let graph = neff_words::graph::deps(&package, &program, generation, around);
        if let Some(Around { name, .. }) = around
            && !graph.nodes.iter().any(|node| node.marked)
        {
            let message = format!("{}: no instruction is called {name}", input.name);
            return Err(Fault::new(message).note(
                "`bir objdump` lists them; a word is called by its stream and number, as in sg00/PE#5",
            ));
        }
        Ok(graph)
    }

    fn put(&self, graph: &Graph, context: &Context) -> Result<()> {
        self.output.create()?.write_with(|sink| match context.format {
            Format::Text => sink.write_all(graph.dot().as_bytes()),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *sink, graph)?;
                writeln!(sink)
            }
        })?;
        if graph.nodes.len() > MANY {
            context.hint(&format!(
                "{} nodes: Graphviz will take long; --around shows a part",
                graph.nodes.len()
            ));
        }
        Ok(())
    }
}
