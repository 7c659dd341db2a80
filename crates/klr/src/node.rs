//! What every type of the schemas can do: be read from a [`Source`] and written to a [`Sink`].
//!
//! The types are generated from the tables, once. Formats know nothing of types: the CBOR reader, the JSON reader and
//! the maker of arbitrary values are sources; the CBOR writer, the JSON writer, the printers and the checks are sinks.

use crate::arena::Arena;
use crate::checks::Checked;
use crate::container::{Select, Selected, Unknown};
use crate::ir::{APPair, TensorName};

/// What kind of thing a schema type is (spec: klr 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One constructor with fields.
    Record,
    /// Several constructors, any of which may have fields.
    Union,
    /// Several constructors without fields.
    Enum,
}

/// A type of a schema, as its table gives it.
#[derive(Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// Name in the table, for example `BirAccessPattern` or `NKI.Expr_`.
    pub name: &'static str,
    /// Record, union or enum.
    pub kind: Kind,
    /// High byte of the CBOR tag number. `None` for the file, which is three values in a row.
    pub tag: Option<u8>,
    /// Constructor byte of a record: 0, but 247 for `KLRFile`.
    pub lo: u8,
    /// The constructors in wire order; a record has one.
    pub ctors: &'static [Ctor],
}

/// A constructor of a schema type.
#[derive(Debug, PartialEq, Eq)]
pub struct Ctor {
    /// Name in the table, for example `birPattern`; for a record the type's name.
    pub name: &'static str,
    /// What the reference printer writes: the bare word of an enum, the name before `(` otherwise.
    pub print: &'static str,
    /// Fields announced on the wire in schema 2.24, zero-byte ones included.
    pub arity: u8,
    /// Fields that only schema head has (spec: klr 1).
    pub added: &'static [&'static str],
}

impl TypeInfo {
    /// The constructor with this name.
    #[must_use]
    pub fn ctor(&self, name: &str) -> Option<usize> {
        self.ctors.iter().position(|ctor| ctor.name == name)
    }
}

/// Reading failed; what and where is kept by the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// Number of elements of a list that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The input has room for that many.
    Fits(usize),
    /// The input is too short for that many, whatever follows: reading them must fail, and shall say where.
    TooMany(u64),
}

/// Something values are read from. The calls come in the order in which fields stand in the schema.
pub trait Source<'a> {
    /// Where lists and boxed values go.
    fn arena(&self) -> &'a Arena;
    /// Starts a record; the answer is whether it has the fields that schema head adds.
    fn record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed>;
    /// Starts a union; the answer is the index of the constructor, which is in range.
    fn union(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed>;
    /// Reads an enum; the answer is the index of the constructor, which is in range.
    fn enumeration(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed>;
    /// Ends a record or a union.
    fn close(&mut self) -> Result<(), Failed>;
    /// The next value is this field of the record or union.
    fn field(&mut self, name: &'static str) -> Result<(), Failed>;
    /// Reads a natural number.
    fn nat(&mut self) -> Result<u64, Failed>;
    /// Reads an integer.
    fn int(&mut self) -> Result<i64, Failed>;
    /// Reads a binary32 number.
    fn float(&mut self) -> Result<Float, Failed>;
    /// Reads a number that is binary32 or binary64 on the wire.
    fn real(&mut self) -> Result<Real, Failed>;
    /// Reads a truth value.
    fn boolean(&mut self) -> Result<bool, Failed>;
    /// Reads a text.
    fn text(&mut self) -> Result<&'a str, Failed>;
    /// Reads a proof, which takes no bytes.
    fn prop(&mut self);
    /// Reads the frame of an option: is there a value?
    fn option(&mut self) -> Result<bool, Failed>;
    /// Starts a list whose elements take at least `min` bytes each on the wire.
    fn list(&mut self, min: usize) -> Result<Length, Failed>;
    /// Starts a pair, which has two items.
    fn pair(&mut self) -> Result<(), Failed>;
    /// The next value is this element of the list or pair, for which `min` bytes were set aside.
    fn item(&mut self, index: usize, min: usize);
    /// Ends a list or a pair.
    fn end_list(&mut self);
    /// Goes one level down in a type that can contain itself.
    fn descend(&mut self) -> Result<(), Failed>;
    /// Comes back from [`Source::descend`].
    fn ascend(&mut self);
    /// Reads which payload the contents of a file have.
    fn select(&mut self) -> Result<Selected<'a>, Failed>;
    /// A record with conditions beyond its types was read.
    fn checked(&mut self, value: Checked<'_>);
    /// Where the next value starts, for remembering it.
    fn mark(&self) -> Mark {
        Mark::default()
    }
    /// A tensor that was read before and has the bytes that come next; they are skipped.
    fn recall_tensor(&mut self) -> Option<&'a TensorName<'a>> {
        None
    }
    /// Keeps a tensor that started at `mark` and has just been read.
    fn remember_tensor(&mut self, _mark: Mark, _tensor: &'a TensorName<'a>) {}
    /// An access pattern that was read before and has the bytes that come next; they are skipped.
    fn recall_pattern(&mut self) -> Option<&'a [APPair]> {
        None
    }
    /// Keeps an access pattern that started at `mark` and has just been read.
    fn remember_pattern(&mut self, _mark: Mark, _pattern: &'a [APPair]) {}
}

/// A place in a source.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    pub(crate) offset: usize,
    pub(crate) notes: usize,
}

/// Something values are shown to. The calls come in the order in which fields stand in the schema.
pub trait Sink {
    /// Starts a record; `head` when it has the fields that schema head adds.
    fn record(&mut self, ty: &'static TypeInfo, head: bool);
    /// Starts a union.
    fn union(&mut self, ty: &'static TypeInfo, ctor: usize);
    /// An enum.
    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize);
    /// Ends a record or a union.
    fn close(&mut self);
    /// The next value is this field of the record or union.
    fn field(&mut self, name: &'static str);
    /// A natural number.
    fn nat(&mut self, value: u64);
    /// An integer.
    fn int(&mut self, value: i64);
    /// A binary32 number.
    fn float(&mut self, value: Float);
    /// A binary32 or binary64 number.
    fn real(&mut self, value: Real);
    /// A truth value.
    fn boolean(&mut self, value: bool);
    /// A text.
    fn text(&mut self, value: &str);
    /// A proof, which takes no bytes.
    fn prop(&mut self);
    /// An absent option.
    fn none(&mut self);
    /// A present option; the value follows.
    fn some(&mut self);
    /// Starts a list.
    fn list(&mut self, len: usize);
    /// Starts a pair.
    fn pair(&mut self);
    /// The next value is this element of the list or pair.
    fn item(&mut self, index: usize);
    /// Ends a list or a pair.
    fn end_list(&mut self);
    /// Starts the contents of a file with a known payload.
    fn select(&mut self, row: &'static Select);
    /// The contents of a file with an unknown payload, whole.
    fn unknown(&mut self, value: &Unknown<'_>);
    /// A record with conditions beyond its types comes next. `true`: it has been dealt with, skip it.
    fn checked(&mut self, _value: Checked<'_>) -> bool {
        false
    }
}

/// A value of a schema type, or one of the primitives that they are made of. Only types of this crate implement it: the
/// writer relies on a tensor staying what it is while the value that holds it is written.
pub trait Node<'a>: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'a {
    /// The fewest bytes that a value takes on the wire.
    const MIN: usize;

    /// Reads a value.
    ///
    /// # Errors
    /// When the source does not hold one; the source has the details.
    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed>;

    /// Writes the value.
    fn write<K: Sink + ?Sized>(&self, sink: &mut K);

    /// Reads a value into the arena. Overridden by the record that recurs in a file.
    ///
    /// # Errors
    /// As [`Node::read`].
    #[inline]
    fn read_boxed<S: Source<'a> + ?Sized>(source: &mut S) -> Result<&'a Self, Failed> {
        let value = Self::read(source)?;
        Ok(source.arena().alloc(value))
    }

    /// Reads a list into the arena. Overridden by the record whose lists recur in a file.
    ///
    /// # Errors
    /// As [`Node::read`].
    fn read_list<S: Source<'a> + ?Sized>(source: &mut S) -> Result<&'a [Self], Failed> {
        read_list(source)
    }

    /// Reads the field `name`. Overridden by [`Added`], which is a group of fields.
    ///
    /// # Errors
    /// As [`Node::read`].
    #[inline(always)]
    fn read_field<S: Source<'a> + ?Sized>(
        source: &mut S,
        name: &'static str,
        _head: bool,
    ) -> Result<Self, Failed> {
        source.field(name)?;
        Self::read(source)
    }

    /// Writes the field `name`.
    #[inline(always)]
    fn write_field<K: Sink + ?Sized>(&self, sink: &mut K, name: &'static str) {
        sink.field(name);
        self.write(sink);
    }

    /// Whether this field makes its record one of schema head.
    #[inline(always)]
    fn is_head(&self) -> bool {
        false
    }
}

/// A schema type: a record, a union or an enum.
pub trait Typed<'a>: Node<'a> {
    /// What its table says.
    const INFO: &'static TypeInfo;
}

/// A value whose type is known at run time only.
pub trait Tree<'a>: std::fmt::Debug + Send + Sync {
    /// Its type.
    fn info(&self) -> &'static TypeInfo;
    /// Shows it to a sink.
    fn emit(&self, sink: &mut dyn Sink);
    /// Writes it as CBOR.
    fn encode(&self, writer: &mut crate::cbor::Writer);
}

impl<'a, T: Typed<'a>> Tree<'a> for T {
    fn info(&self) -> &'static TypeInfo {
        T::INFO
    }

    fn emit(&self, sink: &mut dyn Sink) {
        self.write(sink);
    }

    fn encode(&self, writer: &mut crate::cbor::Writer) {
        self.write(writer);
    }
}

/// A type that can be read by its name.
#[derive(Clone, Copy)]
pub struct TypeEntry {
    /// What its table says.
    pub info: &'static TypeInfo,
    pub(crate) read_cbor: for<'a> fn(&mut crate::cbor::Reader<'a>) -> Result<&'a dyn Tree<'a>, Failed>,
    pub(crate) read: for<'a> fn(&mut (dyn Source<'a> + '_)) -> Result<&'a dyn Tree<'a>, Failed>,
}

impl std::fmt::Debug for TypeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info.name)
    }
}

/// Reads a value of a known type as one of a type known at run time.
pub(crate) fn read_tree<'a, T: Typed<'a>, S: Source<'a> + ?Sized>(
    source: &mut S,
) -> Result<&'a dyn Tree<'a>, Failed> {
    let value = T::read(source)?;
    Ok(source.arena().alloc(value))
}

/// A binary32 number. It is kept by its bits, so that NaN payloads survive and equality is equality of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Float {
    /// The IEEE 754 bits.
    pub bits: u32,
}

impl Float {
    /// The number.
    #[must_use]
    pub fn value(self) -> f32 {
        f32::from_bits(self.bits)
    }
}

impl From<f32> for Float {
    fn from(value: f32) -> Self {
        Float { bits: value.to_bits() }
    }
}

impl std::fmt::Debug for Float {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

/// A number of a front-end tree, with the width it has on the wire (spec: klr 13.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Real {
    /// Binary32, as the C writer of 0.0.12 narrows it.
    F32(Float),
    /// The bits of a binary64, as the Lean writers keep it.
    F64(u64),
}

impl Real {
    /// The number, widened.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Real::F32(value) => f64::from(value.value()),
            Real::F64(bits) => f64::from_bits(bits),
        }
    }
}

/// A proof: counted in the arity of its record, no bytes on the wire (spec: klr 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Prop;

/// Fields that schema head adds to a record; absent in a record of schema 2.24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Added<T>(pub Option<T>);

impl<T> Default for Added<T> {
    fn default() -> Self {
        Added(None)
    }
}

/// The fields of an [`Added`] group.
pub trait Group<'a>: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'a {
    /// Reads the fields one after the other.
    ///
    /// # Errors
    /// As [`Node::read`].
    fn read_fields<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed>;
    /// Writes the fields one after the other.
    fn write_fields<K: Sink + ?Sized>(&self, sink: &mut K);
}

impl<'a, T: Group<'a>> Node<'a> for Added<T> {
    const MIN: usize = 0;

    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        Ok(Added(Some(T::read_fields(source)?)))
    }

    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        if let Some(group) = &self.0 {
            group.write_fields(sink);
        }
    }

    #[inline(always)]
    fn read_field<S: Source<'a> + ?Sized>(
        source: &mut S,
        _name: &'static str,
        head: bool,
    ) -> Result<Self, Failed> {
        if head { Self::read(source) } else { Ok(Added(None)) }
    }

    #[inline(always)]
    fn write_field<K: Sink + ?Sized>(&self, sink: &mut K, _name: &'static str) {
        self.write(sink);
    }

    #[inline(always)]
    fn is_head(&self) -> bool {
        self.0.is_some()
    }
}

macro_rules! primitive {
    ($ty:ty, $min:literal, $read:ident, $write:ident) => {
        impl<'a> Node<'a> for $ty {
            const MIN: usize = $min;

            #[inline(always)]
            fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
                source.$read()
            }

            #[inline(always)]
            fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
                sink.$write(*self);
            }
        }
    };
}

primitive!(u64, 1, nat, nat);
primitive!(i64, 1, int, int);
primitive!(Float, 5, float, float);
primitive!(Real, 5, real, real);
primitive!(bool, 1, boolean, boolean);
primitive!(&'a str, 1, text, text);

impl<'a> Node<'a> for Prop {
    const MIN: usize = 0;

    #[inline(always)]
    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        source.prop();
        Ok(Prop)
    }

    #[inline(always)]
    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        sink.prop();
    }
}

impl<'a, T: Node<'a>> Node<'a> for Option<T> {
    const MIN: usize = 4;

    #[inline]
    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        if source.option()? { Ok(Some(T::read(source)?)) } else { Ok(None) }
    }

    #[inline]
    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        match self {
            None => sink.none(),
            Some(value) => {
                sink.some();
                value.write(sink);
            }
        }
    }
}

impl<'a, T: Node<'a>> Node<'a> for &'a T {
    const MIN: usize = T::MIN;

    #[inline]
    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        T::read_boxed(source)
    }

    #[inline]
    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        (**self).write(sink);
    }
}

impl<'a, T: Node<'a>> Node<'a> for &'a [T] {
    const MIN: usize = 1;

    #[inline]
    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        T::read_list(source)
    }

    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        sink.list(self.len());
        for (index, value) in self.iter().enumerate() {
            sink.item(index);
            value.write(sink);
        }
        sink.end_list();
    }
}

/// Reads a list element by element.
pub(crate) fn read_list<'a, T: Node<'a>, S: Source<'a> + ?Sized>(source: &mut S) -> Result<&'a [T], Failed> {
    let slice = match source.list(T::MIN)? {
        Length::Fits(0) => &[][..],
        Length::Fits(count) => source.arena().slice(count, |index| {
            source.item(index, T::MIN);
            T::read(source)
        })?,
        Length::TooMany(count) => {
            // Nothing is kept: this only finds the place where the input ends or is wrong. The source sees to it
            // that reading fails in the end.
            for index in 0..count {
                source.item(usize::try_from(index).unwrap_or(usize::MAX), 0);
                T::read(source)?;
            }
            &[]
        }
    };
    source.end_list();
    Ok(slice)
}

impl<'a, A: Node<'a>, B: Node<'a>> Node<'a> for (A, B) {
    const MIN: usize = 1 + A::MIN + B::MIN;

    fn read<S: Source<'a> + ?Sized>(source: &mut S) -> Result<Self, Failed> {
        source.pair()?;
        source.item(0, 0);
        let first = A::read(source)?;
        source.item(1, 0);
        let second = B::read(source)?;
        source.end_list();
        Ok((first, second))
    }

    fn write<K: Sink + ?Sized>(&self, sink: &mut K) {
        sink.pair();
        sink.item(0);
        self.0.write(sink);
        sink.item(1);
        self.1.write(sink);
        sink.end_list();
    }
}
