//! Index operands of engine instructions: IND-01, IND-04 to IND-07.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
