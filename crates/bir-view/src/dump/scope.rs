//! Which instructions a dump shows.

use std::collections::HashMap;
use std::ops::Range;

use bir::Module;
use bir::enums::EngineType;
use bir::ids::{BlockId, InstId};

use crate::names::glob;

/// A choice of instructions. The default is all of them. What several parts choose must be in each of them.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only those of an engine.
    pub engine: Option<EngineType>,
    /// Only those of blocks with such a name; `*` and `?` stand for any characters and for one.
    pub block: Option<String>,
    /// Only some instructions and their neighbours in the block.
    pub around: Option<Around>,
}

/// Instructions and their neighbours.
#[derive(Clone, Debug)]
pub struct Around {
    /// The instructions.
    pub insts: Vec<InstId>,
    /// Neighbours on each side.
    pub neighbours: usize,
}

/// Ranges of indexes by block, ascending and apart.
pub(super) type Windows = HashMap<BlockId, Vec<Range<usize>>>;

impl Scope {
    pub(super) fn is_all(&self) -> bool {
        self.engine.is_none() && self.block.is_none() && self.around.is_none()
    }

    /// Whether gaps are marked. Between the instructions of one engine they would be everywhere.
    pub(super) fn says_skipped(&self) -> bool {
        self.around.is_some() && self.engine.is_none()
    }

    pub(super) fn windows(&self, module: &Module) -> Option<Windows> {
        let around = self.around.as_ref()?;
        let mut windows: Windows = HashMap::new();
        for inst in &around.insts {
            let block = module[*inst].block;
            let insts = &module[block].instructions;
            let Some(at) = insts.iter().position(|other| other == inst) else { continue };
            let end = at.saturating_add(around.neighbours).saturating_add(1).min(insts.len());
            windows.entry(block).or_default().push(at.saturating_sub(around.neighbours)..end);
        }
        for ranges in windows.values_mut() {
            ranges.sort_unstable_by_key(|range| range.start);
        }
        Some(windows)
    }

    pub(super) fn shows(
        &self,
        module: &Module,
        inst: InstId,
        block: BlockId,
        index: usize,
        windows: Option<&Windows>,
    ) -> bool {
        if self.engine.is_some_and(|engine| module[inst].engine != engine) {
            return false;
        }
        if let Some(pattern) = &self.block
            && !glob(pattern, module.str(module[block].name))
        {
            return false;
        }
        windows.is_none_or(|windows| {
            windows.get(&block).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&index)))
        })
    }
}
