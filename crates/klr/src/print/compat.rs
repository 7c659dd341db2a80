//! The reference printer's form (spec: klr 6): one line, no quotes, no brackets. It is ambiguous and not for reading
//! back.

use std::io;

use super::c_float;
use crate::container::{CONTENTS, Select, Unknown};
use crate::node::{Float, Real, Sink, Tree, TypeInfo};
use crate::text::Text;

/// A value as the reference prints it; a file as three lines.
///
/// ```
/// use klr::ir::{Engine, TensorRef, Transpose};
/// let value = Transpose { dst: TensorRef::Reg(1), src: TensorRef::Reg(2), dtype: None, engine: Engine::Pe };
/// assert_eq!(
///     klr::print::compat(&value),
///     "Transpose(dst=TensorRefRegisterWrapper(reg=1), src=TensorRefRegisterWrapper(reg=2), dtype=None, engine=pe)"
/// );
/// ```
#[must_use]
pub fn compat(value: &dyn Tree<'_>) -> String {
    let mut printer = Printer { text: Text::kept(), frames: Vec::new(), parts: false };
    printer.print(value);
    printer.text.into_string()
}

/// Writes a value to a stream as the reference prints it.
///
/// # Errors
/// Those of the stream.
pub fn write_compat(value: &dyn Tree<'_>, stream: &mut dyn io::Write) -> io::Result<()> {
    let mut printer = Printer { text: Text::to(stream), frames: Vec::new(), parts: false };
    printer.print(value);
    printer.text.finish()
}

struct Printer<'w> {
    text: Text<'w>,
    /// Fields or elements printed in each open value.
    frames: Vec<usize>,
    /// The value is a file, whose parts are lines.
    parts: bool,
}

impl Printer<'_> {
    fn print(&mut self, value: &dyn Tree<'_>) {
        self.parts = value.info().tag.is_none();
        value.emit(self);
    }

    fn separate(&mut self) {
        if let Some(count) = self.frames.last_mut() {
            if *count > 0 {
                self.text.push(", ");
            }
            *count += 1;
        }
    }

    fn open(&mut self, name: &str) {
        self.text.push(name);
        self.text.push("(");
        self.frames.push(0);
    }
}

impl Sink for Printer<'_> {
    fn record(&mut self, ty: &'static TypeInfo, _head: bool) {
        if ty.tag.is_some() {
            self.open(ty.ctors[0].print);
        }
    }

    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.open(ty.ctors[ctor].print);
    }

    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.text.push(ty.ctors[ctor].print);
    }

    fn close(&mut self) {
        if self.frames.pop().is_some() {
            self.text.push(")");
            if self.parts && self.frames.is_empty() {
                self.text.push("\n");
            }
        }
    }

    fn field(&mut self, name: &'static str) {
        if self.frames.is_empty() {
            return;
        }
        self.separate();
        self.text.push(name);
        self.text.push("=");
    }

    fn nat(&mut self, value: u64) {
        self.text.format(format_args!("{value}"));
    }

    fn int(&mut self, value: i64) {
        self.text.format(format_args!("{value}"));
    }

    fn float(&mut self, value: Float) {
        self.text.push(&c_float(f64::from_bits(widen(value.bits))));
    }

    fn real(&mut self, value: Real) {
        self.text.push(&c_float(value.value()));
    }

    fn boolean(&mut self, value: bool) {
        self.text.push(if value { "1" } else { "0" });
    }

    fn text(&mut self, value: &str) {
        self.text.push(value);
    }

    fn prop(&mut self) {}

    fn none(&mut self) {
        self.text.push("None");
    }

    fn some(&mut self) {}

    fn list(&mut self, _len: usize) {
        self.frames.push(0);
    }

    fn pair(&mut self) {
        self.frames.push(0);
    }

    fn item(&mut self, _index: usize) {
        self.separate();
    }

    fn end_list(&mut self) {
        self.frames.pop();
    }

    fn select(&mut self, row: &'static Select) {
        let ctor = CONTENTS.ctor(row.contents).map_or(row.contents, |ctor| CONTENTS.ctors[ctor].print);
        self.open(ctor);
    }

    fn unknown(&mut self, _value: &Unknown<'_>) {
        self.text.push("UNABLE TO PRINT");
        if self.parts && self.frames.is_empty() {
            self.text.push("\n");
        }
    }
}

/// Bits of the binary64 with the value of a binary32; keeps the sign of a NaN on every machine.
fn widen(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    let sign = u64::from(bits >> 31) << 63;
    if value.is_nan() { f64::NAN.to_bits() & !(1 << 63) | sign } else { f64::from(value).to_bits() }
}
