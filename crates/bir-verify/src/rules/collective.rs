//! Collectives: COL.

use bir::OperandList;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] =
    &[Check::operand(&[COL_01], reads_io), Check::operand(&[COL_02], writes_io)];

fn reads_io(cx: &Cx<'_>, inst: &Inst<'_>, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list != OperandList::Outs
        && let Some(set) = operand.set.filter(|set| cx.is_io(*set))
    {
        let message = format!("collectives cannot read IO tensors, and {} is one", cx.name(set));
        out.report(COL_01, inst.at(operand), message)
            .vendor("", "Collective instruction cannot read IO tensors")
            .help("copy it to an internal tensor first");
    }
}

fn writes_io(cx: &Cx<'_>, inst: &Inst<'_>, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list == OperandList::Outs
        && let Some(set) = operand.set.filter(|set| cx.is_io(*set))
    {
        let message = format!("collectives cannot write IO tensors, and {} is one", cx.name(set));
        out.report(COL_02, inst.at(operand), message)
            .vendor("", "Collective instruction cannot write IO tensors")
            .help("write an internal tensor and copy that");
    }
}
