//! Collectives: COL.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
