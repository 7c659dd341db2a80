//! Affine expressions: index arithmetic over loop axes, registers, ranks and shards. spec: bir-json 9

use crate::ids::{ExprId, Id, Ref, RegId};
use crate::names::Sym;
use crate::part::Renumbering;
use crate::record::FieldType;
use crate::value::Extra;

/// A term of [`Expr::Affine`]: `coeff * idx`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AffineTerm {
    /// An index expression: an axis, a shard index, or a register.
    pub idx: ExprId,
    /// Factor.
    pub coeff: i64,
}

/// A node of an expression. Children are other nodes of the same [`Exprs`] arena; an expression is a tree.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// `CCGetRankKind`: rank of the current replica.
    CcGetRank {
        /// Iteration, at least 0.
        iteration_id: i64,
        /// Channel, at least 0.
        channel_id: i64,
    },
    /// `IndirectArgId`: the value of an index operand.
    IndirectArg {
        /// Number of the operand, at least 0.
        arg_id: i64,
    },
    /// `AffIVKind`: induction variable of a loop axis, by name. Look-up goes from the innermost loop outwards.
    Axis {
        /// Axis name.
        axis: Sym,
    },
    /// `IntRuntimeValueKind`: integer held in a register at run time.
    Register {
        /// The register.
        regref: Ref<RegId>,
    },
    /// `ShardIDKind`: shard index in `[0, ub)`.
    ShardId {
        /// Number of shards.
        ub: i64,
    },
    /// `AffExprKind`: `c + sum(coeff * idx)`. Without terms it is a constant.
    Affine {
        /// The terms, in document order.
        terms: Vec<AffineTerm>,
        /// Constant part.
        c: i64,
    },
    /// `SumKind`: a sum of expressions.
    Sum {
        /// The summands.
        terms: Vec<ExprId>,
    },
    /// `MultKind`: `var * scale`.
    Mult {
        /// The factor that varies.
        var: ExprId,
        /// The constant factor.
        scale: i64,
    },
    /// `FloorDivKind`: `floor(numer / denom)`.
    FloorDiv {
        /// Dividend.
        numer: ExprId,
        /// Divisor, positive.
        denom: i64,
    },
    /// `ModuloKind`: `numer mod denom`, Euclidean.
    Modulo {
        /// Dividend.
        numer: ExprId,
        /// Divisor, positive.
        denom: i64,
    },
    /// `CCDivKind`: shard number of a rank.
    CcDiv {
        /// Dividend.
        numer: ExprId,
        /// Divisor, positive.
        denom: i64,
        /// Table of replica groups.
        replica_groups_id: u64,
    },
}

impl Expr {
    /// The `kind` tag of the version 2 encoding.
    pub fn kind(&self) -> &'static str {
        match self {
            Expr::CcGetRank { .. } => "CCGetRankKind",
            Expr::IndirectArg { .. } => "IndirectArgId",
            Expr::Axis { .. } => "AffIVKind",
            Expr::Register { .. } => "IntRuntimeValueKind",
            Expr::ShardId { .. } => "ShardIDKind",
            Expr::Affine { .. } => "AffExprKind",
            Expr::Sum { .. } => "SumKind",
            Expr::Mult { .. } => "MultKind",
            Expr::FloorDiv { .. } => "FloorDivKind",
            Expr::Modulo { .. } => "ModuloKind",
            Expr::CcDiv { .. } => "CCDivKind",
        }
    }

    /// Whether the node may be the index of an affine term. spec: bir-json 9.2
    pub fn is_index(&self) -> bool {
        matches!(self, Expr::Axis { .. } | Expr::ShardId { .. } | Expr::Register { .. })
    }

    fn renumber(&mut self, to: &mut Renumbering) {
        match self {
            Expr::Axis { axis } => axis.renumber(to),
            Expr::Register { regref } => regref.renumber(to),
            Expr::Affine { terms, .. } => terms.iter_mut().for_each(|term| term.idx.renumber(to)),
            Expr::Sum { terms } => terms.renumber(to),
            Expr::Mult { var: child, .. }
            | Expr::FloorDiv { numer: child, .. }
            | Expr::Modulo { numer: child, .. }
            | Expr::CcDiv { numer: child, .. } => child.renumber(to),
            Expr::CcGetRank { .. } | Expr::IndirectArg { .. } | Expr::ShardId { .. } => {}
        }
    }

    /// The child nodes in order.
    pub fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        let (affine, list, single): (&[AffineTerm], &[ExprId], Option<ExprId>) = match self {
            Expr::Affine { terms, .. } => (terms, &[], None),
            Expr::Sum { terms } => (&[], terms, None),
            Expr::Mult { var: child, .. }
            | Expr::FloorDiv { numer: child, .. }
            | Expr::Modulo { numer: child, .. }
            | Expr::CcDiv { numer: child, .. } => (&[], &[], Some(*child)),
            _ => (&[], &[], None),
        };
        affine.iter().map(|term| term.idx).chain(list.iter().copied()).chain(single)
    }
}

/// What the leaves of an expression stand for, when it is evaluated.
pub trait Leaves {
    /// Value of a loop axis.
    fn axis(&self, axis: Sym) -> Option<i64>;
    /// Value of a register.
    fn register(&self, _: Ref<RegId>) -> Option<i64> {
        None
    }
    /// Shard index.
    fn shard(&self, _ub: i64) -> Option<i64> {
        None
    }
}

impl<F: Fn(Sym) -> Option<i64>> Leaves for F {
    fn axis(&self, axis: Sym) -> Option<i64> {
        self(axis)
    }
}

/// The expression nodes of a module.
#[derive(Clone, Debug, Default)]
pub struct Exprs {
    nodes: Vec<Expr>,
    extra: Vec<(ExprId, Extra)>,
}

impl Exprs {
    /// Adds a node.
    pub fn add(&mut self, node: Expr) -> ExprId {
        let id = ExprId::new(self.nodes.len());
        self.nodes.push(node);
        id
    }

    /// Adds a constant.
    pub fn constant(&mut self, c: i64) -> ExprId {
        self.add(Expr::Affine { terms: Vec::new(), c })
    }

    /// Adds `coeff * axis + c`.
    pub fn axis(&mut self, axis: Sym, coeff: i64, c: i64) -> ExprId {
        let idx = self.add(Expr::Axis { axis });
        self.add(Expr::Affine { terms: vec![AffineTerm { idx, coeff }], c })
    }

    /// Adds the value of a register as an affine expression.
    pub fn register(&mut self, reg: Ref<RegId>) -> ExprId {
        let idx = self.add(Expr::Register { regref: reg });
        self.add(Expr::Affine { terms: vec![AffineTerm { idx, coeff: 1 }], c: 0 })
    }

    /// A node.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// A node, to change it.
    pub fn get_mut(&mut self, id: ExprId) -> &mut Expr {
        &mut self.nodes[id.index()]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, children before parents.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.nodes.iter_mut()
    }

    /// Takes the nodes of a part.
    pub(crate) fn take_part(&mut self, part: Exprs, to: &mut Renumbering) {
        self.nodes.extend(part.nodes.into_iter().map(|mut node| {
            node.renumber(to);
            node
        }));
        self.extra.extend(part.extra.into_iter().map(|(id, extra)| (to.expr(id), extra)));
    }

    /// Keeps unknown members of a node.
    pub fn set_extra(&mut self, id: ExprId, extra: Extra) {
        debug_assert!(self.extra.last().is_none_or(|(last, _)| *last < id), "nodes are finished in order");
        self.extra.push((id, extra));
    }

    /// Unknown members of a node; usually none.
    pub fn extra(&self, id: ExprId) -> &Extra {
        static NONE: Extra = Extra::NONE;
        match self.extra.binary_search_by_key(&id, |(node, _)| *node) {
            Ok(at) => &self.extra[at].1,
            Err(_) => &NONE,
        }
    }

    /// The value when it is a constant that no leaf enters.
    pub fn as_constant(&self, id: ExprId) -> Option<i64> {
        self.eval(id, &|_| None)
    }

    /// Value of an expression; `None` when a leaf has none, a divisor is not positive, or 64 bits do not hold it.
    pub fn eval(&self, id: ExprId, leaves: &impl Leaves) -> Option<i64> {
        match self.get(id) {
            Expr::Axis { axis } => leaves.axis(*axis),
            Expr::Register { regref } => leaves.register(*regref),
            Expr::ShardId { ub } => leaves.shard(*ub),
            Expr::Affine { terms, c } => terms.iter().try_fold(*c, |sum, term| {
                sum.checked_add(self.eval(term.idx, leaves)?.checked_mul(term.coeff)?)
            }),
            Expr::Sum { terms } => {
                terms.iter().try_fold(0i64, |sum, term| sum.checked_add(self.eval(*term, leaves)?))
            }
            Expr::Mult { var, scale } => self.eval(*var, leaves)?.checked_mul(*scale),
            Expr::FloorDiv { numer, denom } if *denom > 0 => {
                Some(self.eval(*numer, leaves)?.div_euclid(*denom))
            }
            Expr::Modulo { numer, denom } if *denom > 0 => {
                Some(self.eval(*numer, leaves)?.rem_euclid(*denom))
            }
            Expr::FloorDiv { .. }
            | Expr::Modulo { .. }
            | Expr::CcDiv { .. }
            | Expr::CcGetRank { .. }
            | Expr::IndirectArg { .. } => None,
        }
    }
}

/// A number that may be an affine expression. spec: bir-json 9.4
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MaybeAffine<T> {
    /// A plain number or truth value.
    Value(T),
    /// An expression.
    Expr(ExprId),
}

impl<T: Copy> MaybeAffine<T> {
    /// The plain value, when it is one.
    pub fn value(self) -> Option<T> {
        match self {
            MaybeAffine::Value(value) => Some(value),
            MaybeAffine::Expr(_) => None,
        }
    }
}

impl<T> From<T> for MaybeAffine<T> {
    fn from(value: T) -> Self {
        MaybeAffine::Value(value)
    }
}

impl<T: PartialEq> PartialEq<T> for MaybeAffine<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, MaybeAffine::Value(value) if value == other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;

    #[test]
    fn a_rotating_buffer_offset() {
        let mut names = Names::new();
        let i = names.intern("i0");
        let mut exprs = Exprs::default();
        let axis = exprs.axis(i, 1, 0);
        let modulo = exprs.add(Expr::Modulo { numer: axis, denom: 2 });
        let offset = exprs.add(Expr::Mult { var: modulo, scale: 256 });
        assert_eq!(exprs.eval(offset, &|a| (a == i).then_some(5)), Some(256));
        assert_eq!(exprs.eval(offset, &|a| (a == i).then_some(-2)), Some(0));
        assert_eq!(exprs.as_constant(offset), None);
    }
}
