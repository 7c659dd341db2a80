//! Test vectors: one JSON object for each line.
#![allow(dead_code, clippy::print_stderr, reason = "each test file uses a part; tests say what they skip")]

use serde_json::Value;

/// A vector.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) json: Value,
}

impl Vector {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.json[key].as_str()
    }

    /// The type to read: vectors name a whole file `@file`.
    pub(crate) fn type_name(&self) -> &str {
        if self.ty == "@file" { "File" } else { &self.ty }
    }
}

/// The vectors of `tests/data/<set>.jsonl`.
pub(crate) fn vectors(set: &str) -> Vec<Vector> {
    let path = format!("{}/tests/data/{set}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    let parse = |line: &str| {
        let json: Value = serde_json::from_str(line).expect(line);
        let name = json["name"].as_str().expect("a name").to_string();
        let ty = json["type"].as_str().expect("a type").to_string();
        Vector { name, ty, bytes: unhex(json["hex"].as_str().expect("bytes")), json }
    };
    text.lines().map(parse).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hexadecimal") as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The files of a folder below `tests/data`, or below `$BIR_TEST_DATA`, by name.
pub(crate) fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| {
            let entry = entry.expect("the folder can be read");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            (name, std::fs::read(entry.path()).expect("the file can be read"))
        })
        .collect();
    files.sort();
    files
}

/// Has Python parse the texts, where there is a Python.
pub(crate) fn parse_as_python(texts: &[(String, String)]) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    // Where the text has the source of its function as a comment, the printed function is the same tree.
    const PROGRAM: &str = r#"
import ast, sys, textwrap
for text in sys.stdin.read().split('\0'):
    module = ast.parse(text)
    source = '\n'.join(line[4:] for line in text.split('\n') if line.startswith('# | '))
    if source:
        [printed] = [node for node in module.body if isinstance(node, ast.FunctionDef)]
        [original] = ast.parse(textwrap.dedent(source)).body
        assert ast.dump(printed) == ast.dump(original), text
"#;
    let python = Command::new("python3").args(["-c", PROGRAM]).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = python else {
        eprintln!("skipped: there is no python3 to parse the texts");
        return;
    };
    let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    child.stdin.take().expect("stdin is piped").write_all(all.join("\0").as_bytes()).expect("python3 reads");
    assert!(child.wait().expect("python3 ends").success(), "{texts:#?}");
}
