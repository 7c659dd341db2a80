//! Lines of a log: the codes in them, the messages that they are, and what their numbers mean.

use hashbrown::HashSet;

use super::{Topic, code, of_rule};
use crate::codes::VendorCode;
use crate::rule::RuleId;

/// A message of the vendor's tool. `<name>` stands for a value.
struct Message {
    rule: &'static str,
    template: &'static str,
    /// What it says; the same names stand for the values.
    says: &'static str,
}

/// Messages whose numbers mean something to the reader. More are known to the rules and codes, by their wording.
const MESSAGES: &[Message] = &[
    Message {
        rule: "PART-04",
        template: "Pattern accesses <n> (> <limit>) partitions starting at partition <start>",
        says: "the operand touches <n> partitions from partition <start> on; from there an access may touch at most <limit>",
    },
    Message {
        rule: "PART-04",
        template: "Invalid access of <n> partitions starting at partition <start>",
        says: "the operand touches <n> partition(s) from partition <start> on, and no access may start there: up to 32 \
               partitions start at 0, 32, 64 or 96, up to 64 at 0 or 64, more at 0",
    },
    Message {
        rule: "PART-03",
        template: "Access pattern did not start at parition 0 or 64. Starts at partition <start>",
        says: "the operand starts at partition <start>; the message is of the coarse rule, newer releases also allow 32 and 96",
    },
    Message {
        rule: "ALLOC-01",
        template: "Allocated memory out of bound {<name>}@SB<<base>,<addr>>(<partitions>x<bytes>)",
        says: "location <name> was placed in SB at partition <base>, byte <addr>, and needs <partitions> partitions of <bytes> \
               bytes each: it ends at byte <addr>+<bytes> of a partition, or past partition 128",
    },
    Message {
        rule: "ALLOC-03",
        template: "is too big for PSUM, requires <banks> banks with PSUM size <size>",
        says: "the tensor needs <banks> PSUM banks of 2048 bytes per partition; PSUM has <size> bytes per partition in all",
    },
    Message {
        rule: "ALLOC-06",
        template: "Total Accessed Bytes per partition by instruction: <n>",
        says: "the operands of one instruction need <n> bytes of each SB partition at the same time; no placement exists when \
               that is more than a partition has",
    },
    Message {
        rule: "ALLOC-06",
        template: "Total SB Partition Size: <m>",
        says: "a partition of SB has <m> bytes on this target",
    },
    Message {
        rule: "MOD-08",
        template: "Number of instructions (<n>) is over the threshold (<limit>)",
        says: "the function has <n> instructions once its loops are unrolled; the compiler stops at <limit>",
    },
    Message {
        rule: "AP-06",
        template: "the new step is too large: Step=<step> > Max=<max>",
        says: "a step of <step> elements does not fit the signed 16-bit field of instruction words, whose largest value is <max>",
    },
    Message {
        rule: "AP-06",
        template: "the new step is too small: Step=<step> < Min=<min>",
        says: "a step of <step> elements does not fit the signed 16-bit field of instruction words, whose smallest value is <min>",
    },
    Message {
        rule: "MM-03",
        template: "Matmult moving input tile size must be <= <rows>x<columns>",
        says: "the moving operand may have at most <rows> partitions and <columns> columns",
    },
    Message {
        rule: "MM-03",
        template: "Matmult stationary input tile size must be <= <rows>x<columns>",
        says: "the stationary operand may have at most <rows> partitions and <columns> columns",
    },
    Message {
        rule: "AP-02",
        template: "Expect AP same number of elements <pattern>",
        says: "the operand with the pattern <pattern> has another number of elements than the others; a pattern is a list of \
               [step, count], partitions first",
    },
    Message {
        rule: "AP-07",
        template: "Too many strides! <pattern>",
        says: "<pattern> has more dimensions than the instruction word has for that operand; {a,+,s}[n] is a dimension of n \
               elements, s apart",
    },
    Message {
        rule: "LNC-17",
        template: "Could not find MemoryLocation named <name> on core <core>",
        says: "a collective of core 0 names <name>, and core <core> has no location of that name",
    },
    Message {
        rule: "DMA-01",
        template: "Queue <name> does not exist",
        says: "an instruction names the DMA queue <name>, which is not among the queues of the module",
    },
    Message {
        rule: "DOC-02",
        template: "No existing axis <axis> found in instruction <name>'s parent list",
        says: "an address of <name> depends on the loop axis <axis>, and no loop around the instruction has that axis",
    },
    Message {
        rule: "MOD-09",
        template: "tensor size must be more than 0, <name>",
        says: "the tensor <name> has a zero in its shape",
    },
];

pub(super) fn explain(line: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    let mut rules: Vec<RuleId> = Vec::new();
    let mut said = Topic::new("", "what the line says");
    for message in MESSAGES {
        if let Some(values) = matched(message.template, line) {
            let mut text = message.says.to_owned();
            for (name, value) in &values {
                text = text.replace(&format!("<{name}>"), value);
            }
            said = said.part("here", sums(&text));
            rules.extend(RuleId::parse(message.rule));
        }
    }
    let mut ids = HashSet::new();
    for spelling in codes(line) {
        for topic in code(&spelling) {
            if ids.insert(topic.id.clone()) {
                topics.push(topic);
            }
        }
    }
    // Our own findings name a rule: `error[PART-04/BIR...]`.
    for word in line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
        rules.extend(RuleId::parse(word));
    }
    if rules.is_empty() && topics.is_empty() {
        rules.extend(by_wording(line));
    }
    if rules.is_empty() && topics.is_empty() {
        // Codes in small letters look like names, and count only when nothing else is known of the line.
        topics.extend(codes(&line.to_ascii_uppercase()).iter().flat_map(|spelling| code(spelling)));
    }
    if rules.is_empty() && topics.is_empty() {
        let of_text =
            VendorCode::all().iter().filter(|code| code.text.len() >= 12 && has_fragment(line, code.text));
        for found in of_text.max_by_key(|code| code.text.len()).into_iter() {
            topics.extend(code(found.id));
        }
    }
    for rule in rules {
        if ids.insert(rule.info().id.to_owned()) {
            topics.push(of_rule(rule));
        }
    }
    if !said.parts.is_empty() {
        topics.insert(0, said);
    }
    topics
}

/// `400000+4000` as `404000`.
fn sums(text: &str) -> String {
    let mut out = String::new();
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let sum = word
            .split_once('+')
            .and_then(|(a, b)| Some((a.parse::<u64>().ok()?.checked_add(b.parse().ok()?)?, word)));
        match sum {
            Some((sum, _)) => out += &sum.to_string(),
            None => out += word,
        }
    }
    out
}

/// The rule with the longest fragment of a message that the line has.
fn by_wording(line: &str) -> Option<RuleId> {
    let longest = |rule: &RuleId| {
        let fragments = rule.info().diag.iter().filter(|text| text.len() >= 10 && has_fragment(line, text));
        fragments.map(|text| text.len()).max().unwrap_or(0)
    };
    RuleId::all()
        .map(|rule| (longest(&rule), rule))
        .filter(|(length, _)| *length > 0)
        .max()
        .map(|(_, rule)| rule)
}

/// Whether a line has a fragment, in which `<x>` stands for any value.
fn has_fragment(line: &str, fragment: &str) -> bool {
    if fragment.contains('<') {
        return matched(fragment, line).is_some();
    }
    line.to_ascii_lowercase().contains(&fragment.to_ascii_lowercase())
}

/// Words that look like a code: capitals, and three or four digits.
fn codes(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_code = |word: &&str| {
        let id = word.strip_prefix("NCC_").unwrap_or(word);
        let letters = id.bytes().take_while(u8::is_ascii_uppercase).count();
        let digits = &id[letters..];
        (2..=12).contains(&letters)
            && (3..=4).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    words.filter(is_code).map(str::to_owned).collect()
}

/// A piece of a template.
enum Piece<'t> {
    Text(&'t str),
    Value(&'t str),
}

/// Splits at `<name>`; a `<` without a name after it is text.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(open) = template[at..].find('<').map(|open| at + open) {
        let name_end = template[open + 1..].find(|c: char| !c.is_ascii_lowercase()).map(|end| open + 1 + end);
        match name_end.filter(|end| *end > open + 1 && template[*end..].starts_with('>')) {
            Some(end) => {
                if open > start {
                    pieces.push(Piece::Text(&template[start..open]));
                }
                pieces.push(Piece::Value(&template[open + 1..end]));
                (start, at) = (end + 1, end + 1);
            }
            None => at = open + 1,
        }
    }
    if start < template.len() {
        pieces.push(Piece::Text(&template[start..]));
    }
    pieces
}

/// The values of a template that stands somewhere in a line.
fn matched<'t>(template: &'t str, line: &str) -> Option<Vec<(&'t str, String)>> {
    let lower = line.to_ascii_lowercase();
    let pieces = pieces(template);
    let first = pieces.iter().find_map(|piece| match piece {
        Piece::Text(text) => Some(text.to_ascii_lowercase()),
        Piece::Value(_) => None,
    })?;
    let mut from = 0;
    while let Some(at) = lower[from..].find(&first).map(|at| from + at) {
        if let Some(values) = matched_at(&pieces, line, &lower, at) {
            return Some(values);
        }
        from = at + 1;
        while !lower.is_char_boundary(from) {
            from += 1;
        }
    }
    None
}

fn matched_at<'t>(
    pieces: &[Piece<'t>],
    line: &str,
    lower: &str,
    start: usize,
) -> Option<Vec<(&'t str, String)>> {
    let mut values = Vec::new();
    // Values before the first text are not looked for: nothing says where they begin.
    let lead = pieces.iter().take_while(|piece| matches!(piece, Piece::Value(_))).count();
    let mut at = start;
    let mut rest = pieces[lead..].iter().peekable();
    while let Some(piece) = rest.next() {
        match piece {
            Piece::Text(text) => {
                let text = text.to_ascii_lowercase();
                if !lower[at..].starts_with(&text) {
                    return None;
                }
                at += text.len();
            }
            Piece::Value(name) => {
                let end = match rest.peek() {
                    Some(Piece::Text(text)) => at + lower[at..].find(&text.to_ascii_lowercase())?,
                    _ => at + value_end(&line[at..]),
                };
                let value = line[at..end].trim();
                if value.is_empty() || value.len() > 400 {
                    return None;
                }
                values.push((*name, value.to_owned()));
                at = end;
            }
        }
    }
    Some(values)
}

/// Where a value at the end of a message ends: with its brackets, or the word.
fn value_end(text: &str) -> usize {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => {
                depth -= 1;
                if depth < 0 {
                    return at;
                }
            }
            c if c.is_whitespace() && depth <= 0 && at > 0 => return at,
            _ => {}
        }
    }
    text.trim_end_matches(['.', ',', ';']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out_of_a_line() {
        let line = "[ERR] Allocated memory out of bound {b_tile}@SB<0,400000>(128x4000)#Internal";
        let template = "Allocated memory out of bound {<name>}@SB<<base>,<addr>>(<partitions>x<bytes>)";
        let values = matched(template, line).unwrap();
        let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["b_tile", "0", "400000", "128", "4000"]);
        let line = "expect ap same number of elements [[8192,1],[1,8192]].";
        assert_eq!(
            matched("Expect AP same number of elements <pattern>", line).unwrap()[0].1,
            "[[8192,1],[1,8192]]"
        );
        assert!(matched("Queue <name> does not exist", "queue does not exist").is_none());
    }

    #[test]
    fn every_template_is_understood_and_names_a_rule() {
        for message in MESSAGES {
            assert!(RuleId::parse(message.rule).is_some(), "{}", message.rule);
            let names = pieces(message.template).into_iter().filter_map(|piece| match piece {
                Piece::Value(name) => Some(name),
                Piece::Text(_) => None,
            });
            let line =
                names.fold(message.template.to_owned(), |line, name| line.replace(&format!("<{name}>"), "7"));
            let topics = explain(&format!("2026-01-01 ERROR: {line}"));
            assert!(topics[0].parts.iter().any(|part| part.text.contains('7')), "{line}");
            assert!(topics.iter().any(|topic| topic.id == message.rule), "{line}");
        }
    }
}
