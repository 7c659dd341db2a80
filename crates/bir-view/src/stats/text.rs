//! Statistics as text.

use std::fmt;

use super::{LoopKind, OperandRow, Runs, Stats};
use crate::table::Column::{Left, Right};
use crate::table::{Table, amount};

/// Text of some statistics. See [`Stats::text`].
pub struct Text<'a> {
    stats: &'a Stats,
    top: usize,
}

impl Stats {
    /// The statistics as tables with at most `top` rows each; 0 means all rows.
    pub fn text(&self, top: usize) -> Text<'_> {
        Text { stats: self, top }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.module(f)?;
        let tables = [
            self.dominant(),
            self.kernels(),
            self.instructions(),
            self.engines(),
            self.loops(),
            self.source(),
            self.operands(),
            self.sb(),
            self.psum(),
            self.dram(),
            self.unplaced(),
            self.queues(),
            self.semaphores(),
            self.edges(),
            self.tensors(),
            self.features(),
        ];
        tables.iter().try_for_each(|table| write!(f, "{table}"))
    }
}

impl Text<'_> {
    fn module(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = &self.stats.module;
        write!(f, "arch {}", module.arch.as_deref().unwrap_or("unknown"))?;
        if let Some(device) = &module.device {
            write!(f, " ({device})")?;
        }
        if let Some(version) = module.version {
            write!(f, ", version {version}")?;
        }
        writeln!(
            f,
            "\n{}, {}, {}\n{}, {}, {}",
            count(module.functions as u64, "function"),
            count(module.blocks as u64, "block"),
            count(module.instructions, "instruction"),
            count(module.tensors as u64, "tensor"),
            count(module.locations as u64, "location"),
            count(module.registers as u64, "register"),
        )?;
        if module.queues > 0 {
            writeln!(
                f,
                "{} with {}",
                count(module.queues as u64, "queue"),
                count(module.queue_instructions, "DMA instruction")
            )?;
        }
        Ok(())
    }

    fn dominant(&self) -> Table {
        const COLUMNS: &[Col] = &[Left(""), Left("most runs"), Right("runs"), Right("of all")];
        let mut table = Table::new("What dominates", COLUMNS);
        table.rows(&self.stats.dominant, 0, |row| {
            [row.by.to_owned(), row.name.clone(), row.runs.to_string(), percent(row.runs, Some(row.total))]
        });
        table
    }

    fn kernels(&self) -> Table {
        const COLUMNS: &[Col] = &[
            Left("kernel"),
            Left("kind"),
            Right("calls"),
            Right("count"),
            Right("runs"),
            Right("unrolled"),
            Right("of limit"),
        ];
        let limit = self.stats.instruction_limit;
        let mut table = Table::new("By kernel", COLUMNS);
        table.rows(&self.stats.kernels, self.top, |row| {
            let share = row.unrolled as f64 * 100.0 / limit as f64;
            [
                row.name.clone(),
                if row.kind == "function" { "function".into() } else { "NKI".into() },
                row.calls.to_string(),
                row.runs.count.to_string(),
                runs(row.runs),
                row.unrolled.to_string(),
                if row.unrolled > 0 && share < 0.1 { "< 0.1 %".into() } else { format!("{share:.1} %") },
            ]
        });
        let over = self.stats.kernels.iter().filter(|row| row.over_limit).count() as u64;
        if over > 0 {
            table.notes.push(format!(
                "{} more than {limit} instructions after unrolling, which compilers refuse (NCC_EVRF007)",
                if over == 1 { "one has".to_owned() } else { format!("{over} have") }
            ));
        }
        table
    }

    fn instructions(&self) -> Table {
        const COLUMNS: &[Col] = &[Left("opcode"), Left("engine"), Right("count"), Right("runs")];
        let mut table = Table::new("Instructions by opcode and engine", COLUMNS);
        table.rows(&self.stats.instructions, self.top, |row| {
            [row.opcode.clone(), row.engine.clone(), row.runs.count.to_string(), runs(row.runs)]
        });
        if self.stats.instructions.iter().any(|row| row.runs.uncounted > 0) {
            table.notes.push("+?: also in loops whose trip count is not known".into());
        }
        if self.stats.module.functions > 1 {
            table.notes.push("runs are counted for one call of each function".into());
        }
        table
    }

    fn engines(&self) -> Table {
        let mut table = Table::new("By engine", &[Left("engine"), Right("count"), Right("runs")]);
        table.rows(&self.stats.engines, self.top, |row| {
            [row.engine.clone(), row.runs.count.to_string(), runs(row.runs)]
        });
        table
    }

    fn loops(&self) -> Table {
        const COLUMNS: &[Col] = &[
            Left("loop"),
            Left("function"),
            Right("trips"),
            Right("iterations"),
            Right("count"),
            Right("runs"),
        ];
        let mut table = Table::new(format!("Loops, {} deep", self.stats.loop_depth), COLUMNS);
        table.rows(&self.stats.loops, self.top, |row| {
            let indent = "  ".repeat(row.depth.saturating_sub(1));
            let what = match row.kind {
                LoopKind::Loop => "",
                LoopKind::DynamicForLoop => " (dynamic)",
                LoopKind::DoWhile => " (do while)",
                LoopKind::Blocks => " (lowered)",
            };
            [
                format!("{indent}{}{what}", row.name),
                row.function.clone(),
                known(row.trips),
                known(row.iterations),
                row.runs.count.to_string(),
                runs(row.runs),
            ]
        });
        table
    }

    fn source(&self) -> Table {
        const COLUMNS: &[Col] = &[Right("line"), Left("operation"), Right("count"), Right("runs")];
        let mut table = Table::new("By source line; - where no debug record says it", COLUMNS);
        table.rows(&self.stats.source, self.top, |row| {
            [
                row.line.map_or_else(|| "-".into(), |line| line.to_string()),
                row.operation.clone().unwrap_or_else(|| "-".into()),
                row.runs.count.to_string(),
                runs(row.runs),
            ]
        });
        table
    }

    fn operands(&self) -> Table {
        const COLUMNS: &[Col] = &[
            Left("dtype"),
            Left("space"),
            Right("reads"),
            Right("writes"),
            Right("bytes read"),
            Right("bytes written"),
        ];
        let mut table = Table::new("Operands", COLUMNS);
        let has_bytes = |row: &OperandRow| !matches!(&*row.space, "register" | "immediate");
        table.rows(&self.stats.operands, self.top, |row| {
            let known = |n: u64| if has_bytes(row) { amount(n) } else { "-".into() };
            [
                or_dash(&row.dtype),
                row.space.clone(),
                row.reads.to_string(),
                row.writes.to_string(),
                known(row.bytes_read),
                known(row.bytes_written),
            ]
        });
        table
    }

    fn sb(&self) -> Table {
        const COLUMNS: &[Col] = &[Right("partitions"), Right("used"), Right("of"), Right(""), Right("up to")];
        let sb = &self.stats.memory.sb;
        let mut table = Table::new("SB, bytes in each partition", COLUMNS);
        table.rows(&sb.partitions, self.top, |part| {
            [
                format!("{}..{}", part.partitions[0], part.partitions[1]),
                part.used.to_string(),
                sb.partition_bytes.map_or_else(|| "?".into(), |size| size.to_string()),
                percent(part.used, sb.partition_bytes),
                part.end.to_string(),
            ]
        });
        outside(&mut table, sb.outside);
        table
    }

    fn psum(&self) -> Table {
        const COLUMNS: &[Col] =
            &[Right("bank"), Right("placements"), Right("partitions"), Right("used"), Right("of"), Right("")];
        let psum = &self.stats.memory.psum;
        let heading = match psum.banks_total {
            Some(total) => {
                format!("PSUM, {} of {total} banks, bytes in the fullest partition", psum.banks.len())
            }
            None => "PSUM, bytes in the fullest partition".to_owned(),
        };
        let mut table = Table::new(heading, COLUMNS);
        table.rows(&psum.banks, self.top, |bank| {
            [
                bank.bank.to_string(),
                bank.locations.to_string(),
                bank.partitions.to_string(),
                bank.used.to_string(),
                psum.bank_bytes.to_string(),
                percent(bank.used, Some(psum.bank_bytes)),
            ]
        });
        outside(&mut table, psum.outside);
        table
    }

    fn dram(&self) -> Table {
        const COLUMNS: &[Col] = &[Left("kind"), Right("locations"), Right("bytes"), Right("of a core")];
        let dram = &self.stats.memory.dram;
        let mut table = Table::new("DRAM", COLUMNS);
        table.rows(&dram.kinds, self.top, |row| {
            [
                row.kind.clone(),
                row.locations.to_string(),
                amount(row.bytes),
                percent(row.bytes, dram.core_bytes),
            ]
        });
        table
    }

    fn unplaced(&self) -> Table {
        const COLUMNS: &[Col] = &[Left("space"), Right("locations"), Right("bytes")];
        let mut table = Table::new("Not placed yet", COLUMNS);
        table.rows(&self.stats.memory.unplaced, self.top, |row| {
            [row.space.clone(), row.locations.to_string(), amount(row.bytes)]
        });
        table
    }

    fn queues(&self) -> Table {
        const COLUMNS: &[Col] = &[
            Left("queue"),
            Left("type"),
            Right("engines"),
            Right("instances"),
            Right("DMA blocks"),
            Right("descriptors"),
            Right("bytes"),
            Right("uses"),
        ];
        let mut table = Table::new("Queues", COLUMNS);
        table.rows(&self.stats.queues, self.top, |row| {
            [
                row.name.clone(),
                or_dash(&row.queue_type),
                row.dma_engines.map_or_else(|| "-".into(), |engines| engines.to_string()),
                row.instances.to_string(),
                row.dma_blocks.to_string(),
                row.descriptors.to_string(),
                amount(row.bytes),
                row.uses.to_string(),
            ]
        });
        table
    }

    fn semaphores(&self) -> Table {
        const COLUMNS: &[Col] = &[Left("sync"), Right("id"), Right("waits"), Right("updates")];
        let mut table = Table::new("Semaphores", COLUMNS);
        table.rows(&self.stats.semaphores, self.top, |row| {
            [
                row.sync_type.clone(),
                row.id.map_or_else(|| "-".into(), |id| id.to_string()),
                row.waits.to_string(),
                row.updates.to_string(),
            ]
        });
        table
    }

    fn edges(&self) -> Table {
        const COLUMNS: &[Col] =
            &[Left("kind"), Right("normal"), Right("loop-carried"), Right("unroll"), Right("missing")];
        let mut table = Table::new("Dependencies", COLUMNS);
        table.rows(&self.stats.edges, self.top, |row| {
            let counts = [row.normal, row.loop_carried, row.unroll, row.missing].map(|n| n.to_string());
            let [normal, loop_carried, unroll, missing] = counts;
            [row.kind.clone(), normal, loop_carried, unroll, missing]
        });
        table
    }

    fn tensors(&self) -> Table {
        const COLUMNS: &[Col] = &[
            Left("tensor"),
            Left("kind"),
            Left("space"),
            Left("dtype"),
            Left("shape"),
            Right("placements"),
            Right("bytes"),
        ];
        let mut table = Table::new("Largest tensors", COLUMNS);
        table.rows(&self.stats.tensors, self.top, |row| {
            let shape: Vec<String> = row.shape.iter().map(u64::to_string).collect();
            [
                row.name.clone(),
                or_dash(&row.kind),
                or_dash(&row.space),
                or_dash(&row.dtype),
                shape.join("x"),
                row.locations.to_string(),
                amount(row.bytes),
            ]
        });
        table
    }

    fn features(&self) -> Table {
        const COLUMNS: &[Col] = &[Right("bit"), Left("feature"), Left("because of")];
        let heading = format!("NEFF features, bits {}", self.stats.feature_bits);
        let mut table = Table::new(heading, COLUMNS);
        // A loader that lacks one refuses the file: none is left out.
        table.rows(&self.stats.features, 0, |row| {
            [row.bit.clone(), row.name.to_owned(), row.because.join(", ")]
        });
        table
    }
}

type Col = crate::table::Column;

fn outside(table: &mut Table, count: u64) {
    if count > 0 {
        table.notes.push(format!("{} past the end of the target's memory", self::count(count, "location")));
    }
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn runs(runs: Runs) -> String {
    match runs {
        Runs { uncounted: 0, runs, .. } => runs.to_string(),
        Runs { count, uncounted, .. } if count == uncounted => "?".into(),
        Runs { runs, .. } => format!("{runs}+?"),
    }
}

fn known(n: Option<u64>) -> String {
    n.map_or_else(|| "?".into(), |n| n.to_string())
}

fn or_dash(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "-".into())
}

fn percent(part: u64, whole: Option<u64>) -> String {
    match whole {
        Some(whole) if whole > 0 => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
        _ => "?".into(),
    }
}
