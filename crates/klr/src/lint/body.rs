//! The checks of kernels, blocks and statements.

use std::collections::{HashMap, HashSet};

use super::walk::Walk;
use super::{
    DMA_DYNAMIC, DMA_ENGINE, DMA_RANK, DUPLICATE_LABEL, DYNAMIC, EDGE, LABEL, NO_REORDER, OPERATOR, REGISTER,
    REPLICA_GROUP, Rule, TILE, TRANSPOSE_ENGINE,
};
use crate::info::operator_name;
use crate::ir::{
    Access, BirAccessPattern, Block, BrCmpOp, CmpBranch, Engine, Kernel, LncKernel, Operator, ReplicaGroup,
    ScalarOffset, Stmt, TensorName, TensorRef,
};
use crate::node::Node;

/// `dgeMode` of hardware descriptor generation (spec: klr 7).
const HARDWARE: u64 = 2;

/// `dgeMode` without descriptor generation.
const NO_GENERATION: u64 = 3;

pub(super) fn kernel(kernel: &Kernel<'_>, path: &str, walk: &mut Walk<'_>) {
    tensors(kernel.inputs, &format!("{path}.inputs"), walk);
    tensors(kernel.outputs, &format!("{path}.outputs"), walk);
    body(kernel.body, &format!("{path}.body"), walk);
}

pub(super) fn lnc(kernel: &LncKernel<'_>, path: &str, walk: &mut Walk<'_>) {
    tensors(kernel.inputs, &format!("{path}.inputs"), walk);
    tensors(kernel.outputs, &format!("{path}.outputs"), walk);
    for (core, blocks) in kernel.bodies.iter().enumerate() {
        body(blocks, &format!("{path}.bodies[{core}]"), walk);
    }
    tensors(kernel.shared_buffers, &format!("{path}.sharedBuffers"), walk);
    if kernel.edges.is_empty() {
        return;
    }
    let statements = kernel.bodies.iter().flat_map(|body| body.iter()).flat_map(|block| block.body);
    let names: HashSet<&str> = statements.filter_map(|Stmt::Oper { name, .. }| *name).collect();
    for (index, edge) in kernel.edges.iter().enumerate() {
        for name in std::iter::once(&edge.from_edge).chain(edge.to_edges) {
            if !names.contains(name) {
                walk.at(&format!("{path}.edges[{index}]"));
                walk.report(&EDGE, format!("no statement is named {name:?}"));
            }
        }
    }
}

fn tensors(list: &[TensorName<'_>], path: &str, walk: &mut Walk<'_>) {
    walk.forms = false;
    walk.refuse_dynamic = false;
    walk.at(path);
    list.write(walk);
}

/// The names that the statements of one body may refer to.
struct Names<'a> {
    labels: HashMap<&'a str, usize>,
    registers: HashSet<&'a str>,
}

fn body<'a>(blocks: &'a [Block<'a>], path: &str, walk: &mut Walk<'_>) {
    let mut names = Names { labels: HashMap::new(), registers: HashSet::new() };
    for (index, block) in blocks.iter().enumerate() {
        if let Some(first) = names.labels.insert(block.label, index) {
            walk.at(&format!("{path}[{index}].label"));
            walk.report(&DUPLICATE_LABEL, format!("block {first} is labelled {:?}, too", block.label));
        }
        names.registers.extend(block.body.iter().filter_map(|Stmt::Oper { op, .. }| written_register(op)));
    }
    for (index, block) in blocks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let branch = |stmt: &Stmt<'_>| matches!(stmt, Stmt::Oper { op: Operator::CmpBranch(branch), .. } if branch.op == BrCmpOp::Always);
        if block.no_reorder && !block.body.last().is_some_and(branch) {
            walk.at(&path);
            walk.report(&NO_REORDER, "a noReorder block does not end in an unconditional branch".to_string());
        }
        for (index, stmt) in block.body.iter().enumerate() {
            statement(stmt, &format!("{path}.body[{index}]"), &names, walk);
        }
    }
}

fn written_register<'a>(op: &Operator<'a>) -> Option<&'a str> {
    match op {
        Operator::TensorLoad(op) => Some(op.dst),
        Operator::RegisterMove(op) => Some(op.dst),
        Operator::RegisterAluOp(op) => Some(op.dst),
        Operator::RankId(op) => Some(op.dst),
        Operator::CurrentProcessingRankId(op) => Some(op.dst),
        _ => None,
    }
}

fn statement(stmt: &Stmt<'_>, path: &str, names: &Names<'_>, walk: &mut Walk<'_>) {
    let Stmt::Oper { op, .. } = stmt;
    walk.at(path);
    let lowered = op.is_lowered();
    if !lowered {
        let (name, kind) = (operator_name(op), op.kind());
        walk.report(&OPERATOR, format!("operator {name} (kind {kind}) has no BIR form"));
    }
    walk.forms = lowered;
    walk.refuse_dynamic =
        lowered && !matches!(op, Operator::NcCopy(_) | Operator::NcDmaCopy(_) | Operator::DmaTranspose(_));
    stmt.write(walk);
    walk.at(path);
    Check { path, names, walk }.operator(op);
}

struct Check<'c, 'w, 'f> {
    path: &'c str,
    names: &'c Names<'c>,
    walk: &'w mut Walk<'f>,
}

impl Check<'_, '_, '_> {
    /// Reports something about a field of the operator's record; an empty name is the record.
    fn report(&mut self, op: &str, field: &str, rule: &'static Rule, message: String) {
        let dot = if field.is_empty() { "" } else { "." };
        self.walk.at(&format!("{}.oper.op.{op}.op{dot}{field}", self.path));
        self.walk.report(rule, message);
    }

    fn register(&mut self, op: &str, field: &str, name: &str) {
        if !self.names.registers.contains(name) {
            self.report(op, field, &REGISTER, format!("nothing writes register {name:?}"));
        }
    }

    fn label(&mut self, op: &str, field: &str, name: &str) {
        if !self.names.labels.contains_key(name) {
            self.report(op, field, &LABEL, format!("no block is labelled {name:?}"));
        }
    }

    fn operator(&mut self, operator: &Operator<'_>) {
        let name = operator_name(operator);
        match operator {
            Operator::CmpBranch(op) => self.branch(name, op),
            Operator::RegisterAluOp(op) => self.register(name, "src", op.src),
            Operator::TensorStore(op) => self.register(name, "src", op.src),
            Operator::NcCopy(op) => {
                self.dynamic_sides(name, &op.dst, &op.src);
                for (field, side) in [("dst", &op.dst), ("src", &op.src)] {
                    if dynamic(side).is_some_and(|access| access.vector_offset.is_some()) {
                        let message = "a copy takes no vector offset".to_string();
                        self.report(name, field, &DYNAMIC, message);
                    }
                }
            }
            Operator::NcDmaCopy(op) => {
                let sides = self.dynamic_sides(name, &op.dst, &op.src);
                if sides > 0 && op.dge_mode == NO_GENERATION {
                    let message = "a dynamic copy needs descriptor generation".to_string();
                    self.report(name, "dgeMode", &DMA_DYNAMIC, message);
                }
                if op.engine != Engine::Unassigned && op.dge_mode != HARDWARE {
                    let message =
                        format!("engine {} needs dgeMode {HARDWARE}, not {}", op.engine, op.dge_mode);
                    self.report(name, "engine", &DMA_ENGINE, message);
                }
            }
            Operator::DmaTranspose(op) => {
                self.dynamic_sides(name, &op.dst, &op.src);
                for (field, side) in [("dst", &op.dst), ("src", &op.src)] {
                    let rank = rank(side);
                    if rank != 4 {
                        self.report(name, field, &DMA_RANK, format!("the pattern has {rank} pairs, not 4"));
                    }
                }
            }
            Operator::Transpose(op) if op.engine == Engine::Pe => {
                self.report(name, "engine", &TRANSPOSE_ENGINE, "transpose is on engine pe".to_string());
            }
            Operator::NcMatMul(op) => {
                self.tile(name, "tilePosition", Some(op.tile_position));
                self.tile(name, "tileSize", Some(op.tile_size));
            }
            Operator::NcMatMulMX(op) => {
                self.tile(name, "tilePosition", op.tile_position);
                self.tile(name, "tileSize", op.tile_size);
            }
            Operator::AllReduce(op)
            | Operator::AllGather(op)
            | Operator::ReduceScatter(op)
            | Operator::CollectivePermuteImplicit(op)
            | Operator::CollectivePermuteImplicitReduce(op)
            | Operator::AllToAll(op)
                if !matches!(op.replica_group, ReplicaGroup::Literal(_)) =>
            {
                let message = "the replica group is not literal".to_string();
                self.report(name, "replicaGroup", &REPLICA_GROUP, message);
            }
            _ => {}
        }
        self.offsets(name, operator);
    }

    fn branch(&mut self, name: &str, op: &CmpBranch<'_>) {
        self.label(name, "trueLabel", op.true_label);
        if op.op == BrCmpOp::Always {
            return;
        }
        self.label(name, "falseLabel", op.false_label);
        self.register(name, "reg1", op.reg1);
        if op.op >= BrCmpOp::LtReg {
            self.register(name, "reg2", op.reg2);
        }
    }

    fn tile(&mut self, name: &str, field: &str, list: Option<&[u64]>) {
        if let Some(list) = list
            && list.len() != 2
        {
            self.report(name, field, &TILE, format!("{field} has {} elements, not 2", list.len()));
        }
    }

    /// At most one side may be dynamic; the answer is how many are.
    fn dynamic_sides(&mut self, name: &str, dst: &TensorRef<'_>, src: &TensorRef<'_>) -> usize {
        let count = [dst, src].into_iter().filter(|side| dynamic(side).is_some()).count();
        if count == 2 {
            self.report(name, "", &DYNAMIC, "both sides are dynamic accesses".to_string());
        }
        count
    }

    /// The offsets of dynamic accesses, wherever they are.
    fn offsets(&mut self, name: &str, operator: &Operator<'_>) {
        let sides: &[(&str, TensorRef<'_>)] = match operator {
            Operator::NcCopy(op) => &[("dst", op.dst), ("src", op.src)],
            Operator::NcDmaCopy(op) => &[("dst", op.dst), ("src", op.src)],
            Operator::DmaTranspose(op) => &[("dst", op.dst), ("src", op.src)],
            // Elsewhere the access as a whole is refused.
            _ => return,
        };
        for (field, side) in sides {
            let Some(access) = dynamic(side) else { continue };
            if access.scalar_offset.is_some() && access.vector_offset.is_some() {
                self.report(name, field, &DYNAMIC, "an access has a scalar and a vector offset".to_string());
            }
            if access.vector_offset.is_some() && access.indirect_dim != 0 {
                let message = format!("a vector offset needs indirectDim 0, not {}", access.indirect_dim);
                self.report(name, field, &DYNAMIC, message);
            }
            if let Some(ScalarOffset::Reg(register)) = access.scalar_offset {
                self.register(
                    name,
                    &format!("{field}.abstract.access.birPattern.access.scalarOffset"),
                    register,
                );
            }
        }
    }
}

/// The access of a dynamic operand.
fn dynamic<'a>(side: &TensorRef<'a>) -> Option<&'a BirAccessPattern<'a>> {
    match side {
        TensorRef::Abstract(Access::BirPattern(access))
            if access.scalar_offset.is_some() || access.vector_offset.is_some() =>
        {
            Some(access)
        }
        _ => None,
    }
}

/// Pairs of the BIR operand that a reference becomes; all but `birPattern` become one pair (spec: klr 7).
fn rank(side: &TensorRef<'_>) -> usize {
    match side {
        TensorRef::Abstract(Access::BirPattern(access)) => access.pattern.len(),
        _ => 1,
    }
}
