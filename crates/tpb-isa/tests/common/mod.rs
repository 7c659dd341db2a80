//! The data files of words: one case a line, `generation [after opcode] | hex | text | fields`; `;` begins a comment.
#![allow(unreachable_pub, dead_code)]

use std::path::{Path, PathBuf};

use tpb_isa::{Generation, StreamWord, Word};

/// One line of a data file.
pub struct Case {
    /// File and line.
    pub place: String,
    /// The word, at index 0, behind the opcode that the line names.
    pub word: StreamWord,
    /// The generation as the line spells it, with `after` and the opcode.
    pub head: String,
    /// Expected text, without offset and comment.
    pub text: String,
    /// Expected fields, as JSON.
    pub fields: String,
}

/// The files of words, golden ones first.
pub fn files() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files = vec![data.join("golden.txt")];
    let mut layouts: Vec<_> = std::fs::read_dir(data.join("layouts"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    layouts.sort();
    files.extend(layouts);
    files
}

/// A case, or a comment line as it stands.
pub enum Entry {
    /// Text to keep.
    Comment(String),
    /// A word.
    Case(Case),
}

/// Reads a data file.
pub fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).expect("a data file");
    let name = path.file_name().expect("a name").to_string_lossy();
    let entry = |(number, line): (usize, &str)| {
        if line.is_empty() || line.starts_with(';') {
            return Entry::Comment(line.to_owned());
        }
        let place = format!("{name}:{}", number + 1);
        let columns: Vec<_> = line.splitn(4, " | ").map(str::trim).collect();
        let [head, hex, text, fields] = columns[..] else { panic!("{place}: not four columns") };
        let (generation, after) =
            head.split_once(" after ").map_or((head, None), |(g, after)| (g, Some(after)));
        let generation: Generation = generation.parse().expect("a generation");
        let previous = after.map(|after| u8::from_str_radix(after, 16).expect("an opcode"));
        let word = StreamWord::new(Word::from_hex(hex).expect("a word"), 0, generation, previous);
        Entry::Case(Case {
            place,
            word,
            head: head.to_owned(),
            text: text.to_owned(),
            fields: fields.to_owned(),
        })
    };
    text.lines().enumerate().map(entry).collect()
}

/// The cases of one file.
pub fn cases(path: &Path) -> Vec<Case> {
    let case = |entry| match entry {
        Entry::Case(case) => Some(case),
        Entry::Comment(_) => None,
    };
    read(path).into_iter().filter_map(case).collect()
}
