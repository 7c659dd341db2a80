//! Values as compact JSON, as the canonical writer spells them: shortest numbers, keys of objects in byte order.

use bir::expr::Expr;
use bir::ids::{ExprId, Id, Ref};
use bir::record::{FieldValue, Fields};
use bir::{Members, Module, NameOf, Sym, Value};
use bir_json::number::{write_f64, write_i64, write_u64};

/// What stands for references in a text: their name, or something else.
pub(crate) trait Names {
    /// Appends what stands for an instruction.
    fn inst(&self, out: &mut Vec<u8>, r: Ref<bir::ids::InstId>);
    /// Appends what stands for any other object.
    fn other(&self, out: &mut Vec<u8>, name: Sym);
    /// The module.
    fn module(&self) -> &Module;
}

/// References by name, as documents have them.
pub(crate) struct ByName<'m>(pub(crate) &'m Module);

impl Names for ByName<'_> {
    fn inst(&self, out: &mut Vec<u8>, r: Ref<bir::ids::InstId>) {
        string(out, self.0.str(self.0.ref_name(r)));
    }
    fn other(&self, out: &mut Vec<u8>, name: Sym) {
        string(out, self.0.str(name));
    }
    fn module(&self) -> &Module {
        self.0
    }
}

/// Appends the value of a field. What is unset is null.
pub(crate) fn field(out: &mut Vec<u8>, names: &impl Names, value: &FieldValue<'_>) {
    use FieldValue as F;
    let module = names.module();
    match value {
        F::Unset | F::Opaque => out.extend_from_slice(b"null"),
        F::Bool(v) => boolean(out, *v),
        F::Int(v) => write_i64(out, *v),
        F::Uint(v) => write_u64(out, *v),
        F::Float(v) => float(out, *v),
        F::Text(sym) => string(out, module.str(*sym)),
        F::Name(name) => {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
        }
        F::Expr(id) => expr(out, names, *id),
        F::List(items) => list(out, items, |out, item| field(out, names, item)),
        F::Map(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().map(|(k, v)| (module.str(*k), module.str(*v))).collect();
            pairs.sort_unstable();
            object(out, &pairs, |out, value| string(out, value));
        }
        F::Queue(r) => names.other(out, name(module, *r)),
        F::Block(r) => names.other(out, name(module, *r)),
        F::Inst(r) => names.inst(out, *r),
        F::Func(r) => names.other(out, name(module, *r)),
        F::Loc(r) => names.other(out, name(module, *r)),
        F::Set(r) => names.other(out, name(module, *r)),
        F::Reg(r) => names.other(out, name(module, *r)),
        // Objects with places of their own are never values here.
        F::Owned(_) => out.extend_from_slice(b"null"),
        F::Record(inner) => record(out, names, *inner),
        F::Value(v) => value_of(out, v),
        F::Members(v) => members(out, v),
    }
}

fn name<T: Id>(module: &Module, r: Ref<T>) -> Sym
where
    Module: NameOf<T>,
{
    module.ref_name(r)
}

/// Appends a record: what a writer would put, in byte order of the keys.
pub(crate) fn record(out: &mut Vec<u8>, names: &impl Names, record: &dyn Fields) {
    record_with(out, names, record, |_| true);
}

/// Appends those members of a record whose keys `keep` lets through.
pub(crate) fn record_with(
    out: &mut Vec<u8>,
    names: &impl Names,
    record: &dyn Fields,
    keep: impl Fn(&str) -> bool,
) {
    let mut parts: Vec<(&str, Vec<u8>)> = Vec::new();
    record.visit_written(&mut |spec, value| {
        if !keep(spec.key) {
            return;
        }
        let mut text = Vec::new();
        field(&mut text, names, &value);
        parts.push((spec.key, text));
    });
    if let Some(extra) = record.unknown_members() {
        for (key, value) in extra.members() {
            let mut text = Vec::new();
            value_of(&mut text, value);
            parts.push((key, text));
        }
    }
    parts.sort_by_key(|(key, _)| *key);
    object(out, &parts, |out, text| out.extend_from_slice(text));
}

/// Appends an expression in the version 2 encoding. spec: bir-json 9.2
pub(crate) fn expr(out: &mut Vec<u8>, names: &impl Names, id: ExprId) {
    let exprs = &names.module().exprs;
    let node = exprs.get(id);
    let mut parts: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut put = |key, write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut text = Vec::new();
        write(&mut text);
        parts.push((key, text));
    };
    put("kind", &mut |out| string(out, node.kind()));
    match node {
        Expr::CcGetRank { iteration_id, channel_id } => {
            put("channel_id", &mut |out| write_i64(out, *channel_id));
            put("iteration_id", &mut |out| write_i64(out, *iteration_id));
        }
        Expr::IndirectArg { arg_id } => put("arg_id", &mut |out| write_i64(out, *arg_id)),
        Expr::Axis { axis } => put("axis", &mut |out| string(out, names.module().str(*axis))),
        Expr::Register { regref } => {
            put("regref", &mut |out| names.other(out, name(names.module(), *regref)));
        }
        Expr::ShardId { ub } => put("ub", &mut |out| write_i64(out, *ub)),
        Expr::Affine { terms, c } => {
            put("c", &mut |out| write_i64(out, *c));
            put("terms", &mut |out| {
                list(out, terms, |out, term| {
                    out.extend_from_slice(b"{\"coeff\":");
                    write_i64(out, term.coeff);
                    out.extend_from_slice(b",\"idx\":");
                    expr(out, names, term.idx);
                    out.push(b'}');
                });
            });
        }
        Expr::Sum { terms } => {
            put("n_terms", &mut |out| write_u64(out, terms.len() as u64));
            put("terms", &mut |out| list(out, terms, |out, term| expr(out, names, *term)));
        }
        Expr::Mult { var, scale } => {
            put("scale", &mut |out| write_i64(out, *scale));
            put("var", &mut |out| expr(out, names, *var));
        }
        Expr::FloorDiv { numer, denom } | Expr::Modulo { numer, denom } => {
            put("denom", &mut |out| write_i64(out, *denom));
            put("numer", &mut |out| expr(out, names, *numer));
        }
        Expr::CcDiv { numer, denom, replica_groups_id } => {
            put("denom", &mut |out| write_i64(out, *denom));
            put("numer", &mut |out| expr(out, names, *numer));
            put("replica_groups_id", &mut |out| write_u64(out, *replica_groups_id));
        }
    }
    for (key, value) in exprs.extra(id).members() {
        put(key, &mut |out| value_of(out, value));
    }
    parts.sort_by_key(|(key, _)| *key);
    object(out, &parts, |out, text| out.extend_from_slice(text));
}

/// Appends a free-form value.
pub(crate) fn value_of(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(v) => boolean(out, *v),
        Value::Uint(v) => write_u64(out, *v),
        Value::Int(v) => write_i64(out, *v),
        Value::Float(v) => write_f64(out, *v),
        Value::Str(text) => string(out, text),
        Value::List(items) => list(out, items, value_of),
        Value::Object(inner) => members(out, inner),
    }
}

/// Appends a free-form map.
pub(crate) fn members(out: &mut Vec<u8>, members: &Members) {
    object(out, members.as_slice(), value_of);
}

fn boolean(out: &mut Vec<u8>, v: bool) {
    out.extend_from_slice(if v { b"true" } else { b"false" });
}

/// Appends a float. What is not finite is one of three strings. spec: bir-json 9.4
pub(crate) fn float(out: &mut Vec<u8>, v: f32) {
    if v.is_finite() {
        write_f64(out, v.into());
    } else {
        string(
            out,
            if v.is_nan() {
                "nan"
            } else if v > 0.0 {
                "inf"
            } else {
                "-inf"
            },
        );
    }
}

/// Appends a list.
pub(crate) fn list<T>(out: &mut Vec<u8>, items: &[T], mut item: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (i, each) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        item(out, each);
    }
    out.push(b']');
}

fn object<K: AsRef<str>, V>(out: &mut Vec<u8>, members: &[(K, V)], mut value: impl FnMut(&mut Vec<u8>, &V)) {
    out.push(b'{');
    for (i, (key, each)) in members.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        string(out, key.as_ref());
        out.push(b':');
        value(out, each);
    }
    out.push(b'}');
}

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut plain = 0;
    for (i, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..=0x1f => 0,
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[plain..i]);
        if short == 0 {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
        plain = i + 1;
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
    out.push(b'"');
}

/// What `write` appends, as a string.
pub(crate) fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_the_writer_does() {
        let odd = "a\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}é";
        let value = Value::Str(odd.into());
        assert_eq!(text(|out| string(out, odd)), bir_json::value_to_string(&value));
    }
}
