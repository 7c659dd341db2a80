//! Words from a reader, in constant memory.

use std::io::{self, Read};

use crate::decode::StreamWord;
use crate::word::{Generation, WORD_BYTES, Word};

/// What a stream ended with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Number of whole words.
    pub words: u64,
    /// The bytes behind the last whole word; a well-formed stream has none.
    pub tail: Vec<u8>,
}

/// Reads a stream of any length, a few KiB at a time, and gives each word to `each`.
///
/// ```
/// use tpb_isa::{Generation, each_word};
///
/// let mut names = Vec::new();
/// let end = each_word(&[0xa4; 130][..], Generation::V3, |word| {
///     names.push(word.binding().mnemonic());
///     Ok(())
/// })?;
/// assert_eq!((names, end.words, end.tail), (vec!["NOP"; 2], 2, vec![0xa4; 2]));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of reading and of `each`.
pub fn each_word(
    mut input: impl Read,
    generation: Generation,
    mut each: impl FnMut(&StreamWord) -> io::Result<()>,
) -> io::Result<StreamEnd> {
    const CHUNK: usize = 256 * WORD_BYTES;
    let mut bytes = vec![0; CHUNK];
    let mut held = 0; // bytes of an unfinished word at the start of the buffer
    let (mut index, mut previous) = (0, None);
    loop {
        let read = match input.read(&mut bytes[held..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = held + read;
        let (words, rest) = bytes[..filled].as_chunks::<WORD_BYTES>();
        for word in words {
            let word = StreamWord::new(Word(*word), index, generation, previous);
            each(&word)?;
            index += 1;
            previous = Some(word.word.opcode());
        }
        held = rest.len();
        if read == 0 {
            return Ok(StreamEnd { words: index, tail: rest.to_vec() });
        }
        bytes.copy_within(filled - held..filled, 0);
    }
}
