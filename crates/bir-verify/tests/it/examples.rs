//! The examples of `bir explain`: what the cases of the rules break, and how they are repaired. `BLESS=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bir::Module;
use bir_verify::{Options, explain, verify};
use serde_json::Value;

use crate::Case;

/// Where the examples stand: the rule, what breaks it, and what does not.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explain/examples.tsv");

#[test]
fn examples_are_what_the_cases_do() {
    let mut lines = String::new();
    let mut seen = BTreeSet::new();
    for case in crate::rules::cases() {
        if let Some([bad, good]) = example(case)
            && seen.insert(case.rule)
        {
            writeln!(lines, "{}\t{bad}\t{good}", case.rule).unwrap();
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(FILE, &lines).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap();
    let differs = lines.lines().zip(written.lines()).find(|(now, before)| now != before);
    assert!(lines == written, "examples.tsv differs: {differs:#?}");
    assert!(seen.len() > 100, "{}", seen.len());
}

#[test]
fn explaining_a_rule_shows_its_example() {
    let topic = &explain("PART-01")[0];
    let part = |label: &str| &topic.parts.iter().find(|part| part.label == label).unwrap().text;
    assert!(part("example").contains("129"), "{}", part("example"));
    assert!(part("repaired").contains("128"), "{}", part("repaired"));
}

/// Values that tell the broken module from the repaired one, if they are few: in each, and what is said of the first.
fn example(case: &Case) -> Option<[String; 2]> {
    let (bad, good) = (case.module(case.bad), case.module(case.good));
    let found = verify(&bad, &Options::default()).findings;
    let finding = found.iter().find(|finding| finding.code == case.rule)?;
    let (bad_values, good_values) = (values(&bad), values(&good));
    let differs = |values: &BTreeMap<String, String>, others: &BTreeMap<String, String>| -> Vec<String> {
        let mut changed = Vec::new();
        for (path, value) in values {
            match others.get(path) {
                Some(other) if other == value => {}
                _ => changed.push(format!("{path} = {value}")),
            }
        }
        changed
    };
    let (in_bad, in_good) = (differs(&bad_values, &good_values), differs(&good_values, &bad_values));
    let is_short =
        |changed: &[String]| changed.len() <= 3 && changed.iter().map(String::len).sum::<usize>() < 160;
    if !is_short(&in_bad) || !is_short(&in_good) || in_bad.is_empty() && in_good.is_empty() {
        return None;
    }
    let op =
        finding.place.inst().map_or("", |inst| bir::OpenEnum::name(bad[inst].opcode()).unwrap_or_default());
    let parts = |changed: &[String], other: &[String]| match changed {
        [] => ("without", other.join(", ")),
        _ => ("with", changed.join(", ")),
    };
    let (with, changed) = parts(&in_bad, &in_good);
    let start = if op.is_empty() { String::new() } else { format!("{op} {with} ") };
    let bad = format!("{start}{changed}: {}", finding.message);
    let good = match parts(&in_good, &in_bad) {
        ("with", changed) => changed,
        (without, changed) => format!("{without} {changed}"),
    };
    Some([bad, good].map(|text| text.replace(['\t', '\n'], " ")))
}

/// The values of a module by path. What has a name is called by it; lists without objects are values.
fn values(module: &Module) -> BTreeMap<String, String> {
    let text = bir_json::to_string(module, &Default::default());
    let mut values = BTreeMap::new();
    collect(&serde_json::from_str(&text).unwrap(), String::new(), &mut values);
    values
}

fn collect(value: &Value, path: String, values: &mut BTreeMap<String, String>) {
    let has_objects = |list: &[Value]| list.iter().any(Value::is_object);
    match value {
        Value::Object(members) => {
            let path = members.get("name").and_then(Value::as_str).map_or(path, str::to_owned);
            for (key, value) in members {
                // What follows from other keys says nothing more.
                if !matches!(key.as_str(), "access_shape" | "memsetref" | "tensorId2MemLocSize") {
                    let dot = if path.is_empty() { "" } else { "." };
                    collect(value, format!("{path}{dot}{key}"), values);
                }
            }
        }
        Value::Array(list) if has_objects(list) => {
            for (at, value) in list.iter().enumerate() {
                collect(value, format!("{path}[{at}]"), values);
            }
        }
        _ => _ = values.insert(path, value.to_string()),
    }
}
