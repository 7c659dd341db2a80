//! MX, QMX, FP8.

use bir::builder::{Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType, MemoryType};
use bir::expr::MaybeAffine::Value;
use bir::ops::MatmultMx;

use crate::Case;

const DATA: Dtype = Dtype::Float8E4m3fnX4;
const V4: ArchLevel = ArchLevel::CoreV4;

/// A tensor in SB or PSUM.
#[derive(Clone, Copy)]
struct T {
    partitions: u64,
    columns: u64,
    dtype: Dtype,
    base: u32,
    memory: MemoryType,
}

fn sb(partitions: u64, columns: u64, dtype: Dtype) -> T {
    T { partitions, columns, dtype, base: 0, memory: MemoryType::SB }
}

impl T {
    fn add(self, b: &mut Builder<'_>, name: &str, addr: u64) -> Tensor {
        let T { partitions, columns, dtype, base, memory } = self;
        let tensor = NewTensor::of(memory, name, [partitions, columns].into(), dtype);
        b.tensor(if memory == MemoryType::DRAM { tensor } else { tensor.at(addr).base(base) })
    }
}

/// A block-scaled matmul, good as it is: 32 partitions, 64 columns of weights, 128 of data.
struct Mm {
    engine: EngineType,
    data: T,
    weights: T,
    data_scales: T,
    weight_scales: T,
    output: T,
    /// First row of the scales that is accessed.
    row: u64,
    inputs: usize,
    keys: MatmultMx,
}

fn mm(b: &mut Builder<'_>, change: impl FnOnce(&mut Mm)) {
    let mut mm = Mm {
        engine: EngineType::PE,
        data: sb(32, 128, DATA),
        weights: sb(32, 64, DATA),
        data_scales: sb(32, 128, Dtype::Uint8),
        weight_scales: sb(32, 64, Dtype::Uint8),
        output: T { memory: MemoryType::PSUM, ..sb(64, 128, Dtype::Float32) },
        row: 0,
        inputs: 4,
        keys: MatmultMx { accumulation_flag: Value(3), ..MatmultMx::default() },
    };
    change(&mut mm);
    let inputs = [
        mm.data.add(b, "data", 0).all(),
        mm.weights.add(b, "weights", 65536).all(),
        scales(mm.data_scales.add(b, "data_scales", 131072), mm.data_scales, mm.row),
        scales(mm.weight_scales.add(b, "weight_scales", 163840), mm.weight_scales, mm.row),
    ];
    let output = mm.output.add(b, "result", 0);
    let inst = b.inst("mx", mm.engine, mm.keys).output(output);
    inputs.into_iter().take(mm.inputs).fold(inst, |inst, input| inst.input(input));
}

/// All of the scales, or a row of them on.
fn scales(tensor: Tensor, t: T, row: u64) -> bir::builder::Access {
    match row {
        0 => tensor.all(),
        _ => tensor.tile(row..t.partitions, ..),
    }
}

/// A quantization, good as it is.
struct Q {
    engine: EngineType,
    input: T,
    pattern: [(i64, i64); 3],
    output: T,
    scales: T,
    row: u64,
}

fn quantize(b: &mut Builder<'_>, change: impl FnOnce(&mut Q)) {
    let mut q = Q {
        engine: EngineType::DVE,
        input: sb(32, 128, Dtype::Bfloat16),
        pattern: [(128, 32), (64, 2), (1, 64)],
        output: sb(32, 32, DATA),
        scales: sb(32, 32, Dtype::Uint8),
        row: 0,
    };
    change(&mut q);
    let input = q.input.add(b, "input", 0).pattern(0, q.pattern);
    let output = q.output.add(b, "output", 65536);
    let scales = scales(q.scales.add(b, "scales", 131072), q.scales, q.row);
    b.plain_inst("q", q.engine, InstructionType::QuantizeMx).input(input).output(output).output(scales);
}

fn copy(b: &mut Builder<'_>, dtype: Dtype) {
    let from = b.tensor(NewTensor::sb("from", [128, 64], dtype).at(0));
    let to = b.tensor(NewTensor::sb("to", [128, 64], dtype).at(4096));
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy).input(from).output(to);
}

fn two_types(b: &mut Builder<'_>, other: Dtype) {
    for (name, dtype, addr) in [("x", Dtype::Float8e4, 0), ("y", other, 64)] {
        let tensor = b.tensor(NewTensor::sb(name, [128, 64], dtype).at(addr));
        b.plain_inst(name, EngineType::DVE, InstructionType::Memset).output(tensor);
    }
}

macro_rules! case {
    ($rule:literal, $bad:expr) => {
        Case { rule: $rule, arch: V4, bad: |b| mm(b, $bad), good: |b| mm(b, |_| ()) }
    };
}

macro_rules! quantize {
    ($rule:literal, $bad:expr) => {
        Case { rule: $rule, arch: V4, bad: |b| quantize(b, $bad), good: |b| quantize(b, |_| ()) }
    };
}

pub(crate) const CASES: &[Case] = &[
    case!("MX-01", |mm| mm.data_scales.columns = 64),
    case!("MX-02", |mm| mm.weight_scales.columns = 32),
    case!("MX-03", |mm| (mm.data_scales.partitions, mm.row) = (64, 16)),
    case!("MX-04", |mm| (mm.weight_scales.partitions, mm.row) = (64, 16)),
    case!("MX-05", |mm| (mm.data.columns, mm.output.columns) = (4224, 4224)),
    case!("MX-06", |mm| (mm.weights.columns, mm.weight_scales.columns) = (130, 130)),
    case!("MX-07", |mm| (mm.weights.columns, mm.weight_scales.columns, mm.output.partitions) = (63, 63, 63)),
    case!("MX-08", |mm| (mm.data.partitions, mm.weights.partitions) = (96, 96)),
    case!("MX-09", |mm| mm.weights.partitions = 64),
    case!("MX-10", |mm| mm.output.partitions = 32),
    case!("MX-11", |mm| mm.output.columns = 64),
    case!("MX-12", |mm| mm.engine = EngineType::DVE),
    case!("MX-13", |mm| mm.data_scales.base = 32),
    case!("MX-14", |mm| mm.weight_scales.base = 32),
    case!("MX-15", |mm| mm.row = 2),
    case!("MX-16", |mm| mm.keys.tile_position = [Value(0), Value(64)]),
    case!("MX-16", |mm| mm.keys.tile_size = [Value(32), Value(64)]),
    case!("MX-17", |mm| mm.keys.tile_size = [Value(64), Value(128)]),
    case!("MX-18", |mm| mm.keys.replication_shift_amnt = Value(1)),
    case!("MX-19", |mm| mm.inputs = 3),
    case!("MX-19", |mm| mm.data_scales.dtype = Dtype::Int8),
    case!("MX-21", |mm| mm.data_scales.partitions = 16),
    case!("MX-22", |mm| mm.weight_scales.partitions = 16),
    Case { rule: "MX-23", arch: V4, bad: |b| copy(b, DATA), good: |b| copy(b, Dtype::Uint32) },
    quantize!("QMX-01", |q| q.engine = EngineType::Pool),
    quantize!("QMX-02", |q| q.pattern = [(128, 32), (1, 2), (2, 64)]),
    quantize!("QMX-03", |q| q.pattern = [(128, 32), (63, 2), (1, 64)]),
    quantize!("QMX-04", |q| q.output.columns = 64),
    quantize!("QMX-05", |q| {
        q.input.partitions = 16;
        q.output.partitions = 16;
        q.scales.partitions = 16;
        q.pattern = [(128, 16), (64, 2), (1, 64)];
    }),
    quantize!("QMX-06", |q| (q.scales.partitions, q.row) = (64, 16)),
    quantize!("QMX-06", |q| q.row = 2),
    quantize!("QMX-07", |q| q.scales.base = 32),
    quantize!("QMX-08", |q| q.scales.columns = 16),
    quantize!("QMX-09", |q| q.input.dtype = Dtype::Uint16),
    quantize!("QMX-09", |q| q.scales.memory = MemoryType::PSUM),
    quantize!("QMX-10", |q| q.scales.partitions = 16),
    Case {
        rule: "FP8-01",
        arch: V4,
        bad: |b| two_types(b, Dtype::Float8E4m3fn),
        good: |b| two_types(b, Dtype::Float8e5),
    },
];

/// The codes of what is found, in order, without notes and what is about locations.
fn told(fill: impl FnOnce(&mut Builder<'_>)) -> Vec<String> {
    let mut module = bir::Module::new(V4);
    fill(&mut Builder::new(&mut module, "main"));
    let found = bir_verify::verify(&module, &bir_verify::Options::default()).findings;
    let names = bir::diag::DisplayNames::of(&module);
    let is_note = |finding: &bir::diag::Diagnostic| finding.severity == bir::diag::Severity::Note;
    let of_insts = found.iter().filter(|finding| finding.place.inst().is_some() && !is_note(finding));
    let text = |finding: &bir::diag::Diagnostic| {
        let place = finding.place.named(&module, &names);
        let operand = place.operand.map(|operand| format!(" {}[{}]", operand.role, operand.index));
        format!("{}{}", finding.code, operand.unwrap_or_default())
    };
    of_insts.map(text).collect()
}

/// A fault has one finding, and it is about the operand that is at fault.
#[test]
fn one_fault_has_one_finding() {
    let mx = |change: fn(&mut Mm)| told(|b| mm(b, change));
    assert_eq!(mx(|_| ()), [""; 0]);
    let data = ["MX-19 ins[0]"];
    assert_eq!(mx(|mm| mm.data.dtype = Dtype::Bfloat16), data, "no count of values");
    assert_eq!(mx(|mm| mm.output.memory = MemoryType::SB), ["MX-19 outs[0]"]);
    assert_eq!(mx(|mm| mm.weights.partitions = 64), ["MX-09 ins[1]"], "the scales are right");
    assert_eq!(mx(|mm| mm.data.partitions = 64), ["MX-09 ins[1]"]);
    let wide = |mm: &mut Mm| {
        (mm.weights.columns, mm.weight_scales.columns, mm.output.partitions) = (132, 132, 128);
    };
    assert_eq!(mx(wide), ["MX-06 ins[1]"], "no result has so many partitions");
    let long = |mm: &mut Mm| {
        (mm.data.columns, mm.data_scales.columns, mm.output.columns) = (4224, 4224, 4096);
    };
    assert_eq!(mx(long), ["MX-05 ins[0]"]);
    let odd = |mm: &mut Mm| {
        (mm.weights.columns, mm.weight_scales.columns, mm.output.partitions) = (63, 63, 63);
    };
    assert_eq!(mx(odd), ["MX-07 ins[1]"]);

    let q = |change: fn(&mut Q)| told(|b| quantize(b, change));
    assert_eq!(q(|_| ()), [""; 0]);
    let odd = |q: &mut Q| (q.input.columns, q.pattern) = (130, [(130, 32), (130, 1), (1, 130)]);
    assert_eq!(q(odd), ["QMX-02 ins[0]"]);
}

/// Scales have starts of their own: every fourth partition of half a quadrant.
#[test]
fn scales_start_inside_a_quadrant() {
    let mx = |row: u32| told(|b| mm(b, |mm| (mm.data_scales.base, mm.weight_scales.base) = (row, row)));
    assert_eq!(mx(12), [""; 0]);
    assert_eq!(mx(16), ["MX-03 ins[2]", "MX-04 ins[3]"]);
    assert_eq!(mx(2), ["MX-15 ins[2]", "MX-15 ins[3]"]);
    let q = |row: u32| told(|b| quantize(b, |q| q.scales.base = row));
    assert_eq!(q(4), [""; 0]);
    assert_eq!(q(16), ["QMX-06 outs[1]"]);
}
