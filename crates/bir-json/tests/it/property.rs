//! Properties of reading and writing that hold for every module that can be built.
use crate::arbitrary::{build, plan, v1};
use crate::common::read_by_threads;
use bir::builder::Builder;
use bir::edges::{EdgeKind, UnrollEdge};
use bir::enums::{ArchLevel, EngineType};
use bir::{Extra, Module, Op, Value, same};
use bir_json::{ReadOptions, Style, Unresolved, WriteOptions};
use proptest::prelude::*;

const KEEP: ReadOptions = ReadOptions { unresolved: Unresolved::Keep, strict: false, threads: 1, piece: 0 };

fn text(module: &Module) -> String {
    bir_json::to_string(module, &WriteOptions::default())
}

#[track_caller]
fn read(text: &str, options: &ReadOptions) -> Module {
    match read_by_threads(text.as_bytes(), options) {
        Ok(loaded) => loaded.module,
        Err(error) => panic!("{}\n{text}", error.located(text.as_bytes())),
    }
}

/// Writing and reading gives the same module, and the same text again, in both layouts.
#[track_caller]
fn survives(module: &Module, options: &ReadOptions) {
    assert_eq!(module.check_links(), []);
    let once = text(module);
    let again = read(&once, options);
    if let Err(difference) = same(module, &again) {
        panic!("{difference}\n{once}");
    }
    assert_eq!(text(&again), once);
    let compact = WriteOptions { style: Style::Compact, ..WriteOptions::default() };
    let compact = read(&bir_json::to_string(module, &compact), options);
    if let Err(difference) = same(&again, &compact) {
        panic!("{difference}\n{once}");
    }
}

/// A document as a value in which the order of dependencies does not matter.
fn unordered(value: &Value) -> Value {
    match value {
        Value::List(list) => Value::List(list.iter().map(unordered).collect()),
        Value::Object(members) => {
            let member = |(key, value): &(Box<str>, Value)| {
                let mut value = unordered(value);
                if let (true, Value::List(list)) = (key.ends_with("dependencies"), &mut value) {
                    list.sort_by_key(|entry| format!("{entry:?}"));
                }
                (key.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn a_built_module_survives(plan in plan()) {
        survives(&build(&plan, false, false), &ReadOptions::default());
    }

    #[test]
    fn a_module_with_names_that_nothing_has_survives(plan in plan()) {
        survives(&build(&plan, true, false), &KEEP);
    }

    /// Read from its version 1 form, a module is the one that its version 2 form gives.
    #[test]
    fn a_version_1_document_equals_its_twin(plan in plan()) {
        let module = build(&plan, false, true);
        let v2 = text(&module);
        let v1 = v1::twin(&bir_json::parse_value(v2.as_bytes()).unwrap());
        let v1 = bir_json::value_to_string(&v1);
        let (from_v1, from_v2) = (read(&v1, &ReadOptions::default()), read(&v2, &ReadOptions::default()));
        if let Err(difference) = same(&from_v1, &from_v2) {
            panic!("{difference}\n{v1}");
        }
        prop_assert_eq!(text(&from_v1), v2);
    }

    /// Two modules are the same exactly when their documents say the same.
    #[test]
    fn modules_differ_when_their_documents_do(plan in plan(), at in any::<usize>()) {
        let Some(other) = plan.nudged(at) else { return Ok(()) };
        let (left, right) = (build(&plan, false, false), build(&other, false, false));
        let values = [&left, &right].map(|m| bir_json::parse_value(text(m).as_bytes()).unwrap());
        let says_the_same = unordered(&values[0]) == unordered(&values[1]);
        match (same(&left, &right), says_the_same) {
            (Err(difference), true) => panic!("{difference}\n{}", text(&left)),
            (Ok(()), false) => panic!("no difference is found\n{}\n{}", text(&left), text(&right)),
            _ => {}
        }
    }
}

#[test]
fn the_samples_survive() {
    for rows in 1..4 {
        let tiles = bir::sample::Tiles { rows, depth: 3, columns: rows };
        survives(
            &bir::sample::matmul_softmax(&tiles),
            &ReadOptions { strict: true, ..ReadOptions::default() },
        );
    }
    survives(&bir::sample::pre_lowering(), &ReadOptions { strict: true, ..ReadOptions::default() });
}

/// An unknown member of an expression is kept even when it is null.
#[test]
fn a_null_in_an_expression_is_kept() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let order = b.constant(1);
    b.inst("a", EngineType::SP, Op::NoOp).with(|inst| inst.rare_mut().order.push(order));
    let mut extra = Extra::default();
    extra.insert("later", Value::Null);
    module.exprs.set_extra(order, extra);
    survives(&module, &ReadOptions::default());
}

/// Only the keys of an op look names up in its queue; the dependencies of the same instruction do not.
#[test]
fn a_trigger_depends_on_instructions() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let queue = b.queue("q", &[]);
    let first = b.inst("first", EngineType::SP, Op::NoOp).id();
    let edge = UnrollEdge {
        target: first.into(),
        kind: EdgeKind::FLOW,
        exprs: Vec::new(),
        predicates: Vec::new(),
        extras: Vec::new(),
    };
    let dma = b.dma("dma", EngineType::SP, queue).done();
    b.edit(dma.trigger).with(|inst| inst.rare_mut().unroll_dependencies.push(edge));
    survives(&module, &ReadOptions::default());
}
