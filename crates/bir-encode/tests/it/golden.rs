//! Words as they must be: the worked examples of the specification, and words that the compiler made.
//! spec: isa-bundle 13, 17.4

use bir::builder::{Builder, NewTensor, Operand};
use bir::enums::{ActivationFunctionType, AluOpType, AxisListType, Dtype, EngineType, InstructionType};
use bir::ops::{
    Activation, Iota, Matmult, Memset, Op, TensorCopy, TensorReduce, TensorScalarPtr, TensorTensor,
};
use tpb_isa::{Engine, Generation, Word};

use crate::common::{part, psum, sb, words};

fn same(words: &[Word], expected: &[&str]) {
    let expected: Vec<Word> = expected.iter().map(|text| Word::from_hex(text).unwrap()).collect();
    for (word, expected) in words.iter().zip(&expected) {
        assert_eq!(word, expected);
    }
    assert_eq!(words.len(), expected.len());
}

#[test]
fn e1_and_e2_a_product_on_v2() {
    let words = words(Generation::V2, Engine::PE, |b| {
        let weights = sb(b, "w", 64, Dtype::Bfloat16, 0x1000);
        let moving = sb(b, "x", 512, Dtype::Bfloat16, 0x2000);
        let out = b.tensor(NewTensor::psum("acc", [64, 512], Dtype::Float32).bank(2));
        let op = Matmult { accumulation_flag: 3.into(), ..Matmult::default() };
        b.inst("mm", EngineType::PE, op).input(moving.all()).input(weights.all()).output(out.all());
    });
    same(
        &words,
        &[
            "01100000000000000000000000000000 00100000010001000100400001000100 0600000000008040000000000f031000 00000000000000000000000000000000",
            "02100000000000000000000000000000 00200000010001000100000201000100 0600000000008040000000030f031000 00100002010001000100000201000100",
        ],
    );
}

#[test]
fn e3_activation_with_a_bias_in_memory() {
    let words = words(Generation::V2, Engine::Activation, |b| {
        let data = psum(b, "x", 512, Dtype::Float32, 2);
        let bias = sb(b, "bias", 1, Dtype::Float32, 0x3000);
        let out = sb(b, "y", 512, Dtype::Bfloat16, 0x4000);
        // Ordinal 12, code 21.
        let func = <ActivationFunctionType as bir::OpenEnum>::from_ordinal(12).unwrap();
        let op = Activation { func, scale: 1.0, ..Activation::default() };
        b.inst("act", EngineType::Activation, op)
            .input(part(data, 64, 512))
            .input(part(bias, 64, 1))
            .inputs([1.0, 0.0].map(Operand::from))
            .output(part(out, 64, 512));
    });
    same(
        &words,
        &[
            "21100000000000000000000000000300 00100002010001000100000201000100 aa0640150000803f0030000000000000 00400000010001000100000201000100",
        ],
    );
}

#[test]
fn e4_two_tensors_one_of_them_repeated() {
    let words = words(Generation::V3, Engine::DVE, |b| {
        let first = sb(b, "a", 512, Dtype::Bfloat16, 0x4000);
        let second = b.tensor(NewTensor::sb("b", [64, 512], Dtype::Bfloat16).at(0x5000).base(32));
        let out = sb(b, "c", 512, Dtype::Bfloat16, 0x6000);
        let op = TensorTensor { op: AluOpType::Add, ..TensorTensor::default() };
        b.inst("add", EngineType::DVE, op)
            .input(part(first, 64, 512))
            .input(second.pattern(0, [(512, 64), (1, 64), (0, 8)]))
            .output(part(out, 64, 512));
    });
    same(
        &words,
        &[
            "41100000000000000000000066060440 00400000010001000100000201000100 00508000000001000100080040000100 00600000010001000100000201000100",
        ],
    );
}

#[test]
fn e5_tensor_scalar_with_a_number_and_a_pointer() {
    let words = words(Generation::V2, Engine::DVE, |b| {
        let data = sb(b, "x", 512, Dtype::Bfloat16, 0x4000);
        let scalar = sb(b, "s", 1, Dtype::Float32, 0x3000);
        let out = sb(b, "y", 512, Dtype::Float32, 0x6000);
        let op = TensorScalarPtr { op0: AluOpType::Mult, op1: AluOpType::Add, ..TensorScalarPtr::default() };
        b.inst("ts", EngineType::DVE, op)
            .input(part(data, 64, 512))
            .input(2.0)
            .input(part(scalar, 64, 1))
            .output(part(out, 64, 512));
    });
    same(
        &words,
        &[
            "43100000000000000000000000000000 00400000010001000100000201000100 060a4000060400010000004000300000 00600000010001000100000201000100",
        ],
    );
}

#[test]
fn e6_a_reduction_over_the_innermost_dimension() {
    let words = words(Generation::V2, Engine::DVE, |b| {
        let data = sb(b, "x", 512, Dtype::Bfloat16, 0x4000);
        let out = sb(b, "y", 8, Dtype::Float32, 0x7000);
        let op = TensorReduce { op: AluOpType::Max, axis: AxisListType::X, ..TensorReduce::default() };
        b.inst("max", EngineType::DVE, op)
            .input(data.pattern(0, [(512, 64), (64, 8), (1, 64)]))
            .output(part(out, 64, 8));
    });
    same(
        &words,
        &[
            "42100000000000000000000000400000 01004000010001004000080001000100 060a4000080200000000000000700000 01000100010001000800010001000100",
        ],
    );
}

#[test]
fn e7_memset() {
    let words = words(Generation::V2, Engine::Pool, |b| {
        let out = sb(b, "x", 256, Dtype::Float32, 0x7000);
        let op = Memset { constant: 1.5f32.to_bits().into(), ..Memset::default() };
        b.inst("set", EngineType::Pool, op).output(out.all());
    });
    same(
        &words,
        &[
            "49100000000000000000000000000000 00000000000000000000000000010000 0a00800000000000 0000c03f00700000 01000100010001000001010001000100",
        ],
    );
}

#[test]
fn e8_a_copy_from_an_address_register_with_a_wait_and_an_update() {
    let words = words(Generation::V2, Engine::DVE, |b| {
        let source = sb(b, "x", 256, Dtype::Bfloat16, 0x4000);
        let out = sb(b, "y", 256, Dtype::Bfloat16, 0x8000);
        // Registers are numbered in the order in which they stand.
        let registers: Vec<_> = (0..6).map(|i| b.register(&format!("r{i}"), EngineType::DVE)).collect();
        b.inst("copy", EngineType::DVE, TensorCopy::default())
            .input(source.all().at_register(registers[5]))
            .output(out.all())
            .waits(3, 1)
            .increments(7);
    });
    same(
        &words,
        &[
            "46100000050313070100000005000080 01000100010001000001010001000100 06068000000000000000000000800000 01000100010001000001010001000100",
        ],
    );
}

#[test]
fn e9_iota() {
    let words = words(Generation::V2, Engine::Pool, |b| {
        let out = sb(b, "i", 512, Dtype::Int32, 0x9000);
        let op = Iota { pattern: Some([(1, 512)].into()), channel_multiplier: 512.into(), ..Iota::default() };
        b.inst("iota", EngineType::Pool, op).output(out.all());
    });
    same(
        &words,
        &[
            "7e100000000000000000000000000000 01000100010001000002010001000100 00088000000200000000000000900000 01000100010001000002010001000100",
        ],
    );
}

/// The tensors of the small captured kernel, and its instructions on each engine. spec: isa-bundle 17.4
fn captured(b: &mut Builder<'_>) {
    let f16 = Dtype::Float16;
    let x = sb(b, "x", 128, f16, 0x37C00);
    let identity = sb(b, "identity", 128, f16, 0x37B00);
    let transposed = psum(b, "xt", 128, f16, 1);
    let weights = sb(b, "xt_sb", 128, f16, 0x4000);
    let y = sb(b, "y", 64, f16, 0x37F00);
    let y1 = sb(b, "y1", 64, f16, 0x37E00);
    let result = psum(b, "acc", 64, Dtype::Float32, 0);

    let transpose = Matmult { accumulation_flag: 3.into(), is_transpose: true.into(), ..Matmult::default() };
    b.inst("I-87-0", EngineType::PE, transpose)
        .input(identity.all())
        .input(x.all())
        .output(transposed.all())
        .waits(24, 16)
        .waits(8, 16)
        .adds(5, 1);
    for (name, flag, y) in [("I-72-0", 1u8, y), ("I-72-1", 2, y1)] {
        let op = Matmult { accumulation_flag: flag.into(), ..Matmult::default() };
        b.inst(name, EngineType::PE, op).input(y.all()).input(weights.all()).output(result.all()).adds(5, 1);
    }
    let first = b.module().insts().nth(1).unwrap();
    b.edit(first).waits(4, 1);

    // Pairs of float16 are moved as int32, which a pass writes into the operands.
    let pairs = b.tensor(NewTensor::psum("xt32", [128, 128], Dtype::Int32).bank(1));
    let moved = sb(b, "xt_sb32", 128, Dtype::Int32, 0x4000);
    b.inst("I-80-0-accel-tc-act", EngineType::Activation, TensorCopy::default())
        .input(pairs.all())
        .output(moved.all())
        .waits(5, 2)
        .adds(4, 1);
    let out = sb(b, "out", 64, Dtype::Float32, 0x4200);
    b.inst("I-89-0-tc-act", EngineType::Activation, TensorCopy::default())
        .input(result.all())
        .output(out.all())
        .waits(5, 4)
        .adds(4, 1);
    let wide = sb(b, "wide", 512, Dtype::Float32, 0x7800);
    let narrow = sb(b, "narrow", 512, f16, 0xC000);
    b.inst("I-121-0-tc-act", EngineType::Activation, TensorCopy::default())
        .input(wide.all())
        .output(narrow.all())
        .waits(6, 45)
        .adds(4, 1);

    let load = b.queue("qPoolDynamic", &(24..40).collect::<Vec<_>>());
    let dma = || bir::ops::DMACopy { queue: Some(load.into()), ..Default::default() };
    let x_in = b.tensor(NewTensor::dram("x_in", [128, 256], f16).input());
    let y_in = b.tensor(NewTensor::dram("y_in", [256, 128], f16).input());
    let z = b.tensor(NewTensor::dram("z", [128, 128], f16).output());
    let x_both = sb(b, "x_both", 256, f16, 0x37C00);
    b.inst("I-76-0", EngineType::Pool, dma()).input(x_in.all()).output(x_both.all()).adds(24, 16);
    b.inst("I-71-0", EngineType::Pool, dma()).input(y_in.tile(0..128, 64..128)).output(y.all()).adds(25, 16);
    b.inst("I-74-0", EngineType::Pool, dma())
        .input(out.all())
        .output(z.tile(0..128, 64..128))
        .waits(4, 2)
        .adds(27, 16);
    b.plain_inst("Block1-final-DMA-NOP", EngineType::Pool, InstructionType::NoOp).waits(27, 16);

    let bank = psum(b, "bank1", 512, Dtype::Float32, 1);
    let sum = TensorTensor { op: AluOpType::Add, ..TensorTensor::default() };
    b.inst("I-142-4", EngineType::DVE, sum)
        .input(bank.all())
        .input(wide.all())
        .output(wide.all())
        .waits(5, 317)
        .adds(6, 1);
    let zeros = sb(b, "zeros", 512, Dtype::Float32, 0x5000);
    b.inst("I-146-3", EngineType::DVE, Memset::default()).output(zeros.all()).adds(6, 1);
    b.inst("I-120-259", EngineType::DVE, Op::NoOp).waits(4, 9).waits(6, 12).waits(30, 80);
}

/// R3 to R8: the overflow of waits, a transpose, and a product in two steps of the contraction axis.
#[test]
fn captured_words_of_the_tensor_engine() {
    same(
        &words(Generation::V3, Engine::PE, captured),
        &[
            "a01000000518000010",
            "01100000050800001000000000000000 fe7c0300ffff0000e0ff200001000400 07000100000080800000 00000f0f00000000000000000000000000000000",
            "02100000000013050000000000000000 007b0300010000000000800001000100 07000100000080800000 00030f0f0000 00080002010000000000800001000100",
            "01100000050400000100000000000000 fe400000ffff0000e0ff200001000400 07000000000080800000 00000f0f00000000000000000000000000000000",
            "02100000000013050000000000000000 007f0300010000000000400001000100 07000000000080800000 00010f0f0000 00000002010000000000400001000100",
            "01100000000000000000000000000000 fe400000ffff0000e0ff200001000400 07000000000080800000 00000f0f00000000000000000000000000000000",
            "02100000000013050000000000000000 007e0300010000000000400001000100 07000000000080800000 00020f0f0000 00000002010000000000400001000100",
        ],
    );
}

/// R10, R11, R20.
#[test]
fn captured_copies_and_casts() {
    same(
        &words(Generation::V3, Engine::Activation, captured),
        &[
            "46100000050513040200000000080002 01000100010001008000010001000100 08088000000000000000000000400000 01000100010001008000010001000100",
            "46100000050513040400000000000002 01000100010001004000010001000100 0a0a8000000000000000000000420000 01000100010001004000010001000100",
            "47100000050613042d00000000780000 01000100010001000002010001000100 0a078000000000000000000000c00000 01000100010001000002010001000100",
        ],
    );
}

/// R12, R13, R14, R16: loads from the inputs and a store that converts.
#[test]
fn captured_transfers() {
    same(
        &words(Generation::V3, Engine::Pool, captured),
        &[
            "d4100000000000000000000000181000 00000000000000200002000001000000 8000010000020000007c030000000010 00000400010000008000010000020707",
            "d4100000000000000000000000191000 80000000010000200001000001000000 8000010080000000007f030000000010 00000400010000008000010080000707",
            "d41000000504000002000000001b1000 00420000000000100000040001000000 80000100000100008000000002000020 0001000001000000800001008000 0a07",
            "a4100000051b000010",
        ],
    );
}

/// R18, R19, R17.
#[test]
fn captured_words_of_the_vector_engine() {
    same(
        &words(Generation::V3, Engine::DVE, captured),
        &[
            "41100000050513063d010000aa0a0480 00080002010001000100000201000100 00780000010001000100000201000100 00780000010001000100000201000100",
            "49100000000013060000000000000000 00000000000000000000000000020000 0a008000000000000000000000500000 01000100010001000002010001000100",
            "a0100000051e00005000000000000000 00000000000000000000000000000000 05060000 0c000000",
            "a41000000504000009",
        ],
    );
}
