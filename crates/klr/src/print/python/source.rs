//! Prints statements, functions and kernels.

use super::ast::{Class, Expr, Function, Kernel, Pos, Stmt, StmtKind};
use super::expr::Printer;
use super::{Positions, Style};

/// The whole kernel.
pub(super) fn print(kernel: &Kernel<'_>, style: Style) -> String {
    let mut source = Source { printer: Printer::new(), style, indent: 0, fun: None };
    source.kernel(kernel);
    source.printer.out
}

struct Source<'f> {
    printer: Printer,
    style: Style,
    indent: usize,
    /// File and first line of the function, for positions in the file.
    fun: Option<(Option<&'f str>, u64)>,
}

/// The lines of the enclosing node; a position outside them is junk (spec: klr 13.4).
#[derive(Clone, Copy)]
struct Lines {
    first: u64,
    last: Option<u64>,
}

impl<'f> Source<'f> {
    fn push(&mut self, text: &str) {
        self.printer.out.push_str(text);
    }

    fn start(&mut self) {
        let indent = self.indent;
        self.printer.out.extend(std::iter::repeat_n("    ", indent));
    }

    fn comment(&mut self, text: &str) {
        self.start();
        self.push("# ");
        // A line break in a name must not end the comment.
        let line: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        self.push(&line);
        self.push("\n");
    }

    fn kernel(&mut self, kernel: &'f Kernel<'_>) {
        let unverified =
            if kernel.schema == "head" { " (unverified: no file of it was ever seen)" } else { "" };
        self.comment(&format!(
            "{} kernel {}, schema {}{unverified}",
            kernel.tree, kernel.entry, kernel.schema
        ));
        for (what, values) in &kernel.remarks {
            let mut printer = Printer::new();
            printer.list(values);
            self.comment(&format!("{what} {}", printer.out));
        }
        if !kernel.globals.is_empty() {
            self.push("\n# globals\n");
            for (name, value) in &kernel.globals {
                self.assignment(name.unwrap_or("_"), value);
            }
        }
        for class in &kernel.classes {
            self.push("\n");
            self.class(class);
        }
        for function in &kernel.functions {
            self.push("\n");
            self.function(function);
        }
        if !kernel.args.is_empty() || !kernel.keywords.is_empty() {
            self.push("\n# arguments\n");
            self.printer.name(last_part(kernel.entry));
            self.push("(");
            self.printer.arguments(&kernel.args, &kernel.keywords);
            self.push(")\n");
        }
    }

    fn assignment(&mut self, name: &str, value: &Expr<'_>) {
        self.start();
        self.printer.name(name);
        self.push(" = ");
        self.printer.expr(value);
        self.push("\n");
    }

    fn class(&mut self, class: &'f Class<'_>) {
        self.comment(class.name);
        self.decorators(&class.decorators);
        self.start();
        self.push("class ");
        self.printer.name(last_part(class.name));
        if !class.bases.is_empty() {
            self.push("(");
            self.printer.list(&class.bases);
            self.push(")");
        }
        self.push(":\n");
        self.indent += 1;
        if class.fields.is_empty() && class.methods.is_empty() {
            self.start();
            self.push("pass\n");
        }
        for (name, value) in &class.fields {
            self.assignment(name.unwrap_or("_"), value);
        }
        for method in &class.methods {
            self.push("\n");
            self.function(method);
        }
        self.indent -= 1;
    }

    fn decorators(&mut self, decorators: &[Expr<'_>]) {
        for decorator in decorators {
            self.start();
            self.push("@");
            self.printer.expr(decorator);
            self.push("\n");
        }
    }

    fn function(&mut self, function: &'f Function<'_>) {
        self.comment(&format!(
            "{} ({}:{})",
            function.name,
            function.file.unwrap_or("unknown"),
            function.line
        ));
        if self.style.source
            && let Some(source) = function.source
        {
            for line in source.lines() {
                self.comment(&format!("| {line}"));
            }
        }
        self.decorators(&function.decorators);
        self.start();
        self.push("def ");
        self.printer.name(last_part(function.name));
        self.push("(");
        for (index, param) in function.params.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push(param.stars);
            if !param.name.is_empty() {
                self.printer.name(param.name);
            }
            if let Some(default) = &param.default {
                self.push("=");
                self.printer.expr(default);
            }
        }
        self.push("):\n");
        self.fun = Some((function.file, function.line));
        self.block(&function.body, Lines { first: 1, last: None });
    }

    fn block(&mut self, body: &[Stmt<'_>], lines: Lines) {
        self.indent += 1;
        if body.is_empty() {
            self.start();
            self.push("pass\n");
        }
        for stmt in body {
            self.stmt(stmt, lines, "");
        }
        self.indent -= 1;
    }

    /// Ends a line with the position of its statement.
    fn end(&mut self, pos: &Pos<'_>, lines: Lines) {
        let known =
            (pos.line, pos.column, pos.line_end.unwrap_or(0), pos.column_end.unwrap_or(0)) != (0, 0, 0, 0);
        if self.style.positions != Positions::Off && known {
            let text = self.position(pos, lines);
            self.push("  # ");
            self.push(&text);
        }
        self.push("\n");
    }

    fn position(&self, pos: &Pos<'_>, lines: Lines) -> String {
        let end = pos.line_end.unwrap_or(pos.line);
        let within = |line: u64| line >= lines.first && lines.last.is_none_or(|last| line <= last);
        if !within(pos.line) || !within(end) || end < pos.line {
            return "?".to_string();
        }
        if self.style.positions == Positions::File {
            let (file, first) = self.fun.unwrap_or((None, 1));
            let line = first.saturating_add(pos.line - 1);
            return format!(
                "{}:{line}",
                pos.filename.or(file).unwrap_or("unknown").replace(char::is_control, "?")
            );
        }
        match (pos.line_end, pos.column_end) {
            (None, None) => format!("{}:{}", pos.line, pos.column),
            (line, column) => {
                let part = |value: Option<u64>| value.map_or("?".to_string(), |value| value.to_string());
                format!("{}:{}-{}:{}", pos.line, pos.column, part(line), part(column))
            }
        }
    }

    /// A statement; `el` makes `if` an `elif`.
    fn stmt(&mut self, stmt: &Stmt<'_>, lines: Lines, el: &str) {
        let pos = &stmt.pos;
        let inner = Lines { first: pos.line.max(lines.first), last: pos.line_end.or(lines.last) };
        // Junk around a block says nothing about what is in it.
        let inner = if self.position(pos, lines) == "?" { lines } else { inner };
        self.start();
        match &stmt.kind {
            StmtKind::Pass => self.push("pass"),
            StmtKind::Break => self.push("break"),
            StmtKind::Continue => self.push("continue"),
            StmtKind::Expr(value) => self.printer.expr(value),
            StmtKind::Assert(test, message) => {
                self.push("assert ");
                self.printer.expr(test);
                if let Some(message) = message {
                    self.push(", ");
                    self.printer.expr(message);
                }
            }
            StmtKind::Return(value) => {
                self.push("return ");
                self.printer.expr(value);
            }
            StmtKind::Assign(targets, value) => {
                for target in targets {
                    self.printer.expr(target);
                    self.push(" = ");
                }
                self.printer.expr(value);
            }
            StmtKind::Augmented(target, word, value) => {
                self.printer.expr(target);
                self.push(&format!(" {word}= "));
                self.printer.expr(value);
            }
            StmtKind::Annotated(target, ty, value) => {
                self.printer.expr(target);
                self.push(": ");
                self.printer.expr(ty);
                if let Some(value) = value {
                    self.push(" = ");
                    self.printer.expr(value);
                }
            }
            StmtKind::If { test, then, els } => {
                self.push(el);
                self.push("if ");
                self.printer.expr(test);
                self.push(":");
                self.end(pos, lines);
                self.block(then, inner);
                match &els[..] {
                    [] => {}
                    [only] if matches!(only.kind, StmtKind::If { .. }) => self.stmt(only, inner, "el"),
                    els => self.tail("else:\n", els, inner),
                }
                return;
            }
            StmtKind::For { target, iter, body, orelse } => {
                self.push("for ");
                self.printer.expr(target);
                self.push(" in ");
                self.printer.expr(iter);
                self.push(":");
                self.end(pos, lines);
                self.block(body, inner);
                if !orelse.is_empty() {
                    self.tail("else:\n", orelse, inner);
                }
                return;
            }
            StmtKind::While { test, body, orelse } => {
                self.push("while ");
                self.printer.expr(test);
                self.push(":");
                self.end(pos, lines);
                self.block(body, inner);
                if !orelse.is_empty() {
                    self.tail("else:\n", orelse, inner);
                }
                return;
            }
            StmtKind::With { items, body } => {
                self.push("with ");
                for (index, (item, target)) in items.iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                    }
                    self.printer.expr(item);
                    if let Some(target) = target {
                        self.push(" as ");
                        self.printer.expr(target);
                    }
                }
                self.push(":");
                self.end(pos, lines);
                self.block(body, inner);
                return;
            }
        }
        self.end(pos, lines);
    }

    fn tail(&mut self, keyword: &str, body: &[Stmt<'_>], lines: Lines) {
        self.start();
        self.push(keyword);
        self.block(body, lines);
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
