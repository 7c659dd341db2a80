//! A second pass over a file in which something was noted or wrong, to learn the path to it.
//!
//! The first pass does not keep paths, which makes it fast.

use super::Reader;
use crate::arena::Arena;
use crate::checks::Checked;
use crate::container::Selected;
use crate::node::{Failed, Float, Length, Real, Source, TypeInfo};
use crate::path::Path;

/// A [`Reader`] that knows where it is.
pub(crate) struct Traced<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) path: Path,
    /// The paths of the reader's notes.
    pub(crate) note_paths: Vec<String>,
}

impl<'a> Traced<'a> {
    pub(crate) fn new(reader: Reader<'a>) -> Self {
        Traced { reader, path: Path::default(), note_paths: Vec::new() }
    }

    /// Does one step; notes made in it belong to the current path.
    fn step<T>(&mut self, step: impl FnOnce(&mut Reader<'a>) -> T) -> T {
        let value = step(&mut self.reader);
        while self.note_paths.len() < self.reader.notes.len() {
            self.note_paths.push(self.path.to_string());
        }
        value
    }

    pub(crate) fn finish(&mut self) -> Result<(), Failed> {
        self.step(Reader::finish)
    }
}

impl<'a> Source<'a> for Traced<'a> {
    fn arena(&self) -> &'a Arena {
        self.reader.arena()
    }

    fn record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed> {
        let head = self.step(|reader| reader.record(ty))?;
        self.path.record();
        Ok(head)
    }

    fn union(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        let ctor = self.step(|reader| reader.union(ty))?;
        self.path.union(ty.ctors[ctor].name);
        Ok(ctor)
    }

    fn enumeration(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        self.step(|reader| reader.enumeration(ty))
    }

    fn close(&mut self) -> Result<(), Failed> {
        self.path.close();
        Ok(())
    }

    fn field(&mut self, name: &'static str) -> Result<(), Failed> {
        self.path.field(name);
        Ok(())
    }

    fn nat(&mut self) -> Result<u64, Failed> {
        self.step(Reader::nat)
    }

    fn int(&mut self) -> Result<i64, Failed> {
        self.step(Reader::int)
    }

    fn float(&mut self) -> Result<Float, Failed> {
        self.step(Reader::float)
    }

    fn real(&mut self) -> Result<Real, Failed> {
        self.step(Reader::real)
    }

    fn boolean(&mut self) -> Result<bool, Failed> {
        self.step(Reader::boolean)
    }

    fn text(&mut self) -> Result<&'a str, Failed> {
        self.step(Reader::text)
    }

    fn prop(&mut self) {
        self.reader.prop();
    }

    fn option(&mut self) -> Result<bool, Failed> {
        self.step(Reader::option)
    }

    fn list(&mut self, min: usize) -> Result<Length, Failed> {
        let length = self.step(|reader| reader.list(min))?;
        self.path.list();
        Ok(length)
    }

    fn pair(&mut self) -> Result<(), Failed> {
        self.step(Reader::pair)?;
        self.path.list();
        Ok(())
    }

    fn item(&mut self, index: usize, min: usize) {
        self.reader.item(index, min);
        self.path.item(index);
    }

    fn end_list(&mut self) {
        self.path.close();
    }

    fn descend(&mut self) -> Result<(), Failed> {
        self.reader.descend()
    }

    fn ascend(&mut self) {
        self.reader.ascend();
    }

    fn select(&mut self) -> Result<Selected<'a>, Failed> {
        let selected = self.step(Reader::select)?;
        if let Selected::Row(row) = &selected {
            self.path.union(row.contents);
        } else {
            self.path.record();
        }
        Ok(selected)
    }

    fn checked(&mut self, value: Checked<'_>) {
        self.step(|reader| reader.checked(value));
    }
}
