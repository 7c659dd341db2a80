//! Registers and the ops on them: REG.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
