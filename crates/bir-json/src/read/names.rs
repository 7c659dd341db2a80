//! Tables of objects by name: of storage and instructions in one scope. spec: bir-json 2.4

use bir::ids::{BlockId, FuncId, Id, InstId};
use bir::{Holder, Module, Sym};
use hashbrown::HashMap;

/// Objects of one kind in one scope, by name. Symbols are dense, so a list serves as the table.
pub(super) struct SymMap<T> {
    slots: Vec<u32>,
    used: Vec<Sym>,
    kind: std::marker::PhantomData<T>,
}

impl<T> Default for SymMap<T> {
    fn default() -> Self {
        SymMap { slots: Vec::new(), used: Vec::new(), kind: std::marker::PhantomData }
    }
}

impl<T: Id> SymMap<T> {
    #[inline]
    pub(super) fn get(&self, name: Sym) -> Option<T> {
        match self.slots.get(name.index()) {
            None | Some(0) => None,
            Some(slot) => Some(T::new(*slot as usize - 1)),
        }
    }

    /// Adds an object; false when the name is taken, which then keeps its first object.
    pub(super) fn insert(&mut self, name: Sym, id: T) -> bool {
        if self.slots.len() <= name.index() {
            self.slots.resize(name.index() + 1, 0);
        }
        let slot = &mut self.slots[name.index()];
        if *slot != 0 {
            return false;
        }
        *slot = id.index() as u32 + 1;
        self.used.push(name);
        true
    }

    /// Adds the objects of another table whose names are free.
    pub(super) fn add_all(&mut self, other: &SymMap<T>) {
        for (name, id) in other.iter() {
            self.insert(name, id);
        }
    }

    /// Adds an object, in place of the one that has the name.
    pub(super) fn replace(&mut self, name: Sym, id: T) {
        if !self.insert(name, id) {
            self.slots[name.index()] = id.index() as u32 + 1;
        }
    }

    pub(super) fn clear(&mut self) {
        for name in self.used.drain(..) {
            self.slots[name.index()] = 0;
        }
    }

    /// Names and objects, in the order in which the names were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Sym, T)> + '_ {
        self.used.iter().map(|name| (*name, T::new(self.slots[name.index()] as usize - 1)))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = T> + '_ {
        self.iter().map(|(_, id)| id)
    }
}

/// Instructions of one function or queue by name. Names repeat in real dumps.
#[derive(Default)]
pub(super) struct InstNames {
    first: SymMap<InstId>,
    /// All instances of the names that repeat, in document order: of the holder, and of each block.
    repeated: HashMap<Sym, Vec<InstId>>,
    repeated_in: HashMap<(Sym, BlockId), Vec<InstId>>,
}

impl InstNames {
    /// The first instruction of each name.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Sym, InstId)> + '_ {
        self.first.iter()
    }

    /// Whether there is an instruction of that name.
    pub(super) fn has(&self, name: Sym) -> bool {
        self.first.get(name).is_some()
    }

    pub(super) fn build(&mut self, module: &Module, holder: Holder) {
        self.clear();
        for id in module.insts_of(holder) {
            self.add(module, id);
        }
    }

    pub(super) fn clear(&mut self) {
        self.first.clear();
        self.repeated.clear();
        self.repeated_in.clear();
    }

    /// Adds an instruction. While a document is read, owners of bodies come after what is in them.
    #[inline]
    pub(super) fn add(&mut self, module: &Module, id: InstId) {
        if !self.first.insert(module[id].name, id) {
            self.add_again(module, id);
        }
    }

    fn add_again(&mut self, module: &Module, id: InstId) {
        let name = module[id].name;
        let first = self.first.get(name).expect("it was there");
        let all = self.repeated.entry(name).or_default();
        if all.is_empty() {
            all.push(first);
            self.repeated_in.entry((name, module[first].block)).or_default().push(first);
        }
        insert_sorted(all, id);
        insert_sorted(self.repeated_in.entry((name, module[id].block)).or_default(), id);
    }

    /// The instruction that `from` means by a name, among those that come before it; `None` when there is none.
    #[inline]
    pub(super) fn find_earlier(&self, name: Sym, block: BlockId, from: InstId) -> Option<InstId> {
        if self.repeated.is_empty() || !self.repeated.contains_key(&name) {
            return self.first.get(name).filter(|id| *id < from);
        }
        let earlier = |ids: &[InstId]| {
            let before = ids.partition_point(|id| *id < from);
            before.checked_sub(1).map(|at| ids[at])
        };
        let same_block = self.repeated_in.get(&(name, block)).and_then(|ids| earlier(ids));
        same_block.or_else(|| earlier(&self.repeated[&name]))
    }

    /// The instruction that `from` means by a name: of several, an earlier one in its block, else the nearest
    /// earlier one, else the first. spec: bir-json 2.4
    pub(super) fn find(&self, module: &Module, name: Sym, from: InstId) -> Option<InstId> {
        self.find_earlier(name, module[from].block, from).or_else(|| {
            let first = self.first.get(name)?;
            let all = self.repeated.get(&name).into_iter().flatten();
            all.copied().find(|id| *id != from).or(Some(first))
        })
    }
}

fn insert_sorted(ids: &mut Vec<InstId>, id: InstId) {
    let at = ids.partition_point(|other| *other < id);
    ids.insert(at, id);
}

/// Whose storage a name may mean.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Function(FuncId),
    /// That of any function, the first one that has the name.
    All,
}

/// Objects of storage by function and name, and by name alone.
pub(super) struct Storage<T> {
    of: HashMap<(FuncId, Sym), T>,
    any: SymMap<T>,
}

impl<T> Default for Storage<T> {
    fn default() -> Self {
        Storage { of: HashMap::new(), any: SymMap::default() }
    }
}

impl<T: Id> Storage<T> {
    pub(super) fn add(&mut self, function: FuncId, name: Sym, id: T) {
        add(&mut self.of, (function, name), id);
        self.any.insert(name, id);
    }

    pub(super) fn find(&self, scope: Scope, name: Sym) -> Option<T> {
        match scope {
            Scope::Function(function) => self.of.get(&(function, name)).copied(),
            Scope::All => self.any.get(name),
        }
    }
}

/// Adds an object to a table; false when the name is taken.
pub(super) fn add<K: std::hash::Hash + Eq, V>(table: &mut HashMap<K, V>, key: K, value: V) -> bool {
    let free = !table.contains_key(&key);
    if free {
        table.insert(key, value);
    }
    free
}
