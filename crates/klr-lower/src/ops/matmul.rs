//! Matrix products. Which of them start and end an accumulation is worked out afterwards, see [`crate::flow`].

use bir::Argument;
use bir::enums::EngineType;
use bir::expr::MaybeAffine;
use bir::ops::{Matmult, MatmultMx};
use klr::ir;

use crate::draft::Draft;
use crate::error::ProblemKind;
use crate::generated::maps::matmul_perf_mode;
use crate::lowerer::Lowerer;
use crate::operand::{Result, number};

/// Start and stop: nothing is added up.
const ALONE: u8 = 3;

impl<'a> Lowerer<'a> {
    /// The moving tensor comes first.
    pub(super) fn matmul(&mut self, op: &ir::NcMatMul<'a>) -> Result<Draft> {
        let product = Matmult {
            accumulation_flag: if op.is_transpose { ALONE } else { 0 }.into(),
            is_transpose: op.is_transpose.into(),
            is_fmap_onezero: op.is_moving_zero.into(),
            is_weight_onezero: op.is_stationary_one_zero.into(),
            tile_size: tile("tileSize", op.tile_size)?,
            tile_position: tile("tilePosition", op.tile_position)?,
            perf_mode: matmul_perf_mode(op.perf_mode),
            ..Matmult::default()
        };
        if op.perf_mode == ir::MatmulPerfMode::DoubleRowSwInterleave {
            self.note("perfMode DoubleRowSwInterleave of ncMatMul becomes None, as in the 2.24 backend");
        }
        Ok(Draft::new(product)
            .on(EngineType::PE)
            .input(self.tensor(&op.moving)?)
            .input(self.tensor(&op.stationary)?)
            .output(self.tensor(&op.dst)?))
    }

    pub(super) fn matmul_mx(&mut self, op: &ir::MatMulMX<'a>) -> Result<Draft> {
        let mut product = MatmultMx::default();
        if let Some(size) = op.tile_size {
            product.tile_size = tile("tileSize", size)?;
        }
        if let Some(position) = op.tile_position {
            product.tile_position = tile("tilePosition", position)?;
        }
        Ok(Draft::new(product)
            .on(EngineType::PE)
            .input(self.tensor(&op.moving)?)
            .input(self.tensor(&op.stationary)?)
            .input(self.tensor(&op.moving_scale)?)
            .input(self.tensor(&op.stationary_scale)?)
            .output(self.tensor(&op.dst)?))
    }

    /// The tile is stationary, the identity moves.
    pub(super) fn transpose_by_matmul(&mut self, src: Argument, dst: Argument) -> Result<Draft> {
        let rows = src.access_pattern().and_then(|pattern| pattern.get(0)).map_or(1, |pair| pair.num);
        let dtype = src.dtype().expect("a tensor reference has a type");
        let identity = self.identity(dtype, rows);
        let product =
            Matmult { accumulation_flag: ALONE.into(), is_transpose: true.into(), ..Matmult::default() };
        Ok(Draft::new(product).on(EngineType::PE).inputs([identity, src]).output(dst))
    }
}

/// Rows and columns.
fn tile(what: &'static str, list: &[u64]) -> Result<[MaybeAffine<i32>; 2]> {
    let [rows, columns] = list else { return Err(ProblemKind::NotTwo { what, len: list.len() }) };
    Ok([number::<_, i32>(what, *rows)?.into(), number::<_, i32>(what, *columns)?.into()])
}
