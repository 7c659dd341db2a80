//! Storage: places of locations, their sizes and aliases: ALLOC, MEM-04 to MEM-06, MOD-09.

use bir::OpenEnum;
use bir::diag::{Place, Severity};
use bir::enums::{MemoryType, TensorKind};
use bir::ids::{FuncId, LocId, SetId};
use bir::records::MemoryLocation;
use smallvec::SmallVec;

use super::pattern::alternatives;
use super::{Check, Needs};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::function(
        &[ALLOC_01, ALLOC_02, ALLOC_03, ALLOC_04, ALLOC_07, ALLOC_08, MEM_04, MEM_05, MEM_06, MOD_09],
        storage,
    ),
    Check::inst(&[ALLOC_06], fits_together).needs(Needs::Operands),
    Check::inst(&[ALLOC_05], overlap).needs(Needs::Operands),
];

fn storage(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    for set in cx.module.sets_of(function) {
        sizes(cx, set, out);
        for loc in &cx.module[set].memorylocations {
            location(cx, loc, out);
        }
    }
}

/// MOD-09: nothing is empty.
fn sizes(cx: &Cx<'_>, id: SetId, out: &mut Findings<'_>) {
    let set = &cx.module[id];
    let empty = set.memorylocations.iter().copied().find(|loc| {
        let dims = cx.module[*loc].dims.as_ref();
        dims.is_some_and(|dims| !dims.is_empty() && dims.product() == Some(0))
    });
    let place = Place::storage(id);
    if set.tensor_shape.iter().any(|dim| dim == 0) {
        let message = format!(
            "tensor size must be more than 0, {}: the shape {:?} has a zero",
            cx.name(id),
            set.tensor_shape
        );
        out.report(MOD_09, place, message)
            .vendor("", format!("tensor size must be more than 0, {}", cx.name(id)));
    } else if let Some(loc) = empty {
        let message = format!(
            "tensor size must be more than 0, {}: {} has no bytes",
            cx.name(id),
            cx.location_text(loc)
        );
        out.report(MOD_09, place, message)
            .vendor("", format!("tensor size must be more than 0, {}", cx.name(id)));
    }
}

fn location(cx: &Cx<'_>, id: LocId, out: &mut Findings<'_>) {
    let loc = &cx.module[id];
    let place = Place::storage(id);
    let total = loc.dims.as_ref().and_then(|dims| dims.product());
    if total.is_none_or(|bytes| bytes >= 1 << 32) && loc.dims.is_some() {
        let bytes = total.map_or("more than 64 bits of".into(), |bytes| bytes.to_string());
        let message =
            format!("{} has {bytes} bytes; a location has less than 4294967296", cx.location_text(id));
        out.report(ALLOC_07, place, message).help("split the tensor");
    }
    if !loc.alias.is_empty() && loc.r#type != MemoryType::DRAM {
        let message = format!("{} has aliases and is not in DRAM", cx.location_text(id));
        out.report(MEM_04, place, message);
    }
    for alias in loc.alias.iter().filter(|_| loc.r#type == MemoryType::DRAM) {
        if cx.module[alias.to].r#type != MemoryType::DRAM {
            let message = format!(
                "{} is an alias of {}, which is not in DRAM",
                cx.location_text(id),
                cx.location_text(alias.to)
            );
            out.report(MEM_04, place, message);
        }
    }
    if loc.pack_id_hint != -1 && loc.r#type != MemoryType::PSUM {
        let message =
            format!("{} has pack_id_hint {}, which is for PSUM", cx.location_text(id), loc.pack_id_hint);
        out.report(MEM_05, place, message);
    }
    let kind = cx.module[loc.set].kind;
    if loc.pointer_ref_memloc.is_some() && kind != Some(TensorKind::Pointer) {
        let kind = kind.map_or("no kind", |kind| kind.text(&cx.module.names));
        let message =
            format!("{} points to a location; its set must have kind Pointer and has {kind}", cx.name(id));
        out.report(MEM_06, place, message);
    }
    unaddressed(cx, id, loc, out);
    if loc.is_placed() {
        match loc.r#type {
            MemoryType::SB => in_sb(cx, id, loc, out),
            MemoryType::PSUM => in_psum(cx, id, loc, out),
            MemoryType::DRAM => in_dram(cx, id, loc, out),
            _ => {}
        }
    } else if loc.r#type == MemoryType::PSUM {
        too_many_banks(cx, id, loc, out);
    }
}

/// Whether a location says its address, and its bank if it needs one.
fn has_address(loc: &MemoryLocation) -> (bool, bool) {
    let has_addr = loc.addr != 0 || loc.present.has(MemoryLocation::ADDR);
    let has_bank = loc.r#type != MemoryType::PSUM || loc.bank != 0 || loc.present.has(MemoryLocation::BANK);
    (has_addr, has_bank)
}

/// ALLOC-08: `allocated` needs an address.
fn unaddressed(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, out: &mut Findings<'_>) {
    let placeable = matches!(loc.r#type, MemoryType::SB | MemoryType::PSUM | MemoryType::DRAM);
    if !loc.allocated || !placeable {
        return;
    }
    let missing = match has_address(loc) {
        (true, true) => return,
        (false, true) => "no addr",
        (true, false) => "no bank",
        (false, false) => "neither addr nor bank",
    };
    out.report(ALLOC_08, Place::storage(id), format!("{} is allocated and has {missing}", cx.name(id)));
}

fn out_of_bound(cx: &Cx<'_>, id: LocId, why: String) -> String {
    format!("allocated memory out of bound {} {why}", cx.location_text(id))
}

/// Partitions and bytes in each of them; nothing when the dimensions are not those of an on-chip location.
fn extent(loc: &MemoryLocation) -> Option<(u64, u64)> {
    Some((loc.partitions()?, loc.bytes()?))
}

fn in_sb(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, out: &mut Findings<'_>) {
    let Some((partitions, bytes)) = extent(loc) else { return };
    let target = cx.target;
    let place = Place::storage(id);
    let last = u64::from(loc.base).saturating_add(partitions);
    let end = loc.addr.saturating_add(bytes);
    let vendor = format!("Allocated memory out of bound {}", cx.location_text(id));
    if last > target.sb_partitions {
        let why =
            format!("needs partitions {} to {}; there are {}", loc.base, last - 1, target.sb_partitions);
        out.report(ALLOC_01, place, out_of_bound(cx, id, why)).vendor("", vendor.clone());
    }
    if end > target.sb_partition_bytes {
        let why = format!("ends at byte {end} of partitions of {} bytes", target.sb_partition_bytes);
        out.report(ALLOC_01, place, out_of_bound(cx, id, why))
            .vendor("", vendor)
            .help(format!("place it at byte {} or lower", target.sb_usable_bytes().saturating_sub(bytes)));
    } else if end > target.sb_usable_bytes() {
        let message = format!(
            "{} ends at byte {end}; kernels have {} bytes of a partition, the rest is reserved",
            cx.location_text(id),
            target.sb_usable_bytes()
        );
        // spec: verify 12: compilers do place tensors there.
        out.report(ALLOC_02, place, message).at_most(Severity::Note);
    }
    base(cx, id, loc, partitions, out);
}

/// ALLOC-04: a location starts where accesses to its partitions may start.
fn base(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, partitions: u64, out: &mut Findings<'_>) {
    let Some(starts) = cx.target.access_starts_of(partitions) else { return };
    if partitions > 0 && !starts.contains(&loc.base) {
        let message = format!(
            "{} has {partitions} partitions from partition {} on; so many may start at {}",
            cx.location_text(id),
            loc.base,
            alternatives(starts)
        );
        out.report(ALLOC_04, Place::storage(id), message);
    }
}

fn too_many_banks(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, out: &mut Findings<'_>) -> bool {
    let Some((_, bytes)) = extent(loc) else { return false };
    let (bank, banks) = (cx.target.psum_bank_bytes, cx.target.psum_banks);
    let needs = bytes.div_ceil(bank);
    if needs <= banks {
        return false;
    }
    let message = format!(
        "{} is too big for PSUM: it requires {needs} banks of {bank} bytes, and there are {banks}",
        cx.location_text(id)
    );
    let vendor = format!(
        "{} is too big for PSUM, requires {needs} banks with PSUM size {}",
        cx.name(id),
        bank * banks
    );
    out.report(ALLOC_03, Place::storage(id), message).vendor("", vendor);
    true
}

fn in_psum(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, out: &mut Findings<'_>) {
    let Some((partitions, bytes)) = extent(loc) else { return };
    let (bank_bytes, target, place) = (cx.target.psum_bank_bytes, cx.target, Place::storage(id));
    let last = u64::from(loc.base).saturating_add(partitions);
    if last > target.psum_partitions {
        let why =
            format!("needs partitions {} to {}; PSUM has {}", loc.base, last - 1, target.psum_partitions);
        out.report(ALLOC_01, place, out_of_bound(cx, id, why))
            .vendor("", "Allocated memory out of bound in PSUM");
    }
    if too_many_banks(cx, id, loc, out) {
        return;
    }
    let start = loc.bank.unsigned_abs().saturating_mul(bank_bytes).saturating_add(loc.addr);
    let end = start.saturating_add(bytes);
    if end > target.psum_partition_bytes() {
        let why = format!(
            "in bank {} ends at byte {end} of partitions of {} bytes ({} banks of {bank_bytes})",
            loc.bank.unsigned_abs(),
            target.psum_partition_bytes(),
            target.psum_banks
        );
        out.report(ALLOC_01, place, out_of_bound(cx, id, why))
            .vendor("", "Allocated memory out of bound in PSUM");
    } else if bytes > 0 && bytes <= bank_bytes && start / bank_bytes != (end - 1) / bank_bytes {
        let message = format!(
            "{} crosses from bank {} into bank {}, and an op cannot write to multiple PSUM banks: {bytes} bytes from byte {} of the bank on",
            cx.location_text(id),
            start / bank_bytes,
            (end - 1) / bank_bytes,
            start % bank_bytes
        );
        out.report(ALLOC_03, place, message).vendor("", "cannot write to multiple PSUM banks");
    }
}

fn in_dram(cx: &Cx<'_>, id: LocId, loc: &MemoryLocation, out: &mut Findings<'_>) {
    let Some(bytes) = loc.bytes() else { return };
    let window = cx.target.hbm_gib_per_core << 30;
    let end = loc.addr.saturating_add(bytes);
    if end > window {
        let why =
            format!("ends at byte {end}; a core has {} GiB of device memory", cx.target.hbm_gib_per_core);
        out.report(ALLOC_01, Place::storage(id), out_of_bound(cx, id, why)).at_most(Severity::Warning);
    }
}

/// Distinct locations of SB that an instruction names.
fn sb_locations(inst: &Inst<'_>) -> SmallVec<[LocId; 6]> {
    let mut locations = SmallVec::<[LocId; 6]>::new();
    for operand in inst.operands.iter().filter(|operand| operand.is_sb()) {
        if let Some(loc) = operand.loc_id.filter(|loc| !locations.contains(loc)) {
            locations.push(loc);
        }
    }
    locations
}

fn fits_together(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let unplaced =
        |operand: &Operand<'_>| operand.loc_id.is_some() && operand.loc.is_some_and(|loc| !loc.is_placed());
    if !inst.operands.iter().any(|operand| operand.is_sb() && unplaced(operand)) {
        return;
    }
    let locations = sb_locations(inst);
    // Places that overlap are another fault, or none: then their sum says nothing.
    let bytes = |loc: &LocId| cx.module[*loc].bytes().unwrap_or(0);
    let total = locations.iter().map(bytes).fold(0u64, u64::saturating_add);
    let limit = cx.target.sb_partition_bytes;
    if total <= limit || locations.len() < 2 {
        return;
    }
    let sum: Vec<String> = locations.iter().map(|loc| bytes(loc).to_string()).collect();
    let message = format!(
        "couldn't be allocated in SB: the operands need {total} bytes of each partition ({}), which has {limit}",
        sum.join(" + ")
    );
    let vendor = format!(
        "Instruction: {} with opcode: {} couldn't be allocated in SB",
        inst.name(cx),
        inst.op_name(cx)
    );
    out.report(ALLOC_06, inst.place(), message)
        .vendor("NCC_IBIR229", vendor)
        .help("split the instruction into tiles");
}

/// ALLOC-05, as far as it can be told without lifetimes: what one instruction reads together, or writes together, is
/// alive at the same time.
fn overlap(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let placed = |at: usize| {
        let operand = inst.operands.get(at)?;
        let (id, loc) = (operand.loc_id?, operand.loc?);
        (operand.is_on_chip() && loc.is_placed()).then_some((operand, id, loc))
    };
    let count = inst.operands.len();
    for first in 0..count {
        // Operands of one list stand together.
        if inst.operands.get(first + 1).is_none_or(|next| next.list != inst.operands[first].list) {
            continue;
        }
        let Some((a, a_id, a_loc)) = placed(first) else { continue };
        for second in first + 1..count {
            let Some((b, b_id, b_loc)) = placed(second) else { continue };
            if a.list != b.list
                || a_id == b_id
                || a_loc.r#type != b_loc.r#type
                || !locations_meet(cx, a_loc, b_loc)
            {
                continue;
            }
            let verb = if a.list == bir::OperandList::Outs { "writes" } else { "reads" };
            let message = format!(
                "{verb} {} and {}, which share bytes and are alive at the same time",
                cx.location_text(a_id),
                cx.location_text(b_id)
            );
            out.report(ALLOC_05, inst.at(b), message);
        }
    }
}

/// Whether two placed locations of one on-chip memory share a byte.
pub(super) fn locations_meet(cx: &Cx<'_>, a: &MemoryLocation, b: &MemoryLocation) -> bool {
    Rect::of(cx, a).zip(Rect::of(cx, b)).is_some_and(|(a, b)| a.meets(b))
}

/// Partitions and bytes of an on-chip memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    pub(crate) is_psum: bool,
    pub(crate) row: u64,
    pub(crate) rows: u64,
    /// First byte of each partition.
    pub(crate) byte: u64,
    pub(crate) bytes: u64,
}

impl Rect {
    /// Where a location lies; nothing when it has no place on chip.
    pub(super) fn of(cx: &Cx<'_>, loc: &MemoryLocation) -> Option<Rect> {
        let is_psum = match loc.r#type {
            MemoryType::SB => false,
            MemoryType::PSUM => true,
            _ => return None,
        };
        // Where one without an address lies is not known; that is a fault of its own.
        let (rows, bytes) = extent(loc).filter(|_| loc.is_placed() && has_address(loc) == (true, true))?;
        let bank = if is_psum { cx.target.psum_bank_bytes } else { 0 };
        let byte = loc.bank.unsigned_abs().saturating_mul(bank).saturating_add(loc.addr);
        Some(Rect { is_psum, row: loc.base.into(), rows, byte, bytes })
    }

    /// The first byte behind it.
    pub(super) fn byte_end(self) -> u64 {
        self.byte.saturating_add(self.bytes)
    }

    /// Whether both have a byte.
    pub(super) fn meets(self, other: Rect) -> bool {
        let meet = |a: u64, a_len: u64, b: u64, b_len: u64| {
            a < b.saturating_add(b_len) && b < a.saturating_add(a_len)
        };
        self.is_psum == other.is_psum
            && meet(self.row, self.rows, other.row, other.rows)
            && meet(self.byte, self.bytes, other.byte, other.bytes)
    }
}
