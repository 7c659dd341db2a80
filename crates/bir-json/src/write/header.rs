//! The header of an instruction. Its keys mix with those of the op in key order, so the generated code calls
//! [`Object::header`] for each run of header keys between two op keys.

use bir::edges::{EdgeKind, EdgeSet, MissingEdge};
use bir::{Argument, DebugInfo, Instruction, Value};

use super::{Object, Write, Writer};
use crate::generated::HeaderKey;
use crate::value::write_value;

impl<'a> Writer<'a, '_> {
    pub(crate) fn instruction(&mut self, inst: &'a Instruction) {
        // The keys of an unknown op are its content, not unknown members: they are never dropped.
        let dropping = self.drop_unknown;
        self.drop_unknown &= !matches!(inst.op, bir::Op::Other(_));
        self.object_with(&inst.rare().extra, |o| o.put_instruction(inst));
        self.drop_unknown = dropping;
    }

    fn edge_name(&mut self, name: &str, kind: EdgeKind, extras: &[Value]) {
        let out = &mut self.out;
        out.open(b'[');
        out.separate(true);
        out.string(name);
        out.separate(false);
        match kind.name() {
            Some(kind) => out.plain_string(kind),
            None => out.unsigned(kind.number().into()),
        }
        for extra in extras {
            out.separate(false);
            write_value(out, extra);
        }
        out.close(b']', false);
    }

    fn edges(&mut self, edges: &'a EdgeSet, missing: &'a [MissingEdge], loop_carried: bool) {
        self.out.open(b'[');
        let mut missing = missing.iter().filter(|edge| edge.loop_carried == loop_carried).peekable();
        let mut found = edges.iter_with();
        let mut position = 0;
        loop {
            let here = missing.next_if(|edge| edge.position <= position);
            let (name, kind, extras) = match here {
                Some(edge) => (edge.name, edge.kind, &edge.extras[..]),
                None => match found.next() {
                    Some((edge, extras)) => (self.module[edge.target()].name, edge.kind(), extras),
                    None => match missing.next() {
                        Some(edge) => (edge.name, edge.kind, &edge.extras[..]),
                        None => break,
                    },
                },
            };
            self.out.separate(position == 0);
            position += 1;
            self.edge_name(self.module.str(name), kind, extras);
        }
        let first = position == 0;
        self.out.close(b']', first);
    }

    fn debug(&mut self, debug: &'a DebugInfo) {
        let Value::Object(rest) = &debug.rest else {
            return write_value(&mut self.out, &debug.rest);
        };
        let lineno = debug.lineno.map(|line| ("lineno", Value::from(line)));
        let op_name = debug.op_name.map(|name| ("op_name", Value::from(self.module.str(name))));
        let typed = lineno.into_iter().chain(op_name);
        let mut free = rest.iter().map(|(key, value)| (&**key, value)).peekable();
        let out = &mut self.out;
        let mut first = true;
        let mut put = |out: &mut super::Out<'_>, key: &str, value: &Value| {
            out.separate(first);
            first = false;
            out.string(key);
            out.colon();
            write_value(out, value);
        };
        out.open(b'{');
        for (key, value) in typed {
            while let Some((key, value)) = free.next_if(|(free, _)| *free < key) {
                put(out, key, value);
            }
            put(out, key, &value);
        }
        free.for_each(|(key, value)| put(out, key, value));
        out.close(b'}', first);
    }

    fn arguments(&mut self, arguments: &'a [Argument]) {
        self.array(arguments, |w, argument| argument.write(w));
    }
}

impl<'a> Object<'a, '_, '_> {
    /// Puts the header keys of a range, in key order.
    pub(crate) fn header(&mut self, inst: &'a Instruction, keys: std::ops::Range<usize>) {
        for &key in &HeaderKey::SORTED[keys] {
            self.header_key(inst, key);
        }
    }

    fn header_key(&mut self, inst: &'a Instruction, key: HeaderKey) {
        let rare = inst.rare();
        let name = key.key();
        match key {
            HeaderKey::Name => self.put(name, &inst.name),
            HeaderKey::Origin => self.put(name, &inst.origin),
            HeaderKey::Opcode => self.put_with(name, |w| w.open_enum(inst.opcode())),
            HeaderKey::Engine => self.put(name, &inst.engine),
            HeaderKey::EngineId => self.put(name, &inst.engine_id),
            HeaderKey::ScheduledStart => self.put(name, &inst.scheduled_start),
            HeaderKey::ScheduledEnd => self.put(name, &inst.scheduled_end),
            HeaderKey::OptinPasses => self.put_some(name, &inst.optin_passes),
            HeaderKey::Dependencies => {
                let missing = rare.missing_edges.iter().any(|edge| !edge.loop_carried);
                if missing || !inst.dependencies.is_empty() {
                    self.put_with(name, |w| w.edges(&inst.dependencies, &rare.missing_edges, false));
                }
            }
            HeaderKey::LoopCarriedDependencies => {
                let missing = rare.missing_edges.iter().any(|edge| edge.loop_carried);
                if missing || !inst.loop_carried_dependencies.is_empty() {
                    self.put_with(name, |w| {
                        w.edges(&inst.loop_carried_dependencies, &rare.missing_edges, true);
                    });
                }
            }
            HeaderKey::UnrollDependencies => self.put_list(name, &rare.unroll_dependencies, |w, edge| {
                w.out.open(b'[');
                w.out.separate(true);
                edge.target.write(w);
                w.out.separate(false);
                match edge.kind.name() {
                    Some(kind) => w.out.plain_string(kind),
                    None => w.out.unsigned(edge.kind.number().into()),
                }
                w.out.separate(false);
                edge.exprs.write(w);
                w.out.separate(false);
                edge.predicates.write(w);
                for extra in &edge.extras {
                    w.out.separate(false);
                    extra.write(w);
                }
                w.out.close(b']', false);
            }),
            HeaderKey::SyncInfo => self.put_some(name, &inst.sync_info),
            HeaderKey::Ins => self.put_with(name, |w| w.arguments(&inst.ins)),
            HeaderKey::IndirectionIns => {
                self.put_list(name, &rare.indirection_ins, |w, argument| argument.write(w));
            }
            HeaderKey::Outs => self.put_with(name, |w| w.arguments(&inst.outs)),
            HeaderKey::Debug => {
                if let Some(debug) = &inst.debug {
                    self.put_with(name, |w| w.shared_value(debug, Writer::debug));
                }
            }
            HeaderKey::Loopnest => self.put_list(name, &rare.loopnest, |w, axis| axis.write(w)),
            HeaderKey::Predicates => self.put_list(name, &rare.predicates, |w, value| value.write(w)),
            HeaderKey::Order => self.put_list(name, &rare.order, |w, expr| expr.write(w)),
            HeaderKey::DmaTriggerDebugUpdateSemaphoreId => {
                self.put_some(name, &rare.dma_trigger_debug_update_semaphore_id);
            }
        }
    }
}
