//! `bir neff check`: what is wrong with a package, and whether a device can load it.

use std::io::{self, Write};

use bir::diag::{NamedPlace, Place, Report};
use neff::{Finding, Package, RULES, Severity};
use neff_words::Program;
use serde_json::json;
use tpb_isa::{Generation, WORD_BYTES};

use super::{PackageOpt, fault, limits};
use crate::cmd::Status;
use crate::findings::{RuleText, Shown, counted, sarif};
use crate::output::OutputOpt;
use crate::report::{Context, Form, Result};
use crate::target;

/// Check a package: digest, manifests, variables, queues, streams, words, features, debug members
///
/// A package that cannot be read at all ends with status 2; one with errors with 1; warnings and notes alone are clean.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir neff check model.neff
  $ bir neff check --device trn1 model.neff
  $ bir neff check --deny warnings model.neff")]
pub(super) struct Opts {
    #[command(flatten)]
    package: PackageOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Say whether this device can load it: trn1, inf2, trn2, trn3, or a generation
    #[arg(long, value_name = "DEVICE", value_parser = target::NAMED, hide_possible_values = true)]
    device: Option<(String, Generation)>,
    /// Take these findings for errors: a code, or `warnings` for all warnings
    #[arg(long, value_name = "CODE|warnings", value_parser = denied)]
    deny: Vec<String>,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (device, name) = self.device.clone().map(|(name, generation)| (generation, name)).unzip();
        let input = self.package.open(context)?;
        let container = self.package.any_container(&input)?;
        let limits = limits();
        let package = Package::load(&container, &limits, true).map_err(|error| fault(&input.name, &error))?;
        let mut found = neff::check::check(&container, &package);
        let generation = neff_words::generation(&package).or(device);
        let program =
            Program::load(&container, &package, &limits, true).map_err(|error| fault(&input.name, &error))?;
        match generation {
            Some(generation) => found.extend(neff_words::check::check(&package, &program, generation)),
            None => {
                context.hint("the package does not say its target, so words are not looked at; give a device")
            }
        }
        if let (Some(generation), Some(name)) = (device, &name) {
            found.extend(neff::check::device(&package, generation.name(), name));
        }
        for finding in &mut found {
            let denied = |code: &String| {
                code == finding.code || code == "warnings" && finding.severity == Severity::Warning
            };
            // A digest that does not match is a finding here, rather than the end.
            let is_digest = finding.code == "NEFF-02" && self.package.strict;
            if is_digest || self.deny.iter().any(denied) {
                finding.severity = Severity::Error;
            }
        }
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let count = |severity| found.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings, notes) =
            (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
        self.output.create()?.write_as(context, |sink| match context.form() {
            Form::Text => {
                put(sink, &found)?;
                let verdict = match (errors, &name) {
                    (0, Some(device)) => format!("{}: can load on {device}", input.name),
                    (_, Some(device)) => format!("{}: cannot load on {device}", input.name),
                    (0, None) => format!("{}: nothing that stops a loader", input.name),
                    (_, None) => format!("{}: a loader should refuse it", input.name),
                };
                writeln!(
                    sink,
                    "{verdict}; {}, {}, {}",
                    counted(errors, "error"),
                    counted(warnings, "warning"),
                    counted(notes, "note")
                )
            }
            Form::Sarif => {
                let shown: Vec<Shown> = found.iter().map(|finding| shown(finding, &input.name)).collect();
                sarif(sink, &shown, &rule_text)
            }
            Form::Json => {
                for finding in &found {
                    let mut line = json!(finding);
                    if let Some(rule) = rule(finding) {
                        line["help"] = json!(rule.help);
                    }
                    writeln!(sink, "{line}")?;
                }
                let mut by_code = serde_json::Map::new();
                for finding in &found {
                    let count = by_code.entry(finding.code).or_insert(json!(0));
                    *count = json!(count.as_u64().unwrap_or(0) + finding.count);
                }
                let mut summary = json!({
                    "errors": errors, "warnings": warnings, "notes": notes, "by_code": by_code
                });
                if let Some(generation) = device {
                    summary["device"] = json!(name);
                    summary["generation"] = json!(generation.name());
                    summary["loads"] = json!(errors == 0);
                }
                writeln!(sink, "{}", json!({ "summary": summary }))
            }
        })?;
        Ok(if errors == 0 { Status::Clean } else { Status::Found })
    }
}

/// A code of this command, or all warnings.
fn denied(what: &str) -> std::result::Result<String, String> {
    if what == "warnings" || RULES.iter().any(|rule| rule.code == what) {
        return Ok(what.to_owned());
    }
    Err("no such code; `bir explain NEFF` lists them".to_owned())
}

fn rule(finding: &Finding) -> Option<&'static neff::check::Rule> {
    RULES.iter().find(|rule| rule.code == finding.code)
}

fn rule_text(code: &str) -> Option<RuleText> {
    let rule = RULES.iter().find(|rule| rule.code == code)?;
    Some(RuleText { title: rule.title.to_owned(), check: rule.why.to_owned() })
}

/// A finding for SARIF: where it is in the package is the member, and of a stream the word and its byte.
fn shown(finding: &Finding, file: &str) -> Shown {
    let member = finding.member.as_ref().map(|member| match finding.word {
        Some(word) => format!("{member} word {word} (byte {})", word.saturating_mul(WORD_BYTES as u64)),
        None => member.clone(),
    });
    let report = Report {
        place: NamedPlace { instruction: member, file: Some(file.to_owned()), ..NamedPlace::default() },
        code: finding.code.to_owned(),
        severity: match finding.severity {
            Severity::Error => bir::diag::Severity::Error,
            Severity::Warning => bir::diag::Severity::Warning,
            Severity::Note => bir::diag::Severity::Note,
        },
        message: finding.message.clone(),
        vendor_code: None,
        vendor_text: None,
        help: rule(finding).map(|rule| rule.help.to_owned()),
        notes: Vec::new(),
        related: Vec::new(),
        count: u32::try_from(finding.count).unwrap_or(u32::MAX),
    };
    Shown { report, excerpt: None, source: 0, place: Place::default() }
}

fn put(sink: &mut dyn Write, found: &[Finding]) -> io::Result<()> {
    let mut helped: Vec<&str> = Vec::new();
    for finding in found {
        writeln!(sink, "{finding}")?;
        if let Some(rule) = rule(finding)
            && finding.severity > Severity::Note
            && !helped.contains(&finding.code)
        {
            writeln!(sink, "    {}", rule.why)?;
            writeln!(sink, "    help: {}", rule.help)?;
            helped.push(finding.code);
        }
    }
    Ok(())
}
