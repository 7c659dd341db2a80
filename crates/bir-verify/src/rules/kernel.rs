//! Kernels and custom ops: KRN, MEM-03.

use bir::{Op, OpenEnum};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Site};

pub(super) const CHECKS: &[Check] = &[
    Check::operand(&[KRN_01], first_partition),
    Check::inst(&[KRN_02], function),
    Check::inst(&[KRN_03, KRN_04, KRN_05, KRN_06, KRN_08], scratch),
    Check::inst(&[KRN_07], custom_op_arch),
    Check::inst(&[KRN_09], rotation),
    Check::operand(&[MEM_03], custom_op_memory),
];

/// KRN-01: what a kernel reads and writes starts at the first partition.
fn first_partition(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if let Some((id, loc)) = operand.loc_id.zip(operand.loc)
        && operand.is_on_chip()
        && loc.is_placed()
        && loc.base != 0
    {
        let message = format!(
            "{} starts at partition {}; operands of kernels start at 0",
            cx.location_text(id),
            loc.base
        );
        out.report(KRN_01, inst.at(operand), message);
    }
}

/// KRN-02.
fn function(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::NKIKernel(op) = inst.op() else { return };
    if op.func.is_none() {
        out.report(KRN_02, inst.place(), "the kernel has no function, the member func");
    }
}

/// KRN-03 to KRN-06, KRN-08: scratch memory.
fn scratch(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::NKIKernel(op) = inst.op() else { return };
    let sb = &op.sb_buf_shape[..];
    let is_given = |shape: &[i64]| !shape.is_empty() && shape.iter().all(|size| *size > 0);
    if !is_given(sb) && sb.iter().any(|size| *size != 0) {
        let message = format!("sb_buf_shape is {sb:?}; both numbers are positive, or both 0");
        out.report(KRN_03, inst.place(), message);
    }
    // Which number is the partitions is not known for sure.
    let partitions = cx.target.sb_partitions as i64;
    if is_given(sb) && !sb.contains(&partitions) {
        let message = format!("sb_buf_shape is {sb:?}; it has the partitions of SB, {partitions}");
        out.report(KRN_08, inst.place(), message);
    }
    let psum = &op.psum_buf_shape[..];
    if let Some(banks) = psum.first().filter(|banks| **banks > cx.target.psum_banks as i64) {
        let message = format!("psum_buf_shape is {psum:?}: {banks} banks; PSUM has {}", cx.target.psum_banks);
        out.report(KRN_04, inst.place(), message);
    }
    if let Some(partitions) = psum.get(1).filter(|count| **count > cx.target.psum_partitions as i64) {
        let message = format!(
            "psum_buf_shape is {psum:?}: {partitions} partitions; PSUM has {}",
            cx.target.psum_partitions
        );
        out.report(KRN_05, inst.place(), message);
    }
    let buffers = [sb, psum].into_iter().filter(|shape| is_given(shape)).count();
    let outputs = inst.outs().count();
    if outputs < buffers {
        let message = format!("{outputs} outputs for {buffers} scratch buffers; each buffer is an output");
        out.report(KRN_06, inst.place(), message);
    }
}

/// KRN-07.
fn custom_op_arch(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if cx.level > 20 {
        let message = format!("CustomOp exists on arch 20, and the module is for arch {}", cx.level);
        out.report(KRN_07, inst.place(), message);
    }
}

/// KRN-09.
fn rotation(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::NKIKernel(op) = inst.op() else { return };
    if !op.address_rotation_scope_val.is_known() {
        let message = format!(
            "address_rotation_scope_val is {:?}; it is None, Kernel or Global",
            op.address_rotation_scope_val.text(&cx.module.names)
        );
        out.report(KRN_09, inst.place(), message);
    }
}

/// MEM-03: custom ops reach SB and device memory.
fn custom_op_memory(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.is_access() && !operand.is_sb() && !operand.is_dram() && operand.memory.is_some() {
        let message = format!("in {}; operands of custom ops are in SB or DRAM", operand.memory_text(cx));
        out.report(MEM_03, inst.at(operand), message);
    }
}
