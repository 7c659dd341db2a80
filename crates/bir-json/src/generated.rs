//! Code generated from the tables in `spec/` by `cargo xtask codegen`.
// A `match` with one arm is one of many of the same form.
#![allow(clippy::single_match)]

mod header;
mod lists;
mod ops;
mod records;

pub(crate) use header::HeaderKey;
pub(crate) use lists::{LEGACY_KEYS, for_each_enum, for_each_record};
pub(crate) use ops::read_op;
