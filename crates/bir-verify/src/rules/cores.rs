//! Modules that are the cores of one program: LNC, CB.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
