//! SARIF output against the standard: for every object that the program writes, which members it may have, which it
//! must have, and what they are. From the property tables of SARIF 2.1.0 (OASIS), section 3; no object but a property
//! bag may have others.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

/// What a value is.
enum Kind {
    /// A string.
    Text,
    /// A string that is a reference by RFC 3986.
    Uri,
    /// One of some words.
    Word(&'static [&'static str]),
    /// An integer of at least this.
    Number(i64),
    /// An object of a table.
    Object(&'static str),
    /// A list of objects of a table, of at least so many; whether they must differ.
    List(&'static str, usize, bool),
    /// Anything: the members of a property bag.
    Bag,
}

/// An object, its members with their kinds, and those that must be there.
type Table = (&'static str, &'static [(&'static str, Kind)], &'static [&'static str]);

const TABLES: &[Table] = &[
    (
        "log",
        &[("$schema", Kind::Uri), ("version", Kind::Word(&["2.1.0"])), ("runs", Kind::List("run", 0, false))],
        &["version", "runs"],
    ),
    (
        "run",
        &[
            ("tool", Kind::Object("tool")),
            ("columnKind", Kind::Word(&["utf16CodeUnits", "unicodeCodePoints"])),
            ("results", Kind::List("result", 0, false)),
        ],
        &["tool"],
    ),
    ("tool", &[("driver", Kind::Object("toolComponent"))], &["driver"]),
    (
        "toolComponent",
        &[
            ("name", Kind::Text),
            ("version", Kind::Text),
            ("rules", Kind::List("reportingDescriptor", 0, true)),
        ],
        &["name"],
    ),
    (
        "reportingDescriptor",
        &[
            ("id", Kind::Text),
            ("shortDescription", Kind::Object("multiformatMessageString")),
            ("fullDescription", Kind::Object("multiformatMessageString")),
        ],
        &["id"],
    ),
    ("multiformatMessageString", &[("text", Kind::Text)], &["text"]),
    (
        "result",
        &[
            ("ruleId", Kind::Text),
            ("ruleIndex", Kind::Number(-1)),
            ("level", Kind::Word(&["none", "note", "warning", "error"])),
            ("message", Kind::Object("message")),
            ("locations", Kind::List("location", 0, false)),
            ("relatedLocations", Kind::List("location", 0, true)),
            ("occurrenceCount", Kind::Number(1)),
            ("properties", Kind::Bag),
        ],
        &["message"],
    ),
    ("message", &[("text", Kind::Text)], &["text"]),
    (
        "location",
        &[
            ("id", Kind::Number(-1)),
            ("physicalLocation", Kind::Object("physicalLocation")),
            ("logicalLocations", Kind::List("logicalLocation", 0, true)),
            ("message", Kind::Object("message")),
        ],
        &[],
    ),
    (
        "physicalLocation",
        &[("artifactLocation", Kind::Object("artifactLocation")), ("region", Kind::Object("region"))],
        &["artifactLocation"],
    ),
    ("artifactLocation", &[("uri", Kind::Uri)], &[]),
    ("region", &[("startLine", Kind::Number(1)), ("startColumn", Kind::Number(1))], &[]),
    ("logicalLocation", &[("fullyQualifiedName", Kind::Text)], &[]),
];

/// Faults of a value, with their places.
fn check(value: &Value, kind: &Kind, at: &str, faults: &mut Vec<String>) {
    let fits = match (kind, value) {
        (Kind::Text, Value::String(_)) => true,
        (Kind::Uri, Value::String(text)) => is_reference(text),
        (Kind::Word(words), Value::String(text)) => words.contains(&&**text),
        (Kind::Number(least), value) => value.as_i64().is_some_and(|number| number >= *least),
        (Kind::Object(name), Value::Object(members)) => {
            object(members, name, at, faults);
            true
        }
        (Kind::List(name, least, differ), Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                check(value, &Kind::Object(name), &format!("{at}[{index}]"), faults);
            }
            let repeats = || list.iter().enumerate().any(|(at, value)| list[..at].contains(value));
            list.len() >= *least && !(*differ && repeats())
        }
        (Kind::Bag, Value::Object(_)) => true,
        _ => false,
    };
    if !fits {
        faults.push(format!("{at}: {value}"));
    }
}

fn object(members: &Map<String, Value>, name: &str, at: &str, faults: &mut Vec<String>) {
    let (_, known, required) = TABLES.iter().find(|(table, ..)| *table == name).expect("a table");
    for (key, value) in members {
        match known.iter().find(|(known, _)| known == key) {
            Some((_, kind)) => check(value, kind, &format!("{at}.{key}"), faults),
            None => faults.push(format!("{at}: a {name} has no {key}")),
        }
    }
    faults.extend(
        required.iter().filter(|key| !members.contains_key(**key)).map(|key| format!("{at}: no {key}")),
    );
}

/// Whether a text has the characters of a reference, each escape with two digits, and no scheme by accident.
fn is_reference(text: &str) -> bool {
    let bytes = text.as_bytes();
    let legal = |at: usize| match bytes[at] {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        byte => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
    };
    let first = text.split('/').next().unwrap_or_default();
    (0..bytes.len()).all(legal) && (!first.contains(':') || text.starts_with("https:"))
}

/// What an index or an id of one part says of another.
fn links(log: &Value, faults: &mut Vec<String>) {
    for run in log["runs"].as_array().into_iter().flatten() {
        let rules = run["tool"]["driver"]["rules"].as_array().cloned().unwrap_or_default();
        for result in run["results"].as_array().into_iter().flatten() {
            let rule = result["ruleIndex"].as_u64().and_then(|at| rules.get(at as usize));
            if rule.is_none_or(|rule| rule["id"] != result["ruleId"]) {
                faults.push(format!("rule {} is not at {}", result["ruleId"], result["ruleIndex"]));
            }
            let related = result["relatedLocations"].as_array().cloned().unwrap_or_default();
            let ids: Vec<_> = related.iter().filter_map(|location| location.get("id")).collect();
            if ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id)) {
                faults.push(format!("an id twice: {ids:?}"));
            }
        }
    }
}

/// Faults of a log.
fn faults(log: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(log, &Kind::Object("log"), "log", &mut faults);
    links(log, &mut faults);
    faults
}

/// What a command prints as SARIF, and the number of findings.
fn sarif(folder: &Path, args: &[&str]) -> (Value, usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir"));
    let output = command.current_dir(folder).args(args).args(["--format", "sarif"]).output().unwrap();
    let log: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{args:?}: {error}\n{}", String::from_utf8_lossy(&output.stderr));
    });
    let results = log["runs"][0]["results"].as_array().map_or(0, Vec::len);
    (log, results)
}

fn is_standard(folder: &Path, args: &[&str]) -> usize {
    let (log, results) = sarif(folder, args);
    let found = faults(&log);
    assert!(found.is_empty(), "{args:?}: {found:#?}");
    results
}

#[test]
fn findings_are_written_as_the_standard_says() {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bir-verify/tests/data/cases");
    let mut count = 0;
    for case in std::fs::read_dir(&inputs).unwrap() {
        let case = case.unwrap().path();
        for name in ["bad.json", "good.json"].into_iter().filter(|name| case.join(name).exists()) {
            for command in ["verify", "order"] {
                count += is_standard(&case, &[command, name]);
            }
        }
    }
    assert!(count > 20, "{count} findings are no test");
}

/// Packages that are fine and that are not, whole and cut off, for devices that load them and that do not.
#[test]
fn findings_about_packages_are_too() {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let mut count = 0;
    for package in ["product.neff", "badhash.neff", "escapes.neff", "oddstream.neff"] {
        count += is_standard(&inputs, &["neff", "check", package]);
        count += is_standard(&inputs, &["neff", "check", "--device", "trn1", package]);
    }
    assert!(count > 0, "no findings are no test");
    let (log, _) = sarif(&inputs, &["neff", "check", "--device", "trn1", "product.neff"]);
    for result in log["runs"][0]["results"].as_array().unwrap() {
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "product.neff");
    }
}

/// Names of files and of instructions with characters that mean something to one of the formats; several files; text
/// that does not come from a file.
#[test]
fn odd_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let bir = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bir")).current_dir(folder.path()).args(args).output().unwrap()
    };
    assert!(bir(&["demo"]).status.success());
    let sample = std::fs::read_to_string(folder.path().join("bir-demo/matmul_softmax.json")).unwrap();
    let broken = sample
        .replace("\"addr\": 16384,", "\"addr\": 400000,")
        .replace("\"w_sb0_0\"", "\"w \\\"0\\\" \\u0001é%\"");
    let names = ["a b#1?é%.json", "c:d.json"];
    for name in names {
        std::fs::write(folder.path().join(name), &broken).unwrap();
        assert!(is_standard(folder.path(), &["verify", name]) > 0);
        is_standard(folder.path(), &["order", name]);
    }
    assert!(is_standard(folder.path(), &["verify", names[0], names[1]]) > 1);
    let race = sample.replacen("\"wait_value\": 16", "\"wait_value\": 0", 1);
    std::fs::write(folder.path().join("race.json"), race).unwrap();
    assert!(is_standard(folder.path(), &["order", "race.json"]) > 0, "two places in each finding");
}

/// The test would see it.
#[test]
fn what_is_not_standard_is_seen() {
    let good: Value = serde_json::json!({
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "bir", "rules": [{ "id": "A" }] } },
            "results": [{ "ruleId": "A", "ruleIndex": 0, "message": { "text": "m" } }],
        }],
    });
    assert_eq!(faults(&good), [""; 0]);
    let result = "/runs/0/results/0";
    let broken: [(&str, &str, Value); 8] = [
        ("", "version", "2.0.0".into()),
        ("", "extra", 1.into()),
        ("/runs/0", "tool", Value::Null),
        ("/runs/0/tool/driver", "rules", serde_json::json!([{ "id": "A" }, { "id": "A" }])),
        (result, "level", "fatal".into()),
        (result, "ruleIndex", 1.into()),
        (result, "occurrenceCount", 0.into()),
        (
            result,
            "locations",
            serde_json::json!([{ "physicalLocation": { "artifactLocation": { "uri": "a b" } } }]),
        ),
    ];
    for (place, key, value) in broken {
        let mut log = good.clone();
        log.pointer_mut(place).unwrap()[key] = value;
        assert_ne!(faults(&log), [""; 0], "{place} {key}");
    }
}
