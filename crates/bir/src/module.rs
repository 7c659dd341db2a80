//! The module: arenas of everything in a document, owned by id. spec: bir-json 3, 4

use std::ops::{Index, IndexMut};

use crate::expr::Exprs;
use crate::generated::enums::ArchLevel;
use crate::generated::records::{Block, Function, MemoryLocation, MemoryLocationSet, Queue, Register, Root};
use crate::ids::{BlockId, FuncId, Id, InstId, LocId, QueueId, Ref, RegId, SetId, Target};
use crate::inst::Instruction;
use crate::names::{Names, Sym};
use crate::record::OwnedList;
use crate::storage::Storage;

/// A module.
///
/// Objects lie in arenas and refer to each other by typed ids. Taking an object out of the list that owns it
/// (an instruction out of its block, say) takes it out of the module; its slot stays in the arena.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The keys of the root object, and the lists of functions and queues.
    pub root: Root,
    /// Every name.
    pub names: Names,
    /// Every affine expression.
    pub exprs: Exprs,
    funcs: Vec<Function>,
    blocks: Vec<Block>,
    insts: Vec<Instruction>,
    sets: Vec<MemoryLocationSet>,
    locs: Vec<MemoryLocation>,
    regs: Vec<Register>,
    queues: Vec<Queue>,
}

macro_rules! arenas {
    ($($field:ident: $id:ident => $object:ident, $add:ident, $ids:ident, $what:literal;)*) => {
        $(
            impl Index<$id> for Module {
                type Output = $object;
                fn index(&self, id: $id) -> &$object {
                    &self.$field[id.index()]
                }
            }

            impl IndexMut<$id> for Module {
                fn index_mut(&mut self, id: $id) -> &mut $object {
                    &mut self.$field[id.index()]
                }
            }
        )*

        impl Module {
            $(
                #[doc = concat!("Puts ", $what, " into its arena. It is not part of the module until a list owns it.")]
                pub fn $add(&mut self, object: $object) -> $id {
                    self.$field.push(object);
                    $id::new(self.$field.len() - 1)
                }

                #[doc = concat!("Ids of every slot of the arena, ", $what, " each, owned by a list or not.")]
                pub fn $ids(&self) -> impl ExactSizeIterator<Item = $id> + use<> {
                    (0..self.$field.len()).map($id::new)
                }
            )*
        }
    };
}

arenas! {
    funcs: FuncId => Function, add_func, func_ids, "a function";
    blocks: BlockId => Block, add_block, block_ids, "a block";
    insts: InstId => Instruction, add_inst, inst_ids, "an instruction";
    sets: SetId => MemoryLocationSet, add_set, set_ids, "a memory-location set";
    locs: LocId => MemoryLocation, add_loc, loc_ids, "a memory location";
    regs: RegId => Register, add_reg, reg_ids, "a register";
    queues: QueueId => Queue, add_queue, queue_ids, "a queue";
}

/// What a block belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    /// A function's body.
    Function(FuncId),
    /// An instance of a DMA queue.
    Queue(QueueId),
    /// The nested body of an instruction.
    Inst(InstId),
}

/// The second function holder of a module. An empty one is written back in the shape that was read.
/// spec: bir-json 3
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NkiFunctions {
    /// The NKI functions.
    pub functions: OwnedList<FuncId>,
    /// How an empty holder is spelled.
    pub empty: EmptyHolder,
}

impl NkiFunctions {
    /// An empty holder that is spelled `null`.
    pub fn null() -> NkiFunctions {
        NkiFunctions { empty: EmptyHolder::Null, ..NkiFunctions::default() }
    }
}

/// Spellings of an empty function holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EmptyHolder {
    /// `null`
    Null,
    /// `[]`
    List,
    /// `{}`
    Object,
    /// `{"functions": []}`
    #[default]
    Functions,
}

/// Binds a call of the main function to memory locations of the callee. spec: bir-json 3.3
#[derive(Clone, PartialEq, Debug)]
pub struct CallBinding {
    /// The call.
    pub call: Ref<InstId>,
    /// The locations.
    pub locations: Vec<Ref<LocId>>,
}

impl Module {
    /// The arenas that a part has of its own.
    pub(crate) fn into_arenas(self) -> (Vec<Block>, Vec<Instruction>, Exprs) {
        (self.blocks, self.insts, self.exprs)
    }

    pub(crate) fn arenas_mut(&mut self) -> (&mut Vec<Block>, &mut Vec<Instruction>) {
        (&mut self.blocks, &mut self.insts)
    }

    /// An empty module for an architecture.
    pub fn new(arch: ArchLevel) -> Module {
        let mut module = Module::default();
        module.root.arch = Some(arch);
        module
    }

    /// The string of a symbol.
    pub fn str(&self, sym: Sym) -> &str {
        self.names.str(sym)
    }

    /// The functions, the NKI ones after the ordinary ones.
    pub fn functions(&self) -> impl Iterator<Item = FuncId> + '_ {
        let nki = self.root.nki_functions.iter().flat_map(|nki| &nki.functions);
        self.root.functions.iter().copied().chain(nki)
    }

    /// The queues.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.root.queues.iter().copied()
    }

    /// `main`, or the first function when none is called so. spec: bir-json 2.3
    pub fn main(&self) -> Option<FuncId> {
        let main = self.names.get("main");
        let functions = &self.root.functions;
        let named = functions.iter().copied().find(|f| Some(self[*f].name) == main);
        named.or_else(|| functions.first().copied())
    }

    /// The list in writing order: what is called `main` first. spec: bir-json 2.3
    pub fn main_first<T: Id>(&self, list: &[T], name: impl Fn(&Module, T) -> Sym) -> Vec<T> {
        let main = self.names.get("main");
        let is_main = |item: &T| Some(name(self, *item)) == main;
        let mut ordered: Vec<T> = list.iter().copied().filter(is_main).collect();
        ordered.extend(list.iter().copied().filter(|item| !is_main(item)));
        ordered
    }

    /// The blocks that a holder owns, in list order.
    pub fn blocks_of(&self, holder: Holder) -> &[BlockId] {
        match holder {
            Holder::Function(id) => &self[id].blocks,
            Holder::Queue(id) => &self[id].blocks,
            Holder::Inst(id) => self[id].body(),
        }
    }

    /// The function or queue that an instruction finally belongs to.
    pub fn outermost(&self, inst: InstId) -> Holder {
        let mut holder = self[self[inst].block].holder;
        while let Holder::Inst(outer) = holder {
            holder = self[self[outer].block].holder;
        }
        holder
    }

    /// All instructions of a holder in document order; those of a nested body follow their owner.
    pub fn insts_of(&self, holder: Holder) -> Insts<'_> {
        let mut walk = Insts { module: self, stack: Vec::new() };
        walk.enter(self.blocks_of(holder));
        walk
    }

    /// All instructions of the module in document order: functions, NKI functions, queues.
    pub fn insts(&self) -> impl Iterator<Item = InstId> + '_ {
        let functions = self.functions().map(Holder::Function);
        let queues = self.queues().map(Holder::Queue);
        functions.chain(queues).flat_map(|holder| self.insts_of(holder))
    }

    /// The memory locations of a function, in document order.
    pub fn locations_of(&self, function: FuncId) -> impl Iterator<Item = LocId> + '_ {
        self.sets_of(function).flat_map(|set| &self[set].memorylocations)
    }

    /// The memory-location sets of a function, in document order.
    pub fn sets_of(&self, function: FuncId) -> impl Iterator<Item = SetId> + '_ {
        let allocations = self[function].allocations.iter();
        allocations.filter_map(|storage| match storage {
            Storage::Set(set) => Some(*set),
            Storage::Register(_) => None,
        })
    }

    /// The registers of a function, in document order.
    pub fn registers_of(&self, function: FuncId) -> impl Iterator<Item = RegId> + '_ {
        let allocations = self[function].allocations.iter();
        allocations.filter_map(|storage| match storage {
            Storage::Register(reg) => Some(*reg),
            Storage::Set(_) => None,
        })
    }

    /// Name of what a reference means, whether it was resolved or not.
    pub fn ref_name<T>(&self, r: Ref<T>) -> Sym
    where
        T: Id,
        Module: NameOf<T>,
    {
        match r.target() {
            Target::Found(id) => self.name_of(id),
            Target::Missing(name) => name,
        }
    }
}

/// Objects that have a name.
pub trait NameOf<T> {
    /// The name of an object.
    fn name_of(&self, id: T) -> Sym;
}

macro_rules! named {
    ($($id:ty),*) => {$(
        impl NameOf<$id> for Module {
            fn name_of(&self, id: $id) -> Sym {
                self[id].name
            }
        }
    )*};
}
named!(FuncId, BlockId, InstId, SetId, LocId, RegId, QueueId);

/// Instructions in document order, nested bodies included. See [`Module::insts_of`].
pub struct Insts<'a> {
    module: &'a Module,
    /// Blocks and instructions still to come, innermost last.
    stack: Vec<(std::slice::Iter<'a, BlockId>, std::slice::Iter<'a, InstId>)>,
}

impl<'a> Insts<'a> {
    fn enter(&mut self, blocks: &'a [BlockId]) {
        if !blocks.is_empty() {
            self.stack.push((blocks.iter(), [].iter()));
        }
    }
}

impl Iterator for Insts<'_> {
    type Item = InstId;

    fn next(&mut self) -> Option<InstId> {
        loop {
            let (blocks, insts) = self.stack.last_mut()?;
            if let Some(&inst) = insts.next() {
                self.enter(self.module[inst].body());
                return Some(inst);
            }
            match blocks.next() {
                Some(&block) => *insts = self.module[block].instructions.iter(),
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}
