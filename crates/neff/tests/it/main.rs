//! Tests of the crate, in one binary.

mod common;
mod forms;
mod hostile;
mod real;
mod round_trip;
