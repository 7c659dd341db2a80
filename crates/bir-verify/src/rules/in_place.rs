//! Writing where one reads: WIP.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
