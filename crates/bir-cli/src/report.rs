//! What the program tells people on standard error: faults with their place, warnings, notes.

use std::env;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use bir_json::{Oddities, OddityKind, Place, Places, ReadError};
use bir_view::Paint;

/// Options of every command.
#[derive(clap::Args)]
pub(crate) struct GlobalOpts {
    /// Form of the output
    #[arg(long, global = true, value_enum, default_value = "text", help_heading = "Global options")]
    format: Form,
    /// Colours in messages and text
    #[arg(long, global = true, value_enum, default_value = "auto", help_heading = "Global options")]
    color: When,
    /// Say nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    quiet: bool,
    /// Say more: every oddity of a document rather than their number
    #[arg(short, long, global = true, help_heading = "Global options")]
    verbose: bool,
}

/// Form of the output of most commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs; the form is stable.
    Json,
}

/// Form of the output of any command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs; the form is stable.
    Json,
    /// SARIF 2.1.0, for editors and code hosts; of commands that check.
    Sarif,
}

/// How a word is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Error,
    Warning,
    Note,
    Frame,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum When {
    /// On a terminal, when NO_COLOR is not set.
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// How the program was asked to speak.
pub(crate) struct Context {
    pub(crate) format: Format,
    form: Form,
    verbosity: Verbosity,
    color: bool,
    /// Of the output; `None` when that depends on where it goes.
    color_output: Option<bool>,
}

pub(crate) type Result<T, E = Box<Fault>> = std::result::Result<T, E>;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Fault {
    message: String,
    at: Option<Spot>,
    notes: Vec<String>,
    closed_pipe: bool,
}

/// A place in a file, with the line to show.
#[derive(Debug)]
struct Spot {
    file: String,
    at: At,
    /// Way to the value in the document; empty for the document as a whole.
    path: String,
    excerpt: Option<Excerpt>,
}

/// Where in a file.
#[derive(Debug)]
enum At {
    /// Line and column, both from 1.
    Text { line: usize, column: usize },
    /// Byte, and the byte at which the excerpt starts.
    Byte { at: usize, start: usize },
    /// Not known, or of no use.
    Somewhere,
}

/// A part of a line, and the column of the place in it, from 0.
#[derive(Debug)]
struct Excerpt {
    text: String,
    column: usize,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { message: message.into(), at: None, notes: Vec::new(), closed_pipe: false })
    }

    /// Something that the system refused to do with a file.
    pub(crate) fn io(what: &str, file: &str, error: &io::Error) -> Box<Fault> {
        let mut fault = Fault::new(format!("cannot {what} {file}: {error}"));
        fault.closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        fault
    }

    /// A text that is wrong at a byte.
    pub(crate) fn in_text(file: &str, text: &[u8], offset: usize, message: impl Into<String>) -> Box<Fault> {
        let mut fault = Fault::new(message);
        fault.at = Some(Spot::of(file, text, offset));
        fault
    }

    /// Binary data that is wrong at a byte; `path` leads to the value that it belongs to.
    pub(crate) fn in_bytes(
        file: &str,
        bytes: &[u8],
        offset: usize,
        path: &str,
        message: impl Into<String>,
    ) -> Box<Fault> {
        let mut fault = Fault::new(message);
        fault.at = Some(Spot::of_bytes(file, bytes, offset, path));
        fault
    }

    /// Something that is wrong with a value of a file, wherever its bytes are.
    pub(crate) fn in_value(mut self: Box<Self>, file: &str, path: &str) -> Box<Fault> {
        self.at =
            Some(Spot { file: file.to_owned(), at: At::Somewhere, path: path.to_owned(), excerpt: None });
        self
    }

    /// Says the way to the value, where the reader knows it better than a look at the text does.
    pub(crate) fn at_path(mut self: Box<Self>, path: &str) -> Box<Fault> {
        if let Some(spot) = &mut self.at {
            path.clone_into(&mut spot.path);
        }
        self
    }

    /// A document that cannot be read.
    pub(crate) fn read(file: &str, text: &[u8], error: &ReadError) -> Box<Fault> {
        let mut fault = Fault::new(error.kind.to_string());
        fault.at = Some(Spot::of(file, text, error.offset));
        fault
    }

    /// A line of a text that is not what it should be; `column` counts characters from 1.
    pub(crate) fn line(file: &str, line: usize, column: usize, text: &str, message: String) -> Box<Fault> {
        let mut fault = Fault::new(message);
        let shown = printable(text.as_bytes());
        let start = (column - 1).saturating_sub(AROUND).min(shown.len());
        let text: String = shown[start..].iter().take(2 * AROUND).collect();
        let excerpt = Some(Excerpt { text, column: column - 1 - start });
        let at = At::Text { line, column };
        fault.at = Some(Spot { file: file.to_owned(), at, path: String::new(), excerpt });
        fault
    }

    /// A text that is not what it should be from `offset` on; `expected` is the line that should stand there, the
    /// same up to `column`.
    pub(crate) fn differs(
        file: &str,
        text: &[u8],
        offset: usize,
        message: &str,
        column: usize,
        expected: &[u8],
    ) -> Box<Fault> {
        let mut fault = Fault::new(message);
        fault.at = Some(Spot::of(file, text, offset));
        let newline = expected[column..].iter().position(|&b| b == b'\n').map(|at| at + column);
        let (before, after) = (&expected[..column], &expected[column..newline.unwrap_or(expected.len())]);
        let (before, after) = (printable(before), printable(after));
        let cut = before.len().saturating_sub(AROUND);
        let line: String = before[cut..].iter().chain(after.iter().take(AROUND)).collect();
        fault.note(match (line.trim().is_empty(), newline, offset >= text.len()) {
            (true, None, _) => "the canonical form ends here".to_owned(),
            (true, Some(_), true) => "the canonical form ends with a newline".to_owned(),
            (_, Some(_), true) if after.is_empty() => "the canonical form ends with a newline".to_owned(),
            _ => format!("expected: {}", line.trim()),
        })
    }

    pub(crate) fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Fault> {
        self.notes.push(note.into());
        self
    }

    /// Whether the reader of the output went away: no reason to say anything.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }
}

/// Characters of a long line that are shown on each side of a place.
const AROUND: usize = 60;

impl Spot {
    fn of(file: &str, text: &[u8], offset: usize) -> Spot {
        let offset = offset.min(text.len());
        // Dumps may be one line of gigabytes: no more is looked at than may be shown.
        let start = text[..offset].iter().rev().take(4 * AROUND).position(|&b| b == b'\n');
        let start = start.map_or(offset.saturating_sub(4 * AROUND), |back| offset - back);
        let before: Vec<char> = printable(&text[start..offset]);
        let after: Vec<char> = {
            let line = &text[offset..text.len().min(offset + 4 * AROUND)];
            printable(line.split(|&b| b == b'\n').next().unwrap_or(line))
        };
        let cut = before.len().saturating_sub(AROUND);
        let shown: String = before[cut..].iter().chain(after.iter().take(AROUND)).collect();
        let blanks = shown.chars().take_while(|c| *c == ' ').count().min(before.len() - cut);
        let excerpt = Excerpt {
            text: shown.chars().skip(blanks).collect::<String>().trim_end().to_owned(),
            column: before.len() - cut - blanks,
        };
        let excerpt = Some(excerpt).filter(|excerpt| !excerpt.text.is_empty());
        let Place { line, column, path } = Place::of(text, offset);
        Spot { file: file.to_owned(), at: At::Text { line, column }, path, excerpt }
    }

    fn of_bytes(file: &str, bytes: &[u8], offset: usize, path: &str) -> Spot {
        /// Bytes that are shown on each side of a place.
        const BESIDE: usize = 8;
        let offset = offset.min(bytes.len());
        let start = offset.saturating_sub(BESIDE);
        let shown = &bytes[start..bytes.len().min(offset + BESIDE)];
        let text = shown.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ");
        let excerpt = Some(Excerpt { text, column: 3 * (offset - start) });
        let excerpt = excerpt.filter(|excerpt| !excerpt.text.is_empty());
        Spot { file: file.to_owned(), at: At::Byte { at: offset, start }, path: path.to_owned(), excerpt }
    }
}

/// Text from a document or the system as a message may show it: nothing that moves a cursor, and no names of a
/// megabyte.
pub(crate) fn clean(text: &str) -> String {
    const SHOWN: usize = 400;
    const EACH_END: usize = 120;
    let chars = printable(text.as_bytes());
    if chars.len() <= SHOWN {
        return chars.into_iter().collect();
    }
    let (start, end) = (&chars[..EACH_END], &chars[chars.len() - EACH_END..]);
    start.iter().chain(&[' ', '.', '.', '.', ' ']).chain(end).collect()
}

/// Text that leaves a terminal as it is.
fn printable(bytes: &[u8]) -> Vec<char> {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| {
            if c == '\t' {
                ' '
            } else if c.is_control() {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const FRAME: Style = AnsiColor::Blue.on_default().bold();

impl Context {
    pub(crate) fn new(opts: &GlobalOpts) -> Context {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let may = !set("NO_COLOR") && !dumb;
        let (color, color_output) = match opts.color {
            When::Always => (true, Some(true)),
            When::Never => (false, Some(false)),
            When::Auto => (may && io::stderr().is_terminal(), (!may).then_some(false)),
        };
        let format = if opts.format == Form::Text { Format::Text } else { Format::Json };
        let verbosity = match (opts.quiet, opts.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Context { format, form: opts.format, verbosity, color, color_output }
    }

    /// The form of the output that was asked for.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// A word of the output, coloured.
    pub(crate) fn out(&self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Error => ERROR,
            Tone::Warning => WARNING,
            Tone::Note => NOTE,
            Tone::Frame => FRAME,
        };
        let color = self.color_output.unwrap_or_else(|| io::stdout().is_terminal());
        if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Whether output is coloured.
    pub(crate) fn colors(&self, terminal: bool) -> bool {
        self.color_output.unwrap_or(terminal)
    }

    /// How the text of a command may look, on a terminal or elsewhere.
    pub(crate) fn paint(&self, terminal: bool) -> Paint {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
        let utf8 = locale.is_some_and(|name| name.to_lowercase().replace('-', "").ends_with("utf8"));
        Paint { color: self.color_output.unwrap_or(terminal), unicode: terminal && utf8 }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// Says what went wrong.
    pub(crate) fn error(&self, fault: &Fault) {
        let mut text = self.styled(ERROR, "error:") + " " + &clean(&fault.message) + "\n";
        if let Some(Spot { file, at, path, excerpt }) = &fault.at {
            let (place, number) = match at {
                At::Text { line, column } => (format!(":{line}:{column}"), line.to_string()),
                At::Byte { at, start } => (format!(", byte {at}"), start.to_string()),
                At::Somewhere => (String::new(), " ".to_owned()),
            };
            let margin = " ".repeat(number.len());
            let (arrow, bar) = (self.styled(FRAME, "-->"), self.styled(FRAME, "|"));
            let _ = writeln!(text, "{margin} {arrow} {}{place}", clean(file));
            if let Some(Excerpt { text: line, column }) = excerpt {
                let number = self.styled(FRAME, &number);
                let caret = self.styled(ERROR, "^");
                let _ = writeln!(text, "{margin} {bar}\n{number} {bar} {line}");
                let _ = writeln!(text, "{margin} {bar} {}{caret}", " ".repeat(*column));
            }
            if !path.is_empty() {
                let _ = writeln!(text, "{margin} {} at {}", self.styled(FRAME, "="), clean(path));
            }
        }
        for note in &fault.notes {
            let _ = writeln!(text, "{} {}", self.styled(NOTE, "note:"), clean(note));
        }
        say(&text);
    }

    /// Says what was odd about a document: one line for each kind, or with `-v` one for each oddity as well.
    /// `dropped`: unknown members are not in the output.
    pub(crate) fn oddities(&self, file: &str, text: &[u8], oddities: &Oddities, dropped: bool) {
        if self.is_quiet() {
            return;
        }
        let mut kept: Vec<_> = oddities.iter().collect();
        kept.sort_by_key(|oddity| oddity.offset);
        let mut places = Places::new(text);
        let mut said = String::new();
        let mut firsts: [Option<String>; OddityKind::ALL.len()] = Default::default();
        for oddity in kept {
            let first = &mut firsts[oddity.kind as usize];
            if first.is_some() && !self.is_verbose() {
                continue;
            }
            let place = Located { file, place: &places.of(oddity.offset) };
            if self.is_verbose() {
                let _ = writeln!(said, "{} {place}: {}", self.styled(NOTE, "note:"), clean(&oddity.message));
            }
            first.get_or_insert_with(|| format!("{place}: {}", clean(&oddity.message)));
        }
        for kind in OddityKind::ALL {
            let count = oddities.count(kind);
            let Some(first) = &firsts[kind as usize] else { continue };
            let label = match kind.is_strict_error() {
                true => self.styled(WARNING, "warning:"),
                false => self.styled(NOTE, "note:"),
            };
            let fate = match kind {
                OddityKind::UnknownMember | OddityKind::Misfit if dropped => ", dropped",
                OddityKind::UnknownMember | OddityKind::Misfit => ", kept",
                _ => "",
            };
            let what = if count == 1 { singular(kind) } else { kind.plural() };
            let _ = writeln!(said, "{label} {count} {what}{fate}; first at {first}");
        }
        say(&said);
    }

    /// Says something that matters, but is no fault.
    pub(crate) fn hint(&self, text: &str) {
        if !self.is_quiet() {
            say(&format!("{} {text}\n", self.styled(NOTE, "note:")));
        }
    }

    /// Says what is odd about a package: warnings, with `-v` notes as well.
    pub(crate) fn findings(&self, file: &str, findings: &[neff::Finding]) {
        let least = if self.is_verbose() { neff::Severity::Note } else { neff::Severity::Warning };
        let mut said = String::new();
        for finding in findings.iter().filter(|finding| !self.is_quiet() && finding.severity >= least) {
            let label = match finding.severity {
                neff::Severity::Note => self.styled(NOTE, "note:"),
                _ => self.styled(WARNING, "warning:"),
            };
            let member = finding.member.as_ref().map_or(String::new(), |member| format!("{member}: "));
            let text = format!("{member}{} [{}]", finding.message, finding.code);
            let _ = writeln!(said, "{label} {}: {}", clean(file), clean(&text));
        }
        say(&said);
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Nothing in a module has a name that was asked for.
pub(crate) fn not_found(file: &str, what: &str, module: &bir::Module, name: &str) -> Box<Fault> {
    let fault = Fault::new(format!("{file} has no {what} called `{name}`"));
    match &bir_view::find::suggestions(module, name)[..] {
        [] => fault,
        near => fault.note(format!("near it: {}", near.join(", "))),
    }
}

/// A place on one line: `FILE:LINE:COLUMN (PATH)`.
struct Located<'a> {
    file: &'a str,
    place: &'a Place,
}

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", clean(self.file), self.place.line, self.place.column)?;
        if !self.place.path.is_empty() {
            write!(f, " ({})", clean(&self.place.path))?;
        }
        Ok(())
    }
}

fn singular(kind: OddityKind) -> &'static str {
    match kind {
        OddityKind::UnknownMember => "unknown member",
        OddityKind::Misfit => "value that does not fit the type of its key",
        OddityKind::UnknownName => "unknown enum name",
        OddityKind::MisplacedNull => "misplaced null (DOC-01)",
        OddityKind::DuplicateKey => "duplicate key",
        OddityKind::NameCollision => "name collision",
        OddityKind::MissingKey => "missing required key",
        OddityKind::LegacyForm => "older form",
        OddityKind::MovedImmediate => "immediate moved to the inputs",
        OddityKind::Unresolved => "unresolved name",
        OddityKind::UnknownAxis => "unknown loop axis",
        OddityKind::BadAlias => "alias outside DRAM",
        other => other.plural(),
    }
}

fn say(text: &str) {
    // Nobody can be told that standard error is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}
