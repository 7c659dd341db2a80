//! Kernels and custom ops: KRN, MEM-03.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
