//! Runs the checks over a module: functions and blocks in parallel, findings in a stable order.

use std::collections::BTreeSet;

use bir::diag::{Diagnostic, Severity};
use bir::enums::InstructionType;
use bir::geometry::LoopAxes;
use bir::ids::{BlockId, FuncId};
use bir::{Holder, Module, OpenEnum};
use bir_json::{Loaded, Oddities, Positions};
use rayon::prelude::*;

use crate::context::Cx;
use crate::document;
use crate::findings::{Findings, fold};
use crate::options::Options;
use crate::rule::{Checkable, Layer, OpSet, RuleId};
use crate::rules::{Check, Run, checks, implemented};
use crate::view::Inst;

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
    let (mut unchecked, mut partly) = (BTreeSet::new(), BTreeSet::new());
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
    outcome
}

fn check_document(
    module: &Module,
    positions: &Positions,
    oddities: &Oddities,
    options: &Options,
) -> Vec<Diagnostic> {
    let mut findings = document::findings(module, positions, oddities, options);
    findings.extend(check(module, options));
    findings
}

/// A part of the module that is checked at once.
enum Part {
    Function(FuncId),
    /// A block, with the function it is in.
    Block(BlockId, Option<FuncId>),
}

/// Blocks of at least so many instructions are a task of their own, smaller ones are taken together.
const TASK: usize = 512;

fn check(module: &Module, options: &Options) -> Vec<Diagnostic> {
    let cx = &Cx::new(module, options);
    let checks: Vec<&Check> =
        checks().filter(|check| check.rules.iter().any(|rule| cx.is_on(*rule))).collect();
    let dispatch = &Dispatch::new(&checks);
    let mut findings = Findings::new(cx);
    for check in &checks {
        if let Run::Module(run) = check.run {
            run(cx, &mut findings);
        }
    }
    let mut all = findings.finish();
    let tasks = tasks(module, parts(module));
    let run = |task: &Vec<Part>| {
        let mut findings = Findings::new(cx);
        for part in task {
            dispatch.part(cx, part, &mut findings);
        }
        findings.finish()
    };
    let found: Vec<Vec<Diagnostic>> = if options.parallel && tasks.len() > 1 {
        tasks.par_iter().map(run).collect()
    } else {
        tasks.iter().map(run).collect()
    };
    all.extend(found.into_iter().flatten());
    all
}

fn finish(module: &Module, mut findings: Vec<Diagnostic>, options: &Options) -> Outcome {
    fold(module, &mut findings);
    for finding in &mut findings {
        finding.severity = options.raise(RuleId::parse(&finding.code), finding.severity);
    }
    let mut outcome = Outcome { findings, ..Outcome::default() };
    let level = module.root.arch.map_or(30, crate::context::level);
    let ops = crate::context::ops_of(module);
    for rule in RuleId::all().filter(|rule| options.is_on(*rule)) {
        let info = rule.info();
        let applies = match info.ops {
            OpSet::Cores => false,
            OpSet::Of(members) => {
                members.iter().any(|op| op.ordinal().is_some_and(|op| ops.get(op as usize) == Some(&true)))
            }
            _ => true,
        };
        // Encoded words are looked at only when there are some.
        let of_words = info.layer == Layer::Word && !implemented(rule);
        if !applies || info.arch_min > level || of_words {
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
fn parts(module: &Module) -> Vec<Part> {
    let mut parts = Vec::new();
    for function in module.functions() {
        parts.push(Part::Function(function));
        blocks(module, Holder::Function(function), Some(function), &mut parts);
    }
    for queue in module.queues() {
        blocks(module, Holder::Queue(queue), None, &mut parts);
    }
    parts
}

/// The blocks of a holder and of all bodies in it.
fn blocks(module: &Module, holder: Holder, function: Option<FuncId>, parts: &mut Vec<Part>) {
    let mut stack: Vec<std::slice::Iter<'_, BlockId>> = vec![module.blocks_of(holder).iter()];
    while let Some(rest) = stack.last_mut() {
        let Some(&block) = rest.next() else {
            stack.pop();
            continue;
        };
        parts.push(Part::Block(block, function));
        let bodies = module[block].instructions.iter().rev().map(|inst| module[*inst].body());
        stack.extend(bodies.filter(|body| !body.is_empty()).map(|body| body.iter()));
    }
}

fn tasks(module: &Module, parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut tasks = Vec::new();
    let (mut task, mut size) = (Vec::new(), 0);
    for part in parts {
        size += match part {
            Part::Function(_) => 1,
            Part::Block(block, _) => module[block].instructions.len(),
        };
        task.push(part);
        if size >= TASK {
            tasks.push(std::mem::take(&mut task));
            size = 0;
        }
    }
    tasks.extend((!task.is_empty()).then_some(task));
    tasks
}

/// The checks of functions and blocks, and those of each op.
struct Dispatch<'c> {
    checks: &'c [&'static Check],
    /// By ordinal of the op; past the last one for unknown ops.
    by_op: Vec<Vec<&'static Check>>,
}

impl<'c> Dispatch<'c> {
    fn new(checks: &'c [&'static Check]) -> Dispatch<'c> {
        let of_op = |op: Option<InstructionType>| {
            let per_inst = |check: &&Check| matches!(check.run, Run::Inst(_) | Run::Operand(_));
            let concerns = |check: &&Check| match op {
                Some(op) => check.concerns(op),
                None => check.ops.is_none() && check.rules.iter().any(|rule| rule.info().ops == OpSet::Any),
            };
            checks.iter().copied().filter(per_inst).filter(concerns).collect()
        };
        let known = bir::op_info::OpInfo::all().iter().map(|info| Some(info.op));
        Dispatch { checks, by_op: known.chain([None]).map(of_op).collect() }
    }

    fn part(&self, cx: &Cx<'_>, part: &Part, findings: &mut Findings<'_>) {
        match *part {
            Part::Function(function) => {
                for check in self.checks {
                    if let Run::Function(run) = check.run {
                        run(cx, function, findings);
                    }
                }
            }
            Part::Block(block, function) => {
                for check in self.checks {
                    if let Run::Block(run) = check.run {
                        run(cx, block, findings);
                    }
                }
                let axes = LoopAxes::around(cx.module, block);
                for inst in &cx.module[block].instructions {
                    let op = cx.module[inst].opcode().ordinal().map_or(usize::MAX, |op| op as usize);
                    let checks = self.by_op.get(op).or(self.by_op.last()).expect("one for unknown ops");
                    let inst = Inst::new(cx, inst, &axes, function);
                    for check in checks {
                        match check.run {
                            Run::Inst(run) => run(cx, &inst, findings),
                            Run::Operand(run) => {
                                inst.operands.iter().for_each(|operand| run(cx, &inst, operand, findings));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}
