//! A word in the making, filled from operands and keys; faults say which operand they are about.

use bir::access::AccessPattern;
use bir::enums::{AluOpType, EngineAccumulationType};
use bir::{Argument, ImmNumber};
use tpb_isa::build::{Slot, Value, WordBuilder};
use tpb_isa::{AccumCmd, Addr4, AluOp, Field, Generation, ImmSrc, ImmSrcN, Opcode, ReverseOps, Word};

use crate::context::Inst;
use crate::error::{On, Reason, Result, invalid};
use crate::operand::{Geometry, Operand};

/// A word of an instruction.
pub(crate) struct Draft<'c> {
    inst: Inst<'c>,
    opcode: Opcode,
    builder: WordBuilder,
}

/// How a scalar is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// As float32.
    Arith,
    /// As an integer of at least so many bytes.
    Bits(u64),
}

/// A scalar operand: what it is, and its four bytes.
#[derive(Clone, Copy)]
pub(crate) enum Scalar {
    Inline(u32),
    Pointer(Addr4),
    Register(u8),
}

impl Scalar {
    pub(crate) fn float(value: f32) -> Scalar {
        Scalar::Inline(value.to_bits())
    }

    fn source(self) -> ImmSrc {
        match self {
            Scalar::Inline(_) => ImmSrc(0),
            Scalar::Pointer(_) => ImmSrc(1),
            Scalar::Register(_) => ImmSrc(2),
        }
    }

    fn bytes(self) -> u32 {
        match self {
            Scalar::Inline(bits) => bits,
            Scalar::Pointer(addr) => addr.0,
            Scalar::Register(register) => register.into(),
        }
    }
}

impl<'c> Draft<'c> {
    pub(crate) fn new(inst: Inst<'c>, opcode: Opcode) -> Result<Draft<'c>> {
        Ok(Draft { inst, opcode, builder: WordBuilder::new(opcode, inst.generation())? })
    }

    /// The extension word behind a word.
    pub(crate) fn extension(inst: Inst<'c>, opener: Opcode) -> Result<Draft<'c>> {
        let builder = WordBuilder::extension(opener, inst.generation())?;
        Ok(Draft { inst, opcode: Opcode::PSEUDO_EXTENSION, builder })
    }

    pub(crate) fn opcode(&self) -> Opcode {
        self.opcode
    }

    pub(crate) fn finish(self) -> Word {
        self.builder.finish()
    }

    pub(crate) fn builder(&mut self) -> &mut WordBuilder {
        &mut self.builder
    }

    pub(crate) fn has(&self, field: Field) -> bool {
        self.builder.has(field)
    }

    pub(crate) fn set<'v>(&mut self, field: Field, value: impl Into<Value<'v>>) -> Result<&mut Self> {
        self.builder.set(field, value)?;
        Ok(self)
    }

    pub(crate) fn member<'v>(
        &mut self,
        field: Field,
        member: &str,
        value: impl Into<Value<'v>>,
    ) -> Result<&mut Self> {
        self.builder.set_member(field, member, value)?;
        Ok(self)
    }

    /// Fills a slot from an operand and gives back what that walks over.
    pub(crate) fn slot(&mut self, field: Field, operand: &Operand<'c>) -> Result<Geometry> {
        let geometry = operand.geometry()?;
        operand.check_alignment(&geometry, operand.dtype(self.opcode)?)?;
        self.slot_of(field, operand, &geometry)?;
        Ok(geometry)
    }

    fn slot_of(&mut self, field: Field, operand: &Operand<'c>, geometry: &Geometry) -> Result<()> {
        if let Some(index) = geometry.index {
            if !self.builder.takes_indirect(field) {
                let generation = self.inst.generation();
                return invalid(format!("slot {} has no indirect form on {generation}", field.name()))
                    .on(operand.at());
            }
            let slot = Slot::Indirect { index: index.addr, data: geometry.addr, count: index.count };
            self.builder.slot(field, &slot).on(operand.at())?;
            return Ok(());
        }
        let limit = self.builder.dimensions(field).unwrap_or(0);
        self.dims(field, operand, geometry.addr, &geometry.kept(limit))
    }

    /// Fills a slot with dimensions as they are, innermost first.
    pub(crate) fn dims(
        &mut self,
        field: Field,
        operand: &Operand<'c>,
        addr: Addr4,
        dims: &[(i64, i64)],
    ) -> Result<()> {
        let limit = self.builder.dimensions(field).unwrap_or(0);
        if dims.len() > limit {
            let opcode = tpb_isa::opcode(self.opcode.0, None).map_or(".word", |row| row.name);
            return Err(Reason::Dimensions { dims: dims.len(), slot: field.name(), opcode, limit })
                .on(operand.at());
        }
        self.builder.slot(field, &Slot::pattern(addr, dims)).on(operand.at())?;
        Ok(())
    }

    /// Fills a slot whose innermost dimensions count even when they have one element: those that an op reduces.
    pub(crate) fn slot_with_inner(
        &mut self,
        field: Field,
        operand: &Operand<'c>,
        inner: usize,
    ) -> Result<Geometry> {
        let geometry = operand.geometry()?;
        operand.check_alignment(&geometry, operand.dtype(self.opcode)?)?;
        let limit = self.builder.dimensions(field).unwrap_or(0);
        let pairs = geometry.dims.iter().rev().enumerate();
        let kept: Vec<_> = pairs
            .filter(|(at, dim)| *at < inner || dim.num != 1)
            .map(|(_, dim)| (dim.step, dim.num))
            .collect();
        if geometry.index.is_some() || kept.len() > limit {
            self.slot_of(field, operand, &geometry)?;
        } else {
            self.dims(field, operand, geometry.addr, &kept)?;
        }
        Ok(geometry)
    }

    /// A generator from a base and a pattern, outermost pair first.
    pub(crate) fn generator(
        &mut self,
        field: Field,
        base: i32,
        pattern: Option<&AccessPattern>,
    ) -> Result<()> {
        let pattern = pattern.ok_or(Reason::Unset("pattern"))?;
        let dims = pattern.iter().rev().filter(|pair| pair.num != 1);
        let dims = dims.map(|pair| (pair.step, pair.num)).collect();
        self.builder.slot(field, &Slot::Generator { base: base.into(), dims })?;
        Ok(())
    }

    pub(crate) fn dtype(&mut self, field: Field, operand: &Operand<'c>) -> Result<&mut Self> {
        let dtype = operand.dtype(self.opcode)?;
        self.builder.set(field, dtype).on(operand.at())?;
        Ok(self)
    }

    /// Two element types in one byte, each below 16. spec: isa-bundle 6
    pub(crate) fn dtype_pair(
        &mut self,
        field: Field,
        low: &Operand<'c>,
        high: &Operand<'c>,
    ) -> Result<&mut Self> {
        let nibble = |operand: &Operand<'c>| match operand.dtype(self.opcode)?.0 {
            code @ 0..16 => Ok(code),
            code => {
                let range =
                    Reason::Range { what: "type code in a pair", value: code.into(), min: 0, max: 15 };
                Err(range).on(operand.at())
            }
        };
        let pair = nibble(low)? | nibble(high)? << 4;
        self.set(field, pair)
    }

    pub(crate) fn channels(&mut self, geometry: &Geometry) -> Result<&mut Self> {
        self.set(Field::NumActiveChannels, geometry.channels)
    }

    pub(crate) fn alu(&mut self, field: Field, op: AluOpType) -> Result<&mut Self> {
        let op = AluOp::from_bir(self.inst.name(op)?, self.inst.generation())?;
        self.set(field, op)
    }

    pub(crate) fn accumulate(&mut self, field: Field, acc: EngineAccumulationType) -> Result<&mut Self> {
        let command = AccumCmd::from_bir(self.inst.name(acc)?, self.inst.generation())?;
        self.set(field, command)
    }

    pub(crate) fn reverse(&mut self, first: bool, second: bool) -> Result<&mut Self> {
        self.set(Field::ReverseOperands, ReverseOps(u8::from(first) | u8::from(second) << 1))
    }

    /// A scalar with its selector.
    pub(crate) fn scalar(&mut self, source: Field, field: Field, scalar: Scalar) -> Result<&mut Self> {
        self.set(source, scalar.source())?.set(field, scalar.bytes())
    }

    /// A scalar whose selector has the inverted polarity: the bias of Activate. spec: isa-bundle 6
    pub(crate) fn scalar_n(&mut self, source: Field, field: Field, scalar: Scalar) -> Result<&mut Self> {
        let code = match scalar {
            Scalar::Pointer(_) => ImmSrcN(0),
            Scalar::Inline(_) => ImmSrcN(1),
            Scalar::Register(_) => ImmSrcN(2),
        };
        self.set(source, code)?.set(field, scalar.bytes())
    }
}

impl<'c> Operand<'c> {
    /// The operand as a scalar: a number, one element in each partition, or a register. spec: isa-bundle 6
    pub(crate) fn scalar(&self, numbers: Numbers) -> Result<Scalar> {
        self.scalar_inner(numbers).on(self.at())
    }

    fn scalar_inner(&self, numbers: Numbers) -> Result<Scalar> {
        match self.argument {
            Argument::ImmValue(imm) => {
                let value = imm.value.ok_or(Reason::Unset("value"))?;
                self.number(value, numbers).map(Scalar::Inline)
            }
            Argument::RegisterAccess(_) => self.register().map(|(number, _)| Scalar::Register(number)),
            Argument::PhysicalAp(_) => {
                let geometry = self.geometry()?;
                if geometry.index.is_some() {
                    return invalid("a scalar in memory must have a plain address");
                }
                if geometry.elements() != 1 {
                    let elements = geometry.elements();
                    return invalid(format!("a scalar has one element in each partition, not {elements}"));
                }
                let align = match numbers {
                    Numbers::Arith => 4,
                    Numbers::Bits(_) => self.size()? as u32,
                };
                if !geometry.addr.0.is_multiple_of(align) {
                    return Err(Reason::Alignment { addr: geometry.addr.to_string(), align }.into());
                }
                Ok(Scalar::Pointer(geometry.addr))
            }
            other => invalid(format!(
                "a number, a register or one element a partition is expected, not {}",
                other.kind()
            )),
        }
    }

    /// The bits of an immediate.
    fn number(&self, value: ImmNumber, numbers: Numbers) -> Result<u32> {
        use bir::enums::Dtype;
        let dtype = self.bir_dtype()?;
        if numbers == Numbers::Arith {
            if dtype != Dtype::Float32 {
                let name = self.inst.name(dtype)?;
                return invalid(format!("an arithmetic immediate must be float32, not {name}"));
            }
            return Ok(float(value).to_bits());
        }
        let (Numbers::Bits(least), size) = (numbers, self.size()?) else { return Ok(0) };
        if size < least {
            return invalid(format!(
                "an immediate of a bit-vector op must be as wide as the data: {size} bytes, not {least}"
            ));
        }
        let whole: i128 = match (value, dtype) {
            (_, Dtype::Float32) => return Ok(float(value).to_bits()),
            (ImmNumber::Unsigned(value), _) => value.into(),
            (ImmNumber::Signed(value), _) => value.into(),
            (ImmNumber::Float(_), _) => return invalid("an immediate of a bit-vector op must be an integer"),
        };
        let bits = 8 * size.min(4) as u32;
        let (min, max) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
        if !(min..=max).contains(&whole) {
            return Err(Reason::Range { what: "the immediate", value: whole, min, max }.into());
        }
        // Zero-extended to 4 bytes.
        Ok((whole & ((1i128 << bits) - 1)) as u32)
    }

    /// The 32 bits of an immediate of any type.
    pub(crate) fn immediate(&self) -> Result<u64> {
        let Argument::ImmValue(imm) = self.argument else {
            return invalid(format!("a number is expected here, not {}", self.argument.kind())).on(self.at());
        };
        let value = imm.value.ok_or(Reason::Unset("value")).on(self.at())?;
        Ok(match (value, imm.dtype) {
            (_, Some(bir::enums::Dtype::Float32)) => float(value).to_bits().into(),
            (ImmNumber::Unsigned(value), _) => value,
            (ImmNumber::Signed(value), _) => value as u64,
            (ImmNumber::Float(value), _) => value.to_bits().into(),
        })
    }
}

fn float(value: ImmNumber) -> f32 {
    match value {
        ImmNumber::Unsigned(value) => value as f32,
        ImmNumber::Signed(value) => value as f32,
        ImmNumber::Float(value) => value,
    }
}

/// Whether a generation has the address table and the fields that v3 added.
pub(crate) fn is_v2(inst: Inst<'_>) -> bool {
    inst.generation() == Generation::V2
}
