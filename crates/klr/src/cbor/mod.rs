//! CBOR as KLR uses it (spec: klr 3): every value of a schema type is a tagged array, heads are shortest.

mod read;
mod trace;
mod view;
mod write;

pub use read::Reader;
pub(crate) use trace::Traced;
pub use view::diagnostic;
pub use write::Writer;

/// First byte of every tagged value: a tag number of two bytes follows.
const TAG: u8 = 0xD9;

/// Tag of the option type.
const OPTION: u8 = 0xFF;

const ABSENT: [u8; 4] = [TAG, OPTION, 0, 0x80];
const PRESENT: [u8; 4] = [TAG, OPTION, 1, 0x81];

/// Array head of a pair.
const PAIR: u8 = 0x82;
