//! Writing one object: members in key order, with the unknown members put where they belong.

use bir::{Extra, Members, Value};

use super::templates::Hole;
use super::{Key, Write, Writer};
use crate::value::write_value;

/// An object that is being written. Known members must be put in ascending order of their keys.
pub(crate) struct Object<'a, 'w, 'o> {
    pub(crate) writer: &'o mut Writer<'a, 'w>,
    /// Unknown members that are still to come, in key order.
    extra: &'a [(Box<str>, Value)],
    empty: bool,
}

impl<'a, 'w> Writer<'a, 'w> {
    /// Writes an object whose known members `members` puts.
    #[inline]
    pub(crate) fn object_with(&mut self, extra: &'a Extra, members: impl FnOnce(&mut Object<'a, 'w, '_>)) {
        let extra = if self.drop_unknown { &[] } else { extra.members().as_slice() };
        self.out.open(b'{');
        let mut object = Object { writer: self, extra, empty: true };
        members(&mut object);
        while let Some(((key, value), rest)) = object.extra.split_first() {
            object.extra = rest;
            object.free(key, value);
        }
        let empty = object.empty;
        self.out.close(b'}', empty);
    }

    pub(crate) fn members(&mut self, members: &Members) {
        write_value(&mut self.out, &Value::Object(members.clone()));
    }
}

impl<'a, 'w> Object<'a, 'w, '_> {
    #[inline]
    fn separate(&mut self) {
        self.writer.out.separate(self.empty);
        self.empty = false;
    }

    /// Puts an unknown member.
    fn free(&mut self, key: &str, value: &Value) {
        self.separate();
        let out = &mut self.writer.out;
        out.string(key);
        out.colon();
        write_value(out, value);
    }

    /// Goes to a member. False when an unknown member of the same name takes its place: a value that did not fit
    /// the type of its key.
    #[inline]
    pub(crate) fn key(&mut self, key: &'static Key) -> bool {
        if !self.extra.is_empty() && !self.extras_before(key.name()) {
            return false;
        }
        self.separate();
        self.writer.out.key(key);
        true
    }

    #[cold]
    fn extras_before(&mut self, name: &[u8]) -> bool {
        while let Some(((key, value), rest)) = self.extra.split_first() {
            if key.as_bytes() > name {
                break;
            }
            self.extra = rest;
            self.free(key, value);
            if key.as_bytes() == name {
                return false;
            }
        }
        true
    }

    /// Puts a member.
    #[inline]
    pub(crate) fn put<T: Write>(&mut self, key: &'static Key, value: &'a T) {
        if self.key(key) {
            value.write(self.writer);
        }
    }

    /// Puts a member when it has a value.
    #[inline]
    pub(crate) fn put_some<T: Write>(&mut self, key: &'static Key, value: &'a Option<T>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Puts a member when it has a value, or null when null was read.
    pub(crate) fn put_or_null<T: Write>(&mut self, key: &'static Key, value: &'a Option<T>, null: bool) {
        match value {
            Some(value) => self.put(key, value),
            None => {
                if null && self.key(key) {
                    self.writer.out.raw(b"null");
                }
            }
        }
    }

    /// Puts a key about code, which [`Writer::code_value`] knows by `number`.
    #[inline]
    pub(crate) fn put_code<T: Write>(&mut self, number: u8, key: &'static Key, value: &'a T) {
        if self.key(key) {
            self.writer.recorded(Hole::Code(number), |w| value.write(w));
        }
    }

    /// Puts a key about code when it has a value.
    #[inline]
    pub(crate) fn put_some_code<T: Write>(&mut self, number: u8, key: &'static Key, value: &'a Option<T>) {
        if let Some(value) = value {
            self.put_code(number, key, value);
        }
    }

    /// Puts a key about code when it has a value, or null when null was read.
    pub(crate) fn put_or_null_code<T: Write>(
        &mut self,
        number: u8,
        key: &'static Key,
        value: &'a Option<T>,
        null: bool,
    ) {
        match value {
            Some(value) => self.put_code(number, key, value),
            None => self.put_or_null(key, value, null),
        }
    }

    /// Puts a member whose value is a fixed word.
    #[inline]
    pub(crate) fn put_word(&mut self, key: &'static Key, word: &'static str) {
        if self.key(key) {
            self.writer.out.string(word);
        }
    }

    /// Puts a member that `value` writes.
    #[inline]
    pub(crate) fn put_with(&mut self, key: &'static Key, value: impl FnOnce(&mut Writer<'a, 'w>)) {
        if self.key(key) {
            value(self.writer);
        }
    }
}

impl<'a, 'w> Writer<'a, 'w> {
    /// Writes an array.
    pub(crate) fn array<T: 'a>(&mut self, list: &'a [T], item: impl Fn(&mut Writer<'a, 'w>, &'a T)) {
        self.out.open(b'[');
        for (i, value) in list.iter().enumerate() {
            self.out.separate(i == 0);
            item(self, value);
        }
        self.out.close(b']', list.is_empty());
    }
}
