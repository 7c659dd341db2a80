//! How each type of the tables is written.

use bir::access::{AccessPattern, Shape};
use bir::expr::MaybeAffine;
use bir::ids::{BlockId, ExprId, FuncId, Id, InstId, LocId, QueueId, Ref, RegId, SetId};
use bir::record::{ArgumentMap, Few, OwnedList};
use bir::{
    AliasEdge, Argument, CallBinding, EmptyHolder, ImmNumber, Members, Module, NameOf, NkiFunctions,
    OpenEnum, Storage, Sym, Value,
};

use super::parallel::Weight;
use super::{Object, Writer, key};
use crate::value::write_value;

/// A type that a member may have.
pub(crate) trait Write {
    fn write<'a>(&'a self, w: &mut Writer<'a, '_>);
}

/// A record: its known members in ascending order of their keys, and its unknown ones.
pub(crate) trait WriteRecord {
    fn put_members<'a>(&'a self, object: &mut Object<'a, '_, '_>);
    fn extra(&self) -> &bir::Extra;
}

impl<'a> Writer<'a, '_> {
    pub(crate) fn object<T: WriteRecord>(&mut self, record: &'a T) {
        self.object_with(record.extra(), |object| record.put_members(object));
    }

    #[inline]
    pub(crate) fn sym(&mut self, sym: Sym) {
        self.out.string(self.module.str(sym));
    }

    #[inline]
    pub(crate) fn open_enum<E: OpenEnum>(&mut self, value: E) {
        match value.name() {
            Ok(name) => self.out.plain_string(name),
            Err(other) => self.sym(other),
        }
    }

    /// A float. What is not finite is one of three strings. spec: bir-json 9.4
    pub(crate) fn f32(&mut self, value: f32) {
        if value.is_finite() {
            self.out.float(f64::from(value));
        } else if value.is_nan() {
            self.out.plain_string("nan");
        } else {
            self.out.plain_string(if value > 0.0 { "inf" } else { "-inf" });
        }
    }

    fn owned<T: Weight>(&mut self, list: &'a [T], item: impl for<'w> Fn(&mut Writer<'a, 'w>, T) + Sync) {
        self.out.open(b'[');
        if !self.shared(list, &item) {
            self.elements(list, 0..list.len(), &item);
        }
        self.out.close(b']', list.is_empty());
    }

    /// Functions and blocks: what is called `main` first. spec: bir-json 2.3
    fn main_first<T: Id + Weight>(
        &mut self,
        list: &'a [T],
        item: impl for<'w> Fn(&mut Writer<'a, 'w>, T) + Sync,
    ) where
        Module: NameOf<T>,
    {
        let main = self.module.names.get("main");
        let is_main = |id: &T| main.is_some() && Some(self.module.name_of(*id)) == main;
        if list.iter().skip(1).any(is_main) {
            let ordered = self.module.main_first(list, |module, id| module.name_of(id));
            self.out.open(b'[');
            for (i, id) in ordered.into_iter().enumerate() {
                self.out.separate(i == 0);
                item(self, id);
            }
            self.out.close(b']', false);
        } else {
            self.owned(list, item);
        }
    }
}

macro_rules! write_as {
    ($($ty:ty: $w:ident, $self:ident => $body:expr;)*) => {$(
        impl Write for $ty {
            #[inline]
            fn write<'a>(&'a self, $w: &mut Writer<'a, '_>) {
                let $self = self;
                $body
            }
        }
    )*};
}

write_as! {
    bool: w, v => w.out.raw(if *v { b"true" } else { b"false" });
    u8: w, v => w.out.unsigned(u64::from(*v));
    u16: w, v => w.out.unsigned(u64::from(*v));
    u32: w, v => w.out.unsigned(u64::from(*v));
    u64: w, v => w.out.unsigned(*v);
    i32: w, v => w.out.signed(i64::from(*v));
    i64: w, v => w.out.signed(*v);
    f32: w, v => w.f32(*v);
    Sym: w, v => w.sym(*v);
    Value: w, v => write_value(&mut w.out, v);
    Members: w, v => w.members(v);
    ExprId: w, v => w.expr(*v);
    ImmNumber: w, v => match v {
        ImmNumber::Unsigned(v) => w.out.unsigned(*v),
        ImmNumber::Signed(v) => w.out.signed(*v),
        ImmNumber::Float(v) => w.f32(*v),
    };
    AccessPattern: w, v => w.out.pairs(v.iter().map(|pair| (pair.step, pair.num)));
    Shape: w, v => w.out.numbers(v.iter());
    Argument: w, v => match v {
        Argument::PhysicalAp(arg) => w.shared_value(arg, |w, arg| w.object(arg)),
        Argument::SymbolicAp(arg) => w.object(&**arg),
        Argument::RegisterAp(arg) => w.object(&**arg),
        Argument::ImmValue(arg) => w.shared_value(arg, |w, arg| w.object(arg)),
        Argument::SymbolicImmValue(arg) => w.object(&**arg),
        Argument::ImmArray(arg) => w.object(&**arg),
        Argument::RegisterAccess(arg) => w.object(&**arg),
    };
    OwnedList<FuncId>: w, v => w.main_first(v, |w, id| w.object(&w.module[id]));
    OwnedList<BlockId>: w, v => w.main_first(v, |w, id| w.object(&w.module[id]));
    OwnedList<QueueId>: w, v => w.owned(v, |w, id| w.object(&w.module[id]));
    OwnedList<InstId>: w, v => w.owned(v, |w, id| w.instruction(&w.module[id]));
    OwnedList<LocId>: w, v => w.owned(v, |w, id| w.object(&w.module[id]));
    OwnedList<Storage>: w, v => w.owned(v, |w, storage| match storage {
        Storage::Set(id) => w.object(&w.module[id]),
        Storage::Register(id) => w.object(&w.module[id]),
    });
    NkiFunctions: w, v => match v.empty {
        _ if !v.functions.is_empty() => w.nki(&v.functions),
        EmptyHolder::Null => w.out.raw(b"null"),
        EmptyHolder::List => w.out.raw(b"[]"),
        EmptyHolder::Object => w.out.raw(b"{}"),
        EmptyHolder::Functions => w.nki(&v.functions),
    };
    ArgumentMap: w, v => {
        // Written as an object, so sorted by key. spec: opcodes 9
        let mut pairs: Vec<(&str, &str)> = v.0.iter().map(|(k, v)| (w.module.str(*k), w.module.str(*v))).collect();
        pairs.sort_unstable();
        w.out.open(b'{');
        for (i, (key, value)) in pairs.iter().enumerate() {
            w.out.separate(i == 0);
            w.out.string(key);
            w.out.colon();
            w.out.string(value);
        }
        w.out.close(b'}', pairs.is_empty());
    };
}

impl<'a> Writer<'a, '_> {
    fn nki(&mut self, functions: &'a OwnedList<FuncId>) {
        self.out.open(b'{');
        self.out.separate(true);
        self.out.key(key!("functions"));
        functions.write(self);
        self.out.close(b'}', false);
    }

    /// Aliases in the set-keyed form, sorted by set and location. spec: bir-json 5.4
    pub(crate) fn aliases(&mut self, edges: &'a [AliasEdge]) {
        let mut entries: Vec<(&str, &str, u8)> = edges
            .iter()
            .map(|edge| {
                let location = &self.module[edge.to];
                let set = self.module.str(self.module[location.set].name);
                (set, self.module.str(location.name), edge.kind)
            })
            .collect();
        entries.sort_unstable();
        // Locations of one name in one set are one to a reader.
        entries.dedup_by(|(set, name, kind), first| {
            let same = (*set, *name) == (first.0, first.1);
            first.2 |= if same { *kind } else { 0 };
            same
        });
        self.out.array(entries.into_iter(), |out, (set, location, kind)| {
            out.open(b'[');
            out.separate(true);
            out.string(set);
            out.separate(false);
            out.string(location);
            out.separate(false);
            out.unsigned(kind.into());
            out.close(b']', false);
        });
    }

    /// Numbers as objects with the member `value`.
    pub(crate) fn value_objects(&mut self, list: &'a [ImmNumber]) {
        self.array(list, |w, number| {
            w.out.open(b'{');
            w.out.separate(true);
            w.out.key(key!("value"));
            number.write(w);
            w.out.close(b'}', false);
        });
    }

    /// Call bindings as an object, sorted by call. spec: bir-json 3.3
    pub(crate) fn call_bindings(&mut self, bindings: &'a [CallBinding]) {
        let mut bindings: Vec<_> =
            bindings.iter().map(|b| (self.module.str(self.module.ref_name(b.call)), b)).collect();
        bindings.sort_by_key(|(call, _)| *call);
        self.out.open(b'{');
        for (i, (call, binding)) in bindings.iter().enumerate() {
            self.out.separate(i == 0);
            self.out.string(call);
            self.out.colon();
            self.array(&binding.locations, |w, location| location.write(w));
        }
        self.out.close(b'}', bindings.is_empty());
    }
}

impl<T: Write> Write for MaybeAffine<T> {
    #[inline]
    fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
        match self {
            MaybeAffine::Value(value) => value.write(w),
            MaybeAffine::Expr(id) => w.expr(*id),
        }
    }
}

impl<T: Write> Write for Box<T> {
    #[inline]
    fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
        (**self).write(w);
    }
}

macro_rules! write_lists {
    ($($list:ty)*) => {$(
        impl<T: Write> Write for $list {
            fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
                w.array(self, |w, item| item.write(w));
            }
        }
    )*};
}
write_lists! { Box<[T]> Vec<T> Few<T> [T; 2] }

macro_rules! write_refs {
    ($($id:ty),*) => {$(
        impl Write for Ref<$id> {
            #[inline]
            fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
                w.sym(w.module.ref_name(*self));
            }
        }
    )*};
}
write_refs!(QueueId, BlockId, InstId, FuncId, LocId, SetId, RegId);

macro_rules! write_enums {
    ($($name:ident)*) => {$(
        impl Write for bir::enums::$name {
            #[inline]
            fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
                w.open_enum(*self);
            }
        }
    )*};
}
crate::generated::for_each_enum!(write_enums);

macro_rules! write_records {
    ($($name:ident)*) => {$(
        impl Write for bir::records::$name {
            fn write<'a>(&'a self, w: &mut Writer<'a, '_>) {
                w.object(self);
            }
        }
    )*};
}
crate::generated::for_each_record!(write_records);
