//! Instructions and operands as rules look at them: with location, type, pattern, role and place worked out once.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use bir::access::{AccessPattern, ApPair};
use bir::diag::Place;
use bir::edges::{Edge, EdgeKind};
use bir::enums::{Dtype, EngineType, InstructionType, MemoryType};
use bir::geometry::{LoopAxes, Offsets};
use bir::ids::{FuncId, InstId, LocId, SetId};
use bir::op_info::{Category, Family, OpInfo};
use bir::operands::{Access, Operands, Role, Slot, access_of};
use bir::records::{MemoryLocation, PhysicalAp};
use bir::{Argument, Instruction, Op, OpenEnum, OperandList};
use smallvec::SmallVec;

use crate::context::Cx;
use crate::known::{Kept, Known, Use};
use crate::starts::{Starts, Touched};

/// An instruction.
#[derive(Debug)]
pub(crate) struct Inst<'m> {
    pub(crate) id: InstId,
    pub(crate) inst: &'m Instruction,
    site: Site,
    ins: usize,
    outs: usize,
    /// Of `ins`, `indirection_ins` and `outs`, in this order.
    pub(crate) operands: Vec<Operand<'m>>,
    /// The loops around it.
    pub(crate) axes: &'m LoopAxes,
    /// What was kept of the instructions of its block that stand before it.
    pub(crate) starts: &'m RefCell<Starts>,
    /// The function it is in; none for what stands in a queue.
    pub(crate) function: Option<FuncId>,
}

/// All that the rules of single operands know of the instruction. An operand that stands again in such a place is
/// not judged again.
#[derive(Debug)]
pub(crate) struct Site {
    /// Only for places of findings.
    id: InstId,
    pub(crate) opcode: InstructionType,
    pub(crate) engine: EngineType,
    pub(crate) unit: Unit,
}

impl Deref for Inst<'_> {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

/// What carries an instruction out, as far as the rules on operands care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// A datapath engine: partition, step and count rules hold for its operands.
    Engine,
    /// A DMA queue: may start and step anywhere.
    Dma,
    /// Collectives.
    Collective,
    /// The sequencer of an engine: registers, branches, semaphores.
    Sequencer,
    /// Kernels and custom code with rules of their own, and ops that are expanded before they are encoded.
    Other,
}

impl Unit {
    /// The unit of an op.
    pub(crate) fn of(op: InstructionType) -> Unit {
        use InstructionType as It;
        let Some(info) = OpInfo::of(op) else { return Unit::Other };
        match (info.family, op) {
            (Family::Dma | Family::DmaDescriptor, _) => Unit::Dma,
            (
                _,
                It::GenericIndirectLoad
                | It::GenericIndirectSave
                | It::IndirectLoad
                | It::IndirectSave
                | It::IndirectSaveAccumulate,
            ) => Unit::Dma,
            (_, It::GPSIMDSB2SB) => Unit::Engine,
            (Family::Collective, _) => Unit::Collective,
            (Family::Control | Family::Sync | Family::Queue | Family::Region | Family::Register, _) => {
                Unit::Sequencer
            }
            (Family::Kernel | Family::Custom | Family::Debug, _) => Unit::Other,
            (_, It::TensorCompletion) => Unit::Other,
            _ if matches!(info.category, Category::Encoded | Category::Lowered) => Unit::Engine,
            _ => Unit::Other,
        }
    }
}

/// An operand.
#[derive(Debug)]
pub(crate) struct Operand<'m> {
    pub(crate) list: OperandList,
    pub(crate) index: usize,
    pub(crate) argument: &'m Argument,
    /// What the tables say of its place; `None` when they do not know it.
    pub(crate) slot: Option<&'static Slot>,
    /// What the instruction does to it.
    pub(crate) access: Access,
    /// Where what is known of it is kept.
    pub(crate) kept: Option<Kept>,
    stands: Rc<Stands<'m>>,
}

/// What the tables say of the first places of the operand lists of an op, where that is the same for all its
/// instructions.
#[derive(Debug)]
pub(crate) struct Places {
    rows: Option<&'static Operands>,
    ins: [Option<AtPlace>; PLACES],
    outs: [Option<AtPlace>; PLACES],
}

/// The row of a place, what is done to the operand there, and the name of all that.
type AtPlace = (Option<&'static Slot>, Access, Option<Use>);

const PLACES: usize = 6;

impl Places {
    /// Those of an op; `None` for one that is not known.
    pub(crate) fn of(op: Option<InstructionType>) -> Places {
        let rows = op.and_then(Operands::of);
        let same = |list: OperandList, index: usize| {
            let mut slots = rows?.slots_at(list, index);
            let access = if list == OperandList::Outs { Access::Write } else { Access::Read };
            let slot = slots.next();
            let may_differ = |slot: &Slot| slot.form.is_some() || slot.also_read.is_some();
            let depends = slots.next().is_some() || slot.is_some_and(may_differ);
            (!depends).then(|| (slot, access, name(rows, slot, access, list, index)))
        };
        Places {
            rows,
            ins: std::array::from_fn(|at| same(OperandList::Ins, at)),
            outs: std::array::from_fn(|at| same(OperandList::Outs, at)),
        }
    }

    /// What stands at a place of an instruction that an engine runs.
    fn at(&self, inst: &Instruction, list: OperandList, index: usize) -> AtPlace {
        let same = match list {
            OperandList::Ins => self.ins.get(index),
            OperandList::Outs => self.outs.get(index),
            OperandList::IndirectionIns => None,
        };
        if let Some(Some(same)) = same {
            return *same;
        }
        let slot = self.rows.and_then(|rows| rows.slot_of(inst, list, index));
        let access = access_of(inst, list, index);
        (slot, access, name(self.rows, slot, access, list, index))
    }
}

/// A name for a place of an op and what is done there; nothing when it has no room for it. Its lowest byte is free.
fn name(
    rows: Option<&'static Operands>,
    slot: Option<&'static Slot>,
    access: Access,
    list: OperandList,
    index: usize,
) -> Option<Use> {
    let rows = rows?;
    let row = match slot {
        Some(slot) => rows.slots.iter().position(|row| std::ptr::eq(row, slot))? + 1,
        None => 0,
    };
    let parts = [rows.op.ordinal()? as usize + 1, row, index, list as usize, access as usize];
    let bits = parts
        .into_iter()
        .try_fold(0u64, |bits, part| Some(bits << 8 | u64::from(u8::try_from(part).ok()?)))?;
    Use::new(bits << 8)
}

/// What an argument says, wherever it stands.
#[derive(Debug)]
pub(crate) struct Stands<'m> {
    /// The location that it names, or the only one of the set that it names.
    pub(crate) loc_id: Option<LocId>,
    /// That location; of several of a set the first, which has the same geometry.
    pub(crate) loc: Option<&'m MemoryLocation>,
    pub(crate) set: Option<SetId>,
    pub(crate) memory: Option<MemoryType>,
    pub(crate) dtype: Option<Dtype>,
    /// Bytes of an element; 0 when unknown.
    pub(crate) size: u64,
    /// Its access pattern; of a dynamic access the one that says the geometry.
    pub(crate) pattern: Option<&'m AccessPattern>,
    pub(crate) start: Start,
    /// Elements in each row of an on-chip location, in the type of the operand; 0 when that is not known.
    pitch: i64,
    /// What it surely touches of an on-chip location, as far as that is plain to see.
    pub(crate) touched: Option<Touched>,
    /// Whether registers or index operands move it.
    pub(crate) dynamic: bool,
    /// The location and the byte in it at which it always starts.
    pub(crate) first: Option<(LocId, u64)>,
}

impl<'m> Deref for Operand<'m> {
    type Target = Stands<'m>;

    fn deref(&self) -> &Stands<'m> {
        &self.stands
    }
}

/// Where an access starts, in elements from the start of its location.
#[derive(Debug)]
pub(crate) enum Start {
    /// Always there.
    At(i64),
    /// At several places, since loops around it move it.
    Several(Box<Offsets>),
    /// Not known before the program runs; also for operands without a place.
    Unknown,
}

impl<'i> Inst<'i> {
    /// `operands` is an empty list; the caller may take it back and empty it for the next instruction.
    pub(crate) fn new<'m: 'i>(
        cx: &Cx<'m>,
        id: InstId,
        (unit, places): (Unit, &Places),
        (axes, starts): (&'i LoopAxes, &'i RefCell<Starts>),
        function: Option<FuncId>,
        mut operands: Vec<Operand<'i>>,
        known: &mut Known<'m>,
    ) -> Inst<'i> {
        let inst = &cx.module[id];
        let opcode = inst.opcode();
        let engine = inst.engine.ordinal().and_then(|engine| u8::try_from(engine).ok());
        let mut add = |list, arguments: &'m [Argument]| {
            for (index, argument) in arguments.iter().enumerate() {
                let (slot, access, name) = places.at(inst, list, index);
                let of = name.zip(engine).map(|(name, engine)| name | u64::from(engine));
                let (stands, kept) = known.stands(cx, inst, axes, argument, of);
                operands.push(Operand { list, index, argument, slot, access, kept, stands });
            }
        };
        add(OperandList::Ins, &inst.ins);
        if inst.has_rare() {
            add(OperandList::IndirectionIns, &inst.rare().indirection_ins);
        }
        add(OperandList::Outs, &inst.outs);
        let site = Site { id, opcode, engine: inst.engine, unit };
        let (ins, outs) = (inst.ins.len(), inst.outs.len());
        Inst { id, inst, site, ins, outs, operands, axes, starts, function }
    }

    /// Whether a dependency is of no known kind, on the instruction itself, loop-carried, or on what does not exist.
    pub(crate) fn has_odd_edges(&self) -> bool {
        let is_odd = |edge: Edge| {
            let kinds = EdgeKind::ORDERED.number()..=EdgeKind::FLOW.number();
            !kinds.contains(&edge.kind().number()) || edge.target() == self.id
        };
        let carried = &self.inst.loop_carried_dependencies;
        self.inst.has_rare() || !carried.is_empty() || self.inst.dependencies.iter().any(is_odd)
    }

    /// Gives back the list of operands.
    pub(crate) fn into_operands(self) -> Vec<Operand<'i>> {
        self.operands
    }
}

impl<'m> Inst<'m> {
    /// The operands of a list.
    pub(crate) fn list(&self, list: OperandList) -> &[Operand<'m>] {
        let outs = self.operands.len() - self.outs;
        match list {
            OperandList::Ins => &self.operands[..self.ins],
            OperandList::IndirectionIns => &self.operands[self.ins..outs],
            OperandList::Outs => &self.operands[outs..],
        }
    }

    /// How many operands a list has.
    pub(crate) fn count(&self, list: OperandList) -> usize {
        match list {
            OperandList::Ins => self.ins,
            OperandList::Outs => self.outs,
            OperandList::IndirectionIns => self.operands.len() - self.ins - self.outs,
        }
    }

    /// The inputs.
    pub(crate) fn ins(&self) -> std::slice::Iter<'_, Operand<'m>> {
        self.list(OperandList::Ins).iter()
    }

    /// The outputs.
    pub(crate) fn outs(&self) -> std::slice::Iter<'_, Operand<'m>> {
        self.list(OperandList::Outs).iter()
    }

    /// An input.
    pub(crate) fn input(&self, index: usize) -> Option<&Operand<'m>> {
        self.list(OperandList::Ins).get(index)
    }

    /// An output.
    pub(crate) fn output(&self, index: usize) -> Option<&Operand<'m>> {
        self.list(OperandList::Outs).get(index)
    }

    /// The first operand with a role.
    pub(crate) fn role(&self, role: Role) -> Option<&Operand<'m>> {
        self.operands.iter().find(|operand| operand.role() == Some(role))
    }

    /// The op.
    pub(crate) fn op(&self) -> &'m Op {
        &self.inst.op
    }
}

impl Site {
    /// Place of the instruction.
    pub(crate) fn place(&self) -> Place {
        Place::of(self.id)
    }

    /// Place of an operand.
    pub(crate) fn at(&self, operand: &Operand<'_>) -> Place {
        Place::operand(self.id, operand.list, operand.index)
    }

    /// Name of the instruction, for messages.
    pub(crate) fn name<'m>(&self, cx: &Cx<'m>) -> &'m str {
        cx.name(self.id)
    }

    /// Name of the op, for messages.
    pub(crate) fn op_name<'c>(&self, cx: &'c Cx<'_>) -> &'c str {
        match self.opcode.name() {
            Ok(name) => name,
            Err(sym) => cx.module.str(sym),
        }
    }
}

impl<'m> Stands<'m> {
    /// Looks at an argument of an instruction that may be in loops.
    pub(crate) fn of(cx: &Cx<'m>, inst: &Instruction, axes: &LoopAxes, argument: &'m Argument) -> Stands<'m> {
        let start = |dynamic: bool| match argument {
            Argument::PhysicalAp(arg) if !dynamic => fixed_start(arg),
            // Which rows an index tensor names is not known; IND-03 looks at their bounds.
            Argument::PhysicalAp(arg) if has_rows(cx, inst, arg) => Start::Unknown,
            _ => match cx.footprints.offsets(argument, axes) {
                Some(offsets) => match offsets.as_constant() {
                    Some(at) => Start::At(at),
                    None => Start::Several(Box::new(offsets)),
                },
                None => Start::Unknown,
            },
        };
        let dynamic = match argument {
            Argument::PhysicalAp(arg) => arg.dynamic_ap_info.is_some(),
            Argument::SymbolicAp(arg) => arg.tensor_indirect_arg_id >= 0,
            Argument::RegisterAp(_) => true,
            _ => false,
        };
        Stands::at(cx, argument, dynamic, start(dynamic))
    }

    /// Looks at an access that nothing moves, or a number: it is the same in whatever instruction it stands.
    pub(crate) fn fixed(cx: &Cx<'m>, argument: &'m Argument) -> Option<Stands<'m>> {
        let start = match argument {
            Argument::PhysicalAp(arg) if arg.dynamic_ap_info.is_none() => fixed_start(arg),
            Argument::ImmValue(_) => Start::Unknown,
            _ => return None,
        };
        Some(Stands::at(cx, argument, false, start))
    }

    fn at(cx: &Cx<'m>, argument: &'m Argument, dynamic: bool, start: Start) -> Stands<'m> {
        let module = cx.module;
        let named = argument.location().and_then(|loc| loc.id());
        let set_ref = argument.location_set().and_then(|set| set.id());
        let set = named.map(|loc| module[loc].set).or(set_ref);
        let locations = set_ref.map(|set| &module[set].memorylocations[..]).unwrap_or_default();
        let loc_id = named.or(match locations {
            [only] => Some(*only),
            _ => None,
        });
        let loc = loc_id.or_else(|| locations.first().copied()).map(|loc| &module[loc]);
        let dtype = argument.dtype();
        let pattern = match argument {
            Argument::PhysicalAp(arg) => {
                let info = arg.dynamic_ap_info.as_deref();
                info.and_then(|info| info.actual_ap.as_ref()).or(arg.ap.as_ref())
            }
            _ => argument.access_pattern(),
        };
        let size = dtype.and_then(|dtype| dtype.size_bytes()).map_or(0, u64::from);
        let on_chip = loc.filter(|loc| matches!(loc.r#type, MemoryType::SB | MemoryType::PSUM));
        let pitch = on_chip.and_then(|loc| i64::try_from(loc.bytes()?.checked_div(size)?).ok());
        let pitch = pitch.filter(|pitch| *pitch > 0);
        let touched = match (&start, pattern, pitch, on_chip) {
            (Start::At(at), Some(pattern), Some(pitch), Some(loc)) => {
                Touched::of(*at, pattern, size, pitch, loc)
            }
            _ => None,
        };
        Stands {
            loc_id,
            loc,
            set,
            memory: loc.map(|loc| loc.r#type),
            dtype,
            size,
            pattern,
            start,
            pitch: pitch.unwrap_or_default(),
            touched,
            dynamic,
            first: crate::starts::first(argument),
        }
    }
}

/// Whether an index tensor names the rows of an access.
fn has_rows(cx: &Cx<'_>, inst: &Instruction, access: &PhysicalAp) -> bool {
    let terms = access.dynamic_ap_info.iter().flat_map(|info| &info.aff_expr);
    !inst.rare().indirection_ins.is_empty()
        || terms.filter_map(|term| term.offset_expr).any(|expr| crate::rules::has_index(cx, expr))
}

fn fixed_start(access: &PhysicalAp) -> Start {
    i64::try_from(access.offset).map_or(Start::Unknown, Start::At)
}

impl<'m> Operand<'m> {
    /// What it is to the instruction.
    pub(crate) fn role(&self) -> Option<Role> {
        self.slot.map(|slot| slot.role)
    }

    /// Whether it was seen in its place before, and the rules of single operands have nothing to say about it.
    pub(crate) fn is_clean(&self) -> bool {
        self.kept.is_some_and(|kept| kept.is_clean)
    }

    /// Whether it is an access to memory.
    pub(crate) fn is_access(&self) -> bool {
        matches!(self.argument, Argument::PhysicalAp(_) | Argument::SymbolicAp(_) | Argument::RegisterAp(_))
    }

    /// Whether it lies in SB or PSUM.
    pub(crate) fn is_on_chip(&self) -> bool {
        matches!(self.memory, Some(MemoryType::SB | MemoryType::PSUM))
    }

    /// Whether it lies in SB.
    pub(crate) fn is_sb(&self) -> bool {
        self.memory == Some(MemoryType::SB)
    }

    /// Whether it lies in PSUM.
    pub(crate) fn is_psum(&self) -> bool {
        self.memory == Some(MemoryType::PSUM)
    }

    /// Whether it lies in PSUM, or in what is not known to be elsewhere.
    pub(crate) fn may_be_psum(&self) -> bool {
        self.loc_id.is_none() || self.is_psum()
    }

    /// Whether it lies in device memory; inputs and outputs of the module do.
    pub(crate) fn is_dram(&self) -> bool {
        matches!(self.memory, Some(MemoryType::DRAM | MemoryType::Input | MemoryType::Output))
    }

    /// Dimensions, the partition dimension first.
    pub(crate) fn pairs(&self) -> impl DoubleEndedIterator<Item = ApPair> + ExactSizeIterator + '_ {
        (0..self.pattern.map_or(0, |ap| ap.len()))
            .map(|at| self.pattern.and_then(|ap| ap.get(at)).unwrap_or_default())
    }

    /// Dimensions past the partition dimension.
    pub(crate) fn free_pairs(&self) -> impl DoubleEndedIterator<Item = ApPair> + ExactSizeIterator + '_ {
        self.pairs().skip(1)
    }

    /// Partitions of an on-chip access, as its pattern states them.
    pub(crate) fn partitions(&self) -> Option<u64> {
        u64::try_from(self.pattern?.get(0)?.num).ok()
    }

    /// Elements in each partition of an on-chip access.
    pub(crate) fn elements_per_partition(&self) -> Option<u64> {
        self.pattern?;
        self.free_pairs().try_fold(1u64, |all, pair| all.checked_mul(u64::try_from(pair.num).ok()?))
    }

    /// Elements of the access.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.pattern?.elements()
    }

    /// Bytes of each partition of the location.
    pub(crate) fn row_bytes(&self) -> Option<u64> {
        self.is_on_chip().then(|| self.loc?.bytes()).flatten()
    }

    /// Elements in each row of an on-chip location, in the type of the operand.
    pub(crate) fn pitch(&self) -> Option<i64> {
        (self.pitch > 0).then_some(self.pitch)
    }

    /// Rows of the location at which the access starts: all of them when loops move it, at most [`MAX_STARTS`].
    /// Nothing when that is not known.
    pub(crate) fn start_rows(&self) -> SmallVec<[i64; 2]> {
        let Some(pitch) = self.pitch() else { return SmallVec::new() };
        let mut rows = SmallVec::new();
        match &self.start {
            Start::At(at) => rows.push(at.div_euclid(pitch)),
            Start::Several(offsets) => {
                each_offset(offsets, &mut |at| rows.push(at.div_euclid(pitch)));
                rows.sort_unstable();
                rows.dedup();
            }
            Start::Unknown => {}
        }
        rows
    }

    /// The partition at which it starts, when the location is placed and nothing moves the access over partitions.
    pub(crate) fn start_partition(&self) -> Option<i64> {
        let loc = self.loc.filter(|loc| loc.is_placed())?;
        match self.start_rows()[..] {
            [row] => Some(i64::from(loc.base) + row),
            _ => None,
        }
    }

    /// `[[32, 128], [1, 32]]`, as the vendor's messages have patterns.
    pub(crate) fn pattern_text(&self) -> String {
        self.pattern.map_or_else(String::new, |ap| format!("{ap:?}").replace(' ', ""))
    }

    /// `float32`, for messages.
    pub(crate) fn dtype_text<'c>(&self, cx: &'c Cx<'_>) -> &'c str {
        match self.dtype.map(|dtype| dtype.name()) {
            Some(Ok(name)) => name,
            Some(Err(sym)) => cx.module.str(sym),
            None => "no type",
        }
    }

    /// `SB`, for messages.
    pub(crate) fn memory_text<'c>(&self, cx: &'c Cx<'_>) -> &'c str {
        match self.memory.map(|memory| memory.name()) {
            Some(Ok(name)) => name,
            Some(Err(sym)) => cx.module.str(sym),
            None => "no memory",
        }
    }
}

/// Offsets of a loop nest that are looked at one by one.
const MAX_STARTS: u64 = 4096;

/// Calls `visit` with each offset; with some when there are too many: the first ones of every dimension.
pub(crate) fn each_offset(offsets: &Offsets, visit: &mut dyn FnMut(i64)) {
    fn walk(base: i64, dims: &[(i64, u64)], budget: u64, visit: &mut dyn FnMut(i64)) {
        let Some(((step, count), rest)) = dims.split_first() else { return visit(base) };
        let count = (*count).min(budget.max(2));
        for at in 0..count as i64 {
            if let Some(next) = step.checked_mul(at).and_then(|by| base.checked_add(by)) {
                walk(next, rest, budget / count.max(1), visit);
            }
        }
    }
    walk(offsets.base, &offsets.dims, MAX_STARTS, visit);
}
