//! Tests of the ordering check.

mod cases;
mod cores;
mod groups;
mod limits;
mod model;
mod oracle;
mod registers;
mod vectors;
