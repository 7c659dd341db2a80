//! Generated modules against an oracle that shares nothing with the generator: it reads the document, takes byte sets
//! of every access, and decides order by running the program with one access held incomplete for ever. What can still
//! start then is not ordered after it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::schedule::Config;
use super::{Target, generate, planted_line};

const ENGINES: [&str; 5] = ["Pool", "Activation", "PE", "DVE", "SP"];

fn module(instructions: u64, seed: u64, target: Target, breaks: u64) -> (Value, Vec<Value>) {
    let mut text = Vec::new();
    let planted = generate(Config { instructions, seed, target, breaks }, &mut text).unwrap();
    let planted = planted.iter().map(|p| serde_json::from_str(&planted_line(p)).unwrap()).collect();
    (serde_json::from_slice(&text).unwrap(), planted)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap().to_owned()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap()
}

/// Bytes of an access: runs (partition, from, to) in a space, sorted.
struct Footprint {
    space: String,
    runs: Vec<(u64, u64, u64)>,
    /// Least and greatest byte, for a first look.
    bounds: (u64, u64),
}

impl Footprint {
    fn overlaps(&self, other: &Footprint) -> bool {
        if self.bounds.0 >= other.bounds.1 || other.bounds.0 >= self.bounds.1 || self.space != other.space {
            return false;
        }
        let (mut a, mut b) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.0 == y.0 && x.1 < y.2 && y.1 < x.2 {
                return true;
            }
            if (x.0, x.2) < (y.0, y.2) {
                a.next();
            } else {
                b.next();
            }
        }
        false
    }
}

struct Access {
    footprint: Footprint,
    write: bool,
    read: bool,
}

/// Something that is issued and completes: an engine op, or one transfer of a DMA.
struct Actor {
    name: String,
    accesses: Vec<Access>,
    updates: Vec<(usize, i64)>,
}

struct Op {
    name: String,
    opcode: String,
    /// None: all engines.
    engine: Option<usize>,
    waits: Vec<(String, usize, i64)>,
    actors: Vec<usize>,
    is_dma: bool,
    resets: Vec<usize>,
}

/// The function with the body of every loop twice.
struct Program {
    ops: Vec<Op>,
    actors: Vec<Actor>,
    streams: Vec<Vec<usize>>,
    /// Ops of each loop body, first copy.
    bodies: Vec<std::ops::Range<usize>>,
}

struct Reader<'d> {
    locations: HashMap<String, (&'d Value, &'d Value)>,
    blocks: HashMap<String, &'d Value>,
}

impl<'d> Reader<'d> {
    fn new(document: &'d Value) -> Reader<'d> {
        let mut reader = Reader { locations: HashMap::new(), blocks: HashMap::new() };
        for set in list(&document["functions"][0], "allocations") {
            for location in list(set, "memorylocations") {
                assert!(reader.locations.insert(string(location, "name"), (location, set)).is_none());
            }
        }
        for queue in list(document, "queues") {
            for block in list(queue, "blocks").iter().flat_map(|b| list(b, "instructions")) {
                assert!(reader.blocks.insert(string(block, "name"), block).is_none());
            }
        }
        reader
    }

    fn footprint(&self, operand: &Value) -> Footprint {
        let (location, set) = self.locations[operand["memref"].as_str().unwrap()];
        let size = size(operand["dtype"].as_str().unwrap());
        let pairs: Vec<(u64, u64)> =
            list(operand, "ap").iter().map(|p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap())).collect();
        let offset = number(operand, "offset");
        let mut elements = vec![0];
        for (step, count) in &pairs[1..] {
            elements = elements.iter().flat_map(|e| (0..*count).map(move |k| e + k * step)).collect();
        }
        elements.sort_unstable();
        let addr = number(location, "addr");
        let kind = location["type"].as_str().unwrap();
        let dims: Vec<u64> = list(location, "dims").iter().map(|d| d.as_u64().unwrap()).collect();
        // Runs of elements of one row, and the rows.
        let mut row_runs: Vec<(u64, u64)> = Vec::new();
        for element in elements {
            match row_runs.last_mut() {
                Some(run) if run.1 == element => run.1 += 1,
                _ => row_runs.push((element, element + 1)),
            }
        }
        let end = row_runs.last().unwrap().1;
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        for row in 0..pairs[0].1 {
            let first = offset + row * pairs[0].0;
            let (partition, from) = if kind == "DRAM" {
                assert!((first + end) * size <= dims[0], "{operand}");
                (0, addr + first * size)
            } else {
                let pitch = dims[1] / size;
                assert!(first % pitch + end <= pitch, "leaves its row: {operand}");
                assert!(first / pitch < dims[0], "{operand}");
                (number(location, "base") + first / pitch, addr + first % pitch * size)
            };
            runs.extend(row_runs.iter().map(|run| (partition, from + run.0 * size, from + run.1 * size)));
        }
        runs.sort_unstable();
        let space = match (kind, set["kind"].as_str().unwrap()) {
            ("DRAM", "Internal") => "DRAM".to_owned(),
            ("DRAM", _) => format!("DRAM {}", string(location, "name")),
            ("PSUM", _) => format!("PSUM {}", number(location, "bank")),
            _ => kind.to_owned(),
        };
        let bounds = runs.iter().fold((u64::MAX, 0), |b, run| (b.0.min(run.1), b.1.max(run.2)));
        Footprint { space, runs, bounds }
    }

    fn accesses(&self, record: &Value) -> Vec<Access> {
        let accumulates = record["accumulation_flag"].as_u64().is_some_and(|flag| flag & 1 == 0);
        let ins = list(record, "ins").iter().map(|o| (o, false, true));
        let outs = list(record, "outs").iter().map(|o| (o, true, accumulates));
        ins.chain(outs)
            .filter(|(operand, ..)| operand["kind"] == "physical_ap")
            .map(|(operand, write, read)| Access { footprint: self.footprint(operand), write, read })
            .collect()
    }

    fn updates(record: &Value) -> Vec<(usize, i64)> {
        list(&record["sync_info"], "on_update")
            .iter()
            .map(|u| (number(u, "id") as usize, number(u, "update_value") as i64))
            .collect()
    }

    fn op(&self, program: &mut Program, record: &Value) {
        let opcode = string(record, "opcode");
        let is_dma = ["Load", "Save", "DMACopy", "DMATrigger"].contains(&opcode.as_str());
        let mut actors = Vec::new();
        for block in list(record, "dma_blocks") {
            let block = self.blocks[block.as_str().unwrap()];
            assert_eq!(block["dma_trigger"], record["name"]);
            let descriptors = list(block, "blocks").iter().flat_map(|b| list(b, "instructions"));
            actors.push(Actor {
                name: string(block, "name"),
                accesses: descriptors.flat_map(|d| self.accesses(d)).collect(),
                updates: Self::updates(block),
            });
        }
        if actors.is_empty() {
            let name = string(record, "name");
            actors.push(Actor { name, accesses: self.accesses(record), updates: Self::updates(record) });
        }
        let first = program.actors.len();
        program.actors.extend(actors);
        let engine = ENGINES.iter().position(|e| record["engine"] == **e);
        assert!(engine.is_some() || record["engine"] == "ALL");
        let index = program.ops.len();
        for (e, stream) in program.streams.iter_mut().enumerate() {
            if engine.is_none_or(|own| own == e) {
                stream.push(index);
            }
        }
        program.ops.push(Op {
            name: string(record, "name"),
            opcode,
            engine,
            waits: list(&record["sync_info"], "on_wait")
                .iter()
                .map(|w| (string(w, "from"), number(w, "id") as usize, number(w, "wait_value") as i64))
                .collect(),
            actors: (first..program.actors.len()).collect(),
            is_dma,
            resets: list(record, "sema_group").iter().map(|s| s.as_u64().unwrap() as usize).collect(),
        });
    }
}

fn size(dtype: &str) -> u64 {
    match dtype {
        "float32" => 4,
        "bfloat16" => 2,
        "float8e4" | "float8_e4m3fn" => 1,
        other => panic!("{other}"),
    }
}

fn program(document: &Value) -> Program {
    let reader = Reader::new(document);
    let mut program = Program {
        ops: Vec::new(),
        actors: Vec::new(),
        streams: vec![Vec::new(); ENGINES.len()],
        bodies: Vec::new(),
    };
    for block in list(&document["functions"][0], "blocks") {
        let instructions = list(block, "instructions");
        let is_loop = instructions.last().unwrap()["on_true"] == block["name"];
        for copy in 0..1 + usize::from(is_loop) {
            let first = program.ops.len();
            for record in instructions {
                reader.op(&mut program, record);
            }
            if is_loop && copy == 0 {
                program.bodies.push(first..program.ops.len());
            }
        }
    }
    program
}

impl Program {
    /// Which ops start when `held` never completes, and without one wait.
    fn started(&self, held: Option<usize>, without: Option<(usize, usize)>) -> Vec<bool> {
        let mut started = vec![false; self.ops.len()];
        let mut at = vec![0; ENGINES.len()];
        let mut semaphores = [0i64; 256];
        let held_op = held.map(|actor| self.ops.iter().position(|op| op.actors.contains(&actor)).unwrap());
        let holds_engine = held_op.filter(|op| !self.ops[*op].is_dma);
        let held_dma = held_op.filter(|op| self.ops[*op].is_dma);
        loop {
            let mut progress = false;
            for engine in 0..ENGINES.len() {
                while let Some(&index) = self.streams[engine].get(at[engine]) {
                    let op = &self.ops[index];
                    let waits = op.waits.iter().enumerate().filter(|(w, _)| without != Some((index, *w)));
                    if waits.map(|(_, wait)| wait).any(|(_, id, value)| semaphores[*id] < *value) {
                        break;
                    }
                    let head = |e: usize| self.streams[e].get(at[e]) == Some(&index);
                    if op.opcode == "AllEngineBarrier" && !(0..ENGINES.len()).all(head) {
                        break;
                    }
                    // A drain waits for the DMAs that its engine issued.
                    let drains = |dma: usize| started[dma] && self.ops[dma].engine == Some(engine);
                    if op.opcode == "Drain" && held_dma.is_some_and(drains) {
                        break;
                    }
                    started[index] = true;
                    if holds_engine == Some(index) {
                        break;
                    }
                    progress = true;
                    for actor in op.actors.iter().filter(|actor| Some(**actor) != held) {
                        for (id, value) in &self.actors[*actor].updates {
                            semaphores[*id] += value;
                        }
                    }
                    for id in &op.resets {
                        semaphores[*id] = 0;
                    }
                    if op.opcode == "AllEngineBarrier" {
                        at.iter_mut().for_each(|position| *position += 1);
                    } else {
                        at[engine] += 1;
                    }
                }
            }
            if !progress {
                return started;
            }
        }
    }

    fn conflicts(&self, first: usize, second: usize) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for a in &self.actors[first].accesses {
            for b in self.actors[second].accesses.iter().filter(|b| a.write || b.write) {
                let all =
                    [(a.write && b.read, "RAW"), (a.read && b.write, "WAR"), (a.write && b.write, "WAW")];
                for (applies, kind) in all {
                    if applies && !kinds.contains(&kind) && a.footprint.overlaps(&b.footprint) {
                        kinds.push(kind);
                    }
                }
            }
        }
        kinds
    }

    /// All conflicting pairs (op, actor, kind) after each actor.
    fn pairs(&self) -> Vec<Vec<(usize, usize, &'static str)>> {
        let mut pairs = vec![Vec::new(); self.actors.len()];
        for (index, op) in self.ops.iter().enumerate() {
            for &first in &op.actors {
                for (later, other) in self.ops.iter().enumerate().skip(index) {
                    for &second in other.actors.iter().filter(|second| **second > first) {
                        pairs[first]
                            .extend(self.conflicts(first, second).iter().map(|kind| (later, second, *kind)));
                    }
                }
            }
        }
        pairs
    }

    /// Unordered pairs, DMAs that can be in flight on one semaphore, and waits that do not wait for who they name.
    fn check(
        &self,
        pairs: &[Vec<(usize, usize, &'static str)>],
        without: Option<(usize, usize)>,
    ) -> (BTreeSet<(String, String, String)>, usize, usize) {
        let mut unordered = BTreeSet::new();
        let (mut in_flight, mut unbound) = (0, 0);
        for (index, op) in self.ops.iter().enumerate() {
            for &first in &op.actors {
                if self.actors[first].updates.is_empty() && self.actors[first].accesses.is_empty() {
                    continue;
                }
                let started = self.started(Some(first), without);
                let name = |actor: usize| self.actors[actor].name.clone();
                for &(later, second, kind) in &pairs[first] {
                    if started[later] {
                        unordered.insert((kind.to_owned(), name(first), name(second)));
                    }
                }
                for (later, other) in self.ops.iter().enumerate().skip(index + 1).filter(|(i, _)| started[*i])
                {
                    let same = |actor: &usize| self.actors[*actor].updates == self.actors[first].updates;
                    in_flight += usize::from(op.is_dma && other.is_dma && other.actors.iter().any(same));
                    let waits = other.waits.iter().enumerate();
                    unbound += waits
                        .filter(|(w, _)| without != Some((later, *w)))
                        .filter(|(_, (from, ..))| *from == self.actors[first].name)
                        .count();
                }
            }
        }
        (unordered, in_flight, unbound)
    }

    /// Every byte that is read was written before, by the program or, in a loop body that writes to the location at
    /// all, by the same iteration.
    fn check_defined(&self) {
        self.check_defined_in(0..self.ops.len(), false);
        for body in &self.bodies {
            self.check_defined_in(body.clone(), true);
        }
    }

    fn check_defined_in(&self, ops: std::ops::Range<usize>, is_body: bool) {
        // Which bytes of a partition are written so far. Two partitions are enough: every access takes all of them or
        // a half.
        let mut written: HashMap<(&str, u64), Vec<bool>> = HashMap::new();
        let accesses = |op: usize| self.ops[op].actors.iter().flat_map(|a| &self.actors[*a].accesses);
        let runs =
            |a: &'_ Access| a.footprint.runs.iter().filter(|r| r.0 % 64 == 0).copied().collect::<Vec<_>>();
        let all = ops.clone().flat_map(accesses).filter(|a| a.write);
        let starts: HashSet<_> =
            all.flat_map(|a| runs(a).into_iter().map(|r| (a.footprint.space.as_str(), r.0, r.1))).collect();
        for op in ops {
            for access in accesses(op).filter(|a| a.read && !a.footprint.space.starts_with("DRAM ")) {
                let space = access.footprint.space.as_str();
                for (partition, from, to) in runs(access) {
                    if is_body && !starts.contains(&(space, partition, from)) {
                        continue;
                    }
                    let bytes = written.get(&(space, partition)).map_or(&[][..], |bytes| &bytes[..]);
                    let defined =
                        bytes.get(from as usize..to as usize).is_some_and(|b| b.iter().all(|set| *set));
                    assert!(defined, "{} reads what was not written", self.ops[op].name);
                }
            }
            // The bytes of inputs and outputs are far apart: only on-chip memory and the arena are looked at.
            let on_chip = |a: &&Access| a.write && !a.footprint.space.starts_with("DRAM ");
            for access in accesses(op).filter(on_chip) {
                for (partition, from, to) in runs(access) {
                    let bytes = written.entry((access.footprint.space.as_str(), partition)).or_default();
                    bytes.resize(bytes.len().max(to as usize), false);
                    bytes[from as usize..to as usize].fill(true);
                }
            }
        }
    }
}

fn assert_clean(document: &Value) -> Program {
    let program = program(document);
    assert!(program.started(None, None).iter().all(|s| *s), "deadlock");
    let pairs = program.pairs();
    let (unordered, in_flight, unbound) = program.check(&pairs, None);
    assert_eq!(unordered, BTreeSet::new());
    assert_eq!((in_flight, unbound), (0, 0));
    program
}

#[test]
fn modules_are_ordered_and_every_wait_binds_to_the_instruction_it_names() {
    for (seed, target) in [(1, Target::Trn1), (2, Target::Trn2), (3, Target::Trn3), (4, Target::Trn2)] {
        let (document, _) = module(300 + 50 * seed, seed, target, 0);
        assert_clean(&document).check_defined();
    }
}

#[test]
fn loops_are_ordered_over_two_iterations() {
    let (document, _) = module(1200, 11, Target::Trn2, 0);
    let program = assert_clean(&document);
    assert!(!program.bodies.is_empty());
    program.check_defined();
}

#[test]
fn every_wait_is_needed() {
    let (document, _) = module(260, 5, Target::Trn2, 0);
    let program = program(&document);
    let pairs = program.pairs();
    let mut waits = 0;
    for (index, op) in program.ops.iter().enumerate().filter(|(_, op)| !op.name.contains("-end-cb-")) {
        for wait in 0..op.waits.len() {
            let (unordered, in_flight, _) = program.check(&pairs, Some((index, wait)));
            assert!(
                !unordered.is_empty() || in_flight > 0,
                "{} waits for nothing new: {:?}",
                op.name,
                op.waits
            );
            waits += 1;
        }
    }
    assert!(waits > 60, "{waits}");
}

#[test]
fn each_missing_wait_leaves_exactly_one_pair_unordered() {
    for (seed, target, count) in [(1, Target::Trn1, 1), (2, Target::Trn2, 3), (3, Target::Trn3, 5)] {
        let (document, planted) = module(600, seed, target, count);
        assert_eq!(planted.len() as u64, count);
        let planted: BTreeSet<_> =
            planted.iter().map(|p| (string(p, "kind"), string(p, "first"), string(p, "second"))).collect();
        let program = program(&document);
        let (unordered, in_flight, unbound) = program.check(&program.pairs(), None);
        assert_eq!(unordered, planted);
        assert_eq!((in_flight, unbound), (0, 0));
    }
}

/// Too long for a debug build: `cargo test --release -p xtask -- --ignored`.
#[test]
#[ignore = "long in a debug build"]
fn many_modules_have_the_planted_pairs_and_no_others() {
    let targets = [Target::Trn1, Target::Trn2, Target::Trn3];
    for seed in 100..160 {
        let count = seed % 12;
        let (document, planted) = module(300 + 20 * seed % 1200, seed, targets[seed as usize % 3], count);
        let planted: BTreeSet<_> =
            planted.iter().map(|p| (string(p, "kind"), string(p, "first"), string(p, "second"))).collect();
        assert_eq!(planted.len() as u64, count);
        let program = program(&document);
        program.check_defined();
        assert!(program.started(None, None).iter().all(|s| *s), "deadlock");
        let (unordered, in_flight, unbound) = program.check(&program.pairs(), None);
        assert_eq!(unordered, planted, "seed {seed}");
        assert_eq!((in_flight, unbound), (0, 0), "seed {seed}");
    }
}

#[test]
fn the_number_of_instructions_is_exact_and_the_text_repeats() {
    for instructions in [100, 101, 333, 5000] {
        let (document, _) = module(instructions, 9, Target::Trn2, 0);
        let blocks = list(&document["functions"][0], "blocks");
        assert_eq!(blocks.iter().map(|b| list(b, "instructions").len() as u64).sum::<u64>(), instructions);
        assert_eq!(document, module(instructions, 9, Target::Trn2, 0).0);
    }
}

/// Names of everything in its scope are unique and every reference resolves (rules MOD-05, MOD-06, DMA-01, DMA-02).
#[test]
fn names_are_unique_and_references_resolve() {
    let (document, _) = module(3000, 21, Target::Trn3, 0);
    let reader = Reader::new(&document);
    let function = &document["functions"][0];
    let queues: HashSet<String> = list(&document, "queues").iter().map(|q| string(q, "name")).collect();
    let blocks: HashSet<String> = list(function, "blocks").iter().map(|b| string(b, "name")).collect();
    let mut names: HashSet<String> = reader.blocks.keys().cloned().collect();
    for record in list(function, "blocks").iter().flat_map(|b| list(b, "instructions")) {
        for dependency in list(record, "dependencies") {
            assert!(names.contains(dependency[0].as_str().unwrap()), "{dependency}");
        }
        assert!(names.insert(string(record, "name")));
        for key in ["target", "on_true", "on_false"] {
            assert!(record[key].as_str().is_none_or(|block| blocks.contains(block)));
        }
        assert!(record["queue"].as_str().is_none_or(|queue| queues.contains(queue)));
        assert!(number(record, "scheduled_end") >= number(record, "scheduled_start"));
        let waits = list(&record["sync_info"], "on_wait").len();
        let limit = if record["opcode"] == "EventSemaphore" { 2 } else { 1 };
        assert!(waits <= limit, "rule SYNC-05");
    }
}

/// Shapes of matmuls, groups in PSUM, and equal shapes of both sides of a DMA (rules MM-03, MM-16, PSUM-03, DMA-15).
#[test]
fn shapes_are_legal() {
    let (document, _) = module(3000, 22, Target::Trn2, 0);
    let counts = |operand: &Value| -> Vec<u64> {
        list(operand, "ap").iter().map(|p| p[1].as_u64().unwrap()).collect()
    };
    let mut open: BTreeMap<String, bool> = BTreeMap::new();
    let blocks = list(&document["functions"][0], "blocks").iter().flat_map(|b| list(b, "instructions"));
    let descriptors = list(&document, "queues")
        .iter()
        .flat_map(|q| list(q, "blocks"))
        .flat_map(|b| list(b, "instructions"))
        .flat_map(|b| list(b, "blocks"))
        .flat_map(|b| list(b, "instructions"));
    for record in blocks.chain(descriptors) {
        let (ins, outs) = (list(record, "ins"), list(record, "outs"));
        match record["opcode"].as_str().unwrap() {
            "Matmult" => {
                let (moving, stationary, out) = (counts(&ins[0]), counts(&ins[1]), counts(&outs[0]));
                assert_eq!(moving[0], stationary[0]);
                assert_eq!((out[0], out[1]), (stationary[1], moving[1]));
                assert!(moving[1] <= 512 && stationary[1] <= 128);
                assert_eq!(ins[0]["dtype"], ins[1]["dtype"]);
                let flag = number(record, "accumulation_flag");
                let group = open.entry(string(&outs[0], "memref")).or_default();
                assert_eq!(flag & 1 == 1, !*group, "a group starts once");
                *group = flag & 2 == 0;
            }
            "Load" | "Save" | "DMACopy" | "DMADescriptorCopy" => {
                assert_eq!(counts(&ins[0]), counts(&outs[0]))
            }
            "Activation" | "TensorCopy" | "TensorScalar" | "TensorTensor" => {
                assert_eq!(counts(&ins[0]), counts(&outs[0]), "{record}");
            }
            _ => {}
        }
    }
    assert!(open.values().all(|group| !group), "a group is left open");
}
