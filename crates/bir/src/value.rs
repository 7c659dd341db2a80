//! Free-form values: the attribute bag, and every part of a document that the specification calls opaque.

use std::fmt;

/// A value without a fixed type: an attribute, an opaque record, or an unknown member of a document.
///
/// Integers keep their class (unsigned or signed 64-bit), as the reference's reader does; objects are sorted
/// by key bytes and hold each key once. spec: bir-json 3.1, 14
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A non-negative integer.
    Uint(u64),
    /// A negative integer.
    Int(i64),
    /// Any other number. Finite.
    Float(f64),
    /// A string.
    Str(Box<str>),
    /// A list.
    List(Vec<Value>),
    /// A map with string keys.
    Object(Members),
}

impl Value {
    /// The value as an integer, when it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Uint(v) => i64::try_from(v).ok(),
            Value::Int(v) => Some(v),
            _ => None,
        }
    }

    /// The value as a string, when it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a list, when it is one.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value as an object, when it is one.
    pub fn as_object(&self) -> Option<&Members> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl From<i64> for Value {
    fn from(v: i64) -> Self {
        u64::try_from(v).map_or(Value::Int(v), Value::Uint)
    }
}
impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::Str(v.into())
    }
}

/// The members of an object, sorted by key bytes, each key once.
#[derive(Clone, PartialEq, Default)]
pub struct Members(Vec<(Box<str>, Value)>);

impl Members {
    /// No members.
    pub fn new() -> Members {
        Members::default()
    }

    /// Sets a member; the value it had is given back.
    pub fn insert(&mut self, key: &str, value: Value) -> Option<Value> {
        match self.position(key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key.into(), value));
                None
            }
        }
    }

    /// Puts a member at the end whatever its key, as a reader does that has many in any order. Look-ups work again
    /// after [`Members::sort`].
    pub fn push(&mut self, key: &str, value: Value) {
        self.0.push((key.into(), value));
    }

    /// Puts pushed members in order. Of equal keys the last one stays; true when there were any.
    pub fn sort(&mut self) -> bool {
        let before = self.0.len();
        *self = std::mem::take(&mut self.0).into_iter().collect();
        self.0.len() < before
    }

    /// Takes a member away.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// A member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).ok().map(|at| &self.0[at].1)
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        // Readers insert keys mostly in order.
        if self.0.last().is_none_or(|(last, _)| **last < *key) {
            return Err(self.0.len());
        }
        self.0.binary_search_by(|(k, _)| (**k).cmp(key))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members in key order.
    pub fn as_slice(&self) -> &[(Box<str>, Value)] {
        &self.0
    }

    /// The members in key order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Box<str>, Value)> {
        self.0.iter()
    }
}

impl FromIterator<(Box<str>, Value)> for Members {
    /// Sorts by key; of equal keys the last one stays.
    fn from_iter<I: IntoIterator<Item = (Box<str>, Value)>>(members: I) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        if !members.is_sorted_by(|a, b| a.0 < b.0) {
            members.reverse();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            members.dedup_by(|later, first| later.0 == first.0);
        }
        Members(members)
    }
}

impl<'a> IntoIterator for &'a Members {
    type Item = &'a (Box<str>, Value);
    type IntoIter = std::slice::Iter<'a, (Box<str>, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(k, v)| (k, v))).finish()
    }
}

/// The members of a record that its table does not know, kept so that nothing is lost. One pointer when empty.
#[derive(Clone, PartialEq, Default)]
pub struct Extra(Option<Box<Members>>);

impl Extra {
    /// No members.
    pub const NONE: Extra = Extra(None);

    /// The members; usually there are none.
    pub fn members(&self) -> &Members {
        static NONE: Members = Members(Vec::new());
        self.0.as_deref().unwrap_or(&NONE)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// Sets a member.
    pub fn insert(&mut self, key: &str, value: Value) {
        self.0.get_or_insert_default().insert(key, value);
    }

    /// Puts a member at the end; see [`Members::push`].
    pub fn push(&mut self, key: &str, value: Value) {
        self.0.get_or_insert_default().push(key, value);
    }

    /// Puts pushed members in order; see [`Members::sort`].
    pub fn sort(&mut self) -> bool {
        self.0.as_mut().is_some_and(|members| members.sort())
    }

    /// Takes a member away.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let removed = self.0.as_mut()?.remove(key);
        if self.is_empty() {
            self.0 = None;
        }
        removed
    }

    /// Takes all members away.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.members().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_keys_the_last_one_stays() {
        let members: Members =
            [("b", 1), ("a", 2), ("b", 3)].into_iter().map(|(k, v)| (k.into(), Value::Uint(v))).collect();
        let list: Vec<_> = members.iter().map(|(k, v)| (&**k, v.as_i64())).collect();
        assert_eq!(list, [("a", Some(2)), ("b", Some(3))]);
    }

    #[test]
    fn pushed_members_are_sorted_afterwards() {
        let mut members = Members::new();
        for (key, value) in [("b", 1), ("a", 2), ("b", 3)] {
            members.push(key, Value::Uint(value));
        }
        assert!(members.sort() && !members.sort());
        assert_eq!(members.get("b"), Some(&Value::Uint(3)));
        assert_eq!(members.len(), 2);
    }

    #[test]
    fn an_emptied_extra_equals_an_empty_one() {
        let mut extra = Extra::default();
        extra.insert("k", Value::Null);
        assert!(!extra.is_empty());
        extra.remove("k");
        assert_eq!(extra, Extra::default());
        assert_eq!(size_of::<Extra>(), 8);
    }
}
