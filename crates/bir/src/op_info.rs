//! Facts of every op beside its keys: class, category, engines, architectures, words, and the sets of instructions
//! that passes ask for (spec: opcodes 1, 2).

use crate::condition::Condition;
use crate::conf::{Conf, Known};
use crate::generated::enums::{ArchLevel, EngineType, InstructionType};
use crate::generated::op_info::OPS;
pub use crate::generated::op_info::{Category, Family, Predicate};
use crate::inst::Instruction;
use crate::open_enum::OpenEnum;

/// Facts of one op, a row of the table.
///
/// ```
/// use bir::enums::{EngineType, InstructionType};
/// use bir::op_info::OpInfo;
/// let save = OpInfo::of(InstructionType::Save).unwrap();
/// assert!(save.is_a(InstructionType::Load) && save.is_a(InstructionType::DMA));
/// let activation = OpInfo::of(InstructionType::Activation).unwrap();
/// assert_eq!(activation.default_engine.unwrap().value, EngineType::Activation);
/// ```
#[derive(Debug)]
pub struct OpInfo {
    /// The op.
    pub op: InstructionType,
    /// Name of its class in the reference.
    pub class: &'static str,
    /// The op whose class it derives from; `None` for children of the root class.
    pub parent: Option<InstructionType>,
    /// Ops of one kind.
    pub family: Family,
    /// What becomes of it.
    pub category: Category,
    /// Whether it is a base class that no document has.
    pub is_abstract: bool,
    /// Whether its writer is the bare header.
    pub header_only: bool,
    /// Whether it has no keys of its own.
    pub keyless: bool,
    /// Whether it holds blocks.
    pub nested_body: bool,
    /// Whether it ends a block.
    pub terminator: bool,
    /// Opcode bytes that its words can have, on generations 2, 3 and 4.
    pub wire: [&'static [u8]; 3],
    /// How the bytes are chosen, in words; may be empty.
    pub wire_select: &'static str,
    /// Which opcodes the words of an instruction have; empty when only prose says it. spec: isa-bundle 9.1
    pub select: &'static [Select],
    /// Number of words.
    pub bundles: Bundles,
    /// Engine that its constructor gives.
    pub default_engine: Option<Known<EngineType>>,
    /// Engines that the reference's verifier accepts, beside Unassigned and ALL; `None` when not published.
    pub engines: Option<Known<&'static [EngineType]>>,
    /// Lowest architecture that has it.
    pub arch_min: Option<Known<ArchLevel>>,
    /// Highest architecture that has it.
    pub arch_max: Option<Known<ArchLevel>>,
    /// How sure the row is.
    pub conf: Conf,
    /// Remark; may be empty.
    pub note: &'static str,
}

/// The opcodes of the words of an instruction, in stream order, when a condition holds.
#[derive(Clone, Copy, Debug)]
pub struct Select {
    /// The condition.
    pub when: Condition,
    /// The only generation for which the row counts; `None` for all.
    pub generation: Option<u32>,
    /// Opcode bytes; none when such an instruction cannot be encoded.
    pub words: &'static [u8],
}

/// Number of 64-byte words of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundles {
    /// Fewest.
    pub min: u32,
    /// Most; `None` without bound.
    pub max: Option<u32>,
    /// Whether every active engine gets that many.
    pub per_engine: bool,
}

impl OpInfo {
    /// The row of an op; `None` for a name that the table does not have.
    pub fn of(op: InstructionType) -> Option<&'static OpInfo> {
        OPS.get(op.ordinal()? as usize)
    }

    /// The rows of all ops, by ordinal.
    pub fn all() -> &'static [OpInfo] {
        &OPS
    }

    /// Whether its class is that of `base` or derives from it. This follows the class tree; the is-a test of the
    /// reference for Generic is narrower, see [`Predicate::Generic`].
    pub fn is_a(&self, base: InstructionType) -> bool {
        let mut class = Some(self);
        while let Some(info) = class {
            if info.op == base {
                return true;
            }
            class = info.parent.and_then(OpInfo::of);
        }
        false
    }

    /// A row with nothing in the columns that are seldom filled.
    pub(crate) const fn plain(
        op: InstructionType,
        class: &'static str,
        family: Family,
        category: Category,
        bundles: Bundles,
        conf: Conf,
    ) -> OpInfo {
        OpInfo {
            op,
            class,
            parent: None,
            family,
            category,
            is_abstract: false,
            header_only: false,
            keyless: false,
            nested_body: false,
            terminator: false,
            wire: [&[]; 3],
            wire_select: "",
            select: &[],
            bundles,
            default_engine: None,
            engines: None,
            arch_min: None,
            arch_max: None,
            conf,
            note: "",
        }
    }

    /// Opcode bytes of the words of an instruction of this op on a generation (2 to 4), in stream order: the first row
    /// of [`OpInfo::select`] that holds. `None` when no row does, or that depends on an affine value.
    ///
    /// ```
    /// use bir::op_info::OpInfo;
    /// use bir::{Instruction, Op, Sym, enums::InstructionType, ids::{BlockId, Id}};
    /// let inst = Instruction::new(Sym::EMPTY, BlockId::new(0), Op::new(InstructionType::MaxIndex));
    /// let info = OpInfo::of(InstructionType::MaxIndex).unwrap();
    /// assert_eq!(info.selected_words(&inst, 3), Some(&[0x6d, 0x6e][..]));
    /// ```
    pub fn selected_words(&self, inst: &Instruction, generation: u32) -> Option<&'static [u8]> {
        for row in self.select {
            if row.generation.is_none_or(|only| only == generation) && row.when.holds(inst)? {
                return Some(row.words);
            }
        }
        None
    }

    /// Opcode bytes that its words can have on a generation (2 to 4); none on others.
    pub fn wire_bytes(&self, generation: u32) -> &'static [u8] {
        let at = generation.checked_sub(2).map(|at| at as usize);
        at.and_then(|at| self.wire.get(at)).copied().unwrap_or_default()
    }
}

impl InstructionType {
    /// Whether its class is that of `base` or derives from it. See [`OpInfo::is_a`].
    pub fn is_a(self, base: InstructionType) -> bool {
        self == base || OpInfo::of(self).is_some_and(|info| info.is_a(base))
    }
}

impl Predicate {
    /// Whether an instruction is in the set. `None` when that depends on an affine value or an unknown name.
    ///
    /// ```
    /// use bir::op_info::Predicate;
    /// use bir::{Instruction, Op, Sym, enums::CopyMode, ids::{BlockId, Id}, ops::DMACopy};
    /// let transpose = DMACopy { mode: CopyMode::Transpose, ..Default::default() };
    /// let inst = Instruction::new(Sym::EMPTY, BlockId::new(0), Op::DMACopy(Box::new(transpose)));
    /// assert_eq!(Predicate::TransposeDma.holds(&inst), Some(true));
    /// assert_eq!(Predicate::CopyOrCastDma.holds(&inst), Some(false));
    /// ```
    pub fn holds(self, inst: &Instruction) -> Option<bool> {
        self.when(inst.opcode()).map_or(Some(false), |when| when.holds(inst))
    }

    /// When instructions of an op are in the set; `None` when they never are.
    pub fn when(self, op: InstructionType) -> Option<Condition> {
        self.members().iter().find(|(member, _)| *member == op).map(|(_, when)| *when)
    }
}
