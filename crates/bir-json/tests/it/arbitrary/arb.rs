//! Values of every type that a field may have.

use bir::access::{AccessPattern, ApPair, Shape};
use bir::enums::Dtype;
use bir::expr::{AffineTerm, Expr, MaybeAffine};
use bir::ids::{BlockId, ExprId, FuncId, InstId, LocId, QueueId, Ref, RegId, SetId};
use bir::record::ArgumentMap;
use bir::records::{
    ImmArray, ImmValue, PhysicalAp, RegisterAccess, RegisterAp, SymbolicAp, SymbolicImmValue,
};
use bir::{Argument, Extra, ImmNumber, Members, Module, OpenEnum, Sym, Value};

/// What names may be: everything that JSON has to escape, that sorts oddly, or that looks like something else.
const TEXTS: &[&str] = &[
    "a",
    "",
    "main",
    "with blank",
    "\"quoted\"",
    "back\\slash/",
    "line\nfeed\r\ttab",
    "\u{0}\u{1}\u{1f}\u{7f}",
    "\u{80}é",
    "日本語",
    "🦀\u{10ffff}",
    "\u{2028}\u{fffd}\u{feff}",
    "null",
    "-1.5e3",
    "[{",
    "\u{8}\u{c}",
    "a name that is longer than what is stored inline anywhere: \
     0123456789 0123456789 0123456789 0123456789 0123456789 0123456789",
];

/// Keys that no record has.
const KEYS: &[&str] = &["zz", "", "a", "ключ", "A", "\u{0}", "x\"y\\", "~", "_", "ab"];

/// Contents from bytes, in a module whose objects exist.
pub struct World {
    pub module: Module,
    pub scope: Scope,
    /// Whether names that nothing has may be referred to.
    pub missing: bool,
    /// Whether expressions keep to what version 1 can say.
    pub only_v1: bool,
    bytes: Vec<u8>,
    at: usize,
}

/// What may be referred to.
#[derive(Default, Clone)]
pub struct Scope {
    pub queues: Vec<QueueId>,
    pub blocks: Vec<BlockId>,
    pub insts: Vec<InstId>,
    pub functions: Vec<FuncId>,
    pub locations: Vec<LocId>,
    pub sets: Vec<SetId>,
    pub registers: Vec<RegId>,
}

impl World {
    pub fn new(module: Module, missing: bool, only_v1: bool) -> World {
        World { module, scope: Scope::default(), missing, only_v1, bytes: Vec::new(), at: 0 }
    }

    /// Goes on with other bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        (self.bytes, self.at) = (bytes.to_vec(), 0);
    }

    pub fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    /// True once in `times`, never for a byte of zero.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.below(list.len())])
    }

    pub fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }

    pub fn number(&mut self) -> u64 {
        let byte = self.byte();
        let low = u64::from(byte >> 3);
        match byte & 7 {
            0 => low,
            1 => 1 << (low & 63),
            2 => (1 << (low & 63)) - 1,
            3 => 1 << 31 | low,
            4 => u64::MAX - low,
            5 => i64::MAX as u64 - low,
            6 => u64::from(u32::MAX) - low,
            _ => (0..8).fold(0, |n, _| n << 8 | u64::from(self.byte())),
        }
    }

    fn double(&mut self) -> f64 {
        const SPECIAL: [f64; 8] = [0.5, -0.0, 1.0, 1e300, 5e-324, -1.0e21, 0.1, 123456.75];
        match self.byte() {
            byte if byte < 128 => SPECIAL[usize::from(byte) % 8],
            _ => {
                let number = f64::from_bits(self.number());
                if number.is_finite() { number } else { 1.5 }
            }
        }
    }

    /// A free-form value that is not null.
    pub fn some_value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Bool(self.once_in(2)),
            1 => Value::Uint(self.number()),
            2 => Value::Int(-1 - (self.number() >> 1) as i64),
            3 => Value::Float(self.double()),
            4 => Value::from(self.text()),
            5 => Value::List((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => Value::Object(self.members(depth - 1)),
        }
    }

    pub fn value(&mut self, depth: usize) -> Value {
        if self.once_in(7) { Value::Null } else { self.some_value(depth) }
    }

    pub fn members(&mut self, depth: usize) -> Members {
        (0..self.below(4)).map(|_| (KEYS[self.below(KEYS.len())].into(), self.value(depth))).collect()
    }

    /// Unknown members: usually none.
    pub fn extra(&mut self) -> Extra {
        let mut extra = Extra::default();
        if self.once_in(6) {
            for (key, value) in &self.members(2) {
                extra.insert(key, value.clone());
            }
        }
        extra
    }

    fn missing_name<T: bir::ids::Id>(&mut self) -> Option<Ref<T>> {
        if !self.missing || !self.once_in(4) {
            return None;
        }
        let name = format!("nothing is called {}", self.text());
        Some(Ref::named(self.module.names.intern(&name)))
    }
}

/// A type of which there are arbitrary values.
pub trait Arb: Sized {
    fn arb(w: &mut World) -> Self;
    /// A value, when there is one: a reference needs an object, and null is none.
    fn maybe(w: &mut World) -> Option<Self> {
        Some(Self::arb(w))
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Arb for $ty {
            fn arb(w: &mut World) -> Self {
                w.number() as $ty
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 i32 i64);

impl Arb for bool {
    fn arb(w: &mut World) -> Self {
        w.once_in(2)
    }
}

impl Arb for f32 {
    fn arb(w: &mut World) -> Self {
        const SPECIAL: [f32; 11] = [
            0.0,
            1.0,
            -0.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.1,
            f32::MAX,
            1e-45,
            -3.25,
            16_777_216.0,
        ];
        match w.byte() {
            byte if byte < 200 => SPECIAL[usize::from(byte) % SPECIAL.len()],
            _ => f32::from_bits(w.number() as u32),
        }
    }
}

impl Arb for Sym {
    fn arb(w: &mut World) -> Self {
        let text = w.text();
        w.module.names.intern(text)
    }
}

impl Arb for Value {
    fn arb(w: &mut World) -> Self {
        w.value(3)
    }
    /// Null would be an absent key.
    fn maybe(w: &mut World) -> Option<Self> {
        Some(w.some_value(3))
    }
}

impl Arb for Members {
    fn arb(w: &mut World) -> Self {
        w.members(3)
    }
}

impl Arb for ImmNumber {
    fn arb(w: &mut World) -> Self {
        immediate(w, None)
    }
}

/// A number that fits the dtype of an immediate.
fn immediate(w: &mut World, dtype: Option<Dtype>) -> ImmNumber {
    match (dtype, w.below(3)) {
        (Some(Dtype::Float32), _) | (None | Some(Dtype::Other(_)), 2) => ImmNumber::Float(f32::arb(w)),
        (_, 1) => ImmNumber::Signed(-1 - (w.number() >> 1) as i64),
        _ => ImmNumber::Unsigned(w.number()),
    }
}

impl Arb for AccessPattern {
    fn arb(w: &mut World) -> Self {
        (0..w.below(7)).map(|_| ApPair { step: i64::arb(w), num: i64::arb(w) }).collect()
    }
}

impl Arb for Shape {
    fn arb(w: &mut World) -> Self {
        (0..w.below(7)).map(|_| w.number()).collect()
    }
}

impl Arb for ArgumentMap {
    fn arb(w: &mut World) -> Self {
        let mut map = ArgumentMap::default();
        for _ in 0..w.below(4) {
            let (key, value) = (Sym::arb(w), Sym::arb(w));
            if map.0.iter().all(|(known, _)| *known != key) {
                map.0.push((key, value));
            }
        }
        map
    }
}

impl<T: Arb> Arb for Option<T> {
    fn arb(w: &mut World) -> Self {
        if w.once_in(2) { T::maybe(w) } else { None }
    }
}

impl<T: Arb> Arb for Box<T> {
    fn arb(w: &mut World) -> Self {
        Box::new(T::arb(w))
    }
    fn maybe(w: &mut World) -> Option<Self> {
        T::maybe(w).map(Box::new)
    }
}

impl<T: Arb> Arb for Vec<T> {
    fn arb(w: &mut World) -> Self {
        (0..w.below(4)).filter_map(|_| T::maybe(w)).collect()
    }
}

impl<T: Arb> Arb for bir::record::Few<T> {
    fn arb(w: &mut World) -> Self {
        Vec::arb(w).into()
    }
}

// Elements of a list may be null where a value may not.
impl<T: Arb> Arb for [T; 2] {
    fn arb(w: &mut World) -> Self {
        [T::arb(w), T::arb(w)]
    }
}

impl<T: Arb> Arb for MaybeAffine<T> {
    fn arb(w: &mut World) -> Self {
        if w.once_in(5) { MaybeAffine::Expr(ExprId::arb(w)) } else { MaybeAffine::Value(T::arb(w)) }
    }
}

impl Arb for ExprId {
    fn arb(w: &mut World) -> Self {
        if w.only_v1 { expr_v1(w) } else { expr(w, 3) }
    }
}

fn finish(w: &mut World, node: Expr) -> ExprId {
    let extra = w.extra();
    let id = w.module.exprs.add(node);
    if !extra.is_empty() {
        w.module.exprs.set_extra(id, extra);
    }
    id
}

fn expr(w: &mut World, depth: usize) -> ExprId {
    let positive = |w: &mut World| 1 + (w.number() >> 2) as i64;
    let node = match w.below(if depth == 0 { 6 } else { 11 }) {
        0 => {
            let mut terms: Vec<AffineTerm> = Vec::new();
            for _ in 0..w.below(4) {
                let idx = index(w);
                let exprs = &w.module.exprs;
                // Of terms with one index a reader keeps the last.
                if terms.iter().all(|term| exprs.get(term.idx) != exprs.get(idx)) {
                    terms.push(AffineTerm { idx, coeff: i64::arb(w) });
                }
            }
            Expr::Affine { terms, c: i64::arb(w) }
        }
        1 => return index(w),
        2 => Expr::CcGetRank { iteration_id: positive(w), channel_id: positive(w) - 1 },
        3 => Expr::IndirectArg { arg_id: positive(w) - 1 },
        4 => Expr::Axis { axis: Sym::arb(w) },
        5 => Expr::ShardId { ub: i64::arb(w) },
        6 => Expr::Sum { terms: (0..w.below(4)).map(|_| expr(w, depth - 1)).collect() },
        7 => Expr::Mult { var: expr(w, depth - 1), scale: i64::arb(w) },
        8 => Expr::FloorDiv { numer: expr(w, depth - 1), denom: positive(w) },
        9 => Expr::Modulo { numer: expr(w, depth - 1), denom: positive(w) },
        _ => Expr::CcDiv { numer: expr(w, depth - 1), denom: positive(w), replica_groups_id: w.number() },
    };
    finish(w, node)
}

/// A node that may be the index of a term.
fn index(w: &mut World) -> ExprId {
    let register = w.scope.registers.clone();
    let node = match (w.below(3), w.pick(&register)) {
        (1, _) => Expr::ShardId { ub: i64::arb(w) },
        (2, Some(register)) => Expr::Register { regref: register.into() },
        _ => Expr::Axis { axis: Sym::arb(w) },
    };
    finish(w, node)
}

/// An expression that version 1 can say: an affine body over axes, and perhaps one operation on it.
fn expr_v1(w: &mut World) -> ExprId {
    let operation = w.below(5);
    let mut terms: Vec<AffineTerm> = Vec::new();
    for _ in 0..w.below(4) {
        let axis = Sym::arb(w);
        let idx = w.module.exprs.add(Expr::Axis { axis });
        if terms.iter().all(|term| w.module.exprs.get(term.idx) != w.module.exprs.get(idx)) {
            terms.push(AffineTerm { idx, coeff: i64::arb(w) });
        }
    }
    let body = Expr::Affine { terms, c: i64::arb(w) };
    let denom = 1 + (w.number() >> 2) as i64;
    if operation == 0 {
        return finish(w, body);
    }
    let numer = w.module.exprs.add(body);
    let node = match operation {
        1 => Expr::Modulo { numer, denom },
        2 => Expr::FloorDiv { numer, denom },
        3 => Expr::CcDiv { numer, denom, replica_groups_id: 0 },
        _ => Expr::IndirectArg { arg_id: denom },
    };
    finish(w, node)
}

macro_rules! references {
    ($($id:ty: $list:ident;)*) => {$(
        impl Arb for Ref<$id> {
            fn arb(w: &mut World) -> Self {
                Self::maybe(w).expect("there is an object")
            }
            fn maybe(w: &mut World) -> Option<Self> {
                if let Some(missing) = w.missing_name() {
                    return Some(missing);
                }
                let all = w.scope.$list.clone();
                w.pick(&all).map(Ref::to)
            }
        }
    )*};
}
references! {
    QueueId: queues;
    BlockId: blocks;
    InstId: insts;
    FuncId: functions;
    LocId: locations;
    SetId: sets;
    RegId: registers;
}

/// A value of an open enum; sometimes a name that the table does not have.
pub fn open_enum<E: OpenEnum>(w: &mut World) -> E {
    if w.once_in(9) || E::ALL.is_empty() {
        let name = format!("other {}", w.text());
        return E::parse_or_other(&name, &mut w.module.names);
    }
    E::ALL[w.below(E::ALL.len())]
}

macro_rules! fill_enums {
    ($($name:ident)*) => {$(
        impl super::arb::Arb for $name {
            fn arb(w: &mut super::arb::World) -> Self {
                super::arb::open_enum(w)
            }
        }
    )*};
}

macro_rules! fill {
    ($($name:ident { $($field:ident)* } bits { $($bit:ident)* })*) => {$(
        impl super::arb::Arb for $name {
            fn arb(w: &mut super::arb::World) -> Self {
                let mut value = Self::default();
                $(
                    // Half of the keys keep their default.
                    if w.once_in(2) {
                        value.$field = super::arb::Arb::arb(w);
                    }
                )*
                $(
                    if w.once_in(3) {
                        value.present.set(Self::$bit);
                    }
                )*
                value
            }
        }
    )*};
}

macro_rules! fill_ops {
    ($($name:ident)*) => {
        /// An op of the same InstructionType.
        pub fn op(like: &bir::Op, w: &mut super::arb::World) -> bir::Op {
            match like {
                $(bir::Op::$name(_) => <$name as super::arb::Arb>::arb(w).into(),)*
                keyless => keyless.clone(),
            }
        }
    };
}
pub(super) use {fill, fill_enums, fill_ops};

impl Arb for Argument {
    fn arb(w: &mut World) -> Self {
        let mut argument = match w.below(7) {
            0 => Argument::from(physical(w)),
            1 => {
                let mut access = SymbolicAp::arb(w);
                access.pwap = w.once_in(2);
                Argument::SymbolicAp(Box::new(access))
            }
            2 => Argument::RegisterAp(Box::new(RegisterAp::arb(w))),
            3 => Argument::from(RegisterAccess::arb(w)),
            4 => {
                let dtype = imm_dtype(w);
                let value = w.once_in(2).then(|| immediate(w, dtype));
                Argument::from(ImmValue { dtype, value, ..ImmValue::default() })
            }
            5 => {
                let dtype = imm_dtype(w);
                let values = (0..w.below(4)).map(|_| immediate(w, dtype)).collect();
                let array = ImmArray { dtype, value_array: Some(values), ..ImmArray::default() };
                Argument::ImmArray(Box::new(array))
            }
            _ => {
                let mut value = SymbolicImmValue::arb(w);
                value.dtype = imm_dtype(w);
                value.value_list = (0..w.below(4)).map(|_| immediate(w, value.dtype)).collect();
                Argument::SymbolicImmValue(Box::new(value))
            }
        };
        *argument.extra_mut() = w.extra();
        argument
    }
}

fn imm_dtype(w: &mut World) -> Option<Dtype> {
    Option::<Dtype>::arb(w).filter(|dtype| !dtype.is_known() || dtype.is_immediate())
}

/// An access; one to another function has that function's location.
fn physical(w: &mut World) -> PhysicalAp {
    let mut access = PhysicalAp::arb(w);
    if let Some(owner) = access.memref_owner_func.and_then(Ref::id) {
        let (sets, locations): (Vec<_>, Vec<_>) =
            (w.module.sets_of(owner).collect(), w.module.locations_of(owner).collect());
        access.memref = w.pick(&locations).map(Ref::to);
        // Without a location the set is looked up at home.
        access.memsetref = access.memref.and_then(|_| w.pick(&sets)).map(Ref::to);
    }
    access
}
