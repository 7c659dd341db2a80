//! Tests of the rules.
//!
//! A rule is tested by a [`Case`]: how to build a module that breaks it, and its repaired twin. The cases of a family
//! stand in a module of their own, in a table called `CASES`; `rules` runs all of them and says which rules have none.

mod field;
mod rules;

mod activation;
mod collective;
mod cores;
mod dma;
mod engine;
mod examples;
mod faults;
mod flow;
mod generated;
mod gpsimd;
mod graph;
mod indirect;
mod kernel;
mod lifetime;
mod matmul;
mod module;
mod mutations;
mod mx;
mod once;
mod pattern;
mod search;
mod shared;
mod storage;
mod vector;

use bir::Module;
use bir::builder::Builder;
use bir::enums::{ArchLevel, EngineType, InstructionType};

/// A rule broken, and not.
pub(crate) struct Case {
    /// The rule.
    pub(crate) rule: &'static str,
    /// Architecture of the modules.
    pub(crate) arch: ArchLevel,
    /// Fills the main function of a module that breaks the rule; others may be broken along.
    pub(crate) bad: fn(&mut Builder<'_>),
    /// Fills the main function of a module in which no rule is broken.
    pub(crate) good: fn(&mut Builder<'_>),
}

impl Case {
    pub(crate) fn module(&self, fill: fn(&mut Builder<'_>)) -> Module {
        let mut module = Module::new(self.arch);
        let mut b = Builder::new(&mut module, "main");
        let entry = b.block();
        fill(&mut b);
        // A case that is about storage has no instruction of its own, and no block may be empty.
        if module[entry].instructions.is_empty() {
            Builder::at(&mut module, entry).plain_inst("nop", EngineType::SP, InstructionType::NoOp);
        }
        module
    }
}
