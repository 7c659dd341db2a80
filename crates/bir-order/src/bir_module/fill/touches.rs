//! What an instruction touches: its memories, and which part of them in each iteration of the loops around.

use bir::enums::{MemoryAddressSpace, TensorKind};
use bir::expr::{Expr, Exprs};
use bir::geometry::{Footprint, Progression, Space};
use bir::ids::{ExprId, Id, InstId, LocId};
use bir::records::MemoryLocationSet;
use bir::{Argument, Module, Op, Sym};
use hashbrown::HashSet;
use smallvec::SmallVec;

use super::Filler;
use crate::bir_module::{each_access, each_access_in, moves};
use crate::program::{Access, BlockId, Bytes, SpaceId};

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

impl Filler<'_, '_> {
    /// Adds the accesses of an instruction to memory.
    pub(super) fn touch(&mut self, inst: InstId) {
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
        let moves = moves(&module[inst]);
        let around = if moves { self.moving_with(inst) } else { Vec::new() };
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
        Bytes { space, pieces: footprint.pieces, exact: footprint.exact, alias, moves: None }
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
        *self.shared.spaces.entry(key).or_insert_with(|| {
            filled.spaces.push((core, footprint.space));
            filled.program.add_space()
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
