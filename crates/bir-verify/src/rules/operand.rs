//! Operands against the tables: counts, kinds, memories, types: MEM-01, MEM-02, AP-02, AP-03.

use bir::enums::InstructionType;
use bir::operands::Role;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[Check::inst(&[AP_02], equal_counts).for_ops(ELEMENTWISE)];

/// Ops whose output has an element for each of their inputs.
const ELEMENTWISE: &[InstructionType] = &[
    InstructionType::TensorCopy,
    InstructionType::TensorTensor,
    InstructionType::TensorScalar,
    InstructionType::TensorScalarPtr,
    InstructionType::Activation,
    InstructionType::Reciprocal,
    InstructionType::GenericCopy,
    InstructionType::AbstractCopy,
];

/// AP-02: data inputs and the output have as many elements.
fn equal_counts(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(output) = inst.output(0).filter(|output| output.is_access() && !output.dynamic) else { return };
    let is_data = |operand: &&Operand<'_>| {
        matches!(operand.role(), Some(Role::Data | Role::Data0 | Role::Data1 | Role::Source))
            && operand.is_access()
            && !operand.dynamic
    };
    let counts: Vec<(&Operand<'_>, u64)> =
        inst.ins().filter(is_data).filter_map(|operand| Some((operand, operand.elements()?))).collect();
    let (Some(writes), Some((first, reads))) = (output.elements(), counts.first()) else { return };
    let agree = counts.iter().all(|(_, count)| count == reads);
    if agree && *reads != writes {
        // Inputs that agree point to the output, unless there is only one.
        let (place, other) = if counts.len() > 1 { (output, *first) } else { (*first, output) };
        let (here, there) = if counts.len() > 1 { (writes, *reads) } else { (*reads, writes) };
        report(inst, place, here, other, there, out);
    }
    for (operand, count) in counts.iter().filter(|(_, count)| !agree && *count != writes) {
        report(inst, operand, *count, output, writes, out);
    }
}

fn report(
    inst: &Inst<'_>,
    operand: &Operand<'_>,
    here: u64,
    other: &Operand<'_>,
    there: u64,
    out: &mut Findings<'_>,
) {
    let message = format!(
        "{here} elements {}, and {there} in {}[{}] {}: an elementwise op has the same number of elements on all sides",
        operand.pattern_text(),
        other.list.key(),
        other.index,
        other.pattern_text()
    );
    out.report(AP_02, inst.at(operand), message)
        .vendor("", format!("Expect AP same number of elements {}", operand.pattern_text()))
        .help("repeat elements with a step of 0");
}
