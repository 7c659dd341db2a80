//! A golden module for each operator that has a BIR form. `BLESS=1` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use bir::diag::Severity;
use bir_json::{Loaded, ReadOptions, WriteOptions};
use klr::Arena;
use klr_lower::mapping::MAPPINGS;
use klr_lower::{NoteKind, Options, lower};

use crate::cases::case;
use crate::kit::Kit;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden").join(format!("{name}.txt"))
}

/// The golden of one operator: what is known of its mapping, the statements, and the module.
fn golden(operator: &str) -> String {
    let mapping = MAPPINGS.iter().find(|mapping| mapping.operator == operator).expect("it is lowered");
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let (target, operators) = case(operator, &kit);
    let file = kit.kernel(&operators);
    let lowered = lower(&file, &Options { target, ..Options::default() });
    let lowered = lowered.unwrap_or_else(|error| panic!("{operator}: {error}"));
    assert_eq!(lowered.module.check_links(), [], "{operator}");
    // The reference's own round trip.
    let json = bir_json::to_string(&lowered.module, &WriteOptions::default());
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    let again =
        bir_json::read(json.as_bytes(), &options).unwrap_or_else(|error| panic!("{operator}: {error}"));
    assert_eq!(bir_json::to_string(&again.module, &WriteOptions::default()), json, "{operator}");
    assert!(again.oddities.iter().next().is_none(), "{operator}");

    let mut text = format!("# {operator} becomes {}.\n# {}", mapping.bir, mapping.known.name());
    if let Some(choice) = mapping.choice {
        text.push_str(&format!(". Ours: {choice}"));
    }
    text.push_str(".\n");
    for operator in &operators {
        for line in klr::print::readable(operator).lines() {
            text.push_str(&format!("# | {line}\n"));
        }
    }
    for note in lowered.notes.iter().filter(|note| note.kind == NoteKind::Loss) {
        text.push_str(&format!("# note: {note}\n"));
    }
    for (code, message) in findings(operator, &again) {
        text.push_str(&format!("# verify, {code}: {message}\n"));
    }
    text.push_str(&json);
    text.push('\n');
    text
}

/// What the verifier finds, each rule once. Errors are not among it.
fn findings(operator: &str, loaded: &Loaded) -> BTreeMap<String, String> {
    let options = bir_verify::Options { cores: Some(2), parallel: false, ..bir_verify::Options::default() };
    let outcome = bir_verify::verify_loaded(loaded, &options);
    let errors: Vec<_> = outcome.findings.iter().filter(|found| found.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{operator}: {errors:#?}");
    let warnings = outcome.findings.iter().filter(|found| found.severity == Severity::Warning);
    warnings.map(|found| (found.code.to_string(), found.message.clone())).collect()
}

#[test]
fn every_operator_has_a_golden_module() {
    let mut wrong = Vec::new();
    for (at, mapping) in MAPPINGS.iter().enumerate() {
        let text = golden(mapping.operator);
        let path = path(&format!("{:02}-{}", at + 1, mapping.operator));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).expect("goldens can be written");
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            wrong.push(mapping.operator);
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 writes the goldens of {wrong:?} anew");
    let folder = path("").parent().expect("a folder").to_path_buf();
    let count = fs::read_dir(folder).expect("the folder of goldens is there").count();
    assert_eq!((count, MAPPINGS.len()), (60, 60));
}
