//! Engines and architectures: ENG, ARCH.

use bir::diag::{Place, Severity};
use bir::enums::{AluOpType, ArchLevel, BranchCompareOp, EngineType, InstructionType as It};
use bir::ids::FuncId;
use bir::op_info::OpInfo;
use bir::{Conf, Op, OpenEnum};
use smallvec::{SmallVec, smallvec};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::rule::OpRow;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[
    Check::inst(&[ARCH_01, ARCH_02], arch).when(is_of_another_arch),
    Check::inst(&[ARCH_03], enum_values).for_ops(WITH_ENUMS).when(may_lack_values),
    Check::inst(&[ENG_01], engine).when(has_engines),
    Check::function(&[ENG_05], expansion),
];

/// Ops with enum values that not every arch has.
const WITH_ENUMS: &[It] = &[
    It::CompareAndBranch,
    It::Activation,
    It::TensorTensor,
    It::TensorScalar,
    It::TensorScalarPtr,
    It::TensorScalarCache,
    It::TensorReduce,
    It::RegisterAlu,
];

/// Name of an arch level, with its device.
pub(super) fn arch_text(level: u32) -> String {
    let arch = ArchLevel::from_ordinal(level.into());
    let target = arch.and_then(bir::target::Target::of);
    match (arch.and_then(|arch| arch.name().ok()), target) {
        (Some(name), Some(target)) => format!("arch {level} ({name}, {})", target.device),
        (Some(name), None) => format!("arch {level} ({name})"),
        _ => format!("arch {level}"),
    }
}

/// Whether the arch of the module may lack an op.
fn is_of_another_arch(cx: &Cx<'_>, op: Option<It>) -> bool {
    op.and_then(OpRow::of)
        .is_some_and(|row| cx.level < row.arch_min || row.arch_max.is_some_and(|max| cx.level > max))
}

/// Whether an op has values that no arch has, or that of the module may lack.
fn may_lack_values(cx: &Cx<'_>, op: Option<It>) -> bool {
    cx.level < 40 || op == Some(It::CompareAndBranch)
}

/// Whether an op is kept to some engines.
fn has_engines(_: &Cx<'_>, op: Option<It>) -> bool {
    op.and_then(OpRow::of).is_some_and(|row| !row.engines.contains(&EngineType::ALL))
}

fn arch(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(row) = OpRow::of(inst.opcode) else { return };
    let op = inst.op_name(cx);
    if cx.level < row.arch_min {
        let message = format!(
            "{op} needs {} or newer, and the module is for {}",
            arch_text(row.arch_min),
            arch_text(cx.level)
        );
        let finding = out.report(ARCH_01, inst.place(), message);
        let finding = finding.help("compile for a newer target, or use an op that this one has");
        if !row.conf.is_firm() && !cx.options.strict {
            finding.at_most(Severity::Warning);
        }
    }
    if let Some(max) = row.arch_max.filter(|max| cx.level > *max) {
        let message =
            format!("{op} exists up to {}, and the module is for {}", arch_text(max), arch_text(cx.level));
        out.report(ARCH_02, inst.place(), message);
    }
}

fn engine(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    let Some(row) = OpRow::of(inst.opcode) else { return };
    let engine = inst.engine;
    if row.engines.contains(&engine) {
        return;
    }
    // What the row of TensorReduce says in its note: over partitions it runs on Pool, where DVE-05 takes it.
    let over_partitions =
        |axis| matches!(axis, bir::enums::AxisListType::C | bir::enums::AxisListType::XYZWC);
    if matches!(inst.op(), bir::Op::TensorReduce(op) if engine == EngineType::Pool && over_partitions(op.axis))
    {
        return;
    }
    let passes = |set: &[EngineType]| set.contains(&engine) || set.contains(&EngineType::ALL);
    let is_open = matches!(engine, EngineType::Unassigned | EngineType::ALL) || !engine.is_known();
    if is_open || passes(row.engines) {
        return;
    }
    let names: Vec<&str> = row.engines.iter().filter_map(|engine| engine.name().ok()).collect();
    let message = format!(
        "{} cannot run on {}; it runs on {}",
        inst.op_name(cx),
        engine.text(&cx.module.names),
        if names.is_empty() { "no engine".into() } else { names.join(", ") }
    );
    let mut finding = out.report(ENG_01, inst.place(), message);
    if skips(cx, inst) {
        finding = finding
            .at_most(Severity::Note)
            .note("the vendor's verifier does not look at engines of functions that are ready for codegen");
    }
    if !row.note.is_empty() {
        finding = finding.note(row.note);
    }
    // ENG-02: TensorScalarPtr has a second rule of its own, whose content is not known.
    let unsure = !row.conf.is_firm() || inst.opcode == It::TensorScalarPtr;
    // Only some sets are the verifier's own; the others are what kernels may ask for, while the constructors of some
    // ops give another engine. spec: opcodes 8, row 16
    let info = OpInfo::of(inst.opcode);
    let accepted = row.conf < Conf::Confirmed
        && info.is_some_and(|info| {
            info.engines.is_some_and(|known| passes(known.value))
                || info.default_engine.is_some_and(|known| known.value == engine)
        });
    match (accepted, unsure) {
        _ if cx.options.strict => {}
        (true, _) => _ = finding.note("the constructor of the op gives this engine").at_most(Severity::Note),
        (false, true) => _ = finding.at_most(Severity::Warning),
        (false, false) => {}
    }
}

/// Whether the function has the attribute that switches the engine check off, number 24 of its enum.
fn skips(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    let attributes = inst.function.map(|function| &cx.module[function].attributes[..]).unwrap_or_default();
    attributes.iter().any(|attribute| cx.module.str(*attribute) == SKIP_ENGINE_CHECK)
}

const SKIP_ENGINE_CHECK: &str = "ready_for_codegen";

/// ARCH-03: values that the encoders of an arch have no number for.
fn enum_values(cx: &Cx<'_>, inst: &Inst<'_>, out: &mut Findings<'_>) {
    if let Op::CompareAndBranch(op) = inst.op()
        && op.comp_op == BranchCompareOp::Unsupported
    {
        let message = "comp_op is Unsupported, which no arch can encode";
        out.report(ARCH_03, inst.place(), message);
    }
    for (key, operator) in operators(inst.op()) {
        let is_new = matches!(operator, AluOpType::AbsMax | AluOpType::AbsMin | AluOpType::ModInt);
        if is_new && cx.level < 40 {
            let message = format!(
                "{key} is {}, which needs {} or newer, and the module is for {}",
                operator.text(&cx.module.names),
                arch_text(40),
                arch_text(cx.level)
            );
            out.report(ARCH_03, inst.place(), message)
                .vendor("BIR533", format!("is not a valid enum value for field {key}"));
        }
    }
}

/// The ALU operators of an op, by key.
fn operators(op: &Op) -> SmallVec<[(&'static str, AluOpType); 3]> {
    match op {
        Op::Activation(op) => smallvec![("op0", op.op0), ("op1", op.op1), ("reduce_op", op.reduce_op)],
        Op::TensorTensor(op) => smallvec![("op", op.op)],
        Op::TensorReduce(op) => smallvec![("op", op.op)],
        Op::TensorScalar(op) => smallvec![("op0", op.op0), ("op1", op.op1)],
        Op::TensorScalarPtr(op) => smallvec![("op0", op.op0), ("op1", op.op1)],
        Op::TensorScalarCache(op) => smallvec![("op0", op.op0), ("op1", op.op1)],
        Op::RegisterAlu(op) => smallvec![("op", op.op)],
        _ => smallvec![],
    }
}

/// ENG-05: before branches are copied to each engine, control is on ALL; afterwards every copy has an engine.
fn expansion(cx: &Cx<'_>, function: FuncId, out: &mut Findings<'_>) {
    const CONTROL: &[It] = &[
        It::CompareAndBranch,
        It::UnconditionalBranch,
        It::TensorLoad,
        It::RegisterAlu,
        It::RegisterMove,
        It::Exit,
        It::AllEngineBarrier,
        It::GroupResetSemaphores,
    ];
    let (mut on_all, mut on_engine) = (None, None);
    for &id in cx.survey.notable_of(function) {
        let inst = &cx.module[id];
        if !CONTROL.contains(&inst.opcode()) {
            continue;
        }
        match inst.engine {
            EngineType::ALL => on_all = on_all.or(Some(id)),
            engine if engine.is_datapath() => on_engine = on_engine.or(Some(id)),
            _ => {}
        }
        if on_all.is_some() && on_engine.is_some() {
            break;
        }
    }
    let (Some(on_all), Some(on_engine)) = (on_all, on_engine) else { return };
    let message = format!(
        "{} is on ALL and {} on {}: control is on ALL until it is copied to each engine, and never after",
        cx.name(on_all),
        cx.name(on_engine),
        cx.module[on_engine].engine.text(&cx.module.names)
    );
    out.report(ENG_05, Place::of(function), message).related("the one on ALL", Place::of(on_all));
}
