//! Code made from the tables.

pub(crate) mod rules;
