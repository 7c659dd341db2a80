//! How each operator is lowered, and how sure that is.

use klr::info::operator_name;
use klr::ir::{Access, BrCmpOp, DgeComputeOp, Dtype, Operator, TensorRef};

/// How much of a mapping is known from traces of the 2.24 backend (spec: klr 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Instruction and fields.
    Traced,
    /// The instruction and most fields; [`Mapping::choice`] says what is this crate's.
    Part,
    /// The instruction only; the fields are this crate's choice.
    Chosen,
}

impl Known {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Known::Traced => "traced",
            Known::Part => "traced in part",
            Known::Chosen => "our choice",
        }
    }
}

/// How an operator is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Name of the operator in the schema.
    pub operator: &'static str,
    /// The instruction, or instructions.
    pub bir: &'static str,
    /// How much is known.
    pub known: Known,
    /// What this crate chose where nothing is known, or where the backend leaves it open.
    pub choice: Option<&'static str>,
}

/// The mapping of an operator. An operator that has none is [`Known::Traced`] to an empty list.
#[must_use]
pub fn of(operator: &Operator<'_>) -> Mapping {
    let name = operator_name(operator);
    let none = Mapping { operator: name, bir: "", known: Known::Traced, choice: None };
    MAPPINGS.iter().find(|mapping| mapping.operator == name).copied().unwrap_or(none)
}

/// Whether what was chosen shows in an operator as it is.
pub(crate) fn shows(operator: &Operator<'_>) -> bool {
    match operator {
        Operator::NcDmaCopy(op) => op.compute_op == DgeComputeOp::Add,
        Operator::CmpBranch(op) => op.op == BrCmpOp::Always,
        Operator::TensorScalar(op) => matches!(dtype(&op.dst), Some(Dtype::Int64 | Dtype::Uint64)),
        Operator::Transpose(op) => dtype(&op.dst) != Some(Dtype::Float32),
        _ => true,
    }
}

fn dtype(reference: &TensorRef<'_>) -> Option<Dtype> {
    match reference {
        TensorRef::Abstract(Access::Simple(tensor)) => Some(tensor.dtype),
        TensorRef::Abstract(Access::BirPattern(access)) => {
            Some(access.dtype_override.unwrap_or(access.tensor.dtype))
        }
        TensorRef::Hbm(view) => Some(view.dtype),
        _ => None,
    }
}

macro_rules! mappings {
    ($($operator:literal $known:ident $bir:literal $($choice:literal)?;)*) => {
        /// The mappings of the 60 operators that have one, in the order of their kinds.
        pub static MAPPINGS: &[Mapping] = &[$(Mapping {
            operator: $operator,
            bir: $bir,
            known: Known::$known,
            choice: mappings!(@ $($choice)?),
        }),*];
    };
    (@) => { None };
    (@ $choice:literal) => { Some($choice) };
}

mappings! {
    "ncActivate" Part "Activation" "the fourth input, alpha, is an immediate 0, and the key scale repeats an immediate";
    "activationReduce" Part "Activation" "as ncActivate; reduceRes is the second output";
    "ncAffineSelect" Chosen "TensorScalarAffineSelect" "pred is base, pattern and channel_multiplier; onTrueTile is the input, onFalseValue is fill_value, cmpOp is compare_op";
    "batchNormAggregate" Traced "BNStatsAggregate";
    "batchNormStats" Traced "BNStats";
    "ncCopy" Traced "TensorCopy, TensorCopyDynamicSrc or TensorCopyDynamicDst";
    "copyPredicated" Traced "CopyPredicated";
    "ncDmaCopy" Part "DMACopy or GenericIndirectSave" "compute_op add is cce_op; a GenericIndirectSave takes the index tensor as its second input";
    "dmaTranspose" Traced "DMACopy";
    "dropout" Traced "Dropout";
    "findIndex8" Part "MaxIndex" "the inputs are vals, then src, in the order of the encoder";
    "iota" Chosen "Iota" "offset is base, the pairs are pattern, channelMultiplier is channel_multiplier";
    "ncLocalGather" Part "IndirectCopy" "num_valid_indices is numValidIndicies, 0 without it; numElemPerIdx has no place";
    "ncMatMul" Part "Matmult" "the accumulation that the backend works out by itself: the first product into a region of PSUM starts, the last one before it is used, or in its block, stops";
    "matchReplace8" Part "MatchReplace or MaxIndexAndMatchReplace" "the inputs are vals, then src, in the order of the encoder";
    "max8" Traced "Max";
    "memSet" Part "Memset" "the constant is the bits of the value";
    "ncRangeSelect" Chosen "RangeSelect" "the inputs are onTrueTile, bound0 and bound1; rangeStart is base, onFalseValue is fill_value, reduceRes is the second output";
    "reciprocal" Traced "Reciprocal";
    "ncScalarTensorTensor" Traced "TensorScalarPtr";
    "shuffle" Traced "StreamShuffle";
    "tensorReduce" Traced "TensorReduce";
    "tensorScalar" Part "TensorScalarPtr" "is_tensor_scalar_addr is set when the destination has 64-bit integers";
    "tensorTensor" Traced "TensorTensor";
    "tensorTensorScan" Traced "TensorScalarPtr";
    "tensorPartitionReduce" Traced "TensorReduce";
    "tensorScalarReduce" Traced "TensorScalarPtr";
    "transpose" Part "StreamTranspose or Matmult" "the identity matrix is a constant in SB, and the product starts and stops its own accumulation";
    "selectReduce" Part "CopyPredicated" "the inputs are predicate, onTrue and onFalse";
    "sequenceBounds" Traced "GetSequenceBounds";
    "sendRecv" Traced "CollectiveCompute";
    "tensorLoad" Traced "TensorLoad";
    "tensorStore" Traced "TensorSave";
    "registerMove" Traced "RegisterMove";
    "cmpBranch" Part "CompareAndBranch or UnconditionalBranch" "an unconditional branch goes to trueLabel";
    "registerAluOp" Traced "RegisterAlu";
    "quantizeMX" Traced "QuantizeMx";
    "ncMatMulMX" Part "MatmultMx" "the accumulation, as of ncMatMul";
    "dmaCompute" Part "DMACopy" "the mode is CCE, scales are constants, reduceOp is cce_op";
    "allReduce" Traced "CollectiveCompute";
    "allGather" Part "CollectiveCompute" "concatDim 0 is the partition dimension, all others are the free dimension";
    "reduceScatter" Part "CollectiveCompute" "concatDim, as of allGather";
    "collectivePermute" Traced "CollectiveCompute";
    "collectivePermuteImplicit" Traced "CollectiveCompute";
    "collectivePermuteImplicitReduce" Traced "CollectiveCompute";
    "allToAll" Traced "CollectiveCompute";
    "rankId" Traced "GetGlobalRankId";
    "currentProcessingRankId" Part "GetCurProcessingRankID" "the register is uint32; numChannels has no place";
    "coreBarrier" Part "CoreBarrier" "the id counts the barriers of the kernel";
    "rng" Traced "Memset";
    "rand2" Traced "Rand2";
    "randGetState" Traced "RandGetState";
    "setRngSeed" Part "SetRandState" "rng_engine is Unassigned";
    "randSetState" Traced "RandSetState";
    "tensorScalarCumulative" Traced "TensorScalarCache";
    "ncNGather" Traced "Gather";
    "nonzeroWithCount" Traced "NonzeroWithCount";
    "devicePrint" Traced "DevicePrint";
    "exponential" Traced "Exponential, and DveReadAccumulator for reduceRes";
    "activate2" Part "Activation" "the inputs are src, imm0, imm1 and reluParam; reduceRes is the second output";
}
