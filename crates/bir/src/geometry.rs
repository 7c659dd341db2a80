//! Where an access touches memory: exact sets of partitions and bytes, and whether two of them meet.

pub mod lattice;
pub mod on_chip;
