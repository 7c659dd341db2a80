//! Writing where one reads: WIP (spec: verify 8).

use bir::enums::InstructionType;
use bir::geometry::{Footprint, Overlap};
use bir::{OperandList, operands::Role};

use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Start, Unit};

pub(super) const CHECKS: &[Check] = &[Check::inst(&[WIP_01], in_place).needs(Needs::Operands)];

fn in_place(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let kernel = matches!(inst.opcode, InstructionType::CustomOp | InstructionType::BIRKernel);
    if !(inst.unit == Unit::Engine || kernel) || inst.opcode == InstructionType::BNStatsAggregate {
        return;
    }
    for output in inst.outs().filter(|output| output.is_sb()) {
        for input in inst.operands.iter().filter(|input| input.list != OperandList::Outs && input.is_sb()) {
            if shares_location(input, output) {
                pair(cx, inst, input, output, kernel, out);
            }
        }
    }
}

/// Whether both name one location, or different ones of the same memory that may share bytes.
fn shares_location(input: &Operand<'_>, output: &Operand<'_>) -> bool {
    match (input.loc_id, output.loc_id) {
        (Some(a), Some(b)) if a == b => true,
        (Some(_), Some(_)) => {
            let both = [input.loc, output.loc];
            both.iter().all(|loc| loc.is_some_and(|loc| loc.is_placed()))
        }
        _ => false,
    }
}

fn pair(
    cx: &Cx<'_>,
    inst: &Inst<'_>,
    input: &Operand<'_>,
    output: &Operand<'_>,
    kernel: bool,
    out: &mut Findings<'_>,
) {
    // What is overwritten in place has one pattern, nearly always; there, it tells that nothing is wrong.
    let is_one = input.loc_id == output.loc_id
        && matches!((&input.start, &output.start), (Start::At(a), Start::At(b)) if a == b)
        && input.dtype == output.dtype
        && input.pattern == output.pattern
        && inst.opcode != InstructionType::StreamTranspose;
    if is_one {
        return;
    }
    if let (Some(a), Some(b)) = (input.touched, output.touched)
        && input.loc_id == output.loc_id
        && a.is_all
        && b.is_all
        && !a.meets(b)
    {
        return;
    }
    // Far apart, which most are: told by the rows of bytes alone.
    if let (Some(a), Some(b)) = (input.loc, output.loc)
        && input.loc_id != output.loc_id
        && !super::storage::locations_meet(cx, a, b)
    {
        return;
    }
    let touched = |operand: &Operand<'_>| cx.footprints.operand(operand.argument, inst.axes);
    let (reads, writes) = (touched(input), touched(output));
    let exact = |footprints: &[Footprint]| footprints.iter().all(|footprint| footprint.exact);
    if !exact(&reads) || !exact(&writes) {
        return;
    }
    let meet = |decide: &dyn Fn(&Footprint, &Footprint) -> bool| {
        reads.iter().any(|a| writes.iter().any(|b| decide(a, b)))
    };
    if !meet(&|a, b| a.overlap(b) == Overlap::Yes) {
        return;
    }
    let place = inst.at(output);
    let what = format!("writes where {}[{}] is read", input.list.key(), input.index);
    if kernel {
        let one = input.loc_id == output.loc_id && input.pattern == output.pattern;
        if !one {
            out.report(WIP_01, place, format!("{what}; a kernel does so only over exactly one buffer"));
        }
        return;
    }
    if inst.opcode == InstructionType::StreamTranspose {
        out.report(WIP_01, place, format!("{what}; a transpose never does"));
        return;
    }
    let same_start = match (&input.start, &output.start) {
        (Start::At(a), Start::At(b)) => input.loc_id == output.loc_id && a == b,
        // Moved by loops: only what both move alike is told apart.
        _ => return,
    };
    if same_start && input.dtype == output.dtype && input.elements() == output.elements() {
        if input.pattern != output.pattern {
            let message = format!(
                "{what} with another pattern: reads {}, writes {}",
                input.pattern_text(),
                output.pattern_text()
            );
            out.report(WIP_01, place, message).help("use one pattern for both, or write elsewhere");
        }
        return;
    }
    // A scalar or a table that lies in the output is read again while it is overwritten.
    let overlap = meet(&|a, b| {
        let (rows, bytes) = a.common_box(b);
        !rows.is_empty() && !bytes.is_empty()
    });
    if overlap {
        let role = input.role().filter(|role| matches!(role, Role::Scalar0 | Role::Scalar1 | Role::Bias));
        let note = if role.is_some() { ", which is read again for each element" } else { "" };
        let message = format!(
            "{what}{note}: reads {} of {}, writes {} of {}",
            input.pattern_text(),
            input.dtype_text(cx),
            output.pattern_text(),
            output.dtype_text(cx)
        );
        out.report(WIP_01, place, message)
            .vendor("BVF029", "Invalid in-place write")
            .help("write elsewhere, or over exactly the pattern that is read");
    }
}
