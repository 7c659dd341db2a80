//! The data files: text and fields of words of every layout, and back. `BLESS=1` writes what the crate says into them.

mod common;

use std::collections::HashMap;
use std::fmt::Write;

use common::{Case, Entry, cases, files, read};
use tpb_isa::text::{Assembler, Line, Options, put_line};
use tpb_isa::{Layout, json};

fn text(case: &Case) -> String {
    let mut line = Vec::new();
    let options = Options { offsets: false, raw: false, notes: false };
    put_line(&mut line, &case.word, &options, "");
    String::from_utf8(line).expect("text is ASCII").trim_end_matches('\n').to_owned()
}

fn fields(case: &Case) -> String {
    let mut fields = String::new();
    json::put_fields(&mut fields, &case.word.word, case.word.binding().layout);
    fields
}

#[test]
fn text_and_fields_are_as_in_the_data_files() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = String::new();
    for path in files() {
        let mut blessed = String::new();
        for entry in read(&path) {
            let case = match entry {
                Entry::Comment(comment) => {
                    writeln!(blessed, "{comment}").unwrap();
                    continue;
                }
                Entry::Case(case) => case,
            };
            let (text, fields) = (text(&case), fields(&case));
            if text != case.text {
                writeln!(wrong, "{}: text\n  is       {text}\n  expected {}", case.place, case.text).unwrap();
            }
            if fields != case.fields {
                writeln!(wrong, "{}: fields\n  are      {fields}\n  expected {}", case.place, case.fields)
                    .unwrap();
            }
            writeln!(blessed, "{} | {} | {text} | {fields}", case.head, case.word.word).unwrap();
        }
        if bless {
            std::fs::write(&path, blessed).expect("a writable data file");
        }
    }
    assert!(bless || wrong.is_empty(), "{wrong}");
}

#[test]
fn text_assembles_to_the_word_and_fields_are_json() {
    for path in files() {
        for case in cases(&path) {
            let mut assembler = Assembler::new(case.word.generation);
            if let Some(previous) = case.word.previous {
                let opener = format!(".word {:02x}{}", previous, "00".repeat(63));
                assembler.line(&opener).expect("a raw word");
            }
            match assembler.line(&case.text) {
                Ok(Line::Word(word)) => assert_eq!(word, case.word.word, "{}: {}", case.place, case.text),
                other => panic!("{}: {} gives {other:?}", case.place, case.text),
            }
            let value: serde_json::Value = serde_json::from_str(&case.fields).expect("fields are JSON");
            assert!(value.is_object(), "{}", case.place);
        }
    }
}

#[test]
fn words_come_apart_and_together_again() {
    for path in files() {
        for case in cases(&path) {
            let decoded = case.word.decode();
            assert_eq!(decoded.encode(), case.word.word, "{}", case.place);
            assert_eq!(decoded.body.layout(), case.word.binding().layout, "{}", case.place);
        }
    }
}

#[test]
fn every_layout_has_six_words() {
    let mut words: HashMap<Layout, usize> = HashMap::new();
    for path in files().iter().skip(1) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        for case in cases(path) {
            let layout = case.word.binding().layout;
            assert_eq!(layout.info().name, name, "{}", case.place);
            *words.entry(layout).or_default() += 1;
        }
    }
    for layout in Layout::ALL.iter().filter(|layout| **layout != Layout::Opaque) {
        assert!(words.get(layout).is_some_and(|words| *words >= 6), "{}", layout.info().name);
    }
}
