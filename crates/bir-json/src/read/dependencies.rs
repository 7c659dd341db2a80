//! Dependencies of an instruction, by name. spec: bir-json 7.2

use bir::edges::{Edge, EdgeKind, EdgeSet, UnrollEdge};
use bir::ids::{InstId, Ref};
use bir::{Instruction, Sym, Value};

use super::Reader;
use super::expr::is_expr_kind;
use super::resolve::RawEdge;
use crate::error::{ReadErrorKind, Result};
use crate::lexer::Lexer;

/// The dependencies of an instruction that a list of its document is.
pub(super) fn edges_of(inst: &mut Instruction, loop_carried: bool) -> &mut EdgeSet {
    match loop_carried {
        true => &mut inst.loop_carried_dependencies,
        false => &mut inst.dependencies,
    }
}

impl Reader<'_> {
    /// Dependencies. What names an earlier instruction is resolved at once; from the first that does not, the list
    /// waits for pass 2, so that its order stays. spec: bir-json 7.2
    pub(super) fn dependencies(
        &mut self,
        inst: &mut Instruction,
        id: InstId,
        loop_carried: bool,
    ) -> Result<()> {
        let mut waits = false;
        let expected = match loop_carried {
            false => "an array ('dependencies' must be a JSON array)",
            true => "an array ('loop_carried_dependencies' must be a JSON array)",
        };
        self.each_element(expected, |r| {
            r.lexer.peek();
            let offset = r.lexer.pos();
            let mut extras = Vec::new();
            let (name, kind) = match r.lexer.canonical_edge() {
                Some((name, kind)) => (r.intern(name)?, kind),
                None => {
                    r.lexer.seek(offset);
                    r.edge(&mut extras)?
                }
            };
            if !waits && let Some(target) = r.inst_names.find_earlier(name, inst.block, id) {
                edges_of(inst, loop_carried).insert_with(Edge::new(target, kind), &extras);
                if let Some(trace) = &mut r.trace
                    && r.module[target].block != inst.block
                {
                    trace.far.push(name);
                }
                return Ok(());
            }
            waits = true;
            r.edges.push(RawEdge::new(id, name, kind, loop_carried, !extras.is_empty(), offset));
            if !extras.is_empty() {
                r.edge_extras.push(extras.into());
            }
            Ok(())
        })
    }

    /// An edge no matter how it is written: name and kind, and the elements behind them.
    fn edge(&mut self, extras: &mut Vec<Value>) -> Result<(Sym, EdgeKind)> {
        match self.lexer.peek() {
            b'"' => Ok((self.get()?, EdgeKind::FLOW)),
            b'[' => {
                let entry = self.edge_start("a dependency: [name, kind]")?;
                while self.lexer.next_element()? {
                    extras.push(self.value()?);
                }
                self.lexer.leave();
                Ok(entry)
            }
            _ => self.lexer.wrong_type("a dependency: a name, or [name, kind]"),
        }
    }

    /// Name and kind of an edge entry, whose bracket is next.
    fn edge_start(&mut self, expected: &'static str) -> Result<(Sym, EdgeKind)> {
        if self.lexer.peek() != b'[' {
            return self.lexer.wrong_type(expected);
        }
        let start = self.lexer.pos();
        let short = || ReadErrorKind::WrongType { expected, found: "a shorter array" }.at(start);
        self.lexer.enter()?;
        if self.lexer.peek() == b']' {
            return Err(short());
        }
        let name = self.sym("a string: the name of an instruction")?;
        if !self.lexer.next_element()? {
            return Err(short());
        }
        let at = {
            self.lexer.peek();
            self.lexer.pos()
        };
        let kind = match self.lexer.peek() {
            b'"' => {
                let name = match self.lexer.plain_string() {
                    Some("Flow") => return Ok((name, EdgeKind::FLOW)),
                    Some(name) => name.into(),
                    None => self.lexer.string()?,
                };
                let unknown = || ReadErrorKind::UnknownName {
                    what: "unknown kind of dependency",
                    name: name.to_string(),
                };
                EdgeKind::parse(&name).ok_or_else(|| unknown().at(at))?
            }
            b'0'..=b'9' | b'-' => {
                let number: u64 = self.get()?;
                EdgeKind::new(number).ok_or_else(|| {
                    ReadErrorKind::OutOfRange {
                        expected: "the kind of a dependency, 0 to 7 (Integer too large for field)",
                    }
                    .at(at)
                })?
            }
            _ => return self.lexer.wrong_type("the kind of a dependency: a name or a number"),
        };
        Ok((name, kind))
    }

    pub(super) fn unroll_dependency(&mut self) -> Result<UnrollEdge> {
        let (name, kind) = self.edge_start("a dependency: [name, kind, [expressions], [predicates]]")?;
        let mut edge = UnrollEdge {
            target: Ref::named(name),
            kind,
            exprs: Vec::new(),
            predicates: Vec::new(),
            extras: Vec::new(),
        };
        let mut index = 2;
        while self.lexer.next_element()? {
            match index {
                2 => edge.exprs = self.get()?,
                3 => self.each_element("an array of predicates", |r| {
                    let predicate = r.opaque_with_expressions()?;
                    edge.predicates.push(predicate);
                    Ok(())
                })?,
                _ => {
                    let value = self.value()?;
                    edge.extras.push(value);
                }
            }
            index += 1;
        }
        self.lexer.leave();
        Ok(edge)
    }

    /// An opaque value whose members may be expressions: those are rewritten to version 2. spec: bir-json 9.3
    pub(super) fn opaque_with_expressions(&mut self) -> Result<Value> {
        if self.lexer.peek() != b'{' {
            return self.value();
        }
        let start = self.lexer.pos();
        let whole = self.value()?;
        let end = self.lexer.pos();
        let mut ahead = Lexer::clone(&self.lexer);
        ahead.seek(start);
        let Value::Object(mut members) = whole else { unreachable!("it starts with a brace") };
        ahead.enter()?;
        while ahead.peek() == b'"' {
            let key = ahead.key()?;
            ahead.peek();
            let at = ahead.pos();
            let is_expr = members
                .get(&key)
                .is_some_and(|value| value.get("kind").and_then(Value::as_str).is_some_and(is_expr_kind));
            ahead.skip_value()?;
            if is_expr {
                self.lexer.seek(at);
                let id = self.expr("an expression")?;
                members.insert(&key, crate::write::expr_value(&self.module, id));
            }
            if !ahead.take(b',') {
                break;
            }
        }
        self.lexer.seek(end);
        Ok(Value::Object(members))
    }
}
