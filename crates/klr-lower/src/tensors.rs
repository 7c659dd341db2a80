//! Tensors of a kernel as memory locations of a function: bound by name, made when they are first met (spec: klr 7).

use std::collections::HashMap;

use bir::Module;
use bir::builder::{Builder, NewTensor, Tensor};
use bir::enums::{Dtype, MemoryAddressSpace, MemoryType, TensorClass, TensorKind};
use bir::ids::{BlockId, SetId};
use klr::ir::{Address, Memory, TensorHbm, TensorName};

use crate::error::ProblemKind;
use crate::generated::maps;

/// Bytes of a PSUM bank in one partition (spec: verify 3).
const PSUM_BANK: u64 = 2048;

/// What a name means.
#[derive(Clone, Copy, PartialEq)]
enum Meaning<'a> {
    Name(&'a TensorName<'a>),
    Hbm(&'a TensorHbm<'a>),
}

pub(crate) struct Tensors<'a> {
    known: HashMap<&'a str, (Meaning<'a>, Tensor)>,
    /// Files of shared constants by name.
    constants: HashMap<&'a str, &'a str>,
    /// A block of the function, to build from.
    block: BlockId,
}

impl<'a> Tensors<'a> {
    pub(crate) fn new(block: BlockId, constants: HashMap<&'a str, &'a str>) -> Self {
        Tensors { known: HashMap::new(), constants, block }
    }

    /// Adds a tensor of the kernel's interface.
    pub(crate) fn interface(
        &mut self,
        module: &mut Module,
        tensor: &'a TensorName<'a>,
        kind: TensorKind,
        shared: bool,
    ) -> Result<(), ProblemKind> {
        match self.known.get(tensor.name) {
            Some(_) => self.bind(module, tensor).map(drop),
            None => self.add(module, tensor, kind, shared).map(drop),
        }
    }

    /// The location of a tensor.
    pub(crate) fn bind(
        &mut self,
        module: &mut Module,
        tensor: &'a TensorName<'a>,
    ) -> Result<Tensor, ProblemKind> {
        match self.known.get(tensor.name) {
            Some((meaning, found)) => {
                let same = match meaning {
                    Meaning::Name(known) => std::ptr::eq(*known, tensor) || *known == tensor,
                    Meaning::Hbm(_) => false,
                };
                if same { Ok(*found) } else { Err(ProblemKind::Tensor { name: tensor.name.to_string() }) }
            }
            None => self.add(module, tensor, TensorKind::Internal, false),
        }
    }

    /// The location of a tensor in device memory that is given by its address. A tensor of the kernel's interface may
    /// be meant.
    pub(crate) fn bind_hbm(
        &mut self,
        module: &mut Module,
        view: &'a TensorHbm<'a>,
    ) -> Result<Tensor, ProblemKind> {
        let name = || view.name.to_string();
        match self.known.get(view.name) {
            Some((Meaning::Hbm(known), found)) if *known == view => return Ok(*found),
            Some((Meaning::Name(known), found))
                if known.dtype == view.dtype && in_dram(known.address.memory) =>
            {
                return Ok(*found);
            }
            Some(_) => return Err(ProblemKind::Tensor { name: name() }),
            None => {}
        }
        let elements = view.dims.iter().try_fold(1u64, |product, pair| product.checked_mul(pair.num));
        let size = || ProblemKind::TensorSize { name: name() };
        let elements =
            elements.filter(|count| count.checked_mul(view.dtype.bytes()).is_some()).ok_or_else(size)?;
        let new = NewTensor::dram(view.name, [elements], maps::dtype(view.dtype)).at(view.address);
        let tensor = Builder::at(module, self.block).tensor(new);
        self.known.insert(view.name, (Meaning::Hbm(view), tensor));
        Ok(tensor)
    }

    /// A tensor that the lowering adds.
    pub(crate) fn generated(
        &mut self,
        module: &mut Module,
        name: &str,
        shape: [u64; 2],
        dtype: Dtype,
        class: Option<TensorClass>,
    ) -> Tensor {
        let mut new = NewTensor::sb(name, shape, dtype);
        if class.is_some() {
            new = new.kind(TensorKind::Const);
        }
        let tensor = Builder::at(module, self.block).tensor(new);
        if let Some(class) = class {
            module[tensor.set].tensor_class = class;
        }
        tensor
    }

    fn add(
        &mut self,
        module: &mut Module,
        tensor: &'a TensorName<'a>,
        kind: TensorKind,
        shared: bool,
    ) -> Result<Tensor, ProblemKind> {
        let name = tensor.name;
        let dtype = maps::dtype(tensor.dtype);
        let shape: Vec<u64> =
            std::iter::once(&tensor.shape.par_dim).chain(tensor.shape.free_dims).copied().collect();
        let bytes = shape.iter().try_fold(tensor.dtype.bytes(), |product, dim| product.checked_mul(*dim));
        if bytes.is_none() {
            return Err(ProblemKind::TensorSize { name: name.to_string() });
        }
        let memory = match tensor.address.memory {
            Memory::Hbm | Memory::SharedHbm | Memory::PrivateHbm => MemoryType::DRAM,
            Memory::Sbuf => MemoryType::SB,
            Memory::Psum => MemoryType::PSUM,
            Memory::Reg => return Err(ProblemKind::TensorMemory { name: name.to_string() }),
        };
        let file = self.constants.get(name).copied();
        let kind = if file.is_some() && kind == TensorKind::Internal { TensorKind::Const } else { kind };
        let mut new = NewTensor::of(memory, name, shape.into_iter().collect(), dtype).kind(kind);
        let shared = shared || tensor.address.memory == Memory::SharedHbm || tensor.address.is_shared;
        if memory == MemoryType::DRAM && shared {
            new = new.addr_space(MemoryAddressSpace::Shared);
        }
        if memory != MemoryType::DRAM {
            new = place(new, memory, &tensor.address)?;
        }
        let made = Builder::at(module, self.block).tensor(new);
        if let Some(file) = file {
            self.set_file(module, made.set, file);
        }
        self.known.insert(name, (Meaning::Name(tensor), made));
        Ok(made)
    }

    fn set_file(&self, module: &mut Module, set: SetId, file: &str) {
        module[set].file = module.names.intern(file);
    }
}

/// The place on the chip, where the address has one: offsets count partitions, and bytes in a partition.
fn place(tensor: NewTensor, memory: MemoryType, address: &Address<'_>) -> Result<NewTensor, ProblemKind> {
    if address.par_offset.is_none() && address.free_offset.is_none() {
        return Ok(tensor);
    }
    let partition = address.par_offset.unwrap_or(0);
    let range = ProblemKind::Range { what: "parOffset", value: partition.into() };
    let partition = u32::try_from(partition).map_err(|_| range)?;
    let offset = address.free_offset.unwrap_or(0);
    let tensor = tensor.base(partition);
    Ok(if memory == MemoryType::PSUM {
        // At most 2^53 banks: the number fits.
        tensor.bank((offset / PSUM_BANK) as i64).at(offset % PSUM_BANK)
    } else {
        tensor.at(offset)
    })
}

fn in_dram(memory: Memory) -> bool {
    matches!(memory, Memory::Hbm | Memory::SharedHbm | Memory::PrivateHbm)
}
