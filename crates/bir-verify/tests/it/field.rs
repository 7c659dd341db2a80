//! Faults that users met, rebuilt as small documents: `tests/data/cases`, described in its README.

use std::fs;
use std::path::{Path, PathBuf};

use bir::diag::{DisplayNames, Report, Severity};
use bir_json::{Loaded, ReadOptions, Unresolved};
use bir_verify::{Options, Outcome, verify_cores, verify_loaded};
use serde_json::Value;

/// Rules that the cases test.
pub(crate) const RULES: &[&str] = &[
    "ACT-02", "ALLOC-01", "ALLOC-06", "AP-02", "AP-05", "AP-06", "AP-07", "COL-01", "DEP-01", "DOC-01",
    "DVE-01", "IND-03", "LNC-15", "MM-03", "MM-06", "MOD-03", "MOD-08", "MOD-09", "PART-04", "PART-08",
    "PART-10",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases")
}

fn load(path: &Path) -> Loaded {
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    bir_json::read(&fs::read(path).unwrap(), &options).unwrap()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect()
}

fn run(case: &Path, expected: &Value, which: &str) -> (Outcome, Vec<Report>) {
    let loaded: Vec<Loaded> =
        strings(&expected["inputs"][which]).iter().map(|name| load(&case.join(name))).collect();
    let uninitialised_reads = strings(&expected["options"]).contains(&"uninitialised-reads");
    let options = Options { uninitialised_reads, ..Options::default() };
    let outcome = match &loaded[..] {
        [one] => verify_loaded(one, &options),
        several => verify_cores(&several.iter().collect::<Vec<_>>(), &options),
    };
    let names: Vec<_> = loaded.iter().map(|loaded| DisplayNames::of(&loaded.module)).collect();
    let report = |finding: &bir::diag::Diagnostic| {
        let core = usize::from(finding.place.core.unwrap_or(0));
        finding.report(&loaded[core].module, &names[core])
    };
    let reports = outcome.findings.iter().map(report).collect();
    (outcome, reports)
}

fn matches(report: &Report, wanted: &Value) -> bool {
    let place = &report.place;
    let is = |found: &Option<String>, key: &str| match wanted.get(key) {
        Some(name) => found.as_deref() == name.as_str(),
        None => true,
    };
    let operand = wanted.get("operand").is_none_or(|operand| {
        let role = if operand["role"] == "in" { "ins" } else { "outs" };
        place.operand.is_some_and(|found| {
            found.role == role && found.index as u64 == operand["index"].as_u64().unwrap()
        })
    });
    let message = report.message.to_lowercase();
    strings(&wanted["rule"]).contains(&&*report.code)
        && report.severity.name() == wanted["severity"]
        && is(&place.function, "function")
        && is(&place.block, "block")
        && is(&place.instruction, "instruction")
        && is(&place.location, "location")
        && wanted.get("module").is_none_or(|core| place.module.map(u64::from) == core.as_u64())
        && operand
        && strings(&wanted["contains"]).iter().all(|part| message.contains(&part.to_lowercase()))
}

#[test]
fn what_users_met_is_found_and_its_repair_is_clean() {
    let mut wrong = String::new();
    let mut cases: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    assert!(!cases.is_empty());
    for case in cases {
        let expected: Value = serde_json::from_slice(&fs::read(case.join("expected.json")).unwrap()).unwrap();
        if expected["command"] != "verify" {
            continue;
        }
        let id = expected["id"].as_str().unwrap();
        let (_, bad) = run(&case, &expected, "bad");
        let mut allowed = strings(&expected["also_allowed"]);
        for wanted in expected["expect"].as_array().unwrap() {
            allowed.extend(strings(&wanted["rule"]));
            if !bad.iter().any(|report| matches(report, wanted)) {
                wrong += &format!("\n{id}: nothing is {wanted}");
                bad.iter().for_each(|report| wrong += &format!("\n    {report}"));
            }
        }
        for report in bad.iter().filter(|r| r.severity > Severity::Note && !allowed.contains(&&*r.code)) {
            wrong += &format!("\n{id}: too much: {report}");
        }
        let allowed = strings(&expected["good_allowed"]);
        let (_, good) = run(&case, &expected, "good");
        let loud = |r: &&Report| r.severity > Severity::Note || r.code == "DEP-01";
        for report in good.iter().filter(loud).filter(|r| !allowed.contains(&&*r.code)) {
            wrong += &format!("\n{id}, repaired: {report}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
