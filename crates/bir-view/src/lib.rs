//! Views of a BIR module, each first as data and then as text.
//!
//! A view takes a [`bir::Module`] and knows neither how it was read nor whether it is legal.

pub mod dump;
mod features;
pub mod find;
mod generated;
mod json;
mod meanings;
pub mod names;
mod paint;
mod program;
mod semaphores;
pub mod show;
pub mod stats;
mod table;

pub use features::{Feature, features};
pub use paint::Paint;
