//! What words of engines touch on the chip, and what DMA words move (spec: isa-bundle 2, 4, 5, 8; isa-control-dma 6).
//!
//! Slots are found by the tables: a slot whose name begins with `dst` is written, every other is read. What a table does
//! not tell is covered and marked as inexact, never left out.

use bir::geometry::lattice::ByteLattice;
use bir::geometry::on_chip::{Partitions, Piece};
use neff::manifest::{Definition, Descriptor};
use tpb_isa::layout::{BodyKind, FieldInfo, ImmForm, Kind, OpcodeClass, StructInfo};
use tpb_isa::{Addr4, Binding, Body, DgeOp, Dtype, Field, Opcode, PseudoAddr8, PseudoDmaDirect2d, Word};

use crate::address::{Target, target};

/// A memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space<'a> {
    /// The state buffer of a core.
    Sb,
    /// The accumulators of a core.
    Psum,
    /// A variable that all cores see, by name.
    Shared(&'a str),
    /// A variable of one core, by id.
    Private(u64),
    /// An area of the scratchpad of a core.
    Scratchpad(&'a str),
}

/// What happens to the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Reads.
    Read,
    /// Overwrites.
    Write,
    /// Reads and writes.
    Update,
    /// A matmul: overwrites at the start of an accumulation group, adds to it else.
    Accumulate {
        /// It starts the group.
        start: bool,
        /// It ends the group.
        stop: bool,
    },
}

impl Effect {
    /// Whether bytes are written.
    pub fn writes(self) -> bool {
        self != Effect::Read
    }
}

/// Bytes that a word touches.
#[derive(Clone, PartialEq, Debug)]
pub struct Touch<'a> {
    /// The memory.
    pub space: Space<'a>,
    /// The bytes of it; off the chip all lie on partition 0.
    pub pieces: Vec<Piece>,
    /// Whether all of these bytes are touched; if not, they cover what may be.
    pub exact: bool,
    /// What happens to them.
    pub effect: Effect,
    /// Name of the slot, as in the tables.
    pub operand: &'static str,
}

/// Bytes of a PSUM partition, and of an SB partition on any generation.
const PARTITION_BYTES: u64 = 1 << 18;
const PSUM_PARTITION_BYTES: u64 = 1 << 14;

/// Bytes of one element; none where the code does not tell.
pub fn element_bytes(dtype: Dtype) -> Option<u64> {
    Some(match dtype {
        Dtype::UINT64 | Dtype::INT64 => 8,
        Dtype::INT32 | Dtype::UINT32 | Dtype::FP32 | Dtype::FP32R => 4,
        Dtype::INT16 | Dtype::UINT16 | Dtype::BFLOAT16 | Dtype::FP16 => 2,
        Dtype::INT8 | Dtype::UINT8 | Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5 => 1,
        Dtype::FP8_EXP2 | Dtype::SFP8_E8 | Dtype::SFP8_E7 | Dtype::SFP8_E6 | Dtype::SFP8_E5 => 1,
        // Four values in two bytes.
        Dtype::FP4_EXP2 => 2,
        _ => return None,
    })
}

/// What a word of an engine touches on the chip. `Err` says what is not known about the word.
pub fn touches(word: &Word, binding: &Binding) -> Result<Vec<Touch<'static>>, String> {
    let layout = binding.layout.info();
    let mut found = Vec::new();
    for field in layout.fields {
        let (info, is_indirect) = match field.kind {
            Kind::Struct(info) => (info, false),
            Kind::Union(union) => {
                let is_indirect = Addr4(u32_at(word, field.at)).is_indirect();
                (if is_indirect { union.indirect } else { union.direct }, is_indirect)
            }
            Kind::Imm(imm) if imm.form(&word.0) == ImmForm::Pointer => {
                found.push(pointer(word, field, binding));
                continue;
            }
            _ => continue,
        };
        let is_slot = info.name.starts_with("TENSOR") || info.name.starts_with("MX") || is_indirect;
        if is_slot {
            slot(word, field, info, is_indirect, binding, &mut found);
        }
    }
    let is_compute =
        binding.opcode.is_some_and(|row| row.class == OpcodeClass::Real && is_datapath(row.code));
    match (layout.body, binding.opcode) {
        (_, None) => Err(format!("opcode {:#04x} is not known", word.opcode())),
        (BodyKind::Known, _) => Ok(found),
        (_, Some(row)) if is_compute => Err(format!("not all that {} touches is known", row.name)),
        _ => Ok(found),
    }
}

/// Whether an opcode works on tensors rather than on the sequencer. spec: isa-control-dma 2
fn is_datapath(code: u8) -> bool {
    !(0xA0..0xE0).contains(&code)
}

fn slot(
    word: &Word,
    field: &FieldInfo,
    info: &'static StructInfo,
    is_indirect: bool,
    binding: &Binding,
    found: &mut Vec<Touch<'static>>,
) {
    let is_written = field.name.starts_with("dst");
    let effect = if is_written { written(word, binding) } else { Effect::Read };
    let partitions = partitions(word, is_written, binding);
    let mut push = |address: u32, dims: &[(i64, u64)], size: Option<u64>, effect: Effect| {
        found.push(on_chip(Addr4(address), dims, size, partitions, effect, field.name));
    };
    let member =
        |name: &str| info.fields.iter().find(|member| member.name == name).map(|member| field.at + member.at);
    let count = member("num_elem").map_or(1, |at| u64::from(u16_at(word, at)));
    if is_indirect {
        // Indices are read one after the other; where the data is, they say at run time.
        if let Some(at) = member("index_addr") {
            push(u32_at(word, at) & Addr4::ADDRESS, &[(1, count)], Some(4), Effect::Read);
        }
        for name in ["data_addr", "scale_addr"] {
            if let Some(at) = member(name) {
                push(u32_at(word, at), &[], None, effect);
            }
        }
        return;
    }
    if info.name.starts_with("MX") {
        for name in ["data_addr", "scale_addr"] {
            if let Some(at) = member(name) {
                push(u32_at(word, at), &[], None, effect);
            }
        }
        return;
    }
    let (Some(steps), Some(counts)) = (member("step"), member("num")) else { return };
    let dimensions = info.fields.iter().find(|member| member.name == "num").map_or(0, |num| num.bytes / 2);
    let dims: Vec<(i64, u64)> = (0..dimensions)
        .map(|i| (i64::from(u16_at(word, steps + 2 * i) as i16), u64::from(u16_at(word, counts + 2 * i))))
        .collect();
    push(u32_at(word, field.at), &dims, size(word, field, is_written, binding), effect);
}

fn written(word: &Word, binding: &Binding) -> Effect {
    let layout = binding.layout.info();
    if let Some(flags) = layout.field(Field::PsumAccumulateFlags) {
        let flags = word.0[flags.at as usize];
        return Effect::Accumulate { start: flags & 1 != 0, stop: flags & 2 != 0 };
    }
    // Where the predicate does not hold the old value stays.
    if layout.field(Field::Pred).is_some() { Effect::Update } else { Effect::Write }
}

/// The partitions of a slot, from its first one on. spec: isa-bundle 8
fn partitions(word: &Word, is_written: bool, binding: &Binding) -> u64 {
    let layout = binding.layout.info();
    let at = |field| layout.field(field).map(|info| u64::from(word.0[info.at as usize]));
    let count = match (at(Field::NumActiveRows), at(Field::NumActiveCols)) {
        // The array contracts over rows; columns come out on partitions.
        (Some(rows), columns) => {
            if is_written {
                columns.unwrap_or(128)
            } else {
                rows
            }
        }
        _ => at(Field::NumActiveChannels).unwrap_or(128),
    };
    if count == 0 { 128 } else { count.min(128) }
}

/// Bytes of an element of a slot.
fn size(word: &Word, field: &FieldInfo, is_written: bool, binding: &Binding) -> Option<u64> {
    let layout = binding.layout.info();
    let named = |name: &str| {
        let info = layout.fields.iter().find(|info| info.name == name)?;
        Some((word.0[info.at as usize], matches!(info.kind, Kind::Pair(_))))
    };
    let (code, is_pair) = if is_written {
        ["out_dtype", "in_out_dtype", "imm_out_dtype", "dtype", "in_dtype"].into_iter().find_map(named)?
    } else if field.name == "pred" {
        named("pred_dtype").or_else(|| named("in_dtype"))?
    } else {
        ["in_dtype", "in0_in1_dtype", "in_bias_dtype", "in_out_dtype", "dtype"].into_iter().find_map(named)?
    };
    let high = match (is_written, field.name) {
        (true, _) => true,
        (false, name) => name == "src1",
    };
    let code = match (is_pair, high) {
        (false, _) => code,
        (true, false) => code & 15,
        (true, true) => code >> 4,
    };
    if code == 0 && layout.field(Field::PsumAccumulateFlags).is_some() {
        // The default type: what accumulates is 4 bytes, what only passes through keeps its type. spec: isa-bundle 17
        let passes = layout.field(Field::TransposeMode).is_some_and(|info| word.0[info.at as usize] != 0);
        let input = named("in_dtype").and_then(|(code, _)| element_bytes(Dtype(code)));
        return if passes { input } else { Some(4) };
    }
    element_bytes(Dtype(code))
}

/// A scalar for each partition, behind a pointer.
fn pointer(word: &Word, field: &FieldInfo, binding: &Binding) -> Touch<'static> {
    let address = Addr4(u32_at(word, field.at));
    on_chip(address, &[], Some(4), partitions(word, false, binding), Effect::Read, field.name)
}

/// Bytes on the chip: `dims` of steps and counts in elements of `size` bytes. Without a size, and behind registers, the
/// rest of the partitions is covered.
fn on_chip(
    address: Addr4,
    dims: &[(i64, u64)],
    size: Option<u64>,
    count: u64,
    effect: Effect,
    operand: &'static str,
) -> Touch<'static> {
    use tpb_isa::Place;
    let (space, partition, byte, is_known) = match address.place() {
        Place::Sbuf { partition, offset } => (Space::Sb, partition, offset, true),
        Place::Psum { partition, bank, offset } => {
            (Space::Psum, partition, u32::from(bank) << 11 | u32::from(offset), true)
        }
        // A register may point anywhere on the chip; the state buffer is where most tensors are.
        Place::Register(_) | Place::Other(_) => (Space::Sb, 0, 0, false),
    };
    // Steps and counts may come from registers as well.
    let is_known = is_known && address.0 & Addr4::SHAPE == 0;
    let all = match space {
        Space::Psum => PSUM_PARTITION_BYTES,
        _ => PARTITION_BYTES,
    };
    let bytes = size.filter(|_| is_known).and_then(|size| {
        let dims = dims.iter().map(|(step, count)| (step.saturating_mul(size as i64), *count));
        ByteLattice::new(byte.into(), dims, size)
    });
    let exact = bytes.is_some();
    let bytes = bytes.or_else(|| ByteLattice::run(0, all)).unwrap_or_else(ByteLattice::empty);
    let (first, count) = if is_known { (partition.into(), count) } else { (0, 128) };
    let (partitions, _) = Partitions::progression(first, 1, count);
    let pieces = if partitions.is_empty() || bytes.is_empty() {
        Vec::new()
    } else {
        vec![Piece { partitions, bytes }]
    };
    Touch { space, pieces, exact, effect, operand }
}

/// What a DMA word with generated descriptors moves: source and target. `extension` is the word behind it, if it has one.
pub fn moves<'a>(
    dma: &PseudoDmaDirect2d,
    extension: Option<&Body>,
    definition: &'a Definition,
) -> Vec<Touch<'a>> {
    let is_direct = dma.dge_op == DgeOp(0);
    let reduces = matches!(extension, Some(Body::PseudoDmaExt(more)) if more.compute_op.0 != 0);
    let width = |size: u16| if size == 0 { 65536 } else { u64::from(size) };
    let source = Side {
        dims: [
            (dma.src_step_elem0.into(), dma.src_num_elem0.into()),
            (dma.src_step_elem1.into(), dma.src_num_elem1.into()),
        ],
        width: width(dma.src_elem_size),
        is_known: is_direct,
    };
    let destination = Side {
        dims: [
            (dma.dst_step_elem0.into(), dma.dst_num_elem0.into()),
            (dma.dst_step_elem1.into(), dma.dst_num_elem1.into()),
        ],
        width: width(dma.dst_elem_size),
        is_known: is_direct,
    };
    let write = if reduces { Effect::Update } else { Effect::Write };
    let mut found = vec![
        source.touch(&dma.src_start_addr, definition, Effect::Read, "src"),
        destination.touch(&dma.dst_start_addr, definition, write, "dst"),
    ];
    if let Some(Body::PseudoDmaExt(more)) = extension {
        for (address, operand) in [(more.src_idx_start_addr, "src_idx"), (more.dst_idx_start_addr, "dst_idx")]
        {
            if address.0 != 0 {
                let count = u64::from(more.idx_num_active_channels).max(1);
                found.push(on_chip(address, &[], None, count, Effect::Read, operand));
            }
        }
    }
    found
}

/// One side of a transfer: steps and counts in bytes, and the bytes of a run.
struct Side {
    dims: [(i64, u64); 2],
    width: u64,
    is_known: bool,
}

impl Side {
    fn touch<'a>(
        &self,
        address: &PseudoAddr8,
        definition: &'a Definition,
        effect: Effect,
        operand: &'static str,
    ) -> Touch<'a> {
        match target(address, definition) {
            Target::OnChip(address) => {
                chip_run(address, &self.dims, self.width, self.is_known, effect, operand)
            }
            Target::Variable { name, variable, offset } => {
                let offset = offset.filter(|_| self.is_known && !address.marker_shape_reg);
                let bytes = offset.and_then(|offset| ByteLattice::new(offset.into(), self.dims, self.width));
                variable_bytes(name, variable, bytes, effect, operand)
            }
            // Nothing is known of where it goes, so it may be anywhere in the state buffer.
            _ => on_chip(Addr4(Addr4::REGISTER), &[], None, 128, effect, operand),
        }
    }
}

/// Bytes of a variable; all of it when they are not known.
fn variable_bytes<'a>(
    name: &'a str,
    variable: &'a neff::manifest::Variable,
    bytes: Option<ByteLattice>,
    effect: Effect,
    operand: &'static str,
) -> Touch<'a> {
    let exact = bytes.is_some();
    let all = || ByteLattice::run(0, variable.size.unwrap_or(1 << 40).min(1 << 50));
    let bytes = bytes.or_else(all).unwrap_or_else(ByteLattice::empty);
    let (space, base) = match variable.kind.as_str() {
        "virtual" => {
            let area = variable.fabric_path.as_deref().or(variable.backing_buf.as_deref()).unwrap_or("main");
            (Space::Scratchpad(area), variable.backing_variable_off.unwrap_or(0))
        }
        "input" | "output" | "shared" => (Space::Shared(name), 0),
        _ => (Space::Private(variable.var_id), 0),
    };
    let dims = bytes.dims().iter().map(|dim| (dim.stride as i64, dim.count));
    let moved = i64::try_from(base)
        .ok()
        .and_then(|base| ByteLattice::new(base.checked_add(bytes.base())?, dims, bytes.width()));
    let pieces =
        moved.filter(|bytes| !bytes.is_empty()).map(|bytes| Piece { partitions: Partitions(1), bytes });
    Touch { space, pieces: pieces.into_iter().collect(), exact, effect, operand }
}

/// Bytes on the chip as DMA addresses them: partitions are steps of the address.
fn chip_run(
    address: u32,
    dims: &[(i64, u64)],
    width: u64,
    is_known: bool,
    effect: Effect,
    operand: &'static str,
) -> Touch<'static> {
    let is_psum = address >= Addr4::PSUM_BASE;
    let (space, pitch) = if is_psum { (Space::Psum, 1i64 << 15) } else { (Space::Sb, 1i64 << 18) };
    let base = i64::from(if is_psum { address - Addr4::PSUM_BASE } else { address });
    let (first, byte) = (base / pitch, base % pitch);
    let (rows, runs): (Vec<_>, Vec<_>) =
        dims.iter().filter(|(_, count)| *count > 1).partition(|(step, _)| step % pitch == 0);
    let bytes = ByteLattice::new(byte, runs.into_iter().copied(), width);
    let bytes = bytes.filter(|bytes| is_known && bytes.span().start >= 0 && bytes.span().end <= pitch);
    let mut partitions = Partitions(0);
    match rows[..] {
        [] => partitions = Partitions::progression(first, 1, 1).0,
        [&(step, count)] => partitions = Partitions::progression(first, step / pitch, count).0,
        [&(outer, outer_count), &(step, count), ..] => {
            for row in 0..outer_count.min(128) as i64 {
                let start = first.saturating_add((outer / pitch).saturating_mul(row));
                partitions.0 |= Partitions::progression(start, step / pitch, count).0.0;
            }
        }
    }
    let exact = bytes.is_some();
    if !exact {
        // A run over the end of a partition, or what indices say.
        partitions = Partitions(u128::MAX);
    }
    let bytes = bytes.or_else(|| ByteLattice::run(0, pitch as u64)).unwrap_or_else(ByteLattice::empty);
    let pieces = if partitions.is_empty() || bytes.is_empty() {
        Vec::new()
    } else {
        vec![Piece { partitions, bytes }]
    };
    Touch { space, pieces, exact, effect, operand }
}

/// What a transfer with descriptors moves.
pub fn describes<'a>(desc: &'a Descriptor, definition: &'a Definition) -> Vec<Touch<'a>> {
    let mut found = Vec::new();
    let sides = [
        (&desc.from, desc.from_off, &desc.from_steps, &desc.from_sizes, Effect::Read, "src"),
        (&desc.to, desc.to_off, &desc.to_steps, &desc.to_sizes, Effect::Write, "dst"),
    ];
    for (name, offset, steps, sizes, effect, operand) in sides {
        let Some((name, variable)) =
            name.as_ref().and_then(|name| definition.var.iter().find(|(other, _)| other == name))
        else {
            continue;
        };
        // The first size is bytes, one after the other; the others count steps.
        let width = sizes.first().copied().unwrap_or(0);
        let dims: Vec<(i64, u64)> = steps.iter().copied().zip(sizes.iter().copied()).skip(1).collect();
        let effect = match (&desc.op, effect) {
            (Some(op), Effect::Write) if op != "copy" && op != "cast" && op != "transpose" => Effect::Update,
            _ => effect,
        };
        let is_known = desc.op.as_deref() != Some("transpose");
        let offset = offset.unwrap_or(0);
        found.push(match (variable.kind.as_str(), u32::try_from(offset)) {
            ("state-buffer", Ok(address)) => chip_run(address, &dims, width, is_known, effect, operand),
            _ => {
                let bytes = i64::try_from(offset).ok().filter(|_| is_known);
                let bytes = bytes.and_then(|offset| ByteLattice::new(offset, dims, width));
                variable_bytes(name, variable, bytes, effect, operand)
            }
        });
    }
    found
}

/// What a collective moves: whole tensors, since which parts depends on the rank.
pub fn collective<'a>(body: &Body, definition: &'a Definition) -> Vec<Touch<'a>> {
    let ids = match body {
        Body::PseudoTriggerCollective(op) => [op.input_tensor_id, op.output_tensor_id],
        Body::PseudoTriggerAllReduce(op) => [op.input_tensor_id, op.output_tensor_id],
        _ => return Vec::new(),
    };
    let effects = [(Effect::Read, "src"), (Effect::Write, "dst")];
    ids.into_iter()
        .zip(effects)
        .filter_map(|(id, (effect, operand))| {
            let (name, variable) = definition.variable(id.into())?;
            Some(variable_bytes(name, variable, None, effect, operand))
        })
        .collect()
}

/// Whether a word starts a transfer that runs on by itself.
pub fn is_transfer(word: &Word) -> bool {
    matches!(
        Opcode(word.opcode()),
        Opcode::PSEUDO_DMA_DIRECT2D
            | Opcode::PSEUDO_DMATRIGGER
            | Opcode::PSEUDO_TRIGGER_COLLECTIVE
            | Opcode::PSEUDO_TRIGGER_ALL_REDUCE
            | Opcode::PSEUDO_TRIGGER_COLLECTIVE2
    )
}

fn u16_at(word: &Word, at: u8) -> u16 {
    let at = usize::from(at);
    u16::from_le_bytes([word.0[at], word.0[at + 1]])
}

fn u32_at(word: &Word, at: u8) -> u32 {
    let at = usize::from(at);
    u32::from_le_bytes([word.0[at], word.0[at + 1], word.0[at + 2], word.0[at + 3]])
}
