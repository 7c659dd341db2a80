//! What is shown of single objects.

use bir::builder::Builder;
use bir::enums::{ArchLevel, EngineType, InstructionType, UpdateMode, WaitMode};
use bir::records::{SyncUpdate, SyncWait};
use bir::{Module, Op};
use bir_view::Paint;
use bir_view::find::{Subject, find};
use bir_view::show::{InstView, ShowOptions, Shown, show};

use crate::golden;

fn view(module: &Module, name: &str) -> InstView {
    let shown = show(module, &find(module, name)[..1], &ShowOptions { limit: 0 });
    match shown.into_iter().next().unwrap() {
        Shown::Instruction(view) => *view,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_every_kind_are_found() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let names = |pattern: &str| find(&module, pattern).len();
    assert_eq!((names("mm0_0_0"), names("Block1#3"), names("matmul_softmax/Block1#3")), (1, 1, 1));
    assert_eq!((names("mm0_?_0"), names("semaphore:5"), names("evt:5")), (4, 1, 1));
    assert_eq!((names("nothing"), names("Block1#99"), names("mm0_0_0@2"), names("mm0_0_0@1")), (0, 0, 0, 1));
    assert!(matches!(find(&module, "x_sb_0")[..], [Subject::Tensor(_)]), "a location stands for its tensor");
    assert!(matches!(find(&module, "qSPLoad")[..], [Subject::Queue(_)]));
}

/// Every wait of the sample names its producer, and counting finds the same one.
#[test]
fn counting_finds_the_producers() {
    let module = bir::sample::matmul_softmax(&bir::sample::Tiles { rows: 4, depth: 3, columns: 2 });
    let mut waits = 0;
    let subjects: Vec<Subject> = module.insts().map(Subject::Inst).collect();
    for shown in show(&module, &subjects, &ShowOptions { limit: 1 }) {
        let Shown::Instruction(view) = shown else { panic!() };
        for wait in &view.waits {
            waits += 1;
            assert_eq!(wait.producer.as_ref().map(|at| &at.instruction), wait.from.as_ref(), "{view:?}");
            assert!(wait.certain && wait.remark.is_none());
        }
    }
    assert!(waits > 50);
}

/// spec: ordering 14.5. Semaphore 7: +2, +3, wait 4, reset, +1, wait 1, -1, wait 1.
fn counts() -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    b.inst("two", EngineType::PE, Op::NoOp).adds(7, 2);
    b.inst("three", EngineType::PE, Op::NoOp).adds(7, 3);
    b.inst("four", EngineType::SP, Op::NoOp).waits(7, 4);
    let reset = bir::ops::GroupResetSemaphores { sema_group: vec![7], ..Default::default() };
    b.inst("reset", EngineType::ALL, reset);
    b.inst("one", EngineType::PE, Op::NoOp).increments(7);
    b.inst("again", EngineType::SP, Op::NoOp).waits(7, 1);
    b.inst("other", EngineType::DVE, Op::NoOp).increments(7);
    b.inst("late", EngineType::SP, Op::NoOp).waits(7, 2);
    b.inst("never", EngineType::SP, Op::NoOp).waits(7, 9);
    b.inst("nobody", EngineType::SP, Op::NoOp).waits(8, 1);
    let event = |mode| SyncUpdate {
        id: Some(3),
        update_value: Some(0),
        update_mode: mode,
        sync_type: bir::enums::SyncRefType::Event,
        target_core: None,
        ..Default::default()
    };
    let clear = || SyncWait {
        id: Some(3),
        wait_value: Some(0),
        wait_mode: WaitMode::EvtSetThenClear,
        sync_type: bir::enums::SyncRefType::Event,
        ..Default::default()
    };
    b.inst("set1", EngineType::PE, Op::NoOp).update(event(UpdateMode::EvtSet));
    b.inst("clear1", EngineType::SP, Op::NoOp).wait(clear());
    b.inst("set2", EngineType::PE, Op::NoOp).update(event(UpdateMode::EvtSet));
    b.inst("clear2", EngineType::SP, Op::NoOp).wait(clear());
    module
}

#[test]
fn waits_bind_to_the_update_that_they_need() {
    let module = counts();
    let producer = |name: &str| {
        let wait = view(&module, name).waits[0].clone();
        (wait.producer.map(|at| at.instruction), wait.certain)
    };
    assert_eq!(producer("four"), (Some("three".into()), true));
    assert_eq!(producer("again"), (Some("one".into()), true), "counted from the reset on");
    assert_eq!(producer("late"), (Some("other".into()), false), "two engines update it");
    assert_eq!(producer("clear1"), (Some("set1".into()), true));
    assert_eq!(producer("clear2"), (Some("set2".into()), true));
    assert_eq!(producer("never").0, None);
    assert!(view(&module, "nobody").waits[0].remark.as_ref().unwrap().contains("nothing in this block"));
    let three = &view(&module, "three").updates[0];
    assert_eq!((three.count, three.waiters.items[0].instruction.as_str()), (Some(5), "four"));
}

/// What only waits, just before an instruction on its engine, waits in its place.
#[test]
fn waits_of_helpers_are_those_of_the_instruction() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    b.inst("one", EngineType::PE, Op::NoOp).adds(7, 1).adds(8, 1).adds(9, 1);
    b.plain_inst("far", EngineType::SP, InstructionType::EventSemaphore).waits(9, 1);
    b.inst("between", EngineType::SP, Op::NoOp);
    b.plain_inst("helper", EngineType::SP, InstructionType::EventSemaphore).waits(8, 1);
    b.inst("elsewhere", EngineType::PE, Op::NoOp);
    b.inst("two", EngineType::SP, Op::NoOp).waits(7, 1);
    let waits = view(&module, "two").waits;
    let of = |at: usize| (waits[at].id, waits[at].through.as_deref());
    assert_eq!(waits.len(), 2);
    assert_eq!((of(0), of(1)), ((Some(8), Some("helper")), (Some(7), None)));
    assert_eq!(view(&module, "helper").waits.len(), 1);
}

/// After a reset that does not say which semaphores, no count is known.
#[test]
fn an_unknown_reset_leaves_counts_unknown() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    b.inst("add", EngineType::PE, Op::NoOp).adds(7, 2);
    b.inst("reset", EngineType::ALL, bir::ops::GroupResetSemaphores::default());
    b.inst("wait", EngineType::SP, Op::NoOp).waits(7, 1);
    let wait = &view(&module, "wait").waits[0];
    assert!(wait.producer.is_none() && wait.remark.as_ref().unwrap().contains("not known"), "{wait:?}");
}

#[test]
fn dependencies_have_a_reason() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let view = view(&module, "load_x1_0");
    let of = |kind: &str| view.depends_on.items.iter().find(|dependency| dependency.edge == kind).unwrap();
    assert_eq!(of("Anti").because[0].bytes, "x_sb_1: SB[0..128) x bytes [20736..20992)");
    assert_eq!((&*of("Anti").because[0].first, &*of("Anti").because[0].second), ("ins[1]", "outs[0]"));
    assert_eq!(view.dependents.total, 2);
}

#[test]
fn the_text() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let mut text = String::new();
    for name in ["mm0_1_0", "load_w", "load_w_dma", "w_sb0_0", "semaphore:24", "qSPWeights", "exp0_0"] {
        for shown in show(&module, &find(&module, name), &ShowOptions::default()) {
            text += &format!("{}\n", shown.text(Paint::PLAIN));
        }
    }
    golden("show.txt", &text);
    assert!(text.lines().all(|line| line.chars().count() <= 130), "lines stay readable");
}
