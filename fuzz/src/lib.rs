//! What the targets have in common.

use bir_json::{Loaded, ReadError, ReadOptions, WriteOptions};

/// Reads a document, and once more by two threads in pieces that are far too small, which must not matter.
pub fn read(text: &[u8], options: &ReadOptions) -> Result<Loaded, ReadError> {
    let alone = bir_json::read(text, options);
    let together = bir_json::read(text, &ReadOptions { threads: 2, piece: 12, ..*options });
    match (&alone, together) {
        (Ok(alone), Ok(together)) => {
            let text = |loaded: &Loaded| bir_json::to_string(&loaded.module, &WriteOptions::default());
            assert_eq!(text(alone), text(&together));
            assert!(alone.oddities.iter().eq(together.oddities.iter()));
        }
        (Err(alone), Err(together)) => {
            assert_eq!(alone.located(text).to_string(), together.located(text).to_string());
        }
        (_, together) => panic!("not the same by two threads: {:?}", together.err()),
    }
    alone
}
