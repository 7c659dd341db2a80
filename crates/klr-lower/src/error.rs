//! Why a kernel cannot be lowered, with the statement at fault.

use std::fmt;

/// Lowering failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file holds no Core kernel.
    #[error("{contents} contents have no statements: only kernel and lnc contents are lowered")]
    NotAKernel {
        /// Name of the contents.
        contents: &'static str,
    },
    /// The kernel has several bodies, and none was chosen.
    #[error("the kernel has a body for each of {cores} cores, 0 to {}: one has to be chosen", cores - 1)]
    CoreNeeded {
        /// Number of bodies.
        cores: usize,
    },
    /// The kernel has no body for the core.
    #[error("there is no body for core {core}: the kernel has {cores}")]
    NoSuchCore {
        /// The core that was asked for.
        core: usize,
        /// Number of bodies.
        cores: usize,
    },
    /// Statements, or other parts of the kernel, cannot be lowered. All of them with
    /// [`Options::keep_going`](crate::Options::keep_going), else the first.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<Problem>),
}

/// Something that cannot be lowered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// The statement; `None` for what is wrong with a block or the kernel.
    pub statement: Option<Statement>,
    /// Way from the file to the part at fault.
    pub path: String,
}

/// A statement, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Name of the operator in the schema.
    pub operator: &'static str,
    /// Kind of the operator, from 1.
    pub kind: u8,
    /// Label of its block.
    pub block: String,
    /// Index in the block.
    pub index: usize,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// File and line of the source, where they are known.
    pub source: Option<String>,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "statement {} of block {:?}", self.index, self.block)?;
        if let Some(name) = &self.name {
            write!(f, ", {name:?}")?;
        }
        if let Some(source) = &self.source {
            write!(f, ", from {source}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.statement {
            Some(statement) => {
                let Statement { operator, kind, .. } = statement;
                write!(f, "{operator} (kind {kind}): {}: {statement}", self.kind)
            }
            None => self.kind.fmt(f),
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// One of the 16 operators without a BIR form (spec: klr 8).
    #[error("the operator has no BIR form")]
    Operator {
        /// Kind of the operator, from 1.
        kind: u8,
    },
    /// A reference that is neither abstract nor hbm.
    #[error("a {form} tensor reference is not lowered")]
    TensorForm {
        /// Constructor of the reference.
        form: &'static str,
    },
    /// An access that is neither simple nor birPattern.
    #[error("a {form} access is not lowered")]
    AccessForm {
        /// Constructor of the access.
        form: &'static str,
        /// Its number, from 1.
        kind: u8,
    },
    /// An immediate that is neither int32 nor float32.
    #[error("a {form} immediate is not lowered")]
    ImmediateForm {
        /// Constructor of the immediate.
        form: &'static str,
    },
    /// An immediate that must be an integer.
    #[error("{what} is not an integer")]
    NotAnInteger {
        /// Field of the record.
        what: &'static str,
    },
    /// An immediate that must be a float32.
    #[error("{what} is not a float32")]
    NotAFloat {
        /// Field of the record.
        what: &'static str,
    },
    /// A number that its place in BIR cannot hold.
    #[error("{what} is {value}, which the BIR form does not hold")]
    Range {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: i128,
    },
    /// A dynamic access where there may be none.
    #[error("a dynamic access is not allowed here")]
    Dynamic,
    /// An access with a scalar and a vector offset.
    #[error("an access has a scalar and a vector offset")]
    TwoOffsets,
    /// Dynamic accesses on both sides of a copy.
    #[error("source and destination are both dynamic")]
    BothDynamic,
    /// A vector offset in a copy on an engine.
    #[error("a copy takes no vector offset")]
    VectorOffset,
    /// A vector offset along another dimension than the first.
    #[error("a vector offset needs indirectDim 0, not {dim}")]
    VectorDim {
        /// The dimension.
        dim: i64,
    },
    /// A dimension that the tensor does not have.
    #[error("indirectDim {dim} is no dimension of a tensor that has {dims}")]
    IndirectDim {
        /// The dimension.
        dim: i64,
        /// Dimensions of the tensor.
        dims: usize,
    },
    /// A register that nothing writes.
    #[error("nothing writes register {name:?}")]
    Register {
        /// Its name.
        name: String,
    },
    /// A label that no block has.
    #[error("no block is labelled {label:?}")]
    Label {
        /// The label.
        label: String,
    },
    /// A label that two blocks have.
    #[error("two blocks are labelled {label:?}")]
    DuplicateLabel {
        /// The label.
        label: String,
    },
    /// An edge of a statement that is not there.
    #[error("no statement is named {name:?}")]
    Edge {
        /// The name.
        name: String,
    },
    /// A statement that would come after itself.
    #[error("statement {name:?} is ordered after itself")]
    SelfEdge {
        /// Its name.
        name: String,
    },
    /// A block in order that does not end in an unconditional branch.
    #[error("noReorder block {label:?} does not end in an unconditional branch")]
    NoReorder {
        /// Its label.
        label: String,
    },
    /// The command LoadAccumulate.
    #[error("LoadAccumulate is not supported")]
    LoadAccumulate,
    /// A reducing activation with another operator than add.
    #[error("an activation accumulates with add, not {op}")]
    ActivationReduce {
        /// The operator.
        op: &'static str,
    },
    /// A number that is no mode of descriptor generation.
    #[error("there is no dgeMode {mode}")]
    DgeMode {
        /// The number.
        mode: u64,
    },
    /// A DMA that names an engine without hardware descriptor generation.
    #[error("engine {engine} needs dgeMode 2, not {mode}")]
    DmaEngine {
        /// The engine.
        engine: &'static str,
        /// The mode.
        mode: u64,
    },
    /// A dynamic DMA without descriptor generation.
    #[error("a dynamic copy needs descriptor generation, dgeMode other than 3")]
    DmaDynamic,
    /// A transposing DMA whose pattern has not four pairs.
    #[error("the pattern of {side} has {pairs} pairs, not 4")]
    DmaRank {
        /// `dst` or `src`.
        side: &'static str,
        /// Number of pairs.
        pairs: usize,
    },
    /// A computing DMA with another operator than add.
    #[error("a DMA reduces with add, not {op}")]
    DmaOperator {
        /// The operator.
        op: &'static str,
    },
    /// Lists that must be equally long.
    #[error("there are {left} {lefts} and {right} {rights}")]
    Counts {
        /// Length of the first.
        left: usize,
        /// What it lists.
        lefts: &'static str,
        /// Length of the second.
        right: usize,
        /// What it lists.
        rights: &'static str,
    },
    /// A list without elements.
    #[error("there are no {what}")]
    Empty {
        /// What it lists.
        what: &'static str,
    },
    /// A list that must have two elements.
    #[error("{what} has {len} elements, not 2")]
    NotTwo {
        /// The list.
        what: &'static str,
        /// Its length.
        len: usize,
    },
    /// A field that this operator needs.
    #[error("{what} is missing")]
    Missing {
        /// The field.
        what: &'static str,
    },
    /// A replica group that is not literal.
    #[error("the replica group is not literal")]
    ReplicaGroup,
    /// A transfer of a core with itself.
    #[error("core {core} is {what} of its own transfer")]
    SelfTransfer {
        /// The core.
        core: i64,
        /// Its part.
        what: &'static str,
    },
    /// A transpose on the tensor engine.
    #[error("a transpose is not on engine pe")]
    TransposeEngine,
    /// Two tensors of one name.
    #[error("tensor {name:?} is defined in two ways")]
    Tensor {
        /// The name.
        name: String,
    },
    /// A tensor that is too large to count.
    #[error("tensor {name:?} has more bytes than 64 bits count")]
    TensorSize {
        /// The name.
        name: String,
    },
    /// A tensor in registers.
    #[error("tensor {name:?} is in registers")]
    TensorMemory {
        /// The name.
        name: String,
    },
}

impl ProblemKind {
    /// What the 2.24 backend says, where it is known (spec: klr 7, 8).
    #[must_use]
    pub fn vendor_text(&self) -> Option<String> {
        Some(match self {
            ProblemKind::Operator { kind } => format!("Unsupported operator {kind}"),
            ProblemKind::TensorForm { .. } => "Unsupported tensorRef type encountered!".to_string(),
            ProblemKind::AccessForm { kind, .. } => format!("Unsupported access type encountered {kind}"),
            ProblemKind::ImmediateForm { .. } => "Unsupported immediate type encountered".to_string(),
            ProblemKind::Dynamic => "Dynamic Access is not allowed in the instruction.".to_string(),
            ProblemKind::BothDynamic => {
                "Only one of src and dst can have dynamic access in tensor_copy.".to_string()
            }
            ProblemKind::VectorDim { .. } => {
                "When using vector offset, the only supported indirectDim is 0".to_string()
            }
            ProblemKind::Register { name } => format!("Cannot find register: {name} for scalar offset"),
            ProblemKind::Edge { name } => {
                format!("{name} is not found, unable to complete dependency edge insertion")
            }
            ProblemKind::LoadAccumulate => "LoadAccumulate is not supported".to_string(),
            ProblemKind::ActivationReduce { .. } => {
                "Accumulation is the only supported op on activation_reduce".to_string()
            }
            ProblemKind::DmaEngine { .. } => {
                "dma_copy engine can only be specified when HWDGE mode is used.".to_string()
            }
            ProblemKind::NotAFloat { what: "scale" } => "scale for activation must be a float32".to_string(),
            ProblemKind::NotAnInteger { what: "numValidIndicies" } => {
                "num_valid_indices for local gather must be an integer".to_string()
            }
            _ => return None,
        })
    }
}
