//! Writing one object: members in key order, with the unknown members put where they belong.

use bir::{Extra, Members, Value};

use super::{Write, Writer};
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

    /// Goes to the member `quoted`, which is given as `"name": `. False when an unknown member of the same name
    /// takes its place: a value that did not fit the type of its key.
    #[inline]
    pub(crate) fn key(&mut self, quoted: &'static str) -> bool {
        if !self.extra.is_empty() && !self.extras_before(&quoted[1..quoted.len() - 3]) {
            return false;
        }
        self.separate();
        self.writer.out.static_key(quoted);
        true
    }

    #[cold]
    fn extras_before(&mut self, name: &str) -> bool {
        while let Some(((key, value), rest)) = self.extra.split_first() {
            if **key > *name {
                break;
            }
            self.extra = rest;
            self.free(key, value);
            if **key == *name {
                return false;
            }
        }
        true
    }

    /// Puts a member.
    #[inline]
    pub(crate) fn put<T: Write>(&mut self, quoted: &'static str, value: &'a T) {
        if self.key(quoted) {
            value.write(self.writer);
        }
    }

    /// Puts a member when it has a value.
    #[inline]
    pub(crate) fn put_some<T: Write>(&mut self, quoted: &'static str, value: &'a Option<T>) {
        if let Some(value) = value {
            self.put(quoted, value);
        }
    }

    /// Puts a member when it has a value, or null when null was read.
    pub(crate) fn put_or_null<T: Write>(&mut self, quoted: &'static str, value: &'a Option<T>, null: bool) {
        match value {
            Some(value) => self.put(quoted, value),
            None if null => {
                if self.key(quoted) {
                    self.writer.out.raw(b"null");
                }
            }
            None => {}
        }
    }

    /// Puts a member whose value is a fixed word.
    #[inline]
    pub(crate) fn put_word(&mut self, quoted: &'static str, word: &'static str) {
        if self.key(quoted) {
            self.writer.out.string(word);
        }
    }

    /// Puts a member that `value` writes.
    #[inline]
    pub(crate) fn put_with(&mut self, quoted: &'static str, value: impl FnOnce(&mut Writer<'a, 'w>)) {
        if self.key(quoted) {
            value(self.writer);
        }
    }

    /// Puts a list when it is not empty.
    pub(crate) fn put_list<T: 'a>(
        &mut self,
        quoted: &'static str,
        list: &'a [T],
        item: impl Fn(&mut Writer<'a, 'w>, &'a T),
    ) {
        if !list.is_empty() {
            self.put_with(quoted, |writer| writer.array(list, item));
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
