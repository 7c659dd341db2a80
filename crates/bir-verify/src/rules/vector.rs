//! The vector engine: DVE.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
