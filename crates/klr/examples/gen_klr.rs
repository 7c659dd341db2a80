//! Writes a long file for measurements: `gen_klr FILE INSTRUCTIONS SEED`. `cargo xtask gen-klr` calls it.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, instructions, seed] = &arguments[..] else {
        return Err("usage: gen_klr FILE INSTRUCTIONS SEED".into());
    };
    let mut file = BufWriter::new(File::create(path)?);
    let bytes = klr::made::write_kernel(instructions.parse()?, seed.parse()?, &mut file)?;
    file.flush()?;
    println!("{path}: {bytes} bytes, {instructions} instructions");
    Ok(())
}
