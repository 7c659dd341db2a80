//! What cannot be encoded: the error names the operand and the limit.

use bir::builder::{Builder, NewTensor, Operand};
use bir::enums::{AluOpType, ArchLevel, CopyMode, Dtype, EngineType, InstructionType, WaitMode};
use bir::ops::{
    DMACopy, IndirectLoad, IndirectSave, Matmult, Memset, TensorCopy, TensorScalarAffineSelect,
    TensorScalarPtr, TensorTensor,
};
use bir::records::SyncWait;
use bir::{ImmNumber, Module};
use bir_encode::{NoEncoder, Options, encode};
use tpb_isa::Generation::{self, V2, V3, V4};

use crate::common::{errors, part, psum, sb};

fn error(generation: Generation, fill: impl FnOnce(&mut Builder<'_>)) -> String {
    let errors = errors(generation, fill);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

/// A copy of a tensor of `columns` in SB at `addr`, with a pattern of its own.
fn copy<const N: usize>(b: &mut Builder<'_>, columns: u64, addr: u64, offset: u64, pairs: [(i64, i64); N]) {
    let source = sb(b, "x", columns, Dtype::Bfloat16, addr);
    let out = sb(b, "y", 512, Dtype::Bfloat16, 0x8000);
    b.inst("copy", EngineType::DVE, TensorCopy::default())
        .input(source.pattern(offset, pairs))
        .output(out.all());
}

#[test]
fn wait_and_update_of_different_values_do_not_fit_one_word() {
    let text = error(V3, |b| {
        let out = sb(b, "x", 8, Dtype::Float32, 0);
        b.inst("set", EngineType::DVE, Memset::default()).output(out.all()).waits(3, 5).adds(4, 2);
    });
    assert!(text.starts_with("set (Memset)"), "{text}");
    assert!(text.contains("wait for 5 and update by 2 do not fit one word"), "{text}");
    // With equal values they do, and counting by one needs no value.
    assert!(
        errors(V3, |b| {
            let out = sb(b, "x", 8, Dtype::Float32, 0);
            b.inst("a", EngineType::DVE, Memset::default()).output(out.all()).waits(3, 5).adds(4, 5);
            b.inst("b", EngineType::DVE, Memset::default()).output(out.all()).waits(3, 5).adds(4, 1);
        })
        .is_empty()
    );
}

#[test]
fn steps_and_counts_out_of_range_name_the_slot() {
    let text = error(V3, |b| copy(b, 60000, 0x4000, 0, [(60000, 128), (40000, 2), (1, 4)]));
    assert!(
        text.contains("ins[0]") && text.contains("step of dimension 1") && text.contains("40000"),
        "{text}"
    );
    assert!(text.contains("32767"), "{text}");
    let text = error(V3, |b| copy(b, 512, 0x4000, 0, [(512, 128), (0, 70000)]));
    assert!(text.contains("a count of its pattern is 70000, but 1 to 65535 fit"), "{text}");
}

#[test]
fn addresses_past_the_partition_name_the_limit() {
    // 192 KiB on v2, 224 KiB on v3, 256 KiB on v4.
    for (generation, limit, addr) in
        [(V2, "0x30000", 0x2FF00), (V3, "0x38000", 0x37F00), (V4, "0x40000", 0x3FF00)]
    {
        let text = error(generation, |b| copy(b, 512, addr, 0, [(512, 128), (1, 512)]));
        assert!(text.contains("ins[0]") && text.contains(limit) && text.contains("SB"), "{text}");
        assert!(errors(generation, |b| copy(b, 512, addr, 0, [(512, 128), (1, 128)])).is_empty());
    }
    let text = error(V3, |b| {
        let low = b.tensor(NewTensor::sb("x", [64, 8], Dtype::Float32).at(0).base(96));
        b.inst("set", EngineType::DVE, Memset::default()).output(low.all());
    });
    assert!(text.contains("outs[0]: it touches partitions 96 to 159; there are 0 to 127"), "{text}");
    let text = error(V3, |b| {
        let out = b.tensor(NewTensor::psum("acc", [128, 1024], Dtype::Float32).bank(7));
        b.inst("set", EngineType::DVE, Memset::default()).output(out.all());
    });
    assert!(text.contains("0x4000 (PSUM"), "{text}");
}

#[test]
fn types_that_a_generation_does_not_have() {
    // On v3 the tensor engine refuses the packed types; other words take them as their containers.
    let product = |b: &mut Builder<'_>| {
        let x = sb(b, "x", 64, Dtype::Float8E4m3fnX4, 0);
        let w = sb(b, "w", 64, Dtype::Float8E4m3fnX4, 0x1000);
        let out = psum(b, "acc", 64, Dtype::Float32, 0);
        b.inst("mm", EngineType::PE, Matmult::default()).input(x.all()).input(w.all()).output(out.all());
    };
    let text = error(V3, product);
    assert!(text.contains("float8_e4m3fn_x4") && text.contains("Ldweights on v3"), "{text}");
    // ALU operations too.
    let maximum = |b: &mut Builder<'_>| {
        let x = sb(b, "x", 64, Dtype::Float32, 0);
        let op = TensorTensor { op: AluOpType::AbsMax, ..TensorTensor::default() };
        b.inst("tt", EngineType::DVE, op).input(x.all()).input(x.all()).output(x.all());
    };
    assert!(error(V3, maximum).contains("ALU operation abs_max cannot be encoded on v3"));
    assert!(errors(V4, maximum).is_empty());
}

#[test]
fn ops_of_other_generations() {
    let quantize = |b: &mut Builder<'_>| {
        b.plain_inst("q", EngineType::DVE, InstructionType::QuantizeMx);
    };
    assert_eq!(error(V3, quantize), "q (QuantizeMx): it has no words on v3");
    let barrier = |b: &mut Builder<'_>| {
        b.plain_inst("cb", EngineType::SP, InstructionType::CoreBarrier);
    };
    assert_eq!(error(V2, barrier), "cb (CoreBarrier): it has no words on v2");
    assert!(errors(V3, barrier).is_empty());
}

#[test]
fn abstract_lowered_and_unsupported_ops_say_so() {
    for (op, why) in [
        (InstructionType::Generic, "it is an abstract base"),
        (InstructionType::Select, "it is lowered before encoding: it becomes CopyPredicated"),
        (InstructionType::Loop, "it is lowered before encoding: loops become blocks"),
        (InstructionType::NKIKernel, "the body of the kernel is spliced in"),
        (InstructionType::ReadVarAddr, "it cannot be encoded: no word of it is known"),
        (InstructionType::BranchHint, "BRANCH_PREFETCH_HINT (0xdd) are not known"),
        (InstructionType::CollectiveCompute, "fields at unknown offsets"),
        (InstructionType::CollectiveSend, "two sources give SEND_RECV (0xcb) different fields"),
        (InstructionType::CollectiveRecv, "two sources give SEND_RECV (0xcb) different fields"),
        (InstructionType::IndirectSaveAccumulate, "the pattern slots of EMBEDDING_UPDATE (0xca)"),
        (InstructionType::BNBackprop2, "(0x8e) lie at unknown offsets"),
    ] {
        let text = error(V3, |b| {
            b.plain_inst("i", EngineType::Pool, op);
        });
        assert!(text.contains(why), "{text}");
    }
    // An op that is refused says nothing of its body.
    assert_eq!(
        errors(V3, |b| {
            b.for_loop("l", "i", 0..4, 1, |b, _| {
                b.plain_inst("inner", EngineType::Unassigned, InstructionType::NoOp);
            });
        })
        .len(),
        1
    );
}

/// Forms of ops whose other forms are encoded: the tables know the word, but not where its fields lie.
#[test]
fn forms_whose_words_are_not_known_say_so() {
    let data = |b: &mut Builder<'_>, name: &str, dtype, addr| part(sb(b, name, 64, dtype, addr), 64, 64);
    let check = |generation, fill: &dyn Fn(&mut Builder<'_>), why: &str| {
        let text = error(generation, fill);
        assert!(text.contains("it cannot be encoded: ") && text.contains(why), "{text}");
        // What is not known is no fault of the module.
        let module = crate::common::module(generation, fill);
        let findings = bir_encode::check(&module, &Options::default()).unwrap();
        assert!(findings.iter().all(|found| found.severity == bir::diag::Severity::Note), "{findings:?}");
    };
    for generation in [V2, V3, V4] {
        let by_address = |b: &mut Builder<'_>| {
            let (x, y) = (data(b, "x", Dtype::Float32, 0), data(b, "y", Dtype::Float32, 0x1000));
            let op = TensorScalarPtr { is_tensor_scalar_addr: true.into(), ..TensorScalarPtr::default() };
            b.inst("ts", EngineType::DVE, op).input(x).input(1.0).output(y);
        };
        check(generation, &by_address, "the slots of TensorScalarAddr (0x74) lie at unknown offsets");
        for save in [false, true] {
            let bounded = |b: &mut Builder<'_>| {
                let index = part(sb(b, "i", 1, Dtype::Int32, 0), 64, 1);
                let (x, y) = (data(b, "x", Dtype::Float32, 0x1000), data(b, "y", Dtype::Float32, 0x2000));
                match save {
                    false => b.inst("it", EngineType::Pool, IndirectLoad::default()),
                    true => b.inst("it", EngineType::Pool, IndirectSave::default()),
                }
                .input(index)
                .input(x.clone())
                .input(x.clone())
                .output(y.clone())
                .output(y);
            };
            check(generation, &bounded, "the pattern slots of the bound-checked word RANGE_CHECK (0xd6)");
        }
        let transposed = |b: &mut Builder<'_>| {
            let from = b.tensor(NewTensor::dram("h", [64, 64], Dtype::Float32).input());
            let to = data(b, "x", Dtype::Float32, 0);
            let op = DMACopy { mode: CopyMode::Transpose, ..DMACopy::default() };
            b.inst("it", EngineType::Pool, op).input(from.all()).output(to);
        };
        check(generation, &transposed, "the shapes that a transposing transfer moves first (0xb2)");
        let quantised = |b: &mut Builder<'_>| {
            let (x, w) = (sb(b, "x", 64, Dtype::Bfloat16, 0), sb(b, "w", 64, Dtype::Bfloat16, 0x1000));
            let out = psum(b, "acc", 64, Dtype::Float32, 0);
            let op = Matmult { weights_quant_offset: 3.into(), ..Matmult::default() };
            b.inst("mm", EngineType::PE, op).input(x.all()).input(w.all()).output(part(out, 64, 64));
        };
        check(generation, &quantised, "quantisation offsets other than 0");
    }
}

#[test]
fn an_instruction_needs_an_engine() {
    let text = error(V3, |b| {
        b.plain_inst("i", EngineType::Unassigned, InstructionType::NoOp);
    });
    assert!(text.contains("engine Unassigned has no instruction stream"), "{text}");
}

#[test]
fn missing_operands_and_unplaced_tensors() {
    let text = error(V3, |b| {
        b.plain_inst("r", EngineType::DVE, InstructionType::Reciprocal);
    });
    assert_eq!(text, "r (Reciprocal): ins[0] is missing");
    let text = error(V3, |b| {
        let x = b.tensor(NewTensor::sb("x", [128, 8], Dtype::Float32));
        b.inst("set", EngineType::DVE, Memset::default()).output(x.all());
    });
    assert_eq!(text, "set (Memset), outs[0]: x has no address: it is not allocated");
    let text = error(V3, |b| {
        let x = b.tensor(NewTensor::dram("x", [128, 8], Dtype::Float32).at(0));
        b.inst("set", EngineType::DVE, Memset::default()).output(x.all());
    });
    assert!(text.contains("outs[0]: x lies in DRAM"), "{text}");
}

#[test]
fn immediates_of_the_wrong_type() {
    let scalar = |operand: Operand, op0| {
        error(V3, |b| {
            let x = sb(b, "x", 8, Dtype::Int32, 0);
            let op = TensorScalarPtr { op0, ..TensorScalarPtr::default() };
            b.inst("ts", EngineType::DVE, op).input(x.all()).input(operand).output(x.all());
        })
    };
    let text = scalar(7.into(), AluOpType::Add);
    assert!(text.contains("ins[1]: an arithmetic immediate must be float32, not int32"), "{text}");
    let narrow = Operand::imm(Dtype::Uint8, ImmNumber::Unsigned(7));
    let text = scalar(narrow, AluOpType::BitwiseAnd);
    assert!(text.contains("as wide as the data: 1 bytes, not 4"), "{text}");
}

#[test]
fn addresses_are_aligned_to_their_type() {
    let text = error(V3, |b| {
        let x = sb(b, "x", 8, Dtype::Float32, 0x4002);
        b.inst("set", EngineType::DVE, Memset::default()).output(x.all());
    });
    assert!(text.contains("outs[0]: address SB(p0,0x4002) is not aligned to the 4 bytes"), "{text}");
}

#[test]
fn patterns_that_no_slot_holds() {
    let text = error(V3, |b| {
        let x = sb(b, "x", 1024, Dtype::Float32, 0);
        let op = TensorTensor { op: AluOpType::Add, ..TensorTensor::default() };
        let deep = [(1024, 128), (256, 2), (64, 2), (8, 2), (1, 2)];
        b.inst("tt", EngineType::DVE, op).input(x.pattern(0, deep)).input(x.all()).output(x.all());
    });
    assert!(text.contains("ins[0]: it has 4 free dimensions"), "{text}");
    assert!(text.contains("slot src0 of TensorTensorArith has 3"), "{text}");
    // Neighbours that form one progression are made one.
    assert!(
        errors(V3, |b| {
            let x = sb(b, "x", 1024, Dtype::Float32, 0);
            let op = TensorTensor { op: AluOpType::Add, ..TensorTensor::default() };
            let deep = [(1024, 128), (256, 2), (128, 2), (64, 2), (1, 64)];
            b.inst("tt", EngineType::DVE, op).input(x.pattern(0, deep)).input(x.all()).output(x.all());
        })
        .is_empty()
    );
    let text = error(V3, |b| copy(b, 512, 0, 0, [(1024, 64), (1, 8)]));
    assert!(
        text.contains("the partition step is 1024 elements, but partitions of x are 512 apart"),
        "{text}"
    );
}

#[test]
fn what_waits_cannot_do() {
    let event = |id| SyncWait { id: Some(id), wait_mode: WaitMode::EvtSetThenClear, ..SyncWait::default() };
    let text = error(V3, |b| {
        let x = sb(b, "x", 8, Dtype::Float32, 0);
        b.inst("set", EngineType::DVE, Memset::default()).output(x.all()).wait(event(1)).wait(event(2));
    });
    assert!(text.contains("EVENT_SEMAPHORE waits for a semaphore"), "{text}");
    let text = error(V3, |b| {
        b.plain_inst("e", EngineType::SP, InstructionType::EventSemaphore)
            .waits(1, 1)
            .waits(2, 1)
            .waits(3, 1);
    });
    assert!(text.contains("two semaphores at most, not 3"), "{text}");
    let text = error(V3, |b| {
        b.plain_inst("n", EngineType::SP, InstructionType::NoOp).waits(256, 1);
    });
    assert!(text.contains("semaphore 256 does not exist"), "{text}");
}

#[test]
fn the_fill_register_of_an_affine_select_must_be_given() {
    let fill = |b: &mut Builder<'_>| {
        let x = sb(b, "x", 64, Dtype::Float32, 0);
        let op = TensorScalarAffineSelect {
            pattern: Some([(1, 64)].into()),
            compare_op: AluOpType::IsGe,
            ..TensorScalarAffineSelect::default()
        };
        b.inst("as", EngineType::Pool, op).input(part(x, 64, 64)).output(part(x, 64, 64));
    };
    assert!(error(V3, fill).contains("fill value is chosen by a rule that is not known"));
    let module = crate::common::module(V3, fill);
    let options = Options { fill_register: Some(9), ..Options::default() };
    assert_eq!(encode(&module, &options).unwrap().errors, []);
}

#[test]
fn targets_without_an_encoder() {
    let module = Module::new(ArchLevel::Inferentia);
    assert_eq!(encode(&module, &Options::default()).unwrap_err(), NoEncoder("inferentia".to_owned()));
    let options = Options { generation: Some(Generation::V5), ..Options::default() };
    assert_eq!(encode(&module, &options).unwrap_err(), NoEncoder("v5".to_owned()));
    // A target of one's own choice is fine.
    assert!(encode(&module, &Options { generation: Some(V2), ..Options::default() }).is_ok());
}
