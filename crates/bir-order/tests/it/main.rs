//! Tests of the ordering check.

mod vectors;
