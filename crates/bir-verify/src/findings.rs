//! Collecting findings: severity by rule and options, and repeats made one.

use std::borrow::Cow;

use bir::diag::{Diagnostic, Place, Severity, StorageRef, Vendor};
use bir::ids::InstId;
use bir::{Module, OpenEnum, OperandList};
use hashbrown::HashMap;

use crate::context::Cx;
use crate::rule::RuleId;
use crate::twice::drop_covered;

/// Distinct findings of one rule that are kept of each part of a module; the rest are counted.
const KEPT: u32 = 2000;

/// Repeats without a source line are listed one by one up to this many.
const LISTED: u32 = 3;

/// Findings of a part of a module, in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Findings<'c> {
    cx: &'c Cx<'c>,
    kept: Vec<Diagnostic>,
    of_rule: HashMap<RuleId, u32>,
    /// Length from which on repeats are folded again.
    fold_at: usize,
    /// How often a rule that is on had something to say.
    reports: u64,
}

/// A finding that has just been made; what it says can be added to.
pub(crate) struct Finding<'f>(Option<&'f mut Diagnostic>);

impl<'c> Findings<'c> {
    pub(crate) fn new(cx: &'c Cx<'c>) -> Findings<'c> {
        Findings { cx, kept: Vec::new(), of_rule: HashMap::new(), fold_at: 4096, reports: 0 }
    }

    /// Reports a violation of a rule. The message says what was found and what is allowed, with numbers, and not
    /// where: that is said by the place.
    pub(crate) fn report(&mut self, rule: RuleId, place: Place, message: impl Into<String>) -> Finding<'_> {
        if !self.cx.is_on(rule) {
            return Finding(None);
        }
        self.reports += 1;
        if self.kept.len() >= self.fold_at {
            self.fold();
        }
        let info = rule.info();
        let severity = info.severity(self.cx.options.strict);
        let kept = self.of_rule.entry(rule).or_default();
        *kept += 1;
        if *kept > KEPT
            && let Some(last) = self.kept.iter_mut().rev().find(|finding| finding.code == info.id)
        {
            last.count += 1;
            return Finding(None);
        }
        let mut finding = Diagnostic::new(severity, info.id, place, message);
        let (code, text) = (info.vendor_code(), info.diag.first().copied().unwrap_or_default());
        if !code.is_empty() || !text.is_empty() {
            finding.vendor = Some(Vendor { code: code.into(), text: text.into() });
        }
        self.kept.push(finding);
        Finding(self.kept.last_mut())
    }

    /// How often a rule had something to say, whether that is kept or not.
    pub(crate) fn reports(&self) -> u64 {
        self.reports
    }

    /// Takes all that was found so far.
    pub(crate) fn take(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.kept)
    }

    /// Puts back what was taken: before what was found since, and behind it.
    pub(crate) fn put(&mut self, mut before: Vec<Diagnostic>, mut behind: Vec<Diagnostic>) {
        before.append(&mut self.kept);
        before.append(&mut behind);
        self.kept = before;
    }

    fn fold(&mut self) {
        fold(self.cx.module, &mut self.kept);
        self.fold_at = (self.kept.len() * 2).max(4096);
    }

    /// The findings, repeats made one.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.fold();
        self.kept
    }
}

impl Finding<'_> {
    /// Says what to do about it.
    pub(crate) fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.help = Some(help.into());
        }
        self
    }

    /// Adds a remark.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.notes.push(note.into());
        }
        self
    }

    /// Adds another place that belongs to it.
    pub(crate) fn related(mut self, label: impl Into<Cow<'static, str>>, place: Place) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.related.push(bir::diag::Related { label: label.into(), place });
        }
        self
    }

    /// Makes it no worse than that: the row is wider than what is sure here.
    pub(crate) fn at_most(mut self, severity: Severity) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.severity = finding.severity.min(severity);
        }
        self
    }

    /// The vendor's number and wording that fit this clause of the rule; a `<text>` in the wording may be filled.
    pub(crate) fn vendor(
        mut self,
        code: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.vendor = Some(Vendor { code: code.into(), text: text.into() });
        }
        self
    }
}

/// What makes findings the same fault: what they say, about what kind of operand of what op, and the source line,
/// or where there is none the name without its numbers.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    code: Cow<'static, str>,
    severity: Severity,
    message: String,
    opcode: Option<u32>,
    operand: Option<(OperandList, usize)>,
    storage: Option<StorageRef>,
    origin: Origin,
}

#[derive(PartialEq, Eq, Hash)]
enum Origin {
    None,
    Line(i64, Option<bir::Sym>),
    Stem(String),
}

impl Kind {
    fn of(module: &Module, finding: &Diagnostic) -> Kind {
        let inst = finding.place.inst();
        Kind {
            code: finding.code.clone(),
            severity: finding.severity,
            message: finding.message.clone(),
            opcode: inst.and_then(|inst| module[inst].opcode().ordinal()),
            operand: finding.place.operand,
            storage: finding.place.storage,
            origin: inst.map_or(Origin::None, |inst| origin(module, inst)),
        }
    }
}

fn origin(module: &Module, inst: InstId) -> Origin {
    let inst = &module[inst];
    match inst.debug.as_deref().and_then(|debug| Some((debug.lineno?, debug.op_name))) {
        Some((line, op)) => Origin::Line(line, op),
        None => Origin::Stem(module.str(inst.name).chars().filter(|c| !c.is_ascii_digit()).collect()),
    }
}

/// Makes repeats one, at the place of the first. A fault of one source line is one; without a line, more than
/// [`LISTED`] of a kind are.
pub(crate) fn fold(module: &Module, findings: &mut Vec<Diagnostic>) {
    drop_covered(findings);
    let mut totals = HashMap::<Kind, (u32, Option<usize>)>::new();
    for finding in findings.iter() {
        totals.entry(Kind::of(module, finding)).or_default().0 += finding.count;
    }
    let mut folded: Vec<Diagnostic> = Vec::with_capacity(totals.len());
    for finding in findings.drain(..) {
        let kind = Kind::of(module, &finding);
        let one = !matches!(kind.origin, Origin::Stem(_));
        let (total, first) = totals.get_mut(&kind).expect("was counted");
        if !one && *total <= LISTED {
            folded.push(finding);
            continue;
        }
        match *first {
            Some(first) => folded[first].count += finding.count,
            None => {
                *first = Some(folded.len());
                folded.push(finding);
            }
        }
    }
    *findings = folded;
}
