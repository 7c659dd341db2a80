//! Findings in the terms of BIR: places, messages, repairs.

use std::ops::Range;

use bir::diag::{Diagnostic, DisplayNames, NamedOperand, NamedPlace, Place, Severity, StorageRef};
use bir::geometry::Space;
use bir::{Module, OpenEnum};

use super::{Bank, BirProgram, Checked, Local};
use crate::check::{ClassedPair, RedundantWait};
use crate::finding::{Finding, Hazard, Party, Repair, Tag};
use crate::line::WaitLine;
use crate::program::{Need, Wait};

/// Most steps that are told of an order that comes to a deadlock, the last ones.
const MAX_TURNS: usize = 6;

/// A finding with the names of a module.
pub type Line = crate::line::Line<NamedPlace>;

/// A finding that has no words yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// `ORD001` to `ORD027`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Finding(u32),
    Local(u32),
}

/// A finding in both forms.
#[derive(Clone, Debug)]
pub struct Said {
    /// For JSON lines.
    pub line: Line,
    /// For text and SARIF.
    pub diagnostic: Diagnostic,
    /// Where `line.first` and `line.second` stand in the document: of a transfer, its trigger.
    pub at: (Place, Option<Place>),
}

impl Checked<'_> {
    /// All findings with names, in the order of the program. `names`: those of each module.
    pub fn said(&self, names: &[DisplayNames]) -> Vec<Said> {
        self.told().into_iter().map(|told| self.say(told, names)).collect()
    }

    /// All findings, in the order of the program. Words take far more memory than findings: they are made one by one.
    pub fn told(&self) -> Vec<Told> {
        let findings = self.outcome.findings.iter().enumerate().map(|(at, finding)| {
            let what = What::Finding(at as u32);
            (finding.first, Told { code: finding.code, severity: finding.severity, what })
        });
        let locals = self.program.local.iter().enumerate().map(|(at, local)| {
            let what = What::Local(at as u32);
            (local.party, Told { code: local.code, severity: local.severity, what })
        });
        let mut told: Vec<(Party, Told)> = findings.chain(locals).collect();
        told.sort_by_key(|(party, told)| (party.op, party.transfer, told.code));
        told.into_iter().map(|(_, told)| told).collect()
    }

    /// A finding with names.
    pub fn say(&self, told: Told, names: &[DisplayNames]) -> Said {
        match told.what {
            What::Finding(at) => self.program.say(&self.outcome.findings[at as usize], names),
            What::Local(at) => self.program.say_local(&self.program.local[at as usize], names),
        }
    }

    /// An ordered pair in words, for `--all`.
    pub fn say_pair(&self, pair: &ClassedPair, names: &[DisplayNames]) -> Line {
        let (one, other) = (self.program.who(pair.first, names), self.program.who(pair.second, names));
        let tag = pair.tag.map_or("MAY", Tag::name);
        let how = match pair.tag {
            Some(Tag::Ok) => "in a fixed order",
            Some(Tag::QueueOrderOnly) => "in the order of a queue only",
            Some(_) => "in no order",
            None => "not decided",
        };
        Line {
            kind: Some(pair.kind.name()),
            second: Some(self.program.place(pair.second, names)),
            tag: Some(tag),
            certain: pair.tag.is_some(),
            ..Line::new(
                "pair",
                Severity::Note,
                self.program.place(pair.first, names),
                format!("{one} and {other}: {how}"),
            )
        }
    }

    /// A redundant wait in words.
    pub fn say_redundant(&self, redundant: &RedundantWait, names: &[DisplayNames]) -> Said {
        let program = &self.program;
        let party = Party::of(redundant.op.0);
        let wait = &program.program.waits_of(redundant.op.0).at(redundant.wait as usize);
        let message = format!(
            "{} waits for {}, which orders nothing that is not ordered without it",
            program.who(party, names),
            program.wait_text(wait)
        );
        let place = program.place(party, names);
        let line = Line {
            wait: Some(program.wait_line(party, redundant.wait, None, names)),
            help: Some("leave the wait out: each one can stall the engine".into()),
            ..Line::new("redundant", Severity::Note, place, message.clone())
        };
        let diagnostic = Diagnostic::note("redundant", program.diag_place(party), message);
        Said { line, diagnostic, at: (program.position(party), None) }
    }
}

impl BirProgram<'_> {
    fn module(&self, core: u16) -> &Module {
        self.modules[core as usize]
    }

    fn core(&self, core: u16) -> Option<u16> {
        (self.modules.len() > 1).then_some(core)
    }

    /// Where a party stands: a transfer of a trigger stands where its trigger does.
    pub fn place(&self, party: Party, names: &[DisplayNames]) -> NamedPlace {
        let (core, inst) = self.operation(party);
        let (module, names) = (self.module(core), &names[core as usize]);
        let place = Place { core: self.core(core), ..Place::of(inst) };
        let mut named = place.named(module, names);
        let (_, own) = self.instruction(party);
        if own != inst {
            named.trigger = named.instruction.take();
            named.instruction = Some(names.name(module, own));
        }
        if let Some((_, list, index, location)) = self.operand(party) {
            named.operand = Some(NamedOperand { role: list.key(), index });
            named.location = location.map(|location| names.name(module, location));
        }
        named
    }

    /// Where a party stands in the document: the operand, or the instruction; for a transfer, its trigger.
    pub fn position(&self, party: Party) -> Place {
        let (core, inst) = self.operation(party);
        let mut place = Place { core: self.core(core), ..Place::of(inst) };
        if let Some((_, list, index, _)) = self.operand(party).filter(|(of, ..)| *of == inst) {
            place.operand = Some((list, index));
        }
        place
    }

    /// The same by ids.
    pub fn diag_place(&self, party: Party) -> Place {
        let (core, inst) = self.operation(party);
        let (_, own) = self.instruction(party);
        let mut place = Place { core: self.core(core), ..Place::of(inst) };
        if let Some((of, list, index, location)) = self.operand(party) {
            if of == inst {
                place.operand = Some((list, index));
            } else {
                place.storage = location.map(StorageRef::Location);
            }
        }
        if own != inst {
            place = Place { subject: own.into(), ..place }.started_by(inst);
        }
        place
    }

    /// A party in words: `load_x (DMACopy on SP, line 7)`.
    pub fn who(&self, party: Party, names: &[DisplayNames]) -> String {
        let (core, inst) = self.operation(party);
        let (_, own) = self.instruction(party);
        let (module, names) = (self.module(core), &names[core as usize]);
        let of = &module[inst];
        let name = |inst| match names.name(module, inst) {
            name if name.is_empty() => format!("#{}", names.index(inst).unwrap_or_default()),
            name => name,
        };
        let mut text = format!(
            "{} ({} on {}",
            name(own),
            of.opcode().text(&module.names),
            of.engine.text(&module.names)
        );
        if own != inst {
            text = format!("{} (of {} on {}", name(own), name(inst), of.engine.text(&module.names));
        }
        let debug = module[own].debug.as_ref().or(of.debug.as_ref());
        if let Some(line) = debug.and_then(|debug| debug.lineno) {
            text += &format!(", line {line}");
        }
        if self.modules.len() > 1 {
            text += &format!(", core {core}");
        }
        text + ")"
    }

    /// The name of what an access touches.
    fn tensor(&self, party: Party, names: &[DisplayNames]) -> Option<String> {
        let (core, _) = self.operation(party);
        let (_, _, _, location) = self.operand(party)?;
        let name = names[core as usize].name(self.module(core), location?);
        (!name.is_empty()).then_some(name)
    }

    fn wait_text(&self, wait: &Wait) -> String {
        let counter = self.counter_name(wait.counter);
        match wait.need {
            Need::AtLeast(value) => format!("{counter} >= {value}"),
            Need::Take => counter,
            Need::Unknown => format!("{counter} >= a register"),
            Need::Each(_) => format!("all cores at {counter}"),
        }
    }

    fn wait_line(&self, party: Party, index: u32, count: Option<i64>, names: &[DisplayNames]) -> WaitLine {
        let (core, inst) = self.operation(party);
        let _ = names;
        let module = self.module(core);
        let wait = self.program.waits_of(party.op.0).at(index as usize);
        let record = module[inst].sync_info.as_ref().and_then(|info| info.on_wait.get(index as usize));
        let from = record.and_then(|record| record.from).map(|from| module.str(from).to_owned());
        let value = match wait.need {
            Need::AtLeast(value) | Need::Each(value) => value,
            Need::Take => 1,
            Need::Unknown => 0,
        };
        WaitLine { from, id: self.counters[wait.counter.index()].2, value, count }
    }

    fn space_name(&self, space: crate::program::SpaceId) -> String {
        let (core, space) = self.space(space);
        let module = self.module(core);
        match space {
            Space::Sb => "SB".into(),
            Space::Psum => "PSUM".into(),
            Space::Dram => "DRAM".into(),
            Space::Location(loc) => module[loc].r#type.text(&module.names).to_owned(),
            Space::Set(set) => module.str(module[set].name).to_owned(),
            Space::Register(reg) => module.str(module[reg].name).to_owned(),
            Space::Missing(name) => module.str(name).to_owned(),
        }
    }

    fn bytes_text(&self, finding: &Finding, names: &[DisplayNames]) -> String {
        let Some(common) = &finding.overlap else { return "the same bytes".into() };
        let (core, space) = self.space(common.space);
        let module = self.module(core);
        let range = |range: &Range<i64>| match range.end >= bir::geometry::lattice::ADDRESS_LIMIT {
            true => format!("bytes from {}", range.start),
            false => format!("bytes [{}..{})", range.start, range.end),
        };
        match space {
            Space::Sb | Space::Psum => {
                let word = if space == Space::Sb { "SB" } else { "PSUM" };
                let mut bytes = common.bytes.clone();
                let mut word = word.to_owned();
                if space == Space::Psum {
                    let bank = self.footprints[core as usize].target().psum_bank_bytes as i64;
                    let first = bytes.start.div_euclid(bank);
                    if (bytes.end - 1).div_euclid(bank) == first {
                        word = format!("PSUM bank {first} ");
                        bytes = bytes.start - first * bank..bytes.end - first * bank;
                    }
                }
                format!("{word}[{}..{}) {}", common.partitions.start, common.partitions.end, range(&bytes))
            }
            Space::Location(loc) => {
                let location =
                    self.operand(finding.first).and_then(|(_, _, _, location)| location).unwrap_or(loc);
                let owner = self.operation(finding.first).0;
                let (module, names) = (self.module(owner), &names[owner as usize]);
                format!("{} {}", names.name(module, location), range(&common.bytes))
            }
            Space::Dram => format!("DRAM {}", range(&common.bytes)),
            _ => {
                format!("{} of {}", range(&common.bytes), self.space_name(common.space)).replace("  ", " ")
                    + if module.str(bir::Sym::EMPTY).is_empty() { "" } else { " " }
            }
        }
    }

    /// A repair in words.
    pub fn repair_text(&self, repair: &Repair, names: &[DisplayNames]) -> String {
        match repair {
            Repair::Wait { waiter, counter, value, from } => {
                let event = self.counters[counter.index()].1 == Bank::Event;
                let what = self.counter_name(*counter);
                let what = if event { what } else { format!("{what} >= {value}") };
                format!(
                    "let {} wait for {what}, which {} brings",
                    self.who(*waiter, names),
                    self.who(*from, names)
                )
            }
            Repair::Update { waiter, from } => format!(
                "let {} update a free semaphore when it is done, and {} wait for it",
                self.who(*from, names),
                self.who(*waiter, names)
            ),
        }
    }

    fn say(&self, finding: &Finding, names: &[DisplayNames]) -> Said {
        let (message, help) = self.message(finding, names);
        let first = self.place(finding.first, names);
        let mut line = Line::new(finding.code, finding.severity, first, message.clone());
        line.kind = finding.kind.map(Hazard::name);
        line.second = finding.second.map(|second| self.place(second, names));
        line.certain = finding.certain;
        if let Some(common) = &finding.overlap {
            line.space = Some(self.space_name(common.space));
            let on_chip = self.space(common.space).1.is_on_chip();
            line.partitions = on_chip.then_some([common.partitions.start, common.partitions.end]);
            line.bytes = Some([common.bytes.start, common.bytes.end]);
        }
        if let Some(wait) = finding.wait {
            line.wait = Some(self.wait_line(finding.first, wait.index, wait.count, names));
        }
        if let Some(carried) = finding.carried {
            let (core, block) = self.blocks[carried.block.index()];
            line.in_loop = Some(names[core as usize].name(self.module(core), block));
            if finding.kind.is_some() {
                line.distance = Some(carried.distance);
                line.tag = Some(carried.tag.name());
            }
        }
        line.help = help.clone();
        let mut diagnostic =
            Diagnostic::new(finding.severity, finding.code, self.diag_place(finding.first), message);
        if let Some(second) = finding.second {
            let label = match finding.kind {
                Some(Hazard::Raw) => "reads",
                Some(_) => "writes",
                None => "the other one",
            };
            diagnostic = diagnostic.related(label, self.diag_place(second));
        }
        if let Some(help) = help {
            diagnostic = diagnostic.help(help);
        }
        let at = (self.position(finding.first), finding.second.map(|second| self.position(second)));
        Said { line, diagnostic, at }
    }

    fn say_local(&self, local: &Local, names: &[DisplayNames]) -> Said {
        let place = self.place(local.party, names);
        let message = format!("{}: {}", self.who(local.party, names), local.detail);
        let mut line = Line::new(local.code, local.severity, place, message.clone());
        let mut diagnostic =
            Diagnostic::new(local.severity, local.code, self.diag_place(local.party), message);
        if let Some(other) = local.other {
            line.second = Some(self.place(Party::of(other.0), names));
            diagnostic = diagnostic.related("the other one", self.diag_place(Party::of(other.0)));
        }
        let other = local.other.map(|other| self.position(Party::of(other.0)));
        Said { line, diagnostic, at: (self.position(local.party), other) }
    }

    /// What is wrong, and what to do.
    fn message(&self, finding: &Finding, names: &[DisplayNames]) -> (String, Option<String>) {
        let one = self.who(finding.first, names);
        let other = finding.second.map(|second| self.who(second, names)).unwrap_or_default();
        let counter = finding.counter.map(|counter| self.counter_name(counter)).unwrap_or_default();
        let mut help = finding.repair.as_ref().map(|repair| self.repair_text(repair, names));
        if let Some(kind) = finding.kind {
            let verbs = match kind {
                Hazard::Raw => ("writes", "reads"),
                Hazard::War => ("reads", "writes"),
                Hazard::Waw => ("writes", "writes"),
            };
            let bytes = self.bytes_text(finding, names);
            let when = match finding.carried {
                Some(carried) if carried.distance == 1 => " in the next iteration".to_owned(),
                Some(carried) if carried.distance > 1 => format!(" {} iterations later", carried.distance),
                Some(_) => " in iterations after the first".to_owned(),
                None => String::new(),
            };
            let how = match finding.code {
                "ORD002" | "ORD012" => "only the order in which transfers of a queue complete orders them",
                "ORD003" => "whether they meet, or what orders them, is not known before the program runs",
                "ORD011" => "only the end of the iteration orders them",
                "ORD020" => "no core barrier is between them",
                "ORD024" => "nothing orders them, but both write the same value",
                "ORD026" => "only the order of their engine does, which the compiler does not rely on",
                _ => "nothing orders them",
            };
            let tensor = |party: Party| self.tensor(party, names);
            let (first, second) = (tensor(finding.first), finding.second.and_then(tensor));
            // In a space of its own the tensor stands before the bytes already.
            let named = first.as_ref().filter(|name| !bytes.starts_with(name.as_str()));
            let of = named.map_or(String::new(), |name| format!("{name} in "));
            let to = second.filter(|second| first.as_ref() != Some(second));
            let to = to.map_or(String::new(), |name| format!(" as {name}"));
            let text = format!("{one} {} {of}{bytes} that {other} {}{to}{when}; {how}", verbs.0, verbs.1);
            if matches!(finding.code, "ORD011") {
                help = Some(format!("let {other} wait for {one} itself, inside the iteration"));
            }
            return (text, help);
        }
        let wait = finding.wait.map(|wait| {
            let text = self.wait_text(&self.program.waits_of(finding.first.op.0).at(wait.index as usize));
            let line = self.wait_line(finding.first, wait.index, wait.count, names);
            (text, line.from.unwrap_or_else(|| "its producer".into()), line.value, wait.count)
        });
        let (wait, from, value, count) = wait.unwrap_or_default();
        let brings = match count {
            Some(count) => format!("{from} brings it to {count}"),
            None => format!("{from} does not update it"),
        };
        let text = match finding.code {
            "ORD004" => format!("{one} waits for {wait}, which can hold before {from} is complete: {brings}"),
            "ORD005" => format!("{one} waits for {wait}, more than {from} gives: {brings}"),
            "ORD006" => format!("{one} waits for {wait}, but nothing updates it"),
            "ORD007" => format!("{one} waits for {wait} from {from}, which only comes later"),
            "ORD008" => format!(
                "{one} waits for {wait} in a loop that never resets it: later iterations do not wait for {from}"
            ),
            "ORD009" => format!("{one} waits for {wait}, which names {from} in the first iteration only"),
            "ORD014" => {
                let others: Vec<String> =
                    finding.others.iter().take(4).map(|op| self.who(Party::of(op.0), names)).collect();
                let more =
                    if others.is_empty() { String::new() } else { format!("; so do {}", others.join(", ")) };
                let (how, when) = match finding.turns.is_empty() {
                    true => ("waits", ""),
                    false => ("can wait", ", depending on who is faster"),
                };
                format!("deadlock: {one} {how} for ever{}{more}{when}", self.unmet(finding))
            }
            "ORD017" => format!("{one} sets {counter}, which can be set already"),
            "ORD018" => format!("{one} and the reset of {counter} by {other} come in no fixed order"),
            "ORD019" if count.is_some() || !other.is_empty() => {
                format!("{one} waits for {wait} from {from}, but the count comes from elsewhere: {brings}")
            }
            "ORD019" => format!("{one} waits for {wait} from {from}, which is no instruction here"),
            "ORD021" if finding.carried.is_some() => format!(
                "{one} waits for {wait} in a loop that makes the count smaller each time: after so many iterations it waits for ever"
            ),
            "ORD021" if finding.wait.is_some_and(|wait| wait.count.is_some()) => format!(
                "{one} waits for {wait}, which a loop may bring that runs more often than it was followed"
            ),
            "ORD021" if finding.wait.is_some() => format!(
                "what count of {counter} {one} waits for, and whether it ever comes, is not known before the program runs"
            ),
            "ORD021" if finding.counter.is_some() => format!(
                "who is faster decides what {counter} counts where {one} waits for it, and there are too many orders to try whether all goes on in each"
            ),
            "ORD021" if !finding.certain => format!(
                "what {one} waits for hangs on what others wait for, and that on others in turn, further than was followed"
            ),
            "ORD021" => format!("{one} resets semaphores without saying which: no count after it is known"),
            "ORD022" if other.is_empty() => format!("{one} accumulates where no group was started"),
            "ORD022" => format!("{one} meets an accumulation group in the wrong state; {other} wrote last"),
            "ORD027" => format!(
                "{one} and {other} both update {counter} and can be in flight together: a wait for it does not name one of them"
            ),
            _ => one,
        };
        if help.is_none() {
            help = match finding.code {
                "ORD004" | "ORD009" => count
                    .filter(|count| *count > value)
                    .map(|count| format!("wait for the count {count}, or reset the semaphore before {from}"))
                    .or_else(|| Some(format!("wait for what {from} updates"))),
                "ORD005" => count.map(|count| format!("wait for the count {count}")),
                "ORD006" => {
                    Some(format!("let {from} update the semaphore when it is complete, or drop the wait"))
                }
                "ORD007" => Some(format!("put {from} before it, or wait for another instruction")),
                "ORD008" => Some("reset the semaphore at the end of the iteration".into()),
                "ORD014" if !finding.turns.is_empty() => Some(self.turns_text(finding, names)),
                "ORD018" => Some("wait for it before the reset".into()),
                "ORD021" if finding.carried.is_some() => {
                    Some(format!("let each iteration count {counter} as far up as down"))
                }
                "ORD021" if finding.wait.is_some() => None,
                "ORD021" if finding.counter.is_some() => {
                    Some(format!("let waits order everything that takes from {counter} or sets it"))
                }
                "ORD021" if !finding.certain => None,
                "ORD021" => Some("name the semaphores in sema_group".into()),
                "ORD027" => {
                    Some("start the second after a wait for the first, or give it another semaphore".into())
                }
                _ => None,
            };
        }
        (text, help)
    }

    /// The end of an order of running that comes to a deadlock.
    fn turns_text(&self, finding: &Finding, names: &[DisplayNames]) -> String {
        let first = finding.turns.len().saturating_sub(MAX_TURNS);
        let turns: Vec<String> = finding.turns[first..].iter().map(|turn| self.who(*turn, names)).collect();
        let more = if first > 0 { "..., " } else { "" };
        format!("it comes to that in the order {more}{}; let waits fix who is first", turns.join(", "))
    }

    fn unmet(&self, finding: &Finding) -> String {
        let waits = self.program.waits_of(finding.first.op.0);
        let texts: Vec<String> = waits.iter().map(|wait| self.wait_text(&wait)).collect();
        if texts.is_empty() { String::new() } else { format!(" for {}", texts.join(" and ")) }
    }
}
