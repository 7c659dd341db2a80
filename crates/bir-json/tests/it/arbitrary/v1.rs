//! Documents of version 1: the expressions of a version 2 document said in the older way. spec: bir-json 9.5

use bir::{Members, Value};

/// The document with every expression in the version 1 form.
pub fn twin(document: &Value) -> Value {
    let Value::Object(root) = rewrite(document) else { panic!("a document is an object") };
    let mut root = root;
    root.insert("version", Value::Uint(1));
    Value::Object(root)
}

fn rewrite(value: &Value) -> Value {
    match value {
        Value::List(list) => Value::List(list.iter().map(rewrite).collect()),
        Value::Object(members) => match members.get("kind").and_then(Value::as_str) {
            Some("AffExprKind") => Value::Object(affine(members)),
            Some("ModuloKind") => operation(members, "Mod"),
            Some("FloorDivKind") => operation(members, "Div"),
            Some("CCDivKind") => operation(members, "CCGetRank"),
            Some("IndirectArgId") => {
                let mut v1 = without(members, &["kind", "arg_id"]);
                v1.insert("c", Value::Uint(0));
                v1.insert("terms", Value::List(Vec::new()));
                v1.insert("op", Value::from("IndirectArgId"));
                v1.insert("op_param", members.get("arg_id").unwrap().clone());
                Value::Object(v1)
            }
            _ => Value::Object(members.iter().map(|(key, value)| (key.clone(), rewrite(value))).collect()),
        },
        other => other.clone(),
    }
}

fn without(members: &Members, keys: &[&str]) -> Members {
    members.iter().filter(|(key, _)| !keys.contains(&&**key)).cloned().collect()
}

fn affine(members: &Members) -> Members {
    let mut v1 = without(members, &["kind", "terms"]);
    let terms = members.get("terms").and_then(Value::as_list).unwrap().iter().map(|term| {
        let mut old = Members::new();
        old.insert("AxisLabel", term.get("idx").unwrap().get("axis").unwrap().clone());
        old.insert("coef", term.get("coeff").unwrap().clone());
        Value::Object(old)
    });
    v1.insert("terms", Value::List(terms.collect()));
    v1
}

fn operation(members: &Members, op: &str) -> Value {
    let body = members.get("numer").and_then(Value::as_object).unwrap();
    let mut v1 = affine(body);
    for (key, value) in &without(members, &["kind", "numer", "denom", "replica_groups_id"]) {
        v1.insert(key, value.clone());
    }
    v1.insert("op", Value::from(op));
    v1.insert("op_param", members.get("denom").unwrap().clone());
    Value::Object(v1)
}
