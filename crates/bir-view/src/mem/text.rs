//! Use of the memories as text, with a map of each.

use std::fmt::Write;

use super::map::{Map, map};
use super::{Mem, MomentSpace, SpaceUse};
use crate::paint::Paint;
use crate::table::Column::{Left, Right};
use crate::table::{Column, Table, amount};

/// Columns of a map, and rows of the map of SB and DRAM.
const COLUMNS: usize = 72;
const ROWS: usize = 16;

impl Mem {
    /// The use as text. Lists are cut off after `top` entries; 0 means all.
    pub fn text(&self, top: usize, paint: Paint) -> String {
        let mut text = String::new();
        let arch = self.arch.as_deref().unwrap_or("unknown arch");
        let _ = writeln!(
            text,
            "{} ({arch}): {} steps, {} locations",
            paint.title(&self.device),
            self.positions,
            self.locations.len()
        );
        match &self.moment {
            Some(moment) => {
                let at = &moment.at;
                let place = format!("{} / {} #{}", at.function, at.block, at.index);
                let name = paint.title(&at.instruction);
                let _ = writeln!(text, "at {name}, {place}, step {} of {}", moment.position, self.positions);
                for space in &moment.spaces {
                    self.moment_space(&mut text, space, top, paint);
                }
            }
            None => {
                for space in &self.spaces {
                    self.space(&mut text, space, top, paint);
                }
                self.external(&mut text);
                self.alias_classes(&mut text, top, paint);
            }
        }
        text
    }

    fn space(&self, text: &mut String, space: &SpaceUse, top: usize, paint: Paint) {
        if space.placed + space.unplaced + space.untouched == 0 {
            return;
        }
        let size = space.bytes.map_or_else(|| "unknown size".into(), amount);
        let of = match (space.space, space.partitions) {
            ("DRAM", _) => format!("Internal tensors, of {size}"),
            (_, partitions) => format!("{size} usable in each of {partitions} partitions"),
        };
        let _ = writeln!(text, "\n{}: {of}", paint.heading(space.space));
        let peak = &space.peak;
        let share = space.bytes.map(|bytes| format!(" ({:.1} %)", peak.bytes as f64 * 100.0 / bytes as f64));
        let share = share.unwrap_or_default();
        let where_ = match space.partitions {
            1 => String::new(),
            _ => format!(" in partitions {}..{}", peak.partitions[0], peak.partitions[1]),
        };
        if let Some(at) = &peak.at {
            let _ = writeln!(
                text,
                "  peak    {}{share}{where_}, at step {}, {}",
                amount(peak.bytes),
                peak.position,
                at.instruction
            );
            let holes = match peak.free.len() {
                1 => "1 hole".to_owned(),
                n => format!("{n} holes"),
            };
            if space.space != "DRAM" {
                let _ = writeln!(text, "  then    {holes}, the largest of {}", amount(peak.largest_free));
            }
        }
        let mut counts = vec![format!("{} placed", space.placed)];
        for (count, word) in [(space.unplaced, "without a place"), (space.untouched, "that nothing touches")]
        {
            if count > 0 {
                counts.push(format!("{count} {word}"));
            }
        }
        let _ = writeln!(text, "  here    {}", counts.join(", "));
        if let Some(over) = &space.over {
            let _ = writeln!(
                text,
                "  {}",
                paint.odd(&format!(
                    "too much by {} in a partition; what is live then, largest first:",
                    amount(over.by)
                ))
            );
            let mut table = Table::bare(&[
                Left("location"),
                Right("bytes"),
                Right("from"),
                Right("to"),
                Left("first"),
                Left("last"),
            ]);
            table.rows(&over.culprits, top, |culprit| {
                [
                    culprit.location.clone(),
                    culprit.bytes.to_string(),
                    culprit.live[0].to_string(),
                    culprit.live[1].to_string(),
                    culprit.first.clone().unwrap_or_default(),
                    culprit.last.clone().unwrap_or_default(),
                ]
            });
            let _ = write!(text, "{table}");
        }
        if !space.outside.is_empty() {
            let names = cut(&space.outside, top);
            let _ = writeln!(text, "  {} {names}", paint.odd("past the end of the memory:"));
        }
        self.regions(text, space);
        self.map(text, space, paint);
        if !space.shared.is_empty() {
            let _ = writeln!(text, "  live at the same time in the same bytes:");
            const SHARED: &[Column] =
                &[Left("location"), Left("and"), Left("partitions"), Left("bytes"), Left("steps")];
            let mut table = Table::bare(SHARED);
            table.rows(&space.shared, top, |pair| {
                [
                    pair.first.clone(),
                    pair.second.clone(),
                    range(pair.partitions),
                    range(pair.bytes),
                    format!("{}..{}", pair.live[0], pair.live[1]),
                ]
            });
            let _ = write!(text, "{table}");
        }
    }

    fn regions(&self, text: &mut String, space: &SpaceUse) {
        let used: Vec<_> =
            space.regions.iter().filter(|region| region.locations > 0 || region.peak > 0).collect();
        if used.is_empty() {
            return;
        }
        const REGIONS: &[Column] =
            &[Left(""), Right("peak"), Right(""), Right("at step"), Left("instruction"), Right("locations")];
        let mut table = Table::bare(REGIONS);
        table.rows(&used, 0, |region| {
            // The percentage of a quadrant is that of what may be used, as it is above.
            let size = match space.bank_bytes {
                Some(bank) => bank,
                None => space.bytes.unwrap_or(0),
            };
            [
                region.name.clone(),
                region.peak.to_string(),
                if size > 0 {
                    format!("{:.1} %", region.peak as f64 * 100.0 / size as f64)
                } else {
                    "?".into()
                },
                region.position.to_string(),
                region.instruction.clone().unwrap_or_default(),
                region.locations.to_string(),
            ]
        });
        let _ = write!(text, "{table}");
    }

    fn map(&self, text: &mut String, space: &SpaceUse, paint: Paint) {
        let rows = match (space.bank_bytes, space.bytes) {
            (Some(bank), Some(bytes)) => (bytes / bank.max(1)) as usize,
            _ => ROWS,
        };
        let Some(Map { bytes, rows }) = map(self, space, rows, COLUMNS) else { return };
        let height = (bytes[1] - bytes[0]) as f64 / rows.len() as f64;
        let labels: Vec<String> = (0..rows.len())
            .map(|row| {
                let low = bytes[0] as f64 + (rows.len() - 1 - row) as f64 * height;
                match space.bank_bytes {
                    Some(_) => format!("bank {}", rows.len() - 1 - row),
                    None => format!("{}", low as u64),
                }
            })
            .collect();
        let width = labels.iter().map(String::len).max().unwrap_or(0);
        text.push('\n');
        for (label, row) in labels.iter().zip(&rows) {
            let cells: String = row.iter().map(|cell| shade(*cell, paint.unicode)).collect();
            let bar = if paint.unicode { '│' } else { '|' };
            let _ = writeln!(text, "  {}  {bar}{cells}{bar}", paint.dim(&format!("{label:>width$}")));
        }
        let columns = rows.first().map_or(0, Vec::len);
        let last = self.positions.saturating_sub(1).to_string();
        let left = format!("{:>indent$}", "step 0", indent = width + 10);
        let gap = (width + 5 + columns).saturating_sub(left.len() + last.len()).max(1);
        let _ = writeln!(text, "{left}{}{last}", " ".repeat(gap));
    }

    fn external(&self, text: &mut String) {
        if self.external.is_empty() {
            return;
        }
        let mut table = Table::new("DRAM beside", &[Left("kind"), Right("locations"), Right("bytes")]);
        table.rows(&self.external, 0, |row| [row.kind.clone(), row.locations.to_string(), amount(row.bytes)]);
        let _ = write!(text, "{table}");
    }

    fn alias_classes(&self, text: &mut String, top: usize, paint: Paint) {
        if self.aliases.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{}", paint.heading("The same bytes under several names"));
        let most = if top == 0 { self.aliases.len() } else { top.min(self.aliases.len()) };
        for class in &self.aliases[..most] {
            let _ = writeln!(text, "  {}", cut(class, top));
        }
        if most < self.aliases.len() {
            let _ = writeln!(text, "  ... and {} more", self.aliases.len() - most);
        }
    }

    fn moment_space(&self, text: &mut String, space: &MomentSpace, top: usize, paint: Paint) {
        if space.live.is_empty() {
            return;
        }
        let partition = match space.space {
            "DRAM" => String::new(),
            _ => format!(" in partition {}", space.partition),
        };
        let _ = writeln!(text, "\n{}: {} in use{partition}", paint.heading(space.space), amount(space.used));
        const LIVE: &[Column] = &[
            Left("location"),
            Left("partitions"),
            Left("bytes"),
            Right("size"),
            Left("steps"),
            Left("last use"),
        ];
        let mut table = Table::bare(LIVE);
        table.rows(&space.live, top, |index| {
            let location = &self.locations[*index];
            let bytes = if location.placed { range(location.bytes) } else { "anywhere".into() };
            let live = location.live.unwrap_or_default();
            [
                location.name.clone(),
                range(location.partitions),
                bytes,
                (location.bytes[1] - location.bytes[0]).to_string(),
                format!("{}..{}", live[0], live[1]),
                location.last.clone().unwrap_or_default(),
            ]
        });
        let _ = write!(text, "{table}");
        if space.space != "DRAM" && !space.free.is_empty() {
            let ranges: Vec<String> = space.free.iter().map(|free| range(*free)).collect();
            let _ = writeln!(text, "  free    {}", cut(&ranges, top));
        }
    }
}

fn range([from, to]: [u64; 2]) -> String {
    format!("{from}..{to}")
}

/// The first entries, and how many more there are.
fn cut(names: &[String], top: usize) -> String {
    let most = if top == 0 { names.len() } else { top.min(names.len()) };
    let shown = names[..most].join(", ");
    if most < names.len() { format!("{shown} and {} more", names.len() - most) } else { shown }
}

/// A character for a part of a cell. What is in use at all is never blank.
fn shade(cell: f64, unicode: bool) -> char {
    let shades: &[char] = if unicode { &['░', '▒', '▓', '█'] } else { &['.', '-', '+', '#'] };
    match cell {
        0.0 => ' ',
        cell => shades[((cell * 4.0).ceil() as usize).clamp(1, 4) - 1],
    }
}
