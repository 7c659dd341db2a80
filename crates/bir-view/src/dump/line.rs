//! The lines of a dump. spec: dumper 3, 4

use std::io;

use bir::edges::EdgeSet;
use bir::enums::{SyncRefType, WaitMode};
use bir::ids::{BlockId, InstId};
use bir::record::FieldValue;
use bir::{Holder, Instruction, Module, Op, OpenEnum, Sym, Value};
use bir_json::number::{write_i64, write_u64};

use super::{DumpOptions, Line, LineKind, operand};
use crate::json::{self, ByName};

/// Bytes that are collected before they go to the sink.
const BUFFER: usize = 1 << 16;

/// The name that a module has in the vendor's tools. spec: dumper 8
const MODULE: &str = "module";

pub(super) struct Lines<'a, 'w> {
    module: &'a Module,
    names: ByName<'a>,
    options: &'a DumpOptions,
    sink: &'w mut dyn io::Write,
    out: Vec<u8>,
    depth: usize,
}

impl<'a, 'w> Lines<'a, 'w> {
    pub(super) fn new(
        module: &'a Module,
        sink: &'w mut dyn io::Write,
        options: &'a DumpOptions,
    ) -> Lines<'a, 'w> {
        let out = Vec::with_capacity(BUFFER + 4096);
        Lines { module, names: ByName(module), options, sink, out, depth: 0 }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.sink.write_all(&self.out)?;
        self.out.clear();
        self.sink.flush()
    }

    pub(super) fn open_module(&mut self) -> io::Result<()> {
        let start = self.start();
        let root = &self.module.root;
        put(&mut self.out, &["module ", MODULE, ": arch="]);
        let arch = root.arch.map_or("unknown", |arch| arch.text(&self.module.names));
        put(&mut self.out, &[arch]);
        // The version that a writer writes, whatever was read: it says how a text is encoded.
        put(&mut self.out, &[", version=2"]);
        if let Some(revision) = root.revision {
            put(&mut self.out, &[", revision=", revision.text(&self.module.names)]);
        }
        for (key, value) in &root.attributes {
            put(&mut self.out, &[", ", key, "="]);
            json::value_of(&mut self.out, value);
        }
        self.end(start, LineKind::Module, "", None, MODULE)?;
        self.depth += 1;
        Ok(())
    }

    pub(super) fn close_module(&mut self) -> io::Result<()> {
        self.close("module", MODULE)
    }

    pub(super) fn open_holder(&mut self, holder: Holder) -> io::Result<()> {
        let start = self.start();
        let module = self.module;
        let (kind, sym) = match holder {
            Holder::Function(id) => {
                let function = &module[id];
                self.out.extend_from_slice(b"function ");
                name(&mut self.out, module.str(function.name));
                let kind = if function.nki { "nki_function" } else { "function" };
                put(&mut self.out, &[": ", kind]);
                if !function.attributes.is_empty() {
                    put(&mut self.out, &[", attributes="]);
                    json::list(&mut self.out, &function.attributes, |out, sym| {
                        json::string(out, module.str(*sym));
                    });
                }
                (LineKind::Function, function.name)
            }
            Holder::Queue(id) => {
                let queue = &module[id];
                self.out.extend_from_slice(b"queue ");
                name(&mut self.out, module.str(queue.name));
                self.out.extend_from_slice(b": ");
                put(&mut self.out, &[queue.queue_type.map_or("queue", |ty| ty.text(&module.names))]);
                if let Some(engines) = queue.num_dma_engines {
                    put(&mut self.out, &[", num_dma_engines="]);
                    write_u64(&mut self.out, engines.into());
                }
                if !queue.semaphores.is_empty() {
                    put(&mut self.out, &[", semaphores="]);
                    json::list(&mut self.out, &queue.semaphores, |out, id| write_u64(out, (*id).into()));
                }
                (LineKind::Queue, queue.name)
            }
            Holder::Inst(_) => return Ok(()),
        };
        let text = module.str(sym);
        self.end(start, kind, text, None, text)?;
        self.depth += 1;
        Ok(())
    }

    pub(super) fn open_block(&mut self, block: BlockId, function: &str) -> io::Result<()> {
        let start = self.start();
        let text = self.module.str(self.module[block].name);
        self.out.extend_from_slice(b"block ");
        name(&mut self.out, text);
        self.out.push(b':');
        self.end(start, LineKind::Block, function, Some((text, None)), text)?;
        self.depth += 1;
        Ok(())
    }

    pub(super) fn skipped(&mut self, block: BlockId, count: usize, function: &str) -> io::Result<()> {
        let start = self.start();
        let plural = if count == 1 { "" } else { "s" };
        put(&mut self.out, &["... ", &count.to_string(), " instruction", plural, " not shown"]);
        let block = self.module.str(self.module[block].name);
        self.end(start, LineKind::Skipped, function, Some((block, None)), "")
    }

    /// Closes what the depth stands for.
    pub(super) fn close(&mut self, kind: &str, text: &str) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        let start = self.start();
        put(&mut self.out, &["end ", kind, if kind.is_empty() { "" } else { " " }]);
        name(&mut self.out, text);
        self.end(start, LineKind::End, "", None, text)
    }

    /// An instruction; `opens` when a body follows.
    pub(super) fn instruction(
        &mut self,
        id: InstId,
        block: BlockId,
        index: usize,
        function: &str,
        opens: bool,
    ) -> io::Result<()> {
        let module = self.module;
        let inst = &module[id];
        let start = self.start();
        self.header(inst);
        let (text, block) = (module.str(inst.name), module.str(module[block].name));
        let place = Some((block, Some(index)));
        if let Op::Other(op) = inst.op
            && number_beyond_table(module.str(op)).is_some()
        {
            // The header is all that is written of an opcode outside the table. spec: dumper 2
            return if self.options.json {
                self.end(start, LineKind::Instruction, function, place, text)
            } else {
                Ok(())
            };
        }
        self.op_fields(inst);
        self.options(inst);
        self.sync(inst);
        if opens {
            self.out.push(b':');
        }
        self.end(start, LineKind::Instruction, function, place, text)?;
        self.depth += usize::from(opens);
        Ok(())
    }

    fn header(&mut self, inst: &Instruction) {
        let module = self.module;
        let out = &mut self.out;
        name(out, module.str(inst.name));
        out.extend_from_slice(b": ");
        if inst.engine_id != 0 {
            write_u64(out, inst.engine_id.into());
            out.extend_from_slice(b": ");
        }
        put(out, &[inst.engine.text(&module.names), ", ", inst.opcode().text(&module.names)]);
        let indirect = &inst.rare().indirection_ins;
        for (key, list) in
            [(", ins=(", &inst.ins), (", indirection_ins=(", indirect), (", outs=(", &inst.outs)]
        {
            if list.is_empty() {
                continue;
            }
            put(out, &[key]);
            for (i, argument) in list.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b"; ");
                }
                operand(out, module, argument, indirect);
            }
            out.push(b')');
        }
    }

    fn op_fields(&mut self, inst: &Instruction) {
        let (out, names, plain) = (&mut self.out, &self.names, self.options.plain);
        if let Some(fields) = inst.op.fields().filter(|_| super::is_loop(&inst.op)) {
            // What a loop's line says was not published: its keys stand as in the document. spec: dumper 10
            let mut members: Vec<(&str, Vec<u8>)> = Vec::new();
            fields.visit_written(&mut |spec, value| {
                if !matches!(value, FieldValue::Owned(_)) {
                    let mut text = Vec::new();
                    json::field(&mut text, names, &value);
                    members.push((spec.key, text));
                }
            });
            members.sort();
            for (key, text) in members {
                put(out, &[", ", key, "="]);
                out.extend_from_slice(&text);
            }
        } else if let Some(fields) = inst.op.fields() {
            fields.visit_written(&mut |spec, value| {
                match value {
                    // Bodies are lines of their own.
                    FieldValue::Owned(_) => return,
                    // Skipped when empty. spec: dumper 5.2
                    FieldValue::Text(Sym::EMPTY) if spec.key == "nki_binary_version_identifier" => return,
                    _ => {}
                }
                put(out, &[", ", spec.key, "="]);
                match value {
                    FieldValue::Name(name) if plain => put(out, &[name]),
                    value => json::field(out, names, &value),
                }
            });
        }
        if inst.has_rare() {
            for (key, value) in inst.rare().extra.members() {
                put(out, &[", ", key, "="]);
                json::value_of(out, value);
            }
        }
    }

    fn options(&mut self, inst: &Instruction) {
        let module = self.module;
        let rare = inst.rare();
        if self.options.edges {
            for (key, edges, carried) in [
                (", deps=[", &inst.dependencies, false),
                (", loop_deps=[", &inst.loop_carried_dependencies, true),
            ] {
                let missing = rare.missing_edges.iter().filter(|edge| edge.loop_carried == carried);
                let missing = missing.map(|edge| (edge.name, edge.kind, &edge.extras[..]));
                edge_list(&mut self.out, module, key, found(module, edges).chain(missing));
            }
            let unroll = rare.unroll_dependencies.iter();
            let unroll = unroll.map(|edge| (module.ref_name(edge.target), edge.kind, &edge.extras[..]));
            edge_list(&mut self.out, module, ", unroll_deps=[", unroll);
        }
        let out = &mut self.out;
        if self.options.loops && !rare.loopnest.is_empty() {
            put(out, &[", loopnest="]);
            json::list(out, &rare.loopnest, |out, sym| json::string(out, module.str(*sym)));
        }
        if self.options.predicates && !rare.predicates.is_empty() {
            put(out, &[", predicates="]);
            json::list(out, &rare.predicates, json::value_of);
        }
        if self.options.debug
            && let Some(debug) = &inst.debug
        {
            put(out, &[", debug="]);
            json::value_of(out, &crate::names::debug_value(module, debug));
        }
    }

    /// spec: dumper 4.2
    fn sync(&mut self, inst: &Instruction) {
        let (out, module) = (&mut self.out, self.module);
        let Some(sync) = &inst.sync_info else { return };
        if sync.on_wait.is_empty() && sync.on_update.is_empty() {
            return;
        }
        out.extend_from_slice(b", sync_info=");
        for (i, wait) in sync.on_wait.iter().enumerate() {
            put(out, &[if i == 0 { "wait[" } else { ", " }, wait.wait_mode.text(&module.names)]);
            put(out, &[if wait.sync_type == SyncRefType::Event { " evt" } else { " sem" }]);
            number(out, wait.id);
            out.extend_from_slice(b" >= ");
            match wait.wait_reg {
                Some(register) if wait.wait_mode == WaitMode::SemGeReg => {
                    out.push(b'%');
                    name(out, module.str(module.ref_name(register)));
                }
                _ => number(out, wait.wait_value),
            }
            if let Some(from) = wait.from {
                out.extend_from_slice(b" from ");
                name(out, module.str(from));
            }
        }
        let both = !sync.on_wait.is_empty() && !sync.on_update.is_empty();
        put(out, &[if sync.on_wait.is_empty() { "" } else { "]" }, if both { " " } else { "" }]);
        for (i, update) in sync.on_update.iter().enumerate() {
            put(out, &[if i == 0 { "upd[" } else { ", " }, update.update_mode.text(&module.names), " "]);
            number(out, update.id);
            out.push(b' ');
            number(out, update.update_value);
            if let Some(core) = update.target_core {
                out.extend_from_slice(b" core=");
                write_u64(out, core.into());
            }
        }
        put(out, &[if sync.on_update.is_empty() { "" } else { "]" }]);
    }

    fn start(&mut self) -> usize {
        if !self.options.json {
            // Copied in pieces: depth is seldom above eight.
            const BLANKS: &[u8; 16] = b"                ";
            let mut left = 2 * self.depth;
            while left > 0 {
                let next = left.min(BLANKS.len());
                self.out.extend_from_slice(&BLANKS[..next]);
                left -= next;
            }
        }
        self.out.len()
    }

    /// Ends the line that began at `start`.
    fn end(
        &mut self,
        start: usize,
        line: LineKind,
        function: &str,
        place: Option<(&str, Option<usize>)>,
        name: &str,
    ) -> io::Result<()> {
        if self.options.json {
            let text = String::from_utf8(self.out.split_off(start)).expect("names are UTF-8");
            let line = Line {
                line,
                depth: self.depth,
                function: Some(function).filter(|name| !name.is_empty()),
                block: place.map(|(block, _)| block),
                index: place.and_then(|(_, index)| index),
                name,
                text: &text,
            };
            serde_json::to_writer(&mut self.out, &line)?;
        }
        self.out.push(b'\n');
        if self.out.len() >= BUFFER {
            self.sink.write_all(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }
}

type EdgeText<'a> = (Sym, bir::edges::EdgeKind, &'a [Value]);

fn found<'a>(module: &'a Module, edges: &'a EdgeSet) -> impl Iterator<Item = EdgeText<'a>> {
    edges.iter_with().map(|(edge, extras)| (module[edge.target()].name, edge.kind(), extras))
}

fn edge_list<'a>(out: &mut Vec<u8>, module: &Module, key: &str, edges: impl Iterator<Item = EdgeText<'a>>) {
    let mut any = false;
    for (target, kind, extras) in edges {
        put(out, &[if any { ", " } else { key }]);
        any = true;
        name(out, module.str(target));
        out.push(b'/');
        match kind.name() {
            Some(kind) => put(out, &[kind]),
            None => write_u64(out, kind.number().into()),
        }
        for extra in extras {
            out.push(b'/');
            json::value_of(out, extra);
        }
    }
    put(out, &[if any { "]" } else { "" }]);
}

/// The number of an opcode that is a number the table does not have: no document holds one.
pub(super) fn number_beyond_table(opcode: &str) -> Option<u64> {
    let table = bir::enums::InstructionType::ALL.len() as u64;
    let is_number = !opcode.is_empty() && opcode.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| opcode.parse().unwrap_or(u64::MAX)).filter(|number| *number >= table)
}

fn number(out: &mut Vec<u8>, value: Option<u32>) {
    match value {
        Some(value) => write_u64(out, value.into()),
        None => out.push(b'?'),
    }
}

pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    // Nearly all are small.
    match u8::try_from(value) {
        Ok(small @ ..10) => out.push(b'0' + small),
        _ => write_i64(out, value),
    }
}

#[inline]
pub(super) fn put(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}

/// A name, quoted where it would be taken for something else.
pub(super) fn name(out: &mut Vec<u8>, text: &str) {
    let odd = |byte: u8| byte <= b' ' || byte == b',' || byte == b'=' || byte == 0x7f;
    let blank = |text: &str| !text.is_ascii() && text.chars().any(|c| c.is_whitespace() || c.is_control());
    if text.bytes().any(odd) || blank(text) {
        json::string(out, text);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}
