//! Tests of the ordering check.

mod model;
mod oracle;
mod vectors;
