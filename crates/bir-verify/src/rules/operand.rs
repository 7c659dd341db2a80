//! Operands against the tables: counts, kinds, memories, types: OPR, MEM-01, MEM-02, AP-02, AP-03.

use bir::Conf;
use bir::OperandList;
use bir::diag::Severity;
use bir::enums::{EngineType, InstructionType, MemoryType};
use bir::operands::{Coverage, Memories, Operands, Role};

use smallvec::SmallVec;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::rule::OpRow;
use crate::view::{Inst, Operand, Site, Unit};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[OPR_01], numbers),
    Check::operand(&[OPR_02, AP_03], kinds),
    Check::operand(&[MEM_01, MEM_02], memory),
    Check::inst(&[AP_02], equal_counts).for_ops(ELEMENTWISE),
];

/// OPR-01: the lists are as long as the op needs.
fn numbers(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(operands) = Operands::of(inst.opcode) else { return };
    if matches!(operands.coverage, Coverage::Unknown | Coverage::Abstract) {
        return;
    }
    for list in [OperandList::Ins, OperandList::Outs] {
        let found = inst.count(list);
        let Some(count) = operands.count(list).filter(|count| !count.accepts(found)) else { continue };
        let what = if list == OperandList::Ins { "inputs" } else { "outputs" };
        let message = format!("has {found} {what}; {} has {count}", inst.op_name(cx));
        let finding = out.report(OPR_01, inst.place(), message);
        // What is not confirmed may be wrong about a form of the op.
        if operands.count_conf != Conf::Confirmed {
            finding.at_most(Severity::Note);
        }
    }
}

/// OPR-02 and AP-03: kind and type of the argument are those of its place.
fn kinds(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    let Some(slot) = operand.slot else { return };
    // Conditions may be in memory before they are expanded (CF-14).
    if !slot.accepts_kind(operand.argument) && inst.opcode != InstructionType::CompareAndBranch {
        let names: Vec<&str> = slot.kinds.names().collect();
        let message =
            format!("a {} stands here; the place takes {}", operand.argument.kind(), names.join(", "));
        let finding = out.report(OPR_02, inst.at(operand), message);
        if slot.conf != Conf::Confirmed {
            finding.at_most(Severity::Note);
        }
    }
    if operand.dtype.is_none_or(|dtype| slot.accepts_dtype(dtype)) {
        return;
    }
    let names: Vec<&str> = slot.dtypes.iter().filter_map(|dtype| bir::OpenEnum::name(*dtype).ok()).collect();
    let message = format!("the type is {}; here it is {}", operand.dtype_text(cx), names.join(", "));
    // Types that are sure have rules of their own; the table says more, and less surely.
    out.report(AP_03, inst.at(operand), message).at_most(Severity::Note);
}

/// MEM-01: the operand is in a memory that the op reaches. MEM-02: the Pool engine does not reach PSUM.
fn memory(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list == OperandList::IndirectionIns || !operand.is_access() {
        return;
    }
    if inst.unit == Unit::Engine && inst.engine == EngineType::Pool && operand.is_psum() {
        out.report(
            MEM_02,
            inst.at(operand),
            "the operand is in PSUM, which the Pool engine (GPSIMD) cannot access",
        )
        .vendor(
            "",
            "GPSIMD Instructions cannot access PSUM. Assign to a different Engine or move data to SB.",
        )
        .help("run it on DVE or Activation, or move the data to SB first");
    }
    // Inputs and outputs of the module are in device memory.
    let memory = match operand.memory {
        Some(MemoryType::Input | MemoryType::Output) => Memories::DRAM,
        Some(memory) => match Memories::of(memory) {
            Some(memory) => memory,
            None => return,
        },
        None => return,
    };
    let (accepted, conf) = match (OpRow::of(inst.opcode), operand.slot) {
        (Some(row), _) if operand.list == OperandList::Outs => (row.mem_out, row.conf),
        (Some(row), _) => (row.mem_in, row.conf),
        (None, Some(slot)) => (slot.memories, slot.conf),
        (None, None) => return,
    };
    if accepted.is_empty() || accepted.has(memory) {
        return;
    }
    let names: Vec<&str> = accepted.names().collect();
    let message = format!(
        "the operand is in {}; {} takes operands in {} here",
        operand.memory_text(cx),
        inst.op_name(cx),
        names.join(" or ")
    );
    let finding = out
        .report(MEM_01, inst.at(operand), message)
        .help("copy the operand to a memory that the op reaches");
    if conf != Conf::Confirmed && !cx.options.strict {
        finding.at_most(Severity::Warning);
    }
}

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
    let counts: SmallVec<[(&Operand<'_>, u64); 2]> =
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
