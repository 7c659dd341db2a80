//! What the instruction words of a NEFF package mean: which instruction each belongs to, what its numbers stand for, what
//! it touches.
//!
//! The crate `neff` knows packages and not words, `tpb-isa` words and not packages. [`Program`] is both together:
//! the streams of each core with their debug information. [`note`] says what the numbers in a word stand for, [`check`]
//! what is wrong with words, [`features`] what they need of a loader. [`access`] says what a word touches, [`flow`] how
//! streams run, and [`order`] checks the order of what ships.

pub mod access;
mod address;
pub mod check;
pub mod features;
pub mod flow;
pub mod graph;
pub mod note;
pub mod order;
pub mod view;

use std::collections::HashMap;

use neff::debug::{EngineDebug, FrontEnd};
use neff::{Container, EngineKey, EnginePart, Error, Graph, Kind, Limits, Member, Package};
use tpb_isa::{Engine, Generation, Stream};

pub use address::{Target, target};

/// The streams of a package, in memory.
#[derive(Clone, Debug)]
pub struct Program {
    /// One for each core, as in [`Package::graphs`].
    pub cores: Vec<Core>,
}

/// The streams of a core.
#[derive(Clone, Debug)]
pub struct Core {
    /// Name of the graph.
    pub name: String,
    /// The engines that have a stream, in the order in which packages list them.
    pub engines: Vec<EngineStream>,
    /// Debug layers above the instructions.
    pub front_end: FrontEnd,
}

/// The stream of an engine.
#[derive(Clone, Debug)]
pub struct EngineStream {
    /// The engine under its key.
    pub key: EngineKey,
    /// The engine.
    pub engine: Engine,
    /// The member.
    pub file: String,
    /// Name of the stream: the member without its extension, as in `sg00/PE`.
    pub name: String,
    /// The words.
    pub bytes: Vec<u8>,
    /// Debug information; which word belongs to what is left out when it is of another number of words.
    pub debug: EngineDebug,
    /// Lines of the producer's disassembly.
    pub assembly: Option<Vec<String>>,
}

impl Program {
    /// Reads the streams and the debug members of a package in one more pass.
    ///
    /// # Errors
    /// When the payload is damaged, or what is asked for is larger than the limits allow.
    pub fn load(
        container: &Container<'_>,
        package: &Package,
        limits: &Limits,
        debug: bool,
    ) -> Result<Program, Error> {
        let wanted = |member: &Member| match member.kind {
            Kind::Stream => true,
            Kind::DebugBackend
            | Kind::DebugAsm
            | Kind::DebugPenguin
            | Kind::DebugHlo
            | Kind::DebugFramework
            | Kind::Assembly => debug && member.size <= limits.debug,
            _ => false,
        };
        let mut bodies = package.fetch(container, limits, wanted)?;
        let cores = package.graphs.iter().map(|graph| Core::new(package, graph, &mut bodies)).collect();
        Ok(Program { cores })
    }
}

impl Core {
    fn new(package: &Package, graph: &Graph, bodies: &mut HashMap<String, Vec<u8>>) -> Core {
        let front_end = package.front_end(graph, bodies);
        let engines = graph.engines.iter().filter_map(|part| EngineStream::new(package, part, bodies));
        Core { name: graph.name.clone(), engines: engines.collect(), front_end }
    }

    /// The stream of an engine.
    pub fn engine(&self, engine: Engine) -> Option<&EngineStream> {
        self.engines.iter().find(|stream| stream.engine == engine)
    }
}

impl EngineStream {
    fn new(
        package: &Package,
        part: &EnginePart,
        bodies: &mut HashMap<String, Vec<u8>>,
    ) -> Option<EngineStream> {
        let engine = match part.key {
            EngineKey::Pe => Engine::PE,
            EngineKey::Act => Engine::Activation,
            EngineKey::Pool => Engine::Pool,
            EngineKey::Dve => Engine::DVE,
            EngineKey::Sp => Engine::SP,
            EngineKey::Dma => return None,
        };
        let file = part.stream.clone()?;
        let mut debug = package.engine_debug(part, bodies);
        let assembly = part
            .assembly
            .as_ref()
            .and_then(|name| bodies.get(name))
            .map(|text| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>());
        // Two engines may share an empty stream.
        let bytes = bodies.get(&file).cloned().unwrap_or_default();
        // Entry i is about word i, or about nothing. spec: neff 8.2
        if debug.words.len() != bytes.len() / tpb_isa::WORD_BYTES {
            debug.words.clear();
        }
        let name = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem).to_owned();
        Some(EngineStream { key: part.key, engine, file, name, bytes, debug, assembly })
    }

    /// Its words.
    pub fn words(&self, generation: Generation) -> Stream<'_> {
        Stream::new(&self.bytes, generation)
    }

    /// Number of whole words.
    pub fn len(&self) -> usize {
        self.bytes.len() / tpb_isa::WORD_BYTES
    }

    /// Whether there is no whole word.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the instruction that a word belongs to.
    pub fn instruction(&self, word: usize) -> Option<&str> {
        self.debug.instruction(word).map(|at| &*at.entry.name)
    }

    /// Source line of a word: that of its instruction, or of the HLO instruction that it comes from.
    pub fn source(&self, word: usize, front_end: &FrontEnd) -> Option<String> {
        let at = self.debug.instruction(word)?;
        let own = at.source().map(|place| place.to_string());
        own.or_else(|| {
            let origin = front_end.origin(at.entry);
            let penguin = origin.penguin.and_then(|at| at.source());
            let hlo = || origin.hlo.and_then(|at| at.entry.hlo_place());
            penguin.or_else(hlo).map(|place| place.to_string())
        })
    }
}

/// The generation of a package, where its target says it.
pub fn generation(package: &Package) -> Option<Generation> {
    package.generation()?.parse().ok()
}
