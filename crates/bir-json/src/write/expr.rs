//! Affine expressions in the version 2 encoding. spec: bir-json 9.2

use bir::expr::Expr;
use bir::ids::ExprId;

use super::{Write, Writer, key};

impl<'a> Writer<'a, '_> {
    pub(crate) fn expr(&mut self, id: ExprId) {
        let module = self.module;
        let node = module.exprs.get(id);
        self.object_with(module.exprs.extra(id), |o| {
            // Members in key order: arg_id, axis, c, channel_id, denom, iteration_id, kind, n_terms, numer,
            // regref, replica_groups_id, scale, terms, ub, var.
            match node {
                Expr::CcGetRank { iteration_id, channel_id } => {
                    o.put(key!("channel_id"), channel_id);
                    o.put(key!("iteration_id"), iteration_id);
                    o.put_word(key!("kind"), node.kind());
                }
                Expr::IndirectArg { arg_id } => {
                    o.put(key!("arg_id"), arg_id);
                    o.put_word(key!("kind"), node.kind());
                }
                Expr::Axis { axis } => {
                    o.put(key!("axis"), axis);
                    o.put_word(key!("kind"), node.kind());
                }
                Expr::Register { regref } => {
                    o.put_word(key!("kind"), node.kind());
                    o.put(key!("regref"), regref);
                }
                Expr::ShardId { ub } => {
                    o.put_word(key!("kind"), node.kind());
                    o.put(key!("ub"), ub);
                }
                Expr::Affine { terms, c } => {
                    o.put(key!("c"), c);
                    o.put_word(key!("kind"), node.kind());
                    o.put_with(key!("terms"), |w| {
                        w.array(terms, |w, term| {
                            w.out.open(b'{');
                            w.out.separate(true);
                            w.out.key(key!("coeff"));
                            term.coeff.write(w);
                            w.out.separate(false);
                            w.out.key(key!("idx"));
                            w.expr(term.idx);
                            w.out.close(b'}', false);
                        });
                    });
                }
                Expr::Sum { terms } => {
                    o.put_word(key!("kind"), node.kind());
                    o.put_with(key!("n_terms"), |w| w.out.unsigned(terms.len() as u64));
                    o.put(key!("terms"), terms);
                }
                Expr::Mult { var, scale } => {
                    o.put_word(key!("kind"), node.kind());
                    o.put(key!("scale"), scale);
                    o.put(key!("var"), var);
                }
                Expr::FloorDiv { numer, denom } | Expr::Modulo { numer, denom } => {
                    o.put(key!("denom"), denom);
                    o.put_word(key!("kind"), node.kind());
                    o.put(key!("numer"), numer);
                }
                Expr::CcDiv { numer, denom, replica_groups_id } => {
                    o.put(key!("denom"), denom);
                    o.put_word(key!("kind"), node.kind());
                    o.put(key!("numer"), numer);
                    o.put(key!("replica_groups_id"), replica_groups_id);
                }
            }
        });
    }
}
