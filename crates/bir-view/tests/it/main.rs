//! Tests of the views.

#[path = "../../../bir-json/tests/it/arbitrary/mod.rs"]
mod arbitrary;
mod brute;
mod diff;
mod dump;
#[path = "../../../bir-verify/tests/it/faults.rs"]
mod faults;
mod graph;
mod mem;
mod show;
mod stats;

use std::fs;
use std::path::{Path, PathBuf};

use bir::Module;
use bir_json::{ReadOptions, Unresolved};

/// A file of the crate.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[track_caller]
fn read(name: &str) -> Module {
    let text = fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    parse(&text)
}

#[track_caller]
fn parse(text: &[u8]) -> Module {
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    match bir_json::read(text, &options) {
        Ok(loaded) => loaded.module,
        Err(error) => panic!("{}", error.located(text)),
    }
}

/// Compares with a file under `tests/data`; `BLESS=1` writes it anew.
#[track_caller]
fn golden(name: &str, actual: &str) {
    let path = path("tests/data").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, actual).expect("the file can be written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "not as in {}\n--- actual\n{actual}", path.display());
}
