//! Access patterns: bounds, partitions, steps and dimensions: AP, PART.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
