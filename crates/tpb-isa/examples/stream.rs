//! Writes a long stream, to measure `bir objdump` with: `stream mixed|captured MIB FILE`.
#![allow(missing_docs)]

#[path = "../benches/streams/mod.rs"]
mod streams;

use std::error::Error;
use std::fs::File;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kind, mebibytes, file] = &args[..] else { return Err("stream mixed|captured MIB FILE".into()) };
    let piece = match &**kind {
        "mixed" => streams::mixed(1 << 20),
        "captured" => streams::captured(1 << 20),
        other => return Err(format!("{other} is neither mixed nor captured").into()),
    };
    let mut file = File::create(file)?;
    for _ in 0..mebibytes.parse::<u32>()? {
        file.write_all(&piece)?;
    }
    Ok(())
}
