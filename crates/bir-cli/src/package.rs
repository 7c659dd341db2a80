//! The streams of a package, with all that it tells about each word.

use std::io::{Cursor, Read};
use std::rc::Rc;

use neff::{Container, Graph, Limits, Package};
use neff_words::view::Side;
use neff_words::{Core, EngineStream, Program};
use tpb_isa::text::{Options, put_line};
use tpb_isa::{Generation, StreamWord};

use crate::cmd::neff::fault;
use crate::input::{Input, Kind};
use crate::report::{Context, Fault, Result};
use crate::streams::{Annotation, Annotations, Bytes, Stream};

/// Whether a file that begins like this is a package: with its header, or a payload alone, compressed or not.
pub(crate) fn begins_like_one(start: &[u8]) -> bool {
    let is_package = |start: &[u8]| matches!(Kind::of(start), Kind::Neff | Kind::Tar);
    if start.starts_with(&[0x1f, 0x8b]) {
        let mut head = Vec::new();
        let decoder = flate2::bufread::GzDecoder::new(start);
        // The start of the file may end inside of what is compressed.
        let _ = decoder.take(2048).read_to_end(&mut head);
        return is_package(&head);
    }
    is_package(start)
}

/// Opens the streams of a package. `target` is what the user says its words are for, if anything.
pub(crate) fn streams(input: &Input, target: Option<Generation>, context: &Context) -> Result<Vec<Stream>> {
    let limits = Limits::default();
    let stop = |error: neff::Error| fault(&input.name, &error);
    let container = Container::open(input.text()).map_err(stop)?;
    let package = Package::load(&container, &limits, false).map_err(stop)?;
    context.findings(&input.name, &damage(&container, &package));
    let program = Program::load(&container, &package, &limits, true).map_err(stop)?;
    let generation = target.or_else(|| neff_words::generation(&package));
    let mut streams = Vec::new();
    for (graph, core) in package.graphs.into_iter().zip(program.cores) {
        let (graph, core) = (Rc::new(graph), Rc::new(core));
        for at in 0..core.engines.len() {
            let words = Words { core: Rc::clone(&core), at };
            let engine = words.stream().engine;
            let name = words.stream().name.clone();
            let file = format!("{}:{}", input.name, words.stream().file);
            if words.stream().debug.words.is_empty() && !words.stream().is_empty() {
                let part = graph.engine(words.stream().key);
                if part.is_some_and(|part| !part.asm.is_empty()) {
                    context.hint(&format!(
                        "{file}: debug entries and words differ in number, so names are left out"
                    ));
                }
            }
            let differs = differing(words.stream(), generation.unwrap_or(Generation::V3));
            let count = differs.iter().filter(|differs| **differs).count();
            if count > 0 {
                let all = differs.len();
                context.hint(&format!("{file}: {count} of {all} lines of its disassembly are not as here"));
            }
            let annotations = Known {
                core: Rc::clone(&core),
                graph: Rc::clone(&graph),
                at,
                generation,
                differs,
                source: None,
                note: String::new(),
            };
            streams.push(Stream {
                name,
                engine: Some(engine),
                file,
                generation,
                bytes: Bytes::new(Box::new(Cursor::new(words))),
                annotations: Box::new(annotations),
            });
        }
    }
    Ok(streams)
}

/// A package with its words, for commands that say something of both.
pub(crate) struct Loaded {
    pub(crate) package: Package,
    pub(crate) program: Program,
    pub(crate) generation: Generation,
}

impl Loaded {
    /// It as one side of a comparison.
    pub(crate) fn side(&self) -> Side<'_> {
        Side { package: &self.package, program: &self.program, generation: self.generation }
    }
}

/// What was found while a package was read, a digest that does not match, and streams that are cut.
fn damage(container: &Container<'_>, package: &Package) -> Vec<neff::Finding> {
    let mut found = neff::check::check(container, package);
    let read = package.findings.len();
    let tail = found.split_off(read);
    found.extend(tail.into_iter().filter(|finding| matches!(finding.code, "NEFF-02" | "NEFF-16")));
    found
}

/// Reads a package and its words.
pub(crate) fn load(input: &Input, context: &Context) -> Result<Loaded> {
    let limits = Limits::default();
    let stop = |error: neff::Error| fault(&input.name, &error);
    let container = Container::open(input.text()).map_err(stop)?;
    let package = Package::load(&container, &limits, false).map_err(stop)?;
    let damage = damage(&container, &package);
    // What is left of a stream that is cut says nothing of the program. spec: neff 5
    if let Some(cut) = damage.iter().find(|finding| finding.code == "NEFF-16") {
        return Err(Fault::new(format!("{}: {}", input.name, cut.message)).note(format!(
            "in {}; `bir objdump` shows the words that are whole",
            cut.member.as_deref().unwrap_or("it")
        )));
    }
    context.findings(&input.name, &damage);
    let program = Program::load(&container, &package, &limits, true).map_err(stop)?;
    let generation = neff_words::generation(&package).ok_or_else(|| {
        let target = package.kelf.target.as_deref().unwrap_or_default();
        Fault::new(format!("{}: the target of its words is not known: {target:?}", input.name))
    })?;
    Ok(Loaded { package, program, generation })
}

/// The words of an engine of a core.
struct Words {
    core: Rc<Core>,
    at: usize,
}

impl Words {
    fn stream(&self) -> &EngineStream {
        &self.core.engines[self.at]
    }
}

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        &self.stream().bytes
    }
}

/// What a package tells about the words of an engine.
struct Known {
    core: Rc<Core>,
    graph: Rc<Graph>,
    at: usize,
    generation: Option<Generation>,
    differs: Vec<bool>,
    source: Option<String>,
    note: String,
}

impl Annotations for Known {
    fn of(&mut self, stream_word: &StreamWord) -> Annotation<'_> {
        let stream = &self.core.engines[self.at];
        let Ok(word) = usize::try_from(stream_word.index) else { return Annotation::default() };
        self.source = stream.source(word, &self.core.front_end);
        self.note.clear();
        if self.generation.is_some() {
            neff_words::note::put(&mut self.note, stream_word, &self.graph, stream.key);
        }
        if self.differs.get(word) == Some(&true)
            && let Some(line) = stream.assembly.as_ref().and_then(|lines| lines.get(word))
        {
            if !self.note.is_empty() {
                self.note.push_str(", ");
            }
            self.note.push_str("asm: ");
            self.note.push_str(line.trim());
        }
        Annotation {
            instruction: stream.instruction(word),
            source: self.source.as_deref(),
            note: Some(&*self.note).filter(|note| !note.is_empty()),
        }
    }
}

/// Which lines of the producer's disassembly are not what this program prints, but for blanks, offset and comment.
fn differing(stream: &EngineStream, generation: Generation) -> Vec<bool> {
    let Some(lines) = &stream.assembly else { return Vec::new() };
    let options = Options { offsets: false, raw: false, notes: false };
    let mut ours = Vec::new();
    let differs = stream.words(generation).zip(lines).map(|(word, line)| {
        ours.clear();
        put_line(&mut ours, &word, &options, "");
        plain(&String::from_utf8_lossy(&ours)) != plain(line)
    });
    differs.collect()
}

/// The words of a line, without an offset in front and a comment behind.
fn plain(line: &str) -> Vec<&str> {
    let line = line.split(';').next().unwrap_or_default();
    let mut words = line.split_whitespace().peekable();
    let is_offset = |word: &&str| {
        word.strip_suffix(':').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    words.next_if(is_offset);
    words.collect()
}
