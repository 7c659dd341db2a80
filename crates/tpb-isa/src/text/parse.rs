//! From text to words. A line is split into tokens, the opcode gives a layout with its constants, each operand stores the
//! bytes of its field; scalars come last, since the form of their value may set a selector and depend on one.

use super::value::{
    hex_bytes, parse_addr4, parse_f32, parse_u32, parse_update, parse_wait, store, store_dma, value_error,
};
use super::{Dma, default_value, is_folder};
use crate::build::{RangeError, store_number};
use crate::layout::{FieldInfo, ImmForm, ImmKind, Kind, LayoutInfo, OpcodeInfo, PreambleKind, opcode_named};
use crate::sync::{SyncError, update_uses_value, wait_uses_value};
use crate::value::Pack;
use crate::word::{Engine, Generation, WORD_BYTES, Word};
use crate::{Field, Layout, Preamble};

type Bytes = [u8; WORD_BYTES];

/// Why a line cannot be assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A line is longer than [`MAX_LINE`](super::MAX_LINE).
    #[error("the line is too long: more than {} bytes", super::MAX_LINE)]
    LongLine,
    /// Text is UTF-8.
    #[error("the line is not UTF-8")]
    NotUtf8,
    /// One output takes one stream.
    #[error("the text holds several streams, but only one can be written here")]
    SeveralStreams,
    /// A quote or bracket is not closed.
    #[error("unbalanced {0}")]
    Unbalanced(char),
    /// No such mnemonic.
    #[error("unknown mnemonic {0:?}")]
    UnknownMnemonic(String),
    /// An extension word stands behind a word that has none.
    #[error("{name} cannot stand here: it must follow {openers}")]
    StrayExtension {
        /// Its mnemonic.
        name: &'static str,
        /// The mnemonics it may follow.
        openers: String,
    },
    /// No such directive.
    #[error("unknown directive {0:?}: expected .target, .stream, .word or .byte")]
    UnknownDirective(String),
    /// The layout has no such field.
    #[error("{mnemonic} ({layout} on {generation}) has no field {name:?}; it has {fields}")]
    UnknownField {
        /// Mnemonic of the word.
        mnemonic: &'static str,
        /// Name of its layout.
        layout: &'static str,
        /// The generation.
        generation: Generation,
        /// The name in the text.
        name: String,
        /// The names it could be.
        fields: String,
    },
    /// An operand is not of the form `name=value`.
    #[error("expected `name=value`, `wait ..` or `upd ..`, found {0:?}")]
    NotAnOperand(String),
    /// An operand stands twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// A value does not have the form it must have.
    #[error("{field}: expected {expected}, found {found:?}")]
    Value {
        /// The field.
        field: String,
        /// What it takes.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A number does not fit.
    #[error("{0}")]
    Range(Box<RangeError>),
    /// A word cannot carry the wait and the update.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// Something stands where nothing may.
    #[error("nothing more is expected here, found {0:?}")]
    Trailing(String),
    /// Bytes that are no whole word end a stream.
    #[error("nothing can follow .byte: it ends the stream")]
    AfterTail,
}

type Fault = (usize, Reason);

/// What a line gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// An empty line or a comment.
    Nothing,
    /// The generation of the words that follow.
    Target(Generation),
    /// The folder, which may be empty, and the engine whose stream follows; words before it belong to another stream.
    Stream(String, Engine),
    /// A word.
    Word(Word),
    /// Bytes behind the last whole word.
    Bytes(Vec<u8>),
}

/// Assembles line by line. It knows the generation and the word in front.
#[derive(Clone, Debug)]
pub struct Assembler {
    generation: Generation,
    previous: Option<u8>,
    ended: bool,
}

impl Assembler {
    /// Starts a stream of `generation`, until the text says otherwise.
    pub fn new(generation: Generation) -> Assembler {
        Assembler { generation, previous: None, ended: false }
    }

    /// Assembles one line.
    ///
    /// ```
    /// use tpb_isa::Generation;
    /// use tpb_isa::text::{Assembler, Line};
    ///
    /// let mut assembler = Assembler::new(Generation::V3);
    /// let Ok(Line::Word(word)) = assembler.line("NOP wait sem27>=16") else { panic!() };
    /// assert_eq!(word.0[..12], [0xa4, 0x10, 0, 0, 5, 27, 0, 0, 16, 0, 0, 0]);
    /// ```
    ///
    /// # Errors
    /// The column (in bytes, from 1) and the reason.
    pub fn line(&mut self, text: &str) -> Result<Line, (usize, Reason)> {
        let mut tokens = Tokens { text, at: 0 };
        let Some(mut head) = tokens.next()? else { return Ok(Line::Nothing) };
        if is_offset(head.text) {
            head = match tokens.next()? {
                Some(token) => token,
                None => return Ok(Line::Nothing),
            };
        }
        let line = match head.text.strip_prefix('.') {
            Some(directive) => self.directive(directive, head, &mut tokens)?,
            None => Line::Word(self.word(head, &mut tokens)?),
        };
        match &line {
            Line::Word(_) | Line::Bytes(_) if self.ended => return Err((head.column(), Reason::AfterTail)),
            Line::Word(word) => self.previous = Some(word.opcode()),
            Line::Bytes(bytes) => self.ended = !bytes.is_empty(),
            Line::Stream(..) => (self.previous, self.ended) = (None, false),
            Line::Target(_) | Line::Nothing => {}
        }
        Ok(line)
    }

    fn directive(&mut self, name: &str, head: Token<'_>, tokens: &mut Tokens<'_>) -> Result<Line, Fault> {
        let argument = |token: Option<Token<'_>>, field: &str, expected: &'static str| {
            Err((
                token.map_or(head.column() + head.text.len(), |token| token.column()),
                value_error(field, expected, token.map_or("", |token| token.text)),
            ))
        };
        let line = match name {
            "target" => {
                let token = tokens.next()?;
                match token.map(|token| token.text.parse()) {
                    Some(Ok(generation)) => {
                        self.generation = generation;
                        Line::Target(generation)
                    }
                    _ => return argument(token, ".target", "v2, v3, v4 or v5"),
                }
            }
            "stream" => {
                let token = tokens.next()?;
                let name = token.map_or("", |token| token.text);
                let (folder, engine) = name.rsplit_once('/').unwrap_or(("", name));
                let is_whole = folder.is_empty() != name.contains('/');
                match Engine::from_name(engine) {
                    Some(engine) if is_whole && (folder.is_empty() || is_folder(folder)) => {
                        Line::Stream(folder.to_owned(), engine)
                    }
                    _ => {
                        let expected = "PE, Activation, Pool, DVE or SP, or one of them in a folder: sg00/PE";
                        return argument(token, ".stream", expected);
                    }
                }
            }
            "word" | "byte" => {
                let mut bytes = Vec::new();
                while let Some(token) = tokens.next()? {
                    match hex_bytes(token.text) {
                        Some(run) => bytes.extend(run),
                        None => {
                            return argument(Some(token), &format!(".{name}"), "pairs of hexadecimal digits");
                        }
                    }
                }
                if name == "byte" {
                    return Ok(Line::Bytes(bytes));
                }
                match bytes.try_into() {
                    Ok(bytes) => Line::Word(Word(bytes)),
                    Err(_) => return argument(None, ".word", "128 hexadecimal digits"),
                }
            }
            _ => return Err((head.column(), Reason::UnknownDirective(head.text.to_owned()))),
        };
        match tokens.next()? {
            Some(token) => Err((token.column(), Reason::Trailing(token.text.to_owned()))),
            None => Ok(line),
        }
    }

    fn word(&self, head: Token<'_>, tokens: &mut Tokens<'_>) -> Result<Word, Fault> {
        let opcode = match opcode_named(head.text, self.previous) {
            Ok(Some(opcode)) => opcode,
            Ok(None) => return Err((head.column(), Reason::UnknownMnemonic(head.text.to_owned()))),
            Err(rows) => {
                let openers: Vec<_> = rows
                    .iter()
                    .filter_map(|row| crate::layout::opcode(row.follows?, None))
                    .map(|row| row.name)
                    .collect();
                let reason = Reason::StrayExtension { name: rows[0].name, openers: openers.join(" or ") };
                return Err((head.column(), reason));
            }
        };
        let mut word = Word::ZERO;
        word.0[0] = opcode.code;
        let layout = crate::bind(&word, self.generation, self.previous).layout;
        let mut operands = Operands::new(opcode, layout, self.generation, word);
        while let Some(token) = tokens.next()? {
            operands.token(token, tokens)?;
        }
        operands.finish()
    }
}

/// The operands of one word, being read.
struct Operands<'a> {
    opcode: &'static OpcodeInfo,
    layout: &'static LayoutInfo,
    generation: Generation,
    dma: Option<[Dma; 2]>,
    word: Word,
    /// Fields that have a value in the text, one bit each by place in the layout.
    given: u64,
    /// Other names that have a value.
    given_names: Vec<&'a str>,
    /// Scalars, which wait for their selectors.
    scalars: Vec<(&'static FieldInfo, &'a str, usize)>,
    /// Bits that belong to no field.
    rest: Bytes,
    /// Values of the wait and the update.
    wait: Option<u32>,
    update: Option<u32>,
}

impl<'a> Operands<'a> {
    fn new(opcode: &'static OpcodeInfo, id: Layout, generation: Generation, mut word: Word) -> Self {
        let layout = id.info();
        if layout.preamble == PreambleKind::Std {
            word.0[1] = 0x10;
        }
        for field in layout.fields {
            let value = default_value(field, opcode.fixed);
            if value != 0 {
                // The tables hold only constants that fit.
                let _ = store_number(&mut word.0, field, 0, value.into());
            }
        }
        Operands {
            opcode,
            layout,
            generation,
            dma: Dma::of(id),
            word,
            given: 0,
            given_names: Vec::new(),
            scalars: Vec::new(),
            rest: [0; WORD_BYTES],
            wait: None,
            update: None,
        }
    }

    fn token(&mut self, token: Token<'a>, tokens: &mut Tokens<'a>) -> Result<(), Fault> {
        if matches!(token.text, "wait" | "upd" | "wait2" | "upd2") {
            self.once(token.text, token)?;
            let Some(argument) = tokens.next()? else {
                let column = token.column() + token.text.len();
                return Err((column, value_error(token.text, "a semaphore or event", "")));
            };
            return self.sync(token.text, argument.text).map_err(|reason| (argument.column(), reason));
        }
        let Some((name, value)) = token.text.split_once('=') else {
            return Err((token.column(), Reason::NotAnOperand(token.text.to_owned())));
        };
        let column = token.column() + name.len() + 1;
        self.operand(name, value, token, column)
    }

    fn once(&mut self, name: &'a str, token: Token<'a>) -> Result<(), Fault> {
        if self.given_names.contains(&name) {
            return Err((token.column(), Reason::Twice(name.to_owned())));
        }
        self.given_names.push(name);
        Ok(())
    }

    fn operand(
        &mut self,
        name: &'a str,
        value: &'a str,
        token: Token<'a>,
        column: usize,
    ) -> Result<(), Fault> {
        let layout_name = if name == "target" { Field::BrImmediate.name() } else { name };
        let spare_step = self.layout.spare_step;
        if let Some(place) = self.layout.fields.iter().position(|field| field.name == layout_name) {
            let field = &self.layout.fields[place];
            if self.given >> place & 1 != 0 {
                return Err((token.column(), Reason::Twice(name.to_owned())));
            }
            self.given |= 1 << place;
            if let Kind::Imm(_) = field.kind {
                self.scalars.push((field, value, column));
                return Ok(());
            }
            let value = value.strip_prefix('#').filter(|_| name == "target").unwrap_or(value);
            return store(&mut self.word.0, field, 0, value, spare_step).map_err(|reason| (column, reason));
        }
        self.once(name, token)?;
        if let Some(place) = ["src", "dst"].iter().position(|side| *side == name)
            && let Some(dma) = self.dma
        {
            return store_dma(&mut self.word.0, dma[place], name, value).map_err(|reason| (column, reason));
        }
        if self.layout.preamble == PreambleKind::Std
            && let Some(field) = Preamble::info().fields.iter().find(|field| field.name == name)
        {
            return store(&mut self.word.0, field, 0, value, spare_step).map_err(|reason| (column, reason));
        }
        if let Some(offset) = name.strip_prefix("raw[").and_then(|name| name.strip_suffix(']')) {
            return self.raw(offset, value).map_err(|reason| (column, reason));
        }
        if let Some((outer, inner)) = name.split_once('.')
            && let Some(outer) = self.layout.fields.iter().find(|field| field.name == outer)
            && let Kind::Struct(info) = outer.kind
            && let Some(field) = info.fields.iter().find(|field| field.name == inner)
        {
            let base = outer.at as usize;
            return store(&mut self.word.0, field, base, value, spare_step)
                .map_err(|reason| (column, reason));
        }
        let fields: Vec<_> = self.layout.fields.iter().map(|field| field.name).collect();
        let reason = Reason::UnknownField {
            mnemonic: self.opcode.name,
            layout: self.layout.name,
            generation: self.generation,
            name: name.to_owned(),
            fields: if fields.is_empty() { "none".to_owned() } else { fields.join(", ") },
        };
        Err((token.column(), reason))
    }

    fn raw(&mut self, offset: &str, value: &str) -> Result<(), Reason> {
        let expected =
            || value_error(&format!("raw[{offset}]"), "bytes inside the word, in hexadecimal", value);
        let at: usize = offset.parse().map_err(|_| expected())?;
        let bytes = hex_bytes(value).ok_or_else(expected)?;
        let place =
            self.rest.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())).ok_or_else(expected)?;
        place.iter_mut().zip(bytes).for_each(|(place, byte)| *place |= byte);
        Ok(())
    }

    fn sync(&mut self, keyword: &str, text: &str) -> Result<(), Reason> {
        let second = keyword.ends_with('2');
        let base = if second {
            let events = self.layout.field(Field::EventsExtended).ok_or(SyncError::NoSecondWait)?;
            events.at as usize
        } else if self.layout.preamble == PreambleKind::Std {
            4
        } else {
            return Err(SyncError::NoPreamble.into());
        };
        let is_wait = keyword.starts_with("wait");
        let (mode, id, value) = if is_wait {
            let (mode, id, value) = parse_wait(text)
                .ok_or_else(|| value_error(keyword, "a condition such as sem7>=2, evt3 or !evt3", text))?;
            (mode.0, id, value.filter(|_| wait_uses_value(mode)))
        } else {
            let (mode, id, value) = parse_update(text)
                .ok_or_else(|| value_error(keyword, "an update such as sem3+=1, sem3=4 or evt3=set", text))?;
            (mode.0, id, value.filter(|_| update_uses_value(mode)))
        };
        let half = if is_wait { base } else { base + 2 };
        self.word.0[half] = mode;
        self.word.0[half + 1] = crate::sync::id(id)?.0;
        let Some(value) = value else { return Ok(()) };
        match (second, is_wait) {
            (true, true) => value.store(&mut self.word.0, base + 4),
            (true, false) => value.store(&mut self.word.0, base + 8),
            (false, is_wait) => {
                *if is_wait { &mut self.wait } else { &mut self.update } = Some(value);
                if let (Some(wait), Some(update)) = (self.wait, self.update)
                    && wait != update
                {
                    return Err(SyncError::Values { wait, update }.into());
                }
                value.store(&mut self.word.0, 8);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Word, Fault> {
        for (field, value, column) in std::mem::take(&mut self.scalars) {
            let Kind::Imm(imm) = field.kind else { continue };
            self.scalar(field, &imm, value).map_err(|reason| (column, reason))?;
        }
        for (byte, rest) in self.word.0.iter_mut().zip(self.rest) {
            *byte |= rest;
        }
        Ok(self.word)
    }

    /// Stores a scalar, and its selector where the text does not give it.
    fn scalar(&mut self, field: &FieldInfo, imm: &ImmKind, text: &str) -> Result<(), Reason> {
        let form = match text.as_bytes() {
            [b'0', b'x', ..] => None,
            [b'r', b'0'..=b'9', ..] => Some(2),
            [b'S' | b'P', ..] | [b'i', b'd', ..] | [b's', ..] => Some(1),
            _ => Some(0),
        };
        if let (Some((at, 0, 8)), Some(form)) = (imm.selector, form) {
            let selector = self.layout.fields.iter().position(|field| field.at == at);
            let is_given = selector.is_some_and(|place| self.given >> place & 1 != 0);
            if let Some(code) = imm.forms[form]
                && !is_given
            {
                self.word.0[at as usize] = code;
            }
        }
        let error = |expected| value_error(field.name, expected, text);
        let value = match imm.form(&self.word.0) {
            _ if form.is_none() => parse_u32(text).ok_or_else(|| error("8 hexadecimal digits"))?,
            ImmForm::Float => parse_f32(text).ok_or_else(|| error("a number such as 2.0"))?,
            ImmForm::Integer if form == Some(0) => match text.parse::<f32>() {
                Ok(value) if text.contains(['.', 'e', 'E']) => value.to_bits(),
                _ => parse_u32(text).ok_or_else(|| error("a number of at most 32 bits"))?,
            },
            ImmForm::Pointer => parse_addr4(text).ok_or_else(|| error("an address such as SB(p0,0x3000)"))?.0,
            ImmForm::Register => {
                let register = text.strip_prefix('r').and_then(|text| text.parse::<u8>().ok());
                register.ok_or_else(|| error("a register such as r5"))?.into()
            }
            ImmForm::Integer => return Err(error("a number of at most 32 bits")),
            ImmForm::Unknown => {
                return Err(error("the bits in hexadecimal, since the selector has no known form"));
            }
        };
        value.store(&mut self.word.0, field.at.into());
        Ok(())
    }
}

/// Hexadecimal digits with a colon behind them.
fn is_offset(text: &str) -> bool {
    let digits = text.strip_suffix(':').unwrap_or("");
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A piece of a line without blanks outside quotes and brackets.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    start: usize,
}

impl Token<'_> {
    fn column(self) -> usize {
        self.start + 1
    }
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, Fault> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let start = self.at;
        let mut open: Option<(char, usize)> = None;
        let mut depth = 0u32;
        while let Some(&byte) = bytes.get(self.at) {
            match (byte, open) {
                (b'"', None) => self.quoted()?,
                (b';', _) => break,
                (b'(' | b'[' | b'{', _) => {
                    if depth == 0 {
                        open = Some((byte as char, self.at));
                    }
                    depth += 1;
                }
                (b')' | b']' | b'}', _) => {
                    depth = depth.checked_sub(1).ok_or((self.at + 1, Reason::Unbalanced(byte as char)))?;
                    if depth == 0 {
                        open = None;
                    }
                }
                (b'"', Some(_)) => self.quoted()?,
                _ if byte.is_ascii_whitespace() && depth == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        if let Some((bracket, at)) = open {
            return Err((at + 1, Reason::Unbalanced(bracket)));
        }
        if start == self.at {
            return Ok(None); // the end, or a comment
        }
        Ok(Some(Token { text: &self.text[start..self.at], start }))
    }

    /// Moves to the closing quote.
    fn quoted(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        loop {
            self.at += 1;
            match bytes.get(self.at) {
                Some(b'\\') => self.at += 1,
                Some(b'"') => return Ok(()),
                Some(_) => {}
                None => return Err((start + 1, Reason::Unbalanced('"'))),
            }
        }
    }
}
