//! Templates of instructions. What a compiler makes many of differs in names, operands, dependencies and the like;
//! the text between such values, once written, is copied.

use std::hash::BuildHasher;
use std::rc::Rc;

use bir::{Instruction, Rare};
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
    /// A template that is being used may be forgotten meanwhile, by an instruction of the body.
    places: Vec<SmallVec<[Rc<Template>; 2]>>,
    /// Bytes of text.
    size: usize,
    hasher: DefaultHashBuilder,
}

struct Template {
    common: Common,
    values: Values,
    indent: u32,
    /// What is between the values that are written anew, and after the last one.
    text: Box<[u8]>,
    /// Such values, and where they stand in the text.
    holes: Box<[(Hole, u32)]>,
}

/// Which of the header's values that are written anew an instruction has, as a set of header keys.
type Values = u32;

/// A value that is written anew in each instruction.
#[derive(Clone, Copy)]
pub(super) enum Hole {
    /// Of a header key.
    Header(HeaderKey),
    /// Of a key of the op that is about code, by its number.
    Code(u8),
}

/// Where such values are in the text of an instruction that is being written.
#[derive(Default)]
pub(super) struct Recording {
    on: bool,
    holes: SmallVec<[(Hole, usize, usize); 12]>,
}

impl<'a> Writer<'a, '_> {
    /// Writes a value, and notes where when an instruction is being recorded.
    #[inline]
    pub(super) fn recorded(&mut self, hole: Hole, write: impl FnOnce(&mut Self)) {
        let start = self.out.mark().1;
        write(self);
        if self.recording.on {
            self.recording.holes.push((hole, start, self.out.mark().1));
        }
    }

    /// Writes an instruction by a template, or by `write`, and keeps what that wrote.
    pub(super) fn by_template(&mut self, inst: &'a Instruction, write: impl FnOnce(&mut Self)) {
        if self.recording.on {
            // What stands in a body belongs to a value of the instruction that is being recorded.
            let outer = std::mem::take(&mut self.recording);
            self.by_template_alone(inst, write);
            self.recording = outer;
        } else {
            self.by_template_alone(inst, write);
        }
    }

    fn by_template_alone(&mut self, inst: &'a Instruction, write: impl FnOnce(&mut Self)) {
        if inst.has_rare() && !is_plain(inst.rare()) {
            return write(self);
        }
        let values = values(inst);
        let indent = self.out.indent() as u32;
        let place = self.templates.hasher.hash_one((inst.opcode(), inst.engine, values)) as usize % PLACES;
        if let Some(list) = self.templates.places.get_mut(place)
            && let Some(at) = list.iter().position(|template| template.fits(inst, values, indent))
        {
            let template = Rc::clone(&list[at]);
            if at > 0 {
                list.swap(at - 1, at);
            }
            return self.fill_in(inst, &template);
        }
        if !self.templates.credit.spend() {
            return write(self);
        }
        let mark = self.out.mark();
        self.recording.on = true;
        write(self);
        let holes = std::mem::take(&mut self.recording).holes;
        self.keep(inst, values, indent, place, mark, &holes);
    }

    fn fill_in(&mut self, inst: &'a Instruction, template: &Template) {
        let mut start = 0;
        self.out.indent_more();
        for &(hole, end) in &template.holes {
            self.out.raw(&template.text[start..end as usize]);
            match hole {
                Hole::Header(key) => self.header_value(inst, key),
                Hole::Code(number) => self.code_value(&inst.op, number),
            }
            start = end as usize;
        }
        self.out.raw(&template.text[start..]);
        self.out.indent_less();
        self.templates.credit.earn();
    }

    /// Keeps the texts around the values of an instruction that was written, when they are still here.
    fn keep(
        &mut self,
        inst: &Instruction,
        values: Values,
        indent: u32,
        place: usize,
        mark: (u64, usize),
        recorded: &[(Hole, usize, usize)],
    ) {
        let of_header = recorded.iter().filter(|(hole, ..)| matches!(hole, Hole::Header(_))).count();
        // Some ops are not certain to be the same as themselves.
        if !inst.op.is_same_beside_code(&inst.op) || of_header != values.count_ones() as usize {
            return;
        }
        let Some(text) = self.out.since(mark) else { return };
        let mut between = Vec::new();
        let mut holes = Vec::new();
        let mut from = 0;
        for (hole, start, end) in
            recorded.iter().map(|(hole, start, end)| (*hole, start - mark.1, end - mark.1))
        {
            between.extend_from_slice(&text[from..start]);
            holes.push((hole, between.len() as u32));
            from = end;
        }
        between.extend_from_slice(&text[from..]);
        let templates = &mut self.templates;
        if templates.size > TEXT {
            templates.places.clear();
            templates.size = 0;
        }
        if templates.places.is_empty() {
            templates.places.resize_with(PLACES, SmallVec::new);
        }
        templates.size += between.len();
        let list = &mut templates.places[place];
        if list.len() == LONGEST {
            list.pop();
        }
        let template =
            Template { common: Common::of(inst), values, indent, text: between.into(), holes: holes.into() };
        list.push(Rc::new(template));
    }
}

impl Template {
    fn fits(&self, inst: &Instruction, values: Values, indent: u32) -> bool {
        (self.values, self.indent) == (values, indent) && self.common.is_of(inst)
    }
}

/// Whether the rare parts of a header are only what a trigger of transfers has.
fn is_plain(rare: &Rare) -> bool {
    let Rare {
        indirection_ins,
        unroll_dependencies,
        loopnest,
        predicates,
        order,
        dma_trigger_debug_update_semaphore_id: _,
        missing_edges,
        extra,
    } = rare;
    indirection_ins.is_empty()
        && unroll_dependencies.is_empty()
        && loopnest.is_empty()
        && predicates.is_empty()
        && order.is_empty()
        && missing_edges.is_empty()
        && extra.is_empty()
}

fn values(inst: &Instruction) -> Values {
    use HeaderKey::{
        Debug, Dependencies, DmaTriggerDebugUpdateSemaphoreId, Ins, LoopCarriedDependencies, Name, Outs,
        ScheduledEnd, ScheduledStart, SyncInfo,
    };
    let bit = |key: HeaderKey, has: bool| u32::from(has) << key as u32;
    let always = [Ins, Name, Outs, ScheduledEnd, ScheduledStart].map(|key| bit(key, true));
    always.iter().sum::<u32>()
        | bit(Debug, inst.debug.is_some())
        | bit(Dependencies, !inst.dependencies.is_empty())
        | bit(LoopCarriedDependencies, !inst.loop_carried_dependencies.is_empty())
        | bit(SyncInfo, inst.sync_info.is_some())
        | bit(DmaTriggerDebugUpdateSemaphoreId, inst.rare().dma_trigger_debug_update_semaphore_id.is_some())
}
