//! What people get wrong about these words, and what the word checker and the builder say.

use tpb_isa::build::{BuildError, Slot, WordBuilder};
use tpb_isa::check::{self, Fault};
use tpb_isa::{
    AccumCmd, Addr4, AluOp, Body, Dtype, Field, Generation, ImmSrc, Kind, Layout, Opcode, Sem, StreamWord,
    Update, UpdateMode, WORD_BYTES, Wait, WaitMode, Word, bind, decode, opcode, text,
};

/// A word has 64 bytes, and no layout has anything at or behind byte 64; 0x48 in older maps is an offset in code.
#[test]
fn there_is_no_descriptor_at_0x48() {
    for layout in Layout::ALL {
        for field in layout.info().fields {
            let end = usize::from(field.at) + usize::from(field.bytes);
            assert!(end <= WORD_BYTES, "{}.{} ends at {end}", layout.info().name, field.name);
        }
    }
    assert!(size_of::<Word>() < 0x48);
}

/// TensorScalar has its patterns at 16 and 48 like the other words of family A, and its scalars at 40 and 44.
#[test]
fn tensor_scalar_is_family_a() {
    for code in
        [Opcode::TENSOR_SCALAR_ARITH, Opcode::TENSOR_SCALAR_BITVEC, Opcode::TRANSPOSE_TENSOR_SCALAR_ARITH]
    {
        let row = opcode(code.0, None).expect("a known opcode");
        assert_eq!(row.family, "A");
        for generation in Generation::ENCODABLE {
            let info = row.layout(generation).expect("on every generation").info();
            let slots: Vec<_> = info
                .fields
                .iter()
                .filter(|field| matches!(field.kind, Kind::Union(_) | Kind::Struct(_)))
                .map(|field| (field.name, field.at, field.bytes))
                .collect();
            assert_eq!(slots, [("src", 16, 16), ("dst", 48, 16)], "{code:?} on {generation}");
            assert_eq!(info.field(Field::Imm0).map(|field| field.at), Some(40));
            assert_eq!(info.field(Field::Imm1).map(|field| field.at), Some(44));
        }
    }
}

/// Byte 0 is an opcode of the instruction set. The ordinals of BIR's InstructionType are another space.
#[test]
fn the_opcode_byte_is_not_the_instruction_ordinal() {
    // Ordinals of opcodes.toml: Matmult 3 would be PeRegWrite, NoOp 12 nothing, Exit 82 a TensorReduce.
    for (ordinal, emitter, code) in [
        (12, "NoOp", Opcode::NOP),
        (13, "EventSemaphore", Opcode::EVENT_SEMAPHORE),
        (32, "DMACopy", Opcode::PSEUDO_DMA_DIRECT2D),
        (67, "DMATrigger", Opcode::PSEUDO_DMATRIGGER),
        (82, "Exit", Opcode::PSEUDO_INST),
    ] {
        assert!(opcode(code.0, None).expect("a known opcode").emitters.contains(&emitter));
        assert_ne!(code.0, ordinal);
        let at_ordinal = opcode(ordinal, None);
        assert!(at_ordinal.is_none_or(|row| !row.emitters.contains(&emitter)), "{emitter}");
    }
}

/// Byte 1 is the length in dwords, 0x10; bytes 2 and 3 are two debug bytes, 0 from the compiler: no 16-bit opcode, no
/// reserved half-word.
#[test]
fn header_bytes_one_to_three_are_length_and_debug() {
    let word = Word::from_hex("a4100902").expect("hexadecimal");
    let head = decode(&word, Generation::V3, None).preamble.expect("a preamble");
    assert_eq!(
        (head.inst_word_len, head.debug_cmd, head.debug_hint),
        (0x10, tpb_isa::DebugCmd::INS_FIELD, 2)
    );
    for layout in Layout::ALL {
        let row = (0..=255)
            .filter_map(|code| opcode(code, None))
            .find(|row| row.layout(Generation::V3) == Some(*layout));
        let Some(row) = row else { continue };
        let Ok(builder) = WordBuilder::new(Opcode(row.code), Generation::V3) else { continue };
        assert_eq!(builder.finish().0[1..4], [0x10, 0, 0], "{}", row.name);
    }
    let mut quantize = WordBuilder::new(Opcode::QUANTIZE_MX, Generation::V4).expect("on v4");
    quantize.set_saturating(true);
    let word = quantize.finish();
    assert_eq!(word.0[1], 0x11);
    assert!(!decode(&word, Generation::V4, None).notes.contains(tpb_isa::Notes::LENGTH));
}

fn faults(word: Word, generation: Generation) -> Vec<String> {
    let mut findings = Vec::new();
    check::word(&StreamWord::new(word, 7, generation, None), &mut findings);
    findings.iter().map(ToString::to_string).collect()
}

/// Worked example E5: out = in * 2.0 + pointer.
fn tensor_scalar(generation: Generation) -> Result<Word, BuildError> {
    let mut word = WordBuilder::new(Opcode::TENSOR_SCALAR_ARITH, generation)?;
    word.slot(Field::Src, &Slot::pattern(Addr4(0x4000), &[(1, 512)]))?
        .slot(Field::Dst, &Slot::pattern(Addr4(0x6000), &[(1, 512)]))?
        .set(
            Field::InDtype,
            Dtype::from_bir("bfloat16", Opcode::TENSOR_SCALAR_ARITH, generation).expect("a type"),
        )?
        .set(Field::OutDtype, Dtype::FP32)?
        .set(Field::NumActiveChannels, 64)?
        .set(Field::Op0, AluOp::from_bir("mult", generation).expect("an operation"))?
        .set(Field::Op1, AluOp::ADD)?
        .set(Field::Imm1Src, ImmSrc::POINTER_IMMEDIATE)?
        .set(Field::Imm0, 2.0)?
        .set(Field::Imm1, Addr4(0x3000))?;
    Ok(word.finish())
}

#[test]
fn the_builder_makes_the_worked_example() {
    let expected = Word::from_hex(
        "43100000000000000000000000000000 00400000010001000100000201000100
         060a4000060400010000004000300000 00600000010001000100000201000100",
    );
    for generation in Generation::ENCODABLE {
        assert_eq!(tensor_scalar(generation).ok(), expected, "{generation}");
        assert_eq!(faults(tensor_scalar(generation).expect("it is valid"), generation), [""; 0]);
    }
    let decoded = decode(&expected.expect("hexadecimal"), Generation::V2, None);
    let Body::S3d3TsV2(body) = decoded.body else { panic!("{:?}", decoded.body) };
    assert_eq!((body.accumulator_cmd, body.op0, body.imm0.0), (AccumCmd::IDLE, AluOp::MULT, 2f32.to_bits()));
}

#[test]
fn unused_dimensions_are_those_of_the_layout() {
    for (generation, step) in [(Generation::V2, 1), (Generation::V3, 0)] {
        let mut word = WordBuilder::new(Opcode::MATMUL, generation).expect("on every generation");
        word.slot(Field::Src, &Slot::from_access_pattern(Addr4(0), &[(1, 128), (9, 1), (1, 64)]))
            .expect("it fits");
        assert_eq!(word.finish().0[20..32], [1, 0, step, 0, step, 0, 64, 0, 1, 0, 1, 0], "{generation}");
    }
}

fn message<T: std::fmt::Debug>(result: Result<T, BuildError>) -> String {
    result.expect_err("it does not fit").to_string()
}

#[test]
fn errors_name_field_limit_and_generation() {
    let mut word = WordBuilder::new(Opcode::MATMUL, Generation::V3).expect("on v3");
    assert_eq!(
        message(word.set(Field::NumActiveRows, 300)),
        "Matmul (S3D3_MM.v3 on v3): num_active_rows is 300, but the field holds 0 to 255"
    );
    assert_eq!(
        message(word.slot(Field::Src, &Slot::pattern(Addr4(0), &[(1, 64), (40000, 2)]))),
        "Matmul (S3D3_MM.v3 on v3): step of dimension 1 (0 is innermost) of src is 40000, but the field holds -32768 to 32767"
    );
    assert_eq!(
        message(word.slot(Field::Dst, &Slot::pattern(Addr4(0), &[(1, 0)]))),
        "Matmul (S3D3_MM.v3 on v3): count of dimension 0 (0 is innermost) of dst is 0, but the field holds 1 to 65535"
    );
    assert_eq!(
        message(word.slot(Field::Dst, &Slot::pattern(Addr4(0), &[(1, 2); 4]))),
        "Matmul (S3D3_MM.v3 on v3): dst has 3 dimensions, the pattern 4"
    );
    assert_eq!(
        message(word.set(Field::QuantOffset, 1)),
        "Matmul (S3D3_MM.v3 on v3) has no field quant_offset"
    );
    assert_eq!(
        message(WordBuilder::new(Opcode::MATMUL_MX, Generation::V3)),
        "MatmulMX is not encoded on v3; it is on v4"
    );
    assert_eq!(
        message(WordBuilder::new(Opcode::MOVE_SHAPE, Generation::V3)),
        "MOVE_SHAPE (CTRL_MS on v3): the body is not fully known, so the word cannot be encoded"
    );
    let index = Slot::Indirect { index: Addr4(0x100), data: Addr4(0x200), count: 64 };
    assert!(message(word.slot(Field::Src, &index)).ends_with("src takes a static access pattern"));
    let error = Addr4::sbuf(0, 0x30000, Generation::V2).expect_err("192 KiB");
    assert_eq!(error.to_string(), "byte 0x30000 lies outside the SBUF partition of 0x30000 bytes (v2)");
    assert_eq!(
        Addr4::psum(0, 8, 0).expect_err("8 banks").to_string(),
        "PSUM bank 8 does not exist: there are 8, 0 to 7"
    );
}

#[test]
fn unequal_wait_and_update_values_do_not_fit_one_word() {
    let wait = |value| Some(Wait { mode: WaitMode::SEM_GE_IMM, id: 3, value });
    let add = |value| Some(Update { mode: UpdateMode::SEM_ADD_IMM_COMPLETE, id: 7, value });
    let inc = Some(Update { mode: UpdateMode::SEM_INC_COMPLETE, id: 7, value: 1 });
    let mut word = WordBuilder::new(Opcode::COPY, Generation::V3).expect("on v3");
    assert_eq!(
        message(word.sync(wait(2), add(5))),
        "Copy (S4D4_TR.v3 on v3): wait for 2 and update by 5 do not fit one word: one 32-bit value serves both \
         (spec: isa-control-dma.md 1.4)"
    );
    word.sync(wait(5), add(5)).expect("equal values fit");
    word.sync(wait(2), inc).expect("an increment has no value");
    assert_eq!(word.clone().finish().0[4..12], [5, 3, 0x13, 7, 2, 0, 0, 0]);
    assert!(
        message(word.sync(Some(Wait { mode: WaitMode::SEM_GE_IMM, id: 256, value: 1 }), None))
            .contains("semaphore 256")
    );

    // EVENT_SEMAPHORE has a value for each.
    let mut word = WordBuilder::new(Opcode::EVENT_SEMAPHORE, Generation::V3).expect("on v3");
    word.sync(wait(80), None).expect("one wait");
    word.sync_extended(wait(12), add(5)).expect("a second wait and an update");
    let Body::CtrlEs(body) = decode(&word.finish(), Generation::V3, None).body else {
        panic!("another layout")
    };
    assert_eq!((body.events_extended.sem_wait_value, body.events_extended.sem_update_value), (12, 5));
    assert_eq!((body.events_extended.wait_idx, body.events_extended.update_idx), (Sem(3), Sem(7)));

    let mut out = Vec::new();
    let error =
        text::assemble(&b"NOP wait sem1>=2 upd sem2+=5"[..], &mut out, Generation::V3).expect_err("unequal");
    assert!(
        error.to_string().starts_with("line 1, column 22: wait for 2 and update by 5 do not fit"),
        "{error}"
    );
}

#[test]
fn the_checker_names_field_and_limit() {
    let base = tensor_scalar(Generation::V3).expect("it is valid");
    let with = |at: usize, bytes: &[u8]| {
        let mut word = base;
        word.0[at..at + bytes.len()].copy_from_slice(bytes);
        word
    };
    let one = |word, generation| {
        let found = faults(word, generation);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    let head = "word 7 (TensorScalarArith on v3)";
    assert_eq!(
        one(with(34, &[129]), Generation::V3),
        format!("{head}, num_active_channels at byte 34: 129 is outside 1 to 128")
    );
    assert_eq!(
        one(with(32, &[16]), Generation::V3),
        format!("{head}, in_dtype at byte 32: FP4_EXP2 (16) does not exist on this generation")
    );
    assert_eq!(
        one(with(36, &[77]), Generation::V3),
        format!("{head}, op0 at byte 36: 77 is no code of AluOp")
    );
    assert_eq!(
        one(with(26, &[0, 0]), Generation::V3),
        format!("{head}, src.num[0] at byte 26: 0 is outside 1 to 65535")
    );
    assert_eq!(
        one(with(12, &[3]), Generation::V3),
        format!("{head}, accumulator_cmd at byte 12: 3 stands where encoders write 0")
    );
    assert_eq!(one(with(14, &[3]), Generation::V3), format!("{head}: 1 reserved byte(s) are not 0"));
    let far = one(with(16, &[0, 0, 3, 0]), Generation::V2);
    assert!(
        far.ends_with("src.addr at byte 16: address 0x00030000: lies behind the end of the SBUF partition"),
        "{far}"
    );
    assert_eq!(faults(with(16, &[0, 0, 3, 0]), Generation::V3), [""; 0]);
    assert_eq!(
        one(with(19, &[0x80]), Generation::V3),
        format!("{head}, src.addr at byte 16: address 0x80004000: has bits beside the register number")
    );
    assert!(one(with(35, &[9]), Generation::V3).ends_with("imm0_src at byte 35: 9 is no code of ImmSrc"));
}

#[test]
fn words_that_belong_together_must_follow_each_other() {
    let word = |code: Opcode, byte: (usize, u8)| {
        let mut word = Word::ZERO;
        word.0[..2].copy_from_slice(&[code.0, 0x10]);
        word.0[byte.0] = byte.1;
        word
    };
    let order = |words: &[Word]| {
        let mut checker = check::StreamChecker::default();
        let mut findings = Vec::new();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
        tpb_isa::Stream::new(&bytes, Generation::V2).for_each(|word| checker.word(&word, &mut findings));
        checker.finish(&mut findings);
        findings.into_iter().map(|finding| finding.fault).collect::<Vec<_>>()
    };
    let direct = word(Opcode::PSEUDO_DMA_DIRECT2D, (15, 0));
    let indirect = word(Opcode::PSEUDO_DMA_DIRECT2D, (15, 1));
    let extension = word(Opcode::PSEUDO_EXTENSION, (1, 0));
    let nop = word(Opcode::NOP, (2, 0));
    assert_eq!(order(&[direct, nop, indirect, extension, nop]), []);
    assert_eq!(order(&[indirect, nop]), [Fault::MissingExtension]);
    assert_eq!(order(&[word(Opcode::PSEUDO_TRIGGER_COLLECTIVE2, (12, 0))]), [Fault::MissingExtension]);
    let header = word(Opcode::CUSTOM_OP_HEADER, (12, 3));
    let payload = word(Opcode::CUSTOM_OP_PAYLOAD, (15, 1));
    assert_eq!(order(&[header, payload, payload, nop]), []);
    assert_eq!(order(&[header, payload, nop]), [Fault::MissingPayload(1)]);
    assert_eq!(order(&[nop, payload]), [Fault::StrayPayload]);

    // The extension is read by what stands in front of it.
    let layout =
        |previous: Option<Opcode>| bind(&extension, Generation::V3, previous.map(|opcode| opcode.0)).layout;
    assert_eq!(layout(Some(Opcode::PSEUDO_DMA_DIRECT2D)), Layout::PseudoDmaExt);
    assert_eq!(layout(Some(Opcode::PSEUDO_TRIGGER_COLLECTIVE2)), Layout::TriggerCollective2Ext);
    assert_eq!(layout(Some(Opcode::NOP)), Layout::Opaque);
    assert!(decode(&extension, Generation::V3, None).notes.contains(tpb_isa::Notes::STRAY_EXTENSION));
}

#[test]
fn assembler_errors_say_where_and_what() {
    let error = |text: &str| {
        let mut out = Vec::new();
        text::assemble(text.as_bytes(), &mut out, Generation::V3).expect_err("it is wrong").to_string()
    };
    assert_eq!(error("NOP\n  Nope"), "line 2, column 3: unknown mnemonic \"Nope\"");
    assert_eq!(
        error("Matmul num_active_rows=300"),
        "line 1, column 24: num_active_rows is 300, but the field holds 0 to 255"
    );
    assert_eq!(
        error("Matmul src=SB(p200,0x0)[1:1]"),
        "line 1, column 12: src: expected an access pattern such as SB(p0,0x4000)[1:512], found \"SB(p200,0x0)[1:1]\""
    );
    assert!(error("Matmul quant_offset=1").starts_with(
        "line 1, column 8: Matmul (S3D3_MM.v3 on v3) has no field \"quant_offset\"; it has src, in_dtype"
    ));
    assert_eq!(error("NOP wait"), "line 1, column 9: wait: expected a semaphore or event, found \"\"");
    assert_eq!(error("NOP wait sem1>=1 wait sem2>=1"), "line 1, column 18: wait is given twice");
    assert_eq!(error("NOP wait2 sem1>=1"), "line 1, column 11: only EVENT_SEMAPHORE has a second wait");
    assert_eq!(
        error("NOP ; fine\nPSEUDO_EXTENSION"),
        "line 2, column 1: PSEUDO_EXTENSION cannot stand here: it must follow PSEUDO_DMA_DIRECT2D or PSEUDO_TRIGGER_COLLECTIVE2"
    );
    assert_eq!(error(".byte 01\nNOP"), "line 2, column 1: nothing can follow .byte: it ends the stream");
    assert_eq!(error("Matmul src=SB(p0,0x0)[1:1"), "line 1, column 22: unbalanced [");
    assert_eq!(error(".target v9"), "line 1, column 9: .target: expected v2, v3, v4 or v5, found \"v9\"");
    assert_eq!(error("NOP x"), "line 1, column 5: expected `name=value`, `wait ..` or `upd ..`, found \"x\"");
}

/// Instructions of several words: each sequence has opcodes that its instruction emits, and an extension never comes first.
#[test]
fn sequences_consist_of_words_that_may_follow_each_other() {
    for sequence in tpb_isa::SEQUENCES {
        let mut previous = None;
        for code in sequence.words {
            let row = opcode(code.0, previous)
                .unwrap_or_else(|| panic!("{sequence:?}: {code:?} cannot stand here"));
            let emitters = opcode(code.0, previous).map(|row| row.emitters);
            assert!(
                emitters.is_some_and(|emitters| emitters.contains(&sequence.instruction)),
                "{sequence:?}: {}",
                row.name
            );
            previous = Some(code.0);
        }
    }
    let prologue: Vec<_> = tpb_isa::build::prologue().map(|word| word.to_string()).to_vec();
    assert_eq!(prologue, [format!("b110{}", "0".repeat(124)), format!("cc10{}", "0".repeat(124))]);
}

#[test]
fn indirect_slots_are_built_and_checked() {
    let mut word = WordBuilder::new(Opcode::MATMUL, Generation::V4).expect("on v4");
    word.slot(Field::Src, &Slot::Indirect { index: Addr4(0x100), data: Addr4(0x4000), count: 64 })
        .expect("v4 takes it");
    word.slot(Field::Dst, &Slot::pattern(Addr4::psum(0, 0, 0).expect("bank 0"), &[(1, 64)]))
        .expect("it fits");
    let word = word.finish();
    assert_eq!(faults(word, Generation::V4), [""; 0]);
    let line = StreamWord::new(word, 0, Generation::V4, None);
    let mut text = Vec::new();
    text::put_line(&mut text, &line, &text::Options::default(), "");
    let text = String::from_utf8(text).expect("ASCII");
    assert!(
        text.contains("src=INDIRECT16B{index_addr=idx:SB(p0,0x100),data_addr=SB(p0,0x4000),num_elem=64}"),
        "{text}"
    );

    // The same bytes on v3, whose slots have one form.
    let found = faults(word, Generation::V3);
    assert!(
        found
            .iter()
            .any(|found| found
                .contains("src.addr at byte 16: address 0x20000100: the slot has no indirect form")),
        "{found:?}"
    );

    let error = WordBuilder::new(Opcode::MATMUL_MX, Generation::V4)
        .expect("on v4")
        .slot(Field::Src, &Slot::Indirect { index: Addr4(0), data: Addr4(0), count: 1 })
        .map(|_| ())
        .expect_err("MX slots have forms of their own");
    assert!(error.to_string().starts_with("MatmulMX (SMX1D3_MM on v4): src takes"), "{error}");
}
