//! Written by `cargo xtask codegen`.

pub(crate) mod debug;
pub(crate) mod features;
