//! Matrix multiplication and its accumulation in PSUM: MM, PSUM.

use bir::diag::{Place, Severity};
use bir::enums::Dtype;
use bir::geometry::{Footprint, Overlap, Unknown};
use bir::ids::{BlockId, InstId};
use bir::operands::{Role, access_of};
use bir::{Op, OpenEnum, OperandList};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] =
    &[Check::inst(&[MM_03], sizes), Check::inst(&[MM_06], types), Check::block(&[PSUM_03], accumulation)];

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
    if let Some(count) = stationary.elements_per_partition().filter(|count| *count > columns) {
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
    if let Some(count) = moving.elements_per_partition().filter(|count| *count > limit) {
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

/// Bits of an accumulation flag.
const START: u8 = 1;

/// A region of PSUM and what last happened to it.
struct Region {
    footprint: Footprint,
    /// Whether a matmul wrote it.
    by_matmul: bool,
}

/// PSUM-03 in the straight line of a block, where it needs no order: a matmul that accumulates into a region that no
/// matmul has started. Interleaved groups and other blocks are for the order command.
fn accumulation(cx: &Cx<'_>, block: BlockId, out: &mut Findings<'_>) {
    let mut regions: Vec<Region> = Vec::new();
    for id in &cx.module[block].instructions {
        let inst = &cx.module[id];
        let flag = match &inst.op {
            Op::Matmult(op) => Some(op.accumulation_flag.value()),
            Op::MatmultSparse(op) => Some(op.accumulation_flag.value()),
            Op::MatmultMx(op) => Some(op.accumulation_flag.value()),
            _ => None,
        };
        if !inst.body().is_empty() || inst.opcode().is_a(bir::enums::InstructionType::Call) {
            return;
        }
        for (list, index, argument) in inst.operands() {
            if list != OperandList::Outs || !access_of(inst, list, index).writes() {
                continue;
            }
            for footprint in cx.footprints.operand(argument, &Unknown) {
                if footprint.space != bir::geometry::Space::Psum {
                    continue;
                }
                match flag {
                    Some(Some(bits)) if bits & START == 0 && footprint.exact => {
                        unstarted(cx, id, index, bits, &footprint, &regions, block, out);
                    }
                    _ => {}
                }
                // Only the latest writers matter; old ones are forgotten when they are covered.
                regions.retain(|region| !footprint.covers(&region.footprint));
                regions.push(Region { footprint, by_matmul: flag.is_some() });
                if regions.len() > REGIONS {
                    regions.remove(0);
                }
            }
        }
    }
}

/// Regions that are remembered.
const REGIONS: usize = 256;

#[allow(clippy::too_many_arguments)]
fn unstarted(
    cx: &Cx<'_>,
    id: InstId,
    index: usize,
    bits: u8,
    footprint: &Footprint,
    regions: &[Region],
    block: BlockId,
    out: &mut Findings<'_>,
) {
    let last = regions.iter().rev().find(|region| region.footprint.overlap(footprint) != Overlap::No);
    let place = Place::operand(id, OperandList::Outs, index);
    match last {
        // Another block may have started it.
        None if !is_entry(cx, block) => {}
        None => {
            let message = format!(
                "accumulates (flag {bits}) into a region that no matmul has started: the flag of the first one has the start \
                 bit, {START}"
            );
            out.report(PSUM_03, place, message).help("set the start bit of the first matmul of the group");
        }
        Some(region) if !region.by_matmul && cx.level < 40 => {
            let message = format!(
                "accumulates (flag {bits}) into a region that another op wrote last; up to arch 30 a matmul has to start it"
            );
            out.report(PSUM_03, place, message).at_most(Severity::Warning);
        }
        Some(_) => {}
    }
}

/// Whether nothing runs before a block: the first block of a function, outside of loops.
fn is_entry(cx: &Cx<'_>, block: BlockId) -> bool {
    match cx.module[block].holder {
        bir::Holder::Function(function) => cx.module[function].blocks.first() == Some(&block),
        _ => false,
    }
}
