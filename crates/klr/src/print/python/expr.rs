//! Prints expressions, with parentheses only where the tree needs them.

use super::ast::{Expr, Keyword, Prefix};
use crate::node::Real;
use crate::print::escape_into;

/// Binding strengths that are not those of a binary operator (spec: klr 13.10).
const IF: u8 = 1;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const STARRED: u8 = 6;
const UNARY: u8 = 12;
const POSTFIX: u8 = 15;
const ATOM: u8 = 16;

/// Text of expressions.
pub(super) struct Printer {
    pub(super) out: String,
    quote: char,
}

impl Printer {
    pub(super) fn new() -> Self {
        Printer { out: String::new(), quote: '"' }
    }

    /// An expression where anything may stand.
    pub(super) fn expr(&mut self, expr: &Expr<'_>) {
        self.at_least(expr, IF);
    }

    /// An expression where only something that binds as strongly as `least` may stand.
    fn at_least(&mut self, expr: &Expr<'_>, least: u8) {
        if strength(expr) < least {
            self.out.push('(');
            self.bare(expr);
            self.out.push(')');
        } else {
            self.bare(expr);
        }
    }

    fn bare(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::None => self.out.push_str("None"),
            Expr::True => self.out.push_str("True"),
            Expr::False => self.out.push_str("False"),
            Expr::Ellipsis => self.out.push_str("..."),
            Expr::Int(value) => self.out.push_str(&value.to_string()),
            Expr::Float(value) => self.out.push_str(&float(*value)),
            Expr::Str(text) => self.string(text),
            Expr::Tensor { shape, dtype, name } => {
                self.out.push_str("tensor(");
                self.tuple(shape);
                self.out.push_str(", ");
                self.string(dtype);
                if let Some(name) = name {
                    self.out.push_str(", name=");
                    self.string(name);
                }
                self.out.push(')');
            }
            Expr::Name(name) => self.name(name),
            Expr::Attr(base, name) => {
                let number = matches!(**base, Expr::Int(_) | Expr::Float(_));
                self.at_least(base, if number { ATOM + 1 } else { POSTFIX });
                self.out.push('.');
                self.name(name);
            }
            Expr::Tuple(elements) => self.tuple(elements),
            Expr::List(elements) => {
                self.out.push('[');
                self.list(elements);
                self.out.push(']');
            }
            Expr::Dict(members) => {
                self.out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    self.comma(index);
                    self.expr(key);
                    self.out.push_str(": ");
                    self.expr(value);
                }
                self.out.push('}');
            }
            Expr::Subscript(base, indices) => {
                self.at_least(base, POSTFIX);
                self.out.push('[');
                match &indices[..] {
                    [] => self.out.push_str("()"),
                    // The index of a Python tree is one expression: a tuple needs no parentheses.
                    [Expr::Tuple(elements)] if !elements.is_empty() => {
                        self.list(elements);
                        if elements.len() == 1 {
                            self.out.push(',');
                        }
                    }
                    indices => self.list(indices),
                }
                self.out.push(']');
            }
            Expr::Slice([lower, upper, step]) => {
                if let Some(lower) = lower {
                    self.expr(lower);
                }
                self.out.push(':');
                if let Some(upper) = upper {
                    self.expr(upper);
                }
                if let Some(step) = step {
                    self.out.push(':');
                    self.expr(step);
                }
            }
            Expr::Bool(operator, operands) => {
                if operands.is_empty() {
                    self.out.push_str("()");
                }
                for (index, operand) in operands.iter().enumerate() {
                    if index > 0 {
                        self.word(operator.word);
                    }
                    self.at_least(operand, operator.strength + 1);
                }
            }
            Expr::Binary(operator, left, right) => {
                self.at_least(left, operator.left);
                self.word(operator.word);
                self.at_least(right, operator.right);
            }
            Expr::Compare(left, rest) => {
                self.at_least(left, COMPARE + 1);
                for (word, right) in rest {
                    self.word(word);
                    self.at_least(right, COMPARE + 1);
                }
            }
            Expr::Unary(prefix, operand) => self.unary(*prefix, operand),
            Expr::If { test, body, orelse } => {
                self.at_least(body, IF + 1);
                self.out.push_str(" if ");
                self.at_least(test, IF + 1);
                self.out.push_str(" else ");
                self.at_least(orelse, IF);
            }
            Expr::Call { f, args, keywords } => {
                self.at_least(f, POSTFIX);
                self.out.push('(');
                self.arguments(args, keywords);
                self.out.push(')');
            }
            Expr::Starred(value) => {
                self.out.push('*');
                self.at_least(value, STARRED);
            }
            Expr::Format { .. } => self.formatted(std::slice::from_ref(expr)),
            Expr::Joined(parts) => self.formatted(parts),
        }
    }

    fn word(&mut self, word: &str) {
        self.out.push(' ');
        self.out.push_str(word);
        self.out.push(' ');
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    pub(super) fn list(&mut self, elements: &[Expr<'_>]) {
        for (index, element) in elements.iter().enumerate() {
            self.comma(index);
            self.expr(element);
        }
    }

    fn tuple(&mut self, elements: &[Expr<'_>]) {
        self.out.push('(');
        self.list(elements);
        if elements.len() == 1 {
            self.out.push(',');
        }
        self.out.push(')');
    }

    pub(super) fn arguments(&mut self, args: &[Expr<'_>], keywords: &[Keyword<'_>]) {
        self.list(args);
        for (index, (name, value)) in keywords.iter().enumerate() {
            self.comma(args.len() + index);
            match name {
                Some(name) => {
                    self.name(name);
                    self.out.push('=');
                    self.expr(value);
                }
                None => {
                    self.out.push_str("**");
                    self.at_least(value, STARRED);
                }
            }
        }
    }

    fn unary(&mut self, prefix: Prefix, operand: &Expr<'_>) {
        let word = match prefix {
            Prefix::Negate | Prefix::Minus => "-",
            Prefix::Plus => "+",
            Prefix::Invert => "~",
            Prefix::Not => "not ",
        };
        self.out.push_str(word);
        let number = matches!(operand, Expr::Int(_) | Expr::Float(_));
        let least = match prefix {
            Prefix::Negate if number => ATOM + 1,
            Prefix::Not => NOT,
            _ => UNARY,
        };
        self.at_least(operand, least);
    }

    /// A name as it is; what can't be a name in Python is quoted, so that it can't be taken for anything else.
    pub(super) fn name(&mut self, name: &str) {
        if is_name(name) {
            self.out.push_str(name);
        } else {
            self.out.push_str("name(");
            self.string(name);
            self.out.push(')');
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push(self.quote);
        if self.quote == '"' {
            escape_into(&mut self.out, text);
        } else {
            let mut escaped = String::new();
            escape_into(&mut escaped, text);
            self.out.push_str(&escaped.replace('\'', "\\'"));
        }
        self.out.push(self.quote);
    }

    /// One f-string for all parts.
    fn formatted(&mut self, parts: &[Expr<'_>]) {
        self.out.push_str("f\"");
        // Before Python 3.12 the quotes of the whole may not occur inside.
        let quote = std::mem::replace(&mut self.quote, '\'');
        for part in parts {
            match part {
                Expr::Str(text) => {
                    escape_into(&mut self.out, &text.replace('{', "{{").replace('}', "}}"));
                }
                Expr::Format { expr, conversion } => {
                    self.hole(expr, *conversion);
                }
                other => self.hole(other, None),
            }
        }
        self.quote = quote;
        self.out.push('"');
    }

    fn hole(&mut self, expr: &Expr<'_>, conversion: Option<char>) {
        self.out.push('{');
        // A brace right after the brace would be an escaped brace.
        if matches!(expr, Expr::Dict(_)) {
            self.out.push(' ');
        }
        self.expr(expr);
        if let Some(conversion) = conversion {
            self.out.push('!');
            self.out.push(conversion);
        }
        self.out.push('}');
    }
}

/// Whether a dotted text can stand for a name in Python.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

fn strength(expr: &Expr<'_>) -> u8 {
    match expr {
        Expr::Int(value) if *value < 0 => UNARY,
        Expr::Float(value) if value.value().is_sign_negative() && !value.value().is_nan() => UNARY,
        Expr::Float(value) if !value.value().is_finite() => POSTFIX,
        Expr::Bool(operator, operands) if operands.len() > 1 => operator.strength,
        Expr::Bool(_, operands) => operands.first().map_or(ATOM, strength),
        Expr::Binary(operator, ..) => operator.strength,
        Expr::Compare(left, rest) if rest.is_empty() => strength(left),
        Expr::Compare(..) => COMPARE,
        Expr::Unary(Prefix::Not, _) => NOT,
        Expr::Unary(..) => UNARY,
        Expr::If { .. } => IF,
        Expr::Attr(..) | Expr::Subscript(..) | Expr::Call { .. } | Expr::Tensor { .. } => POSTFIX,
        _ => ATOM,
    }
}

/// The shortest decimal that reads back to the same bits at its width.
fn float(value: Real) -> String {
    let wide = value.value();
    if wide.is_nan() {
        "float(\"nan\")".to_string()
    } else if wide.is_infinite() {
        format!("{}float(\"inf\")", if wide < 0.0 { "-" } else { "" })
    } else {
        match value {
            Real::F32(value) => format!("{:?}", value.value()),
            Real::F64(_) => format!("{wide:?}"),
        }
    }
}
