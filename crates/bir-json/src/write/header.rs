//! The header of an instruction. Its keys mix with those of the op in key order, so the generated code calls
//! [`Object::header`] for each run of header keys between two op keys.

use bir::edges::{EdgeKind, EdgeSet, MissingEdge, UnrollEdge};
use bir::{Argument, DebugInfo, Instruction, Value};

use super::templates::Hole;
use super::{Object, Out, Write, Writer};
use crate::generated::HeaderKey;
use crate::value::write_value;

fn edge(out: &mut Out<'_>, name: &str, kind: EdgeKind, extras: &[Value]) {
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

impl<'a> Writer<'a, '_> {
    pub(crate) fn instruction(&mut self, inst: &'a Instruction) {
        // The keys of an unknown op are its content, not unknown members: they are never dropped.
        let dropping = self.drop_unknown;
        self.drop_unknown &= !matches!(inst.op, bir::Op::Other(_));
        self.by_template(inst, |w| w.object_with(&inst.rare().extra, |o| o.put_instruction(inst)));
        self.drop_unknown = dropping;
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
            edge(&mut self.out, self.module.str(name), kind, extras);
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
        let mut put = |out: &mut Out<'_>, key: &str, value: &Value| {
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
        if is_written(inst, key) && self.key(key.key()) {
            if key.is_common() {
                self.writer.header_value(inst, key);
            } else {
                self.writer.recorded(Hole::Header(key), |w| w.header_value(inst, key));
            }
        }
    }
}

/// Whether a writer puts a header key.
fn is_written(inst: &Instruction, key: HeaderKey) -> bool {
    let rare = inst.rare();
    let missing =
        |loop_carried: bool| rare.missing_edges.iter().any(|edge| edge.loop_carried == loop_carried);
    match key {
        HeaderKey::Name
        | HeaderKey::Origin
        | HeaderKey::Opcode
        | HeaderKey::Engine
        | HeaderKey::EngineId
        | HeaderKey::ScheduledStart
        | HeaderKey::ScheduledEnd
        | HeaderKey::Ins
        | HeaderKey::Outs => true,
        HeaderKey::OptinPasses => inst.optin_passes.is_some(),
        HeaderKey::Dependencies => !inst.dependencies.is_empty() || missing(false),
        HeaderKey::LoopCarriedDependencies => !inst.loop_carried_dependencies.is_empty() || missing(true),
        HeaderKey::UnrollDependencies => !rare.unroll_dependencies.is_empty(),
        HeaderKey::SyncInfo => inst.sync_info.is_some(),
        HeaderKey::IndirectionIns => !rare.indirection_ins.is_empty(),
        HeaderKey::Debug => inst.debug.is_some(),
        HeaderKey::Loopnest => !rare.loopnest.is_empty(),
        HeaderKey::Predicates => !rare.predicates.is_empty(),
        HeaderKey::Order => !rare.order.is_empty(),
        HeaderKey::DmaTriggerDebugUpdateSemaphoreId => rare.dma_trigger_debug_update_semaphore_id.is_some(),
    }
}

impl<'a> Writer<'a, '_> {
    /// Writes the value of a header key.
    pub(super) fn header_value(&mut self, inst: &'a Instruction, key: HeaderKey) {
        let rare = inst.rare();
        match key {
            HeaderKey::Name => inst.name.write(self),
            HeaderKey::Origin => inst.origin.write(self),
            HeaderKey::Opcode => self.open_enum(inst.opcode()),
            HeaderKey::Engine => inst.engine.write(self),
            HeaderKey::EngineId => inst.engine_id.write(self),
            HeaderKey::ScheduledStart => inst.scheduled_start.write(self),
            HeaderKey::ScheduledEnd => inst.scheduled_end.write(self),
            HeaderKey::OptinPasses => inst.optin_passes.iter().for_each(|passes| passes.write(self)),
            HeaderKey::Dependencies => self.edges(&inst.dependencies, &rare.missing_edges, false),
            HeaderKey::LoopCarriedDependencies => {
                self.edges(&inst.loop_carried_dependencies, &rare.missing_edges, true);
            }
            HeaderKey::UnrollDependencies => self.array(&rare.unroll_dependencies, Writer::unroll_edge),
            HeaderKey::SyncInfo => inst.sync_info.iter().for_each(|sync| sync.write(self)),
            HeaderKey::Ins => self.arguments(&inst.ins),
            HeaderKey::IndirectionIns => self.arguments(&rare.indirection_ins),
            HeaderKey::Outs => self.arguments(&inst.outs),
            HeaderKey::Debug => {
                inst.debug.iter().for_each(|debug| self.shared_value(debug, Writer::debug));
            }
            HeaderKey::Loopnest => rare.loopnest.write(self),
            HeaderKey::Predicates => rare.predicates.write(self),
            HeaderKey::Order => rare.order.write(self),
            HeaderKey::DmaTriggerDebugUpdateSemaphoreId => {
                rare.dma_trigger_debug_update_semaphore_id.iter().for_each(|id| id.write(self));
            }
        }
    }

    fn unroll_edge(&mut self, edge: &'a UnrollEdge) {
        self.out.open(b'[');
        self.out.separate(true);
        edge.target.write(self);
        self.out.separate(false);
        match edge.kind.name() {
            Some(kind) => self.out.plain_string(kind),
            None => self.out.unsigned(edge.kind.number().into()),
        }
        self.out.separate(false);
        edge.exprs.write(self);
        self.out.separate(false);
        edge.predicates.write(self);
        for extra in &edge.extras {
            self.out.separate(false);
            extra.write(self);
        }
        self.out.close(b']', false);
    }
}
