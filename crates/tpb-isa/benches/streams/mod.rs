//! Long streams for measurements.

use std::path::Path;

use tpb_isa::{WORD_BYTES, Word};

/// The words of the data files that are valid on v3, over and over. The golden words are most of a real stream.
pub(crate) fn mixed(bytes: usize) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> =
        std::fs::read_dir(data.join("layouts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut words = Vec::new();
    for path in paths {
        for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| line.starts_with("v3 |")) {
            words.push(Word::from_hex(line.split(" | ").nth(1).unwrap()).unwrap());
        }
    }
    repeated(&words, bytes)
}

/// The captured words among the golden ones, over and over: what compiled streams consist of.
pub(crate) fn captured(bytes: usize) -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden.txt");
    let text = std::fs::read_to_string(golden).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("; R1 "));
    let words: Vec<_> = lines
        .filter(|line| line.starts_with("v3 |"))
        .map(|line| Word::from_hex(line.split(" | ").nth(1).unwrap()).unwrap())
        .collect();
    repeated(&words, bytes)
}

fn repeated(words: &[Word], bytes: usize) -> Vec<u8> {
    words.iter().cycle().take(bytes / WORD_BYTES).flat_map(|word| word.0).collect()
}
