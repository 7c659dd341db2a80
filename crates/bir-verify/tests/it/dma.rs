//! DMA, IND-02, IND-03, MX-24.

use bir::builder::{Access, Builder, NewTensor};
use bir::enums::{
    AluOpType, ArchLevel, CopyMode, DGEType, DMAQoSClass, Dtype, EngineType, InstructionType, TensorKind,
    TransposeOps,
};
use bir::expr::Expr;
use bir::ids::Ref;
use bir::records::{DynamicApInfo, DynamicApTerm};
use bir::{Argument, Op, Rare, ops};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case(
        "DMA-01",
        |b| {
            let name = b.name("qGone");
            copy(b, |op| op.queue = Some(Ref::named(name)));
        },
        |b| copy(b, |_| ()),
    ),
    case("DMA-02", |b| triggers(b, true), |b| triggers(b, false)),
    case("DMA-02", |b| own_trigger(b, false), |b| own_trigger(b, true)),
    case("DMA-02", |b| starts(b, 2), |b| starts(b, 1)),
    case("DMA-03", |b| copy(b, |op| op.dma_qos = qos()), |b| copy(b, |_| ())),
    case(
        "DMA-04",
        |b| copy(b, |op| op.dge_type = DGEType::HWDGE),
        |b| copy(b, |op| op.dge_type = DGEType::SWDGE),
    ),
    case("DMA-05", |b| plain(b, 32, 31), |b| plain(b, 32, 32)),
    case("DMA-07", |b| accumulate(b, AluOpType::Mult), |b| accumulate(b, AluOpType::Add)),
    case("DMA-08", |b| stepped(b, 2), |b| stepped(b, 1)),
    case(
        "DMA-09",
        |b| {
            copy(b, |op| {
                op.mode = CopyMode::CCE;
                op.cce_op = AluOpType::Add;
            });
        },
        |b| {
            copy(b, |op| {
                op.mode = CopyMode::CCE;
                op.cce_op = AluOpType::Add;
                op.constants = vec![1.0];
            });
        },
    ),
    case(
        "DMA-10",
        |b| copy(b, |op| op.cce_op = AluOpType::Max),
        |b| copy(b, |op| op.cce_op = AluOpType::Add),
    ),
    case("DMA-11", |b| in_loop(b, TensorKind::ExternalInput), |b| in_loop(b, TensorKind::Internal)),
    case("DMA-12", |b| gather(b, 64, true), |b| gather(b, 64, false)),
    case(
        "DMA-06",
        |b| transpose(b, Dtype::Uint8, TransposeOps::XZYW),
        |b| transpose(b, Dtype::Bfloat16, TransposeOps::XZYW),
    ),
    case(
        "DMA-13",
        |b| transpose(b, Dtype::Bfloat16, TransposeOps::None),
        |b| transpose(b, Dtype::Bfloat16, TransposeOps::XYZW),
    ),
    case(
        "DMA-14",
        |b| transposing_gather(b, TransposeOps::XYZW),
        |b| transposing_gather(b, TransposeOps::XZYW),
    ),
    case("DMA-16", |b| far_rows(b, 2), |b| far_rows(b, 1)),
    case("DMA-15", |b| shapes(b, false), |b| shapes(b, true)),
    Case {
        rule: "DMA-17",
        arch: ArchLevel::Sunda,
        bad: |b| {
            copy(b, |op| op.dge_type = DGEType::HWDGE);
        },
        good: |b| {
            copy(b, |op| op.dge_type = DGEType::SWDGE);
        },
    },
    case("DMA-18", |b| switch(b, true), |b| switch(b, false)),
    case("IND-02", |b| gather(b, 0, false), |b| gather(b, 64, false)),
    case("IND-03", |b| gather(b, 65, false), |b| gather(b, 64, false)),
    case("IND-03", |b| change(b, 63, |_, info| info.c = 64), |b| change(b, 63, |_, info| info.c = 32)),
    case(
        "IND-03",
        |b| change(b, 64, |_, info| info.aff_expr[0].coef = Some(-32)),
        |b| change(b, 64, |_, info| (info.aff_expr[0].coef, info.c) = (Some(-32), 63 * 32)),
    ),
    case("OPR-01", |b| change(b, 64, |rare, _| rare.indirection_ins.clear()), |b| change(b, 64, |_, _| ())),
    case(
        "DMA-16",
        |b| change(b, 64, |_, info| info.actual_ap = Some([(32, 8), (1, 32)].into())),
        |b| change(b, 64, |_, info| info.actual_ap = Some([(32, 16), (1, 32)].into())),
    ),
    case("DMA-04", |b| static_gather(b, DGEType::None), |b| static_gather(b, DGEType::SWDGE)),
    Case {
        rule: "MX-24",
        arch: ArchLevel::CoreV4,
        bad: |b| packed(b, Dtype::Uint32),
        good: |b| packed(b, Dtype::Float8E4m3fnX4),
    },
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

fn qos() -> DMAQoSClass {
    use bir::OpenEnum;
    DMAQoSClass::from_ordinal(1).expect("a class")
}

/// A copy from DRAM to SB by a DMACopy of the Pool engine.
fn copy(b: &mut Builder<'_>, change: impl FnOnce(&mut ops::DMACopy)) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    let queue = b.queue("q", &[]);
    let mut op = ops::DMACopy { queue: Some(queue.into()), ..Default::default() };
    change(&mut op);
    b.inst("c", EngineType::Pool, op).input(x).output(y);
}

fn plain(b: &mut Builder<'_>, reads: u64, writes: u64) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    b.inst("c", EngineType::Pool, ops::DMACopy::default())
        .input(x.tile(0..reads, ..))
        .output(y.tile(0..writes, ..));
}

fn triggers(b: &mut Builder<'_>, twice: bool) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    let queue = b.queue("q", &[8]);
    let one = b.dma("one", EngineType::SP, queue).copy(x, y).done();
    let two = b.dma("two", EngineType::SP, queue).copy(x, y).done();
    if twice {
        let Op::DMATrigger(op) = &mut b.module()[two.trigger].op else { unreachable!() };
        op.dma_blocks.push(one.block.into());
    }
}

/// The block of the first of two transfers names another trigger than the one that starts it.
fn own_trigger(b: &mut Builder<'_>, own: bool) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    let queue = b.queue("q", &[8]);
    let one = b.dma("one", EngineType::SP, queue).copy(x, y).done();
    let two = b.dma("two", EngineType::SP, queue).copy(x, y).done();
    let Op::DMABlock(op) = &mut b.module()[one.block].op else { unreachable!() };
    op.dma_trigger = Some(if own { one.trigger } else { two.trigger }.into());
}

/// A trigger that starts its block several times.
fn starts(b: &mut Builder<'_>, times: usize) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    let queue = b.queue("q", &[8]);
    let one = b.dma("one", EngineType::SP, queue).copy(x, y).done();
    let Op::DMATrigger(op) = &mut b.module()[one.trigger].op else { unreachable!() };
    op.dma_blocks = vec![one.block.into(); times];
}

fn accumulate(b: &mut Builder<'_>, op: AluOpType) {
    let x = b.tensor(NewTensor::sb("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::dram("y", [32, 16], Dtype::Float32).at(0));
    let op = ops::IndirectSaveAccumulate { op, ..Default::default() };
    b.inst("a", EngineType::Pool, op).input(x).output(y);
}

fn stepped(b: &mut Builder<'_>, step: i64) {
    let x = b.tensor(NewTensor::sb("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::dram("y", [4, 16], Dtype::Float32).at(0));
    b.inst("s", EngineType::SP, ops::Save::default())
        .input(x.pattern(0, [(16 * step, 4), (1, 16)]))
        .output(y);
}

fn in_loop(b: &mut Builder<'_>, kind: TensorKind) {
    let n = b.register("n", EngineType::SP);
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).kind(kind).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    b.dynamic_for_loop("l", "i", n, |b, _| {
        b.inst("c", EngineType::SP, ops::DMACopy { dge_type: DGEType::None, ..Default::default() })
            .input(x)
            .output(y);
    });
}

/// Gathers 16 of the 64 rows of a table; `rows` are declared.
fn gather(b: &mut Builder<'_>, rows: i32, on_chip: bool) {
    let table = NewTensor::dram("table", [64, 32], Dtype::Float32);
    let table = if on_chip { NewTensor::sb("table", [64, 32], Dtype::Float32) } else { table };
    let table = b.tensor(table.at(0));
    let indices = b.tensor(NewTensor::sb("indices", [16, 1], Dtype::Int32).at(4096));
    let result = b.tensor(NewTensor::sb("result", [16, 32], Dtype::Float32).at(8192));
    let offset_expr = Some(b.expr(Expr::IndirectArg { arg_id: 0 }));
    let rows_of = DynamicApInfo {
        actual_ap: Some([(32, 16), (1, 32)].into()),
        aff_expr: vec![DynamicApTerm { offset_expr, coef: Some(32), ..Default::default() }],
        indirect_dim_max_index: rows,
        ..Default::default()
    };
    let op = ops::DMACopy { dge_type: DGEType::SWDGE, ..Default::default() };
    let source: Access = table.tile(0..16, ..);
    b.inst("g", EngineType::Pool, op).input(source.dynamic(rows_of)).index(indices).output(result);
}

/// A gather with something changed.
fn change(b: &mut Builder<'_>, rows: i32, change: fn(&mut Rare, &mut DynamicApInfo)) {
    gather(b, rows, false);
    let block = b.block();
    let inst = b.module()[block].instructions[0];
    let mut rare = b.module()[inst].rare().clone();
    let Argument::PhysicalAp(access) = &mut b.module()[inst].ins[0] else { unreachable!() };
    change(&mut rare, access.dynamic_ap_info.as_deref_mut().unwrap());
    *b.module()[inst].rare_mut() = rare;
}

fn static_gather(b: &mut Builder<'_>, by: DGEType) {
    gather(b, 64, false);
    let block = b.block();
    let inst = b.module()[block].instructions[0];
    let Op::DMACopy(op) = &mut b.module()[inst].op else { unreachable!() };
    op.dge_type = by;
}

fn transpose(b: &mut Builder<'_>, dtype: Dtype, form: TransposeOps) {
    let x = b.tensor(NewTensor::dram("x", [16, 32], dtype).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], dtype).at(0));
    let op = ops::DMACopy { mode: CopyMode::Transpose, transpose_op: form, ..Default::default() };
    b.inst("t", EngineType::SP, op).input(x).output(y);
}

/// Gathers 16 rows and transposes them.
fn transposing_gather(b: &mut Builder<'_>, form: TransposeOps) {
    let table = b.tensor(NewTensor::dram("table", [16, 32], Dtype::Bfloat16).at(0));
    let indices = b.tensor(NewTensor::sb("indices", [16, 1], Dtype::Uint32).at(4096));
    let result = b.tensor(NewTensor::sb("result", [32, 16], Dtype::Bfloat16).at(8192));
    let op = ops::DMACopy {
        mode: CopyMode::Transpose,
        transpose_op: form,
        dge_type: DGEType::SWDGE,
        ..Default::default()
    };
    b.inst("g", EngineType::Pool, op).input(table).index(indices).output(result);
}

/// A transfer from a place that a register says, of elements so far apart.
fn far_rows(b: &mut Builder<'_>, step: i64) {
    let n = b.register("n", EngineType::Pool);
    let x = b.tensor(NewTensor::dram("x", [64, 32], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [16, 16], Dtype::Float32).at(0));
    let row = b.register_value(n);
    let moved = DynamicApInfo {
        actual_ap: Some([(32, 16), (step, 16)].into()),
        aff_expr: vec![DynamicApTerm { offset_expr: Some(row), coef: Some(32), ..Default::default() }],
        ..Default::default()
    };
    let op = ops::DMACopy { dge_type: DGEType::SWDGE, ..Default::default() };
    b.inst("c", EngineType::Pool, op).input(x.pattern(0, [(32, 16), (step, 16)]).dynamic(moved)).output(y);
}

fn shapes(b: &mut Builder<'_>, same: bool) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], Dtype::Float32).at(0));
    let source = if same { x.all() } else { x.pattern(0, [(1, 512)]) };
    let op = ops::DMACopy { dge_type: DGEType::SWDGE, ..Default::default() };
    b.inst("c", EngineType::Pool, op).input(source).output(y);
}

fn switch(b: &mut Builder<'_>, twice: bool) {
    let queue = b.queue("q", &[]);
    let instance = b.module()[queue].blocks[0];
    for at in 0..if twice { 2 } else { 1 } {
        let op = ops::SwitchQueueInstance {
            queue: Some(queue.into()),
            instance: Some(instance.into()),
            ..Default::default()
        };
        b.inst(&format!("s{at}"), EngineType::SP, op);
    }
    b.plain_inst("n", EngineType::SP, InstructionType::NoOp);
}

fn packed(b: &mut Builder<'_>, to: Dtype) {
    let x = b.tensor(NewTensor::dram("x", [32, 16], Dtype::Float8E4m3fnX4).at(0));
    let y = b.tensor(NewTensor::sb("y", [32, 16], to).at(0));
    b.inst("c", EngineType::SP, ops::DMACopy::default()).input(x).output(y);
}
