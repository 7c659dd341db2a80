//! Measures of operands that the rules of compute ops share.

use bir::enums::{Dtype, EngineType};
use bir::expr::MaybeAffine;
use bir::{Argument, ImmNumber, OpenEnum};

use crate::context::Cx;
use crate::findings::Findings;
use crate::rule::RuleId;
use crate::view::{Inst, Operand};

/// Values in one element: 4 of the types that pack four, else 1. spec: verify 5
pub(super) fn packed(operand: &Operand<'_>) -> u64 {
    if operand.dtype.is_some_and(is_packed) { 4 } else { 1 }
}

/// Whether a type packs four values into an element.
pub(super) fn is_packed(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Float4E2m1fnX4 | Dtype::Float8E4m3fnX4 | Dtype::Float8E5m2X4)
}

/// Values in each partition of an access, packed ones counted one by one.
pub(super) fn values_per_partition(operand: &Operand<'_>) -> Option<u64> {
    operand.elements_per_partition()?.checked_mul(packed(operand))
}

/// Whether a type is a float that ALUs work on.
pub(super) fn is_float(dtype: Dtype) -> bool {
    use Dtype::*;
    matches!(dtype, Float8e3 | Float8e4 | Float8E4m3fn | Float8e5 | Bfloat16 | Float16 | Float32 | Float32r)
}

/// Whether a type is an integer.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    use Dtype::*;
    matches!(dtype, Uint8 | Int8 | Uint16 | Int16 | Uint32 | Int32 | Uint64 | Int64)
}

/// Names of types, for messages.
pub(super) fn names<E: OpenEnum>(values: &[E]) -> String {
    let names: Vec<&str> = values.iter().filter_map(|value| value.name().ok()).collect();
    names.join(", ")
}

/// The number of an immediate; `None` for one that is an expression, and for float16, which is a bit pattern.
pub(super) fn number(operand: &Operand<'_>) -> Option<f64> {
    let Argument::ImmValue(imm) = operand.argument else { return None };
    Some(match (imm.value?, imm.dtype?) {
        (_, Dtype::Float16) => return None,
        (ImmNumber::Unsigned(bits), Dtype::Bfloat16) => {
            f32::from_bits(u32::try_from(bits).ok()? << 16).into()
        }
        (ImmNumber::Unsigned(value), _) => value as f64,
        (ImmNumber::Signed(value), _) => value as f64,
        (ImmNumber::Float(value), _) => value.into(),
    })
}

/// Whether a flag is a constant and set.
pub(super) fn is_set(flag: MaybeAffine<bool>) -> bool {
    flag.value() == Some(true)
}

/// Reports an instruction that names an engine other than the only ones on which it runs. Unassigned and ALL
/// pass, as they do in ENG-01.
pub(super) fn engine_is(
    cx: &Cx<'_>,
    inst: &Inst<'_>,
    rule: RuleId,
    allowed: &[EngineType],
    out: &mut Findings<'_>,
) {
    let is_open = matches!(inst.engine, EngineType::Unassigned | EngineType::ALL);
    // An engine that nobody knows is a fault of its name.
    if is_open || !inst.engine.is_known() || allowed.contains(&inst.engine) {
        return;
    }
    let message = format!(
        "{} is on {}; it runs on {}",
        inst.op_name(cx),
        inst.engine.text(&cx.module.names),
        names(allowed)
    );
    out.report(rule, inst.place(), message).help("give the instruction to that engine");
}
