//! Use of SB, PSUM and DRAM: bytes that any location is placed on, whether at the same time or not.

use bir::Module;
use bir::enums::MemoryType;
use bir::ids::LocId;
use bir::target::Target;
use serde::Serialize;

/// Use of the memories. Bytes that several locations share count once.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Memory {
    /// The state buffer.
    pub sb: Sb,
    /// The partial-sum buffer.
    pub psum: Psum,
    /// Device memory.
    pub dram: Dram,
    /// Locations without a place, by memory type, largest first.
    pub unplaced: Vec<Unplaced>,
}

/// Use of SB.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sb {
    /// Bytes in each partition of the target, where it is known.
    pub partition_bytes: Option<u64>,
    /// Placed locations.
    pub locations: u64,
    /// Locations that reach past the partitions or the bytes of the target.
    pub outside: u64,
    /// Use by partition, in ascending order; partitions of equal use are one row, unused ones none.
    pub partitions: Vec<PartitionUse>,
}

/// Use of some neighbouring partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionUse {
    /// First partition, and the one after the last.
    pub partitions: [u64; 2],
    /// Bytes in use in each of them.
    pub used: u64,
    /// One past the highest byte in use.
    pub end: u64,
}

/// Use of PSUM.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Psum {
    /// Banks of the target, where it is known.
    pub banks_total: Option<u64>,
    /// Bytes of a bank in each partition.
    pub bank_bytes: u64,
    /// Placed locations.
    pub locations: u64,
    /// Locations that reach past the partitions or banks of the target.
    pub outside: u64,
    /// Banks in use, in ascending order.
    pub banks: Vec<Bank>,
}

/// Use of one PSUM bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bank {
    /// Number.
    pub bank: u64,
    /// Placements that touch it.
    pub locations: u64,
    /// Partitions in use.
    pub partitions: u64,
    /// Bytes in use in the fullest partition.
    pub used: u64,
}

/// Use of DRAM.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Dram {
    /// Bytes that a core of the target has, where it is known.
    pub core_bytes: Option<u64>,
    /// Locations by kind of their tensor, most bytes first.
    pub kinds: Vec<DramUse>,
}

/// DRAM locations of tensors of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct DramUse {
    /// Kind of the tensor.
    pub kind: String,
    /// Locations, placed or not.
    pub locations: u64,
    /// Sum of their bytes.
    pub bytes: u64,
}

/// Locations of one memory type that have no place.
#[derive(Clone, Debug, Serialize)]
pub struct Unplaced {
    /// Memory type.
    pub space: String,
    /// Locations.
    pub locations: u64,
    /// Sum of their bytes, all partitions together.
    pub bytes: u64,
}

/// Partitions of a memory, and bytes of a PSUM bank, where no target says it: those of every target but the oldest.
/// spec: verify 3
const PARTITIONS: u64 = 128;
const BANK_BYTES: u64 = 2048;

/// A rectangle of partitions and bytes.
struct Tile {
    partitions: [u64; 2],
    bytes: [u64; 2],
}

/// Bytes of a location in all partitions together.
pub(super) fn location_bytes(module: &Module, loc: LocId) -> u64 {
    let dims = module[loc].dims.as_ref();
    dims.map_or(0, |dims| dims.product().unwrap_or(u64::MAX))
}

pub(super) fn sb(module: &Module, locations: &[LocId], target: Option<&Target>) -> Sb {
    let (partitions, limit) =
        target.map_or((PARTITIONS, u64::MAX), |target| (target.sb_partitions, target.sb_partition_bytes));
    let mut outside = 0;
    let mut tiles = Vec::with_capacity(locations.len());
    for &loc in locations {
        let location = &module[loc];
        let tile = tile(module, loc, location.addr);
        outside += u64::from(tile.partitions[1] > partitions || tile.bytes[1] > limit);
        tiles.push(tile);
    }
    Sb {
        partition_bytes: target.map(|target| target.sb_partition_bytes),
        locations: locations.len() as u64,
        outside,
        partitions: by_partition(tiles, partitions),
    }
}

fn tile(module: &Module, loc: LocId, addr: u64) -> Tile {
    let location = &module[loc];
    let base = u64::from(location.base);
    Tile {
        partitions: [base, base.saturating_add(location.partitions().unwrap_or(0))],
        bytes: [addr, addr.saturating_add(location.bytes().unwrap_or(0))],
    }
}

/// Union of tiles by partition. Tiles are cut off at the number of partitions.
fn by_partition(mut tiles: Vec<Tile>, partitions: u64) -> Vec<PartitionUse> {
    tiles.retain(|tile| tile.partitions[0] < partitions && tile.bytes[0] < tile.bytes[1]);
    tiles.iter_mut().for_each(|tile| tile.partitions[1] = tile.partitions[1].min(partitions));
    tiles.sort_unstable_by_key(|tile| tile.bytes);
    // Between two neighbouring cuts all partitions are used alike.
    let mut cuts: Vec<u64> = tiles.iter().flat_map(|tile| tile.partitions).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut uses: Vec<PartitionUse> =
        cuts.windows(2).map(|cut| PartitionUse { partitions: [cut[0], cut[1]], used: 0, end: 0 }).collect();
    for tile in &tiles {
        let first = uses.partition_point(|part| part.partitions[0] < tile.partitions[0]);
        for part in uses[first..].iter_mut().take_while(|part| part.partitions[1] <= tile.partitions[1]) {
            // Tiles come in order of their first byte: what is below the end is counted already.
            part.used += tile.bytes[1].saturating_sub(tile.bytes[0].max(part.end));
            part.end = part.end.max(tile.bytes[1]);
        }
    }
    uses.retain(|part| part.used > 0);
    uses.dedup_by(|next, part| {
        let same = part.partitions[1] == next.partitions[0] && (part.used, part.end) == (next.used, next.end);
        if same {
            part.partitions[1] = next.partitions[1];
        }
        same
    });
    uses
}

pub(super) fn psum(module: &Module, locations: &[LocId], target: Option<&Target>) -> Psum {
    let banks_total = target.map(|target| target.psum_banks);
    let partitions = target.map_or(PARTITIONS, |target| target.psum_partitions);
    let bank_bytes = target.map_or(BANK_BYTES, |target| target.psum_bank_bytes);
    // Without a target, locations say how many banks there are, up to more than any target has.
    let bank_limit = banks_total.unwrap_or(64);
    let mut banks: Vec<Vec<Tile>> = Vec::new();
    let mut outside = 0;
    for &loc in locations {
        let location = &module[loc];
        // Bytes count from the start of the bank, whose number may be negative. spec: bir-json 8.3, verify 3
        let start = location.bank.unsigned_abs().saturating_mul(bank_bytes).saturating_add(location.addr);
        let tile = tile(module, loc, start);
        let end = tile.bytes[1].div_ceil(bank_bytes);
        outside += u64::from(tile.partitions[1] > partitions || end > bank_limit);
        for bank in start / bank_bytes..end.min(bank_limit) {
            let first = bank * bank_bytes;
            let bytes = tile.bytes.map(|byte| byte.clamp(first, first + bank_bytes) - first);
            let bank = bank as usize;
            if banks.len() <= bank {
                banks.resize_with(bank + 1, Vec::new);
            }
            banks[bank].push(Tile { partitions: tile.partitions, bytes });
        }
    }
    let banks = banks.into_iter().enumerate().filter(|(_, tiles)| !tiles.is_empty()).map(|(bank, tiles)| {
        let locations = tiles.len() as u64;
        let parts = by_partition(tiles, partitions);
        Bank {
            bank: bank as u64,
            locations,
            partitions: parts.iter().map(|part| part.partitions[1] - part.partitions[0]).sum(),
            used: parts.iter().map(|part| part.used).max().unwrap_or(0),
        }
    });
    Psum { banks_total, bank_bytes, locations: locations.len() as u64, outside, banks: banks.collect() }
}

/// Whether a location of this type has a place of its own kind: kernel inputs and outputs lie in DRAM.
pub(super) fn is_dram(memory: MemoryType) -> bool {
    matches!(memory, MemoryType::DRAM | MemoryType::Input | MemoryType::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(partitions: [u64; 2], bytes: [u64; 2]) -> Tile {
        Tile { partitions, bytes }
    }

    #[test]
    fn shared_bytes_count_once() {
        let tiles = vec![
            tile([0, 64], [0, 100]),
            tile([32, 64], [50, 200]),
            tile([0, 32], [150, 160]),
            tile([96, 200], [0, 8]),
        ];
        let expected = [
            PartitionUse { partitions: [0, 32], used: 110, end: 160 },
            PartitionUse { partitions: [32, 64], used: 200, end: 200 },
            PartitionUse { partitions: [96, 128], used: 8, end: 8 },
        ];
        assert_eq!(by_partition(tiles, 128), expected);
    }

    #[test]
    fn partitions_of_equal_use_are_one_row() {
        let tiles = vec![tile([0, 32], [0, 4]), tile([32, 64], [0, 4]), tile([64, 64], [0, 4])];
        assert_eq!(by_partition(tiles, 128), [PartitionUse { partitions: [0, 64], used: 4, end: 4 }]);
    }
}
