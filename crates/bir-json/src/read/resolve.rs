//! Pass 2: references by name become ids. spec: bir-json 11.3, 2.4

use bir::edges::{Edge, EdgeKind, MissingEdge};
use bir::expr::Expr;
use bir::ids::{BlockId, ExprId, FuncId, Id, InstId, LocId, QueueId, Ref, RegId, SetId, Target};
use bir::record::{FieldType, RefVisitor};
use bir::records::PhysicalAp;
use bir::{Argument, Holder, Instruction, Module, Op, Shared, Sym, Value};
use hashbrown::{HashMap, HashSet};

use super::Reader;
use super::dependencies::edges_of;
use super::names::{InstNames, Scope, Storage, SymMap, add};
use crate::error::Result;

/// How many places of names are searched for in one document.
const MAX_SEARCHES: usize = 32;

/// A dependency by name, 16 bytes: there are millions of them until pass 2.
pub(super) struct RawEdge {
    pub(super) inst: InstId,
    pub(super) name: Sym,
    /// Offset in the text, and in the low bits kind, list, and whether there are extra elements.
    pub(super) packed: u64,
}

impl RawEdge {
    pub(super) fn new(
        inst: InstId,
        name: Sym,
        kind: EdgeKind,
        loop_carried: bool,
        extended: bool,
        at: usize,
    ) -> Self {
        let flags = u64::from(kind.number()) | u64::from(loop_carried) << 3 | u64::from(extended) << 4;
        RawEdge { inst, name, packed: (at as u64) << 5 | flags }
    }

    pub(super) fn kind(&self) -> EdgeKind {
        EdgeKind::new(self.packed & 7).expect("three bits")
    }

    pub(super) fn loop_carried(&self) -> bool {
        self.packed >> 3 & 1 == 1
    }

    pub(super) fn extended(&self) -> bool {
        self.packed >> 4 & 1 == 1
    }

    fn offset(&self) -> usize {
        (self.packed >> 5) as usize
    }
}

/// Everything by name that is not of one function.
#[derive(Default)]
struct Tables {
    functions: SymMap<FuncId>,
    nki_functions: SymMap<FuncId>,
    blocks: HashMap<(Holder, Sym), BlockId>,
    /// Blocks of a function, nested ones included.
    function_blocks: HashMap<(FuncId, Sym), BlockId>,
    /// Triggers of all functions, nested ones included; those of main come first.
    triggers: SymMap<InstId>,
    /// DMA blocks of a queue, and of all queues.
    dma_blocks: HashMap<(QueueId, Sym), InstId>,
    queued: SymMap<InstId>,
    /// Storage of functions, filled only when an operand stood before its storage.
    locations: Storage<LocId>,
    sets: Storage<SetId>,
    registers: Storage<RegId>,
}

impl Reader<'_> {
    /// A name of storage stood before its object: pass 2 looks again.
    pub(super) fn note_early_name(&mut self) {
        // Functions and queues come one after the other.
        if self.early_names.last() != Some(&self.outermost) {
            self.early_names.push(self.outermost);
        }
    }

    fn owner(&self, mut holder: Holder) -> Holder {
        while let Holder::Inst(inst) = holder {
            holder = self.module[self.module[inst].block].holder;
        }
        holder
    }

    pub(super) fn resolve(&mut self) -> Result<()> {
        let mut tables = self.tables();
        if !self.early_names.is_empty() {
            self.index_storage(&mut tables);
        }
        let edges = std::mem::take(&mut self.edges);
        let mut extras = std::mem::take(&mut self.edge_extras).into_iter();
        // What is left are edges to later instructions and across holders; those of one instruction lie together.
        let mut names = InstNames::default();
        let mut walk = Vec::new();
        let mut current = None;
        let mut at = 0;
        while at < edges.len() {
            let inst = edges[at].inst;
            let owner = self.module.outermost(inst);
            if current != Some(owner) {
                names.build(&self.module, owner);
                current = Some(owner);
            }
            walk.clear();
            while at < edges.len() && edges[at].inst == inst {
                walk.push(&edges[at]);
                at += 1;
            }
            for edge in &walk {
                let extra = if edge.extended() { extras.next().unwrap_or_default() } else { Box::default() };
                self.resolve_edge(edge, &extra, &names, &tables)?;
            }
        }
        drop(edges);
        self.check_queues()?;
        // Where storage was named early, all instructions are visited below: once is enough, and reports once.
        let early: HashSet<Holder> = self.early_names.iter().copied().collect();
        for id in std::mem::take(&mut self.pending) {
            if !early.contains(&self.module.outermost(id)) {
                self.resolve_inst(id, &tables, None)?;
            }
        }
        for holder in std::mem::take(&mut self.early_names) {
            let scope = match holder {
                Holder::Function(id) => Scope::Function(id),
                _ => Scope::All,
            };
            self.resolved.clear();
            let ids: Vec<InstId> = self.module.insts_of(holder).collect();
            for id in ids {
                self.resolve_inst(id, &tables, Some(scope))?;
            }
        }
        self.resolve_storage_refs(&tables)?;
        self.resolve_calls()
    }

    fn resolve_edge(
        &mut self,
        edge: &RawEdge,
        extras: &[Value],
        names: &InstNames,
        tables: &Tables,
    ) -> Result<()> {
        let module = &self.module;
        let found = names
            .find(module, edge.name, edge.inst)
            .or_else(|| tables.queued.get(edge.name))
            .or_else(|| match module.outermost(edge.inst) {
                Holder::Queue(_) => self.inst_table.get(edge.name),
                _ => None,
            });
        if let Some(target) = found.filter(|target| *target != edge.inst) {
            edges_of(&mut self.module[edge.inst], edge.loop_carried())
                .insert_with(Edge::new(target, edge.kind()), extras);
            return Ok(());
        }
        let name = self.module.str(edge.name).to_owned();
        let vendor = match (found, edge.loop_carried()) {
            (Some(_), _) => "this != former: an instruction cannot depend on itself",
            (None, true) => "Unknown loop-carried dependency",
            (None, false) => "Unknown dependency",
        };
        let what = if found.is_some() { "other instruction" } else { "instruction" };
        self.unresolved(what, vendor, name, edge.offset())?;
        let loop_carried = edge.loop_carried();
        let inst = &mut self.module[edge.inst];
        let set = if loop_carried { &inst.loop_carried_dependencies } else { &inst.dependencies };
        // Those of one list lie together.
        let missing = &inst.rare().missing_edges;
        let others = missing.partition_point(|other| other.loop_carried != loop_carried);
        let position = set.len() + missing.len() - others;
        let (name, kind, extras) = (edge.name, edge.kind(), extras.to_vec());
        let missing = MissingEdge { name, kind, loop_carried, position, extras };
        inst.rare_mut().missing_edges.push(missing);
        Ok(())
    }

    fn tables(&mut self) -> Tables {
        let mut tables = Tables::default();
        let mut collisions = Vec::new();
        let module = &self.module;
        for id in &module.root.functions {
            if !tables.functions.insert(module[id].name, id) {
                collisions.push(("function", module[id].name));
            }
        }
        for id in module.functions().filter(|id| module[*id].nki) {
            if !tables.nki_functions.insert(module[id].name, id) {
                collisions.push(("NKI function", module[id].name));
            }
        }
        for id in module.block_ids() {
            let block = &module[id];
            if add(&mut tables.blocks, (block.holder, block.name), id) {
                if let Holder::Function(function) = self.owner(block.holder) {
                    add(&mut tables.function_blocks, (function, block.name), id);
                }
            } else {
                collisions.push(("block", block.name));
            }
        }
        for queue in module.queues() {
            for block in &module[queue].blocks {
                for inst in &module[block].instructions {
                    let name = module[inst].name;
                    add(&mut tables.dma_blocks, (queue, name), inst);
                    tables.queued.insert(name, inst);
                }
            }
        }
        let of_main =
            |id: &InstId| module.main().is_some_and(|main| module.outermost(*id) == Holder::Function(main));
        let triggers = self.pending.iter().filter(|id| matches!(module[**id].op, Op::DMATrigger(_)));
        let (first, rest): (Vec<InstId>, Vec<InstId>) = triggers.copied().partition(of_main);
        for id in first.into_iter().chain(rest) {
            tables.triggers.insert(module[id].name, id);
        }
        for (what, name) in collisions {
            let at = self.find_text(name, 0);
            self.collision(what, name, at);
        }
        tables
    }

    /// Storage of all functions, for operands that stood before it or belong to no function.
    fn index_storage(&mut self, tables: &mut Tables) {
        let module = &self.module;
        for function in module.functions() {
            for set in module.sets_of(function) {
                tables.sets.add(function, module[set].name, set);
                for location in &module[set].memorylocations {
                    tables.locations.add(function, module[location].name, location);
                }
            }
            for register in module.registers_of(function) {
                tables.registers.add(function, module[register].name, register);
            }
        }
    }

    /// Offset of a string value in the text, from an offset on: a good place for a message about the name. Only
    /// the first messages are worth a search.
    fn find_text(&mut self, name: Sym, from: usize) -> usize {
        if self.searches == MAX_SEARCHES {
            return from;
        }
        self.searches += 1;
        let quoted = format!("\"{}\"", self.module.str(name));
        let text = self.lexer.text();
        text.get(from..).and_then(|rest| rest.find(&quoted)).map_or(from, |at| from + at)
    }

    /// Queues are named before they are read, so a name makes a queue; here those that never came are taken back.
    fn check_queues(&mut self) -> Result<()> {
        let missing: HashSet<QueueId> =
            self.queue_table.ids().filter(|id| !self.queues_read.contains(id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let ids: Vec<InstId> = self.module.insts().collect();
        for id in ids {
            let mut op = std::mem::replace(&mut self.module[id].op, Op::NoOp);
            let mut unread = UnreadQueues { missing: &missing, module: &self.module, names: Vec::new() };
            op.visit_refs(&mut unread);
            let names = unread.names;
            self.module[id].op = op;
            for name in names {
                let offset = self.find_text(name, self.positions.inst(id).unwrap_or(0));
                let name = self.module.str(name).to_owned();
                self.unresolved("queue", "Queue does not exist!", name, offset)?;
            }
        }
        Ok(())
    }

    /// Resolves the references in an op, and with `functions`, whose storage is in scope, those in the operands
    /// and expressions, which pass 1 could not resolve.
    fn resolve_inst(&mut self, id: InstId, tables: &Tables, scope: Option<Scope>) -> Result<()> {
        // What is visited is taken out, so that the visitor can look at the rest of the module.
        let mut op = std::mem::replace(&mut self.module[id].op, Op::NoOp);
        let mut resolver = Resolver::new(self, tables, scope, id, &op);
        op.visit_refs(&mut resolver);
        let (mut exprs, mut missing) = (resolver.exprs, resolver.missing);
        self.module[id].op = op;
        if scope.is_some() || !self.module[id].rare().unroll_dependencies.is_empty() {
            let mut resolved = std::mem::take(&mut self.resolved);
            let place = Instruction::new(Sym::EMPTY, self.module[id].block, Op::NoOp);
            let mut inst = std::mem::replace(&mut self.module[id], place);
            // How the op looks names up, in its queue say, is a matter of its own keys alone.
            let mut resolver = Resolver::new(self, tables, scope, id, &Op::NoOp);
            resolver.resolved = resolved;
            resolver.instruction(&mut inst);
            resolved = std::mem::take(&mut resolver.resolved);
            exprs.append(&mut resolver.exprs);
            missing.append(&mut resolver.missing);
            self.resolved = resolved;
            self.module[id] = inst;
        }
        if let Some(scope) = scope {
            self.resolve_registers(exprs, tables, scope, &mut missing);
        }
        for (what, vendor, name) in missing {
            let offset = self.find_text(name, self.positions.inst(id).unwrap_or(0));
            let name = self.module.str(name).to_owned();
            self.unresolved(what, vendor, name, offset)?;
        }
        Ok(())
    }

    /// Resolves the registers in expressions.
    fn resolve_registers(
        &mut self,
        mut exprs: Vec<ExprId>,
        tables: &Tables,
        scope: Scope,
        missing: &mut Vec<Missing>,
    ) {
        while let Some(id) = exprs.pop() {
            exprs.extend(self.module.exprs.get(id).children());
            let Expr::Register { regref } = self.module.exprs.get_mut(id) else { continue };
            let Target::Missing(name) = regref.target() else { continue };
            match tables.registers.find(scope, name) {
                Some(found) => *regref = Ref::to(found),
                None => missing.push(("register", "Unknown register", name)),
            }
        }
    }

    /// References between storage records, and to functions.
    fn resolve_storage_refs(&mut self, tables: &Tables) -> Result<()> {
        let locations: Vec<LocId> = self.module.loc_ids().collect();
        for id in locations {
            let location = &self.module[id];
            let function = self.module[location.set].function;
            let refs = (location.pointer_ref_memloc, location.alloced_func, location.remote_writer_func);
            if refs == (None, None, None) {
                continue;
            }
            let (mut pointer, mut alloced, mut writer) = refs;
            if let Some(Target::Missing(name)) = pointer.map(Ref::target) {
                // A name that pass 1 did not find has filled the tables.
                match tables.locations.find(Scope::Function(function), name) {
                    Some(found) => pointer = Some(Ref::to(found)),
                    None => {
                        let at = self.find_text(name, 0);
                        let name = self.module.str(name).to_owned();
                        self.unresolved("memory location", "Unknown memory location", name, at)?;
                    }
                }
            }
            for reference in [&mut alloced, &mut writer] {
                if let Some(Target::Missing(name)) = reference.map(Ref::target) {
                    match tables.functions.get(name).or_else(|| tables.nki_functions.get(name)) {
                        Some(found) => *reference = Some(Ref::to(found)),
                        None => {
                            let at = self.find_text(name, 0);
                            let name = self.module.str(name).to_owned();
                            self.unresolved("function", "Unknown function", name, at)?;
                        }
                    }
                }
            }
            let location = &mut self.module[id];
            location.pointer_ref_memloc = pointer;
            location.alloced_func = alloced;
            location.remote_writer_func = writer;
        }
        Ok(())
    }

    /// Calls by name. Of several of a name the one counts that stands first in canonical form, where what is called
    /// `main` comes first.
    fn calls(&self) -> SymMap<InstId> {
        let module = &self.module;
        let mut calls = SymMap::default();
        let functions = module.main_first(&module.root.functions, |module, function| module[function].name);
        let nki = module.functions().filter(|function| module[*function].nki);
        for function in functions.into_iter().chain(nki) {
            self.add_calls(&module[function].blocks, &mut calls);
        }
        calls
    }

    fn add_calls(&self, blocks: &[BlockId], calls: &mut SymMap<InstId>) {
        let module = &self.module;
        for block in module.main_first(blocks, |module, block| module[block].name) {
            for id in &module[block].instructions {
                if matches!(module[id].op, Op::Call(_) | Op::NKIKernel(_)) {
                    calls.insert(module[id].name, id);
                }
                self.add_calls(module[id].body(), calls);
            }
        }
    }

    /// Call bindings: a call of the main function, and locations of the callee. spec: bir-json 11.4
    fn resolve_calls(&mut self) -> Result<()> {
        let mut bindings = std::mem::take(&mut self.module.root.call_to_physical_memlocs);
        // Locations of the callees by name, each function looked at once.
        let mut locations: HashMap<(FuncId, Sym), LocId> = HashMap::new();
        let mut indexed: HashSet<FuncId> = HashSet::new();
        let calls = if bindings.is_empty() { SymMap::default() } else { self.calls() };
        for binding in &mut bindings {
            let Target::Missing(name) = binding.call.target() else { continue };
            // What has the name but is no call is only good for a message.
            let Some(call) = calls.get(name).or_else(|| self.inst_table.get(name)) else {
                let at = self.find_text(name, 0);
                let name = self.module.str(name).to_owned();
                self.unresolved("call", "call binding: found", name, at)?;
                continue;
            };
            binding.call = Ref::to(call);
            let callee = match &self.module[call].op {
                Op::Call(op) => op.target.and_then(Ref::id),
                Op::NKIKernel(op) => op.func.and_then(Ref::id),
                _ => {
                    let at = self.find_text(name, 0);
                    let name = self.module.str(name).to_owned();
                    self.unresolved("call", "cast<>() argument of incompatible type", name, at)?;
                    continue;
                }
            };
            // Of a callee that is not there no location can be missing: the callee is what is reported.
            if callee.is_none() {
                continue;
            }
            if let Some(callee) = callee.filter(|callee| indexed.insert(*callee)) {
                for location in self.module.locations_of(callee) {
                    add(&mut locations, (callee, self.module[location].name), location);
                }
            }
            for reference in &mut binding.locations {
                let Target::Missing(name) = reference.target() else { continue };
                let found = callee.and_then(|callee| locations.get(&(callee, name)).copied());
                match found {
                    Some(found) => *reference = Ref::to(found),
                    None => {
                        let at = self.find_text(name, 0);
                        let name = self.module.str(name).to_owned();
                        self.unresolved("memory location of the callee", "call binding: found", name, at)?;
                    }
                }
            }
        }
        self.module.root.call_to_physical_memlocs = bindings;
        Ok(())
    }
}

/// The queue that an op names; its blocks are looked up in it.
fn queue_of(op: &Op) -> Option<Ref<QueueId>> {
    match op {
        Op::DMATrigger(op) => op.queue,
        Op::SwitchQueueInstance(op) => op.queue,
        Op::ResetQueueInstance(op) => op.queue,
        _ => None,
    }
}

/// A name that nothing has: what it should be, the vendor's words, and the name.
type Missing = (&'static str, &'static str, Sym);

/// Resolves the references of one instruction.
struct Resolver<'a> {
    module: &'a Module,
    tables: &'a Tables,
    /// Instructions of all functions.
    insts: &'a SymMap<InstId>,
    /// Whose storage is in scope; `None` when pass 1 has resolved storage.
    scope: Option<Scope>,
    inst: InstId,
    queue: Option<Ref<QueueId>>,
    /// The instruction that the op names is a trigger.
    names_trigger: bool,
    /// The block that the op names is an instance of a queue.
    names_instance: bool,
    is_nki_kernel: bool,
    exprs: Vec<ExprId>,
    missing: Vec<Missing>,
    resolved: Resolved,
}

/// Shared accesses that were resolved: by address what they were, which keeps the address taken, and what they are now.
pub(super) type Resolved = HashMap<usize, (Shared<PhysicalAp>, Shared<PhysicalAp>)>;

impl<'a> Resolver<'a> {
    fn new(reader: &'a Reader<'_>, tables: &'a Tables, scope: Option<Scope>, inst: InstId, op: &Op) -> Self {
        Resolver {
            module: &reader.module,
            tables,
            insts: &reader.inst_table,
            scope,
            inst,
            queue: queue_of(op),
            names_trigger: matches!(op, Op::DMABlock(_)),
            names_instance: matches!(op, Op::SwitchQueueInstance(_) | Op::ResetQueueInstance(_)),
            is_nki_kernel: matches!(op, Op::NKIKernel(_)),
            exprs: Vec::new(),
            missing: Vec::new(),
            resolved: Resolved::new(),
        }
    }

    /// An object of storage by name, in the functions in scope.
    fn storage<T: Id>(
        &mut self,
        r: &mut Ref<T>,
        table: &Storage<T>,
        what: &'static str,
        vendor: &'static str,
    ) {
        if let (Some(scope), Target::Missing(name)) = (self.scope, r.target()) {
            let found = table.find(scope, name);
            self.bind(r, found, what, vendor);
        }
    }

    /// Everything but the op.
    fn instruction(&mut self, inst: &mut Instruction) {
        if let Some(sync) = &mut inst.sync_info {
            sync.visit_refs(self);
        }
        for argument in inst.operands_mut() {
            match argument {
                Argument::PhysicalAp(access) => self.access(access),
                _ => argument.visit_refs(self),
            }
        }
        if !inst.has_rare() {
            return;
        }
        let rare = inst.rare_mut();
        rare.order.iter().for_each(|id| self.expr(*id));
        for edge in &mut rare.unroll_dependencies {
            self.inst(&mut edge.target);
            edge.exprs.iter().for_each(|id| self.expr(*id));
        }
    }

    /// An access, which stays shared with the instructions that had it in common.
    fn access(&mut self, access: &mut Shared<PhysicalAp>) {
        let complete = access.memref_owner_func.is_none()
            && access.dynamic_ap_info.is_none()
            && !access.memref.is_some_and(|r| matches!(r.target(), Target::Missing(_)))
            && !access.memsetref.is_some_and(|r| matches!(r.target(), Target::Missing(_)));
        if complete {
            return;
        }
        if let Some((_, resolved)) = self.resolved.get(&access.address()) {
            *access = resolved.clone();
            return;
        }
        let (before, missing, exprs) = (access.clone(), self.missing.len(), self.exprs.len());
        self.foreign_location(access);
        access.visit_refs(self);
        if before.is_shared() && (missing, exprs) == (self.missing.len(), self.exprs.len()) {
            self.resolved.insert(before.address(), (before, access.clone()));
        }
    }

    /// An operand may name a location of another function. spec: bir-json 8.2
    fn foreign_location(&mut self, access: &mut PhysicalAp) {
        // A name that no function has is reported where all references of the operand are visited.
        let owner = access.memref_owner_func.and_then(|owner| match owner.target() {
            Target::Found(id) => Some(id),
            Target::Missing(name) => {
                self.tables.functions.get(name).or_else(|| self.tables.nki_functions.get(name))
            }
        });
        let (Some(owner), Some(location)) = (owner, access.memref) else { return };
        let name = self.module.ref_name(location);
        if let Some(found) = self.tables.locations.find(Scope::Function(owner), name) {
            access.memref = Some(Ref::to(found));
        }
        if let Some(set) = access.memsetref
            && let Some(found) = self.tables.sets.find(Scope::Function(owner), self.module.ref_name(set))
        {
            access.memsetref = Some(Ref::to(found));
        }
    }

    fn bind<T: Id>(&mut self, r: &mut Ref<T>, found: Option<T>, what: &'static str, vendor: &'static str) {
        match (found, r.target()) {
            (Some(id), _) => *r = Ref::to(id),
            (None, Target::Missing(name)) => self.missing.push((what, vendor, name)),
            (None, Target::Found(_)) => {}
        }
    }
}

impl RefVisitor for Resolver<'_> {
    fn queue(&mut self, _: &mut Ref<QueueId>) {}

    fn block(&mut self, r: &mut Ref<BlockId>) {
        let Target::Missing(name) = r.target() else { return };
        if self.names_instance {
            // An instance of a queue; a name that is none of its blocks stays a name. spec: opcodes 9
            let queue = self.queue.and_then(Ref::id);
            let found = queue.and_then(|queue| self.tables.blocks.get(&(Holder::Queue(queue), name)));
            if let Some(found) = found {
                *r = Ref::to(*found);
            }
            return;
        }
        // The holder of the instruction first, then what encloses it, then all of the function.
        let mut holder = self.module[self.module[self.inst].block].holder;
        let found = loop {
            if let Some(found) = self.tables.blocks.get(&(holder, name)) {
                break Some(*found);
            }
            match holder {
                Holder::Inst(outer) => holder = self.module[self.module[outer].block].holder,
                Holder::Function(function) => {
                    break self.tables.function_blocks.get(&(function, name)).copied();
                }
                Holder::Queue(_) => break None,
            }
        };
        self.bind(r, found, "block", "BasicBlock does not exist!");
    }

    fn inst(&mut self, r: &mut Ref<InstId>) {
        let Target::Missing(name) = r.target() else { return };
        match self.queue {
            // The DMA blocks of a trigger are in its queue.
            Some(queue) => {
                let found = queue.id().and_then(|queue| self.tables.dma_blocks.get(&(queue, name)).copied());
                self.bind(r, found, "block of the queue", "Block does not exist!");
            }
            None => {
                // Names repeat; a DMA block means the trigger. spec: bir-json 6.2
                let trigger = self.names_trigger.then(|| self.tables.triggers.get(name)).flatten();
                let found = trigger.or_else(|| self.insts.get(name)).or_else(|| self.tables.queued.get(name));
                self.bind(r, found, "instruction", "Unknown dependency");
            }
        }
    }

    fn func(&mut self, r: &mut Ref<FuncId>) {
        let Target::Missing(name) = r.target() else { return };
        let ordinary = self.tables.functions.get(name);
        let nki = self.tables.nki_functions.get(name);
        if self.is_nki_kernel {
            // Written by the reference, never read back: a name that no NKI function has is no fault.
            if let Some(found) = nki.or(ordinary) {
                *r = Ref::to(found);
            }
            return;
        }
        self.bind(r, ordinary.or(nki), "function", "Unknown function");
    }

    fn loc(&mut self, r: &mut Ref<LocId>) {
        self.storage(r, &self.tables.locations, "memory location", "Unknown memory location");
    }

    fn set(&mut self, r: &mut Ref<SetId>) {
        self.storage(r, &self.tables.sets, "memory-location set", "Unknown memory location set");
    }

    fn reg(&mut self, r: &mut Ref<RegId>) {
        self.storage(r, &self.tables.registers, "register", "Unknown register");
    }

    fn expr(&mut self, id: ExprId) {
        self.exprs.push(id);
    }
}

/// Turns references to queues that were named but never read back into names.
struct UnreadQueues<'a> {
    missing: &'a HashSet<QueueId>,
    module: &'a Module,
    names: Vec<Sym>,
}

impl RefVisitor for UnreadQueues<'_> {
    fn queue(&mut self, r: &mut Ref<QueueId>) {
        if let Some(id) = r.id().filter(|id| self.missing.contains(id)) {
            let name = self.module[id].name;
            self.names.push(name);
            *r = Ref::named(name);
        }
    }
    fn block(&mut self, _: &mut Ref<BlockId>) {}
    fn inst(&mut self, _: &mut Ref<InstId>) {}
    fn func(&mut self, _: &mut Ref<FuncId>) {}
    fn loc(&mut self, _: &mut Ref<LocId>) {}
    fn set(&mut self, _: &mut Ref<SetId>) {}
    fn reg(&mut self, _: &mut Ref<RegId>) {}
    fn expr(&mut self, _: ExprId) {}
}
