//! Tensors and registers.

use std::collections::HashMap;

use bir::enums::MemoryType;
use bir::geometry::{Overlap, address_registers};
use bir::ids::{InstId, LocId, RegId, SetId};
use bir::operands::access_of;
use bir::records::PhysicalAp;
use bir::{Argument, Module, OpenEnum};
use serde::Serialize;

use super::{Cut, ShowOptions};
use crate::program::{At, Program, access_word, operand_name};

/// A tensor: a memory-location set.
#[derive(Clone, Debug, Serialize)]
pub struct TensorView {
    /// Its name.
    pub name: String,
    /// The function that owns it.
    pub function: String,
    /// Input, Internal, Const...
    pub tensor_kind: Option<String>,
    /// Its class.
    pub class: String,
    /// Element type.
    pub dtype: Option<String>,
    /// Shape in elements.
    pub shape: Vec<u64>,
    /// Initial data of a constant.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub file: String,
    /// Its placements.
    pub locations: Vec<LocationView>,
    /// Accesses that name the set rather than a location.
    pub symbolic: Cut<TensorUse>,
}

/// A placement of a tensor.
#[derive(Clone, Debug, Serialize)]
pub struct LocationView {
    /// Its name.
    pub name: String,
    /// The memory.
    pub space: String,
    /// Whether it has a place.
    pub placed: bool,
    /// Partitions, half open; of SB and PSUM.
    pub partitions: Option<[u64; 2]>,
    /// Bytes in each partition; of DRAM, bytes. From its address on.
    pub bytes: Option<[u64; 2]>,
    /// PSUM bank.
    pub bank: Option<u64>,
    /// Locations that it aliases, with `may` or `must`.
    pub aliases: Vec<(String, &'static str)>,
    /// Locations of other tensors that have some of its bytes.
    pub shares: Cut<String>,
    /// Reads of it.
    pub reads: usize,
    /// Writes of it.
    pub writes: usize,
    /// The first and the last accesses.
    pub accesses: Cut<TensorUse>,
    /// The last access.
    pub last: Option<TensorUse>,
}

/// An access to a tensor.
#[derive(Clone, Debug, Serialize)]
pub struct TensorUse {
    /// The instruction.
    #[serde(flatten)]
    pub at: At,
    /// Which of its operands.
    pub operand: String,
    /// What it does.
    pub access: &'static str,
    /// The bytes, in words.
    pub touches: String,
}

/// A register.
#[derive(Clone, Debug, Serialize)]
pub struct RegisterView {
    /// Its name.
    pub name: String,
    /// The function that owns it.
    pub function: String,
    /// The engine that has it.
    pub engine: Option<String>,
    /// Number of physical registers.
    pub width: u32,
    /// Instructions that read or write it, or take an address from it.
    pub uses: Cut<RegisterUse>,
}

/// A use of a register.
#[derive(Clone, Debug, Serialize)]
pub struct RegisterUse {
    /// The instruction.
    #[serde(flatten)]
    pub at: At,
    /// Which of its operands.
    pub operand: String,
    /// What it does: an address is read from it, or it is accessed itself.
    pub access: &'static str,
}

pub(super) fn tensor(program: &Program<'_>, set: SetId, options: &ShowOptions) -> TensorView {
    let module = program.module;
    let tensor = &module[set];
    let text = |sym| module.str(sym).to_owned();
    let mut view = TensorView {
        name: program.names().name(module, set),
        function: program.names().name(module, tensor.function),
        tensor_kind: tensor.kind.map(|kind| kind.text(&module.names).to_owned()),
        class: tensor.tensor_class.text(&module.names).to_owned(),
        dtype: tensor.dtype.map(|dtype| dtype.text(&module.names).to_owned()),
        shape: tensor.tensor_shape.iter().collect(),
        file: text(tensor.file),
        locations: tensor.memorylocations.iter().map(|loc| location(program, *loc, options)).collect(),
        symbolic: Cut::default(),
    };
    let index: HashMap<LocId, usize> =
        tensor.memorylocations.iter().enumerate().map(|(i, loc)| (*loc, i)).collect();
    for toucher in program.touchers() {
        for (list, at, argument) in module[toucher.inst].operands() {
            let loc = argument.location().and_then(|loc| loc.id()).and_then(|loc| index.get(&loc));
            let in_set = argument.location_set().and_then(|other| other.id()) == Some(set);
            if loc.is_none() && !(in_set && argument.location().is_none()) {
                continue;
            }
            let access = access_of(&module[toucher.inst], list, at);
            let made = || {
                let touches = program.own_touches(toucher.inst);
                let here = touches.iter().find(|touch| touch.list == list && touch.index == at);
                TensorUse {
                    at: program.at(toucher.subject),
                    operand: operand_name(list, at),
                    access: access_word(access),
                    touches: here.map_or_else(String::new, |t| t.footprint.display(module).to_string()),
                }
            };
            match loc {
                Some(i) => {
                    let location = &mut view.locations[*i];
                    location.reads += usize::from(access.may_read());
                    location.writes += usize::from(access.writes());
                    location.accesses.push(options.most(), made);
                    if location.accesses.total > location.accesses.items.len() {
                        location.last = Some(made());
                    }
                }
                None => view.symbolic.push(options.most(), made),
            }
        }
    }
    view
}

fn location(program: &Program<'_>, loc: LocId, options: &ShowOptions) -> LocationView {
    let module = program.module;
    let location = &module[loc];
    let placed = location.is_placed();
    let on_chip = matches!(location.r#type, MemoryType::SB | MemoryType::PSUM);
    let base = u64::from(location.base);
    let addr = if placed { location.addr } else { 0 };
    let alias = |edge: &bir::AliasEdge| {
        let word = if edge.kind & 2 == 0 { "may" } else { "must" };
        (module.str(module[edge.to].name).to_owned(), word)
    };
    LocationView {
        name: program.names().name(module, loc),
        space: location.r#type.text(&module.names).to_owned(),
        placed,
        partitions: location.partitions().filter(|_| on_chip).map(|n| [base, base.saturating_add(n)]),
        bytes: location.bytes().map(|n| [addr, addr.saturating_add(n)]),
        bank: (location.r#type == MemoryType::PSUM && placed).then_some(location.bank.unsigned_abs()),
        aliases: location.alias.iter().map(alias).collect(),
        shares: shares(program, loc, options.most()),
        reads: 0,
        writes: 0,
        accesses: Cut::default(),
        last: None,
    }
}

/// Placed locations of other sets that have some of the bytes of one.
fn shares(program: &Program<'_>, loc: LocId, most: usize) -> Cut<String> {
    let module = program.module;
    let mut found = Cut::default();
    if !module[loc].is_placed() {
        return found;
    }
    let own = whole(program, loc);
    let functions: Vec<_> = module.functions().collect();
    for other in functions.iter().flat_map(|function| module.locations_of(*function)) {
        let candidate = &module[other];
        if candidate.set == module[loc].set
            || candidate.r#type != module[loc].r#type
            || !candidate.is_placed()
        {
            continue;
        }
        let theirs = whole(program, other);
        let meet = |a: &bir::geometry::Footprint| theirs.iter().any(|b| overlaps(a, b));
        if own.iter().any(meet) {
            found.push(most, || program.names().name(module, other));
        }
    }
    found
}

fn overlaps(a: &bir::geometry::Footprint, b: &bir::geometry::Footprint) -> bool {
    a.overlap(b) != Overlap::No
}

/// All bytes of a location.
fn whole(program: &Program<'_>, loc: LocId) -> bir::geometry::OperandFootprints {
    let all = Argument::from(PhysicalAp { memref: Some(loc.into()), ..PhysicalAp::default() });
    program.footprints.operand(&all, &bir::geometry::Unknown)
}

pub(super) fn register(program: &Program<'_>, register: RegId, options: &ShowOptions) -> RegisterView {
    let module = program.module;
    let record = &module[register];
    let mut uses = Cut::default();
    for inst in module.insts() {
        for (list, index, argument) in module[inst].operands() {
            let access = if is_access(argument, register) {
                access_word(access_of(&module[inst], list, index))
            } else if is_address(module, argument, register) {
                "takes an address from it"
            } else {
                continue;
            };
            uses.push(options.most(), || use_of(program, inst, operand_name(list, index), access));
        }
        let wait = |sync: &bir::records::SyncInfo| {
            sync.on_wait.iter().any(|wait| wait.wait_reg.and_then(|r| r.id()) == Some(register))
        };
        if module[inst].sync_info.as_deref().is_some_and(wait) {
            uses.push(options.most(), || use_of(program, inst, "sync_info".into(), "waits for its count"));
        }
    }
    RegisterView {
        name: program.names().name(module, register),
        function: program.names().name(module, record.function),
        engine: record.register_engine.map(|engine| engine.text(&module.names).to_owned()),
        width: record.register_width,
        uses,
    }
}

fn use_of(program: &Program<'_>, inst: InstId, operand: String, access: &'static str) -> RegisterUse {
    RegisterUse { at: program.at(inst), operand, access }
}

fn is_access(argument: &Argument, register: RegId) -> bool {
    matches!(argument, Argument::RegisterAccess(arg) if arg.regref.and_then(|r| r.id()) == Some(register))
}

fn is_address(module: &Module, argument: &Argument, register: RegId) -> bool {
    match argument {
        Argument::RegisterAp(_) | Argument::SymbolicAp(_) | Argument::PhysicalAp(_) => {
            address_registers(module, argument).iter().any(|r| r.id() == Some(register))
        }
        _ => false,
    }
}
