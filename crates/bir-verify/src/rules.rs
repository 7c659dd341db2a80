//! The checks. A check is one function, for one rule or a few that belong together, and one row in the table of its
//! module. What each module owns:
//!
//! | module | families |
//! |---|---|
//! | `storage` | ALLOC, MEM-04 to MEM-07, MOD-09, ARCH-04 |
//! | `lifetime` | ALLOC-05, over a function |
//! | `pattern` | AP-01, AP-04 to AP-09, PART, operand kinds and counts |
//! | `operand` | OPR, MEM-01, MEM-02, AP-02, AP-03 |
//! | `engine` | ENG, ARCH |
//! | `graph` | MOD-04 to MOD-07, DEP, DOC-02 |
//! | `flow` | CF, but for the next |
//! | `blocks` | CF-06, CF-18 to CF-21 |
//! | `module` | MOD-03, MOD-08, MOD-10 to MOD-13 |
//! | `register` | REG |
//! | `sync` | SYNC |
//! | `dma` | DMA, IND-02, IND-03, MX-24 |
//! | `dma_transpose` | DMA-06, DMA-13, DMA-14 |
//! | `cores` | LNC, CB |
//! | `matmul`, `tile`, `psum` | MM, PSUM |
//! | `mx` | MX, QMX, FP8 |
//! | `activation` | ACT |
//! | `vector`, `search` | DVE |
//! | `gpsimd` | POOL, SB2SB, RNG, PART-09 |
//! | `indirect` | IND-01, IND-04 to IND-07 |
//! | `collective` | COL |
//! | `kernel` | KRN, MEM-03 |
//! | `in_place` | WIP |
//!
//! WIRE, and the L2 rows of ENG, MM, DVE and REG, are about encoded words: the word checker has them.

mod activation;
mod blocks;
mod collective;
mod cores;
mod dma;
mod dma_transpose;
mod engine;
mod flow;
mod gpsimd;
mod graph;
mod in_place;
mod indirect;
mod kernel;
mod lifetime;
mod matmul;
mod measure;
mod module;
mod mx;
mod operand;
mod pattern;
mod psum;
mod register;
mod search;
mod storage;
mod sync;
mod tile;
mod vector;

use bir::Module;
use bir::diag::Diagnostic;
use bir::enums::InstructionType;
use bir::ids::FuncId;

use crate::context::Cx;
use crate::findings::Findings;
use crate::rule::{OpSet, RuleId};
use crate::survey::Seen;
use crate::view::{Inst, Operand, Site, Unit};

pub(crate) use dma::has_index;
pub(crate) use psum::Groups;
pub(crate) use storage::Rect;

/// A row of the table of checks.
pub(crate) struct Check {
    /// The rules that it reports.
    pub(crate) rules: &'static [RuleId],
    /// The ops that it is called for; `None`: those of its rules.
    pub(crate) ops: Option<&'static [InstructionType]>,
    /// The units for whose ops it is called; `None`: all.
    pub(crate) units: Option<&'static [Unit]>,
    /// What an instruction must have for it to be called.
    pub(crate) needs: Needs,
    /// Whether it may have something to say of an op, or of unknown ones, in a module; `None`: it may.
    pub(crate) when: Option<When>,
    pub(crate) run: Run,
}

/// What a check of instructions looks at: it has nothing to say about one without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// Operands. Checks of operands are not called without them anyway.
    Operands,
    /// Waits or updates.
    Sync,
    /// Dependencies that are not of the plain kind, see [`Inst::has_odd_edges`].
    OddEdges,
}

/// Asked once for each op of a module, `None` for those that are not known.
pub(crate) type When = fn(&Cx<'_>, Option<InstructionType>) -> bool;

/// What a check is called with.
pub(crate) enum Run {
    /// Once.
    Module(fn(&Cx<'_>, &mut Findings<'_>)),
    /// For each function.
    Function(fn(&Cx<'_>, FuncId, &mut Findings<'_>)),
    /// For each block: of functions, of bodies, of queues.
    Block(fn(&Cx<'_>, &Seen<'_>, &mut Findings<'_>)),
    /// For each instruction of the ops.
    Inst(fn(&Cx<'_>, &Inst<'_>, &mut Findings<'_>)),
    /// For each operand of instructions of the ops; of equal ones in such a place, perhaps for one only when it says
    /// nothing.
    Operand(fn(&Cx<'_>, &Site, &Operand<'_>, &mut Findings<'_>)),
    /// Once for the modules of several cores; findings say their core.
    Cores(fn(&[&Module], &mut Vec<(RuleId, Diagnostic)>)),
}

impl Check {
    pub(crate) const fn module(rules: &'static [RuleId], run: fn(&Cx<'_>, &mut Findings<'_>)) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Module(run) }
    }

    pub(crate) const fn function(
        rules: &'static [RuleId],
        run: fn(&Cx<'_>, FuncId, &mut Findings<'_>),
    ) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Function(run) }
    }

    pub(crate) const fn block(
        rules: &'static [RuleId],
        run: fn(&Cx<'_>, &Seen<'_>, &mut Findings<'_>),
    ) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Block(run) }
    }

    pub(crate) const fn inst(
        rules: &'static [RuleId],
        run: fn(&Cx<'_>, &Inst<'_>, &mut Findings<'_>),
    ) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Inst(run) }
    }

    pub(crate) const fn operand(
        rules: &'static [RuleId],
        run: fn(&Cx<'_>, &Site, &Operand<'_>, &mut Findings<'_>),
    ) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Operand(run) }
    }

    pub(crate) const fn cores(
        rules: &'static [RuleId],
        run: fn(&[&Module], &mut Vec<(RuleId, Diagnostic)>),
    ) -> Check {
        Check { rules, ops: None, units: None, needs: Needs::Nothing, when: None, run: Run::Cores(run) }
    }

    /// The same for other ops than those of its rules.
    pub(crate) const fn for_ops(self, ops: &'static [InstructionType]) -> Check {
        Check { ops: Some(ops), ..self }
    }

    /// The same, for ops of some units only.
    pub(crate) const fn on(self, units: &'static [Unit]) -> Check {
        Check { units: Some(units), ..self }
    }

    /// The same, for instructions that have what it looks at.
    pub(crate) const fn needs(self, needs: Needs) -> Check {
        Check { needs, ..self }
    }

    /// The same, where that may have something to say.
    pub(crate) const fn when(self, when: When) -> Check {
        Check { when: Some(when), ..self }
    }

    /// Whether it is called for instructions of an op.
    pub(crate) fn concerns(&self, op: InstructionType) -> bool {
        if self.units.is_some_and(|units| !units.contains(&Unit::of(op))) {
            return false;
        }
        if let Some(ops) = self.ops {
            return ops.contains(&op);
        }
        self.rules.iter().any(|rule| match rule.info().ops {
            OpSet::Of(ops) => ops.contains(&op),
            OpSet::Any | OpSet::InPlace | OpSet::Indirect => true,
            OpSet::Module | OpSet::Cores => false,
        })
    }
}

/// The tables of all modules.
const TABLES: &[&[Check]] = &[
    module::CHECKS,
    storage::CHECKS,
    lifetime::CHECKS,
    graph::CHECKS,
    flow::CHECKS,
    blocks::CHECKS,
    engine::CHECKS,
    operand::CHECKS,
    pattern::CHECKS,
    register::CHECKS,
    sync::CHECKS,
    dma::CHECKS,
    dma_transpose::CHECKS,
    matmul::CHECKS,
    tile::CHECKS,
    psum::CHECKS,
    mx::CHECKS,
    activation::CHECKS,
    vector::CHECKS,
    search::CHECKS,
    gpsimd::CHECKS,
    indirect::CHECKS,
    collective::CHECKS,
    kernel::CHECKS,
    in_place::CHECKS,
    cores::CHECKS,
];

/// Every check, in the order in which findings about one place come.
pub(crate) fn checks() -> impl Iterator<Item = &'static Check> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// Rules that are reported by something other than a check: what is odd about a document.
const OF_DOCUMENTS: &[RuleId] = &[crate::ids::DOC_01];

/// Whether anything checks a rule. What nothing checks is listed as unchecked.
pub fn implemented(rule: RuleId) -> bool {
    OF_DOCUMENTS.contains(&rule) || checks().any(|check| check.rules.contains(&rule))
}

#[cfg(test)]
mod tests {
    use super::{Needs, Run, checks};

    /// What says nothing about an operand is kept for all that stand in such a place, so whether it is asked may not
    /// depend on anything else.
    #[test]
    fn what_is_asked_once_depends_on_operands() {
        for check in checks().filter(|check| matches!(check.run, Run::Operand(_))) {
            assert!(matches!(check.needs, Needs::Nothing | Needs::Operands), "{:?}", check.rules);
        }
    }
}
