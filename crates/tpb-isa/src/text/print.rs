//! From words to text. Nothing is allocated per word, and every piece goes straight to the line.

use std::fmt::Write;

use crate::decode::StreamWord;
use crate::layout::{EnumInfo, FieldInfo, ImmForm, ImmKind, Kind, Shape, StructInfo, UnionInfo};
use crate::sync::{update_uses_value, wait_uses_value};
use crate::text::cursor::{Cursor, EMPTY};
use crate::text::plan::{Detail, Plan, Shown, Value, is_default};
use crate::text::{Dma, PARTITION_STEP};
use crate::value::{Addr4, Bitset256, F32, Pack, Place};
use crate::word::{WORD_BYTES, Word};
use crate::{Layout, Preamble, UpdateMode, WaitMode};

type Bytes = [u8; WORD_BYTES];

/// Appends a word as one line of assembly text without its offset, comment and line end.
pub(super) fn put_word(out: &mut Cursor<'_>, word: &StreamWord, layout: Layout, rest: Option<&Word>) {
    let bytes = &word.word.0;
    let Some(row) = crate::layout::opcode_row(bytes[0], word.previous) else {
        out.put(b".word ");
        out.put_hex(bytes);
        return;
    };
    let plan = Plan::of(row, layout, word.generation);
    let mnemonic_end = out.len() + plan.mnemonic;
    out.put_start(&plan.head.bytes, plan.head.len);
    let operands = out.len();
    if plan.has_preamble {
        put_preamble(out, bytes);
    }
    if let Some(dma) = plan.dma {
        put_dma(out, bytes, dma);
    }
    for place in plan.candidates(set_bytes(bytes)) {
        put_operand(out, bytes, plan, place);
    }
    if let Some(rest) = rest {
        put_rest(out, &rest.0);
    }
    if out.len() == operands {
        out.truncate(mnemonic_end);
    }
}

/// Appends an operand, unless the assembler would write the same bytes without it.
#[inline]
fn put_operand(out: &mut Cursor<'_>, bytes: &Bytes, plan: &Plan, place: usize) {
    let Some(operand) = plan.operands.get(place) else { return };
    if !operand.is_defined(bytes) {
        return; // its bytes are part of the rest
    }
    if !operand.is_plain {
        let detail = &plan.details[place];
        if matches!(detail.shown, Shown::Events) {
            return put_events(out, bytes, operand.at.into());
        }
        if is_left_out(bytes, detail) {
            return;
        }
    }
    out.put_start(&operand.name, operand.name_len.into());
    let at = usize::from(operand.at) % WORD_BYTES;
    match operand.value {
        Value::Code(info) => put_code(out, info, bytes[at]),
        Value::Number(1) => out.put_decimal(bytes[at].into()),
        Value::Number(size) => out.put_number(number(bytes, at, size)),
        Value::Sem => out.put_prefixed(b"sem", bytes[at].into()),
        Value::Reg => out.put_prefixed(b"r", bytes[at].into()),
        Value::Tensor(dims) => put_tensor(out, bytes, at, dims, plan.spare_step),
        Value::Union(union) => put_union(out, bytes, union, at, plan.spare_step),
        Value::Other(field) => put_value(out, bytes, field, 0, plan.spare_step),
    }
}

/// Whether the assembler writes an operand as it is when it is absent, or the text of another implies it.
fn is_left_out(bytes: &Bytes, detail: &Detail) -> bool {
    match &detail.shown {
        // There are candidates only among those that have a byte.
        Shown::Always | Shown::NotZero | Shown::Events => false,
        Shown::NotDefault => detail.is_default(bytes),
        Shown::Scalar(imm, is_always_shown) => {
            let selected = imm.selector.is_some_and(|(at, ..)| bytes[at as usize] != 0);
            detail.is_default(bytes)
                && !is_always_shown
                && !(selected && implies_selector(bytes, detail.field, imm))
        }
        Shown::Selector(scalars) => {
            let is_implied = scalars.iter().any(|(scalar, imm, default)| {
                (bytes[detail.field.at as usize] != 0 || !is_default(scalar, *default, bytes))
                    && implies_selector(bytes, scalar, imm)
            });
            is_implied || detail.is_default(bytes)
        }
    }
}

/// Both sides of a DMA as `dst=SB(p0,0x37c00)[1p:128]x512`: address, step and count of the outer dimensions, and bytes of
/// the innermost one. A step of whole partitions has a `p`.
fn put_dma(out: &mut Cursor<'_>, bytes: &Bytes, [src, dst]: [Dma; 2]) {
    for (name, side) in [(b" dst=", dst), (b" src=", src)] {
        out.put(name);
        put_struct(out, bytes, side.address, side.at, 1, false);
        for i in 0..2 {
            let (step, count) = (i32::load(bytes, side.steps + 4 * i), u16::load(bytes, side.counts + 2 * i));
            if i == 1 && (step, count) == (1, 1) {
                break;
            }
            out.push(if i == 0 { b'[' } else { b',' });
            match step {
                step if step != 0 && step % PARTITION_STEP == 0 => {
                    out.put_signed((step / PARTITION_STEP).into());
                    out.push(b'p');
                }
                step => out.put_signed(step.into()),
            }
            out.put_prefixed(b":", count.into());
        }
        // 65536 does not fit and is written as 0 (spec: isa-control-dma.md 6).
        let size = u16::load(bytes, side.size);
        out.put_prefixed(b"]x", if size == 0 { 0x1_0000 } else { size.into() });
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
        ImmForm::Pointer => implies_pointer(value),
        ImmForm::Register => value < 256,
        ImmForm::Unknown => false,
    }
}

/// Appends the value of a field that lies `base` bytes behind its offset.
fn put_value(out: &mut Cursor<'_>, bytes: &Bytes, field: &FieldInfo, base: usize, spare_step: i16) {
    let at = base + field.at as usize;
    let raw = || number(bytes, at, field.bytes);
    let byte = || match field.bits {
        Some((first, last)) => bytes[at] >> first & crate::layout::mask8(last - first + 1),
        None => bytes[at],
    };
    match field.kind {
        Kind::Uint if field.bits.is_some() => out.put_number(byte().into()),
        Kind::Uint => out.put_number(raw()),
        Kind::Int => out.put_signed(signed(raw(), field.bytes)),
        Kind::F32 => put_f32(out, raw() as u32),
        Kind::Flag => out.put_number(byte().into()),
        Kind::Reg => out.put_prefixed(b"r", byte().into()),
        Kind::Sem => out.put_prefixed(b"sem", byte().into()),
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
        Kind::Union(union) => put_union(out, bytes, union, at, spare_step),
        Kind::Array(size, is_signed) => put_list(out, bytes, at, field.bytes / size, size, |out, value| {
            if is_signed { out.put_signed(signed(value, size)) } else { out.put_number(value) }
        }),
        Kind::Regs => put_list(out, bytes, at, field.bytes, 1, |out, value| out.put_prefixed(b"r", value)),
        Kind::Name => put_string(out, &bytes[at..at + field.bytes as usize]),
        Kind::Bytes => {
            out.put(b"x\"");
            out.put_hex(trimmed(&bytes[at..at + field.bytes as usize]));
            out.push(b'"');
        }
        Kind::Bitset => put_set(out, &Bitset256::load(bytes, at)),
    }
}

/// Appends one of two structs.
fn put_union(out: &mut Cursor<'_>, bytes: &Bytes, union: &UnionInfo, at: usize, spare_step: i16) {
    let info = if Addr4::load(bytes, at).is_indirect() { union.indirect } else { union.direct };
    match info.shape {
        Shape::Tensor(dims) => put_tensor(out, bytes, at, dims, spare_step),
        _ => put_struct(out, bytes, info, at, spare_step, true),
    }
}

/// Appends an address and an access pattern.
fn put_tensor(out: &mut Cursor<'_>, bytes: &Bytes, at: usize, dims: u8, spare_step: i16) {
    put_addr4(out, Addr4::load(bytes, at));
    put_dims(out, bytes, at + 4, dims.into(), spare_step);
}

fn put_struct(
    out: &mut Cursor<'_>,
    bytes: &Bytes,
    info: &StructInfo,
    at: usize,
    spare_step: i16,
    named: bool,
) {
    match info.shape {
        Shape::Tensor(dims) => put_tensor(out, bytes, at, dims, spare_step),
        Shape::Generator => {
            out.put_signed(i32::load(bytes, at).into());
            put_dims(out, bytes, at + 4, 4, spare_step);
        }
        Shape::Addr4 => put_addr4(out, Addr4::load(bytes, at)),
        Shape::PseudoAddr8 if put_pseudo_addr8(out, bytes, at) => {}
        Shape::PseudoAddr8 | Shape::Events | Shape::Record => {
            if named {
                out.put_text(info.name.as_bytes());
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
                out.put_text(field.name.as_bytes());
                out.push(b'=');
                put_value(out, bytes, field, at, spare_step);
            }
            out.push(b'}');
        }
    }
}

/// Steps at `at`, counts behind them; without the unused dimensions at the end, but never without any.
fn put_dims(out: &mut Cursor<'_>, bytes: &Bytes, at: usize, dims: usize, spare_step: i16) {
    let step = |i: usize| i16::load(bytes, at + 2 * i);
    let num = |i: usize| u16::load(bytes, at + 2 * (dims + i));
    let mut shown = dims;
    while shown > 1 && (step(shown - 1), num(shown - 1)) == (spare_step, 1) {
        shown -= 1;
    }
    for i in 0..shown {
        out.push(if i == 0 { b'[' } else { b',' });
        out.put_signed(step(i).into());
        out.push(b':');
        out.put_number(num(i).into());
    }
    out.push(b']');
}

/// The text of a 4-byte address.
pub(crate) fn addr4_text(addr: Addr4) -> String {
    let mut room = EMPTY;
    let mut line = Cursor::new(&mut room);
    put_addr4(&mut line, addr);
    String::from_utf8_lossy(line.bytes()).into_owned()
}

/// Appends a 4-byte address.
fn put_addr4(out: &mut Cursor<'_>, addr: Addr4) {
    const MODES: u32 = Addr4::SHAPE | Addr4::INDIRECT;
    let place = Addr4(addr.0 & !MODES).place();
    if let Place::Other(_) = place {
        return put_bits(out, addr.0);
    }
    if addr.0 & Addr4::SHAPE != 0 {
        out.put(b"shape:");
    }
    if addr.0 & Addr4::INDIRECT != 0 {
        out.put(b"idx:");
    }
    match place {
        Place::Sbuf { partition, offset } => {
            out.put_prefixed(b"SB(p", partition.into());
            out.put(b",0x");
            out.put_digits(offset.into(), 1);
            out.push(b')');
        }
        Place::Psum { partition, bank, offset } => {
            out.put_prefixed(b"PS(p", partition.into());
            out.put_prefixed(b",b", bank.into());
            if offset != 0 {
                out.put(b",0x");
                out.put_digits(offset.into(), 1);
            }
            out.push(b')');
        }
        Place::Register(register) => out.put_prefixed(b"r", register.0.into()),
        Place::Other(_) => {}
    }
}

/// The forms the compiler writes (spec: isa-control-dma.md 6.1); `false`, and nothing appended, for others.
fn put_pseudo_addr8(out: &mut Cursor<'_>, bytes: &Bytes, at: usize) -> bool {
    let value = u32::load(bytes, at);
    let id = u16::load(bytes, at + 4);
    let high = bytes[at + 6];
    let marker = bytes[at + 7] & 0xFC;
    match marker & !0x40 {
        0x10 if id == 0 && high == 0 && value < Addr4::PSUM_BASE => put_addr4(out, Addr4(value)),
        0x10 => {
            out.put_prefixed(b"var", u64::from(id) | u64::from(high) << 16);
            out.put(b"+0x");
            out.put_digits(value.into(), 1);
        }
        0x20 if high == 0 => {
            out.put_prefixed(b"table", id.into());
            out.put(b"+0x");
            out.put_digits(value.into(), 1);
        }
        0x28 | 0x2C if high == 0 => {
            out.put_prefixed(b"table", id.into());
            out.put_prefixed(b"+r", value.into());
            if marker & 4 != 0 {
                out.put(b":wide");
            }
        }
        _ => return false,
    }
    if marker & 0x40 != 0 {
        out.put(b":shape");
    }
    true
}

fn put_preamble(out: &mut Cursor<'_>, bytes: &Bytes) {
    let head = Preamble::load(bytes, 0);
    if head.inst_word_len != 0x10 {
        out.put_prefixed(b" inst_word_len=", head.inst_word_len.into());
    }
    if head.debug_cmd.0 != 0 {
        out.put(b" debug_cmd=");
        put_code(out, crate::DebugCmd::info(), head.debug_cmd.0);
    }
    if head.debug_hint != 0 {
        out.put_prefixed(b" debug_hint=", head.debug_hint.into());
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
        out.put_prefixed(b" semaphore_value=", value.into());
    }
}

/// The second wait and the update of EVENT_SEMAPHORE.
fn put_events(out: &mut Cursor<'_>, bytes: &Bytes, at: usize) {
    let events = crate::EventsExtended::load(bytes, at);
    let (wait, update) = (events.sem_wait_value, events.sem_update_value);
    let names = (b" events_extended.wait_mode=", b" events_extended.wait_idx=");
    if !put_wait(out, b" wait2", events.wait_mode, events.wait_idx.0, wait, names.0, names.1) && wait != 0 {
        out.put_prefixed(b" events_extended.sem_wait_value=", wait.into());
    }
    let names = (b" events_extended.update_mode=", b" events_extended.update_idx=");
    if !put_update(out, b" upd2", events.update_mode, events.update_idx.0, update, names.0, names.1)
        && update != 0
    {
        out.put_prefixed(b" events_extended.sem_update_value=", update.into());
    }
}

/// Appends a wait; says whether the value was part of it.
fn put_wait(
    out: &mut Cursor<'_>,
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
        _ if WaitMode::info().text(mode.0).is_none() => {
            put_mode(out, WaitMode::info(), mode.0, id, mode_name, id_name);
            return false;
        }
        _ => {
            debug_assert!(wait_uses_value(mode));
            out.put_text(keyword);
            out.put_prefixed(b" sem", id.into());
            match mode.0 & 0x7F {
                1 => out.put(b"=="),
                2 => out.put(b"<"),
                3 => out.put(b"<="),
                4 => out.put(b">"),
                _ => out.put(b">="),
            }
            if mode.0 & 0x80 != 0 {
                out.push(b'r');
            }
            out.put_decimal(value.into());
            return true;
        }
    };
    out.put_text(keyword);
    out.push(b' ');
    out.put_text(negation.as_bytes());
    out.put_prefixed(b"evt", id.into());
    out.put_text(event.as_bytes());
    false
}

/// Appends an update; says whether the value was part of it.
fn put_update(
    out: &mut Cursor<'_>,
    keyword: &[u8],
    mode: UpdateMode,
    id: u8,
    value: u32,
    mode_name: &[u8],
    id_name: &[u8],
) -> bool {
    if UpdateMode::info().text(mode.0).is_none() || mode == UpdateMode::NONE || mode == UpdateMode::INVALID {
        put_mode(out, UpdateMode::info(), mode.0, id, mode_name, id_name);
        return false;
    }
    out.put_text(keyword);
    let action = mode.0 & 0x0F;
    out.put_prefixed(if action <= 2 { b" evt" } else { b" sem" }, id.into());
    match action {
        1 => out.put(b"=set"),
        2 => out.put(b"=clear"),
        3 => out.put(b"+=1"),
        4 => out.put(b"-=1"),
        5 => out.put(b"+="),
        7 => out.put(b"-="),
        _ => out.put(b"="),
    }
    let uses_value = update_uses_value(mode);
    if uses_value {
        match mode.0 & 0x80 != 0 {
            true => out.push(b'r'),
            // Adding 1 is not incrementing: the bytes differ.
            false if value == 1 && action != 9 => out.put(b"imm:"),
            false => {}
        }
        out.put_decimal(value.into());
    }
    if mode.0 & 0x10 == 0 {
        out.put(b"@read");
    }
    uses_value
}

fn put_mode(out: &mut Cursor<'_>, info: &EnumInfo, mode: u8, id: u8, mode_name: &[u8], id_name: &[u8]) {
    if mode != 0 {
        out.put_text(mode_name);
        put_code(out, info, mode);
    }
    if id != 0 {
        out.put_text(id_name);
        out.put_decimal(id.into());
    }
}

/// Runs of bytes that no field explains, as `raw[offset]=hex`. The assembler sets these bits and leaves all others.
fn put_rest(out: &mut Cursor<'_>, rest: &Bytes) {
    for (at, run) in runs(rest) {
        out.put_prefixed(b" raw[", at as u64);
        out.put(b"]=");
        out.put_hex(run);
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

/// Whether an address is read as one wherever a scalar may stand.
fn implies_pointer(value: u32) -> bool {
    matches!(Addr4(value).place(), Place::Sbuf { .. } | Place::Psum { .. })
}

fn put_imm(out: &mut Cursor<'_>, value: u32, form: ImmForm) {
    match form {
        ImmForm::Float => put_f32(out, value),
        ImmForm::Integer => out.put_decimal(value.into()),
        // Any other place reads like a register.
        ImmForm::Pointer if implies_pointer(value) => put_addr4(out, Addr4(value)),
        ImmForm::Register if value < 256 => out.put_prefixed(b"r", value.into()),
        ImmForm::Pointer | ImmForm::Register | ImmForm::Unknown => put_bits(out, value),
    }
}

/// The shortest text that gives the same bits; hexadecimal bits where there is none.
fn put_f32(out: &mut Cursor<'_>, bits: u32) {
    let value = F32(bits).get();
    if value.is_nan() {
        put_bits(out, bits);
    } else if value.fract() == 0.0 && value.abs() < 1e7 && bits != 1 << 31 {
        out.put_signed(value as i64);
        out.put(b".0");
    } else {
        write!(out, "{value:?}").expect("a buffer takes bytes");
    }
}

fn put_bits(out: &mut Cursor<'_>, bits: u32) {
    out.put(b"0x");
    out.put_digits(bits.into(), 8);
}

fn put_code(out: &mut Cursor<'_>, info: &EnumInfo, code: u8) {
    match info.text(code) {
        Some(text) => out.put_start(&text.bytes, text.len()),
        None => out.put_decimal(code.into()),
    }
}

fn put_flags(out: &mut Cursor<'_>, info: &EnumInfo, bits: u8) {
    let mut left = bits;
    for flag in info.codes.iter().filter(|flag| bits & flag.code == flag.code) {
        if left != bits {
            out.push(b'|');
        }
        out.put_text(flag.name.as_bytes());
        left &= !flag.code;
    }
    if left != 0 || bits == 0 {
        if left != bits {
            out.push(b'|');
        }
        out.put_decimal(left.into());
    }
}

fn put_list(
    out: &mut Cursor<'_>,
    bytes: &Bytes,
    at: usize,
    count: u8,
    size: u8,
    put: impl Fn(&mut Cursor<'_>, u64),
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

fn put_set(out: &mut Cursor<'_>, set: &Bitset256) {
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
        out.put_decimal(start.into());
        if end != start {
            out.put_prefixed(b"-", end.into());
        }
    }
    out.push(b'}');
}

/// Without the zero bytes at the end.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn put_string(out: &mut Cursor<'_>, bytes: &[u8]) {
    out.push(b'"');
    for &byte in trimmed(bytes) {
        match byte {
            b'"' | b'\\' => out.put_text(&[b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => {
                out.put(b"\\x");
                out.put_hex(&[byte]);
            }
        }
    }
    out.push(b'"');
}
