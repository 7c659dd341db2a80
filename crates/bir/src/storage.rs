//! Storage of a function: logical tensors with their placements, registers, and aliases. spec: bir-json 5

use crate::generated::enums::{MemoryType, TensorClass, TensorKind};
use crate::generated::records::{MemoryLocation, MemoryLocationSet};
use crate::ids::{LocId, RegId, SetId};

/// One entry of a function's `allocations`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// A memory-location set.
    Set(SetId),
    /// A register.
    Register(RegId),
}

/// An alias of a memory location. Both ends hold one. spec: bir-json 5.4
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AliasEdge {
    /// The other location.
    pub to: LocId,
    /// 3-bit mask; 1 and 3 are seen: may and must alias.
    pub kind: u8,
}

impl MemoryLocationSet {
    /// The class of a set whose document does not say it. spec: bir-json 5.1
    pub fn default_class(kind: Option<TensorKind>) -> TensorClass {
        match kind {
            Some(TensorKind::Internal) => TensorClass::NeuronSBTensor,
            _ => TensorClass::Tensor,
        }
    }
}

impl MemoryLocation {
    /// Whether `addr`, `bank` and `base` say where the location lies: an explicit `allocated` decides; without
    /// it, a location with an address in SB, PSUM or DRAM is placed. spec: bir-json 5
    pub fn is_placed(&self) -> bool {
        if self.allocated || self.present.has(MemoryLocation::ALLOCATED) {
            return self.allocated;
        }
        let placeable = matches!(self.r#type, MemoryType::DRAM | MemoryType::SB | MemoryType::PSUM);
        placeable && (self.addr != 0 || self.present.has(MemoryLocation::ADDR))
    }

    /// Partitions of an SB or PSUM location.
    pub fn partitions(&self) -> Option<u64> {
        self.dims.as_ref()?.get(0)
    }

    /// Bytes in each partition of an SB or PSUM location; bytes in all of a DRAM location.
    pub fn bytes(&self) -> Option<u64> {
        let dims = self.dims.as_ref()?;
        match self.r#type {
            MemoryType::DRAM => dims.product(),
            _ => dims.get(1),
        }
    }
}
