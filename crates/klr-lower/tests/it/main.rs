//! Tests of the lowering: a golden module for each operator, what is refused, and what a kernel becomes as a whole.

mod cases;
mod goldens;
mod kernel;
mod kit;
mod properties;
mod refused;
