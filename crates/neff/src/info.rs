//! All that can be said about a package, as data for JSON and as text.

mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::WORD_BYTES;
use crate::archive::{Compression, TarFormat};
use crate::container::{Container, HashForm};
use crate::debug::{Counts, DependencyEdgeKind, InstructionType};
use crate::error::Error;
use crate::header::Header;
use crate::kind::{EngineKey, Kind};
use crate::limits::Limits;
use crate::manifest::{QueueSet, Variable};
use crate::package::{EnginePart, Graph, Package};

/// What there is to know about a package. Sizes are bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// File name.
    pub file: String,
    /// Size of the file.
    pub size: u64,
    /// The header; none for a bare payload.
    pub header: Option<Header>,
    /// The payload.
    pub payload: PayloadInfo,
    /// Who made it.
    pub compiler: CompilerInfo,
    /// Target, as the list of graphs has it.
    pub target: Option<String>,
    /// The generation of the target; none when it is `*` or not known.
    pub generation: Option<&'static str>,
    /// The member with the list of graphs.
    pub kelf: String,
    /// Version of its format.
    pub kelf_version: Option<String>,
    /// Multiplications with addition of the model.
    pub hlo_mac_count: Option<i64>,
    /// Debug layers of the front end.
    pub debug: DebugInfo,
    /// Source files that the debug information names.
    pub source_files: Vec<String>,
    /// Inputs, in the order of their ids.
    pub inputs: Vec<TensorLine>,
    /// Outputs, likewise.
    pub outputs: Vec<TensorLine>,
    /// One for each core.
    pub graphs: Vec<GraphInfo>,
    /// All members, in the order of the archive.
    pub members: Vec<MemberLine>,
    #[serde(skip)]
    strays: usize,
}

/// About the payload.
#[derive(Clone, Debug, Serialize)]
pub struct PayloadInfo {
    /// `gzip` or `none`.
    pub compression: Compression,
    /// MD5 of the stored payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// SHA-256 of it, in packages of version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether the header has this digest.
    pub hash_ok: bool,
    /// In which form it has it.
    pub hash_form: Option<HashForm>,
    /// Bytes of the gzip member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip_bytes: Option<u64>,
    /// Bytes behind it.
    pub padding: u64,
    /// Bytes of the archive.
    pub inflated: u64,
    /// Build time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip_mtime: Option<u32>,
    /// Form of the archive.
    pub tar_format: TarFormat,
    /// Number of members.
    pub members: usize,
}

/// Versions that the compiler left.
#[derive(Clone, Debug, Serialize)]
pub struct CompilerInfo {
    /// Of the compiler.
    pub tool_version: Option<String>,
    /// `Dynamic`.
    pub kelp_version: Option<String>,
}

/// Debug layers of the front end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DebugInfo {
    /// Operations of the framework.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<LayerInfo>,
    /// HLO instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hlo: Option<LayerInfo>,
    /// Statements of the tensorizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penguin: Option<LayerInfo>,
}

/// One of them.
#[derive(Clone, Debug, Serialize)]
pub struct LayerInfo {
    /// Its member.
    pub member: String,
    /// Entries in it.
    pub entries: u64,
}

/// A tensor of the model's interface.
#[derive(Clone, Debug, Serialize)]
pub struct TensorLine {
    /// Name.
    pub name: String,
    /// Element type, where the front end tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Shape, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// Size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The program of a core.
#[derive(Clone, Debug, Serialize)]
pub struct GraphInfo {
    /// Name.
    pub name: String,
    /// Member that defines it.
    pub definition: String,
    /// Version of its format.
    pub version: Option<String>,
    /// Features it asks for by name.
    pub features: Vec<String>,
    /// Engines, in the order pe, act, pool, dve, sp.
    pub engines: Vec<EngineInfo>,
    /// Queue sets, in the order of the file.
    pub queues: Vec<QueueInfo>,
    /// Variables by id.
    pub variables: Vec<VariableInfo>,
    /// Bytes of the scratchpad.
    pub scratchpad: u64,
    /// What belongs to the runtime.
    pub runtime: RuntimeInfo,
    /// How 8-bit floats are converted.
    pub fp8_conversion: Map<String, Value>,
    /// Collective streams.
    pub collective_streams: u64,
    /// Ranks of collectives.
    pub rank_world_size: u64,
}

/// An engine of a core.
#[derive(Clone, Debug, Serialize)]
pub struct EngineInfo {
    /// Its key.
    pub engine: EngineKey,
    /// Its manifest.
    pub file: Option<String>,
    /// Its stream.
    pub stream: Option<String>,
    /// Words in it.
    pub words: u64,
    /// BIR instructions in its debug member.
    pub instructions: u64,
    /// Transfers with descriptors.
    pub dma_records: usize,
    /// Entries of words in its debug member.
    pub debug_entries: u64,
    /// Instructions by type.
    pub types: BTreeMap<String, u64>,
    /// Dependencies before reduction, by kind.
    pub dataflow: BTreeMap<String, u64>,
    /// Dependencies after reduction, by kind.
    pub scheduling: BTreeMap<String, u64>,
    /// Function sets of Activation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_function_sets: Option<Vec<String>>,
    /// Semaphore of its table loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act_semaphore: Option<u64>,
    /// Bytes of its tables.
    #[serde(skip)]
    data: u64,
}

/// A queue set.
#[derive(Clone, Debug, Serialize)]
pub struct QueueInfo {
    /// Name.
    pub name: String,
    /// `dynamic` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Queues.
    pub num_queues: u64,
    /// `main` or `alt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric_path: Option<String>,
    /// One for each queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semaphores: Option<Vec<u64>>,
    /// One for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semaphore: Option<u64>,
    /// Names of instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_instances: Option<Vec<String>>,
    /// Scratch of generated DMA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_dma: Option<Map<String, Value>>,
}

/// A variable.
#[derive(Clone, Debug, Serialize)]
pub struct VariableInfo {
    /// Id.
    pub id: u64,
    /// Name.
    pub name: String,
    /// `input`, `output` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Alignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<u64>,
    /// `main` or `alt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric_path: Option<String>,
    /// Member with its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Offset in the scratchpad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_variable_off: Option<u64>,
    /// Area of the scratchpad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_buf: Option<String>,
    /// Variable whose address it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referenced_var_id: Option<u64>,
    /// Variables of an address table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<u64>>,
}

/// What the runtime keeps for itself.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeInfo {
    /// Events, from 0.
    pub events: u64,
    /// Semaphores, from 0.
    pub semaphores: u64,
    /// Parts of the state buffer.
    pub statebuffer: Vec<ReservationInfo>,
}

/// A part of the state buffer.
#[derive(Clone, Debug, Serialize)]
pub struct ReservationInfo {
    /// First partition.
    pub base_partition: u64,
    /// Byte in each.
    pub offset: u64,
    /// Partitions.
    pub partitions: u64,
    /// Bytes in each.
    pub size: u64,
    /// What for.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// A member.
#[derive(Clone, Debug, Serialize)]
pub struct MemberLine {
    /// Path.
    pub name: String,
    /// Size.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// Graph it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// Engine it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKey>,
}

impl Info {
    /// Reads a package and says what is in it. `file` is the name it is shown under.
    ///
    /// # Errors
    /// As [`Package::read`].
    pub fn read(file: &str, bytes: &[u8], limits: &Limits) -> Result<(Info, Package), Error> {
        let container = Container::open(bytes)?;
        let package = Package::load(&container, limits, true)?;
        Ok((Info::new(file, bytes.len() as u64, &container, &package), package))
    }

    /// Says what is in a package that has been read.
    pub fn new(file: &str, size: u64, container: &Container<'_>, package: &Package) -> Info {
        let integrity = container.integrity();
        let facts = &package.payload;
        let is_gzip = facts.compression == Compression::Gzip;
        let (md5, sha256) =
            if integrity.is_sha256 { (None, Some(integrity.digest)) } else { (Some(integrity.digest), None) };
        let payload = PayloadInfo {
            compression: facts.compression,
            md5,
            sha256,
            hash_ok: integrity.form.is_some(),
            hash_form: integrity.form,
            gzip_bytes: is_gzip.then_some(facts.stored),
            padding: facts.padding,
            inflated: facts.inflated,
            gzip_mtime: facts.gzip_mtime,
            tar_format: facts.tar_format,
            members: package.members.len(),
        };
        let compile = package.compile_info.as_ref();
        Info {
            file: file.to_owned(),
            size,
            header: package.header.clone(),
            payload,
            compiler: CompilerInfo {
                tool_version: compile.and_then(|info| info.tool_version.clone()),
                kelp_version: compile.and_then(|info| info.kelp_version.clone()),
            },
            target: package.kelf.target.clone(),
            generation: package.generation(),
            kelf: package.kelf_name.clone(),
            kelf_version: package.kelf.version.clone(),
            hlo_mac_count: package.hlo_stats.as_ref().and_then(|stats| stats.mac_count),
            debug: debug_info(package),
            source_files: source_files(package),
            inputs: tensors(package, "input"),
            outputs: tensors(package, "output"),
            graphs: package
                .graphs
                .iter()
                .enumerate()
                .map(|(at, graph)| graph_info(package, at, graph))
                .collect(),
            members: members(package),
            strays: package.members.iter().filter(|member| member.kind == Kind::Unknown).count(),
        }
    }
}

impl Package {
    /// The generation that the target stands for: `v2`, `v3`, `v4`; none for `*` and for names that are not known.
    pub fn generation(&self) -> Option<&'static str> {
        match self.kelf.target.as_deref()?.to_ascii_lowercase().as_str() {
            "sunda" | "v2" => Some("v2"),
            "cayman" | "v3" => Some("v3"),
            "mariana" | "v4" => Some("v4"),
            _ => None,
        }
    }
}

fn debug_info(package: &Package) -> DebugInfo {
    let layer = |kind| {
        let name = package.layer_member(kind, package.graphs.first()?)?;
        let (_, member, summary) = package.front_end.iter().find(|(_, member, _)| member == name)?;
        Some(LayerInfo { member: member.clone(), entries: summary.entries })
    };
    DebugInfo {
        framework: layer(Kind::DebugFramework),
        hlo: layer(Kind::DebugHlo),
        penguin: layer(Kind::DebugPenguin),
    }
}

fn source_files(package: &Package) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let front = package.front_end.iter().flat_map(|(_, _, summary)| &summary.files);
    let engines = package.graphs.iter().flat_map(|graph| &graph.engines);
    for file in front.chain(engines.flat_map(|engine| &engine.backend_summary.files)) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files
}

fn tensors(package: &Package, kind: &str) -> Vec<TensorLine> {
    let Some(graph) = package.graphs.first() else { return Vec::new() };
    let mut found: Vec<_> = graph.definition.var.iter().filter(|(_, var)| var.kind == kind).collect();
    found.sort_by_key(|(_, var)| var.var_id);
    let line = |(name, var): (&str, &Variable)| {
        let known = graph.tensors.as_ref().and_then(|tensors| tensors.get(name));
        TensorLine {
            name: name.to_owned(),
            dtype: known.and_then(|tensor| tensor.dtype.clone()),
            shape: known.and_then(|tensor| tensor.tf_shape.clone().or(tensor.sim_shape.clone())),
            bytes: var.size,
        }
    };
    found.into_iter().map(line).collect()
}

fn members(package: &Package) -> Vec<MemberLine> {
    let line = |member: &crate::Member| MemberLine {
        name: member.name.clone(),
        size: member.size,
        kind: member.kind,
        graph: member.graph.map(|at| package.graphs[at].name.clone()),
        engine: member.engine,
    };
    package.members.iter().map(line).collect()
}

fn graph_info(package: &Package, at: usize, graph: &Graph) -> GraphInfo {
    let definition = &graph.definition;
    let folder = graph.definition_name.rsplit_once('/').map(|(folder, _)| folder);
    let mut variables: Vec<VariableInfo> =
        definition.var.iter().map(|(name, var)| variable(name, var, folder)).collect();
    variables.sort_by_key(|var| var.id);
    let reserved = definition.runtime_statebuffer_reservation.iter();
    GraphInfo {
        name: graph.name.clone(),
        definition: graph.definition_name.clone(),
        version: definition.version.clone(),
        features: definition.neff_features.clone(),
        engines: graph.engines.iter().map(|engine| engine_info(package, at, engine)).collect(),
        queues: definition.dma_queue.iter().map(|(name, queue)| queue_info(name, queue)).collect(),
        variables,
        scratchpad: definition.scratchpad(),
        runtime: RuntimeInfo {
            events: definition.runtime_event_count.unwrap_or(0),
            semaphores: definition.runtime_semaphore_count.unwrap_or(0),
            statebuffer: reserved
                .map(|part| ReservationInfo {
                    base_partition: part.base_partition,
                    offset: part.offset,
                    partitions: part.partitions,
                    size: part.size,
                    kind: part.kind.clone(),
                })
                .collect(),
        },
        fp8_conversion: definition.fp8_conversion_config.clone().unwrap_or_default(),
        collective_streams: definition.collective_streams(),
        rank_world_size: definition.rank_world_size.unwrap_or(0),
    }
}

fn engine_info(package: &Package, graph: usize, engine: &EnginePart) -> EngineInfo {
    let is_table = |member: &&crate::Member| {
        member.graph == Some(graph)
            && member.engine == Some(engine.key)
            && !matches!(
                member.kind,
                Kind::Stream | Kind::Engine | Kind::DebugBackend | Kind::DebugAsm | Kind::Assembly
            )
    };
    let (backend, manifest) = (&engine.backend_summary, &engine.manifest);
    let edges = |counts: &Counts| by_name(counts, |code| DependencyEdgeKind(code).bir_name().into_owned());
    EngineInfo {
        engine: engine.key,
        file: engine.file.clone(),
        stream: engine.stream.clone(),
        words: engine.stream_bytes / WORD_BYTES,
        instructions: backend.entries,
        dma_records: manifest.dma.len(),
        debug_entries: engine.asm_summary.entries,
        types: by_name(&backend.types, |code| InstructionType(code).name().into_owned()),
        dataflow: edges(&backend.dataflow),
        scheduling: edges(&backend.scheduling),
        activation_function_sets: manifest
            .function_sets()
            .map(|sets| sets.into_iter().map(str::to_owned).collect()),
        act_semaphore: manifest.act_semaphore,
        data: package.members.iter().filter(is_table).map(|member| member.size).sum(),
    }
}

fn by_name(counts: &Counts, name: impl Fn(u64) -> String) -> BTreeMap<String, u64> {
    counts.0.iter().map(|(code, count)| (name(*code), *count)).collect()
}

fn queue_info(name: &str, queue: &QueueSet) -> QueueInfo {
    QueueInfo {
        name: name.to_owned(),
        kind: queue.kind.clone(),
        owner: queue.owner.clone(),
        num_queues: queue.num_queues.unwrap_or(1),
        fabric_path: queue.fabric_path.clone(),
        semaphores: queue.semaphore_set.clone(),
        semaphore: queue.semaphore,
        queue_instances: queue.queue_instances.clone(),
        dynamic_dma: queue.dynamic_dma.clone(),
    }
}

fn variable(name: &str, var: &Variable, folder: Option<&str>) -> VariableInfo {
    let beside = |file: &String| folder.map_or_else(|| file.clone(), |folder| format!("{folder}/{file}"));
    VariableInfo {
        id: var.var_id,
        name: name.to_owned(),
        kind: var.kind.clone(),
        size: var.size,
        alignment: var.alignment,
        fabric_path: var.fabric_path.clone(),
        file: var.file_name.as_ref().map(beside),
        backing_variable_off: var.backing_variable_off,
        backing_buf: var.backing_buf.clone(),
        referenced_var_id: var.referenced_var_id,
        list: var.list.clone(),
    }
}
