//! Engines and architectures: ENG, ARCH.

use bir::OpenEnum;
use bir::diag::Severity;
use bir::enums::{ArchLevel, EngineType};

use super::Check;
use crate::context::Cx;
use crate::findings::Findings;
use crate::ids::*;
use crate::rule::OpRow;
use crate::view::Inst;

pub(super) const CHECKS: &[Check] = &[Check::inst(&[ARCH_01, ARCH_02], arch), Check::inst(&[ENG_01], engine)];

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
    let passes = |set: &[EngineType]| set.contains(&engine) || set.contains(&EngineType::ALL);
    if matches!(engine, EngineType::Unassigned | EngineType::ALL) || passes(row.engines) || skips(cx, inst) {
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
    if !row.note.is_empty() {
        finding = finding.note(row.note);
    }
    // ENG-02: TensorScalarPtr has a second rule of its own, whose content is not known.
    let unsure = !row.conf.is_firm() || inst.opcode == bir::enums::InstructionType::TensorScalarPtr;
    if unsure && !cx.options.strict {
        finding.at_most(Severity::Warning);
    }
}

/// Whether the function has the attribute that switches the engine check off, number 24 of its enum.
fn skips(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    let attributes = inst.function.map(|function| &cx.module[function].attributes[..]).unwrap_or_default();
    attributes.iter().any(|attribute| cx.module.str(*attribute) == SKIP_ENGINE_CHECK)
}

const SKIP_ENGINE_CHECK: &str = "ready_for_codegen";
