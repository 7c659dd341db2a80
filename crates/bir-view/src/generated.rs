//! Code generated from the tables in `spec/` by `cargo xtask codegen`.

pub(crate) mod features;
