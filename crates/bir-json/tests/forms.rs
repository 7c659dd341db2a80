//! Forms that documents have and what becomes of each, against the words of the specification.
#![allow(missing_docs)]

mod common;

use bir::{EmptyHolder, Op};
use bir_json::{OddityKind, ReadErrorKind, WriteOptions};
use common::table;
use common::*;
use serde_json::{Value, json};

/// The op keys of an instruction that was written.
fn op_keys(written: &Value) -> Vec<String> {
    let header = inst("", "");
    written.as_object().unwrap().keys().filter(|key| header.get(key.as_str()).is_none()).cloned().collect()
}

/// The instruction of an input, and how many oddities of each kind its document has.
fn with_oddities(inst: &Value) -> (Value, Vec<(OddityKind, usize)>) {
    let text = world_with(std::slice::from_ref(inst)).to_string();
    (through(inst), oddities(&load(&text)))
}

mod ops {
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
            let old =
                json!({"queue": null, "duplicate": false, "dge_type": "None", "can_read_uninit": false});
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
        let old =
            json!({"opcode": "Loop", "LoopAxis": axis, "blocks": [block("b", json!([inst("NoOp", "n")]))]});
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
        let channel =
            json!({"channel_id": expression(), "kind": kind, "op": "max", "replica_groups": [[0, 1]]});
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
        let switch =
            with(&inst("SwitchQueueInstance", "s"), json!({"queue": "q0", "instance_name": "q0_inst"}));
        let written = through(&switch);
        assert_eq!((written.get("instance_name"), &written["instance"]), (None, &json!("q0_inst")));
    }

    /// "Accept both; write a list"; "integer; accept a bool".
    #[test]
    fn older_forms_of_single_keys_are_read() {
        let recv = table::ops()
            .into_iter()
            .find(|op| op.keys.iter().any(|key| key.key == "recv_from_rank"))
            .unwrap();
        let one = with(&with(&inst(&recv.name, "r"), recv.full()), json!({"recv_from_rank": 3}));
        assert_eq!(through(&one)["recv_from_rank"], json!([3]));
        let select = with(&inst("RangeSelect", "r"), table::op("RangeSelect").full());
        // 0 is the default, and not written.
        for (input, output) in [(json!(true), json!(1)), (json!(false), json!(null)), (json!(-5), json!(-5))]
        {
            assert_eq!(through(&with(&select, json!({"base": input})))["base"], output);
        }
        let iota = with(&inst("Iota", "i"), table::op("Iota").full());
        let (written, odd) = with_oddities(&with(&iota, json!({"pattern": [{"step": 2, "num": 3}, [4, 5]]})));
        assert_eq!(written["pattern"], json!([[2, 3], [4, 5]]));
        assert_eq!(odd, [(OddityKind::LegacyForm, 1)]);
    }
}

mod containers {
    use super::*;

    /// "An empty holder is written back in the shape that was read."
    #[test]
    fn an_empty_nki_holder_keeps_its_shape() {
        for (shape, empty) in [
            (json!(null), EmptyHolder::Null),
            (json!([]), EmptyHolder::List),
            (json!({}), EmptyHolder::Object),
            (json!({"functions": []}), EmptyHolder::Functions),
        ] {
            let document = with(&world(), json!({"nki_functions": shape}));
            assert_eq!(round_trip(&document), document);
            let loaded = load(&document.to_string());
            assert_no_oddities(&loaded);
            assert_eq!(loaded.module.root.nki_functions.as_ref().unwrap().empty, empty);
        }
        let absent = without(&world(), &["nki_functions"]);
        assert_eq!(round_trip(&absent), absent);
        for wrong in [json!([{}]), json!({"functions": [], "x": 1}), json!({"x": []}), json!(7), json!("")] {
            let text = with(&world(), json!({"nki_functions": wrong})).to_string();
            assert!(refuse(&text).place(text.as_bytes()).path.starts_with("nki_functions"));
        }
    }

    /// "an object {need_unroll: bool} in February, from March an array: accept both"; "read both, write the array".
    #[test]
    fn attributes_of_a_function_are_a_list() {
        let mut document = world();
        document["functions"][0]["attributes"] =
            json!({"need_unroll": true, "need_dce": false, "no_spill": true});
        let loaded = load(&document.to_string());
        assert_eq!(oddities(&loaded), [(OddityKind::LegacyForm, 1)]);
        assert_eq!(
            parse(&text_of(&loaded))["functions"][0]["attributes"],
            json!(["need_unroll", "no_spill"])
        );
    }

    /// "accept an object and an array of pairs. Writer: the object form." spec: bir-json 3.3
    #[test]
    fn call_bindings_are_an_object() {
        let calls: Vec<Value> =
            ["y", "x"].iter().map(|name| with(&inst("Call", name), table::op("Call").full())).collect();
        let document = world_with(&calls);
        let object = with(&document, json!({"call_to_physical_memlocs": {"x": ["c"], "y": []}}));
        let pairs = with(&document, json!({"call_to_physical_memlocs": [["y", []], ["x", ["c"]]]}));
        assert_eq!(round_trip(&object), object);
        assert_eq!(round_trip(&pairs), object);
        // The last of two lists for one call counts, as with any repeated key.
        let twice =
            with(&document, json!({"call_to_physical_memlocs": [["x", []], ["y", []], ["x", ["c"]]]}));
        assert_eq!(round_trip(&twice), object);
        for wrong in
            [json!([["x"]]), json!([[]]), json!([["x", ["c"], 1]]), json!({"x": "c"}), json!([{"x": []}])]
        {
            let text = with(&document, json!({"call_to_physical_memlocs": wrong})).to_string();
            assert!(refuse(&text).place(text.as_bytes()).path.starts_with("call_to_physical_memlocs"));
        }
    }

    /// A queue, its instances and its DMA blocks are named from functions, wherever they stand in the document.
    #[test]
    fn queues_may_come_before_functions() {
        let trigger = json!({"queue": "q0", "dma_blocks": ["db1", "db0"]});
        let document = world_with(&[with(&inst("DMATrigger", "t"), trigger)]);
        let text = document.to_string();
        let queues = document["queues"].to_string();
        let moved = text.replacen('{', &format!("{{\"queues\":{queues},"), 1);
        let last = moved.rfind(&format!(",\"queues\":{queues}")).unwrap();
        let moved = moved[..last].to_owned() + &moved[last + queues.len() + 10..];
        assert_eq!(canonical(&moved), canonical(&text));
        let loaded = load(&moved);
        let module = &loaded.module;
        let trigger = module.insts().find(|id| matches!(module[*id].op, Op::DMATrigger(_))).unwrap();
        let Op::DMATrigger(op) = &module[trigger].op else { unreachable!() };
        assert!(op.queue.unwrap().id().is_some());
        assert!(op.dma_blocks.iter().all(|block| block.id().is_some()));
    }

    /// Members in descending order, as the first-party producer writes them: the same document.
    #[test]
    fn the_order_of_members_does_not_matter() {
        fn descending(value: &Value) -> String {
            match value {
                Value::Object(members) => {
                    let member =
                        |(key, value): (&String, &Value)| format!("{}:{}", json!(key), descending(value));
                    format!("{{{}}}", members.iter().rev().map(member).collect::<Vec<_>>().join(","))
                }
                Value::Array(list) => {
                    format!("[{}]", list.iter().map(descending).collect::<Vec<_>>().join(","))
                }
                other => other.to_string(),
            }
        }
        let mut insts: Vec<Value> = Vec::new();
        for op in table::ops() {
            let full = with(&inst(&op.name, &op.name), op.full());
            insts.push(with(&full, without(&table::record("header").full(), &["name", "opcode"])));
        }
        for document in [
            world_with(&insts),
            parse(include_str!("data/spec/17-2-matmul.json")),
            parse(include_str!("data/spec/17-3-loops.json")),
        ] {
            assert_eq!(canonical(&descending(&document)), canonical(&document.to_string()));
        }
    }
}

mod dependencies {
    use super::*;

    fn edges(key: &str, list: Value) -> Value {
        let document =
            world_with(&[inst("NoOp", "a"), with(&inst("NoOp", "x"), json!({key: list})), inst("NoOp", "z")]);
        let written = round_trip(&document);
        written.pointer("/functions/0/blocks/0/instructions/2").unwrap()[key].clone()
    }

    /// spec: bir-json 7.2
    #[test]
    fn entries_become_pairs_of_name_and_kind() {
        for key in ["dependencies", "loop_carried_dependencies"] {
            assert_eq!(edges(key, json!(["a"])), json!([["a", "Flow"]]));
            for (number, name) in ["Invalid", "Ordered", "Anti", "Output", "Flow"].iter().enumerate() {
                assert_eq!(edges(key, json!([["a", number]])), json!([["a", name]]));
                assert_eq!(edges(key, json!([["a", name]])), json!([["a", name]]));
            }
            for number in 5..8 {
                assert_eq!(edges(key, json!([["a", number]])), json!([["a", number]]));
            }
            // Order stays, across names that come later and earlier.
            let list = json!([["z", "Anti"], ["other", "Flow"], ["z", "Flow"], ["a", "Output"], ["a", 6]]);
            assert_eq!(edges(key, list.clone()), list);
            // A set of (target, kind); extra elements belong to the identity.
            let repeated = json!([
                ["a", "Flow", 1], "a", ["a", 4], ["a", "Flow", 1], ["a", "Flow", [1]], ["z", "Flow", {"d": 2.5}], ["a"
                , "Flow", 1, null], "z"
            ]);
            let expected = json!([
                ["a", "Flow", 1], ["a", "Flow"], ["a", "Flow", [1]], ["z", "Flow", {"d": 2.5}],
                ["a", "Flow", 1, null], ["z", "Flow"]
            ]);
            assert_eq!(edges(key, repeated), expected);
        }
    }

    #[test]
    fn entries_of_another_form_are_refused() {
        for key in ["dependencies", "loop_carried_dependencies"] {
            for wrong in [
                json!([["a", 8]]),
                json!([["a", -1]]),
                json!([["a", "flow"]]),
                json!([["a", null]]),
                json!([["a", true]]),
                json!([["a"]]),
                json!([[]]),
                json!([[4, "Flow"]]),
                json!([null]),
                json!([7]),
                json!([{"id": "a", "kind": "Flow"}]),
                json!("a"),
                json!({"a": "Flow"}),
            ] {
                let inst = with(&inst("NoOp", "x"), json!({key: wrong}));
                let text = world_with(&[super::inst("NoOp", "a"), inst]).to_string();
                let error = refuse(&text);
                assert!(!error.kind.is_syntax(), "{key} {wrong}: the text is JSON: {error}");
                let place = error.place(text.as_bytes());
                assert!(place.path.contains(key), "{key} {wrong}: {place}");
            }
            let inst = with(&inst("NoOp", "x"), json!({key: {}}));
            let message = refusal(&world_with(&[inst]).to_string());
            assert!(message.contains(&format!("'{key}' must be a JSON array")), "{message}");
        }
    }

    #[test]
    fn an_instruction_cannot_depend_on_itself() {
        for key in ["dependencies", "loop_carried_dependencies"] {
            let error = refuse(&world_with(&[with(&inst("NoOp", "x"), json!({key: ["x"]}))]).to_string());
            assert!(error.to_string().contains("this != former"), "{error}");
        }
    }

    /// "prefer an earlier instance in the same block, else the instances of the nearest earlier block that holds the
    /// name". spec: bir-json 2.4
    #[test]
    fn a_repeated_name_means_the_nearest_earlier_instance() {
        let plain = || inst("NoOp", "same");
        let user = |name: &str| with(&inst("NoOp", name), json!({"dependencies": ["same"]}));
        let mut document = world();
        document["functions"][0]["blocks"] = json!([
            block("b0", json!([user("before all"), plain()])),
            block("b1", json!([plain(), plain(), user("behind two"), plain()])),
            block("b2", json!([user("first of its block"), plain(), user("behind one")])),
            block("b3", json!([inst("NoOp", "nothing here")])),
            block("b4", json!([user("two blocks on"), with(&plain(), json!({"dependencies": ["same"]}))])),
        ]);
        let text = document.to_string();
        let loaded = load(&text);
        assert_no_oddities(&loaded);
        let module = &loaded.module;
        let ids: Vec<_> = module.insts().collect();
        let place = |id: bir::ids::InstId| {
            let block = module[id].block;
            let at = module[block].instructions.iter().position(|other| *other == id).unwrap();
            format!("{}#{at}", module.str(module[block].name))
        };
        let target = |name: &str| {
            let id = ids.iter().find(|id| module.str(module[**id].name) == name).unwrap();
            place(module[*id].dependencies.iter().next().unwrap().target())
        };
        assert_eq!(target("before all"), "b0#1");
        assert_eq!(target("behind two"), "b1#1");
        assert_eq!(target("first of its block"), "b1#3");
        assert_eq!(target("behind one"), "b2#1");
        assert_eq!(target("two blocks on"), "b2#1");
        // An instance that names its own name means another one.
        let last = *ids.iter().rfind(|id| module.str(module[**id].name) == "same").unwrap();
        assert_eq!(place(last), "b4#1");
        assert_eq!(place(module[last].dependencies.iter().next().unwrap().target()), "b2#1");
    }

    /// Unroll dependencies are looked up like other dependencies, whatever the op.
    #[test]
    fn unroll_dependencies_of_a_trigger_name_instructions() {
        let entry = json!([["other", "Anti", [constant(1)], [{"p": constant(2)}], "more"]]);
        for op in ["NoOp", "DMATrigger", "SwitchQueueInstance"] {
            let full =
                with(&with(&inst(op, "t"), table::op(op).full()), json!({"unroll_dependencies": entry}));
            assert_eq!(through(&full), full, "{op}");
        }
        let short = through(&with(&inst("NoOp", "x"), json!({"unroll_dependencies": [["other", 4]]})));
        assert_eq!(short["unroll_dependencies"], json!([["other", "Flow", [], []]]));
    }
}

mod operands {
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
        callee["blocks"] =
            json!([block("b", json!([with(&inst("NoOp", "y"), json!({"ins": [operand()]}))]))]);
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
}

mod storage {
    use super::*;

    fn with_locations(first: Value, second: Value) -> Value {
        let mut document = world();
        let allocations = &mut document["functions"][0]["allocations"];
        allocations[0]["memorylocations"][0] = with(&location("t"), first);
        allocations[1]["memorylocations"][0] = with(&location("u"), second);
        document
    }

    fn aliases(document: &Value) -> (Value, Value) {
        let written = round_trip(document);
        let allocations = &written["functions"][0]["allocations"];
        let alias = |i: usize| allocations[i]["memorylocations"][0]["alias"].clone();
        (alias(0), alias(1))
    }

    /// "The writer emits only the new form, on both endpoints"; kinds are or-ed. spec: bir-json 5.4
    #[test]
    fn aliases_stand_at_both_ends() {
        let both = (json!([["u_set", "u", 3]]), json!([["t_set", "t", 3]]));
        let none = json!({});
        assert_eq!(aliases(&with_locations(json!({"alias": [["u_set", "u", 3]]}), none.clone())), both);
        assert_eq!(aliases(&with_locations(none.clone(), json!({"alias": [["t_set", "t", 3]]}))), both);
        let or = with_locations(json!({"alias": [["u_set", "u", 1]]}), json!({"alias": [["t_set", "t", 2]]}));
        assert_eq!(aliases(&or), both);
        let old = with_locations(json!({"alias": [["u", 3]]}), none.clone());
        assert_eq!(aliases(&old), both);
        for (kind, number) in [(json!(true), 1), (json!(false), 0), (json!(1.0), 1), (json!(7), 7)] {
            let document = with_locations(json!({"alias": [["u_set", "u", kind]]}), none.clone());
            assert_eq!(aliases(&document).0, json!([["u_set", "u", number]]), "{kind}");
        }
        // Of a location with itself there is one entry.
        let itself = with_locations(json!({"alias": [["t_set", "t", 1]]}), none.clone());
        assert_eq!(aliases(&itself).0, json!([["t_set", "t", 1]]));
        // An empty list is no list.
        assert_eq!(aliases(&with_locations(json!({"alias": []}), none)).0, Value::Null);
    }

    /// The old form stands in an allocation record without locations. spec: bir-json 5.4
    #[test]
    fn aliases_of_records_without_locations_are_read() {
        let mut document = world();
        let record = json!({"Skind": "memory_location_set", "alias": [["u", 3]], "dtype": "float32",
            "kind": "Internal", "name": "t", "tensor_shape": [1]});
        document["functions"][0]["allocations"].as_array_mut().unwrap().push(record);
        let written = round_trip(&document);
        let allocations = &written["functions"][0]["allocations"];
        assert_eq!(allocations[0]["memorylocations"][0]["alias"], json!([["u_set", "u", 3]]));
        assert_eq!(allocations[1]["memorylocations"][0]["alias"], json!([["t_set", "t", 3]]));
        assert_eq!(allocations[4].get("alias"), None);
    }

    #[test]
    fn aliases_are_for_dram() {
        for (first, second) in [("SB", "DRAM"), ("DRAM", "SB"), ("PSUM", "PSUM"), ("Input", "DRAM")] {
            let document =
                with_locations(json!({"type": first, "alias": [["u_set", "u", 3]]}), json!({"type": second}));
            let text = document.to_string();
            assert!(refusal(&text).ends_with("t -> u. Aliasing only permitted for DRAM locations."));
            let loaded = load_with(&text, &KEEP);
            assert_eq!(oddities(&loaded), [(OddityKind::BadAlias, 1)]);
        }
        for wrong in [
            json!({}),
            json!([7]),
            json!([[]]),
            json!([["u_set", "u"]]),
            json!([["u_set", "u", 8]]),
            json!([["u_set", "u", -1]]),
            json!([["u_set", "u", 1, 1]]),
            json!([[1]]),
            json!([["u_set", "u", "3"]]),
        ] {
            let text = with_locations(json!({"alias": wrong}), json!({})).to_string();
            let error = refuse(&text);
            assert!(error.place(text.as_bytes()).path.contains("alias"), "{wrong}: {error}");
        }
    }

    /// Memory types may be numbers, the flags of the in-memory record; names are written.
    #[test]
    fn memory_types_may_be_numbers() {
        for (number, name) in
            [(1, "Unallocated"), (2, "Input"), (4, "Output"), (8, "DRAM"), (16, "SB"), (32, "PSUM")]
        {
            let written = round_trip(&with_locations(json!({"type": number}), json!({})));
            let location = &written["functions"][0]["allocations"][0]["memorylocations"][0];
            assert_eq!(location["type"], json!(name));
        }
        for wrong in [json!(0), json!(3), json!(256), json!(-1), json!(true)] {
            refuse(&with_locations(json!({"type": wrong}), json!({})).to_string());
        }
    }

    /// "absent: NeuronSBTensor when kind is Internal, else Tensor".
    #[test]
    fn the_class_of_a_set_goes_by_its_kind() {
        for kind in table::enum_names("TensorKind") {
            for null in [false, true] {
                let mut document = world();
                let set = &mut document["functions"][0]["allocations"][0];
                set["kind"] = json!(kind);
                set.as_object_mut().unwrap().remove("tensor_class");
                if null {
                    set["tensor_class"] = json!(null);
                }
                let class = if kind == "Internal" { "NeuronSBTensor" } else { "Tensor" };
                let written = parse(&canonical(&document.to_string()));
                assert_eq!(written["functions"][0]["allocations"][0]["tensor_class"], json!(class), "{kind}");
            }
        }
    }

    /// Without Skind a record with locations is a set, any other a register. spec: bir-json 5
    #[test]
    fn records_say_what_they_are() {
        let mut document = world();
        document["functions"][0]["allocations"] = json!([
            {"name": "s", "kind": "Internal", "dtype": null, "memorylocations": [], "tensor_shape": []},
            {"name": "r"},
            {"name": "s2", "Skind": "memory_location_set", "kind": "Internal", "dtype": "int8", "tensor_shape": []},
        ]);
        let written = parse(&canonical(&document.to_string()));
        let kinds: Vec<_> = written["functions"][0]["allocations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["Skind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["memory_location_set", "register", "memory_location_set"]);
        // "null: size operands by their own dtype", and null again. spec: opcodes 1.2
        assert_eq!(written["functions"][0]["allocations"][0]["dtype"], json!(null));
    }

    /// An unresolved set in `Unresolved::Keep` mode does not swallow the aliases that are there.
    #[test]
    fn kept_aliases_stand_beside_resolved_ones() {
        let document =
            with_locations(json!({"alias": [["u_set", "u", 1], ["u_set", "ghost", 3]]}), json!({}));
        let loaded = load_with(&document.to_string(), &KEEP);
        let written = text_of(&loaded);
        assert!(written.contains("\"ghost\""));
        let location = &parse(&written)["functions"][0]["allocations"][0]["memorylocations"][0];
        let entries = location["alias"].as_array().unwrap();
        assert_eq!(entries.len(), 2, "{entries:?}");
    }
}

mod presence {
    use super::*;

    /// The gate present_or_nondefault: a copy changes nothing. spec: opcodes 1.2
    #[test]
    fn what_was_there_stays_and_what_was_not_does_not_come() {
        let bare = location("sample");
        let mut document = world();
        document["functions"][0]["allocations"][0]["memorylocations"][0] = with(&location("t"), json!({}));
        for members in [
            json!({}),
            json!({"bank": 0}),
            json!({"bank": 0, "base": 0, "pinned": false, "allocated": false, "tensor_id": -1}),
            json!({"allocated": true, "bank": -3}),
            json!({"user_allocated": false, "runtime_reserved": true}),
        ] {
            let location = with(&with(&bare, members), json!({"name": "t"}));
            document["functions"][0]["allocations"][0]["memorylocations"][0] = location.clone();
            let written = round_trip(&document);
            assert_eq!(written["functions"][0]["allocations"][0]["memorylocations"][0], location);
        }
    }
}

mod expressions {
    use super::*;

    fn order(expr: &Value) -> Value {
        json!({"order": [expr]})
    }

    fn written(version: u32, expr: &Value) -> Value {
        let document =
            with(&world_with(&[with(&inst("NoOp", "x"), order(expr))]), json!({"version": version}));
        let written = parse(&canonical(&document.to_string()));
        written.pointer(INST).unwrap()["order"][0].clone()
    }

    fn refused(version: u32, expr: &Value) -> String {
        let document =
            with(&world_with(&[with(&inst("NoOp", "x"), order(expr))]), json!({"version": version}));
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
        let term =
            |coeff: i64, axis: &str| json!({"coeff": coeff, "idx": {"axis": axis, "kind": "AffIVKind"}});
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
            let dynamic =
                with(&inst("DynamicForLoop", "d"), json!({"DynamicForLoopAxis": axis, "blocks": []}));
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
    }
}

/// The last of equal keys counts, for every kind of key, and what the others say is as if it were not there.
mod duplicate_keys {
    use super::*;

    #[track_caller]
    fn same(double: &str, single: &str, duplicates: usize) {
        let loaded = load(double);
        assert_eq!(text_of(&loaded), canonical(single), "{double}");
        assert_eq!(loaded.oddities.count(OddityKind::DuplicateKey), duplicates);
        let others = oddities(&loaded).into_iter().filter(|(kind, _)| *kind != OddityKind::DuplicateKey);
        assert_eq!(others.collect::<Vec<_>>(), oddities(&load(single)), "{double}");
        assert!(matches!(refuse_with(double, &STRICT).kind, ReadErrorKind::Strict(_)));
    }

    fn function(members: &str) -> String {
        format!(r#"{{"functions": [{{"name": "f", {members}}}]}}"#)
    }

    fn instruction(members: &str) -> String {
        function(&format!(
            r#""blocks": [{{"name": "b", "instructions": [{{"opcode": "NoOp", "name": "n"}}, {{{members}}}]}}]"#
        ))
    }

    #[test]
    fn containers() {
        let good = r#""blocks": [{"name": "b", "instructions": [{"opcode": "NoOp", "name": "n"}]}]"#;
        for bad in [
            r#"[{"name": "b", "instructions": [{"opcode": "NoOp", "dependencies": ["ghost"], "name": "n"}]}]"#,
            r#"[{"name": "b", "instructions": [{"opcode": 7}]}]"#,
            r#"[{"instructions": [{"opcode": "Loop", "blocks": [{"instructions": [{"opcode": 7}]}]}]}]"#,
            r#"[{"instructions": [{"opcode": "Load", "queue": "ghost"}, {"opcode": "Weird", "name": "n", "a": 1}]}]"#,
            r#"[{"instructions": [{"opcode": "NoOp", "loop_carried_dependencies": [["ghost", "Flow", 7]]}]}]"#,
            r#"[{"instructions": [{"opcode": "NoOp", "order": [{"terms": [], "op": "Div", "op_param": 1}]}]}]"#,
            "7",
            "null",
        ] {
            same(&function(&format!(r#""blocks": {bad}, {good}"#)), &function(good), 1);
        }
        let functions = r#""functions": []"#;
        same(
            &format!(r#"{{"functions": [{{"name": "f", "blocks": []}}], {functions}}}"#),
            &format!("{{{functions}}}"),
            1,
        );
        same(
            &format!(r#"{{"queues": [{{"name": "q", "blocks": []}}], {functions}, "queues": []}}"#),
            &format!(r#"{{{functions}, "queues": []}}"#),
            1,
        );
        same(
            r#"{"module": {"functions": [7]}, "module": {"functions": []}}"#,
            r#"{"module": {"functions": []}}"#,
            1,
        );
        same(
            &format!(
                r#"{{"nki_functions": {{"functions": [{{"name": "f"}}], "functions": []}}, {functions}}}"#
            ),
            &format!(r#"{{"nki_functions": {{"functions": []}}, {functions}}}"#),
            1,
        );
    }

    #[test]
    fn storage() {
        let set = |members: &str| {
            format!(r#"{{"name": "s", "kind": "Internal", "dtype": null, "tensor_shape": [], {members}}}"#)
        };
        let location =
            |members: &str| format!(r#"{{"name": "l", "type": "DRAM", "addr": 0, "dims": [1], {members}}}"#);
        let one = format!(r#""memorylocations": [{}]"#, location(r#""alias": []"#));
        let other = format!(r#""memorylocations": [{}]"#, location(r#""alias": [["s", "ghost", 1]]"#));
        let document = |set: String| function(&format!(r#""allocations": [{set}], "blocks": []"#));
        same(&document(set(&format!("{other}, {one}"))), &document(set(&one)), 1);
        let double = format!(
            r#""memorylocations": [{}]"#,
            location(r#""alias": [["s", "ghost", 1]], "alias": [["s", "l", 1]]"#)
        );
        let single = format!(r#""memorylocations": [{}]"#, location(r#""alias": [["s", "l", 1]]"#));
        same(&document(set(&double)), &document(set(&single)), 1);
        same(
            &function(&format!(r#""allocations": [{}], "allocations": [], "blocks": []"#, set(&one))),
            &function(r#""allocations": [], "blocks": []"#),
            1,
        );
        same(
            &document(r#"{"Skind": "memory_location_set", "name": "r", "Skind": "register"}"#.into()),
            &document(r#"{"name": "r", "Skind": "register"}"#.into()),
            1,
        );
    }

    #[test]
    fn instructions() {
        for (double, single, count) in [
            (r#""opcode": "Load", "opcode": "NoOp""#, r#""opcode": "NoOp""#, 1),
            (r#""opcode": "NoOp", "name": 7, "name": "x""#, r#""opcode": "NoOp", "name": "x""#, 1),
            (
                r#""opcode": "NoOp", "dependencies": [["n", "Flow", 1], ["ghost", "Flow", 2]], "dependencies": [["n", "Anti", 3]]"#,
                r#""opcode": "NoOp", "dependencies": [["n", "Anti", 3]]"#,
                1,
            ),
            (
                r#""opcode": "NoOp", "outs": [{"kind": "imm_value", "dtype": "int8", "value": 1}], "outs": [], "outs": []"#,
                r#""opcode": "NoOp", "outs": []"#,
                2,
            ),
            (r#""opcode": "NoOp", "zz": {"a": 1}, "zz": 2"#, r#""opcode": "NoOp", "zz": 2"#, 1),
            (r#""opcode": "NoOp", "zz": {"a": 1, "a": 2}"#, r#""opcode": "NoOp", "zz": {"a": 2}"#, 1),
            (r#""opcode": "NoOp", "engine": null, "engine": "SP""#, r#""opcode": "NoOp", "engine": "SP""#, 1),
            (r#""opcode": "NoOp", "engine": "SP", "engine": null"#, r#""opcode": "NoOp", "engine": null"#, 1),
            (
                r#""opcode": "NoOp", "debug": {"lineno": 1, "op_name": "a", "lineno": "x", "op_name": "b", "z": 1, "z": 2}"#,
                r#""opcode": "NoOp", "debug": {"lineno": "x", "op_name": "b", "z": 2}"#,
                3,
            ),
            (
                r#""opcode": "Loop", "LoopAxis": {"name": "i", "name": "j", "lb": 0, "ub": 1, "stride": 1}, "unroll": [], "unroll": 2,
                "blocks": [{"name": "b", "instructions": [{"opcode": 7}]}], "blocks": []"#,
                r#""opcode": "Loop", "LoopAxis": {"name": "j", "lb": 0, "ub": 1, "stride": 1}, "unroll": 2, "blocks": []"#,
                3,
            ),
            (
                r#""opcode": "NoOp", "order": [{"kind": "ShardIDKind", "ub": "x", "kind": "ShardIDKind", "ub": 3}]"#,
                r#""opcode": "NoOp", "order": [{"kind": "ShardIDKind", "ub": 3}]"#,
                2,
            ),
            (
                r#""opcode": "NoOp", "order": [{"c": 0, "terms": [{"idx": 7, "coeff": 1, "idx": {"kind": "ShardIDKind", "ub": 3}}], "kind": "AffExprKind"}]"#,
                r#""opcode": "NoOp", "order": [{"c": 0, "terms": [{"coeff": 1, "idx": {"kind": "ShardIDKind", "ub": 3}}], "kind": "AffExprKind"}]"#,
                1,
            ),
            (
                r#""opcode": "NoOp", "ins": [{"kind": "physical_ap", "dtype": "int8", "value": 1, "kind": "imm_value"}]"#,
                r#""opcode": "NoOp", "ins": [{"dtype": "int8", "value": 1, "kind": "imm_value"}]"#,
                1,
            ),
            (
                r#""opcode": "Iota", "pattern": [{"step": 1, "num": 2, "step": 3}]"#,
                r#""opcode": "Iota", "pattern": [{"num": 2, "step": 3}]"#,
                1,
            ),
            (
                r#""opcode": "NoOp", "sync_info": {"on_wait": [{"id": 1, "wait_value": 1, "id": 2}], "on_update": 7, "on_update": []}"#,
                r#""opcode": "NoOp", "sync_info": {"on_wait": [{"wait_value": 1, "id": 2}], "on_update": []}"#,
                2,
            ),
        ] {
            same(&instruction(double), &instruction(single), count);
        }
    }

    /// A key of a body where no body belongs is an unknown member like any other, and nothing in it is an object.
    #[test]
    fn blocks_where_no_body_belongs_are_an_unknown_member() {
        for blocks in [
            r#"[{"name": "b", "instructions": [{"opcode": "NoOp", "name": "inner", "dependencies": ["ghost"]}]}]"#,
            r#"[{"name": "b", "instructions": [{"opcode": 7}]}]"#,
            r#"[]"#,
            "7",
            "null",
            r#"[{"instructions": [{"opcode": "Load", "queue": "ghost", "order": [{"op": "Div"}]}]}]"#,
        ] {
            let text = instruction(&format!(r#""blocks": {blocks}, "opcode": "NoOp", "name": "x""#));
            let loaded = load(&text);
            assert_eq!(oddities(&loaded), [(OddityKind::UnknownMember, 1)], "{blocks}");
            let written = parse(&text_of(&loaded));
            let inst = &written["functions"][0]["blocks"][0]["instructions"][1];
            assert_eq!(inst["blocks"], parse(blocks));
            assert_eq!(loaded.module.inst_ids().len(), 2);
            assert_eq!(loaded.module.block_ids().len(), 1);
        }
        // Two of them do not bring the ids out of step.
        let weird = r#"{"blocks": [{"instructions": [{"opcode": 7}]}], "opcode": "NoOp", "name": "x"}"#;
        let text = function(&format!(
            r#""blocks": [{{"name": "b", "instructions": [{weird}, {{"opcode": "NoOp", "name": "y",
            "dependencies": ["x"]}}, {weird}]}}]"#
        ));
        let loaded = load(&text);
        assert_eq!(loaded.module.insts().count(), 3);
        for id in loaded.module.insts() {
            let at = loaded.positions.inst(id).unwrap();
            assert!(text[at..].starts_with('{'));
        }
    }
}

/// Dates and hand-made corners of first-party documents. spec: bir-json 18
mod first_party {
    use super::*;

    #[test]
    fn a_document_may_say_almost_nothing() {
        let text = r#"{"version": 2, "functions": [{"name": "sg0000", "attributes": [], "allocations": [],
            "blocks": [{"name": "Block1", "instructions": [
                {"queue": null, "outs": [], "opcode": "Save", "name": "same", "ins": [], "engine": "Unassigned"},
                {"queue": null, "outs": [], "opcode": "Load", "name": "same", "ins": [], "engine": "Unassigned"}]}]}],
            "attributes": {"neuron_core_id": 0}, "arch": "gen3"}"#;
        let loaded = load(text);
        assert_no_oddities(&loaded);
        let written = parse(&text_of(&loaded));
        assert_eq!(written["attributes"], json!({"neuron_core_id": 0}));
        assert_eq!(written["functions"][0]["blocks"][0]["instructions"][1], inst("Load", "same"));
        let module = &loaded.module;
        assert_eq!(module.str(module[module.main().unwrap()].name), "sg0000");
    }

    /// "names are arbitrary UTF-8".
    #[test]
    fn names_may_be_any_text() {
        for name in ["тензор", "a}b", "a\"b\\", "\u{0}", "", " ", "a\u{2028}b", "😀", "{\"kind\": \"x\"}"]
        {
            let mut document = world();
            document["functions"][0]["allocations"][0]["memorylocations"][0]["name"] = json!(name);
            let access = with(&operand(), json!({"memref": name}));
            let inst = with(&inst("NoOp", name), json!({"ins": [access, access], "outs": [access]}));
            document["functions"][0]["blocks"][0]["instructions"] = json!([inst, inst]);
            let written = round_trip(&document);
            assert_eq!(written, document, "{name:?}");
        }
    }
}
