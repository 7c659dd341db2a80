//! Code generated from the tables in `spec/` by `cargo xtask codegen`. It is regular rather than short, which is why
//! some matches have one arm and some comparisons are with a constant.
#![allow(clippy::single_match, clippy::bool_comparison)]

mod header;
mod lists;
mod ops;
mod records;

pub(crate) use header::HeaderKey;
pub(crate) use lists::{LEGACY_KEYS, for_each_enum, for_each_record};
pub(crate) use ops::read_op;
