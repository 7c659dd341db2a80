//! Storage: places of locations, their sizes and aliases: ALLOC, MEM-04 to MEM-07, MOD-09.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
