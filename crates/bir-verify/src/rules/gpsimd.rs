//! The Pool engine and random numbers: POOL, SB2SB, RNG, PART-09.

use bir::diag::Severity;
use bir::enums::{Dtype, EngineType, InstructionType as It, MemsetMode};
use bir::operands::Role;
use bir::{Argument, Op};

use super::Check;
use super::measure::{engine_is, number};
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::view::{Inst, Operand, Site};

pub(super) const CHECKS: &[Check] = &[
    Check::operand(&[PART_09], library_partitions).for_ops(LIBRARY),
    Check::inst(&[POOL_01], affine_pattern),
    Check::inst(&[POOL_08], affine_select_inputs),
    Check::inst(&[POOL_02, POOL_06], gather),
    Check::inst(&[POOL_03], local_gather),
    Check::inst(&[POOL_04], nonzero),
    Check::inst(&[POOL_05, POOL_07], sequence_bounds),
    Check::inst(&[RNG_01, RNG_03], random_engine),
    Check::inst(&[RNG_02], random_state),
    Check::inst(&[RNG_04], random_bounds),
    Check::inst(&[SB2SB_01, SB2SB_02, SB2SB_09, SB2SB_11], core_to_core),
    Check::inst(&[SB2SB_03, SB2SB_04], core_to_core_sides),
    Check::operand(&[SB2SB_05, SB2SB_06, SB2SB_07, SB2SB_08, SB2SB_10], core_to_core_operand),
];

/// Ops of the library that work on 16 partitions to a processor.
const LIBRARY: &[It] = &[It::Gather, It::IndirectCopy, It::NonzeroWithCount];

/// PART-09. A note, because which ops need it is not known for sure.
fn library_partitions(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    let group = cx.target.gpsimd_core_partitions;
    if let Some(count) = operand.partitions().filter(|count| operand.is_on_chip() && count % group != 0) {
        let message = format!("{count} partitions; the processors of Pool have {group} each");
        out.report(PART_09, inst.at(operand), message).at_most(Severity::Note);
    }
}

/// POOL-01: the pattern of an affine value has an element for each that is written.
fn affine_pattern(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let pattern = match inst.op() {
        Op::Iota(op) => op.pattern.as_ref(),
        Op::TensorScalarAffineSelect(op) => op.pattern.as_ref(),
        _ => return,
    };
    let Some(output) = inst.role(Role::Destination) else { return };
    if output.is_psum() || output.is_dram() {
        let message = format!("the output is in {}; it is in SB", output.memory_text(cx));
        out.report(POOL_01, inst.at(output), message);
    }
    let Some(pattern) = pattern else { return };
    if pattern.len() > 4 {
        let message = format!("the pattern {pattern:?} has {} dimensions; it has at most 4", pattern.len());
        out.report(POOL_01, inst.place(), message);
    }
    if let (Some(count), Some(writes)) = (pattern.elements(), output.elements_per_partition())
        && count != writes
    {
        let message = format!(
            "the pattern {pattern:?} has {count} elements, and {writes} are written in each partition"
        );
        out.report(POOL_01, inst.at(output), message);
    }
}

/// POOL-08: the number of inputs says how the fill value is given.
fn affine_select_inputs(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::TensorScalarAffineSelect(op) = inst.op() else { return };
    let wanted = if op.fill_value.is_nan() { 2 } else { 1 };
    let inputs = inst.ins().count();
    if inputs != wanted {
        let message =
            format!("{inputs} inputs with fill_value {}; a number has one input, NaN two", op.fill_value);
        out.report(POOL_08, inst.place(), message);
    }
}

/// POOL-02, POOL-06: gathers.
fn gather(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(data), Some(indices), Some(output)) =
        (inst.role(Role::Data), inst.role(Role::Indices), inst.role(Role::Destination))
    else {
        return;
    };
    for operand in [data, indices, output] {
        if operand.is_psum() || operand.is_dram() {
            let message = format!("in {}; all operands of Gather are in SB", operand.memory_text(cx));
            out.report(POOL_02, inst.at(operand), message);
        }
        let pairs = operand.pairs().len();
        if pairs > 5 {
            let message = format!("{pairs} dimensions; a gather has at most 4 and the partitions");
            out.report(POOL_06, inst.at(operand), message);
        }
    }
    if indices.dtype.is_some_and(|dtype| dtype != Dtype::Uint32) {
        let message = format!("the indices are {}; they are uint32", indices.dtype_text(cx));
        out.report(POOL_02, inst.at(indices), message);
    }
    if data.dtype.zip(output.dtype).is_some_and(|(from, to)| from != to) {
        let message = format!(
            "gathers {} into {}; a gather keeps the type",
            data.dtype_text(cx),
            output.dtype_text(cx)
        );
        out.report(POOL_02, inst.at(output), message);
    }
    let Some(partitions) = output.partitions() else { return };
    for operand in [data, indices] {
        if let Some(count) = operand.partitions().filter(|count| *count != partitions) {
            let message =
                format!("{count} partitions for {partitions} that are written; a gather stays in each");
            out.report(POOL_02, inst.at(operand), message)
                .vendor("BIR105", "same number of partitions for params");
        }
    }
    if let (Some(count), Some(writes)) = (indices.elements_per_partition(), output.elements_per_partition())
        && count != writes
    {
        let message = format!("{count} indices per partition for {writes} elements that are written");
        out.report(POOL_06, inst.at(indices), message)
            .vendor("BIR103", "same number of elements per partition for indices");
    }
}

/// POOL-03: the gather that is local to a processor.
fn local_gather(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::IndirectCopy(op) = inst.op() else { return };
    let group = cx.target.gpsimd_core_partitions;
    for operand in inst.operands.iter().filter(|operand| operand.is_on_chip()) {
        if let Some(count) = operand.partitions().filter(|count| count % group != 0) {
            let message = format!("{count} partitions; a local gather works on groups of {group}");
            out.report(POOL_03, inst.at(operand), message);
        }
    }
    if let Some(indices) = inst.role(Role::Indices)
        && indices.dtype.is_some_and(|dtype| dtype != Dtype::Uint16)
    {
        let message = format!("the indices are {}; they are uint16", indices.dtype_text(cx));
        out.report(POOL_03, inst.at(indices), message);
    }
    let Some(count) = op.num_valid_indices.value().map(u64::from).filter(|count| *count > 0) else { return };
    if count > 4096 {
        let message = format!("{count} indices; a processor takes at most 4096");
        out.report(POOL_03, inst.place(), message);
    }
    let Some(output) = inst.role(Role::Destination) else { return };
    let Some(writes) = output.elements_per_partition() else { return };
    if writes % count != 0 || !matches!(writes / count, 1 | 2 | 4 | 8 | 16 | 32) {
        let message = format!(
            "writes {writes} elements per partition with {count} indices; each takes 1, 2, 4, 8, 16 or 32"
        );
        out.report(POOL_03, inst.at(output), message);
    }
}

/// POOL-04: indices of what is not zero, and their number.
fn nonzero(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(data), Some(output)) = (inst.role(Role::Data), inst.role(Role::Destination)) else { return };
    for operand in [data, output] {
        if operand.is_psum() || operand.is_dram() {
            let message =
                format!("in {}; all operands of NonzeroWithCount are in SB", operand.memory_text(cx));
            out.report(POOL_04, inst.at(operand), message);
        }
    }
    if data.dtype.is_some_and(|dtype| !matches!(dtype, Dtype::Float32 | Dtype::Int32)) {
        let message = format!("looks at {}; it looks at float32 or int32", data.dtype_text(cx));
        out.report(POOL_04, inst.at(data), message);
    }
    if output.dtype.is_some_and(|dtype| dtype != Dtype::Int32) {
        let message = format!("writes {}; indices and their number are int32", output.dtype_text(cx));
        out.report(POOL_04, inst.at(output), message);
    }
    if let (Some(reads), Some(writes)) = (data.elements_per_partition(), output.elements_per_partition())
        && writes != reads + 1
    {
        let message = format!(
            "writes {writes} elements per partition for {reads}; there is one for each, and their number"
        );
        out.report(POOL_04, inst.at(output), message);
    }
}

/// POOL-05, POOL-07: first and last of each sequence.
fn sequence_bounds(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(data), Some(output)) = (inst.role(Role::Data), inst.role(Role::Destination)) else { return };
    for operand in [data, output] {
        if let Some(count) = operand.partitions().filter(|count| *count != 1) {
            let message = format!("{count} partitions; sequences are in one");
            out.report(POOL_05, inst.at(operand), message);
        }
        if operand.dtype.is_some_and(|dtype| !matches!(dtype, Dtype::Float32 | Dtype::Int32)) {
            let message = format!("{}; ids and bounds are float32 or int32", operand.dtype_text(cx));
            out.report(POOL_05, inst.at(operand), message).vendor("BIR129", "Dtype::int32 or Dtype::float32");
        }
        let pairs = operand.pairs().len();
        if pairs != 3 {
            let message = format!(
                "{} has {pairs} dimensions; it has three, partitions included",
                operand.pattern_text()
            );
            out.report(POOL_07, inst.at(operand), message);
        }
    }
    if let Some(last) = output.pairs().next_back().filter(|pair| pair.num != 2) {
        let message = format!("the last dimension has {} elements; start and end are 2", last.num);
        out.report(POOL_07, inst.at(output), message)
            .vendor("BIR127", "expects last dimension of destination");
    }
    if let (Some(reads), Some(writes)) = (data.elements_per_partition(), output.elements_per_partition())
        && reads.checked_mul(2) != Some(writes)
    {
        let message = format!("writes {writes} bounds for {reads} elements; there are two for each");
        out.report(POOL_05, inst.at(output), message);
    }
}

/// RNG-01, RNG-03: who draws random numbers.
fn random_engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let rule = match inst.op() {
        Op::Rng => RNG_01,
        Op::Memset(op) if op.mode == MemsetMode::Random => RNG_03,
        _ => return,
    };
    let engines: &[EngineType] =
        if cx.level < 30 { &[EngineType::DVE] } else { &[EngineType::DVE, EngineType::Pool] };
    engine_is(cx, inst, rule, engines, out);
    if let Some(output) = inst.output(0).filter(|_| rule == RNG_03)
        && matches!(output.dtype, Some(Dtype::Int64 | Dtype::Uint64))
    {
        let message = format!("random {}; random numbers have at most 32 bits", output.dtype_text(cx));
        out.report(RNG_03, inst.at(output), message).vendor("BIR402", "Random mode not supported for int64");
    }
}

/// RNG-02: the state of a generator.
fn random_state(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if cx.level == 30 {
        engine_is(cx, inst, RNG_02, &[EngineType::Pool], out);
    }
    let Some(state) = inst.role(Role::State) else { return };
    if state.dtype.is_some_and(|dtype| dtype != Dtype::Uint32) {
        let message = format!("the state is {}; it is uint32", state.dtype_text(cx));
        out.report(RNG_02, inst.at(state), message);
    }
    if inst.engine == EngineType::Pool && (state.is_psum() || state.is_dram()) {
        let message = format!("the state is in {}; that of Pool is in SB", state.memory_text(cx));
        out.report(RNG_02, inst.at(state), message);
    }
    let words: &[u64] = match inst.engine {
        EngineType::Pool => &[6],
        EngineType::DVE => &[24],
        _ => &[6, 24],
    };
    if let Some(count) = state.elements_per_partition().filter(|count| !words.contains(count)) {
        let message =
            format!("the state has {count} words per partition; that of Pool has 6, that of DVE 24");
        out.report(RNG_02, inst.at(state), message).vendor("BIR482", "Seed must be an nx6 tensor");
    }
}

/// RNG-04: the range of random numbers.
fn random_bounds(_: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(min), Some(max)) = (inst.role(Role::Min), inst.role(Role::Max)) else { return };
    if let (Some(low), Some(high)) = (number(min), number(max))
        && high <= low
    {
        let message = format!("the upper bound {high} is not above the lower one, {low}");
        out.report(RNG_04, inst.at(max), message);
    }
}

/// SB2SB-01, SB2SB-02, SB2SB-09, SB2SB-11: what a copy between cores needs.
fn core_to_core(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if let Some(cores) = cx.options.cores.filter(|cores| *cores != 2) {
        let message = format!("the program has {cores} cores; GPSIMDSB2SB is between the two of a pair");
        out.report(SB2SB_01, inst.place(), message);
    }
    if cx.level < 30 {
        let message = format!("GPSIMDSB2SB needs arch 30 or newer, and the module is for arch {}", cx.level);
        out.report(SB2SB_02, inst.place(), message);
    }
    let (ins, outs) = (inst.ins().count(), inst.outs().count());
    if ins == 0 || outs == 0 {
        let message = format!("{ins} inputs and {outs} outputs; it has a source and a destination");
        out.report(SB2SB_09, inst.place(), message);
    }
    engine_is(cx, inst, SB2SB_11, &[EngineType::Pool], out);
}

/// SB2SB-03, SB2SB-04: what is written is what is read.
fn core_to_core_sides(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let (Some(source), Some(destination)) = (inst.input(0), inst.output(0)) else { return };
    if source.dtype.zip(destination.dtype).is_some_and(|(from, to)| from != to) {
        let message = format!(
            "from {} to {}; GPSIMDSB2SB keeps the type",
            source.dtype_text(cx),
            destination.dtype_text(cx)
        );
        out.report(SB2SB_03, inst.at(destination), message).help("convert before or after");
    }
    // Of longer patterns it is not known which step counts.
    let extent = |operand: &Operand<'_>| match operand.free_pairs().collect::<Vec<_>>()[..] {
        [pair] => pair.num.checked_mul(pair.step),
        _ => None,
    };
    if let (Some(reads), Some(writes)) = (extent(source), extent(destination))
        && reads != writes
    {
        let message = format!(
            "reads {} and writes {}; elements times step are {reads} and {writes}, and both sides have one size",
            source.pattern_text(),
            destination.pattern_text()
        );
        out.report(SB2SB_04, inst.at(destination), message);
    }
}

/// SB2SB-05 to SB2SB-08, SB2SB-10: source and destination.
fn core_to_core_operand(cx: &Cx<'_>, inst: &Site, operand: &Operand<'_>, out: &mut Findings<'_>) {
    if !matches!(operand.argument, Argument::PhysicalAp(_)) || operand.dynamic {
        let message = format!(
            "a {}{}; GPSIMDSB2SB takes a physical_ap with a fixed place",
            operand.argument.kind(),
            if operand.dynamic { " that moves" } else { "" }
        );
        out.report(SB2SB_07, inst.at(operand), message);
    }
    let pairs = operand.pairs().len();
    if operand.pattern.is_some() && !(2..=5).contains(&pairs) {
        let message = format!("{} has {pairs} dimensions; it has 2 to 5", operand.pattern_text());
        out.report(SB2SB_05, inst.at(operand), message);
    }
    if operand.is_psum() || operand.is_dram() {
        let message = format!("in {}; GPSIMDSB2SB moves from SB to SB", operand.memory_text(cx));
        out.report(SB2SB_06, inst.at(operand), message);
    }
    // Narrow elements are widened to 4 bytes on the way.
    if let Some(bytes) =
        operand.elements_per_partition().and_then(|count| count.checked_mul(operand.size.max(4)))
        && bytes > 1024
    {
        let message = format!(
            "{bytes} bytes per partition, narrow elements counted as 4 bytes; at most 1024 can be moved at once"
        );
        out.report(SB2SB_08, inst.at(operand), message).help("split the copy");
    }
    if let Some(count) = operand.partitions().filter(|count| count % 16 != 0) {
        let message = format!("{count} partitions; the count is a multiple of 16");
        out.report(SB2SB_10, inst.at(operand), message);
    }
}
