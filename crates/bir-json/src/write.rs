//! The canonical writer. spec: bir-json 13, 14

mod codec;
mod expr;
mod header;
mod object;
mod out;
mod parallel;
mod templates;
mod texts;

use std::io;

use bir::Module;

pub(crate) use codec::{Write, WriteRecord};
pub(crate) use object::Object;
pub(crate) use out::{Key, Out};

/// A member name known at compile time.
macro_rules! key {
    ($name:literal) => {
        const { &$crate::write::Key::new($name) }
    };
}
pub(crate) use key;

/// Layout of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Two blanks a level, one element a line: the canonical form.
    #[default]
    Indented,
    /// No white space at all.
    Compact,
}

/// What to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Layout of the text.
    pub style: Style,
    /// Leave out the members that the tables do not know, as the reference does.
    pub drop_unknown: bool,
    /// Write `{"module": ...}` around the module.
    pub wrap: bool,
    /// Threads that may write at once, the caller's included; 0 is as good as 1. The text does not depend on it.
    pub threads: usize,
}

/// The module that is written, where to, and how.
pub(crate) struct Writer<'a, 'w> {
    pub(crate) out: Out<'w>,
    pub(crate) module: &'a Module,
    pub(crate) drop_unknown: bool,
    texts: texts::Texts,
    templates: templates::Templates,
    recording: templates::Recording,
    threads: usize,
}

impl<'a, 'w> Writer<'a, 'w> {
    fn new(module: &'a Module, sink: &'w mut dyn io::Write, options: &WriteOptions) -> Writer<'a, 'w> {
        let WriteOptions { style, drop_unknown, threads, .. } = *options;
        Writer {
            out: Out::new(sink, style),
            module,
            drop_unknown,
            texts: Default::default(),
            templates: Default::default(),
            recording: Default::default(),
            threads,
        }
    }
}

/// Writes a module in canonical form, without a newline at the end.
///
/// # Errors
/// When the sink fails.
///
/// ```
/// use bir::{Module, enums::ArchLevel};
/// let mut text = Vec::new();
/// bir_json::write(&Module::new(ArchLevel::Gen3), &mut text, &Default::default()).unwrap();
/// assert_eq!(text, b"{\n  \"arch\": \"gen3\",\n  \"functions\": [],\n  \"version\": 2\n}");
/// ```
pub fn write(module: &Module, sink: &mut dyn io::Write, options: &WriteOptions) -> io::Result<()> {
    let mut writer = Writer::new(module, sink, options);
    if options.wrap {
        writer.out.open(b'{');
        writer.out.separate(true);
        writer.out.string("module");
        writer.out.colon();
    }
    writer.object(&module.root);
    if options.wrap {
        writer.out.close(b'}', false);
    }
    writer.out.finish()
}

/// An expression as a free-form value.
pub(crate) fn expr_value(module: &Module, id: bir::ids::ExprId) -> bir::Value {
    let mut text = Vec::new();
    let options = WriteOptions { style: Style::Compact, ..WriteOptions::default() };
    let mut writer = Writer::new(module, &mut text, &options);
    writer.expr(id);
    writer.out.finish().expect("writing to memory does not fail");
    crate::value::parse_value(&text).expect("the writer gives JSON")
}

/// Writes a module in canonical form to a string.
pub fn to_string(module: &Module, options: &WriteOptions) -> String {
    let mut text = Vec::new();
    write(module, &mut text, options).expect("writing to memory does not fail");
    String::from_utf8(text).expect("the writer gives UTF-8")
}
