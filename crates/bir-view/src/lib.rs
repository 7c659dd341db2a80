//! Views of a BIR module, each first as data and then as text.
//!
//! A view takes a [`bir::Module`] and knows neither how it was read nor whether it is legal.

pub mod dump;
mod features;
pub mod find;
mod generated;
mod json;
pub mod names;
pub mod stats;
mod table;

pub use features::{Feature, features};
