//! Accumulation groups in PSUM (spec: ordering 7; ORD022).

use bir::diag::Severity;

use super::{Checker, Ordered, plain};
use crate::conflicts::{Touch, touches_of};
use crate::program::GroupPart;

pub(super) fn check(checker: &mut Checker<'_>, ordered: &Ordered<'_>) {
    if !checker.program.accesses.kinds().iter().any(|access| access.effect.group.is_some()) {
        return;
    }
    let trace = &ordered.trace;
    // The last write of each cell: the group part of a matmul, or none of another write.
    let mut last: Vec<Option<(Touch, Option<GroupPart>)>> = vec![None; checker.cells.count];
    for &node in &ordered.run.order {
        touches_of(trace, node, |touch, access| {
            for cell in checker.cells.of(access.bytes.index()) {
                let cell = &mut last[*cell as usize];
                let mut say = |other: Option<Touch>| {
                    let mut finding = plain("ORD022", Severity::Error, ordered.touch(touch));
                    finding.second = other.map(|other| ordered.party(other.row));
                    checker_findings(&mut checker.findings, &mut checker.said, finding);
                };
                match (access.effect.group, *cell) {
                    (Some(part), before) => {
                        if !part.start && before.is_none_or(|(_, group)| group.is_none_or(|group| group.stop))
                        {
                            say(before.map(|(touch, _)| touch));
                        }
                        *cell = Some((touch, Some(part)));
                    }
                    (None, Some((writer, Some(group)))) if access.effect.reads && !group.stop => {
                        say(Some(writer))
                    }
                    (None, _) => {}
                }
                if access.effect.writes && access.effect.group.is_none() {
                    *cell = Some((touch, None));
                }
            }
        });
    }
}

type Said = hashbrown::HashSet<(&'static str, crate::finding::Party, Option<crate::finding::Party>, u32)>;

fn checker_findings(
    findings: &mut Vec<crate::finding::Finding>,
    said: &mut Said,
    finding: crate::finding::Finding,
) {
    if said.insert((finding.code, finding.first.whole(), finding.second, 0)) {
        findings.push(finding);
    }
}
