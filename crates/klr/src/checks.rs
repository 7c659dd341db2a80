//! Conditions on single records that their types do not show (spec: klr 3.1).

use std::fmt;

use crate::container::{FILE_VERSION, FORMATS};
use crate::ir::{AccessBasic, Dtype, KLRFile, KLRMetaData, Slice, TensorName};

/// A record that has conditions.
#[derive(Debug, Clone, Copy)]
pub enum Checked<'x> {
    /// A tensor must fit its address.
    TensorName(&'x TensorName<'x>),
    /// A slice must move.
    Slice(&'x Slice),
    /// An access must have an index for each dimension.
    AccessBasic(&'x AccessBasic<'x>),
    /// The version must be the one in use.
    KLRFile(&'x KLRFile),
    /// The format must be a known one.
    KLRMetaData(&'x KLRMetaData<'x>),
}

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// A tensor has more partitions than its address.
    Partitions {
        /// Partitions of the tensor.
        dim: u64,
        /// Partitions of the address.
        size: u64,
    },
    /// A tensor has more bytes in a partition than its address; `None`: more than 64 bits can count.
    FreeBytes {
        /// Bytes of the tensor in each partition.
        bytes: Option<u64>,
        /// Bytes of the address in each partition.
        size: u64,
    },
    /// The stored number of elements in a partition is not the product of the free dimensions.
    FreeElements {
        /// The number stored.
        stored: u64,
        /// The product.
        product: Option<u64>,
    },
    /// A slice has step 0.
    StepZero,
    /// An access has not one index for each dimension.
    Rank {
        /// Indices.
        indexes: usize,
        /// Dimensions.
        dims: usize,
    },
    /// The file version is not the one the 2.24 consumer takes.
    Version([u64; 3]),
    /// The format in the metadata is neither `NKI` nor `KLR`.
    Format(String),
}

impl Checked<'_> {
    /// Whether all conditions hold.
    #[inline]
    #[must_use]
    pub fn holds(&self) -> bool {
        match self {
            Checked::TensorName(tensor) => {
                let product = free_elements(tensor.shape.free_dims);
                product == Some(tensor.free_elements)
                    && tensor.shape.par_dim <= tensor.address.par_size
                    && tensor
                        .free_elements
                        .checked_mul(tensor.dtype.bytes())
                        .is_some_and(|bytes| bytes <= tensor.address.free_size)
            }
            Checked::Slice(slice) => slice.step != 0,
            Checked::AccessBasic(access) => access.indexes.len() == 1 + access.tensor.shape.free_dims.len(),
            Checked::KLRFile(file) => [file.major, file.minor, file.patch] == FILE_VERSION,
            Checked::KLRMetaData(metadata) => FORMATS.contains(&metadata.format),
        }
    }

    /// Names the conditions that do not hold.
    pub fn broken(&self, found: &mut dyn FnMut(Condition)) {
        if self.holds() {
            return;
        }
        match self {
            Checked::TensorName(tensor) => {
                let (shape, address) = (&tensor.shape, &tensor.address);
                if shape.par_dim > address.par_size {
                    found(Condition::Partitions { dim: shape.par_dim, size: address.par_size });
                }
                let product = free_elements(shape.free_dims);
                let bytes = product.and_then(|product| product.checked_mul(tensor.dtype.bytes()));
                if bytes.is_none_or(|bytes| bytes > address.free_size) {
                    found(Condition::FreeBytes { bytes, size: address.free_size });
                }
                if product != Some(tensor.free_elements) {
                    found(Condition::FreeElements { stored: tensor.free_elements, product });
                }
            }
            Checked::Slice(_) => found(Condition::StepZero),
            Checked::AccessBasic(access) => found(Condition::Rank {
                indexes: access.indexes.len(),
                dims: 1 + access.tensor.shape.free_dims.len(),
            }),
            Checked::KLRFile(file) => found(Condition::Version([file.major, file.minor, file.patch])),
            Checked::KLRMetaData(metadata) => found(Condition::Format(metadata.format.to_string())),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number =
            |value: &Option<u64>| value.map_or("more than 64 bits count".to_string(), |v| v.to_string());
        match self {
            Condition::Partitions { dim, size } => {
                write!(f, "a tensor of {dim} partitions has an address of {size}")
            }
            Condition::FreeBytes { bytes, size } => {
                write!(f, "a tensor of {} bytes in each partition has an address of {size}", number(bytes))
            }
            Condition::FreeElements { stored, product } => {
                write!(f, "freeElements is {stored}, the free dimensions have {}", number(product))
            }
            Condition::StepZero => f.write_str("a slice has step 0"),
            Condition::Rank { indexes, dims } => write!(f, "{indexes} indices for {dims} dimensions"),
            Condition::Version([major, minor, patch]) => {
                let [a, b, c] = FILE_VERSION;
                write!(f, "file version is {major}.{minor}.{patch}, not {a}.{b}.{c}")
            }
            Condition::Format(format) => {
                write!(f, "metadata format is {format:?}, not {}", FORMATS.join(" or "))
            }
        }
    }
}

/// Product of the free dimensions; `None` when it does not fit 64 bits.
fn free_elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

impl Dtype {
    /// Bytes of one element (spec: klr 3.1).
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Dtype::Int8
            | Dtype::Uint8
            | Dtype::Float8e3
            | Dtype::Float8e4
            | Dtype::Float8e5
            | Dtype::Float8E4m3
            | Dtype::Float8E4m3fn => 1,
            Dtype::Int16 | Dtype::Uint16 | Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float4E2m1fnX4 => 2,
            Dtype::Int32
            | Dtype::Uint32
            | Dtype::Float32
            | Dtype::Float32r
            | Dtype::Float8E5m2X4
            | Dtype::Float8E4m3fnX4 => 4,
            Dtype::Int64 | Dtype::Uint64 => 8,
        }
    }
}
