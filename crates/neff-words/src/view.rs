//! Views of a package's words: counts, everything about one instruction, and what changed between two packages.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Formatter, Write as _};

use neff::debug::{DependencyEdgeKind, Entry};
use neff::{Graph, Package};
use serde::Serialize;
use tpb_isa::text::{Options, put_line};
use tpb_isa::{Body, Generation, StreamWord};

use crate::access::{self, Space};
use crate::flow::flow;
use crate::{Core, EngineStream, Program, note};

/// Counts of a package's words.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    /// One for each core.
    pub cores: Vec<CoreStats>,
}

/// Counts of a core's words.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreStats {
    /// Name of the graph.
    pub name: String,
    /// Engines in the order of the package.
    pub engines: Vec<EngineStats>,
    /// Words by source line, where it is known, most first.
    pub lines: Vec<LineStats>,
    /// Bytes that transfers read and write, by variable.
    pub moved: Vec<Moved>,
    /// Waits, and updates with those of transfers, by semaphore.
    pub semaphores: Vec<SemaphoreStats>,
}

/// Counts of an engine's words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EngineStats {
    /// The engine.
    pub engine: &'static str,
    /// Words.
    pub words: usize,
    /// Words by mnemonic.
    pub opcodes: BTreeMap<&'static str, usize>,
    /// Words that wait.
    pub waits: usize,
}

/// Words of a source line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineStats {
    /// `file:line`.
    pub source: String,
    /// Words.
    pub words: usize,
}

/// What transfers do with a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moved {
    /// The variable, or the memory on the chip.
    pub place: String,
    /// Bytes read from it.
    pub read: u64,
    /// Bytes written to it.
    pub written: u64,
}

/// Use of a semaphore.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SemaphoreStats {
    /// Its number.
    pub id: u32,
    /// Words that wait for it.
    pub waits: usize,
    /// Updates of it.
    pub updates: usize,
    /// The count at the end, when every word has run once.
    pub last: i64,
}

/// Counts the words of a package.
pub fn stats(package: &Package, program: &Program, generation: Generation) -> Stats {
    let cores = (0..program.cores.len()).map(|core| core_stats(package, program, generation, core)).collect();
    Stats { cores }
}

fn core_stats(package: &Package, program: &Program, generation: Generation, at: usize) -> CoreStats {
    let core = &program.cores[at];
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut engines = Vec::new();
    for stream in &core.engines {
        let mut opcodes: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut waits = 0;
        for (index, word) in stream.words(generation).enumerate() {
            *opcodes.entry(word.binding().mnemonic()).or_default() += 1;
            waits += usize::from(word.decode().preamble.is_some_and(|preamble| preamble.wait().is_some()));
            if let Some(source) = stream.source(index, &core.front_end) {
                *lines.entry(source).or_default() += 1;
            }
        }
        engines.push(EngineStats { engine: stream.engine.name(), words: stream.len(), opcodes, waits });
    }
    let mut lines: Vec<LineStats> =
        lines.into_iter().map(|(source, words)| LineStats { source, words }).collect();
    lines.sort_by(|a, b| (b.words, &a.source).cmp(&(a.words, &b.source)));

    let mut moved: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut semaphores: BTreeMap<u32, SemaphoreStats> = BTreeMap::new();
    let steps = flow(package, program, generation, at).steps;
    for step in &steps {
        for (counter, _) in step.waits.iter().filter(|(counter, _)| !counter.is_event) {
            used(&mut semaphores, counter.id).waits += 1;
        }
        let transferred = step.transfers.iter().flat_map(|transfer| &transfer.updates);
        for (counter, change) in step.early.iter().chain(&step.updates).chain(transferred) {
            if counter.is_event {
                continue;
            }
            let known = used(&mut semaphores, counter.id);
            known.updates += 1;
            match change {
                crate::flow::Change::Add(amount) => known.last += amount,
                crate::flow::Change::Write(value) => known.last = *value,
                _ => {}
            }
        }
        for touch in step.transfers.iter().flat_map(|transfer| &transfer.touches) {
            let bytes: u64 = touch
                .pieces
                .iter()
                .map(|piece| {
                    let runs: u64 = piece.bytes.dims().iter().map(|dim| dim.count).product();
                    runs * piece.bytes.width() * u64::from(piece.partitions.count())
                })
                .sum();
            let entry = moved.entry(place(touch.space, &package.graphs[at])).or_default();
            if touch.effect.writes() { entry.1 += bytes } else { entry.0 += bytes }
        }
    }
    let moved = moved.into_iter().map(|(place, (read, written))| Moved { place, read, written }).collect();
    CoreStats {
        name: core.name.clone(),
        engines,
        lines,
        moved,
        semaphores: semaphores.into_values().collect(),
    }
}

fn used(all: &mut BTreeMap<u32, SemaphoreStats>, id: u32) -> &mut SemaphoreStats {
    all.entry(id).or_insert(SemaphoreStats { id, waits: 0, updates: 0, last: 0 })
}

fn place(space: Space<'_>, graph: &Graph) -> String {
    match space {
        Space::Sb => "SB".into(),
        Space::Psum => "PSUM".into(),
        Space::Shared(name) => name.to_owned(),
        Space::Scratchpad(area) => format!("scratchpad {area}"),
        Space::Private(id) => graph
            .definition
            .variable(id)
            .map_or_else(|| format!("variable {id}"), |(name, _)| name.to_owned()),
    }
}

impl Stats {
    /// The counts for people; `top` rows of the longer tables.
    pub fn text(&self, top: usize) -> String {
        let mut out = String::new();
        for core in &self.cores {
            let words: usize = core.engines.iter().map(|engine| engine.words).sum();
            let _ = writeln!(out, "{}: {words} words", core.name);
            for engine in core.engines.iter().filter(|engine| engine.words > 0) {
                let _ = writeln!(
                    out,
                    "  {:10} {:>8} words, {} of them wait",
                    engine.engine, engine.words, engine.waits
                );
                let mut opcodes: Vec<_> = engine.opcodes.iter().collect();
                opcodes.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
                rows(&mut out, top, &opcodes, |(name, count)| format!("    {count:>8}  {name}"));
            }
            if !core.lines.is_empty() {
                let _ = writeln!(out, "  by source line");
                rows(&mut out, top, &core.lines, |line| format!("    {:>8}  {}", line.words, line.source));
            }
            if !core.moved.is_empty() {
                let _ = writeln!(out, "  bytes that transfers read and write");
                rows(&mut out, top, &core.moved, |moved| {
                    format!("    {:>12} {:>12}  {}", moved.read, moved.written, moved.place)
                });
            }
            if !core.semaphores.is_empty() {
                let _ = writeln!(out, "  semaphores: number, waits, updates, count at the end");
                rows(&mut out, top, &core.semaphores, |used| {
                    format!("    {:>4} {:>8} {:>8} {:>8}", used.id, used.waits, used.updates, used.last)
                });
            }
        }
        out
    }
}

fn rows<T>(out: &mut String, top: usize, all: &[T], row: impl Fn(&T) -> String) {
    let shown = if top == 0 { all.len() } else { all.len().min(top) };
    for each in &all[..shown] {
        out.push_str(&row(each));
        out.push('\n');
    }
    if shown < all.len() {
        let _ = writeln!(out, "    ... and {} more", all.len() - shown);
    }
}

/// Everything about an instruction of a package.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shown {
    /// Its name.
    pub instruction: String,
    /// Its id in the debug information.
    pub id: u64,
    /// The core.
    pub core: String,
    /// The engine.
    pub engine: &'static str,
    /// Why it exists.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it comes from: kernel line, statement, HLO instruction, operation of the framework, line of the model.
    pub origin: Vec<(&'static str, String)>,
    /// Its words.
    pub words: Vec<ShownWord>,
    /// What it depends on, and after reduction.
    pub depends_on: Vec<Dependency>,
    /// Who depends on it.
    pub needed_by: Vec<Dependency>,
    /// Fields of its debug entry that are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// A word of an instruction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShownWord {
    /// Its number in the stream.
    pub index: usize,
    /// As assembly.
    pub text: String,
    /// What its numbers stand for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What it touches on the chip, or moves.
    pub touches: Vec<String>,
}

/// A dependency.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Dependency {
    /// The other instruction.
    pub instruction: String,
    /// Its id.
    pub id: u64,
    /// `Flow`, `Anti`, `Output`, `Ordered`.
    pub kind: String,
    /// Whether words synchronise on it; if not, others imply it.
    pub synchronised: bool,
}

/// Everything about the instructions of a name, which may have `*` and `?`, or of a word as in `sg00/PE#5`.
pub fn show(package: &Package, program: &Program, generation: Generation, name: &str) -> Vec<Shown> {
    let word = name.rsplit_once('#').and_then(|(stream, at)| Some((stream, at.parse::<usize>().ok()?)));
    let mut shown = Vec::new();
    for (core, graph) in program.cores.iter().zip(&package.graphs) {
        for stream in &core.engines {
            let of_word =
                word.filter(|(of, _)| *of == stream.name).and_then(|(_, at)| stream.debug.instruction(at));
            for at in stream.debug.backend.entries() {
                let is_asked = of_word.is_some_and(|word| word.entry.id == at.entry.id);
                if is_asked || matches(name, &at.entry.name) {
                    shown.push(show_one(graph, core, stream, at, generation));
                }
            }
        }
    }
    shown
}

fn show_one(
    graph: &Graph,
    core: &Core,
    stream: &EngineStream,
    at: Entry<'_>,
    generation: Generation,
) -> Shown {
    let entry = at.entry;
    let own: Vec<usize> =
        (0..stream.len()).filter(|word| stream.debug.words.get(*word) == Some(&Some(entry.id))).collect();
    let all: Vec<StreamWord> = if own.is_empty() { Vec::new() } else { stream.words(generation).collect() };
    let chain = core.front_end.origin(entry);
    let mut origin = Vec::new();
    origin.extend(at.source().map(|place| ("line", place.to_string())));
    origin.extend(chain.penguin.map(|at| ("statement", at.entry.name.clone())));
    origin.extend(chain.hlo.map(|at| ("hlo", at.entry.name.clone())));
    origin.extend(chain.framework.map(|at| ("operation", at.entry.name.clone())));
    origin.extend(chain.hlo.and_then(|at| at.entry.hlo_place()).map(|place| ("model", place.to_string())));
    Shown {
        instruction: entry.name.clone(),
        id: entry.id,
        core: core.name.clone(),
        engine: stream.engine.name(),
        kind: entry.instruction_type.name().into_owned(),
        origin,
        words: own.iter().map(|at| show_word(graph, stream, &all, *at)).collect(),
        depends_on: dependencies(core, entry.dataflow().collect(), entry.scheduling().collect()),
        needed_by: dependents(core, entry.id),
        unknown: entry.unknown.iter().map(ToString::to_string).collect(),
    }
}

fn show_word(graph: &Graph, stream: &EngineStream, all: &[StreamWord], at: usize) -> ShownWord {
    let word = &all[at];
    let mut text = Vec::new();
    put_line(&mut text, word, &Options { offsets: false, raw: false, notes: true }, "");
    let mut about = String::new();
    note::put(&mut about, word, graph, stream.key);
    let touches = match word.decode().body {
        Body::PseudoDmaDirect2d(dma) => {
            let next = all.get(at + 1).map(|next| next.decode().body);
            access::moves(
                &dma,
                next.as_ref().filter(|next| matches!(next, Body::PseudoDmaExt(_))),
                &graph.definition,
            )
        }
        _ => access::touches(&word.word, &word.binding()).unwrap_or_default(),
    };
    let touches = touches.iter().map(|touch| {
        let verb = if touch.effect.writes() { "writes" } else { "reads" };
        let spans = touch.pieces.iter().map(|piece| {
            let (rows, span) = (piece.partitions.first().unwrap_or(0), piece.bytes.span());
            let rows = rows..rows + piece.partitions.count();
            match touch.space {
                Space::Sb | Space::Psum => {
                    format!("[{}..{}) bytes [{:#x}..{:#x})", rows.start, rows.end, span.start, span.end)
                }
                _ => format!(" bytes [{:#x}..{:#x})", span.start, span.end),
            }
        });
        let inexact = if touch.exact { "" } else { " at most" };
        format!(
            "{} {verb} {}{}{inexact}",
            touch.operand,
            place(touch.space, graph),
            spans.collect::<Vec<_>>().join(", ")
        )
    });
    ShownWord {
        index: at,
        text: String::from_utf8_lossy(&text).trim_end().to_owned(),
        note: about,
        touches: touches.collect(),
    }
}

fn name_of(core: &Core, id: u64) -> String {
    let found = core.engines.iter().find_map(|stream| stream.debug.backend.entry(id));
    found.map_or_else(|| format!("instruction {id}"), |at| at.entry.name.clone())
}

type Edges = Vec<(u64, DependencyEdgeKind)>;

fn dependencies(core: &Core, before: Edges, after: Edges) -> Vec<Dependency> {
    let mut all = Vec::new();
    for (id, kind) in &after {
        all.push(dependency(core, *id, *kind, true));
    }
    for (id, kind) in before.iter().filter(|edge| !after.contains(edge)) {
        all.push(dependency(core, *id, *kind, false));
    }
    all
}

fn dependency(core: &Core, id: u64, kind: DependencyEdgeKind, synchronised: bool) -> Dependency {
    Dependency { instruction: name_of(core, id), id, kind: kind.bir_name().into_owned(), synchronised }
}

fn dependents(core: &Core, id: u64) -> Vec<Dependency> {
    let mut all = Vec::new();
    for at in core.engines.iter().flat_map(|stream| stream.debug.backend.entries()) {
        let after = at.entry.scheduling().find(|(other, _)| *other == id);
        let before = at.entry.dataflow().find(|(other, _)| *other == id);
        if let Some((_, kind)) = after.or(before) {
            all.push(dependency(core, at.entry.id, kind, after.is_some()));
        }
    }
    all
}

/// Whether a name fits a pattern with `*` and `?`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(from) {
            Some('*') => {
                star = Some((from + 1, at));
                from += 1;
            }
            Some(c) if *c == '?' || *c == name[at] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((after, tried)) => {
                    star = Some((after, tried + 1));
                    (at, from) = (tried + 1, after);
                }
                None => return false,
            },
        }
    }
    pattern[from..].iter().all(|c| *c == '*')
}

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} on {} of {}, {} (id {})",
            self.instruction, self.engine, self.core, self.kind, self.id
        )?;
        for (what, text) in &self.origin {
            writeln!(f, "  {what:10} {text}")?;
        }
        for word in &self.words {
            writeln!(f, "  word {:<5} {}", word.index, word.text)?;
            if !word.note.is_empty() {
                writeln!(f, "             {}", word.note)?;
            }
            for touch in &word.touches {
                writeln!(f, "             {touch}")?;
            }
        }
        for (title, list) in [("depends on", &self.depends_on), ("needed by", &self.needed_by)] {
            for (i, edge) in list.iter().enumerate() {
                let title = if i == 0 { title } else { "" };
                let how = if edge.synchronised { "" } else { ", implied by others" };
                writeln!(f, "  {title:10} {} ({}{how})", edge.instruction, edge.kind)?;
            }
        }
        self.unknown.iter().try_for_each(|field| writeln!(f, "  unknown    {field}"))
    }
}

/// What changed between two packages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Change {
    /// `header`, `variable`, `queue`, `member`, `instruction` or `word`.
    pub what: &'static str,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Which one: `sg00/PE load_x`.
    pub name: String,
    /// Before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// After.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A package with its words.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The package.
    pub package: &'a Package,
    /// Its words.
    pub program: &'a Program,
    /// Their generation.
    pub generation: Generation,
}

/// What changed from one package to another: features and versions, variables, queues, members, and instructions with
/// their words. Identities, dates and debug members are not compared.
pub fn diff(before: Side<'_>, after: Side<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    compare("header", header(before.package), header(after.package), &mut changes);
    for (what, list) in [
        ("variable", variables as fn(&Package) -> Vec<(String, String)>),
        ("queue", queues),
        ("member", members),
    ] {
        compare(what, list(before.package), list(after.package), &mut changes);
    }
    compare("instruction", instructions(before), instructions(after), &mut changes);
    changes
}

fn compare(
    what: &'static str,
    before: Vec<(String, String)>,
    after: Vec<(String, String)>,
    changes: &mut Vec<Change>,
) {
    let new: HashMap<&str, &str> = after.iter().map(|(name, text)| (&**name, &**text)).collect();
    let old: HashMap<&str, &str> = before.iter().map(|(name, text)| (&**name, &**text)).collect();
    for (name, text) in &before {
        let (change, after) = match new.get(&**name) {
            None => ("removed", None),
            Some(now) if now != text => ("changed", Some((*now).to_owned())),
            Some(_) => continue,
        };
        changes.push(Change { what, change, name: name.clone(), before: Some(text.clone()), after });
    }
    for (name, text) in after.iter().filter(|(name, _)| !old.contains_key(&**name)) {
        let after = Some(text.clone());
        changes.push(Change { what, change: "added", name: name.clone(), before: None, after });
    }
}

fn header(package: &Package) -> Vec<(String, String)> {
    let mut facts = vec![("target".to_owned(), package.kelf.target.clone().unwrap_or_default())];
    if let Some(version) = package.compile_info.as_ref().and_then(|info| info.tool_version.clone()) {
        facts.push(("compiler".into(), version));
    }
    if let Some(header) = &package.header {
        facts.push(("features".into(), header.features().join(", ")));
        facts.push(("lnc_size".into(), header.lnc_size.to_string()));
        facts.push((
            "neff_version".into(),
            format!("{}.{}", header.neff_version_major, header.neff_version_minor),
        ));
    }
    facts
}

fn variables(package: &Package) -> Vec<(String, String)> {
    let all = package.graphs.iter().flat_map(|graph| {
        graph.definition.var.iter().map(move |(name, var)| {
            let mut text = format!("id {}, {}", var.var_id, var.kind);
            if let Some(size) = var.size {
                let _ = write!(text, ", {size} bytes");
            }
            if let Some(offset) = var.backing_variable_off {
                let _ = write!(text, " at {offset:#x}");
            }
            (format!("{} {name}", graph.name), text)
        })
    });
    all.collect()
}

fn queues(package: &Package) -> Vec<(String, String)> {
    let all = package.graphs.iter().flat_map(|graph| {
        graph.definition.dma_queue.iter().map(move |(name, queue)| {
            let owner = queue.owner.as_deref().unwrap_or("nobody");
            let text = format!(
                "{} of {owner}, {} queues, semaphores {:?}",
                queue.kind,
                queue.num_queues.unwrap_or(1),
                queue.semaphore_set
            );
            (format!("{} {name}", graph.name), text)
        })
    });
    all.collect()
}

fn members(package: &Package) -> Vec<(String, String)> {
    let is_compared = |member: &&neff::Member| !member.kind.name().starts_with("debug-");
    let all = package.members.iter().filter(is_compared);
    all.map(|member| (member.name.clone(), format!("{}, {} bytes", member.kind.name(), member.size)))
        .collect()
}

/// Instructions in the order of their streams, with their words; words without an instruction stand for themselves.
fn instructions(side: Side<'_>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let options = Options { offsets: false, raw: false, notes: true };
    for stream in side.program.cores.iter().flat_map(|core| &core.engines) {
        let mut last = None;
        for (index, word) in stream.words(side.generation).enumerate() {
            let mut text = Vec::new();
            put_line(&mut text, &word, &options, "");
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            let id = stream.debug.words.get(index).copied().flatten();
            if let (Some((_, words)), true) = (all.last_mut(), id.is_some() && id == last) {
                words.push('\n');
                words.push_str(&text);
                continue;
            }
            last = id;
            let name = match stream.instruction(index) {
                Some(name) => format!("{} {name}", stream.name),
                None => format!("{} word {index}", stream.name),
            };
            all.push((name, text));
        }
    }
    all
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = match self.change {
            "added" => '+',
            "removed" => '-',
            _ => '~',
        };
        writeln!(f, "{sign} {} {}", self.what, self.name)?;
        if self.what == "instruction" || self.change == "changed" {
            for (sign, text) in [('-', &self.before), ('+', &self.after)] {
                for line in text.iter().flat_map(|text| text.lines()) {
                    writeln!(f, "    {sign} {line}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn patterns_fit_names() {
        for (pattern, name, fits) in [
            ("load_x", "load_x", true),
            ("load_*", "load_y1", true),
            ("*_y?", "load_y1", true),
            ("*a*b*", "xxaybz", true),
            ("load", "load_x", false),
            ("?", "", false),
            ("*", "", true),
            ("*x", "xy", false),
        ] {
            assert_eq!(super::matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
