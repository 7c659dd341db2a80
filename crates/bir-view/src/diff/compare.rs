//! What became of each object, and which of its fields differ.

mod flat;

use bir::ids::{BlockId, Id, InstId, Ref};
use bir::record::{FieldValue, Fields};
use bir::{Holder, Instruction, Module, OpenEnum, Sym};
use hashbrown::HashMap;

use self::flat::Flat;
use super::matching::{Matching, Pair, blocks_of, kept_in_place};
use super::{Change, ChangeKind, DiffOptions, FieldChange, Object, Spot};
use crate::json::{self, Names};

pub(super) fn changes(
    left: &Module,
    right: &Module,
    matching: &Matching,
    options: &DiffOptions,
) -> Vec<Change> {
    let mut compare = Compare {
        left,
        right,
        matching,
        options,
        by_shape: false,
        functions: [String::new(), String::new()],
        buffers: Default::default(),
        left_index: index_in_block(left),
        changes: Vec::new(),
    };
    compare.module();
    compare.changes
}

struct Compare<'m> {
    left: &'m Module,
    right: &'m Module,
    matching: &'m Matching,
    options: &'m DiffOptions,
    /// Whether names of instructions are left out where we are.
    by_shape: bool,
    /// Names of the function or queue where we are.
    functions: [String; 2],
    buffers: [Vec<u8>; 2],
    /// By instruction of the left module, its index in its block.
    left_index: Vec<u32>,
    changes: Vec<Change>,
}

/// References as one side of a comparison sees them.
struct Side<'m> {
    module: &'m Module,
    matching: &'m Matching,
    /// 0 is the left one.
    side: usize,
    /// Names for people; else what is equal on both sides when the references are.
    readable: bool,
}

impl Names for Side<'_> {
    fn inst(&self, out: &mut Vec<u8>, r: Ref<InstId>) {
        let matched = r.id().and_then(|id| match self.side {
            0 => self.matching.insts.right(id).map(|_| id),
            _ => self.matching.insts.left(id),
        });
        self.reference(out, matched.map(|id| id.index()), self.module.ref_name(r));
    }
    fn block(&self, out: &mut Vec<u8>, r: Ref<BlockId>) {
        let matched = r.id().and_then(|id| match self.side {
            0 => self.matching.blocks.right(id).map(|_| id),
            _ => self.matching.blocks.left(id),
        });
        self.reference(out, matched.map(|id| id.index()), self.module.ref_name(r));
    }
    fn other(&self, out: &mut Vec<u8>, name: Sym) {
        json::string(out, self.module.str(name));
    }
    fn module(&self) -> &Module {
        self.module
    }
}

impl Side<'_> {
    /// What is matched is its place in the left module.
    fn reference(&self, out: &mut Vec<u8>, matched: Option<usize>, name: Sym) {
        match matched.filter(|_| !self.readable) {
            Some(index) => {
                out.push(b'#');
                bir_json::number::write_u64(out, index as u64);
            }
            None => json::string(out, self.module.str(name)),
        }
    }
}

impl<'m> Compare<'m> {
    fn side(&self, side: usize, readable: bool) -> Side<'m> {
        let module = if side == 0 { self.left } else { self.right };
        Side { module, matching: self.matching, side, readable }
    }

    fn module(&mut self) {
        let matching = self.matching;
        let fields = self.records(Some(&self.left.root), Some(&self.right.root), &|flat, module| {
            for binding in &module.root.call_to_physical_memlocs {
                let call = module.str(module.ref_name(binding.call)).to_owned();
                let names = binding.locations.iter().map(|loc| module.str(module.ref_name(*loc)));
                let names: Vec<&str> = names.collect();
                flat.leaf_at(&format!("call_to_physical_memlocs.{call}"), |out| {
                    json::list(out, &names, |out, name| json::string(out, name));
                });
            }
        });
        if !fields.is_empty() {
            self.push(Object::Module, None, None, fields, false);
        }
        for Pair { left: l, right: r, at } in &matching.funcs {
            self.enter(l.map(Holder::Function), r.map(Holder::Function));
            self.record_pair(Object::Function, *at, l.map(|id| &self.left[id]), r.map(|id| &self.right[id]));
            if let (Some(l), Some(r)) = (*l, *r) {
                if self.left[l].nki != self.right[r].nki {
                    let kind = |nki: bool| Some(if nki { "nki_function" } else { "function" }.to_owned());
                    let (left, right) = (kind(self.left[l].nki), kind(self.right[r].nki));
                    let field = FieldChange { field: "kind".into(), left, right };
                    let left = self.spot(0, self.left[l].name, None, at[0]);
                    let right = self.spot(1, self.right[r].name, None, at[1]);
                    self.push(Object::Function, Some(left), Some(right), vec![field], false);
                }
                self.storage(l, r);
                self.bodies(Holder::Function(l), Holder::Function(r));
            }
        }
        for Pair { left: l, right: r, at } in &matching.queues {
            self.enter(l.map(Holder::Queue), r.map(Holder::Queue));
            self.record_pair(Object::Queue, *at, l.map(|id| &self.left[id]), r.map(|id| &self.right[id]));
            if let (Some(l), Some(r)) = (*l, *r) {
                self.bodies(Holder::Queue(l), Holder::Queue(r));
            }
        }
    }

    fn enter(&mut self, left: Option<Holder>, right: Option<Holder>) {
        let name = |module: &Module, holder: Option<Holder>| match holder {
            Some(Holder::Function(id)) => module.str(module[id].name).to_owned(),
            Some(Holder::Queue(id)) => module.str(module[id].name).to_owned(),
            _ => String::new(),
        };
        self.functions = [name(self.left, left), name(self.right, right)];
        self.by_shape = self.matching.by_shape;
    }

    fn storage(&mut self, l: bir::ids::FuncId, r: bir::ids::FuncId) {
        let matching = self.matching;
        let of = |set: Option<bir::ids::SetId>, module: &Module, f| {
            set.is_some_and(|set| module[set].function == f)
        };
        for Pair { left: a, right: b, at } in &matching.sets {
            if of(*a, self.left, l) || of(*b, self.right, r) {
                let (left, right) = (a.map(|id| &self.left[id]), b.map(|id| &self.right[id]));
                self.record_pair(Object::Tensor, *at, left, right);
            }
        }
        let of = |loc: Option<bir::ids::LocId>, module: &Module, f| {
            loc.is_some_and(|loc| module[module[loc].set].function == f)
        };
        for Pair { left: a, right: b, at } in &matching.locs {
            if of(*a, self.left, l) || of(*b, self.right, r) {
                self.location_pair(*at, *a, *b);
            }
        }
        let of = |reg: Option<bir::ids::RegId>, module: &Module, f| {
            reg.is_some_and(|reg| module[reg].function == f)
        };
        for Pair { left: a, right: b, at } in &matching.regs {
            if of(*a, self.left, l) || of(*b, self.right, r) {
                let (left, right) = (a.map(|id| &self.left[id]), b.map(|id| &self.right[id]));
                self.record_pair(Object::Register, *at, left, right);
            }
        }
    }

    fn location_pair(&mut self, at: [usize; 2], a: Option<bir::ids::LocId>, b: Option<bir::ids::LocId>) {
        let (left, right) = (self.left, self.right);
        let (l, r) = (a.map(|id| &left[id]), b.map(|id| &right[id]));
        let alias = |module: &Module, loc: Option<bir::ids::LocId>| -> Vec<String> {
            let edges = loc.iter().flat_map(|loc| &module[*loc].alias);
            let mut names: Vec<String> =
                edges.map(|edge| format!("{}/{}", module.str(module[edge.to].name), edge.kind)).collect();
            names.sort();
            names
        };
        let before = self.changes.len();
        self.record_pair(Object::Location, at, l, r);
        let fields = set_changes("alias", alias(left, a), alias(right, b));
        if let (Some(l), Some(r), false) = (l, r, fields.is_empty()) {
            if self.changes.len() == before {
                let (a, b) = (self.spot(0, l.name, None, at[0]), self.spot(1, r.name, None, at[1]));
                self.push(Object::Location, Some(a), Some(b), Vec::new(), false);
            }
            if let Some(change) = self.changes.last_mut() {
                change.change = ChangeKind::Changed;
                change.fields.extend(fields);
            }
        }
    }

    /// An object that is a record in both modules, or in one of them.
    fn record_pair<T: Fields>(&mut self, object: Object, at: [usize; 2], l: Option<&T>, r: Option<&T>) {
        let name = |record: &T| {
            let at = record.specs().iter().position(|spec| spec.key == "name");
            match at.map(|at| record.field(at)) {
                Some(FieldValue::Text(sym)) => sym,
                _ => Sym::EMPTY,
            }
        };
        let spots = [
            l.map(|record| self.spot(0, name(record), None, at[0])),
            r.map(|record| self.spot(1, name(record), None, at[1])),
        ];
        let [left, right] = spots;
        match (l, r) {
            (Some(l), Some(r)) => {
                let fields = self.records(Some(l), Some(r), &|_, _| {});
                if !fields.is_empty() {
                    self.push(object, left, right, fields, false);
                }
            }
            (None, None) => {}
            _ => self.push(object, left, right, Vec::new(), false),
        }
    }

    fn spot(&self, side: usize, name: Sym, block: Option<BlockId>, index: usize) -> Spot {
        let module = if side == 0 { self.left } else { self.right };
        let block = block.map(|block| module.str(module[block].name).to_owned());
        Spot { name: module.str(name).to_owned(), function: self.functions[side].clone(), block, index }
    }

    fn push(
        &mut self,
        object: Object,
        left: Option<Spot>,
        right: Option<Spot>,
        fields: Vec<FieldChange>,
        moved: bool,
    ) {
        let change = match (&left, &right) {
            (Some(_), None) => ChangeKind::Removed,
            (None, Some(_)) => ChangeKind::Added,
            _ if fields.is_empty() && moved => ChangeKind::Moved,
            _ => ChangeKind::Changed,
        };
        let moved = moved && change == ChangeKind::Changed;
        let spot = left.as_ref().or(right.as_ref());
        let name = spot.map_or_else(|| "module".to_owned(), |spot| spot.name.clone());
        self.changes.push(Change { change, object, name, opcode: None, left, right, moved, fields });
    }

    /// The blocks of a function or queue, with all nested bodies.
    fn bodies(&mut self, left: Holder, right: Holder) {
        let mut stack = vec![(left, right)];
        while let Some((left, right)) = stack.pop() {
            let (l, r) = (blocks_of(self.left, left), blocks_of(self.right, right));
            let place: HashMap<BlockId, usize> =
                r.iter().enumerate().map(|(at, block)| (*block, at)).collect();
            let mut next = 0;
            let mut nested = Vec::new();
            for (index, block) in l.iter().enumerate() {
                match self.matching.blocks.right(*block) {
                    None => self.only_block(0, *block, index),
                    Some(partner) => {
                        let at = place.get(&partner).copied().unwrap_or(next);
                        while next < at {
                            if self.matching.blocks.left(r[next]).is_none() {
                                self.only_block(1, r[next], next);
                            }
                            next += 1;
                        }
                        next = next.max(at + 1);
                        self.block(*block, partner, [index, at], &mut nested);
                    }
                }
            }
            for (index, block) in r.iter().enumerate().skip(next) {
                if self.matching.blocks.left(*block).is_none() {
                    self.only_block(1, *block, index);
                }
            }
            self.block_order(&l, &r);
            nested.reverse();
            stack.extend(nested);
        }
    }

    /// Blocks that stand in another order.
    fn block_order(&mut self, left: &[BlockId], right: &[BlockId]) {
        let place: HashMap<BlockId, usize> =
            right.iter().enumerate().map(|(at, block)| (*block, at)).collect();
        let point =
            |(at, block): (usize, &BlockId)| Some((at, *place.get(&self.matching.blocks.right(*block)?)?));
        let points: Vec<(usize, usize)> = left.iter().enumerate().filter_map(point).collect();
        let name = |point: &(usize, usize)| {
            let (l, r) = (
                self.left.str(self.left[left[point.0]].name),
                self.right.str(self.right[right[point.1]].name),
            );
            l.min(r).to_owned()
        };
        let labels: Vec<String> = points.iter().map(name).collect();
        for (point, kept) in points.iter().zip(kept_in_place(&points, &labels)) {
            if !kept {
                let l = self.spot(0, self.left[left[point.0]].name, None, point.0);
                let r = self.spot(1, self.right[right[point.1]].name, None, point.1);
                self.push(Object::Block, Some(l), Some(r), Vec::new(), true);
            }
        }
    }

    /// A block that only one module has: said as one change. What went there from elsewhere, or from there, is moved.
    fn only_block(&mut self, side: usize, block: BlockId, index: usize) {
        let module = if side == 0 { self.left } else { self.right };
        let count: usize = count_insts(module, block);
        let number = Some(count.to_string());
        let (l, r) = if side == 0 { (number, None) } else { (None, number) };
        let fields = vec![FieldChange { field: "instructions".into(), left: l, right: r }];
        let spot = Some(self.spot(side, module[block].name, None, index));
        let (left, right) = if side == 0 { (spot, None) } else { (None, spot) };
        self.push(Object::Block, left, right, fields, false);
        if side == 1 {
            self.moved_into(block);
        }
    }

    /// Instructions of a block, or of bodies in it, that the left module has elsewhere.
    fn moved_into(&mut self, block: BlockId) {
        let mut stack = vec![block];
        while let Some(block) = stack.pop() {
            for (index, inst) in self.right[block].instructions.into_iter().enumerate() {
                if let Some(partner) = self.matching.insts.left(inst) {
                    let from = self.left_index[partner.index()] as usize;
                    self.pair(partner, inst, [from, index], true);
                } else {
                    stack.extend(self.right[inst].body().iter().rev());
                }
            }
        }
    }

    fn block(&mut self, l: BlockId, r: BlockId, index: [usize; 2], nested: &mut Vec<(Holder, Holder)>) {
        let (left, right) = (self.left, self.right);
        self.block_record(l, r, index);
        let (a, b) = (&left[l].instructions, &right[r].instructions);
        let at_right: HashMap<InstId, usize> = b.iter().enumerate().map(|(at, inst)| (*inst, at)).collect();
        let partner = |inst: &InstId| self.matching.insts.right(*inst);
        let point = |(at, inst): (usize, &InstId)| Some((at, *at_right.get(&partner(inst)?)?));
        let points: Vec<(usize, usize)> = a.iter().enumerate().filter_map(point).collect();
        let in_order = points.is_sorted_by_key(|point| point.1);
        let kept = if in_order {
            vec![true; points.len()]
        } else {
            let name = |point: &(usize, usize)| {
                left.str(left[a[point.0]].name).min(right.str(right[b[point.1]].name))
            };
            let labels: Vec<&str> = points.iter().map(name).collect();
            kept_in_place(&points, &labels)
        };
        let anchors = points.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(point, _)| *point);
        let (mut i, mut j) = (0, 0);
        for (end_i, end_j) in anchors.chain([(a.len(), b.len())]) {
            for at in i..end_i {
                if self.matching.insts.right(a[at]).is_none() {
                    self.only_inst(0, a[at], at);
                }
            }
            for at in j..end_j {
                match self.matching.insts.left(b[at]) {
                    None => {
                        self.only_inst(1, b[at], at);
                        right[b[at]].body().iter().for_each(|block| self.moved_into(*block));
                    }
                    Some(partner) => {
                        let from = self.left_index[partner.index()] as usize;
                        self.pair(partner, b[at], [from, at], true);
                        self.descend(partner, b[at], nested);
                    }
                }
            }
            if end_i < a.len() {
                self.pair(a[end_i], b[end_j], [end_i, end_j], false);
                self.descend(a[end_i], b[end_j], nested);
            }
            (i, j) = (end_i + 1, end_j + 1);
        }
    }

    fn descend(&self, l: InstId, r: InstId, nested: &mut Vec<(Holder, Holder)>) {
        if !self.left[l].body().is_empty() || !self.right[r].body().is_empty() {
            nested.push((Holder::Inst(l), Holder::Inst(r)));
        }
    }

    fn block_record(&mut self, l: BlockId, r: BlockId, index: [usize; 2]) {
        let fields = self.records(Some(&self.left[l]), Some(&self.right[r]), &|_, _| {});
        if !fields.is_empty() {
            let left = self.spot(0, self.left[l].name, None, index[0]);
            let right = self.spot(1, self.right[r].name, None, index[1]);
            self.push(Object::Block, Some(left), Some(right), fields, false);
        }
    }

    fn only_inst(&mut self, side: usize, inst: InstId, index: usize) {
        let module = if side == 0 { self.left } else { self.right };
        let spot = Some(self.spot(side, module[inst].name, Some(module[inst].block), index));
        let (left, right) = if side == 0 { (spot, None) } else { (None, spot) };
        let mut fields = Vec::new();
        let inner: usize = module[inst].body().iter().map(|block| count_insts(module, *block)).sum();
        if inner > 0 {
            let number = Some(inner.to_string());
            let (left, right) = if side == 0 { (number, None) } else { (None, number) };
            fields.push(FieldChange { field: "instructions".into(), left, right });
        }
        self.push(Object::Instruction, left, right, fields, false);
        self.opcode(module.clone_opcode(inst));
    }

    /// Adds the opcode to the last change.
    fn opcode(&mut self, opcode: String) {
        if let Some(change) = self.changes.last_mut() {
            change.opcode = Some(opcode);
        }
    }

    fn pair(&mut self, l: InstId, r: InstId, index: [usize; 2], moved: bool) {
        let mut fields = Vec::new();
        if !self.equal(l, r) {
            fields = self.fields(l, r);
        }
        if fields.is_empty() && !moved {
            return;
        }
        let left = self.spot(0, self.left[l].name, Some(self.left[l].block), index[0]);
        let right = self.spot(1, self.right[r].name, Some(self.right[r].block), index[1]);
        self.push(Object::Instruction, Some(left), Some(right), fields, moved);
        self.opcode(self.left.clone_opcode(l));
    }

    /// Whether two instructions say the same: the quick way, without names for people.
    fn equal(&mut self, l: InstId, r: InstId) -> bool {
        let mut buffers = std::mem::take(&mut self.buffers);
        for (at, (buffer, inst)) in buffers.iter_mut().zip(&[l, r]).enumerate() {
            buffer.clear();
            let side = self.side(at, false);
            let mut put = |path: &str, value: &[u8], _: bool| {
                buffer.extend_from_slice(path.as_bytes());
                buffer.push(0);
                buffer.extend_from_slice(value);
                buffer.push(0);
            };
            Flat::new(&side, false, &mut put).instruction(*inst, self.options, self.by_shape);
        }
        let equal = buffers[0] == buffers[1];
        self.buffers = buffers;
        equal
    }

    fn fields(&self, l: InstId, r: InstId) -> Vec<FieldChange> {
        let counts =
            |inst: &Instruction| [inst.ins.len(), inst.rare().indirection_ins.len(), inst.outs.len()];
        let (a, b) = (counts(&self.left[l]), counts(&self.right[r]));
        let common = [a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2])];
        let list = |at: usize, inst: InstId, readable: bool| {
            let side = self.side(at, readable);
            let mut fields: Vec<Leaf> = Vec::new();
            let mut put = |path: &str, value: &[u8], default: bool| {
                fields.push(Leaf {
                    path: path.to_owned(),
                    value: String::from_utf8_lossy(value).into_owned(),
                    default,
                });
            };
            let mut flat = Flat::new(&side, true, &mut put);
            flat.operands = common;
            flat.instruction(inst, self.options, self.by_shape);
            fields
        };
        let of = |at, inst| Listed { keys: list(at, inst, false), readable: list(at, inst, true) };
        let mut changes = differing(&of(0, l), &of(1, r));
        // An operand that only one has is one difference.
        for (side, inst) in [(0, l), (1, r)] {
            let module = self.side(side, true).module;
            let indirect = &module[inst].rare().indirection_ins;
            for (list, index, argument) in module[inst].operands() {
                if index >= common[list as usize] {
                    let text = Some(json::text(|out| crate::dump::operand(out, module, argument, indirect)));
                    let (left, right) = if side == 0 { (text, None) } else { (None, text) };
                    changes.push(FieldChange { field: format!("{}[{index}]", list.key()), left, right });
                }
            }
        }
        for key in ["dependencies", "loop_carried_dependencies", "unroll_dependencies"] {
            let edges = |at: usize, inst: InstId, readable: bool| {
                let side = self.side(at, readable);
                edges(&side, inst, key)
            };
            changes.extend(edge_changes(
                key,
                [edges(0, l, false), edges(0, l, true)],
                [edges(1, r, false), edges(1, r, true)],
            ));
        }
        changes
    }

    /// The fields of two records that differ. `more` puts what reflection does not show.
    fn records<T: Fields>(
        &self,
        l: Option<&T>,
        r: Option<&T>,
        more: &dyn Fn(&mut Flat<'_, '_, Side<'_>>, &Module),
    ) -> Vec<FieldChange> {
        let list = |at: usize, record: Option<&T>, readable: bool| {
            let side = self.side(at, readable);
            let mut fields: Vec<Leaf> = Vec::new();
            let mut put = |path: &str, value: &[u8], default: bool| {
                fields.push(Leaf {
                    path: path.to_owned(),
                    value: String::from_utf8_lossy(value).into_owned(),
                    default,
                });
            };
            let mut flat = Flat::new(&side, true, &mut put);
            if let Some(record) = record {
                flat.record(record);
                more(&mut flat, side.module);
            }
            fields
        };
        // The quick way first: nearly all records are equal.
        let (left, right) = (list(0, l, false), list(1, r, false));
        if left == right {
            return Vec::new();
        }
        differing(
            &Listed { keys: left, readable: list(0, l, true) },
            &Listed { keys: right, readable: list(1, r, true) },
        )
    }
}

/// A value somewhere in an object.
#[derive(PartialEq)]
struct Leaf {
    path: String,
    value: String,
    /// Whether it is what stands there when nothing is said.
    default: bool,
}

/// The fields of an object: as they are compared, and as they are read.
struct Listed {
    keys: Vec<Leaf>,
    readable: Vec<Leaf>,
}

fn differing(left: &Listed, right: &Listed) -> Vec<FieldChange> {
    let find = |list: &Listed, from: usize, path: &str| -> Option<usize> {
        // Mostly at the same place.
        let same = list.keys.get(from).filter(|other| other.path == path).map(|_| from);
        same.or_else(|| list.keys.iter().position(|other| other.path == path))
    };
    let mut changes = Vec::new();
    for (at, leaf) in left.keys.iter().enumerate() {
        let partner = find(right, at, &leaf.path);
        let same = partner.map_or(leaf.default, |partner| right.keys[partner].value == leaf.value);
        if !same {
            let right = partner.map(|partner| right.readable[partner].value.clone());
            let left = Some(left.readable[at].value.clone());
            changes.push(FieldChange { field: leaf.path.clone(), left, right });
        }
    }
    for (at, leaf) in right.keys.iter().enumerate() {
        if !leaf.default && find(left, at, &leaf.path).is_none() {
            let right = Some(right.readable[at].value.clone());
            changes.push(FieldChange { field: leaf.path.clone(), left: None, right });
        }
    }
    changes
}

fn set_changes(field: &str, left: Vec<String>, right: Vec<String>) -> Vec<FieldChange> {
    edge_changes(field, [left.clone(), left], [right.clone(), right])
}

/// Entries of sets that only one side has. Each side has its entries as they are compared and as they are read.
fn edge_changes(field: &str, left: [Vec<String>; 2], right: [Vec<String>; 2]) -> Vec<FieldChange> {
    let only = |a: &[Vec<String>; 2], b: &[Vec<String>; 2]| -> Vec<String> {
        let mut others: HashMap<&str, usize> = HashMap::new();
        b[0].iter().for_each(|entry| *others.entry(entry).or_default() += 1);
        let mut left = Vec::new();
        for (entry, readable) in a[0].iter().zip(&a[1]) {
            match others.get_mut(&**entry).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => left.push(readable.clone()),
            }
        }
        left
    };
    let change = |left, right| FieldChange { field: field.to_owned(), left, right };
    let removed = only(&left, &right).into_iter().map(|entry| change(Some(entry), None));
    let added = only(&right, &left).into_iter().map(|entry| change(None, Some(entry)));
    removed.chain(added).collect()
}

/// The dependencies of an instruction under a key, as texts.
fn edges(side: &Side<'_>, id: InstId, key: &str) -> Vec<String> {
    let inst = &side.module[id];
    let module = side.module;
    let mut found = Vec::new();
    let mut put = |target: &dyn Fn(&mut Vec<u8>), kind: bir::edges::EdgeKind, extras: &[bir::Value]| {
        found.push(json::text(|out| {
            target(out);
            out.push(b'/');
            match kind.name() {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => bir_json::number::write_u64(out, kind.number().into()),
            }
            for extra in extras {
                out.push(b'/');
                json::value_of(out, extra);
            }
        }));
    };
    let target = |r: Ref<InstId>| {
        move |out: &mut Vec<u8>| {
            let start = out.len();
            side.inst(out, r);
            // Names stand without quotes here.
            if out.get(start) == Some(&b'"') && side.readable {
                out.truncate(start);
                out.extend_from_slice(module.str(module.ref_name(r)).as_bytes());
            }
        }
    };
    let carried = key == "loop_carried_dependencies";
    if key == "unroll_dependencies" {
        for edge in &inst.rare().unroll_dependencies {
            put(&target(edge.target), edge.kind, &edge.extras);
        }
        return found;
    }
    let set = if carried { &inst.loop_carried_dependencies } else { &inst.dependencies };
    for (edge, extras) in set.iter_with() {
        put(&target(edge.target().into()), edge.kind(), extras);
    }
    for edge in inst.rare().missing_edges.iter().filter(|edge| edge.loop_carried == carried) {
        put(&target(Ref::named(edge.name)), edge.kind, &edge.extras);
    }
    found
}

/// By instruction, its index in its block.
fn index_in_block(module: &Module) -> Vec<u32> {
    let mut index = vec![0; module.inst_ids().len()];
    for block in module.block_ids() {
        for (at, inst) in module[block].instructions.iter().enumerate() {
            index[inst.index()] = at as u32;
        }
    }
    index
}

fn count_insts(module: &Module, block: BlockId) -> usize {
    let mut count = 0;
    let mut stack = vec![block];
    while let Some(block) = stack.pop() {
        for inst in &module[block].instructions {
            count += 1;
            stack.extend(module[inst].body());
        }
    }
    count
}

trait OpcodeText {
    fn clone_opcode(&self, inst: InstId) -> String;
}

impl OpcodeText for Module {
    fn clone_opcode(&self, inst: InstId) -> String {
        self[inst].opcode().text(&self.names).to_owned()
    }
}
