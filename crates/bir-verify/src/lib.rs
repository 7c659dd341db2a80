//! Is a module legal, and if not, exactly why: the rules of the specification, checked over a module or over the
//! modules of several cores. Findings are [`Diagnostic`]s; how they are printed is not known here.

mod context;
mod document;
mod findings;
mod generated;
mod options;
mod rule;
mod rules;
mod run;
mod view;

#[doc(no_inline)]
pub use bir::diag::Diagnostic;
pub use generated::rules::ids;
pub use options::{INSTRUCTION_LIMIT, Options};
pub use rule::{Checkable, Layer, OpSet, RuleId, RuleInfo};
pub use rules::implemented;
pub use run::{Outcome, verify, verify_cores, verify_loaded};
