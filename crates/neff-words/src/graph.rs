//! The graph of a package: instructions by engine, their dependencies as the debug members have them, and the waits of
//! their words, bound by counting.

use std::collections::{HashMap, HashSet};

use bir_view::graph::{Graph, GraphKind, Link, LinkKind, Node};
use neff::Package;
use neff::debug::DependencyEdgeKind;
use tpb_isa::Generation;

use crate::Program;
use crate::flow::{Action, Change, Counter, Need, Spot, flow};
use crate::view::matches;

/// A part of a graph: all nodes within so many edges of some instructions.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Name of an instruction, with `*` and `?`, or a word as in `sg00/PE#5`.
    pub name: &'a str,
    /// Edges away, in either direction.
    pub depth: usize,
}

/// The dependencies of a package's instructions. A node is an instruction of the debug members, or a word that waits or is
/// waited for and belongs to none. What `around` asks for is marked; when nothing is, it names nothing.
pub fn deps(
    package: &Package,
    program: &Program,
    generation: Generation,
    around: Option<Around<'_>>,
) -> Graph {
    let mut fill = Fill { program, generation, nodes: Vec::new(), links: Vec::new(), known: HashSet::new() };
    let of_entry = fill.instructions();
    fill.dependencies(&of_entry);
    let mut of_word = HashMap::new();
    for core in 0..program.cores.len() {
        for (from, to) in waits(package, program, generation, core) {
            let (from, to) = (fill.of(from, &of_entry, &mut of_word), fill.of(to, &of_entry, &mut of_word));
            fill.link(from, to, LinkKind::Wait);
        }
    }
    let mut graph = Graph { kind: GraphKind::Deps, nodes: fill.nodes, edges: fill.links };
    if let Some(around) = around {
        let word = word_of(program, around.name);
        let word = word.map(|spot| match instruction(program, spot).and_then(|key| of_entry.get(&key)) {
            Some(node) => *node,
            None => of_word.get(&spot).copied().unwrap_or(usize::MAX),
        });
        for (at, node) in graph.nodes.iter_mut().enumerate() {
            let plain = node.name.split_once('/').map_or(&*node.name, |(_, name)| name);
            let is_named = [&*node.name, plain].into_iter().any(|name| matches(around.name, name));
            node.marked = is_named || word == Some(at);
        }
        cut(&mut graph, around.depth);
    }
    graph
}

/// An instruction: its core, and its number in the debug information.
type Key = (usize, u64);

struct Fill<'a> {
    program: &'a Program,
    generation: Generation,
    nodes: Vec<Node>,
    links: Vec<Link>,
    known: HashSet<(usize, usize, LinkKind)>,
}

impl Fill<'_> {
    /// A node for each instruction of the debug members.
    fn instructions(&mut self) -> HashMap<Key, usize> {
        let mut of_entry = HashMap::new();
        for (at, core) in self.program.cores.iter().enumerate() {
            for stream in &core.engines {
                let mut mnemonics: HashMap<u64, Vec<&'static str>> = HashMap::new();
                for (word, id) in stream.words(self.generation).zip(&stream.debug.words) {
                    if let Some(id) = id {
                        mnemonics.entry(*id).or_default().push(word.binding().mnemonic());
                    }
                }
                for found in stream.debug.backend.entries() {
                    let entry = found.entry;
                    let mut label = vec![entry.name.clone()];
                    if let Some(words) = mnemonics.get(&entry.id) {
                        label.push(runs(words));
                    }
                    let own = found.source();
                    let origin = core.front_end.origin(entry);
                    let hlo = || origin.hlo.and_then(|at| at.entry.hlo_place());
                    let place = own.or_else(|| origin.penguin.and_then(|at| at.source())).or_else(hlo);
                    label.extend(place.map(|place| place.to_string()));
                    of_entry.insert((at, entry.id), self.nodes.len());
                    let name = self.name(at, &entry.name);
                    let cluster = self.name(at, stream.engine.name());
                    self.nodes.push(Node { name, label, cluster: Some(cluster), marked: false });
                }
            }
        }
        of_entry
    }

    /// What tells the cores of a package apart, where there are several.
    fn name(&self, core: usize, name: &str) -> String {
        match self.program.cores.len() {
            1 => name.to_owned(),
            _ => format!("{}/{name}", self.program.cores[core].name),
        }
    }

    fn dependencies(&mut self, of_entry: &HashMap<Key, usize>) {
        for (at, core) in self.program.cores.iter().enumerate() {
            for found in core.engines.iter().flat_map(|stream| stream.debug.backend.entries()) {
                let Some(to) = of_entry.get(&(at, found.entry.id)) else { continue };
                for (id, kind) in found.entry.scheduling().chain(found.entry.dataflow()) {
                    if let Some(from) = of_entry.get(&(at, id)) {
                        self.link(*from, *to, link_kind(kind));
                    }
                }
            }
        }
    }

    fn link(&mut self, from: usize, to: usize, kind: LinkKind) {
        if from != to && self.known.insert((from, to, kind)) {
            self.links.push(Link { from, to, kind, label: None, count: 1 });
        }
    }

    /// The node of a word: its instruction, or one of its own.
    fn of(
        &mut self,
        spot: Spot,
        of_entry: &HashMap<Key, usize>,
        of_word: &mut HashMap<Spot, usize>,
    ) -> usize {
        if let Some(node) = instruction(self.program, spot).and_then(|key| of_entry.get(&key)) {
            return *node;
        }
        let stream = &self.program.cores[spot.core].engines[spot.engine];
        let next = self.nodes.len();
        let node = *of_word.entry(spot).or_insert(next);
        if node == next {
            let name = format!("{}#{}", stream.name, spot.word);
            let word = stream.words(self.generation).nth(spot.word);
            let mnemonic = word.map(|word| word.binding().mnemonic().to_owned());
            let label = [Some(name.clone()), mnemonic].into_iter().flatten().collect();
            let cluster = Some(self.name(spot.core, stream.engine.name()));
            self.nodes.push(Node { name, label, cluster, marked: false });
        }
        node
    }
}

fn instruction(program: &Program, spot: Spot) -> Option<Key> {
    let stream = program.cores[spot.core].engines.get(spot.engine)?;
    Some((spot.core, (*stream.debug.words.get(spot.word)?)?))
}

/// The word that a name such as `sg00/PE#5` means.
fn word_of(program: &Program, name: &str) -> Option<Spot> {
    let (stream, word) = name.rsplit_once('#')?;
    let word = word.parse().ok()?;
    program.cores.iter().enumerate().find_map(|(core, known)| {
        let engine = known.engines.iter().position(|known| known.name == stream)?;
        Some(Spot { core, engine, word })
    })
}

fn link_kind(kind: DependencyEdgeKind) -> LinkKind {
    match &*kind.bir_name() {
        "Flow" => LinkKind::Flow,
        "Anti" => LinkKind::Anti,
        "Output" => LinkKind::Output,
        _ => LinkKind::Ordered,
    }
}

/// Mnemonics on one line; of a run of equal ones, one and how many.
fn runs(words: &[&str]) -> String {
    let runs = words.chunk_by(|one, next| one == next).map(|run| match run {
        [word] => (*word).to_owned(),
        _ => format!("{} x{}", run[0], run.len()),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// The waits of a core: the word that brings a count, and the word that waits for it.
fn waits(package: &Package, program: &Program, generation: Generation, core: usize) -> Vec<(Spot, Spot)> {
    let mut found = Vec::new();
    // What a counter has been brought to, by which words.
    let mut history: HashMap<Counter, Vec<(i64, Spot)>> = HashMap::new();
    for step in flow(package, program, generation, core).steps {
        let Some(spot) = step.spots.first().copied() else { continue };
        for (counter, need) in &step.waits {
            let known = history.get(counter).map_or(&[][..], Vec::as_slice);
            let first = match need {
                // The one behind the last that did not reach it.
                Need::AtLeast(count) => {
                    known.iter().rposition(|(known, _)| known < count).map_or(0, |at| at + 1)
                }
                Need::Take => known.len().saturating_sub(1),
                Need::Unknown => continue,
            };
            // What holds from the start waits for nobody.
            if matches!(need, Need::AtLeast(count) if *count <= 0) {
                continue;
            }
            found.extend(known.get(first).map(|(_, producer)| (*producer, spot)));
        }
        if let Action::Reset(counters) = &step.action {
            counters.iter().for_each(|counter| drop(history.remove(counter)));
        }
        let transferred = step.transfers.iter().flat_map(|transfer| &transfer.updates);
        for (counter, change) in step.early.iter().chain(&step.updates).chain(transferred) {
            let known = history.entry(*counter).or_default();
            let count = known.last().map_or(0, |(count, _)| *count);
            let count = match change {
                Change::Add(amount) => count.saturating_add(*amount),
                Change::Write(count) => *count,
                Change::Set => 1,
                Change::Unknown => {
                    // From here on nobody knows the count.
                    known.clear();
                    continue;
                }
            };
            known.push((count, spot));
        }
    }
    found
}

/// Leaves what is at most `depth` edges away from a marked node.
fn cut(graph: &mut Graph, depth: usize) {
    let mut others: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for link in &graph.edges {
        others[link.from].push(link.to);
        others[link.to].push(link.from);
    }
    let mut kept: Vec<bool> = graph.nodes.iter().map(|node| node.marked).collect();
    let mut border: Vec<usize> = (0..kept.len()).filter(|at| kept[*at]).collect();
    for _ in 0..depth {
        let next = border.iter().flat_map(|at| &others[*at]).copied();
        border = next.filter(|at| !std::mem::replace(&mut kept[*at], true)).collect();
        if border.is_empty() {
            break;
        }
    }
    let mut place = vec![None; kept.len()];
    for (count, (place, _)) in place.iter_mut().zip(&kept).filter(|(_, kept)| **kept).enumerate() {
        *place = Some(count);
    }
    let mut is_kept = kept.into_iter();
    graph.nodes.retain(|_| is_kept.next().unwrap_or(false));
    let links = std::mem::take(&mut graph.edges).into_iter();
    let moved = |link: Link| Some(Link { from: place[link.from]?, to: place[link.to]?, ..link });
    graph.edges = links.filter_map(moved).collect();
}
