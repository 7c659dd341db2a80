//! Results and their accumulation in PSUM: PSUM.

use bir::diag::{Place, Severity};
use bir::enums::{Dtype, MemoryType};
use bir::geometry::{Footprint, Overlap, Unknown};
use bir::ids::{BlockId, Id, InstId};
use bir::operands::Role;
use bir::records::PhysicalAp;
use bir::{OpenEnum, OperandList};
use hashbrown::HashMap;
use smallvec::smallvec;

use super::Check;
use super::matmul::Keys;
use super::tile::columns;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::Seen;
use crate::view::{Inst, Operand, Site};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[PSUM_01], cells),
    Check::operand(&[PSUM_02], fits),
    Check::block(&[PSUM_03], accumulation),
    Check::block(&[PSUM_04], one_type),
    Check::operand(&[PSUM_05], bfloat16),
    Check::inst(&[PSUM_06], narrow_alignment),
];

/// PSUM-01: up to arch 30 matmuls accumulate in float32 cells.
fn cells(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(output) = inst.role(Role::PsumDestination).filter(|output| output.is_psum()) else { return };
    let is_transpose = Keys::of(inst.op()).is_some_and(|keys| keys.is_transpose != false);
    let of_set = output.set.and_then(|set| cx.module[set].dtype);
    if let Some(dtype) = of_set.or(output.dtype).filter(|_| cx.level < 40 && !is_transpose)
        && let Some(size) = dtype.size_bytes().filter(|size| *size < 4)
    {
        let message = format!(
            "the tensor of the result is {}, of {size} bytes; up to arch 30 matmuls accumulate in cells of 4",
            dtype.text(&cx.module.names)
        );
        out.report(PSUM_01, inst.at(output), message)
            .help("make the PSUM tensor float32, and convert when it is copied out");
    }
    if let Some(bytes) = output.row_bytes().filter(|bytes| bytes % cx.target.psum_cell_bytes != 0) {
        let message = format!(
            "the tensor of the result has {bytes} bytes per partition; in PSUM that is a multiple of {}",
            cx.target.psum_cell_bytes
        );
        out.report(PSUM_01, inst.at(output), message)
            .vendor("BIR441", "write to PSUM with 4-byte aligned dataType");
    }
}

/// PSUM-02: what is written lies within the banks that there are.
fn fits(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.list != OperandList::Outs || !operand.is_psum() {
        return;
    }
    let Some((_, last)) = columns(operand) else { return };
    let placed = operand.loc.filter(|loc| loc.is_placed());
    let from = placed.map_or(0, |loc| {
        loc.bank.unsigned_abs().saturating_mul(cx.target.psum_bank_bytes).saturating_add(loc.addr)
    });
    let end = from.saturating_add(last.unsigned_abs()).saturating_add(1);
    if end > cx.target.psum_partition_bytes() {
        let message = format!(
            "the output ends at byte {end} of each partition; PSUM has {} banks of {} bytes",
            cx.target.psum_banks, cx.target.psum_bank_bytes
        );
        out.report(PSUM_02, inst.at(operand), message).help("write a smaller tile");
    }
}

/// PSUM-04: the matmuls of an accumulation group write one type.
fn one_type(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    for other in &seen.groups.others {
        let message = format!(
            "accumulates {} into a region that {} started as {}",
            other.dtype.text(&cx.module.names),
            cx.name(other.first),
            other.of_group.text(&cx.module.names)
        );
        out.report(PSUM_04, Place::operand(other.inst, OperandList::Outs, 0), message)
            .related("the start of the group", Place::operand(other.first, OperandList::Outs, 0));
    }
}

/// PSUM-05: only matmuls and memsets write bfloat16 to PSUM.
fn bfloat16(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    use bir::enums::InstructionType as It;
    let writes = operand.list == OperandList::Outs && operand.is_psum();
    let may = matches!(inst.opcode, It::Matmult | It::MatmultSparse | It::MatmultMx | It::Memset);
    if writes && !may && operand.dtype == Some(Dtype::Bfloat16) {
        let message = format!(
            "{} writes bfloat16 to PSUM; only matmuls and Memset do, other ops write 32-bit types there",
            inst.op_name(cx)
        );
        out.report(PSUM_05, inst.at(operand), message).help("write to SB, or write float32");
    }
}

/// PSUM-06: 2-byte results start on a half of a cell that depends on their direction.
fn narrow_alignment(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(output) = inst.role(Role::PsumDestination).filter(|output| output.is_psum()) else { return };
    let Some(loc) = output.loc.filter(|loc| loc.is_placed() && output.size == 2) else { return };
    let Some(inner) = output.free_pairs().rev().find(|pair| pair.num > 1) else { return };
    let Some((low, high)) = columns(output) else { return };
    // Backwards, it starts at its last byte but one.
    let (start, wanted) = match inner.step {
        1 => (loc.addr as i64 + low, 0),
        -1 => (loc.addr as i64 + high - 1, 2),
        _ => return,
    };
    if start.rem_euclid(4) != wanted {
        let message = format!(
            "a 2-byte result with innermost step {} starts at byte {start}; its address modulo 4 is {wanted}",
            inner.step
        );
        out.report(PSUM_06, inst.at(output), message);
    }
}

/// Bits of an accumulation flag.
const START: u8 = 1;

/// What the instructions of a block do to PSUM, noted as they are looked at.
#[derive(Debug, Default)]
pub(crate) struct Groups<'m> {
    /// The latest writers, up to the first instruction that has a body or is a call.
    regions: Vec<Region<'m>>,
    unstarted: Vec<Unstarted>,
    /// By location and first byte of the result: who started the group, and its type.
    types: HashMap<(usize, u64), (InstId, Dtype)>,
    others: Vec<OtherType>,
}

/// A region of PSUM and what last happened to it.
#[derive(Debug)]
struct Region<'m> {
    footprint: Footprint,
    /// The access, when it is always at one place: an equal one has the same footprint.
    access: Option<&'m PhysicalAp>,
    /// Whether a matmul wrote it.
    by_matmul: bool,
}

/// A matmul that accumulates into a region that no matmul has started.
#[derive(Debug)]
struct Unstarted {
    place: Place,
    /// Its flag.
    bits: u8,
    /// Whether another op wrote there; nothing did otherwise.
    is_written: bool,
}

/// A matmul that accumulates another type than the one that started.
#[derive(Debug)]
struct OtherType {
    inst: InstId,
    first: InstId,
    dtype: Dtype,
    of_group: Dtype,
}

impl<'m> Groups<'m> {
    /// Looks at the next instruction. `is_straight` says whether all before it surely ran before it.
    pub(crate) fn see(&mut self, cx: &Cx<'m>, inst: &Inst<'m>, is_straight: bool) {
        let keys = Keys::of(inst.op());
        if let Some(keys) = keys {
            self.see_type(inst, keys);
        }
        if is_straight && inst.outs().any(Operand::may_be_psum) && cx.is_on(PSUM_03) {
            self.see_regions(cx, inst, keys);
        }
    }

    fn see_type(&mut self, inst: &Inst<'_>, keys: Keys) {
        let Some(bir::Argument::PhysicalAp(output)) = inst.inst.outs.first() else { return };
        let (Some(loc), Some(dtype)) = (output.memref.and_then(|loc| loc.id()), output.dtype) else { return };
        let size = dtype.size_bytes().map_or(1, u64::from);
        let Some(byte) = output.offset.checked_mul(size) else { return };
        let starts = keys.accumulation_flag.value().is_none_or(|flag| flag & START != 0);
        match self.types.get(&(loc.index(), byte)).filter(|_| !starts) {
            Some(&(first, of_group)) if of_group != dtype => {
                self.others.push(OtherType { inst: inst.id, first, dtype, of_group });
            }
            Some(_) => {}
            None => _ = self.types.insert((loc.index(), byte), (inst.id, dtype)),
        }
    }

    fn see_regions(&mut self, cx: &Cx<'m>, inst: &Inst<'m>, keys: Option<Keys>) {
        // Outputs are always written.
        for (index, argument) in inst.inst.outs.iter().enumerate() {
            if !may_lie_in_psum(cx, argument) {
                continue;
            }
            let flag = keys.map(|keys| keys.accumulation_flag.value());
            let access = match argument {
                bir::Argument::PhysicalAp(access) if access.dynamic_ap_info.is_none() => Some(&**access),
                _ => None,
            };
            let bits = flag.flatten();
            // An op that nobody knows may be one with another name.
            let by_matmul = flag.is_some() || !inst.opcode.is_known();
            // The matmuls of a group write one region after the other: then there is only who wrote it to be noted.
            if let Some(last) = self.regions.last_mut()
                && last.footprint.exact
                && access.zip(last.access).is_some_and(|(access, other)| is_same(access, other))
            {
                let was_by_matmul = std::mem::replace(&mut last.by_matmul, by_matmul);
                if let (Some(bits), false) = (bits.filter(|bits| bits & START == 0), was_by_matmul) {
                    let place = Place::operand(inst.id, OperandList::Outs, index);
                    self.unstarted.push(Unstarted { place, bits, is_written: true });
                }
                continue;
            }
            let known = access.and_then(|access| {
                let mut latest = self.regions.iter().rev();
                latest.find(|region| region.access.is_some_and(|other| is_same(access, other)))
            });
            let footprints = match known {
                Some(region) => smallvec![region.footprint.clone()],
                None => cx.footprints.operand(argument, &Unknown),
            };
            for footprint in footprints {
                if footprint.space != bir::geometry::Space::Psum {
                    continue;
                }
                match bits {
                    Some(bits) if bits & START == 0 && footprint.exact => {
                        let place = Place::operand(inst.id, OperandList::Outs, index);
                        self.see_accumulation(place, bits, &footprint);
                    }
                    _ => {}
                }
                // Only the latest writers matter; old ones are forgotten when they are covered.
                self.regions.retain(|region| !footprint.covers(&region.footprint));
                self.regions.push(Region { footprint, access, by_matmul });
                if self.regions.len() > REGIONS {
                    self.regions.remove(0);
                }
            }
        }
    }

    fn see_accumulation(&mut self, place: Place, bits: u8, footprint: &Footprint) {
        let mut latest = self.regions.iter().rev();
        let last = latest.find(|region| region.footprint.overlap(footprint) != Overlap::No);
        if last.is_none_or(|region| !region.by_matmul) {
            self.unstarted.push(Unstarted { place, bits, is_written: last.is_some() });
        }
    }
}

/// PSUM-03 in the straight line of a block, where it needs no order: a matmul that accumulates into a region that no
/// matmul has started. Interleaved groups and other blocks are for the order command.
fn accumulation(cx: &Cx<'_>, seen: &Seen<'_>, out: &mut Findings<'_>) {
    for Unstarted { place, bits, is_written } in &seen.groups.unstarted {
        if *is_written && cx.level < 40 {
            let message = format!(
                "accumulates (flag {bits}) into a region that another op wrote last; up to arch 30 a matmul has to start it"
            );
            out.report(PSUM_03, *place, message).at_most(Severity::Warning);
        }
        // Another block may have started it.
        if !is_written && is_entry(cx, seen.block) {
            let message = format!(
                "accumulates (flag {bits}) into a region that no matmul has started: the flag of the first one has the start \
                 bit, {START}"
            );
            out.report(PSUM_03, *place, message).help("set the start bit of the first matmul of the group");
        }
    }
}

/// Whether two accesses to a location that are always at one place are the same.
fn is_same(a: &PhysicalAp, b: &PhysicalAp) -> bool {
    a.offset == b.offset
        && a.memref.is_some()
        && a.memref == b.memref
        && (std::ptr::eq(a, b) || a.dtype == b.dtype && a.ap == b.ap)
}

/// Whether an operand names a location of PSUM, or a set.
fn may_lie_in_psum(cx: &Cx<'_>, argument: &bir::Argument) -> bool {
    let loc = argument.location().and_then(|loc| loc.id());
    loc.is_none_or(|loc| cx.module[loc].r#type == MemoryType::PSUM)
}

/// Regions that are remembered.
const REGIONS: usize = 256;

/// Whether nothing runs before a block: the first block of a function, outside of loops.
pub(super) fn is_entry(cx: &Cx<'_>, block: BlockId) -> bool {
    match cx.module[block].holder {
        bir::Holder::Function(function) => cx.module[function].blocks.first() == Some(&block),
        _ => false,
    }
}
