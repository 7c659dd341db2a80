//! Reading by several threads. One reader goes through the document; others read pieces of its lists of instructions
//! ahead of it, each from where an instruction seems to start. When the reader comes to that place and it is one, it
//! takes what was read, else it reads on itself: nothing but time depends on the guess. What is read is the same as
//! what one thread reads, and in case of doubt the reader reads itself.

mod piece;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, Scope};

use bir::edges::Edge;
use bir::ids::InstId;
use bir::{Names, Renumbering, Sym, Value};
use memchr::memmem;

use super::dependencies::edges_of;
use super::resolve::RawEdge;
use super::{ReadOptions, Reader};
use crate::lexer::Lexer;
use piece::{InScope, Job, Part, Run, State, help};

pub(in crate::read) use piece::Trace;

/// Documents with less text than so many pieces are read faster by one thread.
const FEWEST_PIECES: usize = 64;

/// Bytes of text that a helper reads at once.
const PIECE: usize = 256 << 10;

/// Pieces that a helper may have before it: it should not run out of them, since to be woken takes long.
const LEAD: usize = 2;

/// How often a part is asked for before the reader sleeps until it comes.
const SPINS: usize = 1 << 14;

/// Helpers that are used at most: taking what they have read is the work of one thread.
const MOST_HELPERS: usize = 3;

/// How far the start of a piece is looked for at least.
const WINDOW: usize = 1 << 12;

/// Levels of nesting that are allowed for between what is known where a piece is planned and where it is.
const SLACK: usize = 8;

/// How many pieces in vain are borne until helpers are sent home.
const PATIENCE: u32 = 16;

/// A thread that reads pieces, as the reader sees it.
struct Helper {
    jobs: Sender<Job>,
    parts: Receiver<Part>,
    /// Parts that will come but are not wanted.
    unwanted: usize,
    to: Renumbering,
}

/// A piece that a helper reads.
struct Piece {
    start: usize,
    helper: usize,
    state: Arc<State>,
}

/// Helpers and what they do.
pub(super) struct Ahead {
    helpers: Vec<Helper>,
    /// What was read and not taken, and pieces that are being read, both in the order of the text.
    runs: VecDeque<(Run, usize)>,
    pieces: VecDeque<Piece>,
    /// Where what is planned ends.
    planned: usize,
    /// From here on something has to be done.
    pub(super) next: usize,
    /// How an instruction starts: the brace and its first key.
    pattern: Vec<u8>,
    scope: Option<Arc<InScope>>,
    /// Depth of the lists that pieces are made of, and where such a list was last met.
    depth: usize,
    met: usize,
    patience: u32,
    /// Bytes of a piece, and whether a piece is waited for that nobody has begun.
    piece: usize,
    patient: bool,
}

impl Ahead {
    /// Starts helpers when it is worth while.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        text: &'scope str,
        options: ReadOptions,
    ) -> Option<Ahead> {
        let helpers = options.threads.saturating_sub(1).min(MOST_HELPERS);
        // A size that is given is for tests, with documents of any size.
        let (piece, fewest) = match options.piece {
            0 => (PIECE, FEWEST_PIECES),
            piece => (piece, 1),
        };
        if helpers == 0 || text.len() / fewest < piece {
            return None;
        }
        let helper = |_| {
            let (jobs, wanted) = channel();
            let (done, parts) = channel();
            let work = move || help(text, options, &wanted, &done);
            // Where there may be no more threads, one is enough.
            Builder::new().spawn_scoped(scope, work).ok()?;
            Some(Helper { jobs, parts, unwanted: 0, to: Renumbering::default() })
        };
        let helpers: Vec<Helper> = (0..helpers).map_while(helper).collect();
        if helpers.is_empty() {
            return None;
        }
        Some(Ahead {
            helpers,
            runs: VecDeque::new(),
            pieces: VecDeque::new(),
            planned: 0,
            next: 0,
            pattern: Vec::new(),
            scope: None,
            depth: usize::MAX,
            met: 0,
            patience: PATIENCE,
            piece,
            patient: options.piece != 0,
        })
    }

    /// What was read from an offset on, when something was. What was read before it is not wanted any more.
    fn run_at(&mut self, at: usize, names: &mut Names) -> Option<(Run, usize)> {
        loop {
            if let Some((run, _)) = self.runs.front() {
                match run.start {
                    start if start < at => self.runs.pop_front(),
                    start if start == at => return self.runs.pop_front(),
                    _ => return None,
                };
                continue;
            }
            if self.pieces.front()?.start > at {
                return None;
            }
            let piece = self.pieces.pop_front()?;
            let helper = &mut self.helpers[piece.helper];
            if piece.start < at {
                helper.unwanted += usize::from(piece.state.refuse());
                self.patience = self.patience.saturating_sub(1);
                continue;
            }
            if !self.patient && !piece.state.claim() {
                continue;
            }
            let runs = helper.receive(names)?;
            self.runs.extend(runs.into_iter().map(|run| (run, piece.helper)));
        }
    }

    /// Forgets what is planned: another function or queue begins.
    fn forget(&mut self) {
        self.runs.clear();
        for piece in self.pieces.drain(..) {
            self.helpers[piece.helper].unwanted += usize::from(piece.state.refuse());
        }
        self.planned = 0;
    }

    /// Where something has to be done next: a run or a piece starts, or the helpers want work.
    fn next_after(&self, at: usize) -> usize {
        let run = self.runs.front().map(|(run, _)| run.start);
        let piece = self.pieces.front().map(|piece| piece.start);
        let plan =
            if self.pieces.len() < LEAD * self.helpers.len() { at + self.piece / 8 } else { usize::MAX };
        run.unwrap_or(usize::MAX).min(piece.unwrap_or(usize::MAX)).min(plan)
    }

    /// Gives the helpers pieces to read beyond an offset.
    fn plan(&mut self, text: &str, at: usize) {
        let count = self.helpers.len();
        while self.pieces.len() + count <= LEAD * count {
            // The reader itself reads a piece too.
            let mut from = self.planned.max(at) + self.piece;
            for helper in 0..count {
                let Some(start) = self.find_start(text, from) else { return };
                let Some(scope) = &self.scope else { return };
                from = start + self.piece;
                let state = Arc::new(State::default());
                let job = Job {
                    start,
                    end: from,
                    depth: self.depth + SLACK,
                    scope: Arc::clone(scope),
                    state: Arc::clone(&state),
                };
                // A helper that has gone has told why by then.
                if self.helpers[helper].jobs.send(job).is_err() {
                    self.patience = 0;
                    return;
                }
                self.pieces.push_back(Piece { start, helper, state });
                self.planned = from;
            }
        }
    }

    /// Where an instruction seems to start, a little way from an offset on.
    fn find_start(&self, text: &str, from: usize) -> Option<usize> {
        let text = text.as_bytes();
        let window = text.get(from..)?;
        let window = &window[..window.len().min(WINDOW.max(self.piece / 4))];
        let is_element = |at: &usize| matches!(text[..from + at].trim_ascii_end().last(), Some(b',' | b'['));
        memmem::find_iter(window, &self.pattern).find(is_element).map(|at| from + at)
    }

    /// Notes how the instruction at an offset starts, when instructions are not known to start in a way that is
    /// found around here.
    fn learn_pattern(&mut self, text: &str, at: usize) {
        if !self.pattern.is_empty() && self.find_start(text, self.planned.max(at)).is_some() {
            return;
        }
        let mut lexer = Lexer::new(text);
        lexer.seek(at);
        if lexer.enter().is_ok() && lexer.plain_key().is_some() {
            self.pattern = text.as_bytes()[at..lexer.pos()].to_vec();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Helper {
    /// The next part. To sleep and be woken takes longer than most parts do.
    fn wait(&mut self) -> Option<Part> {
        for _ in 0..SPINS {
            match self.parts.try_recv() {
                Ok(part) => return Some(part),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        self.parts.recv().ok()
    }

    /// The next part that is wanted; `None` when the helper has gone.
    fn receive(&mut self, names: &mut Names) -> Option<Vec<Run>> {
        loop {
            let part = self.wait()?;
            if part.fresh {
                self.to = Renumbering::default();
            }
            let mut start = 0;
            for end in part.ends {
                self.to.names.push(names.intern(&part.text[start..end]));
                start = end;
            }
            match self.unwanted.checked_sub(1) {
                Some(rest) => self.unwanted = rest,
                None => return Some(part.runs),
            }
        }
    }
}

impl<'a> Reader<'a> {
    /// Takes the instructions that were read ahead from the lexer on, when there are some; the lexer is then behind
    /// the last of them.
    #[inline]
    pub(super) fn take_ahead(&mut self, list: &mut Vec<InstId>) -> bool {
        let Some(ahead) = &self.ahead else { return false };
        let next = ahead.next;
        self.lexer.peek();
        next <= self.lexer.pos() && self.look_ahead(list)
    }

    #[cold]
    fn look_ahead(&mut self, list: &mut Vec<InstId>) -> bool {
        let (at, depth) = (self.lexer.pos(), self.lexer.depth());
        let Some(mut ahead) = self.ahead.take() else { return false };
        let is_new = ahead.scope.as_ref().is_none_or(|scope| scope.number != self.scope);
        // Pieces are made of the outermost lists, until one further in turns out to be long.
        if is_new || depth <= ahead.depth || at - ahead.met > 4 * ahead.piece {
            (ahead.depth, ahead.met) = (depth, at);
        }
        let mut taken = false;
        if depth == ahead.depth {
            ahead.met = at;
            if is_new {
                ahead.forget();
                ahead.scope = Some(Arc::new(self.storage_in_scope()));
            }
            if let Some((run, helper)) = ahead.run_at(at, &mut self.module.names) {
                taken = self.take_run(run, &mut ahead.helpers[helper].to, list);
                ahead.patience = match taken {
                    true => PATIENCE.min(ahead.patience + 1),
                    false => ahead.patience.saturating_sub(1),
                };
            }
            if !taken {
                ahead.learn_pattern(self.lexer.text(), at);
            }
            ahead.plan(self.lexer.text(), self.lexer.pos());
        }
        ahead.next = ahead.next_after(self.lexer.pos());
        if ahead.patience > 0 && self.module.names.len() < Edge::MAX_TARGETS / 2 {
            self.ahead = Some(ahead);
        }
        taken
    }

    /// Takes what another thread has read, unless that might mean something else here.
    fn take_run(&mut self, run: Run, to: &mut Renumbering, list: &mut Vec<InstId>) -> bool {
        let means_other = |name: &Sym| self.inst_names.has(to.name(*name));
        if run.scope != self.scope
            || run.depth < self.lexer.depth()
            || self.positions.insts.len() + run.positions.len() > Edge::MAX_TARGETS
            || run.trace.far.iter().any(means_other)
        {
            return false;
        }
        let queues = run.module.queue_ids().map(|queue| to.name(run.module[queue].name));
        to.queues = queues.map(|name| self.queue_named(name)).collect();
        list.extend(self.module.take_part(run.module, self.current_block, &run.trace.marked, to));
        self.positions.insts.extend(run.positions);
        self.pending.extend(run.pending.into_iter().map(|id| to.inst(id)));
        self.take_names(run.trace.added, run.edges, run.edge_extras, to);
        self.oddities.append(run.oddities);
        self.first_exprs.any = self.first_exprs.any.or(run.first_exprs.any);
        self.first_exprs.version_1 = self.first_exprs.version_1.or(run.first_exprs.version_1);
        if run.has_early_names {
            self.note_early_name();
        }
        self.lexer.seek(run.end);
        #[cfg(test)]
        tests::TAKEN.set(tests::TAKEN.get() + 1);
        true
    }

    /// Adds the instructions of a run to those that have names, and looks for the targets that the run did not have:
    /// those that stand before it are known now. All in the order in which it would have happened here.
    fn take_names(
        &mut self,
        added: Vec<(InstId, u32)>,
        edges: Vec<RawEdge>,
        extras: Vec<Box<[Value]>>,
        to: &Renumbering,
    ) {
        let (mut edges, mut extras) = (edges.into_iter(), extras.into_iter());
        let (mut done, mut waiting) = (0, None);
        for (id, count) in added {
            for edge in edges.by_ref().take((count - done) as usize) {
                self.take_edge(edge, &mut extras, &mut waiting, to);
            }
            done = count;
            self.inst_names.add(&self.module, to.inst(id));
        }
    }

    fn take_edge(
        &mut self,
        edge: RawEdge,
        extras: &mut impl Iterator<Item = Box<[Value]>>,
        waiting: &mut Option<(InstId, bool)>,
        to: &Renumbering,
    ) {
        let (inst, loop_carried) = (to.inst(edge.inst), edge.loop_carried());
        let edge = RawEdge { inst, name: to.name(edge.name), ..edge };
        let extra = if edge.extended() { extras.next().unwrap_or_default() } else { Box::default() };
        // From the first that waits for pass 2 all of a list wait.
        let found = match *waiting == Some((inst, loop_carried)) {
            true => None,
            false => self.inst_names.find_earlier(edge.name, self.module[inst].block, inst),
        };
        let Some(target) = found else {
            *waiting = Some((inst, loop_carried));
            if edge.extended() {
                self.edge_extras.push(extra);
            }
            self.edges.push(edge);
            return;
        };
        edges_of(&mut self.module[inst], loop_carried).insert_with(Edge::new(target, edge.kind()), &extra);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Runs that were taken in this thread.
        pub(super) static TAKEN: Cell<usize> = const { Cell::new(0) };
    }

    fn taken(text: &str) -> usize {
        TAKEN.set(0);
        let options = ReadOptions { threads: 3, piece: 300, ..ReadOptions::default() };
        let by_several = crate::read(text.as_bytes(), &options).unwrap();
        let by_one = crate::read(text.as_bytes(), &ReadOptions::default()).unwrap();
        if let Err(difference) = bir::same(&by_one.module, &by_several.module) {
            panic!("{difference}");
        }
        TAKEN.get()
    }

    /// Documents of the kind that is read by several threads are, in either layout.
    #[test]
    fn helpers_help() {
        let tiles = bir::sample::Tiles { rows: 40, ..bir::sample::Tiles::default() };
        let module = bir::sample::matmul_softmax(&tiles);
        for style in [crate::Style::Compact, crate::Style::Indented] {
            let options = crate::WriteOptions { style, ..Default::default() };
            let taken = taken(&crate::to_string(&module, &options));
            assert!(taken > 20, "{taken} runs taken");
        }
    }
}
