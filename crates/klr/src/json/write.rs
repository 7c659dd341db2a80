//! Writes the JSON form.

use crate::container::{Select, Unknown};
use crate::node::{Float, Real, Sink, TypeInfo};
use crate::text::Text;

/// What a bracket that was opened needs to be closed.
#[derive(Clone, Copy)]
enum Frame {
    Object,
    /// `{"ctor": {`
    Nested,
    /// A constructor without fields, written as a string.
    Bare,
    Array,
}

/// A sink that writes JSON.
pub(super) struct Writer<'w> {
    pub(super) text: Text<'w>,
    pretty: bool,
    frames: Vec<Frame>,
    /// Levels of indentation; a nested object has two.
    level: usize,
    /// Nothing was written since the innermost bracket was opened.
    empty: bool,
    /// The member whose value comes next.
    member: Option<&'static str>,
}

impl<'w> Writer<'w> {
    pub(super) fn new(text: Text<'w>, pretty: bool) -> Self {
        Writer { text, pretty, frames: Vec::new(), level: 0, empty: true, member: None }
    }

    fn newline(&mut self) {
        if self.pretty {
            self.text.push("\n");
            self.text.spaces(2 * self.level);
        }
    }

    /// Starts a member or an element.
    fn lead(&mut self) {
        if let Some(member) = self.member.take() {
            self.key(member);
        }
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.text.push(",");
        }
        self.newline();
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.string(key);
        self.text.push(if self.pretty { ": " } else { ":" });
    }

    fn open(&mut self, bracket: &str) {
        self.text.push(bracket);
        self.level += 1;
        self.empty = true;
    }

    fn shut(&mut self, bracket: &str) {
        self.level -= 1;
        if !std::mem::take(&mut self.empty) {
            self.newline();
        }
        self.empty = false;
        self.text.push(bracket);
    }

    fn plain(&mut self, value: std::fmt::Arguments<'_>) {
        self.lead();
        self.text.format(value);
    }

    fn string(&mut self, value: &str) {
        self.text.push("\"");
        let mut rest = value;
        while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
            let (plain, special) = rest.split_at(at);
            self.text.push(plain);
            match special.as_bytes()[0] {
                b'"' => self.text.push("\\\""),
                b'\\' => self.text.push("\\\\"),
                b'\n' => self.text.push("\\n"),
                b'\r' => self.text.push("\\r"),
                b'\t' => self.text.push("\\t"),
                other => self.text.format(format_args!("\\u{other:04x}")),
            }
            rest = &special[1..];
        }
        self.text.push(rest);
        self.text.push("\"");
    }
}

impl Sink for Writer<'_> {
    fn record(&mut self, _ty: &'static TypeInfo, _head: bool) {
        self.lead();
        self.open("{");
        self.frames.push(Frame::Object);
    }

    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.lead();
        let ctor = &ty.ctors[ctor];
        if ctor.arity == 0 {
            self.string(ctor.name);
            self.frames.push(Frame::Bare);
        } else {
            self.open("{");
            self.key(ctor.name);
            self.open("{");
            self.frames.push(Frame::Nested);
        }
    }

    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.lead();
        self.string(ty.ctors[ctor].name);
    }

    fn close(&mut self) {
        match self.frames.pop() {
            Some(Frame::Object) => self.shut("}"),
            Some(Frame::Nested) => {
                self.shut("}");
                self.shut("}");
            }
            Some(Frame::Bare | Frame::Array) | None => {}
        }
    }

    fn field(&mut self, name: &'static str) {
        self.member = Some(name);
    }

    fn nat(&mut self, value: u64) {
        self.plain(format_args!("{value}"));
    }

    fn int(&mut self, value: i64) {
        self.plain(format_args!("{value}"));
    }

    fn float(&mut self, value: Float) {
        let number = value.value();
        if number.is_finite() {
            self.plain(format_args!("{number:?}"));
        } else if !number.is_nan() {
            self.plain(format_args!("\"{number}\""));
        } else if value.bits == f32::NAN.to_bits() {
            self.plain(format_args!("\"nan\""));
        } else {
            self.plain(format_args!("\"nan:{:08X}\"", value.bits));
        }
    }

    fn real(&mut self, value: Real) {
        self.lead();
        self.open("{");
        match value {
            Real::F32(value) => {
                self.key("f32");
                self.float(value);
            }
            Real::F64(bits) => {
                self.key("f64");
                let number = f64::from_bits(bits);
                if number.is_finite() {
                    self.plain(format_args!("{number:?}"));
                } else if !number.is_nan() {
                    self.plain(format_args!("\"{number}\""));
                } else if bits == f64::NAN.to_bits() {
                    self.plain(format_args!("\"nan\""));
                } else {
                    self.plain(format_args!("\"nan:{bits:016X}\""));
                }
            }
        }
        self.shut("}");
    }

    fn boolean(&mut self, value: bool) {
        self.plain(format_args!("{value}"));
    }

    fn text(&mut self, value: &str) {
        self.lead();
        self.string(value);
    }

    fn prop(&mut self) {
        self.member = None;
    }

    fn none(&mut self) {
        self.plain(format_args!("null"));
    }

    fn some(&mut self) {}

    fn list(&mut self, _len: usize) {
        self.lead();
        self.open("[");
        self.frames.push(Frame::Array);
    }

    fn pair(&mut self) {
        self.list(2);
    }

    fn item(&mut self, _index: usize) {
        self.separate();
    }

    fn end_list(&mut self) {
        self.frames.pop();
        self.shut("]");
    }

    fn select(&mut self, row: &'static Select) {
        self.lead();
        self.open("{");
        self.key("schema");
        self.string(row.schema);
        self.key(row.contents);
        self.open("{");
        self.frames.push(Frame::Nested);
    }

    fn unknown(&mut self, value: &Unknown<'_>) {
        self.lead();
        self.open("{");
        self.key("unknown");
        self.open("{");
        self.key("lo");
        self.text.format(format_args!("{}", value.lo));
        self.key("payload");
        self.text.push("\"");
        for byte in value.payload {
            self.text.format(format_args!("{byte:02x}"));
        }
        self.text.push("\"");
        self.shut("}");
        self.shut("}");
    }
}
