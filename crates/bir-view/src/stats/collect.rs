//! One pass over a module that counts everything.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bir::enums::{Dtype, EngineType, InstructionType, MemoryType, SyncRefType};
use bir::ids::{BlockId, InstId, LocId, QueueId, SetId};
use bir::record::FieldValue;
use bir::target::Target;
use bir::{Argument, Holder, Instruction, Module, Op, OpenEnum, OperandList, Sym};
use hashbrown::HashMap;

use super::memory::{self, Dram, DramUse, Memory, Unplaced};
use super::{
    DominantRow, EdgeRow, EngineRow, INSTRUCTION_LIMIT, InstructionRow, KernelRow, LoopKind, LoopRow,
    ModuleFacts, OperandRow, QueueRow, Runs, SemaphoreRow, SourceRow, Stats, TensorRow,
};
use crate::features::{FeatureUse, mask, needed};

/// Collects the statistics of a module, with the `largest` largest tensors.
///
/// ```
/// use bir::{Module, enums::ArchLevel};
/// let stats = bir_view::stats::stats(&Module::new(ArchLevel::Gen3), 10);
/// assert_eq!(stats.module.device.as_deref(), Some("trn2"));
/// assert_eq!(stats.module.instructions, 0);
/// ```
pub fn stats(module: &Module, largest: usize) -> Stats {
    let mut collector = Collector::new(module);
    for function in module.functions() {
        let walk = Walk { function: Some(function), depth: 0, runs: Some(1), unrolled: 1 };
        let before = collector.total;
        collector.unrolled = 0;
        collector.blocks(&module[function].blocks, walk, Holder::Function(function));
        collector.kernels.push((function, collector.total.since(before), collector.unrolled));
    }
    let instructions = collector.total.count;
    for queue in module.queues() {
        collector.queue(queue);
    }
    collector.finish(instructions, largest)
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct Walk {
    /// `None` in a queue.
    function: Option<bir::ids::FuncId>,
    /// Loops around.
    depth: usize,
    /// Runs of the block for each call of the function.
    runs: Option<u64>,
    /// Copies of the block after unrolling.
    unrolled: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Space {
    Memory(MemoryType),
    Register,
    Immediate,
    Unknown,
}

#[derive(Default)]
struct Traffic {
    reads: u64,
    writes: u64,
    bytes_read: u64,
    bytes_written: u64,
}

#[derive(Default)]
struct Edges {
    normal: u64,
    loop_carried: u64,
    unroll: u64,
    missing: u64,
}

/// Indexes of the fields that matter among the fields of an op.
#[derive(Clone, Copy, Default)]
struct OpFields {
    queue: Option<usize>,
    dge_type: Option<usize>,
}

struct Collector<'a> {
    module: &'a Module,
    total: Runs,
    instructions: HashMap<(InstructionType, EngineType), Runs>,
    source: HashMap<(Option<i64>, Option<Sym>), Runs>,
    operands: HashMap<(Option<Dtype>, Space), Traffic>,
    edges: [Edges; 8],
    /// Waits and updates.
    semaphores: HashMap<(SyncRefType, Option<u32>), (u64, u64)>,
    loops: Vec<LoopRow>,
    queues: Vec<QueueRow>,
    queue_uses: HashMap<QueueId, u64>,
    /// Runs of the triggers, and of the DMA blocks that they name.
    triggered: HashMap<InstId, Option<u64>>,
    op_fields: HashMap<InstructionType, OpFields>,
    used: FeatureUse,
    blocks: usize,
    /// Instructions of the function after unrolling, so far.
    unrolled: u64,
    kernels: Vec<(bir::ids::FuncId, Runs, u64)>,
    calls: HashMap<bir::ids::FuncId, u64>,
}

impl<'a> Collector<'a> {
    fn new(module: &'a Module) -> Collector<'a> {
        Collector {
            module,
            total: Runs::default(),
            instructions: HashMap::new(),
            source: HashMap::new(),
            operands: HashMap::new(),
            edges: Default::default(),
            semaphores: HashMap::new(),
            loops: Vec::new(),
            queues: Vec::new(),
            queue_uses: HashMap::new(),
            triggered: HashMap::new(),
            op_fields: HashMap::new(),
            used: FeatureUse::default(),
            blocks: 0,
            unrolled: 0,
            kernels: Vec::new(),
            calls: HashMap::new(),
        }
    }

    /// The blocks of a function or of a loop body.
    fn blocks(&mut self, blocks: &'a [BlockId], walk: Walk, holder: Holder) {
        let mut loops = crate::loops::back_edges(self.module, blocks, holder).into_iter().peekable();
        let mut open: Vec<(usize, usize, Runs)> = Vec::new();
        for (at, &block) in blocks.iter().enumerate() {
            self.blocks += 1;
            while let Some((_, last)) = loops.next_if(|(first, _)| *first == at) {
                open.push((last, self.loops.len(), self.total));
                let name = self.name(self.module[block].name);
                self.open_loop(LoopKind::Blocks, name, walk, walk.depth + open.len(), None, None);
            }
            let inside = match open.len() {
                0 => walk,
                lowered => Walk { depth: walk.depth + lowered, runs: None, ..walk },
            };
            for inst in &self.module[block].instructions {
                self.instruction(inst, inside);
            }
            while let Some((_, row, before)) = open.pop_if(|(last, ..)| *last <= at) {
                self.loops[row].runs = self.total.since(before);
            }
        }
    }

    fn instruction(&mut self, id: InstId, walk: Walk) {
        let module = self.module;
        let inst = &module[id];
        self.count(inst, walk.runs);
        if !matches!(inst.op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_)) {
            self.unrolled = self.unrolled.saturating_add(walk.unrolled);
        }
        match &inst.op {
            Op::DMATrigger(trigger) => {
                // A block that several triggers name runs for each of them.
                let blocks = trigger.dma_blocks.iter().filter_map(|block| block.id());
                for dma in blocks.chain([id]) {
                    let runs = self.triggered.entry(dma).or_insert(Some(0));
                    *runs = runs.and_then(|runs| runs.checked_add(walk.runs?));
                }
            }
            Op::CustomOp(_) => self.used.custom_ops += 1,
            Op::SwitchQueueInstance(_) => self.used.queue_switches += 1,
            Op::Call(call) => {
                self.used.calls += 1;
                if let Some(callee) = call.target.and_then(|target| target.id()) {
                    *self.calls.entry(callee).or_default() += 1;
                }
            }
            _ => {}
        }
        if let Some(queue) = self.queue_of(inst) {
            *self.queue_uses.entry(queue).or_default() += 1;
        }
        self.body(id, walk);
    }

    fn body(&mut self, id: InstId, walk: Walk) {
        let module = self.module;
        let inst = &module[id];
        let (kind, axis, trips) = match &inst.op {
            Op::Loop(op) => {
                let axis = op.loop_axis.as_deref();
                let trips = axis.and_then(|axis| trip_count(axis.lb, axis.ub?, axis.stride?));
                (LoopKind::Loop, axis.map(|axis| axis.name), trips)
            }
            Op::DynamicForLoop(op) => {
                let axis = op.dynamic_for_loop_axis.as_deref();
                let constant = |expr| module.exprs.as_constant(expr);
                let bounds = axis.and_then(|axis| Some((axis.lb?, axis.ub?, axis.stride?)));
                let trips = bounds
                    .and_then(|(lb, ub, stride)| trip_count(constant(lb)?, constant(ub)?, constant(stride)?));
                (LoopKind::DynamicForLoop, axis.map(|axis| axis.name), trips)
            }
            Op::DoWhile(_) => (LoopKind::DoWhile, None, None),
            _ => {
                // A body that is no loop: a DMA block among the instructions of a function.
                if !inst.body().is_empty() {
                    self.blocks(inst.body(), walk, Holder::Inst(id));
                }
                return;
            }
        };
        let iterations = trips.and_then(|trips| walk.runs?.checked_mul(trips));
        let name = self.name(axis.filter(|axis| *axis != Sym::EMPTY).unwrap_or(inst.name));
        let (row, before) = (self.loops.len(), self.total);
        self.open_loop(kind, name, walk, walk.depth + 1, trips, iterations);
        // Loops that end by a run-time value are not unrolled.
        let copies = if kind == LoopKind::Loop { trips.unwrap_or(1) } else { 1 };
        let unrolled = walk.unrolled.saturating_mul(copies);
        let inside = Walk { depth: walk.depth + 1, runs: iterations, unrolled, ..walk };
        self.blocks(inst.body(), inside, Holder::Inst(id));
        self.loops[row].runs = self.total.since(before);
    }

    fn open_loop(
        &mut self,
        kind: LoopKind,
        name: String,
        walk: Walk,
        depth: usize,
        trips: Option<u64>,
        iterations: Option<u64>,
    ) {
        let function = walk.function.map(|function| self.name(self.module[function].name));
        self.loops.push(LoopRow {
            kind,
            name,
            function: function.unwrap_or_default(),
            depth,
            trips,
            iterations,
            runs: Runs::default(),
        });
    }

    fn queue(&mut self, id: QueueId) {
        let module = self.module;
        let queue = &module[id];
        let mut row = QueueRow {
            name: self.name(queue.name),
            queue_type: queue.queue_type.map(|ty| ty.text(&module.names).to_owned()),
            dma_engines: queue.num_dma_engines,
            instances: queue.blocks.len() as u64,
            dma_blocks: 0,
            descriptors: 0,
            bytes: 0,
            uses: self.queue_uses.get(&id).copied().unwrap_or(0),
        };
        for inst in (&queue.blocks).into_iter().flat_map(|block| &module[block].instructions) {
            row.dma_blocks += 1;
            let runs = self.dma_block_runs(inst);
            self.count(&module[inst], runs);
            for descriptor in (module[inst].body().iter()).flat_map(|block| &module[*block].instructions) {
                row.descriptors += 1;
                self.count(&module[descriptor], runs);
                let bytes = module[descriptor].outs.iter().map(|out| self.bytes(out));
                row.bytes = bytes.fold(row.bytes, u64::saturating_add);
            }
        }
        self.queues.push(row);
    }

    /// A DMA block runs as often as the triggers that name it, or as the one that it names.
    fn dma_block_runs(&self, id: InstId) -> Option<u64> {
        let named = match &self.module[id].op {
            Op::DMABlock(block) => block.dma_trigger.and_then(|trigger| trigger.id()),
            _ => None,
        };
        let runs = self.triggered.get(&id).or_else(|| self.triggered.get(&named?));
        runs.copied().flatten()
    }

    /// Counts what every instruction has.
    fn count(&mut self, inst: &Instruction, runs: Option<u64>) {
        self.total.add(runs);
        self.instructions.entry((inst.opcode(), inst.engine)).or_default().add(runs);
        let place = inst.debug.as_ref().map_or((None, None), |debug| (debug.lineno, debug.op_name));
        self.source.entry(place).or_default().add(runs);
        for (list, _, operand) in inst.operands() {
            let bytes = self.bytes(operand);
            let traffic = self.operands.entry((dtype(operand), self.space(operand))).or_default();
            if list == OperandList::Outs {
                traffic.writes += 1;
                traffic.bytes_written = traffic.bytes_written.saturating_add(bytes);
            } else {
                traffic.reads += 1;
                traffic.bytes_read = traffic.bytes_read.saturating_add(bytes);
            }
        }
        for edge in inst.dependencies.iter() {
            self.edges[usize::from(edge.kind().number())].normal += 1;
        }
        for edge in inst.loop_carried_dependencies.iter() {
            self.edges[usize::from(edge.kind().number())].loop_carried += 1;
        }
        if inst.has_rare() {
            for edge in &inst.rare().unroll_dependencies {
                let edges = &mut self.edges[usize::from(edge.kind.number())];
                edges.unroll += 1;
                edges.missing += u64::from(edge.target.id().is_none());
            }
            for edge in &inst.rare().missing_edges {
                let edges = &mut self.edges[usize::from(edge.kind.number())];
                edges.missing += 1;
                *if edge.loop_carried { &mut edges.loop_carried } else { &mut edges.normal } += 1;
            }
        }
        if let Some(sync) = &inst.sync_info {
            for wait in &sync.on_wait {
                self.semaphores.entry((wait.sync_type, wait.id)).or_default().0 += 1;
            }
            for update in &sync.on_update {
                self.semaphores.entry((update.sync_type, update.id)).or_default().1 += 1;
            }
        }
    }

    /// The queue that an op names. Also counts DMA whose descriptors are generated: a DMACopy's always are, those of
    /// other ops where they say so. spec: opcodes.toml (wire_select), neff 9
    fn queue_of(&mut self, inst: &Instruction) -> Option<QueueId> {
        let fields = inst.op.fields()?;
        let mut generated = inst.opcode() == InstructionType::DMACopy;
        let at = *self.op_fields.entry(inst.opcode()).or_insert_with(|| {
            let position = |key| fields.specs().iter().position(|spec| spec.key == key);
            OpFields { queue: position("queue"), dge_type: position("dge_type") }
        });
        if let Some(FieldValue::Name("SWDGE" | "HWDGE")) = at.dge_type.map(|at| fields.field(at)) {
            generated = true;
        }
        if generated {
            self.used.generated_dma += 1;
            let types = |list: &[Argument]| list.first().and_then(dtype);
            self.used.casting_dma += u64::from(types(&inst.ins) != types(&inst.outs));
        }
        match fields.field(at.queue?) {
            FieldValue::Queue(queue) => queue.id(),
            _ => None,
        }
    }

    fn space(&self, operand: &Argument) -> Space {
        if let Some(loc) = operand.location().and_then(|loc| loc.id()) {
            return Space::Memory(self.module[loc].r#type);
        }
        match operand {
            Argument::ImmValue(_) | Argument::SymbolicImmValue(_) | Argument::ImmArray(_) => Space::Immediate,
            Argument::RegisterAccess(_) => Space::Register,
            _ => {
                let set = operand.location_set().and_then(|set| set.id());
                set.and_then(|set| self.set_memory(set)).map_or(Space::Unknown, Space::Memory)
            }
        }
    }

    fn set_memory(&self, set: SetId) -> Option<MemoryType> {
        self.module[set].memorylocations.first().map(|loc| self.module[*loc].r#type)
    }

    /// Bytes that an operand touches; 0 for immediates and registers.
    fn bytes(&self, operand: &Argument) -> u64 {
        let pattern = match operand {
            Argument::PhysicalAp(arg) => &arg.ap,
            Argument::SymbolicAp(arg) => &arg.ap,
            Argument::RegisterAp(arg) => &arg.ap,
            _ => return 0,
        };
        let elements = pattern.as_ref().map_or(Some(0), |pattern| pattern.elements()).unwrap_or(u64::MAX);
        let size = dtype(operand).and_then(Dtype::size_bytes).unwrap_or(0);
        elements.saturating_mul(size.into())
    }

    fn name(&self, sym: Sym) -> String {
        self.module.str(sym).to_owned()
    }

    fn finish(self, instructions: u64, largest: usize) -> Stats {
        let module = self.module;
        let names = &module.names;
        let mut engines: BTreeMap<String, Runs> = BTreeMap::new();
        for ((_, engine), runs) in &self.instructions {
            let sum = engines.entry(engine.text(names).to_owned()).or_default();
            sum.count += runs.count;
            sum.runs = sum.runs.saturating_add(runs.runs);
            sum.uncounted += runs.uncounted;
        }
        let features = needed(module, self.used);
        let mut stats = Stats {
            module: self.facts(instructions),
            instructions: sorted(
                self.instructions.iter().map(|((opcode, engine), runs)| InstructionRow {
                    opcode: opcode.text(names).to_owned(),
                    engine: engine.text(names).to_owned(),
                    runs: *runs,
                }),
                |row| (Reverse(row.runs.count), row.opcode.clone(), row.engine.clone()),
            ),
            engines: sorted(engines.into_iter().map(|(engine, runs)| EngineRow { engine, runs }), |row| {
                (Reverse(row.runs.count), row.engine.clone())
            }),
            loop_depth: self.loops.iter().map(|row| row.depth).max().unwrap_or(0),
            source: sorted(
                self.source.iter().map(|((line, operation), runs)| SourceRow {
                    line: *line,
                    operation: operation.map(|name| self.name(name)),
                    runs: *runs,
                }),
                |row| (Reverse((row.runs.runs, row.runs.count)), row.line, row.operation.clone()),
            ),
            operands: sorted(
                self.operands.iter().map(|((dtype, space), traffic)| OperandRow {
                    dtype: dtype.map(|dtype| dtype.text(names).to_owned()),
                    space: match space {
                        Space::Memory(memory) => memory.text(names).to_owned(),
                        Space::Register => "register".into(),
                        Space::Immediate => "immediate".into(),
                        Space::Unknown => "unknown".into(),
                    },
                    reads: traffic.reads,
                    writes: traffic.writes,
                    bytes_read: traffic.bytes_read,
                    bytes_written: traffic.bytes_written,
                }),
                |row| (Reverse(row.reads + row.writes), row.dtype.clone(), row.space.clone()),
            ),
            memory: self.memory(),
            semaphores: sorted(
                self.semaphores.iter().map(|((sync_type, id), (waits, updates))| SemaphoreRow {
                    sync_type: sync_type.text(names).to_owned(),
                    id: *id,
                    waits: *waits,
                    updates: *updates,
                }),
                |row| (row.sync_type.clone(), row.id),
            ),
            edges: self.edge_rows(),
            tensors: self.tensors(largest),
            feature_bits: format!("{:#x}", mask(&features)),
            features,
            kernels: self.kernel_rows(),
            instruction_limit: INSTRUCTION_LIMIT,
            dominant: Vec::new(),
            queues: self.queues,
            loops: self.loops,
        };
        stats.dominant = dominant(&stats, self.total.runs);
        stats
    }

    fn kernel_rows(&self) -> Vec<KernelRow> {
        let module = self.module;
        let row = |(function, runs, unrolled): &(bir::ids::FuncId, Runs, u64)| KernelRow {
            name: self.name(module[*function].name),
            kind: if module[*function].nki { "nki_function" } else { "function" },
            calls: self.calls.get(function).copied().unwrap_or(0),
            runs: *runs,
            unrolled: *unrolled,
            over_limit: *unrolled > INSTRUCTION_LIMIT,
        };
        sorted(self.kernels.iter().map(row), |row| Reverse(row.unrolled))
    }

    fn facts(&self, instructions: u64) -> ModuleFacts {
        let module = self.module;
        let sets = || module.functions().flat_map(|function| module.sets_of(function));
        ModuleFacts {
            arch: module.root.arch.map(|arch| arch.text(&module.names).to_owned()),
            device: module.root.arch.and_then(Target::of).map(|target| target.device.to_lowercase()),
            version: module.root.version,
            functions: module.functions().count(),
            blocks: self.blocks,
            instructions,
            queue_instructions: self.total.count - instructions,
            tensors: sets().count(),
            locations: sets().map(|set| module[set].memorylocations.len()).sum(),
            registers: module.functions().map(|function| module.registers_of(function).count()).sum(),
            queues: module.queues().count(),
        }
    }

    fn edge_rows(&self) -> Vec<EdgeRow> {
        let rows = self.edges.iter().enumerate().map(|(number, edges)| EdgeRow {
            kind: bir::edges::EdgeKind::new(number as u64)
                .and_then(|kind| kind.name())
                .map_or_else(|| number.to_string(), str::to_owned),
            normal: edges.normal,
            loop_carried: edges.loop_carried,
            unroll: edges.unroll,
            missing: edges.missing,
        });
        rows.filter(|row| row.normal + row.loop_carried + row.unroll > 0).collect()
    }

    fn memory(&self) -> Memory {
        let module = self.module;
        let target = module.root.arch.and_then(Target::of);
        let (mut sb, mut psum): (Vec<LocId>, Vec<LocId>) = Default::default();
        let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut unplaced: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for loc in module.functions().flat_map(|function| module.locations_of(function)) {
            let location = &module[loc];
            let count = |(locations, bytes): &mut (u64, u64)| {
                *locations += 1;
                *bytes = bytes.saturating_add(memory::location_bytes(module, loc));
            };
            match location.r#type {
                MemoryType::SB if location.is_placed() => sb.push(loc),
                MemoryType::PSUM if location.is_placed() => psum.push(loc),
                other if memory::is_dram(other) => {
                    let kind = module[location.set].kind.map_or("unknown", |kind| kind.text(&module.names));
                    count(kinds.entry(kind).or_default());
                }
                other => count(unplaced.entry(other.text(&module.names)).or_default()),
            }
        }
        Memory {
            sb: memory::sb(module, &sb, target),
            psum: memory::psum(module, &psum, target),
            dram: Dram {
                core_bytes: target.map(|target| target.hbm_gib_per_core << 30),
                kinds: sorted(
                    kinds.into_iter().map(|(kind, (locations, bytes))| DramUse {
                        kind: kind.to_owned(),
                        locations,
                        bytes,
                    }),
                    |row| (Reverse(row.bytes), row.kind.clone()),
                ),
            },
            unplaced: sorted(
                unplaced.into_iter().map(|(space, (locations, bytes))| Unplaced {
                    space: space.to_owned(),
                    locations,
                    bytes,
                }),
                |row| (Reverse(row.bytes), row.space.clone()),
            ),
        }
    }

    fn tensors(&self, largest: usize) -> Vec<TensorRow> {
        let module = self.module;
        let sets = module.functions().flat_map(|function| module.sets_of(function));
        let mut sized: Vec<(u64, SetId)> = sets.map(|set| (tensor_bytes(module, set), set)).collect();
        // Equal sizes stay in document order.
        sized.sort_by_key(|(bytes, _)| Reverse(*bytes));
        let rows = sized.into_iter().take(largest).map(|(bytes, id)| {
            let set = &module[id];
            TensorRow {
                name: self.name(set.name),
                kind: set.kind.map(|kind| kind.text(&module.names).to_owned()),
                dtype: set.dtype.map(|dtype| dtype.text(&module.names).to_owned()),
                shape: set.tensor_shape.iter().collect(),
                space: self.set_memory(id).map(|memory| memory.text(&module.names).to_owned()),
                locations: set.memorylocations.len(),
                bytes,
            }
        });
        rows.collect()
    }
}

/// Bytes of one placement of a tensor: of its largest location, or by its shape where no location says it.
fn tensor_bytes(module: &Module, id: SetId) -> u64 {
    let set = &module[id];
    let placed = set.memorylocations.iter().map(|loc| memory::location_bytes(module, *loc)).max();
    placed.filter(|bytes| *bytes > 0).unwrap_or_else(|| {
        let size = set.dtype.and_then(Dtype::size_bytes).unwrap_or(0);
        let elements = if set.tensor_shape.is_empty() { Some(0) } else { set.tensor_shape.product() };
        elements.unwrap_or(u64::MAX).saturating_mul(size.into())
    })
}

fn dtype(operand: &Argument) -> Option<Dtype> {
    match operand {
        Argument::PhysicalAp(arg) => arg.dtype,
        Argument::SymbolicAp(arg) => arg.dtype,
        Argument::RegisterAp(arg) => arg.dtype,
        Argument::ImmValue(arg) => arg.dtype,
        Argument::SymbolicImmValue(arg) => arg.dtype,
        Argument::ImmArray(arg) => arg.dtype,
        Argument::RegisterAccess(arg) => arg.dtype,
    }
}

/// What has the largest part of all runs, of each kind.
fn dominant(stats: &Stats, total: u64) -> Vec<DominantRow> {
    let mut rows = Vec::new();
    let mut add = |by, most: Option<(u64, String)>| {
        if let Some((runs, name)) = most.filter(|(runs, _)| *runs > 0) {
            rows.push(DominantRow { by, name, runs, total });
        }
    };
    // Of equal ones the first is taken.
    let first = |a: &(u64, String), b: &(u64, String)| a.0.cmp(&b.0).then(std::cmp::Ordering::Greater);
    add("engine", stats.engines.iter().map(|row| (row.runs.runs, row.engine.clone())).max_by(first));
    add("opcode", {
        let mut opcodes: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &stats.instructions {
            let sum = opcodes.entry(&row.opcode).or_default();
            *sum = sum.saturating_add(row.runs.runs);
        }
        opcodes.into_iter().map(|(opcode, runs)| (runs, opcode.to_owned())).max_by(first)
    });
    let sources = stats.source.iter().filter(|row| row.line.is_some() || row.operation.is_some());
    add(
        "source",
        sources
            .map(|row| {
                let line = row.line.map(|line| format!("line {line}"));
                let name: Vec<String> = line.into_iter().chain(row.operation.clone()).collect();
                (row.runs.runs, name.join(", "))
            })
            .max_by(first),
    );
    let outer = stats.loops.iter().filter(|row| row.depth == 1);
    add("loop", outer.map(|row| (row.runs.runs, row.name.clone())).max_by(first));
    if stats.kernels.len() > 1 {
        add("kernel", stats.kernels.iter().map(|row| (row.runs.runs, row.name.clone())).max_by(first));
    }
    rows
}

fn sorted<T, K: Ord>(rows: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut rows: Vec<T> = rows.collect();
    rows.sort_by_cached_key(key);
    rows
}

/// Iterations of a loop; `None` for a stride of 0, which is an error. spec: bir-json 10
fn trip_count(lb: i64, ub: i64, stride: i64) -> Option<u64> {
    let (lb, ub, stride) = (i128::from(lb), i128::from(ub), i128::from(stride));
    let trips = match stride {
        0 => return None,
        1.. if lb < ub => (ub - 1 - lb) / stride + 1,
        ..0 if lb > ub => (lb - 1 - ub) / -stride + 1,
        _ => 0,
    };
    u64::try_from(trips).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: bir-json 10
    #[test]
    fn trip_counts() {
        assert_eq!(trip_count(0, 10, 1), Some(10));
        assert_eq!(trip_count(0, 10, 3), Some(4));
        assert_eq!(trip_count(10, 0, -3), Some(4));
        assert_eq!(trip_count(10, 0, 3), Some(0));
        assert_eq!(trip_count(0, 10, 0), None);
        assert_eq!(trip_count(i64::MIN, i64::MAX, 1), Some(u64::MAX));
        assert_eq!(trip_count(i64::MAX, i64::MIN, i64::MIN), Some(2));
    }
}
