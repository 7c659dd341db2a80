//! Tests of the rules.
//!
//! A rule is tested by a [`Case`]: how to build a module that breaks it, and its repaired twin. The cases of a family
//! stand in a module of their own, in a table called `CASES`; `rules` runs all of them and says which rules have none.

mod field;
mod rules;

mod engine;

use bir::Module;
use bir::builder::Builder;
use bir::enums::ArchLevel;

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
        fill(&mut Builder::new(&mut module, "main"));
        module
    }
}
