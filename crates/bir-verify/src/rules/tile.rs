//! Tiles of the PE array: MM-04, MM-12 to MM-15, MM-19.
//!
//! `tile_size` and `tile_position` are rows, then columns (spec: opcodes 3); -1 stands for none.

use bir::operands::Role;

use super::Check;
use super::matmul::Keys;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[MM_04, MM_12, MM_19], tile),
    Check::inst(&[MM_13, MM_14], covers),
    Check::inst(&[MM_15], one_bank),
];

/// A direction of the array.
#[derive(Clone, Copy)]
struct Side {
    name: &'static str,
    size: Option<i64>,
    position: Option<i64>,
}

/// The tile of an instruction, rows first; `None` when a number is an expression.
fn sides(inst: &Inst<'_>) -> Option<[Side; 2]> {
    let keys = Keys::of(inst.op())?;
    let given = |value: i32| (value >= 0).then_some(i64::from(value));
    let mut sides = [Side { name: "row", size: None, position: None }; 2];
    for (at, side) in sides.iter_mut().enumerate() {
        side.name = ["row", "column"][at];
        side.size = given(keys.tile_size[at].value()?);
        side.position = given(keys.tile_position[at].value()?);
    }
    Some(sides)
}

/// MM-04, MM-12, MM-19: sizes and positions that exist.
fn tile(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(sides) = sides(inst) else { return };
    let values = sides.iter().flat_map(|side| [side.size, side.position]);
    let given = values.clone().filter(Option::is_some).count();
    if given != 0 && given != values.count() {
        let shown = |value: Option<i64>| value.unwrap_or(-1);
        let message = format!(
            "tile_size is [{}, {}] and tile_position [{}, {}]; all four are given, or none",
            shown(sides[0].size),
            shown(sides[1].size),
            shown(sides[0].position),
            shown(sides[1].position)
        );
        out.report(MM_04, inst.place(), message);
        return;
    }
    for Side { name, size, position } in sides {
        let (Some(size), Some(position)) = (size, position) else { return };
        if !matches!(size, 32 | 64 | 128) {
            let message = format!("{name} tiles have 32, 64 or 128 {name}s; this one has {size}");
            out.report(MM_19, inst.place(), message).vendor("IBIR304", "expect tile size to be one of");
            continue;
        }
        if !matches!(position, 0 | 32 | 64 | 96) {
            let message = format!("{name} tiles start at 0, 32, 64 or 96; this one at {position}");
            out.report(MM_19, inst.place(), message)
                .vendor("IBIR302", format!("has invalid tile group {name} position"));
        }
        if position % size != 0 || position + size > 128 {
            let message = format!(
                "a {name} tile of {size} starts at a multiple of its size below 128; this one starts at {position}"
            );
            out.report(MM_04, inst.place(), message);
        }
    }
    let [rows, columns] = sides;
    if cx.level < 30 && rows.size == Some(32) {
        let message =
            format!("row tiles of 32 need arch 30 or newer, and the module is for arch {}", cx.level);
        out.report(MM_04, inst.place(), message).help("use a row tile of 64 or 128");
    }
    if cx.level == 20 {
        if columns.position == Some(96) {
            out.report(
                MM_12,
                inst.place(),
                "on arch 20 no column tile starts at 96; 0, 32 and 64 are allowed",
            );
        }
        if rows.size == Some(32) && columns.size == Some(32) {
            let message = "the tile is 32 x 32, which arch 20 does not have; the smallest has 64 rows";
            out.report(MM_12, inst.place(), message)
                .vendor("BIR058", "PE tile position cannot be allocated to 96");
        }
    }
}

/// MM-13, MM-14: the tile has room for what the operands access.
fn covers(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some([rows, columns]) = sides(inst) else { return };
    let operands = inst.operands.iter().filter_map(|operand| match operand.role()? {
        Role::Moving | Role::Stationary => Some((operand, rows, cx.target.pe_rows)),
        Role::PsumDestination => Some((operand, columns, cx.target.pe_cols)),
        _ => None,
    });
    for (operand, Side { name, size, position }, array) in operands {
        let (Some(size), Some(position)) = (size, position) else { continue };
        let Some(partitions) = operand.partitions().and_then(|count| i64::try_from(count).ok()) else {
            continue;
        };
        if partitions > size {
            let message = format!("{partitions} partitions for a {name} tile of {size}");
            out.report(MM_14, inst.at(operand), message).vendor(
                "BIR054",
                format!("PE tile size {size} must be >= accessed partition number {partitions}"),
            );
        }
        if position + partitions > array as i64 {
            let message = format!(
                "{partitions} partitions from {name} {position} on end at {}; the PE array has {array} {name}s",
                position + partitions
            );
            out.report(MM_13, inst.at(operand), message).vendor("BIR053", "must be <= PE array size");
        }
        let is_stationary = operand.role() == Some(Role::Stationary);
        if (is_stationary || name == "column")
            && partitions == size
            && let Some(start) = start(operand)
            && start % array as i64 != position
        {
            let message = format!(
                "starts at partition {start}, and the {name} tile that it fills at {name} {position}"
            );
            out.report(MM_13, inst.at(operand), message)
                .vendor("BIR052", format!("PE tile position {position} must be >= start partition"));
        }
    }
}

fn start(operand: &Operand<'_>) -> Option<i64> {
    operand.is_on_chip().then(|| operand.start_partition()).flatten()
}

/// MM-15: up to arch 30 a result lies in one PSUM bank.
fn one_bank(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    // A moving operand that is too long is MM-03.
    let moving = inst.role(Role::Moving).and_then(|moving| moving.elements_per_partition());
    if cx.level >= 40 || moving.is_some_and(|columns| columns > 512) {
        return;
    }
    let Some(output) = inst.role(Role::PsumDestination).filter(|output| output.is_psum()) else { return };
    let bank = cx.target.psum_bank_bytes as i64;
    // Too many moving columns are MM-03: no placement of the result would help.
    let moving = inst.role(Role::Moving).and_then(|moving| moving.elements_per_partition());
    if moving.is_some_and(|columns| columns > 512) {
        return;
    }
    let Some((first, last)) = columns(output) else { return };
    let placed = output.loc.filter(|loc| loc.is_placed()).map_or(0, |loc| loc.addr as i64 % bank);
    let (first, last) = (placed + first, placed + last);
    let crosses = match output.loc.is_some_and(|loc| loc.is_placed()) {
        true => first.div_euclid(bank) != last.div_euclid(bank),
        false => last - first >= bank,
    };
    if crosses {
        let message = format!(
            "the result takes bytes {first} to {last} of each partition, counted from the start of its bank; a bank has {bank}"
        );
        out.report(MM_15, inst.at(output), message)
            .help("split the moving operand, so that each result fits one bank");
    }
}

/// First and last byte within a partition of the location.
pub(super) fn columns(operand: &Operand<'_>) -> Option<(i64, i64)> {
    let size = i64::try_from(operand.size).ok().filter(|size| *size > 0)?;
    let crate::view::Start::At(at) = operand.start else { return None };
    let column = at.rem_euclid(operand.pitch()?);
    let (mut low, mut high) = (0i64, 0i64);
    for pair in operand.free_pairs() {
        let extent = pair.step.checked_mul(pair.num.checked_sub(1)?)?;
        low = low.checked_add(extent.min(0))?;
        high = high.checked_add(extent.max(0))?;
    }
    let byte = |element: i64| column.checked_add(element)?.checked_mul(size);
    Some((byte(low)?, byte(high)?.checked_add(size - 1)?))
}
