//! IND, but for the dynamic offsets of DMA.

use bir::Argument;
use bir::builder::{Builder, NewTensor, Operand, Tensor};
use bir::enums::{
    ActivationFunctionType, AluOpType, ArchLevel, Dtype, EngineType, InstructionType, MemoryType,
};
use bir::expr::MaybeAffine::Value;
use bir::ops::{Activation, CopyPredicated, Matmult, TensorScalarPtr};
use bir::records::SymbolicAp;

use crate::Case;

const V4: ArchLevel = ArchLevel::CoreV4;
const F32: Dtype = Dtype::Float32;

/// A copy that gathers, good as it is.
struct Gather {
    data: MemoryType,
    dtype: Dtype,
    base: u32,
    /// Partitions, columns, type, memory and first partition of the indices.
    index: (u64, u64, Dtype, MemoryType, u32),
    count: i32,
    /// First row of the gathered data, and of the indices.
    rows: [u64; 2],
}

fn base() -> Gather {
    Gather {
        data: MemoryType::SB,
        dtype: F32,
        base: 0,
        index: (32, 4, Dtype::Uint16, MemoryType::SB, 0),
        count: 64,
        rows: [0, 0],
    }
}

fn tensor(
    b: &mut Builder<'_>,
    name: &str,
    at: u64,
    memory: MemoryType,
    columns: u64,
    dtype: Dtype,
) -> Tensor {
    let tensor = NewTensor::of(memory, name, [32, columns].into(), dtype);
    b.tensor(if memory == MemoryType::DRAM { tensor } else { tensor.at(at) })
}

/// An access whose elements an index tensor chooses.
fn chosen(b: &mut Builder<'_>, tensor: Tensor, dtype: Dtype, row: u64, count: i32) -> Operand {
    let addrs = vec![b.constant(row as i64), b.constant(0)];
    Argument::SymbolicAp(Box::new(SymbolicAp {
        ap: Some([(64, 32), (1, 64)].into()),
        dtype: Some(dtype),
        memsetref: Some(tensor.set.into()),
        addrs,
        tensor_indirect_arg_id: 0,
        num_tensor_indirect_indices: count,
        ..SymbolicAp::default()
    }))
    .into()
}

impl Gather {
    /// The gathered access and its indices.
    fn operands(&self, b: &mut Builder<'_>) -> (Operand, Operand) {
        let data = NewTensor::of(self.data, "data", [32, 64].into(), self.dtype);
        let data = b.tensor(if self.data == MemoryType::DRAM { data } else { data.at(0).base(self.base) });
        let (partitions, columns, dtype, memory, base) = self.index;
        let index = NewTensor::of(memory, "index", [partitions, columns].into(), dtype);
        let index = b.tensor(if memory == MemoryType::DRAM { index } else { index.at(16384).base(base) });
        let indices = match self.rows[1] {
            0 => index.all(),
            row => index.tile(row..partitions, ..),
        };
        (chosen(b, data, self.dtype, self.rows[0], self.count), indices.into())
    }
}

fn gather(b: &mut Builder<'_>, change: impl FnOnce(&mut Gather)) {
    let mut gather = base();
    change(&mut gather);
    let (data, index) = gather.operands(b);
    let to = tensor(b, "to", 32768, MemoryType::SB, 64, gather.dtype);
    b.plain_inst("copy", EngineType::DVE, InstructionType::TensorCopy).input(data).index(index).output(to);
}

/// An activation that scatters.
fn scatter(b: &mut Builder<'_>, memory: MemoryType, step: i64) {
    let from = tensor(b, "from", 0, MemoryType::SB, 128, F32);
    let to = tensor(b, "to", 0, memory, 64, F32);
    let to = if memory == MemoryType::SB { tensor(b, "to_sb", 32768, memory, 64, F32) } else { to };
    let index = tensor(b, "index", 16384, MemoryType::SB, 4, Dtype::Uint16);
    let to = chosen(b, to, F32, 0, 64);
    let keys = Activation { func: ActivationFunctionType::Exp, ..Activation::default() };
    b.inst("act", EngineType::Activation, keys)
        .inputs([
            from.pattern(0, [(128, 32), (step, 64)]).into(),
            0.0_f32.into(),
            1.0_f32.into(),
            0.0_f32.into(),
        ])
        .index(index)
        .output(to);
}

/// A matmul with a moving operand that is gathered.
fn matmul(b: &mut Builder<'_>, dtype: Dtype, change: impl FnOnce(&mut Matmult)) {
    let mut keys = Matmult { accumulation_flag: Value(3), ..Matmult::default() };
    change(&mut keys);
    let is_transpose = keys.is_transpose == true;
    let (moving, index) = Gather { dtype, ..base() }.operands(b);
    let stationary = tensor(b, "stationary", 32768, MemoryType::SB, 32, dtype);
    let result = tensor(b, "result", 0, MemoryType::PSUM, 64, if is_transpose { dtype } else { F32 });
    b.inst("mm", EngineType::PE, keys).input(moving).input(stationary).index(index).output(result);
}

/// A predicated copy of a tensor, or a scaled one, of gathered data.
fn other(b: &mut Builder<'_>, predicated: bool) {
    let (data, index) = base().operands(b);
    let to = tensor(b, "to", 32768, MemoryType::SB, 64, F32);
    if predicated {
        let predicate = tensor(b, "predicate", 65536, MemoryType::SB, 64, Dtype::Uint8);
        b.inst("copy", EngineType::DVE, CopyPredicated::default())
            .input(predicate)
            .input(data)
            .index(index)
            .output(to);
    } else {
        let keys = TensorScalarPtr { op0: AluOpType::Mult, ..TensorScalarPtr::default() };
        b.inst("scale", EngineType::DVE, keys).input(data).input(2.0_f32).index(index).output(to);
    }
}

macro_rules! case {
    ($rule:literal, $bad:expr) => {
        Case { rule: $rule, arch: V4, bad: |b| gather(b, $bad), good: |b| gather(b, |_| ()) }
    };
    ($rule:literal, $bad:expr, $good:expr) => {
        Case { rule: $rule, arch: V4, bad: $bad, good: $good }
    };
}

const BF16: Dtype = Dtype::Bfloat16;

pub(crate) const CASES: &[Case] = &[
    Case {
        rule: "IND-01",
        arch: ArchLevel::Gen3,
        bad: |b| gather(b, |_| ()),
        good: |b| _ = b.plain_inst("nop", EngineType::SP, InstructionType::NoOp).id(),
    },
    case!("IND-01", |gather| (gather.index.0, gather.rows[1]) = (48, 16)),
    case!("IND-01", |gather| gather.rows[0] = 4),
    case!("IND-01", |b| scatter(b, MemoryType::PSUM, 1), |b| scatter(b, MemoryType::SB, 1)),
    case!("IND-01", |b| matmul(b, BF16, |keys| keys.tile_size = [Value(32), Value(32)]), |b| matmul(
        b,
        BF16,
        |_| ()
    )),
    case!("IND-01", |b| matmul(b, BF16, |keys| keys.is_transpose = Value(true)), |b| matmul(b, BF16, |_| ())),
    case!("IND-04", |gather| gather.data = MemoryType::DRAM),
    case!("IND-04", |gather| gather.index.2 = Dtype::Int16),
    case!("IND-04", |gather| gather.index.3 = MemoryType::PSUM),
    case!("IND-04", |gather| gather.index.0 = 40),
    case!("IND-05", |gather| gather.index.4 = 32),
    case!("IND-06", |b| matmul(b, F32, |_| ()), |b| matmul(b, BF16, |_| ())),
    case!("IND-06", |b| other(b, true), |b| other(b, false)),
    case!("IND-07", |gather| gather.index.0 = 16),
    case!("IND-07", |gather| gather.count = 65),
    case!("IND-07", |b| scatter(b, MemoryType::SB, 2), |b| scatter(b, MemoryType::SB, 1)),
];
