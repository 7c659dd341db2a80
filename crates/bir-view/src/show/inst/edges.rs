//! What an instruction depends on and what depends on it, and for which bytes.

use std::collections::HashMap;

use bir::edges::EdgeKind;
use bir::geometry::{Overlap, Space};
use bir::ids::InstId;
use bir::{Module, Value};

use super::super::Cut;
use super::{Because, Dependency, space_word};
use crate::json;
use crate::program::{Program, Touch, operand_name};

pub(super) fn depends_on(program: &Program<'_>, inst: InstId, most: usize) -> Cut<Dependency> {
    let module = program.module;
    let mut found = Cut::default();
    let own = program.touches(inst);
    for (edges, carried) in
        [(&module[inst].dependencies, false), (&module[inst].loop_carried_dependencies, true)]
    {
        for (edge, extras) in edges.iter_with() {
            found.push(most, || {
                let others = program.touches(edge.target());
                let because = because(program, &others, &own, edge.kind());
                dependency(program, edge.target(), edge.kind(), carried.then_some(extras), because)
            });
        }
    }
    found
}

/// What depends on some instructions: one pass over all edges.
pub(super) fn dependents(program: &Program<'_>, insts: &[InstId], most: usize) -> Vec<Cut<Dependency>> {
    let module = program.module;
    let wanted: HashMap<InstId, usize> = insts.iter().enumerate().map(|(at, inst)| (*inst, at)).collect();
    let mut found: Vec<Cut<Dependency>> = insts.iter().map(|_| Cut::default()).collect();
    for inst in module.insts() {
        let instruction = &module[inst];
        for (edges, carried) in
            [(&instruction.dependencies, false), (&instruction.loop_carried_dependencies, true)]
        {
            // Extra elements are rare: the plain walk is the quick one.
            if !edges.iter().any(|edge| wanted.contains_key(&edge.target())) {
                continue;
            }
            for (edge, extras) in edges.iter_with() {
                let Some(at) = wanted.get(&edge.target()) else { continue };
                found[*at].push(most, || {
                    let (own, others) = (program.touches(insts[*at]), program.touches(inst));
                    let because = because(program, &own, &others, edge.kind());
                    dependency(program, inst, edge.kind(), carried.then_some(extras), because)
                });
            }
        }
    }
    found
}

fn dependency(
    program: &Program<'_>,
    other: InstId,
    kind: EdgeKind,
    carried: Option<&[Value]>,
    because: Vec<Because>,
) -> Dependency {
    let extras = |extras: &[Value]| {
        json::text(|out| {
            for (i, extra) in extras.iter().enumerate() {
                if i > 0 {
                    out.push(b' ');
                }
                json::value_of(out, extra);
            }
        })
    };
    Dependency {
        at: program.at(other),
        edge: kind.name().map_or_else(|| kind.number().to_string(), str::to_owned),
        loop_carried: carried.map(extras),
        because,
    }
}

/// The bytes for whose sake the second instruction waits for the first.
fn because(program: &Program<'_>, first: &[Touch], second: &[Touch], kind: EdgeKind) -> Vec<Because> {
    /// More are of no use to anyone.
    const MOST: usize = 8;
    let matters = |first: &Touch, second: &Touch| match kind {
        EdgeKind::FLOW => first.access.writes() && second.access.may_read(),
        EdgeKind::ANTI => first.access.may_read() && second.access.writes(),
        EdgeKind::OUTPUT => first.access.writes() && second.access.writes(),
        _ => first.access.writes() || second.access.writes(),
    };
    let mut found = Vec::new();
    for a in first {
        for b in second.iter().filter(|b| matters(a, b)) {
            let overlap = a.footprint.overlap(&b.footprint);
            if overlap == Overlap::No || found.len() == MOST {
                continue;
            }
            found.push(Because {
                first: operand_name(a.list, a.index),
                second: operand_name(b.list, b.index),
                bytes: common(program.module, program.footprints.target().psum_bank_bytes as i64, a, b),
                certain: overlap == Overlap::Yes,
            });
        }
    }
    found
}

/// The common box in words: `x_sb_0: SB[0..128) x bytes [0..4)`.
fn common(module: &Module, bank_bytes: i64, a: &Touch, b: &Touch) -> String {
    let (partitions, mut bytes) = a.footprint.common_box(&b.footprint);
    let name = match (a.footprint.location, b.footprint.location) {
        (Some(a), Some(b)) if a != b => {
            format!("{} and {}", module.str(module[a].name), module.str(module[b].name))
        }
        (Some(loc), _) | (_, Some(loc)) => module.str(module[loc].name).to_owned(),
        _ => space_word(a.footprint.space).to_owned(),
    };
    let space = space_word(a.footprint.space);
    let mut text = format!("{name}: ");
    if a.footprint.space == Space::Psum && bank_bytes > 0 {
        // As footprints print: within the first bank.
        let bank = bytes.start.div_euclid(bank_bytes);
        bytes = bytes.start - bank * bank_bytes..bytes.end - bank * bank_bytes;
        text += &format!("PSUM bank {bank} [{}..{}) x ", partitions.start, partitions.end);
    } else if a.footprint.space.is_on_chip() {
        text += &format!("{space}[{}..{}) x ", partitions.start, partitions.end);
    }
    let end =
        if bytes.end >= bir::geometry::lattice::ADDRESS_LIMIT { "".into() } else { bytes.end.to_string() };
    text + &format!("bytes [{}..{end})", bytes.start)
}
