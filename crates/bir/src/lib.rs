//! The backend IR: module, functions, blocks, instructions, operands, storage and their geometry.
pub mod geometry;
