//! What is known of a rule: the rows of the table, and handles to them.

use std::fmt;

use bir::diag::Severity;
use bir::enums::{EngineType, InstructionType};
use bir::operands::Memories;
use bir::{Conf, OpenEnum};

use crate::generated::rules::{OPS, RULES};

/// A handle of a rule. [`ids`](crate::ids) has one for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u16);

impl RuleId {
    /// Number of rules.
    pub const COUNT: usize = RULES.len();

    /// The rule of an id such as `PART-04`, in any case.
    pub fn parse(id: &str) -> Option<RuleId> {
        let at = RULES.iter().position(|rule| rule.id.eq_ignore_ascii_case(id))?;
        Some(RuleId(at as u16))
    }

    /// What is known of it.
    pub fn info(self) -> &'static RuleInfo {
        &RULES[self.index()]
    }

    /// Its place in the table, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Every rule, in the order of the table.
    pub fn all() -> impl Iterator<Item = RuleId> {
        (0..Self::COUNT).map(|at| RuleId(at as u16))
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().id)
    }
}

/// A rule, a row of the table.
#[derive(Debug)]
pub struct RuleInfo {
    /// Id, such as `PART-04`.
    pub id: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What kind of rule it is.
    pub layer: Layer,
    /// What it applies to.
    pub ops: OpSet,
    /// What must hold.
    pub check: &'static str,
    /// Severity of a violation when the rule is sure.
    pub severity: Severity,
    /// How sure the rule is.
    pub conf: Conf,
    /// Whether it can be decided.
    pub checkable: Checkable,
    /// What is missing to decide it, and what is checked instead; may be empty.
    pub needs: &'static str,
    /// Lowest arch level that it applies to; 0 for all.
    pub arch_min: u32,
    /// Number of the vendor's assertion; may be empty.
    pub code: &'static str,
    /// Fragments of the vendor's message.
    pub diag: &'static [&'static str],
    /// Public error numbers of the same condition.
    pub public: &'static [&'static str],
    /// Code under which the order command reports it.
    pub order_code: Option<&'static str>,
    /// The rule that is checked in its place.
    pub superseded_by: Option<&'static str>,
    /// Remark; may be empty.
    pub note: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// What kind of rule it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// L1: of a module.
    Module,
    /// L2: of encoded words.
    Word,
    /// LNC: of the modules of several cores.
    Cores,
    /// ISA: documented for kernels.
    Documented,
    /// OWN: the project's.
    Own,
}

impl Layer {
    /// What the layer asks, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Layer::Module => "of the compiler's module verifier",
            Layer::Word => "of the validator of instruction words",
            Layer::Cores => "of modules that are the cores of one program",
            Layer::Documented => "documented for kernels",
            Layer::Own => "of this program: every IR needs it",
        }
    }
}

/// Whether a rule can be decided with what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checkable {
    /// Yes.
    Full,
    /// In part.
    Partial,
    /// No: nothing is checked.
    No,
}

/// What a rule applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpSet {
    /// Every instruction.
    Any,
    /// The module.
    Module,
    /// The modules of several cores.
    Cores,
    /// Instructions that write where they read.
    InPlace,
    /// Instructions with index operands.
    Indirect,
    /// Instructions of these ops.
    Of(&'static [InstructionType]),
}

impl RuleInfo {
    pub(crate) const fn plain(
        id: &'static str,
        layer: Layer,
        ops: OpSet,
        check: &'static str,
        conf: Conf,
    ) -> RuleInfo {
        RuleInfo {
            id,
            title: "",
            layer,
            ops,
            check,
            severity: Severity::Error,
            conf,
            checkable: Checkable::Full,
            needs: "",
            arch_min: 0,
            code: "",
            diag: &[],
            public: &[],
            order_code: None,
            superseded_by: None,
            note: "",
            source: "",
        }
    }

    /// Its family: `PART` of `PART-04`.
    pub fn family(&self) -> &'static str {
        self.id.split('-').next().unwrap_or(self.id)
    }

    /// Severity of a violation: that of the row, but no more than a warning when the rule is not sure, unless
    /// `strict`.
    pub fn severity(&self, strict: bool) -> Severity {
        self.severity.min(Severity::of_rule(self.conf, strict))
    }

    /// The vendor's number that people see: a public one, else that of the assertion; may be empty.
    pub fn vendor_code(&self) -> &'static str {
        self.public.first().copied().unwrap_or(self.code)
    }
}

/// Engines, memories and architectures of an op, as the verifier of the reference has them.
#[derive(Debug)]
pub(crate) struct OpRow {
    pub(crate) op: InstructionType,
    pub(crate) engines: &'static [EngineType],
    pub(crate) arch_min: u32,
    pub(crate) arch_max: Option<u32>,
    pub(crate) mem_in: Memories,
    pub(crate) mem_out: Memories,
    pub(crate) conf: Conf,
    pub(crate) note: &'static str,
}

impl OpRow {
    /// The row of an op; many have none.
    pub(crate) fn of(op: InstructionType) -> Option<&'static OpRow> {
        OPS.get(op.ordinal()? as usize)?.as_ref()
    }
}
