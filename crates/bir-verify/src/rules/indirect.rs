//! Tensor indirection: accesses of engine instructions whose elements an index tensor chooses. IND, but for the
//! dynamic offsets of DMA.

use bir::enums::{AluOpType, AxisListType, Dtype, EngineType};
use bir::geometry::Offsets;
use bir::operands::Role;
use bir::{Argument, Op, OpenEnum, OperandList};
use smallvec::SmallVec;

use super::Check;
use super::matmul::Keys;
use super::measure::is_set;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Unit};

pub(super) const CHECKS: &[Check] =
    &[Check::inst(&[IND_01, IND_04, IND_05, IND_06, IND_07, OPR_01], indirection).on(&[Unit::Engine])];

/// Partitions of a quadrant; index tensors start at its first one.
const QUADRANT: i64 = 32;

/// Partitions that share their indices.
const GROUP: u64 = 16;

/// An indirect access, and its index tensor when the instruction has it.
struct Indirect<'a, 'm> {
    access: &'a Operand<'m>,
    index: Option<&'a Operand<'m>>,
    /// Number of indices that it takes; 0 when it does not say.
    count: u64,
}

fn accesses<'a, 'm>(inst: &'a Inst<'m>) -> SmallVec<[Indirect<'a, 'm>; 2]> {
    let of = |access: &'a Operand<'m>| {
        let Argument::SymbolicAp(arg) = access.argument else { return None };
        let at = usize::try_from(arg.tensor_indirect_arg_id).ok()?;
        let index = inst.list(OperandList::IndirectionIns).get(at);
        Some(Indirect { access, index, count: u64::try_from(arg.num_tensor_indirect_indices).unwrap_or(0) })
    };
    inst.operands.iter().filter_map(of).collect()
}

fn indirection(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if !inst.inst.has_rare() {
        return;
    }
    let indirect = accesses(inst);
    if indirect.is_empty() {
        return;
    }
    if cx.level < 40 {
        let message = format!("an indirect access needs arch 40, and the module is for arch {}", cx.level);
        out.report(IND_01, inst.at(indirect[0].access), message);
        return;
    }
    for Indirect { access, index, count } in &indirect {
        forms(cx, inst, access, out);
        if access.is_dram() {
            let message = format!("an indirect access in {}; it is in SB or PSUM", access.memory_text(cx));
            out.report(IND_04, inst.at(access), message).vendor("BIR703", "must be in either PSUM or SBUF");
        }
        match (index, access.argument) {
            (Some(index), _) => {
                indices(cx, inst, index, out);
                counts(inst, access, index, *count, out);
            }
            (None, Argument::SymbolicAp(arg)) => {
                let message = format!(
                    "is moved by index operand {}, counted from 0, and the instruction has {}",
                    arg.tensor_indirect_arg_id,
                    inst.count(OperandList::IndirectionIns)
                );
                out.report(OPR_01, inst.at(access), message);
            }
            _ => {}
        }
    }
    quadrants(cx, inst, &indirect, out);
}

/// IND-01, IND-06: where indirection is not possible.
fn forms(cx: &Cx<'_>, inst: &Inst<'_>, access: &Operand<'_>, out: &mut Findings<'_>) {
    let place = inst.at(access);
    let writes = access.list == OperandList::Outs;
    if writes && access.is_psum() && inst.engine == EngineType::Activation {
        out.report(IND_01, place, "Activation scatters to PSUM; it scatters to SB only")
            .vendor("BIR706", "in scalar engine cannot scatter to PSUM");
    }
    if let Some(keys) = Keys::of(inst.op()) {
        if keys.tile_size.iter().chain(&keys.tile_position).any(|value| *value != -1) {
            out.report(
                IND_01,
                place,
                "an indirect access in a matmul on a tile; indirection takes the whole array",
            );
        }
        if is_set(keys.is_transpose) && access.role() == Some(Role::Moving) {
            out.report(
                IND_01,
                place,
                "the moving operand of a transpose is indirect; only the stationary one may be",
            );
        }
        if access.dtype.is_some_and(|dtype| dtype.is_known() && !is_gathered_by_pe(dtype)) {
            let message = format!(
                "PE gathers {}; it gathers float16, bfloat16 and 8-bit floats",
                access.dtype_text(cx)
            );
            out.report(IND_06, place, message);
        }
    }
    let why = match inst.op() {
        Op::TensorReduce(op) if matches!(op.axis, AxisListType::C | AxisListType::XYZWC) => {
            Some("a reduction over partitions")
        }
        Op::CopyPredicated(op) if op.reduce_op != AluOpType::Bypass => Some("a predicated copy that reduces"),
        Op::CopyPredicated(_) if inst.role(Role::OnTrue).is_some_and(|source| source.is_access()) => {
            Some("a predicated copy of a tensor")
        }
        Op::TensorScalarPtr(op) if is_set(op.is_tensor_scalar_addr) => Some("the address form"),
        Op::TensorScalarPtr(op) if is_set(op.is_scalar_tensor_tensor) => {
            Some("the scalar-tensor-tensor form")
        }
        Op::TensorScalarPtr(op) if is_set(op.is_tensor_tensor_scan) => Some("the scan form"),
        _ => None,
    };
    if let Some(why) = why {
        out.report(IND_06, place, format!("an indirect access in {why}, which takes none"))
            .vendor("BIR709", format!("not supported for {}", inst.op_name(cx)));
    }
}

fn is_gathered_by_pe(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::Float16
            | Dtype::Bfloat16
            | Dtype::Float8e3
            | Dtype::Float8e4
            | Dtype::Float8e5
            | Dtype::Float8E4m3fn
            | Dtype::Float8E4m3fnX4
            | Dtype::Float8E5m2X4
    )
}

/// IND-01, IND-04: what an index tensor is.
fn indices(cx: &Cx<'_>, inst: &Inst<'_>, index: &Operand<'_>, out: &mut Findings<'_>) {
    if index.dtype.is_some_and(|dtype| dtype != Dtype::Uint16) {
        let message = format!("the indices are {}; they are uint16", index.dtype_text(cx));
        out.report(IND_04, inst.at(index), message);
    }
    if index.is_psum() || index.is_dram() {
        let message = format!("the indices are in {}; they are in SB", index.memory_text(cx));
        out.report(IND_04, inst.at(index), message);
    }
    if let Some(count) = index.partitions().filter(|count| count % GROUP != 0) {
        let message = format!("the indices have {count} partitions; the count is a multiple of {GROUP}");
        out.report(IND_04, inst.at(index), message);
    }
    if let Some(start) = index.start_partition().filter(|start| start % QUADRANT != 0) {
        let message =
            format!("the indices start at partition {start}; they start at a multiple of {QUADRANT}");
        out.report(IND_01, inst.at(index), message);
    }
}

/// IND-07: enough indices, and no more than there are.
fn counts(inst: &Inst<'_>, access: &Operand<'_>, index: &Operand<'_>, count: u64, out: &mut Findings<'_>) {
    if let (Some(of_index), Some(partitions)) = (index.partitions(), access.partitions())
        && of_index < partitions
    {
        let message = format!(
            "indices on {of_index} partitions for {partitions} of data; each group of {GROUP} has its own"
        );
        out.report(IND_07, inst.at(index), message).vendor("XLV024", "must access more or equal partitions");
    }
    if let Some(limit) = index.elements_per_partition().and_then(|per| per.checked_mul(GROUP))
        && count > limit
    {
        let message = format!("takes {count} indices; a group of {GROUP} partitions has {limit}");
        out.report(IND_07, inst.at(access), message);
    }
    let source = inst.input(0).filter(|source| access.list == OperandList::Outs && source.is_access());
    let Some(source) = source else { return };
    let mut next = 1i64;
    for pair in source.free_pairs().rev().filter(|pair| pair.num != 1) {
        if pair.step != next {
            let message = format!("the source of a scatter is {}; it is contiguous", source.pattern_text());
            out.report(IND_07, inst.at(source), message);
            return;
        }
        next = next.saturating_mul(pair.num);
    }
}

/// IND-01, IND-05: what starts together.
fn quadrants(cx: &Cx<'_>, inst: &Inst<'_>, indirect: &[Indirect<'_, '_>], out: &mut Findings<'_>) {
    let mut first_index: Option<i64> = None;
    for Indirect { access, index, .. } in indirect {
        let Some((index, at)) = index.and_then(|index| Some((index, index.start_partition()?))) else {
            continue;
        };
        if let Some(first) = first_index.filter(|first| first / QUADRANT != at / QUADRANT) {
            let message =
                format!("indices start at partition {at} and others at {first}; both start in one quadrant");
            out.report(IND_05, inst.at(index), message);
        }
        first_index = first_index.or(Some(at));
        let scatters = access.list == OperandList::Outs;
        let with = if scatters { inst.input(0) } else { Some(*access) };
        let Some((with, start)) = with.and_then(|with| Some((with, start(cx, inst, with)?))) else {
            continue;
        };
        let what = if scatters { "the source of the scatter" } else { "the gathered data" };
        if start / QUADRANT != at / QUADRANT {
            let message = format!(
                "{what} start at partition {start}, in quadrant {}, and the indices at {at}, in quadrant {}; both start in one",
                start / QUADRANT,
                at / QUADRANT
            );
            out.report(IND_05, inst.at(with), message)
                .vendor("BIR704", "must be in the same partition as the argument");
        } else if start != at && !scatters && at % QUADRANT == 0 {
            let message =
                format!("{what} start at partition {start} and the indices at {at}; both start at one");
            out.report(IND_01, inst.at(with), message);
        }
    }
}

/// The partition at which an access starts. That of an indirect one is the first coordinate of its place.
fn start(cx: &Cx<'_>, inst: &Inst<'_>, operand: &Operand<'_>) -> Option<i64> {
    let Argument::SymbolicAp(arg) = operand.argument else { return operand.start_partition() };
    let loc = operand.loc.filter(|loc| loc.is_placed() && operand.is_on_chip())?;
    let row = match arg.addrs.first() {
        Some(expr) => Offsets::eval(&cx.module.exprs, *expr, inst.axes)?.as_constant()?,
        None => 0,
    };
    Some(i64::from(loc.base) + row)
}
