//! The `bir` program.
fn main() {}
