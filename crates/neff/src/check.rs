//! What is wrong with a package that can be read, as far as it shows without looking into words (spec: neff 11).

use std::collections::{HashMap, HashSet};

use crate::WORD_BYTES;
use crate::container::Container;
use crate::error::{Finding, Severity};
use crate::features::{feature_bit, feature_name};
use crate::kind::Kind;
use crate::manifest::{Definition, Descriptor};
use crate::package::{EnginePart, Graph, Package};

/// A rule of this checker and of the one that looks into words.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// `NEFF-01` and so on.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do about it.
    pub help: &'static str,
}

impl Rule {
    /// What breaks it in a package that is clean, and what is said of that; not all rules have an example.
    ///
    /// ```
    /// let [change, said] = neff::RULES[1].example().unwrap();
    /// assert!(said.contains("NEFF-02"), "{change}: {said}");
    /// ```
    pub fn example(&self) -> Option<[&'static str; 2]> {
        let line = EXAMPLES.lines().find_map(|line| line.strip_prefix(self.code)?.strip_prefix('\t'))?;
        let (change, said) = line.split_once('\t')?;
        Some([change, said])
    }
}

/// Written by the tests.
const EXAMPLES: &str = include_str!("examples.tsv");

macro_rules! rules {
    ($( $code:literal $title:literal, $why:literal, $help:literal; )*) => {
        /// All rules about packages.
        pub const RULES: &[Rule] = &[$( Rule { code: $code, title: $title, why: $why, help: $help }, )*];
    };
}

rules! {
    "NEFF-01" "payload without a header",
        "A loader reads versions, features and the digest from the 1024 bytes in front of the payload.",
        "unpack it and make a package with `bir neff pack`";
    "NEFF-02" "the digest in the header is not that of the payload",
        "The file was changed or damaged after it was written. A loader looks only when it is asked to.",
        "copy or compile it again";
    "NEFF-03" "bytes behind the payload",
        "Nothing reads them; a file that was put together by hand, or cut and mended, looks like this.",
        "pack it again";
    "NEFF-04" "bytes behind the archive",
        "Two blocks of zeros end an archive. Nothing reads what is behind them, though it is compressed with the rest.",
        "compile or pack it again";
    "NEFF-05" "info.json and the header disagree",
        "Tools read the former and loaders the latter, so people are told something else than what runs.",
        "pack it again";
    "NEFF-06" "the number of graphs is not that of the cores",
        "A logical core has one graph for each of its physical cores.",
        "check `graphs` of the list of graphs against lnc_size";
    "NEFF-07" "the host graph does not lead to one device program",
        "A loader starts at neff.json; older tools find kelf-0.json by its name.",
        "pack it with a neff.json";
    "NEFF-08" "a member that is named is not there",
        "A loader stops at missing data, and passes over missing debug information.",
        "compile it again, or pack it with the member";
    "NEFF-09" "two manifests name different streams",
        "The definition and the engine's own manifest name the stream; loaders take the latter.",
        "make both the same";
    "NEFF-10" "ids of variables are not 0, 1, 2 and so on",
        "Loaders use them as places in a table.",
        "compile it again";
    "NEFF-11" "no output",
        "A loader refuses a graph that gives nothing.",
        "compile it again";
    "NEFF-12" "an unknown variable",
        "A descriptor or a table refers to a variable that the definition does not have.",
        "compile it again";
    "NEFF-13" "a descriptor with steps and sizes that do not match",
        "Both sides of a transfer have as many steps as sizes, at most four.",
        "compile it again";
    "NEFF-14" "a queue set that a loader refuses",
        "Names are at most 31 bytes, sets have 1 to 16 queues and an engine as their owner.",
        "compile it again";
    "NEFF-15" "a semaphore that a program must not use",
        "A core has semaphores 0 to 255, the first of which belong to the runtime.",
        "compile it again";
    "NEFF-16" "a stream that does not end with a whole word",
        "Words have 64 bytes; a loader drops what is left over.",
        "compile it again: the stream was cut";
    "NEFF-17" "a word that does not make sense",
        "An opcode that the target does not have, or bits where no field is: the device may do anything.",
        "look at it with `bir objdump`; compile it for the target";
    "NEFF-18" "debug entries and words differ in number",
        "Entry i describes word i, so names and source lines would be those of other words. They are not used.",
        "compile it again";
    "NEFF-19" "a debug member that cannot be read",
        "Names and source lines are missing; what runs is the same.",
        "compile it again with debug information";
    "NEFF-20" "transfers and triggers do not match",
        "A trigger word fires the descriptor records with its queue and block; each needs the other.",
        "compile it again";
    "NEFF-21" "a feature is used and not announced",
        "A loader refuses features that it does not know. One that is not announced is found out on the device.",
        "pack it again: `bir neff pack` announces what is used";
    "NEFF-22" "a reservation that a loader refuses",
        "The state buffer that the runtime keeps is of type evtaccel, and trn2 needs it.",
        "compile it again";
    "NEFF-23" "compiled for another device",
        "Words of one generation mean something else, or nothing, on another.",
        "compile it for the device";
    "NEFF-24" "more cores than the device joins",
        "Two physical cores make a logical one on trn2 and later only.",
        "compile it with one core for each logical core";
    "NEFF-25" "a word uses what the definition does not have",
        "Variables, address tables and replica groups are in the definition; words refer to them by number.",
        "compile it again";
    "NEFF-26" "members that nothing names",
        "Loaders pass over them, so they only take room, or were meant to be something.",
        "leave them out, or name them in a manifest";
    "NEFF-27" "the producer's disassembly has another number of lines than the stream has words",
        "Line i describes word i, so lines are shown beside the wrong words.",
        "compile it again";
    "NEFF-28" "a feature without a name",
        "What it does is not known; loaders of this age accept it.",
        "check the version of the compiler";
}

/// All findings about a package, without those about words. `container` gives the digest.
pub fn check(container: &Container<'_>, package: &Package) -> Vec<Finding> {
    let mut found = package.findings.clone();
    if let Some(header) = &container.header
        && let Err(error) = container.integrity().require(header)
    {
        found.push(Finding::new("NEFF-02", Severity::Warning, error.to_string()));
    }
    header(package, &mut found);
    for graph in &package.graphs {
        variables(graph, &mut found);
        queues(graph, &mut found);
        reservation(package, graph, &mut found);
        for engine in &graph.engines {
            stream(engine, &mut found);
        }
    }
    let strays: Vec<&str> = package
        .members
        .iter()
        .filter(|member| member.kind == Kind::Unknown)
        .map(|member| &*member.name)
        .collect();
    if let Some(first) = strays.first() {
        let mut finding = Finding::new("NEFF-26", Severity::Note, "no manifest names it").of(*first);
        finding.count = strays.len() as u64;
        found.push(finding);
    }
    found
}

/// Why a package cannot load on a device of a generation (`v2`, `v3`, `v4`) that people call `name`.
pub fn device(package: &Package, generation: &str, name: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let target = package.kelf.target.as_deref().unwrap_or("unknown");
    match package.generation() {
        Some(own) if own != generation => {
            let message = format!("compiled for {target} ({own}), but {name} is {generation}");
            found.push(Finding::new("NEFF-23", Severity::Error, message).of(&package.kelf_name));
        }
        None if target != "*" => {
            let message =
                format!("target {target:?} is not known, so whether {name} can run it is not, either");
            found.push(Finding::new("NEFF-23", Severity::Warning, message).of(&package.kelf_name));
        }
        _ => {}
    }
    let cores = package.graphs.len();
    if generation == "v2" && cores > 1 {
        let message = format!("{cores} graphs for the cores of one logical core, but {name} joins none");
        found.push(Finding::new("NEFF-24", Severity::Error, message).of(&package.kelf_name));
    }
    found
}

fn header(package: &Package, found: &mut Vec<Finding>) {
    let Some(header) = &package.header else { return };
    let mut warn = |code, message: String| found.push(Finding::new(code, Severity::Warning, message));
    let cores = header.lnc_size.max(1) as usize;
    if package.graphs.len() != cores {
        let (count, plural) = (package.graphs.len(), if package.graphs.len() == 1 { "" } else { "s" });
        warn("NEFF-06", format!("{count} graph{plural}, but lnc_size is {}", header.lnc_size));
    }
    if let Some(info) = &package.compile_info {
        let mut differ = |key: &str, theirs: String, ours: String| {
            if theirs != ours {
                warn("NEFF-05", format!("{key} is {theirs} in info.json and {ours} in the header"));
            }
        };
        if let Some(name) = &info.name {
            differ("name", format!("{name:?}"), format!("{:?}", header.name));
        }
        if let Some(count) = info.num_tpb {
            differ("num_tpb", count.to_string(), header.num_tpb.to_string());
        }
        if let Some(count) = info.num_tpb_requested {
            differ("num_tpb_requested", count.to_string(), header.requested_tpb_count.to_string());
        }
        if let Some(nodes) = &info.num_tpb_per_node {
            let end = nodes.iter().rposition(|count| *count != 0).map_or(0, |last| last + 1);
            differ("num_tpb_per_node", format!("{:?}", &nodes[..end]), format!("{:?}", header.nodes()));
        }
    }
    let unnamed: Vec<String> = (0..64)
        .map(|place| 1 << place)
        .filter(|bit| header.feature_bits & bit != 0 && feature_name(*bit).is_none())
        .map(|bit: u64| format!("{bit:#x}"))
        .collect();
    if !unnamed.is_empty() {
        let message = format!("feature bits without a known name: {}", unnamed.join(", "));
        found.push(Finding::new("NEFF-28", Severity::Note, message));
    }
    for graph in &package.graphs {
        for name in &graph.definition.neff_features {
            let message = match feature_bit(name) {
                Some(bit) if header.feature_bits & bit != 0 => continue,
                Some(bit) => format!("{name:?} is asked for, but bit {bit:#x} is not set in the header"),
                None => format!("{name:?} is not a known feature"),
            };
            found.push(Finding::new("NEFF-21", Severity::Warning, message).of(&graph.definition_name));
        }
    }
    if header.lnc_size > 1 && header.feature_bits & feature_bit("vnc").unwrap_or(0) == 0 {
        let message = "more than one core for each logical core, but the feature vnc is not set";
        found.push(Finding::new("NEFF-21", Severity::Warning, message));
    }
}

fn variables(graph: &Graph, found: &mut Vec<Finding>) {
    let definition = &graph.definition;
    let mut error = |code, message: String| {
        found.push(Finding::new(code, Severity::Error, message).of(&graph.definition_name));
    };
    let mut ids: HashMap<u64, &str> = HashMap::new();
    for (name, var) in definition.var.iter() {
        if let Some(other) = ids.insert(var.var_id, name) {
            error("NEFF-10", format!("{other:?} and {name:?} both have the id {}", var.var_id));
        } else if var.var_id >= definition.var.0.len() as u64 {
            let count = definition.var.0.len();
            error("NEFF-10", format!("{name:?} has the id {}, but there are {count} variables", var.var_id));
        }
    }
    if !definition.var.iter().any(|(_, var)| var.kind == "output") {
        error("NEFF-11", "there is no variable of type output".into());
    }
    for (name, var) in definition.var.iter() {
        let listed = var.list.iter().flatten().chain(&var.referenced_var_id);
        for id in listed.filter(|id| !ids.contains_key(id)) {
            error("NEFF-12", format!("{name:?} refers to variable {id}, which is not there"));
        }
    }
    let names: HashSet<&str> = definition.var.iter().map(|(name, _)| name).collect();
    records(&definition.dma, &graph.definition_name, &names, found);
    for engine in &graph.engines {
        if let Some(file) = &engine.file {
            records(&engine.manifest.dma, file, &names, found);
        }
    }
}

fn records(
    records: &[crate::manifest::DmaRecord],
    member: &str,
    names: &HashSet<&str>,
    found: &mut Vec<Finding>,
) {
    // One finding of each kind stands for all of a member: there may be millions.
    let mut first: HashMap<&str, Finding> = HashMap::new();
    let mut add = |code: &'static str, message: String| {
        let new = || Finding::new(code, Severity::Error, message).of(member);
        let finding = first.entry(code).or_insert_with(|| Finding { count: 0, ..new() });
        finding.count += 1;
    };
    for record in records {
        for desc in &record.desc {
            for name in [&desc.from, &desc.to].into_iter().flatten() {
                if !names.contains(&**name) {
                    add("NEFF-12", format!("record {} moves {name:?}, which is no variable", record.id));
                }
            }
            if let Some(reason) = odd_sides(desc) {
                add("NEFF-13", format!("record {}: {reason}", record.id));
            }
        }
    }
    let mut all: Vec<Finding> = first.into_values().collect();
    all.sort_by_key(|finding| finding.code);
    found.extend(all);
}

fn odd_sides(desc: &Descriptor) -> Option<String> {
    for (side, steps, sizes) in [
        ("source", desc.from_steps.len(), desc.from_sizes.len()),
        ("target", desc.to_steps.len(), desc.to_sizes.len()),
    ] {
        if steps != sizes {
            return Some(format!("{steps} steps and {sizes} sizes of the {side}"));
        }
        if steps > 4 {
            return Some(format!("{steps} dimensions of the {side}; 4 is most"));
        }
    }
    None
}

fn queues(graph: &Graph, found: &mut Vec<Finding>) {
    let Definition { dma_queue, runtime_semaphore_count, .. } = &graph.definition;
    let reserved = runtime_semaphore_count.unwrap_or(0);
    let mut add = |code, severity, message: String| {
        found.push(Finding::new(code, severity, message).of(&graph.definition_name));
    };
    for (name, queue) in dma_queue.iter() {
        if name.len() > 31 {
            add("NEFF-14", Severity::Error, format!("queue {name:?} has a name of {} bytes", name.len()));
        }
        let count = queue.num_queues.unwrap_or(1);
        if !(1..=16).contains(&count) {
            add("NEFF-14", Severity::Error, format!("queue {name:?} has {count} queues"));
        }
        if let Some(owner) = &queue.owner
            && !["pe", "act", "pool", "dve", "sp"].contains(&owner.as_str())
        {
            add(
                "NEFF-14",
                Severity::Warning,
                format!("queue {name:?} belongs to {owner:?}, which is no engine"),
            );
        }
        let set = queue.semaphore_set.as_deref().unwrap_or_default();
        if set.len() > 32 {
            add("NEFF-14", Severity::Error, format!("queue {name:?} has {} semaphores", set.len()));
        }
        if let Some(id) = set.iter().chain(&queue.semaphore).find(|id| **id > 255) {
            add("NEFF-15", Severity::Error, format!("queue {name:?} has semaphore {id}"));
        } else if let Some(id) = set.iter().chain(&queue.semaphore).find(|id| **id < reserved) {
            let message = format!("queue {name:?} has semaphore {id}, which belongs to the runtime");
            add("NEFF-15", Severity::Warning, message);
        }
    }
}

fn reservation(package: &Package, graph: &Graph, found: &mut Vec<Finding>) {
    let parts = &graph.definition.runtime_statebuffer_reservation;
    let mut warn = |message: String| {
        found.push(Finding::new("NEFF-22", Severity::Warning, message).of(&graph.definition_name));
    };
    if package.generation() == Some("v3") && parts.is_empty() {
        warn("no part of the state buffer is kept for the runtime, which trn2 needs unless it is told otherwise".into());
    }
    for part in parts {
        if part.kind.as_deref() != Some("evtaccel") {
            warn(format!("a part of the state buffer is kept for {:?}", part.kind.as_deref().unwrap_or("")));
        }
    }
}

fn stream(engine: &EnginePart, found: &mut Vec<Finding>) {
    let Some(stream) = &engine.stream else { return };
    let mut error = |code, message: String| {
        found.push(Finding::new(code, Severity::Error, message).of(stream));
    };
    let over = engine.stream_bytes % WORD_BYTES;
    if over != 0 {
        error("NEFF-16", format!("{} bytes: {over} follow the last whole word", engine.stream_bytes));
    }
    let words = engine.stream_bytes / WORD_BYTES;
    let is_unreadable =
        engine.asm.is_empty() || engine.asm_summary.entries == 0 && engine.asm_summary.parent.is_empty();
    if !is_unreadable && engine.asm_summary.entries != words {
        error("NEFF-18", format!("{words} words, but {} debug entries", engine.asm_summary.entries));
    }
}
