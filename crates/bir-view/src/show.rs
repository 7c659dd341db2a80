//! Everything about single objects: instructions, tensors, queues, semaphores, registers.
//!
//! [`show`] gathers it as data, one pass over the module for all subjects; [`Shown::text`] prints it.

mod inst;
mod storage;
mod sync;
mod text;

use bir::Module;
use serde::Serialize;

pub use inst::{
    Because, Dependency, FieldView, InstView, LoopView, OperandView, Source, TouchView, TransferView,
    UpdateView, WaitView,
};
pub use storage::{LocationView, RegisterUse, RegisterView, TensorUse, TensorView};
pub use sync::{DmaBlockView, EventView, InstanceView, QueueView, SemaphoreBlock, SemaphoreView};

use crate::find::Subject;
use crate::program::Program;

/// How much to gather.
#[derive(Clone, Copy, Debug)]
pub struct ShowOptions {
    /// Accesses to the same bytes on each side of an operand, and entries of every list; 0 for all.
    pub limit: usize,
}

impl Default for ShowOptions {
    fn default() -> Self {
        ShowOptions { limit: 4 }
    }
}

impl ShowOptions {
    fn most(self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }
}

/// What is known of a subject.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shown {
    /// An instruction.
    Instruction(Box<InstView>),
    /// A tensor.
    Tensor(Box<TensorView>),
    /// A DMA queue.
    Queue(Box<QueueView>),
    /// A register.
    Register(Box<RegisterView>),
    /// A semaphore or an event.
    Semaphore(Box<SemaphoreView>),
}

/// A list that may be cut off.
#[derive(Clone, Debug, Serialize)]
pub struct Cut<T> {
    /// The entries that are kept.
    pub items: Vec<T>,
    /// How many there are.
    pub total: usize,
}

impl<T> Default for Cut<T> {
    fn default() -> Self {
        Cut { items: Vec::new(), total: 0 }
    }
}

impl<T> Cut<T> {
    /// Adds an entry, if there is room for it.
    fn push(&mut self, most: usize, item: impl FnOnce() -> T) {
        self.total += 1;
        if self.items.len() < most {
            self.items.push(item());
        }
    }
}

/// Gathers what is known of some subjects, in their order.
///
/// ```
/// use bir_view::{find::find, show::{show, Shown}};
/// let module = bir::sample::matmul_softmax(&Default::default());
/// let shown = show(&module, &find(&module, "mm0_0_0"), &Default::default());
/// let Shown::Instruction(view) = &shown[0] else { panic!() };
/// assert_eq!(view.source.as_ref().unwrap().line, Some(9));
/// ```
pub fn show(module: &Module, subjects: &[Subject], options: &ShowOptions) -> Vec<Shown> {
    let program = Program::of(module);
    let insts: Vec<_> = subjects
        .iter()
        .filter_map(|subject| match subject {
            Subject::Inst(inst) => Some(*inst),
            _ => None,
        })
        .collect();
    let mut views = inst::views(&program, &insts, options).into_iter();
    let show = |subject: &Subject| match *subject {
        Subject::Inst(_) => Shown::Instruction(Box::new(views.next().expect("one for each instruction"))),
        Subject::Tensor(set) => Shown::Tensor(Box::new(storage::tensor(&program, set, options))),
        Subject::Register(register) => {
            Shown::Register(Box::new(storage::register(&program, register, options)))
        }
        Subject::Queue(queue) => Shown::Queue(Box::new(sync::queue(&program, queue, options))),
        Subject::Semaphore(kind, id) => {
            Shown::Semaphore(Box::new(sync::semaphore(&program, (kind, id), options)))
        }
    };
    subjects.iter().map(show).collect()
}
