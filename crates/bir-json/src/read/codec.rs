//! How each type of the tables is read.

use bir::access::{AccessPattern, ApPair, Shape};
use bir::expr::MaybeAffine;
use bir::ids::{BlockId, ExprId, FuncId, InstId, LocId, QueueId, Ref, RegId, SetId};
use bir::record::{ArgumentMap, Few, OwnedList};
use bir::{EmptyHolder, Holder, Members, NkiFunctions, Storage, Sym, Value};
use smallvec::SmallVec;

use super::{OddityKind, Read, Reader};
use crate::error::{ReadErrorKind, Result};
use crate::number::Number;

/// A scalar that a MaybeAffine may hold.
trait Scalar: Read {
    const EXPECTED: &'static str;
}

macro_rules! read_integers {
    ($($ty:ty: $expected:literal;)*) => {$(
        impl Read for $ty {
            #[inline(always)]
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                let first = r.lexer.peek();
                let at = r.lexer.pos();
                let value = match first.is_ascii_digit().then(|| r.lexer.short_integer()).flatten() {
                    Some(value) => <$ty>::try_from(value).ok(),
                    None => odd_number(r, $expected)?.and_then(|value| <$ty>::try_from(value).ok()),
                };
                match value {
                    Some(value) => Ok(value),
                    None => Err(ReadErrorKind::OutOfRange { expected: $expected }.at(at)),
                }
            }
        }

        impl Scalar for $ty {
            const EXPECTED: &'static str = concat!($expected, " or an expression");
        }
    )*};
}

/// Any number as an integer: negative, long, or written with a fraction of zero. spec: bir-json 1
#[cold]
fn odd_number(r: &mut Reader<'_>, expected: &'static str) -> Result<Option<i128>> {
    if !matches!(r.lexer.peek(), b'-' | b'0'..=b'9') {
        return r.lexer.wrong_type(expected);
    }
    Ok(match r.lexer.number()? {
        Number::Unsigned(v) => Some(v.into()),
        Number::Signed(v) => Some(v.into()),
        Number::Float(v) => (v.fract() == 0.0 && v.abs() < 1e30).then_some(v as i128),
    })
}

read_integers! {
    u8: "an integer from 0 to 255";
    u16: "an integer from 0 to 65535";
    u32: "an unsigned 32-bit integer";
    u64: "an unsigned 64-bit integer";
    i32: "a signed 32-bit integer";
    i64: "a signed 64-bit integer";
}

impl Read for bool {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b't' => r.lexer.literal("true").map(|()| true),
            b'f' => r.lexer.literal("false").map(|()| false),
            _ => r.lexer.wrong_type("a boolean"),
        }
    }
}

impl Scalar for bool {
    const EXPECTED: &'static str = "a boolean or an expression";
}

impl Read for f32 {
    /// A number, or one of three strings for what JSON has no number for. spec: bir-json 9.4
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b'-' | b'0'..=b'9' => Ok(match r.lexer.number()? {
                Number::Unsigned(v) => v as f32,
                Number::Signed(v) => v as f32,
                Number::Float(v) => v as f32,
            }),
            b'"' => {
                let at = r.lexer.pos();
                match &*r.lexer.string()? {
                    "inf" => Ok(f32::INFINITY),
                    "-inf" => Ok(f32::NEG_INFINITY),
                    "nan" => Ok(f32::NAN),
                    _ => Err(ReadErrorKind::WrongType {
                        expected: "a number, or \"inf\", \"-inf\" or \"nan\"",
                        found: "another string",
                    }
                    .at(at)),
                }
            }
            _ => r.lexer.wrong_type("a number, or \"inf\", \"-inf\" or \"nan\""),
        }
    }
}

impl Read for Sym {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.sym("a string")
    }
}

impl Read for Value {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.value()
    }
}

impl Read for Members {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.free_members()
    }
}

impl Read for ExprId {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.expr("an affine expression")
    }
}

impl<T: Scalar> Read for MaybeAffine<T> {
    #[inline]
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b'{' => r.expr(T::EXPECTED).map(MaybeAffine::Expr),
            _ => T::read(r).map(MaybeAffine::Value),
        }
    }
}

impl<T: Read> Read for Box<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        T::read(r).map(Box::new)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.list("an array", T::read)
    }
}

impl<T: Read> Read for Few<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = Few::new();
        r.each_element("an array", |r| {
            list.push(r.get()?);
            Ok(())
        })?;
        Ok(list)
    }
}

impl<T: Read> Read for Box<[T]> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.list("an array", T::read).map(Vec::into_boxed_slice)
    }
}

impl<'a> Reader<'a> {
    /// An array as a list without spare room: most lists have one or two entries, and there are millions.
    #[inline(always)]
    pub(super) fn list<T>(
        &mut self,
        expected: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items: SmallVec<[T; 4]> = SmallVec::new();
        self.each_element(expected, |r| {
            items.push(item(r)?);
            Ok(())
        })?;
        let mut list = Vec::with_capacity(items.len());
        list.extend(items);
        Ok(list)
    }
}

impl<T: Read> Read for [T; 2] {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.lexer.peek();
        let at = r.lexer.pos();
        let list: SmallVec<[T; 2]> = {
            let mut list = SmallVec::new();
            r.each_element("an array of two", |r| {
                list.push(T::read(r)?);
                Ok(())
            })?;
            list
        };
        list.into_inner().map_err(|_| {
            ReadErrorKind::WrongType { expected: "an array of two", found: "another length" }.at(at)
        })
    }
}

impl Read for ApPair {
    /// `[step, num]`, or the object form of an older producer. spec: bir-json 9.4
    #[inline]
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b'[' => {
                let at = r.lexer.pos();
                r.lexer.enter()?;
                let step = r.get()?;
                let pair = if r.lexer.next_element()? {
                    let num = r.get()?;
                    (!r.lexer.next_element()?).then_some(ApPair { step, num })
                } else {
                    None
                };
                r.lexer.leave();
                pair.ok_or_else(|| {
                    ReadErrorKind::WrongType { expected: "a pair [step, num]", found: "another length" }
                        .at(at)
                })
            }
            b'{' => {
                let at = r.lexer.pos();
                let (mut step, mut num) = (None, None);
                r.each_member(|r, key, at| {
                    r.again |= if key == "step" { step.is_some() } else { num.is_some() };
                    match &*key {
                        "step" => step = Some(r.get()?),
                        "num" => num = Some(r.get()?),
                        _ => {
                            return Err(ReadErrorKind::UnknownName {
                                what: "member of a pair",
                                name: key.into(),
                            }
                            .at(at));
                        }
                    }
                    Ok(true)
                })?;
                r.oddity(OddityKind::LegacyForm, at, || "a pair as an object {step, num}".into());
                match (step, num) {
                    (Some(step), Some(num)) => Ok(ApPair { step, num }),
                    (None, _) => Err(ReadErrorKind::MissingKey("step").at(at)),
                    (_, None) => Err(ReadErrorKind::MissingKey("num").at(at)),
                }
            }
            _ => r.lexer.wrong_type("a pair [step, num]"),
        }
    }
}

impl Read for AccessPattern {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut pairs: SmallVec<[ApPair; 6]> = SmallVec::new();
        r.each_element("an array of pairs [step, num]", |r| {
            pairs.push(r.get()?);
            Ok(())
        })?;
        Ok(AccessPattern::new(&pairs))
    }
}

impl Read for Shape {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut dims: SmallVec<[u64; 6]> = SmallVec::new();
        r.each_element("an array of unsigned integers", |r| {
            dims.push(r.get()?);
            Ok(())
        })?;
        Ok(Shape::new(&dims))
    }
}

impl Read for ArgumentMap {
    /// An object of names, or an array of pairs of names. spec: opcodes 9
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut pairs: Vec<(Sym, Sym)> = Vec::new();
        match r.lexer.peek() {
            b'{' => r.each_member(|r, key, _| {
                pairs.push((r.intern(&key)?, r.get()?));
                Ok(true)
            })?,
            b'[' => r.each_element("an array of pairs of names", |r| {
                let [key, value] = r.get()?;
                pairs.push((key, value));
                Ok(())
            })?,
            _ => return r.lexer.wrong_type("an object of names, or an array of pairs of names"),
        }
        // The last of equal keys counts.
        let (mut seen, before) = (hashbrown::HashSet::new(), pairs.len());
        pairs.reverse();
        pairs.retain(|(key, _)| seen.insert(*key));
        pairs.reverse();
        r.again |= pairs.len() < before;
        Ok(ArgumentMap(pairs))
    }
}

impl Read for OwnedList<FuncId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = OwnedList::default();
        r.each_element("an array of functions", |r| {
            list.push(r.function_record(false)?);
            Ok(())
        })?;
        Ok(list)
    }
}

impl Read for NkiFunctions {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut holder = NkiFunctions::default();
        match r.lexer.peek() {
            b'[' => {
                let at = r.lexer.pos();
                holder.empty = EmptyHolder::List;
                r.each_element("nki_functions", |_| {
                    let text = "nki_functions must be empty, or an object whose only key is `functions`";
                    Err(ReadErrorKind::Invalid(text.into()).at(at))
                })?;
            }
            b'{' => {
                holder.empty = EmptyHolder::Object;
                r.each_member(|r, key, at| {
                    if key != "functions" {
                        let text = format!("nki_functions may only have the key `functions`, not `{key}`");
                        return Err(ReadErrorKind::Invalid(text).at(at));
                    }
                    r.again |= holder.empty == EmptyHolder::Functions;
                    holder.empty = EmptyHolder::Functions;
                    if r.lexer.peek() == b'n' {
                        r.lexer.literal("null")?;
                        return Ok(true);
                    }
                    r.each_element("an array of functions", |r| {
                        holder.functions.push(r.function_record(true)?);
                        Ok(())
                    })?;
                    Ok(true)
                })?;
            }
            _ => return r.lexer.wrong_type("an object whose only key is `functions`"),
        }
        Ok(holder)
    }
}

impl Read for OwnedList<QueueId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = OwnedList::default();
        r.each_element("an array of queues", |r| {
            list.push(r.queue_record()?);
            Ok(())
        })?;
        Ok(list)
    }
}

impl Read for OwnedList<BlockId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.lexer.peek();
        if let Some(body) = r.body.take_if(|body| body.start == r.lexer.pos()) {
            r.lexer.seek(body.end);
            return Ok(body.blocks);
        }
        let mut list = OwnedList::default();
        r.each_element("an array of blocks", |r| {
            list.push(r.block_record()?);
            Ok(())
        })?;
        Ok(list)
    }
}

impl Read for OwnedList<InstId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = OwnedList::default();
        r.each_element("an array of instructions", |r| {
            if !r.take_ahead(&mut list) {
                list.push(r.instruction_record()?);
            }
            r.tell_progress();
            Ok(())
        })?;
        list.shrink_to_fit();
        Ok(list)
    }
}

impl Read for OwnedList<Storage> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = OwnedList::default();
        r.each_element("an array of storage records", |r| {
            list.extend(r.storage_record()?);
            Ok(())
        })?;
        Ok(list)
    }
}

impl Read for OwnedList<LocId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut list = OwnedList::default();
        r.each_element("an array of memory locations", |r| {
            list.push(r.location_record()?);
            Ok(())
        })?;
        Ok(list)
    }
}

macro_rules! read_refs {
    ($($id:ty: $what:literal;)*) => {$(
        impl Read for Ref<$id> {
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                r.sym(concat!("a string: the name of a ", $what)).map(Ref::named)
            }
        }
    )*};
}

// These are resolved in pass 2.
read_refs! {
    BlockId: "block";
    InstId: "instruction";
}

impl Read for Ref<QueueId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let name = r.sym("a string: the name of a queue")?;
        Ok(Ref::to(r.queue_named(name)))
    }
}

impl Read for Ref<FuncId> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        // An operand may name the function that owns its location: that needs another look.
        r.note_early_name();
        r.sym("a string: the name of a function").map(Ref::named)
    }
}

macro_rules! read_storage_refs {
    ($($id:ty: $map:ident, $all:ident, $method:ident, $what:literal;)*) => {$(
        impl Read for Ref<$id> {
            #[inline]
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                let name = r.sym(concat!("a string: the name of a ", $what))?;
                Ok(r.$method(name))
            }
        }

        impl Reader<'_> {
            /// The object of a name that was just read.
            #[inline]
            pub(super) fn $method(&mut self, name: Sym) -> Ref<$id> {
                let in_queue = || matches!(self.outermost, Holder::Queue(_)) && !self.nki_first;
                let found = self.$map.get(name);
                match found.or_else(|| if in_queue() { self.$all.get(name) } else { None }) {
                    Some(id) => {
                        self.unmark();
                        Ref::to(id)
                    }
                    None => {
                        self.note_early_name();
                        Ref::named(name)
                    }
                }
            }
        }
    )*};
}

// Operands bind to storage at once when it stands before them, as in canonical documents. spec: bir-json 11.2
read_storage_refs! {
    LocId: locations, all_locations, location_ref, "memory location";
    SetId: sets, all_sets, set_ref, "memory-location set";
    RegId: registers, all_registers, register_ref, "register";
}

macro_rules! read_enums {
    ($($name:ident)*) => {$(
        impl Read for bir::enums::$name {
            #[inline]
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                r.open_enum()
            }
        }
    )*};
}
crate::generated::for_each_enum!(read_enums);

macro_rules! read_records {
    ($($name:ident)*) => {$(
        impl Read for bir::records::$name {
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                r.record(concat!("an object: ", stringify!($name)))
            }
        }
    )*};
}
crate::generated::for_each_record!(read_records);

impl Reader<'_> {
    /// A list, or one value for a list of one.
    pub(crate) fn scalar_or_list<T: Read>(&mut self) -> Result<Vec<T>> {
        if self.lexer.peek() == b'[' {
            return self.get();
        }
        let at = self.lexer.pos();
        let value = self.get()?;
        self.oddity(OddityKind::LegacyForm, at, || "one value for a list of one".into());
        Ok(vec![value])
    }

    /// A list that an older producer nests to the right: `[a, [b, c]]`. spec: bir-json 9.4
    pub(crate) fn nested_list<T: Read>(&mut self) -> Result<Vec<T>> {
        let mut list = Vec::new();
        self.nested_into(&mut list)?;
        Ok(list)
    }

    fn nested_into<T: Read>(&mut self, list: &mut Vec<T>) -> Result<()> {
        self.each_element("an array of numbers", |r| {
            if r.lexer.peek() == b'[' {
                let at = r.lexer.pos();
                r.oddity(OddityKind::LegacyForm, at, || "a list nested to the right".into());
                return r.nested_into(list);
            }
            list.push(r.get()?);
            Ok(())
        })
    }

    /// A number, or true and false for 1 and 0.
    pub(crate) fn number_or_bool(&mut self) -> Result<MaybeAffine<i32>> {
        if !matches!(self.lexer.peek(), b't' | b'f') {
            return self.get();
        }
        let at = self.lexer.pos();
        let value: bool = self.get()?;
        self.oddity(OddityKind::LegacyForm, at, || "a boolean for a number".into());
        Ok(MaybeAffine::Value(value.into()))
    }
}
