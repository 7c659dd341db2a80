//! Sets, locations, registers and aliases.

use super::*;

fn with_locations(first: Value, second: Value) -> Value {
    let mut document = world();
    let allocations = &mut document["functions"][0]["allocations"];
    allocations[0]["memorylocations"][0] = with(&location("t"), first);
    allocations[1]["memorylocations"][0] = with(&location("u"), second);
    document
}

fn aliases(document: &Value) -> (Value, Value) {
    let written = round_trip(document);
    let allocations = &written["functions"][0]["allocations"];
    let alias = |i: usize| allocations[i]["memorylocations"][0]["alias"].clone();
    (alias(0), alias(1))
}

/// "The writer emits only the new form, on both endpoints"; kinds are or-ed. spec: bir-json 5.4
#[test]
fn aliases_stand_at_both_ends() {
    let both = (json!([["u_set", "u", 3]]), json!([["t_set", "t", 3]]));
    let none = json!({});
    assert_eq!(aliases(&with_locations(json!({"alias": [["u_set", "u", 3]]}), none.clone())), both);
    assert_eq!(aliases(&with_locations(none.clone(), json!({"alias": [["t_set", "t", 3]]}))), both);
    let or = with_locations(json!({"alias": [["u_set", "u", 1]]}), json!({"alias": [["t_set", "t", 2]]}));
    assert_eq!(aliases(&or), both);
    let old = with_locations(json!({"alias": [["u", 3]]}), none.clone());
    assert_eq!(aliases(&old), both);
    for (kind, number) in [(json!(true), 1), (json!(false), 0), (json!(1.0), 1), (json!(7), 7)] {
        let document = with_locations(json!({"alias": [["u_set", "u", kind]]}), none.clone());
        assert_eq!(aliases(&document).0, json!([["u_set", "u", number]]), "{kind}");
    }
    // Of a location with itself there is one entry.
    let itself = with_locations(json!({"alias": [["t_set", "t", 1]]}), none.clone());
    assert_eq!(aliases(&itself).0, json!([["t_set", "t", 1]]));
    // An empty list is no list.
    assert_eq!(aliases(&with_locations(json!({"alias": []}), none)).0, Value::Null);
}

/// What is written of a location names the first one of its name, so the canonical form is stable only when that
/// one has the alias as well.
#[test]
fn aliases_of_later_locations_of_a_name_are_those_of_the_first() {
    for (first, second) in [("t_set", "t"), ("u_set", "u")] {
        let mut document = with_locations(json!({}), json!({}));
        let later = with(&location("t"), json!({"alias": [[first, second, 2]]}));
        document["functions"][0]["allocations"][0]["memorylocations"].as_array_mut().unwrap().push(later);
        let written = round_trip(&document);
        let set = &written["functions"][0]["allocations"][0]["memorylocations"];
        assert_eq!(set[0]["alias"], json!([[first, second, 2]]));
        assert_eq!(set[1]["alias"], json!([[first, second, 2]]));
    }
    // Sets may have one name as well.
    let mut document = with_locations(json!({}), json!({"alias": [["t_set", "t", 2]]}));
    document["functions"][0]["allocations"][1]["name"] = json!("t_set");
    let (first, second) = aliases(&document);
    assert_eq!((first, second), (json!([["t_set", "u", 2]]), json!([["t_set", "t", 2]])));
}

/// The old form stands in an allocation record without locations. spec: bir-json 5.4
#[test]
fn aliases_of_records_without_locations_are_read() {
    let mut document = world();
    let record = json!({"Skind": "memory_location_set", "alias": [["u", 3]], "dtype": "float32",
        "kind": "Internal", "name": "t", "tensor_shape": [1]});
    document["functions"][0]["allocations"].as_array_mut().unwrap().push(record);
    let written = round_trip(&document);
    let allocations = &written["functions"][0]["allocations"];
    assert_eq!(allocations[0]["memorylocations"][0]["alias"], json!([["u_set", "u", 3]]));
    assert_eq!(allocations[1]["memorylocations"][0]["alias"], json!([["t_set", "t", 3]]));
    assert_eq!(allocations[4].get("alias"), None);
}

#[test]
fn aliases_are_for_dram() {
    for (first, second) in [("SB", "DRAM"), ("DRAM", "SB"), ("PSUM", "PSUM"), ("Input", "DRAM")] {
        let document =
            with_locations(json!({"type": first, "alias": [["u_set", "u", 3]]}), json!({"type": second}));
        let text = document.to_string();
        assert!(refusal(&text).ends_with("t -> u. Aliasing only permitted for DRAM locations."));
        let loaded = load_with(&text, &KEEP);
        assert_eq!(oddities(&loaded), [(OddityKind::BadAlias, 1)]);
    }
    for wrong in [
        json!({}),
        json!([7]),
        json!([[]]),
        json!([["u_set", "u"]]),
        json!([["u_set", "u", 8]]),
        json!([["u_set", "u", -1]]),
        json!([["u_set", "u", 1, 1]]),
        json!([[1]]),
        json!([["u_set", "u", "3"]]),
    ] {
        let text = with_locations(json!({"alias": wrong}), json!({})).to_string();
        let error = refuse(&text);
        assert!(error.place(text.as_bytes()).path.contains("alias"), "{wrong}: {error}");
    }
}

/// Memory types may be numbers, the flags of the in-memory record; names are written.
#[test]
fn memory_types_may_be_numbers() {
    for (number, name) in
        [(1, "Unallocated"), (2, "Input"), (4, "Output"), (8, "DRAM"), (16, "SB"), (32, "PSUM")]
    {
        let written = round_trip(&with_locations(json!({"type": number}), json!({})));
        let location = &written["functions"][0]["allocations"][0]["memorylocations"][0];
        assert_eq!(location["type"], json!(name));
    }
    for wrong in [json!(0), json!(3), json!(256), json!(-1), json!(true)] {
        refuse(&with_locations(json!({"type": wrong}), json!({})).to_string());
    }
}

/// "absent: NeuronSBTensor when kind is Internal, else Tensor".
#[test]
fn the_class_of_a_set_goes_by_its_kind() {
    for kind in table::enum_names("TensorKind") {
        for null in [false, true] {
            let mut document = world();
            let set = &mut document["functions"][0]["allocations"][0];
            set["kind"] = json!(kind);
            set.as_object_mut().unwrap().remove("tensor_class");
            if null {
                set["tensor_class"] = json!(null);
            }
            let class = if kind == "Internal" { "NeuronSBTensor" } else { "Tensor" };
            let written = parse(&canonical(&document.to_string()));
            assert_eq!(written["functions"][0]["allocations"][0]["tensor_class"], json!(class), "{kind}");
        }
    }
}

/// Without Skind a record with locations is a set, any other a register. spec: bir-json 5
#[test]
fn records_say_what_they_are() {
    let mut document = world();
    document["functions"][0]["allocations"] = json!([
        {"name": "s", "kind": "Internal", "dtype": null, "memorylocations": [], "tensor_shape": []},
        {"name": "r"},
        {"name": "s2", "Skind": "memory_location_set", "kind": "Internal", "dtype": "int8", "tensor_shape": []},
    ]);
    let written = parse(&canonical(&document.to_string()));
    let kinds: Vec<_> = written["functions"][0]["allocations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["Skind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["memory_location_set", "register", "memory_location_set"]);
    // "null: size operands by their own dtype", and null again. spec: opcodes 1.2
    assert_eq!(written["functions"][0]["allocations"][0]["dtype"], json!(null));
}

/// An unresolved set in `Unresolved::Keep` mode does not swallow the aliases that are there.
#[test]
fn kept_aliases_stand_beside_resolved_ones() {
    let document = with_locations(json!({"alias": [["u_set", "u", 1], ["u_set", "ghost", 3]]}), json!({}));
    let loaded = load_with(&document.to_string(), &KEEP);
    let written = text_of(&loaded);
    assert!(written.contains("\"ghost\""));
    let location = &parse(&written)["functions"][0]["allocations"][0]["memorylocations"][0];
    let entries = location["alias"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{entries:?}");
}
