//! Faults from public bug reports: what the bad document must give, and nothing else; the good one gives nothing.

use std::path::Path;

use bir::diag::{DisplayNames, Severity};
use bir_json::{ReadOptions, Unresolved};
use bir_order::bir_module::{Line, check_modules};
use bir_order::{Options, Verdict};
use serde_json::Value;

fn run(file: &Path) -> (Vec<Line>, Verdict) {
    let text = std::fs::read(file).unwrap();
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let modules = [bir_json::read(&text, &options).unwrap().module];
    let names = [DisplayNames::of(&modules[0])];
    let checked = check_modules(&[&modules[0]], &Options::default()).unwrap();
    let lines = checked[0].said(&names).into_iter().map(|said| said.line).collect();
    (lines, checked[0].verdict())
}

fn matches(line: &Line, expected: &Value) -> bool {
    let text = |key: &str| expected[key].as_str();
    let is = |place: &bir::diag::NamedPlace, name: Option<&str>| {
        name.is_none_or(|n| place.instruction.as_deref() == Some(n))
    };
    let either = [Some(&line.first), line.second.as_ref()];
    let place = either.into_iter().flatten().find(|place| is(place, text("instruction")));
    let rules = expected["rule"].as_array().unwrap();
    let severity = line.severity.name();
    let contains = expected["contains"].as_array().unwrap().iter();
    rules.iter().any(|rule| rule == line.code)
        && text("severity") == Some(severity)
        && place.is_some_and(|place| {
            let operand = place.operand.as_ref();
            text("block").is_none_or(|block| place.block.as_deref() == Some(block))
                && (expected["operand"].is_null()
                    || operand.is_some_and(|operand| {
                        let role = if operand.role == "outs" { "out" } else { "in" };
                        expected["operand"]["role"] == role && expected["operand"]["index"] == operand.index
                    }))
        })
        && (text("other").is_none() || either.into_iter().flatten().any(|place| is(place, text("other"))))
        && contains.map(|words| words.as_str().unwrap()).all(|words| line.message.contains(words))
}

#[test]
fn public_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    let mut cases = 0;
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let expected: Value =
            serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
        let (bad, bad_verdict) = run(&folder.join("bad.json"));
        let (good, good_verdict) = run(&folder.join("good.json"));
        let loud = |lines: &[Line]| lines.iter().filter(|line| line.severity != Severity::Note).count();
        assert_eq!(loud(&good), 0, "{}: {good:?}", folder.display());
        if expected["command"] != "order" {
            // A verification case that this check must accept in both forms.
            assert_eq!(loud(&bad), 0, "{}: {bad:?}", folder.display());
            continue;
        }
        cases += 1;
        let wanted = expected["expect"].as_array().unwrap();
        for wanted in wanted {
            assert!(
                bad.iter().any(|line| matches(line, wanted)),
                "{}: {wanted} in {bad:#?}",
                folder.display()
            );
        }
        assert_eq!(loud(&bad), wanted.len(), "{}: {bad:?}", folder.display());
        assert_eq!(expected["verdict"]["bad"], bad_verdict.name());
        assert_eq!(expected["verdict"]["good"], good_verdict.name());
    }
    assert_eq!(cases, 3);
}
