//! Code made from the tables.

pub(crate) mod codes;
pub(crate) mod names;
pub(crate) mod rules;
