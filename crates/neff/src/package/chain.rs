//! The chain of manifests: `neff.json`, the list of graphs, their definitions, their engines, and what those name.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{EnginePart, Graph, Member, Package, Pass, unreadable};
use crate::container::Container;
use crate::debug::Summary;
use crate::error::{Error, Finding, Severity};
use crate::kind::{EngineKey, Kind};
use crate::limits::Limits;
use crate::manifest::{
    ActInfo, Definition, DveTables, EngineFile, FunctionSet, HostGraph, Kelf, UcodeLibrary, manifest, read,
    tensor_map,
};

/// A package with more graphs than this is not believed; there are two cores in a logical one.
const MAX_GRAPHS: usize = 1024;

/// Who a member belongs to.
#[derive(Clone, Copy, Default)]
struct Owner {
    graph: Option<usize>,
    engine: Option<EngineKey>,
}

struct Chain<'a> {
    members: Vec<Member>,
    index: HashMap<String, usize>,
    manifests: &'a HashMap<String, Vec<u8>>,
    summaries: HashMap<String, Result<Summary, Error>>,
    limits: &'a Limits,
    findings: Vec<Finding>,
    pending: Vec<String>,
}

pub(super) fn resolve(container: &Container<'_>, pass: Pass, limits: &Limits) -> Result<Package, Error> {
    let member = |entry: crate::Entry| Member {
        kind: Kind::known_by_name(&entry.name).unwrap_or(Kind::Unknown),
        name: entry.name,
        size: entry.size,
        graph: None,
        engine: None,
    };
    let members: Vec<Member> = pass.members.into_iter().map(member).collect();
    let index = members.iter().enumerate().map(|(at, member)| (member.name.clone(), at)).collect();
    let mut findings = container.findings.clone();
    findings.extend(pass.payload.findings.iter().cloned());
    let mut chain = Chain {
        members,
        index,
        manifests: &pass.manifests,
        summaries: pass.summaries,
        limits,
        findings,
        pending: Vec::new(),
    };

    let host = chain.host()?;
    let (kelf_name, named_by) = chain.kelf_name(host.as_ref())?;
    chain.claim(&kelf_name, Kind::Kelf, &named_by, Owner::default())?;
    let kelf: Kelf = chain.read(&kelf_name)?;
    if kelf.graphs.is_empty() || kelf.graphs.len() > MAX_GRAPHS {
        return Err(manifest(
            &kelf_name,
            format!("{} graphs; expected one for each core", kelf.graphs.len()),
        ));
    }
    let mut graphs = Vec::new();
    for (number, graph) in kelf.graphs.iter().enumerate() {
        graphs.push(chain.graph(number, &graph.name, &graph.definition, &kelf_name)?);
    }
    chain.assign_tensor_maps(&mut graphs)?;
    let compile_info = chain.optional("info.json")?;
    let hlo_stats = chain.optional("hlo_stats.json")?;
    let front_end = chain.front_end();
    Ok(Package {
        header: container.header.clone(),
        payload: pass.payload,
        members: chain.members,
        host,
        kelf_name,
        kelf,
        graphs,
        compile_info,
        hlo_stats,
        front_end,
        findings: chain.findings,
        index: chain.index,
        pending: chain.pending,
    })
}

impl Chain<'_> {
    fn has(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    fn warn(&mut self, code: &'static str, member: &str, message: String) {
        self.findings.push(Finding::new(code, Severity::Warning, message).of(member));
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        match self.manifests.get(name) {
            Some(text) => read(name, text),
            None => {
                let size = self.index.get(name).map_or(0, |at| self.members[*at].size);
                Err(if size > self.limits.manifest {
                    Error::Limit { what: format!("manifest {name}"), limit: self.limits.manifest }
                } else {
                    manifest(name, "expected a JSON object")
                })
            }
        }
    }

    fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        if self.has(name) { self.read(name).map(Some) } else { Ok(None) }
    }

    /// Says what a member is. Each is one thing only, which also keeps the chain from running in circles.
    fn claim(&mut self, name: &str, kind: Kind, named_by: &str, owner: Owner) -> Result<(), Error> {
        let Some(&at) = self.index.get(name) else {
            let (member, named_by) = (name.to_owned(), named_by.to_owned());
            return Err(Error::Missing { member, named_by, role: kind.name() });
        };
        let member = &mut self.members[at];
        if member.kind != kind && member.kind != Kind::Unknown {
            let (member, is) = (name.to_owned(), member.kind.name());
            return Err(Error::Crossed { member, named_by: named_by.to_owned(), role: kind.name(), is });
        }
        member.kind = kind;
        member.graph = member.graph.or(owner.graph);
        member.engine = member.engine.or(owner.engine);
        Ok(())
    }

    /// As `claim`, for members that a reader can do without.
    fn claim_optional(
        &mut self,
        name: &str,
        kind: Kind,
        named_by: &str,
        owner: Owner,
    ) -> Result<bool, Error> {
        match self.claim(name, kind, named_by, owner) {
            Ok(()) => Ok(true),
            Err(error @ Error::Missing { .. }) => {
                let is_debug = matches!(kind, Kind::DebugBackend | Kind::DebugAsm);
                let severity = if is_debug { Severity::Note } else { Severity::Error };
                self.findings.push(Finding::new("NEFF-08", severity, error.to_string()).of(named_by));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn host(&mut self) -> Result<Option<HostGraph>, Error> {
        for name in ["neff.json", "kelp.json"] {
            if self.has(name) {
                self.claim(name, Kind::HostGraph, "the format", Owner::default())?;
                return self.read(name).map(Some);
            }
        }
        Ok(None)
    }

    /// The member that lists the graphs, and who says so.
    fn kelf_name(&mut self, host: Option<&HostGraph>) -> Result<(String, String), Error> {
        let is_kernel = |node: &&crate::manifest::HostNode| node.attrs.func_name.as_deref() == Some("__kelf");
        if let Some(host) = host {
            let kernels = host.nodes.iter().filter(is_kernel);
            let mut names: Vec<&str> = kernels.filter_map(|node| node.attrs.kelf.as_deref()).collect();
            names.dedup();
            let root = if self.has("neff.json") { "neff.json" } else { "kelp.json" };
            match names[..] {
                [] => {}
                [name] => return Ok((name.to_owned(), root.to_owned())),
                [name, ..] => {
                    let name = name.to_owned();
                    let message = "several device programs are named; only the first is looked at";
                    self.warn("NEFF-07", root, message.into());
                    return Ok((name, root.to_owned()));
                }
            }
        }
        let is_kelf = |name: &&str| name.starts_with("kelf-") && name.ends_with(".json");
        let mut found: Vec<&str> = self.members.iter().map(|member| &*member.name).filter(is_kelf).collect();
        found.sort_unstable();
        let Some(name) = found.first().map(|name| (*name).to_owned()) else {
            return Err(Error::Missing {
                member: "neff.json".into(),
                named_by: "the format".into(),
                role: "host-graph",
            });
        };
        let why = match host {
            Some(_) => "the host graph names no device program",
            None => "there is no host graph (neff.json)",
        };
        let message = format!("{why}; {name} was found by its name");
        self.findings.push(Finding::new("NEFF-07", Severity::Warning, message));
        Ok((name, "its own name".into()))
    }

    fn graph(&mut self, number: usize, name: &str, definition: &str, kelf: &str) -> Result<Graph, Error> {
        let owner = Owner { graph: Some(number), engine: None };
        if self.index.get(definition).is_some_and(|at| self.members[*at].graph.is_some()) {
            return Err(manifest(kelf, format!("two graphs have the definition {definition:?}")));
        }
        self.claim(definition, Kind::Definition, kelf, owner)?;
        let read: Definition = self.read(definition)?;
        let folder = definition.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside =
            |file: &str| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };

        let mut graph = Graph {
            name: name.to_owned(),
            definition_name: definition.to_owned(),
            engines: Vec::new(),
            dma_debug: Vec::new(),
            tensors: None,
            act_info: None,
            definition: read,
        };
        for key in EngineKey::STREAMS {
            let part = self.engine(key, &mut graph, owner, &beside)?;
            graph.engines.push(part);
        }
        let dma = Owner { engine: Some(EngineKey::Dma), ..owner };
        for file in graph.definition.texts(definition, "dma_dbg")? {
            let file = beside(&file);
            if self.claim_optional(&file, Kind::DebugBackend, definition, dma)? {
                graph.dma_debug.push(file);
            }
        }
        for (_, var) in graph.definition.var.iter() {
            if let Some(file) = var.file_name.as_ref().filter(|_| var.kind == "file") {
                self.claim_optional(&beside(file), Kind::Constant, definition, owner)?;
            }
        }
        for file in graph.definition.ucode_lib.clone() {
            let file = beside(&file);
            if self.claim_optional(&file, Kind::UcodeList, definition, owner)? {
                let libraries: Vec<UcodeLibrary> = self.read(&file)?;
                for library in libraries.iter().filter_map(|library| library.library.as_ref()) {
                    self.claim_optional(&beside(library), Kind::UcodeLibrary, &file, owner)?;
                }
            }
        }
        Ok(graph)
    }

    fn engine(
        &mut self,
        key: EngineKey,
        graph: &mut Graph,
        owner: Owner,
        beside: &dyn Fn(&str) -> String,
    ) -> Result<EnginePart, Error> {
        let owner = Owner { engine: Some(key), ..owner };
        let from = graph.definition_name.clone();
        let definition = &graph.definition;
        let (prefix, backend, asm) =
            (key.key(), format!("{}_dbg", key.key()), format!("{}_asm_dbg", key.key()));
        let file = definition.text(&from, prefix)?.map(beside);
        let instr = definition.text(&from, &format!("{prefix}_instr"))?.map(str::to_owned);
        let (backend, asm) = (definition.texts(&from, &backend)?, definition.texts(&from, &asm)?);
        let mut part = EnginePart {
            key,
            file: None,
            manifest: EngineFile::default(),
            stream: None,
            stream_bytes: 0,
            assembly: None,
            backend: Vec::new(),
            asm: Vec::new(),
            backend_summary: Summary::default(),
            asm_summary: Summary::default(),
        };
        if let Some(file) = file {
            self.claim(&file, Kind::Engine, &from, owner)?;
            part.manifest = self.read(&file)?;
            self.stream(&mut part, &file, instr.as_deref(), owner, beside)?;
            self.tables(&part.manifest, graph, &file, owner, beside)?;
            part.file = Some(file);
        } else if instr.is_some() {
            let message = format!("{prefix}_instr names a stream, but there is no {prefix:?}");
            self.warn("NEFF-09", &from, message);
        }
        for (files, kind, names, summary) in [
            (backend, Kind::DebugBackend, &mut part.backend, &mut part.backend_summary),
            (asm, Kind::DebugAsm, &mut part.asm, &mut part.asm_summary),
        ] {
            for file in files {
                let file = beside(&file);
                if !self.claim_optional(&file, kind, &from, owner)? {
                    continue;
                }
                match self.summaries.get(&file) {
                    Some(Ok(more)) => summary.merge(more),
                    Some(Err(error)) => self.findings.push(unreadable(&file, error)),
                    None if self.members[self.index[&file]].size == 0 => {}
                    None => self.pending.push(file.clone()),
                }
                names.push(file);
            }
        }
        Ok(part)
    }

    fn stream(
        &mut self,
        part: &mut EnginePart,
        file: &str,
        instr: Option<&str>,
        owner: Owner,
        beside: &dyn Fn(&str) -> String,
    ) -> Result<(), Error> {
        let own = part.manifest.instr.clone();
        if let (Some(own), Some(other)) = (&own, instr)
            && own != other
        {
            let message = format!(
                "instr is {own:?}, but the definition has {other:?} as {}_instr; the former wins",
                part.key.key()
            );
            self.warn("NEFF-09", file, message);
        }
        let Some(stream) = own.as_deref().or(instr).map(beside) else {
            return Err(manifest(file, "names no stream: there is no \"instr\""));
        };
        self.claim(&stream, Kind::Stream, file, owner)?;
        part.stream_bytes = self.members[self.index[&stream]].size;
        let assembly = stream.rsplit_once('.').map_or(stream.as_str(), |(stem, _)| stem).to_owned() + ".asm";
        if let Some(&at) = self.index.get(&assembly)
            && self.members[at].kind == Kind::Unknown
        {
            self.claim(&assembly, Kind::Assembly, &stream, owner)?;
            part.assembly = Some(assembly);
        }
        part.stream = Some(stream);
        Ok(())
    }

    /// The tables of Activation and DVE.
    fn tables(
        &mut self,
        engine: &EngineFile,
        graph: &mut Graph,
        file: &str,
        owner: Owner,
        beside: &dyn Fn(&str) -> String,
    ) -> Result<(), Error> {
        for tables in &engine.dve_tables {
            let DveTables {
                opcode_table,
                datapath_table,
                control_fast_table,
                control_slow_table,
                control_table,
                ..
            } = tables;
            for (name, kind) in [
                (opcode_table, Kind::DveOpcode),
                (datapath_table, Kind::DveDatapath),
                (control_fast_table, Kind::DveControlFast),
                (control_slow_table, Kind::DveControlSlow),
                (control_table, Kind::DveControl),
            ] {
                if let Some(name) = name {
                    self.claim_optional(&beside(name), kind, file, owner)?;
                }
            }
        }
        let mut known: Vec<FunctionSet> = Vec::new();
        if let Some(info) = engine.act_info.as_deref().map(beside)
            && self.claim_optional(&info, Kind::ActInfo, file, owner)?
        {
            let info: ActInfo = self.read(&info)?;
            known.clone_from(&info.act_func_sets);
            graph.act_info = Some(info);
        }
        for set in engine.activation_function_sets.iter().flatten() {
            // Older packages have the entry of the table in place of its name.
            let set = match set {
                Value::String(name) => known.iter().find(|set| set.name.as_ref() == Some(name)).cloned(),
                Value::Object(_) => serde_json::from_value(set.clone()).ok(),
                _ => None,
            };
            let Some(FunctionSet { bkt_bin, ctrl_bin, profile_json, .. }) = set else { continue };
            for (name, kind) in
                [(bkt_bin, Kind::ActBucket), (ctrl_bin, Kind::ActControl), (profile_json, Kind::ActProfile)]
            {
                if let Some(name) = name {
                    self.claim_optional(&beside(&name), kind, file, owner)?;
                }
            }
        }
        Ok(())
    }

    /// Gives tensor maps, which nothing names, to the graphs whose folder they lie in.
    fn assign_tensor_maps(&mut self, graphs: &mut [Graph]) -> Result<(), Error> {
        for at in 0..self.members.len() {
            if self.members[at].kind != Kind::TensorMap {
                continue;
            }
            let name = self.members[at].name.clone();
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let last = folder.rsplit('/').next();
            let of =
                |graph: &Graph| graph.definition_name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
            let found = graphs.iter().position(|graph| of(graph).as_deref() == Some(folder));
            let found = found.or_else(|| graphs.iter().position(|graph| of(graph).as_deref() == last));
            if let Some(found) = found {
                self.members[at].graph = Some(found);
                if let Some(text) = self.manifests.get(&name) {
                    graphs[found].tensors = Some(tensor_map(&name, text)?);
                }
            }
        }
        Ok(())
    }

    fn front_end(&mut self) -> Vec<(Kind, String, Summary)> {
        let mut layers = Vec::new();
        for member in &self.members {
            if !matches!(member.kind, Kind::DebugFramework | Kind::DebugHlo | Kind::DebugPenguin) {
                continue;
            }
            match self.summaries.remove(&member.name) {
                Some(Ok(summary)) => layers.push((member.kind, member.name.clone(), summary)),
                Some(Err(error)) => self.findings.push(unreadable(&member.name, &error)),
                None => {}
            }
        }
        layers
    }
}
