//! COL.

use bir::builder::{Builder, NewTensor};
use bir::enums::{
    AluOpType, ArchLevel, CollectiveKind as Kind, Dtype, EngineType, InstructionType, MemoryType,
};
use bir::expr::MaybeAffine::Value;
use bir::ops::{CollectiveCompute, DynamicForLoop};
use bir::records::CcChannel;

use crate::Case;

const GEN3: ArchLevel = ArchLevel::Gen3;
const F32: Dtype = Dtype::Float32;

/// A collective of two ranks, good as it is: an AllReduce.
struct Cc {
    kind: Kind,
    op: AluOpType,
    groups: Vec<Vec<u32>>,
    memory: MemoryType,
    /// Memory of the output, when it has another one.
    output: Option<MemoryType>,
    /// Columns and types.
    ins: Vec<(u64, Dtype)>,
    outs: Vec<(u64, Dtype)>,
    /// Partitions from one row to the next.
    step: i64,
    io: bool,
    keys: CollectiveCompute,
}

fn cc(b: &mut Builder<'_>, change: impl FnOnce(&mut Cc)) {
    named(b, "cc", change);
}

fn named(b: &mut Builder<'_>, name: &str, change: impl FnOnce(&mut Cc)) {
    let mut cc = Cc {
        kind: Kind::AllReduce,
        op: AluOpType::Add,
        groups: vec![vec![0, 1]],
        memory: MemoryType::DRAM,
        output: None,
        ins: vec![(64, F32)],
        outs: vec![(64, F32)],
        step: 1,
        io: false,
        keys: CollectiveCompute::default(),
    };
    change(&mut cc);
    let mut at = 0;
    let mut operand =
        |b: &mut Builder<'_>, memory: MemoryType, (columns, dtype): (u64, Dtype), step: i64, io| {
            at += 1;
            let tensor = NewTensor::of(memory, &format!("{name}{at}"), [64, columns].into(), dtype);
            let tensor = if io { tensor.output() } else { tensor };
            let place = if memory == MemoryType::DRAM { 1 << 20 } else { 4096 };
            let tensor = b.tensor(tensor.at(place * at));
            match step {
                1 => tensor.all(),
                _ => tensor.pattern(0, [(columns as i64 * step, 64 / step), (1, columns as i64)]),
            }
        };
    let ins: Vec<_> = cc.ins.iter().map(|t| operand(b, cc.memory, *t, cc.step, false)).collect();
    let memory = cc.output.unwrap_or(cc.memory);
    let outs: Vec<_> = cc.outs.iter().map(|t| operand(b, memory, *t, cc.step, cc.io)).collect();
    cc.keys.cc_channel = Some(Box::new(CcChannel {
        kind: cc.kind,
        op: cc.op,
        replica_groups: cc.groups,
        ..CcChannel::default()
    }));
    let inst = b.inst(name, EngineType::ALL, cc.keys);
    let inst = ins.into_iter().fold(inst, |inst, input| inst.input(input));
    outs.into_iter().fold(inst, |inst, output| inst.output(output));
}

fn gather(cc: &mut Cc) {
    (cc.kind, cc.op) = (Kind::AllGather, AluOpType::Bypass);
    cc.outs = vec![(128, F32)];
}

fn scatter(cc: &mut Cc) {
    cc.kind = Kind::ReduceScatter;
    cc.ins = vec![(128, F32)];
}

fn in_sb(cc: &mut Cc) {
    cc.memory = MemoryType::SB;
}

fn send_receive(cc: &mut Cc) {
    (cc.kind, cc.op) = (Kind::SendRecv, AluOpType::Bypass);
    cc.keys.recv_from_rank = vec![Value(1)];
}

fn all_to_all_v(cc: &mut Cc) {
    (cc.kind, cc.op) = (Kind::AllToAllV, AluOpType::Bypass);
    cc.ins = vec![(64, F32), (1, Dtype::Uint32)];
}

fn two(b: &mut Builder<'_>, streams: [i32; 2]) {
    for (name, stream) in ["a", "b"].into_iter().zip(streams) {
        named(b, name, |cc| cc.keys.stream_id = Value(stream));
    }
}

fn in_loop(b: &mut Builder<'_>) {
    let inst = b.inst("loop", EngineType::ALL, DynamicForLoop::default()).id();
    let body = b.module().new_block(bir::Holder::Inst(inst), "body");
    cc(&mut Builder::at(b.module(), body), send_receive);
}

macro_rules! case {
    ($rule:literal, $bad:expr) => {
        case!($rule, |_| (), $bad)
    };
    ($rule:literal, $base:expr, $bad:expr) => {
        Case {
            rule: $rule,
            arch: GEN3,
            bad: |b| {
                cc(b, |cc| {
                    let changes: [fn(&mut Cc); 2] = [$base, $bad];
                    changes.into_iter().for_each(|change| change(cc));
                });
            },
            good: |b| cc(b, $base),
        }
    };
}

pub(crate) const CASES: &[Case] = &[
    case!("COL-02", |cc| cc.io = true),
    Case {
        rule: "COL-03",
        arch: GEN3,
        bad: |b| _ = b.plain_inst("cc", EngineType::ALL, InstructionType::Collective).id(),
        good: |b| cc(b, |_| ()),
    },
    Case {
        rule: "COL-04",
        arch: ArchLevel::Sunda,
        bad: |b| cc(b, |_| ()),
        good: |b| _ = b.plain_inst("nop", EngineType::SP, InstructionType::NoOp).id(),
    },
    case!("COL-05", in_sb, |cc| cc.outs = vec![(64, F32); 3]),
    case!("COL-07", in_sb, |cc| cc.step = 2),
    case!("COL-08", in_sb, |cc| cc.output = Some(MemoryType::DRAM)),
    case!("COL-09", gather, |cc| cc.outs = vec![(64, F32)]),
    case!("COL-10", scatter, |cc| cc.ins = vec![(64, F32)]),
    case!("COL-11", send_receive, |cc| cc.keys.recv_from_rank.push(Value(0))),
    case!("COL-12", send_receive, |cc| cc.outs = vec![(64, Dtype::Int32)]),
    case!("COL-13", all_to_all_v, |cc| cc.outs = vec![(64, F32); 3]),
    case!("COL-14", all_to_all_v, |cc| cc.ins[1].1 = Dtype::Int32),
    case!("COL-14", all_to_all_v, |cc| cc.ins.truncate(1)),
    Case { rule: "COL-16", arch: GEN3, bad: in_loop, good: |b| cc(b, send_receive) },
    case!("COL-17", gather, |cc| cc.op = AluOpType::Add),
    case!("COL-17", |cc| cc.keys.is_local = Value(true), |cc| cc.op = AluOpType::Max),
    case!("COL-18", in_sb, |cc| cc.groups.clear()),
    case!("COL-19", in_sb, |cc| cc.outs[0].0 = 32),
    case!("COL-20", |cc| cc.keys.src_target_pairs = vec![vec![0, 1]]),
    Case { rule: "COL-21", arch: GEN3, bad: |b| two(b, [1, 2]), good: |b| two(b, [1, 1]) },
];
