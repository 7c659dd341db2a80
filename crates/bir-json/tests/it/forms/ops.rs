//! Keys of ops.

use super::*;

const MATMUL: [&str; 13] = [
    "accumulation_flag",
    "ifmap_quant_offset",
    "is_fmap_onezero",
    "is_transpose",
    "is_weight_onezero",
    "perf_mode",
    "psum_zero_region",
    "replication_num_rows",
    "replication_resolution",
    "replication_shift_amnt",
    "tile_position",
    "tile_size",
    "weights_quant_offset",
];

/// "The 13 matmul keys are always written (14 for MatmultSparse), also when the input lacks them; the reader
/// accepts absence of any."
#[test]
fn a_matmul_has_all_of_its_keys() {
    for opcode in ["MatmultBase", "Matmult", "MatmultMx"] {
        let written = through(&inst(opcode, "m"));
        assert_eq!(op_keys(&written), MATMUL, "{opcode}");
        assert_eq!(written["tile_size"], json!([-1, -1]));
        assert_eq!(written["tile_position"], json!([-1, -1]));
        assert_eq!(written["perf_mode"], json!("None"));
        assert_eq!(written["accumulation_flag"], json!(0));
        assert_eq!(written["is_transpose"], json!(false));
    }
    let sparse = with(&inst("MatmultSparse", "m"), table::op("MatmultSparse").least());
    let mut keys = op_keys(&through(&sparse));
    assert_eq!(keys.len(), 14);
    keys.retain(|key| key != "compress_ratio");
    assert_eq!(keys, MATMUL);
}

/// start_tensor_calc is bit 0 of accumulation_flag, and bit 2 where it is false; stop_tensor_calc is bit 1.
#[test]
fn the_older_flags_of_a_matmul_are_one_number_now() {
    for (start, stop, flag) in [
        (Some(true), None, 1),
        (Some(false), None, 4),
        (Some(true), Some(true), 3),
        (Some(false), Some(true), 6),
        (Some(true), Some(false), 1),
        (None, Some(true), 2),
    ] {
        for opcode in ["MatmultBase", "Matmult", "MatmultMx", "MatmultSparse"] {
            let mut old = with(&inst(opcode, "m"), table::op(opcode).least());
            for (key, value) in [("start_tensor_calc", start), ("stop_tensor_calc", stop)] {
                if let Some(value) = value {
                    old[key] = json!(value);
                }
            }
            let (written, odd) = with_oddities(&old);
            assert_eq!(written["accumulation_flag"], json!(flag), "{start:?} {stop:?}");
            assert_eq!(written.get("start_tensor_calc"), None);
            assert_eq!(written.get("stop_tensor_calc"), None);
            assert!(odd.iter().any(|(kind, _)| *kind == OddityKind::LegacyForm), "{odd:?}");
        }
    }
    // Next to the flag of today the older keys are kept as unknown members.
    let both = with(&inst("Matmult", "m"), json!({"accumulation_flag": 5, "start_tensor_calc": true}));
    let written = through(&both);
    assert_eq!((&written["accumulation_flag"], &written["start_tensor_calc"]), (&json!(5), &json!(true)));
}

/// "dge_type: absent = Unassigned; that producer always writes it", `queue` skip_if_null, `duplicate`
/// skip_if_default.
#[test]
fn a_dma_writes_what_differs() {
    for opcode in ["DMA", "Load", "Save"] {
        assert_eq!(op_keys(&through(&inst(opcode, "d"))), [""; 0]);
        let old = json!({"queue": null, "duplicate": false, "dge_type": "None", "can_read_uninit": false});
        let written = through(&with(&inst(opcode, "d"), old));
        assert_eq!(written["dge_type"], json!("None"));
        assert_eq!(written.get("duplicate"), None);
        assert_eq!(written.get("queue"), None);
        // The base has no such key, so there it is an unknown member.
        assert_eq!(written.get("can_read_uninit").is_some(), opcode == "DMA", "{opcode}");
        let unassigned = through(&with(&inst(opcode, "d"), json!({"dge_type": "Unassigned"})));
        assert_eq!(op_keys(&unassigned), [""; 0]);
    }
    let copy = table::op("DMACopy");
    assert_eq!(copy.keys.len(), 13);
    let expression = with(&inst("Load", "d"), json!({"duplicate": expression(), "queue": "q0"}));
    assert_eq!(op_keys(&through(&expression)), ["duplicate", "queue"]);
}

/// "Activation scale, alpha, acc: write always; absent = default". "serializable_float keys are always written".
#[test]
fn an_activation_writes_its_numbers() {
    let activation = table::op("Activation");
    assert_eq!(activation.keys.len(), 11);
    let least = with(&inst("Activation", "a"), activation.least());
    let written = through(&least);
    for key in ["func", "scale", "alpha", "acc"] {
        assert!(written.get(key).is_some(), "{key}");
    }
    assert_eq!((&written["scale"], &written["alpha"]), (&json!(0.0), &json!(0.0)));
    // An integer literal for a float, a float that 32 bits do not hold, and what JSON has no number for.
    for (input, output) in [
        (json!(1), json!(1.0)),
        (json!(-7), json!(-7.0)),
        (json!("inf"), json!("inf")),
        (json!("-inf"), json!("-inf")),
        (json!("nan"), json!("nan")),
    ] {
        let written = through(&with(&least, json!({"scale": input})));
        assert_eq!(written["scale"], output, "{input}");
        assert_eq!(written["scale"].is_f64(), output.is_f64());
    }
    let text = canonical(&world_with(&[with(&least, json!({"scale": 0.1}))]).to_string());
    assert!(text.contains("\"scale\": 0.10000000149011612"), "32 bits, widened to double");
    let text = canonical(&world_with(&[with(&least, json!({"scale": -0.0}))]).to_string());
    assert!(text.contains("\"scale\": -0.0"));
    for wrong in ["Infinity", "NaN", "INF", "+inf", "", "1.0"] {
        let text = world_with(&[with(&least, json!({"scale": wrong}))]).to_string();
        assert!(matches!(refuse(&text).kind, ReadErrorKind::WrongType { .. }), "{wrong}");
    }
}

fn loop_inst(members: Value) -> Value {
    let axis = json!({"lb": 0, "name": "i0", "stride": 1, "ub": 4});
    with(&inst("Loop", "l"), with(&json!({"LoopAxis": axis, "blocks": []}), members))
}

/// "The 2025 producer wrote a loop without name, engine, ins and outs; accept it and synthesise no name."
#[test]
fn a_loop_needs_no_name() {
    let axis = json!({"lb": 0, "name": "i0", "stride": 2, "ub": 4});
    let old = json!({"opcode": "Loop", "LoopAxis": axis, "blocks": [block("b", json!([inst("NoOp", "n")]))]});
    let (written, odd) = with_oddities(&old);
    assert_eq!(odd, []);
    assert_eq!(written["name"], json!(""));
    assert_eq!(written["LoopAxis"], axis);
    assert_eq!(op_keys(&written), ["LoopAxis", "blocks"]);
}

/// Main first, in the blocks of functions and bodies; other lists keep their order. spec: bir-json 2.3
#[test]
fn main_comes_first() {
    let blocks = |names: &[&str]| -> Value { names.iter().map(|name| block(name, json!([]))).collect() };
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let written = through(&loop_inst(json!({"blocks": blocks(&["z", "main", "a"])})));
    assert_eq!(names(&written["blocks"]), ["main", "z", "a"]);
    let function = |name: &str, list: &[&str]| json!({"allocations": [], "attributes": [], "blocks": blocks(list), "name": name, "origin": "Internal"});
    let mut document = json!({
        "arch": "gen3",
        "functions": [function("z", &["y", "main"]), function("main", &["x"]), function("a", &[])],
        "nki_functions": {"functions": [function("n", &[]), function("main", &[])]},
        "queues": [
            {"blocks": [], "name": "q", "origin": "Internal"},
            {"blocks": [], "name": "main", "origin": "Internal"},
        ],
        "version": 2,
    });
    let written = round_trip(&document);
    assert_eq!(names(&written["functions"]), ["main", "z", "a"]);
    assert_eq!(names(&written["functions"][1]["blocks"]), ["main", "y"]);
    assert_eq!(names(&written["nki_functions"]["functions"]), ["main", "n"]);
    assert_eq!(names(&written["queues"]), ["q", "main"]);
    // Allocations and instructions keep their order whatever they are called.
    document["functions"][2]["allocations"] = json!([set("s", json!([])), set("main", json!([]))]);
    document["functions"][2]["blocks"] =
        json!([block("b", json!([inst("NoOp", "n"), inst("NoOp", "main")]))]);
    let written = round_trip(&document);
    assert_eq!(names(&written["functions"][2]["allocations"]), ["s", "main"]);
    assert_eq!(names(&written["functions"][2]["blocks"][0]["instructions"]), ["n", "main"]);
}

/// CustomOp is camelCase; BIRKernel is snake_case and has 16 keys. spec: opcodes 3
#[test]
fn a_custom_op_is_in_camel_case() {
    for key in ["opFunctionName", "opLibFile", "srcsShape", "dstsShape", "ulib_to_ucode_version"] {
        table::op("CustomOp").key(key);
    }
    let full = with(&inst("CustomOp", "c"), table::op("CustomOp").full());
    assert_eq!(through(&full), full);
    let snake = with(&full, json!({"srcs_shape": [[1, 2]]}));
    let (written, odd) = with_oddities(&snake);
    assert_eq!(odd, [(OddityKind::UnknownMember, 1)]);
    assert_eq!(written, snake);
    assert_eq!(table::op("BIRKernel").keys.len(), 16);
}

/// `func_args` is a map of strings on 56 and an argument map on 55; the shapes of buffers may nest to the right.
#[test]
fn kernels_have_maps_of_names_and_shapes_of_buffers() {
    let klir = with(&inst("NKIKLIRKernel", "k"), table::op("NKIKLIRKernel").full());
    let map = json!({"b": "y", "a": "x"});
    let written = through(&with(&klir, json!({"func_args": map, "func_outs": {}})));
    assert_eq!(written["func_args"], map);
    let pairs = through(&with(&klir, json!({"func_args": [["b", "y"], ["a", "x"], ["b", "z"]]})));
    assert_eq!(pairs["func_args"], json!({"a": "x", "b": "z"}));
    let nki = with(&inst("NKIKernel", "k"), table::op("NKIKernel").full());
    let pairs = through(&with(&nki, json!({"func_args": [["c_set", "t_set"]], "func": "nki0"})));
    assert_eq!((&pairs["func_args"], &pairs["func"]), (&json!({"c_set": "t_set"}), &json!("nki0")));
    // "func, func_args, func_outs: never read back": a name that nothing has is no fault. spec: opcodes 7
    assert_eq!(through(&with(&nki, json!({"func": "elsewhere"})))["func"], json!("elsewhere"));
    for opcode in ["BIRKernel", "NKIKernel", "NKIKLIRKernel"] {
        let full = with(&inst(opcode, "k"), table::op(opcode).full());
        let nested = json!({"sb_buf_shape": [128, 64], "psum_buf_shape": [8, [128, 2048]]});
        let (written, odd) = with_oddities(&with(&full, nested));
        assert_eq!(written["psum_buf_shape"], json!([8, 128, 2048]));
        assert_eq!(odd, [(OddityKind::LegacyForm, 1)], "{opcode}");
    }
}

/// "null = not set": a required target that was read as null is null again, and one that was absent is absent.
#[test]
fn a_branch_may_have_no_target_yet() {
    let branch = with(&inst("CompareAndBranch", "c"), json!({"comp_op": "is_lt_imm"}));
    let branch = with(&branch, json!({"comp_op": table::enum_names("BranchCompareOp")[1]}));
    let set = with(&branch, json!({"on_true": "Block1", "on_false": "Block2"}));
    assert_eq!(op_keys(&through(&set)), ["comp_op", "on_false", "on_true"]);
    let null = with(&branch, json!({"on_true": null, "on_false": "Block2"}));
    let (written, odd) = with_oddities(&null);
    assert_eq!((written, odd), (null, vec![]));
    let (written, odd) = with_oddities(&branch);
    assert_eq!((written, odd), (branch, vec![(OddityKind::MissingKey, 2)]));
}

/// A branch names a block of its own holder first, then one further out. spec: bir-json 10, opcodes 6
#[test]
fn a_branch_means_the_nearest_block() {
    let branch = |name: &str| with(&inst("UnconditionalBranch", name), json!({"target": "Block2"}));
    let outer = loop_inst(json!({"blocks": [block("body", json!([branch("out")]))]}));
    let inner = loop_inst(json!({
        "blocks": [block("body", json!([branch("in")])), block("Block2", json!([]))],
    }));
    let loaded = load(&world_with(&[outer, inner]).to_string());
    let module = &loaded.module;
    let target = |name: &str| {
        let id = module.insts().find(|id| module.str(module[*id].name) == name).unwrap();
        match &module[id].op {
            Op::UnconditionalBranch(op) => module[op.target.unwrap().id().unwrap()].holder,
            _ => unreachable!(),
        }
    };
    assert!(matches!(target("out"), bir::Holder::Function(_)));
    assert!(matches!(target("in"), bir::Holder::Inst(_)));
}

/// "opaque instructions: name kept, keys kept, checker warns". spec: opcodes 10
#[test]
fn ops_that_are_no_more_are_opaque() {
    let names = table::legacy_ops();
    assert_eq!(names.len(), 10);
    for name in names.iter().map(String::as_str).chain(["OpOfTheFuture"]) {
        let old = json!({"queue": 7, "blocks": [{"name": 5}], "start_tensor_calc": true, "zz": [null]});
        let inst = with(&inst(name, "x"), old);
        let (written, odd) = with_oddities(&inst);
        assert_eq!(written, inst);
        // The keys are its content: not unknown members, and not dropped with them.
        assert_eq!(odd, [(OddityKind::UnknownName, 1)], "{name}");
        let loaded = load(&world_with(std::slice::from_ref(&inst)).to_string());
        let options = WriteOptions { drop_unknown: true, ..WriteOptions::default() };
        let dropped = parse(&bir_json::to_string(&loaded.module, &options));
        assert_eq!(dropped.pointer(INST), Some(&inst), "{name}");
    }
}

/// Unknown members behind the blocks of a body belong to the owner, whatever stands in the body.
#[test]
fn the_body_does_not_change_what_its_owner_is() {
    let body = json!([block("b", json!([inst("OpOfTheFuture", "o"), inst("Matmult", "m")]))]);
    let text = format!(
        r#"{{"opcode": "Loop", "LoopAxis": {{"name": "i", "lb": 0, "ub": 1, "stride": 1}}, "blocks": {body},
        "zz": 1, "start_tensor_calc": true}}"#
    );
    let document = world_with(&[json!("HERE")]).to_string().replace("\"HERE\"", &text);
    let loaded = load(&document);
    assert_eq!(loaded.oddities.count(OddityKind::UnknownMember), 2);
    assert_eq!(loaded.oddities.count(OddityKind::LegacyForm), 0);
    // Missing keys of the owner are reported at the owner.
    let missing = document.replace(r#""LoopAxis": {"name": "i", "lb": 0, "ub": 1, "stride": 1}, "#, "");
    let loaded = load(&missing);
    let oddity = loaded.oddities.iter().find(|oddity| oddity.kind == OddityKind::MissingKey).unwrap();
    assert!(missing[oddity.offset..].starts_with(r#"{"opcode": "Loop""#), "{oddity:?}");
}

/// kind, replica_groups and op stood beside an expression; now they are the nested record. spec: opcodes 10
#[test]
fn the_channel_of_a_collective_is_one_record() {
    let collective = without(
        &with(&inst("CollectiveCompute", "c"), table::op("CollectiveCompute").full()),
        &["cc_channel"],
    );
    let kind = &table::enum_names("CollectiveKind")[3];
    let old = with(
        &collective,
        json!({"cc_channel": expression(), "kind": kind, "replica_groups": [[0, 1]], "op": "max"}),
    );
    let (written, odd) = with_oddities(&old);
    assert!(odd.iter().all(|(kind, _)| *kind == OddityKind::LegacyForm), "{odd:?}");
    let channel = json!({"channel_id": expression(), "kind": kind, "op": "max", "replica_groups": [[0, 1]]});
    assert_eq!(written["cc_channel"], channel);
    for key in ["kind", "replica_groups", "op"] {
        assert_eq!(written.get(key), None, "{key}");
    }
    // Without a channel expression.
    let written = through(&with(&collective, json!({"kind": kind})));
    assert_eq!(written["cc_channel"]["kind"], json!(kind));
    // A nested record has its own; what stands beside it then is unknown.
    let nested = with(&collective, json!({"cc_channel": channel, "kind": kind}));
    assert_eq!(through(&nested), nested);
    // instance_name of a queue switch.
    let switch = with(&inst("SwitchQueueInstance", "s"), json!({"queue": "q0", "instance_name": "q0_inst"}));
    let written = through(&switch);
    assert_eq!((written.get("instance_name"), &written["instance"]), (None, &json!("q0_inst")));
}

/// "Accept both; write a list"; "integer; accept a bool".
#[test]
fn older_forms_of_single_keys_are_read() {
    let recv =
        table::ops().into_iter().find(|op| op.keys.iter().any(|key| key.key == "recv_from_rank")).unwrap();
    let one = with(&with(&inst(&recv.name, "r"), recv.full()), json!({"recv_from_rank": 3}));
    assert_eq!(through(&one)["recv_from_rank"], json!([3]));
    let select = with(&inst("RangeSelect", "r"), table::op("RangeSelect").full());
    // 0 is the default, and not written.
    for (input, output) in [(json!(true), json!(1)), (json!(false), json!(null)), (json!(-5), json!(-5))] {
        assert_eq!(through(&with(&select, json!({"base": input})))["base"], output);
    }
    let iota = with(&inst("Iota", "i"), table::op("Iota").full());
    let (written, odd) = with_oddities(&with(&iota, json!({"pattern": [{"step": 2, "num": 3}, [4, 5]]})));
    assert_eq!(written["pattern"], json!([[2, 3], [4, 5]]));
    assert_eq!(odd, [(OddityKind::LegacyForm, 1)]);
}

/// A DMA block names its trigger, wherever that stands; among instructions of one name it means the trigger.
#[test]
fn a_dma_block_finds_its_trigger_in_bodies_and_nki_functions() {
    let trigger = |name: &str| with(&inst("DMATrigger", name), json!({"queue": "q0", "dma_blocks": ["db0"]}));
    let axis = json!({"lb": 0, "name": "i0", "stride": 1, "ub": 4});
    let body = |name: &str| json!({"LoopAxis": axis, "blocks": [block("body", json!([trigger(name)]))]});
    let insts = [with(&inst("Loop", "loop"), body("nested")), inst("NoOp", "same")];
    let mut document = world_with(&insts);
    document["nki_functions"]["functions"][0]["blocks"] =
        json!([block("b", json!([trigger("kernel"), trigger("same")]))]);
    for name in ["nested", "kernel", "same"] {
        document["queues"][0]["blocks"][0]["instructions"][0]["dma_trigger"] = json!(name);
        let loaded = load(&document.to_string());
        let module = &loaded.module;
        let named = module.insts().find_map(|id| match &module[id].op {
            Op::DMABlock(op) => op.dma_trigger,
            _ => None,
        });
        let found = &module[named.unwrap().id().unwrap()];
        assert!(matches!(found.op, Op::DMATrigger(_)) && module.str(found.name) == name, "{name}");
        round_trip(&document);
    }
}
