//! Python trees: the functions as parsed.

/// Defines what the trees of both schemas have in common.
macro_rules! shared {
    () => {
        fn boxed_expr<'a>(tree: &tree::Expr<'a>) -> Box<Expr<'a>> {
            Box::new(expr(tree))
        }

        fn exprs<'a>(list: &[tree::Expr<'a>]) -> Vec<Expr<'a>> {
            list.iter().map(expr).collect()
        }

        fn slice<'a>(parts: [Option<&tree::Expr<'a>>; 3]) -> Expr<'a> {
            Expr::Slice(parts.map(|part| boxed(part.map(expr))))
        }

        fn stmts<'a>(list: &[tree::Stmt<'a>]) -> Vec<Stmt<'a>> {
            list.iter().map(|tree| Stmt { kind: stmt(&tree.stmt), pos: pos(&tree.pos) }).collect()
        }

        fn operator(op: tree::BinOp) -> Operator {
            use tree::BinOp as B;
            match op {
                B::Add => Operator::ADD,
                B::Sub => Operator::SUB,
                B::Mul => Operator::MUL,
                B::Matmul => Operator::MATMUL,
                B::Div => Operator::DIV,
                B::Mod => Operator::MOD,
                B::Pow => Operator::POW,
                B::Lshift => Operator::LSHIFT,
                B::Rshift => Operator::RSHIFT,
                B::Or => Operator::BIT_OR,
                B::Xor => Operator::BIT_XOR,
                B::And => Operator::BIT_AND,
                B::Floor => Operator::FLOOR,
            }
        }

        fn bool_op<'a>(op: tree::BoolOp, values: &[tree::Expr<'a>]) -> Expr<'a> {
            let operator = match op {
                tree::BoolOp::Land => Operator::AND,
                tree::BoolOp::Lor => Operator::OR,
            };
            Expr::Bool(operator, exprs(values))
        }

        fn unary<'a>(op: tree::UnaryOp, operand: &tree::Expr<'a>) -> Expr<'a> {
            let prefix = match op {
                tree::UnaryOp::Invert => Prefix::Invert,
                tree::UnaryOp::Not => Prefix::Not,
                tree::UnaryOp::Uadd => Prefix::Plus,
                tree::UnaryOp::Usub => Prefix::Minus,
            };
            Expr::Unary(prefix, boxed_expr(operand))
        }

        fn compare<'a>(left: &tree::Expr<'a>, ops: &[tree::CmpOp], rest: &[tree::Expr<'a>]) -> Expr<'a> {
            use tree::CmpOp as C;
            let word = |op: &tree::CmpOp| match op {
                C::Eq => "==",
                C::Ne => "!=",
                C::Lt => "<",
                C::Le => "<=",
                C::Gt => ">",
                C::Ge => ">=",
                C::Is => "is",
                C::IsNot => "is not",
                C::IsIn => "in",
                C::NotIn => "not in",
            };
            Expr::Compare(boxed_expr(left), ops.iter().map(word).zip(rest.iter().map(expr)).collect())
        }

        /// The parameters as written: `a, b=1, /, c, *args, d, e=2, **kw`.
        fn params<'a>(args: &tree::Args<'a>) -> Vec<Param<'a>> {
            let positional: Vec<&'a str> = args.posonlyargs.iter().chain(args.args).copied().collect();
            // Defaults belong to the last positional parameters.
            let without = positional.len().saturating_sub(args.defaults.len());
            let mut params = Vec::new();
            for (index, name) in positional.iter().enumerate() {
                let default = index.checked_sub(without).and_then(|at| args.defaults.get(at)).map(expr);
                params.push(Param { stars: "", name, default });
                if index + 1 == args.posonlyargs.len() {
                    params.push(Param { stars: "/", name: "", default: None });
                }
            }
            match args.vararg {
                Some(name) => params.push(Param { stars: "*", name, default: None }),
                None if !args.kwonlyargs.is_empty() => {
                    params.push(Param { stars: "*", name: "", default: None });
                }
                None => {}
            }
            for name in args.kwonlyargs {
                let default = args.kw_defaults.iter().find(|keyword| keyword_name(keyword) == Some(*name));
                params.push(Param { stars: "", name, default: default.map(|keyword| expr(&keyword.value)) });
            }
            if let Some(name) = args.kwarg {
                params.push(Param { stars: "**", name, default: None });
            }
            params
        }

        fn keywords<'a>(list: &[tree::Keyword<'a>]) -> Vec<Keyword<'a>> {
            list.iter().map(|keyword| (keyword_name(keyword), expr(&keyword.value))).collect()
        }
    };
}

/// Schema 0.0.12.
pub(super) mod old {
    use crate::print::python::ast::{
        Expr, Function, Kernel, Keyword, Operator, Param, Pos, Prefix, Stmt, StmtKind, boxed,
    };
    use crate::python_0_0_12 as tree;
    use crate::python_0_0_12::{Const, ExprKind, StmtKind as Kind};

    shared!();

    pub(in super::super) fn kernel<'a>(kernel: &tree::Kernel<'a>) -> Kernel<'a> {
        let mut remarks = Vec::new();
        if !kernel.undefined_symbols.is_empty() {
            let names = kernel.undefined_symbols.iter().map(|name| Expr::Name(name));
            remarks.push(("undefined", names.collect()));
        }
        let function = |fun: &tree::Fun<'a>| Function {
            name: fun.name,
            file: None,
            line: fun.line,
            source: Some(fun.source),
            decorators: Vec::new(),
            params: params(&fun.args),
            body: stmts(fun.body),
        };
        Kernel {
            tree: "Python",
            schema: "0.0.12",
            entry: kernel.entry,
            remarks,
            globals: keywords(kernel.globals),
            classes: Vec::new(),
            functions: kernel.funcs.iter().map(function).collect(),
            args: exprs(kernel.args),
            keywords: keywords(kernel.kwargs),
        }
    }

    fn keyword_name<'a>(keyword: &tree::Keyword<'a>) -> Option<&'a str> {
        Some(keyword.id)
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

    fn value<'a>(value: &Const<'a>) -> Expr<'a> {
        match *value {
            Const::None => Expr::None,
            Const::Bool(true) => Expr::True,
            Const::Bool(false) => Expr::False,
            Const::Int(value) => Expr::Int(value),
            Const::Float(value) => Expr::Float(value),
            Const::String(text) => Expr::Str(text),
            Const::Ellipsis => Expr::Ellipsis,
        }
    }

    fn expr<'a>(tree: &tree::Expr<'a>) -> Expr<'a> {
        match tree.expr {
            ExprKind::Const(ref constant) => value(constant),
            ExprKind::Tensor { shape, dtype } => Expr::Tensor { shape: exprs(shape), dtype, name: None },
            ExprKind::Name { id, .. } => Expr::Name(id),
            ExprKind::Attr { value, id, .. } => Expr::Attr(boxed_expr(value), id),
            ExprKind::Tuple { xs, .. } => Expr::Tuple(exprs(xs)),
            ExprKind::List { xs, .. } => Expr::List(exprs(xs)),
            ExprKind::Subscript { tensor, index, .. } => {
                Expr::Subscript(boxed_expr(tensor), vec![expr(index)])
            }
            ExprKind::Slice { l, u, step } => slice([l, u, step]),
            ExprKind::BoolOp { op, values } => bool_op(op, values),
            ExprKind::BinOp { op, left, right } => {
                Expr::Binary(operator(op), boxed_expr(left), boxed_expr(right))
            }
            ExprKind::UnaryOp { op, operand } => unary(op, operand),
            ExprKind::Compare { left, ops, comparators } => compare(left, ops, comparators),
            ExprKind::IfExp { test, body, orelse } => {
                Expr::If { test: boxed_expr(test), body: boxed_expr(body), orelse: boxed_expr(orelse) }
            }
            ExprKind::Call { f, args, keywords: words } => {
                Expr::Call { f: boxed_expr(f), args: exprs(args), keywords: keywords(words) }
            }
        }
    }

    fn stmt<'a>(tree: &Kind<'a>) -> StmtKind<'a> {
        match *tree {
            Kind::Pass => StmtKind::Pass,
            Kind::Expr(e) => StmtKind::Expr(expr(e)),
            Kind::Assert(e) => StmtKind::Assert(expr(e), None),
            Kind::Ret(e) => StmtKind::Return(expr(e)),
            Kind::Assign { xs, e } => StmtKind::Assign(exprs(xs), expr(e)),
            Kind::AugAssign { x, op, e } => StmtKind::Augmented(expr(x), operator(op).word, expr(e)),
            Kind::AnnAssign { x, annotation, value } => {
                StmtKind::Annotated(expr(x), expr(annotation), value.map(expr))
            }
            Kind::IfStm { e, thn, els } => StmtKind::If { test: expr(e), then: stmts(thn), els: stmts(els) },
            Kind::ForLoop { x, iter, body, orelse } => {
                StmtKind::For { target: expr(x), iter: expr(iter), body: stmts(body), orelse: stmts(orelse) }
            }
            Kind::BreakLoop => StmtKind::Break,
            Kind::ContinueLoop => StmtKind::Continue,
        }
    }
}

/// Schema head.
pub(super) mod head {
    use crate::print::python::ast::{
        Class, Expr, Function, Kernel, Keyword, Operator, Param, Pos, Prefix, Stmt, StmtKind, boxed,
    };
    use crate::python_head as tree;
    use crate::python_head::{Const, ExprKind, StmtKind as Kind};

    shared!();

    pub(in super::super) fn kernel<'a>(kernel: &tree::Kernel<'a>) -> Kernel<'a> {
        let number = |value: u64| vec![Expr::Int(i64::try_from(value).unwrap_or(i64::MAX))];
        let mut remarks = vec![("arch", number(kernel.arch)), ("grid", number(kernel.grid))];
        remarks.extend(kernel.schedule_edges.iter().map(|edge| ("edge", vec![expr(edge)])));
        remarks.extend(kernel.flags.iter().map(|flag| ("flag", vec![expr(flag)])));
        let class = |class: &tree::Class<'a>| Class {
            name: class.name,
            bases: exprs(class.bases),
            decorators: exprs(class.decorators),
            fields: keywords(class.fields),
            methods: class.methods.iter().map(function).collect(),
        };
        Kernel {
            tree: "Python",
            schema: "head",
            entry: kernel.entry,
            remarks,
            globals: keywords(kernel.globals),
            classes: kernel.classes.iter().map(class).collect(),
            functions: kernel.funcs.iter().map(function).collect(),
            args: exprs(kernel.args),
            keywords: keywords(kernel.kwargs),
        }
    }

    fn function<'a>(fun: &tree::Fun<'a>) -> Function<'a> {
        Function {
            name: fun.name,
            file: Some(fun.file_name),
            line: fun.line,
            source: Some(fun.source),
            decorators: exprs(fun.decorators),
            params: params(&fun.args),
            body: stmts(fun.body),
        }
    }

    fn keyword_name<'a>(keyword: &tree::Keyword<'a>) -> Option<&'a str> {
        keyword.id
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

    fn value<'a>(value: &Const<'a>) -> Expr<'a> {
        match *value {
            Const::None => Expr::None,
            Const::Bool(true) => Expr::True,
            Const::Bool(false) => Expr::False,
            Const::Int(value) => Expr::Int(value),
            Const::Float(value) => Expr::Float(value),
            Const::String(text) => Expr::Str(text),
            Const::Ellipsis => Expr::Ellipsis,
            Const::Tensor { shape, dtype } => Expr::Tensor {
                shape: shape.iter().map(|dim| Expr::Int(i64::try_from(*dim).unwrap_or(i64::MAX))).collect(),
                dtype,
                name: None,
            },
        }
    }

    fn expr<'a>(tree: &tree::Expr<'a>) -> Expr<'a> {
        match tree.expr {
            ExprKind::Const(ref constant) => value(constant),
            ExprKind::Name { id, .. } => Expr::Name(id),
            ExprKind::Attr { value, id, .. } => Expr::Attr(boxed_expr(value), id),
            ExprKind::Tuple { xs, .. } => Expr::Tuple(exprs(xs)),
            ExprKind::List { xs, .. } => Expr::List(exprs(xs)),
            ExprKind::Dict { keys, values } => {
                Expr::Dict(keys.iter().map(expr).zip(values.iter().map(expr)).collect())
            }
            ExprKind::Subscript { tensor, index, .. } => {
                Expr::Subscript(boxed_expr(tensor), vec![expr(index)])
            }
            ExprKind::Slice { l, u, step } => slice([l, u, step]),
            ExprKind::BoolOp { op, values } => bool_op(op, values),
            ExprKind::BinOp { op, left, right } => {
                Expr::Binary(operator(op), boxed_expr(left), boxed_expr(right))
            }
            ExprKind::UnaryOp { op, operand } => unary(op, operand),
            ExprKind::Compare { left, ops, comparators } => compare(left, ops, comparators),
            ExprKind::IfExp { test, body, orelse } => {
                Expr::If { test: boxed_expr(test), body: boxed_expr(body), orelse: boxed_expr(orelse) }
            }
            ExprKind::Call { f, args, keywords: words } => {
                Expr::Call { f: boxed_expr(f), args: exprs(args), keywords: keywords(words) }
            }
            ExprKind::Starred { e, .. } => Expr::Starred(boxed_expr(e)),
            ExprKind::Object { cls, fields } => Expr::Call {
                f: Box::new(Expr::Name("object")),
                args: vec![Expr::Name(cls)],
                keywords: keywords(fields),
            },
            ExprKind::Format { e, conv } => {
                // Python's numbers for !s, !r and !a; -1 for none does not fit a Nat.
                let conversion = conv.and_then(|conv| u32::try_from(conv).ok()).and_then(char::from_u32);
                Expr::Format { expr: boxed_expr(e), conversion: conversion.filter(|c| "sra".contains(*c)) }
            }
            ExprKind::Joined(parts) => Expr::Joined(exprs(parts)),
        }
    }

    fn stmt<'a>(tree: &Kind<'a>) -> StmtKind<'a> {
        match *tree {
            Kind::Pass => StmtKind::Pass,
            Kind::Expr(e) => StmtKind::Expr(expr(e)),
            Kind::Assert { e, msg } => StmtKind::Assert(expr(e), msg.map(expr)),
            Kind::Ret(e) => StmtKind::Return(expr(e)),
            Kind::Assign { xs, e } => StmtKind::Assign(exprs(xs), expr(e)),
            Kind::AugAssign { x, op, e } => StmtKind::Augmented(expr(x), operator(op).word, expr(e)),
            Kind::AnnAssign { x, annotation, value } => {
                StmtKind::Annotated(expr(x), expr(annotation), value.map(expr))
            }
            Kind::IfStm { e, thn, els } => StmtKind::If { test: expr(e), then: stmts(thn), els: stmts(els) },
            Kind::ForLoop { x, iter, body, orelse } => {
                StmtKind::For { target: expr(x), iter: expr(iter), body: stmts(body), orelse: stmts(orelse) }
            }
            Kind::BreakLoop => StmtKind::Break,
            Kind::ContinueLoop => StmtKind::Continue,
            Kind::WhileLoop { test, body, orelse } => {
                StmtKind::While { test: expr(test), body: stmts(body), orelse: stmts(orelse) }
            }
            Kind::WithBlock { items, body } => {
                let item = |item: &tree::WithItem<'a>| (expr(&item.item), item.var.as_ref().map(expr));
                StmtKind::With { items: items.iter().map(item).collect(), body: stmts(body) }
            }
        }
    }
}
