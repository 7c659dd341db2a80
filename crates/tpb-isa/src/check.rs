//! The word checker: lengths, domains of enums, constants, ranges of addresses, counts and channels, reserved bits, and the
//! order of words. It says what is odd; it does not know what the words mean (spec: isa-bundle.md 12, verify.md 9).

use std::fmt;

use crate::decode::{StreamWord, has_usual_length, unexplained};
use crate::layout::mask8;
use crate::layout::{EnumInfo, FieldInfo, ImmForm, Kind, OpcodeClass, PreambleKind, Shape, StructInfo};
use crate::text::{number, runs};
use crate::value::{Addr4, Pack, Place};
use crate::word::{Generation, WORD_BYTES};
use crate::{DgeOp, Field, ImmSrc, Opcode, Preamble};

type Bytes = [u8; WORD_BYTES];

/// Something odd about a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Index of the word in its stream.
    pub index: u64,
    /// Mnemonic, or `.word`.
    pub mnemonic: &'static str,
    /// Generation as which the word was read.
    pub generation: Generation,
    /// Field, or member of a slot as `src.num[0]`; empty for the word as a whole.
    pub field: String,
    /// First byte concerned.
    pub at: u8,
    /// What is wrong.
    pub fault: Fault,
}

/// What can be wrong with a word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The byte is no opcode.
    #[error("opcode {0:#04x} is not known")]
    UnknownOpcode(u8),
    /// The opcode does not exist on the generation.
    #[error("the opcode does not exist on this generation")]
    Generation,
    /// The opcode is never valid in a stream.
    #[error("the opcode is never valid in a stream")]
    Invalid,
    /// `inst_word_len` is unusual.
    #[error("the length is {0:#x}, not 0x10")]
    Length(u8),
    /// A field has a value other than its constant.
    #[error("{value} stands where encoders write {constant}")]
    Constant {
        /// The value in the word.
        value: u64,
        /// The constant.
        constant: u32,
    },
    /// A code without a name.
    #[error("{code} is no code of {name}")]
    Code {
        /// The enum.
        name: &'static str,
        /// The code.
        code: u8,
    },
    /// A code that the generation does not define.
    #[error("{name} ({code}) does not exist on this generation")]
    CodeGeneration {
        /// Name of the code.
        name: &'static str,
        /// The code.
        code: u8,
    },
    /// A value outside its range.
    #[error("{value} is outside {min} to {max}")]
    Range {
        /// The value.
        value: u64,
        /// The least allowed.
        min: u64,
        /// The greatest allowed.
        max: u64,
    },
    /// START, STOP and ACCUMULATE do not go together like this.
    #[error("the flags {0} do not go together")]
    Flags(u8),
    /// An address outside its memory.
    #[error("address {addr:#010x}: {what}")]
    Address {
        /// The address.
        addr: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A selector with a code that the scalar has no form for.
    #[error("the selector has no form for the scalar")]
    Selector,
    /// A string that is not NUL-terminated printable ASCII.
    #[error("the name is not NUL-terminated printable ASCII")]
    Name,
    /// Bits that belong to no field.
    #[error("{0} reserved byte(s) are not 0")]
    Reserved(usize),
    /// Bytes with fields that are not known.
    #[error("{0} byte(s) of unknown meaning are not 0")]
    Unknown(usize),
    /// An extension word without the word it extends.
    #[error("an extension word must follow PSEUDO_DMA_DIRECT2D or PSEUDO_TRIGGER_COLLECTIVE2")]
    StrayExtension,
    /// A word without the extension it needs.
    #[error("an extension word (0xda) must follow")]
    MissingExtension,
    /// Payloads that are missing behind a custom op's header.
    #[error("{0} more payload word(s) must follow the custom op header")]
    MissingPayload(u64),
    /// A payload without a header.
    #[error("a payload word must follow a custom op header")]
    StrayPayload,
    /// Bytes behind the last whole word.
    #[error("{0} byte(s) behind the last whole word")]
    Tail(usize),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "word {} ({} on {})", self.index, self.mnemonic, self.generation)?;
        if !self.field.is_empty() {
            write!(f, ", {} at byte {}", self.field, self.at)?;
        }
        write!(f, ": {}", self.fault)
    }
}

/// Checks a whole stream: every word, and the order of words.
pub fn stream(bytes: &[u8], generation: Generation) -> Vec<Finding> {
    let mut checker = StreamChecker::default();
    let mut findings = Vec::new();
    let words = crate::Stream::new(bytes, generation);
    let tail = words.tail().len();
    for each in words {
        checker.word(&each, &mut findings);
        word(&each, &mut findings);
    }
    checker.finish(&mut findings);
    if tail != 0 {
        let index = (bytes.len() / WORD_BYTES) as u64;
        findings.push(Finding {
            index,
            mnemonic: ".byte",
            generation,
            field: String::new(),
            at: 0,
            fault: Fault::Tail(tail),
        });
    }
    findings
}

/// Checks the order of words (spec: isa-control-dma.md 9).
#[derive(Clone, Debug, Default)]
pub struct StreamChecker {
    /// The word that must be followed by an extension.
    opener: Option<StreamWord>,
    /// The custom op header whose payloads are not complete, and how many are missing.
    payloads: Option<(StreamWord, u64)>,
}

impl StreamChecker {
    /// Takes the next word of the stream.
    pub fn word(&mut self, word: &StreamWord, findings: &mut Vec<Finding>) {
        let opcode = Opcode(word.word.opcode());
        if let Some(opener) = self.opener.take()
            && opcode != Opcode::PSEUDO_EXTENSION
        {
            findings.push(finding(&opener, String::new(), 0, Fault::MissingExtension));
        }
        let needs_extension = match opcode {
            Opcode::PSEUDO_DMA_DIRECT2D => word.word.0[15] != DgeOp::DMA_DIRECT2D.0,
            Opcode::PSEUDO_TRIGGER_COLLECTIVE2 => true,
            _ => false,
        };
        if needs_extension {
            self.opener = Some(*word);
        }
        match (opcode, self.payloads) {
            (Opcode::CUSTOM_OP_PAYLOAD, Some((header, missing))) => {
                self.payloads = (missing > 1).then(|| (header, missing - 1));
            }
            (Opcode::CUSTOM_OP_PAYLOAD, None) => {
                findings.push(finding(word, String::new(), 0, Fault::StrayPayload))
            }
            (_, Some((header, missing))) => {
                findings.push(finding(&header, String::new(), 0, Fault::MissingPayload(missing)));
                self.payloads = None;
            }
            (_, None) => {}
        }
        if opcode == Opcode::CUSTOM_OP_HEADER {
            // The number counts the header itself (spec: isa-control-dma.md 8).
            let payloads = u64::from(u16::load(&word.word.0, 12)).saturating_sub(1);
            self.payloads = (payloads > 0).then_some((*word, payloads));
        }
    }

    /// Says that the stream has ended.
    pub fn finish(&mut self, findings: &mut Vec<Finding>) {
        if let Some(opener) = self.opener.take() {
            findings.push(finding(&opener, String::new(), 0, Fault::MissingExtension));
        }
        if let Some((header, missing)) = self.payloads.take() {
            findings.push(finding(&header, String::new(), 0, Fault::MissingPayload(missing)));
        }
    }
}

fn finding(word: &StreamWord, field: String, at: u8, fault: Fault) -> Finding {
    Finding {
        index: word.index,
        mnemonic: word.binding().mnemonic(),
        generation: word.generation,
        field,
        at,
        fault,
    }
}

/// Checks one word by itself and appends what is odd.
///
/// ```
/// use tpb_isa::{Generation, Opcode, StreamWord, Word, check};
///
/// // LdweightsMX exists on v4 only.
/// let word = StreamWord::new(Word::from_hex("0910").unwrap(), 0, Generation::V3, None);
/// let mut findings = Vec::new();
/// check::word(&word, &mut findings);
/// assert_eq!(findings[0].fault, check::Fault::Generation);
/// ```
pub fn word(word: &StreamWord, findings: &mut Vec<Finding>) {
    let bytes = &word.word.0;
    let binding = word.binding();
    let info = binding.layout.info();
    let mut add = |field: String, at: usize, fault| findings.push(finding(word, field, at as u8, fault));
    let Some(opcode) = binding.opcode else {
        let is_extension = crate::layout::is_extension(bytes[0]);
        add(
            String::new(),
            0,
            if is_extension { Fault::StrayExtension } else { Fault::UnknownOpcode(bytes[0]) },
        );
        return;
    };
    if opcode.layout(word.generation).is_none() {
        add(String::new(), 0, Fault::Generation);
    }
    if bytes[0] == Opcode::INVALID.0 {
        add(String::new(), 0, Fault::Invalid);
    }
    let mut checker = Fields { bytes, generation: word.generation, add: &mut add };
    if info.preamble == PreambleKind::Std {
        if !has_usual_length(&word.word) {
            (checker.add)("inst_word_len".to_owned(), 1, Fault::Length(bytes[1]));
        }
        for field in Preamble::info().fields {
            checker.field(field, 0, "");
        }
    }
    for field in info.fields.iter().filter(|field| field.is_defined(bytes)) {
        checker.field(field, 0, "");
        let constant =
            opcode.fixed.iter().find(|(fixed, _)| Some(*fixed) == field.field).map(|(_, value)| *value);
        if let Some(constant) = constant.or(field.value) {
            let value = number(bytes, field.at.into(), field.bytes);
            if value != u64::from(constant) {
                (checker.add)(field.name.to_owned(), field.at.into(), Fault::Constant { value, constant });
            }
        }
    }
    let rest = unexplained(&word.word, binding.layout);
    for (at, run) in runs(&rest.0) {
        let unknown = info.unknown[at] != 0;
        let known_code = opcode.class != OpcodeClass::Named;
        let fault =
            if unknown && known_code { Fault::Unknown(run.len()) } else { Fault::Reserved(run.len()) };
        if known_code {
            add(String::new(), at, fault);
        }
    }
}

struct Fields<'a> {
    bytes: &'a Bytes,
    generation: Generation,
    add: &'a mut dyn FnMut(String, usize, Fault),
}

impl Fields<'_> {
    fn field(&mut self, field: &FieldInfo, base: usize, prefix: &str) {
        let at = base + field.at as usize;
        let name = || format!("{prefix}{}", field.name);
        let byte = match field.bits {
            Some((first, last)) => self.bytes[at] >> first & mask8(last - first + 1),
            None => self.bytes[at],
        };
        match field.kind {
            Kind::Enum(info) => self.code(name(), at, info, byte),
            Kind::Pair(info) => {
                self.code(name(), at, info, byte & 15);
                self.code(name(), at, info, byte >> 4);
            }
            Kind::Flags(info) => {
                let known = info.codes.iter().fold(0, |bits, flag| bits | flag.code);
                if byte & !known != 0 {
                    (self.add)(name(), at, Fault::Code { name: info.name, code: byte });
                } else if matches!(byte, 5 | 7) {
                    (self.add)(name(), at, Fault::Flags(byte));
                }
            }
            Kind::Imm(imm) => match imm.form(self.bytes) {
                // A code without a name is a finding of the selector itself.
                ImmForm::Unknown
                    if imm
                        .selector_code(self.bytes)
                        .is_some_and(|code| code <= ImmSrc::REG_PTR_IMMEDIATE.0) =>
                {
                    (self.add)(name(), at, Fault::Selector);
                }
                ImmForm::Pointer => self.address(&name(), at, true),
                ImmForm::Register => {
                    let value = u32::load(self.bytes, at).into();
                    self.range(name(), at, value, 0, 63);
                }
                ImmForm::Float | ImmForm::Integer | ImmForm::Unknown => {}
            },
            Kind::Addr4 => self.address(&name(), at, matches!(field.name, "data_addr" | "scale_addr")),
            Kind::Struct(info) => self.slot(field, info, at, &name()),
            Kind::Union(union) => {
                let indirect = Addr4::load(self.bytes, at).is_indirect();
                self.slot(field, if indirect { union.indirect } else { union.direct }, at, &name());
            }
            Kind::Name => {
                let bytes = &self.bytes[at..at + field.bytes as usize];
                let text = crate::text::trimmed(bytes);
                if text.len() == bytes.len() || !text.iter().all(|byte| (b' '..=b'~').contains(byte)) {
                    (self.add)(name(), at, Fault::Name);
                }
            }
            Kind::Uint if field.name == "num_elem" => {
                self.range(name(), at, u16::load(self.bytes, at).into(), 1, 0xFFFF);
            }
            // Spec: isa-bundle.md 4.4.
            Kind::Uint if field.name == "scale_pidx" => self.range(name(), at, byte.into(), 0, 15),
            Kind::Uint if field.field == Some(Field::NumActiveChannels) => {
                self.range(name(), at, byte.into(), 1, 128)
            }
            _ => {}
        }
    }

    fn range(&mut self, name: String, at: usize, value: u64, min: u64, max: u64) {
        if !(min..=max).contains(&value) {
            (self.add)(name, at, Fault::Range { value, min, max });
        }
    }

    fn code(&mut self, field: String, at: usize, info: &'static EnumInfo, code: u8) {
        match info.code(code) {
            None => (self.add)(field, at, Fault::Code { name: info.name, code }),
            Some(row) if !row.is_defined_on(self.generation) => {
                (self.add)(field, at, Fault::CodeGeneration { name: row.name, code });
            }
            Some(_) => {}
        }
    }

    fn slot(&mut self, field: &FieldInfo, info: &'static StructInfo, at: usize, name: &str) {
        for member in info.fields {
            self.field(member, at, &format!("{name}."));
        }
        // Descriptors begin with an address; smaller structs are looked at by their members alone.
        if info.bytes < 8 {
            return;
        }
        let addr = Addr4::load(self.bytes, at);
        let what = match info.shape {
            // Of a slot with two forms this is the direct one, so the bit is not set.
            Shape::Tensor(_) if addr.is_indirect() => "the slot has no indirect form",
            Shape::Record
                if info.name.contains("INDIRECT") && addr.0 & (Addr4::SHAPE | Addr4::REGISTER) != 0 =>
            {
                "the index must be a plain address"
            }
            Shape::Record if info.name.contains("INDIRECT") && !addr.is_indirect() => {
                "the indirect bit is not set"
            }
            _ => "",
        };
        if !what.is_empty() {
            (self.add)(
                format!("{}.{}", field.name, info.fields[0].name),
                at,
                Fault::Address { addr: addr.0, what },
            );
        }
        // Counts are in the shape registers when the address says so (spec: isa-bundle.md 2).
        let (dims, counts) = match info.shape {
            Shape::Tensor(dims) if Addr4::load(self.bytes, at).0 & Addr4::SHAPE == 0 => {
                (dims, at + 4 + 2 * dims as usize)
            }
            Shape::Generator => (4, at + 12),
            _ => (0, at),
        };
        for dim in 0..dims as usize {
            if u16::load(self.bytes, counts + 2 * dim) == 0 {
                let fault = Fault::Range { value: 0, min: 1, max: 0xFFFF };
                (self.add)(format!("{}.num[{dim}]", field.name), counts + 2 * dim, fault);
            }
        }
    }

    /// Rules of isa-bundle.md 2. `is_static` addresses have none of the mode bits.
    fn address(&mut self, name: &str, at: usize, is_static: bool) {
        let addr = Addr4::load(self.bytes, at);
        let modes = addr.0 & !Addr4::ADDRESS;
        let both = Addr4::SHAPE | Addr4::INDIRECT;
        let what = match Addr4(addr.0 & !both).place() {
            _ if modes & both == both => "indirect and shape register exclude each other",
            _ if is_static && modes != 0 => "must be a plain address",
            Place::Register(register) if register.0 > 63 => "there are 64 address registers",
            Place::Sbuf { offset, .. } if offset >= self.generation.partition_bytes() => {
                "lies behind the end of the SBUF partition"
            }
            Place::Other(_) if addr.0 & Addr4::REGISTER != 0 => "has bits beside the register number",
            Place::Other(_) => "lies neither in SBUF nor in a bank of PSUM",
            _ => return,
        };
        (self.add)(name.to_owned(), at, Fault::Address { addr: addr.0, what });
    }
}
