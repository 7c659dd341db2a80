//! What BIR-JSON says and what becomes of it.
#![allow(missing_docs)]

mod ahead;
mod arbitrary;
mod bad_input;
mod common;
mod documents;
mod forms;
mod keys;
mod number;
mod property;
mod templates;
mod threads;
mod vectors;
