//! A package read once: its members, and what the manifests make of them (spec: neff 5.1). Manifests are held, debug
//! members are counted as they pass, of everything else only name and size are kept.

mod chain;

use std::collections::HashMap;

use crate::archive::{Entry, PayloadFacts};
use crate::container::Container;
use crate::debug::{self, EngineDebug, FrontEnd, IrDebugInfo, Layer, Summary};
use crate::error::{Error, Finding, Severity};
use crate::header::Header;
use crate::kind::{EngineKey, Kind};
use crate::limits::Limits;
use crate::manifest::{
    ActInfo, CompileInfo, Definition, EngineFile, HloStats, HostGraph, Kelf, Named, TensorInfo,
};

/// A member of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Path in the archive.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// The graph it belongs to, an index of [`Package::graphs`].
    pub graph: Option<usize>,
    /// The engine it belongs to.
    pub engine: Option<EngineKey>,
}

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Header; none for a bare payload.
    pub header: Option<Header>,
    /// About the payload.
    pub payload: PayloadFacts,
    /// All members, in the order of the archive.
    pub members: Vec<Member>,
    /// Graph of the host; none when `neff.json` is missing.
    pub host: Option<HostGraph>,
    /// The member that lists the graphs.
    pub kelf_name: String,
    /// The list of graphs.
    pub kelf: Kelf,
    /// One for each physical core.
    pub graphs: Vec<Graph>,
    /// `info.json`.
    pub compile_info: Option<CompileInfo>,
    /// `hlo_stats.json`.
    pub hlo_stats: Option<HloStats>,
    /// Layers of the front end that debug information is there for: kind, member, what is in it.
    pub front_end: Vec<(Kind, String, Summary)>,
    /// What is odd, and does not stop a reader.
    pub findings: Vec<Finding>,
    index: HashMap<String, usize>,
    /// Debug members that have not been counted, since they do not look like debug information.
    pending: Vec<String>,
}

/// The program of one physical core.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its name, `sg00` and so on.
    pub name: String,
    /// The member that defines it.
    pub definition_name: String,
    /// What it is made of.
    pub definition: Definition,
    /// The five engines with a stream.
    pub engines: Vec<EnginePart>,
    /// Debug members of DMA blocks.
    pub dma_debug: Vec<String>,
    /// Tensors, as the front end knows them.
    pub tensors: Option<Named<TensorInfo>>,
    /// Function sets of Activation.
    pub act_info: Option<ActInfo>,
}

/// An engine of a graph. Its members are named by path.
#[derive(Clone, Debug)]
pub struct EnginePart {
    /// Which.
    pub key: EngineKey,
    /// Its manifest; none when the definition has no such engine, which means an empty stream.
    pub file: Option<String>,
    /// The manifest.
    pub manifest: EngineFile,
    /// The instruction words.
    pub stream: Option<String>,
    /// Length of the stream in bytes.
    pub stream_bytes: u64,
    /// The producer's disassembly.
    pub assembly: Option<String>,
    /// Debug members of BIR instructions, and of words.
    pub backend: Vec<String>,
    /// Those of words.
    pub asm: Vec<String>,
    /// What the former hold.
    pub backend_summary: Summary,
    /// What the latter hold.
    pub asm_summary: Summary,
}

impl Graph {
    /// The engine under a key.
    pub fn engine(&self, key: EngineKey) -> Option<&EnginePart> {
        self.engines.iter().find(|engine| engine.key == key)
    }
}

impl EnginePart {
    /// File name of the stream without folder and extension, as in `PE`; the engine's name when it has none.
    pub fn stem(&self) -> &str {
        let Some(stream) = &self.stream else { return self.key.name() };
        let file = stream.rsplit('/').next().unwrap_or(stream);
        file.rsplit_once('.').map_or(file, |(stem, _)| stem)
    }
}

/// The bodies that a pass over the archive has kept.
struct Pass {
    members: Vec<Entry>,
    manifests: HashMap<String, Vec<u8>>,
    summaries: HashMap<String, Result<Summary, Error>>,
    payload: PayloadFacts,
}

impl Package {
    /// Reads a package, with what its debug members hold.
    ///
    /// # Errors
    /// When the file is no package, is damaged, holds what a package must not, or its manifests do not lead from one to
    /// the next.
    pub fn read(file: &[u8], limits: &Limits) -> Result<Package, Error> {
        Package::load(&Container::open(file)?, limits, true)
    }

    /// Reads what is needed to list the members: debug members are passed over.
    ///
    /// # Errors
    /// As [`Package::read`].
    pub fn index(file: &[u8], limits: &Limits) -> Result<Package, Error> {
        Package::load(&Container::open(file)?, limits, false)
    }

    /// Reads the package of a file that has been opened.
    ///
    /// # Errors
    /// As [`Package::read`].
    pub fn load(container: &Container<'_>, limits: &Limits, summaries: bool) -> Result<Package, Error> {
        let pass = Pass::run(container, limits, summaries)?;
        let mut package = chain::resolve(container, pass, limits)?;
        if summaries {
            package.complete_summaries(container, limits)?;
        }
        Ok(package)
    }

    /// The member of a path.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.index.get(name).map(|at| &self.members[*at])
    }

    /// Reads members in one more pass. `wanted` says which.
    ///
    /// # Errors
    /// When the payload is damaged, or the members are larger than [`Limits::held`] together.
    pub fn fetch(
        &self,
        container: &Container<'_>,
        limits: &Limits,
        wanted: impl Fn(&Member) -> bool,
    ) -> Result<HashMap<String, Vec<u8>>, Error> {
        let mut found = HashMap::new();
        let mut left = limits.held;
        let mut archive = crate::Archive::new(container.payload, limits)?;
        while let Some(entry) = archive.next()? {
            if self.member(&entry.name).is_some_and(&wanted) {
                let bytes = archive.read_all(&entry.name, left)?;
                left -= bytes.len() as u64;
                found.insert(entry.name, bytes);
            }
        }
        Ok(found)
    }

    /// The debug information of an engine, from members that were fetched. Members that are not there, or unreadable,
    /// are left out: a finding says so.
    pub fn engine_debug(&self, engine: &EnginePart, bodies: &HashMap<String, Vec<u8>>) -> EngineDebug {
        EngineDebug::new(read_all(&engine.backend, bodies), &read_all(&engine.asm, bodies))
    }

    /// The layers of the front end for a graph, from members that were fetched.
    pub fn front_end(&self, graph: &Graph, bodies: &HashMap<String, Vec<u8>>) -> FrontEnd {
        let layer = |kind| {
            let names: Vec<String> = self.layer_member(kind, graph).map(str::to_owned).into_iter().collect();
            Layer::new(read_all(&names, bodies))
        };
        FrontEnd {
            penguin: layer(Kind::DebugPenguin),
            hlo: layer(Kind::DebugHlo),
            framework: layer(Kind::DebugFramework),
        }
    }

    /// The member of a layer of the front end: of several, the one with the digits of the graph's name
    /// (spec: neff 8.1).
    pub fn layer_member(&self, kind: Kind, graph: &Graph) -> Option<&str> {
        let names = || self.members.iter().filter(|member| member.kind == kind).map(|member| &*member.name);
        let digits = |text: &str| {
            let tail = text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count();
            text[tail..].parse::<u64>().ok()
        };
        let wanted = digits(&graph.name);
        names().find(|name| wanted.is_some() && digits(name) == wanted).or_else(|| names().next())
    }

    /// Debug members that did not look like debug information are read again.
    fn complete_summaries(&mut self, container: &Container<'_>, limits: &Limits) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let bodies = self.fetch(container, limits, |member| {
            member.size <= limits.debug && pending.contains(&member.name)
        })?;
        let mut summaries = HashMap::new();
        for name in &pending {
            let summary = match bodies.get(name) {
                Some(bytes) => Summary::of(name, bytes),
                None => Err(Error::Limit { what: format!("debug member {name}"), limit: limits.debug }),
            };
            match summary {
                Ok(summary) => drop(summaries.insert(name, summary)),
                Err(error) => self.findings.push(unreadable(name, &error)),
            }
        }
        for engine in self.graphs.iter_mut().flat_map(|graph| &mut graph.engines) {
            for (names, summary) in
                [(&engine.backend, &mut engine.backend_summary), (&engine.asm, &mut engine.asm_summary)]
            {
                names.iter().filter_map(|name| summaries.get(name)).for_each(|more| summary.merge(more));
            }
        }
        Ok(())
    }
}

fn unreadable(name: &str, error: &Error) -> Finding {
    Finding::new("NEFF-19", Severity::Warning, error.to_string()).of(name)
}

fn read_all(names: &[String], bodies: &HashMap<String, Vec<u8>>) -> Vec<IrDebugInfo> {
    let members = names.iter().filter_map(|name| bodies.get(name).map(|bytes| (name, bytes)));
    members.filter_map(|(name, bytes)| IrDebugInfo::read(name, bytes).ok()).collect()
}

impl Pass {
    fn run(container: &Container<'_>, limits: &Limits, summaries: bool) -> Result<Pass, Error> {
        let mut archive = crate::Archive::new(container.payload, limits)?;
        let mut pass = Vec::new();
        let (mut manifests, mut found) = (HashMap::new(), HashMap::new());
        let mut held = 0;
        let mut names = std::collections::HashSet::new();
        while let Some(entry) = archive.next()? {
            if !names.insert(entry.name.clone()) {
                return Err(Error::Duplicate(entry.name));
            }
            let head = archive.read_some(512)?;
            let first =
                head.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte));
            if matches!(first, Some(b'{' | b'[')) && entry.size <= limits.manifest {
                let mut text = head;
                text.extend(archive.read_all(&entry.name, limits.manifest)?);
                held += text.len() as u64;
                if held > limits.held {
                    let what = "the size of all manifests together".into();
                    return Err(Error::Limit { what, limit: limits.held });
                }
                manifests.insert(entry.name.clone(), text);
            } else if summaries && debug::looks_like(&head) && entry.size <= limits.debug {
                let mut bytes = head;
                bytes.extend(archive.read_all(&entry.name, limits.debug)?);
                found.insert(entry.name.clone(), Summary::of(&entry.name, &bytes));
            }
            pass.push(entry);
        }
        Ok(Pass { members: pass, manifests, summaries: found, payload: archive.finish()? })
    }
}
