//! The Activation engine: ACT.

use bir::enums::ActivationFunctionType;
use bir::operands::Role;
use bir::{Op, OpenEnum};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[Check::inst(&[ACT_02], immediate_bias)];

/// ACT-02: on arch 20 the bias is a vector, but for two functions.
fn immediate_bias(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::Activation(op) = inst.op() else { return };
    if cx.level != 20 || matches!(op.func, ActivationFunctionType::Copy | ActivationFunctionType::Reciprocal)
    {
        return;
    }
    let Some(bias) = inst.role(Role::Bias).filter(|bias| bias.argument.is_immediate()) else { return };
    let message = format!(
        "the bias of {} is an immediate; on arch 20 it is a vector with one element per partition, but for Copy and Reciprocal",
        op.func.text(&cx.module.names)
    );
    out.report(ACT_02, inst.at(bias), message)
        .vendor("NCC_IBIR605", "Bias parameter for InstActivation")
        .help("write the value to a tile of one element per partition with Memset and give that");
}
