//! Semaphores and clocks: what every engine knows to be complete, and the waits that an access still needs.
//!
//! Each semaphore counts the completions of one stream, so a count of each is a clock (spec: ordering 2). An engine
//! op adds 1 to the semaphore of its engine; the k-th DMA of a queue adds 16 to semaphore k mod 16 of the queue and is
//! issued only when the one before it on that semaphore is known complete (spec: ordering 5).

use std::rc::Rc;

/// Datapath engines, in the order in which semaphores are given out (spec: ordering 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Engine {
    Pool,
    Activation,
    Pe,
    Dve,
    Sp,
}

pub(super) const ENGINES: usize = 5;

impl Engine {
    pub(super) const ALL: [Engine; ENGINES] =
        [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dve, Engine::Sp];

    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Pool => "Pool",
            Engine::Activation => "Activation",
            Engine::Pe => "PE",
            Engine::Dve => "DVE",
            Engine::Sp => "SP",
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// DMA queues of the kernel and the semaphores of each.
pub(super) const QUEUES: usize = 5;
pub(super) const QUEUE_SEMAPHORES: usize = 16;
/// What a DMA completion adds to its semaphore.
pub(super) const DMA_STEP: u32 = 16;
/// Semaphores in use, and the first id: the ones below belong to the runtime (spec: ordering 1.4).
pub(super) const SEMAPHORES: usize = ENGINES + QUEUES * QUEUE_SEMAPHORES;
pub(super) const FIRST_SEMAPHORE: usize = 3;

/// Wire number of a semaphore of this module.
pub(super) fn semaphore_id(semaphore: usize) -> u64 {
    (FIRST_SEMAPHORE + semaphore) as u64
}

/// A count per semaphore.
#[derive(Clone)]
pub(super) struct Clock([u32; SEMAPHORES]);

impl Clock {
    pub(super) const ZERO: Clock = Clock([0; SEMAPHORES]);

    pub(super) fn get(&self, semaphore: usize) -> u32 {
        self.0[semaphore]
    }

    pub(super) fn set(&mut self, semaphore: usize, count: u32) {
        self.0[semaphore] = count;
    }

    pub(super) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Raises one count; the rest stays.
    fn raise(&mut self, semaphore: usize, count: u32) {
        self.0[semaphore] = self.0[semaphore].max(count);
    }

    fn at_least(&self, other: &Clock) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine >= theirs)
    }

    fn knows(&self, node: &Node) -> bool {
        self.0[node.semaphore] >= node.count
    }
}

/// Name of an instruction: its text is made when it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    Instruction(u32),
    /// A carrier of waits in front of an instruction.
    Carrier(u32, u8),
    /// A DMABlock of a trigger.
    DmaBlock(u32, u8),
    /// A part of the fence at the end of a block.
    Fence(u32, &'static str),
    /// A carrier of waits in front of a fence.
    EndWait(u32, u8),
}

/// A completion: the semaphore reaches the count when the instruction or DMA is done.
pub(super) struct Node {
    pub(super) semaphore: usize,
    pub(super) count: u32,
    pub(super) name: Name,
    /// Everything known complete once this is.
    pub(super) clock: Clock,
    /// Scheduled end, in cycles.
    pub(super) end: u64,
}

/// Kind of an ordered pair, as the later access sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hazard {
    Raw,
    War,
    Waw,
}

impl Hazard {
    /// The edge kind in `dependencies` (spec: bir-json 7.2).
    pub(super) fn edge(self) -> &'static str {
        match self {
            Hazard::Raw => "Flow",
            Hazard::War => "Anti",
            Hazard::Waw => "Output",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Hazard::Raw => "RAW",
            Hazard::War => "WAR",
            Hazard::Waw => "WAW",
        }
    }
}

/// What one instruction or DMABlock does to a cell.
#[derive(Clone, Copy)]
pub(super) struct CellAccess {
    pub(super) cell: u32,
    pub(super) read: bool,
    pub(super) write: bool,
}

#[derive(Clone)]
struct Earlier {
    node: Rc<Node>,
    read: bool,
    write: bool,
}

/// Accesses of a cell that later ones may still have to wait for. An access that a later conflicting one is known to
/// follow is dropped: waiting for the later one covers it. The counts of dropped ones are kept, because a wait that
/// is left out on purpose may uncover them.
#[derive(Clone)]
struct Cell {
    earlier: Vec<Earlier>,
    dropped_reads: Clock,
    dropped_writes: Clock,
}

/// All cells.
pub(super) struct Cells(Vec<Cell>);

/// A conflict of a new access with an earlier one.
pub(super) type Conflict = (Hazard, Rc<Node>);

impl Cells {
    pub(super) fn new(count: u32) -> Cells {
        let empty = Cell { earlier: Vec::new(), dropped_reads: Clock::ZERO, dropped_writes: Clock::ZERO };
        Cells(vec![empty; count as usize])
    }

    /// Forgets everything: a fence has ordered it.
    pub(super) fn clear(&mut self) {
        for cell in &mut self.0 {
            cell.earlier.clear();
            cell.dropped_reads = Clock::ZERO;
            cell.dropped_writes = Clock::ZERO;
        }
    }

    /// Adds the conflicts of an access to `conflicts`, each (kind, node) once.
    pub(super) fn conflicts(&self, accesses: &[CellAccess], conflicts: &mut Vec<Conflict>) {
        let from = conflicts.len();
        for access in accesses {
            for earlier in &self.0[access.cell as usize].earlier {
                let kinds = [
                    (earlier.write && access.read, Hazard::Raw),
                    (earlier.read && access.write, Hazard::War),
                    (earlier.write && access.write, Hazard::Waw),
                ];
                for (applies, kind) in kinds {
                    let seen = |(k, n): &Conflict| *k == kind && Rc::ptr_eq(n, &earlier.node);
                    if applies && !conflicts[from..].iter().any(seen) {
                        conflicts.push((kind, Rc::clone(&earlier.node)));
                    }
                }
            }
        }
    }

    /// Whether everything these accesses conflict with and that was dropped is complete at `start`.
    pub(super) fn dropped_known(&self, accesses: &[CellAccess], start: &Clock) -> bool {
        accesses.iter().all(|access| {
            let cell = &self.0[access.cell as usize];
            start.at_least(&cell.dropped_writes) && (!access.write || start.at_least(&cell.dropped_reads))
        })
    }

    /// Records the accesses of `node`, which started when `start` was complete.
    pub(super) fn record(&mut self, accesses: &[CellAccess], node: &Rc<Node>, start: &Clock) {
        for access in accesses {
            let cell = &mut self.0[access.cell as usize];
            let (reads, writes) = (&mut cell.dropped_reads, &mut cell.dropped_writes);
            cell.earlier.retain(|earlier| {
                let covered = (access.write || !earlier.write) && start.knows(&earlier.node);
                if covered && earlier.read {
                    reads.raise(earlier.node.semaphore, earlier.node.count);
                }
                if covered && earlier.write {
                    writes.raise(earlier.node.semaphore, earlier.node.count);
                }
                !covered
            });
            cell.earlier.push(Earlier { node: Rc::clone(node), read: access.read, write: access.write });
        }
    }
}

/// The fewest waits after which all of `needed` is known by one that knows `known`, one per semaphore.
pub(super) fn waits(known: &Clock, needed: impl IntoIterator<Item = Rc<Node>>) -> Vec<Rc<Node>> {
    let mut waits: Vec<Rc<Node>> = Vec::new();
    for node in needed {
        if known.knows(&node) {
            continue;
        }
        match waits.iter_mut().find(|w| w.semaphore == node.semaphore) {
            Some(wait) if wait.count < node.count => *wait = node,
            Some(_) => {}
            None => waits.push(node),
        }
    }
    let implied: Vec<bool> =
        waits.iter().map(|a| waits.iter().any(|b| !Rc::ptr_eq(a, b) && b.clock.knows(a))).collect();
    let mut implied = implied.into_iter();
    waits.retain(|_| !implied.next().unwrap_or(false));
    waits
}

/// `known` after `waits`.
pub(super) fn after(known: &Clock, waits: &[Rc<Node>]) -> Clock {
    let mut clock = known.clone();
    for wait in waits {
        clock.join(&wait.clock);
    }
    clock
}

/// The one conflict that is left open when a wait is left out, if there is exactly one.
pub(super) fn only_open<'c>(start: &Clock, conflicts: &'c [Conflict]) -> Option<&'c Conflict> {
    let mut open = conflicts.iter().filter(|(_, node)| !start.knows(node));
    let first = open.next()?;
    open.next().is_none().then_some(first)
}
