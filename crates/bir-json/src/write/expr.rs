//! Affine expressions in the version 2 encoding. spec: bir-json 9.2

use bir::expr::Expr;
use bir::ids::ExprId;

use super::{Write, Writer};

impl<'a> Writer<'a, '_> {
    pub(crate) fn expr(&mut self, id: ExprId) {
        let module = self.module;
        let node = module.exprs.get(id);
        self.object_with(module.exprs.extra(id), |o| {
            // Members in key order: arg_id, axis, c, channel_id, denom, iteration_id, kind, n_terms, numer,
            // regref, replica_groups_id, scale, terms, ub, var.
            match node {
                Expr::CcGetRank { iteration_id, channel_id } => {
                    o.put("\"channel_id\": ", channel_id);
                    o.put("\"iteration_id\": ", iteration_id);
                    o.put_word("\"kind\": ", node.kind());
                }
                Expr::IndirectArg { arg_id } => {
                    o.put("\"arg_id\": ", arg_id);
                    o.put_word("\"kind\": ", node.kind());
                }
                Expr::Axis { axis } => {
                    o.put("\"axis\": ", axis);
                    o.put_word("\"kind\": ", node.kind());
                }
                Expr::Register { regref } => {
                    o.put_word("\"kind\": ", node.kind());
                    o.put("\"regref\": ", regref);
                }
                Expr::ShardId { ub } => {
                    o.put_word("\"kind\": ", node.kind());
                    o.put("\"ub\": ", ub);
                }
                Expr::Affine { terms, c } => {
                    o.put("\"c\": ", c);
                    o.put_word("\"kind\": ", node.kind());
                    o.put_with("\"terms\": ", |w| {
                        w.array(terms, |w, term| {
                            w.out.open(b'{');
                            w.out.separate(true);
                            w.out.static_key("\"coeff\": ");
                            term.coeff.write(w);
                            w.out.separate(false);
                            w.out.static_key("\"idx\": ");
                            w.expr(term.idx);
                            w.out.close(b'}', false);
                        });
                    });
                }
                Expr::Sum { terms } => {
                    o.put_word("\"kind\": ", node.kind());
                    o.put_with("\"n_terms\": ", |w| w.out.unsigned(terms.len() as u64));
                    o.put("\"terms\": ", terms);
                }
                Expr::Mult { var, scale } => {
                    o.put_word("\"kind\": ", node.kind());
                    o.put("\"scale\": ", scale);
                    o.put("\"var\": ", var);
                }
                Expr::FloorDiv { numer, denom } | Expr::Modulo { numer, denom } => {
                    o.put("\"denom\": ", denom);
                    o.put_word("\"kind\": ", node.kind());
                    o.put("\"numer\": ", numer);
                }
                Expr::CcDiv { numer, denom, replica_groups_id } => {
                    o.put("\"denom\": ", denom);
                    o.put_word("\"kind\": ", node.kind());
                    o.put("\"numer\": ", numer);
                    o.put("\"replica_groups_id\": ", replica_groups_id);
                }
            }
        });
    }
}
