//! Searches and selections on the vector engine: DVE-01, DVE-06, DVE-10 to DVE-13, DVE-18, DVE-20.

use bir::diag::Severity;
use bir::enums::{AluOpType, Dtype, EngineAccumulationType, InstructionType};
use bir::operands::Role;
use bir::{Op, OpenEnum};

use super::Check;
use super::measure::{is_float, is_set, names};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[DVE_01], search),
    Check::inst(&[DVE_20], search_dimensions),
    Check::inst(&[DVE_06], predicate),
    Check::inst(&[DVE_10, DVE_12], predicated_reduce),
    Check::inst(&[DVE_11], predicated_counts),
    Check::inst(&[DVE_13], predicated_scalar),
    Check::inst(&[DVE_18], range_select),
];

/// DVE-01: searches look at 8 to 16384 elements, for 8 values.
fn search(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use InstructionType as It;
    let per_partition = |operand: &Operand<'_>| operand.elements_per_partition();
    let data = inst.role(Role::Data);
    if let Some((data, count)) = data.and_then(|data| Some((data, per_partition(data)?)))
        && !(8..=16384).contains(&count)
    {
        let message = format!("{count} elements per partition; a search looks at 8 to 16384");
        out.report(DVE_01, inst.at(data), message).vendor("XCG837", "MAX8 Instruction");
    }
    for values in inst.operands.iter().filter(|operand| operand.role() == Some(Role::Values)) {
        if let Some(count) = per_partition(values).filter(|count| *count != 8) {
            let message = format!("{count} elements per partition; a search has exactly 8 values");
            out.report(DVE_01, inst.at(values), message)
                .vendor("XCG837", "exactly 8 input elements per partition");
        }
    }
    if matches!(inst.opcode, It::MatchReplace | It::MaxIndexAndMatchReplace)
        && let (Some(data), Some(output)) = (data, inst.role(Role::Destination))
        && let (Some(reads), Some(writes)) = (per_partition(data), per_partition(output))
        && reads != writes
    {
        let message = format!(
            "writes {writes} elements per partition; a replacement writes as many as its data has, {reads}"
        );
        out.report(DVE_01, inst.at(output), message);
    }
}

/// DVE-20: dimensions that the words of searches have room for.
fn search_dimensions(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use InstructionType as It;
    let is_maximum = matches!(inst.opcode, It::Max | It::MaxIndex);
    for operand in inst.operands.iter().filter(|operand| operand.pattern.is_some()) {
        let (what, limit) = match operand.role() {
            Some(Role::Data | Role::Destination) => ("data", 5),
            Some(Role::Values | Role::Indices) => ("values and results", 3),
            _ => continue,
        };
        let pairs = operand.pairs().len();
        if pairs > limit {
            let message =
                format!("{pairs} dimensions; {what} of a search have at most {limit}, partitions included");
            out.report(DVE_20, inst.at(operand), message);
        }
        let used = operand.free_pairs().filter(|pair| pair.num > 1).count();
        if is_maximum && operand.list == bir::OperandList::Outs && used > 1 {
            let message = format!(
                "the result {} uses {used} free dimensions; it is a row of 8",
                operand.pattern_text()
            );
            out.report(DVE_20, inst.at(operand), message);
        }
    }
    let Some(data) = inst.role(Role::Data) else { return };
    for other in inst.operands.iter().filter(|other| other.is_access() && other.role() != Some(Role::Data)) {
        if let (Some(count), Some(of_data)) = (other.partitions(), data.partitions())
            && count != of_data
        {
            let message =
                format!("{count} partitions, and {of_data} of data; a search works on each partition");
            out.report(DVE_20, inst.at(other), message);
        }
    }
}

/// A predicated copy.
struct Predicated<'a, 'm> {
    predicate: &'a Operand<'m>,
    source: &'a Operand<'m>,
    output: &'a Operand<'m>,
    /// The value taken elsewhere.
    fill: Option<&'a Operand<'m>>,
    reduce_op: AluOpType,
    acc: EngineAccumulationType,
    reverse: bool,
}

impl<'a, 'm> Predicated<'a, 'm> {
    fn of(inst: &'a Inst<'m>) -> Option<Predicated<'a, 'm>> {
        let Op::CopyPredicated(op) = inst.op() else { return None };
        Some(Predicated {
            predicate: inst.role(Role::Predicate)?,
            source: inst.role(Role::OnTrue)?,
            output: inst.role(Role::Destination)?,
            fill: inst.role(Role::OnFalse),
            reduce_op: op.reduce_op,
            acc: op.accumulator_cmd,
            reverse: is_set(op.reverse_pred),
        })
    }

    fn has_reduce(&self) -> bool {
        self.reduce_op != AluOpType::Bypass
    }

    /// Whether the source is a tensor: neither a number nor one value per partition.
    fn has_tensor_source(&self) -> bool {
        let per_partition = self.source.elements_per_partition();
        self.source.is_access()
            && (per_partition != Some(1) || self.output.elements_per_partition() == Some(1))
    }
}

/// DVE-06: predicates are unsigned, a copy keeps the type.
fn predicate(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    const TYPES: &[Dtype] = &[Dtype::Uint8, Dtype::Uint16, Dtype::Uint32];
    let Some(copy) = Predicated::of(inst) else { return };
    // The form with a value for both cases has types of its own, DVE-12.
    if copy.has_reduce() || copy.fill.is_some() {
        return;
    }
    if copy.predicate.dtype.is_some_and(|dtype| !TYPES.contains(&dtype)) {
        let message =
            format!("the predicate is {}; predicates are {}", copy.predicate.dtype_text(cx), names(TYPES));
        out.report(DVE_06, inst.at(copy.predicate), message)
            .help("access the predicate as an unsigned type of the same size");
    }
    if copy.has_tensor_source()
        && copy.source.dtype.zip(copy.output.dtype).is_some_and(|(from, to)| from != to)
    {
        let message = format!(
            "copies {} to {}; a predicated copy keeps the type",
            copy.source.dtype_text(cx),
            copy.output.dtype_text(cx)
        );
        out.report(DVE_06, inst.at(copy.source), message);
    }
    if let (Some(count), Some(writes)) = (copy.predicate.partitions(), copy.output.partitions())
        && count != writes
    {
        let message = format!("{count} partitions of predicates for {writes} that are written");
        out.report(DVE_06, inst.at(copy.predicate), message);
    }
}

/// DVE-10, DVE-12: the form that reduces.
fn predicated_reduce(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use EngineAccumulationType as Acc;
    const SOURCES: &[Dtype] = &[
        Dtype::Uint8,
        Dtype::Int8,
        Dtype::Uint16,
        Dtype::Int16,
        Dtype::Float16,
        Dtype::Bfloat16,
        Dtype::Float32,
        Dtype::Float8e3,
        Dtype::Float8e4,
        Dtype::Float8E4m3fn,
        Dtype::Float8e5,
    ];
    const PREDICATES: &[Dtype] =
        &[Dtype::Uint8, Dtype::Int8, Dtype::Uint16, Dtype::Int16, Dtype::Uint32, Dtype::Int32];
    let Some(copy) = Predicated::of(inst) else { return };
    let acc = copy.acc.text(&cx.module.names);
    if !copy.has_reduce() {
        if copy.acc != Acc::Idle {
            let message = format!("accumulator_cmd is {acc}; without a reduce_op it is Idle");
            out.report(DVE_10, inst.place(), message);
        }
        return;
    }
    if copy.reduce_op != AluOpType::Max {
        let message = format!("reduce_op is {}; it is max", copy.reduce_op.text(&cx.module.names));
        out.report(DVE_10, inst.place(), message);
    }
    if !matches!(copy.acc, Acc::Idle | Acc::ZeroAccumulate | Acc::AddAccumulate) {
        let message = format!("accumulator_cmd is {acc}; it is Idle, ZeroAccumulate or AddAccumulate");
        out.report(DVE_10, inst.place(), message)
            .vendor("BIR208", "EngineAccumulationType of Idle, ZeroAccumulate, or AddAccumulate");
    }
    let inputs = inst.ins().count();
    if inputs != 3 {
        let message =
            format!("{inputs} inputs; with a reduce_op there are 3: predicate, tensor, value elsewhere");
        out.report(DVE_10, inst.place(), message);
    }
    if !copy.source.is_access() {
        let message = format!("{} where the reduced tensor stands", copy.source.argument.kind());
        out.report(DVE_10, inst.at(copy.source), message);
    }
    if let Some(fill) = copy.fill.filter(|fill| fill.dtype.is_some_and(|dtype| dtype != Dtype::Float32)) {
        let message = format!("the value elsewhere is {}; it is float32", fill.dtype_text(cx));
        out.report(DVE_10, inst.at(fill), message);
    }
    if copy.source.dtype.is_some_and(|dtype| !SOURCES.contains(&dtype)) {
        let message =
            format!("the reduced tensor is {}; it is {}", copy.source.dtype_text(cx), names(SOURCES));
        out.report(DVE_12, inst.at(copy.source), message)
            .vendor("EBIR025", "Invalid dtype for SelectReduce input on_true");
    }
    let Some(dtype) = copy.predicate.dtype else { return };
    if !PREDICATES.contains(&dtype) {
        let message =
            format!("the predicate is {}; it is {}", copy.predicate.dtype_text(cx), names(PREDICATES));
        out.report(DVE_12, inst.at(copy.predicate), message);
    } else if matches!(dtype, Dtype::Uint32 | Dtype::Int32) {
        let message =
            format!("the predicate is {}; older compilers bar 32-bit ones", copy.predicate.dtype_text(cx));
        out.report(DVE_12, inst.at(copy.predicate), message).at_most(Severity::Warning);
    }
}

/// DVE-11: a predicate for each element.
fn predicated_counts(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(copy) = Predicated::of(inst) else { return };
    let Some(writes) = copy.output.elements() else { return };
    if let Some(count) = copy.predicate.elements().filter(|count| *count != writes) {
        let message = format!("{count} predicates for {writes} elements that are written");
        out.report(DVE_11, inst.at(copy.predicate), message);
    }
    if let Some(count) = copy.source.elements().filter(|count| copy.has_tensor_source() && *count != writes) {
        let message = format!("{count} elements for {writes} that are written");
        out.report(DVE_11, inst.at(copy.source), message)
            .vendor("BIR215", "must have the same shape as output");
    }
}

/// DVE-13: a scalar source has the type of the output, and a predicate is reversed in some forms only.
fn predicated_scalar(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(copy) = Predicated::of(inst) else { return };
    let reduces = copy.has_reduce() || copy.fill.is_some();
    let types = copy.source.dtype.zip(copy.output.dtype);
    if !copy.source.is_access() && !reduces && types.is_some_and(|(from, to)| from != to) {
        let message = format!(
            "a scalar of {} for an output of {}; both have one type",
            copy.source.dtype_text(cx),
            copy.output.dtype_text(cx)
        );
        out.report(DVE_13, inst.at(copy.source), message);
    }
    if copy.reverse && copy.has_tensor_source() && !reduces {
        let message = "reverse_pred with a tensor source; it goes with a scalar source or a reduce";
        out.report(DVE_13, inst.place(), message)
            .vendor("BIR218", "cannot have reverse predication")
            .help("invert the predicate");
    }
}

/// DVE-18: what RangeSelect takes.
fn range_select(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use AluOpType as Alu;
    let Op::RangeSelect(op) = inst.op() else { return };
    let text = |op: AluOpType| op.text(&cx.module.names);
    for (key, compare) in [("compare_op0", op.compare_op0), ("compare_op1", op.compare_op1)] {
        if !matches!(compare, Alu::IsEqual | Alu::IsGt | Alu::IsGe | Alu::IsLe | Alu::IsLt) {
            let message = format!("{key} is {}; it is is_equal, is_gt, is_ge, is_le or is_lt", text(compare));
            out.report(DVE_18, inst.place(), message).vendor("XCG979", "to be one of isEQ");
        }
    }
    // Without a result that is accumulated, the operator says nothing.
    let result = inst.role(Role::ReduceResult);
    if op.reduce_op != Alu::Max && (result.is_some() || op.reduce_op != Alu::Bypass) {
        let message = format!("reduce_op is {}; it is max", text(op.reduce_op));
        out.report(DVE_18, inst.place(), message);
    }
    for bound in inst.ins().filter(|input| matches!(input.role(), Some(Role::Bound0 | Role::Bound1))) {
        if bound.dtype.is_some_and(|dtype| dtype != Dtype::Float32) {
            let message = format!("the bound is {}; bounds are float32", bound.dtype_text(cx));
            out.report(DVE_18, inst.at(bound), message);
        }
        if let Some(count) = bound.elements_per_partition().filter(|count| *count != 1) {
            let message = format!("{count} bounds per partition; there is one");
            out.report(DVE_18, inst.at(bound), message);
        }
    }
    let (Some(input), Some(output)) = (inst.role(Role::OnTrue), inst.role(Role::Destination)) else { return };
    if let (Some(reads), Some(writes)) = (input.elements(), output.elements())
        && reads != writes
    {
        let message = format!("reads {reads} elements and writes {writes}; it selects each");
        out.report(DVE_18, inst.at(output), message);
    }
    if input.dtype.zip(output.dtype).is_some_and(|(from, to)| from != to) {
        let message =
            format!("from {} to {}; RangeSelect keeps the type", input.dtype_text(cx), output.dtype_text(cx));
        out.report(DVE_18, inst.at(output), message);
    } else if input
        .dtype
        .is_some_and(|dtype| dtype.is_known() && (!is_float(dtype) || dtype == Dtype::Float32r))
    {
        let message = format!(
            "selects among {}; RangeSelect takes float32, bfloat16, float16 and 8-bit floats",
            input.dtype_text(cx)
        );
        out.report(DVE_18, inst.at(input), message);
    }
    if let Some(count) = input.partitions().filter(|count| *count > 128) {
        let message = format!("{count} partitions; RangeSelect takes at most 128");
        out.report(DVE_18, inst.at(input), message);
    }
}
