//! From text to words. A line is split into tokens, the opcode gives a layout with its constants, each operand stores the
//! bytes of its field; scalars come last, since the form of their value may set a selector and depend on one.

use crate::build::{RangeError, store_number};
use crate::layout::{
    EnumInfo, FieldInfo, ImmForm, ImmKind, Kind, LayoutInfo, OpcodeInfo, PreambleKind, Shape, StructInfo,
    opcode_named,
};
use crate::sync::{SyncError, update_uses_value, wait_uses_value};
use crate::text::{Dma, PARTITION_STEP, default_value};
use crate::value::{Addr4, Bitset256, Pack};
use crate::word::{Engine, Generation, WORD_BYTES, Word};
use crate::{Field, Layout, Preamble, UpdateMode, WaitMode};

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
    /// The engine whose stream follows; words before it belong to another stream.
    Stream(Engine),
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
            Line::Stream(_) => (self.previous, self.ended) = (None, false),
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
                match token.and_then(|token| Engine::from_name(token.text)) {
                    Some(engine) => Line::Stream(engine),
                    None => return argument(token, ".stream", "PE, Activation, Pool, DVE or SP"),
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

fn value_error(field: &str, expected: &'static str, found: &str) -> Reason {
    let found = match found.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &found[..end]),
        None => found.to_owned(),
    };
    Reason::Value { field: field.to_owned(), expected, found }
}

/// Stores the value of a field that lies `base` bytes behind its offset.
fn store(
    word: &mut Bytes,
    field: &FieldInfo,
    base: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let at = base + field.at as usize;
    let size = field.bytes as usize;
    let error = |expected| value_error(field.name, expected, text);
    let number = |word: &mut Bytes, value: Option<i128>, expected| match value {
        Some(value) => store_number(word, field, base, value).map_err(|range| Reason::Range(Box::new(range))),
        None => Err(error(expected)),
    };
    match field.kind {
        Kind::Uint | Kind::Int | Kind::Flag => number(word, parse_int(text), "a number"),
        Kind::Reg => number(word, parse_int(text.strip_prefix('r').unwrap_or(text)), "a register such as r5"),
        Kind::Sem => {
            number(word, parse_int(text.strip_prefix("sem").unwrap_or(text)), "a semaphore such as sem5")
        }
        Kind::Enum(info) => number(word, parse_code(info, text), "a name of its enum or a number"),
        Kind::Flags(info) => {
            let flags = text.split('|').try_fold(0, |bits, flag| Some(bits | parse_code(info, flag)?));
            number(word, flags, "names of flags joined by |")
        }
        Kind::Pair(info) => {
            let pair = text.split_once('/').and_then(|(low, high)| {
                let nibble = |text| parse_code(info, text).filter(|code| (0..16).contains(code));
                Some(nibble(low)? | nibble(high)? << 4)
            });
            number(word, pair.or_else(|| parse_int(text)), "two names with codes below 16, such as FP32/FP16")
        }
        Kind::F32 => {
            parse_f32(text).ok_or_else(|| error("a number such as 2.0"))?.store(word, at);
            Ok(())
        }
        Kind::Imm(_) => Err(error("a scalar of the word itself")),
        Kind::Addr4 => {
            parse_addr4(text).ok_or_else(|| error("an address such as SB(p32,0x5000)"))?.store(word, at);
            Ok(())
        }
        Kind::Struct(info) => store_struct(word, field, info, at, text, spare_step),
        Kind::Union(union) => {
            let arm = match text.split_once('{') {
                Some((name, _)) if name == union.indirect.name => union.indirect,
                Some((name, _)) if name == union.direct.name => union.direct,
                Some(_) => return Err(error("one of the two forms of the slot")),
                None => union.direct,
            };
            store_struct(word, field, arm, at, text, spare_step)
        }
        Kind::Array(element, signed) => {
            let bits = 8 * u32::from(element);
            let (low, high) = if signed { (-(1 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1i128 << bits) };
            let values = parse_list(text, |text| parse_int(text).filter(|value| (low..high).contains(value)));
            let values = values.filter(|values| values.len() * element as usize <= size);
            let values = values.ok_or_else(|| error("a list of numbers that fit, such as [1,2]"))?;
            for (i, value) in values.into_iter().enumerate() {
                let bytes = value.to_le_bytes();
                word[at + i * element as usize..][..element as usize]
                    .copy_from_slice(&bytes[..element as usize]);
            }
            Ok(())
        }
        Kind::Regs => {
            let values = parse_list(text, |text| text.strip_prefix('r').unwrap_or(text).parse::<u8>().ok());
            let values = values.filter(|values| values.len() <= size);
            let values = values.ok_or_else(|| error("a list of registers, such as [r1,r2]"))?;
            word[at..at + values.len()].copy_from_slice(&values);
            Ok(())
        }
        Kind::Name => {
            let bytes = parse_string(text).filter(|bytes| bytes.len() <= size);
            let bytes = bytes.ok_or_else(|| error("a quoted string that fits the field"))?;
            word[at..at + bytes.len()].copy_from_slice(&bytes);
            Ok(())
        }
        Kind::Bytes => {
            let digits = text.strip_prefix("x\"").and_then(|text| text.strip_suffix('"'));
            let bytes = digits.and_then(hex_bytes).filter(|bytes| bytes.len() <= size);
            let bytes = bytes.ok_or_else(|| error("bytes such as x\"01ff\" that fit the field"))?;
            word[at..at + bytes.len()].copy_from_slice(&bytes);
            Ok(())
        }
        Kind::Bitset => {
            let set = parse_set(text).ok_or_else(|| error("a set of ids such as {3,8-11}"))?;
            set.store(word, at);
            Ok(())
        }
    }
}

fn store_struct(
    word: &mut Bytes,
    field: &FieldInfo,
    info: &StructInfo,
    at: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let error = |expected| value_error(field.name, expected, text);
    match info.shape {
        Shape::Tensor(dims) => {
            let (addr, pattern) = split_pattern(text).ok_or_else(|| error(PATTERN))?;
            let addr = parse_addr4(addr).ok_or_else(|| error(PATTERN))?;
            addr.store(word, at);
            store_dims(word, field, at + 4, dims.into(), pattern, spare_step)
        }
        Shape::Generator => {
            const EXPECTED: &str = "a generator such as 0[1:512]";
            let (base, pattern) = split_pattern(text).ok_or_else(|| error(EXPECTED))?;
            let base: i32 = base.parse().map_err(|_| error(EXPECTED))?;
            base.store(word, at);
            store_dims(word, field, at + 4, 4, pattern, spare_step)
        }
        Shape::Addr4 => {
            parse_addr4(text).ok_or_else(|| error("an address such as SB(p32,0x5000)"))?.store(word, at);
            Ok(())
        }
        Shape::PseudoAddr8 if !text.contains('{') => {
            let bytes = parse_pseudo_addr8(text)
                .ok_or_else(|| error("an address such as SB(p0,0x0), var5+0x80, table0+0x80 or table0+r3"))?;
            word[at..at + 8].copy_from_slice(&bytes);
            Ok(())
        }
        Shape::PseudoAddr8 | Shape::Events | Shape::Record => {
            store_record(word, field.name, info, at, text, spare_step)
        }
    }
}

/// Stores members in braces.
fn store_record(
    word: &mut Bytes,
    field: &str,
    info: &StructInfo,
    at: usize,
    text: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    let error = || value_error(field, "members in braces, such as {a=1,b=2}", text);
    let (name, members) = text.split_once('{').ok_or_else(error)?;
    let members = members.strip_suffix('}').ok_or_else(error)?;
    if !name.is_empty() && name != info.name {
        return Err(error());
    }
    for member in split_list(members) {
        let (name, value) = member.split_once('=').ok_or_else(error)?;
        let inner = info.fields.iter().find(|field| field.name == name);
        let inner = inner.ok_or_else(|| value_error(field, "members of its struct", member))?;
        store(word, inner, at, value, spare_step)?;
    }
    Ok(())
}

const PATTERN: &str = "an access pattern such as SB(p0,0x4000)[1:512]";

/// Splits `base[..]` in front of the bracket, and removes the brackets.
fn split_pattern(text: &str) -> Option<(&str, &str)> {
    let (base, pattern) = text.split_once('[')?;
    Some((base, pattern.strip_suffix(']')?))
}

fn store_dims(
    word: &mut Bytes,
    field: &FieldInfo,
    at: usize,
    dims: usize,
    pattern: &str,
    spare_step: i16,
) -> Result<(), Reason> {
    for i in 0..dims {
        spare_step.store(word, at + 2 * i);
        1u16.store(word, at + 2 * (dims + i));
    }
    let error = |expected| value_error(field.name, expected, pattern);
    for (i, dim) in pattern.split(',').enumerate() {
        if i >= dims {
            return Err(error("as many dimensions as the slot has"));
        }
        let (step, num) = dim.split_once(':').ok_or_else(|| error("step:count"))?;
        let step: i16 = step.parse().map_err(|_| error("steps in -32768..=32767"))?;
        let num: u16 = num.parse().map_err(|_| error("counts in 0..=65535"))?;
        step.store(word, at + 2 * i);
        num.store(word, at + 2 * (dims + i));
    }
    Ok(())
}

fn parse_code(info: &EnumInfo, text: &str) -> Option<i128> {
    info.by_name(text).map(|code| code.code.into()).or_else(|| parse_int(text))
}

/// A decimal or `0x` number of at most 64 bits.
fn parse_int(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok().map(i128::from),
        Some(_) => None,
        None => text.parse::<u64>().map(i128::from).or_else(|_| text.parse::<i64>().map(i128::from)).ok(),
    }
}

fn parse_u32(text: &str) -> Option<u32> {
    let value = parse_int(text)?;
    u32::try_from(value).ok().or_else(|| i32::try_from(value).ok().map(|value| value as u32))
}

/// The bits of a number; hexadecimal digits are the bits themselves.
fn parse_f32(text: &str) -> Option<u32> {
    if text.starts_with("0x") {
        return parse_int(text).and_then(|bits| bits.try_into().ok());
    }
    text.parse::<f32>().ok().filter(|value| !value.is_nan()).map(f32::to_bits)
}

fn parse_addr4(text: &str) -> Option<Addr4> {
    if text.starts_with("0x") {
        return parse_int(text).and_then(|bits| bits.try_into().ok()).map(Addr4);
    }
    let mut modes = 0;
    let mut text = text;
    loop {
        text = if let Some(rest) = text.strip_prefix("shape:") {
            modes |= Addr4::SHAPE;
            rest
        } else if let Some(rest) = text.strip_prefix("idx:") {
            modes |= Addr4::INDIRECT;
            rest
        } else {
            break;
        }
    }
    if let Some(register) = text.strip_prefix('r') {
        let register: u8 = register.parse().ok()?;
        return Some(Addr4(modes | Addr4::REGISTER | u32::from(register)));
    }
    let number = |text: &str, limit: u32| {
        let value = u32::try_from(parse_int(text)?).ok()?;
        (value <= limit).then_some(value)
    };
    let (space, parts) = text.strip_suffix(')')?.split_once('(')?;
    let mut parts = parts.split(',');
    let partition = number(parts.next()?.strip_prefix('p')?, 127)?;
    let address = match space {
        "SB" => partition << 18 | number(parts.next()?, 0x3_FFFF)?,
        "PS" => {
            let bank = number(parts.next()?.strip_prefix('b')?, 7)?;
            let offset = parts.next().map_or(Some(0), |text| number(text, 0x7FF))?;
            Addr4::PSUM_BASE | partition << 15 | bank << 11 | offset
        }
        _ => return None,
    };
    parts.next().is_none().then_some(Addr4(modes | address))
}

fn parse_pseudo_addr8(text: &str) -> Option<[u8; 8]> {
    let (text, shape) = match text.strip_suffix(":shape") {
        Some(rest) => (rest, 0x40),
        None => (text, 0),
    };
    let (value, id, marker) = if text.starts_with("SB(") {
        (parse_addr4(text)?.0, 0, 0x10)
    } else if let Some(rest) = text.strip_prefix("var") {
        let (id, offset) = rest.split_once('+')?;
        (u32::try_from(parse_int(offset)?).ok()?, parse_int(id).filter(|id| (0..1 << 24).contains(id))?, 0x10)
    } else {
        let (id, offset) = text.strip_prefix("table")?.split_once('+')?;
        let id = parse_int(id).filter(|id| (0..1 << 16).contains(id))?;
        match offset.strip_prefix('r') {
            Some(register) => {
                let (register, wide) = match register.strip_suffix(":wide") {
                    Some(rest) => (rest, 4),
                    None => (register, 0),
                };
                (register.parse().ok()?, id, 0x28 | wide)
            }
            None => (u32::try_from(parse_int(offset)?).ok()?, id, 0x20),
        }
    };
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes[4..7].copy_from_slice(&id.to_le_bytes()[..3]);
    bytes[7] = marker | shape;
    Some(bytes)
}

/// Stores the six fields of one side of a DMA.
fn store_dma(word: &mut Bytes, side: Dma, name: &str, text: &str) -> Result<(), Reason> {
    let error = || value_error(name, "one side of a DMA such as SB(p0,0x37c00)[1p:128]x512", text);
    let (front, size) = text.rsplit_once("]x").ok_or_else(error)?;
    let (address, dims) = front.rsplit_once('[').ok_or_else(error)?;
    match side.address.shape {
        Shape::PseudoAddr8 if !address.contains('{') => {
            let bytes = parse_pseudo_addr8(address).ok_or_else(error)?;
            word[side.at..side.at + 8].copy_from_slice(&bytes);
        }
        _ => store_record(word, name, side.address, side.at, address, 1)?,
    }
    let mut pairs = dims.split(',');
    for i in 0..2 {
        let (step, count) = match pairs.next() {
            Some(pair) => pair.split_once(':').ok_or_else(error)?,
            None if i > 0 => ("1", "1"),
            None => return Err(error()),
        };
        let step: Option<i32> = match step.strip_suffix('p') {
            Some(partitions) => {
                partitions.parse::<i32>().ok().and_then(|step| step.checked_mul(PARTITION_STEP))
            }
            None => step.parse().ok(),
        };
        step.ok_or_else(error)?.store(word, side.steps + 4 * i);
        count.parse::<u16>().map_err(|_| error())?.store(word, side.counts + 2 * i);
    }
    let size: u32 = size.parse().map_err(|_| error())?;
    if pairs.next().is_some() || !(1..=0x1_0000).contains(&size) {
        return Err(error());
    }
    (size as u16).store(word, side.size);
    Ok(())
}

fn parse_wait(text: &str) -> Option<(WaitMode, u32, Option<u32>)> {
    if let Some(event) = text.strip_prefix('!') {
        let (event, mode) = match event.strip_suffix(",set") {
            Some(event) => (event, WaitMode::EVT_CLEAR_THEN_SET),
            None => (event, WaitMode::EVT_CLEAR),
        };
        return Some((mode, event.strip_prefix("evt")?.parse().ok()?, None));
    }
    if let Some(event) = text.strip_prefix("evt") {
        let (event, mode) = match event.strip_suffix(",clear") {
            Some(event) => (event, WaitMode::EVT_SET_THEN_CLEAR),
            None => (event, WaitMode::EVT_SET),
        };
        return Some((mode, event.parse().ok()?, None));
    }
    let rest = text.strip_prefix("sem")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (id, condition) = rest.split_at(end);
    let operators = [("==", 1), ("<=", 3), (">=", 5), ("<", 2), (">", 4)];
    let (mode, value) = operators.iter().find_map(|(op, mode)| Some((*mode, condition.strip_prefix(op)?)))?;
    let (mode, value) = match value.strip_prefix('r') {
        Some(register) => (mode | 0x80, register),
        None => (mode, value),
    };
    Some((WaitMode(mode), id.parse().ok()?, Some(parse_u32(value)?)))
}

fn parse_update(text: &str) -> Option<(UpdateMode, u32, Option<u32>)> {
    let (text, late) = match text.strip_suffix("@read") {
        Some(rest) => (rest, 0),
        None => (text, 0x10),
    };
    if let Some(rest) = text.strip_prefix("evt") {
        let (event, action) = rest.split_once('=')?;
        let mode = match action {
            "set" => 1,
            "clear" => 2,
            _ => return None,
        };
        return Some((UpdateMode(mode | late), event.parse().ok()?, None));
    }
    let rest = text.strip_prefix("sem")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (id, action) = rest.split_at(end);
    let operators = [("+=", 5, 3), ("-=", 7, 4), ("=", 9, 9)];
    let (mode, unit, value) =
        operators.iter().find_map(|(op, mode, unit)| Some((*mode, *unit, action.strip_prefix(op)?)))?;
    let id = id.parse().ok()?;
    Some(match value {
        "1" if mode != 9 => (UpdateMode(unit | late), id, None),
        _ if value.starts_with('r') => (UpdateMode(mode | late | 0x80), id, Some(parse_u32(&value[1..])?)),
        _ => (UpdateMode(mode | late), id, Some(parse_u32(value.strip_prefix("imm:").unwrap_or(value))?)),
    })
}

fn parse_list<T>(text: &str, element: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(element).collect()
}

fn parse_set(text: &str) -> Option<Bitset256> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut set = Bitset256::default();
    for part in inner.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for id in first.parse::<u8>().ok()?..=last.parse().ok()? {
            set.insert(id);
        }
    }
    Some(set)
}

fn parse_string(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.strip_prefix('"')?.strip_suffix('"')?.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next()? {
                b'x' => {
                    let digit = |byte: u8| (byte as char).to_digit(16);
                    (digit(bytes.next()?)? << 4 | digit(bytes.next()?)?) as u8
                }
                escaped @ (b'"' | b'\\') => escaped,
                _ => return None,
            },
            b'"' => return None,
            byte => byte,
        });
    }
    Some(out)
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.bytes().map(|b| (b as char).to_digit(16).map(|d| d as u8)).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Splits at commas outside braces, brackets and parentheses.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut depth = 0i32;
        let end = rest.bytes().position(|byte| {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            byte == b',' && depth <= 0
        });
        let (item, tail) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, ""),
        };
        rest = tail;
        Some(item)
    })
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
