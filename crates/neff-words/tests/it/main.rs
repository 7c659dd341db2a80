//! Tests of the crate, in one binary.

mod graph;
mod order;
mod words;
