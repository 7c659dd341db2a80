//! Templates of instructions. A compiler makes few kinds of instructions, each with its keys in the same order and
//! most values alike: what changes from one to the next are name, operands, dependencies and the like. Text between
//! such values that was read before is compared, not read.

use bir::ids::InstId;
use bir::record::FieldValue;
use smallvec::SmallVec;

use super::instruction::Draft;
use super::{Member, Reader};
use crate::error::Result;
use crate::generated::HeaderKey;
use crate::templates::{Common, Credit};

/// Longest text between two values that is kept.
const LONGEST: usize = 1 << 10;

/// Texts that may follow one value.
const MAX_BRANCHES: usize = 32;

/// Nodes, instructions, and bytes of text, that are kept before everything is forgotten.
const MAX_NODES: usize = 1 << 12;
const MAX_TEXT: usize = 1 << 20;

/// A value that is read anew in each instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Of a header key.
    Header(HeaderKey),
    /// Of a key of the op, whose name has so many bytes.
    Member { key: u32 },
    /// The blocks of a body.
    Body,
}

/// Where such a value is.
#[derive(Clone, Copy)]
pub(super) struct Hole {
    pub(super) part: Part,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) type Holes = SmallVec<[Hole; 16]>;

/// A tree of texts: each leads to a value that is read anew, or to the end of the instruction.
pub(super) struct Templates {
    /// What may follow the brace, which is node 0, or a value.
    nodes: Vec<SmallVec<[Branch; 2]>>,
    text: Vec<u8>,
    /// What the texts say, with the values of an instruction where they are read anew.
    instructions: Vec<Known>,
    /// How often everything was forgotten: nodes from before mean nothing.
    generation: u32,
    credit: Credit,
}

struct Known {
    common: Common,
    /// There are names in it.
    is_marked: bool,
}

#[derive(Clone, Copy)]
struct Branch {
    start: u32,
    length: u32,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    Hole { part: Part, node: u32 },
    End { template: u32 },
}

impl Default for Templates {
    fn default() -> Self {
        Templates {
            nodes: vec![SmallVec::new()],
            text: Vec::new(),
            instructions: Vec::new(),
            generation: 0,
            credit: Credit::default(),
        }
    }
}

impl Templates {
    /// The branch whose text comes next. Those that are taken often move to the front.
    #[inline]
    fn next(&mut self, node: u32, rest: &[u8]) -> Option<Branch> {
        let branches = &mut self.nodes[node as usize];
        let all = &self.text;
        let is_next =
            |branch: &Branch| rest.starts_with(&all[branch.start as usize..][..branch.length as usize]);
        let at = branches.iter().position(is_next)?;
        let branch = branches[at];
        if at > 0 {
            branches.swap(at - 1, at);
        }
        Some(branch)
    }

    fn forget(&mut self) {
        let generation = self.generation + 1;
        let credit = std::mem::take(&mut self.credit);
        *self = Templates { generation, credit, ..Templates::default() };
    }

    /// Adds the texts around the holes of an instruction. Where every instruction is new, it soon stops.
    fn learn(&mut self, text: &[u8], start: usize, end: usize, holes: &[Hole], known: Known) {
        if !self.credit.spend() {
            return;
        }
        let starts = std::iter::once(start).chain(holes.iter().map(|hole| hole.end));
        let ends = holes.iter().map(|hole| hole.start).chain([end]);
        if starts.zip(ends).any(|(start, end)| end - start > LONGEST) {
            return;
        }
        if self.nodes.len().max(self.instructions.len()) > MAX_NODES || self.text.len() > MAX_TEXT {
            self.forget();
        }
        let (mut node, mut at) = (0, start);
        for hole in holes {
            let next = self.next(node, &text[at..hole.start]);
            node = match next.map(|branch| branch.then) {
                Some(Then::Hole { part, node }) if part == hole.part => node,
                _ => {
                    let new = self.nodes.len() as u32;
                    self.nodes.push(SmallVec::new());
                    self.add(node, &text[at..hole.start], Then::Hole { part: hole.part, node: new });
                    new
                }
            };
            at = hole.end;
        }
        let then = Then::End { template: self.instructions.len() as u32 };
        self.instructions.push(known);
        self.add(node, &text[at..end], then);
    }

    /// Adds a branch, in place of the one that was taken least when there are many.
    fn add(&mut self, node: u32, text: &[u8], then: Then) {
        let branch = Branch { start: self.text.len() as u32, length: text.len() as u32, then };
        self.text.extend_from_slice(text);
        let branches = &mut self.nodes[node as usize];
        if branches.len() == MAX_BRANCHES {
            branches.pop();
        }
        branches.push(branch);
    }
}

impl<'a> Reader<'a> {
    /// Reads the instruction at the lexer by a template; false when none fits. Values that were read by then are
    /// in `draft.holes`, and the lexer is anywhere.
    pub(super) fn by_template(&mut self, draft: &mut Draft<'a>, id: InstId) -> Result<bool> {
        let generation = self.templates.generation;
        let mut node = 0;
        self.lexer.enter()?;
        loop {
            let at = self.lexer.pos();
            let text = self.lexer.text().as_bytes();
            let Some(branch) = self.templates.next(node, &text[at..]) else { return Ok(false) };
            let start = at + branch.length as usize;
            self.lexer.seek(start);
            let part = match branch.then {
                Then::End { template } => {
                    self.lexer.leave();
                    self.fill_in(draft, id, template as usize)?;
                    return Ok(true);
                }
                Then::Hole { part, node: next } => {
                    node = next;
                    part
                }
            };
            // Where null is allowed depends on the key.
            if text.get(start) == Some(&b'n') {
                return Ok(false);
            }
            match part {
                Part::Header(key) => self.header_value(&mut draft.inst, id, key, &mut draft.misplaced)?,
                Part::Body if !self.body_at_once(id)? => return Ok(false),
                Part::Body => self.template_member(draft, start, "blocks".len()),
                Part::Member { key } => {
                    self.lexer.skip_value()?;
                    self.template_member(draft, start, key as usize);
                }
            }
            let end = self.lexer.pos();
            draft.holes.push(Hole { part, start, end });
            // Instructions of a body may have made all that is known here obsolete.
            if generation != self.templates.generation {
                return Ok(false);
            }
        }
    }

    /// Notes a member of the op, whose key stands before its value.
    fn template_member(&mut self, draft: &mut Draft<'a>, value_at: usize, key: usize) {
        let before = self.lexer.text()[..value_at].trim_ascii_end();
        let before = before.strip_suffix(':').unwrap_or(before).trim_ascii_end();
        let end = before.len() - 1;
        let key_at = end - key - 1;
        draft.members.push(Member { key: before[key_at + 1..end].into(), key_at, value_at });
    }

    fn fill_in(&mut self, draft: &mut Draft<'a>, id: InstId, template: usize) -> Result<()> {
        let inst = &mut draft.inst;
        if !draft.misplaced.is_empty() {
            inst.ins.append(&mut draft.misplaced);
        }
        let known = &self.templates.instructions[template];
        known.common.copy_to(inst);
        self.marks = self.marks.wrapping_add(known.is_marked.into());
        if !draft.members.is_empty() {
            let end = self.lexer.pos();
            self.op_is_copy = true;
            self.read_op_of(inst, id, &draft.members)?;
            self.lexer.seek(end);
        }
        self.templates.credit.earn();
        Ok(())
    }

    /// Keeps the texts of an instruction that was read member by member, and had nothing odd.
    pub(super) fn learn_template(&mut self, draft: &mut Draft<'a>, start: usize, marks: u32) {
        let inst = &draft.inst;
        let fields = inst.op.fields();
        let members = draft.members.iter().filter(|member| {
            let field = fields.and_then(|fields| {
                let index = fields.specs().iter().position(|spec| spec.key == member.key)?;
                Some(fields.field(index))
            });
            !field.is_some_and(|field| is_plain(&field))
        });
        let bound: SmallVec<[usize; 4]> = members.map(|member| member.value_at).collect();
        draft.holes.retain(|hole| matches!(hole.part, Part::Header(_)) || bound.contains(&hole.start));
        let (text, end) = (self.lexer.text().as_bytes(), self.lexer.pos());
        let known = Known { common: Common::of(inst), is_marked: self.marks != marks };
        self.templates.learn(text, start + 1, end, &draft.holes, known);
    }
}

/// Whether a value means the same in every instruction: it has no expressions, which belong to one, and no names of
/// objects.
fn is_plain(value: &FieldValue<'_>) -> bool {
    use FieldValue::{Bool, Float, Int, List, Map, Members, Name, Text, Uint, Unset, Value};
    match value {
        Unset | Bool(_) | Int(_) | Uint(_) | Float(_) | Text(_) | Name(_) | Map(_) | Value(_)
        | Members(_) => true,
        List(items) => items.iter().all(is_plain),
        _ => false,
    }
}
