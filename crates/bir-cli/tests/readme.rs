//! The tour of README.md shows what the program prints: every `console` block is run, in order, in one folder. A line
//! `...` stands for any number of lines.
#![cfg(unix)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A command and the lines that it should print.
struct Shown {
    command: String,
    lines: Vec<String>,
}

#[test]
fn the_tour_is_true() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let sessions = shown(&fs::read_to_string(readme).unwrap());
    assert!(sessions.len() > 5, "the tour is there");
    let folder = tempfile::tempdir().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_bir")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    for Shown { command, lines } in sessions {
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command} ; }} 2>&1")])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<&str> = text.lines().collect();
        assert!(matches(&lines, &printed), "$ {command}\n{text}");
    }
}

fn shown(readme: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            match line.strip_prefix("$ ") {
                Some(command) => shown.push(Shown { command: command.to_owned(), lines: Vec::new() }),
                None => shown.last_mut().expect("a command comes first").lines.push(line.to_owned()),
            }
        }
    }
    shown
}

/// Whether the lines are these.
fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| line == first && matches(rest, others))
        }
    }
}
