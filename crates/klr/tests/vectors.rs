//! Every vector of the Core schemas: the same bytes again, the reference's text, and what is malformed.

mod common;

use common::{Vector, vectors};
use klr::{Arena, Options, Schema, SchemaUse};

/// Reads, writes and prints a well-formed vector in every form.
fn check(vector: &Vector, schema: Schema) {
    let arena = Arena::new();
    let name = &vector.name;
    let ty = vector.type_name();
    for options in [Options::new().schema(schema), Options::new(), Options::new().lenient(true)] {
        let read = klr::read_type(ty, &vector.bytes, &arena, &options);
        let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read.notes.iter().all(|note| !note.kind.is_lenient()), "{name}: {:?}", read.notes);
        assert_eq!(klr::encode_tree(read.value), vector.bytes, "{name}");
    }
    let value = klr::read_type(ty, &vector.bytes, &arena, &Options::new()).expect(name).value;
    assert_eq!(klr::print::compat(value), vector.text("text").expect("a text"), "{name}");
    let mut written = Vec::new();
    klr::print::write_compat(value, &mut written).expect(name);
    assert_eq!(String::from_utf8(written).expect(name), vector.text("text").expect("a text"), "{name}");

    for json in [klr::json::to_string(value), klr::json::to_string_pretty(value)] {
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = klr::json::from_str_type(ty, &json, &arena);
        let again = again.unwrap_or_else(|error| panic!("{name}: {error}\n{json}"));
        assert_eq!(klr::encode_tree(again), vector.bytes, "{name}");
    }
    assert!(klr::print::readable(value).ends_with('\n'), "{name}");
}

#[test]
fn schema_2_24_round_trips() {
    let vectors = vectors("v224");
    assert_eq!(vectors.len(), 480);
    for vector in &vectors {
        check(vector, Schema::V2_24);
    }
}

#[test]
fn schema_head_round_trips() {
    let vectors = vectors("head");
    assert_eq!(vectors.len(), 30);
    for vector in &vectors {
        check(vector, Schema::Head);
        let arena = Arena::new();
        let read = |options: &Options| klr::read_type(vector.type_name(), &vector.bytes, &arena, options);
        assert_eq!(read(&Options::new()).expect("it reads").schema, SchemaUse::Only(Schema::Head));
        let error = read(&Options::new().schema(Schema::V2_24)).expect_err("2.24 has fewer fields");
        assert!(error.to_string().contains("of schema head, not 2.24"), "{error}");
    }
}

#[test]
fn every_type_and_constructor_is_covered() {
    use std::collections::BTreeSet;
    let seen: BTreeSet<(String, String)> = vectors("v224")
        .iter()
        .map(|vector| (vector.ty.clone(), vector.text("ctor").unwrap_or(&vector.ty).to_string()))
        .collect();
    let mut types = 0;
    for entry in klr::types().filter(|entry| entry.info.tag.is_some()) {
        types += 1;
        for ctor in entry.info.ctors {
            // The payloads of these two are front-end trees.
            if entry.info.name != "Contents" || !["python", "nki"].contains(&ctor.name) {
                let row = (entry.info.name.to_string(), ctor.name.to_string());
                assert!(seen.contains(&row), "{row:?}");
            }
        }
    }
    assert_eq!(types, 116);
}

/// Mutations that made a string that is not UTF-8, at which the open reader does not look (spec: klr 3.1).
const STRICTER: [&str; 2] = ["102_mut_set_Operator.cbor", "139_mut_set_AffineSelect.cbor"];

#[test]
fn malformed_values_are_refused_as_recommended() {
    let vectors = vectors("malformed");
    assert_eq!(vectors.len(), 151);
    for vector in &vectors {
        let arena = Arena::new();
        let name = vector.name.as_str();
        let read = |lenient: bool| {
            let options = Options::new().schema(Schema::V2_24).lenient(lenient);
            klr::read_type(vector.type_name(), &vector.bytes, &arena, &options)
        };
        let strict = read(false);
        let peer_accepts = vector.text("peer") == Some("accepted");
        let recommended = match vector.text("recommended") {
            Some(verdict) => verdict,
            None if peer_accepts && !STRICTER.contains(&name) => "accept",
            None => "reject",
        };
        match (&strict, recommended.starts_with("accept")) {
            (Ok(_), true) | (Err(_), false) => {}
            (Ok(read), false) => panic!("{name} is accepted, {recommended}: {:?}", read.value),
            (Err(error), true) => panic!("{name} is refused, {recommended}: {error}"),
        }
        if let Ok(read) = &strict {
            assert_eq!(klr::encode_tree(read.value), vector.bytes, "{name}");
            assert!(!recommended.contains("warn") || !read.notes.is_empty(), "{name}");
        }
        if let Err(error) = &strict
            && let Some(message) = vector.text("message")
        {
            // What only strict reading refuses may come first; lenient reading finds what the open reader finds.
            let reference = match &error.reference {
                Some(reference) => reference.clone(),
                None => read(true).expect_err(name).reference.unwrap_or_default(),
            };
            assert_eq!(reference, message, "{name}: {error}");
        }
        if let Err(error) = &strict {
            assert!(error.offset <= vector.bytes.len(), "{name}: {error}");
            if peer_accepts {
                assert_eq!(error.reference, None, "{name}: {error}");
            }
        }
        if recommended.contains("lenient: accept") {
            let lenient = read(true).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(lenient.notes.iter().any(|note| note.kind.is_lenient()), "{name}");
        }
    }
}

#[test]
fn lenient_reading_accepts_what_the_open_readers_accept() {
    // Name, and what lenient reading says it passed over; None: refused (spec: klr 3.1).
    let expected = [
        ("034_arity_noncanonical.cbor", Some("the number of fields takes two bytes, at byte 0")),
        (
            "048_nat_noncanonical.cbor",
            Some("a number or length is not in its shortest form, at byte 4 in opcode"),
        ),
        ("057_int_uint64_max.cbor", None),
        ("059_float_f64.cbor", None),
        ("063_string_over_limit.cbor", Some("a string has 65537 bytes, at byte 4 in dst")),
        ("064_string_over_limit_head_only.cbor", None),
        (
            "067_string_bad_utf8.cbor",
            Some("a string is not UTF-8; the wrong bytes were replaced, at byte 4 in dst"),
        ),
        (
            "068_string_noncanonical.cbor",
            Some("a number or length is not in its shortest form, at byte 4 in dst"),
        ),
        ("076_option_lo2.cbor", None),
        (
            "077_option_none_arity1.cbor",
            Some("an option announces a wrong number of fields, at byte 6 in lineEnd"),
        ),
        (
            "081_prop_empty_arrays_tensorname.cbor",
            Some("two empty arrays stand where proofs take no bytes, at byte 39 in addressRotation"),
        ),
        ("084_trailing_byte.cbor", Some("1 bytes follow the value, at byte 14")),
    ];
    let vectors = vectors("malformed");
    for (name, note) in expected {
        let vector = vectors.iter().find(|vector| vector.name == name).expect(name);
        let arena = Arena::new();
        let read = klr::read_type(vector.type_name(), &vector.bytes, &arena, &Options::new().lenient(true));
        match (read, note) {
            (Ok(read), Some(note)) => {
                let notes: Vec<String> = read.notes.iter().map(ToString::to_string).collect();
                assert!(notes.iter().any(|found| found == note), "{name}: {notes:?}");
            }
            (Err(_), None) => {}
            (Ok(read), None) => panic!("{name}: {:?}", read.value),
            (Err(error), Some(_)) => panic!("{name}: {error}"),
        }
    }
}
