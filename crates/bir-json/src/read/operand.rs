//! Operands: which kind one is stands anywhere among its keys. spec: bir-json 8

use bir::enums::Dtype;
use bir::records::{
    ImmArray, ImmValue, PhysicalAp, RegisterAccess, RegisterAp, SymbolicAp, SymbolicImmValue,
};
use bir::{Argument, Arguments, ImmNumber, OpenEnum};

use super::{OddityKind, Read, Reader};
use crate::error::{ReadErrorKind, Result};
use crate::number::Number;

impl Read for Argument {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        if r.lexer.peek() != b'{' {
            return r.lexer.wrong_type("an object: an operand");
        }
        let text = r.known_arguments.text(r);
        if let Some(known) = r.known_arguments.get(text) {
            r.lexer.seek(r.lexer.pos() + text.len());
            return Ok(known);
        }
        let (end, oddities, marks) = (r.lexer.pos() + text.len(), r.oddities.total(), r.marks);
        let argument = r.argument()?;
        // What was odd must be told of each operand, and an expression belongs to one. In a piece, names must be told
        // of each too.
        let is_plain = r.oddities.total() == oddities && (r.trace.is_none() || r.marks == marks);
        if r.lexer.pos() == end && is_plain && may_be_shared(&argument) {
            r.known_arguments.insert(text, &argument);
        }
        Ok(argument)
    }
}

/// Whether a copy of an operand shares its record.
fn may_be_shared(argument: &Argument) -> bool {
    let mut exprs = false;
    argument.fields().visit_exprs(&mut |_| exprs = true);
    !exprs && matches!(argument, Argument::PhysicalAp(_) | Argument::ImmValue(_))
}

impl Reader<'_> {
    /// Reads an operand whose text is new.
    fn argument(&mut self) -> Result<Argument> {
        let r = self;
        if let Some(access) = r.physical_access() {
            return Ok(Argument::from(access));
        }
        let start = r.lexer.pos();
        let (at, kind) = r.argument_kind()?;
        Ok(match &*kind {
            "physical_ap" => Argument::from(r.get::<PhysicalAp>()?),
            "symbolic_ap" => Argument::SymbolicAp(r.get()?),
            "symbolic_pwap" => {
                let mut argument: Box<SymbolicAp> = r.get()?;
                argument.pwap = true;
                Argument::SymbolicAp(argument)
            }
            "register_ap" => Argument::RegisterAp(r.get::<Box<RegisterAp>>()?),
            "imm_value" => {
                let mut argument: ImmValue = r.get()?;
                r.immediate(argument.dtype, argument.value.as_mut_slice(), start)?;
                Argument::from(argument)
            }
            "symbolic_imm_value" => {
                let mut argument: Box<SymbolicImmValue> = r.get()?;
                r.immediate(argument.dtype, &mut argument.value_list, start)?;
                Argument::SymbolicImmValue(argument)
            }
            "imm_array" => {
                let mut argument: Box<ImmArray> = r.get()?;
                match &mut argument.value_array {
                    Some(values) => r.immediate(argument.dtype, values, start)?,
                    None => return Err(ReadErrorKind::MissingKey("value_array").at(start)),
                }
                Argument::ImmArray(argument)
            }
            "register_access" => Argument::from(r.get::<RegisterAccess>()?),
            _ => {
                return Err(
                    ReadErrorKind::UnknownName { what: "Unsupported argument kind", name: kind }.at(at)
                );
            }
        })
    }
}

impl Read for ImmNumber {
    /// Any number; what it is depends on the dtype, which may come later.
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        match r.lexer.peek() {
            b'"' => f32::read(r).map(ImmNumber::Float),
            b'-' | b'0'..=b'9' => Ok(match r.lexer.number()? {
                Number::Unsigned(v) => ImmNumber::Unsigned(v),
                Number::Signed(v) => ImmNumber::Signed(v),
                // A whole number that 32 bits of float do not hold may be meant for an integer dtype.
                Number::Float(v) if v.fract() == 0.0 && f64::from(v as f32) != v => whole(v),
                Number::Float(v) => ImmNumber::Float(v as f32),
            }),
            _ => r.lexer.wrong_type("a number, or \"inf\", \"-inf\" or \"nan\""),
        }
    }
}

/// A whole number as an integer, or as a float when it is past 64 bits.
fn whole(v: f64) -> ImmNumber {
    if (0.0..1.8e19).contains(&v) {
        ImmNumber::Unsigned(v as u64)
    } else if (-9.2e18..0.0).contains(&v) {
        ImmNumber::Signed(v as i64)
    } else {
        ImmNumber::Float(v as f32)
    }
}

impl Reader<'_> {
    /// Operands of one list. An immediate that is no input goes to `misplaced`. spec: bir-json 8.1
    pub(super) fn arguments(&mut self, mut misplaced: Option<&mut Arguments>) -> Result<Arguments> {
        let mut list = Arguments::new();
        self.each_element("an array of operands", |r| {
            r.lexer.peek();
            let at = r.lexer.pos();
            let argument: Argument = r.get()?;
            match &mut misplaced {
                Some(misplaced) if argument.is_immediate() => {
                    r.oddity(OddityKind::MovedImmediate, at, || "immediate moved to the inputs".into());
                    misplaced.push(argument);
                }
                _ => list.push(argument),
            }
            Ok(())
        })?;
        list.shrink_to_fit();
        Ok(list)
    }

    /// The kind of the operand at the lexer, which does not move: documents have the key in any place.
    fn argument_kind(&mut self) -> Result<(usize, String)> {
        let start = self.lexer.pos();
        let mut ahead = self.lexer.clone();
        ahead.enter()?;
        let mut more = !ahead.take(b'}');
        while more {
            if ahead.key()? == "kind" {
                ahead.peek();
                let at = ahead.pos();
                if ahead.peek() != b'"' {
                    return ahead.wrong_type("a string: the kind of an operand");
                }
                return Ok((at, ahead.string()?.into_owned()));
            }
            ahead.skip_value()?;
            more = ahead.next_member()?;
        }
        Err(ReadErrorKind::MissingKey("kind").at(start))
    }

    /// Fits immediates to their dtype. spec: bir-json 8.2
    fn immediate(
        &mut self,
        dtype: Option<bir::enums::Dtype>,
        values: &mut [ImmNumber],
        at: usize,
    ) -> Result<()> {
        let Some(dtype) = dtype else { return Ok(()) };
        if dtype.is_known() && !dtype.is_immediate() {
            let name = dtype.text(&self.module.names).to_owned();
            return Err(ReadErrorKind::UnknownName { what: "unsupported dtype of an immediate", name }.at(at));
        }
        for value in values {
            *value = match (dtype, *value) {
                (Dtype::Float32, ImmNumber::Unsigned(v)) => ImmNumber::Float(v as f32),
                (Dtype::Float32, ImmNumber::Signed(v)) => ImmNumber::Float(v as f32),
                (Dtype::Float32 | Dtype::Other(_), value) => value,
                (_, ImmNumber::Float(v)) if v.fract() == 0.0 && (-9.2e18..1.8e19).contains(&v) => {
                    whole(v.into())
                }
                (_, ImmNumber::Float(_)) => {
                    return Err(ReadErrorKind::OutOfRange { expected: "an integer immediate" }.at(at));
                }
                (_, value) => value,
            };
        }
        Ok(())
    }
}
