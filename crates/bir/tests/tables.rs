//! Facts that the tables of operands, ops and targets state, as the library answers them.

use bir::enums::{
    AluOpType, ArchLevel, CollectiveKind, CopyMode, Dtype, EngineType, InstructionType, MemoryType,
    MemsetMode,
};
use bir::expr::MaybeAffine;
use bir::ids::{BlockId, ExprId, Id};
use bir::op_info::{Bundles, Category, OpInfo, Predicate};
use bir::operands::{Access, Count, Coverage, Kinds, Operands, Role, access_of, role_of, slot_of};
use bir::ops::*;
use bir::records::{CcChannel, ImmValue, PhysicalAp};
use bir::target::{EngineInfo, Target};
use bir::{Argument, Conf, Instruction, Op, OpenEnum, OperandList, Sym};

fn inst(op: Op) -> Instruction {
    Instruction::new(Sym::EMPTY, BlockId::new(0), op)
}

fn tensor(dtype: Dtype) -> Argument {
    Argument::from(PhysicalAp { dtype: Some(dtype), ..Default::default() })
}

fn affine<T>() -> MaybeAffine<T> {
    MaybeAffine::Expr(ExprId::new(0))
}

#[test]
fn every_op_has_its_row() {
    let mut covered = [0; 5];
    for (operands, info) in InstructionType::ALL.iter().map(|op| (Operands::of(*op), OpInfo::of(*op))) {
        let (operands, info) = (operands.unwrap(), info.unwrap());
        assert_eq!(operands.op, info.op);
        covered[operands.coverage as usize] += 1;
        assert_eq!(operands.coverage == Coverage::Abstract, info.is_abstract);
        assert!(info.keyless || !info.header_only, "{:?}", info.op);
        assert_eq!(Op::new(info.op).fields().is_none(), info.keyless, "{:?}", info.op);
    }
    assert_eq!(covered, [67, 15, 19, 3, 6]);
    assert!(Operands::of(InstructionType::Other(Sym::EMPTY)).is_none());
    assert!(OpInfo::of(InstructionType::Other(Sym::EMPTY)).is_none());
}

#[test]
fn the_class_tree() {
    use InstructionType as It;
    let heirs = |base: It| {
        It::ALL.iter().filter(|op| op.is_a(base)).map(|op| op.ordinal().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(heirs(It::MatmultBase), [7, 8, 9, 95]);
    assert_eq!(heirs(It::DMA), [18, 19, 22, 32, 41, 42, 43, 44, 45, 46, 67]);
    assert_eq!(heirs(It::Collective), [47, 48, 49, 50]);
    assert_eq!(heirs(It::DMADescriptor), [68, 69, 70, 71, 72]);
    assert_eq!(heirs(It::Terminator), [77, 78, 79, 81, 82, 83]);
    // By class EventSemaphore is a Generic too; the is-a test of the reference leaves it out.
    assert_eq!(heirs(It::Generic), [0, 1, 2, 3, 13]);
    let generic = |op: It| Predicate::Generic.holds(&inst(Op::new(op)));
    assert_eq!((generic(It::AbstractCopy), generic(It::EventSemaphore)), (Some(true), Some(false)));
    // A class derives from itself, also one that the table does not have.
    assert!(It::Other(Sym::EMPTY).is_a(It::Other(Sym::EMPTY)) && !It::Other(Sym::EMPTY).is_a(It::DMA));
}

#[test]
fn engines_words_and_architectures() {
    let of = |op| OpInfo::of(op).unwrap();
    let pool = of(InstructionType::Pool);
    assert_eq!(pool.engines.unwrap().value, [EngineType::DVE]);
    assert_eq!(pool.default_engine.unwrap().conf, Conf::Inferred);
    assert_eq!(of(InstructionType::QuantizeMx).arch_min.unwrap().value, ArchLevel::CoreV4);
    assert_eq!(of(InstructionType::CustomOp).arch_max.unwrap().value, ArchLevel::Sunda);
    assert_eq!(of(InstructionType::CustomOp).bundles, Bundles { min: 2, max: None, per_engine: false });
    assert_eq!(of(InstructionType::Return).bundles, Bundles { min: 1, max: Some(1), per_engine: true });
    assert_eq!(of(InstructionType::Loop).category, Category::Region);
    let activation = of(InstructionType::Activation);
    assert_eq!(
        (activation.wire_bytes(3), activation.wire_bytes(4)),
        (&[0x21, 0x24][..], &[0x21, 0x24, 0x25][..])
    );
    assert!(activation.wire_bytes(1).is_empty() && activation.wire_bytes(5).is_empty());
}

#[test]
fn predicates_look_at_keys() {
    let memset = |mode| inst(Op::Memset(Memset { mode, ..Default::default() }));
    assert_eq!(Predicate::Rng.holds(&memset(MemsetMode::Random)), Some(true));
    assert_eq!(Predicate::Rng.holds(&memset(MemsetMode::Const)), Some(false));
    assert_eq!(Predicate::Rng.holds(&memset(MemsetMode::Other(Sym::EMPTY))), None);
    assert_eq!(Predicate::Rng.holds(&inst(Op::Rng)), Some(false));

    let mut copy = inst(Op::DMACopy(Box::default()));
    assert_eq!(Predicate::CopyOrCastDma.holds(&copy), Some(true));
    assert_eq!(Predicate::CopyDma.holds(&copy), None, "there are no operands to compare");
    copy.ins.push(tensor(Dtype::Float32));
    copy.outs.push(tensor(Dtype::Bfloat16));
    assert_eq!(Predicate::CastDma.holds(&copy), Some(true));
    assert_eq!(Predicate::CopyDma.holds(&copy), Some(false));

    let collective = |kind| {
        let cc_channel = Some(Box::new(CcChannel { kind, ..Default::default() }));
        inst(Op::CollectiveCompute(Box::new(CollectiveCompute { cc_channel, ..Default::default() })))
    };
    let fine = |kind| Predicate::FineGrainCollective.holds(&collective(kind));
    for kind in CollectiveKind::ALL {
        assert_eq!(fine(*kind), Some(kind.ordinal().unwrap() > 6), "{kind:?}");
    }
    assert_eq!(Predicate::FineGrainCollective.holds(&inst(Op::CollectiveCompute(Box::default()))), None);
}

#[test]
fn counts() {
    let count = |op, list| Operands::of(op).unwrap().count(list);
    let activation = count(InstructionType::Activation, OperandList::Ins).unwrap();
    assert_eq!(activation, Count { min: 2, max: Some(4) });
    assert!(
        [2, 3, 4].iter().all(|n| activation.accepts(*n)) && !activation.accepts(1) && !activation.accepts(5)
    );
    assert_eq!(Operands::of(InstructionType::Activation).unwrap().count_conf, Conf::Strong);
    assert_eq!(Operands::of(InstructionType::Activation).unwrap().ins_encoder, Some(4));
    let dma = count(InstructionType::DMACopy, OperandList::Ins).unwrap();
    assert!(dma.accepts(1) && dma.accepts(100) && !dma.accepts(0));
    assert_eq!(count(InstructionType::DMACopy, OperandList::IndirectionIns), None);
    let words: Vec<_> = [(2, Some(2)), (2, Some(3)), (2, Some(4)), (1, None)]
        .map(|(min, max)| Count { min, max }.to_string())
        .into();
    assert_eq!(words, ["2", "2 or 3", "2 to 4", "at least 1"]);
}

#[test]
fn the_role_depends_on_the_form() {
    let activation =
        |is_activate2| inst(Op::Activation(Box::new(Activation { is_activate2, ..Default::default() })));
    let plain = activation(MaybeAffine::Value(false));
    let second = activation(MaybeAffine::Value(true));
    let open = activation(affine());
    let roles = |inst: &Instruction| [0, 1, 2, 3].map(|at| role_of(inst, OperandList::Ins, at));
    assert_eq!(roles(&plain), [Role::Data, Role::Bias, Role::Scale, Role::Alpha].map(Some));
    assert_eq!(roles(&second), [Role::Data, Role::Imm0, Role::Imm1, Role::ReluParam].map(Some));
    assert_eq!(roles(&open), [Some(Role::Data), None, None, None]);
    assert!(slot_of(&open, OperandList::Ins, 0).is_some() && slot_of(&open, OperandList::Ins, 1).is_none());
    assert_eq!(role_of(&plain, OperandList::IndirectionIns, 7), Some(Role::Indices), "the rest");
    assert_eq!(role_of(&plain, OperandList::Ins, 4), None);

    let pointer = |stt, scan| {
        let op = TensorScalarPtr {
            is_scalar_tensor_tensor: stt,
            is_tensor_tensor_scan: scan,
            ..Default::default()
        };
        inst(Op::TensorScalarPtr(Box::new(op)))
    };
    let roles = |inst: &Instruction| [1, 2].map(|at| role_of(inst, OperandList::Ins, at).unwrap());
    assert_eq!(roles(&pointer(false.into(), false.into())), [Role::Scalar0, Role::Scalar1]);
    assert_eq!(roles(&pointer(true.into(), false.into())), [Role::Scalar0, Role::Data1]);
    assert_eq!(roles(&pointer(true.into(), true.into())), [Role::Initial, Role::Data1]);
}

#[test]
fn what_a_place_accepts() {
    let matmult = inst(Op::Matmult(Box::default()));
    let moving = slot_of(&matmult, OperandList::Ins, 0).unwrap();
    assert!(moving.accepts_memory(MemoryType::SB));
    assert!(!moving.accepts_memory(MemoryType::PSUM) && !moving.accepts_memory(MemoryType::Input));
    assert!(moving.accepts_kind(&tensor(Dtype::Float32)) && moving.accepts_dtype(Dtype::Uint8));
    assert!(!moving.accepts_kind(&Argument::from(ImmValue::default())));
    assert_eq!(moving.wire, ["S3D3_MM.src", "S3D3_MM.in_dtype"]);
    let names: Vec<_> = Kinds::AP.names().collect();
    assert_eq!(names, ["physical_ap", "symbolic_ap", "symbolic_pwap", "register_ap"]);

    let quantize = inst(Op::QuantizeMx);
    let scales = slot_of(&quantize, OperandList::Outs, 1).unwrap();
    assert_eq!(scales.role, Role::ScaleResult);
    assert!(scales.accepts_dtype(Dtype::Uint8) && !scales.accepts_dtype(Dtype::Float32));
}

#[test]
fn what_is_read_and_written() {
    let written = |op| access_of(&inst(op), OperandList::Outs, 0);
    let matmult = |flag| Op::Matmult(Box::new(Matmult { accumulation_flag: flag, ..Default::default() }));
    // spec: ordering 7: the first of a group starts (1), a single one starts and stops (3), inner ones have 0.
    for (flag, access) in
        [(0, Access::ReadWrite), (1, Access::Write), (2, Access::ReadWrite), (3, Access::Write)]
    {
        assert_eq!(written(matmult(MaybeAffine::Value(flag))), access, "flag {flag}");
    }
    assert_eq!(written(matmult(affine())), Access::WriteMaybeRead);
    assert_eq!(access_of(&inst(matmult(0.into())), OperandList::Ins, 0), Access::Read);

    let copy = |mode, cce_op| written(Op::DMACopy(Box::new(DMACopy { mode, cce_op, ..Default::default() })));
    assert_eq!(copy(CopyMode::Copy, AluOpType::Bypass), Access::Write);
    assert_eq!(copy(CopyMode::Copy, AluOpType::Add), Access::ReadWrite);
    assert_eq!(copy(CopyMode::CCE, AluOpType::Add), Access::Write);
    assert_eq!(copy(CopyMode::Other(Sym::EMPTY), AluOpType::Add), Access::WriteMaybeRead);
    assert_eq!(copy(CopyMode::Other(Sym::EMPTY), AluOpType::Bypass), Access::Write);

    let shuffle = |mask: Option<Vec<MaybeAffine<u32>>>| {
        written(Op::StreamShuffle(Box::new(StreamShuffle { mask, ..Default::default() })))
    };
    assert_eq!(shuffle(Some(vec![0.into(), 255.into(), affine()])), Access::ReadWrite);
    assert_eq!(shuffle(Some(vec![0.into(), affine()])), Access::WriteMaybeRead);
    assert_eq!(shuffle(Some(vec![0.into(), 1.into()])), Access::Write);
    assert_eq!(shuffle(None), Access::WriteMaybeRead);

    let mut predicated = inst(Op::CopyPredicated(Box::default()));
    predicated.ins = vec![tensor(Dtype::Uint8), tensor(Dtype::Float32)].into();
    assert_eq!(access_of(&predicated, OperandList::Outs, 0), Access::ReadWrite);
    predicated.ins.push(Argument::from(ImmValue::default()));
    assert_eq!(
        access_of(&predicated, OperandList::Outs, 0),
        Access::Write,
        "a false fill writes every element"
    );

    assert_eq!(written(Op::CoreBarrier(Box::default())), Access::ReadWrite);
    assert_eq!(written(Op::Other(Sym::EMPTY)), Access::WriteMaybeRead);
    assert_eq!(access_of(&inst(Op::TensorTensor(Default::default())), OperandList::Outs, 9), Access::Write);
}

#[test]
fn targets() {
    let trn1 = Target::of(ArchLevel::Sunda).unwrap();
    let trn3 = Target::of(ArchLevel::CoreV4).unwrap();
    assert_eq!((trn1.sb_partition_bytes, trn3.sb_partition_bytes), (192 << 10, 256 << 10));
    assert_eq!((trn1.psum_partition_bytes(), trn1.sb_usable_bytes()), (16 << 10, 176 << 10));
    assert!(Target::of(ArchLevel::CoreV5).is_none() && Target::of(ArchLevel::Other(Sym::EMPTY)).is_none());
    assert_eq!(trn3.access_starts_of(32), Some(&[0, 32, 64, 96][..]));
    assert_eq!(trn3.access_starts_of(33), Some(&[0, 64][..]));
    assert_eq!((trn3.access_starts_of(65), trn3.access_starts_of(129)), (Some(&[0][..]), None));
    let inf1 = Target::of(ArchLevel::Inferentia).unwrap();
    assert_eq!((inf1.access_starts_of(1), inf1.unknown), (None, &["access_starts"][..]));
    assert_eq!((inf1.psum_banks, inf1.psum_starts_of(64)), (4, Some(&[0][..])));
    assert!(!inf1.encoder && trn1.encoder);
    assert_eq!(Target::FACTS.iter().find(|fact| fact.name == "events").unwrap().spec, "ordering 1.5");
    assert_eq!(Target::of_module(&bir::Module::default()).arch, Target::FALLBACK);
    assert_eq!(Target::of_module(&bir::Module::new(ArchLevel::Sunda)).arch, ArchLevel::Sunda);
}

#[test]
fn engines() {
    let datapath = EngineInfo::all().iter().map(|info| info.engine).filter(|engine| engine.is_datapath());
    use EngineType::*;
    assert_eq!(datapath.collect::<Vec<_>>(), [Pool, Activation, PE, DVE, SP]);
    let mut wire: Vec<_> = EngineInfo::all().iter().filter_map(|info| info.wire).collect();
    wire.sort_unstable();
    assert_eq!(wire, [0, 1, 2, 3, 4]);
    let dve = EngineInfo::of(DVE).unwrap();
    assert_eq!((dve.profile_name, dve.kernel_name), ("Vector", Some("vector")));
}
