//! What the generated tables are made of: layouts, structs, enums and opcodes as data.

mod macros;

use crate::generated::opcodes::OPCODES;
use crate::word::{Generation, WORD_BYTES};
use crate::{Field, Layout, Opcode};

pub(crate) use macros::{
    field_bytes, layout_option, layouts, load_field, opcodes, open_enums, option, store_field, structs,
    unions,
};

/// Which 12 or 1 bytes stand in front of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreambleKind {
    /// The 12 bytes of [`Preamble`](crate::Preamble).
    Std,
    /// Only the opcode: the extension word 0xDA.
    None,
}

/// How much of a layout is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Every byte is a field or reserved.
    Known,
    /// Some bytes carry fields that are not known.
    Partial,
    /// Nothing is known.
    Unknown,
}

/// One layout as data. Get it from [`Layout::info`].
#[derive(Debug)]
pub struct LayoutInfo {
    /// Name in the tables, for example `S3D3_MM.v3`.
    pub name: &'static str,
    /// What stands in front of the body.
    pub preamble: PreambleKind,
    /// How much of the body is known. Only known bodies are encoded.
    pub body: BodyKind,
    /// Step of the unused dimensions of its slots; their count is 1 (spec: isa-bundle.md 4.1).
    pub spare_step: i16,
    /// The bytes with fields that are not known, as a mask.
    pub unknown: [u8; WORD_BYTES],
    /// Fields of the body, by offset.
    pub fields: &'static [FieldInfo],
    /// The bits that belong to a field, the preamble or the opcode. Unions count as a whole.
    pub covered: [u8; WORD_BYTES],
    /// The fields that are unions: the meaning of their bits depends on some of them. One bit each, by place.
    pub(crate) unions: u64,
    /// The fields that have a condition.
    pub(crate) conditional: u64,
}

impl LayoutInfo {
    /// The fields at the places of a set of bits.
    #[inline]
    pub(crate) fn at(&self, mut set: u64) -> impl Iterator<Item = &'static FieldInfo> + use<> {
        let fields = self.fields;
        std::iter::from_fn(move || {
            let place = set.trailing_zeros();
            set &= set.checked_sub(1)?;
            fields.get(place as usize)
        })
    }

    /// The row of a field, if the layout has it.
    pub fn field(&self, field: Field) -> Option<&'static FieldInfo> {
        self.fields.iter().find(|info| info.field == Some(field))
    }
}

/// A struct that lies inside words: a descriptor, an address, an embedded record.
#[derive(Debug)]
pub struct StructInfo {
    /// Name in the tables, for example `TENSOR3D`.
    pub name: &'static str,
    /// Length in bytes.
    pub bytes: u8,
    /// Its fields; offsets count from the start of the struct.
    pub fields: &'static [FieldInfo],
    /// The bits that belong to no field, by byte of the struct.
    pub(crate) gaps: [u8; WORD_BYTES],
    /// How text shows it.
    pub(crate) shape: Shape,
}

/// How assembly text shows a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An address and this many dimensions: `SB(p0,0x0)[1:512]`.
    Tensor(u8),
    /// A number and 4 dimensions: `0[1:512]`.
    Generator,
    /// An address that the loader resolves: `var5+0x0`.
    PseudoAddr8,
    /// An address.
    Addr4,
    /// A second wait and update.
    Events,
    /// Its members in braces.
    Record,
}

/// Fills [`StructInfo::shape`].
pub(crate) const fn shape(name: &str) -> Shape {
    match name.as_bytes() {
        b"TENSOR1D" => Shape::Tensor(1),
        b"TENSOR2D" => Shape::Tensor(2),
        b"TENSOR3D" => Shape::Tensor(3),
        b"TENSOR4D" => Shape::Tensor(4),
        b"DATA4D" => Shape::Generator,
        b"PSEUDO_ADDR8" => Shape::PseudoAddr8,
        b"ADDR4" => Shape::Addr4,
        b"EVENTS_EXTENDED" => Shape::Events,
        _ => Shape::Record,
    }
}

/// The struct `ADDR4`: a 4-byte address as a member of its own. Its type is [`Addr4`](crate::Addr4).
pub(crate) static ADDR4: StructInfo = StructInfo {
    name: "ADDR4",
    bytes: 4,
    fields: &[FieldInfo {
        field: None,
        name: "word",
        at: 0,
        bytes: 4,
        bits: None,
        kind: Kind::Addr4,
        value: None,
        when: None,
    }],
    gaps: [0; WORD_BYTES],
    shape: Shape::Addr4,
};

/// A slot that has one of two forms, told apart by bits 29 and 30 of its first word (see [`Addr4::is_indirect`]).
///
/// [`Addr4::is_indirect`]: crate::Addr4::is_indirect
#[derive(Debug)]
pub struct UnionInfo {
    /// Name in the tables, for example `MEM3D`.
    pub name: &'static str,
    /// The static form.
    pub direct: &'static StructInfo,
    /// The indirect form.
    pub indirect: &'static StructInfo,
}

/// A field as data.
#[derive(Debug)]
pub struct FieldInfo {
    /// Its identity among the fields of layouts; members of structs have none.
    pub field: Option<Field>,
    /// Name in the tables.
    pub name: &'static str,
    /// Byte offset from the start of the word, or of the struct.
    pub at: u8,
    /// Length in bytes.
    pub bytes: u8,
    /// First and last bit, for members that share a byte.
    pub bits: Option<(u8, u8)>,
    /// What the bytes are.
    pub kind: Kind,
    /// The only value the compiler writes.
    pub value: Option<u32>,
    /// The field is defined only while the byte at the first number has the second as its value.
    pub when: Option<(u8, u8)>,
}

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An unsigned number.
    Uint,
    /// A number in two's complement.
    Int,
    /// An IEEE single.
    F32,
    /// A register id.
    Reg,
    /// A semaphore or event id.
    Sem,
    /// One bit.
    Flag,
    /// A code with a name.
    Enum(&'static EnumInfo),
    /// Bits with names.
    Flags(&'static EnumInfo),
    /// Two codes of the enum, low nibble first.
    Pair(&'static EnumInfo),
    /// The bytes of a scalar operand, whose form a selector chooses.
    Imm(ImmKind),
    /// A 4-byte address.
    Addr4,
    /// A struct of its own.
    Struct(&'static StructInfo),
    /// One of two structs.
    Union(&'static UnionInfo),
    /// Numbers of this many bytes each, signed or not.
    Array(u8, bool),
    /// Register ids.
    Regs,
    /// NUL-terminated ASCII.
    Name,
    /// Bytes without a known inner structure.
    Bytes,
    /// A set of 256 ids.
    Bitset,
}

/// How a scalar operand says what it is (spec: isa-bundle.md 6).
#[derive(Clone, Copy, Debug)]
pub struct ImmKind {
    /// Where the selector lies: byte, first bit, number of bits; without one the value is always inline.
    pub selector: Option<(u8, u8, u8)>,
    /// Codes of the selector for an inline value, a pointer and a register.
    pub forms: [Option<u8>; 3],
    /// Type of the inline value.
    pub inline: Inline,
}

/// Type of the inline value of a scalar operand.
#[derive(Clone, Copy, Debug)]
pub enum Inline {
    /// An IEEE single.
    F32,
    /// The element type whose code lies at this byte.
    Dtype(u8),
    /// An integer for the bit-vector opcodes, else an IEEE single.
    ByOpcode,
}

/// Form of a scalar operand in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmForm {
    /// The value itself, an IEEE single.
    Float,
    /// The value itself, an integer or a short float in its low bytes.
    Integer,
    /// The address of a scalar per partition.
    Pointer,
    /// A register, whose number is the first byte.
    Register,
    /// The selector has a code that no form has.
    Unknown,
}

impl FieldInfo {
    /// Operands that a reader misses when they are 0, unless the opcode forces them.
    pub(crate) const fn is_always_shown(&self) -> bool {
        matches!(self.field, Some(Field::Op | Field::SetValue))
    }

    /// Whether the field is defined in a word.
    pub fn is_defined(&self, word: &[u8; WORD_BYTES]) -> bool {
        self.when.is_none_or(|(at, value)| word[at as usize] == value)
    }
}

impl ImmKind {
    /// The code of the selector in `word`.
    pub fn selector_code(&self, word: &[u8; WORD_BYTES]) -> Option<u8> {
        self.selector.map(|(at, bit, bits)| word[at as usize] >> bit & mask8(bits))
    }

    /// The form that the selector of `word` chooses.
    pub fn form(&self, word: &[u8; WORD_BYTES]) -> ImmForm {
        let code = self.selector_code(word);
        let is = |form: usize| code.is_some() && self.forms[form] == code;
        match () {
            () if code.is_none() || is(0) => match self.inline {
                Inline::F32 => ImmForm::Float,
                Inline::Dtype(at) if matches!(word[at as usize], 10 | 11) => ImmForm::Float,
                Inline::ByOpcode if !crate::INTEGER_IMMEDIATE_OPCODES.contains(&word[0]) => ImmForm::Float,
                Inline::Dtype(_) | Inline::ByOpcode => ImmForm::Integer,
            },
            () if is(1) => ImmForm::Pointer,
            () if is(2) => ImmForm::Register,
            () => ImmForm::Unknown,
        }
    }
}

/// An enum of the wire as data.
#[derive(Debug)]
pub struct EnumInfo {
    /// Name in the tables.
    pub name: &'static str,
    /// Its codes, ascending.
    pub codes: &'static [Code],
    /// Place in `codes` plus one, by code; 0 for codes without a name.
    pub(crate) index: [u8; 256],
    /// The names of `codes` as they are copied to text.
    pub(crate) texts: &'static [Padded],
}

/// A short text with room behind it, so that it is copied in one piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padded {
    /// The text, then its length in the last byte.
    pub(crate) bytes: [u8; Padded::ROOM],
}

impl Padded {
    /// Bytes of text and length together.
    pub(crate) const ROOM: usize = 32;

    /// Pads a text.
    ///
    /// # Panics
    /// When it is too long.
    pub(crate) const fn new(text: &str) -> Padded {
        let text = text.as_bytes();
        assert!(text.len() < Padded::ROOM, "a name has less than 32 bytes");
        let mut bytes = [b' '; Padded::ROOM];
        let mut i = 0;
        while i < text.len() {
            bytes[i] = text[i];
            i += 1;
        }
        bytes[Padded::ROOM - 1] = text.len() as u8;
        Padded { bytes }
    }

    /// Length of the text.
    pub(crate) const fn len(&self) -> usize {
        self.bytes[Padded::ROOM - 1] as usize
    }
}

/// A named code.
#[derive(Debug)]
pub struct Code {
    /// The byte.
    pub code: u8,
    /// Its name.
    pub name: &'static str,
    /// Generations that define it, as bits; bit 0 is v2.
    pub(crate) generations: u8,
}

impl Code {
    /// Whether the silicon of a generation defines the code.
    pub fn is_defined_on(&self, generation: Generation) -> bool {
        self.generations & generation.bit() != 0
    }
}

impl EnumInfo {
    /// The row of a code.
    #[inline]
    pub fn code(&self, code: u8) -> Option<&'static Code> {
        let place = self.index[code as usize];
        (place != 0).then(|| &self.codes[place as usize - 1])
    }

    /// The name of a code, as it is copied to text.
    #[inline]
    pub(crate) fn text(&self, code: u8) -> Option<&'static Padded> {
        self.texts.get(usize::from(self.index[code as usize]).wrapping_sub(1))
    }

    /// The row of a name, exactly as in the tables.
    pub fn by_name(&self, name: &str) -> Option<&'static Code> {
        self.codes.iter().find(|code| code.name == name)
    }
}

/// Fills [`EnumInfo::index`].
pub(crate) const fn index_codes(codes: &[Code]) -> [u8; 256] {
    let mut index = [0; 256];
    let mut i = 0;
    while i < codes.len() {
        index[codes[i].code as usize] = i as u8 + 1;
        i += 1;
    }
    index
}

/// The lowest `bits` bits of a byte.
pub(crate) const fn mask8(bits: u8) -> u8 {
    ((1u16 << bits) - 1) as u8
}

/// Adds the bits of `fields`, which start at byte `base`, to `covered`.
const fn cover(covered: &mut [u8; WORD_BYTES], fields: &[FieldInfo], base: usize) {
    let mut i = 0;
    while i < fields.len() {
        let field = &fields[i];
        let at = base + field.at as usize;
        match (field.bits, field.kind) {
            (Some((first, last)), _) => covered[at] |= mask8(last - first + 1) << first,
            (None, Kind::Struct(inner)) => cover(covered, inner.fields, at),
            (None, _) => {
                let mut byte = 0;
                while byte < field.bytes as usize {
                    covered[at + byte] = 0xFF;
                    byte += 1;
                }
            }
        }
        i += 1;
    }
}

/// Fills [`LayoutInfo::covered`].
pub(crate) const fn cover_layout(preamble: PreambleKind, fields: &[FieldInfo]) -> [u8; WORD_BYTES] {
    let mut covered = [0; WORD_BYTES];
    let head = match preamble {
        PreambleKind::Std => 12,
        PreambleKind::None => 1,
    };
    let mut byte = 0;
    while byte < head {
        covered[byte] = 0xFF;
        byte += 1;
    }
    cover(&mut covered, fields, 0);
    covered
}

/// Fills [`StructInfo::gaps`].
pub(crate) const fn gaps(fields: &[FieldInfo], bytes: u8) -> [u8; WORD_BYTES] {
    let mut covered = [0; WORD_BYTES];
    cover(&mut covered, fields, 0);
    let mut gaps = [0; WORD_BYTES];
    let mut byte = 0;
    while byte < bytes as usize {
        gaps[byte] = !covered[byte];
        byte += 1;
    }
    gaps
}

/// Fills [`LayoutInfo::unknown`] from inclusive ranges.
pub(crate) const fn byte_mask(ranges: &[(u8, u8)]) -> [u8; WORD_BYTES] {
    let mut mask = [0; WORD_BYTES];
    let mut i = 0;
    while i < ranges.len() {
        let mut byte = ranges[i].0;
        while byte <= ranges[i].1 {
            mask[byte as usize] = 0xFF;
            byte += 1;
        }
        i += 1;
    }
    mask
}

/// Fills [`LayoutInfo::unions`].
pub(crate) const fn unions_of(fields: &[FieldInfo]) -> u64 {
    let (mut set, mut i) = (0, 0);
    while i < fields.len() {
        if matches!(fields[i].kind, Kind::Union(_)) {
            set |= 1 << i;
        }
        i += 1;
    }
    set
}

/// Fills [`LayoutInfo::conditional`].
pub(crate) const fn conditional(fields: &[FieldInfo]) -> u64 {
    let (mut set, mut i) = (0, 0);
    while i < fields.len() {
        if fields[i].when.is_some() {
            set |= 1 << i;
        }
        i += 1;
    }
    set
}

/// An opcode byte and what stands for it. Get it from [`opcode`] or [`opcode_named`].
#[derive(Debug)]
pub struct OpcodeInfo {
    /// Byte 0.
    pub code: u8,
    /// Mnemonic, for example `Matmul` or `EVENT_SEMAPHORE`.
    pub name: &'static str,
    /// Short label of the vendor; equal to `name` where it has none.
    pub label: &'static str,
    /// Whether the loader rewrites it, and whether it stands alone.
    pub class: OpcodeClass,
    /// Engines whose streams may hold it, or one of `any`, `datapath`, `issuing`, `each`, `sequencer`.
    pub engines: &'static [&'static str],
    /// BIR instruction types that are encoded with it.
    pub emitters: &'static [&'static str],
    /// Slot family, for example `A` (spec: isa-bundle.md 5); empty where none is named.
    pub family: &'static str,
    /// Field values that the opcode forces.
    pub fixed: &'static [(Field, u32)],
    /// For an extension word: the opcode in front of it.
    pub follows: Option<u8>,
    /// Layout by generation, v2 first.
    pub(crate) layouts: [Option<Layout>; 4],
    /// Generations whose encoder writes it, as bits.
    pub(crate) encoded: u8,
}

/// What the loader does with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpcodeClass {
    /// The device executes it.
    Real,
    /// The loader rewrites it before the device sees it.
    Pseudo,
    /// The second word of the instruction in front of it.
    Extension,
    /// The instruction set names the code and nothing more is known.
    Named,
}

/// The words of a BIR instruction under a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The InstructionType.
    pub instruction: &'static str,
    /// When it has these words, in prose.
    pub when: &'static str,
    /// Opcodes of the words in stream order. The wait is on the first word, the update on the last.
    pub words: &'static [Opcode],
}

impl OpcodeInfo {
    /// The layout on a generation, if the opcode exists there.
    pub fn layout(&self, generation: Generation) -> Option<Layout> {
        self.layouts[generation as usize]
    }

    /// Whether the compiler's encoder for a generation writes the opcode.
    pub fn is_encoded_on(&self, generation: Generation) -> bool {
        self.encoded & generation.bit() != 0
    }

    /// The layout with which to read the opcode on a generation: its own, else that of the nearest generation that
    /// has it, the newer of two equally near.
    pub(crate) const fn nearest_layout(&self, generation: usize) -> Layout {
        let mut best: Option<(usize, Layout)> = None;
        let mut i = 0;
        while i < 4 {
            if let Some(layout) = self.layouts[i] {
                let distance = generation.abs_diff(i);
                let better = match best {
                    Some((other, _)) => distance <= other,
                    None => true,
                };
                if better {
                    best = Some((distance, layout));
                }
            }
            i += 1;
        }
        match best {
            Some((_, layout)) => layout,
            None => Layout::Raw,
        }
    }
}

/// Looks up an opcode byte. Of the two extension words it gives the one that follows `previous`.
#[inline]
pub fn opcode(code: u8, previous: Option<u8>) -> Option<&'static OpcodeInfo> {
    opcode_row(code, previous).map(opcode_at)
}

/// The place among the rows of what [`opcode`] gives.
#[inline]
pub(crate) fn opcode_row(code: u8, previous: Option<u8>) -> Option<usize> {
    let place = (OPCODE_INDEX[code as usize] as usize).checked_sub(1)?;
    if OPCODES[place].follows.is_none() {
        return Some(place);
    }
    let rows = OPCODES[place..].iter().take_while(|row| row.code == code);
    rows.map(|row| row.follows).position(|follows| follows == previous).map(|behind| place + behind)
}

/// The row at a place that [`opcode_row`] gives.
#[inline]
pub(crate) fn opcode_at(row: usize) -> &'static OpcodeInfo {
    &OPCODES[row]
}

/// Whether a byte opens an extension word, which is read by what stands in front of it.
pub(crate) fn is_extension(code: u8) -> bool {
    let place = OPCODE_INDEX[code as usize] as usize;
    place != 0 && OPCODES[place - 1].follows.is_some()
}

/// Looks up a mnemonic or a label.
///
/// # Errors
/// When it is that of an extension word, and the word with the opcode `previous` has none: all extension words of the name.
pub fn opcode_named(
    name: &str,
    previous: Option<u8>,
) -> Result<Option<&'static OpcodeInfo>, &'static [OpcodeInfo]> {
    let place = OPCODES
        .iter()
        .position(|row| row.name == name)
        .or_else(|| OPCODES.iter().position(|row| row.label == name));
    let Some(place) = place else { return Ok(None) };
    let row = &OPCODES[place];
    if row.follows.is_none() {
        return Ok(Some(row));
    }
    let same = OPCODES[place..].iter().take_while(|other| other.code == row.code).count();
    opcode(row.code, previous).map(Some).ok_or(&OPCODES[place..place + same])
}

/// Place of the first row of an opcode byte plus one; 0 for bytes without a row.
static OPCODE_INDEX: [u8; 256] = index_opcodes(OPCODES);

/// Layout by generation and opcode byte, and whether the opcode exists there; extension words apart.
pub(crate) static LAYOUT_OF: [[(Layout, Presence); 256]; 4] = index_layouts(OPCODES);

/// Whether an opcode byte has a meaning on a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The opcode exists.
    Here,
    /// It exists on other generations.
    Elsewhere,
    /// It has no row.
    Unknown,
    /// It is an extension word: the word in front of it decides.
    Extension,
}

/// Fills the index of opcode rows: place of the first row of a code plus one.
const fn index_opcodes(rows: &[OpcodeInfo]) -> [u8; 256] {
    let mut index = [0; 256];
    let mut i = rows.len();
    while i > 0 {
        i -= 1;
        index[rows[i].code as usize] = i as u8 + 1;
    }
    index
}

/// Fills [`LAYOUT_OF`]; [`Layout::Opaque`] where there is no row.
const fn index_layouts(rows: &[OpcodeInfo]) -> [[(Layout, Presence); 256]; 4] {
    let mut index = [[(Layout::Opaque, Presence::Unknown); 256]; 4];
    let mut i = 0;
    while i < rows.len() {
        let mut generation = 0;
        while generation < 4 {
            index[generation][rows[i].code as usize] = match (rows[i].follows, rows[i].layouts[generation]) {
                (Some(_), _) => (Layout::Opaque, Presence::Extension),
                (None, Some(layout)) => (layout, Presence::Here),
                (None, None) => (rows[i].nearest_layout(generation), Presence::Elsewhere),
            };
            generation += 1;
        }
        i += 1;
    }
    index
}
