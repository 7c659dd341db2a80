//! What has no BIR form, and what is said about it.

use klr::info::operator_name;
use klr::ir::*;
use klr::node::Added;
use klr::{Arena, Contents, File};
use klr_lower::{Error, Options, Problem, ProblemKind, lower};

use crate::kit::{Kit, float, int};

/// An operator of each kind, made up.
fn made(arena: &Arena, wire: u8) -> Operator<'_> {
    let entry = klr::find_type("Operator").expect("the schema has operators");
    let bytes = klr::encode_tree(klr::made::any(entry, &[wire], arena));
    let bytes: &[u8] = arena.list(&bytes);
    klr::read(bytes, arena, &klr::Options::new()).expect("it reads").value
}

fn problems(file: &File<'_>) -> Vec<Problem> {
    match lower(file, &Options { keep_going: true, ..Options::default() }) {
        Err(Error::Problems(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

/// The one problem of a kernel with one statement.
fn problem<'a>(kit: &Kit<'a>, operator: Operator<'a>) -> ProblemKind {
    let problems = problems(&kit.kernel(&[operator]));
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].kind.clone()
}

#[test]
fn sixteen_operators_have_no_form_and_are_named() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let mut refused = Vec::new();
    for wire in 0..76 {
        let operator = made(&arena, wire);
        let result = lower(&kit.kernel(&[operator]), &Options::default());
        let Err(Error::Problems(problems)) = result else { continue };
        if problems[0].kind != (ProblemKind::Operator { kind: wire + 1 }) {
            continue;
        }
        let name = operator_name(&operator);
        let text = problems[0].to_string();
        let expected = format!(
            "{name} (kind {}): the operator has no BIR form: statement 0 of block \"entry\", \"s0\", from kernel.py:2",
            wire + 1
        );
        assert_eq!(text, expected);
        assert_eq!(problems[0].path, "contents.lnc.kernel.bodies[0][0].body[0]");
        assert_eq!(problems[0].kind.vendor_text(), Some(format!("Unsupported operator {}", wire + 1)));
        refused.push(wire + 1);
    }
    assert_eq!(refused, [1, 4, 8, 11, 17, 18, 19, 21, 24, 27, 30, 43, 58, 62, 63, 70]);
}

#[test]
fn keep_going_collects_all_problems() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let file = kit.kernel(&[made(&arena, 0), made(&arena, 69), made(&arena, 62)]);
    assert_eq!(problems(&file).len(), 3);
    let Err(Error::Problems(first)) = lower(&file, &Options::default()) else { panic!("it is refused") };
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].kind, ProblemKind::Operator { kind: 1 });
    let all = lower(&file, &Options { keep_going: true, ..Options::default() }).unwrap_err().to_string();
    assert_eq!(all.lines().count(), 3, "{all}");
}

#[test]
fn forms_that_the_backend_does_not_take() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let x = kit.sb("x", &[128, 512], Dtype::Float32);
    let copy = |dst, src| {
        let engine = Engine::Unassigned;
        Operator::NcCopy(arena.alloc(NcCopy { dst, src, dtype: None, engine }))
    };
    let form = problem(&kit, copy(kit.all(x), TensorRef::Reg(3)));
    assert_eq!(form, ProblemKind::TensorForm { form: "reg" });
    assert_eq!(form.vendor_text().as_deref(), Some("Unsupported tensorRef type encountered!"));

    let basic = AccessBasic { tensor: x, indexes: &[], len_wf: klr::node::Prop };
    let basic = TensorRef::Abstract(Access::Basic(arena.alloc(basic)));
    let form = problem(&kit, copy(kit.all(x), basic));
    assert_eq!(form.vendor_text().as_deref(), Some("Unsupported access type encountered 2"));

    let set = |value| {
        Operator::MemSet(arena.alloc(MemSet {
            dst: kit.all(x),
            value,
            dtype: Dtype::Float32,
            engine: Engine::Dve,
        }))
    };
    assert_eq!(problem(&kit, set(Immediate::Pointer)), ProblemKind::NotAnInteger { what: "value" });
    let wide = problem(&kit, set(int(1 << 40)));
    assert_eq!(wide.to_string(), "value is 1099511627776, which the BIR form does not hold");

    let offset = |scalar, vector| kit.offset(x, 1, (scalar, vector));
    let index = || match kit.all(x) {
        TensorRef::Abstract(access) => access,
        _ => unreachable!("made so"),
    };
    let scalar = || Some(ScalarOffset::Acc(index()));
    assert_eq!(problem(&kit, copy(offset(scalar(), None), offset(scalar(), None))), ProblemKind::BothDynamic);
    assert_eq!(problem(&kit, copy(kit.all(x), offset(None, Some(index())))), ProblemKind::VectorOffset);
    assert_eq!(
        problem(&kit, copy(kit.all(x), offset(Some(ScalarOffset::Reg("r")), None))),
        ProblemKind::Register { name: "r".to_string() }
    );
    let reciprocal = Reciprocal { dst: kit.all(x), src: offset(scalar(), None), dtype: None };
    assert_eq!(problem(&kit, Operator::Reciprocal(arena.alloc(reciprocal))), ProblemKind::Dynamic);
}

#[test]
fn a_dma_needs_the_right_generation() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let x = kit.hbm("x", &[128, 512], Dtype::Float32);
    let y = kit.sb("y", &[128, 512], Dtype::Float32);
    let copy = NcDmaCopy {
        dst: kit.all(y),
        src: kit.all(x),
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 3,
        unique_indices: true,
        head: Added(None),
        engine: Engine::Unassigned,
    };
    let refused = |copy| problem(&kit, Operator::NcDmaCopy(arena.alloc(copy)));
    assert_eq!(refused(NcDmaCopy { dge_mode: 4, ..copy }), ProblemKind::DgeMode { mode: 4 });
    let engine = ProblemKind::DmaEngine { engine: "act", mode: 1 };
    assert_eq!(refused(NcDmaCopy { dge_mode: 1, engine: Engine::Act, ..copy }), engine);
    let TensorRef::Abstract(index) = kit.all(y) else { panic!("made so") };
    let both = (Some(ScalarOffset::Acc(index)), Some(index));
    assert_eq!(
        refused(NcDmaCopy { src: kit.offset(x, 1, (None, Some(index))), ..copy }),
        ProblemKind::DmaDynamic
    );
    assert_eq!(
        refused(NcDmaCopy { src: kit.offset(x, 1, both), dge_mode: 1, ..copy }),
        ProblemKind::TwoOffsets
    );
    let far = BirAccessPattern {
        tensor: x,
        offset: 0,
        pattern: kit.pairs(&[(512, 1), (1, 512)]),
        scalar_offset: None,
        vector_offset: Some(index),
        indirect_dim: 1,
        dtype_override: None,
    };
    assert_eq!(
        refused(NcDmaCopy { src: kit.bir(far), dge_mode: 1, ..copy }),
        ProblemKind::VectorDim { dim: 1 }
    );
}

#[test]
fn names_must_be_there() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let branch = CmpBranch {
        reg1: "r",
        reg2: "",
        imm: 1,
        op: BrCmpOp::LtImm,
        true_label: "entry",
        false_label: "nowhere",
    };
    let label = ProblemKind::Label { label: "nowhere".to_string() };
    assert_eq!(problem(&kit, Operator::CmpBranch(arena.alloc(branch))), label);

    let x = kit.sb("x", &[128, 512], Dtype::Float32);
    let other = kit.sb("x", &[128, 512], Dtype::Bfloat16);
    let reciprocal = Reciprocal { dst: kit.all(x), src: kit.all(other), dtype: None };
    let twice = ProblemKind::Tensor { name: "x".to_string() };
    assert_eq!(problem(&kit, Operator::Reciprocal(arena.alloc(reciprocal))), twice);
}

#[test]
fn files_without_a_core_kernel_and_cores_that_are_not_there() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let call = File::new(Contents::call_site("kernel.klr"));
    let error = lower(&call, &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "hlo contents have no statements: only kernel and lnc contents are lowered"
    );
    let body: &[Block<'_>] = arena.list(&[kit.block("entry", &[])]);
    let two = kit.lnc(&[body, body]);
    let error = lower(&two, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the kernel has a body for each of 2 cores, 0 to 1: one has to be chosen");
    let core = |core| lower(&two, &Options { core: Some(core), ..Options::default() });
    assert!(core(1).is_ok());
    assert_eq!(core(2).unwrap_err().to_string(), "there is no body for core 2: the kernel has 2");
    let none = lower(&kit.lnc(&[]), &Options::default()).unwrap_err();
    assert_eq!(none, Error::NoSuchCore { core: 0, cores: 0 });
}

#[test]
fn records_that_miss_something() {
    let arena = Arena::new();
    let kit = Kit::new(&arena);
    let x = kit.hbm("x", &[128, 512], Dtype::Float32);
    let list = arena.list(&[kit.all(x)]);
    let op = CollectiveOp {
        dsts: list,
        srcs: list,
        op: None,
        replica_group: ReplicaGroup::Named("world"),
        concat_dim: None,
        source_target_pairs: None,
        channel_id: None,
        num_channels: None,
        head: Added(None),
    };
    let op: &CollectiveOp<'_> = arena.alloc(op);
    assert_eq!(problem(&kit, Operator::AllReduce(op)), ProblemKind::ReplicaGroup);
    assert_eq!(problem(&kit, Operator::AllGather(op)), ProblemKind::Missing { what: "concatDim" });
    assert_eq!(
        problem(&kit, Operator::CollectivePermute(op)),
        ProblemKind::Missing { what: "sourceTargetPairs" }
    );
    assert_eq!(
        problem(&kit, Operator::CollectivePermuteImplicit(op)),
        ProblemKind::Missing { what: "channel_id" }
    );
    let compute = DmaCompute { dst: kit.all(x), srcs: list, scales: &[], reduce_op: AluOp::Add };
    let counts = problem(&kit, Operator::DmaCompute(arena.alloc(compute)));
    assert_eq!(counts.to_string(), "there are 1 srcs and 0 scales");
    let compute = DmaCompute { scales: arena.list(&[float(1.0)]), reduce_op: AluOp::Max, ..compute };
    let operator = problem(&kit, Operator::DmaCompute(arena.alloc(compute)));
    assert_eq!(operator, ProblemKind::DmaOperator { op: "max" });
}
