//! One instruction: operands, dependencies, semaphores and the rest of the header.

use super::Operand;
use crate::edges::{Edge, EdgeKind};
use crate::enums::{NamedObjectOrigin, UpdateMode};
use crate::ids::InstId;
use crate::inst::{DebugInfo, Instruction};
use crate::module::Module;
use crate::records::{SyncInfo, SyncUpdate, SyncWait};
use crate::value::Value;

/// Changes an instruction that already stands in its block.
#[derive(Debug)]
pub struct InstBuilder<'b> {
    module: &'b mut Module,
    id: InstId,
}

impl<'b> InstBuilder<'b> {
    pub(super) fn new(module: &'b mut Module, id: InstId) -> InstBuilder<'b> {
        InstBuilder { module, id }
    }

    /// The instruction.
    pub fn id(self) -> InstId {
        self.id
    }

    /// Adds an input.
    pub fn input(self, operand: impl Into<Operand>) -> Self {
        let operand = operand.into().resolve(self.module);
        self.with(|inst| inst.ins.push(operand))
    }

    /// Adds inputs.
    pub fn inputs(self, operands: impl IntoIterator<Item = Operand>) -> Self {
        operands.into_iter().fold(self, InstBuilder::input)
    }

    /// Adds an index tensor.
    pub fn index(self, operand: impl Into<Operand>) -> Self {
        let operand = operand.into().resolve(self.module);
        self.with(|inst| inst.rare_mut().indirection_ins.push(operand))
    }

    /// Adds an output.
    ///
    /// # Panics
    /// When the operand is an immediate, which is always an input. spec: bir-json 8.1
    pub fn output(self, operand: impl Into<Operand>) -> Self {
        let operand = operand.into().resolve(self.module);
        assert!(!operand.is_immediate(), "an immediate is no output");
        self.with(|inst| inst.outs.push(operand))
    }

    /// Adds a dependency.
    ///
    /// # Panics
    /// When the instruction would depend on itself.
    pub fn after(self, on: InstId, kind: EdgeKind) -> Self {
        self.module.depend(self.id, on, kind).expect("an instruction does not depend on itself");
        self
    }

    /// Adds a dependency on an earlier iteration of a loop, with its distance in iterations. A distance of `None`
    /// is left out of documents.
    ///
    /// # Panics
    /// When the instruction would depend on itself.
    pub fn after_carried(self, on: InstId, kind: EdgeKind, distance: Option<u64>) -> Self {
        assert_ne!(self.id, on, "an instruction does not depend on itself");
        let extras: Vec<Value> = distance.map(|d| Value::List(vec![Value::Uint(d)])).into_iter().collect();
        let id = self.id;
        self.module[id].loop_carried_dependencies.insert_with(Edge::new(on, kind), &extras);
        self
    }

    /// Waits until a semaphore has reached a count.
    pub fn waits(self, semaphore: u32, count: u32) -> Self {
        self.wait(SyncWait { id: Some(semaphore), wait_value: Some(count), ..SyncWait::default() })
    }

    /// Waits until a semaphore has reached a count, and names the producer: an instruction, or the DMABlock of a
    /// DMA.
    pub fn waits_for(self, producer: InstId, semaphore: u32, count: u32) -> Self {
        let from = Some(self.module[producer].name);
        self.wait(SyncWait { id: Some(semaphore), wait_value: Some(count), from, ..SyncWait::default() })
    }

    /// Adds a wait of any mode.
    pub fn wait(self, wait: SyncWait) -> Self {
        self.with(|inst| sync(inst).on_wait.push(wait))
    }

    /// Adds one to a semaphore on completion, as engine instructions do.
    pub fn increments(self, semaphore: u32) -> Self {
        self.update(SyncUpdate {
            id: Some(semaphore),
            update_value: Some(1),
            update_mode: UpdateMode::SemInc,
            ..SyncUpdate::default()
        })
    }

    /// Adds a number to a semaphore on completion.
    pub fn adds(self, semaphore: u32, count: u32) -> Self {
        self.update(SyncUpdate { id: Some(semaphore), update_value: Some(count), ..SyncUpdate::default() })
    }

    /// Adds an update of any mode.
    pub fn update(self, update: SyncUpdate) -> Self {
        self.with(|inst| sync(inst).on_update.push(update))
    }

    /// Line and operation of the source.
    pub fn line(self, lineno: i64, op_name: &str) -> Self {
        let op_name = self.module.names.intern(op_name);
        self.with(|inst| inst.debug = Some(DebugInfo::new(Some(lineno), Some(op_name)).into()))
    }

    /// Which of several equal engines runs it.
    pub fn engine_id(self, engine_id: u32) -> Self {
        self.with(|inst| inst.engine_id = engine_id)
    }

    /// Who made it.
    pub fn origin(self, origin: NamedObjectOrigin) -> Self {
        self.with(|inst| inst.origin = origin)
    }

    /// Cycles in the schedule, first and last.
    pub fn schedule(self, start: i64, end: i64) -> Self {
        self.with(|inst| (inst.scheduled_start, inst.scheduled_end) = (start, end))
    }

    /// Keeps a member that the tables do not know.
    pub fn extra(self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.with(|inst| inst.rare_mut().extra.insert(key, value))
    }

    /// Changes the instruction itself. Its links are better changed through the module.
    pub fn with(self, change: impl FnOnce(&mut Instruction)) -> Self {
        change(&mut self.module[self.id]);
        self
    }
}

fn sync(inst: &mut Instruction) -> &mut SyncInfo {
    inst.sync_info.get_or_insert_default()
}
