//! `bir explain`: what a diagnostic code means, why it matters, and the remedy.

use std::io::{self, BufRead, IsTerminal, Write};

use bir_verify::{Part, Topic};
use serde_json::json;

use super::Status;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Format, Result, Tone, clean};

/// Say what a diagnostic code means, why it matters, and what to do
///
/// Takes the ids of this program's rules (PART-04), families of them (PART), codes of `bir order` (ORD001), of
/// `bir neff check` (NEFF-02) and of `bir klr lint` (KLR017), codes of the vendor's tools as logs have them
/// (NCC_IBIR243, BIR243), or a whole line of a log, whose numbers are explained too. With `-`, lines of standard
/// input.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir explain PART-04
  $ bir explain NCC_IBIR297
  $ bir explain 'Invalid access of 1 partitions starting at partition 127'
  $ grep NCC_ log.txt | bir explain -")]
pub(crate) struct Opts {
    /// A code, or the words of a line
    #[arg(value_name = "CODE", required = true)]
    query: Vec<String>,
    #[command(flatten)]
    output: OutputOpt,
}

/// Lines of standard input that are looked at.
const MAX_LINES: usize = 100_000;

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let from_stdin = matches!(&self.query[..], [only] if only == "-");
        let topics = if from_stdin { from_lines(context)? } else { self.topics() };
        if topics.is_empty() {
            let what =
                if from_stdin { "the input".to_owned() } else { format!("`{}`", self.query.join(" ")) };
            return Err(Fault::new(format!("nothing is known of {what}"))
                .note("expected a rule such as PART-04, a code such as NCC_IBIR243, or a line of a log"));
        }
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => topics.iter().enumerate().try_for_each(|(at, topic)| {
                if at > 0 {
                    writeln!(sink)?;
                }
                text(sink, topic, context)
            }),
            Format::Json => topics.iter().try_for_each(|topic| {
                let parts: Vec<_> = topic
                    .parts
                    .iter()
                    .map(|part| json!({ "label": part.label, "text": part.text }))
                    .collect();
                let line = json!({ "code": topic.id, "title": topic.title, "parts": parts });
                writeln!(sink, "{line}")
            }),
        })?;
        Ok(Status::Clean)
    }

    /// One argument is one code or line; several are one line, or else several codes.
    fn topics(&self) -> Vec<Topic> {
        let whole = about(&self.query.join(" "));
        if !whole.is_empty() {
            return whole;
        }
        self.query.iter().flat_map(|query| about(query)).collect()
    }
}

/// What all parts of the program know of a code or a line.
fn about(query: &str) -> Vec<Topic> {
    let mut topics = order_codes(query);
    topics.extend(package_rules(query));
    topics.extend(kernel_rules(query));
    topics.extend(bir_verify::explain(query));
    topics
}

/// Whether a text is no more than the name of a family of codes.
fn is_family(text: &str, family: &str) -> bool {
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric()).eq_ignore_ascii_case(family)
}

/// Whether a text is a code in another spelling, or has it as it is written.
fn names(text: &str, code: &str) -> bool {
    bir_verify::spells(text.trim_matches(|c: char| !c.is_ascii_alphanumeric()), code)
        || text
            .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
            .any(|word| word.eq_ignore_ascii_case(code))
}

/// The codes of the ordering check that a text names.
fn order_codes(query: &str) -> Vec<Topic> {
    let all = is_family(query, "ORD");
    bir_order::codes().iter().filter(|info| all || names(query, info.code)).map(order_topic).collect()
}

fn order_topic(info: &bir_order::CodeInfo) -> Topic {
    let part = |label, text: &str| Part { label, text: text.to_owned() };
    Topic {
        id: info.code.to_owned(),
        title: info.title.to_owned(),
        parts: vec![
            part("severity", info.severity.name()),
            part("what", info.what),
            part("why", info.why),
            part("fix", info.remedy),
            part("example", info.example),
        ],
    }
}

/// The rules about packages that a text names.
fn package_rules(query: &str) -> impl Iterator<Item = Topic> {
    let part = |label, text: &str| Part { label, text: text.to_owned() };
    let all = is_family(query, "NEFF");
    neff::RULES.iter().filter(move |rule| all || names(query, rule.code)).map(move |rule| {
        let mut parts = vec![part("why", rule.why), part("fix", rule.help)];
        if let Some([change, said]) = rule.example() {
            parts.push(part("example", &format!("{change}: {said}")));
        }
        Topic { id: rule.code.to_owned(), title: rule.title.to_owned(), parts }
    })
}

/// The checks of kernels that a text names.
fn kernel_rules(query: &str) -> impl Iterator<Item = Topic> {
    let all = is_family(query, "KLR");
    let part = |label, text: &str| Part { label, text: text.to_owned() };
    klr::lint::RULES.iter().filter(move |rule| all || names(query, rule.code)).map(move |rule| Topic {
        id: rule.code.to_owned(),
        title: rule.title.to_owned(),
        parts: vec![part("severity", rule.severity.name()), part("reported by", "bir klr lint")],
    })
}

fn from_lines(context: &Context) -> Result<Vec<Topic>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        context.hint("reading from standard input; end it with Ctrl-D");
    }
    let mut topics: Vec<Topic> = Vec::new();
    for line in stdin.lock().split(b'\n').take(MAX_LINES) {
        let line = line.map_err(|error| Fault::io("read", "<stdin>", &error))?;
        for topic in about(&String::from_utf8_lossy(&line)) {
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
    }
    Ok(topics)
}

/// Columns of the text.
const WIDTH: usize = 100;

fn text(sink: &mut dyn Write, topic: &Topic, context: &Context) -> io::Result<()> {
    if topic.id.is_empty() {
        writeln!(sink, "{}", topic.title)?;
    } else {
        writeln!(sink, "{}: {}", context.out(Tone::Note, &topic.id), topic.title)?;
    }
    for part in &topic.parts {
        let label = format!("  {}: ", part.label);
        let mut column = label.len();
        write!(sink, "  {}: ", context.out(Tone::Frame, part.label))?;
        let mut first = true;
        for word in clean(&part.text).split(' ') {
            let length = word.chars().count();
            if !first && column + 1 + length > WIDTH {
                write!(sink, "\n      {word}")?;
                column = 6 + length;
            } else if first {
                write!(sink, "{word}")?;
                column += length;
            } else {
                write!(sink, " {word}")?;
                column += 1 + length;
            }
            first = false;
        }
        writeln!(sink)?;
    }
    Ok(())
}
