//! Modules that are the cores of one program: LNC, CB.

use std::collections::{BTreeMap, BTreeSet};

use bir::diag::{Diagnostic, Place, Vendor};
use bir::enums::{EngineType, InstructionType, MemoryAddressSpace, MemoryType};
use bir::expr::Expr;
use bir::ids::{ExprId, FuncId, InstId, LocId};
use bir::{Holder, Module, Op, OpenEnum, Value};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::rule::RuleId;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[CB_01, CB_02], core_barrier),
    Check::cores(&[LNC_04, LNC_05, LNC_18, LNC_20], identities),
    Check::cores(&[LNC_06, LNC_07, LNC_08, LNC_09], shape),
    Check::cores(&[LNC_10, LNC_14, LNC_15, LNC_22, LNC_02], barriers),
    Check::cores(&[LNC_03, LNC_11], transfers),
    Check::cores(&[LNC_12, LNC_13, LNC_16, LNC_21], shared_memory),
    Check::cores(&[LNC_17, LNC_19], collectives),
    Check::cores(&[LNC_01], shards),
];

fn core_barrier(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Op::CoreBarrier(op) = inst.op() else { return };
    if cx.level < 30 {
        let message = format!("cores are joined from arch 30 on; the module is for arch {}", cx.level);
        out.report(CB_01, inst.place(), message).help("on one core, use AllEngineBarrier");
    }
    if op.cores != [0, 1] {
        let message = format!("joins the cores {:?}; there are two, [0, 1]", op.cores);
        out.report(CB_01, inst.place(), message);
    }
    // An engine that is not assigned yet may still become one of them.
    if !(inst.engine.is_datapath() || matches!(inst.engine, EngineType::Unassigned | EngineType::ALL)) {
        let message = format!(
            "runs on {}; a core barrier runs on Pool, Activation, PE, DVE or SP",
            inst.engine.text(&cx.module.names)
        );
        out.report(CB_02, inst.place(), message);
    }
}

/// Collects findings that say their core.
struct Out<'o>(&'o mut Vec<(RuleId, Diagnostic)>);

impl Out<'_> {
    fn report(
        &mut self,
        rule: RuleId,
        core: usize,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let info = rule.info();
        let mut finding = Diagnostic::new(info.severity, info.id, place.on_core(core as u16), message);
        let text = info.diag.first().copied().unwrap_or_default();
        finding.vendor = Some(Vendor { code: info.vendor_code().into(), text: text.into() });
        self.0.push((rule, finding));
        &mut self.0.last_mut().expect("was just pushed").1
    }
}

/// The attribute that says which core a module is.
const CORE_ID: &str = "neuron_core_id";

fn identities(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let mut ids = BTreeMap::new();
    for (core, module) in modules.iter().enumerate() {
        let Some(id) = module.root.attributes.get(CORE_ID).and_then(Value::as_i64) else {
            out.report(
                LNC_04,
                core,
                Place::module(),
                format!("the module does not say which core it is ({CORE_ID})"),
            );
            continue;
        };
        if !(0..modules.len() as i64).contains(&id) {
            let message =
                format!("the module is core {id} and there are {} modules: one for each core", modules.len());
            out.report(LNC_20, core, Place::module(), message);
        } else if let Some(first) = ids.insert(id, core) {
            let message = format!("two modules are core {id}: number {first} and {core}");
            out.report(LNC_20, core, Place::module(), message);
        }
        if module.root.arch != modules[0].root.arch {
            let name = |module: &Module| {
                module.root.arch.map_or("none".to_owned(), |arch| arch.text(&module.names).to_owned())
            };
            let message = format!("the arch is {}, and that of core 0 is {}", name(module), name(modules[0]));
            out.report(LNC_18, core, Place::module(), message);
        }
        // Of one core there is nothing symbolic left.
        if let Some(inst) = module.insts().find(|inst| has_shard(module, *inst)) {
            out.report(LNC_05, core, Place::of(inst), "an expression still depends on the shard index");
        }
    }
}

fn expr_has_shard(module: &Module, expr: ExprId) -> bool {
    let node = module.exprs.get(expr);
    matches!(node, Expr::ShardId { .. }) || node.children().any(|child| expr_has_shard(module, child))
}

fn has_shard(module: &Module, inst: InstId) -> bool {
    let mut found = false;
    module[inst].visit_exprs(&mut |expr| found |= expr_has_shard(module, expr));
    found
}

/// LNC-01 of modules that are still symbolic: all expressions of a function mean one shard index.
fn shards(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    for (core, module) in modules.iter().enumerate() {
        for function in module.functions() {
            let mut bounds = BTreeSet::new();
            for inst in module.insts_of(Holder::Function(function)) {
                module[inst].visit_exprs(&mut |expr| collect_shards(module, expr, &mut bounds));
            }
            if bounds.len() > 1 {
                let message =
                    format!("shard indices of {} sizes: {bounds:?}; a function has one", bounds.len());
                out.report(LNC_01, core, Place::of(function), message);
            }
        }
    }
}

fn collect_shards(module: &Module, expr: ExprId, bounds: &mut BTreeSet<i64>) {
    let node = module.exprs.get(expr);
    if let Expr::ShardId { ub } = node {
        bounds.insert(*ub);
    }
    node.children().for_each(|child| collect_shards(module, child, bounds));
}

/// The function of a name.
fn function_named(module: &Module, name: &str) -> Option<FuncId> {
    let name = module.names.get(name)?;
    module.functions().find(|function| module[*function].name == name)
}

fn shape(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let first = modules[0];
    for (core, module) in modules.iter().enumerate().skip(1) {
        let (own, of_first) = (module.functions().count(), first.functions().count());
        if own != of_first {
            let message = format!("the module has {own} functions and core 0 has {of_first}");
            out.report(LNC_06, core, Place::module(), message);
        }
        for function in first.functions() {
            let name = first.str(first[function].name);
            let Some(other) = function_named(module, name) else {
                out.report(LNC_07, core, Place::module(), format!("function {name} of core 0 is missing"));
                continue;
            };
            let (blocks, of_first) = (&module[other].blocks, &first[function].blocks);
            if blocks.len() != of_first.len() {
                let message = format!("{name} has {} blocks, and {} on core 0", blocks.len(), of_first.len());
                out.report(LNC_08, core, Place::of(other), message);
            }
            for (at, (block, wanted)) in blocks.iter().copied().zip(of_first).enumerate() {
                let (own, wanted) = (module.str(module[block].name), first.str(first[wanted].name));
                if own != wanted {
                    let message = format!("block {at} is called {own}, and {wanted} on core 0");
                    out.report(LNC_09, core, Place::of(block), message);
                }
            }
        }
    }
}

/// Instructions of an op, in document order.
fn of_op(module: &Module, op: InstructionType) -> Vec<InstId> {
    module.insts().filter(|inst| module[*inst].opcode() == op).collect()
}

fn name(module: &Module, inst: InstId) -> &str {
    module.str(module[inst].name)
}

fn barriers(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let all: Vec<Vec<InstId>> =
        modules.iter().map(|module| of_op(module, InstructionType::CoreBarrier)).collect();
    let engines = |core: usize| -> BTreeSet<Option<u32>> {
        all[core].iter().map(|inst| modules[core][*inst].engine.ordinal()).collect()
    };
    // Where one is missing, those behind it have other positions: that it is missing is the fault.
    let shifted = |core: usize| {
        let ids = all[core].iter().filter_map(|inst| match &modules[core][*inst].op {
            Op::CoreBarrier(op) => op.id.value(),
            _ => None,
        });
        all.iter().any(|other| other.len() > all[core].len()) && ids.is_sorted_by(|a, b| a < b)
    };
    let is_part = |core: usize| {
        let mut lists =
            [0, core].map(|core| all[core].iter().map(|inst| name(modules[core], *inst)).collect());
        lists.sort_by_key(Vec::len);
        let [few, many]: [Vec<&str>; 2] = lists;
        let mut rest = many.iter();
        few.len() < many.len() && few.iter().all(|name| rest.any(|other| other == name))
    };
    for (core, module) in modules.iter().enumerate() {
        let (shifted, is_part) = (shifted(core), is_part(core));
        for (at, inst) in all[core].iter().enumerate() {
            let Op::CoreBarrier(op) = &module[*inst].op else { continue };
            if let Some(id) = op.id.value().filter(|id| *id as usize != at && !shifted) {
                let message = format!("barrier number {at} of the core has id {id}");
                out.report(LNC_14, core, Place::of(*inst), message);
            }
            if core == 0 || is_part {
                continue;
            }
            let Some(other) = all[0].get(at) else { continue };
            let (own, wanted) = (name(module, *inst), name(modules[0], *other));
            if own != wanted {
                let message = format!(
                    "barrier number {at} is called {own}, and {wanted} on core 0; barriers meet by position and name"
                );
                let finding = out.report(LNC_15, core, Place::of(*inst), message);
                finding.related.push(bir::diag::Related {
                    label: "the barrier it meets".into(),
                    place: Place::of(*other).on_core(0),
                });
                finding.vendor = Some(Vendor {
                    code: "NCC_IXLV002".into(),
                    text: "expectedName == coreBarriers[ncId][index]->getName()".into(),
                });
            }
        }
        let (own, of_first) = (all[core].len(), all[0].len());
        if core > 0 && own != of_first {
            // On some cores and not on others is the symbolic form of the same.
            let symbolic = module.insts().any(|inst| has_shard(module, inst));
            let rule = if symbolic && (own == 0 || of_first == 0) { LNC_02 } else { LNC_10 };
            let message = format!("the core has {own} core barriers, and core 0 has {of_first}");
            let finding = out.report(rule, core, Place::module(), message);
            let unmet = [(core, 0), (0, core)].into_iter().find_map(|(here, there)| {
                let names: BTreeSet<&str> =
                    all[there].iter().map(|inst| name(modules[there], *inst)).collect();
                let is_alone = |inst: &&InstId| !names.contains(name(modules[here], **inst));
                Some((here, *all[here].iter().find(is_alone)?))
            });
            if let Some((here, inst)) = unmet {
                finding.related.push(bir::diag::Related {
                    label: "no barrier of the other core has this name".into(),
                    place: Place::of(inst).on_core(here as u16),
                });
            }
        } else if core > 0 && engines(core) != engines(0) {
            let names = |core: usize| {
                let of = |inst: &InstId| modules[core][*inst].engine.text(&modules[core].names).to_owned();
                all[core].iter().map(of).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
            };
            let message = format!("core barriers are on {}, and on {} on core 0", names(core), names(0));
            let differs = |(inst, other): &(&InstId, &InstId)| {
                module[**inst].engine.ordinal() != modules[0][**other].engine.ordinal()
            };
            let first = all[core].iter().zip(&all[0]).find(differs);
            let place = first.map_or(Place::module(), |(inst, _)| Place::of(*inst));
            let finding = out.report(LNC_22, core, place, message);
            if let Some((_, other)) = first {
                finding.related.push(bir::diag::Related {
                    label: "the barrier it meets".into(),
                    place: Place::of(*other).on_core(0),
                });
            }
        }
    }
}

fn transfers(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let count = |module: &Module| of_op(module, InstructionType::GPSIMDSB2SB).len();
    let of_first = count(modules[0]);
    for (core, module) in modules.iter().enumerate().skip(1) {
        let own = count(module);
        if own != of_first {
            let message =
                format!("the core has {own} GPSIMDSB2SB, and core 0 has {of_first}: each sends to the other");
            // The symbolic and the concrete form ask the same.
            let symbolic = module.insts().any(|inst| has_shard(module, inst));
            let rule = if symbolic { LNC_03 } else { LNC_11 };
            out.report(rule, core, Place::module(), message);
        }
    }
}

/// Locations in DRAM that all cores see.
fn shared(module: &Module) -> Vec<LocId> {
    let functions = module.functions();
    let all = functions.flat_map(|function| module.locations_of(function).collect::<Vec<_>>());
    let is_shared = |loc: &LocId| {
        let record = &module[*loc];
        module[record.set].addr_space == MemoryAddressSpace::Shared && record.r#type == MemoryType::DRAM
    };
    all.filter(is_shared).collect()
}

/// Location name and core that a `remote_local_target` holds; its keys are not known.
fn remote(value: &Value) -> Option<(&str, i64)> {
    let members: Vec<&Value> = match value {
        Value::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Value::List(list) => list.iter().collect(),
        _ => return None,
    };
    let mut texts = members.iter().filter_map(|value| value.as_str());
    let mut numbers = members.iter().filter_map(|value| value.as_i64());
    match (texts.next(), texts.next(), numbers.next(), numbers.next()) {
        (Some(text), None, Some(number), None) => Some((text, number)),
        _ => None,
    }
}

fn location_named(module: &Module, wanted: &str) -> Option<LocId> {
    let wanted = module.names.get(wanted)?;
    let mut functions = module.functions();
    functions.find_map(|function| module.locations_of(function).find(|loc| module[*loc].name == wanted))
}

fn shared_memory(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let addresses = |module: &Module| -> BTreeMap<u64, LocId> {
        let placed = shared(module).into_iter().filter(|loc| module[*loc].is_placed());
        placed.map(|loc| (module[loc].addr, loc)).collect()
    };
    let of_first = addresses(modules[0]);
    for (core, module) in modules.iter().enumerate() {
        // Locations, here and on core 0, of which LNC-13 says that they are not at one address.
        let mut apart: Vec<(usize, LocId)> = Vec::new();
        let text = |loc: LocId| module.str(module[loc].name).to_owned();
        for loc in module.functions().flat_map(|function| module.locations_of(function).collect::<Vec<_>>()) {
            let record = &module[loc];
            let Some(target) = &record.remote_local_target else { continue };
            if !matches!(record.r#type, MemoryType::SB | MemoryType::DRAM) {
                let message = format!(
                    "{} has a remote target and is in {}; it must be in SB or DRAM",
                    text(loc),
                    record.r#type.text(&module.names)
                );
                out.report(LNC_21, core, Place::storage(loc), message);
            }
            let Some((name, number)) = remote(target) else { continue };
            let Some(other) = usize::try_from(number).ok().and_then(|at| modules.get(at)) else { continue };
            match location_named(other, name) {
                None => {
                    let message =
                        format!("{} points to {name} of core {number}, which does not exist", text(loc));
                    out.report(LNC_13, core, Place::storage(loc), message);
                }
                Some(there) if other[there].addr != record.addr && record.is_placed() => {
                    let message = format!(
                        "{} is at {} and its target {name} of core {number} at {}",
                        text(loc),
                        record.addr,
                        other[there].addr
                    );
                    out.report(LNC_13, core, Place::storage(loc), message);
                    apart.extend([(core, loc), (number as usize, there)]);
                }
                Some(_) => {}
            }
        }
        if core == 0 {
            continue;
        }
        for loc in shared(module) {
            let record = &module[loc];
            if record.is_placed() && record.remote_local_target.is_none() {
                let message =
                    format!("{} is shared and has no remote_local_target, its place on core 0", text(loc));
                out.report(LNC_12, core, Place::storage(loc), message);
            }
        }
        let own = addresses(module);
        for (address, loc) in own.iter().filter(|(address, _)| !of_first.contains_key(address)) {
            if !of_first.is_empty() && !apart.contains(&(core, *loc)) {
                let message =
                    format!("{} is shared, and core 0 shares nothing at its address {address}", text(*loc));
                out.report(LNC_16, core, Place::storage(*loc), message);
            }
        }
        for (address, loc) in of_first.iter().filter(|(address, _)| !own.contains_key(address)) {
            if apart.contains(&(0, *loc)) {
                continue;
            }
            let name = modules[0].str(modules[0][*loc].name);
            let message =
                format!("{name} of core 0 is shared at address {address}, and the core shares nothing there");
            out.report(LNC_16, core, Place::module(), message);
        }
    }
}

fn collectives(modules: &[&Module], found: &mut Vec<(RuleId, Diagnostic)>) {
    let mut out = Out(found);
    let all: Vec<Vec<InstId>> =
        modules.iter().map(|module| of_op(module, InstructionType::CollectiveCompute)).collect();
    let first = modules[0];
    for (core, module) in modules.iter().enumerate().skip(1) {
        let mut told = BTreeSet::new();
        for inst in &all[0] {
            for (list, index, operand) in first[*inst].operands() {
                let Some(loc) = operand.location().and_then(|loc| loc.id()) else { continue };
                let wanted = first.str(first[loc].name);
                if location_named(module, wanted).is_none() && told.insert(wanted) {
                    let message = format!(
                        "could not find MemoryLocation named {wanted} on core {core}, which the collective {} of core 0 names",
                        name(first, *inst)
                    );
                    let finding = out.report(LNC_17, core, Place::module(), message);
                    finding.related.push(bir::diag::Related {
                        label: "the operand".into(),
                        place: Place::operand(*inst, list, index).on_core(0),
                    });
                    finding.vendor = Some(Vendor {
                        code: "NCC_ILLC059".into(),
                        text: format!("Could not find MemoryLocation named {wanted} on core {core}").into(),
                    });
                }
            }
        }
        let local = |module: &Module, list: &[InstId]| -> Vec<InstId> {
            let is_local = |inst: &&InstId| matches!(&module[**inst].op, Op::CollectiveCompute(op) if op.is_local == true);
            list.iter().filter(is_local).copied().collect()
        };
        let (own, of_first) = (local(module, &all[core]), local(first, &all[0]));
        if own.len() != of_first.len() {
            let message =
                format!("the core has {} local collectives, and core 0 has {}", own.len(), of_first.len());
            out.report(LNC_19, core, Place::module(), message);
        }
        for (at, (inst, other)) in own.iter().zip(&of_first).enumerate() {
            let what = differs(module, *inst, first, *other);
            if let Some(what) = what {
                let message = format!(
                    "local collective number {at} has another {what} than {} of core 0",
                    name(first, *other)
                );
                out.report(LNC_19, core, Place::of(*inst), message);
            }
        }
    }
}

/// In what two collectives differ that have to agree.
fn differs(a: &Module, a_inst: InstId, b: &Module, b_inst: InstId) -> Option<&'static str> {
    let (Op::CollectiveCompute(left), Op::CollectiveCompute(right)) = (&a[a_inst].op, &b[b_inst].op) else {
        return None;
    };
    let channel = |op: &bir::ops::CollectiveCompute| {
        op.cc_channel.as_ref().map(|channel| (channel.kind.ordinal(), channel.replica_groups.clone()))
    };
    let (kind_a, groups_a) = channel(left).unzip();
    let (kind_b, groups_b) = channel(right).unzip();
    let counts = |module: &Module, inst: InstId| -> Vec<Option<u64>> {
        module[inst].operands().map(|(_, _, operand)| operand.access_pattern()?.elements()).collect()
    };
    if kind_a != kind_b {
        Some("kind")
    } else if groups_a != groups_b {
        Some("replica groups")
    } else if left.cc_dim.ordinal() != right.cc_dim.ordinal() {
        Some("dimension")
    } else if counts(a, a_inst) != counts(b, b_inst) {
        Some("size of operands")
    } else {
        None
    }
}
