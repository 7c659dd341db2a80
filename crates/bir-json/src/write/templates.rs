//! Templates of instructions. What a compiler makes many of differs in names, operands, dependencies and the like;
//! the text between such values, once written, is copied.

use std::hash::BuildHasher;

use bir::Instruction;
use hashbrown::DefaultHashBuilder;
use smallvec::SmallVec;

use super::Writer;
use crate::generated::HeaderKey;
use crate::templates::{Common, Credit};

/// Lists of templates; each instruction has one by its op and by which values it has.
const PLACES: usize = 1 << 8;

/// Templates of one list: those that are used move to the front.
const LONGEST: usize = 24;

/// Bytes of text that are kept before everything is forgotten.
const TEXT: usize = 1 << 20;

/// The templates of one writer.
#[derive(Default)]
pub(super) struct Templates {
    credit: Credit,
    places: Vec<SmallVec<[Template; 2]>>,
    text: Vec<u8>,
    hasher: DefaultHashBuilder,
}

struct Template {
    common: Common,
    values: Values,
    indent: u32,
    /// Ends of the texts, which lie one after the other: one before each value, and the last one.
    start: u32,
    ends: SmallVec<[u32; 12]>,
}

/// Which of the values that are written anew an instruction has, as a set of header keys.
type Values = u32;

/// Where such values are in the text of an instruction that is being written.
#[derive(Default)]
pub(super) struct Recording {
    on: bool,
    values: SmallVec<[(usize, usize); 12]>,
}

impl Recording {
    #[inline]
    pub(super) fn add(&mut self, start: usize, end: usize) {
        if self.on {
            self.values.push((start, end));
        }
    }
}

impl<'a> Writer<'a, '_> {
    /// Writes an instruction by a template, or by `write`, and keeps what that wrote.
    pub(super) fn by_template(&mut self, inst: &'a Instruction, write: impl FnOnce(&mut Self)) {
        // What names code is different each time, and the rare parts of a header are not worth it.
        if inst.has_rare() || inst.op.names_code() || !inst.body().is_empty() {
            return write(self);
        }
        let values = values(inst);
        let indent = self.out.indent() as u32;
        let place = self.templates.hasher.hash_one((inst.opcode(), inst.engine, values)) as usize % PLACES;
        if let Some(list) = self.templates.places.get_mut(place)
            && let Some(at) = list.iter().position(|template| template.fits(inst, values, indent))
        {
            if at > 0 {
                list.swap(at - 1, at);
            }
            return self.fill_in(inst, values, place, at - usize::from(at > 0));
        }
        if !self.templates.credit.spend() {
            return write(self);
        }
        let mark = self.out.mark();
        self.recording.on = true;
        self.recording.values.clear();
        write(self);
        self.recording.on = false;
        self.keep(inst, values, indent, place, mark);
    }

    fn fill_in(&mut self, inst: &'a Instruction, values: Values, place: usize, at: usize) {
        let mut start = self.templates.places[place][at].start;
        let mut left = values;
        self.out.indent_more();
        for i in 0.. {
            let end = self.templates.places[place][at].ends[i];
            self.out.raw(&self.templates.text[start as usize..end as usize]);
            if left == 0 {
                break;
            }
            self.header_value(inst, HeaderKey::SORTED[left.trailing_zeros() as usize]);
            left &= left - 1;
            start = end;
        }
        self.out.indent_less();
        self.templates.credit.earn();
    }

    /// Keeps the texts around the values of an instruction that was written, when they are still here.
    fn keep(&mut self, inst: &Instruction, values: Values, indent: u32, place: usize, mark: (u64, usize)) {
        let recorded = &self.recording.values;
        // Some ops are not certain to be the same as themselves.
        if !inst.op.is_same(&inst.op) || recorded.len() != values.count_ones() as usize {
            return;
        }
        let Some(text) = self.out.since(mark) else { return };
        let templates = &mut self.templates;
        if templates.text.len() > TEXT {
            templates.places.clear();
            templates.text.clear();
        }
        if templates.places.is_empty() {
            templates.places.resize_with(PLACES, SmallVec::new);
        }
        let start = templates.text.len() as u32;
        let mut ends = SmallVec::new();
        let mut from = 0;
        for (value, end) in recorded.iter().map(|(start, end)| (start - mark.1, end - mark.1)) {
            templates.text.extend_from_slice(&text[from..value]);
            ends.push(templates.text.len() as u32);
            from = end;
        }
        templates.text.extend_from_slice(&text[from..]);
        ends.push(templates.text.len() as u32);
        let list = &mut templates.places[place];
        if list.len() == LONGEST {
            list.pop();
        }
        list.push(Template { common: Common::of(inst), values, indent, start, ends });
    }
}

impl Template {
    fn fits(&self, inst: &Instruction, values: Values, indent: u32) -> bool {
        (self.values, self.indent) == (values, indent) && self.common.is_of(inst)
    }
}

fn values(inst: &Instruction) -> Values {
    use HeaderKey::{
        Debug, Dependencies, Ins, LoopCarriedDependencies, Name, Outs, ScheduledEnd, ScheduledStart, SyncInfo,
    };
    let bit = |key: HeaderKey, has: bool| u32::from(has) << key as u32;
    let always = [Ins, Name, Outs, ScheduledEnd, ScheduledStart].map(|key| bit(key, true));
    always.iter().sum::<u32>()
        | bit(Debug, inst.debug.is_some())
        | bit(Dependencies, !inst.dependencies.is_empty())
        | bit(LoopCarriedDependencies, !inst.loop_carried_dependencies.is_empty())
        | bit(SyncInfo, inst.sync_info.is_some())
}
