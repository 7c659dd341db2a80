//! From KLR, the kernel IR, to BIR: each statement of a kernel becomes an instruction, or two (spec: klr 7, 8).
//!
//! 60 of the 76 operators have a BIR form. How their fields become keys and operands is known from traces of the
//! 2.24 backend for most of them; where it is not, this crate chooses, and [`mapping`] says so. What is lost on the
//! way, because the backend does not read it, is a [`Note`].
//!
//! ```
//! use klr_lower::{Options, lower};
//!
//! let arena = klr::Arena::new();
//! let file = klr::sample::softmax(&arena);
//! let lowered = lower(&file, &Options::default())?;
//! let names: Vec<&str> = lowered.module.insts().map(|id| lowered.module.str(lowered.module[id].name)).collect();
//! assert_eq!(names[1..4], ["load_x", "load_w", "matmul"]);
//! # Ok::<(), klr_lower::Error>(())
//! ```

mod draft;
mod error;
mod flow;
mod generated;
mod lowerer;
pub mod mapping;
mod operand;
mod ops;
mod tensors;

pub use error::{Error, Problem, ProblemKind, Statement};

use std::fmt;

use bir::Module;
use bir::enums::ArchLevel;
use klr::ir::{Block, Edges, SharedConstantFile, TensorName};
use klr::{Contents, File};

use lowerer::Lowerer;

/// How to lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The architecture that the module is for.
    pub target: ArchLevel,
    /// The core whose body is lowered. Needed when the kernel has several.
    pub core: Option<usize>,
    /// Look at all statements, not just up to the first that cannot be lowered.
    pub keep_going: bool,
}

impl Default for Options {
    /// For gen3, the only body, up to the first problem.
    fn default() -> Self {
        Options { target: ArchLevel::Gen3, core: None, keep_going: false }
    }
}

/// A lowered kernel.
#[derive(Debug)]
pub struct Lowered {
    /// The module, with one function: the kernel.
    pub module: Module,
    /// What a reader of the module should know, each thing once.
    pub notes: Vec<Note>,
}

/// Something that the module does not say, or says by choice of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its kind.
    pub kind: NoteKind,
    /// What it is.
    pub message: String,
    /// Statements that it holds for.
    pub count: usize,
    /// The first of them, as path from the file.
    pub first: String,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// A part of the mapping of an operator is the choice of this crate, see [`mapping`].
    Choice,
    /// Something in the kernel has no place in the module.
    Loss,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in {}", self.message, self.first)?;
        match self.count {
            0 | 1 => Ok(()),
            count => write!(f, " and {} more", count - 1),
        }
    }
}

/// A kernel of either kind.
#[derive(Clone, Copy)]
struct Source<'a> {
    name: &'a str,
    inputs: &'a [TensorName<'a>],
    outputs: &'a [TensorName<'a>],
    body: &'a [Block<'a>],
    /// All bodies, for the names that edges may have.
    bodies: &'a [&'a [Block<'a>]],
    shared_constants: &'a [SharedConstantFile<'a>],
    shared_buffers: &'a [TensorName<'a>],
    edges: &'a [Edges<'a>],
    core: Option<usize>,
    path: &'a str,
}

/// Lowers the kernel of a file.
///
/// # Errors
/// When the file holds no Core kernel, when the body is not chosen, and where a part of it has no BIR form.
pub fn lower(file: &File<'_>, options: &Options) -> Result<Lowered, Error> {
    let only = |core: Option<usize>, cores: usize| match core {
        Some(core) if core >= cores => Err(Error::NoSuchCore { core, cores }),
        None if cores > 1 => Err(Error::CoreNeeded { cores }),
        None if cores == 0 => Err(Error::NoSuchCore { core: 0, cores }),
        core => Ok(core.unwrap_or(0)),
    };
    match &file.contents {
        Contents::Kernel(kernel) | Contents::Mislabelled { kernel, .. } => {
            only(options.core, 1)?;
            let path = format!("contents.{}.kernel.body", file.contents.name());
            let source = Source {
                name: kernel.name,
                inputs: kernel.inputs,
                outputs: kernel.outputs,
                body: kernel.body,
                bodies: &[],
                shared_constants: &[],
                shared_buffers: &[],
                edges: &[],
                core: None,
                path: &path,
            };
            Lowerer::new(&source, options).run()
        }
        Contents::Lnc(kernel) => {
            let core = only(options.core, kernel.bodies.len())?;
            let path = format!("contents.lnc.kernel.bodies[{core}]");
            let source = Source {
                name: kernel.name,
                inputs: kernel.inputs,
                outputs: kernel.outputs,
                body: kernel.bodies[core],
                bodies: kernel.bodies,
                shared_constants: kernel.shared_constants,
                shared_buffers: kernel.shared_buffers,
                edges: kernel.edges,
                core: (kernel.bodies.len() > 1).then_some(core),
                path: &path,
            };
            Lowerer::new(&source, options).run()
        }
        other => Err(Error::NotAKernel { contents: other.name() }),
    }
}
