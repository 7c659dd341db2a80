//! What the templates of the reader and those of the writer have in common.

use bir::enums::{EngineType, NamedObjectOrigin};
use bir::{Instruction, Op, Sym};

use crate::generated::HeaderKey;

/// The part of an instruction that many share.
pub(crate) struct Common {
    op: Op,
    engine: EngineType,
    engine_id: u32,
    origin: NamedObjectOrigin,
    optin_passes: Option<Box<[Sym]>>,
}

impl Common {
    pub(crate) fn of(inst: &Instruction) -> Common {
        Common {
            op: inst.op.clone(),
            engine: inst.engine,
            engine_id: inst.engine_id,
            origin: inst.origin,
            optin_passes: inst.optin_passes.clone(),
        }
    }

    /// Gives an instruction this part.
    #[inline]
    pub(crate) fn copy_to(&self, inst: &mut Instruction) {
        inst.op = self.op.clone();
        inst.engine = self.engine;
        inst.engine_id = self.engine_id;
        inst.origin = self.origin;
        inst.optin_passes.clone_from(&self.optin_passes);
    }

    /// Whether an instruction has this part, so that it is written alike.
    #[inline]
    pub(crate) fn is_of(&self, inst: &Instruction) -> bool {
        (self.engine, self.engine_id, self.origin) == (inst.engine, inst.engine_id, inst.origin)
            && self.optin_passes == inst.optin_passes
            && self.op.is_same_beside_code(&inst.op)
    }
}

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
