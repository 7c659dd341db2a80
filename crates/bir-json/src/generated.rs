//! Code generated from the tables in `spec/` by `cargo xtask codegen`.

mod header;
mod lists;
mod ops;
mod records;

pub(crate) use header::HeaderKey;
pub(crate) use lists::{LEGACY_KEYS, for_each_enum, for_each_record};
pub(crate) use ops::read_op;
