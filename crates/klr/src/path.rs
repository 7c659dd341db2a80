//! Where in a value we are: `bodies[0][2].body[7].oper.op.tensorTensor.op.dst`.

use std::fmt;

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A record or an untouched list.
    Start,
    Field(&'static str),
    /// A constructor of a union.
    Ctor(&'static str),
    CtorField(&'static str, &'static str),
    Index(usize),
}

/// A path, kept while a value is walked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<Step>,
}

impl Path {
    pub(crate) fn record(&mut self) {
        self.steps.push(Step::Start);
    }

    pub(crate) fn union(&mut self, ctor: &'static str) {
        self.steps.push(Step::Ctor(ctor));
    }

    pub(crate) fn list(&mut self) {
        self.steps.push(Step::Start);
    }

    pub(crate) fn field(&mut self, name: &'static str) {
        if let Some(last) = self.steps.last_mut() {
            *last = match *last {
                Step::Ctor(ctor) | Step::CtorField(ctor, _) => Step::CtorField(ctor, name),
                Step::Start | Step::Field(_) | Step::Index(_) => Step::Field(name),
            };
        }
    }

    /// The record or union as a whole, after its fields.
    pub(crate) fn whole(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            *last = match *last {
                Step::Ctor(ctor) | Step::CtorField(ctor, _) => Step::Ctor(ctor),
                Step::Start | Step::Field(_) | Step::Index(_) => Step::Start,
            };
        }
    }

    pub(crate) fn item(&mut self, index: usize) {
        if let Some(last) = self.steps.last_mut() {
            *last = Step::Index(index);
        }
    }

    pub(crate) fn close(&mut self) {
        self.steps.pop();
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dot = "";
        for step in &self.steps {
            match step {
                Step::Start => continue,
                Step::Field(name) | Step::Ctor(name) => write!(f, "{dot}{name}")?,
                Step::CtorField(ctor, name) => write!(f, "{dot}{ctor}.{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
            dot = ".";
        }
        Ok(())
    }
}
