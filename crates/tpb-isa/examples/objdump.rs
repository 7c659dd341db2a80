//! Disassembles a stream: `objdump FILE [GENERATION]`.
#![allow(clippy::print_stderr)]

use tpb_isa::text;

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a file");
    let generation = args.next().map_or(tpb_isa::Generation::V3, |name| name.parse().expect("a generation"));
    let input = std::fs::File::open(file).expect("a readable file");
    let out = std::io::stdout().lock();
    text::disassemble(input, out, generation, &text::Options::default(), |_, _| {}).expect("output");
}
