//! BIR-JSON: two-pass reader and canonical writer.
pub mod number;
