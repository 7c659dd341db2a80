//! Values made up: of any type from a string of bytes, for tests; and long kernels, for measurements.

use std::io;

use crate::arena::Arena;
use crate::cbor::Writer;
use crate::checks::Checked;
use crate::container::{CONTENTS_TAG, SELECT, Selected};
use crate::ir::{
    self, APPair, Access, Address, BirAccessPattern, Dtype, Engine, Immediate, Memory, Operand, Operator,
    Pos, Shape, Stmt, TensorHbm, TensorName, TensorRef, TensorSram,
};
use crate::node::{Failed, Float, Length, Node, Prop, Real, Sink, Source, TypeInfo, Typed};
use crate::{File, Tree, TypeEntry};

/// Where values that contain themselves stop doing so.
const DEPTH: usize = 40;

/// Makes a value of a type: `choices` decides on everything, and the value ends soon after them. Numbers, texts and
/// floats of all classes occur, among them the largest, NUL and NaN payloads. The same choices make the same value.
///
/// ```
/// let arena = klr::Arena::new();
/// let entry = klr::find_type("Operator").expect("the schema has operators");
/// let value = klr::made::any(entry, &[69, 5, 1, 0, 7], &arena);
/// assert_eq!(value.info().name, "Operator");
/// assert_eq!(klr::encode_tree(value)[..4], [0xD9, 0xDA, 69, 0x81]);
/// ```
#[must_use]
pub fn any<'a>(entry: &TypeEntry, choices: &[u8], arena: &'a Arena) -> &'a dyn Tree<'a> {
    let mut maker = Maker { choices, arena, depth: 0 };
    (entry.read)(&mut maker).expect("a maker does not fail")
}

/// A source that makes its values up.
struct Maker<'c, 'a> {
    choices: &'c [u8],
    arena: &'a Arena,
    depth: usize,
}

impl Maker<'_, '_> {
    fn byte(&mut self) -> u8 {
        match self.choices.split_first() {
            Some((byte, rest)) => {
                self.choices = rest;
                *byte
            }
            None => 0,
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn small(&self) -> bool {
        self.depth > DEPTH || self.choices.is_empty()
    }
}

impl<'a> Source<'a> for Maker<'_, 'a> {
    fn arena(&self) -> &'a Arena {
        self.arena
    }

    fn record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed> {
        Ok(!ty.ctors[0].added.is_empty() && self.byte() & 1 == 1)
    }

    fn union(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        // The first constructor of every union ends soon.
        let choice = usize::from(self.byte());
        Ok(if self.depth > DEPTH { 0 } else { choice % ty.ctors.len() })
    }

    fn enumeration(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        Ok(usize::from(self.byte()) % ty.ctors.len())
    }

    fn close(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    fn field(&mut self, _name: &'static str) -> Result<(), Failed> {
        Ok(())
    }

    fn nat(&mut self) -> Result<u64, Failed> {
        Ok(match self.byte() % 8 {
            0..4 => u64::from(self.byte() & 31),
            4 => u64::from(self.byte()),
            5 => u64::from(u16::from_be_bytes(self.bytes())),
            6 => u64::from(u32::from_be_bytes(self.bytes())),
            _ => match self.byte() {
                0..128 => u64::from_be_bytes(self.bytes()),
                128..192 => u64::MAX,
                _ => 1 << (self.byte() & 63),
            },
        })
    }

    fn int(&mut self) -> Result<i64, Failed> {
        let negative = self.byte() & 1 == 1;
        let value = (self.nat()? & i64::MAX as u64) as i64;
        Ok(if negative { !value } else { value })
    }

    fn float(&mut self) -> Result<Float, Failed> {
        Ok(match self.byte() % 8 {
            0..3 => Float::from(f32::from(self.byte()) / 4.0),
            3 => Float::from(-f32::INFINITY),
            4 => Float { bits: 0xFF80_0000 | u32::from_be_bytes(self.bytes()) },
            5 => Float::from(-0.0),
            _ => Float { bits: u32::from_be_bytes(self.bytes()) },
        })
    }

    fn real(&mut self) -> Result<Real, Failed> {
        Ok(match self.byte() % 4 {
            0 | 1 => Real::F32(self.float()?),
            2 => Real::F64(f64::from(self.byte()).sqrt().to_bits()),
            _ => Real::F64(u64::from_be_bytes(self.bytes())),
        })
    }

    fn boolean(&mut self) -> Result<bool, Failed> {
        Ok(self.byte() & 1 == 1)
    }

    fn text(&mut self) -> Result<&'a str, Failed> {
        const CHARS: [char; 16] =
            ['a', 'b', 't', '_', '.', '0', '9', ' ', '"', '\'', '\\', '\n', '\0', '{', 'é', '\u{1F600}'];
        let length = match self.byte() {
            long @ 248.. => usize::from(long - 247) * 50,
            short => usize::from(short % 12),
        };
        let text: String = (0..length).map(|_| CHARS[usize::from(self.byte() & 15)]).collect();
        Ok(self.arena.text(&text))
    }

    fn prop(&mut self) {}

    fn option(&mut self) -> Result<bool, Failed> {
        Ok(!self.small() && self.byte() & 1 == 1)
    }

    fn list(&mut self, _min: usize) -> Result<Length, Failed> {
        let count = match self.byte() {
            long @ 250.. => usize::from(long - 249) * 8,
            short => usize::from(short % 4),
        };
        Ok(Length::Fits(if self.small() { 0 } else { count }))
    }

    fn pair(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    fn item(&mut self, _index: usize, _min: usize) {}

    fn end_list(&mut self) {}

    fn descend(&mut self) -> Result<(), Failed> {
        self.depth += 1;
        Ok(())
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn select(&mut self) -> Result<Selected<'a>, Failed> {
        Ok(Selected::Row(&SELECT[usize::from(self.byte()) % SELECT.len()]))
    }

    fn checked(&mut self, _value: Checked<'_>) {}
}

/// Writes a file with an `LncKernel` for one core: blocks of a thousand statements of mixed operators, about 160 bytes
/// each. It is written as it is made. Returns the number of bytes.
///
/// # Errors
/// Those of the stream.
pub fn write_kernel(instructions: usize, seed: u64, stream: &mut dyn io::Write) -> io::Result<u64> {
    const BLOCK: usize = 1000;
    /// Tensors in use at a time; one is replaced every four instructions.
    const LIVE: usize = 64;
    let mut dice = Dice(seed);
    let mut writer = Writer::new();
    let mut written = 0;
    let mut flush = |writer: &mut Writer| {
        written += writer.as_bytes().len() as u64;
        stream.write_all(writer.as_bytes())?;
        writer.clear();
        io::Result::Ok(())
    };

    // The parts of the file up to the statements, as the Sink calls that writing them whole would make.
    let file = File::new(crate::Contents::call_site(""));
    file.header.write(&mut writer);
    file.metadata.write(&mut writer);
    let lnc = SELECT.iter().find(|row| row.contents == "lnc").expect("the table has lnc");
    debug_assert_eq!(CONTENTS_TAG, 236);
    writer.select(lnc);
    writer.record(ir::LncKernel::INFO, false);
    "measured".write(&mut writer);
    let mut arena = Arena::new();
    let (input, output) = (tensor(&mut dice, 0, &arena), tensor(&mut dice, 1, &arena));
    [input].as_slice().write(&mut writer);
    [output].as_slice().write(&mut writer);
    writer.list(1);
    writer.list(instructions.div_ceil(BLOCK));
    for start in (0..instructions).step_by(BLOCK) {
        let count = BLOCK.min(instructions - start);
        writer.record(ir::Block::INFO, false);
        format!("bb{}", start / BLOCK).as_str().write(&mut writer);
        false.write(&mut writer);
        writer.list(count);
        let mut live: Vec<&TensorName<'_>> =
            (0..LIVE).map(|at| arena.alloc(tensor(&mut dice, at, &arena))).collect();
        for index in start..start + count {
            if index % 4 == 0 {
                let at = dice.roll(LIVE as u64) as usize;
                live[at] = arena.alloc(tensor(&mut dice, index, &arena));
            }
            statement(&mut dice, index, &live, &arena).write(&mut writer);
        }
        flush(&mut writer)?;
        arena = Arena::new();
    }
    let empty: [&[u64]; 3] = [&[]; 3];
    for list in empty {
        list.write(&mut writer);
    }
    flush(&mut writer)?;
    drop(arena);
    Ok(written)
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize]
    }
}

const NAMES: [&str; 8] = ["a", "t42", "psum_tile", "x.3", "weights_0", "acc", "q_proj_out", "tensor_1187"];
const DTYPES: [Dtype; 4] = [Dtype::Float32, Dtype::Bfloat16, Dtype::Int32, Dtype::Float8e4];
const ENGINES: [Engine; 4] = [Engine::Act, Engine::Dve, Engine::Pe, Engine::Pool];

fn tensor<'a>(dice: &mut Dice, number: usize, arena: &'a Arena) -> TensorName<'a> {
    const DIMS: [&[u64]; 3] = [&[512], &[16, 128], &[2048]];
    let free_dims = DIMS[number % DIMS.len()];
    let free_elements = free_dims.iter().product();
    let dtype = dice.pick(&DTYPES);
    let name = arena.text(&format!("{}_{number}", dice.pick(&NAMES)));
    TensorName {
        name,
        dtype,
        shape: Shape { par_dim: 128, free_dims },
        address: Address {
            name,
            memory: dice.pick(&[Memory::Sbuf, Memory::Psum, Memory::Hbm]),
            par_size: 128,
            free_size: free_elements * dtype.bytes(),
            par_offset: Some(0),
            free_offset: (dice.roll(2) == 0).then(|| dice.roll(96) * 64),
            is_shared: false,
        },
        free_elements,
        par_wf: Prop,
        free_wf: Prop,
        address_rotation: false,
    }
}

fn reference<'a>(dice: &mut Dice, live: &[&'a TensorName<'a>], arena: &'a Arena) -> TensorRef<'a> {
    const PATTERN: &[APPair] =
        &[APPair { step: 512, num: 128, offset: 0 }, APPair { step: 1, num: 512, offset: 0 }];
    match dice.roll(20) {
        0..7 => TensorRef::Abstract(Access::BirPattern(arena.alloc(BirAccessPattern {
            tensor: dice.pick(live),
            offset: dice.roll(4) * 512,
            pattern: PATTERN,
            scalar_offset: None,
            vector_offset: None,
            indirect_dim: 0,
            dtype_override: None,
        }))),
        7..11 => TensorRef::Abstract(Access::Simple(dice.pick(live))),
        11..16 => TensorRef::Sbuf(arena.alloc(TensorSram {
            name: dice.pick(&NAMES),
            dtype: dice.pick(&DTYPES),
            par_num: 128,
            pattern: PATTERN,
            par_offset: 0,
            free_offset: dice.roll(3000),
        })),
        16..19 => TensorRef::Hbm(arena.alloc(TensorHbm {
            name: dice.pick(&NAMES),
            dtype: dice.pick(&DTYPES),
            address: dice.roll(1 << 30),
            dims: PATTERN,
        })),
        _ => TensorRef::Reg(dice.roll(64)),
    }
}

fn operator<'a>(dice: &mut Dice, live: &[&'a TensorName<'a>], arena: &'a Arena) -> Operator<'a> {
    let dst = reference(dice, live, arena);
    let src = reference(dice, live, arena);
    let op = dice.pick(&[ir::AluOp::Add, ir::AluOp::Mult, ir::AluOp::Max]);
    let engine = dice.pick(&ENGINES);
    let imm = Operand::Imm(Immediate::Float32((dice.roll(100) as f32 / 8.0).into()));
    match dice.roll(16) {
        0 => Operator::RegisterMove(
            arena.alloc(ir::RegisterMove { dst: "r1", imm: dice.roll(5000) as i64 - 2500 }),
        ),
        1 | 2 => Operator::RegisterAluOp(arena.alloc(ir::RegisterAluOp { dst: "r2", src: "r1", imm: 4, op })),
        3 | 4 => Operator::CmpBranch(arena.alloc(ir::CmpBranch {
            reg1: "r2",
            reg2: "",
            imm: 128,
            op: ir::BrCmpOp::LtImm,
            true_label: "bb1",
            false_label: "bb2",
        })),
        5 | 6 => Operator::TensorLoad(arena.alloc(ir::TensorLoad { dst: "r3", src })),
        7 | 8 => Operator::MemSet(arena.alloc(ir::MemSet {
            dst,
            value: Immediate::Int32(0),
            dtype: Dtype::Float32,
            engine,
        })),
        9 => Operator::NcCopy(arena.alloc(ir::NcCopy { dst, src, dtype: Some(Dtype::Bfloat16), engine })),
        10 => Operator::NcDmaCopy(arena.alloc(ir::NcDmaCopy {
            dst,
            src,
            compute_op: ir::DgeComputeOp::None,
            oob_mode: ir::DmaBounds::Error,
            dge_mode: 0,
            unique_indices: true,
            head: Default::default(),
            engine: Engine::Unassigned,
        })),
        11 => Operator::TensorScalar(arena.alloc(ir::TensorScalar {
            dst,
            src,
            imm0: imm,
            op0: op,
            imm1: None,
            op1: None,
            reverse: ir::TensorScalarReverseOps::None,
            engine,
            dtype: None,
        })),
        12 => Operator::TensorTensor(arena.alloc(ir::TensorTensor {
            dst,
            src0: src,
            src1: reference(dice, live, arena),
            op,
            dtype: None,
            engine,
        })),
        13 => Operator::NcActivate(arena.alloc(ir::NcActivate {
            dst,
            src,
            accumulator_cmd: ir::AccumCmd::Idle,
            activation_func: ir::ActivationFunc::Exp,
            scale: imm,
            bias: None,
            reduce_op: None,
            reduce_res: None,
            dtype: None,
        })),
        14 => Operator::TensorReduce(arena.alloc(ir::TensorReduce {
            dst,
            src,
            op,
            op_dim: ir::TensorSubDim::X,
            negated: false,
            dtype: None,
            keepdims: false,
        })),
        _ => Operator::NcMatMul(arena.alloc(ir::NcMatMul {
            dst,
            stationary: src,
            moving: reference(dice, live, arena),
            is_stationary_one_zero: false,
            is_moving_zero: false,
            is_transpose: false,
            tile_position: &[0, 0],
            tile_size: &[128, 128],
            perf_mode: ir::MatmulPerfMode::None,
        })),
    }
}

fn statement<'a>(dice: &mut Dice, index: usize, live: &[&'a TensorName<'a>], arena: &'a Arena) -> Stmt<'a> {
    let line = index as u64 / 3;
    Stmt::Oper {
        op: operator(dice, live, arena),
        name: (dice.roll(4) == 0).then(|| arena.text(&format!("I-{index}"))),
        pos: Pos {
            line,
            column: 4,
            line_end: Some(line),
            column_end: Some(40 + dice.roll(40)),
            filename: (dice.roll(3) == 0).then_some("kernel.py"),
        },
    }
}
