//! ALLOC-05 over a function: tiles may take turns in a place, and may not write over what is still to be read.

use bir::builder::{Builder, NewTensor, Operand, Tensor};
use bir::enums::{ArchLevel, BranchCompareOp, Dtype, EngineType, InstructionType};
use bir::{ImmNumber, Module, ops};
use bir_verify::{Options, verify};

/// What a program does to two tiles that share bytes, and a third one.
type Program = fn(&mut Builder<'_>, [Tensor; 3]);

fn copy(b: &mut Builder<'_>, name: &str, from: Tensor, to: Tensor) {
    b.plain_inst(name, EngineType::DVE, InstructionType::TensorCopy).input(from).output(to);
}

fn fill(b: &mut Builder<'_>, name: &str, tile: Tensor) {
    b.inst(name, EngineType::Pool, ops::Memset::default()).output(tile);
}

const LOST: &[(&str, Program)] = &[
    ("written over before it is read", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        fill(b, "over", y);
        copy(b, "read", x, z);
    }),
    ("a transfer writes over it", |b, [x, y, z]| {
        let d = b.tensor(NewTensor::dram("d", [128, 16], Dtype::Float32).at(0));
        let queue = b.queue("q", &[8]);
        fill(b, "fill_x", x);
        b.dma("over", EngineType::SP, queue).copy(d, y).done();
        copy(b, "read", x, z);
    }),
    ("a transfer still reads it", |b, [x, y, _]| {
        let d = b.tensor(NewTensor::dram("d", [128, 16], Dtype::Float32).at(0));
        let queue = b.queue("q", &[8]);
        fill(b, "fill_x", x);
        fill(b, "over", y);
        b.dma("read", EngineType::SP, queue).copy(x, d).done();
    }),
    ("the next iteration reads it", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        b.for_loop("loop", "i", 0..4, 1, |b, _| {
            copy(b, "read", x, z);
            fill(b, "over", y);
        });
    }),
    ("in a block behind", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        let next = b.new_block("next");
        b.jump("go", EngineType::Pool, next);
        b.go_to(next);
        fill(b, "over", y);
        copy(b, "read", x, z);
    }),
];

const TURNS: &[(&str, Program)] = &[
    ("one after the other", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        copy(b, "read_x", x, z);
        fill(b, "fill_y", y);
        copy(b, "read_y", y, z);
        fill(b, "again", x);
        copy(b, "read_again", x, z);
    }),
    ("from the one to the other", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        copy(b, "move", x, y);
        copy(b, "read", y, z);
    }),
    ("each iteration anew", |b, [x, y, z]| {
        b.for_loop("loop", "i", 0..4, 1, |b, _| {
            fill(b, "fill_x", x);
            copy(b, "read_x", x, z);
            fill(b, "fill_y", y);
            copy(b, "read_y", y, z);
        });
    }),
    ("a loop of one iteration", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        b.for_loop("loop", "i", 0..1, 1, |b, _| {
            copy(b, "read", x, z);
            fill(b, "over", y);
        });
    }),
    ("only the bytes that it has alone", |b, [x, y, z]| {
        fill(b, "fill_x", x);
        fill(b, "over", y);
        let to = z.tile(.., 0..4);
        b.plain_inst("read", EngineType::DVE, InstructionType::TensorCopy).input(x.tile(.., 0..4)).output(to);
    }),
    ("on either side of a branch", |b, [x, y, z]| {
        let (on_true, on_false) = (b.new_block("on_true"), b.new_block("on_false"));
        fill(b, "fill_x", x);
        let n = Operand::register(b.register("n", EngineType::Pool), Dtype::Int32);
        let four = Operand::imm(Dtype::Int32, ImmNumber::Unsigned(4));
        b.branch("which", EngineType::Pool, (n, BranchCompareOp::IsLtimm, four), on_true, on_false);
        b.go_to(on_true);
        fill(b, "fill_y", y);
        b.plain_inst("return", EngineType::Pool, InstructionType::Return);
        b.go_to(on_false);
        copy(b, "read", x, z);
    }),
];

/// Messages of the rule about a program whose tiles share bytes.
fn messages(program: Program) -> Vec<String> {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let tile =
        |b: &mut Builder<'_>, name: &str, at| b.tensor(NewTensor::sb(name, [128, 16], Dtype::Float32).at(at));
    let tiles = [tile(&mut b, "x", 0), tile(&mut b, "y", 32), tile(&mut b, "z", 4096)];
    program(&mut b, tiles);
    let found = verify(&module, &Options::default()).findings;
    found
        .iter()
        .filter(|finding| finding.code == "ALLOC-05")
        .map(|finding| {
            let inst = finding.place.inst().map_or("", |inst| module.str(module[inst].name));
            format!("{inst}: {}", finding.message)
        })
        .collect()
}

#[test]
fn what_is_written_over_is_not_read() {
    for (what, program) in LOST {
        let found = messages(*program);
        let [only] = &found[..] else { panic!("{what}: {found:?}") };
        assert!(only.starts_with("over"), "{what}: {only}");
        assert!(only.contains("writes {y}@SB<0,32>(128x64) over {x}@SB<0,0>(128x64)"), "{what}: {only}");
        assert!(only.contains("which fill_x wrote and read"), "{what}: {only}");
    }
}

#[test]
fn tiles_take_turns() {
    for (what, program) in TURNS {
        let found = messages(*program);
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}
