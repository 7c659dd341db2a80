//! Queues and semaphores.

use bir::enums::EngineType;
use bir::ids::{BlockId, InstId, QueueId};
use bir::record::FieldValue;
use bir::{Holder, Module, OpenEnum};
use serde::Serialize;

use super::{Cut, ShowOptions};
use crate::program::{At, Program};
use crate::semaphores::{self, Key, What};

/// A DMA queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueView {
    /// Its name.
    pub name: String,
    /// Its type.
    pub queue_type: Option<String>,
    /// DMA engines.
    pub dma_engines: Option<u32>,
    /// Completion semaphores.
    pub semaphores: Vec<u32>,
    /// Blocks of the queue.
    pub instances: Vec<InstanceView>,
    /// Instructions that name the queue.
    pub users: Cut<At>,
}

/// An instance of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct InstanceView {
    /// The block.
    pub block: String,
    /// What stands in it.
    pub dma_blocks: Cut<DmaBlockView>,
}

/// A DMABlock.
#[derive(Clone, Debug, Serialize)]
pub struct DmaBlockView {
    /// Its name.
    pub name: String,
    /// The trigger that starts it.
    pub trigger: Option<At>,
    /// Its descriptors.
    pub descriptors: usize,
    /// Bytes that they write.
    pub bytes: u64,
    /// What it tells on completion.
    pub updates: Vec<String>,
}

/// A semaphore or an event.
#[derive(Clone, Debug, Serialize)]
pub struct SemaphoreView {
    /// `semaphore` or `event`.
    pub sync: String,
    /// Its number.
    pub id: u32,
    /// Queues that complete with it.
    pub queues: Vec<String>,
    /// Engines whose instructions update it.
    pub engines: Vec<String>,
    /// Blocks that use it.
    pub blocks: Vec<SemaphoreBlock>,
}

/// What happens to a semaphore in a block, which starts with a count of 0.
#[derive(Clone, Debug, Serialize)]
pub struct SemaphoreBlock {
    /// The function.
    pub function: String,
    /// The block.
    pub block: String,
    /// Updates, waits and resets in the order of the document.
    pub events: Cut<EventView>,
}

/// An update, a wait or a reset.
#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    /// The instruction.
    #[serde(flatten)]
    pub at: At,
    /// `update`, `wait` or `reset`.
    pub what: &'static str,
    /// Its mode.
    pub mode: String,
    /// Its number.
    pub value: Option<i64>,
    /// The count after it; `null` when not known.
    pub count: Option<i64>,
    /// Of a wait: the instruction whose update it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<String>,
}

pub(super) fn queue(program: &Program<'_>, id: QueueId, options: &ShowOptions) -> QueueView {
    let module = program.module;
    let queue = &module[id];
    let mut users = Cut::default();
    for inst in module.insts().filter(|inst| names_queue(module, *inst, id)) {
        users.push(options.most(), || program.at(inst));
    }
    let instance = |block: &BlockId| {
        let mut dma_blocks = Cut::default();
        for inst in &module[*block].instructions {
            dma_blocks.push(options.most(), || dma_block(program, inst));
        }
        InstanceView { block: module.str(module[*block].name).to_owned(), dma_blocks }
    };
    QueueView {
        name: program.names().name(module, id),
        queue_type: queue.queue_type.map(|ty| ty.text(&module.names).to_owned()),
        dma_engines: queue.num_dma_engines,
        semaphores: queue.semaphores.clone(),
        instances: queue.blocks.iter().map(instance).collect(),
        users,
    }
}

fn names_queue(module: &Module, inst: InstId, queue: QueueId) -> bool {
    let Some(fields) = module[inst].op.fields() else { return false };
    let at = fields.specs().iter().position(|spec| spec.key == "queue");
    matches!(at.map(|at| fields.field(at)), Some(FieldValue::Queue(r)) if r.id() == Some(queue))
}

fn dma_block(program: &Program<'_>, inst: InstId) -> DmaBlockView {
    let module = program.module;
    let descriptors: Vec<InstId> = module.insts_of(Holder::Inst(inst)).collect();
    let outs = descriptors.iter().flat_map(|descriptor| &module[*descriptor].outs);
    let bytes = outs.map(|out| {
        let elements = out.access_pattern().and_then(|ap| ap.elements()).unwrap_or(0);
        elements.saturating_mul(out.dtype().and_then(|dtype| dtype.size_bytes()).unwrap_or(0).into())
    });
    let updates = module[inst].sync_info.iter().flat_map(|sync| &sync.on_update);
    let updates = updates.map(|update| {
        let mode = update.update_mode.text(&module.names);
        let number = |n: Option<u32>| n.map_or_else(|| "?".into(), |n| n.to_string());
        format!("{mode} {} {}", number(update.id), number(update.update_value))
    });
    DmaBlockView {
        name: program.names().name(module, inst),
        trigger: program.triggers_of(inst).next().map(|trigger| program.at(trigger)),
        descriptors: descriptors.len(),
        bytes: bytes.fold(0, u64::saturating_add),
        updates: updates.collect(),
    }
}

pub(super) fn semaphore(program: &Program<'_>, key: Key, options: &ShowOptions) -> SemaphoreView {
    let module = program.module;
    let mut view = SemaphoreView {
        sync: key.0.text(&module.names).to_owned(),
        id: key.1,
        queues: Vec::new(),
        engines: Vec::new(),
        blocks: Vec::new(),
    };
    for queue in module.queues().filter(|queue| module[*queue].semaphores.contains(&key.1)) {
        view.queues.push(program.names().name(module, queue));
    }
    let mut engines: Vec<EngineType> = Vec::new();
    for block in blocks(module) {
        let events =
            semaphores::events(module, block, &|other| other == key).remove(&key).unwrap_or_default();
        if events.is_empty() {
            continue;
        }
        let mut cut = Cut::default();
        for (i, event) in events.iter().enumerate() {
            if matches!(event.what, What::Update { .. }) && !engines.contains(&module[event.inst].engine) {
                engines.push(module[event.inst].engine);
            }
            cut.push(options.most(), || {
                let (what, mode, value) = match event.what {
                    What::Update { mode, value } => ("update", mode.text(&module.names), Some(value)),
                    What::Wait { mode, value, .. } => ("wait", mode.text(&module.names), Some(value)),
                    What::Reset => ("reset", "", None),
                };
                let producer =
                    semaphores::binding(module, &events, i).map(|binding| events[binding.event].inst);
                EventView {
                    at: program.at(event.inst),
                    what,
                    mode: mode.to_owned(),
                    value,
                    count: event.after,
                    producer: producer.map(|inst| program.names().name(module, inst)),
                }
            });
        }
        let block_name = program.names().name(module, block);
        view.blocks.push(SemaphoreBlock { function: program.holder(block), block: block_name, events: cut });
    }
    view.engines = engines.iter().map(|engine| engine.text(&module.names).to_owned()).collect();
    view
}

/// The blocks of functions in document order, those of bodies after the block they stand in.
fn blocks(module: &Module) -> Vec<BlockId> {
    let mut all = Vec::new();
    for function in module.functions() {
        let mut stack: Vec<BlockId> = module[function].blocks.iter().rev().copied().collect();
        while let Some(block) = stack.pop() {
            all.push(block);
            let insts = module[block].instructions.iter().rev();
            stack.extend(insts.flat_map(|inst| module[*inst].body().iter().rev()));
        }
    }
    all
}
