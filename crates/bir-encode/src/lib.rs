//! From BIR to the 64-byte words of the TPB engines.
//!
//! [`encode`] makes the instruction stream of each engine, and says of every word which instruction it belongs to;
//! [`collect`] only says which opcodes a module needs; [`check`] makes the words and checks them, and gives findings of
//! the rules of words. What cannot be encoded is an [`EncodeError`] that names the operand and the limit; all of them are
//! collected, and the other instructions are encoded all the same.
//!
//! The layouts of words, and which words an instruction has, come from the tables (`tpb_isa`, [`bir::op_info`]); what
//! goes into the fields is written by hand here, one module for each family under `ops`.
//!
//! ```
//! use bir_encode::{Options, encode};
//! use tpb_isa::Engine;
//!
//! let module = bir::sample::matmul_softmax(&Default::default());
//! let program = encode(&module, &Options::default())?;
//! assert!(program.errors.is_empty());
//! let pe = program.stream(Engine::PE);
//! // Every word has an owner; a matrix product has two words.
//! assert_eq!(pe.words.len(), pe.owners.len());
//! # Ok::<(), bir_encode::NoEncoder>(())
//! ```

mod check;
mod context;
mod draft;
mod error;
mod operand;
mod ops;
mod program;
mod sync;

use bir::Module;
use bir::enums::ArchLevel;
use bir::ids::LocId;
use bir::target::Target;
use hashbrown::HashMap;
use tpb_isa::Generation;

pub use check::{check, check_program, rules};
pub use context::Variable;
pub use error::{EncodeError, Reason};
pub use program::{Collected, Program, Stream, branch_target, collect, encode};

/// How words are made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The generation; `None` for that of the module.
    pub generation: Option<Generation>,
    /// Begin each stream with the two words that open every stream of a package.
    pub prologue: bool,
    /// Leave out the load of the stationary tensor when the Matmult before on the engine had the same. The compiler
    /// does so; whether anything but the instruction before counts is not known. spec: isa-bundle 15, G13
    pub reuse_weights: bool,
    /// Let QuantizeMx saturate: the conversion of fp8 was not arranged otherwise. spec: isa-bundle 11.1
    pub saturate_mx: bool,
    /// The register that holds the fill value of TensorScalarAffineSelect; without it the op is refused, since how the
    /// compiler chooses it is not known. spec: isa-bundle 15, G10
    pub fill_register: Option<u8>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            generation: None,
            prologue: false,
            reuse_weights: false,
            saturate_mx: true,
            fill_register: None,
        }
    }
}

/// No words are made for the architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("words are made for v2, v3 and v4 (trn1, trn2, trn3), not for {0}")]
pub struct NoEncoder(pub String);

/// The generation that words of a module are made for: that of its target.
///
/// # Errors
/// When there is no encoder for it.
pub fn generation(module: &Module) -> Result<Generation, NoEncoder> {
    of_arch(Target::of_module(module).arch, module)
}

fn of_arch(arch: ArchLevel, module: &Module) -> Result<Generation, NoEncoder> {
    use bir::OpenEnum;
    let found = arch.ordinal().and_then(Generation::from_arch_level);
    found
        .filter(|generation| operand::is_encodable(*generation))
        .ok_or_else(|| NoEncoder(arch.text(&module.names).to_owned()))
}

/// How DMA words name the locations in device memory: by the ids of the document, and where it has none, by the next
/// that are free, in document order.
pub fn variables(module: &Module) -> HashMap<LocId, Variable> {
    context::variables(module)
}
