//! The fields of a word as JSON, in the forms of captured words: enum codes by name, slots and structs as objects.
//!
//! | field | JSON |
//! |---|---|
//! | number, register, semaphore, flag, flags, pair of types, scalar with selector, address | number |
//! | IEEE single | number; `"inf"`, `"-inf"` and `"nan"` where JSON has none |
//! | enum | name, or the number of a code without one |
//! | slot, struct | object; a slot with two forms says first which it is: `"arm"` |
//! | array | array |
//! | name | string; `{"hex": ".."}` where it is not printable ASCII |
//! | bytes | hexadecimal digits |
//! | set of ids | array of ids |
//!
//! Bits that no field explains come last, as `"raw": {"offset": "hexadecimal digits", ..}`.

use std::fmt::Write;

use crate::decode::{StreamWord, unexplained};
use crate::layout::{FieldInfo, Kind, PreambleKind, StructInfo, mask8};
use crate::text::{number, runs, signed, trimmed};
use crate::value::{Addr4, Bitset256, F32, Pack};
use crate::word::{WORD_BYTES, Word};
use crate::{Layout, Preamble};

type Bytes = [u8; WORD_BYTES];

/// Appends one word as a JSON object on one line, without a line end: `stream`, `offset`, `bytes`, `opcode`, `mnemonic`,
/// `layout`, `fields`, and `instruction` and `source` where they are known. A word without a layout has `"layout":null`.
pub fn put_line(
    out: &mut String,
    stream: &str,
    word: &StreamWord,
    instruction: Option<&str>,
    source: Option<&str>,
) {
    let binding = word.binding();
    out.push_str("{\"stream\":");
    put_string(out, stream);
    put(out, format_args!(",\"offset\":{},\"bytes\":\"{}\"", word.offset, word.word));
    put(
        out,
        format_args!(
            ",\"opcode\":{},\"mnemonic\":\"{}\",\"layout\":",
            word.word.opcode(),
            binding.mnemonic()
        ),
    );
    match binding.layout {
        Layout::Opaque => out.push_str("null"),
        layout => put(out, format_args!("\"{}\"", layout.info().name)),
    }
    out.push_str(",\"fields\":");
    put_fields(out, &word.word, binding.layout);
    for (key, value) in [("instruction", instruction), ("source", source)] {
        if let Some(value) = value {
            put(out, format_args!(",\"{key}\":"));
            put_string(out, value);
        }
    }
    out.push('}');
}

/// Appends the fields of a word as a JSON object: the preamble without the opcode, then those of the layout.
///
/// ```
/// let word = tpb_isa::Word::from_hex("b1").unwrap();
/// let mut json = String::new();
/// tpb_isa::json::put_fields(&mut json, &word, tpb_isa::Layout::CtrlOm);
/// assert!(json.starts_with(r#"{"inst_word_len":0,"debug_cmd":"NONE""#));
/// assert!(json.ends_with(r#""ordering_mode":0}"#));
/// ```
pub fn put_fields(out: &mut String, word: &Word, layout: Layout) {
    let info = layout.info();
    let preamble = match info.preamble {
        PreambleKind::Std => Preamble::info().fields,
        PreambleKind::None => &[],
    };
    out.push('{');
    let mut first = true;
    for field in preamble.iter().chain(info.fields).filter(|field| field.is_defined(&word.0)) {
        separate(out, &mut first);
        put_member(out, &word.0, field, 0);
    }
    let rest = unexplained(word, layout);
    if !rest.is_zero() {
        separate(out, &mut first);
        out.push_str("\"raw\":{");
        let mut first = true;
        for (at, run) in runs(&rest.0) {
            separate(out, &mut first);
            put(out, format_args!("\"{at}\":"));
            put_hex(out, run);
        }
        out.push('}');
    }
    out.push('}');
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes text");
}

fn separate(out: &mut String, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

fn put_member(out: &mut String, bytes: &Bytes, field: &FieldInfo, base: usize) {
    out.push('"');
    out.push_str(field.name);
    out.push_str("\":");
    put_value(out, bytes, field, base);
}

fn put_value(out: &mut String, bytes: &Bytes, field: &FieldInfo, base: usize) {
    let at = base + field.at as usize;
    let raw = match field.bits {
        Some((first, last)) => u64::from(bytes[at] >> first & mask8(last - first + 1)),
        None if field.bytes <= 8 => number(bytes, at, field.bytes),
        None => 0,
    };
    let slice = &bytes[at..at + field.bytes as usize];
    match field.kind {
        Kind::Uint
        | Kind::Reg
        | Kind::Sem
        | Kind::Flag
        | Kind::Flags(_)
        | Kind::Pair(_)
        | Kind::Imm(_)
        | Kind::Addr4 => {
            put_number(out, raw as i128);
        }
        Kind::Int => put_number(out, signed(raw, field.bytes).into()),
        Kind::F32 => match F32(raw as u32).get() {
            value if value.is_nan() => out.push_str("\"nan\""),
            value if value.is_infinite() => out.push_str(if value < 0.0 { "\"-inf\"" } else { "\"inf\"" }),
            value => put(out, format_args!("{value:?}")),
        },
        Kind::Enum(info) => match info.code(raw as u8) {
            Some(code) => put(out, format_args!("\"{}\"", code.name)),
            None => put_number(out, raw.into()),
        },
        Kind::Struct(info) => put_struct(out, bytes, info, at, false),
        Kind::Union(union) => {
            let indirect = Addr4::load(bytes, at).is_indirect();
            put_struct(out, bytes, if indirect { union.indirect } else { union.direct }, at, true);
        }
        Kind::Array(size, is_signed) => put_array(
            out,
            slice.chunks(size.into()).map(|element| {
                let value = element.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                if is_signed { signed(value, size) } else { value as i64 }
            }),
        ),
        Kind::Regs => put_array(out, slice.iter().map(|&register| register.into())),
        Kind::Name => {
            let name = trimmed(slice);
            match std::str::from_utf8(name) {
                Ok(text) if name.iter().all(|byte| (b' '..=b'~').contains(byte)) => put_string(out, text),
                _ => {
                    out.push_str("{\"hex\":");
                    put_hex(out, slice);
                    out.push('}');
                }
            }
        }
        Kind::Bytes => put_hex(out, slice),
        Kind::Bitset => put_array(out, Bitset256::load(bytes, at).ids().map(i64::from)),
    }
}

fn put_struct(out: &mut String, bytes: &Bytes, info: &StructInfo, at: usize, named: bool) {
    out.push('{');
    let mut first = true;
    if named {
        separate(out, &mut first);
        put(out, format_args!("\"arm\":\"{}\"", info.name));
    }
    for field in info.fields {
        separate(out, &mut first);
        put_member(out, bytes, field, at);
    }
    out.push('}');
}

fn put_number(out: &mut String, value: i128) {
    out.push_str(itoa::Buffer::new().format(value));
}

fn put_array(out: &mut String, values: impl Iterator<Item = i64>) {
    out.push('[');
    let mut first = true;
    for value in values {
        separate(out, &mut first);
        put_number(out, value.into());
    }
    out.push(']');
}

fn put_hex(out: &mut String, bytes: &[u8]) {
    out.push('"');
    bytes.iter().for_each(|byte| put(out, format_args!("{byte:02x}")));
    out.push('"');
}

fn put_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => put(out, format_args!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
