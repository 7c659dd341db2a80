//! JSON made of the words that a module knows: mostly well-formed, mostly nonsense, in any order and with keys that
//! repeat. What the reader accepts must be written, read again, and written the same.
#![no_main]

use std::fmt::Write;

use arbitrary::{Arbitrary, Result, Unstructured};
use bir_json::{ReadOptions, Unresolved, WriteOptions};
use libfuzzer_sys::fuzz_target;

/// A document as text.
#[derive(Debug)]
struct Document(String);

/// Names of objects, few enough to meet.
const NAMES: &[&str] = &["main", "f", "a", "b", "q", "s", "l", "r", "i0", "x}y", "é\\n", ""];

/// Keys that take a part in reading, beside those of the ops.
const KEYS: &[&str] = &[
    "LoopAxis",
    "DynamicForLoopAxis",
    "Skind",
    "access_shape",
    "accumulation_flag",
    "actual_ap",
    "addr",
    "addrs",
    "aff_expr",
    "alias",
    "alloced_func",
    "allocations",
    "allocated",
    "ap",
    "arch",
    "arg_id",
    "arguments",
    "artifact_path",
    "attributes",
    "axis",
    "bank",
    "blocks",
    "block_arguments",
    "bound_storage",
    "c",
    "call_to_physical_memlocs",
    "cc_channel",
    "coef",
    "coeff",
    "cond",
    "debug",
    "denom",
    "dependencies",
    "dims",
    "dma_blocks",
    "dma_trigger",
    "dtype",
    "dynamic_ap_info",
    "engine",
    "engine_id",
    "expr",
    "from",
    "func",
    "func_args",
    "functions",
    "id",
    "idx",
    "incoming_values",
    "indirection_ins",
    "ins",
    "instance",
    "instance_name",
    "instructions",
    "is_transpose",
    "kind",
    "lb",
    "lineno",
    "loop_carried_dependencies",
    "loopnest",
    "memorylocations",
    "memref",
    "memref_owner_func",
    "memsetref",
    "module",
    "n_terms",
    "name",
    "nki_functions",
    "numer",
    "offset",
    "offset_expr",
    "on_false",
    "on_true",
    "on_update",
    "on_wait",
    "op",
    "op_name",
    "op_param",
    "opcode",
    "optin_passes",
    "order",
    "origin",
    "outs",
    "pattern",
    "pointer_ref_memloc",
    "predicates",
    "queue",
    "queues",
    "recv_from_rank",
    "reg_ap_offset",
    "regref",
    "remote_writer_func",
    "replica_groups",
    "replica_groups_id",
    "scale",
    "start_tensor_calc",
    "stop_tensor_calc",
    "stride",
    "sync_info",
    "target",
    "tensor_class",
    "tensor_shape",
    "terms",
    "tile_size",
    "type",
    "ub",
    "unknown",
    "unroll",
    "unroll_dependencies",
    "update_value",
    "value",
    "value_array",
    "value_list",
    "var",
    "version",
    "wait_reg",
    "wait_value",
    "AxisLabel",
];

const WORDS: &[&str] = &[
    "physical_ap",
    "symbolic_ap",
    "symbolic_pwap",
    "register_ap",
    "imm_value",
    "symbolic_imm_value",
    "imm_array",
    "register_access",
    "float32",
    "int32",
    "bfloat16",
    "DRAM",
    "SB",
    "PSUM",
    "Internal",
    "Input",
    "memory_location_set",
    "register",
    "memory_location",
    "AffExprKind",
    "SumKind",
    "MultKind",
    "FloorDivKind",
    "ModuloKind",
    "CCDivKind",
    "CCModKind",
    "CCGetRankKind",
    "IndirectArgId",
    "AffIVKind",
    "IntRuntimeValueKind",
    "ShardIDKind",
    "Flow",
    "Anti",
    "gen3",
    "inf",
    "-inf",
    "nan",
    "Div",
    "Mod",
    "CCGetRank",
    "need_unroll",
    "SP",
    "sem-ge-reg",
];

const OPCODES: &[&str] = &[
    "NoOp",
    "Load",
    "Save",
    "DMACopy",
    "DMATrigger",
    "DMABlock",
    "DMADescriptorCopy",
    "Matmult",
    "MatmultSparse",
    "Activation",
    "Loop",
    "DynamicForLoop",
    "DoWhile",
    "Call",
    "NKIKernel",
    "NKIKLIRKernel",
    "CompareAndBranch",
    "UnconditionalBranch",
    "BranchHint",
    "SwitchQueueInstance",
    "ResetQueueInstance",
    "CollectiveCompute",
    "RangeSelect",
    "Iota",
    "InlineASMBytes",
    "Shuffle",
    "CustomOp",
];

impl<'a> Arbitrary<'a> for Document {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut text = String::new();
        if u.ratio(1, 8)? {
            value(u, &mut text, 6)?;
        } else {
            module(u, &mut text)?;
        }
        Ok(Document(text))
    }
}

/// Members that belong to a record, each perhaps replaced by something wild, left out, repeated, or moved.
fn object(u: &mut Unstructured<'_>, out: &mut String, mut members: Vec<(String, String)>) -> Result<()> {
    // An input that is used up says yes for ever.
    while !u.is_empty() && u.ratio(1, 6)? {
        let mut text = String::new();
        value(u, &mut text, 3)?;
        let key = if u.ratio(1, 4)? && !members.is_empty() {
            let at = u.choose_index(members.len())?;
            members[at].0.clone()
        } else {
            (*u.choose(KEYS)?).to_owned()
        };
        let at = u.int_in_range(0..=members.len())?;
        members.insert(at, (key, text));
    }
    if u.ratio(1, 12)? && !members.is_empty() {
        let at = u.choose_index(members.len())?;
        members.remove(at);
    }
    if u.ratio(1, 6)? {
        members.reverse();
    }
    out.push('{');
    for (i, (key, text)) in members.iter().enumerate() {
        let _ = write!(out, "{}\"{key}\": {text}", if i == 0 { "" } else { ", " });
    }
    out.push('}');
    Ok(())
}

fn list(
    u: &mut Unstructured<'_>,
    most: usize,
    mut item: impl FnMut(&mut Unstructured<'_>, &mut String) -> Result<()>,
) -> Result<String> {
    let mut out = String::from("[");
    for i in 0..u.int_in_range(0..=most)? {
        if i > 0 {
            out.push_str(", ");
        }
        item(u, &mut out)?;
    }
    out.push(']');
    Ok(out)
}

fn name(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(format!("\"{}\"", u.choose(NAMES)?))
}

fn member(key: &str, text: String) -> (String, String) {
    (key.to_owned(), text)
}

fn module(u: &mut Unstructured<'_>, out: &mut String) -> Result<()> {
    let functions = list(u, 3, function)?;
    let mut members = vec![member("functions", functions)];
    if u.ratio(1, 3)? {
        members.push(member("nki_functions", format!("{{\"functions\": {}}}", list(u, 2, function)?)));
    }
    if u.ratio(1, 2)? {
        let queues = list(u, 2, |u, out| {
            let members = vec![member("name", name(u)?), member("blocks", blocks(u, 2)?)];
            object(u, out, members)
        })?;
        members.push(member("queues", queues));
    }
    if u.ratio(1, 4)? {
        let bindings = format!("{{{}: [{}]}}", name(u)?, name(u)?);
        members.push(member("call_to_physical_memlocs", bindings));
    }
    members.push(member("version", u.int_in_range(0..=3)?.to_string()));
    object(u, out, members)
}

fn function(u: &mut Unstructured<'_>, out: &mut String) -> Result<()> {
    let allocations = list(u, 3, |u, out| {
        if u.ratio(1, 3)? {
            let members = vec![member("Skind", "\"register\"".into()), member("name", name(u)?)];
            return object(u, out, members);
        }
        let locations = list(u, 3, |u, out| {
            let mut members =
                vec![member("name", name(u)?), member("type", "\"DRAM\"".into()), member("addr", "0".into())];
            if u.ratio(1, 3)? {
                members.push(member(
                    "alias",
                    format!("[[{}, {}, {}]]", name(u)?, name(u)?, u.int_in_range(0..=7)?),
                ));
            }
            if u.ratio(1, 6)? {
                members.push(member("pointer_ref_memloc", name(u)?));
            }
            object(u, out, members)
        })?;
        let members = vec![member("name", name(u)?), member("memorylocations", locations)];
        object(u, out, members)
    })?;
    let members =
        vec![member("name", name(u)?), member("allocations", allocations), member("blocks", blocks(u, 3)?)];
    object(u, out, members)
}

fn blocks(u: &mut Unstructured<'_>, depth: usize) -> Result<String> {
    list(u, 2, |u, out| {
        let instructions = list(u, 4, |u, out| instruction(u, out, depth))?;
        let members = vec![member("name", name(u)?), member("instructions", instructions)];
        object(u, out, members)
    })
}

fn instruction(u: &mut Unstructured<'_>, out: &mut String, depth: usize) -> Result<()> {
    let opcode = *u.choose(OPCODES)?;
    let mut members = Vec::new();
    if depth > 0
        && (matches!(opcode, "Loop" | "DynamicForLoop" | "DoWhile" | "DMABlock") || u.ratio(1, 10)?)
    {
        members.push(member("blocks", blocks(u, depth - 1)?));
    }
    for key in ["dependencies", "loop_carried_dependencies"] {
        if u.ratio(1, 3)? {
            let edges = list(u, 4, |u, out| {
                let text = match u.int_in_range(0..=3)? {
                    0 => name(u)?,
                    1 => format!("[{}, {}]", name(u)?, u.int_in_range(0..=7)?),
                    2 => format!("[{}, \"Flow\", {}]", name(u)?, u.int_in_range(0..=3)?),
                    _ => format!("[{}, \"Anti\"]", name(u)?),
                };
                out.push_str(&text);
                Ok(())
            })?;
            members.push(member(key, edges));
        }
    }
    members.push(member("name", name(u)?));
    members.push(member("opcode", format!("\"{opcode}\"")));
    for key in ["ins", "outs", "indirection_ins"] {
        if u.ratio(1, 3)? {
            members.push(member(key, list(u, 3, operand)?));
        }
    }
    if u.ratio(1, 5)? {
        members.push(member("order", list(u, 2, |u, out| expression(u, out, 4))?));
    }
    for key in ["queue", "target", "on_true", "instance", "associate_branch", "dma_trigger", "func"] {
        if u.ratio(1, 8)? {
            members.push(member(key, name(u)?));
        }
    }
    if u.ratio(1, 8)? {
        members.push(member("dma_blocks", format!("[{}]", name(u)?)));
    }
    if opcode == "Loop" {
        members.push(member("LoopAxis", "{\"name\": \"i0\", \"lb\": 0, \"ub\": 4, \"stride\": 1}".into()));
    }
    object(u, out, members)
}

fn operand(u: &mut Unstructured<'_>, out: &mut String) -> Result<()> {
    let kind = WORDS[u.int_in_range(0..=7usize)?];
    let mut members = vec![member("dtype", if u.ratio(1, 2)? { "\"float32\"" } else { "\"int32\"" }.into())];
    members.push(member("kind", format!("\"{kind}\"")));
    match kind {
        "imm_value" => members.push(member("value", number(u)?)),
        "imm_array" => members.push(member("value_array", format!("[{}]", number(u)?))),
        "symbolic_imm_value" => {
            members.push(member("value_list", format!("[{{\"value\": {}}}]", number(u)?)))
        }
        _ => {
            let pair = format!("[{}, {}]", u.int_in_range(-3..=5000)?, u.int_in_range(0..=128)?);
            members.insert(0, member("ap", format!("[{pair}]")));
            members.push(member("memref", name(u)?));
            members.push(member("memsetref", name(u)?));
            members.push(member("offset", u.int_in_range(0..=64)?.to_string()));
            if kind.starts_with("register") {
                members.push(member("regref", name(u)?));
            }
            if kind == "physical_ap" && u.ratio(1, 2)? {
                members.insert(0, member("access_shape", "[]".into()));
            }
            if u.ratio(1, 6)? {
                members.push(member("memref_owner_func", name(u)?));
            }
        }
    }
    object(u, out, members)
}

fn expression(u: &mut Unstructured<'_>, out: &mut String, depth: usize) -> Result<()> {
    let child = |u: &mut Unstructured<'_>| {
        let mut text = String::new();
        expression(u, &mut text, depth.saturating_sub(1)).map(|()| text)
    };
    let choice = if depth == 0 { u.int_in_range(0..=4)? } else { u.int_in_range(0..=9)? };
    let members = match choice {
        0 => vec![member("kind", "\"AffIVKind\"".into()), member("axis", name(u)?)],
        1 => vec![member("kind", "\"IntRuntimeValueKind\"".into()), member("regref", name(u)?)],
        2 => vec![member("kind", "\"ShardIDKind\"".into()), member("ub", "2".into())],
        3 => vec![
            member("kind", "\"AffExprKind\"".into()),
            member("c", number(u)?),
            member("terms", "[]".into()),
        ],
        4 => vec![
            member("terms", "[]".into()),
            member("c", "0".into()),
            member("op", "\"Div\"".into()),
            member("op_param", "3".into()),
        ],
        5 => vec![
            member("c", "1".into()),
            member("kind", "\"AffExprKind\"".into()),
            member("terms", format!("[{{\"coeff\": 2, \"idx\": {}}}]", child(u)?)),
        ],
        6 => vec![
            member("kind", "\"SumKind\"".into()),
            member("n_terms", "2".into()),
            member("terms", format!("[{}, {}]", child(u)?, child(u)?)),
        ],
        7 => {
            vec![member("kind", "\"MultKind\"".into()), member("scale", number(u)?), member("var", child(u)?)]
        }
        8 => vec![
            member("denom", "2".into()),
            member("kind", "\"ModuloKind\"".into()),
            member("numer", child(u)?),
        ],
        _ => vec![
            member("denom", number(u)?),
            member("kind", "\"CCDivKind\"".into()),
            member("numer", child(u)?),
        ],
    };
    object(u, out, members)
}

fn number(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=7)? {
        0 => u.arbitrary::<i64>()?.to_string(),
        1 => u.arbitrary::<u64>()?.to_string(),
        2 => {
            let value: f64 = u.arbitrary()?;
            if value.is_finite() { format!("{value:e}") } else { "\"inf\"".to_owned() }
        }
        3 => "-0.0".to_owned(),
        4 => format!("{}.0", u.arbitrary::<i32>()?),
        _ => u.int_in_range(-2..=300)?.to_string(),
    })
}

/// Any JSON value of those words.
fn value(u: &mut Unstructured<'_>, out: &mut String, depth: usize) -> Result<()> {
    match u.int_in_range(0..=if depth == 0 { 6 } else { 9 })? {
        0 => out.push_str("null"),
        1 => out.push_str(if u.arbitrary()? { "true" } else { "false" }),
        2 | 3 => out.push_str(&number(u)?),
        4 => out.push_str(&name(u)?),
        5 => {
            let _ = write!(out, "\"{}\"", u.choose(WORDS)?);
        }
        6 => {
            let _ = write!(out, "\"{}\"", u.choose(OPCODES)?);
        }
        7 | 8 => {
            out.push('{');
            for i in 0..u.int_in_range(0..=4)? {
                let _ = write!(out, "{}\"{}\": ", if i == 0 { "" } else { ", " }, u.choose(KEYS)?);
                value(u, out, depth - 1)?;
            }
            out.push('}');
        }
        _ => {
            let text = list(u, 4, |u, out| value(u, out, depth - 1))?;
            out.push_str(&text);
        }
    }
    Ok(())
}

fuzz_target!(|document: Document| {
    let text = document.0;
    for unresolved in [Unresolved::Refuse, Unresolved::Keep] {
        let options = ReadOptions { unresolved, ..ReadOptions::default() };
        let Ok(loaded) = bir_fuzz::read(text.as_bytes(), &options) else { continue };
        let once = bir_json::to_string(&loaded.module, &WriteOptions::default());
        let again = bir_json::read(once.as_bytes(), &options)
            .unwrap_or_else(|error| panic!("{}\n{text}\n{once}", error.located(once.as_bytes())));
        let twice = bir_json::to_string(&again.module, &WriteOptions::default());
        assert_eq!(twice, once, "{text}");
        // What the writer gives has no key twice, and one name for one thing of each instruction.
        assert_eq!(again.oddities.count(bir_json::OddityKind::DuplicateKey), 0, "{text}");
        assert_eq!(again.module.insts().count(), loaded.module.insts().count(), "{text}");
        // Every instruction that was read is one that the module has, and the other way round.
        assert_eq!(loaded.module.insts().count(), loaded.module.inst_ids().len(), "{text}");
    }
});
