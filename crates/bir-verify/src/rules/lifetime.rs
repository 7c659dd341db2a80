//! Values that are lost since another location lies in the same place: ALLOC-05 over the instructions of a function.
//! Tiles may take turns in a place. It is a fault when what was written to one is read after the other was written,
//! and was not written again in between. What instructions surely touch is looked at, in program order.

use bir::diag::Place;
use bir::enums::InstructionType;
use bir::geometry::Progression;
use bir::ids::{BlockId, FuncId, InstId, LocId};
use bir::operands::{Access, access_of};
use bir::{Argument, Holder, Instruction, Op, OperandList};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::Check;
use super::flow::branch_targets;
use super::storage::Rect;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::survey::is_terminator;
use crate::view::Stands;

pub(super) const CHECKS: &[Check] = &[Check::function(&[ALLOC_05], lost)];

fn lost(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    let Some(shared) = Shared::of(cx, function) else { return };
    let mut walk = Walk {
        cx,
        shared,
        held: HashMap::new(),
        columns: vec![Vec::new(); 2 * COLUMNS],
        lost: HashMap::new(),
        told: HashSet::new(),
        depth: 0,
        left: WORK.saturating_mul(cx.module.inst_ids().len()),
    };
    walk.blocks(cx.module.blocks_of(Holder::Function(function)), out);
}

/// Placed on-chip locations of a function that share bytes with another one.
struct Shared {
    /// By location, where it lies.
    rects: HashMap<LocId, Rect>,
    /// Locations that are aliases of others, with one of those for all of them.
    aliases: HashMap<LocId, LocId>,
}

impl Shared {
    /// `None` when no locations share bytes, which is most often so.
    fn of(cx: &Cx<'_>, function: FuncId) -> Option<Shared> {
        let placed = |loc: LocId| Some((Rect::of(cx, &cx.module[loc])?, loc));
        let mut all: Vec<(Rect, LocId)> = cx.module.locations_of(function).filter_map(placed).collect();
        all.sort_unstable_by_key(|(rect, loc)| (rect.is_psum, rect.byte, *loc));
        let mut shared = Shared { rects: HashMap::new(), aliases: HashMap::new() };
        // The one that goes farthest of those before; rows are looked at later.
        let mut farthest: Option<(Rect, LocId)> = None;
        for (rect, loc) in all {
            if let Some((before, other)) = farthest.filter(|(before, _)| before.is_psum == rect.is_psum)
                && rect.byte < before.byte_end()
            {
                shared.rects.extend([(loc, rect), (other, before)]);
            }
            let goes_farther = |(before, _): (Rect, LocId)| {
                before.is_psum != rect.is_psum || before.byte_end() < rect.byte_end()
            };
            if farthest.is_none_or(goes_farther) {
                farthest = Some((rect, loc));
            }
        }
        if shared.rects.is_empty() {
            return None;
        }
        for loc in cx.module.locations_of(function).filter(|loc| !cx.module[*loc].alias.is_empty()) {
            shared.join_aliases(cx, loc);
        }
        Some(shared)
    }

    /// Gives a location and all that it is an alias of, over others too, one representative.
    fn join_aliases(&mut self, cx: &Cx<'_>, of: LocId) {
        let mut open = vec![of];
        while let Some(loc) = open.pop() {
            if self.aliases.contains_key(&loc) {
                continue;
            }
            self.aliases.insert(loc, of);
            open.extend(cx.module[loc].alias.iter().map(|alias| alias.to));
        }
    }

    fn are_aliases(&self, a: LocId, b: LocId) -> bool {
        let class = |loc| self.aliases.get(&loc);
        class(a).is_some() && class(a) == class(b)
    }
}

/// Runs of bytes by which locations are found, in each memory.
const COLUMNS: usize = 256;

/// Bytes of such a run; what lies behind the last one counts as in it.
const COLUMN_BYTES: u64 = 1024;

/// Times that each instruction may be looked at, on the average: more than loops need.
const WORK: usize = 16;

/// Values that are kept of a run of bytes; tiles that take turns are few at a time.
const KEPT: usize = 256;

struct Walk<'c, 'm> {
    cx: &'c Cx<'m>,
    shared: Shared,
    /// Locations whose value is there, with who wrote it.
    held: HashMap<LocId, InstId>,
    /// Those locations by the bytes that they have.
    columns: Vec<Vec<LocId>>,
    /// Locations whose value was written over.
    lost: HashMap<LocId, Lost>,
    /// Locations of which something was reported: where one is misplaced it meets several, in both directions.
    told: HashSet<LocId>,
    /// Loops around.
    depth: u32,
    /// Instructions that may still be looked at.
    left: usize,
}

/// What happened to a value.
#[derive(Clone, Copy)]
struct Lost {
    written_by: InstId,
    over: Place,
    by: LocId,
    /// What was written over.
    rect: Rect,
}

/// An access to a location that shares bytes.
struct Touch {
    place: Place,
    loc: LocId,
    access: Access,
    /// What it surely touches.
    rect: Option<Rect>,
}

/// Loops that are taken twice, so that what one iteration leaves meets the next.
const TWICE: u32 = 3;

impl<'m> Walk<'_, 'm> {
    fn blocks(&mut self, blocks: &[BlockId], out: &mut Findings<'_>) {
        let mut before = None;
        for &block in blocks {
            if before.is_some_and(|before| !self.leads_to(before, block)) {
                self.forget();
            }
            before = Some(block);
            for id in &self.cx.module[block].instructions {
                self.inst(id, out);
            }
        }
    }

    /// Whether the program may get from a block straight to the one behind it.
    fn leads_to(&self, from: BlockId, to: BlockId) -> bool {
        let module = self.cx.module;
        let mut ends = self
            .cx
            .survey
            .notable_in(from)
            .iter()
            .filter(|id| is_terminator(module[**id].opcode()))
            .peekable();
        ends.peek().is_none()
            || ends.any(|id| {
                branch_targets(&module[*id].op).into_iter().flatten().any(|target| target.id() == Some(to))
            })
    }

    fn inst(&mut self, id: InstId, out: &mut Findings<'_>) {
        let inst = &self.cx.module[id];
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        if inst.opcode().is_a(InstructionType::Call) {
            return self.forget();
        }
        if !inst.body().is_empty() {
            let is_once = matches!(&inst.op, Op::Loop(op) if op
                .loop_axis
                .as_ref()
                .and_then(|axis| Progression::of_loop(axis))
                .is_some_and(|progression| progression.count < 2));
            let rounds = if is_once || self.depth >= TWICE { 1 } else { 2 };
            self.depth += 1;
            for _ in 0..rounds {
                self.blocks(inst.body(), out);
            }
            self.depth -= 1;
            return;
        }
        let mut touches = SmallVec::<[Touch; 6]>::new();
        match &inst.op {
            // Transfers stand where they are started.
            Op::DMATrigger(op) => {
                for block in op.dma_blocks.iter().filter_map(|block| block.id()) {
                    for transfer in self.cx.module.insts_of(Holder::Inst(block)) {
                        self.touches(transfer, &mut touches);
                    }
                }
            }
            _ => self.touches(id, &mut touches),
        }
        for touch in touches.iter().filter(|touch| touch.access == Access::Read) {
            self.read(touch, &touches, out);
        }
        // What is added to must still be there, too.
        for touch in touches.iter().filter(|touch| touch.access == Access::ReadWrite) {
            self.read(touch, &touches, out);
        }
        for touch in touches.iter().filter(|touch| touch.access.writes()) {
            self.write(touch);
        }
    }

    /// The accesses of an instruction to locations that share bytes.
    fn touches(&mut self, id: InstId, touches: &mut SmallVec<[Touch; 6]>) {
        let inst = &self.cx.module[id];
        self.left = self.left.saturating_sub(1);
        for (list, index, argument) in inst.operands() {
            let of_set = argument.location_set().and_then(|set| set.id());
            let of_set = of_set.map(|set| &self.cx.module[set].memorylocations[..]).unwrap_or_default();
            let named = argument.location().and_then(|loc| loc.id());
            for &loc in named.as_slice().iter().chain(of_set) {
                let Some(whole) = self.shared.rects.get(&loc) else { continue };
                touches.push(Touch {
                    place: Place::operand(id, list, index),
                    loc,
                    access: access_of(inst, list, index),
                    rect: self.surely(inst, list, argument).and_then(|touched| touched.within(*whole)),
                });
            }
        }
    }

    /// What an operand surely touches, from the start of its location.
    fn surely(
        &self,
        inst: &Instruction,
        list: OperandList,
        argument: &'m Argument,
    ) -> Option<crate::starts::Touched> {
        // Whether it runs is not known.
        if list == OperandList::Outs && !inst.rare().predicates.is_empty() {
            return None;
        }
        let stands = Stands::fixed(self.cx, argument)?;
        stands.touched
    }

    fn read(&mut self, touch: &Touch, all: &[Touch], out: &mut Findings<'_>) {
        let Some(lost) = self.lost.get(&touch.loc).copied() else { return };
        let is_lost = touch.rect.is_some_and(|rect| rect.meets(lost.rect));
        // What one instruction uses together is told by itself.
        let uses_both = all.iter().any(|other| other.loc == lost.by && other.access != Access::Write);
        if !is_lost || uses_both {
            return;
        }
        let was_told = [touch.loc, lost.by].map(|loc| !self.told.insert(loc));
        if was_told != [false, false] {
            return;
        }
        let cx = self.cx;
        let name = |place: Place| place.inst().map_or("", |inst| cx.name(inst));
        let message = format!(
            "writes {} over {}, which {} wrote and {} reads afterwards: they share bytes and are alive at the same time",
            cx.location_text(lost.by),
            cx.location_text(touch.loc),
            cx.name(lost.written_by),
            name(touch.place)
        );
        out.report(ALLOC_05, lost.over, message)
            .related("what is lost was written here", Place::of(lost.written_by))
            .related("and is read here", touch.place)
            .help("place one of them elsewhere, or write it after the last use of the other");
    }

    fn write(&mut self, touch: &Touch) {
        if self.shared.aliases.contains_key(&touch.loc) {
            let shared = &self.shared;
            self.lost.retain(|loc, _| !shared.are_aliases(*loc, touch.loc));
        }
        self.lost.remove(&touch.loc);
        if let (Access::Write, Some(rect), Some(by)) = (touch.access, touch.rect, touch.place.inst()) {
            let columns = rect.columns();
            let mut over = SmallVec::<[LocId; 4]>::new();
            for loc in self.columns[columns].iter().flatten() {
                let meets = *loc != touch.loc
                    && !over.contains(loc)
                    && self.shared.rects[loc].meets(rect)
                    && !self.shared.are_aliases(*loc, touch.loc);
                if meets {
                    over.push(*loc);
                }
            }
            for loc in over {
                let Some(written_by) = self.held.remove(&loc) else { continue };
                for column in &mut self.columns[self.shared.rects[&loc].columns()] {
                    column.retain(|other| *other != loc);
                }
                if written_by != by {
                    self.lost.insert(loc, Lost { written_by, over: touch.place, by: touch.loc, rect });
                }
            }
        }
        let Some(by) = touch.place.inst() else { return };
        if self.held.insert(touch.loc, by).is_none() {
            let mut most = 0;
            for column in &mut self.columns[self.shared.rects[&touch.loc].columns()] {
                column.push(touch.loc);
                most = most.max(column.len());
            }
            if most > KEPT {
                self.forget();
            }
        }
    }

    /// Knows nothing any more: what comes next is not reached from here, or unknown things happened.
    fn forget(&mut self) {
        self.held.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.lost.clear();
    }
}

impl Rect {
    /// The runs of bytes in which it lies.
    fn columns(self) -> std::ops::Range<usize> {
        let column =
            |byte: u64| usize::try_from(byte / COLUMN_BYTES).map_or(COLUMNS - 1, |at| at.min(COLUMNS - 1));
        let first = if self.is_psum { COLUMNS } else { 0 };
        first + column(self.byte)..first + column(self.byte_end().saturating_sub(1)) + 1
    }
}
