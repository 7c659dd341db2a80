//! Tests of the ordering check.

mod cases;
mod groups;
mod model;
mod oracle;
mod vectors;
