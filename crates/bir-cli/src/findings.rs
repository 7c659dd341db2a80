//! Findings of checkers, made ready to print: names, line and column, the part of the document that is meant. The
//! forms are in the modules below: text, JSON lines, SARIF and the vendor's.

mod excerpt;
mod json;
mod sarif;
mod text;
mod vendor;

use bir::diag::{Diagnostic, DisplayNames, NamedPlace, Place, Report, StorageRef};
use bir::ids::Id;
use bir::{Module, OperandList};
use bir_json::{Loaded, Places};

use crate::input::Input;
use crate::report::Form;
use excerpt::Excerpt;

pub(crate) use json::{json_line, json_lines};
pub(crate) use sarif::{RuleText, sarif};
pub(crate) use text::text;
pub(crate) use vendor::vendor;

/// How many findings are shown: as many as are asked for, where 0 means all, and else what fits a terminal.
pub(crate) fn most(asked: Option<usize>, form: Form) -> usize {
    match asked {
        Some(0) => usize::MAX,
        Some(most) => most,
        None if form == Form::Text => 100,
        None => usize::MAX,
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A module that was checked, and the file that it comes from.
pub(crate) struct Source<'a> {
    pub(crate) input: &'a Input,
    pub(crate) loaded: &'a Loaded,
    names: DisplayNames,
}

/// The modules that were checked together; several are the cores of one program.
pub(crate) struct Sources<'a>(Vec<Source<'a>>);

/// A finding with all that is printed of it.
pub(crate) struct Shown {
    pub(crate) report: Report,
    pub(crate) excerpt: Option<Excerpt>,
    /// The finding itself, for forms that need more of the module.
    pub(crate) source: usize,
    pub(crate) place: Place,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(inputs: &'a [Input], loaded: &'a [Loaded]) -> Sources<'a> {
        let source = |(input, loaded): (&'a Input, &'a Loaded)| Source {
            input,
            loaded,
            names: DisplayNames::of(&loaded.module),
        };
        Sources(inputs.iter().zip(loaded).map(source).collect())
    }

    /// The source of a place, by its core.
    fn of(&self, place: &Place) -> usize {
        place.core.map_or(0, usize::from).min(self.0.len() - 1)
    }

    /// The module of a finding.
    pub(crate) fn module(&self, shown: &Shown) -> &Module {
        &self.0[shown.source].loaded.module
    }

    /// Places with names, file, line and column.
    pub(crate) fn places(&self, places: &[Place]) -> Vec<NamedPlace> {
        let named = |place: &Place| {
            let source = &self.0[self.of(place)];
            place.named(&source.loaded.module, &source.names)
        };
        let mut named: Vec<NamedPlace> = places.iter().map(named).collect();
        let mut offsets: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.0.len()];
        for (at, place) in places.iter().enumerate() {
            let source = self.of(place);
            named[at].file = Some(self.0[source].input.name.clone());
            if let Some(offset) = self.0[source].offset(place) {
                offsets[source].push((offset, at));
            }
        }
        // In ascending order they cost one pass over the text together.
        for (source, mut offsets) in offsets.into_iter().enumerate() {
            offsets.sort_unstable();
            let mut lines = Places::new(self.0[source].input.text());
            // Many findings are about one instruction.
            let mut last: Option<(usize, usize, usize)> = None;
            for (offset, at) in offsets {
                let (_, line, column) = last.filter(|(of, ..)| *of == offset).unwrap_or_else(|| {
                    let place = lines.of(offset);
                    (offset, place.line, place.column)
                });
                last = Some((offset, line, column));
                (named[at].line, named[at].column) = (Some(line), Some(column));
            }
        }
        named
    }

    /// Findings with names, lines, and what the document has there.
    pub(crate) fn show(&self, findings: &[Diagnostic]) -> Vec<Shown> {
        let mut places: Vec<Place> = findings.iter().map(|finding| finding.place).collect();
        let related = findings.iter().flat_map(|finding| &finding.related);
        places.extend(related.map(|related| related.place));
        let mut named = self.places(&places);
        let mut of_related = named.split_off(findings.len()).into_iter();
        let shown = findings.iter().zip(named).map(|(finding, place)| {
            let source = self.of(&finding.place);
            let input = self.0[source].input;
            let mut place = Some(place);
            let report =
                finding.report_in(|_| place.take().or_else(|| of_related.next()).expect("one for each"));
            let offset = self.0[source].offset(&finding.place);
            let key = excerpt::key_of(&report.code, &report.message);
            let excerpt = offset.and_then(|offset| Excerpt::of(input.text(), offset, key));
            Shown { report, excerpt, source, place: finding.place }
        });
        shown.collect()
    }
}

impl Source<'_> {
    /// Where the object that a place is about starts in the text.
    fn offset(&self, place: &Place) -> Option<usize> {
        let text = self.input.text();
        let module = &self.loaded.module;
        // What a trigger starts stands where its trigger does.
        let Some(inst) = place.trigger.or(place.inst()) else {
            let name = match place.storage? {
                StorageRef::Location(loc) => module[loc].name,
                StorageRef::Set(set) => module[set].name,
                StorageRef::Register(reg) => module[reg].name,
            };
            return excerpt::find_named(text, module.str(name));
        };
        let start = self.loaded.positions.inst(inst).filter(|_| inst.index() < module.inst_ids().len())?;
        let operand = place.operand.and_then(|(list, index)| {
            let list = excerpt::member(text, start, list.key())?;
            excerpt::element(text, list, index)
        });
        // An immediate that stood among the outputs is an input now: then the instruction is shown.
        let moved = place.operand.is_some_and(|(list, _)| list == OperandList::Ins);
        operand.or(Some(start).filter(|_| place.operand.is_none() || moved)).or(Some(start))
    }
}
