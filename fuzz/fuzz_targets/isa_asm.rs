//! Any text assembles or gives an error inside the text; what assembles comes back from its disassembly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tpb_isa::Generation;
use tpb_isa::text::{self, AsmError, Options};

fuzz_target!(|data: &[u8]| {
    let Some((first, input)) = data.split_first() else { return };
    let generation = Generation::ALL[(first & 3) as usize];
    let mut bytes = Vec::new();
    match text::assemble(input, &mut bytes, generation) {
        Err(AsmError::Line { line, column, .. }) => {
            let text = input.split(|&byte| byte == b'\n').nth(line as usize - 1).expect("the line exists");
            assert!((1..=text.len() + 1).contains(&column));
        }
        Err(AsmError::Io(error)) => panic!("{error}"),
        Ok(_) => {
            let mut listing = Vec::new();
            text::disassemble(&bytes[..], &mut listing, generation, &Options::default(), |_, _| {})
                .expect("memory takes all");
            let mut again = Vec::new();
            text::assemble(&listing[..], &mut again, generation).expect("our own text assembles");
            assert_eq!(again, bytes);
        }
    }
});
