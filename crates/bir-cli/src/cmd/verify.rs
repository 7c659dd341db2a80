//! `bir verify`: is a module legal, and if not, exactly why.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bir::diag::{Diagnostic, Severity};
use bir::enums::ArchLevel;
use bir_json::{Loaded, ReadOptions, Unresolved};
use bir_verify::{Checkable, Options, Outcome, RuleId};
use serde_json::json;
use tpb_isa::Generation;

use super::Status;
use crate::findings::{self, RuleText, Sources};
use crate::input::Input;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Form, Result};
use crate::target;

/// Check a module against every rule of its target
///
/// All faults are listed at once, each with the operand, the numbers, what is allowed, and what the vendor's tool says
/// of the same fault. A fault that repeats from one source line is listed once, with a count. Rules that are not sure
/// give warnings; the summary names the rules that nothing can check.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir verify dump.json
  $ bir verify --target trn1 --only PART --format json dump.json
  $ bir verify --cores core0.json core1.json
  $ bir explain PART-04")]
pub(crate) struct Opts {
    /// Input files; none or `-` for standard input. Several are checked one after the other, or with --cores together
    #[arg(value_name = "IN")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOpt,
    /// Check for this device or architecture instead of the one that the module names
    #[arg(long, value_name = "ARCH", value_parser = target::ARCH, hide_possible_values = true)]
    target: Option<ArchLevel>,
    /// Check the inputs as the cores of one program, in this order
    #[arg(long)]
    cores: bool,
    /// Report reads of storage that nothing writes
    #[arg(long)]
    uninitialised_reads: bool,
    /// Uncertain rules give errors too
    #[arg(long)]
    strict: bool,
    /// Show at most N findings, the worst first; 0 for all. 100 unless given, but all in JSON and SARIF
    #[arg(long, value_name = "N")]
    max: Option<usize>,
    /// Check only this rule, or family such as PART; may be given several times
    #[arg(long, value_name = "RULE", value_parser = rules)]
    only: Vec<Rules>,
    /// Do not check this rule or family
    #[arg(long, value_name = "RULE", value_parser = rules)]
    allow: Vec<Rules>,
    /// Findings of this rule or family are errors; `warnings`: all warnings are
    #[arg(long, value_name = "RULE|warnings", value_parser = denied)]
    deny: Vec<Denied>,
    /// Also encode the instructions and check their words
    #[arg(long)]
    wire: bool,
    /// Print findings as the vendor's tool would
    #[arg(long)]
    vendor_text: bool,
    /// Instructions of a function, after unrolling, that are too many
    #[arg(long, value_name = "N", default_value_t = bir_verify::INSTRUCTION_LIMIT)]
    instruction_limit: u64,
    /// First semaphore id that the compiler may not use
    #[arg(long, value_name = "ID")]
    semaphore_limit: Option<u32>,
}

/// Generations that have words, each with rules of its own.
const GENERATIONS: [Generation; 4] = [Generation::V2, Generation::V3, Generation::V4, Generation::V5];

/// A rule, or all of a family.
#[derive(Clone, Debug)]
struct Rules(Vec<RuleId>);

#[derive(Clone, Debug)]
enum Denied {
    Warnings,
    Rules(Rules),
}

fn rules(name: &str) -> Result<Rules, String> {
    let found: Vec<RuleId> = match RuleId::parse(name) {
        Some(rule) => vec![rule],
        None => RuleId::all().filter(|rule| rule.info().family().eq_ignore_ascii_case(name)).collect(),
    };
    if found.is_empty() { Err("no rule or family has this name".into()) } else { Ok(Rules(found)) }
}

fn denied(name: &str) -> Result<Denied, String> {
    if name == "warnings" { Ok(Denied::Warnings) } else { rules(name).map(Denied::Rules) }
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let inputs = Input::all(&self.inputs, context)?;
        let read = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let mut loaded = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let mut one = input.module(&read, context)?;
            if let Some(arch) = self.target {
                one.module.root.arch = Some(arch);
            }
            loaded.push(one);
        }
        let options = self.options();
        let progress = context.progress("checking".into());
        let mut outcomes: Vec<(std::ops::Range<usize>, Outcome)> = if self.cores {
            let modules: Vec<&Loaded> = loaded.iter().collect();
            vec![(0..loaded.len(), bir_verify::verify_cores(&modules, &options))]
        } else {
            let one = |(at, loaded)| (at..at + 1, bir_verify::verify_loaded(loaded, &options));
            loaded.iter().enumerate().map(one).collect()
        };
        drop(progress);
        if self.wire {
            for (which, outcome) in &mut outcomes {
                let mut checked = BTreeSet::new();
                for at in which.clone() {
                    let core = self.cores.then_some(at as u16);
                    let module = &loaded[at].module;
                    match bir_encode::check(module, &bir_encode::Options::default()) {
                        Ok(found) => {
                            outcome.findings.extend(self.words(found, core));
                            let rules = bir_encode::generation(module).map(bir_encode::rules);
                            checked.extend(rules.into_iter().flatten().filter_map(RuleId::parse));
                        }
                        Err(error) => {
                            context.hint(&format!("{}: {error}; words are not checked", inputs[at].name))
                        }
                    }
                }
                let options = self.options();
                checked.retain(|rule| options.is_on(*rule));
                outcome.rules += checked.len();
                // What no word checker looks at is not passed over in silence.
                let elsewhere: BTreeSet<RuleId> = GENERATIONS
                    .iter()
                    .flat_map(|generation| bir_encode::rules(*generation))
                    .filter_map(RuleId::parse)
                    .collect();
                let is_open = |rule: &RuleId| !checked.contains(rule) && !elsewhere.contains(rule);
                outcome.unchecked.extend(outcome.of_words.iter().copied().filter(is_open));
                outcome.unchecked.sort_unstable();
                let is_partial = |rule: &RuleId| rule.info().checkable == Checkable::Partial;
                outcome.partly.extend(checked.into_iter().filter(is_partial));
            }
        }
        let status = match outcomes.iter().any(|(_, outcome)| outcome.count(Severity::Error) > 0) {
            true => Status::Found,
            false => Status::Clean,
        };
        self.output.create()?.write_as(context, |sink| {
            let mut all = Vec::new();
            for (which, outcome) in &outcomes {
                let sources = Sources::new(&inputs[which.clone()], &loaded[which.clone()]);
                let (chosen, hidden) = self.choose(&outcome.findings, context.form());
                let shown = sources.show(&chosen);
                match context.form() {
                    _ if self.vendor_text => findings::vendor(sink, &shown, &sources)?,
                    Form::Sarif => all.extend(shown),
                    Form::Json => {
                        findings::json_lines(sink, &shown)?;
                        findings::json_line(sink, &json!({ "summary": summary(outcome) }))?;
                    }
                    Form::Text => {
                        findings::text(sink, &shown, context)?;
                        let file = (inputs.len() > 1 && !self.cores).then(|| &*inputs[which.start].name);
                        conclusion(sink, outcome, file, hidden, context)?;
                    }
                }
            }
            match context.form() {
                Form::Sarif if !self.vendor_text => findings::sarif(sink, &all, &rule_text),
                _ => Ok(()),
            }
        })?;
        // The program ends here: giving back large modules piece by piece would only take time.
        std::mem::forget(loaded);
        Ok(status)
    }

    /// The findings about words that are wanted, with their severity.
    fn words(&self, found: Vec<Diagnostic>, core: Option<u16>) -> Vec<Diagnostic> {
        let options = self.options();
        let mut found: Vec<Diagnostic> = found
            .into_iter()
            .filter_map(|mut finding| {
                let rule = RuleId::parse(&finding.code)?;
                if !options.is_on(rule) {
                    return None;
                }
                let denied = options.deny.contains(&rule)
                    || finding.severity == Severity::Warning && (options.deny_warnings || options.strict);
                if denied {
                    finding.severity = Severity::Error;
                }
                if let Some(core) = core {
                    finding.place = finding.place.on_core(core);
                }
                Some(finding)
            })
            .collect();
        Diagnostic::fold_repeats(&mut found);
        found
    }

    fn options(&self) -> Options {
        let flat = |lists: &[Rules]| lists.iter().flat_map(|rules| rules.0.iter().copied()).collect();
        let denied: Vec<Rules> = self
            .deny
            .iter()
            .filter_map(|denied| match denied {
                Denied::Rules(rules) => Some(rules.clone()),
                Denied::Warnings => None,
            })
            .collect();
        Options {
            strict: self.strict,
            only: flat(&self.only),
            allow: flat(&self.allow),
            deny: flat(&denied),
            deny_warnings: self.deny.iter().any(|denied| matches!(denied, Denied::Warnings)),
            uninitialised_reads: self.uninitialised_reads,
            instruction_limit: self.instruction_limit,
            semaphore_limit: self.semaphore_limit,
            ..Options::default()
        }
    }

    /// The findings to show, in document order: when there are too many, the worst; and how many are not shown.
    fn choose(&self, findings: &[Diagnostic], form: Form) -> (Vec<Diagnostic>, usize) {
        let max = findings::most(self.max, form);
        if findings.len() <= max {
            return (findings.to_vec(), 0);
        }
        let mut order: Vec<usize> = (0..findings.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(findings[*at].severity));
        order.truncate(max);
        order.sort_unstable();
        (order.into_iter().map(|at| findings[at].clone()).collect(), findings.len() - max)
    }
}

fn rule_text(code: &str) -> Option<RuleText> {
    let rule = RuleId::parse(code)?.info();
    Some(RuleText { title: rule.title.into(), check: rule.check.into() })
}

fn summary(outcome: &Outcome) -> serde_json::Value {
    let ids = |rules: &[RuleId]| rules.iter().map(|rule| rule.info().id).collect::<Vec<_>>();
    let mut by_code = BTreeMap::<&str, u64>::new();
    for finding in &outcome.findings {
        *by_code.entry(&finding.code).or_default() += u64::from(finding.count);
    }
    json!({
        "errors": outcome.count(Severity::Error),
        "warnings": outcome.count(Severity::Warning),
        "notes": outcome.count(Severity::Note),
        "rules": outcome.rules,
        "unchecked": ids(&outcome.unchecked),
        "partly": ids(&outcome.partly),
        "by_code": by_code,
    })
}

/// `2 errors, 1 warning; 213 rules checked, 14 of them in part, 3 cannot be`
fn conclusion(
    sink: &mut dyn Write,
    outcome: &Outcome,
    file: Option<&str>,
    hidden: usize,
    context: &Context,
) -> io::Result<()> {
    if hidden > 0 {
        writeln!(sink, "... and {hidden} more; --max 0 shows all\n")?;
    }
    let counted = |severity: Severity| {
        let count = outcome.count(severity);
        (count > 0).then(|| format!("{count} {}{}", severity.name(), if count == 1 { "" } else { "s" }))
    };
    let counts: Vec<String> =
        [Severity::Error, Severity::Warning, Severity::Note].into_iter().filter_map(counted).collect();
    let verdict = if counts.is_empty() { "clean".to_owned() } else { counts.join(", ") };
    let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
    writeln!(
        sink,
        "{file}{verdict}; {} rules checked, {} of them in part; {} cannot be checked",
        outcome.rules,
        outcome.partly.len(),
        outcome.unchecked.len()
    )?;
    if context.is_verbose() {
        for (what, rules) in [("in part", &outcome.partly), ("unchecked", &outcome.unchecked)] {
            for rule in rules {
                let rule = rule.info();
                writeln!(sink, "  {what}: {} {}{}", rule.id, rule.title, needs(rule.needs))?;
            }
        }
    }
    Ok(())
}

fn needs(needs: &str) -> String {
    if needs.is_empty() { String::new() } else { format!(" ({needs})") }
}

impl Input {
    /// Opens several inputs; none means standard input.
    pub(crate) fn all(paths: &[PathBuf], context: &Context) -> Result<Vec<Input>> {
        if paths.iter().filter(|path| **path == Path::new("-")).count() > 1 {
            return Err(Fault::new("standard input can be read once only"));
        }
        match paths {
            [] => Ok(vec![Input::stdin(context)?]),
            paths => {
                paths
                    .iter()
                    .map(|path| {
                        if path == Path::new("-") {
                            Input::stdin(context)
                        } else {
                            Input::file(path, context)
                        }
                    })
                    .collect()
            }
        }
    }
}
