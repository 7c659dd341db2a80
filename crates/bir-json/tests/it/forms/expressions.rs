//! Affine expressions, both versions.

use super::*;

fn order(expr: &Value) -> Value {
    json!({"order": [expr]})
}

fn written(version: u32, expr: &Value) -> Value {
    let document = with(&world_with(&[with(&inst("NoOp", "x"), order(expr))]), json!({"version": version}));
    let written = parse(&canonical(&document.to_string()));
    written.pointer(INST).unwrap()["order"][0].clone()
}

fn refused(version: u32, expr: &Value) -> String {
    let document = with(&world_with(&[with(&inst("NoOp", "x"), order(expr))]), json!({"version": version}));
    refusal(&document.to_string())
}

fn every_kind() -> Vec<Value> {
    let child = expression();
    vec![
        json!({"channel_id": 1, "iteration_id": 0, "kind": "CCGetRankKind"}),
        json!({"arg_id": 2, "kind": "IndirectArgId"}),
        json!({"axis": "i0", "kind": "AffIVKind"}),
        json!({"kind": "IntRuntimeValueKind", "regref": "r0"}),
        json!({"kind": "ShardIDKind", "ub": 4}),
        child.clone(),
        json!({"kind": "SumKind", "n_terms": 2, "terms": [child, constant(1)]}),
        json!({"kind": "SumKind", "n_terms": 0, "terms": []}),
        json!({"kind": "MultKind", "scale": -3, "var": child}),
        json!({"denom": 4, "kind": "FloorDivKind", "numer": child}),
        json!({"denom": 4, "kind": "ModuloKind", "numer": child}),
        json!({"denom": 4, "kind": "CCDivKind", "numer": child, "replica_groups_id": 18_446_744_073_709_551_615u64}),
    ]
}

/// spec: bir-json 9.2
#[test]
fn every_kind_is_written_as_it_is_read() {
    for expr in every_kind() {
        for version in [1, 2] {
            assert_eq!(written(version, &expr), expr);
        }
    }
    // The one that is only read.
    let modulo = json!({"denom": 4, "kind": "ModuloKind", "numer": constant(9)});
    assert_eq!(written(2, &with(&modulo, json!({"kind": "CCModKind"}))), modulo);
    // Shared subtrees are written once per use.
    let deep = json!({"kind": "SumKind", "n_terms": 11, "terms": every_kind()[..11]});
    assert_eq!(written(2, &deep), deep);
}

#[test]
fn what_the_reference_checks_is_checked() {
    for (expr, text) in [
        (
            json!({"channel_id": 0, "iteration_id": -1, "kind": "CCGetRankKind"}),
            "Invalid iteration_id or channel_id for CCGetRankExpr!",
        ),
        (
            json!({"channel_id": -1, "iteration_id": 0, "kind": "CCGetRankKind"}),
            "Invalid iteration_id or channel_id for CCGetRankExpr!",
        ),
        (json!({"arg_id": -1, "kind": "IndirectArgId"}), "Invalid arg_id for IndirectArgExpr!"),
        (json!({"kind": "SumKind", "n_terms": 2, "terms": []}), "Number of terms don't match"),
        (json!({"denom": 0, "kind": "ModuloKind", "numer": constant(1)}), "denominator"),
        (json!({"denom": -1, "kind": "FloorDivKind", "numer": constant(1)}), "denominator"),
        (json!({"denom": 0, "kind": "CCDivKind", "numer": constant(1)}), "denominator"),
        (json!({"kind": "TiledAPIndex"}), "Walrus doesn't support this kind of Expr"),
        (json!({"kind": ""}), "Walrus doesn't support this kind of Expr"),
        (json!({"kind": 7}), "expected a string"),
        (json!({"kind": "AffIVKind"}), "missing key `axis`"),
        (json!({"kind": "MultKind", "scale": 1}), "missing key `var`"),
        (json!({"kind": "MultKind", "var": constant(1)}), "missing key `scale`"),
        (json!({"kind": "FloorDivKind", "denom": 1, "numer": 5}), "expected an affine expression"),
        (json!({"kind": "SumKind", "n_terms": -1, "terms": []}), "out of range"),
        (json!({"kind": "AffExprKind", "c": 0.5, "terms": []}), "out of range"),
        (
            json!({"kind": "AffExprKind", "c": 0, "terms": [{"coeff": 1, "idx": constant(1)}]}),
            "cannot be the index of a term",
        ),
        (json!({"kind": "AffExprKind", "c": 0, "terms": [{"coeff": 1}]}), "missing key `idx`"),
        (
            json!({"kind": "AffExprKind", "c": 0, "terms": [{"idx": {"kind": "ShardIDKind", "ub": 1}}]}),
            "missing key `coeff`",
        ),
        (json!([]), "expected"),
        (json!(5), "expected"),
    ] {
        let message = refused(2, &expr);
        assert!(message.contains(text), "{expr}: {message}");
        assert!(message.contains("order[0]"), "{expr}: {message}");
    }
}

/// Lists, references and expressions may be null silently; numbers not. spec: bir-json 1
#[test]
fn members_of_expressions_may_be_null() {
    for (expr, misplaced) in [
        (json!({"kind": "AffExprKind", "c": 1, "terms": null}), 0),
        (json!({"kind": "AffExprKind", "c": null, "terms": []}), 1),
    ] {
        let text = world_with(&[with(&inst("NoOp", "x"), order(&expr))]).to_string();
        assert_eq!(load(&text).oddities.count(OddityKind::MisplacedNull), misplaced, "{expr}");
    }
}

/// "duplicates of one index collapse (last wins); reject duplicates in strict mode". spec: bir-json 9.2
#[test]
fn of_two_terms_with_one_index_the_last_counts() {
    let term = |coeff: i64, axis: &str| json!({"coeff": coeff, "idx": {"axis": axis, "kind": "AffIVKind"}});
    let expr = |terms: Value| json!({"c": 0, "kind": "AffExprKind", "terms": terms});
    let double = expr(json!([term(1, "i0"), term(2, "i1"), term(3, "i0")]));
    assert_eq!(written(2, &double), expr(json!([term(3, "i0"), term(2, "i1")])));
    let text = world_with(&[with(&inst("NoOp", "x"), order(&double))]).to_string();
    assert!(matches!(refuse_with(&text, &STRICT).kind, ReadErrorKind::Strict(_)));
}

/// The reader of version 1 and its traps. spec: bir-json 9.5
#[test]
fn version_1_is_upgraded() {
    let body = json!({"terms": [{"AxisLabel": "i0", "coef": 3}], "c": -2});
    let up = json!({"c": -2, "kind": "AffExprKind",
        "terms": [{"coeff": 3, "idx": {"axis": "i0", "kind": "AffIVKind"}}]});
    assert_eq!(written(1, &body), up);
    let op = |op: &str, param: i64| with(&body, json!({"op": op, "op_param": param}));
    assert_eq!(written(1, &op("Div", 4)), json!({"denom": 4, "kind": "FloorDivKind", "numer": up}));
    assert_eq!(written(1, &op("Mod", 4)), json!({"denom": 4, "kind": "ModuloKind", "numer": up}));
    // "The version 1 tag CCGetRank decodes to a CCDiv, not to a CCGetRank."
    assert_eq!(
        written(1, &op("CCGetRank", 4)),
        json!({"denom": 4, "kind": "CCDivKind", "numer": up, "replica_groups_id": 0})
    );
    let argument = json!({"arg_id": 3, "kind": "IndirectArgId"});
    // "terms and c are mandatory for the reader... Accept their absence."
    for members in [json!({}), json!({"terms": []}), json!({"c": 0}), json!({"terms": [], "c": 0})] {
        let old = with(&members, json!({"op": "IndirectArgId", "op_param": 3}));
        assert_eq!(written(1, &old), argument, "{members}");
    }
    assert!(refused(1, &op("IndirectArgId", 3)).contains("must be 0"));
    let negative = json!({"op": "IndirectArgId", "op_param": -3});
    assert!(refused(1, &negative).contains("Invalid arg_id for IndirectArgExpr!"));
    for zero in ["Div", "Mod", "CCGetRank"] {
        assert!(refused(1, &op(zero, 0)).contains("denominator"));
    }
    assert!(refused(1, &with(&body, json!({"op": "Div"}))).contains("missing key `op_param`"));
    // "other: return body"; what was said beside it is kept.
    let other = written(1, &op("Other", 4));
    assert_eq!(other, with(&up, json!({"op": "Other", "op_param": 4})));
    // "treat any expression object that has a version 2 kind as version 2".
    assert_eq!(written(1, &up), up);
    let shard = json!({"kind": "ShardIDKind", "ub": 2});
    assert_eq!(written(1, &shard), shard);
}

/// The forms of version 1 are none of version 2.
#[test]
fn version_2_documents_have_no_version_1_expressions() {
    for expr in [
        json!({"terms": [{"AxisLabel": "i0", "coef": 3}], "c": 0}),
        json!({"terms": [], "c": 0, "op": "Div", "op_param": 2}),
        json!({"op": "IndirectArgId", "op_param": 2}),
    ] {
        assert!(refused(2, &expr).contains("that is the encoding of version 1"), "{expr}");
    }
}

/// Expressions everywhere they may stand are upgraded, those inside opaque predicates too. spec: bir-json 9.1, 9.3
#[test]
fn every_site_is_upgraded() {
    let v1 = json!({"terms": [{"AxisLabel": "i0", "coef": 1}], "c": 0});
    let v2 = json!({"c": 0, "kind": "AffExprKind",
        "terms": [{"coeff": 1, "idx": {"axis": "i0", "kind": "AffIVKind"}}]});
    let site = |e: &Value| {
        let symbolic = with(&table::record("arg_symbolic_ap").full(), json!({"addrs": [e]}));
        let imm = with(&table::record("arg_symbolic_imm_value").full(), json!({"expr": e}));
        let info = json!({"actual_ap": [[1, 1]], "aff_expr": [{"coef": 1, "offset_expr": e}]});
        let dynamic = with(&operand(), json!({"dynamic_ap_info": info}));
        let noop = with(
            &inst("NoOp", "x"),
            json!({
                "ins": [symbolic, imm, dynamic],
                "order": [e],
                "unroll_dependencies": [["other", "Flow", [e], []]],
            }),
        );
        let axis = json!({"name": "i1", "lb": e, "ub": e, "stride": e});
        let dynamic = with(&inst("DynamicForLoop", "d"), json!({"DynamicForLoopAxis": axis, "blocks": []}));
        let do_while = with(&inst("DoWhile", "w"), json!({"cond": e, "blocks": []}));
        let matmul = with(&inst("Matmult", "m"), json!({"tile_size": [e, 1], "is_transpose": e}));
        world_with(&[noop, dynamic, do_while, matmul])
    };
    let old = with(&site(&v1), json!({"version": 1})).to_string();
    assert_eq!(canonical(&old), canonical(&site(&v2).to_string()));
    // A predicate is opaque: a member that is an expression by its kind is decoded, anything else is kept.
    let sum = json!({"kind": "SumKind", "terms": [v1.clone()], "n_terms": 1});
    let predicate = json!({"e": sum, "n": 1, "o": v1});
    let with_predicate = with(&inst("NoOp", "x"), json!({"predicates": [predicate, "raw"]}));
    let document = with(&world_with(&[with_predicate]), json!({"version": 1}));
    let written = parse(&canonical(&document.to_string())).pointer(INST).unwrap().clone();
    let sum = json!({"kind": "SumKind", "terms": [v2], "n_terms": 1});
    assert_eq!(written["predicates"], json!([{"e": sum, "n": 1, "o": v1}, "raw"]));
}

#[test]
fn unknown_members_of_expressions_stay() {
    for expr in every_kind() {
        let odd = with(&expr, json!({"zz": [1], "A": null, "ubx": 3}));
        assert_eq!(written(2, &odd), odd);
    }
    // A member that another kind of expression has is an unknown one here, also when it is no expression.
    let odd = json!({"kind": "ShardIDKind", "ub": 1, "numer": constant(1), "c": 5});
    assert_eq!(written(2, &odd), odd);
    // In a sum, where a term has members of such names.
    let summand = json!({"coef": "x", "kind": "ShardIDKind", "ub": 1});
    let odd = json!({"kind": "SumKind", "n_terms": 2, "terms": [constant(1), summand]});
    assert_eq!(written(2, &odd), odd);
    // Nothing is decoded there, so it may have any encoding.
    let old = json!({"terms": [], "c": 0, "op": "Div", "op_param": 3});
    let odd = json!({"kind": "ShardIDKind", "ub": 1, "numer": old});
    assert_eq!(written(2, &odd), odd);
}
