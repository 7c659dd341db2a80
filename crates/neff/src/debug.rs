//! Debug members: from a word to its BIR instruction, the statement, the HLO instruction, the framework's operation and
//! the source line (spec: neff 8). The messages are generated from `spec/neff-debug.toml`.

use std::collections::HashMap;

use crate::error::Error;
pub use crate::generated::debug::*;
use crate::proto::{Malformed, Message, Reader, Wire};
pub use crate::proto::{Messages, Packed, Unknown};

/// Number of `instructions` in [`IrDebugInfo`].
const INSTRUCTIONS: u32 = 3;

/// A backend writes at most this many dataflow predecessors, so a list of this length may be cut (spec: neff 8.2).
pub const MAX_DATAFLOW: usize = 100;

impl IrDebugInfo {
    /// Reads a member.
    ///
    /// # Errors
    /// When it is no protobuf message of this form.
    pub fn read(member: &str, bytes: &[u8]) -> Result<IrDebugInfo, Error> {
        IrDebugInfo::decode(bytes, 0).map_err(|error| malformed(member, error))
    }

    /// The bytes of a member, in the canonical form that compilers write.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// Fields that the schema does not have, of the message and of all in it.
    pub fn unknown_fields(&self) -> impl Iterator<Item = &Unknown> {
        self.unknown.iter().chain(self.instructions.iter().flat_map(|entry| &entry.unknown))
    }

    /// The file and line that an entry has as its kernel source.
    pub fn kernel_place(&self, entry: &InstructionDebugInfo) -> Option<SourceLine<'_>> {
        let file: usize = entry.attr("kernel_file")?.parse().ok()?;
        let line = entry.attr("kernel_line")?.parse().ok()?;
        Some(SourceLine { file: self.kernel_filenames.get(file)?, line })
    }
}

impl InstructionDebugInfo {
    /// An attribute.
    pub fn attr(&self, key: &str) -> Option<&str> {
        self.attrs.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// Dependencies before reduction, with their kinds.
    pub fn dataflow(&self) -> impl Iterator<Item = (u64, DependencyEdgeKind)> {
        edges(&self.dataflow_predecessors, &self.dataflow_predecessor_types)
    }

    /// Dependencies after reduction: what words synchronise on.
    pub fn scheduling(&self) -> impl Iterator<Item = (u64, DependencyEdgeKind)> {
        edges(&self.scheduling_predecessors, &self.scheduling_predecessor_types)
    }

    /// The file and line of an HLO instruction.
    pub fn hlo_place(&self) -> Option<SourceLine<'_>> {
        let file = self.attr("source_file").filter(|file| !file.is_empty())?;
        let line = self.attr("source_line")?.parse().ok().filter(|line| *line > 0)?;
        Some(SourceLine { file, line })
    }
}

/// Layers of the front end have no kinds.
fn edges(
    ids: &Packed<u64>,
    kinds: &Packed<DependencyEdgeKind>,
) -> impl Iterator<Item = (u64, DependencyEdgeKind)> {
    ids.iter().enumerate().map(|(i, id)| (*id, kinds.get(i).copied().unwrap_or_default()))
}

/// A place in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceLine<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u64,
}

impl std::fmt::Display for SourceLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

fn malformed(member: &str, error: Malformed) -> Error {
    Error::Debug { member: member.to_owned(), at: error.at, reason: error.reason }
}

/// Whether a member that begins like this may be debug information: a description in plain text comes first.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut reader = Reader::new(head, 0);
    match reader.next() {
        Ok(Some((1, Wire::Bytes(text, _)))) => {
            !text.is_empty() && text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
        }
        _ => false,
    }
}

/// What a debug member holds, counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Entries.
    pub entries: u64,
    /// Member of the layer above, without folder and suffix.
    pub parent: String,
    /// Entries by [`InstructionType`].
    pub types: Counts,
    /// Dependencies before reduction, by kind.
    pub dataflow: Counts,
    /// Dependencies after reduction, by kind.
    pub scheduling: Counts,
    /// Source files that are named.
    pub files: Vec<String>,
    /// Number of fields that the schema does not have.
    pub unknown_fields: u64,
}

/// How often each name occurs, by code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts(pub std::collections::BTreeMap<u64, u64>);

impl Counts {
    fn add(&mut self, code: u64, count: u64) {
        *self.0.entry(code).or_default() += count;
    }

    pub(crate) fn merge(&mut self, other: &Counts) {
        other.0.iter().for_each(|(code, count)| self.add(*code, *count));
    }
}

impl Summary {
    /// Counts a member entry by entry.
    ///
    /// # Errors
    /// When it is no protobuf message of this form.
    pub fn of(member: &str, bytes: &[u8]) -> Result<Summary, Error> {
        Summary::count(bytes).map_err(|error| malformed(member, error))
    }

    fn count(bytes: &[u8]) -> Result<Summary, Malformed> {
        let mut summary = Summary::default();
        let mut rest = IrDebugInfo::default();
        let mut reader = Reader::new(bytes, 0);
        while let Some((number, value)) = reader.next()? {
            match value {
                Wire::Bytes(entry, at) if number == INSTRUCTIONS => {
                    summary.add(&InstructionDebugInfo::decode(entry, at)?);
                }
                _ => summary.unknown_fields += u64::from(!rest.take(number, value)?),
            }
        }
        summary.parent = rest.parent_debug_info_filename;
        rest.kernel_filenames.append(&mut summary.files);
        summary.files = Vec::new();
        rest.kernel_filenames.iter().for_each(|file| summary.add_file(file));
        Ok(summary)
    }

    fn add(&mut self, entry: &InstructionDebugInfo) {
        self.entries += 1;
        if entry.instruction_type.0 != 0 {
            self.types.add(entry.instruction_type.0, 1);
        }
        entry.dataflow().for_each(|(_, kind)| self.dataflow.add(kind.0, 1));
        entry.scheduling().for_each(|(_, kind)| self.scheduling.add(kind.0, 1));
        if let Some(place) = entry.hlo_place() {
            self.add_file(place.file);
        }
        self.unknown_fields += entry.unknown.len() as u64;
    }

    fn add_file(&mut self, file: &str) {
        // Few files, many entries of each: the last is the likeliest.
        if !file.is_empty() && !self.files.iter().rev().any(|known| known == file) {
            self.files.push(file.to_owned());
        }
    }

    pub(crate) fn merge(&mut self, other: &Summary) {
        self.entries += other.entries;
        self.types.merge(&other.types);
        self.dataflow.merge(&other.dataflow);
        self.scheduling.merge(&other.scheduling);
        self.unknown_fields += other.unknown_fields;
        other.files.iter().for_each(|file| self.add_file(file));
        if self.parent.is_empty() {
            self.parent.clone_from(&other.parent);
        }
    }
}

/// The layers of the front end, which all cores share.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FrontEnd {
    /// Statements of the tensorizer.
    pub penguin: Layer,
    /// HLO instructions.
    pub hlo: Layer,
    /// Operations of the framework.
    pub framework: Layer,
}

/// A debug member with its entries by id.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Layer {
    /// The messages; several when a member was split.
    pub members: Vec<IrDebugInfo>,
    by_id: HashMap<u64, (u32, u32)>,
}

impl Layer {
    /// Indexes members. The last entry of an id wins: HLO modules and computations have id spaces of their own in front
    /// of the instructions (spec: neff 8.2).
    pub fn new(members: Vec<IrDebugInfo>) -> Layer {
        let mut by_id = HashMap::new();
        for (m, member) in members.iter().enumerate() {
            for (i, entry) in member.instructions.iter().enumerate() {
                by_id.insert(entry.id, (m as u32, i as u32));
            }
        }
        Layer { members, by_id }
    }

    /// The entry of an id.
    pub fn entry(&self, id: u64) -> Option<Entry<'_>> {
        let &(m, i) = self.by_id.get(&id)?;
        let member = &self.members[m as usize];
        Some(Entry { member, entry: &member.instructions[i as usize] })
    }

    /// All entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let entries = |member| {
            let wrap = move |entry| Entry { member, entry };
            IrDebugInfo::instructions_of(member).map(wrap)
        };
        self.members.iter().flat_map(entries)
    }
}

impl IrDebugInfo {
    fn instructions_of(&self) -> impl Iterator<Item = &InstructionDebugInfo> {
        self.instructions.iter()
    }
}

/// An entry with the member it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The member.
    pub member: &'a IrDebugInfo,
    /// The entry.
    pub entry: &'a InstructionDebugInfo,
}

impl<'a> Entry<'a> {
    /// Its kernel source line.
    pub fn source(&self) -> Option<SourceLine<'a>> {
        self.member.kernel_place(self.entry)
    }
}

/// The debug information of one engine: which word belongs to which instruction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EngineDebug {
    /// BIR instructions, in program order.
    pub backend: Layer,
    /// For each word the id of its BIR instruction; none for those of the prologue.
    pub words: Vec<Option<u64>>,
}

impl EngineDebug {
    /// Puts the members of one engine together.
    pub fn new(backend: Vec<IrDebugInfo>, asm: &[IrDebugInfo]) -> EngineDebug {
        let entries = asm.iter().flat_map(|member| member.instructions.iter());
        let words = entries.map(|entry| entry.parent_ids.first().copied()).collect();
        EngineDebug { backend: Layer::new(backend), words }
    }

    /// The instruction that a word belongs to.
    pub fn instruction(&self, word: usize) -> Option<Entry<'_>> {
        self.backend.entry((*self.words.get(word)?)?)
    }
}

/// Where an instruction comes from, from the tensorizer up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// Statement of the tensorizer.
    pub penguin: Option<Entry<'a>>,
    /// HLO instruction.
    pub hlo: Option<Entry<'a>>,
    /// Operation of the framework.
    pub framework: Option<Entry<'a>>,
}

impl FrontEnd {
    /// Follows the parents of a BIR instruction.
    pub fn origin(&self, instruction: &InstructionDebugInfo) -> Origin<'_> {
        let parent = |layer: &'_ Layer, entry: &InstructionDebugInfo| {
            entry.parent_ids.first().filter(|id| layer.by_id.contains_key(id)).copied()
        };
        let penguin = parent(&self.penguin, instruction).and_then(|id| self.penguin.entry(id));
        let hlo = penguin.and_then(|at| parent(&self.hlo, at.entry)).and_then(|id| self.hlo.entry(id));
        let framework =
            hlo.and_then(|at| parent(&self.framework, at.entry)).and_then(|id| self.framework.entry(id));
        Origin { penguin, hlo, framework }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, name: &str) -> InstructionDebugInfo {
        InstructionDebugInfo { id, name: name.into(), ..Default::default() }
    }

    #[test]
    fn fields_that_are_not_known_are_kept_and_shown() {
        let mut bytes = IrDebugInfo {
            description: "d".into(),
            instructions: Messages(vec![entry(1, "a")]),
            ..Default::default()
        }
        .write();
        bytes.extend([0x78, 0x2a, 0x82, 0x01, 2, b'h', b'i', 0x8d, 0x01, 1, 2, 3, 4]);
        let read = IrDebugInfo::read("m", &bytes).unwrap();
        let shown: Vec<String> = read.unknown_fields().map(Unknown::to_string).collect();
        assert_eq!(shown, ["field 15: 42", "field 16: \"hi\"", "field 17: 8d0101020304"]);
        assert_eq!(read.write(), bytes);
        assert_eq!(Summary::of("m", &bytes).unwrap().unknown_fields, 3);
    }

    #[test]
    fn numbers_need_not_be_packed() {
        let unpacked = [0x1a, 6, 0x1a, 1, 7, 0x18, 9, 0x08];
        // parent_ids 7 packed and 9 alone, then an id without its value.
        let error = IrDebugInfo::read("m", &unpacked).unwrap_err();
        assert!(error.to_string().contains("no end at byte 8"), "{error}");
        let read = IrDebugInfo::read("m", &[0x1a, 5, 0x1a, 1, 7, 0x18, 9]).unwrap();
        assert_eq!(read.instructions[0].parent_ids.0, [7, 9]);
    }

    #[test]
    fn lengths_are_not_believed() {
        for bytes in
            [&[0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..], &[0x1a, 5, 0], &[0x1b], &[0]]
        {
            assert!(IrDebugInfo::read("m", bytes).is_err(), "{bytes:x?}");
            assert!(Summary::of("m", bytes).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn a_message_may_be_there_and_empty() {
        let read = IrDebugInfo::read("m", &[0x32, 0]).unwrap();
        assert!(read.stack_frame_index.is_some());
        assert_eq!(read.write(), [0x32, 0]);
    }

    #[test]
    fn the_chain_goes_from_the_word_to_the_framework() {
        let with = |mut entry: InstructionDebugInfo, parent: u64| {
            entry.parent_ids = Packed(vec![parent]);
            entry
        };
        let member = |entries: Vec<InstructionDebugInfo>| IrDebugInfo {
            instructions: Messages(entries),
            ..Default::default()
        };
        let asm = member(vec![entry(0, ""), with(entry(0, ""), 5)]);
        let engine = EngineDebug::new(vec![member(vec![with(entry(5, "I-1"), 6)])], &[asm]);
        // The module has the id of the instruction.
        let hlo = member(vec![with(entry(0, "module"), 1), with(entry(0, "%dot"), 2)]);
        let front = FrontEnd {
            penguin: Layer::new(vec![member(vec![with(entry(6, "$6"), 0)])]),
            hlo: Layer::new(vec![hlo]),
            framework: Layer::new(vec![member(vec![entry(1, "module"), entry(2, "dot")])]),
        };
        assert!(engine.instruction(0).is_none());
        let found = engine.instruction(1).unwrap().entry;
        let origin = front.origin(found);
        let names = [origin.penguin, origin.hlo, origin.framework].map(|at| at.unwrap().entry.name.as_str());
        assert_eq!((found.name.as_str(), names), ("I-1", ["$6", "%dot", "dot"]));
    }
}
