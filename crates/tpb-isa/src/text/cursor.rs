//! The text of one line, in a buffer of fixed size. Pieces are short: each is copied whole in one or two moves, since a
//! call and a check of the room for each would cost more than the text.

use std::fmt;

/// Longest text of a word: 24 names of fields, and less than 40 bytes for each byte of the word.
pub(crate) const ROOM: usize = 4096;
/// Pieces are copied up to here, whatever of them counts.
const SPARE: usize = 64;

/// Where a line is written.
pub(crate) type Room = [u8; ROOM + SPARE];

/// An empty room.
pub(crate) const EMPTY: Room = [0; ROOM + SPARE];

/// A line that is being written.
pub(crate) struct Cursor<'a> {
    room: &'a mut Room,
    len: usize,
}

/// The decimal digits of 0..1000 from the left, and how many there are.
static DECIMAL: [[u8; 4]; 1000] = {
    let mut table = [[0; 4]; 1000];
    let mut value = 0;
    while value < 1000 {
        let digits = [value / 100, value / 10 % 10, value % 10];
        let skipped = if value < 10 {
            2
        } else if value < 100 {
            1
        } else {
            0
        };
        let mut i = skipped;
        while i < 3 {
            table[value][i - skipped] = b'0' + digits[i] as u8;
            i += 1;
        }
        table[value][3] = 3 - skipped as u8;
        value += 1;
    }
    table
};

impl<'a> Cursor<'a> {
    pub(crate) fn new(room: &'a mut Room) -> Cursor<'a> {
        Cursor { room, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.len.min(ROOM)]
    }

    /// The `N` bytes at a place. No line is so long that the mask changes it; with the mask, no check is needed.
    #[inline(always)]
    fn place<const N: usize>(&mut self, at: usize) -> &mut [u8; N] {
        const { assert!(N <= SPARE) };
        debug_assert!(at < ROOM);
        let at = at & (ROOM - 1);
        let place = &mut self.room[at..at + N];
        place.try_into().expect("a slice of N bytes")
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, byte: u8) {
        *self.place(self.len) = [byte];
        self.len += 1;
    }

    /// Appends text of a length that is known.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, text: &[u8; N]) {
        *self.place(self.len) = *text;
        self.len += N;
    }

    /// Appends the first `len` bytes.
    #[inline(always)]
    pub(crate) fn put_start<const N: usize>(&mut self, text: &[u8; N], len: usize) {
        *self.place(self.len) = *text;
        self.len += len;
    }

    /// Appends text: its first and last bytes, which may overlap.
    #[inline]
    pub(crate) fn put_text(&mut self, text: &[u8]) {
        let (start, end) = (self.len, self.len + text.len());
        if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            *self.place(start) = *first;
            if text.len() > 16 {
                // Names of fields and mnemonics; anything else is rare.
                text[8..text.len() - 8].iter().enumerate().for_each(|(i, byte)| {
                    *self.place(start + 8 + i) = [*byte];
                });
            }
            *self.place(end - 8) = *last;
        } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            *self.place(start) = *first;
            *self.place(end - 4) = *last;
        } else {
            text.iter().enumerate().for_each(|(i, byte)| *self.place(start + i) = [*byte]);
        }
        self.len = end;
    }

    #[inline]
    pub(crate) fn put_decimal(&mut self, value: u64) {
        if value < 1000 {
            let digits = &DECIMAL[value as usize];
            self.put_start(digits, digits[3].into());
        } else if value < 1_000_000 {
            let digits = &DECIMAL[value as usize / 1000];
            self.put_start(digits, digits[3].into());
            let rest = value as u32 % 1000;
            let digit = |value: u32| b'0' + (value % 10) as u8;
            self.put(&[digit(rest / 100), digit(rest / 10), digit(rest)]);
        } else {
            self.put_text(itoa::Buffer::new().format(value).as_bytes());
        }
    }

    #[inline]
    pub(crate) fn put_signed(&mut self, value: i64) {
        if value < 0 {
            self.push(b'-');
        }
        self.put_decimal(value.unsigned_abs());
    }

    /// Small numbers in decimal, large ones, which are addresses or patterns, in hexadecimal.
    #[inline]
    pub(crate) fn put_number(&mut self, value: u64) {
        if value <= 0xFFFF {
            self.put_decimal(value);
        } else {
            self.put(b"0x");
            self.put_digits(value, 1);
        }
    }

    /// Appends text and a number behind it.
    #[inline(always)]
    pub(crate) fn put_prefixed<const N: usize>(&mut self, prefix: &[u8; N], value: u64) {
        self.put(prefix);
        self.put_decimal(value);
    }

    /// Hexadecimal digits without leading zeros, but at least `least`, which is 8 or fewer.
    #[inline]
    pub(crate) fn put_digits(&mut self, value: u64, least: u32) {
        let mut least = least;
        if let high @ 1.. = value >> 32 {
            let digits = (64 - high.leading_zeros()).div_ceil(4);
            self.put_eight(high as u32, digits);
            least = 8;
        }
        let low = value as u32;
        self.put_eight(low, (32 - low.leading_zeros()).div_ceil(4).max(least));
    }

    /// The last digits of the eight that 32 bits have.
    #[inline]
    fn put_eight(&mut self, value: u32, digits: u32) {
        // Each nibble in a byte of its own, the lowest first.
        let mut nibbles = u64::from(value);
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF;
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF;
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F;
        // Those above 9 become letters, which stand 39 places behind.
        let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        let text = nibbles + 0x3030_3030_3030_3030 + letters * 39;
        self.put_start(&(text << (8 * (8 - digits))).to_be_bytes(), digits as usize);
    }

    /// Two hexadecimal digits per byte.
    pub(crate) fn put_hex(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in bytes {
            self.put(&[DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]);
        }
    }
}

impl fmt::Write for Cursor<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put_text(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, EMPTY};

    fn text(put: impl FnOnce(&mut Cursor<'_>)) -> String {
        let mut room = EMPTY;
        let mut line = Cursor::new(&mut room);
        put(&mut line);
        String::from_utf8(line.bytes().to_vec()).unwrap()
    }

    #[test]
    fn numbers_have_their_digits() {
        let edges = [0, 1, 9, 10, 99, 100, 999, 1000, 1009, 1090, 65535, 65536, 999_999, 1_000_000, u64::MAX];
        for value in edges.into_iter().chain((0..64).map(|bit| 1 << bit)).chain(0..2000) {
            assert_eq!(text(|line| line.put_decimal(value)), value.to_string());
            assert_eq!(text(|line| line.put_digits(value, 1)), format!("{value:x}"));
            assert_eq!(text(|line| line.put_digits(value, 4)), format!("{value:04x}"));
            let negative = -(value as i32 as i64);
            assert_eq!(text(|line| line.put_signed(negative)), negative.to_string());
        }
        assert_eq!(text(|line| line.put_signed(i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|line| line.put_number(0xFFFF)), "65535");
        assert_eq!(text(|line| line.put_number(0x1_0000)), "0x10000");
    }

    #[test]
    fn text_of_any_length_is_copied() {
        let all = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        for len in 0..all.len() {
            let copied = text(|line| {
                line.put(b"<");
                line.put_text(&all.as_bytes()[..len]);
                line.put(b">");
            });
            assert_eq!(copied, format!("<{}>", &all[..len]));
        }
    }
}
