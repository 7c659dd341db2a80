//! The text dump: what it prints, and that it says the same after a round trip. spec: dumper 9

use bir::builder::Builder;
use bir::enums::{ArchLevel, EngineType, InstructionType};
use bir::{Module, Op, OpenEnum};
use bir_json::WriteOptions;
use bir_view::dump::{Around, DumpError, DumpOptions, Scope, dump, to_string};
use bir_view::find::find_insts;
use proptest::prelude::*;

use crate::arbitrary::{build, plan};
use crate::{golden, parse, read};

/// Everything that can be printed.
fn full() -> DumpOptions {
    DumpOptions {
        edges: true,
        debug: true,
        loops: true,
        predicates: true,
        queues: true,
        ..DumpOptions::default()
    }
}

#[track_caller]
fn text(module: &Module, options: &DumpOptions) -> String {
    to_string(module, options).unwrap()
}

/// The dump of what a writer makes of a module is the dump of the module.
#[track_caller]
fn survives(module: &Module) -> String {
    let once = text(module, &full());
    let written = bir_json::to_string(module, &WriteOptions::default());
    let again = text(&parse(written.as_bytes()), &full());
    assert_eq!(once, again);
    once
}

#[test]
fn main_comes_first_inside_the_module() {
    let module = read("tests/data/dump/order.json");
    golden("dump/order.txt", &survives(&module));
    let text = text(&module, &DumpOptions::default());
    let place = |line: &str| text.lines().position(|other| other.trim() == line).expect(line);
    let end = place("end module module");
    assert!(place("end function main") < end);
    assert!(end < place("function a: function") && place("end function a") < place("function b: function"));
    assert!(text.contains("      third: 3: PE, NoOp\n"), "an engine number above 0 is said");
}

#[test]
fn without_main_the_module_closes_at_once() {
    let mut module = Module::new(ArchLevel::Gen3);
    Builder::new(&mut module, "f").inst("i", EngineType::SP, Op::NoOp);
    let expected = "module module: arch=gen3, version=2\nend module module\nfunction f: function\n  block Block1:\n    \
                    i: SP, NoOp\n  end block Block1\nend function f\n";
    assert_eq!(text(&module, &DumpOptions::default()), expected);
}

#[test]
fn loops_nest() {
    golden("dump/loops.txt", &survives(&read("tests/data/dump/loops.json")));
}

#[test]
fn versions_and_unknown_names() {
    let module = read("tests/data/dump/versions.json");
    golden("dump/versions.txt", &survives(&module));
    let dumped = dump(&module, &mut Vec::new(), &DumpOptions::default()).unwrap();
    assert_eq!(dumped.unknown, [("FutureOp".to_owned(), 1), ("MatmultSymbolic".to_owned(), 1)]);
    assert_eq!(dumped.instructions, 7);
}

#[test]
fn queues_are_an_option() {
    let module = bir::sample::matmul_softmax(&Default::default());
    golden("dump/queues.txt", &survives(&module));
    let short = text(&module, &DumpOptions::default());
    assert!(!short.contains("queue qSPWeights") && short.contains("queue=\"qSPWeights\""));
}

/// Every op of the table, with an operand and at its defaults.
#[test]
fn every_opcode_once() {
    let insts = InstructionType::ALL.iter().map(|op| {
        let name = op.name().unwrap();
        format!(
            r#"{{"name": "i{}", "opcode": "{name}", "engine": "SP",
                "ins": [{{"kind": "imm_value", "dtype": "float32", "value": 0.5}}]}}"#,
            op.ordinal().unwrap()
        )
    });
    let insts: Vec<String> = insts.collect();
    let document = format!(
        r#"{{"version": 2, "arch": "gen3", "functions": [{{"name": "main", "blocks": [{{"name": "b", "instructions": [{}]}}]}}]}}"#,
        insts.join(",")
    );
    let text = survives(&parse(document.as_bytes()));
    for op in InstructionType::ALL {
        let line = format!(" i{}: SP, {}", op.ordinal().unwrap(), op.name().unwrap());
        assert_eq!(text.matches(&format!("{line},")).count(), 1, "{line}");
    }
    golden("dump/opcodes.txt", &text);
}

/// spec: dumper 7
#[test]
fn a_number_beyond_the_table_is_an_error_after_the_header() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    b.inst("fine", EngineType::SP, Op::NoOp);
    let opcode = b.name("110");
    b.inst("bad", EngineType::PE, Op::Other(opcode));
    let mut out = Vec::new();
    let error = dump(&module, &mut out, &DumpOptions::default()).unwrap_err();
    let DumpError::UnknownOpcode { function, block, index, opcode } = &error else { panic!("{error}") };
    assert_eq!((&**function, &**block, *index, *opcode), ("main", "Block1", 1, 110));
    assert!(
        error.to_string().contains("157")
            && error.to_string().contains("Unknown Instruction type encountered!")
    );
    assert!(String::from_utf8(out).unwrap().ends_with("fine: SP, NoOp\n      bad: PE, 110"));
}

#[test]
fn a_part_of_a_module() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let scope = |scope| text(&module, &DumpOptions { scope, ..DumpOptions::default() });
    let activation = scope(Scope::of_engine(EngineType::Activation));
    let lines: Vec<&str> = activation.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| line.contains(": Activation, ")), "{activation}");
    assert!(!scope(Scope { block: Some("Other*".into()), ..Scope::default() }).contains("block"));
    let insts = find_insts(&module, "mm1_0_0");
    let around = scope(Scope { around: Some(Around { insts, neighbours: 1 }), ..Scope::default() });
    let names: Vec<&str> =
        around.lines().filter_map(|line| line.trim().split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(names[2..], ["load_x1_0", "mm1_0_0", "load_x1_1"]);
    assert_eq!(around.matches("instructions not shown").count(), 2);
}

/// A loop is shown when something in it is, and only then.
#[test]
fn parts_keep_what_is_around_them() {
    let module = read("tests/data/dump/loops.json");
    let shown =
        text(&module, &DumpOptions { scope: Scope::of_engine(EngineType::DVE), ..DumpOptions::default() });
    assert!(shown.contains("L0: ") && shown.contains("end L2") && !shown.contains("after"), "{shown}");
    let shown =
        text(&module, &DumpOptions { scope: Scope::of_engine(EngineType::PE), ..DumpOptions::default() });
    assert_eq!(shown, "module module: arch=gen3, version=2\nend module module\n");
}

#[test]
fn json_lines_hold_the_same_text() {
    let module = read("tests/data/dump/loops.json");
    let json = text(&module, &DumpOptions { json: true, ..full() });
    let lines = json.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let depth = line["depth"].as_u64().unwrap() as usize;
        format!("{}{}\n", "  ".repeat(depth), line["text"].as_str().unwrap())
    });
    assert_eq!(lines.collect::<String>(), text(&module, &full()));
}

/// A thousand loops in each other are no matter of the stack.
#[test]
fn any_depth_is_walked() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut block = Builder::new(&mut module, "main").block();
    for _ in 0..1000 {
        let mut inner = block;
        Builder::at(&mut module, block).for_loop("l", "i", 0..1, 1, |b, _| inner = b.block());
        block = inner;
    }
    let mut sink = std::io::sink();
    assert_eq!(dump(&module, &mut sink, &DumpOptions::default()).unwrap().instructions, 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48)
    ))]

    #[test]
    fn any_module_survives(plan in plan()) {
        let module = build(&plan, true, false);
        // A module may hold opcodes that are numbers by chance.
        if text_of(&module).is_ok() {
            survives(&module);
        }
    }
}

fn text_of(module: &Module) -> Result<String, DumpError> {
    to_string(module, &full())
}
