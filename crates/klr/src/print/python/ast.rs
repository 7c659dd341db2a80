//! A syntax tree that all front-end trees can be brought into.

use crate::node::Real;

pub(super) enum Expr<'a> {
    None,
    True,
    False,
    Ellipsis,
    Int(i64),
    Float(Real),
    Str(&'a str),
    Tensor {
        shape: Vec<Expr<'a>>,
        dtype: &'a str,
        name: Option<&'a str>,
    },
    /// A name, maybe dotted.
    Name(&'a str),
    Attr(Box<Expr<'a>>, &'a str),
    Tuple(Vec<Expr<'a>>),
    List(Vec<Expr<'a>>),
    Dict(Vec<(Expr<'a>, Expr<'a>)>),
    Subscript(Box<Expr<'a>>, Vec<Expr<'a>>),
    Slice([Option<Box<Expr<'a>>>; 3]),
    /// `and` or `or` of any number of operands, not nested.
    Bool(Operator, Vec<Expr<'a>>),
    Binary(Operator, Box<Expr<'a>>, Box<Expr<'a>>),
    Compare(Box<Expr<'a>>, Vec<(&'static str, Expr<'a>)>),
    Unary(Prefix, Box<Expr<'a>>),
    If {
        test: Box<Expr<'a>>,
        body: Box<Expr<'a>>,
        orelse: Box<Expr<'a>>,
    },
    Call {
        f: Box<Expr<'a>>,
        args: Vec<Expr<'a>>,
        keywords: Vec<Keyword<'a>>,
    },
    Starred(Box<Expr<'a>>),
    Format {
        expr: Box<Expr<'a>>,
        conversion: Option<char>,
    },
    Joined(Vec<Expr<'a>>),
}

/// `name=value`, or without a name `**value`.
pub(super) type Keyword<'a> = (Option<&'a str>, Expr<'a>);

/// A binary operator with the least binding strengths of its operands (spec: klr 13.10).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) word: &'static str,
    pub(super) strength: u8,
    pub(super) left: u8,
    pub(super) right: u8,
}

impl Operator {
    const fn left(word: &'static str, strength: u8) -> Self {
        Operator { word, strength, left: strength, right: strength + 1 }
    }

    /// `a op (b op c)` is the tree that the front end makes of `a op b op c`.
    const fn right(word: &'static str, strength: u8) -> Self {
        Operator { word, strength, left: strength + 1, right: strength }
    }

    const fn comparison(word: &'static str) -> Self {
        Operator { word, strength: 5, left: 6, right: 6 }
    }

    pub(super) const OR: Self = Self::right("or", 2);
    pub(super) const AND: Self = Self::right("and", 3);
    pub(super) const EQ: Self = Self::comparison("==");
    pub(super) const NE: Self = Self::comparison("!=");
    pub(super) const LT: Self = Self::comparison("<");
    pub(super) const LE: Self = Self::comparison("<=");
    pub(super) const GT: Self = Self::comparison(">");
    pub(super) const GE: Self = Self::comparison(">=");
    pub(super) const BIT_OR: Self = Self::left("|", 6);
    pub(super) const BIT_XOR: Self = Self::left("^", 7);
    pub(super) const BIT_AND: Self = Self::left("&", 8);
    pub(super) const LSHIFT: Self = Self::left("<<", 9);
    pub(super) const RSHIFT: Self = Self::left(">>", 9);
    pub(super) const ADD: Self = Self::left("+", 10);
    pub(super) const SUB: Self = Self::left("-", 10);
    pub(super) const MUL: Self = Self::left("*", 11);
    pub(super) const DIV: Self = Self::left("/", 11);
    pub(super) const FLOOR: Self = Self::left("//", 11);
    pub(super) const MOD: Self = Self::left("%", 11);
    pub(super) const MATMUL: Self = Self::left("@", 11);
    pub(super) const POW: Self = Operator { word: "**", strength: 13, left: 14, right: 12 };
}

/// A unary operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Of a call in an NKI tree: a number as operand is put in parentheses, because `-2` is a literal.
    Negate,
    Minus,
    Plus,
    Invert,
    Not,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Pos<'a> {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) line_end: Option<u64>,
    pub(super) column_end: Option<u64>,
    pub(super) filename: Option<&'a str>,
}

pub(super) struct Stmt<'a> {
    pub(super) kind: StmtKind<'a>,
    pub(super) pos: Pos<'a>,
}

impl Stmt<'_> {
    /// Statements in this one, itself included.
    pub(super) fn count(&self) -> usize {
        let inner = |body: &[Stmt<'_>]| body.iter().map(Stmt::count).sum::<usize>();
        1 + match &self.kind {
            StmtKind::If { then: body, els: orelse, .. }
            | StmtKind::For { body, orelse, .. }
            | StmtKind::While { body, orelse, .. } => inner(body) + inner(orelse),
            StmtKind::With { body, .. } => inner(body),
            _ => 0,
        }
    }
}

pub(super) enum StmtKind<'a> {
    Pass,
    Break,
    Continue,
    Expr(Expr<'a>),
    Assert(Expr<'a>, Option<Expr<'a>>),
    Return(Expr<'a>),
    Assign(Vec<Expr<'a>>, Expr<'a>),
    Augmented(Expr<'a>, &'static str, Expr<'a>),
    Annotated(Expr<'a>, Expr<'a>, Option<Expr<'a>>),
    If { test: Expr<'a>, then: Vec<Stmt<'a>>, els: Vec<Stmt<'a>> },
    For { target: Expr<'a>, iter: Expr<'a>, body: Vec<Stmt<'a>>, orelse: Vec<Stmt<'a>> },
    While { test: Expr<'a>, body: Vec<Stmt<'a>>, orelse: Vec<Stmt<'a>> },
    With { items: Vec<(Expr<'a>, Option<Expr<'a>>)>, body: Vec<Stmt<'a>> },
}

/// A parameter as it is written: stars, name and default.
pub(super) struct Param<'a> {
    pub(super) stars: &'static str,
    pub(super) name: &'a str,
    pub(super) default: Option<Expr<'a>>,
}

pub(super) struct Function<'a> {
    /// With the module.
    pub(super) name: &'a str,
    pub(super) file: Option<&'a str>,
    pub(super) line: u64,
    pub(super) source: Option<&'a str>,
    pub(super) decorators: Vec<Expr<'a>>,
    pub(super) params: Vec<Param<'a>>,
    pub(super) body: Vec<Stmt<'a>>,
}

pub(super) struct Class<'a> {
    pub(super) name: &'a str,
    pub(super) bases: Vec<Expr<'a>>,
    pub(super) decorators: Vec<Expr<'a>>,
    pub(super) fields: Vec<Keyword<'a>>,
    pub(super) methods: Vec<Function<'a>>,
}

pub(super) struct Kernel<'a> {
    /// `NKI` or `Python`.
    pub(super) tree: &'static str,
    pub(super) schema: &'static str,
    pub(super) entry: &'a str,
    /// Lines about the kernel: what has no place in Python source.
    pub(super) remarks: Vec<(&'static str, Vec<Expr<'a>>)>,
    pub(super) globals: Vec<Keyword<'a>>,
    pub(super) classes: Vec<Class<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) args: Vec<Expr<'a>>,
    pub(super) keywords: Vec<Keyword<'a>>,
}

/// An optional operand.
pub(super) fn boxed(expr: Option<Expr<'_>>) -> Option<Box<Expr<'_>>> {
    expr.map(Box::new)
}
