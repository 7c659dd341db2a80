//! Block-scaled types: MX, QMX, FP8.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
