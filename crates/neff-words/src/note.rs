//! What the numbers in a word stand for: variables, queues, function sets, and the descriptors that a trigger fires.

use std::fmt::Write;

use neff::manifest::{Definition, Descriptor, DmaRecord, QueueSet};
use neff::{EngineKey, Graph};
use tpb_isa::{Body, StreamWord};

use crate::address::{Target, target};

/// Descriptors of a trigger that are told one by one.
const TOLD: usize = 3;

/// Appends what is to be said about a word of an engine; nothing for most words.
pub fn put(out: &mut String, word: &StreamWord, graph: &Graph, key: EngineKey) {
    let definition = &graph.definition;
    match word.decode().body {
        Body::PseudoDmaDirect2d(dma) => {
            place(out, target(&dma.src_start_addr, definition));
            out.push_str(" -> ");
            place(out, target(&dma.dst_start_addr, definition));
            match queue(definition, key, dma.semaphore.0) {
                Some((name, Some(number))) => {
                    let _ = write!(out, ", queue {name}[{number}]");
                }
                Some((name, None)) => {
                    let _ = write!(out, ", queue {name}");
                }
                None => {}
            }
        }
        Body::PseudoDmaTrigger(trigger) => {
            let name = String::from_utf8_lossy(trigger.queue_name.bytes()).into_owned();
            let fired: Vec<&DmaRecord> = records(graph, key, &name, trigger.block_id).collect();
            let descriptors: Vec<&Descriptor> = fired.iter().flat_map(|record| &record.desc).collect();
            let _ = write!(out, "{} descriptors", descriptors.len());
            for desc in descriptors.iter().take(TOLD) {
                let side = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
                let bytes: u64 =
                    desc.from_sizes.iter().fold(1, |product, size| product.saturating_mul(*size));
                let _ = write!(out, ", {} -> {} {bytes} bytes", side(&desc.from), side(&desc.to));
            }
            if descriptors.len() > TOLD {
                out.push_str(", ...");
            }
        }
        Body::CtrlNoActTable(load) => {
            let sets = graph.engine(key).and_then(|part| part.manifest.function_sets());
            if let Some(set) = sets.and_then(|sets| sets.get(usize::from(load.act_tbl_sel)).copied()) {
                let _ = write!(out, "table {set}");
            }
        }
        Body::PseudoTriggerCollective(op) => {
            variables(out, definition, [op.input_tensor_id, op.output_tensor_id]);
        }
        Body::PseudoTriggerAllReduce(op) => {
            variables(out, definition, [op.input_tensor_id, op.output_tensor_id]);
        }
        Body::PseudoMem2d(access) => variables(out, definition, [access.var_id]),
        Body::PseudoTensorCompletion(done) => variables(out, definition, [done.tensor_id]),
        _ => {}
    }
}

fn place(out: &mut String, target: Target<'_>) {
    match target {
        Target::OnChip(address) => {
            let _ = write!(out, "{}", tpb_isa::Addr4(address));
        }
        Target::Variable { name, offset: Some(0), .. } => out.push_str(name),
        Target::Variable { name, offset: Some(offset), .. } => {
            let _ = write!(out, "{name}+{offset:#x}");
        }
        Target::Variable { name, offset: None, .. } => {
            let _ = write!(out, "{name}+register");
        }
        Target::UnknownVariable(id) => {
            let _ = write!(out, "unknown variable {id}");
        }
        Target::UnknownEntry(entry) => {
            let _ = write!(out, "unknown table entry {entry}");
        }
        Target::Register => out.push_str("register"),
        Target::Plain(address) => {
            let _ = write!(out, "{address:#x}");
        }
    }
}

fn variables<const N: usize>(out: &mut String, definition: &Definition, ids: [u32; N]) {
    for (at, id) in ids.into_iter().enumerate() {
        let name = definition.variable(id.into()).map_or("unknown variable", |(name, _)| name);
        let _ = write!(out, "{}{name}", if at > 0 { " -> " } else { "" });
    }
}

/// The queue set of a generated DMA, which is that of its engine, and the queue in it, which its semaphore tells.
pub(crate) fn queue(definition: &Definition, key: EngineKey, semaphore: u8) -> Option<(&str, Option<usize>)> {
    let owned = |queue: &QueueSet| queue.kind == "dynamic" && queue.owner.as_deref() == Some(key.key());
    let (name, queue) = definition.dma_queue.iter().find(|(_, queue)| owned(queue))?;
    let set = queue.semaphore_set.as_deref().unwrap_or_default();
    Some((name, set.iter().position(|id| *id == u64::from(semaphore))))
}

/// The records that a trigger word fires: those of the engine's manifest with its queue and block (spec: neff 6.6).
pub(crate) fn records<'a>(
    graph: &'a Graph,
    key: EngineKey,
    queue: &'a str,
    block: u32,
) -> impl Iterator<Item = &'a DmaRecord> {
    let own = graph.engine(key).map(|part| part.manifest.dma.as_slice()).unwrap_or_default();
    own.iter()
        .chain(&graph.definition.dma)
        .filter(move |record| record.id == u64::from(block) && record_queue(record) == Some(queue))
}

pub(crate) fn record_queue(record: &DmaRecord) -> Option<&str> {
    record.instance_name.as_deref().or(record.queue.as_deref())
}
