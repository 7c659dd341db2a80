//! Differences: none of a module with itself, exactly the mutation of a mutation, and the same both ways.

use std::collections::{BTreeMap, BTreeSet};

use bir::edges::{Edge, EdgeKind};
use bir::enums::{Dtype, EngineType, NamedObjectOrigin};
use bir::ids::InstId;
use bir::{Argument, Module, Op, Value};
use bir_json::WriteOptions;
use bir_view::Paint;
use bir_view::diff::{Change, ChangeKind, Diff, DiffOptions, Object, diff};
use bir_view::find::find_insts;
use proptest::prelude::*;

use crate::arbitrary::{build, plan};
use crate::faults::{FAULTS, Fault};
use crate::{golden, parse, read};

fn sample() -> Module {
    bir::sample::matmul_softmax(&Default::default())
}

fn compare(left: &Module, right: &Module) -> Diff {
    diff(left, right, &DiffOptions::default())
}

/// The changes as they are in the other direction.
fn swapped(changes: &[Change]) -> Vec<Change> {
    let swap = |change: &Change| {
        let mut change = change.clone();
        std::mem::swap(&mut change.left, &mut change.right);
        change.change = match change.change {
            ChangeKind::Added => ChangeKind::Removed,
            ChangeKind::Removed => ChangeKind::Added,
            other => other,
        };
        for field in &mut change.fields {
            std::mem::swap(&mut field.left, &mut field.right);
            if field.field == "opcode" {
                change.opcode.clone_from(&field.left);
            }
        }
        if let Some(spot) = change.left.as_ref().or(change.right.as_ref()) {
            change.name.clone_from(&spot.name);
        }
        change.fields.sort();
        change
    };
    let mut all: Vec<Change> = changes.iter().map(swap).collect();
    all.sort();
    all
}

fn sorted(changes: &[Change]) -> Vec<Change> {
    let mut all = changes.to_vec();
    all.iter_mut().for_each(|change| change.fields.sort());
    all.sort();
    all
}

#[track_caller]
fn is_symmetric(left: &Module, right: &Module) -> Diff {
    let (there, back) = (compare(left, right), compare(right, left));
    assert_eq!(swapped(&there.changes), sorted(&back.changes));
    there
}

fn inst(module: &Module, name: &str) -> InstId {
    find_insts(module, name)[0]
}

fn physical<'m>(module: &'m mut Module, name: &str, input: usize) -> &'m mut bir::records::PhysicalAp {
    let id = inst(module, name);
    match &mut module[id].ins[input] {
        Argument::PhysicalAp(arg) => arg,
        other => panic!("{other:?}"),
    }
}

fn block_of(module: &Module, inst: InstId) -> (bir::ids::BlockId, usize) {
    let block = module[inst].block;
    (block, module[block].instructions.iter().position(|other| *other == inst).unwrap())
}

/// A mutation, the object that changes, and the fields.
type Mutation = (&'static str, fn(&mut Module), ChangeKind, Object, &'static [&'static str]);

const CATALOGUE: &[Mutation] = &[
    (
        "mm0_1_0",
        |m| physical(m, "mm0_1_0", 0).offset += 4,
        ChangeKind::Changed,
        Object::Instruction,
        &["ins[0].offset"],
    ),
    (
        "mm0_1_0",
        |m| physical(m, "mm0_1_0", 1).dtype = Some(Dtype::Float16),
        ChangeKind::Changed,
        Object::Instruction,
        &["ins[1].dtype"],
    ),
    (
        "mm1_0_0",
        |m| physical(m, "mm1_0_0", 0).ap = Some([(512, 64), (1, 512)].into()),
        ChangeKind::Changed,
        Object::Instruction,
        &["ins[0].ap"],
    ),
    (
        "mm1_2_0",
        |m| {
            let id = inst(m, "mm1_2_0");
            let Op::Matmult(op) = &mut m[id].op else { panic!() };
            op.is_transpose = true.into();
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["is_transpose"],
    ),
    (
        "exp0_0",
        |m| {
            let id = inst(m, "exp0_0");
            m[id].engine = EngineType::Pool;
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["engine"],
    ),
    (
        "mm0_0_0",
        |m| {
            let (id, on) = (inst(m, "mm0_0_0"), inst(m, "load_x0_0"));
            assert!(m[id].dependencies.remove(Edge::new(on, EdgeKind::FLOW)));
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["dependencies"],
    ),
    (
        "store1",
        |m| {
            let (id, on) = (inst(m, "store1"), inst(m, "load_x0_0"));
            m[id].dependencies.insert(Edge::new(on, EdgeKind::ORDERED));
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["dependencies"],
    ),
    (
        "load_x1_0",
        |m| {
            let id = inst(m, "load_x1_0");
            m[id].sync_info.as_mut().unwrap().on_wait[0].wait_value = Some(3);
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["sync_info.on_wait[0].wait_value"],
    ),
    (
        "load_x1_0",
        |m| {
            let id = inst(m, "load_x1_0");
            m[id].sync_info.as_mut().unwrap().on_wait.clear();
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["sync_info.on_wait[0].from", "sync_info.on_wait[0].id", "sync_info.on_wait[0].wait_value"],
    ),
    (
        "peak0",
        |m| {
            let id = inst(m, "peak0");
            m[id].debug.as_mut().unwrap().lineno = Some(99);
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["debug.lineno"],
    ),
    (
        "peak0",
        |m| {
            let id = inst(m, "peak0");
            (m[id].scheduled_start, m[id].scheduled_end) = (5, 9);
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["scheduled_end", "scheduled_start"],
    ),
    (
        "peak0",
        |m| {
            let id = inst(m, "peak0");
            m[id].rare_mut().extra.insert("hint", Value::Uint(1));
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["hint"],
    ),
    (
        "peak1",
        |m| {
            let id = inst(m, "peak1");
            m[id].op = Op::Reciprocal;
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["op", "opcode"],
    ),
    (
        "total1",
        |m| {
            let id = inst(m, "total1");
            m[id].name = m.names.intern("sum1");
        },
        ChangeKind::Changed,
        Object::Instruction,
        &["name"],
    ),
    (
        "final",
        |m| {
            let (block, at) = block_of(m, inst(m, "final"));
            m[block].instructions.remove(at);
        },
        ChangeKind::Removed,
        Object::Instruction,
        &[],
    ),
    (
        "extra",
        |m| {
            let block = m[inst(m, "final")].block;
            bir::builder::Builder::at(m, block).inst("extra", EngineType::SP, Op::NoOp);
        },
        ChangeKind::Added,
        Object::Instruction,
        &[],
    ),
    (
        "load_x0_3",
        |m| {
            let (block, at) = block_of(m, inst(m, "load_x0_3"));
            let id = m[block].instructions.remove(at);
            m[block].instructions.insert(at - 3, id);
        },
        ChangeKind::Moved,
        Object::Instruction,
        &[],
    ),
    (
        "x_sb_1",
        |m| {
            let sym = m.names.intern("x_sb_1");
            let loc = m.loc_ids().find(|loc| m[*loc].name == sym).unwrap();
            m[loc].addr += 64;
        },
        ChangeKind::Changed,
        Object::Location,
        &["addr"],
    ),
    (
        "module",
        |m| {
            m.root.attributes.insert("neff_feature_x", Value::Bool(true));
        },
        ChangeKind::Changed,
        Object::Module,
        &["attributes.neff_feature_x"],
    ),
    (
        "qSPLoad",
        |m| {
            let queue = m.queues().nth(1).unwrap();
            m[queue].semaphores.pop();
        },
        ChangeKind::Changed,
        Object::Queue,
        &["semaphores"],
    ),
    (
        "Block1",
        |m| {
            let function = m.functions().next().unwrap();
            let block = m[function].blocks[0];
            m[block].origin = NamedObjectOrigin::Other(m.names.intern("Elsewhere"));
        },
        ChangeKind::Changed,
        Object::Block,
        &["origin"],
    ),
];

#[test]
fn a_mutation_is_all_there_is() {
    let before = sample();
    for (at, (name, mutate, kind, object, fields)) in CATALOGUE.iter().enumerate() {
        let mut after = before.clone();
        mutate(&mut after);
        let found = is_symmetric(&before, &after);
        let [change] = &found.changes[..] else { panic!("{at} {name}: {:#?}", found.changes) };
        assert_eq!((&*change.name, change.change, change.object), (*name, *kind, *object), "{at}");
        let mut said: Vec<&str> = change.fields.iter().map(|field| &*field.field).collect();
        said.sort_unstable();
        assert_eq!(said, *fields, "{at} {name}");
        assert!(!found.text(false, Paint::PLAIN).is_empty());
    }
}

/// Paths of the leaves of a document, with their values, by the object that they belong to.
type Leaves = BTreeMap<(Object, String), BTreeMap<String, serde_json::Value>>;

fn leaves(module: &Module) -> Leaves {
    let text = bir_json::to_string(module, &WriteOptions::default());
    let mut found = Leaves::new();
    let root = serde_json::from_str(&text).unwrap();
    walk(&root, &(Object::Module, "module".into()), String::new(), &mut found);
    found
}

fn walk(value: &serde_json::Value, owner: &(Object, String), path: String, found: &mut Leaves) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                let object = match &**key {
                    "functions" => Some(Object::Function),
                    "queues" => Some(Object::Queue),
                    "allocations" => Some(Object::Tensor),
                    "memorylocations" => Some(Object::Location),
                    "blocks" => Some(Object::Block),
                    "instructions" => Some(Object::Instruction),
                    _ => None,
                };
                match (object, value) {
                    (Some(object), serde_json::Value::Array(list)) => {
                        for value in list {
                            let name = value["name"].as_str().unwrap_or_default();
                            walk(value, &(object, name.to_owned()), String::new(), found);
                        }
                    }
                    _ if path.is_empty() => walk(value, owner, key.clone(), found),
                    _ => walk(value, owner, format!("{path}.{key}"), found),
                }
            }
        }
        serde_json::Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                walk(value, owner, format!("{path}[{at}]"), found);
            }
        }
        leaf => _ = found.entry(owner.clone()).or_default().insert(path, leaf.clone()),
    }
}

/// Whether values differ; a key that is not there has its default, which is nothing for all that change here.
fn differ(a: Option<&serde_json::Value>, b: Option<&serde_json::Value>) -> bool {
    let is_nothing = |value: &serde_json::Value| {
        value.is_null()
            || value.as_f64() == Some(0.0)
            || value.as_bool() == Some(false)
            || value.as_str() == Some("")
    };
    match (a, b) {
        (Some(only), None) | (None, Some(only)) => !is_nothing(only),
        _ => a != b,
    }
}

/// The faults of the rules: what differs is what differs in the two documents, leaf by leaf.
#[test]
fn a_fault_is_all_there_is() {
    let before = sample();
    let left = leaves(&before);
    for Fault(what, rules, make) in FAULTS {
        let mut after = before.clone();
        make(&mut after);
        let found = is_symmetric(&before, &after);
        let right = leaves(&after);
        let none = BTreeMap::new();
        let of = |leaves: &'_ Leaves, object| leaves.get(object).unwrap_or(&none).clone();
        let objects: BTreeSet<_> = left.keys().chain(right.keys()).collect();
        // By object, the leaves that differ, and whether they must be told.
        let mut wanted = BTreeMap::new();
        for object in objects {
            let (a, b) = (of(&left, object), of(&right, object));
            let paths = a.keys().chain(b.keys()).filter(|path| a.get(*path) != b.get(*path));
            // Another op has other keys; which of them are at their default, the document does not say.
            let other_op = a.get("opcode") != b.get("opcode");
            let is_key = |path: &str| a.contains_key(path) != b.contains_key(path) && !path.contains('[');
            let must = |path: &String| differ(a.get(path), b.get(path)) && !(other_op && is_key(path));
            let paths: BTreeMap<String, bool> = paths.map(|path| (path.clone(), must(path))).collect();
            if paths.values().any(|must| *must) {
                wanted.insert(object.clone(), paths);
            }
        }
        let context = format!("{what} {rules:?}: {:#?} {wanted:#?}", found.changes);
        let said: BTreeSet<_> =
            found.changes.iter().map(|change| (change.object, change.name.clone())).collect();
        assert_eq!(said, wanted.keys().cloned().collect(), "{context}");
        for change in found.changes.iter().filter(|change| change.change == ChangeKind::Changed) {
            let paths = &wanted[&(change.object, change.name.clone())];
            let covers = |field: &str, path: &str| {
                path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let tells = |path: &str| change.fields.iter().any(|f| covers(&f.field, path));
            assert!(
                change.fields.iter().all(|f| paths.keys().any(|path| covers(&f.field, path))),
                "{context}"
            );
            assert!(paths.iter().all(|(path, must)| !must || tells(path)), "{context}");
        }
    }
}

#[test]
fn a_module_equals_itself() {
    for module in [sample(), bir::sample::pre_lowering(), read("tests/data/program.json")] {
        assert_eq!(compare(&module, &module).changes, []);
        assert_eq!(compare(&module, &module).text(false, Paint::PLAIN), "");
    }
}

/// A directory of artefacts, and how the text was encoded, say nothing of the program.
#[test]
fn some_things_are_no_difference() {
    let before = sample();
    let mut after = before.clone();
    after.root.artifact_path = after.names.intern("/elsewhere");
    after.root.version = Some(1);
    let id = inst(&after, "mm0_0_0");
    (after[id].scheduled_start, after[id].scheduled_end) = (1, 2);
    // The order of dependencies, and a key that stands there with its default.
    let edges: Vec<Edge> = after[id].dependencies.iter().collect();
    after[id].dependencies = edges.into_iter().rev().collect();
    let quiet = diff(&before, &after, &DiffOptions { ignore_schedule: true });
    assert_eq!(quiet.changes, []);
    assert_eq!(compare(&before, &after).changes.len(), 1);
}

/// A new compile: one more instruction in front, and every name counted anew.
#[test]
fn names_that_were_counted_anew_are_not_compared() {
    let count = |module: &mut Module, first: usize| {
        for (at, id) in module.insts().collect::<Vec<_>>().into_iter().enumerate() {
            module[id].name = module.names.intern(&format!("I-{}", first + at));
            if let Some(sync) = &mut module[id].sync_info {
                sync.on_wait.iter_mut().for_each(|wait| wait.from = None);
            }
        }
    };
    let (mut before, mut after) = (sample(), sample());
    let block = after[inst(&after, "final")].block;
    let new = bir::builder::Builder::at(&mut after, block).inst("new", EngineType::SP, Op::NoOp).id();
    after[block].instructions.pop();
    after[block].instructions.insert(0, new);
    physical(&mut after, "mm1_1_0", 0).offset = 2;
    count(&mut before, 0);
    count(&mut after, 0);
    let found = is_symmetric(&before, &after);
    assert_eq!(found.summary.names_ignored, before.insts().count() as u64);
    let said: Vec<_> = found.changes.iter().filter(|change| change.object == Object::Instruction).collect();
    let kinds: Vec<ChangeKind> = said.iter().map(|change| change.change).collect();
    let of_function = |change: &&&Change| {
        change.left.as_ref().or(change.right.as_ref()).unwrap().function == "matmul_softmax"
    };
    let here: Vec<_> = said.iter().filter(of_function).collect();
    assert_eq!(here.len(), 2, "{kinds:?} {said:#?}");
    assert_eq!(here[0].change, ChangeKind::Added);
    assert_eq!(here[1].fields[0].field, "ins[0].offset");
}

#[test]
fn the_text() {
    let before = read("tests/data/program.json");
    let mut after = before.clone();
    let mm = inst(&after, "mm");
    after[mm].outs.clear();
    after[mm].engine_id = 2;
    let (block, at) = block_of(&after, inst(&after, "back"));
    let back = after[block].instructions.remove(at);
    after[block].instructions.insert(0, back);
    let (block, at) = block_of(&after, inst(&after, "again"));
    after[block].instructions.remove(at);
    let found = is_symmetric(&before, &after);
    golden("diff.txt", &found.text(false, Paint::PLAIN));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32)
    ))]

    #[test]
    fn reading_back_is_no_difference(plan in plan()) {
        let module = build(&plan, true, false);
        let again = parse(bir_json::to_string(&module, &WriteOptions::default()).as_bytes());
        prop_assert_eq!(compare(&module, &module).changes, vec![]);
        prop_assert_eq!(compare(&module, &again).changes, vec![]);
    }

    #[test]
    fn any_two_modules_differ_alike_both_ways(left in plan(), right in plan()) {
        is_symmetric(&build(&left, true, false), &build(&right, true, false));
    }

    /// Instructions in any order, some missing.
    #[test]
    fn any_order_differs_alike_both_ways(order in prop::collection::vec(any::<u32>(), 36), keep in any::<u64>()) {
        let before = sample();
        let mut after = before.clone();
        let block = after[inst(&after, "final")].block;
        let mut insts: Vec<_> = after[block].instructions.iter().copied().enumerate().collect();
        insts.sort_by_key(|(at, _)| order.get(*at).copied().unwrap_or(0) % 16);
        insts.retain(|(at, _)| keep >> (at % 64) & 3 != 0);
        after[block].instructions.clear();
        after[block].instructions.extend(insts.iter().map(|(_, inst)| *inst));
        let found = is_symmetric(&before, &after);
        let gone = found.changes.iter().filter(|change| change.change == ChangeKind::Removed).count();
        prop_assert_eq!(gone, 36 - insts.len());
    }
}
