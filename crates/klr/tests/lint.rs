//! Each check finds what it is for and nothing else.

use klr::ir::{
    APPair, Access, AccessBasic, AccumCmd, ActivationFunc, Address, AluOp, BirAccessPattern, Block, BrCmpOp,
    CmpBranch, CollectiveOp, DgeComputeOp, DmaBounds, DmaTranspose, Dtype, Edges, Engine, Immediate, Index,
    LncKernel, MatmulPerfMode, Max8, MemSet, Memory, NcActivate, NcCopy, NcDmaCopy, NcMatMul, Operand,
    Operator, Pos, RegisterMove, ReplicaGroup, ScalarOffset, Shape, Shuffle, Slice, Stmt, TensorName,
    TensorRef, TensorStore, Transpose, TransposeOps,
};
use klr::lint::{RULES, lint, lint_value};
use klr::node::{Added, Prop};
use klr::{Contents, File};

const TENSOR: TensorName<'_> = TensorName {
    name: "t",
    dtype: Dtype::Float32,
    shape: Shape { par_dim: 128, free_dims: &[64] },
    address: Address {
        name: "t",
        memory: Memory::Sbuf,
        par_size: 128,
        free_size: 256,
        par_offset: None,
        free_offset: None,
        is_shared: false,
    },
    free_elements: 64,
    par_wf: Prop,
    free_wf: Prop,
    address_rotation: false,
};

const PAIR: APPair = APPair { step: 1, num: 1, offset: 0 };

const BIR: BirAccessPattern<'_> = BirAccessPattern {
    tensor: &TENSOR,
    offset: 0,
    pattern: &[PAIR; 4],
    scalar_offset: None,
    vector_offset: None,
    indirect_dim: 0,
    dtype_override: None,
};

const SIMPLE: TensorRef<'_> = TensorRef::Abstract(Access::Simple(&TENSOR));
const PATTERN: TensorRef<'_> = TensorRef::Abstract(Access::BirPattern(&BIR));

const DYNAMIC: TensorRef<'_> = TensorRef::Abstract(Access::BirPattern(&BirAccessPattern {
    scalar_offset: Some(ScalarOffset::Reg("r")),
    ..BIR
}));

const VECTOR: TensorRef<'_> = TensorRef::Abstract(Access::BirPattern(&BirAccessPattern {
    vector_offset: Some(Access::Simple(&TENSOR)),
    ..BIR
}));

const fn stmt<'a>(op: Operator<'a>) -> Stmt<'a> {
    let pos = Pos { line: 1, column: 0, line_end: None, column_end: None, filename: None };
    Stmt::Oper { op, name: Some("s"), pos }
}

const DEFINE_R: Operator<'_> = Operator::RegisterMove(&RegisterMove { dst: "r", imm: 1 });

/// The findings of statements in a block `bb0`, after one that writes register `r`; as `code field`.
fn findings(operators: &[Operator<'_>]) -> Vec<String> {
    let body: Vec<Stmt<'_>> = std::iter::once(DEFINE_R).chain(operators.iter().copied()).map(stmt).collect();
    let blocks = [Block { label: "bb0", no_reorder: false, body: &body }];
    let bodies = [&blocks[..]];
    kernel_findings(&LncKernel {
        name: "k",
        inputs: &[TENSOR],
        outputs: &[],
        bodies: &bodies,
        shared_constants: &[],
        shared_buffers: &[],
        edges: &[],
    })
}

fn kernel_findings(kernel: &LncKernel<'_>) -> Vec<String> {
    let file = File::new(Contents::Lnc(kernel));
    let short = |finding: &klr::lint::Finding| {
        let path = finding.path.strip_prefix("contents.lnc.kernel.").unwrap_or(&finding.path);
        let path = path.strip_prefix("bodies[0][0].body[1].oper.op.").unwrap_or(path);
        format!("{} {path}", finding.code())
    };
    lint(&file).iter().map(short).collect()
}

fn one(operator: Operator<'_>, expected: &[&str]) {
    assert_eq!(findings(&[operator]), expected, "{operator:?}");
}

#[test]
fn a_clean_kernel_has_no_findings() {
    one(Operator::Max8(&Max8 { dst: SIMPLE, src: PATTERN, dtype: None }), &[]);
    let jump =
        CmpBranch { reg1: "", reg2: "", imm: 0, op: BrCmpOp::Always, true_label: "bb0", false_label: "" };
    one(Operator::CmpBranch(&jump), &[]);
}

#[test]
fn names_must_resolve() {
    let branch =
        CmpBranch { reg1: "x", reg2: "y", imm: 0, op: BrCmpOp::LtReg, true_label: "bb0", false_label: "bb9" };
    let expected = ["KLR002 cmpBranch.op.falseLabel", "KLR001 cmpBranch.op.reg1", "KLR001 cmpBranch.op.reg2"];
    one(Operator::CmpBranch(&branch), &expected);
    // The second register of a comparison with an immediate is not read.
    let branch = CmpBranch { reg1: "r", op: BrCmpOp::GtImm, false_label: "bb0", ..branch };
    one(Operator::CmpBranch(&branch), &[]);
    one(Operator::TensorStore(&TensorStore { dst: SIMPLE, src: "q" }), &["KLR001 tensorStore.op.src"]);

    let empty = Block { label: "a", no_reorder: true, body: &[] };
    let blocks = [empty, empty];
    let kernel = LncKernel {
        name: "k",
        inputs: &[],
        outputs: &[],
        bodies: &[&blocks],
        shared_constants: &[],
        shared_buffers: &[],
        edges: &[Edges { from_edge: "s1", to_edges: &["s2"] }],
    };
    let expected = [
        "KLR004 bodies[0][1].label",
        "KLR016 bodies[0][0]",
        "KLR016 bodies[0][1]",
        "KLR003 edges[0]",
        "KLR003 edges[0]",
    ];
    assert_eq!(kernel_findings(&kernel), expected);
}

#[test]
fn forms_must_be_lowered() {
    let basic = AccessBasic { tensor: &TENSOR, indexes: &[Index::Coord(0), Index::Coord(0)], len_wf: Prop };
    let max = Max8 { dst: TensorRef::Reg(1), src: TensorRef::Abstract(Access::Basic(&basic)), dtype: None };
    one(Operator::Max8(&max), &["KLR006 max8.op.dst", "KLR006 max8.op.src.abstract.access"]);
    let set = MemSet { dst: SIMPLE, value: Immediate::Pointer, dtype: Dtype::Int8, engine: Engine::Pool };
    one(Operator::MemSet(&set), &["KLR007 memSet.op.value"]);
    let shuffle = Shuffle { dst: SIMPLE, src: SIMPLE, shuffle_mask: &[Immediate::Reg(1)], dtype: None };
    one(Operator::Shuffle(&shuffle), &["KLR007 shuffle.op.shuffleMask[0]"]);
    let activate = NcActivate {
        dst: SIMPLE,
        src: SIMPLE,
        accumulator_cmd: AccumCmd::LoadAccumulate,
        activation_func: ActivationFunc::Exp,
        scale: Operand::Imm(Immediate::Float32(1.0.into())),
        bias: None,
        reduce_op: None,
        reduce_res: None,
        dtype: None,
    };
    one(Operator::NcActivate(&activate), &["KLR011 ncActivate.op.accumulatorCmd"]);
    // Of an operator without a BIR form only that is said.
    let mask = Operator::MatMul(&klr::ir::MatMul { dst: TensorRef::Reg(1), moving: TensorRef::Reg(2) });
    one(mask, &["KLR005 bodies[0][0].body[1]"]);
}

#[test]
fn dynamic_accesses_have_their_places() {
    let copy =
        |dst, src| findings(&[Operator::NcCopy(&NcCopy { dst, src, dtype: None, engine: Engine::Dve })]);
    assert_eq!(copy(DYNAMIC, PATTERN), [""; 0]);
    assert_eq!(copy(DYNAMIC, DYNAMIC), ["KLR008 ncCopy.op"]);
    assert_eq!(copy(PATTERN, VECTOR), ["KLR008 ncCopy.op.src"]);
    let max = Max8 { dst: SIMPLE, src: DYNAMIC, dtype: None };
    let expected = "KLR008 max8.op.src.abstract.access.birPattern.access.scalarOffset";
    one(Operator::Max8(&max), &[expected]);
    let both = BirAccessPattern {
        scalar_offset: Some(ScalarOffset::Reg("nobody")),
        vector_offset: Some(Access::Simple(&TENSOR)),
        indirect_dim: 1,
        ..BIR
    };
    let side = TensorRef::Abstract(Access::BirPattern(&both));
    let expected = [
        "KLR008 ncDmaCopy.op.src",
        "KLR008 ncDmaCopy.op.src",
        "KLR001 ncDmaCopy.op.src.abstract.access.birPattern.access.scalarOffset",
    ];
    one(Operator::NcDmaCopy(&NcDmaCopy { src: side, ..dma() }), &expected);
}

fn dma<'a>() -> NcDmaCopy<'a> {
    NcDmaCopy {
        dst: PATTERN,
        src: PATTERN,
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 2,
        unique_indices: true,
        head: Added(None),
        engine: Engine::Unassigned,
    }
}

#[test]
fn dma_copies() {
    one(Operator::NcDmaCopy(&NcDmaCopy { engine: Engine::Sp, ..dma() }), &[]);
    let software = NcDmaCopy { engine: Engine::Sp, dge_mode: 1, ..dma() };
    one(Operator::NcDmaCopy(&software), &["KLR013 ncDmaCopy.op.engine"]);
    one(Operator::NcDmaCopy(&NcDmaCopy { src: VECTOR, dge_mode: 1, ..dma() }), &[]);
    let none = NcDmaCopy { src: VECTOR, dge_mode: 3, ..dma() };
    one(Operator::NcDmaCopy(&none), &["KLR014 ncDmaCopy.op.dgeMode"]);
    let transpose = DmaTranspose {
        dst: PATTERN,
        src: SIMPLE,
        axes: TransposeOps::XZYW,
        dtype: None,
        dge_mode: 0,
        oob_mode: DmaBounds::Skip,
        head: Added(None),
    };
    one(Operator::DmaTranspose(&transpose), &["KLR015 dmaTranspose.op.src"]);
}

#[test]
fn single_operators() {
    let transpose = Transpose { dst: SIMPLE, src: SIMPLE, dtype: None, engine: Engine::Pe };
    one(Operator::Transpose(&transpose), &["KLR012 transpose.op.engine"]);
    let product = NcMatMul {
        dst: SIMPLE,
        stationary: SIMPLE,
        moving: SIMPLE,
        is_stationary_one_zero: false,
        is_moving_zero: false,
        is_transpose: false,
        tile_position: &[0],
        tile_size: &[128, 128],
        perf_mode: MatmulPerfMode::None,
    };
    one(Operator::NcMatMul(&product), &["KLR009 ncMatMul.op.tilePosition"]);
    let collective = CollectiveOp {
        dsts: &[SIMPLE],
        srcs: &[SIMPLE],
        op: Some(AluOp::Add),
        replica_group: ReplicaGroup::Named("world"),
        concat_dim: None,
        source_target_pairs: None,
        channel_id: None,
        num_channels: None,
        head: Added(None),
    };
    one(Operator::AllReduce(&collective), &["KLR010 allReduce.op.replicaGroup"]);
    one(Operator::CollectivePermute(&collective), &[]);
}

#[test]
fn values_that_the_consumer_misreads() {
    let codes = |value: &dyn klr::Tree<'_>| -> Vec<String> {
        lint_value(value).iter().map(|finding| format!("{} {}", finding.code(), finding.message)).collect()
    };
    let wide = APPair { step: i64::from(i32::MIN) - 1, num: (1 << 32) + 7, offset: 0 };
    assert_eq!(
        codes(&wide),
        [
            "KLR017 -2147483649 does not fit 32 bits; the consumer reads 2147483647",
            "KLR017 4294967303 does not fit 32 bits; the consumer reads 7",
        ]
    );
    assert_eq!(codes(&Slice { l: 0, u: 1, step: 0, wf: Prop }), ["KLR018 a slice has step 0"]);
    let shape = Shape { par_dim: 129, free_dims: &[65] };
    assert_eq!(
        codes(&TensorName { shape, ..TENSOR }),
        [
            "KLR018 a tensor of 129 partitions has an address of 128",
            "KLR018 a tensor of 260 bytes in each partition has an address of 256",
            "KLR018 freeElements is 64, the free dimensions have 65",
        ]
    );
    let huge = TensorName { shape: Shape { par_dim: 1, free_dims: &[u64::MAX, 3] }, ..TENSOR };
    assert!(codes(&huge).iter().any(|code| code.contains("more than 64 bits count")));
    let rank = AccessBasic { tensor: &TENSOR, indexes: &[Index::Coord(0)], len_wf: Prop };
    assert_eq!(codes(&rank), ["KLR018 1 indices for 2 dimensions"]);
    let rank_id = klr::ir::RankId { dst: "a\0b" };
    assert_eq!(codes(&rank_id), ["KLR019 the string \"a\\0b\" holds a NUL; the consumer reads \"a\""]);
    let old = NcDmaCopy { ..dma() };
    let new = NcDmaCopy { head: Added(Some(klr::ir::NcDmaCopyHead { priority: None })), ..dma() };
    assert_eq!(findings(&[Operator::NcDmaCopy(&old), Operator::NcDmaCopy(&new)]), ["KLR020 contents"]);
}

#[test]
fn codes_are_in_order_and_differ() {
    let codes: Vec<&str> = RULES.iter().map(|rule| rule.code).collect();
    let expected: Vec<String> = (1..=RULES.len()).map(|number| format!("KLR{number:03}")).collect();
    assert_eq!(codes, expected);
}
