//! The Activation engine: ACT.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
