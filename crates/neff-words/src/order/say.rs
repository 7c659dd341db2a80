//! Findings in terms of words: which word of which stream, its instruction and source line, the bytes, the repair.

use bir::diag::Severity;
use bir_order::program::{self as ord, Need};
use bir_order::{ClassedPair, Finding, Hazard, Party, RedundantWait, Repair, Tag, WaitLine};
use serde::Serialize;
use tpb_isa::{StreamWord, WORD_BYTES, Word};

use super::{Checked, NO_CORE, Origin};
use crate::EngineStream;
use crate::access::Space;
use crate::flow::{Counter, Spot};

/// Where a word stands.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Place {
    /// The core, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<usize>,
    /// The stream, as in `sg00/PE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Index of the word in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The instruction it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Mnemonic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<&'static str>,
    /// The engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<&'static str>,
    /// The variable that is touched, off the chip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operand: Option<Operand>,
    /// Source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A slot of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Operand {
    /// Its name in the tables.
    pub role: &'static str,
}

/// A finding with the names of words.
pub type Line = bir_order::Line<Place>;

impl Checked<'_> {
    /// All findings with names, in the order of the program; what is not known about words comes last, as `ORD003`.
    pub fn said(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.outcome.findings.iter().map(|finding| self.say(finding)).collect();
        for (spot, reason) in &self.unknown {
            let message = format!("{}: {reason}", self.spot_text(*spot));
            let line = Line::new("ORD003", Severity::Warning, self.place_of(*spot), message);
            lines.push(Line { certain: false, ..line });
        }
        lines
    }

    /// A pair in words, for all pairs by class.
    pub fn say_pair(&self, pair: &ClassedPair) -> Line {
        let tag = pair.tag.map_or("MAY", Tag::name);
        let message = format!("{} and {}: {tag}", self.who(pair.first), self.who(pair.second));
        Line {
            kind: Some(pair.kind.name()),
            second: Some(self.place(pair.second)),
            tag: Some(tag),
            certain: pair.tag.is_some(),
            ..Line::new("pair", Severity::Note, self.place(pair.first), message)
        }
    }

    /// A redundant wait in words.
    pub fn say_redundant(&self, redundant: &RedundantWait) -> Line {
        let party = Party { op: redundant.op, transfer: None, access: None };
        let wait = self.wait(party, redundant.wait);
        let message = format!(
            "{} waits for {}, which orders nothing that is not ordered without it",
            self.who(party),
            self.wait_text(&wait)
        );
        Line {
            wait: Some(self.wait_line(&wait, None)),
            help: Some("leave the wait out: each one can stall the engine".into()),
            ..Line::new("redundant", Severity::Note, self.place(party), message)
        }
    }

    /// Where a party stands.
    pub fn place(&self, party: Party) -> Place {
        let mut place = match self.origin(party) {
            Origin::Word(spot) => self.place_of(spot),
            Origin::End(core) => Place { module: self.several().then_some(core), ..Place::default() },
        };
        let operands = match party.transfer {
            Some(transfer) => self.transfer_operands.get(transfer.index()),
            None => self.operands.get(party.op.index()),
        };
        if let Some((role, space)) = operands.zip(party.access).and_then(|(list, at)| list.get(at as usize)) {
            place.operand = Some(Operand { role });
            place.location = self.variable(*space, party);
        }
        place
    }

    /// A party in words: `load_x (PSEUDO_DMA_DIRECT2D at sg00/Pool word 2, model.py:7)`.
    pub fn who(&self, party: Party) -> String {
        match self.origin(party) {
            Origin::Word(spot) => self.spot_text(spot),
            Origin::End(core) if self.several() => {
                format!("the reader of the outputs of {}, when it is done,", self.program.cores[core].name)
            }
            Origin::End(_) => "the reader of the outputs, when it is done,".into(),
        }
    }

    fn stream(&self, spot: Spot) -> &EngineStream {
        &self.program.cores[spot.core].engines[spot.engine]
    }

    fn several(&self) -> bool {
        self.program.cores.len() > 1
    }

    fn place_of(&self, spot: Spot) -> Place {
        let stream = self.stream(spot);
        let source = stream.source(spot.word, &self.program.cores[spot.core].front_end);
        let (file, line) = match source.as_deref().and_then(|text| text.rsplit_once(':')) {
            Some((file, line)) => (Some(file.to_owned()), line.parse().ok()),
            None => (None, None),
        };
        Place {
            module: self.several().then_some(spot.core),
            stream: Some(stream.name.clone()),
            index: Some(spot.word),
            instruction: stream.instruction(spot.word).map(str::to_owned),
            opcode: Some(self.mnemonic(spot)),
            engine: Some(stream.engine.name()),
            location: None,
            operand: None,
            file,
            line,
        }
    }

    fn mnemonic(&self, spot: Spot) -> &'static str {
        let bytes = &self.stream(spot).bytes;
        let at = spot.word * WORD_BYTES;
        let word = bytes.get(at..at + WORD_BYTES).and_then(|word| <[u8; WORD_BYTES]>::try_from(word).ok());
        let previous = at.checked_sub(WORD_BYTES).map(|before| bytes[before]);
        let place = |word| StreamWord::new(Word(word), spot.word as u64, self.generation, previous);
        word.map_or(".word", |word| place(word).binding().mnemonic())
    }

    fn variable(&self, space: Space<'_>, party: Party) -> Option<String> {
        let (Origin::Word(Spot { core, .. }) | Origin::End(core)) = self.origin(party);
        match space {
            Space::Shared(name) if !name.is_empty() => Some(name.to_owned()),
            Space::Private(id) => {
                self.package.graphs[core].definition.variable(id).map(|(name, _)| name.to_owned())
            }
            _ => None,
        }
    }

    fn spot_text(&self, spot: Spot) -> String {
        let stream = self.stream(spot);
        let source = stream.source(spot.word, &self.program.cores[spot.core].front_end);
        // Whole paths make messages long; JSON has them.
        let source =
            source.map_or(String::new(), |place| format!(", {}", place.rsplit('/').next().unwrap_or(&place)));
        let place = format!("{} at {} word {}{source}", self.mnemonic(spot), stream.name, spot.word);
        match stream.instruction(spot.word) {
            Some(name) => format!("{name} ({place})"),
            None => place,
        }
    }

    fn wait(&self, party: Party, index: u32) -> ord::Wait {
        self.filled.waits(party.op).nth(index as usize).expect("a wait of the operation")
    }

    /// A semaphore, event or barrier in words.
    pub fn counter_name(&self, counter: ord::CounterId) -> String {
        self.counter_text(counter)
    }

    fn counter_text(&self, counter: ord::CounterId) -> String {
        let Counter { core, is_event, id } = self.counters[counter.index()];
        match (core == NO_CORE, is_event) {
            (true, _) => format!("core barrier {}", id & 0xFFFF),
            (_, true) => format!("evt{id}"),
            (_, false) => format!("sem{id}"),
        }
    }

    fn wait_text(&self, wait: &ord::Wait) -> String {
        let counter = self.counter_text(wait.counter);
        match wait.need {
            Need::AtLeast(value) => format!("{counter} >= {value}"),
            Need::Take => counter,
            Need::Unknown => format!("{counter} >= a register"),
            Need::Each(_) => format!("all cores at {counter}"),
        }
    }

    fn wait_line(&self, wait: &ord::Wait, count: Option<i64>) -> WaitLine {
        let value = match wait.need {
            Need::AtLeast(value) | Need::Each(value) => value,
            Need::Take => 1,
            Need::Unknown => 0,
        };
        WaitLine { from: None, id: self.counters[wait.counter.index()].id, value, count }
    }

    fn space_text(&self, space: ord::SpaceId) -> String {
        let (core, space) = self.spaces[space.index()];
        match space {
            Space::Sb => "SB".into(),
            Space::Psum => "PSUM".into(),
            Space::Shared(name) => name.to_owned(),
            Space::Private(id) => {
                let known = self.package.graphs.get(core).and_then(|graph| graph.definition.variable(id));
                known.map_or_else(|| format!("variable {id}"), |(name, _)| name.to_owned())
            }
            Space::Scratchpad(area) => format!("scratchpad {area}"),
        }
    }

    fn bytes_text(&self, finding: &Finding) -> String {
        let Some(common) = &finding.overlap else { return "the same bytes".into() };
        let (_, space) = self.spaces[common.space.index()];
        let (start, end) = (common.bytes.start, common.bytes.end);
        let name = self.space_text(common.space);
        let rows = format!("[{}..{})", common.partitions.start, common.partitions.end);
        match space {
            Space::Psum if start >> 11 == (end - 1) >> 11 => {
                let bank = start >> 11;
                let (start, end) = (start - (bank << 11), end - (bank << 11));
                format!("PSUM bank {bank} {rows} bytes [{start}..{end})")
            }
            Space::Sb | Space::Psum => format!("{name}{rows} bytes [{start}..{end})"),
            _ => format!("{name} bytes [{start}..{end})"),
        }
    }

    fn repair_text(&self, repair: &Repair) -> String {
        match repair {
            // A word has one field for what it waits for.
            Repair::Wait { waiter, counter, value, from } if self.filled.waits(waiter.op).len() > 0 => {
                format!(
                    "put a word before {}, which waits already, that waits for {} >= {value}, which {} brings",
                    self.who(*waiter),
                    self.counter_text(*counter),
                    self.who(*from)
                )
            }
            Repair::Update { waiter, from } if self.filled.waits(waiter.op).len() > 0 => format!(
                "let {} update a free semaphore when it is done, and put a word before {}, which waits already, that waits for it",
                self.who(*from),
                self.who(*waiter)
            ),
            Repair::Wait { waiter, counter, value, from } => format!(
                "let {} wait for {} >= {value}, which {} brings",
                self.who(*waiter),
                self.counter_text(*counter),
                self.who(*from)
            ),
            Repair::Update { waiter, from } => format!(
                "let {} update a free semaphore when it is done, and {} wait for it",
                self.who(*from),
                self.who(*waiter)
            ),
        }
    }

    /// The repair. The engine lets wait what happened to run later; here it is what stands second.
    fn help(&self, finding: &Finding) -> Option<String> {
        let repair = finding.repair.as_ref()?;
        let (Repair::Wait { waiter, .. } | Repair::Update { waiter, .. }) = repair;
        let Some(second) = finding.second.filter(|second| second.op != waiter.op) else {
            return Some(self.repair_text(repair));
        };
        let from = finding.first;
        let brings = match from.transfer {
            Some(transfer) => self.brings[1].get(transfer.index()),
            None => self.brings[0].get(from.op.index()),
        };
        Some(self.repair_text(&match brings.copied().flatten() {
            Some((counter, value)) => Repair::Wait { waiter: second, counter, value, from },
            None => Repair::Update { waiter: second, from },
        }))
    }

    fn say(&self, finding: &Finding) -> Line {
        let (message, help) = self.message(finding);
        let mut line = Line::new(finding.code, finding.severity, self.place(finding.first), message);
        line.kind = finding.kind.map(Hazard::name);
        line.second = finding.second.map(|second| self.place(second));
        line.certain = finding.certain;
        line.help = help;
        if let Some(common) = &finding.overlap {
            let (_, space) = self.spaces[common.space.index()];
            let on_chip = matches!(space, Space::Sb | Space::Psum);
            line.space = Some(if on_chip { self.space_text(common.space) } else { "DRAM".into() });
            line.partitions = on_chip.then_some([common.partitions.start, common.partitions.end]);
            line.bytes = Some([common.bytes.start, common.bytes.end]);
        }
        if let Some(fact) = finding.wait {
            let wait = self.wait(finding.first, fact.index);
            line.wait = Some(self.wait_line(&wait, fact.count));
        }
        line
    }

    fn message(&self, finding: &Finding) -> (String, Option<String>) {
        let one = self.who(finding.first);
        let other = finding.second.map(|second| self.who(second)).unwrap_or_default();
        let help = self.help(finding);
        if let Some(kind) = finding.kind {
            let (first, second) = match kind {
                Hazard::Raw => ("writes", "reads"),
                Hazard::War => ("reads", "writes"),
                Hazard::Waw => ("writes", "writes"),
            };
            let how = match finding.code {
                "ORD002" | "ORD012" => "only the order in which transfers of a queue complete orders them",
                "ORD003" => "whether they meet, or what orders them, is not known before it runs",
                "ORD020" => "no core barrier is between them",
                "ORD026" => "only the order of their engine does, which the compiler does not rely on",
                _ => "nothing orders them",
            };
            let bytes = self.bytes_text(finding);
            return (format!("{one} {first} {bytes} that {other} {second}; {how}"), help);
        }
        let counter = finding.counter.map(|counter| self.counter_text(counter)).unwrap_or_default();
        let wait = finding.wait.map(|fact| self.wait_text(&self.wait(finding.first, fact.index)));
        let wait = wait.unwrap_or_default();
        let party = |op| Party { op, transfer: None, access: None };
        let others: Vec<String> = finding.others.iter().take(4).map(|op| self.who(party(*op))).collect();
        let text = match finding.code {
            "ORD005" => format!("{one} waits for {wait}, more than it is ever counted to"),
            "ORD006" => format!("{one} waits for {wait}, but nothing updates it"),
            "ORD014" => {
                let how = if finding.turns.is_empty() { "waits" } else { "can wait" };
                let when = if finding.turns.is_empty() { "" } else { ", depending on who is faster" };
                let more =
                    if others.is_empty() { String::new() } else { format!("; so do {}", others.join(", ")) };
                format!("deadlock: {one} {how} for ever{more}{when}")
            }
            "ORD017" => format!("{one} sets {counter}, which can be set already"),
            "ORD018" => format!("{one} and the reset of {counter} by {other} come in no fixed order"),
            "ORD021" if finding.wait.is_some() => {
                format!("{one} waits for {wait}: whether that ever comes is not known before it runs")
            }
            "ORD021" if finding.counter.is_some() => format!(
                "who is faster decides what {counter} counts where {one} waits for it, and there are too many orders to try whether all goes on in each"
            ),
            "ORD021" if !finding.certain => format!(
                "what {one} waits for hangs on what others wait for, and that on others in turn, further than was followed"
            ),
            "ORD021" => format!("{one} leaves counts unknown"),
            "ORD022" if other.is_empty() => format!("{one} accumulates where no group was started"),
            "ORD022" => format!("{one} meets an accumulation group in the wrong state; {other} wrote last"),
            "ORD027" => format!(
                "{one} and {other} both update {counter} and can be in flight together: a wait for it does not name one of them"
            ),
            code => {
                let about =
                    bir_order::codes().iter().find(|info| info.code == code).map_or("", |info| info.title);
                let what = [wait.as_str(), counter.as_str()].into_iter().find(|text| !text.is_empty());
                format!("{one}: {about}{}", what.map_or(String::new(), |what| format!(" ({what})")))
            }
        };
        (text, help)
    }
}
