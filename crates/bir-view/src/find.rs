//! Finding what people name: instructions, tensors, queues, registers, semaphores.

use std::collections::HashMap;

use bir::enums::SyncRefType;
use bir::ids::{BlockId, InstId, QueueId, RegId, SetId};
use bir::{Module, NameOf, OpenEnum, Sym};

use crate::names::{glob, is_glob, nearest};

/// Something of a module that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    /// An instruction.
    Inst(InstId),
    /// A tensor: a memory-location set.
    Tensor(SetId),
    /// A DMA queue.
    Queue(QueueId),
    /// A register.
    Register(RegId),
    /// A semaphore or an event, by number.
    Semaphore(SyncRefType, u32),
}

/// Everything that a name stands for, in document order: tensors, registers, instructions, queues, semaphores.
///
/// A name is that of an instruction, a tensor or one of its locations, a queue or a register; `block#7`, the
/// instruction with that index in a block of that name; `name@2`, the second of equal names; a pattern with `*` and
/// `?`; or `semaphore:7` or `event:7` (`sem:7`, `evt:7`). What has the name as it is comes before all else.
pub fn find(module: &Module, name: &str) -> Vec<Subject> {
    if let Some(sym) = module.names.get(name) {
        let found = all(module, &mut |other| other == sym);
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(semaphore) = semaphore(name) {
        return vec![semaphore];
    }
    if let Some((block, index)) = name.rsplit_once('#')
        && let Ok(index) = index.parse::<usize>()
    {
        let found = in_blocks(module, block, index);
        if !found.is_empty() {
            return found;
        }
    }
    if let Some((first, nth)) = name.rsplit_once('@')
        && let Ok(nth @ 1..) = nth.parse::<usize>()
        && let Some(sym) = module.names.get(first)
    {
        return nth_of_each_kind(all(module, &mut |other| other == sym), nth);
    }
    if !is_glob(name) {
        return Vec::new();
    }
    let mut known: HashMap<Sym, bool> = HashMap::new();
    all(module, &mut |sym| *known.entry(sym).or_insert_with(|| glob(name, module.str(sym))))
}

/// The instructions among [`find`].
pub fn find_insts(module: &Module, name: &str) -> Vec<InstId> {
    let inst = |subject| match subject {
        Subject::Inst(inst) => Some(inst),
        _ => None,
    };
    find(module, name).into_iter().filter_map(inst).collect()
}

/// The blocks of a name or pattern; when there are none, the nearest names of blocks.
///
/// # Errors
/// No block has that name.
pub fn find_blocks<'m>(module: &'m Module, name: &str) -> Result<Vec<BlockId>, Vec<&'m str>> {
    let found: Vec<BlockId> =
        module.block_ids().filter(|block| glob(name, module.str(module[*block].name))).collect();
    if found.is_empty() {
        return Err(nearest(name, module.block_ids().map(|block| module.str(module[block].name)), 3));
    }
    Ok(found)
}

/// At most three names of the module that are nearest to one that nothing has, or else have it in them.
pub fn suggestions<'m>(module: &'m Module, name: &str) -> Vec<&'m str> {
    let mut seen = vec![false; module.names.len()];
    let mut names = Vec::new();
    all(module, &mut |sym| {
        if !std::mem::replace(&mut seen[sym.index()], true) {
            names.push(module.str(sym));
        }
        false
    });
    match nearest(name, names.iter().copied(), 3) {
        near if near.is_empty() => names.into_iter().filter(|other| other.contains(name)).take(3).collect(),
        near => near,
    }
}

fn semaphore(name: &str) -> Option<Subject> {
    let (kind, id) = name.split_once(':')?;
    let kind = match kind {
        "sem" | "semaphore" => SyncRefType::Semaphore,
        "evt" | "event" => SyncRefType::Event,
        _ => return None,
    };
    Some(Subject::Semaphore(kind, id.parse().ok()?))
}

fn in_blocks(module: &Module, name: &str, index: usize) -> Vec<Subject> {
    let (function, block) = match name.split_once('/') {
        Some((function, block)) if module.names.get(name).is_none() => (Some(function), block),
        _ => (None, name),
    };
    let Some(block) = module.names.get(block) else { return Vec::new() };
    let blocks = module.block_ids().filter(|id| module[*id].name == block);
    let insts = blocks.filter_map(|id| module[id].instructions.get(index).copied());
    let of_function = |inst: &InstId| match (function, module.outermost(*inst)) {
        (None, _) => true,
        (Some(name), bir::Holder::Function(id)) => module.str(module[id].name) == name,
        (Some(name), bir::Holder::Queue(id)) => module.str(module[id].name) == name,
        (Some(_), bir::Holder::Inst(_)) => false,
    };
    insts.filter(of_function).map(Subject::Inst).collect()
}

fn nth_of_each_kind(found: Vec<Subject>, nth: usize) -> Vec<Subject> {
    let mut counts: HashMap<std::mem::Discriminant<Subject>, usize> = HashMap::new();
    let is_nth = |subject: &Subject| {
        let count = counts.entry(std::mem::discriminant(subject)).or_default();
        *count += 1;
        *count == nth
    };
    found.into_iter().filter(is_nth).collect()
}

fn all(module: &Module, fits: &mut dyn FnMut(Sym) -> bool) -> Vec<Subject> {
    let mut found = Vec::new();
    for function in module.functions() {
        for set in module.sets_of(function) {
            let mut locations = module[set].memorylocations.iter();
            if fits(module[set].name) || locations.any(|loc| fits(module[*loc].name)) {
                found.push(Subject::Tensor(set));
            }
        }
        found.extend(
            module.registers_of(function).filter(|id| fits(module.name_of(*id))).map(Subject::Register),
        );
    }
    found.extend(module.insts().filter(|id| fits(module[*id].name)).map(Subject::Inst));
    found.extend(module.queues().filter(|id| fits(module[*id].name)).map(Subject::Queue));
    found
}

/// The value of an enum by its name, as the reference parses options: no other spelling, and a miss says so in its
/// words.
///
/// # Errors
/// The message, with the nearest name.
///
/// ```
/// use bir::enums::EngineType;
/// use bir_view::find::option;
/// assert_eq!(option::<EngineType>("PE"), Ok(EngineType::PE));
/// let message = option::<EngineType>("pe").unwrap_err();
/// assert_eq!(message, "Cannot find option named 'pe'! Did you mean 'PE'?");
/// ```
pub fn option<E: OpenEnum>(name: &str) -> Result<E, String> {
    let names = || E::ALL.iter().filter_map(|value| value.name().ok());
    match E::parse(name) {
        Some(value) => Ok(value),
        None => {
            let mut message = format!("Cannot find option named '{name}'!");
            match nearest(name, names(), 1).first() {
                Some(near) => message += &format!(" Did you mean '{near}'?"),
                None if E::ALL.len() <= 16 => {
                    message += &format!(" The options are {}", names().collect::<Vec<_>>().join(", "));
                }
                None => {}
            }
            Err(message)
        }
    }
}
