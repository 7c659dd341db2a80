//! Findings as SARIF 2.1.0, which editors and code hosts show.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bir::diag::{NamedPlace, Severity};
use serde_json::{Value, json};

use super::Shown;

/// What a rule is, for the list of rules.
pub(crate) struct RuleText {
    /// What it is about, in a few words.
    pub(crate) title: String,
    /// What must hold.
    pub(crate) check: String,
}

/// Writes one run with all findings. `rule` describes the rule of a code.
pub(crate) fn sarif(
    sink: &mut dyn Write,
    shown: &[Shown],
    rule: &dyn Fn(&str) -> Option<RuleText>,
) -> io::Result<()> {
    let mut index = BTreeMap::new();
    for finding in shown {
        index.entry(&*finding.report.code).or_insert(0usize);
    }
    index.values_mut().enumerate().for_each(|(at, place)| *place = at);
    let rules: Vec<Value> = index.keys().map(|code| descriptor(code, rule(code))).collect();
    let results: Vec<Value> =
        shown.iter().map(|finding| result(finding, index[&*finding.report.code])).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "bir",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *sink, &log)?;
    sink.write_all(b"\n")
}

fn descriptor(code: &str, text: Option<RuleText>) -> Value {
    let mut rule = json!({ "id": code });
    if let Some(text) = text {
        rule["shortDescription"] = json!({ "text": text.title });
        rule["fullDescription"] = json!({ "text": text.check });
    }
    rule
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(shown: &Shown, rule: usize) -> Value {
    let report = &shown.report;
    let mut message = report.message.clone();
    for note in &report.notes {
        message += &format!("\n{note}");
    }
    if let Some(help) = &report.help {
        message += &format!("\nHelp: {help}");
    }
    let mut result = json!({
        "ruleId": report.code,
        "ruleIndex": rule,
        "level": level(report.severity),
        "message": { "text": message },
        "locations": [location(&report.place)],
        "occurrenceCount": report.count,
    });
    let related: Vec<Value> = report
        .related
        .iter()
        .enumerate()
        .map(|(at, related)| {
            let mut location = location(&related.place);
            location["id"] = json!(at);
            location["message"] = json!({ "text": related.label });
            location
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    let mut properties = serde_json::Map::new();
    for (key, value) in [("vendorCode", &report.vendor_code), ("vendorText", &report.vendor_text)] {
        if let Some(value) = value {
            properties.insert(key.into(), json!(value));
        }
    }
    if !properties.is_empty() {
        result["properties"] = properties.into();
    }
    result
}

fn location(place: &NamedPlace) -> Value {
    let mut location = json!({});
    if let Some(file) = &place.file {
        let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = place.line {
            physical["region"] = json!({ "startLine": line });
        }
        if let (Some(_), Some(column)) = (place.line, place.column) {
            physical["region"]["startColumn"] = json!(column);
        }
        location["physicalLocation"] = physical;
    }
    let name = place.to_string();
    if !name.is_empty() {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": name }]);
    }
    location
}

/// A path as a relative reference: bytes that have no place in one are escaped.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            b'\\' => uri.push('/'),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
