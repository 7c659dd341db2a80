//! The kernel: pools of buffers that rotate, and jobs (tiles of work) as lists of steps over them.
//!
//! A job takes its buffers when it starts and gives them back when its last step is scheduled, so several jobs can
//! be interleaved and every buffer is used again and again.

use std::collections::VecDeque;

use super::memory::{
    Columns, Dtype, Grid, LocationId, Machine, Memory, Operand, PARTITIONS, PSUM_BANKS, TILE,
};
use super::rng::Rng;
use super::sync::Engine;

/// An engine op and its keys.
#[derive(Clone, Copy)]
pub(super) enum Body {
    Matmult { flag: u8 },
    Activation { func: &'static str, scale: f32 },
    TensorTensor { op: &'static str },
    TensorScalar { op0: &'static str, const0: f32, op1: &'static str, const1: f32 },
    TensorScalarPtr { op0: &'static str },
    TensorReduce { op: &'static str },
    Reciprocal,
    TensorCopy,
    Memset { constant: u32 },
    NoOp,
}

/// How a DMA stands in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DmaForm {
    /// A DMATrigger with one DMABlock per transfer.
    Trigger,
    Load,
    Save,
    DmaCopy,
}

/// One movement of data; `descriptors` only matters for triggers.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) source: Operand,
    pub(super) destination: Operand,
    pub(super) descriptors: u32,
}

pub(super) enum Work {
    Compute { body: Body, ins: Vec<Operand>, out: Option<Operand> },
    Dma { form: DmaForm, queue: usize, transfers: Vec<Transfer> },
}

pub(super) struct Step {
    pub(super) engine: Engine,
    pub(super) line: u32,
    pub(super) op_name: &'static str,
    pub(super) work: Work,
}

/// A queue of the module: its name and whether its transfers stand in DMABlocks.
pub(super) struct Queue {
    pub(super) name: &'static str,
    pub(super) triggered: bool,
}

pub(super) const Q_IN: usize = 0;
pub(super) const Q_WEIGHTS: usize = 1;
pub(super) const Q_POOL: usize = 2;
pub(super) const Q_OUT: usize = 3;
pub(super) const Q_DIRECT: usize = 4;
pub(super) const QUEUE_LIST: [Queue; super::sync::QUEUES] = [
    Queue { name: "qSPInStatic0", triggered: true },
    Queue { name: "qActWeightDyn0", triggered: false },
    Queue { name: "qPoolDyn0", triggered: false },
    Queue { name: "qSPOutStatic0", triggered: true },
    Queue { name: "qSPDyn0", triggered: false },
];

/// Pools of interchangeable buffers.
#[derive(Clone, Copy)]
enum Pool {
    /// Moving tiles, bfloat16 and fp8.
    X,
    X8,
    /// Stationary tiles, bfloat16 and fp8.
    W,
    W8,
    /// float32 work tiles.
    Work,
    /// bfloat16 results.
    Out,
    /// float32 values per partition, 8 columns.
    Stats,
    /// PSUM banks.
    Bank,
    /// Spilled tiles in DRAM.
    Spill,
}

const POOLS: usize = 9;
/// Tiles of the inputs and outputs: row blocks of 128, columns of all tensors.
const ROW_BLOCKS: u32 = 16;
const COLUMNS: u32 = 2048;
const BIASES: usize = 4;

/// A tile of work in progress.
pub(super) struct Job {
    steps: VecDeque<Step>,
    held: Vec<(Pool, LocationId)>,
}

impl Job {
    pub(super) fn next(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(super) fn is_done(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }
}

/// Tensors, pools and the position of the next tile.
pub(super) struct Kernel {
    free: [VecDeque<LocationId>; POOLS],
    biases: Vec<LocationId>,
    bias_input: LocationId,
    x_input: LocationId,
    w_input: LocationId,
    work_input: LocationId,
    fp8_inputs: Option<(LocationId, LocationId)>,
    outputs: Vec<LocationId>,
    activation_copies: bool,
    tile: u32,
}

impl Kernel {
    pub(super) fn new(machine: &Machine, memory: &mut Memory) -> Kernel {
        let whole = Grid::new(1, 1);
        let quarter = Grid::new(2, 2);
        let tensor = (ROW_BLOCKS * PARTITIONS, COLUMNS);
        let x_grid = Grid::new(ROW_BLOCKS, 2 * COLUMNS / TILE).read_only();
        let w_grid = Grid::new(ROW_BLOCKS, COLUMNS / PARTITIONS).read_only();

        let bias_input = memory.dram(
            "bias".into(),
            "ExternalInput",
            Dtype::F32,
            (PARTITIONS * BIASES as u32, 1),
            Grid::new(BIASES as u32, 1).read_only(),
        );
        let x_input = memory.dram("x".into(), "ExternalInput", Dtype::Bf16, tensor, x_grid);
        let w_input = memory.dram("w".into(), "ExternalInput", Dtype::Bf16, tensor, w_grid);
        let work_input = memory.dram("residual".into(), "ExternalInput", Dtype::F32, tensor, x_grid);
        let fp8_inputs = machine.fp8.map(|dtype| {
            (
                memory.dram("x8".into(), "ExternalInput", dtype, tensor, x_grid),
                memory.dram("w8".into(), "ExternalInput", dtype, tensor, w_grid),
            )
        });
        // Half a row block and half a tile are the smallest pieces that are stored.
        let out_grid = Grid::new(2 * ROW_BLOCKS, 2 * COLUMNS / TILE);
        let outputs = (0..2)
            .map(|i| memory.dram(format!("y{i}"), "ExternalOutput", Dtype::Bf16, tensor, out_grid))
            .collect();

        let biases = (0..BIASES).map(|i| memory.sb(format!("bias_sb_{i}"), Dtype::F32, 1, whole)).collect();
        let depth = machine.depth;
        let mut free: [VecDeque<LocationId>; POOLS] = Default::default();
        let mut sb = |pool: Pool, name: &str, dtype, cols, count: usize, grid| {
            for i in 0..count {
                let id = memory.sb(format!("{name}_{i}"), dtype, cols, grid);
                free[pool as usize].push_back(id);
            }
        };
        sb(Pool::X, "x_sb", Dtype::Bf16, TILE, depth, Grid::new(1, 2));
        sb(Pool::W, "w_sb", Dtype::Bf16, PARTITIONS, depth, whole);
        if let Some(dtype) = machine.fp8 {
            sb(Pool::X8, "x8_sb", dtype, TILE, depth, Grid::new(1, 2));
            sb(Pool::W8, "w8_sb", dtype, PARTITIONS, depth, whole);
        }
        sb(Pool::Work, "work_sb", Dtype::F32, TILE, depth - 2, quarter.with_parity());
        sb(Pool::Out, "out_sb", Dtype::Bf16, TILE, depth - 4, quarter.with_parity());
        sb(Pool::Stats, "stats_sb", Dtype::F32, 8, depth - 4, Grid::new(1, 8));
        for bank in 0..PSUM_BANKS {
            free[Pool::Bank as usize].push_back(memory.bank(format!("acc_{bank}"), bank, Grid::new(1, 2)));
        }
        for i in 0..4 {
            let id = memory.dram(
                format!("spill_{i}"),
                "Internal",
                Dtype::F32,
                (PARTITIONS, TILE),
                Grid::new(1, 1),
            );
            free[Pool::Spill as usize].push_back(id);
        }
        Kernel {
            free,
            biases,
            bias_input,
            x_input,
            w_input,
            work_input,
            fp8_inputs,
            outputs,
            activation_copies: machine.activation_copies,
            tile: 0,
        }
    }

    /// The steps before the first tile: the biases, which stay for the whole kernel.
    pub(super) fn prologue(&self, memory: &Memory) -> Job {
        let mut job = Job { steps: VecDeque::new(), held: Vec::new() };
        for (i, bias) in self.biases.iter().enumerate() {
            let source = Operand::whole(memory, self.bias_input).rows(i as u32, i as u32 + 1);
            job.direct(
                Engine::Sp,
                DmaForm::Load,
                Q_DIRECT,
                source,
                Operand::whole(memory, *bias),
                12,
                "load_bias",
            );
        }
        job
    }

    /// Starts a job of a random kind if its buffers are free and it has at most `limit` steps.
    pub(super) fn start(&mut self, memory: &Memory, rng: &mut Rng, limit: usize) -> Option<Job> {
        let kind = rng.below(16);
        let mut job = Job { steps: VecDeque::new(), held: Vec::new() };
        let made = match kind {
            0..=8 if limit >= 24 => self.matmul(memory, rng, &mut job),
            9..=11 if limit >= 8 => self.elementwise(memory, rng, &mut job),
            12..=13 if limit >= 6 => self.interleave(memory, rng, &mut job),
            14 if limit >= 8 => self.spill(memory, rng, &mut job),
            15 if limit >= 16 => self.sum(memory, rng, &mut job),
            _ if limit >= 8 => self.elementwise(memory, rng, &mut job),
            _ => None,
        };
        if made.is_none() {
            self.finish(job);
            return None;
        }
        Some(job)
    }

    /// Gives the buffers of a job back.
    pub(super) fn finish(&mut self, job: Job) {
        for (pool, location) in job.held {
            self.free[pool as usize].push_back(location);
        }
    }

    fn take(&mut self, memory: &Memory, job: &mut Job, pool: Pool) -> Option<Operand> {
        let location = self.free[pool as usize].pop_front()?;
        job.held.push((pool, location));
        Some(Operand::whole(memory, location))
    }

    /// The next tile of an input: tiles are `tile` column parts wide and `width` of them are taken.
    fn input_tile(&mut self, memory: &Memory, location: LocationId, tile: u32, width: u32) -> Operand {
        self.tile = self.tile.wrapping_add(1);
        let grid = memory.get(location).grid;
        let across = grid.col_parts / tile;
        let (row, col) = (self.tile / across % grid.row_parts, self.tile % across * tile);
        Operand::whole(memory, location).rows(row, row + 1).cols(col, col + width)
    }

    /// K tiles times K tiles into a bank, one of four epilogues, and the store.
    fn matmul(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job) -> Option<()> {
        let k = 2 + rng.below(3) as usize;
        let (x_pool, w_pool, inputs) = match self.fp8_inputs {
            Some(inputs) if rng.below(3) == 0 => (Pool::X8, Pool::W8, inputs),
            _ => (Pool::X, Pool::W, (self.x_input, self.w_input)),
        };
        // One job in four fills half a bank only.
        let half = rng.below(4) == 0;
        let parts = if half { 1 } else { 2 };
        let bank = self.take(memory, job, Pool::Bank)?.cols(0, parts);
        let mut tiles = Vec::new();
        for _ in 0..k {
            tiles.push((self.take(memory, job, x_pool)?, self.take(memory, job, w_pool)?));
        }
        let descriptors = 1 + rng.below(2) as u32;
        for pair in tiles.chunks(2) {
            let transfers = pair
                .iter()
                .map(|(x, _)| Transfer {
                    source: self.input_tile(memory, inputs.0, 2, 2),
                    destination: *x,
                    descriptors,
                })
                .collect();
            let work = Work::Dma { form: DmaForm::Trigger, queue: Q_IN, transfers };
            job.push(Engine::Sp, 31, "load_x", work);
            for (_, w) in pair {
                let source = self.input_tile(memory, inputs.1, 1, 1);
                job.direct(Engine::Activation, DmaForm::Load, Q_WEIGHTS, source, *w, 32, "load_w");
            }
        }
        for (i, (x, w)) in tiles.iter().enumerate() {
            let flag = u8::from(i == 0) | u8::from(i + 1 == k) << 1;
            job.compute(Engine::Pe, Body::Matmult { flag }, &[x.cols(0, parts), *w], bank, 35, "matmul");
        }
        let bias = Operand::whole(memory, self.biases[rng.below(BIASES as u64) as usize]);
        match rng.below(4) {
            0 => self.softmax_epilogue(memory, rng, job, bank, bias, parts)?,
            1 => {
                let out = self.take(memory, job, Pool::Out)?.cols(0, parts);
                let engine = if self.activation_copies && rng.below(2) == 0 {
                    Engine::Activation
                } else {
                    Engine::Dve
                };
                job.compute(engine, Body::TensorCopy, &[bank], out, 51, "copy_psum");
                let x = tiles[0].0;
                if memory.get(x.location).dtype == Dtype::Bf16 {
                    let add = Body::TensorTensor { op: "add" };
                    job.compute(Engine::Pool, add, &[out, x.cols(0, parts)], out, 52, "add_residual");
                }
                self.store(memory, rng, job, out);
            }
            2 => {
                let out = self.take(memory, job, Pool::Out)?.cols(0, parts);
                let func = ["Gelu", "Silu", "Relu", "Tanh"][rng.below(4) as usize];
                job.compute(
                    Engine::Activation,
                    Body::Activation { func, scale: 1.0 },
                    &[bank, bias],
                    out,
                    55,
                    "act",
                );
                self.store(memory, rng, job, out);
            }
            _ => {
                let work = self.take(memory, job, Pool::Work)?.cols(0, parts);
                let out = self.take(memory, job, Pool::Out)?.cols(0, parts);
                self.load_work(memory, job, work);
                job.compute(
                    Engine::Dve,
                    Body::TensorTensor { op: "add" },
                    &[bank, work],
                    work,
                    61,
                    "add_psum",
                );
                // Both halves of the partitions at the same time.
                for (rows, engine) in [((0, 1), Engine::Dve), ((1, 2), Engine::Pool)] {
                    let (from, to) = (work.rows(rows.0, rows.1), out.rows(rows.0, rows.1));
                    job.compute(engine, scaled(rng), &[from.inner(64)], to.inner(64), 63, "scale_half");
                }
                self.store(memory, rng, job, out);
            }
        }
        Some(())
    }

    fn softmax_epilogue(
        &mut self,
        memory: &Memory,
        rng: &mut Rng,
        job: &mut Job,
        bank: Operand,
        bias: Operand,
        parts: u32,
    ) -> Option<()> {
        let work = self.take(memory, job, Pool::Work)?.cols(0, parts);
        let out = self.take(memory, job, Pool::Out)?.cols(0, parts);
        let stats = self.take(memory, job, Pool::Stats)?;
        let column = rng.below(7) as u32;
        let (sum, inverse) = (stats.cols(column, column + 1), stats.cols(column + 1, column + 2));
        let exp = Body::Activation { func: "Exp", scale: 0.125 };
        job.compute(Engine::Activation, exp, &[bank, bias], work, 41, "exp");
        job.compute(Engine::Dve, Body::TensorReduce { op: "add" }, &[work], sum, 42, "row_sum");
        job.compute(Engine::Dve, Body::Reciprocal, &[sum], inverse, 43, "inverse");
        let engine = if rng.below(3) == 0 { Engine::Pool } else { Engine::Dve };
        job.compute(engine, Body::TensorScalarPtr { op0: "mult" }, &[work, inverse], out, 44, "normalise");
        self.store(memory, rng, job, out);
        Some(())
    }

    /// Load, scale, activate, combine, store.
    fn elementwise(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job) -> Option<()> {
        let a = self.take(memory, job, Pool::Work)?;
        let b = self.take(memory, job, Pool::Work)?;
        let out = self.take(memory, job, Pool::Out)?;
        self.load_work(memory, job, a);
        let engine = if rng.below(2) == 0 { Engine::Dve } else { Engine::Pool };
        job.compute(engine, scaled(rng), &[a], a, 71, "scale");
        let func = ["Square", "Tanh", "Sigmoid"][rng.below(3) as usize];
        let bias = Operand::whole(memory, self.biases[rng.below(BIASES as u64) as usize]);
        job.compute(Engine::Activation, Body::Activation { func, scale: 1.0 }, &[a, bias], b, 72, "act");
        let engine = if rng.below(3) == 0 { Engine::Pool } else { Engine::Dve };
        let op = ["mult", "add", "subtract", "max"][rng.below(4) as usize];
        job.compute(engine, Body::TensorTensor { op }, &[a, b], out, 73, "combine");
        self.store(memory, rng, job, out);
        Some(())
    }

    /// Even and odd columns go through different engines at the same time.
    fn interleave(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job) -> Option<()> {
        let work = self.take(memory, job, Pool::Work)?;
        let out = self.take(memory, job, Pool::Out)?;
        self.load_work(memory, job, work);
        let (even, odd) = (Columns::Even, Columns::Odd);
        let engine = if rng.below(2) == 0 { Engine::Dve } else { Engine::Pool };
        job.compute(engine, scaled(rng), &[work.columns(even)], out.columns(even), 81, "rotate_even");
        let bias = Operand::whole(memory, self.biases[rng.below(BIASES as u64) as usize]);
        let identity = Body::Activation { func: "Identity", scale: -1.0 };
        job.compute(
            Engine::Activation,
            identity,
            &[work.columns(odd), bias],
            out.columns(odd),
            82,
            "rotate_odd",
        );
        self.store(memory, rng, job, out);
        Some(())
    }

    /// Fill, spill to DRAM, reload elsewhere, reduce.
    fn spill(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job) -> Option<()> {
        let a = self.take(memory, job, Pool::Work)?;
        let b = self.take(memory, job, Pool::Work)?;
        let out = self.take(memory, job, Pool::Out)?;
        let spill = self.take(memory, job, Pool::Spill)?;
        let engine = if rng.below(2) == 0 { Engine::Dve } else { Engine::Pool };
        job.compute(engine, Body::Memset { constant: 0x3f80_0000 }, &[], a, 91, "ones");
        job.compute(Engine::Dve, scaled(rng), &[a], a, 92, "ramp");
        job.direct(Engine::Sp, DmaForm::Save, Q_DIRECT, a, spill, 93, "spill");
        job.direct(Engine::Pool, DmaForm::DmaCopy, Q_POOL, spill, b, 94, "reload");
        let square = Body::Activation { func: "Square", scale: 1.0 };
        let bias = Operand::whole(memory, self.biases[0]);
        job.compute(Engine::Activation, square, &[b, bias], out, 95, "square");
        self.store(memory, rng, job, out);
        Some(())
    }

    /// A running sum of row sums over several tiles, then the scaled last tile.
    fn sum(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job) -> Option<()> {
        let stats = self.take(memory, job, Pool::Stats)?;
        let out = self.take(memory, job, Pool::Out)?;
        let total = stats.cols(0, 1);
        job.compute(Engine::Pool, Body::Memset { constant: 0 }, &[], total, 101, "zero");
        let mut last = None;
        for i in 0..2 + rng.below(2) as u32 {
            let work = self.take(memory, job, Pool::Work)?;
            self.load_work(memory, job, work);
            let row = stats.cols(1 + i, 2 + i);
            job.compute(Engine::Dve, Body::TensorReduce { op: "max" }, &[work], row, 103, "row_max");
            job.compute(
                Engine::Dve,
                Body::TensorTensor { op: "add" },
                &[total, row],
                total,
                104,
                "accumulate",
            );
            last = Some(work);
        }
        job.compute(Engine::Pool, Body::TensorScalarPtr { op0: "mult" }, &[last?, total], out, 105, "apply");
        self.store(memory, rng, job, out);
        Some(())
    }

    /// Fills a float32 work tile, or its first column part, from the residual input.
    fn load_work(&mut self, memory: &Memory, job: &mut Job, work: Operand) {
        let source = self.input_tile(memory, self.work_input, 2, work.col_parts.1 - work.col_parts.0);
        job.direct(Engine::Pool, DmaForm::DmaCopy, Q_POOL, source, work, 60, "load_work");
    }

    /// Stores a result tile, or its first column part, as one DMA or one per half of the partitions.
    fn store(&mut self, memory: &Memory, rng: &mut Rng, job: &mut Job, out: Operand) {
        let y = self.outputs[rng.below(self.outputs.len() as u64) as usize];
        let grid = memory.get(y).grid;
        self.tile = self.tile.wrapping_add(1);
        let row = 2 * (self.tile / (grid.col_parts / 2) % (grid.row_parts / 2));
        let col = 2 * (self.tile % (grid.col_parts / 2));
        let width = out.col_parts.1 - out.col_parts.0;
        let y = Operand::whole(memory, y).cols(col, col + width);
        match rng.below(3) {
            0 => job.direct(Engine::Sp, DmaForm::Save, Q_DIRECT, out, y.rows(row, row + 2), 120, "store"),
            1 => {
                let transfers = (0..2)
                    .map(|half| Transfer {
                        source: out.rows(half, half + 1),
                        destination: y.rows(row + half, row + half + 1),
                        descriptors: 1,
                    })
                    .collect();
                let work = Work::Dma { form: DmaForm::Trigger, queue: Q_OUT, transfers };
                job.push(Engine::Sp, 121, "store_halves", work);
            }
            _ => {
                let transfer = Transfer { source: out, destination: y.rows(row, row + 2), descriptors: 2 };
                let work = Work::Dma { form: DmaForm::Trigger, queue: Q_OUT, transfers: vec![transfer] };
                job.push(Engine::Sp, 122, "store", work);
            }
        }
    }
}

impl Job {
    fn push(&mut self, engine: Engine, line: u32, op_name: &'static str, work: Work) {
        self.steps.push_back(Step { engine, line, op_name, work });
    }

    fn compute(
        &mut self,
        engine: Engine,
        body: Body,
        ins: &[Operand],
        out: Operand,
        line: u32,
        op_name: &'static str,
    ) {
        self.push(engine, line, op_name, Work::Compute { body, ins: ins.to_vec(), out: Some(out) });
    }

    #[allow(clippy::too_many_arguments)]
    fn direct(
        &mut self,
        engine: Engine,
        form: DmaForm,
        queue: usize,
        source: Operand,
        destination: Operand,
        line: u32,
        op_name: &'static str,
    ) {
        let transfers = vec![Transfer { source, destination, descriptors: 1 }];
        self.push(engine, line, op_name, Work::Dma { form, queue, transfers });
    }
}

/// A TensorScalar with some constants that are exact in binary and some that are not.
fn scaled(rng: &mut Rng) -> Body {
    let const0 = [0.5, 2.0, 0.0883, -1.5, 1e-6, 0.1][rng.below(6) as usize];
    match rng.below(3) {
        0 => Body::TensorScalar { op0: "mult", const0, op1: "bypass", const1: 0.0 },
        1 => Body::TensorScalar { op0: "mult", const0, op1: "add", const1: 0.25 },
        _ => Body::TensorScalar { op0: "add", const0, op1: "max", const1: 0.0 },
    }
}
