//! What is checked, and how strictly.

use bir::diag::Severity;

use crate::rule::RuleId;

/// Instructions of a function after unrolling that are too many. spec: verify 12, MOD-08
pub const INSTRUCTION_LIMIT: u64 = 5_000_000;

/// What is checked, and how strictly.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rules that are not sure give errors too.
    pub strict: bool,
    /// When not empty, these rules only.
    pub only: Vec<RuleId>,
    /// Rules that are not checked.
    pub allow: Vec<RuleId>,
    /// Rules whose findings are errors.
    pub deny: Vec<RuleId>,
    /// Whether warnings are errors.
    pub deny_warnings: bool,
    /// Whether reads of storage that nothing has written are reported (MOD-03).
    pub uninitialised_reads: bool,
    /// Number of cores of the program, when it is known (SB2SB-01).
    pub cores: Option<usize>,
    /// Instructions of a function after unrolling that are too many (MOD-08).
    pub instruction_limit: u64,
    /// Semaphore id from which on none may be used (SYNC-02); not checked without it.
    pub semaphore_limit: Option<u32>,
    /// Whether to use all cores of the machine.
    pub parallel: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: false,
            only: Vec::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            deny_warnings: false,
            uninitialised_reads: false,
            cores: None,
            instruction_limit: INSTRUCTION_LIMIT,
            semaphore_limit: None,
            parallel: true,
        }
    }
}

impl Options {
    /// Whether a rule is asked for.
    pub fn is_on(&self, rule: RuleId) -> bool {
        (self.only.is_empty() || self.only.contains(&rule)) && !self.allow.contains(&rule)
    }

    /// Severity after `deny`.
    pub(crate) fn raise(&self, rule: Option<RuleId>, severity: Severity) -> Severity {
        let denied = rule.is_some_and(|rule| self.deny.contains(&rule));
        let warning = self.deny_warnings && severity == Severity::Warning;
        if denied || warning { Severity::Error } else { severity }
    }
}
