//! Tests of the crate, in one binary.

mod order;
mod words;
