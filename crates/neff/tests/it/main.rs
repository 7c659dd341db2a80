//! Tests of the crate, in one binary.

mod common;
mod examples;
mod forms;
mod hostile;
mod real;
mod round_trip;
