//! The word itself, the generations it exists in and the engines whose streams it lies in.

use std::fmt;
use std::str::FromStr;

/// Length of every instruction word in bytes; also the stride of a stream.
pub const WORD_BYTES: usize = 64;

/// One instruction word as it lies in a stream, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Word(pub [u8; WORD_BYTES]);

impl Word {
    /// The word an encoder starts from: 64 zero bytes.
    pub const ZERO: Word = Word([0; WORD_BYTES]);

    /// Byte 0.
    #[inline]
    pub const fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Whether all bytes are 0.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.0.iter().fold(0, |any, byte| any | byte) == 0
    }

    /// Reads a word from hexadecimal digits; blanks between bytes are allowed, and missing bytes at the end are 0.
    ///
    /// ```
    /// let word = tpb_isa::Word::from_hex("a010 0000 040b").unwrap();
    /// assert_eq!(word.0[5], 0x0b);
    /// ```
    pub fn from_hex(text: &str) -> Option<Word> {
        let mut word = Word::ZERO;
        let mut digits = 0;
        for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            let digit = (byte as char).to_digit(16)? as u8;
            let place = word.0.get_mut(digits / 2)?;
            *place = *place << 4 | digit;
            digits += 1;
        }
        (digits % 2 == 0).then_some(word)
    }
}

impl From<[u8; WORD_BYTES]> for Word {
    fn from(bytes: [u8; WORD_BYTES]) -> Word {
        Word(bytes)
    }
}

impl fmt::Display for Word {
    /// 128 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({self})")
    }
}

/// A generation of the NeuronCore: which opcodes and layouts exist (spec: isa-bundle.md, head).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// Arch level 20: Trainium 1, Inferentia 2.
    V2,
    /// Arch level 30: Trainium 2.
    V3,
    /// Arch level 40: Trainium 3.
    V4,
    /// Arch level 50: only decoded.
    V5,
}

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Generation; 4] = [Generation::V2, Generation::V3, Generation::V4, Generation::V5];

    /// The generations for which words can be encoded.
    pub const ENCODABLE: [Generation; 3] = [Generation::V2, Generation::V3, Generation::V4];

    /// `v2`, `v3`, `v4` or `v5`, as in the tables.
    pub const fn name(self) -> &'static str {
        ["v2", "v3", "v4", "v5"][self as usize]
    }

    /// The product the generation is known by, `trn1` to `trn3`; `v5` has none yet.
    pub const fn product(self) -> &'static str {
        ["trn1", "trn2", "trn3", "v5"][self as usize]
    }

    /// Arch level as modules and containers carry it: 20, 30, 40, 50.
    pub const fn arch_level(self) -> u32 {
        20 + 10 * self as u32
    }

    /// The generation of an arch level.
    pub fn from_arch_level(level: u32) -> Option<Generation> {
        Generation::ALL.into_iter().find(|generation| generation.arch_level() == level)
    }

    /// Bytes of one SBUF partition (spec: isa-bundle.md 2). The size on v5 is unknown; the whole field is allowed.
    pub const fn partition_bytes(self) -> u32 {
        [192 << 10, 224 << 10, 256 << 10, 256 << 10][self as usize]
    }

    /// The bit of this generation in a mask of generations.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Generation {
    type Err = UnknownGeneration;

    /// Reads a generation (`v3`), a product (`trn2`, `inf2`), a core or arch name (`cayman`, `gen3`) or an arch level (`30`).
    fn from_str(text: &str) -> Result<Generation, UnknownGeneration> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "v2" | "trn1" | "inf2" | "trainium" | "sunda" | "20" => Generation::V2,
            "v3" | "trn2" | "cayman" | "gen3" | "30" => Generation::V3,
            "v4" | "trn3" | "core_v4" | "mariana" | "40" => Generation::V4,
            "v5" | "core_v5" | "50" => Generation::V5,
            _ => return Err(UnknownGeneration(text.to_owned())),
        })
    }
}

/// A name that no generation goes by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown generation {0:?}: expected v2, v3, v4 or v5, or trn1, inf2, trn2, trn3")]
pub struct UnknownGeneration(pub String);

/// An engine that has an instruction stream. The engine is not in the word (spec: isa-bundle.md 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// The tensor engine, a systolic array.
    PE,
    /// The scalar engine.
    Activation,
    /// The engine of the general-purpose cores.
    Pool,
    /// The vector engine.
    DVE,
    /// The sync engine.
    SP,
}

impl Engine {
    /// All engines, in the order in which packages list their streams.
    pub const ALL: [Engine; 5] = [Engine::PE, Engine::Activation, Engine::Pool, Engine::DVE, Engine::SP];

    /// Name in the backend: `PE`, `Activation`, `Pool`, `DVE`, `SP`.
    pub const fn name(self) -> &'static str {
        ["PE", "Activation", "Pool", "DVE", "SP"][self as usize]
    }

    /// Name in the public documentation of NKI.
    pub const fn public_name(self) -> &'static str {
        ["Tensor Engine", "Scalar Engine", "GpSimd Engine", "Vector Engine", "Sync Engine"][self as usize]
    }

    /// The engine of a stream's file stem or of any of its names, whatever the case.
    pub fn from_name(name: &str) -> Option<Engine> {
        Some(match name.to_ascii_lowercase().as_str() {
            "pe" | "tensor" => Engine::PE,
            "act" | "activation" | "scalar" => Engine::Activation,
            "pool" | "gpsimd" => Engine::Pool,
            "dve" | "vector" => Engine::DVE,
            "sp" | "sync" => Engine::SP,
            _ => return None,
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
