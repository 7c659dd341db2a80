//! Faults that several rules see: of what says the same of one thing, the rule that knows most about it is kept.

use std::borrow::Cow;

use bir::diag::{Diagnostic, Severity};
use bir::ids::InstId;
use bir::{Module, OpenEnum, OperandList};
use hashbrown::HashMap;

use crate::ids::*;
use crate::rule::RuleId;

/// A rule that has nothing to add where another one speaks.
struct Covered {
    rule: RuleId,
    by: &'static [RuleId],
    /// Only about the same operand.
    same_operand: bool,
}

/// Rules about the engine of an op or a few.
const OWN_ENGINE: &[RuleId] = &[MM_01, ACT_01, MX_12, QMX_01, SB2SB_11, RNG_01, RNG_02];

/// Rules about the number of operands of an op or a few.
const OWN_COUNT: &[RuleId] = &[DVE_19, REG_01, REG_05, CF_14, MX_19, SB2SB_09];

/// Rules about the memory of operands of an op or a few; of the general ones, that on Pool knows more.
const OWN_MEMORY: &[RuleId] =
    &[MM_02, MEM_02, MEM_03, COL_08, DMA_12, POOL_01, POOL_02, SB2SB_06, IND_04, QMX_09];

const COVERED: &[Covered] = &[
    Covered { rule: ENG_01, by: OWN_ENGINE, same_operand: false },
    // On its own engine the operand may be where it is.
    Covered { rule: MEM_02, by: OWN_ENGINE, same_operand: false },
    Covered { rule: MEM_02, by: &[ENG_01], same_operand: false },
    // What stands for a null says nothing.
    Covered { rule: PSUM_03, by: &[DOC_01], same_operand: false },
    Covered { rule: OPR_01, by: OWN_COUNT, same_operand: false },
    // A pattern that is wrong by itself differs from the one it stands over.
    Covered { rule: WIP_01, by: &[PART_08, MM_02], same_operand: false },
    Covered { rule: MM_01, by: &[MX_12], same_operand: false },
    Covered { rule: MM_02, by: &[MX_19], same_operand: true },
    Covered { rule: ARCH_01, by: &[COL_04, SB2SB_02], same_operand: false },
    Covered { rule: MEM_01, by: OWN_MEMORY, same_operand: true },
    Covered { rule: AP_08, by: &[POOL_06, SB2SB_05], same_operand: true },
    // What starts where so many may not start crosses what they may not cross.
    Covered { rule: PART_02, by: &[PART_04], same_operand: true },
    Covered { rule: PART_04, by: &[IND_01], same_operand: true },
    Covered { rule: CF_22, by: &[CF_26], same_operand: false },
];

/// What a finding is about, and by which rule.
type Key<'d> = (&'d str, InstId, Option<(OperandList, usize)>);

/// Drops findings that are covered by others, of at least the same severity, of the same instruction.
pub(crate) fn drop_covered(findings: &mut Vec<Diagnostic>) {
    let is = |finding: &Diagnostic, rule: RuleId| finding.code == rule.info().id;
    if !findings.iter().any(|finding| COVERED.iter().any(|covered| is(finding, covered.rule))) {
        return;
    }
    let mut told: HashMap<Key<'_>, Severity> = HashMap::new();
    for finding in &*findings {
        let Some(inst) = finding.place.inst() else { continue };
        for operand in [finding.place.operand, None] {
            let worst = told.entry((&finding.code, inst, operand)).or_insert(finding.severity);
            *worst = (*worst).max(finding.severity);
        }
    }
    let keep: Vec<bool> = findings
        .iter()
        .map(|finding| {
            let Some(inst) = finding.place.inst() else { return true };
            !COVERED.iter().filter(|covered| is(finding, covered.rule)).any(|covered| {
                let operand = finding.place.operand.filter(|_| covered.same_operand);
                covered.by.iter().any(|rule| {
                    told.get(&(rule.info().id, inst, operand)).is_some_and(|worst| *worst >= finding.severity)
                })
            })
        })
        .collect();
    drop(told);
    let mut keep = keep.into_iter();
    findings.retain(|_| keep.next().unwrap_or(true));
}

/// Joins what the reader and what the rules have found, where both tell one fault.
pub(crate) fn join(module: &Module, read: Vec<Diagnostic>, rules: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if !read.iter().any(|finding| finding.code == MOD_04.info().id || finding.code == MOD_05.info().id) {
        return read.into_iter().chain(rules).collect();
    }
    let mut rules = rules;
    let mut joined = Vec::with_capacity(read.len() + rules.len());
    for finding in read {
        if is_known(module, &finding, &mut rules) {
            continue;
        }
        joined.push(finding);
    }
    joined.append(&mut rules);
    joined
}

/// Rules about the names of one enum.
const OWN_NAMES: &[(&str, RuleId)] = &[("AddressRotationScope", KRN_09)];

/// Rules about references of one kind.
const REFERENCES: &[RuleId] = &[MOD_06, DMA_01, DMA_02, CF_07];

/// Whether a rule tells what the reader has found. Where the reader knows better, what rules say is dropped.
fn is_known(module: &Module, finding: &Diagnostic, rules: &mut Vec<Diagnostic>) -> bool {
    let (Some(inst), Some(name)) = (finding.place.inst(), quoted(&finding.message)) else { return false };
    let opcode = module[inst].opcode();
    // Of repeats only the first has its place.
    let is_here = |other: &Diagnostic| {
        let place = other.place.inst();
        place == Some(inst) || other.count > 1 && place.is_some_and(|other| module[other].opcode() == opcode)
    };
    let is_of = |other: &Diagnostic, rule: RuleId| other.code == rule.info().id && is_here(other);
    if finding.code == MOD_05.info().id {
        // Without its queue nothing of a trigger is found.
        let in_queue = finding.message.starts_with("Block does not exist");
        let is_itself = finding.message.starts_with("this != former");
        return rules.iter().any(|other| {
            in_queue && is_of(other, DMA_01)
                || is_itself && is_of(other, MOD_06)
                || REFERENCES.iter().any(|rule| is_of(other, *rule) && has_word(&other.message, name))
        });
    }
    if finding.code == MOD_04.info().id {
        if !opcode.is_known() && finding.message.contains("InstructionType") {
            return rules.iter().any(|other| is_of(other, MOD_04));
        }
        let own = OWN_NAMES.iter().find(|(of, _)| finding.message.contains(of));
        if own.is_some_and(|(_, rule)| rules.iter().any(|other| is_of(other, *rule))) {
            return true;
        }
        // Whatever else is said of a name that nobody knows.
        rules.retain(|other| {
            let is_near =
                is_here(other) || other.related.iter().any(|related| related.place.inst() == Some(inst));
            !is_near || !has_word(&other.message, name)
        });
    }
    false
}

/// The name that a message of the reader quotes.
pub(crate) fn quoted(message: &str) -> Option<&str> {
    let (_, behind) = message.split_once('`')?;
    behind.rsplit_once('`').map(|(name, _)| name)
}

/// Whether a text has a name as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part) && !name.is_empty()
    })
}

/// The names that are nearest to one that is not known, as a hint.
pub(crate) fn hint(name: &str, known: &[&'static str]) -> Option<Cow<'static, str>> {
    let lower = name.to_lowercase();
    let similar = |known: &&'static str| {
        let other = known.to_lowercase();
        // A name that goes on, or stops early, is as near as a slip of the pen.
        let is_start = lower.len() > 2 && (other.starts_with(&lower) || lower.starts_with(&other));
        let nearness = strsim::normalized_damerau_levenshtein(&lower, &other);
        (if is_start { nearness.max(0.75) } else { nearness }, *known)
    };
    let mut near: Vec<(f64, &str)> =
        known.iter().map(similar).filter(|(nearness, _)| *nearness > 0.6).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")).into())
}

#[cfg(test)]
mod tests {
    use super::{has_word, hint, quoted};

    #[test]
    fn names_are_words_of_their_own() {
        assert!(has_word("the bias is bogus; it is float32", "bogus"));
        assert!(!has_word("the bias is bogus_1", "bogus"));
        assert!(!has_word("anything", ""));
        assert_eq!(quoted("unknown name of Dtype: `a`b`"), Some("a`b"));
        assert_eq!(quoted("nothing"), None);
    }

    #[test]
    fn hints_name_what_is_near() {
        let known = ["Activation", "Pool", "PE", "DVE"];
        assert_eq!(hint("Pol", &known).as_deref(), Some("did you mean Pool?"));
        assert_eq!(hint("DVE2", &known).as_deref(), Some("did you mean DVE?"));
        assert_eq!(hint("Scalar", &known), None);
    }
}
