//! Operands.

use super::*;

fn imm(dtype: &str, value: Value) -> Value {
    json!({"dtype": dtype, "kind": "imm_value", "value": value})
}

/// "An immediate listed in outs or indirection_ins is moved to the end of ins." spec: bir-json 8.1
#[test]
fn immediates_belong_to_the_inputs() {
    let array = json!({"dtype": "int32", "kind": "imm_array", "value_array": [1, 2]});
    let symbolic = json!({"dtype": "int32", "expr": expression(), "kind": "symbolic_imm_value"});
    let operands = json!({
        "ins": [imm("int32", json!(1)), operand()],
        "indirection_ins": [array, operand()],
        "outs": [operand(), symbolic, imm("uint8", json!(2))],
    });
    let (written, odd) = with_oddities(&with(&inst("NoOp", "x"), operands));
    assert_eq!(odd, [(OddityKind::MovedImmediate, 3)]);
    assert_eq!(written["outs"], json!([operand()]));
    assert_eq!(written["indirection_ins"], json!([operand()]));
    let ins = written["ins"].as_array().unwrap();
    assert_eq!(ins[..2], [imm("int32", json!(1)), operand()]);
    for moved in [array, symbolic, imm("uint8", json!(2))] {
        assert!(ins[2..].contains(&moved), "{moved}");
    }
    assert_eq!(ins.len(), 5);
}

/// Values of immediates fit their dtype, wherever the key stands, and lose nothing. spec: bir-json 8.2
#[test]
fn immediates_are_numbers_of_their_dtype() {
    for (dtype, input, output) in [
        ("int32", json!(7), json!(7)),
        ("int32", json!(7.0), json!(7)),
        ("int32", json!(-7.0), json!(-7)),
        ("int32", json!(16_777_217.0), json!(16_777_217)),
        ("int64", json!(-9_007_199_254_740_993i64), json!(-9_007_199_254_740_993i64)),
        ("int64", json!(1e15), json!(1_000_000_000_000_000u64)),
        ("uint64", json!(u64::MAX), json!(u64::MAX)),
        ("bfloat16", json!(16256), json!(16256)),
        ("float16", json!(15360), json!(15360)),
        ("float32", json!(7), json!(7.0)),
        ("float32", json!(0.5), json!(0.5)),
        ("float32", json!("-inf"), json!("-inf")),
        ("float32", json!("nan"), json!("nan")),
        ("float32", json!(16_777_217), json!(16_777_216.0)),
    ] {
        let text = format!(r#"{{"value": {input}, "kind": "imm_value", "dtype": "{dtype}"}}"#);
        for operand in [imm(dtype, input.clone()), parse(&text)] {
            let written = through(&with(&inst("NoOp", "x"), json!({"ins": [operand]})));
            assert_eq!(written["ins"][0], imm(dtype, output.clone()), "{dtype} {input}");
        }
    }
    for (dtype, value) in [("int32", json!(0.5)), ("uint8", json!("inf")), ("float32", json!("x"))] {
        refuse(&world_with(&[with(&inst("NoOp", "x"), json!({"ins": [imm(dtype, value)]}))]).to_string());
    }
    for dtype in ["float8e4", "float32r", "float64"] {
        let text =
            world_with(&[with(&inst("NoOp", "x"), json!({"ins": [imm(dtype, json!(1))]}))]).to_string();
        if table::enum_names("Dtype").iter().any(|name| name == dtype) {
            assert!(refusal(&text).contains("unsupported dtype"), "{dtype}");
        }
    }
}

/// "both spellings build one class; write symbolic_ap unless the input said symbolic_pwap".
#[test]
fn a_symbolic_operand_keeps_its_spelling() {
    let full = table::record("arg_symbolic_ap").full();
    for kind in ["symbolic_ap", "symbolic_pwap"] {
        let operand = with(&full, json!({"kind": kind}));
        let written = through(&with(&inst("NoOp", "x"), json!({"ins": [operand]})));
        assert_eq!(written["ins"][0], operand);
    }
    for kind in [json!("register_set"), json!(""), json!("Physical_ap"), json!(1), json!(null)] {
        let operand = with(&operand(), json!({"kind": kind}));
        let text = world_with(&[with(&inst("NoOp", "x"), json!({"ins": [operand]}))]).to_string();
        let error = refuse(&text);
        assert!(error.place(text.as_bytes()).path.contains(".ins[0]"), "{kind}");
        if kind.is_string() {
            assert!(error.to_string().contains("Unsupported argument kind"), "{error}");
        }
    }
}

/// Integers may be written with a fraction of zero. spec: bir-json 1
#[test]
fn integers_may_look_like_floats() {
    let text = r#"{"engine_id": 3.0, "ins": [{"ap": [[4.0, 128.0], [1, 4e0]], "offset": 1.6e1,
        "access_shape": [1E2], "dtype": "float32", "kind": "physical_ap", "memref": "t"}], "opcode": "NoOp"}"#;
    let document = world_with(&[json!("HERE")]).to_string().replace("\"HERE\"", text);
    let written = parse(&canonical(&document)).pointer(INST).unwrap().clone();
    assert_eq!(written["engine_id"], json!(3));
    let operand = &written["ins"][0];
    assert_eq!(operand["ap"], json!([[4, 128], [1, 4]]));
    assert_eq!((&operand["offset"], &operand["access_shape"]), (&json!(16), &json!([100])));
    for wrong in ["3.5", "1e300", "-1.0", "\"3\"", "4294967296.0"] {
        refuse(&document.replace("\"engine_id\": 3.0", &format!("\"engine_id\": {wrong}")));
    }
}

/// An operand of a queue or another function may name storage of any function.
#[test]
fn storage_of_other_functions_may_be_named() {
    let foreign =
        with(&operand(), json!({"memref": "c", "memref_owner_func": "callee", "memsetref": "c_set"}));
    let inst = with(&inst("NoOp", "x"), json!({"ins": [foreign]}));
    assert_eq!(through(&inst), inst);
    let text = world_with(&[with(&inst, json!({"ins": [without(&foreign, &["memref_owner_func"])]}))]);
    refuse(&text.to_string());
    let mut queue = world();
    let descriptor =
        with(&super::inst("DMADescriptorCopy", "d"), json!({"ins": [operand()], "engine": "DMA"}));
    queue["queues"][0]["blocks"][0]["instructions"][0]["blocks"] =
        json!([block("db0_Block0", json!([descriptor]))]);
    let loaded = load(&queue.to_string());
    let module = &loaded.module;
    let id = module.insts().find(|id| matches!(module[*id].op, Op::DMADescriptorCopy(_))).unwrap();
    let bir::Argument::PhysicalAp(access) = &module[id].ins[0] else { unreachable!() };
    assert!(access.memref.unwrap().id().is_some());
}

/// The same text means the location of its own function.
#[test]
fn equal_operands_of_two_functions_differ() {
    let mut document = world_with(&[with(&inst("NoOp", "x"), json!({"ins": [operand(), operand()]}))]);
    let callee = &mut document["functions"][1];
    callee["allocations"] = json!([set("t_set", json!([location("t")]))]);
    callee["blocks"] = json!([block("b", json!([with(&inst("NoOp", "y"), json!({"ins": [operand()]}))]))]);
    let loaded = load(&document.to_string());
    let module = &loaded.module;
    for function in module.functions() {
        for id in module.insts_of(bir::Holder::Function(function)) {
            for (_, _, argument) in module[id].operands() {
                let bir::Argument::PhysicalAp(access) = argument else { continue };
                let location = access.memref.unwrap().id().unwrap();
                assert_eq!(module[module[location].set].function, function);
            }
        }
    }
}

/// Equal operands share a record; one that is changed goes its own way, and so does what is odd or has expressions.
#[test]
fn equal_operands_share_a_record() {
    let one = imm("int32", json!(1));
    let operands = || json!({"ins": [operand(), one, operand()], "debug": {"lineno": 7, "op_name": "op"}});
    let insts = [with(&inst("NoOp", "x"), operands()), with(&inst("NoOp", "y"), operands())];
    let mut loaded = load(&world_with(&insts).to_string());
    let module = &mut loaded.module;
    let named =
        |module: &bir::Module, name: &str| module.insts().find(|id| module.str(module[*id].name) == name);
    let (x, y) = (named(module, "x").unwrap(), named(module, "y").unwrap());
    for index in 0..3 {
        let [first, second] = [x, y].map(|id| match &module[id].ins[index] {
            bir::Argument::PhysicalAp(access) => access.address(),
            bir::Argument::ImmValue(number) => number.address(),
            other => panic!("{other:?}"),
        });
        assert_eq!(first, second, "{index}");
    }
    let [first, second] = [x, y].map(|id| module[id].debug.as_ref().unwrap().address());
    assert_eq!(first, second);

    let bir::Argument::PhysicalAp(access) = &mut module[x].ins[0] else { unreachable!() };
    access.offset = 77;
    let text = bir_json::to_string(module, &Default::default());
    assert_eq!(text.matches("\"offset\": 77").count(), 1);
}

/// Operands of queues, whose storage is found in the second pass, stay shared; and odd ones are told one by one.
#[test]
fn operands_that_are_resolved_late_share_a_record() {
    let mut queue = world();
    let descriptor = |name: &str| {
        let operands = json!({"ins": [operand(), operand()], "engine": "DMA"});
        with(&super::inst("DMADescriptorCopy", name), operands)
    };
    queue["queues"][0]["blocks"][0]["instructions"][0]["blocks"] =
        json!([block("db0_Block0", json!([descriptor("d"), descriptor("e")]))]);
    let loaded = load(&queue.to_string());
    let module = &loaded.module;
    let descriptors = module.insts().filter(|id| matches!(module[*id].op, Op::DMADescriptorCopy(_)));
    let mut addresses: Vec<usize> = descriptors
        .flat_map(|id| &module[id].ins)
        .map(|argument| match argument {
            bir::Argument::PhysicalAp(access) => {
                assert!(access.memref.unwrap().id().is_some() && access.memsetref.unwrap().id().is_some());
                access.address()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(addresses.len(), 4);
    addresses.dedup();
    assert_eq!(addresses.len(), 1);

    let odd = with(&operand(), json!({"surprise": 1}));
    let (_, oddities) = with_oddities(&with(&inst("NoOp", "x"), json!({"ins": [odd, odd]})));
    assert_eq!(oddities, [(OddityKind::UnknownMember, 2)]);
}
