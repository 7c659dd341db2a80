//! Ordering check: does every pair of operations that touch the same bytes run in a fixed order?
//!
//! [`program`] is what is checked, in terms of neither BIR nor any other format. [`check`] finds what is unordered.
//! [`bir_module`] fills a program from modules and says the findings in their terms.

mod bind;
pub mod bir_module;
mod cells;
mod check;
mod clocks;
mod codes;
mod conflicts;
mod explain;
mod finding;
mod line;
mod logs;
mod loops;
mod moves;
mod packed;
pub mod program;
mod schedules;
mod trace;

pub use check::{ClassedPair, Options, Outcome, RedundantWait, Verdict, check};
pub use codes::{CodeInfo, codes};
pub use explain::{Explanation, Step, explain};
pub use finding::{Carried, Common, Finding, Hazard, Party, Repair, Tag, WaitFact};
pub use line::{Line, WaitLine};
