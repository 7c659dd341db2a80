//! Where the instructions of a block start their accesses: most dependencies are told to be about the same bytes by
//! that alone, so it is kept for those that come later in the block.

use bir::access::AccessPattern;
use bir::enums::InstructionType;
use bir::ids::{BlockId, Id, InstId, LocId};
use bir::operands::{Access, access_of};
use bir::records::MemoryLocation;
use bir::{Argument, Instruction, Module};
use smallvec::SmallVec;

use crate::rules::Rect;
use crate::view::{Inst, Unit};

/// An access that is always at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessStart {
    loc: LocId,
    /// First byte, from the start of the location.
    byte: u64,
    access: Access,
    touched: Option<Touched>,
}

/// A box of rows and bytes of an on-chip location, each byte of which an access touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    row: u32,
    rows: u32,
    byte: u32,
    bytes: u32,
    /// Whether that is all it touches; it then lies within its location.
    pub(crate) is_all: bool,
}

/// Accesses of an instruction, and whether it touches no more than its operands say.
pub(crate) type Accesses = (SmallVec<[AccessStart; 4]>, bool);

/// Kinds of accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Writes,
    MayRead,
}

impl Does {
    /// Whether an access is of the kind.
    pub(crate) fn has(self, access: Access) -> bool {
        match self {
            Does::Writes => access.writes(),
            Does::MayRead => access.may_read(),
        }
    }
}

/// Those of the instructions of a block that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    first: usize,
    /// By distance from the first instruction: where its accesses stand and how many there are, and whether it is
    /// plain. Ids of a block are neighbours in documents as they are read, but for those of the bodies between.
    spans: Vec<Option<(u32, u16, bool)>>,
    starts: Vec<AccessStart>,
}

impl Starts {
    /// Forgets what was kept, for a block of which nothing was looked at.
    pub(crate) fn reset(&mut self, module: &Module, block: BlockId) {
        let list = &module[block].instructions;
        let span = match (list.first(), list.last()) {
            (Some(first), Some(last)) => (last.index() + 1).saturating_sub(first.index()),
            _ => 0,
        };
        self.first = list.first().map_or(0, |first| first.index());
        self.spans.clear();
        self.spans.resize(span.min(list.len().saturating_mul(4)), None);
        self.starts.clear();
    }

    /// Keeps the accesses of an instruction. Says where they start, for [`since`](Self::since), and whether the
    /// instruction touches no more than its operands say.
    pub(crate) fn add(&mut self, inst: &Inst<'_>) -> (usize, bool) {
        let (from, is_plain) = (self.starts.len(), is_plain(inst.inst, inst.unit));
        for operand in &inst.operands {
            if let Some((loc, byte)) = operand.first {
                self.starts.push(AccessStart { loc, byte, access: operand.access, touched: operand.touched });
            }
        }
        let span = inst.id.index().checked_sub(self.first).and_then(|at| self.spans.get_mut(at));
        if let (Some(span), Ok(start), Ok(count)) =
            (span, u32::try_from(from), u16::try_from(self.starts.len() - from))
        {
            *span = Some((start, count, is_plain));
        }
        (from, is_plain)
    }

    /// What was kept since.
    pub(crate) fn since(&self, from: usize) -> &[AccessStart] {
        &self.starts[from..]
    }

    /// What was kept of an instruction.
    pub(crate) fn get(&self, inst: InstId) -> Option<(&[AccessStart], bool)> {
        let (from, count, is_plain) = (*self.spans.get(inst.index().checked_sub(self.first)?)?)?;
        Some((&self.starts[from as usize..][..usize::from(count)], is_plain))
    }
}

/// Accesses of an instruction of which nothing was kept.
pub(crate) fn accesses(module: &Module, inst: InstId) -> Accesses {
    let inst = &module[inst];
    let starts = inst
        .operands()
        .filter_map(|(list, index, argument)| AccessStart::of(argument, access_of(inst, list, index)));
    (starts.collect(), is_plain(inst, Unit::of(inst.opcode())))
}

fn is_plain(inst: &Instruction, unit: Unit) -> bool {
    matches!(unit, Unit::Engine | Unit::Dma)
        && inst.body().is_empty()
        && inst.opcode() != InstructionType::DMATrigger
}

/// Whether an access of the one that does the first and one of the other that does the second plainly share bytes.
pub(crate) fn share(
    (before, first): (&[AccessStart], Does),
    (after, second): (&[AccessStart], Does),
) -> bool {
    before.iter().filter(|start| first.has(start.access)).any(|a| {
        after.iter().any(|b| {
            a.loc == b.loc && (a.byte == b.byte || meet(a.touched, b.touched)) && second.has(b.access)
        })
    })
}

impl AccessStart {
    fn of(argument: &Argument, access: Access) -> Option<AccessStart> {
        first(argument).map(|(loc, byte)| AccessStart { loc, byte, access, touched: None })
    }
}

/// The location of an access and the byte in it at which it starts, when that is always the same.
pub(crate) fn first(argument: &Argument) -> Option<(LocId, u64)> {
    let Argument::PhysicalAp(ap) = argument else { return None };
    if ap.dynamic_ap_info.is_some() {
        return None;
    }
    Some((ap.memref?.id()?, ap.offset.checked_mul(ap.dtype?.size_bytes()?.into())?))
}

fn meet(a: Option<Touched>, b: Option<Touched>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.meets(b))
}

impl Touched {
    /// What an access from element `at` on touches. Element `e` lies in row `e / pitch` of the location.
    pub(crate) fn of(
        at: i64,
        pattern: &AccessPattern,
        size: u64,
        pitch: i64,
        loc: &MemoryLocation,
    ) -> Option<Touched> {
        let rows = pattern.get(0)?;
        let (row, column) = (u32::try_from(at / pitch).ok()?, u32::try_from(at % pitch).ok()?);
        let (pitch, size) = (u32::try_from(pitch).ok()?, u32::try_from(size).ok()?);
        let count =
            if rows.num > 1 && rows.step == i64::from(pitch) { u32::try_from(rows.num).ok()? } else { 1 };
        // The run of elements from the first on, as long as each dimension goes on where the ones within end.
        let (mut run, mut is_run) = (1u32, true);
        for pair in (1..pattern.len()).rev().filter_map(|at| pattern.get(at)) {
            if pair.num < 1 {
                return None;
            }
            is_run &= pair.num == 1 || pair.step == i64::from(run);
            if is_run {
                run = run.checked_mul(u32::try_from(pair.num).ok()?)?;
            }
        }
        let within = row.checked_add(count)? <= u32::try_from(loc.partitions()?).ok()?
            && column.checked_add(run)? <= pitch;
        if rows.num < 1 || !within {
            return None;
        }
        Some(Touched {
            row,
            rows: count,
            byte: column.checked_mul(size)?,
            bytes: run.checked_mul(size)?,
            is_all: is_run && (rows.num == 1 || rows.step == i64::from(pitch)),
        })
    }

    /// The same box, in the memory in which its location lies.
    pub(crate) fn within(self, location: Rect) -> Option<Rect> {
        Some(Rect {
            row: location.row.checked_add(self.row.into())?,
            rows: self.rows.into(),
            byte: location.byte.checked_add(self.byte.into())?,
            bytes: self.bytes.into(),
            ..location
        })
    }

    /// Whether the boxes, of accesses to one location, share a byte.
    pub(crate) fn meets(self, other: Touched) -> bool {
        let meet = |a: u32, a_len: u32, b: u32, b_len: u32| {
            a < b.saturating_add(b_len) && b < a.saturating_add(a_len)
        };
        meet(self.row, self.rows, other.row, other.rows)
            && meet(self.byte, self.bytes, other.byte, other.bytes)
    }
}
