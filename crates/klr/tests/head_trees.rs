//! Front-end trees of schema head, of which no file was ever seen: made by hand, printed as Python, and round again.

mod common;

use common::parse_as_python;
use klr::node::Real;
use klr::print::python::{Positions, Style, python};
use klr::{Arena, Contents, File, Options};

fn check(contents: Contents<'_>, style: Style, expected: &str) {
    let text = python(&contents, style).expect("a front-end tree");
    assert_eq!(text, expected);
    parse_as_python(&[("head".to_string(), text)]);
    let file = File::new(contents);
    let bytes = klr::encode(&file);
    let arena = Arena::new();
    assert_eq!(klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it reads").value, file);
    let json = klr::json::to_string(&file);
    assert_eq!(klr::json::from_str::<File<'_>>(&json, &arena), Ok(file));
}

#[test]
fn nki_head() {
    use klr::nki_head::{
        Arg, BinOp, Class, Edges, Expr, ExprKind, Fun, Index, Iterator, Kernel, Keyword, Param, Pattern, Pos,
        RangeType, Stmt, StmtKind, Value,
    };
    let nowhere = Pos { line: 0, column: 0, line_end: None, column_end: None, filename: None };
    let expr = |expr| Expr { expr, pos: nowhere };
    let at = |line, stmt| Stmt {
        stmt,
        pos: Pos { line, column: 4, line_end: Some(line), column_end: Some(9), filename: Some("k.py") },
    };
    let int = |value| expr(ExprKind::Value(Value::Int(value)));
    let text = |value| expr(ExprKind::Value(Value::String(value)));
    let (a, b, one, minus) = (expr(ExprKind::Var("a")), expr(ExprKind::Var("b")), int(1), int(-1));
    let bin = |op, left, right| expr(ExprKind::BinOp { op, left, right });

    let sum = bin(BinOp::Add, &a, &b);
    let difference = bin(BinOp::Sub, &a, &sum);
    let power = bin(BinOp::Pow, &minus, &a);
    let land = bin(BinOp::Land, &a, &b);
    let either = expr(ExprKind::Disj { left: &a, right: &b });
    let both = expr(ExprKind::Conj { left: &either, right: &land });
    let not = expr(ExprKind::Var("builtin.op.not"));
    let negate = expr(ExprKind::Var("builtin.op.negate"));
    let comparison = bin(BinOp::Lt, &a, &b);
    let comparisons = [comparison];
    let not_less = expr(ExprKind::Call { f: &not, args: &comparisons, keywords: &[] });
    let ones = [one];
    let negated = expr(ExprKind::Call { f: &negate, args: &ones, keywords: &[] });
    let choice = expr(ExprKind::IfExp { test: &a, tru: &b, fls: &negated });
    let start = bin(BinOp::Mul, &sum, &one);
    let indices =
        [Index::Slice { l: None, u: Some(&b), step: Some(&minus) }, Index::Ellipsis, Index::Coord(&start)];
    let access = expr(ExprKind::Access { expr: &a, indices: &indices });
    let members = [Keyword { name: "k\"", expr: one }];
    let dict = expr(ExprKind::Dict(&members));
    let keywords = [Keyword { name: "x", expr: one }];
    let object = expr(ExprKind::Object { cls: "m.Cls", fields: &keywords });
    let quoted = text("it's {1}\n");
    let hole = expr(ExprKind::Format { expr: &a, repr: true });
    let plain = text("{b}");
    let parts = [plain, hole, a];
    let joined = expr(ExprKind::Joined(&parts));
    let list_elements = [dict, object, quoted];
    let list = expr(ExprKind::List(&list_elements));
    let float = expr(ExprKind::Value(Value::Float(Real::F64(0.1f64.to_bits()))));
    let narrow = expr(ExprKind::Value(Value::Float(Real::F32((-f32::INFINITY).into()))));
    let tensor = expr(ExprKind::Value(Value::Tensor { shape: &[2, 3], dtype: "float32", name: Some("t") }));
    let single = [tensor];
    let tuple = expr(ExprKind::Tuple(&single));
    let nan = expr(ExprKind::Value(Value::Float(Real::F32(f32::NAN.into()))));

    let inner = [at(9, StmtKind::BreakLoop), at(2, StmtKind::ContinueLoop)];
    let pattern = [Pattern::Var("p"), Pattern::Tuple(&[Pattern::Var("q")])];
    let body = [
        at(2, StmtKind::Declare { x: "d", ty: &a }),
        at(3, StmtKind::LetM { p: Pattern::Tuple(&pattern), ty: None, e: &difference }),
        at(3, StmtKind::LetM { p: Pattern::Var("y"), ty: Some(&a), e: &power }),
        at(4, StmtKind::SetM { x: &access, e: &both, accum: true }),
        at(5, StmtKind::Assert { e: &not_less, msg: Some(&joined) }),
        at(
            6,
            StmtKind::ForLoop {
                x: "i",
                iter: Iterator::Range { ty: RangeType::Affine, l: &minus, u: &a, s: &one },
                body: &inner,
            },
        ),
        at(7, StmtKind::WhileLoop { test: &choice, body: &[] }),
        at(8, StmtKind::WithBlock { item: "nl.no_reorder", body: &inner[..1] }),
        at(9, StmtKind::Ret(&list)),
    ];
    let fun = Fun {
        name: "m.Cls.k",
        decs: &["nki.jit"],
        file: "k.py",
        line: 10,
        source: "def k(a, b=-1):\n  ...",
        body: &body,
        args: &[Param { name: "a", dflt: None }, Param { name: "b", dflt: Some(minus) }],
    };
    let funs = [fun];
    let kernel = Kernel {
        entry: "m.k",
        funs: &[],
        cls: &[Class { name: "m.Cls", bases: &["Base"], decs: &["d"], fields: &keywords, methods: &funs }],
        args: &[Arg { name: "a", value: tuple }],
        globals: &[
            Arg { name: "F", value: float },
            Arg { name: "G", value: narrow },
            Arg { name: "H", value: nan },
        ],
        arch: 3,
        grid: 2,
        edges: &[Edges { from_edge: "s1", to_edges: &["s2", "s3"] }],
        flags: &[("fast", Value::Bool(true))],
    };
    let style = Style { positions: Positions::File, source: true };
    check(Contents::NkiHead(&kernel), style, NKI_TEXT);
}

const NKI_TEXT: &str = r##"# NKI kernel m.k, schema head (unverified: no file of it was ever seen)
# arch 3
# grid 2
# edge from, to "s1", "s2", "s3"
# flag "fast", True

# globals
F = 0.1
G = -float("inf")
H = float("nan")

# m.Cls
@d
class Cls(Base):
    x = 1

    # m.Cls.k (k.py:10)
    # | def k(a, b=-1):
    # |   ...
    @nki.jit
    def k(a, b=-1):
        d: a  # k.py:11
        (p, (q,)) = a - (a + b)  # k.py:12
        y: a = (-1) ** a  # k.py:12
        a[:b:-1, ..., (a + b) * 1] += (a or b) and land(a, b)  # k.py:13
        assert not a < b, f"{{b}}{a!r}{a}"  # k.py:14
        for i in affine_range(-1, a, 1):  # k.py:15
            break  # ?
            continue  # ?
        while b if a else -(1):  # k.py:16
            pass
        with nl.no_reorder():  # k.py:17
            break  # ?
        return [{"k\"": 1}, object(m.Cls, x=1), "it's {1}\n"]  # k.py:18

# arguments
k(a=(tensor((2, 3), "float32", name="t"),))
"##;

#[test]
fn python_head() {
    use klr::python_head::{
        Args, BinOp, BoolOp, CmpOp, Const, Ctx, Expr, ExprKind, Fun, Kernel, Keyword, Pos, Stmt, StmtKind,
        UnaryOp, WithItem,
    };
    let pos = Pos { line: 0, column: 0, line_end: None, column_end: None, filename: None };
    let expr = |expr| Expr { expr, pos };
    let name = |id| expr(ExprKind::Name { id, ctx: Ctx::Load });
    let stmt = |stmt| Stmt {
        stmt,
        pos: Pos { line: 3, column: 2, line_end: None, column_end: None, filename: None },
    };
    let keyword = |id, value| Keyword { id, value, pos };
    let (a, b, c) = (name("a"), name("b"), name("c"));
    let two = expr(ExprKind::Const(Const::Int(2)));

    let product = expr(ExprKind::BinOp { op: BinOp::Matmul, left: &a, right: &b });
    let minus = expr(ExprKind::UnaryOp { op: UnaryOp::Usub, operand: &product });
    let square = expr(ExprKind::BinOp { op: BinOp::Pow, left: &minus, right: &two });
    let (ab, bc) = ([a, b], [b, c]);
    let or = expr(ExprKind::BoolOp { op: BoolOp::Lor, values: &ab });
    let nested = [or, c];
    let and = expr(ExprKind::BoolOp { op: BoolOp::Land, values: &nested });
    let chain = expr(ExprKind::Compare { left: &a, ops: &[CmpOp::Le, CmpOp::NotIn], comparators: &bc });
    let not = expr(ExprKind::UnaryOp { op: UnaryOp::Not, operand: &chain });
    let starred = expr(ExprKind::Starred { e: &a, ctx: Ctx::Load });
    let args = [starred, two];
    let words = [keyword(Some("k"), b), keyword(None, c)];
    let call = expr(ExprKind::Call { f: &a, args: &args, keywords: &words });
    let attribute = expr(ExprKind::Attr { value: &two, id: "real", ctx: Ctx::Load });
    let slice = expr(ExprKind::Slice { l: Some(&a), u: None, step: None });
    let indices = [slice, attribute];
    let index = expr(ExprKind::Tuple { xs: &indices, ctx: Ctx::Load });
    let subscript = expr(ExprKind::Subscript { tensor: &call, index: &index, ctx: Ctx::Store });
    let (keys, values) = ([two], [and]);
    let dict = expr(ExprKind::Dict { keys: &keys, values: &values });
    let format = expr(ExprKind::Format { e: &a, conv: Some(u64::from(b'r')) });
    let pad = expr(ExprKind::Const(Const::String("{")));
    let parts = [pad, format];
    let joined = expr(ExprKind::Joined(&parts));
    let targets = [a, subscript];
    let inner = [stmt(StmtKind::Pass)];
    let deeper = [stmt(StmtKind::IfStm { e: &not, thn: &inner, els: &inner })];
    let items = [WithItem { item: call, var: Some(b) }, WithItem { item: a, var: None }];
    let body = [
        stmt(StmtKind::Assign { xs: &targets, e: &square }),
        stmt(StmtKind::AugAssign { x: &a, op: BinOp::Floor, e: &dict }),
        stmt(StmtKind::AnnAssign { x: &a, annotation: &b, value: None }),
        stmt(StmtKind::Assert { e: &and, msg: Some(&joined) }),
        stmt(StmtKind::IfStm { e: &a, thn: &[], els: &deeper }),
        stmt(StmtKind::ForLoop { x: &a, iter: &b, body: &inner, orelse: &inner }),
        stmt(StmtKind::WhileLoop { test: &a, body: &inner, orelse: &inner }),
        stmt(StmtKind::WithBlock { items: &items, body: &inner }),
    ];
    let (defaults, kw_defaults) = ([two], [keyword(Some("e"), two)]);
    let args = Args {
        posonlyargs: &["a", "b"],
        args: &["c"],
        defaults: &defaults,
        vararg: None,
        kwonlyargs: &["d", "e"],
        kw_defaults: &kw_defaults,
        kwarg: Some("kw"),
    };
    let decorators = [call];
    let positional = [a, two];
    let fun = Fun {
        name: "m.k",
        file_name: "k.py",
        line: 7,
        source: "",
        decorators: &decorators,
        args,
        body: &body,
    };
    let kernel = Kernel {
        entry: "m.k",
        funcs: &[fun],
        classes: &[],
        args: &positional,
        kwargs: &words[..1],
        globals: &[],
        arch: 2,
        grid: 1,
        schedule_edges: &[],
        flags: &[two],
    };
    let style = Style { positions: Positions::Stored, source: false };
    check(Contents::PythonHead(&kernel), style, PYTHON_TEXT);
}

const PYTHON_TEXT: &str = r##"# Python kernel m.k, schema head (unverified: no file of it was ever seen)
# arch 2
# grid 1
# flag 2

# m.k (k.py:7)
@a(*a, 2, k=b, **c)
def k(a, b, /, c=2, *, d, e=2, **kw):
    a = a(*a, 2, k=b, **c)[a:, (2).real] = (-(a @ b)) ** 2  # 3:2
    a //= {2: (a or b) and c}  # 3:2
    a: b  # 3:2
    assert (a or b) and c, f"{{{a!r}"  # 3:2
    if a:  # 3:2
        pass
    elif not a <= b not in c:  # 3:2
        pass  # 3:2
    else:
        pass  # 3:2
    for a in b:  # 3:2
        pass  # 3:2
    else:
        pass  # 3:2
    while a:  # 3:2
        pass  # 3:2
    else:
        pass  # 3:2
    with a(*a, 2, k=b, **c) as b, a:  # 3:2
        pass  # 3:2

# arguments
k(a, 2, k=b)
"##;
