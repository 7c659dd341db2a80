//! Which objects of two modules are the same. Everything here treats the two alike, so that the differences in one
//! direction are those in the other with the signs swapped.

use std::hash::{DefaultHasher, Hasher};

use bir::ids::{BlockId, FuncId, Id, InstId, LocId, QueueId, RegId, SetId};
use bir::{Argument, Holder, Module, NameOf, OpenEnum, Sym};
use hashbrown::HashMap;

use crate::json::{self, ByName};

/// Nothing matches.
pub(super) const NONE: u32 = u32::MAX;

/// Matched objects: by index of the left one, the index of the right one, and the other way.
pub(super) struct Matching {
    pub(super) insts: Pairs,
    pub(super) blocks: Pairs,
    pub(super) funcs: Vec<Pair<FuncId>>,
    pub(super) sets: Vec<Pair<SetId>>,
    pub(super) locs: Vec<Pair<LocId>>,
    pub(super) regs: Vec<Pair<RegId>>,
    pub(super) queues: Vec<Pair<QueueId>>,
    /// Whether names of instructions are not compared.
    pub(super) by_shape: bool,
    pub(super) names_ignored: u64,
}

/// An object of each module, or of one of them.
#[derive(Clone, Copy)]
pub(super) struct Pair<T> {
    pub(super) left: Option<T>,
    pub(super) right: Option<T>,
    /// Index in the list of each module.
    pub(super) at: [usize; 2],
}

impl<T: Copy> Pair<T> {
    fn both(&self) -> Option<(T, T)> {
        Some((self.left?, self.right?))
    }
}

/// A one-to-one relation of indexes.
pub(super) struct Pairs {
    pub(super) to_right: Vec<u32>,
    pub(super) to_left: Vec<u32>,
}

impl Pairs {
    fn new(left: usize, right: usize) -> Pairs {
        Pairs { to_right: vec![NONE; left], to_left: vec![NONE; right] }
    }

    fn put<T: Id>(&mut self, left: T, right: T) {
        self.to_right[left.index()] = right.index() as u32;
        self.to_left[right.index()] = left.index() as u32;
    }

    pub(super) fn right<T: Id>(&self, left: T) -> Option<T> {
        self.to_right.get(left.index()).copied().filter(|at| *at != NONE).map(|at| T::new(at as usize))
    }

    pub(super) fn left<T: Id>(&self, right: T) -> Option<T> {
        self.to_left.get(right.index()).copied().filter(|at| *at != NONE).map(|at| T::new(at as usize))
    }
}

struct Matcher<'m> {
    left: &'m Module,
    right: &'m Module,
    /// Symbols of the right module as numbers that equal those of the left module for equal strings.
    right_names: Vec<u32>,
    /// Shapes that were asked for; 0 is none.
    shapes: [Vec<u64>; 2],
    found: Matching,
}

impl Matching {
    pub(super) fn of(left: &Module, right: &Module) -> Matching {
        let known = left.names.len() as u32;
        let number = |(at, name): (usize, &str)| {
            left.names.get(name).map_or(known + at as u32, |sym| sym.index() as u32)
        };
        let right_names = right.names.iter().enumerate().map(number).collect();
        let found = Matching {
            insts: Pairs::new(left.inst_ids().len(), right.inst_ids().len()),
            blocks: Pairs::new(left.block_ids().len(), right.block_ids().len()),
            funcs: Vec::new(),
            sets: Vec::new(),
            locs: Vec::new(),
            regs: Vec::new(),
            queues: Vec::new(),
            by_shape: false,
            names_ignored: 0,
        };
        let shapes = [vec![0; left.inst_ids().len()], vec![0; right.inst_ids().len()]];
        let mut matcher = Matcher { left, right, right_names, shapes, found };
        matcher.module();
        matcher.found
    }
}

impl<'m> Matcher<'m> {
    fn module(&mut self) {
        let (left, right) = (self.left, self.right);
        let funcs =
            self.by_name(&left.functions().collect::<Vec<_>>(), &right.functions().collect::<Vec<_>>());
        for Pair { left: l, right: r, .. } in &funcs {
            let sets = |module: &Module, id: &Option<FuncId>| -> Vec<SetId> {
                id.iter().flat_map(|id| module.sets_of(*id)).collect()
            };
            let regs = |module: &Module, id: &Option<FuncId>| -> Vec<RegId> {
                id.iter().flat_map(|id| module.registers_of(*id)).collect()
            };
            let pairs = self.by_name(&sets(left, l), &sets(right, r));
            for Pair { left: l, right: r, .. } in &pairs {
                let locs = |module: &Module, id: &Option<SetId>| -> Vec<LocId> {
                    id.iter().flat_map(|id| module[*id].memorylocations.iter().copied()).collect()
                };
                let pairs = self.by_name(&locs(left, l), &locs(right, r));
                self.found.locs.extend(pairs);
            }
            self.found.sets.extend(pairs);
            let pairs = self.by_name(&regs(left, l), &regs(right, r));
            self.found.regs.extend(pairs);
        }
        let queues = self.by_name(&left.queues().collect::<Vec<_>>(), &right.queues().collect::<Vec<_>>());
        self.found.by_shape = self.names_disagree();
        for (l, r) in funcs.iter().filter_map(Pair::both) {
            self.holders(Holder::Function(l), Holder::Function(r));
        }
        for (l, r) in queues.iter().filter_map(Pair::both) {
            self.holders(Holder::Queue(l), Holder::Queue(r));
        }
        self.found.funcs = funcs;
        self.found.queues = queues;
    }

    /// Objects of equal names, the n-th with the n-th; then those that have no partner. In the order of the left
    /// list, each right one behind the one it follows.
    fn by_name<T: Id + std::hash::Hash>(&self, left: &[T], right: &[T]) -> Vec<Pair<T>>
    where
        Module: NameOf<T>,
    {
        let mut places: HashMap<(u32, u32), usize> = HashMap::with_capacity(right.len());
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut key = |name: u32| {
            let count = counts.entry(name).or_default();
            *count += 1;
            (name, *count)
        };
        for (at, id) in right.iter().enumerate() {
            let name = self.right_names[self.right.name_of(*id).index()];
            places.insert(key(name), at);
        }
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let partner = |id: &T| {
            let name = self.left.name_of(*id).index() as u32;
            let count = counts.entry(name).or_default();
            *count += 1;
            places.get(&(name, *count)).copied()
        };
        let partners: Vec<Option<usize>> = left.iter().map(partner).collect();
        let taken: Vec<bool> = partners.iter().flatten().fold(vec![false; right.len()], |mut taken, at| {
            taken[*at] = true;
            taken
        });
        let only_right = |at: usize| Pair { left: None, right: Some(right[at]), at: [0, at] };
        let mut pairs = Vec::new();
        let mut next = 0;
        for (i, (id, partner)) in left.iter().zip(&partners).enumerate() {
            if let Some(at) = *partner {
                pairs.extend((next..at).filter(|at| !taken[*at]).map(only_right));
                next = next.max(at + 1);
            }
            let at = [i, partner.unwrap_or(0)];
            pairs.push(Pair { left: Some(*id), right: partner.map(|at| right[at]), at });
        }
        pairs.extend((next..right.len()).filter(|at| !taken[*at]).map(only_right));
        pairs
    }

    /// A function or queue of each module: blocks and instructions, nested ones too.
    fn holders(&mut self, left: Holder, right: Holder) {
        let by_shape = self.found.by_shape;
        self.bodies(left, right, by_shape);
        // What went to another block: the same name and opcode, once on each side.
        let unmatched = |module: &Module, holder: Holder, pairs: &[u32]| -> Vec<InstId> {
            module.insts_of(holder).filter(|inst| pairs[inst.index()] == NONE).collect()
        };
        let l = unmatched(self.left, left, &self.found.insts.to_right);
        let r = unmatched(self.right, right, &self.found.insts.to_left);
        if l.is_empty() || r.is_empty() {
            // Nothing went elsewhere.
        } else if by_shape {
            self.pair_once(&l, &r, |this, side, inst| (this.shape(side, inst), 0));
        } else {
            self.pair_once(&l, &r, |this, side, inst| {
                (this.name(side, inst).into(), this.opcode(side, inst))
            });
        }
        if by_shape {
            let matched = |inst: &InstId| self.found.insts.to_right[inst.index()] != NONE;
            self.found.names_ignored += self.left.insts_of(left).filter(matched).count() as u64;
        }
    }

    /// Whether instructions of equal names mostly have other shapes, or hardly a name is in both: a new compile
    /// counted them anew.
    fn names_disagree(&mut self) -> bool {
        const SAMPLE: usize = 4000;
        /// Below that, names are all there is to go by.
        const FEW: usize = 8;
        let mut sides: HashMap<u32, ([u32; 2], [InstId; 2])> = HashMap::new();
        let mut counts = [0; 2];
        for side in [0, 1] {
            for inst in self.module_of(side).insts() {
                let (times, insts) = sides.entry(self.name(side, inst)).or_insert(([0; 2], [inst; 2]));
                times[side] += 1;
                insts[side] = inst;
                counts[side] += 1;
            }
        }
        let least: usize = counts[0].min(counts[1]);
        if least < FEW {
            return false;
        }
        let once = sides.values().filter(|(times, _)| *times == [1, 1]).map(|(_, insts)| *insts);
        let mut shared: Vec<[InstId; 2]> = once.collect();
        let repeated = sides.values().filter(|(times, _)| times[0].min(times[1]) > 1).count();
        if (shared.len() + repeated) * 4 < least {
            return true;
        }
        // A choice that is the same whichever module comes first.
        let step = (shared.len() / SAMPLE).max(1) as u64;
        shared.retain(|[l, _]| hash_of(self.left.str(self.left[*l].name)).is_multiple_of(step));
        let equal = shared.iter().filter(|[l, r]| self.shape(0, *l) == self.shape(1, *r)).count();
        equal * 2 < shared.len()
    }

    /// The blocks of a holder of each module.
    fn bodies(&mut self, left: Holder, right: Holder, by_shape: bool) {
        let mut stack = vec![(left, right)];
        while let Some((left, right)) = stack.pop() {
            let (l, r) = (blocks_of(self.left, left), blocks_of(self.right, right));
            let pairs = self.by_name(&l, &r);
            let mut only: [Vec<BlockId>; 2] = Default::default();
            let mut matched = Vec::new();
            for pair in pairs {
                match pair.both() {
                    Some(both) => matched.push(both),
                    None => {
                        only[0].extend(pair.left);
                        only[1].extend(pair.right);
                    }
                }
            }
            // Blocks of other names: by place, if there are as many.
            if only[0].len() == only[1].len() {
                let [l, r] = &only;
                matched.extend(l.iter().copied().zip(r.iter().copied()));
            }
            for (l, r) in matched {
                self.found.blocks.put(l, r);
                let (l, r) = (self.left[l].instructions.to_vec(), self.right[r].instructions.to_vec());
                self.block(&l, &r, by_shape);
                let partner = |inst: &InstId| Some((*inst, self.found.insts.right(*inst)?));
                for (l, r) in l.iter().filter_map(partner) {
                    if !self.left[l].body().is_empty() || !self.right[r].body().is_empty() {
                        stack.push((Holder::Inst(l), Holder::Inst(r)));
                    }
                }
            }
        }
    }

    fn block(&mut self, left: &[InstId], right: &[InstId], by_shape: bool) {
        if by_shape {
            self.by_place(left, right);
            return;
        }
        self.pair_nth(left, right, |this, side, inst| {
            (this.name(side, inst).into(), this.opcode(side, inst))
        });
        let (l, r) = self.rest(left, right);
        if !l.is_empty() && !r.is_empty() {
            self.pair_nth(&l, &r, |this, side, inst| (this.shape(side, inst), 0));
        }
        let (l, r) = self.rest(left, right);
        if !l.is_empty() && !r.is_empty() {
            self.pair_nth(&l, &r, |this, side, inst| (this.name(side, inst).into(), 0));
        }
    }

    fn rest(&self, left: &[InstId], right: &[InstId]) -> (Vec<InstId>, Vec<InstId>) {
        let free = |list: &[InstId], pairs: &[u32]| -> Vec<InstId> {
            list.iter().copied().filter(|inst| pairs[inst.index()] == NONE).collect()
        };
        (free(left, &self.found.insts.to_right), free(right, &self.found.insts.to_left))
    }

    /// Pairs by shape: those whose shape is there once on each side are fixed points; between them, equal shapes in
    /// order, then equal opcodes in order.
    fn by_place(&mut self, left: &[InstId], right: &[InstId]) {
        let mut once: HashMap<u64, (u32, u32, usize, usize)> = HashMap::new();
        for (side, list) in [(0, left), (1, right)] {
            for (at, inst) in list.iter().enumerate() {
                let entry = once.entry(self.shape(side, *inst)).or_default();
                match side {
                    0 => (entry.0, entry.2) = (entry.0 + 1, at),
                    _ => (entry.1, entry.3) = (entry.1 + 1, at),
                }
            }
        }
        let mut points: Vec<(usize, usize)> = once
            .values()
            .filter(|entry| entry.0 == 1 && entry.1 == 1)
            .map(|entry| (entry.2, entry.3))
            .collect();
        points.sort_unstable();
        let labels: Vec<u64> = points.iter().map(|point| self.shape(0, left[point.0])).collect();
        let kept = kept_in_place(&points, &labels);
        let mut from = (0, 0);
        let ends = points.iter().enumerate().filter(|(at, _)| kept[*at]).map(|(_, point)| *point);
        for (l, r) in ends.chain([(left.len(), right.len())]) {
            let (gap_l, gap_r) = (&left[from.0..l], &right[from.1..r]);
            self.pair_nth(gap_l, gap_r, |this, side, inst| (this.shape(side, inst), 0));
            let (rest_l, rest_r) = self.rest(gap_l, gap_r);
            self.pair_nth(&rest_l, &rest_r, |this, side, inst| {
                (this.opcode(side, inst).into(), this.engine(side, inst))
            });
            if l < left.len() && r < right.len() {
                self.found.insts.put(left[l], right[r]);
            }
            from = ((l + 1).min(left.len()), (r + 1).min(right.len()));
        }
        let (l, r) = self.rest(left, right);
        self.pair_nth(&l, &r, |this, side, inst| (this.shape(side, inst), 0));
    }

    /// Pairs the n-th of a key with the n-th of the same key.
    fn pair_nth(
        &mut self,
        left: &[InstId],
        right: &[InstId],
        key: impl Fn(&mut Self, usize, InstId) -> (u64, u32),
    ) {
        let mut places: HashMap<((u64, u32), u32), InstId> = HashMap::with_capacity(right.len());
        let mut counts: HashMap<(u64, u32), u32> = HashMap::with_capacity(right.len());
        for inst in right {
            let key = key(self, 1, *inst);
            let count = counts.entry(key).or_default();
            *count += 1;
            places.insert((key, *count), *inst);
        }
        counts.clear();
        for inst in left {
            let key = key(self, 0, *inst);
            let count = counts.entry(key).or_default();
            *count += 1;
            if let Some(partner) = places.get(&(key, *count)) {
                self.found.insts.put(*inst, *partner);
            }
        }
    }

    /// Pairs what has a key once on each side.
    fn pair_once(
        &mut self,
        left: &[InstId],
        right: &[InstId],
        key: impl Fn(&mut Self, usize, InstId) -> (u64, u32),
    ) {
        let mut sides: HashMap<(u64, u32), [Vec<InstId>; 2]> = HashMap::new();
        for (side, list) in [(0, left), (1, right)] {
            for inst in list {
                let key = key(self, side, *inst);
                sides.entry(key).or_default()[side].push(*inst);
            }
        }
        for [l, r] in sides.values() {
            if let ([l], [r]) = (&l[..], &r[..]) {
                self.found.insts.put(*l, *r);
            }
        }
    }

    fn module_of(&self, side: usize) -> &'m Module {
        if side == 0 { self.left } else { self.right }
    }

    fn number(&self, side: usize, sym: Sym) -> u32 {
        if side == 0 { sym.index() as u32 } else { self.right_names[sym.index()] }
    }

    fn name(&self, side: usize, inst: InstId) -> u32 {
        self.number(side, self.module_of(side)[inst].name)
    }

    fn opcode(&self, side: usize, inst: InstId) -> u32 {
        self.open_enum(side, self.module_of(side)[inst].opcode())
    }

    fn engine(&self, side: usize, inst: InstId) -> u32 {
        self.open_enum(side, self.module_of(side)[inst].engine)
    }

    fn open_enum<E: OpenEnum>(&self, side: usize, value: E) -> u32 {
        match (value.ordinal(), value.name()) {
            (Some(ordinal), _) => ordinal,
            (None, Err(sym)) => 1 << 16 | self.number(side, sym),
            (None, Ok(_)) => 1 << 16,
        }
    }

    /// Opcode, engine, operands and keys as one number.
    fn shape(&mut self, side: usize, id: InstId) -> u64 {
        if self.shapes[side][id.index()] == 0 {
            let shape = self.new_shape(side, id);
            self.shapes[side][id.index()] = shape.max(1);
        }
        self.shapes[side][id.index()]
    }

    fn new_shape(&self, side: usize, id: InstId) -> u64 {
        let module = self.module_of(side);
        let inst = &module[id];
        // The same in every run, and of equal text in both modules: places are chosen by it.
        let mut hasher = DefaultHasher::new();
        hasher.write(inst.opcode().text(&module.names).as_bytes());
        hasher.write(inst.engine.text(&module.names).as_bytes());
        let mut text = Vec::new();
        let names = ByName(module);
        for (list, _, argument) in inst.operands() {
            hasher.write_u8(list as u8);
            if let Argument::PhysicalAp(arg) = argument {
                // The common case, without making text.
                hasher.write(arg.memref.map_or("", |loc| module.str(module.ref_name(loc))).as_bytes());
                hasher.write_u64(arg.offset);
                for pair in arg.ap.iter().flat_map(|ap| ap.iter()) {
                    hasher.write_i64(pair.step);
                    hasher.write_i64(pair.num);
                }
                hasher.write(arg.dtype.map_or("", |dtype| dtype.text(&module.names)).as_bytes());
            } else {
                text.clear();
                json::record(&mut text, &names, argument.fields());
                hasher.write(&text);
            }
        }
        if let Some(fields) = inst.op.fields() {
            fields.visit_written(&mut |spec, value, is_default| {
                use bir::record::FieldValue as F;
                // Names of instructions are what may differ.
                let skip = matches!(value, F::Inst(_) | F::Owned(_)) || spec.key == "dma_blocks";
                if is_default || skip {
                    return;
                }
                text.clear();
                json::field(&mut text, &names, &value);
                hasher.write(spec.key.as_bytes());
                hasher.write(&text);
            });
        }
        hasher.finish()
    }
}

/// The blocks of a holder as documents have them: one that is called main first. spec: bir-json 2.3
pub(super) fn blocks_of(module: &Module, holder: Holder) -> Vec<BlockId> {
    module.main_first(module.blocks_of(holder), |module, block| module[block].name)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Which of some points, sorted by their first coordinate, keep their place: a longest chain that ascends in both
/// coordinates, the same one when the coordinates are swapped. Labels are those of the points, equal in both modules.
pub(super) fn kept_in_place<L: Ord>(points: &[(usize, usize)], labels: &[L]) -> Vec<bool> {
    let mut by_second: Vec<usize> = (0..points.len()).collect();
    by_second.sort_unstable_by_key(|at| points[*at].1);
    if by_second.is_sorted() {
        return vec![true; points.len()];
    }
    let swap = by_second.iter().map(|at| &labels[*at]).lt(labels.iter());
    if !swap {
        return longest_chain(points);
    }
    let swapped: Vec<(usize, usize)> = by_second.iter().map(|at| (points[*at].1, points[*at].0)).collect();
    let mut kept = vec![false; points.len()];
    for (at, keep) in by_second.iter().zip(longest_chain(&swapped)) {
        kept[*at] = keep;
    }
    kept
}

/// Which of some points, sorted by their first coordinate, form a longest chain that ascends in both.
fn longest_chain(points: &[(usize, usize)]) -> Vec<bool> {
    // For each length, the point with the least second coordinate at which a chain of that length ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = vec![usize::MAX; points.len()];
    for (at, point) in points.iter().enumerate() {
        let length = ends.partition_point(|end| points[*end].1 < point.1);
        if length > 0 {
            before[at] = ends[length - 1];
        }
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut kept = vec![false; points.len()];
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        kept[at] = true;
        at = before[at];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longest_chain() {
        let kept = |seconds: &[usize]| -> Vec<usize> {
            let points: Vec<_> = seconds.iter().copied().enumerate().collect();
            let kept = longest_chain(&points);
            seconds.iter().zip(kept).filter(|(_, kept)| *kept).map(|(second, _)| *second).collect()
        };
        assert_eq!(kept(&[0, 1, 2]), [0, 1, 2]);
        assert_eq!(kept(&[2, 0, 1, 3]), [0, 1, 3]);
        assert!(kept(&[]).is_empty());
        assert_eq!(kept(&[3, 2, 1]).len(), 1);
    }
}
