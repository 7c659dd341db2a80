//! Files of the public 0.0.12 tool: syntax trees of kernels, call sites, and what its crashes left.

#![allow(clippy::print_stderr, reason = "tests say what they skip")]

mod common;

use std::path::{Path, PathBuf};

use common::{files, parse_as_python};
use klr::print::python::{Positions, Style, python};
use klr::{Arena, Contents, Error, File, Options, Read};

fn made() -> Vec<(String, Vec<u8>)> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made"))
        .into_iter()
        .filter(|(name, _)| name != "INDEX.tsv")
        .collect()
}

/// The folder with files that users' kernels produced, which is not part of the project.
fn real() -> Option<PathBuf> {
    let data = std::env::var_os("BIR_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let folder = data.join("klr/real");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent; set BIR_TEST_DATA", folder.display());
    None
}

fn read<'a>(bytes: &'a [u8], arena: &'a Arena) -> Result<Read<File<'a>>, Error> {
    klr::read(bytes, arena, &Options::new())
}

/// The same bytes again, through CBOR and JSON.
fn round_trip(name: &str, bytes: &[u8]) {
    let arena = Arena::new();
    let file = read(bytes, &arena).unwrap_or_else(|error| panic!("{name}: {error}")).value;
    assert_eq!(klr::encode(&file), bytes, "{name}");
    for json in [klr::json::to_string(&file), klr::json::to_string_pretty(&file)] {
        let again: File<'_> =
            klr::json::from_str(&json, &arena).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(klr::encode(&again), bytes, "{name}");
    }
}

#[test]
fn made_files_round_trip() {
    for (name, bytes) in made() {
        if name != "k_and3.klr" && name != "k_stmts.py.klr" {
            round_trip(&name, &bytes);
        }
    }
}

#[test]
fn crashes_of_the_producer_are_named_with_the_offset() {
    let files = made();
    let error = |wanted: &str| {
        let (_, bytes) = files.iter().find(|(name, _)| name == wanted).expect(wanted);
        let arena = Arena::new();
        read(bytes, &arena).expect_err(wanted)
    };
    let empty = error("k_and3.klr");
    assert!(empty.is_truncated());
    assert_eq!(empty.to_string(), "the input ends where a KLRFile is expected, at byte 0 in file");
    let cut = error("k_stmts.py.klr");
    assert!(cut.is_truncated(), "{cut}");
    assert_eq!(cut.offset, 4096);
    assert_eq!(cut.path, "contents.python.kernel.funcs[1].body[19].stmt.assign.e.pos.line");
}

#[test]
fn a_file_that_its_own_reader_refuses_decodes() {
    // A position made of uninitialised memory gives numbers with a 4-byte head (spec: klr 13.3, 13.4).
    let files = made();
    let (_, bytes) = files.iter().find(|(name, _)| name == "k_aug.klr").expect("the file");
    let arena = Arena::new();
    let file = read(bytes, &arena).expect("it decodes").value;
    let style = Style { positions: Positions::Stored, source: false };
    let text = python(&file.contents, style).expect("a front-end tree");
    assert!(text.contains("def k_aug("), "{text}");
}

#[test]
fn python_text_of_made_files() {
    let mut all = String::new();
    let mut texts = Vec::new();
    for (name, bytes) in made() {
        let arena = Arena::new();
        let Ok(file) = read(&bytes, &arena) else { continue };
        for positions in [Positions::Off, Positions::Stored, Positions::File] {
            let style = Style { positions, source: true };
            let text = python(&file.value.contents, style).expect("a front-end tree");
            if positions == Positions::Stored {
                all.push_str(&format!("## {name}\n{text}\n"));
            }
            texts.push((name.clone(), text));
        }
    }
    parse_as_python(&texts);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made.py.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &all).expect("the golden text can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden text; BLESS=1 writes it");
    assert_eq!(all, golden, "BLESS=1 writes the golden text anew");
}

#[test]
fn real_files() {
    let Some(folder) = real() else { return };
    let files = files(&folder);
    let mut decoded = 0;
    let mut truncated = 0;
    let mut texts = Vec::new();
    for (name, bytes) in &files {
        if !name.ends_with(".klr") && !name.ends_with(".call") {
            continue;
        }
        let arena = Arena::new();
        match read(bytes, &arena) {
            Ok(file) => {
                decoded += 1;
                assert!(file.notes.is_empty(), "{name}: {:?}", file.notes);
                round_trip(name, bytes);
                let contents = &file.value.contents;
                let dump = klr::print::sexp(contents);
                let (_, sexp) = files.iter().find(|(other, _)| *other == format!("{name}.sexp")).expect(name);
                let sexp = String::from_utf8(sexp.clone()).expect("the dump is UTF-8");
                assert_eq!(dump, sexp.trim_end(), "{name}");
                if let Some(text) = python(contents, Style::default()) {
                    texts.push((name.clone(), text));
                } else {
                    assert!(matches!(contents, Contents::Hlo { .. }), "{name}");
                }
            }
            Err(error) => {
                truncated += 1;
                assert!(error.is_truncated(), "{name}: {error}");
                assert_eq!(error.offset, bytes.len(), "{name}: {error}");
            }
        }
    }
    parse_as_python(&texts);
    assert_eq!((decoded, truncated), (12, 2));
}
