//! The shape of klr.toml and klr-frontend.toml, as far as code is generated from them.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Core {
    pub(super) schema: Vec<Schema>,
    pub(super) difference: Vec<Difference>,
    pub(super) lowering: Vec<Lowering>,
}

#[derive(Deserialize)]
pub(super) struct Frontend {
    pub(super) schema: Vec<Schema>,
    pub(super) select: Vec<Select>,
}

#[derive(Deserialize)]
pub(super) struct Schema {
    pub(super) version: String,
    pub(super) dates: String,
    pub(super) file_version: [u64; 3],
    pub(super) metadata_format: Option<String>,
    #[serde(rename = "type")]
    pub(super) types: Vec<TypeRow>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Struct,
    Enum,
    Union,
}

#[derive(Deserialize, Clone)]
pub(super) struct TypeRow {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) tag: u8,
    #[serde(default)]
    pub(super) lo: u8,
    pub(super) arity: Option<usize>,
    #[serde(default)]
    pub(super) tree: String,
    #[serde(default)]
    pub(super) fields: Vec<Field>,
    #[serde(default)]
    pub(super) ctors: Vec<CtorRow>,
}

impl TypeRow {
    /// The fields of all constructors.
    pub(super) fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().chain(self.ctors.iter().flat_map(|ctor| &ctor.fields))
    }
}

#[derive(Deserialize, Clone, PartialEq)]
pub(super) struct CtorRow {
    pub(super) name: String,
    pub(super) lo: usize,
    pub(super) mem: usize,
    pub(super) print: Option<String>,
    pub(super) arity: Option<usize>,
    #[serde(default)]
    pub(super) fields: Vec<Field>,
}

#[derive(Deserialize, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
}

#[derive(Deserialize)]
pub(super) struct Difference {
    #[serde(rename = "type")]
    pub(super) name: String,
    pub(super) arity: [usize; 2],
    pub(super) added: Vec<AddedField>,
}

#[derive(Deserialize)]
pub(super) struct AddedField {
    pub(super) index: usize,
}

#[derive(Deserialize)]
pub(super) struct Lowering {
    pub(super) kind: usize,
    pub(super) wire: usize,
    pub(super) lowered: bool,
    #[serde(default)]
    pub(super) bir: Vec<LoweringTarget>,
}

#[derive(Deserialize)]
pub(super) struct LoweringTarget {
    pub(super) inst: String,
}

#[derive(Deserialize)]
pub(super) struct Select {
    pub(super) contents_lo: u8,
    pub(super) peek: String,
    pub(super) contents: String,
    pub(super) version: String,
    pub(super) module: String,
    #[serde(default)]
    pub(super) diagnose: bool,
}
