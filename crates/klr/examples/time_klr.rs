//! Reads and writes a file some times and prints processor time and peak memory: `time_klr FILE [ROUNDS]`; with 0
//! rounds it reads once and writes nothing. Unlike the clock, processor
//! time does not depend on what else the machine does.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: time_klr FILE [ROUNDS]")?;
    let rounds: usize = arguments.get(1).map_or(Ok(20), |rounds| rounds.parse())?;
    let bytes = std::fs::read(path)?;
    let speed = |time: Duration| bytes.len() as f64 / 1e6 / time.as_secs_f64();
    if rounds == 0 {
        let arena = klr::Arena::new();
        black_box(klr::read::<klr::File<'_>>(&bytes, &arena, &klr::Options::new())?);
        let status = std::fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        println!("file {} kB, {peak}", bytes.len() / 1024);
        return Ok(());
    }
    let (mut decode, mut encode, mut encode_into) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut again = Vec::new();
    for _ in 0..rounds {
        let arena = klr::Arena::new();
        let start = processor_time()?;
        let file = klr::read::<klr::File<'_>>(&bytes, &arena, &klr::Options::new())?;
        let read = processor_time()?;
        let written = black_box(klr::encode(&file.value));
        let end = processor_time()?;
        assert_eq!(written, bytes);
        drop(written);
        again.clear();
        let start_into = processor_time()?;
        klr::encode_into(&file.value, black_box(&mut again));
        encode_into = encode_into.min(processor_time()? - start_into);
        assert_eq!(again, bytes);
        decode = decode.min(read - start);
        encode = encode.min(end - read);
    }
    for (work, time) in [("decode", decode), ("encode", encode), ("encode_into", encode_into)] {
        println!("{work} {time:?}, {:.0} MB/s", speed(time));
    }
    Ok(())
}

/// Time on the processor of this thread, from the kernel's scheduler statistics, in nanoseconds.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(Duration::from_nanos(text.split(' ').next().ok_or("no time")?.parse()?))
}
