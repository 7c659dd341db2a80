//! Times the statistics of one module, without reading it: `time_stats FILE`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: time_stats FILE")?;
    let text = std::fs::read(path)?;
    let loaded =
        bir_json::read(&text, &Default::default()).map_err(|error| error.located(&text).to_string())?;
    for _ in 0..5 {
        let start = Instant::now();
        let stats = bir_view::stats::stats(&loaded.module, 10);
        let seconds = start.elapsed().as_secs_f64();
        println!("seconds={seconds:.6} instructions={}", stats.module.instructions);
    }
    Ok(())
}
