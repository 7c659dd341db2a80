//! Front-end trees as the Python source they came from (spec: klr 13.10).
//!
//! The four trees are brought into one small syntax tree, which is printed with parentheses only where needed. What is
//! printed parses as Python 3 as long as the names in the tree are Python names.

mod ast;
mod expr;
mod nki;
mod python_tree;
mod source;

use crate::container::Contents;
use crate::info::{FunctionInfo, TreeInfo};

/// Which positions the lines end in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Positions {
    /// None.
    #[default]
    Off,
    /// `# L:C-L:C` as stored, counted from the first line of the function.
    Stored,
    /// `# file:line`, counted from the first line of the file.
    File,
}

/// How to print a front-end tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Positions at the ends of statements.
    pub positions: Positions,
    /// Print the stored source text of each function as a comment, where the tree has it.
    pub source: bool,
}

/// The tree as Python source; `None` when the contents are no front-end tree.
///
/// ```
/// use klr::nki_0_0_12::{Arg, BinOp, Expr, ExprKind, Kernel, Pos, Value};
/// use klr::print::python::{Style, python};
///
/// let pos = Pos { line: 0, column: 0, line_end: None, column_end: None };
/// let expr = |expr| Expr { expr, pos };
/// let (a, b, two) = (expr(ExprKind::Var("a")), expr(ExprKind::Var("b")), expr(ExprKind::Value(Value::Int(2))));
/// let sum = expr(ExprKind::BinOp { op: BinOp::Add, left: &a, right: &b });
/// let product = expr(ExprKind::BinOp { op: BinOp::Mul, left: &sum, right: &two });
/// let kernel = Kernel { entry: "m.k", funs: &[], args: &[], globals: &[Arg { name: "x", value: product }] };
/// let text = python(&klr::Contents::Nki0_0_12(&kernel), Style::default()).expect("a front-end tree");
/// assert_eq!(text, "# NKI kernel m.k, schema 0.0.12\n\n# globals\nx = (a + b) * 2\n");
/// ```
#[must_use]
pub fn python(contents: &Contents<'_>, style: Style) -> Option<String> {
    Some(source::print(&kernel(contents)?, style))
}

fn kernel<'a>(contents: &Contents<'a>) -> Option<ast::Kernel<'a>> {
    Some(match contents {
        Contents::Nki0_0_12(kernel) => nki::old::kernel(kernel),
        Contents::NkiHead(kernel) => nki::head::kernel(kernel),
        Contents::Python0_0_12(kernel) => python_tree::old::kernel(kernel),
        Contents::PythonHead(kernel) => python_tree::head::kernel(kernel),
        _ => return None,
    })
}

/// What there is in a front-end tree.
pub(crate) fn summary(contents: &Contents<'_>) -> Option<TreeInfo> {
    let kernel = kernel(contents)?;
    let text = |expr: &ast::Expr<'_>| {
        let mut printer = expr::Printer::new();
        printer.expr(expr);
        printer.out
    };
    let member = |(name, value): &ast::Keyword<'_>| [name.unwrap_or("**").to_string(), text(value)];
    let function = |function: &ast::Function<'_>| FunctionInfo {
        name: function.name.to_string(),
        file: function.file.map(str::to_string),
        line: function.line,
        parameters: function.params.iter().map(|param| format!("{}{}", param.stars, param.name)).collect(),
        statements: function.body.iter().map(ast::Stmt::count).sum(),
    };
    let positional = kernel.args.iter().map(|value| [String::new(), text(value)]);
    Some(TreeInfo {
        entry: kernel.entry.to_string(),
        functions: kernel.functions.iter().map(function).collect(),
        classes: kernel.classes.iter().map(|class| class.name.to_string()).collect(),
        globals: kernel.globals.iter().map(member).collect(),
        arguments: positional.chain(kernel.keywords.iter().map(member)).collect(),
    })
}
