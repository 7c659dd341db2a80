//! The two-pass reader. Pass 1 makes all objects, pass 2 resolves references by name. spec: bir-json 11

mod ahead;
mod canonical;
mod codec;
mod dependencies;
mod duplicates;
mod expr;
mod instruction;
mod known;
mod legacy;
mod names;
mod oddities;
mod operand;
mod resolve;
mod storage;
mod templates;

use std::borrow::Cow;
use std::thread;

use bir::enums::InstructionType;
use bir::ids::{BlockId, Id, InstId, LocId, QueueId, RegId, SetId};
use bir::record::{FieldSpec, Fields, Presence};
use bir::{Argument, DebugInfo, Extra, Holder, Members, Module, OpenEnum, Shared, Sym, Value};
use smallvec::SmallVec;

pub use oddities::{Oddities, Oddity, OddityKind};

use crate::error::{ReadError, ReadErrorKind, Result};
use crate::lexer::Lexer;
use ahead::{Ahead, Trace};
use duplicates::Duplicates;
use known::KnownTexts;
use names::{InstNames, SymMap};
use resolve::RawEdge;
use templates::Templates;

/// What to do with a reference to an object that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unresolved {
    /// The document is refused, as the reference does.
    #[default]
    Refuse,
    /// The name is kept, and reported as an oddity.
    Keep,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// References to objects that do not exist.
    pub unresolved: Unresolved,
    /// Oddities are errors: unknown members and names, duplicate keys, collisions, misplaced nulls, missing
    /// required keys.
    pub strict: bool,
    /// Threads that may read at once, the caller's included; 0 is as good as 1. What is read does not depend on it.
    pub threads: usize,
    /// Bytes of text that each of several threads reads at a time; 0 for a size that suits, where documents of less
    /// than 16 MiB are read by one thread. A size is given for tests and measurements: then a piece is waited for even
    /// if reading it would be quicker.
    pub piece: usize,
}

/// A module that was read.
#[derive(Debug)]
pub struct Loaded {
    /// The module.
    pub module: Module,
    /// Where its instructions are in the text.
    pub positions: Positions,
    /// What was odd about the document.
    pub oddities: Oddities,
    /// Whether the module stood in `{"module": ...}`.
    pub wrapped: bool,
}

/// Byte offsets of the objects of a module in the text it was read from.
#[derive(Clone, Default, Debug)]
pub struct Positions {
    insts: Vec<u64>,
}

impl Positions {
    /// Offset of the opening brace of an instruction; `None` when it was not read.
    pub fn inst(&self, id: InstId) -> Option<usize> {
        self.insts.get(id.index()).map(|offset| *offset as usize)
    }
}

/// Reads a BIR-JSON document, bare or wrapped in `{"module": ...}`.
///
/// # Errors
/// Text that is not JSON, values of the wrong type, references to objects that do not exist (unless
/// [`Unresolved::Keep`]), versions that do not say how expressions are encoded, and in strict reading whatever
/// is otherwise reported as an oddity. The error holds the byte offset; [`ReadError::place`] turns it into line,
/// column and path.
///
/// ```
/// let text = br#"{"version": 2, "arch": "gen3", "functions": []}"#;
/// let loaded = bir_json::read(text, &Default::default()).unwrap();
/// assert_eq!(loaded.module.functions().count(), 0);
///
/// let error = bir_json::read(br#"{"functions": 7}"#, &Default::default()).unwrap_err();
/// assert_eq!(error.place(br#"{"functions": 7}"#).to_string(), "line 1, column 15, at functions");
/// ```
pub fn read(text: &[u8], options: &ReadOptions) -> Result<Loaded, ReadError> {
    read_with_progress(text, options, &mut |_| {})
}

/// Reads a document as [`read`] does and tells how far it is, every megabyte or so: `progress` is given the number
/// of bytes that have been read. A caller that maps a file can let go of those pages; they are looked at again
/// only for a message, or where a document is odd. The count starts again once, after the check for UTF-8.
///
/// # Errors
/// As [`read`].
pub fn read_with_progress(
    text: &[u8],
    options: &ReadOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Loaded, ReadError> {
    read_document(text, options, progress).map_err(|error| *error)
}

/// Bytes between two calls of the progress function.
const PROGRESS_STEP: usize = 1 << 20;

fn read_document(text: &[u8], options: &ReadOptions, progress: &mut dyn FnMut(usize)) -> Result<Loaded> {
    let text = utf8(text)?;
    progress(text.len());
    let mut reader = Reader::new(text, *options, progress);
    let outcome = thread::scope(|scope| {
        reader.ahead = Ahead::start(scope, text, *options);
        let outcome = reader.load();
        reader.ahead = None;
        outcome
    });
    let wrong_body = reader.wrong_body;
    let again = reader.again || wrong_body || outcome.as_ref().is_err_and(|error| !error.kind.is_syntax());
    if !again {
        return outcome;
    }
    // Objects that do not count may have been read, or the error may be in one of them.
    let Ok(duplicates) = Duplicates::find(text) else { return outcome };
    if duplicates.is_empty() && !wrong_body {
        return outcome;
    }
    // What was read so far makes room.
    drop((outcome, reader));
    let text = duplicates.blank(text);
    let mut reader = Reader::new(&text, *options, progress);
    reader.careful = true;
    for (at, key) in duplicates.repeated() {
        reader.oddity(OddityKind::DuplicateKey, at, || format!("duplicate key `{key}`"));
    }
    reader.load()
}

pub(crate) fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|error| ReadErrorKind::Utf8.at(error.valid_up_to()))
}

/// Offsets of the first expression, and of the first one that only version 1 has.
#[derive(Clone, Copy, Default)]
struct FirstExprs {
    any: Option<usize>,
    version_1: Option<usize>,
}

/// State of pass 1, and what it leaves to pass 2.
pub(crate) struct Reader<'a> {
    progress: &'a mut dyn FnMut(usize),
    progress_at: usize,
    pub(crate) lexer: Lexer<'a>,
    pub(crate) module: Module,
    pub(crate) oddities: Oddities,
    options: ReadOptions,
    positions: Positions,
    version: Option<u32>,
    first_exprs: FirstExprs,
    /// A key stands twice in an object, or blocks were read that are no body: the document needs another reading.
    pub(crate) again: bool,
    /// Blocks were read, or could not be read, that may be no body.
    wrong_body: bool,
    /// This is that other reading.
    careful: bool,
    /// Owner of the blocks that are read, and the function or queue around it.
    holder: Holder,
    outermost: Holder,
    /// Storage of the function that is read, by name.
    locations: SymMap<LocId>,
    sets: SymMap<SetId>,
    registers: SymMap<RegId>,
    /// Storage of all functions that were read, by name, for queues: of several objects the first counts. Not used
    /// when NKI functions, which come last in the order of functions, were read first.
    all_locations: SymMap<LocId>,
    all_sets: SymMap<SetId>,
    all_registers: SymMap<RegId>,
    nki_first: bool,
    /// Functions and queues in which a storage name was met before its object.
    early_names: Vec<Holder>,
    /// Queues by name, those that were only named included; and those that were read.
    queue_table: SymMap<QueueId>,
    queues_read: hashbrown::HashSet<QueueId>,
    /// Whether a function was read that is no NKI function.
    function_read: bool,
    /// Instructions of all functions by name; those of main come first.
    inst_table: SymMap<InstId>,
    /// Instructions that name blocks, instructions or functions.
    pending: Vec<InstId>,
    /// Searches for the place of a name that were made.
    searches: usize,
    /// Instructions of the function or queue that is read, by name.
    inst_names: InstNames,
    /// Operands of the function or queue that is read, by their text.
    known_arguments: KnownTexts<Argument>,
    /// Texts of instructions between the values that change.
    templates: Templates,
    /// Source records, by their text.
    known_debug: KnownTexts<Shared<DebugInfo>>,
    /// Dependencies by name, for pass 2.
    edges: Vec<RawEdge>,
    /// Extra elements of those dependencies that have some, in order.
    edge_extras: Vec<Box<[Value]>>,
    /// Aliases by name, for the end of the function.
    aliases: Vec<storage::RawAlias>,
    /// Accesses of the function or queue whose names are resolved.
    resolved: resolve::Resolved,
    /// Location that is read.
    current_location: Option<LocId>,
    /// Set whose locations are read, and whether its record says its class.
    current_set: SetId,
    set_has_class: bool,
    /// Block and opcode of the instruction that is read.
    current_block: BlockId,
    current_opcode: InstructionType,
    /// The op that is read is a copy of another one, of which some members are read anew.
    op_is_copy: bool,
    /// The channel of the collective that is read is an expression, the older form.
    channel_is_expr: bool,
    /// Blocks of a body that were read before the opcode.
    body: Option<instruction::Body>,
    /// Number of the function or queue that is read.
    scope: u32,
    /// Other threads that read what comes.
    ahead: Option<Ahead>,
    /// What is noted where this reads a piece for another reader.
    trace: Option<Trace>,
    /// Grows with each name and each reference that is read, but for names of instructions where they are expected.
    marks: u32,
}

/// A type that a member may have.
pub(crate) trait Read: Sized {
    fn read(r: &mut Reader<'_>) -> Result<Self>;
}

/// A record whose members are fields.
pub(crate) trait ReadRecord: Default + Fields {
    /// Descriptions of the fields, in the order of the indexes that [`ReadRecord::find`] gives.
    const SPECS: &'static [FieldSpec];
    /// Fields, as a bit set, whose misfitting values are kept as unknown members.
    const MISFIT: u64;
    /// Index that [`ReadRecord::find`] gives for the member that only says which record it is.
    const TAG: usize = 63;

    /// Index of the field of a key.
    fn find(key: &[u8]) -> Option<usize>;
    /// Reads the value of a field.
    fn read_field(&mut self, index: usize, r: &mut Reader<'_>) -> Result<()>;
    /// Notes that null was read for a field.
    fn read_null(&mut self, _index: usize) {}
    /// The presence bits.
    fn presence(&mut self) -> &mut Presence;
    /// Where unknown members go; `None` for ops, whose instruction has them.
    fn extra_mut(&mut self) -> Option<&mut Extra>;
}

/// Fields without which a record is incomplete, as a bit set.
const fn required(specs: &[FieldSpec]) -> u64 {
    let mut mask = 0;
    let mut i = 0;
    while i < specs.len() {
        mask |= (specs[i].required as u64) << i;
        i += 1;
    }
    mask
}

/// A member of an instruction that is not in the header: its value is read when the opcode is known.
pub(crate) struct Member<'a> {
    key: Cow<'a, str>,
    key_at: usize,
    value_at: usize,
}

type OpMembers<'a> = SmallVec<[Member<'a>; 16]>;

impl<'a> Reader<'a> {
    fn new(text: &'a str, options: ReadOptions, progress: &'a mut dyn FnMut(usize)) -> Reader<'a> {
        Reader {
            progress,
            progress_at: PROGRESS_STEP,
            lexer: Lexer::new(text),
            module: Module::default(),
            oddities: Oddities::default(),
            options,
            positions: Positions::default(),
            version: None,
            first_exprs: FirstExprs::default(),
            again: false,
            wrong_body: false,
            careful: false,
            holder: Holder::Function(Id::new(0)),
            outermost: Holder::Function(Id::new(0)),
            locations: SymMap::default(),
            sets: SymMap::default(),
            registers: SymMap::default(),
            all_locations: SymMap::default(),
            all_sets: SymMap::default(),
            all_registers: SymMap::default(),
            nki_first: false,
            early_names: Vec::new(),
            queue_table: SymMap::default(),
            queues_read: hashbrown::HashSet::new(),
            function_read: false,
            inst_table: SymMap::default(),
            pending: Vec::new(),
            searches: 0,
            inst_names: InstNames::default(),
            known_arguments: KnownTexts::default(),
            templates: Templates::default(),
            known_debug: KnownTexts::default(),
            edges: Vec::new(),
            edge_extras: Vec::new(),
            aliases: Vec::new(),
            resolved: Default::default(),
            current_location: None,
            current_set: Id::new(0),
            set_has_class: false,
            current_block: Id::new(0),
            current_opcode: InstructionType::Generic,
            op_is_copy: false,
            channel_is_expr: false,
            body: None,
            scope: 0,
            ahead: None,
            trace: None,
            marks: 0,
        }
    }

    fn load(&mut self) -> Result<Loaded> {
        let wrapped = self.document()?;
        self.lexer.end()?;
        self.check_versions()?;
        self.resolve()?;
        if self.options.strict
            && let Some(oddity) = self.oddities.first_strict()
        {
            return Err(ReadErrorKind::Strict(oddity.message.clone()).at(oddity.offset));
        }
        Ok(Loaded {
            module: std::mem::take(&mut self.module),
            positions: std::mem::take(&mut self.positions),
            oddities: std::mem::take(&mut self.oddities),
            wrapped,
        })
    }

    /// Tells how far the reader is, when it is time to.
    #[inline]
    fn tell_progress(&mut self) {
        if self.lexer.pos() >= self.progress_at {
            (self.progress)(self.lexer.pos());
            self.progress_at = self.lexer.pos() + PROGRESS_STEP;
        }
    }

    /// Reads the document; says whether the module was wrapped.
    fn document(&mut self) -> Result<bool> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("a module: an object with the key `functions`");
        }
        let start = self.lexer.pos();
        // The first key of importance tells: a wrapper has `module`, a bare module has `functions`.
        let (mut bare, mut wrapped) = (false, false);
        let mut beside: Vec<(Cow<'_, str>, usize)> = Vec::new();
        self.each_member(|r, key, at| {
            match &*key {
                "functions" if !wrapped => bare = true,
                "module" => {
                    r.again |= wrapped;
                    wrapped = true;
                    r.lexer.peek();
                    let module = r.lexer.pos();
                    r.root()?;
                    if r.module.root.functions.is_empty() && !r.has_key_at(module, "functions")? {
                        return Err(ReadErrorKind::MissingKey("functions").at(module));
                    }
                }
                _ => {
                    beside.push((key, at));
                    r.lexer.skip_value()?;
                }
            }
            Ok(!bare)
        })?;
        if wrapped {
            self.members_beside_the_module(&beside);
        }
        if bare {
            self.lexer.seek(start);
            self.lexer.set_depth(0);
            self.root()?;
        } else if !wrapped {
            return Err(ReadErrorKind::MissingKey("functions").at(start));
        }
        Ok(wrapped)
    }

    /// A wrapper says nothing but which member the module is; what else stands in it is not kept.
    fn members_beside_the_module(&mut self, members: &[(Cow<'_, str>, usize)]) {
        let mut keys = hashbrown::HashSet::new();
        for (key, at) in members {
            self.again |= !keys.insert(key);
            self.oddity(OddityKind::UnknownMember, *at, || {
                format!("unknown member `{key}` beside `module`; it is not kept")
            });
        }
    }

    /// Whether the object at an offset has a key.
    fn has_key_at(&self, object: usize, key: &str) -> Result<bool> {
        let mut ahead = self.lexer.clone();
        ahead.seek(object);
        ahead.enter()?;
        if ahead.take(b'}') {
            return Ok(false);
        }
        loop {
            if ahead.key()? == key {
                return Ok(true);
            }
            ahead.skip_value()?;
            if !ahead.next_member()? {
                return Ok(false);
            }
        }
    }

    fn root(&mut self) -> Result<()> {
        self.module.root = self.record("an object: the module")?;
        Ok(())
    }

    pub(crate) fn oddity(&mut self, kind: OddityKind, offset: usize, message: impl FnOnce() -> String) {
        self.oddities.add(kind, offset, message);
    }

    /// Reads a value of any type that the tables have.
    #[inline]
    pub(crate) fn get<T: Read>(&mut self) -> Result<T> {
        T::read(self)
    }

    /// Calls `member` for each member of an object, with the lexer at the value. `member` gives false to stop;
    /// the lexer is then wherever it was left.
    #[inline(always)]
    pub(crate) fn each_member(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>, usize) -> Result<bool>,
    ) -> Result<()> {
        self.lexer.enter()?;
        if !self.lexer.take(b'}') {
            loop {
                self.lexer.peek();
                let at = self.lexer.pos();
                let key = match self.lexer.plain_key() {
                    Some(key) => Cow::Borrowed(key),
                    None => self.lexer.key()?,
                };
                if !member(self, key, at)? {
                    return Ok(());
                }
                if !self.lexer.next_member()? {
                    break;
                }
            }
        }
        self.lexer.leave();
        Ok(())
    }

    /// Calls `element` for each element of an array.
    #[inline(always)]
    pub(crate) fn each_element(
        &mut self,
        expected: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if self.lexer.peek() != b'[' {
            return self.lexer.wrong_type(expected);
        }
        self.lexer.enter()?;
        if !self.lexer.take(b']') {
            loop {
                element(self)?;
                if !self.lexer.next_element()? {
                    break;
                }
            }
        }
        self.lexer.leave();
        Ok(())
    }

    /// Reads a record with its unknown members.
    pub(crate) fn record<T: ReadRecord>(&mut self, expected: &'static str) -> Result<T> {
        let mut record = T::default();
        self.record_into(&mut record, expected)?;
        Ok(record)
    }

    pub(crate) fn record_into<T: ReadRecord>(
        &mut self,
        record: &mut T,
        expected: &'static str,
    ) -> Result<()> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type(expected);
        }
        *record.presence() = Presence::NONE;
        let start = self.lexer.pos();
        let mut seen = 0;
        self.each_member(|r, key, at| {
            match T::find(key.as_bytes()) {
                Some(index) => r.known_member(record, index, &key, at, &mut seen, None)?,
                None => {
                    let value = r.value()?;
                    r.keep(record.extra_mut(), None, OddityKind::UnknownMember, &key, at, value);
                }
            }
            Ok(true)
        })?;
        self.again |= record.extra_mut().is_some_and(|extra| extra.sort());
        self.check_required(T::SPECS, const { required(T::SPECS) }, seen, start);
        Ok(())
    }

    /// Reads members of an instruction that belong to its op; the rest become unknown members.
    pub(crate) fn op_members<T: ReadRecord>(
        &mut self,
        op: &mut T,
        members: &[Member<'_>],
        extra: &mut Extra,
    ) -> Result<()> {
        let whole = !std::mem::take(&mut self.op_is_copy);
        if whole {
            *op.presence() = Presence::NONE;
        }
        let mut seen = 0;
        for member in members {
            match T::find(member.key.as_bytes()) {
                Some(index) => {
                    self.lexer.seek(member.value_at);
                    self.known_member(op, index, &member.key, member.key_at, &mut seen, Some(extra))?;
                }
                None => self.unknown_op_member(member, extra)?,
            }
        }
        if whole {
            let start = match self.holder {
                Holder::Inst(inst) => self.positions.inst(inst).unwrap_or(0),
                _ => 0,
            };
            self.check_required(T::SPECS, const { required(T::SPECS) }, seen, start);
        }
        Ok(())
    }

    pub(crate) fn unknown_op_member(&mut self, member: &Member<'_>, extra: &mut Extra) -> Result<()> {
        self.lexer.seek(member.value_at);
        let value = self.value()?;
        let kind = match self.current_opcode {
            // All keys of an op that nobody knows are its content.
            InstructionType::Other(_) => {
                extra.push(&member.key, value);
                return Ok(());
            }
            opcode if legacy::is_legacy_key(opcode, &member.key) => OddityKind::LegacyForm,
            _ => OddityKind::UnknownMember,
        };
        self.keep(None, Some(extra), kind, &member.key, member.key_at, value);
        Ok(())
    }

    fn keep(
        &mut self,
        own: Option<&mut Extra>,
        given: Option<&mut Extra>,
        kind: OddityKind,
        key: &str,
        at: usize,
        value: Value,
    ) {
        let Some(extra) = own.or(given) else { return };
        extra.push(key, value);
        self.oddity(kind, at, || match kind {
            OddityKind::Misfit => format!("the value of `{key}` does not fit its type"),
            OddityKind::LegacyForm => format!("older key `{key}`"),
            _ => format!("unknown member `{key}`"),
        });
    }

    fn check_required(&mut self, specs: &'static [FieldSpec], required: u64, seen: u64, start: usize) {
        let mut missing = required & !seen;
        while missing != 0 {
            let key = specs[missing.trailing_zeros() as usize].key;
            self.oddity(OddityKind::MissingKey, start, || format!("missing key `{key}`"));
            missing &= missing - 1;
        }
    }

    /// Reads the value of a known member into its field.
    fn known_member<T: ReadRecord>(
        &mut self,
        record: &mut T,
        index: usize,
        key: &str,
        key_at: usize,
        seen: &mut u64,
        extra: Option<&mut Extra>,
    ) -> Result<()> {
        self.again |= *seen >> index & 1 == 1;
        *seen |= 1 << index;
        if index == T::TAG {
            return match self.lexer.peek() {
                b'"' => self.lexer.string().map(drop),
                b'n' => self.lexer.literal("null"),
                _ => self.lexer.wrong_type("a string"),
            };
        }
        if self.lexer.peek() == b'n' {
            self.lexer.literal("null")?;
            if !T::SPECS[index].null_ok {
                self.misplaced_null(key, key_at);
            }
            record.read_null(index);
            return Ok(());
        }
        if T::MISFIT >> index & 1 == 0 {
            return record.read_field(index, self);
        }
        let (value_at, depth, exprs) = (self.lexer.pos(), self.lexer.depth(), self.first_exprs);
        let Err(error) = record.read_field(index, self) else { return Ok(()) };
        if error.kind.is_syntax() || matches!(error.kind, ReadErrorKind::Limit { .. }) {
            return Err(error);
        }
        self.lexer.seek(value_at);
        self.lexer.set_depth(depth);
        self.first_exprs = exprs;
        record.reset(index);
        let value = self.value()?;
        self.keep(record.extra_mut(), extra, OddityKind::Misfit, key, key_at, value);
        Ok(())
    }

    fn misplaced_null(&mut self, key: &str, at: usize) {
        self.oddity(OddityKind::MisplacedNull, at, || format!("null for `{key}`, which may not be null"));
    }

    #[inline]
    pub(crate) fn sym(&mut self, expected: &'static str) -> Result<Sym> {
        if self.lexer.peek() != b'"' {
            return self.lexer.wrong_type(expected);
        }
        match self.lexer.plain_string() {
            Some(text) => self.intern(text),
            None => {
                let text = self.lexer.string()?;
                self.intern(&text)
            }
        }
    }

    /// Notes that what is read holds names or ids of this reader.
    #[inline]
    fn mark(&mut self) {
        self.marks = self.marks.wrapping_add(1);
    }

    /// Takes back the mark of a name that was just read and that nothing holds.
    #[inline]
    fn unmark(&mut self) {
        self.marks = self.marks.wrapping_sub(1);
    }

    pub(crate) fn intern(&mut self, text: &str) -> Result<Sym> {
        if self.module.names.len() >= bir::edges::Edge::MAX_TARGETS {
            return Err(ReadErrorKind::Limit {
                what: "distinct names",
                limit: bir::edges::Edge::MAX_TARGETS,
            }
            .at(self.lexer.pos()));
        }
        self.mark();
        Ok(self.module.names.intern(text))
    }

    #[inline]
    pub(crate) fn open_enum<E: OpenEnum>(&mut self) -> Result<E> {
        let at = {
            self.lexer.peek();
            self.lexer.pos()
        };
        if self.lexer.peek() == b'"'
            && let Some(name) = self.lexer.plain_string()
            && let Some(value) = E::parse(name)
        {
            return Ok(value);
        }
        self.lexer.seek(at);
        self.odd_enum()
    }

    /// A name that the table does not have, an escaped one, or a number.
    #[cold]
    fn odd_enum<E: OpenEnum>(&mut self) -> Result<E> {
        match self.lexer.peek() {
            b'"' => {
                let at = self.lexer.pos();
                let name = self.lexer.string()?;
                if let Some(value) = E::parse(&name) {
                    return Ok(value);
                }
                let what = if E::LEGACY.contains(&&*name) { "an older name" } else { "unknown name" };
                self.oddity(OddityKind::UnknownName, at, || format!("{what} of {}: `{name}`", E::ENUM));
                Ok(E::other(self.intern(&name)?))
            }
            b'-' | b'0'..=b'9' if E::READ_ORDINAL => {
                let at = self.lexer.pos();
                let number: u64 = self.get()?;
                E::from_ordinal(number).ok_or_else(|| {
                    ReadErrorKind::UnknownName { what: E::ENUM, name: number.to_string() }.at(at)
                })
            }
            _ => self.lexer.wrong_type("a string: a name of an enum"),
        }
    }

    pub(crate) fn version(&mut self) -> Result<u32> {
        let version = self.get()?;
        self.version = Some(version);
        Ok(version)
    }

    /// The version matters only where an expression is decoded. It stands at the end of most documents, so
    /// expressions are told apart by their form, and the version is checked afterwards. spec: bir-json 12
    fn check_versions(&self) -> Result<()> {
        let version = self.version.unwrap_or(2);
        match (version, self.first_exprs.any, self.first_exprs.version_1) {
            (1, ..) | (_, None, _) | (2, _, None) => Ok(()),
            (2, _, Some(at)) => Err(ReadErrorKind::Invalid(
                "an expression without `kind`: that is the encoding of version 1, the document says 2".into(),
            )
            .at(at)),
            (other, Some(at), _) => Err(ReadErrorKind::Version(other).at(at)),
        }
    }

    pub(crate) fn free_members(&mut self) -> Result<Members> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("an object");
        }
        match self.value()? {
            Value::Object(members) => Ok(members),
            _ => unreachable!("the value starts with a brace"),
        }
    }
}
