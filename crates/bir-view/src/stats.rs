//! Statistics of a module: what it is made of, how often its instructions run, what it keeps where.
//!
//! [`stats`] collects them in one pass over the instructions; [`Stats`] serialises as one JSON object, and
//! prints as text with [`Stats::text`].

mod collect;
mod memory;
mod text;

use serde::Serialize;

use crate::features::Feature;

pub use collect::stats;
pub use memory::{Bank, Dram, DramUse, Memory, PartitionUse, Psum, Sb, Unplaced};

/// Statistics of a module. Rows of every list are in descending order of their counts, then by name, unless
/// their documentation says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// The module as a whole.
    pub module: ModuleFacts,
    /// Instructions by opcode and engine, those of queues included.
    pub instructions: Vec<InstructionRow>,
    /// Instructions by engine.
    pub engines: Vec<EngineRow>,
    /// Loops in document order, outer before inner.
    pub loops: Vec<LoopRow>,
    /// Depth of the deepest loop; 0 without loops.
    pub loop_depth: usize,
    /// Instructions by line and operation of the source, in descending order of runs. Those without a debug record
    /// are a row without line and operation.
    pub source: Vec<SourceRow>,
    /// Functions and NKI kernels, in descending order of their instructions after unrolling.
    pub kernels: Vec<KernelRow>,
    /// Most instructions that a function may have after unrolling.
    pub instruction_limit: u64,
    /// What has the largest part of all runs: an engine, an opcode, a place of the source, an outermost loop, a
    /// kernel; in this order, as far as there is one.
    pub dominant: Vec<DominantRow>,
    /// Operands by type and space.
    pub operands: Vec<OperandRow>,
    /// Use of the memories.
    pub memory: Memory,
    /// Queues in document order.
    pub queues: Vec<QueueRow>,
    /// Semaphores and events in ascending order.
    pub semaphores: Vec<SemaphoreRow>,
    /// Dependencies by kind, in ascending order of the kinds' numbers.
    pub edges: Vec<EdgeRow>,
    /// The largest tensors, largest first.
    pub tensors: Vec<TensorRow>,
    /// NEFF features that a package made from the module needs.
    pub features: Vec<Feature>,
    /// The feature word of its header, in hexadecimal.
    pub feature_bits: String,
}

/// Counts and names of a module as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleFacts {
    /// `arch` as the document spells it.
    pub arch: Option<String>,
    /// The device of that arch as users write it, where it is known: `trn2`.
    pub device: Option<String>,
    /// Version of the document.
    pub version: Option<u32>,
    /// Functions, NKI functions included.
    pub functions: usize,
    /// Blocks of functions and of loop bodies; those of queues not included.
    pub blocks: usize,
    /// Instructions of functions, those of loop bodies included.
    pub instructions: u64,
    /// Instructions of queues: DMA blocks and descriptors.
    pub queue_instructions: u64,
    /// Memory-location sets: logical tensors.
    pub tensors: usize,
    /// Memory locations: placements of tensors.
    pub locations: usize,
    /// Registers.
    pub registers: usize,
    /// DMA queues.
    pub queues: usize,
}

/// How often some instructions run each time their function is called: trip counts of the loops around them,
/// multiplied. What stands in a queue runs as often as what triggers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Runs {
    /// Instructions in the document.
    pub count: u64,
    /// Runs of those instructions whose loops have known trip counts.
    pub runs: u64,
    /// Instructions of which nothing is known: in loops that end by a run-time value, or in lowered loops.
    pub uncounted: u64,
}

impl Runs {
    /// Adds an instruction that runs so many times; `None` when that is not known.
    fn add(&mut self, runs: Option<u64>) {
        self.count += 1;
        match runs.and_then(|runs| self.runs.checked_add(runs)) {
            Some(sum) => self.runs = sum,
            None => self.uncounted += 1,
        }
    }

    /// What came in since an earlier state.
    fn since(self, earlier: Runs) -> Runs {
        Runs {
            count: self.count - earlier.count,
            runs: self.runs - earlier.runs,
            uncounted: self.uncounted - earlier.uncounted,
        }
    }
}

/// Instructions of one opcode on one engine.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionRow {
    /// The InstructionType.
    pub opcode: String,
    /// The engine.
    pub engine: String,
    /// How many, and how often they run.
    #[serde(flatten)]
    pub runs: Runs,
}

/// Instructions on one engine.
#[derive(Clone, Debug, Serialize)]
pub struct EngineRow {
    /// The engine.
    pub engine: String,
    /// How many, and how often they run.
    #[serde(flatten)]
    pub runs: Runs,
}

/// What makes a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// A `Loop` instruction.
    Loop,
    /// A `DynamicForLoop` instruction.
    DynamicForLoop,
    /// A `DoWhile` instruction.
    DoWhile,
    /// Blocks that a branch leads back to: a lowered loop.
    Blocks,
}

/// A loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopRow {
    /// What makes it.
    pub kind: LoopKind,
    /// Its axis; else the name of its instruction or first block.
    pub name: String,
    /// The function it is in.
    pub function: String,
    /// 1 for an outermost loop.
    pub depth: usize,
    /// Iterations each time it is entered; `null` when not known.
    pub trips: Option<u64>,
    /// Iterations each time its function is called; `null` when not known.
    pub iterations: Option<u64>,
    /// Instructions inside, those of inner loops included.
    #[serde(flatten)]
    pub runs: Runs,
}

/// Instructions of one place in the source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceRow {
    /// Line; `null` when the debug record has none.
    pub line: Option<i64>,
    /// Operation; `null` when the debug record has none.
    pub operation: Option<String>,
    /// How many, and how often they run.
    #[serde(flatten)]
    pub runs: Runs,
}

/// Instructions of a function after unrolling that compilers accept; a release may have another number. spec: verify
/// MOD-08
pub const INSTRUCTION_LIMIT: u64 = 5_000_000;

/// A function, ordinary or NKI.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRow {
    /// Its name.
    pub name: String,
    /// `function` or `nki_function`.
    pub kind: &'static str,
    /// Calls of it in the document.
    pub calls: u64,
    /// How many instructions, and how often they run.
    #[serde(flatten)]
    pub runs: Runs,
    /// Instructions after unrolling: loops do not count, what is in them counts as often as the static loops around it
    /// run.
    pub unrolled: u64,
    /// Whether that is more than [`INSTRUCTION_LIMIT`].
    pub over_limit: bool,
}

/// Something that has a large part of all runs.
#[derive(Clone, Debug, Serialize)]
pub struct DominantRow {
    /// `engine`, `opcode`, `source`, `loop` or `kernel`.
    pub by: &'static str,
    /// Which one.
    pub name: String,
    /// Its runs, as far as they are known.
    pub runs: u64,
    /// Runs of everything.
    pub total: u64,
}

/// Operands of one type in one space.
#[derive(Clone, Debug, Serialize)]
pub struct OperandRow {
    /// Element type; `null` when the operand has none.
    pub dtype: Option<String>,
    /// Memory type of the location, `register`, `immediate`, or `unknown`.
    pub space: String,
    /// Inputs and index tensors.
    pub reads: u64,
    /// Outputs.
    pub writes: u64,
    /// Bytes that one run of each of the instructions reads, all partitions together; immediates and registers
    /// do not count.
    pub bytes_read: u64,
    /// Bytes that one run of each of the instructions writes.
    pub bytes_written: u64,
}

/// A DMA queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueRow {
    /// Name.
    pub name: String,
    /// Type, where the document says it.
    pub queue_type: Option<String>,
    /// DMA engines, where the document says it.
    pub dma_engines: Option<u32>,
    /// Instances: blocks of the queue.
    pub instances: u64,
    /// DMA blocks in all instances.
    pub dma_blocks: u64,
    /// Descriptors in all DMA blocks.
    pub descriptors: u64,
    /// Bytes that the descriptors write, each run once.
    pub bytes: u64,
    /// Instructions of functions that name the queue.
    pub uses: u64,
}

/// A semaphore or an event.
#[derive(Clone, Debug, Serialize)]
pub struct SemaphoreRow {
    /// `semaphore` or `event`.
    pub sync_type: String,
    /// Number; `null` when the document does not say it.
    pub id: Option<u32>,
    /// Waits for it, in the document.
    pub waits: u64,
    /// Updates of it, in the document.
    pub updates: u64,
}

/// Dependencies of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeRow {
    /// Kind; its number when it has no name.
    pub kind: String,
    /// Within an iteration.
    pub normal: u64,
    /// On an earlier iteration.
    pub loop_carried: u64,
    /// For some iterations, before unrolling.
    pub unroll: u64,
    /// Of those, edges to names that no instruction has.
    pub missing: u64,
}

/// A logical tensor.
#[derive(Clone, Debug, Serialize)]
pub struct TensorRow {
    /// Name of the memory-location set.
    pub name: String,
    /// Its kind: Input, Internal, Const...
    pub kind: Option<String>,
    /// Element type.
    pub dtype: Option<String>,
    /// Shape in elements.
    pub shape: Vec<u64>,
    /// Memory type of its first location.
    pub space: Option<String>,
    /// Number of placements.
    pub locations: usize,
    /// Bytes of one placement.
    pub bytes: u64,
}
