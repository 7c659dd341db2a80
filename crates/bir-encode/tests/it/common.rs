//! Small modules, and their words.

use bir::Module;
use bir::builder::{Access, Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype};
use bir_encode::{Options, Program, encode};
use tpb_isa::{Decoded, Engine, Generation, Word, decode};

pub(crate) fn arch(generation: Generation) -> ArchLevel {
    match generation {
        Generation::V2 => ArchLevel::Sunda,
        Generation::V3 => ArchLevel::Gen3,
        _ => ArchLevel::CoreV4,
    }
}

/// A module with one function.
pub(crate) fn module(generation: Generation, fill: impl FnOnce(&mut Builder<'_>)) -> Module {
    let mut module = Module::new(arch(generation));
    let mut builder = Builder::new(&mut module, "main");
    fill(&mut builder);
    module
}

/// The words of a module that is encoded without errors.
pub(crate) fn program(module: &Module, options: &Options) -> Program {
    let program = encode(module, options).unwrap();
    let errors: Vec<String> = program.errors.iter().map(|error| error.describe(module)).collect();
    assert_eq!(errors, [""; 0]);
    program
}

/// The words of an engine.
pub(crate) fn words(
    generation: Generation,
    engine: Engine,
    fill: impl FnOnce(&mut Builder<'_>),
) -> Vec<Word> {
    program(&module(generation, fill), &Options::default()).stream(engine).words.clone()
}

/// The errors of a module, as people see them.
pub(crate) fn errors(generation: Generation, fill: impl FnOnce(&mut Builder<'_>)) -> Vec<String> {
    let module = module(generation, fill);
    let program = encode(&module, &Options::default()).unwrap();
    program.errors.iter().map(|error| error.describe(&module)).collect()
}

/// Words taken apart. Every one of them encodes to itself and has nothing that its layout does not explain.
pub(crate) fn decoded(words: &[Word], generation: Generation) -> Vec<Decoded> {
    let mut previous = None;
    let decode_one = |word: &Word| {
        let decoded = decode(word, generation, previous.as_ref());
        assert_eq!(decoded.encode(), *word);
        assert!(decoded.notes.is_empty(), "{:?} of {word}", decoded.notes);
        previous = Some(*word);
        decoded
    };
    words.iter().map(decode_one).collect()
}

/// A tensor of 128 partitions in SB.
pub(crate) fn sb(b: &mut Builder<'_>, name: &str, columns: u64, dtype: Dtype, addr: u64) -> Tensor {
    b.tensor(NewTensor::sb(name, [128, columns], dtype).at(addr))
}

/// A tensor of 128 partitions in a bank of PSUM.
pub(crate) fn psum(b: &mut Builder<'_>, name: &str, columns: u64, dtype: Dtype, bank: i64) -> Tensor {
    b.tensor(NewTensor::psum(name, [128, columns], dtype).bank(bank))
}

/// Some partitions and columns of a tensor.
pub(crate) fn part(tensor: Tensor, partitions: u64, columns: u64) -> Access {
    tensor.tile(0..partitions, 0..columns)
}
