//! What a kernel becomes as a whole: blocks, registers, names, cores, orderings.

use bir::enums::{ArchLevel, CollectiveKind, EngineType, TensorKind};
use bir::{Argument, Module, Op};
use klr::ir::*;
use klr::{Arena, Contents, File};
use klr_lower::{Error, Options, ProblemKind, lower};

use crate::cases::case;
use crate::kit::Kit;

fn module(file: &File<'_>) -> Module {
    lower(file, &Options::default()).expect("it is lowered").module
}

fn names(module: &Module) -> Vec<&str> {
    module.insts().map(|id| module.str(module[id].name)).collect()
}

fn block_names(module: &Module) -> Vec<&str> {
    let function = module.main().expect("a function");
    let blocks = module.blocks_of(bir::Holder::Function(function));
    blocks.iter().map(|block| module.str(module[*block].name)).collect()
}

#[test]
fn the_sample_is_lowered_whole() {
    let arena = Arena::new();
    let file = klr::sample::softmax(&arena);
    let lowered = lower(&file, &Options::default()).expect("it is lowered");
    let module = &lowered.module;
    assert_eq!(
        names(module),
        [
            "COMPILER-GENERATED-zero_bias_act_0_memset",
            "load_x",
            "load_w",
            "matmul",
            "exp",
            "sum",
            "reciprocal",
            "multiply",
            "store"
        ]
    );
    let function = module.main().expect("a function");
    assert_eq!(module.str(module[function].name), "softmax");
    let kinds: Vec<_> = module.sets_of(function).map(|set| module[set].kind.expect("a kind")).collect();
    assert_eq!(
        kinds[..3],
        [TensorKind::ExternalInput, TensorKind::ExternalInput, TensorKind::ExternalOutput]
    );
    let matmul = module.insts().find(|id| matches!(module[*id].op, Op::Matmult(_))).expect("a product");
    let debug = module[matmul].debug.as_ref().expect("a source line");
    assert_eq!((debug.lineno, debug.op_name.map(|name| module.str(name))), (Some(6), Some("ncMatMul")));
    assert_eq!(debug.rest.get("filename").and_then(bir::Value::as_str), Some("softmax.py"));
    assert!(lowered.notes.iter().any(|note| note.message.starts_with("ncMatMul: ")), "{:?}", lowered.notes);
}

/// A loop over a register, in three blocks.
fn counted<'a>(kit: &Kit<'a>) -> Vec<Block<'a>> {
    let arena = kit.arena;
    let compare = |op, imm, true_label, false_label| {
        Operator::CmpBranch(arena.alloc(CmpBranch { reg1: "i", reg2: "n", imm, op, true_label, false_label }))
    };
    let set = |dst, imm| Operator::RegisterMove(arena.alloc(RegisterMove { dst, imm }));
    let add =
        Operator::RegisterAluOp(arena.alloc(RegisterAluOp { dst: "i", src: "i", imm: 1, op: AluOp::Add }));
    vec![
        kit.block("entry", &[set("i", 0), set("n", 8), compare(BrCmpOp::Always, 0, "loop", "")]),
        kit.block("loop", &[add, compare(BrCmpOp::LtReg, 0, "loop", "done")]),
        kit.block("done", &[]),
    ]
}

#[test]
fn blocks_registers_and_branches() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let module = module(&kit.lnc(&[arena.list(&counted(&kit))]));
    // The last block is empty: the caller goes on after it.
    assert_eq!(block_names(&module), ["entry", "loop", "done", "kernel-RESUME-Block-compiler-inserted"]);
    let function = module.main().expect("a function");
    assert_eq!(module.registers_of(function).count(), 2);
    let branch = module.insts().find_map(|id| match &module[id].op {
        Op::CompareAndBranch(op) => Some((id, op)),
        _ => None,
    });
    let (id, op) = branch.expect("a branch");
    let target = |block: Option<bir::ids::Ref<bir::ids::BlockId>>| {
        block.and_then(bir::ids::Ref::id).map(|block| module.str(module[block].name))
    };
    assert_eq!((target(op.on_true), target(op.on_false)), (Some("loop"), Some("done")));
    assert_eq!(op.comp_op, bir::enums::BranchCompareOp::IsLtreg);
    assert!(module[id].ins.iter().all(|input| matches!(input, Argument::RegisterAccess(_))));
    assert_eq!(module[id].engine, EngineType::ALL);
    assert!(module.check_links().is_empty());
}

#[test]
fn blocks_in_order_and_edges_become_ordered_dependencies() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let mut blocks = counted(&kit);
    blocks[0].no_reorder = true;
    let mut kernel = LncKernel {
        name: "kernel",
        inputs: &[],
        outputs: &[],
        bodies: arena.list(&[arena.list(&blocks) as &[_]]),
        shared_constants: &[],
        shared_buffers: &[],
        edges: &[],
    };
    let file = File::new(Contents::Lnc(arena.alloc(kernel)));
    let lowered = module(&file);
    let edges = |module: &Module| {
        let edge = |id: bir::ids::InstId| {
            module[id].dependencies.iter().map(|edge| edge.kind().name().unwrap_or("")).collect()
        };
        module.insts().map(edge).collect::<Vec<Vec<&str>>>()
    };
    // The second move comes after the first; the branch has no dependencies.
    assert_eq!(edges(&lowered)[..3], [vec![], vec!["Ordered"], vec![]]);

    blocks[0].no_reorder = false;
    kernel.bodies = arena.list(&[arena.list(&blocks) as &[_]]);
    kernel.edges = arena.list(&[Edges { from_edge: "s1", to_edges: arena.list(&["s0"]) }]);
    let lowered = module(&File::new(Contents::Lnc(arena.alloc(kernel))));
    let total: usize = edges(&lowered).iter().map(Vec::len).sum();
    assert_eq!(total, 1);

    kernel.edges = arena.list(&[Edges { from_edge: "s9", to_edges: arena.list(&["s0"]) }]);
    let error = lower(&File::new(Contents::Lnc(arena.alloc(kernel))), &Options::default()).unwrap_err();
    let Error::Problems(problems) = error else { panic!("{error}") };
    assert_eq!(problems[0].kind, ProblemKind::Edge { name: "s9".to_string() });
    assert_eq!(problems[0].path, "contents.lnc.kernel.edges[0]");
}

#[test]
fn a_core_of_several_says_which_it_is() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let (_, operators) = case("sendRecv", &kit);
    let body: &[Block<'_>] = arena.list(&[kit.block("entry", &operators)]);
    let file = kit.lnc(&[body, body]);
    let core =
        |core| lower(&file, &Options { core: Some(core), target: ArchLevel::CoreV4, ..Options::default() });
    let module = core(0).expect("core 0 sends to core 1").module;
    assert_eq!(module.root.arch, Some(ArchLevel::CoreV4));
    assert_eq!(module.root.attributes.get("neuron_core_id"), Some(&bir::Value::Uint(0)));
    // A collective gets a name of its own.
    assert_eq!(names(&module), ["I-0"]);
    let kind = module.insts().find_map(|id| match &module[id].op {
        Op::CollectiveCompute(op) => op.cc_channel.as_ref().map(|channel| channel.kind),
        _ => None,
    });
    assert_eq!(kind, Some(CollectiveKind::SendRecv));
    let Err(Error::Problems(problems)) = core(1) else { panic!("core 1 sends to itself") };
    assert_eq!(problems[0].kind, ProblemKind::SelfTransfer { core: 1, what: "receiver" });
}

#[test]
fn shared_constants_and_buffers_are_named() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let table = kit.hbm("table", &[128, 512], Dtype::Float32);
    let buffer = kit.hbm("buffer", &[128, 512], Dtype::Float32);
    let y = kit.sb("y", &[128, 512], Dtype::Float32);
    let copy = |dst, src| {
        Operator::NcDmaCopy(arena.alloc(NcDmaCopy {
            dst: kit.all(dst),
            src: kit.all(src),
            compute_op: DgeComputeOp::None,
            oob_mode: DmaBounds::Error,
            dge_mode: 3,
            unique_indices: true,
            head: klr::node::Added(None),
            engine: Engine::Unassigned,
        }))
    };
    let body: &[Block<'_>] = arena.list(&[kit.block("entry", &[copy(y, table), copy(buffer, y)])]);
    let kernel = LncKernel {
        name: "kernel",
        inputs: &[],
        outputs: &[],
        bodies: arena.list(&[body]),
        shared_constants: &[SharedConstantFile { name: "table", file_name: "table.npy" }],
        shared_buffers: arena.list(&[*buffer]),
        edges: &[],
    };
    let module = module(&File::new(Contents::Lnc(arena.alloc(kernel))));
    let function = module.main().expect("a function");
    let set = |name: &str| {
        let found = module.sets_of(function).find(|set| module.str(module[*set].name) == name);
        &module[found.expect(name)]
    };
    assert_eq!(set("table_set").kind, Some(TensorKind::Const));
    assert_eq!(module.str(set("table_set").file), "table.npy");
    assert_eq!(set("buffer_set").addr_space, bir::enums::MemoryAddressSpace::Shared);
}
