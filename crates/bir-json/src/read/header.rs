//! Instructions: the header, whose keys are read as they come, and the op, whose keys wait for the opcode.

use bir::access::{AccessPattern, ApPair, Shape};
use bir::edges::{Edge, EdgeKind, EdgeSet, UnrollEdge};
use bir::enums::{Dtype, InstructionType};
use bir::ids::{BlockId, Id, InstId, Ref};
use bir::record::{OwnedList, Presence};
use bir::records::{
    Block, ImmArray, ImmValue, PhysicalAp, RegisterAccess, RegisterAp, SymbolicAp, SymbolicImmValue,
    SyncInfo, SyncUpdate, SyncWait,
};
use bir::{Argument, DebugInfo, Holder, ImmNumber, Instruction, Op, OpenEnum, Sym, Value};

use smallvec::SmallVec;

use super::accesses;
use super::expr::is_expr_kind;
use super::resolve::RawEdge;
use super::{Member, OddityKind, OpMembers, Read, ReadRecord, Reader};
use crate::error::{ReadErrorKind, Result};
use crate::generated::{HeaderKey, read_op};
use crate::lexer::Lexer;
use crate::number::Number;

/// Blocks that were read before the op they belong to.
pub(super) struct Body {
    pub(super) start: usize,
    pub(super) end: usize,
    first_edge: usize,
    pub(super) blocks: OwnedList<BlockId>,
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
                if key != "blocks" || !r.body_at_once(id)? {
                    r.lexer.skip_value()?;
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
    fn read_op_of(
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
    /// waits in `self.body` until the op asks for it. False, with the lexer where it was, when they are no blocks.
    fn body_at_once(&mut self, id: InstId) -> Result<bool> {
        let (start, depth) = (self.lexer.pos(), self.lexer.depth());
        let first_edge = self.edges.len();
        if self.module.inst_ids().len() == id.index() {
            self.module.add_inst(Instruction::new(Sym::EMPTY, self.current_block, Op::NoOp));
        }
        let outer = std::mem::replace(&mut self.holder, Holder::Inst(id));
        let blocks = self.get();
        self.holder = outer;
        match blocks {
            Ok(blocks) => {
                self.body = Some(Body { start, end: self.lexer.pos(), first_edge, blocks });
                Ok(true)
            }
            Err(error) if error.kind.is_syntax() => Err(error),
            Err(_) => {
                self.lexer.seek(start);
                self.lexer.set_depth(depth);
                self.retain_edges(first_edge, |edge| edge.inst <= id);
                Ok(false)
            }
        }
    }

    /// Keeps some of the dependencies from an index on.
    fn retain_edges(&mut self, from: usize, keep: impl Fn(&RawEdge) -> bool) {
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
    fn reset_header(&mut self, inst: &mut Instruction, id: InstId, key: HeaderKey, first_edge: usize) {
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

    fn header_value(
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

    fn rare_list<T: Read>(
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

    /// Waits and updates with the plain keys in canonical order. `None` leaves the lexer anywhere.
    fn canonical_sync(&mut self) -> Option<SyncInfo> {
        let mut sync = SyncInfo { present: Presence::NONE, ..SyncInfo::default() };
        self.lexer.enter().ok()?;
        let mut more = !self.lexer.take(b'}');
        if more && self.lexer.looks_at(b"\"on_update\"") {
            self.lexer.take_key(b"\"on_update\"")?;
            sync.on_update = self.canonical_list(|r| {
                r.lexer.take_key(b"\"id\"")?;
                let id = r.plain_u32()?;
                r.lexer.take(b',').then_some(())?;
                r.lexer.take_key(b"\"update_value\"")?;
                let update_value = r.plain_u32()?;
                Some(SyncUpdate { id: Some(id), update_value: Some(update_value), ..SyncUpdate::default() })
            })?;
            sync.present.set(SyncInfo::ON_UPDATE);
            more = self.lexer.next_member().ok()?;
        }
        if more {
            self.lexer.take_key(b"\"on_wait\"")?;
            sync.on_wait = self.canonical_list(|r| {
                let mut wait = SyncWait::default();
                if r.lexer.looks_at(b"\"from\"") {
                    r.lexer.take_key(b"\"from\"")?;
                    let from = r.lexer.take_string()?;
                    wait.from = Some(r.intern(from).ok()?);
                    r.lexer.take(b',').then_some(())?;
                }
                r.lexer.take_key(b"\"id\"")?;
                wait.id = Some(r.plain_u32()?);
                r.lexer.take(b',').then_some(())?;
                r.lexer.take_key(b"\"wait_value\"")?;
                wait.wait_value = Some(r.plain_u32()?);
                Some(wait)
            })?;
            sync.present.set(SyncInfo::ON_WAIT);
            self.lexer.take(b'}').then_some(())?;
        }
        self.lexer.leave();
        Some(sync)
    }

    /// A list of objects, each with just the members that `members` reads.
    fn canonical_list<T>(&mut self, members: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items: SmallVec<[T; 4]> = SmallVec::new();
        self.lexer.take(b'[').then_some(())?;
        if !self.lexer.take(b']') {
            loop {
                self.lexer.take(b'{').then_some(())?;
                items.push(members(self)?);
                self.lexer.take(b'}').then_some(())?;
                if self.lexer.take(b']') {
                    break;
                }
                self.lexer.take(b',').then_some(())?;
            }
        }
        let mut list = Vec::with_capacity(items.len());
        list.extend(items);
        Some(list)
    }

    fn plain_u32(&mut self) -> Option<u32> {
        self.lexer.peek();
        u32::try_from(self.lexer.short_integer()?).ok()
    }

    /// Source record; members of unexpected type are kept as they are.
    fn debug_info(&mut self) -> Result<DebugInfo> {
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

    /// Dependencies. What names an earlier instruction is resolved at once; from the first that does not, the list
    /// waits for pass 2, so that its order stays. spec: bir-json 7.2
    fn dependencies(&mut self, inst: &mut Instruction, id: InstId, loop_carried: bool) -> Result<()> {
        let mut waits = false;
        let expected = match loop_carried {
            false => "an array ('dependencies' must be a JSON array)",
            true => "an array ('loop_carried_dependencies' must be a JSON array)",
        };
        self.each_element(expected, |r| {
            r.lexer.peek();
            let offset = r.lexer.pos();
            let mut extras = Vec::new();
            let (name, kind) = match r.lexer.peek() {
                b'"' => (r.get()?, EdgeKind::FLOW),
                b'[' => {
                    let entry = r.edge_start("a dependency: [name, kind]")?;
                    while r.lexer.next_element()? {
                        extras.push(r.value()?);
                    }
                    r.lexer.leave();
                    entry
                }
                _ => return r.lexer.wrong_type("a dependency: a name, or [name, kind]"),
            };
            if !waits && let Some(target) = r.inst_names.find_earlier(name, inst.block, id) {
                let set = match loop_carried {
                    true => &mut inst.loop_carried_dependencies,
                    false => &mut inst.dependencies,
                };
                set.insert_with(Edge::new(target, kind), &extras);
                return Ok(());
            }
            waits = true;
            r.edges.push(RawEdge::new(id, name, kind, loop_carried, !extras.is_empty(), offset));
            if !extras.is_empty() {
                r.edge_extras.push(extras.into());
            }
            Ok(())
        })
    }

    /// Name and kind of an edge entry, whose bracket is next.
    fn edge_start(&mut self, expected: &'static str) -> Result<(Sym, EdgeKind)> {
        if self.lexer.peek() != b'[' {
            return self.lexer.wrong_type(expected);
        }
        self.lexer.enter()?;
        let name = self.sym("a string: the name of an instruction")?;
        if !self.lexer.take(b',') {
            return self.lexer.syntax("expected `,`: a dependency has a name and a kind");
        }
        let at = {
            self.lexer.peek();
            self.lexer.pos()
        };
        let kind = match self.lexer.peek() {
            b'"' => {
                let name = match self.lexer.plain_string() {
                    Some("Flow") => return Ok((name, EdgeKind::FLOW)),
                    Some(name) => name.into(),
                    None => self.lexer.string()?,
                };
                let unknown = || ReadErrorKind::UnknownName {
                    what: "unknown kind of dependency",
                    name: name.to_string(),
                };
                EdgeKind::parse(&name).ok_or_else(|| unknown().at(at))?
            }
            b'0'..=b'9' | b'-' => {
                let number: u64 = self.get()?;
                EdgeKind::new(number).ok_or_else(|| {
                    ReadErrorKind::OutOfRange {
                        expected: "the kind of a dependency, 0 to 7 (Integer too large for field)",
                    }
                    .at(at)
                })?
            }
            _ => return self.lexer.wrong_type("the kind of a dependency: a name or a number"),
        };
        Ok((name, kind))
    }

    fn unroll_dependency(&mut self) -> Result<UnrollEdge> {
        let (name, kind) = self.edge_start("a dependency: [name, kind, [expressions], [predicates]]")?;
        let mut edge = UnrollEdge {
            target: Ref::named(name),
            kind,
            exprs: Vec::new(),
            predicates: Vec::new(),
            extras: Vec::new(),
        };
        let mut index = 2;
        while self.lexer.next_element()? {
            match index {
                2 => edge.exprs = self.get()?,
                3 => self.each_element("an array of predicates", |r| {
                    let predicate = r.opaque_with_expressions()?;
                    edge.predicates.push(predicate);
                    Ok(())
                })?,
                _ => {
                    let value = self.value()?;
                    edge.extras.push(value);
                }
            }
            index += 1;
        }
        self.lexer.leave();
        Ok(edge)
    }

    /// An opaque value whose members may be expressions: those are rewritten to version 2. spec: bir-json 9.3
    fn opaque_with_expressions(&mut self) -> Result<Value> {
        if self.lexer.peek() != b'{' {
            return self.value();
        }
        let start = self.lexer.pos();
        let whole = self.value()?;
        let end = self.lexer.pos();
        let mut ahead = Lexer::clone(&self.lexer);
        ahead.seek(start);
        let Value::Object(mut members) = whole else { unreachable!("it starts with a brace") };
        ahead.enter()?;
        while ahead.peek() == b'"' {
            let key = ahead.key()?;
            ahead.peek();
            let at = ahead.pos();
            let is_expr = members
                .get(&key)
                .is_some_and(|value| value.get("kind").and_then(Value::as_str).is_some_and(is_expr_kind));
            ahead.skip_value()?;
            if is_expr {
                self.lexer.seek(at);
                let id = self.expr("an expression")?;
                members.insert(&key, crate::write::expr_value(&self.module, id));
            }
            if !ahead.take(b',') {
                break;
            }
        }
        self.lexer.seek(end);
        Ok(Value::Object(members))
    }

    /// Operands of one list. An immediate that is no input goes to `misplaced`. spec: bir-json 8.1
    fn arguments(&mut self, mut misplaced: Option<&mut Vec<Argument>>) -> Result<Vec<Argument>> {
        let mut list: SmallVec<[Argument; 4]> = SmallVec::new();
        self.each_element("an array of operands", |r| {
            r.lexer.peek();
            let at = r.lexer.pos();
            let argument: Argument = r.get()?;
            match &mut misplaced {
                Some(misplaced) if argument.is_immediate() => {
                    r.oddity(OddityKind::MovedImmediate, at, || "immediate moved to the inputs".into());
                    misplaced.push(argument);
                }
                _ => list.push(argument),
            }
            Ok(())
        })?;
        let mut exact = Vec::with_capacity(list.len());
        exact.extend(list);
        Ok(exact)
    }

    /// An operand whose keys say soon that it is a `physical_ap`, as nearly all do: it is read at once. `None`,
    /// with the lexer where it was, when it is of another kind or odd in any way.
    #[inline]
    fn physical_access(&mut self) -> Option<PhysicalAp> {
        let (start, depth) = (self.lexer.pos(), self.lexer.depth());
        let rest = &self.lexer.text().as_bytes()[start..];
        let length = memchr::memchr(b'}', &rest[..rest.len().min(accesses::LONGEST)]).map_or(0, |at| at + 1);
        let text = &rest[..length];
        if let Some(known) = self.accesses.get(text) {
            let access = known.clone();
            self.lexer.seek(start + length);
            return Some(access);
        }
        if let Some(access) = self.canonical_access() {
            if self.lexer.pos() == start + length {
                self.accesses.insert(text, &access);
            }
            return Some(access);
        }
        self.lexer.seek(start);
        self.lexer.set_depth(depth);
        let result = self.physical_access_or_back();
        if result.is_none() {
            self.lexer.seek(start);
            self.lexer.set_depth(depth);
        }
        result
    }

    /// A `physical_ap` with exactly the keys that a writer always puts, in canonical order.
    fn canonical_access(&mut self) -> Option<PhysicalAp> {
        let lexer = &mut self.lexer;
        lexer.enter().ok()?;
        lexer.take_key(b"\"access_shape\"")?;
        let access_shape = plain_shape(lexer)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"ap\"")?;
        let ap = plain_pairs(lexer)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"dtype\"")?;
        let dtype = Dtype::parse(lexer.take_string()?)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"kind\"")?;
        (lexer.take_string()? == "physical_ap" && lexer.take(b',')).then_some(())?;
        lexer.take_key(b"\"memref\"")?;
        let memref = lexer.take_string()?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"memsetref\"")?;
        let memsetref = lexer.take_string()?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"offset\"")?;
        lexer.peek();
        let offset = lexer.short_integer()?;
        lexer.take(b'}').then_some(())?;
        lexer.leave();
        let memref = self.intern(memref).ok()?;
        let memsetref = self.intern(memsetref).ok()?;
        Some(PhysicalAp {
            ap: Some(ap),
            offset,
            dtype: Some(dtype),
            memref: Some(self.location_ref(memref)),
            memsetref: Some(self.set_ref(memsetref)),
            access_shape,
            dynamic_ap_info: None,
            memref_owner_func: None,
            present: Presence::NONE,
            extra: bir::Extra::NONE,
        })
    }

    fn physical_access_or_back(&mut self) -> Option<PhysicalAp> {
        let mut access = PhysicalAp { present: Presence::NONE, ..PhysicalAp::default() };
        self.lexer.enter().ok()?;
        let mut seen = 0u32;
        let mut is_physical = false;
        loop {
            let key = self.lexer.plain_key()?;
            let index = PhysicalAp::find(key.as_bytes())?;
            if index != PhysicalAp::TAG {
                if seen >> index & 1 == 1 {
                    return None;
                }
                seen |= 1 << index;
            }
            // Nothing here may report an oddity, since the operand may be read again.
            let first = self.lexer.peek();
            match key {
                "kind" => {
                    is_physical = first == b'"' && self.lexer.plain_string() == Some("physical_ap");
                    if !is_physical {
                        return None;
                    }
                }
                "ap" => access.ap = Some(plain_pairs(&mut self.lexer)?),
                "dtype" if first == b'"' => access.dtype = Some(Dtype::parse(self.lexer.plain_string()?)?),
                "dtype" | "dynamic_ap_info" => return None,
                _ if first == b'n' => return None,
                _ => access.read_field(index, self).ok()?,
            }
            match self.lexer.next_member() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return None,
            }
        }
        self.lexer.leave();
        let complete = const { super::required(PhysicalAp::SPECS) as u32 };
        (is_physical && seen & complete == complete).then_some(access)
    }

    /// The kind of the operand at the lexer, which does not move: documents have the key in any place.
    fn argument_kind(&mut self) -> Result<(usize, String)> {
        let start = self.lexer.pos();
        let mut ahead = self.lexer.clone();
        ahead.enter()?;
        let mut kind = None;
        while ahead.peek() == b'"' {
            let key = ahead.key()?;
            if key == "kind" {
                ahead.peek();
                let at = ahead.pos();
                if ahead.peek() != b'"' {
                    return ahead.wrong_type("a string: the kind of an operand");
                }
                kind = Some((at, ahead.string()?.into_owned()));
                break;
            }
            ahead.skip_value()?;
            if !ahead.take(b',') {
                break;
            }
        }
        kind.ok_or_else(|| ReadErrorKind::MissingKey("kind").at(start))
    }
}

/// Pairs of short integers. `None` for anything else; the lexer is then anywhere.
#[inline]
fn plain_pairs(lexer: &mut Lexer<'_>) -> Option<AccessPattern> {
    let mut pairs: SmallVec<[ApPair; 6]> = SmallVec::new();
    lexer.take(b'[').then_some(())?;
    loop {
        lexer.take(b'[').then_some(())?;
        let step = plain_integer(lexer)?;
        lexer.take(b',').then_some(())?;
        let num = plain_integer(lexer)?;
        lexer.take(b']').then_some(())?;
        pairs.push(ApPair { step, num });
        if lexer.take(b']') {
            return Some(AccessPattern::new(&pairs));
        }
        lexer.take(b',').then_some(())?;
    }
}

/// Short unsigned integers. `None` for anything else; the lexer is then anywhere.
#[inline]
fn plain_shape(lexer: &mut Lexer<'_>) -> Option<Shape> {
    let mut dims: SmallVec<[u64; 6]> = SmallVec::new();
    lexer.take(b'[').then_some(())?;
    if lexer.take(b']') {
        return Some(Shape::default());
    }
    loop {
        lexer.peek();
        dims.push(lexer.short_integer()?);
        if lexer.take(b']') {
            return Some(Shape::new(&dims));
        }
        lexer.take(b',').then_some(())?;
    }
}

#[inline]
fn plain_integer(lexer: &mut Lexer<'_>) -> Option<i64> {
    // After a minus sign no blank may stand, so nothing is skipped there.
    let negative = lexer.take(b'-');
    let value = lexer.short_integer()? as i64;
    Some(if negative { -value } else { value })
}

impl Read for Argument {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        if r.lexer.peek() != b'{' {
            return r.lexer.wrong_type("an object: an operand");
        }
        if let Some(access) = r.physical_access() {
            return Ok(Argument::PhysicalAp(access));
        }
        let start = r.lexer.pos();
        let (at, kind) = r.argument_kind()?;
        Ok(match &*kind {
            "physical_ap" => Argument::PhysicalAp(r.get::<PhysicalAp>()?),
            "symbolic_ap" => Argument::SymbolicAp(r.get()?),
            "symbolic_pwap" => {
                let mut argument: Box<SymbolicAp> = r.get()?;
                argument.pwap = true;
                Argument::SymbolicAp(argument)
            }
            "register_ap" => Argument::RegisterAp(r.get::<Box<RegisterAp>>()?),
            "imm_value" => {
                let mut argument: ImmValue = r.get()?;
                r.immediate(argument.dtype, argument.value.as_mut_slice(), start)?;
                Argument::ImmValue(argument)
            }
            "symbolic_imm_value" => {
                let mut argument: Box<SymbolicImmValue> = r.get()?;
                r.immediate(argument.dtype, &mut argument.value_list, start)?;
                Argument::SymbolicImmValue(argument)
            }
            "imm_array" => {
                let mut argument: Box<ImmArray> = r.get()?;
                match &mut argument.value_array {
                    Some(values) => r.immediate(argument.dtype, values, start)?,
                    None => return Err(ReadErrorKind::MissingKey("value_array").at(start)),
                }
                Argument::ImmArray(argument)
            }
            "register_access" => Argument::RegisterAccess(r.get::<RegisterAccess>()?),
            _ => {
                return Err(
                    ReadErrorKind::UnknownName { what: "Unsupported argument kind", name: kind }.at(at)
                );
            }
        })
    }
}

impl Read for ImmNumber {
    /// Any number; what it is depends on the dtype, which may come later.
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b'"' => f32::read(r).map(ImmNumber::Float),
            b'-' | b'0'..=b'9' => Ok(match r.lexer.number()? {
                Number::Unsigned(v) => ImmNumber::Unsigned(v),
                Number::Signed(v) => ImmNumber::Signed(v),
                Number::Float(v) => ImmNumber::Float(v as f32),
            }),
            _ => r.lexer.wrong_type("a number, or \"inf\", \"-inf\" or \"nan\""),
        }
    }
}

impl Reader<'_> {
    /// Fits immediates to their dtype. spec: bir-json 8.2
    fn immediate(
        &mut self,
        dtype: Option<bir::enums::Dtype>,
        values: &mut [ImmNumber],
        at: usize,
    ) -> Result<()> {
        let Some(dtype) = dtype else { return Ok(()) };
        if dtype.is_known() && !dtype.is_immediate() {
            let name = dtype.text(&self.module.names).to_owned();
            return Err(ReadErrorKind::UnknownName { what: "unsupported dtype of an immediate", name }.at(at));
        }
        for value in values {
            *value = match (dtype, *value) {
                (Dtype::Float32, ImmNumber::Unsigned(v)) => ImmNumber::Float(v as f32),
                (Dtype::Float32, ImmNumber::Signed(v)) => ImmNumber::Float(v as f32),
                (Dtype::Float32 | Dtype::Other(_), value) => value,
                (_, ImmNumber::Float(v)) if v.fract() == 0.0 && (0.0..1.8e19).contains(&v) => {
                    ImmNumber::Unsigned(v as u64)
                }
                (_, ImmNumber::Float(v)) if v.fract() == 0.0 && (-9.2e18..0.0).contains(&v) => {
                    ImmNumber::Signed(v as i64)
                }
                (_, ImmNumber::Float(_)) => {
                    return Err(ReadErrorKind::OutOfRange { expected: "an integer immediate" }.at(at));
                }
                (_, value) => value,
            };
        }
        Ok(())
    }
}
