//! What an instruction waits for and updates, and whom that concerns.

use std::collections::{HashMap, HashSet};

use bir::enums::{InstructionType, SyncRefType, WaitMode};
use bir::ids::{BlockId, InstId};
use bir::{Module, Op, OpenEnum};

use super::super::Cut;
use super::{UpdateView, WaitView};
use crate::program::Program;
use crate::semaphores::{self, Binding, Event, Key, What};

/// What happens to a semaphore in a block, and the updates that its waits need.
#[derive(Default)]
pub(super) struct Timeline {
    events: Vec<Event>,
    bindings: Vec<Option<Binding>>,
}

/// The semaphores that some instructions wait for or update, with the transfers that they start.
pub(super) fn keys_of(module: &Module, insts: &[InstId]) -> HashSet<Key> {
    let mut keys = HashSet::new();
    for inst in insts {
        let blocks = match &module[*inst].op {
            Op::DMATrigger(op) => op.dma_blocks.iter().filter_map(|block| block.id()).collect(),
            _ => Vec::new(),
        };
        for owner in [*inst].into_iter().chain(blocks) {
            let Some(sync) = &module[owner].sync_info else { continue };
            keys.extend(sync.on_wait.iter().filter_map(|wait| Some((wait.sync_type, wait.id?))));
            keys.extend(sync.on_update.iter().filter_map(|update| Some((update.sync_type, update.id?))));
        }
    }
    keys
}

/// The timelines of a block's semaphores, of those that are asked for.
pub(super) fn timelines(module: &Module, block: BlockId, keys: &HashSet<Key>) -> HashMap<Key, Timeline> {
    let lists = semaphores::events(module, block, &|key| keys.contains(&key));
    let bound = |(key, events): (Key, Vec<Event>)| {
        let bindings = semaphores::bindings(module, &events);
        (key, Timeline { events, bindings })
    };
    lists.into_iter().map(bound).collect()
}

/// Instructions that only wait, just before an instruction on its engine, in order.
pub(super) fn helpers(program: &Program<'_>, inst: InstId) -> Vec<InstId> {
    let module = program.module;
    let waits_only = |inst: InstId| module[inst].opcode() == InstructionType::EventSemaphore;
    let Some(index) = program.names().index(inst).filter(|_| !waits_only(inst)) else { return Vec::new() };
    let queue = |inst: InstId| (module[inst].engine, module[inst].engine_id);
    let before = module[module[inst].block].instructions.iter().take(index).rev().copied();
    let mut found: Vec<InstId> = before
        .filter(|other| queue(*other) == queue(inst))
        .take_while(|other| waits_only(*other))
        .take(HELPERS)
        .collect();
    found.reverse();
    found
}

/// More than these are no helpers of one instruction.
const HELPERS: usize = 16;

pub(super) fn waits(program: &Program<'_>, inst: InstId, events: &HashMap<Key, Timeline>) -> Vec<WaitView> {
    let module = program.module;
    let index = program.names().index(inst);
    let Some(sync) = &module[inst].sync_info else { return Vec::new() };
    let mut seen: HashMap<Key, usize> = HashMap::new();
    let view = |wait: &bir::records::SyncWait| {
        let key = wait.id.map(|id| (wait.sync_type, id));
        let timeline = key.and_then(|key| events.get(&key));
        let list = timeline.map_or(&[][..], |timeline| &timeline.events);
        // The n-th wait of this instruction for this semaphore.
        let nth = key.map_or(0, |key| {
            let nth = seen.entry(key).or_default();
            *nth += 1;
            *nth - 1
        });
        let own = |(_, event): &(usize, &Event)| {
            matches!(event.what, What::Wait { .. }) && event.inst == inst && Some(event.index) == index
        };
        let at = list.iter().enumerate().filter(own).nth(nth).map(|(at, _)| at);
        let binding = at.and_then(|at| timeline?.bindings[at]);
        let producer = binding.map(|binding| &list[binding.event]);
        let from = wait.from.map(|from| module.str(from).to_owned());
        let remark = remark(module, wait, list, at, producer, binding.is_some_and(|b| b.certain));
        WaitView {
            sync: wait.sync_type.text(&module.names).to_owned(),
            id: wait.id,
            mode: wait.wait_mode.text(&module.names).to_owned(),
            value: wait.wait_value,
            register: wait.wait_reg.map(|register| module.str(module.ref_name(register)).to_owned()),
            from,
            producer: producer.map(|event| program.at(event.inst)),
            count: producer.and_then(|event| Some([event.before?, event.after?])),
            certain: binding.is_some_and(|binding| binding.certain),
            remark,
            through: None,
        }
    };
    sync.on_wait.iter().map(view).collect()
}

/// What is odd about a wait.
fn remark(
    module: &Module,
    wait: &bir::records::SyncWait,
    events: &[Event],
    at: Option<usize>,
    producer: Option<&Event>,
    certain: bool,
) -> Option<String> {
    let Some(producer) = producer else {
        let updated = events.iter().any(|event| matches!(event.what, What::Update { .. }));
        return Some(match wait.wait_mode {
            WaitMode::SemGeReg => "the count is in a register".into(),
            _ if !updated => "nothing in this block updates it".into(),
            _ if at.is_some_and(|at| events[at].before.is_none()) => {
                "its count is not known here: a reset does not say which semaphores it resets".into()
            }
            _ => "its count never gets there in this block".into(),
        });
    };
    let waiter = at.map(|at| events[at].index);
    if waiter.is_some_and(|waiter| producer.index >= waiter) {
        return Some("that update stands behind the wait".into());
    }
    let name = module[producer.inst].name;
    if wait.from.is_some_and(|from| from != name) {
        return Some("the document names another producer".into());
    }
    (!certain).then(|| "several streams update it: which update comes first is not fixed".into())
}

pub(super) fn updates(
    program: &Program<'_>,
    inst: InstId,
    events: &HashMap<Key, Timeline>,
    most: usize,
) -> Vec<UpdateView> {
    let module = program.module;
    let mut views = Vec::new();
    let blocks = match &module[inst].op {
        Op::DMATrigger(op) => op.dma_blocks.iter().filter_map(|block| block.id()).collect(),
        _ => Vec::new(),
    };
    for owner in [inst].into_iter().chain(blocks) {
        let Some(sync) = &module[owner].sync_info else { continue };
        for update in &sync.on_update {
            let key = update.id.map(|id| (update.sync_type, id)).filter(|_| update.target_core.is_none());
            let timeline = key.and_then(|key| events.get(&key));
            let list = timeline.map_or(&[][..], |timeline| &timeline.events);
            let own = |event: &Event| matches!(event.what, What::Update { .. }) && event.inst == owner;
            let at = list.iter().position(own);
            let mut waiters = Cut::default();
            let bindings = timeline.map_or(&[][..], |timeline| &timeline.bindings);
            for (event, binding) in list.iter().zip(bindings) {
                if binding.is_some_and(|binding| Some(binding.event) == at) {
                    waiters.push(most, || program.at(event.inst));
                }
            }
            views.push(UpdateView {
                dma_block: (owner != inst).then(|| program.names().name(module, owner)),
                sync: update.sync_type.text(&module.names).to_owned(),
                id: update.id,
                mode: update.update_mode.text(&module.names).to_owned(),
                value: update.update_value,
                core: update.target_core,
                count: at.and_then(|at| list[at].after),
                waiters,
            });
        }
    }
    views
}

/// `semaphore 8`
pub(in crate::show) fn sync_word(sync: &str, id: Option<u32>) -> String {
    match id {
        Some(id) => format!("{sync} {id}"),
        None => format!("{sync} ?"),
    }
}

/// Whether a kind is that of events.
pub(in crate::show) fn is_event(sync: &str) -> bool {
    SyncRefType::parse(sync) == Some(SyncRefType::Event)
}
