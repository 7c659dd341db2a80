//! Writes CBOR, always in the shortest form.

use super::{ABSENT, PAIR, PRESENT, TAG};
use crate::checks::Checked;
use crate::container::{CONTENTS_TAG, Select, Unknown};
use crate::node::{Float, Node, Real, Sink, TypeInfo};

/// A sink that writes CBOR into memory.
///
/// ```
/// use klr::node::Node;
/// let mut writer = klr::cbor::Writer::new();
/// klr::ir::TensorRef::Reg(3).write(&mut writer);
/// assert_eq!(writer.into_bytes(), [0xD9, 0x80, 0x04, 0x81, 0x03]);
/// ```
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// One value is written whole: tensors can't come and go between two calls.
    one_value: bool,
    /// For one value: tensors that were written, in the place that their address gives: address, offset and length of
    /// the bytes.
    tensors: Vec<(usize, usize, usize)>,
    /// A tensor is being written.
    in_tensor: bool,
}

/// Tensors whose bytes are kept for being met again. A power of two.
const TENSORS: usize = 1024;

impl Writer {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer with room for that many bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Writer { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// A writer for one value, which holds all tensors in it: the same address is the same tensor.
    pub(crate) fn for_one_value(bytes: Vec<u8>) -> Self {
        Writer { bytes, one_value: true, ..Self::default() }
    }

    /// What was written so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Forgets what was written and keeps the memory, for writing a long file in parts.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    #[inline(always)]
    fn tag(&mut self, tag: u8, lo: u8, arity: u8) {
        self.bytes.extend_from_slice(&[TAG, tag, lo, 0x80 | arity]);
    }

    /// The head of an item: major type in the high bits, number.
    #[inline(always)]
    fn head(&mut self, major: u8, number: u64) {
        if number < 24 {
            self.bytes.push(major | number as u8);
        } else {
            self.long_head(major, number);
        }
    }

    #[inline]
    fn long_head(&mut self, major: u8, number: u64) {
        let be = number.to_be_bytes();
        if number <= 0xFF {
            self.bytes.extend_from_slice(&[major | 24, be[7]]);
        } else if number <= 0xFFFF {
            self.bytes.extend_from_slice(&[major | 25, be[6], be[7]]);
        } else if number <= 0xFFFF_FFFF {
            self.bytes.extend_from_slice(&[major | 26, be[4], be[5], be[6], be[7]]);
        } else {
            self.bytes.extend_from_slice(&[
                major | 27,
                be[0],
                be[1],
                be[2],
                be[3],
                be[4],
                be[5],
                be[6],
                be[7],
            ]);
        }
    }
}

impl Sink for Writer {
    #[inline(always)]
    fn record(&mut self, ty: &'static TypeInfo, head: bool) {
        if let Some(tag) = ty.tag {
            let ctor = &ty.ctors[0];
            let added = if head { ctor.added.len() as u8 } else { 0 };
            self.tag(tag, ty.lo, ctor.arity + added);
        }
    }

    #[inline(always)]
    fn union(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.tag(ty.tag.unwrap_or(0), ctor as u8, ty.ctors[ctor].arity);
    }

    #[inline(always)]
    fn enumeration(&mut self, ty: &'static TypeInfo, ctor: usize) {
        self.tag(ty.tag.unwrap_or(0), ctor as u8, 0);
    }

    #[inline(always)]
    fn close(&mut self) {}

    #[inline(always)]
    fn field(&mut self, _name: &'static str) {}

    #[inline(always)]
    fn nat(&mut self, value: u64) {
        self.head(0, value);
    }

    #[inline(always)]
    fn int(&mut self, value: i64) {
        if value < 0 {
            self.head(1 << 5, !(value as u64));
        } else {
            self.head(0, value as u64);
        }
    }

    #[inline(always)]
    fn float(&mut self, value: Float) {
        let [a, b, c, d] = value.bits.to_be_bytes();
        self.bytes.extend_from_slice(&[0xFA, a, b, c, d]);
    }

    fn real(&mut self, value: Real) {
        match value {
            Real::F32(value) => self.float(value),
            Real::F64(bits) => {
                self.bytes.push(0xFB);
                self.bytes.extend_from_slice(&bits.to_be_bytes());
            }
        }
    }

    #[inline(always)]
    fn boolean(&mut self, value: bool) {
        self.bytes.push(0xF4 + u8::from(value));
    }

    #[inline]
    fn text(&mut self, value: &str) {
        self.head(3 << 5, value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    #[inline(always)]
    fn prop(&mut self) {}

    #[inline(always)]
    fn none(&mut self) {
        self.bytes.extend_from_slice(&ABSENT);
    }

    #[inline(always)]
    fn some(&mut self) {
        self.bytes.extend_from_slice(&PRESENT);
    }

    #[inline(always)]
    fn list(&mut self, len: usize) {
        self.head(4 << 5, len as u64);
    }

    fn pair(&mut self) {
        self.bytes.push(PAIR);
    }

    #[inline(always)]
    fn item(&mut self, _index: usize) {}

    #[inline(always)]
    fn end_list(&mut self) {}

    fn select(&mut self, row: &'static Select) {
        self.tag(CONTENTS_TAG, row.lo, 1);
    }

    fn unknown(&mut self, value: &Unknown<'_>) {
        self.tag(CONTENTS_TAG, value.lo, 1);
        self.bytes.extend_from_slice(value.payload);
    }

    #[inline]
    fn checked(&mut self, value: Checked<'_>) -> bool {
        let Checked::TensorName(tensor) = value else { return false };
        if self.in_tensor || !self.one_value {
            return false;
        }
        if self.tensors.is_empty() {
            self.tensors = vec![(0, 0, 0); TENSORS];
        }
        let address = std::ptr::from_ref(tensor).addr();
        let slot = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - TENSORS.trailing_zeros());
        let (known, start, length) = self.tensors[slot as usize];
        if known == address {
            self.bytes.extend_from_within(start..start + length);
            return true;
        }
        let start = self.bytes.len();
        self.in_tensor = true;
        tensor.write(self);
        self.in_tensor = false;
        self.tensors[slot as usize] = (address, start, self.bytes.len() - start);
        true
    }
}
