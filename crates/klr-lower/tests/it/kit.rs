//! Kernels in few words.

use std::cell::Cell;

use klr::ir::{
    APPair, Access, Address, BirAccessPattern, Block, Dtype, Immediate, LncKernel, Memory, Operand, Operator,
    Pos, ScalarOffset, Shape, Stmt, TensorName, TensorRef,
};
use klr::node::{Float, Prop};
use klr::{Arena, Contents, File};

/// Makes the parts of a kernel. Tensors on the chip are placed one after another.
pub(crate) struct Kit<'a> {
    pub(crate) arena: &'a Arena,
    sbuf: Cell<u64>,
    psum: Cell<u64>,
}

pub(crate) type Tensor<'a> = &'a TensorName<'a>;

impl<'a> Kit<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Kit { arena, sbuf: Cell::new(0x4000), psum: Cell::new(0) }
    }

    /// A tensor in SB.
    pub(crate) fn sb(&self, name: &str, dims: &[u64], dtype: Dtype) -> Tensor<'a> {
        let bytes = dims[1..].iter().product::<u64>() * dtype.bytes();
        let at = self.sbuf.replace(self.sbuf.get() + bytes.next_multiple_of(64));
        self.tensor(name, dims, dtype, Memory::Sbuf, Some(at))
    }

    /// A tensor in PSUM, in banks of its own.
    pub(crate) fn psum(&self, name: &str, dims: &[u64], dtype: Dtype) -> Tensor<'a> {
        let bytes = dims[1..].iter().product::<u64>() * dtype.bytes();
        let at = self.psum.replace(self.psum.get() + bytes.next_multiple_of(2048));
        self.tensor(name, dims, dtype, Memory::Psum, Some(at))
    }

    /// A tensor in device memory.
    pub(crate) fn hbm(&self, name: &str, dims: &[u64], dtype: Dtype) -> Tensor<'a> {
        self.tensor(name, dims, dtype, Memory::Hbm, None)
    }

    pub(crate) fn tensor(
        &self,
        name: &str,
        dims: &[u64],
        dtype: Dtype,
        memory: Memory,
        at: Option<u64>,
    ) -> Tensor<'a> {
        let free_elements = dims[1..].iter().product();
        let name = self.arena.text(name);
        self.arena.alloc(TensorName {
            name,
            dtype,
            shape: Shape { par_dim: dims[0], free_dims: self.arena.list(&dims[1..]) },
            address: Address {
                name,
                memory,
                par_size: dims[0],
                free_size: free_elements * dtype.bytes(),
                par_offset: at.map(|_| 0),
                free_offset: at,
                is_shared: false,
            },
            free_elements,
            par_wf: Prop,
            free_wf: Prop,
            address_rotation: false,
        })
    }

    /// All of a tensor.
    pub(crate) fn all(&self, tensor: Tensor<'a>) -> TensorRef<'a> {
        let dims: Vec<u64> =
            std::iter::once(&tensor.shape.par_dim).chain(tensor.shape.free_dims).copied().collect();
        let step = |at: usize| dims[at + 1..].iter().product::<u64>() as i64;
        let pairs: Vec<(i64, u64)> = dims.iter().enumerate().map(|(at, num)| (step(at), *num)).collect();
        self.pattern(tensor, 0, &pairs)
    }

    /// A pattern of (step, num).
    pub(crate) fn pattern(&self, tensor: Tensor<'a>, offset: u64, pairs: &[(i64, u64)]) -> TensorRef<'a> {
        self.bir(BirAccessPattern { offset, pattern: self.pairs(pairs), ..whole(tensor) })
    }

    /// Rows of a tensor from an offset in elements, along its first dimension or another one.
    pub(crate) fn offset(
        &self,
        tensor: Tensor<'a>,
        rows: u64,
        (scalar, vector): (Option<ScalarOffset<'a>>, Option<Access<'a>>),
    ) -> TensorRef<'a> {
        let width = tensor.free_elements;
        let pattern = self.pairs(&[(width as i64, rows), (1, width)]);
        let (scalar_offset, vector_offset) = (scalar, vector);
        self.bir(BirAccessPattern { pattern, scalar_offset, vector_offset, ..whole(tensor) })
    }

    pub(crate) fn bir(&self, access: BirAccessPattern<'a>) -> TensorRef<'a> {
        TensorRef::Abstract(Access::BirPattern(self.arena.alloc(access)))
    }

    pub(crate) fn pairs(&self, pairs: &[(i64, u64)]) -> &'a [APPair] {
        let pairs: Vec<APPair> = pairs.iter().map(|&(step, num)| APPair { step, num, offset: 0 }).collect();
        self.arena.list(&pairs)
    }

    pub(crate) fn tile(&self, tensor: Tensor<'a>) -> Operand<'a> {
        Operand::Tile(self.all(tensor))
    }

    /// A kernel for one core, with one block of these statements.
    pub(crate) fn kernel(&self, operators: &[Operator<'a>]) -> File<'a> {
        let body = self.block("entry", operators);
        self.lnc(&[self.arena.list(&[body])])
    }

    pub(crate) fn block(&self, label: &'a str, operators: &[Operator<'a>]) -> Block<'a> {
        let statements: Vec<Stmt<'a>> =
            operators.iter().enumerate().map(|(at, op)| self.statement(at, *op)).collect();
        Block { label, no_reorder: false, body: self.arena.list(&statements) }
    }

    fn statement(&self, at: usize, op: Operator<'a>) -> Stmt<'a> {
        let pos = Pos {
            line: at as u64 + 2,
            column: 4,
            line_end: None,
            column_end: None,
            filename: Some("kernel.py"),
        };
        Stmt::Oper { op, name: Some(self.arena.text(&format!("s{at}"))), pos }
    }

    pub(crate) fn lnc(&self, bodies: &[&'a [Block<'a>]]) -> File<'a> {
        File::new(Contents::Lnc(self.arena.alloc(LncKernel {
            name: "kernel",
            inputs: &[],
            outputs: &[],
            bodies: self.arena.list(bodies),
            shared_constants: &[],
            shared_buffers: &[],
            edges: &[],
        })))
    }
}

fn whole<'a>(tensor: Tensor<'a>) -> BirAccessPattern<'a> {
    BirAccessPattern {
        tensor,
        offset: 0,
        pattern: &[],
        scalar_offset: None,
        vector_offset: None,
        indirect_dim: 0,
        dtype_override: None,
    }
}

pub(crate) fn int(value: i64) -> Immediate {
    Immediate::Int32(value)
}

pub(crate) fn float(value: f32) -> Immediate {
    Immediate::Float32(Float::from(value))
}
