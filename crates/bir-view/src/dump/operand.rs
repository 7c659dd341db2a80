//! Operands in a dump. spec: dumper 4.1

use bir::access::AccessPattern;
use bir::enums::{Dtype, MemoryType};
use bir::ids::{LocId, Ref};
use bir::record::FieldType;
use bir::{Argument, Module, OpenEnum, Sym};
use bir_json::number::write_u64;

use super::line::{name, put, signed};
use crate::json::{self, ByName};

/// Appends an operand. `indirect`: the index tensors of its instruction.
pub(crate) fn operand(out: &mut Vec<u8>, module: &Module, argument: &Argument, indirect: &[Argument]) {
    let names = &ByName(module);
    match argument {
        Argument::ImmValue(arg) => {
            dtype(out, module, arg.dtype);
            out.push(b'(');
            json::field(out, names, &arg.value.as_field());
            out.push(b')');
        }
        Argument::ImmArray(arg) => {
            dtype(out, module, arg.dtype);
            numbers(out, names, arg.value_array.as_deref().unwrap_or_default());
        }
        Argument::SymbolicImmValue(arg) => {
            dtype(out, module, arg.dtype);
            numbers(out, names, &arg.value_list);
            if let Some(expr) = arg.expr {
                out.extend_from_slice(b" sym(");
                json::expr(out, names, expr);
                out.push(b')');
            }
        }
        Argument::RegisterAccess(arg) => register(out, module, arg.regref.map(|r| module.ref_name(r))),
        Argument::PhysicalAp(arg) => {
            dtype(out, module, arg.dtype);
            let set = arg.memsetref.map(|set| module.ref_name(set));
            braced(out, module, arg.memref.map(|loc| module.ref_name(loc)).or(set));
            if let Some(loc) = arg.memref.and_then(Ref::id) {
                place(out, module, loc);
            }
            pattern(out, arg.ap.as_ref());
            offset(out, arg.offset);
            if let Some(info) = arg.dynamic_ap_info.as_deref() {
                out.extend_from_slice(b" dyn=");
                json::record(out, names, info);
            }
        }
        Argument::SymbolicAp(arg) => {
            dtype(out, module, arg.dtype);
            braced(out, module, arg.memsetref.map(|set| module.ref_name(set)));
            out.extend_from_slice(b" sym(");
            for (i, expr) in arg.addrs.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                json::expr(out, names, *expr);
            }
            out.push(b')');
            pattern(out, arg.ap.as_ref());
            if let Ok(index) = usize::try_from(arg.tensor_indirect_arg_id) {
                out.extend_from_slice(b" idx=");
                match indirect.get(index).filter(|index| !matches!(index, Argument::SymbolicAp(_))) {
                    Some(index) => operand(out, module, index, &[]),
                    None => write_u64(out, index as u64),
                }
            }
        }
        Argument::RegisterAp(arg) => {
            dtype(out, module, arg.dtype);
            braced(out, module, arg.memsetref.map(|set| module.ref_name(set)));
            pattern(out, arg.ap.as_ref());
            out.push(b'+');
            register(out, module, arg.regref.map(|r| module.ref_name(r)));
            let said = |key: &str| matches!(key, "ap" | "dtype" | "memsetref" | "regref");
            let rest = json::text(|out| json::record_with(out, names, &**arg, |key| !said(key)));
            if rest != "{}" {
                put(out, &[" dyn=", &rest]);
            }
        }
    }
}

fn dtype(out: &mut Vec<u8>, module: &Module, dtype: Option<Dtype>) {
    put(out, &[dtype.map_or("?", |dtype| dtype.text(&module.names))]);
}

fn numbers(out: &mut Vec<u8>, names: &ByName<'_>, values: &[bir::ImmNumber]) {
    out.push(b'(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        json::field(out, names, &value.as_field());
    }
    out.push(b')');
}

fn register(out: &mut Vec<u8>, module: &Module, sym: Option<Sym>) {
    out.push(b'%');
    name(out, sym.map_or("?", |sym| module.str(sym)));
}

fn braced(out: &mut Vec<u8>, module: &Module, sym: Option<Sym>) {
    out.extend_from_slice(b" {");
    name(out, sym.map_or("", |sym| module.str(sym)));
    out.push(b'}');
}

fn place(out: &mut Vec<u8>, module: &Module, loc: LocId) {
    let location = &module[loc];
    if !location.is_placed() {
        return;
    }
    match location.r#type {
        MemoryType::SB => {
            out.extend_from_slice(b"@SB<");
            write_u64(out, location.base.into());
        }
        MemoryType::PSUM => {
            out.extend_from_slice(b"@PSUM<");
            write_u64(out, location.bank.unsigned_abs());
            out.push(b',');
            write_u64(out, location.base.into());
        }
        MemoryType::DRAM => {
            out.extend_from_slice(b"@DRAM<");
            write_u64(out, location.addr);
            out.push(b'>');
            return;
        }
        _ => return,
    }
    out.push(b',');
    write_u64(out, location.addr);
    out.push(b'>');
}

fn pattern(out: &mut Vec<u8>, pattern: Option<&AccessPattern>) {
    for pair in pattern.into_iter().flat_map(AccessPattern::iter) {
        out.push(b'[');
        signed(out, pair.step);
        out.push(b',');
        signed(out, pair.num);
        out.push(b']');
    }
}

fn offset(out: &mut Vec<u8>, offset: u64) {
    if offset != 0 {
        out.push(b'+');
        write_u64(out, offset);
    }
}
