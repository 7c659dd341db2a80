//! Instructions: the header, whose keys are read as they come, and the op, whose keys wait for the opcode.

use std::borrow::Cow;

use bir::enums::InstructionType;
use bir::ids::{BlockId, Id, InstId};
use bir::record::OwnedList;
use bir::records::Block;
use bir::{Arguments, DebugInfo, Holder, Instruction, Op, Shared, Sym, Value};

use super::templates::{Hole, Holes, Part};
use super::{Member, OpMembers, Read, Reader};
use crate::error::{ReadErrorKind, Result};
use crate::generated::{HeaderKey, read_op};
use crate::number::Number;

/// An instruction that is being read.
pub(super) struct Draft<'a> {
    pub(super) inst: Instruction,
    /// Members of the op, which wait for the opcode.
    pub(super) members: OpMembers<'a>,
    /// Immediates that stood where none belong.
    pub(super) misplaced: Arguments,
    /// Values that were read, but for those that many instructions share.
    pub(super) holes: Holes,
}

/// Blocks that were read before the op they belong to.
pub(super) struct Body {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) blocks: OwnedList<BlockId>,
}

impl<'a> Reader<'a> {
    pub(crate) fn block_record(&mut self) -> Result<BlockId> {
        let id = self.module.add_block(Block::default());
        self.mark();
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
        let (start, marks) = (self.lexer.pos(), self.marks);
        // Ids are in document order, so the owner of a body has its slot before what is in it.
        let id = InstId::new(self.positions.insts.len());
        self.positions.insts.push(start as u64);
        let mut draft = Draft {
            inst: Instruction::new(Sym::EMPTY, self.current_block, Op::NoOp),
            members: OpMembers::new(),
            misplaced: Arguments::new(),
            holes: Holes::new(),
        };
        let depth = self.lexer.depth();
        if self.careful || !self.by_template(&mut draft, id)? {
            self.lexer.seek(start);
            self.lexer.set_depth(depth);
            self.member_by_member(&mut draft, id, start, marks)?;
        }
        let inst = draft.inst;
        if inst.op.names_code() || inst.has_rare() && !inst.rare().unroll_dependencies.is_empty() {
            self.pending.push(id);
        }
        if self.module.inst_ids().len() == id.index() {
            self.module.add_inst(inst);
        } else {
            self.module[id] = inst;
        }
        self.inst_names.add(&self.module, id);
        if let Some(trace) = &mut self.trace {
            trace.added.push((id, self.edges.len() as u32));
            if self.marks != marks {
                trace.marked.others.push(id);
            }
        }
        Ok(id)
    }

    /// Reads an instruction no matter how it is written. Values that an attempt by template has read are kept.
    fn member_by_member(
        &mut self,
        draft: &mut Draft<'a>,
        id: InstId,
        start: usize,
        marks: u32,
    ) -> Result<()> {
        let oddities = self.oddities.total();
        let mut opcode = None;
        let mut seen = 0u32;
        let mut plain = !self.careful;
        let mut done = std::mem::take(&mut draft.holes).into_iter().peekable();
        draft.members.clear();
        self.each_member(|r, key, key_at| {
            let first = r.lexer.peek();
            let value_at = r.lexer.pos();
            let done = done.next_if(|hole| hole.start == value_at);
            let Some(header) = HeaderKey::find(key.as_bytes()) else {
                let part = if key == "blocks" { Part::Body } else { Part::Member { key: key.len() as u32 } };
                match done {
                    Some(hole) => r.lexer.seek(hole.end),
                    None if part == Part::Body && r.body_at_once(id)? => {}
                    None => r.lexer.skip_value()?,
                }
                plain &= matches!(key, Cow::Borrowed(_));
                draft.holes.push(Hole { part, start: value_at, end: r.lexer.pos() });
                draft.members.push(Member { key, key_at, value_at });
                return Ok(true);
            };
            r.again |= seen >> header as u32 & 1 == 1;
            seen |= 1 << header as u32;
            if first == b'n' {
                plain = false;
                r.lexer.literal("null")?;
                if !header.null_ok() {
                    r.misplaced_null(&key, key_at);
                }
                return Ok(true);
            }
            match (header, done) {
                (_, Some(hole)) => r.lexer.seek(hole.end),
                (HeaderKey::Opcode, None) => opcode = Some(r.get::<InstructionType>()?),
                _ => r.header_value(&mut draft.inst, id, header, &mut draft.misplaced)?,
            }
            if !header.is_common() {
                draft.holes.push(Hole { part: Part::Header(header), start: value_at, end: r.lexer.pos() });
            }
            Ok(true)
        })?;
        let end = self.lexer.pos();
        let Some(opcode) = opcode else { return Err(ReadErrorKind::MissingKey("opcode").at(start)) };
        draft.inst.ins.append(&mut draft.misplaced);
        draft.inst.op = Op::new(opcode);
        self.read_op_of(&mut draft.inst, id, &draft.members)?;
        self.lexer.seek(end);
        if plain && !self.again && self.oddities.total() == oddities && draft.inst.rare().extra.is_empty() {
            self.learn_template(draft, start, marks);
        }
        Ok(())
    }

    /// Reads the members of the op, and the blocks of its body.
    pub(super) fn read_op_of(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        members: &[Member<'_>],
    ) -> Result<()> {
        // Blocks of a body are read as members of the op; they belong to this instruction.
        let outer = std::mem::replace(&mut self.holder, Holder::Inst(id));
        let mut extra = bir::Extra::NONE;
        let outer_opcode = std::mem::replace(&mut self.current_opcode, inst.opcode());
        read_op(&mut inst.op, self, members, &mut extra)?;
        self.holder = outer;
        self.current_opcode = outer_opcode;
        // The op has no body: what was read is an unknown member, and nothing in it counts.
        self.wrong_body |= self.body.take().is_some();
        self.again |= self.wrong_body | extra.sort();
        self.adopt_legacy_keys(&mut inst.op, &mut extra)?;
        if !extra.is_empty() {
            inst.rare_mut().extra = extra;
        }
        Ok(())
    }

    /// Reads the blocks of a body before the opcode is known, so that they need not be scanned twice. What was read
    /// waits in `self.body` until the op asks for it. False, with the lexer where it was, in the careful reading,
    /// which a document gets that has such a member where no body belongs.
    pub(super) fn body_at_once(&mut self, id: InstId) -> Result<bool> {
        if self.module.inst_ids().len() == id.index() {
            self.module.add_inst(Instruction::new(Sym::EMPTY, self.current_block, Op::NoOp));
        }
        if self.careful || self.lexer.peek() == b'n' {
            return Ok(false);
        }
        let start = self.lexer.pos();
        let outer = std::mem::replace(&mut self.holder, Holder::Inst(id));
        let blocks = match self.get() {
            Ok(blocks) => blocks,
            Err(error) => {
                self.wrong_body = true;
                return Err(error);
            }
        };
        self.holder = outer;
        self.wrong_body |= self.body.is_some();
        self.body = Some(Body { start, end: self.lexer.pos(), blocks });
        Ok(true)
    }

    pub(super) fn header_value(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        key: HeaderKey,
        misplaced: &mut Arguments,
    ) -> Result<()> {
        let marks = self.marks;
        match key {
            HeaderKey::Name => {
                inst.name = self.get()?;
                self.marks = marks;
            }
            HeaderKey::Origin => inst.origin = self.get()?,
            HeaderKey::Opcode => unreachable!("the caller reads it"),
            HeaderKey::Engine => inst.engine = self.get()?,
            HeaderKey::EngineId => inst.engine_id = self.get()?,
            HeaderKey::ScheduledStart => inst.scheduled_start = self.get()?,
            HeaderKey::ScheduledEnd => inst.scheduled_end = self.get()?,
            HeaderKey::Dependencies => {
                self.dependencies(inst, id, false)?;
                self.marks = marks;
            }
            HeaderKey::LoopCarriedDependencies => {
                self.dependencies(inst, id, true)?;
                self.marks = marks;
            }
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
                if let Some(trace) = self.trace.as_mut().filter(|_| self.marks != marks) {
                    trace.marked.syncs.push(id);
                }
                self.marks = marks;
            }
            HeaderKey::Ins => inst.ins = self.arguments(None)?,
            HeaderKey::Outs => inst.outs = self.arguments(Some(misplaced))?,
            HeaderKey::IndirectionIns => {
                let list = self.arguments(Some(misplaced))?;
                if !list.is_empty() {
                    inst.rare_mut().indirection_ins = list;
                }
            }
            HeaderKey::Debug => {
                inst.debug = Some(self.debug_info()?);
                self.marks = marks;
            }
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
    pub(super) fn debug_info(&mut self) -> Result<Shared<DebugInfo>> {
        self.lexer.peek();
        let text = self.known_debug.text(self);
        if let Some(known) = self.known_debug.get(text) {
            self.lexer.seek(self.lexer.pos() + text.len());
            return Ok(known);
        }
        let end = self.lexer.pos() + text.len();
        let debug = Shared::new(self.new_debug_info()?);
        if self.lexer.pos() == end {
            self.known_debug.insert(text, &debug);
        }
        Ok(debug)
    }

    fn new_debug_info(&mut self) -> Result<DebugInfo> {
        if self.lexer.peek() != b'{' {
            return Ok(DebugInfo { rest: self.value()?, ..DebugInfo::default() });
        }
        let mut debug = DebugInfo::new(None, None);
        let Value::Object(rest) = &mut debug.rest else { unreachable!("it is made as an object") };
        self.each_member(|r, key, _| {
            match (&*key, r.lexer.peek()) {
                ("op_name", b'"') => {
                    r.again |= debug.op_name.is_some();
                    debug.op_name = Some(r.get()?);
                    return Ok(true);
                }
                ("lineno", b'0'..=b'9' | b'-') => {
                    r.again |= debug.lineno.is_some();
                    let at = r.lexer.pos();
                    let line = match r.lexer.number()? {
                        Number::Unsigned(line) => i64::try_from(line).ok(),
                        Number::Signed(line) => Some(line),
                        Number::Float(_) => None,
                    };
                    if line.is_some() {
                        debug.lineno = line;
                        return Ok(true);
                    }
                    r.lexer.seek(at);
                }
                _ => {}
            }
            rest.push(&key, r.value()?);
            Ok(true)
        })?;
        self.again |= rest.sort();
        self.again |= debug.lineno.is_some() && rest.get("lineno").is_some();
        self.again |= debug.op_name.is_some() && rest.get("op_name").is_some();
        Ok(debug)
    }
}
