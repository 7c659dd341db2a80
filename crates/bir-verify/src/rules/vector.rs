//! The vector engine: elementwise ops, reductions and batch norm. DVE, but for searches and selections.

use bir::diag::Severity;
use bir::enums::{AluOpType, AxisListType, Dtype, EngineAccumulationType, EngineType, TSCMode};
use bir::operands::Role;
use bir::{Argument, Op, OpenEnum, OperandList};

use super::Check;
use super::measure::{is_float, is_integer, is_set, number};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[DVE_02], two_in_psum),
    Check::inst(&[DVE_03, DVE_17], batch_norm),
    Check::inst(&[DVE_04, DVE_21], shuffle),
    Check::inst(&[DVE_05], reduce),
    Check::inst(&[DVE_07], bit_operators),
    Check::inst(&[DVE_08], immediate_types),
    Check::inst(&[DVE_09], dimensions),
    Check::inst(&[DVE_14], accumulation),
    Check::inst(&[DVE_15], cached_operands),
    Check::inst(&[DVE_16], cached_operators),
    Check::inst(&[DVE_19], count),
    Check::inst(&[DVE_22], gradient_types),
    Check::inst(&[DVE_23], read_out),
    Check::inst(&[DVE_24], integers_in_psum),
];

/// DVE-02: one port to PSUM.
fn two_in_psum(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let is_tensor = |operand: &&Operand<'_>| {
        let roles = [Role::Data, Role::Data0, Role::Data1, Role::Predicate, Role::OnTrue];
        operand.is_access() && operand.role().is_some_and(|role| roles.contains(&role))
    };
    let mut tensors = inst.ins().filter(is_tensor);
    let (Some(first), Some(second)) = (tensors.next(), tensors.next()) else { return };
    if first.is_psum() && second.is_psum() {
        let message = format!(
            "both tensor inputs of {} are in PSUM; only one may be, the other one is in SB",
            inst.op_name(cx)
        );
        out.report(DVE_02, inst.at(second), message).help("copy one of them to SB first");
    }
}

/// DVE-03, DVE-17: counts of batch-norm statistics.
fn batch_norm(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use bir::enums::InstructionType as It;
    let Some(data) = inst.role(Role::Data) else { return };
    let count = data.elements_per_partition();
    if inst.opcode == It::BNStats {
        if let Some(count) = count.filter(|count| *count > 512) {
            let message = format!("{count} elements per partition; statistics are of at most 512");
            out.report(DVE_03, inst.at(data), message)
                .help("take the statistics of parts and join them with BNStatsAggregate");
        }
        return;
    }
    if let Some(count) = count.filter(|count| count % 3 != 0) {
        let message = format!(
            "{count} elements per partition; statistics are triples, so the count is a multiple of 3"
        );
        out.report(DVE_03, inst.at(data), message);
    }
    if let Some(output) = inst.role(Role::Destination)
        && let Some(count) = output.elements_per_partition().filter(|count| *count != 2)
    {
        let message = format!("writes {count} elements per partition; mean and variance are 2");
        out.report(DVE_17, inst.at(output), message);
    }
}

/// DVE-04, DVE-21: shuffles go over whole quadrants.
fn shuffle(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::StreamShuffle(op) = inst.op() else { return };
    let entries = op.mask.as_ref().map_or(0, Vec::len);
    if entries != 32 {
        let message =
            format!("the mask has {entries} entries; it has 32, one for each partition of a quadrant");
        out.report(DVE_21, inst.place(), message);
    }
    let (Some(data), Some(output)) = (inst.role(Role::Data), inst.role(Role::Destination)) else { return };
    for operand in [data, output] {
        let Some(count) = operand.partitions() else { continue };
        let starts: &[i64] = match count {
            32 => &[0, 32, 64, 96],
            64 => &[0, 64],
            96 | 128 => &[0],
            _ => {
                let message = format!("{count} partitions; a shuffle goes over 32, 64, 96 or 128");
                out.report(DVE_04, inst.at(operand), message);
                continue;
            }
        };
        if let Some(start) = operand.start_partition().filter(|start| !starts.contains(start)) {
            let message =
                format!("{count} partitions from {start} on; a shuffle of so many starts at {starts:?}");
            out.report(DVE_04, inst.at(operand), message);
        }
    }
    if data.dtype.zip(output.dtype).is_some_and(|(from, to)| from != to) {
        let message = format!(
            "from {} to {}; a shuffle moves elements as they are",
            data.dtype_text(cx),
            output.dtype_text(cx)
        );
        out.report(DVE_04, inst.at(output), message);
    }
    if let (Some(reads), Some(writes)) = (data.elements(), output.elements())
        && reads != writes
    {
        let message = format!("reads {reads} elements and writes {writes}; a shuffle writes what it reads");
        out.report(DVE_04, inst.at(output), message);
    }
}

/// DVE-05: reductions run over the innermost free dimensions.
fn reduce(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::TensorReduce(op) = inst.op() else { return };
    let (Some(data), Some(output)) = (inst.role(Role::Data), inst.role(Role::Destination)) else { return };
    let axis = op.axis.text(&cx.module.names);
    let dims = match op.axis {
        AxisListType::X => 1,
        AxisListType::XY => 2,
        AxisListType::XYZ => 3,
        AxisListType::XYZW => 4,
        AxisListType::C | AxisListType::XYZWC if inst.engine == EngineType::Pool => return,
        AxisListType::C | AxisListType::XYZWC => {
            let message = format!("axis {axis} runs over partitions; a reduction runs over free dimensions");
            // Front ends make this of a reduction over partitions; that Pool runs it is known of kernels only.
            out.report(DVE_05, inst.place(), message)
                .help("multiply by ones on PE, or transpose first")
                .at_most(Severity::Note);
            return;
        }
        AxisListType::Other(_) => return,
    };
    if op.apply_transpose != false {
        return;
    }
    let kept = data.free_pairs().len().saturating_sub(dims);
    let wanted = data
        .free_pairs()
        .take(kept)
        .try_fold(1u64, |all, pair| all.checked_mul(u64::try_from(pair.num).ok()?));
    if let (Some(wanted), Some(writes)) = (wanted, output.elements_per_partition())
        && data.pattern.is_some()
        && wanted != writes
    {
        let message = format!(
            "writes {writes} elements per partition; over axis {axis} the pattern {} leaves {wanted}",
            data.pattern_text()
        );
        out.report(DVE_05, inst.at(output), message);
    }
    if let (Some(reads), Some(writes)) = (data.partitions(), output.partitions())
        && reads != writes
    {
        let message = format!("reads {reads} partitions and writes {writes}; a reduction keeps them");
        out.report(DVE_05, inst.at(output), message);
    }
}

/// Whether an operator works on bits.
pub(super) fn is_bitwise(op: AluOpType) -> bool {
    use AluOpType::*;
    matches!(
        op,
        BitwiseNot
            | BitwiseAnd
            | BitwiseOr
            | BitwiseXor
            | ArithShiftLeft
            | ArithShiftRight
            | LogicalShiftLeft
            | LogicalShiftRight
    )
}

fn is_arithmetic(op: AluOpType) -> bool {
    op.is_known() && op != AluOpType::Bypass && !is_bitwise(op)
}

/// The operators of an elementwise instruction or a reduction.
fn operators(op: &Op) -> [AluOpType; 2] {
    match op {
        Op::TensorTensor(op) => [op.op, AluOpType::Bypass],
        Op::TensorReduce(op) => [op.op, AluOpType::Bypass],
        Op::TensorScalar(op) => [op.op0, op.op1],
        Op::TensorScalarPtr(op) => [op.op0, op.op1],
        _ => [AluOpType::Bypass; 2],
    }
}

/// DVE-07: operators on bits.
fn bit_operators(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let operators = operators(inst.op());
    let Some(bitwise) = operators.into_iter().find(|op| is_bitwise(*op)) else { return };
    let name = bitwise.text(&cx.module.names);
    if let Some(other) = operators.into_iter().find(|op| is_arithmetic(*op)) {
        let message = format!(
            "{name}, which works on bits, together with {}, which is arithmetic; an instruction has operators of one kind",
            other.text(&cx.module.names)
        );
        out.report(DVE_07, inst.place(), message).help("use two instructions");
    }
    if !matches!(inst.engine, EngineType::DVE | EngineType::Unassigned | EngineType::ALL) {
        let message =
            format!("{name} on {}; operators on bits run on DVE only", inst.engine.text(&cx.module.names));
        out.report(DVE_07, inst.place(), message);
    }
    for operand in inst.operands.iter().filter(|operand| operand.is_access()) {
        if operand.dtype.is_some_and(|dtype| dtype.is_known() && !is_integer(dtype)) {
            let message = format!("{} with {name}; operators on bits take integers", operand.dtype_text(cx));
            // First-party documents have float32 here, so it cannot be wrong in every case.
            out.report(DVE_07, inst.at(operand), message)
                .help("access the operand as an integer type of the same size")
                .at_most(Severity::Note);
        }
    }
}

/// DVE-08: immediates of arithmetic operators.
fn immediate_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if operators(inst.op()).into_iter().any(is_bitwise) {
        return;
    }
    for operand in inst.ins().filter(|operand| matches!(operand.argument, Argument::ImmValue(_))) {
        if operand.dtype.is_some_and(|dtype| dtype != Dtype::Float32) {
            let message = format!(
                "the immediate is {}; immediates of arithmetic operators are float32",
                operand.dtype_text(cx)
            );
            out.report(DVE_08, inst.at(operand), message);
        }
    }
}

/// DVE-09: the scalar-tensor-tensor form has small patterns.
fn dimensions(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::TensorScalarPtr(op) = inst.op() else { return };
    if !is_set(op.is_scalar_tensor_tensor) {
        return;
    }
    for operand in &inst.operands {
        let is_tensor = matches!(operand.role(), Some(Role::Data | Role::Data1 | Role::Destination));
        let pairs = operand.pairs().len();
        if is_tensor && operand.is_access() && !matches!(pairs, 2 | 3) {
            let message = format!(
                "{} has {pairs} dimensions; in the scalar-tensor-tensor form it has 2 or 3, partitions included",
                operand.pattern_text()
            );
            out.report(DVE_09, inst.at(operand), message);
        }
    }
}

/// DVE-14: what accumulation the ops have.
fn accumulation(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use EngineAccumulationType as Acc;
    let (key, acc, is_tensor_tensor) = match inst.op() {
        Op::TensorTensor(op) => ("acc", op.acc, true),
        Op::TensorScalarPtr(op) => ("acc", op.acc, false),
        Op::RangeSelect(op) => ("reduce_cmd", op.reduce_cmd, false),
        _ => return,
    };
    let name = acc.text(&cx.module.names);
    if is_tensor_tensor && acc != Acc::Idle {
        let message = format!("{key} is {name}; that of TensorTensor is Idle");
        out.report(DVE_14, inst.place(), message)
            .vendor("BIR534", "TensorTensor only supports EngineAccumulationType::Idle");
    } else if matches!(acc, Acc::Accumulate | Acc::LoadAccumulate) {
        let message = format!(
            "{key} is {name}; {} takes Idle, Zero, ZeroAccumulate and AddAccumulate",
            inst.op_name(cx)
        );
        out.report(DVE_14, inst.place(), message);
    }
}

/// DVE-15: operands of the cached form.
fn cached_operands(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::TensorScalarCache(op) = inst.op() else { return };
    let (ins, outs) = (inst.ins().count(), inst.outs().count());
    if !matches!(ins, 2 | 3) {
        out.report(DVE_15, inst.place(), format!("{ins} inputs; TensorScalarCache has 2 or 3"));
    }
    if !matches!(outs, 1 | 2) {
        out.report(DVE_15, inst.place(), format!("{outs} outputs; TensorScalarCache has 1 or 2"));
    }
    for operand in &inst.operands {
        let is_tensor = operand.list == OperandList::Outs || operand.role() == Some(Role::Data);
        if is_tensor && !operand.is_access() {
            let message = format!("{} where an access to memory stands", operand.argument.kind());
            out.report(DVE_15, inst.at(operand), message).vendor("BVF005", "must be an AccessPattern");
        }
        if operand.argument.is_immediate() && operand.dtype.is_some_and(|dtype| dtype != Dtype::Float32) {
            let message = format!("the immediate is {}; it is float32", operand.dtype_text(cx));
            out.report(DVE_15, inst.at(operand), message);
        }
    }
    let loads = op.acc == EngineAccumulationType::LoadAccumulate;
    if op.acc.is_known() && matches!(ins, 2 | 3) && loads != (ins == 3) {
        let message = format!(
            "{ins} inputs with acc {}; there is a third one, the start value, with LoadAccumulate and only then",
            op.acc.text(&cx.module.names)
        );
        out.report(DVE_15, inst.place(), message);
    }
    let Some(result) = inst.role(Role::ReduceResult) else { return };
    if result.dtype.is_some_and(|dtype| dtype.is_known() && !is_float(dtype)) {
        let message =
            format!("the accumulated result is {}; it is a floating-point type", result.dtype_text(cx));
        out.report(DVE_15, inst.at(result), message);
    }
    if let Some(count) = result.elements_per_partition().filter(|count| *count != 1) {
        let message = format!("the accumulated result has {count} elements per partition; it has one");
        out.report(DVE_15, inst.at(result), message);
    }
    let data = inst.role(Role::Data).and_then(|data| data.partitions());
    if let (Some(data), Some(count)) = (data, result.partitions())
        && data != count
    {
        let message = format!("the accumulated result has {count} partitions for {data} of data");
        out.report(DVE_15, inst.at(result), message);
    }
}

/// DVE-16: operators of the cached form.
fn cached_operators(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use AluOpType as Alu;
    use EngineAccumulationType as Acc;
    let Op::TensorScalarCache(op) = inst.op() else { return };
    let text = |op: AluOpType| op.text(&cx.module.names);
    if !matches!(op.acc, Acc::ZeroAccumulate | Acc::AddAccumulate | Acc::LoadAccumulate) {
        let message = format!(
            "acc is {}; TensorScalarCache takes ZeroAccumulate, AddAccumulate and LoadAccumulate",
            op.acc.text(&cx.module.names)
        );
        out.report(DVE_16, inst.place(), message).vendor("BVF015", "");
    }
    if is_bitwise(op.op0) || op.op0 == Alu::Rsqrt {
        let message = format!("op0 is {}; it is arithmetic, and not rsqrt", text(op.op0));
        out.report(DVE_16, inst.place(), message);
    }
    if !matches!(op.op1, Alu::Add | Alu::Subtract | Alu::Mult | Alu::Min | Alu::Max) {
        let message = format!("op1 is {}; it is add, subtract, mult, min or max", text(op.op1));
        out.report(DVE_16, inst.place(), message).vendor("BVF018", "op1 must be add/subtract/mult/min/max");
    }
    if cx.level == 20 && (is_set(op.reverse0) || is_set(op.reverse1)) {
        out.report(
            DVE_16,
            inst.place(),
            "reversed operands need arch 30 or newer, and the module is for arch 20",
        );
    }
    if op.mode != TSCMode::TensorScan {
        return;
    }
    if op.op0 != Alu::Bypass || is_set(op.reverse0) {
        let message = format!("op0 is {}; in mode TensorScan it is bypass, not reversed", text(op.op0));
        out.report(DVE_16, inst.place(), message);
    }
    if let Some(scalar) = inst.role(Role::Scalar0).filter(|scalar| number(scalar) != Some(0.0)) {
        out.report(DVE_16, inst.at(scalar), "the second input of mode TensorScan is an immediate 0");
    }
}

/// DVE-19.
fn count(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let count = inst.ins().count();
    if !matches!(count, 2 | 3) {
        out.report(DVE_19, inst.place(), format!("{count} inputs; TensorScalarPtr has 2 or 3"));
    }
}

/// DVE-22: mean and variance have one type.
fn gradient_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(mean), Some(factor)) = (inst.role(Role::Mean), inst.role(Role::Varfactor)) else { return };
    if mean.dtype.zip(factor.dtype).is_some_and(|(a, b)| a != b) {
        let message = format!(
            "the mean is {} and the variance {}; both have one type",
            mean.dtype_text(cx),
            factor.dtype_text(cx)
        );
        out.report(DVE_22, inst.at(factor), message);
    }
}

/// DVE-23: the accumulator holds floats.
fn read_out(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(output) = inst.output(0) else { return };
    if output.dtype.is_some_and(|dtype| dtype.is_known() && !is_float(dtype)) {
        let message =
            format!("writes {}; the accumulator is read as a floating-point type", output.dtype_text(cx));
        out.report(DVE_23, inst.at(output), message);
    }
}

/// DVE-24: exact integer arithmetic is Pool's, which does not reach PSUM.
fn integers_in_psum(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::TensorTensor(op) = inst.op() else { return };
    if !matches!(op.op, AluOpType::Add | AluOpType::Subtract | AluOpType::Mult) {
        return;
    }
    let is_wide = |operand: &Operand<'_>| matches!(operand.dtype, Some(Dtype::Int32 | Dtype::Uint32));
    if !inst.operands.iter().all(is_wide) {
        return;
    }
    let Some(operand) = inst.operands.iter().find(|operand| operand.is_psum()) else { return };
    let message = format!(
        "{} of 32-bit integers runs on Pool, which does not reach PSUM, and this operand is there",
        op.op.text(&cx.module.names)
    );
    let finding = out.report(DVE_24, inst.at(operand), message).help("copy the operand to SB first");
    if inst.engine == EngineType::DVE {
        finding.note("on DVE it is computed in float32").at_most(Severity::Warning);
    }
}
