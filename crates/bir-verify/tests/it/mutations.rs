//! The sample is clean; with one fault in it, the right rule says so.

use bir::Module;
use bir::diag::{DisplayNames, Severity};
use bir::sample::{Tiles, matmul_softmax};
use bir_verify::{Options, verify};

use crate::faults::{FAULTS, Fault};

/// Rules that are the only answer to a fault.
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().filter_map(|Fault(_, rules, _)| match rules {
        [only] => Some(*only),
        _ => None,
    })
}

fn sample() -> Module {
    matmul_softmax(&Tiles::default())
}

#[test]
fn the_sample_is_clean() {
    let module = sample();
    let names = DisplayNames::of(&module);
    let found = verify(&module, &Options { strict: true, ..Options::default() }).findings;
    let loud: Vec<String> = found
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
        .map(|finding| finding.report(&module, &names).to_string())
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

#[test]
fn one_fault_in_the_sample_is_found_by_its_rule() {
    let mut missed = String::new();
    for Fault(what, rules, make) in FAULTS {
        let mut module = sample();
        make(&mut module);
        let found = verify(&module, &Options::default()).findings;
        if !found.iter().any(|finding| rules.contains(&&*finding.code)) {
            let codes: Vec<&str> = found.iter().map(|finding| &*finding.code).collect();
            missed += &format!("\n{what}: {rules:?} wanted, found {codes:?}");
        }
    }
    assert!(FAULTS.len() >= 40);
    assert!(missed.is_empty(), "{missed}");
}
