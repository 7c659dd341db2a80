//! Every rule has a test, or is known to have none.

use std::collections::BTreeSet;

use bir::Module;
use bir::builder::{Builder, NewTensor};
use bir::diag::{Diagnostic, DisplayNames, Severity};
use bir::enums::{ArchLevel, Dtype, EngineType, InstructionType};
use bir_verify::{Checkable, Layer, Options, RuleId, implemented, verify};

use crate::Case;

/// The tables of all families.
pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [
        crate::activation::CASES,
        crate::collective::CASES,
        crate::cores::CASES,
        crate::dma::CASES,
        crate::engine::CASES,
        crate::flow::CASES,
        crate::gpsimd::CASES,
        crate::graph::CASES,
        crate::indirect::CASES,
        crate::kernel::CASES,
        crate::matmul::CASES,
        crate::mx::CASES,
        crate::module::CASES,
        crate::pattern::CASES,
        crate::search::CASES,
        crate::storage::CASES,
        crate::vector::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Rules that are sure and can be checked, and have no test. The list may only become shorter: with BLESS=1 those
/// that have one are taken out.
const UNTESTED: &str = include_str!("untested.txt");

fn findings(module: &Module) -> Vec<Diagnostic> {
    let options = Options { uninitialised_reads: false, ..Options::default() };
    verify(module, &options).findings
}

fn text(module: &Module, findings: &[Diagnostic]) -> String {
    let names = DisplayNames::of(module);
    findings.iter().map(|finding| format!("\n  {}", finding.report(module, &names))).collect()
}

#[test]
fn a_broken_rule_is_reported_and_a_kept_one_is_not() {
    let mut wrong = String::new();
    for case in cases() {
        let bad = case.module(case.bad);
        let found = findings(&bad);
        if !found.iter().any(|finding| finding.code == case.rule) {
            wrong += &format!("\n{} is not reported:{}", case.rule, text(&bad, &found));
        }
        let good = case.module(case.good);
        let mut found = findings(&good);
        found.retain(|finding| finding.severity > Severity::Note || finding.code == case.rule);
        if !found.is_empty() {
            wrong += &format!("\n{}, repaired:{}", case.rule, text(&good, &found));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_sure_rule_has_a_test() {
    let tested: BTreeSet<&str> = cases()
        .map(|case| case.rule)
        .chain(crate::field::RULES.iter().chain(crate::gpsimd::RULES).chain(crate::matmul::RULES).copied())
        .chain(crate::cores::rules())
        .chain(crate::mutations::rules())
        .chain(ASKED_FOR.iter().copied())
        .collect();
    let wanted: BTreeSet<&str> = RuleId::all()
        .map(RuleId::info)
        .filter(|rule| rule.conf.is_firm() && rule.checkable != Checkable::No && rule.layer != Layer::Word)
        .filter(|rule| rule.order_code.is_none() && rule.superseded_by.is_none())
        .map(|rule| rule.id)
        .collect();
    let untested: BTreeSet<&str> = UNTESTED.lines().filter(|line| !line.is_empty()).collect();
    let missing: BTreeSet<&str> = wanted.difference(&tested).copied().collect();
    if std::env::var_os("BLESS").is_some() {
        let lines: String = missing.intersection(&untested).map(|rule| format!("{rule}\n")).collect();
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/untested.txt"), lines).unwrap();
        return;
    }
    let new: Vec<_> = missing.difference(&untested).collect();
    let gone: Vec<_> = untested.difference(&missing).collect();
    assert!(new.is_empty(), "rules without a test: {new:?}");
    assert!(gone.is_empty(), "take out of untested.txt, since they have a test now: {gone:?}");
}

#[test]
fn every_tested_rule_is_implemented() {
    for case in cases() {
        let rule = RuleId::parse(case.rule).expect("a rule");
        assert!(implemented(rule), "{rule:?}");
    }
}

/// Rules that need an option, with one that breaks them.
#[test]
fn rules_that_are_asked_for() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let nop = b.plain_inst("n", EngineType::SP, InstructionType::NoOp);
    nop.waits(40, 1).waits(41, 1).waits(42, 1);
    let codes = |options: Options| -> Vec<String> {
        verify(&module, &options).findings.iter().map(|finding| finding.code.to_string()).collect()
    };
    assert!(
        codes(Options { semaphore_limit: Some(41), ..Options::default() })
            .iter()
            .any(|code| code == "SYNC-02")
    );
    assert!(
        !codes(Options { semaphore_limit: Some(43), ..Options::default() })
            .iter()
            .any(|code| code == "SYNC-02")
    );
    assert!(codes(Options { is_verbose: true, ..Options::default() }).iter().any(|code| code == "SYNC-07"));
    assert!(!codes(Options::default()).iter().any(|code| code == "SYNC-07"));
}

/// Rules that the test above is about.
const ASKED_FOR: &[&str] = &["SYNC-02", "SYNC-07"];

#[test]
fn options_choose_rules_and_severities() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let x = b.tensor(NewTensor::sb("x", [16, 16], Dtype::Float32).at(0).base(16));
    b.plain_inst("c", EngineType::DVE, InstructionType::TensorCopy).input(x).output(x);
    let run = |options: Options| verify(&module, &options);
    let rule = |id: &str| RuleId::parse(id).unwrap();
    assert!(run(Options::default()).count(Severity::Error) > 0);
    let only = run(Options { only: vec![rule("ALLOC-04")], ..Options::default() });
    assert!(only.findings.iter().all(|finding| finding.code == "ALLOC-04") && only.rules == 1);
    let allow = run(Options { allow: vec![rule("ALLOC-04")], ..Options::default() });
    assert!(allow.findings.iter().all(|finding| finding.code != "ALLOC-04"));
    // In parallel or not, the findings are the same, in the same order.
    let codes = |parallel: bool| -> Vec<String> {
        run(Options { parallel, ..Options::default() }).findings.iter().map(|f| format!("{f:?}")).collect()
    };
    assert_eq!(codes(true), codes(false));
}

/// A fault of one source line is said once, however often it is unrolled.
#[test]
fn repeats_are_one_finding_with_a_count() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let x = b.tensor(NewTensor::sb("x", [128, 16], Dtype::Float32).at(0));
    b.line(7, "copy");
    for at in 0..10 {
        b.plain_inst(&format!("c{at}"), EngineType::DVE, InstructionType::TensorCopy)
            .input(x.tile(0..8, ..))
            .output(x.tile(8..16, ..));
    }
    let found = verify(&module, &Options::default()).findings;
    let starts: Vec<_> = found.iter().filter(|finding| finding.code == "PART-04").collect();
    assert_eq!(starts.len(), 1, "{found:?}");
    assert_eq!(starts[0].count, 10);
}
