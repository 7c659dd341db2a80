//! The checks that need no context: the sink that looks at every value.

use super::{ACCUMULATE, CONDITION, DYNAMIC, Finding, IMMEDIATE_FORM, NUL, Rule, SCHEMA, TENSOR_FORM, WIDTH};
use crate::checks::Checked;
use crate::container::{Select, Unknown};
use crate::node::{Float, Real, Sink, TypeInfo};
use crate::path::Path;
use crate::{Schema, SchemaUse};

/// Walks values and reports what is wrong with them.
pub(super) struct Walk<'f> {
    found: &'f mut dyn FnMut(Finding),
    /// Path of the value that is walked.
    base: String,
    path: Path,
    field: &'static str,
    /// Report forms that the lowering refuses.
    pub(super) forms: bool,
    /// Report dynamic accesses.
    pub(super) refuse_dynamic: bool,
    uses: SchemaUse,
}

impl<'f> Walk<'f> {
    pub(super) fn new(found: &'f mut dyn FnMut(Finding)) -> Self {
        Walk {
            found,
            base: String::new(),
            path: Path::default(),
            field: "",
            forms: false,
            refuse_dynamic: false,
            uses: SchemaUse::Either,
        }
    }

    /// The next value walked is at this path.
    pub(super) fn at(&mut self, base: &str) {
        self.base = base.to_string();
        self.path = Path::default();
    }

    /// Reports something about the value at hand.
    pub(super) fn report(&mut self, rule: &'static Rule, message: String) {
        let inner = self.path.to_string();
        let dot = if inner.is_empty() || self.base.is_empty() || inner.starts_with('[') { "" } else { "." };
        let path = format!("{}{dot}{inner}", self.base);
        (self.found)(Finding { rule, path, message });
    }

    pub(super) fn finish(&mut self) {
        if self.uses == SchemaUse::Mixed {
            self.report(&SCHEMA, "records of schemas 2.24 and head are mixed".to_string());
        }
    }

    fn form(&mut self, ty: &TypeInfo, ctor: &str) {
        let rule = match (ty.name, ctor) {
            ("TensorRef", "sbuf" | "psum" | "reg") | ("Access", "basic" | "pattern") => &TENSOR_FORM,
            ("Immediate", "reg" | "pointer") => &IMMEDIATE_FORM,
            ("AccumCmd", "LoadAccumulate") => &ACCUMULATE,
            _ => return,
        };
        self.report(rule, format!("{} {ctor} is not lowered", ty.name));
    }
}

impl Sink for Walk<'_> {
    fn record(&mut self, ty: &'static TypeInfo, head: bool) {
        if !ty.ctors[0].added.is_empty() {
            self.uses = self.uses.and(if head { Schema::Head } else { Schema::V2_24 });
        }
        self.path.record();
    }

    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        if self.forms {
            self.form(ty, ty.ctors[ctor].name);
        }
        self.path.union(ty.ctors[ctor].name);
    }

    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        if self.forms {
            self.form(ty, ty.ctors[ctor].name);
        }
    }

    fn close(&mut self) {
        self.path.close();
    }

    fn field(&mut self, name: &'static str) {
        self.field = name;
        self.path.field(name);
    }

    fn nat(&mut self, value: u64) {
        if value > u64::from(u32::MAX) {
            let kept = value & u64::from(u32::MAX);
            self.report(&WIDTH, format!("{value} does not fit 32 bits; the consumer reads {kept}"));
        }
    }

    fn int(&mut self, value: i64) {
        if i32::try_from(value).is_err() {
            let kept = value as i32;
            self.report(&WIDTH, format!("{value} does not fit 32 bits; the consumer reads {kept}"));
        }
    }

    fn float(&mut self, _value: Float) {}

    fn real(&mut self, _value: Real) {}

    fn boolean(&mut self, _value: bool) {}

    fn text(&mut self, value: &str) {
        if let Some((kept, _)) = value.split_once('\0') {
            self.report(&NUL, format!("the string {value:?} holds a NUL; the consumer reads {kept:?}"));
        }
    }

    fn prop(&mut self) {}

    fn none(&mut self) {}

    fn some(&mut self) {
        if self.refuse_dynamic && matches!(self.field, "scalarOffset" | "vectorOffset") {
            self.report(&DYNAMIC, "a dynamic access is not allowed in this operator".to_string());
        }
    }

    fn list(&mut self, _len: usize) {
        self.path.list();
    }

    fn pair(&mut self) {
        self.path.list();
    }

    fn item(&mut self, index: usize) {
        self.path.item(index);
    }

    fn end_list(&mut self) {
        self.path.close();
    }

    fn select(&mut self, row: &'static Select) {
        self.path.union(row.contents);
    }

    fn unknown(&mut self, _value: &Unknown<'_>) {}

    fn checked(&mut self, value: Checked<'_>) -> bool {
        value.broken(&mut |condition| self.report(&CONDITION, condition.to_string()));
        false
    }
}
