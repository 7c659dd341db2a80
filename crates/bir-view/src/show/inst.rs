//! One instruction: fields, operands, neighbours over the same bytes, dependencies, synchronisation.

mod edges;
mod waits;

use std::collections::{HashMap, VecDeque};

use bir::geometry::{LoopAxes, Overlap, Progression, Space};
use bir::ids::{BlockId, Id, InstId};
use bir::operands::role_of;
use bir::record::FieldValue;
use bir::{Argument, Holder, Module, Op, OpenEnum, Sym, Value};
use serde::Serialize;

use super::{Cut, ShowOptions};
use crate::json::{self, ByName};
use crate::program::{At, Program, Touch, access_word, operand_name};
use crate::semaphores::Key;
use edges::{dependents, depends_on};
use waits::{Timeline, helpers, keys_of, timelines, updates, waits};
pub(super) use waits::{is_event, sync_word};

/// An instruction.
#[derive(Clone, Debug, Serialize)]
pub struct InstView {
    /// Where it stands.
    #[serde(flatten)]
    pub at: At,
    /// Which of several equal engines.
    pub engine_id: u32,
    /// Position in the program, from 0; `null` in a queue that nothing triggers.
    pub position: Option<u32>,
    /// Instructions of the program.
    pub positions: usize,
    /// Where it comes from.
    pub source: Option<Source>,
    /// First and last cycle in the schedule, once there is one.
    pub schedule: Option<[i64; 2]>,
    /// The loops around it, outermost first.
    pub loops: Vec<LoopView>,
    /// The keys of its op that have a value, in the order of the tables.
    pub fields: Vec<FieldView>,
    /// Its operands: inputs, index tensors, outputs.
    pub operands: Vec<OperandView>,
    /// What a DMATrigger starts, and what a DMABlock holds.
    pub transfers: Cut<TransferView>,
    /// What it waits for.
    pub waits: Vec<WaitView>,
    /// What it tells others.
    pub updates: Vec<UpdateView>,
    /// Instructions that come first.
    pub depends_on: Cut<Dependency>,
    /// Instructions that come after it for its sake.
    pub dependents: Cut<Dependency>,
}

/// A debug record.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// The file, where the record has one.
    pub file: Option<String>,
    /// The line.
    pub line: Option<i64>,
    /// The operation.
    pub operation: Option<String>,
    /// Everything else, as JSON; empty without.
    pub rest: String,
}

/// A loop around an instruction.
#[derive(Clone, Debug, Serialize)]
pub struct LoopView {
    /// Name of the loop instruction.
    pub instruction: String,
    /// Its axis.
    pub axis: Option<String>,
    /// How often it runs, where that is known.
    pub trips: Option<u64>,
}

/// A key of the op.
#[derive(Clone, Debug, Serialize)]
pub struct FieldView {
    /// The key.
    pub key: &'static str,
    /// Its value as JSON.
    pub value: String,
    /// Whether the value is the default.
    pub default: bool,
    /// What the key means, where the tables say it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub meaning: &'static str,
}

/// An operand.
#[derive(Clone, Debug, Serialize)]
pub struct OperandView {
    /// `ins`, `indirection_ins` or `outs`.
    pub list: &'static str,
    /// Place in the list.
    pub index: usize,
    /// What it is to the instruction.
    pub role: Option<&'static str>,
    /// What the instruction does to it.
    pub access: &'static str,
    /// The operand as dumps have it.
    pub text: String,
    /// Element type.
    pub dtype: Option<String>,
    /// Location, set or register that it names.
    pub name: Option<String>,
    /// What it touches, in words; several when it may touch any of several locations.
    pub touches: Vec<String>,
    /// The memory, where it is known.
    pub space: Option<&'static str>,
    /// Partitions, half open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<[u32; 2]>,
    /// Bytes in each partition, half open; of DRAM, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[i64; 2]>,
    /// Whether exactly that is touched, or some of it.
    pub exact: bool,
    /// Whether it goes past its location, or past the memory.
    pub outside: bool,
    /// The last accesses to some of these bytes before it, nearest first.
    pub before: Cut<TouchView>,
    /// The first accesses to some of these bytes after it.
    pub after: Cut<TouchView>,
}

/// An access to the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct TouchView {
    /// Where it stands.
    #[serde(flatten)]
    pub at: At,
    /// Which of its operands: `outs[0]`.
    pub operand: String,
    /// What it does.
    pub access: &'static str,
    /// Instructions between the two, and one.
    pub distance: u32,
    /// Partitions around what is common; `null` without partitions.
    pub partitions: Option<[u32; 2]>,
    /// Bytes around what is common.
    pub bytes: [i64; 2],
    /// Whether a byte is surely common.
    pub certain: bool,
}

/// A transfer of a DMA block.
#[derive(Clone, Debug, Serialize)]
pub struct TransferView {
    /// The DMABlock.
    pub dma_block: String,
    /// The descriptor.
    pub descriptor: String,
    /// Its opcode.
    pub opcode: String,
    /// What it reads.
    pub from: Vec<String>,
    /// What it writes.
    pub to: Vec<String>,
}

/// A wait.
#[derive(Clone, Debug, Serialize)]
pub struct WaitView {
    /// `semaphore` or `event`.
    pub sync: String,
    /// Its number.
    pub id: Option<u32>,
    /// How it waits.
    pub mode: String,
    /// The count that it waits for.
    pub value: Option<u32>,
    /// The register that has the count, with mode `sem-ge-reg`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// The producer that the document names.
    pub from: Option<String>,
    /// The update that brings the count there.
    pub producer: Option<At>,
    /// Count before and after that update.
    pub count: Option<[i64; 2]>,
    /// Whether the updates are all of one stream, so that the count names this producer.
    pub certain: bool,
    /// What is odd about it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The EventSemaphore just before the instruction, on its engine, that waits in its place: an instruction has room
    /// for few waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

/// An update.
#[derive(Clone, Debug, Serialize)]
pub struct UpdateView {
    /// The DMABlock on whose completion it happens, when that is not the instruction itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_block: Option<String>,
    /// `semaphore` or `event`.
    pub sync: String,
    /// Its number.
    pub id: Option<u32>,
    /// What it does.
    pub mode: String,
    /// With which number.
    pub value: Option<u32>,
    /// The core whose semaphore it is, when that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// The count that it reaches, within the block.
    pub count: Option<i64>,
    /// The waits of the block that need this update.
    pub waiters: Cut<At>,
}

/// An edge to another instruction.
#[derive(Clone, Debug, Serialize)]
pub struct Dependency {
    /// The other one.
    #[serde(flatten)]
    pub at: At,
    /// Kind of the edge.
    pub edge: String,
    /// Whether it is on an earlier iteration, and what the document says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_carried: Option<String>,
    /// The bytes for whose sake it is. Empty when none are common.
    pub because: Vec<Because>,
}

/// Bytes that two instructions share.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// Operand of the one that comes first.
    pub first: String,
    /// Operand of the other.
    pub second: String,
    /// The bytes, in words.
    pub bytes: String,
    /// Whether they are surely common.
    pub certain: bool,
}

/// A cut-off list of accesses on one side of an operand.
#[derive(Default)]
struct Side {
    nearest: VecDeque<Found>,
    total: usize,
}

/// An access that was found.
struct Found {
    subject: InstId,
    operand: String,
    access: &'static str,
    distance: u32,
    partitions: Option<[u32; 2]>,
    bytes: [i64; 2],
    certain: bool,
}

pub(super) fn views(program: &Program<'_>, insts: &[InstId], options: &ShowOptions) -> Vec<InstView> {
    if insts.is_empty() {
        return Vec::new();
    }
    let module = program.module;
    let touches: Vec<Vec<Touch>> = insts.iter().map(|inst| program.own_touches(*inst)).collect();
    let mut sides = around(program, insts, &touches, options.most());
    let mut dependents = dependents(program, insts, options.most());
    let mut events: HashMap<BlockId, HashMap<Key, Timeline>> = HashMap::new();
    let waiting: Vec<InstId> =
        insts.iter().flat_map(|inst| helpers(program, *inst).into_iter().chain([*inst])).collect();
    let keys = keys_of(module, &waiting);
    let view = |at: usize| {
        let inst = insts[at];
        let instruction = &module[inst];
        // A transfer synchronises where its trigger stands.
        let block = module[program.triggers_of(inst).next().unwrap_or(inst)].block;
        let events = events.entry(block).or_insert_with(|| timelines(module, block, &keys));
        let operands = operands(program, inst, &touches[at], std::mem::take(&mut sides[at]));
        InstView {
            at: program.at(inst),
            engine_id: instruction.engine_id,
            position: program.position(inst),
            positions: program.order.len(),
            source: instruction.debug.as_deref().map(|debug| source(module, debug)),
            schedule: (instruction.scheduled_start != 0 || instruction.scheduled_end != 0)
                .then_some([instruction.scheduled_start, instruction.scheduled_end]),
            loops: loops(program, inst),
            fields: fields(module, inst),
            operands,
            transfers: transfer_views(program, inst, options.most()),
            waits: waits_of(program, inst, events),
            updates: updates(program, inst, events, options.most()),
            depends_on: depends_on(program, inst, options.most()),
            dependents: std::mem::take(&mut dependents[at]),
        }
    };
    (0..insts.len()).map(view).collect()
}

/// The waits of an instruction, after those of the instructions that wait in its place.
fn waits_of(program: &Program<'_>, inst: InstId, events: &HashMap<Key, Timeline>) -> Vec<WaitView> {
    let mut all = Vec::new();
    for helper in helpers(program, inst) {
        let through = Some(program.at(helper).instruction);
        let views = waits(program, helper, events).into_iter();
        all.extend(views.map(|wait| WaitView { through: through.clone(), ..wait }));
    }
    all.extend(waits(program, inst, events));
    all
}

/// What touches the bytes of the operands of some instructions before and after: one pass over the program.
fn around(
    program: &Program<'_>,
    insts: &[InstId],
    touches: &[Vec<Touch>],
    most: usize,
) -> Vec<Vec<(Side, Side)>> {
    let mut sides: Vec<Vec<(Side, Side)>> = Vec::with_capacity(insts.len());
    let mut wanted: Vec<(usize, usize, u32)> = Vec::new();
    for (at, inst) in insts.iter().enumerate() {
        sides.push(touches[at].iter().map(|_| Default::default()).collect());
        if let Some(position) = program.position(*inst) {
            wanted.extend((0..touches[at].len()).map(|touch| (at, touch, position)));
        }
    }
    if wanted.is_empty() {
        return sides;
    }
    let subjects: Vec<InstId> = insts.to_vec();
    let mut axes = (BlockId::new(0), LoopAxes::default());
    let mut first = true;
    for toucher in program.touchers() {
        let instruction = &program.module[toucher.inst];
        if instruction.ins.is_empty() && instruction.outs.is_empty() && !instruction.has_rare() {
            continue;
        }
        if first || axes.0 != instruction.block {
            axes = (instruction.block, LoopAxes::around(program.module, instruction.block));
            first = false;
        }
        for other in program.footprints.accesses(instruction, &axes.1) {
            for (at, touch, position) in &wanted {
                let own = &touches[*at][*touch];
                if toucher.inst == subjects[*at] && toucher.position == *position {
                    continue;
                }
                let overlap = own.footprint.overlap(&other.footprint);
                if overlap == Overlap::No {
                    continue;
                }
                let (partitions, bytes) = own.footprint.common_box(&other.footprint);
                let on_chip = own.footprint.space.is_on_chip();
                let found = Found {
                    subject: toucher.subject,
                    operand: operand_name(other.list, other.index),
                    access: access_word(other.access),
                    distance: toucher.position.abs_diff(*position),
                    partitions: on_chip.then_some([partitions.start, partitions.end]),
                    bytes: [bytes.start, bytes.end],
                    certain: overlap == Overlap::Yes,
                };
                let (before, after) = &mut sides[*at][*touch];
                if toucher.position < *position {
                    before.total += 1;
                    if before.nearest.len() == most {
                        before.nearest.pop_back();
                    }
                    before.nearest.push_front(found);
                } else {
                    after.total += 1;
                    if after.nearest.len() < most {
                        after.nearest.push_back(found);
                    }
                }
            }
        }
    }
    sides
}

fn operands(
    program: &Program<'_>,
    inst: InstId,
    touches: &[Touch],
    sides: Vec<(Side, Side)>,
) -> Vec<OperandView> {
    let module = program.module;
    let instruction = &module[inst];
    let indirect = &instruction.rare().indirection_ins;
    let mut sides: Vec<Option<(Side, Side)>> = sides.into_iter().map(Some).collect();
    let view = |(list, index, argument): (bir::OperandList, usize, &Argument)| {
        let here = touches.iter().enumerate().filter(|(_, t)| t.list == list && t.index == index);
        let mut view = OperandView {
            list: list.key(),
            index,
            role: role_of(instruction, list, index).map(|role| role.name()),
            access: access_word(bir::operands::access_of(instruction, list, index)),
            text: json::text(|out| crate::dump::operand(out, module, argument, indirect)),
            dtype: argument.dtype().map(|dtype| dtype.text(&module.names).to_owned()),
            name: named(module, argument),
            touches: Vec::new(),
            space: None,
            partitions: None,
            bytes: None,
            exact: true,
            outside: false,
            before: Cut::default(),
            after: Cut::default(),
        };
        for (at, touch) in here {
            let footprint = &touch.footprint;
            view.touches.push(footprint.display(module).to_string());
            view.space = Some(space_word(footprint.space));
            view.exact &= footprint.exact;
            view.outside |= footprint.outside_location || footprint.outside_memory;
            if !footprint.is_empty() && view.bytes.is_none() {
                view.partitions = footprint.partition_range().map(|range| [range.start, range.end]);
                let bytes = footprint.bytes();
                view.bytes = Some([bytes.start, bytes.end]);
            }
            if let Some((before, after)) = sides[at].take() {
                add(program, &mut view.before, before);
                add(program, &mut view.after, after);
            }
        }
        view
    };
    instruction.operands().map(view).collect()
}

fn add(program: &Program<'_>, cut: &mut Cut<TouchView>, side: Side) {
    cut.total += side.total;
    cut.items.extend(side.nearest.into_iter().map(|found| TouchView {
        at: program.at(found.subject),
        operand: found.operand,
        access: found.access,
        distance: found.distance,
        partitions: found.partitions,
        bytes: found.bytes,
        certain: found.certain,
    }));
}

fn named(module: &Module, argument: &Argument) -> Option<String> {
    let location = argument.location().map(|loc| module.ref_name(loc));
    let set = argument.location_set().map(|set| module.ref_name(set));
    let register = argument.register().map(|register| module.ref_name(register));
    location.or(set).or(register).map(|sym| module.str(sym).to_owned())
}

fn space_word(space: Space) -> &'static str {
    match space {
        Space::Sb => "SB",
        Space::Psum => "PSUM",
        Space::Dram => "DRAM",
        Space::Location(_) | Space::Set(_) => "own",
        Space::Register(_) => "register",
        Space::Missing(_) => "unresolved",
    }
}

fn source(module: &Module, debug: &bir::DebugInfo) -> Source {
    let text = |sym: Sym| module.str(sym).to_owned();
    let file =
        ["file", "filename", "source_file", "file_name"].iter().find_map(|key| debug.rest.get(key)?.as_str());
    let others = match &debug.rest {
        Value::Object(members) if members.is_empty() => String::new(),
        rest => json::text(|out| json::value_of(out, rest)),
    };
    let rest = if debug.rest.as_object().is_some_and(|members| members.len() == 1) && file.is_some() {
        String::new()
    } else {
        others
    };
    Source { file: file.map(str::to_owned), line: debug.lineno, operation: debug.op_name.map(text), rest }
}

fn loops(program: &Program<'_>, inst: InstId) -> Vec<LoopView> {
    let module = program.module;
    let mut views = Vec::new();
    let mut block = module[inst].block;
    while let Holder::Inst(owner) = module[block].holder {
        let (axis, trips) = match &module[owner].op {
            Op::Loop(op) => {
                let axis = op.loop_axis.as_deref();
                (axis.map(|axis| axis.name), axis.and_then(Progression::of_loop).map(|values| values.count))
            }
            Op::DynamicForLoop(op) => (op.dynamic_for_loop_axis.as_ref().map(|axis| axis.name), None),
            _ => (None, None),
        };
        if !matches!(module[owner].op, Op::DMABlock(_)) {
            let instruction = program.names().name(module, owner);
            views.push(LoopView { instruction, axis: axis.map(|axis| module.str(axis).to_owned()), trips });
        }
        block = module[owner].block;
    }
    views.reverse();
    views
}

fn fields(module: &Module, inst: InstId) -> Vec<FieldView> {
    let op = &module[inst].op;
    let mut views = Vec::new();
    if let Some(fields) = op.fields() {
        let name = op.opcode().name().unwrap_or("");
        for (at, spec) in fields.specs().iter().enumerate() {
            let value = fields.field(at);
            let text = match value {
                FieldValue::Unset => continue,
                FieldValue::Owned(bir::record::Owned::Blocks(blocks)) => {
                    let insts: usize = blocks.iter().map(|block| module[*block].instructions.len()).sum();
                    let plural = |n: usize| if n == 1 { "" } else { "s" };
                    let (n, blocks) = (blocks.len(), plural(blocks.len()));
                    format!("{n} block{blocks} with {insts} instruction{}", plural(insts))
                }
                value => json::text(|out| json::field(out, &ByName(module), &value)),
            };
            let meaning = crate::meanings::of(name, spec.key);
            views.push(FieldView { key: spec.key, value: text, default: fields.is_default(at), meaning });
        }
    }
    views
}

fn transfer_views(program: &Program<'_>, inst: InstId, most: usize) -> Cut<TransferView> {
    let module = program.module;
    let mut views = Cut::default();
    let mut add = |block: InstId, descriptor: InstId| {
        views.push(most, || {
            let touches = program.own_touches(descriptor);
            let words = |writes: bool| {
                let side = touches.iter().filter(|touch| touch.access.writes() == writes);
                side.map(|touch| touch.footprint.display(module).to_string()).collect()
            };
            TransferView {
                dma_block: program.names().name(module, block),
                descriptor: program.names().name(module, descriptor),
                opcode: module[descriptor].opcode().text(&module.names).to_owned(),
                from: words(false),
                to: words(true),
            }
        });
    };
    bir::geometry::transfers(module, inst).for_each(|(block, descriptor)| add(block, descriptor));
    if matches!(module[inst].op, Op::DMABlock(_)) {
        module.insts_of(Holder::Inst(inst)).for_each(|descriptor| add(inst, descriptor));
    }
    views
}
