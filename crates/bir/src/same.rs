//! Whether two modules have the same content. Ids and symbols differ between modules, so objects are compared by
//! place and strings by text.

use std::fmt;

use hashbrown::{HashMap, HashSet};

use crate::argument::Argument;
use crate::edges::{EdgeSet, MissingEdge, UnrollEdge};
use crate::expr::Expr;
use crate::ids::{BlockId, ExprId, FuncId, Id, InstId, LocId, QueueId, Ref, RegId, SetId, Target};
use crate::inst::{DebugInfo, Instruction};
use crate::module::{Holder, Module, NameOf};
use crate::names::Sym;
use crate::open_enum::OpenEnum;
use crate::ops::Op;
use crate::record::{FieldSpec, FieldValue, Fields, Gate, Owned};
use crate::records::MemoryLocation;
use crate::storage::Storage;
use crate::value::{Extra, Members, Value};

/// The first difference of two modules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Where: names of function, block and instruction, with the index in their list.
    pub place: String,
    /// Which key, in document terms.
    pub field: String,
    /// What the first module has.
    pub left: String,
    /// What the second module has.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {} is not {}", self.place, self.field, self.left, self.right)
    }
}

impl std::error::Error for Difference {}

/// Compares two modules by content: what a document says about them.
///
/// Functions and blocks are compared in writing order (main first), dependencies, aliases and argument maps as sets,
/// expressions as trees, unknown members too. References that were resolved mean the same when they lead to the same
/// place. All NaN are equal. A key counts as present when a writer would write it. The version is not compared:
/// it says how a text was encoded.
///
/// # Errors
/// The first difference in document order.
///
/// ```
/// use bir::builder::Builder;
/// use bir::enums::{ArchLevel, EngineType};
/// use bir::{Module, ops::Op, same};
///
/// let make = |name: &str| {
///     let mut module = Module::new(ArchLevel::Gen3);
///     Builder::new(&mut module, "main").inst(name, EngineType::SP, Op::NoOp);
///     module
/// };
/// assert_eq!(same(&make("a"), &make("a")), Ok(()));
/// let difference = same(&make("a"), &make("b")).unwrap_err();
/// assert_eq!(difference.to_string(), "main / Block1 / a#0: name: \"a\" is not \"b\"");
/// ```
pub fn same(left: &Module, right: &Module) -> Result<(), Difference> {
    let compare = Compare { l: Side::new(left), r: Side::new(right) };
    compare.modules().map_err(|difference| *difference)
}

type Outcome<T = ()> = Result<T, Box<Difference>>;

/// One of the two modules, with the place of every object in document order.
struct Side<'m> {
    module: &'m Module,
    funcs: Vec<FuncId>,
    func_at: HashMap<FuncId, usize>,
    block_at: HashMap<BlockId, usize>,
    /// By index of the instruction; `u32::MAX` when it is not in the module.
    inst_at: Vec<u32>,
    set_at: HashMap<SetId, usize>,
    loc_at: HashMap<LocId, usize>,
    reg_at: HashMap<RegId, usize>,
    queue_at: HashMap<QueueId, usize>,
}

impl<'m> Side<'m> {
    fn new(module: &'m Module) -> Side<'m> {
        let funcs = ordered_functions(module);
        let mut side = Side {
            module,
            func_at: funcs.iter().enumerate().map(|(i, id)| (*id, i)).collect(),
            funcs,
            block_at: HashMap::new(),
            inst_at: vec![u32::MAX; module.inst_ids().len()],
            set_at: HashMap::new(),
            loc_at: HashMap::new(),
            reg_at: HashMap::new(),
            queue_at: module.queues().enumerate().map(|(i, id)| (id, i)).collect(),
        };
        let mut insts = 0;
        for function in side.funcs.clone() {
            for storage in &module[function].allocations {
                match storage {
                    Storage::Register(id) => {
                        side.reg_at.insert(id, side.reg_at.len());
                    }
                    Storage::Set(id) => {
                        side.set_at.insert(id, side.set_at.len());
                        for location in &module[id].memorylocations {
                            side.loc_at.insert(location, side.loc_at.len());
                        }
                    }
                }
            }
            side.number(Holder::Function(function), &mut insts);
        }
        for queue in module.queues() {
            side.number(Holder::Queue(queue), &mut insts);
        }
        side
    }

    fn number(&mut self, holder: Holder, insts: &mut u32) {
        let module = self.module;
        let mut stack: Vec<BlockId> = self.blocks(holder);
        stack.reverse();
        while let Some(block) = stack.pop() {
            self.block_at.insert(block, self.block_at.len());
            let mut bodies = Vec::new();
            for inst in &module[block].instructions {
                self.inst_at[inst.index()] = *insts;
                *insts += 1;
                bodies.extend(self.blocks(Holder::Inst(inst)));
            }
            stack.extend(bodies.into_iter().rev());
        }
    }

    fn blocks(&self, holder: Holder) -> Vec<BlockId> {
        let blocks = self.module.blocks_of(holder);
        if blocks.len() < 2 {
            return blocks.to_vec();
        }
        self.module.main_first(blocks, |module, id| module[id].name)
    }

    fn text(&self, sym: Sym) -> String {
        format!("{:?}", self.module.str(sym))
    }

    fn texts(&self, syms: &[Sym]) -> Vec<String> {
        syms.iter().map(|sym| self.text(*sym)).collect()
    }
}

fn ordered_functions(module: &Module) -> Vec<FuncId> {
    let name = |module: &Module, id: FuncId| module[id].name;
    let mut functions = module.main_first(&module.root.functions, name);
    if let Some(nki) = &module.root.nki_functions {
        functions.extend(module.main_first(&nki.functions, name));
    }
    functions
}

/// Where a comparison is, as a list of links towards the root: it costs nothing until there is a difference.
#[derive(Clone, Copy)]
struct Place<'p> {
    outer: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Named(&'p str, Option<usize>),
    Key(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    fn named(&'p self, name: &'p str, index: Option<usize>) -> Place<'p> {
        Place { outer: Some(self), step: Step::Named(name, index) }
    }

    fn key(&'p self, key: &'p str) -> Place<'p> {
        Place { outer: Some(self), step: Step::Key(key) }
    }

    fn index(&'p self, index: usize) -> Place<'p> {
        Place { outer: Some(self), step: Step::Index(index) }
    }

    fn differ(&self, left: impl Into<String>, right: impl Into<String>) -> Box<Difference> {
        let (mut place, mut field) = (String::new(), String::new());
        self.render(&mut place, &mut field);
        Box::new(Difference { place, field, left: left.into(), right: right.into() })
    }

    fn render(&self, place: &mut String, field: &mut String) {
        if let Some(outer) = self.outer {
            outer.render(place, field);
        }
        match self.step {
            Step::Named(name, index) => {
                let between = if place.is_empty() { "" } else { " / " };
                *place += &format!("{between}{name}");
                if let Some(index) = index {
                    *place += &format!("#{index}");
                }
                field.clear();
            }
            Step::Key(key) => *field += &format!("{}{key}", if field.is_empty() { "" } else { "." }),
            Step::Index(index) => *field += &format!("[{index}]"),
        }
    }
}

/// An object of each module.
type Pair<T> = (T, T);

struct Compare<'m> {
    l: Side<'m>,
    r: Side<'m>,
}

impl<'m> Compare<'m> {
    fn modules(&self) -> Outcome {
        let (l, r) = (&self.l, &self.r);
        let top = Place { outer: None, step: Step::Named("module", None) };
        self.record(&top, (&l.module.root, &r.module.root), &["version", "call_to_physical_memlocs"])?;
        self.call_bindings(&top.key("call_to_physical_memlocs"))?;
        equal(&top.key("functions"), l.module.root.functions.len(), r.module.root.functions.len())?;
        equal(&top.key("nki_functions"), l.funcs.len(), r.funcs.len())?;
        for pair in l.funcs.iter().copied().zip(r.funcs.iter().copied()) {
            self.function(pair)?;
        }
        let queues: Pair<Vec<QueueId>> = (l.module.queues().collect(), r.module.queues().collect());
        equal(&top.key("queues"), queues.0.len(), queues.1.len())?;
        queues.0.into_iter().zip(queues.1).try_for_each(|pair| self.queue(pair))
    }

    fn function(&self, (l, r): Pair<FuncId>) -> Outcome {
        let (left, right) = (&self.l.module[l], &self.r.module[r]);
        let place = Place { outer: None, step: Step::Named(self.l.module.str(left.name), None) };
        self.record(&place, (left, right), &[])?;
        equal(&place.key("allocations"), left.allocations.len(), right.allocations.len())?;
        for (i, pair) in left.allocations.iter().zip(right.allocations.iter()).enumerate() {
            match pair {
                (Storage::Set(l), Storage::Set(r)) => self.set(&place, i, (*l, *r))?,
                (Storage::Register(l), Storage::Register(r)) => {
                    let (left, right) = (&self.l.module[*l], &self.r.module[*r]);
                    let place = place.named(self.l.module.str(left.name), Some(i));
                    self.record(&place, (left, right), &[])?;
                }
                (Storage::Set(_), _) => return Err(place.index(i).differ("a set", "a register")),
                (Storage::Register(_), _) => return Err(place.index(i).differ("a register", "a set")),
            }
        }
        self.blocks(&place, (Holder::Function(l), Holder::Function(r)))
    }

    fn queue(&self, (l, r): Pair<QueueId>) -> Outcome {
        let (left, right) = (&self.l.module[l], &self.r.module[r]);
        let place = Place { outer: None, step: Step::Named(self.l.module.str(left.name), None) };
        self.record(&place, (left, right), &[])?;
        self.blocks(&place, (Holder::Queue(l), Holder::Queue(r)))
    }

    fn set(&self, outer: &Place<'_>, index: usize, (l, r): Pair<SetId>) -> Outcome {
        let (left, right) = (&self.l.module[l], &self.r.module[r]);
        let place = outer.named(self.l.module.str(left.name), Some(index));
        self.record(&place, (left, right), &[])?;
        let (locations, others) = (&left.memorylocations, &right.memorylocations);
        equal(&place.key("memorylocations"), locations.len(), others.len())?;
        for (i, (l, r)) in locations.into_iter().zip(others).enumerate() {
            let (left, right) = (&self.l.module[l], &self.r.module[r]);
            let place = place.named(self.l.module.str(left.name), Some(i));
            self.record(&place, (left, right), &["alias"])?;
            equal(&place.key("allocated"), left.is_placed(), right.is_placed())?;
            self.aliases(&place.key("alias"), (left, right))?;
        }
        Ok(())
    }

    fn aliases(&self, place: &Place<'_>, (l, r): Pair<&MemoryLocation>) -> Outcome {
        let entries = |side: &Side<'m>, location: &MemoryLocation| {
            let entry = |edge: &crate::storage::AliasEdge| (side.loc_at.get(&edge.to).copied(), edge.kind);
            let mut all: Vec<_> = location.alias.iter().map(entry).collect();
            all.sort_unstable();
            all
        };
        equal(place, entries(&self.l, l), entries(&self.r, r))
    }

    fn call_bindings(&self, place: &Place<'_>) -> Outcome {
        let entries = |side: &Side<'m>| {
            let mut all: Vec<(String, String, Vec<String>)> = Vec::new();
            for binding in &side.module.root.call_to_physical_memlocs {
                let name = side.text(side.module.ref_name(binding.call));
                let locations = binding.locations.iter().map(|r| self.show(side, *r, side.loc_place(*r)));
                all.push((
                    name,
                    self.show(side, binding.call, side.inst_place(binding.call)),
                    locations.collect(),
                ));
            }
            all.sort();
            all
        };
        equal(place, entries(&self.l), entries(&self.r))
    }

    /// Place of what a reference leads to, or the name that leads nowhere.
    fn show<T: Id>(&self, side: &Side<'m>, r: Ref<T>, at: Option<usize>) -> String
    where
        Module: NameOf<T>,
    {
        let name = side.text(side.module.ref_name(r));
        match (r.target(), at) {
            (Target::Missing(_), _) => format!("unresolved {name}"),
            (Target::Found(_), Some(at)) => format!("{name} (number {at})"),
            (Target::Found(_), None) => format!("{name} (outside the module)"),
        }
    }

    fn blocks(&self, outer: &Place<'_>, (l, r): Pair<Holder>) -> Outcome {
        let (left, right) = (self.l.blocks(l), self.r.blocks(r));
        equal(&outer.key("blocks"), left.len(), right.len())?;
        left.into_iter().zip(right).try_for_each(|pair| self.block(outer, pair))
    }

    fn block(&self, outer: &Place<'_>, (l, r): Pair<BlockId>) -> Outcome {
        let (left, right) = (&self.l.module[l], &self.r.module[r]);
        let place = outer.named(self.l.module.str(left.name), None);
        self.record(&place, (left, right), &[])?;
        equal(&place.key("instructions"), left.instructions.len(), right.instructions.len())?;
        for (i, (l, r)) in left.instructions.into_iter().zip(&right.instructions).enumerate() {
            let place = place.named(self.l.module.str(self.l.module[l].name), Some(i));
            self.instruction(&place, (&self.l.module[l], &self.r.module[r]))?;
            self.blocks(&place, (Holder::Inst(l), Holder::Inst(r)))?;
        }
        Ok(())
    }

    fn instruction(&self, place: &Place<'_>, (l, r): Pair<&Instruction>) -> Outcome {
        let name = |side: &Side<'m>, inst: &Instruction| side.text(inst.name);
        equal_text(&place.key("name"), name(&self.l, l), name(&self.r, r))?;
        self.open_enum(&place.key("opcode"), (l.opcode(), r.opcode()))?;
        self.open_enum(&place.key("engine"), (l.engine, r.engine))?;
        self.open_enum(&place.key("origin"), (l.origin, r.origin))?;
        equal(&place.key("engine_id"), l.engine_id, r.engine_id)?;
        equal(&place.key("scheduled_start"), l.scheduled_start, r.scheduled_start)?;
        equal(&place.key("scheduled_end"), l.scheduled_end, r.scheduled_end)?;
        self.ops(place, (&l.op, &r.op))?;
        self.arguments(&place.key("ins"), (&l.ins, &r.ins))?;
        self.arguments(&place.key("outs"), (&l.outs, &r.outs))?;
        self.edges(&place.key("dependencies"), (&l.dependencies, &r.dependencies))?;
        let carried = (&l.loop_carried_dependencies, &r.loop_carried_dependencies);
        self.edges(&place.key("loop_carried_dependencies"), carried)?;
        match (&l.sync_info, &r.sync_info) {
            (Some(l), Some(r)) => {
                self.record(&place.key("sync_info"), (&**l, &**r), &[])?;
            }
            (l, r) => equal(&place.key("sync_info"), l.is_some(), r.is_some())?,
        }
        match (&l.debug, &r.debug) {
            (Some(l), Some(r)) => self.debug(&place.key("debug"), (l, r))?,
            (l, r) => equal(&place.key("debug"), l.is_some(), r.is_some())?,
        }
        let passes =
            |side: &Side<'m>, inst: &Instruction| inst.optin_passes.as_deref().map(|p| side.texts(p));
        equal(&place.key("optin_passes"), passes(&self.l, l), passes(&self.r, r))?;
        self.rare(place, (l, r))
    }

    fn rare(&self, place: &Place<'_>, (l, r): Pair<&Instruction>) -> Outcome {
        let passes = |side: &Side<'m>, inst: &Instruction| {
            inst.optin_passes.as_ref().map(|list| list.iter().map(|sym| side.text(*sym)).collect::<Vec<_>>())
        };
        equal(&place.key("optin_passes"), passes(&self.l, l), passes(&self.r, r))?;
        let (l, r) = (l.rare(), r.rare());
        self.arguments(&place.key("indirection_ins"), (&l.indirection_ins, &r.indirection_ins))?;
        self.unroll(&place.key("unroll_dependencies"), (&l.unroll_dependencies, &r.unroll_dependencies))?;
        let names =
            |side: &Side<'m>, list: &[Sym]| list.iter().map(|sym| side.text(*sym)).collect::<Vec<_>>();
        equal(&place.key("loopnest"), names(&self.l, &l.loopnest), names(&self.r, &r.loopnest))?;
        self.values(&place.key("predicates"), (&l.predicates, &r.predicates))?;
        self.exprs(&place.key("order"), (&l.order, &r.order))?;
        equal(
            &place.key("dma_trigger_debug_update_semaphore_id"),
            l.dma_trigger_debug_update_semaphore_id,
            r.dma_trigger_debug_update_semaphore_id,
        )?;
        let missing = |side: &Side<'m>, edges: &[MissingEdge]| {
            let entry = |e: &MissingEdge| {
                (side.text(e.name), e.kind.number(), e.loop_carried, format!("{:?}", e.extras))
            };
            let mut all: Vec<_> = edges.iter().map(entry).collect();
            all.sort();
            all
        };
        equal(
            &place.key("unresolved dependencies"),
            missing(&self.l, &l.missing_edges),
            missing(&self.r, &r.missing_edges),
        )?;
        self.extra(place, (&l.extra, &r.extra))
    }

    fn ops(&self, place: &Place<'_>, (l, r): Pair<&Op>) -> Outcome {
        match (l.fields(), r.fields()) {
            (Some(l), Some(r)) => self.record(place, (l, r), &[]),
            (l, r) => equal(&place.key("opcode"), l.is_some(), r.is_some()),
        }
    }

    fn debug(&self, place: &Place<'_>, (l, r): Pair<&DebugInfo>) -> Outcome {
        equal(&place.key("lineno"), l.lineno, r.lineno)?;
        let name = |side: &Side<'m>, debug: &DebugInfo| debug.op_name.map(|sym| side.text(sym));
        equal(&place.key("op_name"), name(&self.l, l), name(&self.r, r))?;
        self.value(place, (&l.rest, &r.rest))
    }

    fn edges(&self, place: &Place<'_>, (l, r): Pair<&EdgeSet>) -> Outcome {
        let entries = |side: &Side<'m>, edges: &EdgeSet| {
            let entry = |(edge, extras): (crate::edges::Edge, &[Value])| {
                let extras = if extras.is_empty() { String::new() } else { format!("{extras:?}") };
                (side.inst_at[edge.target().index()], edge.kind().number(), extras)
            };
            edges.iter_with().map(entry).collect::<Vec<_>>()
        };
        let (left, right) = (entries(&self.l, l), entries(&self.r, r));
        if left == right {
            return Ok(());
        }
        let (of_left, of_right): Pair<HashSet<_>> = (left.iter().collect(), right.iter().collect());
        let only = |list: &[(u32, u8, String)], other: &HashSet<&(u32, u8, String)>| {
            let odd: Vec<_> = list.iter().filter(|edge| !other.contains(edge)).collect();
            format!("{odd:?}")
        };
        if of_left == of_right {
            return Ok(());
        }
        Err(place.differ(only(&left, &of_right), only(&right, &of_left)))
    }

    fn unroll(&self, place: &Place<'_>, (l, r): Pair<&[UnrollEdge]>) -> Outcome {
        equal(place, l.len(), r.len())?;
        for (i, (l, r)) in l.iter().zip(r).enumerate() {
            let place = place.index(i);
            self.inst_ref(&place, (l.target, r.target))?;
            equal(&place, l.kind, r.kind)?;
            self.exprs(&place.key("expressions"), (&l.exprs, &r.exprs))?;
            self.values(&place.key("predicates"), (&l.predicates, &r.predicates))?;
            self.values(&place.key("rest"), (&l.extras, &r.extras))?;
        }
        Ok(())
    }

    fn arguments(&self, place: &Place<'_>, (l, r): Pair<&[Argument]>) -> Outcome {
        equal(place, l.len(), r.len())?;
        for (i, (l, r)) in l.iter().zip(r).enumerate() {
            let place = place.index(i);
            equal_text(&place.key("kind"), l.kind().to_owned(), r.kind().to_owned())?;
            self.record(&place, (l.fields(), r.fields()), &[])?;
        }
        Ok(())
    }

    fn open_enum<E: OpenEnum>(&self, place: &Place<'_>, (l, r): Pair<E>) -> Outcome {
        let (l, r) = (l.text(&self.l.module.names), r.text(&self.r.module.names));
        equal_text(place, l.to_owned(), r.to_owned())
    }
}

/// Records, field by field.
impl<'m> Compare<'m> {
    /// The fields of two records, and their unknown members.
    fn record(&self, place: &Place<'_>, (l, r): Pair<&dyn Fields>, without: &[&str]) -> Outcome {
        equal_text(place, l.type_name().to_owned(), r.type_name().to_owned())?;
        for (i, spec) in l.specs().iter().enumerate() {
            if without.contains(&spec.key) {
                continue;
            }
            let place = place.key(spec.key);
            let present = (is_present(l, i, spec), is_present(r, i, spec));
            if present.0 != present.1 {
                let word = |present: bool| if present { "present" } else { "absent" };
                return Err(place.differ(word(present.0), word(present.1)));
            }
            // Of what a writer leaves out nothing is compared: a zero may have a sign there.
            if spec.gate == Gate::Always || l.is_written(i) || r.is_written(i) {
                self.field(&place, (l.field(i), r.field(i)))?;
            }
        }
        match (l.unknown_members(), r.unknown_members()) {
            (Some(l), Some(r)) => self.extra(place, (l, r)),
            _ => Ok(()),
        }
    }

    fn field(&self, place: &Place<'_>, pair: Pair<FieldValue<'_>>) -> Outcome {
        use FieldValue as F;
        match pair {
            (F::Unset, F::Unset) | (F::Opaque, F::Opaque) => Ok(()),
            (F::Bool(l), F::Bool(r)) => equal(place, l, r),
            (F::Int(l), F::Int(r)) => equal(place, l, r),
            (F::Uint(l), F::Uint(r)) => equal(place, l, r),
            (F::Float(l), F::Float(r)) if same_float(l.into(), r.into()) => Ok(()),
            (F::Float(l), F::Float(r)) => Err(place.differ(format!("{l:?}"), format!("{r:?}"))),
            (F::Text(l), F::Text(r)) => equal_text(place, self.l.text(l), self.r.text(r)),
            (F::Name(l), F::Name(r)) => equal(place, l, r),
            (F::Expr(l), F::Expr(r)) => self.expr(place, (l, r)),
            (F::List(l), F::List(r)) => {
                equal(place, l.len(), r.len())?;
                let mut pairs = l.into_iter().zip(r).enumerate();
                pairs.try_for_each(|(i, pair)| self.field(&place.index(i), pair))
            }
            (F::Map(l), F::Map(r)) => {
                let entries = |side: &Side<'m>, map: &[(Sym, Sym)]| {
                    let mut all: Vec<_> = map.iter().map(|(k, v)| (side.text(*k), side.text(*v))).collect();
                    all.sort();
                    all
                };
                equal(place, entries(&self.l, l), entries(&self.r, r))
            }
            (F::Queue(l), F::Queue(r)) => self.reference(place, (l, r), Side::queue_place),
            (F::Block(l), F::Block(r)) => self.reference(place, (l, r), Side::block_place),
            (F::Inst(l), F::Inst(r)) => self.inst_ref(place, (l, r)),
            (F::Func(l), F::Func(r)) => self.reference(place, (l, r), Side::func_place),
            (F::Loc(l), F::Loc(r)) => self.reference(place, (l, r), Side::loc_place),
            (F::Set(l), F::Set(r)) => self.reference(place, (l, r), Side::set_place),
            (F::Reg(l), F::Reg(r)) => self.reference(place, (l, r), Side::reg_place),
            (F::Record(l), F::Record(r)) => self.record(place, (l, r), &[]),
            (F::Value(l), F::Value(r)) => self.value(place, (l, r)),
            (F::Members(l), F::Members(r)) => self.members(place, (l, r)),
            // Compared where the walk meets them; only the spelling of an empty holder is a matter of this field.
            (F::Owned(Owned::Nki(l)), F::Owned(Owned::Nki(r))) => {
                let spelling =
                    |nki: &crate::module::NkiFunctions| nki.functions.is_empty().then_some(nki.empty);
                equal(place, spelling(l), spelling(r))
            }
            (F::Owned(_), F::Owned(_)) => Ok(()),
            (l, r) => Err(place.differ(kind_of(&l), kind_of(&r))),
        }
    }

    fn inst_ref(&self, place: &Place<'_>, pair: Pair<Ref<InstId>>) -> Outcome {
        self.reference(place, pair, Side::inst_place)
    }

    fn reference<T: Id>(
        &self,
        place: &Place<'_>,
        (l, r): Pair<Ref<T>>,
        at: impl Fn(&Side<'m>, Ref<T>) -> Option<usize>,
    ) -> Outcome
    where
        Module: NameOf<T>,
    {
        let same = match (l.target(), r.target()) {
            (Target::Found(_), Target::Found(_)) => at(&self.l, l) == at(&self.r, r),
            (Target::Missing(l), Target::Missing(r)) => self.l.module.str(l) == self.r.module.str(r),
            _ => false,
        };
        if same {
            return Ok(());
        }
        Err(place.differ(self.show(&self.l, l, at(&self.l, l)), self.show(&self.r, r, at(&self.r, r))))
    }

    fn exprs(&self, place: &Place<'_>, (l, r): Pair<&[ExprId]>) -> Outcome {
        equal(place, l.len(), r.len())?;
        let mut pairs = l.iter().zip(r).enumerate();
        pairs.try_for_each(|(i, (l, r))| self.expr(&place.index(i), (*l, *r)))
    }

    /// Trees of any depth.
    fn expr(&self, place: &Place<'_>, root: Pair<ExprId>) -> Outcome {
        let mut stack = vec![root];
        while let Some((l, r)) = stack.pop() {
            let (left, right) = (self.l.module.exprs.get(l), self.r.module.exprs.get(r));
            equal(place, left.kind(), right.kind())?;
            match (left, right) {
                (Expr::Axis { axis: l }, Expr::Axis { axis: r }) => {
                    equal_text(place, self.l.text(*l), self.r.text(*r))?;
                }
                (Expr::Register { regref: l }, Expr::Register { regref: r }) => {
                    self.reference(place, (*l, *r), Side::reg_place)?;
                }
                _ => equal(place, numbers(left), numbers(right))?,
            }
            self.extra(place, (self.l.module.exprs.extra(l), self.r.module.exprs.extra(r)))?;
            stack.extend(left.children().zip(right.children()));
        }
        Ok(())
    }
}

/// The numbers of a node, the coefficients and the number of its children among them.
fn numbers(expr: &Expr) -> Vec<i128> {
    let list: Vec<i128> = match expr {
        Expr::CcGetRank { iteration_id, channel_id } => vec![(*iteration_id).into(), (*channel_id).into()],
        Expr::IndirectArg { arg_id } => vec![(*arg_id).into()],
        Expr::Axis { .. } | Expr::Register { .. } => Vec::new(),
        Expr::ShardId { ub } => vec![(*ub).into()],
        Expr::Affine { terms, c } => {
            let coefficients = terms.iter().map(|term| i128::from(term.coeff));
            coefficients.chain([i128::from(*c)]).collect()
        }
        Expr::Sum { terms } => vec![terms.len() as i128],
        Expr::Mult { scale, .. } => vec![(*scale).into()],
        Expr::FloorDiv { denom, .. } | Expr::Modulo { denom, .. } => vec![(*denom).into()],
        Expr::CcDiv { denom, replica_groups_id, .. } => vec![(*denom).into(), (*replica_groups_id).into()],
    };
    list
}

/// Places of what references lead to, in document order.
impl Side<'_> {
    fn queue_place(&self, r: Ref<QueueId>) -> Option<usize> {
        self.queue_at.get(&r.id()?).copied()
    }
    fn block_place(&self, r: Ref<BlockId>) -> Option<usize> {
        self.block_at.get(&r.id()?).copied()
    }
    fn inst_place(&self, r: Ref<InstId>) -> Option<usize> {
        self.inst_at.get(r.id()?.index()).filter(|at| **at != u32::MAX).map(|at| *at as usize)
    }
    fn func_place(&self, r: Ref<FuncId>) -> Option<usize> {
        self.func_at.get(&r.id()?).copied()
    }
    fn loc_place(&self, r: Ref<LocId>) -> Option<usize> {
        self.loc_at.get(&r.id()?).copied()
    }
    fn set_place(&self, r: Ref<SetId>) -> Option<usize> {
        self.set_at.get(&r.id()?).copied()
    }
    fn reg_place(&self, r: Ref<RegId>) -> Option<usize> {
        self.reg_at.get(&r.id()?).copied()
    }
}

/// Free-form values.
impl Compare<'_> {
    fn extra(&self, place: &Place<'_>, (l, r): Pair<&Extra>) -> Outcome {
        if l.is_empty() && r.is_empty() {
            return Ok(());
        }
        self.members(place, (l.members(), r.members()))
    }

    fn members(&self, place: &Place<'_>, (l, r): Pair<&Members>) -> Outcome {
        for (key, left) in l {
            match r.get(key) {
                Some(right) => self.value(&place.key(key), (left, right))?,
                None => return Err(place.key(key).differ("present", "absent")),
            }
        }
        match r.iter().find(|(key, _)| l.get(key).is_none()) {
            Some((key, _)) => Err(place.key(key).differ("absent", "present")),
            None => Ok(()),
        }
    }

    fn values(&self, place: &Place<'_>, (l, r): Pair<&[Value]>) -> Outcome {
        equal(place, l.len(), r.len())?;
        let mut pairs = l.iter().zip(r).enumerate();
        pairs.try_for_each(|(i, pair)| self.value(&place.index(i), pair))
    }

    fn value(&self, place: &Place<'_>, pair: Pair<&Value>) -> Outcome {
        match pair {
            (Value::List(l), Value::List(r)) => self.values(place, (l, r)),
            (Value::Object(l), Value::Object(r)) => self.members(place, (l, r)),
            (Value::Float(l), Value::Float(r)) if same_float(*l, *r) => Ok(()),
            (l, r) if l == r && !matches!(l, Value::Float(_)) => Ok(()),
            (l, r) => Err(place.differ(format!("{l:?}"), format!("{r:?}"))),
        }
    }
}

/// Whether a writer puts a key whose writing does not follow from its value alone.
fn is_present(record: &dyn Fields, index: usize, spec: &FieldSpec) -> bool {
    match spec.gate {
        Gate::IfPresent | Gate::PresentOrNondefault => record.is_written(index),
        // A required reference that was read as null is written as null.
        Gate::Always if spec.null_ok => record.is_present(index) || !record.is_default(index),
        _ => false,
    }
}

fn same_float(l: f64, r: f64) -> bool {
    l.to_bits() == r.to_bits() || l.is_nan() && r.is_nan()
}

fn equal<T: PartialEq + fmt::Debug>(place: &Place<'_>, l: T, r: T) -> Outcome {
    if l == r {
        return Ok(());
    }
    Err(place.differ(format!("{l:?}"), format!("{r:?}")))
}

fn equal_text(place: &Place<'_>, l: String, r: String) -> Outcome {
    if l == r { Ok(()) } else { Err(place.differ(l, r)) }
}

/// What a field holds, when the two hold different things.
fn kind_of(value: &FieldValue<'_>) -> String {
    match value {
        FieldValue::Unset => "unset".into(),
        FieldValue::Bool(v) => v.to_string(),
        FieldValue::Int(v) => v.to_string(),
        FieldValue::Uint(v) => v.to_string(),
        FieldValue::Float(v) => format!("{v:?}"),
        FieldValue::Name(v) => (*v).into(),
        FieldValue::Text(_) => "a text".into(),
        FieldValue::Expr(_) => "an expression".into(),
        FieldValue::List(list) => format!("a list of {}", list.len()),
        FieldValue::Map(map) => format!("a map of {}", map.len()),
        FieldValue::Record(record) => format!("a {}", record.type_name()),
        FieldValue::Value(v) => format!("{v:?}"),
        FieldValue::Members(v) => format!("{v:?}"),
        FieldValue::Owned(_) | FieldValue::Opaque => "a list of objects".into(),
        _ => "a reference".into(),
    }
}
