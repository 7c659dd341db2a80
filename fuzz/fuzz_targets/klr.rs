//! Any bytes as any KLR type: nothing panics or eats memory, and what strict reading accepts is written back as it
//! was.
#![no_main]

use klr::print::python::{Positions, Style, python};
use klr::{Arena, File, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let types: Vec<String> = klr::types()
        .map(|entry| entry.info.name.to_string())
        .chain(klr::frontend_types().map(|(schema, entry)| format!("{}@{schema}", entry.info.name)))
        .collect();
    // Most input is a whole file.
    let name = types.get(usize::from(choice)).map_or("File", String::as_str);
    let arena = Arena::new();

    if let Ok(read) = klr::read_type(name, bytes, &arena, &Options::new()) {
        assert_eq!(klr::encode_tree(read.value), bytes);
        let json = klr::json::to_string(read.value);
        let again = klr::json::from_str_type(name, &json, &arena).expect("our own JSON");
        assert_eq!(klr::encode_tree(again), bytes);
    }
    if let Ok(read) = klr::read_type(name, bytes, &arena, &Options::new().lenient(true)) {
        let _ = klr::print::compat(read.value);
        let _ = klr::print::readable(read.value);
        let _ = klr::print::sexp(read.value);
        let _ = klr::lint::lint_value(read.value);
        let canonical = klr::encode_tree(read.value);
        assert!(canonical == bytes || read.notes.iter().any(|note| note.kind.is_lenient()));
    }
    if let Ok(file) = klr::read::<File<'_>>(bytes, &arena, &Options::new().lenient(true)) {
        let _ = klr::info::info(&file).to_string();
        let _ = klr::lint::lint(&file.value);
        let _ = python(&file.value.contents, Style { positions: Positions::File, source: true });
    }
    let _ = klr::cbor::diagnostic(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = klr::json::from_str_type(name, text, &arena);
    }
    // Lists are checked against the bytes that are left before memory is taken.
    assert!(arena.bytes() < (1 << 16) + 512 * bytes.len());
});
