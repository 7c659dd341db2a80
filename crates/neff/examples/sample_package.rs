//! Writes the sample package: `cargo run -p neff --example sample_package -- FILE [CORES]`.
#![allow(missing_docs)]

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "product.neff".into());
    let cores = args.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    std::fs::write(file, neff::sample::package(cores))
}
