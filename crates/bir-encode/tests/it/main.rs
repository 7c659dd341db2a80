//! Encoding of BIR: against worked and captured words, there and back, errors, and whole programs.

mod cases;
mod common;
mod errors;
mod families;
mod generated;
mod golden;
mod program;
