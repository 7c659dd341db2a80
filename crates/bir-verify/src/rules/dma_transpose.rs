//! Transposing transfers: DMA-06, DMA-13, DMA-14.

use bir::enums::{CopyMode, DGEType, Dtype, EngineType, TransposeOps};
use bir::{Op, OpenEnum, OperandList};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] =
    &[Check::inst(&[DMA_06, DMA_13], transposes), Check::inst(&[DMA_14], with_indices)];

/// How a transfer transposes, and how its descriptors are made. `None` when it does not transpose.
fn transpose(op: &Op) -> Option<(TransposeOps, DGEType)> {
    match op {
        Op::DMACopy(op) if op.mode == CopyMode::Transpose => Some((op.transpose_op, op.dge_type)),
        Op::DMADescriptorTranspose(op) => Some((op.transpose_op, DGEType::None)),
        _ => None,
    }
}

fn has_indices(inst: &Inst<'_>) -> bool {
    inst.count(OperandList::IndirectionIns) > 0
}

fn transposes(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some((form, dge)) = transpose(inst.op()) else { return };
    let (Some(source), Some(destination)) = (inst.input(0), inst.output(0)) else { return };
    if !matches!(form, TransposeOps::XZYW | TransposeOps::XYZW) {
        let message =
            format!("transpose_op {}; a transposing DMA has XZYW or XYZW", form.text(&cx.module.names));
        out.report(DMA_13, inst.place(), message);
    }
    if source.dtype != destination.dtype {
        let message = format!(
            "reads {} and writes {}; a transposing DMA keeps the type",
            source.dtype_text(cx),
            destination.dtype_text(cx)
        );
        out.report(DMA_13, inst.at(destination), message);
    }
    if source.size % 2 == 1 {
        let message = format!(
            "{} has {} byte; a transposing DMA moves 2-byte units",
            source.dtype_text(cx),
            source.size
        );
        out.report(DMA_06, inst.at(source), message);
    }
    if has_indices(inst) {
        indirect_form(inst, source, out);
    }
    if !matches!(dge, DGEType::SWDGE | DGEType::HWDGE) {
        return;
    }
    if source.size != 2 && source.size != 0 {
        let message = format!(
            "{} has {} bytes; with generated descriptors it has 2",
            source.dtype_text(cx),
            source.size
        );
        out.report(DMA_13, inst.at(source), message);
    }
    if destination.memory.is_some() && !destination.is_sb() {
        let message = format!(
            "the destination is in {}; with generated descriptors it is in SB",
            destination.memory_text(cx)
        );
        out.report(DMA_13, inst.at(destination), message);
    }
    if source.memory.is_some() && !source.is_sb() && !source.is_dram() {
        let message = format!(
            "the source is in {}; with generated descriptors it is in SB or DRAM",
            source.memory_text(cx)
        );
        out.report(DMA_13, inst.at(source), message);
    }
    for operand in [source, destination] {
        if let Some(last) = operand.pairs().last().filter(|last| last.num > 1 && last.step != 1) {
            let message =
                format!("the innermost step of {} is {}; it must be 1", operand.pattern_text(), last.step);
            out.report(DMA_13, inst.at(operand), message);
        }
    }
    let unaligned = |bytes: u64| !bytes.is_multiple_of(32);
    if let Some(loc) = destination.loc.filter(|loc| loc.is_placed() && unaligned(loc.addr)) {
        let message = format!("the destination is at byte {}; it must be at a multiple of 32", loc.addr);
        out.report(DMA_13, inst.at(destination), message);
    }
}

/// DMA-06: the form with indices reads rows of DRAM.
fn indirect_form(inst: &Inst<'_>, source: &Operand<'_>, out: &mut Findings<'_>) {
    if source.memory.is_some() && !source.is_dram() {
        out.report(DMA_06, inst.at(source), "a transposing gather reads DRAM, and the source is elsewhere");
    }
    if let Some(rows) = source.partitions().filter(|rows| rows % 16 != 0) {
        let message = format!("{rows} rows; a transposing gather reads a multiple of 16");
        out.report(DMA_06, inst.at(source), message);
    }
    for indices in inst.list(OperandList::IndirectionIns) {
        let Some(partitions) = indices.partitions() else { continue };
        if !(16..=128).contains(&partitions) || partitions % 16 != 0 {
            let message =
                format!("indices on {partitions} partitions; they are on 16 to 128, a multiple of 16");
            out.report(DMA_06, inst.at(indices), message);
        }
    }
}

fn with_indices(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some((form, dge)) = transpose(inst.op()).filter(|_| has_indices(inst)) else { return };
    let mut report = |message: String| _ = out.report(DMA_14, inst.place(), message);
    if cx.level < 30 {
        report(format!("a transposing gather exists from arch 30 on; the module is for arch {}", cx.level));
    }
    if dge != DGEType::SWDGE {
        report(format!("descriptors are {}; a transposing gather has SWDGE", dge.text(&cx.module.names)));
    }
    if !matches!(inst.engine, EngineType::Pool | EngineType::Unassigned) {
        report(format!("runs on {}; a transposing gather runs on Pool", inst.engine.text(&cx.module.names)));
    }
    if form != TransposeOps::XZYW {
        report(format!("transpose_op {}; a transposing gather has XZYW", form.text(&cx.module.names)));
    }
    if inst.count(OperandList::Outs) != 1 {
        report(format!("has {} outputs; a transposing gather has one", inst.count(OperandList::Outs)));
    }
    for indices in inst.list(OperandList::IndirectionIns) {
        if indices.dtype != Some(Dtype::Uint32) || !indices.is_sb() {
            let message = format!(
                "the indices are {} in {}; they are uint32 in SB",
                indices.dtype_text(cx),
                indices.memory_text(cx)
            );
            out.report(DMA_14, inst.at(indices), message);
        }
        if let Some(each) = indices.elements_per_partition().filter(|each| *each != 1) {
            let message = format!("{each} indices on a partition; there is one");
            out.report(DMA_14, inst.at(indices), message);
        }
        if let (Some(count), Some(rows)) =
            (indices.elements(), inst.input(0).and_then(|source| source.partitions()))
            && (count % 16 != 0 || count != rows)
        {
            let message =
                format!("{count} indices for {rows} rows; there is one for each, and a multiple of 16");
            out.report(DMA_14, inst.at(indices), message);
        }
    }
    for operand in inst.ins().take(1).chain(inst.outs()) {
        let counts: Vec<i64> = operand.free_pairs().map(|pair| pair.num).collect();
        if counts.len() >= 2 && !counts[..2].contains(&1) {
            let message = format!(
                "dimensions 1 and 2 of {} have {} and {} elements; one of them has 1",
                operand.pattern_text(),
                counts[0],
                counts[1]
            );
            out.report(DMA_14, inst.at(operand), message);
        }
    }
}
