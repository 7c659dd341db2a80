//! The text dump: one line for each instruction, indented by depth. Write-only. spec: dumper
//!
//! [`dump`] streams: lines go to the sink as they are made. The text is modelled on what is known of the vendor's
//! dump and is not byte-compatible with it; `docs/dump.md` has the grammar.

mod line;
mod operand;
mod scope;

use std::io;

use bir::enums::{EngineType, InstructionType};
use bir::ids::{BlockId, FuncId, InstId};
use bir::{Holder, Module, Op, OpenEnum};
use serde::Serialize;

use line::Lines;
pub use scope::{Around, Scope};

#[allow(unused_imports)]
pub(crate) use operand::operand;

/// What to print beside what every dump has, and of which instructions.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// Dependencies: `deps`, `loop_deps`, `unroll_deps`.
    pub edges: bool,
    /// Debug records: `debug`.
    pub debug: bool,
    /// Names of the loops around: `loopnest`.
    pub loops: bool,
    /// Predicates: `predicates`.
    pub predicates: bool,
    /// No quotes around names of enums.
    pub plain: bool,
    /// The queues, after the functions. The vendor's dump does not visit them.
    pub queues: bool,
    /// Which instructions.
    pub scope: Scope,
    /// One JSON object a line instead of indented text.
    pub json: bool,
}

/// What a dump was about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dumped {
    /// Instruction lines that were written, those of loops included.
    pub instructions: u64,
    /// Opcodes that the table does not have, with the number of their instructions, by name.
    pub unknown: Vec<(String, u64)>,
}

/// Why a dump ended early.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The sink failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An opcode that is a number beyond the table. spec: dumper 7
    #[error(
        "error 157: Unknown Instruction type encountered! (opcode {opcode} of {function} / {block}#{index})"
    )]
    UnknownOpcode {
        /// Name of the function or queue.
        function: String,
        /// Name of the block.
        block: String,
        /// Index in the block.
        index: usize,
        /// The number.
        opcode: u64,
    },
}

/// A line of a dump in JSON.
#[derive(Serialize)]
struct Line<'a> {
    line: LineKind,
    depth: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    name: &'a str,
    text: &'a str,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum LineKind {
    Module,
    Function,
    Queue,
    Block,
    Instruction,
    /// How many instructions of a block are left out here.
    Skipped,
    End,
}

/// Writes the dump of a module.
///
/// `main` is printed first, inside the module's bracket; the bracket closes behind it and the other functions follow.
/// spec: dumper 2
///
/// # Errors
/// When the sink fails, and for an opcode that is a number beyond the table; what was written before stays.
///
/// ```
/// let mut text = Vec::new();
/// bir_view::dump::dump(&bir::sample::pre_lowering(), &mut text, &Default::default()).unwrap();
/// let text = String::from_utf8(text).unwrap();
/// assert!(text.starts_with("module module: arch=gen3, version=2\n  function main: function"));
/// ```
pub fn dump(module: &Module, sink: &mut dyn io::Write, options: &DumpOptions) -> Result<Dumped, DumpError> {
    let mut dumper = Dumper {
        module,
        options,
        windows: options.scope.windows(module),
        lines: Lines::new(module, sink, options),
        pending: Vec::new(),
        function: "",
        dumped: Dumped::default(),
        unknown: Default::default(),
    };
    let ended = dumper.module();
    let Dumper { lines, mut dumped, unknown, .. } = dumper;
    let finished = lines.finish();
    ended?;
    finished?;
    dumped.unknown =
        unknown.into_iter().map(|(op, count)| (op.text(&module.names).to_owned(), count)).collect();
    dumped.unknown.sort();
    Ok(dumped)
}

/// The text of a dump, for small modules.
///
/// # Errors
/// As [`dump`].
pub fn to_string(module: &Module, options: &DumpOptions) -> Result<String, DumpError> {
    let mut text = Vec::new();
    dump(module, &mut text, options)?;
    Ok(String::from_utf8(text).expect("names are UTF-8"))
}

struct Dumper<'a, 'w> {
    module: &'a Module,
    options: &'a DumpOptions,
    /// Shown instructions of each block; `None` for all of every block.
    windows: Option<scope::Windows>,
    lines: Lines<'a, 'w>,
    /// Openings that are written when something inside is.
    pending: Vec<Opening>,
    /// Name of the function or queue.
    function: &'a str,
    dumped: Dumped,
    unknown: std::collections::HashMap<InstructionType, u64>,
}

#[derive(Clone, Copy)]
enum Opening {
    Holder(Holder),
    Block(BlockId),
    Inst(InstId, BlockId, usize),
}

/// A list of blocks on the way through nested bodies.
struct Level<'a> {
    owner: Option<InstId>,
    blocks: std::borrow::Cow<'a, [BlockId]>,
    block: usize,
    inst: usize,
    /// Instructions of the block before the next one that are not shown, when that is said.
    skipped: usize,
}

impl<'a> Dumper<'a, '_> {
    fn module(&mut self) -> Result<(), DumpError> {
        let module = self.module;
        self.lines.open_module()?;
        let name = module.names.get("main");
        let main = module.root.functions.iter().copied().find(|f| Some(module[*f].name) == name);
        if let Some(main) = main {
            self.function(main)?;
        }
        self.lines.close_module()?;
        for function in module.functions().filter(|f| Some(*f) != main) {
            self.function(function)?;
        }
        if self.options.queues {
            for queue in module.queues() {
                self.holder(Holder::Queue(queue), module.str(module[queue].name))?;
            }
        }
        Ok(())
    }

    fn function(&mut self, id: FuncId) -> Result<(), DumpError> {
        self.holder(Holder::Function(id), self.module.str(self.module[id].name))
    }

    fn holder(&mut self, holder: Holder, name: &'a str) -> Result<(), DumpError> {
        self.function = name;
        self.open(Opening::Holder(holder))?;
        self.blocks(holder)?;
        let kind = if matches!(holder, Holder::Queue(_)) { "queue" } else { "function" };
        self.close(kind, name)
    }

    fn open(&mut self, opening: Opening) -> io::Result<()> {
        self.pending.push(opening);
        if self.options.scope.is_all() { self.flush_pending() } else { Ok(()) }
    }

    fn flush_pending(&mut self) -> io::Result<()> {
        for opening in std::mem::take(&mut self.pending) {
            match opening {
                Opening::Holder(holder) => self.lines.open_holder(holder)?,
                Opening::Block(block) => self.lines.open_block(block, self.function)?,
                Opening::Inst(inst, block, index) => {
                    self.dumped.instructions += 1;
                    self.lines.instruction(inst, block, index, self.function, true)?;
                }
            }
        }
        Ok(())
    }

    /// Closes what was opened last, if it was written.
    fn close(&mut self, kind: &str, name: &str) -> Result<(), DumpError> {
        if self.pending.pop().is_none() {
            self.lines.close(kind, name)?;
        }
        Ok(())
    }

    fn level(&self, holder: Holder) -> Level<'a> {
        let module = self.module;
        let blocks = module.blocks_of(holder);
        let main = module.names.get("main");
        // As documents have them: a block called main comes first. spec: bir-json 2.3
        let reorder = blocks.iter().skip(1).any(|block| Some(module[*block].name) == main);
        let blocks = match reorder {
            true => module.main_first(blocks, |module, block| module[block].name).into(),
            false => blocks.into(),
        };
        let owner = match holder {
            Holder::Inst(inst) => Some(inst),
            _ => None,
        };
        Level { owner, blocks, block: 0, inst: 0, skipped: 0 }
    }

    /// The blocks of a function, with nested bodies to any depth.
    fn blocks(&mut self, holder: Holder) -> Result<(), DumpError> {
        let module = self.module;
        let mut stack = vec![self.level(holder)];
        while let Some(level) = stack.last_mut() {
            let Some(&block) = level.blocks.get(level.block) else {
                let owner = level.owner;
                stack.pop();
                if let Some(owner) = owner {
                    self.close("", module.str(module[owner].name))?;
                }
                continue;
            };
            let insts = &module[block].instructions;
            if level.inst == 0 {
                level.skipped = 0;
                self.open(Opening::Block(block))?;
            }
            let Some(&inst) = insts.get(level.inst) else {
                self.skipped(block, std::mem::take(&mut level.skipped))?;
                (level.block, level.inst) = (level.block + 1, 0);
                self.close("block", module.str(module[block].name))?;
                continue;
            };
            let index = level.inst;
            level.inst += 1;
            let shown = self.options.scope.shows(module, inst, block, index, self.windows.as_ref());
            let has_body = !module[inst].body().is_empty() || is_loop(&module[inst].op);
            if shown {
                self.flush_pending()?;
                let skipped = std::mem::take(&mut level.skipped);
                self.skipped(block, skipped)?;
            } else {
                level.skipped += 1;
            }
            if has_body {
                self.pending.push(Opening::Inst(inst, block, index));
                if shown {
                    self.flush_pending()?;
                }
                let inner = self.level(Holder::Inst(inst));
                stack.push(inner);
            } else if shown {
                self.dumped.instructions += 1;
                self.lines.instruction(inst, block, index, self.function, false)?;
            }
            if shown && let Op::Other(op) = module[inst].op {
                self.unknown_op(op, block, index)?;
            }
        }
        Ok(())
    }

    fn unknown_op(&mut self, op: bir::Sym, block: BlockId, index: usize) -> Result<(), DumpError> {
        if let Some(opcode) = line::number_beyond_table(self.module.str(op)) {
            let (function, block) =
                (self.function.to_owned(), self.module.str(self.module[block].name).to_owned());
            return Err(DumpError::UnknownOpcode { function, block, index, opcode });
        }
        *self.unknown.entry(InstructionType::other(op)).or_default() += 1;
        Ok(())
    }

    fn skipped(&mut self, block: BlockId, count: usize) -> io::Result<()> {
        if count > 0 && self.options.scope.says_skipped() && self.pending.is_empty() {
            self.lines.skipped(block, count, self.function)?;
        }
        Ok(())
    }
}

fn is_loop(op: &Op) -> bool {
    matches!(op, Op::Loop(_) | Op::DynamicForLoop(_) | Op::DoWhile(_))
}

impl Scope {
    /// Only instructions of an engine.
    pub fn of_engine(engine: EngineType) -> Scope {
        Scope { engine: Some(engine), ..Scope::default() }
    }
}
