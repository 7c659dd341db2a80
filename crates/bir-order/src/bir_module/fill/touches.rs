//! What an instruction touches: its memories, and which part of them in each iteration of the loops around.

use bir::access::AccessPattern;
use bir::enums::{Dtype, MemoryAddressSpace, TensorKind};
use bir::expr::{Expr, Exprs};
use bir::geometry::lattice::ByteLattice;
use bir::geometry::{Footprint, Progression, Space, Unknown};
use bir::ids::{ExprId, Id, InstId, LocId};
use bir::operands::access_of;
use bir::records::MemoryLocationSet;
use bir::{Argument, Module, Op, Sym};
use hashbrown::HashSet;
use smallvec::SmallVec;

use super::Filler;
use crate::bir_module::{each_access, each_access_in, effect_of, matters, moves};
use crate::program::{Access, BlockId, Bytes, BytesId, SpaceId};

/// Most iterations of the loops around an access that are told apart, and most parts of a program.
const MAX_PARTS: usize = 4096;
pub(super) const MAX_ALL_PARTS: usize = 1 << 19;

/// A loop that is known to run so many times.
#[derive(Clone)]
pub(super) struct Around {
    pub(super) axis: Sym,
    values: Progression,
    trips: u32,
    first: BlockId,
}

#[derive(PartialEq, Eq, Hash)]
pub(super) enum SpaceKey {
    Own(u16, Space),
    /// A tensor that all cores see, by name.
    Common(String),
}

/// Names of sets that several modules share.
pub(super) fn common(modules: &[&Module]) -> HashSet<String> {
    let (mut once, mut several) = (HashSet::new(), HashSet::new());
    for module in modules.iter().filter(|_| modules.len() > 1) {
        for set in module.functions().flat_map(|func| module.sets_of(func)).map(|set| &module[set]) {
            let is_shared = set.addr_space == MemoryAddressSpace::Shared;
            let name = module.str(set.name);
            if is_shared && !once.insert(name) {
                several.insert(name.to_owned());
            }
        }
    }
    several
}

/// A static operand: where, in which pattern, of what. Buffers are used again and again.
pub(super) type StaticOperand<'m> = (LocId, i64, Option<Dtype>, Option<&'m AccessPattern>);

/// What a static operand touches.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// None when it is nothing.
    bytes: Option<BytesId>,
    space: Space,
    /// Its partitions are not one run.
    is_stepped: bool,
}

impl<'m> Filler<'_, 'm> {
    /// Adds the accesses of an instruction to memory.
    pub(super) fn touch(&mut self, inst: InstId) {
        let module = self.module;
        let of = &module[inst];
        if moves(of) {
            self.touch_moving(inst);
            return;
        }
        let accumulates = self.filled.accumulates;
        for (list, index, argument) in of.operands() {
            let access = access_of(of, list, index);
            if let Some(place) = self.place(argument) {
                let effect = effect_of(of, access, place.space, accumulates);
                self.accesses.extend(place.bytes.map(|bytes| Access { bytes, effect }));
                continue;
            }
            for footprint in self.footprints.operand(argument, &Unknown).into_iter().filter(matters) {
                let effect = effect_of(of, access, footprint.space, accumulates);
                let bytes = self.bytes(footprint);
                let bytes = self.filled.program.bytes(bytes);
                self.accesses.push(Access { bytes, effect });
            }
        }
    }

    /// What a static operand touches; `None` for other operands.
    fn place(&mut self, argument: &'m Argument) -> Option<Place> {
        let Argument::PhysicalAp(arg) = argument else { return None };
        let loc = arg.memref?.id()?;
        let offset = i64::try_from(arg.offset).ok()?;
        let key = (loc, offset, arg.dtype, arg.ap.as_ref());
        if arg.dynamic_ap_info.is_some() {
            return None;
        }
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let [footprint] = self.footprints.operand(argument, &Unknown).into_inner().ok()?;
        let (space, is_stepped) = (footprint.space, is_stepped(&footprint));
        let bytes = matters(&footprint).then(|| self.bytes(footprint));
        let bytes = bytes.map(|bytes| self.filled.program.bytes(bytes));
        let place = Place { bytes, space, is_stepped };
        self.places.insert(key, place);
        Some(place)
    }

    /// Whether an operand may touch partitions that are not one run: false only where that is known.
    pub(super) fn may_step(&mut self, inst: InstId) -> bool {
        let mut operands = self.module[inst].operands();
        operands.any(|(_, _, argument)| self.place(argument).is_none_or(|place| place.is_stepped))
    }

    /// The accesses of an instruction that moves with loops.
    fn touch_moving(&mut self, inst: InstId) {
        let module = self.module;
        let mut found: SmallVec<[(Footprint, crate::program::Effect); 4]> = SmallVec::new();
        each_access(
            self.footprints,
            &module[inst],
            self.filled.accumulates,
            &mut |_, _, footprint, effect| {
                found.push((footprint, effect));
            },
        );
        let around = self.moving_with(inst);
        let mut parts = self.parts(inst, &around, found.len()).into_iter();
        for (footprint, effect) in found {
            let mut bytes = self.bytes(footprint);
            match parts.next() {
                Some(parts) if parts.iter().all(|part| *part == parts[0]) => bytes = parts[0].clone(),
                Some(parts) if parts.iter().all(|part| part.exact && part.space == bytes.space) => {
                    let several = around.iter().filter(|around| around.trips > 1);
                    let loops: SmallVec<[(BlockId, u32); 4]> =
                        several.map(|around| (around.first, around.trips)).collect();
                    bytes.exact = false;
                    bytes.moves = Some(self.filled.program.moves(&loops, parts));
                }
                _ => {}
            }
            let bytes = self.filled.program.bytes(bytes);
            self.accesses.push(Access { bytes, effect });
        }
    }

    fn bytes(&mut self, footprint: Footprint) -> Bytes {
        let space = self.space(&footprint);
        let alias =
            footprint.may_alias().then_some(footprint.location).flatten().map(|loc| loc.index() as u32);
        let mut bytes = Bytes { space, pieces: footprint.pieces, exact: footprint.exact, alias, moves: None };
        if let Some(further) = self.further(space, footprint.location) {
            for piece in &mut bytes.pieces {
                match moved(&piece.bytes, further) {
                    Some(moved) => piece.bytes = moved,
                    None => bytes.exact = false,
                }
            }
        }
        bytes
    }

    /// How much further on a tensor that all cores see begins on the first core that has it, if it does.
    fn further(&mut self, space: SpaceId, location: Option<LocId>) -> Option<i64> {
        if !self.shared.commons.contains(&space) {
            return None;
        }
        let set = &self.module[self.module[location?].set];
        let places = set.memorylocations.iter().map(|loc| &self.module[*loc]);
        let start = places.map(|loc| if loc.is_placed() { loc.addr } else { 0 }).min().unwrap_or(0);
        let start = i64::try_from(start).ok()?;
        let first = *self.shared.starts.entry(space).or_insert(start);
        Some(first - start).filter(|further| *further != 0)
    }

    /// The loops around that an instruction moves with.
    fn moving_with(&self, inst: InstId) -> Vec<Around> {
        let mut axes: SmallVec<[Sym; 4]> = SmallVec::new();
        for (_, _, argument) in self.module[inst].operands() {
            match argument {
                Argument::SymbolicAp(arg) => {
                    arg.addrs.iter().for_each(|expr| axes_of(&self.module.exprs, *expr, &mut axes));
                }
                Argument::PhysicalAp(arg) => {
                    let terms = arg.dynamic_ap_info.iter().flat_map(|info| &info.aff_expr);
                    let exprs = terms.filter_map(|term| term.offset_expr);
                    exprs.for_each(|expr| axes_of(&self.module.exprs, expr, &mut axes));
                }
                _ => {}
            }
        }
        let used = self.around.iter().filter(|around| axes.contains(&around.axis));
        used.cloned().collect()
    }

    /// Of each of so many accesses what it touches in each iteration of the loops around; none when these are not known,
    /// or too many.
    fn parts(&mut self, inst: InstId, around: &[Around], accesses: usize) -> Vec<Vec<Bytes>> {
        let trips = around.iter().map(|around| around.trips as usize);
        let count = trips.fold(1usize, usize::saturating_mul);
        if around.is_empty() || accesses == 0 || count > MAX_PARTS {
            return Vec::new();
        }
        let Some(left) = self.parts_left.checked_sub(count * accesses) else { return Vec::new() };
        self.parts_left = left;
        let mut parts: Vec<Vec<Bytes>> = vec![Vec::with_capacity(count); accesses];
        for at in 0..count {
            let mut values: SmallVec<[(Sym, i64); 4]> = SmallVec::new();
            let mut rest = at as i64;
            for Around { axis, values: of, trips, .. } in around.iter().rev() {
                values
                    .push((*axis, of.first.saturating_add(of.step.saturating_mul(rest % i64::from(*trips)))));
                rest /= i64::from(*trips);
            }
            let env = |axis: Sym| values.iter().find(|(of, _)| *of == axis).map(|(_, value)| *value);
            let mut found: SmallVec<[Footprint; 4]> = SmallVec::new();
            let accumulates = self.filled.accumulates;
            let of = &self.module[inst];
            each_access_in(self.footprints, of, accumulates, &env, &mut |_, _, footprint, _| {
                found.push(footprint);
            });
            if found.len() != accesses {
                return Vec::new();
            }
            for (parts, footprint) in parts.iter_mut().zip(found) {
                parts.push(self.bytes(footprint));
            }
        }
        parts
    }

    fn space(&mut self, footprint: &Footprint) -> SpaceId {
        let several = self.filled.modules.len() > 1;
        let set_of = |loc: LocId| &self.module[self.module[loc].set];
        let is_shared = |set: &MemoryLocationSet| set.addr_space == MemoryAddressSpace::Shared;
        let key = match (footprint.space, footprint.location) {
            (Space::Location(loc), _) if several => {
                let set = set_of(loc);
                let is_own = !is_shared(set) && set.kind.is_none_or(|kind| kind == TensorKind::Internal);
                match is_own {
                    true => SpaceKey::Own(self.core, footprint.space),
                    false => SpaceKey::Common(self.module.str(set.name).to_owned()),
                }
            }
            // In the arena of a core, but meant for others that know it by its name.
            (Space::Dram, Some(loc)) if several && is_shared(set_of(loc)) => {
                let name = self.module.str(set_of(loc).name);
                match self.shared.common.contains(name) {
                    true => SpaceKey::Common(name.to_owned()),
                    false => SpaceKey::Own(self.core, footprint.space),
                }
            }
            (space, _) => SpaceKey::Own(self.core, space),
        };
        let (filled, core) = (&mut self.filled, self.core);
        let is_common = matches!(key, SpaceKey::Common(_));
        let commons = &mut self.shared.commons;
        *self.shared.spaces.entry(key).or_insert_with(|| {
            filled.spaces.push((core, footprint.space));
            let space = filled.program.add_space();
            if is_common {
                commons.insert(space);
            }
            space
        })
    }

    /// Goes into a loop; gives what was around before. A loop that runs once has a known axis all the same.
    pub(super) fn enter(&mut self, op: &Op, first: BlockId) -> Vec<Around> {
        let outer = self.around.clone();
        let axis = match op {
            Op::Loop(op) => op.loop_axis.as_deref(),
            _ => None,
        };
        let known = axis.and_then(|axis| Some((axis.name, Progression::of_loop(axis)?)));
        match known.and_then(|(axis, values)| Some((axis, values, u32::try_from(values.count).ok()?))) {
            Some((axis, values, trips)) => self.around.push(Around { axis, values, trips, first }),
            // Nobody knows how often: neither is it known where what moves with an outer loop is at a time.
            None => self.around.clear(),
        }
        outer
    }
}

/// The same bytes so much further on.
fn moved(bytes: &ByteLattice, further: i64) -> Option<ByteLattice> {
    let dims = bytes.dims().iter().map(|dim| Some((i64::try_from(dim.stride).ok()?, dim.count)));
    let dims: SmallVec<[(i64, u64); 4]> = dims.collect::<Option<_>>()?;
    ByteLattice::new(bytes.base().checked_add(further)?, dims, bytes.width())
}

/// Whether the partitions of an access are not one run. spec: ordering 16, T10
pub(super) fn is_stepped(footprint: &Footprint) -> bool {
    let mask = footprint.partitions().0;
    let run = mask >> mask.trailing_zeros().min(127);
    footprint.space.is_on_chip() && mask != 0 && run.count_ones() != run.trailing_ones()
}

/// The axes in an expression.
fn axes_of(exprs: &Exprs, expr: ExprId, axes: &mut SmallVec<[Sym; 4]>) {
    match exprs.get(expr) {
        Expr::Axis { axis } => axes.push(*axis),
        Expr::Affine { terms, .. } => terms.iter().for_each(|term| axes_of(exprs, term.idx, axes)),
        Expr::Sum { terms } => terms.iter().for_each(|term| axes_of(exprs, *term, axes)),
        Expr::Mult { var, .. } => axes_of(exprs, *var, axes),
        Expr::FloorDiv { numer, .. } | Expr::Modulo { numer, .. } => axes_of(exprs, *numer, axes),
        _ => {}
    }
}
