//! BIR-JSON: two-pass reader and canonical writer.

mod error;
mod generated;
mod lexer;
pub mod number;
mod place;
mod read;
mod templates;
mod value;
mod write;

pub use error::{ReadError, ReadErrorKind};
pub use lexer::MAX_DEPTH;
pub use place::{Place, Places};
pub use read::{
    Loaded, Oddities, Oddity, OddityKind, Positions, ReadOptions, Unresolved, read, read_with_progress,
};
pub use value::{parse_value, value_to_string};
pub use write::{Style, WriteOptions, to_string, write};
