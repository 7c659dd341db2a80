//! What the builder gives, as the document would say it.

use super::*;
use crate::access::AccessPattern;
use crate::argument::Argument;
use crate::edges::EdgeKind;
use crate::enums::{ArchLevel, BranchCompareOp, Dtype};
use crate::ids::Ref;
use crate::ops;
use crate::storage::Storage;

fn module() -> Module {
    Module::new(ArchLevel::Gen3)
}

fn pattern(inst: &Instruction, input: usize) -> (u64, &AccessPattern) {
    match &inst.ins[input] {
        Argument::PhysicalAp(arg) => (arg.offset, arg.ap.as_ref().unwrap()),
        _ => panic!("not a physical access"),
    }
}

#[test]
fn a_tile_is_a_pattern_over_rows() {
    let mut m = module();
    let mut b = Builder::new(&mut m, "main");
    let sb = b.tensor(NewTensor::sb("t", [128, 4, 256], Dtype::Bfloat16).at(64));
    let dram = b.tensor(NewTensor::dram("d", [512, 256], Dtype::Float32));
    let id = b
        .plain_inst("i", EngineType::DVE, InstructionType::TensorCopy)
        .inputs([sb.into(), sb.tile(32..64, 512..).into(), dram.tile(128..256, ..).into()])
        .input(sb.all().dtype(Dtype::Float32))
        .input(sb.pattern(3, [(1024, 128), (2, 8)]))
        .id();
    assert_eq!(pattern(&m[id], 0), (0, &[(1024, 128), (256, 4), (1, 256)].into()));
    assert_eq!(pattern(&m[id], 1), (32 * 1024 + 512, &[(1024, 32), (1, 512)].into()));
    assert_eq!(pattern(&m[id], 2), (128 * 256, &[(256, 128), (1, 256)].into()));
    assert_eq!(pattern(&m[id], 3), (0, &[(512, 128), (1, 512)].into()));
    assert_eq!(pattern(&m[id], 4), (3, &[(1024, 128), (2, 8)].into()));
    let location = &m[sb.location];
    assert_eq!((location.dims.clone(), location.addr), (Some([128, 2048].into()), 64));
    assert!(location.is_placed() && !m[dram.location].is_placed());
}

#[test]
#[should_panic(expected = "columns 0..9 of a tensor that has 8")]
fn a_tile_lies_in_its_tensor() {
    let mut m = module();
    let mut b = Builder::new(&mut m, "main");
    let t = b.tensor(NewTensor::sb("t", [2, 8], Dtype::Uint8));
    b.plain_inst("i", EngineType::DVE, InstructionType::TensorCopy).input(t.tile(.., 0..9));
}

#[test]
fn a_builder_goes_into_bodies_and_comes_back() {
    let mut m = module();
    let mut b = Builder::new(&mut m, "main");
    let start = b.block();
    let limit = b.register("n", EngineType::SP);
    let mut inner = None;
    let outer = b.for_loop("a", "i", 0..4, 1, |b, _| {
        let one = b.constant(1);
        b.do_while("w", one, |b| {
            b.dynamic_for_loop("c", "k", limit, |b, _| {
                inner = Some(b.inst("n", EngineType::SP, Op::NoOp).id());
            });
        });
    });
    assert_eq!(b.block(), start);
    let inner = inner.unwrap();
    let nest: Vec<_> = m[inner].rare().loopnest.iter().map(|axis| m.str(*axis)).collect();
    assert_eq!(nest, ["i", "k"]);
    assert_eq!(m.insts_of(Holder::Inst(outer)).last(), Some(inner));
    let block = m[inner].block;
    let mut again = Builder::at(&mut m, block);
    let id = again.inst("m", EngineType::SP, Op::NoOp).id();
    assert_eq!(m[id].rare().loopnest, m[inner].rare().loopnest);
    assert_eq!(m.check_links(), []);
}

#[test]
fn both_ends_of_links_agree_through_every_change() {
    let mut m = module();
    let mut b = Builder::new(&mut m, "main");
    let x = b.tensor(NewTensor::dram("x", [4, 4], Dtype::Uint8));
    let y = b.tensor(NewTensor::dram("y", [4, 4], Dtype::Uint8));
    let z = b.tensor(NewTensor::sb("z", [4, 4], Dtype::Uint8));
    let queue = b.queue("q", &[]);
    let one = b.dma("one", EngineType::SP, queue).copy(x, z).done();
    let two = b.dma("two", EngineType::SP, queue).copy(z, y).done();
    let (yes, no) = (b.new_block("yes"), b.new_block("no"));
    let wait = b.inst("wait", EngineType::SP, Op::NoOp).after(one.block, EdgeKind::FLOW).id();
    b.edit(wait).waits_for(one.block, 3, 16);
    b.branch("br", EngineType::ALL, (1, BranchCompareOp::IsLtimm, 2), yes, no);
    b.go_to(no);
    let jump = b.jump("j", EngineType::ALL, yes).id();

    m.alias(x.location, y.location, 1).unwrap();
    m.alias(y.location, x.location, 2).unwrap();
    assert_eq!(m[x.location].alias[0].kind, 3);
    assert_eq!(m.alias(x.location, z.location, 1), Err(crate::links::LinkError::AliasOutsideDram));
    assert_eq!(m.depend(wait, wait, EdgeKind::FLOW), Err(crate::links::LinkError::SelfDependency));
    assert_eq!(m.check_links(), []);

    // A block has one trigger.
    m.trigger(two.trigger, one.block).unwrap();
    assert!(matches!(&m[one.trigger].op, Op::DMATrigger(op) if op.dma_blocks.is_empty()));
    assert_eq!(m.check_links(), []);

    m.rename_inst(one.block, "first");
    assert_eq!(m.str(m[wait].sync_info.as_ref().unwrap().on_wait[0].from.unwrap()), "first");
    m.move_inst(wait, yes, 0);
    m.rename(yes, "sure");
    assert_eq!((m[wait].block, m.index_of(wait)), (yes, Some(0)));
    assert_eq!(m.check_links(), []);

    m.remove_insts(&[one.block]);
    assert!(m[wait].dependencies.is_empty());
    assert!(matches!(&m[two.trigger].op, Op::DMATrigger(op) if op.dma_blocks == [Ref::to(two.block)]));
    assert_eq!(m.check_links(), []);

    m.remove_block(yes);
    assert!(matches!(&m[jump].op, Op::UnconditionalBranch(op) if op.target.is_none()));
    assert_eq!(m.check_links(), []);
    m.unalias(x.location, y.location);
    assert_eq!(m.check_links(), []);
}

#[test]
fn a_broken_link_is_found() {
    let mut m = module();
    let mut b = Builder::new(&mut m, "main");
    let t = b.tensor(NewTensor::dram("t", [4, 4], Dtype::Uint8));
    let u = b.tensor(NewTensor::dram("u", [4, 4], Dtype::Uint8));
    let queue = b.queue("q", &[]);
    let dma = b.dma("d", EngineType::SP, queue).copy(t, u).done();
    let inst = b.inst("i", EngineType::DVE, ops::TensorCopy::default()).input(t).id();
    let block = b.block();
    let clean = m.clone();
    let broken = |change: &dyn Fn(&mut Module)| {
        let mut m = clean.clone();
        change(&mut m);
        m.check_links().len()
    };
    assert_eq!(clean.check_links(), []);
    assert_eq!(broken(&|m| m[block].instructions.push(inst)), 1);
    assert_eq!(broken(&|m| m[inst].block = m[dma.block].block), 1);
    assert_eq!(broken(&|m| m[t.location].alias.push(crate::AliasEdge { to: u.location, kind: 1 })), 1);
    assert_eq!(broken(&|m| m[t.location].set = u.set), 1);
    assert_eq!(broken(&|m| m[u.set].memorylocations.clear()), 1, "its descriptor writes u");
    let function = clean.main().unwrap();
    assert_eq!(
        broken(&|m| m[function].allocations.retain(|storage| *storage != Storage::Set(t.set))),
        4,
        "set and location, twice"
    );
    assert_eq!(
        broken(&|m| {
            let Op::DMATrigger(op) = &mut m[dma.trigger].op else { unreachable!() };
            op.dma_blocks.clear();
        }),
        1
    );
}
