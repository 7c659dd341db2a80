//! What several threads read of a document is what one thread reads: whatever names mean, and wherever pieces start.
use proptest::prelude::*;
use proptest::sample::select;
use xtask::gen_module::{Target, module};

use crate::common::*;

/// Names that are met again and again, so that which instruction one means depends on what stands where.
const NAMES: &[&str] = &["a", "b", "c", "I-1", "I-2", "I-3", "I-4", "", "main"];

fn name() -> impl Strategy<Value = &'static str> {
    select(NAMES)
}

/// Keys about others, and keys that hold names of their own.
fn member() -> impl Strategy<Value = String> {
    let edges = || {
        let kind = select(&["\"Flow\"", "\"Anti\"", "1", "\"Output\",{\"distance\":2}"][..]);
        prop::collection::vec((name(), kind).prop_map(|(to, kind)| format!(r#"["{to}",{kind}]"#)), 0..4)
    };
    let operand = |key: &'static str| {
        let places = select(&["m", "n", "gone"][..]);
        let types = select(&["float32", "uint8", "float6"][..]);
        let offsets = select(&["0", "32", "64"][..]);
        (places, types, offsets).prop_map(move |(place, dtype, offset)| {
            format!(
                r#""{key}":[{{"kind":"physical_ap","ap":[[1,1]],"offset":{offset},"dtype":"{dtype}","memref":"{place}","memsetref":"s"}}]"#
            )
        })
    };
    prop_oneof![
        8 => edges().prop_map(|edges| format!(r#""dependencies":[{}]"#, edges.join(","))),
        2 => edges().prop_map(|edges| format!(r#""loop_carried_dependencies":[{}]"#, edges.join(","))),
        4 => operand("ins"),
        4 => operand("outs"),
        2 => name().prop_map(|from| {
            format!(r#""sync_info":{{"on_wait":[{{"from":"{from}","id":1,"mode":"sem-ge-imm","wait_value":2}}]}}"#)
        }),
        1 => name().prop_map(|name| format!(r#""optin_passes":["{name}"]"#)),
        1 => name().prop_map(|name| format!(r#""debug":{{"lineno":3,"op_name":"{name}"}}"#)),
        1 => name().prop_map(|name| format!(r#""loopnest":["{name}"]"#)),
        1 => name().prop_map(|name| format!(r#""what":"{name}""#)),
        1 => Just(r#""order":[{"axis":"j","kind":"AffIVKind","seen":1}]"#.to_owned()),
        1 => Just(r#""engine":null"#.to_owned()),
        1 => Just(r#""engine":"Pool","engine":"SP""#.to_owned()),
    ]
}

fn op() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(&["NoOp", "Save", "Load", "Memset", "Activation"][..]).prop_map(|op| format!(r#""opcode":"{op}""#)),
        2 => (name(), name()).prop_map(|(queue, block)| {
            format!(r#""dma_blocks":["{block}"],"opcode":"DMATrigger","queue":"{queue}""#)
        }),
        1 => (name(), name()).prop_map(|(yes, no)| {
            format!(r#""on_false":"{no}","on_true":"{yes}","opcode":"CompareAndBranch""#)
        }),
        1 => name().prop_map(|name| format!(r#""opcode":"{name}Strange""#)),
        1 => select(&["i", "j"][..]).prop_map(|axis| {
            let term = format!(r#"{{"coeff":2,"idx":{{"axis":"{axis}","kind":"AffIVKind"}}}}"#);
            let expr = format!(r#"{{"c":1,"kind":"AffExprKind","terms":[{term}]}}"#);
            format!(r#""act_func_set_id":{expr},"opcode":"LoadActFuncSet""#)
        }),
    ]
}

fn instruction() -> impl Strategy<Value = String> {
    let plain = (name(), op(), prop::collection::vec(member(), 0..3)).prop_map(|(name, op, mut members)| {
        // One of each: what stands twice has its own member.
        members.sort();
        members.dedup_by_key(|member| member.split(':').next().map(str::to_owned));
        members.push(format!(r#""name":"{name}""#));
        members.push(op);
        format!("{{{}}}", members.join(","))
    });
    plain.prop_recursive(2, 12, 4, |inner| {
        (name(), blocks(inner, 0..3)).prop_map(|(name, blocks)| {
            let axis = r#"{"lb":0,"name":"i","stride":1,"ub":4}"#;
            format!(r#"{{"LoopAxis":{axis},"blocks":{blocks},"name":"{name}","opcode":"Loop"}}"#)
        })
    })
}

fn blocks(
    instruction: impl Strategy<Value = String> + 'static,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = String> {
    let block = (name(), prop::collection::vec(instruction, 0..12))
        .prop_map(|(name, list)| format!(r#"{{"instructions":[{}],"name":"{name}"}}"#, list.join(",")));
    prop::collection::vec(block, count).prop_map(|blocks| format!("[{}]", blocks.join(",")))
}

fn document() -> impl Strategy<Value = String> {
    let storage =
        r#"[{"memorylocations":[{"name":"m"}],"name":"s"},{"memorylocations":[{"name":"n"}],"name":"t"}]"#;
    // Storage stands before what uses it, or behind.
    let function = (name(), blocks(instruction(), 0..5), any::<bool>()).prop_map(
        move |(name, blocks, first)| match first {
            true => format!(r#"{{"allocations":{storage},"blocks":{blocks},"name":"{name}"}}"#),
            false => format!(r#"{{"blocks":{blocks},"name":"{name}","storage":1,"allocations":{storage}}}"#),
        },
    );
    let queue = (name(), blocks(instruction(), 0..3))
        .prop_map(|(name, blocks)| format!(r#"{{"blocks":{blocks},"name":"{name}"}}"#));
    let lists = (prop::collection::vec(function, 1..4), prop::collection::vec(queue, 0..3));
    (lists, any::<bool>()).prop_map(|((functions, queues), spaced)| {
        let text = format!(r#"{{"functions":[{}],"queues":[{}]}}"#, functions.join(","), queues.join(","));
        if spaced { text.replace(",\"", " ,\n  \"").replace('{', "{ ") } else { text }
    })
}

proptest! {
    #[test]
    fn names_mean_the_same(text in document()) {
        let _ = read_by_threads(text.as_bytes(), &KEEP);
        let _ = read_by_threads(text.as_bytes(), &STRICT);
    }
}

/// Long lists of instructions of all kinds, in functions, bodies and queues.
#[test]
fn generated_documents() {
    for target in [Target::Trn1, Target::Trn2, Target::Trn3] {
        let text = String::from_utf8(module(1500, 7, target)).expect("JSON is UTF-8");
        load(&canonical(&text));
    }
}
