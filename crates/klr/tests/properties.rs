//! Values of every type, made up: the same through CBOR and JSON; and input that is damaged.

use klr::{Arena, Options, TypeEntry, made};
use proptest::prelude::*;
use proptest::sample::Index;

/// Every type of every schema, with the name to read it by.
fn all_types() -> Vec<(String, &'static TypeEntry)> {
    let core = klr::types().map(|entry| (entry.info.name.to_string(), entry));
    let frontend =
        klr::frontend_types().map(|(schema, entry)| (format!("{}@{schema}", entry.info.name), entry));
    core.chain(frontend).collect()
}

fn round_trip(name: &str, entry: &TypeEntry, choices: &[u8]) {
    let arena = Arena::new();
    let value = made::any(entry, choices, &arena);
    let bytes = klr::encode_tree(value);
    let read = klr::read_type(name, &bytes, &arena, &Options::new());
    let read = read.unwrap_or_else(|error| panic!("{name}: {error}\n{value:?}"));
    assert_eq!(format!("{:?}", read.value), format!("{value:?}"));
    assert_eq!(klr::encode_tree(read.value), bytes);
    let json = klr::json::to_string(value);
    let again = klr::json::from_str_type(name, &json, &arena);
    let again = again.unwrap_or_else(|error| panic!("{name}: {error}\n{json}"));
    assert_eq!(klr::encode_tree(again), bytes, "{name}: {json}");
    let pretty = klr::json::to_string_pretty(value);
    let again = klr::json::from_str_type(name, &pretty, &arena).expect("the pretty form");
    assert_eq!(klr::encode_tree(again), bytes, "{name}: {pretty}");
    assert!(klr::print::readable(value).ends_with('\n'));
    assert_eq!(klr::print::compat(value), klr::print::compat(read.value));
    assert_eq!(klr::lint::lint_value(value), klr::lint::lint_value(read.value));
}

proptest! {
    // Each case makes a value of every type.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_type_round_trips(choices in prop::collection::vec(any::<u8>(), 0..600)) {
        for (name, entry) in all_types() {
            round_trip(&name, entry, &choices);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn files_round_trip_and_are_summed_up(choices in prop::collection::vec(any::<u8>(), 0..2000)) {
        let arena = Arena::new();
        let entry = klr::find_type("File").expect("files have a type");
        let bytes = klr::encode_tree(made::any(entry, &choices, &arena));
        let file = klr::read::<klr::File<'_>>(&bytes, &arena, &Options::new()).expect("it reads");
        prop_assert_eq!(klr::encode(&file.value), &bytes[..]);
        let json = klr::json::to_string(&file.value);
        prop_assert_eq!(klr::json::from_str::<klr::File<'_>>(&json, &arena), Ok(file.value));
        let _ = klr::info::info(&file).to_string();
        let _ = klr::lint::lint(&file.value);
        for positions in [klr::print::python::Positions::Stored, klr::print::python::Positions::File] {
            let style = klr::print::python::Style { positions, source: true };
            let _ = klr::print::python::python(&file.value.contents, style);
        }
    }

    /// What strict reading accepts is canonical: writing it gives the same bytes. Lenient reading accepts no less.
    #[test]
    fn damaged_input_is_refused_or_canonical(
        choices in prop::collection::vec(any::<u8>(), 0..600),
        damage in prop::collection::vec((any::<Index>(), any::<u8>(), 0..3u8), 1..4),
        which in any::<Index>(),
    ) {
        let types = all_types();
        let (name, entry) = which.get(&types);
        let arena = Arena::new();
        let mut bytes = klr::encode_tree(made::any(entry, &choices, &arena));
        for (at, byte, kind) in damage {
            match (kind, bytes.is_empty()) {
                (_, true) => bytes.push(byte),
                (0, _) => { let at = at.index(bytes.len()); bytes[at] = byte; }
                (1, _) => { bytes.remove(at.index(bytes.len())); }
                _ => bytes.insert(at.index(bytes.len()), byte),
            }
        }
        let strict = klr::read_type(name, &bytes, &arena, &Options::new());
        let lenient = klr::read_type(name, &bytes, &arena, &Options::new().lenient(true));
        match strict {
            Ok(read) => {
                prop_assert_eq!(klr::encode_tree(read.value), &bytes[..]);
                prop_assert!(lenient.is_ok());
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
        if let Ok(read) = lenient {
            let again = klr::encode_tree(read.value);
            prop_assert!(again == bytes || read.notes.iter().any(|note| note.kind.is_lenient()));
        }
    }

    #[test]
    fn any_text_is_json_or_an_error(text in ".{0,40}") {
        let arena = Arena::new();
        let _ = klr::json::from_str_type("Stmt", &text, &arena);
        let _ = klr::json::from_str_type("File", &text, &arena);
    }
}
