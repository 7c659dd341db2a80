//! Tests of the ordering check.

mod cases;
mod model;
mod oracle;
mod vectors;
