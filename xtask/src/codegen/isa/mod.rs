//! Generates `crates/tpb-isa/src/generated` from `isa-layouts.toml` and `enums.toml`: enums, structs, layouts, opcodes
//! and the maps from BIR names to bytes. The text is rows for the macros of `tpb_isa::layout`.

mod maps;
mod model;
mod names;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::{Output, Spec, header};
use model::{Enums, Field, Generations, Layout, Opcode, Struct, Tables};
use names::{camel, ident, screaming, sentence};

/// Reads the tables and returns the generated modules.
pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables: Tables = spec.table("isa-layouts.toml")?;
    let enums: Enums = spec.table("enums.toml")?;
    ensure!(tables.word_bytes == 64, "a word has 64 bytes");
    let file = |name: &str, source: &str, text: String| Output {
        path: PathBuf::from("crates/tpb-isa/src/generated").join(name),
        text: header(source) + &text,
    };
    Ok(vec![
        file("mod.rs", "isa-layouts.toml", MODULE.to_owned()),
        file("enums.rs", "enums.toml", enum_module(&enums)?),
        file("structs.rs", "isa-layouts.toml", struct_module(&tables)?),
        file("layouts.rs", "isa-layouts.toml", layout_module(&tables)?),
        file("opcodes.rs", "isa-layouts.toml", opcode_module(&tables, &enums)?),
        file("maps.rs", "enums.toml", maps::module(&tables, &enums)?),
    ])
}

const MODULE: &str = "\
//! What the tables say, as rows for the macros of `layout`.

pub(crate) mod enums;
pub(crate) mod layouts;
pub(crate) mod maps;
pub(crate) mod opcodes;
pub(crate) mod structs;
";

/// Bits of the generations, bit 0 for v2.
fn mask(generations: &[String]) -> Result<u8> {
    generations.iter().try_fold(0, |mask, name| {
        let place = Generations::NAMES.iter().position(|known| known == name);
        Ok(mask | 1 << place.with_context(|| format!("unknown generation {name}"))?)
    })
}

fn enum_module(enums: &Enums) -> Result<String> {
    let mut out = String::from(
        "//! The enums of the wire. Codes without a constant are kept and printed as numbers.\n\n\
         use crate::layout::{Code, EnumInfo, index_codes, open_enums};\n\nopen_enums! {\n",
    );
    for e in enums.namespace("isa") {
        if e.name == "Opcode" {
            continue;
        }
        writeln!(out, "    /// {}", enum_doc(e))?;
        writeln!(out, "    {} {} = {:?} {{", e.name, screaming(&e.name), e.name)?;
        let mut constants = BTreeSet::new();
        for value in &e.value {
            let constant = screaming(&value.name);
            ensure!(constants.insert(constant.clone()), "isa.{}: {constant} names two codes", e.name);
            let generations = match &value.gens {
                Some(gens) => mask(&gens.iter().map(|g| format!("v{g}")).collect::<Vec<_>>())?,
                None => 0b1111,
            };
            writeln!(out, "        {constant} {} {:?} {generations:#06b};", value.ordinal, value.name)?;
        }
        writeln!(out, "    }}\n")?;
    }
    out.push_str("}\n");
    Ok(out)
}

fn enum_doc(e: &model::Enum) -> String {
    let used = e.used_by.iter().find(|u| u.starts_with("bundle")).map_or("bundle", String::as_str);
    let place = used.trim_start_matches("bundle").trim();
    let mut doc = match place {
        "" => format!("Wire codes of `{}`.", e.name),
        place => format!("Wire codes of `{}`: {place}.", e.name),
    };
    if let Some(notes) = &e.notes {
        doc.push(' ');
        doc.push_str(&sentence(notes));
    }
    doc
}

/// A field's Rust type and the expression of its `Kind`.
fn field_type(f: &Field) -> Result<(String, String)> {
    let (prefix, name) = f.kind.split_once(':').unwrap_or((&f.kind, ""));
    if let Some((element, count)) = f.kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        let kind = match element {
            "reg" => return Ok((format!("[Reg; {count}]"), "Kind::Regs".to_owned())),
            "u8" => "Kind::Array(1, false)",
            "u16" => "Kind::Array(2, false)",
            "i16" => "Kind::Array(2, true)",
            "u32" => "Kind::Array(4, false)",
            _ => bail!("unknown element type {element}"),
        };
        return Ok((format!("[{element}; {count}]"), kind.to_owned()));
    }
    let simple = |ty: &str, kind: &str| Ok((ty.to_owned(), format!("Kind::{kind}")));
    match prefix {
        "u8" | "u16" | "u32" | "u64" => simple(prefix, "Uint"),
        "i8" | "i16" | "i32" => simple(prefix, "Int"),
        "f32" => simple("F32", "F32"),
        "reg" => simple("Reg", "Reg"),
        "sem_id" => simple("Sem", "Sem"),
        "flag" => simple("bool", "Flag"),
        "addr4" => simple("Addr4", "Addr4"),
        "enum" => Ok((format!("e::{name}"), format!("Kind::Enum(e::{name}::info())"))),
        "flags" => Ok((format!("e::{name}"), format!("Kind::Flags(e::{name}::info())"))),
        "dtype_pair" => simple("DtypePair", "Pair(e::Dtype::info())"),
        "imm_src_pair" => simple("ImmSrcPair", "Pair(e::ImmSrc::info())"),
        "struct" if name == "ADDR4" => simple("Addr4", "Struct(&ADDR4)"),
        "slot" | "struct" => Ok((format!("s::{}", camel(name)), format!("Kind::Struct(&s::{name})"))),
        "union" => Ok((format!("s::{}Slot", camel(name)), format!("Kind::Union(&s::{name})"))),
        "cstr" => Ok((format!("Name<{}>", f.bytes), "Kind::Name".to_owned())),
        "bytes" | "pattern" => Ok((format!("Blob<{}>", f.bytes), "Kind::Bytes".to_owned())),
        "bitset256" => simple("Bitset256", "Bitset"),
        _ => bail!("unknown kind {}", f.kind),
    }
}

/// Documentation of a field: place, meaning, source, grade.
fn field_doc(f: &Field, bound: &str) -> String {
    let place = match (f.bits, f.bytes) {
        (Some([first, last]), _) if first == last => format!("Bit {first} of byte {}{bound}.", f.offset),
        (Some([first, last]), _) => format!("Bits {first}..={last} of byte {}{bound}.", f.offset),
        (None, 1) => format!("Byte {}{bound}.", f.offset),
        (None, n) => format!("Bytes {}..={}{bound}.", f.offset, f.offset + n - 1),
    };
    let mut doc = place;
    for text in [&f.meaning, &f.source].into_iter().flatten() {
        let text = if Some(text) == f.source.as_ref() { format!("From: {text}") } else { text.clone() };
        doc.push(' ');
        doc.push_str(&sentence(&text));
    }
    if let Some(when) = &f.when {
        write!(doc, " Only when {when}.").expect("a string takes text");
    }
    if f.confidence != "C" {
        write!(doc, " Confidence {}.", f.confidence).expect("a string takes text");
    }
    doc
}

fn struct_row(out: &mut String, f: &Field, bound: &str) -> Result<()> {
    let (ty, kind) = field_type(f).with_context(|| f.name.clone())?;
    writeln!(out, "        /// {}", field_doc(f, bound))?;
    write!(out, "        {} {} {:?}: {ty} = {kind}", f.offset, ident(&f.name), f.name)?;
    if let Some([first, last]) = f.bits {
        write!(out, ", bits {first} {last}")?;
    }
    writeln!(out, ";")?;
    Ok(())
}

fn struct_module(tables: &Tables) -> Result<String> {
    let mut out = String::from(
        "//! Structs that lie inside words: the preamble, operand descriptors, addresses and embedded records.\n\n\
         use crate::generated::enums as e;\n\
         use crate::generated::structs as s;\n\
         use crate::layout::{\n    FieldInfo, Kind, StructInfo, UnionInfo, field_bytes, gaps, load_field, option, shape, store_field, structs, unions,\n};\n\
         use crate::value::{Addr4, Blob, Reg, Sem};\n\nstructs! {\n",
    );
    let preamble = &tables.preamble["std"];
    writeln!(out, "    /// The preamble: {}, without the opcode.", preamble.description)?;
    writeln!(out, "    Preamble PREAMBLE = \"PREAMBLE\" 12 {{")?;
    for f in preamble.field.iter().filter(|f| f.name != "opcode") {
        struct_row(&mut out, f, "")?;
    }
    out.push_str("    }\n\n");
    for s in &tables.structs {
        if s.name == "ADDR4" {
            continue; // its type is `value::Addr4`, its description `layout::ADDR4`
        }
        writeln!(out, "    /// {}", struct_doc(s))?;
        writeln!(out, "    {} {} = {:?} {} {{", camel(&s.name), s.name, s.name, s.bytes)?;
        for f in &s.field {
            struct_row(&mut out, f, " of the struct")?;
        }
        out.push_str("    }\n\n");
    }
    out.push_str("}\n\nunions! {\n");
    for u in &tables.unions {
        let code = &u.select_code;
        ensure!(
            (code.offset, code.mask, code.equals, code.then, code.otherwise)
                == (0, 0x6000_0000, 0x2000_0000, 1, 0),
            "{}: the form of a slot is chosen otherwise than Addr4::is_indirect does",
            u.name
        );
        ensure!(u.arms.len() == 2, "{} does not have two arms", u.name);
        writeln!(out, "    /// {} bytes: `{}` or `{}`, the {}.", u.bytes, u.arms[0], u.arms[1], u.select)?;
        let (direct, indirect) = (camel(&u.arms[0]), camel(&u.arms[1]));
        writeln!(out, "    {}Slot {} = {:?} {{ {direct}, {indirect} }}\n", camel(&u.name), u.name, u.name)?;
    }
    out.push_str("}\n");
    Ok(out)
}

fn struct_doc(s: &Struct) -> String {
    let mut doc = format!("`{}`, {} bytes: {}.", s.name, s.bytes, s.role);
    if let Some(note) = &s.note {
        doc.push(' ');
        doc.push_str(&sentence(note));
    }
    doc
}

fn layout_module(tables: &Tables) -> Result<String> {
    let mut out = String::from(
        "//! The layouts: what the bytes of a word are, one struct each.\n\n\
         use crate::generated::enums as e;\n\
         use crate::generated::structs as s;\n\
         use crate::layout::{\n    ADDR4, BodyKind, FieldInfo, ImmKind, Inline, Kind, LayoutInfo, PreambleKind, byte_mask, cover_layout, field_bytes,\n    layouts, option,\n};\n\
         use crate::value::{Addr4, Bitset256, Blob, DtypePair, F32, Imm, ImmSrcPair, Name, Reg, Sem};\n\nlayouts! {\n",
    );
    let mut fields = BTreeSet::new();
    for l in &tables.layout {
        writeln!(out, "    /// {}", layout_doc(l))?;
        let unknown: Vec<_> = l.unknown.iter().map(|[a, b]| format!("({a}, {b})")).collect();
        writeln!(
            out,
            "    {} = {:?}, {}, {}, spare {}, unknown [{}], {{",
            camel(&l.name),
            l.name,
            camel(&l.preamble),
            camel(&l.body),
            l.spare_step.unwrap_or(1),
            unknown.join(", ")
        )?;
        for f in &l.field {
            layout_row(&mut out, tables, l, f).with_context(|| format!("{}.{}", l.name, f.name))?;
            fields.insert(f.name.as_str());
        }
        out.push_str("    }\n\n");
    }
    out.push_str(
        "    /// A word of which nothing is known: its opcode has no name, or it is an extension word that follows none of its \
         openers.\n    Opaque = \".word\", None, Unknown, spare 1, unknown [(1, 63)], {}\n}\n\n",
    );
    out.push_str(
        "/// The fields of all layouts. A name stands for the same thing wherever it occurs.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[repr(u16)]\npub enum Field {\n",
    );
    for name in &fields {
        writeln!(out, "    /// `{name}`.\n    {},", camel(name))?;
    }
    out.push_str("}\n\nimpl Field {\n    /// Name in the tables.\n    pub const fn name(self) -> &'static str {\n        FIELD_NAMES[self as usize]\n    }\n}\n\n");
    writeln!(out, "static FIELD_NAMES: [&str; {}] = {:?};", fields.len(), fields.iter().collect::<Vec<_>>())?;
    Ok(out)
}

fn layout_doc(l: &Layout) -> String {
    let mut doc = format!("`{}`", l.name);
    if let Some(shape) = &l.shape {
        write!(doc, ": {shape}").expect("a string takes text");
    }
    doc.push('.');
    match l.body.as_str() {
        "partial" => doc.push_str(" Partly known."),
        "unknown" => doc.push_str(" The body is not known."),
        _ => {}
    }
    if let Some(note) = &l.note {
        doc.push(' ');
        doc.push_str(&sentence(note));
    }
    doc
}

fn layout_row(out: &mut String, tables: &Tables, l: &Layout, f: &Field) -> Result<()> {
    let union = f.kind.strip_prefix("slot:").is_some_and(|name| tables.unions.iter().any(|u| u.name == name));
    let (ty, kind) = match f.kind.as_str() {
        "imm_val" | "act_imm" => ("Imm".to_owned(), immediate(l, f)?),
        _ if union => field_type(&Field { kind: f.kind.replace("slot:", "union:"), ..f.clone() })?,
        _ => field_type(f)?,
    };
    ensure!(f.bits.is_none(), "bits are not supported in a layout");
    writeln!(out, "        /// {}", field_doc(f, ""))?;
    write!(out, "        {} {} {}: {ty} = {kind}", f.offset, ident(&f.name), camel(&f.name))?;
    if let Some(value) = f.value {
        write!(out, ", value {value}")?;
    }
    if let Some(when) = &f.when {
        let (name, value) = when.split_once(" == ").context("`when` is not of the form `field == number`")?;
        writeln!(out, ", when {} {};", byte_of(l, name)?, value.parse::<u8>()?)?;
    } else {
        writeln!(out, ";")?;
    }
    Ok(())
}

/// Offset of a one-byte field of the layout.
fn byte_of(l: &Layout, name: &str) -> Result<u32> {
    let f = l.field.iter().find(|f| f.name == name && f.bytes == 1);
    Ok(f.with_context(|| format!("{} has no byte {name}", l.name))?.offset)
}

fn immediate(l: &Layout, f: &Field) -> Result<String> {
    let selector = match f.selector.as_deref().context("an immediate names its selector")? {
        "none" => "None".to_owned(),
        name => match name.rsplit_once('.') {
            Some((pair, "lo")) => format!("Some(({}, 0, 4))", byte_of(l, pair)?),
            Some((pair, "hi")) => format!("Some(({}, 4, 4))", byte_of(l, pair)?),
            _ => format!("Some(({}, 0, 8))", byte_of(l, name)?),
        },
    };
    let form = |name: &str| f.forms.get(name).map_or("None".to_owned(), |code| format!("Some({code})"));
    let inline = match f.inline.as_deref() {
        Some("f32") | None => "Inline::F32".to_owned(),
        Some("by_opcode") => "Inline::ByOpcode".to_owned(),
        Some(dtype) => {
            let name = dtype.strip_prefix("dtype:").context("unknown type of an inline value")?;
            format!("Inline::Dtype({})", byte_of(l, name)?)
        }
    };
    let forms = [form("instruction"), form("pointer"), form("register")].join(", ");
    Ok(format!("Kind::Imm(ImmKind {{ selector: {selector}, forms: [{forms}], inline: {inline} }})"))
}

fn opcode_module(tables: &Tables, enums: &Enums) -> Result<String> {
    let mut rows: Vec<Opcode> = tables.opcode.clone();
    let labels = enums.get("isa", "Opcode")?;
    for value in &labels.value {
        if !rows.iter().any(|row| row.opcode == value.ordinal) {
            rows.push(Opcode::named(value.ordinal, &value.name));
        }
    }
    rows.sort_by_key(|row| row.opcode);
    let mut out = String::from(
        "//! The opcodes: their layout on every generation, and what is known of who writes them.\n\n\
         use crate::generated::layouts::{Field, Layout};\n\
         use crate::layout::{OpcodeClass, OpcodeInfo, Sequence, layout_option, opcodes, option};\n\n",
    );
    writeln!(
        out,
        "/// Opcodes whose scalar operands are integers (spec: isa-bundle.md 6).\npub const INTEGER_IMMEDIATE_OPCODES: &[u8] = &{:?};\n",
        tables.immediate.int_opcodes
    )?;
    sequences(&mut out, tables)?;
    out.push_str("opcodes! {\n");
    let mut seen = BTreeSet::new();
    for row in &rows {
        let mut constant = screaming(&row.name);
        if !seen.insert(constant.clone()) {
            let follows = row.follows.with_context(|| format!("{constant} names two opcodes"))?;
            write!(constant, "_AFTER_{follows:02X}")?;
        }
        opcode_row(&mut out, &constant, row).with_context(|| row.name.clone())?;
    }
    out.push_str("}\n");
    Ok(out)
}

fn sequences(out: &mut String, tables: &Tables) -> Result<()> {
    let opcodes =
        |codes: &[u8]| codes.iter().map(|code| format!("Opcode({code:#04x})")).collect::<Vec<_>>().join(", ");
    writeln!(
        out,
        "/// Opcodes of the words that open every stream of a package.\npub const PROLOGUE: [Opcode; {}] = [{}];\n",
        tables.stream.prologue.len(),
        opcodes(&tables.stream.prologue)
    )?;
    out.push_str("/// The words of BIR instructions that have several, or one of several, in stream order.\npub const SEQUENCES: &[Sequence] = &[\n");
    for s in &tables.sequence {
        let words = opcodes(&s.bundles);
        writeln!(
            out,
            "    Sequence {{ instruction: {:?}, when: {:?}, words: &[{words}] }},",
            s.inst, s.when
        )?;
    }
    out.push_str("];\n\n");
    Ok(())
}

fn opcode_row(out: &mut String, constant: &str, row: &Opcode) -> Result<()> {
    let layouts: Vec<_> = Generations::NAMES
        .iter()
        .map(|g| row.layout.get(*g).map_or("_".to_owned(), |name| camel(name)))
        .collect();
    writeln!(out, "    /// `{}`, {}.", row.name, row.about())?;
    write!(
        out,
        "    {constant} {:#04x} {:?} {:?}, {}, engines {:?}, emitters {:?}, family {:?}, layouts [{}], encoded {:#06b}",
        row.opcode,
        row.name,
        row.label.as_ref().unwrap_or(&row.name),
        camel(&row.class),
        row.engines,
        row.emits,
        row.family.as_deref().filter(|family| *family != "none").unwrap_or(""),
        layouts.join(" "),
        mask(&row.emit_gens)?
    )?;
    if !row.fixed.is_empty() {
        let fixed: Vec<_> =
            row.fixed.iter().map(|(name, value)| format!("{} {value}", camel(name))).collect();
        write!(out, ", fixed [{}]", fixed.join(", "))?;
    }
    if let Some(follows) = row.follows {
        write!(out, ", follows {follows:#04x}")?;
    }
    writeln!(out, ";")?;
    Ok(())
}
