//! The module as a whole: MOD-03, MOD-08, MOD-10 to MOD-13, ARCH-04.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
