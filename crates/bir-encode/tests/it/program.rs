//! Whole programs: streams, owners, clones on all engines, branches, waits, kernels.

use bir::builder::{Builder, NewTensor};
use bir::enums::{BranchCompareOp, Dtype, EngineType, EventSemaphoreClearMode, InstructionType};
use bir::ops::{
    CompareAndBranch, GroupResetSemaphores, InlineASMBytes, Matmult, Memset, SwitchQueueInstance,
    UnconditionalBranch,
};
use bir_encode::{Options, branch_target, check, collect, encode};
use tpb_isa::{Body, BranchCompareOp as Compare, Engine, Generation, Word};

use crate::common::{decoded, errors, module, program, psum, sb, words};

const V3: Generation = Generation::V3;

#[test]
fn an_instruction_on_all_engines_is_in_every_stream() {
    let module = module(V3, |b| {
        b.plain_inst("barrier", EngineType::ALL, InstructionType::AllEngineBarrier)
            .waits(200, 5)
            .adds(200, 1);
        b.plain_inst("n", EngineType::DVE, InstructionType::NoOp);
        b.plain_inst("ret", EngineType::ALL, InstructionType::Return);
    });
    let program = program(&module, &Options::default());
    for engine in Engine::ALL {
        let stream = program.stream(engine);
        let opcodes: Vec<u8> = stream.words.iter().map(Word::opcode).collect();
        // Return stands on the engines that are used.
        let expected: &[u8] = if engine == Engine::DVE { &[0xD5, 0xA4, 0xD2] } else { &[0xD5] };
        assert_eq!(opcodes, expected, "{engine}");
        assert_eq!(stream.words[0].0[4..12], [0x05, 200, 0x13, 200, 5, 0, 0, 0]);
    }
}

#[test]
fn waits_beyond_the_first_go_to_words_in_front() {
    let words = words(V3, Engine::DVE, |b| {
        let x = sb(b, "x", 8, Dtype::Float32, 0);
        let set = b.inst("set", EngineType::DVE, Memset::default()).output(x.all());
        [(9, 1), (40, 2), (7, 3), (30, 4)].into_iter().fold(set, |set, (id, count)| set.waits(id, count));
    });
    let waits: Vec<Vec<(u32, u32)>> = decoded(&words, V3)
        .iter()
        .map(|word| {
            let own = word.preamble.and_then(|preamble| preamble.wait()).map(|wait| (wait.id, wait.value));
            let second = match word.body {
                Body::CtrlEs(body) if body.events_extended.wait_mode.0 != 0 => {
                    Some((body.events_extended.wait_idx.0.into(), body.events_extended.sem_wait_value))
                }
                _ => None,
            };
            own.into_iter().chain(second).collect()
        })
        .collect();
    // Ids fall; the least is that of the instruction.
    assert_eq!(waits, [vec![(40, 2), (30, 4)], vec![(9, 1)], vec![(7, 3)]]);
}

#[test]
fn an_event_semaphore_holds_two_waits_and_an_update_of_another_value() {
    let words = words(V3, Engine::SP, |b| {
        b.plain_inst("es", EngineType::SP, InstructionType::EventSemaphore)
            .waits(1, 2)
            .waits(3, 4)
            .adds(5, 6);
    });
    assert_eq!(words[0].0[4..12], [5, 1, 0, 0, 2, 0, 0, 0]);
    assert_eq!(words[0].0[32..44], [5, 3, 0x15, 5, 4, 0, 0, 0, 6, 0, 0, 0]);
}

#[test]
fn branches_go_to_the_first_word_of_a_block_in_their_own_stream() {
    let module = module(V3, |b| {
        let first = b.block();
        let (body, end) = (b.new_block("body"), b.new_block("end"));
        let i = b.register("i", EngineType::SP);
        b.go_to(first);
        b.plain_inst("a", EngineType::SP, InstructionType::NoOp);
        b.plain_inst("b", EngineType::DVE, InstructionType::NoOp);
        // The next block follows anyway.
        b.inst(
            "fall",
            EngineType::SP,
            UnconditionalBranch { target: Some(body.into()), ..Default::default() },
        );
        b.go_to(body);
        b.plain_inst("c", EngineType::SP, InstructionType::NoOp);
        let back = CompareAndBranch {
            comp_op: BranchCompareOp::IsLtimm,
            on_true: Some(end.into()),
            on_false: Some(body.into()),
            ..Default::default()
        };
        let compare = bir::builder::Operand::register(i, Dtype::Int32);
        b.inst("loop", EngineType::SP, back).input(compare).input(10);
        b.go_to(end);
        b.plain_inst("d", EngineType::SP, InstructionType::NoOp);
        b.inst(
            "again",
            EngineType::SP,
            UnconditionalBranch { target: Some(first.into()), ..Default::default() },
        );
    });
    let program = program(&module, &Options::default());
    let sp = decoded(&program.stream(Engine::SP).words, V3);
    let branches: Vec<_> = sp
        .iter()
        .enumerate()
        .filter_map(|(at, word)| match word.body {
            Body::CtrlBr(body) => Some((at, body.cmp_op, body.cmp_immediate, body.br_immediate)),
            _ => None,
        })
        .collect();
    // `on_true` is next, so the condition is turned round and the branch goes to `on_false`.
    assert_eq!(
        branches,
        [
            (2, Compare::from_bir("IS_GEIMM", V3).unwrap(), 10, branch_target(1)),
            (4, Compare(0), 0, branch_target(0))
        ]
    );
    // The words that open a stream count.
    let options = Options { prologue: true, ..Options::default() };
    let with = encode(&module, &options).unwrap();
    let last = *with.stream(Engine::SP).words.last().unwrap();
    assert_eq!(last.0[48], 2);
    assert_eq!(with.stream(Engine::PE).words.len(), 2);
    assert_eq!(with.stream(Engine::PE).owners, [None, None]);
}

#[test]
fn a_branch_that_leads_nowhere_near() {
    let texts = errors(V3, |b| {
        let far = b.new_block("far");
        let other = b.new_block("other");
        let i = b.register("i", EngineType::SP);
        let op =
            CompareAndBranch { on_true: Some(far.into()), on_false: Some(far.into()), ..Default::default() };
        b.go_to(other);
        b.inst("br", EngineType::SP, op).input(bir::builder::Operand::register(i, Dtype::Int32)).input(0);
    });
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("one edge of a conditional branch must lead to the next block"), "{texts:?}");
}

/// Engines differ in where their blocks begin.
#[test]
fn a_branch_on_all_engines_goes_to_the_block_in_each_stream() {
    let module = module(V3, |b| {
        let first = b.block();
        let (body, end) = (b.new_block("body"), b.new_block("end"));
        let i = b.register("i", EngineType::ALL);
        let counter = || bir::builder::Operand::register(i, Dtype::Int32);
        b.go_to(first);
        b.plain_inst("a", EngineType::DVE, InstructionType::NoOp);
        b.plain_inst("b", EngineType::DVE, InstructionType::NoOp);
        b.plain_inst("c", EngineType::SP, InstructionType::NoOp);
        // The next block follows anyway.
        let fall = UnconditionalBranch { target: Some(body.into()), ..Default::default() };
        b.inst("fall", EngineType::ALL, fall);
        b.go_to(body);
        b.plain_inst("d", EngineType::SP, InstructionType::NoOp);
        let back = CompareAndBranch {
            comp_op: BranchCompareOp::IsLtimm,
            on_true: Some(body.into()),
            on_false: Some(end.into()),
            ..Default::default()
        };
        b.inst("loop", EngineType::ALL, back).input(counter()).input(10);
        b.go_to(end);
        b.plain_inst("ret", EngineType::ALL, InstructionType::Return);
    });
    let program = program(&module, &Options::default());
    let branch = |engine| {
        let words = &program.stream(engine).words;
        let mut branches = words.iter().enumerate().filter(|(_, word)| word.opcode() == 0xA9);
        let (at, word) = branches.next().unwrap();
        assert!(branches.next().is_none());
        let Body::CtrlBr(body) = decoded(&[*word], V3)[0].body else { panic!("{word}") };
        (at, body.br_immediate)
    };
    assert_eq!(branch(Engine::DVE), (2, branch_target(2)));
    assert_eq!(branch(Engine::SP), (2, branch_target(1)));
    assert_eq!(branch(Engine::PE), (0, branch_target(0)));
    assert_eq!(collect(&module, &Options::default()).unwrap().errors, []);
}

#[test]
fn inline_words_are_copied_and_take_a_wait_where_they_have_none() {
    let nop = Word::from_hex("a410").unwrap();
    let bytes: Vec<u8> = [nop.0, nop.0].concat();
    let inline = |bytes: Vec<u8>| InlineASMBytes { asm_bytes: Some(bytes), ..Default::default() };
    let words = words(V3, Engine::Pool, |b| {
        b.inst("asm", EngineType::Pool, inline(bytes.clone()));
        b.inst("synced", EngineType::Pool, inline(bytes.clone())).waits(3, 7).adds(4, 1);
    });
    assert_eq!(words[..2], [nop, nop]);
    assert_eq!(words[2], Word::from_hex("a4100000 05030000 07").unwrap());
    assert_eq!(words[3], Word::from_hex("a4100000 00001304").unwrap());
    let texts = errors(V3, |b| {
        b.inst("short", EngineType::Pool, inline(vec![0; 65]));
        b.inst("twice", EngineType::Pool, inline(words[2].0.to_vec())).waits(3, 7);
    });
    assert!(texts[0].contains("65 bytes, which is no positive multiple of 64"), "{texts:?}");
    assert!(texts[1].contains("has a wait or an update of its own already"), "{texts:?}");
}

#[test]
fn groups_of_semaphores_are_cleared_by_range_or_by_mask() {
    let group =
        |mode, ids: &[u32]| GroupResetSemaphores { mode, sema_group: ids.to_vec(), ..Default::default() };
    let words = words(V3, Engine::SP, |b| {
        b.inst("r", EngineType::SP, group(EventSemaphoreClearMode::SemaphoreZero, &[5, 3, 4]));
        b.inst("m", EngineType::SP, group(EventSemaphoreClearMode::SemaphoreZeroBitmask, &[0, 33, 255]));
    });
    assert_eq!(words[0].0[12..15], [1, 3, 5]);
    assert_eq!(words[1].0[12..15], [2, 0, 0]);
    assert_eq!((words[1].0[32], words[1].0[36], words[1].0[63]), (1, 2, 0x80));
    let texts = errors(V3, |b| {
        b.inst("hole", EngineType::SP, group(EventSemaphoreClearMode::SemaphoreZero, &[3, 5]));
        b.inst("none", EngineType::SP, group(EventSemaphoreClearMode::SemaphoreZero, &[]));
        b.inst("twice", EngineType::SP, group(EventSemaphoreClearMode::SemaphoreZero, &[3, 3]));
    });
    assert!(texts[0].contains("clears semaphores 3 to 5, but 4 is not in the group"), "{texts:?}");
    assert!(texts[1].contains("empty") && texts[2].contains("twice"), "{texts:?}");
}

#[test]
fn equal_weights_are_loaded_once_when_asked_for() {
    let module = module(V3, |b| {
        let (w, v) = (sb(b, "w", 128, Dtype::Bfloat16, 0x1000), sb(b, "v", 128, Dtype::Bfloat16, 0x2000));
        let x = sb(b, "x", 512, Dtype::Bfloat16, 0x4000);
        let out = psum(b, "acc", 512, Dtype::Float32, 0);
        for (i, weights) in [w, w, v, v].into_iter().enumerate() {
            let op = Matmult { accumulation_flag: 3.into(), ..Matmult::default() };
            b.inst(&format!("mm{i}"), EngineType::PE, op)
                .input(x.all())
                .input(weights.all())
                .output(out.all())
                .waits(7, 1);
        }
    });
    let opcodes = |reuse_weights| {
        let options = Options { reuse_weights, ..Options::default() };
        let words = program(&module, &options).stream(Engine::PE).words.clone();
        // The wait is on the first word of each instruction, whichever that is.
        words.iter().map(|word| (word.opcode(), word.0[4])).collect::<Vec<_>>()
    };
    assert_eq!(opcodes(false), [(1, 5), (2, 0)].repeat(4));
    assert_eq!(opcodes(true), [(1, 5), (2, 0), (2, 5)].repeat(2));
}

#[test]
fn a_trigger_names_the_queue_instance_and_the_block() {
    let words = words(V3, Engine::SP, |b| {
        let queue = b.queue("qSP", &[8]);
        let (x, y) = (
            b.tensor(NewTensor::dram("x", [128, 8], Dtype::Float32).input()),
            sb(b, "y", 8, Dtype::Float32, 0),
        );
        b.dma("t", EngineType::SP, queue).copy(x.all(), y.all()).completes(8).done();
        let name = b.name("second");
        let other = b.module().add_block(bir::records::Block { name, ..Default::default() });
        let switch = SwitchQueueInstance {
            queue: Some(queue.into()),
            instance: Some(other.into()),
            no_rearm: true.into(),
            ..Default::default()
        };
        b.inst("switch", EngineType::SP, switch);
        b.dma("u", EngineType::SP, queue).copy(x.all(), y.all()).completes(8).done();
    });
    assert_eq!(words.iter().map(Word::opcode).collect::<Vec<_>>(), [0xC1, 0xCF, 0xC1]);
    assert!(words[0].0[12..].starts_with(b"qSP\0"));
    assert!(words[1].0[12..].starts_with(b"second\0"));
    assert_eq!((words[1].0[59], words[1].0[60]), (1, 1));
    assert!(words[2].0[12..].starts_with(b"second\0"));
}

/// Kernels of every generation, as the generator of test modules makes them.
#[test]
fn generated_kernels_and_the_sample_are_encoded_whole() {
    let kernels = [
        (Generation::V2, include_bytes!("../data/trn1.json").as_slice()),
        (Generation::V3, include_bytes!("../data/trn2.json")),
        (Generation::V4, include_bytes!("../data/trn3.json")),
    ];
    for (generation, text) in kernels {
        let loaded = bir_json::read(text, &bir_json::ReadOptions::default()).unwrap();
        let program = program(&loaded.module, &Options::default());
        assert_eq!(program.generation, generation);
        let mut owners: Vec<_> =
            program.streams.iter().flat_map(|stream| stream.owners.iter().flatten()).collect();
        for stream in &program.streams {
            decoded(&stream.words, generation);
            assert_eq!(stream.owners.len(), stream.words.len());
        }
        owners.sort_unstable();
        owners.dedup();
        let functions = loaded.module.functions().map(bir::Holder::Function);
        assert_eq!(owners.len(), functions.map(|f| loaded.module.insts_of(f).count()).sum::<usize>());
        assert_eq!(check(&loaded.module, &Options::default()).unwrap(), []);
        counted(&loaded.module);
    }
    let sample = bir::sample::matmul_softmax(&Default::default());
    program(&sample, &Options::default());
    assert_eq!(check(&sample, &Options::default()).unwrap(), []);
    counted(&sample);
}

/// Collecting says what is then made.
fn counted(module: &bir::Module) {
    let options = Options { prologue: true, ..Options::default() };
    let (collected, made) = (collect(module, &options).unwrap(), encode(module, &options).unwrap());
    assert_eq!(collected.errors, []);
    for stream in &made.streams {
        let mut counts = std::collections::BTreeMap::new();
        stream.words.iter().for_each(|word| *counts.entry(word.opcode()).or_insert(0u64) += 1);
        assert_eq!(collected.opcodes[stream.engine as usize], counts, "{}", stream.engine);
    }
}

#[test]
fn a_word_on_the_wrong_engine_is_a_warning() {
    let module = module(V3, |b| {
        let x = sb(b, "x", 8, Dtype::Float32, 0);
        b.inst("set", EngineType::PE, Memset::default()).output(x.all());
    });
    let findings = check(&module, &Options::default()).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!((&*findings[0].code, findings[0].severity), ("WIRE-03", bir::diag::Severity::Warning));
    assert_eq!(findings[0].message, "Memset is a word of DVE or Pool, not of PE");
    let module = crate::common::module(V3, |b: &mut Builder<'_>| {
        b.plain_inst("r", EngineType::DVE, InstructionType::Reciprocal);
    });
    let findings = check(&module, &Options::default()).unwrap();
    assert_eq!((&*findings[0].code, findings[0].severity), ("WIRE-06", bir::diag::Severity::Error));
}
