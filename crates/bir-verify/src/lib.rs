//! Is a module legal, and if not, exactly why: the rules of the specification, checked over a module or over the
//! modules of several cores. Findings are [`Diagnostic`]s; how they are printed is not known here.

mod codes;
mod context;
mod dispatch;
mod document;
mod explain;
mod findings;
mod generated;
mod known;
mod options;
mod rule;
mod rules;
mod run;
mod starts;
mod survey;
mod twice;
mod view;

#[doc(no_inline)]
pub use bir::diag::Diagnostic;
pub use codes::VendorCode;
pub use explain::{Part, Topic, explain, spells};
pub use generated::rules::ids;
pub use options::{INSTRUCTION_LIMIT, Options};
pub use rule::{Checkable, Layer, OpSet, RuleId, RuleInfo};
pub use rules::implemented;
pub use run::{Outcome, verify, verify_cores, verify_loaded};
