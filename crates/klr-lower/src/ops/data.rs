//! Data movement: copies, DMA, gathers, shuffles.

use bir::Argument;
use bir::enums::{CopyMode, DGEType, EngineType, IndirectDim, MemsetMode, TransposeOps};
use bir::op_info::OpInfo;
use bir::ops::{
    DMACopy, GenericIndirectSave, IndirectCopy, Memset, Op, StreamShuffle, TensorCopy, TensorCopyDynamicDst,
    TensorCopyDynamicSrc,
};
use bir::{OpenEnum, enums};
use klr::ir;

use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps::{alu_op, dge_type, dtype, engine};
use crate::lowerer::Lowerer;
use crate::operand::{Result, dynamic, float, integer, number};

impl<'a> Lowerer<'a> {
    pub(super) fn copy(&mut self, op: &ir::NcCopy<'a>) -> Result<Draft> {
        let sides = [dynamic(&op.dst), dynamic(&op.src)];
        if sides.iter().flatten().any(|access| access.vector_offset.is_some()) {
            return Err(ProblemKind::VectorOffset);
        }
        let copy: Op = match sides {
            [None, None] => TensorCopy::default().into(),
            [None, Some(_)] => TensorCopyDynamicSrc::default().into(),
            [Some(_), None] => TensorCopyDynamicDst::default().into(),
            [Some(_), Some(_)] => return Err(ProblemKind::BothDynamic),
        };
        let mut indices = Vec::new();
        let src = self.dynamic_tensor(&op.src, &mut indices)?;
        let dst = self.dynamic_tensor(&op.dst, &mut indices)?;
        Ok(Draft::new(copy).on(engine(op.engine)).input(src).output(dst).index(indices))
    }

    pub(super) fn dma_copy(&mut self, op: &ir::NcDmaCopy<'a>) -> Result<Draft> {
        if op.head.0.is_some_and(|head| head.priority.is_some()) {
            self.note("priority of ncDmaCopy has no place in BIR");
        }
        let sides = [dynamic(&op.dst), dynamic(&op.src)];
        if sides.iter().all(Option::is_some) {
            return Err(ProblemKind::BothDynamic);
        }
        let generation = generation(op.dge_mode)?;
        if sides.iter().any(Option::is_some) && generation == DGEType::None {
            return Err(ProblemKind::DmaDynamic);
        }
        let on = engine(op.engine);
        if on != EngineType::Unassigned && generation != DGEType::HWDGE {
            return Err(ProblemKind::DmaEngine { engine: op.engine.name(), mode: op.dge_mode });
        }
        let adds = op.compute_op == ir::DgeComputeOp::Add;
        if adds && !op.unique_indices {
            return Ok(self.indirect_save(op, generation)?.on(on));
        }
        let mut indices = Vec::new();
        let src = self.dynamic_tensor(&op.src, &mut indices)?;
        let dst = self.dynamic_tensor(&op.dst, &mut indices)?;
        let copy = DMACopy {
            dge_type: generation,
            oob_is_err: (op.oob_mode != ir::DmaBounds::Skip).into(),
            cce_op: if adds { enums::AluOpType::Add } else { enums::AluOpType::Bypass },
            ..DMACopy::default()
        };
        Ok(Draft::new(copy).on(on).input(src).output(dst).index(indices))
    }

    /// Rows that may repeat are added up: the index tensor is an input, the destination static.
    fn indirect_save(&mut self, op: &ir::NcDmaCopy<'a>, generation: DGEType) -> Result<Draft> {
        let mut indices = Vec::new();
        let src = self.dynamic_tensor(&op.src, &mut indices)?;
        let mut dst = self.dynamic_tensor(&op.dst, &mut indices)?;
        let mut dims = Vec::new();
        if let (Some(access), Argument::PhysicalAp(out)) = (dynamic(&op.dst), &mut dst) {
            let dim = IndirectDim::from_ordinal(u64::try_from(access.indirect_dim).unwrap_or(u64::MAX));
            let wrong = ProblemKind::IndirectDim { dim: access.indirect_dim, dims: access.pattern.len() };
            dims.push(dim.ok_or(wrong)?);
            if !indices.is_empty() {
                out.dynamic_ap_info = None;
            }
        }
        let save = GenericIndirectSave {
            dge_type: generation,
            indirect_dims: dims,
            op: enums::AluOpType::Add,
            ..GenericIndirectSave::default()
        };
        Ok(Draft::new(save).input(src).inputs(indices).output(dst))
    }

    /// The `axes` of the record are not read by the backend.
    pub(super) fn dma_transpose(&mut self, op: &ir::DmaTranspose<'a>) -> Result<Draft> {
        if op.head.0.is_some_and(|head| head.priority.is_some()) {
            self.note("priority of dmaTranspose has no place in BIR");
        }
        if op.axes != ir::TransposeOps::XZYW {
            self.note("axes of dmaTranspose are not read by the 2.24 backend: they are always XZYW");
        }
        let generation = generation(op.dge_mode)?;
        if dynamic(&op.src).is_some() && generation == DGEType::None {
            return Err(ProblemKind::DmaDynamic);
        }
        let mut indices = Vec::new();
        let src = self.dynamic_tensor(&op.src, &mut indices)?;
        let dst = self.tensor(&op.dst)?;
        for (side, argument) in [("dst", &dst), ("src", &src)] {
            let pairs = argument.access_pattern().map_or(0, bir::access::AccessPattern::len);
            if pairs != 4 {
                return Err(ProblemKind::DmaRank { side, pairs });
            }
        }
        let copy = DMACopy {
            mode: CopyMode::Transpose,
            transpose_op: TransposeOps::XZYW,
            dge_type: generation,
            oob_is_err: (op.oob_mode != ir::DmaBounds::Skip).into(),
            ..DMACopy::default()
        };
        Ok(Draft::new(copy).on(EngineType::Pool).input(src).output(dst).index(indices))
    }

    /// A sum of scaled sources.
    pub(super) fn dma_compute(&mut self, op: &ir::DmaCompute<'a>) -> Result<Draft> {
        if op.reduce_op != ir::AluOp::Add {
            return Err(ProblemKind::DmaOperator { op: op.reduce_op.name() });
        }
        let (left, right) = (op.srcs.len(), op.scales.len());
        if left != right {
            return Err(ProblemKind::Counts { left, lefts: "srcs", right, rights: "scales" });
        }
        if op.srcs.is_empty() {
            return Err(ProblemKind::Empty { what: "srcs" });
        }
        let constants = op.scales.iter().map(|scale| float("scales", scale)).collect::<Result<_>>()?;
        let copy =
            DMACopy { mode: CopyMode::CCE, constants, cce_op: alu_op(op.reduce_op), ..DMACopy::default() };
        let draft = Draft::new(copy).on(EngineType::Unassigned);
        Ok(draft.inputs(self.tensors(op.srcs)?).output(self.tensor(&op.dst)?))
    }

    pub(super) fn mem_set(&mut self, op: &ir::MemSet<'a>) -> Result<Draft> {
        let constant = match &op.value {
            ir::Immediate::Float32(value) => value.bits,
            value => number::<_, i32>("value", integer("value", value)?)? as u32,
        };
        let set = Memset { mode: MemsetMode::Const, constant: constant.into(), ..Memset::default() };
        Ok(Draft::new(set).on(engine(op.engine)).output(self.tensor(&op.dst)?))
    }

    pub(super) fn local_gather(&mut self, op: &ir::NcLocalGather<'a>) -> Result<Draft> {
        let count = match &op.num_valid_indicies {
            Some(count) => number::<_, u16>("numValidIndicies", integer("numValidIndicies", count)?)?,
            None => 0,
        };
        let gather = IndirectCopy { num_valid_indices: count.into(), ..IndirectCopy::default() };
        Ok(Draft::new(gather)
            .input(self.tensor(&op.src)?)
            .input(self.tensor(&op.index)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn gather(&mut self, op: &ir::NcNGather<'a>) -> Result<Draft> {
        Ok(Draft::new(Op::Gather)
            .input(self.tensor(&op.data)?)
            .input(self.tensor(&op.indices)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn shuffle(&mut self, op: &ir::Shuffle<'a>) -> Result<Draft> {
        let mask = op.shuffle_mask.iter().map(|entry| {
            let entry = number::<_, u32>("shuffleMask", integer("shuffleMask", entry)?)?;
            Ok(entry.into())
        });
        let shuffle = StreamShuffle { mask: Some(mask.collect::<Result<_>>()?), ..StreamShuffle::default() };
        Ok(Draft::new(shuffle).input(self.tensor(&op.src)?).output(self.tensor(&op.dst)?))
    }

    /// Float32 is transposed in blocks, everything else by a product with the identity.
    pub(super) fn transpose(&mut self, op: &ir::Transpose<'a>) -> Result<Draft> {
        if op.engine == ir::Engine::Pe {
            return Err(ProblemKind::TransposeEngine);
        }
        let dst = self.tensor(&op.dst)?;
        let src = self.tensor(&op.src)?;
        if dst.dtype() == Some(dtype(ir::Dtype::Float32)) {
            // An engine that the instruction does not run on is a choice between its two forms.
            let asked = engine(op.engine);
            let info = OpInfo::of(enums::InstructionType::StreamTranspose);
            let runs = info.and_then(|info| info.engines).is_some_and(|known| known.value.contains(&asked));
            let draft = Draft::new(Op::StreamTranspose).input(src).output(dst);
            return Ok(if runs { draft.on(asked) } else { draft });
        }
        self.transpose_by_matmul(src, dst)
    }
}

/// A mode of descriptor generation.
fn generation(mode: u64) -> Result<DGEType> {
    dge_type(mode).ok_or(ProblemKind::DgeMode { mode })
}
