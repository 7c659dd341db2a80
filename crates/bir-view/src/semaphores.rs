//! Semaphores within a block: running counts, and the update that each wait needs. spec: ordering 14.5
//!
//! A block starts with all counts at zero: the fence at the end of the one before resets them (spec: ordering 4). The
//! updates of one stream come in the order of the document.

use std::collections::HashMap;

use bir::enums::{EngineType, SyncRefType, UpdateMode, WaitMode};
use bir::ids::{BlockId, InstId, QueueId};
use bir::record::FieldValue;
use bir::{Module, Op};

/// A semaphore or an event.
pub(crate) type Key = (SyncRefType, u32);

/// What happens to a semaphore.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Index in the block.
    pub(crate) index: usize,
    /// The instruction; of a transfer, its DMABlock.
    pub(crate) inst: InstId,
    pub(crate) what: What,
    /// Count before; `None` when not known.
    pub(crate) before: Option<i64>,
    /// Count after; `None` when not known.
    pub(crate) after: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Update {
        mode: UpdateMode,
        value: i64,
    },
    Wait {
        mode: WaitMode,
        value: i64,
    },
    /// By an instruction that resets a group; the count after it is unknown if the group is not said.
    Reset,
}

/// Whose update it is: updates of one stream complete in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stream {
    Engine(EngineType),
    Queue(QueueId),
    Other(InstId),
}

/// The update that a wait needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    /// The update, as an index into the events.
    pub(crate) event: usize,
    /// Whether the updates are those of one stream, so that the count names this one.
    pub(crate) certain: bool,
}

/// The events of some semaphores in a block, in document order.
pub(crate) fn events(
    module: &Module,
    block: BlockId,
    wanted: &dyn Fn(Key) -> bool,
) -> HashMap<Key, Vec<Event>> {
    let mut all: HashMap<Key, Vec<Event>> = HashMap::new();
    let mut unknown = false;
    for (index, inst) in module[block].instructions.into_iter().enumerate() {
        let instruction = &module[inst];
        if let Some(sync) = &instruction.sync_info {
            for wait in &sync.on_wait {
                let Some(key) = wait.id.map(|id| (wait.sync_type, id)).filter(|key| wanted(*key)) else {
                    continue;
                };
                let value = i64::from(wait.wait_value.unwrap_or(0));
                let what = What::Wait { mode: wait.wait_mode, value };
                push(&mut all, key, index, inst, what, unknown);
            }
        }
        match &instruction.op {
            Op::GroupResetSemaphores(reset) if reset.sema_group.is_empty() => {
                // Which ones is not said: every count is unknown from here on. spec: ordering 3
                unknown = true;
                for events in all.values_mut() {
                    let before = events.last().and_then(|event| event.after);
                    events.push(Event { index, inst, what: What::Reset, before, after: None });
                }
            }
            Op::GroupResetSemaphores(reset) => {
                let keys = reset.sema_group.iter().map(|id| (SyncRefType::Semaphore, *id));
                keys.filter(|key| wanted(*key))
                    .for_each(|key| push(&mut all, key, index, inst, What::Reset, false));
            }
            Op::SwitchQueueInstance(switch) => {
                let queue = switch.queue.and_then(|queue| queue.id());
                let ids = queue.map_or(&[][..], |queue| &module[queue].semaphores);
                let keys = ids.iter().map(|id| (SyncRefType::Semaphore, *id));
                keys.filter(|key| wanted(*key))
                    .for_each(|key| push(&mut all, key, index, inst, What::Reset, false));
            }
            _ => {}
        }
        update(module, &mut all, index, inst, unknown, wanted);
        if let Op::DMATrigger(trigger) = &instruction.op {
            for dma in trigger.dma_blocks.iter().filter_map(|dma| dma.id()) {
                update(module, &mut all, index, dma, unknown, wanted);
            }
        }
    }
    all
}

fn update(
    module: &Module,
    all: &mut HashMap<Key, Vec<Event>>,
    index: usize,
    inst: InstId,
    unknown: bool,
    wanted: &dyn Fn(Key) -> bool,
) {
    let updates = module[inst].sync_info.iter().flat_map(|sync| &sync.on_update);
    // One that goes to another core counts there.
    for update in updates.filter(|update| update.target_core.is_none()) {
        if let Some(key) = update.id.map(|id| (update.sync_type, id)).filter(|key| wanted(*key)) {
            let value = i64::from(update.update_value.unwrap_or(0));
            push(all, key, index, inst, What::Update { mode: update.update_mode, value }, unknown);
        }
    }
}

fn push(all: &mut HashMap<Key, Vec<Event>>, key: Key, index: usize, inst: InstId, what: What, unknown: bool) {
    let events = all.entry(key).or_default();
    let before = match events.last() {
        Some(last) => last.after,
        None => (!unknown).then_some(0),
    };
    let after = match what {
        What::Reset => Some(0),
        What::Wait { mode: WaitMode::EvtSetThenClear, .. } => Some(0),
        What::Wait { .. } => before,
        What::Update { mode, value } => match mode {
            UpdateMode::EvtSet => Some(1),
            UpdateMode::SemWrImm => Some(value),
            UpdateMode::SemAddImm => before.map(|count| count + value),
            UpdateMode::SemInc => before.map(|count| count + 1),
            UpdateMode::SemSubImm => before.map(|count| count - value),
            UpdateMode::SemDec => before.map(|count| count - 1),
            _ => None,
        },
    };
    events.push(Event { index, inst, what, before, after });
}

/// The update that the wait at `at` needs: the first after the reset before it that brings the count to its value.
/// It may stand behind the wait.
pub(crate) fn binding(module: &Module, events: &[Event], at: usize) -> Option<Binding> {
    let What::Wait { mode, value, .. } = events[at].what else { return None };
    let threshold = match mode {
        WaitMode::EvtSetThenClear => 1,
        WaitMode::SemGeImm => value,
        // The value is in a register.
        _ => return None,
    };
    let first = match mode {
        // Each set is used up by one wait.
        WaitMode::EvtSetThenClear => {
            events[..at].iter().rposition(|event| !matches!(event.what, What::Update { .. }))
        }
        _ => events[..at].iter().rposition(|event| matches!(event.what, What::Reset)),
    };
    let first = first.map_or(0, |reset| reset + 1);
    let mut streams: Vec<Stream> = Vec::new();
    for (i, event) in events.iter().enumerate().skip(first) {
        match event.what {
            What::Wait { .. } => {}
            What::Reset => return None,
            What::Update { .. } => {
                let stream = stream(module, event.inst);
                if !streams.contains(&stream) {
                    streams.push(stream);
                }
                if event.after? >= threshold {
                    return Some(Binding { event: i, certain: streams.len() == 1 });
                }
            }
        }
    }
    None
}

/// The stream whose order an update follows.
pub(crate) fn stream(module: &Module, inst: InstId) -> Stream {
    let instruction = &module[inst];
    if let bir::Holder::Queue(queue) = module.outermost(inst) {
        return Stream::Queue(queue);
    }
    let fields = instruction.op.fields();
    let queue = fields.and_then(|fields| {
        let at = fields.specs().iter().position(|spec| spec.key == "queue")?;
        match fields.field(at) {
            FieldValue::Queue(queue) => queue.id(),
            _ => None,
        }
    });
    match (queue, instruction.engine) {
        (Some(queue), _) => Stream::Queue(queue),
        (None, EngineType::Unassigned) => Stream::Other(inst),
        (None, engine) => Stream::Engine(engine),
    }
}
