//! Matrix multiplication and its accumulation in PSUM: MM, PSUM.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
