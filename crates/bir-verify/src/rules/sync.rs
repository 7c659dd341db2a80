//! Semaphores and events: SYNC. Whether waits are met is for the order command.

use bir::diag::{Place, Severity};
use bir::enums::{EngineType, InstructionType, SyncRefType, UpdateMode, WaitMode};
use bir::ids::FuncId;
use bir::records::SyncInfo;
use bir::{Holder, Op, OpenEnum};

use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[SYNC_01, SYNC_02], ids).needs(Needs::Sync),
    Check::inst(&[SYNC_03, SYNC_06], modes).needs(Needs::Sync),
    Check::inst(&[SYNC_04], wait_modes).needs(Needs::Sync),
    Check::inst(&[SYNC_05], capacity).needs(Needs::Sync),
    Check::function(&[SYNC_07], carriers),
    Check::inst(&[SYNC_08], drain),
    Check::inst(&[SYNC_09], reset_group),
    Check::inst(&[SYNC_12], late).needs(Needs::Sync),
];

fn sync<'i>(inst: &'i Inst<'_>) -> Option<&'i SyncInfo> {
    inst.inst.sync_info.as_deref()
}

fn ids(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sync) = sync(inst) else { return };
    let waits = sync.on_wait.iter().map(|wait| (wait.id, wait.sync_type, "waits for"));
    let updates = sync.on_update.iter().map(|update| (update.id, update.sync_type, "updates"));
    for (id, kind, verb) in waits.chain(updates) {
        let Some(id) = id else { continue };
        let (what, limit) = match kind {
            SyncRefType::Event => ("event", cx.target.events),
            _ => ("semaphore", cx.target.semaphores),
        };
        if u64::from(id) >= limit {
            let message = format!("{verb} {what} {id}; ids are 0 to {}", limit - 1);
            out.report(SYNC_01, inst.place(), message);
        } else if let Some(bound) =
            cx.options.semaphore_limit.filter(|bound| what == "semaphore" && id >= *bound)
        {
            let message = format!("{verb} semaphore {id}; the compiler has those below {bound}");
            out.report(SYNC_02, inst.place(), message).at_most(Severity::Warning);
        }
    }
}

fn modes(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sync) = sync(inst) else { return };
    for update in &sync.on_update {
        let value = update.update_value.unwrap_or(1);
        if matches!(update.update_mode, UpdateMode::SemInc | UpdateMode::SemDec) && value != 1 {
            let mode = update.update_mode.text(&cx.module.names);
            let word = if update.update_mode == UpdateMode::SemInc { "inc" } else { "dec" };
            let message = format!(
                "semaphore {word} value must be 1: {mode} has {value}; sem-add-imm and sem-sub-imm count by more"
            );
            out.report(SYNC_03, inst.place(), message)
                .vendor("", format!("Semaphore {word} value must be 1"));
        }
        let of_event = update.update_mode == UpdateMode::EvtSet;
        let is_event = update.sync_type == SyncRefType::Event;
        if update.update_mode == UpdateMode::Invalid {
            out.report(SYNC_06, inst.place(), "the update has the mode invalid")
                .vendor("IXCG030", "Unhandled semaphore update command");
        } else if of_event != is_event {
            let message = format!(
                "update mode {} of {}: evt-set goes with events, all others with semaphores",
                update.update_mode.text(&cx.module.names),
                if is_event { "an event" } else { "a semaphore" }
            );
            out.report(SYNC_06, inst.place(), message)
                .vendor("IXCG030", "Unhandled semaphore update command");
        }
    }
    for wait in &sync.on_wait {
        let of_event = wait.wait_mode == WaitMode::EvtSetThenClear;
        let is_event = wait.sync_type == SyncRefType::Event;
        if wait.wait_mode == WaitMode::Invalid || of_event != is_event {
            let message = format!(
                "wait mode {} of {}: evt-set-then-clear goes with events, all others with semaphores",
                wait.wait_mode.text(&cx.module.names),
                if is_event { "an event" } else { "a semaphore" }
            );
            out.report(SYNC_06, inst.place(), message).vendor("IXCG029", "Unhandled semaphore wait command");
        }
    }
}

fn wait_modes(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sync) = sync(inst) else { return };
    for wait in &sync.on_wait {
        if !matches!(wait.wait_mode, WaitMode::SemGeImm | WaitMode::SemGeReg) {
            let message = format!(
                "waits with {}; an EventSemaphore waits with sem-ge-imm or sem-ge-reg",
                wait.wait_mode.text(&cx.module.names)
            );
            out.report(SYNC_04, inst.place(), message);
        }
    }
}

/// Waits and updates that one instruction can hold.
fn room(cx: &Cx<'_>, op: InstructionType) -> (u64, u64) {
    let waits = if op == InstructionType::EventSemaphore {
        cx.target.waits_per_semaphore_op
    } else {
        cx.target.waits_per_op
    };
    (waits, cx.target.updates_per_op)
}

fn capacity(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sync) = sync(inst) else { return };
    let (waits, updates) = room(cx, inst.opcode);
    let found = (sync.on_wait.len() as u64, sync.on_update.len() as u64);
    if found.0 > waits || found.1 > updates {
        let message = format!(
            "has {} waits and {} updates; {} holds {waits} and {updates}",
            found.0,
            found.1,
            inst.op_name(cx)
        );
        // Others get more EventSemaphores in front of them when they are encoded.
        let fixed = inst.opcode == InstructionType::EventSemaphore || found.1 > updates;
        let finding =
            out.report(SYNC_05, inst.place(), message).help("put EventSemaphore instructions in front of it");
        if !fixed {
            finding.at_most(Severity::Note);
        }
    }
}

/// SYNC-07, once for a function: how many EventSemaphores the encoder will add.
fn carriers(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    if !cx.options.is_verbose {
        return;
    }
    let mut first = None;
    let (mut count, mut extra) = (0u64, 0u64);
    for id in cx.module.insts_of(Holder::Function(function)) {
        let inst = &cx.module[id];
        let Some(sync) = inst.sync_info.as_deref() else { continue };
        let (waits, _) = room(cx, inst.opcode());
        let found = sync.on_wait.len() as u64;
        if found > waits {
            first.get_or_insert(id);
            count += 1;
            extra += (found - waits).div_ceil(cx.target.waits_per_semaphore_op);
        }
    }
    if let Some(first) = first {
        let message = format!(
            "{count} instructions wait for more than a word holds; {extra} EventSemaphores will stand in front of them"
        );
        out.report(SYNC_07, Place::of(first), message).at_most(Severity::Note);
    }
}

fn drain(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if let Op::Drain(op) = inst.op()
        && op.is_reset_sema.value().is_none()
    {
        out.report(SYNC_08, inst.place(), "is_reset_sema is an expression; it is a constant");
    }
}

fn reset_group(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::GroupResetSemaphores(op) = inst.op() else { return };
    if op.sema_group.is_empty() {
        out.report(SYNC_09, inst.place(), "the group of semaphores is empty")
            .vendor("XCG1016", "has an empty SemaGroup vector");
    }
    if let Some(id) = op.sema_group.iter().find(|id| u64::from(**id) >= cx.target.semaphores) {
        let message = format!("resets semaphore {id}; ids are 0 to {}", cx.target.semaphores - 1);
        out.report(SYNC_09, inst.place(), message);
    }
}

/// SYNC-12: what is expanded late is not synchronised before.
fn late(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sync) = sync(inst) else { return };
    if inst.engine == EngineType::ALL && !(sync.on_wait.is_empty() && sync.on_update.is_empty()) {
        out.report(SYNC_12, inst.place(), "has sync_info and is still to be expanded to every engine")
            .at_most(Severity::Warning);
    }
}
