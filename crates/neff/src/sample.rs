//! A small package for demonstrations and tests: the product of two half-precision matrices, 128x256 and 256x128, for one
//! core or two, as a compiler would pack it for the third generation.

use serde_json::{Value, json};

use crate::debug::{
    DependencyEdgeKind, EngineType, InstructionDebugInfo, InstructionType, IrDebugInfo, Messages, Packed,
};
use crate::error::Error;
use crate::header::Header;
use crate::pack::{self, Body, Options, Source};

const WORDS: &str = include_str!("sample/words.tsv");

/// Source file that the debug members name.
pub const SOURCE_FILE: &str = "models/product.py";

/// Features that the words use: more than one core, performance mode, generated descriptors with conversion, in hardware.
const FEATURES: u64 = 0x209C00;

const ENGINES: [(&str, &str, u64); 5] =
    [("pe", "PE", 1), ("act", "Activation", 2), ("pool", "Pool", 3), ("dve", "DVE", 5), ("sp", "SP", 6)];

/// A word of the sample, and what belongs to it.
struct Row {
    engine: &'static str,
    name: Option<&'static str>,
    id: Option<u64>,
    statement: Option<u64>,
    line: Option<u64>,
    kind: Option<u64>,
    dataflow: Vec<(u64, u64)>,
    scheduling: Vec<(u64, u64)>,
    words: Vec<&'static str>,
}

/// The sample as a package for `cores` cores, 1 or 2.
///
/// # Panics
/// Never: nothing is read from files.
pub fn package(cores: usize) -> Vec<u8> {
    let mut header = Header {
        name: "product.neff".into(),
        feature_bits: if cores > 1 { FEATURES } else { FEATURES & !0x400 },
        lnc_size: cores as u32,
        ..Header::default()
    };
    header.tpb_per_node[0] = 1;
    let packed: Result<Vec<u8>, Error> = pack::to_bytes(header, &members(cores), &Options::default());
    packed.expect("bytes in memory can be packed")
}

/// Its members, in the order of the format.
pub fn members(cores: usize) -> Vec<Source> {
    let rows = rows();
    let graphs: Vec<String> = (0..cores).map(|core| format!("sg{core:02}")).collect();
    let mut members = vec![
        text("neff.json", &host_graph()),
        text("kelf-0.json", &kelf(&graphs)),
        text("info.json", &compile_info()),
        text(
            "hlo_stats.json",
            &json!({ "HloMacCount": 4_194_304, "Traffic": 262_144, "ArithmeticIntensity": 32.0 }),
        ),
    ];
    members.extend(front_end());
    for (core, graph) in graphs.iter().enumerate() {
        let mut add = |file: &str, bytes: Vec<u8>| {
            members.push(Source { name: format!("{graph}/{file}"), body: Body::Bytes(bytes) });
        };
        add("def.json", pretty(&definition(cores)));
        add("tensor_map.json", pretty(&tensor_map()));
        add("identity.npy", identity());
        add("act_info.json", pretty(&act_info()));
        add("exp_and_others.json", pretty(&json!({ "bkt_entry_cnt": 1, "ctl_entry_cnt": 1 })));
        add("exp_and_others_bkt.bin", vec![0; 32]);
        add("exp_and_others_ctrl.bin", vec![0; 32]);
        for (table, size) in
            [("opcode", 1024), ("control_fast", 4096), ("control_slow", 4096), ("datapath", 16384)]
        {
            add(&format!("default_{table}_table.bin"), vec![0; size]);
        }
        let dma = debug("debug_info_penguin.dbg", 4, Vec::new());
        add("debug_info_backend_DMA.dbg", dma.write());
        for (key, stem, number) in ENGINES {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.engine == stem).collect();
            add(&format!("{stem}.json"), engine_manifest(key, stem).to_string().into_bytes());
            let words = rows.iter().map(|row| row.words[core.min(row.words.len() - 1)]);
            add(&format!("{stem}.bin"), words.flat_map(bytes).collect());
            let mut backend = debug("debug_info_penguin.dbg", number, backend(&rows));
            if backend.instructions.iter().any(|entry| !entry.attrs.is_empty()) {
                backend.kernel_filenames = vec![SOURCE_FILE.into()];
            }
            add(&format!("debug_info_backend_{stem}.dbg"), backend.write());
            let parents = |row: &&Row| InstructionDebugInfo {
                parent_ids: Packed(row.id.into_iter().collect()),
                ..InstructionDebugInfo::default()
            };
            let asm =
                debug(&format!("debug_info_backend_{stem}.dbg"), number, rows.iter().map(parents).collect());
            add(&format!("debug_info_asm_{stem}.dbg"), asm.write());
        }
    }
    pack::sort(&mut members);
    members
}

fn rows() -> Vec<Row> {
    let lines = WORDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(row).collect()
}

fn row(line: &'static str) -> Row {
    let columns: Vec<&str> = line.split('\t').collect();
    let number = |text: &str| text.parse().ok();
    let edge = |text: &str| {
        let (id, kind) = text.split_once(':')?;
        let kinds = ["Invalid", "Ordered", "Anti", "Output", "Flow"];
        Some((id.parse().ok()?, kinds.iter().position(|name| *name == kind)? as u64))
    };
    Row {
        engine: columns[0],
        name: Some(columns[1]).filter(|name| *name != "-"),
        id: number(columns[2]),
        statement: number(columns[3]),
        line: number(columns[4]),
        kind: number(columns[5]),
        dataflow: columns[6].split(',').filter_map(edge).collect(),
        scheduling: columns[7].split(',').filter_map(edge).collect(),
        words: columns[8..].to_vec(),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn text(name: &str, value: &Value) -> Source {
    Source { name: name.into(), body: Body::Bytes(pretty(value)) }
}

/// Instructions of an engine, each once.
fn backend(rows: &[&Row]) -> Vec<InstructionDebugInfo> {
    let mut entries: Vec<InstructionDebugInfo> = Vec::new();
    for row in rows {
        let (Some(name), Some(id)) = (row.name, row.id) else { continue };
        if entries.last().is_some_and(|last| last.id == id) {
            continue;
        }
        let split = |edges: &[(u64, u64)]| {
            let (ids, kinds): (Vec<u64>, Vec<_>) =
                edges.iter().map(|(id, kind)| (*id, DependencyEdgeKind(*kind))).unzip();
            (Packed(ids), Packed(kinds))
        };
        let (dataflow, dataflow_kinds) = split(&row.dataflow);
        let (scheduling, scheduling_kinds) = split(&row.scheduling);
        let place = row.line.map(|line| {
            vec![("kernel_file".to_owned(), "0".to_owned()), ("kernel_line".to_owned(), line.to_string())]
        });
        entries.push(InstructionDebugInfo {
            id,
            name: name.into(),
            parent_ids: Packed(row.statement.into_iter().collect()),
            dataflow_predecessors: dataflow,
            dataflow_predecessor_types: dataflow_kinds,
            scheduling_predecessors: scheduling,
            scheduling_predecessor_types: scheduling_kinds,
            instruction_type: InstructionType(row.kind.unwrap_or(1)),
            attrs: place.unwrap_or_default(),
            ..InstructionDebugInfo::default()
        });
    }
    entries
}

fn debug(parent: &str, engine: u64, entries: Vec<InstructionDebugInfo>) -> IrDebugInfo {
    IrDebugInfo {
        description: "Debug info of the sample".into(),
        parent_debug_info_filename: parent.into(),
        engine_type: EngineType(engine),
        instructions: Messages(entries),
        ..IrDebugInfo::default()
    }
}

fn front_end() -> Vec<Source> {
    let entry = |id: u64, name: &str, parent: Option<u64>| InstructionDebugInfo {
        id,
        name: name.into(),
        parent_ids: Packed(parent.into_iter().collect()),
        ..InstructionDebugInfo::default()
    };
    let statements = [
        "float16<128 x 128> $1",
        "float16<128 x 256> $2",
        "float16<128 x 64> $3[c]",
        "float16<128 x 128> $4[p]",
        "float16<128 x 256> $5",
        "float32<128 x 64> $6",
        "float32<128 x 64> $7",
        "float16<128 x 64> $8",
    ];
    let has_operation = [3, 6, 7, 8];
    let penguin =
        (1..).zip(statements).map(|(id, name)| entry(id, name, has_operation.contains(&id).then_some(2)));
    let mut dot = entry(2, "%product = dot(%x, %y)", Some(5));
    dot.dataflow_predecessors = Packed(vec![0, 1]);
    dot.attrs = [("op_type", "MatMul"), ("source_file", SOURCE_FILE), ("source_line", "12")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
    let hlo = vec![
        entry(0, "model", Some(1)),
        entry(0, "main", Some(2)),
        entry(0, "%x = parameter()", Some(3)),
        entry(1, "%y = parameter()", Some(4)),
        dot,
    ];
    let framework = ["Model", "Model/forward", "x", "y", "product"];
    let framework = (1..).zip(framework).map(|(id, name)| entry(id, name, None)).collect();
    let member = |layer: &str, suffix: &str, info: IrDebugInfo| Source {
        name: format!("debug_info/debug_info_{layer}.dbg{suffix}"),
        body: Body::Bytes(info.write()),
    };
    let mut frames = debug("", 0, Vec::new());
    frames.stack_frame_index = Some(Box::default());
    vec![
        member("penguin", "_sg000000", debug("debug_info_hlo.dbg", 0, penguin.collect())),
        member("hlo", "_sg000000", debug("debug_info_pttf.dbg", 0, hlo)),
        member("pttf", "_sg000000", debug("", 0, framework)),
        member("stack_frame_index", "", frames),
    ]
}

fn host_graph() -> Value {
    let input = |name: &str| json!({ "op": "null", "name": name, "inputs": [], "output_names": [name], "is_param": "0" });
    json!({
        "nodes": [
            input("x"),
            input("y"),
            {
                "op": "tvm_op",
                "name": "sg_coreV10",
                "attrs": {
                    "func_name": "__kelf", "kelf": "kelf-0.json",
                    "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"
                },
                "inputs": [[0, 0, 0], [1, 0, 0]],
                "output_names": ["product"]
            }
        ],
        "arg_nodes": [0, 1],
        "heads": [[2, 0, 0]],
        "node_row_ptr": [0, 1, 2, 3]
    })
}

fn kelf(graphs: &[String]) -> Value {
    let graph = |name: &String| json!({ "name": name, "definition": format!("{name}/def.json") });
    json!({ "version": "0.5", "target": "cayman", "graphs": graphs.iter().map(graph).collect::<Vec<_>>() })
}

fn compile_info() -> Value {
    let mut nodes = vec![0; 64];
    nodes[0] = 1;
    json!({
        "tool_version": "0.0", "kelp_version": "Dynamic", "name": "product.neff",
        "num_tpb": 1, "num_tpb_requested": 1, "num_tpb_per_node": nodes
    })
}

fn definition(cores: usize) -> Value {
    let features: &[&str] = if cores > 1 { &["neff_feature_vnc"] } else { &[] };
    let semaphores = |first: u64| (first..first + 16).collect::<Vec<_>>();
    let mut definition = json!({
        "name": "definition",
        "version": "0.6",
        "#rank_world_size": 0,
        "cc_streams": { "num_streams": 0 },
        "dma_dbg": ["debug_info_backend_DMA.dbg"],
        "dma_queue": {
            "qPoolDynamic": {
                "type": "dynamic", "owner": "pool", "num_queues": 16, "fabric_path": "main",
                "semaphore_set": semaphores(24),
                "dynamic_dma": { "SB_scratch_partition_offset": 0, "SB_scratch_partition_size": 16384 }
            },
            "qSPDynamicHW": {
                "type": "dynamic", "owner": "sp", "num_queues": 16, "fabric_path": "main",
                "semaphore_set": semaphores(8)
            }
        },
        "neff_features": features,
        "runtime_event_count": 12,
        "runtime_semaphore_count": 3,
        "runtime_statebuffer_reservation": [
            { "type": "evtaccel", "base_partition": 0, "partitions": 128, "offset": 229_368, "size": 8 }
        ],
        "var": {
            "DGETable0": { "type": "dge-table", "var_id": 5, "list": [1, 2, 3] },
            "SB": { "type": "state-buffer", "var_id": 0 },
            "identity": {
                "type": "file", "var_id": 4, "size": 32768, "alignment": 32768, "fabric_path": "main",
                "file_name": "identity.npy", "ops": []
            },
            "product": { "type": "output", "var_id": 3, "size": 32768, "ops": [] },
            "x": { "type": "input", "var_id": 1, "size": 65536, "ops": [] },
            "y": { "type": "input", "var_id": 2, "size": 65536, "ops": [] }
        }
    });
    for (key, stem, _) in ENGINES {
        definition[key] = json!(format!("{stem}.json"));
        definition[format!("{key}_instr")] = json!(format!("{stem}.bin"));
        definition[format!("{key}_dbg")] = json!([format!("debug_info_backend_{stem}.dbg")]);
        definition[format!("{key}_asm_dbg")] = json!([format!("debug_info_asm_{stem}.dbg")]);
    }
    definition
}

fn engine_manifest(key: &str, stem: &str) -> Value {
    let mut manifest = json!({ "name": format!("{stem}.json"), "instr": format!("{stem}.bin"), "dma": [] });
    match key {
        "act" => {
            manifest["activation_function_sets"] = json!(["exp_and_others"]);
            manifest["act_info"] = json!("act_info.json");
            manifest["act_semaphore"] = json!(12);
        }
        "dve" => {
            let table = |name: &str| format!("default_{name}_table.bin");
            manifest["dve_tables"] = json!([{
                "opcode_table": table("opcode"), "datapath_table": table("datapath"),
                "control_fast_table": table("control_fast"), "control_slow_table": table("control_slow")
            }]);
        }
        _ => {}
    }
    manifest
}

fn act_info() -> Value {
    let set = |name: &str| {
        json!({
            "name": name, "bkt_bin": format!("{name}_bkt.bin"), "ctrl_bin": format!("{name}_ctrl.bin"),
            "profile_json": format!("{name}.json"), "act": { "copy": 1 }
        })
    };
    json!({
        "pwp_file_keys": ["bkt_bin", "ctrl_bin", "profile_json"],
        "act_func_sets": [set("exp_and_others"), set("gelu_and_others")]
    })
}

fn tensor_map() -> Value {
    let tensor = |kind: &str, shape: [u64; 2]| json!({ "dtype": "float16", "kind": kind, "is_const": false, "tf_shape": shape, "sim_shape": shape });
    json!({
        "x": tensor("input", [128, 256]),
        "y": tensor("input", [256, 128]),
        "product": tensor("output", [128, 128])
    })
}

/// The identity of 128 rows in half precision, as numpy writes it.
fn identity() -> Vec<u8> {
    let mut header =
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (128, 128), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    let mut data = vec![0; 32768];
    for row in 0..128 {
        data[row * 258 + 1] = 0x3C;
    }
    header.append(&mut data);
    header
}
