//! Semaphores and events: SYNC.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
