//! `bir order`: does every pair of instructions that touch the same bytes run in a fixed order?

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use bir::Module;
use bir::diag::{Diagnostic, DisplayNames, NamedPlace, Place, Severity};
use bir_json::{ReadOptions, Unresolved};
use bir_order::bir_module::{Checked, Line, Said, Told, check_modules};
use bir_order::{Explanation, Options, Party, Tag, Verdict, codes, explain};
use serde::Serialize;
use serde_json::json;

use super::Status;
use super::order_package::{self, Answer, Request};
use crate::findings::{self, RuleText, Shown, Sources};
use crate::input::Input;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Form, Result};

/// Check that instructions which touch the same bytes run in a fixed order
///
/// Engines and DMA queues run side by side; only semaphores, events and barriers order them. Where two accesses touch
/// the same bytes, one writes, and neither surely completes before the other starts, the device may run what the
/// simulator never did. Waits are bound by the arithmetic of their semaphores, whatever their `from` says; loops are
/// followed over several iterations. The dump to check is the one after semaphores are lowered.
///
/// The verdict is CLEAN (exit status 0), FINDINGS when there is an error (1), or UNDECIDED when something depends on
/// values that are only known at run time (3). `bir explain ORD001` says more about a code.
///
/// Of a NEFF package the instruction words themselves are checked, those of all its cores together: what ships rather than
/// what was meant. Its outputs are read when a core has come to its end, so a store that nothing waits for is found too.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir order dump.json
  $ bir order --explain load_x mm0 dump.json
  $ bir order --cores core0.json core1.json
  $ bir order model.neff
  $ bir order --format json dump.json | jq -c 'select(.code == \"ORD001\")'")]
pub(crate) struct Opts {
    /// Input files; none or `-` for standard input. May be compressed with gzip or zstd
    #[arg(value_name = "IN")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOpt,
    /// Also list the ordered pairs, by class; they grow with the square of buffer reuse
    #[arg(long)]
    all: bool,
    /// Say why A is complete before B starts, with the path, or why it is not
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    explain: Option<Vec<String>>,
    /// Also list waits that order nothing new
    #[arg(long)]
    redundant: bool,
    /// Take it that the DMAs of a queue run strictly one after the other
    #[arg(long)]
    assume_queue_order: bool,
    /// Also report pairs that only the order of their engine orders (ORD026)
    #[arg(long)]
    strict: bool,
    /// Take the inputs as the cores of one program, in the order of the cores
    #[arg(long)]
    cores: bool,
    /// Turn a code, or all warnings, into errors
    #[arg(long, value_name = "CODE|warnings", value_parser = denied)]
    deny: Vec<String>,
    /// Show at most N findings; 0 for all. 100 unless given, but all in JSON and SARIF
    #[arg(long, value_name = "N")]
    max: Option<usize>,
}

/// A code of this command, or all warnings.
fn denied(what: &str) -> std::result::Result<String, String> {
    if what == "warnings" || codes().iter().any(|code| code.code == what) {
        return Ok(what.to_owned());
    }
    Err("no such code; `bir explain ORD` lists them".to_owned())
}

#[derive(Serialize)]
struct Summary {
    verdict: &'static str,
    instructions: usize,
    accesses: usize,
    unordered: usize,
    queue_order: usize,
    by_code: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordered: Option<usize>,
}

/// The inputs of one program, and what was found in it.
struct Group<'m> {
    inputs: Range<usize>,
    checks: Checks<'m>,
}

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let inputs = Input::all(&self.inputs, context)?;
        if inputs.iter().any(Input::is_package) {
            return self.packages(&inputs, context);
        }
        let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
        let mut loaded = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let one = input.module(&options, context)?;
            context.oddities(&input.name, input.text(), &one.oddities, false);
            loaded.push(one);
        }
        let ranges: Vec<Range<usize>> = if self.cores {
            std::iter::once(0..inputs.len()).collect()
        } else {
            (0..inputs.len()).map(|at| at..at + 1).collect()
        };
        let mut groups = Vec::new();
        let mut status = Status::Clean;
        for range in ranges {
            let files: Vec<&str> = inputs[range.clone()].iter().map(|input| &*input.name).collect();
            let modules: Vec<&Module> = loaded[range.clone()].iter().map(|loaded| &loaded.module).collect();
            let checks = self.check(&files.join(", "), &modules, context)?;
            status = match (status, checks.verdict) {
                (Status::Found, _) | (_, Verdict::Findings) => Status::Found,
                (Status::Undecided, _) | (_, Verdict::Undecided) => Status::Undecided,
                _ => Status::Clean,
            };
            groups.push(Group { inputs: range, checks });
        }
        let max = findings::most(self.max, context.form());
        self.output.create()?.write_as(context, |sink| {
            let mut all = Vec::new();
            for Group { inputs: range, checks } in &groups {
                let sources = Sources::new(&inputs[range.clone()], &loaded[range.clone()]);
                match context.form() {
                    Form::Text => {
                        let file = (inputs.len() > 1 && !self.cores).then(|| &*inputs[range.start].name);
                        checks.text(sink, &sources, file, max, context)?;
                    }
                    Form::Json => checks.json(sink, &sources, max)?,
                    Form::Sarif => {
                        let entries = &checks.entries[..checks.entries.len().min(max)];
                        let findings: Vec<Diagnostic> =
                            entries.iter().map(|entry| checks.say(entry).diagnostic).collect();
                        all.extend(sources.show(&findings));
                    }
                }
            }
            match context.form() {
                Form::Sarif => findings::sarif(sink, &all, &rule_text),
                _ => Ok(()),
            }
        })?;
        // The program ends here: giving back large modules piece by piece would only take time.
        std::mem::forget(groups);
        std::mem::forget(loaded);
        Ok(if self.explain.is_some() { Status::Clean } else { status })
    }

    /// Checks packages: the words that ship, all cores of each together.
    fn packages(&self, inputs: &[Input], context: &Context) -> Result<Status> {
        if let Some(other) = inputs.iter().find(|input| !input.is_package()) {
            return Err(Fault::new(format!(
                "{} is no package; check packages and modules apart",
                other.name
            )));
        }
        let request = Request {
            options: self.options(context),
            deny: &self.deny,
            explain: self.explain.as_deref().and_then(|names| Some((&**names.first()?, &**names.get(1)?))),
            max: findings::most(self.max, context.form()),
        };
        let mut answers = Vec::new();
        let mut status = Status::Clean;
        for input in inputs {
            let answer = order_package::check(input, &request, context)?;
            status = match (status, answer.verdict) {
                (Status::Found, _) | (_, Verdict::Findings) => Status::Found,
                (Status::Undecided, _) | (_, Verdict::Undecided) => Status::Undecided,
                _ => Status::Clean,
            };
            answers.push(answer);
        }
        self.output.create()?.write_as(context, |sink| match context.form() {
            Form::Sarif => {
                let shown: Vec<Shown> = answers.iter().flat_map(Answer::shown).collect();
                findings::sarif(sink, &shown, &rule_text)
            }
            _ => answers.iter().try_for_each(|answer| answer.put(sink, context.format, answers.len() > 1)),
        })?;
        Ok(status)
    }

    fn options(&self, context: &Context) -> Options {
        Options {
            assume_queue_order: self.assume_queue_order,
            strict: self.strict,
            all: self.all,
            redundant: self.redundant,
            // What is not shown is only counted; any pair can be asked about.
            max_told: match self.explain {
                Some(_) => usize::MAX,
                None => findings::most(self.max, context.form()),
            },
            ..Options::default()
        }
    }

    fn check<'m>(&self, files: &str, modules: &[&'m Module], context: &Context) -> Result<Checks<'m>> {
        let _progress = context.progress(format!("checking {files}"));
        let checked = check_modules(modules, &self.options(context))
            .map_err(|error| Fault::new(format!("cannot check {files}: {error}")))?;
        let names =
            || -> Vec<DisplayNames> { modules.iter().map(|module| DisplayNames::of(module)).collect() };
        if let Some([one, other]) = self.explain.as_deref() {
            return self.explained(modules, &checked, &names(), one, other);
        }
        let mut summary = Summary {
            verdict: "",
            instructions: 0,
            accesses: 0,
            unordered: 0,
            queue_order: 0,
            by_code: BTreeMap::new(),
            pairs: self.all.then_some(0),
            ordered: self.all.then_some(0),
        };
        let mut entries = Vec::new();
        let mut verdict = Verdict::Clean;
        let mut untold = 0;
        for (at, checked) in checked.iter().enumerate() {
            let (program, outcome) = (&checked.program.program, &checked.outcome);
            let told = checked.told();
            for told in &told {
                *summary.by_code.entry(told.code.to_owned()).or_default() += 1;
            }
            for (code, count) in &outcome.untold {
                *summary.by_code.entry((*code).to_owned()).or_default() += count;
                untold += count;
            }
            let is_error =
                |told: &Told| told.severity == Severity::Error || self.denies(told.code, told.severity);
            let has_error = told.iter().any(is_error)
                || outcome.untold.keys().any(|code| self.denies(code, severity_of(code)));
            verdict = match (verdict, checked.verdict()) {
                (Verdict::Findings, _) => Verdict::Findings,
                _ if has_error => Verdict::Findings,
                (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
                (_, verdict) => verdict,
            };
            entries.extend(told.into_iter().map(|told| (at, Entry::Finding(told))));
            entries.extend((0..outcome.redundant.len()).map(|wait| (at, Entry::Redundant(wait))));
            summary.instructions += program.instruction_count();
            summary.accesses += program.access_count();
            let ordered = outcome.pairs.iter().filter(|pair| pair.tag == Some(Tag::Ok)).count();
            summary.pairs = summary.pairs.map(|count| count + outcome.pairs.len());
            summary.ordered = summary.ordered.map(|count| count + ordered);
            if outcome.cut_off {
                context.hint("there are more unordered pairs than were looked at");
            }
            if outcome.not_all_paths {
                context.hint(
                    "there are more ways around the branches than were followed: all blocks were taken as run in order",
                );
            }
            if !program.is_synchronised() && program.is_parallel() {
                context.hint(
                    "nothing waits for or updates a semaphore: if this dump is from before they are lowered, only barriers and the order on each engine are in it",
                );
            }
        }
        let count = |code: &str| summary.by_code.get(code).copied().unwrap_or(0);
        (summary.unordered, summary.queue_order) = (count("ORD001"), count("ORD002") + count("ORD012"));
        summary.verdict = verdict.name();
        // Nothing is named where nothing is said.
        let is_silent = entries.is_empty() && checked.iter().all(|checked| checked.outcome.pairs.is_empty());
        Ok(Checks {
            verdict,
            deny: self.deny.clone(),
            checked,
            names: if is_silent { Vec::new() } else { names() },
            entries,
            untold,
            summary: Some(summary),
            explanation: None,
        })
    }

    /// Whether a finding is made an error.
    fn denies(&self, code: &str, severity: Severity) -> bool {
        is_denied(&self.deny, code, severity)
    }

    fn explained<'m>(
        &self,
        modules: &[&'m Module],
        checked: &[Checked<'m>],
        names: &[DisplayNames],
        one: &str,
        other: &str,
    ) -> Result<Checks<'m>> {
        let find = |checked: &Checked<'_>, name: &str| -> Option<Party> {
            modules.iter().enumerate().find_map(|(core, module)| {
                let plain = name.split_once('@').map_or(name, |(plain, _)| plain);
                let mut named = module.insts().filter(|inst| {
                    let own = module.str(module[*inst].name);
                    (own == name || own == plain) && names[core].name(module, *inst) == name
                });
                named.find_map(|inst| checked.program.parties(core as u16, inst).first().copied())
            })
        };
        let unknown = |name: &str| {
            Fault::new(format!("no instruction is called {name}"))
                .note("the second and later ones of a name that repeats are called name@2, name@3, ...")
        };
        let both =
            checked.iter().find_map(|checked| Some((checked, find(checked, one)?, find(checked, other)?)));
        let Some((checked, first, second)) = both else {
            let missing =
                [one, other].into_iter().find(|name| checked.iter().all(|c| find(c, name).is_none()));
            return Err(match missing {
                Some(name) => unknown(name),
                None => Fault::new(format!("{one} and {other} are in functions that do not call each other")),
            });
        };
        let explanation = Explained::new(checked, names, first, second);
        Ok(Checks { explanation: Some(explanation), ..Checks::default() })
    }
}

pub(super) fn is_denied(deny: &[String], code: &str, severity: Severity) -> bool {
    deny.iter().any(|deny| deny == "warnings" && severity == Severity::Warning || deny == code)
}

pub(super) fn severity_of(code: &str) -> Severity {
    codes().iter().find(|info| info.code == code).map_or(Severity::Note, |info| info.severity)
}

/// What is printed one by one: words for all at once would take far more memory than what was found.
enum Entry {
    Finding(Told),
    /// A redundant wait, by its place.
    Redundant(usize),
}

/// What is printed.
#[derive(Default)]
struct Checks<'m> {
    verdict: Verdict,
    deny: Vec<String>,
    checked: Vec<Checked<'m>>,
    names: Vec<DisplayNames>,
    /// Findings and redundant waits, with the program that each is of.
    entries: Vec<(usize, Entry)>,
    /// How many more there are.
    untold: usize,
    summary: Option<Summary>,
    explanation: Option<Explained>,
}

/// How many lines are made at a time.
const LINES: usize = 20_000;

impl Checks<'_> {
    fn say(&self, (at, entry): &(usize, Entry)) -> Said {
        let checked = &self.checked[*at];
        let mut said = match entry {
            Entry::Finding(told) => checked.say(*told, &self.names),
            Entry::Redundant(wait) => checked.say_redundant(&checked.outcome.redundant[*wait], &self.names),
        };
        if is_denied(&self.deny, said.line.code, said.line.severity) {
            said.line.severity = Severity::Error;
            said.diagnostic.severity = Severity::Error;
        }
        said
    }

    /// All conflicting pairs, on request.
    fn pairs(&self) -> impl Iterator<Item = Line> {
        self.checked.iter().flat_map(move |checked| {
            checked.outcome.pairs.iter().map(move |pair| checked.say_pair(pair, &self.names))
        })
    }

    fn json(&self, sink: &mut dyn Write, sources: &Sources<'_>, max: usize) -> io::Result<()> {
        for entries in self.entries[..self.entries.len().min(max)].chunks(LINES) {
            let mut said: Vec<Said> = entries.iter().map(|entry| self.say(entry)).collect();
            // Line and column of every place: together they cost one pass over the text.
            let places: Vec<Place> =
                said.iter().flat_map(|said| [Some(said.at.0), said.at.1]).flatten().collect();
            let mut named = sources.places(&places).into_iter();
            let mut fill = |place: &mut NamedPlace| {
                let NamedPlace { file, line, column, .. } = named.next().expect("one for each");
                (place.file, place.line, place.column) = (file, line, column);
            };
            for said in &mut said {
                fill(&mut said.line.first);
                if let (Some(second), Some(_)) = (&mut said.line.second, said.at.1) {
                    fill(second);
                }
                serde_json::to_writer(&mut *sink, &said.line)?;
                writeln!(sink)?;
            }
        }
        for line in self.pairs() {
            serde_json::to_writer(&mut *sink, &line)?;
            writeln!(sink)?;
        }
        if let Some(explanation) = &self.explanation {
            findings::json_line(sink, &explanation.json)?;
        }
        match &self.summary {
            Some(summary) => findings::json_line(sink, &json!({ "summary": summary })),
            None => Ok(()),
        }
    }

    fn text(
        &self,
        sink: &mut dyn Write,
        sources: &Sources<'_>,
        file: Option<&str>,
        max: usize,
        context: &Context,
    ) -> io::Result<()> {
        let pairs: usize = self.checked.iter().map(|checked| checked.outcome.pairs.len()).sum();
        let all = self.entries.len() + self.untold + pairs;
        let shown = all.min(max);
        let entries = &self.entries[..self.entries.len().min(shown)];
        for entries in entries.chunks(LINES) {
            let said: Vec<Diagnostic> = entries.iter().map(|entry| self.say(entry).diagnostic).collect();
            findings::text(sink, &sources.show(&said), context)?;
        }
        for line in self.pairs().take(shown - entries.len()) {
            writeln!(sink, "{}: {}", line.kind.unwrap_or_default(), line.message)?;
        }
        if shown < all {
            writeln!(sink, "... and {} more; --max 0 shows all", all - shown)?;
        }
        if let Some(explanation) = &self.explanation {
            write!(sink, "{}", explanation.text)?;
        }
        let Some(summary) = &self.summary else { return Ok(()) };
        let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
        let codes: Vec<String> =
            summary.by_code.iter().map(|(code, count)| format!("{count} {code}")).collect();
        let codes = if codes.is_empty() { "no findings".to_owned() } else { codes.join(", ") };
        writeln!(
            sink,
            "{file}{} ({codes}; {} instructions, {} accesses)",
            summary.verdict, summary.instructions, summary.accesses
        )?;
        if let (Some(pairs), Some(ordered)) = (summary.pairs, summary.ordered) {
            writeln!(sink, "{pairs} conflicting pairs, {ordered} of them in a fixed order")?;
        }
        Ok(())
    }
}

fn rule_text(code: &str) -> Option<RuleText> {
    let info = codes().iter().find(|info| info.code == code)?;
    Some(RuleText { title: info.title.into(), check: info.what.into() })
}

/// Why one comes before the other, in both forms.
struct Explained {
    text: String,
    json: serde_json::Value,
}

impl Explained {
    fn new(checked: &Checked<'_>, names: &[DisplayNames], first: Party, second: Party) -> Explained {
        let program = &checked.program;
        let who = |party: Party| program.who(party, names);
        let (one, other) = (who(first), who(second));
        let mut text = String::new();
        let mut json = json!({
            "first": program.place(first, names),
            "second": program.place(second, names),
        });
        let mut ways = Vec::new();
        for (from, to) in [(first, second), (second, first)] {
            ways.push((from, to, explain(&program.program, &Options::default(), from, to)));
        }
        let reverse =
            matches!(ways[0].2, Explanation::Not { .. }) && matches!(ways[1].2, Explanation::Before(_));
        let (from, _, way) = &ways[usize::from(reverse)];
        match way {
            Explanation::Before(steps) => {
                let (early, late) = if reverse { (&other, &one) } else { (&one, &other) };
                text += &format!("{early} is complete before {late} starts:\n  {}\n", who(*from));
                let mut path = Vec::new();
                for (step, party) in steps {
                    let how = step.how(|counter| program.counter_name(counter));
                    text += &format!("    {how}\n  {}\n", who(*party));
                    path.push(json!({ "how": how, "place": program.place(*party, names) }));
                }
                json["ordered"] = if reverse { "second first".into() } else { "first first".into() };
                json["path"] = path.into();
            }
            Explanation::NeverRuns(party) => {
                text += &format!("{} never runs: what it waits for never comes\n", who(*party));
                json["ordered"] = "never runs".into();
            }
            Explanation::Not { waiter, known_at } => {
                text +=
                    &format!("neither {one} nor {other} is sure to be complete before the other starts\n");
                json["ordered"] = "no".into();
                match known_at {
                    Some(known) => {
                        text += &format!(
                            "  {one} is only known complete at {}, which comes later\n",
                            who(*known)
                        );
                        json["known_at"] = json!(program.place(*known, names));
                    }
                    None => {
                        text += &format!("  nothing on the engine of {} ever waits for {one}\n", who(*waiter))
                    }
                }
                let conflict = checked.outcome.findings.iter().find(|finding| {
                    let parties = [Some(finding.first.whole()), finding.second.map(|second| second.whole())];
                    parties.contains(&Some(first)) && parties.contains(&Some(second))
                });
                match conflict.and_then(|finding| finding.repair.as_ref()) {
                    Some(repair) => {
                        let help = program.repair_text(repair, names);
                        text += &format!("  help: {help}\n");
                        json["help"] = help.into();
                    }
                    None if conflict.is_none() => {
                        text += "  they touch no bytes in common of which one writes\n"
                    }
                    None => {}
                }
            }
        }
        Explained { text, json }
    }
}
