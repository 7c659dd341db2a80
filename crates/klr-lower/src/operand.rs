//! Operands: references to tensors, immediates and registers as BIR arguments (spec: klr 7).

use bir::access::{AccessPattern, ApPair};
use bir::builder::{Operand as BirOperand, Tensor};
use bir::enums::{Dtype, IndirectDim};
use bir::expr::Expr;
use bir::ids::RegId;
use bir::records::{DynamicApInfo, DynamicApTerm, PhysicalAp, RegisterAccess};
use bir::{Argument, ImmNumber};
use klr::ir::{APPair, Access, BirAccessPattern, Immediate, Operand, ScalarOffset, TensorRef};

use crate::error::ProblemKind;
use crate::generated::maps;
use crate::lowerer::Lowerer;

pub(crate) type Result<T> = std::result::Result<T, ProblemKind>;

/// The access of a dynamic reference.
pub(crate) fn dynamic<'a>(side: &TensorRef<'a>) -> Option<&'a BirAccessPattern<'a>> {
    match side {
        TensorRef::Abstract(Access::BirPattern(access))
            if access.scalar_offset.is_some() || access.vector_offset.is_some() =>
        {
            Some(access)
        }
        _ => None,
    }
}

impl<'a> Lowerer<'a> {
    /// A tensor that is not accessed dynamically.
    pub(crate) fn tensor(&mut self, reference: &TensorRef<'a>) -> Result<Argument> {
        self.reference(reference, None)
    }

    /// A tensor that may be accessed dynamically; what holds the offsets goes to `indices`.
    pub(crate) fn dynamic_tensor(
        &mut self,
        reference: &TensorRef<'a>,
        indices: &mut Vec<Argument>,
    ) -> Result<Argument> {
        self.reference(reference, Some(indices))
    }

    pub(crate) fn tensors(&mut self, references: &[TensorRef<'a>]) -> Result<Vec<Argument>> {
        references.iter().map(|reference| self.tensor(reference)).collect()
    }

    pub(crate) fn optional(&mut self, reference: Option<&TensorRef<'a>>) -> Result<Option<Argument>> {
        reference.map(|reference| self.tensor(reference)).transpose()
    }

    fn reference(
        &mut self,
        reference: &TensorRef<'a>,
        indices: Option<&mut Vec<Argument>>,
    ) -> Result<Argument> {
        let form = match reference {
            TensorRef::Abstract(access) => return self.access(access, indices),
            TensorRef::Hbm(view) => {
                // One pair over the whole location.
                let tensor = self.tensors.bind_hbm(&mut self.module, view)?;
                let dtype = maps::dtype(view.dtype);
                let bytes = self.module[tensor.location].dims.as_ref().and_then(bir::access::Shape::product);
                let count = bytes.unwrap_or(0) / view.dtype.bytes();
                let count = number("count of elements", count)?;
                let pattern = AccessPattern::from([(1, count)]);
                return Ok(Argument::from(physical(tensor, 0, pattern, dtype)));
            }
            TensorRef::Sbuf(_) => "sbuf",
            TensorRef::Psum(_) => "psum",
            TensorRef::Reg(_) => "reg",
        };
        Err(ProblemKind::TensorForm { form })
    }

    fn access(&mut self, access: &Access<'a>, indices: Option<&mut Vec<Argument>>) -> Result<Argument> {
        match access {
            Access::Simple(tensor) => {
                // The backend takes one pair, over the partitions, and one element of each (spec: klr 7).
                if tensor.free_elements > 1 {
                    let message =
                        "a simple access takes the first element of each partition, as in the 2.24 backend";
                    self.note(message);
                }
                let location = self.tensors.bind(&mut self.module, tensor)?;
                let step = number("freeElements", tensor.free_elements)?;
                let rows = number("parDim", tensor.shape.par_dim)?;
                let pattern = AccessPattern::from([(step, rows), (1, 1), (1, 1), (1, 1)]);
                Ok(Argument::from(physical(location, 0, pattern, maps::dtype(tensor.dtype))))
            }
            Access::BirPattern(access) => self.pattern(access, indices),
            Access::Basic(_) => Err(ProblemKind::AccessForm { form: "basic", kind: 2 }),
            Access::Pattern(_) => Err(ProblemKind::AccessForm { form: "pattern", kind: 3 }),
        }
    }

    fn pattern(
        &mut self,
        access: &'a BirAccessPattern<'a>,
        indices: Option<&mut Vec<Argument>>,
    ) -> Result<Argument> {
        let location = self.tensors.bind(&mut self.module, access.tensor)?;
        let dtype = maps::dtype(access.dtype_override.unwrap_or(access.tensor.dtype));
        let mut argument = physical(location, access.offset, pairs(access.pattern)?, dtype);
        if access.scalar_offset.is_some() || access.vector_offset.is_some() {
            let indices = indices.ok_or(ProblemKind::Dynamic)?;
            argument.dynamic_ap_info = Some(Box::new(self.dynamic_info(access, &argument, indices)?));
        }
        Ok(Argument::from(argument))
    }

    /// The offset at run time: `c + coefficient * offset`, in elements.
    fn dynamic_info(
        &mut self,
        access: &'a BirAccessPattern<'a>,
        argument: &PhysicalAp,
        indices: &mut Vec<Argument>,
    ) -> Result<DynamicApInfo> {
        let dim = access.indirect_dim;
        if access.vector_offset.is_some() {
            if access.scalar_offset.is_some() {
                return Err(ProblemKind::TwoOffsets);
            }
            if dim != 0 {
                return Err(ProblemKind::VectorDim { dim });
            }
        }
        let (rows, coef) = stride(access)?;
        let term = &access.scalar_offset;
        let (expr, indirect) = match (term, &access.vector_offset) {
            (Some(ScalarOffset::Reg(register)), _) => {
                let register = self.register(register)?;
                (Expr::Register { regref: register.into() }, false)
            }
            (Some(ScalarOffset::Acc(index)), _) | (None, Some(index)) => {
                let arg_id = indices.len() as i64;
                let index = self.access(index, None)?;
                indices.push(index);
                (Expr::IndirectArg { arg_id }, true)
            }
            (None, None) => return Err(ProblemKind::Dynamic),
        };
        let offset_expr = Some(self.module.exprs.add(expr));
        let term = DynamicApTerm { offset_expr, coef: Some(coef), ..DynamicApTerm::default() };
        let max = if indirect { rows } else { 0 };
        let range = ProblemKind::Range { what: "count of rows", value: max.into() };
        Ok(DynamicApInfo {
            actual_ap: argument.ap.clone(),
            aff_expr: vec![term],
            c: number("offset", access.offset)?,
            indirect_dim: IndirectDim::W,
            indirect_dim_max_index: i32::try_from(max).map_err(|_| range)?,
            ..DynamicApInfo::default()
        })
    }

    /// A register that something writes.
    pub(crate) fn register(&mut self, name: &str) -> Result<RegId> {
        let found = self.registers.get(name).copied();
        found.ok_or_else(|| ProblemKind::Register { name: name.to_string() })
    }

    /// A register as an operand.
    pub(crate) fn register_operand(&mut self, name: &str, dtype: Dtype) -> Result<Argument> {
        let regref = Some(self.register(name)?.into());
        Ok(Argument::from(RegisterAccess { dtype: Some(dtype), regref, ..RegisterAccess::default() }))
    }

    /// An immediate or a tensor.
    pub(crate) fn operand(&mut self, operand: &Operand<'a>) -> Result<Argument> {
        match operand {
            Operand::Imm(immediate) => self.immediate(immediate),
            Operand::Tile(reference) => self.tensor(reference),
        }
    }

    pub(crate) fn optional_operand(&mut self, operand: Option<&Operand<'a>>) -> Result<Option<Argument>> {
        operand.map(|operand| self.operand(operand)).transpose()
    }

    /// An int32 or float32 immediate.
    pub(crate) fn immediate(&self, value: &Immediate) -> Result<Argument> {
        match value {
            Immediate::Int32(value) => int32("an immediate", *value),
            Immediate::Float32(value) => Ok(float32(value.value())),
            Immediate::Reg(_) => Err(ProblemKind::ImmediateForm { form: "reg" }),
            Immediate::Pointer => Err(ProblemKind::ImmediateForm { form: "pointer" }),
        }
    }
}

/// Size of the indirect dimension, and elements from one index along it to the next: the product of the dimensions
/// inside it.
fn stride(access: &BirAccessPattern<'_>) -> Result<(u64, i64)> {
    let shape = &access.tensor.shape;
    let dims: Vec<u64> = std::iter::once(&shape.par_dim).chain(shape.free_dims).copied().collect();
    let wrong = ProblemKind::IndirectDim { dim: access.indirect_dim, dims: dims.len() };
    let dim = usize::try_from(access.indirect_dim).ok().filter(|dim| *dim < dims.len()).ok_or(wrong)?;
    let product = dims[dim + 1..].iter().try_fold(1u64, |product, dim| product.checked_mul(*dim));
    let name = || access.tensor.name.to_string();
    let product = product.ok_or_else(|| ProblemKind::TensorSize { name: name() })?;
    Ok((dims[dim], number("coefficient", product)?))
}

/// An immediate that must be an integer.
pub(crate) fn integer(what: &'static str, value: &Immediate) -> Result<i64> {
    match value {
        Immediate::Int32(value) => Ok(*value),
        _ => Err(ProblemKind::NotAnInteger { what }),
    }
}

/// An immediate that must be a float32.
pub(crate) fn float(what: &'static str, value: &Immediate) -> Result<f32> {
    match value {
        Immediate::Float32(value) => Ok(value.value()),
        _ => Err(ProblemKind::NotAFloat { what }),
    }
}

pub(crate) fn int32(what: &'static str, value: i64) -> Result<Argument> {
    let value = i32::try_from(value).map_err(|_| ProblemKind::Range { what, value: value.into() })?;
    Ok(argument(BirOperand::from(value)))
}

pub(crate) fn float32(value: f32) -> Argument {
    argument(BirOperand::imm(Dtype::Float32, ImmNumber::Float(value)))
}

fn argument(operand: BirOperand) -> Argument {
    match operand {
        BirOperand::Argument(argument) => *argument,
        BirOperand::Access(_) => unreachable!("an immediate is complete"),
    }
}

/// A number as another integer type.
pub(crate) fn number<F, T>(what: &'static str, value: F) -> Result<T>
where
    F: Copy + Into<i128>,
    T: TryFrom<F>,
{
    T::try_from(value).map_err(|_| ProblemKind::Range { what, value: value.into() })
}

/// Pairs of a pattern in order; their own offsets have no place in BIR.
pub(crate) fn pairs(pattern: &[APPair]) -> Result<AccessPattern> {
    let pair =
        |pair: &APPair| Ok::<_, ProblemKind>(ApPair { step: pair.step, num: number("num", pair.num)? });
    pattern.iter().map(pair).collect()
}

fn physical(tensor: Tensor, offset: u64, pattern: AccessPattern, dtype: Dtype) -> PhysicalAp {
    let shape = pattern.iter().map(|pair| u64::try_from(pair.num).unwrap_or(0)).collect();
    PhysicalAp {
        ap: Some(pattern),
        offset,
        dtype: Some(dtype),
        memref: Some(tensor.location.into()),
        memsetref: Some(tensor.set.into()),
        access_shape: shape,
        ..PhysicalAp::default()
    }
}

/// A part of a tensor of the lowering's own: rows from the first one, and columns of each.
pub(crate) fn corner(tensor: Tensor, width: i64, rows: i64, columns: i64, dtype: Dtype) -> Argument {
    Argument::from(physical(tensor, 0, AccessPattern::from([(width, rows), (1, columns)]), dtype))
}
