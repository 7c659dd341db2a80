//! Checks of a file: what the 2.24 consumer refuses, misreads or can't resolve (spec: klr 9).
//!
//! ```
//! use klr::ir::{Block, Kernel, LoadMaskRegister, Operator, Pos, Stmt};
//!
//! let pos = Pos { line: 1, column: 0, line_end: None, column_end: None, filename: None };
//! let op = Operator::LoadMaskRegister(&LoadMaskRegister { reg_num: 3 });
//! let kernel = Kernel {
//!     name: "k",
//!     inputs: &[],
//!     outputs: &[],
//!     body: &[Block { label: "bb0", no_reorder: false, body: &[Stmt::Oper { op, name: None, pos }] }],
//! };
//! let findings = klr::lint::lint(&klr::File::new(klr::Contents::Kernel(&kernel)));
//! assert_eq!(findings.len(), 1);
//! assert_eq!(
//!     findings[0].to_string(),
//!     "error[KLR005]: operator loadMaskRegister (kind 17) has no BIR form, in contents.kernel.kernel.body[0].body[0]"
//! );
//! ```

mod body;
mod walk;

use std::fmt;

use crate::container::{Contents, File};
use crate::node::{Node, Tree};
use walk::Walk;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The consumer takes the file but not what it says, or a condition of the producer is broken.
    Warning,
    /// The consumer refuses the file.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A check.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its code, for example `KLR005`.
    pub code: &'static str,
    /// How bad what it finds is.
    pub severity: Severity,
    /// What must hold.
    pub title: &'static str,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub rule: &'static Rule,
    /// Where, from the outermost value.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Finding {
    /// The code of the check.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.rule.code
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.rule.severity
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity().name(), self.code(), self.message)?;
        if !self.path.is_empty() {
            write!(f, ", in {}", self.path)?;
        }
        Ok(())
    }
}

macro_rules! rules {
    ($($name:ident $code:literal $severity:ident $title:literal;)*) => {
        $(static $name: Rule = Rule { code: $code, severity: Severity::$severity, title: $title };)*

        /// All checks, in the order of their codes.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    REGISTER "KLR001" Error "a register that is read is written somewhere in the body";
    LABEL "KLR002" Error "a branch goes to a block of the body";
    EDGE "KLR003" Error "an edge names statements of the kernel";
    DUPLICATE_LABEL "KLR004" Error "the labels of blocks differ";
    OPERATOR "KLR005" Error "the operator has a BIR form";
    TENSOR_FORM "KLR006" Error "a tensor reference is abstract or hbm, an access simple or birPattern";
    IMMEDIATE_FORM "KLR007" Error "an immediate is an int32 or a float32";
    DYNAMIC "KLR008" Error "dynamic accesses are where they are allowed, with one offset, on one side";
    TILE "KLR009" Error "the tile lists of a matrix product have two elements";
    REPLICA_GROUP "KLR010" Error "the replica group of a collective is literal";
    ACCUMULATE "KLR011" Error "the accumulation command is not LoadAccumulate";
    TRANSPOSE_ENGINE "KLR012" Error "transpose is not on engine pe";
    DMA_ENGINE "KLR013" Error "a DMA copy names an engine only with hardware descriptor generation (dgeMode 2)";
    DMA_DYNAMIC "KLR014" Error "a dynamic DMA copy has descriptor generation (dgeMode other than 3)";
    DMA_RANK "KLR015" Error "both patterns of dmaTranspose have four pairs";
    NO_REORDER "KLR016" Error "a noReorder block ends in an unconditional branch";
    WIDTH "KLR017" Warning "numbers fit the 32 bits that the consumer keeps";
    CONDITION "KLR018" Warning "tensors fit their addresses, slices move, accesses have an index for each dimension";
    NUL "KLR019" Warning "strings hold no NUL, at which the consumer cuts them";
    SCHEMA "KLR020" Warning "records are of one schema";
}

/// All findings in a file, in the order of the file. Front-end trees have none but those of the file itself: the
/// consumer does not read them.
#[must_use]
pub fn lint(file: &File<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    lint_with(file, &mut |finding| findings.push(finding));
    findings
}

/// As [`lint`], but each finding is passed on as it is found.
pub fn lint_with(file: &File<'_>, found: &mut dyn FnMut(Finding)) {
    let mut walk = Walk::new(found);
    walk.at("file");
    file.header.write(&mut walk);
    walk.at("metadata");
    file.metadata.write(&mut walk);
    match &file.contents {
        Contents::Kernel(kernel) => body::kernel(kernel, "contents.kernel.kernel", &mut walk),
        Contents::Lnc(kernel) => body::lnc(kernel, "contents.lnc.kernel", &mut walk),
        Contents::Mislabelled { kernel, row } => {
            body::kernel(kernel, &format!("contents.{}.kernel", row.contents), &mut walk);
        }
        _ => {}
    }
    walk.at("contents");
    walk.finish();
}

/// The findings that a bare value shows by itself: forms, widths and conditions, not names that it refers to.
#[must_use]
pub fn lint_value(value: &dyn Tree<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push = |finding| findings.push(finding);
    let mut walk = Walk::new(&mut push);
    walk.forms = true;
    value.emit(&mut walk);
    walk.finish();
    findings
}
