//! An object as a flat list of paths and values, which is how two are compared.

use std::fmt::Write;

use bir::ids::InstId;
use bir::record::{FieldValue, Fields};
use bir::{Instruction, OpenEnum};

use super::{Side, edges};
use crate::diff::DiffOptions;
use crate::json::{self, Names};

/// An object as a flat list of paths and values.
pub(super) struct Flat<'f, 'n, N: Names> {
    pub(super) names: &'n N,
    /// All fields that have a value, rather than those that are not at their default.
    pub(super) all: bool,
    path: String,
    value: Vec<u8>,
    /// Whether the record's field is at its default.
    pub(super) default: bool,
    /// How many operands of each list to take.
    pub(super) operands: [usize; 3],
    put: &'f mut dyn FnMut(&str, &[u8], bool),
}

impl<'f, 'n> Flat<'f, 'n, Side<'n>> {
    pub(super) fn new(names: &'n Side<'n>, all: bool, put: &'f mut dyn FnMut(&str, &[u8], bool)) -> Self {
        Flat {
            names,
            all,
            path: String::new(),
            value: Vec::new(),
            default: false,
            operands: [usize::MAX; 3],
            put,
        }
    }

    pub(super) fn instruction(&mut self, id: InstId, options: &DiffOptions, by_shape: bool) {
        let module = self.names.module;
        let inst = &module[id];
        let names = self.names;
        if !by_shape {
            self.leaf_at("name", |out| json::string(out, module.str(inst.name)));
        }
        self.plain("opcode", inst.opcode().text(&module.names));
        self.plain("engine", inst.engine.text(&module.names));
        if self.all || inst.engine_id != 0 {
            self.plain("engine_id", &inst.engine_id.to_string());
        }
        self.plain("origin", inst.origin.text(&module.names));
        if !options.ignore_schedule {
            self.plain("scheduled_start", &inst.scheduled_start.to_string());
            self.plain("scheduled_end", &inst.scheduled_end.to_string());
        }
        if let Some(fields) = inst.op.fields() {
            self.record(fields);
        }
        for (list, index, argument) in inst.operands() {
            if index >= self.operands[list as usize] {
                continue;
            }
            let mark = self.path.len();
            let _ = write!(self.path, "{}[{index}]", list.key());
            let inner = self.path.len();
            self.path.push_str(".kind");
            self.leaf(|out| json::string(out, argument.kind()));
            self.path.truncate(inner);
            self.record(argument.fields());
            self.path.truncate(mark);
        }
        if let Some(sync) = &inst.sync_info {
            self.path.push_str("sync_info");
            if sync.on_wait.is_empty() && sync.on_update.is_empty() {
                self.leaf(|out| out.extend_from_slice(b"{}"));
            }
            self.sync(sync, by_shape);
            self.path.clear();
        }
        if let Some(debug) = &inst.debug {
            let value = crate::names::debug_value(module, debug);
            match value.as_object() {
                Some(members) => {
                    for (key, value) in members {
                        self.leaf_at(&format!("debug.{key}"), |out| json::value_of(out, value));
                    }
                }
                None => self.leaf_at("debug", |out| json::value_of(out, &value)),
            }
        }
        if let Some(passes) = &inst.optin_passes {
            self.leaf_at("optin_passes", |out| {
                json::list(out, passes, |out, sym| json::string(out, module.str(*sym)));
            });
        }
        if inst.has_rare() {
            self.rare(id, inst);
        }
        if !self.all {
            // The quick comparison takes the edges along, in any order.
            for key in ["dependencies", "loop_carried_dependencies"] {
                let mut edges = edges(names, id, key);
                edges.sort_unstable();
                edges.iter().for_each(|edge| (self.put)(key, edge.as_bytes(), false));
            }
        }
    }

    fn sync(&mut self, sync: &bir::records::SyncInfo, by_shape: bool) {
        let mark = self.path.len();
        for (i, wait) in sync.on_wait.iter().enumerate() {
            let _ = write!(self.path, ".on_wait[{i}]");
            if by_shape && wait.from.is_some() {
                // A name of an instruction, and names are not compared.
                self.record(&bir::records::SyncWait { from: None, ..wait.clone() });
            } else {
                self.record(wait);
            }
            self.path.truncate(mark);
        }
        for (i, update) in sync.on_update.iter().enumerate() {
            let _ = write!(self.path, ".on_update[{i}]");
            self.record(update);
            self.path.truncate(mark);
        }
    }

    fn rare(&mut self, id: InstId, inst: &Instruction) {
        let rare = inst.rare();
        let (module, names) = (self.names.module, self.names);
        if !rare.loopnest.is_empty() {
            self.leaf_at("loopnest", |out| {
                json::list(out, &rare.loopnest, |out, sym| json::string(out, module.str(*sym)));
            });
        }
        if !rare.predicates.is_empty() {
            self.leaf_at("predicates", |out| json::list(out, &rare.predicates, json::value_of));
        }
        if !rare.order.is_empty() {
            self.leaf_at("order", |out| json::list(out, &rare.order, |out, id| json::expr(out, names, *id)));
        }
        if let Some(id) = rare.dma_trigger_debug_update_semaphore_id {
            self.plain("dma_trigger_debug_update_semaphore_id", &id.to_string());
        }
        for (key, value) in rare.extra.members() {
            self.leaf_at(key, |out| json::value_of(out, value));
        }
        if !self.all {
            let mut edges = edges(names, id, "unroll_dependencies");
            edges.sort_unstable();
            edges.iter().for_each(|edge| (self.put)("unroll_dependencies", edge.as_bytes(), false));
        }
        for (i, edge) in rare.unroll_dependencies.iter().enumerate() {
            if !edge.exprs.is_empty() || !edge.predicates.is_empty() {
                self.leaf_at(&format!("unroll_dependencies[{i}].expressions"), |out| {
                    json::list(out, &edge.exprs, |out, id| json::expr(out, names, *id));
                    json::list(out, &edge.predicates, json::value_of);
                });
            }
        }
    }
}

impl<N: Names> Flat<'_, '_, N> {
    fn leaf(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.value.clear();
        write(&mut self.value);
        (self.put)(&self.path, &self.value, self.default);
    }

    pub(super) fn leaf_at(&mut self, path: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.value.clear();
        write(&mut self.value);
        (self.put)(path, &self.value, false);
    }

    fn plain(&mut self, path: &str, text: &str) {
        (self.put)(path, text.as_bytes(), false);
    }

    /// The fields of a record under the path.
    pub(super) fn record(&mut self, record: &dyn Fields) {
        if self.all {
            for (at, spec) in record.specs().iter().enumerate() {
                self.default = record.is_default(at);
                self.member(spec.key, record.field(at));
            }
            self.default = false;
        } else {
            let this = &mut *self;
            record.visit_written(&mut |spec, value, is_default| {
                if !is_default {
                    this.member(spec.key, value);
                }
            });
        }
        if let Some(extra) = record.unknown_members() {
            for (key, value) in extra.members() {
                let mark = self.step(key);
                self.leaf(|out| json::value_of(out, value));
                self.path.truncate(mark);
            }
        }
    }

    fn step(&mut self, key: &str) -> usize {
        let mark = self.path.len();
        if mark > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        mark
    }

    fn member(&mut self, key: &str, value: FieldValue<'_>) {
        // How a text is encoded, and what names the machine: never compared.
        if self.path.is_empty() && matches!(key, "version" | "artifact_path") {
            return;
        }
        let mark = self.step(key);
        self.field(value);
        self.path.truncate(mark);
    }

    fn field(&mut self, value: FieldValue<'_>) {
        match value {
            FieldValue::Unset | FieldValue::Owned(_) | FieldValue::Opaque => {}
            FieldValue::Record(record) => self.record(record),
            FieldValue::List(items) if matches!(items.first(), Some(FieldValue::Opaque)) => {}
            FieldValue::List(items) if matches!(items.first(), Some(FieldValue::Record(_))) => {
                let mark = self.path.len();
                for (i, item) in items.into_iter().enumerate() {
                    let _ = write!(self.path, "[{i}]");
                    self.field(item);
                    self.path.truncate(mark);
                }
            }
            FieldValue::Members(members) => {
                for (key, value) in members {
                    let mark = self.step(key);
                    self.leaf(|out| json::value_of(out, value));
                    self.path.truncate(mark);
                }
            }
            value => {
                let names = self.names;
                self.leaf(|out| json::field(out, names, &value));
            }
        }
    }
}
