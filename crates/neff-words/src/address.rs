//! Addresses that the loader resolves: which variable they mean (spec: isa-control-dma 6.1).

use neff::manifest::{Definition, Variable};
use tpb_isa::PseudoAddr8;

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target<'a> {
    /// On the chip: an address as words of engines have it.
    OnChip(u32),
    /// A variable in memory.
    Variable {
        /// Its name.
        name: &'a str,
        /// The variable.
        variable: &'a Variable,
        /// Byte in it; none when a register has it.
        offset: Option<u32>,
    },
    /// The number of a variable that the definition does not have.
    UnknownVariable(u64),
    /// An entry that the address table does not have.
    UnknownEntry(u16),
    /// A register has it all.
    Register,
    /// A plain number: the loader has been here, or nobody was.
    Plain(u32),
}

/// Looks up an address.
pub fn target<'a>(address: &PseudoAddr8, definition: &'a Definition) -> Target<'a> {
    let id = if address.marker_addr_reg {
        return Target::Register;
    } else if address.marker_var_id {
        u64::from(address.id_lo) | u64::from(address.var_id_hi) << 16
    } else if address.marker_addr_tbl {
        let list = definition.dge_table().and_then(|(_, table)| table.list.as_deref()).unwrap_or_default();
        match list.get(usize::from(address.id_lo)) {
            Some(id) => *id,
            None => return Target::UnknownEntry(address.id_lo),
        }
    } else {
        return Target::Plain(address.offset_or_reg);
    };
    let offset = (!address.marker_offset_reg).then_some(address.offset_or_reg);
    match (definition.variable(id), offset) {
        (None, _) => Target::UnknownVariable(id),
        (Some((_, variable)), Some(offset)) if variable.kind == "state-buffer" => Target::OnChip(offset),
        (Some((_, variable)), None) if variable.kind == "state-buffer" => Target::Register,
        (Some((name, variable)), offset) => Target::Variable { name, variable, offset },
    }
}
