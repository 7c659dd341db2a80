//! Differences of two modules: what was added, removed, moved and changed, with the exact fields.
//!
//! Functions, tensors, registers, queues and blocks are matched by name; instructions by name and opcode, then by
//! shape (opcode, engine, operands and keys) and place. Where the names of two compiles do not agree with the shapes,
//! shapes come first and names are not compared. Dependencies are compared as sets. The directory of artefacts is
//! never compared, and neither is the version: it says how a text was encoded.

mod compare;
mod matching;
mod text;

use bir::Module;
use serde::Serialize;

/// What to compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffOptions {
    /// Leave out `scheduled_start` and `scheduled_end`.
    pub ignore_schedule: bool,
}

/// The differences of two modules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The changes: of the module, then function by function in program order, then queues.
    pub changes: Vec<Change>,
    /// Their numbers.
    pub summary: Summary,
}

/// Numbers of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Instructions of each module.
    pub instructions: [u64; 2],
    /// Changes by object, in the order of [`Object`].
    pub objects: Vec<ObjectCount>,
    /// Instructions that were matched by shape since the names of the two modules do not agree: their names were not
    /// compared.
    pub names_ignored: u64,
}

/// Numbers of changes of one kind of object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectCount {
    /// The kind.
    pub object: Object,
    /// In the second module only.
    pub added: u64,
    /// In the first module only.
    pub removed: u64,
    /// In both, elsewhere.
    pub moved: u64,
    /// In both, with other contents.
    pub changed: u64,
}

/// Kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// The module itself.
    Module,
    /// A function.
    Function,
    /// A memory-location set.
    Tensor,
    /// A memory location.
    Location,
    /// A register.
    Register,
    /// A queue.
    Queue,
    /// A block.
    Block,
    /// An instruction.
    Instruction,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the first module has it.
    Removed,
    /// Only the second module has it.
    Added,
    /// Both have it, at other places among what both have, and with the same contents.
    Moved,
    /// Both have it, with other contents; it may have moved as well.
    Changed,
}

/// A change of one object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Change {
    /// What became of it.
    pub change: ChangeKind,
    /// What it is.
    pub object: Object,
    /// Its name; that of the first module when both have it.
    pub name: String,
    /// The InstructionType of an instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// Where it is in the first module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Spot>,
    /// Where it is in the second module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Spot>,
    /// Whether it moved, beside being changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// The fields that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// A place in a module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Spot {
    /// Its name there.
    pub name: String,
    /// The function or queue; empty for the module.
    pub function: String,
    /// The block of an instruction; the set of a location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Index in its list.
    pub index: usize,
}

/// A field that differs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct FieldChange {
    /// The field: `ins[0].offset`. One entry for each dependency that differs.
    pub field: String,
    /// Value in the first module as JSON; `null` when it has none.
    pub left: Option<String>,
    /// Value in the second module.
    pub right: Option<String>,
}

impl Diff {
    /// Whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// Compares two modules. The time grows a little faster than their size.
///
/// ```
/// use bir_view::diff::{diff, ChangeKind};
/// let before = bir::sample::matmul_softmax(&Default::default());
/// assert!(diff(&before, &before, &Default::default()).is_empty());
/// let mut after = before.clone();
/// let inst = bir_view::find::find_insts(&after, "mm0_0_0")[0];
/// after[inst].engine_id = 1;
/// let found = diff(&before, &after, &Default::default());
/// assert_eq!(found.changes[0].change, ChangeKind::Changed);
/// assert_eq!(found.changes[0].fields[0].field, "engine_id");
/// ```
pub fn diff(left: &Module, right: &Module, options: &DiffOptions) -> Diff {
    let matching = matching::Matching::of(left, right);
    let changes = compare::changes(left, right, &matching, options);
    let mut summary = Summary {
        instructions: [left.insts().count() as u64, right.insts().count() as u64],
        objects: Vec::new(),
        names_ignored: matching.names_ignored,
    };
    let mut objects: std::collections::BTreeMap<Object, ObjectCount> = Default::default();
    for change in &changes {
        let zero = ObjectCount { object: change.object, added: 0, removed: 0, moved: 0, changed: 0 };
        let count = objects.entry(change.object).or_insert(zero);
        match change.change {
            ChangeKind::Added => count.added += 1,
            ChangeKind::Removed => count.removed += 1,
            ChangeKind::Moved => count.moved += 1,
            ChangeKind::Changed => count.changed += 1,
        }
    }
    summary.objects = objects.into_values().collect();
    Diff { changes, summary }
}
