//! Sizes of the memories of each architecture. spec: verify 3

use bir::enums::ArchLevel;

/// Partitions of SB on every architecture.
pub(crate) const SB_PARTITIONS: u64 = 128;

/// Bytes of a PSUM bank in each partition, on every architecture.
pub(crate) const PSUM_BANK_BYTES: u64 = 2048;

/// What fits where.
#[derive(Clone, Copy)]
pub(crate) struct Geometry {
    /// Name of the device, as users write it.
    pub(crate) device: &'static str,
    /// Bytes of SB in each partition.
    pub(crate) sb_bytes: u64,
    /// PSUM banks.
    pub(crate) psum_banks: u64,
    /// Partitions of PSUM.
    pub(crate) psum_partitions: u64,
    /// Bytes of DRAM that a core has.
    pub(crate) dram_bytes: u64,
}

const GIB: u64 = 1 << 30;

/// The sizes of an architecture; `None` where no hardware model is known.
pub(crate) fn geometry(arch: ArchLevel) -> Option<Geometry> {
    let (device, sb_kib, psum_banks, psum_partitions, gib) = match arch {
        ArchLevel::Inferentia => ("inf1", 96, 4, 64, 16),
        ArchLevel::Sunda => ("trn1", 192, 8, 128, 16),
        ArchLevel::Gen3 => ("trn2", 224, 8, 128, 24),
        ArchLevel::CoreV4 => ("trn3", 256, 8, 128, 36),
        ArchLevel::CoreV5 | ArchLevel::Other(_) => return None,
    };
    Some(Geometry { device, sb_bytes: sb_kib * 1024, psum_banks, psum_partitions, dram_bytes: gib * GIB })
}
