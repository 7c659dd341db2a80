//! What the leaves of an expression can stand for, and the sets of offsets that follow (spec: bir-json 9, 10).

use smallvec::SmallVec;

use crate::expr::{Expr, Exprs};
use crate::generated::ops::Op;
use crate::generated::records::LoopAxis;
use crate::ids::{BlockId, ExprId, Ref, RegId};
use crate::module::{Holder, Module};
use crate::names::Sym;

/// The values `first`, `first + step`, ... (`count` of them).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progression {
    /// The first value.
    pub first: i64,
    /// Difference of two neighbours, of any sign.
    pub step: i64,
    /// Number of values.
    pub count: u64,
}

impl Progression {
    /// One value.
    pub fn constant(value: i64) -> Progression {
        Progression { first: value, step: 0, count: 1 }
    }

    /// The values that a static loop gives its axis. `None` when bounds or stride are missing or the stride is zero.
    pub fn of_loop(axis: &LoopAxis) -> Option<Progression> {
        let (low, high, step) = (axis.lb, axis.ub?, axis.stride?);
        let distance = match step {
            0 => return None,
            1.. => i128::from(high) - i128::from(low),
            _ => i128::from(low) - i128::from(high),
        };
        let count = if distance > 0 { (distance - 1) / i128::from(step.unsigned_abs()) + 1 } else { 0 };
        Some(Progression { first: low, step, count: u64::try_from(count).ok()? })
    }
}

/// What is known of the leaves of expressions where an operand is looked at.
///
/// A closure from axis to value is one, for a single iteration; [`LoopAxes`] is one for all iterations; [`Unknown`]
/// for none.
pub trait Env {
    /// Values of a loop axis. `None` when nothing is known.
    fn axis(&self, axis: Sym) -> Option<Progression>;

    /// Values of a register. `None` when nothing is known.
    fn register(&self, _: Ref<RegId>) -> Option<Progression> {
        None
    }

    /// Values of the shard index.
    fn shard(&self, ub: i64) -> Option<Progression> {
        u64::try_from(ub).ok().map(|count| Progression { first: 0, step: 1, count })
    }

    /// Values that an index operand holds.
    fn index_operand(&self, _arg_id: i64) -> Option<Progression> {
        None
    }
}

impl<F: Fn(Sym) -> Option<i64>> Env for F {
    fn axis(&self, axis: Sym) -> Option<Progression> {
        self(axis).map(Progression::constant)
    }
}

/// Nothing is known of axes and registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Env for Unknown {
    fn axis(&self, _: Sym) -> Option<Progression> {
        None
    }
}

/// The axes of the loops around a block, with all values that they take.
#[derive(Clone, Debug, Default)]
pub struct LoopAxes {
    /// Innermost first. `None` for loops whose bounds are not known before the program runs.
    axes: SmallVec<[(Sym, Option<Progression>); 4]>,
}

impl LoopAxes {
    /// The axes of the loops that a block stands in.
    pub fn around(module: &Module, mut block: BlockId) -> LoopAxes {
        let mut axes = SmallVec::new();
        while let Holder::Inst(owner) = module[block].holder {
            match &module[owner].op {
                Op::Loop(op) => {
                    axes.extend(op.loop_axis.as_ref().map(|axis| (axis.name, Progression::of_loop(axis))));
                }
                Op::DynamicForLoop(op) => {
                    axes.extend(op.dynamic_for_loop_axis.as_ref().map(|axis| (axis.name, None)));
                }
                _ => {}
            }
            block = module[owner].block;
        }
        LoopAxes { axes }
    }

    /// Whether no loop with an axis is around.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// Whether a loop around has that axis, with known values or not.
    pub fn has(&self, axis: Sym) -> bool {
        self.axes.iter().any(|(name, _)| *name == axis)
    }
}

impl Env for LoopAxes {
    fn axis(&self, axis: Sym) -> Option<Progression> {
        self.axes.iter().find(|(name, _)| *name == axis)?.1
    }
}

/// A set of offsets: `base` plus any multiples of the steps below their counts, each a step (not zero) and a count
/// (at least 2). Covers all values of an expression, and is exactly them when every leaf enters it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The offset of the first value of every leaf.
    pub base: i64,
    /// Steps and counts.
    pub dims: SmallVec<[(i64, u64); 4]>,
}

/// More dimensions than this are made one.
const MAX_DIMS: usize = 8;

impl Offsets {
    /// One offset.
    pub fn constant(base: i64) -> Offsets {
        Offsets { base, dims: SmallVec::new() }
    }

    /// The only offset, when it is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.dims.is_empty().then_some(self.base)
    }

    /// The offsets of a leaf's values. `None` when it has none.
    pub fn of(values: Progression) -> Option<Offsets> {
        let mut offsets = Offsets::constant(values.first);
        match values.count {
            0 => return None,
            1 => {}
            count if values.step != 0 => offsets.dims.push((values.step, count)),
            _ => {}
        }
        Some(offsets)
    }

    /// The offsets of an expression's values. `None` when a leaf is unknown or has no value (a loop that never
    /// runs), a divisor is not positive, or 64 bits do not hold a value.
    pub fn eval(exprs: &Exprs, id: ExprId, env: &dyn Env) -> Option<Offsets> {
        let leaf = |values: Option<Progression>| Offsets::of(values?);
        match exprs.get(id) {
            Expr::Axis { axis } => leaf(env.axis(*axis)),
            Expr::Register { regref } => leaf(env.register(*regref)),
            Expr::ShardId { ub } => leaf(env.shard(*ub)),
            Expr::Affine { terms, c } => terms.iter().try_fold(Offsets::constant(*c), |sum, term| {
                sum.plus(Offsets::eval(exprs, term.idx, env)?.times(term.coeff)?)
            }),
            Expr::Sum { terms } => {
                let parts = terms.iter().map(|term| Offsets::eval(exprs, *term, env));
                parts.into_iter().try_fold(Offsets::constant(0), |sum, part| sum.plus(part?))
            }
            Expr::Mult { var, scale } => Offsets::eval(exprs, *var, env)?.times(*scale),
            Expr::FloorDiv { numer, denom } => Offsets::eval(exprs, *numer, env)?.floor_div(*denom),
            Expr::Modulo { numer, denom } => Offsets::eval(exprs, *numer, env)?.modulo(*denom),
            Expr::IndirectArg { arg_id } => leaf(env.index_operand(*arg_id)),
            Expr::CcDiv { .. } | Expr::CcGetRank { .. } => None,
        }
    }

    /// The sums of an offset of each set.
    pub fn plus(mut self, other: Offsets) -> Option<Offsets> {
        self.base = self.base.checked_add(other.base)?;
        self.dims.extend(other.dims);
        if self.dims.len() > MAX_DIMS {
            let step = self.dims.iter().fold(0, |gcd, (step, _)| common_divisor(gcd, step.unsigned_abs()));
            let (low, high) = self.hull()?;
            return Offsets::progression(low, high, step);
        }
        Some(self)
    }

    /// The multiples of the offsets.
    pub fn times(mut self, factor: i64) -> Option<Offsets> {
        self.base = self.base.checked_mul(factor)?;
        for (step, _) in &mut self.dims {
            *step = step.checked_mul(factor)?;
        }
        if factor == 0 {
            self.dims.clear();
        }
        Some(self)
    }

    /// `floor(offset / denom)`.
    fn floor_div(mut self, denom: i64) -> Option<Offsets> {
        if denom <= 0 {
            return None;
        }
        if self.dims.iter().all(|(step, _)| step % denom == 0) {
            self.base = self.base.div_euclid(denom);
            self.dims.iter_mut().for_each(|(step, _)| *step /= denom);
            return Some(self);
        }
        let (low, high) = self.hull()?;
        Offsets::progression(low.div_euclid(denom), high.div_euclid(denom), 1)
    }

    /// `offset mod denom`, Euclidean.
    fn modulo(mut self, denom: i64) -> Option<Offsets> {
        if denom <= 0 {
            return None;
        }
        let (low, high) = self.hull()?;
        if low.div_euclid(denom) == high.div_euclid(denom) {
            self.base -= denom.checked_mul(low.div_euclid(denom))?;
            return Some(self);
        }
        // Every value is congruent to the base modulo the divisor of all steps and the modulus.
        let step = self
            .dims
            .iter()
            .fold(denom.unsigned_abs(), |gcd, (step, _)| common_divisor(gcd, step.unsigned_abs()));
        let step = i64::try_from(step).ok()?;
        Offsets::progression(self.base.rem_euclid(step), denom - 1, step.unsigned_abs())
    }

    /// The lowest and the highest offset.
    pub fn hull(&self) -> Option<(i64, i64)> {
        let (mut low, mut high) = (i128::from(self.base), i128::from(self.base));
        for (step, count) in &self.dims {
            let reach = i128::from(*step).checked_mul(i128::from(count - 1))?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?))
    }

    /// From `low` in steps up to at most `high`.
    fn progression(low: i64, high: i64, step: u64) -> Option<Offsets> {
        let count = high.abs_diff(low).checked_div(step).map_or(1, |steps| steps + 1);
        Offsets::of(Progression { first: low, step: i64::try_from(step).ok()?, count })
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::expr::AffineTerm;

    fn axis(number: usize) -> Sym {
        Sym::from_index(number)
    }

    /// Three axes with the values of static loops.
    struct Axes([Progression; 3]);

    impl Env for Axes {
        fn axis(&self, axis: Sym) -> Option<Progression> {
            self.0.get(axis.index()).copied()
        }
    }

    fn all(values: Progression) -> impl Iterator<Item = i64> {
        (0..values.count as i64).map(move |k| values.first + k * values.step)
    }

    /// Adds a tree that a list of choices describes, and gives its root.
    fn tree(exprs: &mut Exprs, choices: &mut impl Iterator<Item = (u8, i64)>, depth: u32) -> ExprId {
        let (kind, number) = choices.next().unwrap_or((0, 0));
        match kind % 6 {
            _ if depth == 0 => exprs.axis(axis(number.unsigned_abs() as usize % 3), number % 5, number % 7),
            0 => exprs.constant(number),
            1 => {
                let terms = (0..3).map(|at| {
                    let idx = exprs.add(Expr::Axis { axis: axis(at) });
                    AffineTerm { idx, coeff: number % 4 + at as i64 - 1 }
                });
                let terms = terms.collect();
                exprs.add(Expr::Affine { terms, c: number })
            }
            2 => {
                let terms = vec![tree(exprs, choices, depth - 1), tree(exprs, choices, depth - 1)];
                exprs.add(Expr::Sum { terms })
            }
            3 => {
                let var = tree(exprs, choices, depth - 1);
                exprs.add(Expr::Mult { var, scale: number % 4 })
            }
            4 => {
                let numer = tree(exprs, choices, depth - 1);
                exprs.add(Expr::FloorDiv { numer, denom: number.abs() % 6 + 1 })
            }
            _ => {
                let numer = tree(exprs, choices, depth - 1);
                exprs.add(Expr::Modulo { numer, denom: number.abs() % 6 + 1 })
            }
        }
    }

    proptest! {
        #[test]
        fn offsets_cover_every_value(
            choices in prop::collection::vec((any::<u8>(), -20i64..20), 1..12),
            axes in prop::array::uniform3((-4i64..4, -3i64..4, 1u64..5)),
        ) {
            let axes = Axes(axes.map(|(first, step, count)| Progression { first, step, count }));
            let mut exprs = Exprs::default();
            let root = tree(&mut exprs, &mut choices.into_iter(), 3);
            let offsets = Offsets::eval(&exprs, root, &axes).unwrap();
            let mut covered = BTreeSet::from([offsets.base]);
            for &(step, count) in &offsets.dims {
                prop_assert!(step != 0 && count >= 2);
                covered = (0..count as i64).flat_map(|k| covered.iter().map(move |v| v + k * step)).collect();
            }
            let (low, high) = offsets.hull().unwrap();
            prop_assert_eq!((covered.first(), covered.last()), (Some(&low), Some(&high)));
            for x in all(axes.0[0]) {
                for y in all(axes.0[1]) {
                    for z in all(axes.0[2]) {
                        let value = |name: Sym| Some([x, y, z][name.index()]);
                        let value = exprs.eval(root, &value).unwrap();
                        prop_assert!(covered.contains(&value), "{value} is not in {offsets:?}");
                    }
                }
            }
            // With every axis at one value the set is that value.
            let first = |name: Sym| Some(axes.0[name.index()].first);
            let fixed = Offsets::eval(&exprs, root, &first).unwrap();
            prop_assert_eq!(fixed.as_constant(), exprs.eval(root, &first));
        }

        #[test]
        fn any_numbers_are_survived(base: i64, dims in prop::collection::vec((any::<i64>(), 2u64..), 0..12), by: i64) {
            let dims: SmallVec<[(i64, u64); 4]> = dims.into_iter().filter(|(step, _)| *step != 0).collect();
            let offsets = Offsets { base, dims };
            let _ = (offsets.hull(), offsets.clone().times(by), offsets.clone().floor_div(by));
            let _ = (offsets.clone().modulo(by), offsets.clone().plus(offsets));
        }
    }

    #[test]
    fn a_rotating_buffer_takes_two_places() {
        let mut exprs = Exprs::default();
        let i = exprs.axis(axis(0), 1, 0);
        let numer = exprs.add(Expr::Modulo { numer: i, denom: 2 });
        let root = exprs.add(Expr::Mult { var: numer, scale: 256 });
        let axes = Axes([Progression { first: 0, step: 1, count: 100 }; 3]);
        let offsets = Offsets::eval(&exprs, root, &axes).unwrap();
        assert_eq!((offsets.base, &offsets.dims[..]), (0, &[(256, 2)][..]));
        // Every second iteration always takes the first.
        let even = Axes([Progression { first: 0, step: 2, count: 100 }; 3]);
        assert_eq!(Offsets::eval(&exprs, root, &even).unwrap().as_constant(), Some(0));
        assert_eq!(Offsets::eval(&exprs, root, &Unknown), None);
    }

    #[test]
    fn trip_counts() {
        let count = |lb, ub, stride| {
            let axis = LoopAxis { lb, ub: Some(ub), stride: Some(stride), ..Default::default() };
            Progression::of_loop(&axis).map(|values| values.count)
        };
        assert_eq!(count(0, 4, 1), Some(4));
        assert_eq!(count(0, 5, 2), Some(3));
        assert_eq!(count(4, 0, -3), Some(2));
        assert_eq!((count(4, 4, 1), count(0, 4, -1), count(0, 4, 0)), (Some(0), Some(0), None));
        assert_eq!(count(i64::MIN, i64::MAX, 1), Some(u64::MAX));
    }
}
