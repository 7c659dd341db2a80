//! Plain tables: columns as wide as their widest cell, numbers to the right.

use std::fmt;

/// A table under a heading.
pub(crate) struct Table {
    heading: String,
    columns: &'static [Column],
    rows: Vec<Vec<String>>,
    /// What is left out, or said about the rows.
    pub(crate) notes: Vec<String>,
}

/// Title of a column and the side it is aligned to.
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

impl Column {
    fn title(&self) -> &'static str {
        match self {
            Column::Left(title) | Column::Right(title) => title,
        }
    }
}

impl Table {
    pub(crate) fn new(heading: impl Into<String>, columns: &'static [Column]) -> Table {
        Table { heading: heading.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// A table without a heading.
    pub(crate) fn bare(columns: &'static [Column]) -> Table {
        Table::new("", columns)
    }

    /// Adds a row; cells without a column are dropped.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().take(self.columns.len()).collect());
    }

    /// Adds the first `limit` items, and a note when there are more. 0 means all.
    pub(crate) fn rows<T, const N: usize>(
        &mut self,
        items: &[T],
        limit: usize,
        cells: impl Fn(&T) -> [String; N],
    ) {
        let shown = if limit == 0 { items.len() } else { limit.min(items.len()) };
        items[..shown].iter().for_each(|item| self.row(cells(item)));
        if shown < items.len() {
            self.notes.push(format!("... and {} more", items.len() - shown));
        }
    }
}

impl fmt::Display for Table {
    /// Nothing for a table without rows and notes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() && self.notes.is_empty() {
            return Ok(());
        }
        if !self.heading.is_empty() {
            writeln!(f, "\n{}", self.heading)?;
        }
        if !self.rows.is_empty() {
            let titles: Vec<String> = self.columns.iter().map(|column| column.title().to_owned()).collect();
            let width = |i: usize| {
                let cells = self.rows.iter().filter_map(|row| row.get(i));
                cells.chain([&titles[i]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
            };
            let widths: Vec<usize> = (0..titles.len()).map(width).collect();
            for row in [&titles].into_iter().chain(&self.rows) {
                let mut line = String::new();
                for ((cell, column), width) in row.iter().zip(self.columns).zip(&widths) {
                    line.push_str("  ");
                    let pad = " ".repeat(width - cell.chars().count());
                    match column {
                        Column::Left(_) => line.extend([cell.as_str(), &pad]),
                        Column::Right(_) => line.extend([pad.as_str(), cell]),
                    }
                }
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  {note}"))
    }
}

/// A number of bytes: exact below 10 KiB, then with one decimal.
pub(crate) fn amount(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 10 * 1024 {
        return n.to_string();
    }
    let mut scaled = n as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}
