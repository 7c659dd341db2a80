//! Dependencies, branches, block ends and names: MOD-04 to MOD-07, DEP, CF.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
