//! Generates the open enums of the `bir` crate: the names of the table, and `Other` for any other name.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;

use super::tables::{Enum, EnumValue, Tables, doc_comment, sentence, variant};
use super::{Output, Spec, header};

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let mut out = header("enums.toml");
    out.push_str("//! Enums of the BIR, with the spellings of BIR-JSON.\n\nuse crate::names::Sym;\nuse crate::open_enum::open_enum;\n\n");
    typed(&tables).for_each(|e| one(&mut out, e));
    edge_kinds(&mut out, &tables);
    dtype_facts(&mut out, &tables);
    arch_facts(&mut out, &tables);
    let names =
        Output { path: PathBuf::from("crates/bir-verify/src/generated/names.rs"), text: names(&tables) };
    Ok(vec![Output { path: PathBuf::from("crates/bir/src/generated/enums.rs"), text: out }, names])
}

/// The enums that become types: ArgumentKind and EdgeKind have hand-written ones; one without known names is a string.
fn typed(tables: &Tables) -> impl Iterator<Item = &Enum> {
    tables.enums.iter().filter(|e| !(e.value.is_empty() || e.closed == Some(false) || e.name == "EdgeKind"))
}

/// The names of each enum, for those who know only what it is called.
fn names(tables: &Tables) -> String {
    let mut out = header("enums.toml");
    out.push_str(
        "//! The names that the enums of BIR-JSON have.\n\nuse bir::OpenEnum;\nuse bir::enums as e;\n\n",
    );
    out.push_str(
        "/// The names of an enum of the tables; none of what is no enum.
pub(crate) fn names_of(called: &str) -> Vec<&'static str> {
    match called {\n",
    );
    for e in typed(tables) {
        let _ = writeln!(out, "        {0:?} => names::<e::{0}>(),", e.name);
    }
    out.push_str(
        "        _ => Vec::new(),
    }
}

fn names<E: OpenEnum>() -> Vec<&'static str> {
    E::ALL.iter().filter_map(|value| value.name().ok()).collect()
}\n",
    );
    out
}

fn one(out: &mut String, e: &Enum) {
    let mut doc = format!("`{}` of the tables, confidence {}.", e.name, e.confidence);
    if let Some(notes) = &e.notes {
        let _ = write!(doc, "\n\n{}", sentence(notes));
    }
    let _ = write!(out, "open_enum! {{\n{}    {} {{\n", doc_comment("    ", &doc), e.name);
    for value in e.value.iter().filter(|v| !v.reserved) {
        let _ = writeln!(
            out,
            "{}        {} = {}, {:?} b{:?};",
            doc_comment("        ", &value_doc(value)),
            variant(value.wire()),
            value.ordinal,
            value.wire(),
            value.wire()
        );
    }
    out.push_str("    }\n");
    let aliases: Vec<_> = e
        .value
        .iter()
        .flat_map(|v| v.aliases.iter().map(move |alias| format!("b{alias:?} => {}", variant(v.wire()))))
        .collect();
    let _ = writeln!(out, "    aliases {{ {} }}", aliases.join(", "));
    let _ = writeln!(
        out,
        "    legacy {{ {} }}",
        e.legacy_names.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
    );
    let _ = writeln!(out, "    read_ordinal {}", e.read_ordinal);
    out.push_str("}\n\n");
}

fn value_doc(value: &EnumValue) -> String {
    let mut parts = vec![format!("`{}`", value.wire())];
    if let Some(name) = value.external_name.as_ref().filter(|name| *name != value.wire()) {
        parts.push(format!("{name} in the public documentation"));
    }
    parts.extend(value.meaning.clone().or_else(|| value.role.clone()));
    parts.extend(value.notes.as_ref().map(|notes| sentence(notes)));
    let text = parts.join(": ");
    if text.ends_with('.') { text } else { text + "." }
}

fn edge_kinds(out: &mut String, tables: &Tables) {
    let e = tables.enums.iter().find(|e| e.name == "EdgeKind").expect("the table has EdgeKind");
    let names: Vec<_> = e.value.iter().map(|v| format!("{:?}", v.wire())).collect();
    let _ = write!(
        out,
        "/// Names of the edge kinds by number.\npub(crate) const EDGE_KINDS: [&str; {}] = [{}];\n\n",
        names.len(),
        names.join(", ")
    );
}

fn dtype_facts(out: &mut String, tables: &Tables) {
    let e = tables.enums.iter().find(|e| e.name == "Dtype").expect("the table has Dtype");
    let mut sizes = String::new();
    let mut immediates = Vec::new();
    for v in &e.value {
        let name = variant(v.wire());
        let _ = writeln!(sizes, "Dtype::{name} => {},", v.size_bytes.expect("every dtype has a size"));
        if v.imm_json == Some(true) {
            immediates.push(format!("Dtype::{name}"));
        }
    }
    let _ = write!(
        out,
        "impl Dtype {{
    /// Bytes of one element (of the container, for packed types). `None` for a name that the table does not have.
    pub fn size_bytes(self) -> Option<u32> {{
        Some(match self {{
            {sizes} Dtype::Other(_) => return None,
        }})
    }}

    /// Whether an immediate may have this type. spec: bir-json 8.2
    pub fn is_immediate(self) -> bool {{
        matches!(self, {})
    }}
}}\n\n",
        immediates.join(" | ")
    );
}

fn arch_facts(out: &mut String, tables: &Tables) {
    let e = tables.enums.iter().find(|e| e.name == "ArchLevel").expect("the table has ArchLevel");
    let mut generations = String::new();
    let mut names = String::new();
    for v in &e.value {
        let name = variant(v.wire());
        let _ = writeln!(
            generations,
            "ArchLevel::{name} => {},",
            v.generation.expect("every level has a generation")
        );
        let devices =
            v.device_aliases.iter().chain(&v.product).flatten().cloned().chain([v.wire().to_owned()]);
        let devices: Vec<_> = devices.map(|name| format!("{name:?}")).collect();
        let _ = writeln!(names, "{} => ArchLevel::{name},", devices.join(" | "));
    }
    let _ = write!(
        out,
        "impl ArchLevel {{
    /// Hardware generation: 1 to 5. `None` for a name that the table does not have.
    pub fn generation(self) -> Option<u32> {{
        Some(match self {{
            {generations} ArchLevel::Other(_) => return None,
        }})
    }}

    /// The level of a device name such as `trn2`, or of an arch name.
    pub fn from_device(name: &str) -> Option<ArchLevel> {{
        Some(match name {{
            {names} _ => return None,
        }})
    }}
}}\n"
    );
}
