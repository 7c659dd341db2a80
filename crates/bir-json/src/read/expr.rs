//! Affine expressions, both versions told apart by their form. spec: bir-json 9.2, 9.5

use bir::expr::{AffineTerm, Expr};
use bir::ids::{ExprId, Ref, RegId};
use bir::{Extra, Sym, Value};
use smallvec::SmallVec;

use super::{OddityKind, Reader};
use crate::error::{ReadErrorKind, Result};

/// The members of an expression object, whatever their kind.
#[derive(Default)]
struct Node {
    at: usize,
    /// The known members that are there.
    keys: SmallVec<[&'static str; 6]>,
    /// Members with an expression of version 1 in them, and where that is.
    version_1: SmallVec<[(&'static str, usize); 1]>,
    kind: Option<String>,
    terms: Option<Vec<Term>>,
    c: Option<i64>,
    axis: Option<Sym>,
    regref: Option<Ref<RegId>>,
    iteration_id: Option<i64>,
    channel_id: Option<i64>,
    arg_id: Option<i64>,
    ub: Option<i64>,
    n_terms: Option<u64>,
    var: Option<ExprId>,
    scale: Option<i64>,
    numer: Option<ExprId>,
    denom: Option<i64>,
    replica_groups_id: Option<u64>,
    op: Option<Sym>,
    op_param: Option<i64>,
    extra: Extra,
}

/// An element of `terms`: a term of an affine expression, or a summand.
enum Term {
    Affine(AffineTerm),
    Summand(ExprId),
}

/// Tags of spec: bir-json 9.2, among them the one that is only read.
const KINDS: &[&str] = &[
    "CCGetRankKind",
    "IndirectArgId",
    "AffIVKind",
    "IntRuntimeValueKind",
    "ShardIDKind",
    "AffExprKind",
    "SumKind",
    "MultKind",
    "FloorDivKind",
    "ModuloKind",
    "CCDivKind",
    "CCModKind",
];

/// Members that some kind of expression has.
const MEMBERS: &[&str] = &[
    "kind",
    "terms",
    "c",
    "axis",
    "regref",
    "iteration_id",
    "channel_id",
    "arg_id",
    "ub",
    "n_terms",
    "var",
    "scale",
    "numer",
    "denom",
    "replica_groups_id",
    "op",
    "op_param",
];

pub(super) fn is_expr_kind(kind: &str) -> bool {
    KINDS.contains(&kind)
}

impl Reader<'_> {
    pub(crate) fn expr(&mut self, expected: &'static str) -> Result<ExprId> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type(expected);
        }
        self.mark();
        let mut node = self.expr_node()?;
        self.keep_foreign_members(&mut node)?;
        self.first_exprs.any.get_or_insert(node.at);
        self.build_expr(node)
    }

    fn expr_node(&mut self) -> Result<Node> {
        let mut node = Node { at: self.lexer.pos(), ..Node::default() };
        self.each_member(|r, key, at| {
            let known = MEMBERS.iter().find(|known| **known == key);
            r.again |= known.is_some_and(|known| node.keys.contains(known));
            if known.is_some() && r.lexer.peek() == b'n' {
                r.lexer.literal("null")?;
                // Lists, references and expressions may be null. spec: bir-json 1
                if !matches!(&*key, "terms" | "axis" | "regref" | "var" | "numer") {
                    r.misplaced_null(&key, at);
                }
                return Ok(true);
            }
            node.keys.extend(known.copied());
            // Whether the member is one of this kind of expression is not known yet.
            let version_1 = r.first_exprs.version_1.take();
            match &*key {
                "kind" => {
                    if r.lexer.peek() != b'"' {
                        return r.lexer.wrong_type("a string: the kind of an expression");
                    }
                    node.kind = Some(r.lexer.string()?.into());
                }
                "terms" => node.terms = Some(r.expr_terms()?),
                "c" => node.c = Some(r.get()?),
                "axis" => node.axis = Some(r.sym("a string: the name of a loop axis")?),
                "regref" => node.regref = Some(r.get()?),
                "iteration_id" => node.iteration_id = Some(r.get()?),
                "channel_id" => node.channel_id = Some(r.get()?),
                "arg_id" => node.arg_id = Some(r.get()?),
                "ub" => node.ub = Some(r.get()?),
                "n_terms" => node.n_terms = Some(r.get()?),
                "var" => node.var = Some(r.get()?),
                "scale" => node.scale = Some(r.get()?),
                "numer" => node.numer = Some(r.get()?),
                "denom" => node.denom = Some(r.get()?),
                "replica_groups_id" => node.replica_groups_id = Some(r.get()?),
                "op" => node.op = Some(r.sym("a string: the operation of a version 1 expression")?),
                "op_param" => node.op_param = Some(r.get()?),
                _ => {
                    let value = r.value()?;
                    node.extra.push(&key, value);
                    r.oddity(OddityKind::UnknownMember, at, || format!("unknown member `{key}`"));
                }
            }
            let inside = std::mem::replace(&mut r.first_exprs.version_1, version_1);
            node.version_1.extend(known.copied().zip(inside));
            Ok(true)
        })?;
        self.again |= node.extra.sort();
        Ok(node)
    }

    /// Members that belong to expressions of another kind are unknown members of this one.
    fn keep_foreign_members(&mut self, node: &mut Node) -> Result<()> {
        let own: &[&str] = match node.kind.as_deref() {
            None => &["terms", "c", "op", "op_param"],
            Some("CCGetRankKind") => &["iteration_id", "channel_id"],
            Some("IndirectArgId") => &["arg_id"],
            Some("AffIVKind") => &["axis"],
            Some("IntRuntimeValueKind") => &["regref"],
            Some("ShardIDKind") => &["ub"],
            Some("AffExprKind") => &["terms", "c"],
            Some("SumKind") => &["n_terms", "terms"],
            Some("MultKind") => &["var", "scale"],
            Some("CCDivKind") => &["numer", "denom", "replica_groups_id"],
            Some(_) => &["numer", "denom"],
        };
        for (_, at) in node.version_1.iter().filter(|(key, _)| own.contains(key)) {
            self.first_exprs.version_1.get_or_insert(*at);
        }
        if node.keys.iter().all(|key| *key == "kind" || own.contains(key)) {
            return Ok(());
        }
        let (end, depth) = (self.lexer.pos(), self.lexer.depth());
        self.lexer.seek(node.at);
        let Value::Object(members) = self.value()? else { unreachable!("an expression is an object") };
        self.lexer.seek(end);
        self.lexer.set_depth(depth);
        for (key, value) in &members {
            if node.keys.contains(&&**key) && **key != *"kind" && !own.contains(&&**key) {
                node.extra.insert(key, value.clone());
                self.oddity(OddityKind::UnknownMember, node.at, || format!("unknown member `{key}`"));
            }
        }
        Ok(())
    }

    fn expr_terms(&mut self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        self.each_element("an array of terms", |r| {
            terms.push(r.expr_term()?);
            Ok(())
        })?;
        Ok(terms)
    }

    /// `{idx, coeff}`, `{AxisLabel, coef}` of version 1, or an expression: looked at before it is read.
    fn expr_term(&mut self) -> Result<Term> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("a term or an expression");
        }
        let at = self.lexer.pos();
        let mut ahead = self.lexer.clone();
        ahead.enter()?;
        let mut is_term =
            ahead.peek() == b'"' && matches!(&*ahead.key()?, "idx" | "coeff" | "AxisLabel" | "coef");
        // An expression may have an unknown member of such a name.
        while is_term {
            ahead.skip_value()?;
            if !ahead.next_member()? {
                break;
            }
            is_term = ahead.key()? != "kind";
        }
        if !is_term {
            return self.expr("a term or an expression").map(Term::Summand);
        }
        let (mut idx, mut label, mut coeff) = (None, None, None);
        self.each_member(|r, key, at| {
            r.again |= match &*key {
                "idx" => idx.is_some(),
                "AxisLabel" => label.is_some(),
                _ => coeff.is_some(),
            };
            match &*key {
                "idx" => idx = Some(r.expr("an index expression")?),
                "AxisLabel" => label = Some(r.sym("a string: the name of a loop axis")?),
                "coeff" | "coef" => coeff = Some(r.get()?),
                _ => {
                    return Err(
                        ReadErrorKind::UnknownName { what: "member of a term", name: key.into() }.at(at)
                    );
                }
            }
            Ok(true)
        })?;
        let idx = match (idx, label) {
            (Some(idx), _) => idx,
            (None, Some(axis)) => {
                self.first_exprs.version_1.get_or_insert(at);
                self.module.exprs.add(Expr::Axis { axis })
            }
            (None, None) => return Err(ReadErrorKind::MissingKey("idx").at(at)),
        };
        if !self.module.exprs.get(idx).is_index() {
            let kind = self.module.exprs.get(idx).kind();
            return Err(ReadErrorKind::Invalid(format!("{kind} cannot be the index of a term")).at(at));
        }
        let coeff = coeff.ok_or_else(|| ReadErrorKind::MissingKey("coeff").at(at))?;
        Ok(Term::Affine(AffineTerm { idx, coeff }))
    }

    fn build_expr(&mut self, mut node: Node) -> Result<ExprId> {
        let at = node.at;
        let need = |value: Option<i64>, key| value.ok_or_else(|| ReadErrorKind::MissingKey(key).at(at));
        let child = |value: Option<ExprId>, key| value.ok_or_else(|| ReadErrorKind::MissingKey(key).at(at));
        let Some(kind) = node.kind.take() else { return self.build_v1(node) };
        let expr = match &*kind {
            "CCGetRankKind" => {
                let iteration_id = need(node.iteration_id, "iteration_id")?;
                let channel_id = need(node.channel_id, "channel_id")?;
                if iteration_id < 0 || channel_id < 0 {
                    return self.invalid(at, "Invalid iteration_id or channel_id for CCGetRankExpr!");
                }
                Expr::CcGetRank { iteration_id, channel_id }
            }
            "IndirectArgId" => {
                let arg_id = need(node.arg_id, "arg_id")?;
                if arg_id < 0 {
                    return self.invalid(at, "Invalid arg_id for IndirectArgExpr!");
                }
                Expr::IndirectArg { arg_id }
            }
            "AffIVKind" => {
                Expr::Axis { axis: node.axis.ok_or_else(|| ReadErrorKind::MissingKey("axis").at(at))? }
            }
            "IntRuntimeValueKind" => Expr::Register {
                regref: node.regref.ok_or_else(|| ReadErrorKind::MissingKey("regref").at(at))?,
            },
            "ShardIDKind" => Expr::ShardId { ub: need(node.ub, "ub")? },
            "AffExprKind" => return self.build_affine(node),
            "SumKind" => {
                let terms = node.terms.take().ok_or_else(|| ReadErrorKind::MissingKey("terms").at(at))?;
                if node.n_terms.is_some_and(|n| n != terms.len() as u64) {
                    return self.invalid(at, "Number of terms don't match");
                }
                let mut summands = Vec::with_capacity(terms.len());
                for term in terms {
                    match term {
                        Term::Summand(id) => summands.push(id),
                        Term::Affine(_) => {
                            return self
                                .invalid(at, "a sum has expressions as terms, not pairs of idx and coeff");
                        }
                    }
                }
                Expr::Sum { terms: summands }
            }
            "MultKind" => Expr::Mult { var: child(node.var, "var")?, scale: need(node.scale, "scale")? },
            "FloorDivKind" | "ModuloKind" | "CCDivKind" | "CCModKind" => {
                let numer = child(node.numer, "numer")?;
                let denom = need(node.denom, "denom")?;
                if denom <= 0 {
                    return self.invalid(at, "the denominator must be positive");
                }
                match &*kind {
                    "FloorDivKind" => Expr::FloorDiv { numer, denom },
                    "CCDivKind" => {
                        let groups = node.replica_groups_id.unwrap_or(0);
                        Expr::CcDiv { numer, denom, replica_groups_id: groups }
                    }
                    // CCModKind is read only: it decodes as a modulo. spec: bir-json 9.2
                    _ => Expr::Modulo { numer, denom },
                }
            }
            other => {
                let name = other.to_owned();
                return Err(ReadErrorKind::UnknownName {
                    what: "Walrus doesn't support this kind of Expr",
                    name,
                }
                .at(at));
            }
        };
        Ok(self.finish_expr(expr, node.extra))
    }

    fn finish_expr(&mut self, expr: Expr, extra: Extra) -> ExprId {
        let id = self.module.exprs.add(expr);
        if !extra.is_empty() {
            self.module.exprs.set_extra(id, extra);
        }
        id
    }

    fn invalid<T>(&self, at: usize, text: &str) -> Result<T> {
        Err(ReadErrorKind::Invalid(text.into()).at(at))
    }

    /// `c + sum(coeff * idx)`; of terms with one index the last one counts. spec: bir-json 9.2
    fn build_affine(&mut self, node: Node) -> Result<ExprId> {
        let mut terms: Vec<AffineTerm> = Vec::new();
        // Long lists are indexed: a term's index is a leaf, so its text identifies it.
        let mut index: hashbrown::HashMap<String, usize> = hashbrown::HashMap::new();
        for term in node.terms.unwrap_or_default() {
            let Term::Affine(term) = term else {
                return self.invalid(node.at, "an affine expression has pairs of idx and coeff as terms");
            };
            let exprs = &self.module.exprs;
            let same = if terms.len() < 16 {
                terms.iter().position(|t| exprs.get(t.idx) == exprs.get(term.idx))
            } else {
                let key = |t: &AffineTerm| format!("{:?}", exprs.get(t.idx));
                if index.is_empty() {
                    index.extend(terms.iter().enumerate().map(|(i, t)| (key(t), i)));
                }
                let known = *index.entry(key(&term)).or_insert(terms.len());
                (known < terms.len()).then_some(known)
            };
            match same {
                Some(same) => {
                    self.oddity(OddityKind::DuplicateKey, node.at, || "two terms with one index".into());
                    terms[same].coeff = term.coeff;
                }
                None => terms.push(term),
            }
        }
        Ok(self.finish_expr(Expr::Affine { terms, c: node.c.unwrap_or(0) }, node.extra))
    }

    /// An object without `kind`: an affine body, and perhaps an operation on it. spec: bir-json 9.5
    fn build_v1(&mut self, mut node: Node) -> Result<ExprId> {
        let at = node.at;
        let Some(op) = node.op else { return self.build_affine(node) };
        self.first_exprs.version_1.get_or_insert(at);
        let param = node.op_param.ok_or_else(|| ReadErrorKind::MissingKey("op_param").at(at))?;
        let name = self.module.str(op).to_owned();
        let mut extra = std::mem::take(&mut node.extra);
        let body = self.build_affine(node)?;
        if matches!(&*name, "Div" | "Mod" | "CCGetRank") && param <= 0 {
            return self.invalid(at, "the denominator must be positive");
        }
        let expr = match &*name {
            "Mod" => Expr::Modulo { numer: body, denom: param },
            "Div" => Expr::FloorDiv { numer: body, denom: param },
            // The version 1 tag CCGetRank means a division. spec: bir-json 9.5, traps
            "CCGetRank" => Expr::CcDiv { numer: body, denom: param, replica_groups_id: 0 },
            "IndirectArgId" => {
                if self.module.exprs.as_constant(body) != Some(0) {
                    return self.invalid(at, "the body of an IndirectArgId must be 0");
                }
                if param < 0 {
                    return self.invalid(at, "Invalid arg_id for IndirectArgExpr!");
                }
                Expr::IndirectArg { arg_id: param }
            }
            _ => {
                // The reference gives the body; the operation is kept beside it.
                self.oddity(OddityKind::UnknownName, at, || format!("unknown version 1 operation `{name}`"));
                extra.insert("op", Value::from(&*name));
                extra.insert("op_param", Value::from(param));
                self.module.exprs.set_extra(body, extra);
                return Ok(body);
            }
        };
        Ok(self.finish_expr(expr, extra))
    }
}
