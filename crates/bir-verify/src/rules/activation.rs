//! The Activation engine: ACT.

use bir::enums::{ActivationFunctionType, AluOpType, Dtype, EngineAccumulationType, EngineType};
use bir::operands::Role;
use bir::{Op, OpenEnum};

use super::Check;
use super::measure::{engine_is, is_set, number};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[ACT_01], engine),
    Check::inst(&[ACT_02], immediate_bias),
    Check::inst(&[ACT_03], immediate_types),
    Check::inst(&[ACT_04], ignored_bias),
    Check::inst(&[ACT_05], second_generation),
    Check::inst(&[ACT_06], bias),
];

/// ACT-01.
fn engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    engine_is(cx, inst, ACT_01, &[EngineType::Activation], out);
}

/// ACT-02: on arch 20 the bias is a vector, but for two functions.
fn immediate_bias(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::Activation(op) = inst.op() else { return };
    if cx.level != 20 || matches!(op.func, ActivationFunctionType::Copy | ActivationFunctionType::Reciprocal)
    {
        return;
    }
    let Some(bias) = inst.role(Role::Bias) else { return };
    if bias.argument.is_immediate() {
        let message = format!(
            "the bias of {} is an immediate; on arch 20 it is a vector with one element per partition, but for Copy and Reciprocal",
            op.func.text(&cx.module.names)
        );
        out.report(ACT_02, inst.at(bias), message)
            .vendor("NCC_IBIR605", "Bias parameter for InstActivation")
            .help("write the value to a tile of one element per partition with Memset and give that");
    }
}

/// ACT-03: immediate parameters are float32.
fn immediate_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    for operand in inst.ins().filter(|operand| operand.argument.is_immediate()) {
        let what = match operand.role() {
            Some(Role::Bias) => "bias",
            Some(Role::Scale) => "scale",
            Some(Role::Alpha) => "alpha",
            _ => continue,
        };
        if operand.dtype.is_some_and(|dtype| dtype != Dtype::Float32) {
            let message = format!(
                "the immediate {what} is {}; immediate parameters are float32",
                operand.dtype_text(cx)
            );
            out.report(ACT_03, inst.at(operand), message);
        }
    }
}

/// ACT-04: Copy does not add its bias.
fn ignored_bias(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::Activation(op) = inst.op() else { return };
    let Some(bias) = inst.role(Role::Bias).filter(|_| op.func == ActivationFunctionType::Copy) else {
        return;
    };
    let is_zero = bias.argument.is_immediate() && number(bias).is_none_or(|value| value == 0.0);
    if !is_zero {
        out.report(
            ACT_04,
            inst.at(bias),
            "the function Copy ignores its bias, and this one is not an immediate 0",
        )
        .help("use Identity, which adds the bias");
    }
}

/// ACT-05: what the second-generation instruction takes.
fn second_generation(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    use AluOpType as Alu;
    use EngineAccumulationType as Acc;
    let Op::Activation(op) = inst.op() else { return };
    if !is_set(op.is_activate2) {
        return;
    }
    let text = |op: AluOpType| op.text(&cx.module.names);
    if cx.level < 40 {
        let message = format!("is_activate2 needs arch 40 or newer, and the module is for arch {}", cx.level);
        out.report(ACT_05, inst.place(), message);
    }
    let pair = (op.op0, op.op1);
    let is_pair = matches!(
        pair,
        (Alu::Mult, Alu::Add | Alu::Subtract | Alu::Bypass)
            | (Alu::Add | Alu::Subtract | Alu::Bypass, Alu::Bypass)
    );
    if !is_pair {
        let message = format!(
            "op0 and op1 are ({}, {}); is_activate2 takes (mult, add), (mult, subtract), (mult, bypass), (add, bypass), \
             (subtract, bypass) and (bypass, bypass)",
            text(op.op0),
            text(op.op1)
        );
        out.report(ACT_05, inst.place(), message);
    }
    if !matches!(op.acc, Acc::Idle | Acc::Zero | Acc::AddAccumulate | Acc::ZeroAccumulate) {
        let message = format!(
            "acc is {}; is_activate2 takes Idle, Zero, AddAccumulate and ZeroAccumulate",
            op.acc.text(&cx.module.names)
        );
        out.report(ACT_05, inst.place(), message);
    }
    let mut immediates = inst.ins().filter(|operand| operand.argument.is_immediate());
    if let Some(first) = immediates.next()
        && let Some(other) = immediates.find(|operand| operand.dtype != first.dtype)
    {
        let message = format!(
            "an immediate is {} and another {}; those of is_activate2 have one type",
            first.dtype_text(cx),
            other.dtype_text(cx)
        );
        out.report(ACT_05, inst.at(other), message).vendor("IBIR242", "have mismatching dtypes");
    }
    let quadrant = |operand: &Operand<'_>| Some(operand.start_partition().filter(|_| operand.is_sb())? / 32);
    let mut placed = inst.ins().filter_map(|operand| Some((operand, quadrant(operand)?)));
    if let Some((_, first)) = placed.next()
        && let Some((operand, other)) = placed.find(|(_, other)| *other != first)
    {
        let message = format!(
            "starts in quadrant {other}, and another input in quadrant {first}; those of is_activate2 start in one"
        );
        out.report(ACT_05, inst.at(operand), message);
    }
}

/// ACT-06: what a bias tensor is.
fn bias(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(bias) = inst.role(Role::Bias).filter(|bias| bias.is_access()) else { return };
    if bias.dtype.is_some_and(|dtype| dtype != Dtype::Float32) {
        let message = format!("the bias is {}; it is float32", bias.dtype_text(cx));
        // Kernels pass narrower floats for some functions.
        out.report(ACT_06, inst.at(bias), message).at_most(bir::diag::Severity::Warning);
    }
    if bias.dynamic && !matches!(bias.argument, bir::Argument::RegisterAp(_)) {
        out.report(ACT_06, inst.at(bias), "the bias is an indirect access; its place must be known");
        return;
    }
    if let Some(count) = bias.elements_per_partition().filter(|count| *count != 1) {
        let message = format!("the bias has {count} elements per partition; it has one");
        out.report(ACT_06, inst.at(bias), message);
    }
    let data = inst.role(Role::Data).and_then(|data| data.partitions());
    if let (Some(data), Some(count)) = (data, bias.partitions())
        && count < data
    {
        let message = format!("the bias has {count} partitions for {data} of data; each has one");
        out.report(ACT_06, inst.at(bias), message);
    }
}
