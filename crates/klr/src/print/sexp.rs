//! The S-expression dump of the public 0.0.12 tool (spec: klr 13.9). It has no quotes: for comparison only.

use super::c_float;
use crate::container::{Select, Unknown};
use crate::node::{Float, Real, Sink, Tree, TypeInfo};

/// A value as the tool dumps it, without the newline at the end. Of a whole file pass the contents.
///
/// ```
/// use klr::Contents;
/// assert_eq!(klr::print::sexp(&Contents::call_site("kernel.klr")), "(hlo (name kernel.klr))");
/// ```
#[must_use]
pub fn sexp(value: &dyn Tree<'_>) -> String {
    let mut printer = Printer::default();
    value.emit(&mut printer);
    printer.text
}

#[derive(Clone, Copy)]
enum Frame {
    /// Fields are separated by blanks; how many were there.
    Fields {
        count: usize,
    },
    Items {
        count: usize,
    },
    Bare,
}

#[derive(Default)]
struct Printer {
    text: String,
    frames: Vec<Frame>,
    /// A field or a present option is to be closed after the value.
    open: Vec<Open>,
}

/// What a value is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A record, union or list.
    Value,
    /// `(name`
    Field,
    /// `(` of an option
    Some,
}

impl Printer {
    fn start(&mut self, frame: Frame) {
        self.frames.push(frame);
        self.open.push(Open::Value);
    }

    /// A value has ended: so have the options and the field around it.
    fn end(&mut self) {
        while let Some(Open::Field | Open::Some) = self.open.last() {
            self.open.pop();
            self.text.push(')');
        }
    }

    fn finish(&mut self) {
        self.open.pop();
        if !matches!(self.frames.pop(), Some(Frame::Bare)) {
            self.text.push(')');
        }
        self.end();
    }

    fn atom(&mut self, text: &str) {
        self.text.push_str(text);
        self.end();
    }

    fn ctor(&mut self, name: &str, fields: bool) {
        if fields {
            self.text.push('(');
            self.text.push_str(name);
            self.start(Frame::Fields { count: 1 });
        } else {
            self.text.push_str(name);
            self.start(Frame::Bare);
        }
    }
}

impl Sink for Printer {
    fn record(&mut self, _ty: &'static TypeInfo, _head: bool) {
        self.text.push('(');
        self.start(Frame::Fields { count: 0 });
    }

    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        let ctor = &ty.ctors[ctor];
        self.ctor(ctor.name, ctor.arity > 0);
    }

    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.atom(ty.ctors[ctor].name);
    }

    fn close(&mut self) {
        self.finish();
    }

    fn field(&mut self, name: &'static str) {
        if let Some(Frame::Fields { count }) = self.frames.last_mut() {
            if *count > 0 {
                self.text.push(' ');
            }
            *count += 1;
        }
        self.text.push('(');
        self.text.push_str(name);
        self.text.push(' ');
        self.open.push(Open::Field);
    }

    fn nat(&mut self, value: u64) {
        self.atom(&value.to_string());
    }

    fn int(&mut self, value: i64) {
        self.atom(&value.to_string());
    }

    fn float(&mut self, value: Float) {
        self.real(Real::F32(value));
    }

    fn real(&mut self, value: Real) {
        let value = value.value();
        if value.is_nan() {
            self.atom("NaN");
        } else {
            self.atom(&c_float(value));
        }
    }

    fn boolean(&mut self, value: bool) {
        self.atom(if value { "true" } else { "false" });
    }

    fn text(&mut self, value: &str) {
        self.atom(value);
    }

    fn prop(&mut self) {
        self.end();
    }

    fn none(&mut self) {
        self.atom("()");
    }

    fn some(&mut self) {
        self.text.push('(');
        self.open.push(Open::Some);
    }

    fn list(&mut self, _len: usize) {
        self.text.push('(');
        self.start(Frame::Items { count: 0 });
    }

    fn pair(&mut self) {
        self.list(2);
    }

    fn item(&mut self, _index: usize) {
        if let Some(Frame::Items { count }) = self.frames.last_mut() {
            if *count > 0 {
                self.text.push(' ');
            }
            *count += 1;
        }
    }

    fn end_list(&mut self) {
        self.finish();
    }

    fn select(&mut self, row: &'static Select) {
        self.ctor(row.contents, true);
    }

    fn unknown(&mut self, _value: &Unknown<'_>) {
        self.atom("unknown");
    }
}
