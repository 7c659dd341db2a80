//! Instructions: the header, whose keys are read as they come, and the op, whose keys wait for the opcode.

use bir::edges::EdgeSet;
use bir::enums::InstructionType;
use bir::ids::{BlockId, Id, InstId};
use bir::record::OwnedList;
use bir::records::Block;
use bir::{Argument, DebugInfo, Holder, Instruction, Op, Sym, Value};

use super::resolve::RawEdge;
use super::{Member, OddityKind, OpMembers, Read, Reader};
use crate::error::{ReadErrorKind, Result};
use crate::generated::{HeaderKey, read_op};
use crate::number::Number;

/// Blocks that were read before the op they belong to.
pub(super) struct Body {
    pub(super) start: usize,
    pub(super) end: usize,
    first_edge: usize,
    /// The blocks, or why they are none: an error counts only when the op has a body.
    pub(super) blocks: Result<OwnedList<BlockId>>,
}

impl Reader<'_> {
    pub(crate) fn block_record(&mut self) -> Result<BlockId> {
        let id = self.module.add_block(Block::default());
        let holder = self.holder;
        self.module[id].holder = holder;
        let outer = std::mem::replace(&mut self.current_block, id);
        let mut block: Block = self.record("an object: a basic block")?;
        self.current_block = outer;
        block.holder = holder;
        self.module[id] = block;
        Ok(id)
    }

    pub(crate) fn instruction_record(&mut self) -> Result<InstId> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("an object: an instruction");
        }
        if self.positions.insts.len() >= bir::edges::Edge::MAX_TARGETS {
            let limit = bir::edges::Edge::MAX_TARGETS;
            return Err(ReadErrorKind::Limit { what: "instructions", limit }.at(self.lexer.pos()));
        }
        let start = self.lexer.pos();
        // Ids are in document order, so the owner of a body has its slot before what is in it.
        let id = InstId::new(self.positions.insts.len());
        self.positions.insts.push(start as u64);
        let mut inst = Instruction::new(Sym::EMPTY, self.current_block, Op::NoOp);
        let mut opcode = None;
        let mut members: OpMembers<'_> = OpMembers::new();
        let mut misplaced = Vec::new();
        let first_edge = self.edges.len();
        let mut seen = 0u32;
        self.each_member(|r, key, key_at| {
            let Some(header) = HeaderKey::find(key.as_bytes()) else {
                r.lexer.peek();
                let value_at = r.lexer.pos();
                match &*key {
                    "blocks" => r.body_at_once(id)?,
                    _ => r.lexer.skip_value()?,
                }
                members.push(Member { key, key_at, value_at });
                return Ok(true);
            };
            if seen >> header as u32 & 1 == 1 {
                r.oddity(OddityKind::DuplicateKey, key_at, || format!("duplicate key `{key}`"));
                r.reset_header(&mut inst, id, header, first_edge);
            }
            seen |= 1 << header as u32;
            if r.lexer.peek() == b'n' {
                r.lexer.literal("null")?;
                if !header.null_ok() {
                    r.misplaced_null(&key, key_at);
                }
                return Ok(true);
            }
            let (value_at, depth) = (r.lexer.pos(), r.lexer.depth());
            let result = match header {
                HeaderKey::Opcode => r.get().map(|value: InstructionType| opcode = Some(value)),
                _ => r.header_value(&mut inst, id, header, &mut misplaced),
            };
            let Err(error) = result else { return Ok(true) };
            r.lexer.seek(value_at);
            r.lexer.set_depth(depth);
            if error.kind.is_syntax() || !r.is_superseded(&key)? {
                return Err(error);
            }
            r.reset_header(&mut inst, id, header, first_edge);
            r.lexer.skip_value()?;
            Ok(true)
        })?;
        let end = self.lexer.pos();
        let Some(opcode) = opcode else { return Err(ReadErrorKind::MissingKey("opcode").at(start)) };
        inst.ins.append(&mut misplaced);
        self.read_op_of(&mut inst, id, opcode, &members)?;
        self.lexer.seek(end);
        if inst.op.names_code() || inst.has_rare() && !inst.rare().unroll_dependencies.is_empty() {
            self.pending.push(id);
        }
        if self.module.inst_ids().len() == id.index() {
            self.module.add_inst(inst);
        } else {
            self.module[id] = inst;
        }
        self.inst_names.add(&self.module, id);
        Ok(id)
    }

    /// Reads the members of the op, and the blocks of its body.
    pub(super) fn read_op_of(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        opcode: InstructionType,
        members: &[Member<'_>],
    ) -> Result<()> {
        // Blocks of a body are read as members of the op; they belong to this instruction.
        let outer = std::mem::replace(&mut self.holder, Holder::Inst(id));
        let mut extra = bir::Extra::NONE;
        self.current_opcode = opcode;
        inst.op = read_op(opcode, self, members, &mut extra)?;
        self.holder = outer;
        if let Some(body) = self.body.take() {
            // The op has no body: what was read is an unknown member, and its dependencies count for nothing.
            self.retain_edges(body.first_edge, |edge| edge.inst <= id);
        }
        self.adopt_legacy_keys(&mut inst.op, &mut extra)?;
        if !extra.is_empty() {
            inst.rare_mut().extra = extra;
        }
        Ok(())
    }

    /// Reads the blocks of a body before the opcode is known, so that they need not be scanned twice. What was read
    /// waits in `self.body` until the op asks for it; so does the error when they are no blocks, so that nothing is
    /// read twice at any depth.
    pub(super) fn body_at_once(&mut self, id: InstId) -> Result<()> {
        let (start, depth) = (self.lexer.pos(), self.lexer.depth());
        let first_edge = self.edges.len();
        if self.module.inst_ids().len() == id.index() {
            self.module.add_inst(Instruction::new(Sym::EMPTY, self.current_block, Op::NoOp));
        }
        let outer = std::mem::replace(&mut self.holder, Holder::Inst(id));
        let blocks = self.get();
        self.holder = outer;
        match blocks {
            Err(error) if error.kind.is_syntax() => return Err(error),
            Err(_) => {
                self.lexer.seek(start);
                self.lexer.set_depth(depth);
                self.lexer.skip_value()?;
                self.retain_edges(first_edge, |edge| edge.inst <= id);
            }
            Ok(_) => {}
        }
        self.body = Some(Body { start, end: self.lexer.pos(), first_edge, blocks });
        Ok(())
    }

    /// Keeps some of the dependencies from an index on.
    pub(super) fn retain_edges(&mut self, from: usize, keep: impl Fn(&RawEdge) -> bool) {
        let edges = self.edges.split_off(from);
        let extended = edges.iter().filter(|edge| edge.extended()).count();
        let mut extras = self.edge_extras.split_off(self.edge_extras.len() - extended).into_iter();
        for edge in edges {
            let extra = if edge.extended() { extras.next() } else { None };
            if keep(&edge) {
                self.edges.push(edge);
                self.edge_extras.extend(extra);
            }
        }
    }

    /// Puts a header key back to its default: the same key comes again.
    pub(super) fn reset_header(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        key: HeaderKey,
        first_edge: usize,
    ) {
        let fresh = Instruction::new(Sym::EMPTY, inst.block, Op::NoOp);
        match key {
            HeaderKey::Name => inst.name = fresh.name,
            HeaderKey::Origin => inst.origin = fresh.origin,
            HeaderKey::Opcode => {}
            HeaderKey::Engine => inst.engine = fresh.engine,
            HeaderKey::EngineId => inst.engine_id = 0,
            HeaderKey::ScheduledStart => inst.scheduled_start = 0,
            HeaderKey::ScheduledEnd => inst.scheduled_end = 0,
            HeaderKey::SyncInfo => inst.sync_info = None,
            HeaderKey::Ins => inst.ins.clear(),
            HeaderKey::Outs => inst.outs.clear(),
            HeaderKey::Debug => inst.debug = None,
            HeaderKey::Dependencies | HeaderKey::LoopCarriedDependencies => {
                let carried = key == HeaderKey::LoopCarriedDependencies;
                match carried {
                    true => inst.loop_carried_dependencies = EdgeSet::default(),
                    false => inst.dependencies = EdgeSet::default(),
                }
                self.retain_edges(first_edge, |edge| edge.inst != id || edge.loop_carried() != carried);
            }
            HeaderKey::OptinPasses => inst.optin_passes = None,
            HeaderKey::UnrollDependencies => inst.rare_mut().unroll_dependencies.clear(),
            HeaderKey::IndirectionIns => inst.rare_mut().indirection_ins.clear(),
            HeaderKey::Loopnest => inst.rare_mut().loopnest.clear(),
            HeaderKey::Predicates => inst.rare_mut().predicates.clear(),
            HeaderKey::Order => inst.rare_mut().order.clear(),
            HeaderKey::DmaTriggerDebugUpdateSemaphoreId => {
                inst.rare_mut().dma_trigger_debug_update_semaphore_id = None;
            }
        }
    }

    pub(super) fn header_value(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        key: HeaderKey,
        misplaced: &mut Vec<Argument>,
    ) -> Result<()> {
        match key {
            HeaderKey::Name => inst.name = self.get()?,
            HeaderKey::Origin => inst.origin = self.get()?,
            HeaderKey::Opcode => unreachable!("the caller reads it"),
            HeaderKey::Engine => inst.engine = self.get()?,
            HeaderKey::EngineId => inst.engine_id = self.get()?,
            HeaderKey::ScheduledStart => inst.scheduled_start = self.get()?,
            HeaderKey::ScheduledEnd => inst.scheduled_end = self.get()?,
            HeaderKey::Dependencies => self.dependencies(inst, id, false)?,
            HeaderKey::LoopCarriedDependencies => self.dependencies(inst, id, true)?,
            HeaderKey::UnrollDependencies => {
                let mut list = Vec::new();
                self.each_element("an array of dependencies", |r| {
                    list.push(r.unroll_dependency()?);
                    Ok(())
                })?;
                if !list.is_empty() {
                    inst.rare_mut().unroll_dependencies = list;
                }
            }
            HeaderKey::SyncInfo => {
                let (start, depth) = (self.lexer.pos(), self.lexer.depth());
                let sync = match self.canonical_sync() {
                    Some(sync) => sync,
                    None => {
                        self.lexer.seek(start);
                        self.lexer.set_depth(depth);
                        self.get()?
                    }
                };
                inst.sync_info = Some(Box::new(sync));
            }
            HeaderKey::Ins => inst.ins = self.arguments(None)?,
            HeaderKey::Outs => inst.outs = self.arguments(Some(misplaced))?,
            HeaderKey::IndirectionIns => {
                let list = self.arguments(Some(misplaced))?;
                if !list.is_empty() {
                    inst.rare_mut().indirection_ins = list;
                }
            }
            HeaderKey::Debug => inst.debug = Some(Box::new(self.debug_info()?)),
            HeaderKey::Loopnest => self.rare_list(inst, |rare| &mut rare.loopnest)?,
            HeaderKey::Order => self.rare_list(inst, |rare| &mut rare.order)?,
            HeaderKey::Predicates => {
                let mut list = Vec::new();
                self.each_element("an array of predicates", |r| {
                    let value = r.opaque_with_expressions()?;
                    list.push(value);
                    Ok(())
                })?;
                if !list.is_empty() {
                    inst.rare_mut().predicates = list;
                }
            }
            HeaderKey::OptinPasses => inst.optin_passes = Some(self.get()?),
            HeaderKey::DmaTriggerDebugUpdateSemaphoreId => {
                inst.rare_mut().dma_trigger_debug_update_semaphore_id = Some(self.get()?);
            }
        }
        Ok(())
    }

    pub(super) fn rare_list<T: Read>(
        &mut self,
        inst: &mut Instruction,
        place: impl Fn(&mut bir::Rare) -> &mut Vec<T>,
    ) -> Result<()> {
        let list: Vec<T> = self.get()?;
        if !list.is_empty() {
            *place(inst.rare_mut()) = list;
        }
        Ok(())
    }

    /// Source record; members of unexpected type are kept as they are.
    pub(super) fn debug_info(&mut self) -> Result<DebugInfo> {
        if self.lexer.peek() != b'{' {
            return Ok(DebugInfo { rest: self.value()?, ..DebugInfo::default() });
        }
        let mut debug = DebugInfo::new(None, None);
        let Value::Object(rest) = &mut debug.rest else { unreachable!("it is made as an object") };
        self.each_member(|r, key, _| {
            match (&*key, r.lexer.peek()) {
                ("op_name", b'"') => {
                    debug.op_name = Some(r.get()?);
                    rest.remove("op_name");
                    return Ok(true);
                }
                ("lineno", b'0'..=b'9' | b'-') => {
                    let at = r.lexer.pos();
                    let line = match r.lexer.number()? {
                        Number::Unsigned(line) => i64::try_from(line).ok(),
                        Number::Signed(line) => Some(line),
                        Number::Float(_) => None,
                    };
                    if line.is_some() {
                        debug.lineno = line;
                        rest.remove("lineno");
                        return Ok(true);
                    }
                    r.lexer.seek(at);
                }
                _ => {}
            }
            match &*key {
                "lineno" => debug.lineno = None,
                "op_name" => debug.op_name = None,
                _ => {}
            }
            rest.insert(&key, r.value()?);
            Ok(true)
        })?;
        Ok(debug)
    }
}
