//! Reads the JSON form.

use super::tape::{Kind, Problem, Tape, Token};
use crate::Options;
use crate::arena::Arena;
use crate::checks::Checked;
use crate::container::{SELECT, Selected, Unknown};
use crate::node::{Failed, Float, Length, Real, Source, TypeInfo};
use crate::path::Path;

/// A bracket that was entered.
#[derive(Clone, Copy)]
enum Frame {
    Object {
        /// The token of the bracket.
        token: usize,
        /// The key that comes next if members are in the order of the schema.
        next: usize,
        /// Where the names of the members that were asked for start in `Reader::asked`.
        asked: usize,
    },
    Array {
        next: usize,
    },
    /// A constructor without fields.
    Bare,
}

/// A source that reads JSON.
pub(super) struct Reader<'a> {
    tape: Tape<'a>,
    arena: &'a Arena,
    frames: Vec<Frame>,
    asked: Vec<&'static str>,
    /// The member whose value comes next; looked up when it does.
    member: Option<&'static str>,
    /// The token of the value that comes next.
    cursor: usize,
    depth_left: usize,
    pub(super) path: Path,
    pub(super) problem: Option<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tape: Tape<'a>, arena: &'a Arena) -> Self {
        Reader {
            tape,
            arena,
            frames: Vec::new(),
            asked: Vec::new(),
            member: None,
            cursor: 0,
            depth_left: Options::new().limits.depth,
            path: Path::default(),
            problem: None,
        }
    }

    fn fail(&mut self, token: usize, message: String) -> Failed {
        let at = self.tape.tokens.get(token).map_or(0, |token| token.start);
        self.problem.get_or_insert(Problem { at, message });
        Failed
    }

    fn token(&self, index: usize) -> Token {
        self.tape.tokens[index]
    }

    fn string(&mut self, index: usize) -> Result<std::borrow::Cow<'a, str>, Failed> {
        self.tape.string(self.token(index)).map_err(|problem| {
            self.problem.get_or_insert(problem);
            Failed
        })
    }

    /// The value of a member of an object; looks at the key `next` first.
    fn find(&mut self, object: usize, next: usize, name: &str) -> Result<Option<usize>, Failed> {
        let end = self.token(object).next;
        if next < end && self.string(next)? == name {
            return Ok(Some(next + 1));
        }
        let mut key = object + 1;
        while key < end {
            if self.string(key)? == name {
                return Ok(Some(key + 1));
            }
            key = self.token(key + 1).next;
        }
        Ok(None)
    }

    /// Goes to the value that comes next; `None` when it is a member that is not there.
    fn seek(&mut self) -> Result<Option<usize>, Failed> {
        let Some(name) = self.member.take() else { return Ok(Some(self.cursor)) };
        let Some(&Frame::Object { token, next, .. }) = self.frames.last() else {
            return Ok(Some(self.cursor));
        };
        self.asked.push(name);
        let Some(value) = self.find(token, next, name)? else { return Ok(None) };
        let after = self.token(value).next;
        if let Some(Frame::Object { next, .. }) = self.frames.last_mut() {
            *next = after;
        }
        self.cursor = value;
        Ok(Some(value))
    }

    /// The value that comes next.
    fn value(&mut self) -> Result<(usize, Token), Failed> {
        let name = self.member;
        match self.seek()? {
            Some(index) => Ok((index, self.token(index))),
            None => {
                let Some(&Frame::Object { token, .. }) = self.frames.last() else { return Err(Failed) };
                Err(self.fail(token, format!("member {:?} is missing", name.unwrap_or_default())))
            }
        }
    }

    fn expect(&mut self, kind: Kind, expected: &str) -> Result<(usize, Token), Failed> {
        let (index, token) = self.value()?;
        if token.kind != kind {
            return Err(self.fail(index, format!("expected {expected}")));
        }
        Ok((index, token))
    }

    fn enter(&mut self, token: usize) {
        self.frames.push(Frame::Object { token, next: token + 1, asked: self.asked.len() });
    }

    /// Parses the number or the name of a float.
    fn number<T>(
        &mut self,
        parse: impl Fn(&str) -> Option<T>,
        special: impl Fn(&str) -> Option<T>,
        what: &str,
    ) -> Result<T, Failed> {
        let (index, token) = self.value()?;
        let value = match token.kind {
            Kind::Number => parse(self.tape.raw(token)),
            Kind::String => special(&self.string(index)?),
            _ => None,
        };
        value.ok_or_else(|| self.fail(index, format!("expected {what}")))
    }

    fn ctor(&mut self, token: usize, ty: &'static TypeInfo, name: &str) -> Result<usize, Failed> {
        ty.ctor(name).ok_or_else(|| self.fail(token, format!("{} has no constructor {name:?}", ty.name)))
    }

    /// An unknown payload: `{"lo": 5, "payload": "hex"}`.
    fn unknown(&mut self, object: usize) -> Result<Selected<'a>, Failed> {
        if self.token(object).kind != Kind::Object {
            return Err(self.fail(object, "expected an object".to_string()));
        }
        let lo = self.find(object, object + 1, "lo")?;
        let lo = lo.and_then(|lo| self.tape.raw(self.token(lo)).parse().ok());
        let payload = self.find(object, object + 1, "payload")?;
        let payload = payload.filter(|index| self.token(*index).kind == Kind::String);
        let hex = match payload {
            Some(index) => self.string(index)?,
            None => return Err(self.fail(object, "expected a payload in hexadecimal".to_string())),
        };
        let digits: Option<Vec<u8>> =
            hex.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        match (lo, digits) {
            (Some(lo), Some(digits)) if digits.len() % 2 == 0 => {
                let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
                self.frames.push(Frame::Bare);
                self.path.record();
                Ok(Selected::Unknown(Unknown { lo, payload: self.arena.list(&bytes) }))
            }
            _ => Err(self.fail(object, "expected a number lo and a payload in hexadecimal".to_string())),
        }
    }
}

/// The bits after `nan:`.
fn nan_bits(name: &str, digits: usize) -> Option<u64> {
    let bits = name.strip_prefix("nan:")?;
    if bits.len() != digits {
        return None;
    }
    u64::from_str_radix(bits, 16).ok()
}

fn float32(name: &str) -> Option<Float> {
    Some(match name {
        "inf" => f32::INFINITY.into(),
        "-inf" => f32::NEG_INFINITY.into(),
        "nan" => f32::NAN.into(),
        other => Float { bits: u32::try_from(nan_bits(other, 8)?).ok()? },
    })
}

fn float64(name: &str) -> Option<u64> {
    Some(match name {
        "inf" => f64::INFINITY.to_bits(),
        "-inf" => f64::NEG_INFINITY.to_bits(),
        "nan" => f64::NAN.to_bits(),
        other => nan_bits(other, 16)?,
    })
}

impl<'a> Source<'a> for Reader<'a> {
    fn arena(&self) -> &'a Arena {
        self.arena
    }

    fn record(&mut self, ty: &'static TypeInfo) -> Result<bool, Failed> {
        let (index, _) = self.expect(Kind::Object, &format!("an object, a {}", ty.name))?;
        let head = match ty.ctors[0].added.first() {
            Some(added) => self.find(index, index + 1, added)?.is_some(),
            None => false,
        };
        self.enter(index);
        self.path.record();
        Ok(head)
    }

    fn union(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        let (index, token) = self.value()?;
        let (key, fields) = match token.kind {
            Kind::String => (index, None),
            Kind::Object if token.count == 1 => (index + 1, Some(index + 2)),
            _ => {
                let message = format!("expected a {}: a string, or an object with one member", ty.name);
                return Err(self.fail(index, message));
            }
        };
        let name = self.string(key)?;
        let ctor = self.ctor(key, ty, &name)?;
        match fields {
            None if ty.ctors[ctor].arity > 0 => {
                return Err(self.fail(key, format!("constructor {name:?} needs its fields")));
            }
            None => self.frames.push(Frame::Bare),
            Some(fields) => {
                if self.token(fields).kind != Kind::Object {
                    return Err(self.fail(fields, "expected an object with fields".to_string()));
                }
                self.enter(fields);
            }
        }
        self.path.union(ty.ctors[ctor].name);
        Ok(ctor)
    }

    fn enumeration(&mut self, ty: &'static TypeInfo) -> Result<usize, Failed> {
        let (index, _) = self.expect(Kind::String, &format!("a string, a {}", ty.name))?;
        let name = self.string(index)?;
        self.ctor(index, ty, &name)
    }

    fn close(&mut self) -> Result<(), Failed> {
        self.member = None;
        self.path.whole();
        if let Some(Frame::Object { token, asked, .. }) = self.frames.pop() {
            let end = self.token(token).next;
            let mut key = token + 1;
            while key < end {
                let name = self.string(key)?;
                if !self.asked[asked..].iter().any(|asked| *asked == name) {
                    return Err(self.fail(key, format!("unknown member {name:?}")));
                }
                if self.find(token, token + 1, &name)? != Some(key + 1) {
                    return Err(self.fail(key, format!("member {name:?} occurs twice")));
                }
                key = self.token(key + 1).next;
            }
            self.asked.truncate(asked);
        }
        self.path.close();
        Ok(())
    }

    fn field(&mut self, name: &'static str) -> Result<(), Failed> {
        self.member = Some(name);
        self.path.field(name);
        Ok(())
    }

    fn nat(&mut self) -> Result<u64, Failed> {
        let (index, token) = self.expect(Kind::Number, "a natural number")?;
        let number = self.tape.raw(token).parse();
        number.map_err(|_| self.fail(index, "expected a natural number of at most 64 bits".to_string()))
    }

    fn int(&mut self) -> Result<i64, Failed> {
        let (index, token) = self.expect(Kind::Number, "an integer")?;
        let number = self.tape.raw(token).parse();
        number.map_err(|_| self.fail(index, "expected an integer of at most 64 bits".to_string()))
    }

    fn float(&mut self) -> Result<Float, Failed> {
        let parse = |raw: &str| raw.parse::<f32>().ok().filter(|f| f.is_finite()).map(Float::from);
        self.number(parse, float32, "a binary32 number, \"inf\", \"-inf\", \"nan\" or \"nan:BITS\"")
    }

    fn real(&mut self) -> Result<Real, Failed> {
        let (index, token) = self.expect(Kind::Object, "an object with f32 or f64")?;
        let width = if token.count == 1 { self.string(index + 1)? } else { "".into() };
        self.cursor = index + 2;
        match &*width {
            "f32" => self.float().map(Real::F32),
            "f64" => {
                let parse = |raw: &str| raw.parse::<f64>().ok().filter(|f| f.is_finite()).map(f64::to_bits);
                let what = "a binary64 number, \"inf\", \"-inf\", \"nan\" or \"nan:BITS\"";
                self.number(parse, float64, what).map(Real::F64)
            }
            _ => Err(self.fail(index, "expected an object with f32 or f64".to_string())),
        }
    }

    fn boolean(&mut self) -> Result<bool, Failed> {
        let (index, token) = self.value()?;
        match token.kind {
            Kind::True => Ok(true),
            Kind::False => Ok(false),
            _ => Err(self.fail(index, "expected true or false".to_string())),
        }
    }

    fn text(&mut self) -> Result<&'a str, Failed> {
        let (index, _) = self.expect(Kind::String, "a string")?;
        Ok(match self.string(index)? {
            std::borrow::Cow::Borrowed(text) => text,
            std::borrow::Cow::Owned(text) => self.arena.text(&text),
        })
    }

    fn prop(&mut self) {
        self.member = None;
    }

    fn option(&mut self) -> Result<bool, Failed> {
        Ok(match self.seek()? {
            Some(index) => self.token(index).kind != Kind::Null,
            None => false,
        })
    }

    fn list(&mut self, _min: usize) -> Result<Length, Failed> {
        let (index, token) = self.expect(Kind::Array, "an array")?;
        self.frames.push(Frame::Array { next: index + 1 });
        self.path.list();
        Ok(Length::Fits(token.count))
    }

    fn pair(&mut self) -> Result<(), Failed> {
        let (index, token) = self.expect(Kind::Array, "an array of two")?;
        if token.count != 2 {
            return Err(self.fail(index, "expected an array of two".to_string()));
        }
        self.frames.push(Frame::Array { next: index + 1 });
        self.path.list();
        Ok(())
    }

    fn item(&mut self, index: usize, _min: usize) {
        if let Some(Frame::Array { next }) = self.frames.last_mut() {
            self.cursor = *next;
            *next = self.tape.tokens[self.cursor].next;
        }
        self.path.item(index);
    }

    fn end_list(&mut self) {
        self.frames.pop();
        self.path.close();
    }

    fn descend(&mut self) -> Result<(), Failed> {
        if self.depth_left == 0 {
            let limit = Options::new().limits.depth;
            return Err(self.fail(self.cursor, format!("values are nested more than {limit} deep")));
        }
        self.depth_left -= 1;
        Ok(())
    }

    fn ascend(&mut self) {
        self.depth_left += 1;
    }

    fn select(&mut self) -> Result<Selected<'a>, Failed> {
        let (index, _) = self.expect(Kind::Object, "an object, the contents")?;
        if let Some(unknown) = self.find(index, index + 1, "unknown")? {
            return self.unknown(unknown);
        }
        let schema = match self.find(index, index + 1, "schema")? {
            Some(schema) if self.token(schema).kind == Kind::String => self.string(schema)?,
            _ => return Err(self.fail(index, "expected the schema of the contents".to_string())),
        };
        for row in SELECT.iter().filter(|row| row.schema == schema) {
            let Some(fields) = self.find(index, index + 1, row.contents)? else { continue };
            if self.token(index).count != 2 || self.token(fields).kind != Kind::Object {
                break;
            }
            self.enter(fields);
            self.path.union(row.contents);
            return Ok(Selected::Row(row));
        }
        Err(self.fail(index, format!("expected a schema and contents that it has, as {}", known_contents())))
    }

    fn checked(&mut self, _value: Checked<'_>) {}
}

/// `core/lnc, 0.0.12/nki, ...`
fn known_contents() -> String {
    SELECT.iter().map(|row| format!("{}/{}", row.schema, row.contents)).collect::<Vec<_>>().join(", ")
}
