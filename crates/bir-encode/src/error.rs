//! Why an instruction has no words, with the operand and the limit.

use bir::enums::InstructionType;
use bir::ids::InstId;
use bir::{Module, OpenEnum, OperandList};
use tpb_isa::build::BuildError;
use tpb_isa::maps::MapError;
use tpb_isa::{Generation, PlaceError, SyncError};

/// An instruction that cannot be encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodeError {
    /// The instruction.
    pub inst: InstId,
    /// The operand, when it is about one.
    pub operand: Option<(OperandList, usize)>,
    /// Why.
    pub reason: Reason,
}

impl EncodeError {
    /// The error with names, on one line.
    pub fn describe(&self, module: &Module) -> String {
        let inst = &module[self.inst];
        let (name, op) = (module.str(inst.name), inst.opcode().text(&module.names));
        match self.operand {
            Some((list, index)) => format!("{name} ({op}), {}[{index}]: {}", list.key(), self.reason),
            None => format!("{name} ({op}): {}", self.reason),
        }
    }
}

/// Why something cannot be encoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// A base class.
    #[error("it is an abstract base, of which no instruction is made")]
    Abstract,
    /// An op that a pass replaces before code generation.
    #[error("it is lowered before encoding: {0}")]
    Lowered(&'static str),
    /// An op that has no words whose bodies are known, or none at all.
    #[error("it cannot be encoded: {0}")]
    Unsupported(&'static str),
    /// An op of a newer or older compiler.
    #[error("the op is not known")]
    UnknownOp,
    /// The op has no words on the generation.
    #[error("it has no words on {0}")]
    NotOnGeneration(Generation),
    /// A condition of the tables cannot be decided, or none holds.
    #[error(
        "its words on {0} cannot be chosen: a key that decides is an expression, unset, or has no form here"
    )]
    NoSelection(Generation),
    /// No stream.
    #[error("engine {0} has no instruction stream; assign PE, Activation, Pool, DVE, SP or ALL")]
    NoStream(&'static str),
    /// An operand is missing.
    #[error("{list}[{index}] is missing", list = list.key())]
    MissingOperand {
        /// The list.
        list: OperandList,
        /// The place in it.
        index: usize,
    },
    /// A key has an affine expression.
    #[error("key {0} is an expression; a word holds a constant")]
    Affine(&'static str),
    /// A key is unset.
    #[error("key {0} is not set")]
    Unset(&'static str),
    /// An enum name that the tables do not have.
    #[error("{what} {name:?} is not known")]
    UnknownName {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A number outside the range of its field.
    #[error("{what} is {value}, but {min} to {max} fit")]
    Range {
        /// The number.
        what: &'static str,
        /// Its value.
        value: i128,
        /// The least that fits.
        min: i128,
        /// The greatest that fits.
        max: i128,
    },
    /// The bytes of an access run past the end of the partition.
    #[error(
        "it touches bytes {first:#x} to {last:#x} of each partition, which has {limit:#x} ({memory}, {generation})"
    )]
    PastPartition {
        /// Lowest byte.
        first: i128,
        /// Highest byte.
        last: i128,
        /// Bytes of the partition.
        limit: u64,
        /// `SB` or `PSUM`.
        memory: &'static str,
        /// The generation.
        generation: Generation,
    },
    /// The partitions of an access do not exist.
    #[error("it touches partitions {first} to {last}; there are 0 to 127")]
    Partitions {
        /// First partition.
        first: i128,
        /// Last partition.
        last: i128,
    },
    /// The address does not suit the element type.
    #[error("address {addr} is not aligned to the {align} bytes of its type")]
    Alignment {
        /// The address.
        addr: String,
        /// The alignment in bytes.
        align: u32,
    },
    /// The pattern has more dimensions than the slot.
    #[error(
        "it has {dims} free dimensions of more than one element, but slot {slot} of {opcode} has {limit}"
    )]
    Dimensions {
        /// Dimensions that are left.
        dims: usize,
        /// Name of the slot.
        slot: &'static str,
        /// Mnemonic.
        opcode: &'static str,
        /// Dimensions of the slot.
        limit: usize,
    },
    /// Anything else about an operand, a key or the instruction.
    #[error("{0}")]
    Invalid(String),
    /// A name that has no byte.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A value that does not fit its field.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A place that does not exist.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A wait or an update that no word can carry.
    #[error(transparent)]
    Sync(#[from] SyncError),
}

/// A [`Reason`] with the operand it is about, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) operand: Option<(OperandList, usize)>,
    pub(crate) reason: Reason,
}

pub(crate) type Result<T, E = Box<Fault>> = std::result::Result<T, E>;

impl<R: Into<Reason>> From<R> for Box<Fault> {
    fn from(reason: R) -> Self {
        Box::new(Fault { operand: None, reason: reason.into() })
    }
}

/// A fault in words.
pub(crate) fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Reason::Invalid(text.into()).into())
}

/// Says which operand a fault is about.
pub(crate) trait On<T> {
    fn on(self, operand: (OperandList, usize)) -> Result<T>;
}

impl<T, E: Into<Box<Fault>>> On<T> for std::result::Result<T, E> {
    fn on(self, operand: (OperandList, usize)) -> Result<T> {
        self.map_err(|error| {
            let mut fault = error.into();
            fault.operand.get_or_insert(operand);
            fault
        })
    }
}

/// Why an op has no words whatever its operands are; `None` for ops that can have some.
pub(crate) fn never(op: InstructionType) -> Option<Reason> {
    use InstructionType as T;
    Some(match op {
        T::Generic | T::MatmultBase | T::DMA | T::Collective | T::DMADescriptor | T::Terminator => {
            Reason::Abstract
        }
        T::GenericCopy => Reason::Lowered("it becomes TensorCopy, DMACopy, Load or Save"),
        T::GenericRelu => Reason::Lowered("it becomes Activation"),
        T::AbstractCopy => Reason::Lowered("it becomes TensorCopy, DMACopy, Load or Save"),
        T::TensorCopyDynamicSrc | T::TensorCopyDynamicDst => {
            Reason::Lowered("it becomes TensorCopy with an address register")
        }
        T::GenericIndirectLoad | T::GenericIndirectSave => {
            Reason::Lowered("it becomes IndirectLoad or IndirectSave")
        }
        T::Select => Reason::Lowered("it becomes CopyPredicated"),
        T::Rand => Reason::Lowered("it becomes Memset, Rng or Rand2"),
        T::Break => Reason::Lowered("it becomes a branch"),
        T::TongaReduceMacroSymbolic => Reason::Lowered("it is unrolled"),
        T::Loop | T::DynamicForLoop | T::DoWhile => {
            Reason::Lowered("loops become blocks with branches, or are unrolled")
        }
        T::BIRKernel | T::NKIKernel | T::NKIKLIRKernel => {
            Reason::Lowered("the body of the kernel is spliced in")
        }
        T::DevicePrint => Reason::Lowered("it becomes a DMA to a buffer"),
        T::DMABlock
        | T::DMADescriptorCopy
        | T::DMADescriptorCCE
        | T::DMADescriptorTranspose
        | T::DMADescriptorReplicate => {
            Reason::Unsupported("descriptors stand in the JSON of a queue, not in a stream of instructions")
        }
        T::ReadVarAddr => Reason::Unsupported("no word of it is known"),
        T::BranchHint => Reason::Unsupported("the fields of BRANCH_PREFETCH_HINT (0xdd) are not known"),
        T::CollectiveSend | T::CollectiveRecv => {
            Reason::Unsupported("two sources give SEND_RECV (0xcb) different fields")
        }
        T::CollectiveCompute => Reason::Unsupported(
            "the extension word (0xda) behind PSEUDO_TRIGGER_COLLECTIVE2 (0xd9) has fields at unknown offsets",
        ),
        T::IndirectSaveAccumulate => {
            Reason::Unsupported("the pattern slots of EMBEDDING_UPDATE (0xca) are not known")
        }
        T::BNBackprop2 => {
            Reason::Unsupported("the scalars of BatchNormParamLoad2 (0x8e) lie at unknown offsets")
        }
        T::Other(_) => Reason::UnknownOp,
        _ => return None,
    })
}
