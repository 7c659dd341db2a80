//! Free-form values against the reference's JSON library: what it prints, alone and inside a module, and what it
//! refuses.
use crate::common::*;
use bir_json::{OddityKind, ReadErrorKind, parse_value, value_to_string};
use serde_json::Value;

struct Case {
    input: String,
    /// What the library prints, or its error.
    answer: Result<String, String>,
}

/// `cases.jsonl`: documents and malformed texts with the library's answers.
fn cases() -> Vec<Case> {
    let case = |line| {
        let case: Value = parse(line);
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let ok = case["ok"] == true;
        Case { input: text("input"), answer: if ok { Ok(text("output")) } else { Err(text("error")) } }
    };
    let cases: Vec<Case> = include_str!("../data/json/cases.jsonl").lines().map(case).collect();
    assert_eq!(cases.len(), 1562);
    assert_eq!(cases.iter().filter(|case| case.answer.is_err()).count(), 436);
    cases
}

/// Lays out compact JSON as the canonical form does, token by token: two blanks a level, one element a line.
fn indented(compact: &str, mut level: usize) -> String {
    let mut out = String::new();
    let mut chars = compact.chars().peekable();
    let line = |out: &mut String, level: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(level));
    };
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '"' => {
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '"' => break,
                        '\\' => out.extend(chars.next()),
                        _ => {}
                    }
                }
            }
            '[' | '{' => match chars.next_if(|c| "]}".contains(*c)) {
                Some(c) => out.push(c),
                None => {
                    level += 1;
                    line(&mut out, level);
                }
            },
            ',' => line(&mut out, level),
            ':' => out.push(' '),
            _ => {}
        }
        if matches!(chars.peek(), Some(']' | '}')) {
            level -= 1;
            line(&mut out, level);
        }
    }
    out
}

#[test]
fn what_the_library_accepts_prints_as_it_does() {
    for case in cases() {
        let Ok(output) = &case.answer else { continue };
        let value = parse_value(case.input.as_bytes()).unwrap_or_else(|e| panic!("{e}: {}", case.input));
        assert_eq!(&value_to_string(&value), output, "{}", case.input);
        // What was printed prints as it is.
        let again = parse_value(output.as_bytes()).unwrap();
        assert_eq!(&value_to_string(&again), output);
    }
}

#[test]
fn it_prints_the_same_as_an_unknown_member_of_a_module() {
    for case in cases() {
        let Ok(output) = &case.answer else { continue };
        // A byte order mark stands at the start of a file only.
        let input = case.input.trim_start_matches('\u{feff}');
        let text = format!(r#"{{"functions": [], "x": {input}, "version": 2}}"#);
        let loaded = load(&text);
        assert_eq!(loaded.oddities.count(OddityKind::UnknownMember), 1, "{}", case.input);
        let expected =
            format!("{{\n  \"functions\": [],\n  \"version\": 2,\n  \"x\": {}\n}}", indented(output, 1));
        assert_eq!(text_of(&loaded), expected, "{}", case.input);
    }
}

#[test]
fn what_the_library_refuses_is_refused_by_the_same_class_of_error() {
    for case in cases() {
        let Err(answer) = &case.answer else { continue };
        let error = match parse_value(case.input.as_bytes()) {
            Err(error) => error,
            Ok(value) => panic!("accepted {:?} as {}", case.input, value_to_string(&value)),
        };
        let overflow = error.kind == ReadErrorKind::NumberOverflow;
        assert!(error.kind.is_syntax(), "{:?}: {error}", case.input);
        assert_eq!(overflow, answer.contains("out_of_range.406"), "{:?}: {answer}: {error}", case.input);
        assert!(error.offset <= case.input.len());
        // As the whole document, and inside one, whether the member comes before or after the functions.
        for text in [
            case.input.clone(),
            format!(r#"{{"x": {}, "functions": []}}"#, case.input),
            format!(r#"{{"functions": [], "x": {}}}"#, case.input),
        ] {
            refuse(&text);
        }
    }
}

/// `floats.tsv`, every double through one module.
#[test]
fn doubles_print_the_same_inside_a_module() {
    let texts: Vec<&str> = include_str!("../data/json/floats.tsv")
        .lines()
        .map(|line| line.split_once('\t').unwrap().1)
        .filter(|text| *text != "null")
        .collect();
    assert!(texts.len() > 11_900);
    let text = format!(r#"{{"functions": [], "zz": [{}]}}"#, texts.join(","));
    let expected = format!("[\n    {}\n  ]", texts.join(",\n    "));
    assert!(canonical(&text).contains(&expected));
}
