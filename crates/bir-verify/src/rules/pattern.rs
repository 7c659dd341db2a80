//! Access patterns: bounds, partitions, steps and dimensions: AP, PART.

use bir::OperandList;
use bir::access::ApPair;
use bir::enums::{InstructionType, MemoryType};
use bir::operands::Role;
use smallvec::SmallVec;

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Site, Start, Unit, each_offset};

pub(super) const CHECKS: &[Check] = &[
    Check::operand(&[AP_01, AP_05], bounds),
    Check::operand(&[AP_04], shape),
    Check::operand(&[AP_06, AP_07, AP_08], descriptor).on(ENCODED),
    Check::operand(&[AP_09], alignment),
    Check::operand(&[PART_01, PART_02, PART_04, PART_05, PART_06], partitions).on(ENCODED),
    Check::operand(&[PART_07], matmul_start),
    Check::operand(&[PART_08], partition_step).on(ENCODED),
    Check::inst(&[PART_10], same_start),
];

/// Units whose instruction words hold the operands.
const ENCODED: &[Unit] = &[Unit::Engine];

/// The lowest and the highest element that pairs reach from a start. Nothing when a count is not one: AP-04 says so.
fn reach(pairs: impl Iterator<Item = ApPair>) -> Option<(i64, i64)> {
    let (mut low, mut high) = (0i64, 0i64);
    for pair in pairs {
        if pair.num < 1 {
            return None;
        }
        let last = pair.num.checked_sub(1)?.checked_mul(pair.step)?;
        if last < 0 {
            low = low.checked_add(last)?;
        } else {
            high = high.checked_add(last)?;
        }
    }
    Some((low, high))
}

/// Elements of the location, in the type of the operand.
fn location_elements(operand: &Operand<'_>) -> Option<i64> {
    let loc = operand.loc?;
    let bytes = loc.dims.as_ref()?.product()?;
    i64::try_from(bytes.checked_div(operand.size)?).ok()
}

fn bounds(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if operand.size == 0 || operand.pattern.is_none() || operand.touched.is_some_and(|touched| touched.is_all)
    {
        return;
    }
    let (low, high) = match &operand.start {
        Start::At(at) => (*at, *at),
        Start::Several(offsets) => match offsets.hull() {
            Some(hull) => hull,
            None => return,
        },
        Start::Unknown => return,
    };
    let Some((below, above)) = reach(operand.pairs()) else { return };
    let in_loop = if low == high { "" } else { ", over all iterations of the loops around it" };
    if let Some(elements) = location_elements(operand) {
        let (first, last) = (low.saturating_add(below), high.saturating_add(above));
        if first < 0 || last >= elements {
            let loc = operand.loc_id.map(|loc| cx.location_text(loc)).unwrap_or_default();
            let message = format!(
                "access pattern out of bounds: elements {first} to {last}{in_loop}, and {loc} has {elements} elements of {}",
                operand.dtype_text(cx)
            );
            out.report(AP_01, inst.at(operand), message)
                .vendor("NCC_IBIR243", "Access pattern out of bounds")
                .help("shorten the pattern or move its offset; steps and offset count elements of the operand's type");
        }
    }
    let Some(pitch) = operand.pitch() else { return };
    let Some((below, above)) = reach(operand.free_pairs()) else { return };
    let mut worst: Option<(i64, i64)> = None;
    let mut look = |at: i64| {
        let column = at.rem_euclid(pitch);
        let (first, last) = (column.saturating_add(below), column.saturating_add(above));
        if (first < 0 || last >= pitch) && worst.is_none() {
            worst = Some((first, last));
        }
    };
    match &operand.start {
        Start::At(at) => look(*at),
        Start::Several(offsets) => each_offset(offsets, &mut look),
        Start::Unknown => {}
    }
    if let Some((first, last)) = worst {
        let row = operand.row_bytes().unwrap_or_default();
        let message = format!(
            "access pattern out of bounds: columns {first} to {last} of rows that have {pitch} elements of {} \
             ({row} bytes){in_loop}",
            operand.dtype_text(cx)
        );
        out.report(AP_05, inst.at(operand), message)
            .vendor("NCC_IBIR243", "Access pattern out of bound")
            .help("a pattern may not run from one partition into the next: end it at the row, or use a longer row");
    }
}

fn shape(_: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    let Some(pattern) = operand.pattern else { return };
    if pattern.is_empty() {
        out.report(AP_04, inst.at(operand), "the access pattern has no pair; it needs one at least");
    } else if let Some(at) = pattern.iter().position(|pair| pair.num < 1) {
        let num = pattern.get(at).map_or(0, |pair| pair.num);
        let message =
            format!("pair {at} of {} has the count {num}; it must be 1 at least", operand.pattern_text());
        out.report(AP_04, inst.at(operand), message);
    }
}

/// Whether the rules on what an instruction word can say hold for an operand.
fn is_encoded(inst: &Site, operand: &Operand<'_>) -> bool {
    ENCODED.contains(&inst.unit) && operand.is_on_chip()
}

/// Free dimensions, outermost first, without those of one element; neighbours that are one progression made one.
fn merged(operand: &Operand<'_>) -> SmallVec<[ApPair; 5]> {
    let mut dims = SmallVec::<[ApPair; 5]>::new();
    for pair in operand.free_pairs().filter(|pair| pair.num > 1) {
        match dims.last_mut() {
            Some(outer) if pair.step.checked_mul(pair.num) == Some(outer.step) => {
                *outer = ApPair { step: pair.step, num: outer.num.saturating_mul(pair.num) };
            }
            _ => dims.push(pair),
        }
    }
    dims
}

/// Free dimensions that the instruction word has for an operand: the most of its layouts. Layouts are named after
/// them, `S3S3D3_TT` for two sources and a destination of three.
fn word_dims(operand: &Operand<'_>) -> Option<usize> {
    let dims = |wire: &&str| {
        let (layout, field) = wire.split_once('.')?;
        let field = field.rsplit('.').next()?;
        let (kind, nth) = match field {
            "src" | "src0" | "pred" => ('S', 0),
            "src1" => ('S', 1),
            "dst" => ('D', 0),
            _ => return None,
        };
        let shapes = layout.split('_').next()?.replace("MX", "");
        let digits: Vec<(char, u32)> = shapes
            .chars()
            .zip(shapes.chars().skip(1))
            .filter_map(|(letter, digit)| Some((letter, digit.to_digit(10)?)))
            .collect();
        let mut of_kind = digits.iter().filter(|(letter, _)| *letter == kind);
        of_kind.nth(nth).map(|(_, dims)| *dims as usize)
    };
    operand.slot?.wire.iter().filter_map(dims).max()
}

fn descriptor(_: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if !is_encoded(inst, operand) {
        return;
    }
    let Some(pattern) = operand.pattern else { return };
    for pair in operand.free_pairs().filter(|pair| pair.num > 1) {
        let step = pair.step;
        if i16::try_from(step).is_err() {
            let (name, limit) = if step > 0 { ("large", "Max=32767") } else { ("small", "Min=-32768") };
            let sign = if step > 0 { '>' } else { '<' };
            let message = format!(
                "step is too {name} for the 16 bits that instruction words have for it: Step={step} {sign} {limit} elements in {}",
                operand.pattern_text()
            );
            out.report(AP_06, inst.at(operand), message)
                .vendor("", format!("the new step is too {name}: Step={step} {sign} {limit}"))
                .help("copy the data together first, or use an element type that is wider");
        }
        if pair.num > 65535 {
            let message = format!(
                "count {} of {} does not fit the 16 bits that instruction words have for it: at most 65535",
                pair.num,
                operand.pattern_text()
            );
            out.report(AP_06, inst.at(operand), message).help("split the instruction");
        }
    }
    if pattern.len() > 3 {
        let dims = merged(operand);
        if dims.len() > 1
            && let Some(most) = word_dims(operand).filter(|most| dims.len() > *most)
        {
            let message = format!(
                "Too many strides: {} has {} free dimensions that are no single progression, and the instruction word \
                 has {most} for this operand",
                operand.pattern_text(),
                dims.len()
            );
            out.report(AP_07, inst.at(operand), message)
                .help("split the instruction over the outermost dimension, or copy the data together first");
        }
    }
    if !(2..=5).contains(&pattern.len()) {
        let message = format!(
            "{} has {} pairs; operands of engine instructions have 2 to 5, the partition pair included",
            operand.pattern_text(),
            pattern.len()
        );
        out.report(AP_08, inst.at(operand), message);
    }
}

fn alignment(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    let Some(loc) = operand.loc.filter(|loc| loc.is_placed() && operand.size > 1) else { return };
    let placed = matches!(loc.r#type, MemoryType::SB | MemoryType::PSUM | MemoryType::DRAM);
    if !placed || !matches!(operand.start, Start::At(_)) || loc.addr.is_multiple_of(operand.size) {
        return;
    }
    let message = format!(
        "address {} is not a multiple of {}, the size of {}",
        loc.addr,
        operand.size,
        operand.dtype_text(cx)
    );
    out.report(AP_09, inst.at(operand), message).help("place the location at a multiple of the element size");
}

/// `0, 32, 64 or 96`
pub(super) fn alternatives(values: &[u32]) -> String {
    let texts: Vec<String> = values.iter().map(u32::to_string).collect();
    match &texts[..] {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn partitions(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if !is_encoded(inst, operand) {
        return;
    }
    let Some(count) = operand.partitions().filter(|count| *count > 0) else { return };
    let most = cx.target.sb_partitions;
    if count > most {
        let message = format!("accesses {count} partitions; there are {most}");
        out.report(PART_01, inst.at(operand), message);
        return;
    }
    // Scales start at every fourth partition of half a quadrant. spec: MX-03, MX-04, MX-15, QMX-06
    if matches!(operand.role(), Some(Role::MovingScale | Role::StationaryScale | Role::ScaleResult)) {
        return;
    }
    let Some(loc) = operand.loc else { return };
    let starts = cx.target.access_starts_of(count);
    // A location that has no place yet will start where its own partitions allow.
    let bases: &[u32] = match loc.is_placed() {
        true => std::slice::from_ref(&loc.base),
        false => loc.partitions().and_then(|own| cx.target.access_starts_of(own.max(count))).unwrap_or(&[0]),
    };
    let rows = operand.start_rows();
    let several = if rows.len() > 1 { " in some iteration of a loop" } else { "" };
    let plural = if count == 1 { "" } else { "s" };
    // One row that no base makes legal is enough.
    let illegal = |legal: &dyn Fn(i64) -> bool| {
        rows.iter().copied().find(|row| !bases.iter().any(|base| legal(i64::from(*base) + row)))
    };
    let start = |row: i64| i64::from(bases[0]) + row;
    if let Some(starts) = starts
        && let Some(row) = illegal(&|at| starts.iter().any(|start| i64::from(*start) == at))
    {
        let at = start(row);
        let most = match at {
            0 => 128,
            64 => 64,
            32 | 96 => 32,
            _ => 0,
        };
        // The vendor's words, so that a search for them finds this.
        let vendor = match most {
            0 => format!("Invalid access of {count} partitions starting at partition {at}"),
            most => format!("Pattern accesses {count} (> {most}) partitions starting at partition {at}"),
        };
        let message = format!(
            "{vendor}{several}: {} may start at {}",
            match count {
                0..=32 => "up to 32 partitions",
                33..=64 => "33 to 64 partitions",
                _ => "more than 64 partitions",
            },
            alternatives(starts)
        );
        out.report(PART_04, inst.at(operand), message)
            .vendor("", vendor)
            .help("move the data to a partition where an access may start, or split the access; a DMA may start anywhere");
    }
    let (crosses_start, crosses_count) = (rows.iter().copied().map(start), count as i64);
    if let Some(at) =
        crosses_start.into_iter().find(|at| *at > 0 && *at < 64 && at + crosses_count > 64 && loc.is_placed())
    {
        let message = format!(
            "access pattern crosses 64th partition boundary: {count} partition{plural} from partition {at} on"
        );
        out.report(PART_02, inst.at(operand), message);
    }
    if operand.is_psum()
        && let Some(starts) = cx.target.psum_starts_of(count)
        && let Some(row) = illegal(&|at| starts.iter().any(|start| i64::from(*start) == at))
    {
        let rule = if cx.level >= 20 { PART_05 } else { PART_06 };
        let message = format!(
            "PSUM access of {count} partition{plural} starting at partition {}{several}; PSUM accesses must start at {}",
            start(row),
            if cx.level >= 20 {
                format!("a %32 partition ({})", alternatives(starts))
            } else {
                "partition 0".into()
            }
        );
        out.report(rule, inst.at(operand), message);
    }
}

fn matmul_start(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if cx.level > 10 || operand.list != OperandList::Ins || !operand.is_sb() {
        return;
    }
    if let Some(start) = operand.start_partition().filter(|start| *start != 0) {
        let message =
            format!("the input starts at partition {start}; inputs of a matmul start at partition 0 here");
        out.report(PART_07, inst.at(operand), message);
    }
}

fn partition_step(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if !is_encoded(inst, operand) {
        return;
    }
    let (Some(pitch), Some(first)) = (operand.pitch(), operand.pattern.and_then(|ap| ap.get(0))) else {
        return;
    };
    if first.num <= 1 || first.step == pitch {
        return;
    }
    let message = format!(
        "illegal partition step: the first pair of {} steps by {} elements, and a row of the location has {pitch} of {}; \
         engines access neighbouring partitions",
        operand.pattern_text(),
        first.step,
        operand.dtype_text(cx)
    );
    out.report(PART_08, inst.at(operand), message)
        .help("make the first step the row length; a DMA may step over partitions");
}

fn same_start(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    debug_assert_eq!(inst.opcode, InstructionType::TensorTensor);
    let (Some(a), Some(b)) = (inst.input(0), inst.input(1)) else { return };
    if !a.is_sb() || !b.is_sb() {
        return;
    }
    let (Some(first), Some(second)) = (a.start_partition(), b.start_partition()) else { return };
    if first != second {
        let message = format!(
            "base partition for access is expected to be equal if both inputs are in SB: ins[0] starts at partition \
             {first}, ins[1] at partition {second}"
        );
        out.report(PART_10, inst.place(), message)
            .vendor(
                "NCC_IBIR297",
                "base partition for access is expected to be equal if both inputs are in SB",
            )
            .help("copy one of them to the partitions of the other; inputs in PSUM are exempt");
    }
}
