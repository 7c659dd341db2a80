//! MM and PSUM.

use bir::Module;
use bir::builder::{Access, Builder, NewTensor};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType, MatmultPerfMode, MemoryType};
use bir::expr::MaybeAffine::Value;
use bir::ops::{Matmult, MatmultSparse};
use bir_verify::{Options, verify};

use crate::Case;

/// A matmul, good as it is.
struct Mm {
    engine: EngineType,
    moving: (u64, u64, Dtype),
    stationary: (u64, u64, Dtype),
    output: (u64, u64, Dtype),
    /// Memory of the moving operand and of the result.
    memories: [MemoryType; 2],
    /// Patterns instead of the whole tensors: moving, stationary, output.
    patterns: [Option<[(i64, i64); 3]>; 3],
    /// First partitions: moving, stationary, output.
    bases: [u32; 3],
    /// Byte in PSUM where the result is, and the first element of it that is written.
    at: u64,
    offset: u64,
    keys: Matmult,
}

fn mm(b: &mut Builder<'_>, change: impl FnOnce(&mut Mm)) {
    let mut mm = Mm {
        engine: EngineType::PE,
        moving: (128, 512, Dtype::Bfloat16),
        stationary: (128, 128, Dtype::Bfloat16),
        output: (128, 512, Dtype::Float32),
        memories: [MemoryType::SB, MemoryType::PSUM],
        patterns: [None; 3],
        bases: [0; 3],
        at: 0,
        offset: 0,
        keys: Matmult { accumulation_flag: Value(3), ..Matmult::default() },
    };
    change(&mut mm);
    let operands = operands(b, &mm);
    let [moving, stationary, output] = operands;
    b.inst("mm", mm.engine, mm.keys).input(moving).input(stationary).output(output);
}

fn operands(b: &mut Builder<'_>, mm: &Mm) -> [Access; 3] {
    let given = [
        ("moving", mm.memories[0], mm.moving, 0),
        ("stationary", MemoryType::SB, mm.stationary, 65536),
        ("result", mm.memories[1], mm.output, mm.at),
    ];
    let mut at = 0;
    given.map(|(name, memory, (partitions, columns, dtype), addr)| {
        let tensor = NewTensor::of(memory, name, [partitions, columns].into(), dtype);
        let tensor = if memory == MemoryType::DRAM { tensor } else { tensor.at(addr).base(mm.bases[at]) };
        let tensor = b.tensor(tensor);
        let pattern = mm.patterns[at];
        at += 1;
        let offset = if at == 3 { mm.offset } else { 0 };
        match pattern {
            Some(pattern) => tensor.pattern(offset, pattern),
            None => tensor.all(),
        }
    })
}

fn transpose(b: &mut Builder<'_>, change: impl FnOnce(&mut Mm)) {
    mm(b, |mm| {
        mm.moving = (128, 128, Dtype::Bfloat16);
        mm.output = (128, 128, Dtype::Bfloat16);
        mm.keys.is_transpose = Value(true);
        change(mm);
    });
}

/// A matmul on a tile of 64 rows and 64 columns.
fn tiled(b: &mut Builder<'_>, size: [i32; 2], position: [i32; 2], change: impl FnOnce(&mut Mm)) {
    mm(b, |mm| {
        mm.moving.0 = 64;
        mm.stationary = (64, 64, Dtype::Bfloat16);
        mm.output.0 = 64;
        mm.keys.tile_size = size.map(Value);
        mm.keys.tile_position = position.map(Value);
        change(mm);
    });
}

fn double_row(b: &mut Builder<'_>, change: impl FnOnce(&mut Mm)) {
    mm(b, |mm| {
        mm.moving = (128, 1024, Dtype::Float8e4);
        mm.stationary = (128, 256, Dtype::Float8e4);
        mm.patterns[0] = Some([(1024, 128), (512, 2), (1, 512)]);
        mm.patterns[1] = Some([(256, 128), (128, 2), (1, 128)]);
        mm.keys.perf_mode = MatmultPerfMode::DoubleRow;
        change(mm);
    });
}

fn sparse(b: &mut Builder<'_>, ratio: i32, first: i64) {
    let moving = b.tensor(NewTensor::sb("moving", [128, 512], Dtype::Bfloat16).at(0));
    let stationary = b.tensor(NewTensor::sb("stationary", [128, 128], Dtype::Bfloat16).at(4096));
    let tags = b.tensor(NewTensor::sb("tags", [128, 32], Dtype::Uint16).at(8192));
    let result = b.tensor(NewTensor::psum("result", [128, 128], Dtype::Float32).at(0));
    let keys = MatmultSparse {
        accumulation_flag: Value(3),
        compress_ratio: Value(ratio),
        ..MatmultSparse::default()
    };
    b.inst("sparse", EngineType::PE, keys)
        .input(stationary)
        .input(moving.pattern(0, [(512, 128), (128, first), (1, 128)]))
        .input(tags)
        .output(result);
}

/// Two matmuls of a group; the second one writes the type.
fn group(b: &mut Builder<'_>, second: Dtype, flags: [u8; 2]) {
    let moving = b.tensor(NewTensor::sb("moving", [128, 128], Dtype::Bfloat16).at(0));
    let stationary = b.tensor(NewTensor::sb("stationary", [128, 128], Dtype::Bfloat16).at(4096));
    let result = b.tensor(NewTensor::psum("result", [128, 128], Dtype::Float32).at(0));
    for (name, dtype, flag) in [("first", Dtype::Float32, flags[0]), ("second", second, flags[1])] {
        let keys = Matmult { accumulation_flag: Value(flag), ..Matmult::default() };
        let columns = if dtype == Dtype::Float32 { 128 } else { 256 };
        b.inst(name, EngineType::PE, keys)
            .input(moving)
            .input(stationary)
            .output(result.pattern(0, [(columns, 128), (1, 128)]).dtype(dtype));
    }
}

fn copy_to_psum(b: &mut Builder<'_>, columns: u64, dtype: Dtype) {
    let from = b.tensor(NewTensor::sb("from", [128, columns], dtype).at(0));
    let to = b.tensor(NewTensor::psum("to", [128, columns], dtype).at(0));
    b.plain_inst("copy", EngineType::DVE, InstructionType::TensorCopy).input(from).output(to);
}

/// Rules that have a test of their own below.
pub(crate) const RULES: &[&str] = &["MM-07"];

/// No op exists on arch 10, so there is no module without a finding.
#[test]
fn the_first_generation_multiplies_fewer_types() {
    for (dtype, found) in [(Dtype::Uint16, true), (Dtype::Float8e4, true), (Dtype::Uint8, false)] {
        let mut module = Module::new(ArchLevel::Inferentia);
        mm(&mut Builder::new(&mut module, "main"), |mm| (mm.moving.2, mm.stationary.2) = (dtype, dtype));
        let findings = verify(&module, &Options::default()).findings;
        assert_eq!(findings.iter().any(|finding| finding.code == "MM-07"), found, "{dtype:?}");
    }
}

const GEN3: ArchLevel = ArchLevel::Gen3;
const SUNDA: ArchLevel = ArchLevel::Sunda;
const V4: ArchLevel = ArchLevel::CoreV4;

macro_rules! case {
    ($rule:literal, $arch:expr, $bad:expr, $good:expr) => {
        Case { rule: $rule, arch: $arch, bad: $bad, good: $good }
    };
}

pub(crate) const CASES: &[Case] = &[
    case!("MM-01", GEN3, |b| mm(b, |mm| mm.engine = EngineType::DVE), |b| mm(b, |_| ())),
    case!("MM-02", GEN3, |b| mm(b, |mm| mm.memories[0] = MemoryType::PSUM), |b| mm(b, |_| ())),
    case!("MM-02", GEN3, |b| mm(b, |mm| mm.memories[1] = MemoryType::SB), |b| mm(b, |_| ())),
    case!("MM-03", GEN3, |b| mm(b, |mm| mm.stationary.0 = 64), |b| mm(b, |_| ())),
    case!("MM-03", GEN3, |b| mm(b, |mm| (mm.stationary.1, mm.output.0) = (256, 128)), |b| double_row(
        b,
        |_| ()
    )),
    case!("MM-03", V4, |b| mm(b, |mm| (mm.moving.1, mm.output.1) = (4352, 4352)), |b| mm(b, |mm| (
        mm.moving.1,
        mm.output.1
    ) =
        (4096, 4096))),
    case!("MM-04", GEN3, |b| tiled(b, [64, -1], [0, -1], |_| ()), |b| tiled(b, [64, 64], [0, 0], |_| ())),
    case!("MM-04", GEN3, |b| tiled(b, [64, 64], [32, 0], |_| ()), |b| tiled(b, [64, 64], [0, 0], |_| ())),
    case!("MM-05", SUNDA, |b| double_row(b, |_| ()), |b| mm(b, |_| ())),
    case!(
        "MM-05",
        GEN3,
        |b| double_row(b, |mm| mm.patterns[0] = Some([(1024, 128), (256, 4), (1, 256)])),
        |b| double_row(b, |_| ())
    ),
    case!("MM-06", GEN3, |b| mm(b, |mm| mm.moving.2 = Dtype::Float32), |b| mm(b, |mm| {
        mm.moving.2 = Dtype::Float32;
        mm.stationary.2 = Dtype::Float32;
    })),
    case!("MM-08", V4, |b| sparse(b, 5, 4), |b| sparse(b, 4, 4)),
    case!("MM-09", V4, |b| sparse(b, 3, 4), |b| sparse(b, 4, 4)),
    case!("MM-10", GEN3, |b| transpose(b, |mm| mm.moving.2 = Dtype::Float16), |b| transpose(b, |_| ())),
    case!("MM-10", GEN3, |b| transpose(b, |mm| mm.output.2 = Dtype::Float32), |b| transpose(b, |_| ())),
    case!(
        "MM-11",
        GEN3,
        |b| mm(b, |mm| (mm.moving.2, mm.stationary.2) = (Dtype::Float32r, Dtype::Float32)),
        |b| {
            mm(b, |mm| (mm.moving.2, mm.stationary.2) = (Dtype::Float32r, Dtype::Float32r));
        }
    ),
    case!(
        "MM-12",
        SUNDA,
        |b| tiled(b, [64, 32], [0, 96], |mm| (mm.stationary.1, mm.output.0) = (32, 32)),
        |b| {
            tiled(b, [64, 32], [0, 0], |mm| (mm.stationary.1, mm.output.0) = (32, 32));
        }
    ),
    case!("MM-13", GEN3, |b| tiled(b, [64, 64], [64, 0], |_| ()), |b| {
        tiled(b, [64, 64], [64, 0], |mm| mm.bases = [64, 64, 0]);
    }),
    case!("MM-14", GEN3, |b| tiled(b, [32, 64], [0, 0], |_| ()), |b| tiled(b, [64, 64], [0, 0], |_| ())),
    case!(
        "MM-15",
        GEN3,
        |b| mm(b, |mm| {
            mm.moving.1 = 256;
            mm.output.1 = 768;
            mm.patterns[2] = Some([(768, 128), (1, 256), (1, 1)]);
            mm.offset = 384;
        }),
        |b| mm(b, |mm| {
            mm.moving.1 = 256;
            mm.output.1 = 512;
            mm.patterns[2] = Some([(512, 128), (1, 256), (1, 1)]);
            mm.offset = 256;
        })
    ),
    case!("MM-16", GEN3, |b| mm(b, |mm| mm.output.1 = 256), |b| mm(b, |_| ())),
    case!("MM-16", GEN3, |b| mm(b, |mm| mm.stationary.1 = 64), |b| mm(b, |mm| (
        mm.stationary.1,
        mm.output.0
    ) = (64, 64))),
    case!(
        "MM-18",
        GEN3,
        |b| transpose(b, |mm| {
            mm.output.1 = 256;
            mm.patterns[2] = Some([(256, 128), (2, 128), (1, 1)]);
        }),
        |b| transpose(b, |_| ())
    ),
    case!("MM-19", GEN3, |b| tiled(b, [64, 48], [0, 0], |_| ()), |b| tiled(b, [64, 64], [0, 0], |_| ())),
    case!("PSUM-01", GEN3, |b| mm(b, |mm| mm.output.2 = Dtype::Bfloat16), |b| mm(b, |_| ())),
    case!("PSUM-02", GEN3, |b| copy_to_psum(b, 5000, Dtype::Float32), |b| copy_to_psum(
        b,
        4096,
        Dtype::Float32
    )),
    case!("PSUM-03", GEN3, |b| mm(b, |mm| mm.keys.accumulation_flag = Value(4)), |b| group(
        b,
        Dtype::Float32,
        [1, 2]
    )),
    case!("PSUM-04", V4, |b| group(b, Dtype::Bfloat16, [1, 2]), |b| group(b, Dtype::Float32, [1, 2])),
    case!("PSUM-05", V4, |b| copy_to_psum(b, 128, Dtype::Bfloat16), |b| copy_to_psum(b, 128, Dtype::Float32)),
    case!(
        "PSUM-06",
        V4,
        |b| mm(b, |mm| {
            mm.output = (128, 514, Dtype::Bfloat16);
            mm.patterns[2] = Some([(514, 128), (1, 512), (1, 1)]);
            mm.offset = 1;
        }),
        |b| mm(b, |mm| mm.output.2 = Dtype::Bfloat16)
    ),
];
