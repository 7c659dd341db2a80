//! The protobuf wire format, as far as debug members need it. Fields that no message has are kept: libraries that map
//! messages to structs drop them, and what a newer compiler writes would be lost.

use std::fmt::Write as _;

/// Where and why bytes are no protobuf message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed {
    /// Offset in the outermost message.
    pub(crate) at: usize,
    pub(crate) reason: &'static str,
}

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

/// The value of a field as the wire has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    /// The bytes, and where they begin in the outermost message.
    Bytes(&'a [u8], usize),
    Fixed32([u8; 4]),
}

/// A field that the schema does not have, or whose value is of another form than the schema says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unknown {
    /// Its number.
    pub number: u32,
    /// The field as it stood in the message, with its tag.
    pub raw: Vec<u8>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut value = String::new();
        let mut reader = Reader::new(&self.raw, 0);
        match reader.next() {
            Ok(Some((_, Wire::Varint(number)))) => value = number.to_string(),
            Ok(Some((_, Wire::Bytes(bytes, _)))) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.chars().any(char::is_control) => value = format!("{text:?}"),
                _ => bytes.iter().for_each(|byte| {
                    let _ = write!(value, "{byte:02x}");
                }),
            },
            _ => self.raw.iter().for_each(|byte| {
                let _ = write!(value, "{byte:02x}");
            }),
        }
        write!(f, "field {}: {value}", self.number)
    }
}

/// Walks the fields of a message.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the message begins in the outermost one.
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Reader<'a> {
        Reader { bytes, at: 0, base }
    }

    /// The next field.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.base + self.at;
        let tag = self.varint()?;
        let bad = |reason| Malformed { at: start, reason };
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let number = number.ok_or_else(|| bad("a field has no number"))?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(self.take(8)?.try_into().expect("eight bytes")),
            2 => {
                let length = self.varint()?;
                let length =
                    usize::try_from(length).map_err(|_| bad("a field is longer than its message"))?;
                let begin = self.base + self.at;
                Wire::Bytes(self.take(length)?, begin)
            }
            5 => Wire::Fixed32(self.take(4)?.try_into().expect("four bytes")),
            _ => return Err(bad("a field is of an unknown form")),
        };
        Ok(Some((number, value)))
    }

    /// The bytes that the last call of `next` has read, when it began at `start`.
    fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else { break };
            self.at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed { at: self.base + start, reason: "a number has no end" })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest
            .get(..length)
            .ok_or(Malformed { at: self.base + self.at, reason: "a field is longer than its message" })?;
        self.at += length;
        Ok(taken)
    }
}

/// A message of the schema.
pub(crate) trait Message: Default {
    /// Takes a field; false when the message has no such field of that form.
    fn take(&mut self, number: u32, value: Wire<'_>) -> Result<bool>;

    fn keep(&mut self, field: Unknown);

    /// Appends the message: fields ascending, defaults left out, unknown fields last.
    fn put(&self, out: &mut Vec<u8>);

    fn decode(bytes: &[u8], base: usize) -> Result<Self> {
        let mut message = Self::default();
        let mut reader = Reader::new(bytes, base);
        loop {
            let start = reader.at;
            let Some((number, value)) = reader.next()? else { return Ok(message) };
            if !message.take(number, value)? {
                message.keep(Unknown { number, raw: reader.since(start).to_vec() });
            }
        }
    }
}

/// A type of a field.
pub(crate) trait Field {
    /// Takes a value from the wire; false when it is of another form.
    fn merge(&mut self, value: Wire<'_>) -> Result<bool>;

    fn put(&self, number: u32, out: &mut Vec<u8>);
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_tag(number: u32, form: u64, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | form, out);
}

fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(number, 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_message(number: u32, message: &impl Message, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    message.put(&mut body);
    put_bytes(number, &body, out);
}

fn text(bytes: &[u8], at: usize) -> Result<String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| Malformed { at, reason: "a text is not UTF-8" })
}

impl Field for String {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Bytes(bytes, at) = value else { return Ok(false) };
        *self = text(bytes, at)?;
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            put_bytes(number, self.as_bytes(), out);
        }
    }
}

impl Field for Vec<String> {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Bytes(bytes, at) = value else { return Ok(false) };
        self.push(text(bytes, at)?);
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        self.iter().for_each(|text| put_bytes(number, text.as_bytes(), out));
    }
}

/// A map from text to text, in the order of the wire.
impl Field for Vec<(String, String)> {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Bytes(bytes, at) = value else { return Ok(false) };
        let mut entry = (String::new(), String::new());
        let mut reader = Reader::new(bytes, at);
        while let Some((number, value)) = reader.next()? {
            let taken = match number {
                1 => entry.0.merge(value)?,
                2 => entry.1.merge(value)?,
                _ => false,
            };
            if !taken {
                return Ok(false);
            }
        }
        self.push(entry);
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        for (key, value) in self {
            // Both members are written, empty or not. spec: neff 8
            let mut entry = Vec::new();
            put_bytes(1, key.as_bytes(), &mut entry);
            put_bytes(2, value.as_bytes(), &mut entry);
            put_bytes(number, &entry, out);
        }
    }
}

/// A number, or an enum whose codes are numbers.
pub(crate) trait Code: Copy {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Code for u64 {
    fn of(number: u64) -> u64 {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

impl<T: Code> Field for T {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Varint(number) = value else { return Ok(false) };
        *self = T::of(number);
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if self.number() != 0 {
            put_tag(number, 0, out);
            put_varint(self.number(), out);
        }
    }
}

/// Numbers, packed or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packed<T>(pub Vec<T>);

impl<T> std::ops::Deref for Packed<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Code> Field for Packed<T> {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        match value {
            Wire::Varint(number) => self.0.push(T::of(number)),
            Wire::Bytes(bytes, at) => {
                let mut reader = Reader::new(bytes, at);
                while reader.at < bytes.len() {
                    self.0.push(T::of(reader.varint()?));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if !self.0.is_empty() {
            let mut body = Vec::new();
            self.0.iter().for_each(|value| put_varint(value.number(), &mut body));
            put_bytes(number, &body, out);
        }
    }
}

/// A message that may be absent, or there and empty.
impl<T: Message> Field for Option<Box<T>> {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Bytes(bytes, at) = value else { return Ok(false) };
        *self = Some(Box::new(T::decode(bytes, at)?));
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(message) = self {
            put_message(number, &**message, out);
        }
    }
}

/// Messages, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Messages<T>(pub Vec<T>);

impl<T> Default for Messages<T> {
    fn default() -> Messages<T> {
        Messages(Vec::new())
    }
}

impl<T> std::ops::Deref for Messages<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Message> Field for Messages<T> {
    fn merge(&mut self, value: Wire<'_>) -> Result<bool> {
        let Wire::Bytes(bytes, at) = value else { return Ok(false) };
        self.0.push(T::decode(bytes, at)?);
        Ok(true)
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        self.0.iter().for_each(|message| put_message(number, message, out));
    }
}

/// Declares messages and enums as the generated schema lists them.
macro_rules! schema {
    ($(
        message $message:ident {
            $( $(#[doc = $doc:literal])* $number:literal $field:ident: $type:ty, )*
        }
    )* $(
        enum $enum:ident { $( $code:literal $name:literal $bir:literal, )* }
    )*) => { $(
        #[doc = concat!("The message `", stringify!($message), "`.")]
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct $message {
            $( $(#[doc = $doc])* pub $field: $type, )*
            /// Fields that the schema does not have.
            pub unknown: Vec<$crate::proto::Unknown>,
        }

        impl $crate::proto::Message for $message {
            fn take(&mut self, number: u32, value: $crate::proto::Wire<'_>) -> $crate::proto::Result<bool> {
                match number {
                    $( $number => $crate::proto::Field::merge(&mut self.$field, value), )*
                    _ => Ok(false),
                }
            }

            fn keep(&mut self, field: $crate::proto::Unknown) {
                self.unknown.push(field);
            }

            fn put(&self, out: &mut Vec<u8>) {
                $( $crate::proto::Field::put(&self.$field, $number, out); )*
                self.unknown.iter().for_each(|field| out.extend_from_slice(&field.raw));
            }
        }
    )* $(
        #[doc = concat!("The enum `", stringify!($enum), "`; a code without a name is kept.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $enum(pub u64);

        impl $enum {
            /// Its name in the schema, or the number.
            pub fn name(self) -> std::borrow::Cow<'static, str> {
                match self.0 {
                    $( $code => $name.into(), )*
                    other => other.to_string().into(),
                }
            }

            /// Its name in BIR, or that in the schema where BIR has none.
            pub fn bir_name(self) -> std::borrow::Cow<'static, str> {
                match self.0 {
                    $( $code => if $bir.is_empty() { $name.into() } else { $bir.into() }, )*
                    other => other.to_string().into(),
                }
            }
        }

        impl $crate::proto::Code for $enum {
            fn of(number: u64) -> Self {
                $enum(number)
            }

            fn number(self) -> u64 {
                self.0
            }
        }
    )* };
}
pub(crate) use schema;
