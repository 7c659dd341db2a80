//! Findings in the form of the vendor's messages, for logs and for searching (spec: verify 2).

use std::io::{self, Write};

use bir::{Argument, OperandList};

use super::{Shown, Sources};
use crate::report::clean;

/// Writes findings in the vendor's form.
pub(crate) fn vendor(sink: &mut dyn Write, shown: &[Shown], sources: &Sources<'_>) -> io::Result<()> {
    for finding in shown {
        one(sink, finding, sources)?;
    }
    Ok(())
}

fn one(sink: &mut dyn Write, shown: &Shown, sources: &Sources<'_>) -> io::Result<()> {
    let report = &shown.report;
    let module = sources.module(shown);
    let reason = report.vendor_text.as_deref().unwrap_or(&report.message);
    writeln!(sink, "=== BIR verification failed ===\nReason: {}", clean(reason))?;
    if let Some(name) = &report.place.instruction {
        writeln!(sink, "Instruction: {}", clean(name))?;
    }
    if let Some(opcode) = &report.place.opcode {
        writeln!(sink, "Opcode: {}", clean(opcode))?;
    }
    if let (Some((list, index)), Some(inst)) = (shown.place.operand, shown.place.inst()) {
        let (label, operand) = match list {
            OperandList::Ins => ("Input", module[inst].ins.get(index)),
            OperandList::IndirectionIns => {
                ("Indirection input", module[inst].rare().indirection_ins.get(index))
            }
            OperandList::Outs => ("Output", module[inst].outs.get(index)),
        };
        writeln!(sink, "{label} index: {index}")?;
        if let Some(pattern) = operand.and_then(Argument::access_pattern) {
            writeln!(sink, "Argument AP:\nAccess Pattern: {}", format!("{pattern:?}").replace(' ', ""))?;
        }
        if let Some(Argument::PhysicalAp(access)) = operand {
            writeln!(sink, "Offset: {}", access.offset)?;
        }
        if let Some(loc) = operand.and_then(Argument::location).and_then(|loc| loc.id()) {
            use bir::OpenEnum;
            let (loc, set) = (&module[loc], &module[module[loc].set]);
            let dims: Vec<String> =
                loc.dims.iter().flat_map(|dims| dims.iter()).map(|dim| dim.to_string()).collect();
            let shape: Vec<String> = set.tensor_shape.iter().map(|dim| dim.to_string()).collect();
            let place = match (loc.is_placed(), loc.r#type.text(&module.names)) {
                (true, memory @ ("SB" | "PSUM")) => format!("@{memory}<{},{}>", loc.base, loc.addr),
                (true, memory) => format!("@{memory}<{}>", loc.addr),
                (false, memory) => format!("@{memory}"),
            };
            writeln!(
                sink,
                "Memory Location: {{{}}}{place}({})#{} DebugInfo: <{}||{}||[{}]>",
                clean(module.str(loc.name)),
                dims.join("x"),
                set.kind.map_or("", |kind| kind.text(&module.names)),
                clean(module.str(set.name)),
                set.dtype.map_or("", |dtype| dtype.text(&module.names)),
                shape.join(", ")
            )?;
        }
    } else if let Some(location) = &report.place.location {
        writeln!(sink, "Memory Location: {{{}}}", clean(location))?;
    }
    let code = report.vendor_code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    writeln!(sink, "[{}{code}] {}\n", report.code, clean(&report.message))
}
