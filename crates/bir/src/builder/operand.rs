//! Operands: accesses to tensors, registers, and immediates.

use std::ops::{Bound, Range, RangeBounds};

use super::Tensor;
use crate::access::{AccessPattern, ApPair, Shape};
use crate::argument::{Argument, ImmNumber};
use crate::enums::{Dtype, MemoryType};
use crate::ids::{ExprId, RegId};
use crate::module::Module;
use crate::records::{
    DynamicApInfo, ImmArray, ImmValue, PhysicalAp, RegisterAccess, RegisterAp, SymbolicAp, SymbolicImmValue,
};

/// An operand of an instruction that is being built.
#[derive(Clone, Debug)]
pub enum Operand {
    /// An access to a tensor.
    Access(Access),
    /// Any operand, complete.
    Argument(Box<Argument>),
}

impl Operand {
    /// An immediate number.
    pub fn imm(dtype: Dtype, value: ImmNumber) -> Operand {
        let value = ImmValue { dtype: Some(dtype), value: Some(value), ..ImmValue::default() };
        Argument::from(value).into()
    }

    /// Immediate numbers.
    pub fn imm_array(dtype: Dtype, values: Vec<ImmNumber>) -> Operand {
        let values = ImmArray { dtype: Some(dtype), value_array: Some(values), ..ImmArray::default() };
        Argument::ImmArray(Box::new(values)).into()
    }

    /// An immediate number that is an expression.
    pub fn symbolic_imm(dtype: Dtype, expr: ExprId) -> Operand {
        let value = SymbolicImmValue { dtype: Some(dtype), expr: Some(expr), ..SymbolicImmValue::default() };
        Argument::SymbolicImmValue(Box::new(value)).into()
    }

    /// A register.
    pub fn register(register: RegId, dtype: Dtype) -> Operand {
        let access =
            RegisterAccess { dtype: Some(dtype), regref: Some(register.into()), ..RegisterAccess::default() };
        Argument::from(access).into()
    }

    pub(super) fn resolve(self, module: &Module) -> Argument {
        match self {
            Operand::Access(access) => access.resolve(module),
            Operand::Argument(argument) => *argument,
        }
    }
}

impl From<Access> for Operand {
    fn from(access: Access) -> Operand {
        Operand::Access(access)
    }
}

impl From<Argument> for Operand {
    fn from(argument: Argument) -> Operand {
        Operand::Argument(Box::new(argument))
    }
}

impl From<f32> for Operand {
    /// A float32 immediate.
    fn from(value: f32) -> Operand {
        Operand::imm(Dtype::Float32, ImmNumber::Float(value))
    }
}

impl From<i32> for Operand {
    /// An int32 immediate.
    fn from(value: i32) -> Operand {
        let number = u64::try_from(value).map_or(ImmNumber::Signed(value.into()), ImmNumber::Unsigned);
        Operand::imm(Dtype::Int32, number)
    }
}

/// An access to a tensor: which elements, and as what type.
#[derive(Clone, Debug)]
pub struct Access {
    tensor: Tensor,
    region: Region,
    dtype: Option<Dtype>,
    form: Form,
    dynamic: Option<Box<DynamicApInfo>>,
}

#[derive(Clone, Debug)]
pub(super) enum Region {
    All,
    Tile { rows: Range<u64>, columns: Range<u64> },
    Pattern { offset: u64, pattern: AccessPattern },
}

/// How the place of the access is said.
#[derive(Clone, Debug)]
enum Form {
    Physical,
    Symbolic(Vec<ExprId>),
    Register(RegId),
}

impl Access {
    pub(super) fn new(tensor: Tensor, region: Region) -> Access {
        Access { tensor, region, dtype: None, form: Form::Physical, dynamic: None }
    }

    pub(super) fn tile(
        tensor: Tensor,
        rows: impl RangeBounds<u64>,
        columns: impl RangeBounds<u64>,
    ) -> Access {
        Access::new(tensor, Region::Tile { rows: range(rows), columns: range(columns) })
    }

    /// Reads or writes the bytes as another type. Offset and steps of an explicit pattern count its elements;
    /// those of a tile are counted anew, so the row must hold a whole number of them.
    pub fn dtype(mut self, dtype: Dtype) -> Access {
        self.dtype = Some(dtype);
        self
    }

    /// Says the place by one expression for each dimension of the access pattern, in place of an offset: a
    /// `symbolic_ap`. spec: bir-json 8.2
    pub fn symbolic(mut self, addrs: impl Into<Vec<ExprId>>) -> Access {
        self.form = Form::Symbolic(addrs.into());
        self
    }

    /// Says the place by the address in a register, in place of an offset: a `register_ap`. spec: bir-json 8.2
    pub fn at_register(mut self, register: RegId) -> Access {
        self.form = Form::Register(register);
        self
    }

    /// Adds the companion of an indirect access.
    pub fn dynamic(mut self, info: DynamicApInfo) -> Access {
        self.dynamic = Some(Box::new(info));
        self
    }

    fn resolve(self, module: &Module) -> Argument {
        let Tensor { set, location } = self.tensor;
        let dtype = self.dtype.or(module[set].dtype);
        let (offset, pattern, shape) = self.geometry(module);
        match self.form {
            Form::Physical => Argument::from(PhysicalAp {
                ap: Some(pattern),
                offset,
                dtype,
                memref: Some(location.into()),
                memsetref: Some(set.into()),
                access_shape: shape,
                dynamic_ap_info: self.dynamic,
                ..PhysicalAp::default()
            }),
            Form::Symbolic(addrs) => Argument::SymbolicAp(Box::new(SymbolicAp {
                ap: Some(pattern),
                dtype,
                memsetref: Some(set.into()),
                addrs,
                access_shape: shape,
                ..SymbolicAp::default()
            })),
            Form::Register(register) => Argument::RegisterAp(Box::new(RegisterAp {
                ap: Some(pattern),
                dtype,
                memsetref: Some(set.into()),
                regref: Some(register.into()),
                ..RegisterAp::default()
            })),
        }
    }

    /// Offset, access pattern and logical shape. spec: bir-json 8.3
    fn geometry(&self, module: &Module) -> (u64, AccessPattern, Shape) {
        let set = &module[self.tensor.set];
        let location = &module[self.tensor.location];
        let bytes = |dtype: Option<Dtype>| dtype.and_then(Dtype::size_bytes).map_or(1, u64::from);
        let size = bytes(self.dtype.or(set.dtype));
        let rows = set.tensor_shape.get(0).unwrap_or(1);
        let row_bytes = match location.r#type {
            MemoryType::DRAM => location.bytes().unwrap_or(0).checked_div(rows).unwrap_or(0),
            _ => location.bytes().unwrap_or(0),
        };
        let pitch = row_bytes / size;
        let pair = |step: u64, num: u64| ApPair { step: step as i64, num: num as i64 };
        match &self.region {
            Region::Pattern { offset, pattern } => {
                let counts = pattern.iter().map(|pair| u64::try_from(pair.num).unwrap_or(0));
                (*offset, pattern.clone(), counts.collect())
            }
            Region::All if size == bytes(set.dtype) && set.tensor_shape.len() > 1 => {
                let mut pairs = vec![pair(pitch, rows)];
                let inner: Vec<u64> = set.tensor_shape.iter().skip(1).collect();
                for (i, num) in inner.iter().enumerate() {
                    pairs.push(pair(inner[i + 1..].iter().product(), *num));
                }
                (0, AccessPattern::new(&pairs), set.tensor_shape.clone())
            }
            Region::All => (0, [(pitch as i64, rows as i64), (1, pitch as i64)].into(), [rows, pitch].into()),
            Region::Tile { rows: tile_rows, columns } => {
                let (first, rows) = within(tile_rows, rows, "rows");
                let (start, columns) = within(columns, pitch, "columns");
                let pattern = AccessPattern::new(&[pair(pitch, rows), pair(1, columns)]);
                (first * pitch + start, pattern, [rows, columns].into())
            }
        }
    }
}

/// A range of any form; an open end is the largest number.
fn range(range: impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end + 1,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    start..end
}

/// Start and length of a range in a tensor of `limit` rows or columns.
fn within(range: &Range<u64>, limit: u64, what: &str) -> (u64, u64) {
    let end = if range.end == u64::MAX { limit } else { range.end };
    assert!(range.start < end && end <= limit, "{what} {}..{end} of a tensor that has {limit}", range.start);
    (range.start, end - range.start)
}
