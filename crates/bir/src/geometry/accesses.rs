//! From operands to footprints: where the location lies, which elements the pattern has, and which bytes those are
//! (spec: bir-json 8.3, ordering 11.1, 13, 14.3).

use smallvec::SmallVec;

use super::aliases::{Aliases, in_arena};
use super::footprint::{Footprint, Space};
use super::lattice::{ADDRESS_LIMIT, ByteLattice};
use super::on_chip::{Partitions, Piece, on_chip_pieces};
use super::values::{Env, Offsets, Progression};
use crate::access::AccessPattern;
use crate::argument::Argument;
use crate::expr::{Expr, Exprs};
use crate::generated::enums::{Dtype, MemoryType};
use crate::generated::ops::Op;
use crate::generated::records::{PhysicalAp, SymbolicAp};
use crate::ids::{ExprId, InstId, LocId, Ref, RegId, SetId, Target as RefTarget};
use crate::inst::{Instruction, OperandList};
use crate::module::Module;
use crate::names::Sym;
use crate::open_enum::OpenEnum;
use crate::operands::{Access, access_of};
use crate::target::Target;

/// What an operand touches: several footprints only when it may touch any of several locations of a set.
pub type OperandFootprints = SmallVec<[Footprint; 1]>;

/// One access of an instruction.
#[derive(Clone, Debug)]
pub struct OperandAccess {
    /// The list of the operand.
    pub list: OperandList,
    /// Its place in the list.
    pub index: usize,
    /// What happens to the bytes.
    pub access: Access,
    /// The bytes.
    pub footprint: Footprint,
}

/// Finds footprints of operands in a module.
///
/// The module's locations are looked at once, for their aliases; it must not change meanwhile.
#[derive(Debug)]
pub struct Footprints<'m> {
    module: &'m Module,
    target: &'static Target,
    core: u16,
    aliases: Aliases,
}

impl<'m> Footprints<'m> {
    /// For a module on its [target](Target::of_module), on core 0.
    pub fn new(module: &'m Module) -> Self {
        Self { module, target: Target::of_module(module), core: 0, aliases: Aliases::of(module) }
    }

    /// The same for another core. What different cores touch never overlaps; a checker of several cores brings
    /// together what they share.
    pub fn on_core(self, core: u16) -> Self {
        Self { core, ..self }
    }

    /// The module.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The target.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// What an operand touches. Nothing for immediates.
    ///
    /// Exact for `physical_ap` without runtime terms and for `symbolic_ap` whose expressions have one value in
    /// `env`; a lattice over all values where `env` gives several, and the whole location where a value is unknown
    /// or in a register.
    pub fn operand(&self, argument: &Argument, env: &dyn Env) -> OperandFootprints {
        match argument {
            Argument::PhysicalAp(arg) => {
                let (pairs, offsets) = self.physical(arg, env);
                let access = Pattern::new(pairs, arg.dtype, offsets);
                match (arg.memref.map(Ref::target), arg.memsetref.map(Ref::target)) {
                    (Some(RefTarget::Found(loc)), _) => SmallVec::from_iter([self.at(loc, &access)]),
                    (_, Some(RefTarget::Found(set))) => self.in_set(set, None, &access),
                    (Some(RefTarget::Missing(name)), _) | (None, Some(RefTarget::Missing(name))) => {
                        SmallVec::from_iter([self.everything(Space::Missing(name))])
                    }
                    (None, None) => SmallVec::new(),
                }
            }
            Argument::SymbolicAp(arg) => {
                let offsets = self.symbolic(arg, env);
                self.in_set_ref(arg.memsetref, None, &Pattern::new(arg.ap.as_ref(), arg.dtype, offsets))
            }
            // Whether registers hold bytes or elements is not known, so their values say nothing.
            Argument::RegisterAp(arg) => {
                let sub_tensor = (arg.reg_sub_tensor_id.is_none()).then_some(arg.const_sub_tensor_id);
                self.in_set_ref(arg.memsetref, sub_tensor, &Pattern::new(arg.ap.as_ref(), arg.dtype, None))
            }
            Argument::RegisterAccess(arg) => match arg.regref.map(Ref::target) {
                Some(RefTarget::Found(reg)) => SmallVec::from_iter([self.register(reg)]),
                Some(RefTarget::Missing(name)) => {
                    SmallVec::from_iter([self.everything(Space::Missing(name))])
                }
                None => SmallVec::new(),
            },
            Argument::ImmValue(_) | Argument::SymbolicImmValue(_) | Argument::ImmArray(_) => SmallVec::new(),
        }
    }

    /// All that an instruction touches: inputs, index tensors, outputs, in this order. Registers that hold
    /// addresses are not among them, see [`address_registers`].
    ///
    /// A DMATrigger touches nothing itself; see [`transfers`].
    pub fn accesses<'a>(
        &'a self,
        inst: &'a Instruction,
        env: &'a dyn Env,
    ) -> impl Iterator<Item = OperandAccess> + 'a {
        inst.operands().flat_map(move |(list, index, argument)| {
            let access = access_of(inst, list, index);
            let footprints = self.operand(argument, env).into_iter();
            footprints.map(move |footprint| OperandAccess { list, index, access, footprint })
        })
    }

    /// Offsets at which an access starts, in elements of its type from the start of its location: one, or several
    /// when loops around it move it. `None` where a value is not known before the program runs, and for immediates
    /// and registers.
    pub fn offsets(&self, argument: &Argument, env: &dyn Env) -> Option<Offsets> {
        match argument {
            Argument::PhysicalAp(arg) => self.physical(arg, env).1,
            Argument::SymbolicAp(arg) => self.symbolic(arg, env),
            _ => None,
        }
    }

    /// Pattern and offsets of a physical access. spec: bir-json 8.2
    fn physical<'a>(&self, arg: &'a PhysicalAp, env: &dyn Env) -> (Option<Pairs<'a>>, Option<Offsets>) {
        let offset = i64::try_from(arg.offset).ok();
        let Some(info) = arg.dynamic_ap_info.as_deref() else {
            return (arg.ap.as_ref().map(Pairs::all), offset.map(Offsets::constant));
        };
        let pairs = info.actual_ap.as_ref().or(arg.ap.as_ref()).map(Pairs::all);
        // The constant part stands in `c`, in `offset`, or the same in both.
        let base = match offset {
            Some(offset) if info.c == 0 || info.c == offset => Some(offset),
            Some(0) => Some(info.c),
            _ => None,
        };
        let Some(base) = base else { return (pairs, None) };
        let rows = u64::try_from(info.indirect_dim_max_index).unwrap_or(0);
        let env = &Indices { env, rows };
        let exprs = &self.module.exprs;
        let offsets = info.aff_expr.iter().try_fold(Offsets::constant(base), |sum, term| {
            sum.plus(Offsets::eval(exprs, term.offset_expr?, env)?.times(term.coef?)?)
        });
        let indirect =
            info.aff_expr.iter().filter_map(|term| term.offset_expr).any(|e| is_indirect(exprs, e));
        // Where an index tensor gives the rows, the axis of the rows does not add to them.
        let dropped = indirect.then(|| info.indirect_dim.ordinal()).flatten();
        (pairs.map(|pairs| Pairs { dropped: dropped.map(|at| at as usize), ..pairs }), offsets)
    }

    /// Offsets of a symbolic access: one coordinate of the tensor for each dimension of the pattern. Confidence I:
    /// the examples of bir-json 17.3 and the public cases read so. In all of them the pattern steps by whole rows,
    /// columns and so on of the tensor; with other steps the unit of the coordinates would be a guess.
    fn symbolic(&self, arg: &SymbolicAp, env: &dyn Env) -> Option<Offsets> {
        let pairs = arg.ap.as_ref()?;
        let set = &self.module[arg.memsetref?.id()?];
        if arg.tensor_indirect_arg_id >= 0 || arg.addrs.len() > pairs.len() {
            return None;
        }
        let is_stride = |at: usize, step: i64| {
            let inner: Option<u64> = set.tensor_shape.iter().skip(at + 1).try_fold(1, u64::checked_mul);
            let row = || {
                let bytes = set.memorylocations.iter().find_map(|loc| self.module[*loc].bytes());
                Some(bytes? / u64::from(arg.dtype?.size_bytes()?))
            };
            let step = u64::try_from(step).ok();
            set.tensor_shape.len() == pairs.len() && (step == inner || at == 0 && step == row())
        };
        let exprs = &self.module.exprs;
        let mut sum = Offsets::constant(0);
        for (at, (expr, pair)) in arg.addrs.iter().zip(pairs.iter()).enumerate() {
            let coordinate = Offsets::eval(exprs, *expr, env)?;
            if coordinate.as_constant() != Some(0) && !is_stride(at, pair.step) {
                return None;
            }
            sum = sum.plus(coordinate.times(pair.step)?)?;
        }
        Some(sum)
    }

    fn in_set_ref(
        &self,
        set: Option<Ref<SetId>>,
        sub_tensor: Option<i32>,
        access: &Pattern<'_>,
    ) -> OperandFootprints {
        match set.map(Ref::target) {
            Some(RefTarget::Found(set)) => self.in_set(set, sub_tensor, access),
            Some(RefTarget::Missing(name)) => SmallVec::from_iter([self.everything(Space::Missing(name))]),
            None => SmallVec::new(),
        }
    }

    /// An access to a set: to its location, or to any of several of which `sub_tensor` may name one.
    fn in_set(&self, set: SetId, sub_tensor: Option<i32>, access: &Pattern<'_>) -> OperandFootprints {
        let locations = &self.module[set].memorylocations;
        let named = sub_tensor.filter(|id| *id >= 0).and_then(|id| {
            let by_id = locations.iter().find(|loc| self.module[**loc].tensor_id == id);
            by_id.or_else(|| locations.get(id as usize))
        });
        match (named, &locations[..]) {
            (Some(loc), _) | (None, [loc]) => SmallVec::from_iter([self.at(*loc, access)]),
            (None, []) => {
                let spot = Spot::flat(Space::Set(set), None, 0, None);
                SmallVec::from_iter([self.touch(&spot, access)])
            }
            (None, several) => {
                let each = several.iter().map(|loc| Footprint { exact: false, ..self.at(*loc, access) });
                each.collect()
            }
        }
    }

    fn at(&self, loc: LocId, access: &Pattern<'_>) -> Footprint {
        self.touch(&self.spot(loc), access)
    }

    /// Where a location lies.
    fn spot(&self, loc: LocId) -> Spot {
        let location = &self.module[loc];
        let own = Space::Location(loc);
        let (placed, bytes) = (location.is_placed(), location.bytes());
        let addr = if placed { location.addr } else { 0 };
        match location.r#type {
            MemoryType::SB | MemoryType::PSUM => {
                let bank = if placed { location.bank.unsigned_abs() } else { 0 };
                let (space, start, partitions, limit) = if location.r#type == MemoryType::SB {
                    (Space::Sb, Some(addr), self.target.sb_partitions, self.target.sb_partition_bytes)
                } else {
                    let start = bank
                        .checked_mul(self.target.psum_bank_bytes)
                        .and_then(|start| start.checked_add(addr));
                    (Space::Psum, start, self.target.psum_partitions, self.target.psum_partition_bytes())
                };
                Spot {
                    space: if placed { space } else { own },
                    location: Some(loc),
                    addr: start,
                    bytes,
                    rows: Some(Rows {
                        base: if placed { location.base } else { 0 },
                        count: location.partitions(),
                        partitions,
                        limit,
                    }),
                    may_alias: false,
                    spread: None,
                }
            }
            MemoryType::DRAM => match self.aliases.class(loc) {
                None => {
                    let space = if in_arena(self.module, loc) { Space::Dram } else { own };
                    Spot::flat(space, Some(loc), addr, bytes)
                }
                Some(class) => {
                    let spot = match class.arena {
                        // Aliases start at the same byte, whatever their addresses.
                        None => Spot::flat(Space::Location(class.root), Some(loc), 0, bytes),
                        Some(_) if in_arena(self.module, loc) => {
                            Spot::flat(Space::Dram, Some(loc), addr, bytes)
                        }
                        Some(arena) => {
                            let spread = (!arena.one_start).then_some((arena.start, arena.end));
                            Spot { spread, ..Spot::flat(Space::Dram, Some(loc), arena.start, bytes) }
                        }
                    };
                    Spot { may_alias: class.uncertain, ..spot }
                }
            },
            _ => Spot::flat(own, Some(loc), addr, location.dims.as_ref().and_then(|dims| dims.product())),
        }
    }

    fn touch(&self, spot: &Spot, access: &Pattern<'_>) -> Footprint {
        let exact = match (&access.offsets, access.size, spot.addr.and_then(|addr| i64::try_from(addr).ok()))
        {
            (Some(offsets), Some(size), Some(addr)) if spot.spread.is_none() && access.pairs.is_some() => {
                self.elements(spot, access, offsets, size, addr)
            }
            _ => None,
        };
        exact.unwrap_or_else(|| self.whole(spot))
    }

    /// The bytes of the elements of a pattern. `None` when they are not known or too far apart.
    fn elements(
        &self,
        spot: &Spot,
        access: &Pattern<'_>,
        offsets: &Offsets,
        size: u64,
        addr: i64,
    ) -> Option<Footprint> {
        let mut pairs = access.pairs.as_ref()?.list();
        pairs.extend(offsets.dims.iter().copied());
        let one = offsets.as_constant().is_some();
        let (first, last) = hull(offsets.base, &pairs);
        let mut footprint = self.empty(spot);
        match spot.rows {
            Some(rows) => {
                let pitch = spot.bytes? / size;
                if pitch == 0 {
                    return None;
                }
                let on_chip = on_chip_pieces(pitch, size, rows.base.into(), addr, offsets.base, &pairs);
                footprint.pieces = on_chip.pieces;
                footprint.exact = on_chip.exact;
                let row = |element: i128| i128::from(rows.base) + element.div_euclid(pitch.into());
                let ends = footprint.bytes();
                footprint.outside_memory = row(first) < 0
                    || row(last) >= rows.partitions.into()
                    || spot.space.is_on_chip() && (ends.start < 0 || ends.end.unsigned_abs() > rows.limit);
                let elements = rows.count.and_then(|count| count.checked_mul(pitch));
                footprint.outside_location = elements.is_some_and(|all| last >= i128::from(all));
            }
            None => {
                let bytes = i64::try_from(size).ok()?;
                let start = offsets.base.checked_mul(bytes)?.checked_add(addr)?;
                for (step, _) in &mut pairs {
                    *step = step.checked_mul(bytes)?;
                }
                footprint.pieces = flat(ByteLattice::new(start, pairs.iter().copied(), size)?);
                footprint.outside_memory = footprint.bytes().start < 0;
                footprint.outside_location = spot.bytes.is_some_and(|all| last >= i128::from(all / size));
            }
        }
        footprint.outside_location |= first < 0;
        let known = one && pairs.iter().all(|(_, count)| *count > 0);
        footprint.outside_location &= known;
        footprint.outside_memory &= known;
        footprint.exact &= one;
        Some(footprint)
    }

    /// All of a location, as far as its size is known. spec: ordering 11.1
    fn whole(&self, spot: &Spot) -> Footprint {
        let start = spot.addr.unwrap_or(0).min(ADDRESS_LIMIT as u64) as i64;
        let end = spot.bytes.and_then(|bytes| start.checked_add_unsigned(bytes));
        let mut end = end.unwrap_or(ADDRESS_LIMIT).min(ADDRESS_LIMIT);
        let mut start = start;
        if let Some((first, behind)) = spot.spread {
            start = first.min(ADDRESS_LIMIT as u64) as i64;
            end = behind.min(ADDRESS_LIMIT as u64) as i64;
        }
        let mut partitions = Partitions(1);
        if let Some(rows) = spot.rows {
            let count = rows.count.unwrap_or(rows.partitions);
            partitions = Partitions::progression(rows.base.into(), 1, count.min(rows.partitions)).0;
        }
        let bytes = ByteLattice::run(start, (end - start) as u64).unwrap_or_else(ByteLattice::empty);
        let mut footprint = self.empty(spot);
        if !bytes.is_empty() && !partitions.is_empty() {
            footprint.pieces.push(Piece { partitions, bytes });
        }
        footprint.exact = false;
        footprint
    }

    fn register(&self, reg: RegId) -> Footprint {
        let pieces = flat(ByteLattice::run(0, 1).expect("within the limit"));
        Footprint { pieces, ..self.empty(&Spot::flat(Space::Register(reg), None, 0, None)) }
    }

    /// Anything in a space.
    fn everything(&self, space: Space) -> Footprint {
        self.whole(&Spot::flat(space, None, 0, None))
    }

    fn empty(&self, spot: &Spot) -> Footprint {
        Footprint {
            core: self.core,
            space: spot.space,
            location: spot.location,
            pieces: SmallVec::new(),
            exact: true,
            outside_location: false,
            outside_memory: false,
            may_alias: spot.may_alias,
            bank_bytes: self.target.psum_bank_bytes as i64,
        }
    }
}

/// The descriptors that a DMATrigger may start, each with its DMABlock. Their operands are what the trigger's
/// transfers touch, anywhere between issue and completion of the block. spec: ordering 5
pub fn transfers(module: &Module, trigger: InstId) -> impl Iterator<Item = (InstId, InstId)> + '_ {
    let blocks = match &module[trigger].op {
        Op::DMATrigger(op) => &op.dma_blocks[..],
        _ => &[],
    };
    blocks.iter().filter_map(|block| block.id()).flat_map(move |block| {
        let inner = module[block].body().iter().flat_map(|inner| &module[*inner].instructions);
        inner.map(move |descriptor| (block, descriptor))
    })
}

/// The registers that an operand reads to find its address: not one that it accesses itself.
pub fn address_registers(module: &Module, argument: &Argument) -> SmallVec<[Ref<RegId>; 2]> {
    let mut registers = SmallVec::new();
    let expression = |expr: ExprId, registers: &mut SmallVec<_>| {
        each_leaf(&module.exprs, expr, &mut |leaf| {
            if let Expr::Register { regref } = leaf {
                registers.push(*regref);
            }
        });
    };
    match argument {
        Argument::RegisterAp(arg) => {
            registers.extend([arg.regref, arg.reg_ap_offset, arg.reg_sub_tensor_id].into_iter().flatten());
        }
        Argument::SymbolicAp(arg) => arg.addrs.iter().for_each(|expr| expression(*expr, &mut registers)),
        Argument::PhysicalAp(arg) => {
            let terms = arg.dynamic_ap_info.iter().flat_map(|info| &info.aff_expr);
            terms.filter_map(|term| term.offset_expr).for_each(|expr| expression(expr, &mut registers));
        }
        _ => {}
    }
    registers
}

/// Index tensors hold rows below the declared number. spec: verify IND-02
struct Indices<'a> {
    env: &'a dyn Env,
    rows: u64,
}

impl Env for Indices<'_> {
    fn axis(&self, axis: Sym) -> Option<Progression> {
        self.env.axis(axis)
    }
    fn register(&self, register: Ref<RegId>) -> Option<Progression> {
        self.env.register(register)
    }
    fn shard(&self, ub: i64) -> Option<Progression> {
        self.env.shard(ub)
    }
    fn index_operand(&self, arg_id: i64) -> Option<Progression> {
        let declared = Progression { first: 0, step: 1, count: self.rows };
        self.env.index_operand(arg_id).or(Some(declared))
    }
}

fn is_indirect(exprs: &Exprs, expr: ExprId) -> bool {
    let mut found = false;
    each_leaf(exprs, expr, &mut |leaf| found |= matches!(leaf, Expr::IndirectArg { .. }));
    found
}

fn each_leaf(exprs: &Exprs, expr: ExprId, each: &mut dyn FnMut(&Expr)) {
    each(exprs.get(expr));
    exprs.get(expr).children().for_each(|child| each_leaf(exprs, child, each));
}

/// An access pattern, possibly without one of its dimensions.
#[derive(Clone, Copy)]
struct Pairs<'a> {
    pattern: &'a AccessPattern,
    dropped: Option<usize>,
}

impl<'a> Pairs<'a> {
    fn all(pattern: &'a AccessPattern) -> Self {
        Self { pattern, dropped: None }
    }

    /// Steps and counts; a negative count is none.
    fn list(&self) -> SmallVec<[(i64, u64); 6]> {
        let kept = self.pattern.iter().enumerate().filter(|(at, _)| Some(*at) != self.dropped);
        kept.map(|(_, pair)| (pair.step, u64::try_from(pair.num).unwrap_or(0))).collect()
    }
}

impl<'a> From<&'a AccessPattern> for Pairs<'a> {
    fn from(pattern: &'a AccessPattern) -> Self {
        Self::all(pattern)
    }
}

/// Elements that an operand accesses, as far as they are known.
struct Pattern<'a> {
    pairs: Option<Pairs<'a>>,
    /// Bytes an element.
    size: Option<u64>,
    /// Elements before the pattern; `None` when unknown.
    offsets: Option<Offsets>,
}

impl<'a> Pattern<'a> {
    fn new<P: Into<Pairs<'a>>>(pairs: Option<P>, dtype: Option<Dtype>, offsets: Option<Offsets>) -> Self {
        let size = dtype.and_then(Dtype::size_bytes).map(u64::from);
        Self { pairs: pairs.map(Into::into), size, offsets }
    }
}

/// Where a location lies.
struct Spot {
    space: Space,
    location: Option<LocId>,
    /// First byte, in each partition; `None` past 64 bits.
    addr: Option<u64>,
    /// Bytes, in each partition; `None` when unknown.
    bytes: Option<u64>,
    /// The partitions of an on-chip location.
    rows: Option<Rows>,
    may_alias: bool,
    /// Somewhere between these bytes.
    spread: Option<(u64, u64)>,
}

#[derive(Clone, Copy)]
struct Rows {
    /// First partition.
    base: u32,
    /// Partitions of the location.
    count: Option<u64>,
    /// Partitions of the memory.
    partitions: u64,
    /// Bytes of a partition of the memory.
    limit: u64,
}

impl Spot {
    fn flat(space: Space, location: Option<LocId>, addr: u64, bytes: Option<u64>) -> Spot {
        Spot { space, location, addr: Some(addr), bytes, rows: None, may_alias: false, spread: None }
    }
}

fn flat(bytes: ByteLattice) -> SmallVec<[Piece; 1]> {
    let piece = (!bytes.is_empty()).then_some(Piece { partitions: Partitions(1), bytes });
    piece.into_iter().collect()
}

/// The lowest and the highest element.
fn hull(base: i64, pairs: &[(i64, u64)]) -> (i128, i128) {
    pairs.iter().fold((base.into(), base.into()), |(low, high), (step, count)| {
        let reach = i128::from(*step) * i128::from(count.saturating_sub(1));
        (i128::saturating_add(low, reach.min(0)), i128::saturating_add(high, reach.max(0)))
    })
}
