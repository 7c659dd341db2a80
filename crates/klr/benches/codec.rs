//! Throughput of reading and writing, in bytes of the file for each second on one core.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use klr::{Arena, File, Options};

fn main() {
    divan::main();
}

/// 32 MB, as in the figures for the open reader and writer (spec: klr 10).
fn file() -> Vec<u8> {
    let mut bytes = Vec::new();
    klr::made::write_kernel(200_000, 1, &mut bytes).expect("memory can be written");
    bytes
}

#[divan::bench(sample_count = 20)]
fn decode(bencher: Bencher<'_, '_>) {
    let bytes = file();
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| {
        let arena = Arena::new();
        let file = klr::read::<File<'_>>(black_box(&bytes), &arena, &Options::new()).expect("it decodes");
        black_box(file.value);
        // With the time it takes to free it.
    });
}

#[divan::bench(sample_count = 20)]
fn encode(bencher: Bencher<'_, '_>) {
    let bytes = file();
    let arena = Arena::new();
    let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it decodes").value;
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| klr::encode(black_box(&file)));
}

#[divan::bench(sample_count = 20)]
fn encode_into_the_same_memory(bencher: Bencher<'_, '_>) {
    let bytes = file();
    let arena = Arena::new();
    let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it decodes").value;
    let mut written = Vec::new();
    bencher.counter(BytesCount::of_slice(&bytes)).bench_local(|| {
        written.clear();
        klr::encode_into(black_box(&file), &mut written);
    });
}

#[divan::bench(sample_count = 5)]
fn print_compat(bencher: Bencher<'_, '_>) {
    let bytes = file();
    let arena = Arena::new();
    let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it decodes").value;
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| klr::print::compat(black_box(&file)));
}

#[divan::bench(sample_count = 5)]
fn write_json(bencher: Bencher<'_, '_>) {
    let bytes = file();
    let arena = Arena::new();
    let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it decodes").value;
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| klr::json::to_string(black_box(&file)));
}
