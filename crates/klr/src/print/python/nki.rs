//! NKI trees: what tracing starts from.

/// Defines the map from the operators of one schema.
macro_rules! operators {
    ($ty:ty, $land:expr, $lor:expr) => {
        /// The Python operator; `None` for one that Python has not, with its name.
        fn operator(op: $ty) -> Result<Operator, &'static str> {
            use $crate::print::python::ast::Operator as O;
            type B = $ty;
            Ok(match op {
                B::Land => return $land,
                B::Lor => return $lor,
                B::Eq => O::EQ,
                B::Ne => O::NE,
                B::Lt => O::LT,
                B::Le => O::LE,
                B::Gt => O::GT,
                B::Ge => O::GE,
                B::Add => O::ADD,
                B::Sub => O::SUB,
                B::Mul => O::MUL,
                B::Div => O::DIV,
                B::Mod => O::MOD,
                B::Pow => O::POW,
                B::Floor => O::FLOOR,
                B::Lshift => O::LSHIFT,
                B::Rshift => O::RSHIFT,
                B::Or => O::BIT_OR,
                B::Xor => O::BIT_XOR,
                B::And => O::BIT_AND,
            })
        }
    };
}

/// Defines what the trees of both schemas have in common.
macro_rules! shared {
    ($prefix:literal) => {
        fn boxed_expr<'a>(tree: &tree::Expr<'a>) -> Box<Expr<'a>> {
            Box::new(expr(tree))
        }

        fn exprs<'a>(list: &[tree::Expr<'a>]) -> Vec<Expr<'a>> {
            list.iter().map(expr).collect()
        }

        fn keywords<'a>(list: &[tree::Keyword<'a>]) -> Vec<Keyword<'a>> {
            list.iter().map(|keyword| (Some(keyword.name), expr(&keyword.expr))).collect()
        }

        fn arguments<'a>(list: &[tree::Arg<'a>]) -> Vec<Keyword<'a>> {
            list.iter().map(|arg| (Some(arg.name), expr(&arg.value))).collect()
        }

        fn slice<'a>(parts: [Option<&tree::Expr<'a>>; 3]) -> Expr<'a> {
            Expr::Slice(parts.map(|part| boxed(part.map(expr))))
        }

        fn params<'a>(list: &[tree::Param<'a>]) -> Vec<Param<'a>> {
            let param = |param: &tree::Param<'a>| Param {
                stars: "",
                name: param.name,
                default: param.dflt.as_ref().map(expr),
            };
            list.iter().map(param).collect()
        }

        fn stmts<'a>(list: &[tree::Stmt<'a>]) -> Vec<Stmt<'a>> {
            list.iter().map(|tree| Stmt { kind: stmt(&tree.stmt), pos: pos(&tree.pos) }).collect()
        }

        /// A call; the front end writes the unary operators as calls.
        fn call<'a>(f: &tree::Expr<'a>, args: &[tree::Expr<'a>], words: &[tree::Keyword<'a>]) -> Expr<'a> {
            if let (ExprKind::Var(name), [operand], []) = (&f.expr, args, words) {
                let prefix = match name.strip_prefix($prefix) {
                    Some("negate") => Some(Prefix::Negate),
                    Some("invert") => Some(Prefix::Invert),
                    Some("not") => Some(Prefix::Not),
                    _ => None,
                };
                if let Some(prefix) = prefix {
                    return Expr::Unary(prefix, boxed_expr(operand));
                }
            }
            Expr::Call { f: boxed_expr(f), args: exprs(args), keywords: keywords(words) }
        }

        fn binary<'a>(op: tree::BinOp, left: &tree::Expr<'a>, right: &tree::Expr<'a>) -> Expr<'a> {
            match operator(op) {
                Ok(operator) => Expr::Binary(operator, boxed_expr(left), boxed_expr(right)),
                Err(name) => Expr::Call {
                    f: Box::new(Expr::Name(name)),
                    args: vec![expr(left), expr(right)],
                    keywords: Vec::new(),
                },
            }
        }
    };
}

/// Schema 0.0.12.
pub(super) mod old {
    use crate::nki_0_0_12 as tree;
    use crate::nki_0_0_12::{ExprKind, StmtKind as Kind, Value};
    use crate::print::python::ast::{
        Expr, Function, Kernel, Keyword, Operator, Param, Pos, Prefix, Stmt, StmtKind, boxed,
    };

    operators!(tree::BinOp, Ok(O::AND), Ok(O::OR));
    shared!("");

    pub(in super::super) fn kernel<'a>(kernel: &tree::Kernel<'a>) -> Kernel<'a> {
        let function = |fun: &tree::Fun<'a>| Function {
            name: fun.name,
            file: Some(fun.file),
            line: fun.line,
            source: None,
            decorators: Vec::new(),
            params: params(fun.args),
            body: stmts(fun.body),
        };
        Kernel {
            tree: "NKI",
            schema: "0.0.12",
            entry: kernel.entry,
            remarks: Vec::new(),
            globals: arguments(kernel.globals),
            classes: Vec::new(),
            functions: kernel.funs.iter().map(function).collect(),
            args: Vec::new(),
            keywords: arguments(kernel.args),
        }
    }

    fn pos<'a>(pos: &tree::Pos) -> Pos<'a> {
        Pos {
            line: pos.line,
            column: pos.column,
            line_end: pos.line_end,
            column_end: pos.column_end,
            filename: None,
        }
    }

    fn value<'a>(value: &Value<'a>) -> Expr<'a> {
        match *value {
            Value::None => Expr::None,
            Value::Bool(true) => Expr::True,
            Value::Bool(false) => Expr::False,
            Value::Int(value) => Expr::Int(value),
            Value::Float(value) => Expr::Float(value),
            Value::String(text) => Expr::Str(text),
            Value::Ellipsis => Expr::Ellipsis,
            Value::Tensor { shape, dtype } => Expr::Tensor {
                shape: shape.iter().map(|dim| Expr::Int(i64::try_from(*dim).unwrap_or(i64::MAX))).collect(),
                dtype,
                name: None,
            },
        }
    }

    fn expr<'a>(tree: &tree::Expr<'a>) -> Expr<'a> {
        match tree.expr {
            ExprKind::Value(ref tree) => value(tree),
            ExprKind::Var(name) => Expr::Name(name),
            ExprKind::Proj { expr, name } => Expr::Attr(boxed_expr(expr), name),
            ExprKind::Tuple(elements) => Expr::Tuple(exprs(elements)),
            ExprKind::Access { expr, indices } => {
                Expr::Subscript(boxed_expr(expr), indices.iter().map(index).collect())
            }
            ExprKind::BinOp { op, left, right } => binary(op, left, right),
            ExprKind::IfExp { test, body, orelse } => {
                Expr::If { test: boxed_expr(test), body: boxed_expr(body), orelse: boxed_expr(orelse) }
            }
            ExprKind::Call { f, args, keywords } => call(f, args, keywords),
        }
    }

    fn index<'a>(index: &tree::Index<'a>) -> Expr<'a> {
        match *index {
            tree::Index::Coord(i) => expr(i),
            tree::Index::Slice { l, u, step } => slice([l, u, step]),
        }
    }

    fn stmt<'a>(tree: &Kind<'a>) -> StmtKind<'a> {
        match *tree {
            Kind::Expr(e) => StmtKind::Expr(expr(e)),
            Kind::Assert(e) => StmtKind::Assert(expr(e), None),
            Kind::Ret(e) => StmtKind::Return(expr(e)),
            Kind::Assign { x, ty: Some(ty), e } => StmtKind::Annotated(expr(x), expr(ty), e.map(expr)),
            Kind::Assign { x, ty: None, e: Some(e) } => StmtKind::Assign(vec![expr(x)], expr(e)),
            // Neither type nor value: nothing is left but the name.
            Kind::Assign { x, ty: None, e: None } => StmtKind::Expr(expr(x)),
            Kind::IfStm { e, thn, els } => StmtKind::If { test: expr(e), then: stmts(thn), els: stmts(els) },
            Kind::ForLoop { x, iter, body } => {
                StmtKind::For { target: expr(x), iter: expr(iter), body: stmts(body), orelse: Vec::new() }
            }
            Kind::BreakLoop => StmtKind::Break,
            Kind::ContinueLoop => StmtKind::Continue,
        }
    }
}

/// Schema head.
pub(super) mod head {
    use crate::nki_head as tree;
    use crate::nki_head::{ExprKind, Iterator, Pattern, RangeType, StmtKind as Kind, Value};
    use crate::print::python::ast::{
        Class, Expr, Function, Kernel, Keyword, Operator, Param, Pos, Prefix, Stmt, StmtKind, boxed,
    };

    // `and` and `or` have nodes of their own; these two do not stop early.
    operators!(tree::BinOp, Err("land"), Err("lor"));
    shared!("builtin.op.");

    pub(in super::super) fn kernel<'a>(kernel: &tree::Kernel<'a>) -> Kernel<'a> {
        let number = |value: u64| vec![Expr::Int(i64::try_from(value).unwrap_or(i64::MAX))];
        let mut remarks = vec![("arch", number(kernel.arch)), ("grid", number(kernel.grid))];
        for edges in kernel.edges {
            let names = std::iter::once(&edges.from_edge).chain(edges.to_edges);
            remarks.push(("edge from, to", names.map(|name| Expr::Str(name)).collect()));
        }
        for (name, flag) in kernel.flags {
            remarks.push(("flag", vec![Expr::Str(name), value(flag)]));
        }
        let class = |class: &tree::Class<'a>| Class {
            name: class.name,
            bases: class.bases.iter().map(|name| Expr::Name(name)).collect(),
            decorators: class.decs.iter().map(|name| Expr::Name(name)).collect(),
            fields: keywords(class.fields),
            methods: class.methods.iter().map(function).collect(),
        };
        Kernel {
            tree: "NKI",
            schema: "head",
            entry: kernel.entry,
            remarks,
            globals: arguments(kernel.globals),
            classes: kernel.cls.iter().map(class).collect(),
            functions: kernel.funs.iter().map(function).collect(),
            args: Vec::new(),
            keywords: arguments(kernel.args),
        }
    }

    fn function<'a>(fun: &tree::Fun<'a>) -> Function<'a> {
        Function {
            name: fun.name,
            file: Some(fun.file),
            line: fun.line,
            source: Some(fun.source),
            decorators: fun.decs.iter().map(|name| Expr::Name(name)).collect(),
            params: params(fun.args),
            body: stmts(fun.body),
        }
    }

    fn pos<'a>(pos: &tree::Pos<'a>) -> Pos<'a> {
        Pos {
            line: pos.line,
            column: pos.column,
            line_end: pos.line_end,
            column_end: pos.column_end,
            filename: pos.filename,
        }
    }

    fn value<'a>(value: &Value<'a>) -> Expr<'a> {
        match *value {
            Value::None => Expr::None,
            Value::Bool(true) => Expr::True,
            Value::Bool(false) => Expr::False,
            Value::Int(value) => Expr::Int(value),
            Value::Float(value) => Expr::Float(value),
            Value::String(text) => Expr::Str(text),
            Value::Tensor { shape, dtype, name } => Expr::Tensor {
                shape: shape.iter().map(|dim| Expr::Int(i64::try_from(*dim).unwrap_or(i64::MAX))).collect(),
                dtype,
                name,
            },
        }
    }

    fn expr<'a>(tree: &tree::Expr<'a>) -> Expr<'a> {
        match tree.expr {
            ExprKind::Value(ref tree) => value(tree),
            ExprKind::Var(name) => Expr::Name(name),
            ExprKind::Tuple(elements) => Expr::Tuple(exprs(elements)),
            ExprKind::List(elements) => Expr::List(exprs(elements)),
            ExprKind::Dict(elements) => {
                let member = |keyword: &tree::Keyword<'a>| (Expr::Str(keyword.name), expr(&keyword.expr));
                Expr::Dict(elements.iter().map(member).collect())
            }
            ExprKind::Access { expr, indices } => {
                Expr::Subscript(boxed_expr(expr), indices.iter().map(index).collect())
            }
            ExprKind::BinOp { op, left, right } => binary(op, left, right),
            ExprKind::Conj { left, right } => {
                Expr::Binary(Operator::AND, boxed_expr(left), boxed_expr(right))
            }
            ExprKind::Disj { left, right } => Expr::Binary(Operator::OR, boxed_expr(left), boxed_expr(right)),
            ExprKind::IfExp { test, tru, fls } => {
                Expr::If { test: boxed_expr(test), body: boxed_expr(tru), orelse: boxed_expr(fls) }
            }
            ExprKind::Call { f, args, keywords } => call(f, args, keywords),
            ExprKind::Object { cls, fields } => Expr::Call {
                f: Box::new(Expr::Name("object")),
                args: vec![Expr::Name(cls)],
                keywords: keywords(fields),
            },
            ExprKind::Format { expr, repr } => {
                Expr::Format { expr: boxed_expr(expr), conversion: repr.then_some('r') }
            }
            ExprKind::Joined(parts) => Expr::Joined(exprs(parts)),
        }
    }

    fn index<'a>(index: &tree::Index<'a>) -> Expr<'a> {
        match *index {
            tree::Index::Coord(i) => expr(i),
            tree::Index::Slice { l, u, step } => slice([l, u, step]),
            tree::Index::Ellipsis => Expr::Ellipsis,
        }
    }

    fn pattern<'a>(tree: &Pattern<'a>) -> Expr<'a> {
        match *tree {
            Pattern::Var(name) => Expr::Name(name),
            Pattern::Tuple(parts) => Expr::Tuple(parts.iter().map(pattern).collect()),
        }
    }

    fn iterator<'a>(tree: &Iterator<'a>) -> Expr<'a> {
        match *tree {
            Iterator::Expr(e) => expr(e),
            Iterator::Range { ty, l, u, s } => {
                let name = match ty {
                    RangeType::Static => "static_range",
                    RangeType::Affine => "affine_range",
                    RangeType::Sequential => "sequential_range",
                    RangeType::Dynamic => "dynamic_range",
                };
                let args = vec![expr(l), expr(u), expr(s)];
                Expr::Call { f: Box::new(Expr::Name(name)), args, keywords: Vec::new() }
            }
        }
    }

    fn stmt<'a>(tree: &Kind<'a>) -> StmtKind<'a> {
        match *tree {
            Kind::Expr(e) => StmtKind::Expr(expr(e)),
            Kind::Assert { e, msg } => StmtKind::Assert(expr(e), msg.map(expr)),
            Kind::Ret(e) => StmtKind::Return(expr(e)),
            Kind::Declare { x, ty } => StmtKind::Annotated(Expr::Name(x), expr(ty), None),
            Kind::LetM { ref p, ty: Some(ty), e } => StmtKind::Annotated(pattern(p), expr(ty), Some(expr(e))),
            Kind::LetM { ref p, ty: None, e } => StmtKind::Assign(vec![pattern(p)], expr(e)),
            Kind::SetM { x, e, accum: true } => StmtKind::Augmented(expr(x), "+", expr(e)),
            Kind::SetM { x, e, accum: false } => StmtKind::Assign(vec![expr(x)], expr(e)),
            Kind::IfStm { e, thn, els } => StmtKind::If { test: expr(e), then: stmts(thn), els: stmts(els) },
            Kind::ForLoop { x, ref iter, body } => StmtKind::For {
                target: Expr::Name(x),
                iter: iterator(iter),
                body: stmts(body),
                orelse: Vec::new(),
            },
            Kind::BreakLoop => StmtKind::Break,
            Kind::ContinueLoop => StmtKind::Continue,
            Kind::WhileLoop { test, body } => {
                StmtKind::While { test: expr(test), body: stmts(body), orelse: Vec::new() }
            }
            Kind::WithBlock { item, body } => {
                let f = Box::new(Expr::Name(item));
                let item = Expr::Call { f, args: Vec::new(), keywords: Vec::new() };
                StmtKind::With { items: vec![(item, None)], body: stmts(body) }
            }
        }
    }
}
