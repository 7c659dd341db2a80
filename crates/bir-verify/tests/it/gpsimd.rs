//! POOL, SB2SB, RNG, PART-09, MEM-02, AP-03.

use bir::Module;
use bir::access::AccessPattern;
use bir::builder::{Access, Builder, NewTensor, Operand, Tensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType, MemoryType, MemsetMode};
use bir::expr::MaybeAffine::Value;
use bir::ops::{IndirectCopy, Iota, Memset, TensorScalarAffineSelect};
use bir_verify::{Options, verify};

use crate::Case;

/// Rules that have a test of their own below.
pub(crate) const RULES: &[&str] = &["SB2SB-01"];

const GEN3: ArchLevel = ArchLevel::Gen3;
const SUNDA: ArchLevel = ArchLevel::Sunda;
const V4: ArchLevel = ArchLevel::CoreV4;
const F32: Dtype = Dtype::Float32;

/// Partitions, columns, type, memory.
type T = (u64, u64, Dtype, MemoryType);

fn add(b: &mut Builder<'_>, at: u64, (partitions, columns, dtype, memory): T) -> Tensor {
    let tensor = NewTensor::of(memory, &format!("t{at}"), [partitions, columns].into(), dtype);
    b.tensor(match memory {
        MemoryType::DRAM => tensor,
        MemoryType::PSUM => tensor.at(at * 2048).bank(at as i64),
        _ => tensor.at(at * 16384),
    })
}

fn sb(partitions: u64, columns: u64, dtype: Dtype) -> T {
    (partitions, columns, dtype, MemoryType::SB)
}

fn iota(b: &mut Builder<'_>, output: T, pattern: &[(i64, i64)]) {
    let pattern: Vec<_> = pattern.iter().map(|&(step, num)| bir::access::ApPair { step, num }).collect();
    let output = add(b, 0, output);
    let keys = Iota { pattern: Some(AccessPattern::new(&pattern)), ..Iota::default() };
    b.inst("iota", EngineType::Pool, keys).output(output);
}

fn select(b: &mut Builder<'_>, fill_value: f32) {
    let (input, output) = (add(b, 0, sb(32, 64, F32)), add(b, 1, sb(32, 64, F32)));
    let keys = TensorScalarAffineSelect {
        pattern: Some([(1, 64)].into()),
        fill_value,
        ..TensorScalarAffineSelect::default()
    };
    b.inst("select", EngineType::Pool, keys).input(input).output(output);
}

/// Data, indices and result of a gather, good as they are.
fn gather(b: &mut Builder<'_>, change: impl FnOnce(&mut [T; 3])) {
    let mut tensors = [sb(32, 256, F32), sb(32, 64, Dtype::Uint32), sb(32, 64, F32)];
    change(&mut tensors);
    let [data, indices, output] = [0, 1, 2].map(|at| add(b, at, tensors[at as usize]));
    b.plain_inst("gather", EngineType::Pool, InstructionType::Gather)
        .input(data)
        .input(indices)
        .output(output);
}

/// A gather of a deep pattern.
fn deep_gather(b: &mut Builder<'_>, dims: usize) {
    let mut pairs = vec![bir::access::ApPair { step: 64, num: 32 }, bir::access::ApPair { step: 1, num: 64 }];
    while pairs.len() < dims {
        pairs.insert(1, bir::access::ApPair { step: 1, num: 1 });
    }
    gather(b, |_| ());
    let inst = b.module().insts().next().unwrap();
    let bir::Argument::PhysicalAp(indices) = &mut b.module()[inst].ins[1] else { panic!() };
    indices.ap = Some(AccessPattern::new(&pairs));
}

fn local_gather(b: &mut Builder<'_>, partitions: u64, count: u16, writes: u64) {
    let (data, output) = (add(b, 0, sb(partitions, 256, F32)), add(b, 2, sb(partitions, writes, F32)));
    let indices = add(b, 1, sb(partitions, 4, Dtype::Uint16));
    let keys = IndirectCopy { num_valid_indices: Value(count), ..IndirectCopy::default() };
    b.inst("local", EngineType::Pool, keys).input(data).input(indices).output(output);
}

fn nonzero(b: &mut Builder<'_>, data: Dtype, writes: T) {
    let (data, output) = (add(b, 0, sb(128, 64, data)), add(b, 1, writes));
    b.plain_inst("nonzero", EngineType::Pool, InstructionType::NonzeroWithCount)
        .inputs([data.into(), 0.into(), (-1).into()])
        .output(output);
}

fn bounds(b: &mut Builder<'_>, partitions: u64, dtype: Dtype, last: i64, dims: usize) {
    let (data, output) = (add(b, 0, sb(partitions, 64, dtype)), add(b, 1, sb(partitions, 128, dtype)));
    let rows = partitions as i64;
    let data: Access = match dims {
        3 => data.pattern(0, [(64, rows), (64, 1), (1, 64)]),
        _ => data.all(),
    };
    let pattern = [(128, rows), (last, 128 / last), (1, last)];
    b.plain_inst("bounds", EngineType::Pool, InstructionType::GetSequenceBounds)
        .input(data)
        .output(output.pattern(0, pattern));
}

fn random(b: &mut Builder<'_>, engine: EngineType) {
    let output = add(b, 0, sb(128, 64, F32));
    b.plain_inst("rng", engine, InstructionType::Rng).output(output);
}

fn random_memset(b: &mut Builder<'_>, engine: EngineType, dtype: Dtype) {
    let output = add(b, 0, sb(128, 64, dtype));
    b.inst("memset", engine, Memset { mode: MemsetMode::Random, ..Memset::default() }).output(output);
}

fn state(b: &mut Builder<'_>, engine: EngineType, state: T) {
    let state = add(b, 0, state);
    b.plain_inst("state", engine, InstructionType::RandGetState).output(state);
}

fn rand2(b: &mut Builder<'_>, max: f32) {
    let output = add(b, 0, sb(128, 64, F32));
    let bounds: [Operand; 2] = [0.0_f32.into(), max.into()];
    b.plain_inst("rand", EngineType::DVE, InstructionType::Rand2).inputs(bounds).output(output);
}

/// A copy between cores, good as it is.
struct Copy {
    engine: EngineType,
    source: T,
    destination: T,
    /// Pattern of the destination.
    pattern: Option<[(i64, i64); 2]>,
    dims: usize,
    has_source: bool,
    at_register: bool,
}

fn copy(b: &mut Builder<'_>, change: impl FnOnce(&mut Copy)) {
    let mut copy = Copy {
        engine: EngineType::Pool,
        source: sb(32, 64, F32),
        destination: sb(32, 64, F32),
        pattern: None,
        dims: 2,
        has_source: true,
        at_register: false,
    };
    change(&mut copy);
    let (source, destination) = (add(b, 0, copy.source), add(b, 1, copy.destination));
    let destination = match copy.pattern {
        Some(pattern) => destination.pattern(0, pattern),
        None => destination.all(),
    };
    let source = match copy.dims {
        6 => source.pattern(0, [(64, 32), (64, 1), (64, 1), (64, 1), (64, 1), (1, 64)]),
        _ => source.all(),
    };
    let source = match copy.at_register {
        true => source.at_register(b.register("r0", EngineType::Pool)),
        false => source,
    };
    let inst = b.plain_inst("copy", copy.engine, InstructionType::GPSIMDSB2SB).output(destination);
    if copy.has_source {
        inst.input(source);
    }
}

#[test]
fn a_copy_between_cores_needs_a_pair() {
    let mut module = Module::new(GEN3);
    copy(&mut Builder::new(&mut module, "main"), |_| ());
    for (cores, found) in [(Some(1), true), (Some(2), false), (Some(4), true), (None, false)] {
        let outcome = verify(&module, &Options { cores, ..Options::default() });
        assert_eq!(
            outcome.findings.iter().any(|finding| finding.code == "SB2SB-01"),
            found,
            "{cores:?} cores"
        );
    }
}

macro_rules! case {
    ($rule:literal, $arch:expr, $bad:expr, $good:expr) => {
        Case { rule: $rule, arch: $arch, bad: $bad, good: $good }
    };
}

macro_rules! gather {
    ($rule:literal, $bad:expr) => {
        case!($rule, GEN3, |b| gather(b, $bad), |b| gather(b, |_| ()))
    };
}

macro_rules! copy {
    ($rule:literal, $bad:expr) => {
        case!($rule, GEN3, |b| copy(b, $bad), |b| copy(b, |_| ()))
    };
}

const PSUM: MemoryType = MemoryType::PSUM;

pub(crate) const CASES: &[Case] = &[
    gather!("PART-09", |tensors| tensors.iter_mut().for_each(|tensor| tensor.0 = 24)),
    case!("POOL-01", GEN3, |b| iota(b, sb(32, 64, F32), &[(1, 32)]), |b| iota(
        b,
        sb(32, 64, F32),
        &[(1, 64)]
    )),
    case!(
        "POOL-01",
        GEN3,
        |b| iota(b, sb(32, 16, F32), &[(8, 2), (4, 2), (2, 2), (1, 2), (1, 1)]),
        |b| iota(b, sb(32, 16, F32), &[(8, 2), (4, 2), (2, 2), (1, 2)])
    ),
    case!("POOL-01", GEN3, |b| iota(b, (32, 64, F32, PSUM), &[(1, 64)]), |b| iota(
        b,
        sb(32, 64, F32),
        &[(1, 64)]
    )),
    case!("POOL-08", GEN3, |b| select(b, f32::NAN), |b| select(b, 0.0)),
    gather!("POOL-02", |tensors| tensors[1].2 = Dtype::Int32),
    gather!("POOL-02", |tensors| tensors[2].2 = Dtype::Int32),
    gather!("POOL-02", |tensors| tensors[0].3 = PSUM),
    gather!("POOL-02", |tensors| tensors[0].0 = 64),
    gather!("POOL-06", |tensors| tensors[1].1 = 32),
    gather!("MEM-02", |tensors| tensors[0].3 = PSUM),
    gather!("AP-03", |tensors| tensors[1].2 = Dtype::Int32),
    case!("POOL-06", GEN3, |b| deep_gather(b, 6), |b| gather(b, |_| ())),
    case!("POOL-03", GEN3, |b| local_gather(b, 24, 64, 128), |b| local_gather(b, 32, 64, 128)),
    case!("POOL-03", GEN3, |b| local_gather(b, 32, 64, 192), |b| local_gather(b, 32, 64, 128)),
    case!("POOL-04", GEN3, |b| nonzero(b, F32, sb(128, 64, Dtype::Int32)), |b| nonzero(
        b,
        F32,
        sb(128, 65, Dtype::Int32)
    )),
    case!("POOL-04", GEN3, |b| nonzero(b, Dtype::Bfloat16, sb(128, 65, Dtype::Int32)), |b| nonzero(
        b,
        Dtype::Int32,
        sb(128, 65, Dtype::Int32)
    )),
    case!("POOL-05", GEN3, |b| bounds(b, 2, F32, 2, 3), |b| bounds(b, 1, F32, 2, 3)),
    case!("POOL-05", GEN3, |b| bounds(b, 1, Dtype::Uint32, 2, 3), |b| bounds(b, 1, Dtype::Int32, 2, 3)),
    case!("POOL-07", GEN3, |b| bounds(b, 1, F32, 4, 3), |b| bounds(b, 1, F32, 2, 3)),
    case!("POOL-07", GEN3, |b| bounds(b, 1, F32, 2, 2), |b| bounds(b, 1, F32, 2, 3)),
    case!("RNG-01", SUNDA, |b| random(b, EngineType::Pool), |b| random(b, EngineType::DVE)),
    case!("RNG-01", GEN3, |b| random(b, EngineType::Activation), |b| random(b, EngineType::Pool)),
    case!("RNG-02", GEN3, |b| state(b, EngineType::Pool, sb(128, 24, Dtype::Uint32)), |b| state(
        b,
        EngineType::Pool,
        sb(128, 6, Dtype::Uint32)
    )),
    case!("RNG-02", GEN3, |b| state(b, EngineType::DVE, sb(128, 24, Dtype::Uint32)), |b| state(
        b,
        EngineType::Pool,
        sb(128, 6, Dtype::Uint32)
    )),
    case!("RNG-02", V4, |b| state(b, EngineType::DVE, sb(128, 24, Dtype::Int32)), |b| state(
        b,
        EngineType::DVE,
        sb(128, 24, Dtype::Uint32)
    )),
    case!("RNG-03", SUNDA, |b| random_memset(b, EngineType::Pool, F32), |b| random_memset(
        b,
        EngineType::DVE,
        F32
    )),
    case!("RNG-03", GEN3, |b| random_memset(b, EngineType::Pool, Dtype::Int64), |b| random_memset(
        b,
        EngineType::Pool,
        F32
    )),
    case!("RNG-04", V4, |b| rand2(b, -1.0), |b| rand2(b, 1.0)),
    case!("SB2SB-02", SUNDA, |b| copy(b, |_| ()), |b| random(b, EngineType::DVE)),
    copy!("SB2SB-03", |copy| copy.destination.2 = Dtype::Int32),
    copy!("SB2SB-04", |copy| {
        copy.destination.1 = 128;
        copy.pattern = Some([(128, 32), (2, 64)]);
    }),
    copy!("SB2SB-05", |copy| copy.dims = 6),
    copy!("SB2SB-06", |copy| copy.source.3 = PSUM),
    copy!("SB2SB-07", |copy| copy.at_register = true),
    copy!("SB2SB-08", |copy| {
        copy.source = sb(32, 512, Dtype::Uint8);
        copy.destination = sb(32, 512, Dtype::Uint8);
    }),
    copy!("SB2SB-09", |copy| copy.has_source = false),
    copy!("SB2SB-10", |copy| (copy.source.0, copy.destination.0) = (24, 24)),
    copy!("SB2SB-11", |copy| copy.engine = EngineType::DVE),
];
