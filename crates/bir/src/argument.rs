//! Operands of an instruction. spec: bir-json 8

use smallvec::SmallVec;

use crate::access::AccessPattern;
use crate::generated::enums::Dtype;
use crate::generated::records::{
    ImmArray, ImmValue, PhysicalAp, RegisterAccess, RegisterAp, SymbolicAp, SymbolicImmValue,
};
use crate::ids::{LocId, Ref, RegId, SetId};
use crate::record::{FieldType, Fields, RefVisitor};
use crate::shared::Shared;
use crate::value::Extra;

/// A number of an immediate. Floats occur for float32 only; the 16-bit float types are raw bit patterns.
/// spec: bir-json 8.2
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ImmNumber {
    /// A non-negative integer.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// A float32.
    Float(f32),
}

/// Operands of one list of an instruction. Most lists are short, so two have room in the instruction itself.
pub type Arguments = SmallVec<[Argument; 2]>;

/// One operand. Accesses and numbers may be shared with other instructions, see [`Shared`].
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// `physical_ap`: an access to a memory location.
    PhysicalAp(Shared<PhysicalAp>),
    /// `symbolic_ap`, `symbolic_pwap`: an access whose place is an expression.
    SymbolicAp(Box<SymbolicAp>),
    /// `register_ap`: an access whose address is in a register.
    RegisterAp(Box<RegisterAp>),
    /// `imm_value`: a number.
    ImmValue(Shared<ImmValue>),
    /// `symbolic_imm_value`: numbers and an expression.
    SymbolicImmValue(Box<SymbolicImmValue>),
    /// `imm_array`: numbers.
    ImmArray(Box<ImmArray>),
    /// `register_access`: a register.
    RegisterAccess(Box<RegisterAccess>),
}

macro_rules! from_records {
    ($($record:ident)*) => {$(
        impl From<$record> for Argument {
            fn from(record: $record) -> Argument {
                Argument::$record(record.into())
            }
        }
    )*};
}
from_records! { PhysicalAp SymbolicAp RegisterAp ImmValue SymbolicImmValue ImmArray RegisterAccess }

macro_rules! each {
    ($self:expr, $arg:ident => $value:expr) => {
        match $self {
            Argument::PhysicalAp($arg) => $value,
            Argument::SymbolicAp($arg) => $value,
            Argument::RegisterAp($arg) => $value,
            Argument::ImmValue($arg) => $value,
            Argument::SymbolicImmValue($arg) => $value,
            Argument::ImmArray($arg) => $value,
            Argument::RegisterAccess($arg) => $value,
        }
    };
}

impl Argument {
    /// The `kind` string of the document.
    pub fn kind(&self) -> &'static str {
        match self {
            Argument::PhysicalAp(_) => "physical_ap",
            Argument::SymbolicAp(arg) if arg.pwap => "symbolic_pwap",
            Argument::SymbolicAp(_) => "symbolic_ap",
            Argument::RegisterAp(_) => "register_ap",
            Argument::ImmValue(_) => "imm_value",
            Argument::SymbolicImmValue(_) => "symbolic_imm_value",
            Argument::ImmArray(_) => "imm_array",
            Argument::RegisterAccess(_) => "register_access",
        }
    }

    /// Whether it is one of the three immediate kinds, which are always inputs.
    pub fn is_immediate(&self) -> bool {
        matches!(self, Argument::ImmValue(_) | Argument::SymbolicImmValue(_) | Argument::ImmArray(_))
    }

    /// Type of its elements.
    pub fn dtype(&self) -> Option<Dtype> {
        each!(self, arg => arg.dtype)
    }

    /// Its access pattern, outermost dimension first.
    pub fn access_pattern(&self) -> Option<&AccessPattern> {
        match self {
            Argument::PhysicalAp(arg) => arg.ap.as_ref(),
            Argument::SymbolicAp(arg) => arg.ap.as_ref(),
            Argument::RegisterAp(arg) => arg.ap.as_ref(),
            _ => None,
        }
    }

    /// The memory location it names.
    pub fn location(&self) -> Option<Ref<LocId>> {
        match self {
            Argument::PhysicalAp(arg) => arg.memref,
            _ => None,
        }
    }

    /// The memory-location set it names.
    pub fn location_set(&self) -> Option<Ref<SetId>> {
        match self {
            Argument::PhysicalAp(arg) => arg.memsetref,
            Argument::SymbolicAp(arg) => arg.memsetref,
            Argument::RegisterAp(arg) => arg.memsetref,
            _ => None,
        }
    }

    /// The register it names.
    pub fn register(&self) -> Option<Ref<RegId>> {
        match self {
            Argument::RegisterAp(arg) => arg.regref,
            Argument::RegisterAccess(arg) => arg.regref,
            _ => None,
        }
    }

    /// Its keys, for reflection.
    pub fn fields(&self) -> &dyn Fields {
        match self {
            Argument::PhysicalAp(arg) => &**arg,
            Argument::SymbolicAp(arg) => &**arg,
            Argument::RegisterAp(arg) => &**arg,
            Argument::ImmValue(arg) => &**arg,
            Argument::SymbolicImmValue(arg) => &**arg,
            Argument::ImmArray(arg) => &**arg,
            Argument::RegisterAccess(arg) => &**arg,
        }
    }

    /// Members that the table does not know.
    pub fn extra(&self) -> &Extra {
        each!(self, arg => &arg.extra)
    }

    /// Members that the table does not know, to change them.
    pub fn extra_mut(&mut self) -> &mut Extra {
        each!(self, arg => &mut arg.extra)
    }

    /// Visits its references.
    pub fn visit_refs(&mut self, visitor: &mut dyn RefVisitor) {
        each!(self, arg => arg.visit_refs(visitor));
    }
}
