//! Pieces of a document: what is told of them to the threads that read them, how these do that, and what they give.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use bir::ids::{Id, InstId, LocId, RegId, SetId};
use bir::record::OwnedList;
use bir::records::Block;
use bir::{Holder, Marked, Module, Names, Sym, Value};

use crate::error::Result;
use crate::read::names::SymMap;
use crate::read::resolve::RawEdge;
use crate::read::{FirstExprs, Oddities, ReadOptions, Reader};

/// Names that a helper keeps. Most are met only once or twice, and the reader has them too.
const MOST_NAMES: usize = 1 << 14;

/// A piece of text to be read.
pub(super) struct Job {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) scope: Arc<InScope>,
    pub(super) state: Arc<State>,
}

/// How far a piece is: nobody reads it yet, its helper does or has done, nobody needs it.
#[derive(Default)]
pub(super) struct State(AtomicU8);

const FREE: u8 = 0;
const BEGUN: u8 = 1;
const UNWANTED: u8 = 2;

impl State {
    /// For the helper: whether the piece is to be read.
    pub(super) fn begin(&self) -> bool {
        self.0.compare_exchange(FREE, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// For the reader, who does not need the piece; whether its helper sends a part all the same.
    pub(super) fn refuse(&self) -> bool {
        self.0.swap(UNWANTED, Ordering::AcqRel) == BEGUN
    }

    /// For the reader, who needs the piece; whether its helper sends it. To read it is quicker than to wait for
    /// somebody who has not begun.
    pub(super) fn claim(&self) -> bool {
        self.0.compare_exchange(FREE, UNWANTED, Ordering::AcqRel, Ordering::Acquire).is_err()
    }

    pub(super) fn is_unwanted(&self) -> bool {
        self.0.load(Ordering::Relaxed) == UNWANTED
    }
}

/// Storage that names in a function or queue may mean.
pub(super) struct InScope {
    /// Number of the function or queue in the document.
    pub(super) number: u32,
    is_queue: bool,
    nki_first: bool,
    locations: Table<LocId>,
    sets: Table<SetId>,
    registers: Table<RegId>,
}

/// Objects by name, in any order: the end of each name in the text of all.
struct Table<T> {
    text: String,
    entries: Vec<(usize, T)>,
}

impl<T: Id> Table<T> {
    fn new(map: &SymMap<T>, names: &Names) -> Table<T> {
        let mut table = Table { text: String::new(), entries: Vec::new() };
        for (name, id) in map.iter() {
            table.text.push_str(names.str(name));
            table.entries.push((table.text.len(), id));
        }
        table
    }

    fn fill(&self, map: &mut SymMap<T>, names: &mut Names) {
        let mut start = 0;
        for (end, id) in &self.entries {
            map.insert(names.intern(&self.text[start..*end]), *id);
            start = *end;
        }
    }
}

/// What was read of a piece.
pub(super) struct Part {
    /// The helper has begun a new table of names.
    pub(super) fresh: bool,
    /// Names that the helper had not met before: their text, and the end of each.
    pub(super) text: String,
    pub(super) ends: Vec<usize>,
    pub(super) runs: Vec<Run>,
}

/// Instructions of one list that follow each other.
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) scope: u32,
    pub(super) module: Module,
    pub(super) positions: Vec<u64>,
    pub(super) pending: Vec<InstId>,
    pub(super) edges: Vec<RawEdge>,
    pub(super) edge_extras: Vec<Box<[Value]>>,
    pub(super) oddities: Oddities,
    pub(super) first_exprs: FirstExprs,
    pub(super) has_early_names: bool,
    pub(super) trace: Trace,
}

/// What the reader of a piece notes, so that names mean what they mean in the whole document.
#[derive(Default)]
pub(in crate::read) struct Trace {
    /// Instructions in the order in which they were complete, with the number of dependencies that had been left
    /// open by then.
    pub(in crate::read) added: Vec<(InstId, u32)>,
    /// Names of instructions in other blocks that dependencies were found to mean. An instruction of that name in the
    /// same block, which may stand before the piece, would be meant instead.
    pub(in crate::read) far: Vec<Sym>,
    /// Instructions that hold names and references elsewhere than most.
    pub(in crate::read) marked: Marked,
}

/// What a helper does until there is nothing more to do.
pub(super) fn help(text: &str, options: ReadOptions, jobs: &Receiver<Job>, done: &Sender<Part>) {
    let mut progress = |_| {};
    let mut helping = Reader::new(text, options, &mut progress);
    helping.trace = Some(Trace::default());
    let mut scope: Option<Arc<InScope>> = None;
    // How many of its names the reader knows.
    let mut told = 0;
    while let Ok(job) = jobs.recv() {
        if !job.state.begin() {
            continue;
        }
        if scope.as_ref().is_none_or(|scope| !Arc::ptr_eq(scope, &job.scope)) {
            helping.enter_scope(&job.scope);
        }
        let mut part = Part { fresh: told == 0, text: String::new(), ends: Vec::new(), runs: Vec::new() };
        // An error is found again by whoever reads the text in order, if it is one.
        let whole = helping.read_piece(&job, &mut part.runs).is_ok();
        for name in helping.module.names.iter().skip(told) {
            part.text.push_str(name);
            part.ends.push(part.text.len());
        }
        told = helping.module.names.len();
        scope = Some(job.scope);
        if done.send(part).is_err() {
            return;
        }
        // After an error anything may be left behind; and most names are met only once.
        if !whole || told > MOST_NAMES {
            helping = Reader::new(text, options, helping.progress);
            helping.trace = Some(Trace::default());
            (scope, told) = (None, 0);
        }
    }
}

impl Reader<'_> {
    /// What names of storage mean in the function or queue that is read.
    pub(super) fn storage_in_scope(&self) -> InScope {
        let is_queue = matches!(self.outermost, Holder::Queue(_));
        let (locations, sets, registers) = match is_queue {
            true => (&self.all_locations, &self.all_sets, &self.all_registers),
            false => (&self.locations, &self.sets, &self.registers),
        };
        let names = &self.module.names;
        InScope {
            number: self.scope,
            is_queue,
            nki_first: self.nki_first,
            locations: Table::new(locations, names),
            sets: Table::new(sets, names),
            registers: Table::new(registers, names),
        }
    }

    /// Lets names of storage mean that.
    fn enter_scope(&mut self, scope: &InScope) {
        self.forget_storage();
        self.all_locations.clear();
        self.all_sets.clear();
        self.all_registers.clear();
        let names = &mut self.module.names;
        let (locations, sets, registers) = match scope.is_queue {
            true => (&mut self.all_locations, &mut self.all_sets, &mut self.all_registers),
            false => (&mut self.locations, &mut self.sets, &mut self.registers),
        };
        scope.locations.fill(locations, names);
        scope.sets.fill(sets, names);
        scope.registers.fill(registers, names);
        self.nki_first = scope.nki_first;
        self.outermost = match scope.is_queue {
            true => Holder::Queue(Id::new(0)),
            false => Holder::Function(Id::new(0)),
        };
    }

    /// Reads the instructions of a piece: those of the list in which it starts, and of the blocks that follow.
    fn read_piece(&mut self, job: &Job, runs: &mut Vec<Run>) -> Result<()> {
        self.lexer.seek(job.start);
        self.lexer.set_depth(job.depth);
        loop {
            self.lexer.peek();
            let start = self.lexer.pos();
            let block = self.module.add_block(Block::default());
            self.holder = self.outermost;
            self.current_block = block;
            let mut list = OwnedList::default();
            let (end, more) = loop {
                list.push(self.instruction_record()?);
                let end = self.lexer.pos();
                let more = self.lexer.next_element()?;
                self.lexer.peek();
                if !more || self.lexer.pos() >= job.end || job.state.is_unwanted() {
                    break (end, more);
                }
            };
            self.module[block].instructions = list;
            let Some(run) = self.end_run(start, end, job) else { return Ok(()) };
            runs.push(run);
            if more || !self.next_list()? || self.lexer.pos() >= job.end {
                return Ok(());
            }
        }
    }

    /// Goes from the end of a list of instructions to the start of that of the next block; false when there is none.
    fn next_list(&mut self) -> Result<bool> {
        self.lexer.leave();
        let mut more = self.lexer.next_member()?;
        loop {
            while more {
                let key = self.lexer.key()?;
                if key == "instructions" && self.lexer.peek() == b'[' {
                    self.lexer.enter()?;
                    if !self.lexer.take(b']') {
                        return Ok(true);
                    }
                    self.lexer.leave();
                } else {
                    self.lexer.skip_value()?;
                }
                more = self.lexer.next_member()?;
            }
            self.lexer.leave();
            if !self.lexer.next_element()? || self.lexer.peek() != b'{' {
                return Ok(false);
            }
            self.lexer.enter()?;
            more = !self.lexer.take(b'}');
        }
    }

    /// What was read of a list; `None` when that may mean something else in the whole document.
    fn end_run(&mut self, start: usize, end: usize, job: &Job) -> Option<Run> {
        let names = std::mem::take(&mut self.module.names);
        let mut module = std::mem::take(&mut self.module);
        std::mem::swap(&mut module.names, &mut self.module.names);
        self.module.names = names;
        self.queue_table.clear();
        self.inst_names.clear();
        let has_early_names = !self.early_names.is_empty();
        self.early_names.clear();
        let run = Run {
            start,
            end,
            depth: job.depth,
            scope: job.scope.number,
            module,
            positions: std::mem::take(&mut self.positions.insts),
            pending: std::mem::take(&mut self.pending),
            edges: std::mem::take(&mut self.edges),
            edge_extras: std::mem::take(&mut self.edge_extras),
            oddities: std::mem::take(&mut self.oddities),
            first_exprs: std::mem::take(&mut self.first_exprs),
            has_early_names,
            trace: self.trace.replace(Trace::default()).unwrap_or_default(),
        };
        // A key stands twice, or blocks where none belong: the document will be read again.
        let again = std::mem::take(&mut self.again) | std::mem::take(&mut self.wrong_body);
        (!again).then_some(run)
    }
}
