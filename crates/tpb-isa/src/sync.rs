//! The wait and the update of a word (spec: isa-control-dma.md 1.2 to 1.4).

use crate::generated::enums::{UpdateMode, WaitMode};
use crate::{Preamble, Sem};

/// What a word waits for before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How semaphore or event and value are compared.
    pub mode: WaitMode,
    /// The semaphore or event.
    pub id: u32,
    /// The value compared with, or the register that holds it; without meaning for events.
    pub value: u32,
}

/// What a word does to a semaphore or event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// What is done, and when.
    pub mode: UpdateMode,
    /// The semaphore or event.
    pub id: u32,
    /// The operand, or the register that holds it; without meaning for events, increment and decrement.
    pub value: u32,
}

/// A wait or an update that a word cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// Ids are one byte.
    #[error("semaphore {0} does not exist: a core has 256, 0 to 255")]
    Id(u32),
    /// Wait and update share one value.
    #[error(
        "wait for {wait} and update by {update} do not fit one word: one 32-bit value serves both (spec: isa-control-dma.md 1.4)"
    )]
    Values {
        /// Value of the wait.
        wait: u32,
        /// Value of the update.
        update: u32,
    },
    /// The word has no preamble.
    #[error("an extension word carries neither wait nor update")]
    NoPreamble,
    /// The second wait and the separate update value exist in EVENT_SEMAPHORE only.
    #[error("only EVENT_SEMAPHORE has a second wait")]
    NoSecondWait,
}

impl Wait {
    /// Whether the mode looks at the value.
    pub const fn uses_value(self) -> bool {
        wait_uses_value(self.mode)
    }
}

impl Update {
    /// Whether the mode has an operand. Increment and decrement have none: they count by 1.
    pub const fn uses_value(self) -> bool {
        update_uses_value(self.mode)
    }
}

/// Modes that compare a semaphore have a value.
pub(crate) const fn wait_uses_value(mode: WaitMode) -> bool {
    matches!(mode.0 & 0x7F, 1..=5)
}

/// Modes that add, subtract or write have an operand.
pub(crate) const fn update_uses_value(mode: UpdateMode) -> bool {
    matches!(mode.0 & 0x6F, 5 | 7 | 9)
}

/// An id as its byte.
pub(crate) fn id(id: u32) -> Result<Sem, SyncError> {
    u8::try_from(id).map(Sem).map_err(|_| SyncError::Id(id))
}

impl Preamble {
    /// Writes a wait and an update into the preamble; a missing one is written as none.
    ///
    /// # Errors
    /// When an id does not exist, or both need the value and differ in it.
    pub fn set_sync(&mut self, wait: Option<Wait>, update: Option<Update>) -> Result<(), SyncError> {
        let wait_value = wait.filter(|wait| wait.uses_value()).map(|wait| wait.value);
        let update_value = update.filter(|update| update.uses_value()).map(|update| update.value);
        if let (Some(wait), Some(update)) = (wait_value, update_value)
            && wait != update
        {
            return Err(SyncError::Values { wait, update });
        }
        self.wait_mode = wait.map_or(WaitMode::NONE, |wait| wait.mode);
        self.wait_idx = wait.map_or(Ok(Sem(0)), |wait| id(wait.id))?;
        self.update_mode = update.map_or(UpdateMode::NONE, |update| update.mode);
        self.update_idx = update.map_or(Ok(Sem(0)), |update| id(update.id))?;
        self.semaphore_value = wait_value.or(update_value).unwrap_or(0);
        Ok(())
    }

    /// The wait of the word, if it has one.
    pub fn wait(&self) -> Option<Wait> {
        (self.wait_mode != WaitMode::NONE).then_some(Wait {
            mode: self.wait_mode,
            id: self.wait_idx.0.into(),
            value: self.semaphore_value,
        })
    }

    /// The update of the word, if it has one.
    pub fn update(&self) -> Option<Update> {
        (self.update_mode != UpdateMode::NONE).then_some(Update {
            mode: self.update_mode,
            id: self.update_idx.0.into(),
            value: self.semaphore_value,
        })
    }
}
