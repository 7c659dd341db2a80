//! Sample modules for demonstrations and tests: a scheduled kernel, and a kernel before its loops are unrolled.

mod schedule;

use schedule::{Engine, Part, Schedule};

use crate::access::Shape;
use crate::builder::{Access, Builder, NewTensor, Operand, Tensor};
use crate::enums::{ActivationFunctionType, AluOpType, ArchLevel, AxisListType, Dtype, EngineType};
use crate::expr::Expr;
use crate::ids::QueueId;
use crate::module::Module;
use crate::ops::{Activation, Load, Matmult, Op, Save, TensorReduce, TensorScalarPtr};

/// Source of the kernel that [`matmul_softmax`] is; its debug records point into this text. `matmul_softmax.py`:
///
/// ```text
#[doc = include_str!("sample/matmul_softmax.py")]
/// ```
pub const MATMUL_SOFTMAX_SOURCE: &str = include_str!("sample/matmul_softmax.py");

/// Size of the sample, in tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiles {
    /// Tiles of 128 rows of the result.
    pub rows: u64,
    /// Tiles of 128 along the contraction axis.
    pub depth: u64,
    /// Tiles of 512 columns of the result, each one bank of PSUM. At most 4: two row tiles are in PSUM at a time.
    pub columns: u64,
}

impl Default for Tiles {
    /// 256 rows, depth 512, 512 columns.
    fn default() -> Self {
        Tiles { rows: 2, depth: 4, columns: 1 }
    }
}

/// Rows of a tile: partitions of SB and PSUM, rows and columns of the matmul array.
const ROWS: u64 = 128;
/// Columns of a tile: float32 in a PSUM bank.
const COLUMNS: u64 = 512;
/// Tiles of `x` that are in SB at a time.
const X_BUFFERS: u64 = 3;
/// First byte of SB that a compiler uses: the ones before are scratch of a DMA queue. spec: isa-bundle 17.3
const SB_START: u64 = 0x4000;
/// Bytes of an SB partition on gen3. spec: verify 3
const SB_END: u64 = 229_376;

/// The storage of the sample.
struct Storage {
    x: Tensor,
    w: Tensor,
    y: Tensor,
    /// One tile of weights for each step along the contraction axis; loaded once.
    weights: Vec<Tensor>,
    x_tiles: Vec<Tensor>,
    /// Banks of PSUM by parity of the row tile, and column.
    logits: [Vec<Tensor>; 2],
    shifted: Vec<Tensor>,
    powers: Vec<Tensor>,
    results: Vec<Tensor>,
    /// By parity of the row tile.
    peaks: Vec<Tensor>,
    peak: Vec<Tensor>,
    total: Vec<Tensor>,
    scale: Vec<Tensor>,
}

/// Matrix product and softmax of each row of the result, as a compiler would hand it to the code generator: for
/// gen3, placed, with engines, dependencies, semaphores and debug records. The weights are loaded by a DMATrigger
/// with one DMABlock, the tiles of `x` by DMACopy into rotating buffers.
///
/// Each engine's semaphore counts its instructions, each DMA has one of 16 semaphores of its queue, and further
/// waits than one stand on EventSemaphore instructions in front. spec: ordering 2, isa-bundle 17.3
///
/// # Panics
/// When a number of tiles is zero, there are more than four column tiles, or SB does not hold the weights.
///
/// ```
/// let module = bir::sample::matmul_softmax(&Default::default());
/// assert!(module.check_links().is_empty());
/// assert_eq!(module.queues().count(), 3);
/// ```
pub fn matmul_softmax(tiles: &Tiles) -> Module {
    let Tiles { rows, depth, columns } = *tiles;
    assert!(rows > 0 && depth > 0 && (1..=4).contains(&columns), "the sample has no such size: {tiles:?}");
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "matmul_softmax");
    let function = b.function();
    let ready = b.name("ready_for_codegen");
    b.module()[function].attributes.push(ready);
    let queues = Queues {
        weights: b.queue("qSPWeights", &[24]),
        load: b.queue("qSPLoad", &(8..24).collect::<Vec<_>>()),
        store: b.queue("qActStore", &(40..56).collect::<Vec<_>>()),
    };
    let storage = Storage::new(&mut b, tiles);
    let mut s = Schedule::new(b);
    storage.load_weights(&mut s, queues.weights);
    for r in 0..rows {
        let row = Row { tiles, storage: &storage, r, even: (r % 2) as usize };
        row.matmul(&mut s, queues.load);
        row.softmax(&mut s);
        row.store(&mut s, queues.store);
    }
    s.finish();
    module
}

struct Queues {
    weights: QueueId,
    load: QueueId,
    store: QueueId,
}

impl Storage {
    fn new(b: &mut Builder<'_>, tiles: &Tiles) -> Storage {
        let Tiles { rows, depth, columns } = *tiles;
        let (m, k, n) = (rows * ROWS, depth * ROWS, columns * COLUMNS);
        let mut dram = 0;
        let mut external = |b: &mut Builder<'_>, tensor: NewTensor, elements: u64| {
            let placed = b.tensor(tensor.at(dram));
            dram += 2 * elements;
            placed
        };
        let bf16 = Dtype::Bfloat16;
        let x = external(b, NewTensor::dram("x", [k, m], bf16).input(), k * m);
        let w = external(b, NewTensor::dram("w", [k, n], bf16).input(), k * n);
        let y = external(b, NewTensor::dram("y", [m, n], bf16).output(), m * n);

        let mut sb = SB_START;
        let mut on_chip = |b: &mut Builder<'_>, name: &str, width: u64, dtype: Dtype, copies: u64| {
            let bytes = width * u64::from(dtype.size_bytes().expect("a known type"));
            let addrs: Vec<u64> = (0..copies).map(|i| sb + i * bytes).collect();
            sb += copies * bytes;
            assert!(sb <= SB_END, "a partition of SB does not hold {depth} tiles of weights");
            let shape: Shape = [ROWS, width].into();
            b.rotating_tensor(NewTensor::sb(name, shape, dtype), &addrs)
        };
        let f32 = Dtype::Float32;
        let weights = (0..depth).flat_map(|k| on_chip(b, &format!("w_sb{k}"), n, bf16, 1)).collect();
        let x_tiles = on_chip(b, "x_sb", ROWS, bf16, X_BUFFERS);
        let shifted = on_chip(b, "shifted", n, f32, 2);
        let powers = on_chip(b, "powers", n, f32, 2);
        let results = on_chip(b, "y_sb", n, bf16, 2);
        let peaks = on_chip(b, "peaks", columns, f32, 2);
        let peak = on_chip(b, "peak", 1, f32, 2);
        let total = on_chip(b, "total", 1, f32, 2);
        let scale = on_chip(b, "scale", 1, f32, 2);
        let mut bank = |even: u64, c: u64| {
            let name = format!("logits{even}_{c}");
            let bank = (even * columns + c) as i64;
            b.tensor(NewTensor::psum(&name, [ROWS, COLUMNS], f32).bank(bank))
        };
        let logits = [0, 1].map(|even| (0..columns).map(|c| bank(even, c)).collect());
        Storage { x, w, y, weights, x_tiles, logits, shifted, powers, results, peaks, peak, total, scale }
    }

    /// All weights by one transfer with a descriptor for each tile.
    fn load_weights(&self, s: &mut Schedule<'_>, queue: QueueId) {
        s.line("weights = ", "load");
        let pairs = self.weights.iter().zip((0u64..).step_by(ROWS as usize));
        let copies: Vec<(Access, Access)> =
            pairs.map(|(tile, k)| (self.w.tile(k..k + ROWS, ..), tile.all())).collect();
        let parts: Vec<Part> = self.weights.iter().map(|tile| Part(*tile, 0)).collect();
        s.trigger("load_w", EngineType::SP, queue, copies, &parts);
    }
}

/// One tile of rows on its way through the kernel.
struct Row<'s> {
    tiles: &'s Tiles,
    storage: &'s Storage,
    r: u64,
    even: usize,
}

impl Row<'_> {
    fn rows(&self) -> std::ops::Range<u64> {
        self.r * ROWS..(self.r + 1) * ROWS
    }

    fn columns(c: u64) -> std::ops::Range<u64> {
        c * COLUMNS..(c + 1) * COLUMNS
    }

    /// The column parts of a tensor of which each column tile is written on its own.
    fn parts(&self, tensor: Tensor) -> Vec<Part> {
        (0..self.tiles.columns).map(|c| Part(tensor, c)).collect()
    }

    fn matmul(&self, s: &mut Schedule<'_>, queue: QueueId) {
        let (storage, r, depth) = (self.storage, self.r, self.tiles.depth);
        for k in 0..depth {
            let x = storage.x_tiles[((r * depth + k) % X_BUFFERS) as usize];
            s.line("tile = ", "load");
            let source = storage.x.tile(k * ROWS..(k + 1) * ROWS, self.rows());
            s.copy(&format!("load_x{r}_{k}"), EngineType::SP, queue, (source, x.all()), &[], &[Part(x, 0)]);
            s.line("logits[c] += ", "matmul");
            for c in 0..self.tiles.columns {
                let logits = Part(storage.logits[self.even][c as usize], 0);
                let weights = storage.weights[k as usize];
                // Bit 0 starts an accumulation group, bit 1 ends it. spec: ordering 7
                let flags = u8::from(k == 0) | u8::from(k == depth - 1) << 1;
                let op = Matmult { accumulation_flag: flags.into(), ..Matmult::default() };
                let moving = weights.tile(.., Self::columns(c));
                s.engine(&format!("mm{r}_{k}_{c}"), Engine::Pe, op)
                    .reads(moving, &[Part(weights, 0)])
                    .reads(x, &[Part(x, 0)])
                    .writes(logits.0, &[logits])
                    .accumulates(k > 0)
                    .done();
            }
        }
    }

    fn softmax(&self, s: &mut Schedule<'_>) {
        let (storage, r, even) = (self.storage, self.r, self.even);
        let columns = 0..self.tiles.columns;
        let logits = |c: u64| Part(storage.logits[even][c as usize], 0);
        let [peaks, peak, total, scale] =
            [&storage.peaks, &storage.peak, &storage.total, &storage.scale].map(|buffers| buffers[even]);
        let [shifted, powers, result] =
            [&storage.shifted, &storage.powers, &storage.results].map(|buffers| buffers[even]);
        let reduce = |op| TensorReduce { op, axis: AxisListType::X, ..TensorReduce::default() };
        let by_scalar = |op0| TensorScalarPtr { op0, ..TensorScalarPtr::default() };

        s.line("peaks = ", "reduce_max");
        for c in columns.clone() {
            s.engine(&format!("peaks{r}_{c}"), Engine::Dve, reduce(AluOpType::Max))
                .reads(logits(c).0, &[logits(c)])
                .writes(peaks.tile(.., c..c + 1), &[Part(peaks, c)])
                .done();
        }
        s.line("peak = ", "reduce_max");
        s.engine(&format!("peak{r}"), Engine::Dve, reduce(AluOpType::Max))
            .reads(peaks, &self.parts(peaks))
            .writes(peak, &[Part(peak, 0)])
            .done();
        s.line("shifted = ", "subtract");
        for c in columns.clone() {
            s.engine(&format!("shift{r}_{c}"), Engine::Dve, by_scalar(AluOpType::Subtract))
                .reads(logits(c).0, &[logits(c)])
                .reads(peak, &[Part(peak, 0)])
                .writes(shifted.tile(.., Self::columns(c)), &[Part(shifted, c)])
                .done();
        }
        s.line("powers = ", "exp");
        let exp = Activation { func: ActivationFunctionType::Exp, scale: 1.0, ..Activation::default() };
        for c in columns {
            let [bias, scale, alpha] = [0.0, 1.0, 0.0].map(Operand::from);
            s.engine(&format!("exp{r}_{c}"), Engine::Activation, exp.clone())
                .reads(shifted.tile(.., Self::columns(c)), &[Part(shifted, c)])
                .immediates([bias, scale, alpha])
                .writes(powers.tile(.., Self::columns(c)), &[Part(powers, c)])
                .done();
        }
        s.line("total = ", "reduce_sum");
        s.engine(&format!("total{r}"), Engine::Dve, reduce(AluOpType::Add))
            .reads(powers, &self.parts(powers))
            .writes(total, &[Part(total, 0)])
            .done();
        s.line("scale = ", "reciprocal");
        s.engine(&format!("scale{r}"), Engine::Dve, Op::Reciprocal)
            .reads(total, &[Part(total, 0)])
            .writes(scale, &[Part(scale, 0)])
            .done();
        s.line("result = ", "multiply");
        s.engine(&format!("mul{r}"), Engine::Dve, by_scalar(AluOpType::Mult))
            .reads(powers, &self.parts(powers))
            .reads(scale, &[Part(scale, 0)])
            .writes(result, &[Part(result, 0)])
            .done();
    }

    fn store(&self, s: &mut Schedule<'_>, queue: QueueId) {
        s.line("store(", "store");
        let result = self.storage.results[self.even];
        let copy = (result.all(), self.storage.y.tile(self.rows(), ..));
        s.copy(&format!("store{}", self.r), EngineType::Activation, queue, copy, &[Part(result, 0)], &[]);
    }
}

/// A copy of rows through two buffers, before loops are unrolled: a static loop with symbolic operands and
/// expressions of its axis, and a loop whose end is in a register.
///
/// ```
/// let module = bir::sample::pre_lowering();
/// assert!(module.exprs.len() > 8);
/// assert!(module.check_links().is_empty());
/// ```
pub fn pre_lowering() -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let function = b.function();
    let unroll = b.name("need_unroll");
    b.module()[function].attributes.push(unroll);
    let (rows, width) = (4 * ROWS, 256);
    let x = b.tensor(NewTensor::dram("x", [rows, width], Dtype::Float32).input());
    let y = b.tensor(NewTensor::dram("y", [rows, width], Dtype::Float32).output());
    let buffers = b.tensor(NewTensor::sb("buffers", [ROWS, 2 * width], Dtype::Float32));
    let count = b.register("count", EngineType::SP);
    b.for_loop("tiles", "i", 0..4, 1, |b, i| {
        // Row tile i of DRAM, and buffer i mod 2.
        let whole = [(width as i64, ROWS as i64), (1, width as i64)];
        let half = [(2 * width as i64, ROWS as i64), (1, width as i64)];
        let dram = |b: &mut Builder<'_>| [b.axis(i, ROWS as i64, 0), b.constant(0)];
        let buffer = |b: &mut Builder<'_>| {
            let numer = b.axis(i, 1, 0);
            let parity = b.expr(Expr::Modulo { numer, denom: 2 });
            [b.constant(0), b.expr(Expr::Mult { var: parity, scale: width as i64 })]
        };
        let (from, to) = (dram(b), buffer(b));
        b.line(3, "load");
        let load = b
            .inst("load", EngineType::Unassigned, Load::default())
            .input(x.pattern(0, whole).symbolic(from))
            .output(buffers.pattern(0, half).symbolic(to))
            .id();
        let (from, to) = (buffer(b), dram(b));
        b.line(4, "store");
        let save = b
            .inst("save", EngineType::Unassigned, Save::default())
            .input(buffers.pattern(0, half).symbolic(from))
            .output(y.pattern(0, whole).symbolic(to))
            .after(load, crate::edges::EdgeKind::FLOW)
            .id();
        // The buffer is free again two iterations later.
        b.edit(load).after_carried(save, crate::edges::EdgeKind::ANTI, Some(2));
    });
    b.dynamic_for_loop("rest", "j", count, |b, j| {
        let order = [b.axis(j, 1, 0), b.constant(0)];
        b.inst("tick", EngineType::SP, Op::NoOp).with(|inst| inst.rare_mut().order.extend(order));
    });
    module
}

#[cfg(test)]
mod tests;
