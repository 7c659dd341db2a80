//! The vector engine: DVE.

use bir::enums::InstructionType;
use bir::operands::Role;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[Check::inst(&[DVE_01], search)];

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
