//! Where an access touches memory: exact sets of partitions and bytes, and whether two of them meet.
//!
//! [`Footprints`] turns the operands of a module's instructions into [`Footprint`]s; below it, [`on_chip`] splits
//! patterns into pieces, and [`lattice`] decides about their bytes.

mod accesses;
mod aliases;
mod footprint;
pub mod lattice;
pub mod on_chip;
mod values;

pub use accesses::{Footprints, OperandAccess, OperandFootprints, address_registers, transfers};
pub use footprint::{Footprint, Space};
pub use lattice::Overlap;
pub use values::{Env, LoopAxes, Offsets, Progression, Unknown};
