//! Block-scaled types: MX, QMX, FP8. Counts are of values in each partition: an x4 type has four in an element.
//! spec: verify 5

use bir::enums::{Dtype, EngineType};
use bir::ids::Id;
use bir::operands::Role;
use bir::{OpenEnum, OperandList};

use super::Check;
use super::matmul::Keys;
use super::measure::{engine_is, is_packed, names, values_per_partition};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::rule::RuleId;
use crate::view::{Inst, Operand, Site, Unit};

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[MX_01, MX_02], scale_ratios),
    Check::inst(&[MX_03, MX_04, MX_13, MX_14, MX_15], scale_places),
    Check::inst(&[MX_05, MX_06, MX_07], counts),
    Check::inst(&[MX_08, MX_09, MX_21, MX_22], partitions),
    Check::inst(&[MX_10, MX_11], result_shape),
    Check::inst(&[MX_12], engine),
    Check::inst(&[MX_16, MX_17], tiles),
    Check::inst(&[MX_18], replication),
    Check::inst(&[MX_19], roles),
    Check::operand(&[MX_23], elsewhere),
    Check::inst(&[QMX_01], quantize_engine),
    Check::inst(&[QMX_02, QMX_03], quantize_pattern),
    Check::inst(&[QMX_04, QMX_08], quantize_counts),
    Check::inst(&[QMX_05, QMX_10], quantize_partitions),
    Check::inst(&[QMX_06, QMX_07], quantize_scale_place),
    Check::inst(&[QMX_09], quantize_types),
    Check::module(&[FP8_01], fp8_families),
];

/// Partitions of a quadrant; scales stand in its lower half.
const QUADRANT: i64 = 32;

/// A tensor operand of MatmultMx and its scales.
struct Scaled<'a, 'm> {
    name: &'static str,
    data: &'a Operand<'m>,
    scales: Option<&'a Operand<'m>>,
}

fn moving<'a, 'm>(inst: &'a Inst<'m>) -> Option<Scaled<'a, 'm>> {
    let data = inst.role(Role::Moving)?;
    Some(Scaled { name: "moving", data, scales: inst.role(Role::MovingScale) })
}

fn stationary<'a, 'm>(inst: &'a Inst<'m>) -> Option<Scaled<'a, 'm>> {
    let data = inst.role(Role::Stationary)?;
    Some(Scaled { name: "stationary", data, scales: inst.role(Role::StationaryScale) })
}

/// Values in each partition of data. Those of a type that is none for data (MX-19) are not counted.
fn values(data: &Operand<'_>) -> Option<u64> {
    values_per_partition(data).filter(|_| data.dtype.is_none_or(is_packed))
}

/// Most values in each partition of the moving operand, for results of that many bytes.
fn moving_limit(cx: &Cx<'_>, bytes: u64) -> Option<u64> {
    Some(32 * cx.target.psum_bank_bytes.checked_div(bytes)?)
}

/// Most values in each partition of the stationary operand: 4 for each of 128 columns.
const STATIONARY_LIMIT: u64 = 512;

/// Both, each with the rule that is about it.
fn sides<'a, 'm>(inst: &'a Inst<'m>, rules: [RuleId; 2]) -> impl Iterator<Item = (RuleId, Scaled<'a, 'm>)> {
    let sides = [moving(inst), stationary(inst)];
    rules.into_iter().zip(sides).filter_map(|(rule, side)| Some((rule, side?)))
}

/// MX-01, MX-02: four values to a scale.
fn scale_ratios(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    for (rule, Scaled { name, data, scales }) in sides(inst, [MX_01, MX_02]) {
        if let Some(scales) = scales
            && let (Some(values), Some(count)) = (values(data), values_per_partition(scales))
            && count.checked_mul(4) != Some(values)
        {
            let message = format!(
                "{values} {name} values and {count} scales per partition; there are four values to a scale"
            );
            out.report(rule, inst.at(scales), message);
        }
    }
}

/// MX-03, MX-04, MX-13 to MX-15: where the scales start.
fn scale_places(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let quadrant_rules = sides(inst, [MX_13, MX_14]);
    for ((half, Scaled { name, data, scales }), (quadrant, _)) in
        sides(inst, [MX_03, MX_04]).zip(quadrant_rules)
    {
        let Some(scales) = scales else { continue };
        let Some(start) = scales.start_partition() else { continue };
        if start % QUADRANT >= QUADRANT / 2 {
            out.report(half, inst.at(scales), upper_half(start)).help("place the scales in the lower half");
        }
        if start % 4 != 0 {
            let message = format!("the scales start at partition {start}; they start at a multiple of 4");
            out.report(MX_15, inst.at(scales), message);
        }
        if let Some(of_data) = data.start_partition().filter(|of_data| of_data / QUADRANT != start / QUADRANT)
        {
            out.report(quadrant, inst.at(scales), quadrants(name, of_data, start));
        }
    }
}

fn upper_half(start: i64) -> String {
    format!(
        "the scales start at partition {start}, in the upper half of its quadrant; they start at 0 to 15 of a quadrant"
    )
}

fn quadrants(name: &str, data: i64, scales: i64) -> String {
    format!(
        "the {name} data start at partition {data}, in quadrant {}, and their scales at {scales}, in quadrant {}; both start in one",
        data / QUADRANT,
        scales / QUADRANT
    )
}

/// MX-05 to MX-07: how many values.
fn counts(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if let Some(data) = moving(inst).map(|side| side.data)
        && let Some(count) = values(data)
        && let Some(size) = inst.role(Role::PsumDestination).map(|output| output.size)
        && let Some(limit) = moving_limit(cx, size).filter(|limit| count > *limit)
    {
        let message =
            format!("{count} moving values per partition; at most {limit} for results of {size} bytes");
        out.report(MX_05, inst.at(data), message).help("split the moving operand");
    }
    let Some(data) = stationary(inst).map(|side| side.data) else { return };
    let Some(count) = values(data) else { return };
    if count > STATIONARY_LIMIT {
        let message = format!(
            "{count} stationary values per partition; at most {STATIONARY_LIMIT}, 4 for each of 128 columns"
        );
        out.report(MX_06, inst.at(data), message).help("split the stationary operand");
    }
    if count / 4 % 2 != 0 {
        let message =
            format!("{count} stationary values per partition are {} columns; the number is even", count / 4);
        out.report(MX_07, inst.at(data), message);
    }
}

/// MX-08, MX-09, MX-21, MX-22: how many partitions.
fn partitions(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(moving), Some(stationary)) = (moving(inst), stationary(inst)) else { return };
    let counts = [stationary.data.partitions(), moving.data.partitions()];
    if let Some(count) = moving.data.partitions() {
        if !matches!(count, 32 | 64 | 128) {
            let message = format!("{count} moving partitions; 32, 64 or 128 are allowed");
            out.report(MX_08, inst.at(moving.data), message);
        }
        if let Some(other) = stationary.data.partitions().filter(|other| *other != count) {
            let message = format!(
                "{count} moving and {other} stationary partitions: both run over the contracted dimension"
            );
            out.report(MX_09, inst.at(stationary.data), message);
        }
    }
    for ((rule, Scaled { name, data, scales }), other) in sides(inst, [MX_21, MX_22]).zip(counts) {
        // Scales like the other side's data are right, and the data are what MX-09 has told of.
        if let Some(scales) = scales
            && let (Some(count), Some(of_scales)) = (data.partitions(), scales.partitions())
            && count != of_scales
            && other != Some(of_scales)
        {
            let message = format!(
                "{count} {name} partitions and {of_scales} of their scales; the patterns have equal counts"
            );
            out.report(rule, inst.at(scales), message);
        }
    }
}

/// MX-10, MX-11: the result has a row for each stationary column and a column for each moving one.
fn result_shape(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(output) = inst.role(Role::PsumDestination) else { return };
    // No result holds more than may be given.
    let of = |side: Option<Scaled<'_, '_>>, limit: u64| values(side?.data).filter(|count| *count <= limit);
    if let (Some(count), Some(values)) = (output.partitions(), of(stationary(inst), STATIONARY_LIMIT))
        && count.checked_mul(4) != Some(values)
    {
        let message = format!(
            "the result has {count} partitions for {values} stationary values per partition; it has one for each four"
        );
        out.report(MX_10, inst.at(output), message);
    }
    let limit = moving_limit(cx, output.size).unwrap_or(u64::MAX);
    if let (Some(count), Some(values)) = (output.elements_per_partition(), of(moving(inst), limit))
        && count.checked_mul(4) != Some(values)
    {
        let message = format!(
            "the result has {count} elements per partition for {values} moving values; it has one for each four"
        );
        out.report(MX_11, inst.at(output), message);
    }
}

/// MX-12.
fn engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    engine_is(cx, inst, MX_12, &[EngineType::PE], out);
}

/// MX-16, MX-17: no tiles of columns, and the rows of the tile are those of the data.
fn tiles(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(Keys { tile_size, tile_position, .. }) = Keys::of(inst.op()) else { return };
    if let Some(column) = tile_position[1].value().filter(|column| !matches!(column, -1 | 0)) {
        out.report(MX_16, inst.place(), format!("a column tile at {column}; MatmultMx has no column tiles"));
    }
    if let Some(columns) = tile_size[1].value().filter(|columns| !matches!(columns, -1 | 128)) {
        let message = format!("a column tile of {columns}; MatmultMx takes all 128 columns");
        out.report(MX_16, inst.place(), message);
    }
    if let Some(rows) = tile_size[0].value().filter(|rows| *rows != -1)
        && let Some(count) = moving(inst).and_then(|side| side.data.partitions())
        && i64::from(rows) != count as i64
    {
        let message = format!("a row tile of {rows} for {count} moving partitions; both are the same");
        out.report(MX_17, inst.place(), message);
    }
}

/// MX-18.
fn replication(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let shift = Keys::of(inst.op()).and_then(|keys| keys.replication_shift.value());
    if let Some(shift) = shift.filter(|shift| *shift != 0) {
        let message = format!("replication_shift_amnt is {shift}; MatmultMx has no replication, so it is 0");
        out.report(MX_18, inst.place(), message);
    }
}

const DATA: &[Dtype] = &[Dtype::Float4E2m1fnX4, Dtype::Float8E4m3fnX4, Dtype::Float8E5m2X4];
const SCALES: &[Dtype] = &[Dtype::Uint8, Dtype::Float8E8m0fnu];

/// MX-19: what stands where.
fn roles(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let inputs = inst.ins().count();
    if inputs != 4 {
        let message = format!(
            "{inputs} inputs; there are 4: moving data, stationary data, moving scales, stationary scales"
        );
        out.report(MX_19, inst.place(), message);
        return;
    }
    for operand in inst.ins() {
        let (what, types) = if operand.index < 2 { ("data", DATA) } else { ("scales", SCALES) };
        typed(cx, inst, operand, MX_19, what, types, out);
    }
    if let Some(output) = inst.output(0).filter(|output| output.is_sb() || output.is_dram()) {
        let message = format!("the result is in {}; it is in PSUM", output.memory_text(cx));
        out.report(MX_19, inst.at(output), message);
    }
}

fn typed(
    cx: &Cx<'_>,
    inst: &Inst<'_>,
    operand: &Operand<'_>,
    rule: RuleId,
    what: &str,
    types: &[Dtype],
    out: &mut Findings<'_>,
) {
    if operand.dtype.is_some_and(|dtype| !types.contains(&dtype)) {
        let message =
            format!("input {} is {}; {what} are {}", operand.index, operand.dtype_text(cx), names(types));
        let message = match operand.list {
            OperandList::Outs => message.replacen("input", "output", 1),
            _ => message,
        };
        out.report(rule, inst.at(operand), message);
    }
}

/// MX-23: packed types on other compute ops.
fn elsewhere(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    use bir::enums::InstructionType as It;
    let moves = matches!(inst.opcode, It::QuantizeMx | It::MatmultMx | It::GPSIMDSB2SB);
    if inst.unit == Unit::Engine && !moves && operand.dtype.is_some_and(is_packed) {
        let message = format!(
            "{} on {}; packed types are for QuantizeMx and MatmultMx",
            operand.dtype_text(cx),
            inst.op_name(cx)
        );
        out.report(MX_23, inst.at(operand), message)
            .help("to move the bytes, access them as uint32 (fp8) or uint16 (fp4)");
    }
}

/// QMX-01.
fn quantize_engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    engine_is(cx, inst, QMX_01, &[EngineType::DVE], out);
}

/// QMX-02, QMX-03: blocks of four neighbours, at even places.
fn quantize_pattern(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(input) = inst.role(Role::Data) else { return };
    let Some(inner) = input.free_pairs().next_back() else { return };
    if inner.step != 1 || inner.num % 4 != 0 {
        let message = format!(
            "the innermost dimension is [{}, {}]; its step is 1 and its count a multiple of 4",
            inner.step, inner.num
        );
        out.report(QMX_02, inst.at(input), message).help("make the quantized dimension the innermost one");
    }
    let outer = input.free_pairs().rev().skip(1);
    if let Some(odd) = outer.into_iter().find(|pair| pair.num != 1 && pair.step % 2 != 0) {
        let message = format!("a step of {}; steps of outer dimensions are even", odd.step);
        out.report(QMX_03, inst.at(input), message);
    }
}

/// QMX-04, QMX-08: as many values out as in, and a scale for each four.
fn quantize_counts(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(input) = inst.role(Role::Data) else { return };
    // No number of blocks holds them; QMX-02 tells of it.
    if input.elements_per_partition().is_some_and(|count| count % 4 != 0) {
        return;
    }
    if let Some(output) = inst.role(Role::Destination)
        && let (Some(reads), Some(writes)) = (input.elements(), output.elements())
        && writes.checked_mul(super::measure::packed(output)) != Some(reads)
    {
        let message = format!(
            "reads {reads} values and writes {}, {writes} elements of {}",
            writes.saturating_mul(super::measure::packed(output)),
            super::measure::packed(output)
        );
        out.report(QMX_04, inst.at(output), message);
    }
    if let Some(scales) = inst.role(Role::ScaleResult)
        && let (Some(reads), Some(count)) = (input.elements_per_partition(), scales.elements_per_partition())
        && count.checked_mul(4) != Some(reads)
    {
        let message =
            format!("{reads} values and {count} scales per partition; there are four values to a scale");
        out.report(QMX_08, inst.at(scales), message);
    }
}

/// QMX-05, QMX-10: how many partitions.
fn quantize_partitions(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(input) = inst.role(Role::Data) else { return };
    let Some(count) = input.partitions() else { return };
    if !matches!(count, 32 | 64 | 96 | 128) {
        let message = format!("{count} partitions; 32, 64, 96 or 128 are allowed");
        out.report(QMX_05, inst.at(input), message);
    }
    if let Some(scales) = inst.role(Role::ScaleResult)
        && let Some(of_scales) = scales.partitions().filter(|of_scales| *of_scales != count)
    {
        let message =
            format!("{of_scales} partitions of scales for {count} of data; the patterns have equal counts");
        out.report(QMX_10, inst.at(scales), message);
    }
}

/// QMX-06, QMX-07: where the scales start.
fn quantize_scale_place(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(scales) = inst.role(Role::ScaleResult) else { return };
    let Some(start) = scales.start_partition() else { return };
    if start % QUADRANT >= QUADRANT / 2 || start % 4 != 0 {
        let message = format!(
            "the scales start at partition {start}; they start at 0, 4, 8 or 12 of a quadrant of {QUADRANT}"
        );
        out.report(QMX_06, inst.at(scales), message)
            .vendor("BIR219", format!("Start partition {start} of QuantizeMx scales"));
    }
    let data = inst.role(Role::Destination).and_then(|data| data.start_partition());
    if let Some(data) = data.filter(|data| data / QUADRANT != start / QUADRANT) {
        out.report(QMX_07, inst.at(scales), quadrants("quantized", data, start));
    }
}

/// QMX-09: types and memories.
fn quantize_types(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    const QUANTIZED: &[Dtype] = &[Dtype::Float8E4m3fnX4, Dtype::Float8E5m2X4];
    for operand in &inst.operands {
        let (what, types): (_, &[Dtype]) = match operand.role() {
            Some(Role::Data) => ("values to quantize", &[Dtype::Bfloat16, Dtype::Float16]),
            // The geometry checks take fp4 as well. spec: verify 10, row 5
            Some(Role::Destination) if operand.dtype == Some(Dtype::Float4E2m1fnX4) => {
                let message =
                    format!("the result is float4_e2m1fn_x4; quantized types are {}", names(QUANTIZED));
                out.report(QMX_09, inst.at(operand), message)
                    .note("the vendor's geometry checks take this type, its list of types does not")
                    .at_most(bir::diag::Severity::Warning);
                continue;
            }
            Some(Role::Destination) => ("quantized types", QUANTIZED),
            Some(Role::ScaleResult) => ("scales", SCALES),
            _ => continue,
        };
        typed(cx, inst, operand, QMX_09, what, types, out);
        if operand.is_psum() || operand.is_dram() {
            let message = format!("in {}; all operands of QuantizeMx are in SB", operand.memory_text(cx));
            out.report(QMX_09, inst.at(operand), message);
        }
    }
}

/// FP8-01: the two families of 8-bit floats.
fn fp8_families(cx: &Cx<'_>, out: &mut Findings<'_>) {
    const LEGACY: &[Dtype] = &[Dtype::Float8e3, Dtype::Float8e4];
    const OCP: &[Dtype] = &[
        Dtype::Float8E4m3fn,
        Dtype::Float8E8m0fnu,
        Dtype::Float8E4m3fnX4,
        Dtype::Float8E5m2X4,
        Dtype::Float4E2m1fnX4,
    ];
    let first = |family: &[Dtype]| {
        cx.module.set_ids().find(|set| cx.module[*set].dtype.is_some_and(|dtype| family.contains(&dtype)))
    };
    let (Some(legacy), Some(ocp)) = (first(LEGACY), first(OCP)) else { return };
    let text = |set: bir::ids::SetId| {
        let dtype = cx.module[set].dtype.and_then(|dtype| dtype.name().ok());
        format!("{} is {}", cx.name(set), dtype.unwrap_or_default())
    };
    let later = if legacy.index() > ocp.index() { legacy } else { ocp };
    let earlier = if later == legacy { ocp } else { legacy };
    let message = format!(
        "{} and {}: a module has 8-bit floats of the older family or of the OCP one, not of both",
        text(earlier),
        text(later)
    );
    out.report(FP8_01, bir::diag::Place::storage(later), message)
        .related("the other family", bir::diag::Place::storage(earlier))
        .help("use one family throughout the module");
}
