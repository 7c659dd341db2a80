//! A small kernel for demonstrations and tests.

use crate::File;
use crate::arena::Arena;
use crate::container::Contents;
use crate::ir::{
    APPair, Access, AccumCmd, ActivationFunc, Address, AluOp, BirAccessPattern, Block, DgeComputeOp,
    DmaBounds, Dtype, Engine, Immediate, LncKernel, MatmulPerfMode, Memory, NcActivate, NcDmaCopy, NcMatMul,
    Operand, Operator, Pos, Reciprocal, Shape, Stmt, TensorName, TensorReduce, TensorRef, TensorScalar,
    TensorScalarReverseOps, TensorSubDim,
};
use crate::node::{Float, Prop};

/// Source of the kernel that [`softmax`] is; its positions point into this text. `softmax.py`:
///
/// ```text
#[doc = include_str!("sample/softmax.py")]
/// ```
pub const SOFTMAX_SOURCE: &str = include_str!("sample/softmax.py");

const ROWS: u64 = 128;
const COLUMNS: u64 = 512;

/// Matrix product and softmax of each row, as the front end hands it to the backend: one core, one block.
///
/// ```
/// let arena = klr::Arena::new();
/// let file = klr::sample::softmax(&arena);
/// assert!(klr::lint::lint(&file).is_empty());
/// ```
#[must_use]
pub fn softmax(arena: &Arena) -> File<'_> {
    let x = dram(arena, "x", ROWS);
    let w = dram(arena, "w", COLUMNS);
    let y = dram(arena, "y", COLUMNS);
    // Free offsets count bytes. The first 16 KiB are the backend's.
    let x_sb = on_chip(arena, "x_sb", Memory::Sbuf, Dtype::Bfloat16, ROWS, 0x4000);
    let w_sb = on_chip(arena, "w_sb", Memory::Sbuf, Dtype::Bfloat16, COLUMNS, 0x4100);
    let logits = on_chip(arena, "logits", Memory::Psum, Dtype::Float32, COLUMNS, 0);
    let powers = on_chip(arena, "powers", Memory::Sbuf, Dtype::Float32, COLUMNS, 0x4800);
    let total = on_chip(arena, "total", Memory::Sbuf, Dtype::Float32, 1, 0x5000);
    let scale = on_chip(arena, "scale", Memory::Sbuf, Dtype::Float32, 1, 0x5004);
    let result = on_chip(arena, "result", Memory::Sbuf, Dtype::Bfloat16, COLUMNS, 0x5008);
    let all = |tensor| all(arena, tensor);
    let copy = |dst, src| {
        Operator::NcDmaCopy(arena.alloc(NcDmaCopy {
            dst: all(dst),
            src: all(src),
            compute_op: DgeComputeOp::None,
            oob_mode: DmaBounds::Error,
            dge_mode: 3,
            unique_indices: true,
            head: Default::default(),
            engine: Engine::Unassigned,
        }))
    };
    let statements = [
        ("load_x", "x_sb = ", copy(x_sb, x)),
        ("load_w", "w_sb = ", copy(w_sb, w)),
        (
            "matmul",
            "logits = ",
            Operator::NcMatMul(arena.alloc(NcMatMul {
                dst: all(logits),
                stationary: all(x_sb),
                moving: all(w_sb),
                is_stationary_one_zero: false,
                is_moving_zero: false,
                is_transpose: false,
                tile_position: &[0, 0],
                tile_size: &[128, 128],
                perf_mode: MatmulPerfMode::None,
            })),
        ),
        (
            "exp",
            "powers = ",
            Operator::NcActivate(arena.alloc(NcActivate {
                dst: all(powers),
                src: all(logits),
                accumulator_cmd: AccumCmd::Idle,
                activation_func: ActivationFunc::Exp,
                scale: Operand::Imm(Immediate::Float32(Float::from(1.0))),
                bias: None,
                reduce_op: None,
                reduce_res: None,
                dtype: None,
            })),
        ),
        (
            "sum",
            "total = ",
            Operator::TensorReduce(arena.alloc(TensorReduce {
                dst: all(total),
                src: all(powers),
                op: AluOp::Add,
                op_dim: TensorSubDim::X,
                negated: false,
                dtype: None,
                keepdims: true,
            })),
        ),
        (
            "reciprocal",
            "scale = ",
            Operator::Reciprocal(arena.alloc(Reciprocal { dst: all(scale), src: all(total), dtype: None })),
        ),
        (
            "multiply",
            "result = ",
            Operator::TensorScalar(arena.alloc(TensorScalar {
                dst: all(result),
                src: all(powers),
                imm0: Operand::Tile(all(scale)),
                op0: AluOp::Mult,
                imm1: None,
                op1: None,
                reverse: TensorScalarReverseOps::None,
                engine: Engine::Dve,
                dtype: None,
            })),
        ),
        ("store", "store(", copy(y, result)),
    ];
    let statements =
        statements.map(|(name, source, op)| Stmt::Oper { op, name: Some(name), pos: line(source) });
    let block = Block { label: "entry", no_reorder: false, body: arena.list(&statements) };
    let body: &[Block<'_>] = arena.list(&[block]);
    File::new(Contents::Lnc(arena.alloc(LncKernel {
        name: "softmax",
        inputs: arena.list(&[*x, *w]),
        outputs: arena.list(&[*y]),
        bodies: arena.list(&[body]),
        shared_constants: &[],
        shared_buffers: &[],
        edges: &[],
    })))
}

/// The line of the source in which a text first stands.
fn line<'a>(text: &str) -> Pos<'a> {
    let index = SOFTMAX_SOURCE.lines().position(|line| line.trim_start().starts_with(text));
    let line = index.expect("the source has the line") as u64 + 1;
    Pos { line, column: 4, line_end: None, column_end: None, filename: Some("softmax.py") }
}

fn dram<'a>(arena: &'a Arena, name: &'a str, columns: u64) -> &'a TensorName<'a> {
    tensor(arena, name, Memory::Hbm, Dtype::Bfloat16, columns, None)
}

fn on_chip<'a>(
    arena: &'a Arena,
    name: &'a str,
    memory: Memory,
    dtype: Dtype,
    columns: u64,
    free_offset: u64,
) -> &'a TensorName<'a> {
    tensor(arena, name, memory, dtype, columns, Some(free_offset))
}

fn tensor<'a>(
    arena: &'a Arena,
    name: &'a str,
    memory: Memory,
    dtype: Dtype,
    columns: u64,
    free_offset: Option<u64>,
) -> &'a TensorName<'a> {
    arena.alloc(TensorName {
        name,
        dtype,
        shape: Shape { par_dim: ROWS, free_dims: arena.list(&[columns]) },
        address: Address {
            name,
            memory,
            par_size: ROWS,
            free_size: columns * dtype.bytes(),
            par_offset: free_offset.map(|_| 0),
            free_offset,
            is_shared: false,
        },
        free_elements: columns,
        par_wf: Prop,
        free_wf: Prop,
        address_rotation: false,
    })
}

/// All of a tensor.
fn all<'a>(arena: &'a Arena, tensor: &'a TensorName<'a>) -> TensorRef<'a> {
    let columns = tensor.free_elements;
    let pair = |step: u64, num| APPair { step: step as i64, num, offset: 0 };
    TensorRef::Abstract(Access::BirPattern(arena.alloc(BirAccessPattern {
        tensor,
        offset: 0,
        pattern: arena.list(&[pair(columns, ROWS), pair(1, columns)]),
        scalar_offset: None,
        vector_offset: None,
        indirect_dim: 0,
        dtype_override: None,
    })))
}
