//! Operand roles: what each place of an instruction's operand lists is, what may stand there, and whether it is
//! read or written (spec: opcodes 11).

use std::fmt;

use crate::argument::Argument;
use crate::condition::Condition;
use crate::conf::Conf;
use crate::generated::enums::{Dtype, InstructionType, MemoryType};
use crate::generated::operands::OPERANDS;
pub use crate::generated::operands::Role;
use crate::inst::{Instruction, OperandList};
use crate::open_enum::OpenEnum;

/// The operands of one op, a row of the table.
///
/// ```
/// use bir::enums::InstructionType;
/// use bir::operands::{Operands, Role};
/// use bir::OperandList;
/// let matmult = Operands::of(InstructionType::Matmult).unwrap();
/// let roles: Vec<_> = (0..2).map(|at| matmult.slots_at(OperandList::Ins, at).next().unwrap().role).collect();
/// assert_eq!(roles, [Role::Moving, Role::Stationary]);
/// assert!(!matmult.count(OperandList::Ins).unwrap().accepts(3));
/// ```
#[derive(Debug)]
pub struct Operands {
    /// The op.
    pub op: InstructionType,
    /// How much is known.
    pub coverage: Coverage,
    pub(crate) ins: Option<Count>,
    pub(crate) indirection_ins: Option<Count>,
    pub(crate) outs: Option<Count>,
    /// Inputs that the encoder needs, when that is more than the minimum.
    pub ins_encoder: Option<u32>,
    /// How sure the counts are: a count out of bounds is an error when confirmed, else a warning.
    pub count_conf: Conf,
    /// How sure the row is.
    pub conf: Conf,
    /// Where the row comes from.
    pub source: &'static str,
    /// Remark; may be empty.
    pub note: &'static str,
    /// The places. Those of one index differ in form.
    pub slots: &'static [Slot],
}

/// How much is known of an op's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// Every place and count.
    Full,
    /// Some place or count is inferred.
    Partial,
    /// There are no operands.
    None,
    /// Nothing.
    Unknown,
    /// The op is never an instruction.
    Abstract,
}

/// Bounds of a number of operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Fewest.
    pub min: u32,
    /// Most; `None` when there is no maximum.
    pub max: Option<u32>,
}

impl Count {
    /// Whether a number is within the bounds.
    pub fn accepts(self, count: usize) -> bool {
        count >= self.min as usize && self.max.is_none_or(|max| count <= max as usize)
    }
}

/// Bounds in words: `2`, `2 or 3`, `2 to 4`, `at least 1`.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, None) => write!(f, "at least {min}"),
            (min, Some(max)) if min == max => write!(f, "{min}"),
            (min, Some(max)) if min + 1 == max => write!(f, "{min} or {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
        }
    }
}

/// One place of an operand list.
#[derive(Debug)]
pub struct Slot {
    /// The list.
    pub list: OperandList,
    /// The place in it.
    pub index: SlotIndex,
    /// What the operand is to the instruction.
    pub role: Role,
    /// When the place has this meaning, if that depends on the instruction.
    pub form: Option<Form>,
    /// Argument kinds that may stand here.
    pub kinds: Kinds,
    /// Memories that the operand may be in; empty for places of immediates.
    pub memories: Memories,
    /// Types that the operand may have; empty when any.
    pub dtypes: &'static [Dtype],
    /// Whether it may be missing.
    pub optional: bool,
    /// When an output is read as well as written; `None` when it never is, and for inputs.
    pub also_read: Option<Condition>,
    /// The same in words; may be empty.
    pub access_when: &'static str,
    /// Fields of instruction words that the operand fills.
    pub wire: &'static [&'static str],
    /// How sure the row is: what it does not accept is an error when confirmed, else a warning.
    pub conf: Conf,
    /// Where the row comes from, when not from where the op's row does; may be empty.
    pub source: &'static str,
    /// Remark; may be empty.
    pub note: &'static str,
}

/// The place of a [`Slot`] in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotIndex {
    /// One place.
    At(u8),
    /// Every place that no other slot of the list names.
    Rest,
}

/// When a place has the meaning of its row.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The condition in words.
    pub words: &'static str,
    /// The condition.
    pub when: Condition,
}

/// What an instruction does to an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Reads and writes it: old contents matter.
    ReadWrite,
    /// Writes it, and whether it also reads it is not known before the program runs. Ordering checks must assume
    /// it does.
    WriteMaybeRead,
}

impl Access {
    /// Whether old contents may matter.
    pub fn may_read(self) -> bool {
        self != Access::Write
    }

    /// Whether it is written.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

impl Operands {
    /// The row of an op; `None` for a name that the table does not have.
    pub fn of(op: InstructionType) -> Option<&'static Operands> {
        OPERANDS.get(op.ordinal()? as usize)
    }

    /// Bounds of the length of a list; `None` when unknown.
    pub fn count(&self, list: OperandList) -> Option<Count> {
        match list {
            OperandList::Ins => self.ins,
            OperandList::IndirectionIns => self.indirection_ins,
            OperandList::Outs => self.outs,
        }
    }

    /// The rows of a place: several when its meaning depends on a key, none when the table does not know it.
    pub fn slots_at(&self, list: OperandList, index: usize) -> impl Iterator<Item = &'static Slot> + use<> {
        let slots = self.slots;
        // The rows of the rest of a list stand behind those that name a place of it.
        let mut named = false;
        slots.iter().filter(move |slot| {
            let is_here = slot.list == list && slot.index.is(index);
            named |= is_here;
            is_here || !named && slot.list == list && slot.index == SlotIndex::Rest
        })
    }

    /// The row of a place of an instruction, the one whose form holds. `None` when the table does not know the
    /// place, or when the form depends on an affine value.
    pub fn slot_of(&self, inst: &Instruction, list: OperandList, index: usize) -> Option<&'static Slot> {
        for slot in self.slots_at(list, index) {
            match slot.form.map_or(Some(true), |form| form.when.holds(inst)) {
                Some(true) => return Some(slot),
                Some(false) => {}
                None => return None,
            }
        }
        None
    }
}

impl SlotIndex {
    fn is(self, index: usize) -> bool {
        matches!(self, SlotIndex::At(at) if usize::from(at) == index)
    }
}

impl Slot {
    /// Whether an argument's kind may stand here.
    pub fn accepts_kind(&self, argument: &Argument) -> bool {
        self.kinds.has(Kinds::of(argument))
    }

    /// Whether an operand in a memory may stand here.
    pub fn accepts_memory(&self, memory: MemoryType) -> bool {
        Memories::of(memory).is_some_and(|memory| self.memories.has(memory))
    }

    /// Whether an operand of a type may stand here.
    pub fn accepts_dtype(&self, dtype: Dtype) -> bool {
        self.dtypes.is_empty() || self.dtypes.contains(&dtype)
    }

    /// What the instruction does to the operand.
    pub fn access(&self, inst: &Instruction) -> Access {
        if self.list != OperandList::Outs {
            return Access::Read;
        }
        match self.also_read.map_or(Some(false), |when| when.holds(inst)) {
            Some(true) => Access::ReadWrite,
            Some(false) => Access::Write,
            None => Access::WriteMaybeRead,
        }
    }

    /// A row with nothing in the columns that are seldom filled.
    pub(crate) const fn plain(
        list: OperandList,
        index: SlotIndex,
        role: Role,
        kinds: Kinds,
        memories: Memories,
        conf: Conf,
    ) -> Slot {
        Slot {
            list,
            index,
            role,
            form: None,
            kinds,
            memories,
            dtypes: &[],
            optional: false,
            also_read: None,
            access_when: "",
            wire: &[],
            conf,
            source: "",
            note: "",
        }
    }
}

/// The row of an operand of an instruction. See [`Operands::slot_of`].
pub fn slot_of(inst: &Instruction, list: OperandList, index: usize) -> Option<&'static Slot> {
    Operands::of(inst.opcode())?.slot_of(inst, list, index)
}

/// The role of an operand of an instruction, also when the form is open but all forms agree.
pub fn role_of(inst: &Instruction, list: OperandList, index: usize) -> Option<Role> {
    let operands = Operands::of(inst.opcode())?;
    if let Some(slot) = operands.slot_of(inst, list, index) {
        return Some(slot.role);
    }
    let mut roles = operands.slots_at(list, index).map(|slot| slot.role);
    let first = roles.next()?;
    roles.all(|role| role == first).then_some(first)
}

/// What an instruction does to an operand. Where the table knows nothing (an unknown op, a place beyond its rows),
/// inputs are read and outputs written; an output of an unknown op may be read as well.
pub fn access_of(inst: &Instruction, list: OperandList, index: usize) -> Access {
    if list != OperandList::Outs {
        return Access::Read;
    }
    let Some(operands) = Operands::of(inst.opcode()) else { return Access::WriteMaybeRead };
    let mut accesses = operands.slots_at(list, index).map(|slot| slot.access(inst));
    let Some(first) = accesses.next() else { return Access::Write };
    // Rows of one place differ in role, seldom in access; what they disagree about stays open.
    if accesses.all(|access| access == first) { first } else { Access::WriteMaybeRead }
}

macro_rules! flag_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$flag_doc:meta])* $flag:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(u8);

        impl $name {
            /// Nothing.
            pub const NONE: $name = $name(0);
            flag_set!(@flags $name, 1u8; $($(#[$flag_doc])* $flag)*);
            const NAMES: &'static [&'static str] = &[$($text),*];

            /// Both sets together.
            pub const fn or(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }

            /// Whether all of `other` is in the set.
            pub fn has(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether nothing is in the set.
            pub fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The names, in the order of the tables.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                Self::NAMES.iter().enumerate().filter(move |(at, _)| self.0 >> at & 1 == 1).map(|(_, name)| *name)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.names()).finish()
            }
        }
    };
    (@flags $name:ident, $bit:expr; $(#[$doc:meta])* $flag:ident $($rest:tt)*) => {
        $(#[$doc])*
        pub const $flag: $name = $name($bit);
        flag_set!(@flags $name, $bit << 1; $($rest)*);
    };
    (@flags $name:ident, $bit:expr;) => {};
}

flag_set! {
    /// A set of argument kinds.
    Kinds {
        /// `physical_ap`
        PHYSICAL_AP = "physical_ap",
        /// `symbolic_ap`
        SYMBOLIC_AP = "symbolic_ap",
        /// `symbolic_pwap`
        SYMBOLIC_PWAP = "symbolic_pwap",
        /// `register_ap`
        REGISTER_AP = "register_ap",
        /// `imm_value`
        IMM_VALUE = "imm_value",
        /// `symbolic_imm_value`
        SYMBOLIC_IMM_VALUE = "symbolic_imm_value",
        /// `imm_array`
        IMM_ARRAY = "imm_array",
        /// `register_access`
        REGISTER_ACCESS = "register_access",
    }
}

flag_set! {
    /// A set of memories.
    Memories {
        /// Device memory.
        DRAM = "DRAM",
        /// State buffer.
        SB = "SB",
        /// Partial-sum buffer.
        PSUM = "PSUM",
        /// Registers, which `register_access` operands name.
        REG = "REG",
    }
}

impl Kinds {
    /// The kind of an argument.
    pub fn of(argument: &Argument) -> Kinds {
        match argument {
            Argument::PhysicalAp(_) => Kinds::PHYSICAL_AP,
            Argument::SymbolicAp(arg) if arg.pwap => Kinds::SYMBOLIC_PWAP,
            Argument::SymbolicAp(_) => Kinds::SYMBOLIC_AP,
            Argument::RegisterAp(_) => Kinds::REGISTER_AP,
            Argument::ImmValue(_) => Kinds::IMM_VALUE,
            Argument::SymbolicImmValue(_) => Kinds::SYMBOLIC_IMM_VALUE,
            Argument::ImmArray(_) => Kinds::IMM_ARRAY,
            Argument::RegisterAccess(_) => Kinds::REGISTER_ACCESS,
        }
    }
}

impl Memories {
    /// The memory of a location's type; `None` for types that are no place of operands.
    pub fn of(memory: MemoryType) -> Option<Memories> {
        Some(match memory {
            MemoryType::DRAM => Memories::DRAM,
            MemoryType::SB => Memories::SB,
            MemoryType::PSUM => Memories::PSUM,
            MemoryType::REG => Memories::REG,
            _ => return None,
        })
    }
}
