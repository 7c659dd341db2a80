//! What is known of the text of a word before its bytes are looked at: names, the order of operands, and what each must
//! hold to be shown. It is worked out once for each opcode that is met.

use std::sync::OnceLock;

use crate::layout::{EnumInfo, FieldInfo, ImmKind, Kind, PreambleKind, Shape, StructInfo, UnionInfo};
use crate::text::{Dma, default_value};
use crate::word::{Generation, WORD_BYTES};
use crate::{Field, ImmSrc, ImmSrcN, Layout};

/// Column in which operands begin, counted from the mnemonic.
const MNEMONIC_WIDTH: usize = 20;

/// Bytes for a name with its blank and equals sign, or a mnemonic.
const NAME: usize = 32;

/// A short text, padded so that it is copied in one piece.
pub(super) struct Name {
    pub(super) bytes: [u8; NAME],
    pub(super) len: usize,
}

impl Name {
    fn new(parts: [&str; 3], width: usize) -> Name {
        let text = parts.concat();
        assert!(text.len() <= NAME, "{text}");
        let mut bytes = [b' '; NAME];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Name { bytes, len: text.len().max(width) }
    }
}

/// How the words of an opcode become text.
pub(super) struct Plan {
    /// The mnemonic with blanks up to the operands.
    pub(super) head: Name,
    /// Length of the mnemonic.
    pub(super) mnemonic: usize,
    pub(super) has_preamble: bool,
    /// Source and destination of a two-dimensional DMA, which stand in front of the other operands.
    pub(super) dma: Option<[Dma; 2]>,
    pub(super) spare_step: i16,
    /// The operands in the order in which they are shown.
    pub(super) operands: Vec<Operand>,
    /// More about each of them.
    pub(super) details: Vec<Detail>,
    /// Those that must be looked at even when their bytes are 0, one bit each.
    loud: u32,
    /// The bytes of each operand, one bit each.
    bytes: Vec<u64>,
}

/// An operand of a plan: what is needed of it in almost every word, in one line of the cache.
#[repr(align(64))]
pub(super) struct Operand {
    /// Its name with blank and equals sign.
    pub(super) name: [u8; NAME],
    pub(super) name_len: u8,
    pub(super) at: u8,
    /// The field is defined only while the byte at the first number has the second as its value.
    when: Option<(u8, u8)>,
    /// Whether bytes of it that are not 0 are all it takes to be shown.
    pub(super) is_plain: bool,
    pub(super) value: Value,
}

const _: () = assert!(size_of::<Operand>() == 64);

/// How the value of an operand is written.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// A code.
    Code(&'static EnumInfo),
    /// An unsigned number of this many bytes.
    Number(u8),
    Sem,
    Reg,
    /// An address and this many dimensions.
    Tensor(u8),
    /// One of two structs.
    Union(&'static UnionInfo),
    /// As its field says.
    Other(&'static FieldInfo),
}

/// What is seldom needed of an operand.
pub(super) struct Detail {
    pub(super) field: &'static FieldInfo,
    pub(super) shown: Shown,
    /// What its bytes are when it is left out.
    default: u64,
}

/// When an operand is shown, provided that its field is defined.
pub(super) enum Shown {
    Always,
    /// When one of its bytes is not 0.
    NotZero,
    /// When its bytes are not what they are when it is left out.
    NotDefault,
    /// A scalar, which may stand for its selector too. Whether it is shown whatever it holds.
    Scalar(ImmKind, bool),
    /// A selector: unless the text of one of these operands implies it.
    Selector(Vec<(&'static FieldInfo, ImmKind, u64)>),
    /// Second wait and update, which name themselves.
    Events,
}

impl Plan {
    /// The plan for an opcode that has a row.
    #[inline]
    pub(super) fn of(row: usize, layout: Layout, generation: Generation) -> &'static Plan {
        static PLANS: [[OnceLock<Box<Plan>>; 256]; 4] = [const { [const { OnceLock::new() }; 256] }; 4];
        PLANS[generation as usize][row & 255].get_or_init(|| Box::new(Plan::new(row, layout)))
    }

    fn new(row: usize, layout: Layout) -> Plan {
        let opcode = crate::layout::opcode_at(row);
        let info = layout.info();
        let dma = Dma::of(layout);
        let mut fields: Vec<&'static FieldInfo> = info.fields.iter().collect();
        match dma {
            Some(_) => fields.retain(|field| !Dma::holds(field)),
            None => fields.sort_by_key(|field| rank(field)),
        }
        assert!(fields.len() <= 32, "{}: one bit for each operand", info.name);
        let details: Vec<Detail> =
            fields.into_iter().map(|field| Detail::new(field, info.fields, opcode.fixed)).collect();
        let mut loud = 0;
        for (place, detail) in details.iter().enumerate() {
            let is_quiet = match &detail.shown {
                Shown::NotZero => true,
                Shown::NotDefault | Shown::Selector(_) => detail.default == 0,
                _ => false,
            };
            loud |= u32::from(!is_quiet) << place;
        }
        let bytes = details.iter().map(Detail::mask).collect();
        let operands = details.iter().map(Operand::new).collect();
        Plan {
            head: Name::new([opcode.name, "", ""], MNEMONIC_WIDTH),
            mnemonic: opcode.name.len(),
            has_preamble: info.preamble == PreambleKind::Std,
            dma,
            spare_step: info.spare_step,
            operands,
            details,
            loud,
            bytes,
        }
    }

    /// The places of operands that may have something to show. `set` has a bit for each byte of the word that is not 0.
    #[inline]
    pub(super) fn candidates(&self, set: u64) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.loud;
        for (place, bytes) in self.bytes.iter().enumerate() {
            left |= u32::from(set & bytes != 0) << place;
        }
        std::iter::from_fn(move || {
            let place = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(place as usize)
        })
    }
}

impl Operand {
    fn new(detail: &Detail) -> Operand {
        let field = detail.field;
        let name = match field.field {
            Some(Field::BrImmediate) => Name::new([" ", "target=#", ""], 0),
            _ => Name::new([" ", field.name, "="], 0),
        };
        let value = match field.kind {
            _ if field.bits.is_some() => Value::Other(field),
            Kind::Enum(info) => Value::Code(info),
            Kind::Uint => Value::Number(field.bytes),
            Kind::Sem => Value::Sem,
            Kind::Reg => Value::Reg,
            Kind::Struct(StructInfo { shape: Shape::Tensor(dims), .. }) => Value::Tensor(*dims),
            Kind::Union(info) => Value::Union(info),
            _ => Value::Other(field),
        };
        Operand {
            name: name.bytes,
            name_len: name.len as u8,
            at: field.at,
            when: field.when,
            is_plain: matches!(detail.shown, Shown::Always | Shown::NotZero),
            value,
        }
    }

    /// Whether the field is defined in a word.
    #[inline]
    pub(super) fn is_defined(&self, bytes: &[u8; WORD_BYTES]) -> bool {
        self.when.is_none_or(|(at, value)| bytes[at as usize % WORD_BYTES] == value)
    }
}

impl Detail {
    fn new(field: &'static FieldInfo, all: &'static [FieldInfo], fixed: &[(Field, u32)]) -> Detail {
        let is_fixed = fixed.iter().any(|(fixed, _)| Some(*fixed) == field.field);
        let is_always_shown = field.is_always_shown() && !is_fixed;
        let default = u64::from(default_value(field, fixed));
        let shown = match field.kind {
            Kind::Struct(info) => match info.shape {
                Shape::Events => Shown::Events,
                Shape::Record => Shown::NotZero,
                _ => Shown::Always,
            },
            Kind::Union(_) => Shown::Always,
            Kind::Imm(imm) => Shown::Scalar(imm, is_always_shown),
            Kind::Enum(info) if is_selector(info) => Shown::Selector(
                all.iter()
                    .filter_map(|other| match other.kind {
                        Kind::Imm(imm) if imm.selector == Some((field.at, 0, 8)) => {
                            Some((other, imm, default_value(other, fixed).into()))
                        }
                        _ => None,
                    })
                    .collect(),
            ),
            _ if is_always_shown => Shown::Always,
            _ if default == 0 || field.bytes > 8 => Shown::NotZero,
            _ => Shown::NotDefault,
        };
        Detail { field, shown, default }
    }

    /// Its bytes in the word, one bit each.
    fn mask(&self) -> u64 {
        (u64::MAX >> (WORD_BYTES - self.field.bytes as usize)) << self.field.at
    }

    /// Whether the assembler writes these bytes when the operand is absent.
    #[inline]
    pub(super) fn is_default(&self, bytes: &[u8; WORD_BYTES]) -> bool {
        is_default(self.field, self.default, bytes)
    }
}

/// Whether a field of at most 8 bytes has a value.
#[inline]
pub(super) fn is_default(field: &FieldInfo, default: u64, bytes: &[u8; WORD_BYTES]) -> bool {
    super::number(bytes, field.at as usize, field.bytes) == default
}

/// Place of a field in text: slots that are written, slots that are read, all else.
fn rank(field: &FieldInfo) -> u8 {
    let is_slot = match field.kind {
        Kind::Union(_) => true,
        Kind::Struct(info) => matches!(info.shape, Shape::Tensor(_) | Shape::Generator) || info.bytes > 8,
        _ => false,
    };
    match is_slot {
        true if field.name.starts_with("dst") => 0,
        true => 1,
        false => 2,
    }
}

/// Whether codes of an enum say which form a scalar has.
fn is_selector(info: &'static EnumInfo) -> bool {
    std::ptr::eq(info, ImmSrc::info()) || std::ptr::eq(info, ImmSrcN::info())
}
