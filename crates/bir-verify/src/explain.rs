//! What a rule or a code means, why it matters, and what to do: for ids, vendor codes, and lines of a log.

mod lines;
mod words;

use crate::codes::{VendorCode, met};
use crate::rule::{Checkable, Layer, OpSet, RuleId, RuleInfo};

/// One thing that is explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Id: `PART-04`, `BIR297`, or empty for what a line says.
    pub id: String,
    /// What it is, in a few words.
    pub title: String,
    /// Paragraphs with their headings.
    pub parts: Vec<Part>,
}

/// A paragraph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is about: `rule`, `why`, `fix`, ...
    pub label: &'static str,
    /// The text, in one line.
    pub text: String,
}

impl Topic {
    /// A topic without paragraphs.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Topic {
        Topic { id: id.into(), title: title.into(), parts: Vec::new() }
    }

    /// Adds a paragraph, unless it is empty.
    pub fn part(mut self, label: &'static str, text: impl Into<String>) -> Topic {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(Part { label, text });
        }
        self
    }
}

/// Explains a rule id, a family of rules, a code of the vendor, or whatever a line of a log has of these. Nothing for
/// what is not known.
///
/// ```
/// let topics = bir_verify::explain("Invalid access of 1 partitions starting at partition 127");
/// assert!(topics[0].parts.iter().any(|part| part.text.contains("127")));
/// assert_eq!(topics[1].id, "PART-04");
/// ```
pub fn explain(query: &str) -> Vec<Topic> {
    let query = query.trim();
    if query.contains(char::is_whitespace) {
        return lines::explain(query);
    }
    // As it was copied out of a text: `(PART-04),`, `NCC_IBIR243:`.
    let word = query.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if let Some(rule) = RuleId::parse(word) {
        return vec![of_rule(rule)];
    }
    let of_code = code(word);
    if !of_code.is_empty() {
        return of_code;
    }
    if let Some(rule) = RuleId::all().find(|rule| spells(word, rule.info().id)) {
        return vec![of_rule(rule)];
    }
    let of_family = family(word);
    if of_family.is_empty() { lines::explain(query) } else { of_family }
}

/// Whether a word is a code as people type it: in any case, with `-`, `_` or nothing before the number, and with or
/// without the zeros that fill the number up.
///
/// ```
/// use bir_verify::spells;
/// assert!(spells("part_4", "PART-04") && spells("PART04", "PART-04"));
/// assert!(!spells("PART-040", "PART-04"));
/// ```
pub fn spells(word: &str, code: &str) -> bool {
    let parts = |text: &str| {
        let text: String = text.chars().filter(|c| !matches!(c, '-' | '_')).collect();
        let letters = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        (text[..letters].to_ascii_uppercase(), text[letters..].to_owned())
    };
    let ((family, number), (of_code, digits)) = (parts(word), parts(code));
    let zeros = |digits: &str| digits.trim_start_matches('0').to_owned();
    !number.is_empty()
        && family == of_code
        && number.len() <= digits.len()
        && zeros(&number) == zeros(&digits)
}

/// The rules of a family: `PART`.
fn family(name: &str) -> Vec<Topic> {
    let rules: Vec<&RuleInfo> =
        RuleId::all().map(RuleId::info).filter(|rule| rule.family().eq_ignore_ascii_case(name)).collect();
    let Some(first) = rules.first() else { return Vec::new() };
    let mut topic = Topic::new(first.family(), words::about(first.family())).part("why", words::why(first));
    for rule in rules {
        topic = topic.part("rule", format!("{}: {}", rule.id, rule.title));
    }
    vec![topic]
}

/// A code of the vendor, and the rule for the same.
fn code(spelling: &str) -> Vec<Topic> {
    let known = met(spelling);
    let Some(code) = VendorCode::find(spelling) else {
        let meaning = known.map(|meaning| vec![Topic::new(spelling.to_ascii_uppercase(), meaning)]);
        return meaning.unwrap_or_default();
    };
    let title = if code.meaning.is_empty() { "no message is known" } else { code.meaning };
    let mut topic = Topic::new(code.id, title);
    let family = code.family_meaning();
    topic = topic.part(
        "from",
        if family.is_empty() {
            format!("phase {}", code.phase)
        } else {
            format!("{family} (phase {})", code.phase)
        },
    );
    topic = topic.part("message", code.text);
    topic = topic.part("met as", known.unwrap_or_default());
    if let Some(other) = code.homonym() {
        topic = topic.part("not to be confused with", format!("{}: {}", other.id, other.meaning));
    }
    let mut topics = vec![topic];
    topics.extend(RuleId::parse(code.rule).map(of_rule));
    topics
}

/// `a, b and c`
fn listed(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A public code as logs have it: families begin with I or E there. spec: verify 2
fn logged(code: &str) -> String {
    let letter = if code.starts_with(['I', 'E']) { "" } else { "I" };
    format!("NCC_{letter}{code}")
}

/// A rule.
fn of_rule(rule: RuleId) -> Topic {
    let info = rule.info();
    let mut topic = Topic::new(info.id, info.title)
        .part("rule", format!("{}.", info.check.trim_end_matches('.')))
        .part("applies to", applies(info))
        .part("why", words::why(info))
        .part("fix", words::fix(info))
        .part("kind", format!("{}; {}", info.layer.describe(), confidence(info)));
    let (code, public) = (info.code, info.public);
    let mut vendor = info.diag.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(", ");
    if !public.is_empty() {
        let codes = public.iter().map(|code| logged(code)).collect::<Vec<_>>().join(", ");
        vendor = if vendor.is_empty() { codes } else { format!("{vendor} ({codes})") };
    } else if !code.is_empty() {
        vendor = format!("{vendor} (assertion {code})").trim().to_owned();
    }
    if let Some([bad, good]) = example(info.id) {
        topic = topic.part("example", bad).part("repaired", good);
    }
    topic = topic.part("vendor", vendor).part("note", info.note);
    if info.checkable != Checkable::Full {
        topic = topic.part("checked", checked(info));
    } else if info.layer == Layer::Word {
        topic = topic.part("checked", "on encoded words");
    }
    topic
}

/// What breaks a rule and how it is repaired, as the tests of the rule do it. They write the file.
fn example(rule: &str) -> Option<[&'static str; 2]> {
    let line = EXAMPLES.lines().find_map(|line| line.strip_prefix(rule)?.strip_prefix('\t'))?;
    let (bad, good) = line.split_once('\t')?;
    Some([bad, good])
}

const EXAMPLES: &str = include_str!("explain/examples.tsv");

fn checked(info: &RuleInfo) -> String {
    match (info.superseded_by, info.order_code, info.checkable) {
        (Some(other), ..) => format!("not itself: {other} is checked in its place"),
        (_, Some(code), _) => format!("by `bir order`, as {code}"),
        (.., Checkable::No) => format!("not at all: {}", info.needs),
        _ => format!("in part: {}", info.needs),
    }
}

fn applies(info: &RuleInfo) -> String {
    use bir::OpenEnum;
    let ops = match info.ops {
        OpSet::Any => "every instruction".to_owned(),
        OpSet::Module => "the module".to_owned(),
        OpSet::Cores => "the modules of all cores together".to_owned(),
        OpSet::InPlace => "instructions that write where they read".to_owned(),
        OpSet::Indirect => "instructions with index operands".to_owned(),
        OpSet::Of(ops) => listed(&ops.iter().filter_map(|op| op.name().ok()).collect::<Vec<_>>()),
    };
    match info.arch_min {
        0 => ops,
        min => format!("{ops}, from arch {min} on"),
    }
}

fn confidence(info: &RuleInfo) -> &'static str {
    match info.conf.letter() {
        'C' => "confirmed",
        'S' => "strong evidence",
        'I' => "inferred: a warning unless --strict",
        _ => "unsure: a warning unless --strict",
    }
}
