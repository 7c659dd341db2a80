//! From words to text. Everything is appended to a byte buffer; nothing is allocated per word.

use std::io::Write;

use crate::decode::StreamWord;
use crate::layout::{
    EnumInfo, FieldInfo, ImmForm, ImmKind, Kind, LayoutInfo, PreambleKind, Shape, StructInfo,
};
use crate::sync::{update_uses_value, wait_uses_value};
use crate::text::{Dma, PARTITION_STEP, default_value};
use crate::value::{Addr4, Bitset256, F32, Pack, Place};
use crate::word::{WORD_BYTES, Word};
use crate::{Field, ImmSrc, ImmSrcN, Layout, Preamble, UpdateMode, WaitMode};

type Bytes = [u8; WORD_BYTES];

/// Column in which operands begin, counted from the mnemonic.
const MNEMONIC_WIDTH: usize = 20;

/// Appends a word as one line of assembly text without its offset, comment and line end.
pub(super) fn put_word(out: &mut Vec<u8>, word: &StreamWord, layout: Layout, rest: &Word) {
    let bytes = &word.word.0;
    let Some(opcode) = crate::layout::opcode(bytes[0], word.previous) else {
        out.extend_from_slice(b".word ");
        put_hex(out, bytes);
        return;
    };
    let start = out.len();
    out.extend_from_slice(opcode.name.as_bytes());
    let info = layout.info();
    let mnemonic_end = out.len();
    pad(out, start, MNEMONIC_WIDTH);
    let operands = out.len();
    if info.preamble == PreambleKind::Std {
        put_preamble(out, bytes);
    }
    let printer = Fields { bytes, set: set_bytes(bytes), info, fixed: opcode.fixed };
    if let Some(dma) = Dma::of(layout) {
        put_dma(out, bytes, dma);
        info.fields.iter().filter(|field| !Dma::holds(field)).for_each(|field| printer.put_field(out, field));
    } else {
        for place in printer.places() {
            printer.put_field(out, &info.fields[info.text_order[place] as usize]);
        }
    }
    if !rest.is_zero() {
        put_rest(out, &rest.0);
    }
    if out.len() == operands {
        out.truncate(mnemonic_end);
    }
}

/// Both sides of a DMA as `dst=SB(p0,0x37c00)[1p:128]x512`: address, step and count of the outer dimensions, and bytes of
/// the innermost one. A step of whole partitions has a `p`.
fn put_dma(out: &mut Vec<u8>, bytes: &Bytes, [src, dst]: [Dma; 2]) {
    for (name, side) in [(b" dst=", dst), (b" src=", src)] {
        out.extend_from_slice(name);
        put_struct(out, bytes, side.address, side.at, 1, false);
        let dims =
            [0, 1].map(|i| (i32::load(bytes, side.steps + 4 * i), u16::load(bytes, side.counts + 2 * i)));
        let shown = if dims[1] == (1, 1) { 1 } else { 2 };
        for (i, (step, count)) in dims[..shown].iter().enumerate() {
            out.push(if i == 0 { b'[' } else { b',' });
            match *step {
                step if step != 0 && step % PARTITION_STEP == 0 => {
                    put_signed(out, (step / PARTITION_STEP).into());
                    out.push(b'p');
                }
                step => put_signed(out, step.into()),
            }
            put_prefixed(out, b":", (*count).into());
        }
        // 65536 does not fit and is written as 0 (spec: isa-control-dma.md 6).
        let size = u16::load(bytes, side.size);
        put_prefixed(out, b"]x", if size == 0 { 0x1_0000 } else { size.into() });
    }
}

/// Appends blanks until `width` bytes behind `start`.
pub(super) fn pad(out: &mut Vec<u8>, start: usize, width: usize) {
    out.resize(out.len().max(start + width), b' ');
}

struct Fields<'a> {
    bytes: &'a Bytes,
    /// The bytes that are not 0, one bit each.
    set: u64,
    info: &'static LayoutInfo,
    fixed: &'static [(Field, u32)],
}

impl Fields<'_> {
    /// Places in the text order that may have something to show.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.info.text_loud;
        for (place, bytes) in self.info.text_bytes.iter().enumerate() {
            left |= u32::from(self.set & bytes != 0) << place;
        }
        if self.fixed.iter().any(|(_, value)| *value != 0) {
            left = (1 << self.info.fields.len()) - 1;
        }
        std::iter::from_fn(move || {
            let place = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(place as usize)
        })
    }

    fn put_field(&self, out: &mut Vec<u8>, field: &'static FieldInfo) {
        if !field.is_defined(self.bytes) {
            return; // its bytes are part of the rest
        }
        match field.kind {
            Kind::Struct(info) if info.shape == Shape::Events => {
                return put_events(out, self.bytes, field.at.into());
            }
            Kind::Struct(StructInfo { shape: Shape::Record, .. }) if self.is_zero(field) => return,
            Kind::Struct(_) | Kind::Union(_) => {}
            Kind::Imm(imm) => {
                let selected = imm.selector.is_some_and(|(at, ..)| self.bytes[at as usize] != 0);
                if self.is_default(field)
                    && !self.is_always_shown(field)
                    && !(selected && implies_selector(self.bytes, field, &imm))
                {
                    return;
                }
            }
            Kind::Enum(info) if is_selector(info) && self.is_implied_selector(field) => return,
            _ if self.is_default(field) && !self.is_always_shown(field) => return,
            _ => {}
        }
        out.push(b' ');
        if field.field == Some(Field::BrImmediate) {
            out.extend_from_slice(b"target=#");
        } else {
            out.extend_from_slice(field.name.as_bytes());
            out.push(b'=');
        }
        put_value(out, self.bytes, field, 0, self.info.spare_step);
    }

    #[inline]
    fn is_zero(&self, field: &FieldInfo) -> bool {
        self.set >> field.at & (u64::MAX >> (64 - u32::from(field.bytes))) == 0
    }

    /// Whether the assembler writes these bytes when the operand is absent.
    fn is_default(&self, field: &FieldInfo) -> bool {
        if self.fixed.is_empty() && field.value.is_none() {
            return self.is_zero(field);
        }
        match field.bytes {
            ..=8 => {
                number(self.bytes, field.at as usize, field.bytes)
                    == u64::from(default_value(field, self.fixed))
            }
            _ => self.is_zero(field),
        }
    }

    fn is_always_shown(&self, field: &FieldInfo) -> bool {
        field.is_always_shown() && !self.fixed.iter().any(|(fixed, _)| Some(*fixed) == field.field)
    }

    /// Whether the field is the selector of a scalar whose text says which form it has.
    fn is_implied_selector(&self, field: &FieldInfo) -> bool {
        self.info.fields.iter().any(|other| match other.kind {
            Kind::Imm(imm) if imm.selector == Some((field.at, 0, 8)) => {
                (!self.is_default(other) || self.bytes[field.at as usize] != 0)
                    && implies_selector(self.bytes, other, &imm)
            }
            _ => false,
        })
    }
}

/// The bytes that are not 0, one bit each.
#[inline]
fn set_bytes(bytes: &Bytes) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let (chunks, _) = bytes.as_chunks::<8>();
    chunks.iter().rev().fold(0, |set, chunk| {
        let chunk = u64::from_le_bytes(*chunk);
        // The top bit of each byte that is not 0; the product gathers the eight of them in the top byte.
        let tops = (((chunk & LOW) + LOW) | chunk) & !LOW;
        set << 8 | (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// Whether codes of an enum say which form a scalar has.
fn is_selector(info: &'static EnumInfo) -> bool {
    std::ptr::eq(info, ImmSrc::info()) || std::ptr::eq(info, ImmSrcN::info())
}

/// An unsigned number of up to 8 bytes.
#[inline]
pub(crate) fn number(bytes: &Bytes, at: usize, count: u8) -> u64 {
    match count {
        1 => bytes[at].into(),
        2 => u16::load(bytes, at).into(),
        4 => u32::load(bytes, at).into(),
        8 => u64::load(bytes, at),
        _ => bytes[at..at + count as usize].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    }
}

/// Sign-extends a number of `count` bytes.
#[inline]
pub(crate) fn signed(value: u64, count: u8) -> i64 {
    let shift = 64 - 8 * u32::from(count);
    (value << shift) as i64 >> shift
}

/// Whether the text of a scalar shows its form, so that the selector need not be written.
fn implies_selector(bytes: &Bytes, field: &FieldInfo, imm: &ImmKind) -> bool {
    if !matches!(imm.selector, Some((_, 0, 8))) {
        return false;
    }
    let value = u32::load(bytes, field.at.into());
    match imm.form(bytes) {
        ImmForm::Float => !f32::from_bits(value).is_nan(),
        ImmForm::Integer => true,
        ImmForm::Pointer => matches!(Addr4(value).place(), Place::Sbuf { .. } | Place::Psum { .. }),
        ImmForm::Register => value < 256,
        ImmForm::Unknown => false,
    }
}

/// Appends the value of a field that lies `base` bytes behind its offset.
fn put_value(out: &mut Vec<u8>, bytes: &Bytes, field: &FieldInfo, base: usize, spare_step: i16) {
    let at = base + field.at as usize;
    let raw = || number(bytes, at, field.bytes);
    let byte = || match field.bits {
        Some((first, last)) => bytes[at] >> first & crate::layout::mask8(last - first + 1),
        None => bytes[at],
    };
    match field.kind {
        Kind::Uint if field.bits.is_some() => put_number(out, byte().into()),
        Kind::Uint => put_number(out, raw()),
        Kind::Int => put_signed(out, signed(raw(), field.bytes)),
        Kind::F32 => put_f32(out, raw() as u32),
        Kind::Flag => put_number(out, byte().into()),
        Kind::Reg => put_prefixed(out, b"r", byte().into()),
        Kind::Sem => put_prefixed(out, b"sem", byte().into()),
        Kind::Enum(info) => put_code(out, info, byte()),
        Kind::Flags(info) => put_flags(out, info, byte()),
        Kind::Pair(info) => {
            put_code(out, info, byte() & 15);
            out.push(b'/');
            put_code(out, info, byte() >> 4);
        }
        Kind::Imm(imm) => put_imm(out, raw() as u32, imm.form(bytes)),
        Kind::Addr4 => put_addr4(out, Addr4(raw() as u32)),
        Kind::Struct(info) => put_struct(out, bytes, info, at, spare_step, false),
        Kind::Union(union) => {
            let indirect = Addr4::load(bytes, at).is_indirect();
            put_struct(
                out,
                bytes,
                if indirect { union.indirect } else { union.direct },
                at,
                spare_step,
                true,
            );
        }
        Kind::Array(size, is_signed) => put_list(out, bytes, at, field.bytes / size, size, |out, value| {
            if is_signed { put_signed(out, signed(value, size)) } else { put_number(out, value) }
        }),
        Kind::Regs => put_list(out, bytes, at, field.bytes, 1, |out, value| put_prefixed(out, b"r", value)),
        Kind::Name => put_string(out, &bytes[at..at + field.bytes as usize]),
        Kind::Bytes => {
            out.extend_from_slice(b"x\"");
            put_hex(out, trimmed(&bytes[at..at + field.bytes as usize]));
            out.push(b'"');
        }
        Kind::Bitset => put_set(out, &Bitset256::load(bytes, at)),
    }
}

fn put_struct(out: &mut Vec<u8>, bytes: &Bytes, info: &StructInfo, at: usize, spare_step: i16, named: bool) {
    match info.shape {
        Shape::Tensor(dims) => {
            put_addr4(out, Addr4::load(bytes, at));
            put_dims(out, bytes, at + 4, dims.into(), spare_step);
        }
        Shape::Generator => {
            put_signed(out, i32::load(bytes, at).into());
            put_dims(out, bytes, at + 4, 4, spare_step);
        }
        Shape::Addr4 => put_addr4(out, Addr4::load(bytes, at)),
        Shape::PseudoAddr8 if put_pseudo_addr8(out, bytes, at) => {}
        Shape::PseudoAddr8 | Shape::Events | Shape::Record => {
            if named {
                out.extend_from_slice(info.name.as_bytes());
            }
            out.push(b'{');
            let mut first = true;
            for field in info.fields {
                let place = at + field.at as usize;
                let is_zero = match field.bits {
                    Some((first, last)) => {
                        bytes[place] >> first & crate::layout::mask8(last - first + 1) == 0
                    }
                    None => bytes[place..place + field.bytes as usize].iter().all(|&byte| byte == 0),
                };
                if is_zero {
                    continue;
                }
                if !first {
                    out.push(b',');
                }
                first = false;
                out.extend_from_slice(field.name.as_bytes());
                out.push(b'=');
                put_value(out, bytes, field, at, spare_step);
            }
            out.push(b'}');
        }
    }
}

/// Steps at `at`, counts behind them; without the unused dimensions at the end, but never without any.
fn put_dims(out: &mut Vec<u8>, bytes: &Bytes, at: usize, dims: usize, spare_step: i16) {
    let step = |i: usize| i16::load(bytes, at + 2 * i);
    let num = |i: usize| u16::load(bytes, at + 2 * (dims + i));
    let mut shown = dims;
    while shown > 1 && (step(shown - 1), num(shown - 1)) == (spare_step, 1) {
        shown -= 1;
    }
    for i in 0..shown {
        out.push(if i == 0 { b'[' } else { b',' });
        put_signed(out, step(i).into());
        out.push(b':');
        put_number(out, num(i).into());
    }
    out.push(b']');
}

/// Appends a 4-byte address.
pub(crate) fn put_addr4(out: &mut Vec<u8>, addr: Addr4) {
    const MODES: u32 = Addr4::SHAPE | Addr4::INDIRECT;
    let place = Addr4(addr.0 & !MODES).place();
    if let Place::Other(_) = place {
        return put_bits(out, addr.0);
    }
    if addr.0 & Addr4::SHAPE != 0 {
        out.extend_from_slice(b"shape:");
    }
    if addr.0 & Addr4::INDIRECT != 0 {
        out.extend_from_slice(b"idx:");
    }
    match place {
        Place::Sbuf { partition, offset } => {
            put_prefixed(out, b"SB(p", partition.into());
            out.extend_from_slice(b",0x");
            put_digits(out, offset.into());
            out.push(b')');
        }
        Place::Psum { partition, bank, offset } => {
            put_prefixed(out, b"PS(p", partition.into());
            put_prefixed(out, b",b", bank.into());
            if offset != 0 {
                out.extend_from_slice(b",0x");
                put_digits(out, offset.into());
            }
            out.push(b')');
        }
        Place::Register(register) => put_prefixed(out, b"r", register.0.into()),
        Place::Other(_) => {}
    }
}

/// The forms the compiler writes (spec: isa-control-dma.md 6.1); `false`, and nothing appended, for others.
fn put_pseudo_addr8(out: &mut Vec<u8>, bytes: &Bytes, at: usize) -> bool {
    let value = u32::load(bytes, at);
    let id = u16::load(bytes, at + 4);
    let high = bytes[at + 6];
    let marker = bytes[at + 7] & 0xFC;
    match marker & !0x40 {
        0x10 if id == 0 && high == 0 && value < Addr4::PSUM_BASE => put_addr4(out, Addr4(value)),
        0x10 => {
            put_prefixed(out, b"var", u64::from(id) | u64::from(high) << 16);
            out.extend_from_slice(b"+0x");
            put_digits(out, value.into());
        }
        0x20 if high == 0 => {
            put_prefixed(out, b"table", id.into());
            out.extend_from_slice(b"+0x");
            put_digits(out, value.into());
        }
        0x28 | 0x2C if high == 0 => {
            put_prefixed(out, b"table", id.into());
            put_prefixed(out, b"+r", value.into());
            if marker & 4 != 0 {
                out.extend_from_slice(b":wide");
            }
        }
        _ => return false,
    }
    if marker & 0x40 != 0 {
        out.extend_from_slice(b":shape");
    }
    true
}

fn put_preamble(out: &mut Vec<u8>, bytes: &Bytes) {
    let head = Preamble::load(bytes, 0);
    if head.inst_word_len != 0x10 {
        put_prefixed(out, b" inst_word_len=", head.inst_word_len.into());
    }
    if head.debug_cmd.0 != 0 {
        out.extend_from_slice(b" debug_cmd=");
        put_code(out, crate::DebugCmd::info(), head.debug_cmd.0);
    }
    if head.debug_hint != 0 {
        put_prefixed(out, b" debug_hint=", head.debug_hint.into());
    }
    if head.wait_mode.0 | head.wait_idx.0 | head.update_mode.0 | head.update_idx.0 == 0
        && head.semaphore_value == 0
    {
        return;
    }
    let value = head.semaphore_value;
    let mut shown =
        put_wait(out, b" wait", head.wait_mode, head.wait_idx.0, value, b" wait_mode=", b" wait_idx=");
    shown |= put_update(
        out,
        b" upd",
        head.update_mode,
        head.update_idx.0,
        value,
        b" update_mode=",
        b" update_idx=",
    );
    if !shown && value != 0 {
        put_prefixed(out, b" semaphore_value=", value.into());
    }
}

/// The second wait and the update of EVENT_SEMAPHORE.
fn put_events(out: &mut Vec<u8>, bytes: &Bytes, at: usize) {
    let events = crate::EventsExtended::load(bytes, at);
    let (wait, update) = (events.sem_wait_value, events.sem_update_value);
    let names = (b" events_extended.wait_mode=", b" events_extended.wait_idx=");
    if !put_wait(out, b" wait2", events.wait_mode, events.wait_idx.0, wait, names.0, names.1) && wait != 0 {
        put_prefixed(out, b" events_extended.sem_wait_value=", wait.into());
    }
    let names = (b" events_extended.update_mode=", b" events_extended.update_idx=");
    if !put_update(out, b" upd2", events.update_mode, events.update_idx.0, update, names.0, names.1)
        && update != 0
    {
        put_prefixed(out, b" events_extended.sem_update_value=", update.into());
    }
}

/// Appends a wait; says whether the value was part of it.
fn put_wait(
    out: &mut Vec<u8>,
    keyword: &[u8],
    mode: WaitMode,
    id: u8,
    value: u32,
    mode_name: &[u8],
    id_name: &[u8],
) -> bool {
    let (negation, event) = match mode {
        WaitMode::EVT_SET => ("", ""),
        WaitMode::EVT_SET_THEN_CLEAR => ("", ",clear"),
        WaitMode::EVT_CLEAR => ("!", ""),
        WaitMode::EVT_CLEAR_THEN_SET => ("!", ",set"),
        WaitMode::NONE | WaitMode::INVALID => {
            put_mode(out, WaitMode::info(), mode.0, id, mode_name, id_name);
            return false;
        }
        _ if mode.name().is_none() => {
            put_mode(out, WaitMode::info(), mode.0, id, mode_name, id_name);
            return false;
        }
        _ => {
            debug_assert!(wait_uses_value(mode));
            out.extend_from_slice(keyword);
            put_prefixed(out, b" sem", id.into());
            out.extend_from_slice([b"==".as_slice(), b"<", b"<=", b">", b">="][(mode.0 & 0x7F) as usize - 1]);
            if mode.0 & 0x80 != 0 {
                out.push(b'r');
            }
            put_decimal(out, value.into());
            return true;
        }
    };
    out.extend_from_slice(keyword);
    out.push(b' ');
    out.extend_from_slice(negation.as_bytes());
    put_prefixed(out, b"evt", id.into());
    out.extend_from_slice(event.as_bytes());
    false
}

/// Appends an update; says whether the value was part of it.
fn put_update(
    out: &mut Vec<u8>,
    keyword: &[u8],
    mode: UpdateMode,
    id: u8,
    value: u32,
    mode_name: &[u8],
    id_name: &[u8],
) -> bool {
    if mode.name().is_none() || mode == UpdateMode::NONE || mode == UpdateMode::INVALID {
        put_mode(out, UpdateMode::info(), mode.0, id, mode_name, id_name);
        return false;
    }
    out.extend_from_slice(keyword);
    let action = mode.0 & 0x0F;
    put_prefixed(out, if action <= 2 { b" evt" } else { b" sem" }, id.into());
    out.extend_from_slice(match action {
        1 => b"=set".as_slice(),
        2 => b"=clear",
        3 => b"+=1",
        4 => b"-=1",
        5 => b"+=",
        7 => b"-=",
        _ => b"=",
    });
    let uses_value = update_uses_value(mode);
    if uses_value {
        match mode.0 & 0x80 != 0 {
            true => out.push(b'r'),
            // Adding 1 is not incrementing: the bytes differ.
            false if value == 1 && action != 9 => out.extend_from_slice(b"imm:"),
            false => {}
        }
        put_decimal(out, value.into());
    }
    if mode.0 & 0x10 == 0 {
        out.extend_from_slice(b"@read");
    }
    uses_value
}

fn put_mode(out: &mut Vec<u8>, info: &EnumInfo, mode: u8, id: u8, mode_name: &[u8], id_name: &[u8]) {
    if mode != 0 {
        out.extend_from_slice(mode_name);
        put_code(out, info, mode);
    }
    if id != 0 {
        put_prefixed(out, id_name, id.into());
    }
}

/// Runs of bytes that no field explains, as `raw[offset]=hex`. The assembler sets these bits and leaves all others.
fn put_rest(out: &mut Vec<u8>, rest: &Bytes) {
    for (at, run) in runs(rest) {
        put_prefixed(out, b" raw[", at as u64);
        out.extend_from_slice(b"]=");
        put_hex(out, run);
    }
}

/// Runs of bytes that are not 0, with their offsets.
pub(crate) fn runs(bytes: &Bytes) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes[at..].iter().position(|&byte| byte != 0)?;
        let run = bytes[at..].split(|&byte| byte == 0).next()?;
        let start = at;
        at += run.len();
        Some((start, run))
    })
}

fn put_imm(out: &mut Vec<u8>, value: u32, form: ImmForm) {
    match form {
        ImmForm::Float => put_f32(out, value),
        ImmForm::Integer => put_decimal(out, value.into()),
        ImmForm::Pointer => put_addr4(out, Addr4(value)),
        ImmForm::Register if value < 256 => put_prefixed(out, b"r", value.into()),
        ImmForm::Register | ImmForm::Unknown => put_bits(out, value),
    }
}

/// The shortest text that gives the same bits; hexadecimal bits where there is none.
fn put_f32(out: &mut Vec<u8>, bits: u32) {
    let value = F32(bits).get();
    if value.is_nan() {
        put_bits(out, bits);
    } else if bits == 0 {
        out.extend_from_slice(b"0.0");
    } else {
        write!(out, "{value:?}").expect("a buffer takes bytes");
    }
}

fn put_bits(out: &mut Vec<u8>, bits: u32) {
    write!(out, "{bits:#010x}").expect("a buffer takes bytes");
}

fn put_code(out: &mut Vec<u8>, info: &EnumInfo, code: u8) {
    match info.code(code) {
        Some(code) => out.extend_from_slice(code.name.as_bytes()),
        None => put_decimal(out, code.into()),
    }
}

fn put_flags(out: &mut Vec<u8>, info: &EnumInfo, bits: u8) {
    let mut left = bits;
    for flag in info.codes.iter().filter(|flag| bits & flag.code == flag.code) {
        if left != bits {
            out.push(b'|');
        }
        out.extend_from_slice(flag.name.as_bytes());
        left &= !flag.code;
    }
    if left != 0 || bits == 0 {
        if left != bits {
            out.push(b'|');
        }
        put_decimal(out, left.into());
    }
}

fn put_list(
    out: &mut Vec<u8>,
    bytes: &Bytes,
    at: usize,
    count: u8,
    size: u8,
    put: impl Fn(&mut Vec<u8>, u64),
) {
    let element = |i: u8| number(bytes, at + usize::from(i * size), size);
    let shown = (0..count).rev().find(|&i| element(i) != 0).map_or(0, |last| last + 1);
    out.push(b'[');
    for i in 0..shown {
        if i != 0 {
            out.push(b',');
        }
        put(out, element(i));
    }
    out.push(b']');
}

fn put_set(out: &mut Vec<u8>, set: &Bitset256) {
    out.push(b'{');
    let mut ids = set.ids().peekable();
    let mut first = true;
    while let Some(start) = ids.next() {
        let mut end = start;
        while let Some(next) = ids.next_if(|&next| next == end + 1) {
            end = next;
        }
        if !first {
            out.push(b',');
        }
        first = false;
        put_decimal(out, start.into());
        if end != start {
            put_prefixed(out, b"-", end.into());
        }
    }
    out.push(b'}');
}

/// Without the zero bytes at the end.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for &byte in trimmed(bytes) {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => {
                out.extend_from_slice(b"\\x");
                put_hex(out, &[byte]);
            }
        }
    }
    out.push(b'"');
}

/// Appends two hexadecimal digits per byte.
pub(super) fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[(byte >> 4) as usize]);
        out.push(DIGITS[(byte & 15) as usize]);
    }
}

/// Hexadecimal digits without leading zeros.
fn put_digits(out: &mut Vec<u8>, value: u64) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for i in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(value >> (4 * i) & 15) as usize]);
    }
}

fn put_decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Small numbers in decimal, large ones, which are addresses or patterns, in hexadecimal.
fn put_number(out: &mut Vec<u8>, value: u64) {
    if value <= 0xFFFF {
        put_decimal(out, value);
    } else {
        out.extend_from_slice(b"0x");
        put_digits(out, value);
    }
}

fn put_prefixed(out: &mut Vec<u8>, prefix: &[u8], value: u64) {
    out.extend_from_slice(prefix);
    put_decimal(out, value);
}
