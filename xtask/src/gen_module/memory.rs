//! The memory of a generated kernel: the machine's sizes, the placed locations, and rectangles of them.
//!
//! Every location is cut into cells (row parts x column parts x parity of the column). An operand is always a
//! union of whole cells, so two operands share a byte exactly when they share a cell.

use super::text::Text;

/// The device to generate for. Sizes: spec: verify 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Target {
    /// Arch `sunda`.
    Trn1,
    /// Arch `gen3`.
    Trn2,
    /// Arch `core_v4`.
    Trn3,
}

/// What differs between the targets.
pub(super) struct Machine {
    /// Name of the arch level in the document.
    pub(super) arch: &'static str,
    /// State buffer bytes per partition that a compiler places tensors in: all but the reserved ones.
    pub(super) sb_bytes: u64,
    /// FP8 dtype of matmul inputs, from the second generation on (one family per module, rule FP8-01).
    pub(super) fp8: Option<Dtype>,
    /// Whether Activation can run TensorCopy (spec: verify 7).
    pub(super) activation_copies: bool,
    /// Whether descriptors can be made in hardware (rule DMA-17).
    pub(super) hardware_dge: bool,
    /// Slots of the moving-tile pool, in step with the size of the state buffer.
    pub(super) depth: usize,
}

impl Target {
    pub(super) fn machine(self) -> Machine {
        match self {
            Target::Trn1 => Machine {
                arch: "sunda",
                sb_bytes: 196_608 - 16_384,
                fp8: None,
                activation_copies: false,
                hardware_dge: false,
                depth: 12,
            },
            Target::Trn2 => Machine {
                arch: "gen3",
                sb_bytes: 229_376 - 16_392,
                fp8: Some(Dtype::Fp8E4),
                activation_copies: true,
                hardware_dge: true,
                depth: 14,
            },
            Target::Trn3 => Machine {
                arch: "core_v4",
                sb_bytes: 262_144 - 16_392,
                fp8: Some(Dtype::Fp8E4M3Fn),
                activation_copies: true,
                hardware_dge: true,
                depth: 16,
            },
        }
    }
}

/// Partitions of SB and PSUM.
pub(super) const PARTITIONS: u32 = 128;
/// Banks of PSUM and bytes of a bank in one partition.
pub(super) const PSUM_BANKS: u32 = 8;
pub(super) const PSUM_BANK_BYTES: u64 = 2048;
/// Columns of a full tile: a bank of float32.
pub(super) const TILE: u32 = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dtype {
    F32,
    Bf16,
    Fp8E4,
    Fp8E4M3Fn,
}

impl Dtype {
    pub(super) fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "float32",
            Dtype::Bf16 => "bfloat16",
            Dtype::Fp8E4 => "float8e4",
            Dtype::Fp8E4M3Fn => "float8_e4m3fn",
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Dtype::F32 => 4,
            Dtype::Bf16 => 2,
            Dtype::Fp8E4 | Dtype::Fp8E4M3Fn => 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Sb,
    Psum,
    Dram,
}

/// How a location is cut into cells.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub(super) row_parts: u32,
    pub(super) col_parts: u32,
    /// Whether even and odd columns are cells of their own.
    pub(super) parity: bool,
    /// Kernel inputs are never written, so nothing on them has to be ordered.
    pub(super) tracked: bool,
}

impl Grid {
    pub(super) const fn new(row_parts: u32, col_parts: u32) -> Grid {
        Grid { row_parts, col_parts, parity: false, tracked: true }
    }

    pub(super) const fn with_parity(self) -> Grid {
        Grid { parity: true, ..self }
    }

    pub(super) const fn read_only(self) -> Grid {
        Grid { tracked: false, ..self }
    }

    fn cells(&self) -> u32 {
        if self.tracked { self.row_parts * self.col_parts * (1 + u32::from(self.parity)) } else { 0 }
    }
}

/// A placed memory location with the set that owns it.
pub(super) struct Location {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) space: Space,
    pub(super) dtype: Dtype,
    /// Rows (partitions) and elements in a row.
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) addr: u64,
    pub(super) bank: u32,
    pub(super) grid: Grid,
    pub(super) first_cell: u32,
    /// The members of an operand from `dtype` to the colon of `offset`.
    operand_text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LocationId(pub(super) u16);

/// All locations, placed one after the other in their memory.
pub(super) struct Memory {
    pub(super) locations: Vec<Location>,
    pub(super) cells: u32,
    sb_next: u64,
    sb_limit: u64,
    arena_next: u64,
    external_next: u64,
}

impl Memory {
    pub(super) fn new(machine: &Machine) -> Memory {
        Memory {
            locations: Vec::new(),
            cells: 0,
            sb_next: 0,
            sb_limit: machine.sb_bytes,
            arena_next: 0,
            external_next: 1 << 32,
        }
    }

    /// A state buffer tile on all partitions.
    pub(super) fn sb(&mut self, name: String, dtype: Dtype, cols: u32, grid: Grid) -> LocationId {
        let bytes = u64::from(cols) * dtype.bytes();
        let addr = self.sb_next;
        self.sb_next = (addr + bytes).next_multiple_of(32);
        assert!(self.sb_next <= self.sb_limit, "the pools exceed the state buffer");
        self.add(name, "Internal", Space::Sb, dtype, PARTITIONS, cols, (addr, 0), grid)
    }

    /// A whole PSUM bank of float32.
    pub(super) fn bank(&mut self, name: String, bank: u32, grid: Grid) -> LocationId {
        let cols = (PSUM_BANK_BYTES / Dtype::F32.bytes()) as u32;
        self.add(name, "Internal", Space::Psum, Dtype::F32, PARTITIONS, cols, (0, bank), grid)
    }

    /// A DRAM tensor: kernel input or output, or `Internal` in the arena that spills share.
    pub(super) fn dram(
        &mut self,
        name: String,
        kind: &'static str,
        dtype: Dtype,
        shape: (u32, u32),
        grid: Grid,
    ) -> LocationId {
        let bytes = u64::from(shape.0) * u64::from(shape.1) * dtype.bytes();
        let next = if kind == "Internal" { &mut self.arena_next } else { &mut self.external_next };
        let addr = *next;
        *next = (addr + bytes).next_multiple_of(512);
        self.add(name, kind, Space::Dram, dtype, shape.0, shape.1, (addr, 0), grid)
    }

    pub(super) fn get(&self, id: LocationId) -> &Location {
        &self.locations[usize::from(id.0)]
    }

    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        name: String,
        kind: &'static str,
        space: Space,
        dtype: Dtype,
        rows: u32,
        cols: u32,
        (addr, bank): (u64, u32),
        grid: Grid,
    ) -> LocationId {
        let id = LocationId(u16::try_from(self.locations.len()).expect("few locations"));
        let operand_text = format!(
            r#""dtype":"{}","kind":"physical_ap","memref":"{name}","memsetref":"{name}_set","offset":"#,
            dtype.name()
        );
        let first_cell = self.cells;
        self.cells += grid.cells();
        self.locations.push(Location {
            name,
            kind,
            space,
            dtype,
            rows,
            cols,
            addr,
            bank,
            grid,
            first_cell,
            operand_text,
        });
        id
    }
}

/// Which columns of a column part an operand takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    All,
    Even,
    Odd,
}

/// A union of cells of one location, as an access pattern shows it.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) location: LocationId,
    /// Half-open ranges of row and column parts.
    pub(super) row_parts: (u32, u32),
    pub(super) col_parts: (u32, u32),
    pub(super) columns: Columns,
    /// Elements of the innermost pair when the free dimension is shown as two pairs; 0: one pair.
    pub(super) inner: u32,
}

impl Operand {
    /// The whole of a location.
    pub(super) fn whole(memory: &Memory, location: LocationId) -> Operand {
        let grid = memory.get(location).grid;
        Operand {
            location,
            row_parts: (0, grid.row_parts),
            col_parts: (0, grid.col_parts),
            columns: Columns::All,
            inner: 0,
        }
    }

    pub(super) fn rows(self, from: u32, to: u32) -> Operand {
        Operand { row_parts: (from, to), ..self }
    }

    pub(super) fn cols(self, from: u32, to: u32) -> Operand {
        Operand { col_parts: (from, to), ..self }
    }

    pub(super) fn columns(self, columns: Columns) -> Operand {
        Operand { columns, ..self }
    }

    pub(super) fn inner(self, inner: u32) -> Operand {
        Operand { inner, ..self }
    }

    /// Elements in a row of this operand.
    pub(super) fn width(&self, memory: &Memory) -> u32 {
        let shape = self.shape(memory.get(self.location));
        shape.width
    }

    /// Numbers of the cells.
    pub(super) fn cells(&self, memory: &Memory) -> impl Iterator<Item = u32> + use<> {
        let location = memory.get(self.location);
        let grid = location.grid;
        let parities = match (grid.parity, self.columns) {
            (false, _) | (true, Columns::Even) => 0..1,
            (true, Columns::All) => 0..2,
            (true, Columns::Odd) => 1..2,
        };
        let per_part = 1 + u32::from(grid.parity);
        let (first, cols, rows) = (location.first_cell, self.col_parts, self.row_parts);
        let rows = if grid.tracked { rows.0..rows.1 } else { 0..0 };
        rows.flat_map(move |r| {
            let parities = parities.clone();
            (cols.0..cols.1).flat_map(move |c| {
                parities.clone().map(move |p| first + (r * grid.col_parts + c) * per_part + p)
            })
        })
    }

    /// The rows of this operand that descriptor `part` of `parts` moves, as JSON.
    pub(super) fn write(&self, memory: &Memory, text: &mut Text, part: u32, parts: u32) {
        let location = memory.get(self.location);
        let shape = self.shape(location);
        let first = shape.rows * part / parts;
        let rows = shape.rows * (part + 1) / parts - first;
        let offset = u64::from(shape.row + first) * u64::from(location.cols) + u64::from(shape.col);
        text.raw(r#"{"access_shape":["#);
        text.num(rows.into());
        let (outer, inner) = if self.inner == 0 || shape.width <= self.inner {
            (1, shape.width)
        } else {
            (shape.width / self.inner, self.inner)
        };
        text.raw(",");
        if outer > 1 {
            text.num(outer.into());
            text.raw(",");
        }
        text.num(inner.into());
        text.raw(r#"],"ap":[["#);
        text.num(location.cols.into());
        text.raw(",");
        text.num(rows.into());
        if outer > 1 {
            text.raw("],[");
            text.num((inner * shape.step).into());
            text.raw(",");
            text.num(outer.into());
        }
        text.raw("],[");
        text.num(shape.step.into());
        text.raw(",");
        text.num(inner.into());
        text.raw("]],");
        text.raw(&location.operand_text);
        text.num(offset);
        text.raw("}");
    }

    fn shape(&self, location: &Location) -> Shape {
        let grid = location.grid;
        let (row_size, col_size) = (location.rows / grid.row_parts, location.cols / grid.col_parts);
        let span = (self.col_parts.1 - self.col_parts.0) * col_size;
        let (first, step) = match self.columns {
            Columns::All => (0, 1),
            Columns::Even => (0, 2),
            Columns::Odd => (1, 2),
        };
        Shape {
            row: self.row_parts.0 * row_size,
            rows: (self.row_parts.1 - self.row_parts.0) * row_size,
            col: self.col_parts.0 * col_size + first,
            width: span / step,
            step,
        }
    }
}

/// A rectangle in elements.
struct Shape {
    row: u32,
    rows: u32,
    col: u32,
    width: u32,
    step: u32,
}

/// One element of `allocations` with its location.
pub(super) fn write_set(location: &Location, tensor_id: usize, text: &mut Text) {
    let name = &location.name;
    let row_bytes = u64::from(location.cols) * location.dtype.bytes();
    let shape = format!("{},{}", location.rows, location.cols);
    let (space, class, dims) = match location.space {
        Space::Sb => ("SB", "NeuronSBTensor", format!("{},{row_bytes}", location.rows)),
        Space::Psum => ("PSUM", "NeuronPSUMTensor", format!("{},{row_bytes}", location.rows)),
        Space::Dram => ("DRAM", "Tensor", format!("{}", u64::from(location.rows) * row_bytes)),
    };
    text.raw(&format!(
        r#"{{"Skind":"memory_location_set","addr_space":"Local","debug":{{"shape":[{shape}],"tensor_name":"{name}"}},"#
    ));
    text.raw(&format!(
        r#""dtype":"{}","kind":"{}","memorylocations":[{{"Skind":"memory_location","addr":{},"allocated":true,"#,
        location.dtype.name(),
        location.kind,
        location.addr
    ));
    text.raw(&format!(
        r#""bank":{},"base":0,"dims":[{dims}],"name":"{name}","origin":"Internal","pinned":false,"#,
        location.bank
    ));
    text.raw(&format!(
        r#""tensor_id":{tensor_id},"type":"{space}"}}],"name":"{name}_set","origin":"Internal","partition_dim":0,"#
    ));
    text.raw(&format!(r#""tensorId2MemLocSize":1,"tensor_class":"{class}","tensor_shape":[{shape}]}}"#));
}
