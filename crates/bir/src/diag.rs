//! Diagnostics: what a checker has found, where, how bad it is, and what to do about it. Checkers make them from ids
//! of a module; [`Report`] is one with names, ready to be printed.

mod names;

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::conf::Conf;
use crate::ids::{BlockId, FuncId, InstId, LocId, QueueId, RegId, SetId};
use crate::inst::OperandList;

pub use names::{DisplayNames, NamedOperand, NamedPlace, NamedRelated, Report};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Suspicious, or a rule that is not sure.
    Warning,
    /// A violation.
    Error,
}

impl Severity {
    /// Severity of a violation of a rule: an error when the rule is sure, or when `strict` makes it one.
    pub fn of_rule(conf: Conf, strict: bool) -> Severity {
        if conf.is_firm() || strict { Severity::Error } else { Severity::Warning }
    }

    /// `error`, `warning` or `note`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A finding.
///
/// ```
/// use bir::diag::{Diagnostic, DisplayNames, Place, Severity};
/// use bir::{Instruction, Module, Op, OperandList, enums::*, ids::*, records::*, Holder};
/// # let mut module = Module::new(ArchLevel::Gen3);
/// # let main = module.names.intern("main");
/// # let function = module.add_func(Function { name: main, ..Default::default() });
/// # module.root.functions.push(function);
/// # let name = module.names.intern("b0");
/// # let block = module.add_block(Block { name, holder: Holder::Function(function), ..Default::default() });
/// # module[function].blocks.push(block);
/// # let name = module.names.intern("mm");
/// # let mut inst = Instruction::new(name, block, Op::new(InstructionType::Matmult));
/// # inst.engine = EngineType::PE;
/// # let inst = module.add_inst(inst);
/// # module[block].instructions.push(inst);
/// let place = Place::operand(inst, OperandList::Ins, 1);
/// let finding = Diagnostic::error("MM-02", place, "the stationary tensor is in PSUM")
///     .help("copy it to SB first")
///     .vendor("310", "actual memory type PSUM");
/// let report = finding.report(&module, &DisplayNames::of(&module));
/// assert_eq!(report.to_string(), "error[MM-02/310] main/b0/mm#0 Matmult@PE ins[1]: the stationary tensor is in PSUM");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// Id of the rule, such as `PART-04`.
    pub code: Cow<'static, str>,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What is wrong there, without the place.
    pub message: String,
    /// Other places that belong to it.
    pub related: Vec<Related>,
    /// Remarks.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<Cow<'static, str>>,
    /// How the vendor's tool says the same.
    pub vendor: Option<Vendor>,
    /// Number of findings that this one stands for.
    pub count: u32,
}

/// How the vendor's tool says the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vendor {
    /// Its number; may be empty.
    pub code: Cow<'static, str>,
    /// Its wording, which is what people search for; may be empty.
    pub text: Cow<'static, str>,
}

/// Another place that belongs to a finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Related {
    /// What is there, such as `the other writer`.
    pub label: Cow<'static, str>,
    /// The place.
    pub place: Place,
}

impl Diagnostic {
    /// A finding of a severity.
    pub fn new(
        severity: Severity,
        code: impl Into<Cow<'static, str>>,
        place: Place,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            code: code.into(),
            severity,
            place,
            message: message.into(),
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
            vendor: None,
            count: 1,
        }
    }

    /// An error.
    pub fn error(code: impl Into<Cow<'static, str>>, place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, place, message)
    }

    /// A warning.
    pub fn warning(
        code: impl Into<Cow<'static, str>>,
        place: Place,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, place, message)
    }

    /// A note.
    pub fn note(code: impl Into<Cow<'static, str>>, place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, place, message)
    }

    /// Adds a remark.
    pub fn remark(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Says what to do about it.
    pub fn help(self, help: impl Into<Cow<'static, str>>) -> Diagnostic {
        Diagnostic { help: Some(help.into()), ..self }
    }

    /// Adds the vendor's number and wording; either may be empty.
    pub fn vendor(
        self,
        code: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Diagnostic {
        Diagnostic { vendor: Some(Vendor { code: code.into(), text: text.into() }), ..self }
    }

    /// Adds another place that belongs to it.
    pub fn related(mut self, label: impl Into<Cow<'static, str>>, place: Place) -> Diagnostic {
        self.related.push(Related { label: label.into(), place });
        self
    }

    /// Makes findings of the same code, severity and message one, at the place of the first, and counts them.
    pub fn fold_repeats(findings: &mut Vec<Diagnostic>) {
        let mut folded: Vec<Diagnostic> = Vec::new();
        let mut first = HashMap::<(Cow<'static, str>, Severity, String), usize>::new();
        for finding in findings.drain(..) {
            let key = (finding.code.clone(), finding.severity, finding.message.clone());
            let at = *first.entry(key).or_insert(folded.len());
            match folded.get_mut(at) {
                Some(first) => first.count += finding.count,
                None => folded.push(finding),
            }
        }
        *findings = folded;
    }
}

/// A place in a module, by ids. Only the innermost object is held; what it stands in follows from the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// Index of the module when several make one program, one module for each core.
    pub core: Option<u16>,
    /// What the finding is about.
    pub subject: Subject,
    /// An operand of the instruction, with its place in its list.
    pub operand: Option<(OperandList, usize)>,
    /// Storage that the finding is about, beside the subject.
    pub storage: Option<StorageRef>,
    /// The DMATrigger that starts the transfer, when the subject is its DMABlock.
    pub trigger: Option<InstId>,
}

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Subject {
    /// The module as a whole.
    #[default]
    Module,
    /// A function.
    Function(FuncId),
    /// A queue.
    Queue(QueueId),
    /// A block.
    Block(BlockId),
    /// An instruction.
    Inst(InstId),
}

/// Storage that a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageRef {
    /// A memory location.
    Location(LocId),
    /// A memory-location set.
    Set(SetId),
    /// A register.
    Register(RegId),
}

macro_rules! into {
    ($($id:ty => $enum:ident::$variant:ident;)*) => {$(
        impl From<$id> for $enum {
            fn from(id: $id) -> $enum {
                $enum::$variant(id)
            }
        }
    )*};
}

into! {
    FuncId => Subject::Function;
    QueueId => Subject::Queue;
    BlockId => Subject::Block;
    InstId => Subject::Inst;
    LocId => StorageRef::Location;
    SetId => StorageRef::Set;
    RegId => StorageRef::Register;
}

impl Place {
    /// The module as a whole.
    pub fn module() -> Place {
        Place::default()
    }

    /// A function, queue, block or instruction.
    pub fn of(subject: impl Into<Subject>) -> Place {
        Place { subject: subject.into(), ..Place::default() }
    }

    /// A memory location, set or register.
    pub fn storage(storage: impl Into<StorageRef>) -> Place {
        Place { storage: Some(storage.into()), ..Place::default() }
    }

    /// An operand of an instruction.
    pub fn operand(inst: InstId, list: OperandList, index: usize) -> Place {
        Place { operand: Some((list, index)), ..Place::of(inst) }
    }

    /// The same place, about a memory location, set or register.
    pub fn about(self, storage: impl Into<StorageRef>) -> Place {
        Place { storage: Some(storage.into()), ..self }
    }

    /// The same place in the module of a core.
    pub fn on_core(self, core: u16) -> Place {
        Place { core: Some(core), ..self }
    }

    /// The same place, of a transfer that a DMATrigger starts.
    pub fn started_by(self, trigger: InstId) -> Place {
        Place { trigger: Some(trigger), ..self }
    }

    /// The instruction, when it is one: a caller finds its position in a file by this id.
    pub fn inst(&self) -> Option<InstId> {
        match self.subject {
            Subject::Inst(inst) => Some(inst),
            _ => None,
        }
    }
}
