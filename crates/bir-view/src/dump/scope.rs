//! Which instructions a dump shows.

use std::collections::{HashMap, HashSet};
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
        let wanted: HashSet<InstId> = around.insts.iter().copied().collect();
        let blocks: HashSet<BlockId> = around.insts.iter().map(|inst| module[*inst].block).collect();
        let mut windows: Windows = HashMap::new();
        for block in blocks {
            let insts = &module[block].instructions;
            let ranges = windows.entry(block).or_default();
            for (at, _) in insts.iter().enumerate().filter(|(_, inst)| wanted.contains(*inst)) {
                let start = at.saturating_sub(around.neighbours);
                let end = at.saturating_add(around.neighbours).saturating_add(1).min(insts.len());
                match ranges.last_mut() {
                    Some(last) if start <= last.end => last.end = end,
                    _ => ranges.push(start..end),
                }
            }
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
            windows.get(&block).is_some_and(|ranges| {
                let next = ranges.partition_point(|range| range.end <= index);
                ranges.get(next).is_some_and(|range| range.contains(&index))
            })
        })
    }
}
