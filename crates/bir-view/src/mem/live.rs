//! Where locations lie, and from when to when they are live.

use std::collections::BTreeMap;

use bir::enums::{MemoryType, TensorKind};
use bir::ids::{Id, InstId, LocId};
use bir::operands::access_of;
use bir::target::Target;
use bir::{Holder, Module, Op, OpenEnum};
use hashbrown::HashMap;

use super::sweep::{self, Rect};
use super::{ExternalUse, LocationUse, Mem, Moment, MomentSpace, Region, SpaceUse, meet};
use crate::program::Program;

/// Nothing touches it.
const NEVER: u32 = u32::MAX;

/// What is known of one location.
#[derive(Clone, Copy)]
struct Life {
    first: u32,
    last: u32,
    /// The first and the last instruction that touch it.
    ends: [InstId; 2],
    reads: u64,
    writes: u64,
    /// The positions for which it is live: at least those that touch it.
    live: [u32; 2],
}

/// A loop: its positions, and the first touches of locations in it.
struct LoopSpan {
    span: [u32; 2],
    depth: usize,
    /// Whether the first touch of each location in it reads what is there.
    touched: HashMap<LocId, bool>,
}

pub(super) struct Gatherer<'m> {
    module: &'m Module,
    target: &'static Target,
    program: Program<'m>,
    lives: Vec<Life>,
}

/// The three memories that are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Sb,
    Psum,
    Dram,
}

impl Space {
    const ALL: [Space; 3] = [Space::Sb, Space::Psum, Space::Dram];

    fn name(self) -> &'static str {
        match self {
            Space::Sb => "SB",
            Space::Psum => "PSUM",
            Space::Dram => "DRAM",
        }
    }
}

impl<'m> Gatherer<'m> {
    pub(super) fn new(module: &'m Module) -> Gatherer<'m> {
        let nobody = InstId::new(0);
        let life = Life { first: NEVER, last: 0, ends: [nobody; 2], reads: 0, writes: 0, live: [0; 2] };
        let lives = vec![life; module.loc_ids().len()];
        let mut gatherer =
            Gatherer { module, target: Target::of_module(module), program: Program::of(module), lives };
        gatherer.walk();
        gatherer
    }

    /// One pass over all operands.
    fn walk(&mut self) {
        let module = self.module;
        let mut loops = loop_spans(module, &self.program);
        // Loops that are open at a position, outer ones first.
        let mut open: Vec<usize> = Vec::new();
        let mut next = 0;
        let order: Vec<_> = self.program.touchers().collect();
        for toucher in order {
            let at = toucher.position;
            while next < loops.len() && loops[next].span[0] <= at {
                open.push(next);
                next += 1;
            }
            open.retain(|open| loops[*open].span[1] >= at);
            let inst = &module[toucher.inst];
            for (list, index, argument) in inst.operands() {
                let access = access_of(inst, list, index);
                let one = argument.location().and_then(|loc| loc.id());
                let set = match one {
                    Some(_) => None,
                    None => argument.location_set().and_then(|set| set.id()),
                };
                let several = set.map_or(&[][..], |set| &module[set].memorylocations);
                for loc in one.iter().chain(several) {
                    let life = &mut self.lives[loc.index()];
                    if life.first == NEVER {
                        (life.first, life.ends[0]) = (at, toucher.subject);
                    }
                    (life.last, life.ends[1]) = (at, toucher.subject);
                    life.reads += u64::from(access.may_read());
                    life.writes += u64::from(access.writes());
                    for open in &open {
                        loops[*open].touched.entry(*loc).or_insert(access.may_read());
                    }
                }
            }
        }
        for life in &mut self.lives {
            life.live = [life.first, life.last];
        }
        // Inner loops first: what they keep alive may go past an outer one.
        loops.sort_by_key(|each| std::cmp::Reverse(each.depth));
        for each in &loops {
            for (loc, reads_first) in &each.touched {
                let life = &mut self.lives[loc.index()];
                let beyond = life.live[0] < each.span[0] || life.live[1] > each.span[1];
                if beyond || *reads_first {
                    life.live = [life.live[0].min(each.span[0]), life.live[1].max(each.span[1])];
                }
            }
        }
        // What others fill or take away is there all the time.
        let end = (self.program.order.len() as u32).saturating_sub(1);
        for loc in module.loc_ids() {
            let life = &mut self.lives[loc.index()];
            let internal = matches!(module[module[loc].set].kind, None | Some(TensorKind::Internal));
            if life.first != NEVER && !internal {
                life.live = [0, end];
            }
        }
    }

    fn space(&self, loc: LocId) -> Option<Space> {
        let location = &self.module[loc];
        match location.r#type {
            MemoryType::SB => Some(Space::Sb),
            MemoryType::PSUM => Some(Space::Psum),
            MemoryType::DRAM => {
                let internal = self.module[location.set].kind == Some(TensorKind::Internal);
                (internal && location.is_placed()).then_some(Space::Dram)
            }
            _ => None,
        }
    }

    /// Partitions and bytes of a location.
    fn rectangle(&self, loc: LocId) -> ([u64; 2], [u64; 2]) {
        let location = &self.module[loc];
        let placed = location.is_placed();
        let base = if placed { u64::from(location.base) } else { 0 };
        let addr = if placed { location.addr } else { 0 };
        let size = location.bytes().unwrap_or(0);
        match location.r#type {
            MemoryType::SB | MemoryType::PSUM => {
                let partitions = location.partitions().unwrap_or(0);
                let bank = if placed { location.bank.unsigned_abs() } else { 0 };
                let start = match location.r#type {
                    MemoryType::PSUM => bank.saturating_mul(self.target.psum_bank_bytes).saturating_add(addr),
                    _ => addr,
                };
                ([base, base.saturating_add(partitions)], [start, start.saturating_add(size)])
            }
            _ => ([0, 1], [addr, addr.saturating_add(size)]),
        }
    }

    fn locations(&self) -> Vec<LocId> {
        let functions: Vec<_> = self.module.functions().collect();
        functions.iter().flat_map(|function| self.module.locations_of(*function)).collect()
    }

    pub(super) fn finish(self, at: Option<InstId>) -> Mem {
        let module = self.module;
        let names = self.program.names();
        let locs = self.locations();
        let mut locations = Vec::with_capacity(locs.len());
        let mut rects: Vec<(Space, Rect)> = Vec::new();
        let mut untouched = [0; 3];
        let mut external: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (index, loc) in locs.iter().enumerate() {
            let location = &module[*loc];
            let life = &self.lives[loc.index()];
            let (partitions, bytes) = self.rectangle(*loc);
            let touched = life.first != NEVER;
            let placed = location.is_placed();
            let mut counted = false;
            match self.space(*loc) {
                Some(space) if !touched => untouched[space as usize] += 1,
                Some(space) => {
                    counted = true;
                    rects.push((space, Rect { index, partitions, bytes, live: life.live, placed }));
                }
                None if location.r#type == MemoryType::DRAM
                    || matches!(location.r#type, MemoryType::Input | MemoryType::Output) =>
                {
                    let kind = module[location.set].kind;
                    let kind = kind.map_or("unknown", |kind| kind.text(&module.names));
                    let sum = external.entry(kind.to_owned()).or_default();
                    let size = location.dims.as_ref().and_then(|dims| dims.product()).unwrap_or(0);
                    *sum = (sum.0 + 1, sum.1.saturating_add(size));
                }
                None => {}
            }
            let name = |inst: InstId| touched.then(|| names.name(module, inst));
            locations.push(LocationUse {
                name: names.name(module, *loc),
                tensor: names.name(module, location.set),
                function: names.name(module, module[location.set].function),
                space: location.r#type.text(&module.names).to_owned(),
                placed,
                counted,
                partitions,
                bytes,
                live: touched.then_some(life.live),
                first: name(life.ends[0]),
                last: name(life.ends[1]),
                reads: life.reads,
                writes: life.writes,
            });
        }
        let positions = self.program.order.len() as u32;
        let (aliases, class) = self.aliases(&locs);
        let spaces = Space::ALL.map(|space| {
            let of: Vec<Rect> =
                rects.iter().filter(|(other, _)| *other == space).map(|(_, rect)| *rect).collect();
            self.space_use(space, &of, &locations, &class, untouched[space as usize])
        });
        let position = at.and_then(|inst| Some((inst, self.program.position(inst)?)));
        let moment = position.map(|(inst, position)| Moment {
            position,
            at: self.program.at(inst),
            spaces: Space::ALL
                .into_iter()
                .map(|space| {
                    let of = rects.iter().filter(|(other, _)| *other == space).map(|(_, rect)| *rect);
                    self.moment(space, &of.collect::<Vec<_>>(), position)
                })
                .collect(),
        });
        Mem {
            arch: module.root.arch.map(|arch| arch.text(&module.names).to_owned()),
            device: self.target.device.to_lowercase(),
            positions,
            spaces: spaces.into(),
            external: external
                .into_iter()
                .map(|(kind, (locations, bytes))| ExternalUse { kind, locations, bytes })
                .collect(),
            aliases,
            locations,
            moment,
        }
    }

    /// Partitions, and bytes of each, of a memory.
    fn size(&self, space: Space) -> (u64, Option<u64>) {
        match space {
            Space::Sb => (self.target.sb_partitions, Some(self.target.sb_usable_bytes())),
            Space::Psum => (self.target.psum_partitions, Some(self.target.psum_partition_bytes())),
            Space::Dram => (1, self.target.hbm_gib_per_core.checked_mul(1 << 30).filter(|bytes| *bytes > 0)),
        }
    }

    fn space_use(
        &self,
        space: Space,
        rects: &[Rect],
        locations: &[LocationUse],
        class: &[Option<usize>],
        untouched: usize,
    ) -> SpaceUse {
        let (partitions, bytes) = self.size(space);
        let whole = match space {
            Space::Sb => Some(self.target.sb_partition_bytes),
            _ => bytes,
        };
        let positions = self.program.order.len() as u32;
        let swept = sweep::sweep(rects, partitions, positions);
        let at = |position: u32| self.program.order.get(position as usize).copied();
        let mut peak = swept.peak(bytes);
        peak.at = (peak.bytes > 0).then(|| at(peak.position)).flatten().map(|inst| self.program.at(inst));
        let region = |name: String, partitions: [u64; 2], bytes: [u64; 2], peak: u64, position: u32| Region {
            instruction: (peak > 0)
                .then(|| at(position))
                .flatten()
                .map(|inst| self.program.names().name(self.module, inst)),
            locations: rects
                .iter()
                .filter(|rect| rect.placed && meet(rect.partitions, partitions) && meet(rect.bytes, bytes))
                .count(),
            name,
            partitions,
            bytes,
            peak,
            position,
        };
        let mut regions = Vec::new();
        match space {
            Space::Sb => {
                let step = self.target.quadrant_partitions.max(1);
                for first in (0..partitions).step_by(step as usize) {
                    let own = [first, (first + step).min(partitions)];
                    let (most, position) = swept.peak_of(own);
                    let name = format!("partitions {}..{}", own[0], own[1]);
                    regions.push(region(name, own, [0, whole.unwrap_or(0)], most, position));
                }
            }
            Space::Psum => {
                let size = self.target.psum_bank_bytes;
                for bank in 0..self.target.psum_banks {
                    let own = [bank * size, (bank + 1) * size];
                    let inside: Vec<Rect> =
                        rects.iter().filter(|r| r.placed).filter_map(|rect| rect.within(own)).collect();
                    let swept = sweep::sweep(&inside, partitions, positions);
                    let (most, position) = swept.peak_of([0, partitions]);
                    regions.push(region(format!("bank {bank}"), [0, partitions], own, most, position));
                }
            }
            Space::Dram => {}
        }
        let over = bytes.filter(|bytes| peak.bytes > *bytes).map(|bytes| {
            let by = peak.bytes - bytes;
            super::Over { by, culprits: swept.culprits(&peak, locations) }
        });
        let outside = rects.iter().filter(|rect| {
            rect.placed
                && (rect.partitions[1] > partitions || whole.is_some_and(|bytes| rect.bytes[1] > bytes))
        });
        SpaceUse {
            space: space.name(),
            partitions,
            bytes,
            bank_bytes: (space == Space::Psum).then_some(self.target.psum_bank_bytes),
            placed: rects.iter().filter(|rect| rect.placed).count(),
            unplaced: rects.iter().filter(|rect| !rect.placed).count(),
            untouched,
            regions,
            over,
            outside: outside.map(|rect| locations[rect.index].name.clone()).collect(),
            shared: sweep::shared(rects, locations, class),
            timeline: swept.timeline,
            peak,
        }
    }

    fn moment(&self, space: Space, rects: &[Rect], position: u32) -> MomentSpace {
        let (partitions, bytes) = self.size(space);
        let mut live: Vec<&Rect> =
            rects.iter().filter(|rect| rect.live[0] <= position && position <= rect.live[1]).collect();
        live.sort_by_key(|rect| (rect.bytes, rect.partitions, rect.index));
        let now: Vec<Rect> = live.iter().map(|rect| Rect { live: [0, 0], ..**rect }).collect();
        let swept = sweep::sweep(&now, partitions, 1);
        let peak = swept.peak(bytes);
        MomentSpace {
            space: space.name(),
            used: peak.bytes,
            partition: peak.partitions[0],
            live: live.iter().map(|rect| rect.index).collect(),
            free: peak.free,
        }
    }

    /// Classes of locations that alias each other, with more than one member; and the class of each location.
    fn aliases(&self, locs: &[LocId]) -> (Vec<Vec<String>>, Vec<Option<usize>>) {
        let module = self.module;
        let mut leader: HashMap<LocId, LocId> = HashMap::new();
        fn find(leader: &mut HashMap<LocId, LocId>, loc: LocId) -> LocId {
            let mut root = loc;
            while let Some(next) = leader.get(&root).copied().filter(|next| *next != root) {
                root = next;
            }
            leader.insert(loc, root);
            root
        }
        for loc in locs.iter().filter(|loc| !module[**loc].alias.is_empty()) {
            for edge in &module[*loc].alias {
                let (a, b) = (find(&mut leader, *loc), find(&mut leader, edge.to));
                leader.insert(a.max(b), a.min(b));
            }
        }
        let mut classes: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let place: HashMap<LocId, usize> = locs.iter().enumerate().map(|(at, loc)| (*loc, at)).collect();
        let mut class = vec![None; locs.len()];
        for (at, loc) in locs.iter().enumerate() {
            if leader.contains_key(loc) {
                let root = find(&mut leader, *loc);
                let name = self.program.names().name(module, *loc);
                class[at] = place.get(&root).copied();
                classes.entry(class[at].unwrap_or(at)).or_default().push(name);
            }
        }
        (classes.into_values().collect(), class)
    }
}

/// The loops of a program with their positions, by first position, outer ones first.
fn loop_spans(module: &Module, program: &Program<'_>) -> Vec<LoopSpan> {
    let mut spans = Vec::new();
    for inst in &program.order {
        if !matches!(module[*inst].op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_)) {
            continue;
        }
        let Some(first) = program.position(*inst) else { continue };
        let inside = module.insts_of(Holder::Inst(*inst)).count() as u32;
        let mut depth = 0;
        let mut block = module[*inst].block;
        while let Holder::Inst(owner) = module[block].holder {
            depth += 1;
            block = module[owner].block;
        }
        spans.push(LoopSpan { span: [first, first + inside], depth, touched: HashMap::new() });
    }
    for function in module.functions() {
        let blocks = &module[function].blocks;
        let starts: Vec<Option<u32>> = blocks
            .iter()
            .map(|block| module[*block].instructions.first().and_then(|inst| program.position(*inst)))
            .collect();
        for (first, last) in crate::loops::back_edges(module, blocks, Holder::Function(function)) {
            let Some(start) = starts[first] else { continue };
            let inside: usize = blocks[first..=last]
                .iter()
                .map(|block| {
                    let insts = &module[*block].instructions;
                    insts.iter().map(|i| 1 + module.insts_of(Holder::Inst(*i)).count()).sum::<usize>()
                })
                .sum();
            let span = [start, start + (inside as u32).saturating_sub(1)];
            spans.push(LoopSpan { span, depth: 0, touched: HashMap::new() });
        }
    }
    spans.sort_by_key(|each| (each.span[0], std::cmp::Reverse(each.span[1])));
    spans
}
