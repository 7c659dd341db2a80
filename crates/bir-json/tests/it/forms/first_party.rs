//! Dates and hand-made corners of first-party documents. spec: bir-json 18

use super::*;

#[test]
fn a_document_may_say_almost_nothing() {
    let text = r#"{"version": 2, "functions": [{"name": "sg0000", "attributes": [], "allocations": [],
        "blocks": [{"name": "Block1", "instructions": [
            {"queue": null, "outs": [], "opcode": "Save", "name": "same", "ins": [], "engine": "Unassigned"},
            {"queue": null, "outs": [], "opcode": "Load", "name": "same", "ins": [], "engine": "Unassigned"}]}]}],
        "attributes": {"neuron_core_id": 0}, "arch": "gen3"}"#;
    let loaded = load(text);
    assert_no_oddities(&loaded);
    let written = parse(&text_of(&loaded));
    assert_eq!(written["attributes"], json!({"neuron_core_id": 0}));
    assert_eq!(written["functions"][0]["blocks"][0]["instructions"][1], inst("Load", "same"));
    let module = &loaded.module;
    assert_eq!(module.str(module[module.main().unwrap()].name), "sg0000");
}

/// "names are arbitrary UTF-8".
#[test]
fn names_may_be_any_text() {
    for name in ["тензор", "a}b", "a\"b\\", "\u{0}", "", " ", "a\u{2028}b", "😀", "{\"kind\": \"x\"}"]
    {
        let mut document = world();
        document["functions"][0]["allocations"][0]["memorylocations"][0]["name"] = json!(name);
        let access = with(&operand(), json!({"memref": name}));
        let inst = with(&inst("NoOp", name), json!({"ins": [access, access], "outs": [access]}));
        document["functions"][0]["blocks"][0]["instructions"] = json!([inst, inst]);
        let written = round_trip(&document);
        assert_eq!(written, document, "{name:?}");
    }
}
