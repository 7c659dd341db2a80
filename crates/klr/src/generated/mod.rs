//! The types of the schemas and the table of payloads, from spec/klr.toml and spec/klr-frontend.toml.
#![allow(clippy::upper_case_acronyms, reason = "the names are the schema's")]

pub mod ir;
pub mod nki_0_0_12;
pub mod nki_head;
pub mod python_0_0_12;
pub mod python_head;
pub(crate) mod select;
