//! The shape of a module, and how it is built: all objects first, then what refers to them.

use bir::builder::Builder;
use bir::edges::{Edge, EdgeKind, MissingEdge, UnrollEdge};
use bir::enums::{EngineType, InstructionType, MemoryType};
use bir::ids::{BlockId, FuncId, InstId, QueueId, Ref, SetId};
use bir::records::{
    Block, BlockArgument, Function, MemoryLocation, MemoryLocationSet, Queue, Register, Root,
};
use bir::{
    Argument, CallBinding, DebugInfo, EmptyHolder, Holder, Instruction, Members, Module, Op, OpenEnum,
    Storage, Sym, Value,
};
use proptest::prelude::*;

use super::arb::{Arb, Scope, World};

/// Shape and contents of a module.
#[derive(Clone, Debug)]
pub struct Plan {
    functions: Vec<FunctionPlan>,
    nki: Vec<FunctionPlan>,
    queues: Vec<Vec<BlockPlan>>,
    data: Vec<u8>,
}

#[derive(Clone, Debug)]
struct FunctionPlan {
    /// Bytes of each set with its locations, and of each register.
    sets: Vec<Vec<u8>>,
    registers: Vec<Vec<u8>>,
    /// Two locations of those in DRAM, and the kind.
    aliases: Vec<(u8, u8, u8)>,
    blocks: Vec<BlockPlan>,
    data: Vec<u8>,
}

#[derive(Clone, Debug)]
struct BlockPlan {
    insts: Vec<InstPlan>,
    data: Vec<u8>,
}

#[derive(Clone, Debug)]
struct InstPlan {
    /// Which of the ops, and one more for an unknown one.
    op: usize,
    body: Vec<BlockPlan>,
    data: Vec<u8>,
    /// Bytes of the header, and of its seldom used keys.
    header: Vec<u8>,
    rare: Vec<u8>,
}

impl Plan {
    /// The same plan with one byte of the contents of one instruction changed, when there is one.
    pub fn nudged(&self, at: usize) -> Option<Plan> {
        let mut plan = self.clone();
        let mut all: Vec<&mut Vec<u8>> = vec![&mut plan.data];
        for function in plan.functions.iter_mut().chain(&mut plan.nki) {
            all.push(&mut function.data);
            all.extend(function.sets.iter_mut().chain(&mut function.registers));
            let blocks = function.blocks.iter_mut();
            let insts = blocks.flat_map(|block| &mut block.insts);
            all.extend(insts.flat_map(|inst| [&mut inst.data, &mut inst.header, &mut inst.rare]));
        }
        let total: usize = all.iter().map(|data| data.len()).sum();
        let byte = all.into_iter().flatten().nth(at.checked_rem(total)?)?;
        *byte = byte.wrapping_add(1);
        Some(plan)
    }
}

/// Arbitrary plans, small ones first.
pub fn plan() -> impl Strategy<Value = Plan> {
    let functions = || prop::collection::vec(function(), 0..3);
    let queues = prop::collection::vec(prop::collection::vec(block(), 0..3), 0..3);
    (functions(), functions(), queues, data(24)).prop_map(|(functions, nki, queues, data)| Plan {
        functions,
        nki,
        queues,
        data,
    })
}

fn data(limit: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..limit)
}

fn function() -> impl Strategy<Value = FunctionPlan> {
    let storage = |limit| prop::collection::vec(data(limit), 0..4);
    let aliases = prop::collection::vec(any::<(u8, u8, u8)>(), 0..3);
    let blocks = prop::collection::vec(block(), 0..4);
    (storage(160), storage(16), aliases, blocks, data(16)).prop_map(
        |(sets, registers, aliases, blocks, data)| FunctionPlan { sets, registers, aliases, blocks, data },
    )
}

fn block() -> BoxedStrategy<BlockPlan> {
    let leaf = prop::collection::vec(inst(Just(Vec::new()).boxed()), 0..4);
    let flat = (leaf, data(12)).prop_map(|(insts, data)| BlockPlan { insts, data });
    let nested = flat.prop_recursive(2, 12, 3, |inner| {
        let body = prop::collection::vec(inner, 0..3).boxed();
        (prop::collection::vec(inst(body), 0..4), data(12))
            .prop_map(|(insts, data)| BlockPlan { insts, data })
    });
    nested.boxed()
}

fn inst(body: BoxedStrategy<Vec<BlockPlan>>) -> impl Strategy<Value = InstPlan> {
    let op = 0..InstructionType::ALL.len() + 2;
    // Transfers and nested bodies have links of their own; they come more often than other ops.
    use InstructionType as T;
    let linked = [T::DMATrigger, T::DMABlock, T::Loop, T::DoWhile, T::Call, T::CompareAndBranch];
    let ordinal = |opcode: &InstructionType| opcode.ordinal().unwrap() as usize;
    let op = prop_oneof![4 => op, 1 => prop::sample::select(linked.iter().map(ordinal).collect::<Vec<_>>())];
    (op, body, data(100), data(100), data(60)).prop_map(|(op, body, data, header, rare)| InstPlan {
        op,
        body,
        data,
        header,
        rare,
    })
}

/// Objects of a module whose contents are still to come.
#[derive(Default)]
struct Pending {
    insts: Vec<(InstId, InstPlan)>,
    blocks: Vec<(BlockId, Vec<u8>)>,
    functions: Vec<(FuncId, FunctionPlan)>,
    /// Instructions whose name no other one has.
    unique: Vec<InstId>,
    names: usize,
}

impl Pending {
    /// A name that no other object has.
    fn name(&mut self, w: &mut World) -> String {
        self.names += 1;
        format!("{}#{}", w.text(), self.names)
    }

    fn sym(&mut self, w: &mut World) -> Sym {
        let name = self.name(w);
        w.module.names.intern(&name)
    }
}

/// Builds the module of a plan.
pub fn build(plan: &Plan, missing: bool, only_v1: bool) -> Module {
    let mut w = World::new(Module::default(), missing, only_v1);
    let mut pending = Pending::default();
    for (i, function) in plan.functions.iter().enumerate() {
        w.feed(&function.data);
        let name = if i == 1 && w.once_in(2) { "main".to_owned() } else { pending.name(&mut w) };
        let id = w.module.new_function(&name);
        self::function_objects(&mut w, &mut pending, id, function);
    }
    for function in &plan.nki {
        w.feed(&function.data);
        let name = pending.name(&mut w);
        let id = w.module.new_nki_function(&name);
        self::function_objects(&mut w, &mut pending, id, function);
    }
    for blocks in &plan.queues {
        w.feed(&plan.data);
        let name = pending.name(&mut w);
        let id = w.module.new_queue(&name);
        make_blocks(&mut w, &mut pending, Holder::Queue(id), blocks);
    }
    root(&mut w, &plan.data);
    let (all_blocks, insts, functions) = (pending.blocks, pending.insts, pending.functions);
    for (id, plan) in functions {
        function_contents(&mut w, id, &plan);
    }
    for (id, data) in all_blocks {
        w.feed(&data);
        let filled = Block::arb(&mut w);
        let block_arguments: Vec<BlockArgument> = filled.block_arguments;
        let extra = w.extra();
        let block = &mut w.module[id];
        (block.origin, block.block_arguments, block.extra) = (filled.origin, block_arguments, extra);
    }
    for (id, plan) in insts {
        inst_contents(&mut w, id, &plan, &pending.unique);
    }
    call_bindings(&mut w, &plan.data, &pending.unique);
    w.module
}

/// Makes the storage, blocks and instructions of a function.
fn function_objects(w: &mut World, pending: &mut Pending, id: FuncId, plan: &FunctionPlan) {
    pending.functions.push((id, plan.clone()));
    for data in &plan.sets {
        w.feed(data);
        let name = pending.sym(w);
        let set: SetId = w.module.new_set(id, MemoryLocationSet { name, ..MemoryLocationSet::default() });
        for _ in 0..w.below(3) {
            let name = pending.sym(w);
            let location = MemoryLocation { name, ..MemoryLocation::default() };
            w.module.new_location(set, location);
        }
    }
    for data in &plan.registers {
        w.feed(data);
        let name = pending.sym(w);
        w.module.new_register(id, Register { name, ..Register::default() });
    }
    make_blocks(w, pending, Holder::Function(id), &plan.blocks);
}

fn make_blocks(w: &mut World, pending: &mut Pending, holder: Holder, plans: &[BlockPlan]) {
    for (i, plan) in plans.iter().enumerate() {
        w.feed(&plan.data);
        // A block called main is written first.
        let main = i == 1 && matches!(holder, Holder::Function(_)) && w.once_in(2);
        let name = if main { "main".to_owned() } else { pending.name(w) };
        let block = w.module.new_block(holder, &name);
        pending.blocks.push((block, plan.data.clone()));
        for plan in &plan.insts {
            w.feed(&plan.data);
            make_inst(w, pending, block, plan);
        }
    }
}

fn make_inst(w: &mut World, pending: &mut Pending, block: BlockId, plan: &InstPlan) {
    let opcode = match InstructionType::ALL.get(plan.op) {
        Some(opcode) => *opcode,
        None => {
            let name = format!("Unheard of {}", w.text());
            InstructionType::Other(w.module.names.intern(&name))
        }
    };
    let repeated = w.once_in(5);
    let name = if repeated { w.text().to_owned() } else { pending.name(w) };
    let in_queue = matches!(w.module[block].holder, Holder::Queue(_));
    let body = bir_body(&Op::new(opcode)) && !plan.body.is_empty();
    let id = if in_queue || matches!(outermost(&w.module, block), Holder::Queue(_)) {
        let name = w.module.names.intern(&name);
        w.module.push_inst(block, Instruction::new(name, block, Op::new(opcode)))
    } else {
        Builder::at(&mut w.module, block).plain_inst(&name, EngineType::Unassigned, opcode).id()
    };
    pending.insts.push((id, plan.clone()));
    if !repeated {
        pending.unique.push(id);
    }
    if body {
        make_blocks(w, pending, Holder::Inst(id), &plan.body);
    }
}

fn bir_body(op: &Op) -> bool {
    matches!(op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_) | Op::DMABlock(_))
}

fn outermost(module: &Module, block: BlockId) -> Holder {
    match module[block].holder {
        Holder::Inst(inst) => module.outermost(inst),
        holder => holder,
    }
}

fn root(w: &mut World, data: &[u8]) {
    w.feed(data);
    let filled = Root::arb(w);
    let extra = w.extra();
    let root = &mut w.module.root;
    *root = Root {
        functions: std::mem::take(&mut root.functions),
        queues: std::mem::take(&mut root.queues),
        nki_functions: root.nki_functions.take(),
        extra,
        ..filled
    };
    if w.module.root.nki_functions.is_none() && w.once_in(3) {
        let empty = [EmptyHolder::Functions, EmptyHolder::Null, EmptyHolder::List, EmptyHolder::Object];
        let holder = w.module.root.nki_functions.insert(Default::default());
        holder.empty = empty[usize::from(data.last().copied().unwrap_or(0)) % 4];
    }
    let queues: Vec<QueueId> = w.module.queues().collect();
    for id in queues {
        let filled = Queue::arb(w);
        let extra = w.extra();
        let queue = &mut w.module[id];
        *queue = Queue { name: queue.name, blocks: std::mem::take(&mut queue.blocks), extra, ..filled };
    }
}

fn function_contents(w: &mut World, id: FuncId, plan: &FunctionPlan) {
    w.feed(&plan.data);
    w.scope = scope_of_function(&w.module, id);
    let filled = Function::arb(w);
    let extra = w.extra();
    let function = &mut w.module[id];
    *function = Function {
        name: function.name,
        nki: function.nki,
        blocks: std::mem::take(&mut function.blocks),
        allocations: std::mem::take(&mut function.allocations),
        extra,
        ..filled
    };
    // Storage was made in the order of the plan.
    let mut data = plan.sets.iter().chain(&plan.registers);
    for storage in w.module[id].allocations.0.clone() {
        w.feed(data.next().unwrap());
        match storage {
            Storage::Set(id) => set_contents(w, id),
            Storage::Register(id) => {
                let filled = Register::arb(w);
                let extra = w.extra();
                let register = &mut w.module[id];
                *register = Register { name: register.name, function: register.function, extra, ..filled };
            }
        }
    }
    let dram: Vec<_> =
        w.module.locations_of(id).filter(|id| w.module[*id].r#type == MemoryType::DRAM).collect();
    for (a, b, kind) in plan.aliases.iter().filter(|_| !dram.is_empty()) {
        let [a, b] = [a, b].map(|at| dram[usize::from(*at) % dram.len()]);
        if a != b {
            w.module.alias(a, b, *kind).unwrap();
        }
    }
}

fn set_contents(w: &mut World, id: SetId) {
    let filled = MemoryLocationSet::arb(w);
    let extra = w.extra();
    let set = &mut w.module[id];
    *set = MemoryLocationSet {
        name: set.name,
        function: set.function,
        memorylocations: std::mem::take(&mut set.memorylocations),
        extra,
        ..filled
    };
    for id in w.module[id].memorylocations.0.clone() {
        let filled = MemoryLocation::arb(w);
        let extra = w.extra();
        let location = &mut w.module[id];
        *location = MemoryLocation { name: location.name, set: location.set, extra, ..filled };
        // Every document has an address, and the reference refuses the hint elsewhere. spec: bir-json 5
        location.present.set(MemoryLocation::ADDR);
        if location.r#type != MemoryType::PSUM {
            location.pack_id_hint = -1;
        }
        if w.once_in(2) {
            w.module[id].r#type = MemoryType::DRAM;
            w.module[id].pack_id_hint = -1;
        }
    }
}

fn scope_of_function(m: &Module, id: FuncId) -> Scope {
    let insts = m.functions().flat_map(|function| m.insts_of(Holder::Function(function)));
    Scope {
        queues: m.queues().collect(),
        functions: m.functions().collect(),
        insts: insts.collect(),
        locations: m.locations_of(id).collect(),
        sets: m.sets_of(id).collect(),
        registers: m.registers_of(id).collect(),
        blocks: blocks_of(m, Holder::Function(id)),
    }
}

/// All blocks of a holder, nested ones too.
fn blocks_of(m: &Module, holder: Holder) -> Vec<BlockId> {
    let mut blocks = m.blocks_of(holder).to_vec();
    blocks.extend(m.insts_of(holder).flat_map(|inst| m[inst].body()));
    blocks
}

/// What an instruction may refer to.
fn scope_of_inst(m: &Module, id: InstId) -> Scope {
    match m.outermost(id) {
        Holder::Function(function) => scope_of_function(m, function),
        _ => {
            // Blocks around it; storage of all functions.
            let mut blocks = Vec::new();
            let mut holder = m[m[id].block].holder;
            loop {
                blocks.extend(m.blocks_of(holder));
                match holder {
                    Holder::Inst(outer) => holder = m[m[outer].block].holder,
                    _ => break,
                }
            }
            let all = |function| scope_of_function(m, function);
            let scopes: Vec<Scope> = m.functions().map(all).collect();
            Scope {
                queues: m.queues().collect(),
                functions: m.functions().collect(),
                insts: scopes.first().map(|scope| scope.insts.clone()).unwrap_or_default(),
                locations: scopes.iter().flat_map(|scope| scope.locations.clone()).collect(),
                sets: scopes.iter().flat_map(|scope| scope.sets.clone()).collect(),
                registers: scopes.iter().flat_map(|scope| scope.registers.clone()).collect(),
                blocks,
            }
        }
    }
}

fn inst_contents(w: &mut World, id: InstId, plan: &InstPlan, unique: &[InstId]) {
    w.feed(&plan.data);
    w.scope = scope_of_inst(&w.module, id);
    w.scope.insts.retain(|inst| unique.contains(inst));
    let op = op_contents(w, id, unique);
    w.module[id].op = op;
    w.feed(&plan.header);
    let outs = |w: &mut World| {
        let list: Vec<Argument> = Arb::arb(w);
        list.into_iter().filter(|arg| !arg.is_immediate()).collect::<Vec<_>>()
    };
    w.module[id].ins = Vec::arb(w).into();
    w.module[id].outs = outs(w).into();
    w.module[id].engine = Arb::arb(w);
    if w.once_in(2) {
        w.module[id].engine_id = Arb::arb(w);
        w.module[id].origin = Arb::arb(w);
        w.module[id].scheduled_start = Arb::arb(w);
        w.module[id].scheduled_end = Arb::arb(w);
    }
    w.module[id].sync_info = Option::arb(w);
    if w.module[id].sync_info.is_some() {
        let extra = w.extra();
        w.module[id].sync_info.as_mut().unwrap().extra = extra;
    }
    w.module[id].debug = w.once_in(2).then(|| debug(w).into());
    let passes: Option<Vec<Sym>> = Arb::arb(w);
    w.module[id].optin_passes = passes.map(Into::into);
    edges(w, id, unique);
    w.feed(&plan.rare);
    if w.once_in(2) {
        let extra = w.extra();
        let indirection_ins = outs(w);
        let rare = bir::Rare {
            indirection_ins: indirection_ins.into(),
            unroll_dependencies: unroll(w, id),
            loopnest: Arb::arb(w),
            predicates: Arb::arb(w),
            order: Arb::arb(w),
            dma_trigger_debug_update_semaphore_id: Arb::arb(w),
            missing_edges: std::mem::take(&mut w.module[id].rare_mut().missing_edges),
            extra,
        };
        *w.module[id].rare_mut() = rare;
    }
}

/// The op with arbitrary values in its keys. Where names resolve in a queue, they are names of that queue.
fn op_contents(w: &mut World, id: InstId, unique: &[InstId]) -> Op {
    let body = w.module[id].body().to_vec();
    let old = w.module[id].op.clone();
    let mut op = super::fill::op(&old, w);
    match &mut op {
        Op::Loop(op) => *op.blocks = body,
        Op::DynamicForLoop(op) => *op.blocks = body,
        Op::DoWhile(op) => *op.blocks = body,
        Op::DMABlock(op) => {
            *op.blocks = body;
            // The trigger that names the block is set below; a name that nothing has may stay.
            op.dma_trigger = match &old {
                Op::DMABlock(old) if old.dma_trigger.is_some() => old.dma_trigger,
                _ => op.dma_trigger.filter(|trigger| trigger.id().is_none()),
            };
        }
        Op::DMATrigger(op) => {
            op.dma_blocks.retain(|block| block.id().is_none() && op.queue.is_some());
            let blocks = op.queue.and_then(Ref::id).map(|queue| w.module[queue].blocks.0.clone());
            let candidates =
                blocks.into_iter().flatten().flat_map(|block| w.module[block].instructions.0.clone());
            let mut candidates: Vec<InstId> = candidates.collect();
            candidates.retain(|inst| unique.contains(inst));
            // The way back is by name, and triggers are in functions.
            if !unique.contains(&id) || matches!(w.module.outermost(id), Holder::Queue(_)) {
                candidates.clear();
            }
            let mut mine: Vec<InstId> = (0..w.below(3)).filter_map(|_| w.pick(&candidates)).collect();
            mine.dedup();
            for block in mine {
                let named = op.dma_blocks.iter().any(|r| r.id() == Some(block));
                let Op::DMABlock(other) = &mut w.module[block].op else { continue };
                let free = other.dma_trigger.is_none();
                if free && !named {
                    other.dma_trigger = Some(id.into());
                    op.dma_blocks.push(block.into());
                }
            }
        }
        Op::SwitchQueueInstance(op) => op.instance = instance(w, op.queue, op.instance),
        Op::ResetQueueInstance(op) => op.instance = instance(w, op.queue, op.instance),
        _ => {}
    }
    op
}

/// An instance of a queue.
fn instance(w: &mut World, queue: Option<Ref<QueueId>>, drawn: Option<Ref<BlockId>>) -> Option<Ref<BlockId>> {
    drawn?;
    let blocks = queue.and_then(Ref::id).map(|queue| w.module[queue].blocks.0.clone()).unwrap_or_default();
    match w.pick(&blocks) {
        Some(block) => Some(block.into()),
        // A name that is none of its blocks stays a name. spec: opcodes 9
        None => Some(Ref::named(w.module.names.intern("no block"))),
    }
}

fn debug(w: &mut World) -> DebugInfo {
    if w.once_in(5) {
        let rest = match w.some_value(2) {
            Value::Object(_) => Value::Bool(true),
            value => value,
        };
        return DebugInfo { lineno: None, op_name: None, rest };
    }
    let mut debug = DebugInfo::new(Arb::arb(w), Arb::arb(w));
    let mut rest: Members = w.members(2);
    if debug.lineno.is_none() && w.once_in(4) {
        rest.insert("lineno", Value::from("twelve"));
    }
    debug.rest = Value::Object(rest);
    debug
}

fn edges(w: &mut World, id: InstId, unique: &[InstId]) {
    let owner = w.module.outermost(id);
    let mut targets: Vec<InstId> = w.module.insts_of(owner).collect();
    let queues: Vec<QueueId> = w.module.queues().collect();
    for queue in queues {
        let blocks = w.module[queue].blocks.0.clone();
        targets.extend(blocks.iter().flat_map(|block| w.module[*block].instructions.0.clone()));
    }
    if matches!(owner, Holder::Queue(_)) {
        let functions: Vec<FuncId> = w.module.functions().collect();
        targets.extend(functions.iter().flat_map(|function| w.module.insts_of(Holder::Function(*function))));
    }
    targets.retain(|target| *target != id && unique.contains(target));
    for loop_carried in [false, true] {
        for _ in 0..w.below(5) {
            let kind = EdgeKind::new(w.below(8) as u64).unwrap();
            let extras: Vec<Value> = if w.once_in(4) { Arb::arb(w) } else { Vec::new() };
            if w.missing && w.once_in(4) {
                let name = w.module.names.intern("no instruction");
                let inst = &w.module[id];
                let set = if loop_carried { &inst.loop_carried_dependencies } else { &inst.dependencies };
                let before =
                    inst.rare().missing_edges.iter().filter(|other| other.loop_carried == loop_carried);
                let position = set.len() + before.count();
                let edge = MissingEdge { name, kind, loop_carried, position, extras };
                w.module[id].rare_mut().missing_edges.push(edge);
                continue;
            }
            let Some(target) = w.pick(&targets) else { continue };
            let inst = &mut w.module[id];
            let set = match loop_carried {
                false => &mut inst.dependencies,
                true => &mut inst.loop_carried_dependencies,
            };
            set.insert_with(Edge::new(target, kind), &extras);
        }
    }
}

fn unroll(w: &mut World, id: InstId) -> Vec<UnrollEdge> {
    let targets: Vec<InstId> = w.scope.insts.iter().copied().filter(|target| *target != id).collect();
    let edges = (0..w.below(3)).filter_map(|_| {
        let target = w.pick(&targets)?.into();
        let kind = EdgeKind::new(w.below(8) as u64).unwrap();
        Some(UnrollEdge { target, kind, exprs: Arb::arb(w), predicates: Arb::arb(w), extras: Arb::arb(w) })
    });
    edges.collect()
}

/// Binds calls of the main function to locations of their callees.
fn call_bindings(w: &mut World, data: &[u8], unique: &[InstId]) {
    w.feed(data);
    let Some(main) = w.module.main() else { return };
    let insts: Vec<InstId> = w.module.insts_of(Holder::Function(main)).collect();
    for id in insts.into_iter().filter(|id| unique.contains(id)) {
        let callee = match &w.module[id].op {
            Op::Call(op) => op.target.and_then(Ref::id),
            Op::NKIKernel(op) => op.func.and_then(Ref::id),
            _ => continue,
        };
        let candidates: Vec<_> =
            callee.into_iter().flat_map(|callee| w.module.locations_of(callee)).collect();
        let locations = (0..w.below(3)).filter_map(|_| w.pick(&candidates)).map(Ref::to).collect();
        w.module.root.call_to_physical_memlocs.push(CallBinding { call: id.into(), locations });
    }
}
