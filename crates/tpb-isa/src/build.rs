//! Making words: an opcode on a generation gives a layout with its constants; every value is checked against its field.
//!
//! ```
//! use tpb_isa::build::{Slot, WordBuilder};
//! use tpb_isa::{Addr4, Dtype, Field, Generation, Opcode};
//!
//! let mut word = WordBuilder::new(Opcode::MEMSET, Generation::V3)?;
//! word.set(Field::DstElementCount, 256)?
//!     .set(Field::Dtype, Dtype::FP32)?
//!     .set(Field::NumActiveChannels, 128)?
//!     .set(Field::SetValue, 1.5f32.to_bits())?;
//! let dst = Addr4::sbuf(0, 0x7000, Generation::V3)?;
//! word.slot(Field::Dst, &Slot::pattern(dst, &[(1, 256)]))?;
//! let word = word.finish();
//! assert_eq!(word.0[12..32], [&[0; 16][..], &[0, 1, 0, 0]].concat());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use crate::layout::{BodyKind, FieldInfo, Kind, LayoutInfo, OpcodeInfo, PreambleKind, Shape, StructInfo};
use crate::sync::{SyncError, Update, Wait};
use crate::text::default_value;
use crate::value::{Addr4, F32, Pack, Reg, Sem};
use crate::word::{Generation, WORD_BYTES, Word};
use crate::{Field, Layout, Opcode, Preamble};

/// A number that does not fit its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but the field holds {min} to {max}")]
pub struct RangeError {
    /// Name of the field.
    pub field: &'static str,
    /// The number asked for.
    pub value: i128,
    /// The least number that fits.
    pub min: i128,
    /// The greatest number that fits.
    pub max: i128,
}

/// Stores a number into a field that lies `base` bytes behind its offset.
pub(crate) fn store_number(
    word: &mut [u8; WORD_BYTES],
    field: &FieldInfo,
    base: usize,
    value: i128,
) -> Result<(), RangeError> {
    let bits =
        field.bits.map_or(8 * u32::from(field.bytes), |(first, last)| u32::from(last - first + 1)).min(64);
    let (min, max) = match field.kind {
        Kind::Int => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    if !(min..=max).contains(&value) {
        return Err(RangeError { field: field.name, value, min, max });
    }
    let at = base + field.at as usize;
    match field.bits {
        Some((first, _)) => {
            let mask = (max as u8) << first;
            word[at] = word[at] & !mask | (value as u8) << first;
        }
        None => {
            let bytes = value.to_le_bytes();
            let count = (field.bytes as usize).min(8);
            word[at..at + count].copy_from_slice(&bytes[..count]);
        }
    }
    Ok(())
}

/// Where a value was to be stored: for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Mnemonic of the word.
    pub opcode: &'static str,
    /// Name of its layout.
    pub layout: &'static str,
    /// The generation.
    pub generation: Generation,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} on {})", self.opcode, self.layout, self.generation)
    }
}

/// A word that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The byte is no opcode.
    #[error("opcode {0:#04x} is not known")]
    UnknownOpcode(u8),
    /// The opcode does not exist on the generation, or no encoder of it writes the opcode.
    #[error("{opcode} is not encoded on {generation}; it is on {available}")]
    NotOnGeneration {
        /// The mnemonic.
        opcode: &'static str,
        /// The generation asked for.
        generation: Generation,
        /// Where it is encoded.
        available: String,
    },
    /// The layout is not known well enough to write it.
    #[error("{0}: the body is not fully known, so the word cannot be encoded")]
    NotKnown(Context),
    /// The layout has no such field.
    #[error("{at} has no field {field}")]
    NoField {
        /// The word.
        at: Context,
        /// The field asked for.
        field: &'static str,
    },
    /// A number does not fit its field.
    #[error("{at}: {range}")]
    Range {
        /// The word.
        at: Context,
        /// The field and its limits.
        range: Box<RangeError>,
    },
    /// The value is not of the kind of the field.
    #[error("{at}: {field} takes {expected}")]
    Kind {
        /// The word.
        at: Context,
        /// The field.
        field: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// More dimensions than the slot has.
    #[error("{at}: {field} has {limit} dimensions, the pattern {dims}")]
    Dimensions {
        /// The word.
        at: Context,
        /// The slot.
        field: &'static str,
        /// Dimensions of the pattern.
        dims: usize,
        /// Dimensions of the slot.
        limit: usize,
    },
    /// A step or count of a pattern that does not fit.
    #[error("{at}: {part} of dimension {dim} (0 is innermost) of {range}")]
    Dimension {
        /// The word.
        at: Context,
        /// `step` or `count`.
        part: &'static str,
        /// Number of the dimension.
        dim: usize,
        /// The slot and its limits.
        range: Box<RangeError>,
    },
    /// A string that is too long or not ASCII.
    #[error("{at}: {field} holds at most {limit} ASCII characters, not {value:?}")]
    Name {
        /// The word.
        at: Context,
        /// The field.
        field: &'static str,
        /// The string.
        value: String,
        /// Characters that fit in front of the NUL.
        limit: usize,
    },
    /// An indirect part that is not a static address.
    #[error("{at}: {part} of {field} must be a plain address")]
    NotStatic {
        /// The word.
        at: Context,
        /// The slot.
        field: &'static str,
        /// Which address.
        part: &'static str,
    },
    /// The word cannot carry the wait and the update.
    #[error("{at}: {error}")]
    Sync {
        /// The word.
        at: Context,
        /// Why.
        error: SyncError,
    },
}

/// A value for [`WordBuilder::set`]; made from numbers, enums, addresses, strings and so on.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number, a code or an id.
    Int(i128),
    /// An IEEE single.
    Float(F32),
    /// An address, also for a scalar in its pointer form.
    Addr(Addr4),
    /// A string.
    Text(&'a str),
    /// Bytes, zero-extended to the field.
    Bytes(&'a [u8]),
}

macro_rules! value_from {
    ($($ty:ty: $value:ident => $made:expr;)*) => { $(
        impl From<$ty> for Value<'_> {
            fn from($value: $ty) -> Self {
                $made
            }
        }
    )* };
}

value_from! {
    u8: value => Value::Int(value.into());
    u16: value => Value::Int(value.into());
    u32: value => Value::Int(value.into());
    u64: value => Value::Int(value.into());
    i32: value => Value::Int(value.into());
    i64: value => Value::Int(value.into());
    usize: value => Value::Int(value as i128);
    bool: value => Value::Int(value.into());
    f32: value => Value::Float(value.into());
    F32: value => Value::Float(value);
    Addr4: value => Value::Addr(value);
    Reg: value => Value::Int(value.0.into());
    Sem: value => Value::Int(value.0.into());
}

macro_rules! value_from_enum {
    ($($Name:ident)*) => { $(
        impl From<crate::$Name> for Value<'_> {
            fn from(value: crate::$Name) -> Self {
                Value::Int(value.0.into())
            }
        }
    )* };
}

value_from_enum! {
    Dtype AluOp WaitMode UpdateMode CollectiveType BranchCompareOp AccumCmd TensorSubDim PoolType CrossLaneReduceOp ImmSrc
    EventSemaphoreClearMode MatmulPsumFlags Fp32Mode ActivationFuncId DebugCmd BranchTargetMode DataSrc DgeOp DgeComputeOp
    IndirectMode IndirectDim PseudoOpcode InstrChaining ImmSrcN ReduceCmd ReverseOps PerfOpt PsumZeroRegion RandAlgorithm
    RandGenerator RandPostProcess DropoutThresholdType AffineSelectCmp
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
    }
}

/// What a slot holds. Steps and counts are in elements, the innermost dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A static pattern. The dimensions that the slot has more are written as unused.
    Pattern {
        /// Address of the first element.
        addr: Addr4,
        /// Step and count of each dimension.
        dims: Vec<(i64, i64)>,
    },
    /// A generator of Iota and TensorScalarAffineSelect.
    Generator {
        /// First value.
        base: i64,
        /// Step and count of each dimension.
        dims: Vec<(i64, i64)>,
    },
    /// An index and data pair. The indirect bit of the index is set.
    Indirect {
        /// Address of the indices.
        index: Addr4,
        /// Address of the data.
        data: Addr4,
        /// Number of indices.
        count: i64,
    },
    /// Data in MX format with its scales.
    Mx {
        /// Address of the data.
        data: Addr4,
        /// Address of the scales, see [`Addr4::mx_scale`].
        scale: Addr4,
        /// Elements per partition.
        count: i64,
        /// 1 or -1.
        step: i64,
        /// Scale partition inside its group of 32.
        scale_partition: i64,
    },
    /// Data in MX format with its scales, both chosen by indices.
    MxIndirect {
        /// Address of the indices.
        index: Addr4,
        /// Address of the data.
        data: Addr4,
        /// Address of the scales.
        scale: Addr4,
        /// Number of indices.
        count: i64,
        /// Scale partition inside its group of 32.
        scale_partition: i64,
    },
}

impl Slot {
    /// A static pattern of (step, count) pairs, innermost first.
    pub fn pattern(addr: Addr4, dims: &[(i64, i64)]) -> Slot {
        Slot::Pattern { addr, dims: dims.to_vec() }
    }

    /// A static pattern of the (step, count) pairs of a BIR access pattern: the outermost first, the partition pair in front,
    /// which only the address and the channel count show. Dimensions of count 1 are dropped (spec: isa-bundle.md 4.1).
    pub fn from_access_pattern(addr: Addr4, pairs: &[(i64, i64)]) -> Slot {
        let kept = pairs.iter().skip(1).rev().filter(|(_, count)| *count != 1);
        Slot::Pattern { addr, dims: kept.copied().collect() }
    }
}

/// The words that open every stream of a package; their bodies are 0 (spec: isa-bundle.md 17.4, R1 and R2).
pub fn prologue() -> [Word; crate::PROLOGUE.len()] {
    crate::PROLOGUE.map(|opcode| {
        let mut word = Word::ZERO;
        word.0[..2].copy_from_slice(&[opcode.0, 0x10]);
        word
    })
}

/// A word in the making.
#[derive(Clone, Debug)]
pub struct WordBuilder {
    word: Word,
    opcode: &'static OpcodeInfo,
    layout: &'static LayoutInfo,
    id: Layout,
    generation: Generation,
}

impl WordBuilder {
    /// Starts a word: opcode, length and the constants of its layout; all else is 0.
    ///
    /// # Errors
    /// When the opcode is not encoded on the generation, or its layout is not fully known.
    pub fn new(opcode: Opcode, generation: Generation) -> Result<WordBuilder, BuildError> {
        WordBuilder::start(opcode, generation, None)
    }

    /// Starts the extension word 0xDA behind a word with the opcode `opener`.
    ///
    /// # Errors
    /// As [`WordBuilder::new`], and when `opener` has no extension.
    pub fn extension(opener: Opcode, generation: Generation) -> Result<WordBuilder, BuildError> {
        WordBuilder::start(Opcode::PSEUDO_EXTENSION, generation, Some(opener.0))
    }

    fn start(
        opcode: Opcode,
        generation: Generation,
        previous: Option<u8>,
    ) -> Result<WordBuilder, BuildError> {
        let row = crate::layout::opcode(opcode.0, previous).ok_or(BuildError::UnknownOpcode(opcode.0))?;
        let id = row.layout(generation).filter(|_| row.is_encoded_on(generation));
        let Some(id) = id else {
            let on = Generation::ALL.into_iter().filter(|generation| row.is_encoded_on(*generation));
            let on: Vec<_> = on.map(Generation::name).collect();
            let available = if on.is_empty() { "no generation".to_owned() } else { on.join(", ") };
            return Err(BuildError::NotOnGeneration { opcode: row.name, generation, available });
        };
        let layout = id.info();
        if layout.body != BodyKind::Known {
            return Err(BuildError::NotKnown(Context { opcode: row.name, layout: layout.name, generation }));
        }
        let mut word = Word::ZERO;
        word.0[0] = opcode.0;
        if layout.preamble == PreambleKind::Std {
            word.0[1] = 0x10;
        }
        let mut builder = WordBuilder { word, opcode: row, layout, id, generation };
        for field in layout.fields {
            let value = default_value(field, row.fixed);
            if value != 0 {
                store_number(&mut builder.word.0, field, 0, value.into())
                    .map_err(|range| builder.range(range))?;
            }
        }
        Ok(builder)
    }

    /// The layout of the word.
    pub fn layout(&self) -> Layout {
        self.id
    }

    /// Whether the layout has a field: some exist on some generations only.
    pub fn has(&self, field: Field) -> bool {
        self.layout.field(field).is_some()
    }

    /// Dimensions that a slot for access patterns has; `None` when the field is no such slot.
    pub fn dimensions(&self, field: Field) -> Option<usize> {
        let shape = match self.layout.field(field)?.kind {
            Kind::Struct(info) => info.shape,
            Kind::Union(union) => union.direct.shape,
            _ => return None,
        };
        match shape {
            Shape::Tensor(dims) => Some(dims.into()),
            Shape::Generator => Some(4),
            _ => None,
        }
    }

    /// Whether a slot takes an index and data pair.
    pub fn takes_indirect(&self, field: Field) -> bool {
        match self.layout.field(field).map(|field| field.kind) {
            Some(Kind::Union(_)) => true,
            Some(Kind::Struct(info)) => info.name.contains("INDIRECT"),
            _ => false,
        }
    }

    /// The word.
    pub fn finish(self) -> Word {
        self.word
    }

    fn context(&self) -> Context {
        Context { opcode: self.opcode.name, layout: self.layout.name, generation: self.generation }
    }

    fn range(&self, range: RangeError) -> BuildError {
        BuildError::Range { at: self.context(), range: Box::new(range) }
    }

    fn kind(&self, field: &'static str, expected: &'static str) -> BuildError {
        BuildError::Kind { at: self.context(), field, expected }
    }

    fn info(&self, field: Field) -> Result<&'static FieldInfo, BuildError> {
        self.layout.field(field).ok_or(BuildError::NoField { at: self.context(), field: field.name() })
    }

    /// Gives a field its value.
    ///
    /// # Errors
    /// When the layout has no such field, or the value does not fit it.
    pub fn set<'v>(&mut self, field: Field, value: impl Into<Value<'v>>) -> Result<&mut Self, BuildError> {
        let info = self.info(field)?;
        self.set_at(info, 0, value.into())?;
        Ok(self)
    }

    /// Gives a member of an embedded struct its value, for example `("priority_class", 3)` of `Field::DmaConfigs`.
    ///
    /// # Errors
    /// As [`WordBuilder::set`].
    pub fn set_member<'v>(
        &mut self,
        field: Field,
        member: &str,
        value: impl Into<Value<'v>>,
    ) -> Result<&mut Self, BuildError> {
        let outer = self.info(field)?;
        let inner = match outer.kind {
            Kind::Struct(info) => info.fields.iter().find(|inner| inner.name == member),
            _ => None,
        };
        let inner = inner.ok_or_else(|| self.kind(outer.name, "a member of its struct"))?;
        self.set_at(inner, outer.at.into(), value.into())?;
        Ok(self)
    }

    /// Gives a struct or an array its value as a whole.
    ///
    /// # Errors
    /// When the layout has no such field, or one of another length.
    pub fn put<T: Pack>(&mut self, field: Field, value: T) -> Result<&mut Self, BuildError> {
        let info = self.info(field)?;
        if T::BYTES != info.bytes as usize {
            return Err(self.kind(info.name, "a value of its own length"));
        }
        value.store(&mut self.word.0, info.at.into());
        Ok(self)
    }

    fn set_at(&mut self, info: &'static FieldInfo, base: usize, value: Value<'_>) -> Result<(), BuildError> {
        let at = base + info.at as usize;
        let size = info.bytes as usize;
        match (info.kind, value) {
            (
                Kind::Uint
                | Kind::Int
                | Kind::Reg
                | Kind::Sem
                | Kind::Flag
                | Kind::Enum(_)
                | Kind::Flags(_)
                | Kind::Pair(_)
                | Kind::Imm(_),
                Value::Int(value),
            ) => store_number(&mut self.word.0, info, base, value).map_err(|range| self.range(range))?,
            (Kind::F32 | Kind::Imm(_), Value::Float(value)) => value.store(&mut self.word.0, at),
            (Kind::Imm(_) | Kind::Addr4, Value::Addr(addr)) => addr.store(&mut self.word.0, at),
            (Kind::Struct(StructInfo { shape: Shape::Addr4, .. }), Value::Addr(addr)) => {
                addr.store(&mut self.word.0, at)
            }
            (Kind::Name, Value::Text(text)) => {
                let limit = size - 1;
                if text.len() > limit || !text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
                    let (at, field) = (self.context(), info.name);
                    return Err(BuildError::Name { at, field, value: text.to_owned(), limit });
                }
                self.word.0[at..at + size].fill(0);
                self.word.0[at..at + text.len()].copy_from_slice(text.as_bytes());
            }
            (Kind::Bytes | Kind::Array(1, false) | Kind::Regs | Kind::Bitset, Value::Bytes(bytes))
                if bytes.len() <= size =>
            {
                self.word.0[at..at + size].fill(0);
                self.word.0[at..at + bytes.len()].copy_from_slice(bytes);
            }
            (kind, _) => return Err(self.kind(info.name, expected(kind))),
        }
        Ok(())
    }

    /// Fills a slot.
    ///
    /// # Errors
    /// When the layout has no such slot, the slot does not take the form, or a number does not fit; the error names slot,
    /// dimension and limit.
    pub fn slot(&mut self, field: Field, slot: &Slot) -> Result<&mut Self, BuildError> {
        let info = self.info(field)?;
        let at = info.at as usize;
        let (direct, indirect) = match info.kind {
            Kind::Struct(direct) => (Some(direct), Some(direct)),
            Kind::Union(union) => (Some(union.direct), Some(union.indirect)),
            _ => (None, None),
        };
        let named =
            |arm: Option<&'static StructInfo>, prefix: &str| arm.filter(|arm| arm.name.starts_with(prefix));
        let shape = direct.map(|direct| direct.shape);
        match (slot, shape) {
            (Slot::Pattern { addr, dims }, Some(Shape::Tensor(limit))) => {
                if addr.is_indirect() {
                    return Err(self.not_static(info, "the address"));
                }
                addr.store(&mut self.word.0, at);
                self.dims(info, at + 4, limit.into(), dims)?;
            }
            (Slot::Generator { base, dims }, Some(Shape::Generator)) => {
                let range = |value: i64| RangeError {
                    field: info.name,
                    value: value.into(),
                    min: i32::MIN.into(),
                    max: i32::MAX.into(),
                };
                let base = i32::try_from(*base).map_err(|_| self.range(range(*base)))?;
                base.store(&mut self.word.0, at);
                self.dims(info, at + 4, 4, dims)?;
            }
            (Slot::Indirect { index, data, count }, _) if named(indirect, "INDIRECT").is_some() => {
                self.fixed_address(info, "the index address", *index)?;
                self.fixed_address(info, "the data address", *data)?;
                self.word.0[at..at + info.bytes as usize].fill(0);
                index.indirect().store(&mut self.word.0, at);
                data.store(&mut self.word.0, at + 4);
                self.count(info, *count)?.store(&mut self.word.0, at + 8);
            }
            (Slot::Mx { data, scale, count, step, scale_partition }, _)
                if named(direct, "MXTENSOR").is_some() =>
            {
                self.fixed_address(info, "the data address", *data)?;
                self.fixed_address(info, "the scale address", *scale)?;
                let step = match step {
                    1 | -1 => *step as i8,
                    _ => {
                        let range =
                            Box::new(RangeError { field: info.name, value: (*step).into(), min: -1, max: 1 });
                        return Err(BuildError::Dimension {
                            at: self.context(),
                            part: "step",
                            dim: 0,
                            range,
                        });
                    }
                };
                let partition = self.scale_partition(info, *scale_partition)?;
                self.word.0[at..at + 16].fill(0);
                data.store(&mut self.word.0, at);
                scale.store(&mut self.word.0, at + 4);
                self.count(info, *count)?.store(&mut self.word.0, at + 8);
                step.store(&mut self.word.0, at + 10);
                partition.store(&mut self.word.0, at + 11);
            }
            (Slot::MxIndirect { index, data, scale, count, scale_partition }, _)
                if named(indirect, "MXINDIRECT").is_some() =>
            {
                self.fixed_address(info, "the index address", *index)?;
                self.fixed_address(info, "the data address", *data)?;
                self.fixed_address(info, "the scale address", *scale)?;
                let partition = self.scale_partition(info, *scale_partition)?;
                self.word.0[at..at + 16].fill(0);
                index.indirect().store(&mut self.word.0, at);
                data.store(&mut self.word.0, at + 4);
                scale.store(&mut self.word.0, at + 8);
                self.count(info, *count)?.store(&mut self.word.0, at + 12);
                partition.store(&mut self.word.0, at + 15);
            }
            _ => return Err(self.kind(info.name, expected(info.kind))),
        }
        Ok(self)
    }

    fn not_static(&self, info: &FieldInfo, part: &'static str) -> BuildError {
        BuildError::NotStatic { at: self.context(), field: info.name, part }
    }

    fn fixed_address(&self, info: &FieldInfo, part: &'static str, addr: Addr4) -> Result<(), BuildError> {
        if addr.0 & !Addr4::ADDRESS == 0 { Ok(()) } else { Err(self.not_static(info, part)) }
    }

    fn count(&self, info: &FieldInfo, count: i64) -> Result<u16, BuildError> {
        self.dimension(info, "count", 0, count, 1, 0xFFFF).map(|count| count as u16)
    }

    fn scale_partition(&self, info: &FieldInfo, partition: i64) -> Result<u8, BuildError> {
        self.dimension(info, "scale partition", 0, partition, 0, 31).map(|partition| partition as u8)
    }

    fn dimension(
        &self,
        info: &FieldInfo,
        part: &'static str,
        dim: usize,
        value: i64,
        min: i64,
        max: i64,
    ) -> Result<i64, BuildError> {
        if (min..=max).contains(&value) {
            return Ok(value);
        }
        let range =
            Box::new(RangeError { field: info.name, value: value.into(), min: min.into(), max: max.into() });
        Err(BuildError::Dimension { at: self.context(), part, dim, range })
    }

    fn dims(
        &mut self,
        info: &FieldInfo,
        at: usize,
        limit: usize,
        dims: &[(i64, i64)],
    ) -> Result<(), BuildError> {
        if dims.len() > limit {
            let (at, field) = (self.context(), info.name);
            return Err(BuildError::Dimensions { at, field, dims: dims.len(), limit });
        }
        let spare = (i64::from(self.layout.spare_step), 1);
        for dim in 0..limit {
            // A pattern of one element still counts its innermost dimension with step 1.
            let unused = if dim == 0 { (1, 1) } else { spare };
            let (step, count) = dims.get(dim).copied().unwrap_or(unused);
            let step = self.dimension(info, "step", dim, step, i16::MIN.into(), i16::MAX.into())? as i16;
            let count = self.dimension(info, "count", dim, count, 1, 0xFFFF)? as u16;
            step.store(&mut self.word.0, at + 2 * dim);
            count.store(&mut self.word.0, at + 2 * (limit + dim));
        }
        Ok(())
    }

    /// Gives the word its wait and its update.
    ///
    /// # Errors
    /// When an id does not exist, or both need the one value of the word and differ in it.
    pub fn sync(&mut self, wait: Option<Wait>, update: Option<Update>) -> Result<&mut Self, BuildError> {
        if self.layout.preamble == PreambleKind::None {
            return Err(BuildError::Sync { at: self.context(), error: SyncError::NoPreamble });
        }
        let mut preamble = Preamble::load(&self.word.0, 0);
        let set = preamble.set_sync(wait, update);
        set.map_err(|error| BuildError::Sync { at: self.context(), error })?;
        preamble.store(&mut self.word.0, 0);
        Ok(self)
    }

    /// Gives EVENT_SEMAPHORE its second wait, and its update, which has a value of its own here.
    ///
    /// # Errors
    /// When the word is another, or an id does not exist.
    pub fn sync_extended(
        &mut self,
        wait: Option<Wait>,
        update: Option<Update>,
    ) -> Result<&mut Self, BuildError> {
        let fail = |error| BuildError::Sync { at: self.context(), error };
        let field = self.layout.field(Field::EventsExtended).ok_or_else(|| fail(SyncError::NoSecondWait))?;
        let mut events = crate::EventsExtended::default();
        if let Some(wait) = wait {
            events.wait_mode = wait.mode;
            events.wait_idx = crate::sync::id(wait.id).map_err(fail)?;
            events.sem_wait_value = if wait.uses_value() { wait.value } else { 0 };
        }
        if let Some(update) = update {
            events.update_mode = update.mode;
            events.update_idx = crate::sync::id(update.id).map_err(fail)?;
            events.sem_update_value = if update.uses_value() { update.value } else { 0 };
        }
        events.store(&mut self.word.0, field.at.into());
        Ok(self)
    }

    /// Sets or clears bit 0 of the word length: QuantizeMx with saturation.
    pub fn set_saturating(&mut self, saturating: bool) -> &mut Self {
        self.word.0[1] = 0x10 | u8::from(saturating);
        self
    }
}

/// What a field takes, for messages.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Uint | Kind::Int | Kind::Flag => "a number",
        Kind::F32 => "a float",
        Kind::Reg => "a register id",
        Kind::Sem => "a semaphore id",
        Kind::Enum(_) | Kind::Flags(_) => "a code of its enum",
        Kind::Pair(_) => "two codes below 16 in one byte",
        Kind::Imm(_) => "a float, 32 bits or an address",
        Kind::Addr4 => "an address",
        Kind::Struct(info) => match info.shape {
            Shape::Tensor(_) => "a static access pattern",
            Shape::Generator => "a generator",
            Shape::Addr4 => "an address",
            Shape::PseudoAddr8 | Shape::Events | Shape::Record => "its struct as a whole or by member",
        },
        Kind::Union(_) => "an access pattern of its static or its indirect form",
        Kind::Array(..) | Kind::Regs | Kind::Bytes | Kind::Bitset => {
            "its bytes as a whole, at most as many as it has"
        }
        Kind::Name => "a string",
    }
}
