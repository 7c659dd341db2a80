//! Functions, queues and storage, and the keys of records that have a form of their own.

use bir::enums::MemoryType;
use bir::ids::Ref;
use bir::ids::{FuncId, LocId, QueueId, SetId};
use bir::records::{Function, MemoryLocation, MemoryLocationSet, Queue, Register};
use bir::{AliasEdge, CallBinding, Holder, ImmNumber, Storage, Sym, Value};
use hashbrown::{HashMap, HashSet};

use super::{OddityKind, Reader, Unresolved};
use crate::error::{ReadErrorKind, Result};

/// An alias by name. spec: bir-json 5.4
pub(super) struct RawAlias {
    source: LocId,
    set: Option<Sym>,
    location: Sym,
    kind: u8,
    offset: usize,
}

/// Aliases of a function: kinds by the two ends, in both directions, and the ends in order.
#[derive(Default)]
struct Links {
    masks: HashMap<(LocId, LocId), u8>,
    order: Vec<(LocId, LocId)>,
}

impl Links {
    /// Adds an alias on both ends; says whether that was new.
    fn add(&mut self, source: LocId, target: LocId, kind: u8) -> bool {
        let mut new = false;
        for ends in [(source, target), (target, source)] {
            let mask = self.masks.entry(ends).or_insert_with(|| {
                self.order.push(ends);
                new = true;
                0
            });
            new |= *mask | kind != *mask;
            *mask |= kind;
        }
        new
    }
}

impl Reader<'_> {
    /// A function or queue begins: nothing that has a name so far is in it.
    fn begin_scope(&mut self, holder: Holder) {
        self.holder = holder;
        self.outermost = holder;
        self.scope += 1;
        self.inst_names.clear();
        self.forget_storage();
    }

    /// Names of storage mean nothing any more.
    pub(super) fn forget_storage(&mut self) {
        self.locations.clear();
        self.sets.clear();
        self.registers.clear();
        self.known_arguments.clear();
    }

    pub(crate) fn function_record(&mut self, nki: bool) -> Result<FuncId> {
        let id = self.module.add_func(Function::default());
        self.begin_scope(Holder::Function(id));
        let mut function: Function = self.record("an object: a function")?;
        function.nki = nki;
        self.nki_first |= nki && !self.function_read;
        self.all_locations.add_all(&self.locations);
        self.all_sets.add_all(&self.sets);
        self.all_registers.add_all(&self.registers);
        // The first function stands in for main until one is called so; NKI functions may come before it.
        let is_main = !nki && (!self.function_read || self.module.str(function.name) == "main");
        self.function_read |= !nki;
        self.module[id] = function;
        self.link_aliases(id)?;
        for (name, inst) in self.inst_names.firsts() {
            if is_main {
                self.inst_table.replace(name, inst);
            } else {
                self.inst_table.insert(name, inst);
            }
        }
        Ok(id)
    }

    /// The queue of a name. Instructions name queues before they are read: the first mention makes the queue.
    pub(super) fn queue_named(&mut self, name: Sym) -> QueueId {
        if let Some(id) = self.queue_table.get(name) {
            return id;
        }
        let id = self.module.add_queue(Queue { name, ..Queue::default() });
        self.queue_table.insert(name, id);
        id
    }

    pub(crate) fn queue_record(&mut self) -> Result<QueueId> {
        let id = self.module.add_queue(Queue::default());
        self.begin_scope(Holder::Queue(id));
        self.lexer.peek();
        let at = self.lexer.pos();
        let queue: Queue = self.record("an object: a queue")?;
        // A queue that was named before has its id already.
        let name = queue.name;
        let named = self.queue_table.get(name);
        let is_first = self.queues_read.insert(named.unwrap_or(id));
        let id = match named {
            Some(named) if is_first => named,
            _ => id,
        };
        if !is_first {
            self.queues_read.insert(id);
            self.collision("queue", name, at);
        }
        self.queue_table.insert(name, id);
        for block in &queue.blocks {
            self.module[block].holder = Holder::Queue(id);
        }
        if let Some(last) = self.early_names.last_mut().filter(|last| **last == self.outermost) {
            *last = Holder::Queue(id);
        }
        self.module[id] = queue;
        Ok(id)
    }

    /// A set with its placements, or a register. Which one is not said in every document. spec: bir-json 5
    pub(crate) fn storage_record(&mut self) -> Result<Option<Storage>> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("an object: a memory-location set or a register");
        }
        let Holder::Function(function) = self.holder else { unreachable!("only functions have allocations") };
        let at = self.lexer.pos();
        if self.is_set()? {
            let id = self.module.add_set(MemoryLocationSet::default());
            self.current_set = id;
            let mut set: MemoryLocationSet = self.record("an object: a memory-location set")?;
            set.function = function;
            let (name, kind) = (set.name, set.kind);
            if !self.set_has_class {
                set.tensor_class = MemoryLocationSet::default_class(kind);
            }
            self.module[id] = set;
            if !self.sets.insert(name, id) || self.registers.get(name).is_some() {
                self.collision("storage", name, at);
            }
            return Ok(Some(Storage::Set(id)));
        }
        let mut register: Register = self.record("an object: a register")?;
        register.function = function;
        let name = register.name;
        let id = self.module.add_reg(register);
        if !self.registers.insert(name, id) || self.sets.get(name).is_some() {
            self.collision("storage", name, at);
        }
        Ok(Some(Storage::Register(id)))
    }

    fn is_set(&mut self) -> Result<bool> {
        let mut ahead = self.lexer.clone();
        ahead.enter()?;
        let mut looks_like_set = false;
        self.set_has_class = false;
        let mut kind = None;
        while ahead.peek() == b'"' {
            let key = ahead.key()?;
            match &*key {
                "Skind" if ahead.peek() == b'"' => {
                    kind = match &*ahead.string()? {
                        "register" => Some(false),
                        "memory_location_set" => Some(true),
                        _ => None,
                    };
                }
                "tensor_class" => {
                    self.set_has_class = ahead.peek() != b'n';
                    ahead.skip_value()?;
                }
                "memorylocations" | "tensor_shape" | "alias" => {
                    looks_like_set = true;
                    ahead.skip_value()?;
                }
                _ => ahead.skip_value()?,
            }
            if !ahead.take(b',') {
                break;
            }
        }
        Ok(kind.unwrap_or(looks_like_set))
    }

    pub(crate) fn location_record(&mut self) -> Result<LocId> {
        self.lexer.peek();
        let at = self.lexer.pos();
        let id = self.module.add_loc(MemoryLocation::default());
        self.current_location = Some(id);
        let mut location: MemoryLocation = self.record("an object: a memory location")?;
        self.current_location = None;
        location.set = self.current_set;
        // Where references may be wrong, so may this: rule MEM-05 tells of it.
        let refuses = self.options.unresolved == Unresolved::Refuse;
        if refuses && location.pack_id_hint != -1 && location.r#type != MemoryType::PSUM {
            let name = self.module.str(location.name);
            return Err(ReadErrorKind::Invalid(format!("{name}: PackIdHint only applies to PSUM.")).at(at));
        }
        let name = location.name;
        self.module[id] = location;
        if !self.locations.insert(name, id) {
            // The name scope is the set; a name that repeats in the function resolves to its first object.
            let first = self.locations.get(name).expect("it was there");
            if self.module[first].set == self.current_set {
                self.collision("memory location", name, at);
            }
        }
        Ok(id)
    }

    pub(super) fn collision(&mut self, what: &str, name: Sym, at: usize) {
        let name = self.module.str(name).to_owned();
        self.oddity(OddityKind::NameCollision, at, || format!("another {what} is called `{name}`"));
    }

    /// The list of aliases of the location that is read; resolved at the end of the function.
    pub(crate) fn aliases(&mut self) -> Result<()> {
        let source = self.current_location.expect("only locations have the key");
        self.each_element("an array ('alias' must be a JSON array)", |r| {
            let alias = r.alias(source)?;
            r.aliases.push(alias);
            Ok(())
        })
    }

    fn alias(&mut self, source: LocId) -> Result<RawAlias> {
        self.lexer.peek();
        let offset = self.lexer.pos();
        let mut names = Vec::new();
        let mut kind = None;
        self.each_element("an alias: [set, location, kind]", |r| {
            match r.lexer.peek() {
                b'"' if names.len() < 2 && kind.is_none() => names.push(r.get()?),
                b't' | b'f' if kind.is_none() => kind = Some(u8::from(r.get::<bool>()?)),
                _ if kind.is_none() => kind = Some(r.get()?),
                _ => return r.lexer.wrong_type("the end of the alias"),
            }
            Ok(())
        })?;
        let kind = match kind {
            Some(kind) if kind < 8 => kind,
            _ => {
                return Err(ReadErrorKind::OutOfRange { expected: "the kind of an alias, 0 to 7" }.at(offset));
            }
        };
        let (set, location) = match names[..] {
            [set, location] => (Some(set), location),
            [location] => (None, location),
            _ => return Err(ReadErrorKind::MissingKey("location of an alias").at(offset)),
        };
        Ok(RawAlias { source, set, location, kind, offset })
    }

    /// Adds the aliases of a function on both ends. spec: bir-json 5.4
    fn link_aliases(&mut self, function: FuncId) -> Result<()> {
        self.adopt_old_aliases(function)?;
        let mut links = Links::default();
        // Of several locations with one name, in sets of one name, the first is meant.
        let mut by_name: HashMap<(Sym, Sym), LocId> = HashMap::new();
        if !self.aliases.is_empty() {
            for set in self.module.sets_of(function) {
                for location in &self.module[set].memorylocations {
                    let names = (self.module[set].name, self.module[location].name);
                    by_name.entry(names).or_insert(location);
                }
            }
        }
        let mut kept: HashSet<LocId> = HashSet::new();
        for alias in std::mem::take(&mut self.aliases) {
            let found = match alias.set {
                None => self.locations.get(alias.location),
                Some(set) => by_name.get(&(set, alias.location)).copied(),
            };
            let Some(target) = found else {
                let name = self.module.str(alias.location).to_owned();
                self.unresolved("memory location", "Unknown alias destination", name, alias.offset)?;
                self.keep_alias(&alias);
                kept.insert(alias.source);
                continue;
            };
            let dram = |id: LocId| self.module[id].r#type == MemoryType::DRAM;
            if !dram(alias.source) || !dram(target) {
                let name = |id: LocId| self.module.str(self.module[id].name);
                let (from, to) = (name(alias.source), name(target));
                let text = format!("{from} -> {to}. Aliasing only permitted for DRAM locations.");
                if self.options.unresolved == Unresolved::Refuse {
                    return Err(ReadErrorKind::Invalid(text).at(alias.offset));
                }
                self.oddity(OddityKind::BadAlias, alias.offset, || text);
            }
            links.add(alias.source, target, alias.kind);
        }
        // An alias has nothing but names. Where a later location has the name of an earlier one, what is written of
        // it means the earlier one, so that one has the alias too.
        let mut again = true;
        while std::mem::take(&mut again) {
            for at in 0..links.order.len() {
                let (from, to) = links.order[at];
                let names = (self.module[self.module[to].set].name, self.module[to].name);
                let first = by_name.get(&names).filter(|first| **first != to);
                again |= first.is_some_and(|first| links.add(from, *first, links.masks[&(from, to)]));
            }
        }
        for (from, to) in links.order {
            self.module[from].alias.push(AliasEdge { to, kind: links.masks[&(from, to)] });
        }
        for source in kept {
            self.complete_kept_aliases(source);
        }
        Ok(())
    }

    /// An alias that cannot be resolved stays in the document as it was read.
    fn keep_alias(&mut self, alias: &RawAlias) {
        let name = |sym| Value::from(self.module.str(sym));
        let mut entry: Vec<Value> = alias.set.map(name).into_iter().collect();
        entry.push(name(alias.location));
        entry.push(Value::Uint(alias.kind.into()));
        let extra = &mut self.module[alias.source].extra;
        let mut list = match extra.remove("alias") {
            Some(Value::List(list)) => list,
            _ => Vec::new(),
        };
        list.push(Value::List(entry));
        extra.insert("alias", Value::List(list));
    }

    /// The list that is kept is written in place of the aliases that were resolved, so it holds those too.
    fn complete_kept_aliases(&mut self, source: LocId) {
        let module = &self.module;
        let entry = |edge: &AliasEdge| {
            let location = &module[edge.to];
            let names = [module[location.set].name, location.name].map(|name| Value::from(module.str(name)));
            Value::List(names.into_iter().chain([Value::Uint(edge.kind.into())]).collect())
        };
        let mut entries: Vec<Value> = module[source].alias.iter().map(entry).collect();
        if let Some(Value::List(unresolved)) = self.module[source].extra.remove("alias") {
            entries.extend(unresolved);
        }
        entries.sort_by_cached_key(crate::value::value_to_string);
        self.module[source].extra.insert("alias", Value::List(entries));
    }

    /// The location-keyed form: a set without placements that is called like a location. spec: bir-json 5.4
    fn adopt_old_aliases(&mut self, function: FuncId) -> Result<()> {
        let sets: Vec<SetId> = self.module.sets_of(function).collect();
        for id in sets {
            let set = &self.module[id];
            if !set.memorylocations.is_empty() || set.extra.is_empty() {
                continue;
            }
            let Some(source) = self.locations.get(set.name) else { continue };
            let Some(Value::List(entries)) = set.extra.members().get("alias") else { continue };
            let entry = |entry: &Value| match entry.as_list()? {
                [Value::Str(name), kind] => {
                    let kind = match kind {
                        Value::Bool(kind) => u8::from(*kind),
                        _ => u8::try_from(kind.as_i64()?).ok().filter(|kind| *kind < 8)?,
                    };
                    Some((name.clone(), kind))
                }
                _ => None,
            };
            let Some(entries) = entries.iter().map(entry).collect::<Option<Vec<_>>>() else { continue };
            self.module[id].extra.remove("alias");
            for (name, kind) in entries {
                let location = self.intern(&name)?;
                self.aliases.push(RawAlias { source, set: None, location, kind, offset: self.lexer.pos() });
            }
        }
        Ok(())
    }

    /// Numbers as objects with the member `value`. spec: bir-json 8.2
    pub(crate) fn value_objects(&mut self) -> Result<Vec<ImmNumber>> {
        let mut list = Vec::new();
        self.each_element("an array of objects {value}", |r| {
            if r.lexer.peek() != b'{' {
                list.push(r.get()?);
                return Ok(());
            }
            let at = r.lexer.pos();
            let mut value = None;
            r.each_member(|r, key, at| match &*key {
                "value" => {
                    r.again |= value.is_some();
                    value = Some(r.get()?);
                    Ok(true)
                }
                _ => Err(ReadErrorKind::UnknownName { what: "member of a value", name: key.into() }.at(at)),
            })?;
            list.push(value.ok_or_else(|| ReadErrorKind::MissingKey("value").at(at))?);
            Ok(())
        })?;
        Ok(list)
    }

    /// An array of names, or the object of truth values that older documents have. spec: bir-json 4.1
    pub(crate) fn function_attributes(&mut self) -> Result<Vec<Sym>> {
        if self.lexer.peek() != b'{' {
            return self.get();
        }
        let at = self.lexer.pos();
        let mut set = Vec::new();
        let mut seen = HashSet::new();
        self.each_member(|r, key, _| {
            let name = r.intern(&key)?;
            r.again |= !seen.insert(name);
            if r.get()? {
                set.push(name);
            }
            Ok(true)
        })?;
        self.oddity(OddityKind::LegacyForm, at, || "function attributes as an object".into());
        Ok(set)
    }

    /// Call bindings: an object, or an array of pairs. spec: bir-json 3.3
    pub(crate) fn call_bindings(&mut self) -> Result<Vec<CallBinding>> {
        let mut bindings: Vec<CallBinding> = Vec::new();
        // A call that stands twice has the last list.
        let mut index: HashMap<Sym, usize> = HashMap::new();
        let mut repeated = false;
        let mut add = |call: Sym, locations: Vec<Sym>| {
            let locations = locations.into_iter().map(Ref::named).collect();
            let at = *index.entry(call).or_insert(bindings.len());
            repeated |= at < bindings.len();
            match bindings.get_mut(at) {
                Some(binding) => binding.locations = locations,
                None => bindings.push(CallBinding { call: Ref::named(call), locations }),
            }
        };
        match self.lexer.peek() {
            b'{' => self.each_member(|r, key, _| {
                let call = r.intern(&key)?;
                add(call, r.get()?);
                Ok(true)
            })?,
            b'[' => self.each_element("an array of pairs", |r| {
                r.lexer.peek();
                let at = r.lexer.pos();
                let mut call = None;
                let mut locations = None;
                r.each_element("a pair [call, [locations]]", |r| {
                    match (call, &locations) {
                        (None, _) => call = Some(r.get()?),
                        (_, None) => locations = Some(r.get()?),
                        _ => return r.lexer.wrong_type("the end of the pair"),
                    }
                    Ok(())
                })?;
                match (call, locations) {
                    (Some(call), Some(locations)) => add(call, locations),
                    _ => return Err(ReadErrorKind::MissingKey("locations of a call").at(at)),
                }
                Ok(())
            })?,
            _ => return self.lexer.wrong_type("an object of lists of names, or an array of pairs"),
        }
        self.again |= repeated;
        Ok(bindings)
    }

    /// Reports a name that nothing has, or refuses the document for it.
    pub(super) fn unresolved(
        &mut self,
        what: &'static str,
        vendor: &'static str,
        name: String,
        offset: usize,
    ) -> Result<()> {
        if self.options.unresolved == Unresolved::Refuse {
            return Err(ReadErrorKind::Unresolved { what, vendor, name }.at(offset));
        }
        self.oddity(OddityKind::Unresolved, offset, || format!("{vendor} (no {what} is called `{name}`)"));
        Ok(())
    }
}
