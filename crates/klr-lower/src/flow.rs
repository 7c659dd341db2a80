//! What is worked out over several instructions: which matrix products start and end an accumulation.

use std::collections::HashMap;

use bir::access::AccessPattern;
use bir::expr::MaybeAffine;
use bir::ids::{FuncId, InstId, LocId};
use bir::ops::Op;
use bir::{Argument, Module};

/// Bits of the accumulation flag (spec: enums, MatmulPsumFlags).
const START: u8 = 1;
const STOP: u8 = 2;

/// A part of a location: offset and pattern of the access.
type Region = (u64, AccessPattern);

/// Sets the accumulation flags, which KLR leaves to the backend: the first product that writes a region of PSUM
/// starts, the last one before anything else touches the location stops. A block starts anew.
pub(crate) fn accumulation_groups(module: &mut Module, function: FuncId) {
    let blocks: Vec<_> = module.blocks_of(bir::Holder::Function(function)).to_vec();
    for block in blocks {
        // The last product of each open group.
        let mut open: HashMap<LocId, HashMap<Region, InstId>> = HashMap::new();
        let insts: Vec<InstId> = module[block].instructions.iter().copied().collect();
        for id in insts {
            let product = accumulates(module, id);
            let operands = module[id].operands();
            let touched: Vec<LocId> =
                operands.filter_map(|(_, _, argument)| argument.location()?.id()).collect();
            // Whatever else touches a location sees what was added up.
            for location in touched {
                if product.as_ref().is_none_or(|(own, _)| *own != location) {
                    for last in open.remove(&location).into_iter().flatten() {
                        flag(module, last.1, STOP);
                    }
                }
            }
            if let Some((location, region)) = product
                && open.entry(location).or_default().insert(region, id).is_none()
            {
                flag(module, id, START);
            }
        }
        for (_, last) in open.into_values().flatten() {
            flag(module, last, STOP);
        }
    }
}

/// The region in which a matrix product adds up.
fn accumulates(module: &Module, id: InstId) -> Option<(LocId, Region)> {
    let inst = &module[id];
    let transposes = match &inst.op {
        Op::Matmult(op) => op.is_transpose,
        Op::MatmultMx(op) => op.is_transpose,
        _ => return None,
    };
    if transposes != MaybeAffine::Value(false) {
        return None;
    }
    match inst.outs.first()? {
        Argument::PhysicalAp(out) => Some((out.memref?.id()?, (out.offset, out.ap.clone()?))),
        _ => None,
    }
}

fn flag(module: &mut Module, id: InstId, bit: u8) {
    let flags = match &mut module[id].op {
        Op::Matmult(op) => &mut op.accumulation_flag,
        Op::MatmultMx(op) => &mut op.accumulation_flag,
        _ => return,
    };
    if let MaybeAffine::Value(flags) = flags {
        *flags |= bit;
    }
}
