//! Operands against the tables: counts, kinds, memories, types: MEM-01 to MEM-03, AP-02, AP-03.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
