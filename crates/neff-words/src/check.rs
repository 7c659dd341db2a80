//! What is wrong with the words of a package (spec: neff 11, 5 to 7).

use std::collections::{HashMap, HashSet};

use neff::{Finding, Graph, Package, Severity};
use tpb_isa::{Body, Generation, PseudoAddr8};

use crate::address::{Target, target};
use crate::note::{record_queue, records};
use crate::{Core, EngineStream, Program, features};

/// Findings about words. Those of one kind in one stream are one finding, with the first word and their number.
pub fn check(package: &Package, program: &Program, generation: Generation) -> Vec<Finding> {
    let mut found = Vec::new();
    for (graph, core) in package.graphs.iter().zip(&program.cores) {
        let mut fired: HashSet<(String, u64)> = HashSet::new();
        for stream in &core.engines {
            let mut all = Grouped::new(stream);
            words(stream, generation, &mut all);
            references(graph, stream, generation, &mut all, &mut fired);
            debug(stream, core, &mut all);
            found.extend(all.finish());
        }
        never_fired(graph, &fired, &mut found);
    }
    if let Some(header) = &package.header
        && header.neff_version_major >= 2
    {
        for need in features::needed(package, program, generation) {
            if header.feature_bits & need.bit == 0 {
                let message = format!(
                    "{} words need the feature {} ({:#x}), which is not set",
                    need.words, need.name, need.bit
                );
                found.push(Finding::new("NEFF-21", Severity::Error, message));
            }
        }
    }
    found
}

/// Findings of a stream, one of each kind.
struct Grouped<'a> {
    stream: &'a EngineStream,
    order: Vec<Finding>,
    places: HashMap<String, usize>,
}

impl<'a> Grouped<'a> {
    fn new(stream: &'a EngineStream) -> Grouped<'a> {
        Grouped { stream, order: Vec::new(), places: HashMap::new() }
    }

    /// Adds a finding; those with the same `class` are one.
    fn add(&mut self, code: &'static str, severity: Severity, word: u64, class: &str, message: String) {
        let key = format!("{code} {class}");
        if let Some(&at) = self.places.get(&key) {
            self.order[at].count += 1;
            return;
        }
        self.places.insert(key, self.order.len());
        self.order.push(Finding::new(code, severity, message).of(&self.stream.file).at(word));
    }

    fn finish(self) -> Vec<Finding> {
        self.order
    }
}

fn words(stream: &EngineStream, generation: Generation, all: &mut Grouped<'_>) {
    for finding in tpb_isa::check::stream(&stream.bytes, generation) {
        // The length of a stream is looked at without its words.
        if matches!(finding.fault, tpb_isa::check::Fault::Tail(_)) {
            continue;
        }
        let field = if finding.field.is_empty() { String::new() } else { format!(" {}", finding.field) };
        let message = format!("{}{field}: {}", finding.mnemonic, finding.fault);
        let class =
            format!("{} {} {:?}", finding.mnemonic, finding.field, std::mem::discriminant(&finding.fault));
        all.add("NEFF-17", severity(&finding.fault), finding.index, &class, message);
    }
}

/// A word that the target does not have stops a program; the rest may be how another compiler writes.
fn severity(fault: &tpb_isa::check::Fault) -> Severity {
    use tpb_isa::check::Fault;
    match fault {
        Fault::UnknownOpcode(_)
        | Fault::Generation
        | Fault::Invalid
        | Fault::StrayExtension
        | Fault::MissingExtension
        | Fault::MissingPayload(_)
        | Fault::StrayPayload => Severity::Error,
        _ => Severity::Warning,
    }
}

fn references(
    graph: &Graph,
    stream: &EngineStream,
    generation: Generation,
    all: &mut Grouped<'_>,
    fired: &mut HashSet<(String, u64)>,
) {
    let definition = &graph.definition;
    let groups = definition.replica_groups.as_ref().map_or(0, Vec::len);
    for word in stream.words(generation) {
        let mut address = |address: &PseudoAddr8| match target(address, definition) {
            Target::UnknownVariable(id) => unknown_variable(all, word.index, id),
            Target::UnknownEntry(entry) => {
                let message = format!("entry {entry} of the address table, which it does not have");
                all.add("NEFF-25", Severity::Error, word.index, &format!("entry {entry}"), message);
            }
            _ => {}
        };
        let (variables, group): (&[u32], Option<u16>) = match word.decode().body {
            Body::PseudoDmaDirect2d(dma) => {
                address(&dma.src_start_addr);
                address(&dma.dst_start_addr);
                (&[], None)
            }
            Body::PseudoDmaTrigger(trigger) => {
                let queue = String::from_utf8_lossy(trigger.queue_name.bytes()).into_owned();
                if trigger.use_raw_count == 0 {
                    if records(graph, stream.key, &queue, trigger.block_id).next().is_none() {
                        let message =
                            format!("fires block {} of queue {queue}, which has no record", trigger.block_id);
                        all.add("NEFF-20", Severity::Error, word.index, "no record", message);
                    }
                    fired.insert((queue, trigger.block_id.into()));
                }
                (&[], None)
            }
            Body::PseudoTriggerCollective(op) => {
                (&[op.input_tensor_id, op.output_tensor_id], Some(op.group_id))
            }
            Body::PseudoTriggerAllReduce(op) => (&[op.input_tensor_id, op.output_tensor_id], None),
            Body::PseudoMem2d(access) => (&[access.var_id], None),
            Body::PseudoTensorCompletion(done) => (&[done.tensor_id], None),
            Body::TriggerCollective2Ext(op) => (&[], Some(op.group_id)),
            _ => continue,
        };
        for id in variables {
            if definition.variable((*id).into()).is_none() {
                unknown_variable(all, word.index, (*id).into());
            }
        }
        if let Some(group) = group.filter(|group| usize::from(*group) >= groups) {
            let message = format!("replica group {group}, but the definition has {groups}");
            all.add("NEFF-25", Severity::Error, word.index, &format!("group {group}"), message);
        }
    }
}

fn unknown_variable(all: &mut Grouped<'_>, word: u64, id: u64) {
    let message = format!("variable {id}, which the definition does not have");
    all.add("NEFF-25", Severity::Error, word, &format!("variable {id}"), message);
}

fn never_fired(graph: &Graph, fired: &HashSet<(String, u64)>, found: &mut Vec<Finding>) {
    for part in &graph.engines {
        let Some(file) = &part.file else { continue };
        let idle = part.manifest.dma.iter().filter(|record| {
            let queue = record_queue(record).unwrap_or_default().to_owned();
            !fired.contains(&(queue, record.id))
        });
        let mut first: Option<Finding> = None;
        for record in idle {
            let queue = record_queue(record).unwrap_or("no queue");
            let message = format!("no trigger fires block {} of {queue}", record.id);
            let finding = first.get_or_insert_with(|| Finding {
                count: 0,
                ..Finding::new("NEFF-20", Severity::Warning, message).of(file)
            });
            finding.count += 1;
        }
        found.extend(first);
    }
}

/// Ids in debug members that lead nowhere, and lines of disassembly that are not one for each word.
fn debug(stream: &EngineStream, core: &Core, all: &mut Grouped<'_>) {
    let mut lost = 0;
    for (word, id) in stream.debug.words.iter().enumerate() {
        if let Some(id) = id
            && stream.debug.backend.entry(*id).is_none()
        {
            let message = format!("belongs to instruction {id}, which the debug member does not have");
            all.add("NEFF-19", Severity::Note, word as u64, "parent", message);
        }
    }
    for at in stream.debug.backend.entries() {
        let ids = at.entry.dataflow().chain(at.entry.scheduling());
        let known = |id| core.engines.iter().any(|other| other.debug.backend.entry(id).is_some());
        lost += ids.filter(|(id, _)| !known(*id)).count();
    }
    if lost > 0 {
        let message = format!("{lost} dependencies are on instructions that no debug member has");
        let finding = Finding::new("NEFF-19", Severity::Note, message).of(&stream.file);
        all.order.push(finding);
    }
    if let Some(lines) = &stream.assembly
        && lines.len() != stream.len()
    {
        let message = format!("{} lines of disassembly for {} words", lines.len(), stream.len());
        let finding = Finding::new("NEFF-27", Severity::Warning, message).of(&stream.file);
        all.order.push(finding);
    }
}
