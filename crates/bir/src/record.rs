//! What the generated structs have in common: presence bits, field descriptions, and reflection over fields.

use smallvec::SmallVec;

use crate::access::{AccessPattern, Shape};
use crate::argument::ImmNumber;
use crate::expr::MaybeAffine;
use crate::ids::{BlockId, ExprId, FuncId, InstId, LocId, QueueId, Ref, RegId, SetId, Target};
use crate::module::{CallBinding, NkiFunctions};
use crate::names::Sym;
use crate::part::Renumbering;
use crate::storage::{AliasEdge, Storage};
use crate::value::{Extra, Members, Value};

/// When a writer puts a key. spec: opcodes 1.2
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Always.
    Always,
    /// When the value differs from the default.
    SkipIfDefault,
    /// When the reference is set.
    SkipIfNull,
    /// When the list or text is not empty.
    SkipIfEmpty,
    /// When the input had the key, or a builder set it.
    IfPresent,
    /// When the input had the key, or the value differs from the default.
    PresentOrNondefault,
}

/// Description of one key of a record or an op, from the tables.
#[derive(Debug)]
pub struct FieldSpec {
    /// The key in JSON.
    pub key: &'static str,
    /// Type word of spec: opcodes 1.1.
    pub ty: &'static str,
    /// When the key is written.
    pub gate: Gate,
    /// Whether an absent key is an error in strict reading.
    pub required: bool,
    /// Whether null silently means absent; elsewhere it is reported.
    pub null_ok: bool,
    /// Confidence letter: C confirmed, S strong, I inferred, U unknown.
    pub conf: char,
}

/// Which keys of a record stood in the input, for the keys whose writing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Presence(u32);

impl Presence {
    /// No key.
    pub const NONE: Presence = Presence(0);

    /// One key.
    pub const fn bit(index: u32) -> Presence {
        Presence(1 << index)
    }

    /// Whether all keys of `keys` are here.
    pub fn has(self, keys: Presence) -> bool {
        self.0 & keys.0 == keys.0
    }

    /// Adds keys.
    pub fn set(&mut self, keys: Presence) {
        self.0 |= keys.0;
    }

    /// Takes keys away.
    pub fn clear(&mut self, keys: Presence) {
        self.0 &= !keys.0;
    }

    /// Both sets of keys.
    pub const fn union(self, other: Presence) -> Presence {
        Presence(self.0 | other.0)
    }
}

/// Reflection over the fields of a record or an op, in the order of the tables.
pub trait Fields {
    /// Name of the record or op.
    fn type_name(&self) -> &'static str;
    /// Descriptions of the fields.
    fn specs(&self) -> &'static [FieldSpec];
    /// Value of the field with that index in [`Fields::specs`].
    fn field(&self, index: usize) -> FieldValue<'_>;
    /// Whether the presence bit of a field is set. Always false for fields without one.
    fn is_present(&self, index: usize) -> bool;
    /// Whether a field holds its default value.
    fn is_default(&self, index: usize) -> bool;
    /// Sets a field back to its default, as if its key were absent.
    fn reset(&mut self, index: usize);
    /// Calls `visit` with the root of every expression in the fields.
    fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId));

    /// Members that the table does not know. `None` for ops, whose instruction keeps them.
    fn unknown_members(&self) -> Option<&Extra>;

    /// Calls `visit` with every field that has a value and is not at its default, or whose gate lets a writer put it,
    /// in the order of the tables; and whether it is at its default. The same as asking [`Fields::is_written`],
    /// [`Fields::field`] and [`Fields::is_default`] of each, but quick.
    fn visit_written(&self, visit: &mut dyn FnMut(&'static FieldSpec, FieldValue<'_>, bool));

    /// Whether the gate of a key lets a writer put it. What has no value is not written all the same.
    fn is_written(&self, index: usize) -> bool {
        match self.specs().get(index).map(|spec| spec.gate) {
            None => false,
            Some(Gate::Always) => true,
            Some(Gate::SkipIfDefault | Gate::SkipIfNull | Gate::SkipIfEmpty) => !self.is_default(index),
            Some(Gate::IfPresent | Gate::PresentOrNondefault) => {
                self.is_present(index) || !self.is_default(index)
            }
        }
    }
}

/// A field's value as reflection shows it.
pub enum FieldValue<'a> {
    /// Nothing is set.
    Unset,
    /// A truth value.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A 32-bit float.
    Float(f32),
    /// A string.
    Text(Sym),
    /// A name of an enum.
    Name(&'static str),
    /// An expression.
    Expr(ExprId),
    /// A list, for example of numbers, or of the step and num of an access pattern.
    List(Vec<FieldValue<'a>>),
    /// Pairs of names.
    Map(&'a [(Sym, Sym)]),
    /// A reference to a queue.
    Queue(Ref<QueueId>),
    /// A reference to a block.
    Block(Ref<BlockId>),
    /// A reference to an instruction.
    Inst(Ref<InstId>),
    /// A reference to a function.
    Func(Ref<FuncId>),
    /// A reference to a memory location.
    Loc(Ref<LocId>),
    /// A reference to a memory-location set.
    Set(Ref<SetId>),
    /// A reference to a register.
    Reg(Ref<RegId>),
    /// Objects of the module's arenas that belong to this record: blocks, instructions, functions, storage.
    Owned(Owned<'a>),
    /// A nested record.
    Record(&'a dyn Fields),
    /// A nested record without reflection: an alias edge, a call binding.
    Opaque,
    /// A free-form value.
    Value(&'a Value),
    /// A free-form map.
    Members(&'a Members),
}

/// Objects that a record owns through ids.
#[derive(Clone, Copy)]
pub enum Owned<'a> {
    /// Blocks of a body.
    Blocks(&'a [BlockId]),
    /// Instructions of a block.
    Insts(&'a [InstId]),
    /// Functions of a module.
    Funcs(&'a [FuncId]),
    /// Queues of a module.
    Queues(&'a [QueueId]),
    /// Placements of a set.
    Locs(&'a [LocId]),
    /// Storage of a function.
    Storage(&'a [Storage]),
    /// The NKI functions of a module.
    Nki(&'a NkiFunctions),
}

/// Visits every reference by name, to resolve or rewrite it.
pub trait RefVisitor {
    /// A reference to a queue.
    fn queue(&mut self, r: &mut Ref<QueueId>);
    /// A reference to a block.
    fn block(&mut self, r: &mut Ref<BlockId>);
    /// A reference to an instruction.
    fn inst(&mut self, r: &mut Ref<InstId>);
    /// A reference to a function.
    fn func(&mut self, r: &mut Ref<FuncId>);
    /// A reference to a memory location.
    fn loc(&mut self, r: &mut Ref<LocId>);
    /// A reference to a memory-location set.
    fn set(&mut self, r: &mut Ref<SetId>);
    /// A reference to a register.
    fn reg(&mut self, r: &mut Ref<RegId>);
    /// An expression, whose nodes may refer to registers.
    fn expr(&mut self, id: ExprId);
}

/// A type that may stand in a field of a generated struct.
pub trait FieldType {
    /// The value for reflection.
    fn as_field(&self) -> FieldValue<'_>;
    /// Visits the references inside.
    fn visit_refs(&mut self, _visitor: &mut dyn RefVisitor) {}
    /// Calls `visit` with the root of every expression inside.
    fn visit_exprs(&self, _visit: &mut dyn FnMut(ExprId)) {}
    /// Gives names and ids of a part the values that they have in the module that takes it.
    fn renumber(&mut self, to: &mut Renumbering);
    /// Whether two values are written alike: zeros have signs here, and NaN is the same as NaN. False also where
    /// that is not certain, as for expressions.
    fn is_same(&self, _other: &Self) -> bool
    where
        Self: Sized,
    {
        false
    }
}

/// Types that are written alike when they are equal.
macro_rules! same_when_equal {
    () => {
        #[inline]
        fn is_same(&self, other: &Self) -> bool {
            self == other
        }
    };
}

/// Types without names and ids.
macro_rules! same_everywhere {
    () => {
        #[inline]
        fn renumber(&mut self, _: &mut $crate::part::Renumbering) {}
    };
}

pub(crate) use same_when_equal;

macro_rules! scalar_fields {
    ($($ty:ty => $value:expr;)*) => {$(
        impl FieldType for $ty {
            same_when_equal!();
            same_everywhere!();
            fn as_field(&self) -> FieldValue<'_> {
                let convert: fn($ty) -> FieldValue<'static> = $value;
                convert(*self)
            }
        }
    )*};
}

scalar_fields! {
    bool => FieldValue::Bool;
    u8 => |v| FieldValue::Uint(v.into());
    u16 => |v| FieldValue::Uint(v.into());
    u32 => |v| FieldValue::Uint(v.into());
    u64 => FieldValue::Uint;
    i32 => |v| FieldValue::Int(v.into());
    i64 => FieldValue::Int;
    AliasEdge => |_| FieldValue::Opaque;
}

impl FieldType for Sym {
    same_when_equal!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Text(*self)
    }
    #[inline]
    fn renumber(&mut self, to: &mut Renumbering) {
        *self = to.name(*self);
    }
}

impl FieldType for f32 {
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Float(*self)
    }
    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl FieldType for ImmNumber {
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        match *self {
            ImmNumber::Unsigned(v) => FieldValue::Uint(v),
            ImmNumber::Signed(v) => FieldValue::Int(v),
            ImmNumber::Float(v) => FieldValue::Float(v),
        }
    }
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (ImmNumber::Float(a), ImmNumber::Float(b)) => a.is_same(b),
            _ => self == other,
        }
    }
}

macro_rules! reference_fields {
    ($($id:ty => $variant:ident, $method:ident, $to:ident;)*) => {$(
        impl FieldType for Ref<$id> {
            same_when_equal!();
            fn as_field(&self) -> FieldValue<'_> {
                FieldValue::$variant(*self)
            }
            fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
                visitor.$method(self);
            }
            #[inline]
            fn renumber(&mut self, to: &mut Renumbering) {
                *self = match self.target() {
                    Target::Found(id) => Ref::to(to.$to(id)),
                    Target::Missing(name) => Ref::named(to.name(name)),
                };
            }
        }
    )*};
}

reference_fields! {
    QueueId => Queue, queue, queue;
    BlockId => Block, block, block;
    InstId => Inst, inst, inst;
    FuncId => Func, func, as_it_is;
    LocId => Loc, loc, as_it_is;
    SetId => Set, set, as_it_is;
    RegId => Reg, reg, as_it_is;
}

impl FieldType for ExprId {
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Expr(*self)
    }
    fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        visitor.expr(*self);
    }
    fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
        visit(*self);
    }
    fn renumber(&mut self, to: &mut Renumbering) {
        *self = to.expr(*self);
    }
}

impl<T: FieldType> FieldType for MaybeAffine<T> {
    fn as_field(&self) -> FieldValue<'_> {
        match self {
            MaybeAffine::Value(value) => value.as_field(),
            MaybeAffine::Expr(id) => FieldValue::Expr(*id),
        }
    }
    fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        if let MaybeAffine::Expr(id) = self {
            visitor.expr(*id);
        }
    }
    fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
        if let MaybeAffine::Expr(id) = self {
            visit(*id);
        }
    }
    #[inline]
    fn renumber(&mut self, to: &mut Renumbering) {
        match self {
            MaybeAffine::Value(value) => value.renumber(to),
            MaybeAffine::Expr(id) => id.renumber(to),
        }
    }
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (MaybeAffine::Value(a), MaybeAffine::Value(b)) => a.is_same(b),
            _ => false,
        }
    }
}

impl<T: FieldType> FieldType for Option<T> {
    fn as_field(&self) -> FieldValue<'_> {
        self.as_ref().map_or(FieldValue::Unset, T::as_field)
    }
    fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        if let Some(value) = self {
            value.visit_refs(visitor);
        }
    }
    fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
        if let Some(value) = self {
            value.visit_exprs(visit);
        }
    }
    #[inline]
    fn renumber(&mut self, to: &mut Renumbering) {
        if let Some(value) = self {
            value.renumber(to);
        }
    }
    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.is_same(b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl<T: FieldType> FieldType for Box<T> {
    fn as_field(&self) -> FieldValue<'_> {
        (**self).as_field()
    }
    fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        (**self).visit_refs(visitor);
    }
    fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
        (**self).visit_exprs(visit);
    }
    fn renumber(&mut self, to: &mut Renumbering) {
        (**self).renumber(to);
    }
    fn is_same(&self, other: &Self) -> bool {
        (**self).is_same(other)
    }
}

/// A list that nearly always has one element, which lies in the record itself.
pub type Few<T> = SmallVec<[T; 1]>;

macro_rules! list_fields {
    ($($list:ty)*) => {$(
        impl<T: FieldType> FieldType for $list {
            fn as_field(&self) -> FieldValue<'_> {
                FieldValue::List(self.iter().map(T::as_field).collect())
            }
            fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
                self.iter_mut().for_each(|item| item.visit_refs(visitor));
            }
            fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
                self.iter().for_each(|item| item.visit_exprs(visit));
            }
            fn renumber(&mut self, to: &mut Renumbering) {
                self.iter_mut().for_each(|item| item.renumber(to));
            }
            fn is_same(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.is_same(b))
            }
        }
    )*};
}
list_fields! { Vec<T> Few<T> [T; 2] }

impl FieldType for AccessPattern {
    same_when_equal!();
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        let pair = |p: crate::access::ApPair| {
            FieldValue::List(vec![FieldValue::Int(p.step), FieldValue::Int(p.num)])
        };
        FieldValue::List(self.iter().map(pair).collect())
    }
}

impl FieldType for Shape {
    same_when_equal!();
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::List(self.iter().map(FieldValue::Uint).collect())
    }
}

/// Pairs of names: callee to caller, or tensor to tensor. spec: opcodes 4
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArgumentMap(pub Vec<(Sym, Sym)>);

impl ArgumentMap {
    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FieldType for ArgumentMap {
    same_when_equal!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Map(&self.0)
    }
    fn renumber(&mut self, to: &mut Renumbering) {
        for (key, value) in &mut self.0 {
            key.renumber(to);
            value.renumber(to);
        }
    }
}

impl FieldType for Value {
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Value(self)
    }
}

impl FieldType for Members {
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Members(self)
    }
    fn is_same(&self, other: &Self) -> bool {
        self.is_empty() && other.is_empty()
    }
}

impl FieldType for NkiFunctions {
    same_everywhere!();
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Owned(Owned::Nki(self))
    }
}

impl FieldType for CallBinding {
    fn as_field(&self) -> FieldValue<'_> {
        FieldValue::Opaque
    }
    fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        visitor.inst(&mut self.call);
        self.locations.iter_mut().for_each(|r| visitor.loc(r));
    }
    fn renumber(&mut self, to: &mut Renumbering) {
        self.call.renumber(to);
        self.locations.iter_mut().for_each(|r| r.renumber(to));
    }
}

macro_rules! owned_fields {
    ($($item:ty => $variant:ident, $to:ident;)*) => {$(
        impl FieldType for OwnedList<$item> {
            fn as_field(&self) -> FieldValue<'_> {
                FieldValue::Owned(Owned::$variant(&self.0))
            }
            fn renumber(&mut self, to: &mut Renumbering) {
                self.0.iter_mut().for_each(|id| *id = to.$to(*id));
            }
        }
    )*};
}

/// A list of objects that live in the module's arenas and belong to one record: it is read and written as the
/// objects themselves, unlike a list of references.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnedList<T>(pub Vec<T>);

impl<T> Default for OwnedList<T> {
    fn default() -> Self {
        OwnedList(Vec::new())
    }
}

impl<T> std::ops::Deref for OwnedList<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> std::ops::DerefMut for OwnedList<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<'a, T: Copy> IntoIterator for &'a OwnedList<T> {
    type Item = T;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, T>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

owned_fields! {
    BlockId => Blocks, block;
    InstId => Insts, inst;
    FuncId => Funcs, as_it_is;
    QueueId => Queues, queue;
    LocId => Locs, as_it_is;
    Storage => Storage, as_it_is;
}

/// Declares a generated struct: its fields with type, default and description, its presence bits, and whether
/// it keeps unknown members of its own.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$fdoc:meta])* $field:ident: $ty:ty = $default:expr, $spec:tt $(present $bit:ident $at:literal)?;)*
        }
        links { $($(#[$ldoc:meta])* $link:ident: $lty:ty = $ldefault:expr;)* }
        starts_present { $($start:ident)* }
        $(extra $extra:ident)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $ty,)*
            $($(#[$ldoc])* pub $link: $lty,)*
            /// Which of the keys below were in the input.
            pub present: Presence,
            $(
                /// Members that the table does not know.
                pub $extra: Extra,
            )?
        }

        impl $name {
            $($(
                #[doc = concat!("Presence bit of `", stringify!($field), "`.")]
                pub const $bit: Presence = Presence::bit($at);
            )?)*

            /// Descriptions of the keys, in the order of the tables.
            pub const FIELDS: &'static [FieldSpec] = &[$(field_spec!($spec)),*];
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $default,)*
                    $($link: $ldefault,)*
                    present: Presence::NONE$(.union(Self::$start))*,
                    $($extra: Extra::default(),)?
                }
            }
        }

        impl Fields for $name {
            fn type_name(&self) -> &'static str {
                stringify!($name)
            }
            fn specs(&self) -> &'static [FieldSpec] {
                Self::FIELDS
            }
            fn field(&self, index: usize) -> FieldValue<'_> {
                let fields: &[&dyn FieldType] = &[$(&self.$field),*];
                fields.get(index).map_or(FieldValue::Unset, |field| field.as_field())
            }
            fn is_present(&self, index: usize) -> bool {
                let bits: &[Presence] = &[$(presence_bit!($($bit)?)),*];
                bits.get(index).is_some_and(|bit| *bit != Presence::NONE && self.present.has(*bit))
            }
            fn is_default(&self, index: usize) -> bool {
                let mut at = 0;
                $(
                    if at == index {
                        let default: $ty = $default;
                        return self.$field == default;
                    }
                    at += 1;
                )*
                let _ = at;
                true
            }
            fn unknown_members(&self) -> Option<&$crate::value::Extra> {
                let none = None;
                $(let none = none.or(Some(&self.$extra));)?
                none
            }
            fn visit_exprs(&self, _visit: &mut dyn FnMut(ExprId)) {
                $(FieldType::visit_exprs(&self.$field, _visit);)*
            }
            fn visit_written(&self, _visit: &mut dyn FnMut(&'static FieldSpec, FieldValue<'_>, bool)) {
                let mut specs = Self::FIELDS.iter();
                $({
                    let default: $ty = $default;
                    let bit: Presence = presence_bit!($($bit)?);
                    let present = bit != Presence::NONE && self.present.has(bit);
                    let is_default = self.$field == default;
                    if let Some(spec) = specs.next()
                        && (present && matches!(spec.gate, Gate::IfPresent | Gate::PresentOrNondefault)
                            || spec.gate == Gate::Always
                            || !is_default)
                    {
                        match self.$field.as_field() {
                            FieldValue::Unset => {}
                            value => _visit(spec, value, is_default),
                        }
                    }
                })*
                let _ = specs.next();
            }
            fn reset(&mut self, index: usize) {
                let bits: &[Presence] = &[$(presence_bit!($($bit)?)),*];
                let mut at = 0;
                $(
                    if at == index {
                        self.$field = $default;
                        self.present.clear(bits[index]);
                    }
                    at += 1;
                )*
                let _ = at;
            }
        }

        impl FieldType for $name {
            fn as_field(&self) -> FieldValue<'_> {
                FieldValue::Record(self)
            }
            fn visit_refs(&mut self, _visitor: &mut dyn RefVisitor) {
                $(self.$field.visit_refs(_visitor);)*
            }
            fn visit_exprs(&self, visit: &mut dyn FnMut(ExprId)) {
                Fields::visit_exprs(self, visit);
            }
            fn renumber(&mut self, _to: &mut Renumbering) {
                $(self.$field.renumber(_to);)*
            }
            fn is_same(&self, _other: &Self) -> bool {
                self.present == _other.present
                    $(&& self.$field.is_same(&_other.$field))*
                    $(&& self.$link == _other.$link)*
                    $(&& self.$extra.is_empty() && _other.$extra.is_empty())?
            }
        }
    };
}

macro_rules! presence_bit {
    () => {
        Presence::NONE
    };
    ($bit:ident) => {
        Self::$bit
    };
}

/// `("key" "type" gate load null conf)` as a [`FieldSpec`].
macro_rules! field_spec {
    (($key:literal $ty:literal $gate:ident $required:literal $null_ok:literal $conf:literal)) => {
        FieldSpec {
            key: $key,
            ty: $ty,
            gate: Gate::$gate,
            required: $required,
            null_ok: $null_ok,
            conf: $conf,
        }
    };
}

/// Conversions from the structs of ops to [`Op`](crate::Op).
macro_rules! op_from {
    (inline { $($inline:ident)* } boxed { $($boxed:ident)* }) => {
        $(
            impl From<$inline> for Op {
                fn from(op: $inline) -> Op {
                    Op::$inline(op)
                }
            }
        )*
        $(
            impl From<$boxed> for Op {
                fn from(op: $boxed) -> Op {
                    Op::$boxed(Box::new(op))
                }
            }
        )*
    };
}

pub(crate) use {field_spec, op_from, presence_bit, record};
