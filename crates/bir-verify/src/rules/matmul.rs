//! Matrix multiplication: MM, but for tiles of the PE array, which have a module of their own.

use bir::enums::{Dtype, EngineType, MatmultPerfMode};
use bir::expr::MaybeAffine;
use bir::operands::Role;
use bir::{Op, OpenEnum};

use super::Check;
use super::measure::{engine_is, is_set};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[MM_01], engine),
    Check::inst(&[MM_02], memory),
    Check::inst(&[MM_03], sizes),
    Check::inst(&[MM_05], perf_mode),
    Check::inst(&[MM_06], types),
    Check::inst(&[MM_07], first_generation_types),
    Check::inst(&[MM_08, MM_09], sparse),
    Check::inst(&[MM_10], transpose_types),
    Check::inst(&[MM_11], round_float32),
    Check::inst(&[MM_16], result_shape),
    Check::inst(&[MM_18], transpose_steps),
];

/// Keys that the matmuls share.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    pub(super) accumulation_flag: MaybeAffine<u8>,
    pub(super) is_transpose: MaybeAffine<bool>,
    pub(super) perf_mode: MatmultPerfMode,
    pub(super) replication_num_rows: MaybeAffine<u32>,
    pub(super) replication_shift: MaybeAffine<u32>,
    /// Rows and columns.
    pub(super) tile_size: [MaybeAffine<i32>; 2],
    /// Row and column.
    pub(super) tile_position: [MaybeAffine<i32>; 2],
}

macro_rules! keys {
    ($op:expr) => {
        Keys {
            accumulation_flag: $op.accumulation_flag,
            is_transpose: $op.is_transpose,
            perf_mode: $op.perf_mode,
            replication_num_rows: $op.replication_num_rows,
            replication_shift: $op.replication_shift_amnt,
            tile_size: $op.tile_size,
            tile_position: $op.tile_position,
        }
    };
}

impl Keys {
    /// The keys of a matmul.
    pub(super) fn of(op: &Op) -> Option<Keys> {
        Some(match op {
            Op::Matmult(op) => keys!(op),
            Op::MatmultSparse(op) => keys!(op),
            Op::MatmultMx(op) => keys!(op),
            _ => return None,
        })
    }

    /// Whether each partition has two rows of the contraction.
    fn is_double_row(self) -> bool {
        matches!(self.perf_mode, MatmultPerfMode::DoubleRow | MatmultPerfMode::DoubleRowSwInterleave)
    }

    /// Rows of the contraction in each partition. Of the modes without a known encoding, 2 is the most that they
    /// can mean. spec: simulator 10.2
    fn rows_per_partition(self) -> u64 {
        if self.perf_mode == MatmultPerfMode::None { 1 } else { 2 }
    }
}

/// The moving and the stationary operand.
pub(super) fn inputs<'a, 'm>(inst: &'a Inst<'m>) -> Option<[&'a Operand<'m>; 2]> {
    Some([inst.role(Role::Moving)?, inst.role(Role::Stationary)?])
}

/// MM-01: matmuls run on PE.
fn engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    engine_is(cx, inst, MM_01, &[EngineType::PE], out);
}

/// MM-02: inputs in SB, result in PSUM.
fn memory(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    for operand in &inst.operands {
        let (what, is_right, wanted) = match operand.role() {
            Some(Role::Moving) => ("moving operand", operand.is_sb(), "SB"),
            Some(Role::Stationary) => ("stationary operand", operand.is_sb(), "SB"),
            Some(Role::PsumDestination) => ("result", operand.is_psum(), "PSUM"),
            _ => continue,
        };
        if !is_right && (operand.is_on_chip() || operand.is_dram()) {
            let message =
                format!("the {what} of a matmul is in {wanted}; this one is in {}", operand.memory_text(cx));
            out.report(MM_02, inst.at(operand), message).help(if wanted == "SB" {
                "copy the operand to SB first"
            } else {
                "accumulate in PSUM and copy the result from there"
            });
        }
    }
}

/// MM-03: sizes of the operands.
fn sizes(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(moving), Some(stationary)) = (inst.role(Role::Moving), inst.role(Role::Stationary)) else {
        return;
    };
    let (rows, columns) = (cx.target.pe_rows, cx.target.pe_cols);
    let partitions = |operand: &Operand<'_>| operand.partitions();
    for operand in [moving, stationary] {
        if let Some(count) = partitions(operand).filter(|count| *count > rows) {
            let message = format!("{count} partitions; the PE array has {rows} rows");
            out.report(MM_03, inst.at(operand), message);
        }
    }
    if let (Some(a), Some(b)) = (partitions(moving), partitions(stationary))
        && a != b
    {
        let message = format!(
            "{a} partitions, and the stationary operand has {b}: both run over the contracted dimension"
        );
        out.report(MM_03, inst.at(moving), message);
    }
    // A double row has two rows of the contraction in each partition.
    let rows_of = Keys::of(inst.op()).map_or(1, |keys| keys.rows_per_partition());
    let columns_of = |operand: &Operand<'_>| Some(operand.elements_per_partition()? / rows_of);
    if let Some(count) = columns_of(stationary).filter(|count| *count > columns) {
        let message =
            format!("{count} stationary columns; the limit is {rows} partitions by {columns} columns");
        out.report(MM_03, inst.at(stationary), message)
            .vendor("NCC_IBIR040", format!("Matmult stationary input tile size must be <= {rows}x{columns}"));
    }
    // From arch 40 on, the limit depends on the destination: 4096 float32 or 8192 bfloat16.
    let limit = match (cx.level, inst.output(0).and_then(|output| output.dtype)) {
        (..40, _) => 512,
        (_, Some(Dtype::Bfloat16)) => 8192,
        _ => 4096,
    };
    if let Some(count) = columns_of(moving).filter(|count| *count > limit) {
        let message = format!("{count} moving columns; the limit is {rows} partitions by {limit} columns");
        out.report(MM_03, inst.at(moving), message)
            .vendor("NCC_IBIR039", format!("Matmult moving input tile size must be <= {rows}x{limit}"))
            .help("split the moving operand into tiles");
    }
}

/// Types that the PE array multiplies.
fn accepted(level: u32) -> Vec<Dtype> {
    let mut types = vec![
        Dtype::Float8e3,
        Dtype::Float8e4,
        Dtype::Float8e5,
        Dtype::Bfloat16,
        Dtype::Float16,
        Dtype::Float32r,
        Dtype::Float32,
    ];
    if level >= 40 {
        types.push(Dtype::Float8E4m3fn);
    }
    types
}

/// MM-06: types of the operands.
fn types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let accepted = accepted(cx.level);
    let inputs: Vec<&Operand<'_>> = inst
        .ins()
        .filter(|operand| matches!(operand.role(), Some(Role::Moving | Role::Stationary)))
        .collect();
    let is_transpose = matches!(inst.op(), Op::Matmult(op) if op.is_transpose != false);
    for operand in &inputs {
        let Some(dtype) = operand.dtype else { continue };
        // A transpose moves bits through the array.
        if accepted.contains(&dtype) || is_transpose {
            continue;
        }
        let names: Vec<&str> = accepted.iter().filter_map(|dtype| dtype.name().ok()).collect();
        let message = format!(
            "{} is no type of matmul inputs on arch {}; those are {}",
            operand.dtype_text(cx),
            cx.level,
            names.join(", ")
        );
        out.report(MM_06, inst.at(operand), message)
            .vendor("", "Expect ap datatype to be of type float32 float16 bfloat16 uint8")
            .help("convert the operand first");
    }
    let is_32 = |operand: &&&Operand<'_>| matches!(operand.dtype, Some(Dtype::Float32 | Dtype::Float32r));
    if let [moving, stationary] = &inputs[..]
        && is_32(&moving) != is_32(&stationary)
        && inputs.iter().all(|operand| operand.dtype.is_some_and(|dtype| accepted.contains(&dtype)))
    {
        let message = format!(
            "mixes {} and {}: 32-bit and other types do not go together",
            moving.dtype_text(cx),
            stationary.dtype_text(cx)
        );
        out.report(MM_06, inst.place(), message)
            .vendor("BIR034", "Mixing of 32-bit and non-32-bit Matmult inputs");
    }
    if let Some(output) = inst.output(0)
        && let Some(dtype) = output.dtype
        && !is_transpose
    {
        let legal = dtype == Dtype::Float32 || cx.level >= 40 && dtype == Dtype::Bfloat16;
        if !legal {
            let message = format!(
                "the result is {}; it is float32{}",
                output.dtype_text(cx),
                if cx.level >= 40 { " or bfloat16" } else { " up to arch 30" }
            );
            out.report(MM_06, inst.at(output), message);
        }
    }
}

/// MM-05: performance modes.
fn perf_mode(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(keys) = Keys::of(inst.op()).filter(|keys| keys.perf_mode != MatmultPerfMode::None) else {
        return;
    };
    let mode = keys.perf_mode.text(&cx.module.names);
    if cx.level < 30 {
        let message =
            format!("perf_mode {mode} needs arch 30 or newer, and the module is for arch {}", cx.level);
        out.report(MM_05, inst.place(), message).help("set perf_mode to None");
    }
    if !keys.is_double_row() {
        return;
    }
    if let Some(columns) = keys.tile_size[1].value().filter(|columns| !matches!(columns, -1 | 128)) {
        let message = format!("perf_mode {mode} with a column tile of {columns}; it takes all 128 columns");
        out.report(MM_05, inst.place(), message);
    }
    if is_set(keys.is_transpose) {
        out.report(MM_05, inst.place(), format!("perf_mode {mode} does not go with is_transpose"));
    }
    for operand in inputs(inst).into_iter().flatten() {
        let is_fp8 = |dtype| {
            matches!(dtype, Dtype::Float8e3 | Dtype::Float8e4 | Dtype::Float8e5 | Dtype::Float8E4m3fn)
        };
        if operand.dtype.is_some_and(|dtype| dtype.is_known() && !is_fp8(dtype)) {
            let message =
                format!("{} with perf_mode {mode}, which takes 8-bit floats", operand.dtype_text(cx));
            out.report(MM_05, inst.at(operand), message);
        }
        if let Some(first) = operand.free_pairs().next().filter(|pair| pair.num != 2) {
            let message = format!(
                "the first free dimension has {} elements; perf_mode {mode} has two rows in each partition, so it is 2",
                first.num
            );
            out.report(MM_05, inst.at(operand), message);
        }
    }
}

/// MM-07: the types of arch 10; for later ones MM-06 has them.
fn first_generation_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    const TYPES: &[Dtype] = &[Dtype::Float32, Dtype::Float16, Dtype::Bfloat16, Dtype::Uint8];
    if cx.level >= 20 {
        return;
    }
    for operand in inst.ins().filter(|operand| operand.dtype.is_some_and(|dtype| !TYPES.contains(&dtype))) {
        let message = format!(
            "{} is no type of matmul inputs on arch {}; those are {}",
            operand.dtype_text(cx),
            cx.level,
            super::measure::names(TYPES)
        );
        out.report(MM_07, inst.at(operand), message).help("convert the operand first");
    }
}

/// MM-08, MM-09: how many columns a sparse matmul compresses into one.
fn sparse(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::MatmultSparse(op) = inst.op() else { return };
    let Some(ratio) = op.compress_ratio.value() else { return };
    if !matches!(ratio, 2..=4) {
        let message = format!("compress_ratio is {ratio}; it is 2, 3 or 4");
        out.report(MM_08, inst.place(), message);
    }
    if let Some(moving) = inst.role(Role::Moving)
        && let Some(first) = moving.free_pairs().next().filter(|pair| pair.num != i64::from(ratio))
    {
        let message = format!(
            "the first free dimension has {} elements; it is as long as compress_ratio, {ratio}",
            first.num
        );
        out.report(MM_09, inst.at(moving), message);
    }
}

/// MM-10: a transpose moves elements as they are.
fn transpose_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(keys), Some([moving, stationary])) = (Keys::of(inst.op()), inputs(inst)) else { return };
    if !is_set(keys.is_transpose) {
        return;
    }
    let differ = |a: &Operand<'_>, b: &Operand<'_>| a.dtype.zip(b.dtype).is_some_and(|(a, b)| a != b);
    if differ(moving, stationary) {
        let message = format!(
            "is_transpose with a {} moving and a {} stationary operand; both have one type",
            moving.dtype_text(cx),
            stationary.dtype_text(cx)
        );
        out.report(MM_10, inst.at(moving), message)
            .vendor("BIR032", "Transpose matmult requires matching input types")
            .help("give the identity matrix the type of the data");
    }
    if let Some(output) = inst.output(0).filter(|output| cx.level >= 30 && differ(moving, output)) {
        let message = format!(
            "is_transpose from {} to {}; from arch 30 on a transpose keeps the type",
            moving.dtype_text(cx),
            output.dtype_text(cx)
        );
        out.report(MM_10, inst.at(output), message)
            .help("give the PSUM tile the type of the data, and convert when it is copied out");
    }
}

/// MM-11: float32r on both sides or on none.
fn round_float32(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some([moving, stationary]) = inputs(inst) else { return };
    let is_round = |operand: &Operand<'_>| operand.dtype == Some(Dtype::Float32r);
    if is_round(moving) != is_round(stationary) && moving.dtype.is_some() && stationary.dtype.is_some() {
        let message = format!(
            "the moving operand is {} and the stationary one {}; float32r is the type of both or of none",
            moving.dtype_text(cx),
            stationary.dtype_text(cx)
        );
        out.report(MM_11, inst.place(), message);
    }
}

/// MM-16: the result has a row for each stationary column and a column for each moving one.
fn result_shape(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(keys), Some([moving, stationary])) = (Keys::of(inst.op()), inputs(inst)) else { return };
    let Some(output) = inst.role(Role::PsumDestination) else { return };
    // What the modes without a known encoding and the replication keys do to the shape is not known.
    let is_plain = keys.perf_mode == MatmultPerfMode::None || keys.is_double_row();
    if !is_plain || keys.replication_num_rows.value() != Some(0) {
        return;
    }
    let rows = keys.rows_per_partition();
    if let (Some(partitions), Some(columns)) = (output.partitions(), stationary.elements_per_partition())
        && partitions != columns / rows
    {
        let message = format!(
            "the result has {partitions} partitions; the stationary operand has {} columns, and each gives one",
            columns / rows
        );
        out.report(MM_16, inst.at(output), message);
    }
    if let (Some(count), Some(columns)) = (output.elements_per_partition(), moving.elements_per_partition())
        && count != columns / rows
    {
        let message = format!(
            "the result has {count} elements per partition; the moving operand has {} columns, and each gives one",
            columns / rows
        );
        out.report(MM_16, inst.at(output), message);
    }
}

/// MM-18: how a transpose may step through PSUM.
fn transpose_steps(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !Keys::of(inst.op()).is_some_and(|keys| is_set(keys.is_transpose)) {
        return;
    }
    let Some(output) = inst.role(Role::PsumDestination) else { return };
    for (at, pair) in output.free_pairs().rev().filter(|pair| pair.num > 1).enumerate() {
        let message = match at {
            0 if pair.step != 1 => {
                format!("the innermost step of a transposed result is 1; this one is {}", pair.step)
            }
            1.. if pair.step != 1 && pair.step % 2 != 0 => {
                format!("the outer steps of a transposed result are even or 1; this one is {}", pair.step)
            }
            _ => continue,
        };
        out.report(MM_18, inst.at(output), message);
    }
}
