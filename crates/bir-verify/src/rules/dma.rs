//! DMA and queues: DMA, IND-02, IND-03, MX-24.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
