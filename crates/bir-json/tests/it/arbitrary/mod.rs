//! Arbitrary modules: the shape comes from proptest, the contents from bytes. Bytes of zero, and bytes past the end,
//! make defaults, so a failure shrinks to a small module with few values.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod arb;
mod fill;
mod plan;
pub mod v1;

pub use plan::{build, plan};
