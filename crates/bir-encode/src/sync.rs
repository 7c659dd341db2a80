//! Waits and updates: what goes into the words of an instruction, and what into EVENT_SEMAPHORE words in front of it
//! (spec: isa-control-dma 1.4, 3.1; isa-bundle 17.3).

use bir::enums::{SyncRefType, UpdateMode as BirUpdate};
use bir::records::{SyncUpdate, SyncWait};
use tpb_isa::build::WordBuilder;
use tpb_isa::{Opcode, Update, UpdateMode, Wait, WaitMode, Word};

use crate::context::Inst;
use crate::error::{Reason, Result, invalid};

/// The waits and the update of an instruction.
#[derive(Default)]
pub(crate) struct Plan {
    /// Words in front that hold the waits that its own words cannot.
    pub(crate) carriers: Vec<Word>,
    /// The wait of its first word.
    pub(crate) wait: Option<Wait>,
    /// The update of its last word.
    pub(crate) update: Option<Update>,
}

fn waits_of<'c>(inst: Inst<'c>) -> &'c [SyncWait] {
    inst.inst.sync_info.as_deref().map_or(&[], |sync| &sync.on_wait)
}

/// The update of an instruction; there is one at most.
pub(crate) fn update_of<'c>(inst: Inst<'c>) -> Result<Option<&'c SyncUpdate>> {
    match inst.inst.sync_info.as_deref().map_or(&[][..], |sync| &sync.on_update) {
        [] => Ok(None),
        [update] => Ok(Some(update)),
        several => invalid(format!("an instruction makes one update, not {}", several.len())),
    }
}

fn wait(inst: Inst<'_>, wait: &SyncWait) -> Result<Wait> {
    let id = wait.id.ok_or(Reason::Unset("id"))?;
    let mode = WaitMode::from_bir(inst.name(wait.wait_mode)?, inst.generation())?;
    let value = match wait.wait_reg {
        Some(reg) if mode == WaitMode::SEM_GE_REG => inst.context.register(reg)?,
        _ => wait.wait_value.unwrap_or(0),
    };
    if wait.sync_type != SyncRefType::Semaphore && mode != WaitMode::EVT_SET_THEN_CLEAR {
        let name = inst.name(wait.sync_type)?;
        return invalid(format!("a wait on {name} {id} cannot compare a count"));
    }
    Ok(Wait { mode, id, value })
}

fn update(inst: Inst<'_>, update: &SyncUpdate) -> Result<Update> {
    let id = update.id.ok_or(Reason::Unset("id"))?;
    let value = update.update_value.unwrap_or(0);
    // Adding 1 is counting: the compiler writes it so, and the value field stays free for the wait.
    let name = match update.update_mode {
        BirUpdate::SemAddImm if value == 1 => "sem-inc",
        BirUpdate::SemSubImm if value == 1 => "sem-dec",
        mode => inst.name(mode)?,
    };
    Ok(Update { mode: UpdateMode::from_bir(name, inst.generation())?, id, value })
}

impl Plan {
    pub(crate) fn new(inst: Inst<'_>) -> Result<Plan> {
        let update = update_of(inst)?.map(|each| update(inst, each)).transpose()?;
        Ok(Plan { update, ..Plan::waits(inst)? })
    }

    /// Divides the waits: the last of them by falling id is that of the instruction, the others go in pairs in front.
    pub(crate) fn waits(inst: Inst<'_>) -> Result<Plan> {
        let waits: Result<Vec<Wait>> = waits_of(inst).iter().map(|each| wait(inst, each)).collect();
        let mut waits = waits?;
        // EVENT_SEMAPHORE takes comparisons of counts only, so an event stays with the instruction.
        waits.sort_by_key(|wait| (wait.mode == WaitMode::EVT_SET_THEN_CLEAR, std::cmp::Reverse(wait.id)));
        let own = waits.pop();
        let mut carriers = Vec::new();
        for pair in waits.chunks(2) {
            carriers.push(carrier(inst, pair, None)?);
        }
        Ok(Plan { carriers, wait: own, update: None })
    }
}

/// An EVENT_SEMAPHORE word.
fn carrier(inst: Inst<'_>, waits: &[Wait], update: Option<Update>) -> Result<Word> {
    if let Some(wait) =
        waits.iter().find(|wait| !matches!(wait.mode, WaitMode::SEM_GE_IMM | WaitMode::SEM_GE_REG))
    {
        return invalid(format!(
            "EVENT_SEMAPHORE waits for a semaphore to reach a count; it cannot wait for event {}",
            wait.id
        ));
    }
    let mut word = WordBuilder::new(Opcode::EVENT_SEMAPHORE, inst.generation())?;
    word.sync(waits.first().copied(), None)?;
    word.sync_extended(waits.get(1).copied(), update)?;
    Ok(word.finish())
}

/// The word of an EventSemaphore instruction, which has room for two waits and an update of its own value.
pub(crate) fn event_semaphore(inst: Inst<'_>) -> Result<Word> {
    let waits: Result<Vec<Wait>> = waits_of(inst).iter().map(|each| wait(inst, each)).collect();
    let waits = waits?;
    let update = update_of(inst)?.map(|each| update(inst, each)).transpose()?;
    if waits.len() > 2 {
        return invalid(format!("EventSemaphore waits for two semaphores at most, not {}", waits.len()));
    }
    if waits.is_empty() && update.is_none() {
        return invalid("EventSemaphore without a wait and without an update");
    }
    carrier(inst, &waits, update)
}
