//! From BIR names to bytes, per generation. The inverse does not exist: several names may share a byte.

use crate::generated::maps as m;
use crate::generated::opcodes::Opcode;
use crate::layout::opcode;
use crate::word::Generation;
use crate::{
    AccumCmd, ActivationFuncId, AluOp, BranchCompareOp, CollectiveType, CrossLaneReduceOp, Dtype,
    EventSemaphoreClearMode, IndirectDim, PerfOpt, PoolType, RandAlgorithm, TensorSubDim, UpdateMode,
    WaitMode,
};

/// The bytes of one BIR enum.
pub(crate) struct BirMap {
    /// Name of the BIR enum.
    pub(crate) name: &'static str,
    /// Name of the wire enum.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares the bytes with the enum"))]
    pub(crate) wire: &'static str,
    /// What it is, for messages.
    pub(crate) what: &'static str,
    pub(crate) rows: &'static [Row],
}

/// A BIR name with its bytes on v2, v3 and v4.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) bytes: [Option<u8>; 3],
}

/// A BIR name that has no byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The enum has no such name.
    #[error("{name:?} is no {what} ({bir})")]
    UnknownName {
        /// The name asked for.
        name: String,
        /// What it should be.
        what: &'static str,
        /// The BIR enum.
        bir: &'static str,
    },
    /// The name has no byte on the generation.
    #[error("{what} {name} cannot be encoded on {generation}")]
    NoByte {
        /// The name asked for.
        name: String,
        /// What it is.
        what: &'static str,
        /// The generation asked for.
        generation: Generation,
    },
    /// The encoder of an opcode refuses the name, although others of the generation take it.
    #[error("{what} {name} cannot be encoded in {opcode} on {generation}")]
    NotInOpcode {
        /// The name asked for.
        name: String,
        /// What it is.
        what: &'static str,
        /// Mnemonic of the opcode.
        opcode: &'static str,
        /// The generation asked for.
        generation: Generation,
    },
}

impl BirMap {
    fn byte(&self, name: &str, generation: Generation) -> Result<u8, MapError> {
        let row = self.rows.iter().find(|row| row.name == name).ok_or_else(|| MapError::UnknownName {
            name: name.to_owned(),
            what: self.what,
            bir: self.name,
        })?;
        row.bytes.get(generation as usize).copied().flatten().ok_or_else(|| MapError::NoByte {
            name: name.to_owned(),
            what: self.what,
            generation,
        })
    }
}

macro_rules! from_bir {
    ($($(#[$meta:meta])* $Name:ident $MAP:ident;)*) => { $(
        impl $Name {
            $(#[$meta])*
            ///
            /// # Errors
            /// When BIR has no such name, or the encoder of the generation has no byte for it.
            pub fn from_bir(name: &str, generation: Generation) -> Result<$Name, MapError> {
                m::$MAP.byte(name, generation).map($Name)
            }
        }
    )* };
}

from_bir! {
    /// The byte of a BIR `AluOpType`. `RegisterAlu` and the collective words use the v2 bytes on every generation.
    AluOp ALU_OP_TYPE;
    /// The byte of a BIR `ActivationFunctionType`.
    ActivationFuncId ACTIVATION_FUNCTION_TYPE;
    /// The byte of a BIR `PoolFunctionType`.
    PoolType POOL_FUNCTION_TYPE;
    /// The byte of a BIR `EngineAccumulationType`.
    AccumCmd ENGINE_ACCUMULATION_TYPE;
    /// The byte of a BIR `MatmultPerfMode`.
    PerfOpt MATMULT_PERF_MODE;
    /// The byte of a BIR `AxisListType`. `XYZWC` and `C` have none: they choose the cross-lane words.
    TensorSubDim AXIS_LIST_TYPE;
    /// The byte of a BIR `IndirectDim`, which counts the other way round.
    IndirectDim INDIRECT_DIM;
    /// The byte of a BIR `EventSemaphoreClearMode`.
    EventSemaphoreClearMode EVENT_SEMAPHORE_CLEAR_MODE;
    /// The byte of a BIR `BranchCompareOp`.
    BranchCompareOp BRANCH_COMPARE_OP;
    /// The byte of a BIR `WaitMode`.
    WaitMode WAIT_MODE;
    /// The byte of a BIR `UpdateMode`.
    UpdateMode UPDATE_MODE;
    /// The byte of a BIR `CollectiveKind`.
    CollectiveType COLLECTIVE_KIND;
    /// The byte of a BIR `RandomAlgorithmKind`.
    RandAlgorithm RANDOM_ALGORITHM_KIND;
}

impl Dtype {
    /// The byte of a BIR `Dtype` in a word of `opcode`.
    ///
    /// On v4 only the opcodes that v4 adds use its own bytes, the others those of v2; on v3 the PE words, TensorTensor,
    /// RangeSelect and NonzeroWithCount refuse the three packed types (spec: isa-bundle.md 7).
    ///
    /// ```
    /// use tpb_isa::{Dtype, Generation, Opcode};
    ///
    /// let byte = |opcode| Dtype::from_bir("float4_e2m1fn_x4", opcode, Generation::V4);
    /// assert_eq!(byte(Opcode::MATMUL_MX), Ok(Dtype::FP4_EXP2));
    /// assert_eq!(byte(Opcode::COPY), Ok(Dtype::UINT16));
    /// assert!(Dtype::from_bir("float4_e2m1fn_x4", Opcode::MATMUL, Generation::V3).is_err());
    /// ```
    ///
    /// # Errors
    /// When BIR has no such name, or the encoder has no byte for it.
    pub fn from_bir(name: &str, code: Opcode, generation: Generation) -> Result<Dtype, MapError> {
        const OWN_ON_V3: [Opcode; 8] = [
            Opcode::LDWEIGHTS,
            Opcode::MATMUL,
            Opcode::LDTAGS,
            Opcode::MATMUL_SPARSE,
            Opcode::TENSOR_TENSOR_ARITH,
            Opcode::TENSOR_TENSOR_BITVEC,
            Opcode::RANGE_SELECT,
            Opcode::NONZERO_WITH_COUNT,
        ];
        let row = opcode(code.0, None);
        let added_by_v4 = row.is_some_and(|row| row.layout(Generation::V3).is_none());
        let body = if generation == Generation::V4 && !added_by_v4 { Generation::V2 } else { generation };
        let byte = m::DTYPE.byte(name, body)?;
        let packed = matches!(name, "float4_e2m1fn_x4" | "float8_e4m3fn_x4" | "float8_e5m2_x4");
        if generation == Generation::V3 && packed && OWN_ON_V3.contains(&code) {
            return Err(MapError::NotInOpcode {
                name: name.to_owned(),
                what: m::DTYPE.what,
                opcode: row.map_or(".word", |row| row.name),
                generation,
            });
        }
        Ok(Dtype(byte))
    }

    /// Container bytes of a BIR `Dtype`: 1 to 8; of a packed type those of the whole pack.
    pub fn bir_bytes(name: &str) -> Option<u32> {
        m::DTYPE_BYTES.iter().find(|(row, _)| *row == name).map(|(_, bytes)| u32::from(*bytes))
    }

    /// Alignment of an address of this element type in bytes, where one is known (spec: isa-bundle.md 2).
    pub fn alignment(self, generation: Generation) -> Option<u32> {
        match self.0 {
            2 | 3 | 13 | 14 | 15 => Some(1),
            16 if generation >= Generation::V4 => Some(1),
            4..=7 => Some(2),
            8..=11 => Some(4),
            1 | 12 => Some(8),
            _ => None,
        }
    }
}

impl AluOp {
    /// The integer form of a BIR `AluOpType`: v3 and later, TensorTensor on Pool with all-int32 operands.
    pub fn integer_from_bir(name: &str) -> Option<AluOp> {
        m::INTEGER_ALU_OP.iter().find(|(row, _)| *row == name).map(|(_, byte)| AluOp(*byte))
    }
}

impl CrossLaneReduceOp {
    /// The cross-lane reduction of a BIR `AluOpType`; no other operation has one.
    pub fn from_bir(name: &str) -> Option<CrossLaneReduceOp> {
        m::CROSS_LANE_REDUCE_OP.iter().find(|(row, _)| *row == name).map(|(_, byte)| CrossLaneReduceOp(*byte))
    }
}

/// The priority class bits of a BIR `DMAQoSClass`, 0..=7.
///
/// # Errors
/// When BIR has no such name, the generation has no classes, or the class does not fit the 3 bits of the field.
pub fn dma_priority_class(name: &str, generation: Generation) -> Result<u8, MapError> {
    match m::DMA_QO_S_CLASS.byte(name, generation)? {
        class @ 0..=7 => Ok(class),
        _ => Err(MapError::NoByte { name: name.to_owned(), what: m::DMA_QO_S_CLASS.what, generation }),
    }
}

/// The BIR `BranchCompareOp` that holds exactly when the given one does not.
pub fn negated_branch(name: &str) -> Option<&'static str> {
    m::NEGATED_BRANCH.iter().find(|(row, _)| *row == name).map(|(_, negated)| *negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_name_in_its_wire_enum() {
        let enums = [
            (&m::DTYPE, Dtype::info()),
            (&m::ALU_OP_TYPE, AluOp::info()),
            (&m::ACTIVATION_FUNCTION_TYPE, ActivationFuncId::info()),
            (&m::POOL_FUNCTION_TYPE, PoolType::info()),
            (&m::ENGINE_ACCUMULATION_TYPE, AccumCmd::info()),
            (&m::MATMULT_PERF_MODE, PerfOpt::info()),
            (&m::AXIS_LIST_TYPE, TensorSubDim::info()),
            (&m::INDIRECT_DIM, IndirectDim::info()),
            (&m::EVENT_SEMAPHORE_CLEAR_MODE, EventSemaphoreClearMode::info()),
            (&m::BRANCH_COMPARE_OP, BranchCompareOp::info()),
            (&m::WAIT_MODE, WaitMode::info()),
            (&m::UPDATE_MODE, UpdateMode::info()),
            (&m::COLLECTIVE_KIND, CollectiveType::info()),
            (&m::RANDOM_ALGORITHM_KIND, RandAlgorithm::info()),
        ];
        for (map, wire) in enums {
            assert_eq!(map.wire, wire.name);
            for row in map.rows {
                for (byte, generation) in row.bytes.iter().zip(Generation::ENCODABLE) {
                    let Some(byte) = byte else { continue };
                    let code = wire.code(*byte);
                    assert!(
                        code.is_some_and(|code| code.is_defined_on(generation)),
                        "{} {} is {byte} on {generation}",
                        map.name,
                        row.name
                    );
                }
            }
        }
    }

    #[test]
    fn names_without_a_byte_say_where() {
        let error = AluOp::from_bir("abs_max", Generation::V3).unwrap_err();
        assert_eq!(error.to_string(), "ALU operation abs_max cannot be encoded on v3");
        assert_eq!(AluOp::from_bir("abs_max", Generation::V4), Ok(AluOp::ABS_MAX));
        let error = Dtype::from_bir("float7", Opcode::COPY, Generation::V3).unwrap_err();
        assert_eq!(error.to_string(), "\"float7\" is no element type (Dtype)");
        assert!(AluOp::from_bir("average", Generation::V4).is_err());
        assert_eq!(CrossLaneReduceOp::from_bir("average").and_then(CrossLaneReduceOp::name), Some("average"));
        assert_eq!(dma_priority_class("P6", Generation::V4), Ok(7));
        assert!(dma_priority_class("P7", Generation::V4).is_err());
        assert!(dma_priority_class("P0", Generation::V2).is_err());
        assert_eq!(negated_branch("IS_LTIMM"), Some("IS_GEIMM"));
    }
}
