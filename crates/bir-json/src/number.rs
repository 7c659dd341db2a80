//! Numbers of a JSON text: reading them into the three classes of the reference's JSON library, and writing
//! them byte for byte as that library does (spec: bir-json 14).

mod grisu;

/// A JSON number in the class the reference's library gives it (spec: bir-json 14).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer without a minus sign that fits 64 bits.
    Unsigned(u64),
    /// An integer with a minus sign that fits 64 bits; `-0` is `Signed(0)` and prints `0`.
    Signed(i64),
    /// A number with a fraction or an exponent, or an integer that does not fit. Always finite.
    Float(f64),
}

/// Why a text does not start with a JSON number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct NumberError {
    /// What is wrong.
    pub kind: NumberErrorKind,
    /// Bytes from the start of the number to the byte at fault (which may be the end of the text); of an
    /// overflow, the length of the number.
    pub at: usize,
}

/// The kinds of [`NumberError`], in the words of the reference's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberErrorKind {
    /// The text starts with neither a digit nor a minus sign.
    #[error("invalid literal")]
    NotANumber,
    /// `-` without a digit.
    #[error("invalid number; expected digit after '-'")]
    DigitAfterMinus,
    /// `1.` without a digit.
    #[error("invalid number; expected digit after '.'")]
    DigitAfterPoint,
    /// `1e` without a digit or a sign.
    #[error("invalid number; expected '+', '-', or digit after exponent")]
    DigitAfterExponent,
    /// `1e+` or `1e-` without a digit.
    #[error("invalid number; expected digit after exponent sign")]
    DigitAfterExponentSign,
    /// The value rounds to infinity.
    #[error("number overflow")]
    Overflow,
}

/// Reads the JSON number at the start of `text`; gives it and its length in bytes.
///
/// The number ends at the first byte that cannot continue it: `01` is the number `0` of length 1, and what
/// follows is for the caller to judge (the digit is an error wherever JSON lets a number stand).
///
/// # Errors
///
/// [`NumberError`] if the text starts with no number, breaks off within one, or overflows a double.
///
/// ```
/// use bir_json::number::{Number, parse_number};
/// assert_eq!(parse_number(b"4096, 1]"), Ok((Number::Unsigned(4096), 4)));
/// assert_eq!(parse_number(b"-0"), Ok((Number::Signed(0), 2)));
/// assert_eq!(parse_number(b"1e3"), Ok((Number::Float(1000.0), 3)));
/// assert!(parse_number(b"1.]").is_err());
/// ```
#[inline]
pub fn parse_number(text: &[u8]) -> Result<(Number, usize), NumberError> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    // Nearly all numbers of a module are integers of one to seven digits: take eight bytes in one word.
    if let Some(chunk) = text.get(start..).and_then(|rest| rest.first_chunk())
        && let Some((magnitude, digits)) = short_digits(chunk)
    {
        let leading_zero = chunk[0] == b'0' && digits > 1;
        if !continues_as_float(chunk[digits]) && !leading_zero {
            let number = if negative {
                Number::Signed(-i64::from(magnitude))
            } else {
                Number::Unsigned(u64::from(magnitude))
            };
            return Ok((number, start + digits));
        }
    }
    parse_any(text, negative)
}

/// Appends `value` in decimal.
pub fn write_u64(out: &mut Vec<u8>, value: u64) {
    let (digits, start) = digits(value);
    out.extend_from_slice(&digits[start..]);
}

/// The decimal digits of `value`: they are at the end of the array, from the given index on.
#[inline]
pub(crate) fn digits(value: u64) -> ([u8; 20], usize) {
    let mut buffer = [0; 20];
    let mut start = buffer.len();
    let mut rest = value;
    while rest >= 100 {
        start -= 2;
        buffer[start..start + 2].copy_from_slice(pair(rest % 100));
        rest /= 100;
    }
    if rest >= 10 {
        start -= 2;
        buffer[start..start + 2].copy_from_slice(pair(rest));
    } else {
        start -= 1;
        buffer[start] = b'0' + rest as u8;
    }
    (buffer, start)
}

/// Eight zeros.
pub(crate) const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The decimal digits of a number below 10^8, as text with zeros in front. All are made at once: lanes of four digits
/// are split into lanes of two, these into digits.
#[inline]
pub(crate) fn text_of_eight_digits(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8) | ZEROS
}

/// Appends `value` in decimal.
pub fn write_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    write_u64(out, value.unsigned_abs());
}

/// Appends a double by the Grisu2 algorithm, always with a point or an exponent: `0.1`, `1.0`, `-0.0`,
/// `1e+20`, `1e-07`. Infinities and NaN print `null`; a field that spells them differently does so itself.
///
/// A 32-bit float is widened first: `0.1f32` prints `0.10000000149011612`.
pub fn write_f64(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    let decimal = grisu::decimal(value.abs());
    write_decimal(out, decimal.digits(), decimal.point);
}

/// Appends a number as [`parse_number`] classed it.
pub fn write_number(out: &mut Vec<u8>, number: Number) {
    match number {
        Number::Unsigned(value) => write_u64(out, value),
        Number::Signed(value) => write_i64(out, value),
        Number::Float(value) => write_f64(out, value),
    }
}

/// Numbers whose point lies beyond these positions are written with an exponent (spec: bir-json 14).
const LOWEST_POINT: i32 = -4;
const HIGHEST_POINT: i32 = 15;

/// Appends `0.digits * 10^point`.
fn write_decimal(out: &mut Vec<u8>, digits: &[u8], point: i32) {
    const ZEROS: [u8; HIGHEST_POINT as usize] = [b'0'; HIGHEST_POINT as usize];
    let len = digits.len();
    if 0 < point && point <= HIGHEST_POINT {
        let point = point as usize;
        if len <= point {
            out.extend_from_slice(digits);
            out.extend_from_slice(&ZEROS[..point - len]);
            out.extend_from_slice(b".0");
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    } else if LOWEST_POINT < point && point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend_from_slice(&ZEROS[..-point as usize]);
        out.extend_from_slice(digits);
    } else {
        out.push(digits[0]);
        if len > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let exponent = point - 1;
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        let exponent = u64::from(exponent.unsigned_abs());
        if exponent < 10 {
            out.push(b'0');
        }
        write_u64(out, exponent);
    }
}

/// The two digits of a number below 100.
#[inline]
fn pair(value: u64) -> &'static [u8] {
    const PAIRS: [u8; 200] = {
        let mut pairs = [0; 200];
        let mut i = 0;
        while i < 100 {
            pairs[2 * i] = b'0' + (i / 10) as u8;
            pairs[2 * i + 1] = b'0' + (i % 10) as u8;
            i += 1;
        }
        pairs
    };
    let at = 2 * value as usize;
    &PAIRS[at..at + 2]
}

/// Value of the digits at the start of eight bytes, and how many there are; `None` for none or eight.
#[inline(always)]
pub(crate) fn short_digits(bytes: &[u8; 8]) -> Option<(u32, usize)> {
    let word = u64::from_le_bytes(*bytes);
    let digits = leading_digits(word);
    matches!(digits, 1..=7).then(|| (eight_digits(word << (64 - 8 * digits)), digits as usize))
}

/// Number of ASCII digits (0 to 8) at the start of eight bytes, first byte lowest.
#[inline]
fn leading_digits(word: u64) -> u32 {
    // A byte 0..=9 plus 0x76 stays below 0x80. A carry only reaches bytes after the first that is no digit.
    let offset = word ^ 0x3030_3030_3030_3030;
    let others = (offset.wrapping_add(0x7676_7676_7676_7676) | offset) & 0x8080_8080_8080_8080;
    others.trailing_zeros() / 8
}

/// Value of up to eight digits, first digit lowest but shifted up so that the last is the highest byte.
/// Bytes of zero in front count as the digit zero.
#[inline]
fn eight_digits(word: u64) -> u32 {
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits & 0x00ff_00ff_00ff_00ff) * 10 + ((digits >> 8) & 0x00ff_00ff_00ff_00ff);
    let fours = (pairs & 0x0000_ffff_0000_ffff) * 100 + ((pairs >> 16) & 0x0000_ffff_0000_ffff);
    ((fours & 0xffff_ffff) * 10_000 + (fours >> 32)) as u32
}

#[inline]
fn continues_as_float(byte: u8) -> bool {
    byte == b'.' || byte | 0x20 == b'e'
}

/// Any number: long integers, fractions, exponents, and what ends near the end of the text.
fn parse_any(text: &[u8], negative: bool) -> Result<(Number, usize), NumberError> {
    let start = usize::from(negative);
    let mut end = start + count_digits(&text[start..]);
    if end == start {
        let kind = if negative { NumberErrorKind::DigitAfterMinus } else { NumberErrorKind::NotANumber };
        return Err(NumberError { kind, at: end });
    }
    if text[start] == b'0' {
        end = start + 1;
    }

    let next = text.get(end).copied().unwrap_or(0);
    if !continues_as_float(next)
        && let Some(number) = integer(&text[start..end], negative)
    {
        return Ok((number, end));
    }

    if next == b'.' {
        end = after_digits(text, end + 1, NumberErrorKind::DigitAfterPoint)?;
    }
    if text.get(end).is_some_and(|byte| byte | 0x20 == b'e') {
        end += 1;
        let mut kind = NumberErrorKind::DigitAfterExponent;
        if matches!(text.get(end), Some(b'+' | b'-')) {
            end += 1;
            kind = NumberErrorKind::DigitAfterExponentSign;
        }
        end = after_digits(text, end, kind)?;
    }

    // What was scanned is ASCII and in a grammar that the standard library's covers.
    let value = std::str::from_utf8(&text[..end]).ok().and_then(|number| number.parse::<f64>().ok());
    match value {
        Some(value) if value.is_finite() => Ok((Number::Float(value), end)),
        _ => Err(NumberError { kind: NumberErrorKind::Overflow, at: end }),
    }
}

/// Index after the run of digits at `start`, which must have at least one.
fn after_digits(text: &[u8], start: usize, kind: NumberErrorKind) -> Result<usize, NumberError> {
    match count_digits(&text[start..]) {
        0 => Err(NumberError { kind, at: start }),
        count => Ok(start + count),
    }
}

#[inline]
fn count_digits(text: &[u8]) -> usize {
    let mut count = 0;
    while let Some(chunk) = text[count..].first_chunk::<8>() {
        let digits = leading_digits(u64::from_le_bytes(*chunk)) as usize;
        count += digits;
        if digits < 8 {
            return count;
        }
    }
    count + text[count..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The integer of these digits, unless it does not fit its class.
#[inline]
fn integer(digits: &[u8], negative: bool) -> Option<Number> {
    let magnitude = if digits.len() <= 18 {
        let mut rest = digits;
        let mut value = 0;
        while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
            value = value * 100_000_000 + u64::from(eight_digits(u64::from_le_bytes(*chunk)));
            rest = tail;
        }
        rest.iter().fold(value, |value, byte| value * 10 + u64::from(byte - b'0'))
    } else {
        digits
            .iter()
            .try_fold(0u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')))?
    };
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::Signed)
    } else {
        Some(Number::Unsigned(magnitude))
    }
}
