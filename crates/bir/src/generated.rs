//! Code generated from the tables in `spec/` by `cargo xtask codegen`.

pub mod enums;
pub(crate) mod op_info;
pub(crate) mod operands;
pub mod ops;
pub mod records;
pub(crate) mod targets;
pub(crate) mod visit;
