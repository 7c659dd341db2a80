//! Small modules, and their words.

use std::collections::BTreeSet;

use bir::builder::{Access, Builder, NewTensor, Tensor};
use bir::enums::{ArchLevel, Dtype};
use bir::{Argument, Module};
use bir_encode::{Options, Program, encode};
use tpb_isa::layout::Kind;
use tpb_isa::{Addr4, Decoded, Engine, Generation, Stream, Word, decode};

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

/// All byte addresses of elements in the first partition of an access, and the bytes of an element.
pub(crate) fn touched(module: &Module, argument: &Argument) -> Option<Vec<u32>> {
    let Argument::PhysicalAp(arg) = argument else { return None };
    let location = &module[arg.memref?.id()?];
    let size = u64::from(arg.dtype?.size_bytes()?);
    if arg.dynamic_ap_info.is_some() {
        return None;
    }
    let ap = arg.ap.as_ref()?;
    // The outermost step goes from partition to partition.
    let (partition, column) = match ap.iter().next()?.step.unsigned_abs() {
        0 => (0, arg.offset),
        row => (arg.offset / row, arg.offset % row),
    };
    let partition = partition + u64::from(location.base);
    let base = match location.r#type {
        bir::enums::MemoryType::SB => partition << 18,
        bir::enums::MemoryType::PSUM => (1 << 25) + (partition << 15) + ((location.bank as u64) << 11),
        _ => return None,
    };
    let start = (base + location.addr + column * size) as i64;
    let dims: Vec<(i64, i64)> = ap.iter().skip(1).map(|pair| (pair.step, pair.num)).collect();
    Some(walk(start, size as i64, &dims))
}

/// Sorted, each once.
fn walk(start: i64, size: i64, dims: &[(i64, i64)]) -> Vec<u32> {
    let mut all = vec![start];
    for (step, count) in dims {
        all = (0..*count).flat_map(|k| all.iter().map(move |at| at + k * step * size)).collect();
    }
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|at| at as u32).collect()
}

/// Address, and steps and counts, innermost first.
type Slot = (u32, Vec<(i64, i64)>);

/// What words touch: the starts and dimensions of slots, and plain addresses.
#[derive(Debug)]
pub(crate) struct Places {
    slots: Vec<Slot>,
    plain: BTreeSet<u32>,
}

impl Places {
    pub(crate) fn of(words: &[Word], generation: Generation) -> Places {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
        let (mut slots, mut plain) = (Vec::new(), BTreeSet::new());
        for word in Stream::new(&bytes, generation) {
            for field in word.binding().layout.info().fields {
                let at = field.at as usize;
                let u32_at = |at: usize| u32::from_le_bytes(word.word.0[at..at + 4].try_into().unwrap());
                let info = match field.kind {
                    Kind::Struct(info) => info,
                    Kind::Union(union) if Addr4(u32_at(at)).is_indirect() => union.indirect,
                    Kind::Union(union) => union.direct,
                    _ => {
                        if field.bytes == 4 {
                            plain.insert(u32_at(at));
                        }
                        continue;
                    }
                };
                let dimensions = info.name.strip_prefix("TENSOR").and_then(|name| name.strip_suffix('D'));
                let Some(count) = dimensions.map(|count| count.parse::<usize>().unwrap()) else {
                    for inner in info.fields.iter().filter(|inner| inner.bytes == 4) {
                        plain.insert(u32_at(at + inner.at as usize) & !Addr4::INDIRECT);
                    }
                    continue;
                };
                let number = |at: usize| i16::from_le_bytes(word.word.0[at..at + 2].try_into().unwrap());
                let dims = (0..count).map(|i| {
                    let (step, num) = (number(at + 4 + 2 * i), number(at + 4 + 2 * (count + i)));
                    (i64::from(step), i64::from(num as u16))
                });
                slots.push((u32_at(at), dims.collect()));
            }
        }
        Places { slots, plain }
    }

    /// Whether an operand is in the words: element for element as a slot, or its start as a plain address.
    pub(crate) fn have(&self, elements: &[u32], size: u32) -> bool {
        let first = *elements.first().unwrap();
        let is_slot = |(addr, dims): &Slot| walk(i64::from(*addr), size.into(), dims) == *elements;
        self.slots.iter().any(is_slot)
            || self.plain.contains(&first)
            || self.plain.contains(&(first & 0xFF83_FFFF))
    }
}
