//! Tensors: a memory-location set with its placement, described and added in one call.

use std::ops::RangeBounds;

use super::operand::{Access, Region};
use super::{Builder, Operand};
use crate::access::Shape;
use crate::enums::{Dtype, MemoryAddressSpace, MemoryType, TensorKind};
use crate::ids::{LocId, SetId};
use crate::records::{MemoryLocation, MemoryLocationSet};

/// A tensor with one placement: a memory-location set and a memory location of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tensor {
    /// The set.
    pub set: SetId,
    /// The location.
    pub location: LocId,
}

impl Tensor {
    /// All of the tensor.
    pub fn all(self) -> Access {
        Access::new(self, Region::All)
    }

    /// Rows of the first dimension (partitions, in SB and PSUM) and columns of the rest, in elements. The rest
    /// counts as one dimension.
    pub fn tile(self, rows: impl RangeBounds<u64>, columns: impl RangeBounds<u64>) -> Access {
        Access::tile(self, rows, columns)
    }

    /// An explicit access pattern of pairs (step, num), outermost first. Offset and steps count elements.
    pub fn pattern<const N: usize>(self, offset: u64, pairs: [(i64, i64); N]) -> Access {
        Access::new(self, Region::Pattern { offset, pattern: pairs.into() })
    }
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Operand {
        tensor.all().into()
    }
}

impl From<Tensor> for Access {
    fn from(tensor: Tensor) -> Access {
        tensor.all()
    }
}

/// Description of a tensor that is to be added.
#[derive(Clone, Debug)]
pub struct NewTensor {
    name: String,
    shape: Shape,
    dtype: Dtype,
    memory: MemoryType,
    kind: TensorKind,
    addr_space: MemoryAddressSpace,
    place: Option<Place>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Place {
    addr: u64,
    base: u32,
    bank: i64,
}

impl NewTensor {
    /// A tensor in DRAM, not yet placed. Its shape is in elements.
    pub fn dram(name: &str, shape: impl Into<Shape>, dtype: Dtype) -> NewTensor {
        NewTensor::of(MemoryType::DRAM, name, shape.into(), dtype)
    }

    /// A tensor in the state buffer, not yet placed. The first dimension is the partitions.
    pub fn sb(name: &str, shape: impl Into<Shape>, dtype: Dtype) -> NewTensor {
        NewTensor::of(MemoryType::SB, name, shape.into(), dtype)
    }

    /// A tensor in PSUM, not yet placed. The first dimension is the partitions.
    pub fn psum(name: &str, shape: impl Into<Shape>, dtype: Dtype) -> NewTensor {
        NewTensor::of(MemoryType::PSUM, name, shape.into(), dtype)
    }

    /// A tensor of another memory type, such as the Input, Output and Unallocated of front ends.
    pub fn of(memory: MemoryType, name: &str, shape: Shape, dtype: Dtype) -> NewTensor {
        NewTensor {
            name: name.to_owned(),
            shape,
            dtype,
            memory,
            kind: TensorKind::Internal,
            addr_space: MemoryAddressSpace::Local,
            place: None,
        }
    }

    /// The tensor is an input of the kernel.
    pub fn input(self) -> NewTensor {
        self.kind(TensorKind::ExternalInput)
    }

    /// The tensor is an output of the kernel.
    pub fn output(self) -> NewTensor {
        self.kind(TensorKind::ExternalOutput)
    }

    /// Its role; Internal unless said.
    pub fn kind(mut self, kind: TensorKind) -> NewTensor {
        self.kind = kind;
        self
    }

    /// Its address space; Local unless said. Matters in DRAM only.
    pub fn addr_space(mut self, space: MemoryAddressSpace) -> NewTensor {
        self.addr_space = space;
        self
    }

    /// Places it at a byte address: within each partition, in SB and PSUM.
    pub fn at(mut self, addr: u64) -> NewTensor {
        self.place.get_or_insert_default().addr = addr;
        self
    }

    /// Places its first row on a partition: 0, 32, 64 or 96.
    pub fn base(mut self, partition: u32) -> NewTensor {
        self.place.get_or_insert_default().base = partition;
        self
    }

    /// Places it in a PSUM bank.
    pub fn bank(mut self, bank: i64) -> NewTensor {
        self.place.get_or_insert_default().bank = bank;
        self
    }

    /// Partitions and bytes of each in SB and PSUM, bytes in all elsewhere; `None` when 64 bits do not hold them,
    /// or when the dtype has no known size.
    fn dims(&self) -> Option<Shape> {
        let size = u64::from(self.dtype.size_bytes()?);
        let bytes = self.shape.product()?.checked_mul(size)?;
        Some(match self.memory {
            MemoryType::DRAM => [bytes].into(),
            _ => {
                let partitions = self.shape.get(0).unwrap_or(1);
                [partitions, bytes.checked_div(partitions).unwrap_or(0)].into()
            }
        })
    }
}

impl Builder<'_> {
    /// Adds a tensor to the storage of the function: a set called `<name>_set` with one location called `<name>`.
    ///
    /// A location in SB, PSUM or DRAM without a place is marked as not allocated, because its address, which every
    /// document has, would otherwise be one. spec: bir-json 5
    ///
    /// # Panics
    /// When the shape has more than 2^64 bytes or the dtype no known size.
    pub fn tensor(&mut self, tensor: NewTensor) -> Tensor {
        let dims = tensor.dims().expect("a tensor has less than 2^64 bytes");
        let set = self.tensor_set(&tensor);
        let name = tensor.name.clone();
        Tensor { set, location: self.placement(set, &name, &tensor, dims, tensor.place) }
    }

    /// Adds a tensor with several placements, one at each byte address, called `<name>_0`, `<name>_1` and so on:
    /// the buffers between which a loop rotates.
    ///
    /// # Panics
    /// As [`Builder::tensor`].
    pub fn rotating_tensor(&mut self, tensor: NewTensor, addrs: &[u64]) -> Vec<Tensor> {
        let dims = tensor.dims().expect("a tensor has less than 2^64 bytes");
        let set = self.tensor_set(&tensor);
        let places = addrs.iter().enumerate().map(|(i, addr)| {
            let place = Place { addr: *addr, ..tensor.place.unwrap_or_default() };
            let name = format!("{}_{i}", tensor.name);
            let location = self.placement(set, &name, &tensor, dims.clone(), Some(place));
            self.module[location].tensor_id = i as i32;
            Tensor { set, location }
        });
        places.collect()
    }

    fn tensor_set(&mut self, tensor: &NewTensor) -> SetId {
        let set = MemoryLocationSet {
            name: self.module.names.intern(&format!("{}_set", tensor.name)),
            kind: Some(tensor.kind),
            tensor_class: MemoryLocationSet::default_class(Some(tensor.kind)),
            addr_space: tensor.addr_space,
            dtype: Some(tensor.dtype),
            tensor_shape: tensor.shape.clone(),
            ..MemoryLocationSet::default()
        };
        self.module.new_set(self.function, set)
    }

    fn placement(
        &mut self,
        set: SetId,
        name: &str,
        tensor: &NewTensor,
        dims: Shape,
        place: Option<Place>,
    ) -> LocId {
        let mut location = MemoryLocation {
            name: self.module.names.intern(name),
            r#type: tensor.memory,
            dims: Some(dims),
            ..MemoryLocation::default()
        };
        if let Some(place) = place {
            (location.addr, location.base, location.bank) = (place.addr, place.base, place.bank);
            location.allocated = true;
            location.present.set(MemoryLocation::ADDR);
            if tensor.memory == MemoryType::PSUM {
                // A placed PSUM location says its bank, also bank 0. spec: verify, ALLOC-08
                location.present.set(MemoryLocation::BANK);
            }
        } else if matches!(tensor.memory, MemoryType::DRAM | MemoryType::SB | MemoryType::PSUM) {
            location.present.set(MemoryLocation::ALLOCATED);
        }
        self.module.new_location(set, location)
    }
}
