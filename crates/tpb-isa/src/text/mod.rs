//! Assembly text: one line a word, and the exact inverse.
//!
//! ```text
//! .target v3 ; trn2
//! 00c0: Ldweights           wait sem8>=16 src=SB(p0,0x37cfe)[-1:32,0:1,-32:4] in_dtype=FP16 num_active_rows=128
//! 0100: Matmul              upd sem5+=1 src=SB(p0,0x37b00)[1:128] dst=PS(p0,b1)[1:128] in_dtype=FP16
//! ```
//!
//! | text | means |
//! |---|---|
//! | `.target v3` | generation of the words that follow |
//! | `.stream PE`, `.stream sg00/PE` | engine whose stream they are, and the folder of its core |
//! | `00c0:` | offset in the stream, for the reader: the assembler ignores it |
//! | `; ...` | comment |
//! | `wait sem8>=16`, `wait sem8>=r3` | a wait for a value, or for that in a register: `==`, `<`, `<=`, `>`, `>=` |
//! | `wait evt3`, `wait evt3,clear`, `wait !evt3`, `wait !evt3,set` | a wait for an event, and what it does to it then |
//! | `upd sem5+=1`, `upd sem5-=1` | increment, decrement on completion; `@read` behind it: once the operands are read |
//! | `upd sem5+=4`, `upd sem5+=imm:1`, `upd sem5=4`, `upd sem5+=r2` | add or write a value or that of a register |
//! | `upd evt3=set`, `upd evt3=clear` | change an event |
//! | `wait2 ..`, `upd2 ..` | second wait, and update with a value of its own, of EVENT_SEMAPHORE |
//! | `SB(p32,0x5000)` | byte 0x5000 of SBUF partition 32 |
//! | `PS(p0,b2)`, `PS(p0,b2,0x10)` | PSUM partition 0, bank 2, byte 0 or 0x10 of the bank |
//! | `r5`, `idx:SB(..)`, `shape:SB(..)` | address register, index of an indirect slot, steps and counts from the shape registers |
//! | `SB(..)[1:512,64:8]` | access pattern: `step:count` in elements, innermost first; unused dimensions are left out |
//! | `INDIRECT16B{index_addr=..,..}` | the indirect form of a slot, with its members |
//! | `var5+0x80`, `table0+0x80`, `table0+r3`, `SB(..)` | addresses of DMA words: variable, DGE table entry, with offset |
//! | `src=table0+0x0[512:128]x256` | side of a DMA: step and count in bytes, `1p` for a partition, and bytes of the innermost run |
//! | `FP32/FP16` | two element types in one byte |
//! | `imm0=2.0`, `imm0=SB(..)`, `imm0=r3` | a scalar: the form of the value says what the selector is |
//! | `raw[45]=ff00` | bits that belong to no field, by byte offset |
//! | `.word 0102..`, `.byte 01..` | a whole word, or bytes behind the last word |
//!
//! An operand that is absent has the value that encoders write without being asked: 0, or the constant of the tables.

mod cursor;
mod parse;
mod plan;
mod print;
mod value;

use std::io::{self, BufRead, Read, Write};
use std::sync::LazyLock;

use crate::decode::{StreamWord, survey};
use crate::layout::{FieldInfo, Kind, StructInfo};
use crate::read::each_word;
use crate::word::{Engine, Generation, WORD_BYTES};
use crate::{Field, Layout};

use cursor::Cursor;

pub use parse::{Assembler, Line, Reason};
pub(crate) use print::{addr4_text, number, runs, signed, trimmed};

/// Lines of assembly text may be this long, in bytes. The longest line that is printed has less than 700.
pub const MAX_LINE: usize = 1 << 16;

/// What an operand is when it is absent.
pub(crate) fn default_value(field: &FieldInfo, fixed: &[(Field, u32)]) -> u32 {
    let forced = fixed.iter().find(|(fixed, _)| Some(*fixed) == field.field).map(|(_, value)| *value);
    forced.or(field.value).unwrap_or(0)
}

/// Bytes from one SBUF partition to the next.
pub(crate) const PARTITION_STEP: i32 = 1 << 18;

/// Where one side of a two-dimensional DMA lies in its word. Text shows the six fields as one operand.
#[derive(Clone, Copy)]
pub(crate) struct Dma {
    pub(crate) address: &'static StructInfo,
    pub(crate) at: usize,
    pub(crate) steps: usize,
    pub(crate) counts: usize,
    pub(crate) size: usize,
}

impl Dma {
    const FIELDS: [[Field; 6]; 2] = [
        [
            Field::SrcStartAddr,
            Field::SrcStepElem0,
            Field::SrcStepElem1,
            Field::SrcNumElem0,
            Field::SrcNumElem1,
            Field::SrcElemSize,
        ],
        [
            Field::DstStartAddr,
            Field::DstStepElem0,
            Field::DstStepElem1,
            Field::DstNumElem0,
            Field::DstNumElem1,
            Field::DstElemSize,
        ],
    ];

    /// Source and destination of a layout, if it is that of a two-dimensional DMA.
    pub(crate) fn of(layout: Layout) -> Option<[Dma; 2]> {
        static PSEUDO: LazyLock<Option<[Dma; 2]>> = LazyLock::new(|| Dma::find(Layout::PseudoDmaDirect2d));
        static REAL: LazyLock<Option<[Dma; 2]>> = LazyLock::new(|| Dma::find(Layout::DmaDirect2d));
        match layout {
            Layout::PseudoDmaDirect2d => *PSEUDO,
            Layout::DmaDirect2d => *REAL,
            _ => None,
        }
    }

    fn find(layout: Layout) -> Option<[Dma; 2]> {
        let info = layout.info();
        let side = |[address, step, _, count, _, size]: [Field; 6]| {
            let at = |field| info.field(field).map(|field| field.at as usize);
            let Kind::Struct(address_info) = info.field(address)?.kind else { return None };
            Some(Dma {
                address: address_info,
                at: at(address)?,
                steps: at(step)?,
                counts: at(count)?,
                size: at(size)?,
            })
        };
        Some([side(Dma::FIELDS[0])?, side(Dma::FIELDS[1])?])
    }

    /// Whether a field is one of the twelve.
    pub(crate) fn holds(field: &FieldInfo) -> bool {
        field.field.is_some_and(|field| Dma::FIELDS.as_flattened().contains(&field))
    }
}

/// How words are printed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Start each line with the offset in the stream.
    pub offsets: bool,
    /// Add the 64 bytes as a comment.
    pub raw: bool,
    /// Say in a comment what is noteworthy about a word.
    pub notes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { offsets: true, raw: false, notes: true }
    }
}

/// Appends the lines that begin a stream: the target, and the engine if it is known. `folder` tells streams of one engine
/// on several cores apart; it is left out when it is empty, or could not be read back.
pub fn put_header(out: &mut Vec<u8>, generation: Generation, folder: &str, engine: Option<Engine>) {
    let product = generation.product();
    writeln!(out, ".target {generation} ; {product}").expect("a buffer takes bytes");
    if let Some(engine) = engine {
        let (folder, slash) = if is_folder(folder) { (folder, "/") } else { ("", "") };
        writeln!(out, ".stream {folder}{slash}{engine} ; {}", engine.public_name())
            .expect("a buffer takes bytes");
    }
}

/// Whether a name can stand in front of that of an engine: one that is a folder here, and nowhere else.
fn is_folder(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain)
}

/// Appends one word as a line, with `comment` behind it.
///
/// ```
/// use tpb_isa::text::{Options, put_line};
/// use tpb_isa::{Generation, StreamWord, Word};
///
/// let word = Word::from_hex("a410 0000 051b 0000 10").unwrap();
/// let mut line = Vec::new();
/// put_line(&mut line, &StreamWord::new(word, 6, Generation::V3, None), &Options::default(), "the store");
/// assert_eq!(String::from_utf8(line).unwrap(), "0180: NOP                  wait sem27>=16 ; the store\n");
/// ```
pub fn put_line(out: &mut Vec<u8>, word: &StreamWord, options: &Options, comment: &str) {
    let mut printer = Printer { text: std::mem::take(out), len: 0, options: options.clone() };
    printer.len = printer.text.len();
    printer.put(word, comment);
    printer.text.truncate(printer.len);
    *out = printer.text;
}

/// Prints many words, in less time than [`put_line`]: the text is collected until it is cleared.
///
/// ```
/// use tpb_isa::text::{Options, Printer};
/// use tpb_isa::{Generation, Stream};
///
/// let mut printer = Printer::new(Options::default());
/// for word in Stream::new(&[0xa4; 128], Generation::V3) {
///     printer.put(&word, "");
/// }
/// assert_eq!(printer.text().iter().filter(|byte| **byte == b'\n').count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Printer {
    /// The text, and behind it what is left of earlier text.
    text: Vec<u8>,
    len: usize,
    options: Options,
}

impl Printer {
    /// A printer without text.
    pub fn new(options: Options) -> Printer {
        Printer { text: Vec::new(), len: 0, options }
    }

    /// The lines since the last [`clear`](Printer::clear).
    pub fn text(&self) -> &[u8] {
        &self.text[..self.len]
    }

    /// Forgets the text; its memory stays.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends one word as a line, with `comment` behind it.
    #[inline]
    pub fn put(&mut self, word: &StreamWord, comment: &str) {
        let (layout, rest, notes) = survey(word);
        let (offsets, raw) = (self.options.offsets, self.options.raw);
        let shows_notes = self.options.notes && !notes.is_empty();
        let is_bare = comment.is_empty() && !raw;
        self.with_line(|line| {
            if offsets {
                put_offset(line, word.offset);
            }
            print::put_word(line, word, layout, rest.as_ref());
            if shows_notes {
                let mut separator = " ; ";
                for text in notes.texts() {
                    line.put_text(separator.as_bytes());
                    line.put_text(text.as_bytes());
                    separator = ", ";
                }
            }
            if is_bare {
                line.push(b'\n');
            }
        });
        if !is_bare {
            self.put_comment(word, comment, if shows_notes { ", " } else { " ; " });
        }
    }

    /// The comment of a word that has more than notes.
    fn put_comment(&mut self, word: &StreamWord, comment: &str, mut separator: &'static str) {
        if !comment.is_empty() {
            self.put_bytes(separator.as_bytes());
            separator = ", ";
            // A line break would end the comment.
            if comment.contains(['\n', '\r']) {
                self.put_bytes(comment.replace(['\n', '\r'], " ").as_bytes());
            } else {
                self.put_bytes(comment.as_bytes());
            }
        }
        let raw = self.options.raw;
        self.with_line(|line| {
            if raw {
                line.put_text(separator.as_bytes());
                line.put_hex(&word.word.0);
            }
            line.push(b'\n');
        });
    }

    /// Appends bytes that are no whole word, `offset` bytes behind the start of the stream, as a line.
    pub fn put_tail(&mut self, offset: u64, tail: &[u8]) {
        let offsets = self.options.offsets;
        self.with_line(|line| {
            if offsets {
                put_offset(line, offset);
            }
            line.put(b".byte ");
            line.put_hex(&tail[..tail.len().min(WORD_BYTES)]);
            line.put_text(b" ; not a whole word\n");
        });
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.text[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    fn with_line(&mut self, put: impl FnOnce(&mut Cursor<'_>)) {
        self.make_room(size_of::<cursor::Room>());
        if let Some(room) = self.text[self.len..].first_chunk_mut() {
            let mut line = Cursor::new(room);
            put(&mut line);
            self.len += line.len();
        }
    }

    #[inline]
    fn make_room(&mut self, len: usize) {
        if self.text.len() - self.len < len {
            self.text.resize(self.len + len, 0);
        }
    }
}

fn put_offset(out: &mut Cursor<'_>, offset: u64) {
    out.put_digits(offset, 4);
    out.put(b": ");
}

/// Text is written in pieces of this many bytes or a little more.
const FLUSH: usize = 256 * 1024;

/// Disassembles a stream of any length in constant memory. `comment` may append a comment on each word to its second
/// argument. Returns the number of whole words.
///
/// Bytes behind the last whole word become a line `.byte`.
///
/// # Errors
/// Those of reading and writing.
pub fn disassemble(
    input: impl Read,
    mut output: impl Write,
    generation: Generation,
    options: &Options,
    mut comment: impl FnMut(&StreamWord, &mut String),
) -> io::Result<u64> {
    let mut printer = Printer::new(options.clone());
    let mut note = String::new();
    let end = each_word(input, generation, |word| {
        note.clear();
        comment(word, &mut note);
        printer.put(word, &note);
        if printer.text().len() >= FLUSH {
            output.write_all(printer.text())?;
            printer.clear();
        }
        Ok(())
    })?;
    if !end.tail.is_empty() {
        printer.put_tail(end.words * WORD_BYTES as u64, &end.tail);
    }
    output.write_all(printer.text())?;
    Ok(end.words)
}

/// What is wrong with assembly text, and where.
#[derive(Debug, thiserror::Error)]
pub enum AsmError {
    /// A line cannot be assembled.
    #[error("line {line}, column {column}: {reason}")]
    Line {
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong.
        reason: Reason,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Assembles text that holds one stream. `generation` holds until the text has a `.target`. Returns the number of words.
///
/// For text with several streams, use an [`Assembler`] and look at each [`Line`].
///
/// # Errors
/// The first line that cannot be assembled, and those of reading and writing. Words of lines before it are written.
pub fn assemble(
    input: impl BufRead,
    mut output: impl Write,
    generation: Generation,
) -> Result<u64, AsmError> {
    let mut assembler = Assembler::new(generation);
    let mut buffer = Vec::with_capacity(64 * 1024);
    let (mut words, mut streams) = (0, 0);
    each_line(input, |number, text| {
        let at = |(column, reason)| AsmError::Line { line: number, column, reason };
        match assembler.line(text).map_err(at)? {
            Line::Nothing | Line::Target(_) => {}
            Line::Stream(..) if streams > 0 || words > 0 => return Err(at((1, Reason::SeveralStreams))),
            Line::Stream(..) => streams += 1,
            Line::Word(word) => {
                words += 1;
                buffer.extend_from_slice(&word.0);
            }
            Line::Bytes(bytes) => buffer.extend_from_slice(&bytes),
        }
        if buffer.len() >= 63 * 1024 {
            output.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    output.write_all(&buffer)?;
    Ok(words)
}

/// Calls `each` with the number and the text of every line.
///
/// # Errors
/// Those of reading and of `each`; a line that is too long or is not UTF-8.
pub fn each_line(
    mut input: impl BufRead,
    mut each: impl FnMut(u64, &str) -> Result<(), AsmError>,
) -> Result<(), AsmError> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        if (&mut input).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() > MAX_LINE {
            return Err(AsmError::Line { line: number, column: MAX_LINE, reason: Reason::LongLine });
        }
        let text = std::str::from_utf8(&line).map_err(|error| AsmError::Line {
            line: number,
            column: error.valid_up_to() + 1,
            reason: Reason::NotUtf8,
        })?;
        each(number, text.trim_end_matches(['\n', '\r']))?;
    }
}
