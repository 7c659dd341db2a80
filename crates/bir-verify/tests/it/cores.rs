//! LNC, CB.

use bir::builder::{Builder, NewTensor};
use bir::enums::{
    ArchLevel, CollectiveKind, Dtype, EngineType, InstructionType, MemoryAddressSpace, MemoryType,
};
use bir::expr::{Expr, MaybeAffine};
use bir::records::CcChannel;
use bir::{Holder, Module, Value, ops};
use bir_json::{ReadOptions, WriteOptions};
use bir_verify::{Options, verify_cores};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    case("CB-01", |b| joins(b, EngineType::Pool, vec![0, 2]), |b| joins(b, EngineType::Pool, vec![0, 1])),
    case("CB-02", |b| joins(b, EngineType::DMA, vec![0, 1]), |b| joins(b, EngineType::SP, vec![0, 1])),
];

const fn case(rule: &'static str, bad: fn(&mut Builder<'_>), good: fn(&mut Builder<'_>)) -> Case {
    Case { rule, arch: ArchLevel::Gen3, bad, good }
}

fn joins(b: &mut Builder<'_>, engine: EngineType, cores: Vec<u32>) {
    b.inst("join", engine, ops::CoreBarrier { cores, ..Default::default() });
}

/// What is changed in the module of a core.
type Change = fn(&mut Module);

/// Rules of several cores, and what breaks them on core 1.
const FAULTS: &[(&str, Change)] = &[
    ("LNC-01", |m| {
        let exprs = [2, 4].map(|ub| m.exprs.add(Expr::ShardId { ub }));
        let inst = barrier(m);
        m[inst].rare_mut().order.extend(exprs);
    }),
    ("LNC-02", |m| {
        let expr = m.exprs.add(Expr::ShardId { ub: 2 });
        let inst = barrier(m);
        let block = m[inst].block;
        m.remove_insts(&[inst]);
        let first = m[block].instructions[0];
        m[first].rare_mut().order.push(expr);
    }),
    ("LNC-03", |m| {
        let expr = m.exprs.add(Expr::ShardId { ub: 2 });
        sends(m);
        let inst = barrier(m);
        m[inst].rare_mut().order.push(expr);
    }),
    ("LNC-04", |m| _ = m.root.attributes.remove("neuron_core_id")),
    ("LNC-05", |m| {
        let expr = m.exprs.add(Expr::ShardId { ub: 2 });
        let inst = barrier(m);
        m[inst].rare_mut().order.push(expr);
    }),
    ("LNC-06", |m| {
        let function = m.new_function("more");
        let block = m.new_block(Holder::Function(function), "Block1");
        Builder::at(m, block).plain_inst("n", EngineType::SP, InstructionType::NoOp);
    }),
    ("LNC-07", |m| {
        let function = m.main().unwrap();
        m[function].name = m.names.intern("main1");
    }),
    ("LNC-08", |m| {
        let function = m.main().unwrap();
        let block = m.new_block(Holder::Function(function), "b2");
        Builder::at(m, block).plain_inst("n", EngineType::SP, InstructionType::NoOp);
    }),
    ("LNC-09", |m| {
        let function = m.main().unwrap();
        let block = m[function].blocks[0];
        m[block].name = m.names.intern("other");
    }),
    ("LNC-10", |m| {
        let block = m[barrier(m)].block;
        joins(&mut Builder::at(m, block), EngineType::Pool, vec![0, 1]);
    }),
    ("LNC-11", sends),
    ("LNC-12", |m| share(m, 4096)),
    ("LNC-13", |m| {
        let loc = m.locations_of(m.main().unwrap()).next().unwrap();
        let target = [("core".into(), Value::Uint(0)), ("name".into(), Value::from("nowhere"))];
        m[loc].remote_local_target = Some(Value::Object(target.into_iter().collect()));
    }),
    ("LNC-14", |m| {
        let inst = barrier(m);
        let bir::Op::CoreBarrier(op) = &mut m[inst].op else { unreachable!() };
        op.id = 7.into();
    }),
    ("LNC-15", |m| {
        let inst = barrier(m);
        m[inst].name = m.names.intern("other");
    }),
    ("LNC-17", |m| {
        let loc = m.locations_of(m.main().unwrap()).next().unwrap();
        m[loc].name = m.names.intern("elsewhere");
    }),
    ("LNC-18", |m| m.root.arch = Some(ArchLevel::CoreV4)),
    ("LNC-19", |m| {
        let inst = m.insts().find(|inst| m[*inst].opcode() == InstructionType::CollectiveCompute).unwrap();
        let bir::Op::CollectiveCompute(op) = &mut m[inst].op else { unreachable!() };
        op.cc_channel.as_mut().unwrap().kind = CollectiveKind::AllGather;
    }),
    ("LNC-20", |m| _ = m.root.attributes.insert("neuron_core_id", Value::Uint(0))),
    ("LNC-21", |m| {
        let loc = m.locations_of(m.main().unwrap()).next().unwrap();
        m[loc].r#type = MemoryType::PSUM;
        let target = [("core".into(), Value::Uint(0)), ("name".into(), Value::from("x"))];
        m[loc].remote_local_target = Some(Value::Object(target.into_iter().collect()));
    }),
    ("LNC-22", |m| {
        let inst = barrier(m);
        m[inst].engine = EngineType::SP;
    }),
];

/// Rules of several cores that need a change on both.
const PAIRS: &[(&str, Change, Change)] = &[
    ("LNC-12", |m| share(m, 4096), |m| share(m, 4096)),
    ("LNC-13", |m| share(m, 4096), |m| share_with(m, 8192)),
    ("LNC-16", |m| share(m, 4096), |m| share(m, 8192)),
];

/// The rules that are tested here.
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().map(|(rule, _)| *rule).chain(PAIRS.iter().map(|(rule, ..)| *rule))
}

fn barrier(m: &Module) -> bir::ids::InstId {
    m.insts().find(|inst| m[*inst].opcode() == InstructionType::CoreBarrier).expect("there is one")
}

fn sends(m: &mut Module) {
    let block = m[barrier(m)].block;
    Builder::at(m, block).plain_inst("send", EngineType::Pool, InstructionType::GPSIMDSB2SB);
}

/// The same with the location of core 0 as its target.
fn share_with(m: &mut Module, addr: u64) {
    share(m, addr);
    let loc = m.locations_of(m.main().unwrap()).last().unwrap();
    let target = [("core".into(), Value::Uint(0)), ("name".into(), Value::from("shared"))];
    m[loc].remote_local_target = Some(Value::Object(target.into_iter().collect()));
}

fn share(m: &mut Module, addr: u64) {
    let block = m[barrier(m)].block;
    let tensor = NewTensor::dram("shared", [64], Dtype::Float32).addr_space(MemoryAddressSpace::Shared);
    Builder::at(m, block).tensor(tensor.at(addr));
}

/// The module of a core: a barrier and a local collective.
fn module(core: u64) -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    module.root.attributes.insert("neuron_core_id", Value::Uint(core));
    let mut b = Builder::new(&mut module, "main");
    let x = b.tensor(NewTensor::dram("x", [64], Dtype::Float32).at(0));
    let y = b.tensor(NewTensor::dram("y", [64], Dtype::Float32).at(256));
    joins(&mut b, EngineType::Pool, vec![0, 1]);
    let channel =
        CcChannel { kind: CollectiveKind::AllReduce, replica_groups: vec![vec![0, 1]], ..Default::default() };
    let op = ops::CollectiveCompute {
        cc_channel: Some(Box::new(channel)),
        is_local: MaybeAffine::Value(true),
        ..Default::default()
    };
    b.inst("cc", EngineType::ALL, op).input(x).output(y);
    module
}

fn codes(cores: [Module; 2]) -> Vec<String> {
    let loaded = cores.map(|module| {
        let text = bir_json::to_string(&module, &WriteOptions::default());
        bir_json::read(text.as_bytes(), &ReadOptions::default()).unwrap()
    });
    let found = verify_cores(&[&loaded[0], &loaded[1]], &Options::default()).findings;
    found
        .into_iter()
        .map(|finding| finding.code.into_owned())
        .filter(|code| code.starts_with("LNC"))
        .collect()
}

#[test]
fn cores_of_one_split_agree() {
    assert_eq!(codes([module(0), module(1)]), [""; 0]);
    for (rule, change) in FAULTS {
        let mut other = module(1);
        change(&mut other);
        let found = codes([module(0), other]);
        assert!(found.iter().any(|code| code == rule), "{rule}: {found:?}");
    }
    for (rule, one, two) in PAIRS {
        let mut cores = [module(0), module(1)];
        one(&mut cores[0]);
        two(&mut cores[1]);
        let found = codes(cores);
        assert!(found.iter().any(|code| code == rule), "{rule}: {found:?}");
    }
}

/// Of what follows from a missing barrier nothing is said.
#[test]
fn a_missing_barrier_is_told_once() {
    let two = |core| {
        let mut m = module(core);
        let block = m[barrier(&m)].block;
        for (at, name) in [(1, "second"), (2, "third")] {
            let id = MaybeAffine::Value(at);
            let op = ops::CoreBarrier { cores: vec![0, 1], id, ..Default::default() };
            Builder::at(&mut m, block).inst(name, EngineType::Pool, op);
        }
        m
    };
    assert_eq!(codes([two(0), two(1)]), [""; 0]);
    for core in [0, 1] {
        let mut cores = [two(0), two(1)];
        let first = barrier(&cores[core]);
        cores[core].remove_insts(&[first]);
        assert_eq!(codes(cores), ["LNC-10"], "{core}");
    }
}

#[test]
fn shared_memory_is_known_on_both_cores() {
    let found = |change: Change| {
        let mut cores = [module(0), module(1)];
        share(&mut cores[0], 4096);
        change(&mut cores[1]);
        codes(cores)
    };
    assert_eq!(found(|m| share_with(m, 4096)), [""; 0]);
    assert_eq!(found(|m| share(m, 4096)), ["LNC-12"]);
    // Neither side shares what the other does: that follows.
    assert_eq!(found(|m| share_with(m, 8192)), ["LNC-13"]);
}

/// What only core 0 has is named by the module of core 0.
#[test]
fn a_related_place_may_be_on_another_core() {
    let mut first = module(0);
    let block = first[barrier(&first)].block;
    let op = ops::CoreBarrier { cores: vec![0, 1], id: MaybeAffine::Value(1), ..Default::default() };
    Builder::at(&mut first, block).inst("last", EngineType::Pool, op);
    let loaded = [first, module(1)].map(|module| {
        let text = bir_json::to_string(&module, &Default::default());
        bir_json::read(text.as_bytes(), &ReadOptions::default()).unwrap()
    });
    let found = verify_cores(&[&loaded[0], &loaded[1]], &Options::default()).findings;
    let unmet = found.iter().find(|finding| finding.code == "LNC-10").expect("a barrier is missing");
    let names = loaded.each_ref().map(|loaded| bir::diag::DisplayNames::of(&loaded.module));
    let report = unmet.report_in(|place| {
        let core = usize::from(place.core.unwrap_or(0));
        place.named(&loaded[core].module, &names[core])
    });
    assert_eq!(report.related[0].place.instruction.as_deref(), Some("last"));
    // With one module alone it has no name.
    let report = unmet.report(&loaded[1].module, &names[1]);
    assert_eq!((report.related[0].place.module, &report.related[0].place.instruction), (Some(0), &None));
}
