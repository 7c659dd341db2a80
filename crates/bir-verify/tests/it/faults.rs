//! Faults that are planted in the sample, each one that a rule forbids.

use bir::access::{AccessPattern, ApPair};
use bir::edges::{Edge, EdgeKind};
use bir::enums::{
    ActivationFunctionType, AluOpType, ArchLevel, Dtype, EngineType, InstructionType as It, MemoryType,
    TensorKind,
};
use bir::ids::{InstId, LocId, Ref};
use bir::records::PhysicalAp;
use bir::{Argument, Module, Op};

/// A fault: what it is, the rules of which one has to be reported, and how it is made.
pub(crate) struct Fault(
    pub(crate) &'static str,
    pub(crate) &'static [&'static str],
    pub(crate) fn(&mut Module),
);

pub(crate) const FAULTS: &[Fault] = &[
    Fault("offset moved by a few columns", &["AP-05"], |m| output(m, It::TensorScalarPtr).offset += 8),
    Fault("offset moved past the end", &["AP-01"], |m| output(m, It::Activation).offset += 1 << 20),
    Fault("offset moved by a few rows", &["PART-04"], |m| {
        let out = output(m, It::TensorScalarPtr);
        out.offset += 8 * 512;
        pairs(out, |pairs| pairs[0].num = 32);
    }),
    Fault("one partition too many", &["PART-01", "AP-01"], |m| {
        pairs(input(m, It::Reciprocal, 0), |p| p[0].num = 129)
    }),
    Fault("33 partitions from 32 on", &["PART-04"], |m| {
        let access = input(m, It::TensorScalarPtr, 0);
        access.offset = 32 * 512;
        pairs(access, |pairs| pairs[0].num = 33);
    }),
    Fault("every second partition", &["PART-08"], |m| {
        pairs(input(m, It::TensorScalarPtr, 0), |pairs| (pairs[0].step, pairs[0].num) = (1024, 64));
    }),
    Fault("a step that no word holds", &["AP-06"], |m| {
        pairs(input(m, It::TensorReduce, 0), |pairs| (pairs[1].step, pairs[1].num) = (40000, 2));
    }),
    Fault("an empty dimension", &["AP-04"], |m| pairs(input(m, It::Activation, 0), |pairs| pairs[1].num = 0)),
    Fault("a pattern of one pair", &["AP-08"], |m| {
        pairs(input(m, It::Activation, 0), |pairs| pairs.truncate(1))
    }),
    Fault("four free dimensions", &["AP-07"], |m| {
        pairs(input(m, It::TensorScalarPtr, 0), |pairs| {
            let dims = [(1, 2), (8, 4), (64, 4), (3, 2)];
            pairs.truncate(1);
            pairs.extend(dims.map(|(step, num)| ApPair { step, num }));
        });
    }),
    Fault("half of the elements", &["AP-02"], |m| {
        pairs(output(m, It::Activation), |pairs| pairs[1].num = 256)
    }),
    Fault("an odd address", &["AP-09"], |m| {
        let loc = location(output(m, It::Activation));
        m[loc].addr += 2;
    }),
    Fault("a tile past the end of SB", &["ALLOC-01"], |m| {
        let loc = location(output(m, It::Activation));
        m[loc].addr = 229_376 - 1024;
    }),
    Fault("a tile that starts on partition 16", &["ALLOC-04", "ALLOC-01"], |m| {
        let loc = location(output(m, It::Activation));
        m[loc].base = 16;
    }),
    Fault("a bank that does not exist", &["ALLOC-01"], |m| {
        let loc = location(output(m, It::Matmult));
        m[loc].bank = 8;
    }),
    Fault("a result across two banks", &["ALLOC-03", "MM-15"], |m| {
        let loc = location(output(m, It::Matmult));
        m[loc].addr = 1024;
    }),
    Fault("no address", &["ALLOC-08"], |m| {
        let loc = location(output(m, It::Activation));
        m[loc].addr = 0;
        m[loc].present.clear(bir::records::MemoryLocation::ADDR);
    }),
    Fault("a zero in a shape", &["MOD-09"], |m| {
        let loc = location(output(m, It::Activation));
        let set = m[loc].set;
        m[set].tensor_shape = [128, 0].into();
    }),
    Fault("a PSUM hint in SB", &["MEM-05"], |m| {
        let loc = location(output(m, It::Activation));
        m[loc].pack_id_hint = 2;
    }),
    Fault("two tiles with one name", &["MOD-05"], |m| {
        let (a, b) = (location(output(m, It::Activation)), location(output(m, It::Reciprocal)));
        m[b].name = m[a].name;
    }),
    Fault("another engine", &["MM-01"], |m| change(m, It::Matmult, |inst| inst.engine = EngineType::DVE)),
    Fault("an older target", &["ARCH-01", "DMA-17", "ALLOC-01", "CB-01", "AP-01", "ALLOC-02"], |m| {
        m.root.arch = Some(ArchLevel::Inferentia);
    }),
    Fault("a type that the array does not have", &["MM-06"], |m| {
        for input in [0, 1] {
            self::input(m, It::Matmult, input).dtype = Some(Dtype::Uint16);
        }
    }),
    Fault("two kinds of types", &["MM-06"], |m| {
        let access = input(m, It::Matmult, 0);
        access.dtype = Some(Dtype::Float32);
        pairs(access, |pairs| (pairs[0].step, pairs[1].num) = (256, 256));
    }),
    Fault("too many moving columns", &["MM-03"], |m| {
        pairs(input(m, It::Matmult, 0), |pairs| pairs[1].num = 513)
    }),
    Fault("a group without a start", &["PSUM-03"], |m| {
        change(m, It::Matmult, |inst| {
            let Op::Matmult(op) = &mut inst.op else { unreachable!() };
            op.accumulation_flag = 0.into();
        });
    }),
    Fault("a result in SB", &["MM-02", "MEM-01"], |m| {
        let sb = output(m, It::TensorScalarPtr).clone();
        *output(m, It::Matmult) = sb;
    }),
    Fault("an operand in PSUM for Pool", &["MEM-02", "ENG-01"], |m| {
        change(m, It::TensorScalarPtr, |inst| inst.engine = EngineType::Pool);
    }),
    Fault("an operand in DRAM for an engine", &["MEM-01"], |m| {
        let loc = location(input(m, It::Activation, 0));
        m[loc].r#type = MemoryType::DRAM;
        m[loc].dims = Some([128 * 2048].into());
    }),
    Fault("an input missing", &["OPR-01"], |m| change(m, It::Matmult, |inst| _ = inst.ins.pop())),
    Fault("an immediate for a tensor", &["OPR-02"], |m| {
        let mut imm = None;
        change(m, It::Activation, |inst| imm = Some(inst.ins[1].clone()));
        change(m, It::TensorReduce, |inst| inst.ins[0] = imm.take().unwrap());
    }),
    Fault("an immediate bias on trn1", &["ACT-02"], |m| {
        m.root.arch = Some(ArchLevel::Sunda);
        change(m, It::Activation, |inst| {
            let Op::Activation(op) = &mut inst.op else { unreachable!() };
            op.func = ActivationFunctionType::Ln;
        });
    }),
    Fault("a queue that does not exist", &["DMA-01"], |m| {
        let name = m.names.intern("qGone");
        change(m, It::DMACopy, |inst| {
            let Op::DMACopy(op) = &mut inst.op else { unreachable!() };
            op.queue = Some(Ref::named(name));
        });
    }),
    Fault("a copy of other size", &["DMA-05"], |m| {
        pairs(input(m, It::DMACopy, 0), |pairs| pairs[1].num = 64)
    }),
    Fault("an operator in a copy", &["DMA-09", "DMA-10"], |m| {
        change(m, It::DMACopy, |inst| {
            let Op::DMACopy(op) = &mut inst.op else { unreachable!() };
            op.cce_op = AluOpType::Max;
        });
    }),
    Fault("a trigger of what is no block", &["DMA-02"], |m| {
        let other = first(m, It::Matmult);
        change(m, It::DMATrigger, |inst| {
            let Op::DMATrigger(op) = &mut inst.op else { unreachable!() };
            op.dma_blocks.push(other.into());
        });
    }),
    Fault("a dependency on itself", &["MOD-06"], |m| {
        let inst = first(m, It::Matmult);
        m[inst].dependencies.insert(Edge::new(inst, EdgeKind::FLOW));
    }),
    Fault("a cycle", &["DEP-02"], |m| {
        let (a, b) = (first(m, It::Matmult), first(m, It::Activation));
        m[a].dependencies.insert(Edge::new(b, EdgeKind::ORDERED));
        m[b].dependencies.insert(Edge::new(a, EdgeKind::ORDERED));
    }),
    Fault("a semaphore out of range", &["SYNC-01"], |m| {
        change(m, It::Matmult, |inst| inst.sync_info.as_mut().unwrap().on_update[0].id = Some(256));
    }),
    Fault("too many waits", &["SYNC-05"], |m| {
        change(m, It::EventSemaphore, |inst| {
            let waits = &mut inst.sync_info.as_mut().unwrap().on_wait;
            waits.extend([waits[0].clone(), waits[0].clone()]);
        });
    }),
    Fault("an increment by two", &["SYNC-03"], |m| {
        change(m, It::Matmult, |inst| inst.sync_info.as_mut().unwrap().on_update[0].update_value = Some(2));
    }),
    Fault("a name that is no op", &["MOD-04"], |m| {
        let name = m.names.intern("Matmul");
        change(m, It::NoOp, |inst| inst.op = Op::new(It::Other(name)));
    }),
    Fault("an end before the start", &["MOD-07"], |m| {
        change(m, It::Matmult, |inst| (inst.scheduled_start, inst.scheduled_end) = (9, 3));
    }),
    Fault("a block without instructions", &["CF-16"], |m| {
        let function = m.main().unwrap();
        m.new_block(bir::Holder::Function(function), "empty");
    }),
    Fault("two inputs on different partitions", &["PART-10"], |m| {
        let x = output(m, It::TensorScalarPtr).clone();
        let (mut low, mut high) = (x.clone(), x);
        high.offset = 32 * 512;
        for access in [&mut low, &mut high] {
            pairs(access, |pairs| pairs[0].num = 32);
        }
        change(m, It::Reciprocal, |inst| {
            inst.op = Op::new(It::TensorTensor);
            inst.ins = vec![Argument::from(low.clone()), Argument::from(high)].into();
            inst.outs = vec![Argument::from(low)].into();
        });
    }),
    Fault("a result over its shifted input", &["WIP-01"], |m| {
        let mut shifted = input(m, It::Activation, 0).clone();
        shifted.offset += 1;
        pairs(&mut shifted, |pairs| pairs[1].num = 511);
        pairs(input(m, It::Activation, 0), |pairs| pairs[1].num = 511);
        *output(m, It::Activation) = shifted;
    }),
    Fault("a pointer in a plain tensor", &["MEM-06"], |m| {
        let (a, b) = (location(output(m, It::Activation)), location(output(m, It::Reciprocal)));
        m[a].pointer_ref_memloc = Some(b.into());
        let set = m[a].set;
        m[set].kind = Some(TensorKind::Internal);
    }),
];

/// The first instruction of an op.
fn first(m: &Module, op: It) -> InstId {
    m.insts().find(|inst| m[*inst].opcode() == op).expect("the sample has one")
}

fn change(m: &mut Module, op: It, change: impl FnOnce(&mut bir::Instruction)) {
    let inst = first(m, op);
    change(&mut m[inst]);
}

fn input(m: &mut Module, op: It, index: usize) -> &mut PhysicalAp {
    let inst = first(m, op);
    let Argument::PhysicalAp(access) = &mut m[inst].ins[index] else { panic!("no access") };
    access
}

fn output(m: &mut Module, op: It) -> &mut PhysicalAp {
    let inst = first(m, op);
    let Argument::PhysicalAp(access) = &mut m[inst].outs[0] else { panic!("no access") };
    access
}

fn location(access: &PhysicalAp) -> LocId {
    access.memref.and_then(|loc| loc.id()).expect("a location")
}

fn pairs(access: &mut PhysicalAp, change: impl FnOnce(&mut Vec<ApPair>)) {
    let mut list: Vec<ApPair> = access.ap.as_ref().expect("a pattern").iter().collect();
    change(&mut list);
    access.ap = Some(AccessPattern::new(&list));
}
