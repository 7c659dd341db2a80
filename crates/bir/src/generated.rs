//! Code generated from the tables in `spec/` by `cargo xtask codegen`.

pub mod enums;
pub mod ops;
pub mod records;
pub(crate) mod visit;
