//! Times reading, writing, or both, of one document: `read_write read|write|roundtrip FILE [OUT]`, by
//! `$THREADS` threads, one if it is not set.
//!
//! Prints one line with seconds, peak memory and bytes. Used by the benchmarks.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [mode, path, rest @ ..] = &args[..] else {
        return Err("usage: read_write read|write|roundtrip FILE [OUT]".into());
    };
    let text = std::fs::read(path)?;
    let threads = std::env::var("THREADS").map_or(Ok(1), |threads| threads.parse())?;
    let options = bir_json::ReadOptions { threads, ..Default::default() };
    let start = Instant::now();
    let loaded = bir_json::read(&text, &options).map_err(|error| error.located(&text).to_string())?;
    let read = start.elapsed();
    let start = Instant::now();
    if mode != "read" {
        match rest.first() {
            Some(out) => bir_json::write(&loaded.module, &mut File::create(out)?, &Default::default())?,
            None => bir_json::write(&loaded.module, &mut io::sink(), &Default::default())?,
        }
    }
    let write = start.elapsed();
    let seconds = match mode.as_str() {
        "read" => read,
        "write" => write,
        _ => read + write,
    };
    // Giving the memory back is not part of what is measured, and a program that ends need not do it.
    std::mem::forget(loaded);
    println!("seconds={:.6} peak_rss={} bytes={}", seconds.as_secs_f64(), peak_rss(), text.len());
    Ok(())
}

/// Peak resident memory in bytes, where the system says it.
fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0) * 1024
}
