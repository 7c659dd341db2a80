//! The Pool engine: POOL, SB2SB, RNG, PART-09.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
