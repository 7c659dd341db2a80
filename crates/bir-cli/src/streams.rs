//! Instruction streams as they come from files, folders and packages, with what is known about each of their words.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Cursor, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bir::Module;
use bir::ids::InstId;
use bir_encode::Program;
use flate2::read::MultiGzDecoder;
use tpb_isa::{Engine, Generation, Opcode, StreamWord, Word};

use crate::input::{Input, Kind};
use crate::package;
use crate::report::{Context, Fault, Result};

/// The words of one engine, not yet read.
pub(crate) struct Stream {
    /// What JSON calls it: the engine, or the stem of the file.
    pub(crate) name: String,
    /// The engine, where the input says it.
    pub(crate) engine: Option<Engine>,
    /// What messages call it.
    pub(crate) file: String,
    /// The generation, where the input says it.
    pub(crate) generation: Option<Generation>,
    pub(crate) bytes: Bytes,
    pub(crate) annotations: Box<dyn Annotations>,
}

/// The bytes of a stream. It keeps the reason why reading failed, so that it is not taken for a failure of writing.
pub(crate) struct Bytes {
    reader: Box<dyn Read>,
    failed: Option<String>,
}

impl Bytes {
    pub(crate) fn new(reader: Box<dyn Read>) -> Bytes {
        Bytes { reader, failed: None }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed = Some(error.to_string());
        }
        read
    }
}

impl Stream {
    /// Why the stream could not be read to its end, if it could not.
    pub(crate) fn fault(&self) -> Option<Box<Fault>> {
        self.bytes.failed.as_ref().map(|reason| Fault::new(format!("cannot read {}: {reason}", self.file)))
    }
}

/// What is known about the words of a stream beside their bytes: from an index, from debug data.
pub(crate) trait Annotations {
    /// What is known about a word. Words are asked for in order.
    fn of(&mut self, word: &StreamWord) -> Annotation<'_>;
}

/// What is known about a word.
#[derive(Clone, Copy, Default)]
pub(crate) struct Annotation<'a> {
    /// The BIR instruction it belongs to.
    pub(crate) instruction: Option<&'a str>,
    /// The source line, as `file:line`.
    pub(crate) source: Option<&'a str>,
    /// Anything else worth a comment.
    pub(crate) note: Option<&'a str>,
}

/// Nothing is known.
pub(crate) struct Unknown;

impl Annotations for Unknown {
    fn of(&mut self, _: &StreamWord) -> Annotation<'_> {
        Annotation::default()
    }
}

/// Names and source lines from the module that the words were made of.
///
/// Unless an index says which instructions they are, the words are compared with those that the module gives. Two that
/// follow each other in both belong together when their opcodes are the same, since addresses and semaphores may have
/// been chosen anew; where one side has more words, the next that is the same in every byte is where both go on.
pub(crate) struct FromModule {
    /// What else is known.
    inner: Box<dyn Annotations>,
    by_name: Rc<HashMap<String, String>>,
    program: Rc<Program>,
    engine: Engine,
    /// The next word of the module.
    next: usize,
    /// Whether the last word had no counterpart.
    lost: bool,
    module: Rc<Module>,
    name: String,
    source: String,
}

impl FromModule {
    /// Adds what a module says to what is known about a stream of an engine.
    pub(crate) fn add(
        stream: &mut Stream,
        module: &Rc<Module>,
        program: &Rc<Program>,
        by_name: &Rc<HashMap<String, String>>,
    ) {
        let Some(engine) = stream.engine else { return };
        let inner = std::mem::replace(&mut stream.annotations, Box::new(Unknown));
        stream.annotations = Box::new(FromModule {
            inner,
            by_name: Rc::clone(by_name),
            program: Rc::clone(program),
            engine,
            next: 0,
            lost: false,
            module: Rc::clone(module),
            name: String::new(),
            source: String::new(),
        });
    }
}

/// Source lines of the instructions of a module, by name; of equal names, the first.
pub(crate) fn source_lines(module: &Module) -> HashMap<String, String> {
    let mut lines = HashMap::new();
    for id in module.insts() {
        if let Some(source) = source_line(module, id) {
            lines.entry(module.str(module[id].name).to_owned()).or_insert(source);
        }
    }
    lines
}

fn source_line(module: &Module, id: InstId) -> Option<String> {
    let debug = module[id].debug.as_deref()?;
    match (debug.lineno, debug.op_name) {
        (Some(line), Some(op)) => Some(format!("line {line} {}", module.str(op))),
        (Some(line), None) => Some(format!("line {line}")),
        (None, Some(op)) => Some(module.str(op).to_owned()),
        (None, None) => None,
    }
}

impl Annotations for FromModule {
    fn of(&mut self, word: &StreamWord) -> Annotation<'_> {
        let known = self.inner.of(word);
        let is_prologue =
            matches!(Opcode(word.word.opcode()), Opcode::SET_ORDERING_MODE | Opcode::PSEUDO_BRANCH_LABEL);
        if let Some(name) = known.instruction {
            let source = known.source.or_else(|| self.by_name.get(name).map(String::as_str));
            return Annotation { source, ..known };
        }
        if is_prologue && word.index < 2 {
            return known;
        }
        let made = self.program.stream(self.engine);
        let counterpart = counterpart(&made.words, self.next, &word.word, self.lost);
        self.lost = counterpart.is_none();
        self.next = counterpart.map_or(self.next, |at| at + 1);
        let Some(owner) = counterpart.and_then(|at| made.owners[at]) else { return known };
        self.name.clear();
        self.name.push_str(self.module.str(self.module[owner].name));
        self.source = source_line(&self.module, owner).unwrap_or_default();
        let source = Some(self.source.as_str()).filter(|source| !source.is_empty());
        Annotation { instruction: Some(&self.name), source, ..known }
    }
}

/// Words of the module that are looked at ahead: when the next has the opcode of the word, and when it has not.
const AHEAD: [usize; 2] = [16, 1024];

/// Which of the words that a module gives, from `next` on, a word is.
fn counterpart(made: &[Word], next: usize, word: &Word, lost: bool) -> Option<usize> {
    let left = made.get(next..)?;
    let is_same_kind = !lost && left.first().is_some_and(|first| first.opcode() == word.opcode());
    let ahead = &left[..left.len().min(AHEAD[usize::from(!is_same_kind)])];
    let equal = ahead.iter().position(|other| other == word);
    equal.or(is_same_kind.then_some(0)).map(|ahead| next + ahead)
}

/// The option of commands that must know the generation of words.
#[derive(clap::Args)]
pub(crate) struct TargetOpt {
    /// Target of the words, when the input does not say it: trn1, trn2, trn3, v2, v3, v4, or an arch name
    #[arg(long, value_name = "TARGET", value_parser = crate::target::GENERATION, hide_possible_values = true)]
    pub(crate) target: Option<Generation>,
}

/// Name of the file in a folder of streams that says which instruction each word belongs to.
pub(crate) const INDEX: &str = "index.json";

/// Opens what `path` names, or standard input: a stream, a folder of streams, or a package. `target` is what the user
/// says the words are for.
pub(crate) fn open(
    path: Option<&Path>,
    target: Option<Generation>,
    context: &Context,
) -> Result<Vec<Stream>> {
    let (name, reader): (String, Box<dyn Read>) = match path.filter(|path| *path != Path::new("-")) {
        None => {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                context.hint("reading from standard input; end it with Ctrl-D");
            }
            ("<stdin>".to_owned(), Box::new(stdin.lock()))
        }
        Some(path) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Fault::io("read", &name, &error))?;
            let facts = file.metadata().map_err(|error| Fault::io("read", &name, &error))?;
            if facts.is_dir() {
                return folder(path, &name);
            }
            (name, Box::new(file))
        }
    };
    let (start, reader) = peek(reader).map_err(|error| Fault::io("read", &name, &error))?;
    if package::begins_like_one(&start) {
        let input = match path.filter(|path| *path != Path::new("-")) {
            Some(path) => Input::package(Some(path), context)?,
            None => Input::held(name, reader)?,
        };
        return package::streams(&input, target, context);
    }
    let stem = path.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    Ok(vec![words(name, stem.as_deref(), reader)?])
}

/// The streams of a folder: files called after an engine, with `index.json` beside them; or those of the folders in it,
/// one for each core.
fn folder(path: &Path, name: &str) -> Result<Vec<Stream>> {
    let fault = |error: &io::Error| Fault::io("read", name, error);
    let mut folders = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| fault(&error))? {
        let entry = entry.map_err(|error| fault(&error))?;
        if entry.file_type().map_err(|error| fault(&error))?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    let mut streams = files(path, "")?;
    if streams.is_empty() {
        for core in folders {
            let prefix = core.file_name().map(|name| format!("{}/", name.to_string_lossy()));
            streams.extend(files(&core, &prefix.unwrap_or_default())?);
        }
    }
    if streams.is_empty() {
        let expected = "a folder of streams has files PE.bin, Activation.bin, Pool.bin, DVE.bin, SP.bin";
        return Err(Fault::new(format!("{name} holds no streams")).note(expected));
    }
    Ok(streams)
}

/// The streams that stand in a folder itself. `prefix` stands in front of their names.
fn files(path: &Path, prefix: &str) -> Result<Vec<Stream>> {
    let fault = |error: &io::Error| Fault::io("read", &path.display().to_string(), error);
    let mut files: Vec<(Engine, PathBuf)> = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| fault(&error))? {
        let path = entry.map_err(|error| fault(&error))?.path();
        let is_stream = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("bin"));
        let engine = path.file_stem().and_then(|stem| Engine::from_name(&stem.to_string_lossy()));
        if let (true, Some(engine)) = (is_stream, engine) {
            files.push((engine, path));
        }
    }
    files.sort();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut index = index(&path.join(INDEX))?;
    let mut streams = Vec::new();
    for (engine, path) in files {
        let file = path.display().to_string();
        let reader = File::open(&path).map_err(|error| Fault::io("read", &file, &error))?;
        let mut stream = words(file, Some(engine.name()), Box::new(reader))?;
        stream.name.insert_str(0, prefix);
        if let Some(names) = index.remove(&engine) {
            stream.annotations = Box::new(names);
        }
        streams.push(stream);
    }
    Ok(streams)
}

/// A stream from a reader of its bytes, which may be compressed.
fn words(file: String, stem: Option<&str>, reader: Box<dyn Read>) -> Result<Stream> {
    let (kind, bytes) = match sniff(reader).map_err(|error| Fault::io("read", &file, &error))? {
        (Kind::Compressed, bytes) => {
            let (start, bytes) = peek(bytes).map_err(|error| Fault::io("read", &file, &error))?;
            let inflated: Box<dyn Read> = if start.starts_with(&[0x1f, 0x8b]) {
                Box::new(MultiGzDecoder::new(bytes))
            } else {
                let decoder = zstd::stream::read::Decoder::new(bytes);
                Box::new(decoder.map_err(|error| Fault::io("decompress", &file, &error))?)
            };
            sniff(inflated).map_err(|error| Fault::io("decompress", &file, &error))?
        }
        plain => plain,
    };
    if !matches!(kind, Kind::Words | Kind::Binary) {
        let message = format!("{file} looks like {}, which this command does not read", kind.describe());
        return Err(
            Fault::new(message).note("expected a stream of 64-byte words, a folder of streams, or a package")
        );
    }
    let engine = stem.and_then(Engine::from_name);
    let name = engine.map_or_else(|| stem.unwrap_or("stream").to_owned(), |engine| engine.name().to_owned());
    let bytes = Bytes::new(bytes);
    Ok(Stream { name, engine, file, generation: None, bytes, annotations: Box::new(Unknown) })
}

/// Recognises what a reader gives, and gives it back whole.
fn sniff(reader: Box<dyn Read>) -> io::Result<(Kind, Box<dyn Read>)> {
    let (start, reader) = peek(reader)?;
    let kind = match Kind::of(&start) {
        // What has bytes that no text has are words, whatever they begin with.
        Kind::Json if start.is_empty() || !is_text(&start) => Kind::Words,
        kind => kind,
    };
    Ok((kind, reader))
}

/// Whether the start of a file is text.
fn is_text(start: &[u8]) -> bool {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // A character may go on behind the start.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\r' | '\n'))
}

/// The first bytes of a reader, and all of it.
fn peek(mut reader: Box<dyn Read>) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut start = Vec::new();
    (&mut reader).take(4096).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(Cursor::new(start).chain(reader))))
}

/// A line of `index.json`: the instruction that a word belongs to.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct IndexEntry<'a> {
    /// Stem of the stream's file.
    #[serde(borrow)]
    pub(crate) stream: Cow<'a, str>,
    /// Number of the word in the stream.
    pub(crate) index: u64,
    /// Name of the instruction; `null` for words that belong to none.
    pub(crate) instruction: Option<Cow<'a, str>>,
    pub(crate) function: Option<Cow<'a, str>>,
    /// The block it stands in.
    pub(crate) block: Option<Cow<'a, str>>,
    /// Place of the instruction in its block, from 0.
    pub(crate) position: Option<u64>,
}

/// Names of the instructions of a stream, by word.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    /// One more than the place in `names`; 0 for none.
    of_word: Vec<u32>,
}

impl Annotations for Names {
    fn of(&mut self, word: &StreamWord) -> Annotation<'_> {
        let place = usize::try_from(word.index).ok().and_then(|index| self.of_word.get(index));
        let name = place.and_then(|place| self.names.get((*place as usize).wrapping_sub(1)));
        Annotation { instruction: name.map(String::as_str), ..Annotation::default() }
    }
}

/// Reads an index, if there is one.
fn index(path: &Path) -> Result<HashMap<Engine, Names>> {
    let name = path.display().to_string();
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(Fault::io("read", &name, &error)),
    };
    let entries: Vec<IndexEntry<'_>> = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("cannot read {name}: {error}");
        Fault::new(message)
            .note("it should be the index that `bir encode` writes; without it words have no names")
    })?;
    let mut streams: HashMap<Engine, Names> = HashMap::new();
    for entry in &entries {
        let (Some(engine), Some(instruction)) = (Engine::from_name(&entry.stream), &entry.instruction) else {
            continue;
        };
        let names = streams.entry(engine).or_default();
        let at = usize::try_from(entry.index).unwrap_or(usize::MAX);
        // An index has a line for every word: a number beyond the lines belongs to no word.
        if at >= entries.len() {
            continue;
        }
        if names.of_word.len() <= at {
            names.of_word.resize(at + 1, 0);
        }
        if names.names.last().is_none_or(|last| last != instruction) {
            names.names.push(instruction.clone().into_owned());
        }
        names.of_word[at] = names.names.len() as u32;
    }
    Ok(streams)
}
