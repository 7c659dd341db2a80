//! Conditions of the tables on instructions, with three values: an affine value or an unknown name decides nothing.

use std::fmt;

use crate::expr::MaybeAffine;
use crate::generated::enums::Dtype;
use crate::inst::Instruction;
use crate::open_enum::OpenEnum;

/// A condition on instructions of one op, written in the terms that the header of `spec/opcodes.toml` explains.
#[derive(Clone, Copy)]
pub struct Condition {
    code: &'static str,
    test: fn(&Instruction) -> Option<bool>,
}

impl Condition {
    /// Holds of every instruction.
    pub(crate) const ALWAYS: Condition = Condition::new("", |_| Some(true));

    pub(crate) const fn new(code: &'static str, test: fn(&Instruction) -> Option<bool>) -> Condition {
        Condition { code, test }
    }

    /// The condition as the table has it; empty when it always holds.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Whether it holds of an instruction. `None` when that depends on an affine value, an unknown name or an
    /// unset key, or when the instruction has another op.
    pub fn holds(&self, inst: &Instruction) -> Option<bool> {
        (self.test)(inst)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({:?})", self.code)
    }
}

/// A value as far as it is known before the program runs.
pub(crate) trait Constant<T> {
    fn constant(self) -> Option<T>;
}

impl Constant<bool> for bool {
    fn constant(self) -> Option<bool> {
        Some(self)
    }
}

impl<T: Copy> Constant<T> for MaybeAffine<T> {
    fn constant(self) -> Option<T> {
        self.value()
    }
}

pub(crate) fn all<const N: usize>(terms: [Option<bool>; N]) -> Option<bool> {
    if terms.contains(&Some(false)) {
        return Some(false);
    }
    (!terms.contains(&None)).then_some(true)
}

pub(crate) fn any<const N: usize>(terms: [Option<bool>; N]) -> Option<bool> {
    not(all(terms.map(not)))
}

pub(crate) fn not(term: Option<bool>) -> Option<bool> {
    term.map(|value| !value)
}

pub(crate) fn flag(value: impl Constant<bool>) -> Option<bool> {
    value.constant()
}

pub(crate) fn bit_of<T: Copy + Into<u64>>(value: MaybeAffine<T>, mask: u64) -> Option<bool> {
    Some(value.value()?.into() & mask != 0)
}

pub(crate) fn has_entry<T: Copy + Into<u64>>(list: Option<&[MaybeAffine<T>]>, wanted: u64) -> Option<bool> {
    let list = list?;
    if list.iter().any(|entry| entry.value().map(Into::into) == Some(wanted)) {
        return Some(true);
    }
    list.iter().all(|entry| entry.value().is_some()).then_some(false)
}

pub(crate) fn is_one_of<E: OpenEnum>(value: Option<E>, names: &[E]) -> Option<bool> {
    let value = value?;
    value.is_known().then(|| names.contains(&value))
}

pub(crate) fn dtype_is(inst: &Instruction, input: usize, dtype: Dtype) -> Option<bool> {
    is_one_of(inst.ins.get(input)?.dtype(), &[dtype])
}

/// Whether the first output has fewer partitions.
pub(crate) fn partitions_below(inst: &Instruction, limit: i64) -> Option<bool> {
    Some(inst.outs.first()?.access_pattern()?.get(0)?.num < limit)
}

pub(crate) fn dtype_is_that_of_output(inst: &Instruction, input: usize) -> Option<bool> {
    is_one_of(inst.ins.get(input)?.dtype(), &[inst.outs.first()?.dtype()?])
}
