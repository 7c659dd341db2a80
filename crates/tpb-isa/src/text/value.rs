//! From the text of one operand to the bytes of its field: the inverse of `print::put_value`.

use super::{Dma, PARTITION_STEP, Reason};
use crate::build::store_number;
use crate::layout::{EnumInfo, FieldInfo, Kind, Shape, StructInfo};
use crate::value::{Addr4, Bitset256, Pack};
use crate::word::WORD_BYTES;
use crate::{UpdateMode, WaitMode};

type Bytes = [u8; WORD_BYTES];

pub(super) fn value_error(field: &str, expected: &'static str, found: &str) -> Reason {
    let found = match found.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &found[..end]),
        None => found.to_owned(),
    };
    Reason::Value { field: field.to_owned(), expected, found }
}

/// Stores the value of a field that lies `base` bytes behind its offset.
pub(super) fn store(
    word: &mut Bytes,
    field: &FieldInfo,
    base: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let at = base + field.at as usize;
    let size = field.bytes as usize;
    let error = |expected| value_error(field.name, expected, text);
    let number = |word: &mut Bytes, value: Option<i128>, expected| match value {
        Some(value) => store_number(word, field, base, value).map_err(|range| Reason::Range(Box::new(range))),
        None => Err(error(expected)),
    };
    match field.kind {
        Kind::Uint | Kind::Int | Kind::Flag => number(word, parse_int(text), "a number"),
        Kind::Reg => number(word, parse_int(text.strip_prefix('r').unwrap_or(text)), "a register such as r5"),
        Kind::Sem => {
            number(word, parse_int(text.strip_prefix("sem").unwrap_or(text)), "a semaphore such as sem5")
        }
        Kind::Enum(info) => number(word, parse_code(info, text), "a name of its enum or a number"),
        Kind::Flags(info) => {
            let flags = text.split('|').try_fold(0, |bits, flag| Some(bits | parse_code(info, flag)?));
            number(word, flags, "names of flags joined by |")
        }
        Kind::Pair(info) => {
            let pair = text.split_once('/').and_then(|(low, high)| {
                let nibble = |text| parse_code(info, text).filter(|code| (0..16).contains(code));
                Some(nibble(low)? | nibble(high)? << 4)
            });
            number(word, pair.or_else(|| parse_int(text)), "two names with codes below 16, such as FP32/FP16")
        }
        Kind::F32 => {
            parse_f32(text).ok_or_else(|| error("a number such as 2.0"))?.store(word, at);
            Ok(())
        }
        Kind::Imm(_) => Err(error("a scalar of the word itself")),
        Kind::Addr4 => {
            parse_addr4(text).ok_or_else(|| error("an address such as SB(p32,0x5000)"))?.store(word, at);
            Ok(())
        }
        Kind::Struct(info) => store_struct(word, field, info, at, text, spare_step),
        Kind::Union(union) => {
            let arm = match text.split_once('{') {
                Some((name, _)) if name == union.indirect.name => union.indirect,
                Some((name, _)) if name == union.direct.name => union.direct,
                Some(_) => return Err(error("one of the two forms of the slot")),
                None => union.direct,
            };
            store_struct(word, field, arm, at, text, spare_step)
        }
        Kind::Array(element, signed) => {
            let bits = 8 * u32::from(element);
            let (low, high) = if signed { (-(1 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1i128 << bits) };
            let values = parse_list(text, |text| parse_int(text).filter(|value| (low..high).contains(value)));
            let values = values.filter(|values| values.len() * element as usize <= size);
            let values = values.ok_or_else(|| error("a list of numbers that fit, such as [1,2]"))?;
            for (i, value) in values.into_iter().enumerate() {
                let bytes = value.to_le_bytes();
                word[at + i * element as usize..][..element as usize]
                    .copy_from_slice(&bytes[..element as usize]);
            }
            Ok(())
        }
        Kind::Regs => {
            let values = parse_list(text, |text| text.strip_prefix('r').unwrap_or(text).parse::<u8>().ok());
            let values = values.filter(|values| values.len() <= size);
            let values = values.ok_or_else(|| error("a list of registers, such as [r1,r2]"))?;
            word[at..at + values.len()].copy_from_slice(&values);
            Ok(())
        }
        Kind::Name => {
            let bytes = parse_string(text).filter(|bytes| bytes.len() <= size);
            let bytes = bytes.ok_or_else(|| error("a quoted string that fits the field"))?;
            word[at..at + bytes.len()].copy_from_slice(&bytes);
            Ok(())
        }
        Kind::Bytes => {
            let digits = text.strip_prefix("x\"").and_then(|text| text.strip_suffix('"'));
            let bytes = digits.and_then(hex_bytes).filter(|bytes| bytes.len() <= size);
            let bytes = bytes.ok_or_else(|| error("bytes such as x\"01ff\" that fit the field"))?;
            word[at..at + bytes.len()].copy_from_slice(&bytes);
            Ok(())
        }
        Kind::Bitset => {
            let set = parse_set(text).ok_or_else(|| error("a set of ids such as {3,8-11}"))?;
            set.store(word, at);
            Ok(())
        }
    }
}

fn store_struct(
    word: &mut Bytes,
    field: &FieldInfo,
    info: &StructInfo,
    at: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let error = |expected| value_error(field.name, expected, text);
    match info.shape {
        Shape::Tensor(dims) => {
            let (addr, pattern) = split_pattern(text).ok_or_else(|| error(PATTERN))?;
            let addr = parse_addr4(addr).ok_or_else(|| error(PATTERN))?;
            addr.store(word, at);
            store_dims(word, field, at + 4, dims.into(), pattern, spare_step)
        }
        Shape::Generator => {
            const EXPECTED: &str = "a generator such as 0[1:512]";
            let (base, pattern) = split_pattern(text).ok_or_else(|| error(EXPECTED))?;
            let base: i32 = base.parse().map_err(|_| error(EXPECTED))?;
            base.store(word, at);
            store_dims(word, field, at + 4, 4, pattern, spare_step)
        }
        Shape::Addr4 => {
            parse_addr4(text).ok_or_else(|| error("an address such as SB(p32,0x5000)"))?.store(word, at);
            Ok(())
        }
        Shape::PseudoAddr8 if !text.contains('{') => {
            let bytes = parse_pseudo_addr8(text)
                .ok_or_else(|| error("an address such as SB(p0,0x0), var5+0x80, table0+0x80 or table0+r3"))?;
            word[at..at + 8].copy_from_slice(&bytes);
            Ok(())
        }
        Shape::PseudoAddr8 | Shape::Events | Shape::Record => {
            store_record(word, field.name, info, at, text, spare_step)
        }
    }
}

/// Stores members in braces.
fn store_record(
    word: &mut Bytes,
    field: &str,
    info: &StructInfo,
    at: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let error = || value_error(field, "members in braces, such as {a=1,b=2}", text);
    let (name, members) = text.split_once('{').ok_or_else(error)?;
    let members = members.strip_suffix('}').ok_or_else(error)?;
    if !name.is_empty() && name != info.name {
        return Err(error());
    }
    for member in split_list(members) {
        let (name, value) = member.split_once('=').ok_or_else(error)?;
        let inner = info.fields.iter().find(|field| field.name == name);
        let inner = inner.ok_or_else(|| value_error(field, "members of its struct", member))?;
        store(word, inner, at, value, spare_step)?;
    }
    Ok(())
}

const PATTERN: &str = "an access pattern such as SB(p0,0x4000)[1:512]";

/// Splits `base[..]` in front of the bracket, and removes the brackets.
fn split_pattern(text: &str) -> Option<(&str, &str)> {
    let (base, pattern) = text.split_once('[')?;
    Some((base, pattern.strip_suffix(']')?))
}

fn store_dims(
    word: &mut Bytes,
    field: &FieldInfo,
    at: usize,
    dims: usize,
    pattern: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    for i in 0..dims {
        spare_step.store(word, at + 2 * i);
        1u16.store(word, at + 2 * (dims + i));
    }
    let error = |expected| value_error(field.name, expected, pattern);
    for (i, dim) in pattern.split(',').enumerate() {
        if i >= dims {
            return Err(error("as many dimensions as the slot has"));
        }
        let (step, num) = dim.split_once(':').ok_or_else(|| error("step:count"))?;
        let step: i16 = step.parse().map_err(|_| error("steps in -32768..=32767"))?;
        let num: u16 = num.parse().map_err(|_| error("counts in 0..=65535"))?;
        step.store(word, at + 2 * i);
        num.store(word, at + 2 * (dims + i));
    }
    Ok(())
}

fn parse_code(info: &EnumInfo, text: &str) -> Option<i128> {
    info.by_name(text).map(|code| code.code.into()).or_else(|| parse_int(text))
}

/// A decimal or `0x` number of at most 64 bits.
fn parse_int(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok().map(i128::from),
        Some(_) => None,
        None => text.parse::<u64>().map(i128::from).or_else(|_| text.parse::<i64>().map(i128::from)).ok(),
    }
}

pub(super) fn parse_u32(text: &str) -> Option<u32> {
    let value = parse_int(text)?;
    u32::try_from(value).ok().or_else(|| i32::try_from(value).ok().map(|value| value as u32))
}

/// The bits of a number; hexadecimal digits are the bits themselves.
pub(super) fn parse_f32(text: &str) -> Option<u32> {
    if text.starts_with("0x") {
        return parse_int(text).and_then(|bits| bits.try_into().ok());
    }
    text.parse::<f32>().ok().filter(|value| !value.is_nan()).map(f32::to_bits)
}

pub(super) fn parse_addr4(text: &str) -> Option<Addr4> {
    if text.starts_with("0x") {
        return parse_int(text).and_then(|bits| bits.try_into().ok()).map(Addr4);
    }
    let mut modes = 0;
    let mut text = text;
    loop {
        text = if let Some(rest) = text.strip_prefix("shape:") {
            modes |= Addr4::SHAPE;
            rest
        } else if let Some(rest) = text.strip_prefix("idx:") {
            modes |= Addr4::INDIRECT;
            rest
        } else {
            break;
        }
    }
    if let Some(register) = text.strip_prefix('r') {
        let register: u8 = register.parse().ok()?;
        return Some(Addr4(modes | Addr4::REGISTER | u32::from(register)));
    }
    let number = |text: &str, limit: u32| {
        let value = u32::try_from(parse_int(text)?).ok()?;
        (value <= limit).then_some(value)
    };
    let (space, parts) = text.strip_suffix(')')?.split_once('(')?;
    let mut parts = parts.split(',');
    let partition = number(parts.next()?.strip_prefix('p')?, 127)?;
    let address = match space {
        "SB" => partition << 18 | number(parts.next()?, 0x3_FFFF)?,
        "PS" => {
            let bank = number(parts.next()?.strip_prefix('b')?, 7)?;
            let offset = parts.next().map_or(Some(0), |text| number(text, 0x7FF))?;
            Addr4::PSUM_BASE | partition << 15 | bank << 11 | offset
        }
        _ => return None,
    };
    parts.next().is_none().then_some(Addr4(modes | address))
}

fn parse_pseudo_addr8(text: &str) -> Option<[u8; 8]> {
    let (text, shape) = match text.strip_suffix(":shape") {
        Some(rest) => (rest, 0x40),
        None => (text, 0),
    };
    let (value, id, marker) = if text.starts_with("SB(") {
        (parse_addr4(text)?.0, 0, 0x10)
    } else if let Some(rest) = text.strip_prefix("var") {
        let (id, offset) = rest.split_once('+')?;
        (u32::try_from(parse_int(offset)?).ok()?, parse_int(id).filter(|id| (0..1 << 24).contains(id))?, 0x10)
    } else {
        let (id, offset) = text.strip_prefix("table")?.split_once('+')?;
        let id = parse_int(id).filter(|id| (0..1 << 16).contains(id))?;
        match offset.strip_prefix('r') {
            Some(register) => {
                let (register, wide) = match register.strip_suffix(":wide") {
                    Some(rest) => (rest, 4),
                    None => (register, 0),
                };
                (register.parse().ok()?, id, 0x28 | wide)
            }
            None => (u32::try_from(parse_int(offset)?).ok()?, id, 0x20),
        }
    };
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes[4..7].copy_from_slice(&id.to_le_bytes()[..3]);
    bytes[7] = marker | shape;
    Some(bytes)
}

/// Stores the six fields of one side of a DMA.
pub(super) fn store_dma(word: &mut Bytes, side: Dma, name: &str, text: &str) -> Result<(), Reason> {
    let error = || value_error(name, "one side of a DMA such as SB(p0,0x37c00)[1p:128]x512", text);
    let (front, size) = text.rsplit_once("]x").ok_or_else(error)?;
    let (address, dims) = front.rsplit_once('[').ok_or_else(error)?;
    match side.address.shape {
        Shape::PseudoAddr8 if !address.contains('{') => {
            let bytes = parse_pseudo_addr8(address).ok_or_else(error)?;
            word[side.at..side.at + 8].copy_from_slice(&bytes);
        }
        _ => store_record(word, name, side.address, side.at, address, 1)?,
    }
    let mut pairs = dims.split(',');
    for i in 0..2 {
        let (step, count) = match pairs.next() {
            Some(pair) => pair.split_once(':').ok_or_else(error)?,
            None if i > 0 => ("1", "1"),
            None => return Err(error()),
        };
        let step: Option<i32> = match step.strip_suffix('p') {
            Some(partitions) => {
                partitions.parse::<i32>().ok().and_then(|step| step.checked_mul(PARTITION_STEP))
            }
            None => step.parse().ok(),
        };
        step.ok_or_else(error)?.store(word, side.steps + 4 * i);
        count.parse::<u16>().map_err(|_| error())?.store(word, side.counts + 2 * i);
    }
    let size: u32 = size.parse().map_err(|_| error())?;
    if pairs.next().is_some() || !(1..=0x1_0000).contains(&size) {
        return Err(error());
    }
    (size as u16).store(word, side.size);
    Ok(())
}

pub(super) fn parse_wait(text: &str) -> Option<(WaitMode, u32, Option<u32>)> {
    if let Some(event) = text.strip_prefix('!') {
        let (event, mode) = match event.strip_suffix(",set") {
            Some(event) => (event, WaitMode::EVT_CLEAR_THEN_SET),
            None => (event, WaitMode::EVT_CLEAR),
        };
        return Some((mode, event.strip_prefix("evt")?.parse().ok()?, None));
    }
    if let Some(event) = text.strip_prefix("evt") {
        let (event, mode) = match event.strip_suffix(",clear") {
            Some(event) => (event, WaitMode::EVT_SET_THEN_CLEAR),
            None => (event, WaitMode::EVT_SET),
        };
        return Some((mode, event.parse().ok()?, None));
    }
    let rest = text.strip_prefix("sem")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (id, condition) = rest.split_at(end);
    let operators = [("==", 1), ("<=", 3), (">=", 5), ("<", 2), (">", 4)];
    let (mode, value) = operators.iter().find_map(|(op, mode)| Some((*mode, condition.strip_prefix(op)?)))?;
    let (mode, value) = match value.strip_prefix('r') {
        Some(register) => (mode | 0x80, register),
        None => (mode, value),
    };
    Some((WaitMode(mode), id.parse().ok()?, Some(parse_u32(value)?)))
}

pub(super) fn parse_update(text: &str) -> Option<(UpdateMode, u32, Option<u32>)> {
    let (text, late) = match text.strip_suffix("@read") {
        Some(rest) => (rest, 0),
        None => (text, 0x10),
    };
    if let Some(rest) = text.strip_prefix("evt") {
        let (event, action) = rest.split_once('=')?;
        let mode = match action {
            "set" => 1,
            "clear" => 2,
            _ => return None,
        };
        return Some((UpdateMode(mode | late), event.parse().ok()?, None));
    }
    let rest = text.strip_prefix("sem")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (id, action) = rest.split_at(end);
    let operators = [("+=", 5, 3), ("-=", 7, 4), ("=", 9, 9)];
    let (mode, unit, value) =
        operators.iter().find_map(|(op, mode, unit)| Some((*mode, *unit, action.strip_prefix(op)?)))?;
    let id = id.parse().ok()?;
    Some(match value {
        "1" if mode != 9 => (UpdateMode(unit | late), id, None),
        _ if value.starts_with('r') => (UpdateMode(mode | late | 0x80), id, Some(parse_u32(&value[1..])?)),
        _ => (UpdateMode(mode | late), id, Some(parse_u32(value.strip_prefix("imm:").unwrap_or(value))?)),
    })
}

fn parse_list<T>(text: &str, element: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(element).collect()
}

fn parse_set(text: &str) -> Option<Bitset256> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut set = Bitset256::default();
    for part in inner.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for id in first.parse::<u8>().ok()?..=last.parse().ok()? {
            set.insert(id);
        }
    }
    Some(set)
}

fn parse_string(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.strip_prefix('"')?.strip_suffix('"')?.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next()? {
                b'x' => {
                    let digit = |byte: u8| (byte as char).to_digit(16);
                    (digit(bytes.next()?)? << 4 | digit(bytes.next()?)?) as u8
                }
                escaped @ (b'"' | b'\\') => escaped,
                _ => return None,
            },
            b'"' => return None,
            byte => byte,
        });
    }
    Some(out)
}

pub(super) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.bytes().map(|b| (b as char).to_digit(16).map(|d| d as u8)).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Splits at commas outside braces, brackets and parentheses.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut depth = 0i32;
        let end = rest.bytes().position(|byte| {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            byte == b',' && depth <= 0
        });
        let (item, tail) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, ""),
        };
        rest = tail;
        Some(item)
    })
}
