//! Names for diagnostics: the keys that the program prints, with names that tell objects apart.

use std::fmt;

use hashbrown::HashMap;

use super::{Diagnostic, Place, Severity, StorageRef, Subject};
use crate::ids::{BlockId, FuncId, Id, InstId, LocId, QueueId, RegId, SetId};
use crate::inst::OperandList;
use crate::module::{Holder, Module, NameOf};
use crate::names::Sym;
use crate::open_enum::OpenEnum;

/// Names of a module's objects that tell them apart: as in the document, and where a name repeats among objects of
/// one kind the later ones get `@2`, `@3`... in document order. Also knows the index of every instruction in its
/// block.
///
/// Made by one walk over the module, which must not change afterwards.
#[derive(Clone, Debug, Default)]
pub struct DisplayNames {
    funcs: HashMap<FuncId, u32>,
    queues: HashMap<QueueId, u32>,
    blocks: HashMap<BlockId, u32>,
    insts: HashMap<InstId, u32>,
    sets: HashMap<SetId, u32>,
    locs: HashMap<LocId, u32>,
    regs: HashMap<RegId, u32>,
    /// By id of the instruction; past the blocks for those that stand in none.
    index: Vec<u32>,
}

/// Objects that [`DisplayNames`] knows.
pub trait Repeats: Id {
    /// How often the name stood before, and once more, for those that repeat.
    fn repeats(names: &DisplayNames) -> &HashMap<Self, u32>;
}

macro_rules! repeats {
    ($($id:ty => $field:ident;)*) => {$(
        impl Repeats for $id {
            fn repeats(names: &DisplayNames) -> &HashMap<Self, u32> {
                &names.$field
            }
        }
    )*};
}

repeats! {
    FuncId => funcs;
    QueueId => queues;
    BlockId => blocks;
    InstId => insts;
    SetId => sets;
    LocId => locs;
    RegId => regs;
}

impl DisplayNames {
    /// The names of a module.
    pub fn of(module: &Module) -> DisplayNames {
        let mut seen = vec![0u32; module.names.len()];
        let funcs: Vec<FuncId> = module.functions().collect();
        let mut index = vec![u32::MAX; module.inst_ids().len()];
        let (blocks, insts) = walk(module, &mut index);
        DisplayNames {
            queues: later(module, &mut seen, module.queues()),
            blocks: later(module, &mut seen, blocks.into_iter()),
            insts: later(module, &mut seen, insts.into_iter()),
            sets: later(module, &mut seen, funcs.iter().flat_map(|func| module.sets_of(*func))),
            locs: later(module, &mut seen, funcs.iter().flat_map(|func| module.locations_of(*func))),
            regs: later(module, &mut seen, funcs.iter().flat_map(|func| module.registers_of(*func))),
            funcs: later(module, &mut seen, funcs.iter().copied()),
            index,
        }
    }

    /// The name of an object: `tile`, or `tile@2` for the second `tile` of the module. Empty when the document has
    /// no name for it.
    pub fn name<T: Repeats + std::hash::Hash>(&self, module: &Module, id: T) -> String
    where
        Module: NameOf<T>,
    {
        let name = module.str(module.name_of(id));
        match T::repeats(self).get(&id) {
            Some(nth) if !name.is_empty() => format!("{name}@{nth}"),
            _ => name.to_owned(),
        }
    }

    /// Index of an instruction in its block; `None` when it stands in none.
    pub fn index(&self, inst: InstId) -> Option<usize> {
        self.index.get(inst.index()).filter(|index| **index != u32::MAX).map(|index| *index as usize)
    }
}

/// Blocks and instructions in document order. Notes the index of every instruction in its block.
fn walk(module: &Module, index: &mut [u32]) -> (Vec<BlockId>, Vec<InstId>) {
    let (mut blocks, mut insts) = (Vec::new(), Vec::new());
    let functions = module.functions().map(Holder::Function);
    for holder in functions.chain(module.queues().map(Holder::Queue)) {
        let mut stack = vec![(module.blocks_of(holder).iter(), [].iter().enumerate())];
        while let Some((rest, current)) = stack.last_mut() {
            if let Some((at, inst)) = current.next() {
                let inst: InstId = *inst;
                index[inst.index()] = at as u32;
                insts.push(inst);
                let body = module[inst].body();
                if !body.is_empty() {
                    stack.push((body.iter(), [].iter().enumerate()));
                }
            } else if let Some(block) = rest.next() {
                blocks.push(*block);
                *current = module[*block].instructions.iter().enumerate();
            } else {
                stack.pop();
            }
        }
    }
    (blocks, insts)
}

/// The objects whose name stood before, with how often it stands up to them. `seen` is zero before and after.
fn later<T: Id + std::hash::Hash>(
    module: &Module,
    seen: &mut [u32],
    objects: impl Iterator<Item = T>,
) -> HashMap<T, u32>
where
    Module: NameOf<T>,
{
    let objects: Vec<T> = objects.collect();
    let mut repeats = HashMap::new();
    for &id in &objects {
        let count = &mut seen[module.name_of(id).index()];
        *count += 1;
        if *count > 1 {
            repeats.insert(id, *count);
        }
    }
    objects.iter().for_each(|id| seen[module.name_of(*id).index()] = 0);
    repeats
}

/// A place with names. Fields are the keys of diagnostics in JSON; what does not apply is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NamedPlace {
    /// Index of the module when several make one program.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub module: Option<u16>,
    /// The function.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub function: Option<String>,
    /// The innermost block.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub block: Option<String>,
    /// The instruction, unless it has no name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub instruction: Option<String>,
    /// Index of the instruction in its block.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub index: Option<usize>,
    /// Its InstructionType.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub opcode: Option<String>,
    /// Its engine.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub engine: Option<String>,
    /// Memory location or set (or register) that the finding is about, or that the operand names.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub location: Option<String>,
    /// The operand.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub operand: Option<NamedOperand>,
    /// The DMATrigger that starts the transfer.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub trigger: Option<String>,
    /// The file; for the caller to fill.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub file: Option<String>,
    /// The line, from 1; for the caller to fill.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub line: Option<usize>,
    /// The column in characters, from 1; for the caller to fill.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub column: Option<usize>,
    /// What the block stands in, beside the function: the queue, or blocks and instructions around a nested body,
    /// outermost first.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub around: Vec<String>,
}

/// An operand of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NamedOperand {
    /// `ins`, `indirection_ins` or `outs`.
    pub role: &'static str,
    /// Place in the list.
    pub index: usize,
}

impl Place {
    /// The place with names.
    pub fn named(&self, module: &Module, names: &DisplayNames) -> NamedPlace {
        let mut named = NamedPlace { module: self.core, ..NamedPlace::default() };
        match self.subject {
            Subject::Module => {}
            Subject::Function(func) => named.function = Some(names.name(module, func)),
            Subject::Queue(queue) => named.around.push(names.name(module, queue)),
            Subject::Block(block) => named.stand_in(module, names, block),
            Subject::Inst(inst) => {
                named.stand_in(module, names, module[inst].block);
                named.instruction = Some(names.name(module, inst)).filter(|name| !name.is_empty());
                named.index = names.index(inst);
                named.opcode = Some(module[inst].opcode().text(&module.names).to_owned());
                named.engine = Some(module[inst].engine.text(&module.names).to_owned());
            }
        }
        if let (Some((list, index)), Subject::Inst(inst)) = (self.operand, self.subject) {
            named.operand = Some(NamedOperand { role: list.key(), index });
            named.location = operand_location(module, names, inst, list, index);
        }
        if let Some(storage) = self.storage {
            let (name, function) = match storage {
                StorageRef::Location(loc) => (names.name(module, loc), module[module[loc].set].function),
                StorageRef::Set(set) => (names.name(module, set), module[set].function),
                StorageRef::Register(reg) => (names.name(module, reg), module[reg].function),
            };
            named.location = Some(name);
            if self.subject == Subject::Module && function.index() < module.func_ids().len() {
                named.function = Some(names.name(module, function));
            }
        }
        named.trigger = self.trigger.map(|trigger| names.name(module, trigger));
        named
    }
}

impl NamedPlace {
    fn stand_in(&mut self, module: &Module, names: &DisplayNames, block: BlockId) {
        self.block = Some(names.name(module, block));
        let mut holder = module[block].holder;
        while let Holder::Inst(owner) = holder {
            let outer = module[owner].block;
            self.around.push(match names.name(module, owner) {
                name if name.is_empty() => format!("#{}", names.index(owner).unwrap_or_default()),
                name => name,
            });
            self.around.push(names.name(module, outer));
            holder = module[outer].holder;
        }
        match holder {
            Holder::Function(func) if func.index() < module.func_ids().len() => {
                self.function = Some(names.name(module, func));
            }
            Holder::Queue(queue) => self.around.push(names.name(module, queue)),
            _ => {}
        }
        self.around.reverse();
    }
}

/// The location or set that an operand names, resolved or not.
fn operand_location(
    module: &Module,
    names: &DisplayNames,
    inst: InstId,
    list: OperandList,
    index: usize,
) -> Option<String> {
    let inst = &module[inst];
    let list = match list {
        OperandList::Ins => &inst.ins,
        OperandList::IndirectionIns => &inst.rare().indirection_ins,
        OperandList::Outs => &inst.outs,
    };
    let argument = list.get(index)?;
    let own = |missing: Sym| module.str(missing).to_owned();
    use crate::ids::Target::{Found, Missing};
    match (argument.location().map(|r| r.target()), argument.location_set().map(|r| r.target())) {
        (Some(Found(loc)), _) => Some(names.name(module, loc)),
        (_, Some(Found(set))) => Some(names.name(module, set)),
        (Some(Missing(name)), _) | (None, Some(Missing(name))) => Some(own(name)),
        (None, None) => None,
    }
}

/// `main/b0/mm#3 Matmult@PE ins[1]`: function, blocks, instruction, its index, opcode and engine; the operand.
impl fmt::Display for NamedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let path = self.function.iter().chain(&self.around).chain(&self.block).chain(&self.instruction);
        if let Some(core) = self.module {
            write!(f, "core {core}")?;
            separator = ": ";
        }
        for part in path {
            write!(f, "{separator}{part}")?;
            separator = "/";
        }
        if let Some(index) = self.index {
            let separator = if self.instruction.is_none() { separator } else { "" };
            write!(f, "{separator}#{index}")?;
        }
        if let (Some(opcode), Some(engine)) = (&self.opcode, &self.engine) {
            write!(f, " {opcode}@{engine}")?;
        }
        match (&self.operand, &self.location) {
            (Some(operand), _) => write!(f, " {}[{}]", operand.role, operand.index),
            (None, Some(location)) if separator.is_empty() => f.write_str(location),
            (None, Some(location)) => write!(f, " {location}"),
            (None, None) => Ok(()),
        }
    }
}

/// A finding with names. Fields are the keys of diagnostics in JSON.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// Where it is.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: NamedPlace,
    /// Id of the rule.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The vendor's number for it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub vendor_code: Option<String>,
    /// The vendor's wording of it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub vendor_text: Option<String>,
    /// What to do about it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub help: Option<String>,
    /// Remarks.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub notes: Vec<String>,
    /// Other places that belong to it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub related: Vec<NamedRelated>,
    /// Number of findings that this one stands for.
    pub count: u32,
}

/// Another place that belongs to a finding.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NamedRelated {
    /// What is there.
    pub label: String,
    /// The place.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: NamedPlace,
}

impl Diagnostic {
    /// The finding with names. Places on another core than its own are of another module, and get none.
    pub fn report(&self, module: &Module, names: &DisplayNames) -> Report {
        self.report_in(|place| match place.core == self.place.core {
            true => place.named(module, names),
            false => NamedPlace { module: place.core, ..NamedPlace::default() },
        })
    }

    /// The finding with the names that its place and then the related ones are given, which may be of several modules.
    pub fn report_in(&self, mut named: impl FnMut(&Place) -> NamedPlace) -> Report {
        let vendor = |of: fn(&super::Vendor) -> &str| {
            self.vendor.as_ref().map(of).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let place = named(&self.place);
        let related = self.related.iter().map(|related| NamedRelated {
            label: related.label.clone().into_owned(),
            place: named(&related.place),
        });
        Report {
            place,
            code: self.code.clone().into_owned(),
            severity: self.severity,
            message: self.message.clone(),
            vendor_code: vendor(|vendor| &vendor.code),
            vendor_text: vendor(|vendor| &vendor.text),
            help: self.help.as_ref().map(|help| help.to_string()),
            notes: self.notes.clone(),
            related: related.collect(),
            count: self.count,
        }
    }
}

/// One line: `error[MM-02/310] main/b0/mm#3 Matmult@PE ins[1]: the message`. spec: verify 2
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}", self.severity.name(), self.code)?;
        if let Some(code) = &self.vendor_code {
            write!(f, "/{code}")?;
        }
        let place = self.place.to_string();
        let separator = if place.is_empty() { "" } else { ": " };
        write!(f, "] {place}{separator}{}", self.message)?;
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        Ok(())
    }
}
