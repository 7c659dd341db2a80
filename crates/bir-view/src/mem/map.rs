//! A map of a memory: bytes by position of the program, each cell the part of it that is in use.

use super::{LocationUse, Mem, SpaceUse};

/// A map of a memory.
pub(super) struct Map {
    /// The bytes of all rows together, half open.
    pub(super) bytes: [u64; 2],
    /// Rows from the highest bytes to the lowest, each with a number from 0 to 1 for each stretch of positions.
    pub(super) rows: Vec<Vec<f64>>,
}

/// Locations that lie in a memory and are live at some time.
pub(super) fn placed<'m>(
    mem: &'m Mem,
    space: &SpaceUse,
) -> impl Iterator<Item = (usize, &'m LocationUse)> + use<'m> {
    let name = space.space;
    mem.locations
        .iter()
        .enumerate()
        .filter(move |(_, loc)| loc.counted && loc.placed && loc.live.is_some() && loc.space == name)
}

/// A map of so many rows and columns; `None` when nothing is there.
pub(super) fn map(mem: &Mem, space: &SpaceUse, rows: usize, columns: usize) -> Option<Map> {
    let bytes = match space.bank_bytes {
        // Always all banks, a row for each.
        Some(_) => [0, space.bytes?],
        None => {
            let low = placed(mem, space).map(|(_, loc)| loc.bytes[0]).min()?;
            let high = placed(mem, space).map(|(_, loc)| loc.bytes[1]).max()?;
            [low, high]
        }
    };
    placed(mem, space).next()?;
    let rows = rows.min((bytes[1] - bytes[0]).max(1) as usize);
    // A short program is as wide as it goes with a whole number of columns for each step.
    let columns = match mem.positions as usize {
        few @ 1.. if few < columns => columns / few * few,
        _ => columns,
    };
    let height = (bytes[1] - bytes[0]) as f64 / rows as f64;
    let width = f64::from(mem.positions) / columns as f64;
    let mut cells = vec![vec![0.0f64; columns]; rows];
    for (_, loc) in placed(mem, space) {
        let Some(live) = loc.live else { continue };
        let partitions = loc.partitions[1].min(space.partitions).saturating_sub(loc.partitions[0]);
        let share = partitions as f64 / space.partitions as f64;
        let (top, bottom) = (
            (loc.bytes[0].clamp(bytes[0], bytes[1]) - bytes[0]) as f64,
            (loc.bytes[1].clamp(bytes[0], bytes[1]) - bytes[0]) as f64,
        );
        let (left, right) = (f64::from(live[0]), f64::from(live[1]) + 1.0);
        let part =
            |from: f64, to: f64, own: f64, size: f64| (to.min(own + size) - from.max(own)).max(0.0) / size;
        let span = |from: f64, to: f64, size: f64, count: usize| {
            let end = ((to / size).ceil() as usize).min(count);
            ((from / size) as usize).min(end)..end
        };
        for row in span(top, bottom, height, rows) {
            let tall = part(top, bottom, row as f64 * height, height);
            for column in span(left, right, width, columns) {
                let wide = part(left, right, column as f64 * width, width);
                if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell += tall * wide * share;
                }
            }
        }
    }
    cells.iter_mut().flatten().for_each(|cell| *cell = cell.min(1.0));
    cells.reverse();
    Some(Map { bytes, rows: cells })
}
