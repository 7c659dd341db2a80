//! CF, MOD-10, MOD-11, SYNC, REG: what is about blocks, branches, registers and semaphores.

use bir::builder::{Builder, NewTensor, Operand};
use bir::edges::EdgeKind;
use bir::enums::{
    AluOpType, ArchLevel, BranchCompareOp, Dtype, EngineType, InstructionType, SyncRefType, TensorKind,
    UpdateMode, WaitMode,
};
use bir::ids::{BlockId, RegId};
use bir::records::{SyncUpdate, SyncWait};
use bir::{ImmNumber, Op, ops};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case("CF-03", |b| dynamic(b, Some(false)), |b| dynamic(b, None)),
    case("CF-04", |b| dynamic(b, Some(true)), |b| dynamic(b, None)),
    case("CF-12", |b| dynamic(b, Some(true)), |b| dynamic(b, None)),
    case("CF-05", |b| repeat(b, false), |b| repeat(b, true)),
    case("CF-06", |b| jumps(b, &[&[1, 2], &[2], &[1, 3], &[]]), |b| jumps(b, &[&[1], &[1, 2], &[]])),
    case("CF-08", |b| after_end(b, true), |b| after_end(b, false)),
    case("CF-09", |b| depends_past_end(b, true), |b| depends_past_end(b, false)),
    case("CF-10", |b| compare(b, Other::Op), |b| compare(b, Other::Nothing)),
    case("CF-11", |b| compare(b, Other::Wide), |b| compare(b, Other::Nothing)),
    case("CF-14", |b| compare(b, Other::Output), |b| compare(b, Other::Nothing)),
    case("CF-15", |b| compare(b, Other::Types), |b| compare(b, Other::Nothing)),
    case(
        "CF-16",
        |b| {
            b.plain_inst("n", EngineType::SP, InstructionType::NoOp);
            b.new_block("b2");
        },
        |b| _ = b.plain_inst("n", EngineType::SP, InstructionType::NoOp),
    ),
    case(
        "CF-17",
        |b| {
            jumps(b, &[&[1], &[]]);
            b.plain_inst("n", EngineType::SP, InstructionType::NoOp);
            let block = b.block();
            let list = b.module()[block].instructions.to_vec();
            b.module().remove_insts(&list[..1]);
        },
        |b| jumps(b, &[&[1], &[]]),
    ),
    case("CF-18", |b| jumps(b, &[&[1, 2], &[], &[]]), |b| jumps(b, &[&[1], &[1, 2], &[]])),
    case("CF-18", |b| jumps(b, &[&[1], &[0]]), |b| jumps(b, &[&[1], &[]])),
    case("CF-19", |b| jumps(b, &[&[2], &[2], &[]]), |b| jumps(b, &[&[1], &[2], &[]])),
    case("CF-20", |b| jumps(b, &[&[2], &[3], &[1], &[]]), |b| jumps(b, &[&[1], &[2], &[3], &[]])),
    case("CF-21", |b| jumps(b, &[&[1], &[1, 2], &[1, 3], &[]]), |b| jumps(b, &[&[1], &[2], &[1, 3], &[]])),
    case("CF-22", |b| ends(b, &[EngineType::ALL, EngineType::PE]), |b| ends(b, &[EngineType::ALL])),
    case(
        "CF-22",
        |b| ends(b, &[EngineType::PE, EngineType::DVE]),
        |b| {
            ends(
                b,
                &[EngineType::Pool, EngineType::Activation, EngineType::PE, EngineType::DVE, EngineType::SP],
            );
        },
    ),
    case("CF-23", |b| jumps(b, &[&[2, 3], &[2], &[3], &[]]), |b| jumps(b, &[&[1], &[1, 2], &[3], &[]])),
    case("CF-24", |b| nested(b, true, "j"), |b| nested(b, false, "j")),
    case("CF-27", |b| nested(b, true, "i"), |b| nested(b, false, "j")),
    case("CF-25", |b| branch_depends(b, true), |b| branch_depends(b, false)),
    case("CF-26", |b| returns(b, 2), |b| returns(b, 1)),
    case("CF-28", |b| loop_on(b, 2), |b| loop_on(b, 1)),
    case(
        "REG-01",
        |b| load(b, TensorKind::Internal, Dtype::Int32, true),
        |b| load(b, TensorKind::Internal, Dtype::Int32, false),
    ),
    case(
        "REG-02",
        |b| load(b, TensorKind::ExternalInput, Dtype::Int32, false),
        |b| load(b, TensorKind::Const, Dtype::Int32, false),
    ),
    case(
        "REG-03",
        |b| load(b, TensorKind::Internal, Dtype::Uint8, false),
        |b| load(b, TensorKind::Internal, Dtype::Int32, false),
    ),
    case("REG-05", |b| alu(b, 1), |b| alu(b, 2)),
    case("REG-06", |b| registers(b, true), |b| registers(b, false)),
    // Read before it is written, and never written.
    case("REG-06", |b| set_late(b, &["a"]), |b| set_late(b, &["set", "a"])),
    case("REG-06", |b| set_late(b, &["a", "set"]), |b| set_late(b, &["set", "a", "set"])),
    case("SYNC-01", |b| _ = nop(b).waits(256, 1), |b| _ = nop(b).waits(255, 1)),
    case("SYNC-03", |b| update(b, UpdateMode::SemInc, 2), |b| update(b, UpdateMode::SemInc, 1)),
    case("SYNC-06", |b| update(b, UpdateMode::EvtSet, 1), |b| update(b, UpdateMode::SemAddImm, 4)),
    case("SYNC-04", |b| wait(b, WaitMode::EvtSetThenClear), |b| wait(b, WaitMode::SemGeReg)),
    case("SYNC-05", |b| waits(b, 3), |b| waits(b, 2)),
    case("SYNC-08", |b| drain(b, true), |b| drain(b, false)),
    case("SYNC-09", |b| reset(b, &[]), |b| reset(b, &[3, 4])),
    case("SYNC-09", |b| reset(b, &[300]), |b| reset(b, &[255])),
    case(
        "SYNC-12",
        |b| _ = b.plain_inst("a", EngineType::ALL, InstructionType::AllEngineBarrier).waits(3, 1),
        |b| _ = b.plain_inst("a", EngineType::ALL, InstructionType::AllEngineBarrier),
    ),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

fn nop<'b>(b: &'b mut Builder<'_>) -> bir::builder::InstBuilder<'b> {
    b.plain_inst("n", EngineType::SP, InstructionType::NoOp)
}

/// A dynamic loop; `Some(true)` with a constant upper bound, `Some(false)` with a stride from a register.
fn dynamic(b: &mut Builder<'_>, fault: Option<bool>) {
    let n = b.register("n", EngineType::SP);
    let id = b.dynamic_for_loop("l", "i", n, |b, _| _ = nop(b));
    let (constant, register) = (b.constant(8), b.register_value(n));
    let Op::DynamicForLoop(op) = &mut b.module()[id].op else { unreachable!() };
    let axis = op.dynamic_for_loop_axis.as_mut().unwrap();
    match fault {
        Some(true) => axis.ub = Some(constant),
        Some(false) => axis.stride = Some(register),
        None => {}
    }
}

fn repeat(b: &mut Builder<'_>, register: bool) {
    let n = b.register("n", EngineType::SP);
    let cond = if register { b.register_value(n) } else { b.constant(1) };
    b.do_while("l", cond, |b| _ = nop(b));
}

/// A function whose blocks go to others, by position; the first is the entry, those that go nowhere return.
fn jumps(b: &mut Builder<'_>, graph: &[&[usize]]) {
    let n = b.register("n", EngineType::SP);
    let mut blocks = vec![b.block()];
    blocks.extend((1..graph.len()).map(|at| b.new_block(&format!("b{at}"))));
    for (at, next) in graph.iter().enumerate() {
        b.go_to(blocks[at]);
        let name = format!("t{at}");
        match next {
            [] => _ = b.plain_inst(&name, EngineType::ALL, InstructionType::Return),
            [only] => _ = b.jump(&name, EngineType::ALL, blocks[*only]),
            [yes, no, ..] => branch(b, &name, n, blocks[*yes], blocks[*no]),
        }
    }
}

fn branch(b: &mut Builder<'_>, name: &str, n: bir::ids::RegId, yes: BlockId, no: BlockId) {
    let left = Operand::register(n, Dtype::Int32);
    let right = Operand::imm(Dtype::Int32, ImmNumber::Unsigned(4));
    b.branch(name, EngineType::ALL, (left, BranchCompareOp::IsLtimm, right), yes, no);
}

fn after_end(b: &mut Builder<'_>, after: bool) {
    if !after {
        nop(b);
    }
    b.plain_inst("r", EngineType::ALL, InstructionType::Return);
    if after {
        nop(b);
    }
}

fn depends_past_end(b: &mut Builder<'_>, depends: bool) {
    let first = nop(b).id();
    b.plain_inst("r", EngineType::SP, InstructionType::Return);
    for engine in [EngineType::Pool, EngineType::Activation, EngineType::PE, EngineType::DVE] {
        b.plain_inst("r2", engine, InstructionType::Return);
    }
    let last = b.block();
    let last = *b.module()[last].instructions.last().unwrap();
    if depends {
        b.module().depend(first, last, EdgeKind::ORDERED).unwrap();
    }
}

/// What is wrong with a comparison.
enum Other {
    Nothing,
    Op,
    Types,
    Wide,
    Output,
}

fn compare(b: &mut Builder<'_>, other: Other) {
    let n = b.register("n", EngineType::SP);
    let (yes, no) = (b.new_block("yes"), b.new_block("no"));
    let (left, right) = match other {
        Other::Types => (Dtype::Int32, Dtype::Float32),
        Other::Wide => (Dtype::Uint64, Dtype::Uint64),
        _ => (Dtype::Int32, Dtype::Int32),
    };
    let left = Operand::register(n, left);
    let right = Operand::imm(right, ImmNumber::Unsigned(1));
    b.branch("c", EngineType::ALL, (left, BranchCompareOp::IsLtimm, right), yes, no);
    let block = b.block();
    let inst = b.module()[block].instructions[0];
    match other {
        Other::Op => {
            let name = b.name("IS_ODD");
            let Op::CompareAndBranch(op) = &mut b.module()[inst].op else { unreachable!() };
            op.comp_op = BranchCompareOp::Other(name);
        }
        Other::Output => {
            let input = b.module()[inst].ins[0].clone();
            b.module()[inst].outs.push(input);
        }
        _ => {}
    }
    b.go_to(yes);
    b.jump("j", EngineType::ALL, no);
    b.go_to(no);
    b.plain_inst("r", EngineType::ALL, InstructionType::Return);
}

fn ends(b: &mut Builder<'_>, engines: &[EngineType]) {
    nop(b);
    for engine in engines {
        b.plain_inst("r", *engine, InstructionType::Return);
    }
}

fn nested(b: &mut Builder<'_>, nest: bool, axis: &str) {
    let n = b.register("n", EngineType::SP);
    b.dynamic_for_loop("outer", "i", n, |b, _| {
        nop(b);
        if nest {
            b.dynamic_for_loop("inner", axis, n, |b, _| _ = nop(b));
        }
    });
}

fn branch_depends(b: &mut Builder<'_>, depends: bool) {
    let next = b.new_block("next");
    let first = nop(b).id();
    let jump = b.jump("j", EngineType::ALL, next).id();
    if depends {
        b.module().depend(jump, first, EdgeKind::ORDERED).unwrap();
    }
    b.go_to(next);
    b.plain_inst("r", EngineType::ALL, InstructionType::Return);
}

fn returns(b: &mut Builder<'_>, count: usize) {
    for at in 0..count {
        b.plain_inst(&format!("r{at}"), EngineType::ALL, InstructionType::Return);
    }
}

/// A loop whose condition is in a tensor of so many elements.
fn loop_on(b: &mut Builder<'_>, elements: u64) {
    let flag = b.tensor(NewTensor::sb("flag", [1, elements], Dtype::Int32).at(0));
    let (body, end) = (b.new_block("body"), b.new_block("end"));
    b.jump("go", EngineType::ALL, body);
    b.go_to(body);
    let right = Operand::imm(Dtype::Int32, ImmNumber::Unsigned(0));
    b.branch("c", EngineType::ALL, (flag.tile(.., 0..1), BranchCompareOp::IsNeimm, right), body, end);
    b.go_to(end);
    b.plain_inst("r", EngineType::ALL, InstructionType::Return);
}

fn load(b: &mut Builder<'_>, kind: TensorKind, dtype: Dtype, twice: bool) {
    let n = b.register("n", EngineType::SP);
    let t = b.tensor(NewTensor::dram("t", [1], dtype).kind(kind).at(0));
    let load = b.plain_inst("l", EngineType::ALL, InstructionType::TensorLoad).input(t);
    let load = if twice { load.input(t) } else { load };
    load.output(Operand::register(n, Dtype::Int32));
}

fn alu(b: &mut Builder<'_>, inputs: usize) {
    let n = b.register("n", EngineType::SP);
    set(b, n);
    add(b, n, inputs);
}

fn set(b: &mut Builder<'_>, register: RegId) {
    b.plain_inst("set", EngineType::ALL, InstructionType::RegisterMove)
        .input(Operand::imm(Dtype::Int32, ImmNumber::Unsigned(1)))
        .output(Operand::register(register, Dtype::Int32));
}

fn add(b: &mut Builder<'_>, n: RegId, inputs: usize) {
    let op = ops::RegisterAlu { op: AluOpType::Add, ..Default::default() };
    let register = || Operand::register(n, Dtype::Int32);
    b.inst("a", EngineType::ALL, op).inputs((0..inputs).map(|_| register())).output(register());
}

/// Two registers: one that counts, and one that is read.
fn set_late(b: &mut Builder<'_>, order: &[&str]) {
    let (n, to) = (b.register("n", EngineType::SP), b.register("to", EngineType::SP));
    for step in order {
        match *step {
            "set" => set(b, n),
            _ => {
                b.plain_inst("copy", EngineType::ALL, InstructionType::RegisterMove)
                    .input(Operand::register(n, Dtype::Int32))
                    .output(Operand::register(to, Dtype::Int32));
            }
        }
    }
}

fn registers(b: &mut Builder<'_>, cross: bool) {
    let n = b.register("n", EngineType::SP);
    alu(b, 2);
    let next = b.new_block("next");
    b.jump("j", EngineType::ALL, next);
    b.go_to(next);
    if cross {
        let register = || Operand::register(n, Dtype::Int32);
        b.plain_inst("m", EngineType::ALL, InstructionType::RegisterMove)
            .input(register())
            .output(register());
        let block = b.block();
        let inst = b.module()[block].instructions[0];
        let first = b.function();
        let first = b.module()[first].blocks[0];
        let first = b.module()[first].instructions[0];
        let used = b.module()[first].outs[0].clone();
        b.module()[inst].ins[0] = used;
    }
    b.plain_inst("r", EngineType::ALL, InstructionType::Return);
}

fn update(b: &mut Builder<'_>, mode: UpdateMode, value: u32) {
    let update = SyncUpdate {
        id: Some(4),
        update_value: Some(value),
        update_mode: mode,
        sync_type: SyncRefType::Semaphore,
        ..Default::default()
    };
    nop(b).update(update);
}

fn wait(b: &mut Builder<'_>, mode: WaitMode) {
    let wait = SyncWait { id: Some(4), wait_value: Some(1), wait_mode: mode, ..Default::default() };
    b.plain_inst("e", EngineType::SP, InstructionType::EventSemaphore).wait(wait);
}

fn waits(b: &mut Builder<'_>, count: u32) {
    let mut inst = b.plain_inst("e", EngineType::SP, InstructionType::EventSemaphore);
    for id in 0..count {
        inst = inst.waits(4 + id, 1);
    }
}

fn drain(b: &mut Builder<'_>, symbolic: bool) {
    let one = b.constant(1);
    let value = if symbolic { bir::expr::MaybeAffine::Expr(one) } else { true.into() };
    b.inst("d", EngineType::SP, ops::Drain { is_reset_sema: value, ..Default::default() });
}

fn reset(b: &mut Builder<'_>, group: &[u32]) {
    let op = ops::GroupResetSemaphores { sema_group: group.to_vec(), ..Default::default() };
    b.inst("r", EngineType::SP, op);
}

/// Messages of a rule about a function that is built so.
fn messages(rule: &str, fill: impl FnOnce(&mut Builder<'_>)) -> Vec<String> {
    let mut module = bir::Module::new(ArchLevel::Gen3);
    fill(&mut Builder::new(&mut module, "main"));
    let found = bir_verify::verify(&module, &bir_verify::Options::default()).findings;
    found.into_iter().filter(|finding| finding.code == rule).map(|finding| finding.message).collect()
}

/// A loop of blocks that counts: what only the loop writes is read before on the way into it.
#[test]
fn counters_of_loops_start_somewhere() {
    let count = |b: &mut Builder<'_>, sets: bool| {
        let n = b.register("n", EngineType::SP);
        let (body, end) = (b.new_block("body"), b.new_block("end"));
        if sets {
            set(b, n);
        }
        b.jump("go", EngineType::ALL, body);
        b.go_to(body);
        let op = ops::RegisterAlu { op: AluOpType::Add, ..Default::default() };
        b.inst("count", EngineType::ALL, op)
            .input(Operand::register(n, Dtype::Int32))
            .input(Operand::imm(Dtype::Int32, ImmNumber::Unsigned(1)))
            .output(Operand::register(n, Dtype::Int32));
        branch(b, "again", n, body, end);
        b.go_to(end);
        b.plain_inst("r", EngineType::ALL, InstructionType::Return);
    };
    let before = |sets| {
        let mut found = messages("REG-06", |b| count(b, sets));
        found.retain(|message| message.contains("before anything has written it"));
        found
    };
    assert_eq!(before(false), ["reads register n before anything has written it"]);
    assert_eq!(before(true), [""; 0]);
}

/// A block that ends too early is one fault, however much stands behind.
#[test]
fn an_early_end_is_told_once() {
    let early = |behind: usize| {
        messages("CF-08", |b| {
            b.plain_inst("r", EngineType::ALL, InstructionType::Return);
            (0..behind).for_each(|_| _ = nop(b));
        })
    };
    assert_eq!(early(2), ["stands after r, which ends the block"; 2]);
    assert_eq!(early(40), ["stands after r, which ends the block; so do 39 more"]);
}
