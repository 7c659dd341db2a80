//! The 64-byte instruction words of the TPB engines.
//!
//! A stream is an array of [`Word`]s without framing. [`decode`] turns a word into a [`Decoded`] with a typed struct for its
//! layout, and never fails; [`Decoded::encode`] gives back the same bytes, whatever they were. [`Stream`] walks a stream,
//! [`text`] prints it as assembly and reads that back, [`json`] gives a word's fields as JSON, [`check`] says what is odd
//! about a word, and [`build`] makes words with every value checked against its field.
//!
//! Layouts, enums, opcodes and maps are generated from `spec/isa-layouts.toml` and `spec/enums.toml`; the pages they come
//! from are cited as `spec: isa-bundle.md` and `spec: isa-control-dma.md`.
//!
//! ```
//! use tpb_isa::{Body, Dtype, Generation, Word, decode};
//!
//! // Memset of 256 floats 1.5 in each of 128 partitions.
//! let word = Word::from_hex(
//!     "49100000 00000000 00000000 00000000 00000000 00000000 00000000 00010000
//!      0a008000 00000000 0000c03f 00700000 01000100 01000100 00010100 01000100",
//! )
//! .unwrap();
//! let decoded = decode(&word, Generation::V3, None);
//! let Body::D4Mr(memset) = decoded.body else { panic!() };
//! assert_eq!((memset.dtype, memset.dst_element_count), (Dtype::FP32, 256));
//! assert_eq!(decoded.encode(), word);
//! ```

pub mod build;
pub mod check;
mod decode;
mod generated;
pub mod json;
pub mod layout;
pub mod maps;
mod read;
mod sync;
pub mod text;
mod value;
mod word;

pub use decode::{Binding, Decoded, Notes, Stream, StreamWord, bind, decode};
pub use generated::enums::*;
pub use generated::layouts::*;
pub use generated::opcodes::{INTEGER_IMMEDIATE_OPCODES, Opcode, PROLOGUE, SEQUENCES};
pub use generated::structs::*;
pub use layout::{Kind, opcode, opcode_named};
pub use read::{StreamEnd, each_word};
pub use sync::{SyncError, Update, Wait};
pub use value::*;
pub use word::*;
