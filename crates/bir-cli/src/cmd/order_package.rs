//! `bir order` on packages: the words that ship, all cores together.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bir::diag::{NamedPlace, NamedRelated, Report, Severity};
use bir_order::{Explanation, Options, Party, Tag, Verdict, explain};
use neff_words::order;
use neff_words::order::{Checked, Line, Origin, Place};
use serde_json::{Value, json};

use super::order::{is_denied, severity_of};
use crate::findings::Shown;
use crate::input::Input;
use crate::package::{self, Loaded};
use crate::report::{Context, Fault, Format, Result};

/// What was asked for.
pub(crate) struct Request<'a> {
    pub(crate) options: Options,
    /// Codes that become errors, or `warnings`.
    pub(crate) deny: &'a [String],
    /// Two instructions of which one question is asked.
    pub(crate) explain: Option<(&'a str, &'a str)>,
    /// Most findings as text; 0 for all.
    pub(crate) max: usize,
}

/// The answer, ready to be printed.
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    file: String,
    lines: Vec<Line>,
    /// Findings beyond those.
    untold: BTreeMap<&'static str, usize>,
    summary: Option<Value>,
    explanation: Option<(String, Value)>,
    max: usize,
}

/// Checks a package.
pub(crate) fn check(input: &Input, request: &Request<'_>, context: &Context) -> Result<Answer> {
    let Loaded { package, program, generation } = package::load(input, context)?;
    let _progress = context.progress(format!("checking {}", input.name));
    let checked = order::check(&package, &program, generation, &request.options)
        .map_err(|error| Fault::new(format!("{}: {error}", input.name)))?;
    let mut answer = Answer {
        verdict: Verdict::Clean,
        file: input.name.clone(),
        lines: Vec::new(),
        untold: BTreeMap::new(),
        summary: None,
        explanation: None,
        max: request.max,
    };
    if let Some((one, other)) = request.explain {
        answer.explanation = Some(explained(&checked, one, other)?);
        return Ok(answer);
    }
    answer.lines = checked.said();
    answer.untold = checked.outcome.untold.clone();
    for line in &mut answer.lines {
        if is_denied(request.deny, line.code, line.severity) {
            line.severity = Severity::Error;
        }
    }
    let has_error = answer.lines.iter().any(|line| line.severity == Severity::Error)
        || answer.untold.keys().any(|code| is_denied(request.deny, code, severity_of(code)));
    answer.verdict = if has_error { Verdict::Findings } else { checked.verdict() };
    answer.summary = Some(summary(&checked, &answer, request));
    let pairs = checked.outcome.pairs.iter().map(|pair| checked.say_pair(pair));
    let redundant = checked.outcome.redundant.iter().map(|wait| checked.say_redundant(wait));
    answer.lines.extend(pairs.chain(redundant));
    if checked.outcome.cut_off {
        context.hint("there are more unordered pairs than are listed");
    }
    Ok(answer)
}

fn summary(checked: &Checked<'_>, answer: &Answer, request: &Request<'_>) -> Value {
    let mut by_code: BTreeMap<&str, usize> = BTreeMap::new();
    answer.lines.iter().for_each(|line| *by_code.entry(line.code).or_default() += 1);
    answer.untold.iter().for_each(|(code, count)| *by_code.entry(*code).or_default() += count);
    let count = |codes: &[&str]| codes.iter().filter_map(|code| by_code.get(code)).sum::<usize>();
    let (instructions, accesses) = checked.size();
    let mut summary = json!({
        "verdict": answer.verdict.name(),
        "instructions": instructions,
        "accesses": accesses,
        "unordered": count(&["ORD001"]),
        "queue_order": count(&["ORD002", "ORD012"]),
        "by_code": by_code,
    });
    if request.options.all {
        let pairs = &checked.outcome.pairs;
        summary["pairs"] = json!(pairs.len());
        summary["ordered"] = json!(pairs.iter().filter(|pair| pair.tag == Some(Tag::Ok)).count());
    }
    summary
}

impl Answer {
    /// The findings, for SARIF. A place is the source line, where it is known, else the package; its name says the word.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Shown> {
        let named = |place: &Place| NamedPlace {
            instruction: Some(At(place).to_string()),
            file: Some(place.file.clone().unwrap_or_else(|| self.file.clone())),
            line: place.line.and_then(|line| usize::try_from(line).ok()),
            ..NamedPlace::default()
        };
        self.lines.iter().filter(|line| line.tag.is_none()).map(move |line| {
            let second = line.second.as_ref();
            let report = Report {
                place: named(&line.first),
                code: line.code.to_owned(),
                severity: line.severity,
                message: line.message.clone(),
                vendor_code: None,
                vendor_text: None,
                help: line.help.clone(),
                notes: Vec::new(),
                related: second
                    .map(|place| NamedRelated { place: named(place), label: "the other access".to_owned() })
                    .into_iter()
                    .collect(),
                count: 1,
            };
            Shown { report, excerpt: None, source: 0, place: bir::diag::Place::default() }
        })
    }

    pub(crate) fn put(&self, sink: &mut dyn Write, format: Format, several: bool) -> io::Result<()> {
        if format == Format::Text {
            return self.text(sink, several);
        }
        for line in &self.lines {
            serde_json::to_writer(&mut *sink, line)?;
            writeln!(sink)?;
        }
        if let Some((_, json)) = &self.explanation {
            writeln!(sink, "{json}")?;
        }
        if let Some(summary) = &self.summary {
            writeln!(sink, "{}", json!({ "summary": summary }))?;
        }
        Ok(())
    }

    fn text(&self, sink: &mut dyn Write, several: bool) -> io::Result<()> {
        let shown = self.lines.len().min(self.max);
        for line in &self.lines[..shown] {
            writeln!(sink, "{}[{}] {}", line.severity.name(), line.code, line.message)?;
            writeln!(sink, "  at {}", At(&line.first))?;
            if let Some(second) = &line.second {
                writeln!(sink, " and {}", At(second))?;
            }
            if let Some(help) = &line.help {
                writeln!(sink, "  help: {help}")?;
            }
        }
        let all = self.lines.len() + self.untold.values().sum::<usize>();
        if shown < all {
            writeln!(sink, "... and {} more; --max 0 shows all", all - shown)?;
        }
        if let Some((text, _)) = &self.explanation {
            write!(sink, "{text}")?;
        }
        let Some(summary) = &self.summary else { return Ok(()) };
        let file = if several { format!("{}: ", self.file) } else { String::new() };
        let codes = summary["by_code"].as_object().into_iter().flatten();
        let codes: Vec<String> = codes.map(|(code, count)| format!("{count} {code}")).collect();
        let codes = if codes.is_empty() { "no findings".to_owned() } else { codes.join(", ") };
        writeln!(
            sink,
            "{file}{} ({codes}; {} instructions, {} accesses)",
            self.verdict.name(),
            summary["instructions"],
            summary["accesses"]
        )?;
        if let (Some(pairs), Some(ordered)) = (summary.get("pairs"), summary.get("ordered")) {
            writeln!(sink, "{pairs} conflicting pairs, {ordered} of them in a fixed order")?;
        }
        Ok(())
    }
}

/// A place on one line: `sg00/Pool word 5 store PSEUDO_DMA_DIRECT2D src: model.py:13`.
struct At<'a>(&'a Place);

impl std::fmt::Display for At<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.0;
        match (&place.stream, place.index) {
            (Some(stream), Some(index)) => write!(f, "{stream} word {index}")?,
            _ => f.write_str("the end of the program")?,
        }
        let parts = [place.instruction.as_deref(), place.opcode, place.operand.map(|operand| operand.role)];
        parts.into_iter().flatten().try_for_each(|part| write!(f, " {part}"))?;
        if let Some(location) = &place.location {
            write!(f, " of {location}")?;
        }
        if let (Some(file), Some(line)) = (&place.file, place.line) {
            write!(f, " ({file}:{line})")?;
        }
        Ok(())
    }
}

/// The operation that a name speaks of: an instruction, or a word as in `sg00/PE#5`. Of an instruction with several words
/// it is the last, which completes it.
fn find(checked: &Checked<'_>, name: &str) -> Option<Party> {
    let word = name.rsplit_once('#').and_then(|(stream, index)| Some((stream, index.parse::<usize>().ok()?)));
    let mut found = None;
    for op in 0..checked.filled.len() as u32 {
        let party = Party { op: bir_order::program::OpId(op), transfer: None, access: None };
        if let Origin::End(_) = checked.origin(party) {
            continue;
        }
        let place = checked.place(party);
        let is_word = word.is_some_and(|(stream, index)| {
            place.stream.as_deref() == Some(stream) && place.index == Some(index)
        });
        let is_instruction = place.instruction.as_deref() == Some(name);
        // The first core that has the name.
        let same_core = found.is_none_or(|(core, _)| core == place.module);
        if (is_word || is_instruction) && same_core {
            found = Some((place.module, party));
        }
    }
    found.map(|(_, party)| party)
}

fn explained(checked: &Checked<'_>, one: &str, other: &str) -> Result<(String, Value)> {
    let party = |name: &str| {
        find(checked, name).ok_or_else(|| {
            Fault::new(format!("no instruction and no word is called {name}"))
                .note("a word is called by its stream and its number, as in sg00/PE#5")
        })
    };
    let (first, second) = (party(one)?, party(other)?);
    let both = [(first, second), (second, first)];
    let transfers = |party: Party| checked.transfer(party).unwrap_or(party);
    let ways = both.map(|(from, to)| explain(&checked.filled, &Options::default(), transfers(from), to));
    let reverse = matches!(ways[0], Explanation::Not { .. }) && matches!(ways[1], Explanation::Before(_));
    let (from, to) = both[usize::from(reverse)];
    let mut json = json!({ "first": checked.place(first), "second": checked.place(second) });
    let mut text = String::new();
    match &ways[usize::from(reverse)] {
        Explanation::Before(steps) => {
            text += &format!("{} is complete before {} starts:\n", checked.who(from), checked.who(to));
            text += &format!("  {}\n", checked.who(from));
            let mut path = Vec::new();
            for (step, party) in steps {
                let how = step.how(|counter| checked.counter_name(counter));
                text += &format!("    {how}\n  {}\n", checked.who(*party));
                path.push(json!({ "how": how, "place": checked.place(*party) }));
            }
            json["ordered"] = json!(if reverse { "second first" } else { "first first" });
            json["path"] = json!(path);
        }
        Explanation::NeverRuns(party) => {
            text += &format!("{} never runs: what it waits for never comes\n", checked.who(*party));
            json["ordered"] = json!("never runs");
        }
        Explanation::Not { .. } => {
            let (one, other) = (checked.who(first), checked.who(second));
            text += &format!("neither {one} nor {other} is sure to be complete before the other starts\n");
            json["ordered"] = json!("no");
        }
    }
    Ok((text, json))
}
