//! Matrix products: load words and multiply words (spec: isa-bundle 11.1).

use bir::enums::{Dtype, MatmultPerfMode};
use bir::expr::MaybeAffine;
use bir::ops::{Matmult, MatmultMx, MatmultSparse};
use tpb_isa::build::Slot;
use tpb_isa::{Addr4, Field, Fp32Mode, Generation, MatmulPsumFlags, Opcode, PerfOpt, PsumZeroRegion};

use super::Words;
use crate::context::Inst;
use crate::draft::Draft;
use crate::error::{On, Reason, Result, invalid};
use crate::operand::{Geometry, Operand, first_partition};

/// The keys that all matrix products share.
#[derive(Clone, Copy)]
struct Keys {
    flags: u8,
    zero_region: u8,
    transpose: bool,
    tile_size: [i32; 2],
    tile_position: [i32; 2],
    perf_mode: MatmultPerfMode,
}

macro_rules! keys {
    ($inst:expr, $op:expr) => {{
        let (inst, op) = ($inst, $op);
        let zero = |value: MaybeAffine<u32>, key: &'static str| match inst.value(value, key)? {
            0 => Ok(()),
            _ => invalid(format!("{key} has no place in the word")),
        };
        zero(op.replication_resolution, "replication_resolution")?;
        zero(op.replication_shift_amnt, "replication_shift_amnt")?;
        zero(op.replication_num_rows, "replication_num_rows")?;
        // spec: isa-bundle 15, G7
        if inst.value(op.ifmap_quant_offset, "ifmap_quant_offset")? != 0
            || inst.value(op.weights_quant_offset, "weights_quant_offset")? != 0
        {
            return Err(Reason::Unsupported(
                "quantisation offsets other than 0: how they are packed is not known",
            )
            .into());
        }
        if inst.value(op.is_fmap_onezero, "is_fmap_onezero")?
            || inst.value(op.is_weight_onezero, "is_weight_onezero")?
        {
            return invalid("is_fmap_onezero and is_weight_onezero have no place in the word");
        }
        let pair = |pair: [MaybeAffine<i32>; 2], key| -> Result<[i32; 2]> {
            Ok([inst.value(pair[0], key)?, inst.value(pair[1], key)?])
        };
        Keys {
            flags: inst.value(op.accumulation_flag, "accumulation_flag")?,
            zero_region: inst.value(op.psum_zero_region, "psum_zero_region")?,
            transpose: inst.value(op.is_transpose, "is_transpose")?,
            tile_size: pair(op.tile_size, "tile_size")?,
            tile_position: pair(op.tile_position, "tile_position")?,
            perf_mode: op.perf_mode,
        }
    }};
}

const START: u8 = 1;
const STOP: u8 = 2;
const ACCUMULATE: u8 = 4;

/// What one pass writes into the load and the multiply word.
#[derive(Clone, Copy)]
struct Pass {
    load: Fp32Mode,
    multiply: Fp32Mode,
    flags: u8,
}

impl Keys {
    /// The passes: one, or two for float32. spec: isa-bundle 15, G5
    fn passes(&self, moving: &Operand<'_>, stationary: &Operand<'_>) -> Result<Vec<Pass>> {
        if !matches!(self.flags, 0..=4 | 6) {
            return invalid(format!(
                "accumulation_flag is {}; 0, 1, 2, 3, 4 and 6 are legal (1 starts a group, 2 ends it, 4 adds to what is there)",
                self.flags
            ));
        }
        if moving.is(Dtype::Float32) {
            let first = Pass { load: Fp32Mode(2), multiply: Fp32Mode(3), flags: self.flags & START };
            let second =
                Pass { load: Fp32Mode(1), multiply: Fp32Mode(3), flags: self.flags & (STOP | ACCUMULATE) };
            return Ok(vec![first, second]);
        }
        let mode = match moving.is(Dtype::Float32r) {
            true if !stationary.is(Dtype::Float32r) => {
                return invalid("the stationary tensor must be float32r, as the moving one")
                    .on(stationary.at());
            }
            true => Fp32Mode(2),
            false => Fp32Mode(0),
        };
        Ok(vec![Pass { load: mode, multiply: mode, flags: self.flags }])
    }

    /// The group of rows (0) or columns (1). spec: isa-bundle 11.1
    fn group(&self, side: usize, start: u32, active: i64) -> Result<u8> {
        let start = match self.tile_position[side] {
            given @ 0.. => i64::from(given),
            _ => i64::from(start),
        };
        let size = active.max(self.tile_size[side].into());
        if start > 96 || start % 32 != 0 && size <= 64 {
            let what = if side == 0 { "row" } else { "column" };
            return invalid(format!("the tile starts at {what} {start}; tiles start at 0, 32, 64 or 96"));
        }
        Ok(match size {
            ..=32 => 1 << (start / 32),
            33..=64 if start < 64 => 3,
            33..=64 => 12,
            _ => 15,
        })
    }

    fn zero_region(&self) -> Result<PsumZeroRegion> {
        match self.zero_region {
            region @ 0..=3 => Ok(PsumZeroRegion(region)),
            value => {
                Err(Reason::Range { what: "psum_zero_region", value: value.into(), min: 0, max: 3 }.into())
            }
        }
    }

    fn perf(&self, inst: Inst<'_>) -> Result<PerfOpt> {
        Ok(PerfOpt::from_bir(inst.name(self.perf_mode)?, inst.generation())?)
    }
}

/// Rows, columns and groups, which both words of a product have.
struct Array {
    rows: i64,
    cols: i64,
    row_group: u8,
    col_group: u8,
}

impl Array {
    fn new(inst: Inst<'_>, keys: &Keys, weights: &Geometry, out: &Geometry, fast: bool) -> Result<Array> {
        let mut cols = weights.elements();
        if keys.perf_mode == MatmultPerfMode::DoublePixel && inst.generation() == Generation::V2 {
            cols /= 2;
        }
        let row_group = keys.group(0, weights.partition, weights.channels)?;
        // spec: isa-bundle 11.1
        let col_group = match keys.transpose || fast {
            true => 15,
            false => keys.group(1, first_partition(out.addr), cols)?,
        };
        Ok(Array { rows: weights.channels, cols, row_group, col_group })
    }

    fn put(&self, word: &mut Draft<'_>) -> Result<()> {
        word.set(Field::NumActiveRows, self.rows)?
            .set(Field::NumActiveCols, self.cols)?
            .set(Field::RowGrp, self.row_group)?
            .set(Field::ColGrp, self.col_group)?;
        Ok(())
    }
}

pub(super) fn matmult<'c>(inst: Inst<'c>, op: &Matmult, load_weights: bool) -> Result<Words<'c>> {
    let keys = keys!(inst, op);
    let (moving, stationary, out) = (inst.input(0)?, inst.input(1)?, inst.output(0)?);
    let passes = keys.passes(&moving, &stationary)?;
    let (weights, result) = (stationary.geometry()?, out.geometry()?);
    let array = Array::new(inst, &keys, &weights, &result, moving.is(Dtype::Float32r))?;
    let mut words = Words::new();
    for pass in &passes {
        if load_weights || passes.len() > 1 {
            words.push(load(inst, &keys, *pass, &stationary, &weights, &array)?);
        }
        let mut word = Draft::new(inst, Opcode::MATMUL)?;
        word.slot(Field::Src, &moving)?;
        multiply(inst, &keys, *pass, &mut word, &moving, &out, &array)?;
        word.set(Field::PsumAccumulateFlags, MatmulPsumFlags(pass.flags))?;
        words.push(word);
    }
    Ok(words)
}

pub(super) fn matmult_sparse<'c>(inst: Inst<'c>, op: &MatmultSparse) -> Result<Words<'c>> {
    let keys = keys!(inst, op);
    let (stationary, moving, tags, out) = (inst.input(0)?, inst.input(1)?, inst.input(2)?, inst.output(0)?);
    let passes = keys.passes(&moving, &stationary)?;
    let (weights, result) = (stationary.geometry()?, out.geometry()?);
    let array = Array::new(inst, &keys, &weights, &result, moving.is(Dtype::Float32r))?;

    let mut load_tags = Draft::new(inst, Opcode::LDTAGS)?;
    let tag_geometry = load_tags.slot(Field::Src, &tags)?;
    let tag_columns = match array.row_group {
        1 | 3 | 15 => 0u8,
        2 => 4,
        4 | 12 => 8,
        8 => 12,
        group => return invalid(format!("row group {group} has no tag column group")),
    };
    let rows = tag_geometry.channels.max(keys.tile_size[0].into());
    load_tags.dtype(Field::InDtype, &tags)?.set(Field::TagColGrp, tag_columns)?;
    load_tags.set(Field::NumActiveRows, rows)?.set(Field::RowGrp, array.row_group)?;

    let mut words = vec![load_tags];
    for (nth, pass) in passes.iter().enumerate() {
        words.push(load(inst, &keys, *pass, &stationary, &weights, &array)?);
        let mut word = Draft::new(inst, Opcode::MATMUL_SPARSE)?;
        word.slot(Field::Src, &moving)?;
        multiply(inst, &keys, *pass, &mut word, &moving, &out, &array)?;
        // Bits 0 and 1 say which pass it is, if there are two. Confidence S, spec: isa-bundle 11.1
        let flags = if passes.len() > 1 { 1 << nth } else { pass.flags };
        word.set(Field::PsumAccumulateFlags, MatmulPsumFlags(flags))?;
        words.push(word);
    }
    Ok(words)
}

fn load<'c>(
    inst: Inst<'c>,
    keys: &Keys,
    pass: Pass,
    stationary: &Operand<'c>,
    weights: &Geometry,
    array: &Array,
) -> Result<Draft<'c>> {
    let mut word = Draft::new(inst, Opcode::LDWEIGHTS)?;
    let dtype = in_dtype(&mut word, stationary)?;
    stationary.check_alignment(weights, dtype)?;
    match (inst.generation(), weights.index) {
        (Generation::V2, _) | (_, Some(_)) => {
            word.slot(Field::Src, stationary)?;
        }
        _ => {
            let (addr, dims) = backwards(weights).on(stationary.at())?;
            word.dims(Field::Src, stationary, addr, &dims)?;
        }
    }
    word.set(Field::Fp32Mode, pass.load)?.set(Field::PerfOpt, keys.perf(inst)?)?;
    transpose(&mut word, keys)?;
    array.put(&mut word)?;
    Ok(word)
}

/// The columns of the stationary tensor as they are streamed: the last one first, in groups of 32, since the array is
/// filled by shifting. As captured on v3 for 128 columns; v2 has the plain pattern of the worked examples.
/// spec: isa-bundle 11.1, 13
fn backwards(weights: &Geometry) -> Result<(Addr4, [(i64, i64); 3])> {
    if !weights.is_static() {
        return invalid("weights are streamed from their last column, so their address must be known");
    }
    let Some((step, columns)) = weights.progression() else {
        return invalid("the columns of the stationary tensor must form one progression");
    };
    if columns > 32 && columns % 32 != 0 {
        return invalid(format!(
            "the stationary tensor has {columns} columns; above 32 only multiples of 32 have a known order"
        ));
    }
    let dims = [(-step, columns.min(32)), (0, 1), (-32 * step, (columns + 31) / 32)];
    Ok((weights.addr_at((columns - 1) * step), dims))
}

/// The part of multiply words that dense and sparse products share.
fn multiply<'c>(
    inst: Inst<'c>,
    keys: &Keys,
    pass: Pass,
    word: &mut Draft<'c>,
    moving: &Operand<'c>,
    out: &Operand<'c>,
    array: &Array,
) -> Result<()> {
    in_dtype(word, moving)?;
    word.set(Field::Fp32Mode, pass.multiply)?.set(Field::PerfOpt, keys.perf(inst)?)?;
    transpose(word, keys)?;
    array.put(word)?;
    word.set(Field::PsumZeroRegion, keys.zero_region()?)?;
    // The result's type is left 0: float32, or that of the input when transposing.
    if keys.transpose {
        let geometry = out.geometry()?;
        let limit = word.builder().dimensions(Field::Dst).unwrap_or(0);
        word.dims(Field::Dst, out, geometry.addr, &geometry.kept(limit))?;
    } else {
        word.slot(Field::Dst, out)?;
    }
    Ok(())
}

/// float32r is written as float32.
fn in_dtype<'c>(word: &mut Draft<'c>, operand: &Operand<'c>) -> Result<tpb_isa::Dtype> {
    let dtype = match operand.is(Dtype::Float32r) {
        true => tpb_isa::Dtype::FP32,
        false => operand.dtype(word.opcode())?,
    };
    word.set(Field::InDtype, dtype)?;
    Ok(dtype)
}

/// v2 has no transposing mode: there it is a product with an identity matrix like any other.
fn transpose(word: &mut Draft<'_>, keys: &Keys) -> Result<()> {
    if keys.transpose && word.has(Field::TransposeMode) {
        word.set(Field::TransposeMode, 1)?;
    }
    Ok(())
}

pub(super) fn matmult_mx<'c>(inst: Inst<'c>, op: &MatmultMx) -> Result<Words<'c>> {
    let keys = keys!(inst, op);
    keys.passes(&inst.input(0)?, &inst.input(1)?)?;
    let (moving, stationary) = (inst.input(0)?, inst.input(1)?);
    let (moving_scale, stationary_scale) = (inst.input(2)?, inst.input(3)?);
    let out = inst.output(0)?;
    let weights = stationary.geometry()?;
    let row_group = keys.group(0, weights.partition, weights.channels)?;

    let mut load = Draft::new(inst, Opcode::LDWEIGHTS_MX)?;
    mx_slot(&mut load, Field::Src, &stationary, &stationary_scale)?;
    load.dtype(Field::InDtype, &stationary)?;

    let mut word = Draft::new(inst, Opcode::MATMUL_MX)?;
    mx_slot(&mut word, Field::Src, &moving, &moving_scale)?;
    word.dtype(Field::InDtype, &moving)?.dtype(Field::OutDtype, &out)?;
    word.slot(Field::Dst, &out)?;
    word.set(Field::PsumAccumulateFlags, MatmulPsumFlags(keys.flags))?;
    word.set(Field::PsumZeroRegion, keys.zero_region()?)?;
    for word in [&mut load, &mut word] {
        word.set(Field::NumActiveRows, weights.channels)?
            .set(Field::NumActiveCols, weights.elements())?
            .set(Field::RowGrp, row_group)?;
    }
    Ok(vec![load, word])
}

pub(super) fn quantize_mx<'c>(inst: Inst<'c>) -> Result<Words<'c>> {
    let (data, out, scale) = (inst.input(0)?, inst.output(0)?, inst.output(1)?);
    if !matches!(data.bir_dtype()?, Dtype::Bfloat16 | Dtype::Float16) {
        return invalid("QuantizeMx reads bfloat16 or float16").on(data.at());
    }
    if packed(&out).is_none() {
        return invalid("QuantizeMx writes one of the x4 types").on(out.at());
    }
    let mut word = Draft::new(inst, Opcode::QUANTIZE_MX)?;
    let geometry = word.slot(Field::Src, &data)?;
    if !matches!(geometry.channels, 32 | 64 | 96 | 128) {
        return invalid(format!(
            "QuantizeMx works on 32, 64, 96 or 128 partitions, not {}",
            geometry.channels
        ))
        .on(data.at());
    }
    mx_slot(&mut word, Field::Dst, &out, &scale)?;
    word.dtype(Field::InDtype, &data)?.dtype(Field::OutDtype, &out)?.channels(&geometry)?;
    word.builder().set_saturating(inst.context.options.saturate_mx);
    Ok(vec![word])
}

/// Elements of a container of the packed types. spec: isa-bundle 4.3, 4.4
fn packed(operand: &Operand<'_>) -> Option<i64> {
    let dtype = operand.argument.dtype()?;
    matches!(dtype, Dtype::Float4E2m1fnX4 | Dtype::Float8E4m3fnX4 | Dtype::Float8E5m2X4).then_some(4)
}

/// Data and block scales. spec: isa-bundle 4.4
fn mx_slot<'c>(word: &mut Draft<'c>, field: Field, data: &Operand<'c>, scale: &Operand<'c>) -> Result<()> {
    let (values, scales) = (data.geometry()?, scale.geometry()?);
    data.check_alignment(&values, data.dtype(word.opcode())?)?;
    if !values.is_static() && values.index.is_none() || !scales.is_static() && scales.index.is_none() {
        return invalid("data in MX format must have a plain address").on(data.at());
    }
    let generation = data.inst.generation();
    let offset = scales.addr.0 & 0x3_FFFF;
    let scale_addr = Addr4::mx_scale(scales.partition, offset, generation).on(scale.at())?;
    let scale_partition = i64::from(scales.partition % 32);
    // The word's checker takes a multiple of 4 up to 15. spec: isa-bundle 4.4
    if scale_partition > 15 || scale_partition % 4 != 0 {
        return invalid(format!(
            "the scale starts at partition {scale_partition} of its quadrant; 0, 4, 8 and 12 can be encoded"
        ))
        .on(scale.at());
    }
    let times = packed(data).unwrap_or(1);
    let slot = match (values.index, scales.index) {
        (None, None) => {
            let Some((step, count)) = values.progression() else {
                return invalid("data in MX format must be one run of elements").on(data.at());
            };
            let step = if step < 0 { -1 } else { 1 };
            Slot::Mx { data: values.addr, scale: scale_addr, count: count * times, step, scale_partition }
        }
        (Some(index), other) => {
            if other.is_some_and(|other| other.addr != index.addr) {
                return invalid("data and scale must use the same index tensor").on(scale.at());
            }
            let count = index.count * times;
            Slot::MxIndirect {
                index: index.addr,
                data: values.addr,
                scale: scale_addr,
                count,
                scale_partition,
            }
        }
        (None, Some(_)) => {
            return invalid("the scale has an index tensor, but the data has none").on(scale.at());
        }
    };
    word.builder().slot(field, &slot).on(data.at())?;
    Ok(())
}
