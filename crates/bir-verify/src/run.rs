//! Runs the checks over a module: functions and blocks in parallel, findings in a stable order.

use std::collections::BTreeSet;

use bir::diag::{Diagnostic, Severity};
use bir::ids::{BlockId, FuncId};
use bir::{Module, OpenEnum};
use bir_json::{Loaded, Oddities, Positions};
use rayon::prelude::*;

use crate::context::Cx;
use crate::dispatch::{Dispatch, Kept};
use crate::document;
use crate::findings::{Findings, fold};
use crate::options::Options;
use crate::rule::{Checkable, Layer, OpSet, RuleId};
use crate::rules::{Check, Run, checks, implemented};
use crate::twice::join;

/// What was found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings, in document order.
    pub findings: Vec<Diagnostic>,
    /// Number of rules that apply and were checked, at least in part.
    pub rules: usize,
    /// Rules that apply, but that nothing can check, or that are not checked yet.
    pub unchecked: Vec<RuleId>,
    /// Rules that were checked in part.
    pub partly: Vec<RuleId>,
    /// Rules of encoded words that apply, none of which was checked: whoever has words does.
    pub of_words: Vec<RuleId>,
}

impl Outcome {
    /// How many findings there are of a severity, repeats included.
    pub fn count(&self, severity: Severity) -> u64 {
        self.findings.iter().filter(|f| f.severity == severity).map(|f| u64::from(f.count)).sum()
    }
}

/// Checks a module.
///
/// ```
/// use bir_verify::{Options, verify};
/// let module = bir::sample::matmul_softmax(&bir::sample::Tiles::default());
/// let outcome = verify(&module, &Options::default());
/// assert_eq!(outcome.count(bir::diag::Severity::Error), 0);
/// ```
pub fn verify(module: &Module, options: &Options) -> Outcome {
    finish(module, check(module, options), options)
}

/// Checks a module that was read, and what was odd about its document.
pub fn verify_loaded(loaded: &Loaded, options: &Options) -> Outcome {
    let Loaded { module, positions, oddities, .. } = loaded;
    finish(module, check_document(module, positions, oddities, options), options)
}

/// Checks modules as the cores of one program, in this order. Every finding says its core.
pub fn verify_cores(cores: &[&Loaded], options: &Options) -> Outcome {
    let options = &Options { cores: Some(cores.len()), ..options.clone() };
    let mut outcome = Outcome::default();
    let (mut unchecked, mut partly, mut of_words) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (core, loaded) in cores.iter().enumerate() {
        let own = verify_loaded(loaded, options);
        outcome.findings.extend(own.findings.into_iter().map(|mut finding| {
            finding.place = finding.place.on_core(core as u16);
            for related in &mut finding.related {
                related.place = related.place.on_core(core as u16);
            }
            finding
        }));
        outcome.rules = outcome.rules.max(own.rules);
        unchecked.extend(own.unchecked);
        partly.extend(own.partly);
        of_words.extend(own.of_words);
    }
    let modules: Vec<&Module> = cores.iter().map(|loaded| &loaded.module).collect();
    for check in checks() {
        let Run::Cores(run) = check.run else { continue };
        let mut found = Vec::new();
        run(&modules, &mut found);
        outcome.findings.extend(found.into_iter().filter(|(rule, _)| options.is_on(*rule)).map(
            |(rule, mut finding)| {
                let of_rule = rule.info().severity(options.strict);
                finding.severity = options.raise(Some(rule), finding.severity.min(of_rule));
                finding
            },
        ));
    }
    for rule in RuleId::all().filter(|rule| rule.info().ops == OpSet::Cores && options.is_on(*rule)) {
        match (implemented(rule), rule.info().checkable) {
            (false, _) | (_, Checkable::No) => _ = unchecked.insert(rule),
            (true, checkable) => {
                outcome.rules += 1;
                if checkable == Checkable::Partial {
                    partly.insert(rule);
                }
            }
        }
    }
    outcome.unchecked = unchecked.into_iter().collect();
    outcome.partly = partly.into_iter().collect();
    outcome.of_words = of_words.into_iter().collect();
    outcome
}

fn check_document(
    module: &Module,
    positions: &Positions,
    oddities: &Oddities,
    options: &Options,
) -> (Vec<Diagnostic>, Vec<bool>) {
    let read = document::findings(module, positions, oddities, options);
    let (found, ops) = check(module, options);
    (join(module, read, found), ops)
}

/// Blocks that are checked as one task, each with the function it is in.
#[derive(Default)]
struct Task {
    /// The function that starts with them.
    function: Option<FuncId>,
    blocks: Vec<(BlockId, Option<FuncId>)>,
}

/// Blocks of so many instructions together are a task.
const TASK: usize = 512;

/// The findings, and whether there are instructions of an op, by ordinal.
fn check<'m>(module: &'m Module, options: &'m Options) -> (Vec<Diagnostic>, Vec<bool>) {
    let cx: &Cx<'m> = &Cx::new(module, options);
    let checks: Vec<&Check> =
        checks().filter(|check| check.rules.iter().any(|rule| cx.is_on(*rule))).collect();
    let dispatch = &Dispatch::new(cx, &checks);
    let tasks = tasks(cx);
    let run = |kept: &mut Kept<'m>, task: &Task| {
        let mut findings = Findings::new(cx);
        for (block, function) in &task.blocks {
            dispatch.block(cx, *block, *function, kept, &mut findings);
        }
        findings.finish()
    };
    let of_blocks: Vec<Vec<Diagnostic>> = if options.parallel && tasks.len() > 1 {
        tasks.par_iter().map_init(Kept::default, run).collect()
    } else {
        let mut kept = Kept::default();
        tasks.iter().map(|task| run(&mut kept, task)).collect()
    };
    // These read the notes that the blocks left, and stand before them.
    let mut findings = Findings::new(cx);
    for check in &checks {
        if let Run::Module(run) = check.run {
            run(cx, &mut findings);
        }
    }
    let mut all = findings.finish();
    for (task, of_blocks) in tasks.iter().zip(of_blocks) {
        if let Some(function) = task.function {
            let mut findings = Findings::new(cx);
            dispatch.function(cx, function, &mut findings);
            all.extend(findings.finish());
        }
        all.extend(of_blocks);
    }
    (all, cx.survey.ops().to_vec())
}

fn finish(module: &Module, (mut findings, ops): (Vec<Diagnostic>, Vec<bool>), options: &Options) -> Outcome {
    fold(module, &mut findings);
    for finding in &mut findings {
        finding.severity = options.raise(RuleId::parse(&finding.code), finding.severity);
    }
    let mut outcome = Outcome { findings, ..Outcome::default() };
    let level = module.root.arch.map_or(30, crate::context::level);
    for rule in RuleId::all().filter(|rule| options.is_on(*rule)) {
        let info = rule.info();
        let applies = match info.ops {
            OpSet::Cores => false,
            OpSet::Of(members) => {
                members.iter().any(|op| op.ordinal().is_some_and(|op| ops.get(op as usize) == Some(&true)))
            }
            _ => true,
        };
        if !applies || info.arch_min > level {
            continue;
        }
        if info.layer == Layer::Word && !implemented(rule) {
            outcome.of_words.push(rule);
            continue;
        }
        let elsewhere = info.order_code.is_some() || info.superseded_by.is_some();
        match implemented(rule) && info.checkable != Checkable::No {
            false if elsewhere => {}
            false => outcome.unchecked.push(rule),
            true => {
                outcome.rules += 1;
                if info.checkable == Checkable::Partial {
                    outcome.partly.push(rule);
                }
            }
        }
    }
    outcome
}

/// Functions and blocks in document order.
fn tasks(cx: &Cx<'_>) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (function, blocks) in cx.survey.holders() {
        let mut task = Task { function, ..Task::default() };
        let mut size = 0;
        for &block in blocks {
            task.blocks.push((block, function));
            size += cx.module[block].instructions.len();
            if size >= TASK {
                tasks.push(std::mem::take(&mut task));
                size = 0;
            }
        }
        if task.function.is_some() || !task.blocks.is_empty() {
            tasks.push(task);
        }
    }
    tasks
}
