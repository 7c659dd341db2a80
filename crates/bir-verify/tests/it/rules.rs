//! Every rule has a test, or is known to have none.

use std::collections::BTreeSet;

use bir::Module;
use bir::diag::{Diagnostic, DisplayNames, Severity};
use bir_verify::{Checkable, Layer, Options, RuleId, implemented, verify};

use crate::Case;

/// The tables of all families.
fn cases() -> impl Iterator<Item = &'static Case> {
    [crate::engine::CASES].into_iter().flatten()
}

/// Rules that are sure and can be checked, and have no test. The list may only become shorter.
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
    let tested: BTreeSet<&str> =
        cases().map(|case| case.rule).chain(crate::field::RULES.iter().copied()).collect();
    let wanted: BTreeSet<&str> = RuleId::all()
        .map(RuleId::info)
        .filter(|rule| rule.conf.is_firm() && rule.checkable != Checkable::No && rule.layer != Layer::Word)
        .filter(|rule| rule.order_code.is_none() && rule.superseded_by.is_none())
        .map(|rule| rule.id)
        .collect();
    let untested: BTreeSet<&str> = UNTESTED.lines().filter(|line| !line.is_empty()).collect();
    let missing: BTreeSet<&str> = wanted.difference(&tested).copied().collect();
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
