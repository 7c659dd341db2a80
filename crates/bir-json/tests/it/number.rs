//! Number text against the reference's JSON library: what it prints and how it reads.
use bir_json::number::{
    Number, NumberErrorKind, parse_number, write_f64, write_i64, write_number, write_u64,
};
use proptest::prelude::*;

fn text_of(number: Number) -> String {
    let mut out = Vec::new();
    write_number(&mut out, number);
    String::from_utf8(out).unwrap()
}

fn float_text(value: f64) -> String {
    let mut out = Vec::new();
    write_f64(&mut out, value);
    String::from_utf8(out).unwrap()
}

/// Reads `text` alone and with bytes after it, which must not matter.
fn read(text: &str) -> Number {
    let alone = parse_number(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    for tail in [",", "]        ", "\n1234567890", " 1.5e3    ", "\u{e9}\u{2028}\u{ffff}"] {
        let followed = parse_number(format!("{text}{tail}").as_bytes());
        assert_eq!(followed, Ok(alone), "{text}{tail}");
    }
    assert_eq!(alone.1, text.len(), "{text}");
    alone.0
}

/// `floats.tsv`: bits of a double and the text that the library prints for it.
#[test]
fn prints_every_double_of_the_vectors() {
    let vectors = include_str!("../data/json/floats.tsv");
    let mut count = 0;
    for line in vectors.lines() {
        let (bits, text) = line.split_once('\t').expect("two columns");
        let value = f64::from_bits(u64::from_str_radix(bits, 16).expect("hexadecimal bits"));
        assert_eq!(float_text(value), text, "{bits}");
        if value.is_finite() {
            let Number::Float(back) = read(text) else { panic!("{text} is a double") };
            assert_eq!(back.to_bits(), value.to_bits(), "{text}");
        }
        count += 1;
    }
    assert_eq!(count, 11_999);
}

/// Each pair: input and what the library prints after reading it.
#[test]
fn reads_and_prints_as_the_library() {
    let cases = [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("0e5", "0.0"),
        ("-0e0", "-0.0"),
        ("270", "270"),
        ("123456789012345678", "123456789012345678"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", "-9.223372036854776e+18"),
        ("100000000000000000000", "1e+20"),
        ("1e5", "100000.0"),
        ("1E5", "100000.0"),
        ("1E+5", "100000.0"),
        ("1e-7", "1e-07"),
        ("0.1", "0.1"),
        ("1.0", "1.0"),
        ("659386.00", "659386.0"),
        ("0.0001", "0.0001"),
        ("0.000001", "1e-06"),
        ("0.0000001", "1e-07"),
        ("1000000000000.0", "1000000000000.0"),
        ("1e14", "100000000000000.0"),
        ("1e15", "1e+15"),
        ("1e16", "1e+16"),
        ("1.5e300", "1.5e+300"),
        ("-1e-5", "-1e-05"),
        ("5e-324", "5e-324"),
        ("1e-400", "0.0"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("795.2547819049385", "795.2547819049385"),
    ];
    for (input, output) in cases {
        assert_eq!(text_of(read(input)), output, "{input}");
    }
    assert_eq!(float_text(f64::from(0.1f32)), "0.10000000149011612");
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(float_text(value), "null");
    }
}

#[test]
fn integers_have_the_class_of_the_library() {
    assert_eq!(read("0"), Number::Unsigned(0));
    assert_eq!(read("-0"), Number::Signed(0));
    assert_eq!(read("9223372036854775808"), Number::Unsigned(1 << 63));
    assert_eq!(read("-9223372036854775808"), Number::Signed(i64::MIN));
    assert_eq!(read("-9223372036854775809"), Number::Float(-9223372036854775808.0));
    assert_eq!(read("18446744073709551616"), Number::Float(18446744073709551616.0));
    assert!(matches!(read("-0.0"), Number::Float(zero) if zero.is_sign_negative()));
}

#[test]
fn a_number_ends_where_json_ends_it() {
    for (text, number, length) in [
        ("01", Number::Unsigned(0), 1),
        ("00000000001", Number::Unsigned(0), 1),
        ("-012345678", Number::Signed(0), 2),
        ("1-2", Number::Unsigned(1), 1),
        ("1 2", Number::Unsigned(1), 1),
        ("1e0-30", Number::Float(1.0), 3),
        ("1.5.5", Number::Float(1.5), 3),
        ("1652388928941450-7334", Number::Unsigned(1652388928941450), 16),
        ("12345678901234567x", Number::Unsigned(12345678901234567), 17),
    ] {
        assert_eq!(parse_number(text.as_bytes()), Ok((number, length)), "{text}");
    }
}

#[test]
fn errors_name_the_byte_at_fault() {
    use NumberErrorKind::*;
    for (text, kind, at) in [
        ("", NotANumber, 0),
        (".5", NotANumber, 0),
        ("+1", NotANumber, 0),
        ("inf      ", NotANumber, 0),
        ("-", DigitAfterMinus, 1),
        ("-a", DigitAfterMinus, 1),
        ("--1      ", DigitAfterMinus, 1),
        ("-inf     ", DigitAfterMinus, 1),
        ("1.", DigitAfterPoint, 2),
        ("1.]", DigitAfterPoint, 2),
        ("1.e5     ", DigitAfterPoint, 2),
        ("474.]43964754108697", DigitAfterPoint, 4),
        ("1e", DigitAfterExponent, 2),
        ("1e]", DigitAfterExponent, 2),
        ("1.5E.", DigitAfterExponent, 4),
        ("1e+", DigitAfterExponentSign, 3),
        ("1e-]      ", DigitAfterExponentSign, 3),
        ("1E400", Overflow, 5),
        ("-1e99999999999999999999,", Overflow, 23),
    ] {
        let error = parse_number(text.as_bytes()).expect_err(text);
        assert_eq!((error.kind, error.at), (kind, at), "{text}");
    }
    let long = "9".repeat(400);
    assert_eq!(parse_number(long.as_bytes()).unwrap_err().kind, Overflow);
    assert_eq!(
        parse_number(b"1e]").unwrap_err().to_string(),
        "invalid number; expected '+', '-', or digit after exponent"
    );
}

#[test]
fn powers_of_ten_and_their_neighbours_keep_all_digits() {
    let mut power = 1u64;
    loop {
        for value in [power - 1, power, power + 1] {
            assert_eq!(text_of(Number::Unsigned(value)), value.to_string());
            assert_eq!(read(&value.to_string()), Number::Unsigned(value));
            let negative = -i128::from(value);
            if let Ok(value) = i64::try_from(negative) {
                assert_eq!(text_of(Number::Signed(value)), value.to_string());
                assert_eq!(read(&format!("-{}", value.unsigned_abs())), Number::Signed(value));
            }
        }
        let Some(next) = power.checked_mul(10) else { break };
        power = next;
    }
}

/// A double of any bits, with all exponents equally likely.
fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite())
}

/// Integers of every length.
fn magnitudes() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doubles_read_back(value in finite()) {
        let text = float_text(value);
        let (number, length) = parse_number(text.as_bytes()).unwrap();
        prop_assert_eq!(length, text.len());
        let Number::Float(back) = number else { panic!("{text} is a double") };
        prop_assert_eq!(back.to_bits(), value.to_bits());
        prop_assert!(text.len() <= 24);
    }

    /// The algorithm may miss the shortest text, but never for a decimal that is the double itself.
    #[test]
    fn exact_decimals_print_as_written(sixty_fourths in 1u32..1_000_000) {
        let value = f64::from(sixty_fourths) / 64.0;
        prop_assert_eq!(float_text(value), format!("{value:?}"));
    }

    #[test]
    fn integers_read_back(value in magnitudes()) {
        let mut out = Vec::new();
        write_u64(&mut out, value);
        prop_assert_eq!(std::str::from_utf8(&out).unwrap(), value.to_string());
        prop_assert_eq!(parse_number(&out), Ok((Number::Unsigned(value), out.len())));

        if value > 0 && let Some(negative) = 0i64.checked_sub_unsigned(value) {
            let mut out = Vec::new();
            write_i64(&mut out, negative);
            prop_assert_eq!(std::str::from_utf8(&out).unwrap(), negative.to_string());
            out.extend_from_slice(b",        ");
            prop_assert_eq!(parse_number(&out), Ok((Number::Signed(negative), out.len() - 9)));
        }
    }

    #[test]
    fn any_bytes_are_read_within_bounds(text in "[-+.eE0-9\\]x]{0,24}") {
        if let Ok((number, length)) = parse_number(text.as_bytes()) {
            prop_assert!(0 < length && length <= text.len());
            let taken = &text[..length];
            match number {
                Number::Unsigned(value) => prop_assert_eq!(value.to_string(), taken),
                Number::Signed(value) => prop_assert_eq!(-i128::from(value), taken[1..].parse::<i128>().unwrap()),
                Number::Float(value) => prop_assert_eq!(value.to_bits(), taken.parse::<f64>().unwrap().to_bits()),
            }
        }
    }
}
