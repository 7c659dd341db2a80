//! What the templates of the reader and those of the writer have in common.

use crate::generated::HeaderKey;

/// What one template costs, in instructions that must have used one before.
const PRICE: u32 = 16;

/// Credit is saved up to here; there is as much at the beginning.
const MOST: u32 = 1 << 12;

/// Templates are worth making only while they are used: where every instruction is new, making them stops.
pub(crate) struct Credit(u32);

impl Default for Credit {
    fn default() -> Self {
        Credit(MOST)
    }
}

impl Credit {
    /// A template was used.
    #[inline]
    pub(crate) fn earn(&mut self) {
        self.0 = MOST.min(self.0 + 1);
    }

    /// No template fitted: whether to make one.
    pub(crate) fn spend(&mut self) -> bool {
        match self.0.checked_sub(PRICE) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => {
                self.0 += 1;
                false
            }
        }
    }
}

impl HeaderKey {
    /// Whether the value is the same in many instructions. The others are read and written anew in each.
    pub(crate) fn is_common(self) -> bool {
        use HeaderKey::{Engine, EngineId, Opcode, OptinPasses, Origin};
        matches!(self, Engine | EngineId | Opcode | OptinPasses | Origin)
    }
}
